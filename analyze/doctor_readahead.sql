-- doctor_readahead.sql - pages that tasks brought in by reading and that were evicted before
-- anybody asked for them. Only files that were read, and tasks whose reads were recorded. A
-- request is clipped where the next event of the same request begins, and at the end of the file.
-- To look at millions of pages in seconds, only each :every-th page of a file is looked at (0: as
-- many as make a million events) and counts for as many.
WITH
seen AS (
	SELECT capture_id, sum(name = 'mm_filemap_get_pages') AS reads,
		sum(name = 'mm_filemap_add_to_page_cache') AS adds,
		sum(name = 'mm_filemap_delete_from_page_cache') AS deletes
	FROM event_type WHERE stored_as <> 'missing' GROUP BY capture_id
),
span AS (
	SELECT id AS capture_id, iif(:every > 0, :every, 1 + 2 * (coalesce((SELECT sum(nr_events)
		FROM page_chunk p WHERE p.capture_id = c.id), 0) / 2000000)) AS every
	FROM capture c WHERE :capture IS NULL OR id = :capture
),
request AS (
	SELECT capture_id, ts_ns, pid, op, file_id, page_index, pages,
		lead(page_index) OVER w AS next_index, lead(page_index + pages) OVER w AS next_end
	FROM page_event
	WHERE op IN ('read', 'fault', 'map', 'write') AND capture_id IN (SELECT capture_id FROM span)
	WINDOW w AS (PARTITION BY capture_id, pid, op, file_id ORDER BY ts_ns)
),
reader AS MATERIALIZED (
	SELECT DISTINCT capture_id, pid FROM request WHERE op IN ('read', 'fault')
),
was_read AS MATERIALIZED (
	SELECT DISTINCT capture_id, file_id FROM request WHERE op IN ('read', 'fault')
),
-- [first, beyond) of each event that touches pages; 0 adds, 1 uses, 2 evicts
touch AS (
	SELECT r.capture_id, r.ts_ns, r.file_id, r.page_index AS first, 1 AS step,
		iif(r.op = 'read' AND r.next_end = r.page_index + r.pages AND r.next_index > r.page_index,
			r.next_index, min(r.page_index + r.pages,
				coalesce((f.size_bytes + 4095) / 4096, r.page_index + 512))) AS beyond
	FROM request r LEFT JOIN file f ON f.id = r.file_id
	UNION ALL
	SELECT a.capture_id, a.ts_ns, a.file_id, a.page_index, 0, a.page_index + a.pages
	FROM page_event a WHERE a.op = 'add'
		AND (a.capture_id, a.pid) IN (SELECT capture_id, pid FROM reader)
		AND (a.capture_id, a.file_id) IN (SELECT capture_id, file_id FROM was_read)
	UNION ALL
	SELECT e.capture_id, e.ts_ns, e.file_id, e.page_index, 2, e.page_index + e.pages
	FROM eviction e WHERE e.capture_id IN (SELECT capture_id FROM span)
),
-- the pages of them that are looked at
looked AS (
	SELECT t.capture_id, t.ts_ns, t.file_id, t.step, t.beyond, s.every,
		(t.first + s.every - 1) / s.every * s.every AS page_index
	FROM touch t JOIN span s ON s.capture_id = t.capture_id
	UNION ALL
	SELECT capture_id, ts_ns, file_id, step, beyond, every, page_index + every
	FROM looked WHERE page_index + every < beyond
),
page AS (
	SELECT capture_id, every, step, lag(step) OVER w AS before_step, lead(step) OVER w AS next_step
	FROM looked WHERE page_index < beyond
	WINDOW w AS (PARTITION BY capture_id, file_id, page_index ORDER BY ts_ns, step)
),
total AS (
	SELECT capture_id, sum(every) FILTER (WHERE step = 0) AS fill_pages,
		coalesce(sum(every) FILTER (WHERE step = 2 AND before_step = 0), 0) AS unused_pages,
		coalesce(sum(every) FILTER (WHERE step = 2 AND before_step = 0 AND next_step = 0), 0)
			AS again_pages
	FROM page GROUP BY capture_id
),
memcg AS (
	SELECT capture_id, min(CAST(value AS INTEGER)) AS limit_bytes FROM context
	WHERE subject LIKE 'memcg:%' AND key = 'limit_bytes'
		AND CAST(value AS INTEGER) BETWEEN 1 AND 1 << 60
	GROUP BY capture_id
),
fact AS (
	SELECT s.capture_id, s.every, m.limit_bytes, coalesce(e.reads, 0) > 0 AND coalesce(e.adds, 0) > 0
			AND coalesce(e.deletes, 0) > 0 AS is_recorded,
		coalesce(t.unused_pages, 0) AS unused_pages, t.again_pages, t.fill_pages,
		100.0 * t.unused_pages / nullif(t.fill_pages, 0) AS unused_pct
	FROM span s
	LEFT JOIN seen e ON e.capture_id = s.capture_id
	LEFT JOIN total t ON t.capture_id = s.capture_id
	LEFT JOIN memcg m ON m.capture_id = s.capture_id
)
SELECT capture_id,
	CASE WHEN NOT is_recorded THEN NULL
	WHEN unused_pct >= :unused AND unused_pages >= :pages THEN 'finding' ELSE 'ok' END AS state,
	iif(is_recorded, NULL, 'mm_filemap_get_pages and pages added to and deleted from the cache '
		|| '(a kernel from 6.12, capture -e pagecache)') AS missing,
	iif(every > 1, 'medium', 'high') AS confidence,
	unused_pct, unused_pages, again_pages, fill_pages, unused_pages * 4096 AS unused_bytes, every,
	iif(limit_bytes > 0, printf('pagereel replay {db} -m linux-6.18,linux-6.18:read_ahead=32K,'
		|| 'linux-6.18:readahead=off -M %dK', limit_bytes / 1024), NULL) AS command
FROM fact ORDER BY capture_id;
