-- latency.sql - how long reclaim took: episodes by kind and power of two.
WITH RECURSIVE
bucket(from_ns) AS (
	SELECT 0 UNION ALL SELECT 1 << 10
	UNION ALL SELECT 2 * from_ns FROM bucket WHERE from_ns BETWEEN 1 AND 1 << 40
),
episode AS (
	SELECT capture_id, kind, duration_ns FROM reclaim_episode
	UNION ALL
	SELECT capture_id, 'kswapd', duration_ns FROM kswapd_run
),
counted AS (
	SELECT e.capture_id, e.kind,
		iif(e.duration_ns < 1 << 10, 0, min(power_of_two(e.duration_ns), 1 << 41))
			AS from_ns,
		count(*) AS episodes, sum(e.duration_ns) AS total_ns
	FROM episode e
	WHERE e.duration_ns IS NOT NULL AND (:capture IS NULL OR e.capture_id = :capture)
	GROUP BY 1, 2, 3
),
span AS (
	SELECT capture_id, kind, min(from_ns) AS least, max(from_ns) AS most, max(episodes) AS peak,
		sum(episodes) AS of
	FROM counted GROUP BY capture_id, kind
)
SELECT s.capture_id, s.kind, b.from_ns, max(2 * b.from_ns, 1 << 10) AS below_ns,
	coalesce(n.episodes, 0) AS episodes, 100.0 * coalesce(n.episodes, 0) / s.of AS share_pct,
	coalesce(n.total_ns, 0) AS total_ns, 1.0 * coalesce(n.episodes, 0) / s.peak AS share_of_most,
	c.coverage_pct
FROM span s
JOIN bucket b ON b.from_ns BETWEEN s.least AND s.most
LEFT JOIN counted n ON n.capture_id = s.capture_id AND n.kind = s.kind AND n.from_ns = b.from_ns
LEFT JOIN capture_coverage c ON c.capture_id = s.capture_id
ORDER BY s.capture_id, s.kind, b.from_ns;
