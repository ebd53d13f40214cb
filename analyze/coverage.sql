-- coverage.sql - a sentence per capture that has anything to say against its figures.
WITH
lost AS (
	SELECT capture_id, count(*) AS nr_gaps, sum(events_lost) AS lost,
		count(events_lost) < count(*) AS unknown
	FROM gap GROUP BY capture_id
),
seen AS (
	SELECT capture_id, max(types, chunks) AS seen FROM (
		SELECT c.id AS capture_id,
			coalesce((SELECT sum(nr_events) FROM event_type
				WHERE capture_id = c.id), 0) AS types,
			coalesce((SELECT sum(nr_events) FROM page_chunk
				WHERE capture_id = c.id), 0) AS chunks
		FROM capture c)
),
mask AS (
	SELECT capture_id, max(sample_mask) AS sample_mask FROM page_chunk GROUP BY capture_id
),
said AS (
	SELECT c.id AS capture_id, 1 AS place, CASE
		WHEN l.nr_gaps IS NULL THEN NULL
		WHEN l.unknown THEN printf('coverage n/a: events were lost in %d gaps, '
			|| 'at least one does not say how many', l.nr_gaps)
		ELSE printf('coverage %.2f%%: %d events were lost in %d gaps',
			100.0 * s.seen / (s.seen + l.lost), l.lost, l.nr_gaps)
		END AS sentence
	FROM capture c JOIN seen s ON s.capture_id = c.id LEFT JOIN lost l ON l.capture_id = c.id
	UNION ALL
	SELECT c.id, 2, printf('page events are thinned to 1 page in %d: page counts are of those',
		m.sample_mask + 1)
	FROM capture c JOIN mask m ON m.capture_id = c.id WHERE m.sample_mask
	UNION ALL
	SELECT c.id, 3, 'fills-only: hits were not recorded (a kernel before 6.12, or pagecache events '
		|| 'not enabled), so nothing is claimed below the recorded size'
	FROM capture c JOIN mask m ON m.capture_id = c.id WHERE NOT c.has_hits
	UNION ALL
	SELECT c.id, 4, 'ended abnormally (killed, or still running): '
		|| 'at most its last second is missing'
	FROM capture c WHERE c.status = 'running'
)
SELECT capture_id, sentence FROM said
WHERE sentence IS NOT NULL AND (:capture IS NULL OR capture_id = :capture)
ORDER BY capture_id, place;
