// SPDX-License-Identifier: GPL-2.0-or-later
/* test_writeback.c - dirty pages, the flusher and reclaim. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "replay/replay.h"

enum { NR = 20000, NR_IDS = 8192, LIMIT = 1024 };

static uint32_t page[NR], run[NR];
static uint8_t op[NR];
static uint64_t ts_ns[NR];

static const struct kernel_ops *find(const char *name)
{
	for (int i = 0; kernel_models[i]; i++)
		if (!strcmp(kernel_models[i]->name, name))
			return kernel_models[i];
	return NULL;
}

static struct replay_counters replay(size_t nr, const char *param, const char *value)
{
	char options[1024] __attribute__((aligned(16)));
	const struct kernel_ops *ops = find("linux-6.18");
	struct replay_extent extent = { .pages = NR_IDS, .file_id = 1, .file_pages = NR_IDS,
					.reading = READING_EXACT };
	struct kernel_config config = { .capacity_pages = LIMIT, .nr_ids = NR_IDS,
					.params = options, .extents = &extent, .nr_extents = 1 };
	const struct demand_block block = { .nr = nr, .page = page, .run = run, .op = op,
					    .ts_ns = ts_ns };
	struct replay_counters c;
	struct kernel_model *m;
	struct err err = { 0 };
	int code = 0;

	assert_int_equal(params_defaults(ops->params, options, &err), 0);
	if (param)
		assert_int_equal(params_set(ops->params, options, "", param, value, &err), 0);
	m = ops->create(&config, &code, &err);
	assert_non_null(m);
	assert_int_equal(ops->feed(m, &block, NULL, &err), 0);
	ops->counters(m, &c);
	ops->destroy(m);
	assert_int_equal(c.fills, c.evictions + c.resident_pages);
	assert_true(c.resident_pages <= LIMIT);
	return c;
}

/* Every third access writes, all over the file; one each 10 us. */
static size_t scattered_writes(void)
{
	for (uint32_t i = 0; i < NR; i++) {
		page[i] = i * 2654435761U % NR_IDS;
		run[i] = 1;
		op[i] = i % 3 ? DEMAND_READ : DEMAND_WRITE_WHOLE;
		ts_ns[i] = (i + 1) * 10000ULL;
	}
	return NR;
}

static void a_slow_flusher_lets_reclaim_meet_more_dirty_pages(void **state)
{
	size_t nr = scattered_writes();
	struct replay_counters at_once = replay(nr, "write_io", "0");
	struct replay_counters slow = replay(nr, "write_io", "200us");

	assert_true(at_once.written > 0 && slow.written > 0);
	assert_true(slow.activated > at_once.activated);
	assert_true(slow.scanned > at_once.scanned);
}

/* 900 dirty pages in a row are met by reclaim once; then they are at the tail and leave first. */
static void what_reclaim_met_dirty_leaves_when_it_is_clean(void **state)
{
	size_t nr = 0;
	struct replay_counters c;

	for (uint32_t i = 0; i < 900; i++, nr++)
		page[nr] = i, run[nr] = 1, op[nr] = DEMAND_WRITE_WHOLE, ts_ns[nr] = nr + 1;
	for (uint32_t i = 0; i < 500; i++, nr++)
		page[nr] = 4000 + i, run[nr] = 1, op[nr] = DEMAND_READ,
		ts_ns[nr] = 1000000 + nr * 1000000ULL;
	c = replay(nr, NULL, NULL);
	assert_in_range(c.rotated, 1, 900);
	assert_int_equal(c.written, 900);
	assert_true(c.activated < 450);
	/* the 500 pages that were read are still there: read again, they hit */
	for (uint32_t i = 0; i < 500; i++, nr++)
		page[nr] = 4000 + i, run[nr] = 1, op[nr] = DEMAND_READ,
		ts_ns[nr] = 1000000 + nr * 1000000ULL;
	assert_in_range(replay(nr, NULL, NULL).hits - c.hits, 450, 500);
}

/*
 * A page that reclaim met dirty looks like readahead's marker: reading it opens a window even in a
 * file that is read without readahead. The flusher, which starts at the other end, has not come
 * there.
 */
static void reading_a_page_that_reclaim_met_dirty_opens_a_window(void **state)
{
	size_t nr = 0;
	uint64_t undemanded;

	for (uint32_t i = 0; i < 900; i++, nr++)
		page[nr] = 2 * (899 - i), run[nr] = 1, op[nr] = DEMAND_WRITE_WHOLE,
		ts_ns[nr] = nr + 1;
	for (uint32_t i = 0; i < 130; i++, nr++)
		page[nr] = 6000 + 3 * i, run[nr] = 1, op[nr] = DEMAND_READ, ts_ns[nr] = nr + 1;
	undemanded = replay(nr, "write_io", "1s").fills_undemanded;
	assert_int_equal(undemanded, 0);
	for (uint32_t i = 0; i < 40; i++, nr++)
		page[nr] = 2 * (899 - i), run[nr] = 1, op[nr] = DEMAND_READ, ts_ns[nr] = nr + 1;
	assert_true(replay(nr, "write_io", "1s").fills_undemanded > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slow_flusher_lets_reclaim_meet_more_dirty_pages),
		cmocka_unit_test(what_reclaim_met_dirty_leaves_when_it_is_clean),
		cmocka_unit_test(reading_a_page_that_reclaim_met_dirty_opens_a_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
