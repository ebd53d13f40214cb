// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bench_replay.c - replay speed: M accesses/s of CPU time on one thread, reading and decoding the
 * stream from a database included, beside the speed aimed at, a plain hash lru that is fed the same
 * accesses, and the rate of dependent random reads over the same pages, all in the same run. The
 * better of two passes counts: the machine may be busy.
 *
 *	bench_replay [MODEL|reference|curve|grid]... [accesses=N] [pages=N] [stream=zipf|mixed]
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/replay.h"
#include "lru_reference.h"
#include "streams.h"

enum { NR_PASSES = 2, NR_SHARES = 3, GRID_CELLS = 12 };

static const int shares_pct[NR_SHARES] = { 1, 10, 50 };

/* M accesses/s to reach. */
static const struct target {
	const char *name;
	double rate;
} targets[] = {
	{ "lru", 70 }, { "fifo", 110 }, { "clock", 90 }, { "sieve", 80 }, { "2q", 40 },
	{ "arc", 40 }, { "s3fifo", 40 }, { "slru", 50 }, { "lfu", 30 }, { "lirs", 20 },
	{ "car", 25 }, { "clock-pro", 25 }, { "wtinylfu", 15 }, { "opt", 10 },
	{ "linux-6.18", 30 }, { "exact", 40 }, { "shards", 500 },
};

static const double lru_over_reference = 12, two_threads_over_one = 1.8;

struct bench {
	uint64_t nr;
	uint32_t nr_ids;
	const char *stream;
	char path[256];
	uint32_t *pages;		/* for the reference: nr of them */
	uint64_t nr_made;
	struct store *store;
	struct page_packer *packer;
	struct demand_info info;
	struct db_source db;
	struct demand_source source;
	struct replay_surroundings around;
	double latency_rate;		/* dependent random reads, M/s */
	double reference_rate[NR_SHARES];
	char **wanted;
	int nr_wanted;
	struct err err;
};

/* CPU time, so that other work on the machine counts less. */
static double now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double cpu_ns(void)
{
	return now_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static bool is_wanted(const struct bench *b, const char *name)
{
	for (int i = 0; i < b->nr_wanted; i++)
		if (!strcmp(b->wanted[i], name))
			return true;
	return !b->nr_wanted;
}

/* ---- the database ---------------------------------------------------------------------------- */

static void chunk_store(struct bench *b)
{
	struct page_chunk chunk;

	page_packer_take(b->packer, &chunk);
	if (chunk.nr_events && store_page_chunk(b->store, &chunk, &b->err))
		fprintf(stderr, "%s\n", b->err.text);
	page_chunk_release(&chunk);
}

static void request_add(void *ctx, uint32_t page, uint32_t run)
{
	struct bench *b = ctx;
	const struct page_event event = {
		.ts_ns = b->nr_made * 1000, .page_index = page, .pages = run, .file_id = 1,
		.pid = 4711, .op = PAGE_OP_READ,
	};

	for (uint32_t i = 0; i < run; i++)
		b->pages[b->nr_made++] = page + i;
	if (page_packer_add(b->packer, &event))
		chunk_store(b);
}

static int stream_store(struct bench *b)
{
	const struct capture_info capture = {
		.source = "synth", .input = "bench", .has_hits = true,
	};
	int64_t capture_id;
	int ret = store_create(&b->store, b->path, 0, &b->err);

	if (!ret)
		ret = store_begin(b->store, &b->err);
	if (!ret)
		ret = store_capture_begin(b->store, &capture, &capture_id, &b->err);
	if (ret)
		return ret;
	b->nr_made = 0;
	b->packer = page_packer_new(capture_id, 0, 0);
	if (!strcmp(b->stream, "zipf"))
		stream_zipf(b->nr, b->nr_ids, request_add, b);
	else
		stream_mixed(b->nr, b->nr_ids, request_add, b);
	chunk_store(b);
	page_packer_free(b->packer);
	ret = store_commit(b->store, &b->err);
	return ret ? ret : demand_stream_get(b->store, 0, &b->info, &b->err);
}

static int source_open(struct bench *b)
{
	int ret = stream_store(b);

	if (ret)
		return ret;
	db_source_init(&b->db, b->path, &b->info, &b->source);
	return replay_surroundings_read(b->store, &b->info, &b->source, &b->around, &b->err);
}

static void source_close(struct bench *b)
{
	replay_surroundings_release(&b->around);
	db_source_release(&b->db);
	store_close(b->store, NULL);
	b->store = NULL;
	unlink(b->path);
}

/* ---- references ------------------------------------------------------------------------------ */

/* ns of a random read that depends on the one before, over four bytes a page. */
static double latency_ns(uint32_t nr_ids)
{
	uint64_t state = 3;
	uint32_t *order = permutation(nr_ids, &state), *next = malloc(4ULL * nr_ids), at = 0;
	volatile uint32_t sink;
	double from, took;

	for (uint32_t i = 0; i < nr_ids; i++)
		next[order[i]] = order[i + 1 == nr_ids ? 0 : i + 1];
	from = cpu_ns();
	for (uint32_t i = 0; i < 10000000; i++)
		at = next[at];
	took = cpu_ns() - from;
	sink = at;
	(void)sink;
	free(order);
	free(next);
	return took / 1e7;
}

static uint32_t share_of(const struct bench *b, int share)
{
	return (uint32_t)(b->source.nr_distinct_pages * (uint64_t)shares_pct[share] / 100);
}

static void bench_references(struct bench *b)
{
	for (int share = 0; share < NR_SHARES; share++) {
		double best_ns = 1e18, hits = 0;

		for (int pass = 0; pass < NR_PASSES; pass++) {
			double from = cpu_ns(), took;

			hits = (double)ref_lru_run(b->pages, b->nr, share_of(b, share));
			took = cpu_ns() - from;
			best_ns = took < best_ns ? took : best_ns;
		}
		b->reference_rate[share] = (double)b->nr * 1e3 / best_ns;
		printf("%-6s reference   %3d%% %6.1f M/s, hit ratio %.4f\n", b->stream,
		       shares_pct[share], b->reference_rate[share], hits / (double)b->nr);
		fflush(stdout);
	}
}

/* ---- measuring ------------------------------------------------------------------------------- */

static double target_rate(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++)
		if (!strcmp(targets[i].name, name))
			return targets[i].rate;
	return 0;
}

static void print_target(double value, double target)
{
	if (target != 0)
		printf(", aim %g: %s", target, value >= target ? "met" : "MISSED");
}

static void run_cells(struct bench *b, const struct grid_cell *cells, size_t nr,
		      unsigned int nr_threads, struct grid_result *results)
{
	const struct grid_opts opts = {
		.nr_threads = nr_threads, .by_size = true, .context = &b->around.context,
		.extents = b->around.extents, .nr_extents = b->around.nr_extents,
	};

	if (grid_run(&b->source, cells, nr, &opts, results, &b->err))
		fprintf(stderr, "%s\n", b->err.text);
}

static void print_model(const struct bench *b, const char *name, int share, double rate,
			const struct replay_counters *c)
{
	double times = b->reference_rate[share] > 0 ? rate / b->reference_rate[share] : 0;

	printf("%-6s %-11s %3d%% %6.1f M/s", b->stream, name, shares_pct[share], rate);
	print_target(rate, target_rate(name));
	if (times > 0)
		printf(", %.1f x reference", times);
	if (times > 0 && !strcmp(name, "lru"))
		print_target(times, lru_over_reference);
	printf(", %.1f x latency limit, hit ratio %.4f, %.1f bytes a page\n",
	       rate / b->latency_rate, (double)c->hits / (double)c->accesses,
	       (double)c->metadata_bytes / b->nr_ids);
	fflush(stdout);
}

/* One model or kernel at each share of the footprint. */
static void bench_cell(struct bench *b, const char *name, struct grid_cell cell)
{
	for (int share = 0; share < NR_SHARES; share++) {
		struct replay_counters counters = { 0 };
		double best_ns = 1e18;

		cell.capacity_pages = share_of(b, share);
		for (int pass = 0; pass < NR_PASSES; pass++) {
			struct grid_result result;
			double from = cpu_ns(), took;

			run_cells(b, &cell, 1, 1, &result);
			took = cpu_ns() - from;
			best_ns = took < best_ns ? took : best_ns;
			counters = result.counters;
			grid_results_release(&result, 1);
		}
		print_model(b, name, share, (double)b->nr * 1e3 / best_ns, &counters);
	}
}

static void bench_models(struct bench *b)
{
	uint64_t params[64];

	for (const struct model_ops *const *ops = textbook_models; *ops; ops++) {
		if ((*ops)->params)
			params_defaults((*ops)->params, params, NULL);
		if (is_wanted(b, (*ops)->name))
			bench_cell(b, (*ops)->name,
				   (struct grid_cell){ .model = *ops, .params = params });
	}
	for (const struct kernel_ops *const *ops = kernel_models; *ops; ops++) {
		if ((*ops)->params)
			params_defaults((*ops)->params, params, NULL);
		if (is_wanted(b, (*ops)->name) &&
		    (b->nr_wanted || target_rate((*ops)->name) > 0))
			bench_cell(b, (*ops)->name,
				   (struct grid_cell){ .kernel = *ops, .params = params });
	}
}

/* A grid of textbook models and sizes, on one and on two threads, in wall time. */
static void bench_grids(struct bench *b)
{
	static const char *const models[] = { "lru", "arc", "sieve", "2q" };
	struct grid_result results[GRID_CELLS];
	struct grid_cell cells[GRID_CELLS];
	uint64_t params[4][64];
	double best_ns[2] = { 1e18, 1e18 };
	size_t nr = 0;

	for (size_t m = 0; m < ARRAY_SIZE(models); m++)
		for (const struct model_ops *const *ops = textbook_models; *ops; ops++) {
			if (strcmp((*ops)->name, models[m]))
				continue;
			if ((*ops)->params)
				params_defaults((*ops)->params, params[m], NULL);
			for (int share = 0; share < NR_SHARES; share++)
				cells[nr++] = (struct grid_cell){
					.model = *ops, .params = params[m],
					.capacity_pages = share_of(b, share),
				};
		}
	for (int pass = 0; pass < 2 * NR_PASSES; pass++) {
		double from = now_ns(CLOCK_MONOTONIC), took;

		run_cells(b, cells, nr, 1 + pass % 2, results);
		took = now_ns(CLOCK_MONOTONIC) - from;
		grid_results_release(results, nr);
		best_ns[pass % 2] = took < best_ns[pass % 2] ? took : best_ns[pass % 2];
	}
	printf("%-6s grid of %zu, two threads %.2f x one", b->stream, nr, best_ns[0] / best_ns[1]);
	print_target(best_ns[0] / best_ns[1], two_threads_over_one);
	printf(" (wall time: other work counts)\n");
}

static void bench_curves(struct bench *b)
{
	const struct curve_opts opts[] = { { 0 }, { .rate = 0.01 }, { .max_pages = 8192 } };
	const struct grid_cell cell = { .model = textbook_models[1] };
	struct curve_point points[100];
	uint32_t sizes[100];
	size_t nr = curve_sizes(1000, b->nr_ids, sizes, 100);

	for (size_t i = 0; i < ARRAY_SIZE(opts); i++) {
		const char *method = curve_method(&cell, &opts[i]);
		double best_ns = 1e18;

		for (int pass = 0; pass < NR_PASSES; pass++) {
			double from = cpu_ns(), took;

			curve_run(&b->source, &cell, sizes, nr, &opts[i], points, NULL);
			took = cpu_ns() - from;
			best_ns = took < best_ns ? took : best_ns;
		}
		printf("%-6s curve %-10s %6.1f M/s", b->stream, method,
		       (double)b->nr * 1e3 / best_ns);
		print_target((double)b->nr * 1e3 / best_ns, target_rate(method));
		printf("\n");
	}
}

/* What reading alone costs: nothing can be faster than that. */
static void bench_reading(struct bench *b)
{
	double best_ns = 1e18;

	for (int pass = 0; pass < NR_PASSES; pass++) {
		struct demand_block block;
		double from = cpu_ns(), took;
		void *cursor;

		if (b->source.open(b->source.ctx, 0, &cursor, &b->err))
			return;
		while (b->source.next(cursor, &block, &b->err) == 1)
			;
		b->source.close(cursor);
		took = cpu_ns() - from;
		best_ns = took < best_ns ? took : best_ns;
	}
	printf("%-6s reading     %6.1f M accesses/s\n", b->stream, (double)b->nr * 1e3 / best_ns);
}

static int bench_stream(struct bench *b)
{
	int ret = source_open(b);

	if (ret) {
		fprintf(stderr, "bench_replay: %s\n", b->err.text);
		return ret;
	}
	printf("%-6s stream of %.1f M accesses in %.1f M requests over %.2f M pages\n", b->stream,
	       (double)b->source.nr_accesses / 1e6, (double)b->info.nr_records / 1e6,
	       (double)b->source.nr_distinct_pages / 1e6);
	b->latency_rate = 1e3 / latency_ns(b->nr_ids);
	printf("%-6s latency limit %5.1f M/s: a dependent random read takes %.1f ns\n", b->stream,
	       b->latency_rate, 1e3 / b->latency_rate);
	bench_reading(b);
	if (is_wanted(b, "reference"))
		bench_references(b);
	bench_models(b);
	if (is_wanted(b, "curve"))
		bench_curves(b);
	if (is_wanted(b, "grid"))
		bench_grids(b);
	source_close(b);
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const streams[] = { "zipf", "mixed" };
	struct bench b = { .nr = 20000000, .nr_ids = 2000000, .wanted = argv + 1 };
	const char *only = NULL, *dir = getenv("TMPDIR");
	int ret = 0;

	for (int i = 1; i < argc; i++) {
		if (!strncmp(argv[i], "accesses=", 9))
			b.nr = strtoull(argv[i] + 9, NULL, 10);
		else if (!strncmp(argv[i], "pages=", 6))
			b.nr_ids = (uint32_t)strtoul(argv[i] + 6, NULL, 10);
		else if (!strncmp(argv[i], "stream=", 7))
			only = argv[i] + 7;
		else
			argv[1 + b.nr_wanted++] = argv[i];
	}
	b.pages = malloc(4 * b.nr);
	if (!b.pages)
		return 4;
	snprintf(b.path, sizeof(b.path), "%s/bench_replay.%d.db", dir ? dir : "/tmp", getpid());
	for (size_t i = 0; i < ARRAY_SIZE(streams) && !ret; i++) {
		b.stream = streams[i];
		if (!only || !strcmp(only, b.stream))
			ret = bench_stream(&b);
	}
	free(b.pages);
	return ret ? 1 : 0;
}
