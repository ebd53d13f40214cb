#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# machine.sh - reclaim of a whole machine (kswapd, watermarks, no memcg) in guests of several sizes: each
# workload is recorded at each size; each record is replayed, kswapd=on, at the memory that the kernel had at
# each size (MemTotal), and compared with what it did there. Usage:
#
#	machine.sh [--kernel 6.12|6.1] [--mglru] [--boost] [--only NAME,...] [--sizes MB,...] [--report]
#
# --boost: leave vm.watermark_boost_factor as it is. Else it is 0: the model knows no boosting, by which kswapd
# frees more after an allocation had to take a page block of another kind.
#
# Kept in build/guest (GUEST_DIR); resumes. Exit 1 if a prediction is off by more than 3 %, 77 if no guest can
# be run here. One boot a workload and size.
cd "$(dirname "$0")/../.." || exit 4
export LC_ALL=C
. tests/guest/lib.sh
dir=${GUEST_DIR:-build/guest} sizes_mb='168 184 200' only= report= kernel=6.12 policy=classic boost=

while [ $# -gt 0 ]; do
	case $1 in
	--only) only=$2; shift ;;
	--sizes) sizes_mb=${2//,/ }; shift ;;
	--kernel) kernel=$2; shift ;;
	--mglru) policy=mglru ;;
	--boost) boost=-boost ;;
	--report) report=1 ;;
	*) echo "machine.sh: unknown argument '$1'" >&2; exit 2 ;;
	esac
	shift
done
case $kernel-$policy in
6.12-classic) model=linux-6.12 meta=linux-image-6.12-amd64 ;;
6.1-classic) model=linux-6.1 meta=linux-image-amd64 ;;
6.12-mglru) model=linux-mglru meta=linux-image-6.12-amd64 ;;
6.1-mglru) model=linux-mglru-6.1 meta=linux-image-amd64 ;;
*) echo "machine.sh: no kernel '$kernel' (6.12, 6.1)" >&2; exit 2 ;;
esac
truth=$dir/machine$boost-$model.db

# name | arguments of tests/truth/workload
workloads() {
	cat <<-'END'
	random|uniform pages=32768 nr=60000 random=1
	zipf|zipf pages=40960 nr=80000 random=1
	zipfscan|zipfscan pages=40960 nr=60000 random=1
	zipf-ra|zipf pages=40960 nr=12000 io=4
	END
}

sql() { sqlite3 -cmd '.timeout 10000' "$truth" "$@"; }
record() { echo "$dir/share/machine$boost-$model-$1-$2.db"; } # NAME MB

boot() { # NAME MB ARGUMENTS
	local out
	out=$(record "$1" "$2")
	[ ! -e "$out" ] || return 0
	cat >"$dir/share/go.sh" <<-END
	echo $([ $policy = classic ] && echo 0 || echo 7) >/sys/kernel/mm/lru_gen/enabled
	[ -n "$boost" ] || echo 0 >/proc/sys/vm/watermark_boost_factor
	cd /tmp
	pagereel capture --max-cpu 100 -b 4M -o /tmp/run.db -- /bin/workload ${3%% *} /img/data ${3#* } >/host/said 2>&1 &&
		cp run.db /host/new.db && mv /host/new.db /host/$(basename "$out")
	END
	nice tests/guest/run.sh "$dir/kernel/$version" "$initrd" "$2M" "$dir/share" go.sh "${GUEST_SECONDS:-900}" \
		>"$dir/machine.console" 2>&1
	[ -e "$out" ] || { tail -5 "$dir/share/said" "$dir/machine.console" >&2; return 1; }
}

# What the kernel did for the task that read, and what it had: "counter,value" lines. A capturer that reclaims
# is not in its record, so what was evicted is what was added less what is there at the end.
counts="WITH reader AS (SELECT pid FROM page_event WHERE op = 'read' GROUP BY pid ORDER BY count(*) DESC LIMIT 1)
	SELECT 'fills', sum(pages) FROM page_event WHERE op = 'add' AND pid IN reader
	UNION ALL SELECT 'evictions', (SELECT sum(pages) FROM page_event WHERE op = 'add') - (SELECT sum(value) / 4 FROM context
		WHERE phase = 'end' AND key IN ('Active(file)_kb', 'Inactive(file)_kb'))
	UNION ALL SELECT 'deactivated', sum(nr_deactivated) FROM mm_vmscan_lru_shrink_active
	UNION ALL SELECT 'kswapd_runs', count(*) FROM mm_vmscan_kswapd_wake
	UNION ALL SELECT 'direct_reclaims', count(*) FROM mm_vmscan_direct_reclaim_begin
	UNION ALL SELECT 'memory_pages', value / 4096 FROM context WHERE subject = 'host' AND key = 'memory_bytes' AND phase = 'start'
	UNION ALL SELECT 'lost', coalesce(sum(events_lost), 0) FROM gap"

store() { # NAME FROM_MB MB SOURCE: reads "counter,value"
	while IFS=, read -r counter value; do
		sql "INSERT OR REPLACE INTO machine VALUES('$1', $2, $3, '$4', '$counter', ${value:-NULL})"
	done
}

one_workload() { # NAME ARGUMENTS
	local name=$1 mb from pages
	for mb in $sizes_mb; do
		boot "$name" "$mb" "$2" || return 1
		cp "$(record "$name" "$mb")" "$dir/predict.db"
		# which brings the record of an older pagereel up to date
		./pagereel replay "$dir/predict.db" -q -m lru -M 64M >/dev/null 2>&1
		./pagereel sql "$dir/predict.db" --format csv "$counts" | tail -n +2 | store "$name" 0 "$mb" kernel
	done
	for from in $sizes_mb; do
		cp "$(record "$name" "$from")" "$dir/predict.db"
		for mb in $sizes_mb; do
			pages=$(sql "SELECT value FROM machine WHERE workload = '$name' AND mb = $mb AND counter = 'memory_pages'")
			./pagereel replay "$dir/predict.db" -q -m "$model:kswapd=on" -M $((pages * 4))K --format csv \
				>/dev/null 2>"$dir/log" || { cat "$dir/log" >&2; return 1; }
			for counter in fills fills_compulsory evictions deactivated; do
				./pagereel sql "$dir/predict.db" --format csv "SELECT $counter FROM result WHERE memory_pages = $pages
					AND $counter IS NOT NULL LIMIT 1" | tail -n +2 | sed "s/^/$counter,/"
			done | store "$name" "$from" "$mb" "$model"
		done
	done
}

# error_pct of each prediction; only those with a tenth of fills beyond the first touches prove anything.
report() {
	sqlite3 -header -column "$truth" "SELECT r.workload, p.from_mb, r.mb, r.counter, p.value AS predicted, r.value AS real,
		round(100.0 * (p.value - r.value) / nullif(r.value, 0), 2) AS error_pct
	FROM machine r JOIN machine p USING(workload, mb, counter)
	WHERE r.source = 'kernel' AND p.source = '$model' ORDER BY counter <> 'fills', counter, workload, mb, p.from_mb;
	SELECT workload, mb, max(iif(counter = 'memory_pages', value, NULL)) AS memory_pages,
		max(iif(counter = 'kswapd_runs', value, NULL)) AS kswapd_runs,
		max(iif(counter = 'direct_reclaims', value, NULL)) AS direct_reclaims, max(iif(counter = 'lost', value, NULL)) AS lost
	FROM machine WHERE source = 'kernel' GROUP BY 1, 2"
}

judge() {
	sqlite3 "$truth" "SELECT r.workload || ' at ' || r.mb || ' MB from ' || p.from_mb || ': ' || p.value || ' fills predicted, '
		|| r.value || ' real'
	FROM machine r JOIN machine p ON p.workload = r.workload AND p.mb = r.mb AND p.counter = r.counter
		JOIN machine c ON c.workload = p.workload AND c.mb = p.mb AND c.from_mb = p.from_mb AND c.source = p.source
	WHERE r.source = 'kernel' AND p.source = '$model' AND r.counter = 'fills' AND c.counter = 'fills_compulsory'
		AND r.value - c.value >= 0.1 * r.value AND abs(p.value - r.value) > 0.03 * r.value"
}

if [ -n "$report" ] && [ ! -e "$truth" ]; then
	echo "machine.sh: no runs of $model yet in $dir" >&2
	exit 2
fi
if [ -z "$report" ]; then
	guest_need mkfs.ext4 sqlite3
	mkdir -p "$dir/share"
	guest_kernel $meta $kernel
	guest_workload
	guest_initrd ./pagereel "$dir/workload"
	guest_image 200M 160
	sql 'CREATE TABLE IF NOT EXISTS machine(workload, from_mb, mb, source, counter, value,
		PRIMARY KEY(workload, from_mb, mb, source, counter))'
	while IFS='|' read -r name arguments <&3; do
		[ -z "$only" ] || [[ ,$only, = *,$name,* ]] || continue
		one_workload "$name" "$arguments" || exit 4
	done 3< <(workloads)
fi
report
failed=$(judge)
[ -z "$failed" ] || { echo "off by more than 3 %:"; echo "$failed"; exit 1; }
