// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * case_kswapd.c - kswapd eats a CPU, more every day (3.2-rc5, 2011): leaked superblocks, each with
 * a shrinker that is asked on every pass.
 */
#include <math.h>
#include <stdlib.h>

#include "cmd/case.h"
#include "replay/components/components.h"

enum { AT_BOOT = 20, PER_DAY = 420, SEEDS = 5 };
static const double fast_mb_s = 528, slow_mb_s = 294, day_5 = 5 + 2.0 / 24, day_1 = 1 + 5.0 / 24;
enum { VISIBLE_PCT = 17, SATURATED_PCT = 90 };	/* 17: when the report saw it again, day_1 */

static uint64_t superblocks_on(double day)
{
	return AT_BOOT + PER_DAY * day;
}

static void defaults(struct kswapd_params *params, double day, double mb_s)
{
	params_defaults(kswapd_params_table, params, NULL);
	params->nr_superblocks = superblocks_on(day);
	params->demand_mb_s = mb_s;
}

/* The mean of some seeds: the stream's lulls fall differently each time. */
static int run_seeds(struct kswapd_params *params, struct kswapd_result *mean, struct err *err)
{
	struct kswapd_result r;

	*mean = (struct kswapd_result){ 0 };
	for (params->seed = 1; params->seed <= SEEDS; params->seed++) {
		int ret = kswapd_run(params, &r, err);

		if (ret)
			return ret;
		mean->cpu_pct += r.cpu_pct / SEEDS;
		mean->page_pct += r.page_pct / SEEDS;
		mean->pages_per_pass += r.pages_per_pass / SEEDS;
		mean->slab.nr_objects += r.slab.nr_objects;
		mean->nr_reclaimed += r.nr_reclaimed / SEEDS;
		mean->run_s += r.run_s / SEEDS;
	}
	return 0;
}

/*
 * First day on which kswapd uses @pct at the fast rate, by halving (10 and a bit: later); *@params
 * but for superblocks and demand.
 */
static int first_day(const struct kswapd_params *params, double pct, double *day, struct err *err)
{
	double low = 0, high = 10;

	while (high - low > 0.04) {
		struct kswapd_params p = *params;
		struct kswapd_result r;
		int ret;

		*day = (low + high) / 2;
		p.nr_superblocks = superblocks_on(*day);
		p.demand_mb_s = fast_mb_s;
		ret = run_seeds(&p, &r, err);
		if (ret)
			return ret;
		if (r.cpu_pct < pct)
			low = *day;
		else
			high = *day;
	}
	*day = (low + high) / 2;
	return 0;
}

/* The days that the report speaks of. */
struct reported_days {
	struct kswapd_result boot, one, five, ten;
	double saturated_day;
};

static int run_day(const struct kswapd_params *params, double day, double mb_s,
		   struct kswapd_result *r, struct err *err)
{
	struct kswapd_params p = *params;

	p.nr_superblocks = superblocks_on(day);
	p.demand_mb_s = mb_s;
	return run_seeds(&p, r, err);
}

static int run_days(const struct kswapd_params *params, struct reported_days *days,
		    struct err *err)
{
	int ret = run_day(params, 0, fast_mb_s, &days->boot, err);

	if (!ret)
		ret = run_day(params, day_1, fast_mb_s, &days->one, err);
	if (!ret)
		ret = run_day(params, day_5, slow_mb_s, &days->five, err);
	if (!ret)
		ret = run_day(params, 10, slow_mb_s, &days->ten, err);
	return ret ? ret : first_day(params, SATURATED_PCT, &days->saturated_day, err);
}

static int checks(struct case_report *report, struct err *err)
{
	struct kswapd_params params;
	struct reported_days d;
	double visible_day;
	int ret;

	defaults(&params, 0, fast_mb_s);
	ret = run_days(&params, &d, err);
	if (!ret)
		ret = first_day(&params, VISIBLE_PCT, &visible_day, err);
	if (ret)
		return ret;
	case_check(report, "kswapd CPU at boot", "5-8 %", d.boot.cpu_pct, 1, "%", 5, 9);
	case_check(report, "onset: kswapd at 17 %, 528 MB/s", "seen on day 1.2", visible_day, 2,
		   "days", 0.8, 1.5);
	case_check(report, "kswapd CPU on day 1.2", "17 %", d.one.cpu_pct, 1, "%",
		   VISIBLE_PCT * 2 / 3.0, VISIBLE_PCT * 4 / 3.0);
	case_check(report, "saturated: kswapd at 90 %, 528 MB/s", "after day 1.2",
		   d.saturated_day, 1, "days", 1.2, 10);
	case_check(report, "kswapd CPU on day 5", "70 %", d.five.cpu_pct, 1, "%", 60, 80);
	case_check(report, "pages per slab pass, day 5", "18 (derived)", d.five.pages_per_pass, 1,
		   "", 14, 24);
	case_check(report, "page work in kswapd's CPU, day 5", "all polling", d.five.page_pct, 1,
		   "%", -INFINITY, 10);
	case_check(report, "kswapd CPU on day 10", "93 %", d.ten.cpu_pct, 1, "%", 85, INFINITY);
	case_check(report, "slab objects freed", "0", d.boot.slab.nr_objects +
		   d.one.slab.nr_objects + d.five.slab.nr_objects + d.ten.slab.nr_objects, 0, "",
		   0, 0);
	return case_check(report, "dd rate on day 5", "294 MB/s", NAN, 0, "MB/s", NAN, NAN);
}

static const struct out_column early_columns[] = {
	{ "assumption", NULL, OUT_PLAIN, false },
	{ "boot_pct", "boot", OUT_PCT, false },
	{ "day_1_2_pct", "day 1.2, 528", OUT_PCT, false },
	{ "saturated_day", "saturated, day", OUT_PLAIN, false },
	{ "day_5_pct", "day 5, 294", OUT_PCT, false },
	{ "day_5_pages_per_pass", "pages/pass", OUT_PLAIN, false },
};

static double round_to(double v, double step)
{
	return round(v / step) * step;
}

static int early_row(struct case_report *report, const char *item,
		     const struct kswapd_params *params, struct err *err)
{
	struct reported_days d;
	int ret = run_days(params, &d, err);

	if (ret)
		return ret;
	return case_row(report, item, (const double []){
		d.boot.cpu_pct, d.one.cpu_pct, round_to(d.saturated_day, 0.1), d.five.cpu_pct,
		round_to(d.five.pages_per_pass, 0.1) });
}

/* What would saturate kswapd as early as day 1.5, and what else it does. */
static int early(struct case_report *report, struct err *err)
{
	static const char *const names[] = {
		"3.2, figures of the report", "a poll costs 2 x 78 ns", "a poll costs 3 x 78 ns",
		"priority is never lowered", "priority never, even stream",
	};
	int ret = case_table(report, "Could kswapd have been saturated on day 1.2? (report: 17 % "
			     "on day 1.2, 70 % on day 5)", early_columns,
			     ARRAY_SIZE(early_columns));

	for (size_t i = 0; i < ARRAY_SIZE(names) && !ret; i++) {
		struct kswapd_params params;

		defaults(&params, 0, fast_mb_s);
		params.superblock_ns *= i == 1 ? 2 : i == 2 ? 3 : 1;
		params.lower_priority = i < 3;
		params.jitter = i == 4 ? 0 : params.jitter;
		ret = early_row(report, names[i], &params, err);
	}
	case_note(report,
		  "A round lasts superblocks x 78 ns, so what the reader takes during it goes with "
		  "superblocks x rate:\nday 5 at 294 MB/s is like day 2.8 at 528. A kswapd that is "
		  "saturated by day 1.5 at 528 MB/s is so on\nday 5 at 294 too, and the report has "
		  "70 %% there.");
	return ret;
}

static const struct out_column growth_columns[] = {
	{ "day", NULL, OUT_PLAIN, false },
	{ "superblocks", NULL, OUT_COUNT, false },
	{ "dd_mb_s", "dd MB/s", OUT_PLAIN, false },
	{ "kswapd_cpu_pct", "kswapd CPU", OUT_PCT, false },
	{ "pages_per_pass", "pages/pass", OUT_PLAIN, false },
	{ "page_work_pct", "page work", OUT_PCT, false },
	{ "closed_form_pct", "closed form", OUT_PCT, false },
};

static int growth(struct case_report *report, struct err *err)
{
	static const double days[] = { 0, 0.5, 1.2, 2, 3, 5, 10 };
	int ret = case_table(report, "Growth with the leak, 420 superblocks a day", growth_columns,
			     ARRAY_SIZE(growth_columns));

	for (size_t i = 0; i < 2 * ARRAY_SIZE(days) && !ret; i++) {
		double day = days[i / 2], mb_s = i % 2 ? slow_mb_s : fast_mb_s;
		struct kswapd_params params;
		struct kswapd_result r;
		char item[32];

		defaults(&params, day, mb_s);
		ret = run_seeds(&params, &r, err);
		if (ret)
			break;
		snprintf(item, sizeof(item), "%g%s", day, i % 2 ? " slow" : "");
		ret = case_row(report, item, (const double []){
			params.nr_superblocks, mb_s, r.cpu_pct, round_to(r.pages_per_pass, 0.1),
			r.page_pct, 100 * kswapd_closed_form(r.nr_reclaimed / r.run_s,
				params.page_ns, params.nr_superblocks, params.superblock_ns,
				r.pages_per_pass) });
	}
	case_note(report,
		  "Closed form: r * (c_page + N * c_sb / p) with r and p as simulated. dd's own "
		  "rate is not predicted: it\ndepends on how kswapd and the reader share locks and "
		  "caches, which one cost per superblock cannot say.");
	return ret;
}

static const struct out_column what_if_columns[] = {
	{ "change", NULL, OUT_PLAIN, false },
	{ "kswapd_cpu_pct", "kswapd CPU", OUT_PCT, false },
	{ "pages_per_pass", "pages/pass", OUT_PLAIN, false },
	{ "gain_pct", "CPU saved", OUT_PCT, false },
};

static const struct {
	const char *name;
	uint64_t superblocks;	/* 0: as on day 5 */
	int version;
	bool node_pass, delta_by_priority, memcg_bitmap;
} what_ifs[] = {
	{ .name = "none: linux-3.2 on day 5" },
	{ .name = "superblocks capped at 40", .superblocks = 40 },
	{ .name = "one slab pass per node (4.8)", .node_pass = true },
	{ .name = "delta from priority (4.16)", .delta_by_priority = true },
	{ .name = "memcg shrinker bitmaps (4.19)", .memcg_bitmap = true },
	{ .name = "rising priority: linux-3.10", .version = KSWAPD_3_10 },
	{ .name = "both and any zone: linux-4.8", .version = KSWAPD_4_8 },
	{ .name = "linux-6.18", .version = KSWAPD_6_18 },
};

static int what_if(struct case_report *report, struct err *err)
{
	double before = 0;
	int ret = case_table(report, "What would have helped on day 5 (294 MB/s)", what_if_columns,
			     ARRAY_SIZE(what_if_columns));

	for (size_t i = 0; i < ARRAY_SIZE(what_ifs) && !ret; i++) {
		struct kswapd_params params;
		struct kswapd_result r;

		defaults(&params, day_5, slow_mb_s);
		params.version = what_ifs[i].version;
		params.node_pass = what_ifs[i].node_pass;
		params.delta_by_priority = what_ifs[i].delta_by_priority;
		params.memcg_bitmap = what_ifs[i].memcg_bitmap;
		if (what_ifs[i].superblocks)
			params.nr_superblocks = what_ifs[i].superblocks;
		ret = run_seeds(&params, &r, err);
		if (ret)
			break;
		if (!i)
			before = r.cpu_pct;
		ret = case_row(report, what_ifs[i].name, (const double []){
			r.cpu_pct, round_to(r.pages_per_pass, 0.1),
			round_to(100 * (1 - r.cpu_pct / before), 0.1) });
	}
	case_note(report, "Bitmaps serve reclaim of memcgs below the root; kswapd still asks every "
		  "shrinker, and the delta\ndecides only how much a non-empty one frees.");
	return ret;
}

static const struct out_column window_columns[] = {
	{ "window", NULL, OUT_PLAIN, false },
	{ "boot_pct", "CPU at boot", OUT_PCT, false },
	{ "day_1_2_pct", "day 1.2, 528", OUT_PCT, false },
	{ "day_5_pct", "day 5, 294", OUT_PCT, false },
	{ "day_5_pages_per_pass", "pages/pass", OUT_PLAIN, false },
	{ "day_10_pct", "day 10, 294", OUT_PCT, false },
};

static int window_row(struct case_report *report, const char *item, uint64_t pages, double jitter,
		      struct err *err)
{
	static const struct { double day, mb_s; } at[] = { { 0, 528 }, { 1.2, 528 }, { 5, 294 },
							   { 10, 294 } };
	double cpu[4], pages_per_pass = 0;

	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		struct kswapd_params params;
		struct kswapd_result r;
		int ret;

		defaults(&params, at[i].day == 5 ? day_5 : at[i].day, at[i].mb_s);
		params.window_pages = pages;
		params.jitter = jitter;
		ret = run_seeds(&params, &r, err);
		if (ret)
			return ret;
		cpu[i] = r.cpu_pct;
		if (i == 2)
			pages_per_pass = round_to(r.pages_per_pass, 0.1);
	}
	return case_row(report, item, (const double []){ cpu[0], cpu[1], cpu[2], pages_per_pass,
							 cpu[3] });
}

static int windows(struct case_report *report, struct err *err)
{
	static const uint64_t pages[] = { 32, 64, 128, 256, 1024 };
	int ret = case_table(report, "What the result rests on: readahead window and unevenness",
			     window_columns, ARRAY_SIZE(window_columns));

	for (size_t i = 0; i < ARRAY_SIZE(pages) && !ret; i++) {
		char item[32];

		snprintf(item, sizeof(item), "%3uK", (unsigned int)(pages[i] * 4));
		ret = window_row(report, item, pages[i], 1, err);
	}
	if (!ret)
		ret = window_row(report, "256K, half even", 64, 0.5, err);
	if (!ret)
		ret = window_row(report, "256K, even", 64, 0, err);
	case_note(report,
		  "The report gives neither. Default: 256K (twice the default readahead) and "
		  "exponential intervals. With\nan even stream kswapd saturates at one N at once; "
		  "unevenness makes it gradual.");
	return ret;
}

static int run(struct case_report *report, struct err *err)
{
	int ret = checks(report, err);

	if (!ret)
		ret = early(report, err);
	if (!ret)
		ret = growth(report, err);
	if (!ret)
		ret = what_if(report, err);
	return ret ? ret : windows(report, err);
}

static const struct param *const tables[] = { kswapd_params_table, NULL };

static int run_one(struct case_report *report, char *const *settings, struct err *err)
{
	struct kswapd_params params;
	struct kswapd_result r;
	int ret;

	defaults(&params, 0, fast_mb_s);
	ret = case_set(tables, (void *const []){ &params }, "case 'kswapd-slab'", settings, err);
	if (!ret)
		ret = kswapd_run(&params, &r, err);
	if (ret)
		return ret;
	case_check(report, "kswapd CPU", NULL, r.cpu_pct, 1, "%", NAN, NAN);
	case_check(report, "page work in it", NULL, r.page_pct, 1, "%", NAN, NAN);
	case_check(report, "pages per slab pass", NULL, r.pages_per_pass, 1, "", NAN, NAN);
	case_check(report, "superblocks polled", NULL, r.slab.nr_polled, 0, "", NAN, NAN);
	return case_check(report, "pages the reader reclaimed itself", NULL, r.nr_direct, 0, "",
			  NAN, NAN);
}

const struct case_study case_kswapd_slab = {
	.name = "kswapd-slab",
	.title = "kswapd eats a CPU, more every day (3.2-rc5, 2011)",
	.run = run,
	.tables = tables,
	.run_one = run_one,
};
