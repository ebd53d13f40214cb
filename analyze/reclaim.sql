-- reclaim.sql - reclaim by kind. A percentile is the least duration that is not below that share of all
-- (nearest rank). Times are wall time from begin to end; for kswapd from wake to sleep, naps included.
-- cpu_ns: for kswapd what the kernel accounted to its threads between the first and the last sample of
-- the context, NULL without; not_running_ns is the difference. NULL for the others.
WITH
episode AS (
	SELECT capture_id, kind, pid, duration_ns, nr_scanned, nr_reclaimed FROM reclaim_episode
	WHERE :capture IS NULL OR capture_id = :capture
	UNION ALL
	SELECT capture_id, 'kswapd', pid, duration_ns, nr_scanned, nr_reclaimed FROM kswapd_run
	WHERE :capture IS NULL OR capture_id = :capture
),
total AS MATERIALIZED (
	SELECT capture_id, kind, count(*) AS episodes, count(duration_ns) AS nr_finished,
		sum(nr_scanned) AS nr_scanned, sum(nr_reclaimed) AS nr_reclaimed,
		sum(duration_ns) AS total_ns, max(duration_ns) AS duration_max_ns,
		nearest_rank(duration_ns, 50) AS duration_p50_ns,
		nearest_rank(duration_ns, 99) AS duration_p99_ns
	FROM episode GROUP BY capture_id, kind
),
kswapd AS (
	SELECT capture_id, sum(cpu_ns) AS cpu_ns FROM (
		SELECT capture_id, max(CAST(value AS INTEGER)) - min(CAST(value AS INTEGER)) AS cpu_ns
		FROM context WHERE subject LIKE 'schedstat:kswapd%' AND key = 'run_ns'
		GROUP BY capture_id, subject HAVING count(*) > 1)
	GROUP BY capture_id
)
SELECT t.capture_id, t.kind, t.episodes, t.episodes - t.nr_finished AS nr_unfinished,
	t.nr_scanned, t.nr_reclaimed,
	100.0 * t.nr_reclaimed / nullif(t.nr_scanned, 0) AS efficiency_pct, t.total_ns,
	1.0 * t.total_ns / nullif(t.nr_reclaimed, 0) AS page_ns,
	t.duration_p50_ns, t.duration_p99_ns, t.duration_max_ns,
	iif(t.kind = 'kswapd', k.cpu_ns, NULL) AS cpu_ns,
	iif(t.kind = 'kswapd', t.total_ns - k.cpu_ns, NULL) AS not_running_ns,
	c.coverage_pct
FROM total t
LEFT JOIN kswapd k ON k.capture_id = t.capture_id
LEFT JOIN capture_coverage c ON c.capture_id = t.capture_id
ORDER BY t.capture_id, total_ns DESC, t.kind;
