#!/usr/bin/env bats
# schema.bats - the database as users of the plain sqlite3 shell see it, filled from real recordings.

setup() {
	cd "$BATS_TEST_DIRNAME/../.."
	command -v sqlite3 >/dev/null || skip 'no sqlite3 shell'
	t=$BATS_TEST_TMPDIR
	db=$t/run.db
}

import() { ./pagereel import -o "$db" "$@" >/dev/null 2>&1; }

# An event that no kernel has, 40 000 times in 0.4 s.
fast_trace() {
	awk 'BEGIN {
		print "# tracer: nop\n#"
		for (i = 0; i < 40000; i++)
			printf "  worker-%d [%03d] .... %.6f: speedy_event: n=%d word=w%d\n",
				100 + i % 3, i % 2, 1000 + i / 100000, i, i % 5
	}'
}

@test "what the views say was reclaimed is what left the page cache" {
	import tests/data/linux-6.12-classic.dat
	said=$(sqlite3 "$db" "SELECT coalesce((SELECT sum(nr_reclaimed) FROM kswapd_run), 0)
		+ coalesce((SELECT sum(nr_reclaimed) FROM reclaim_episode WHERE kind <> 'softlimit'), 0)")
	left=$(sqlite3 "$db" '.load ./pagereel' 'SELECT sum(pages) FROM eviction')
	scans=$(sqlite3 "$db" 'SELECT sum(nr_reclaimed) FROM lru_scan')
	[ "$left" -gt 0 ]
	[ "$said" = "$left" ]
	[ "$scans" = "$left" ]
	# every scan was isolated and shrunk, every shrinker call has its end
	[ "$(sqlite3 "$db" 'SELECT count(*) FROM lru_scan WHERE start_ns IS NULL OR
		(end_ns IS NULL AND nr_taken > 0)')" = 0 ]
	[ "$(sqlite3 "$db" 'SELECT count(*) FROM shrinker_call WHERE duration_ns IS NULL')" = 0 ]
}

@test "the plain shell reads every table and view but the packed ones" {
	import tests/data/linux-6.12-classic.dat
	for name in $(sqlite3 "$db" "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')
			AND name NOT IN ('eviction', 'refault')"); do
		sqlite3 "$db" "SELECT count(*) FROM \"$name\"" >/dev/null
	done
	run sqlite3 "$db" 'SELECT count(*) FROM eviction'
	[[ $output = *page_event* ]]
	sqlite3 "$db" '.load ./pagereel' 'SELECT count(*) FROM refault'
}

@test "a fast event is packed, and reads the same everywhere" {
	fast_trace >"$t/fast.txt"
	import "$t/fast.txt"
	[ "$(sqlite3 "$db" "SELECT stored_as FROM event_type WHERE name = 'speedy_event'")" = packed ]
	q="SELECT count(*), sum(n), count(DISTINCT word), min(pid), max(cpu) FROM speedy_event"
	[ "$(sqlite3 "$db" '.load ./pagereel' "$q")" = '40000|799980000|5|100|1' ]
	[ "$(./pagereel sql "$db" --format csv "$q" | tail -1)" = 40000,799980000,5,100,1 ]
	# attached to another database
	[ "$(sqlite3 :memory: "ATTACH '$db' AS x" '.load ./pagereel' "$q")" = '40000|799980000|5|100|1' ]
	# read-only: nothing can be written through it
	run sqlite3 "$db" '.load ./pagereel' 'DELETE FROM speedy_event'
	[ "$status" != 0 ]
	[ "$(sqlite3 "$db" 'PRAGMA integrity_check')" = ok ]
}

@test "a closed database is one file that a read-only directory can hold" {
	import tests/data/linux-6.12-classic.dat
	[ "$(ls "$t" | wc -l)" = 1 ]
	[ "$(stat -c %a "$db")" = 600 ]
	[ "$(sqlite3 "$db" 'PRAGMA journal_mode')" = delete ]
}
