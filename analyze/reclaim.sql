-- reclaim.sql - reclaim by kind. A percentile is the least duration that is not below that share of all
-- (nearest rank). total_ns is wall time from begin to end; for kswapd from wake to sleep, naps included.
-- Two measurements of CPU time:
--   cpu_ns        begin to end less the time off the CPU (off_cpu_ns), of those that ended. Of up to one
--                 in 20 it may be unknown: the others' share is taken for them. NULL where more are, as the
--                 switches of the tasks were not recorded (groups 'sched' or 'reclaim-cpu')
--   schedstat_ns  kswapd only: what the kernel accounted to its threads between the first and the last
--                 sample of the context, NULL without
--   differ_ns     first minus second; with total_ns in place of an unknown cpu_ns it is the time kswapd
--                 was awake and not running
-- The kinds 'shrinkers' and 'stats flush' happen inside the others and add nothing to them; of a flush
-- the time is that of the lock held.
WITH
episode AS (
	SELECT capture_id, kind, duration_ns, cpu_ns, nr_scanned, nr_reclaimed FROM reclaim_cpu
	WHERE :capture IS NULL OR capture_id = :capture
	UNION ALL
	SELECT capture_id, 'shrinkers', duration_ns, NULL, NULL, NULL FROM shrinker_call
	WHERE :capture IS NULL OR capture_id = :capture
	UNION ALL
	SELECT capture_id, 'stats flush', lock_hold_ns, NULL, NULL, NULL FROM stats_flush
	WHERE (:capture IS NULL OR capture_id = :capture) AND nr_lock_holds > 0
),
total AS MATERIALIZED (
	SELECT capture_id, kind, count(*) AS episodes, count(duration_ns) AS nr_finished,
		sum(nr_scanned) AS nr_scanned, sum(nr_reclaimed) AS nr_reclaimed,
		sum(duration_ns) AS total_ns, max(duration_ns) AS duration_max_ns,
		nearest_rank(duration_ns, 50) AS duration_p50_ns,
		nearest_rank(duration_ns, 99) AS duration_p99_ns,
		iif(20 * count(cpu_ns) >= 19 * count(duration_ns), CAST(round(1.0 * sum(duration_ns)
			* sum(cpu_ns) / nullif(sum(iif(cpu_ns IS NULL, NULL, duration_ns)), 0))
			AS INTEGER), NULL) AS cpu_ns
	FROM episode GROUP BY capture_id, kind
),
schedstat AS (
	SELECT capture_id, 'kswapd' AS kind, sum(cpu_ns) AS cpu_ns FROM (
		SELECT capture_id, max(CAST(value AS INTEGER)) - min(CAST(value AS INTEGER)) AS cpu_ns
		FROM context WHERE subject LIKE 'schedstat:kswapd%' AND key = 'run_ns'
		GROUP BY capture_id, subject HAVING count(*) > 1)
	GROUP BY capture_id
)
SELECT t.capture_id, t.kind, t.episodes, t.episodes - t.nr_finished AS nr_unfinished,
	t.nr_scanned, t.nr_reclaimed,
	100.0 * t.nr_reclaimed / nullif(t.nr_scanned, 0) AS efficiency_pct, t.total_ns,
	t.total_ns - t.cpu_ns AS off_cpu_ns, t.cpu_ns, k.cpu_ns AS schedstat_ns,
	coalesce(t.cpu_ns, t.total_ns) - k.cpu_ns AS differ_ns,
	1.0 * coalesce(t.cpu_ns, t.total_ns) / nullif(t.nr_reclaimed, 0) AS page_ns,
	t.duration_p50_ns, t.duration_p99_ns, t.duration_max_ns, c.coverage_pct
FROM total t
LEFT JOIN schedstat k ON k.capture_id = t.capture_id AND k.kind = t.kind
LEFT JOIN capture_coverage c ON c.capture_id = t.capture_id
ORDER BY t.capture_id, t.kind IN ('shrinkers', 'stats flush'), total_ns DESC, t.kind;
