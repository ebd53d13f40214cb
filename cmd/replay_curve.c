// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * replay_curve.c - `pagereel replay --curve`: miss ratio by memory, at many sizes at once. Models
 * with a curve in one pass, or over a sample, take a thread each; the runs of the others are one
 * grid. Each curve is stored when it is there, so that an interruption costs those under way only.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/replay.h"

enum { DEFAULT_SIZES = 100, DEFAULT_RUNS = 20, MAX_KNEES = 16 };

static const struct out_column columns[] = {
	{ "model", NULL, OUT_PLAIN },
	{ "params", NULL, OUT_PLAIN },
	{ "method", NULL, OUT_PLAIN },
	{ "memory_pages", "memory", OUT_PAGES },
	{ "miss_ratio", "miss ratio", OUT_RATIO },
	{ "stderr", "std. error", OUT_RATIO },
	{ "knee", NULL, OUT_PLAIN },
};

int replay_sample_parse(const char *text, struct curve_opts *opts, struct err *err)
{
	size_t nr = strlen(text);
	uint64_t pages;
	double pct;
	int ret;

	if (nr && text[nr - 1] == '%') {
		ret = parse_pct(text, 100, &pct, err);
		if (!ret && (pct <= 0 || pct >= 100))
			ret = err_set(err, -EINVAL,
				      "'%s' is no sample (more than 0 %%, less than 100 %%)",
				      text);
		opts->rate = ret ? 0 : pct / 100;
		return ret;
	}
	ret = parse_u64(text, &pages, err);
	if (!ret && (pages < 100 || pages > UINT32_MAX))
		ret = err_set(err, -EINVAL,
			      "'%s' is no sample (1%% of the pages, or at least 100 pages)",
			      text);
	opts->max_pages = ret ? 0 : (uint32_t)pages;
	return ret;
}

/* One model's curve. */
struct curve_job {
	const struct replay_model *model;
	const uint32_t *sizes;
	size_t nr;
	bool by_size;		/* no curve in one pass, not sampled: a run for each size */
	struct curve_point *points;
	size_t nr_left;		/* points that are not there yet, if by_size */
	bool taken, finished, stored;
	int code;
	struct err err;
};

/* Threads compute curves, the one that began stores them as they come. */
struct curve_pool {
	const struct replay_curves *c;
	struct curve_job *jobs;
	size_t nr_jobs;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int code;		/* of storing */
	struct err *err;
};

static struct grid_cell job_cell(const struct curve_job *job)
{
	return (struct grid_cell){ .model = job->model->model, .kernel = job->model->kernel,
				   .params = job->model->params };
}

static bool is_knee(const struct curve_knee *knees, size_t nr, uint32_t pages)
{
	for (size_t i = 0; i < nr; i++)
		if (knees[i].memory_pages == pages)
			return true;
	return false;
}

static int curve_store(const struct replay_curves *c, struct result_key *key, const char *method,
		       const struct curve_point *points, size_t nr, const struct curve_knee *knees,
		       size_t nr_knees, struct err *err)
{
	int ret = store_begin(c->store, err), code;

	for (size_t k = 0; k < nr && !ret; k++) {
		key->memory_pages = points[k].memory_pages;
		ret = store_curve_point(c->store, key, method, points[k].miss_ratio,
					points[k].stderr_ratio > 0 ?
					VALUE_OF_REAL(points[k].stderr_ratio) : VALUE_NONE, err);
	}
	for (size_t i = 0; i < nr_knees && !ret; i++) {
		key->memory_pages = knees[i].memory_pages;
		ret = store_knee(c->store, key, method, knees[i].miss_ratio,
				 knees[i].drop_ratio, err);
	}
	code = ret ? store_rollback(c->store, NULL) : store_commit(c->store, err);
	return ret ? ret : code;
}

static int curve_print(struct out *out, const struct result_key *key, const char *method,
		       const struct curve_point *points, size_t nr, const struct curve_knee *knees,
		       size_t nr_knees)
{
	int ret = 0;

	for (size_t k = 0; k < nr && !ret && out; k++) {
		const struct value values[] = {
			VALUE_OF_TEXT(key->model), VALUE_OF_TEXT(key->params),
			VALUE_OF_TEXT(method),
			VALUE_OF_INT(points[k].memory_pages), VALUE_OF_REAL(points[k].miss_ratio),
			points[k].stderr_ratio > 0 ? VALUE_OF_REAL(points[k].stderr_ratio) :
						     VALUE_NONE,
			VALUE_OF_INT(is_knee(knees, nr_knees, points[k].memory_pages)),
		};

		ret = out_row(out, values);
	}
	return ret;
}

static struct result_key job_key(const struct replay_curves *c, const struct curve_job *job)
{
	return (struct result_key){ .stream_id = c->stream_id, .model = job->model->name,
				    .params = job->model->params_text, .seed = c->opts.seed };
}

static const char *job_method(const struct replay_curves *c, const struct curve_job *job)
{
	const struct grid_cell cell = job_cell(job);

	return job->by_size ? "exact" : curve_method(&cell, &c->opts);
}

static size_t job_knees(const struct curve_job *job, struct curve_knee *knees)
{
	size_t nr = curve_knees(job->points, job->nr, knees, MAX_KNEES);

	return nr < MAX_KNEES ? nr : MAX_KNEES;
}

/* A curve that is finished goes into the database at once. */
static void job_store(struct curve_pool *pool, struct curve_job *job)
{
	struct result_key key = job_key(pool->c, job);
	struct curve_knee knees[MAX_KNEES];
	size_t nr_knees = job_knees(job, knees);

	if (pool->code)
		return;
	pool->code = curve_store(pool->c, &key, job_method(pool->c, job), job->points, job->nr,
				 knees, nr_knees, pool->err);
	job->stored = !pool->code;
}

static int job_print(const struct replay_curves *c, const struct curve_job *job, struct out *out)
{
	const struct result_key key = job_key(c, job);
	struct curve_knee knees[MAX_KNEES];
	size_t nr_knees = job_knees(job, knees);

	return curve_print(out, &key, job_method(c, job), job->points, job->nr, knees, nr_knees);
}

/* ---- curves in one pass: each on a thread of its own ----------------------------------------- */

static struct curve_job *job_take(struct curve_pool *pool)
{
	struct curve_job *job = NULL;

	pthread_mutex_lock(&pool->lock);
	for (size_t i = 0; i < pool->nr_jobs && !job && !pool->code; i++)
		if (!pool->jobs[i].taken && !pool->jobs[i].by_size)
			job = &pool->jobs[i];
	if (job)
		job->taken = true;
	pthread_mutex_unlock(&pool->lock);
	return job;
}

static void *pool_thread(void *arg)
{
	struct curve_pool *pool = arg;
	const struct replay_curves *c = pool->c;
	struct curve_job *job;

	while ((job = job_take(pool))) {
		const struct grid_cell cell = job_cell(job);
		int code = curve_run(c->source, &cell, job->sizes, job->nr, &c->opts, job->points,
				     &job->err);

		pthread_mutex_lock(&pool->lock);
		job->code = code;
		job->finished = true;
		pthread_cond_signal(&pool->changed);
		pthread_mutex_unlock(&pool->lock);
	}
	return NULL;
}

/* How many curves at once the limits allow; 0: not even one. */
static size_t pool_threads(const struct curve_pool *pool, size_t nr_wanted, struct err *err)
{
	const struct grid_opts *opts = pool->c->grid_opts;
	uint64_t limit = opts->memory_bytes ? opts->memory_bytes : UINT64_MAX, most = 1;
	size_t nr = opts->nr_threads < nr_wanted ? opts->nr_threads : nr_wanted;
	char need[32], have[32];

	for (size_t i = 0; i < pool->nr_jobs; i++) {
		const struct grid_cell cell = job_cell(&pool->jobs[i]);
		uint64_t bytes = curve_bytes_bound(pool->c->source, &cell, &pool->c->opts);

		if (!pool->jobs[i].by_size)
			most = bytes > most ? bytes : most;
	}
	if (most > limit)
		err_set(err, -ENOMEM, "a curve over %u pages takes up to %s, and the limit is %s "
			"(allow more with --memory)", pool->c->source->nr_ids,
			format_bytes(need, sizeof(need), most),
			format_bytes(have, sizeof(have), limit));
	nr = nr ? nr : 1;
	return limit / most < nr ? (size_t)(limit / most) : nr;
}

/* Stores what is finished until @nr_left more are. */
static void pool_wait(struct curve_pool *pool, size_t nr_left)
{
	pthread_mutex_lock(&pool->lock);
	while (nr_left) {
		struct curve_job *job = NULL;

		for (size_t i = 0; i < pool->nr_jobs && !job; i++)
			if (pool->jobs[i].finished && !pool->jobs[i].stored &&
			    !pool->jobs[i].by_size && !pool->jobs[i].code)
				job = &pool->jobs[i];
		if (job)
			job_store(pool, job);
		nr_left = 0;
		for (size_t i = 0; i < pool->nr_jobs && !pool->code; i++)
			nr_left += !pool->jobs[i].by_size && !pool->jobs[i].code &&
				   !pool->jobs[i].stored;
		if (!job && nr_left)
			pthread_cond_wait(&pool->changed, &pool->lock);
	}
	pthread_mutex_unlock(&pool->lock);
}

static int run_one_pass(struct curve_pool *pool, struct err *err)
{
	size_t nr_jobs = 0, nr, started = 0;
	pthread_t threads[256];

	for (size_t i = 0; i < pool->nr_jobs; i++)
		nr_jobs += !pool->jobs[i].by_size;
	if (!nr_jobs)
		return 0;
	nr = pool_threads(pool, nr_jobs, err);
	if (!nr)
		return -ENOMEM;
	while (started < nr && started < ARRAY_SIZE(threads) &&
	       !pthread_create(&threads[started], NULL, pool_thread, pool))
		started++;
	if (!started)
		pool_thread(pool);
	pool_wait(pool, nr_jobs);
	while (started)
		pthread_join(threads[--started], NULL);
	return pool->code;
}

/* ---- curves by sizes: all in one grid -------------------------------------------------------- */

struct curve_grid {
	struct curve_pool *pool;
	struct curve_job **job_of;	/* by cell */
	size_t *point_of;
};

static void grid_finished(void *ctx, size_t i, const struct grid_result *result)
{
	struct curve_grid *g = ctx;
	struct curve_job *job = g->job_of[i];
	const struct replay_counters *counters = &result->counters;

	job->points[g->point_of[i]] = (struct curve_point){
		.memory_pages = job->sizes[g->point_of[i]],
		.miss_ratio = (double)counters->misses / (double)counters->accesses,
	};
	if (!--job->nr_left)
		job_store(g->pool, job);
}

static bool grid_progress(void *ctx, uint64_t done, uint64_t total)
{
	const struct curve_grid *g = ctx;
	const struct grid_opts *opts = g->pool->c->grid_opts;

	return !g->pool->code &&
	       (!opts->progress || opts->progress(opts->ctx, done, total));
}

static int grid_code(const struct grid_result *results, size_t nr, struct err *err)
{
	for (size_t i = 0; i < nr; i++)
		if (results[i].code && results[i].code != -ECANCELED)
			return err_set(err, results[i].code, "%s", results[i].err.text);
	return 0;
}

static int run_by_sizes(struct curve_pool *pool, struct err *err)
{
	struct grid_opts opts = *pool->c->grid_opts;
	struct curve_grid g = { .pool = pool };
	struct grid_result *results = NULL;
	struct grid_cell *cells = NULL;
	size_t nr = 0, at = 0;
	int ret = 0;

	for (size_t i = 0; i < pool->nr_jobs; i++)
		nr += pool->jobs[i].by_size ? pool->jobs[i].nr : 0;
	if (!nr)
		return 0;
	cells = calloc(nr, sizeof(*cells));
	results = calloc(nr, sizeof(*results));
	g.job_of = calloc(nr, sizeof(struct curve_job *));
	g.point_of = calloc(nr, sizeof(*g.point_of));
	if (!cells || !results || !g.job_of || !g.point_of)
		ret = err_set(err, -ENOMEM, "no memory for a curve");
	for (size_t i = 0; i < pool->nr_jobs && !ret; i++)
		for (size_t k = 0; pool->jobs[i].by_size && k < pool->jobs[i].nr; k++, at++) {
			cells[at] = job_cell(&pool->jobs[i]);
			cells[at].capacity_pages = pool->jobs[i].sizes[k];
			g.job_of[at] = &pool->jobs[i];
			g.point_of[at] = k;
		}
	opts.ctx = &g;
	opts.progress = grid_progress;
	opts.finished = grid_finished;
	if (!ret)
		ret = grid_run(pool->c->source, cells, nr, &opts, results, err);
	if (!ret)
		ret = grid_code(results, nr, err);
	if (results)
		grid_results_release(results, nr);
	free(results);
	free(cells);
	free(g.job_of);
	free(g.point_of);
	return pool->code ? pool->code : ret;
}

/* ---- all of them ----------------------------------------------------------------------------- */

bool replay_is_lru(const struct replay_model *model)
{
	return model->model && !strcmp(model->name, "lru");
}

static int jobs_code(const struct curve_pool *pool, struct err *err)
{
	int ret = 0;

	for (size_t i = 0; i < pool->nr_jobs; i++) {
		const struct curve_job *job = &pool->jobs[i];

		if (job->code && job->code != -ECANCELED)
			return err_set(err, job->code, "%s: %s", job->model->name, job->err.text);
		ret = job->code ? job->code : ret;
	}
	return ret;
}

/* Finished curves are printed in the order of their models, be it after an interruption. */
static int jobs_print(const struct curve_pool *pool, enum out_format format)
{
	struct out *out = out_begin(stdout, format, columns, ARRAY_SIZE(columns));
	int ret = 0, code;

	for (size_t i = 0; i < pool->nr_jobs && !ret; i++)
		if (pool->jobs[i].stored)
			ret = job_print(pool->c, &pool->jobs[i], out);
	code = out_end(out);
	return ret ? ret : code;
}

static int jobs_run(struct curve_pool *pool, enum out_format format, struct err *err)
{
	int ret, code;

	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->changed, NULL);
	ret = run_one_pass(pool, err);
	if (!ret)
		ret = jobs_code(pool, err);
	if (!ret)
		ret = run_by_sizes(pool, err);
	pthread_cond_destroy(&pool->changed);
	pthread_mutex_destroy(&pool->lock);
	if (pool->c->silent || (ret && ret != -ECANCELED))
		return ret;
	code = jobs_print(pool, format);
	return ret ? ret : code;
}

int replay_curves_run(const struct replay_curves *c, const struct replay_models *models,
		      const struct replay_sizes *sizes, enum out_format format, struct err *err)
{
	uint64_t footprint = c->source->nr_distinct_pages;
	uint32_t most = footprint < UINT32_MAX / 2 ? (uint32_t)footprint : UINT32_MAX / 2;
	uint32_t many[DEFAULT_SIZES + 1], few[DEFAULT_RUNS + 1];
	size_t nr_many = curve_sizes(most / 1000 + 1, most, many, DEFAULT_SIZES);
	size_t nr_few = curve_sizes(most / 100 + 1, most, few, DEFAULT_RUNS);
	struct curve_pool pool = { .c = c, .nr_jobs = models->nr, .err = err };
	int ret = 0;

	/* one beyond the footprint, so that a knee at it shows */
	many[nr_many++] = few[nr_few++] = most + most / 10 + 1;
	pool.jobs = calloc(models->nr + 1, sizeof(*pool.jobs));
	for (size_t i = 0; i < models->nr && pool.jobs && !ret; i++) {
		struct curve_job *job = &pool.jobs[i];

		job->model = &models->models[i];
		job->by_size = !replay_is_lru(job->model) &&
			       (c->opts.rate == 0 || !job->model->model);
		job->sizes = sizes->nr ? sizes->pages : job->by_size ? few : many;
		job->nr = job->nr_left = sizes->nr ? sizes->nr : job->by_size ? nr_few : nr_many;
		job->points = calloc(job->nr + 1, sizeof(*job->points));
		ret = job->points ? 0 : -ENOMEM;
	}
	if (!pool.jobs || ret)
		ret = err_set(err, -ENOMEM, "no memory for a curve");
	else
		ret = jobs_run(&pool, format, err);
	for (size_t i = 0; i < models->nr && pool.jobs; i++)
		free(pool.jobs[i].points);
	free(pool.jobs);
	return ret;
}
