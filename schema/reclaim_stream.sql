-- reclaim_stream.sql - what reclaim_episode is made of, in order of time, of captures ?1 to ?2: kind
-- (0: a scan; else struct episode_kind), and at equal times scans, ends, begins. Each part comes
-- sorted where its table is packed, so that they are only merged.
SELECT capture_id, ts_ns, 0 AS step, 0 AS kind, pid, NULL AS cpu, nr_scanned AS number,
	NULL AS page_order, NULL AS gfp_flags, NULL AS nid
FROM mm_vmscan_lru_shrink_inactive WHERE capture_id BETWEEN ?1 AND ?2
UNION ALL
SELECT capture_id, ts_ns, 1, 1, pid, cpu, nr_reclaimed, NULL, NULL, NULL
FROM mm_vmscan_direct_reclaim_end WHERE capture_id BETWEEN ?1 AND ?2
UNION ALL
SELECT capture_id, ts_ns, 1, 2, pid, cpu, nr_reclaimed, NULL, NULL, NULL
FROM mm_vmscan_memcg_reclaim_end WHERE capture_id BETWEEN ?1 AND ?2
UNION ALL
SELECT capture_id, ts_ns, 1, 3, pid, cpu, nr_reclaimed, NULL, NULL, NULL
FROM mm_vmscan_memcg_softlimit_reclaim_end WHERE capture_id BETWEEN ?1 AND ?2
UNION ALL
SELECT capture_id, ts_ns, 1, 4, pid, cpu, nr_reclaimed, NULL, NULL, NULL
FROM mm_vmscan_node_reclaim_end WHERE capture_id BETWEEN ?1 AND ?2
UNION ALL
SELECT capture_id, ts_ns, 2, 1, pid, cpu, NULL, "order", gfp_flags, NULL
FROM mm_vmscan_direct_reclaim_begin WHERE capture_id BETWEEN ?1 AND ?2
UNION ALL
SELECT capture_id, ts_ns, 2, 2, pid, cpu, NULL, "order", gfp_flags, NULL
FROM mm_vmscan_memcg_reclaim_begin WHERE capture_id BETWEEN ?1 AND ?2
UNION ALL
SELECT capture_id, ts_ns, 2, 3, pid, cpu, NULL, "order", gfp_flags, NULL
FROM mm_vmscan_memcg_softlimit_reclaim_begin WHERE capture_id BETWEEN ?1 AND ?2
UNION ALL
SELECT capture_id, ts_ns, 2, 4, pid, cpu, NULL, "order", gfp_flags, nid
FROM mm_vmscan_node_reclaim_begin WHERE capture_id BETWEEN ?1 AND ?2
ORDER BY 1, 2, 3;
