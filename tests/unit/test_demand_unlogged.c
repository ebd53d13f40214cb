// SPDX-License-Identifier: GPL-2.0-or-later
/* test_demand_unlogged.c - a sequential reader's request whose first batch logged nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "schema/schema.h"

struct read_event {
	uint64_t index, last;
	uint8_t op;	/* PAGE_OP_READ is 0 */
};

/* The pages that the demand stream has for @events of one task and a file of 4096 pages. */
static uint64_t accesses_of(const struct read_event *events, int nr)
{
	char dir[] = "/tmp/pagereel-unlogged-XXXXXX", path[64];
	struct page_chunk chunk = { .nr_events = 0 };
	struct page_packer *packer;
	struct demand_info info;
	struct store *store;
	int64_t capture;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/x.db", dir);
	assert_int_equal(store_create(&store, path, 0, NULL), 0);
	assert_int_equal(store_capture_begin(store, &(struct capture_info){
		.source = "live", .has_hits = true }, &capture, NULL), 0);
	store_file(store, capture, 1, 8, 0, 12, 4096 * 4096, "/f", NULL);
	packer = page_packer_new(capture, 0, 0);
	for (int i = 0; i < nr; i++)
		page_packer_add(packer, &(struct page_event){
			.ts_ns = 1000 + (uint64_t)i * 10, .op = events[i].op, .pid = 7,
			.file_id = 1, .page_index = events[i].index,
			.pages = (uint32_t)(events[i].last - events[i].index + 1) });
	assert_int_equal(page_packer_take(packer, &chunk), 0);
	assert_int_equal(store_page_chunk(store, &chunk, NULL), 0);
	page_chunk_release(&chunk);
	page_packer_free(packer);
	assert_int_equal(demand_stream_get(store, capture, &info, NULL), 0);
	store_close(store, NULL);
	unlink(path);
	rmdir(dir);
	return info.nr_accesses;
}

static void a_request_that_begins_late_is_completed(void **state)
{
	/* as logged by 32 reads of 1 MiB while readahead was running */
	static const struct read_event events[] = {
		{ 0, 255 }, { 31, 255 }, { 62, 255 }, { 256, 511 }, { 640, 767 }, { 768, 1023 },
		{ 1152, 1279 }, { 1200, 1279 }, { 1280, 1535 },
	};

	assert_int_equal(accesses_of(events, ARRAY_SIZE(events)), 1536);
}

static void pages_added_before_the_first_event_were_asked_for(void **state)
{
	/* a cold random read of 16 pages at 64, of which two came in first; then one at 640,
	 * whole, with readahead behind it; then one that finds its pages */
	static const struct read_event events[] = {
		{ 64, 64, PAGE_OP_ADD }, { 65, 65, PAGE_OP_ADD }, { 66, 79, PAGE_OP_ADD },
		{ 66, 79 },
		{ 640, 671, PAGE_OP_ADD }, { 640, 655 }, { 656, 671 },
		/* not contiguous; a folio that begins before the request */
		{ 100, 103, PAGE_OP_ADD }, { 110, 125, PAGE_OP_ADD }, { 112, 127 },
	};

	assert_int_equal(accesses_of(events, ARRAY_SIZE(events)), 4 * 16);
}

static void random_and_growing_requests_are_left_alone(void **state)
{
	static const struct read_event random_reads[] = {
		{ 512, 515 }, { 100, 103 }, { 104, 107 }, { 900, 903 }, { 2, 5 },
	};
	static const struct read_event growing[] = {
		{ 0, 3 }, { 4, 11 }, { 16, 31 }, { 40, 41 },
	};

	assert_int_equal(accesses_of(random_reads, ARRAY_SIZE(random_reads)), 20);
	assert_int_equal(accesses_of(growing, ARRAY_SIZE(growing)), 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_that_begins_late_is_completed),
		cmocka_unit_test(pages_added_before_the_first_event_were_asked_for),
		cmocka_unit_test(random_and_growing_requests_are_left_alone),
	};

	return cmocka_run_group_tests_name("demand_unlogged", tests, NULL, NULL);
}
