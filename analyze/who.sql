-- who.sql - what each task did and suffered: reclaim in its own time, pages it brought into the cache,
-- waiting ordered by reclaim (throttled) and by writeback (dirty). NULL: none of it was recorded.
WITH
episode AS (
	SELECT capture_id, pid, duration_ns, nr_reclaimed FROM reclaim_episode
	UNION ALL
	SELECT capture_id, pid, duration_ns, nr_reclaimed FROM kswapd_run
),
-- Sums by task without a sort (schema/tally.c), in one pass in the order of the chunks. Requests end
-- where the file ends, which reads run past.
page AS MATERIALIZED (
	SELECT capture_id, tally(pid, pages) FILTER (WHERE op IN ('read', 'fault', 'write')) AS requested,
		tally(pid, pages) FILTER (WHERE op = 'add') AS filled
	FROM page_life GROUP BY capture_id
),
part(capture_id, pid, episodes, reclaim_ns, nr_reclaimed, nr_requested, nr_filled, throttled_ns,
		dirty_wait_ns) AS (
	SELECT capture_id, pid, count(*), sum(duration_ns), sum(nr_reclaimed), NULL, NULL, NULL, NULL
	FROM episode GROUP BY capture_id, pid
	UNION ALL
	SELECT capture_id, CAST(j.key AS INTEGER), NULL, NULL, NULL, j.value, NULL, NULL, NULL
	FROM page p, json_each(p.requested) j
	UNION ALL
	SELECT capture_id, CAST(j.key AS INTEGER), NULL, NULL, NULL, NULL, j.value, NULL, NULL
	FROM page p, json_each(p.filled) j
	UNION ALL
	SELECT capture_id, pid, NULL, NULL, NULL, NULL, NULL,
		sum(delayed_ns) FILTER (WHERE kind = 'reclaim'),
		sum(delayed_ns) FILTER (WHERE kind = 'dirty')
	FROM throttle GROUP BY capture_id, pid
),
name AS (
	SELECT capture_id, pid, comm, cgroup, max(first_ts_ns) FROM task GROUP BY capture_id, pid
)
SELECT p.capture_id, p.pid, n.comm,
	sum(p.episodes) AS episodes, sum(p.reclaim_ns) AS reclaim_ns,
	sum(p.nr_reclaimed) AS nr_reclaimed, sum(p.nr_requested) AS requested_pages,
	sum(p.nr_filled) AS filled_pages, sum(p.throttled_ns) AS throttled_ns,
	sum(p.dirty_wait_ns) AS dirty_wait_ns, c.coverage_pct, n.cgroup
FROM part p
LEFT JOIN name n ON n.capture_id = p.capture_id AND n.pid = p.pid
LEFT JOIN capture_coverage c ON c.capture_id = p.capture_id
WHERE :capture IS NULL OR p.capture_id = :capture
GROUP BY p.capture_id, p.pid
ORDER BY p.capture_id, reclaim_ns IS NULL, reclaim_ns DESC, filled_pages DESC, p.pid;
