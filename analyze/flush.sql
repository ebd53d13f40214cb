-- flush.sql - flushes of memcg statistics, by task: how often, how long the lock was held for them, how
-- often it was contended. Time is NULL without cgroup:cgroup_rstat_locked and _unlock (6.11 and later).
WITH
flush AS MATERIALIZED (
	SELECT * FROM stats_flush WHERE :capture IS NULL OR capture_id = :capture
),
ranked AS (
	SELECT capture_id, pid, lock_hold_ns,
		row_number() OVER (PARTITION BY capture_id, pid ORDER BY lock_hold_ns) AS place,
		count(*) OVER (PARTITION BY capture_id, pid) AS of
	FROM flush WHERE lock_hold_ns IS NOT NULL
),
percentile AS (
	SELECT capture_id, pid,
		min(lock_hold_ns) FILTER (WHERE 100 * place >= 50 * of) AS hold_p50_ns,
		min(lock_hold_ns) FILTER (WHERE 100 * place >= 99 * of) AS hold_p99_ns
	FROM ranked GROUP BY capture_id, pid
)
SELECT f.capture_id, f.pid,
	(SELECT comm FROM task t WHERE t.capture_id = f.capture_id AND t.pid = f.pid
		ORDER BY first_ts_ns DESC LIMIT 1) AS comm,
	count(*) AS nr_flushes, sum(f.is_forced) AS nr_forced, sum(f.is_needed) AS nr_needed,
	sum(f.nr_lock_holds) AS nr_lock_holds, sum(f.nr_contended) AS nr_contended,
	sum(f.lock_hold_ns) AS total_ns, p.hold_p50_ns, p.hold_p99_ns, max(f.lock_hold_ns) AS hold_max_ns,
	c.coverage_pct
FROM flush f
LEFT JOIN percentile p ON p.capture_id = f.capture_id AND p.pid = f.pid
LEFT JOIN capture_coverage c ON c.capture_id = f.capture_id
GROUP BY f.capture_id, f.pid
ORDER BY f.capture_id, total_ns IS NULL, total_ns DESC, nr_flushes DESC, f.pid;
