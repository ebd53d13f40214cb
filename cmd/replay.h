/* SPDX-License-Identifier: GPL-2.0-or-later */
/* replay.h - what the files of `pagereel replay` share. */
#ifndef PAGEREEL_CMD_REPLAY_H
#define PAGEREEL_CMD_REPLAY_H

#include "cmd/out.h"
#include "replay/replay.h"
#include "schema/schema.h"

/* ---- whose demand (replay_tasks.c) ----------------------------------------------------------- */

/* The tasks of a stream that are replayed; zeroed: all. */
struct replay_tasks {
	uint8_t *in;		/* by task number */
	size_t nr;
	bool some_out;
};

/* The limited memcg that a capture is about, "" if there is none. */
int replay_memcg_path(struct store *store, int64_t capture_id, char *path, size_t path_bytes,
		      struct err *err);
/* The tasks of @source that are in the memcg @path ("": all). */
int replay_tasks_select(struct store *store, const struct demand_source *source,
			int64_t stream_id, const char *path, struct replay_tasks *tasks,
			struct err *err);
void replay_tasks_release(struct replay_tasks *tasks);

/* Room for a block without the records of tasks that are out; *kept NULL at first. */
struct kept_records;
int replay_tasks_filter(const struct replay_tasks *tasks, struct kept_records **kept,
			struct demand_block *block, struct err *err);
void kept_records_free(struct kept_records *kept);

/* ---- the database as the engine's source ----------------------------------------------------- */

/* A demand stream in a database as a source: each cursor reads through a connection of its own. */
struct db_source {
	const char *path;
	int64_t stream_id;
	struct replay_tasks tasks;
};

/*
 * Leaves out the tasks outside the limited memcg that the capture is about, if there is one, and
 * counts @source's accesses and pages accordingly. Release with db_source_release().
 */
int db_source_limit(struct db_source *db, struct store *store, const struct demand_info *info,
		    struct demand_source *source, struct err *err);
void db_source_release(struct db_source *db);

void db_source_init(struct db_source *db, const char *path, const struct demand_info *info,
		    struct demand_source *source);

/* ---- the device (replay_device.c) ------------------------------------------------------------ */

/* The one whose files were read most; -1: none is known. */
struct replay_device {
	int64_t major, minor;
	uint32_t max_folio_pages;	/* the largest folio that was added; 0: none was */
};

int replay_device_find(struct store *store, int64_t capture_id, struct replay_device *device,
		       struct err *err);

/* What kernel models want to know: pages of files, and the capture's context. */
struct replay_surroundings {
	struct replay_context context;
	struct replay_extent *extents;
	size_t nr_extents;
	uint64_t *stats_flush_ns;
	struct replay_usage *other_used;
};

int replay_surroundings_read(struct store *store, const struct demand_info *info,
			     const struct demand_source *source,
			     struct replay_surroundings *around, struct err *err);
void replay_surroundings_release(struct replay_surroundings *around);

/* ns of all operations together; NaN if one of them has no price. */
double replay_cpu_ns(const struct grid_result *result, const struct cost_profile *profile);

/* Stores a result with its costs and intervals. */
int replay_result_store(struct store *store, const struct result_key *key,
			const struct grid_result *result, const struct cost_profile *profile,
			struct err *err);

/* ---- curves (replay_curve.c) ----------------------------------------------------------------- */

struct replay_curves {
	struct store *store;
	int64_t stream_id;
	const struct demand_source *source;
	const struct grid_opts *grid_opts;	/* for models that have to run size by size */
	struct curve_opts opts;
	bool silent;				/* store, print nothing */
};

/* "1%": that share of the pages; "8192": at most so many of them. */
int replay_sample_parse(const char *text, struct curve_opts *opts, struct err *err);
bool replay_is_lru(const struct replay_model *model);
/* Computes, stores and prints the curve of each model, at @sizes or, if none, its own choice. */
int replay_curves_run(const struct replay_curves *curves, const struct replay_models *models,
		      const struct replay_sizes *sizes, enum out_format format, struct err *err);

#endif
