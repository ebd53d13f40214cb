// SPDX-License-Identifier: GPL-2.0-or-later
/* test_engine.c - grids: threads, memory limits, one-pass lru, marks, intervals, cancelling. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "replay/replay.h"

enum { NR_RECORDS = 300000, NR_IDS = 5000 };

struct stream {
	struct array_source array;
	struct demand_source source;
	uint32_t *page, *run;
	uint8_t *op;
	uint64_t *ts_ns;
};

/* Runs, whole writes, truncations, readahead records; @plain: single reads only. */
static void stream_make(struct stream *s, bool plain)
{
	uint64_t state = 11;

	s->page = malloc(NR_RECORDS * sizeof(*s->page));
	s->run = malloc(NR_RECORDS * sizeof(*s->run));
	s->op = malloc(NR_RECORDS);
	s->ts_ns = malloc(NR_RECORDS * sizeof(*s->ts_ns));
	for (size_t i = 0; i < NR_RECORDS; i++) {
		uint64_t r = rand_next(&state);
		uint32_t a = r % NR_IDS, b = (r >> 20) % NR_IDS, kind = (r >> 40) % 100;

		s->page[i] = a < b ? a : b;
		s->run[i] = plain || kind < 60 ? 1 : 1 + (r >> 50) % 8;
		if (s->page[i] + s->run[i] > NR_IDS)
			s->run[i] = NR_IDS - s->page[i];
		s->op[i] = plain || kind < 80 ? DEMAND_READ : kind < 90 ? DEMAND_WRITE_WHOLE :
			kind < 95 ? DEMAND_TRUNCATE : kind < 97 ? DEMAND_READAHEAD : DEMAND_FAULT;
		s->ts_ns[i] = 1000 + i * 10;
	}
	s->array = (struct array_source){
		.block = { NR_RECORDS, s->page, plain ? NULL : s->run, plain ? NULL : s->op, NULL,
			   s->ts_ns },
		.nr_ids = NR_IDS,
	};
	assert_int_equal(array_source_init(&s->array, &s->source), 0);
}

static void stream_free(struct stream *s)
{
	free(s->page);
	free(s->run);
	free(s->op);
	free(s->ts_ns);
}

static const struct model_ops *find_model(const char *name)
{
	for (const struct model_ops *const *ops = textbook_models; *ops; ops++)
		if (!strcmp((*ops)->name, name))
			return *ops;
	fail_msg("no model '%s'", name);
	return NULL;
}

enum { MAX_CELLS = 128, NR_SIZES = 4 };

struct grid_under_test {
	struct grid_cell cells[MAX_CELLS];
	uint64_t params[MAX_CELLS][32];
	size_t nr;
	struct grid_result results[MAX_CELLS];
};

/* Every model at a few sizes. */
static void grid_make(struct grid_under_test *g)
{
	static const uint32_t sizes[NR_SIZES] = { 3000, 1, 200, 6000 };

	g->nr = 0;
	for (const struct model_ops *const *ops = textbook_models; *ops; ops++) {
		for (int i = 0; i < NR_SIZES; i++) {
			struct grid_cell *cell = &g->cells[g->nr];

			*cell = (struct grid_cell){ .model = *ops, .capacity_pages = sizes[i] };
			if ((*ops)->params)
				params_defaults((*ops)->params, g->params[g->nr], NULL);
			cell->params = g->params[g->nr++];
		}
	}
}

static void assert_same(const struct grid_result *a, const struct grid_result *b)
{
	assert_int_equal(a->code, b->code);
	assert_memory_equal(&a->counters, &b->counters, sizeof(a->counters));
	assert_int_equal(a->nr_intervals, b->nr_intervals);
	assert_memory_equal(a->intervals, b->intervals, a->nr_intervals * sizeof(*a->intervals));
	assert_int_equal(a->nr_costs, b->nr_costs);
	for (int i = 0; i < a->nr_costs; i++)
		assert_int_equal(a->costs[i].count, b->costs[i].count);
}

static void results_do_not_depend_on_threads_memory_or_one_pass(void **state)
{
	const struct grid_opts variants[] = {
		{ .nr_threads = 1, .nr_intervals = 13, .by_size = true },
		{ .nr_threads = 1, .nr_intervals = 13 },
		{ .nr_threads = 4, .nr_intervals = 13 },
		{ .nr_threads = 3, .nr_intervals = 13, .memory_bytes = 5 << 20 },
		{ .nr_threads = 2, .nr_intervals = 13, .memory_bytes = 1300000 },
	};
	static struct grid_under_test first, other;
	struct stream stream;

	for (int plain = 0; plain < 2; plain++) {
		stream_make(&stream, plain);
		grid_make(&first);
		assert_int_equal(grid_run(&stream.source, first.cells, first.nr, &variants[0],
					  first.results, NULL), 0);
		for (size_t v = 1; v < ARRAY_SIZE(variants); v++) {
			grid_make(&other);
			assert_int_equal(grid_run(&stream.source, other.cells, other.nr,
						  &variants[v], other.results, NULL),
					 0);
			for (size_t i = 0; i < first.nr; i++)
				assert_same(&first.results[i], &other.results[i]);
			grid_results_release(other.results, other.nr);
		}
		grid_results_release(first.results, first.nr);
		stream_free(&stream);
	}
}

static void counters_and_intervals_add_up(void **state)
{
	const struct grid_opts opts = { .nr_threads = 2, .nr_intervals = 50 };
	static struct grid_under_test g;
	struct stream stream;

	stream_make(&stream, false);
	grid_make(&g);
	assert_int_equal(grid_run(&stream.source, g.cells, g.nr, &opts, g.results, NULL), 0);
	for (size_t i = 0; i < g.nr; i++) {
		const struct replay_counters *c = &g.results[i].counters;
		uint64_t accesses = 0, hits = 0, misses = 0, evictions = 0;
		uint64_t last_ts_ns = stream.ts_ns[0];

		assert_int_equal(c->accesses, stream.source.nr_accesses);
		assert_int_equal(c->hits + c->misses, c->accesses);
		assert_int_equal(c->fills_compulsory, stream.source.nr_distinct_pages);
		assert_true(c->fills >= c->fills_compulsory);
		assert_true(c->fills_whole_write > 0 && c->fills_whole_write < c->fills);
		assert_true(c->fills - c->evictions >= c->resident_pages);
		for (uint32_t k = 0; k < g.results[i].nr_intervals; k++) {
			const struct grid_interval *interval = &g.results[i].intervals[k];

			assert_int_equal(interval->first_access, accesses);
			assert_true(interval->from_ts_ns >= last_ts_ns);
			assert_true(interval->to_ts_ns >= interval->from_ts_ns);
			last_ts_ns = interval->to_ts_ns;
			accesses += interval->accesses;
			hits += interval->hits;
			misses += interval->misses;
			evictions += interval->evictions;
		}
		assert_int_equal(accesses, c->accesses);
		assert_int_equal(hits, c->hits);
		assert_int_equal(misses, c->misses);
		assert_int_equal(evictions, c->evictions);
	}
	grid_results_release(g.results, g.nr);
	stream_free(&stream);
}

static void a_cell_that_cannot_fit_the_memory_limit_says_so(void **state)
{
	const struct grid_opts opts = { .memory_bytes = 4096 };
	static struct grid_under_test g;
	struct stream stream;
	struct err err = { "" };

	stream_make(&stream, true);
	grid_make(&g);
	assert_int_equal(grid_run(&stream.source, g.cells, g.nr, &opts, g.results, &err), -ENOMEM);
	assert_non_null(strstr(err.text, "--memory"));
	stream_free(&stream);
}

struct canceller {
	size_t nr_finished, stop_after;
};

static void count_finished(void *ctx, size_t cell, const struct grid_result *result)
{
	struct canceller *c = ctx;

	assert_int_equal(result->code, 0);
	c->nr_finished++;
}

static bool go_on(void *ctx, uint64_t done, uint64_t total)
{
	struct canceller *c = ctx;

	assert_true(done <= total);
	return c->nr_finished < c->stop_after;
}

static void cancelling_keeps_what_is_finished(void **state)
{
	struct canceller canceller = { .stop_after = 3 };
	const struct grid_opts opts = {
		.by_size = true, .ctx = &canceller, .progress = go_on, .finished = count_finished,
	};
	static struct grid_under_test g;
	struct stream stream;
	size_t nr_done = 0;

	stream_make(&stream, true);
	grid_make(&g);
	assert_int_equal(grid_run(&stream.source, g.cells, g.nr, &opts, g.results, NULL),
			 -ECANCELED);
	for (size_t i = 0; i < g.nr; i++)
		nr_done += g.results[i].code == 0;
	assert_int_equal(nr_done, 3);
	assert_int_equal(canceller.nr_finished, 3);
	grid_results_release(g.results, g.nr);
	stream_free(&stream);
}

static void a_page_beyond_the_ids_is_refused(void **state)
{
	uint32_t pages[] = { 1, 2, 10 };
	const struct array_source array = { .block = { 3, pages }, .nr_ids = 10 };
	const struct grid_cell cell = { .model = find_model("fifo"), .capacity_pages = 2 };
	const struct grid_opts opts = { 0 };
	struct demand_source source;
	struct grid_result result;

	assert_int_equal(array_source_init(&array, &source), 0);
	assert_int_equal(grid_run(&source, &cell, 1, &opts, &result, NULL), -EBADMSG);
	grid_results_release(&result, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results_do_not_depend_on_threads_memory_or_one_pass),
		cmocka_unit_test(counters_and_intervals_add_up),
		cmocka_unit_test(a_cell_that_cannot_fit_the_memory_limit_says_so),
		cmocka_unit_test(cancelling_keeps_what_is_finished),
		cmocka_unit_test(a_page_beyond_the_ids_is_refused),
	};

	return cmocka_run_group_tests_name("engine", tests, NULL, NULL);
}
