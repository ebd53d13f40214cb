-- recording.sql - a sentence per capture on what its own recording added to the times of reclaim: the
-- events that reclaim emits between begin and end, times the price of one (trace.vmscan, trace.page of a
-- profile in this database: the host's own before a calibrated one before the one built in). Prices
-- that were never stored: those of replay/cost.c.
WITH
price AS (
	SELECT operation, ns, row_number() OVER (PARTITION BY operation
		ORDER BY name LIKE 'host-%' DESC, name LIKE 'calibrated-%' DESC, name) AS place
	FROM cost_profile WHERE operation IN ('trace.vmscan', 'trace.page')
),
cost AS (
	SELECT coalesce(max(ns) FILTER (WHERE operation = 'trace.vmscan'), 300) AS vmscan_ns,
		coalesce(max(ns) FILTER (WHERE operation = 'trace.page'), 246) AS page_ns
	FROM price WHERE place = 1
),
scans AS (
	SELECT capture_id, sum(nr_events) AS nr_events FROM event_type
	WHERE name IN ('mm_vmscan_lru_isolate', 'mm_vmscan_lru_shrink_inactive',
		'mm_vmscan_lru_shrink_active', 'mm_shrink_slab_start', 'mm_shrink_slab_end')
		AND stored_as <> 'missing'
	GROUP BY capture_id
),
pages AS (
	SELECT capture_id, count(*) AS nr_events FROM page_event
	WHERE op = 'evict' OR (op = 'delete' AND flags & 2)
	GROUP BY capture_id
),
spent AS (
	SELECT capture_id, sum(coalesce(cpu_ns, duration_ns)) AS ns FROM reclaim_cpu GROUP BY capture_id
),
fact AS (
	SELECT s.capture_id, s.ns, coalesce(v.nr_events, 0) AS nr_scans, coalesce(p.nr_events, 0) AS nr_pages,
		coalesce(v.nr_events, 0) * c.vmscan_ns + coalesce(p.nr_events, 0) * c.page_ns AS recording_ns,
		c.vmscan_ns, c.page_ns
	FROM spent s JOIN cost c
	LEFT JOIN scans v ON v.capture_id = s.capture_id
	LEFT JOIN pages p ON p.capture_id = s.capture_id
)
SELECT capture_id, printf('about %.0f%% of these times is their recording: %d events of scans (%.0f ns) '
	|| 'and %d of pages (%.0f ns); capture -e reclaim-cpu records without them',
	min(100.0 * recording_ns / ns, 100), nr_scans, vmscan_ns, nr_pages, page_ns) AS sentence
FROM fact
WHERE ns > 0 AND recording_ns > 0 AND (:capture IS NULL OR capture_id = :capture)
ORDER BY capture_id;
