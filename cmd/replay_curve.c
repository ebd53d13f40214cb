// SPDX-License-Identifier: GPL-2.0-or-later
/* replay_curve.c - `pagereel replay --curve`: miss ratio by memory, at many sizes at once. */
#include <errno.h>
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

/* A model without a curve in one pass, not sampled: a run for each size. */
static int run_by_sizes(const struct replay_curves *c, const struct grid_cell *cell,
			const uint32_t *sizes, size_t nr, struct curve_point *points,
			struct err *err)
{
	struct grid_cell *cells = calloc(nr, sizeof(*cells));
	struct grid_result *results = calloc(nr, sizeof(*results));
	int ret = cells && results ? 0 : err_set(err, -ENOMEM, "no memory for a curve");

	for (size_t k = 0; k < nr && !ret; k++) {
		cells[k] = *cell;
		cells[k].capacity_pages = sizes[k];
	}
	if (!ret)
		ret = grid_run(c->source, cells, nr, c->grid_opts, results, err);
	for (size_t k = 0; k < nr && !ret; k++) {
		const struct replay_counters *counters = &results[k].counters;

		if (results[k].code)
			ret = err_set(err, results[k].code, "%s", results[k].err.text);
		points[k] = (struct curve_point){
			.memory_pages = sizes[k],
			.miss_ratio = (double)counters->misses / (double)counters->accesses,
		};
	}
	if (results)
		grid_results_release(results, nr);
	free(results);
	free(cells);
	return ret;
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

static int model_curve(const struct replay_curves *c, const struct replay_model *model,
		       const uint32_t *sizes, size_t nr, struct out *out, struct err *err)
{
	const struct grid_cell cell = { .model = model->model, .kernel = model->kernel,
					.params = model->params };
	struct result_key key = { .stream_id = c->stream_id, .model = model->name,
				  .params = model->params_text, .seed = c->opts.seed };
	struct curve_point *points = calloc(nr + 1, sizeof(*points));
	struct curve_knee knees[MAX_KNEES];
	const char *method = curve_method(&cell, &c->opts);
	size_t nr_knees = 0;
	int ret = points ? 0 : err_set(err, -ENOMEM, "no memory for a curve");

	if (!ret && (model->kernel || (c->opts.rate == 0 && !replay_is_lru(model)))) {
		method = "exact";
		ret = run_by_sizes(c, &cell, sizes, nr, points, err);
	} else if (!ret) {
		ret = curve_run(c->source, &cell, sizes, nr, &c->opts, points, err);
	}
	if (!ret) {
		nr_knees = curve_knees(points, nr, knees, MAX_KNEES);
		nr_knees = nr_knees < MAX_KNEES ? nr_knees : MAX_KNEES;
		ret = curve_store(c, &key, method, points, nr, knees, nr_knees, err);
	}
	if (!ret)
		ret = curve_print(out, &key, method, points, nr, knees, nr_knees);
	free(points);
	return ret;
}

bool replay_is_lru(const struct replay_model *model)
{
	return model->model && !strcmp(model->name, "lru");
}

int replay_curves_run(const struct replay_curves *c, const struct replay_models *models,
		      const struct replay_sizes *sizes, enum out_format format, struct err *err)
{
	uint64_t footprint = c->source->nr_distinct_pages;
	uint32_t most = footprint < UINT32_MAX / 2 ? (uint32_t)footprint : UINT32_MAX / 2;
	uint32_t many[DEFAULT_SIZES + 1], few[DEFAULT_RUNS + 1];
	size_t nr_many = curve_sizes(most / 1000 + 1, most, many, DEFAULT_SIZES);
	size_t nr_few = curve_sizes(most / 100 + 1, most, few, DEFAULT_RUNS);
	struct out *out = c->silent ? NULL :
		out_begin(stdout, format, columns, ARRAY_SIZE(columns));
	int ret = 0, code;

	/* one beyond the footprint, so that a knee at it shows */
	many[nr_many++] = few[nr_few++] = most + most / 10 + 1;
	for (size_t i = 0; i < models->nr && !ret; i++) {
		const struct replay_model *model = &models->models[i];
		bool one_pass = replay_is_lru(model) || (c->opts.rate != 0 && model->model);

		if (sizes->nr)
			ret = model_curve(c, model, sizes->pages, sizes->nr, out, err);
		else
			ret = model_curve(c, model, one_pass ? many : few,
					  one_pass ? nr_many : nr_few,
					  out, err);
	}
	code = out ? out_end(out) : 0;
	return ret ? ret : code;
}
