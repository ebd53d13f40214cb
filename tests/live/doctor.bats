#!/usr/bin/env bats
# doctor.bats - the diagnosis of captures of the running kernel: a healthy one, a working set that does not
# quite fit, and superblocks that reclaim asks in vain.

load common

state() { "$pagereel" doctor "$1" "$2" --format json | jq -r '.[0].state'; }

@test "doctor: a working set that fits is healthy, and every rule had something to look at" {
	need_hits
	"$helpers/reader" make "$dir/file" $((20 << 20))
	"$pagereel" capture -o "$dir/run.db" --memory 64M -- "$helpers/reader" read "$dir/file" 4096 20000 random
	run "$pagereel" doctor "$dir/run.db" --all
	[ "$status" = 0 ]
	[[ $output = *"Healthy: "* ]]
	for rule in lost-events working-set streams readahead empty-shrinkers kswapd direct-reclaim \
		swappiness tier-no-hits; do
		[ "$(state "$dir/run.db" $rule)" = ok ]
	done
	assert_nothing_left
}

@test "doctor: a loop over 20 MiB in 19 MiB is a working set just above the cache" {
	need_hits
	"$helpers/reader" make "$dir/file" $((20 << 20))
	"$pagereel" capture -o "$dir/run.db" --memory 19M -- "$helpers/reader" read "$dir/file" 4096 20000 seq
	run "$pagereel" doctor "$dir/run.db" working-set
	[ "$status" = 1 ]
	[[ $output = *"The working set is just above the cache"* ]]
	[[ $output = *"20.0M)"* || $output = *"20M)"* || $output = *"20.1M)"* ]]
}

@test "doctor: thousands of empty superblocks show as reclaim time in shrinkers that free nothing" {
	mkdir "$dir/mounts"
	run "$pagereel" capture -o "$dir/run.db" -e reclaim -e slab -- "$helpers/slab_live" "$dir/mounts" 4000
	[ "$status" = 0 ]
	[ "$(db_int "$dir/run.db" "SELECT value FROM context WHERE key = 'command_status'")" = 77 ] &&
		skip 'slab_live cannot measure here'
	run "$pagereel" doctor "$dir/run.db" empty-shrinkers
	echo "$output"
	[ "$status" = 1 ]
	[[ $output = *"went into shrinkers that freed nothing"* ]]
}
