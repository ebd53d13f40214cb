#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# zram.sh CODEC CONTENT FILE... - tests/live/tier_live.c on a zram device of its own, which is gone
# afterwards. Exit 77 with the reason where there is none.
cd "$(dirname "$0")/../.." || exit 4
codec=$1
shift
skip() { echo "skipped: $*"; exit 77; }
[ "$(id -u)" = 0 ] || skip 'needs root'
[ -e /sys/class/zram-control/hot_add ] || skip 'no zram'
zram=$(cat /sys/class/zram-control/hot_add) || skip 'no zram device can be made'
cleanup() {
	echo 1 >"/sys/block/zram$zram/reset"
	echo "$zram" >/sys/class/zram-control/hot_remove
} 2>/dev/null
trap cleanup EXIT
trap 'exit 130' INT TERM HUP
grep -qw "$codec" "/sys/block/zram$zram/comp_algorithm" || skip "zram without $codec"
for _ in $(seq 50); do [ -b "/dev/zram$zram" ] && break; sleep 0.1; done
[ -b "/dev/zram$zram" ] || skip "no /dev/zram$zram"
echo "$codec" >"/sys/block/zram$zram/comp_algorithm" && echo 64M >"/sys/block/zram$zram/disksize" ||
	skip 'the device cannot be set up'
build/tests/live/tier_live "/dev/zram$zram" "/sys/block/zram$zram/mm_stat" "$codec" "$@"
