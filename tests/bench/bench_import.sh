#!/bin/bash
# bench_import.sh - import of a trace.dat beside `trace-cmd report` of the same file to /dev/null, in turns.
# Prints the median time of each and the median of the pairs' ratios. The goal is a ratio of 5.
# Usage: tests/bench/bench_import.sh [FILE [PAIRS]]   (PAGEREEL_TRACES: where full recordings are)
cd "$(dirname "$0")/../.." || exit 1
export LC_ALL=C
traces=${PAGEREEL_TRACES:-../shared/traces}
file=${1:-$(ls -S "$traces"/*.dat 2>/dev/null | head -1)}
file=${file:-tests/data/linux-6.12-classic.dat}
pairs=${2:-7}
command -v trace-cmd >/dev/null || { echo "import: skipped: no trace-cmd to compare with"; exit 77; }
[ -x ./pagereel ] || { echo "import: skipped: ./pagereel is not built"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

seconds() { # COMMAND...
	local from to
	from=$(date +%s%N)
	"$@" >/dev/null 2>&1 || { echo "failed: $*" >&2; exit 1; }
	to=$(date +%s%N)
	awk "BEGIN { printf \"%.3f\", ($to - $from) / 1e9 }"
}
median() { sort -n | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

seconds ./pagereel import -q --force -o "$dir/run.db" "$file" >/dev/null	# both find the file cached
for _ in $(seq "$pairs"); do
	ours=$(seconds ./pagereel import -q --force -o "$dir/run.db" "$file") || exit 1
	theirs=$(seconds trace-cmd report "$file") || exit 1
	echo "$ours" >>"$dir/ours"
	echo "$theirs" >>"$dir/theirs"
	awk "BEGIN { print $theirs / $ours }" >>"$dir/ratio"
done
events=$(./pagereel sql "$dir/run.db" --format csv 'SELECT sum(nr_events) FROM event_type' | tail -1)
printf 'import of %s, %s events, %s pairs\n' "$(basename "$file")" "$events" "$pairs"
printf '  pagereel import             %8.3f s\n' "$(median <"$dir/ours")"
printf '  trace-cmd report >/dev/null %8.3f s\n' "$(median <"$dir/theirs")"
printf '  ratio                       %8.1f x (goal 5)\n' "$(median <"$dir/ratio")"
