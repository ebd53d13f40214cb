-- views.sql - names that users think in, whatever kernel the events came from.

DROP VIEW IF EXISTS replay_result;
CREATE VIEW replay_result AS
SELECT id AS result_id, capture_id, stream_id, model, params, memory_pages,
	memory_pages * 4096 AS memory_bytes, profile, seed, status, accesses, hits, misses,
	1.0 * hits / nullif(accesses, 0) AS hit_ratio, 1.0 * misses / nullif(accesses, 0) AS miss_ratio,
	fills, fills_compulsory, fills_whole_write, fills_undemanded, evictions, scanned, reclaimed,
	activated, deactivated, rotated, refaults, written, swapped_out, swapped_in, resident_pages,
	metadata_bytes, cpu_ns, io_ns
FROM result;
