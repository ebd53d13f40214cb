-- info_results.sql - what has been replayed.
SELECT capture_id, model, params, count(*) AS nr_results,
	4096 * min(memory_pages) AS least_memory_bytes, 4096 * max(memory_pages) AS most_memory_bytes
FROM result
WHERE :capture IS NULL OR capture_id = :capture
GROUP BY capture_id, model, params
ORDER BY capture_id, model, params;
