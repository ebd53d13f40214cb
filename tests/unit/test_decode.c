// SPDX-License-Identifier: GPL-2.0-or-later
/* test_decode.c - catalogue, decoders against libtraceevent's own lookup, reclaim brackets. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <traceevent/event-parse.h>

#include "capture/capture.h"

#define COMMON \
	"format:\n" \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n" \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char get_pages[] = "name: mm_filemap_get_pages\nID: 599\n" COMMON
	"\tfield:unsigned long i_ino;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:dev_t s_dev;\toffset:16;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned long index;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long last_index;\toffset:32;\tsize:8;\tsigned:0;\n\n"
	"print fmt: \"ino=%lx\", REC->i_ino\n";

static const char add_order[] = "name: mm_filemap_add_to_page_cache\nID: 600\n" COMMON
	"\tfield:unsigned long pfn;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long i_ino;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long index;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:dev_t s_dev;\toffset:32;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned char order;\toffset:36;\tsize:1;\tsigned:0;\n\n"
	"print fmt: \"ino=%lx\", REC->i_ino\n";

static const char add_old[] = "name: mm_filemap_add_to_page_cache\nID: 600\n" COMMON
	"\tfield:struct page * page;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long i_ino;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long index;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:dev_t s_dev;\toffset:32;\tsize:4;\tsigned:0;\n\n"
	"print fmt: \"ino=%lx\", REC->i_ino\n";

static const char dirty[] = "name: writeback_dirty_folio\nID: 1009\n" COMMON
	"\tfield:char name[32];\toffset:8;\tsize:32;\tsigned:0;\n"
	"\tfield:ino_t ino;\toffset:40;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long index;\toffset:48;\tsize:8;\tsigned:0;\n\n"
	"print fmt: \"bdi %s\", REC->name\n";

static const char write_end[] = "name: ext4_da_write_end\nID: 1256\n" COMMON
	"\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:ino_t ino;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:loff_t pos;\toffset:24;\tsize:8;\tsigned:1;\n"
	"\tfield:unsigned int len;\toffset:32;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned int copied;\toffset:36;\tsize:4;\tsigned:0;\n\n"
	"print fmt: \"ino=%lu\", REC->ino\n";

static const char odd[] = "name: odd_event\nID: 77\n" COMMON
	"\tfield:short small;\toffset:8;\tsize:2;\tsigned:1;\n"
	"\tfield:char comm[4];\toffset:10;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc char[] path;\toffset:16;\tsize:4;\tsigned:0;\n"
	"\tfield:u32 counts[3];\toffset:20;\tsize:12;\tsigned:0;\n"
	"\tfield:u8 raw[4];\toffset:32;\tsize:4;\tsigned:0;\n\n"
	"print fmt: \"%d\", REC->small\n";

struct fixture {
	struct tep_handle *tep;
	struct tep_event *event;
	struct event_decoder *decoder;
};

static struct fixture fixture_open(const char *system, const char *format, bool big_endian)
{
	struct fixture f = { .tep = tep_alloc() };

	tep_set_long_size(f.tep, 8);
	tep_set_file_bigendian(f.tep, big_endian ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
	tep_set_local_bigendian(f.tep, tep_is_bigendian() ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
	assert_int_equal(tep_parse_event(f.tep, format, strlen(format), system), 0);
	f.event = tep_get_first_event(f.tep);
	f.decoder = event_decoder_new(f.event);
	assert_non_null(f.decoder);
	return f;
}

static void fixture_close(struct fixture *f)
{
	event_decoder_free(f->decoder);
	tep_free(f->tep);
}

struct oracle {
	struct fixture *f;
	struct tep_record record;
	char text[64];
};

/* libtraceevent's lookup by name, one field at a time. */
static bool oracle_get(void *ctx, const char *field, uint64_t *value, const char **text)
{
	struct oracle *o = ctx;
	struct tep_format_field *f = tep_find_any_field(o->f->event, field);
	unsigned long long v;

	if (!f)
		return false;
	if (f->flags & TEP_FIELD_IS_STRING) {
		snprintf(o->text, sizeof(o->text), "%.*s", f->size,
			 (const char *)o->record.data + f->offset);
		*text = o->text;
		return true;
	}
	if (tep_read_number_field(f, o->record.data, &v))
		return false;
	*value = v;
	return true;
}

static void decodes_like_the_oracle(const char *system, const char *format, bool big_endian)
{
	struct fixture f = fixture_open(system, format, big_endian);
	uint64_t seed = 7;

	assert_non_null(event_decoder_page_source(f.decoder));
	for (int round = 0; round < 500; round++) {
		uint64_t words[8];
		uint8_t *data = (uint8_t *)words;
		struct oracle o = { .f = &f, .record = { .data = words, .size = sizeof(words) } };
		struct page_raw fast = { .dev = 0 }, slow = { .dev = 0 };
		int code;

		for (size_t i = 0; i < ARRAY_SIZE(words); i++)
			words[i] = rand_next(&seed) >> (rand_next(&seed) % 64);
		if (!strcmp(system, "writeback"))
			snprintf((char *)data + 8, 32, round % 2 ? "%u:%u" : "btrfs-%u%u",
				 round % 300, round % 7);
		code = event_decoder_page(f.decoder, data, sizeof(words), &fast);
		assert_int_equal(code, page_source_fill(event_decoder_page_source(f.decoder),
							oracle_get, &o, &slow));
		assert_int_equal(fast.event.op, slow.event.op);
		assert_true(fast.event.page_index == slow.event.page_index);
		assert_true(fast.event.pfn == slow.event.pfn);
		assert_true(fast.ino == slow.ino);
		assert_int_equal(fast.dev, slow.dev);
		assert_string_equal(fast.bdi, slow.bdi);
		if (code == 1) {
			assert_int_equal(fast.event.pages, slow.event.pages);
			assert_int_equal(fast.event.flags, slow.event.flags);
		}
		for (size_t cut = 0; cut < 36; cut++)
			assert_int_equal(event_decoder_page(f.decoder, data, cut, &fast), -EBADMSG);
	}
	fixture_close(&f);
}

static void page_events_decode_as_libtraceevent_finds_the_fields(void **state)
{
	decodes_like_the_oracle("filemap", get_pages, false);
	decodes_like_the_oracle("filemap", add_order, false);
	decodes_like_the_oracle("filemap", add_old, false);
	decodes_like_the_oracle("writeback", dirty, false);
	decodes_like_the_oracle("ext4", write_end, false);
}

static void page_events_of_the_other_byte_order_decode_too(void **state)
{
	decodes_like_the_oracle("filemap", get_pages, true);
	decodes_like_the_oracle("ext4", write_end, true);
}

static void write_covers_whole_pages_only_if_aligned(void **state)
{
	static const struct { uint64_t pos; uint32_t copied, pages; bool whole; } cases[] = {
		{ 0, 4096, 1, true }, { 4096, 8192, 2, true }, { 1, 4096, 2, false },
		{ 4095, 1, 1, false }, { 0, 4097, 2, false }, { 8192, 100, 1, false },
	};
	struct fixture f = fixture_open("ext4", write_end, false);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t words[5] = { 0, 8 << 20, 12, cases[i].pos };
		struct page_raw raw;

		words[4] = (uint64_t)cases[i].copied << 32;
		assert_int_equal(event_decoder_page(f.decoder, words, sizeof(words), &raw), 1);
		assert_int_equal(raw.event.pages, cases[i].pages);
		assert_int_equal(raw.event.page_index, cases[i].pos / 4096);
		assert_int_equal(!!(raw.event.flags & PAGE_EV_WHOLE), cases[i].whole);
	}
	fixture_close(&f);
}

static void values_carry_text_arrays_and_blobs(void **state)
{
	struct fixture f = fixture_open("odd", odd, false);
	const struct event_field *fields;
	struct value v[8];
	uint8_t data[48] = { 0 };
	int nr = event_decoder_fields(f.decoder, &fields);

	assert_int_equal(nr, 5);
	assert_null(event_decoder_page_source(f.decoder));
	memcpy(data + 8, &(int16_t){ -5 }, 2);
	memcpy(data + 10, "abcd", 4);	/* no NUL */
	memcpy(data + 16, &(uint32_t){ 5u << 16 | 36 }, 4);
	memcpy(data + 20, &(uint32_t[3]){ 1, 4000000000u, 3 }, 12);
	memcpy(data + 32, "\1\2\3\4", 4);
	memcpy(data + 36, "/dir", 5);
	assert_int_equal(event_decoder_values(f.decoder, data, sizeof(data), v), 0);
	assert_int_equal(v[0].i, -5);
	assert_string_equal(v[1].text, "abcd");
	assert_string_equal(v[2].text, "/dir");
	assert_string_equal(v[3].text, "[1,4000000000,3]");
	assert_int_equal(v[4].type, VALUE_BLOB);
	assert_int_equal(v[4].text_bytes, 4);
	/* a dynamic field that points behind the record */
	memcpy(data + 16, &(uint32_t){ 5u << 16 | 44 }, 4);
	assert_int_equal(event_decoder_values(f.decoder, data, sizeof(data), v), -EBADMSG);
	assert_int_equal(event_decoder_values(f.decoder, data, 20, v), -EBADMSG);
	fixture_close(&f);
}

static void bdi_names_parse_or_stay(void **state)
{
	uint32_t dev;

	assert_true(bdi_parse_dev("7:0", 4, &dev));
	assert_int_equal(dev, 7 << 20);
	assert_true(bdi_parse_dev("253:17xx", 6, &dev));
	assert_int_equal(dev, 253 << 20 | 17);
	assert_false(bdi_parse_dev("btrfs-1", 8, &dev));
	assert_false(bdi_parse_dev("7:", 3, &dev));
	assert_false(bdi_parse_dev("", 1, &dev));
	assert_false(bdi_parse_dev("7:0-x", 6, &dev));
}

/* Replays random brackets in time order and asks in any order. */
static void reclaim_marks_agree_with_a_replay_in_time_order(void **state)
{
	enum { NR = 2000, TASKS = 5 };
	static struct { uint64_t ts; uint32_t pid; int mark; bool inside[TASKS]; } step[NR];
	struct reclaim_marks *marks = reclaim_marks_new();
	bool inside[TASKS] = { false };
	uint64_t seed = 3, ts = 10;

	for (int i = 0; i < NR; i++) {
		uint32_t task = (uint32_t)(rand_next(&seed) % TASKS);

		ts += 2 + rand_next(&seed) % 5;
		inside[task] = !inside[task];
		step[i].ts = ts;
		step[i].pid = 100 + task;
		step[i].mark = inside[task] ? 1 : -1;
		memcpy(step[i].inside, inside, sizeof(inside));
	}
	for (int i = 0; i < NR; i++) {	/* added out of order */
		int at = i % 2 ? i / 2 : NR - 1 - i / 2;

		assert_int_equal(reclaim_marks_add(marks, step[at].pid, step[at].ts,
						   step[at].mark), 0);
	}
	assert_int_equal(reclaim_marks_add_kswapd(marks, 50), 0);
	for (int round = 0; round < 20000; round++) {
		int at = (int)(rand_next(&seed) % NR);
		uint32_t task = (uint32_t)(rand_next(&seed) % TASKS);

		assert_int_equal(reclaim_marks_inside(marks, 100 + task, step[at].ts + 1),
				 step[at].inside[task]);
	}
	reclaim_marks_retire(marks, step[NR / 2].ts);
	for (int at = NR / 2; at < NR; at++)
		for (uint32_t task = 0; task < TASKS; task++)
			assert_int_equal(reclaim_marks_inside(marks, 100 + task, step[at].ts),
					 step[at].inside[task]);
	assert_true(reclaim_marks_inside(marks, 50, 1));
	reclaim_marks_reset(marks);
	assert_false(reclaim_marks_inside(marks, 100, step[NR - 1].ts));
	reclaim_marks_free(marks);
}

static void catalogue_knows_old_names(void **state)
{
	const struct catalogue_event *e = catalogue_find("writeback", "writeback_dirty_page");

	assert_non_null(e);
	assert_string_equal(e->names[0], "writeback_dirty_folio");
	assert_null(catalogue_find("vmscan", "mm_vmscan_future"));
	assert_int_equal(event_reclaim_mark("vmscan", "mm_vmscan_memcg_reclaim_begin"), 1);
	assert_int_equal(event_reclaim_mark("vmscan", "mm_vmscan_node_reclaim_end"), -1);
	assert_int_equal(event_reclaim_mark("vmscan", "mm_vmscan_lru_isolate"), 0);
	for (int g = 0; g < nr_event_groups; g++)
		assert_ptr_equal(event_group_find(event_groups[g].name), &event_groups[g]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(page_events_decode_as_libtraceevent_finds_the_fields),
		cmocka_unit_test(page_events_of_the_other_byte_order_decode_too),
		cmocka_unit_test(write_covers_whole_pages_only_if_aligned),
		cmocka_unit_test(values_carry_text_arrays_and_blobs),
		cmocka_unit_test(bdi_names_parse_or_stay),
		cmocka_unit_test(reclaim_marks_agree_with_a_replay_in_time_order),
		cmocka_unit_test(catalogue_knows_old_names),
	};

	return cmocka_run_group_tests_name("decode", tests, NULL, NULL);
}
