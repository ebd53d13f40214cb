-- doctor_kswapd.sql - kswapd at work without getting anywhere. awake_ns is from wake to sleep,
-- naps included; cpu_ns what the kernel accounted to its threads (NULL without the context of a
-- live capture): where it is known it counts, else the time awake. A run without an end is taken
-- to last until the capture ends.
WITH
seen AS (
	SELECT capture_id, sum(name = 'mm_vmscan_kswapd_wake') AS wakes,
		sum(name = 'mm_vmscan_lru_shrink_inactive') AS scans
	FROM event_type WHERE stored_as <> 'missing' GROUP BY capture_id
),
span AS (
	-- a killed capture has no end: then up to the last that is known
	SELECT *, end_ts_ns - base_ts_ns AS duration_ns FROM (
		SELECT id AS capture_id, coalesce(end_ts_ns,
				(SELECT max(last_ts_ns) FROM page_chunk p WHERE p.capture_id = c.id),
				(SELECT max(ts_ns) FROM context x WHERE x.capture_id = c.id)) AS end_ts_ns,
			coalesce(base_ts_ns,
				(SELECT min(first_ts_ns) FROM page_chunk p WHERE p.capture_id = c.id),
				(SELECT min(ts_ns) FROM context x WHERE x.capture_id = c.id)) AS base_ts_ns
		FROM capture c WHERE :capture IS NULL OR id = :capture)
),
run AS MATERIALIZED (
	SELECT capture_id, start_ns, end_ns, nr_wakes, nr_scanned, nr_reclaimed FROM kswapd_run
	WHERE start_ns IS NOT NULL
),
total AS (
	SELECT r.capture_id, count(*) AS nr_runs, sum(r.nr_wakes) AS nr_wakes,
		sum(coalesce(r.end_ns, s.end_ts_ns) - r.start_ns) AS awake_ns,
		coalesce(sum(r.nr_scanned), 0) AS scanned, coalesce(sum(r.nr_reclaimed), 0) AS reclaimed
	FROM run r JOIN span s ON s.capture_id = r.capture_id GROUP BY r.capture_id
),
cpu AS (
	SELECT capture_id, sum(cpu_ns) AS cpu_ns FROM (
		SELECT capture_id, max(CAST(value AS INTEGER)) - min(CAST(value AS INTEGER)) AS cpu_ns
		FROM context WHERE subject LIKE 'schedstat:kswapd%' AND key = 'run_ns'
		GROUP BY capture_id, subject HAVING count(*) > 1)
	GROUP BY capture_id
),
fact AS (
	SELECT s.capture_id, coalesce(e.wakes, 0) > 0 AND coalesce(e.scans, 0) > 0
			AND s.duration_ns IS NOT NULL AS is_recorded,
		coalesce(t.nr_runs, 0) AS nr_runs, coalesce(t.nr_wakes, 0) AS nr_wakes, t.awake_ns, c.cpu_ns,
		t.scanned, t.reclaimed,
		100.0 * coalesce(c.cpu_ns, t.awake_ns) / nullif(s.duration_ns, 0) AS busy_pct,
		coalesce(100.0 * t.reclaimed / nullif(t.scanned, 0), 0) AS efficiency_pct
	FROM span s
	LEFT JOIN seen e ON e.capture_id = s.capture_id
	LEFT JOIN total t ON t.capture_id = s.capture_id
	LEFT JOIN cpu c ON c.capture_id = s.capture_id
)
SELECT capture_id,
	CASE WHEN NOT is_recorded THEN NULL
	WHEN nr_runs > 0 AND busy_pct >= :busy AND efficiency_pct < :efficiency THEN 'finding'
	ELSE 'ok' END AS state,
	iif(is_recorded, NULL, 'mm_vmscan_kswapd_wake and mm_vmscan_lru_shrink_inactive '
		|| '(capture -e reclaim)') AS missing,
	iif(cpu_ns IS NULL, 'medium', 'high') AS confidence,
	nr_runs, nr_wakes, awake_ns, cpu_ns, busy_pct, scanned, reclaimed, efficiency_pct
FROM fact ORDER BY capture_id;
