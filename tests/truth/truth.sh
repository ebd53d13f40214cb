#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# truth.sh - the models against the kernel that runs here. Each workload is recorded once in a memcg;
# its record is replayed at other sizes; then it really runs there, at least twice a size, and what the
# kernel did is compared with what was predicted. Usage:
#
#	truth.sh [--quick] [--only NAME,...] [--class CLASS,...] [--sizes MB,...] [--runs N]
#		[--predict | --report] [--format table|json|csv|markdown]
#	truth.sh --cpu [ARGUMENT...]		the CPU time of reclaim instead: see cpu.sh
#
# --quick: two workloads at two sizes, shorter. --predict: no runs, the records that are there are
# replayed again. --report: only what is there. Everything is kept in build/truth (TRUTH_DIR, up to
# 2 GiB): an interrupted suite goes on where it stopped. Exit 1 if a bound fails, 77 if this host cannot
# run it. A cell whose own runs spread by more than 10 % is void: shown, counted, never judged. Cells
# with less than 10 % of fills beyond the compulsory prove nothing and are not judged either.
cd "$(dirname "$0")/../.." || exit 4
[ "$1" = --cpu ] && exec tests/truth/cpu.sh "${@:2}"
export LC_ALL=C
pagereel=${PAGEREEL:-./pagereel}
dir=${TRUTH_DIR:-build/truth} db=$dir/truth.db runs=2 format=table
only='' classes='' quick='' action=run sizes=''
contrast=lru,clock,2q,arc,lirs,s3fifo,sieve,wtinylfu

while [ $# -gt 0 ]; do
	case $1 in
	--quick) quick=1 ;;
	--only) only=$2; shift ;;
	--class) classes=$2; shift ;;
	--runs) runs=$2; shift ;;
	--sizes) sizes=${2//,/ }; shift ;;
	--format) format=$2; shift ;;
	--report | --predict) action=${1#--} ;;
	*) echo "truth.sh: unknown argument '$1'" >&2; exit 2 ;;
	esac
	shift
done

skip() { echo "truth.sh: skipped: $*"; exit 77; }

# name | class | file system | MB recorded | MB predicted | command: W is tests/truth/workload, AT the
# mount point. What no event shows at a larger size (hits through page tables) is recorded at the
# smallest size and predicted upwards only.
workloads() {
	local sizes='32 48 96 128 192' up='72 96 144'

	if [ -n "$quick" ]; then
		cat <<-'END'
		zipf-4k|read|ext4|48|72|W zipf AT/data pages=32768 nr=120000 random=1
		zipf-64k|read|ext4|48|72|W zipf AT/data pages=32768 nr=15000 io=16
		END
		return
	fi
	cat <<-END
	uniform-4k|read|ext4|64|$sizes|W uniform AT/data pages=65536 nr=150000 random=1
	zipf-4k|read|ext4|64|$sizes|W zipf AT/data pages=65536 nr=200000 random=1
	zipfscan-4k|read|ext4|64|$sizes|W zipfscan AT/data pages=65536 nr=150000 random=1
	loop-4k|read|ext4|64|$sizes|W loop AT/data pages=24576 nr=150000 random=1
	sequential|read|ext4|64|$sizes|W loop AT/data pages=131072 nr=16384 io=16
	interleaved|read|ext4|64|$sizes|W interleaved AT/data pages=131072 nr=16384 io=16 streams=8
	zipf-4k-ra|read|ext4|64|$sizes|W zipf AT/data pages=65536 nr=200000
	zipf-64k|read|ext4|64|$sizes|W zipf AT/data pages=131072 nr=60000 io=16
	zipf-1m|read|ext4|64|$sizes|W zipf AT/data pages=131072 nr=12000 io=256
	zipf-64k-xfs|read|xfs|64|$sizes|W zipf AT/data pages=65536 nr=60000 io=16
	zipf-64k-btrfs|read|btrfs|64|$sizes|W zipf AT/data pages=65536 nr=150000 io=16
	zipf-4k-xfs|read|xfs|64|$sizes|W zipf AT/data pages=65536 nr=150000 random=1
	zipf-4k-btrfs|read|btrfs|64|$sizes|W zipf AT/data pages=65536 nr=150000 random=1
	zipfscan-xfs|read|xfs|64|$sizes|W zipfscan AT/data pages=65536 nr=100000
	zipfscan-btrfs|read|btrfs|64|$sizes|W zipfscan AT/data pages=65536 nr=100000
	mmap-random|mapped|ext4|48|$up|W zipf AT/data pages=65536 nr=200000 mapped=1 random=1
	mmap-sequential|mapped|ext4|48|$up|W loop AT/data pages=65536 nr=262144 mapped=1
	overwrite|dirty|ext4|64|$sizes|W zipf AT/data pages=65536 nr=200000 write=30 random=1
	log|dirty|ext4|64|$sizes|W log AT/log pages=131072 nr=200000 streams=2 random=1
	build|dirty|ext4|64|$sizes|W build AT/tree nr=3000
	sqlite|dirty|ext4|64|$sizes|sqlite3 -batch AT/osdb.sqlite <tests/truth/index.sql
	anon-s0|anon|ext4|48|$up|W zipf AT/data pages=32768 nr=150000 random=1 anon=8192 anon_pct=20 swappiness=0
	anon-s60|anon|ext4|48|$up|W zipf AT/data pages=32768 nr=150000 random=1 anon=8192 anon_pct=20 swappiness=60
	anon-s100|anon|ext4|48|$up|W zipf AT/data pages=32768 nr=150000 random=1 anon=8192 anon_pct=20 swappiness=100
	anon-s200|anon|ext4|48|$up|W zipf AT/data pages=32768 nr=150000 random=1 anon=8192 anon_pct=20 swappiness=200
	cats|contended|ext4|64|32 48 96|for i in 1 2 3 4; do head -c 128M AT/data >/dev/null & done; wait
	END
}

wanted() { # NAME CLASS
	{ [ -z "$only" ] || [[ ,$only, = *,$1,* ]]; } && { [ -z "$classes" ] || [[ ,$classes, = *,$2,* ]]; }
}

sql() { sqlite3 -cmd '.timeout 10000' "$db" "$@"; }

schema() {
	sql <<-'END'
	CREATE TABLE IF NOT EXISTS truth(workload TEXT, class TEXT, memory_pages INTEGER, source TEXT,
		run INTEGER, counter TEXT, value INTEGER,
		PRIMARY KEY(workload, memory_pages, source, run, counter));
	DROP VIEW IF EXISTS real;
	DROP VIEW IF EXISTS cell;
	DROP VIEW IF EXISTS contrast;
	DROP VIEW IF EXISTS report;
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
	-- the textbook model that comes nearest, which nobody can know beforehand
	CREATE VIEW contrast AS SELECT workload, memory_pages, counter, model, error_pct, min(abs(error_pct))
		FROM cell WHERE model NOT LIKE 'linux-%' GROUP BY workload, memory_pages, counter;
	CREATE VIEW report AS SELECT c.workload, c.class, c.memory_pages / 256 AS mb, c.counter,
		cast(c.predicted AS INTEGER) AS predicted, cast(c.real AS INTEGER) AS real,
		round(c.error_pct, 2) AS error_pct, round(c.spread_pct, 1) AS spread_pct, c.runs, c.status,
		(SELECT round(value / 1000, 1) FROM real d WHERE d.workload = c.workload
			AND d.memory_pages = c.memory_pages AND d.counter = 'duration_ms') AS seconds,
		(SELECT round(error_pct, 1) FROM cell l WHERE l.workload = c.workload AND l.model = 'lru'
			AND l.memory_pages = c.memory_pages AND l.counter = c.counter) AS lru_error_pct,
		b.model AS best_textbook, round(b.error_pct, 1) AS best_error_pct
		FROM cell c LEFT JOIN contrast b USING (workload, memory_pages, counter)
		WHERE c.model = 'linux-6.18' ORDER BY c.class, c.workload, c.memory_pages, c.counter <> 'fills', 4;
	END
}

median() { # reads numbers
	sort -g | awk '{ v[NR] = $1 } END { if (NR) print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

# ---- the place: loop images of our own ---------------------------------------------------------
mounted=() zram=
leave() {
	local m
	for m in "${mounted[@]}"; do umount "$m" 2>/dev/null; done
	mounted=()
	swap_off
}
trap leave EXIT
trap 'exit 130' INT TERM

# Swap on zram, there while a workload with anonymous memory runs: every memcg of the host may use it.
swap_on() {
	[ -z "$zram" ] || return 0
	modprobe zram 2>/dev/null
	zram=$(cat /sys/class/zram-control/hot_add 2>/dev/null) || { zram=; return 1; }
	echo 256M >"/sys/block/zram$zram/disksize" && mkswap -q "/dev/zram$zram" >/dev/null &&
		swapon "/dev/zram$zram"
}

swap_off() {
	[ -n "$zram" ] || return 0
	swapoff "/dev/zram$zram" 2>/dev/null
	echo 1 >"/sys/block/zram$zram/reset"
	echo "$zram" >/sys/class/zram-control/hot_remove
	zram=
}

place() { # FS -> mounts it, nothing of it cached, at $dir/FS
	local fs=$1 img=$dir/$1.img at=$dir/$1 loop pages=65536
	[ "$fs" != ext4 ] || pages=131072
	if mountpoint -q "$at"; then	# somebody may be looking at all file systems
		for _ in 1 2 3 4 5 6 7 8 9 10; do
			umount "$at" 2>/dev/null && break
			sleep 1
		done
		mountpoint -q "$at" && return 1
	fi
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
	mount -o discard "$loop" "$at" || { losetup -d "$loop"; return 1; }
	losetup -d "$loop"	# goes when it is unmounted
	[[ " ${mounted[*]} " = *" $at "* ]] || mounted+=("$at")
	echo 128 >"/sys/block/${loop#/dev/}/queue/read_ahead_kb"
	[ -e "$at/data" ] || { dd if=/dev/urandom of="$at/data.new" bs=1M count=$((pages / 256)) conv=fsync \
		status=none && mv "$at/data.new" "$at/data" && place "$fs"; }
}

# As it was before every run: files that the workload makes are not there, but those it needs.
prepare() { # FS COMMAND
	local at=$dir/$1
	place "$1" || return 1
	case $2 in
	*' build '*) [ -d "$at/tree" ] || { build/tests/truth/workload tree "$at/tree" && place "$1"; } ;;
	*' log '*) : >"$at/log" ;;
	sqlite3*) rm -f "$at/osdb.sqlite" ;;
	esac
}

cleanup() { # FS COMMAND
	case $2 in
	*' log '*) rm -f "$dir/$1/log" ;;
	sqlite3*) rm -f "$dir/$1/osdb.sqlite" ;;
	esac
}

# ---- one run -----------------------------------------------------------------------------------
# What the kernel did, of the tasks in the capture's own memcg. A page belongs to whoever added it last;
# mm_lru_activate counts folios, so their size is taken from there, too.
counts() { # DB PAGES
	"$pagereel" sql "$1" --format csv "
	WITH memcg AS (SELECT substr(subject, 7) AS path FROM context WHERE subject LIKE 'memcg:%/pagereel.%'
		AND key = 'limit_bytes' AND value = $2 * 4096 LIMIT 1),
	inside AS (SELECT DISTINCT pid FROM task WHERE cgroup = (SELECT path FROM memcg)),
	first AS (SELECT min(ts_ns) AS ns FROM page_event),
	owned AS (SELECT op, max(CASE op WHEN 'add' THEN ((ts_ns - ns) * 1024 + pages) * 2 + (pid IN inside)
			WHEN 'delete' THEN (ts_ns - ns) * 2048 END)
		OVER (PARTITION BY pfn ORDER BY ts_ns) AS owner FROM page_event, first),
	stat AS (SELECT key, max(value) FILTER (WHERE phase = 'end') - max(value) FILTER (WHERE phase = 'start')
		AS value FROM context WHERE subject = 'memcg:' || (SELECT path FROM memcg) GROUP BY key)
	SELECT 'fills', sum(pages) FROM page_event WHERE op = 'add' AND pid IN inside
	UNION ALL SELECT 'evictions', coalesce(sum(pages), 0) FROM page_event
		WHERE op = 'delete' AND flags & 2 AND pid IN inside
	UNION ALL SELECT 'scanned', coalesce(sum(nr_scanned), 0) FROM mm_vmscan_lru_shrink_inactive
		WHERE pid IN inside
	UNION ALL SELECT 'activated', (SELECT coalesce(sum(owner / 2 % 1024), 0) FROM owned
			WHERE op = 'activate' AND owner & 1)
		+ (SELECT coalesce(sum(nr_activate0 + nr_activate1), 0) FROM mm_vmscan_lru_shrink_inactive
			WHERE pid IN inside)
	UNION ALL SELECT 'deactivated', coalesce(sum(nr_deactivated), 0) FROM mm_vmscan_lru_shrink_active
		WHERE pid IN inside
	UNION ALL SELECT 'refaults', value FROM stat WHERE key = 'stat.workingset_refault_file'
	UNION ALL SELECT 'duration_ms', (max(ts_ns) - min(ts_ns)) / 1000000 FROM page_event WHERE pid IN inside
	UNION ALL SELECT 'lost', coalesce(sum(events_lost), 0) FROM gap;" | tail -n +2
	# tables that are there if there were such events: pages swapped, and written back, where the file
	# system says it
	sqlite3 "$1" "SELECT 'swapped_out,' || count(*) FROM mm_vmscan_write_folio" 2>/dev/null
	sqlite3 "$1" "SELECT 'written,' || coalesce(sum(pages_written), 0) FROM ext4_writepages_result
		WHERE dev = (SELECT dev FROM ext4_da_write_begin LIMIT 1)" 2>/dev/null
}

brief=(-e filemap:mm_filemap_add_to_page_cache -e filemap:mm_filemap_delete_from_page_cache
	-e vmscan:mm_vmscan_lru_shrink_inactive -e vmscan:mm_vmscan_lru_shrink_active
	-e vmscan:mm_vmscan_memcg_reclaim_begin -e vmscan:mm_vmscan_memcg_reclaim_end
	-e vmscan:mm_vmscan_write_folio -e pagemap:mm_lru_activate -e memcg:memcg_flush_stats)
full=(-e reclaim -e slab -e writeback -e pagecache -e readahead -e memcg-flush -e tasks)

store_counts() { # NAME CLASS PAGES SOURCE RUN: reads "counter,value" lines
	{
		echo 'BEGIN;'
		while IFS=, read -r counter value; do
			[ -n "$value" ] && echo "INSERT OR REPLACE INTO truth VALUES('$1', '$2', $3, '$4', $5, '$counter', $value);"
		done
		echo 'COMMIT;'
	} | sql
}

have_run() { # NAME PAGES RUN
	[ "$(sql "SELECT count(*) FROM truth WHERE workload = '$1' AND memory_pages = $2 AND source = 'kernel'
		AND run = $3")" != 0 ]
}

# Records COMMAND on FS at MB; what it did goes to the results.
one_run() { # NAME CLASS FS MB RUN COMMAND DB EVENTS...
	local name=$1 class=$2 fs=$3 mb=$4 run=$5 command=$6 one=$7
	shift 7
	rm -f "$one"*
	prepare "$fs" "$command" || return 1
	if [ "$class" = anon ]; then
		swap_on || return 1
	fi
	command=${command//AT/$dir/$fs}
	command=${command/#W /exec build/tests/truth/workload }
	"$pagereel" capture --memory "${mb}M" --context start,end --max-cpu 100 "$@" -o "$one" \
		-- bash -c "$command" >"$dir/log" 2>&1 || { cat "$dir/log" >&2; return 1; }
	cleanup "$fs" "$6"
	counts "$one" $((mb * 256)) | store_counts "$name" "$class" $((mb * 256)) kernel "$run"
}

record() { # NAME CLASS FS MB COMMAND
	local base=$dir/$1.db events=("${full[@]}")
	[ ! -e "$base" ] || return 0
	[ "$2" != dirty ] || events+=(-e ext4:ext4_writepages_result)
	[ "$2" != anon ] || events+=(-e faults)
	echo "$1 at $4 MB, recorded" >&2
	one_run "$1" "$2" "$3" "$4" 0 "$5" "$base.new" "${events[@]}" && mv "$base.new" "$base"
}

real_run() { # NAME CLASS FS MB RUN COMMAND
	local events=("${brief[@]}")
	! have_run "$1" $(($4 * 256)) "$5" || return 0
	[ "$2" != dirty ] || events+=(-e ext4:ext4_writepages_result -e ext4:ext4_da_write_begin)
	echo "$1 at $4 MB, run $5" >&2
	one_run "$1" "$2" "$3" "$4" "$5" "$6" "$dir/run.db" "${events[@]}"
	local ret=$?
	rm -f "$dir/run.db"*
	return $ret
}

predict() { # NAME CLASS BASE_MB SIZES
	local name=$1 class=$2 base=$dir/$1.db mbs=${3}M mb model=linux-6.18 counter anon
	[ -e "$base" ] || return 0
	[ "$class" != anon ] || model=linux-6.18:swap=on,swappiness=${name#anon-s}
	for mb in $4; do mbs+=,${mb}M; done
	# the stream may have been derived by an older program
	sqlite3 "$base" "DELETE FROM validation; DELETE FROM knee; DELETE FROM curve; DELETE FROM result_interval;
		DELETE FROM result_cost; DELETE FROM result; DELETE FROM replay_run; DELETE FROM demand_task;
		DELETE FROM demand_extent; DELETE FROM demand_chunk; DELETE FROM demand_stream;" || return 1
	"$pagereel" replay "$base" -q -m "$model,$contrast" -M "$mbs" --again --format csv >/dev/null 2>"$dir/log" || {
		cat "$dir/log" >&2; return 1; }
	for counter in fills fills_compulsory evictions scanned activated deactivated refaults written swapped_out; do
		# what the kernel's fills do not have: anonymous pages, first touched or swapped in
		anon=0
		[[ $class != anon || $counter != fills* ]] ||
			anon='(SELECT sum(pages) FROM demand_extent WHERE file_id IS NULL)'
		[ "$anon" = 0 ] || [ "$counter" != fills ] || anon+=' - coalesce(swapped_in, 0)'
		"$pagereel" sql "$base" --format csv "SELECT memory_pages, model, $counter - $anon FROM result
			WHERE $counter IS NOT NULL" | tail -n +2 | sed "s/^/$counter,/"
	done | awk -F, -v name="$name" -v class="$class" "BEGIN { print \"BEGIN;\" } {
		printf \"INSERT OR REPLACE INTO truth VALUES('%s', '%s', %s, '%s', 0, '%s', %s);\\n\",
			name, class, \$2, \$3, \$1, \$4 } END { print \"COMMIT;\" }" | sql
}

# ---- the report --------------------------------------------------------------------------------
report() {
	local mode=-column
	case $format in json) mode=-json ;; csv) mode=-csv ;; markdown) mode=-markdown ;; esac
	sqlite3 -header $mode "$db" 'SELECT * FROM report'
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
	bound read activated 5 5 5	# where the kernel's own runs agree to 5 %
	bound mapped fills 15 15
	bound dirty fills 15 15
	bound anon fills 15 15
	bound contended fills 15 15
	sql "SELECT status || ': ' || count(*) || ' cells' FROM cell WHERE model = 'linux-6.18' AND counter = 'fills'
		GROUP BY status" >&2
	return $failed
}

broken=
each_workload() { # FUNCTION: NAME CLASS FS BASE_MB SIZES COMMAND
	local name class fs base mbs command
	while IFS='|' read -r name class fs base mbs command <&3; do
		wanted "$name" "$class" || continue
		"$1" "$name" "$class" "$fs" "$base" "${sizes:-$mbs}" "$command" || broken+=" $name"
	done 3< <(workloads)
}

record_one() { record "$1" "$2" "$3" "$4" "$6"; }
predict_one() { predict "$1" "$2" "$4" "$5"; }

# The base size as well: its record counts as one of the runs.
run_one() {
	local mb
	for mb in $5; do
		real_run "$1" "$2" "$3" "$mb" "$run" "$6" || return 1
	done
	[ "$run" -ge "$runs" ] || real_run "$1" "$2" "$3" "$4" "$run" "$6"
	local ret=$?
	[ "$2" != anon ] || swap_off
	return $ret
}

case $action in
run)
	[ "$(id -u)" = 0 ] || skip 'needs root'
	[[ $(uname -r) = 6.18.* ]] || skip "only linux-6.18 can be judged, this is $(uname -r)"
	"$pagereel" doctor >/dev/null 2>&1 || true
	mkdir -p "$dir" build/tests/truth || exit 4
	${CC:-cc} -O2 -Wall -Wextra -o build/tests/truth/workload tests/truth/workload.c -lm || exit 4
	schema
	each_workload record_one
	for run in $(seq 1 "$runs"); do
		each_workload run_one
	done
	each_workload predict_one
	;;
predict)
	schema
	each_workload predict_one
	;;
esac
report
[ -z "$broken" ] || { echo "truth.sh: did not run:$broken" >&2; exit 4; }
verdict
