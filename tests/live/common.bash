# common.bash - for the live tests: what they need, and that they leave nothing behind.

pagereel=$BATS_TEST_DIRNAME/../../pagereel
helpers=$BATS_TEST_DIRNAME/../../build/tests/helpers
demand_count=$BATS_TEST_DIRNAME/../../build/tests/live/demand_count

need_tracing() {
	[ "$(id -u)" = 0 ] || skip 'needs root'
	"$pagereel" doctor >/dev/null 2>&1 || skip 'this host cannot capture (pagereel doctor)'
}

need_hits() {
	"$pagereel" capture --list --format csv 2>/dev/null | grep -q 'mm_filemap_get_pages,demand,yes,yes' ||
		skip 'the kernel has no mm_filemap_get_pages'
}

# Instances and cgroups of ours, by name: those of other running captures may come and go.
ours() {
	unshare -m bash -c '
		mountpoint -q /sys/kernel/tracing || mount -t tracefs nodev /sys/kernel/tracing
		ls -d /sys/kernel/tracing/instances/* 2>/dev/null
		find /sys/fs/cgroup -type d -name "pagereel.*" 2>/dev/null' |
		grep -E 'pagereel\.[0-9]+\.[0-9]+\.(demand|reclaim|memory)$'
}

# Nothing with the name of a dead process may be left.
assert_nothing_left() {
	local path pid left=
	for path in $(ours); do
		pid=$(basename "$path" | cut -d. -f2)
		[ -d "/proc/$pid" ] || left="$left $path"
	done
	[ -z "$left" ] || { echo "left behind:$left"; return 1; }
}

# "READS WRITES FAULTS COVERAGE_PCT" of the demand for files below a path.
demand() { "$demand_count" "$1" "$2" | cut -d' ' -f1-4; }

db_int() { "$pagereel" sql "$1" --format csv "$2" | tail -n +2; }

setup() {
	need_tracing
	dir=$(mktemp -d "${TMPDIR:-/tmp}/pagereel-live.XXXXXX")
}

teardown() {
	[ -n "$dir" ] && rm -rf "$dir"
	return 0
}
