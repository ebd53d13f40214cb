-- summary.sql - one row per capture: the figures behind the sentence of `pagereel analyze`.
WITH
episode AS MATERIALIZED (
	SELECT capture_id, kind, pid, duration_ns, nr_scanned, nr_reclaimed FROM reclaim_episode
	WHERE :capture IS NULL OR capture_id = :capture
	UNION ALL
	SELECT capture_id, 'kswapd', pid, duration_ns, nr_scanned, nr_reclaimed FROM kswapd_run
	WHERE :capture IS NULL OR capture_id = :capture
),
reclaim AS (
	SELECT capture_id, count(*) AS episodes, sum(duration_ns) AS reclaim_ns,
		-- Unknown for one episode that ended is unknown for the sum.
		iif(count(duration_ns) = count(nr_scanned) FILTER (WHERE duration_ns >= 0),
			sum(nr_scanned), NULL) AS nr_scanned,
		iif(count(duration_ns) = count(nr_reclaimed) FILTER (WHERE duration_ns >= 0),
			sum(nr_reclaimed), NULL) AS nr_reclaimed,
		count(*) FILTER (WHERE kind = 'kswapd') AS kswapd_episodes,
		sum(duration_ns) FILTER (WHERE kind = 'kswapd') AS kswapd_ns,
		count(*) FILTER (WHERE kind = 'direct') AS direct_episodes,
		sum(duration_ns) FILTER (WHERE kind = 'direct') AS direct_ns,
		count(*) FILTER (WHERE kind IN ('memcg', 'softlimit')) AS memcg_episodes,
		sum(duration_ns) FILTER (WHERE kind IN ('memcg', 'softlimit')) AS memcg_ns,
		count(*) FILTER (WHERE kind = 'node') AS node_episodes,
		sum(duration_ns) FILTER (WHERE kind = 'node') AS node_ns
	FROM episode GROUP BY capture_id
),
-- The task that spent most time on reclaim it was made to do; kswapd is named anyway.
top AS (
	SELECT capture_id, pid, spent_ns, max(spent_ns) FROM (
		SELECT capture_id, pid, sum(duration_ns) AS spent_ns
		FROM episode WHERE kind <> 'kswapd' GROUP BY capture_id, pid)
	GROUP BY capture_id
),
-- Every op is read, so that rows come in order of the capture and nothing is sorted.
page AS MATERIALIZED (
	SELECT capture_id, sum(pages) FILTER (WHERE op = 'add') AS filled_pages,
		sum(pages) FILTER (WHERE op IN ('delete', 'evict', 'truncate')) AS left_pages
	FROM page_event GROUP BY capture_id
),
life AS MATERIALIZED (
	SELECT capture_id, sum(pages) FILTER (WHERE op = 'evict') AS evicted_pages,
		sum(pages) FILTER (WHERE op IN ('read', 'fault')) AS asked_pages,
		sum(warm_pages) FILTER (WHERE op IN ('read', 'fault')) AS warm_pages
	FROM page_life GROUP BY capture_id
),
-- Nothing seen is 0 where it would have been recorded, else unknown.
seen AS (
	SELECT capture_id, max(iif(name = 'mm_filemap_add_to_page_cache', 0, NULL)) AS added_pages,
		max(iif(name = 'mm_filemap_delete_from_page_cache', 0, NULL)) AS deleted_pages
	FROM event_type WHERE stored_as <> 'missing' GROUP BY capture_id
),
slab AS (
	SELECT capture_id, count(*) AS nr_shrinker_calls, sum(duration_ns) AS shrinker_ns,
		sum(nr_freed) AS nr_objects_freed
	FROM shrinker_call WHERE :capture IS NULL OR capture_id = :capture GROUP BY capture_id
),
flush AS (
	SELECT capture_id, count(*) AS nr_flushes, sum(lock_hold_ns) AS flush_ns
	FROM stats_flush WHERE :capture IS NULL OR capture_id = :capture GROUP BY capture_id
),
waited AS (
	SELECT capture_id, sum(delayed_ns) AS throttled_ns FROM throttle GROUP BY capture_id
),
kswapd AS (
	SELECT capture_id, sum(cpu_ns) AS kswapd_cpu_ns FROM (
		SELECT capture_id, max(CAST(value AS INTEGER)) - min(CAST(value AS INTEGER)) AS cpu_ns
		FROM context WHERE subject LIKE 'schedstat:kswapd%' AND key = 'run_ns'
		GROUP BY capture_id, subject HAVING count(*) > 1)
	GROUP BY capture_id
),
demand AS (
	SELECT capture_id, sum(nr_accesses) AS accesses, sum(nr_distinct_pages) AS footprint_pages
	FROM demand_stream WHERE selector = '' GROUP BY capture_id
),
replayed AS (
	SELECT capture_id, count(*) AS nr_results, count(DISTINCT model) AS nr_models
	FROM result GROUP BY capture_id
)
SELECT c.id AS capture_id, c.source, c.input, c.kernel_release,
	coalesce(c.end_ts_ns, (SELECT max(last_ts_ns) FROM page_chunk WHERE capture_id = c.id))
		- coalesce(c.base_ts_ns, (SELECT min(first_ts_ns) FROM page_chunk WHERE capture_id = c.id))
		AS duration_ns,
	EXISTS (SELECT 1 FROM event_type WHERE capture_id = c.id AND system = 'vmscan'
		AND nr_events IS NOT NULL AND stored_as <> 'missing') AS reclaim_recorded,
	r.episodes, r.reclaim_ns, r.nr_scanned, r.nr_reclaimed,
	r.kswapd_episodes, r.kswapd_ns, k.kswapd_cpu_ns, r.direct_episodes, r.direct_ns,
	r.memcg_episodes, r.memcg_ns, r.node_episodes, r.node_ns,
	t.pid AS top_pid,
	(SELECT comm FROM task WHERE capture_id = c.id AND pid = t.pid ORDER BY first_ts_ns DESC LIMIT 1)
		AS top_comm,
	t.spent_ns AS top_ns,
	coalesce(p.filled_pages, n.added_pages) AS filled_pages,
	coalesce(p.left_pages, n.deleted_pages) AS left_pages,
	coalesce(e.evicted_pages, iif(p.left_pages, 0, NULL), n.deleted_pages) AS evicted_pages,
	e.asked_pages, iif(p.filled_pages OR n.added_pages = 0, e.warm_pages, NULL) AS warm_pages,
	d.accesses, d.footprint_pages,
	s.nr_shrinker_calls, s.shrinker_ns, s.nr_objects_freed, f.nr_flushes, f.flush_ns,
	w.throttled_ns, a.nr_results, a.nr_models, v.events_lost, v.coverage_pct
FROM capture c
LEFT JOIN reclaim r ON r.capture_id = c.id
LEFT JOIN top t ON t.capture_id = c.id
LEFT JOIN page p ON p.capture_id = c.id
LEFT JOIN life e ON e.capture_id = c.id
LEFT JOIN seen n ON n.capture_id = c.id
LEFT JOIN slab s ON s.capture_id = c.id
LEFT JOIN flush f ON f.capture_id = c.id
LEFT JOIN waited w ON w.capture_id = c.id
LEFT JOIN kswapd k ON k.capture_id = c.id
LEFT JOIN demand d ON d.capture_id = c.id
LEFT JOIN replayed a ON a.capture_id = c.id
LEFT JOIN capture_coverage v ON v.capture_id = c.id
WHERE :capture IS NULL OR c.id = :capture
ORDER BY c.id;
