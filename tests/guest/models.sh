#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# models.sh - the kernel models against Debian's kernels in guests. Each workload is recorded by pagereel
# inside the guest, in a memcg (v2) of the base size; its record is replayed at the other sizes; then it
# really runs there. Usage:
#
#	models.sh [--kernel 6.12|6.1] [--classic] [--quick] [--only NAME,...] [--sizes MB,...] [--runs N] [--report | --markdown]
#
# --kernel: 6.12 unless said otherwise (6.1 has no events of hits: pagereel's probes record them). --classic:
# lru_gen off, judged by linux-6.12 or linux-6.1; else on, judged by linux-mglru or linux-mglru-6.1. --quick:
# two workloads at one size. --report: no runs, only what is there; --markdown: the rows of docs/faithfulness.md. Everything is kept in build/guest
# (GUEST_DIR): an interrupted suite goes on where it stopped. Exit 1 if a bound fails, 77 if this host cannot
# run it. Guests run under emulation, one boot a workload: counts are theirs, times mean nothing.
cd "$(dirname "$0")/../.." || exit 4
export LC_ALL=C
. tests/guest/lib.sh
dir=${GUEST_DIR:-build/guest} base_mb=32 sizes_mb='24 48 64' runs=1 only= report= kernel=6.12 classic= markdown=
memory=256M

while [ $# -gt 0 ]; do
	case $1 in
	--quick) sizes_mb=48 only=zipf,zipfscan ;;
	--only) only=$2; shift ;;
	--runs) runs=$2; shift ;;
	--sizes) sizes_mb=${2//,/ }; shift ;;
	--kernel) kernel=$2; shift ;;
	--6.1) kernel=6.1 ;;
	--classic) classic=1 ;;
	--report) report=1 ;;
	--markdown) report=1 markdown=1 ;;
	*) echo "models.sh: unknown argument '$1'" >&2; exit 2 ;;
	esac
	shift
done
case $kernel${classic:+-classic} in
6.12) model=linux-mglru meta=linux-image-6.12-amd64 ;;
6.1) model=linux-mglru-6.1 meta=linux-image-amd64 ;;
6.12-classic) model=linux-6.12 meta=linux-image-6.12-amd64 ;;
6.1-classic) model=linux-6.1 meta=linux-image-amd64 ;;
*) echo "models.sh: no kernel '$kernel' (6.12, 6.1)" >&2; exit 2 ;;
esac
truth=$dir/$model.db

# name | arguments of tests/truth/workload | recorded at another size than $base_mb. Later touches of a mapping are
# in no record: it is made where they are few.
workloads() {
	cat <<-'END'
	random|uniform pages=16384 nr=60000 random=1
	zipf|zipf pages=32768 nr=80000 random=1
	zipfscan|zipfscan pages=32768 nr=80000 random=1
	loop|loop pages=12288 nr=40000 random=1
	sequential|loop pages=40960 nr=5120 io=16
	zipf-ra|zipf pages=32768 nr=10000 io=4
	overwrite|uniform pages=24576 nr=40000 random=1 write=50
	mapped|uniform pages=16384 nr=40000 mapped=1 random=1|24
	END
}

sql() { sqlite3 -cmd '.timeout 10000' "$truth" "$@"; }

prepare() {
	guest_need mkfs.ext4 sqlite3
	mkdir -p "$dir/share"
	guest_kernel $meta $kernel
	guest_workload
	guest_initrd ./pagereel "$dir/workload"
	guest_image 200M 160
	sql 'CREATE TABLE IF NOT EXISTS truth(workload, mb, source, run, counter, value,
		PRIMARY KEY(workload, mb, source, run, counter))'
}

# What the kernel did, of the tasks in the capture's memcg: "counter value" lines. NULL: not in this kernel
# under this policy.
counts="WITH memcg AS (SELECT substr(subject, 7) AS path FROM context WHERE subject LIKE 'memcg:%/pagereel.%' LIMIT 1),
	inside AS (SELECT DISTINCT pid FROM task WHERE cgroup = (SELECT path FROM memcg))
	SELECT 'fills', sum(pages) FROM page_event WHERE op = 'add' AND pid IN inside
	UNION ALL SELECT 'evictions', coalesce(sum(pages), 0) FROM page_event
		WHERE op = 'delete' AND flags & 2 AND pid IN inside
	UNION ALL SELECT 'written', max(value) FILTER (WHERE phase = 'end') - max(value) FILTER (WHERE phase = 'start')
		FROM context WHERE subject = 'vmstat' AND key = 'nr_written'
	UNION ALL SELECT 'lost', coalesce(sum(events_lost), 0) FROM gap"
case $model in
linux-mglru) counts+=" UNION ALL SELECT 'scanned', sum(nr_scanned) FROM mm_vmscan_lru_isolate WHERE pid IN inside" ;;
linux-mglru-6.1) ;;
*) counts+=" UNION ALL SELECT 'scanned', sum(nr_scanned) FROM mm_vmscan_lru_shrink_inactive WHERE pid IN inside
	UNION ALL SELECT 'activated', (SELECT count(*) FROM page_event WHERE op = 'activate' AND pid IN inside) +
		coalesce((SELECT sum(coalesce(nr_activate, nr_activate0 + nr_activate1)) FROM mm_vmscan_lru_shrink_inactive
		WHERE pid IN inside), 0)
	UNION ALL SELECT 'deactivated', coalesce(sum(nr_deactivated), 0) FROM mm_vmscan_lru_shrink_active WHERE pid IN inside" ;;
esac

# The guest's script: one recording with all events, then runs with the events that are counted.
guest_script() { # ARGUMENTS WANTED...   (WANTED: MB:RUN)
	local arguments=$1 one events=
	shift
	for one in filemap:mm_filemap_add_to_page_cache filemap:mm_filemap_delete_from_page_cache pagemap:mm_lru_activate \
		vmscan:mm_vmscan_lru_isolate vmscan:mm_vmscan_lru_shrink_inactive vmscan:mm_vmscan_lru_shrink_active \
		vmscan:mm_vmscan_memcg_reclaim_begin vmscan:mm_vmscan_memcg_reclaim_end; do
		events+=" -e $one"
	done
	cat <<-END
	echo $([ -n "$classic" ] && echo 0 || echo 7) >/sys/kernel/mm/lru_gen/enabled
	mkdir -p /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup
	cd /tmp
	run() {
		echo "run \$*"
		mb=\$1 out=\$2; shift 2
		# 9p has no shared mappings, which SQLite wants; what is written to /img is the workload's; the serial line is
		# slow
		pagereel capture --max-cpu 100 --memory \${mb}M "\$@" -o /tmp/run.db -- \\
			/bin/workload ${arguments%% *} /img/data ${arguments#* } >/tmp/said 2>&1 &&
			cp /tmp/run.db /host/\$out || cat /tmp/said
		rm -f /tmp/run.db*; sync
	}
	END
	[ -e "$dir/share/$model-$name.db" ] || echo "run $base_mb $model-$name.db"
	for one in "$@"; do
		echo "run ${one%:*} $name.${one%:*}.${one#*:}.run --context start,end$events"
	done
}

wanted_runs() {
	local mb run
	for run in $(seq 1 "$runs"); do
		for mb in $(printf '%s\n' $base_mb $sizes_mb | sort -nu); do
			[ -n "$(sql "SELECT 1 FROM truth WHERE workload = '$name' AND mb = $mb AND source = 'kernel' AND run = $run")" ] ||
				echo "$mb:$run"
		done
	done
}

store_counts() { # MB SOURCE RUN: reads "counter,value"
	while IFS=, read -r counter value; do
		sql "INSERT OR REPLACE INTO truth VALUES('$name', $1, '$2', $3, '$counter', ${value:-NULL})"
	done
}

one_workload() { # NAME ARGUMENTS [BASE_MB]
	local name=$1 arguments=$2 base_mb=${3:-$base_mb} one file wanted mb mbs
	mapfile -t wanted < <(wanted_runs)
	if [ ${#wanted[@]} != 0 ] || [ ! -e "$dir/share/$model-$name.db" ]; then
		guest_script "$arguments" "${wanted[@]}" >"$dir/share/go.sh"
		nice tests/guest/run.sh "$dir/kernel/$version" "$initrd" $memory "$dir/share" go.sh "${GUEST_SECONDS:-1200}" \
			>"$dir/$name.console" 2>&1 || { tail -20 "$dir/$name.console" >&2; return 1; }
		grep -q 'guest done' "$dir/$name.console" || { tail -20 "$dir/$name.console" >&2; return 1; }
	fi
	for one in "${wanted[@]}"; do
		file=$dir/share/$name.${one%:*}.${one#*:}.run
		[ -e "$file" ] || { echo "$name: the guest brought no $file" >&2; return 1; }
		./pagereel sql "$file" --format csv "$counts" | tail -n +2 | store_counts "${one%:*}" kernel "${one#*:}"
		rm -f "$file"*
	done
	mbs=${base_mb}M
	for mb in $sizes_mb; do [ "$mb" = "$base_mb" ] || mbs+=,${mb}M; done
	predict
}

predict() {
	local mb source value counter
	cp "$dir/share/$model-$name.db" "$dir/predict.db"
	./pagereel replay "$dir/predict.db" -q -m "$model,lru" -M "$mbs" --format csv >/dev/null 2>"$dir/log" || {
		cat "$dir/log" >&2; return 1; }
	sql "DELETE FROM truth WHERE workload = '$name' AND source <> 'kernel'"
	for counter in fills fills_compulsory evictions scanned activated deactivated written; do
		./pagereel sql "$dir/predict.db" --format csv "SELECT memory_pages / 256, model, $counter FROM result
			WHERE $counter IS NOT NULL" | tail -n +2 | while IFS=, read -r mb source value; do
			echo "$counter,$value" | store_counts "$mb" "$source" 0
		done
	done
}

report() {
	sqlite3 -header -column "$truth" "
	WITH real AS (SELECT workload, mb, counter, avg(value) AS value, count(*) AS runs,
			100.0 * (max(value) - min(value)) / nullif(avg(value), 0) AS spread
			FROM truth WHERE source = 'kernel' GROUP BY 1, 2, 3)
	SELECT r.workload, r.mb, r.counter, p.value AS predicted, cast(r.value AS INTEGER) AS real,
		round(100.0 * (p.value - r.value) / nullif(r.value, 0), 2) AS error_pct, round(r.spread, 1) AS spread_pct,
		r.runs, round(100.0 * (l.value - r.value) / nullif(r.value, 0), 1) AS lru_error_pct
	FROM real r JOIN truth p ON p.workload = r.workload AND p.mb = r.mb AND p.counter = r.counter
		AND p.source = '$model'
	LEFT JOIN truth l ON l.workload = r.workload AND l.mb = r.mb AND l.counter = r.counter AND l.source = 'lru'
	ORDER BY r.counter <> 'fills', r.counter, 1, 2"
}

# workload, MB, real fills, then errors in %: fills, scanned, activated (of a hundred at least), and fills by lru
markdown() {
	sqlite3 "$truth" "
	WITH real AS (SELECT workload, mb, counter, avg(value) AS value FROM truth WHERE source = 'kernel' GROUP BY 1, 2, 3),
	pair AS (SELECT r.workload, r.mb, r.counter, r.value AS real, 100.0 * (p.value - r.value) / r.value AS error,
		100.0 * (l.value - r.value) / r.value AS by_lru
		FROM real r JOIN truth p ON p.workload = r.workload AND p.mb = r.mb AND p.counter = r.counter AND p.source = '$model'
		LEFT JOIN truth l ON l.workload = r.workload AND l.mb = r.mb AND l.counter = r.counter AND l.source = 'lru'
		WHERE r.value > 0)
	SELECT printf('| %s | %d | %d | %+.2f | %s | %s | %+.1f |', workload, mb,
		max(real) FILTER (WHERE counter = 'fills'), max(error) FILTER (WHERE counter = 'fills'),
		iif(count(*) FILTER (WHERE counter = 'scanned'), printf('%+.2f', max(error) FILTER (WHERE counter = 'scanned')), 'n/a'),
		iif(count(*) FILTER (WHERE counter = 'activated' AND real >= 100),
			printf('%+.1f', max(error) FILTER (WHERE counter = 'activated')), 'n/a'),
		max(by_lru) FILTER (WHERE counter = 'fills'))
	FROM pair GROUP BY workload, mb"
}

# Cells with less than 10 % of fills beyond the compulsory prove nothing; a wide spread proves less. Of mapped
# and of dirty pages the record cannot tell all.
judge() {
	sqlite3 "$truth" "
	WITH real AS (SELECT workload, mb, avg(value) AS value, max(value) - min(value) AS range FROM truth
			WHERE source = 'kernel' AND counter = 'fills' GROUP BY 1, 2)
	SELECT r.workload || ' at ' || r.mb || ' MB: ' || p.value || ' fills predicted, ' || r.value || ' real'
	FROM real r JOIN truth p USING(workload, mb) JOIN truth c USING(workload, mb)
	WHERE p.source = '$model' AND p.counter = 'fills' AND c.source = '$model' AND c.counter = 'fills_compulsory'
		AND r.value - c.value >= 0.1 * r.value AND r.range <= 0.1 * r.value
		AND abs(p.value - r.value) > iif(r.workload IN ('mapped', 'overwrite'), 15, ${BOUND_PCT:-3}) / 100.0 * r.value"
}

if [ -n "$report" ] && [ ! -e "$truth" ]; then
	echo "models.sh: no runs of $model yet in $dir" >&2
	exit 2
fi
if [ -z "$report" ]; then
	prepare
	while IFS='|' read -r name arguments base <&3; do
		[ -z "$only" ] || [[ ,$only, = *,$name,* ]] || continue
		one_workload "$name" "$arguments" "$base" || exit 4
	done 3< <(workloads)
fi
[ -z "$markdown" ] || { markdown; exit; }
report
failed=$(judge)
[ -z "$failed" ] || { echo "off by more than ${BOUND_PCT:-3} % (mapped and overwrite: 15 %):"; echo "$failed"; exit 1; }
