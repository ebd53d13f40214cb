-- doctor_dirty_throttling.sql - writers that balance_dirty_pages() put to sleep. share_pct: of the
-- capture, by the task that slept most.
WITH
seen AS (
	SELECT DISTINCT capture_id FROM event_type
	WHERE name = 'balance_dirty_pages' AND stored_as <> 'missing'
),
span AS (
	-- a killed capture has no end: then up to the last that is known
	SELECT id AS capture_id, coalesce(end_ts_ns,
			(SELECT max(last_ts_ns) FROM page_chunk p WHERE p.capture_id = c.id),
			(SELECT max(ts_ns) FROM context x WHERE x.capture_id = c.id))
		- coalesce(base_ts_ns,
			(SELECT min(first_ts_ns) FROM page_chunk p WHERE p.capture_id = c.id),
			(SELECT min(ts_ns) FROM context x WHERE x.capture_id = c.id)) AS duration_ns
	FROM capture c WHERE :capture IS NULL OR id = :capture
),
pause AS MATERIALIZED (
	SELECT capture_id, pid, delayed_ns FROM throttle WHERE kind = 'dirty'
),
total AS (
	SELECT capture_id, count(*) AS nr_pauses, sum(delayed_ns) AS total_ns, max(delayed_ns) AS worst_ns
	FROM pause GROUP BY capture_id
),
top AS (
	SELECT capture_id, pid, max(spent_ns) AS top_ns FROM (
		SELECT capture_id, pid, sum(delayed_ns) AS spent_ns FROM pause GROUP BY capture_id, pid)
	GROUP BY capture_id
),
fact AS (
	SELECT s.capture_id, e.capture_id IS NOT NULL AND s.duration_ns IS NOT NULL AS is_recorded,
		coalesce(t.nr_pauses, 0) AS nr_pauses, t.total_ns, t.worst_ns, p.pid,
		coalesce((SELECT comm FROM task k WHERE k.capture_id = s.capture_id AND k.pid = p.pid
			ORDER BY first_ts_ns DESC LIMIT 1), 'pid ' || p.pid) AS comm,
		p.top_ns, 100.0 * p.top_ns / nullif(s.duration_ns, 0) AS share_pct
	FROM span s
	LEFT JOIN seen e ON e.capture_id = s.capture_id
	LEFT JOIN total t ON t.capture_id = s.capture_id
	LEFT JOIN top p ON p.capture_id = s.capture_id
)
SELECT capture_id,
	CASE WHEN NOT is_recorded THEN NULL
	WHEN share_pct >= :share AND nr_pauses >= :count AND top_ns >= :least THEN 'finding'
	ELSE 'ok' END AS state,
	iif(is_recorded, NULL, 'writeback:balance_dirty_pages (capture -e writeback)') AS missing,
	'high' AS confidence,
	nr_pauses, total_ns, worst_ns, pid, comm, top_ns, share_pct
FROM fact ORDER BY capture_id;
