/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * out.h - rows out: one description of the columns serves table, CSV, JSON and NDJSON. Unknown is
 * not zero: VALUE_NULL prints as n/a in a table, an empty CSV field, null in JSON.
 *
 *   table   for people: titles, numbers to the right, units and thousands separators. Control
 *           characters and invalid UTF-8 show as \xNN, so that a file name cannot drive a terminal.
 *           Blobs show as x'...'.
 *   csv     RFC 4180 quoting, lines end in LF. The empty string is "", NULL is nothing.
 *   json    one array of objects, an object a line; non-finite numbers are null, bytes that are not
 *           UTF-8 become U+FFFD, blobs are hexadecimal strings.
 *   ndjson  the same objects, no array.
 *
 * OUT_AUTO is the table whether or not the output is a terminal: what a pipe shows is what the
 * screen showed, as with ls -l or ps, and a script that wants numbers names its format.
 */
#ifndef PAGEREEL_OUT_H
#define PAGEREEL_OUT_H

#include "base/base.h"
#include "schema/schema.h"

enum out_format { OUT_AUTO, OUT_TABLE, OUT_CSV, OUT_JSON, OUT_NDJSON };

int out_format_parse(const char *text, enum out_format *format, struct err *err);

/* True for OUT_AUTO and OUT_TABLE: sentences may stand around the rows. */
bool out_format_is_table(enum out_format format);

/*
 * How a table shows a column; CSV and JSON always carry the plain number.
 *
 *   OUT_PLAIN  1234567      as it is: ids, time stamps; reals with six digits
 *   OUT_BYTES  1.2M         IEC
 *   OUT_NS     1.24 ms
 *   OUT_PCT    12.34%
 *   OUT_RATIO  0.9312
 *   OUT_COUNT  1,234,567
 *   OUT_PAGES  64M          an amount of memory given in pages; use OUT_COUNT to count pages
 *   OUT_BAR    #######      a share from 0 to 1, drawn
 */
enum out_unit {
	OUT_PLAIN, OUT_BYTES, OUT_NS, OUT_PCT, OUT_RATIO, OUT_COUNT, OUT_PAGES, OUT_BAR
};

struct out_column {
	const char *name;	/* JSON key and CSV header, with its unit suffix */
	const char *title;	/* table header; NULL: name */
	enum out_unit unit;
	bool json_raw;		/* TEXT that is JSON already (SQLite's json functions) */
	bool not_in_table;	/* out_query_as() only: says nothing new to people */
};

struct out;

/*
 * Rows go to @stream; @columns (and what they point to) must live until out_end(). A table is held
 * back for its first few thousand rows so that widths fit, then streams. NULL: no memory.
 */
struct out *out_begin(FILE *stream, enum out_format format, const struct out_column *columns,
		      int nr_columns);
/* One value per column; nothing is kept of it. 0, -ENOMEM, or -errno when a write failed. */
int out_row(struct out *out, const struct value *values);
/* Frees. 0, or -errno when a write failed. A table without rows prints its titles. */
int out_end(struct out *out);
/* In place of out_end() after an error: no titles, no brackets, unless rows are out already. */
void out_cancel(struct out *out);

/*
 * One value as a table shows it, in @buf (cut to fit). Returns the length as snprintf does. For
 * sentences around a table.
 */
size_t out_value_text(char *buf, size_t buf_bytes, enum out_unit unit, struct value value);

/*
 * Writes @text so that a terminal takes it as text: printable UTF-8 stays, all else becomes \xNN.
 * Returns the length as snprintf does; *width (nullable) is the number of characters.
 */
size_t out_text_escape(char *buf, size_t buf_bytes, const char *text, size_t text_bytes,
		       size_t *width);

/*
 * The unit of a column by its name: the suffix (_ns, _bytes, _pct, _ratio, _pages), the prefix nr_,
 * and the counters of replays and reclaim (accesses, scanned, ...).
 */
enum out_unit out_unit_guess(const char *name);

/*
 * All rows of @query; columns named by it and titled as they are named, so that what a table shows
 * can be asked for; units by out_unit_guess(). nr_rows may be NULL.
 */
int out_query(FILE *stream, enum out_format format, struct query *query, uint64_t *nr_rows,
	      struct err *err);
/*
 * The same for queries of ours: columns with the name of one in @known look as that says, the
 * titles of the others leave out the suffix or prefix that the unit makes superfluous (cpu_ns:
 * cpu).
 */
int out_query_as(FILE *stream, enum out_format format, struct query *query,
		 const struct out_column *known, int nr_known, uint64_t *nr_rows, struct err *err);

#endif
