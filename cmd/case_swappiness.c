// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * case_swappiness.c - ten times slower when the working set is at the edge (2.5.52, 2002). One cell
 * of the reporter's table is used to fit the number of accesses; all others are predictions.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/case.h"
#include "replay/components/components.h"
#include "replay/replay.h"

#define MIB 1048576.0

/* What the models are told beside the workload. */
struct setting {
	uint64_t memory_bytes;
	uint64_t swappiness;
	int kernel;			/* of kernels[] */
	uint64_t kernel_2_4_bytes, kernel_2_5_bytes, kernel_bytes;
	uint64_t stale_stats_ns, stats_phase_ns;
	double base_s;			/* the run without a miss */
	double seek_ms;			/* one miss */
};

enum { LINUX_2_4, LINUX_2_5, LINUX_6_18, LINUX_MGLRU };

static const char *const kernels[] = {
	[LINUX_2_4] = "linux-2.4", [LINUX_2_5] = "linux-2.5", [LINUX_6_18] = "linux-6.18",
	[LINUX_MGLRU] = "linux-mglru", "linux-6.12", "linux-6.1", "linux-mglru-6.1", NULL
};

#define S(field) offsetof(struct setting, field)
static const struct param setting_table[] = {
	{ "memory", PARAM_BYTES, S(memory_bytes), "40M", 4 * MIB, 1e12, "bytes", "of the machine",
	  NULL },
	{ "kernel", PARAM_ENUM, S(kernel), "linux-2.5", 0, 0, NULL, "model", kernels },
	{ "swappiness", PARAM_U64, S(swappiness), "60", 0, 200, NULL,
	  "of linux-2.5 (up to 100) and later", NULL },
	{ "kernel_2_4", PARAM_BYTES, S(kernel_2_4_bytes), "14M", 0, 1e12, "bytes",
	  "of memory on no list", NULL },
	{ "kernel_2_5", PARAM_BYTES, S(kernel_2_5_bytes), "15872K", 0, 1e12, "bytes",
	  "of memory on no list", NULL },
	{ "kernel_size", PARAM_BYTES, S(kernel_bytes), "15872K", 0, 1e12, "bytes",
	  "of memory on no list, later kernels", NULL },
	{ "stale_stats", PARAM_NS, S(stale_stats_ns), "0", 0, 1e12, "ns",
	  "period of the memcg statistics flush, later kernels; 0: always exact", NULL },
	{ "stats_phase", PARAM_NS, S(stats_phase_ns), "0", 0, 1e12, "ns",
	  "the first flush, from the start; 0: half a period", NULL },
	{ "base", PARAM_DOUBLE, S(base_s), "800", 1, 1e6, "s", "run without a miss", NULL },
	{ "seek", PARAM_DOUBLE, S(seek_ms), "9", 0, 1e4, "ms", "one miss", NULL },
	{ 0 }
};
#undef S

static const struct kernel_ops *find_model(const char *name)
{
	for (const struct kernel_ops *const *ops = kernel_models; *ops; ops++)
		if (!strcmp((*ops)->name, name))
			return *ops;
	return NULL;
}

struct cell {
	struct osdb_result osdb;
	uint64_t misses;
	double seconds;
};

static int set_text(const struct kernel_ops *ops, void *model, const char *name, uint64_t value,
		    const char *unit, struct err *err)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu%s", (unsigned long long)value, unit);
	return params_set(ops->params, model, ops->name, name, text, err);
}

/* The kernels of 2002: the size is the machine's memory. */
static int set_2002(const struct setting *s, const struct kernel_ops *ops, void *model,
		    struct err *err)
{
	int ret = set_text(ops, model, "kernel", s->kernel == LINUX_2_4 ? s->kernel_2_4_bytes :
			   s->kernel_2_5_bytes, "", err);

	return ret || s->kernel == LINUX_2_4 ? ret :
		set_text(ops, model, "swappiness", s->swappiness, "", err);
}

/* Those of today: the size is a memcg's limit. */
static int set_modern(const struct setting *s, const struct kernel_ops *ops, void *model,
		      struct err *err)
{
	const struct { const char *name; uint64_t value; const char *unit; } params[] = {
		{ "swap", 1, "" }, { "swappiness", s->swappiness, "" },
		{ "reserve", s->kernel_bytes, "" }, { "stale_stats", s->stale_stats_ns, "ns" },
		{ "stats_phase", s->stats_phase_ns, "ns" },
	};
	int ret = params_set(ops->params, model, ops->name, "readahead", "random", err);

	for (size_t i = 0; i < ARRAY_SIZE(params) && !ret; i++)
		ret = set_text(ops, model, params[i].name, params[i].value,
			       params[i].unit, err);
	return ret;
}

static int run_cell(const struct setting *s, const struct osdb_params *osdb, struct cell *cell,
		    struct err *err)
{
	const struct kernel_ops *ops = find_model(kernels[s->kernel]);
	void *model;
	int ret;

	if (!ops)
		return err_set(err, -ENOENT, "no model '%s'", kernels[s->kernel]);
	model = calloc(1, ops->params_bytes);
	if (!model)
		return -ENOMEM;
	ret = params_defaults(ops->params, model, err);
	if (!ret)
		ret = s->kernel <= LINUX_2_5 ? set_2002(s, ops, model, err) :
					       set_modern(s, ops, model, err);
	if (!ret)
		ret = osdb_run(ops, model, s->memory_bytes / PAGE_BYTES, osdb, &cell->osdb, err);
	free(model);
	cell->misses = cell->osdb.burst_misses + cell->osdb.file_misses + cell->osdb.swap_misses;
	cell->seconds = s->base_s + cell->misses * s->seek_ms / 1000;
	return ret;
}

/* The number of accesses that gives @seconds in this cell, to a tenth of a percent. */
static int fit_accesses(const struct setting *s, struct osdb_params *osdb, double seconds,
			struct err *err)
{
	double want = (seconds - s->base_s) / (s->seek_ms / 1000);

	for (int i = 0; i < 8; i++) {
		struct cell cell;
		int ret = run_cell(s, osdb, &cell, err);

		if (ret)
			return ret;
		if (!cell.misses)
			return err_set(err, -ERANGE, "the cell to fit has no misses");
		if (fabs(cell.misses / want - 1) < 0.001)
			return 0;
		osdb->nr_accesses *= want / cell.misses;
	}
	return 0;
}

/* The reporter's table; 0: not given. Columns: 2.4.19, 2.5.52 at 60, 80, 100. */
static const struct { int mib; double seconds[4]; } reported[] = {
	{ 24, { 3371.98, 4585.03, 4285.98, 3633.64 } },
	{ 40, { 806.78, 3771.85, 3342.82, 855.22 } },
	{ 64, { 796.03, 840.41, 828.59, 833.92 } },
	{ 80, { 790.80, 788.65, 790.54, 793.79 } },
	{ 96, { 0, 779.54, 782.86, 778.81 } },
	{ 512, { 778.65, 768.98, 770.43, 771.76 } },
};
enum { NR_SIZES = ARRAY_SIZE(reported), NR_COLUMNS = 4, AT_40M = 1 };

static const char *const column_names[] = { "2.4.19", "2.5.52 s=60", "2.5.52 s=80",
					    "2.5.52 s=100" };

static int check_cell(struct case_report *report, int size, int column, const struct cell *cell,
		      double base_s)
{
	double was = reported[size].seconds[column], low, high;
	char what[64], text[32];

	snprintf(what, sizeof(what), reported[size].mib > 256 ? "all memory, %s" : "%2$dM, %1$s",
		 column_names[column], reported[size].mib);
	snprintf(text, sizeof(text), "%.0f s", was);
	if (size == AT_40M) {
		low = 0.75 * was;
		high = 1.25 * was;
	} else if (size > AT_40M) {
		low = 0.95 * was;
		high = 1.05 * was;
	} else {
		low = was > 2 * base_s ? 2 * base_s : -INFINITY;
		high = was > 2 * base_s ? INFINITY : 2 * base_s;
	}
	return case_check(report, what, text, cell->seconds, 0, "s", low, high);
}

static const struct out_column miss_columns[] = {
	{ "cell", NULL, OUT_PLAIN, false },
	{ "misses", NULL, OUT_COUNT, false },
	{ "miss_pct", "of accesses", OUT_PCT, false },
	{ "swap_misses", "swapped in", OUT_COUNT, false },
	{ "swapped_out", "swapped out", OUT_COUNT, false },
	{ "cache_mib", "cache for the set", OUT_PLAIN, false },
	{ "seconds", NULL, OUT_PLAIN, false },
	{ "reported_s", "reported", OUT_PLAIN, false },
};

static int miss_row(struct case_report *report, int size, int column, const struct cell *cell)
{
	double ratio = (double)cell->osdb.file_misses / cell->osdb.nr_accesses;
	char item[64];

	snprintf(item, sizeof(item), reported[size].mib > 256 ? "all, %s" : "%2$dM, %1$s",
		 column_names[column], reported[size].mib);
	return case_row(report, item, (const double []){
		cell->misses, 100 * ratio, cell->osdb.swap_misses, cell->osdb.swapped_out_pages,
		round(160 * (1 - ratio)) / 10, round(cell->seconds),
		reported[size].seconds[column] ? reported[size].seconds[column] : NAN });
}

static int all_cells(const struct setting *base, const struct osdb_params *osdb,
		     struct cell cells[NR_SIZES][NR_COLUMNS], struct err *err)
{
	for (int size = 0; size < NR_SIZES; size++) {
		for (int column = 0; column < NR_COLUMNS; column++) {
			struct setting s = *base;
			int ret;

			s.memory_bytes = reported[size].mib * (uint64_t)MIB;
			s.kernel = column > 0;
			s.swappiness = 40 + 20 * column;
			ret = run_cell(&s, osdb, &cells[size][column], err);
			if (ret)
				return ret;
		}
	}
	return 0;
}

/* ---- the same on a kernel of today ----------------------------------------------------------- */

static const uint64_t modern_swappiness[] = { 0, 10, 60, 100, 150, 200 };
enum { NR_MODERN = ARRAY_SIZE(modern_swappiness) };

static const struct out_column modern_columns[] = {
	{ "memory", NULL, OUT_PLAIN, false }, { "s_0_s", "s=0", OUT_PLAIN, false },
	{ "s_10_s", "10", OUT_PLAIN, false }, { "s_60_s", "60", OUT_PLAIN, false },
	{ "s_100_s", "100", OUT_PLAIN, false }, { "s_150_s", "150", OUT_PLAIN, false },
	{ "s_200_s", "200", OUT_PLAIN, false },
	{ "swapped_out_60", "swapped out at 60", OUT_COUNT, false },
};

static int modern_row(struct case_report *report, const struct setting *base, int size,
		      int kernel, const struct osdb_params *osdb, struct err *err)
{
	double values[NR_MODERN + 1] = { 0 };
	struct osdb_params slow = *osdb;
	struct setting s = *base;
	char item[32];
	int ret = 0;

	slow.miss_ns = base->seek_ms * 1e6;	/* what is dirty is written meanwhile */
	s.memory_bytes = reported[size].mib * (uint64_t)MIB;
	s.kernel = kernel;
	s.kernel_bytes = s.kernel_2_5_bytes;
	for (int i = 0; i < NR_MODERN && !ret; i++) {
		struct cell cell;

		s.swappiness = modern_swappiness[i];
		ret = run_cell(&s, &slow, &cell, err);
		values[i] = round(cell.seconds);
		if (modern_swappiness[i] == 60)
			values[NR_MODERN] = cell.osdb.swapped_out_pages;
	}
	snprintf(item, sizeof(item), "%dM %s", reported[size].mib, kernels[kernel]);
	return ret ? ret : case_row(report, item, values);
}

static int modern(struct case_report *report, const struct setting *base,
		  const struct osdb_params *osdb, struct err *err)
{
	int ret = case_table(report, "Modern answer: kernels of today, same load, seconds",
			     modern_columns, ARRAY_SIZE(modern_columns));

	for (int size = 0; size <= AT_40M && !ret; size++) {
		ret = modern_row(report, base, size, LINUX_6_18, osdb, err);
		if (!ret)
			ret = modern_row(report, base, size, LINUX_MGLRU, osdb, err);
	}
	return ret;
}

/*
 * Measured by tests/live/swappiness.sh on 6.18.44: misses in percent at swappiness 0, 60 and 100,
 * the mean of five runs, their least and their most.
 */
enum { NR_LIVE_SWAPPINESS = 3, NR_PHASES = 4 };

static const struct live_cell {
	bool cyclic;
	int limit_mib;
	double measured_pct[NR_LIVE_SWAPPINESS];
	double least_pct[NR_LIVE_SWAPPINESS], most_pct[NR_LIVE_SWAPPINESS];
} live[] = {
	{ false, 14, { 70.06, 24.53, 19.43 }, { 69.92, 22.44, 18.48 }, { 70.17, 26.03, 21.3 } },
	{ false, 18, { 45.16, 12.09, 8.49 }, { 45.1, 10.25, 7.63 }, { 45.26, 14.01, 10.23 } },
	{ false, 22, { 20.54, 6.93, 5.33 }, { 20.28, 5.84, 5.17 }, { 21.29, 7.25, 5.84 } },
	{ false, 26, { 0, 0, 0 }, { 0, 0, 0 }, { 0.01, 0, 0 } },
	{ false, 30, { 0.01, 0, 0 }, { 0, 0, 0 }, { 0.03, 0, 0 } },
	{ true, 14, { 99.89, 99.98, 99.9 }, { 99.7, 99.95, 99.55 }, { 100, 100, 100 } },
	{ true, 18, { 89.17, 25.84, 20.15 }, { 79.52, 23.26, 19.51 }, { 96.84, 29.4, 20.82 } },
	{ true, 22, { 100, 17.14, 9.82 }, { 100, 6.83, 6.83 }, { 100, 29.09, 13.16 } },
	{ true, 26, { 0, 0, 0 }, { 0, 0, 0 }, { 0.01, 0.01, 0 } },
	{ true, 30, { 0, 0, 0 }, { 0, 0, 0 }, { 0.01, 0, 0 } },
};

static const struct out_column live_columns[] = {
	{ "order", NULL, OUT_PLAIN, false },
	{ "measured_0_pct", "s=0 measured", OUT_PCT, false },
	{ "replayed_0_pct", "replayed", OUT_PCT, false },
	{ "measured_60_pct", "s=60 measured", OUT_PCT, false },
	{ "replayed_60_pct", "replayed", OUT_PCT, false },
	{ "measured_100_pct", "s=100 measured", OUT_PCT, false },
	{ "replayed_100_pct", "replayed", OUT_PCT, false },
};

/* The mean over when the kernel may flush its statistics, which is up to chance in a run. */
static int live_misses(const struct live_cell *cell, uint64_t swappiness, double *pct,
		       struct err *err)
{
	struct setting s;
	struct osdb_params osdb;
	int ret = 0;

	params_defaults(setting_table, &s, NULL);
	params_defaults(osdb_params_table, &osdb, NULL);
	s.kernel = LINUX_6_18;
	s.memory_bytes = cell->limit_mib * (uint64_t)MIB;
	s.kernel_bytes = 100 * 1024;
	s.swappiness = swappiness;
	s.stale_stats_ns = 2000000000;
	osdb.data_bytes = 24 * MIB;
	osdb.last = true;
	osdb.cyclic = cell->cyclic;
	osdb.idle_anon_bytes = 9 * MIB;
	osdb.busy_anon_bytes = PAGE_BYTES;
	osdb.nr_accesses = 60000;
	osdb.write_share = 0;
	osdb.sync_pages = 64;
	osdb.touch_ns = 50;
	osdb.write_ns = 60000;
	osdb.hit_ns = 2000;
	osdb.miss_ns = 110000;
	*pct = 0;
	for (int i = 0; i < NR_PHASES && !ret; i++) {
		struct cell run;

		s.stats_phase_ns = s.stale_stats_ns / NR_PHASES * i + 100000000;
		ret = run_cell(&s, &osdb, &run, err);
		*pct += ret ? 0 : 100.0 * run.osdb.file_misses / osdb.nr_accesses / NR_PHASES;
	}
	return ret;
}

static const uint64_t live_swappiness[NR_LIVE_SWAPPINESS] = { 0, 60, 100 };
enum { NR_LIVE = ARRAY_SIZE(live), LIVE_POINTS = 3 };

/* Cells that are neither within 3 points of the measured mean nor among the measured runs. */
static int live_outside(double replayed[NR_LIVE][NR_LIVE_SWAPPINESS])
{
	int nr = 0;

	for (int i = 0; i < NR_LIVE; i++)
		for (int j = 0; j < NR_LIVE_SWAPPINESS; j++)
			nr += fabs(replayed[i][j] - live[i].measured_pct[j]) > LIVE_POINTS &&
			      (replayed[i][j] < live[i].least_pct[j] ||
			       replayed[i][j] > live[i].most_pct[j]);
	return nr;
}

static int live_check(struct case_report *report, double replayed[NR_LIVE][NR_LIVE_SWAPPINESS],
		      struct err *err)
{
	int ret = 0;

	for (int i = 0; i < NR_LIVE; i++)
		for (int j = 0; j < NR_LIVE_SWAPPINESS && !ret; j++)
			ret = live_misses(&live[i], live_swappiness[j], &replayed[i][j], err);
	return ret ? ret :
		case_check(report, "cells of a copy on 6.18 that are off", "30 measured",
			   live_outside(replayed), 0, "", 0, 0);
}

static int live_table(struct case_report *report, double replayed[NR_LIVE][NR_LIVE_SWAPPINESS])
{
	int ret = case_table(report,
			     "linux-6.18 against a kernel: misses of a small copy of the workload",
			     live_columns, ARRAY_SIZE(live_columns));

	for (int i = 0; i < NR_LIVE && !ret; i++) {
		double values[2 * NR_LIVE_SWAPPINESS];
		char item[32];

		for (int j = 0; j < NR_LIVE_SWAPPINESS; j++) {
			values[2 * j] = live[i].measured_pct[j];
			values[2 * j + 1] = replayed[i][j];
		}
		snprintf(item, sizeof(item), "%s, %dM", live[i].cyclic ? "cyclic" : "random",
			 live[i].limit_mib);
		ret = case_row(report, item, values);
	}
	case_note(report,
		  "Memcg limit, 9 MB idle, a burst of 24 MB (synced every 256 kB), then 60 000 "
		  "reads of its last 16 MB, with swap on\nzram: five runs each "
		  "(tests/live/swappiness.sh). Off: by more than 3 points and not among the runs.");
	return ret;
}

static int run(struct case_report *report, struct err *err)
{
	struct cell cells[NR_SIZES][NR_COLUMNS];
	double replayed[NR_LIVE][NR_LIVE_SWAPPINESS];
	struct osdb_params osdb;
	struct setting base;
	int ret;

	params_defaults(setting_table, &base, NULL);
	params_defaults(osdb_params_table, &osdb, NULL);
	ret = fit_accesses(&base, &osdb, reported[AT_40M].seconds[1], err);
	if (!ret)
		ret = all_cells(&base, &osdb, cells, err);
	for (int size = 0; size < NR_SIZES && !ret; size++)
		for (int column = 0; column < NR_COLUMNS && !ret; column++)
			if (reported[size].seconds[column])
				ret = check_cell(report, size, column, &cells[size][column],
						 base.base_s);
	if (!ret)
		ret = case_check(report, "2.5.52 s=60 over 2.4.19 at 40M", "4.7",
				 cells[AT_40M][1].seconds / cells[AT_40M][0].seconds, 2, "", 4,
				 5.5);
	if (!ret)
		ret = live_check(report, replayed, err);
	case_note(report,
		  "Fitted on the cell 40M, 2.5.52 s=60 alone: %llu accesses at %g ms a miss. "
		  "Every other cell is predicted.\nBase %g s (the report's runs without a miss "
		  "take 769 "
		  "to 800); bound at 24M: on the slow side of twice that.",
		  (unsigned long long)osdb.nr_accesses, base.seek_ms, base.base_s);
	if (!ret)
		ret = case_table(report, "Misses behind the seconds", miss_columns,
				 ARRAY_SIZE(miss_columns));
	for (int size = 0; size < NR_SIZES && !ret; size++)
		for (int column = 0; column < NR_COLUMNS && !ret; column++)
			ret = miss_row(report, size, column, &cells[size][column]);
	if (!ret)
		ret = modern(report, &base, &osdb, err);
	return ret ? ret : live_table(report, replayed);
}

static const struct param *const tables[] = { setting_table, osdb_params_table, NULL };

static int run_one(struct case_report *report, char *const *settings, struct err *err)
{
	struct osdb_params osdb;
	struct setting s;
	struct cell cell;
	int ret;

	params_defaults(setting_table, &s, NULL);
	params_defaults(osdb_params_table, &osdb, NULL);
	ret = case_set(tables, (void *const []){ &s, &osdb }, "case 'swappiness'", settings, err);
	if (!ret)
		ret = run_cell(&s, &osdb, &cell, err);
	if (ret)
		return ret;
	case_check(report, "time", NULL, cell.seconds, 0, "s", NAN, NAN);
	case_check(report, "misses", NULL, cell.misses, 0, "", NAN, NAN);
	case_check(report, "file misses", NULL, 100.0 * cell.osdb.file_misses /
		   fmax(1, cell.osdb.nr_accesses), 2, "%", NAN, NAN);
	case_check(report, "swapped in", NULL, cell.osdb.swap_misses, 0, "pages", NAN, NAN);
	return case_check(report, "swapped out", NULL, cell.osdb.swapped_out_pages, 0, "pages", NAN,
			  NAN);
}

const struct case_study case_swappiness = {
	.name = "swappiness",
	.title = "ten times slower when the working set is at the edge (2.5.52, 2002)",
	.run = run,
	.tables = tables,
	.run_one = run_one,
};
