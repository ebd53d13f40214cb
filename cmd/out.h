/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * out.h - rows out: one description of the columns serves table, CSV, JSON and NDJSON. Unknown is
 * not zero: VALUE_NULL prints as n/a in a table, an empty CSV field, null in JSON.
 */
#ifndef PAGEREEL_OUT_H
#define PAGEREEL_OUT_H

#include "base/base.h"
#include "schema/schema.h"

enum out_format { OUT_AUTO, OUT_TABLE, OUT_CSV, OUT_JSON, OUT_NDJSON };

int out_format_parse(const char *text, enum out_format *format, struct err *err);

/* How a table shows a column; CSV and JSON always carry the plain number. */
enum out_unit { OUT_PLAIN, OUT_BYTES, OUT_NS, OUT_PCT, OUT_RATIO, OUT_COUNT, OUT_PAGES };

struct out_column {
	const char *name;	/* JSON key and CSV header, with its unit suffix */
	const char *title;	/* table header; NULL: name */
	enum out_unit unit;
	bool json_raw;		/* TEXT that is JSON already (SQLite's json functions) */
};

struct out;

/* Rows go to @stream. Tables are held back until out_end() so that widths fit. */
struct out *out_begin(FILE *stream, enum out_format format, const struct out_column *columns,
		      int nr_columns);
int out_row(struct out *out, const struct value *values);
/* Frees. 0, or -errno when a write failed. */
int out_end(struct out *out);

/* All rows of @query; columns named by it, titles and units guessed from suffixes (_ns, _bytes,
 * _pct, _pages). */
int out_query(FILE *stream, enum out_format format, struct query *query, uint64_t *nr_rows,
	      struct err *err);

#endif
