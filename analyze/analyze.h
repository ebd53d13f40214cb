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
	const char *note_sql;	/* (capture_id, sentence): said below a table; or NULL */
	const char *empty;	/* without rows: what that means and what to do */
	bool needs_results;	/* without rows there was no answer: exit status 3 */
	bool needs_write;	/* stores what it finds */
};

/* In the order of `pagereel analyze --list`; ends with name == NULL. */
extern const struct analysis analyses[];

/* NULL if there is none of that name; *nearest (nullable) is then the most similar name or NULL. */
const struct analysis *analysis_find(const char *name, const char **nearest);

/* ---- diagnosis (doctor.c) -------------------------------------------------------------------- */

enum { DOCTOR_MAX_SETTINGS = 6 };

/* The thresholds of one rule, in the order of its params. */
struct doctor_settings {
	union {
		uint64_t whole;
		double number;
	} value[DOCTOR_MAX_SETTINGS];
};

/*
 * One thing that can be wrong. @sql takes :capture (an id or NULL for all) and a parameter for
 * each entry of @params, and gives a row per capture: state ('finding', 'ok', or NULL: not
 * recorded), missing (what would have to be recorded), confidence ('high', 'medium', 'low'), the
 * figures, and command in place of the rule's own if it is not NULL. {COLUMN} in @sentence and the
 * commands stands for a figure, {db} for the database.
 */
struct doctor_rule {
	const char *name;
	const char *title;	/* what it looks for, one line */
	const char *sql;
	const struct param *params;
	const char *sentence;	/* of a finding */
	const char *figure;	/* the column that says how bad it is */
	const char *advice;	/* what to try, unless the row has an advice */
	const char *command;	/* what shows the gain */
};

/* The most urgent first; ends with name == NULL. */
extern const struct doctor_rule doctor_rules[];
enum { NR_DOCTOR_RULES = 11 };

/* NULL if there is none of that name; *nearest (nullable) is then the most similar name or NULL. */
const struct doctor_rule *doctor_rule_find(const char *name, const char **nearest);

/* The defaults of all rules: @settings has NR_DOCTOR_RULES entries. */
int doctor_defaults(struct doctor_settings *settings, struct err *err);
/* "RULE.NAME=VALUE". -EINVAL with what is wrong. */
int doctor_set(struct doctor_settings *settings, const char *text, struct err *err);
/* Binds a rule's thresholds. */
int doctor_bind(const struct doctor_rule *rule, const struct doctor_settings *settings,
		struct query *query);
/*
 * A rule's query with every parameter replaced by its value, so that any SQLite shell runs it. The
 * caller frees it; NULL: no memory.
 */
char *doctor_sql_text(const struct doctor_rule *rule, const struct doctor_settings *settings,
		      struct value capture);

/* analyze/NAME.sql as text. */
extern const char sql_analyze_calibrate[];
extern const char sql_analyze_compare[];
extern const char sql_analyze_coverage[];
extern const char sql_analyze_doctor_direct_reclaim[];
extern const char sql_analyze_doctor_dirty_throttling[];
extern const char sql_analyze_doctor_empty_shrinkers[];
extern const char sql_analyze_doctor_flush_stalls[];
extern const char sql_analyze_doctor_kswapd[];
extern const char sql_analyze_doctor_lost_events[];
extern const char sql_analyze_doctor_readahead[];
extern const char sql_analyze_doctor_streams[];
extern const char sql_analyze_doctor_swappiness[];
extern const char sql_analyze_doctor_tier_no_hits[];
extern const char sql_analyze_doctor_working_set[];
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
extern const char sql_analyze_recording[];
extern const char sql_analyze_slab[];
extern const char sql_analyze_summary[];
extern const char sql_analyze_who[];
extern const char sql_analyze_validate_recorded[];
extern const char sql_analyze_warm[];

#endif
