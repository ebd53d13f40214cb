-- doctor_empty_shrinkers.sql - reclaim time that went into shrinkers which freed nothing.
--   traced_ns  calls of shrinkers that freed nothing in the whole capture
--   polled_ns  shrinkers without objects are asked and never traced: the time from the end of a list
--              scan or of a shrinker to the next shrinker, scan or end of reclaim in the same task,
--              of each at most :longest (what is longer, the task was off its CPU)
-- reclaim_ns: direct, memcg and node reclaim from begin to end, and kswapd's CPU time (without the
-- context of a live capture its time awake). nr_superblocks: each has a shrinker; NULL if it was not
-- recorded.
WITH
seen AS (
	SELECT capture_id, sum(name = 'mm_shrink_slab_start') AS slab,
		sum(name = 'mm_vmscan_lru_shrink_inactive') AS scans
	FROM event_type WHERE stored_as <> 'missing' GROUP BY capture_id
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
empty AS (
	SELECT capture_id, sum(nr_calls) AS nr_calls, count(*) AS nr_shrinkers, sum(spent_ns) AS traced_ns
	FROM (SELECT capture_id, shrinker, count(*) AS nr_calls, sum(duration_ns) AS spent_ns
		FROM shrinker_call GROUP BY capture_id, shrinker HAVING max(nr_freed) = 0)
	GROUP BY capture_id
),
mark AS (
	SELECT capture_id, pid, ts_ns, 'begin' AS step, 0 AS place FROM reclaim_mark WHERE is_begin
	UNION ALL SELECT capture_id, pid, ts_ns, 'end', 5 FROM reclaim_mark WHERE NOT is_begin
	UNION ALL SELECT capture_id, pid, ts_ns, 'begin', 0 FROM mm_vmscan_kswapd_wake
	UNION ALL SELECT capture_id, pid, ts_ns, 'sleep', 5 FROM mm_vmscan_kswapd_sleep
	UNION ALL SELECT capture_id, pid, ts_ns, 'scan', 1 FROM mm_vmscan_lru_isolate
	UNION ALL SELECT capture_id, pid, ts_ns, 'scanned', 2 FROM mm_vmscan_lru_shrink_inactive
	UNION ALL SELECT capture_id, pid, ts_ns, 'scanned', 2 FROM mm_vmscan_lru_shrink_active
	UNION ALL SELECT capture_id, pid, ts_ns, 'shrink', 3 FROM mm_shrink_slab_start
	UNION ALL SELECT capture_id, pid, ts_ns, 'shrunk', 4 FROM mm_shrink_slab_end
	UNION ALL SELECT capture_id, pid, ts_ns, 'throttled', 4 FROM mm_vmscan_throttled
),
step AS (
	SELECT capture_id, step, lead(step) OVER w AS next_step, lead(ts_ns) OVER w - ts_ns AS next_ns
	FROM mark
	WINDOW w AS (PARTITION BY capture_id, pid ORDER BY ts_ns, place)
),
polled AS (
	SELECT capture_id, sum(min(next_ns, :longest)) AS polled_ns
	FROM step
	WHERE step IN ('scanned', 'shrunk') AND next_step IN ('shrink', 'end', 'scan')
		-- from one list to the next no shrinker is asked if there was no time for one
		AND (next_step <> 'scan' OR next_ns > 5000)
	GROUP BY capture_id
),
kswapd AS (
	SELECT r.capture_id, coalesce(max(c.cpu_ns), sum(r.duration_ns)) AS spent_ns
	FROM (SELECT k.capture_id, coalesce(k.end_ns, c.end_ts_ns) - k.start_ns AS duration_ns
		FROM kswapd_run k JOIN capture c ON c.id = k.capture_id) r
	LEFT JOIN (
		SELECT capture_id, sum(cpu_ns) AS cpu_ns FROM (
			SELECT capture_id, max(CAST(value AS INTEGER)) - min(CAST(value AS INTEGER)) AS cpu_ns
			FROM context WHERE subject LIKE 'schedstat:kswapd%' AND key = 'run_ns'
			GROUP BY capture_id, subject HAVING count(*) > 1)
		GROUP BY capture_id) c ON c.capture_id = r.capture_id
	GROUP BY r.capture_id
),
episode AS (
	SELECT capture_id, sum(duration_ns) AS spent_ns FROM reclaim_episode GROUP BY capture_id
),
superblock AS (
	SELECT capture_id, max(CAST(value AS INTEGER)) AS nr_superblocks FROM context
	WHERE subject = 'host' AND key = 'nr_superblocks' GROUP BY capture_id
),
fact AS (
	SELECT s.capture_id, coalesce(n.slab, 0) > 0 AND coalesce(n.scans, 0) > 0
			AND s.duration_ns IS NOT NULL AS is_recorded,
		coalesce(e.nr_calls, 0) AS nr_calls, coalesce(e.nr_shrinkers, 0) AS nr_shrinkers,
		coalesce(e.traced_ns, 0) AS traced_ns, coalesce(p.polled_ns, 0) AS polled_ns,
		coalesce(e.traced_ns, 0) + coalesce(p.polled_ns, 0) AS empty_ns,
		coalesce(k.spent_ns, 0) + coalesce(r.spent_ns, 0) AS reclaim_ns,
		b.nr_superblocks, s.duration_ns
	FROM span s
	LEFT JOIN seen n ON n.capture_id = s.capture_id
	LEFT JOIN empty e ON e.capture_id = s.capture_id
	LEFT JOIN polled p ON p.capture_id = s.capture_id
	LEFT JOIN kswapd k ON k.capture_id = s.capture_id
	LEFT JOIN episode r ON r.capture_id = s.capture_id
	LEFT JOIN superblock b ON b.capture_id = s.capture_id
)
SELECT capture_id,
	CASE WHEN NOT is_recorded THEN NULL
	WHEN 100.0 * empty_ns >= :share * reclaim_ns AND 100.0 * empty_ns >= :load * duration_ns
		AND empty_ns >= :least THEN 'finding'
	ELSE 'ok' END AS state,
	iif(is_recorded, NULL, 'mm_shrink_slab_start, _end and mm_vmscan_lru_shrink_inactive '
		|| '(capture -e reclaim -e slab)') AS missing,
	iif(traced_ns > polled_ns, 'high', 'medium') AS confidence,
	100.0 * empty_ns / nullif(reclaim_ns, 0) AS share_pct,
	100.0 * empty_ns / nullif(duration_ns, 0) AS load_pct,
	empty_ns, reclaim_ns, traced_ns, nr_calls, nr_shrinkers, polled_ns, nr_superblocks,
	iif(nr_superblocks > 0, printf('pagereel case kswapd-slab --set superblocks=%d,version=6.18',
		nr_superblocks), NULL) AS command
FROM fact ORDER BY capture_id;
