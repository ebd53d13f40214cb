# cases.bats - the mechanisms of the case studies, measured on the kernel that runs here against the
# components' predictions. Own mount namespace, own cgroup; small doses.

setup() {
	[ "$(id -u)" = 0 ] || skip 'needs root'
	helpers=$BATS_TEST_DIRNAME/../../build/tests/helpers
	tools=$BATS_TEST_DIRNAME/../../build/tests/live
	dir=$(mktemp -d "${TMPDIR:-/tmp}/pagereel-live.XXXXXX")
}

teardown() {
	[ -n "$cgroup" ] && rmdir "$cgroup"/c[0-9]* "$cgroup" 2>/dev/null
	[ -n "$dir" ] && rm -rf "$dir"
	return 0
}

# Three rounds of measuring, their median for each number, then the line through 500 and 4000.
slab_attempt() {
	local round
	mkdir "$dir/$1" && : >"$dir/$1/all"
	for round in 1 2 3; do
		mkdir "$dir/$1/$round"
		timeout 120 "$helpers/slab_live" "$dir/$1/$round" 500 1000 2000 4000 >>"$dir/$1/all" ||
			return $?
	done
	sort -k1,1n -k2,2n "$dir/$1/all" | awk '
		{ us[$1] = us[$1] " " $2 }
		END {
			for (n in us) { split(us[n], v, " "); m[n] = v[2] }
			c = (m[4000] - m[500]) / 3500
			for (n = 1000; n <= 2000; n += 1000) {
				p = m[500] + c * (n - 500)
				printf "%d superblocks: measured %.0f us, predicted %.0f us a pass\n", n, m[n], p
				if (p > 1.2 * m[n] || p < 0.8 * m[n]) bad = 1
			}
			if (c <= 0) bad = 1
			exit bad
		}'
}

@test "kswapd-slab: a pass costs a poll per superblock, 1000 and 2000 predicted from 500 and 4000" {
	# What else runs on the machine shares the caches: the best of three attempts counts.
	for attempt in 1 2 3; do
		run slab_attempt $attempt
		[ "$status" = 77 ] && skip "passes of reclaim cannot be told here"
		echo "$output"
		[ "$status" = 0 ] && return 0
	done
	false
}

@test "refault-flush: a flush costs base + k per pair, 200 memcgs predicted from 100 and 400" {
	[ "$(nproc)" -ge 2 ] || skip 'needs two CPUs'
	for root in /sys/fs/cgroup/memory /sys/fs/cgroup; do
		[ -e "$root/memory.stat" ] && break
	done
	cgroup=$root/pagereel.test.$$
	mkdir "$cgroup" 2>/dev/null || skip 'no memcg can be made here'
	[ -e "$cgroup/memory.stat" ] || skip 'no memory controller'
	[ ! -e "$cgroup/cgroup.subtree_control" ] || echo +memory >"$cgroup/cgroup.subtree_control" ||
		skip 'no memory controller for children'
	for round in 1 2 3; do
		timeout 120 "$tools/flush_live" "$cgroup" | tee -a "$dir/all" | awk '
			{ ns[$1] = $2 }
			END { print ns["predicted"] / ns[200] }' >>"$dir/ratio"
	done
	cat "$dir/all"
	ratio=$(sort -n "$dir/ratio" | sed -n 2p)
	echo "predicted over measured: $ratio"
	awk -v r="$ratio" 'BEGIN { exit !(r > 0.8 && r < 1.2) }'
}
