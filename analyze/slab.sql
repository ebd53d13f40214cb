-- slab.sql - shrinkers, by the function that scans (a kernel symbol where the recording could resolve
-- it, else an address). A shrinker without objects is polled and never traced: its cost is not in here.
WITH
call AS MATERIALIZED (
	SELECT * FROM shrinker_call WHERE :capture IS NULL OR capture_id = :capture
),
kswapd AS MATERIALIZED (
	SELECT DISTINCT capture_id, pid FROM mm_vmscan_kswapd_wake
)
SELECT s.capture_id,
	iif(typeof(s.function) = 'integer', printf('%#x', s.function), s.function) AS function,
	count(*) AS nr_calls, count(DISTINCT s.shrinker) AS nr_shrinkers,
	count(*) FILTER (WHERE (s.capture_id, s.pid) IN (SELECT capture_id, pid FROM kswapd))
		AS nr_calls_kswapd,
	max(s.nr_objects) AS most_objects, sum(s.nr_scanned) AS nr_scanned, sum(s.nr_freed) AS nr_freed,
	sum(s.duration_ns) AS total_ns, 1.0 * sum(s.duration_ns) / count(s.duration_ns) AS call_ns,
	max(s.duration_ns) AS duration_max_ns, c.coverage_pct
FROM call s
LEFT JOIN capture_coverage c ON c.capture_id = s.capture_id
GROUP BY s.capture_id, s.function
ORDER BY s.capture_id, total_ns DESC, nr_calls DESC;
