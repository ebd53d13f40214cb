// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_published.c - what is published about the models and can be reproduced without the traces of
 * the papers (those of arc, car, lirs, clock-pro, s3fifo, sieve and W-TinyLFU are not public, or
 * too large to keep here): reference strings, theorems on independent references, loops; and golden
 * counts of every model on one stream.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "replay/replay.h"

static uint64_t misses_of(const char *name, const uint32_t *pages, size_t nr, uint32_t nr_ids,
			  uint32_t capacity)
{
	const struct model_ops *ops = NULL;
	uint64_t params[32];
	struct model_config config = {
		.capacity_pages = capacity, .nr_ids = nr_ids, .nr_accesses = nr, .seed = 1,
		.params = params,
	};
	struct model_counters counters;
	struct err err = { "" };
	struct model *model;
	int code = 0;

	for (const struct model_ops *const *m = textbook_models; *m; m++)
		if (!strcmp((*m)->name, name))
			ops = *m;
	if (!ops)
		fail_msg("no model '%s'", name);
	if (ops->params)
		params_defaults(ops->params, params, NULL);
	model = ops->create(&config, &code, &err);
	assert_non_null(model);
	ops->access(model, &(struct model_batch){ .pages = pages, .nr = nr });
	ops->counters(model, &counters);
	ops->destroy(model);
	return counters.misses;
}

/* Belady, Nelson, Shedler 1969: more memory, more faults. */
static void fifo_shows_beladys_anomaly(void **state)
{
	static const uint32_t string[] = { 1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5 };

	assert_int_equal(misses_of("fifo", string, 12, 6, 3), 9);
	assert_int_equal(misses_of("fifo", string, 12, 6, 4), 10);
	assert_int_equal(misses_of("lru", string, 12, 6, 3), 10);
	assert_int_equal(misses_of("lru", string, 12, 6, 4), 8);
	assert_int_equal(misses_of("opt", string, 12, 6, 3), 7);
	assert_int_equal(misses_of("opt", string, 12, 6, 4), 6);
}

/* The reference string of Silberschatz, Galvin: Operating system concepts, chapter on paging. */
static void the_textbook_string_gives_the_textbook_faults(void **state)
{
	static const uint32_t string[] = {
		7, 0, 1, 2, 0, 3, 0, 4, 2, 3, 0, 3, 2, 1, 2, 0, 1, 7, 0, 1,
	};

	assert_int_equal(misses_of("fifo", string, 20, 8, 3), 15);
	assert_int_equal(misses_of("lru", string, 20, 8, 3), 12);
	assert_int_equal(misses_of("opt", string, 20, 8, 3), 9);
}

/* ---- independent references ------------------------------------------------------------------ */

enum { IDS = 2000, NR = 400000 };

static double *zipf_weights(double theta)
{
	double *p = malloc(IDS * sizeof(*p)), sum = 0;

	for (int i = 0; i < IDS; i++)
		sum += p[i] = pow(i + 1, -theta);
	for (int i = 0; i < IDS; i++)
		p[i] /= sum;
	return p;
}

static uint32_t *zipf_stream(const double *p, uint64_t seed)
{
	uint32_t *pages = malloc(NR * sizeof(*pages));
	double cdf[IDS], sum = 0;

	for (int i = 0; i < IDS; i++)
		cdf[i] = sum += p[i];
	for (int k = 0; k < NR; k++) {
		double u = (double)(rand_next(&seed) >> 11) * 0x1p-53;
		int low = 0, high = IDS - 1;

		while (low < high) {
			int middle = (low + high) / 2;

			if (cdf[middle] < u)
				low = middle + 1;
			else
				high = middle;
		}
		pages[k] = (uint32_t)low;
	}
	return pages;
}

/* Misses without those on first touches of an empty cache: of the second half of the stream. */
static double steady_miss_ratio(const char *model, const uint32_t *pages, uint32_t capacity)
{
	uint64_t half = misses_of(model, pages, NR / 2, IDS, capacity);

	return (double)(misses_of(model, pages, NR, IDS, capacity) - half) / (NR / 2);
}

/*
 * Che, Tung, Wang, Hierarchical web caching systems, JSAC 2002 (and Fagin 1977): a page is in an
 * lru cache of C pages with 1 - exp(-p T), where T makes the expected number of pages C.
 */
static double che_miss_ratio(const double *p, uint32_t capacity)
{
	double low = 0, high = 1e9, miss = 0;

	for (int i = 0; i < 100; i++) {
		double t = (low + high) / 2, pages = 0;

		for (int k = 0; k < IDS; k++)
			pages += 1 - exp(-p[k] * t);
		if (pages < capacity)
			low = t;
		else
			high = t;
	}
	for (int k = 0; k < IDS; k++)
		miss += p[k] * exp(-p[k] * low);
	return miss;
}

static void lru_of_independent_references_follows_the_approximation_of_che(void **state)
{
	double *p = zipf_weights(0.9);
	uint32_t *pages = zipf_stream(p, 3);

	for (uint32_t capacity = 50; capacity < IDS; capacity += 250)
		assert_true(fabs(steady_miss_ratio("lru", pages, capacity) -
				 che_miss_ratio(p, capacity)) < 0.006);
	free(p);
	free(pages);
}

/* Gelenbe, A unified approach to the evaluation of a class of replacement algorithms, 1973. */
static void fifo_and_random_miss_equally_on_independent_references(void **state)
{
	double *p = zipf_weights(0.9);
	uint32_t *pages = zipf_stream(p, 4);

	for (uint32_t capacity = 50; capacity < IDS; capacity += 250)
		assert_true(fabs(steady_miss_ratio("fifo", pages, capacity) -
				 steady_miss_ratio("random", pages, capacity)) < 0.006);
	free(p);
	free(pages);
}

/* Aho, Denning, Ullman 1971: without knowledge of the future, keeping the likeliest pages is best.
 */
static void no_model_beats_the_likeliest_pages_and_frequency_beats_recency(void **state)
{
	double *p = zipf_weights(1.0), likeliest, lru;
	uint32_t *pages = zipf_stream(p, 5);

	for (uint32_t capacity = 100; capacity < IDS; capacity += 400) {
		likeliest = 1;
		for (uint32_t k = 0; k + 1 < capacity; k++)	/* one frame is for the misses */
			likeliest -= p[k];
		lru = steady_miss_ratio("lru", pages, capacity);
		assert_true(steady_miss_ratio("lfu", pages, capacity) < lru);
		assert_true(steady_miss_ratio("wtinylfu", pages, capacity) < lru);
		for (const struct model_ops *const *m = textbook_models; *m; m++)
			if (strcmp((*m)->name, "opt"))
				assert_true(steady_miss_ratio((*m)->name, pages, capacity) >
					    likeliest - 0.006);
	}
	free(p);
	free(pages);
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* Jiang, Zhang 2002, 2.1: a loop longer than the cache never hits in lru; lirs keeps its LIR set.
 */
static void a_loop_defeats_lru_and_not_lirs(void **state)
{
	enum { LOOP = 1000, ROUNDS = 50, CACHE = 800 };
	static uint32_t pages[LOOP * ROUNDS];

	for (int i = 0; i < LOOP * ROUNDS; i++)
		pages[i] = (uint32_t)i % LOOP;
	assert_int_equal(misses_of("lru", pages, LOOP * ROUNDS, LOOP, CACHE), LOOP * ROUNDS);
	assert_int_equal(misses_of("fifo", pages, LOOP * ROUNDS, LOOP, CACHE), LOOP * ROUNDS);
	/* 1 % of the cache is for HIR pages, which never hit here */
	assert_int_equal(misses_of("lirs", pages, LOOP * ROUNDS, LOOP, CACHE),
			 LOOP + (ROUNDS - 1) * (LOOP - CACHE * 99 / 100));
	/* one miss in (LOOP - 1) / (LOOP - CACHE) accesses, for a cache that must take in each miss
	 */
	assert_true(misses_of("opt", pages, LOOP * ROUNDS, LOOP, CACHE) <=
		    LOOP + (ROUNDS - 1) * (LOOP - CACHE) * LOOP / (LOOP - 1) + LOOP - CACHE);
}

/* ---- golden counts --------------------------------------------------------------------------- */

struct golden {
	const char *model;
	uint64_t misses[3];	/* at 20, 200 and 1000 pages */
};

static const struct golden golden[] = {
	{ "fifo", { 364030, 260719, 106137 } },
	{ "lru", { 359265, 243512, 90462 } },
	{ "clock", { 355893, 238066, 88013 } },
	{ "random", { 364028, 260774, 106581 } },
	{ "lfu", { 314397, 207025, 81893 } },
	{ "slru", { 313872, 206496, 83360 } },
	{ "2q", { 320089, 214389, 90452 } },
	{ "arc", { 316118, 212718, 90319 } },
	{ "car", { 313597, 210163, 87907 } },
	{ "clock-pro", { 313665, 208801, 81483 } },
	{ "lirs", { 317586, 215838, 83230 } },
	{ "s3fifo", { 309128, 205247, 80890 } },
	{ "sieve", { 312301, 197668, 78801 } },
	{ "wtinylfu", { 312823, 201296, 77458 } },
	{ "opt", { 275542, 145362, 36028 } },
};

static void counts_are_what_they_were(void **state)
{
	static const uint32_t sizes[] = { 20, 200, 1000 };
	double *p = zipf_weights(0.8);
	uint32_t *pages = zipf_stream(p, 6);
	bool bad = false;

	/* a scan in the middle, and a loop at the end */
	for (int i = 0; i < IDS; i++)
		pages[NR / 2 + i] = (uint32_t)i;
	for (int i = 0; i < 5000; i++)
		pages[NR - 5000 + i] = (uint32_t)(IDS / 2 + i % 600);
	for (const struct model_ops *const *m = textbook_models; *m; m++) {
		const struct golden *row = golden;
		uint64_t misses[3];

		while (row < golden + ARRAY_SIZE(golden) && strcmp(row->model, (*m)->name))
			row++;
		for (int i = 0; i < 3; i++)
			misses[i] = misses_of((*m)->name, pages, NR, IDS, sizes[i]);
		if (row < golden + ARRAY_SIZE(golden) &&
		    !memcmp(misses, row->misses, sizeof(misses)))
			continue;
		bad = true;
		print_message("	{ \"%s\", { %lu, %lu, %lu } },\n", (*m)->name, misses[0], misses[1],
			      misses[2]);
	}
	assert_false(bad);
	free(p);
	free(pages);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fifo_shows_beladys_anomaly),
		cmocka_unit_test(the_textbook_string_gives_the_textbook_faults),
		cmocka_unit_test(lru_of_independent_references_follows_the_approximation_of_che),
		cmocka_unit_test(fifo_and_random_miss_equally_on_independent_references),
		cmocka_unit_test(no_model_beats_the_likeliest_pages_and_frequency_beats_recency),
		cmocka_unit_test(a_loop_defeats_lru_and_not_lirs),
		cmocka_unit_test(counts_are_what_they_were),
	};

	return cmocka_run_group_tests_name("published", tests, NULL, NULL);
}
