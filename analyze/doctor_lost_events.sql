-- doctor_lost_events.sql - did the capture see enough? events_lost and coverage_pct are NULL if a
-- gap does not say how many events it lost.
SELECT c.capture_id,
	iif(c.nr_gaps > 0 AND coalesce(c.coverage_pct < :coverage, 1), 'finding', 'ok') AS state,
	NULL AS missing, 'high' AS confidence,
	c.nr_gaps, c.events_lost, c.coverage_pct,
	(SELECT sum(to_ns - from_ns) FROM gap g WHERE g.capture_id = c.capture_id) AS blind_ns
FROM capture_coverage c
WHERE :capture IS NULL OR c.capture_id = :capture
ORDER BY c.capture_id;
