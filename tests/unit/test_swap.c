// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_swap.c - a database beside idle memory (osdb.c) on the models with swap: what swappiness
 * must and must not do, in the classic lists and in generations.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "replay/components/components.h"
#include "replay/replay.h"

extern const struct kernel_ops linux_6_18_ops, linux_6_1_ops, linux_mglru_ops, linux_mglru_6_1_ops;

static const struct kernel_ops *const all[] = {
	&linux_6_18_ops, &linux_6_1_ops, &linux_mglru_ops, &linux_mglru_6_1_ops,
};
enum { NR_CLASSIC = 2 };

enum { IDLE_PAGES = 2304, SET_PAGES = 4096 };

static struct osdb_params small_copy(void)
{
	struct osdb_params osdb;

	assert_int_equal(params_defaults(osdb_params_table, &osdb, NULL), 0);
	osdb.data_bytes = 24 << 20;
	osdb.last = true;
	osdb.idle_anon_bytes = IDLE_PAGES * 4096;
	osdb.busy_anon_bytes = 4096;
	osdb.nr_accesses = 60000;
	osdb.write_share = 0;
	osdb.sync_pages = 64;
	return osdb;
}

static struct osdb_result run(const struct kernel_ops *ops, const char *swap,
			      const char *swappiness, uint32_t capacity_pages,
			      const struct osdb_params *osdb)
{
	char options[1024] __attribute__((aligned(16)));
	struct osdb_result r;

	assert_true(ops->params_bytes <= sizeof(options));
	assert_int_equal(params_defaults(ops->params, options, NULL), 0);
	assert_int_equal(params_set(ops->params, options, "", "swap", swap, NULL), 0);
	assert_int_equal(params_set(ops->params, options, "", "swappiness", swappiness, NULL), 0);
	assert_int_equal(params_set(ops->params, options, "", "readahead", "random", NULL), 0);
	assert_int_equal(osdb_run(ops, options, capacity_pages, osdb, &r, NULL), 0);
	return r;
}

static void at_swappiness_0_nothing_is_swapped(void **state)
{
	struct osdb_params osdb = small_copy();

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		struct osdb_result r = run(all[i], "on", "0", 4608, &osdb);

		assert_int_equal(r.swapped_out_pages, 0);
		assert_int_equal(r.swap_misses, 0);
		/* 4096 of which 4608 - 2304 fit: 44 %. */
		assert_in_range(r.file_misses, 60000 * 42 / 100, 60000 * 48 / 100);
	}
}

static void idle_memory_gives_way_to_a_working_set(void **state)
{
	struct osdb_params osdb = small_copy();

	for (size_t i = 0; i < NR_CLASSIC; i++) {
		struct osdb_result none = run(all[i], "on", "0", 4608, &osdb);
		struct osdb_result some = run(all[i], "on", "100", 4608, &osdb);

		assert_in_range(some.swapped_out_pages, 1700, IDLE_PAGES + 1);
		assert_true(some.file_misses < none.file_misses / 3);
	}
}

/*
 * In generations only what aging has passed by twice can go, and a limit this small seldom ages
 * (a pass at the default priority never does): with a few MB of other use it comes about.
 */
static void generations_swap_idle_memory_that_aged(void **state)
{
	struct osdb_params osdb;

	assert_int_equal(params_defaults(osdb_params_table, &osdb, NULL), 0);
	osdb.nr_accesses = 100000;
	for (size_t i = NR_CLASSIC; i < ARRAY_SIZE(all); i++) {
		struct osdb_result none = run(all[i], "on", "0", 6272, &osdb);
		struct osdb_result some = run(all[i], "on", "60", 6272, &osdb);

		assert_int_equal(none.swapped_out_pages, 0);
		assert_in_range(some.swapped_out_pages, 1000, 2176 + 1024);
		assert_true(some.file_misses < none.file_misses / 3);
	}
}

/* Memory that is touched all the time stays, whatever swappiness but the extreme. */
static void busy_memory_is_not_swapped(void **state)
{
	struct osdb_params osdb = small_copy();

	osdb.busy_anon_bytes = 256 << 10;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		struct osdb_result r = run(all[i], "on", "100", 5120, &osdb);

		assert_true(r.swap_misses < 200);
	}
}

static void without_swap_swappiness_changes_nothing(void **state)
{
	struct osdb_params osdb = small_copy();

	osdb.idle_anon_bytes = 0;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		struct osdb_result a = run(all[i], "off", "1", 3000, &osdb);
		struct osdb_result b = run(all[i], "off", "200", 3000, &osdb);

		assert_memory_equal(&a, &b, sizeof(a));
	}
}

/* Records that are no accesses have no outcome: they must not shift those of the others. */
static void syncs_of_the_burst_are_not_taken_for_misses(void **state)
{
	struct osdb_params osdb = small_copy();

	for (uint64_t sync = 0; sync <= 96; sync += 32) {
		osdb.sync_pages = sync;
		for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
			struct osdb_result r = run(all[i], "on", "60", 65536, &osdb);

			assert_int_equal(r.burst_misses + r.file_misses + r.swap_misses, 0);
		}
	}
}

/* A cycle over more than fits misses always, until idle memory has made room for all of it. */
static void a_cycle_fits_once_idle_memory_is_gone(void **state)
{
	struct osdb_params osdb = small_copy();

	osdb.cyclic = true;
	for (size_t i = 0; i < NR_CLASSIC; i++) {
		struct osdb_result kept = run(all[i], "on", "0", 5632, &osdb);
		struct osdb_result gone = run(all[i], "on", "100", 5632, &osdb);

		assert_true(kept.file_misses > 30000);
		assert_true(gone.file_misses < 3 * SET_PAGES);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(at_swappiness_0_nothing_is_swapped),
		cmocka_unit_test(idle_memory_gives_way_to_a_working_set),
		cmocka_unit_test(generations_swap_idle_memory_that_aged),
		cmocka_unit_test(busy_memory_is_not_swapped),
		cmocka_unit_test(without_swap_swappiness_changes_nothing),
		cmocka_unit_test(syncs_of_the_burst_are_not_taken_for_misses),
		cmocka_unit_test(a_cycle_fits_once_idle_memory_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
