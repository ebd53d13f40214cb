#!/bin/bash
# bench_kernel.sh - speed of the kernel models, with and without readahead, large folios and dirty
# pages, beside plain lru on the same stream: replay from a database, everything included, in M
# accesses/s of CPU time on one thread, the better of two passes. The goal is a fifth of lru's speed,
# and 30 M/s for linux-6.18 one page at a time. BENCH_ACCESSES: of each stream, default 20 M.
cd "$(dirname "$0")/../.." || exit 1
export LC_ALL=C
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
nr=${BENCH_ACCESSES:-20000000}
[ -x ./pagereel ] || { echo "kernel: skipped: ./pagereel is not built"; exit 77; }
TIMEFORMAT='%U %S'

make_stream() { # NAME SPEC...
	local name=$1
	shift
	./pagereel synth -q -o "$dir/$name.db" "$@" &&
		./pagereel replay "$dir/$name.db" -m fifo -M 1% -q >/dev/null	# derives the stream
}

accesses() { # NAME
	./pagereel sql "$dir/$1.db" --format csv 'SELECT nr_accesses FROM demand_stream' | tail -1
}

seconds() { # NAME MODEL SIZE
	for _ in 1 2; do
		{ time ./pagereel replay "$dir/$1.db" -m "$2" -M "$3" -j 1 --again -q >/dev/null; } 2>&1
	done | awk '{ print $1 + $2 }' | sort -g | head -1
}

compare() { # NAME MODEL...
	local name=$1 of size lru model
	shift
	of=$(accesses "$name")
	for size in 1% 10% 50%; do
		lru=$(seconds "$name" lru $size)
		printf '%-6s %-40s %4s %6.1f M/s\n' "$name" lru $size "$(awk "BEGIN { print $of / $lru / 1e6 }")"
		for model in "$@"; do
			awk -v n="$name" -v m="$model" -v s=$size -v of="$of" -v lru="$lru" \
				-v t="$(seconds "$name" "$model" $size)" 'BEGIN {
				printf "%-6s %-40s %4s %6.1f M/s, %.2f x lru (aim 0.20: %s)\n",
					n, m, s, of / t / 1e6, lru / t, (lru / t >= 0.2) ? "met" : "MISSED" }'
		done
	done
}

make_stream reads "zipf:file=8G,theta=0.9,accesses=$nr,seed=1" || exit 1
compare reads linux-6.18 linux-6.18:readahead=model linux-mglru linux-mglru:readahead=model || exit 1
rm -f "$dir/reads.db"
# A zipf with a tenth of writes, a loop and a scan in runs of 64 KiB: 20 M pages in fewer records.
make_stream writes "zipf:file=4G,theta=0.9,accesses=$((nr / 2)),write=10%,seed=1" \
	"loop:file=1G,io=64K,accesses=$((nr / 64))" "seq:file=3G,io=64K" || exit 1
compare writes linux-6.18 linux-6.18:readahead=model,max_order=4 \
	linux-mglru linux-mglru:readahead=model,max_order=4 || exit 1
