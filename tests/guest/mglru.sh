#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# mglru.sh - linux-mglru against Debian's 6.12 kernel with multi-gen LRU on, in a guest. Each workload
# is recorded by pagereel inside the guest, in a memcg (v2) of the base size; its record is replayed at
# the other sizes; then it really runs there. Usage:
#
#	mglru.sh [--quick] [--only NAME,...] [--runs N] [--classic | --6.1] [--report]
#
# --quick: two workloads at one size. --classic: lru_gen off, judged by linux-6.12. --6.1: that kernel,
# judged by linux-mglru-6.1; as it has no events of hits, what is replayed is the record of the same
# workload made under 6.12 (run that first). --report: no runs, only what is there. Everything is kept in build/guest (GUEST_DIR): an interrupted suite goes on where
# it stopped. Exit 1 if a bound fails, 77 if this host cannot run it. Guests run under emulation, one
# boot a workload: counts are theirs, times mean nothing.
cd "$(dirname "$0")/../.." || exit 4
export LC_ALL=C
dir=${GUEST_DIR:-build/guest} base_mb=32 sizes_mb='24 48 64' runs=2 only= report= model=linux-mglru lru_gen=7
memory=256M meta=linux-image-6.12-amd64 isolate='-e vmscan:mm_vmscan_lru_isolate'

while [ $# -gt 0 ]; do
	case $1 in
	--quick) runs=1 sizes_mb=48 only=zipf,zipfscan ;;
	--only) only=$2; shift ;;
	--runs) runs=$2; shift ;;
	--sizes) sizes_mb=${2//,/ }; shift ;;
	--classic) model=linux-6.12 lru_gen=0 ;;
	--6.1) model=linux-mglru-6.1 meta=linux-image-amd64 isolate= ;;
	--report) report=1 ;;
	*) echo "mglru.sh: unknown argument '$1'" >&2; exit 2 ;;
	esac
	shift
done
truth=$dir/$model.db

skip() { echo "mglru.sh: skipped: $*"; exit 77; }

# name | arguments of tests/truth/workload
workloads() {
	cat <<-'END'
	random|uniform pages=16384 nr=60000 random=1
	zipf|zipf pages=32768 nr=80000 random=1
	zipfscan|zipfscan pages=32768 nr=80000 random=1
	loop|loop pages=12288 nr=40000 random=1
	sequential|loop pages=40960 nr=5120 io=16
	END
}

sql() { sqlite3 -cmd '.timeout 10000' "$truth" "$@"; }

prepare() {
	local tool
	for tool in qemu-system-x86_64 cpio modprobe mkfs.ext4 sqlite3; do
		command -v $tool >/dev/null || skip "no $tool here (Debian: qemu-system-x86, cpio, kmod, e2fsprogs, sqlite3)"
	done
	[ -x /bin/busybox ] || skip 'no busybox here (Debian: busybox-static)'
	command -v apt-get >/dev/null || skip 'no apt-get here to get a kernel with'
	mkdir -p "$dir/share"
	version=$(tests/guest/fetch-kernel.sh $meta "$dir/kernel" 2>"$dir/log") ||
		skip "no Debian kernel to be had: $meta ($(tail -1 "$dir/log"))"
	${CC:-cc} -O2 -Wall -Wextra -o "$dir/workload" tests/truth/workload.c -lm || exit 4
	initrd=$dir/initrd-$version.gz
	[ ./pagereel -ot "$initrd" ] && [ "$dir/workload" -ot "$initrd" ] ||
		tests/guest/mkinitramfs.sh "$dir/kernel/$version" "$initrd" ./pagereel "$dir/workload" || exit 4
	if [ ! -e "$dir/share/data.img" ]; then
		truncate -s 200M "$dir/share/data.new" && mkfs.ext4 -q -F -b 4096 "$dir/share/data.new" &&
			mkdir "$dir/root" && dd if=/dev/urandom of="$dir/root/data" bs=1M count=160 status=none &&
			mkfs.ext4 -q -F -b 4096 -d "$dir/root" "$dir/share/data.new" &&
			mv "$dir/share/data.new" "$dir/share/data.img" || exit 4
		rm -r "$dir/root"
	fi
	sql 'CREATE TABLE IF NOT EXISTS truth(workload, mb, source, run, counter, value,
		PRIMARY KEY(workload, mb, source, run, counter))'
}

# What the kernel did, of the tasks in the capture's memcg of $2 MB: "counter value" lines.
counts='WITH memcg AS (SELECT substr(subject, 7) AS path FROM context WHERE subject LIKE '"'memcg:%/pagereel.%'"' LIMIT 1),
	inside AS (SELECT DISTINCT pid FROM task WHERE cgroup = (SELECT path FROM memcg))
	SELECT '"'fills'"', sum(pages) FROM page_event WHERE op = '"'add'"' AND pid IN inside
	UNION ALL SELECT '"'evictions'"', coalesce(sum(pages), 0) FROM page_event
		WHERE op = '"'delete'"' AND flags & 2 AND pid IN inside
	UNION ALL SELECT '"'lost'"', coalesce(sum(events_lost), 0) FROM gap'
scanned=" UNION ALL SELECT 'scanned', coalesce(sum(nr_scanned), 0) FROM mm_vmscan_lru_isolate WHERE pid IN inside"

# The guest's script: one recording with all events, then runs with the events that are counted.
guest_script() { # ARGUMENTS WANTED...   (WANTED: MB:RUN)
	local arguments=$1 one
	shift
	cat <<-END
	echo $lru_gen >/sys/kernel/mm/lru_gen/enabled
	mkdir -p /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup
	cd /tmp
	run() {
		echo "run \$*"
		mb=\$1 out=\$2; shift 2
		# 9p has no shared mappings, which SQLite wants
		pagereel capture --max-cpu 100 --memory \${mb}M "\$@" -o /img/run.db -- \\
			/bin/workload ${arguments%% *} /img/data ${arguments#* } && cp /img/run.db /host/\$out || echo "failed \$out"
		rm -f /img/run.db*
	}
	END
	[ -e "$dir/share/$name.db" ] || echo "run $base_mb $name.db"
	for one in "$@"; do
		echo "run ${one%:*} $name.${one%:*}.${one#*:}.run --context start,end -e filemap:mm_filemap_add_to_page_cache -e filemap:mm_filemap_delete_from_page_cache $isolate -e vmscan:mm_vmscan_memcg_reclaim_begin -e vmscan:mm_vmscan_memcg_reclaim_end"
	done
}

wanted_runs() {
	local mb run
	for run in $(seq 1 "$runs"); do
		for mb in $base_mb $sizes_mb; do
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

one_workload() { # NAME ARGUMENTS
	local name=$1 arguments=$2 one file wanted mbs=${base_mb}M mb
	[ -n "$isolate" ] || [ -e "$dir/share/$name.db" ] || {
		echo "mglru.sh: no record of $name yet: run without --6.1 first" >&2; return 1; }
	mapfile -t wanted < <(wanted_runs)
	if [ ${#wanted[@]} != 0 ] || [ ! -e "$dir/share/$name.db" ]; then
		guest_script "$arguments" "${wanted[@]}" >"$dir/share/go.sh"
		nice tests/guest/run.sh "$dir/kernel/$version" "$initrd" $memory "$dir/share" go.sh 600 \
			>"$dir/$name.console" 2>&1 || { tail -20 "$dir/$name.console" >&2; return 1; }
		grep -q 'guest done' "$dir/$name.console" || { tail -20 "$dir/$name.console" >&2; return 1; }
	fi
	for one in "${wanted[@]}"; do
		file=$dir/share/$name.${one%:*}.${one#*:}.run
		[ -e "$file" ] || { echo "$name: the guest brought no $file" >&2; return 1; }
		./pagereel sql "$file" --format csv "$counts${isolate:+$scanned}" | tail -n +2 | store_counts "${one%:*}" kernel "${one#*:}"
		rm -f "$file"*
	done
	cp "$dir/share/$name.db" "$dir/predict.db"
	for mb in $sizes_mb; do mbs+=,${mb}M; done
	./pagereel replay "$dir/predict.db" -q -m "$model,lru" -M "$mbs" --format csv >/dev/null 2>"$dir/log" || {
		cat "$dir/log" >&2; return 1; }
	sql "DELETE FROM truth WHERE workload = '$name' AND source <> 'kernel'"
	for counter in fills fills_compulsory evictions scanned; do
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

# Cells with less than 10 % of fills beyond the compulsory prove nothing; a wide spread proves less.
judge() {
	sqlite3 "$truth" "
	WITH real AS (SELECT workload, mb, avg(value) AS value, max(value) - min(value) AS range FROM truth
			WHERE source = 'kernel' AND counter = 'fills' GROUP BY 1, 2)
	SELECT r.workload || ' at ' || r.mb || ' MB: ' || p.value || ' fills predicted, ' || r.value || ' real'
	FROM real r JOIN truth p USING(workload, mb) JOIN truth c USING(workload, mb)
	WHERE p.source = '$model' AND p.counter = 'fills' AND c.source = '$model' AND c.counter = 'fills_compulsory'
		AND r.value - c.value >= 0.1 * r.value AND r.range <= 0.1 * r.value
		AND abs(p.value - r.value) > ${BOUND_PCT:-3} / 100.0 * r.value"
}

if [ -z "$report" ]; then
	prepare
	while IFS='|' read -r name arguments <&3; do
		[ -z "$only" ] || [[ ,$only, = *,$name,* ]] || continue
		one_workload "$name" "$arguments" || exit 4
	done 3< <(workloads)
fi
report
failed=$(judge)
[ -z "$failed" ] || { echo "off by more than ${BOUND_PCT:-3} %:"; echo "$failed"; exit 1; }
