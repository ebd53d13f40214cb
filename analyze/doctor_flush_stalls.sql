-- doctor_flush_stalls.sql - flushes of memcg statistics that a task had to wait for inside reclaim
-- or a refault: while a reclaim of its own went on, in kswapd, or within 1 ms after it added a
-- page to the cache. Readers of memory.stat and the periodic worker flush because they want to:
-- not counted. The time is that of holding the lock; NULL without cgroup_rstat_locked and _unlock.
WITH
seen AS (
	SELECT capture_id, sum(name = 'memcg_flush_stats') AS flushes,
		sum(name = 'cgroup_rstat_locked') AS locks
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
flush AS MATERIALIZED (
	SELECT capture_id, ts_ns, pid, lock_hold_ns FROM stats_flush f
	WHERE (:capture IS NULL OR capture_id = :capture) AND NOT EXISTS (SELECT 1 FROM task t
		WHERE t.capture_id = f.capture_id AND t.pid = f.pid AND t.comm LIKE 'kworker%')
),
flusher AS MATERIALIZED (
	SELECT DISTINCT capture_id, pid FROM flush
),
-- 1 while a reclaim is open; the time of the last page added
around AS (
	SELECT capture_id, pid, ts_ns, iif(is_begin, 1, -1) AS depth, NULL AS added_ns, NULL AS is_flush,
		NULL AS lock_hold_ns, iif(is_begin, 0, 3) AS place
	FROM reclaim_mark WHERE (capture_id, pid) IN (SELECT capture_id, pid FROM flusher)
	UNION ALL
	SELECT capture_id, pid, ts_ns, 0, ts_ns, NULL, NULL, 1 FROM page_event
	WHERE op = 'add' AND (capture_id, pid) IN (SELECT capture_id, pid FROM flusher)
	UNION ALL
	SELECT capture_id, pid, ts_ns, 0, NULL, 1, lock_hold_ns, 2 FROM flush
),
placed AS (
	SELECT capture_id, pid, ts_ns, is_flush, lock_hold_ns, sum(depth) OVER w AS depth,
		max(added_ns) OVER w AS added_ns
	FROM around
	WINDOW w AS (PARTITION BY capture_id, pid ORDER BY ts_ns, place ROWS UNBOUNDED PRECEDING)
),
stall AS MATERIALIZED (
	SELECT capture_id, pid, lock_hold_ns, depth > 0 AS in_reclaim FROM placed
	WHERE is_flush AND (depth > 0 OR ts_ns - added_ns <= 1000000
		OR (capture_id, pid) IN (SELECT capture_id, pid FROM mm_vmscan_kswapd_wake))
),
total AS (
	SELECT capture_id, count(*) AS nr_stalls, sum(NOT in_reclaim) AS nr_in_refaults,
		sum(lock_hold_ns) AS total_ns, max(lock_hold_ns) AS worst_ns,
		count(*) FILTER (WHERE lock_hold_ns >= :stall) AS nr_long
	FROM stall GROUP BY capture_id
),
top AS (
	SELECT capture_id, pid, max(spent_ns) AS top_ns FROM (
		SELECT capture_id, pid, sum(lock_hold_ns) AS spent_ns FROM stall GROUP BY capture_id, pid)
	GROUP BY capture_id
),
fact AS (
	SELECT s.capture_id, coalesce(e.flushes, 0) > 0 AND coalesce(e.locks, 0) > 0
			AND s.duration_ns IS NOT NULL AS is_recorded,
		coalesce(t.nr_stalls, 0) AS nr_stalls, t.nr_in_refaults, coalesce(t.nr_long, 0) AS nr_long,
		t.total_ns, t.worst_ns, p.pid,
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
	WHEN nr_long >= :count OR coalesce(share_pct >= :share AND top_ns >= :least, 0) THEN 'finding'
	ELSE 'ok' END AS state,
	iif(is_recorded, NULL, 'memcg:memcg_flush_stats and cgroup:cgroup_rstat_locked, _unlock '
		|| '(a kernel from 6.13, capture -e memcg-flush)') AS missing,
	'high' AS confidence,
	nr_stalls, nr_in_refaults, nr_long, total_ns, worst_ns, pid, comm, top_ns, share_pct
FROM fact ORDER BY capture_id;
