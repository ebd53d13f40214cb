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

# Rounds of measuring, the least of each number: what else runs only adds to it. Then the line through 1000
# and 4000, which is what shrinkers.c prices a pass at. Status 3: missed, but the rounds differ among themselves.
slab_attempt() {
	local round
	mkdir "$dir/$1" && : >"$dir/$1/all"
	for round in 1 2 3 4; do
		mkdir "$dir/$1/$round"
		timeout 120 "$helpers/slab_live" "$dir/$1/$round" 1000 2000 3000 4000 >"$dir/$1/one" || {
			status=$?
			cat "$dir/$1/one"
			return $status
		}
		cat "$dir/$1/one" >>"$dir/$1/all"
	done
	sort -k1,1n -k2,2n "$dir/$1/all" | awk '
		{ if (++nr[$1] == 1) us[$1] = $2; if (nr[$1] == 2 && $2 > 1.15 * us[$1]) noisy = 1 }
		END {
			c = (us[4000] - us[1000]) / 3000
			for (n = 2000; n <= 3000; n += 1000) {
				p = us[1000] + c * (n - 1000)
				printf "%d superblocks: measured %.0f us, predicted %.0f us a pass\n", n, us[n], p
				if (p > 1.2 * us[n] || p < 0.8 * us[n]) bad = 1
			}
			if (c <= 0) bad = 1
			exit !bad ? 0 : noisy ? 3 : 1
		}'
}

@test "kswapd-slab: a pass costs a poll per superblock, 2000 and 3000 predicted from 1000 and 4000" {
	[ -w /sys/devices/system/node/node0/reclaim ] || skip 'the kernel has no node0/reclaim'
	for attempt in 1 2 3 4 5; do
		run slab_attempt $attempt
		[ "$status" = 77 ] && skip "$output"
		echo "$output"
		[ "$status" = 0 ] && return 0
		[ "$status" = 3 ] || [ "$attempt" -lt 3 ] || return 1
	done
	skip "the host is too noisy to tell: $(tr '\n' ';' <<<"$output")"
}

# Three runs, the median of predicted over measured. Status 3: missed, but the runs differ among themselves.
flush_attempt() {
	local round
	: >"$dir/$1.ratio"
	for round in 1 2 3; do
		timeout 120 "$tools/flush_live" "$cgroup" >"$dir/one" || { cat "$dir/one"; return 3; }
		cat "$dir/one"
		awk '{ ns[$1] = $2 } END { print ns["predicted"] / ns[200] }' "$dir/one" >>"$dir/$1.ratio"
	done
	sort -n "$dir/$1.ratio" | awk '
		{ r[NR] = $1 }
		END {
			print "predicted over measured:", r[1], r[2], r[3]
			exit r[2] > 0.8 && r[2] < 1.2 ? 0 : r[3] > 1.3 * r[1] ? 3 : 1
		}'
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
	for attempt in 1 2 3 4 5; do
		run flush_attempt $attempt
		echo "$output"
		[ "$status" = 0 ] && return 0
		[ "$status" = 3 ] || [ "$attempt" -lt 3 ] || return 1
	done
	skip "the host is too noisy to tell: $(tail -1 <<<"$output")"
}

swappiness_cells() { # ORDER LIMITS
	timeout 300 "$BATS_TEST_DIRNAME/swappiness.sh" --runs 3 --swappiness 0,100 --reads 30000 --range \
		--orders "$1" --limits "$2"
}

@test "swappiness: misses of a working set at the edge beside idle memory, with swap on zram" {
	# The full table: tests/live/swappiness.sh. On a busy host runs differ: the better of two counts.
	for attempt in 1 2; do
		run swappiness_cells random 18,22
		[ "$status" = 77 ] && skip "${output#skipped: }"
		echo "$output"
		[ "$status" = 0 ] || continue
		run swappiness_cells cyclic 22
		echo "$output"
		[ "$status" = 0 ] && return 0
	done
	false
}

@test "cleancache: zram of this kernel keeps pages as small as the tier predicts, and what costs nothing free" {
	# Contents as in the table of codec_cost.c, from what is installed here: 6 points for the difference.
	for content in text binary; do
		case $content in
		text) files=$(find /usr/include /usr/share/doc -type f -size +3k | sort | head -3000) ;;
		binary) files=$(find /usr/bin /usr/lib -type f -size +100k | sort | head -150) ;;
		esac
		for codec in lzo lz4; do
			run timeout 120 "$BATS_TEST_DIRNAME/zram.sh" $codec $content $files
			[ "$status" = 77 ] && skip "${output#skipped: }"
			echo "$codec: $output"
			[ "$status" = 0 ]
			awk '
				{ put[$1] = $15; off = $5 - $7 }
				NR == 1 && (off > 6 || off < -6) { bad = 1 }
				$1 == "random" && ($5 != 100 || $7 != 100 || $9 != $11) { bad = 1 }
				$1 == "zero" && ($5 != 0 || $7 != 0 || $13 != $3) { bad = 1 }
				END { exit bad || NR != 3 || put["zero"] > put[first] }
				NR == 1 { first = $1 }' <<<"$output"
		done
	done
}
