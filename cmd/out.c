// SPDX-License-Identifier: GPL-2.0-or-later
/* out.c - rows as a table, CSV, JSON or NDJSON. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/out.h"
#include "cmd/utf8.h"

/* Rows of a table that are held back until the widths are known. */
enum { HELD_ROWS = 4096, GAP_CHARS = 2 };

struct cell {
	char *text;
	size_t width;		/* characters */
};

struct out {
	FILE *stream;
	enum out_format format;
	const struct out_column *columns;
	int nr_columns;
	uint64_t nr_rows;
	int code;

	/* table only */
	struct cell *held;	/* nr_held rows of nr_columns */
	int nr_held;
	bool streaming;		/* titles are out, widths are fixed */
	size_t *widths;
	size_t owed;		/* blanks before the next text of this row */
	bool *text_column;	/* to the left: has a value that is no number */
};

int out_format_parse(const char *text, enum out_format *format, struct err *err)
{
	static const char *const names[] = { "table", "csv", "json", "ndjson" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(names[i], text)) {
			*format = (enum out_format)(OUT_TABLE + i);
			return 0;
		}
	}
	return err_set(err, -EINVAL, "'%s' is no format (table, csv, json or ndjson)", text);
}

bool out_format_is_table(enum out_format format)
{
	return format == OUT_AUTO || format == OUT_TABLE;
}

/* ---- table ----------------------------------------------------------------------------------- */

static const char *column_title(const struct out_column *column)
{
	return column->title ? column->title : column->name;
}

static bool goes_right(enum out_unit unit, struct value value)
{
	return unit != OUT_BAR && (value.type == VALUE_INT || value.type == VALUE_REAL);
}

/* *cell owns its text. */
static int cell_make(struct cell *cell, enum out_unit unit, struct value value)
{
	char small[64];
	size_t bytes = out_value_text(small, sizeof(small), unit, value);

	cell->text = malloc(bytes + 1);
	if (!cell->text)
		return -ENOMEM;
	out_value_text(cell->text, bytes + 1, unit, value);
	cell->width = bytes;
	if (value.type == VALUE_TEXT)
		out_text_escape(NULL, 0, value.text, value.text_bytes, &cell->width);
	return 0;
}

/* Blanks are owed until there is text behind them: no line ends in one. */
static void cell_print(struct out *out, int column, const char *text, size_t width)
{
	size_t room = out->widths[column];
	size_t pad = room > width ? room - width : 0;

	if (!out->text_column[column])
		out->owed += pad;
	if (*text) {
		fprintf(out->stream, "%*s%s", (int)out->owed, "", text);
		out->owed = 0;
	}
	out->owed += GAP_CHARS + (out->text_column[column] ? pad : 0);
	if (column == out->nr_columns - 1) {
		fputc('\n', out->stream);
		out->owed = 0;
	}
}

static void title_print(struct out *out)
{
	for (int i = 0; i < out->nr_columns; i++) {
		const char *title = column_title(&out->columns[i]);
		char text[256];
		size_t width;

		out_text_escape(text, sizeof(text), title, strlen(title), &width);
		cell_print(out, i, text, width);
	}
}

static void row_print(struct out *out, struct cell *row)
{
	for (int i = 0; i < out->nr_columns; i++) {
		cell_print(out, i, row[i].text, row[i].width);
		free(row[i].text);
		row[i].text = NULL;
	}
}

static void held_print(struct out *out)
{
	title_print(out);
	for (int i = 0; i < out->nr_held; i++)
		row_print(out, out->held + (size_t)i * out->nr_columns);
	out->nr_held = 0;
	out->streaming = true;
}

static int table_row(struct out *out, const struct value *values)
{
	struct cell *row = out->held + (size_t)out->nr_held * out->nr_columns;

	for (int i = 0; i < out->nr_columns; i++) {
		int code = cell_make(&row[i], out->columns[i].unit, values[i]);

		if (code) {
			while (i--)
				free(row[i].text);
			return code;
		}
		if (out->streaming)
			continue;
		if (row[i].width > out->widths[i])
			out->widths[i] = row[i].width;
		if (!goes_right(out->columns[i].unit, values[i]) && values[i].type != VALUE_NULL)
			out->text_column[i] = true;
	}
	if (out->streaming)
		row_print(out, row);
	else if (++out->nr_held == HELD_ROWS)
		held_print(out);
	return 0;
}

static int table_begin(struct out *out)
{
	out->held = calloc((size_t)HELD_ROWS * out->nr_columns, sizeof(*out->held));
	out->widths = calloc(out->nr_columns, sizeof(*out->widths));
	out->text_column = calloc(out->nr_columns, sizeof(*out->text_column));
	if (!out->held || !out->widths || !out->text_column)
		return -ENOMEM;
	for (int i = 0; i < out->nr_columns; i++) {
		const char *title = column_title(&out->columns[i]);

		out_text_escape(NULL, 0, title, strlen(title), &out->widths[i]);
	}
	return 0;
}

/* ---- numbers, CSV, JSON ---------------------------------------------------------------------- */

/* The shortest of 15 or 17 digits that reads back as the same number. */
static void real_print(FILE *stream, double number)
{
	char text[40];

	snprintf(text, sizeof(text), "%.15g", number);
	if (strtod(text, NULL) != number)
		snprintf(text, sizeof(text), "%.17g", number);
	fputs(text, stream);
}

static void hex_print(FILE *stream, const char *bytes, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		fprintf(stream, "%02x", (unsigned char)bytes[i]);
}

static void csv_text(FILE *stream, const char *text, size_t bytes)
{
	bool quote = !bytes || text[0] == ' ' || text[bytes - 1] == ' ';

	for (size_t i = 0; i < bytes && !quote; i++)
		quote = memchr(",\"\r\n", text[i], 4);
	if (!quote) {
		fwrite(text, 1, bytes, stream);
		return;
	}
	fputc('"', stream);
	for (size_t i = 0; i < bytes; i++) {
		if (text[i] == '"')
			fputc('"', stream);
		fputc(text[i], stream);
	}
	fputc('"', stream);
}

static void csv_value(FILE *stream, struct value value)
{
	switch (value.type) {
	case VALUE_INT:
		fprintf(stream, "%lld", (long long)value.i);
		break;
	case VALUE_REAL:
		if (isfinite(value.r))
			real_print(stream, value.r);
		break;
	case VALUE_TEXT:
		csv_text(stream, value.text, value.text_bytes);
		break;
	case VALUE_BLOB:
		hex_print(stream, value.text, value.text_bytes);
		break;
	case VALUE_NULL:
		break;
	}
}

static void csv_begin(struct out *out)
{
	for (int i = 0; i < out->nr_columns; i++) {
		if (i)
			fputc(',', out->stream);
		csv_text(out->stream, out->columns[i].name, strlen(out->columns[i].name));
	}
	fputc('\n', out->stream);
}

static void csv_row(struct out *out, const struct value *values)
{
	if (!out->nr_rows)
		csv_begin(out);
	for (int i = 0; i < out->nr_columns; i++) {
		if (i)
			fputc(',', out->stream);
		csv_value(out->stream, values[i]);
	}
	fputc('\n', out->stream);
}

static void json_char(FILE *stream, uint32_t code, const char *bytes, size_t nr)
{
	static const char shorts[] = { ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f',
				       ['\r'] = 'r', ['"'] = '"', ['\\'] = '\\' };

	if (code < sizeof(shorts) && shorts[code])
		fprintf(stream, "\\%c", shorts[code]);
	else if (code < 0x20 || code == 0x7f)
		fprintf(stream, "\\u%04x", code);
	else
		fwrite(bytes, 1, nr, stream);
}

static void json_text(FILE *stream, const char *text, size_t bytes)
{
	size_t at = 0;

	fputc('"', stream);
	while (at < bytes) {
		uint32_t code;
		size_t step = utf8_decode(text + at, bytes - at, &code);

		if (step)
			json_char(stream, code, text + at, step);
		else
			fputs("\\ufffd", stream);
		at += step ? step : 1;
	}
	fputc('"', stream);
}

/* JSON between tokens may hold newlines, inside a string never: a blank does as well. */
static void json_raw(FILE *stream, const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		fputc(text[i] == '\n' || text[i] == '\r' ? ' ' : text[i], stream);
}

static void json_value(FILE *stream, const struct out_column *column, struct value value)
{
	switch (value.type) {
	case VALUE_INT:
		fprintf(stream, "%lld", (long long)value.i);
		return;
	case VALUE_REAL:
		if (isfinite(value.r)) {
			real_print(stream, value.r);
			return;
		}
		break;
	case VALUE_TEXT:
		if (column->json_raw && value.text_bytes)
			json_raw(stream, value.text, value.text_bytes);
		else
			json_text(stream, value.text, value.text_bytes);
		return;
	case VALUE_BLOB:
		fputc('"', stream);
		hex_print(stream, value.text, value.text_bytes);
		fputc('"', stream);
		return;
	case VALUE_NULL:
		break;
	}
	fputs("null", stream);
}

static void json_row(struct out *out, const struct value *values)
{
	if (out->format == OUT_JSON)
		fputs(out->nr_rows ? ",\n" : "[", out->stream);
	fputc('{', out->stream);
	for (int i = 0; i < out->nr_columns; i++) {
		if (i)
			fputc(',', out->stream);
		json_text(out->stream, out->columns[i].name, strlen(out->columns[i].name));
		fputc(':', out->stream);
		json_value(out->stream, &out->columns[i], values[i]);
	}
	fputs(out->format == OUT_JSON ? "}" : "}\n", out->stream);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void out_free(struct out *out)
{
	for (int i = 0; i < out->nr_held * out->nr_columns; i++)
		free(out->held[i].text);
	free(out->held);
	free(out->widths);
	free(out->text_column);
	free(out);
}

struct out *out_begin(FILE *stream, enum out_format format, const struct out_column *columns,
		      int nr_columns)
{
	struct out *out = calloc(1, sizeof(*out));

	if (!out)
		return NULL;
	out->stream = stream;
	out->format = format == OUT_AUTO ? OUT_TABLE : format;
	out->columns = columns;
	out->nr_columns = nr_columns;
	if (out->format == OUT_TABLE && table_begin(out)) {
		out_free(out);
		return NULL;
	}
	return out;
}

int out_row(struct out *out, const struct value *values)
{
	int code = 0;

	if (out->code)
		return out->code;
	if (out->format == OUT_TABLE)
		code = table_row(out, values);
	else if (out->format == OUT_CSV)
		csv_row(out, values);
	else
		json_row(out, values);
	out->nr_rows++;
	if (!code && ferror(out->stream))
		code = errno ? -errno : -EIO;
	out->code = code;
	return code;
}

int out_end(struct out *out)
{
	int code = out->code;

	if (!code && out->format == OUT_TABLE && !out->streaming)
		held_print(out);
	if (!code && out->format == OUT_CSV && !out->nr_rows)
		csv_begin(out);
	if (!code && out->format == OUT_JSON)
		fputs(out->nr_rows ? "]\n" : "[]\n", out->stream);
	if (!code && (fflush(out->stream) || ferror(out->stream)))
		code = errno ? -errno : -EIO;
	out_free(out);
	return code;
}

void out_cancel(struct out *out)
{
	if (out && out->nr_rows)
		out_end(out);
	else if (out)
		out_free(out);
}
