// SPDX-License-Identifier: GPL-2.0-or-later
/* test_base.c - units, parameter tables, names. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "base/base.h"

static void sizes_parse_and_refuse(void **state)
{
	static const struct { const char *text; uint64_t bytes; } good[] = {
		{ "0", 0 }, { "4096", 4096 }, { "512K", 524288 }, { "1.5G", 1610612736 },
		{ "64MiB", 67108864 }, { "1tb", 1099511627776 },
	};
	static const char *const bad[] = { "",	  "M",	 "-1",	 "1Q",	 "nan",
					   "inf", "1 M", "0x10", "1e30", "99999999T" };
	uint64_t bytes;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(parse_size_bytes(good[i].text, &bytes, NULL), 0);
		assert_int_equal(bytes, good[i].bytes);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(parse_size_bytes(bad[i], &bytes, NULL), -EINVAL);
}

static void counts_are_decimal_where_sizes_are_iec(void **state)
{
	uint64_t count;

	assert_int_equal(parse_count("20M", &count, NULL), 0);
	assert_int_equal(count, 20000000);
	assert_int_equal(parse_count("1.5k", &count, NULL), 0);
	assert_int_equal(count, 1500);
	assert_int_equal(parse_count("1MiB", &count, NULL), -EINVAL);
}

static void durations_parse(void **state)
{
	uint64_t ns;

	assert_int_equal(parse_duration_ns("250us", &ns, NULL), 0);
	assert_int_equal(ns, 250000);
	assert_int_equal(parse_duration_ns("2m", &ns, NULL), 0);
	assert_true(ns == 120000000000ULL);
	assert_int_equal(parse_duration_ns("1 parsec", &ns, NULL), -EINVAL);
}

static void bytes_format_back(void **state)
{
	char buf[32];

	assert_string_equal(format_bytes(buf, sizeof(buf), 67108864), "64M");
	assert_string_equal(format_bytes(buf, sizeof(buf), 1610612736), "1.5G");
	assert_string_equal(format_bytes(buf, sizeof(buf), 100), "100");
}

struct sample {
	uint64_t pages;
	double share_pct;
	bool on;
	int mode;
};

static const char *const modes[] = { "slow", "fast", NULL };

static const struct param table[] = {
	{ "pages", PARAM_U64, offsetof(struct sample, pages), "16", 1, 100, "pages", "", NULL },
	{ "share", PARAM_PCT, offsetof(struct sample, share_pct), "25", 0, 0, "%", "", NULL },
	{ "on", PARAM_BOOL, offsetof(struct sample, on), "0", 0, 0, NULL, "", NULL },
	{ "mode", PARAM_ENUM, offsetof(struct sample, mode), "slow", 0, 0, NULL, "", modes },
	{ 0 },
};

static void params_round_trip(void **state)
{
	struct sample s;
	char buf[128];

	assert_int_equal(params_defaults(table, &s, NULL), 0);
	params_format(table, &s, false, buf, sizeof(buf));
	assert_string_equal(buf, "");
	assert_int_equal(params_set(table, &s, "x", "share", "12.5", NULL), 0);
	assert_int_equal(params_set(table, &s, "x", "mode", "fast", NULL), 0);
	params_format(table, &s, false, buf, sizeof(buf));
	assert_string_equal(buf, "share=12.5,mode=fast");
}

static void params_complain_with_range_and_nearest(void **state)
{
	struct err err = { "" };
	struct sample s;

	params_defaults(table, &s, NULL);
	assert_int_equal(params_set(table, &s, "model 'x'", "pages", "101", &err), -EINVAL);
	assert_non_null(strstr(err.text, "1 to 100 pages"));
	assert_int_equal(s.pages, 16);
	err.text[0] = '\0';
	assert_int_equal(params_set(table, &s, "model 'x'", "pagse", "3", &err), -EINVAL);
	assert_non_null(strstr(err.text, "did you mean 'pages'?"));
}

static void page_op_names_are_invertible(void **state)
{
	for (int op = 0; op < NR_PAGE_OPS; op++)
		assert_int_equal(page_op_from_name(page_op_name(op)), op);
	assert_int_equal(page_op_from_name("raed"), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_parse_and_refuse),
		cmocka_unit_test(counts_are_decimal_where_sizes_are_iec),
		cmocka_unit_test(durations_parse),
		cmocka_unit_test(bytes_format_back),
		cmocka_unit_test(params_round_trip),
		cmocka_unit_test(params_complain_with_range_and_nearest),
		cmocka_unit_test(page_op_names_are_invertible),
	};

	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
