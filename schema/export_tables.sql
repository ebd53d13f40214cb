-- export_tables.sql - what `pagereel export` writes when no table is named: everything that can be read
-- elsewhere, so not the packed chunks (their events are) nor the views that only other views use.
SELECT name FROM (
	SELECT name, type = 'view' AS rank FROM sqlite_schema
	WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
		AND name NOT IN ('page_chunk', 'event_chunk', 'demand_chunk', 'gap_edge', 'reclaim_mark')
	UNION ALL
	SELECT name, 0 FROM event_table WHERE packed
	UNION ALL
	SELECT 'page_event', 0
)
ORDER BY rank, name COLLATE NOCASE
