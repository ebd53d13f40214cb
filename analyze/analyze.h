/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * analyze.h - what can be asked of a database: SQL over the version-independent views of schema/, a
 * file each, and the table of them. Nothing here prints.
 */
#ifndef PAGEREEL_ANALYZE_H
#define PAGEREEL_ANALYZE_H

#include "base/base.h"
#include "schema/schema.h"

/*
 * One analysis: flat rows for every format. The command line may draw some differently on a
 * terminal, or run a function in place of @sql (NULL then). All take :capture, a capture id or NULL
 * for all captures.
 */
struct analysis {
	const char *name;
	const char *purpose;	/* one line */
	const char *sql;
	const char *empty;	/* without rows: what that means and what to do */
	bool needs_results;	/* without rows there was no answer: exit status 3 */
	bool needs_write;	/* stores what it finds */
};

/* In the order of `pagereel analyze --list`; ends with name == NULL. */
extern const struct analysis analyses[];

/* NULL if there is none of that name; *nearest (nullable) is then the most similar name or NULL. */
const struct analysis *analysis_find(const char *name, const char **nearest);

/* analyze/NAME.sql as text. */
extern const char sql_analyze_compare[];
extern const char sql_analyze_coverage[];
extern const char sql_analyze_errors[];
extern const char sql_analyze_flush[];
extern const char sql_analyze_info[];
extern const char sql_analyze_info_events[];
extern const char sql_analyze_info_gaps[];
extern const char sql_analyze_info_results[];
extern const char sql_analyze_info_streams[];
extern const char sql_analyze_knees[];
extern const char sql_analyze_latency[];
extern const char sql_analyze_mrc[];
extern const char sql_analyze_reclaim[];
extern const char sql_analyze_slab[];
extern const char sql_analyze_summary[];
extern const char sql_analyze_who[];
extern const char sql_analyze_validate_recorded[];

#endif
