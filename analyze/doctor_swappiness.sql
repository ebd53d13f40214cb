-- doctor_swappiness.sql - file pages are evicted and read back while anonymous memory stays and is
-- not swapped. Of the memcg with the lowest limit if the capture has one, else of the host.
-- anon_bytes: the most there was. That nothing of it was swapped or refaulted does not prove it
-- idle: no event shows its accesses.
WITH
span AS (
	SELECT id AS capture_id FROM capture WHERE :capture IS NULL OR id = :capture
),
scope AS (
	SELECT s.capture_id, coalesce(l.subject, 'vmstat') AS subject, l.limit_bytes
	FROM span s LEFT JOIN (
		SELECT capture_id, subject, min(CAST(value AS INTEGER)) AS limit_bytes FROM context
		WHERE subject LIKE 'memcg:%' AND key = 'limit_bytes'
			AND CAST(value AS INTEGER) BETWEEN 1 AND 1 << 60
		GROUP BY capture_id) l ON l.capture_id = s.capture_id
),
number AS (
	SELECT capture_id, subject, key, max(CAST(value AS INTEGER)) AS most,
		max(CAST(value AS INTEGER)) - min(CAST(value AS INTEGER)) AS grown
	FROM context
	WHERE key IN ('stat.workingset_refault_file', 'stat.workingset_refault_anon', 'stat.rss',
		'stat.anon', 'stat.swap', 'stat.pswpout', 'workingset_refault_file',
		'workingset_refault_anon', 'nr_anon_pages', 'pswpout', 'SwapFree_kb', 'memory_bytes', 'swappiness', 'vm.swappiness')
	GROUP BY capture_id, subject, key
),
fact AS (
	SELECT s.capture_id, s.subject,
		(SELECT grown FROM number n WHERE n.capture_id = s.capture_id AND n.subject = s.subject
			AND n.key IN ('stat.workingset_refault_file', 'workingset_refault_file')) AS nr_refaults,
		(SELECT most * iif(n.key = 'nr_anon_pages', 4096, 1) FROM number n WHERE n.capture_id = s.capture_id
			AND n.subject = s.subject AND n.key IN ('stat.rss', 'stat.anon', 'nr_anon_pages')) AS anon_bytes,
		coalesce(
			(SELECT grown / iif(n.key = 'stat.swap', 4096, 1) FROM number n
				WHERE n.capture_id = s.capture_id AND n.subject = s.subject
				AND n.key IN ('stat.swap', 'stat.pswpout', 'pswpout') ORDER BY n.key DESC LIMIT 1),
			(SELECT grown FROM number n WHERE n.capture_id = s.capture_id AND n.subject = 'vmstat'
				AND n.key = 'pswpout')) AS nr_swapped,
		(SELECT grown FROM number n WHERE n.capture_id = s.capture_id AND n.subject = s.subject
			AND n.key IN ('stat.workingset_refault_anon', 'workingset_refault_anon')) AS nr_anon_refaults,
		(SELECT most * 1024 FROM number n WHERE n.capture_id = s.capture_id
			AND n.key = 'SwapFree_kb') AS swap_free_bytes,
		coalesce(s.limit_bytes, (SELECT most FROM number n WHERE n.capture_id = s.capture_id
			AND n.key = 'memory_bytes')) AS memory_bytes,
		coalesce((SELECT most FROM number n WHERE n.capture_id = s.capture_id AND n.subject = s.subject
			AND n.key = 'swappiness'), (SELECT most FROM number n WHERE n.capture_id = s.capture_id
			AND n.key = 'vm.swappiness')) AS swappiness
	FROM scope s
),
judged AS (
	SELECT *, nr_refaults IS NOT NULL AND anon_bytes IS NOT NULL AND nr_swapped IS NOT NULL
		AND swap_free_bytes IS NOT NULL AND memory_bytes IS NOT NULL AS is_recorded,
		100.0 * anon_bytes / nullif(memory_bytes, 0) AS anon_pct
	FROM fact
)
SELECT capture_id,
	CASE WHEN NOT is_recorded THEN NULL
	WHEN nr_refaults >= :refaults AND anon_pct >= :anon AND swap_free_bytes >= anon_bytes / 8
		AND nr_swapped * 100.0 <= nr_refaults * :swapped
		AND coalesce(nr_anon_refaults, 0) * 100.0 <= nr_refaults * :swapped THEN 'finding'
	ELSE 'ok' END AS state,
	iif(is_recorded, NULL, 'refaults, anonymous and swapped pages at two times '
		|| '(the context of a live capture)')
		AS missing,
	'medium' AS confidence,
	nr_refaults, anon_bytes, anon_pct, nr_swapped, nr_anon_refaults, swappiness, swap_free_bytes,
	memory_bytes,
	substr(subject, instr(subject, ':') + 1) AS scope,
	iif(subject LIKE 'memcg:%',
		printf('pagereel replay {db} -m linux-6.18,linux-6.18:reserve_recorded=off -M %dK',
			memory_bytes / 1024), NULL) AS command
FROM judged ORDER BY capture_id;
