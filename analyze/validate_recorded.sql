-- validate_recorded.sql - (counter, value) of what the recorded kernel did for the tasks :pids (a JSON
-- array), of file pages: the model is run without swap and has no others. NULL: the events that would
-- tell were not recorded.
WITH inside AS (
	SELECT value AS pid FROM json_each(:pids)
), seen AS (
	SELECT name FROM event_type WHERE capture_id = :capture_id AND stored_as <> 'missing'
), frame AS (
	-- mm_lru_activate has a frame and nothing else, and comes once a folio. Batches are drained by whoever fills them on that CPU,
	-- so both the owner and the folio's pages are known from the last add there, unless it was deleted since.
	SELECT op, pid, pages, pfn, count(*) FILTER (WHERE op <> 'activate')
		OVER (PARTITION BY pfn ORDER BY ts_ns ROWS UNBOUNDED PRECEDING) AS life
	FROM page_event WHERE capture_id = :capture_id AND op IN ('add', 'delete', 'activate')
), folio AS (
	SELECT count(*) FILTER (WHERE op = 'activate') AS nr_activations,
		max(iif(op = 'add' AND pid IN inside, pages, 0)) AS pages
	FROM frame GROUP BY pfn, life
), reclaim AS (
	-- One task's batches; only those inside a reclaim of a memcg, for the same task may have to reclaim for
	-- the whole machine, and then meets the pages of others.
	SELECT *, sum(is_begin) OVER (PARTITION BY pid ORDER BY ts_ns, step ROWS UNBOUNDED PRECEDING) AS depth
	FROM (
		SELECT pid, ts_ns, iif(is_begin, 1, -1) AS is_begin, iif(is_begin, 0, 2) AS step,
			NULL AS reclaim_flags, NULL AS scanned, NULL AS activated, NULL AS deactivated
		FROM reclaim_mark WHERE capture_id = :capture_id AND kind = 'memcg' AND pid IN inside
		UNION ALL
		SELECT pid, ts_ns, 0, 1, reclaim_flags, nr_scanned,
			coalesce(nr_activate, nr_activate0 + nr_activate1), NULL
		FROM mm_vmscan_lru_shrink_inactive WHERE capture_id = :capture_id AND pid IN inside
		UNION ALL
		SELECT pid, ts_ns, 0, 1, reclaim_flags, NULL, NULL, nr_deactivated
		FROM mm_vmscan_lru_shrink_active WHERE capture_id = :capture_id AND pid IN inside
	)
), batch AS (
	SELECT scanned, activated, deactivated FROM reclaim WHERE depth > 0 AND NOT is_begin
		AND CASE typeof(reclaim_flags) WHEN 'integer' THEN reclaim_flags & 2
			WHEN 'text' THEN reclaim_flags LIKE '%FILE%' ELSE 1 END
), known AS (
	-- Can reclaim of a memcg be told from other reclaim?
	SELECT 'mm_vmscan_memcg_reclaim_begin' IN seen AND 'mm_vmscan_memcg_reclaim_end' IN seen AS marks
), stat AS (
	SELECT key, max(value) FILTER (WHERE phase = 'end') - max(value) FILTER (WHERE phase = 'start') AS value
	FROM context WHERE capture_id = :capture_id AND subject = 'memcg:' || :path GROUP BY key
)
SELECT 'fills', iif('mm_filemap_add_to_page_cache' IN seen,
	(SELECT coalesce(sum(pages), 0) FROM page_event WHERE capture_id = :capture_id AND op = 'add'
		AND pid IN inside), NULL)
UNION ALL SELECT 'evictions', iif(marks AND 'mm_filemap_delete_from_page_cache' IN seen,
	(SELECT coalesce(sum(pages), 0) FROM page_event WHERE capture_id = :capture_id AND op = 'delete'
		AND flags & 2 AND pid IN inside), NULL) FROM known
UNION ALL SELECT 'scanned', iif(marks AND 'mm_vmscan_lru_shrink_inactive' IN seen,
	(SELECT coalesce(sum(scanned), 0) FROM batch), NULL) FROM known
UNION ALL SELECT 'activated', iif(marks AND 'mm_lru_activate' IN seen
		AND 'mm_vmscan_lru_shrink_inactive' IN seen AND 'mm_filemap_add_to_page_cache' IN seen,
	(SELECT coalesce(sum(nr_activations * pages), 0) FROM folio)
	+ (SELECT coalesce(sum(activated), 0) FROM batch), NULL) FROM known
UNION ALL SELECT 'deactivated', iif(marks AND 'mm_vmscan_lru_shrink_active' IN seen,
	(SELECT coalesce(sum(deactivated), 0) FROM batch), NULL) FROM known
UNION ALL SELECT 'refaults', (SELECT value FROM stat
	WHERE key IN ('stat.workingset_refault_file', 'stat.workingset_refault') LIMIT 1);
