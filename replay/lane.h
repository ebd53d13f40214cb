/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lane.h - what takes the stream in for the engine: one cell, or all lru sizes of a grid at once.
 */
#ifndef PAGEREEL_REPLAY_LANE_H
#define PAGEREEL_REPLAY_LANE_H

#include "replay/stream.h"

/* Several sizes of one model in one pass (curve.c); sizes keep the order they were given in. */
struct lru_sizes;

struct lru_sizes *lru_sizes_create(const uint32_t *capacity_pages, size_t nr, uint32_t nr_ids);
void lru_sizes_access(struct lru_sizes *sizes, const struct model_batch *batch);
void lru_sizes_remove(struct lru_sizes *sizes, uint32_t page);
void lru_sizes_counters(const struct lru_sizes *sizes, size_t i, struct model_counters *out);
void lru_sizes_destroy(struct lru_sizes *sizes);

/* Counters at the last mark, to take differences from. */
struct lane_snapshot {
	struct model_counters counters;
	uint64_t nr_whole_misses;
};

struct lane {
	const struct grid_cell *cells;	/* all of the grid */
	size_t nr_cells;		/* of this lane */
	size_t *cell_numbers;
	struct grid_result **results;
	const struct kernel_ops *kernel;	/* NULL: textbook */

	/* while it runs */
	uint32_t nr_intervals, interval;
	uint64_t nr_accesses, nr_distinct_pages;	/* of the whole stream */
	struct model *model;
	struct lru_sizes *sizes;
	struct lane_snapshot *snapshots;	/* one per cell */
	struct kernel_model *kernel_model;
	struct replay_counters kernel_before;
	uint64_t kernel_fed, last_ts_ns;
};

/* Cells to lanes: one each, but three and more sizes of lru share one unless opts->by_size. */
int lanes_make(const struct grid_cell *cells, size_t nr_cells, const struct grid_opts *opts,
	       struct grid_result *results, struct lane **lanes, size_t *nr_lanes);
uint64_t lane_bytes_bound(const struct lane *lane, const struct demand_source *source);

/* 0, or -errno, which is then in the results as well. */
int lane_start(struct lane *lane, const struct demand_source *source, const struct grid_opts *opts);
void lane_feed(struct lane *lane, const struct part *part);
int lane_feed_block(struct lane *lane, const struct demand_block *block);
uint64_t lane_kernel_accesses(const struct lane *lane);
/* The end of the stream: fills the results in. */
void lane_finish(struct lane *lane, const struct grid_interval *intervals);
/* Frees the model; the lane can be started again. */
void lane_stop(struct lane *lane);
void lane_release(struct lane *lane);

#endif
