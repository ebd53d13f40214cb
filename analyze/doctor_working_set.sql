-- doctor_working_set.sql - a knee of LRU's miss ratio curve just above the present size: little
-- memory that saves many misses. present_pages: :memory if it was set, else the limit of the
-- recorded memcg less what is no page cache (kernel, anonymous), else the host's page cache if
-- reclaim took from it. Between points of a curve its miss ratio is a straight line.
WITH
span AS (
	SELECT id AS capture_id, has_hits FROM capture WHERE :capture IS NULL OR id = :capture
),
limited AS (
	SELECT capture_id, subject, min(CAST(value AS INTEGER)) AS limit_bytes FROM context
	WHERE subject LIKE 'memcg:%' AND key = 'limit_bytes'
		AND CAST(value AS INTEGER) BETWEEN 1 AND 1 << 60
	GROUP BY capture_id
),
last AS (
	SELECT capture_id, subject, key, CAST(value AS INTEGER) AS value, max(ts_ns) FROM context
	WHERE key IN ('kernel_bytes', 'stat.rss', 'stat.kernel', 'stat.anon', 'nr_file_pages')
	GROUP BY capture_id, subject, key
),
stolen AS (
	SELECT capture_id, sum(n) AS n FROM (
		SELECT capture_id, max(CAST(value AS INTEGER)) - min(CAST(value AS INTEGER)) AS n FROM context
		WHERE subject = 'vmstat' AND key IN ('pgsteal_kswapd', 'pgsteal_direct')
		GROUP BY capture_id, key)
	GROUP BY capture_id
),
size AS (
	SELECT s.capture_id, CASE
		WHEN :memory > 0 THEN :memory / 4096
		WHEN l.limit_bytes > 0 THEN (l.limit_bytes - coalesce((SELECT sum(value) FROM last o
			WHERE o.capture_id = s.capture_id AND o.subject = l.subject), 0)) / 4096
		WHEN t.n > 0 THEN (SELECT value FROM last o WHERE o.capture_id = s.capture_id
			AND o.subject = 'vmstat' AND o.key = 'nr_file_pages')
		END AS present_pages,
		:memory > 0 OR l.limit_bytes > 0 AS is_certain, s.has_hits
	FROM span s
	LEFT JOIN limited l ON l.capture_id = s.capture_id
	LEFT JOIN stolen t ON t.capture_id = s.capture_id
),
-- one curve for each capture: an exact one if there is one
chosen AS (
	SELECT d.capture_id, c.stream_id, c.method, c.seed, d.nr_accesses,
		min(CASE c.method WHEN 'exact' THEN 0 WHEN 'shards' THEN 1 ELSE 2 END)
	FROM curve c JOIN demand_stream d ON d.id = c.stream_id
	WHERE c.model = 'lru' AND c.params = '' GROUP BY d.capture_id
),
point AS (
	SELECT h.capture_id, c.memory_pages, c.miss_ratio
	FROM chosen h JOIN curve c ON c.stream_id = h.stream_id AND c.model = 'lru' AND c.params = ''
		AND c.method = h.method AND c.seed = h.seed
),
below AS (
	SELECT p.capture_id, max(p.memory_pages) AS pages, p.miss_ratio
	FROM point p JOIN size s ON s.capture_id = p.capture_id AND p.memory_pages <= s.present_pages
	GROUP BY p.capture_id
),
above AS (
	SELECT p.capture_id, min(p.memory_pages) AS pages, p.miss_ratio
	FROM point p JOIN size s ON s.capture_id = p.capture_id AND p.memory_pages > s.present_pages
	GROUP BY p.capture_id
),
present AS (
	SELECT s.*, CASE
		WHEN a.pages IS NULL THEN b.miss_ratio
		ELSE coalesce(b.miss_ratio, 1.0) + (a.miss_ratio - coalesce(b.miss_ratio, 1.0))
			* (s.present_pages - coalesce(b.pages, 0)) / (a.pages - coalesce(b.pages, 0))
		END AS miss_ratio
	FROM size s
	LEFT JOIN below b ON b.capture_id = s.capture_id
	LEFT JOIN above a ON a.capture_id = s.capture_id
),
-- the farthest knee within reach: it saves most
bend AS (
	SELECT h.capture_id, max(k.memory_pages) AS knee_pages, k.miss_ratio
	FROM chosen h JOIN knee k ON k.stream_id = h.stream_id AND k.model = 'lru' AND k.params = ''
		AND k.method = h.method AND k.seed = h.seed
	JOIN size s ON s.capture_id = h.capture_id
	WHERE k.memory_pages > s.present_pages
		AND k.memory_pages <= s.present_pages * (1 + :within / 100.0)
	GROUP BY h.capture_id
),
fact AS (
	SELECT p.capture_id, p.present_pages, h.stream_id, p.is_certain, p.has_hits,
		p.miss_ratio AS present_miss_ratio, b.knee_pages, b.miss_ratio AS knee_miss_ratio,
		CAST((p.miss_ratio - b.miss_ratio) * h.nr_accesses AS INTEGER) AS nr_saved,
		100.0 * (p.miss_ratio - b.miss_ratio) / nullif(p.miss_ratio, 0) AS saved_pct,
		b.knee_pages - p.present_pages AS more_pages
	FROM present p
	LEFT JOIN chosen h ON h.capture_id = p.capture_id
	LEFT JOIN bend b ON b.capture_id = p.capture_id
)
SELECT capture_id,
	CASE WHEN present_pages IS NULL OR stream_id IS NULL THEN NULL
	WHEN saved_pct >= :gain AND nr_saved > 0 THEN 'finding' ELSE 'ok' END AS state,
	CASE WHEN stream_id IS NULL THEN 'a miss ratio curve of page events '
		|| '(capture -e pagecache, pagereel replay RUN.db -m lru --curve)'
	WHEN present_pages IS NULL THEN 'the present size '
		|| '(capture --memory, or --set working-set.memory=SIZE)'
	END AS missing,
	iif(is_certain AND has_hits, 'medium', 'low') AS confidence,
	saved_pct, nr_saved, more_pages * 4096 AS more_bytes, present_pages * 4096 AS present_bytes,
	knee_pages * 4096 AS knee_bytes, present_miss_ratio, knee_miss_ratio,
	printf('pagereel replay {db} -m linux-6.18,lru,opt -M %dK,%dK', present_pages * 4,
		knee_pages * 4) AS command
FROM fact ORDER BY capture_id;
