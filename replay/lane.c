// SPDX-License-Identifier: GPL-2.0-or-later
/* lane.c - feeds one model (or all sizes of lru) and turns its counters into a result. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/lane.h"

enum {
	ONE_PASS_SIZES = 3,	/* from so many sizes on one pass is the faster way */
	MODEL_BYTES_PER_PAGE = 24,
	MODEL_BYTES_FIXED = 1 << 20,
};

/* ---- making ---------------------------------------------------------------------------------- */

static bool has_one_pass(const struct grid_cell *cell)
{
	return cell->model && !strcmp(cell->model->name, "lru");
}

static int lane_init(struct lane *lane, const struct grid_cell *cells, size_t max_cells)
{
	*lane = (struct lane){ .cells = cells };
	lane->cell_numbers = calloc(max_cells, sizeof(*lane->cell_numbers));
	lane->results = calloc(max_cells, sizeof(*lane->results));
	return lane->cell_numbers && lane->results ? 0 : -ENOMEM;
}

static void lane_add(struct lane *lane, size_t cell, struct grid_result *results)
{
	lane->cell_numbers[lane->nr_cells] = cell;
	lane->results[lane->nr_cells++] = &results[cell];
	lane->kernel = lane->cells[cell].kernel;
}

int lanes_make(const struct grid_cell *cells, size_t nr_cells, const struct grid_opts *opts,
	       struct grid_result *results, struct lane **lanes, size_t *nr_lanes)
{
	struct lane *one_pass = NULL;
	size_t nr_sizes = 0;

	*nr_lanes = 0;
	*lanes = calloc(nr_cells, sizeof(**lanes));
	if (!*lanes)
		return -ENOMEM;
	for (size_t i = 0; i < nr_cells; i++)
		nr_sizes += has_one_pass(&cells[i]);
	for (size_t i = 0; i < nr_cells; i++) {
		bool join = has_one_pass(&cells[i]) && nr_sizes >= ONE_PASS_SIZES && !opts->by_size;
		struct lane *lane = &(*lanes)[*nr_lanes];

		if (join && one_pass) {
			lane_add(one_pass, i, results);
			continue;
		}
		(*nr_lanes)++;
		if (lane_init(lane, cells, join ? nr_sizes : 1))
			return -ENOMEM;
		lane_add(lane, i, results);
		if (join)
			one_pass = lane;
	}
	return 0;
}

void lane_release(struct lane *lane)
{
	lane_stop(lane);
	free(lane->cell_numbers);
	free(lane->results);
}

uint64_t lane_bytes_bound(const struct lane *lane, const struct demand_source *source)
{
	uint64_t per_page = lane->kernel ? 2 * MODEL_BYTES_PER_PAGE : MODEL_BYTES_PER_PAGE;

	return per_page * source->nr_ids + MODEL_BYTES_FIXED;
}

/* ---- running --------------------------------------------------------------------------------- */

static int lane_fail(struct lane *lane, int code, const struct err *err)
{
	for (size_t k = 0; k < lane->nr_cells; k++) {
		lane->results[k]->code = code;
		lane->results[k]->err = *err;
	}
	return code;
}

static void start_kernel(struct lane *lane, const struct demand_source *source,
			 const struct grid_opts *opts, int *code, struct err *err)
{
	const struct grid_cell *cell = &lane->cells[lane->cell_numbers[0]];
	const struct kernel_config config = {
		.capacity_pages = cell->capacity_pages,
		.nr_ids = source->nr_ids,
		.seed = opts->seed,
		.params = cell->params,
		.context = opts->context,
		.extents = opts->extents,
		.nr_extents = opts->nr_extents,
	};

	lane->kernel_model = lane->kernel->create(&config, code, err);
	memset(&lane->kernel_before, 0, sizeof(lane->kernel_before));
	lane->kernel_fed = lane->last_ts_ns = 0;
}

static void start_model(struct lane *lane, const struct demand_source *source,
			const struct grid_opts *opts, int *code, struct err *err)
{
	const struct grid_cell *cell = &lane->cells[lane->cell_numbers[0]];
	const struct model_config config = {
		.capacity_pages = cell->capacity_pages,
		.nr_ids = source->nr_ids,
		.nr_accesses = source->nr_accesses,
		.seed = opts->seed,
		.params = cell->params,
	};

	lane->model = cell->model->create(&config, code, err);
}

static void start_sizes(struct lane *lane, const struct demand_source *source, int *code,
			struct err *err)
{
	uint32_t *sizes = calloc(lane->nr_cells, sizeof(*sizes));

	for (size_t k = 0; sizes && k < lane->nr_cells; k++)
		sizes[k] = lane->cells[lane->cell_numbers[k]].capacity_pages;
	if (sizes)
		lane->sizes = lru_sizes_create(sizes, lane->nr_cells, source->nr_ids);
	if (!lane->sizes)
		*code = err_set(err, -ENOMEM, "no memory for %zu sizes of lru", lane->nr_cells);
	free(sizes);
}

int lane_start(struct lane *lane, const struct demand_source *source, const struct grid_opts *opts)
{
	struct err err = { "" };
	int code = 0;

	lane->nr_intervals = opts->nr_intervals;
	lane->interval = 0;
	lane->nr_accesses = source->nr_accesses;
	lane->nr_distinct_pages = source->nr_distinct_pages;
	lane->snapshots = calloc(lane->nr_cells, sizeof(*lane->snapshots));
	if (!lane->snapshots)
		code = err_set(&err, -ENOMEM, "no memory for counters");
	for (size_t k = 0; k < lane->nr_cells && lane->nr_intervals && !code; k++) {
		struct grid_result *result = lane->results[k];

		free(result->intervals);
		result->intervals = calloc(lane->nr_intervals, sizeof(*result->intervals));
		if (!result->intervals)
			code = err_set(&err, -ENOMEM, "no memory for intervals");
	}
	if (!code && lane->kernel)
		start_kernel(lane, source, opts, &code, &err);
	else if (!code && lane->nr_cells > 1)
		start_sizes(lane, source, &code, &err);
	else if (!code)
		start_model(lane, source, opts, &code, &err);
	return code ? lane_fail(lane, code, &err) : 0;
}

void lane_stop(struct lane *lane)
{
	if (lane->model)
		lane->cells[lane->cell_numbers[0]].model->destroy(lane->model);
	if (lane->kernel_model)
		lane->kernel->destroy(lane->kernel_model);
	lru_sizes_destroy(lane->sizes);
	free(lane->snapshots);
	lane->model = NULL;
	lane->kernel_model = NULL;
	lane->sizes = NULL;
	lane->snapshots = NULL;
}

static void lane_counters(const struct lane *lane, size_t k, struct model_counters *out)
{
	if (lane->sizes)
		lru_sizes_counters(lane->sizes, k, out);
	else
		lane->cells[lane->cell_numbers[0]].model->counters(lane->model, out);
}

static void lane_access(struct lane *lane, const uint32_t *pages, size_t nr)
{
	const struct model_batch batch = { .pages = pages, .nr = nr };

	if (!nr)
		return;
	if (lane->sizes)
		lru_sizes_access(lane->sizes, &batch);
	else
		lane->cells[lane->cell_numbers[0]].model->access(lane->model, &batch);
}

static void lane_remove(struct lane *lane, uint32_t page, uint32_t nr)
{
	const struct model_ops *ops = lane->cells[lane->cell_numbers[0]].model;

	for (; nr; nr--, page++) {
		if (lane->sizes)
			lru_sizes_remove(lane->sizes, page);
		else
			ops->remove(lane->model, page);
	}
}

/* Fills of whole-page writes: the misses among these accesses. */
static void lane_access_whole(struct lane *lane, const uint32_t *pages, size_t nr)
{
	struct model_counters counters;

	for (size_t k = 0; k < lane->nr_cells; k++) {
		lane_counters(lane, k, &counters);
		lane->snapshots[k].nr_whole_misses -= counters.misses;
	}
	lane_access(lane, pages, nr);
	for (size_t k = 0; k < lane->nr_cells; k++) {
		lane_counters(lane, k, &counters);
		lane->snapshots[k].nr_whole_misses += counters.misses;
	}
}

static void lane_interval_end(struct lane *lane)
{
	for (size_t k = 0; k < lane->nr_cells; k++) {
		struct model_counters *before = &lane->snapshots[k].counters, now;

		lane_counters(lane, k, &now);
		lane->results[k]->intervals[lane->interval] = (struct grid_interval){
			.hits = now.hits - before->hits,
			.misses = now.misses - before->misses,
			.fills = now.misses - before->misses,
			.evictions = now.evictions - before->evictions,
		};
		*before = now;
	}
	lane->interval++;
}

void lane_feed(struct lane *lane, const struct part *part)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < part->nr_marks; i++) {
		const struct mark *mark = &part->marks[i];

		lane_access(lane, part->pages + at, mark->at - at);
		at = mark->at;
		switch (mark->kind) {
		case MARK_REMOVE:
			lane_remove(lane, mark->page, mark->nr);
			break;
		case MARK_WHOLE:
			lane_access_whole(lane, part->pages + at, mark->nr);
			at += mark->nr;
			break;
		case MARK_INTERVAL:
			lane_interval_end(lane);
			break;
		}
	}
	lane_access(lane, part->pages + at, part->nr - at);
}

/* ---- results --------------------------------------------------------------------------------- */

/*
 * A policy that sees pages has neither folios nor calls, nor is it told which pages are neighbours:
 * each page that goes is a folio, far from the one before, and calls and batches free as many as
 * the kernel's under a memcg limit do (48 to 62 of 16 384 in 6 or 7, see kernel/vmscan.c).
 */
enum { PAGES_A_CALL = 50, PAGES_A_BATCH = 8 };

static void cost_add(struct grid_result *result, const char *component, const char *operation,
		     uint64_t count)
{
	if (count == MODEL_COUNTER_NONE || result->nr_costs == GRID_MAX_COSTS)
		return;
	result->costs[result->nr_costs++] = (struct replay_cost){
		.component = component, .operation = operation, .count = count,
	};
}

static uint64_t parts(uint64_t count, uint64_t part)
{
	return count == MODEL_COUNTER_NONE ? count : (count + part - 1) / part;
}

static void model_result(struct lane *lane, size_t k)
{
	struct grid_result *result = lane->results[k];
	struct model_counters c;

	lane_counters(lane, k, &c);
	result->code = 0;
	result->counters = (struct replay_counters){
		.accesses = c.hits + c.misses,
		.hits = c.hits,
		.misses = c.misses,
		.fills = c.misses,
		.fills_compulsory = lane->nr_distinct_pages,
		.fills_whole_write = lane->snapshots[k].nr_whole_misses,
		.fills_undemanded = 0,
		.evictions = c.evictions,
		.scanned = c.scanned,
		.reclaimed = c.evictions,
		.activated = c.activated,
		.deactivated = c.deactivated,
		.rotated = c.rotated,
		.refaults = c.ghost_hits,
		.written = MODEL_COUNTER_NONE,
		.swapped_out = MODEL_COUNTER_NONE,
		.swapped_in = MODEL_COUNTER_NONE,
		.resident_pages = c.resident_pages,
		.metadata_bytes = c.metadata_bytes,
	};
	result->nr_costs = 0;
	cost_add(result, "lookup", "lookup.page", c.hits + c.misses);
	cost_add(result, "fill", "fill.page", c.misses);
	cost_add(result, "scan", "scan.page", c.scanned);
	cost_add(result, "scan", "rotate.page", c.rotated);
	cost_add(result, "activate", "activate.page", c.activated);
	cost_add(result, "activate", "deactivate.page", c.deactivated);
	cost_add(result, "reclaim", "reclaim.page", c.evictions);
	cost_add(result, "reclaim", "reclaim.folio", c.evictions);
	cost_add(result, "reclaim", "reclaim.node", c.evictions);
	cost_add(result, "reclaim", "reclaim.call", parts(c.evictions, PAGES_A_CALL));
	cost_add(result, "scan", "scan.batch", parts(c.evictions, PAGES_A_BATCH));
}

static void intervals_merge(struct grid_result *result, const struct grid_interval *intervals,
			    uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		result->intervals[i].first_access = intervals[i].first_access;
		result->intervals[i].from_ts_ns = intervals[i].from_ts_ns;
		result->intervals[i].to_ts_ns = intervals[i].to_ts_ns;
		result->intervals[i].accesses = intervals[i].accesses;
	}
	result->nr_intervals = nr;
}

/* ---- kernel models --------------------------------------------------------------------------- */

/*
 * The first record of the block, from @first on, at which the next interval begins; nr if none.
 * Adds the accesses before it to @nr_accesses.
 */
static size_t interval_record(const struct demand_block *b, size_t first, uint64_t next,
			      uint64_t *nr_accesses)
{
	for (size_t i = first; i < b->nr; i++) {
		if (!demand_op_is_access(b->op ? b->op[i] : DEMAND_READ))
			continue;
		if (*nr_accesses >= next)
			return i;
		*nr_accesses += b->run ? b->run[i] : 1;
	}
	return b->nr;
}

static void kernel_interval_end(struct lane *lane, uint64_t ts_ns)
{
	struct grid_interval *interval = &lane->results[0]->intervals[lane->interval];
	struct replay_counters *before = &lane->kernel_before, now;

	lane->kernel->counters(lane->kernel_model, &now);
	interval->to_ts_ns = ts_ns;
	interval->accesses = now.accesses - before->accesses;
	interval->hits = now.hits - before->hits;
	interval->misses = now.misses - before->misses;
	interval->fills = now.fills - before->fills;
	interval->evictions = now.evictions - before->evictions;
	*before = now;
	if (++lane->interval == lane->nr_intervals)
		return;
	interval[1].first_access = interval->first_access + interval->accesses;
	interval[1].from_ts_ns = interval[1].to_ts_ns = ts_ns;
}

static int kernel_feed(struct lane *lane, const struct demand_block *b, size_t first, size_t nr)
{
	const struct demand_block part = {
		.nr = nr,
		.page = b->page + first,
		.run = b->run ? b->run + first : NULL,
		.op = b->op ? b->op + first : NULL,
		.task = b->task ? b->task + first : NULL,
		.ts_ns = b->ts_ns ? b->ts_ns + first : NULL,
	};
	struct err err = { "" };
	int ret;

	if (!nr)
		return 0;
	if (b->ts_ns)
		lane->last_ts_ns = b->ts_ns[first + nr - 1];
	ret = lane->kernel->feed(lane->kernel_model, &part, NULL, &err);
	return ret < 0 ? lane_fail(lane, ret, &err) : 0;
}

static uint64_t kernel_next_interval(const struct lane *lane)
{
	if (!lane->nr_intervals || lane->interval + 1 >= lane->nr_intervals)
		return UINT64_MAX;
	return interval_start(lane->nr_accesses, lane->interval + 1, lane->nr_intervals);
}

int lane_feed_block(struct lane *lane, const struct demand_block *block)
{
	size_t first = 0;
	int ret = 0;

	if (lane->nr_intervals && !lane->kernel_fed && block->ts_ns && block->nr)
		lane->results[0]->intervals[0].from_ts_ns = block->ts_ns[0];
	while (!ret && first < block->nr) {
		size_t end = interval_record(block, first, kernel_next_interval(lane),
					     &lane->kernel_fed);

		ret = kernel_feed(lane, block, first, end - first);
		if (end < block->nr && !ret)
			kernel_interval_end(lane, block->ts_ns ? block->ts_ns[end] : 0);
		first = end;
	}
	return ret;
}

uint64_t lane_kernel_accesses(const struct lane *lane)
{
	return lane->kernel_fed;
}

static void kernel_result(struct lane *lane)
{
	struct grid_result *result = lane->results[0];

	while (lane->interval < lane->nr_intervals)
		kernel_interval_end(lane, lane->last_ts_ns);
	result->nr_intervals = lane->nr_intervals;
	lane->kernel->counters(lane->kernel_model, &result->counters);
	result->nr_costs = lane->kernel->costs(lane->kernel_model, result->costs, GRID_MAX_COSTS);
	if (result->nr_costs > GRID_MAX_COSTS)
		result->nr_costs = GRID_MAX_COSTS;
	result->code = 0;
}

void lane_finish(struct lane *lane, const struct grid_interval *intervals)
{
	if (lane->kernel) {
		kernel_result(lane);
		return;
	}
	if (lane->nr_intervals)
		while (lane->interval < lane->nr_intervals)
			lane_interval_end(lane);
	for (size_t k = 0; k < lane->nr_cells; k++) {
		model_result(lane, k);
		intervals_merge(lane->results[k], intervals, lane->nr_intervals);
	}
}
