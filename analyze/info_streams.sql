-- info_streams.sql - demand streams derived so far: what programs asked for.
SELECT id AS stream_id, capture_id, nr_accesses, nr_distinct_pages,
	4096 * nr_distinct_pages AS footprint_bytes, completeness, coverage_pct
FROM demand_stream
WHERE :capture IS NULL OR capture_id = :capture
ORDER BY id;
