/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * replay.h - the replay engine: plain arrays in, counters out. Knows no SQL, no files (but a spill
 * file it is handed) and no clock; the same input and seed give the same bytes out for any number of
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
	void (*close)(void *cursor);
	uint64_t nr_accesses;
	uint64_t nr_distinct_pages;
	uint32_t nr_ids;
	uint32_t ops_mask;
	uint64_t first_ts_ns, last_ts_ns;
};

#endif
