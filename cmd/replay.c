// SPDX-License-Identifier: GPL-2.0-or-later
/* replay.c - `pagereel replay`: what other models and sizes would have done. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/out.h"
#include "cmd/profile.h"
#include "cmd/replay.h"

enum { DEFAULT_INTERVALS = 100, COMMIT_EVERY_NS = 1000000000, STATUS_EVERY_NS = 250000000 };

struct options {
	const char *path, *shard, *output, *sample, *profile, *calibrate_from;
	struct opt_texts models, sizes;
	uint64_t nr_threads, memory_bytes, seed, capture_id, nr_intervals;
	bool again, by_size, quiet, curve, calibrate;
	enum out_format format;
};

/* A cell and where its result goes. */
struct cell {
	const struct replay_model *model;
	uint32_t memory_pages;
	int64_t result_id;
	bool wanted;	/* of this shard and not in the database yet */
};

struct replay {
	const struct command *self;
	const struct options *o;
	const char *path;	/* of the database that results go into */
	struct store *store;
	struct demand_info info;
	const struct cost_profile *profile;
	struct profile own_profile;	/* where it is not the built-in one */
	struct replay_models models;
	struct replay_sizes sizes;
	struct cell *cells;		/* by size, then model */
	size_t nr_cells, nr_wanted;
	/* those to run */
	struct grid_cell *grid;
	struct cell **grid_cells;
	struct grid_result *results;
	/* while running */
	int code;		/* of storing */
	struct err err;
	uint64_t started_ns, committed_ns, status_ns;
	size_t nr_finished;
	bool status_shown;
};

static volatile sig_atomic_t stop_requested;

static void stop_request(int signal)
{
	stop_requested = signal;
}

static void signals_catch(void)
{
	const struct sigaction action = { .sa_handler = stop_request, .sa_flags = SA_RESETHAND };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* ---- what to run ----------------------------------------------------------------------------- */

static int parse_grid(struct replay *r, struct err *err)
{
	static const char *const default_models[] = { "linux-6.18", "lru", "opt" };
	const struct options *o = r->o;
	int ret = 0;

	for (int i = 0; i < o->models.nr && !ret; i++)
		ret = replay_models_add(&r->models, o->models.item[i], err);
	for (size_t i = 0; !o->models.nr && i < ARRAY_SIZE(default_models) && !ret; i++)
		ret = replay_models_add(&r->models, default_models[i], err);
	for (int i = 0; i < o->sizes.nr && !ret; i++)
		ret = replay_sizes_add(&r->sizes, o->sizes.item[i], r->info.nr_distinct_pages, err);
	if (!o->sizes.nr && !o->curve && !ret)
		ret = replay_sizes_add(&r->sizes, "10%..100%/10", r->info.nr_distinct_pages, err);
	return ret;
}

static struct result_key cell_key(const struct replay *r, const struct cell *cell)
{
	return (struct result_key){
		.stream_id = r->info.stream_id,
		.model = cell->model->name,
		.params = cell->model->params_text,
		.memory_pages = cell->memory_pages,
		.profile = r->profile->name,
		.seed = r->o->seed,
	};
}

static int make_cells(struct replay *r, struct err *err)
{
	uint64_t shard = 1, nr_shards = 1;
	int ret = 0;

	if (r->o->shard)
		ret = replay_shard_parse(r->o->shard, &shard, &nr_shards, err);
	r->cells = calloc(r->models.nr * r->sizes.nr + 1, sizeof(*r->cells));
	if (!r->cells)
		return err_set(err, -ENOMEM, "no memory for the grid");
	for (size_t s = 0; s < r->sizes.nr && !ret; s++) {
		for (size_t m = 0; m < r->models.nr && !ret; m++) {
			struct cell *cell = &r->cells[r->nr_cells];
			struct result_key key;
			bool found;

			*cell = (struct cell){
				.model = &r->models.models[m], .memory_pages = r->sizes.pages[s],
			};
			key = cell_key(r, cell);
			ret = store_result_find(r->store, &key, &cell->result_id, &found, err);
			if (ret || (s * r->models.nr + m) % nr_shards != shard - 1)
				continue;
			cell->wanted = !found || r->o->again;
			r->nr_wanted += cell->wanted;
			r->nr_cells++;
		}
	}
	return ret;
}

static int make_grid(struct replay *r, struct err *err)
{
	size_t nr = 0;

	r->grid = calloc(r->nr_wanted + 1, sizeof(*r->grid));
	r->grid_cells = calloc(r->nr_wanted + 1, sizeof(*r->grid_cells));
	r->results = calloc(r->nr_wanted + 1, sizeof(*r->results));
	if (!r->grid || !r->grid_cells || !r->results)
		return err_set(err, -ENOMEM, "no memory for the grid");
	for (size_t i = 0; i < r->nr_cells; i++) {
		struct cell *cell = &r->cells[i];

		if (!cell->wanted)
			continue;
		r->grid[nr] = (struct grid_cell){
			.model = cell->model->model,
			.kernel = cell->model->kernel,
			.params = cell->model->params,
			.capacity_pages = cell->memory_pages,
		};
		r->grid_cells[nr++] = cell;
	}
	return 0;
}

/* ---- running --------------------------------------------------------------------------------- */

static void status_print(struct replay *r, uint64_t done, uint64_t total, uint64_t now)
{
	double elapsed_ns = (double)(now - r->started_ns);
	double rate = (double)done / elapsed_ns, left_ns = rate ? (double)(total - done) / rate : 0;
	char left[32];

	fprintf(stderr, "\r\033[K%zu of %zu replays, %.0f %%, %.1f M accesses/s, %s left",
		r->nr_finished, r->nr_wanted, total ? 100.0 * (double)done / (double)total : 100,
		rate * 1e3, format_ns(left, sizeof(left), left_ns));
	r->status_shown = true;
}

static bool on_progress(void *ctx, uint64_t done, uint64_t total)
{
	struct replay *r = ctx;
	uint64_t now;

	if (stop_requested || r->code)
		return false;
	if (r->o->quiet || !isatty(STDERR_FILENO))
		return true;
	now = now_ns();
	if (now - r->status_ns > STATUS_EVERY_NS) {
		r->status_ns = now;
		status_print(r, done, total, now);
	}
	return true;
}

static bool on_asked(void *ctx)
{
	(void)ctx;
	return !stop_requested;
}

/* Stored at once, so that nothing finished is lost. */
static void on_finished(void *ctx, size_t i, const struct grid_result *result)
{
	struct replay *r = ctx;
	const struct result_key key = cell_key(r, r->grid_cells[i]);
	uint64_t now = now_ns();

	r->nr_finished++;
	if (!r->code)
		r->code = replay_result_store(r->store, &key, result, r->profile, &r->err);
	if (!r->code && now - r->committed_ns > COMMIT_EVERY_NS) {
		r->committed_ns = now;
		r->code = store_commit(r->store, &r->err);
		if (!r->code)
			r->code = store_begin(r->store, &r->err);
	}
}

static bool wants_kernel(const struct replay *r)
{
	for (size_t i = 0; i < r->nr_wanted; i++)
		if (r->grid[i].kernel)
			return true;
	return false;
}

static int prices_store(struct replay *r, struct err *err)
{
	int ret = 0;

	for (size_t i = 0; i < r->profile->nr_entries && !ret; i++) {
		const struct cost_entry *entry = &r->profile->entries[i];

		ret = store_cost_entry(r->store, r->profile->name, entry->operation, entry->ns,
				       entry->stderr_ns == entry->stderr_ns ?
				       VALUE_OF_REAL(entry->stderr_ns) : VALUE_NONE,
				       entry->source, err);
	}
	return ret;
}

/* The first cell that failed on its own, as the error of the command. */
static int cells_code(const struct replay *r, struct err *err)
{
	for (size_t i = 0; i < r->nr_wanted; i++)
		if (r->results[i].code && r->results[i].code != -ECANCELED)
			return err_set(err, r->results[i].code, "%s at %u pages: %s",
				       r->grid_cells[i]->model->name,
				       r->grid_cells[i]->memory_pages, r->results[i].err.text);
	return 0;
}

static int run_grid(struct replay *r, struct err *err)
{
	struct replay_surroundings around = { 0 };
	struct demand_source source;
	struct db_source db;
	struct grid_opts opts = {
		.nr_threads = (unsigned int)r->o->nr_threads,
		.memory_bytes = r->o->memory_bytes,
		.seed = r->o->seed,
		.nr_intervals = (uint32_t)r->o->nr_intervals,
		.by_size = r->o->by_size,
		.ctx = r, .progress = on_progress, .finished = on_finished,
	};
	int ret = 0, code;

	db_source_init(&db, r->path, &r->info, &source);
	ret = db_source_limit(&db, r->store, &r->info, &source, err);
	if (!ret && wants_kernel(r))
		ret = replay_surroundings_read(r->store, &r->info, &source, &around, err);
	opts.context = &around.context;
	opts.extents = around.extents;
	opts.nr_extents = around.nr_extents;
	if (!ret)
		ret = store_begin(r->store, err);
	if (!ret)
		ret = prices_store(r, err);
	if (!ret) {
		r->started_ns = r->committed_ns = r->status_ns = now_ns();
		ret = grid_run(&source, r->grid, r->nr_wanted, &opts, r->results, err);
		code = store_commit(r->store, &r->err);
		r->code = r->code ? r->code : code;
	}
	if (r->status_shown)
		fprintf(stderr, "\r\033[K");
	replay_surroundings_release(&around);
	db_source_release(&db);
	if (r->code)
		return err_set(err, r->code, "%s", r->err.text);
	return ret ? ret : cells_code(r, err);
}

/* The grid as it was asked for, without what does not change its results. */
static int spec_store(struct replay *r, struct err *err)
{
	size_t bytes = r->models.nr * 400 + r->sizes.nr * 12 + 64, used = 0;
	char *spec = malloc(bytes);
	int ret;

	if (!spec)
		return err_set(err, -ENOMEM, "no memory for the grid");
	for (size_t i = 0; i < r->models.nr; i++) {
		const struct replay_model *m = &r->models.models[i];

		used += (size_t)snprintf(spec + used, bytes - used, "%s%s%s%s", i ? "," : "-m ",
					 m->name, *m->params_text ? ":" : "", m->params_text);
	}
	for (size_t i = 0; i < r->sizes.nr; i++)
		used += (size_t)snprintf(spec + used, bytes - used, "%s%uK", i ? "," : " -M ",
					 r->sizes.pages[i] * (PAGE_BYTES / 1024));
	snprintf(spec + used, bytes - used, " --seed %llu", (unsigned long long)r->o->seed);
	ret = store_replay_run(r->store, r->info.stream_id, spec, r->models.nr * r->sizes.nr, err);
	free(spec);
	return ret;
}

/* Curves instead of a grid. */
static int run_curves(struct replay *r, struct err *err)
{
	struct replay_surroundings around = { 0 };
	struct demand_source source;
	struct db_source db;
	struct grid_opts opts = {
		.nr_threads = (unsigned int)r->o->nr_threads,
		.memory_bytes = r->o->memory_bytes,
		.seed = r->o->seed,
		.ctx = r, .progress = on_progress,
	};
	struct replay_curves curves = {
		.store = r->store, .stream_id = r->info.stream_id, .source = &source,
		.grid_opts = &opts, .opts.seed = r->o->seed, .opts.go_on = on_asked,
	};
	int ret = 0;

	db_source_init(&db, r->path, &r->info, &source);
	if (r->o->sample)
		ret = replay_sample_parse(r->o->sample, &curves.opts, err);
	if (!ret)
		ret = db_source_limit(&db, r->store, &r->info, &source, err);
	for (size_t i = 0; i < r->models.nr && !ret && !around.extents; i++)
		if (r->models.models[i].kernel)
			ret = replay_surroundings_read(r->store, &r->info, &source, &around, err);
	opts.context = &around.context;
	opts.extents = around.extents;
	opts.nr_extents = around.nr_extents;
	r->started_ns = r->status_ns = now_ns();
	if (!ret)
		ret = replay_curves_run(&curves, &r->models, &r->sizes, r->o->format, err);
	if (r->status_shown)
		fprintf(stderr, "\r\033[K");
	replay_surroundings_release(&around);
	db_source_release(&db);
	return ret;
}

/* ---- printing -------------------------------------------------------------------------------- */

static void warn_completeness(const struct replay *r)
{
	const char *text = r->info.completeness;

	if (strstr(text, "fills-only"))
		fprintf(stderr, "warning: this capture shows no hits (fills-only): nothing can be "
			"claimed below the recorded size, and above it hit ratios are estimates\n");
	if (strstr(text, "lossy"))
		fprintf(stderr, "warning: events were lost: the stream covers %.2f %% of what "
			"happened\n", r->info.coverage_pct);
	if (strstr(text, "thinned"))
		fprintf(stderr, "warning: the capture was thinned to one page in %u: counts are of "
			"that sample, sizes are of it too\n", r->info.sample_mask + 1);
}

/* schema/replay_row.sql */
extern const char sql_schema_replay_row[];

static const struct out_column columns[] = {
	{ "model", NULL, OUT_PLAIN },
	{ "params", NULL, OUT_PLAIN },
	{ "memory_pages", "memory", OUT_PAGES },
	{ "accesses", NULL, OUT_COUNT },
	{ "hits", NULL, OUT_COUNT },
	{ "misses", NULL, OUT_COUNT },
	{ "hit_ratio", "hit ratio", OUT_RATIO },
	{ "fills", NULL, OUT_COUNT },
	{ "evictions", NULL, OUT_COUNT },
	{ "scanned", NULL, OUT_COUNT },
	{ "reclaimed", NULL, OUT_COUNT },
	{ "refaults", NULL, OUT_COUNT },
	{ "cpu_ns", "CPU", OUT_NS },
};

static int print_cell(struct query *query, struct out *out, const struct cell *cell,
		      struct err *err)
{
	struct value values[ARRAY_SIZE(columns)];
	int ret;

	query_reset(query);
	query_bind_name(query, ":result_id", VALUE_OF_INT(cell->result_id));
	ret = query_step(query, err);
	if (ret != 1)
		return ret;	/* not finished: no row */
	for (int i = 0; i < (int)ARRAY_SIZE(columns); i++)
		values[i] = query_value(query, i);
	return out_row(out, values);
}

static int print_results(struct replay *r, struct err *err)
{
	struct query *query;
	struct out *out;
	int ret, code;

	ret = query_open(r->store, &query, sql_schema_replay_row, err);
	if (ret)
		return ret;
	out = out_begin(stdout, r->o->format, columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < r->nr_cells && ret >= 0; i++)
		ret = print_cell(query, out, &r->cells[i], err);
	code = out_end(out);
	query_close(query);
	return ret < 0 ? ret : code;
}

/* ---- the command ----------------------------------------------------------------------------- */

static void replay_release(struct replay *r)
{
	if (r->results)
		grid_results_release(r->results, r->nr_wanted);
	free(r->results);
	free(r->grid);
	free(r->grid_cells);
	free(r->cells);
	replay_models_release(&r->models);
	replay_sizes_release(&r->sizes);
	profile_release(&r->own_profile);
	store_close(r->store, NULL);
}

/* RUN.db -> RUN.I-of-N.db, for shards that name no output. NULL: no memory. */
static char *shard_path(const char *path, const char *shard)
{
	const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
	int stem = dot && dot > slash ? (int)(dot - path) : (int)strlen(path);
	char *out = NULL;

	if (asprintf(&out, "%.*s.%.*s-of-%s.db", stem, path, (int)strcspn(shard, "/"), shard,
		     shard + strcspn(shard, "/") + (strchr(shard, '/') != NULL)) < 0)
		return NULL;
	return out;
}

/* A database of our own to put results into: a copy, unless it is there already. */
static int copy_make(const char *from, const char *to, struct err *err)
{
	struct store *store;
	int ret, code;

	if (!access(to, F_OK))
		return 0;
	ret = store_create(&store, to, 0, err);
	if (ret)
		return ret;
	ret = store_merge(store, from, err);
	code = store_close(store, ret ? NULL : err);
	if (ret || code)
		unlink(to);	/* half a copy looks like a whole one */
	return ret ? ret : code;
}

static int calibrate(struct replay *r, struct err *err)
{
	struct episodes episodes = { 0 };
	struct store *from = r->store;
	int64_t capture_id = r->info.capture_id;
	int ret = 0;

	if (r->o->calibrate_from) {
		ret = store_open(&from, r->o->calibrate_from, STORE_READONLY, err);
		if (ret)
			return ret;
		capture_id = 1;
	}
	ret = episodes_load(&episodes, from, capture_id, err);
	if (from != r->store)
		store_close(from, NULL);
	if (!ret)
		ret = profile_fit(&r->own_profile, &episodes, err);
	if (!ret) {
		profile_name(&r->own_profile, "calibrated");
		profile_tell(stderr, &r->own_profile, &episodes);
	}
	episodes_release(&episodes);
	return ret;
}

/* The prices, and where they are not built in a copy of them in the database. */
static int choose_profile(struct replay *r, struct err *err)
{
	bool calibrated = r->o->calibrate || r->o->calibrate_from;
	int ret;

	if (!r->o->profile && !calibrated)
		return 0;
	ret = profile_load(&r->own_profile, r->store, r->o->profile ? r->o->profile : "builtin",
			   err);
	if (!ret && calibrated)
		ret = calibrate(r, err);
	if (!ret)
		ret = profile_store(r->store, &r->own_profile, err);
	r->profile = &r->own_profile.cost;
	return ret;
}

static int replay_prepare(struct replay *r, struct err *err)
{
	uint64_t shard, nr_shards;
	int ret = 0;

	if (r->o->shard)
		ret = replay_shard_parse(r->o->shard, &shard, &nr_shards, err);
	if (!ret && strcmp(r->path, r->o->path))
		ret = copy_make(r->o->path, r->path, err);
	if (!ret)
		ret = store_open(&r->store, r->path, 0, err);
	if (!ret)
		ret = demand_stream_get(r->store, (int64_t)r->o->capture_id, &r->info, err);
	if (!ret)
		ret = choose_profile(r, err);
	if (!ret && !r->info.nr_accesses)
		ret = err_set(err, -ENODATA, "'%s' has page events, but no access among them",
			      r->o->path);
	if (!ret)
		ret = parse_grid(r, err);
	if (!ret && !r->o->curve)
		ret = make_cells(r, err);
	return ret ? ret : make_grid(r, err);
}

static int replay_main(struct replay *r)
{
	struct err err = { "" };
	int ret, code = 0;

	ret = replay_prepare(r, &err);
	if (ret)
		return cmd_fail(r->self, ret, &err);
	warn_completeness(r);
	if (r->o->curve) {
		ret = run_curves(r, &err);
		if (ret == -ECANCELED)
			ret = err_set(&err, -EINTR, "interrupted; the curves printed are kept");
		return ret ? cmd_fail(r->self, ret, &err) : cmd_finish(r->self);
	}
	if (r->nr_wanted)
		ret = run_grid(r, &err);
	if (!ret)
		ret = spec_store(r, &err);
	if (!ret || ret == -ECANCELED)
		code = print_results(r, &err);
	if (ret == -ECANCELED && !code) {
		err_set(&err, -EINTR, "interrupted; %zu of %zu replays are done and kept (run it "
			"again for the rest)", r->nr_finished, r->nr_wanted);
		ret = -EINTR;
	}
	ret = code ? code : ret;
	return ret ? cmd_fail(r->self, ret, &err) : cmd_finish(r->self);
}

static int replay_run(const struct command *self, int argc, char **argv)
{
	struct options o = {
		.nr_threads = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN),
		.memory_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) *
				(uint64_t)sysconf(_SC_PAGESIZE) / 2,
		.seed = 1, .nr_intervals = DEFAULT_INTERVALS, .format = OUT_AUTO,
	};
	const struct opt opts[] = {
		{ 'm', "model", OPT_TEXTS, &o.models, "MODEL[:param=value,...],...",
		  "models, or 'all' (default linux-6.18,lru,opt; see 'pagereel models')" },
		{ 'M', "memory-sizes", OPT_TEXTS, &o.sizes, "SIZE,...",
		  "64M, 20% of the footprint, 32M..256M/8 (default 10%..100%/10)" },
		{ 0, "profile", OPT_TEXT, &o.profile, "NAME|HOST.db",
		  "prices of CPU time: builtin, a name, or a file of 'pagereel calibrate'" },
		{ 0, "calibrate", OPT_FLAG, &o.calibrate, NULL,
		  "fit the prices of reclaim to the durations recorded" },
		{ 0, "calibrate-from", OPT_TEXT, &o.calibrate_from, "CPU.db",
		  "to those of another recording of the same programs (capture -e reclaim-cpu)" },
		{ 'j', "threads", OPT_U64, &o.nr_threads, "N", "threads (default: one per CPU)" },
		{ 0, "memory", OPT_BYTES, &o.memory_bytes, "SIZE",
		  "to use at most (default: half of what the machine has)" },
		{ 0, "curve", OPT_FLAG, &o.curve, NULL,
		  "miss ratio by memory instead (lru: all sizes in one pass), with its knees" },
		{ 0, "sample", OPT_TEXT, &o.sample, "SHARE",
		  "--curve from 1% of the pages, or (lru) from at most 8192 pages, with errors" },
		{ 'o', "output", OPT_TEXT, &o.output, "OUT.db",
		  "put the results into this copy of RUN.db, made if it is not there" },
		{ 0, "shard", OPT_TEXT, &o.shard, "I/N",
		  "only the Ith of N parts of the grid (into RUN.I-of-N.db; see pagereel merge)" },
		{ 0, "capture", OPT_U64, &o.capture_id, "ID",
		  "of several captures (default: the first)" },
		{ 0, "seed", OPT_U64, &o.seed, "N", "of models that draw lots (default 1)" },
		{ 0, "intervals", OPT_U64, &o.nr_intervals, "N",
		  "points of the series (default 100)" },
		{ 0, "again", OPT_FLAG, &o.again, NULL,
		  "run what is in the database already, too" },
		{ 0, "by-size", OPT_FLAG, &o.by_size, NULL, "no single pass for all sizes of lru" },
		{ 'q', "quiet", OPT_FLAG, &o.quiet, NULL, "no progress" },
		{ 0, "format", OPT_FORMAT, &o.format, "FORMAT", "table, csv, json or ndjson" },
		{ 0 },
	};
	struct replay r = { .self = self, .o = &o, .profile = cost_profile_builtin() };
	char *own_path = NULL;
	int status, nr;

	nr = opts_parse(self, opts, argc, argv, false, &argv, &status);
	if (nr < 0)
		return status;
	if (nr != 1)
		return cmd_usage(self, nr ? "one database at a time" : "no database given");
	if (!o.nr_threads || o.nr_threads > 256)
		return cmd_usage(self, "-j takes 1 to 256 threads");
	if (o.nr_intervals > 1000000)
		return cmd_usage(self, "--intervals takes at most 1000000");
	if (o.sample && !o.curve)
		return cmd_usage(self, "--sample is for --curve");
	o.path = argv[0];
	if (o.shard && !o.output)
		r.path = own_path = shard_path(o.path, o.shard);
	else
		r.path = o.output ? o.output : o.path;
	if (!r.path)
		return cmd_usage(self, "no memory");
	signals_catch();
	status = replay_main(&r);
	replay_release(&r);
	free(own_path);
	return status;
}

const struct command cmd_replay = {
	.name = "replay",
	.args = "RUN.db [OPTION]...",
	.summary = "Replay what was recorded through other models, sizes and settings.",
	.examples = "  pagereel replay run.db -m linux-6.18,lru,arc,opt -M 32M..256M/8\n"
		    "  pagereel replay run.db -m all -M 10%..100%/10 --shard 3/16\n"
		    "  pagereel replay run.db -m lru,arc,opt --curve --sample 1%\n",
	.run = replay_run,
};
