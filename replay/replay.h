/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * replay.h - the replay engine: plain arrays in, counters out. Knows no SQL, no files and no clock;
 * the same input and seed give the same bytes out for any number of
 * threads.
 */
#ifndef PAGEREEL_REPLAY_H
#define PAGEREEL_REPLAY_H

#include "base/base.h"
#include "replay/model.h"

/* All models known by name: textbook models. NULL-terminated; replay/registry.c has a line each. */
extern const struct model_ops *const textbook_models[];

/*
 * Where the demand stream comes from. open() gives an independent cursor (called from worker
 * threads); next() returns 1 with *block filled, 0 at the end, -errno. Blocks stay valid until the
 * next call on the same cursor.
 */
struct demand_source {
	void *ctx;
	int (*open)(void *ctx, unsigned int columns, void **cursor, struct err *err);
	int (*next)(void *cursor, struct demand_block *block, struct err *err);
	/*
	 * Adds the times to the block that next() gave last, for those who opened it without
	 * DEMAND_COL_TIME and want the times of few blocks. NULL: there is no such way.
	 */
	int (*times)(void *cursor, struct demand_block *block, struct err *err);
	void (*close)(void *cursor);
	uint64_t nr_accesses;
	uint64_t nr_distinct_pages;
	uint32_t nr_ids;
	uint32_t ops_mask;
	uint64_t first_ts_ns, last_ts_ns;
	bool checked;	/* next() itself refuses pages that are not below nr_ids */
};

/* ---- kernel models: a fixed pipeline with a policy in it ------------------------------------- */

/* How a file was read in the record: tells a model's readahead what to do (replay_hints()). */
enum file_reading {
	READING_UNKNOWN,
	READING_AHEAD,		/* fills that nobody had asked for yet were seen in it */
	READING_EXACT,		/* none were: as after POSIX_FADV_RANDOM */
	READING_NEVER,		/* no read(2): metadata, mappings; its fills come as recorded */
	READING_MAPPED_RANDOM,	/* faults without readahead: as after MADV_RANDOM */
};

/* A run of neighbouring ids in one file (or address space): first_id .. first_id + pages - 1. */
struct replay_extent {
	uint32_t first_id;
	uint32_t pages;
	uint32_t file_id;	/* 0: anonymous */
	uint64_t first_index;	/* page index in the file, or address >> 12 */
	uint64_t file_pages;	/* size of the file, UINT64_MAX if unknown */
	enum file_reading reading;	/* the same for all extents of a file */
};

/* How to tell, by the gap before it, a request that waited for the disk (replay_waits_find()). */
struct replay_waits {
	uint64_t threshold_ns;		/* it waited if the gap is as long; 0: not known */
	uint64_t wait_ns;		/* how long such a wait is */
};

/* What a machine used at a time for anything but page cache: neither free nor on a file list. */
struct replay_usage {
	uint64_t ts_ns, pages;
};

/* What the capture's context says; a field that is unknown has its model's default. */
struct replay_context {
	char kernel_release[64];
	uint32_t nr_cpus;
	uint32_t nr_nodes;
	uint64_t total_pages;		/* memory of the machine */
	uint64_t limit_pages;		/* of the recorded memcg; UINT64_MAX: none */
	uint64_t other_charge_pages;	/* charged to it but no page cache (kmem, anon) */
	const struct replay_usage *other_used;	/* of the machine, by time; not owned */
	size_t nr_other_used;
	uint32_t read_ahead_pages;	/* of the device that was read most; 0: unknown */
	uint32_t max_io_pages;		/* its largest request; 0: unknown */
	uint32_t max_folio_pages;	/* the largest folio that was added; 0: unknown */
	const uint64_t *stats_flush_ns;	/* of memcg statistics, ascending; not owned */
	size_t nr_stats_flushes;
	struct replay_waits waits;
	uint32_t swappiness;		/* 0..200 */
	bool has_swap;
	bool memcg_v2;
};

/*
 * One pass over @source: fills in extents[].reading (by first_id, at most nr_extents). 0 or -errno.
 */
int replay_hints(const struct demand_source *source, struct replay_extent *extents,
		 size_t nr_extents, struct err *err);

/* One pass over @source: the waits of its requests, zeroes if they cannot be told. 0 or -errno. */
int replay_waits_find(const struct demand_source *source, struct replay_waits *waits,
		      struct err *err);

struct kernel_config {
	uint32_t capacity_pages;	/* the memcg's limit, or memory, to replay at */
	uint32_t nr_ids;
	uint64_t seed;
	const void *params;
	const struct replay_context *context;
	const struct replay_extent *extents;	/* by first_id */
	size_t nr_extents;
};

/*
 * What any replay counts. UINT64_MAX (MODEL_COUNTER_NONE): not applicable or not knowable: NULL in
 * SQL, n/a in text. Conservation: accesses = hits + misses; fills >= fills_compulsory;
 * fills - evictions - removed = resident at the end.
 */
struct replay_counters {
	uint64_t accesses;		/* pages asked for */
	uint64_t hits, misses;
	uint64_t fills;			/* pages brought in, readahead included */
	uint64_t fills_compulsory;	/* first touch of a page */
	uint64_t fills_whole_write;	/* whole-page writes: cost no read */
	uint64_t fills_undemanded;	/* metadata and readahead nobody asked for */
	uint64_t evictions;
	uint64_t scanned, reclaimed, activated, deactivated, rotated;
	uint64_t refaults;		/* fills of pages that a shadow or ghost remembers */
	uint64_t written, swapped_out, swapped_in;
	uint64_t resident_pages;
	uint64_t metadata_bytes;
};

/* An operation that costs CPU, counted by the model, priced by a cost profile. */
struct replay_cost {
	const char *component;	/* "lookup", "fill", "scan", "reclaim", "slab", ... */
	const char *operation;	/* key into the cost profile: "scan.page", "reclaim.page", ... */
	uint64_t count;
};

/* ---- cost profiles (replay/cost.c) ----------------------------------------------------------- */

struct cost_entry {
	const char *operation;
	double ns;
	double stderr_ns;	/* NaN: not known */
	const char *source;	/* how it was got, for people */
};

/* Built in, measured, or calibrated; the owner of an own one keeps entries and strings. */
struct cost_profile {
	const char *name;
	const struct cost_entry *entries;
	size_t nr_entries;
};

/* Linux 6.18 on the machine named in replay/cost.c. Static, never NULL. */
const struct cost_profile *cost_profile_builtin(void);

/* The entry, or NULL if the profile has no price for @operation. */
const struct cost_entry *cost_find(const struct cost_profile *profile, const char *operation);

/* ns per operation; NaN if unknown (store NULL, not 0). */
double cost_ns(const struct cost_profile *profile, const char *operation);

/* ---- kernel models, continued ---------------------------------------------------------------- */

struct kernel_model;

/*
 * A kernel model needs time, tasks and side effects, so it gets whole demand records, in order, a
 * block at a time, with all columns. CPU and I/O costs are not its business: it counts operations.
 */
struct kernel_ops {
	const char *name;	/* "linux-6.18" */
	const char *title;
	const char *source;	/* kernel version and functions */
	const struct param *params;
	size_t params_bytes;

	struct kernel_model *(*create)(const struct kernel_config *config, int *code,
				       struct err *err);
	/* hit, unless NULL: one byte per page of every access record, in order (for intervals). */
	int (*feed)(struct kernel_model *model, const struct demand_block *block, uint8_t *hit,
		    struct err *err);
	void (*counters)(const struct kernel_model *model, struct replay_counters *out);
	/* Writes at most @max entries, returns how many there are. */
	int (*costs)(const struct kernel_model *model, struct replay_cost *out, int max);
	void (*destroy)(struct kernel_model *model);
};

/* replay/kernel/registry.c, a line each; NULL-terminated. */
extern const struct kernel_ops *const kernel_models[];

/* ---- grids: many models, parameters and sizes over one stream -------------------------------- */

/* A replay to run: a textbook model or a kernel model (the other pointer NULL) at one size. */
struct grid_cell {
	const struct model_ops *model;
	const struct kernel_ops *kernel;
	const void *params;		/* the model's options struct; NULL if it has none */
	uint32_t capacity_pages;	/* at least 1 */
};

/* What happened between two moments; the moments are the same for all cells of a grid. */
struct grid_interval {
	uint64_t first_access;		/* counted from 0 */
	uint64_t from_ts_ns, to_ts_ns;	/* 0 if the stream has no times */
	uint64_t accesses, hits, misses, fills, evictions;
};

enum { GRID_MAX_COSTS = 48 };

struct grid_result {
	int code;			/* 0: done; -ECANCELED: not run to its end; other -errno */
	struct err err;
	struct replay_counters counters;
	struct replay_cost costs[GRID_MAX_COSTS];
	int nr_costs;
	struct grid_interval *intervals;
	uint32_t nr_intervals;
};

struct grid_opts {
	unsigned int nr_threads;	/* 0: one */
	uint64_t memory_bytes;		/* of everything together; 0: no limit */
	uint64_t seed;
	uint32_t nr_intervals;		/* 0: no interval series */
	bool by_size;			/* a run per size even if one pass could do all */
	/* For kernel models; may be NULL and 0 if there are none. */
	const struct replay_context *context;
	const struct replay_extent *extents;
	size_t nr_extents;
	/*
	 * All nullable. progress() gets accesses done and to do over all cells, now and then, from
	 * one thread at a time; false cancels. finished() gets each cell that ran to its end, one
	 * at a time, in any order.
	 */
	void *ctx;
	bool (*progress)(void *ctx, uint64_t done, uint64_t total);
	void (*finished)(void *ctx, size_t cell, const struct grid_result *result);
};

/*
 * Runs all cells. @results has nr_cells entries, filled here, released by the caller with
 * grid_results_release(). The same results for any number of threads and any memory limit. The
 * stream is decoded once if it fits the memory limit, else once for every few cells.
 *
 * 0: all cells ran (see the code of each); -ECANCELED: some did not; -ENOMEM: not even one cell
 * fits the limit; else what the source said.
 */
int grid_run(const struct demand_source *source, const struct grid_cell *cells, size_t nr_cells,
	     const struct grid_opts *opts, struct grid_result *results, struct err *err);
void grid_results_release(struct grid_result *results, size_t nr_cells);

/* A source over plain arrays (for tests, benchmarks and generated streams). Borrows @block. */
struct array_source {
	struct demand_block block;
	uint32_t nr_ids;
};

/* Counts what the source must know about itself; the arrays must outlive it. */
int array_source_init(const struct array_source *array, struct demand_source *source);

/* ---- curves: miss ratio by memory (replay/curve.c) ------------------------------------------- */

struct curve_point {
	uint32_t memory_pages;
	double miss_ratio;
	double stderr_ratio;	/* of sampling; 0: exact */
};

/* The true miss ratio lies within so many standard errors, at all sizes of a curve together. */
#define CURVE_BAND 3.0

struct curve_opts {
	double rate;		/* share of the pages to sample, 0 < rate < 1; 0: no sampling */
	uint32_t max_pages;	/* sample at most so many pages (lru only); 0: no limit */
	uint64_t seed;		/* salt of the sample */
	/* Nullable; asked now and then, from the thread that runs the curve; false: -ECANCELED. */
	void *ctx;
	bool (*go_on)(void *ctx);
};

/* "exact", "shards" (fixed rate), "shards-max" (fixed size) or "scaled" (any other model). */
const char *curve_method(const struct grid_cell *cell, const struct curve_opts *opts);

/* The most that curve_run() allocates, about. */
uint64_t curve_bytes_bound(const struct demand_source *source, const struct grid_cell *cell,
			   const struct curve_opts *opts);

/*
 * The curve of cell->model with cell->params at @sizes (ascending): fills points[0 .. nr - 1]. lru
 * takes one pass over the stream for all sizes, with or without sampling; other models one run over
 * the sample per size. -EINVAL: a kernel model, or another model than lru without a rate.
 */
int curve_run(const struct demand_source *source, const struct grid_cell *cell,
	      const uint32_t *sizes, size_t nr_sizes, const struct curve_opts *opts,
	      struct curve_point *points, struct err *err);

/* Where a curve bends: up to here memory saves misses, from here on little. */
struct curve_knee {
	uint32_t memory_pages;
	double miss_ratio;
	double drop_ratio;	/* of the miss ratio since the knee before, or the first point */
};

/* Writes at most @max knees, returns how many there are. */
size_t curve_knees(const struct curve_point *points, size_t nr, struct curve_knee *knees,
		   size_t max);

/* @nr sizes from @least to @most, evenly spaced by their logarithm, each once: how many remain. */
size_t curve_sizes(uint32_t least, uint32_t most, uint32_t *sizes, size_t nr);

/* ---- what to replay, as typed (replay/spec.c) ------------------------------------------------ */

/* A model by name with its parameters. One of @model and @kernel is NULL. */
struct replay_model {
	const char *name;
	const struct model_ops *model;
	const struct kernel_ops *kernel;
	void *params;		/* the options struct; NULL if the model has none */
	char params_text[256];	/* those that differ from their default, as params_format() does */
};

struct replay_models {
	struct replay_model *models;
	size_t nr;
	char **texts;		/* what was added; string parameters point into it */
	size_t nr_texts;
};

/*
 * Adds the models of "MODEL[:param=value,...],MODEL,..." to @list (zeroed at first); "all" means
 * every model with its defaults. A model given again with the same parameters is added once.
 * -EINVAL: unknown model or parameter, value out of range.
 */
int replay_models_add(struct replay_models *list, const char *text, struct err *err);
void replay_models_release(struct replay_models *list);

struct replay_sizes {
	uint32_t *pages;	/* ascending, each once, at least 1 */
	size_t nr;
};

/*
 * Adds the sizes of "SIZE,..." to @list: 64M, 20% (of @footprint_pages), 32M..256M/8 (eight of
 * them, evenly spaced, ends included), 10%..200%/20.
 */
int replay_sizes_add(struct replay_sizes *list, const char *text, uint64_t footprint_pages,
		     struct err *err);
void replay_sizes_release(struct replay_sizes *list);

/* "I/N", 1 <= I <= N. */
int replay_shard_parse(const char *text, uint64_t *shard, uint64_t *nr_shards, struct err *err);

#endif
