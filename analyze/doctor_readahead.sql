-- doctor_readahead.sql - pages that tasks brought in by reading and that were evicted before
-- anybody asked for them. Only files that were read, and tasks whose reads were recorded. A
-- request is clipped where the next event of the same request begins, and at the end of the file.
WITH
seen AS (
	SELECT capture_id, sum(name = 'mm_filemap_get_pages') AS reads,
		sum(name = 'mm_filemap_add_to_page_cache') AS adds,
		sum(name = 'mm_filemap_delete_from_page_cache') AS deletes
	FROM event_type WHERE stored_as <> 'missing' GROUP BY capture_id
),
span AS (
	SELECT id AS capture_id FROM capture WHERE :capture IS NULL OR id = :capture
),
total AS (
	SELECT capture_id, nullif(sum(read_pages), 0) AS fill_pages,
		coalesce(sum(unused_pages), 0) AS unused_pages,
		coalesce(sum(again_pages), 0) AS again_pages
	FROM page_life WHERE :capture IS NULL OR capture_id = :capture GROUP BY capture_id
),
memcg AS (
	SELECT capture_id, min(CAST(value AS INTEGER)) AS limit_bytes FROM context
	WHERE subject LIKE 'memcg:%' AND key = 'limit_bytes'
		AND CAST(value AS INTEGER) BETWEEN 1 AND 1 << 60
	GROUP BY capture_id
),
fact AS (
	SELECT s.capture_id, m.limit_bytes, coalesce(e.reads, 0) > 0 AND coalesce(e.adds, 0) > 0
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
	'high' AS confidence,
	unused_pct, unused_pages, again_pages, fill_pages, unused_pages * 4096 AS unused_bytes,
	iif(limit_bytes > 0, printf('pagereel replay {db} -m linux-6.18,linux-6.18:read_ahead=32K,'
		|| 'linux-6.18:readahead=off -M %dK', limit_bytes / 1024), NULL) AS command
FROM fact ORDER BY capture_id;
