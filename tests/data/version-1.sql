-- version-1.sql - a database as version 1 of the format had it, with a little of everything in it.
PRAGMA page_size=4096;
PRAGMA application_id=0x50675265;
PRAGMA user_version=1;
BEGIN;
-- tables.sql - every ordinary table but the event tables (one per tracepoint, made by store_event.c).
-- docs/schema.md explains each column. NULL means unknown. Times ending in _ns are the capture's clock.
-- A change here is a new version: see store_migrate.c.

CREATE TABLE capture(
	id INTEGER PRIMARY KEY,
	uuid TEXT NOT NULL UNIQUE,
	source TEXT NOT NULL,
	input TEXT,
	kernel_release TEXT,
	hostname TEXT,
	clock TEXT,
	started_unix_ns INTEGER,
	base_ts_ns INTEGER,
	end_ts_ns INTEGER,
	nr_cpus INTEGER,
	has_hits INTEGER NOT NULL,
	status TEXT NOT NULL
);

CREATE TABLE context(
	capture_id INTEGER NOT NULL REFERENCES capture(id),
	ts_ns INTEGER NOT NULL,
	phase TEXT NOT NULL,
	subject TEXT NOT NULL,
	key TEXT NOT NULL,
	value
);
CREATE INDEX context_by_key ON context(capture_id, subject, key, ts_ns);

CREATE TABLE gap(
	id INTEGER PRIMARY KEY,
	capture_id INTEGER NOT NULL REFERENCES capture(id),
	stream TEXT NOT NULL,
	cpu INTEGER,
	from_ns INTEGER NOT NULL,
	to_ns INTEGER NOT NULL,
	events_lost INTEGER
);

CREATE TABLE file(
	id INTEGER PRIMARY KEY,
	capture_id INTEGER NOT NULL REFERENCES capture(id),
	dev_major INTEGER NOT NULL,
	dev_minor INTEGER NOT NULL,
	ino INTEGER NOT NULL,
	size_bytes INTEGER,
	path TEXT,
	dev INTEGER AS (dev_major << 20 | dev_minor) VIRTUAL
);
CREATE INDEX file_by_ino ON file(capture_id, ino);

CREATE TABLE task(
	capture_id INTEGER NOT NULL REFERENCES capture(id),
	pid INTEGER NOT NULL,
	first_ts_ns INTEGER NOT NULL,
	tgid INTEGER,
	comm TEXT,
	cgroup TEXT,
	PRIMARY KEY(capture_id, pid, first_ts_ns)
) WITHOUT ROWID;

-- What was recorded of each tracepoint, and where it is.
CREATE TABLE event_type(
	capture_id INTEGER NOT NULL REFERENCES capture(id),
	system TEXT NOT NULL,
	name TEXT NOT NULL,
	table_name TEXT,
	stored_as TEXT NOT NULL,
	nr_events INTEGER,
	reason TEXT,
	format TEXT,
	PRIMARY KEY(capture_id, system, name)
) WITHOUT ROWID;

-- The tables of events and their columns, for all captures together.
CREATE TABLE event_table(
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE COLLATE NOCASE,
	system TEXT NOT NULL,
	event TEXT NOT NULL,
	packed INTEGER NOT NULL DEFAULT 0,
	UNIQUE(system, event)
);
CREATE TABLE event_column(
	table_id INTEGER NOT NULL REFERENCES event_table(id),
	position INTEGER NOT NULL,
	name TEXT NOT NULL COLLATE NOCASE,
	field TEXT NOT NULL,
	type TEXT NOT NULL,
	PRIMARY KEY(table_id, position)
) WITHOUT ROWID;

-- Events that come too fast for rows: columns in a BLOB (event_codec.c), shown as a virtual table.
CREATE TABLE event_chunk(
	id INTEGER PRIMARY KEY,
	table_id INTEGER NOT NULL REFERENCES event_table(id),
	capture_id INTEGER NOT NULL REFERENCES capture(id),
	nr_events INTEGER NOT NULL,
	first_ts_ns INTEGER NOT NULL,
	last_ts_ns INTEGER NOT NULL,
	data BLOB NOT NULL
);
CREATE INDEX event_chunk_by_time ON event_chunk(table_id, capture_id, first_ts_ns, last_ts_ns);

CREATE TABLE page_chunk(
	id INTEGER PRIMARY KEY,
	capture_id INTEGER NOT NULL REFERENCES capture(id),
	cpu INTEGER NOT NULL,
	nr_events INTEGER NOT NULL,
	first_ts_ns INTEGER NOT NULL,
	last_ts_ns INTEGER NOT NULL,
	ops_mask INTEGER NOT NULL,
	min_file_id INTEGER NOT NULL,
	max_file_id INTEGER NOT NULL,
	sample_mask INTEGER NOT NULL,
	data BLOB NOT NULL
);
CREATE INDEX page_chunk_by_time ON page_chunk(capture_id, first_ts_ns, last_ts_ns, cpu, ops_mask,
	min_file_id, max_file_id, nr_events, sample_mask);

-- What programs asked for, derived from page_chunk once per capture.
CREATE TABLE demand_stream(
	id INTEGER PRIMARY KEY,
	capture_id INTEGER NOT NULL REFERENCES capture(id),
	selector TEXT NOT NULL DEFAULT '',
	nr_records INTEGER NOT NULL,
	nr_accesses INTEGER NOT NULL,
	nr_distinct_pages INTEGER NOT NULL,
	nr_ids INTEGER NOT NULL,
	first_ts_ns INTEGER NOT NULL,
	last_ts_ns INTEGER NOT NULL,
	ops_mask INTEGER NOT NULL,
	sample_mask INTEGER NOT NULL,
	has_hits INTEGER NOT NULL,
	coverage_pct REAL NOT NULL,
	completeness TEXT NOT NULL,
	UNIQUE(capture_id, selector)
);
-- pages: page, run and op; the other columns are read only when asked for.
CREATE TABLE demand_chunk(
	id INTEGER PRIMARY KEY,
	stream_id INTEGER NOT NULL REFERENCES demand_stream(id),
	idx INTEGER NOT NULL,
	nr_records INTEGER NOT NULL,
	first_ts_ns INTEGER NOT NULL,
	last_ts_ns INTEGER NOT NULL,
	pages BLOB NOT NULL,
	task BLOB,
	ts BLOB,
	UNIQUE(stream_id, idx)
);
CREATE TABLE demand_extent(
	stream_id INTEGER NOT NULL REFERENCES demand_stream(id),
	first_id INTEGER NOT NULL,
	pages INTEGER NOT NULL,
	file_id INTEGER,
	first_index INTEGER NOT NULL,
	file_pages INTEGER,
	PRIMARY KEY(stream_id, first_id)
) WITHOUT ROWID;
CREATE TABLE demand_task(
	stream_id INTEGER NOT NULL REFERENCES demand_stream(id),
	task INTEGER NOT NULL,
	pid INTEGER NOT NULL,
	comm TEXT,
	cgroup TEXT,
	PRIMARY KEY(stream_id, task)
) WITHOUT ROWID;

-- CPU cost of an operation, in ns: built in, measured or calibrated.
CREATE TABLE cost_profile(
	name TEXT NOT NULL,
	operation TEXT NOT NULL,
	ns REAL NOT NULL,
	stderr_ns REAL,
	source TEXT,
	PRIMARY KEY(name, operation)
) WITHOUT ROWID;

-- Grids asked for: what the results belong to. No wall clock times, so that shards merge to the same.
CREATE TABLE replay_run(
	stream_id INTEGER NOT NULL REFERENCES demand_stream(id),
	spec TEXT NOT NULL,
	nr_results INTEGER,
	PRIMARY KEY(stream_id, spec)
) WITHOUT ROWID;

-- One row per (stream, model, params, memory, profile, seed). id is a hash of that key (store_result.c), so
-- that it does not depend on the order in which threads, shards or re-runs finish.
CREATE TABLE result(
	id INTEGER PRIMARY KEY,
	capture_id INTEGER NOT NULL REFERENCES capture(id),
	stream_id INTEGER NOT NULL REFERENCES demand_stream(id),
	model TEXT NOT NULL,
	params TEXT NOT NULL,
	memory_pages INTEGER NOT NULL,
	profile TEXT NOT NULL,
	seed INTEGER NOT NULL,
	status TEXT NOT NULL,
	accesses INTEGER,
	hits INTEGER,
	misses INTEGER,
	fills INTEGER,
	fills_compulsory INTEGER,
	fills_whole_write INTEGER,
	fills_undemanded INTEGER,
	evictions INTEGER,
	scanned INTEGER,
	reclaimed INTEGER,
	activated INTEGER,
	deactivated INTEGER,
	rotated INTEGER,
	refaults INTEGER,
	written INTEGER,
	swapped_out INTEGER,
	swapped_in INTEGER,
	resident_pages INTEGER,
	metadata_bytes INTEGER,
	cpu_ns REAL,
	io_ns REAL,
	UNIQUE(stream_id, model, params, memory_pages, profile, seed)
);
CREATE TABLE result_cost(
	result_id INTEGER NOT NULL REFERENCES result(id),
	component TEXT NOT NULL,
	operation TEXT NOT NULL,
	count INTEGER NOT NULL,
	ns REAL,
	PRIMARY KEY(result_id, component, operation)
) WITHOUT ROWID;
CREATE TABLE result_interval(
	result_id INTEGER NOT NULL REFERENCES result(id),
	idx INTEGER NOT NULL,
	first_ts_ns INTEGER,
	last_ts_ns INTEGER,
	accesses INTEGER,
	hits INTEGER,
	fills INTEGER,
	evictions INTEGER,
	PRIMARY KEY(result_id, idx)
) WITHOUT ROWID;

-- Miss ratio curves and their knees.
CREATE TABLE curve(
	stream_id INTEGER NOT NULL REFERENCES demand_stream(id),
	model TEXT NOT NULL,
	params TEXT NOT NULL,
	method TEXT NOT NULL,
	seed INTEGER NOT NULL,
	memory_pages INTEGER NOT NULL,
	miss_ratio REAL NOT NULL,
	stderr REAL,
	PRIMARY KEY(stream_id, model, params, method, seed, memory_pages)
) WITHOUT ROWID;
CREATE TABLE knee(
	stream_id INTEGER NOT NULL REFERENCES demand_stream(id),
	model TEXT NOT NULL,
	params TEXT NOT NULL,
	method TEXT NOT NULL,
	seed INTEGER NOT NULL,
	memory_pages INTEGER NOT NULL,
	miss_ratio REAL NOT NULL,
	drop_ratio REAL,
	PRIMARY KEY(stream_id, model, params, method, seed, memory_pages)
) WITHOUT ROWID;

-- The recorded kernel's own model at the recorded size against what was recorded.
CREATE TABLE validation(
	stream_id INTEGER NOT NULL REFERENCES demand_stream(id),
	model TEXT NOT NULL,
	params TEXT NOT NULL,
	memory_pages INTEGER NOT NULL,
	counter TEXT NOT NULL,
	recorded INTEGER,
	replayed INTEGER,
	PRIMARY KEY(stream_id, model, params, memory_pages, counter)
) WITHOUT ROWID;
INSERT INTO event_table VALUES(1, 'mm_vmscan_kswapd_sleep', 'vmscan', 'mm_vmscan_kswapd_sleep', 0);
INSERT INTO event_column VALUES(1, 0, 'nid', 'nid', 'INTEGER');
CREATE TABLE "mm_vmscan_kswapd_sleep"(capture_id INTEGER NOT NULL, ts_ns INTEGER NOT NULL, cpu INTEGER,
	pid INTEGER, "nid" INTEGER);
INSERT INTO event_table VALUES(2, 'mm_vmscan_kswapd_wake', 'vmscan', 'mm_vmscan_kswapd_wake', 0);
INSERT INTO event_column VALUES(2, 0, 'nid', 'nid', 'INTEGER');
INSERT INTO event_column VALUES(2, 1, 'zid', 'zid', 'INTEGER');
INSERT INTO event_column VALUES(2, 2, 'order', 'order', 'INTEGER');
CREATE TABLE "mm_vmscan_kswapd_wake"(capture_id INTEGER NOT NULL, ts_ns INTEGER NOT NULL, cpu INTEGER,
	pid INTEGER, "nid" INTEGER, "zid" INTEGER, "order" INTEGER);
INSERT INTO event_table VALUES(3, 'mm_vmscan_wakeup_kswapd', 'vmscan', 'mm_vmscan_wakeup_kswapd', 0);
INSERT INTO event_column VALUES(3, 0, 'nid', 'nid', 'INTEGER');
INSERT INTO event_column VALUES(3, 1, 'zid', 'zid', 'INTEGER');
INSERT INTO event_column VALUES(3, 2, 'order', 'order', 'INTEGER');
INSERT INTO event_column VALUES(3, 3, 'gfp_flags', 'gfp_flags', 'INTEGER');
CREATE TABLE "mm_vmscan_wakeup_kswapd"(capture_id INTEGER NOT NULL, ts_ns INTEGER NOT NULL, cpu INTEGER,
	pid INTEGER, "nid" INTEGER, "zid" INTEGER, "order" INTEGER, "gfp_flags" INTEGER);
INSERT INTO event_table VALUES(4, 'mm_vmscan_direct_reclaim_begin', 'vmscan', 'mm_vmscan_direct_reclaim_begin', 0);
INSERT INTO event_column VALUES(4, 0, 'order', 'order', 'INTEGER');
INSERT INTO event_column VALUES(4, 1, 'may_writepage', 'may_writepage', 'INTEGER');
INSERT INTO event_column VALUES(4, 2, 'gfp_flags', 'gfp_flags', 'INTEGER');
INSERT INTO event_column VALUES(4, 3, 'classzone_idx', 'classzone_idx', 'INTEGER');
CREATE TABLE "mm_vmscan_direct_reclaim_begin"(capture_id INTEGER NOT NULL, ts_ns INTEGER NOT NULL, cpu INTEGER,
	pid INTEGER, "order" INTEGER, "may_writepage" INTEGER, "gfp_flags" INTEGER, "classzone_idx" INTEGER);
INSERT INTO event_table VALUES(5, 'mm_vmscan_direct_reclaim_end', 'vmscan', 'mm_vmscan_direct_reclaim_end', 0);
INSERT INTO event_column VALUES(5, 0, 'nr_reclaimed', 'nr_reclaimed', 'INTEGER');
CREATE TABLE "mm_vmscan_direct_reclaim_end"(capture_id INTEGER NOT NULL, ts_ns INTEGER NOT NULL, cpu INTEGER,
	pid INTEGER, "nr_reclaimed" INTEGER);
INSERT INTO event_table VALUES(6, 'mm_vmscan_memcg_reclaim_begin', 'vmscan', 'mm_vmscan_memcg_reclaim_begin', 0);
INSERT INTO event_column VALUES(6, 0, 'order', 'order', 'INTEGER');
INSERT INTO event_column VALUES(6, 1, 'may_writepage', 'may_writepage', 'INTEGER');
INSERT INTO event_column VALUES(6, 2, 'gfp_flags', 'gfp_flags', 'INTEGER');
INSERT INTO event_column VALUES(6, 3, 'classzone_idx', 'classzone_idx', 'INTEGER');
CREATE TABLE "mm_vmscan_memcg_reclaim_begin"(capture_id INTEGER NOT NULL, ts_ns INTEGER NOT NULL, cpu INTEGER,
	pid INTEGER, "order" INTEGER, "may_writepage" INTEGER, "gfp_flags" INTEGER, "classzone_idx" INTEGER);
INSERT INTO event_table VALUES(7, 'mm_vmscan_memcg_reclaim_end', 'vmscan', 'mm_vmscan_memcg_reclaim_end', 0);
INSERT INTO event_column VALUES(7, 0, 'nr_reclaimed', 'nr_reclaimed', 'INTEGER');
CREATE TABLE "mm_vmscan_memcg_reclaim_end"(capture_id INTEGER NOT NULL, ts_ns INTEGER NOT NULL, cpu INTEGER,
	pid INTEGER, "nr_reclaimed" INTEGER);
INSERT INTO event_table VALUES(8, 'mm_vmscan_memcg_softlimit_reclaim_begin', 'vmscan', 'mm_vmscan_memcg_softlimit_reclaim_begin', 0);
INSERT INTO event_column VALUES(8, 0, 'order', 'order', 'INTEGER');
INSERT INTO event_column VALUES(8, 1, 'may_writepage', 'may_writepage', 'INTEGER');
INSERT INTO event_column VALUES(8, 2, 'gfp_flags', 'gfp_flags', 'INTEGER');
INSERT INTO event_column VALUES(8, 3, 'classzone_idx', 'classzone_idx', 'INTEGER');
CREATE TABLE "mm_vmscan_memcg_softlimit_reclaim_begin"(capture_id INTEGER NOT NULL, ts_ns INTEGER NOT NULL, cpu INTEGER,
	pid INTEGER, "order" INTEGER, "may_writepage" INTEGER, "gfp_flags" INTEGER, "classzone_idx" INTEGER);
INSERT INTO event_table VALUES(9, 'mm_vmscan_memcg_softlimit_reclaim_end', 'vmscan', 'mm_vmscan_memcg_softlimit_reclaim_end', 0);
INSERT INTO event_column VALUES(9, 0, 'nr_reclaimed', 'nr_reclaimed', 'INTEGER');
CREATE TABLE "mm_vmscan_memcg_softlimit_reclaim_end"(capture_id INTEGER NOT NULL, ts_ns INTEGER NOT NULL, cpu INTEGER,
	pid INTEGER, "nr_reclaimed" INTEGER);
INSERT INTO event_table VALUES(10, 'mm_vmscan_node_reclaim_begin', 'vmscan', 'mm_vmscan_node_reclaim_begin', 0);
INSERT INTO event_column VALUES(10, 0, 'nid', 'nid', 'INTEGER');
INSERT INTO event_column VALUES(10, 1, 'order', 'order', 'INTEGER');
INSERT INTO event_column VALUES(10, 2, 'gfp_flags', 'gfp_flags', 'INTEGER');
CREATE TABLE "mm_vmscan_node_reclaim_begin"(capture_id INTEGER NOT NULL, ts_ns INTEGER NOT NULL, cpu INTEGER,
	pid INTEGER, "nid" INTEGER, "order" INTEGER, "gfp_flags" INTEGER);
INSERT INTO event_table VALUES(11, 'mm_vmscan_node_reclaim_end', 'vmscan', 'mm_vmscan_node_reclaim_end', 0);
INSERT INTO event_column VALUES(11, 0, 'nr_reclaimed', 'nr_reclaimed', 'INTEGER');
CREATE TABLE "mm_vmscan_node_reclaim_end"(capture_id INTEGER NOT NULL, ts_ns INTEGER NOT NULL, cpu INTEGER,
	pid INTEGER, "nr_reclaimed" INTEGER);
INSERT INTO event_table VALUES(12, 'mm_shrink_slab_start', 'vmscan', 'mm_shrink_slab_start', 0);
INSERT INTO event_column VALUES(12, 0, 'shr', 'shr', 'INTEGER');
INSERT INTO event_column VALUES(12, 1, 'shrink', 'shrink', 'INTEGER');
INSERT INTO event_column VALUES(12, 2, 'nid', 'nid', 'INTEGER');
INSERT INTO event_column VALUES(12, 3, 'nr_objects_to_shrink', 'nr_objects_to_shrink', 'INTEGER');
INSERT INTO event_column VALUES(12, 4, 'gfp_flags', 'gfp_flags', 'INTEGER');
INSERT INTO event_column VALUES(12, 5, 'pgs_scanned', 'pgs_scanned', 'INTEGER');
INSERT INTO event_column VALUES(12, 6, 'lru_pgs', 'lru_pgs', 'INTEGER');
INSERT INTO event_column VALUES(12, 7, 'cache_items', 'cache_items', 'INTEGER');
INSERT INTO event_column VALUES(12, 8, 'delta', 'delta', 'INTEGER');
INSERT INTO event_column VALUES(12, 9, 'total_scan', 'total_scan', 'INTEGER');
INSERT INTO event_column VALUES(12, 10, 'priority', 'priority', 'INTEGER');
CREATE TABLE "mm_shrink_slab_start"(capture_id INTEGER NOT NULL, ts_ns INTEGER NOT NULL, cpu INTEGER,
	pid INTEGER, "shr" INTEGER, "shrink" INTEGER, "nid" INTEGER, "nr_objects_to_shrink" INTEGER, "gfp_flags" INTEGER, "pgs_scanned" INTEGER, "lru_pgs" INTEGER, "cache_items" INTEGER, "delta" INTEGER, "total_scan" INTEGER, "priority" INTEGER);
INSERT INTO event_table VALUES(13, 'mm_shrink_slab_end', 'vmscan', 'mm_shrink_slab_end', 0);
INSERT INTO event_column VALUES(13, 0, 'shr', 'shr', 'INTEGER');
INSERT INTO event_column VALUES(13, 1, 'nid', 'nid', 'INTEGER');
INSERT INTO event_column VALUES(13, 2, 'shrink', 'shrink', 'INTEGER');
INSERT INTO event_column VALUES(13, 3, 'unused_scan', 'unused_scan', 'INTEGER');
INSERT INTO event_column VALUES(13, 4, 'new_scan', 'new_scan', 'INTEGER');
INSERT INTO event_column VALUES(13, 5, 'retval', 'retval', 'INTEGER');
INSERT INTO event_column VALUES(13, 6, 'total_scan', 'total_scan', 'INTEGER');
CREATE TABLE "mm_shrink_slab_end"(capture_id INTEGER NOT NULL, ts_ns INTEGER NOT NULL, cpu INTEGER,
	pid INTEGER, "shr" INTEGER, "nid" INTEGER, "shrink" INTEGER, "unused_scan" INTEGER, "new_scan" INTEGER, "retval" INTEGER, "total_scan" INTEGER);
INSERT INTO event_table VALUES(14, 'mm_vmscan_lru_isolate', 'vmscan', 'mm_vmscan_lru_isolate', 0);
INSERT INTO event_column VALUES(14, 0, 'classzone_idx', 'classzone_idx', 'INTEGER');
INSERT INTO event_column VALUES(14, 1, 'highest_zoneidx', 'highest_zoneidx', 'INTEGER');
INSERT INTO event_column VALUES(14, 2, 'order', 'order', 'INTEGER');
INSERT INTO event_column VALUES(14, 3, 'nr_requested', 'nr_requested', 'INTEGER');
INSERT INTO event_column VALUES(14, 4, 'nr_scanned', 'nr_scanned', 'INTEGER');
INSERT INTO event_column VALUES(14, 5, 'nr_skipped', 'nr_skipped', 'INTEGER');
INSERT INTO event_column VALUES(14, 6, 'nr_taken', 'nr_taken', 'INTEGER');
INSERT INTO event_column VALUES(14, 7, 'nr_lumpy_taken', 'nr_lumpy_taken', 'INTEGER');
INSERT INTO event_column VALUES(14, 8, 'nr_lumpy_dirty', 'nr_lumpy_dirty', 'INTEGER');
INSERT INTO event_column VALUES(14, 9, 'nr_lumpy_failed', 'nr_lumpy_failed', 'INTEGER');
INSERT INTO event_column VALUES(14, 10, 'isolate_mode', 'isolate_mode', 'INTEGER');
INSERT INTO event_column VALUES(14, 11, 'file', 'file', 'INTEGER');
INSERT INTO event_column VALUES(14, 12, 'lru', 'lru', 'INTEGER');
CREATE TABLE "mm_vmscan_lru_isolate"(capture_id INTEGER NOT NULL, ts_ns INTEGER NOT NULL, cpu INTEGER,
	pid INTEGER, "classzone_idx" INTEGER, "highest_zoneidx" INTEGER, "order" INTEGER, "nr_requested" INTEGER, "nr_scanned" INTEGER, "nr_skipped" INTEGER, "nr_taken" INTEGER, "nr_lumpy_taken" INTEGER, "nr_lumpy_dirty" INTEGER, "nr_lumpy_failed" INTEGER, "isolate_mode" INTEGER, "file" INTEGER, "lru" INTEGER);
INSERT INTO event_table VALUES(15, 'mm_vmscan_lru_shrink_inactive', 'vmscan', 'mm_vmscan_lru_shrink_inactive', 0);
INSERT INTO event_column VALUES(15, 0, 'nid', 'nid', 'INTEGER');
INSERT INTO event_column VALUES(15, 1, 'zid', 'zid', 'INTEGER');
INSERT INTO event_column VALUES(15, 2, 'nr_scanned', 'nr_scanned', 'INTEGER');
INSERT INTO event_column VALUES(15, 3, 'nr_reclaimed', 'nr_reclaimed', 'INTEGER');
INSERT INTO event_column VALUES(15, 4, 'nr_dirty', 'nr_dirty', 'INTEGER');
INSERT INTO event_column VALUES(15, 5, 'nr_writeback', 'nr_writeback', 'INTEGER');
INSERT INTO event_column VALUES(15, 6, 'nr_congested', 'nr_congested', 'INTEGER');
INSERT INTO event_column VALUES(15, 7, 'nr_immediate', 'nr_immediate', 'INTEGER');
INSERT INTO event_column VALUES(15, 8, 'nr_activate', 'nr_activate', 'INTEGER');
INSERT INTO event_column VALUES(15, 9, 'nr_activate0', 'nr_activate0', 'INTEGER');
INSERT INTO event_column VALUES(15, 10, 'nr_activate1', 'nr_activate1', 'INTEGER');
INSERT INTO event_column VALUES(15, 11, 'nr_ref_keep', 'nr_ref_keep', 'INTEGER');
INSERT INTO event_column VALUES(15, 12, 'nr_unmap_fail', 'nr_unmap_fail', 'INTEGER');
INSERT INTO event_column VALUES(15, 13, 'priority', 'priority', 'INTEGER');
INSERT INTO event_column VALUES(15, 14, 'reclaim_flags', 'reclaim_flags', 'INTEGER');
CREATE TABLE "mm_vmscan_lru_shrink_inactive"(capture_id INTEGER NOT NULL, ts_ns INTEGER NOT NULL, cpu INTEGER,
	pid INTEGER, "nid" INTEGER, "zid" INTEGER, "nr_scanned" INTEGER, "nr_reclaimed" INTEGER, "nr_dirty" INTEGER, "nr_writeback" INTEGER, "nr_congested" INTEGER, "nr_immediate" INTEGER, "nr_activate" INTEGER, "nr_activate0" INTEGER, "nr_activate1" INTEGER, "nr_ref_keep" INTEGER, "nr_unmap_fail" INTEGER, "priority" INTEGER, "reclaim_flags" INTEGER);
INSERT INTO event_table VALUES(16, 'mm_vmscan_lru_shrink_active', 'vmscan', 'mm_vmscan_lru_shrink_active', 0);
INSERT INTO event_column VALUES(16, 0, 'nid', 'nid', 'INTEGER');
INSERT INTO event_column VALUES(16, 1, 'nr_taken', 'nr_taken', 'INTEGER');
INSERT INTO event_column VALUES(16, 2, 'nr_active', 'nr_active', 'INTEGER');
INSERT INTO event_column VALUES(16, 3, 'nr_deactivated', 'nr_deactivated', 'INTEGER');
INSERT INTO event_column VALUES(16, 4, 'nr_referenced', 'nr_referenced', 'INTEGER');
INSERT INTO event_column VALUES(16, 5, 'priority', 'priority', 'INTEGER');
INSERT INTO event_column VALUES(16, 6, 'reclaim_flags', 'reclaim_flags', 'INTEGER');
CREATE TABLE "mm_vmscan_lru_shrink_active"(capture_id INTEGER NOT NULL, ts_ns INTEGER NOT NULL, cpu INTEGER,
	pid INTEGER, "nid" INTEGER, "nr_taken" INTEGER, "nr_active" INTEGER, "nr_deactivated" INTEGER, "nr_referenced" INTEGER, "priority" INTEGER, "reclaim_flags" INTEGER);
INSERT INTO event_table VALUES(17, 'mm_vmscan_inactive_list_is_low', 'vmscan', 'mm_vmscan_inactive_list_is_low', 0);
INSERT INTO event_column VALUES(17, 0, 'nid', 'nid', 'INTEGER');
INSERT INTO event_column VALUES(17, 1, 'reclaim_idx', 'reclaim_idx', 'INTEGER');
INSERT INTO event_column VALUES(17, 2, 'total_inactive', 'total_inactive', 'INTEGER');
INSERT INTO event_column VALUES(17, 3, 'inactive', 'inactive', 'INTEGER');
INSERT INTO event_column VALUES(17, 4, 'total_active', 'total_active', 'INTEGER');
INSERT INTO event_column VALUES(17, 5, 'active', 'active', 'INTEGER');
INSERT INTO event_column VALUES(17, 6, 'ratio', 'ratio', 'INTEGER');
INSERT INTO event_column VALUES(17, 7, 'reclaim_flags', 'reclaim_flags', 'INTEGER');
CREATE TABLE "mm_vmscan_inactive_list_is_low"(capture_id INTEGER NOT NULL, ts_ns INTEGER NOT NULL, cpu INTEGER,
	pid INTEGER, "nid" INTEGER, "reclaim_idx" INTEGER, "total_inactive" INTEGER, "inactive" INTEGER, "total_active" INTEGER, "active" INTEGER, "ratio" INTEGER, "reclaim_flags" INTEGER);
INSERT INTO event_table VALUES(18, 'mm_vmscan_throttled', 'vmscan', 'mm_vmscan_throttled', 0);
INSERT INTO event_column VALUES(18, 0, 'nid', 'nid', 'INTEGER');
INSERT INTO event_column VALUES(18, 1, 'usec_timeout', 'usec_timeout', 'INTEGER');
INSERT INTO event_column VALUES(18, 2, 'usec_delayed', 'usec_delayed', 'INTEGER');
INSERT INTO event_column VALUES(18, 3, 'reason', 'reason', 'INTEGER');
CREATE TABLE "mm_vmscan_throttled"(capture_id INTEGER NOT NULL, ts_ns INTEGER NOT NULL, cpu INTEGER,
	pid INTEGER, "nid" INTEGER, "usec_timeout" INTEGER, "usec_delayed" INTEGER, "reason" INTEGER);
INSERT INTO event_table VALUES(19, 'mm_vmscan_reclaim_pages', 'vmscan', 'mm_vmscan_reclaim_pages', 0);
INSERT INTO event_column VALUES(19, 0, 'nid', 'nid', 'INTEGER');
INSERT INTO event_column VALUES(19, 1, 'nr_scanned', 'nr_scanned', 'INTEGER');
INSERT INTO event_column VALUES(19, 2, 'nr_reclaimed', 'nr_reclaimed', 'INTEGER');
INSERT INTO event_column VALUES(19, 3, 'nr_dirty', 'nr_dirty', 'INTEGER');
INSERT INTO event_column VALUES(19, 4, 'nr_writeback', 'nr_writeback', 'INTEGER');
INSERT INTO event_column VALUES(19, 5, 'nr_congested', 'nr_congested', 'INTEGER');
INSERT INTO event_column VALUES(19, 6, 'nr_immediate', 'nr_immediate', 'INTEGER');
INSERT INTO event_column VALUES(19, 7, 'nr_activate0', 'nr_activate0', 'INTEGER');
INSERT INTO event_column VALUES(19, 8, 'nr_activate1', 'nr_activate1', 'INTEGER');
INSERT INTO event_column VALUES(19, 9, 'nr_ref_keep', 'nr_ref_keep', 'INTEGER');
INSERT INTO event_column VALUES(19, 10, 'nr_unmap_fail', 'nr_unmap_fail', 'INTEGER');
CREATE TABLE "mm_vmscan_reclaim_pages"(capture_id INTEGER NOT NULL, ts_ns INTEGER NOT NULL, cpu INTEGER,
	pid INTEGER, "nid" INTEGER, "nr_scanned" INTEGER, "nr_reclaimed" INTEGER, "nr_dirty" INTEGER, "nr_writeback" INTEGER, "nr_congested" INTEGER, "nr_immediate" INTEGER, "nr_activate0" INTEGER, "nr_activate1" INTEGER, "nr_ref_keep" INTEGER, "nr_unmap_fail" INTEGER);
INSERT INTO event_table VALUES(20, 'memcg_flush_stats', 'memcg', 'memcg_flush_stats', 0);
INSERT INTO event_column VALUES(20, 0, 'id', 'id', 'INTEGER');
INSERT INTO event_column VALUES(20, 1, 'stats_updates', 'stats_updates', 'INTEGER');
INSERT INTO event_column VALUES(20, 2, 'force', 'force', 'INTEGER');
INSERT INTO event_column VALUES(20, 3, 'needs_flush', 'needs_flush', 'INTEGER');
CREATE TABLE "memcg_flush_stats"(capture_id INTEGER NOT NULL, ts_ns INTEGER NOT NULL, cpu INTEGER,
	pid INTEGER, "id" INTEGER, "stats_updates" INTEGER, "force" INTEGER, "needs_flush" INTEGER);
INSERT INTO event_table VALUES(21, 'cgroup_rstat_lock_contended', 'cgroup', 'cgroup_rstat_lock_contended', 0);
INSERT INTO event_column VALUES(21, 0, 'root', 'root', 'INTEGER');
INSERT INTO event_column VALUES(21, 1, 'level', 'level', 'INTEGER');
INSERT INTO event_column VALUES(21, 2, 'id', 'id', 'INTEGER');
INSERT INTO event_column VALUES(21, 3, 'cpu_field', 'cpu', 'INTEGER');
INSERT INTO event_column VALUES(21, 4, 'contended', 'contended', 'INTEGER');
CREATE TABLE "cgroup_rstat_lock_contended"(capture_id INTEGER NOT NULL, ts_ns INTEGER NOT NULL, cpu INTEGER,
	pid INTEGER, "root" INTEGER, "level" INTEGER, "id" INTEGER, "cpu_field" INTEGER, "contended" INTEGER);
INSERT INTO event_table VALUES(22, 'cgroup_rstat_locked', 'cgroup', 'cgroup_rstat_locked', 0);
INSERT INTO event_column VALUES(22, 0, 'root', 'root', 'INTEGER');
INSERT INTO event_column VALUES(22, 1, 'level', 'level', 'INTEGER');
INSERT INTO event_column VALUES(22, 2, 'id', 'id', 'INTEGER');
INSERT INTO event_column VALUES(22, 3, 'cpu_field', 'cpu', 'INTEGER');
INSERT INTO event_column VALUES(22, 4, 'contended', 'contended', 'INTEGER');
CREATE TABLE "cgroup_rstat_locked"(capture_id INTEGER NOT NULL, ts_ns INTEGER NOT NULL, cpu INTEGER,
	pid INTEGER, "root" INTEGER, "level" INTEGER, "id" INTEGER, "cpu_field" INTEGER, "contended" INTEGER);
INSERT INTO event_table VALUES(23, 'cgroup_rstat_unlock', 'cgroup', 'cgroup_rstat_unlock', 0);
INSERT INTO event_column VALUES(23, 0, 'root', 'root', 'INTEGER');
INSERT INTO event_column VALUES(23, 1, 'level', 'level', 'INTEGER');
INSERT INTO event_column VALUES(23, 2, 'id', 'id', 'INTEGER');
INSERT INTO event_column VALUES(23, 3, 'cpu_field', 'cpu', 'INTEGER');
INSERT INTO event_column VALUES(23, 4, 'contended', 'contended', 'INTEGER');
CREATE TABLE "cgroup_rstat_unlock"(capture_id INTEGER NOT NULL, ts_ns INTEGER NOT NULL, cpu INTEGER,
	pid INTEGER, "root" INTEGER, "level" INTEGER, "id" INTEGER, "cpu_field" INTEGER, "contended" INTEGER);
INSERT INTO event_table VALUES(24, 'balance_dirty_pages', 'writeback', 'balance_dirty_pages', 0);
INSERT INTO event_column VALUES(24, 0, 'bdi', 'bdi', 'INTEGER');
INSERT INTO event_column VALUES(24, 1, 'limit', 'limit', 'INTEGER');
INSERT INTO event_column VALUES(24, 2, 'setpoint', 'setpoint', 'INTEGER');
INSERT INTO event_column VALUES(24, 3, 'dirty', 'dirty', 'INTEGER');
INSERT INTO event_column VALUES(24, 4, 'bdi_setpoint', 'bdi_setpoint', 'INTEGER');
INSERT INTO event_column VALUES(24, 5, 'bdi_dirty', 'bdi_dirty', 'INTEGER');
INSERT INTO event_column VALUES(24, 6, 'wb_setpoint', 'wb_setpoint', 'INTEGER');
INSERT INTO event_column VALUES(24, 7, 'wb_dirty', 'wb_dirty', 'INTEGER');
INSERT INTO event_column VALUES(24, 8, 'dirty_ratelimit', 'dirty_ratelimit', 'INTEGER');
INSERT INTO event_column VALUES(24, 9, 'task_ratelimit', 'task_ratelimit', 'INTEGER');
INSERT INTO event_column VALUES(24, 10, 'dirtied', 'dirtied', 'INTEGER');
INSERT INTO event_column VALUES(24, 11, 'dirtied_pause', 'dirtied_pause', 'INTEGER');
INSERT INTO event_column VALUES(24, 12, 'paused', 'paused', 'INTEGER');
INSERT INTO event_column VALUES(24, 13, 'pause', 'pause', 'INTEGER');
INSERT INTO event_column VALUES(24, 14, 'period', 'period', 'INTEGER');
INSERT INTO event_column VALUES(24, 15, 'think', 'think', 'INTEGER');
INSERT INTO event_column VALUES(24, 16, 'cgroup', 'cgroup', 'INTEGER');
INSERT INTO event_column VALUES(24, 17, 'cgroup_ino', 'cgroup_ino', 'INTEGER');
CREATE TABLE "balance_dirty_pages"(capture_id INTEGER NOT NULL, ts_ns INTEGER NOT NULL, cpu INTEGER,
	pid INTEGER, "bdi" INTEGER, "limit" INTEGER, "setpoint" INTEGER, "dirty" INTEGER, "bdi_setpoint" INTEGER, "bdi_dirty" INTEGER, "wb_setpoint" INTEGER, "wb_dirty" INTEGER, "dirty_ratelimit" INTEGER, "task_ratelimit" INTEGER, "dirtied" INTEGER, "dirtied_pause" INTEGER, "paused" INTEGER, "pause" INTEGER, "period" INTEGER, "think" INTEGER, "cgroup" INTEGER, "cgroup_ino" INTEGER);
-- views.sql - names that users think in, whatever kernel the events came from.

DROP VIEW IF EXISTS replay_result;
CREATE VIEW replay_result AS
SELECT id AS result_id, capture_id, stream_id, model, params, memory_pages,
	memory_pages * 4096 AS memory_bytes, profile, seed, status, accesses, hits, misses,
	1.0 * hits / nullif(accesses, 0) AS hit_ratio, 1.0 * misses / nullif(accesses, 0) AS miss_ratio,
	fills, fills_compulsory, fills_whole_write, fills_undemanded, evictions, scanned, reclaimed,
	activated, deactivated, rotated, refaults, written, swapped_out, swapped_in, resident_pages,
	metadata_bytes, cpu_ns, io_ns
FROM result;

INSERT INTO capture(id, uuid, source, kernel_release, nr_cpus, has_hits, status)
VALUES(1, '0123456789abcdef0123456789abcdef', 'live', '6.18.0', 2, 1, 'complete');
INSERT INTO file(id, capture_id, dev_major, dev_minor, ino, path) VALUES(1, 1, 7, 0, 42, '/data');
INSERT INTO gap(capture_id, stream, cpu, from_ns, to_ns, events_lost) VALUES(1, 'reclaim', 0, 5, 6, 3);
INSERT INTO mm_vmscan_direct_reclaim_begin(capture_id, ts_ns, cpu, pid, "order") VALUES(1, 10, 0, 9, 0);
INSERT INTO mm_vmscan_direct_reclaim_end(capture_id, ts_ns, cpu, pid, nr_reclaimed)
VALUES(1, 20, 0, 9, 32);
INSERT INTO demand_stream VALUES(1, 1, '', 1, 10, 5, 5, 0, 9, 1, 0, 1, 100, 'complete');
INSERT INTO demand_extent(stream_id, first_id, pages, file_id, first_index) VALUES(1, 0, 5, 1, 0);
INSERT INTO result(id, capture_id, stream_id, model, params, memory_pages, profile, seed, status,
	accesses, hits) VALUES(77, 1, 1, 'lru', '', 64, 'builtin', 0, 'complete', 10, 4);
COMMIT;
