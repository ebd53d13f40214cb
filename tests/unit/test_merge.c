// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_merge.c - databases merged: nothing lost, nothing twice, ids consistent, order of no matter.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "schema/schema.h"

static char dir[64];

static int setup(void **state)
{
	strcpy(dir, "/tmp/pagereel-test-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}

static const char *in_dir(const char *name)
{
	static char paths[8][128];
	static int next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

static struct store *create(const char *name)
{
	struct err err = { 0 };
	struct store *store;

	if (store_create(&store, in_dir(name), 0, &err))
		fail_msg("%s", err.text);
	return store;
}

static struct store *reopen(const char *name)
{
	struct err err = { 0 };
	struct store *store;

	if (store_open(&store, in_dir(name), 0, &err))
		fail_msg("%s", err.text);
	return store;
}

static void run(struct store *store, const char *sql)
{
	struct err err = { 0 };

	if (store_exec(store, sql, &err))
		fail_msg("%s: %s", sql, err.text);
}

static int64_t get(struct store *store, const char *sql)
{
	struct err err = { 0 };
	int64_t value;
	bool found;

	if (store_get_int(store, sql, NULL, 0, &value, &found, &err))
		fail_msg("%s: %s", sql, err.text);
	return value;
}

static void merge(struct store *into, const char *name)
{
	struct err err = { 0 };

	if (store_merge(into, in_dir(name), &err))
		fail_msg("%s", err.text);
}

/* Everything a query says, as one hash-like text; freed by the caller. */
static char *dump(struct store *store, const char *sql)
{
	struct err err = { 0 };
	struct query *query;
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (query_open(store, &query, sql, &err))
		fail_msg("%s: %s", sql, err.text);
	while (query_step(query, &err) == 1) {
		for (int i = 0; i < query_columns(query); i++)
			fprintf(out, "%s|",
				query_is_null(query, i) ? "NULL" : query_text(query, i));
		fputc('\n', out);
	}
	if (err.text[0])
		fail_msg("%s", err.text);
	query_close(query);
	fclose(out);
	return text;
}

static void assert_same(struct store *a, struct store *b, const char *sql)
{
	char *x = dump(a, sql), *y = dump(b, sql);

	if (strcmp(x, y))
		fail_msg("%s\n%s---\n%s", sql, x, y);
	free(x);
	free(y);
}

/* A capture whose content is a function of @seed; its first file id is @first_file. */
static int64_t fill(struct store *store, uint32_t seed, uint32_t first_file)
{
	static const struct event_field fields[] = { { "a", VALUE_INT }, { "b", VALUE_TEXT } };
	const struct capture_info info = { .source = "live", .nr_cpus = 2 };
	struct page_packer *packer;
	struct event_table *rows, *packed;
	struct page_chunk chunk;
	int64_t id;

	assert_int_equal(store_capture_begin(store, &info, &id, NULL), 0);
	for (uint32_t i = 0; i < 3; i++)
		store_file(store, id, first_file + i, 7, seed, 100 + i, 4096, "/data", NULL);
	packer = page_packer_new(id, 1, 0);
	for (uint32_t i = 0; i < 1000; i++) {
		const struct page_event event = {
			.ts_ns = 10 * i, .op = PAGE_OP_READ, .pid = seed, .page_index = i * seed,
			.pages = 1, .file_id = i % 4 ? first_file + i % 4 - 1 : 0,
		};

		page_packer_add(packer, &event);
	}
	page_packer_take(packer, &chunk);
	page_packer_free(packer);
	assert_int_equal(store_page_chunk(store, &chunk, NULL), 0);
	page_chunk_release(&chunk);
	store_event_table(store, id, "s", "rows", fields, 2, "the format", false, &rows, NULL);
	store_event_table(store, id, "s", "packed", fields, 2, NULL, true, &packed, NULL);
	for (uint32_t i = 0; i < 500; i++) {
		const struct value values[] = { VALUE_OF_INT(i * seed), VALUE_OF_TEXT("x") };

		assert_int_equal(event_table_add(rows, i, 0, seed, values, NULL), 0);
		assert_int_equal(event_table_add(packed, i, 1, seed, values, NULL), 0);
	}
	store_task(store, id, seed, seed, "dd", "/a", 0, NULL);
	store_gap(store, id, "reclaim", 0, 5, 6, VALUE_OF_INT(seed), NULL);
	store_context(store, id, 0, "start", "sysctl", "vm.swappiness", VALUE_OF_INT(60), NULL);
	store_event_count(store, id, "s", "rows", 500, NULL, NULL);
	store_event_missing(store, id, "memcg", "memcg_flush_stats", "not there", NULL);
	store_capture_end(store, id, "complete", 10000, NULL);
	assert_int_equal(store_commit(store, NULL), 0);
	return id;
}

static int64_t add_stream(struct store *store, int64_t capture_id, uint32_t file_id)
{
	char sql[512];
	int64_t id;

	snprintf(sql, sizeof(sql),
		 "INSERT INTO demand_stream(capture_id, nr_records, nr_accesses, "
		 "nr_distinct_pages, nr_ids, first_ts_ns, last_ts_ns, ops_mask, sample_mask, "
		 "has_hits, "
		 "coverage_pct, completeness) VALUES(%lld, 1, 10, 5, 5, 0, 9, 1, 0, 1, 100, "
		 "'complete')",
		 (long long)capture_id);
	run(store, sql);
	id = get(store, "SELECT max(id) FROM demand_stream");
	snprintf(sql, sizeof(sql),
		 "INSERT INTO demand_chunk(stream_id, idx, nr_records, first_ts_ns, "
		 "last_ts_ns, pages) VALUES(%lld, 0, 1, 0, 9, x'0102'); INSERT INTO demand_extent("
		 "stream_id, first_id, pages, file_id, first_index) VALUES(%lld, 0, 5, %u, 0), "
		 "(%lld, 5, 2, NULL, 0)",
		 (long long)id, (long long)id, file_id, (long long)id);
	run(store, sql);
	return id;
}

static void add_result(struct store *store, int64_t stream_id, const char *model, uint64_t pages,
		       const char *status, uint64_t hits)
{
	const struct result_key key = { stream_id, model, "", pages, "builtin", 7 };
	const struct result_counter counter = { "hits", VALUE_OF_INT((int64_t)hits) };
	const struct result_interval interval = { .idx = 0, .hits = VALUE_OF_INT((int64_t)hits) };
	int64_t id;

	assert_int_equal(store_result(store, &key, status, &counter, 1, &id, NULL), 0);
	store_result_cost(store, id, "scan", "scan.page", hits, VALUE_OF_REAL(1.5), NULL);
	store_result_interval(store, id, &interval, NULL);
}

static void two_captures_become_one_file(void **state)
{
	struct store *a = create("a.db"), *b = create("b.db"), *all = create("all.db");
	static const char *const same[] = {
		"SELECT ts_ns, cpu, pid, op, page_index, pages, dev_minor, ino, path FROM "
		"page_event "
		"LEFT JOIN file f ON f.id = file_id WHERE page_event.capture_id = %d ORDER BY "
		"ts_ns",
		"SELECT ts_ns, cpu, pid, a, b FROM rows WHERE capture_id = %d",
		"SELECT ts_ns, cpu, pid, a, b FROM packed WHERE capture_id = %d",
		"SELECT pid, first_ts_ns, tgid, comm, cgroup FROM task WHERE capture_id = %d",
		"SELECT stream, cpu, from_ns, to_ns, events_lost FROM gap WHERE capture_id = %d",
		"SELECT ts_ns, phase, subject, key, value FROM context WHERE capture_id = %d",
		"SELECT system, name, table_name, stored_as, nr_events, reason, format FROM "
		"event_type "
		"WHERE capture_id = %d",
		"SELECT uuid, source, nr_cpus, end_ts_ns, status FROM capture WHERE id = %d",
	};

	fill(a, 3, 1);
	fill(b, 5, 1);		/* the same file ids: one side has to give */
	store_close(a, NULL);
	store_close(b, NULL);
	merge(all, "a.db");
	merge(all, "b.db");
	assert_int_equal(get(all, "SELECT count(*) FROM capture"), 2);
	assert_int_equal(get(all, "SELECT count(*) FROM file"), 6);
	for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
		char here[256], there[256];
		char *x, *y;

		for (int capture = 1; capture <= 2; capture++) {
			struct store *from = reopen(capture == 1 ? "a.db" : "b.db");

			snprintf(here, sizeof(here), same[i], capture);
			snprintf(there, sizeof(there), same[i], 1);
			x = dump(all, here);
			y = dump(from, there);
			if (strcmp(x, y) || !*x)
				fail_msg("%s\n%.300s---\n%.300s", here, x, y);
			free(x);
			free(y);
			store_close(from, NULL);
		}
	}
	store_close(all, NULL);
}

static void merging_twice_changes_nothing(void **state)
{
	struct store *a = create("a.db"), *all = create("all.db");
	int64_t stream;

	fill(a, 3, 1);
	stream = add_stream(a, 1, 1);
	add_result(a, stream, "lru", 64, "complete", 10);
	store_close(a, NULL);
	merge(all, "a.db");
	merge(all, "a.db");
	assert_int_equal(get(all, "SELECT count(*) FROM capture"), 1);
	assert_int_equal(get(all, "SELECT count(*) FROM file"), 3);
	assert_int_equal(get(all, "SELECT count(*) FROM page_event"), 1000);
	assert_int_equal(get(all, "SELECT count(*) FROM rows"), 500);
	assert_int_equal(get(all, "SELECT count(*) FROM demand_stream"), 1);
	assert_int_equal(get(all, "SELECT count(*) FROM demand_extent"), 2);
	assert_int_equal(get(all, "SELECT count(*) FROM result"), 1);
	store_close(all, NULL);
}

static const char *const result_tables[] = {
	"SELECT * FROM result ORDER BY id",
	"SELECT * FROM result_cost",
	"SELECT * FROM result_interval",
	"SELECT * FROM replay_run",
	"SELECT * FROM curve",
	"SELECT * FROM knee",
	"SELECT * FROM demand_stream",
	"SELECT * FROM demand_extent",
	"SELECT * FROM cost_profile",
};

static void copy_file(const char *from, const char *to)
{
	char command[320];

	snprintf(command, sizeof(command), "cp '%s' '%s'", in_dir(from), in_dir(to));
	assert_int_equal(system(command), 0);
}

/* Part @i of @n of a grid of 3 models and 4 sizes; @i < 0: all of it, backwards. */
static void replay_part(struct store *store, int i, int n)
{
	static const char *const models[] = { "lru", "arc", "opt" };

	store_replay_run(store, 1, "lru,arc,opt 64..256/4", 12, NULL);
	store_cost_entry(store, "builtin", "scan.page", 1.5, VALUE_NONE, "built in", NULL);
	for (int k = 11; k >= 0; k--)
		if (i < 0 || k % n == i)
			add_result(store, 1, models[k % 3], 64u * (1 + (uint64_t)k / 3), "complete",
				   (uint64_t)k);
}

static void shards_merge_to_the_tables_of_one_run(void **state)
{
	struct store *base = create("base.db"), *whole, *all;

	fill(base, 3, 1);
	add_stream(base, 1, 2);
	store_close(base, NULL);
	for (int i = 0; i < 3; i++) {
		char name[32];
		struct store *part;

		snprintf(name, sizeof(name), "part%d.db", i);
		copy_file("base.db", name);
		part = reopen(name);
		replay_part(part, i, 3);
		store_close(part, NULL);
	}
	copy_file("base.db", "whole.db");
	whole = reopen("whole.db");
	replay_part(whole, -1, 1);
	all = create("all.db");
	merge(all, "part2.db");
	merge(all, "part0.db");
	merge(all, "part1.db");
	for (size_t i = 0; i < ARRAY_SIZE(result_tables); i++)
		assert_same(whole, all, result_tables[i]);
	assert_int_equal(get(all, "SELECT count(*) FROM result"), 12);
	store_close(all, NULL);
	/* and onto a copy of the base as well */
	all = reopen("base.db");
	for (int i = 0; i < 3; i++) {
		char name[32];

		snprintf(name, sizeof(name), "part%d.db", i);
		merge(all, name);
	}
	for (size_t i = 0; i < ARRAY_SIZE(result_tables); i++)
		assert_same(whole, all, result_tables[i]);
	store_close(all, NULL);
	store_close(whole, NULL);
}

static void complete_result_replaces_an_interrupted_one(void **state)
{
	struct store *a = create("a.db"), *b, *all;

	fill(a, 3, 1);
	add_stream(a, 1, 1);
	store_close(a, NULL);
	copy_file("a.db", "b.db");
	a = reopen("a.db");
	add_result(a, 1, "lru", 64, "interrupted", 1);
	store_close(a, NULL);
	b = reopen("b.db");
	add_result(b, 1, "lru", 64, "complete", 2);
	store_close(b, NULL);
	for (int order = 0; order < 2; order++) {
		all = create(order ? "x.db" : "y.db");
		merge(all, order ? "a.db" : "b.db");
		merge(all, order ? "b.db" : "a.db");
		assert_int_equal(get(all, "SELECT hits FROM result WHERE status = 'complete'"), 2);
		assert_int_equal(get(all, "SELECT sum(count) FROM result_cost"), 2);
		assert_int_equal(get(all, "SELECT count(*) FROM result"), 1);
		store_close(all, NULL);
	}
}

static void demand_of_a_merged_capture_names_its_files(void **state)
{
	struct store *a = create("a.db"), *b = create("b.db"), *all = create("all.db");

	fill(a, 3, 1);
	fill(b, 5, 1);
	add_stream(b, 1, 3);
	store_close(a, NULL);
	store_close(b, NULL);
	merge(all, "a.db");
	merge(all, "b.db");
	assert_int_equal(get(all,
			     "SELECT count(*) FROM demand_extent e JOIN demand_stream s ON "
			     "s.id = e.stream_id JOIN file f ON f.id = e.file_id WHERE "
			     "s.capture_id = f.capture_id AND f.capture_id = 2 AND f.ino = 102"),
			 1);
	store_close(all, NULL);
}

static void bad_input_leaves_the_target_as_it_was(void **state)
{
	struct store *a = create("a.db"), *all = create("all.db");
	struct err err = { 0 };

	fill(a, 3, 1);
	run(a, "UPDATE page_chunk SET data = x'00'");
	store_close(a, NULL);
	fill(all, 5, 1);
	assert_int_equal(store_merge(all, in_dir("a.db"), &err), -EBADMSG);
	assert_int_equal(get(all, "SELECT count(*) FROM capture"), 1);
	assert_int_equal(get(all, "SELECT count(*) FROM file"), 3);
	assert_int_equal(store_merge(all, in_dir("none.db"), NULL), -ENOENT);
	assert_int_equal(store_merge(all, in_dir("all.db"), NULL), -EINVAL);
	assert_int_equal(get(all, "SELECT count(*) FROM rows"), 500);
	store_close(all, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(two_captures_become_one_file),
		TEST(merging_twice_changes_nothing),
		TEST(shards_merge_to_the_tables_of_one_run),
		TEST(complete_result_replaces_an_interrupted_one),
		TEST(demand_of_a_merged_capture_names_its_files),
		TEST(bad_input_leaves_the_target_as_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
