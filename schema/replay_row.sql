-- replay_row.sql - one result as `pagereel replay` prints it.
SELECT model, params, memory_pages, accesses, hits, misses, hit_ratio, fills, evictions, scanned, reclaimed,
	refaults, cpu_ns
FROM replay_result WHERE result_id = :result_id;
