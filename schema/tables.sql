-- tables.sql - every ordinary table but the event tables (one per tracepoint, made by
-- store_event.c). docs/schema.md explains each column. NULL means unknown. Times ending in _ns are
-- the capture's clock. A change here is a new version: see store_migrate.c.

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
-- views.sql asks for the first gap that ends after a time
CREATE INDEX gap_by_end ON gap(capture_id, stream, cpu, to_ns, from_ns);

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
	pid INTEGER,
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

-- How the prices of a profile came out of measured durations; none for one that is built in.
CREATE TABLE cost_fit(
	profile TEXT PRIMARY KEY,
	method TEXT NOT NULL,
	nr_samples INTEGER NOT NULL,
	nr_left_out INTEGER NOT NULL,
	r2 REAL,
	measured_ns REAL NOT NULL,
	fitted_ns REAL NOT NULL
) WITHOUT ROWID;

-- Grids asked for: what the results belong to. No wall clock times, so that shards merge to the
-- same.
CREATE TABLE replay_run(
	stream_id INTEGER NOT NULL REFERENCES demand_stream(id),
	spec TEXT NOT NULL,
	nr_results INTEGER,
	PRIMARY KEY(stream_id, spec)
) WITHOUT ROWID;

-- One row per (stream, model, params, memory, profile, seed). id is a hash of that key
-- (store_result.c), so that it does not depend on the order in which threads, shards or re-runs
-- finish.
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
