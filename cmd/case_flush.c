// SPDX-License-Identifier: GPL-2.0-or-later
/* case_flush.c - workingset_refault() stalls on memcg statistics (5.15, 2022). */
#include <math.h>
#include <stdlib.h>

#include "cmd/case.h"
#include "replay/components/components.h"

#define MS 1e6

static void defaults(struct memcg_flush_params *params, struct memcg_load *load, int policy)
{
	params_defaults(memcg_flush_params_table, params, NULL);
	params_defaults(memcg_load_table, load, NULL);
	params->policy = policy;
}

static double round_to(double v, double step)
{
	return round(v / step) * step;
}

static uint64_t bucket_sum(const struct memcg_load_result *r, double above_ns, double to_ns)
{
	uint64_t sum = 0;

	for (int i = 1; i < NR_FLUSH_BUCKETS; i++)
		if (memcg_flush_bucket_ns[i] > above_ns && memcg_flush_bucket_ns[i] <= to_ns)
			sum += r->bucket[i];
	return sum;
}

static const struct out_column bucket_columns[] = {
	{ "added_latency", "added latency", OUT_PLAIN, false },
	{ "refaults", NULL, OUT_COUNT, false },
};

static int histogram(struct case_report *report, const struct memcg_load_result *r)
{
	int ret = case_table(report, "Latency that flushing adds to a refault, 300 s",
			     bucket_columns, ARRAY_SIZE(bucket_columns));

	for (int i = 0; i < NR_FLUSH_BUCKETS && !ret; i++) {
		double to = memcg_flush_bucket_ns[i];
		char item[32] = "none";

		if (isinf(to))
			snprintf(item, sizeof(item), "above %g ms",
				 memcg_flush_bucket_ns[i - 1] / MS);
		else if (i)
			snprintf(item, sizeof(item), "to %g ms", to / MS);
		ret = case_row(report, item, (const double []){ r->bucket[i] });
	}
	return ret;
}

static void flushed(void *ctx, double start_ns, double flush_ns)
{
	case_flush_event(ctx, start_ns, flush_ns);
}

/* The run whose flushes `pagereel doctor` is to see. */
static int run_told(struct case_report *report, const struct memcg_flush_params *params,
		    const struct memcg_load *load, struct memcg_load_result *r, struct err *err)
{
	case_flush_begin(report, load->duration_s);
	return memcg_load_run_told(params, load, flushed, report, r, err);
}

static int checks(struct case_report *report, struct err *err)
{
	struct memcg_flush_params params;
	struct memcg_load load;
	struct memcg_load_result r;
	int ret;

	defaults(&params, &load, MEMCG_FLUSH_5_15);
	ret = run_told(report, &params, &load, &r, err);
	if (ret)
		return ret;
	case_check(report, "one flush, median", "10.01-11.50 ms", r.flush_p50_ns / MS, 2, "ms", 10,
		   11.5);
	case_check(report, "flushes a second", "about 4", r.flushes_per_s, 2, "", 3.5, 4.5);
	case_check(report, "share of a service of 1/3 CPU", "13 %", r.service_share_pct, 1, "%", 10,
		   16);
	case_check(report, "refaults delayed by 4-10 ms", "frequent",
		   bucket_sum(&r, 4 * MS, 10 * MS), 0, "", 1, INFINITY);
	case_check(report, "refaults delayed by more than 12 ms", "none", bucket_sum(&r, 12 * MS,
		   INFINITY), 0, "", 0, 0);
	params.policy = MEMCG_FLUSH_5_18;
	ret = memcg_load_run(&params, &load, &r, err);
	if (ret)
		return ret;
	case_check(report, "share with the fix (5.18)", "gone", r.service_share_pct, 1, "%", 0,
		   0.1);
	ret = case_check(report, "update rate, given", "about 12.4 k/s", load.update_rate, 0, "1/s",
			 NAN, NAN);
	params.policy = MEMCG_FLUSH_5_15;
	if (!ret)
		ret = memcg_load_run(&params, &load, &r, err);
	return ret ? ret : histogram(report, &r);
}

static const struct out_column policy_columns[] = {
	{ "policy", NULL, OUT_PLAIN, false },
	{ "flushes_per_s", "flushes/s", OUT_PLAIN, false },
	{ "refault_flushes_per_s", "in refaults/s", OUT_PLAIN, false },
	{ "service_share_pct", "of service", OUT_PCT, false },
	{ "machine_cpus", "CPUs", OUT_RATIO, false },
	{ "added_p99_ns", "p99", OUT_NS, false },
	{ "added_p999_ns", "p99.9", OUT_NS, false },
	{ "added_max_ns", "worst", OUT_NS, false },
	{ "stale_mean_s", "stale mean s", OUT_PLAIN, false },
	{ "stale_max_s", "max s", OUT_PLAIN, false },
	{ "pending_mean", "updates lacking", OUT_COUNT, false },
};

static int policy_rows(struct case_report *report, const char *section, double update_rate,
		       double reclaim_rate, double reader_rate, struct err *err)
{
	int ret = case_table(report, section, policy_columns, ARRAY_SIZE(policy_columns));

	for (int policy = 0; policy < NR_MEMCG_FLUSH_POLICIES && !ret; policy++) {
		struct memcg_flush_params params;
		struct memcg_load load;
		struct memcg_load_result r;

		defaults(&params, &load, policy);
		load.update_rate = update_rate;
		load.reclaim_rate = reclaim_rate;
		load.reader_rate = reader_rate;
		load.duration_s = 120;
		ret = memcg_load_run(&params, &load, &r, err);
		if (ret)
			break;
		ret = case_row(report, memcg_flush_policy_names[policy], (const double []){
			round_to(r.flushes_per_s, 0.01),
			round_to(r.counters.nr_flushes[FLUSH_BY_REFAULT] / load.duration_s, 0.01),
			r.service_share_pct, r.machine_cpus, round(r.added_p99_ns),
			round(r.added_p999_ns), round(r.added_max_ns),
			round_to(r.stale_mean_s, 0.01), round_to(r.stale_max_s, 0.01),
			r.pending_mean });
	}
	return ret;
}

static const struct out_column size_columns[] = {
	{ "machine", NULL, OUT_PLAIN, false },
	{ "updates_per_s", "updates/s", OUT_COUNT, false },
	{ "flushes_per_s", "flushes/s", OUT_PLAIN, false },
	{ "flush_p50_ns", "one flush", OUT_NS, false },
	{ "service_share_pct", "of service", OUT_PCT, false },
	{ "added_max_ns", "worst", OUT_NS, false },
};

static int sizes(struct case_report *report, struct err *err)
{
	static const struct { uint64_t cpus, cgroups; double service_cpus; } machines[] = {
		{ 2, 110, 1.0 / 3 }, { 16, 110, 1.0 / 3 }, { 96, 30, 1.0 / 3 },
		{ 96, 110, 1.0 / 3 }, { 96, 110, 1 }, { 96, 110, 4 }, { 192, 250, 1.0 / 3 },
	};
	int ret = case_table(report,
			     "5.15 on other machines; update rate in proportion to the service",
			     size_columns, ARRAY_SIZE(size_columns));

	for (size_t i = 0; i < ARRAY_SIZE(machines) && !ret; i++) {
		struct memcg_flush_params params;
		struct memcg_load load;
		struct memcg_load_result r;
		char item[64];

		defaults(&params, &load, MEMCG_FLUSH_5_15);
		params.nr_cpus = machines[i].cpus;
		params.nr_cgroups = machines[i].cgroups;
		load.service_cpus = machines[i].service_cpus;
		load.update_rate *= 3 * machines[i].service_cpus;
		load.duration_s = 60;
		ret = memcg_load_run(&params, &load, &r, err);
		if (ret)
			break;
		snprintf(item, sizeof(item), "%u CPUs, %u cgroups, service of %.2g",
			 (unsigned int)params.nr_cpus, (unsigned int)params.nr_cgroups,
			 load.service_cpus);
		ret = case_row(report, item, (const double []){
			round(load.update_rate), round_to(r.flushes_per_s, 0.01),
			round(r.flush_p50_ns), r.service_share_pct, round(r.added_max_ns) });
	}
	case_note(report,
		  "Flushes a second = updates / (32 * (CPUs + 1)); a flush = base + k * pairs, "
		  "and one runs at a time.");
	return ret;
}

static int run(struct case_report *report, struct err *err)
{
	int ret = checks(report, err);

	if (!ret)
		ret = policy_rows(report, "Policies, refaults alone (12.4 k updates/s)", 12400, 0,
				  0, err);
	if (!ret)
		ret = policy_rows(report,
				  "Policies, with 20 shrink_node() calls and 1 memory.stat a "
				  "second (50 k updates/s)",
				  50000, 20, 1, err);
	return ret ? ret : sizes(report, err);
}

static const struct param *const tables[] = { memcg_flush_params_table, memcg_load_table, NULL };

static int run_one(struct case_report *report, char *const *settings, struct err *err)
{
	struct memcg_flush_params params;
	struct memcg_load load;
	struct memcg_load_result r;
	int ret;

	defaults(&params, &load, MEMCG_FLUSH_5_15);
	ret = case_set(tables, (void *const []){ &params, &load }, "case 'refault-flush'", settings,
		       err);
	if (!ret)
		ret = run_told(report, &params, &load, &r, err);
	if (ret)
		return ret;
	case_check(report, "one flush in a refault, median", NULL, r.flush_p50_ns / MS, 3, "ms",
		   NAN, NAN);
	case_check(report, "flushes a second, all", NULL, r.flushes_per_s, 2, "", NAN, NAN);
	case_check(report, "share of the service", NULL, r.service_share_pct, 2, "%", NAN, NAN);
	case_check(report, "worst added latency", NULL, r.added_max_ns / MS, 3, "ms", NAN, NAN);
	case_check(report, "p99 of added latency", NULL, r.added_p99_ns / MS, 3, "ms", NAN, NAN);
	return case_check(report, "mean age of the counts", NULL, r.stale_mean_s, 3, "s", NAN, NAN);
}

const struct case_study case_refault_flush = {
	.name = "refault-flush",
	.title = "workingset_refault() stalls on memcg statistics (5.15, 2022)",
	.run = run,
	.tables = tables,
	.run_one = run_one,
};
