// SPDX-License-Identifier: GPL-2.0-or-later
/* test_synth.c - distributions against their exact probabilities, determinism, grammar. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "capture/synth.h"

static struct synth *open_one(const char *spec)
{
	struct synth *synth;
	struct err err = { "" };

	if (synth_open(&synth, &spec, 1, 1, &err))
		fail_msg("%s", err.text);
	return synth;
}

/* How often each unit of the only file is asked for. */
static uint64_t counts_draw(const char *spec, uint64_t *count, size_t nr)
{
	struct synth *synth = open_one(spec);
	struct page_event event;
	uint64_t total = 0;

	memset(count, 0, nr * sizeof(*count));
	while (synth_next(synth, &event)) {
		assert_in_range(event.page_index, 0, nr - 1);
		count[event.page_index]++;
		total++;
	}
	synth_close(synth);
	return total;
}

/*
 * Pearson's statistic, in standard deviations from its mean (Wilson and Hilferty 1931). Beyond 5 is
 * a chance of one in millions, and the seed is fixed.
 */
static double chi_square_sigmas(const uint64_t *count, const double *expected, size_t nr)
{
	double chi = 0, degrees = (double)nr - 1, spread = 2 / (9 * degrees);

	for (size_t i = 0; i < nr; i++)
		chi += ((double)count[i] - expected[i]) * ((double)count[i] - expected[i]) /
		       expected[i];
	return (cbrt(chi / degrees) - (1 - spread)) / sqrt(spread);
}

enum { ZIPF_UNITS = 1000, ZIPF_DRAWS = 1000000 };

static double zipf_sigmas(double drawn_theta, double claimed_theta)
{
	uint64_t count[ZIPF_UNITS];
	double expected[ZIPF_UNITS], total = 0;
	char spec[128];

	snprintf(spec, sizeof(spec), "zipf:file=%dK,theta=%.9g,accesses=1M,scatter=off,seed=7",
		 ZIPF_UNITS * 4, drawn_theta);
	assert_int_equal(counts_draw(spec, count, ZIPF_UNITS), ZIPF_DRAWS);
	for (int i = 0; i < ZIPF_UNITS; i++)
		total += pow(i + 1, -claimed_theta);
	for (int i = 0; i < ZIPF_UNITS; i++)
		expected[i] = ZIPF_DRAWS * pow(i + 1, -claimed_theta) / total;
	return chi_square_sigmas(count, expected, ZIPF_UNITS);
}

static void zipf_has_the_exact_distribution(void **state)
{
	static const double thetas[] = { 0.01, 0.5, 0.9, 0.99, 1, 1.0001, 1.2 };

	for (size_t i = 0; i < ARRAY_SIZE(thetas); i++) {
		double sigmas = zipf_sigmas(thetas[i], thetas[i]);

		if (fabs(sigmas) > 5)
			fail_msg("theta %g: chi-square off by %.1f sigmas", thetas[i], sigmas);
	}
}

/* The test above can fail: one per cent more skew is seen. */
static void zipf_test_tells_neighbouring_thetas_apart(void **state)
{
	assert_true(zipf_sigmas(0.9, 0.909) > 5);
	assert_true(zipf_sigmas(1.0, 0.99) > 5);
}

static void zipf_of_one_page_and_of_great_skew_end(void **state)
{
	uint64_t count[ZIPF_UNITS];

	assert_int_equal(counts_draw("zipf:file=4K,accesses=1000", count, 1), 1000);
	counts_draw("zipf:file=4000K,theta=20,accesses=1000,scatter=off", count, ZIPF_UNITS);
	assert_int_equal(count[0], 1000);
}

static int count_order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* Scattering moves popularity to other places and changes none of it. */
static void scatter_is_a_permutation_that_moves_things(void **state)
{
	uint64_t plain[ZIPF_UNITS], scattered[ZIPF_UNITS];
	int nr_moved = 0;

	counts_draw("zipf:file=4000K,accesses=200k,seed=3,scatter=off", plain, ZIPF_UNITS);
	counts_draw("zipf:file=4000K,accesses=200k,seed=3", scattered, ZIPF_UNITS);
	for (int i = 0; i < ZIPF_UNITS; i++)
		nr_moved += plain[i] != scattered[i];
	assert_in_range(nr_moved, ZIPF_UNITS / 2, ZIPF_UNITS);
	qsort(plain, ZIPF_UNITS, sizeof(*plain), count_order);
	qsort(scattered, ZIPF_UNITS, sizeof(*scattered), count_order);
	assert_memory_equal(plain, scattered, sizeof(plain));
}

static void uniform_is_uniform(void **state)
{
	uint64_t count[777];
	double expected[777], sigmas;

	assert_int_equal(counts_draw("uniform:file=3108K,accesses=500k", count, 777), 500000);
	for (int i = 0; i < 777; i++)
		expected[i] = 500000 / 777.0;
	sigmas = chi_square_sigmas(count, expected, 777);
	assert_true(fabs(sigmas) < 5);
}

static void hotspot_divides_requests_and_file(void **state)
{
	uint64_t count[1000];
	double expected[1000];

	counts_draw("hotspot:file=4000K,hot=10%,prob=90%,accesses=500k,scatter=off", count, 1000);
	for (int i = 0; i < 1000; i++)
		expected[i] = i < 100 ? 450000 / 100.0 : 50000 / 900.0;
	assert_true(fabs(chi_square_sigmas(count, expected, 1000)) < 5);
	/* degenerate shares do not divide by zero or ask past the end */
	counts_draw("hotspot:file=4000K,hot=100%,prob=0%,accesses=1000", count, 1000);
	counts_draw("hotspot:file=4000K,hot=0%,prob=100%,accesses=1000,scatter=off", count, 1000);
	assert_int_equal(count[0], 1000);
}

/* seq with any stride, shuffle and loop ask for each unit once a pass. */
static void passes_cover_every_unit_once(void **state)
{
	static const char *const specs[] = {
		"seq:file=4000K", "sequential:file=4000K", "seq:file=4000K,stride=7",
		"seq:file=4000K,stride=1000", "seq:file=4000K,stride=5000", "loop:file=4000K",
		"shuffle:file=4000K", "loop:file=4000K,stride=3",
	};
	uint64_t count[1000];

	for (size_t s = 0; s < ARRAY_SIZE(specs); s++) {
		assert_int_equal(counts_draw(specs[s], count, 1000), 1000);
		for (int i = 0; i < 1000; i++)
			assert_int_equal(count[i], 1);
	}
	assert_int_equal(counts_draw("seq:file=4000K,accesses=5000", count, 1000), 1000);
	assert_int_equal(counts_draw("loop:file=4000K,accesses=5000", count, 1000), 5000);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(count[i], 5);
}

static void shuffle_repeats_its_order_and_is_no_identity(void **state)
{
	struct synth *synth = open_one("shuffle:file=400K,accesses=200");
	uint64_t first[100];
	struct page_event event;
	int in_place = 0;

	for (int i = 0; i < 100; i++) {
		assert_int_equal(synth_next(synth, &event), 1);
		first[i] = event.page_index;
		in_place += first[i] == (uint64_t)i;
	}
	for (int i = 0; i < 100; i++) {
		assert_int_equal(synth_next(synth, &event), 1);
		assert_int_equal(event.page_index, first[i]);
	}
	assert_in_range(in_place, 0, 10);
	synth_close(synth);
}

static uint64_t stream_hash(const char *const *specs, int nr, uint64_t seed)
{
	struct synth *synth;
	struct page_event event;
	uint64_t hash = 0;

	assert_int_equal(synth_open(&synth, specs, nr, seed, NULL), 0);
	while (synth_next(synth, &event)) {
		hash ^= event.ts_ns + event.page_index * 3 + event.pages * 5 + event.file_id * 7 +
			event.pid * 11 + event.op * 13 + event.flags * 17;
		rand_next(&hash);
		hash *= 0x9e3779b97f4a7c15ULL;
	}
	synth_close(synth);
	return hash;
}

static void same_seed_same_stream_other_seed_other_stream(void **state)
{
	static const char *const specs[] = {
		"(zipf:file=8M*0.8 + loop:file=4M,io=16K*0.2):accesses=20k; uniform:write=30%",
		"hotspot:accesses=10k,think=3us,jitter=on",
	};
	static const char *const seeded[] = { "uniform:seed=5,accesses=1000" };
	uint64_t one = stream_hash(specs, 2, 1);

	assert_true(stream_hash(specs, 2, 1) == one);
	assert_true(stream_hash(specs, 2, 2) != one);
	assert_true(stream_hash(specs, 1, 1) != one);
	assert_true(stream_hash(seeded, 1, 1) == stream_hash(seeded, 1, 2));
}

static void mix_keeps_the_weights_and_each_parts_number(void **state)
{
	struct synth *synth = open_one("(uniform:name=a,file=4M*3 + uniform:name=b,file=4M*1)"
				       ":accesses=100k");
	uint64_t nr[3] = { 0 };
	struct page_event event;

	while (synth_next(synth, &event))
		nr[event.file_id]++;
	assert_int_equal(nr[1] + nr[2], 100000);
	assert_in_range(nr[1], 75000 - 700, 75000 + 700);	/* five sigmas of 137 */
	synth_close(synth);

	synth = open_one("uniform:accesses=100*9 + seq:file=4000K*1");
	nr[1] = nr[2] = 0;
	while (synth_next(synth, &event))
		nr[event.file_id]++;
	assert_int_equal(nr[1], 100);
	assert_int_equal(nr[2], 1000);
	synth_close(synth);
}

static void phases_follow_each_other_and_groups_repeat(void **state)
{
	struct synth *synth = open_one("(seq:file=12K; seq:file=8K,name=x):times=2; seq:file=4K");
	static const uint32_t files[] = { 1, 1, 1, 2, 2, 1, 1, 1, 2, 2, 3 };
	static const uint64_t pages[] = { 0, 1, 2, 0, 1, 0, 1, 2, 0, 1, 0 };
	struct page_event event;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		assert_int_equal(synth_next(synth, &event), 1);
		assert_int_equal(event.file_id, files[i]);
		assert_int_equal(event.page_index, pages[i]);
		assert_true(event.ts_ns == i * 1000);
	}
	assert_int_equal(synth_next(synth, &event), 0);
	assert_int_equal(synth_next(synth, &event), 0);
	assert_string_equal(synth_file(synth, 1)->name, "x");
	assert_int_equal(synth_file(synth, 2)->size_bytes, 4096);
	assert_null(synth_file(synth, 3));
	synth_close(synth);
}

static void tasks_run_side_by_side_in_time_order(void **state)
{
	static const char *const specs[] = { "seq:file=40K,think=10us,task=slow", "seq:file=400K" };
	struct synth *synth;
	struct page_event event;
	uint64_t last_ns = 0, nr[3] = { 0 };

	assert_int_equal(synth_open(&synth, specs, 2, 1, NULL), 0);
	while (synth_next(synth, &event)) {
		assert_true(event.ts_ns >= last_ns);
		last_ns = event.ts_ns;
		assert_in_range(event.pid, SYNTH_FIRST_PID, SYNTH_FIRST_PID + 2);
		nr[event.pid - SYNTH_FIRST_PID]++;
	}
	assert_string_equal(synth_task(synth, 1), "slow");
	assert_int_equal(nr[0], 0);
	assert_int_equal(nr[1], 10);
	assert_int_equal(nr[2], 100);
	assert_true(last_ns == 99000);
	synth_close(synth);
}

static void requests_are_io_long_and_stop_at_the_end_of_file(void **state)
{
	struct synth *synth = open_one("seq:file=150K,io=64K,write=100%,whole=off");
	static const uint32_t pages[] = { 16, 16, 6 };	/* 150K is 38 pages */
	struct page_event event;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(synth_next(synth, &event), 1);
		assert_int_equal(event.page_index, i * 16);
		assert_int_equal(event.pages, pages[i]);
		assert_int_equal(event.op, PAGE_OP_WRITE);
		assert_int_equal(event.flags, 0);
	}
	assert_int_equal(synth_next(synth, &event), 0);
	synth_close(synth);
}

static void writes_and_mappings_show(void **state)
{
	struct synth *synth = open_one("uniform:write=30%,accesses=100k,via=mmap");
	struct page_event event;
	uint64_t nr[NR_PAGE_OPS] = { 0 };

	while (synth_next(synth, &event)) {
		nr[event.op]++;
		assert_int_equal(event.flags, event.op == PAGE_OP_WRITE ? PAGE_EV_WHOLE : 0);
	}
	assert_int_equal(nr[PAGE_OP_READ], 0);
	assert_in_range(nr[PAGE_OP_WRITE], 30000 - 730, 30000 + 730);
	assert_int_equal(nr[PAGE_OP_WRITE] + nr[PAGE_OP_FAULT], 100000);
	synth_close(synth);
}

static void jittered_think_time_keeps_its_mean(void **state)
{
	struct synth *synth = open_one("seq:file=400M,think=10us,jitter=on");
	struct page_event event = { 0 };

	while (synth_next(synth, &event))
		;
	/* 102399 gaps of 10 us: the mean of an exponential is off by 1/sqrt(n) */
	assert_in_range(event.ts_ns, 1023990000 * 0.985, 1023990000 * 1.015);
	synth_close(synth);
}

static void bad_specs_name_the_column_and_a_remedy(void **state)
{
	static const struct { const char *spec, *text;
	} bad[] = {
		{ "", "a generator is missing" },
		{ "zip:file=4M", "column 1: no generator 'zip' (did you mean 'zipf'?)" },
		{ "zipf:fle=4M",
		  "column 6: generator 'zipf' has no parameter 'fle' (did you mean 'file'?)" },
		{ "zipf:theta=-1", "out of range" },
		{ "zipf:file=4X", "not a size" },
		{ "zipf:file", "wants name=value" },
		{ "uniform:io=5000", "no multiple of 4096" },
		{ "uniform; ", "a generator is missing" },
		{ "(uniform", "')' is missing" },
		{ "uniform)", "')' is not expected here" },
		{ "uniform*0 + seq", "weight above 0" },
		{ "uniform*nan + seq", "weight above 0" },
		{ "(uniform):acceses=3", "did you mean 'accesses'" },
		{ "seq:name=a,file=4M;seq:name=a,file=8M",
		  "file 'a' has 8388608 bytes here and 4194304 before" },
		{ "((((((((((((((((((((((seq))))))))))))))))))))))", "nested deeper than" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct synth *synth;
		struct err err = { "" };

		assert_int_equal(synth_open(&synth, &bad[i].spec, 1, 1, &err), -EINVAL);
		if (!strstr(err.text, bad[i].text))
			fail_msg("'%s' gave '%s', not '%s'", bad[i].spec, err.text, bad[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zipf_has_the_exact_distribution),
		cmocka_unit_test(zipf_test_tells_neighbouring_thetas_apart),
		cmocka_unit_test(zipf_of_one_page_and_of_great_skew_end),
		cmocka_unit_test(scatter_is_a_permutation_that_moves_things),
		cmocka_unit_test(uniform_is_uniform),
		cmocka_unit_test(hotspot_divides_requests_and_file),
		cmocka_unit_test(passes_cover_every_unit_once),
		cmocka_unit_test(shuffle_repeats_its_order_and_is_no_identity),
		cmocka_unit_test(same_seed_same_stream_other_seed_other_stream),
		cmocka_unit_test(mix_keeps_the_weights_and_each_parts_number),
		cmocka_unit_test(phases_follow_each_other_and_groups_repeat),
		cmocka_unit_test(tasks_run_side_by_side_in_time_order),
		cmocka_unit_test(requests_are_io_long_and_stop_at_the_end_of_file),
		cmocka_unit_test(writes_and_mappings_show),
		cmocka_unit_test(jittered_think_time_keeps_its_mean),
		cmocka_unit_test(bad_specs_name_the_column_and_a_remedy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
