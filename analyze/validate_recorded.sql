-- validate_recorded.sql - (counter, value) of what the recorded kernel did for the tasks :pids (a JSON
-- array). NULL: the events that would tell were not recorded.
WITH inside AS (
	SELECT value AS pid FROM json_each(:pids)
), seen AS (
	SELECT name FROM event_type WHERE capture_id = :capture_id AND stored_as <> 'missing'
), owned AS (
	-- Batches are drained by whoever fills them on that CPU, so the page is known by its frame: odd if
	-- the frame's last add was by one of :pids and nothing deleted it since.
	SELECT op, max(CASE op WHEN 'add' THEN 2 * ts_ns + (pid IN inside) WHEN 'delete' THEN 2 * ts_ns END)
		OVER (PARTITION BY pfn ORDER BY ts_ns) AS owner
	FROM page_event WHERE capture_id = :capture_id AND op IN ('add', 'delete', 'activate')
), stat AS (
	SELECT key, max(value) FILTER (WHERE phase = 'end') - max(value) FILTER (WHERE phase = 'start') AS value
	FROM context WHERE capture_id = :capture_id AND subject = 'memcg:' || :path GROUP BY key
)
SELECT 'fills', iif('mm_filemap_add_to_page_cache' IN seen,
	(SELECT coalesce(sum(pages), 0) FROM page_event WHERE capture_id = :capture_id AND op = 'add'
		AND pid IN inside), NULL)
UNION ALL SELECT 'evictions', iif('mm_filemap_delete_from_page_cache' IN seen,
	(SELECT coalesce(sum(pages), 0) FROM page_event WHERE capture_id = :capture_id AND op = 'delete'
		AND flags & 2 AND pid IN inside), NULL)
UNION ALL SELECT 'scanned', iif('mm_vmscan_lru_shrink_inactive' IN seen,
	(SELECT coalesce(sum(nr_scanned), 0) FROM mm_vmscan_lru_shrink_inactive
		WHERE capture_id = :capture_id AND pid IN inside), NULL)
-- a folio counts as one page: the event has no order
UNION ALL SELECT 'activated', iif('mm_lru_activate' IN seen,
	(SELECT count(*) FROM owned WHERE op = 'activate' AND owner & 1)
	+ (SELECT coalesce(sum(coalesce(nr_activate, nr_activate0 + nr_activate1)), 0)
		FROM mm_vmscan_lru_shrink_inactive WHERE capture_id = :capture_id AND pid IN inside), NULL)
UNION ALL SELECT 'deactivated', iif('mm_vmscan_lru_shrink_active' IN seen,
	(SELECT coalesce(sum(nr_deactivated), 0) FROM mm_vmscan_lru_shrink_active
		WHERE capture_id = :capture_id AND pid IN inside), NULL)
UNION ALL SELECT 'refaults', (SELECT value FROM stat
	WHERE key IN ('stat.workingset_refault_file', 'stat.workingset_refault') LIMIT 1);
