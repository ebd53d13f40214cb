-- doctor_streams.sql - files read through once, in order, while other pages are evicted and read
-- back. A stream is a run of pages that one task added to the cache in the order of the file, at
-- least :run bytes long (up to 32 pages that were there already may be left out). once_pct: of its
-- pages, those that had not been there before.
WITH
seen AS (
	SELECT capture_id, sum(name = 'mm_filemap_add_to_page_cache') AS adds,
		sum(name = 'mm_filemap_delete_from_page_cache') AS deletes
	FROM event_type WHERE stored_as <> 'missing' GROUP BY capture_id
),
span AS (
	SELECT id AS capture_id FROM capture WHERE :capture IS NULL OR id = :capture
),
event AS (
	SELECT capture_id, ts_ns, pid, file_id, page_index, pages, 1 AS is_add FROM page_event
	WHERE op = 'add' AND capture_id IN (SELECT capture_id FROM span)
	UNION ALL
	SELECT capture_id, ts_ns, pid, file_id, page_index, pages, 0 FROM eviction
	WHERE capture_id IN (SELECT capture_id FROM span)
),
-- as the view refault has it: an add of a folio that was evicted before, by its first page
aged AS (
	SELECT *, coalesce(lag(is_add) OVER w = 0, 0) AS is_refault
	FROM event
	WINDOW w AS (PARTITION BY capture_id, file_id, page_index ORDER BY ts_ns, is_add)
),
fill AS (
	SELECT capture_id, ts_ns, pid, file_id, page_index, pages, is_refault,
		coalesce(page_index - lag(page_index + pages) OVER w BETWEEN 0 AND 32, 0) AS goes_on
	FROM aged WHERE is_add
	WINDOW w AS (PARTITION BY capture_id, pid, file_id ORDER BY ts_ns, page_index)
),
numbered AS (
	SELECT *, sum(NOT goes_on) OVER (PARTITION BY capture_id, pid, file_id ORDER BY ts_ns, page_index
		ROWS UNBOUNDED PRECEDING) AS run
	FROM fill
),
marked AS MATERIALIZED (
	SELECT capture_id, pid, file_id, run, pages, is_refault,
		sum(pages) OVER (PARTITION BY capture_id, pid, file_id, run) * 4096 >= :run AS in_stream
	FROM numbered
),
total AS (
	SELECT capture_id, sum(pages) AS fill_pages,
		coalesce(sum(pages) FILTER (WHERE in_stream), 0) AS stream_pages,
		coalesce(sum(pages) FILTER (WHERE in_stream AND NOT is_refault), 0) AS once_pages,
		coalesce(sum(pages) FILTER (WHERE NOT in_stream), 0) AS other_pages,
		coalesce(sum(pages) FILTER (WHERE NOT in_stream AND is_refault), 0) AS refault_pages
	FROM marked GROUP BY capture_id
),
run AS (
	SELECT capture_id, count(*) AS nr_streams FROM (
		SELECT DISTINCT capture_id, pid, file_id, run FROM marked WHERE in_stream)
	GROUP BY capture_id
),
top AS (
	SELECT capture_id, file_id, max(n) FROM (
		SELECT capture_id, file_id, sum(pages) AS n FROM marked WHERE in_stream
		GROUP BY capture_id, file_id)
	GROUP BY capture_id
),
fact AS (
	SELECT s.capture_id, coalesce(e.adds, 0) > 0 AND coalesce(e.deletes, 0) > 0 AS is_recorded,
		coalesce(r.nr_streams, 0) AS nr_streams, t.fill_pages, t.stream_pages,
		100.0 * t.stream_pages / nullif(t.fill_pages, 0) AS stream_pct,
		100.0 * t.once_pages / nullif(t.stream_pages, 0) AS once_pct, t.refault_pages,
		100.0 * t.refault_pages / nullif(t.other_pages, 0) AS refault_pct,
		(SELECT coalesce(path, 'inode ' || ino) FROM file f WHERE f.id = p.file_id) AS file
	FROM span s
	LEFT JOIN seen e ON e.capture_id = s.capture_id
	LEFT JOIN total t ON t.capture_id = s.capture_id
	LEFT JOIN run r ON r.capture_id = s.capture_id
	LEFT JOIN top p ON p.capture_id = s.capture_id
)
SELECT capture_id,
	CASE WHEN NOT is_recorded THEN NULL
	WHEN stream_pct >= :stream AND once_pct >= :once AND refault_pct >= :refault
		AND refault_pages >= :pages THEN 'finding' ELSE 'ok' END AS state,
	iif(is_recorded, NULL, 'pages added to and deleted from the cache (capture -e pagecache)')
		AS missing,
	'medium' AS confidence,
	stream_pct, stream_pages, nr_streams, once_pct, refault_pages, refault_pct, fill_pages, file
FROM fact ORDER BY capture_id;
