#!/bin/bash
# bench_replay_db.sh - replay from a database, everything included: opening, reading the stored demand
# stream, decoding, the model, intervals, storing the result. M accesses/s of CPU time, one thread; and
# what a second thread gains in wall time. 20 M zipf(0.9) accesses over 2 M pages.
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
db=$dir/run.db
accesses=${BENCH_ACCESSES:-20000000}
./pagereel synth -o "$db" "zipf:file=8G,theta=0.9,accesses=$accesses,seed=1" >/dev/null 2>&1 || exit 77
./pagereel replay "$db" -m fifo -M 1% -q >/dev/null || exit 1	# derives the stream
TIMEFORMAT='%U %S %R'

rate() { # SECONDS ACCESSES
	awk -v s="$1" -v n="$2" 'BEGIN { printf "%.1f M/s", n / s / 1e6 }'
}

cpu_and_wall() { # COMMAND...
	{ time "$@" >/dev/null 2>&1; } 2>&1 | awk '{ print $1 + $2, $3 }'
}

for model in $(./pagereel models --format csv | sed '1d; s/,.*//'); do
	for size in 1% 10% 50%; do
		read -r cpu _ < <(cpu_and_wall ./pagereel replay "$db" -m "$model" -M $size -j 1 --again -q)
		echo "db-$model-$size $(rate "$cpu" "$accesses")"
	done
done
read -r cpu _ < <(cpu_and_wall ./pagereel replay "$db" -m lru --curve)
echo "db-curve-exact $(rate "$cpu" "$accesses")"
read -r cpu _ < <(cpu_and_wall ./pagereel replay "$db" -m lru --curve --sample 1%)
echo "db-curve-shards-1% $(rate "$cpu" "$accesses")"
read -r _ one < <(cpu_and_wall ./pagereel replay "$db" -m lru,arc,sieve,2q -M 10%,50% -j 1 --by-size --again -q)
read -r _ two < <(cpu_and_wall ./pagereel replay "$db" -m lru,arc,sieve,2q -M 10%,50% -j 2 --by-size --again -q)
awk -v a="$one" -v b="$two" 'BEGIN { printf "db-two-threads %.2f x one thread (8 replays)\n", a / b }'
