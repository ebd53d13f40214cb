-- doctor_streams.sql - tasks that read long files in order, and pages of others that were evicted
-- and read back meanwhile. A stream is a run of one task's adds to the cache in the order of the
-- file, at least :run bytes long (up to 32 pages that were there already may be left out). once_pct: of its
-- pages, those that had not been there before. A refault is one as in the view of that name.
WITH
seen AS (
	SELECT capture_id, sum(name = 'mm_filemap_add_to_page_cache') AS adds,
		sum(name = 'mm_filemap_delete_from_page_cache') AS deletes
	FROM event_type WHERE stored_as <> 'missing' GROUP BY capture_id
),
span AS (
	SELECT id AS capture_id FROM capture WHERE :capture IS NULL OR id = :capture
),
run AS MATERIALIZED (
	SELECT capture_id, file_id, sum(pages) AS pages,
		coalesce(sum(pages) FILTER (WHERE evicted_ns IS NOT NULL), 0) AS refault_pages,
		sum(pages) * 4096 >= :run AS in_stream
	FROM page_life WHERE op = 'add' AND (:capture IS NULL OR capture_id = :capture)
	GROUP BY capture_id, run
),
total AS (
	SELECT capture_id, sum(pages) AS fill_pages, sum(in_stream) AS nr_streams,
		coalesce(sum(pages) FILTER (WHERE in_stream), 0) AS stream_pages,
		coalesce(sum(pages - refault_pages) FILTER (WHERE in_stream), 0) AS once_pages,
		coalesce(sum(pages) FILTER (WHERE NOT in_stream), 0) AS other_pages,
		coalesce(sum(refault_pages) FILTER (WHERE NOT in_stream), 0) AS refault_pages
	FROM run GROUP BY capture_id
),
top AS (
	SELECT capture_id, file_id, max(n) FROM (
		SELECT capture_id, file_id, sum(pages) AS n FROM run WHERE in_stream
		GROUP BY capture_id, file_id)
	GROUP BY capture_id
),
fact AS (
	SELECT s.capture_id, coalesce(e.adds, 0) > 0 AND coalesce(e.deletes, 0) > 0 AS is_recorded,
		coalesce(t.nr_streams, 0) AS nr_streams, t.fill_pages, t.stream_pages,
		100.0 * t.stream_pages / nullif(t.fill_pages, 0) AS stream_pct,
		100.0 * t.once_pages / nullif(t.stream_pages, 0) AS once_pct, t.refault_pages,
		100.0 * t.refault_pages / nullif(t.other_pages, 0) AS refault_pct,
		(SELECT coalesce(path, 'inode ' || ino) FROM file f WHERE f.id = p.file_id) AS file
	FROM span s
	LEFT JOIN seen e ON e.capture_id = s.capture_id
	LEFT JOIN total t ON t.capture_id = s.capture_id
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
