/* SPDX-License-Identifier: GPL-2.0-or-later */
/* analyze.h - how `pagereel analyze` prints one analysis. */
#ifndef PAGEREEL_CMD_ANALYZE_H
#define PAGEREEL_CMD_ANALYZE_H

#include "analyze/analyze.h"
#include "cmd/cmd.h"
#include "cmd/out.h"

struct analyze_args {
	const struct command *command;
	const struct analysis *analysis;
	struct store *store;	/* writable if the analysis needs it */
	enum out_format format;
	struct value capture;	/* VALUE_NONE: all */
	uint64_t size_bytes;	/* validate: in place of the recorded limit; 0: not given */
};

/* Opens @sql with :capture bound. */
int analyze_query(const struct analyze_args *args, const char *sql, struct query **query,
		  struct err *err);

/*
 * Which capture: @text is a number, "all" (*capture VALUE_NONE), or NULL: the only one, or the
 * first with a note on stderr that there are others.
 */
int capture_choose(const struct command *self, struct store *store, const char *text,
		   struct value *capture, struct err *err);

/*
 * Prints what stands in place of the plain rows. *nr_rows is what there was; with 0 the caller says
 * what is missing. Returns 0, 1 (a check failed) or -errno.
 */
typedef int (*analyze_fn)(const struct analyze_args *args, uint64_t *nr_rows, struct err *err);

int analyze_summary_print(const struct analyze_args *args, uint64_t *nr_rows, struct err *err);
int analyze_compare_print(const struct analyze_args *args, uint64_t *nr_rows, struct err *err);
int analyze_mrc_print(const struct analyze_args *args, uint64_t *nr_rows, struct err *err);
int analyze_validate_print(const struct analyze_args *args, uint64_t *nr_rows, struct err *err);

/* Below this share of pages asked for, a cache that was warm at the start misleads nobody. */
enum { WARM_PCT = 5 };

/* That share in a capture, in percent; NAN: not known. */
int warm_pct_read(struct store *store, int64_t capture_id, double *pct, struct err *err);
/* Says so if it is large. */
bool warm_print(double pct);

#endif
