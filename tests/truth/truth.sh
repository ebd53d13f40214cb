#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# truth.sh - the models against the kernel that runs here. Each workload is recorded once in a memcg of
# 64 MB; its record is replayed at other sizes; then it really runs there, at least twice a size, and
# what the kernel did is compared with what was predicted. Usage:
#
#	truth.sh [--quick] [--only NAME,...] [--runs N] [--format table|json|csv] [--report]
#
# --quick: two workloads at two sizes, one run each. --report: no runs, only what is there.
# Everything is kept in build/truth (TRUTH_DIR): an interrupted suite goes on where it stopped. Exit 1
# if a bound fails, 77 if this host cannot run it. A cell whose own runs spread by more than 10 % is
# void: shown, counted, never judged. Cells with less than 10 % of fills beyond the compulsory prove
# nothing and are not judged either.
cd "$(dirname "$0")/../.." || exit 4
export LC_ALL=C
pagereel=${PAGEREEL:-./pagereel}
dir=${TRUTH_DIR:-build/truth} db=$dir/truth.db base_mb=64 runs=2 format=table only= quick= report=
sizes_mb='32 48 96 128 192'

while [ $# -gt 0 ]; do
	case $1 in
	--quick) quick=1 runs=1 sizes_mb='48 96' only=zipf-4k,loop-4k ;;
	--only) only=$2; shift ;;
	--runs) runs=$2; shift ;;
	--sizes) sizes_mb=${2//,/ }; shift ;;
	--format) format=$2; shift ;;
	--report) report=1 ;;
	*) echo "truth.sh: unknown argument '$1'" >&2; exit 2 ;;
	esac
	shift
done

skip() { echo "truth.sh: skipped: $*"; exit 77; }

# name | class | file system | arguments of tests/truth/workload (FILE is put in)
workloads() {
	cat <<-'END'
	uniform-4k|read|ext4|uniform FILE pages=40960 nr=200000 random=1
	zipf-4k|read|ext4|zipf FILE pages=65536 nr=300000 random=1
	zipfscan-4k|read|ext4|zipfscan FILE pages=65536 nr=200000 random=1
	loop-4k|read|ext4|loop FILE pages=24576 nr=150000 random=1
	sequential|read|ext4|loop FILE pages=131072 nr=32768 io=16
	interleaved|read|ext4|interleaved FILE pages=131072 nr=32768 io=16 streams=8
	zipf-4k-ra|read|ext4|zipf FILE pages=65536 nr=300000
	zipf-64k-ra|read|ext4|zipf FILE pages=131072 nr=100000 io=16
	zipf-1m-ra|read|ext4|zipf FILE pages=262144 nr=8000 io=256
	zipf-64k-xfs|read|xfs|zipf FILE pages=131072 nr=100000 io=16
	zipf-64k-btrfs|read|btrfs|zipf FILE pages=131072 nr=100000 io=16
	sequential-xfs|read|xfs|loop FILE pages=131072 nr=32768 io=16
	mmap-random|mapped|ext4|zipf FILE pages=65536 nr=300000 mapped=1 random=1
	mmap-sequential|mapped|ext4|loop FILE pages=65536 nr=524288 mapped=1
	overwrite|dirty|ext4|zipf FILE pages=65536 nr=300000 write=30 random=1
	log|dirty|ext4|log FILE pages=131072 nr=300000 streams=2 random=1
	END
}

wanted() { [ -z "$only" ] || [[ ,$only, = *,$1,* ]]; }

sql() { sqlite3 -cmd '.timeout 10000' "$db" "$@"; }

schema() {
	sql <<-'END'
	CREATE TABLE IF NOT EXISTS truth(workload TEXT, class TEXT, memory_pages INTEGER, source TEXT,
		run INTEGER, counter TEXT, value INTEGER,
		PRIMARY KEY(workload, memory_pages, source, run, counter));
	DROP VIEW IF EXISTS real;
	DROP VIEW IF EXISTS cell;
	DROP VIEW IF EXISTS verdict;
	-- what the kernel did, over its runs
	CREATE VIEW real AS SELECT workload, class, memory_pages, counter, count(*) AS runs,
		avg(value) AS value, 100.0 * (max(value) - min(value)) / nullif(avg(value), 0) AS spread_pct
		FROM truth WHERE source = 'kernel' GROUP BY workload, memory_pages, counter;
	CREATE VIEW cell AS SELECT r.workload, r.class, r.memory_pages, r.counter, p.source AS model,
		p.value AS predicted, r.value AS real, 100.0 * (p.value - r.value) / nullif(r.value, 0) AS error_pct,
		r.runs, r.spread_pct, CASE
			WHEN r.runs < 2 THEN 'one run'
			WHEN f.spread_pct > 10 OR r.spread_pct > 10 THEN 'void'
			WHEN f.value - c.value < 0.1 * f.value THEN 'fits'
			ELSE 'judged' END AS status
		FROM real r JOIN truth p ON p.workload = r.workload AND p.memory_pages = r.memory_pages
			AND p.counter = r.counter AND p.source <> 'kernel'
		JOIN real f ON f.workload = r.workload AND f.memory_pages = r.memory_pages AND f.counter = 'fills'
		JOIN truth c ON c.workload = r.workload AND c.memory_pages = r.memory_pages
			AND c.counter = 'fills_compulsory' AND c.source = p.source;
	END
}

median() { # reads numbers
	sort -g | awk '{ v[NR] = $1 } END { if (NR) print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

# ---- the place: loop images of our own ---------------------------------------------------------
mounted=()
unmount() {
	local m
	for m in "${mounted[@]}"; do umount "$m" 2>/dev/null; done
	mounted=()
}
trap unmount EXIT
trap 'exit 130' INT TERM

place() { # FS -> mounts it at $dir/FS with a file of 1 GiB
	local fs=$1 img=$dir/$1.img at=$dir/$1 loop
	mountpoint -q "$at" && return 0
	mkdir -p "$at"
	if [ ! -e "$img" ]; then
		truncate -s 3G "$img.new"
		case $fs in
		ext4) mkfs.ext4 -q -F "$img.new" ;;
		xfs) mkfs.xfs -q -f "$img.new" ;;
		btrfs) mkfs.btrfs -q -f "$img.new" ;;
		esac || return 1
		mv "$img.new" "$img"
	fi
	loop=$(losetup --direct-io=on -f --show "$img") || return 1
	mount "$loop" "$at" || { losetup -d "$loop"; return 1; }
	losetup -d "$loop"	# goes when it is unmounted
	mounted+=("$at")
	echo 128 >"/sys/block/${loop#/dev/}/queue/read_ahead_kb"
	[ -e "$at/data" ] || { dd if=/dev/urandom of="$at/data.new" bs=1M count=1024 conv=fsync status=none &&
		mv "$at/data.new" "$at/data"; }
	sync -f "$at"
}

# ---- one run -----------------------------------------------------------------------------------
# What the kernel did, of the tasks in the capture's own memcg.
counts() { # DB PAGES
	"$pagereel" sql "$1" --format csv "
	WITH memcg AS (SELECT substr(subject, 7) AS path FROM context WHERE subject LIKE 'memcg:%/pagereel.%'
		AND key = 'limit_bytes' AND value = $2 * 4096 LIMIT 1),
	inside AS (SELECT DISTINCT pid FROM task WHERE cgroup = (SELECT path FROM memcg)),
	owned AS (SELECT op, max(CASE op WHEN 'add' THEN 2 * ts_ns + (pid IN inside) WHEN 'delete' THEN 2 * ts_ns END)
		OVER (PARTITION BY pfn ORDER BY ts_ns) AS owner FROM page_event),
	stat AS (SELECT key, max(value) FILTER (WHERE phase = 'end') - max(value) FILTER (WHERE phase = 'start')
		AS value FROM context WHERE subject = 'memcg:' || (SELECT path FROM memcg) GROUP BY key)
	SELECT 'fills', sum(pages) FROM page_event WHERE op = 'add' AND pid IN inside
	UNION ALL SELECT 'evictions', coalesce(sum(pages), 0) FROM page_event
		WHERE op = 'delete' AND flags & 2 AND pid IN inside
	UNION ALL SELECT 'scanned', coalesce(sum(nr_scanned), 0) FROM mm_vmscan_lru_shrink_inactive
		WHERE pid IN inside
	UNION ALL SELECT 'activated', (SELECT count(*) FROM owned WHERE op = 'activate' AND owner & 1)
		+ (SELECT coalesce(sum(nr_activate0 + nr_activate1), 0) FROM mm_vmscan_lru_shrink_inactive
			WHERE pid IN inside)
	UNION ALL SELECT 'deactivated', coalesce(sum(nr_deactivated), 0) FROM mm_vmscan_lru_shrink_active
		WHERE pid IN inside
	UNION ALL SELECT 'refaults', value FROM stat WHERE key = 'stat.workingset_refault_file'
	UNION ALL SELECT 'lost', coalesce(sum(events_lost), 0) FROM gap;" | tail -n +2
}

brief=(-e filemap:mm_filemap_add_to_page_cache -e filemap:mm_filemap_delete_from_page_cache
	-e vmscan:mm_vmscan_lru_shrink_inactive -e vmscan:mm_vmscan_lru_shrink_active
	-e vmscan:mm_vmscan_memcg_reclaim_begin -e vmscan:mm_vmscan_memcg_reclaim_end
	-e pagemap:mm_lru_activate)

store_counts() { # NAME CLASS PAGES SOURCE RUN: reads "counter,value" lines
	{
		echo 'BEGIN;'
		while IFS=, read -r counter value; do
			[ -n "$value" ] && echo "INSERT OR REPLACE INTO truth VALUES('$1', '$2', $3, '$4', $5, '$counter', $value);"
		done
		echo 'COMMIT;'
	} | sql
}

real_run() { # NAME CLASS MB RUN COMMAND...
	local name=$1 class=$2 mb=$3 run=$4 one=$dir/run.db
	shift 4
	[ "$(sql "SELECT count(*) FROM truth WHERE workload = '$name' AND memory_pages = $((mb * 256))
		AND source = 'kernel' AND run = $run")" = 0 ] || return 0
	rm -f "$one"*
	echo "$name at $mb MB, run $run" >&2
	"$pagereel" capture --memory "${mb}M" --context start,end "${brief[@]}" -o "$one" -- "$@" >"$dir/log" 2>&1 || {
		cat "$dir/log" >&2; return 1; }
	counts "$one" $((mb * 256)) | store_counts "$name" "$class" $((mb * 256)) kernel "$run"
	rm -f "$one"*
}

predict() { # NAME CLASS DB
	local name=$1 class=$2 mbs=${base_mb}M mb
	for mb in $sizes_mb; do mbs+=,${mb}M; done
	# the stream may have been derived by an older program
	sqlite3 "$3" "DELETE FROM validation; DELETE FROM knee; DELETE FROM curve; DELETE FROM result_interval;
		DELETE FROM result_cost; DELETE FROM result; DELETE FROM replay_run; DELETE FROM demand_task;
		DELETE FROM demand_extent; DELETE FROM demand_chunk; DELETE FROM demand_stream;" || return 1
	"$pagereel" replay "$3" -q -m linux-6.18,lru,clock -M "$mbs" --again --format csv >/dev/null 2>"$dir/log" || {
		cat "$dir/log" >&2; return 1; }
	for counter in fills fills_compulsory evictions scanned activated deactivated refaults; do
		"$pagereel" sql "$3" --format csv "SELECT model, memory_pages, $counter FROM result
			WHERE $counter IS NOT NULL AND params = ''" |
			tail -n +2 | while IFS=, read -r model pages value; do
			echo "$counter,$value" | store_counts "$name" "$class" "$pages" "$model" 0
		done
	done
}

workload_cells() { # NAME CLASS FS ARGUMENTS
	local name=$1 class=$2 fs=$3 mb run base=$dir/$1.db
	local command=(build/tests/truth/workload ${4/FILE/$dir/$fs/data})
	place "$fs" || { echo "truth.sh: $name: no $fs here" >&2; return 0; }
	if [ ! -e "$base" ]; then
		echo "$name at $base_mb MB, recorded" >&2
		rm -f "$base".new*
		"$pagereel" capture --memory ${base_mb}M --context start,end -o "$base.new" -- "${command[@]}" \
			>"$dir/log" 2>&1 || { cat "$dir/log" >&2; return 1; }
		mv "$base.new" "$base"
	fi
	counts "$base" $((base_mb * 256)) | store_counts "$name" "$class" $((base_mb * 256)) kernel 0
	predict "$name" "$class" "$base" || return 1
	for run in $(seq 1 "$runs"); do
		[ "$run" -lt "$runs" ] && real_run "$name" "$class" $base_mb "$run" "${command[@]}"
		for mb in $sizes_mb; do
			real_run "$name" "$class" "$mb" "$run" "${command[@]}" || return 1
		done
	done
}

# ---- the report --------------------------------------------------------------------------------
report() {
	local mode=-column
	case $format in json) mode=-json ;; csv) mode=-csv ;; esac
	sqlite3 -header $mode "$db" "
	SELECT c.workload, c.class, c.memory_pages / 256 AS mb, c.counter, cast(c.predicted AS INTEGER) AS predicted,
		cast(c.real AS INTEGER) AS real, round(c.error_pct, 2) AS error_pct, round(c.spread_pct, 1) AS spread_pct,
		c.runs, c.status, (SELECT round(error_pct, 1) FROM cell l WHERE l.workload = c.workload
			AND l.memory_pages = c.memory_pages AND l.counter = c.counter AND l.model = 'lru') AS lru_error_pct
	FROM cell c WHERE c.model = 'linux-6.18' ORDER BY 2, 1, 3, c.counter <> 'fills', 4"
}

bound() { # CLASS COUNTER MEDIAN WORST [SPREAD]
	local errors median worst nr verdict=ok
	errors=$(sql "SELECT abs(error_pct) FROM cell WHERE class = '$1' AND counter = '$2' AND model = 'linux-6.18'
		AND status = 'judged' AND spread_pct <= ${5:-10}")
	nr=$(grep -c . <<<"$errors")
	[ "$nr" = 0 ] && return 0
	median=$(median <<<"$errors")
	worst=$(sort -g <<<"$errors" | tail -1)
	awk "BEGIN { exit !($median > $3 || $worst > $4) }" && verdict=FAILED failed=1
	printf '%s %s: median %.2f %% (bound %s), worst %.2f %% (bound %s), %s cells judged: %s\n' \
		"$1" "$2" "$median" "$3" "$worst" "$4" "$nr" "$verdict" >&2
}

verdict() {
	failed=0
	bound read fills 1 3
	bound read scanned 5 5
	bound read activated 5 20 5	# where the kernel's own runs agree to 5 %
	bound mapped fills 15 15
	bound dirty fills 15 15
	sql "SELECT status || ': ' || count(*) || ' cells' FROM cell WHERE model = 'linux-6.18' AND counter = 'fills'
		GROUP BY status" >&2
	return $failed
}

if [ -z "$report" ]; then
	[ "$(id -u)" = 0 ] || skip 'needs root'
	[[ $(uname -r) = 6.18.* ]] || skip "only linux-6.18 can be judged, this is $(uname -r)"
	"$pagereel" doctor >/dev/null 2>&1 || true
	mkdir -p "$dir" build/tests/truth || exit 4
	${CC:-cc} -O2 -Wall -Wextra -o build/tests/truth/workload tests/truth/workload.c -lm || exit 4
	schema
	while IFS='|' read -r name class fs arguments <&3; do
		wanted "$name" || continue
		workload_cells "$name" "$class" "$fs" "$arguments" || exit 4
	done 3< <(workloads)
fi
report
verdict
