// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_demand.c - the rules by which demand is derived, one at a time, and the stream as it is
 * stored and read. test_demand_programs.c has all rules at work.
 */
#include "tests/unit/demand_fixture.h"

/* ---- one rule at a time ---------------------------------------------------------------------- */

static void one_large_read_is_counted_once(void **state)
{
	struct fixture *f = *state;
	struct seen_list list;

	begin(f, "live", true, 0);
	file(f, 1, 1 << 20);
	for (uint32_t i = 0; i < 128; i += 31)
		emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = i,
		     .pages = 128 - i);
	list = derive_and_read(f);
	assert_int_equal(list.nr, 1);
	assert_seen(&list, 0, DEMAND_READ, 5, 0, 128);
	free(list.item);
}

static void the_same_read_again_is_another_read(void **state)
{
	struct fixture *f = *state;
	struct seen_list list;

	begin(f, "live", true, 0);
	file(f, 1, 1 << 20);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 4, .pages = 8);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 4, .pages = 8);
	emit(f, .op = PAGE_OP_READ, .pid = 6, .file_id = 1, .page_index = 6, .pages = 6);
	list = derive_and_read(f);
	assert_int_equal(list.nr, 3);
	assert_seen(&list, 0, DEMAND_READ, 5, 4, 8);
	assert_seen(&list, 1, DEMAND_READ, 5, 4, 8);
	assert_seen(&list, 2, DEMAND_READ, 6, 6, 6);
	free(list.item);
}

static void a_small_file_read_with_a_large_buffer_ends_at_its_size(void **state)
{
	struct fixture *f = *state;
	struct seen_list list;

	begin(f, "live", true, 0);
	file(f, 1, 10240);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .pages = 256);
	emit(f, .op = PAGE_OP_ADD, .pid = 5, .file_id = 2, .pages = 4, .pfn = 9);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 2, .pages = 256);
	list = derive_and_read(f);
	assert_int_equal(list.nr, 2);
	assert_seen(&list, 0, DEMAND_READ, 5, 0, 3);
	assert_seen(&list, 1, DEMAND_READ, 5, 0, 4);
	free(list.item);
}

static void an_add_is_demanded_or_readahead(void **state)
{
	struct fixture *f = *state;
	struct seen_list list;

	begin(f, "live", true, 0);
	file(f, 1, 1 << 22);
	emit(f, .op = PAGE_OP_ADD, .pid = 5, .file_id = 1, .page_index = 8, .pages = 8);
	emit(f, .op = PAGE_OP_ADD, .pid = 5, .file_id = 1, .page_index = 16, .pages = 4);
	emit(f, .op = PAGE_OP_ADD, .pid = 9, .file_id = 1, .page_index = 100);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 10, .pages = 2);
	emit(f, .op = PAGE_OP_FAULT, .pid = 5, .file_id = 1, .page_index = 50);
	emit(f, .op = PAGE_OP_ADD, .pid = 5, .file_id = 1, .page_index = 48, .pages = 4);
	emit(f, .op = PAGE_OP_MAP, .pid = 5, .file_id = 1, .page_index = 48, .pages = 16);
	emit(f, .op = PAGE_OP_READ, .pid = 9, .file_id = 1, .page_index = 200);
	list = derive_and_read(f);
	assert_int_equal(list.nr, 10);
	assert_seen(&list, 0, DEMAND_READAHEAD, 5, 8, 2);
	assert_seen(&list, 1, DEMAND_READAHEAD, 5, 12, 4);
	assert_seen(&list, 2, DEMAND_READAHEAD, 5, 16, 4);
	assert_seen(&list, 3, DEMAND_READAHEAD, 9, 100, 1);
	assert_seen(&list, 4, DEMAND_READ, 5, 10, 2);
	assert_seen(&list, 5, DEMAND_FAULT, 5, 50, 1);
	assert_seen(&list, 6, DEMAND_READAHEAD, 5, 48, 2);
	assert_seen(&list, 7, DEMAND_READAHEAD, 5, 51, 1);
	assert_seen(&list, 8, DEMAND_MAP, 5, 48, 16);
	free(list.item);
}

static void tasks_that_were_not_followed_fill_nothing(void **state)
{
	struct fixture *f = *state;
	struct seen_list list;

	begin(f, "live", true, 0);
	emit(f, .op = PAGE_OP_ADD, .pid = 9, .file_id = 1, .page_index = 8, .pages = 8, .pfn = 1);
	emit(f, .op = PAGE_OP_DIRTY, .pid = 9, .file_id = 1, .page_index = 8);
	emit(f, .op = PAGE_OP_ADD, .pid = 5, .file_id = 1, .page_index = 30, .pfn = 1);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 10);
	emit(f, .op = PAGE_OP_DELETE, .pid = 9, .file_id = 1, .page_index = 10, .pfn = 1);
	list = derive_and_read(f);
	assert_int_equal(list.nr, 3);
	assert_seen(&list, 0, DEMAND_READAHEAD, 5, 30, 1);
	assert_seen(&list, 1, DEMAND_READ, 5, 10, 1);
	assert_seen(&list, 2, DEMAND_TRUNCATE, 9, 10, 1);
	free(list.item);
}

static void evictions_are_no_demand_and_truncations_are(void **state)
{
	struct fixture *f = *state;
	struct seen_list list;

	begin(f, "live", true, 0);
	file(f, 1, 1 << 22);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 0, .pages = 8);
	emit(f, .op = PAGE_OP_DELETE, .pid = 40, .file_id = 1, .page_index = 0,
	     .flags = PAGE_EV_IN_RECLAIM);
	emit(f, .op = PAGE_OP_DELETE, .pid = 5, .file_id = 1, .page_index = 1);
	emit(f, .op = PAGE_OP_EVICT, .pid = 5, .file_id = 1, .page_index = 2);
	emit(f, .op = PAGE_OP_TRUNCATE, .pid = 5, .file_id = 1, .page_index = 3, .pages = 4);
	/* pages that nobody touched have no id, and need none */
	emit(f, .op = PAGE_OP_TRUNCATE, .pid = 5, .file_id = 9, .page_index = 3, .pages = 4);
	list = derive_and_read(f);
	assert_int_equal(list.nr, 3);
	assert_seen(&list, 1, DEMAND_TRUNCATE, 5, 1, 1);
	assert_seen(&list, 2, DEMAND_TRUNCATE, 5, 3, 4);
	free(list.item);
}

static void writes_are_seen_once_by_the_file_system_or_else_by_dirtying(void **state)
{
	struct fixture *f = *state;
	struct seen_list list;

	begin(f, "live", true, 0);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1);
	emit(f, .op = PAGE_OP_WRITE, .pid = 5, .file_id = 1, .page_index = 2, .pages = 2,
	     .flags = PAGE_EV_WHOLE);
	emit(f, .op = PAGE_OP_ADD, .pid = 5, .file_id = 1, .page_index = 2, .pages = 2, .pfn = 3);
	emit(f, .op = PAGE_OP_DIRTY, .pid = 5, .file_id = 1, .page_index = 2);
	emit(f, .op = PAGE_OP_WRITE, .pid = 5, .file_id = 1, .page_index = 2);
	list = derive_and_read(f);
	assert_int_equal(list.nr, 3);
	assert_seen(&list, 1, DEMAND_WRITE_WHOLE, 5, 2, 2);
	assert_seen(&list, 2, DEMAND_WRITE, 5, 2, 1);
	free(list.item);
	for (int i = 0; i < NR_CPUS; i++)
		page_packer_free(f->packer[i]);
	begin(f, "live", true, 0);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 21);
	emit(f, .op = PAGE_OP_ADD, .pid = 5, .file_id = 21, .page_index = 7, .pfn = 3);
	emit(f, .op = PAGE_OP_DIRTY, .pid = 5, .file_id = 21, .page_index = 7);
	list = derive_and_read(f);
	assert_int_equal(list.nr, 2);
	assert_seen(&list, 1, DEMAND_WRITE, 5, 7, 1);
	free(list.item);
}

static void user_faults_are_anonymous_unless_a_file_fault_follows(void **state)
{
	struct fixture *f = *state;
	struct seen_list list;

	begin(f, "live", true, 0);
	emit(f, .op = PAGE_OP_USER_FAULT, .pid = 5, .page_index = 1000);
	emit(f, .op = PAGE_OP_USER_FAULT, .pid = 6, .page_index = 1000);
	emit(f, .op = PAGE_OP_FAULT, .pid = 5, .file_id = 1, .page_index = 3);
	emit(f, .op = PAGE_OP_USER_FAULT, .pid = 6, .page_index = 1001);
	list = derive_and_read(f);
	assert_int_equal(list.nr, 3);
	assert_seen(&list, 0, DEMAND_ANON, 6, 1000, 1);
	assert_int_equal(list.item[0].file_id, 0);
	assert_seen(&list, 1, DEMAND_FAULT, 5, 3, 1);
	assert_seen(&list, 2, DEMAND_ANON, 6, 1001, 1);
	free(list.item);
}

static void batches_that_no_event_shows_are_recovered(void **state)
{
	struct fixture *f = *state;
	struct seen_list list;

	begin(f, "live", true, 0);
	file(f, 1, 1 << 22);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 100, .pages = 16);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 116, .pages = 16);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 137, .pages = 11);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 40, .pages = 2);
	emit(f, .op = PAGE_OP_ADD, .pid = 5, .file_id = 1, .page_index = 42, .pfn = 1);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 43);
	list = derive_and_read(f);
	assert_int_equal(list.nr, 5);
	assert_seen(&list, 2, DEMAND_READ, 5, 132, 16);
	assert_seen(&list, 3, DEMAND_READ, 5, 40, 2);
	assert_seen(&list, 4, DEMAND_READ, 5, 42, 2);
	free(list.item);
}

/* What a read brings in comes after it; readahead of an earlier one is no miss of the next. */
static void a_read_noted_at_its_start_owns_the_fills_after_it(void **state)
{
	struct fixture *f = *state;
	struct demand_info info;
	struct seen_list list;

	begin(f, "live", true, 0);
	file(f, 1, 40 * 4096);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .pages = 2, .flags = PAGE_EV_BEGIN);
	for (uint64_t i = 0; i < 8; i++)
		emit(f, .op = PAGE_OP_ADD, .pid = 5, .file_id = 1, .page_index = i, .pfn = 1);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 2, .pages = 100,
	     .flags = PAGE_EV_BEGIN);
	info = derive(f);
	assert_string_equal(info.completeness, "complete");
	list = read_back(f, &info);
	assert_int_equal(list.nr, 8);
	assert_seen(&list, 0, DEMAND_READ, 5, 0, 2);
	for (size_t i = 1; i < 7; i++)
		assert_seen(&list, i, DEMAND_READAHEAD, 5, i + 1, 1);
	assert_seen(&list, 7, DEMAND_READ, 5, 2, 38);
	free(list.item);
}

static void a_capture_without_hits_is_fills_only(void **state)
{
	struct fixture *f = *state;
	struct demand_info info;
	struct seen_list list;

	begin(f, "trace.dat", false, 0);
	emit(f, .op = PAGE_OP_ADD, .pid = 5, .file_id = 1, .pages = 4, .pfn = 1);
	emit(f, .op = PAGE_OP_DELETE, .pid = 5, .file_id = 1, .flags = PAGE_EV_IN_RECLAIM);
	emit(f, .op = PAGE_OP_ADD, .pid = 5, .file_id = 1, .pfn = 1);
	info = derive(f);
	assert_string_equal(info.completeness, "fills-only");
	assert_false(info.has_hits);
	list = read_back(f, &info);
	assert_int_equal(list.nr, 2);
	assert_seen(&list, 0, DEMAND_READ, 5, 0, 4);
	assert_seen(&list, 1, DEMAND_READ, 5, 0, 1);
	free(list.item);
}

static void losses_and_thinning_are_said(void **state)
{
	struct fixture *f = *state;
	struct demand_info info;
	struct seen_list list;

	begin(f, "live", true, 3);
	file(f, 1, 1 << 22);
	assert_int_equal(store_gap(f->store, f->capture_id, "page", 0, 1, 2, VALUE_OF_INT(1), NULL),
			 0);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 4, .pages = 9);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 8);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 16);
	info = derive(f);
	assert_string_equal(info.completeness, "lossy+thinned");
	assert_true(info.coverage_pct == 75);
	assert_int_equal(info.sample_mask, 3);
	list = read_back(f, &info);
	assert_int_equal(list.nr, 5);
	assert_seen(&list, 0, DEMAND_READ, 5, 4, 1);
	assert_seen(&list, 1, DEMAND_READ, 5, 8, 1);
	assert_seen(&list, 2, DEMAND_READ, 5, 12, 1);
	assert_seen(&list, 3, DEMAND_READ, 5, 8, 1);
	free(list.item);
}

static void demand_through_mappings_is_said_to_be_incomplete(void **state)
{
	struct fixture *f = *state;
	struct demand_info info;

	begin(f, "live", true, 0);
	for (uint32_t i = 0; i < 10; i++) {
		emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = i);
		emit(f, .op = PAGE_OP_MAP, .pid = 5, .file_id = 1, .page_index = 16, .pages = 16);
	}
	info = derive(f);
	assert_string_equal(info.completeness, "mapped");
}

static void requests_of_synthetic_streams_are_taken_as_they_are(void **state)
{
	struct fixture *f = *state;
	struct seen_list list;
	uint64_t seed = 3;

	begin(f, "synth", true, 0);
	for (int i = 0; i < 150000; i++) {
		uint64_t index = rand_next(&seed) % 8 ? rand_next(&seed) % 5000 :
				 rand_next(&seed) >> 12 << 10;

		emit_on(f, i % NR_CPUS, (struct page_event){
			.op = i % 7 ? PAGE_OP_READ : PAGE_OP_WRITE, .pid = 1 + i % 3,
			.file_id = 1 + i % 2, .page_index = index, .pages = 1 + i % 3 });
	}
	list = derive_and_read(f);
	assert_int_equal(list.nr, 150000);
	seed = 3;
	for (int i = 0; i < 150000; i++) {
		uint64_t index = rand_next(&seed) % 8 ? rand_next(&seed) % 5000 :
				 rand_next(&seed) >> 12 << 10;

		assert_seen(&list, i, i % 7 ? DEMAND_READ : DEMAND_WRITE, 1 + i % 3, index,
			    1 + i % 3);
		assert_int_equal(list.item[i].file_id, 1 + i % 2);
	}
	free(list.item);
}

/* A task that vanishes in the middle of a read must not hold back the others for ever. */
static void a_read_that_nothing_settles_does_not_hold_the_queue(void **state)
{
	struct fixture *f = *state;
	struct seen_list list;

	begin(f, "live", true, 0);
	file(f, 1, 1 << 22);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 0, .pages = 64);
	for (int i = 0; i < 300000; i++)
		emit(f, .op = PAGE_OP_READ, .pid = 6, .file_id = 1, .page_index = i % 1000);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 31, .pages = 33);
	list = derive_and_read(f);
	assert_int_equal(list.nr, 300002);
	assert_seen(&list, 0, DEMAND_READ, 5, 0, 64);
	assert_seen(&list, 300001, DEMAND_READ, 5, 31, 33);
	free(list.item);
}

static void pages_are_placed_and_neighbours_are_neighbours(void **state)
{
	struct fixture *f = *state;
	struct demand_extent *extents;
	struct demand_info info;
	uint64_t index;
	uint32_t file_id;
	size_t nr;

	begin(f, "live", true, 0);
	file(f, 1, 100 * PAGE_BYTES);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 50);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 98);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 2, .page_index = 7);
	info = derive(f);
	assert_int_equal(demand_extents(f->store, info.stream_id, &extents, &nr, NULL), 0);
	assert_int_equal(nr, 2);	/* 32 pages of readahead make one of the first file's two */
	assert_int_equal(extents[0].file_id, 1);
	assert_int_equal(extents[0].first_index, 18);
	assert_int_equal(extents[0].pages, 82);
	assert_int_equal(extents[0].file_pages, 100);
	assert_int_equal(extents[1].pages, 1);
	assert_true(extents[1].file_pages == UINT64_MAX);
	free(extents);
	assert_int_equal(demand_page_place(f->store, info.stream_id, 80, &file_id, &index, NULL),
			 0);
	assert_int_equal(file_id, 1);
	assert_int_equal(index, 98);
	assert_int_equal(demand_page_place(f->store, info.stream_id, 82, &file_id, &index, NULL),
			 0);
	assert_int_equal(file_id, 2);
	assert_int_equal(index, 7);
	assert_int_equal(demand_page_place(f->store, info.stream_id, 83, &file_id, &index, NULL),
			 -ENOENT);
}

static void it_is_derived_once_and_then_read_by_anyone(void **state)
{
	struct fixture *f = *state;
	struct demand_info first, again;
	struct store *reader;

	begin(f, "live", true, 0);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 50);
	for (int i = 0; i < NR_CPUS; i++)
		flush_cpu(f, i);
	assert_int_equal(store_open(&reader, f->path, STORE_READONLY, &f->err), 0);
	assert_int_equal(demand_stream_get(reader, 0, &again, &f->err), -EROFS);
	store_close(reader, NULL);
	first = derive(f);
	assert_int_equal(store_open(&reader, f->path, STORE_READONLY, NULL), 0);
	assert_int_equal(demand_stream_get(reader, 0, &again, NULL), 0);
	assert_int_equal(again.stream_id, first.stream_id);
	assert_int_equal(again.nr_records, 1);
	assert_int_equal(again.nr_ids, first.nr_ids);
	assert_string_equal(again.completeness, first.completeness);
	store_close(reader, NULL);
}

static void captures_without_page_events_and_missing_ones_are_refused(void **state)
{
	struct fixture *f = *state;
	struct demand_info info;
	struct err err = { "" };

	assert_int_equal(demand_stream_get(f->store, 0, &info, NULL), -ENODATA);
	begin(f, "live", true, 0);
	assert_int_equal(demand_stream_get(f->store, f->capture_id, &info, &err), -ENODATA);
	assert_non_null(strstr(err.text, "no page events"));
	assert_int_equal(demand_stream_get(f->store, 99, &info, NULL), -ENODATA);
}

static void a_damaged_chunk_is_an_error_with_its_number(void **state)
{
	struct fixture *f = *state;
	struct demand_reader *reader;
	struct demand_info info;
	struct demand_block b;
	struct err err = { "" };

	begin(f, "live", true, 0);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 50);
	info = derive(f);
	assert_int_equal(store_exec(f->store, "UPDATE demand_chunk SET pages = zeroblob(40)", NULL),
			 0);
	assert_int_equal(demand_reader_open(f->store, info.stream_id, 0, &reader, NULL), 0);
	assert_int_equal(demand_reader_next(reader, &b, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "demand_chunk 0"));
	demand_reader_close(reader);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(one_large_read_is_counted_once),
		test(the_same_read_again_is_another_read),
		test(a_small_file_read_with_a_large_buffer_ends_at_its_size),
		test(an_add_is_demanded_or_readahead),
		test(tasks_that_were_not_followed_fill_nothing),
		test(evictions_are_no_demand_and_truncations_are),
		test(writes_are_seen_once_by_the_file_system_or_else_by_dirtying),
		test(user_faults_are_anonymous_unless_a_file_fault_follows),
		test(batches_that_no_event_shows_are_recovered),
		test(a_read_noted_at_its_start_owns_the_fills_after_it),
		test(a_capture_without_hits_is_fills_only),
		test(losses_and_thinning_are_said),
		test(demand_through_mappings_is_said_to_be_incomplete),
		test(requests_of_synthetic_streams_are_taken_as_they_are),
		test(a_read_that_nothing_settles_does_not_hold_the_queue),
		test(pages_are_placed_and_neighbours_are_neighbours),
		test(it_is_derived_once_and_then_read_by_anyone),
		test(captures_without_page_events_and_missing_ones_are_refused),
		test(a_damaged_chunk_is_an_error_with_its_number),
	};

	return cmocka_run_group_tests_name("demand", tests, NULL, NULL);
}
