// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_kswapd.c - kswapd and shrinkers against closed forms, conservation and metamorphic checks.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "replay/components/components.h"

static void fill(struct kswapd_params *params)
{
	assert_int_equal(params_defaults(kswapd_params_table, params, NULL), 0);
	params->read_bytes = 2000000000;
}

static void assert_near(double got, double want, double share)
{
	if (fabs(got - want) > share * fabs(want))
		fail_msg("%g is not within %g %% of %g", got, 100 * share, want);
}

/* CPU = r * (c_page + N * c_sb / p) with r and p as simulated. */
static void cpu_follows_the_closed_form(void **state)
{
	static const uint64_t superblocks[] = { 0, 20, 200, 800, 4000 };
	struct kswapd_params params;
	struct kswapd_result r;

	fill(&params);
	for (size_t i = 0; i < ARRAY_SIZE(superblocks); i++) {
		params.nr_superblocks = superblocks[i];
		assert_int_equal(kswapd_run(&params, &r, NULL), 0);
		assert_near(r.cpu_pct / 100, kswapd_closed_form(r.nr_reclaimed / r.run_s,
			    params.page_ns, params.nr_superblocks, params.superblock_ns,
			    r.pages_per_pass), 0.01);
	}
}

static void pages_are_conserved(void **state)
{
	struct kswapd_params params;
	struct kswapd_result r;

	fill(&params);
	for (params.version = 0; params.version < NR_KSWAPD_VERSIONS; params.version++) {
		for (params.nr_superblocks = 20; params.nr_superblocks < 9000;
		     params.nr_superblocks *= 7) {
			assert_int_equal(kswapd_run(&params, &r, NULL), 0);
			assert_int_equal(r.nr_allocated, params.read_bytes / PAGE_BYTES);
			assert_int_equal(r.nr_allocated - r.nr_reclaimed - r.nr_direct,
					 r.free_start - r.free_end);
		}
	}
}

static void every_pass_polls_every_superblock_and_frees_nothing(void **state)
{
	struct kswapd_params params;
	struct kswapd_result r;

	fill(&params);
	params.nr_superblocks = 321;
	assert_int_equal(kswapd_run(&params, &r, NULL), 0);
	assert_int_equal(r.slab.nr_polled, 321 * r.slab.nr_passes);
	assert_int_equal(r.slab.nr_objects, 0);
	assert_near(r.slab.poll_ns, r.slab.nr_polled * params.superblock_ns, 1e-9);
}

static void more_superblocks_never_cost_less(void **state)
{
	struct kswapd_params params;
	struct kswapd_result r;
	double before = 0;

	fill(&params);
	for (params.nr_superblocks = 0; params.nr_superblocks <= 4000;
	     params.nr_superblocks += 250) {
		assert_int_equal(kswapd_run(&params, &r, NULL), 0);
		assert_true(r.cpu_pct >= before * 0.98);
		before = r.cpu_pct;
	}
}

/* Without superblocks a pass costs nothing: CPU = r * c_page, whatever the version. */
static void without_superblocks_only_pages_cost(void **state)
{
	struct kswapd_params params;
	struct kswapd_result r;

	fill(&params);
	params.nr_superblocks = 0;
	for (params.version = 0; params.version < NR_KSWAPD_VERSIONS; params.version++) {
		assert_int_equal(kswapd_run(&params, &r, NULL), 0);
		assert_near(r.page_pct, 100, 1e-9);
		assert_near(r.cpu_pct, 100 * r.nr_reclaimed / r.run_s * params.page_ns / 1e9, 1e-6);
	}
}

static void bitmaps_and_priority_deltas_do_not_help_global_reclaim(void **state)
{
	struct kswapd_params params;
	struct kswapd_result plain, r;

	fill(&params);
	params.nr_superblocks = 1500;
	assert_int_equal(kswapd_run(&params, &plain, NULL), 0);
	params.memcg_bitmap = true;
	assert_int_equal(kswapd_run(&params, &r, NULL), 0);
	assert_int_equal(r.slab.nr_polled, plain.slab.nr_polled);
	params.delta_by_priority = true;
	assert_int_equal(kswapd_run(&params, &r, NULL), 0);
	assert_int_equal(r.slab.nr_polled, plain.slab.nr_polled);
}

/* A round lasts as long as its polls: N superblocks at rate r are like N / k of them at k * r. */
static void superblocks_and_the_rate_count_as_their_product(void **state)
{
	struct kswapd_params params;
	struct kswapd_result slow, fast;

	fill(&params);
	for (double n = 400; n <= 2400; n += 500) {
		params.nr_superblocks = n;
		params.demand_mb_s = 300;
		assert_int_equal(kswapd_run(&params, &slow, NULL), 0);
		params.nr_superblocks = n / 1.8;
		params.demand_mb_s = 300 * 1.8;
		assert_int_equal(kswapd_run(&params, &fast, NULL), 0);
		if (fabs(slow.cpu_pct - fast.cpu_pct) > 10)
			fail_msg("%g superblocks: %g %% slow, %g %% fast", n, slow.cpu_pct,
				 fast.cpu_pct);
	}
}

/* 11 pages at priority 12, 22 at 11: three slab passes for 33 pages, not two for 11. */
static void a_short_round_is_followed_by_a_deeper_one(void **state)
{
	struct kswapd_params params;
	struct kswapd_result lowered, never;

	fill(&params);
	params.jitter = 0;
	params.nr_superblocks = 3000;
	assert_int_equal(kswapd_run(&params, &lowered, NULL), 0);
	params.lower_priority = false;
	assert_int_equal(kswapd_run(&params, &never, NULL), 0);
	assert_true(lowered.nr_loops < never.nr_loops);
	assert_true(lowered.pages_per_pass > never.pages_per_pass);
}

static void a_reader_faster_than_it_can_allocate_is_refused(void **state)
{
	struct kswapd_params params;
	struct kswapd_result r;
	struct err err = { "" };

	fill(&params);
	params.demand_mb_s = 90000;
	assert_int_equal(kswapd_run(&params, &r, &err), -EINVAL);
	assert_non_null(strstr(err.text, "allocate"));
}

static void the_same_seed_gives_the_same_run(void **state)
{
	struct kswapd_params params;
	struct kswapd_result a, b;

	fill(&params);
	assert_int_equal(kswapd_run(&params, &a, NULL), 0);
	assert_int_equal(kswapd_run(&params, &b, NULL), 0);
	assert_memory_equal(&a, &b, sizeof(a));
}

/*
 * delta = (4 * scanned / seeks) * freeable / (lru_pages + 1), a batch at a time, the rest deferred.
 */
static void slab_of_3_2_frees_whole_batches_and_defers_the_rest(void **state)
{
	struct shrinker s = { .freeable = 100000, .seeks = 2, .batch = 128 };
	struct shrinkers all = { .item = &s, .nr_items = 1, .nr_empty = 10, .poll_ns = 2 };
	struct shrink_slab_control c = { .nr_scanned = 32, .lru_pages = 63999, .priority = 12 };
	struct shrink_slab_counters n = { 0 };

	assert_int_equal(shrink_slab(&all, &c, &n), 0); /* 64 * 100000 / 64000 = 100 < 128 */
	assert_int_equal(s.deferred, 100);
	assert_int_equal(shrink_slab(&all, &c, &n), 128);	/* 200 */
	assert_int_equal(s.deferred, 72);
	assert_int_equal(s.freeable, 100000 - 128);
	c.nr_scanned = 0;					/* counts as 32 */
	assert_int_equal(shrink_slab(&all, &c, &n), 128);	/* 72 + 99 */
	assert_int_equal(s.deferred, 43);
	assert_int_equal(n.nr_polled, 33);
	assert_int_equal(n.nr_objects, 256);
	assert_true(n.poll_ns == 66);
}

/* delta = 4 * (freeable >> priority) / seeks; a small cache goes whole once total reaches it. */
static void slab_of_6_18_takes_its_share_from_the_priority(void **state)
{
	struct shrinker s = { .freeable = 1 << 20, .seeks = 2, .batch = 128 };
	struct shrinkers all = { .item = &s, .nr_items = 1, .delta_by_priority = true };
	struct shrink_slab_control c = { .nr_scanned = 32, .lru_pages = 1000, .priority = 12 };
	struct shrink_slab_counters n = { 0 };

	assert_int_equal(shrink_slab(&all, &c, &n), 512);	/* 2 * (2^20 >> 12) */
	assert_int_equal(s.deferred, 0);
	c.priority = 0;
	s.freeable = 50;
	assert_int_equal(shrink_slab(&all, &c, &n), 50);
	assert_int_equal(s.freeable, 0);
}

static void bitmaps_skip_empty_shrinkers_in_memcg_reclaim_only(void **state)
{
	struct shrinkers all = { .nr_empty = 500, .poll_ns = 47, .memcg_bitmap = true };
	struct shrink_slab_control c = { .nr_scanned = 32, .lru_pages = 1, .memcg_reclaim = true };
	struct shrink_slab_counters n = { 0 };

	shrink_slab(&all, &c, &n);
	assert_int_equal(n.nr_polled, 0);
	c.memcg_reclaim = false;
	shrink_slab(&all, &c, &n);
	assert_int_equal(n.nr_polled, 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpu_follows_the_closed_form),
		cmocka_unit_test(pages_are_conserved),
		cmocka_unit_test(every_pass_polls_every_superblock_and_frees_nothing),
		cmocka_unit_test(more_superblocks_never_cost_less),
		cmocka_unit_test(without_superblocks_only_pages_cost),
		cmocka_unit_test(bitmaps_and_priority_deltas_do_not_help_global_reclaim),
		cmocka_unit_test(superblocks_and_the_rate_count_as_their_product),
		cmocka_unit_test(a_short_round_is_followed_by_a_deeper_one),
		cmocka_unit_test(a_reader_faster_than_it_can_allocate_is_refused),
		cmocka_unit_test(the_same_seed_gives_the_same_run),
		cmocka_unit_test(slab_of_3_2_frees_whole_batches_and_defers_the_rest),
		cmocka_unit_test(slab_of_6_18_takes_its_share_from_the_priority),
		cmocka_unit_test(bitmaps_skip_empty_shrinkers_in_memcg_reclaim_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
