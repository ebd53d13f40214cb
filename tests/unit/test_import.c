// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_import.c - lines of ftrace text, numbering of ids, reading of lines, sniffing, whole
 * imports.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture/import.h"
#include "capture/import_read.h"
#include "capture/import_text.h"

static void lines_of_every_variant_parse(void **state)
{
	static const struct {
		const char *line, *comm, *name, *payload;
		uint32_t pid, tgid;
		int cpu;
		uint64_t ts_ns;
	} good[] = {
		{ "  sh-182   [000]     9.812941: mm_lru_activate: folio=0x1 pfn=2", "sh",
		  "mm_lru_activate", "folio=0x1 pfn=2", 182, 0, 0, 9812941000 },
		{ "  sh-182   [003] d..1.  9.812941124: filemap:mm_filemap_fault: x", "sh",
		  "mm_filemap_fault", "x", 182, 0, 3, 9812941124 },
		{ "a b-c-7 (   5) [1023] .... 1.000001: e:", "a b-c", "e", "", 7, 5, 1023,
		  1000001000 },
		{ "x-7 (-----) [001] 12: e: p", "x", "e", "p", 7, 0, 1, 12 },
		{ "k[0]-9 [002] 0.000000: e: [001] 5.0: f: y", "k[0]", "e", "[001] 5.0: f: y", 9, 0,
		  2, 0 },
	};
	static const char *const bad[] = {
		"sh-182 [000] 9.812941 mm_lru: x",
		"sh [000] 9.8: e: x",
		"-182 [000] 9.8: e: x",
		"sh-182 [] 9.8: e: x",
		"sh-182 [000] 9.: e: x",
		"sh-182 [000] 9.0000000001: e: x",
		"sh-182 [000] 9.8: 1e: x",
		"sh-182 [000] 99999999999999999999.1: e: x",
		"CPU:1 [LOST",
		"CPU:x [LOST 3 EVENTS]",
	};
	struct text_line l;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		text_line_parse(good[i].line, &l);
		assert_int_equal(l.kind, TEXT_EVENT);
		assert_string_equal(l.comm, good[i].comm);
		assert_string_equal(l.name, good[i].name);
		assert_string_equal(l.payload, good[i].payload);
		assert_int_equal(l.pid, good[i].pid);
		assert_int_equal(l.tgid, good[i].tgid);
		assert_int_equal(l.cpu, good[i].cpu);
		assert_true(l.ts_ns == good[i].ts_ns);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		text_line_parse(bad[i], &l);
		if (l.kind != TEXT_UNKNOWN)
			fail_msg("'%s' was understood", bad[i]);
	}
}

static void losses_are_told_in_four_ways(void **state)
{
	static const struct { const char *line; int cpu; int64_t nr; } lost[] = {
		{ "CPU:1 [LOST 23 EVENTS]", 1, 23 }, { "CPU:12 [LOST EVENTS]", 12, -1 },
		{ "CPU:0 [5 EVENTS DROPPED]", 0, 5 }, { "  CPU:0 [EVENTS DROPPED]", 0, -1 },
	};
	struct text_line l;

	for (size_t i = 0; i < ARRAY_SIZE(lost); i++) {
		text_line_parse(lost[i].line, &l);
		assert_int_equal(l.kind, TEXT_LOST);
		assert_int_equal(l.cpu, lost[i].cpu);
		assert_int_equal(l.nr_lost, lost[i].nr);
	}
}

static int64_t number_of(const struct text_fields *f, const char *name)
{
	for (int i = 0; i < f->nr; i++)
		if (!strcmp(f->field[i].name, name) && f->field[i].value.type == VALUE_INT)
			return f->field[i].value.i;
	fail_msg("no number '%s'", name);
	return 0;
}

static void printed_forms_give_their_fields_back(void **state)
{
	struct text_fields f;

	text_fields_parse("mm_filemap_get_pages", "dev=254:3 ino=c0 ofs=4096-69631", &f);
	assert_int_equal(number_of(&f, "s_dev"), 254 << 20 | 3);
	assert_int_equal(number_of(&f, "i_ino"), 0xc0);
	assert_int_equal(number_of(&f, "index"), 1);
	assert_int_equal(number_of(&f, "last_index"), 16);
	text_fields_parse("mm_lru_insertion", "folio=0xff pfn=0x77 lru=0 flags=Ma bd ", &f);
	assert_int_equal(number_of(&f, "flags"), 1 | 2 | 8 | 16);
	text_fields_parse("mm_vmscan_lru_isolate", "classzone=1 nr_taken=3 lru=active_file", &f);
	assert_int_equal(number_of(&f, "highest_zoneidx"), 1);
	assert_int_equal(number_of(&f, "lru"), 3);
	text_fields_parse("mm_vmscan_throttled",
			  "nid=0 usec_timeout=1 usect_delayed=2 reason=VMSCAN_THROTTLE_NOPROGRESS",
			  &f);
	assert_int_equal(number_of(&f, "usec_delayed"), 2);
	assert_int_equal(number_of(&f, "reason"), 4);
	text_fields_parse("unheard_of", "a=-5 b=0x10 c=word, d e=1", &f);
	assert_int_equal(number_of(&f, "a"), -5);
	assert_int_equal(number_of(&f, "b"), 16);
	assert_int_equal(number_of(&f, "e"), 1);
	assert_false(f.is_whole);
}

static void ids_are_numbered_by_first_appearance(void **state)
{
	struct id_map *map = id_map_new();
	uint64_t seed = 1, again = 1;
	uint32_t number;

	for (uint32_t i = 0; i < 100000; i++) {
		assert_int_equal(id_map_get(map, rand_next(&seed), &number), 0);
		assert_int_equal(number, i);
	}
	for (uint32_t i = 0; i < 100000; i++) {
		assert_int_equal(id_map_get(map, rand_next(&again), &number), 0);
		assert_int_equal(number, i);
	}
	assert_int_equal(id_map_count(map), 100000);
	id_map_free(map);
}

/* A file in /tmp with @text in it, unlinked by the caller. */
static char *file_make(const char *text, size_t bytes)
{
	static char path[64];
	int fd;

	strcpy(path, "/tmp/pagereel-import.XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, bytes), bytes);
	close(fd);
	return path;
}

static void long_lines_are_cut_and_the_next_one_is_whole(void **state)
{
	size_t bytes = 3 * LINE_MAX_BYTES;
	char *text = malloc(bytes + 16), *path, *line;
	struct line_reader *reader;
	size_t line_bytes;

	memset(text, 'x', bytes);
	strcpy(text + bytes, "\nnext\r\nlast");
	path = file_make(text, strlen(text));
	assert_int_equal(line_reader_open(&reader, path, NULL), 0);
	assert_int_equal(line_reader_next(reader, &line, &line_bytes, NULL), 1);
	assert_int_equal(line_bytes, LINE_MAX_BYTES - 1);
	assert_int_equal(line_reader_next(reader, &line, &line_bytes, NULL), 1);
	assert_string_equal(line, "next");
	assert_int_equal(line_reader_next(reader, &line, &line_bytes, NULL), 1);
	assert_string_equal(line, "last");
	assert_int_equal(line_reader_number(reader), 3);
	assert_int_equal(line_reader_next(reader, &line, &line_bytes, NULL), 0);
	line_reader_close(reader);
	unlink(path);
	free(text);
}

static void whole_imports_count_what_is_there(void **state)
{
	static const struct {
		const char *path;
		enum import_format format;
		uint64_t nr_events, nr_page_events, nr_unparsed, nr_lost;
	} inputs[] = {
		{ "tests/data/linux-6.12-v6.dat", IMPORT_TRACE_DAT, 779, 585, 0, 0 },
		{ "tests/data/linux-6.12-2cpus.dat", IMPORT_TRACE_DAT, 1234, 907, 0, 0 },
		{ "tests/data/linux-6.12-v6.txt", IMPORT_TEXT, 779, 585, 0, 0 },
		{ "tests/data/ftrace-trace.txt", IMPORT_TEXT, 7, 5, 3, 23 },
		{ "tests/data/ftrace-old.txt", IMPORT_TEXT, 12, 5, 0, 0 },
	};
	const struct import_opts opts = { 0 };
	char *db = file_make("", 0);
	struct store *store;

	assert_int_equal(store_create(&store, db, STORE_FORCE, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(inputs); i++) {
		struct import_result r;
		struct import *import;
		struct err err = { "" };

		if (import_open(&import, inputs[i].path, &opts, &err) ||
		    import_run(import, store, &r, &err))
			fail_msg("%s", err.text);
		assert_int_equal(r.format, inputs[i].format);
		assert_int_equal(r.nr_events, inputs[i].nr_events);
		assert_int_equal(r.nr_page_events, inputs[i].nr_page_events);
		assert_int_equal(r.nr_unparsed, inputs[i].nr_unparsed);
		assert_int_equal(r.nr_lost, inputs[i].nr_lost);
		assert_int_equal(r.nr_undecoded, 0);
		import_close(import);
	}
	assert_int_equal(store_close(store, NULL), 0);
	unlink(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_every_variant_parse),
		cmocka_unit_test(losses_are_told_in_four_ways),
		cmocka_unit_test(printed_forms_give_their_fields_back),
		cmocka_unit_test(ids_are_numbered_by_first_appearance),
		cmocka_unit_test(long_lines_are_cut_and_the_next_one_is_whole),
		cmocka_unit_test(whole_imports_count_what_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
