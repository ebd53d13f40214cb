#!/usr/bin/env bats
# demo.bats - the main job as `make demo` runs it, on the running kernel.

load common

@test "the demo records, replays five models at five sizes and answers in SQL" {
	command -v sqlite3 >/dev/null || skip 'the sqlite3 shell is missing'
	run "$BATS_TEST_DIRNAME/../demo.sh" "$dir/demo.db"
	echo "$output"
	[ "$status" = 0 ]
	[[ $output = *'in the running kernel'* ]]
	[ "$(sqlite3 "$dir/demo.db" 'SELECT count(*), count(DISTINCT model), count(cpu_ns) FROM result')" = '25|5|25' ]
	# more reads hit in more memory, and none better than opt
	[ "$(sqlite3 "$dir/demo.db" "SELECT count(*) FROM result r JOIN result o USING (memory_pages)
		WHERE o.model = 'opt' AND r.model IN ('fifo', 'lru', 'clock') AND r.hits > o.hits")" = 0 ]
	[ "$(sqlite3 "$dir/demo.db" "SELECT count(*) > 0 FROM mm_vmscan_memcg_reclaim_begin")" = 1 ]
	assert_nothing_left
}
