// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_views.c - the views over events made by hand: pairs, nesting, loss, and what is not known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "schema/schema.h"

static char dir[64];
static struct store *store;

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
	return store_capture_begin(store, &info, &id, NULL);
}

static int teardown(void **state)
{
	char command[128];

	store_close(store, NULL);
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}

static void run(const char *sql)
{
	struct err err = { 0 };

	if (store_exec(store, sql, &err))
		fail_msg("%s: %s", sql, err.text);
}

/* All rows of @sql as text: values joined by ',', rows by ' ', NULL as '-'. */
static void expect(const char *sql, const char *wanted)
{
	struct err err = { 0 };
	struct query *query;
	char text[2048] = "";
	size_t used = 0;

	if (query_open(store, &query, sql, &err))
		fail_msg("%s: %s", sql, err.text);
	while (query_step(query, &err) == 1) {
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s", used ? " " : "");
		for (int i = 0; i < query_columns(query); i++)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
						 i ? "," : "", query_is_null(query, i) ? "-" :
						 query_text(query, i));
	}
	query_close(query);
	if (strcmp(text, wanted))
		fail_msg("%s\n     is %s\n wanted %s", sql, text, wanted);
}

/* The same of reclaim_episode: of the view in SQL, and of what a store hides it behind. */
static void expect_episodes(const char *columns, const char *rest, const char *wanted)
{
	static const char *const forms[] = { "reclaim_episode", "main.reclaim_episode" };
	char sql[512];

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		snprintf(sql, sizeof(sql), "SELECT %s FROM %s %s", columns, forms[i], rest);
		expect(sql, wanted);
	}
}

static void begin(const char *kind, int ts, int pid)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "INSERT INTO mm_vmscan_%s_reclaim_begin(capture_id, ts_ns, cpu, pid,"
		 " \"order\") VALUES(1, %d, 0, %d, 0)",
		 kind, ts, pid);
	run(sql);
}

static void end(const char *kind, int ts, int pid, int nr_reclaimed)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "INSERT INTO mm_vmscan_%s_reclaim_end(capture_id, ts_ns, cpu, pid,"
		 " nr_reclaimed) VALUES(1, %d, 1, %d, %d)",
		 kind, ts, pid, nr_reclaimed);
	run(sql);
}

static void shrink(int ts, int pid, int nr_scanned, int nr_reclaimed)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "INSERT INTO mm_vmscan_lru_shrink_inactive(capture_id, ts_ns, cpu,"
		 " pid, nid, nr_scanned, nr_reclaimed, nr_activate0, nr_activate1, priority,"
		 " reclaim_flags) VALUES(1, %d, 0, %d, 0, %d, %d, 1, 2, 12, 18)",
		 ts, pid, nr_scanned, nr_reclaimed);
	run(sql);
}

static void lose(int cpu, int from, int to)
{
	assert_int_equal(store_gap(store, 1, "reclaim", cpu, from, to, VALUE_OF_INT(5), NULL), 0);
}

#define EPISODES "kind, pid, start_ns, end_ns, duration_ns, nr_reclaimed, nr_scanned", \
	"ORDER BY pid, coalesce(start_ns, end_ns), start_ns IS NULL"

static void every_view_works_on_an_empty_database(void **state)
{
	static const char *const views[] = {
		"reclaim_episode", "kswapd_run", "lru_scan",	 "shrinker_call",
		"stats_flush",	   "throttle",	 "eviction",	 "refault",
		"replay_result",   "gap_edge",	 "reclaim_mark", "reclaim_cpu",
	};
	char sql[64];

	for (size_t i = 0; i < ARRAY_SIZE(views); i++) {
		snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", views[i]);
		expect(sql, "0");
	}
	expect("SELECT count(*) FROM sqlite_schema WHERE type = 'view'", "13");
}

static void episodes_of_interleaved_tasks_pair_by_task(void **state)
{
	begin("direct", 100, 1);
	begin("direct", 110, 2);
	end("direct", 120, 2, 20);
	end("direct", 130, 1, 10);
	begin("memcg", 140, 1);
	end("memcg", 141, 1, 7);
	expect_episodes(EPISODES,
			"direct,1,100,130,30,10,- memcg,1,140,141,1,7,- direct,2,110,120,10,20,-");
}

static void nested_episodes_pair_by_kind_and_share_what_was_scanned(void **state)
{
	begin("direct", 100, 1);
	shrink(101, 1, 1, 1);
	begin("memcg_softlimit", 110, 1);
	shrink(111, 1, 10, 10);
	end("memcg_softlimit", 120, 1, 10);
	shrink(121, 1, 100, 50);
	shrink(122, 2, 1000, 50);
	end("direct", 130, 1, 61);
	expect_episodes(EPISODES, "direct,1,100,130,30,61,111 softlimit,1,110,120,10,10,10");
}

static void half_episodes_keep_null(void **state)
{
	end("direct", 90, 1, 3);
	begin("direct", 100, 1);
	begin("direct", 110, 1);
	end("direct", 120, 1, 5);
	begin("node", 200, 1);
	expect_episodes(EPISODES,
			"direct,1,-,90,-,3,- direct,1,100,-,-,-,- direct,1,110,120,10,5,- "
			"node,1,200,-,-,-,-");
}

static void switched(int ts, int prev, int next)
{
	char sql[256];

	snprintf(sql, sizeof(sql), "INSERT INTO sched_switch(capture_id, ts_ns, cpu, pid, prev_pid,"
		 " next_pid) VALUES(1, %d, 0, %d, %d, %d)", ts, prev, prev, next);
	run(sql);
}

static void time_off_the_cpu_is_not_cpu_time(void **state)
{
	switched(90, 0, 7);
	begin("memcg", 100, 7);
	switched(110, 7, 0);	/* off for 30 */
	switched(140, 0, 7);
	begin("direct", 150, 7);
	switched(160, 7, 0);	/* off for 5, in both */
	switched(165, 0, 7);
	end("direct", 170, 7, 1);
	end("memcg", 200, 7, 8);
	switched(210, 7, 0);	/* outside */
	switched(310, 0, 7);
	begin("memcg", 320, 7);
	end("memcg", 330, 7, 1);
	expect("SELECT kind, duration_ns, off_cpu_ns, cpu_ns FROM reclaim_cpu ORDER BY start_ns",
	       "memcg,100,35,65 direct,20,5,15 memcg,10,0,10");
}

/* Task 7 was followed, 8 was not: only its switches with 7 were recorded. */
static void half_recorded_switches_leave_cpu_time_unknown(void **state)
{
	switched(10, 8, 7);	/* 8 out */
	switched(50, 7, 8);	/* 8 in; then it went and came back unseen */
	switched(80, 0, 7);
	switched(90, 7, 8);	/* 8 in again */
	begin("memcg", 60, 8);
	end("memcg", 100, 8, 3);
	begin("memcg", 82, 7);
	end("memcg", 86, 7, 3);
	switched(102, 0, 8);
	begin("memcg", 120, 9);	/* never seen to switch */
	end("memcg", 125, 9, 3);
	expect("SELECT pid, duration_ns, off_cpu_ns, cpu_ns FROM reclaim_cpu ORDER BY pid",
	       "7,4,0,4 8,40,-,- 9,5,-,-");
}

static void loss_of_switches_leaves_cpu_time_unknown(void **state)
{
	switched(90, 0, 7);
	begin("memcg", 100, 7);
	end("memcg", 200, 7, 8);
	begin("memcg", 300, 7);
	end("memcg", 310, 7, 8);
	run("INSERT INTO gap(capture_id, stream, cpu, from_ns, to_ns) VALUES(1, 'demand', 0, 150, "
	    "160)");
	expect("SELECT duration_ns, cpu_ns FROM reclaim_cpu ORDER BY start_ns", "100,- 10,10");
}

static void kswapd_cpu_is_from_wake_to_sleep_without_its_naps(void **state)
{
	run("INSERT INTO mm_vmscan_kswapd_wake(capture_id, ts_ns, cpu, pid, nid, \"order\")"
	    " VALUES(1, 100, 0, 40, 0, 0)");
	switched(90, 0, 40);
	switched(150, 40, 0);
	switched(180, 0, 40);
	run("INSERT INTO mm_vmscan_kswapd_sleep(capture_id, ts_ns, cpu, pid, nid)"
	    " VALUES(1, 200, 0, 40, 0)");
	switched(201, 40, 0);
	expect("SELECT kind, duration_ns, off_cpu_ns, cpu_ns FROM reclaim_cpu", "kswapd,100,30,70");
}

static void pair_across_a_gap_is_no_pair(void **state)
{
	begin("direct", 100, 1);
	end("direct", 110, 1, 1);
	begin("direct", 120, 1);	/* its end and the next begin were lost */
	end("direct", 150, 1, 3);
	begin("direct", 160, 1);
	end("direct", 170, 1, 4);
	begin("direct", 155, 2);	/* within the gap of another CPU, from end to end */
	end("direct", 158, 2, 5);
	lose(0, 121, 149);
	lose(1, 150, 160);
	expect_episodes(EPISODES,
			"direct,1,100,110,10,1,- direct,1,120,-,-,-,- direct,1,-,150,-,3,- "
			"direct,1,160,170,10,4,- direct,2,155,-,-,-,- direct,2,-,158,-,5,-");
}

static void loss_of_page_demand_breaks_no_episode(void **state)
{
	begin("direct", 100, 1);
	end("direct", 110, 1, 1);
	assert_int_equal(store_gap(store, 1, "demand", 0, 101, 105, VALUE_NONE, NULL), 0);
	expect_episodes(EPISODES, "direct,1,100,110,10,1,-");
}

static void many_gaps_on_one_cpu_are_all_seen(void **state)
{
	for (int i = 0; i < 100; i++) {
		begin("direct", 1000 * i, 1);
		end("direct", 1000 * i + 500, 1, 1);
		if (i % 2)
			lose(0, 1000 * i + 100, 1000 * i + 200);
		lose(1, 1000 * i + 600, 1000 * i + 700);
	}
	expect_episodes("count(*), count(duration_ns), sum(nr_reclaimed)", "", "150,50,100");
}

static void end_and_next_begin_in_one_microsecond_still_pair(void **state)
{
	begin("memcg", 1000, 1);
	shrink(2000, 1, 8, 8);
	end("memcg", 3000, 1, 8);
	begin("memcg", 3000, 1);
	shrink(4000, 1, 16, 16);
	end("memcg", 5000, 1, 16);
	expect_episodes(EPISODES, "memcg,1,1000,3000,2000,8,8 memcg,1,3000,5000,2000,16,16");
}

static void captures_do_not_mix(void **state)
{
	begin("direct", 100, 1);
	run("INSERT INTO mm_vmscan_direct_reclaim_end(capture_id, ts_ns, pid, nr_reclaimed) "
	    "VALUES(2, 110, 1, 9)");
	shrink(105, 1, 3, 3);
	expect_episodes("capture_id, start_ns, end_ns, nr_reclaimed, nr_scanned", "ORDER BY 1",
			"1,100,-,-,- 2,-,110,9,-");
}

static void one_pass_gives_the_episodes_of_the_view(void **state)
{
	static const char *const names[] = { "direct", "memcg", "memcg_softlimit", "node" };
	uint64_t seed = 3;
	int ts = 1000;

	expect("SELECT count(*) FROM temp.sqlite_schema WHERE name = 'reclaim_episode'", "1");
	run("BEGIN");
	for (int i = 0; i < 3000; i++) {
		const char *kind = names[rand_next(&seed) % 4];
		int pid = 1 + (int)(rand_next(&seed) % 3);

		ts += (int)(rand_next(&seed) % 3);
		switch (rand_next(&seed) % 4) {
		case 0:
			begin(kind, ts, pid);
			break;
		case 1:
			if (strcmp(kind, "node"))
				end(kind, ts, pid, i);
			break;
		case 2:
			shrink(ts, pid, i, i);
			break;
		default:
			if (rand_next(&seed) % 20 == 0)
				lose(i % 2, ts, ts + 1);
		}
	}
	run("UPDATE mm_vmscan_direct_reclaim_begin SET gfp_flags = 'GFP_KERNEL', cpu = NULL WHERE "
	    "pid = 2;"
	    "UPDATE mm_vmscan_direct_reclaim_begin SET gfp_flags = 17 WHERE pid = 3;"
	    "UPDATE mm_vmscan_direct_reclaim_end SET capture_id = 2 WHERE pid = 3;"
	    "UPDATE mm_vmscan_memcg_reclaim_begin SET capture_id = 2 WHERE pid = 1;"
	    "COMMIT");
	expect("SELECT count(*) > 500, count(duration_ns) > 100, count(start_ns) < count(*),"
	       " count(*) = (SELECT count(*) FROM main.reclaim_episode) FROM reclaim_episode",
	       "1,1,1,1");
	expect("SELECT * FROM reclaim_episode EXCEPT SELECT * FROM main.reclaim_episode", "");
	expect("SELECT count(*) FROM temp.sqlite_schema WHERE name = 'reclaim_cpu'", "1");
	expect("SELECT * FROM reclaim_cpu EXCEPT SELECT * FROM main.reclaim_cpu", "");
	expect("SELECT * FROM main.reclaim_episode WHERE capture_id = 2 EXCEPT "
	       "SELECT * FROM reclaim_episode WHERE capture_id = 2", "");
}

static void wake(int ts, int order)
{
	char sql[160];

	snprintf(sql, sizeof(sql),
		 "INSERT INTO mm_vmscan_kswapd_wake(capture_id, ts_ns, cpu, pid, nid,"
		 " \"order\") VALUES(1, %d, 0, 40, 0, %d)",
		 ts, order);
	run(sql);
}

static void sleep_at(int ts)
{
	char sql[160];

	snprintf(sql, sizeof(sql),
		 "INSERT INTO mm_vmscan_kswapd_sleep(capture_id, ts_ns, cpu, pid, nid)"
		 " VALUES(1, %d, 0, 40, 0)",
		 ts);
	run(sql);
}

#define RUNS "SELECT nid, start_ns, end_ns, duration_ns, nr_wakes, page_order, nr_scanned, " \
	"nr_reclaimed FROM kswapd_run ORDER BY start_ns"

static void kswapd_runs_from_first_wake_to_sleep(void **state)
{
	sleep_at(50);
	wake(100, 0);
	shrink(110, 40, 32, 30);
	wake(120, 3);
	shrink(130, 40, 32, 20);
	shrink(130, 41, 999, 999);
	sleep_at(150);
	wake(200, 0);
	shrink(210, 40, 5, 5);
	expect(RUNS, "0,100,150,50,2,3,64,50 0,200,-,-,1,0,5,5");
}

static void kswapd_run_across_a_gap_has_no_end(void **state)
{
	wake(100, 0);
	shrink(110, 40, 32, 30);
	lose(0, 120, 130);
	shrink(140, 40, 32, 30);
	sleep_at(150);
	wake(200, 0);
	sleep_at(210);
	expect(RUNS, "0,100,-,-,1,0,-,- 0,200,210,10,1,0,0,0");
}

static void kswapd_without_scan_events_has_unknown_counts(void **state)
{
	wake(100, 0);
	sleep_at(150);
	expect(RUNS, "0,100,150,50,1,0,-,-");
}

static void isolate(int ts, int pid, const char *lru, int scanned, int taken)
{
	char sql[256];

	snprintf(sql, sizeof(sql), "INSERT INTO mm_vmscan_lru_isolate(capture_id, ts_ns, cpu, pid,"
		 " \"order\", nr_requested, nr_scanned, nr_skipped, nr_taken, lru) "
		 "VALUES(1, %d, 0, %d, 0, 32, %d, 0, %d, %s)", ts, pid, scanned, taken, lru);
	run(sql);
}

static void isolate_and_shrink_make_one_scan(void **state)
{
	isolate(100, 1, "2", 40, 32);
	isolate(101, 2, "'active_anon'", 9, 8);
	shrink(110, 1, 32, 29);
	run("INSERT INTO mm_vmscan_lru_shrink_active(capture_id, ts_ns, cpu, pid, nid, nr_taken, "
	    "nr_active, nr_deactivated, reclaim_flags) VALUES(1, 111, 0, 2, 0, 8, 3, 5, "
	    "'RECLAIM_WB_ANON')");
	isolate(120, 1, "0", 1, 0);
	isolate(130, 1, "2", 0, 5);
	shrink(140, 1, 5, 5);
	shrink(150, 3, 4, 4);
	expect("SELECT start_ns, end_ns, pid, list, is_file, nr_scanned, nr_taken, nr_reclaimed, "
	       "nr_activated, nr_deactivated FROM lru_scan ORDER BY coalesce(start_ns, end_ns)",
	       "100,110,1,inactive,1,40,32,29,3,- 101,111,2,active,0,9,8,-,3,5 "
	       "120,-,1,inactive,0,1,0,-,-,- 130,140,1,inactive,1,5,5,5,3,- "
	       "-,150,3,inactive,1,4,-,4,3,-");
}

static void scan_across_a_gap_is_two_halves(void **state)
{
	isolate(100, 1, "2", 40, 32);
	lose(1, 101, 105);
	shrink(110, 1, 32, 29);
	expect("SELECT start_ns, end_ns, nr_taken, nr_reclaimed FROM lru_scan "
	       "ORDER BY coalesce(start_ns, end_ns)", "100,-,32,- -,110,-,29");
}

static void old_kernels_have_one_activation_count(void **state)
{
	run("INSERT INTO mm_vmscan_lru_shrink_inactive(capture_id, ts_ns, pid, nr_scanned, "
	    "nr_activate) "
	    "VALUES(1, 5, 1, 10, 7), (1, 6, 1, 10, NULL)");
	expect("SELECT nr_activated FROM lru_scan ORDER BY end_ns", "7 -");
}

static void shrinker(const char *which, int ts, int pid, int shr, int total_scan, int freed)
{
	char sql[256];

	if (!strcmp(which, "start"))
		snprintf(
			sql, sizeof(sql),
			"INSERT INTO mm_shrink_slab_start(capture_id, ts_ns, cpu, pid,"
			" shr, nid, total_scan, cache_items) VALUES(1, %d, 0, %d, %d, 0, %d, 1000)",
			ts, pid, shr, total_scan);
	else
		snprintf(sql, sizeof(sql),
			 "INSERT INTO mm_shrink_slab_end(capture_id, ts_ns, cpu, pid,"
			 " shr, nid, total_scan, retval) VALUES(1, %d, 0, %d, %d, 0, %d, %d)",
			 ts, pid, shr, total_scan, freed);
	run(sql);
}

static void shrinker_calls_pair_by_task_and_shrinker(void **state)
{
	shrinker("start", 100, 1, 7, 128, 0);
	shrinker("start", 105, 2, 7, 256, 0);
	shrinker("end", 110, 1, 7, 28, 60);
	shrinker("end", 125, 2, 7, 0, 200);
	shrinker("start", 130, 1, 8, 9, 0);
	shrinker("end", 140, 1, 9, 0, 4);
	expect("SELECT pid, shrinker, start_ns, end_ns, duration_ns, nr_to_scan, nr_scanned, "
	       "nr_freed, "
	       "nr_objects FROM shrinker_call ORDER BY coalesce(start_ns, end_ns)",
	       "1,7,100,110,10,128,100,60,1000 2,7,105,125,20,256,256,200,1000 "
	       "1,8,130,-,-,9,-,-,1000 1,9,-,140,-,-,-,4,-");
}

static void shrinker_function_is_named_where_its_symbol_is_known(void **state)
{
	run("INSERT INTO mm_shrink_slab_start(capture_id, ts_ns, pid, shr, nid, shrink) VALUES"
	    "(1, 1, 1, 7, 0, -1659299968), (1, 2, 1, 8, 0, 4096), (1, 3, 1, 9, 0, "
	    "'super_cache_scan')");
	assert_int_equal(store_context(store, 1, 1, "start", "symbol", "0xffffffff9d191780",
				       VALUE_OF_TEXT("kfree_rcu_shrink_scan"), NULL), 0);
	expect("SELECT function FROM shrinker_call ORDER BY start_ns",
	       "kfree_rcu_shrink_scan 4096 super_cache_scan");
}

static void rstat(const char *what, int ts, int pid)
{
	char sql[160];

	snprintf(sql, sizeof(sql), "INSERT INTO cgroup_rstat_%s(capture_id, ts_ns, cpu, pid, id, "
		 "contended) VALUES(1, %d, 0, %d, 3, 1)", what, ts, pid);
	run(sql);
}

static void flush_sums_the_lock_holds_that_follow_it(void **state)
{
	run("INSERT INTO memcg_flush_stats(capture_id, ts_ns, cpu, pid, id, stats_updates, force, "
	    "needs_flush) VALUES(1, 100, 1, 5, 77, 300, 0, 1), (1, 400, 1, 6, 78, 2, 0, 0)");
	rstat("locked", 110, 5);
	rstat("unlock", 130, 5);
	rstat("locked", 140, 5);
	rstat("unlock", 145, 5);
	rstat("locked", 200, 9);	/* a reader of cgroup files */
	rstat("unlock", 207, 9);
	rstat("locked", 300, 10);	/* its unlock was not seen */
	expect("SELECT ts_ns, pid, memcg_id, stats_updates, is_needed, nr_lock_holds, lock_hold_ns "
	       "FROM stats_flush ORDER BY ts_ns", "100,5,77,300,1,2,25 200,9,-,-,-,1,7 "
	       "300,10,-,-,-,1,- 400,6,78,2,0,0,-");
}

static void flush_without_lock_events_has_unknown_holds(void **state)
{
	run("INSERT INTO memcg_flush_stats(capture_id, ts_ns, pid, id) VALUES(1, 100, 5, 77)");
	expect("SELECT memcg_id, nr_lock_holds, lock_hold_ns FROM stats_flush", "77,-,-");
}

static void throttle_reasons_have_names(void **state)
{
	run("INSERT INTO mm_vmscan_throttled(capture_id, ts_ns, pid, nid, usec_timeout, "
	    "usec_delayed, "
	    "reason) VALUES(1, 1, 1, 0, 100, 50, 1), "
	    "(1, 2, 1, 0, 100, 100, 'VMSCAN_THROTTLE_NOPROGRESS')");
	run("INSERT INTO balance_dirty_pages(capture_id, ts_ns, pid, pause) VALUES(1, 3, 2, 20), "
	    "(1, 4, 2, 0)");
	expect("SELECT kind, reason, timeout_ns, delayed_ns FROM throttle ORDER BY ts_ns",
	       "reclaim,writeback,100000,50000 reclaim,noprogress,100000,100000 "
	       "dirty,balance_dirty_pages,-,20000000");
}

static void page(struct page_packer *packer, uint64_t ts, int op, uint32_t pid, uint64_t index,
		 uint32_t pages, uint32_t flags)
{
	const struct page_event event = {
		.ts_ns = ts, .op = (uint8_t)op, .pid = pid, .file_id = 1, .page_index = index,
		.pages = pages, .flags = flags,
	};

	page_packer_add(packer, &event);
}

static void evictions_are_told_from_truncations(void **state)
{
	struct page_packer *packer = page_packer_new(1, 0, 0);
	struct page_chunk chunk;

	store_task(store, 1, 40, 40, "kswapd0", NULL, 0, NULL);
	page(packer, 10, PAGE_OP_DELETE, 40, 0, 1, 0);			/* by kswapd */
	page(packer, 20, PAGE_OP_DELETE, 5, 4, 4, PAGE_EV_IN_RECLAIM);	/* in direct reclaim */
	page(packer, 30, PAGE_OP_DELETE, 5, 8, 1, 0);			/* truncation */
	page(packer, 40, PAGE_OP_EVICT, 0, 9, 1, 0);
	page(packer, 50, PAGE_OP_ADD, 5, 0, 1, 0);	/* 5 pages evicted since */
	page(packer, 60, PAGE_OP_ADD, 5, 8, 1, 0);	/* was truncated, not evicted */
	page(packer, 70, PAGE_OP_ADD, 5, 0, 1, 0); /* added twice: only the first is a refault */
	page_packer_take(packer, &chunk);
	page_packer_free(packer);
	assert_int_equal(store_page_chunk(store, &chunk, NULL), 0);
	page_chunk_release(&chunk);
	expect("SELECT ts_ns, page_index, pages FROM eviction ORDER BY ts_ns",
	       "10,0,1 20,4,4 40,9,1");
	expect("SELECT ts_ns, page_index, evicted_ns, away_ns, distance_pages FROM refault",
	       "50,0,10,40,5");
}

static void results_have_ratios(void **state)
{
	struct result_key key = { 1, "lru", "", 256, "builtin", 0 };
	const struct result_counter counters[] = {
		{ "accesses", VALUE_OF_INT(10) }, { "hits", VALUE_OF_INT(4) },
		{ "misses", VALUE_OF_INT(6) }, { "refaults", VALUE_OF_COUNTER(UINT64_MAX) },
	};
	struct err err = { 0 };
	int64_t id, again;
	bool found;

	run("INSERT INTO demand_stream(capture_id, nr_records, nr_accesses, nr_distinct_pages, "
	    "nr_ids, "
	    "first_ts_ns, last_ts_ns, ops_mask, sample_mask, has_hits, coverage_pct, completeness) "
	    "VALUES(1, 1, 10, 5, 5, 0, 9, 1, 0, 1, 100, 'complete')");
	assert_int_equal(store_result(store, &key, "interrupted", counters, 4, &id, NULL), 0);
	assert_int_equal(store_result_find(store, &key, &again, &found, NULL), 0);
	assert_true(again == id && !found);
	assert_int_equal(store_result(store, &key, "complete", counters, 4, &id, NULL), 0);
	assert_int_equal(store_result_find(store, &key, &again, &found, NULL), 0);
	assert_true(found);
	expect("SELECT hit_ratio, miss_ratio, memory_bytes, refaults, cpu_ns FROM replay_result",
	       "0.4,0.6,1048576,-,-");
	key.stream_id = 2;
	assert_int_not_equal(store_result(store, &key, "complete", counters, 4, &id, &err), 0);
	assert_non_null(strstr(err.text, "no demand stream 2"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* seen and lost are summed apart: a join of gaps with events would count each for every other. */
static void coverage_counts_each_gap_and_each_event_once(void **state)
{
	static const char coverage[] = "SELECT nr_gaps, events_lost, round(coverage_pct, 3) "
		"FROM capture_coverage WHERE capture_id = 1";

	run("DELETE FROM event_type; DELETE FROM gap; DELETE FROM page_chunk;"
	    "INSERT INTO event_type(capture_id, system, name, stored_as, nr_events) VALUES"
	    "(1, 'vmscan', 'a', 'table', 100), (1, 'vmscan', 'b', 'table', 800),"
	    "(1, 'memcg', 'c', 'missing', NULL)");
	expect(coverage, "0,0,100.0");
	run("INSERT INTO gap(capture_id, stream, cpu, from_ns, to_ns, events_lost) VALUES"
	    "(1, 'page', 0, 1, 2, 60), (1, 'page', 1, 1, 2, 40)");
	expect(coverage, "2,100,90.0");
	run("INSERT INTO gap(capture_id, stream, from_ns, to_ns) VALUES(1, 'page', 5, 6)");
	expect(coverage, "3,-,-");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(coverage_counts_each_gap_and_each_event_once),
		TEST(every_view_works_on_an_empty_database),
		TEST(episodes_of_interleaved_tasks_pair_by_task),
		TEST(nested_episodes_pair_by_kind_and_share_what_was_scanned),
		TEST(half_episodes_keep_null),
		TEST(time_off_the_cpu_is_not_cpu_time),
		TEST(half_recorded_switches_leave_cpu_time_unknown),
		TEST(loss_of_switches_leaves_cpu_time_unknown),
		TEST(kswapd_cpu_is_from_wake_to_sleep_without_its_naps),
		TEST(pair_across_a_gap_is_no_pair),
		TEST(loss_of_page_demand_breaks_no_episode),
		TEST(many_gaps_on_one_cpu_are_all_seen),
		TEST(end_and_next_begin_in_one_microsecond_still_pair),
		TEST(captures_do_not_mix),
		TEST(one_pass_gives_the_episodes_of_the_view),
		TEST(kswapd_runs_from_first_wake_to_sleep),
		TEST(kswapd_run_across_a_gap_has_no_end),
		TEST(kswapd_without_scan_events_has_unknown_counts),
		TEST(isolate_and_shrink_make_one_scan),
		TEST(scan_across_a_gap_is_two_halves),
		TEST(old_kernels_have_one_activation_count),
		TEST(shrinker_calls_pair_by_task_and_shrinker),
		TEST(shrinker_function_is_named_where_its_symbol_is_known),
		TEST(flush_sums_the_lock_holds_that_follow_it),
		TEST(flush_without_lock_events_has_unknown_holds),
		TEST(throttle_reasons_have_names),
		TEST(evictions_are_told_from_truncations),
		TEST(results_have_ratios),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
