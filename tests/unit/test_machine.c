// SPDX-License-Identifier: GPL-2.0-or-later
/* test_machine.c - a machine without a limit: watermarks, kswapd and direct reclaim. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "replay/replay.h"

enum {
	IDS = 70000, MEMORY = 49152,
	/* 192 MB: min = 4 * sqrt(196608) kB / 4 = 443 pages, and 110 to low, 110 to high */
	MIN = 443, GAP = 110,
	/* the first 16 MB keep a 256th of the rest */
	KEPT = (MEMORY - 3840) / 256,
};

static const char *const classic[] = { "linux-6.18", "linux-6.12", "linux-6.1" };

static const struct kernel_ops *find(const char *name)
{
	for (int i = 0; kernel_models[i]; i++)
		if (!strcmp(kernel_models[i]->name, name))
			return kernel_models[i];
	fail_msg("no model %s", name);
	return NULL;
}

/* Reads of page 0, 1, 2, ... @nr in all, over @nr_ids pages. */
static struct replay_counters replay(const char *name, size_t nr, uint32_t nr_ids, uint32_t memory,
				     const char *page_ns, const struct replay_context *context)
{
	const struct kernel_ops *ops = find(name);
	char options[1024] __attribute__((aligned(16)));
	struct kernel_config config = { .capacity_pages = memory, .nr_ids = nr_ids,
					.params = options, .context = context };
	uint32_t *pages = malloc(sizeof(*pages) * nr);
	const struct demand_block block = { .nr = nr, .page = pages };
	struct replay_counters c;
	struct kernel_model *m;
	struct err err = { 0 };
	int code = 0;

	for (size_t i = 0; i < nr; i++)
		pages[i] = (uint32_t)(i % nr_ids);
	assert_int_equal(params_defaults(ops->params, options, &err), 0);
	assert_int_equal(params_set(ops->params, options, name, "kswapd", "on", &err), 0);
	assert_int_equal(params_set(ops->params, options, name, "readahead", "off", &err), 0);
	assert_int_equal(params_set(ops->params, options, name, "kswapd_page", page_ns, &err), 0);
	m = ops->create(&config, &code, &err);
	assert_non_null(m);
	assert_int_equal(ops->feed(m, &block, NULL, &err), 0);
	ops->counters(m, &c);
	ops->destroy(m);
	free(pages);
	assert_int_equal(c.hits + c.misses, c.accesses);
	assert_int_equal(c.fills - c.evictions, c.resident_pages);
	return c;
}

static void kswapd_keeps_free_memory_between_low_and_high(void **state)
{
	for (size_t k = 0; k < ARRAY_SIZE(classic); k++) {
		uint64_t most = 0, least = UINT64_MAX;

		for (size_t nr = MEMORY - 2000; nr < MEMORY + 6000; nr += 211) {
			struct replay_counters c = replay(classic[k], nr, IDS, MEMORY, "0", NULL);

			if (!c.evictions) {
				assert_int_equal(c.resident_pages, nr);
				continue;
			}
			most = c.resident_pages > most ? c.resident_pages : most;
			least = c.resident_pages < least ? c.resident_pages : least;
		}
		/* A pass goes on for what it was to look at: twice as much as was still wanted. */
		assert_in_range(most, MEMORY - MIN - KEPT - GAP - GAP / 2,
				MEMORY - MIN - KEPT - GAP);
		assert_in_range(least, MEMORY - MIN - KEPT - 4 * GAP, MEMORY - MIN - KEPT - GAP);
	}
}

/* 2 us a page come in, and kswapd takes 5: who wants memory has to reclaim it himself at min. */
static void a_kswapd_that_is_too_slow_is_helped_at_min(void **state)
{
	for (size_t k = 0; k < ARRAY_SIZE(classic); k++) {
		uint64_t fast = 0, slow = 0;

		for (size_t nr = IDS - 700; nr <= IDS; nr += 29) {
			uint64_t at_fast =
				replay(classic[k], nr, IDS, MEMORY, "1us", NULL).resident_pages;
			uint64_t at_slow =
				replay(classic[k], nr, IDS, MEMORY, "5us", NULL).resident_pages;

			fast = at_fast > fast ? at_fast : fast;
			slow = at_slow > slow ? at_slow : slow;
		}
		assert_true(fast <= MEMORY - MIN - KEPT - GAP / 2);
		assert_in_range(slow, MEMORY - MIN - KEPT - GAP / 2, MEMORY - MIN - KEPT);
	}
}

/* What the recorded machine used otherwise is not there for page cache. */
static void what_the_machine_used_otherwise_is_not_available(void **state)
{
	/* at 2 us an access: 10 000 pages until half of them are done, 12 000 then */
	static const struct replay_usage used[] = { { 0, 10000 }, { IDS * 1000ULL, 12000 } };
	struct replay_context context = { .total_pages = MEMORY, .limit_pages = UINT64_MAX,
					  .other_charge_pages = 7, .other_used = used };
	struct replay_counters all = replay("linux-6.18", IDS, IDS, MEMORY, "0", &context);
	struct replay_counters less;

	for (context.nr_other_used = 1; context.nr_other_used <= 2; context.nr_other_used++) {
		uint64_t want = used[context.nr_other_used - 1].pages;

		less = replay("linux-6.18", IDS, IDS, MEMORY, "0", &context);
		assert_in_range(all.resident_pages - less.resident_pages, want - 4 * GAP,
				want + 4 * GAP);
	}
}

/* Half as many pages as there is memory: read again and again without a single eviction. */
static void what_fits_stays(void **state)
{
	for (size_t k = 0; k < ARRAY_SIZE(classic); k++) {
		struct replay_counters c = replay(classic[k], IDS, MEMORY / 2, MEMORY, "1us", NULL);

		assert_int_equal(c.fills, MEMORY / 2);
		assert_int_equal(c.evictions, 0);
	}
}

/* Whole-page writes of @nr pages, in a memcg of 10 000; how many were written in the meantime. */
static uint64_t written(const struct replay_context *context, const char *mode, uint32_t nr)
{
	const struct kernel_ops *ops = find("linux-6.12");
	char options[1024] __attribute__((aligned(16)));
	struct kernel_config config = { .capacity_pages = 10000, .nr_ids = nr, .params = options,
					.context = context };
	uint32_t *pages = malloc(sizeof(*pages) * nr);
	uint8_t *ops_of = malloc(nr);
	const struct demand_block block = { .nr = nr, .page = pages, .op = ops_of };
	struct replay_counters c;
	struct kernel_model *m;
	struct err err = { 0 };
	int code = 0;

	for (uint32_t i = 0; i < nr; i++) {
		pages[i] = i;
		ops_of[i] = DEMAND_WRITE_WHOLE;
	}
	assert_int_equal(params_defaults(ops->params, options, &err), 0);
	assert_int_equal(params_set(ops->params, options, "x", "dirty_limit", mode, &err), 0);
	m = ops->create(&config, &code, &err);
	assert_non_null(m);
	assert_int_equal(ops->feed(m, &block, NULL, &err), 0);
	ops->counters(m, &c);
	ops->destroy(m);
	free(ops_of);
	free(pages);
	return c.written;
}

/* With 10 000 pages: half way between 10 % and 20 %. No timer fires in so short a time. */
static void the_flusher_is_woken_by_the_share_of_dirty_pages_in_a_memcg_of_v2(void **state)
{
	struct replay_context context = { .total_pages = MEMORY, .limit_pages = 10000,
					  .other_charge_pages = UINT64_MAX, .memcg_v2 = true };

	assert_int_equal(written(&context, "auto", 1500), 0);
	assert_true(written(&context, "auto", 1600) > 0);
	assert_int_equal(written(&context, "off", 9000), 0);
	context.memcg_v2 = false;
	assert_int_equal(written(&context, "auto", 9000), 0);
	assert_true(written(&context, "on", 9000) > 0);
}

/* "shrink.superblock" of a stream of 60 000 pages; UINT64_MAX: not counted. */
static uint64_t superblocks_polled(const char *name, const char *kswapd, const char *superblocks)
{
	const struct kernel_ops *ops = find(name);
	char options[1024] __attribute__((aligned(16)));
	struct kernel_config config = { .capacity_pages = MEMORY, .nr_ids = IDS,
					.params = options };
	struct replay_cost costs[GRID_MAX_COSTS];
	uint64_t polled = UINT64_MAX;
	struct kernel_model *m;
	int code = 0, nr;

	assert_int_equal(params_defaults(ops->params, options, NULL), 0);
	assert_int_equal(params_set(ops->params, options, name, "kswapd", kswapd, NULL), 0);
	assert_int_equal(params_set(ops->params, options, name, "superblocks", superblocks, NULL),
			 0);
	m = ops->create(&config, &code, NULL);
	assert_non_null(m);
	for (uint32_t page = 0; page < 60000; page++) {
		const struct demand_block block = { .nr = 1, .page = &page };

		assert_int_equal(ops->feed(m, &block, NULL, NULL), 0);
	}
	nr = ops->costs(m, costs, GRID_MAX_COSTS);
	assert_in_range(nr, 1, GRID_MAX_COSTS);
	for (int i = 0; i < nr; i++)
		if (!strcmp(costs[i].operation, "shrink.superblock"))
			polled = costs[i].count;
	ops->destroy(m);
	return polled;
}

static void a_machines_reclaim_asks_every_superblock_a_memcgs_none(void **state)
{
	static const char *const names[] = { "linux-6.18", "linux-6.1", "linux-mglru" };

	for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
		uint64_t thousand = superblocks_polled(names[k], "on", "1000");

		assert_true(thousand >= 1000 && thousand < 1000 * 60000);
		assert_int_equal(thousand % 1000, 0);
		assert_true(superblocks_polled(names[k], "off", "1000") == UINT64_MAX);
		assert_true(superblocks_polled(names[k], "on", "0") == UINT64_MAX);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_machines_reclaim_asks_every_superblock_a_memcgs_none),
		cmocka_unit_test(kswapd_keeps_free_memory_between_low_and_high),
		cmocka_unit_test(a_kswapd_that_is_too_slow_is_helped_at_min),
		cmocka_unit_test(what_the_machine_used_otherwise_is_not_available),
		cmocka_unit_test(what_fits_stays),
		cmocka_unit_test(the_flusher_is_woken_by_the_share_of_dirty_pages_in_a_memcg_of_v2),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
