// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * catalogue.c - the groups of events that capture offers, under all names the events have had.
 * What the running kernel does not have is noted, not refused; an event that is not listed here is
 * recorded all the same when it is asked for by name.
 *
 * Costs are what one event adds to the traced program and to the capturer, measured on 6.18.
 */
#include <string.h>

#include "capture/capture.h"

#define DEMAND(sys, ...) { sys, { __VA_ARGS__ }, STREAM_DEMAND, false }
#define RECLAIM(sys, ...) { sys, { __VA_ARGS__ }, STREAM_RECLAIM, false }
#define RECLAIM_PACKED(sys, ...) { sys, { __VA_ARGS__ }, STREAM_RECLAIM, true }

/* Where reclaim by a task begins and ends, of each kind. */
#define RECLAIM_EPISODES \
	RECLAIM("vmscan", "mm_vmscan_direct_reclaim_begin"), \
	RECLAIM("vmscan", "mm_vmscan_direct_reclaim_end"), \
	RECLAIM("vmscan", "mm_vmscan_memcg_reclaim_begin"), \
	RECLAIM("vmscan", "mm_vmscan_memcg_reclaim_end"), \
	RECLAIM("vmscan", "mm_vmscan_memcg_softlimit_reclaim_begin"), \
	RECLAIM("vmscan", "mm_vmscan_memcg_softlimit_reclaim_end"), \
	RECLAIM("vmscan", "mm_vmscan_node_reclaim_begin"), \
	RECLAIM("vmscan", "mm_vmscan_node_reclaim_end")

/* What tells of the tasks that are followed. */
#define TASK_EVENTS \
	DEMAND("sched", "sched_process_fork"), \
	DEMAND("sched", "sched_process_exec"), \
	DEMAND("sched", "sched_process_exit"), \
	RECLAIM("cgroup", "cgroup_attach_task")

static const struct catalogue_event reclaim_events[] = {
	RECLAIM("vmscan", "mm_vmscan_kswapd_wake"),
	RECLAIM("vmscan", "mm_vmscan_kswapd_sleep"),
	RECLAIM("vmscan", "mm_vmscan_wakeup_kswapd"),
	RECLAIM_EPISODES,
	RECLAIM("vmscan", "mm_vmscan_reclaim_pages"),
	RECLAIM("vmscan", "mm_vmscan_throttled"),
	RECLAIM("vmscan", "mm_vmscan_lru_isolate"),
	RECLAIM("vmscan", "mm_vmscan_lru_shrink_inactive"),
	RECLAIM("vmscan", "mm_vmscan_lru_shrink_active"),
	RECLAIM("vmscan", "mm_vmscan_write_folio", "mm_vmscan_writepage"),
	RECLAIM("oom", "mark_victim"),
};

static const struct catalogue_event slab_events[] = {
	RECLAIM("vmscan", "mm_shrink_slab_start"),
	RECLAIM("vmscan", "mm_shrink_slab_end"),
};

static const struct catalogue_event writeback_events[] = {
	/* fires in the task that dirties: where nothing else shows writes this does */
	DEMAND("writeback", "writeback_dirty_folio", "writeback_dirty_page"),
	RECLAIM("writeback", "folio_wait_writeback", "wait_on_page_writeback"),
	RECLAIM("writeback", "writeback_start"),
	RECLAIM("writeback", "writeback_written"),
	RECLAIM("writeback", "balance_dirty_pages"),
	RECLAIM("writeback", "global_dirty_state"),
};

static const struct catalogue_event pagecache_events[] = {
	DEMAND("filemap", "mm_filemap_get_pages"),
	DEMAND("filemap", "mm_filemap_fault"),
	DEMAND("filemap", "mm_filemap_map_pages"),
	DEMAND("ext4", "ext4_da_write_end"),
	DEMAND("ext4", "ext4_write_end"),
	DEMAND("ext4", "ext4_journalled_write_end"),
	DEMAND("xfs", "xfs_file_buffered_write"),
	DEMAND("f2fs", "f2fs_write_end"),
	RECLAIM("filemap", "mm_filemap_add_to_page_cache"),
	RECLAIM("filemap", "mm_filemap_delete_from_page_cache"),
	RECLAIM("pagemap", "mm_lru_activate"),
};

static const struct catalogue_event readahead_events[] = {
	DEMAND("readahead", "page_cache_ra_unbounded"),
	DEMAND("readahead", "page_cache_ra_order"),
	DEMAND("readahead", "page_cache_sync_ra"),
	DEMAND("readahead", "page_cache_async_ra"),
};

static const struct catalogue_event memcg_flush_events[] = {
	RECLAIM("memcg", "memcg_flush_stats"),
	RECLAIM("cgroup", "cgroup_rstat_lock_contended"),
	RECLAIM("cgroup", "cgroup_rstat_locked"),
	RECLAIM("cgroup", "cgroup_rstat_unlock"),
};

static const struct catalogue_event memcg_stats_events[] = {
	RECLAIM_PACKED("memcg", "mod_memcg_state"),
	RECLAIM_PACKED("memcg", "mod_memcg_lruvec_state"),
	RECLAIM_PACKED("memcg", "count_memcg_events"),
};

static const struct catalogue_event tasks_events[] = {
	TASK_EVENTS,
};

static const struct catalogue_event faults_events[] = {
	DEMAND("exceptions", "page_fault_user"),
};

static const struct catalogue_event lru_events[] = {
	RECLAIM("pagemap", "mm_lru_insertion"),
};

static const struct catalogue_event sched_events[] = {
	DEMAND("sched", "sched_switch"),
	DEMAND("sched", "sched_stat_runtime"),
};

/* Nothing inside an episode but its switches: its length is not that of its own recording. */
static const struct catalogue_event reclaim_cpu_events[] = {
	RECLAIM("vmscan", "mm_vmscan_kswapd_wake"),
	RECLAIM("vmscan", "mm_vmscan_kswapd_sleep"),
	RECLAIM_EPISODES,
	RECLAIM("sched", "sched_switch"),	/* of everyone: kswapd, too */
	TASK_EVENTS,
};

static const struct catalogue_event compaction_events[] = {
	RECLAIM("compaction", "mm_compaction_begin"),
	RECLAIM("compaction", "mm_compaction_end"),
	RECLAIM("compaction", "mm_compaction_kcompactd_wake"),
	RECLAIM("compaction", "mm_compaction_kcompactd_sleep"),
};

#define EVENTS(name) .events = name##_events, .nr_events = (int)ARRAY_SIZE(name##_events)

const struct event_group event_groups[] = {
	{ .name = "reclaim", .help = "kswapd, direct and memcg reclaim: episodes, scans, reclaimed",
	  .cost = "low: some 10 events per 32 pages reclaimed", .by_default = true,
	  EVENTS(reclaim) },
	{ .name = "slab", .help = "shrinkers called by reclaim", .by_default = true,
	  .cost = "low: 2 events per shrinker with objects and pass", EVENTS(slab) },
	{ .name = "writeback", .help = "pages dirtied, flusher work, throttled writers",
	  .by_default = true, .cost = "low: 1 event per folio that becomes dirty",
	  EVENTS(writeback) },
	{ .name = "pagecache", .help = "every page asked for, added, deleted, activated",
	  .by_default = true, .cost = "high: 0.2 us and 44 bytes of ring per read(2)",
	  EVENTS(pagecache) },
	{ .name = "readahead", .help = "readahead decisions (6.18 and later)", .by_default = true,
	  .cost = "low: 1 or 2 events per readahead window", EVENTS(readahead) },
	{ .name = "memcg-flush", .help = "flushes of memcg statistics and who waits for them",
	  .by_default = true, .cost = "low: some events per flush", EVENTS(memcg_flush) },
	{ .name = "tasks", .help = "fork, exec, exit, and moves between cgroups",
	  .by_default = true, .cost = "low: 3 events per process", EVENTS(tasks) },
	{ .name = "memcg-stats", .help = "every change of a memcg statistic",
	  .cost = "high: about 4 events per page read", EVENTS(memcg_stats) },
	{ .name = "faults", .help = "user page faults with their address",
	  .cost = "medium: 1 event per page fault", EVENTS(faults) },
	{ .name = "lru", .help = "pages put on an LRU list (in batches of 31)",
	  .cost = "medium: 1 event per page that comes in", EVENTS(lru) },
	{ .name = "sched", .help = "context switches and run time of the chosen tasks",
	  .cost = "medium: 2 events per switch", EVENTS(sched) },
	{ .name = "reclaim-cpu", .help = "begin and end of reclaim, time off the CPU: what it "
	  "costs where nothing else is recorded",
	  .cost = "low: 2 events per episode, and all switches", EVENTS(reclaim_cpu) },
	{ .name = "compaction", .help = "compaction runs and kcompactd", .cost = "low",
	  EVENTS(compaction) },
};
const int nr_event_groups = (int)ARRAY_SIZE(event_groups);

const char *event_stream_name(enum event_stream stream)
{
	static const char *const names[] = {
		[STREAM_DEMAND] = "demand", [STREAM_RECLAIM] = "reclaim",
	};

	return names[stream];
}

const struct event_group *event_group_find(const char *name)
{
	for (int i = 0; i < nr_event_groups; i++)
		if (!strcmp(event_groups[i].name, name))
			return &event_groups[i];
	return NULL;
}

static bool event_has_name(const struct catalogue_event *event, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(event->names) && event->names[i]; i++)
		if (!strcmp(event->names[i], name))
			return true;
	return false;
}

const struct catalogue_event *catalogue_find(const char *system, const char *name)
{
	for (int g = 0; g < nr_event_groups; g++)
		for (int i = 0; i < event_groups[g].nr_events; i++) {
			const struct catalogue_event *e = &event_groups[g].events[i];

			if (!strcmp(e->system, system) && event_has_name(e, name))
				return e;
		}
	return NULL;
}
