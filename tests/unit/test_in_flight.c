// SPDX-License-Identifier: GPL-2.0-or-later
/* test_in_flight.c - pages that are still being read are locked: reclaim lets them be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "replay/replay.h"

enum { NR = 2000, NR_IDS = 2048, LIMIT = 400 };

static uint32_t page[NR], run[NR];
static uint64_t ts_ns[NR];
static size_t nr;

static void read_pages(uint32_t first, uint32_t pages)
{
	page[nr] = first;
	run[nr] = pages;
	ts_ns[nr] = (nr + 1) * 1000000ULL;
	nr++;
}

static struct replay_counters replay(void)
{
	char options[1024] __attribute__((aligned(16)));
	struct replay_extent extent = { .pages = NR_IDS, .file_id = 1, .file_pages = NR_IDS };
	const struct demand_block block = { .nr = nr, .page = page, .run = run, .ts_ns = ts_ns };
	struct kernel_config config = { .capacity_pages = LIMIT, .nr_ids = NR_IDS,
					.params = options, .extents = &extent, .nr_extents = 1 };
	static const char *const params[][2] = {
		{ "stale_stats", "0" }, { "readahead", "model" }, { "max_io", "2M" },
	};
	const struct kernel_ops *ops = NULL;
	struct replay_counters c;
	struct kernel_model *m;
	struct err err = { 0 };
	int code = 0;

	for (int i = 0; kernel_models[i]; i++)
		if (!strcmp(kernel_models[i]->name, "linux-6.18"))
			ops = kernel_models[i];
	assert_non_null(ops);
	assert_int_equal(params_defaults(ops->params, options, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(params); i++)
		assert_int_equal(params_set(ops->params, options, "", params[i][0], params[i][1],
					    &err), 0);
	m = ops->create(&config, &code, &err);
	assert_non_null(m);
	assert_int_equal(ops->feed(m, &block, NULL, &err), 0);
	ops->counters(m, &c);
	ops->destroy(m);
	return c;
}

/*
 * 180 pages are active, so 220 are left. A request of 200 in their place must not push out its own
 * first pages while its last ones come in.
 */
static void a_request_does_not_evict_what_it_is_reading(void **state)
{
	nr = 0;
	for (int i = 0; i < 2; i++)
		for (uint32_t at = 0; at < 180; at++)
			read_pages(2 * at + 2, 1);
	read_pages(600, 100);
	for (uint32_t at = 1800; at >= 900; at -= 300) {
		struct replay_counters before = replay();

		read_pages(at, 200);
		assert_int_equal(replay().fills - before.fills, 200);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_does_not_evict_what_it_is_reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
