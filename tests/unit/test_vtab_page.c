// SPDX-License-Identifier: GPL-2.0-or-later
/* test_vtab_page.c - page_event against a plain table of the same events. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "schema/page_merge.h"

enum { NR_EVENTS = 6000 };

static const char tables[] =
	"CREATE TABLE page_chunk(id INTEGER PRIMARY KEY, capture_id INTEGER NOT NULL,"
	" cpu INTEGER NOT NULL, nr_events INTEGER NOT NULL, first_ts_ns INTEGER NOT NULL,"
	" last_ts_ns INTEGER NOT NULL, ops_mask INTEGER NOT NULL, min_file_id INTEGER NOT NULL,"
	" max_file_id INTEGER NOT NULL, sample_mask INTEGER NOT NULL, data BLOB NOT NULL);"
	"CREATE INDEX page_chunk_by_time ON page_chunk(capture_id, first_ts_ns, last_ts_ns, cpu,"
	" ops_mask, min_file_id, max_file_id, nr_events, sample_mask);"
	"CREATE TABLE truth(seq INTEGER PRIMARY KEY, capture_id INTEGER, ts_ns INTEGER, cpu "
	"INTEGER,"
	" pid INTEGER, op TEXT, file_id INTEGER, page_index INTEGER, pages INTEGER, pfn INTEGER,"
	" flags INTEGER)";

static void run(sqlite3 *db, const char *sql)
{
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
}

static void insert_chunk(sqlite3 *db, struct page_packer *packer)
{
	struct page_chunk chunk;
	sqlite3_stmt *stmt;

	assert_int_equal(page_packer_take(packer, &chunk), 0);
	if (!chunk.nr_events)
		return;
	sqlite3_prepare_v2(db, "INSERT INTO page_chunk VALUES(NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			   -1, &stmt, NULL);
	sqlite3_bind_int64(stmt, 1, chunk.capture_id);
	sqlite3_bind_int64(stmt, 2, chunk.cpu);
	sqlite3_bind_int64(stmt, 3, chunk.nr_events);
	sqlite3_bind_int64(stmt, 4, chunk.first_ts_ns);
	sqlite3_bind_int64(stmt, 5, chunk.last_ts_ns);
	sqlite3_bind_int64(stmt, 6, chunk.ops_mask);
	sqlite3_bind_int64(stmt, 7, chunk.min_file_id);
	sqlite3_bind_int64(stmt, 8, chunk.max_file_id);
	sqlite3_bind_int64(stmt, 9, chunk.sample_mask);
	sqlite3_bind_blob(stmt, 10, chunk.data, chunk.data_bytes, SQLITE_TRANSIENT);
	assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
	sqlite3_finalize(stmt);
	page_chunk_release(&chunk);
}

static void bind_known(sqlite3_stmt *stmt, int at, bool known, uint64_t v)
{
	if (known)
		sqlite3_bind_int64(stmt, at, v);
	else
		sqlite3_bind_null(stmt, at);
}

static void insert_truth(sqlite3_stmt *stmt, int capture, int cpu, const struct page_event *e)
{
	unsigned int known = page_op_columns(e->op);

	sqlite3_bind_int(stmt, 1, capture);
	sqlite3_bind_int64(stmt, 2, e->ts_ns);
	sqlite3_bind_int(stmt, 3, cpu);
	sqlite3_bind_int64(stmt, 4, e->pid);
	sqlite3_bind_text(stmt, 5, page_op_name(e->op), -1, SQLITE_STATIC);
	bind_known(stmt, 6, known & PAGE_COL_FILE && e->file_id, e->file_id);
	bind_known(stmt, 7, known & PAGE_COL_INDEX, e->page_index);
	bind_known(stmt, 8, known & PAGE_COL_PAGES, e->pages);
	bind_known(stmt, 9, known & PAGE_COL_PFN && e->pfn, e->pfn);
	sqlite3_bind_int64(stmt, 10, e->flags);
	assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
	sqlite3_reset(stmt);
}

/*
 * Two captures of three CPUs at very different rates; equal times; chunks of one CPU that overlap
 * in time; times that run backwards within a chunk.
 */
static void fill(sqlite3 *db)
{
	struct page_packer *packer[2][3];
	sqlite3_stmt *truth;
	uint64_t seed = 7, clock = 0;

	for (int i = 0; i < 6; i++)
		packer[i / 3][i % 3] = page_packer_new(1 + i / 3, i % 3, 0);
	run(db, "BEGIN");
	sqlite3_prepare_v2(db, "INSERT INTO truth VALUES(NULL,?,?,?,?,?,?,?,?,?,?)", -1, &truth,
			   NULL);
	for (int i = 0; i < NR_EVENTS; i++) {
		int capture = rand_next(&seed) % 2;
		int cpu = rand_next(&seed) % 20 == 0 ? 2 : i / 50 % 2;
		struct page_event e = {
			.op = rand_next(&seed) % NR_PAGE_OPS,
			.pid = 100 + cpu,
			.file_id = rand_next(&seed) % 3 + i / 1000,
			.pages = 1 << rand_next(&seed) % 4,
			.page_index = rand_next(&seed) % 1000,
			.pfn = rand_next(&seed) % 1000,
			.flags = rand_next(&seed) % 2,
		};

		clock += rand_next(&seed) % 3;
		e.ts_ns = clock;
		if (rand_next(&seed) % 50 == 0)
			e.ts_ns -= rand_next(&seed) % (clock + 1) % 200;
		page_packer_add(packer[capture][cpu], &e);
		insert_truth(truth, capture + 1, cpu, &e);
		if (rand_next(&seed) % 100 == 0)
			insert_chunk(db, packer[capture][cpu]);
	}
	for (int i = 0; i < 6; i++) {
		insert_chunk(db, packer[i / 3][i % 3]);
		page_packer_free(packer[i / 3][i % 3]);
	}
	sqlite3_finalize(truth);
	run(db, "COMMIT");
}

static int setup(void **state)
{
	sqlite3 *db;

	if (sqlite3_open(":memory:", &db) != SQLITE_OK)
		return -1;
	run(db, tables);
	fill(db);
	*state = db;
	return vtab_page_register(db);
}

static int teardown(void **state)
{
	return sqlite3_close(*state);
}

/* The same rows in the same order out of both; returns how many. */
static int compare(sqlite3 *db, const char *where, const char *page_order, const char *truth_order)
{
	static const char columns[] = "capture_id, ts_ns, cpu, pid, op, file_id, page_index, pages,"
				      " pfn, flags";
	sqlite3_stmt *page, *truth;
	char *sql = sqlite3_mprintf("SELECT %s FROM page_event %s %s", columns, where, page_order);
	int nr = 0, rc;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &page, NULL), SQLITE_OK);
	sqlite3_free(sql);
	sql = sqlite3_mprintf("SELECT %s FROM truth %s %s", columns, where, truth_order);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &truth, NULL), SQLITE_OK);
	sqlite3_free(sql);
	while ((rc = sqlite3_step(truth)) == SQLITE_ROW) {
		assert_int_equal(sqlite3_step(page), SQLITE_ROW);
		for (int i = 0; i < 10; i++) {
			assert_int_equal(sqlite3_column_type(page, i),
					 sqlite3_column_type(truth, i));
			if (sqlite3_column_type(page, i) != SQLITE_NULL)
				assert_string_equal(sqlite3_column_text(page, i),
						    sqlite3_column_text(truth, i));
		}
		nr++;
	}
	assert_int_equal(rc, SQLITE_DONE);
	assert_int_equal(sqlite3_step(page), SQLITE_DONE);
	sqlite3_finalize(page);
	sqlite3_finalize(truth);
	return nr;
}

static void all_rows_come_merged_by_capture_time_cpu_and_sequence(void **state)
{
	assert_int_equal(compare(*state, "", "", "ORDER BY capture_id, ts_ns, cpu, seq"),
			 NR_EVENTS);
	assert_int_equal(compare(*state, "", "ORDER BY capture_id, ts_ns",
				 "ORDER BY capture_id, ts_ns, cpu, seq"), NR_EVENTS);
}

static void constraints_choose_the_rows_a_plain_table_would(void **state)
{
	static const char *const wheres[] = {
		"WHERE capture_id = 2", "WHERE capture_id = 3", "WHERE ts_ns BETWEEN 1000 AND 1100",
		"WHERE ts_ns > 2000 AND ts_ns < 2010", "WHERE ts_ns = 1500", "WHERE ts_ns >= 5900",
		"WHERE cpu = 2", "WHERE cpu = -1", "WHERE op = 'add'", "WHERE op = 'nonsense'",
		"WHERE op IN ('add', 'delete') AND capture_id = 1", "WHERE file_id = 0",
		"WHERE file_id = 7", "WHERE file_id IS NULL", "WHERE capture_id = NULL",
		"WHERE ts_ns > 1000.5 AND ts_ns < 1003.5", "WHERE pages = 8 AND pid = 102",
		"WHERE ts_ns > '5000'", "WHERE capture_id = 1 AND capture_id = 2",
		"WHERE op = 'read' AND file_id = 3 AND cpu = 0 AND ts_ns < 5000 AND capture_id = 1",
		"WHERE pfn IS NULL AND page_index = 17", "WHERE op > 'm'",
	};
	int nr = 0;

	for (size_t i = 0; i < ARRAY_SIZE(wheres); i++)
		nr += compare(*state, wheres[i], "ORDER BY capture_id, ts_ns, cpu, rowid",
			      "ORDER BY capture_id, ts_ns, cpu, seq");
	assert_true(nr > 1000);
}

static void order_by_time_mixes_captures_without_sorting(void **state)
{
	sqlite3_stmt *stmt;

	assert_int_equal(compare(*state, "", "ORDER BY ts_ns",
				 "ORDER BY ts_ns, capture_id, cpu, seq"), NR_EVENTS);
	sqlite3_prepare_v2(*state, "EXPLAIN QUERY PLAN SELECT * FROM page_event ORDER BY ts_ns", -1,
			   &stmt, NULL);
	while (sqlite3_step(stmt) == SQLITE_ROW)
		assert_null(strstr((const char *)sqlite3_column_text(stmt, 3), "B-TREE"));
	sqlite3_finalize(stmt);
}

static void rowids_are_unique(void **state)
{
	sqlite3_stmt *stmt;

	sqlite3_prepare_v2(*state, "SELECT count(DISTINCT rowid) FROM page_event", -1, &stmt, NULL);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int(stmt, 0), NR_EVENTS);
	sqlite3_finalize(stmt);
}

static void joins_give_the_constraint_from_the_other_table(void **state)
{
	sqlite3_stmt *stmt;

	sqlite3_prepare_v2(*state,
			   "SELECT count(*), (SELECT count(*) FROM truth WHERE op = 'add' AND"
			   " file_id = 4) FROM (SELECT 4 AS id) f JOIN page_event p ON p.file_id ="
			   " f.id WHERE p.op = 'add'",
			   -1, &stmt, NULL);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	assert_true(sqlite3_column_int(stmt, 0) > 0);
	assert_int_equal(sqlite3_column_int(stmt, 0), sqlite3_column_int(stmt, 1));
	sqlite3_finalize(stmt);
}

static void a_view_may_use_it_and_nobody_may_write(void **state)
{
	sqlite3 *db = *state;

	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	run(db, "CREATE TEMP VIEW v AS SELECT count(*) FROM page_event; SELECT * FROM v");
	assert_int_equal(sqlite3_exec(db, "DELETE FROM page_event", NULL, NULL, NULL),
			 SQLITE_ERROR);
}

/* Alone: it damages the data. */
static void a_damaged_chunk_is_an_error_with_its_number(void **state)
{
	sqlite3 *db = *state;

	run(db, "SAVEPOINT s; UPDATE page_chunk SET data = substr(data, 1, 20) WHERE id = 9");
	assert_int_equal(sqlite3_exec(db, "SELECT count(ts_ns) FROM page_event", NULL, NULL, NULL),
			 SQLITE_CORRUPT);
	assert_non_null(strstr(sqlite3_errmsg(db), "page chunk"));
	run(db, "ROLLBACK TO s; UPDATE page_chunk SET nr_events = 99999 WHERE id = 9");
	assert_int_equal(sqlite3_exec(db, "SELECT count(ts_ns) FROM page_event", NULL, NULL, NULL),
			 SQLITE_CORRUPT);
	assert_non_null(strstr(sqlite3_errmsg(db), "page_chunk 9"));
	run(db, "ROLLBACK TO s; RELEASE s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_rows_come_merged_by_capture_time_cpu_and_sequence),
		cmocka_unit_test(constraints_choose_the_rows_a_plain_table_would),
		cmocka_unit_test(order_by_time_mixes_captures_without_sorting),
		cmocka_unit_test(rowids_are_unique),
		cmocka_unit_test(joins_give_the_constraint_from_the_other_table),
		cmocka_unit_test(a_view_may_use_it_and_nobody_may_write),
		cmocka_unit_test(a_damaged_chunk_is_an_error_with_its_number),
	};

	return cmocka_run_group_tests_name("vtab_page", tests, setup, teardown);
}
