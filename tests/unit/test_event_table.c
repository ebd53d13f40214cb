// SPDX-License-Identifier: GPL-2.0-or-later
/* test_event_table.c - events of any shape into tables or packed chunks, and the same out again. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "schema/event_codec.h"
#include "schema/schema.h"

static char dir[64];
static char path[128];

static int setup(void **state)
{
	strcpy(dir, "/tmp/pagereel-test-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/run.db", dir);
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}

static struct store *create(int64_t *capture_id)
{
	const struct capture_info info = { .source = "synth" };
	struct err err = { 0 };
	struct store *store;

	if (store_create(&store, path, 0, &err))
		fail_msg("%s", err.text);
	assert_int_equal(store_capture_begin(store, &info, capture_id, NULL), 0);
	return store;
}

static struct store *reopen(struct store *store)
{
	struct err err = { 0 };

	assert_int_equal(store_close(store, NULL), 0);
	if (store_open(&store, path, 0, &err))
		fail_msg("%s", err.text);
	return store;
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

static struct event_table *table_of(struct store *store, int64_t capture_id, const char *system,
				    const char *name, const struct event_field *fields,
				    int nr_fields, bool packed)
{
	struct event_table *table;
	struct err err = { 0 };

	if (store_event_table(store, capture_id, system, name, fields, nr_fields, NULL, packed,
			      &table, &err))
		fail_msg("%s", err.text);
	return table;
}

static void add(struct event_table *table, uint64_t ts_ns, int cpu, uint32_t pid,
		const struct value *values)
{
	struct err err = { 0 };

	if (event_table_add(table, ts_ns, cpu, pid, values, &err))
		fail_msg("%s", err.text);
}

/* ---- ordinary tables ------------------------------------------------------------------------- */

static void unknown_event_gets_a_table_of_its_fields(void **state)
{
	static const struct event_field fields[] = {
		{ "nid", VALUE_INT }, { "share", VALUE_REAL }, { "comm", VALUE_TEXT },
		{ "raw", VALUE_BLOB },
	};
	const struct value values[] = {
		VALUE_OF_INT(-1), VALUE_OF_REAL(0.25), VALUE_OF_TEXT("kswapd0"),
		{ .type = VALUE_BLOB, .text = "\0\1", .text_bytes = 2 },
	};
	int64_t id;
	struct store *store = create(&id);

	add(table_of(store, id, "vmscan", "mm_vmscan_balance_pgdat_begin", fields, 4, false), 5, 1,
	    77, values);
	store = reopen(store);
	assert_int_equal(
		get(store, "SELECT count(*) FROM mm_vmscan_balance_pgdat_begin WHERE "
			   "capture_id = 1 AND ts_ns = 5 AND cpu = 1 AND pid = 77 AND nid = -1 AND "
			   "share = 0.25 AND comm = 'kswapd0' AND raw = x'0001'"),
		1);
	assert_int_equal(get(store, "SELECT count(*) FROM event_type WHERE system = 'vmscan' AND "
			     "stored_as = 'table' AND nr_events IS NULL"), 1);
	store_close(store, NULL);
}

static void fields_that_clash_are_renamed(void **state)
{
	static const struct event_field fields[] = {
		{ "pid", VALUE_INT }, { "CPU", VALUE_INT }, { "order by", VALUE_INT },
		{ "x\"; DROP TABLE capture; --", VALUE_INT }, { "twice", VALUE_INT },
		{ "twice", VALUE_INT },
	};
	const struct value values[] = {
		VALUE_OF_INT(1), VALUE_OF_INT(2), VALUE_OF_INT(3), VALUE_OF_INT(4), VALUE_OF_INT(5),
		VALUE_OF_INT(6),
	};
	int64_t id;
	struct store *store = create(&id);

	add(table_of(store, id, "odd", "names", fields, 6, false), 1, 0, 9, values);
	assert_int_equal(get(store, "SELECT pid * 10 + pid_field FROM names"), 91);
	assert_int_equal(get(store, "SELECT CPU_field FROM names"), 2);
	assert_int_equal(get(store, "SELECT \"order by\" FROM names"), 3);
	assert_int_equal(get(store, "SELECT twice * 10 + twice_field FROM names"), 56);
	assert_int_equal(get(store, "SELECT \"x\"\"; DROP TABLE capture; --\" FROM names"), 4);
	assert_int_equal(get(store, "SELECT count(*) FROM capture"), 1);
	store_close(store, NULL);
}

static void names_that_are_taken_get_their_system_in_front(void **state)
{
	static const char *const taken[] = { "gap", "replay_result", "page_event", "sqlite_x",
					     "mm_vmscan_throttled" };
	static const struct event_field field = { "a", VALUE_INT };
	const struct value value = VALUE_OF_INT(1);
	char sql[128];
	int64_t id;
	struct store *store = create(&id);

	for (size_t i = 0; i < ARRAY_SIZE(taken); i++) {
		add(table_of(store, id, "other", taken[i], &field, 1, false), 1, 0, 1, &value);
		snprintf(sql, sizeof(sql), "SELECT a FROM other_%s", taken[i]);
		assert_int_equal(get(store, sql), 1);
	}
	add(table_of(store, id, "one", "same", &field, 1, false), 1, 0, 1, &value);
	add(table_of(store, id, "two", "SAME", &field, 1, false), 1, 0, 1, &value);
	assert_int_equal(get(store, "SELECT a FROM two_same"), 1);
	store_close(store, NULL);
}

static void another_kernel_widens_the_table(void **state)
{
	static const struct event_field old[] = { { "a", VALUE_INT }, { "b", VALUE_INT } };
	static const struct event_field new[] = { { "c", VALUE_TEXT }, { "b", VALUE_INT } };
	const struct value first[] = { VALUE_OF_INT(1), VALUE_OF_INT(2) };
	const struct value second[] = { VALUE_OF_TEXT("x"), VALUE_OF_INT(4) };
	int64_t id;
	struct store *store = create(&id);
	struct event_table *table = table_of(store, id, "s", "e", old, 2, false);

	add(table, 1, 0, 1, first);
	add(table_of(store, id + 1, "s", "e", new, 2, false), 2, 0, 1, second);
	add(table, 3, 0, 1, first);
	store = reopen(store);
	add(table_of(store, id + 1, "s", "e", new, 2, false), 4, 0, 1, second);
	assert_int_equal(get(store,
			     "SELECT group_concat(coalesce(a, 0) || b || coalesce(c, '-'), '') "
			     "= '12-04x12-04x' FROM (SELECT * FROM e ORDER BY ts_ns)"),
			 1);
	store_close(store, NULL);
}

static void known_reclaim_tables_exist_from_the_start(void **state)
{
	static const struct event_field field = { "nr_reclaimed", VALUE_INT };
	const struct value value = VALUE_OF_INT(32);
	int64_t id;
	struct store *store = create(&id);

	assert_int_equal(get(store, "SELECT count(*) FROM mm_vmscan_lru_isolate"), 0);
	add(table_of(store, id, "vmscan", "mm_vmscan_memcg_reclaim_end", &field, 1, false), 1, 0, 1,
	    &value);
	assert_int_equal(get(store, "SELECT sum(nr_reclaimed) FROM mm_vmscan_memcg_reclaim_end"),
			 32);
	/* no column of theirs was added: it had all */
	assert_int_equal(get(store, "SELECT count(*) FROM pragma_table_info("
			     "'mm_vmscan_memcg_reclaim_end')"), 5);
	store_close(store, NULL);
}

static void missing_and_counted_events_are_noted(void **state)
{
	static const struct event_field field = { "a", VALUE_INT };
	int64_t id;
	struct store *store = create(&id);

	table_of(store, id, "s", "e", &field, 1, false);
	store_event_count(store, id, "s", "e", 12, "ignored", NULL);
	store_event_count(store, id, "filemap", "mm_filemap_get_pages", 7, "page", NULL);
	store_event_missing(store, id, "memcg", "memcg_flush_stats", "not in this kernel", NULL);
	assert_int_equal(
		get(store, "SELECT count(*) FROM event_type WHERE (name = 'e' AND "
			   "nr_events = 12 AND stored_as = 'table') OR (nr_events = 7 AND "
			   "stored_as = 'page') OR (stored_as = 'missing' AND reason LIKE 'not%')"),
		3);
	store_close(store, NULL);
}

static void rolled_back_table_is_made_again(void **state)
{
	static const struct event_field field = { "a", VALUE_INT };
	const struct value value = VALUE_OF_INT(1);
	struct event_table *table;
	int64_t id;
	struct store *store = create(&id);

	store_begin(store, NULL);
	table = table_of(store, id, "s", "e", &field, 1, false);
	add(table, 1, 0, 1, &value);
	assert_int_equal(store_rollback(store, NULL), 0);
	add(table, 2, 0, 1, &value);
	assert_int_equal(store_commit(store, NULL), 0);
	assert_int_equal(get(store, "SELECT sum(ts_ns) FROM e"), 2);
	assert_int_equal(get(store, "SELECT count(*) FROM event_type WHERE name = 'e'"), 1);
	store_close(store, NULL);
}

/* ---- packing --------------------------------------------------------------------------------- */

static const struct event_field mixed[] = {
	{ "counter", VALUE_INT }, { "pointer", VALUE_INT }, { "share", VALUE_REAL },
	{ "comm", VALUE_TEXT }, { "raw", VALUE_BLOB }, { "rare", VALUE_INT }, { "any", VALUE_BLOB },
};

/* Row i of a stream that has every kind of column in it. */
static void mixed_row(uint32_t i, struct value *values)
{
	static const char *const comm[] = { "dd", "kswapd0", "", "a longer name" };
	static const char bytes[] = "\0\1\2\3\4\5\6\7";

	values[0] = VALUE_OF_INT((int64_t)i * 3 + 1000);
	values[1] = VALUE_OF_INT((int64_t)(0xffff888000000000ULL + (i * 2654435761U % 50) * 4096));
	values[2] = VALUE_OF_REAL(i / 7.0);
	values[3] = VALUE_OF_TEXT(comm[i % 4]);
	values[4] = (struct value){ .type = VALUE_BLOB, .text = bytes, .text_bytes = i % 9 };
	values[5] = i % 100 ? VALUE_NONE : VALUE_OF_INT(i % 200 ? INT64_MAX : INT64_MIN);
	values[6] = i % 3 ? i % 3 == 1 ? VALUE_OF_INT(i) : VALUE_OF_REAL(0.5) : VALUE_OF_TEXT("t");
}

static bool same_value(const struct value *a, const struct value *b)
{
	if (a->type != b->type)
		return false;
	switch (a->type) {
	case VALUE_INT:
		return a->i == b->i;
	case VALUE_REAL:
		return a->r == b->r;
	case VALUE_TEXT:
	case VALUE_BLOB:
		return a->text_bytes == b->text_bytes &&
		       !memcmp(a->text, b->text, a->text_bytes);
	default:
		return true;
	}
}

static void check_mixed_row(struct event_block *block, uint32_t row, uint32_t i)
{
	struct value wanted[ARRAY_SIZE(mixed)], value;

	mixed_row(i, wanted);
	for (int f = 0; f < (int)ARRAY_SIZE(mixed); f++) {
		assert_int_equal(event_block_value(block, NR_EVENT_COLS + f, row, &value), 0);
		if (!same_value(&value, &wanted[f]))
			fail_msg("row %u field %s differs", i, mixed[f].name);
	}
}

static struct event_chunk packed_chunk(uint32_t nr)
{
	static const int field[] = { 0, 1, 2, 3, 4, 5, 6 };
	struct event_packer *packer = event_packer_new();
	struct value values[ARRAY_SIZE(mixed)];
	struct event_chunk chunk;

	for (uint32_t i = 0; i < nr; i++) {
		mixed_row(i, values);
		assert_int_equal(event_packer_add(packer, 1000 + 10 * i, (int)(i % 2),
						  VALUE_OF_INT(i), values, field, 7),
				 i + 1 == EVENT_CHUNK_ROWS);
	}
	assert_int_equal(event_packer_take(packer, &chunk), 0);
	event_packer_free(packer);
	return chunk;
}

static void every_kind_of_column_survives_packing(void **state)
{
	static const uint32_t sizes[] = { 1, 2, 7, 31, 33, 1000, EVENT_CHUNK_ROWS };

	for (size_t k = 0; k < ARRAY_SIZE(sizes); k++) {
		struct event_chunk chunk = packed_chunk(sizes[k]);
		struct event_block *block;
		struct value value;
		int code;

		block = event_block_open(chunk.data, chunk.data_bytes, chunk.nr_events, &code);
		assert_non_null(block);
		for (uint32_t i = 0; i < sizes[k]; i++)
			check_mixed_row(block, i, i);
		assert_int_equal(event_block_value(block, 100, 0, &value), 0);
		assert_int_equal(value.type, VALUE_NULL);
		event_block_free(block);
		free(chunk.data);
	}
}

static void rows_come_out_by_time_and_cpu(void **state)
{
	static const int field = 0;
	struct event_packer *packer = event_packer_new();
	uint64_t seed = 1;
	struct event_chunk chunk;
	struct event_block *block;
	struct value ts, cpu, sequence, last_ts = { 0 }, last_cpu = { 0 }, last_sequence = { 0 };
	int code;

	for (int i = 0; i < 3000; i++) {
		const struct value value = VALUE_OF_INT(i);

		event_packer_add(packer, rand_next(&seed) % 500, (int)(rand_next(&seed) % 3) - 1,
				 VALUE_NONE, &value, &field, 1);
	}
	event_packer_take(packer, &chunk);
	event_packer_free(packer);
	block = event_block_open(chunk.data, chunk.data_bytes, 3000, &code);
	assert_non_null(block);
	for (uint32_t i = 0; i < 3000; i++) {
		event_block_value(block, EVENT_COL_TS, i, &ts);
		event_block_value(block, EVENT_COL_CPU, i, &cpu);
		event_block_value(block, NR_EVENT_COLS, i, &sequence);
		if (cpu.type == VALUE_NULL)
			cpu.i = -1;
		if (i)
			assert_true(last_ts.i < ts.i || (last_ts.i == ts.i && (last_cpu.i < cpu.i ||
				    (last_cpu.i == cpu.i && last_sequence.i < sequence.i))));
		last_ts = ts;
		last_cpu = cpu;
		last_sequence = sequence;
	}
	event_block_free(block);
	free(chunk.data);
}

/* Reads all that a chunk claims to hold: what matters is that nothing is read out of bounds. */
static void read_all(const uint8_t *data, size_t bytes, uint32_t nr)
{
	struct event_block *block;
	struct value value;
	volatile uint8_t sum = 0;
	int code;

	block = event_block_open(data, bytes, nr, &code);
	if (!block) {
		assert_true(code == -EBADMSG);
		return;
	}
	for (int column = 0; column < 12; column++) {
		for (uint32_t row = 0; row < nr; row++) {
			code = event_block_value(block, column, row, &value);
			if (code) {
				assert_int_equal(code, -EBADMSG);
				break;
			}
			for (size_t i = 0; value.type >= VALUE_TEXT && i < value.text_bytes; i++)
				sum += (uint8_t)value.text[i];
		}
	}
	(void)sum;
	event_block_free(block);
}

static void damaged_chunks_are_refused_or_read_within_bounds(void **state)
{
	struct event_chunk chunk = packed_chunk(200);
	uint8_t *copy = malloc(chunk.data_bytes);
	uint64_t seed = 42;

	for (size_t bytes = 0; bytes < chunk.data_bytes; bytes += 1 + bytes / 50) {
		uint8_t *exact = malloc(bytes ? bytes : 1);

		memcpy(exact, chunk.data, bytes);
		read_all(exact, bytes, 200);
		free(exact);
	}
	for (int round = 0; round < 3000; round++) {
		memcpy(copy, chunk.data, chunk.data_bytes);
		for (int i = 0; i < 1 + round % 4; i++)
			copy[rand_next(&seed) % chunk.data_bytes] = (uint8_t)rand_next(&seed);
		read_all(copy, chunk.data_bytes, 200);
	}
	free(copy);
	free(chunk.data);
}

/* A fast event: @nr rows at @per_s rows a second of event time. */
static void add_stream(struct store *store, int64_t id, const char *name, uint32_t nr,
		       uint32_t per_s, bool packed)
{
	struct event_table *table =
		table_of(store, id, "s", name, mixed, ARRAY_SIZE(mixed), packed);
	struct value values[ARRAY_SIZE(mixed)];

	for (uint32_t i = 0; i < nr; i++) {
		mixed_row(i, values);
		add(table, 1000000000ULL + i * (1000000000ULL / per_s), (int)(i % 2), 100 + i % 5,
		    values);
	}
	assert_int_equal(store_commit(store, NULL), 0);
}

static bool is_packed(struct store *store, const char *name)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "SELECT packed FROM event_table WHERE name = '%s'", name);
	return get(store, sql);
}

static int64_t differences(struct store *store, const char *a, const char *b)
{
	char sql[256];

	snprintf(sql, sizeof(sql), "SELECT (SELECT count(*) FROM (SELECT * FROM %s EXCEPT SELECT * "
		 "FROM %s)) + (SELECT count(*) FROM (SELECT * FROM %s EXCEPT SELECT * FROM %s)) + "
		 "abs((SELECT count(*) FROM %s) - (SELECT count(*) FROM %s))", a, b, b, a, a, b);
	return get(store, sql);
}

static void packed_table_equals_the_ordinary_one(void **state)
{
	int64_t id;
	struct store *store = create(&id);

	add_stream(store, id, "slow", 20000, 1000, false);
	add_stream(store, id, "packed", 20000, 1000, true);
	assert_false(is_packed(store, "slow"));
	assert_true(is_packed(store, "packed"));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(differences(store, "slow", "packed"), 0);
		assert_int_equal(get(store, "SELECT count(*) FROM packed WHERE ts_ns BETWEEN "
				     "2000000000 AND 2999999999 AND capture_id = 1"), 1000);
		assert_int_equal(get(store, "SELECT count(*) FROM packed WHERE ts_ns = 2000000000"),
				 1);
		assert_int_equal(get(store, "SELECT count(*) FROM packed WHERE capture_id = 2"), 0);
		assert_int_equal(
			get(store,
			    "SELECT count(*) FROM (SELECT ts_ns, lag(ts_ns) OVER () AS "
			    "before FROM (SELECT ts_ns FROM packed ORDER BY capture_id, ts_ns)) "
			    "WHERE ts_ns < before"),
			0);
		store = reopen(store);
	}
	store_close(store, NULL);
}

static void fast_event_is_packed_and_loses_no_row(void **state)
{
	int64_t id;
	struct store *store = create(&id);

	add_stream(store, id, "fast", 50000, 100000, false);
	add_stream(store, id, "same", 50000, 100000, true);
	assert_true(is_packed(store, "fast"));
	assert_int_equal(get(store, "SELECT count(*) FROM sqlite_schema WHERE name = 'fast'"), 0);
	assert_int_equal(get(store, "SELECT count(*) FROM event_type WHERE stored_as = 'packed'"),
			 2);
	assert_int_equal(differences(store, "fast", "same"), 0);
	store_close(store, NULL);
}

static void slow_event_and_short_burst_stay_tables(void **state)
{
	int64_t id;
	struct store *store = create(&id);

	add_stream(store, id, "slow", 50000, 4000, false);
	add_stream(store, id, "burst", 15000, 10000000, false);
	assert_false(is_packed(store, "slow"));
	assert_false(is_packed(store, "burst"));
	store_close(store, NULL);
}

static void rollback_of_packing_gives_the_table_back(void **state)
{
	struct event_table *table;
	struct value values[ARRAY_SIZE(mixed)];
	int64_t id;
	struct store *store = create(&id);

	table = table_of(store, id, "s", "fast", mixed, ARRAY_SIZE(mixed), false);
	mixed_row(0, values);
	for (int i = 0; i < 1000; i++)
		add(table, (uint64_t)i, 0, 1, values);
	assert_int_equal(store_commit(store, NULL), 0);
	for (int i = 1000; i < 30000; i++)
		add(table, (uint64_t)i, 0, 1, values);
	assert_true(is_packed(store, "fast"));
	assert_int_equal(store_rollback(store, NULL), 0);
	assert_false(is_packed(store, "fast"));
	assert_int_equal(get(store, "SELECT count(*) FROM fast"), 1000);
	add(table, 40000, 0, 1, values);
	assert_int_equal(store_commit(store, NULL), 0);
	assert_int_equal(get(store, "SELECT count(*) FROM fast"), 1001);
	store_close(store, NULL);
}

static void reader_of_the_same_connection_defers_packing(void **state)
{
	struct event_table *table;
	struct value values[ARRAY_SIZE(mixed)];
	struct query *query;
	int64_t id;
	struct store *store = create(&id);

	table = table_of(store, id, "s", "fast", mixed, ARRAY_SIZE(mixed), false);
	mixed_row(0, values);
	for (int i = 0; i < 10; i++)
		add(table, (uint64_t)i, 0, 1, values);
	assert_int_equal(query_open(store, &query, "SELECT * FROM fast", NULL), 0);
	assert_int_equal(query_step(query, NULL), 1);
	for (int i = 10; i < 30000; i++)
		add(table, (uint64_t)i, 0, 1, values);
	query_close(query);
	assert_int_equal(store_commit(store, NULL), 0);
	assert_int_equal(get(store, "SELECT count(*) FROM fast"), 30000);
	store_close(store, NULL);
}

static void packed_table_widens_too(void **state)
{
	static const struct event_field old = { "a", VALUE_INT };
	static const struct event_field new[] = { { "b", VALUE_TEXT }, { "a", VALUE_INT } };
	const struct value first = VALUE_OF_INT(1);
	const struct value second[] = { VALUE_OF_TEXT("x"), VALUE_OF_INT(2) };
	int64_t id;
	struct store *store = create(&id);

	add(table_of(store, id, "s", "e", &old, 1, true), 1, 0, 1, &first);
	store_commit(store, NULL);
	assert_int_equal(get(store, "SELECT count(*) FROM e"), 1);
	add(table_of(store, id, "s", "e", new, 2, true), 2, 0, 1, second);
	store_commit(store, NULL);
	assert_int_equal(get(store, "SELECT count(*) FROM e WHERE (a = 1 AND b IS NULL) OR "
			     "(a = 2 AND b = 'x')"), 2);
	store_close(store, NULL);
}

static void damaged_chunk_in_the_file_is_an_error_not_a_crash(void **state)
{
	struct err err = { 0 };
	int64_t id, value;
	bool found;
	struct store *store = create(&id);

	add_stream(store, id, "packed", 2000, 1000, true);
	store_exec(store, "UPDATE event_chunk SET data = substr(data, 1, length(data) - 100)",
		   NULL);
	assert_int_equal(store_get_int(store, "SELECT sum(counter) FROM packed", NULL, 0, &value,
				       &found, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "damaged"));
	store_exec(store, "UPDATE event_chunk SET nr_events = 1000000", NULL);
	assert_int_equal(store_get_int(store, "SELECT sum(counter) FROM packed", NULL, 0, &value,
				       &found, NULL), -EBADMSG);
	store_close(store, NULL);
}

static void overlapping_chunks_are_merged_by_time(void **state)
{
	static const struct event_field field = { "n", VALUE_INT };
	struct event_table *table;
	int64_t id;
	struct store *store = create(&id);

	table = table_of(store, id, "s", "e", &field, 1, true);
	for (int cpu = 0; cpu < 4; cpu++) {
		for (int i = 0; i < 1000; i++) {
			const struct value value = VALUE_OF_INT(4 * i + cpu);

			add(table, (uint64_t)(4 * i + cpu) / 2, cpu, 1, &value);
		}
		store_commit(store, NULL);	/* a chunk for each CPU */
	}
	assert_int_equal(get(store, "SELECT count(*) FROM event_chunk"), 4);
	assert_int_equal(get(store,
			     "SELECT count(*) FROM (SELECT n, row_number() OVER () - 1 AS at "
			     "FROM e) WHERE n = at"),
			 4000);
	store_close(store, NULL);
}

/* ---- kill -9 --------------------------------------------------------------------------------- */

/* Says through @ready when the first commit is there, then writes for ever. */
static void write_until_killed(int ready)
{
	struct event_table *rows, *packed;
	struct value values[ARRAY_SIZE(mixed)];
	struct store *store;
	int64_t id;

	store = create(&id);
	rows = table_of(store, id, "s", "rows", mixed, ARRAY_SIZE(mixed), false);
	packed = table_of(store, id, "s", "chunks", mixed, ARRAY_SIZE(mixed), true);
	for (uint32_t i = 0;; i++) {
		mixed_row(i, values);
		add(rows, i * 1000000ULL, 0, 1, values);
		add(packed, i * 1000000ULL, 0, 1, values);
		if (i % 200 != 199)
			continue;
		if (store_commit(store, NULL) || (i == 199 && write(ready, "", 1) != 1))
			_exit(1);
	}
}

static void check_killed(int round)
{
	struct err err = { 0 };
	struct store *store;

	if (store_open(&store, path, 0, &err))
		fail_msg("round %d: %s", round, err.text);
	assert_int_equal(get(store, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"),
			 1);
	assert_int_equal(get(store, "SELECT count(*) FROM capture WHERE status = 'running'"), 1);
	/* commits are whole: both tables hold the same events */
	assert_int_equal(get(store, "SELECT (SELECT count(*) FROM rows) - (SELECT count(*) FROM "
			     "chunks)"), 0);
	assert_int_equal(get(store, "SELECT count(*) % 200 FROM rows"), 0);
	assert_int_equal(differences(store, "rows", "chunks"), 0);
	store_close(store, NULL);
}

static void killed_writer_leaves_whole_commits(void **state)
{
	uint64_t seed = 7;

	for (int round = 0; round < 20; round++) {
		int ready[2], status;
		char byte;
		pid_t pid;

		assert_int_equal(pipe(ready), 0);
		pid = fork();
		if (!pid)
			write_until_killed(ready[1]);
		assert_int_equal(read(ready[0], &byte, 1), 1);
		usleep(rand_next(&seed) % 30000);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		close(ready[0]);
		close(ready[1]);
		check_killed(round);
		unlink(path);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(unknown_event_gets_a_table_of_its_fields),
		TEST(fields_that_clash_are_renamed),
		TEST(names_that_are_taken_get_their_system_in_front),
		TEST(another_kernel_widens_the_table),
		TEST(known_reclaim_tables_exist_from_the_start),
		TEST(missing_and_counted_events_are_noted),
		TEST(rolled_back_table_is_made_again),
		TEST(every_kind_of_column_survives_packing),
		TEST(rows_come_out_by_time_and_cpu),
		TEST(damaged_chunks_are_refused_or_read_within_bounds),
		TEST(packed_table_equals_the_ordinary_one),
		TEST(fast_event_is_packed_and_loses_no_row),
		TEST(slow_event_and_short_burst_stay_tables),
		TEST(rollback_of_packing_gives_the_table_back),
		TEST(reader_of_the_same_connection_defers_packing),
		TEST(packed_table_widens_too),
		TEST(damaged_chunk_in_the_file_is_an_error_not_a_crash),
		TEST(overlapping_chunks_are_merged_by_time),
		TEST(killed_writer_leaves_whole_commits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
