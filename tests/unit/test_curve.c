// SPDX-License-Identifier: GPL-2.0-or-later
/* test_curve.c - stack distances, curves exact and sampled, their error bands, knees. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "replay/distance.h"
#include "replay/sample.h"

static const struct model_ops *find_model(const char *name)
{
	for (const struct model_ops *const *ops = textbook_models; *ops; ops++)
		if (!strcmp((*ops)->name, name))
			return *ops;
	fail_msg("no model '%s'", name);
	return NULL;
}

static void distances_equal_counting_by_hand(void **state)
{
	enum { NR = 4000, IDS = 150 };
	static uint32_t pages[NR], out[NR], plain[NR];
	uint64_t rand = 5;

	for (int round = 0; round < 20; round++) {
		struct distances d, p;

		for (int i = 0; i < NR; i++)
			pages[i] = rand_next(&rand) % (1 + rand_next(&rand) % IDS);
		assert_int_equal(distances_init(&d, IDS, NULL), 0);
		assert_int_equal(distances_init(&p, IDS, NULL), 0);
		p.plain_c = true;
		distances_access(&d, pages, 1234, out);
		distances_access(&d, pages + 1234, NR - 1234, out + 1234);
		distances_access(&p, pages, NR, plain);
		assert_memory_equal(out, plain, sizeof(out));
		for (int i = 0; i < NR; i += 7) {
			bool seen[IDS] = { false };
			uint32_t distance = 0;
			int k = i - 1;

			for (; k >= 0 && pages[k] != pages[i]; k--) {
				distance += !seen[pages[k]];
				seen[pages[k]] = true;
			}
			assert_int_equal(out[i], k < 0 ? DISTANCE_NONE : distance);
		}
		distances_release(&d);
		distances_release(&p);
	}
}

/* Large enough for every level of the tree of counts. */
static void distances_are_right_over_millions_of_slots(void **state)
{
	enum { IDS = 3000000 };
	uint32_t *pages = malloc(4ULL * IDS), *out = malloc(4ULL * IDS);
	struct distances d;

	assert_int_equal(distances_init(&d, IDS, NULL), 0);
	for (uint32_t i = 0; i < IDS; i++)
		pages[i] = i;
	distances_access(&d, pages, IDS, out);
	assert_int_equal(out[IDS - 1], DISTANCE_NONE);
	for (uint32_t i = 0; i < IDS; i++)
		pages[i] = IDS - 1 - i;
	distances_access(&d, pages, IDS, out);
	for (uint32_t i = 0; i < IDS; i++)
		assert_int_equal(out[i], i);
	distances_access(&d, pages, IDS, out);
	for (uint32_t i = 0; i < IDS; i++)
		assert_int_equal(out[i], IDS - 1);
	distances_release(&d);
	free(pages);
	free(out);
}

static void the_filter_is_the_same_with_and_without_simd(void **state)
{
	enum { NR = 100003 };
	static uint32_t pages[NR], fast[NR], plain[NR];
	uint64_t rand = 9;

	for (int i = 0; i < NR; i++)
		pages[i] = (uint32_t)rand_next(&rand);
	for (uint32_t threshold = 1; threshold; threshold <<= 3) {
		struct sample_filter filter = { .salt = 77, .threshold = threshold };
		size_t nr = sample_pages(&filter, pages, NR, fast), nr_plain;

		filter.plain_c = true;
		nr_plain = sample_pages(&filter, pages, NR, plain);
		assert_int_equal(nr, nr_plain);
		assert_memory_equal(fast, plain, nr * sizeof(*fast));
	}
}

/* ---- curves ---------------------------------------------------------------------------------- */

struct stream {
	uint32_t *page;
	uint8_t *op;
	struct array_source array;
	struct demand_source source;
};

static void stream_make(struct stream *s, uint64_t seed, uint32_t nr, uint32_t nr_ids, bool removes)
{
	uint32_t loop = nr_ids / (2 + seed % 5), kind = seed % 4;

	s->page = malloc(4ULL * nr);
	s->op = malloc(nr);
	for (uint32_t i = 0; i < nr; i++) {
		double u = (double)(rand_next(&seed) >> 11) * 0x1p-53;
		uint32_t skewed = (uint32_t)(nr_ids * u * u * u), any = (uint32_t)(nr_ids * u);

		s->page[i] = kind == 0 ? skewed : kind == 1 ? any :
			kind == 2 ? (rand_next(&seed) % 2 ? skewed : nr_ids / 2 + i % loop) :
			(skewed + i / (nr / 4) * (nr_ids / 8)) % nr_ids;
		s->op[i] = removes && rand_next(&seed) % 20 == 0 ? DEMAND_TRUNCATE : DEMAND_READ;
	}
	s->array = (struct array_source){
		.block = { .nr = nr, .page = s->page, .op = removes ? s->op : NULL },
		.nr_ids = nr_ids,
	};
	assert_int_equal(array_source_init(&s->array, &s->source), 0);
}

static void stream_free(struct stream *s)
{
	free(s->page);
	free(s->op);
}

enum { NR_SIZES = 8 };

static void exact_curves(const struct stream *s, const struct model_ops *ops, const void *params,
			 const uint32_t *sizes, struct curve_point *points)
{
	struct grid_cell cells[NR_SIZES];
	struct grid_result results[NR_SIZES];
	const struct grid_opts opts = { .by_size = true };

	for (int k = 0; k < NR_SIZES; k++)
		cells[k] = (struct grid_cell){ .model = ops, .params = params,
					       .capacity_pages = sizes[k] };
	assert_int_equal(grid_run(&s->source, cells, NR_SIZES, &opts, results, NULL), 0);
	for (int k = 0; k < NR_SIZES; k++)
		points[k] = (struct curve_point){
			.memory_pages = sizes[k],
			.miss_ratio = (double)results[k].counters.misses /
				      (double)results[k].counters.accesses,
		};
	grid_results_release(results, NR_SIZES);
}

static void the_exact_curve_equals_lru_at_each_size(void **state)
{
	for (uint64_t seed = 1; seed < 9; seed++) {
		struct curve_point points[NR_SIZES], truth[NR_SIZES];
		const struct grid_cell cell = { .model = find_model("lru") };
		const struct curve_opts opts = { 0 };
		uint32_t sizes[NR_SIZES];
		struct stream s;

		stream_make(&s, seed, 100000, 3000, seed % 2);
		assert_int_equal(curve_sizes(1, 3100, sizes, NR_SIZES), NR_SIZES);
		exact_curves(&s, cell.model, NULL, sizes, truth);
		assert_int_equal(curve_run(&s.source, &cell, sizes, NR_SIZES, &opts, points, NULL),
				 0);
		for (int k = 0; k < NR_SIZES; k++) {
			assert_true(fabs(points[k].miss_ratio - truth[k].miss_ratio) < 1e-12);
			assert_true(points[k].stderr_ratio == 0);
		}
		stream_free(&s);
	}
}

/* Of 100 streams, how many have the whole true curve inside the band. */
static int streams_in_band(const char *model, const struct curve_opts *opts, double *mean_error,
			   double *mean_stderr)
{
	const struct model_ops *ops = find_model(model);
	uint64_t params[32];
	int nr_good = 0;

	*mean_error = *mean_stderr = 0;
	if (ops->params)
		params_defaults(ops->params, params, NULL);
	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct curve_point points[NR_SIZES], truth[NR_SIZES];
		const struct grid_cell cell = { .model = ops, .params = params };
		struct curve_opts salted = *opts;
		uint32_t sizes[NR_SIZES];
		bool good = true;
		struct stream s;

		stream_make(&s, seed, 30000, 4000, false);
		salted.seed = seed * 1000003;
		curve_sizes(200, 4000, sizes, NR_SIZES);
		exact_curves(&s, ops, params, sizes, truth);
		assert_int_equal(
			curve_run(&s.source, &cell, sizes, NR_SIZES, &salted, points, NULL), 0);
		for (int k = 0; k < NR_SIZES; k++) {
			double error = fabs(points[k].miss_ratio - truth[k].miss_ratio);

			*mean_error += error / NR_SIZES / 100;
			*mean_stderr += points[k].stderr_ratio / NR_SIZES / 100;
			good = good && error <= CURVE_BAND * points[k].stderr_ratio + 1e-9;
		}
		nr_good += good;
		stream_free(&s);
	}
	return nr_good;
}

static void check_band(const char *model, double rate, uint32_t max_pages)
{
	const struct curve_opts opts = { .rate = rate, .max_pages = max_pages };
	double mean_error, mean_stderr;
	int nr = streams_in_band(model, &opts, &mean_error, &mean_stderr);

	if (nr < 95)
		fail_msg("%s: only %d of 100 curves lie in the band (mean error %.4f)", model, nr,
			 mean_error);
	print_message("%s: %d of 100 in the band, mean error %.4f, mean standard error %.4f\n",
		      model, nr, mean_error, mean_stderr);
	assert_true(mean_error < 0.08);
	assert_true(mean_stderr < 3 * mean_error);	/* a band that says something */
}

static void shards_at_a_fixed_rate_holds_its_error_band(void **state)
{
	check_band("lru", 0.1, 0);
	check_band("lru", 0.03, 0);
}

static void shards_at_a_fixed_size_holds_its_error_band(void **state)
{
	check_band("lru", 0, 400);
}

static void scaled_down_models_hold_their_error_band(void **state)
{
	static const char *const models[] = { "clock", "arc", "lirs", "opt" };

	for (size_t i = 0; i < ARRAY_SIZE(models); i++)
		check_band(models[i], 0.1, 0);
}

static void models_without_a_one_pass_curve_say_so(void **state)
{
	const struct grid_cell cell = { .model = find_model("clock") };
	const struct curve_opts opts = { 0 };
	struct curve_point point;
	struct err err = { "" };
	uint32_t size = 10;
	struct stream s;

	stream_make(&s, 1, 100, 50, false);
	assert_int_equal(curve_run(&s.source, &cell, &size, 1, &opts, &point, &err), -EINVAL);
	assert_non_null(strstr(err.text, "'clock'"));
	stream_free(&s);
}

static bool three_times(void *ctx)
{
	return ++*(int *)ctx < 3;
}

static void a_curve_can_be_interrupted(void **state)
{
	static const struct curve_opts opts[] = {
		{ 0 }, { .rate = 0.5 }, { .max_pages = 100 },
	};
	struct stream s;

	stream_make(&s, 1, 400000, 500, false);
	for (size_t i = 0; i < ARRAY_SIZE(opts); i++) {
		const struct grid_cell cell = { .model = find_model("lru") };
		struct curve_opts asking = opts[i];
		struct curve_point point;
		uint32_t size = 10;
		int nr_asked = 0;

		asking.ctx = &nr_asked;
		asking.go_on = three_times;
		assert_int_equal(curve_run(&s.source, &cell, &size, 1, &asking, &point, NULL),
				 -ECANCELED);
		assert_int_equal(nr_asked, 3);
	}
	stream_free(&s);
}

static void a_loop_has_one_knee_and_a_straight_line_none(void **state)
{
	struct curve_point points[100];
	struct curve_knee knees[4];

	for (int i = 0; i < 100; i++)
		points[i] = (struct curve_point){ 10 * (i + 1), i < 59 ? 1 : 0.1, 0 };
	assert_int_equal(curve_knees(points, 100, knees, 4), 1);
	assert_int_equal(knees[0].memory_pages, 600);
	assert_true(fabs(knees[0].drop_ratio - 0.9) < 1e-9);
	for (int i = 0; i < 100; i++)
		points[i].miss_ratio = 1 - i / 100.0;
	assert_int_equal(curve_knees(points, 100, knees, 4), 0);
	assert_int_equal(curve_knees(points, 1, knees, 4), 0);
	assert_int_equal(curve_knees(points, 0, knees, 4), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distances_equal_counting_by_hand),
		cmocka_unit_test(distances_are_right_over_millions_of_slots),
		cmocka_unit_test(the_filter_is_the_same_with_and_without_simd),
		cmocka_unit_test(the_exact_curve_equals_lru_at_each_size),
		cmocka_unit_test(shards_at_a_fixed_rate_holds_its_error_band),
		cmocka_unit_test(shards_at_a_fixed_size_holds_its_error_band),
		cmocka_unit_test(scaled_down_models_hold_their_error_band),
		cmocka_unit_test(models_without_a_one_pass_curve_say_so),
		cmocka_unit_test(a_curve_can_be_interrupted),
		cmocka_unit_test(a_loop_has_one_knee_and_a_straight_line_none),
	};

	return cmocka_run_group_tests_name("curve", tests, NULL, NULL);
}
