#!/usr/bin/env bats
# doctor_rules.bats - what doctor looks for, made to happen on the running kernel, and the command of each
# finding run as printed. Sizes and numbers are fixed, thresholds are far off, and no time is asserted.

load common

setup() {
	need_tracing
	reader=$helpers/reader
	dir=$(mktemp -d "${TMPDIR:-/tmp}/pagereel-live.XXXXXX")
	db=$dir/run.db
	swap= cgroup=
}

teardown() {
	[ -n "$swap" ] && swapoff "$swap"
	[ -n "$cgroup" ] && { echo 0 >"$cgroup/memory.force_empty"; rmdir "$cgroup"; }
	[ -n "$dir" ] && rm -rf "$dir"
	return 0
}

# One finding, whole; the command that it shows runs as printed and says something.
assert_finding() { # RULE
	run "$pagereel" doctor "$db" "$1"
	echo "$output"
	[ "$status" = 1 ]
	[[ $output = *"rule        $1, confidence "* ]]
	[[ $output = *"try         "* ]]
	[[ $output = *"see         pagereel "* ]]
	[[ $output != *"{"* ]]
	see=$(sed -n 's/^ *see  *//p' <<<"$output")
	case $see in
	*"pagereel replay "*)
		run bash -c "PATH=$(dirname "$pagereel"):\$PATH; $see"
		echo "$output"
		[ "$status" = 0 ]
		[[ $output = *"linux-6.18"* ]]
		;;
	esac
}

assert_ok() { # RULE
	[ "$("$pagereel" doctor "$db" "$1" --format json | jq -r '.[0].state')" = ok ]
}

@test "doctor: reading around for one page each is readahead in vain; reads at random are not" {
	need_hits
	"$reader" make "$dir/file" $((48 << 20))
	"$pagereel" capture -o "$db" --memory 8M -- "$reader" touch "$dir/file" 100
	assert_finding readahead
	"$pagereel" capture -f -o "$db" --memory 8M -- "$reader" read "$dir/file" 4096 4000 random
	assert_ok readahead
}

@test "doctor: a stream beside random reads flushes their pages; with room for both it does not" {
	need_hits
	"$reader" make "$dir/hot" $((32 << 20))
	"$reader" make "$dir/scan" $((96 << 20))
	load() {
		"$pagereel" capture -f -o "$db" --memory "$1" -- sh -c "
			$reader read $dir/hot 4096 20000 random & $reader read $dir/scan 131072 700 seq; wait"
	}
	load 24M
	assert_finding streams
	[[ $output = *linux-6.18* ]]
	load 256M
	assert_ok streams
}

@test "doctor: a writer far above its limit stalls in direct reclaim; one below does not" {
	"$pagereel" capture -o "$db" --memory 8M -- dd if=/dev/zero of="$dir/w" bs=1M count=100
	assert_finding direct-reclaim
	[[ $output = *linux-6.18* ]]
	"$pagereel" capture -f -o "$db" --memory 64M -- dd if=/dev/zero of="$dir/w" bs=1M count=20
	assert_ok direct-reclaim
}

@test "doctor: a writer to a device that may have 1 MiB dirty is throttled; one with all of it is not" {
	throttled() {
		local bdi
		bdi=/sys/class/bdi/$(stat -c %Hd:%Ld "$mnt")
		echo 1 >"$bdi/strict_limit" && echo 1048576 >"$bdi/max_bytes" || return 77
		"$pagereel" capture -o "$db" -e writeback -- dd if=/dev/zero of="$mnt/w" bs=1M count=24
	}
	export -f throttled
	export pagereel db
	run "$BATS_TEST_DIRNAME/on_image.sh" ext4 "$dir" bash -c throttled
	echo "$output"
	[ "$status" = 77 ] && skip 'the kernel cannot limit the dirty pages of one device'
	[ "$status" = 0 ]
	assert_finding dirty-throttling
	"$pagereel" capture -f -o "$db" -e writeback -- dd if=/dev/zero of="$dir/w" bs=1M count=8
	assert_ok dirty-throttling
}

@test "doctor: swappiness 0 keeps idle anonymous memory while files refault; 100 does not" {
	need_hits
	[ -e /sys/fs/cgroup/memory/memory.swappiness ] || skip 'swappiness of a memcg needs cgroup v1'
	dd if=/dev/zero of="$dir/swap" bs=1M count=64 status=none
	chmod 600 "$dir/swap"
	mkswap -q "$dir/swap" 2>/dev/null && swapon "$dir/swap" || skip 'no swap can be added here'
	swap=$dir/swap cgroup=/sys/fs/cgroup/memory/pagereel.rules.$$
	mkdir "$cgroup"
	echo 22M >"$cgroup/memory.limit_in_bytes"
	"$reader" make "$dir/file" $((16 << 20))
	load() {
		echo "$1" >"$cgroup/memory.swappiness"
		"$pagereel" capture -f -o "$db" --cgroup "$cgroup" -- sh -c "
			echo \$\$ >$cgroup/cgroup.procs
			exec $reader idle $((9 << 20)) $reader read $dir/file 4096 150000 random"
	}
	load 0
	assert_finding swappiness
	load 100
	assert_ok swappiness
}

@test "doctor: rings too small for the rate lose events, and every rule is less sure" {
	need_hits
	"$reader" make "$dir/file" $((64 << 20))
	for attempt in 1 2 3 4 5; do
		"$pagereel" capture -f -b 16K -o "$db" -- "$reader" read "$dir/file" 4096 200000 random || [ $? = 5 ]
		run "$pagereel" doctor "$db" lost-events
		[ "$status" = 1 ] && break
	done
	assert_finding lost-events
	[ "$("$pagereel" doctor "$db" --format json |
		jq -r '[.[] | select(.rule != "lost-events" and .confidence == "high")] | length')" = 0 ]
}
