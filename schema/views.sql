-- views.sql - names that users think in, whatever kernel the events came from.
--
-- Pairing begin with end. Two events belong together when they follow each other in one task and
-- one kind, and nothing was lost between them. What has no partner keeps NULL in the columns of
-- that partner. At equal times (traces printed in microseconds) an end comes before the next begin.
--
-- Gaps. Those of one (stream, cpu) do not overlap, so the first that ends after the begin tells
-- whether any lies across the pair: one lookup for each CPU that lost something, none if nothing
-- was lost. Where events form longer runs, the edges of gaps take their place among the events
-- instead: the number of edges so far (epoch) must be equal, and inside a gap (depth) nothing
-- belongs together.
--
-- Sums inside. Running sums over one task's events give what was scanned between begin and end as a
-- difference: everything is a sort or two, nothing a loop over pairs.

DROP VIEW IF EXISTS gap_edge;
CREATE VIEW gap_edge AS
SELECT capture_id, from_ns AS ts_ns, 1 AS delta, 2 AS tie FROM gap WHERE stream <> 'demand'
UNION ALL
SELECT capture_id, to_ns, -1, 0 FROM gap WHERE stream <> 'demand';

DROP VIEW IF EXISTS reclaim_mark;
CREATE VIEW reclaim_mark AS
SELECT capture_id, ts_ns, cpu, pid, 'direct' AS kind, 1 AS is_begin, "order" AS page_order,
	gfp_flags, NULL AS nid, NULL AS nr_reclaimed
FROM mm_vmscan_direct_reclaim_begin
UNION ALL
SELECT capture_id, ts_ns, cpu, pid, 'direct', 0, NULL, NULL, NULL, nr_reclaimed
FROM mm_vmscan_direct_reclaim_end
UNION ALL
SELECT capture_id, ts_ns, cpu, pid, 'memcg', 1, "order", gfp_flags, NULL, NULL
FROM mm_vmscan_memcg_reclaim_begin
UNION ALL
SELECT capture_id, ts_ns, cpu, pid, 'memcg', 0, NULL, NULL, NULL, nr_reclaimed
FROM mm_vmscan_memcg_reclaim_end
UNION ALL
SELECT capture_id, ts_ns, cpu, pid, 'softlimit', 1, "order", gfp_flags, NULL, NULL
FROM mm_vmscan_memcg_softlimit_reclaim_begin
UNION ALL
SELECT capture_id, ts_ns, cpu, pid, 'softlimit', 0, NULL, NULL, NULL, nr_reclaimed
FROM mm_vmscan_memcg_softlimit_reclaim_end
UNION ALL
SELECT capture_id, ts_ns, cpu, pid, 'node', 1, "order", gfp_flags, nid, NULL
FROM mm_vmscan_node_reclaim_begin
UNION ALL
SELECT capture_id, ts_ns, cpu, pid, 'node', 0, NULL, NULL, NULL, nr_reclaimed
FROM mm_vmscan_node_reclaim_end;

DROP VIEW IF EXISTS reclaim_episode;
CREATE VIEW reclaim_episode AS
WITH lossy AS MATERIALIZED (
	SELECT DISTINCT capture_id, stream, cpu FROM gap WHERE stream <> 'demand'
), counted AS (
	SELECT *, sum(scanned) OVER w AS sum_scanned
	FROM (
		SELECT capture_id, ts_ns, cpu, pid, kind, is_begin, page_order, gfp_flags, nid,
			nr_reclaimed, iif(is_begin, 0, 2) AS step, 0 AS scanned
		FROM reclaim_mark
		UNION ALL
		SELECT capture_id, ts_ns, NULL, pid, NULL, NULL, NULL, NULL, NULL, NULL, 1, nr_scanned
		FROM mm_vmscan_lru_shrink_inactive
	)
	WINDOW w AS (PARTITION BY capture_id, pid ORDER BY ts_ns, step ROWS UNBOUNDED PRECEDING)
), paired AS (
	SELECT *, lag(is_begin) OVER w AS before_is_begin, lag(ts_ns) OVER w AS before_ns,
		lead(is_begin) OVER w AS next_is_begin, lead(ts_ns) OVER w AS next_ns,
		lead(nr_reclaimed) OVER w AS next_nr_reclaimed,
		lead(sum_scanned) OVER w AS next_sum_scanned
	FROM counted WHERE kind IS NOT NULL
	WINDOW w AS (PARTITION BY capture_id, pid, kind ORDER BY ts_ns, is_begin)
), checked AS (
	SELECT *, CASE WHEN is_begin THEN next_is_begin = 0 AND NOT EXISTS (
			SELECT 1 FROM lossy l WHERE l.capture_id = p.capture_id
			AND (SELECT g.from_ns FROM gap g WHERE g.capture_id = l.capture_id
				AND g.stream = l.stream AND g.cpu IS l.cpu AND g.to_ns > p.ts_ns
				ORDER BY g.to_ns LIMIT 1) < p.next_ns)
		ELSE before_is_begin = 1 AND NOT EXISTS (
			SELECT 1 FROM lossy l WHERE l.capture_id = p.capture_id
			AND (SELECT g.from_ns FROM gap g WHERE g.capture_id = l.capture_id
				AND g.stream = l.stream AND g.cpu IS l.cpu AND g.to_ns > p.before_ns
				ORDER BY g.to_ns LIMIT 1) < p.ts_ns) END AS is_whole
	FROM paired p
)
SELECT capture_id, kind, pid, cpu, iif(is_begin, ts_ns, NULL) AS start_ns,
	CASE WHEN NOT is_begin THEN ts_ns WHEN is_whole THEN next_ns END AS end_ns,
	iif(is_begin AND is_whole, next_ns - ts_ns, NULL) AS duration_ns,
	CASE WHEN NOT is_begin THEN nr_reclaimed WHEN is_whole THEN next_nr_reclaimed END
		AS nr_reclaimed,
	iif(is_begin AND is_whole AND capture_id IN
		(SELECT capture_id FROM mm_vmscan_lru_shrink_inactive),
		next_sum_scanned - sum_scanned, NULL) AS nr_scanned,
	page_order, gfp_flags, nid
FROM checked WHERE is_begin OR is_whole IS NOT 1;

-- kswapd announces each of its rounds with a wake, but only true sleep with a sleep: between two
-- wakes it has napped for at most 100 ms. A run is from the first wake after a sleep to the next
-- sleep.
DROP VIEW IF EXISTS kswapd_run;
CREATE VIEW kswapd_run AS
WITH placed AS (
	SELECT *, count(delta) OVER w AS epoch, coalesce(sum(delta) OVER w, 0) AS depth
	FROM (
		SELECT capture_id, ts_ns, pid, nid, 1 AS is_wake, "order" AS page_order, NULL AS delta,
			1 AS tie
		FROM mm_vmscan_kswapd_wake
		UNION ALL
		SELECT capture_id, ts_ns, pid, nid, 0, NULL, NULL, 1 FROM mm_vmscan_kswapd_sleep
		UNION ALL
		SELECT capture_id, ts_ns, NULL, NULL, NULL, NULL, delta, tie FROM gap_edge
	)
	WINDOW w AS (PARTITION BY capture_id ORDER BY ts_ns, tie ROWS UNBOUNDED PRECEDING)
), marked AS (
	SELECT *, is_wake AND lag(is_wake) OVER p IS NOT 1 AS is_start
	FROM placed WHERE is_wake IS NOT NULL
	WINDOW p AS (PARTITION BY capture_id, pid, nid, epoch, iif(depth, ts_ns, NULL)
		ORDER BY ts_ns, is_wake)
), event AS (
	SELECT capture_id, ts_ns, pid, nid, is_wake, page_order, epoch, is_start, 0 AS scanned,
		0 AS reclaimed, iif(is_wake, 0, 2) AS step
	FROM marked
	UNION ALL
	SELECT capture_id, ts_ns, pid, NULL, NULL, NULL, NULL, 0, nr_scanned, nr_reclaimed, 1
	FROM mm_vmscan_lru_shrink_inactive
	WHERE (capture_id, pid) IN (SELECT capture_id, pid FROM mm_vmscan_kswapd_wake)
	UNION ALL
	-- what follows a gap belongs to no run; -1: not a start, but the end of what was known
	SELECT e.capture_id, e.ts_ns, k.pid, NULL, NULL, NULL, NULL, -1, 0, 0, 1
	FROM gap_edge e JOIN (SELECT DISTINCT capture_id, pid FROM mm_vmscan_kswapd_wake) k
		ON k.capture_id = e.capture_id
), numbered AS (
	SELECT *, count(nullif(is_start, 0)) OVER w AS run
	FROM event
	WINDOW w AS (PARTITION BY capture_id, pid ORDER BY ts_ns, step ROWS UNBOUNDED PRECEDING)
), summed AS (
	SELECT capture_id, pid, run, max(nid) AS nid,
		min(iif(is_start = 1, ts_ns, NULL)) AS start_ns,
		max(iif(is_wake = 0, ts_ns, NULL)) AS end_ns,
		sum(is_wake = 1) AS nr_wakes, max(page_order) AS page_order,
		sum(scanned) AS nr_scanned, sum(reclaimed) AS nr_reclaimed,
		max(lost) AS is_cut
	FROM (SELECT *, lead(is_start, 1, 0) OVER w = -1 AS lost FROM numbered
		WINDOW w AS (PARTITION BY capture_id, pid ORDER BY ts_ns, step))
	GROUP BY capture_id, pid, run
)
SELECT capture_id, nid, pid, start_ns, iif(is_cut AND end_ns IS NULL, NULL, end_ns) AS end_ns,
	end_ns - start_ns AS duration_ns, nr_wakes, page_order,
	iif(capture_id IN (SELECT capture_id FROM mm_vmscan_lru_shrink_inactive)
		AND NOT (is_cut AND end_ns IS NULL), nr_scanned, NULL) AS nr_scanned,
	iif(capture_id IN (SELECT capture_id FROM mm_vmscan_lru_shrink_inactive)
		AND NOT (is_cut AND end_ns IS NULL), nr_reclaimed, NULL) AS nr_reclaimed
FROM summed WHERE start_ns IS NOT NULL;

-- CPU time of reclaim: from begin to end, or from wake to sleep of kswapd, less the time off the CPU.
-- Running sums as above, over the switches of tasks that reclaim. Where only some tasks were followed,
-- the switches of the others are recorded by halves: a task of which more than one in 20 does not go
-- out, in, out, in was none of them. Of a followed one a switch in some thousand is missing: between
-- begin and end a task comes back as often as it leaves (balance), or the time is unknown.
DROP VIEW IF EXISTS reclaim_cpu;
CREATE VIEW reclaim_cpu AS
WITH episode AS MATERIALIZED (
	SELECT capture_id, kind, pid, start_ns, end_ns, duration_ns, nr_scanned, nr_reclaimed
	FROM reclaim_episode
	UNION ALL
	SELECT capture_id, 'kswapd', pid, start_ns, end_ns, duration_ns, nr_scanned, nr_reclaimed
	FROM kswapd_run
), task_of AS MATERIALIZED (
	SELECT DISTINCT capture_id, pid FROM episode WHERE pid > 0
), paired AS MATERIALIZED (
	SELECT *, lag(is_out) OVER w AS before_is_out, lag(ts_ns) OVER w AS before_ns
	FROM (
		SELECT capture_id, ts_ns, prev_pid AS pid, 1 AS is_out FROM sched_switch
		WHERE (capture_id, prev_pid) IN (SELECT capture_id, pid FROM task_of)
		UNION ALL
		SELECT capture_id, ts_ns, next_pid, 0 FROM sched_switch
		WHERE (capture_id, next_pid) IN (SELECT capture_id, pid FROM task_of)
	)
	WINDOW w AS (PARTITION BY capture_id, pid ORDER BY ts_ns, is_out = 0)
), followed AS MATERIALIZED (
	SELECT capture_id, pid FROM paired GROUP BY capture_id, pid
	HAVING 20 * total(is_out = before_is_out) <= count(*)
), summed AS (
	SELECT capture_id, pid, kind, start_ns, total(off_ns) OVER w AS sum_ns,
		sum(balance) OVER w AS sum_balance
	FROM (
		SELECT capture_id, pid, ts_ns, iif(NOT is_out AND before_is_out, ts_ns - before_ns, 0)
			AS off_ns, iif(is_out, 1, -1) AS balance, 1 AS step, NULL AS kind, NULL AS start_ns
		FROM paired
		UNION ALL
		SELECT capture_id, pid, start_ns, 0, 0, 0, kind, start_ns FROM episode
		WHERE duration_ns IS NOT NULL
		UNION ALL
		SELECT capture_id, pid, end_ns, 0, 0, 2, kind, start_ns FROM episode
		WHERE duration_ns IS NOT NULL
	)
	WHERE (capture_id, pid) IN (SELECT capture_id, pid FROM followed)
	WINDOW w AS (PARTITION BY capture_id, pid ORDER BY ts_ns, step ROWS UNBOUNDED PRECEDING)
), off AS MATERIALIZED (
	SELECT capture_id, pid, kind, start_ns,
		CAST(max(sum_ns) - min(sum_ns) AS INTEGER) AS off_ns
	FROM summed WHERE kind IS NOT NULL
	GROUP BY capture_id, pid, kind, start_ns HAVING max(sum_balance) = min(sum_balance)
)
SELECT e.capture_id, e.kind, e.pid, e.start_ns, e.end_ns, e.duration_ns, o.off_ns AS off_cpu_ns,
	e.duration_ns - o.off_ns AS cpu_ns, e.nr_scanned, e.nr_reclaimed
FROM episode e
LEFT JOIN off o ON o.capture_id = e.capture_id AND o.pid = e.pid AND o.kind = e.kind
	AND o.start_ns = e.start_ns AND NOT EXISTS (SELECT 1 FROM gap g
		WHERE g.capture_id = e.capture_id AND g.to_ns > e.start_ns AND g.from_ns < e.end_ns);

-- One row for each batch taken off a list: what was isolated, and what became of it.
DROP VIEW IF EXISTS lru_scan;
CREATE VIEW lru_scan AS
WITH lossy AS MATERIALIZED (
	SELECT DISTINCT capture_id, stream, cpu FROM gap WHERE stream <> 'demand'
), event AS (
	SELECT capture_id, ts_ns, cpu, pid, 'isolate' AS step, NULL AS nid, NULL AS priority,
		NULL AS reclaim_flags, lru, file, "order" AS page_order, nr_requested, nr_scanned,
		nr_skipped, nr_taken, NULL AS nr_reclaimed, NULL AS nr_dirty, NULL AS nr_writeback,
		NULL AS nr_congested, NULL AS nr_immediate, NULL AS nr_activated, NULL AS nr_kept,
		NULL AS nr_unmap_fail, NULL AS nr_deactivated
	FROM mm_vmscan_lru_isolate
	UNION ALL
	SELECT capture_id, ts_ns, cpu, pid, 'inactive', nid, priority, reclaim_flags, NULL, NULL, NULL,
		NULL, nr_scanned, NULL, NULL, nr_reclaimed, nr_dirty, nr_writeback, nr_congested,
		nr_immediate, coalesce(nr_activate, nr_activate0 + nr_activate1), nr_ref_keep,
		nr_unmap_fail, NULL
	FROM mm_vmscan_lru_shrink_inactive
	UNION ALL
	SELECT capture_id, ts_ns, cpu, pid, 'active', nid, priority, reclaim_flags, NULL, NULL, NULL,
		NULL, NULL, NULL, nr_taken, NULL, NULL, NULL, NULL, NULL, nr_active, NULL, NULL,
		nr_deactivated
	FROM mm_vmscan_lru_shrink_active
), followed AS (
	SELECT *, lag(step) OVER w AS before, lag(ts_ns) OVER w AS isolate_ns,
		lead(step) OVER w AS next, lead(ts_ns) OVER w AS next_ns, lag(lru) OVER w AS isolate_lru,
		lag(file) OVER w AS isolate_file, lag(page_order) OVER w AS isolate_order,
		lag(nr_requested) OVER w AS isolate_requested, lag(nr_scanned) OVER w AS isolate_scanned,
		lag(nr_skipped) OVER w AS isolate_skipped, lag(nr_taken) OVER w AS isolate_taken
	FROM event
	WINDOW w AS (PARTITION BY capture_id, pid ORDER BY ts_ns, step = 'isolate')
), paired AS (
	SELECT *, CASE WHEN step = 'isolate' THEN
		iif(next <> 'isolate' AND NOT EXISTS (
			SELECT 1 FROM lossy l WHERE l.capture_id = p.capture_id
			AND (SELECT g.from_ns FROM gap g WHERE g.capture_id = l.capture_id
				AND g.stream = l.stream AND g.cpu IS l.cpu AND g.to_ns > p.ts_ns
				ORDER BY g.to_ns LIMIT 1) < p.next_ns), next, NULL)
		ELSE iif(before = 'isolate' AND NOT EXISTS (
			SELECT 1 FROM lossy l WHERE l.capture_id = p.capture_id
			AND (SELECT g.from_ns FROM gap g WHERE g.capture_id = l.capture_id
				AND g.stream = l.stream AND g.cpu IS l.cpu AND g.to_ns > p.isolate_ns
				ORDER BY g.to_ns LIMIT 1) < p.ts_ns), before, NULL)
		END AS partner
	FROM followed p
), joined AS (
	SELECT capture_id, cpu, pid, nid, priority, reclaim_flags, nr_reclaimed, nr_dirty, nr_writeback,
		nr_congested, nr_immediate, nr_activated, nr_kept, nr_unmap_fail, nr_deactivated,
		iif(step = 'isolate', NULL, step) AS shrunk,
		iif(step = 'isolate', ts_ns, iif(partner = 'isolate', isolate_ns, NULL)) AS start_ns,
		iif(step = 'isolate', NULL, ts_ns) AS end_ns,
		iif(step = 'isolate', lru, iif(partner = 'isolate', isolate_lru, NULL)) AS lru,
		iif(step = 'isolate', file, iif(partner = 'isolate', isolate_file, NULL)) AS file,
		iif(step = 'isolate', page_order, iif(partner = 'isolate', isolate_order, NULL))
			AS page_order,
		iif(step = 'isolate', nr_requested, iif(partner = 'isolate', isolate_requested, NULL))
			AS nr_requested,
		-- under MGLRU isolate may say 0 where shrink_inactive knows
		iif(step = 'inactive', max(nr_scanned, iif(partner = 'isolate', isolate_scanned,
			nr_scanned)), iif(step = 'isolate', nr_scanned, iif(partner = 'isolate',
			isolate_scanned, NULL))) AS nr_scanned,
		iif(step = 'isolate', nr_skipped, iif(partner = 'isolate', isolate_skipped, NULL))
			AS nr_skipped,
		iif(step = 'isolate', nr_taken, iif(partner = 'isolate', isolate_taken, nr_taken))
			AS nr_taken
	FROM paired WHERE step <> 'isolate' OR partner IS NULL
)
SELECT capture_id, start_ns, end_ns, end_ns - start_ns AS duration_ns, cpu, pid, nid,
	CASE WHEN shrunk IS NOT NULL THEN shrunk
		WHEN typeof(lru) = 'integer' AND lru < 4 THEN iif(lru & 1, 'active', 'inactive')
		WHEN lru LIKE 'active%' THEN 'active' WHEN lru LIKE 'inactive%' THEN 'inactive' END AS list,
	CASE WHEN typeof(lru) = 'integer' THEN lru IN (2, 3)
		WHEN lru LIKE '%file' THEN 1 WHEN lru LIKE '%anon' THEN 0
		WHEN file IS NOT NULL THEN file
		WHEN typeof(reclaim_flags) = 'integer' THEN (reclaim_flags & 2) / 2
		WHEN reclaim_flags LIKE '%FILE%' THEN 1 WHEN reclaim_flags LIKE '%ANON%' THEN 0
		END AS is_file,
	page_order, priority, nr_requested, nr_scanned, nr_skipped, nr_taken, nr_reclaimed,
	nr_activated, nr_deactivated, nr_kept, nr_dirty, nr_writeback, nr_congested, nr_immediate,
	nr_unmap_fail
FROM joined;

DROP VIEW IF EXISTS shrinker_call;
CREATE VIEW shrinker_call AS
WITH lossy AS MATERIALIZED (
	SELECT DISTINCT capture_id, stream, cpu FROM gap WHERE stream <> 'demand'
), event AS (
	SELECT capture_id, ts_ns, cpu, pid, shr, shrink, nid, priority, gfp_flags, cache_items,
		nr_objects_to_shrink, delta, total_scan, NULL AS retval, 1 AS is_start
	FROM mm_shrink_slab_start
	UNION ALL
	SELECT capture_id, ts_ns, cpu, pid, shr, shrink, nid, NULL, NULL, NULL, NULL, NULL,
		total_scan, retval, 0
	FROM mm_shrink_slab_end
), paired AS (
	SELECT *, lag(is_start) OVER w AS before_is_start, lag(ts_ns) OVER w AS before_ns,
		lead(is_start) OVER w AS next_is_start, lead(ts_ns) OVER w AS next_ns,
		lead(retval) OVER w AS next_retval, lead(total_scan) OVER w AS next_total_scan
	FROM event
	WINDOW w AS (PARTITION BY capture_id, pid, shr, nid ORDER BY ts_ns, is_start)
), checked AS (
	SELECT *, CASE WHEN is_start THEN next_is_start = 0 AND NOT EXISTS (
			SELECT 1 FROM lossy l WHERE l.capture_id = p.capture_id
			AND (SELECT g.from_ns FROM gap g WHERE g.capture_id = l.capture_id
				AND g.stream = l.stream AND g.cpu IS l.cpu AND g.to_ns > p.ts_ns
				ORDER BY g.to_ns LIMIT 1) < p.next_ns)
		ELSE before_is_start = 1 AND NOT EXISTS (
			SELECT 1 FROM lossy l WHERE l.capture_id = p.capture_id
			AND (SELECT g.from_ns FROM gap g WHERE g.capture_id = l.capture_id
				AND g.stream = l.stream AND g.cpu IS l.cpu AND g.to_ns > p.before_ns
				ORDER BY g.to_ns LIMIT 1) < p.ts_ns) END AS is_whole
	FROM paired p
)
SELECT capture_id, iif(is_start, ts_ns, NULL) AS start_ns,
	CASE WHEN NOT is_start THEN ts_ns WHEN is_whole THEN next_ns END AS end_ns,
	iif(is_start AND is_whole, next_ns - ts_ns, NULL) AS duration_ns, cpu, pid, nid,
	shr AS shrinker, coalesce((SELECT value FROM context s WHERE s.capture_id = checked.capture_id
		AND s.subject = 'symbol' AND s.key = printf('0x%x', shrink)), shrink) AS function,
	priority, gfp_flags, cache_items AS nr_objects,
	nr_objects_to_shrink AS nr_deferred, delta AS nr_delta,
	iif(is_start, total_scan, NULL) AS nr_to_scan,
	iif(is_start AND is_whole, total_scan - next_total_scan, NULL) AS nr_scanned,
	CASE WHEN NOT is_start THEN retval WHEN is_whole THEN next_retval END AS nr_freed
FROM checked WHERE is_start OR is_whole IS NOT 1;

-- A flush takes the rstat lock once for each CPU: the holds of the same task within the 100 ms
-- after memcg_flush_stats are its own. Holds that follow no such event (kernels that lack it,
-- readers of cgroup files) are rows of their own.
DROP VIEW IF EXISTS stats_flush;
CREATE VIEW stats_flush AS
WITH event AS (
	SELECT capture_id, ts_ns, cpu, pid, 'flush' AS step, id, stats_updates, force, needs_flush,
		NULL AS contended, NULL AS delta, 1 AS tie
	FROM memcg_flush_stats
	UNION ALL
	SELECT capture_id, ts_ns, cpu, pid, 'locked', id, NULL, NULL, NULL, contended, NULL, 1
	FROM cgroup_rstat_locked
	UNION ALL
	SELECT capture_id, ts_ns, cpu, pid, 'unlock', id, NULL, NULL, NULL, NULL, NULL, 1
	FROM cgroup_rstat_unlock
	UNION ALL
	SELECT capture_id, ts_ns, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, delta, tie
	FROM gap_edge
), placed AS (
	SELECT *, count(delta) OVER w AS epoch, coalesce(sum(delta) OVER w, 0) AS depth
	FROM event
	WINDOW w AS (PARTITION BY capture_id ORDER BY ts_ns, tie ROWS UNBOUNDED PRECEDING)
), grouped AS (
	SELECT *, max(iif(step = 'flush', ts_ns, NULL)) OVER p AS flush_ns,
		lead(step) OVER p AS next_step, lead(ts_ns) OVER p AS next_ns
	FROM placed WHERE step IS NOT NULL
	WINDOW p AS (PARTITION BY capture_id, pid, epoch, iif(depth, ts_ns, NULL) ORDER BY ts_ns,
		step = 'flush', step = 'locked')
), held AS (
	SELECT capture_id, cpu, pid, step, id, stats_updates, force, needs_flush, ts_ns, contended,
		iif(step = 'locked' AND next_step = 'unlock', next_ns - ts_ns, NULL) AS hold_ns,
		iif(step = 'locked' AND (flush_ns IS NULL OR ts_ns - flush_ns > 100000000), ts_ns, flush_ns)
			AS start_ns
	FROM grouped WHERE step <> 'unlock'
)
SELECT capture_id, start_ns AS ts_ns, pid, min(cpu) FILTER (WHERE ts_ns = start_ns) AS cpu,
	max(id) FILTER (WHERE step = 'flush') AS memcg_id,
	max(id) FILTER (WHERE step = 'locked') AS cgroup_id,
	max(stats_updates) AS stats_updates, max(force) AS is_forced, max(needs_flush) AS is_needed,
	iif(capture_id IN (SELECT capture_id FROM cgroup_rstat_locked), count(*)
		FILTER (WHERE step = 'locked'), NULL) AS nr_lock_holds,
	iif(count(*) FILTER (WHERE step = 'locked' AND hold_ns IS NULL), NULL, sum(hold_ns))
		AS lock_hold_ns,
	sum(contended) AS nr_contended
FROM held GROUP BY capture_id, pid, start_ns;

DROP VIEW IF EXISTS throttle;
CREATE VIEW throttle AS
SELECT capture_id, ts_ns, cpu, pid, 'reclaim' AS kind, nid,
	CASE reason WHEN 1 THEN 'writeback' WHEN 2 THEN 'isolated' WHEN 4 THEN 'noprogress'
		WHEN 8 THEN 'congested'
		ELSE lower(replace(reason, 'VMSCAN_THROTTLE_', '')) END AS reason,
	usec_timeout * 1000 AS timeout_ns, usec_delayed * 1000 AS delayed_ns
FROM mm_vmscan_throttled
UNION ALL
SELECT capture_id, ts_ns, cpu, pid, 'dirty', NULL, 'balance_dirty_pages', NULL, pause * 1000000
FROM balance_dirty_pages WHERE pause > 0;

-- Needs page_event (.load ./pagereel). Eviction or truncation? By who deleted: kswapd or a task
-- inside reclaim evicts; whoever recorded the event has flagged it. stands_for: see refault.
DROP VIEW IF EXISTS eviction;
CREATE VIEW eviction AS
SELECT capture_id, ts_ns, cpu, pid, file_id, page_index, pages, pfn, sample_mask + 1 AS stands_for
FROM page_event
WHERE op IN ('evict', 'delete') AND (op = 'evict' OR flags & 2 OR (capture_id, pid) IN
	(SELECT capture_id, pid FROM mm_vmscan_kswapd_wake
	UNION SELECT capture_id, pid FROM task WHERE comm LIKE 'kswapd%'));

-- Needs page_life. An add of a folio that was evicted before, by its first page. distance_pages:
-- pages evicted since. A stream that was thinned by page index has a row for one of stands_for:
-- sum(pages * stands_for) estimates the whole, and is exact where that is 1.
DROP VIEW IF EXISTS refault;
CREATE VIEW refault AS
SELECT capture_id, ts_ns, cpu, pid, file_id, page_index, pages, evicted_ns,
	ts_ns - evicted_ns AS away_ns, distance_pages * (sample_mask + 1) AS distance_pages,
	sample_mask + 1 AS stands_for
FROM page_life WHERE op = 'add' AND evicted_ns IS NOT NULL;

-- How much of what happened was recorded; coverage_pct is NULL if a gap does not say how many it
-- lost.
DROP VIEW IF EXISTS capture_coverage;
CREATE VIEW capture_coverage AS
SELECT c.id AS capture_id, coalesce(g.nr_gaps, 0) AS nr_gaps,
	iif(g.nr_gaps IS NULL, 0, g.events_lost) AS events_lost,
	iif(g.nr_gaps IS NULL, 100.0,
		100.0 * s.nr_events / nullif(s.nr_events + g.events_lost, 0)) AS coverage_pct
FROM capture c
LEFT JOIN (
	SELECT capture_id, count(*) AS nr_gaps,
		iif(count(events_lost) = count(*), sum(events_lost), NULL) AS events_lost
	FROM gap GROUP BY capture_id
) g ON g.capture_id = c.id
LEFT JOIN (
	SELECT capture_id, max(coalesce(sum(nr_events), 0), (SELECT coalesce(sum(nr_events), 0) FROM page_chunk p
		WHERE p.capture_id = e.capture_id)) AS nr_events
	FROM event_type e GROUP BY capture_id
) s ON s.capture_id = c.id;

DROP VIEW IF EXISTS replay_result;
CREATE VIEW replay_result AS
SELECT id AS result_id, capture_id, stream_id, model, params, memory_pages,
	memory_pages * 4096 AS memory_bytes, profile, seed, status, accesses, hits, misses,
	1.0 * hits / nullif(accesses, 0) AS hit_ratio, 1.0 * misses / nullif(accesses, 0) AS miss_ratio,
	fills, fills_compulsory, fills_whole_write, fills_undemanded, evictions, scanned, reclaimed,
	activated, deactivated, rotated, refaults, written, swapped_out, swapped_in, resident_pages,
	metadata_bytes, cpu_ns, io_ns
FROM result;
