// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * event_known.c - the events that views.sql reads. Their tables exist in every database, empty or
 * not, so that no view fails for want of one, and have the fields of all kernels from 3.0 to 6.18
 * together: a field that a kernel does not have is NULL in its rows. Field names are those of the
 * kernels' format files. Everything is INTEGER; a field that arrives as text (flags out of printed
 * traces) stays text.
 */
#include "schema/store_event.h"

#define BEGIN "order may_writepage gfp_flags classzone_idx"
#define RSTAT "root level id cpu contended"

const struct event_known events_known[] = {
	{ "vmscan", "mm_vmscan_kswapd_sleep", "nid" },
	{ "vmscan", "mm_vmscan_kswapd_wake", "nid zid order" },
	{ "vmscan", "mm_vmscan_wakeup_kswapd", "nid zid order gfp_flags" },
	{ "vmscan", "mm_vmscan_direct_reclaim_begin", BEGIN },
	{ "vmscan", "mm_vmscan_direct_reclaim_end", "nr_reclaimed" },
	{ "vmscan", "mm_vmscan_memcg_reclaim_begin", BEGIN },
	{ "vmscan", "mm_vmscan_memcg_reclaim_end", "nr_reclaimed" },
	{ "vmscan", "mm_vmscan_memcg_softlimit_reclaim_begin", BEGIN },
	{ "vmscan", "mm_vmscan_memcg_softlimit_reclaim_end", "nr_reclaimed" },
	{ "vmscan", "mm_vmscan_node_reclaim_begin", "nid order gfp_flags" },
	{ "vmscan", "mm_vmscan_node_reclaim_end", "nr_reclaimed" },
	{ "vmscan", "mm_shrink_slab_start", "shr shrink nid nr_objects_to_shrink gfp_flags "
	  "pgs_scanned lru_pgs cache_items delta total_scan priority" },
	{ "vmscan", "mm_shrink_slab_end", "shr nid shrink unused_scan new_scan retval total_scan" },
	{ "vmscan", "mm_vmscan_lru_isolate", "classzone_idx highest_zoneidx order nr_requested "
	  "nr_scanned nr_skipped nr_taken nr_lumpy_taken nr_lumpy_dirty nr_lumpy_failed "
	  "isolate_mode file lru" },
	{ "vmscan", "mm_vmscan_lru_shrink_inactive", "nid zid nr_scanned nr_reclaimed nr_dirty "
	  "nr_writeback nr_congested nr_immediate nr_activate nr_activate0 nr_activate1 "
	  "nr_ref_keep nr_unmap_fail priority reclaim_flags" },
	{ "vmscan", "mm_vmscan_lru_shrink_active",
	  "nid nr_taken nr_active nr_deactivated nr_referenced priority reclaim_flags" },
	{ "vmscan", "mm_vmscan_inactive_list_is_low", "nid reclaim_idx total_inactive inactive "
	  "total_active active ratio reclaim_flags" },
	{ "vmscan", "mm_vmscan_throttled", "nid usec_timeout usec_delayed reason" },
	{ "vmscan", "mm_vmscan_reclaim_pages", "nid nr_scanned nr_reclaimed nr_dirty nr_writeback "
	  "nr_congested nr_immediate nr_activate0 nr_activate1 nr_ref_keep nr_unmap_fail" },
	{ "memcg", "memcg_flush_stats", "id stats_updates force needs_flush" },
	{ "cgroup", "cgroup_rstat_lock_contended", RSTAT },
	{ "cgroup", "cgroup_rstat_locked", RSTAT },
	{ "cgroup", "cgroup_rstat_unlock", RSTAT },
	{ "writeback", "balance_dirty_pages", "bdi limit setpoint dirty bdi_setpoint bdi_dirty "
	  "wb_setpoint wb_dirty dirty_ratelimit task_ratelimit dirtied dirtied_pause paused pause "
	  "period think cgroup cgroup_ino" },
	{ "sched", "sched_switch", "prev_comm prev_pid prev_prio prev_state next_comm next_pid "
	  "next_prio" },
	{ 0 },
};
