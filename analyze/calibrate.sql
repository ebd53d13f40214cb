-- calibrate.sql - what was done in each piece of reclaim of the tasks :pids (a JSON array; NULL: all)
-- and how long it took: one row an episode, by task and time. What page events say is counted by the
-- caller. kswapd's runs only where its CPU time is known, for it naps in between. nr_vmscan and
-- nr_other: events recorded inside, whose recording took time.
WITH episode AS MATERIALIZED (
	SELECT kind, pid, start_ns, end_ns, duration_ns, cpu_ns, nr_reclaimed
	FROM reclaim_cpu
	WHERE capture_id = :capture_id AND duration_ns > 0
		AND (:pids IS NULL OR pid IN (SELECT value FROM json_each(:pids)))
		AND (kind <> 'kswapd' OR cpu_ns IS NOT NULL)
), task_of AS MATERIALIZED (
	SELECT DISTINCT pid FROM episode
), event AS (
	SELECT pid, ts_ns, nr_scanned AS scanned, coalesce(nr_activate, nr_activate0 + nr_activate1)
		AS activated, nr_ref_keep AS kept, 0 AS refilled, 0 AS calls, 0 AS objects, 1 AS vmscan,
		0 AS other, 1 AS batches
	FROM mm_vmscan_lru_shrink_inactive WHERE capture_id = :capture_id
	UNION ALL
	SELECT pid, ts_ns, 0, 0, 0, nr_taken, 0, 0, 1, 0, 1 FROM mm_vmscan_lru_shrink_active
	WHERE capture_id = :capture_id
	UNION ALL
	SELECT pid, ts_ns, 0, 0, 0, 0, 0, 0, 1, 0, 0 FROM mm_vmscan_lru_isolate
	WHERE capture_id = :capture_id
	UNION ALL
	SELECT pid, ts_ns, 0, 0, 0, 0, 1, 0, 1, 0, 0 FROM mm_shrink_slab_start
	WHERE capture_id = :capture_id
	UNION ALL
	SELECT pid, ts_ns, 0, 0, 0, 0, 0, max(retval, 0), 1, 0, 0 FROM mm_shrink_slab_end
	WHERE capture_id = :capture_id
	UNION ALL
	SELECT pid, ts_ns, 0, 0, 0, 0, 0, 0, 0, 1, 0 FROM cgroup_rstat_locked WHERE capture_id = :capture_id
	UNION ALL
	SELECT pid, ts_ns, 0, 0, 0, 0, 0, 0, 0, 1, 0 FROM cgroup_rstat_unlock WHERE capture_id = :capture_id
	UNION ALL
	SELECT pid, ts_ns, 0, 0, 0, 0, 0, 0, 0, 1, 0 FROM memcg_flush_stats WHERE capture_id = :capture_id
), summed AS (
	SELECT pid, kind, start_ns, step, total(scanned) OVER w AS scanned,
		total(activated) OVER w AS activated, total(kept) OVER w AS kept,
		total(refilled) OVER w AS refilled, total(calls) OVER w AS calls,
		total(objects) OVER w AS objects, total(vmscan) OVER w AS vmscan,
		total(other) OVER w AS other, total(batches) OVER w AS batches
	FROM (
		SELECT pid, ts_ns, 1 AS step, NULL AS kind, NULL AS start_ns, scanned, activated, kept,
			refilled, calls, objects, vmscan, other, batches
		FROM event WHERE pid IN (SELECT pid FROM task_of)
		UNION ALL
		SELECT pid, start_ns, 0, kind, start_ns, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM episode
		UNION ALL
		SELECT pid, end_ns, 2, kind, start_ns, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM episode
	)
	WINDOW w AS (PARTITION BY pid ORDER BY ts_ns, step ROWS UNBOUNDED PRECEDING)
), inside AS MATERIALIZED (
	SELECT pid, kind, start_ns, max(scanned) - min(scanned) AS nr_scanned,
		max(activated) - min(activated) AS nr_activated, max(kept) - min(kept) AS nr_kept,
		max(refilled) - min(refilled) AS nr_refilled, max(calls) - min(calls) AS nr_calls,
		max(objects) - min(objects) AS nr_objects, max(vmscan) - min(vmscan) AS nr_vmscan,
		max(other) - min(other) AS nr_other, max(batches) - min(batches) AS nr_batches
	FROM summed WHERE kind IS NOT NULL GROUP BY pid, kind, start_ns
)
SELECT e.pid, e.start_ns, e.end_ns, e.duration_ns, e.cpu_ns, e.nr_reclaimed, i.nr_scanned,
	i.nr_refilled, i.nr_kept, i.nr_activated, i.nr_calls, i.nr_objects, i.nr_vmscan, i.nr_other,
	i.nr_batches
FROM episode e
JOIN inside i ON i.pid = e.pid AND i.kind = e.kind AND i.start_ns = e.start_ns
ORDER BY e.pid, e.start_ns;
