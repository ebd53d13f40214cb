-- mrc.sql - miss ratio by memory: the stored curves, and the replays of models that have none.
-- recorded_pages is the limit that the capture ran under, NULL if there was none or it is unknown.
WITH
recorded AS (
	SELECT capture_id, min(CAST(value AS INTEGER)) / 4096 AS limit_pages
	FROM context
	WHERE subject LIKE 'memcg:%' AND key = 'limit_bytes'
		AND CAST(value AS INTEGER) BETWEEN 1 AND 1 << 60
	GROUP BY capture_id
),
point AS (
	SELECT stream_id, model, params, method, seed, memory_pages, miss_ratio, stderr FROM curve
	UNION ALL
	SELECT r.stream_id, r.model, r.params, 'replay', r.seed, r.memory_pages, r.miss_ratio, NULL
	FROM replay_result r
	WHERE r.miss_ratio IS NOT NULL AND NOT EXISTS (
		SELECT 1 FROM curve c WHERE c.stream_id = r.stream_id AND c.model = r.model
			AND c.params = r.params)
	-- The profile prices a replay, it changes no miss.
	GROUP BY r.stream_id, r.model, r.params, r.seed, r.memory_pages
)
SELECT s.capture_id, p.stream_id,
	iif(:capture IS NULL, 'capture ' || s.capture_id || ' ', '')
		|| p.model || iif(p.params <> '', ':' || p.params, '') || ' (' || p.method
		|| iif(n.seeds > 1, ', seed ' || p.seed, '') || ')' AS label,
	p.model, p.params, p.method, p.seed, p.memory_pages, p.miss_ratio, p.stderr,
	l.limit_pages AS recorded_pages, s.completeness, s.coverage_pct
FROM point p
JOIN (SELECT stream_id, model, params, method, count(DISTINCT seed) AS seeds FROM point
	GROUP BY stream_id, model, params, method) n
	ON n.stream_id = p.stream_id AND n.model = p.model AND n.params = p.params
	AND n.method = p.method
JOIN demand_stream s ON s.id = p.stream_id
LEFT JOIN recorded l ON l.capture_id = s.capture_id
WHERE :capture IS NULL OR s.capture_id = :capture
ORDER BY s.capture_id, p.stream_id, p.model, p.params, p.method, p.seed, p.memory_pages;
