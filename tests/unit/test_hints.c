// SPDX-License-Identifier: GPL-2.0-or-later
/* test_hints.c - how files were read, from the record. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "replay/replay.h"

static void files_are_told_apart_by_how_they_were_read(void **state)
{
	/* 0: random, 1000: with readahead, in two extents, 3000: metadata, 3100: a small file */
	struct replay_extent extents[] = {
		{ .first_id = 0, .pages = 1000, .file_id = 9 },
		{ .first_id = 1000, .pages = 1000, .file_id = 4 },
		{ .first_id = 2000, .pages = 1000, .file_id = 4, .first_index = 5000 },
		{ .first_id = 3000, .pages = 100, .file_id = 12 },
		{ .first_id = 3100, .pages = 3, .file_id = 11 },
	};
	static uint32_t page[4000], run[4000];
	static uint8_t op[4000];
	size_t nr = 0;
	struct array_source array;
	struct demand_source source;

	for (uint32_t i = 0; i < 1000; i++, nr++)
		page[nr] = i * 7 % 1000, run[nr] = 1, op[nr] = DEMAND_READ;
	page[nr] = 1000, run[nr] = 64, op[nr++] = DEMAND_READAHEAD;
	for (uint32_t i = 0; i < 100; i++, nr++)
		page[nr] = 2000 + i, run[nr] = 1, op[nr] = DEMAND_READ;
	page[nr] = 3005, run[nr] = 1, op[nr++] = DEMAND_READAHEAD;
	page[nr] = 3100, run[nr] = 3, op[nr++] = DEMAND_READ;
	array = (struct array_source){
		.block = { .nr = nr, .page = page, .run = run, .op = op }, .nr_ids = 3103,
	};
	assert_int_equal(array_source_init(&array, &source), 0);
	assert_int_equal(replay_hints(&source, extents, ARRAY_SIZE(extents), NULL), 0);
	assert_int_equal(extents[0].reading, READING_EXACT);
	assert_int_equal(extents[1].reading, READING_AHEAD);
	assert_int_equal(extents[2].reading, READING_AHEAD);
	assert_int_equal(extents[3].reading, READING_NEVER);
	assert_int_equal(extents[4].reading, READING_AHEAD);
}

static void one_stray_page_is_no_readahead(void **state)
{
	struct replay_extent extents[] = { { .pages = 3000, .file_id = 9 } };
	static const uint32_t page[] = { 0, 2990 }, run[] = { 2990, 1 };
	static const uint8_t op[] = { DEMAND_READ, DEMAND_READAHEAD };
	struct array_source array = {
		.block = { .nr = 2, .page = page, .run = run, .op = op }, .nr_ids = 3000,
	};
	struct demand_source source;

	assert_int_equal(array_source_init(&array, &source), 0);
	assert_int_equal(replay_hints(&source, extents, 1, NULL), 0);
	assert_int_equal(extents[0].reading, READING_EXACT);
}

static void a_mapping_without_readahead_has_no_recency(void **state)
{
	struct replay_extent extents[] = {
		{ .pages = 500, .file_id = 9 }, { .first_id = 500, .pages = 500, .file_id = 10 },
	};
	static uint32_t page[1001], run[1001];
	static uint8_t op[1001];
	struct array_source array = {
		.block = { .nr = 1001, .page = page, .run = run, .op = op }, .nr_ids = 1000,
	};
	struct demand_source source;

	for (uint32_t i = 0; i < 1000; i++)
		page[i] = i, run[i] = 1, op[i] = DEMAND_FAULT;
	page[1000] = 600, run[1000] = 16, op[1000] = DEMAND_READAHEAD;
	assert_int_equal(array_source_init(&array, &source), 0);
	assert_int_equal(replay_hints(&source, extents, 2, NULL), 0);
	assert_int_equal(extents[0].reading, READING_MAPPED_RANDOM);
	assert_int_equal(extents[1].reading, READING_NEVER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_told_apart_by_how_they_were_read),
		cmocka_unit_test(one_stray_page_is_no_readahead),
		cmocka_unit_test(a_mapping_without_readahead_has_no_recency),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
