-- reclaim.sql - reclaim by kind. A percentile is the least duration that is not below that share of all
-- (nearest rank). Times are wall time from begin to end; for kswapd from wake to sleep, naps included.
-- cpu_ns: for kswapd what the kernel accounted to its threads between the first and the last sample of
-- the context, NULL without; not_running_ns is the difference. NULL for the others.
WITH
episode AS MATERIALIZED (
	SELECT capture_id, kind, pid, duration_ns, nr_scanned, nr_reclaimed FROM reclaim_episode
	WHERE :capture IS NULL OR capture_id = :capture
	UNION ALL
	SELECT capture_id, 'kswapd', pid, duration_ns, nr_scanned, nr_reclaimed FROM kswapd_run
	WHERE :capture IS NULL OR capture_id = :capture
),
ranked AS (
	SELECT capture_id, kind, duration_ns,
		row_number() OVER kind_by_duration AS place,
		count(*) OVER (PARTITION BY capture_id, kind) AS of
	FROM episode
	WHERE duration_ns IS NOT NULL
	WINDOW kind_by_duration AS (PARTITION BY capture_id, kind ORDER BY duration_ns)
),
percentile AS (
	SELECT capture_id, kind,
		min(duration_ns) FILTER (WHERE 100 * place >= 50 * of) AS duration_p50_ns,
		min(duration_ns) FILTER (WHERE 100 * place >= 99 * of) AS duration_p99_ns
	FROM ranked GROUP BY capture_id, kind
),
kswapd AS (
	SELECT capture_id, sum(cpu_ns) AS cpu_ns FROM (
		SELECT capture_id, max(CAST(value AS INTEGER)) - min(CAST(value AS INTEGER)) AS cpu_ns
		FROM context WHERE subject LIKE 'schedstat:kswapd%' AND key = 'run_ns'
		GROUP BY capture_id, subject HAVING count(*) > 1)
	GROUP BY capture_id
)
SELECT e.capture_id, e.kind, count(*) AS episodes, count(*) - count(e.duration_ns) AS nr_unfinished,
	sum(e.nr_scanned) AS nr_scanned, sum(e.nr_reclaimed) AS nr_reclaimed,
	100.0 * sum(e.nr_reclaimed) / nullif(sum(e.nr_scanned), 0) AS efficiency_pct,
	sum(e.duration_ns) AS total_ns,
	1.0 * sum(e.duration_ns) / nullif(sum(e.nr_reclaimed), 0) AS page_ns,
	p.duration_p50_ns, p.duration_p99_ns, max(e.duration_ns) AS duration_max_ns,
	iif(e.kind = 'kswapd', k.cpu_ns, NULL) AS cpu_ns,
	iif(e.kind = 'kswapd', sum(e.duration_ns) - k.cpu_ns, NULL) AS not_running_ns,
	c.coverage_pct
FROM episode e
LEFT JOIN percentile p ON p.capture_id = e.capture_id AND p.kind = e.kind
LEFT JOIN kswapd k ON k.capture_id = e.capture_id
LEFT JOIN capture_coverage c ON c.capture_id = e.capture_id
GROUP BY e.capture_id, e.kind
ORDER BY e.capture_id, total_ns DESC, e.kind;
