// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bench_replay.c - replay speed of each textbook model, in M accesses/s on one thread, the decoding
 * of the stream included, beside a plain hash lru and the memory's latency measured in the same
 * run.
 *
 *	bench_replay [MODEL]... [accesses=N] [pages=N] [stream=zipf|mixed]
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lru_reference.h"
#include "replay/replay.h"

struct bench {
	uint32_t *pages;
	uint64_t nr;
	uint32_t nr_ids;
	double latency_rate;	/* dependent random reads, M/s */
	struct array_source array;
	struct demand_source source;
	char **wanted;
	int nr_wanted;
};

/* CPU time, so that other work on the machine counts less. */
static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---- streams --------------------------------------------------------------------------------- */

static uint32_t *permutation(uint32_t nr, uint64_t *state)
{
	uint32_t *p = malloc(4ULL * nr);

	for (uint32_t i = 0; i < nr; i++)
		p[i] = i;
	for (uint32_t i = nr - 1; i; i--) {
		uint32_t j = rand_next(state) % (i + 1), t = p[i];

		p[i] = p[j];
		p[j] = t;
	}
	return p;
}

struct zipf {
	double *cdf;
	uint32_t *guide, *place;
	uint32_t nr;
};

static void zipf_init(struct zipf *z, uint32_t nr, double theta, uint64_t *state)
{
	double sum = 0;

	z->nr = nr;
	z->cdf = malloc(8ULL * nr);
	z->guide = malloc(4ULL * (nr + 1));
	z->place = permutation(nr, state);
	for (uint32_t i = 0; i < nr; i++)
		z->cdf[i] = sum += pow(i + 1, -theta);
	for (uint32_t i = 0, g = 0; g < nr; g++) {
		while (z->cdf[i] / sum < (double)g / nr)
			i++;
		z->guide[g] = i;
	}
	for (uint32_t i = 0; i < nr; i++)
		z->cdf[i] /= sum;
}

static uint32_t zipf_draw(const struct zipf *z, uint64_t *state)
{
	double u = (double)(rand_next(state) >> 11) * 0x1p-53;
	uint32_t i = z->guide[(uint32_t)(u * z->nr)];

	while (i + 1 < z->nr && z->cdf[i] < u)
		i++;
	return z->place[i];
}

static void stream_zipf(struct bench *b)
{
	uint64_t state = 1;
	struct zipf z;

	zipf_init(&z, b->nr_ids, 0.9, &state);
	for (uint64_t i = 0; i < b->nr; i++)
		b->pages[i] = zipf_draw(&z, &state);
	free(z.cdf);
	free(z.guide);
	free(z.place);
}

/* A hot set that moves, one-shot scans, a loop, short runs. */
static void stream_mixed(struct bench *b)
{
	uint32_t hot = b->nr_ids / 4, loop = b->nr_ids / 5, scan_at = 0, loop_at = 0, shift;
	uint64_t state = 2, i = 0;
	struct zipf z;

	zipf_init(&z, hot, 0.8, &state);
	while (i < b->nr) {
		uint32_t kind = rand_next(&state) % 100, run = kind < 70 ? 1 : 1 + kind % 16;

		shift = (uint32_t)(i * 4 / b->nr) * (hot / 8);
		for (uint32_t k = 0; k < run && i < b->nr; k++, i++) {
			if (kind < 70)
				b->pages[i] = shift + zipf_draw(&z, &state);
			else if (kind < 85)
				b->pages[i] = b->nr_ids / 2 + scan_at++ % (b->nr_ids / 2);
			else
				b->pages[i] = hot * 3 / 2 + loop_at++ % loop % (b->nr_ids / 2 - hot / 2);
		}
	}
	free(z.cdf);
	free(z.guide);
	free(z.place);
}

/* ---- references ------------------------------------------------------------------------------ */

/* ns of a random read that depends on the one before, over four bytes a page. */
static double latency_ns(uint32_t nr_ids)
{
	uint64_t state = 3;
	uint32_t *order = permutation(nr_ids, &state), *next = malloc(4ULL * nr_ids), at = 0;
	volatile uint32_t sink;
	double from;

	for (uint32_t i = 0; i < nr_ids; i++)
		next[order[i]] = order[i + 1 == nr_ids ? 0 : i + 1];
	from = now_ns();
	for (uint32_t i = 0; i < 10000000; i++)
		at = next[at];
	sink = at;
	(void)sink;
	free(order);
	free(next);
	return (now_ns() - from) / 1e7;
}

/* ---- measuring ------------------------------------------------------------------------------- */

static bool is_wanted(const struct bench *b, const char *name)
{
	for (int i = 0; i < b->nr_wanted; i++)
		if (!strcmp(b->wanted[i], name))
			return true;
	return !b->nr_wanted;
}

static double run_cells(struct bench *b, struct grid_cell *cells, size_t nr, unsigned int nr_threads,
			bool by_size, struct grid_result *results)
{
	const struct grid_opts opts = { .nr_threads = nr_threads, .by_size = by_size };
	double from = now_ns();
	struct err err = { "" };

	if (grid_run(&b->source, cells, nr, &opts, results, &err))
		fprintf(stderr, "%s\n", err.text);
	return (double)b->nr * (double)nr * 1e3 / (now_ns() - from);
}

static void bench_model(struct bench *b, const char *stream, const struct model_ops *ops)
{
	static const int shares_pct[] = { 1, 10, 50 };
	uint64_t params[64];
	struct grid_result result;

	if (ops->params)
		params_defaults(ops->params, params, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(shares_pct); i++) {
		struct grid_cell cell = {
			.model = ops, .params = params,
			.capacity_pages = (uint32_t)(b->source.nr_distinct_pages * shares_pct[i] / 100),
		};
		double rate = run_cells(b, &cell, 1, 1, true, &result);

		printf("%s-%s-%d%% %.1f M/s (%.1f x the latency limit, hit ratio %.4f, "
		       "%.1f bytes a page)\n", stream, ops->name, shares_pct[i], rate,
		       rate / b->latency_rate,
		       (double)result.counters.hits / (double)result.counters.accesses,
		       (double)result.counters.metadata_bytes / b->nr_ids);
		fflush(stdout);
		grid_results_release(&result, 1);
	}
}

static void bench_references(struct bench *b, const char *stream)
{
	static const int shares_pct[] = { 1, 10, 50 };
	for (size_t i = 0; i < ARRAY_SIZE(shares_pct); i++) {
		double from = now_ns();
		uint64_t hits = ref_lru_run(b->pages, b->nr,
					    b->source.nr_distinct_pages * shares_pct[i] / 100);

		printf("%s-reference-lru-%d%% %.1f M/s (hit ratio %.4f)\n", stream, shares_pct[i],
		       (double)b->nr * 1e3 / (now_ns() - from), (double)hits / (double)b->nr);
		fflush(stdout);
	}
}

/* Twenty sizes of lru in one pass, and every model at one size on one and on two threads. */
static void bench_grids(struct bench *b, const char *stream)
{
	struct grid_cell cells[20];
	struct grid_result results[20];
	double one, two;

	for (int i = 0; i < 20; i++)
		cells[i] = (struct grid_cell){
			.model = textbook_models[1],
			.capacity_pages = (uint32_t)(b->source.nr_distinct_pages * (i + 1) / 20),
		};
	one = run_cells(b, cells, 20, 1, false, results);
	grid_results_release(results, 20);
	printf("%s-lru-20-sizes-one-pass %.1f M/s of the stream\n", stream, one / 20);
	one = wall_ns();
	run_cells(b, cells, 8, 1, true, results);
	grid_results_release(results, 8);
	two = wall_ns();
	one = two - one;
	run_cells(b, cells, 8, 2, true, results);
	grid_results_release(results, 8);
	two = wall_ns() - two;
	printf("%s-lru-8-sizes-two-threads %.2f x one thread\n", stream, one / two);
}

static void bench_curves(struct bench *b, const char *stream)
{
	const struct grid_cell cell = { .model = textbook_models[1] };
	const struct curve_opts opts[] = { { 0 }, { .rate = 0.01 }, { .max_pages = 8192 } };
	struct curve_point points[100];
	uint32_t sizes[100];
	size_t nr = curve_sizes(1000, b->nr_ids, sizes, 100);

	for (size_t i = 0; i < ARRAY_SIZE(opts); i++) {
		double from = now_ns();

		if (curve_run(&b->source, &cell, sizes, nr, &opts[i], points, NULL))
			continue;
		printf("%s-curve-%s %.1f M/s\n", stream, curve_method(&cell, &opts[i]),
		       (double)b->nr * 1e3 / (now_ns() - from));
	}
}

static void bench_stream(struct bench *b, const char *stream)
{
	b->array = (struct array_source){ .block = { .nr = b->nr, .page = b->pages },
					  .nr_ids = b->nr_ids };
	if (array_source_init(&b->array, &b->source))
		return;
	printf("%s-stream %.1f M accesses over %.2f M pages\n", stream, (double)b->nr / 1e6,
	       (double)b->source.nr_distinct_pages / 1e6);
	b->latency_rate = 1e3 / latency_ns(b->nr_ids);
	printf("%s-latency-limit %.1f M/s (%.1f ns a dependent random read)\n", stream,
	       b->latency_rate, 1e3 / b->latency_rate);
	if (is_wanted(b, "reference"))
		bench_references(b, stream);
	if (is_wanted(b, "curve"))
		bench_curves(b, stream);
	if (is_wanted(b, "grid"))
		bench_grids(b, stream);
	for (const struct model_ops *const *ops = textbook_models; *ops; ops++)
		if (is_wanted(b, (*ops)->name))
			bench_model(b, stream, *ops);
}

int main(int argc, char **argv)
{
	struct bench b = { .nr = 20000000, .nr_ids = 2000000, .wanted = argv + 1 };
	const char *stream = NULL;

	for (int i = 1; i < argc; i++) {
		if (!strncmp(argv[i], "accesses=", 9))
			b.nr = strtoull(argv[i] + 9, NULL, 10);
		else if (!strncmp(argv[i], "pages=", 6))
			b.nr_ids = (uint32_t)strtoul(argv[i] + 6, NULL, 10);
		else if (!strncmp(argv[i], "stream=", 7))
			stream = argv[i] + 7;
		else
			argv[1 + b.nr_wanted++] = argv[i];
	}
	b.pages = malloc(4 * b.nr);
	if (!b.pages)
		return 4;
	if (!stream || !strcmp(stream, "zipf")) {
		stream_zipf(&b);
		bench_stream(&b, "zipf");
	}
	if (!stream || !strcmp(stream, "mixed")) {
		stream_mixed(&b);
		bench_stream(&b, "mixed");
	}
	free(b.pages);
	return 0;
}
