#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# swappiness.sh - the case study 'swappiness' on the kernel that runs here against linux-6.18: idle
# memory, a burst of writing, then reads of what was written last (tests/helpers/swap_live.c), in a memcg
# of its own, with swap on a zram device of its own. Usage:
#
#	swappiness.sh [--runs N] [--limits MB,...] [--swappiness N,...] [--orders random,cyclic]
#		[--reads N] [--sync PAGES] [--range]
#
# A cell is good if the predicted miss ratio (the mean over when the kernel may flush its statistics) is
# within 3 points of the measured mean, or within the measured runs. With --range, for few runs, the measured
# mean has to be within 3 points of what is predicted for any moment of the flush. --sync 0 leaves the burst dirty:
# the kernel's own runs then differ a lot. Exit 1 if a cell is bad, 77 if this host cannot run it.
cd "$(dirname "$0")/../.." || exit 4
export LC_ALL=C
pagereel=${PAGEREEL:-./pagereel} helper=build/tests/helpers/swap_live
runs=5 limits=14,18,22,26,30 swappiness=0,60,100 orders=random,cyclic reads=60000 sync=64 range=0

while [ $# -gt 0 ]; do
	case $1 in
	--runs) runs=$2 ;;
	--limits) limits=$2 ;;
	--swappiness) swappiness=$2 ;;
	--orders) orders=$2 ;;
	--reads) reads=$2 ;;
	--sync) sync=$2 ;;
	--range) range=1; shift; continue ;;
	*) echo "swappiness.sh: unknown argument '$1'" >&2; exit 2 ;;
	esac
	shift 2
done

skip() { echo "skipped: $*"; exit 77; }

root=/sys/fs/cgroup/memory cgroup=$root/pagereel.test.$$
[ "$(id -u)" = 0 ] || skip 'needs root'
[[ $(uname -r) = 6.18.* ]] || skip "the model is that of 6.18, this is $(uname -r)"
[ -e $root/memory.swappiness ] || skip 'no v1 memory controller'
[ -e /sys/class/zram-control/hot_add ] || skip 'no zram'
command -v mkswap >/dev/null && command -v swapon >/dev/null || skip 'no mkswap'
dir=$(mktemp -d /var/tmp/pagereel-swap.XXXXXX) || exit 4
worker='' zram=''

cleanup() {
	[ -n "$worker" ] && kill "$worker" 2>/dev/null && wait "$worker" 2>/dev/null
	rmdir "$cgroup" 2>/dev/null
	if [ -n "$zram" ]; then
		swapoff "/dev/zram$zram" 2>/dev/null
		echo 1 >"/sys/block/zram$zram/reset"
		echo "$zram" >/sys/class/zram-control/hot_remove
	fi 2>/dev/null
	rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

case $(stat -f -c %T "$dir") in tmpfs | ramfs) skip "$dir is not on a disk" ;; esac
zram=$(cat /sys/class/zram-control/hot_add) || skip 'no zram device can be made'
for _ in $(seq 50); do [ -b "/dev/zram$zram" ] && break; sleep 0.1; done
[ -b "/dev/zram$zram" ] || skip "no /dev/zram$zram"
echo 64M >"/sys/block/zram$zram/disksize" && mkswap "/dev/zram$zram" >/dev/null &&
	swapon -p 32767 "/dev/zram$zram" || skip 'no swap on zram can be made'

one_run() { # LIMIT SWAPPINESS ORDER
	mkdir "$cgroup" || exit 4
	echo "$1M" >"$cgroup/memory.limit_in_bytes" && echo "$2" >"$cgroup/memory.swappiness" || exit 4
	$helper "$cgroup" "$dir/file" "$3" "$reads" "$sync" >"$dir/out" &
	worker=$!
	wait $worker || { echo "swappiness.sh: the workload failed" >&2; exit 4; }
	worker=''
	cat "$dir/out"
	echo 0 >"$cgroup/memory.force_empty" 2>/dev/null
	rmdir "$cgroup" || exit 4
	rm -f "$dir/file"
}

# The clock and the kernel's own memory are those of the runs.
predict() { # LIMIT SWAPPINESS ORDER WRITE_NS MISS_NS KERNEL_KB: percent, one line for each phase
	local phase cyclic=0
	[ "$3" = cyclic ] && cyclic=1
	for phase in 100 350 600 850 1100 1350 1600 1850; do
		$pagereel case swappiness --format csv --set kernel=linux-6.18,memory="$1"M,swappiness="$2" \
			--set kernel_size="$6"K,data=24M,working_set=16M,last=1,idle=9M,busy=4K,write_share=0 \
			--set accesses="$reads",cyclic=$cyclic,sync="$sync",stale_stats=2s,stats_phase=${phase}ms \
			--set touch_ns=50,write_ns="$4",hit_ns=2000,miss_ns="$5" |
			sed -n 's/.*file misses,[^,]*,\([0-9.]*\) %.*/\1/p'
	done
}

bad=0
printf '%-7s %6s %10s %9s %7s %7s %10s %7s %7s  %s\n' order limit swappiness measured least most \
	predicted least most verdict
for order in ${orders//,/ }; do for limit in ${limits//,/ }; do for s in ${swappiness//,/ }; do
	: >"$dir/runs"
	for _ in $(seq "$runs"); do one_run "$limit" "$s" "$order" >>"$dir/runs" || exit $?; done
	read -r write_ns miss_ns kb <<<"$(awk -v reads="$reads" '
		{ m += $2; kb += $8; burst += $10; r += $12 }
		END {
			miss = m ? (r * 1e9 - (NR * reads - m) * 2000) / m : 0
			printf "%.0f %.0f %.0f\n", burst / NR * 1e9 / 6144, miss < 2100 ? 2100 : miss, kb / NR
		}' "$dir/runs")"
	predict "$limit" "$s" "$order" "$write_ns" "$miss_ns" "$kb" >"$dir/predicted"
	awk -v order="$order" -v limit="$limit" -v s="$s" -v reads="$reads" -v range=$range '
		function low(a, n, i, v) { v = a[1]; for (i = 2; i <= n; i++) if (a[i] < v) v = a[i]; return v }
		function high(a, n, i, v) { v = a[1]; for (i = 2; i <= n; i++) if (a[i] > v) v = a[i]; return v }
		FILENAME ~ /predicted$/ { p[++np] = $1; ps += $1; next }
		{ m[++nm] = 100 * $2 / reads; ms += m[nm] }
		END {
			measured = ms / nm; predicted = ps / np; d = predicted - measured
			if (np < 8) exit 4
			good = (d <= 3 && d >= -3) || (predicted >= low(m, nm) && predicted <= high(m, nm))
			if (range) good = measured >= low(p, np) - 3 && measured <= high(p, np) + 3
			printf "%-7s %5sM %10s %8.2f%% %6.2f%% %6.2f%% %9.2f%% %6.2f%% %6.2f%%  %s\n", order, limit, s,
				measured, low(m, nm), high(m, nm), predicted, low(p, np), high(p, np), good ? "ok" : "BAD"
			exit !good
		}' "$dir/predicted" "$dir/runs" || bad=1
done; done; done
exit $bad
