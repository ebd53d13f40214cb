-- info_events.sql - one row per tracepoint and capture: how many, stored how, at what cost on disk.
-- Bytes of a table are whole database pages with its indexes, shared out over the captures by rows.
WITH
tree AS (
	SELECT s.tbl_name AS table_name, sum(d.pgsize) AS disk_bytes
	FROM dbstat d JOIN sqlite_schema s ON s.name = d.name
	WHERE d.aggregate = 1 GROUP BY s.tbl_name
),
-- Chunks hold the events of many types: bytes an event are those of the chunk.
page_bytes AS (
	SELECT round(1.0 * sum(length(data)) / sum(nr_events), 2) AS bytes FROM page_chunk
),
packed_bytes AS (
	SELECT t.name AS table_name, round(1.0 * sum(length(c.data)) / sum(c.nr_events), 2) AS bytes
	FROM event_chunk c JOIN event_table t ON t.id = c.table_id GROUP BY t.id
),
shared AS (
	SELECT table_name, sum(nr_events) AS nr_events FROM event_type
	WHERE table_name IS NOT NULL GROUP BY table_name
)
SELECT e.capture_id, e.system, e.name AS event, e.nr_events, e.stored_as, e.table_name,
	CASE
	WHEN e.stored_as LIKE 'page%' THEN (SELECT bytes FROM page_bytes)
	WHEN p.bytes IS NOT NULL THEN p.bytes
	ELSE round(1.0 * t.disk_bytes / nullif(s.nr_events, 0), 2)
	END AS bytes_per_event,
	coalesce(e.reason, '') AS reason
FROM event_type e
LEFT JOIN tree t ON t.table_name = e.table_name
LEFT JOIN packed_bytes p ON p.table_name = e.table_name
LEFT JOIN shared s ON s.table_name = e.table_name
WHERE (:capture IS NULL OR e.capture_id = :capture)
	-- :some: only those that came, and those that were wanted and are missing
	AND (:some IS NULL OR e.nr_events > 0 OR e.nr_events IS NULL)
ORDER BY e.capture_id, e.nr_events IS NULL, e.nr_events DESC, e.system, e.name;
