// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * engine.c - runs a grid of replays over one demand stream.
 *
 * A cell is a model, its parameters and a size. Textbook cells get the stream as parts (stream.h):
 * if there are several and the whole of it fits the memory limit beside the models, it is decoded
 * once and shared, and a task is one cell. The thread that is ahead of what is decoded decodes the
 * next part, so that the others run models meanwhile. Else a task is a few cells, and decodes for
 * itself, part by part, each part going to all its cells while it is in the cache: few, so that a
 * replay that is interrupted has finished some, and enough to make decoding cheap beside them.
 * Kernel cells need all columns and take the source's blocks as they are.
 *
 * Threads take tasks from a counter. No cell sees another, so any number of threads gives the same
 * results.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "replay/lane.h"
#include "replay/models/slots.h"

enum { BLOCK_PARTS = 64, TASK_LANES = 4 };

struct task {
	size_t first_lane, nr_lanes;
};

struct grid {
	const struct demand_source *source;
	const struct grid_opts *opts;
	struct grid_result *results;
	struct lane *lanes;
	size_t nr_lanes;
	struct task *tasks;
	size_t nr_tasks;
	atomic_size_t next_task;
	unsigned int nr_threads;

	/* the stream, if it is shared, as far as it is decoded */
	bool shared, decoded;
	pthread_mutex_t decoding;	/* of what follows */
	struct part_reader *reader;
	struct part **parts;
	size_t nr_parts, max_parts;
	uint32_t **blocks;	/* BLOCK_PARTS parts each, in huge pages */
	size_t nr_blocks;
	struct grid_interval *intervals;

	pthread_mutex_t lock;	/* of what follows and of the callbacks */
	uint64_t done, total;
	atomic_bool stop;
	int code;		/* the first failure of the source */
	struct err *err;
};

static void grid_fail(struct grid *g, int code, const struct err *err)
{
	pthread_mutex_lock(&g->lock);
	if (!g->code) {
		g->code = code;
		if (g->err)
			*g->err = *err;
	}
	pthread_mutex_unlock(&g->lock);
	atomic_store(&g->stop, true);
}

/* Adds to what is done and asks the caller whether to go on. */
static void grid_advance(struct grid *g, uint64_t nr)
{
	pthread_mutex_lock(&g->lock);
	g->done += nr;
	if (g->opts->progress && !g->opts->progress(g->opts->ctx, g->done, g->total))
		atomic_store(&g->stop, true);
	pthread_mutex_unlock(&g->lock);
}

static void task_finished(struct grid *g, const struct task *task,
			  const struct grid_interval *intervals)
{
	for (size_t i = 0; i < task->nr_lanes; i++) {
		struct lane *lane = &g->lanes[task->first_lane + i];

		lane_finish(lane, intervals);
		pthread_mutex_lock(&g->lock);
		for (size_t k = 0; g->opts->finished && k < lane->nr_cells; k++)
			if (!lane->results[k]->code)
				g->opts->finished(g->opts->ctx, lane->cell_numbers[k],
						  lane->results[k]);
		pthread_mutex_unlock(&g->lock);
	}
}

static void task_feed(struct grid *g, const struct task *task, const struct part *part)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < task->nr_lanes; i++) {
		struct lane *lane = &g->lanes[task->first_lane + i];

		lane_feed(lane, part);
		nr += part->nr * (uint64_t)lane->nr_cells;
	}
	grid_advance(g, nr);
}

static uint32_t *part_room(struct grid *g)
{
	size_t block = g->nr_parts / BLOCK_PARTS, at = g->nr_parts % BLOCK_PARTS;

	if (block == g->nr_blocks) {
		uint32_t **blocks = realloc(g->blocks, (block + 1) * sizeof(*blocks));

		if (!blocks)
			return NULL;
		g->blocks = blocks;
		blocks[block] = model_alloc(4ULL * (BLOCK_PARTS * PART_ACCESSES + PART_ROOM));
		if (!blocks[block])
			return NULL;
		g->nr_blocks++;
	}
	return g->blocks[block] + at * PART_ACCESSES;
}

/* An empty part at the end of those there are, not counted yet. */
static struct part *part_new(struct grid *g)
{
	uint32_t *room = part_room(g);

	if (g->nr_parts == g->max_parts) {
		size_t max = g->max_parts ? g->max_parts * 2 : 64;
		struct part **parts = realloc(g->parts, max * sizeof(*parts));

		if (!parts)
			return NULL;
		memset(parts + g->max_parts, 0, (max - g->max_parts) * sizeof(*parts));
		g->parts = parts;
		g->max_parts = max;
	}
	if (!room || (!g->parts[g->nr_parts] &&
		      !(g->parts[g->nr_parts] = calloc(1, sizeof(struct part)))))
		return NULL;
	*g->parts[g->nr_parts] = (struct part){ .room = room, .keep = true };
	return g->parts[g->nr_parts];
}

/* Part @i of the stream, decoded now if nobody was here before; NULL at the end. 0 or -errno. */
static int part_get(struct grid *g, size_t i, const struct part **part, struct err *err)
{
	int ret = 0;

	pthread_mutex_lock(&g->decoding);
	while (ret >= 0 && !g->decoded && g->nr_parts <= i) {
		struct part *next = part_new(g);

		ret = next ? part_reader_next(g->reader, next, err) :
			     err_set(err, -ENOMEM, "no memory for the demand stream");
		g->decoded = !ret;
		g->nr_parts += ret > 0;
	}
	*part = i < g->nr_parts ? g->parts[i] : NULL;
	pthread_mutex_unlock(&g->decoding);
	return ret < 0 ? ret : 0;
}

static int task_run_shared(struct grid *g, const struct task *task, struct err *err)
{
	const struct part *part;

	for (size_t i = 0; !atomic_load(&g->stop); i++) {
		int ret = part_get(g, i, &part, err);

		if (ret)
			return ret;
		if (!part) {
			task_finished(g, task, g->intervals);
			return 0;
		}
		task_feed(g, task, part);
	}
	return 0;
}

static int task_run_decoding(struct grid *g, const struct task *task, struct err *err)
{
	uint32_t nr_intervals = g->opts->nr_intervals;
	struct grid_interval *intervals = calloc(nr_intervals + 1, sizeof(*intervals));
	struct part_reader *reader = NULL;
	struct part part = { 0 };
	int ret = -ENOMEM;

	if (intervals)
		ret = part_reader_open(g->source, intervals, nr_intervals, &reader, err);
	while (!ret && !atomic_load(&g->stop)) {
		ret = part_reader_next(reader, &part, err);
		if (ret <= 0)
			break;
		task_feed(g, task, &part);
		ret = 0;
	}
	if (!ret && !atomic_load(&g->stop))
		task_finished(g, task, intervals);
	part_reader_close(reader);
	part_release(&part);
	free(intervals);
	return ret;
}

static int task_run_kernel(struct grid *g, const struct task *task, struct err *err)
{
	struct lane *lane = &g->lanes[task->first_lane];
	struct demand_block block;
	void *cursor = NULL;
	uint64_t before = 0, now;
	int ret;

	ret = g->source->open(g->source->ctx, DEMAND_COL_TIME | DEMAND_COL_TASK, &cursor, err);
	if (ret < 0)
		return ret;
	while (!atomic_load(&g->stop)) {
		ret = g->source->next(cursor, &block, err);
		if (ret <= 0)
			break;
		ret = lane_feed_block(lane, &block);
		if (ret)
			break;
		now = lane_kernel_accesses(lane);
		grid_advance(g, now - before);
		before = now;
	}
	if (!ret && !atomic_load(&g->stop))
		task_finished(g, task, NULL);
	g->source->close(cursor);
	return lane->results[0]->code ? 0 : ret;
}

static void task_run(struct grid *g, const struct task *task)
{
	struct err err = { "" };
	int ret = 0;

	for (size_t i = 0; i < task->nr_lanes && !ret; i++)
		ret = lane_start(&g->lanes[task->first_lane + i], g->source, g->opts);
	if (!ret && g->lanes[task->first_lane].kernel)
		ret = task_run_kernel(g, task, &err);
	else if (!ret && g->shared)
		ret = task_run_shared(g, task, &err);
	else if (!ret)
		ret = task_run_decoding(g, task, &err);
	else
		ret = 0;	/* said in the results */
	for (size_t i = 0; i < task->nr_lanes; i++)
		lane_stop(&g->lanes[task->first_lane + i]);
	if (ret < 0)
		grid_fail(g, ret, &err);
}

static void *grid_thread(void *arg)
{
	struct grid *g = arg;

	while (!atomic_load(&g->stop)) {
		size_t i = atomic_fetch_add(&g->next_task, 1);

		if (i >= g->nr_tasks)
			break;
		task_run(g, &g->tasks[i]);
	}
	return NULL;
}

static void grid_run_threads(struct grid *g)
{
	pthread_t threads[256];
	unsigned int nr = g->nr_threads < 256 ? g->nr_threads : 256, started = 0;

	if (nr > g->nr_tasks)
		nr = g->nr_tasks;
	while (started + 1 < nr && !pthread_create(&threads[started], NULL, grid_thread, g))
		started++;
	grid_thread(g);
	while (started)
		pthread_join(threads[--started], NULL);
}

/* How many threads, whether to share, how many lanes a task: whatever fits the memory limit. */
static int grid_plan(struct grid *g, struct err *err)
{
	uint64_t stream_bytes = 4 * (g->source->nr_accesses + BLOCK_PARTS * PART_ACCESSES);
	uint64_t lane_bytes = 0, limit = g->opts->memory_bytes ? g->opts->memory_bytes : UINT64_MAX;
	uint64_t fitting, per_task = 1;
	size_t nr_textbook = 0;
	char need[32], have[32];

	for (size_t i = 0; i < g->nr_lanes; i++) {
		uint64_t bytes = lane_bytes_bound(&g->lanes[i], g->source);

		lane_bytes = bytes > lane_bytes ? bytes : lane_bytes;
		nr_textbook += !g->lanes[i].kernel;
	}
	if (lane_bytes > limit)
		return err_set(err, -ENOMEM, "a model of %u pages takes up to %s, and the limit is "
			       "%s (allow more with --memory)", g->source->nr_ids,
			       format_bytes(need, sizeof(need), lane_bytes),
			       format_bytes(have, sizeof(have), limit));
	fitting = limit / lane_bytes;
	if (g->nr_threads > fitting)
		g->nr_threads = fitting;
	g->shared = nr_textbook > 1 && stream_bytes < limit - g->nr_threads * lane_bytes;
	if (!g->shared && nr_textbook) {
		per_task = fitting / g->nr_threads;
		if (per_task > (nr_textbook + g->nr_threads - 1) / g->nr_threads)
			per_task = (nr_textbook + g->nr_threads - 1) / g->nr_threads;
		per_task = per_task < TASK_LANES ? per_task : TASK_LANES;
	}
	for (size_t i = 0; i < g->nr_lanes;) {
		struct task *task = &g->tasks[g->nr_tasks++];

		*task = (struct task){ .first_lane = i, .nr_lanes = 1 };
		while (!g->lanes[i].kernel && task->nr_lanes < per_task &&
		       i + task->nr_lanes < g->nr_lanes && !g->lanes[i + task->nr_lanes].kernel)
			task->nr_lanes++;
		i += task->nr_lanes;
	}
	return 0;
}

static void grid_release(struct grid *g)
{
	part_reader_close(g->reader);
	for (size_t i = 0; i < g->max_parts && g->parts[i]; i++) {
		part_release(g->parts[i]);
		free(g->parts[i]);
	}
	for (size_t i = 0; i < g->nr_blocks; i++)
		free(g->blocks[i]);
	free(g->blocks);
	free(g->parts);
	free(g->intervals);
	for (size_t i = 0; i < g->nr_lanes; i++)
		lane_release(&g->lanes[i]);
	free(g->lanes);
	free(g->tasks);
	pthread_mutex_destroy(&g->lock);
	pthread_mutex_destroy(&g->decoding);
}

int grid_run(const struct demand_source *source, const struct grid_cell *cells, size_t nr_cells,
	     const struct grid_opts *opts, struct grid_result *results, struct err *err)
{
	struct grid g = {
		.source = source, .opts = opts, .results = results, .err = err,
		.nr_threads = opts->nr_threads ? opts->nr_threads : 1,
		.total = source->nr_accesses * nr_cells,
	};
	int ret = -ENOMEM;

	for (size_t i = 0; i < nr_cells; i++)
		results[i] = (struct grid_result){ .code = -ECANCELED };
	if (!nr_cells)
		return 0;
	pthread_mutex_init(&g.lock, NULL);
	pthread_mutex_init(&g.decoding, NULL);
	g.intervals = calloc(opts->nr_intervals + 1, sizeof(*g.intervals));
	g.tasks = calloc(nr_cells, sizeof(*g.tasks));
	if (g.intervals && g.tasks)
		ret = lanes_make(cells, nr_cells, opts, results, &g.lanes, &g.nr_lanes);
	if (ret)
		err_set(err, ret, "no memory for %zu replays", nr_cells);
	else
		ret = grid_plan(&g, err);
	if (!ret && g.shared)
		ret = part_reader_open(source, g.intervals, opts->nr_intervals, &g.reader, err);
	if (!ret)
		grid_run_threads(&g);
	if (!ret)
		ret = g.code ? g.code : atomic_load(&g.stop) ? -ECANCELED : 0;
	grid_release(&g);
	return ret;
}

void grid_results_release(struct grid_result *results, size_t nr_cells)
{
	for (size_t i = 0; i < nr_cells; i++) {
		free(results[i].intervals);
		results[i].intervals = NULL;
	}
}
