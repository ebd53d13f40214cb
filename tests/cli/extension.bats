#!/usr/bin/env bats
# extension.bats - packed page events in the plain sqlite3 shell and in pagereel sql, alike.

setup() {
	cd "$BATS_TEST_DIRNAME/../.."
	command -v sqlite3 >/dev/null || skip "no sqlite3 shell (apt-get install sqlite3)"
	db=$BATS_TEST_TMPDIR/run.db
	./pagereel import -o "$db" tests/data/linux-6.12-classic.dat >/dev/null 2>&1
	shell() { sqlite3 -batch "$db" -cmd '.load ./pagereel' "$1"; }
}

@test ".load ./pagereel finds the library beside the program of the same name" {
	[ -x ./pagereel ] && [ -e ./pagereel.so ]
	run shell "SELECT op, count(*), sum(pages) FROM page_event GROUP BY op ORDER BY op"
	[ "$status" = 0 ]
	[ "$output" = "activate|2821|
add|6510|6510
delete|6623|6623
insert|6529|
map|10|160
read|9582|9582" ]
}

@test "the shell and pagereel sql read the same rows" {
	q="SELECT * FROM page_event WHERE op IN ('add', 'delete') ORDER BY ts_ns LIMIT 1000 OFFSET 5000"
	shell "$q" >"$BATS_TEST_TMPDIR/shell"
	./pagereel sql "$db" "$q" --format csv | tail -n +2 | tr , '|' | tr -d '\r' >"$BATS_TEST_TMPDIR/sql"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/shell")" = 1000 ]
	cmp "$BATS_TEST_TMPDIR/shell" "$BATS_TEST_TMPDIR/sql"
}

@test "without the extension everything but the packed events reads" {
	run sqlite3 -batch "$db" "SELECT count(*) FROM page_event"
	[ "$status" != 0 ]
	[[ $output = *"no such table: page_event"* ]]
	[ "$(sqlite3 -batch "$db" "SELECT sum(nr_events) FROM page_chunk")" = 32075 ]
}

@test "a database that is no capture gives one line, not a crash" {
	run sqlite3 -batch "$BATS_TEST_TMPDIR/other.db" -cmd '.load ./pagereel' "SELECT * FROM page_event"
	[ "$status" = 11 ]	# SQLITE_CORRUPT: bad input, as pagereel's own exit status 3 says it
	[[ $output = *"page_event: cannot read page events: no such table: page_chunk"* ]]
}

@test "the library loads into a read-only database" {
	chmod 400 "$db"
	run sqlite3 -batch -readonly "$db" -cmd '.load ./pagereel' "SELECT count(*) FROM page_event"
	[ "$output" = 32075 ]
}
