#!/bin/bash
# demo.sh - the main job, once: record (or take the bundled recording), replay, compare, ask in SQL.
# demo.sh [FILE.db]: the database it leaves, demo.db by default.
set -eu
cd "$(dirname "$0")/.."
db=${1:-demo.db}
work=
trap '[ -z "$work" ] || rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
run() { printf '$ pagereel'; printf ' %q' "$@"; echo; ./pagereel "$@"; }
ask() { printf '$ pagereel sql %s "%s"\n' "$db" "$1"; ./pagereel sql "$db" "$1"; }
[ -t 1 ] || say() { printf '\n%s\n' "$*"; }

if reason=$(./pagereel doctor 2>&1); then
	say '1. Record: a small database server under a 48 MiB memory cgroup, in the running kernel'
	work=$(mktemp -d -p "${TMPDIR:-/var/tmp}" pagereel-demo.XXXXXX)
	run capture --force -o "$db" --memory 48M -- tests/demo_workload.sh "$work"
	sizes=24M,32M,48M,64M,96M middle=$((48 * 256))
else
	say '1. Record: not possible here, so the bundled recording it is (zipf reads and scans in 8 MiB)'
	printf '%s\n' "$reason" | grep -i fail || true
	run import --force -o "$db" tests/data/linux-6.18-zipfscan.dat
	sizes=4M,6M,8M,12M,16M middle=$((8 * 256))
fi

say '2. What happened?'
run analyze "$db"
run analyze "$db" reclaim

say '3. Replay it through five reclaim models at five memory sizes'
run replay "$db" -m fifo,clock,lru,linux-6.18,opt -M "$sizes" -j "$(nproc)" >/dev/null
run analyze "$db" compare
[ -z "$work" ] || run analyze "$db" validate || [ $? = 1 ]

say '4. Ask the rest in SQL'
ask 'SELECT path, count(*) AS events, sum(pages) AS pages FROM page_event JOIN file ON file.id = file_id
WHERE op IN ('\''read'\'', '\''add'\'') GROUP BY path ORDER BY pages DESC LIMIT 5'
ask "SELECT model, memory_pages / 256 AS mib, round(100 * hit_ratio, 2) AS hit_pct, fills, cpu_ns
FROM replay_result WHERE memory_pages = $middle ORDER BY hit_ratio DESC"
ask 'SELECT kind, count(*) AS episodes, sum(nr_reclaimed) AS reclaimed_pages, max(duration_ns) AS worst_ns
FROM reclaim_episode GROUP BY kind'

say "Everything is in $db: open it with 'sqlite3 $db', or 'pagereel sql $db'."
