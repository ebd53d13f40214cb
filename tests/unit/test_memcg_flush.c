// SPDX-License-Identifier: GPL-2.0-or-later
/* test_memcg_flush.c - flushing of memcg statistics against closed forms and conservation. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "replay/components/components.h"

static void fill(struct memcg_flush_params *params, struct memcg_load *load, int policy)
{
	assert_int_equal(params_defaults(memcg_flush_params_table, params, NULL), 0);
	assert_int_equal(params_defaults(memcg_load_table, load, NULL), 0);
	params->policy = policy;
}

static void assert_near(double got, double want, double share)
{
	if (fabs(got - want) > share * fabs(want))
		fail_msg("%g is not within %g %% of %g", got, 100 * share, want);
}

/* flush = a + k * P with P set by hand: no scheduler, three pairs updated. */
static void a_flush_costs_base_plus_k_per_updated_pair(void **state)
{
	struct memcg_flush_params params;
	struct memcg_load load;
	struct memcg_flush *f;
	int code = 0;

	fill(&params, &load, MEMCG_FLUSH_5_15);
	params.nr_cpus = 4;
	params.nr_cgroups = 10;
	params.switch_rate = 0;
	params.flush_base_ns = 500;
	params.pair_ns = 70;
	f = memcg_flush_new(&params, &code, NULL);
	assert_non_null(f);
	memcg_flush_update(f, 1, 3, 0, 32 * 3);
	memcg_flush_update(f, 2, 3, 1, 32);
	assert_true(memcg_flush_point(f, 3, FLUSH_BY_REFAULT, 3) == 0);	/* 4 is not over 4 CPUs */
	memcg_flush_update(f, 4, 9, 1, 32);
	assert_true(memcg_flush_point(f, 5, FLUSH_BY_REFAULT, 3) == 500 + 3 * 70);
	assert_int_equal(memcg_flush_pending(f, 3), 0);
	assert_int_equal(memcg_flush_pending(f, 9), 0);
	assert_int_equal(memcg_flush_counters(f)->nr_pairs, 3);
	/* Summed up: nothing is due, and nothing is linked any more. */
	assert_true(memcg_flush_point(f, 6000, FLUSH_BY_REFAULT, 3) == 0);
	memcg_flush_free(f);
}

static void the_loser_of_the_trylock_returns_at_once(void **state)
{
	struct memcg_flush_params params;
	struct memcg_load load;
	struct memcg_flush *f;
	int code = 0;

	fill(&params, &load, MEMCG_FLUSH_5_15);
	params.nr_cpus = 2;
	f = memcg_flush_new(&params, &code, NULL);
	assert_non_null(f);
	memcg_flush_update(f, 1e9, 0, 0, 96);
	assert_true(memcg_flush_point(f, 1e9, FLUSH_BY_REFAULT, 0) > 200 * 900);
	memcg_flush_update(f, 1e9 + 10, 0, 1, 96);
	assert_true(memcg_flush_point(f, 1e9 + 10, FLUSH_BY_REFAULT, 0) == 0);
	assert_int_equal(memcg_flush_counters(f)->nr_skipped, 1);
	memcg_flush_free(f);
}

/* P = cpus * cgroups * (1 - exp(-s t / cgroups)) */
static void scheduler_marks_follow_the_poisson_form(void **state)
{
	static const double seconds[] = { 0.005, 0.05, 0.25 };
	struct memcg_flush_params params;
	struct memcg_load load;

	fill(&params, &load, MEMCG_FLUSH_5_15);
	params.pair_ns = 1;
	params.flush_base_ns = 0;
	for (size_t i = 0; i < ARRAY_SIZE(seconds); i++) {
		double sum = 0;

		for (params.seed = 1; params.seed <= 20; params.seed++) {
			int code = 0;
			struct memcg_flush *f = memcg_flush_new(&params, &code, NULL);

			assert_non_null(f);
			memcg_flush_update(f, 0, 0, 0, 32 * 97);
			sum += memcg_flush_point(f, seconds[i] * 1e9, FLUSH_BY_REFAULT, 0);
			memcg_flush_free(f);
		}
		assert_near(sum / 20, 96 * 110 * (1 - exp(-params.switch_rate * seconds[i] / 110)),
			    0.02);
	}
}

/*
 * Interval = 32 * (cpus + 1) / update rate; what the CPUs' remainders hold back is small in 300 s.
 */
static void the_interval_between_flushes_follows_the_update_rate(void **state)
{
	static const double rates[] = { 3000, 12400, 50000 };
	struct memcg_flush_params params;
	struct memcg_load load;
	struct memcg_load_result result;

	fill(&params, &load, MEMCG_FLUSH_5_15);
	load.burst_share = 0;
	for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
		load.update_rate = rates[i];
		assert_int_equal(memcg_load_run(&params, &load, &result, NULL), 0);
		assert_near(result.flushes_per_s, rates[i] / (32 * 97), 0.06);
	}
}

static void share_is_flushes_times_their_cost_over_the_service(void **state)
{
	struct memcg_flush_params params;
	struct memcg_load load;
	struct memcg_load_result r;
	uint64_t in_buckets = 0;

	fill(&params, &load, MEMCG_FLUSH_5_15);
	assert_int_equal(memcg_load_run(&params, &load, &r, NULL), 0);
	assert_near(r.service_share_pct, 100 * r.counters.flush_ns[FLUSH_BY_REFAULT] / 1e9 /
		    load.duration_s / load.service_cpus, 1e-9);
	for (int i = 0; i < NR_FLUSH_BUCKETS; i++)
		in_buckets += r.bucket[i];
	assert_int_equal(in_buckets, r.nr_refaults);
	assert_int_equal(r.nr_refaults - r.bucket[0], r.counters.nr_flushes[FLUSH_BY_REFAULT]);
	/* The sum of costs is that of the pairs. */
	assert_near(r.machine_cpus * load.duration_s * 1e9, r.counters.nr_pairs * params.pair_ns +
		    params.flush_base_ns * r.flushes_per_s * load.duration_s, 1e-6);
}

static void a_worker_on_time_keeps_refaults_free_since_5_18(void **state)
{
	static const int quiet[] = { MEMCG_FLUSH_ASYNC, MEMCG_FLUSH_5_18, MEMCG_FLUSH_6_6,
				     MEMCG_FLUSH_6_8, MEMCG_FLUSH_6_18 };
	struct memcg_flush_params params;
	struct memcg_load load;
	struct memcg_load_result r;

	for (size_t i = 0; i < ARRAY_SIZE(quiet); i++) {
		fill(&params, &load, quiet[i]);
		assert_int_equal(memcg_load_run(&params, &load, &r, NULL), 0);
		assert_true(r.added_max_ns == 0);
		assert_near(r.flushes_per_s, 0.5, 0.05);
		assert_true(r.stale_max_s <= 2.1);
	}
	fill(&params, &load, MEMCG_FLUSH_NONE);
	assert_int_equal(memcg_load_run(&params, &load, &r, NULL), 0);
	assert_true(r.flushes_per_s == 0 && r.stale_max_s > 299);
}

static void reclaim_points_flush_in_6_8_and_no_longer_in_6_18(void **state)
{
	struct memcg_flush_params params;
	struct memcg_load load;
	struct memcg_load_result r;

	fill(&params, &load, MEMCG_FLUSH_6_8);
	load.reclaim_rate = 100;
	load.update_rate = 50000;
	assert_int_equal(memcg_load_run(&params, &load, &r, NULL), 0);
	assert_true(r.counters.nr_flushes[FLUSH_BY_RECLAIM] > 0);
	params.policy = MEMCG_FLUSH_6_18;
	assert_int_equal(memcg_load_run(&params, &load, &r, NULL), 0);
	assert_int_equal(r.counters.nr_flushes[FLUSH_BY_RECLAIM], 0);
}

static void a_subtree_flush_costs_at_most_one_pair_per_cpu(void **state)
{
	struct memcg_flush_params params;
	struct memcg_load load;
	struct memcg_flush *f;
	int code = 0;

	fill(&params, &load, MEMCG_FLUSH_6_8);
	f = memcg_flush_new(&params, &code, NULL);
	assert_non_null(f);
	for (int i = 0; i < 20000; i++)
		memcg_flush_update(f, 5e9, 7, i % 96, 1);
	assert_true(memcg_flush_point(f, 5e9, FLUSH_BY_READER, 6) == 0);
	assert_true(memcg_flush_point(f, 5e9, FLUSH_BY_READER, 7) ==
		    params.flush_base_ns + 96 * params.pair_ns);
	memcg_flush_free(f);
}

static void the_same_seed_gives_the_same_figures(void **state)
{
	struct memcg_flush_params params;
	struct memcg_load load;
	struct memcg_load_result a, b;

	fill(&params, &load, MEMCG_FLUSH_5_15);
	load.duration_s = 20;
	assert_int_equal(memcg_load_run(&params, &load, &a, NULL), 0);
	assert_int_equal(memcg_load_run(&params, &load, &b, NULL), 0);
	assert_memory_equal(&a, &b, sizeof(a));
	load.seed = 2;
	assert_int_equal(memcg_load_run(&params, &load, &b, NULL), 0);
	assert_true(memcmp(&a, &b, sizeof(a)));
}

static void bursts_above_the_mean_are_refused(void **state)
{
	struct memcg_flush_params params;
	struct memcg_load load;
	struct memcg_load_result r;
	struct err err = { "" };

	fill(&params, &load, MEMCG_FLUSH_5_15);
	load.burst_share = 0.5;
	load.burst_factor = 2;
	assert_int_equal(memcg_load_run(&params, &load, &r, &err), -EINVAL);
	assert_non_null(strstr(err.text, "mean rate"));
}

static void nine_updates_make_one_refault_cycle(void **state)
{
	assert_int_equal(memcg_flush_updates(1, 1, 1, 1), 9);
	assert_int_equal(memcg_flush_updates(0, 0, 0, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flush_costs_base_plus_k_per_updated_pair),
		cmocka_unit_test(the_loser_of_the_trylock_returns_at_once),
		cmocka_unit_test(scheduler_marks_follow_the_poisson_form),
		cmocka_unit_test(the_interval_between_flushes_follows_the_update_rate),
		cmocka_unit_test(share_is_flushes_times_their_cost_over_the_service),
		cmocka_unit_test(a_worker_on_time_keeps_refaults_free_since_5_18),
		cmocka_unit_test(reclaim_points_flush_in_6_8_and_no_longer_in_6_18),
		cmocka_unit_test(a_subtree_flush_costs_at_most_one_pair_per_cpu),
		cmocka_unit_test(the_same_seed_gives_the_same_figures),
		cmocka_unit_test(bursts_above_the_mean_are_refused),
		cmocka_unit_test(nine_updates_make_one_refault_cycle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
