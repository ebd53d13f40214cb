/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * case.h - the case studies: each a file case_NAME.c that runs models and hands figures to a
 * report. Internal to cmd/.
 */
#ifndef PAGEREEL_CASE_H
#define PAGEREEL_CASE_H

#include "cmd/out.h"

struct case_report;

struct case_study {
	const char *name;
	const char *title;
	/* Every figure of the case. 0 or -errno. */
	int (*run)(struct case_report *report, struct err *err);
	/* What --set changes, and the run with it alone. */
	const struct param *const *tables;	/* NULL-terminated; see case_set() */
	int (*run_one)(struct case_report *report, char *const *settings, struct err *err);
};

extern const struct case_study case_kswapd_slab, case_cleancache, case_refault_flush,
	case_swappiness;

/*
 * A figure against its bound: @low <= @value <= @high (INFINITY: open; both NAN: shown, not
 * judged). @value NAN: the model cannot say, and @reported is shown beside n/a. @digits behind the
 * point.
 */
int case_check(struct case_report *report, const char *what, const char *reported, double value,
	       int digits, const char *unit, double low, double high);

/* A table of figures: @columns, the first of them the row's name. */
int case_table(struct case_report *report, const char *section, const struct out_column *columns,
	       int nr_columns);
/* @values: nr_columns - 1 of them. */
int case_row(struct case_report *report, const char *item, const double *values);
/*
 * A counter of the reported run as the kernel would show it, for `pagereel doctor`: a fact of the
 * context, 0 at the start and @value after @run_s of virtual time.
 */
int case_fact(struct case_report *report, const char *subject, const char *key, double value,
	      double run_s);
/* Flushes of memcg statistics inside refaults are told, if there are any, of a run of @run_s. */
void case_flush_begin(struct case_report *report, double run_s);
/*
 * One of them, as the kernel's events would show it: a page is added, the flush begins at @start_ns
 * and holds its lock for @hold_ns.
 */
void case_flush_event(struct case_report *report, double start_ns, double hold_ns);
/* A sentence under what came last. */
void case_note(struct case_report *report, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Sets "name=value,..." in the first of @tables (each with its object) that has the name. */
int case_set(const struct param *const *tables, void *const *objects, const char *what,
	     char *const *settings, struct err *err);

#endif
