#!/usr/bin/env bats
# demand.bats - the demand stream of a real recording, derived by the first replay and then kept.

setup() {
	cd "$BATS_TEST_DIRNAME/../.."
	db=$BATS_TEST_TMPDIR/run.db
	./pagereel import -o "$db" tests/data/linux-6.12-classic.dat >/dev/null 2>&1
	sql() { ./pagereel sql "$db" "$1" --format csv | tail -n +2 | tr -d '\r'; }
}

@test "every read of the recording is an access, every other add is readahead" {
	./pagereel replay "$db" -m fifo -M 64M >/dev/null
	[ "$(sql "SELECT nr_accesses, nr_distinct_pages, completeness FROM demand_stream")" = \
		"9582,8927,complete" ]
	[ "$(sql "SELECT sum(pages) >= 8927 FROM demand_extent")" = 1 ]
	[ "$(sql "SELECT count(*) FROM demand_extent a JOIN demand_extent b ON a.first_id < b.first_id
		WHERE a.first_id + a.pages > b.first_id")" = 0 ]
}

@test "a second replay reads the stream of the first" {
	./pagereel replay "$db" -m fifo -M 64M >/dev/null
	before=$(sql "SELECT id, nr_records FROM demand_stream")
	./pagereel replay "$db" -m lru -M 64M >/dev/null
	[ "$(sql "SELECT id, nr_records FROM demand_stream")" = "$before" ]
}

@test "a damaged stream is an error with its place, not a crash" {
	./pagereel replay "$db" -m fifo -M 64M >/dev/null
	./pagereel sql --write "$db" "UPDATE demand_stream SET nr_ids = 100" >/dev/null
	run ./pagereel replay "$db" -m lru -M 64M
	[ "$status" = 3 ]
	[[ $output = *"demand_chunk 0 of stream 1"*"damaged"* ]]
}
