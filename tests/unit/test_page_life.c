// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_page_life.c - page_life, one pass that remembers, against windows over every page of every
 * event, which is how one would ask SQL.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "schema/schema.h"

enum { NR_EVENTS = 900, NR_CAPTURES = 2, KSWAPD = 7 };

static char dir[64];
static struct store *store;

static void put_events(int64_t capture_id, uint64_t seed)
{
	static const uint8_t ops[] = {
		PAGE_OP_ADD,	PAGE_OP_ADD,   PAGE_OP_ADD,	 PAGE_OP_DELETE,   PAGE_OP_DELETE,
		PAGE_OP_DELETE, PAGE_OP_READ,  PAGE_OP_READ,	 PAGE_OP_FAULT,	   PAGE_OP_MAP,
		PAGE_OP_WRITE,	PAGE_OP_EVICT, PAGE_OP_ACTIVATE, PAGE_OP_TRUNCATE,
	};
	struct page_packer *packer = page_packer_new(capture_id, 0, 0);
	struct page_event last = { 0 };
	struct page_chunk chunk;

	for (int i = 0; i < NR_EVENTS; i++) {
		struct page_event e = {
			.ts_ns = 1000 + 10 * (uint64_t)i,
			.op = ops[rand_next(&seed) % sizeof(ops)],
			.pid = rand_next(&seed) % 10 ? 5 + rand_next(&seed) % 3 : 40,
			.file_id = (uint32_t)(4 * capture_id + rand_next(&seed) % 3),
			.page_index = rand_next(&seed) % 200,
			.pages = 1U << rand_next(&seed) % 7,
			.flags = rand_next(&seed) % 2 ? PAGE_EV_IN_RECLAIM : 0,
		};

		if (e.pid == 40 && (e.op == PAGE_OP_READ || e.op == PAGE_OP_FAULT))
			e.pid = 5;	/* 40's reads are not recorded */
		if (e.op == PAGE_OP_ADD && rand_next(&seed) % 2)
			e.page_index = last.page_index + last.pages;	/* a run */
		if (e.op == PAGE_OP_READ && last.op == PAGE_OP_READ && last.pages > 1) {
			e = last;	/* what is left of the same request */
			e.ts_ns = 1000 + 10 * (uint64_t)i;
			e.page_index++;
			e.pages--;
		}
		last = e;
		page_packer_add(packer, &e);
	}
	page_packer_take(packer, &chunk);
	page_packer_free(packer);
	assert_int_equal(store_page_chunk(store, &chunk, NULL), 0);
	page_chunk_release(&chunk);
}

static int setup(void **state)
{
	const struct capture_info info = { .source = "live", .kernel_release = "6.12.0" };
	char path[128];
	int64_t id;

	strcpy(dir, "/tmp/pagereel-test-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/run.db", dir);
	if (store_create(&store, path, 0, NULL))
		return -1;
	for (int i = 1; i <= NR_CAPTURES; i++) {
		if (store_capture_begin(store, &info, &id, NULL))
			return -1;
		/* one of known size, which requests run past */
		store_file(store, id, (uint32_t)(4 * id), 8, 1, 10, 100 * 4096 + 1, NULL, NULL);
		store_file(store, id, (uint32_t)(4 * id + 1), 8, 1, 11, -1, NULL, NULL);
		store_task(store, id, KSWAPD, KSWAPD, "kswapd0", NULL, 0, NULL);
		put_events(id, (uint64_t)i);
	}
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	store_close(store, NULL);
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}

/* Both queries give the same rows, and some. */
static void same(const char *got, const char *wanted)
{
	struct query *query[2];
	struct err err = { "" };
	int nr = 0, more;

	if (query_open(store, &query[0], got, &err) || query_open(store, &query[1], wanted, &err))
		fail_msg("%s", err.text);
	while ((more = query_step(query[0], &err)) == 1) {
		if (query_step(query[1], &err) != 1)
			fail_msg("row %d is too many %s", nr, err.text);
		for (int i = 0; i < query_columns(query[0]); i++)
			if (query_int(query[0], i) != query_int(query[1], i) ||
			    query_is_null(query[0], i) != query_is_null(query[1], i))
				fail_msg("row %d, %s: %lld, not %lld", nr,
					 query_column_name(query[0], i),
					 (long long)query_int(query[0], i),
					 (long long)query_int(query[1], i));
		nr++;
	}
	if (more || query_step(query[1], &err))
		fail_msg("rows are missing behind %d %s", nr, err.text);
	assert_true(nr > 10);
	query_close(query[0]);
	query_close(query[1]);
}

#define PAGES_OF                                                                                   \
	"clipped AS (SELECT p.*, CASE WHEN op NOT IN ('read', 'fault', 'map', 'write') THEN pages" \
	" WHEN op = 'read' AND lead(page_index + pages) OVER w = page_index + pages"               \
	"  AND lead(page_index) OVER w > page_index THEN lead(page_index) OVER w - page_index"     \
	" ELSE max(min(page_index + pages, coalesce(nullif(max(coalesce((size_bytes + 4095) / "    \
	"4096, 0),"                                                                                \
	"  coalesce((SELECT max(page_index + pages) FROM page_event a WHERE a.op = 'add'"          \
	"  AND a.file_id = p.file_id), 0)), 0), page_index + 512)) - page_index, 0) END AS nr"     \
	" FROM page_event p LEFT JOIN file f ON f.id = p.file_id"                                  \
	" WINDOW w AS (PARTITION BY p.capture_id, pid, op, file_id ORDER BY ts_ns)),"              \
	"gone AS (SELECT c.*, (c.capture_id, ts_ns) IN (SELECT capture_id, ts_ns FROM eviction) "  \
	"AS"                                                                                       \
	" evicted FROM clipped c),"                                                                \
	"n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 600),"                          \
	"page AS (SELECT g.*, page_index + i AS page FROM gone g JOIN n ON i < nr)"

static void refaults_are_adds_of_folios_whose_last_event_was_an_eviction(void **state)
{
	same("SELECT capture_id, ts_ns, pid, file_id, page_index, pages, evicted_ns, away_ns,"
	     " distance_pages FROM refault",
	     "WITH event AS (SELECT capture_id, ts_ns, pid, file_id, page_index, pages, 0 AS is_add"
	     " FROM eviction UNION ALL SELECT capture_id, ts_ns, pid, file_id, page_index, pages, 1"
	     " FROM page_event WHERE op = 'add'),"
	     "aged AS (SELECT *, sum(iif(is_add, 0, pages)) OVER (PARTITION BY capture_id"
	     " ORDER BY ts_ns) AS age FROM event),"
	     "paired AS (SELECT *, lag(is_add) OVER p AS before_is_add, lag(ts_ns) OVER p AS "
	     "before_ns,"
	     " lag(age) OVER p AS before_age FROM aged"
	     " WINDOW p AS (PARTITION BY capture_id, file_id, page_index ORDER BY ts_ns))"
	     "SELECT capture_id, ts_ns, pid, file_id, page_index, pages, before_ns, ts_ns - "
	     "before_ns,"
	     " age - before_age FROM paired WHERE is_add AND before_is_add = 0"
	     " ORDER BY capture_id, ts_ns");
}

static void requests_end_where_their_next_event_begins_or_the_file_ends(void **state)
{
	same("SELECT capture_id, ts_ns, pages FROM page_life"
	     " WHERE +op IN ('read', 'fault', 'map', 'write')",
	     "WITH " PAGES_OF " SELECT capture_id, ts_ns, nr FROM clipped"
	     " WHERE op IN ('read', 'fault', 'map', 'write') ORDER BY capture_id, ts_ns");
}

static void unused_pages_came_in_and_went_out_without_a_request_between(void **state)
{
	same("SELECT capture_id, ts_ns, unused_pages FROM page_life WHERE op = 'evict'",
	     "WITH " PAGES_OF ","
	     "touch AS (SELECT *, CASE WHEN op = 'add' THEN 0 WHEN evicted THEN 2 ELSE 1 END AS "
	     "step"
	     " FROM page p WHERE evicted OR op IN ('read', 'fault', 'map', 'write') OR op = 'add'"
	     "  AND EXISTS (SELECT 1 FROM page_event e WHERE e.capture_id = p.capture_id"
	     "   AND e.pid = p.pid AND e.op IN ('read', 'fault'))),"
	     "placed AS (SELECT *, lag(step) OVER (PARTITION BY capture_id, file_id, page"
	     " ORDER BY ts_ns) AS before_step FROM touch)"
	     "SELECT capture_id, ts_ns, sum(before_step IS 0) FROM placed WHERE step = 2"
	     " GROUP BY 1, 2 ORDER BY 1, 2");
}

static void runs_are_adds_of_a_task_that_follow_each_other_in_the_file(void **state)
{
	same("SELECT min(ts_ns), count(*), sum(pages) FROM page_life WHERE op = 'add'"
	     " GROUP BY capture_id, run ORDER BY capture_id, min(ts_ns)",
	     "WITH fill AS (SELECT *, coalesce(page_index - lag(page_index + pages) OVER w"
	     "  BETWEEN 0 AND 32, 0) AS goes_on FROM page_event WHERE op = 'add'"
	     "  WINDOW w AS (PARTITION BY capture_id, pid, file_id ORDER BY ts_ns)),"
	     "numbered AS (SELECT *, sum(NOT goes_on) OVER (PARTITION BY capture_id, pid, file_id"
	     "  ORDER BY ts_ns) AS run FROM fill)"
	     "SELECT min(ts_ns), count(*), sum(pages) FROM numbered"
	     " GROUP BY capture_id, pid, file_id, run ORDER BY capture_id, min(ts_ns)");
}

static void warm_pages_are_those_whose_first_event_is_no_add_and_yet_to_come(void **state)
{
	same("SELECT capture_id, ts_ns, warm_pages FROM page_life"
	     " WHERE +op IN ('read', 'fault', 'map', 'write') AND pages",
	     "WITH " PAGES_OF ","
	     "moved AS MATERIALIZED (SELECT capture_id, file_id, page, op = 'add' AS is_add,"
	     " min(ts_ns) AS first_ns FROM page WHERE op IN ('add', 'delete', 'evict', 'truncate')"
	     " GROUP BY 1, 2, 3)"
	     "SELECT p.capture_id, p.ts_ns, sum(coalesce(NOT m.is_add AND m.first_ns > p.ts_ns, 1))"
	     " FROM page p LEFT JOIN moved m ON m.capture_id = p.capture_id"
	     " AND m.file_id = p.file_id AND m.page = p.page"
	     " WHERE op IN ('read', 'fault', 'map', 'write') GROUP BY 1, 2 ORDER BY 1, 2");
}

static void one_capture_and_one_op_are_the_rows_of_all(void **state)
{
	same("SELECT ts_ns, pid, unused_pages FROM page_life WHERE capture_id = 2 AND op = 'evict'"
	     " AND ts_ns > 5000 ORDER BY ts_ns",
	     "SELECT ts_ns, pid, unused_pages FROM page_life WHERE +capture_id = 2 AND +op = "
	     "'evict'"
	     " AND +ts_ns > 5000 ORDER BY ts_ns");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refaults_are_adds_of_folios_whose_last_event_was_an_eviction),
		cmocka_unit_test(requests_end_where_their_next_event_begins_or_the_file_ends),
		cmocka_unit_test(unused_pages_came_in_and_went_out_without_a_request_between),
		cmocka_unit_test(runs_are_adds_of_a_task_that_follow_each_other_in_the_file),
		cmocka_unit_test(warm_pages_are_those_whose_first_event_is_no_add_and_yet_to_come),
		cmocka_unit_test(one_capture_and_one_op_are_the_rows_of_all),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
