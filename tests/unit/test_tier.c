// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_tier.c - the compressed tier: closed forms of a stream, conservation, what each policy
 * admits.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "replay/components/components.h"

static struct tier_params tier_with(int policy, double put_ns)
{
	struct tier_params params = { 0 };

	assert_int_equal(params_defaults(tier_params_table, &params, NULL), 0);
	params.policy = policy;
	params.put_ns = put_ns;
	params.get_ns = put_ns / 2;
	params.codec = codec_cost_find("lzo", "text");
	assert_non_null(params.codec);
	return params;
}

static struct tier_load_result run(const struct tier_params *params, const struct tier_load *load)
{
	struct tier_load_result r;

	assert_int_equal(tier_load_run(params, load, &r, NULL), 0);
	return r;
}

static struct tier_load stream(void)
{
	struct tier_load load;

	assert_int_equal(params_defaults(tier_load_table, &load, NULL), 0);
	load.nr_pages = load.nr_reads = 100000;
	load.warmup_reads = 30000;
	return load;
}

/* 1.3 x the memory, over and over, on a disk with seeks; the reader thinks between reads. */
static struct tier_load loop(double think_ns)
{
	struct tier_load load = stream();

	load.memory_pages = 4096;
	load.nr_pages = 4096 * 13 / 10;
	load.nr_reads = 8 * load.nr_pages;
	load.warmup_reads = 4 * load.nr_pages;
	load.shuffled = true;
	load.seek_ns = 8e6;
	load.think_ns = think_ns;
	return load;
}

static void assert_near(double got, double want, double share)
{
	if (fabs(got - want) > share * fabs(want))
		fail_msg("%g is not within %g %% of %g", got, 100 * share, want);
}

/* T = min(disk, 4096 / t_put): inserts and compressions take turns in one lock. */
static void a_stream_runs_at_the_locks_rate(void **state)
{
	static const double put_us[] = { 30, 60, 120 };
	struct tier_load load = stream();

	for (size_t i = 0; i < ARRAY_SIZE(put_us); i++) {
		struct tier_params params = tier_with(TIER_ALL, put_us[i] * 1000);
		struct tier_load_result r = run(&params, &load);

		assert_near(r.mb_s, 4096 / (put_us[i] + 1), 0.02);
		assert_near(r.cpu_pct, 100, 0.01);
		assert_true(r.hit_ratio == 0);
	}
}

/* T = CPUs * 4096 / (t_put + t_base), at most the disk. */
static void outside_the_lock_it_runs_at_the_cpus_rate(void **state)
{
	static const double put_us[] = { 20, 40, 80, 120 };
	struct tier_load load = stream();

	load.in_lock = false;
	for (size_t i = 0; i < ARRAY_SIZE(put_us); i++) {
		struct tier_params params = tier_with(TIER_ALL, put_us[i] * 1000);

		load.nr_cpus = 2;
		assert_near(run(&params, &load).mb_s, fmin(300, 2 * 4096 / (put_us[i] + 6)), 0.02);
		load.nr_cpus = 1;
		assert_near(run(&params, &load).mb_s, fmin(300, 4096 / (put_us[i] + 6)), 0.03);
	}
}

static void without_a_tier_the_disk_decides(void **state)
{
	struct tier_params params = tier_with(TIER_OFF, 60000);
	struct tier_load load = stream();
	struct tier_load_result r = run(&params, &load);

	assert_near(r.mb_s, 300, 0.01);
	assert_int_equal(r.tier.nr_puts, 0);
	assert_true(isnan(r.hits_per_put));
}

static void pages_in_the_tier_are_conserved(void **state)
{
	for (int kind = TIER_CLEANCACHE; kind <= TIER_ZRAM; kind++) {
		for (int policy = TIER_OFF; policy < NR_TIER_POLICIES; policy++) {
			struct tier_params params = tier_with(policy, 10000);
			struct tier_load load = loop(0);
			struct tier_counters n;

			params.kind = kind;
			params.pool_bytes = 1024 * PAGE_BYTES;
			n = run(&params, &load).tier;
			assert_int_equal(n.nr_evictions, n.nr_refused + n.nr_puts);
			assert_int_equal(n.nr_puts, n.nr_poor + n.nr_full + n.nr_hits +
					 n.nr_dropped + n.nr_flushed + n.nr_stored);
			assert_true(n.pool_bytes <= params.pool_bytes);
			assert_true(kind == TIER_ZRAM ? n.nr_dropped == 0 : n.nr_written == 0 ||
				    kind == TIER_ZSWAP);
		}
	}
}

/*
 * A victim cache of K behind C gets nothing from a loop longer than C + K, all from a shorter one.
 */
static void a_loop_hits_only_when_cache_and_pool_hold_it(void **state)
{
	struct tier_params params = tier_with(TIER_ALL, 10000);
	struct tier_load load = loop(0);

	params.pool_bytes = 1843 * PAGE_BYTES;	/* 2253 + 2 * 1843 > 5324 */
	assert_true(run(&params, &load).hit_ratio > 0.95);
	load.nr_pages = 4096 * 16 / 10;		/* 6553 > 5939 */
	load.nr_reads = 8 * load.nr_pages;
	load.warmup_reads = 4 * load.nr_pages;
	assert_true(run(&params, &load).hit_ratio < 0.05);
}

static void the_idle_valve_spares_a_stream_and_serves_a_paced_loop(void **state)
{
	struct tier_params params = tier_with(TIER_IDLE, 60000);
	struct tier_load load = stream();
	struct tier_load_result r = run(&params, &load);

	assert_true(r.mb_s > 285);
	assert_true(r.put_share < 0.2);
	params.pool_bytes = 1843 * PAGE_BYTES;
	load = loop(500e3);
	assert_true(run(&params, &load).hit_ratio > 0.95);
}

static void policies_admit_what_they_say(void **state)
{
	struct tier_load load = stream(), again = loop(500e3);
	struct tier_params params = tier_with(TIER_WAS_ACTIVE, 60000);

	params.pool_bytes = 1843 * PAGE_BYTES;
	assert_int_equal(run(&params, &load).tier.nr_puts, 0);
	assert_int_equal(run(&params, &again).tier.nr_puts, 0);
	params.policy = TIER_REFAULTED;
	assert_int_equal(run(&params, &load).tier.nr_puts, 0);
	assert_true(run(&params, &again).hit_ratio > 0.9);
	params.policy = TIER_PROBABILITY;
	params.probability = 0.25;
	assert_near(run(&params, &load).put_share, 0.25, 0.05);
	params.policy = TIER_BUDGET;
	params.budget_pct = 30;
	{
		struct tier_load_result r = run(&params, &load);

		assert_true(r.tier.put_ns <= 0.3e9 * (r.run_s * 100000 / 70000) * 1.05);
		assert_true(r.tier.nr_puts > 0);
	}
	params.policy = TIER_RATIO;
	params.ratio_max = 0.389;		/* the median of LZO on text */
	params.pool_bytes = 1843 * PAGE_BYTES;
	{
		struct tier_counters n = run(&params, &load).tier;

		assert_near((double)n.nr_poor / n.nr_puts, 0.5, 0.05);
	}
}

/* zswap: at the limit it writes back down to 90 % before it takes more. */
static void zswap_writes_back_and_zram_is_full_when_full(void **state)
{
	struct tier_params params = tier_with(TIER_ALL, 1000);
	struct tier *t;
	int code = 0;

	params.kind = TIER_ZSWAP;
	params.codec = codec_cost_find("lz4", "zero");	/* one chunk each */
	params.pool_bytes = 100 * 64;
	t = tier_new(&params, 1000, &code, NULL);
	assert_non_null(t);
	for (uint32_t page = 0; page < 101; page++)
		tier_put(t, page, false, 0, 0);
	assert_true(tier_counters(t)->nr_written >= 10);
	assert_true(tier_counters(t)->pool_bytes <= 91 * 64);
	tier_free(t);
	params.kind = TIER_ZRAM;
	params.codec = codec_cost_find("lz4", "random");	/* huge: a page each */
	params.pool_bytes = 3 * PAGE_BYTES;
	t = tier_new(&params, 1000, &code, NULL);
	assert_non_null(t);
	for (uint32_t page = 0; page < 5; page++)
		tier_put(t, page, false, 0, 0);
	assert_int_equal(tier_counters(t)->nr_stored, 3);
	assert_int_equal(tier_counters(t)->nr_full, 2);
	tier_free(t);
}

/* 6.18: zswap keeps what does not compress as it is; zcache dropped it. */
static void what_does_not_compress_takes_a_page(void **state)
{
	static const struct { int kind; uint64_t stored, bytes; } expected[] = {
		{ TIER_CLEANCACHE, 0, 0 },
		{ TIER_ZSWAP, 50, 50 * PAGE_BYTES },
		{ TIER_ZRAM, 50, 50 * PAGE_BYTES },
	};
	struct tier_params params = tier_with(TIER_ALL, 1000);
	int code = 0;

	params.codec = codec_cost_find("lz4", "random");
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		struct tier *t;

		params.kind = expected[i].kind;
		t = tier_new(&params, 50, &code, NULL);
		assert_non_null(t);
		for (uint32_t page = 0; page < 50; page++)
			tier_put(t, page, false, 0, 0);
		assert_int_equal(tier_counters(t)->nr_stored, expected[i].stored);
		assert_int_equal(tier_counters(t)->pool_bytes, expected[i].bytes);
		assert_int_equal(tier_counters(t)->nr_huge, expected[i].stored);
		tier_free(t);
	}
}

static void pages_of_one_word_cost_and_take_next_to_nothing(void **state)
{
	struct tier_params params = tier_with(TIER_ALL, 1000);
	const struct tier_counters *n;
	struct tier *t;
	int code = 0;
	double ns;

	params.kind = TIER_ZRAM;
	params.same_share = 0.5;
	params.codec = codec_cost_find("lz4", "random");
	t = tier_new(&params, 1000, &code, NULL);
	assert_non_null(t);
	n = tier_counters(t);
	for (uint32_t page = 0; page < 1000; page++)
		tier_put(t, page, false, 0, 0);
	assert_in_range(n->nr_same, 430, 570);
	assert_int_equal(n->nr_same + n->nr_huge, 1000);
	assert_int_equal(n->pool_bytes, n->nr_huge * PAGE_BYTES);
	assert_true(n->put_ns == (double)n->nr_huge * 1000 + (double)n->nr_same * params.same_ns);
	for (uint32_t page = 0; page < 1000; page++)
		assert_true(tier_get(t, page, &ns));
	assert_int_equal(n->pool_bytes, 0);
	assert_int_equal(n->nr_stored, 0);
	tier_free(t);
}

static void a_get_takes_the_page_out_and_a_flush_too(void **state)
{
	struct tier_params params = tier_with(TIER_ALL, 1000);
	int code = 0;
	struct tier *t;
	double ns;

	params.codec = codec_cost_find("lzo", "zero");
	t = tier_new(&params, 10, &code, NULL);
	assert_non_null(t);
	assert_true(tier_put(t, 3, false, 0, 0) == 1000);
	tier_put(t, 4, false, 0, 0);
	assert_int_equal(tier_counters(t)->pool_bytes, PAGE_BYTES);	/* two in a page */
	assert_true(tier_get(t, 3, &ns) && ns == 500);
	assert_false(tier_get(t, 3, &ns));
	assert_true(ns == 200);
	tier_flush(t, 4);
	tier_flush(t, 4);
	assert_false(tier_get(t, 4, &ns));
	assert_int_equal(tier_counters(t)->nr_flushed, 1);
	assert_int_equal(tier_counters(t)->pool_bytes, 0);
	tier_free(t);
}

static void sizes_follow_the_measured_quantiles(void **state)
{
	const struct codec_cost *c = codec_cost_find("zstd", "binary");
	int below[3] = { 0 };

	for (uint32_t id = 0; id < 20000; id++) {
		double ratio = (double)codec_page_bytes(c, id, 1) / PAGE_BYTES;

		for (int i = 0; i < 3; i++)
			below[i] += ratio <= c->ratio[1 + i];
		assert_int_equal(codec_page_bytes(c, id, 1), codec_page_bytes(c, id, 1));
	}
	assert_near(below[0], 5000, 0.05);
	assert_near(below[1], 10000, 0.03);
	assert_near(below[2], 15000, 0.03);
	assert_null(codec_cost_find("gzip", "text"));
}

static void a_pool_larger_than_memory_is_refused(void **state)
{
	struct tier_params params = tier_with(TIER_ALL, 1000);
	struct tier_load load = stream();
	struct tier_load_result r;
	struct err err = { "" };

	params.pool_bytes = 1ULL << 40;
	assert_int_equal(tier_load_run(&params, &load, &r, &err), -EINVAL);
	assert_non_null(strstr(err.text, "no page cache"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stream_runs_at_the_locks_rate),
		cmocka_unit_test(outside_the_lock_it_runs_at_the_cpus_rate),
		cmocka_unit_test(without_a_tier_the_disk_decides),
		cmocka_unit_test(pages_in_the_tier_are_conserved),
		cmocka_unit_test(a_loop_hits_only_when_cache_and_pool_hold_it),
		cmocka_unit_test(the_idle_valve_spares_a_stream_and_serves_a_paced_loop),
		cmocka_unit_test(policies_admit_what_they_say),
		cmocka_unit_test(zswap_writes_back_and_zram_is_full_when_full),
		cmocka_unit_test(what_does_not_compress_takes_a_page),
		cmocka_unit_test(pages_of_one_word_cost_and_take_next_to_nothing),
		cmocka_unit_test(a_get_takes_the_page_out_and_a_flush_too),
		cmocka_unit_test(sizes_follow_the_measured_quantiles),
		cmocka_unit_test(a_pool_larger_than_memory_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
