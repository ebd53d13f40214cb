/* SPDX-License-Identifier: GPL-2.0-or-later */
/* replay.h - what the files of `pagereel replay` share. */
#ifndef PAGEREEL_CMD_REPLAY_H
#define PAGEREEL_CMD_REPLAY_H

#include "replay/replay.h"
#include "schema/schema.h"

/* A demand stream in a database as a source: each cursor reads through a connection of its own. */
struct db_source {
	const char *path;
	int64_t stream_id;
};

void db_source_init(struct db_source *db, const char *path, const struct demand_info *info,
		    struct demand_source *source);

/* What kernel models want to know: pages of files, and the capture's context. */
struct replay_surroundings {
	struct replay_context context;
	struct replay_extent *extents;
	size_t nr_extents;
};

int replay_surroundings_read(struct store *store, const struct demand_info *info,
			     struct replay_surroundings *around, struct err *err);
void replay_surroundings_release(struct replay_surroundings *around);

/* ns of all operations together; NaN if one of them has no price. */
double replay_cpu_ns(const struct grid_result *result, const struct cost_profile *profile);

/* Stores a result with its costs and intervals. */
int replay_result_store(struct store *store, const struct result_key *key,
			const struct grid_result *result, const struct cost_profile *profile,
			struct err *err);

#endif
