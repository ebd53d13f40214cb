// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze_validate.c - `pagereel analyze RUN.db validate`: replays the recorded kernel's own model
 * at the recorded size and compares it with what the kernel did. The error found is stored, so that
 * every what-if can print it beside its own figures.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/analyze.h"
#include "cmd/replay.h"

enum { MAX_COUNTERS = 16, MAX_PATH = 1024 };

struct counter {
	char name[24];
	struct value recorded, replayed;
};

struct validation {
	struct store *store;
	struct demand_info info;
	struct replay_surroundings around;
	struct demand_source source;
	struct db_source db;
	char path[MAX_PATH];		/* of the memcg */
	char *pids;			/* of its tasks, as JSON */
	struct replay_models models;	/* one */
	struct grid_result result;
	struct counter counters[MAX_COUNTERS];
	int nr_counters;
	double warm_pct;
};

/* ---- which model ----------------------------------------------------------------------------- */

static bool model_exists(const char *name)
{
	for (int i = 0; kernel_models[i]; i++)
		if (!strcmp(kernel_models[i]->name, name))
			return true;
	return false;
}

/* Was multi-gen LRU on? */
static int lru_gen_on(struct validation *v, bool *on, struct err *err)
{
	const struct value id = VALUE_OF_INT(v->info.capture_id);
	int64_t enabled = 0;
	bool found;
	int ret = store_get_int(v->store, "SELECT max(CAST(value AS INTEGER)) FROM context WHERE"
				" capture_id = ?1 AND subject = 'lru_gen' AND key = 'enabled'",
				&id, 1, &enabled, &found, err);

	*on = !ret && found && enabled & 1;
	return ret;
}

/* "linux-6.18" for 6.18.44-fc, "linux-mglru" where that was on. */
static int choose_model(struct validation *v, struct err *err)
{
	const char *release = v->around.context.kernel_release;
	int major = 0, minor = 0, ret;
	char name[32];
	bool mglru;

	if (!*release || sscanf(release, "%d.%d", &major, &minor) != 2)
		return err_set(err, -ENODATA, "this capture does not say which kernel it is of");
	ret = lru_gen_on(v, &mglru, err);
	if (ret)
		return ret;
	if (mglru)
		snprintf(name, sizeof(name), "linux-mglru%s",
			 major == 6 && minor < 8 ? "-6.1" : "");
	else
		snprintf(name, sizeof(name), "linux-%d.%d", major, minor);
	if (!model_exists(name))
		return err_set(err, -ENODATA, "there is no model of the kernel recorded, %s%s (see "
			       "'pagereel models')", release, mglru ? " with multi-gen LRU" : "");
	return replay_models_add(&v->models, name, err);
}

/* ---- what the kernel did --------------------------------------------------------------------- */

/* The pids of the tasks that are replayed, "[1,2]". */
static int list_pids(struct validation *v, struct err *err)
{
	struct demand_task *tasks = NULL;
	size_t nr = 0, used = 1;
	int ret = demand_tasks(v->store, v->info.stream_id, &tasks, &nr, err);

	if (ret)
		return ret;
	v->pids = malloc(nr * 12 + 3);
	if (!v->pids) {
		ret = err_set(err, -ENOMEM, "no memory for %zu tasks", nr);
		goto out;
	}
	strcpy(v->pids, "[");
	for (size_t i = 0; i < nr; i++)
		if (!v->db.tasks.some_out || (i < v->db.tasks.nr && v->db.tasks.in[i]))
			used += (size_t)sprintf(v->pids + used, "%s%u", used > 1 ? "," : "",
						tasks[i].pid);
	strcpy(v->pids + used, "]");
out:
	demand_tasks_free(tasks, nr);
	return ret;
}

static int read_recorded(struct validation *v, struct err *err)
{
	struct query *query;
	int ret = query_open(v->store, &query, sql_analyze_validate_recorded, err);

	if (ret)
		return ret;
	query_bind_name(query, ":capture_id", VALUE_OF_INT(v->info.capture_id));
	query_bind_name(query, ":path", VALUE_OF_TEXT((const char *)v->path));
	query_bind_name(query, ":pids", VALUE_OF_TEXT((const char *)v->pids));
	while ((ret = query_step(query, err)) == 1 && v->nr_counters < MAX_COUNTERS) {
		struct counter *c = &v->counters[v->nr_counters++];

		snprintf(c->name, sizeof(c->name), "%s", query_text(query, 0));
		c->recorded = query_is_null(query, 1) ? VALUE_NONE :
			      VALUE_OF_INT(query_int(query, 1));
	}
	query_close(query);
	return ret < 0 ? ret : 0;
}

/* ---- what the model does --------------------------------------------------------------------- */

static struct value replayed(const struct replay_counters *c, const char *name)
{
	const struct { const char *name; uint64_t value; } all[] = {
		{ "fills", c->fills }, { "evictions", c->evictions }, { "scanned", c->scanned },
		{ "activated", c->activated }, { "deactivated", c->deactivated },
		{ "refaults", c->refaults },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (!strcmp(all[i].name, name) && all[i].value != MODEL_COUNTER_NONE)
			return VALUE_OF_INT((int64_t)all[i].value);
	return VALUE_NONE;
}

static int run_model(struct validation *v, struct err *err)
{
	const struct replay_model *model = &v->models.models[0];
	const struct grid_cell cell = {
		.kernel = model->kernel, .params = model->params,
		.capacity_pages = (uint32_t)v->around.context.limit_pages,
	};
	const struct grid_opts opts = {
		.nr_threads = 1, .seed = 1, .context = &v->around.context,
		.extents = v->around.extents, .nr_extents = v->around.nr_extents,
	};
	int ret = grid_run(&v->source, &cell, 1, &opts, &v->result, err);

	if (!ret && v->result.code)
		ret = err_set(err, v->result.code, "%s", v->result.err.text);
	for (int i = 0; !ret && i < v->nr_counters; i++)
		v->counters[i].replayed = replayed(&v->result.counters, v->counters[i].name);
	return ret;
}

static int store_counters(struct validation *v, struct err *err)
{
	const struct result_key key = {
		.stream_id = v->info.stream_id,
		.model = v->models.models[0].name,
		.params = v->models.models[0].params_text,
		.memory_pages = (uint32_t)v->around.context.limit_pages,
		.profile = cost_profile_builtin()->name,
		.seed = 1,
	};
	int ret = store_begin(v->store, err), code;

	for (int i = 0; !ret && i < v->nr_counters; i++)
		ret = store_validation(v->store, &key, v->counters[i].name,
				       v->counters[i].recorded, v->counters[i].replayed, err);
	code = ret ? store_rollback(v->store, NULL) : store_commit(v->store, err);
	return ret ? ret : code;
}

/* ---- printing -------------------------------------------------------------------------------- */

static double error_pct(const struct counter *c)
{
	if (c->recorded.type != VALUE_INT || c->replayed.type != VALUE_INT || !c->recorded.i)
		return NAN;
	return 100.0 * (double)(c->replayed.i - c->recorded.i) / (double)c->recorded.i;
}

static int print_counters(const struct validation *v, enum out_format format)
{
	static const struct out_column columns[] = {
		{ "capture_id", "capture", OUT_PLAIN },
		{ "model", NULL, OUT_PLAIN },
		{ "memory_pages", "memory", OUT_PAGES },
		{ "counter", NULL, OUT_PLAIN },
		{ "recorded", NULL, OUT_COUNT },
		{ "replayed", NULL, OUT_COUNT },
		{ "error_pct", "error", OUT_PCT },
	};
	struct out *out = out_begin(stdout, format, columns, ARRAY_SIZE(columns));
	int ret = 0;

	for (int i = 0; i < v->nr_counters && !ret; i++) {
		const struct counter *c = &v->counters[i];
		double error = error_pct(c);
		const struct value row[] = {
			VALUE_OF_INT(v->info.capture_id),
			VALUE_OF_TEXT(v->models.models[0].name),
			VALUE_OF_INT((int64_t)v->around.context.limit_pages),
			VALUE_OF_TEXT((const char *)c->name), c->recorded, c->replayed,
			isnan(error) ? VALUE_NONE : VALUE_OF_REAL(error),
		};

		ret = out_row(out, row);
	}
	return out_end(out) ?: ret;
}

#define MARKS "mm_vmscan_memcg_reclaim_begin, mm_vmscan_memcg_reclaim_end"

/* What is n/a on the kernel's side, and why. */
static void print_unknown(const struct validation *v)
{
	static const struct { const char *counter, *events; } needs[] = {
		{ "fills", "mm_filemap_add_to_page_cache" },
		{ "evictions", MARKS ", mm_filemap_delete_from_page_cache" },
		{ "scanned", MARKS ", mm_vmscan_lru_shrink_inactive" },
		{ "activated", MARKS ", mm_vmscan_lru_shrink_inactive, mm_lru_activate, "
		  "mm_filemap_add_to_page_cache" },
		{ "deactivated", MARKS ", mm_vmscan_lru_shrink_active" },
		{ "refaults", "memory.stat of the memcg at start and end" },
	};

	for (int i = 0; i < v->nr_counters; i++)
		for (size_t j = 0; j < ARRAY_SIZE(needs); j++)
			if (v->counters[i].recorded.type != VALUE_INT &&
			    !strcmp(needs[j].counter, v->counters[i].name))
				printf("\n%s is n/a: it needs %s.\n", needs[j].counter,
				       needs[j].events);
}

static void print_verdict(const struct validation *v)
{
	const struct replay_counters *r = &v->result.counters;
	double error = error_pct(&v->counters[0]), seldom = 0.1 * (double)r->fills;
	const char *name = v->models.models[0].name;

	if (isnan(error))
		printf("\nNot validated: the capture has no fills to compare with "
		       "(mm_filemap_add_to_page_cache).\n");
	else if ((double)(r->fills - r->fills_compulsory) < seldom)
		printf("\n%s gives fills %+.2f%% against the recording, but nearly all of them are "
		       "first touches: that proves little.\n", name, error);
	else if (fabs(error) <= 1)
		printf("\n%s gives fills %+.2f%% against the recording: faithful here; results "
		       "closer than that are not ranked.\n", name, error);
	else if (fabs(error) <= 3)
		printf("\n%s gives fills %+.2f%% against the recording: near; results closer than "
		       "that are not ranked.\n", name, error);
	else
		printf("\n%s gives fills %+.2f%% against the recording: NOT faithful here; its "
		       "what-ifs are estimates of that error at best.\n", name, error);
	printf("refaults: workingset_refault_file of the memcg, and the model's pages with a "
	       "shadow entry;\nthe view refault counts otherwise (docs/schema.md).\n");
	warm_print(v->warm_pct);
	if (strcmp(v->info.completeness, "complete"))
		printf("The stream is %s (%.2f%% of what happened).\n", v->info.completeness,
		       v->info.coverage_pct);
}

/* ---- the analysis ---------------------------------------------------------------------------- */

static int prepare(struct validation *v, const struct analyze_args *args, struct err *err)
{
	struct value capture = args->capture;
	int ret = demand_stream_get(v->store, capture.type == VALUE_INT ? capture.i : 0, &v->info,
				    err);

	if (ret)
		return ret;
	db_source_init(&v->db, store_path(v->store), &v->info, &v->source);
	ret = db_source_limit(&v->db, v->store, &v->info, &v->source, err);
	if (!ret)
		ret = replay_surroundings_read(v->store, &v->info, &v->source, &v->around, err);
	if (!ret)
		ret = replay_memcg_path(v->store, v->info.capture_id, v->path, sizeof(v->path),
					err);
	if (!ret)
		ret = warm_pct_read(v->store, v->info.capture_id, &v->warm_pct, err);
	if (ret)
		return ret;
	if (args->size_bytes)
		v->around.context.limit_pages = args->size_bytes / PAGE_BYTES;
	if (v->around.context.limit_pages >= UINT32_MAX)
		return err_set(err, -ENODATA, "this capture does not name a memcg limit: there is "
			       "no recorded size to replay at (give it with --size SIZE, or record "
			       "with pagereel capture --memory SIZE)");
	if (!v->info.has_hits)
		return err_set(err, -ENODATA, "this capture shows no hits (fills-only): its own "
			       "model cannot be fed with it");
	return choose_model(v, err);
}

int analyze_validate_print(const struct analyze_args *args, uint64_t *nr_rows, struct err *err)
{
	struct validation v = { .store = args->store };
	int ret = prepare(&v, args, err);

	if (!ret)
		ret = list_pids(&v, err);
	if (!ret)
		ret = read_recorded(&v, err);
	if (!ret)
		ret = run_model(&v, err);
	if (!ret)
		ret = store_counters(&v, err);
	if (!ret)
		ret = print_counters(&v, args->format);
	if (!ret && out_format_is_table(args->format)) {
		print_unknown(&v);
		print_verdict(&v);
	}
	*nr_rows = ret ? 0 : (uint64_t)v.nr_counters;
	grid_results_release(&v.result, 1);
	replay_models_release(&v.models);
	replay_surroundings_release(&v.around);
	db_source_release(&v.db);
	free(v.pids);
	return ret;
}
