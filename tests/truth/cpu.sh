#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# cpu.sh - the CPU time of reclaim at other sizes, predicted and measured. Each workload is recorded in a
# memcg of 32 MB, once with all events and once with begin and end of reclaim only; then it really runs at
# 48, 96 and 128 MB with begin and end only. Usage:
#
#	cpu.sh [--quick] [--only NAME,...] [--rounds N] [--format table|json|csv] [--report]
#
# Four predictions of linux-6.18's counts: priced by the recording with all events (--calibrate, corrected
# for the recording), by that with begin and end only (--calibrate-from; the one judged), by this host's
# profile (pagereel calibrate) and by the built-in one. Exit 1 if the judged one is further off than
# 15 % and than the spread of the real runs; 77 if this host cannot run it.
#
# The machine may be busy: what is measured is CPU time (time off the CPU taken off), episodes of more
# than five times the median a page (interrupts, a stolen CPU) count as the others, sizes take turns in
# every round, so that a change of the machine meets them all, and the recordings to predict from are
# made in the same rounds; cells are medians over the rounds. What others do to caches and clocks
# remains: it is in the spread, half the distance between the quartiles of the real runs on each side.
cd "$(dirname "$0")/../.." || exit 4
export LC_ALL=C
pagereel=${PAGEREEL:-./pagereel}
dir=${TRUTH_DIR:-build/truth}/cpu db=$dir/cpu.db base_mb=32 rounds=6 format=table only= report=
sizes_mb="24 48 64"

while [ $# -gt 0 ]; do
	case $1 in
	--quick) rounds=1 sizes_mb=24 only=random ;;
	--only) only=$2; shift ;;
	--rounds) rounds=$2; shift ;;
	--format) format=$2; shift ;;
	--report) report=1 ;;
	*) echo "cpu.sh: unknown argument '$1'" >&2; exit 2 ;;
	esac
	shift
done

skip() { echo "cpu.sh: skipped: $*"; exit 77; }
sql() { sqlite3 -cmd '.timeout 10000' "$db" "$@"; }

workloads() {
	cat <<-'END'
	random|uniform FILE pages=24576 nr=40000 random=1
	zipf|zipf FILE pages=65536 nr=60000 random=1
	zipfscan|zipfscan FILE pages=49152 nr=60000 random=1
	sequential|loop FILE pages=65536 nr=12288 io=16
	END
}

mounted=
unmount() { [ -n "$mounted" ] && umount "$dir/ext4"; }
trap unmount EXIT
trap 'exit 130' INT TERM

place() {
	local img=$dir/ext4.img loop
	mkdir -p "$dir/ext4"
	mountpoint -q "$dir/ext4" && return 0
	if [ ! -e "$img" ]; then
		truncate -s 1G "$img.new" && mkfs.ext4 -q -F "$img.new" && mv "$img.new" "$img" || return 1
	fi
	loop=$(losetup --direct-io=on -f --show "$img") || return 1
	mount "$loop" "$dir/ext4" || { losetup -d "$loop"; return 1; }
	losetup -d "$loop"
	mounted=1
	echo 128 >"/sys/block/${loop#/dev/}/queue/read_ahead_kb"
	[ -e "$dir/ext4/data" ] || { dd if=/dev/urandom of="$dir/ext4/data.new" bs=1M count=512 conv=fsync \
		status=none && mv "$dir/ext4/data.new" "$dir/ext4/data"; }
	sync -f "$dir/ext4"
}

# "ns,pages" of reclaim by the capture's own memcg.
measured() { # DB MB
	"$pagereel" sql "$1" --format csv "
	WITH memcg AS (SELECT substr(subject, 7) AS path FROM context WHERE subject LIKE 'memcg:%/pagereel.%'
		AND key = 'limit_bytes' AND value = $2 * 1048576 LIMIT 1),
	inside AS (SELECT DISTINCT pid FROM task WHERE cgroup = (SELECT path FROM memcg)),
	episode AS MATERIALIZED (SELECT cpu_ns, nr_reclaimed, cpu_ns * 1000 / nullif(nr_reclaimed, 0) AS page
		FROM reclaim_cpu WHERE pid IN inside AND kind = 'memcg' AND duration_ns IS NOT NULL),
	most AS (SELECT 5 * nearest_rank(page, 50) AS page FROM episode WHERE page IS NOT NULL)
	SELECT cast(sum(cpu_ns) FILTER (WHERE e.page < m.page) * 1.0 * sum(nr_reclaimed)
		/ sum(nr_reclaimed) FILTER (WHERE e.page < m.page) AS INTEGER), sum(nr_reclaimed)
	FROM episode e, most m" | tail -1
}

capture() { # OUT MB ARGUMENTS... -- COMMAND...
	local out=$1 mb=$2
	shift 2
	rm -f "$out"*
	"$pagereel" capture --memory "${mb}M" --context start,end --max-cpu 100 -o "$out" "$@" >"$dir/log" 2>&1 ||
		{ cat "$dir/log" >&2; return 1; }
}

keep() { # NAME MB SOURCE RUN NS PAGES
	sql "INSERT OR REPLACE INTO cpu VALUES('$1', $(($2 * 256)), '$3', $4, ${5:-NULL}, ${6:-NULL})"
}

measure() { # NAME MB RUN COMMAND...
	local name=$1 mb=$2 run=$3 one=$dir/run.db ns pages
	shift 3
	[ "$(sql "SELECT count(*) FROM cpu WHERE workload = '$name' AND memory_pages = $((mb * 256))
		AND source = 'kernel' AND run = $run")" = 0 ] || return 0
	[ "$mb" = $base_mb ] && one=$dir/$name.cpu.$run.db
	echo "$name at $mb MB, run $run" >&2
	capture "$one" "$mb" -e reclaim-cpu -- "$@" || return 1
	IFS=, read -r ns pages < <(measured "$one" "$mb")
	[ -n "$ns" ] || { echo "cpu.sh: $name at $mb MB made no reclaim" >&2; return 1; }
	keep "$name" "$mb" kernel "$run" "$ns" "$pages"
	[ "$mb" = $base_mb ] || rm -f "$one"*
}

record() { # NAME RUN COMMAND...
	local out=$dir/$1.$2.db
	[ -e "$out" ] && return 0
	echo "$1 at $base_mb MB, all events" >&2
	capture "$dir/new.db" $base_mb -e reclaim -e slab -e pagecache -e readahead -e memcg-flush -e tasks \
		-e sched:sched_switch -- "${@:3}" && mv "$dir/new.db" "$out"
}

predict_by() { # NAME RUN SOURCE OPTIONS...: prices, and what they say
	local name=$1 run=$2 source=$3 out=$dir/$1.$2.db sizes=${base_mb}M mb profile
	shift 3
	for mb in $sizes_mb; do sizes+=,${mb}M; done
	"$pagereel" replay "$out" -q -m linux-6.18 -M "$sizes" --again "$@" >/dev/null 2>"$dir/log" || {
		cat "$dir/log" >&2; return 1; }
	case $source in
	builtin) profile=builtin-6.18 ;;
	host) profile=$("$pagereel" sql "$dir/host.db" --format csv 'SELECT profile FROM cost_fit' | tail -1) ;;
	*) profile=$(sed -n "s/^calibrated '\(.*\)':.*/\1/p" "$dir/log") ;;
	esac
	while IFS=, read -r pages ns reclaimed; do
		keep "$name" $((pages / 256)) "$source" "$run" "$ns" "$reclaimed"
	done < <("$pagereel" sql "$out" --format csv "SELECT r.memory_pages, cast(total(c.ns) AS INTEGER), r.reclaimed
		FROM result r JOIN result_cost c ON c.result_id = r.id
		WHERE r.profile = '$profile' AND c.component IN ('scan', 'reclaim', 'slab') GROUP BY r.id" | tail -n +2)
}

predict() { # NAME RUN
	predict_by "$1" "$2" begin-end --calibrate-from "$dir/$1.cpu.$2.db" --profile "$dir/host.db" || return 1
	predict_by "$1" "$2" full --calibrate --profile "$dir/host.db" || return 1
	predict_by "$1" "$2" host --profile "$dir/host.db" || return 1
	predict_by "$1" "$2" builtin
}

schema() {
	sql <<-'END'
	CREATE TABLE IF NOT EXISTS cpu(workload TEXT, memory_pages INTEGER, source TEXT, run INTEGER, ns INTEGER,
		pages INTEGER, PRIMARY KEY(workload, memory_pages, source, run));
	DROP VIEW IF EXISTS cell;
	CREATE VIEW cell AS
	WITH ranked AS (SELECT *, row_number() OVER w AS place, count(*) OVER (PARTITION BY workload,
		memory_pages, source) AS nr FROM cpu
		WINDOW w AS (PARTITION BY workload, memory_pages, source ORDER BY ns)),
	cells AS (SELECT workload, memory_pages, source, max(nr) AS runs, avg(pages) AS pages,
		avg(ns) FILTER (WHERE 2 * place BETWEEN nr AND nr + 2) AS ns,
		min(ns) FILTER (WHERE 4 * place >= nr) AS low_ns,
		min(ns) FILTER (WHERE 4 * place >= 3 * nr) AS high_ns
		FROM ranked GROUP BY workload, memory_pages, source)
	SELECT p.workload, p.memory_pages / 256 AS mb, p.source, r.ns AS real_ns, r.runs,
		50.0 * (r.high_ns - r.low_ns) / r.ns AS spread_pct, p.ns AS predicted_ns,
		100.0 * (p.ns - r.ns) / r.ns AS error_pct, 100.0 * (p.pages - r.pages) / r.pages AS pages_error_pct
	FROM cells p JOIN cells r ON r.workload = p.workload AND r.memory_pages = p.memory_pages
		AND r.source = 'kernel' AND p.source <> 'kernel';
	END
}

report() {
	local mode=-column
	case $format in json) mode=-json ;; csv) mode=-csv ;; esac
	sqlite3 -header $mode "$db" "
	SELECT workload, mb, round(real_ns / 1e6, 1) AS real_ms, runs, round(spread_pct, 1) AS spread_pct,
		round(max(error_pct) FILTER (WHERE source = 'begin-end'), 1) AS error_pct,
		round(max(error_pct) FILTER (WHERE source = 'full'), 1) AS full_pct,
		round(max(error_pct) FILTER (WHERE source = 'host'), 1) AS host_pct,
		round(max(error_pct) FILTER (WHERE source = 'builtin'), 1) AS builtin_pct,
		round(max(pages_error_pct), 1) AS pages_pct
	FROM cell GROUP BY workload, mb"
	sql "SELECT count(*) FILTER (WHERE abs(error_pct) <= 15) || ' of ' || count(*) || ' cells within 15 %, '
		|| count(*) FILTER (WHERE abs(error_pct) <= max(15, spread_pct)) || ' within that or the spread'
		FROM cell WHERE source = 'begin-end' AND mb <> $base_mb" >&2
	[ "$(sql "SELECT count(*) FROM cell WHERE source = 'begin-end' AND mb <> $base_mb
		AND abs(error_pct) > max(15, spread_pct)")" = 0 ]
}

if [ -z "$report" ]; then
	[ "$(id -u)" = 0 ] || skip 'needs root'
	[[ $(uname -r) = 6.18.* ]] || skip "only linux-6.18 can be judged, this is $(uname -r)"
	mkdir -p "$dir" || exit 4
	${CC:-cc} -O2 -Wall -Wextra -o "$dir/workload" tests/truth/workload.c -lm || exit 4
	place || skip 'no loop device with ext4'
	schema
	[ -e "$dir/host.db" ] || "$pagereel" calibrate -o "$dir/host.db" --dir "$dir" >"$dir/host.txt" || exit 4
	for run in $(seq 1 "$rounds"); do
		while IFS='|' read -r name arguments <&3; do
			[ -z "$only" ] || [[ ,$only, = *,$name,* ]] || continue
			command=("$dir/workload" ${arguments/FILE/$dir/ext4/data})
			record "$name" "$run" "${command[@]}" || exit 4
			for mb in $base_mb $sizes_mb; do
				measure "$name" "$mb" "$run" "${command[@]}" || exit 4
			done
			predict "$name" "$run" || exit 4
		done 3< <(workloads)
	done
fi
report
