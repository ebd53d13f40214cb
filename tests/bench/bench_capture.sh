#!/bin/bash
# bench_capture.sh [ROUNDS [SECONDS]] - capture at the kernel's full rate: a loop of 4 KiB preads of a cached
# 256 MiB file, side by side in each round: alone; with the event enabled into a ring buffer that nobody
# reads (the floor: what tracing costs at least); under `pagereel capture`; under `perf record -a`.
# Prints what each adds to a read in the reader's CPU time (which other programs disturb least), as ratios of the
# medians of the paired differences, and what the capture costs.
cd "$(dirname "$0")/../.." || exit 1
export LC_ALL=C
rounds=${1:-7} seconds=${2:-1}
skip() { echo "capture: skipped: $1"; exit 77; }
[ "$(id -u)" = 0 ] || skip 'needs root'
make -s all helpers || exit 1
if [ -z "$BENCH_INSIDE" ]; then	# a tracefs of our own to look at, gone afterwards
	BENCH_INSIDE=1 exec unshare -m "$0" "$@"
fi
tracing=/sys/kernel/tracing
[ -d $tracing/events ] || mount -t tracefs nodev $tracing || skip 'no tracefs'
event=filemap:mm_filemap_get_pages
[ -d "$tracing/events/${event/://}" ] || skip "the kernel has no $event"
dir=$(mktemp -d)
instance=$tracing/instances/pagereel-bench.$$
cleanup() { [ -d "$instance" ] && rmdir "$instance"; rm -rf "$dir"; }
trap cleanup EXIT
loop=build/tests/helpers/pread_loop
build/tests/helpers/reader make "$dir/file" 268435456

alone() { "$loop" "$dir/file" "$1" "$seconds" | cut -d' ' -f3; }

floor() {
	mkdir "$instance"
	echo mono >"$instance/trace_clock"
	echo 8192 >"$instance/buffer_size_kb"
	echo 1 >"$instance/events/${event/://}/enable"
	alone "$1"
	echo 0 >"$instance/events/${event/://}/enable"
	rmdir "$instance"
}

ours() {
	./pagereel capture -f -o "$dir/x.db" -e $event -- "$loop" "$dir/file" "$1" "$seconds" \
		>"$dir/out" 2>"$dir/err" || { cat "$dir/err" >&2; exit 1; }
	head -1 "$dir/out" | cut -d' ' -f3
	./pagereel sql "$dir/x.db" --format csv "
		SELECT (SELECT sum(nr_events) FROM page_chunk),
			(SELECT max(value) - min(value) FROM context WHERE subject = 'capture' AND key = 'cpu_ns'),
			(SELECT coalesce(sum(events_lost), 0) FROM gap)" | tail -1 >"$dir/figures"
	IFS=, read -r events cpu_ns lost <"$dir/figures"
	echo "$events $cpu_ns $lost $(stat -c %s "$dir/x.db")" >>"$dir/cost.$1"
}

perf_record() {
	command -v perf >/dev/null || { echo nan; return; }
	perf record -a -e $event -o "$dir/perf.data" -- "$loop" "$dir/file" "$1" "$seconds" \
		>"$dir/out" 2>"$dir/perf.err"
	grep -oE 'lost [0-9]+ chunks' "$dir/perf.err" | grep -oE '[0-9]+' >>"$dir/perf.lost.$1" || echo 0 >>"$dir/perf.lost.$1"
	head -1 "$dir/out" | cut -d' ' -f3
	stat -c %s "$dir/perf.data" >>"$dir/perf.bytes.$1"
	head -1 "$dir/out" | cut -d' ' -f2 >>"$dir/perf.reads.$1"
}

median() { sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
column() { awk -v c="$1" '{ print $c }' "$dir/rounds"; }
added() { awk -v a="$1" '{ print $a - $1 }' "$dir/rounds" | median; }	# by pairs: what COLUMN adds to a read
ratio() { awk "BEGIN { print $(added "$1") / $(added "$2") }"; }

for how in random sequential; do
	: >"$dir/rounds"
	for _ in $(seq "$rounds"); do
		before=$(alone $how) under=$(floor $how) recorded=$(ours $how) perf=$(perf_record $how)
		after=$(alone $how)
		awk "BEGIN { print ($before + $after) / 2, $under, $recorded, $perf }" >>"$dir/rounds"
	done
	printf '%s 4 KiB reads of a cached file, %s rounds of %s s (CPU ns a read, medians)\n' $how "$rounds" "$seconds"
	printf '  alone                        %7.0f\n' "$(column 1 | median)"
	printf '  ring buffer nobody reads     %7.0f\n' "$(column 2 | median)"
	printf '  pagereel capture             %7.0f   added / floor %5.2f x (goal 1.3)\n' \
		"$(column 3 | median)" "$(ratio 3 2)"
	printf '  perf record -a               %7.0f   added / floor %5.2f x; ours / perf %.2f x (goal 1)\n' \
		"$(column 4 | median)" "$(ratio 4 2)" "$(ratio 3 4)"
	printf '  capturer CPU an event        %7.1f ns (goal 150)\n' \
		"$(awk '{ print $2 / $1 }' "$dir/cost.$how" | median)"
	printf '  bytes an event on disk       %7.2f (goal %s); perf %.1f\n' \
		"$(awk '{ print $4 / $1 }' "$dir/cost.$how" | median)" $([ $how = random ] && echo 10 || echo 3) \
		"$(paste "$dir/perf.bytes.$how" "$dir/perf.reads.$how" 2>/dev/null | awk '{ print $1 / $2 }' | median)"
	printf '  events lost                  %7.0f of %.0f; perf lost %s chunks\n' \
		"$(awk '{ s += $3 } END { print s }' "$dir/cost.$how")" \
		"$(awk '{ s += $1 } END { print s }' "$dir/cost.$how")" \
		"$(awk '{ s += $1 } END { print s + 0 }' "$dir/perf.lost.$how" 2>/dev/null)"
done
