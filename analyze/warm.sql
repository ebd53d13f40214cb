-- warm.sql - of the pages that reads and faults of capture :capture asked for, those that had been in
-- the cache since before it began. NULL: no request or no fill was recorded.
SELECT 100.0 * sum(warm_pages) FILTER (WHERE op IN ('read', 'fault'))
	/ nullif(sum(pages) FILTER (WHERE op IN ('read', 'fault')), 0) AS warm_pct
FROM page_life
WHERE capture_id = :capture AND (op = 'add' OR op IN ('read', 'fault'))
HAVING count(*) FILTER (WHERE op = 'add') > 0 OR EXISTS (SELECT 1 FROM event_type
	WHERE capture_id = :capture AND name = 'mm_filemap_add_to_page_cache'
	AND stored_as <> 'missing');
