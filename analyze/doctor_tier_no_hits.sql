-- doctor_tier_no_hits.sql - a compressed tier (cleancache, zswap, zram as swap) that takes pages
-- nobody asks for again. put_ns estimates the CPU time: puts times :put.
WITH
span AS (
	-- a killed capture has no end: then up to the last that is known
	SELECT id AS capture_id, coalesce(end_ts_ns,
			(SELECT max(last_ts_ns) FROM page_chunk p WHERE p.capture_id = c.id),
			(SELECT max(ts_ns) FROM context x WHERE x.capture_id = c.id))
		- coalesce(base_ts_ns,
			(SELECT min(first_ts_ns) FROM page_chunk p WHERE p.capture_id = c.id),
			(SELECT min(ts_ns) FROM context x WHERE x.capture_id = c.id)) AS duration_ns
	FROM capture c WHERE :capture IS NULL OR id = :capture
),
delta AS (
	SELECT capture_id, subject, key, max(CAST(value AS INTEGER)) - min(CAST(value AS INTEGER)) AS n
	FROM context
	WHERE (subject = 'vmstat' AND key IN ('zswpout', 'zswpin', 'pswpout', 'pswpin'))
		OR (subject = 'cleancache' AND key IN ('puts', 'succ_gets'))
	GROUP BY capture_id, subject, key HAVING count(*) > 1
),
-- pswpout counts pages of any swap device: taken for zram's if all of them are zram
zram AS (
	SELECT capture_id FROM context WHERE subject LIKE 'swap:%' AND key = 'size_kb'
	GROUP BY capture_id HAVING count(*) = sum(subject LIKE 'swap:/dev/zram%')
),
tier AS (
	SELECT p.capture_id, 'zswap' AS tier, p.n AS puts, h.n AS hits
	FROM delta p JOIN delta h ON h.capture_id = p.capture_id AND h.key = 'zswpin' WHERE p.key = 'zswpout'
	UNION ALL
	SELECT p.capture_id, 'cleancache', p.n, h.n
	FROM delta p JOIN delta h ON h.capture_id = p.capture_id AND h.key = 'succ_gets' WHERE p.key = 'puts'
	UNION ALL
	SELECT p.capture_id, 'zram', p.n, h.n
	FROM delta p JOIN delta h ON h.capture_id = p.capture_id AND h.key = 'pswpin'
	JOIN zram z ON z.capture_id = p.capture_id WHERE p.key = 'pswpout'
),
-- the tier that took most
most AS (
	SELECT capture_id, tier, max(puts) AS puts, hits FROM tier GROUP BY capture_id
),
fact AS (
	SELECT s.capture_id,
		m.tier IS NOT NULL OR EXISTS (SELECT 1 FROM delta d WHERE d.capture_id = s.capture_id)
			AS is_recorded,
		m.tier, m.puts AS nr_puts, m.hits AS nr_hits, 100.0 * m.hits / nullif(m.puts, 0) AS hits_pct,
		m.puts * :put AS put_ns, 100.0 * m.puts * :put / nullif(s.duration_ns, 0) AS load_pct
	FROM span s LEFT JOIN most m ON m.capture_id = s.capture_id
)
SELECT capture_id,
	CASE WHEN NOT is_recorded THEN NULL
	WHEN nr_puts >= :puts AND hits_pct < :hits AND coalesce(load_pct >= :load, 1) THEN 'finding'
	ELSE 'ok' END AS state,
	iif(is_recorded, NULL, 'vmstat or cleancache counters at two times '
		|| '(the context of a live capture)') AS missing,
	iif(tier = 'cleancache', 'high', 'medium') AS confidence,
	tier, nr_puts, nr_hits, hits_pct, put_ns, load_pct
FROM fact ORDER BY capture_id;
