// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_vm2002.c - linux-2.4 and linux-2.5: thresholds, conservation, and the workload on the edge.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "replay/components/components.h"
#include "replay/kernel/vm2002.h"

extern const struct kernel_ops linux_2_4_ops, linux_2_5_ops;
static const struct kernel_ops *const both[] = { &linux_2_4_ops, &linux_2_5_ops };

enum { MIB = 256 };	/* in pages */

static struct vm_params defaults(const struct kernel_ops *ops)
{
	struct vm_params params = { 0 };

	assert_int_equal(params_defaults(ops->params, &params, NULL), 0);
	return params;
}

static struct kernel_model *create(const struct kernel_ops *ops, struct vm_params *params,
				   uint32_t capacity_pages, uint32_t nr_ids)
{
	struct kernel_config config = { .capacity_pages = capacity_pages, .nr_ids = nr_ids,
					.params = params };
	int code = 0;
	struct kernel_model *m = ops->create(&config, &code, NULL);

	assert_non_null(m);
	return m;
}

static int feed(const struct kernel_ops *ops, struct kernel_model *m, uint32_t first, uint32_t run,
		enum demand_op op)
{
	uint8_t ops_column = op;
	struct demand_block block = { .nr = 1, .page = &first, .run = &run, .op = &ops_column };

	return ops->feed(m, &block, NULL, NULL);
}

static void pages_and_accesses_are_conserved(void **state)
{
	uint64_t rand = 7;

	for (size_t k = 0; k < ARRAY_SIZE(both); k++) {
		struct vm_params params = defaults(both[k]);
		struct kernel_model *m = create(both[k], &params, 2000, 6000);
		uint64_t removed = 0, accesses = 0;
		struct replay_counters c;

		for (int i = 0; i < 60000; i++) {
			uint32_t page = rand_next(&rand) % 6000;
			enum demand_op op = page < 1500 ? DEMAND_ANON : rand_next(&rand) % 3;
			struct replay_counters before;

			both[k]->counters(m, &before);
			if (rand_next(&rand) % 50 == 0) {
				assert_int_equal(feed(both[k], m, page, 1, DEMAND_TRUNCATE), 0);
				both[k]->counters(m, &c);
				removed += before.resident_pages - c.resident_pages;
				continue;
			}
			assert_int_equal(feed(both[k], m, page, 1, op), 0);
			accesses++;
		}
		both[k]->counters(m, &c);
		assert_int_equal(c.accesses, accesses);
		assert_int_equal(c.hits + c.misses, accesses);
		assert_int_equal(c.fills, c.misses);
		assert_int_equal(c.fills - c.evictions - removed, c.resident_pages);
		assert_true(c.resident_pages <= 2000);
		assert_true(c.evictions > 0 && c.scanned >= c.evictions);
		both[k]->destroy(m);
	}
}

/*
 * Idle mapped memory of @mapped_pct of all, then a stream of file pages: pages swapped out. With
 * priority 12 and no dirty page in the way, swapping must start exactly at the threshold.
 */
static uint64_t swapped_by_a_stream(const struct kernel_ops *ops, uint64_t swappiness,
				    int mapped_pct)
{
	struct vm_params params = defaults(ops);
	struct replay_counters c;
	struct kernel_model *m;

	params.swappiness = swappiness;
	m = create(ops, &params, 10000, 200000);
	assert_int_equal(feed(ops, m, 0, mapped_pct * 100, DEMAND_ANON), 0);
	assert_int_equal(feed(ops, m, 10000, 180000, DEMAND_READ), 0);
	ops->counters(m, &c);
	ops->destroy(m);
	return c.swapped_out;
}

static void v2_5_swaps_exactly_from_the_mapped_share_that_swappiness_asks_for(void **state)
{
	assert_int_equal(swapped_by_a_stream(&linux_2_5_ops, 60, 79), 0);
	assert_true(swapped_by_a_stream(&linux_2_5_ops, 60, 81) > 0);
	assert_int_equal(swapped_by_a_stream(&linux_2_5_ops, 80, 39), 0);
	assert_true(swapped_by_a_stream(&linux_2_5_ops, 80, 41) > 0);
	assert_true(swapped_by_a_stream(&linux_2_5_ops, 100, 5) > 0);
}

/* Between enough file pages, mapped pages never use up max_mapped: a tenth of memory is safe. */
static void v2_4_swaps_once_mapped_pages_lie_thick_enough(void **state)
{
	assert_int_equal(swapped_by_a_stream(&linux_2_4_ops, 0, 10), 0);
	assert_true(swapped_by_a_stream(&linux_2_4_ops, 0, 70) > 0);
}

static void without_swap_no_anonymous_page_leaves(void **state)
{
	for (size_t k = 0; k < ARRAY_SIZE(both); k++) {
		struct vm_params params = defaults(both[k]);
		struct replay_counters before, c;
		struct kernel_model *m;

		params.swap = false;
		params.swappiness = 100;
		m = create(both[k], &params, 4000, 20000);
		assert_int_equal(feed(both[k], m, 0, 1000, DEMAND_ANON), 0);
		assert_int_equal(feed(both[k], m, 1000, 19000, DEMAND_READ), 0);
		both[k]->counters(m, &before);
		assert_int_equal(feed(both[k], m, 0, 1000, DEMAND_ANON), 0);
		both[k]->counters(m, &c);
		assert_int_equal(c.hits - before.hits, 1000);
		assert_int_equal(c.swapped_out, 0);
		both[k]->destroy(m);
	}
}

static void running_out_of_memory_is_an_error_not_a_loop(void **state)
{
	for (size_t k = 0; k < ARRAY_SIZE(both); k++) {
		struct vm_params params = defaults(both[k]);
		struct kernel_model *m;

		params.swap = false;
		m = create(both[k], &params, 1000, 2000);
		assert_int_equal(feed(both[k], m, 0, 1500, DEMAND_ANON), -ENODATA);
		both[k]->destroy(m);
	}
}

static void a_kernel_larger_than_memory_is_refused(void **state)
{
	struct vm_params params = defaults(&linux_2_5_ops);
	struct kernel_config config = { .capacity_pages = 100, .nr_ids = 10, .params = &params };
	struct err err = { "" };
	int code = 0;

	params.kernel_bytes = 1 << 20;
	assert_null(linux_2_5_ops.create(&config, &code, &err));
	assert_int_equal(code, -EINVAL);
	assert_non_null(strstr(err.text, "leaves nothing"));
}

static double miss_ratio(const struct kernel_ops *ops, uint64_t swappiness, uint32_t memory_pages,
			 uint64_t *swapped)
{
	struct vm_params params = defaults(ops);
	struct osdb_params osdb;
	struct osdb_result r;

	params.swappiness = swappiness;
	params.kernel_bytes = 15 << 20;
	assert_int_equal(params_defaults(osdb_params_table, &osdb, NULL), 0);
	osdb.nr_accesses = 100000;
	assert_int_equal(osdb_run(ops, &params, memory_pages, &osdb, &r, NULL), 0);
	*swapped = r.swapped_out_pages;
	return (double)r.file_misses / r.nr_accesses;
}

/* Nothing swapped: C = memory - kernel - anon - free; misses = 1 - C / W, within 5 % of memory. */
static void misses_are_what_the_kernel_leaves_to_the_cache(void **state)
{
	for (int memory = 30; memory <= 42; memory += 4) {
		uint64_t swapped;
		double got = miss_ratio(&linux_2_5_ops, 60, memory * MIB, &swapped);
		double cache = memory - 15 - 12.5 - 2.5 * memory / 128;

		if (swapped)
			continue;	/* the burst got it into distress */
		assert_true(fabs(got - (1 - cache / 16)) < 0.05);
	}
}

static void idle_memory_given_up_makes_the_working_set_fit(void **state)
{
	uint64_t swapped;

	assert_true(miss_ratio(&linux_2_5_ops, 60, 40 * MIB, &swapped) > 0.2);
	assert_int_equal(swapped, 0);
	assert_true(miss_ratio(&linux_2_5_ops, 100, 40 * MIB, &swapped) < 0.05);
	assert_true(swapped > 1000);
	assert_true(miss_ratio(&linux_2_4_ops, 0, 40 * MIB, &swapped) < 0.06);
	assert_true(swapped > 500);
}

static void with_memory_for_all_there_is_no_miss(void **state)
{
	uint64_t swapped;

	for (size_t k = 0; k < ARRAY_SIZE(both); k++) {
		assert_true(miss_ratio(both[k], 60, 96 * MIB, &swapped) == 0);
		assert_int_equal(swapped, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_and_accesses_are_conserved),
		cmocka_unit_test(v2_5_swaps_exactly_from_the_mapped_share_that_swappiness_asks_for),
		cmocka_unit_test(v2_4_swaps_once_mapped_pages_lie_thick_enough),
		cmocka_unit_test(without_swap_no_anonymous_page_leaves),
		cmocka_unit_test(running_out_of_memory_is_an_error_not_a_loop),
		cmocka_unit_test(a_kernel_larger_than_memory_is_refused),
		cmocka_unit_test(misses_are_what_the_kernel_leaves_to_the_cache),
		cmocka_unit_test(idle_memory_given_up_makes_the_working_set_fit),
		cmocka_unit_test(with_memory_for_all_there_is_no_miss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
