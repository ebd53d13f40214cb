-- compare.sql - replays: one row per model, parameters and amount of memory. claim says what the row is
-- worth: 'full'; 'estimate' (hits were not recorded, so recency is missing); 'none' (the same, below
-- the recorded size: the hits that would have become misses are exactly those that are missing);
-- 'unknown' (the same, and the recorded size is not known).
WITH
recorded AS (
	SELECT capture_id, min(CAST(value AS INTEGER)) / 4096 AS limit_pages
	FROM context
	WHERE subject LIKE 'memcg:%' AND key = 'limit_bytes'
		AND CAST(value AS INTEGER) BETWEEN 1 AND 1 << 60
	GROUP BY capture_id
),
-- What a label has to tell apart beyond the model.
many AS (
	SELECT capture_id, count(DISTINCT stream_id) AS streams, count(DISTINCT profile) AS profiles,
		count(DISTINCT seed) AS seeds
	FROM replay_result GROUP BY capture_id
),
-- What `analyze reclaim` measures in a recording: all that is priced but look-ups, fills and writing
-- back. An operation without a price makes it unknown.
reclaim AS (
	SELECT result_id, iif(count(*) = count(ns), total(ns)
		FILTER (WHERE component NOT IN ('lookup', 'fill', 'writeback')), NULL) AS ns
	FROM result_cost GROUP BY result_id
)
SELECT r.capture_id, r.stream_id,
	iif(:capture IS NULL, 'capture ' || r.capture_id || ' ', '')
		|| r.model || iif(r.params <> '', ':' || r.params, '')
		|| iif(m.streams > 1, ' stream ' || r.stream_id, '')
		|| iif(m.profiles > 1, ' [' || r.profile || ']', '')
		|| iif(m.seeds > 1, ' seed ' || r.seed, '') AS label,
	r.model, r.params, r.memory_pages, r.profile, r.seed, r.accesses, r.hits, r.misses, r.hit_ratio,
	r.fills, r.fills_compulsory, r.evictions, r.scanned, r.reclaimed, r.activated, r.refaults,
	r.written, r.swapped_out, r.swapped_in, c.ns AS reclaim_ns,
	r.cpu_ns, r.io_ns,
	CASE
	WHEN s.has_hits THEN 'full'
	WHEN l.limit_pages IS NULL THEN 'unknown'
	WHEN r.memory_pages < l.limit_pages THEN 'none'
	ELSE 'estimate'
	END AS claim,
	s.completeness, s.coverage_pct
FROM replay_result r
JOIN demand_stream s ON s.id = r.stream_id
JOIN many m ON m.capture_id = r.capture_id
LEFT JOIN recorded l ON l.capture_id = r.capture_id
LEFT JOIN reclaim c ON c.result_id = r.result_id
WHERE :capture IS NULL OR r.capture_id = :capture
ORDER BY r.capture_id, r.stream_id, r.model NOT LIKE 'linux%', r.model, r.params, r.profile, r.seed,
	r.memory_pages;
