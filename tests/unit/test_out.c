// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_out.c - rows as table, CSV and JSON. What is written is read back by somebody else's parser
 * (SQLite's JSON functions) or by an obviously right one (CSV, one character at a time).
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sqlite3.h>

#include "cmd/out.h"
#include "cmd/utf8.h"

static char *render(enum out_format format, const struct out_column *columns, int nr_columns,
		    const struct value *values, int nr_rows)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *stream = open_memstream(&text, &bytes);
	struct out *out = out_begin(stream, format, columns, nr_columns);

	assert_non_null(out);
	for (int i = 0; i < nr_rows; i++)
		assert_int_equal(out_row(out, values + i * nr_columns), 0);
	assert_int_equal(out_end(out), 0);
	fclose(stream);
	return text;
}

#define ASSERT_RENDERED(want, ...) do { \
	char *text_ = render(__VA_ARGS__); \
	assert_string_equal(text_, want); \
	free(text_); \
} while (0)

static const struct out_column mixed[] = {
	{ .name = "model" },
	{ .name = "memory_pages", .title = "memory", .unit = OUT_PAGES },
	{ .name = "hit_ratio", .unit = OUT_RATIO },
	{ .name = "cpu_ns", .title = "cpu", .unit = OUT_NS },
};

static const struct value mixed_rows[] = {
	VALUE_OF_TEXT("lru"), VALUE_OF_INT(16384), VALUE_OF_REAL(0.5), VALUE_OF_INT(1500),
	VALUE_OF_TEXT("linux-6.18"), VALUE_OF_INT(300), VALUE_NONE, VALUE_OF_INT(2),
};

static void table_aligns_numbers_right_and_says_na(void **state)
{
	ASSERT_RENDERED("model       memory  hit_ratio     cpu\n"
			"lru            64M     0.5000  1.5 us\n"
			"linux-6.18    1.2M        n/a    2 ns\n",
			OUT_AUTO, mixed, 4, mixed_rows, 2);
}

static void csv_has_plain_numbers_and_empty_nulls(void **state)
{
	ASSERT_RENDERED("model,memory_pages,hit_ratio,cpu_ns\n"
			"lru,16384,0.5,1500\n"
			"linux-6.18,300,,2\n",
			OUT_CSV, mixed, 4, mixed_rows, 2);
}

static void json_is_one_array_of_objects(void **state)
{
	ASSERT_RENDERED("[{\"model\":\"lru\",\"memory_pages\":16384,\"hit_ratio\":0.5,"
			"\"cpu_ns\":1500},\n"
			"{\"model\":\"linux-6.18\",\"memory_pages\":300,\"hit_ratio\":null,"
			"\"cpu_ns\":2}]\n",
			OUT_JSON, mixed, 4, mixed_rows, 2);
	ASSERT_RENDERED("[]\n", OUT_JSON, mixed, 4, mixed_rows, 0);
	ASSERT_RENDERED("", OUT_NDJSON, mixed, 4, mixed_rows, 0);
	ASSERT_RENDERED("model  memory  hit_ratio  cpu\n", OUT_TABLE, mixed, 4, mixed_rows, 0);
}

static void numbers_that_json_lacks_are_null(void **state)
{
	static const struct out_column column[] = { { .name = "x" } };
	const struct value odd[] = { VALUE_OF_REAL(NAN), VALUE_OF_REAL(INFINITY),
				     VALUE_OF_REAL(-INFINITY) };

	ASSERT_RENDERED("{\"x\":null}\n{\"x\":null}\n{\"x\":null}\n", OUT_NDJSON, column, 1,
			odd, 3);
	ASSERT_RENDERED("x\n\n\n\n", OUT_CSV, column, 1, odd, 3);
	ASSERT_RENDERED("  x\nn/a\nn/a\nn/a\n", OUT_TABLE, column, 1, odd, 3);
}

static void reals_read_back_exactly(void **state)
{
	static const struct out_column column[] = { { .name = "x" } };
	uint64_t seed = 1;

	for (int i = 0; i < 2000; i++) {
		uint64_t bits = rand_next(&seed);
		double number;
		struct value value;
		char *text;

		memcpy(&number, &bits, sizeof(number));
		if (!isfinite(number))
			continue;
		value = VALUE_OF_REAL(number);
		text = render(OUT_CSV, column, 1, &value, 1);
		assert_true(strtod(text + 2, NULL) == number);
		free(text);
	}
}

static void units_are_human(void **state)
{
	static const struct {
		enum out_unit unit;
		struct value value;
		const char *text;
	} cases[] = {
		{ OUT_PLAIN, VALUE_OF_INT(1234567), "1234567" },
		{ OUT_PLAIN, VALUE_OF_REAL(0.125), "0.125" },
		{ OUT_COUNT, VALUE_OF_INT(0), "0" },
		{ OUT_COUNT, VALUE_OF_INT(999), "999" },
		{ OUT_COUNT, VALUE_OF_INT(1000), "1,000" },
		{ OUT_COUNT, VALUE_OF_INT(-1234567), "-1,234,567" },
		{ OUT_COUNT, VALUE_OF_INT(-123), "-123" },
		{ OUT_COUNT, VALUE_OF_REAL(2000), "2,000" },
		{ OUT_COUNT, VALUE_OF_REAL(1234.56), "1234.6" },
		{ OUT_COUNT, VALUE_OF_INT(INT64_MIN), "-9,223,372,036,854,775,808" },
		{ OUT_BYTES, VALUE_OF_INT(67108864), "64M" },
		{ OUT_BYTES, VALUE_OF_INT(-67108864), "-64M" },
		{ OUT_PAGES, VALUE_OF_INT(1), "4K" },
		{ OUT_NS, VALUE_OF_INT(999), "999 ns" },
		{ OUT_NS, VALUE_OF_INT(999999), "1 ms" },
		{ OUT_NS, VALUE_OF_INT(999999999), "1 s" },
		{ OUT_NS, VALUE_OF_INT(1240000000), "1.24 s" },
		{ OUT_NS, VALUE_OF_INT(-1500), "-1.5 us" },
		{ OUT_PCT, VALUE_OF_REAL(12.345), "12.35%" },
		{ OUT_RATIO, VALUE_OF_REAL(1), "1.0000" },
		{ OUT_BYTES, VALUE_OF_TEXT("max"), "max" },
		{ OUT_BYTES, VALUE_NONE, "n/a" },
	};
	char buf[64];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		out_value_text(buf, sizeof(buf), cases[i].unit, cases[i].value);
		assert_string_equal(buf, cases[i].text);
	}
}

static void units_are_guessed_from_names(void **state)
{
	static const struct { const char *name; enum out_unit unit; } cases[] = {
		{ "cpu_ns", OUT_NS }, { "ts_ns", OUT_PLAIN }, { "first_ts_ns", OUT_PLAIN },
		{ "started_unix_ns", OUT_PLAIN }, { "wal_bytes", OUT_BYTES },
		{ "coverage_pct", OUT_PCT }, { "hit_ratio", OUT_RATIO },
		{ "memory_pages", OUT_PAGES }, { "reclaimed_pages", OUT_COUNT },
		{ "nr_events", OUT_COUNT }, { "pages", OUT_PLAIN }, { "pid", OUT_PLAIN },
		{ "", OUT_PLAIN }, { "_ns", OUT_NS }, { "ns", OUT_PLAIN },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(out_unit_guess(cases[i].name), cases[i].unit);
}

static const struct { const char *bytes; size_t nr; const char *shown; } hostile[] = {
	{ "\033[2J\033]0;x\007", 10, "\\x1b[2J\\x1b]0;x\\x07" },
	{ "a\nb\tc\r", 6, "a\\nb\\tc\\x0d" },
	{ "nul\0nul", 7, "nul\\x00nul" },
	{ "\xc2\x9b" "31m", 5, "\\xc2\\x9b31m" },		/* C1 control */
	{ "\xff\xfe", 2, "\\xff\\xfe" },
	{ "\xc0\xaf", 2, "\\xc0\\xaf" },			/* overlong / */
	{ "\xed\xa0\x80", 3, "\\xed\\xa0\\x80" },		/* surrogate */
	{ "\xf4\x90\x80\x80", 4, "\\xf4\\x90\\x80\\x80" },	/* beyond U+10FFFF */
	{ "tail\xe2\x82", 6, "tail\\xe2\\x82" },		/* cut off */
	{ "gr\xc3\xbc\xc3\x9f", 6, "gr\xc3\xbc\xc3\x9f" },
	{ "\xf0\x9f\x90\x8c", 4, "\xf0\x9f\x90\x8c" },
};

static void hostile_text_cannot_drive_the_terminal(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(hostile); i++) {
		char buf[128];
		size_t bytes = out_text_escape(buf, sizeof(buf), hostile[i].bytes, hostile[i].nr,
					       NULL);

		assert_string_equal(buf, hostile[i].shown);
		assert_int_equal(bytes, strlen(buf));
		assert_int_equal(out_text_escape(buf, 4, hostile[i].bytes, hostile[i].nr, NULL),
				 bytes);
		assert_true(strlen(buf) <= 3);
	}
}

static void width_counts_characters_not_bytes(void **state)
{
	static const struct out_column columns[] = { { .name = "a" }, { .name = "b" } };
	const struct value rows[] = { VALUE_OF_TEXT("gr\xc3\xbc\xc3\x9f"), VALUE_OF_INT(1),
				      VALUE_OF_TEXT("grue"), VALUE_OF_INT(2) };

	ASSERT_RENDERED("a     b\ngr\xc3\xbc\xc3\x9f  1\ngrue  2\n", OUT_TABLE, columns, 2,
			rows, 2);
}

static void long_tables_stream_with_all_rows(void **state)
{
	enum { ROWS = 10000 };
	static const struct out_column columns[] = { { .name = "n" }, { .name = "word" } };
	struct value *rows = calloc(ROWS * 2, sizeof(*rows));
	char *text, *line;
	int nr = 0;

	for (int i = 0; i < ROWS; i++) {
		rows[2 * i] = VALUE_OF_INT(i);
		rows[2 * i + 1] = VALUE_OF_TEXT(i % 2 ? "odd" : "even");
	}
	text = render(OUT_TABLE, columns, 2, rows, ROWS);
	for (line = strchr(text, '\n') + 1; *line; line = strchr(line, '\n') + 1, nr++)
		assert_int_equal(atoi(line), nr);
	assert_int_equal(nr, ROWS);
	free(text);
	free(rows);
}

/* ---- somebody else reads it back ------------------------------------------------------------- */

static size_t random_bytes(uint64_t *seed, char *buf, size_t max)
{
	static const char spice[] = "\",\n\r\\ {}[]:'\t\0\033\x7f";
	size_t nr = rand_next(seed) % (max + 1);

	for (size_t i = 0; i < nr; i++) {
		uint64_t r = rand_next(seed);

		buf[i] = r % 3 ? (char)(r >> 8) : spice[(r >> 8) % (sizeof(spice) - 1)];
	}
	return nr;
}

static void assert_utf8(const char *text)
{
	uint32_t code;
	size_t step;

	for (size_t left = strlen(text); left; left -= step, text += step) {
		step = utf8_decode(text, left, &code);
		assert_true(step);
	}
}

/* True if @text is valid UTF-8 without NUL, so that it must come back the same. */
static bool plain_text(const char *text, size_t bytes)
{
	uint32_t code;
	size_t step;

	for (; bytes; bytes -= step, text += step) {
		step = utf8_decode(text, bytes, &code);
		if (!step || !code)
			return false;
	}
	return true;
}

static void json_of_random_bytes_reads_back_through_sqlite(void **state)
{
	static const struct out_column column[] = { { .name = "k\"\\\n" } };
	sqlite3 *db;
	sqlite3_stmt *stmt;
	uint64_t seed = 2;
	int nr_same = 0;

	sqlite3_open(":memory:", &db);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT json_valid(?1), j.value "
					    "FROM json_each(?1) j", -1, &stmt, NULL), SQLITE_OK);
	for (int i = 0; i < 3000; i++) {
		char bytes[24], *text;
		struct value value = { .type = VALUE_TEXT, .text = bytes };

		value.text_bytes = random_bytes(&seed, bytes, i % 2 ? 3 : sizeof(bytes));
		text = render(OUT_NDJSON, column, 1, &value, 1);
		assert_utf8(text);
		assert_int_equal(strcspn(text, "\n"), strlen(text) - 1);
		sqlite3_bind_text(stmt, 1, text, -1, SQLITE_TRANSIENT);
		assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
		assert_int_equal(sqlite3_column_int(stmt, 0), 1);
		if (plain_text(bytes, value.text_bytes)) {
			assert_int_equal(sqlite3_column_bytes(stmt, 1), value.text_bytes);
			assert_memory_equal(sqlite3_column_text(stmt, 1), bytes, value.text_bytes);
			nr_same++;
		}
		sqlite3_reset(stmt);
		free(text);
	}
	assert_true(nr_same > 100);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
}

/* Reads one CSV field into @out; *at moves to the separator. */
static size_t csv_field(const char *text, size_t *at, size_t end, char *out)
{
	size_t nr = 0;

	if (*at < end && text[*at] == '"') {
		for (++*at; ; ++*at) {
			assert_true(*at < end);
			if (text[*at] == '"' && text[++*at] != '"')
				return nr;
			out[nr++] = text[*at];
		}
	}
	while (*at < end && text[*at] != ',' && text[*at] != '\n')
		out[nr++] = text[(*at)++];
	return nr;
}

static void csv_of_random_bytes_reads_back(void **state)
{
	static const struct out_column columns[] = { { .name = "a" }, { .name = "b" } };
	uint64_t seed = 3;

	for (int i = 0; i < 3000; i++) {
		char bytes[2][24], field[24], *text = NULL;
		struct value values[2];
		size_t text_bytes, at = 4;
		FILE *stream = open_memstream(&text, &text_bytes);
		struct out *out = out_begin(stream, OUT_CSV, columns, 2);

		for (int c = 0; c < 2; c++)
			values[c] = (struct value){ .type = VALUE_TEXT, .text = bytes[c],
				.text_bytes = random_bytes(&seed, bytes[c], sizeof(bytes[c])) };
		out_row(out, values);
		out_end(out);
		fclose(stream);
		for (int c = 0; c < 2; c++) {
			size_t nr = csv_field(text, &at, text_bytes, field);

			assert_int_equal(nr, values[c].text_bytes);
			assert_memory_equal(field, bytes[c], nr);
			assert_int_equal(text[at++], c ? '\n' : ',');
		}
		assert_int_equal(at, text_bytes);
		free(text);
	}
}

static void csv_tells_null_from_empty(void **state)
{
	static const struct out_column columns[] = { { .name = "a" }, { .name = "b,c" } };
	const struct value row[] = { VALUE_NONE, VALUE_OF_TEXT("") };

	ASSERT_RENDERED("a,\"b,c\"\n,\"\"\n", OUT_CSV, columns, 2, row, 1);
}

static void json_columns_are_embedded_not_quoted(void **state)
{
	static const struct out_column column[] = { { .name = "x", .json_raw = true } };
	const struct value rows[] = { VALUE_OF_TEXT("{\"a\":\n1}"), VALUE_OF_TEXT(""), VALUE_NONE };

	ASSERT_RENDERED("{\"x\":{\"a\": 1}}\n{\"x\":\"\"}\n{\"x\":null}\n", OUT_NDJSON, column, 1,
			rows, 3);
}

static void blobs_are_hexadecimal(void **state)
{
	static const struct out_column column[] = { { .name = "x" } };
	const struct value blob = { .type = VALUE_BLOB, .text = "\x00\xff" "34567890123456789",
				    .text_bytes = 19 };

	ASSERT_RENDERED("x\nx'00ff3334353637383930313233343536'... (19 bytes)\n", OUT_TABLE, column,
			1, &blob, 1);
	ASSERT_RENDERED("{\"x\":\"00ff3334353637383930313233343536373839\"}\n", OUT_NDJSON, column,
			1, &blob, 1);
}

static void a_failed_write_is_an_error(void **state)
{
	static const enum out_format formats[] = { OUT_TABLE, OUT_CSV, OUT_JSON, OUT_NDJSON };

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		FILE *full = fopen("/dev/full", "w");
		struct out *out = out_begin(full, formats[i], mixed, 4);

		out_row(out, mixed_rows);
		assert_int_equal(out_end(out), -ENOSPC);
		fclose(full);
	}
}

static void formats_have_names(void **state)
{
	enum out_format format = OUT_AUTO;
	struct err err = { "" };

	assert_int_equal(out_format_parse("ndjson", &format, NULL), 0);
	assert_int_equal(format, OUT_NDJSON);
	assert_int_equal(out_format_parse("xml", &format, &err), -EINVAL);
	assert_non_null(strstr(err.text, "table, csv, json or ndjson"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_aligns_numbers_right_and_says_na),
		cmocka_unit_test(csv_has_plain_numbers_and_empty_nulls),
		cmocka_unit_test(json_is_one_array_of_objects),
		cmocka_unit_test(numbers_that_json_lacks_are_null),
		cmocka_unit_test(reals_read_back_exactly),
		cmocka_unit_test(units_are_human),
		cmocka_unit_test(units_are_guessed_from_names),
		cmocka_unit_test(hostile_text_cannot_drive_the_terminal),
		cmocka_unit_test(width_counts_characters_not_bytes),
		cmocka_unit_test(long_tables_stream_with_all_rows),
		cmocka_unit_test(json_of_random_bytes_reads_back_through_sqlite),
		cmocka_unit_test(csv_of_random_bytes_reads_back),
		cmocka_unit_test(csv_tells_null_from_empty),
		cmocka_unit_test(json_columns_are_embedded_not_quoted),
		cmocka_unit_test(blobs_are_hexadecimal),
		cmocka_unit_test(a_failed_write_is_an_error),
		cmocka_unit_test(formats_have_names),
	};

	return cmocka_run_group_tests_name("out", tests, NULL, NULL);
}
