/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vtab.h - what the virtual tables share: they are eponymous (need no CREATE), read-only and
 * INNOCUOUS (views may use them), begin with the columns capture_id, ts_ns, cpu and pid, and give
 * rows by (capture_id, ts_ns, cpu, sequence). Constraints choose what is decoded; SQLite checks
 * each of them itself as well, so one that is not understood (a time that is no integer) costs time
 * and nothing else.
 */
#ifndef PAGEREEL_SCHEMA_VTAB_H
#define PAGEREEL_SCHEMA_VTAB_H

#include "base/base.h"
#include "schema/sqlite.h"

enum { VTAB_CAPTURE_ID, VTAB_TS_NS, VTAB_CPU, VTAB_PID, NR_VTAB_COLUMNS };

/* How a table is asked: vtab_plan() puts it into idxStr. */
struct vtab_table {
	/* The letter of an equality that is understood, by column: "ctp"; '.': none. */
	const char *letters;
	double rows;		/* a guess: how many there are */
	double least_cost;	/* of any question */
	double time_share;	/* of the rows that one time leaves: 1e-5 */
	bool any_time_order;	/* rows of all captures can come by time alone */
};

/* Declares @sql and makes a table of @bytes, zeroed, which begins with a sqlite3_vtab. */
int vtab_make(sqlite3 *db, const char *sql, size_t bytes, sqlite3_vtab **vtab);
int vtab_free(sqlite3_vtab *vtab);	/* xDisconnect */

/*
 * xBestIndex: a letter of idxStr for each argument of xFilter ('<', '>' for times). idxNum bit 0
 * (VTAB_BY_TIME): all captures mixed by time.
 */
enum { VTAB_BY_TIME = 1 << 0 };
int vtab_plan(const struct vtab_table *table, sqlite3_index_info *info);

/* Which rows: what all tables understand. */
struct vtab_range {
	int64_t capture_id;	/* < 0: all */
	int64_t from_ns, to_ns;	/* inclusive */
};

#define VTAB_RANGE_ALL ((struct vtab_range){ -1, INT64_MIN, INT64_MAX })

/* Narrows @range by one argument. False: no row can be wanted. Other letters leave it as it is. */
bool vtab_range_apply(struct vtab_range *range, char letter, sqlite3_value *arg);
/* The one integer of @arg narrows [*low, *high] to what is in [from, to] as well. */
void vtab_narrow(int64_t *low, int64_t *high, int64_t from, int64_t to);

/* What SQLite is told of an error: code is -errno, the text becomes "NAME: TEXT". */
int vtab_fail(sqlite3_vtab *vtab, const char *name, int code, const struct err *err);

#endif
