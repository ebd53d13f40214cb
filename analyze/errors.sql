-- errors.sql - how far the recorded kernel's own model was from the recording, where that was measured.
SELECT v.capture_id, v.label, v.memory_pages,
	100.0 * (v.replayed - v.recorded) / nullif(v.recorded, 0) AS fills_error_pct
FROM (
	SELECT s.capture_id, v.model || iif(v.params <> '', ':' || v.params, '') AS label,
		v.memory_pages, v.recorded, v.replayed
	FROM validation v JOIN demand_stream s ON s.id = v.stream_id
	WHERE v.counter = 'fills' AND v.recorded > 0 AND v.replayed IS NOT NULL
) v
WHERE :capture IS NULL OR v.capture_id = :capture
ORDER BY v.capture_id, v.label, v.memory_pages;
