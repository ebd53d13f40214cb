#!/usr/bin/env bats
# info.bats - what a database holds and how far it can be trusted.

setup() {
	cd "$BATS_TEST_DIRNAME/../.."
	db=$BATS_TEST_TMPDIR/run.db
	./pagereel synth -o "$db" 'zipf:file=16M,theta=0.9,accesses=20K,seed=1' >/dev/null 2>&1
	field() { ./pagereel info "$db" --format json | jq -c ".[0].$1"; }
	change() { ./pagereel sql --write "$db" "$1"; }
}

@test "a synthetic stream: source, events and completeness" {
	run ./pagereel info "$db"
	[ "$status" = 0 ]
	[[ $output = *"capture 1: synth of zipf:"* ]]
	[[ $output = *"20,000"*"none lost"* ]]
	[[ $output = *"complete"* ]]
	[ "$(field nr_page_events)" = 20000 ]
	[ "$(field coverage_pct)" = 100 ]
	[ "$(field ended_abnormally)" = 0 ]
}

@test "a capture that was killed says so" {
	change "UPDATE capture SET status = 'running'"
	run ./pagereel info "$db"
	[[ $output = *"ended abnormally"* ]]
	[ "$(field ended_abnormally)" = 1 ]
}

@test "lost events lower the coverage, a gap of unknown size makes it unknown" {
	change "INSERT INTO event_type(capture_id, system, name, stored_as, nr_events) VALUES (1, 'x', 'y', 'rows', 900);
		INSERT INTO gap(capture_id, stream, cpu, from_ns, to_ns, events_lost) VALUES (1, 'page', 0, 10, 20, 100)"
	lost=$(field events_lost) seen=$(field nr_events)
	[ "$lost" = 100 ]
	jq -ne "($(field coverage_pct) - 100 * $seen / ($seen + 100)) | fabs < 1e-9"
	run ./pagereel info "$db"
	[[ $output = *"100 lost in 1 gap"* ]]
	[[ $output = *"Gaps"* ]]
	change "INSERT INTO gap(capture_id, stream, cpu, from_ns, to_ns) VALUES (1, 'page', 0, 30, 40)"
	[ "$(field coverage_pct)" = null ]
	run ./pagereel info "$db"
	[[ $output = *"coverage n/a"* ]]
}

@test "a thinned stream and a fills-only capture are called that" {
	change "UPDATE page_chunk SET sample_mask = 3; UPDATE capture SET has_hits = 0"
	run ./pagereel info "$db"
	[[ $output = *"1 page in 4"* ]]
	[[ $output = *"fills-only"* ]]
}

@test "an event that was wanted and missing is listed with its reason" {
	change "INSERT INTO event_type(capture_id, system, name, stored_as, reason)
		VALUES (1, 'memcg', 'memcg_flush_stats', 'missing', 'this kernel has no such event')"
	run ./pagereel info "$db" --events
	[[ $output = *memcg_flush_stats*"n/a"*"no such event"* ]]
}

@test "bytes an event are those of the chunks, not a guess" {
	bytes=$(./pagereel sql "$db" --format csv "SELECT 1.0 * sum(length(data)) / sum(nr_events) FROM page_chunk" | tail -1)
	[ "$(field bytes_per_page_event)" = "$bytes" ]
}

@test "JSON nests events, streams and results" {
	run bash -c './pagereel info "$1" --format json | jq -e ".[0] | (.events, .demand_streams, .results) | type == \"array\""' _ "$db"
	[ "$status" = 0 ]
	[ "${#lines[@]}" = 3 ]
}

@test "no such capture, no database, no name" {
	run ./pagereel info "$db" --capture 9
	[ "$status" = 2 ]
	[[ $output = *"no capture 9"* ]]
	run ./pagereel info "$BATS_TEST_TMPDIR/none.db"
	[ "$status" = 4 ]
	run ./pagereel info
	[ "$status" = 2 ]
}
