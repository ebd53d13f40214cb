-- doctor_direct_reclaim.sql - tasks that had to free memory themselves before they got any. Wall
-- time from begin to end; nr_stalls counts what took at least :stall. limit_bytes: of the memcg,
-- if it was one.
WITH
seen AS (
	SELECT DISTINCT capture_id FROM event_type
	WHERE name IN ('mm_vmscan_direct_reclaim_begin', 'mm_vmscan_memcg_reclaim_begin')
		AND stored_as <> 'missing'
),
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
episode AS MATERIALIZED (
	SELECT capture_id, kind, pid, duration_ns FROM reclaim_episode
	WHERE kind IN ('direct', 'memcg', 'softlimit') AND duration_ns IS NOT NULL
),
total AS (
	SELECT capture_id, count(*) AS nr_episodes, sum(duration_ns) AS total_ns,
		max(duration_ns) AS worst_ns, count(*) FILTER (WHERE duration_ns >= :stall) AS nr_stalls,
		sum(duration_ns) FILTER (WHERE kind <> 'direct') AS memcg_ns
	FROM episode GROUP BY capture_id
),
top AS (
	SELECT capture_id, pid, max(spent_ns) AS top_ns FROM (
		SELECT capture_id, pid, sum(duration_ns) AS spent_ns FROM episode GROUP BY capture_id, pid)
	GROUP BY capture_id
),
memcg AS (
	SELECT capture_id, min(CAST(value AS INTEGER)) AS limit_bytes FROM context
	WHERE subject LIKE 'memcg:%' AND key = 'limit_bytes'
		AND CAST(value AS INTEGER) BETWEEN 1 AND 1 << 60
	GROUP BY capture_id
),
fact AS (
	SELECT s.capture_id, e.capture_id IS NOT NULL AND s.duration_ns IS NOT NULL AS is_recorded,
		coalesce(t.nr_episodes, 0) AS nr_episodes, coalesce(t.nr_stalls, 0) AS nr_stalls,
		t.total_ns, t.worst_ns, p.pid,
		coalesce((SELECT comm FROM task k WHERE k.capture_id = s.capture_id AND k.pid = p.pid
			ORDER BY first_ts_ns DESC LIMIT 1), 'pid ' || p.pid) AS comm,
		p.top_ns, 100.0 * p.top_ns / nullif(s.duration_ns, 0) AS share_pct,
		iif(t.memcg_ns * 2 > t.total_ns, 'memcg limit', 'direct') AS kind,
		m.limit_bytes, s.duration_ns
	FROM span s
	LEFT JOIN seen e ON e.capture_id = s.capture_id
	LEFT JOIN total t ON t.capture_id = s.capture_id
	LEFT JOIN top p ON p.capture_id = s.capture_id
	LEFT JOIN memcg m ON m.capture_id = s.capture_id
)
SELECT capture_id,
	CASE WHEN NOT is_recorded THEN NULL
	WHEN nr_stalls >= :count OR coalesce(share_pct >= :share AND top_ns >= :least, 0) THEN 'finding'
	ELSE 'ok' END AS state,
	iif(is_recorded, NULL, 'begin and end of direct or memcg reclaim (capture -e reclaim)')
		AS missing,
	'high' AS confidence,
	kind, nr_episodes, nr_stalls, total_ns, worst_ns, pid, comm, top_ns, share_pct, limit_bytes,
	-- kswapd and its watermarks know nothing of a memcg's limit
	iif(kind = 'memcg limit', 'Raise the limit of the memcg, or set memory.high below it.', NULL)
		AS advice,
	iif(kind = 'memcg limit' AND limit_bytes > 0,
		printf('pagereel replay {db} -m linux-6.18 -M %dK..%dK/5', limit_bytes / 1024,
			limit_bytes / 512), NULL) AS command
FROM fact ORDER BY capture_id;
