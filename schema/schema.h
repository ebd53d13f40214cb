/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * schema.h - the database: the only place that knows SQLite. Three parts:
 *
 *   store    a database file: create, open, migrate, transactions, captures, event tables, context,
 *            results, queries;
 *   page     packed page events (page_chunk): packer, unpacker;
 *   demand   the demand stream derived from them: derivation, writer, reader.
 *
 * Nothing here prints. Functions return 0 or -errno with the text in @err unless said otherwise.
 * -EBADMSG: the file is no pagereel database or is damaged; -EACCES/-EROFS/-ENOENT as from open(2);
 * -ENOSPC: disk full; -EFBIG: the size limit was reached; -EBUSY: another writer.
 */
#ifndef PAGEREEL_SCHEMA_H
#define PAGEREEL_SCHEMA_H

#include "base/base.h"

/* ---- store ----------------------------------------------------------------------------------- */

struct store;	/* one connection; used by one thread at a time */

enum {
	STORE_FORCE = 1 << 0,		/* create: replace an existing file */
	STORE_READONLY = 1 << 1,	/* open */
	STORE_APPEND = 1 << 2,		/* create: add to an existing pagereel database */
};

/*
 * Creates a database (0600, O_NOFOLLOW, never over an existing file without STORE_FORCE: -EEXIST),
 * write-ahead log, page size 4 KiB, all tables and views. Under sudo the file is given to SUDO_UID.
 */
int store_create(struct store **store, const char *path, unsigned int flags, struct err *err);

/* Opens an existing one; migrates an older user_version when writable. */
int store_open(struct store **store, const char *path, unsigned int flags, struct err *err);

/* Commits what is open, checkpoints and closes. NULL is fine. The handle is gone in any case. */
int store_close(struct store *store, struct err *err);

int store_begin(struct store *store, struct err *err);
int store_commit(struct store *store, struct err *err);
int store_rollback(struct store *store, struct err *err);

/* Bytes of database plus write-ahead log on disk. */
uint64_t store_file_bytes(const struct store *store);

/*
 * Bytes that the database, its write-ahead log and its index take on disk at most until the log is
 * emptied, if nothing more is written: a checkpoint copies the log's pages while the log is still
 * there. Open transactions count with the pages that they have added.
 */
uint64_t store_peak_bytes(struct store *store);

/* Moves the write-ahead log into the database and empties it; leaves it while someone else reads.
 */
int store_checkpoint(struct store *store, struct err *err);
const char *store_path(const struct store *store);

/* ---- queries: SQL comes from schema/ and analyze/ .sql files or from the user whole ---------- */

enum value_type { VALUE_NULL, VALUE_INT, VALUE_REAL, VALUE_TEXT, VALUE_BLOB };

struct value {
	enum value_type type;
	int64_t i;
	double r;
	const char *text;	/* NUL-terminated; also the bytes of a blob */
	size_t text_bytes;
};

#define VALUE_OF_INT(v) ((struct value){ .type = VALUE_INT, .i = (v) })
#define VALUE_OF_REAL(v) ((struct value){ .type = VALUE_REAL, .r = (v) })
#define VALUE_OF_TEXT(v) ((struct value){ .type = (v) ? VALUE_TEXT : VALUE_NULL, .text = (v), \
	.text_bytes = (v) ? __builtin_strlen(v) : 0 })
#define VALUE_NONE ((struct value){ .type = VALUE_NULL })

/* A prepared statement. Named parameters (:name) or numbered; strings and blobs are copied. */
struct query;

int query_open(struct store *store, struct query **query, const char *sql, struct err *err);
/* The same; *tail is what follows the first statement (for scripts). *query NULL: nothing in it. */
int query_open_tail(struct store *store, struct query **query, const char *sql, const char **tail,
		    struct err *err);
/* All rows of a table or view, by name: page_event and packed events too. -ENOENT: there is none.
 */
int query_open_table(struct store *store, struct query **query, const char *table,
		     struct err *err);
int query_bind(struct query *query, int index, struct value value);	/* from 1 */
int query_bind_name(struct query *query, const char *name, struct value value);	/* no such: 0 */
/* 1: a row is there; 0: done; -errno. */
int query_step(struct query *query, struct err *err);
int query_reset(struct query *query);
int query_columns(const struct query *query);
const char *query_column_name(const struct query *query, int column);
/* Valid until the next step. */
struct value query_value(const struct query *query, int column);
int64_t query_int(const struct query *query, int column);	/* NULL reads as 0 */
double query_real(const struct query *query, int column);
const char *query_text(const struct query *query, int column);	/* NULL reads as NULL */
bool query_is_null(const struct query *query, int column);
bool query_is_readonly(const struct query *query);
void query_close(struct query *query);	/* NULL is fine */

/* Runs every statement of a script (no rows wanted). */
int store_exec(struct store *store, const char *sql, struct err *err);
/* One statement with @nr bound values, no rows wanted; *rowid (nullable) = last insert id. */
int store_run(struct store *store, const char *sql, const struct value *values, int nr,
	      int64_t *rowid, struct err *err);
/* First column of the first row, 0 and *found = false if there is none. */
int store_get_int(struct store *store, const char *sql, const struct value *values, int nr,
		  int64_t *out, bool *found, struct err *err);
/* Other threads: make running statements of @store return -EINTR. */
void store_interrupt(struct store *store);

/* ---- captures -------------------------------------------------------------------------------- */

struct capture_info {
	const char *source;	/* "live", "trace.dat", "ftrace-text", "perf-text", "oracleGeneral",
				 * "ids", "synth" */
	const char *input;	/* file name, SPEC or command line; may be NULL */
	const char *kernel_release;	/* NULL: unknown */
	const char *hostname;	/* NULL: unknown */
	const char *clock;	/* "mono", "local", ...; NULL: unknown */
	int64_t started_unix_ns;	/* 0: unknown */
	int64_t base_ts_ns;	/* capture clock at start; 0 if unknown */
	int nr_cpus;		/* 0: unknown */
	bool has_hits;		/* the page stream contains hits (get_pages or a probe) */
};

/* Status while running is 'running': what a kill -9 leaves behind, and `info` calls abnormal. */
int store_capture_begin(struct store *store, const struct capture_info *info, int64_t *capture_id,
			struct err *err);
/* What a capture is that ended with 0 or -errno: "complete", "interrupted" (-EINTR), "size-limit"
 * (-EFBIG), "disk-full" (-ENOSPC), "failed". */
const char *store_capture_status(int code);
/* @status: "complete", "interrupted", "size-limit", "disk-full", "failed". */
int store_capture_end(struct store *store, int64_t capture_id, const char *status,
		      int64_t end_ts_ns, struct err *err);

/* For importers, which know only at the end whether the page stream contains hits. */
int store_capture_set_hits(struct store *store, int64_t capture_id, bool has_hits, struct err *err);

/* Likewise: when it began, unless that is known already. */
int store_capture_set_base(struct store *store, int64_t capture_id, int64_t base_ts_ns,
			   struct err *err);

/* Context: one fact. Equal values in a row for the same (subject, key) are stored once per phase
 * "sample"; "start" and "end" are always stored. subject: "sysctl", "zoneinfo:0:Normal", "vmstat",
 * "psi:memory", "bdi:7:0", "memcg:/path", "schedstat:kswapd0", "host", ... */
int store_context(struct store *store, int64_t capture_id, int64_t ts_ns, const char *phase,
		  const char *subject, const char *key, struct value value, struct err *err);

int store_gap(struct store *store, int64_t capture_id, const char *stream, int cpu,
	      int64_t from_ns, int64_t to_ns, struct value events_lost, struct err *err);

/* file.id is unique in the database; @size_bytes < 0 and @path NULL: unknown. Updates if there. */
int store_file(struct store *store, int64_t capture_id, uint32_t file_id, uint32_t dev_major,
	       uint32_t dev_minor, uint64_t ino, int64_t size_bytes, const char *path,
	       struct err *err);
/* 1 + the largest id in use. */
int store_next_file_id(struct store *store, uint32_t *file_id, struct err *err);

int store_task(struct store *store, int64_t capture_id, uint32_t pid, uint32_t tgid,
	       const char *comm, const char *cgroup, int64_t first_ts_ns, struct err *err);

/* ---- event tables: one per tracepoint, or generic packed chunks for fast ones ---------------- */

struct event_field {
	const char *name;
	enum value_type type;	/* INT, REAL, TEXT or BLOB */
};

struct event_table;

/*
 * The table for events of @system:@name with @fields (columns capture_id, ts_ns, cpu, pid come
 * first); made, or widened by missing columns. @format: the text of the format file, may be NULL. A
 * name that another system or a schema object has already becomes system_name. When more than
 * 5000 rows a second arrive (measured over event time and at least 5000 rows) or @packed is set,
 * its rows go to packed chunks instead and it appears as a virtual table of the same name.
 * Owned by the store, valid until store_close().
 */
int store_event_table(struct store *store, int64_t capture_id, const char *system, const char *name,
		      const struct event_field *fields, int nr_fields, const char *format,
		      bool packed, struct event_table **table, struct err *err);

/* One event; @values has nr_fields entries. Buffered until the next commit at the latest. */
int event_table_add(struct event_table *table, uint64_t ts_ns, int cpu, uint32_t pid,
		    const struct value *values, struct err *err);

/* A note that an event was wanted and is not there (missing in the kernel, unreadable format). */
int store_event_missing(struct store *store, int64_t capture_id, const char *system,
			const char *name, const char *reason, struct err *err);

/* Counts per event as recorded: (system, name) -> number of events (UINT64_MAX: not known), kept in
 * table event_type. */
int store_event_count(struct store *store, int64_t capture_id, const char *system,
		      const char *name, uint64_t nr_events, const char *stored_as, struct err *err);

/* ---- results of replays ---------------------------------------------------------------------- */

/* What a result is of: no two rows have the same. */
struct result_key {
	int64_t stream_id;
	const char *model;
	const char *params;	/* as params_format() writes it, "" for the defaults */
	uint64_t memory_pages;
	const char *profile;	/* cost profile by name */
	uint64_t seed;
};

/* A counter by the name of its column ("hits", "fills_compulsory", "cpu_ns", ...). */
struct result_counter {
	const char *name;
	struct value value;
};

/* UINT64_MAX (not applicable, not knowable) is NULL. */
#define VALUE_OF_COUNTER(v) ((v) == UINT64_MAX ? VALUE_NONE : VALUE_OF_INT((int64_t)(v)))

struct result_interval {
	uint32_t idx;		/* from 0 */
	struct value first_ts_ns, last_ts_ns, accesses, hits, fills, evictions;
};

/*
 * The id of @key's result: a hash of it and of the capture, so it is the same in every shard,
 * thread and re-run. *found: a result with status 'complete' is there already.
 */
int store_result_find(struct store *store, const struct result_key *key, int64_t *result_id,
		      bool *found, struct err *err);
/*
 * Stores a result (replacing an earlier one of the same key, with its costs and intervals).
 * @status: "complete" or "interrupted". A counter that is not given is NULL; an unknown name is
 * -EINVAL.
 */
int store_result(struct store *store, const struct result_key *key, const char *status,
		 const struct result_counter *counters, int nr_counters, int64_t *result_id,
		 struct err *err);
int store_result_cost(struct store *store, int64_t result_id, const char *component,
		      const char *operation, uint64_t count, struct value ns, struct err *err);
int store_result_interval(struct store *store, int64_t result_id,
			  const struct result_interval *interval, struct err *err);
/* A grid that was asked for, as canonical text without -j and --shard. Again is harmless. */
int store_replay_run(struct store *store, int64_t stream_id, const char *spec, uint64_t nr_results,
		     struct err *err);
/* One entry of a cost profile; replaces. @stderr_ns: VALUE_NONE if unknown. */
int store_cost_entry(struct store *store, const char *profile, const char *operation, double ns,
		     struct value stderr_ns, const char *source, struct err *err);
/* How the prices of @profile came about: see cost_fit in docs/schema.md. Replaces. */
int store_cost_fit(struct store *store, const char *profile, const char *method,
		   uint64_t nr_samples, uint64_t nr_left_out, struct value r2, double measured_ns,
		   double fitted_ns, struct err *err);
/* A point of a miss ratio curve. @method: "exact", "sampled", ...; @miss_stderr may be NULL. */
int store_curve_point(struct store *store, const struct result_key *key, const char *method,
		      double miss_ratio, struct value miss_stderr, struct err *err);
int store_knee(struct store *store, const struct result_key *key, const char *method,
	       double miss_ratio, double drop_ratio, struct err *err);
/* What was recorded of @counter, and what the replay of the recorded kernel's own model gave. */
int store_validation(struct store *store, const struct result_key *key, const char *counter,
		     struct value recorded, struct value replayed, struct err *err);

/* ---- many databases into one ----------------------------------------------------------------- */

/*
 * Copies all captures of the database at @path, with everything that belongs to them, into @into
 * under new ids, in one transaction. A capture that @into has already (same uuid) only gets the
 * results it lacks: so shards of a replay merge to the tables of the unsharded one. -EBADMSG as
 * store_open().
 */
int store_merge(struct store *into, const char *path, struct err *err);

/* True if both paths lead to one existing file: what is read must not be replaced by what is made.
 */
bool store_same_file(const char *a, const char *b);

/* ---- page events, packed --------------------------------------------------------------------- */

enum { PAGE_CHUNK_EVENTS = 16384 };

/* An encoded chunk: the events of one CPU between two times. */
struct page_chunk {
	int64_t capture_id;
	int32_t cpu;
	uint32_t nr_events;
	uint64_t first_ts_ns, last_ts_ns;
	uint32_t ops_mask;	/* 1 << op for each op inside */
	uint32_t min_file_id, max_file_id;
	uint32_t sample_mask;	/* index mask the kernel thinned by; 0: everything */
	uint8_t *data;		/* malloc; page_chunk_release() */
	size_t data_bytes;
};

/* Collects the events of one CPU. Not thread-safe. 768 KiB; packing takes 2 MiB for a moment. */
struct page_packer;

struct page_packer *page_packer_new(int64_t capture_id, int cpu, uint32_t sample_mask);
void page_packer_free(struct page_packer *packer);

/* Appends (a few ns; no allocation). True: full, take a chunk before the next add. */
bool page_packer_add(struct page_packer *packer, const struct page_event *event);
uint32_t page_packer_events(const struct page_packer *packer);
uint64_t page_packer_first_ts(const struct page_packer *packer);

/* Encodes what is there into @chunk (0 events: data NULL) and empties the packer. 0 or -ENOMEM. */
int page_packer_take(struct page_packer *packer, struct page_chunk *chunk);
void page_chunk_release(struct page_chunk *chunk);
int store_page_chunk(struct store *store, const struct page_chunk *chunk, struct err *err);

/*
 * Decodes @data into @events (room for nr_events <= PAGE_CHUNK_EVENTS). Every length is checked
 * before it is decoded: damaged input gives -EBADMSG and never reads or writes out of bounds.
 */
int page_chunk_decode(const uint8_t *data, size_t data_bytes, struct page_event *events,
		      uint32_t nr_events, struct err *err);

/* Page events of one capture merged over CPUs by (ts, cpu, sequence). */
struct page_reader;

int page_reader_open(struct store *store, int64_t capture_id, uint32_t ops_mask,
		     struct page_reader **reader, struct err *err);
/* 1 and *event, *cpu filled; 0 at the end; -errno. */
int page_reader_next(struct page_reader *reader, const struct page_event **event, int *cpu,
		     struct err *err);
void page_reader_close(struct page_reader *reader);

/* (dev, ino) -> file id, in memory; ids count up from first_id. Not thread-safe. */
struct file_map;

struct file_map *file_map_new(uint32_t first_id);
void file_map_free(struct file_map *map);
/* @dev as in the kernel's events: major << 20 | minor. *fresh (nullable): seen for the first time.
 * 0 (unknown) when memory ran out. */
uint32_t file_map_id(struct file_map *map, uint32_t dev, uint64_t ino, bool *fresh);
/* The same, but 0 if it was never asked for by file_map_id(). */
uint32_t file_map_find(struct file_map *map, uint32_t dev, uint64_t ino);

/* ---- demand stream --------------------------------------------------------------------------- */

struct demand_info {
	int64_t stream_id;
	int64_t capture_id;
	uint64_t nr_records;
	uint64_t nr_accesses;	/* pages asked for: sum of run over access ops */
	uint64_t nr_distinct_pages;	/* ids that an access op touches: the footprint */
	uint32_t nr_ids;	/* ids are below this; includes readahead neighbours */
	uint64_t first_ts_ns, last_ts_ns;
	uint32_t ops_mask;	/* demand ops inside */
	uint32_t sample_mask;	/* 0: not thinned */
	bool has_hits;		/* false: 'fills-only' */
	double coverage_pct;	/* 100 * (1 - lost / (lost + seen)); 100: nothing was lost */
	/*
	 * 'complete', or those that hold, joined by '+': 'fills-only' (no event shows a hit),
	 * 'lossy' (events were lost), 'thinned' (sample_mask), 'mapped' (much of the demand came
	 * through mappings, whose later touches no event shows).
	 */
	char completeness[64];
};

/*
 * Finds the stream of a capture, deriving and storing it if it is not there (needs a writable store
 * then). @capture_id 0: the only or first capture. -ENODATA: the capture has no page events.
 */
int demand_stream_get(struct store *store, int64_t capture_id, struct demand_info *info,
		      struct err *err);

struct demand_reader;

/* @columns: DEMAND_COL_*. */
int demand_reader_open(struct store *store, int64_t stream_id, unsigned int columns,
		       struct demand_reader **reader, struct err *err);
/* 1 and *block filled; 0 at the end; -errno. At most 65536 records a block. */
int demand_reader_next(struct demand_reader *reader, struct demand_block *block, struct err *err);
/*
 * Adds the times to *block, the one that the latest demand_reader_next() gave, whether or not
 * DEMAND_COL_TIME was asked for: for those who want the times of few blocks. 0 or -errno.
 */
int demand_reader_times(struct demand_reader *reader, struct demand_block *block, struct err *err);
int demand_reader_rewind(struct demand_reader *reader, struct err *err);
void demand_reader_close(struct demand_reader *reader);

/*
 * Neighbours in a file (or in the memory of a process): page index first_index + i has the id
 * first_id + i. Extents include pages that only readahead could touch.
 */
struct demand_extent {
	uint32_t first_id;
	uint32_t pages;
	uint32_t file_id;	/* 0: anonymous */
	uint32_t pid;		/* anonymous: whose memory; else 0 */
	uint64_t first_index;	/* page index in the file, or address >> 12 */
	uint64_t file_pages;	/* size of the file; UINT64_MAX: unknown */
};

/* All extents by first id; *extents is the caller's to free(). */
int demand_extents(struct store *store, int64_t stream_id, struct demand_extent **extents,
		   size_t *nr_extents, struct err *err);

/* Whose records have this number in the task column. [0] is the unknown task. */
struct demand_task {
	uint32_t pid;
	char comm[20];		/* "": unknown */
	char *cgroup;		/* NULL: unknown */
};

/* All tasks by number; *tasks is the caller's to demand_tasks_free(). */
int demand_tasks(struct store *store, int64_t stream_id, struct demand_task **tasks,
		 size_t *nr_tasks, struct err *err);
void demand_tasks_free(struct demand_task *tasks, size_t nr_tasks);

/* Page id -> where it is: file_id (0: anonymous), page index. -ENOENT if the id is not allotted. */
int demand_page_place(struct store *store, int64_t stream_id, uint32_t page, uint32_t *file_id,
		      uint64_t *page_index, struct err *err);

#endif
