-- knees.sql - where a curve bends: a little more memory than this buys less than a little less costs.
SELECT k.model || iif(k.params <> '', ':' || k.params, '') AS model, k.method, k.memory_pages,
	k.miss_ratio, k.drop_ratio
FROM knee k
JOIN demand_stream s ON s.id = k.stream_id
WHERE :capture IS NULL OR s.capture_id = :capture
ORDER BY s.capture_id, k.stream_id, k.model, k.params, k.method, k.seed, k.memory_pages;
