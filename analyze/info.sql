-- info.sql - one row per capture, for `pagereel info`. Unknown is NULL.
WITH
lost AS (
	-- A gap of unknown size makes the sum, and with it the coverage, unknown.
	SELECT capture_id, count(*) AS nr_gaps,
		iif(count(events_lost) = count(*), sum(events_lost), NULL) AS events_lost
	FROM gap GROUP BY capture_id
),
types AS (
	SELECT capture_id, sum(nr_events) AS nr_events, sum(nr_events > 0) AS nr_types,
		sum(nr_events = 0) AS nr_silent_types
	FROM event_type GROUP BY capture_id
),
chunks AS (
	SELECT capture_id, count(*) AS nr_chunks, sum(nr_events) AS nr_events,
		sum(length(data)) AS data_bytes, max(sample_mask) AS sample_mask,
		min(first_ts_ns) AS first_ts_ns, max(last_ts_ns) AS last_ts_ns
	FROM page_chunk GROUP BY capture_id
)
SELECT c.id AS capture_id, c.source, c.input, c.kernel_release, c.hostname, c.clock, c.status,
	c.status = 'running' AS ended_abnormally,
	c.nr_cpus,
	datetime(c.started_unix_ns / 1000000000, 'unixepoch') AS started_utc,
	coalesce(c.end_ts_ns, k.last_ts_ns) - coalesce(c.base_ts_ns, k.first_ts_ns) AS duration_ns,
	c.has_hits,
	(SELECT max(reason) FROM event_type WHERE capture_id = c.id
		AND name = 'mm_filemap_get_pages' AND stored_as = 'missing') AS hits_reason,
	t.nr_types, t.nr_silent_types, coalesce(t.nr_events, k.nr_events) AS nr_events,
	coalesce(l.nr_gaps, 0) AS nr_gaps,
	iif(l.nr_gaps IS NULL, 0, l.events_lost) AS events_lost,
	iif(l.nr_gaps IS NULL, 100.0,
		100.0 * coalesce(t.nr_events, k.nr_events) /
		(coalesce(t.nr_events, k.nr_events) + l.events_lost)) AS coverage_pct,
	k.nr_chunks, k.nr_events AS nr_page_events, k.data_bytes AS page_event_bytes,
	1.0 * k.data_bytes / k.nr_events AS bytes_per_page_event,
	k.sample_mask,
	(SELECT count(*) FROM file WHERE capture_id = c.id) AS nr_files,
	(SELECT count(DISTINCT pid) FROM task WHERE capture_id = c.id) AS nr_tasks,
	(SELECT count(*) FROM context WHERE capture_id = c.id) AS nr_context,
	(SELECT json_group_array(json_object('system', system, 'event', name,
			'nr_events', nr_events, 'stored_as', stored_as, 'table', table_name,
			'reason', reason))
		FROM event_type WHERE capture_id = c.id) AS events,
	(SELECT json_group_array(json_object('stream_id', id, 'accesses', nr_accesses,
			'distinct_pages', nr_distinct_pages, 'completeness', completeness,
			'coverage_pct', coverage_pct))
		FROM demand_stream WHERE capture_id = c.id) AS demand_streams,
	(SELECT json_group_array(json_object('model', model, 'results', nr,
			'least_memory_pages', least, 'most_memory_pages', most))
		FROM (SELECT model, count(*) AS nr, min(memory_pages) AS least,
				max(memory_pages) AS most
			FROM result WHERE capture_id = c.id GROUP BY model)) AS results
FROM capture c
LEFT JOIN lost l ON l.capture_id = c.id
LEFT JOIN types t ON t.capture_id = c.id
LEFT JOIN chunks k ON k.capture_id = c.id
WHERE :capture IS NULL OR c.id = :capture
ORDER BY c.id;
