#!/usr/bin/env bats
# doctor.bats - every rule of the diagnosis on a capture that has what it looks for and on one that has
# not; what cannot be known; and that a rule's query alone gives the same answer.

setup() {
	cd "$BATS_TEST_DIRNAME/../.."
	db=$BATS_TEST_TMPDIR/run.db
	trace=$BATS_TEST_TMPDIR/trace.txt
	change() { ./pagereel sql --write "$db" "$1" >/dev/null; }
}

# A printed trace out of "MICROSECONDS TASK-PID EVENT: ..." lines.
record() {
	awk '{ us = $1; task = $2; $1 = $2 = ""
		printf "%20s [000] .....  %d.%06d:%s\n", task, 100 + us / 1e6, us % 1e6, $0 }' |
		sed 's/:  */: /' > "$trace"
	./pagereel import --force -q -o "$db" "$trace"
}

# Two facts of the context: SUBJECT KEY VALUE-AT-THE-START VALUE-AT-THE-END, a line each.
context() {
	./pagereel synth --force -q -o "$db" 'seq:file=4M,think=1ms'
	while read -r subject key first last; do
		echo "INSERT INTO context VALUES (1, 0, 'start', '$subject', '$key', $first),
			(1, 1000000000, 'end', '$subject', '$key', $last);"
	done > "$BATS_TEST_TMPDIR/facts.sql"
	change "$(cat "$BATS_TEST_TMPDIR/facts.sql")"
}

# The state of a rule; its query as printed, run on its own, must say the same.
state() { # RULE [OPTION...]
	local rule=$1 said alone
	shift
	said=$(./pagereel doctor "$db" "$rule" "$@" --format json | jq -r '.[0].state')
	alone=$(./pagereel sql "$db" --format json "$(./pagereel doctor --show-sql "$rule" "$@")" |
		jq -r '.[0].state // "unknown"')
	[ "$said" = "$alone" ] || echo "doctor says $said, its query $alone"
	echo "$said"
}

# A column of the answer of a rule's query.
figure() { # RULE COLUMN [OPTION...]
	local rule=$1 column=$2
	shift 2
	./pagereel sql "$db" --format json "$(./pagereel doctor --show-sql "$rule" "$@")" |
		jq -r ".[0].$column"
}

# What every finding must have; in $output of doctor.
finding_is_whole() {
	[[ $output = *"rule        $1"*"confidence "* ]]
	[[ $output = *"try         "* ]]
	[[ $output = *"see         pagereel "* ]]
	[[ $output = *"1 finding; "* ]]
	[[ $output != *"{"* ]]
}

# ---- the rules -----------------------------------------------------------------------------------

@test "lost-events: a loss above 1 % is a finding, a smaller one and none are not" {
	./pagereel import -q -o "$db" tests/data/linux-6.12-classic.dat
	[ "$(state lost-events)" = ok ]
	change "INSERT INTO gap(capture_id, stream, cpu, from_ns, to_ns, events_lost)
		VALUES (1, 'reclaim', 0, 1, 2000001, 100)"
	[ "$(state lost-events)" = ok ]
	change "UPDATE gap SET events_lost = 34102"
	[ "$(state lost-events)" = finding ]
	[ "$(figure lost-events coverage_pct)" = 50 ]
	run ./pagereel doctor "$db" lost-events
	[ "$status" = 1 ]
	finding_is_whole lost-events
	[[ $output = *"larger ring buffers first"*"-b 32M -d 60s"* ]]
	# how many were lost is not known
	change "UPDATE gap SET events_lost = NULL"
	[ "$(state lost-events)" = finding ]
}

@test "working-set: a loop just above the memory is a finding, one far above or within is not" {
	./pagereel synth -q -o "$db" 'loop:file=20M,accesses=100K'
	[ "$(state working-set)" = unknown ]
	[ "$(state working-set --set working-set.memory=18M)" = finding ]
	# The gain is that of a replay: LRU at both sizes.
	run ./pagereel replay "$db" -m lru -M 18M,20M --format json
	saved=$(jq '.[0].misses - .[1].misses' <<< "$output")
	got=$(figure working-set nr_saved --set working-set.memory=18M)
	[ "$got" -ge $((saved - saved / 100)) ]
	[ "$got" -le $((saved + saved / 100)) ]
	[ "$(figure working-set more_bytes --set working-set.memory=18M)" = $((2 << 20)) ]
	run ./pagereel doctor "$db" working-set --set working-set.memory=18M
	[ "$status" = 1 ]
	finding_is_whole working-set
	# The command it shows works.
	eval "./$(sed -n 's/^ *see  *//p' <<< "$output") >/dev/null 2>&1"
	[ "$(state working-set --set working-set.memory=12M)" = ok ]
	[ "$(state working-set --set working-set.memory=21M)" = ok ]
	[ "$(state working-set --set working-set.memory=12M --set working-set.within=100)" = finding ]
}

@test "working-set: a smooth curve has no knee, and the recorded limit is the present size" {
	./pagereel synth -q -o "$db" 'uniform:file=32M,accesses=60K'
	change "INSERT INTO context VALUES (1, 0, 'start', 'memcg:/run', 'limit_bytes', 16 << 20)"
	[ "$(./pagereel doctor "$db" working-set --format json | jq -r '.[0].state')" = ok ]
	[ "$(state working-set)" = ok ]
	[ "$(figure working-set present_bytes)" = $((16 << 20)) ]
	# What is no page cache is not there for pages.
	change "INSERT INTO context VALUES (1, 0, 'end', 'memcg:/run', 'kernel_bytes', 1 << 20)"
	[ "$(figure working-set present_bytes)" = $((15 << 20)) ]
}

# Reads at random of HOT pages in a 1 GiB file, three rounds; between the rounds a stream of so many pages
# of another file, after which all of it is evicted if EVICT.
stream_trace() { # HOT STREAM EVICT
	awk -v hot="$1" -v stream="$2" -v evict="$3" 'BEGIN {
		f = "mm_filemap_%s_page_cache: dev 8:1 ino %x pfn=0x%x ofs=%d order=0\n"
		for (round = 0; round < 3; round++) {
			for (i = 0; i < hot; i++) if (evict || !round)
				printf "%d app-10 " f, t++, "add_to", 10, i, (i * 7919 % 65536) * 4096
			for (i = 0; i < stream; i++)
				printf "%d scan-11 " f, t++, "add_to", 11, 99999, (round * (stream + 100) + i) * 4096
			printf "%d scan-11 mm_vmscan_direct_reclaim_begin: order=0 gfp_flags=0\n", t++
			for (i = 0; i < hot && evict; i++)
				printf "%d scan-11 " f, t++, "delete_from", 10, i, (i * 7919 % 65536) * 4096
			for (i = 0; i < stream; i++)
				printf "%d scan-11 " f, t++, "delete_from", 11, 99999, (round * (stream + 100) + i) * 4096
			printf "%d scan-11 mm_vmscan_direct_reclaim_end: nr_reclaimed=%d\n", t++, hot + stream
		}
	}' | record
}

@test "streams: a file read once that flushes pages in use is a finding; one that flushes nothing is not" {
	stream_trace 300 600 1
	[ "$(state streams)" = finding ]
	[ "$(figure streams nr_streams)" = 3 ]
	[ "$(figure streams stream_pages)" = 1800 ]
	[ "$(figure streams refault_pages)" = 600 ]
	[ "$(figure streams once_pct)" = 100 ]
	run ./pagereel doctor "$db" streams
	[ "$status" = 1 ]
	finding_is_whole streams
	[[ $output = *"inode 11"* ]]
	stream_trace 300 600 0
	[ "$(state streams)" = ok ]
	# pages in use go without any stream: not this rule's business
	stream_trace 300 0 1
	[ "$(state streams)" = ok ]
}

swappiness_facts() { # REFAULTS ANON SWAPPED
	context <<-EOF
		memcg:/run limit_bytes 64<<20 64<<20
		memcg:/run stat.workingset_refault_file 0 $1
		memcg:/run stat.workingset_refault_anon 0 0
		memcg:/run stat.rss 0 $2
		memcg:/run stat.swap 0 $3*4096
		memcg:/run swappiness 0 0
		meminfo SwapFree_kb 1<<20 1<<20
		host memory_bytes 8<<30 8<<30
	EOF
}

@test "swappiness: refaults beside anonymous memory that stays; not if it is swapped, small or nothing refaults" {
	swappiness_facts 50000 '(16<<20)' 0
	[ "$(state swappiness)" = finding ]
	[ "$(figure swappiness anon_pct)" = 25 ]
	run ./pagereel doctor "$db" swappiness
	[ "$status" = 1 ]
	finding_is_whole swappiness
	[[ $output = *"reserve_recorded=off -M 65536K"* ]]
	swappiness_facts 50000 '(16<<20)' 4000
	[ "$(state swappiness)" = ok ]
	swappiness_facts 50000 '(1<<20)' 0
	[ "$(state swappiness)" = ok ]
	swappiness_facts 100 '(16<<20)' 0
	[ "$(state swappiness)" = ok ]
	# No swap: swappiness has nothing to say.
	swappiness_facts 50000 '(16<<20)' 0
	change "UPDATE context SET value = 0 WHERE key = 'SwapFree_kb'"
	[ "$(state swappiness)" = ok ]
	change "DELETE FROM context WHERE key = 'stat.workingset_refault_file'"
	[ "$(state swappiness)" = unknown ]
}

# 100 reads of 4 KiB at random, each of which brings in AHEAD pages that are evicted later; USED of them
# are asked for before.
readahead_trace() { # AHEAD USED
	awk -v ahead="$1" -v used="$2" 'BEGIN {
		f = "mm_filemap_%s_page_cache: dev 8:1 ino a pfn=0x%x ofs=%d order=0\n"
		for (n = 0; n < 100; n++) {
			for (i = 0; i < ahead; i++)
				printf "%d app-10 " f, t++, "add_to", i, (n * 1000 + i) * 4096
			for (i = 0; i < used; i++)
				printf "%d app-10 mm_filemap_get_pages: dev=8:1 ino=a ofs=%d-%d\n", t++,
					(n * 1000 + i) * 4096, (n * 1000 + i) * 4096 + 4095
			printf "%d app-10 mm_vmscan_direct_reclaim_begin: order=0 gfp_flags=0\n", t++
			for (i = 0; i < ahead; i++)
				printf "%d app-10 " f, t++, "delete_from", i, (n * 1000 + i) * 4096
			printf "%d app-10 mm_vmscan_direct_reclaim_end: nr_reclaimed=%d\n", t++, ahead
		}
	}' | record
}

@test "readahead: pages evicted unused are a finding, used ones and few are not" {
	readahead_trace 32 1
	[ "$(state readahead)" = finding ]
	[ "$(figure readahead unused_pages)" = 3100 ]
	[ "$(figure readahead fill_pages)" = 3200 ]
	[ "$(figure readahead again_pages)" = 0 ]
	run ./pagereel doctor "$db" readahead
	[ "$status" = 1 ]
	finding_is_whole readahead
	[[ $output != *" -M "* ]]
	change "INSERT INTO context VALUES (1, 0, 'start', 'memcg:/run', 'limit_bytes', 64 << 20)"
	[[ $(./pagereel doctor "$db" readahead) = *"readahead=off -M 65536K"* ]]
	readahead_trace 32 32
	[ "$(state readahead)" = ok ]
	[ "$(figure readahead unused_pages)" = 0 ]
	readahead_trace 4 1
	[ "$(state readahead)" = ok ]
}

# 300 episodes of direct reclaim of 32 pages; the shrinkers take so many us behind the scan, in a call that
# frees FREED objects, if SLAB, else untraced.
shrinker_trace() { # US SLAB FREED
	awk -v us="$1" -v slab="$2" -v freed="$3" 'BEGIN {
		s = "super_cache_scan+0x0 0xff39ded441:"
		for (n = 0; n < 300; n++) {
			t = n * 1000
			printf "%d app-10 mm_vmscan_direct_reclaim_begin: order=0 gfp_flags=0\n", t
			printf "%d app-10 mm_vmscan_lru_isolate: classzone=2 order=0 nr_requested=32 nr_scanned=32 nr_skipped=0 nr_taken=32 lru=inactive_file\n", t + 5
			printf "%d app-10 mm_vmscan_lru_shrink_inactive: nid=0 nr_scanned=32 nr_reclaimed=32 nr_dirty=0 nr_writeback=0 nr_congested=0 nr_immediate=0 nr_activate_anon=0 nr_activate_file=0 nr_ref_keep=0 nr_unmap_fail=0 priority=12 flags=RECLAIM_WB_FILE\n", t + 20
			printf "%d app-10 mm_shrink_slab_start: %s nid: 0 objects to shrink 0 gfp_flags 0 cache items 1 delta 0 total_scan 0 priority 12\n", t + 21, s
			printf "%d app-10 mm_shrink_slab_end: %s nid: 0 unused scan count 0 new scan count 0 total_scan 0 last shrinker return val %d\n", t + 22 + us * slab, s, freed
			printf "%d app-10 mm_vmscan_direct_reclaim_end: nr_reclaimed=32\n", t + 24 + us
		}
	}' | record
}

@test "empty-shrinkers: traced or not, shrinkers that free nothing are a finding; quick or useful ones are not" {
	shrinker_trace 150 1 0
	[ "$(state empty-shrinkers)" = finding ]
	[ "$(figure empty-shrinkers nr_calls)" = 300 ]
	[ "$(figure empty-shrinkers traced_ns)" = $((300 * 151 * 1000)) ]
	[ "$(figure empty-shrinkers confidence)" = high ]
	run ./pagereel doctor "$db" empty-shrinkers
	[ "$status" = 1 ]
	finding_is_whole empty-shrinkers
	# Not traced: the time to the end of reclaim.
	shrinker_trace 150 0 0
	[ "$(state empty-shrinkers)" = finding ]
	[ "$(figure empty-shrinkers polled_ns)" -ge $((300 * 150 * 1000)) ]
	[ "$(figure empty-shrinkers confidence)" = medium ]
	change "INSERT INTO context VALUES (1, 0, 'start', 'host', 'nr_superblocks', 2000)"
	[[ $(./pagereel doctor "$db" empty-shrinkers) = *"--set superblocks=2000,version=6.18"* ]]
	shrinker_trace 2 1 0
	[ "$(state empty-shrinkers)" = ok ]
	shrinker_trace 150 1 20
	[ "$(state empty-shrinkers)" = ok ]
}

# Ten runs of kswapd, 50 ms each, that scan 3200 pages and reclaim so many of each 32.
kswapd_trace() { # RECLAIMED
	awk -v reclaimed="$1" 'BEGIN {
		for (n = 0; n < 10; n++) {
			t = n * 100000
			printf "%d kswapd0-40 mm_vmscan_kswapd_wake: nid=0 order=0\n", t
			for (i = 1; i <= 100; i++)
				printf "%d kswapd0-40 mm_vmscan_lru_shrink_inactive: nid=0 nr_scanned=32 nr_reclaimed=%d nr_dirty=0 nr_writeback=0 nr_congested=0 nr_immediate=0 nr_activate_anon=0 nr_activate_file=0 nr_ref_keep=0 nr_unmap_fail=0 priority=12 flags=RECLAIM_WB_FILE\n", t + i * 400, reclaimed
			printf "%d kswapd0-40 mm_vmscan_kswapd_sleep: nid=0\n", t + 50000
		}
	}' | record
}

@test "kswapd: awake without progress is a finding; with progress, or asleep by its CPU time, it is not" {
	kswapd_trace 1
	[ "$(state kswapd)" = finding ]
	[ "$(figure kswapd awake_ns)" = 500000000 ]
	[ "$(figure kswapd scanned)" = 32000 ]
	run ./pagereel doctor "$db" kswapd
	[ "$status" = 1 ]
	finding_is_whole kswapd
	change "INSERT INTO context VALUES (1, 0, 'start', 'schedstat:kswapd0', 'run_ns', 0),
		(1, 1, 'end', 'schedstat:kswapd0', 'run_ns', 1000000)"
	[ "$(state kswapd)" = ok ]
	kswapd_trace 30
	[ "$(state kswapd)" = ok ]
}

stall_trace() { # KIND US
	awk -v kind="$1" -v us="$2" 'BEGIN {
		for (n = 0; n < 5; n++) {
			printf "%d app-10 mm_vmscan_%s_begin: order=0 gfp_flags=0\n", n * 200000, kind
			printf "%d app-10 mm_vmscan_%s_end: nr_reclaimed=32\n", n * 200000 + us, kind
		}
	}' | record
}

@test "direct-reclaim: stalls over the threshold are a finding, short episodes and node reclaim are not" {
	stall_trace direct_reclaim 15000
	[ "$(state direct-reclaim)" = finding ]
	[ "$(figure direct-reclaim nr_stalls)" = 5 ]
	[ "$(figure direct-reclaim worst_ns)" = 15000000 ]
	run ./pagereel doctor "$db" direct-reclaim
	[ "$status" = 1 ]
	finding_is_whole direct-reclaim
	[[ $output = *"app spent 75 ms"*"direct reclaim"*watermark_scale_factor* ]]
	[ "$(state direct-reclaim --set direct-reclaim.stall=20ms)" = ok ]
	stall_trace memcg_reclaim 15000
	[ "$(state direct-reclaim)" = finding ]
	change "INSERT INTO context VALUES (1, 0, 'start', 'memcg:/run', 'limit_bytes', 64 << 20)"
	run ./pagereel doctor "$db" direct-reclaim
	[[ $output = *"memory.high"*"linux-6.18 -M 65536K..131072K/5"* ]]
	[[ $output != *watermark* ]]
	[[ $(./pagereel doctor "$db" direct-reclaim --format json | jq -r '.[0].advice') != *watermark* ]]
	stall_trace direct_reclaim 1000
	[ "$(state direct-reclaim)" = ok ]
	# somebody wrote to node*/reclaim: nobody waited for memory
	stall_trace node_reclaim 15000
	[ "$(state direct-reclaim)" = unknown ]
}

# Ten flushes of so many us, inside memcg reclaim if INSIDE, behind an added page if AFTER_ADD.
flush_trace() { # US INSIDE AFTER_ADD
	awk -v us="$1" -v inside="$2" -v add="$3" 'BEGIN {
		r = "root=0 level=1 id=7 cpu=0 contended=0\n"
		for (n = 0; n < 10; n++) {
			t = n * 100000
			if (inside) printf "%d app-10 mm_vmscan_memcg_reclaim_begin: order=0 gfp_flags=0\n", t
			if (add) printf "%d app-10 mm_filemap_add_to_page_cache: dev 8:1 ino a pfn=0x%x ofs=%d order=0\n", t + 1, n, n * 4096
			printf "%d app-10 memcg_flush_stats: memcg_id=7 stats_updates=200 force=0 needs_flush=1\n", t + 2
			printf "%d app-10 cgroup_rstat_locked: " r, t + 3
			printf "%d app-10 cgroup_rstat_unlock: " r, t + 3 + us
			if (inside) printf "%d app-10 mm_vmscan_memcg_reclaim_end: nr_reclaimed=32\n", t + 9 + us
		}
	}' | record
}

@test "flush-stalls: in reclaim and in refaults they are a finding; short ones and readers of memory.stat are not" {
	flush_trace 4000 1 0
	[ "$(state flush-stalls)" = finding ]
	[ "$(figure flush-stalls nr_long)" = 10 ]
	[ "$(figure flush-stalls nr_in_refaults)" = 0 ]
	[ "$(figure flush-stalls worst_ns)" = 4000000 ]
	run ./pagereel doctor "$db" flush-stalls
	[ "$status" = 1 ]
	finding_is_whole flush-stalls
	flush_trace 4000 0 1
	[ "$(state flush-stalls)" = finding ]
	[ "$(figure flush-stalls nr_in_refaults)" = 10 ]
	flush_trace 4000 0 0
	[ "$(state flush-stalls)" = ok ]
	[ "$(figure flush-stalls nr_stalls)" = 0 ]
	flush_trace 100 1 1
	[ "$(state flush-stalls)" = ok ]
	[ "$(figure flush-stalls nr_stalls)" = 10 ]
}

@test "flush-stalls: the refault-flush case is one, as reported; the policy of 6.8 is not" {
	./pagereel case refault-flush -o "$db" >/dev/null
	[ "$(state flush-stalls)" = finding ]
	[ "$(figure flush-stalls nr_long)" -gt 1000 ]
	run ./pagereel doctor "$db" flush-stalls
	[ "$status" = 1 ]
	finding_is_whole flush-stalls
	[[ $output = *"service lost 11.9 s"* ]]
	./pagereel case refault-flush --set policy=6.8 --force -o "$db" >/dev/null
	[ "$(state flush-stalls)" = ok ]
}

@test "tier-no-hits: many puts without hits are a finding; with hits, few, or no tier at all are not" {
	for tier in 'cleancache puts succ_gets' 'vmstat zswpout zswpin'; do
		set -- $tier
		context <<< "$1 $2 100 50100
$1 $3 7 17"
		[ "$(state tier-no-hits)" = finding ]
		[ "$(figure tier-no-hits nr_puts)" = 50000 ]
		[ "$(figure tier-no-hits nr_hits)" = 10 ]
		run ./pagereel doctor "$db" tier-no-hits
		[ "$status" = 1 ]
		finding_is_whole tier-no-hits
		context <<< "$1 $2 0 50000
$1 $3 0 40000"
		[ "$(state tier-no-hits)" = ok ]
		context <<< "$1 $2 0 500
$1 $3 0 0"
		[ "$(state tier-no-hits)" = ok ]
	done
	# swap that is no zram is no tier
	context <<< 'vmstat pswpout 0 50000
vmstat pswpin 0 0
swap:/dev/sda2 size_kb 1048576 1048576'
	[ "$(state tier-no-hits)" = ok ]
	change "UPDATE context SET subject = 'swap:/dev/zram0' WHERE subject LIKE 'swap:%'"
	[ "$(state tier-no-hits)" = finding ]
}

@test "tier-no-hits: the cleancache case is one, as reported" {
	./pagereel case cleancache -o "$db" >/dev/null
	[ "$(state tier-no-hits)" = finding ]
	run ./pagereel doctor "$db"
	[ "$status" = 1 ]
	finding_is_whole tier-no-hits
	[[ $output = *"cleancache compressed 2"*"pages and was asked for 0 of them"* ]]
}

dirty_trace() { # PAUSE_MS
	awk -v ms="$1" 'BEGIN {
		for (n = 0; n < 20; n++)
			printf "%d dd-10 balance_dirty_pages: bdi 8:0: limit=100 setpoint=90 dirty=95 bdi_setpoint=90 bdi_dirty=95 dirty_ratelimit=100 task_ratelimit=100 dirtied=32 dirtied_pause=32 paused=0 pause=%d period=%d think=0 cgroup_ino=1\n", n * 50000, ms, ms
	}' | record
}

@test "dirty-throttling: a writer asleep for long is a finding, short pauses are not" {
	dirty_trace 40
	[ "$(state dirty-throttling)" = finding ]
	[ "$(figure dirty-throttling nr_pauses)" = 20 ]
	[ "$(figure dirty-throttling top_ns)" = 800000000 ]
	run ./pagereel doctor "$db" dirty-throttling
	[ "$status" = 1 ]
	finding_is_whole dirty-throttling
	[[ $output = *"dd slept 800 ms"* ]]
	dirty_trace 1
	[ "$(state dirty-throttling)" = ok ]
}

# ---- the command ---------------------------------------------------------------------------------

@test "healthy recordings are called so, with what is not known, exit 0" {
	for name in 6.12-classic 6.18-zipfscan 6.12-v6; do
		./pagereel import --force -q -o "$db" tests/data/linux-$name.dat
		run ./pagereel doctor "$db"
		[ "$status" = 0 ]
		[[ $output = *"Healthy: no finding by the "*" rules that had something to look at."* ]]
		[[ $output = *"Not known: "* ]]
	done
}

@test "a rule without evidence is never fine: unknown in every format, with what it needs" {
	./pagereel import -q -o "$db" tests/data/ftrace-old.txt
	run ./pagereel doctor "$db" --format json
	jq -e '[.[] | select(.rule == ("kswapd", "flush-stalls", "dirty-throttling", "tier-no-hits",
		"swappiness", "readahead"))] | length == 6 and
		all(.[]; .state == "unknown" and .figure == null and (.sentence | startswith("not known: needs ")))' \
		<<< "$output"
	run ./pagereel doctor "$db" --all
	[[ $output = *"kswapd"*"not known: needs mm_vmscan_kswapd_wake"* ]]
	./pagereel synth --force -q -o "$db" 'seq:file=1M'
	run ./pagereel doctor "$db"
	[ "$status" = 0 ]
	[[ $output = *"only 1 of 11 rules had something to look at"* ]]
	[[ $output != *Healthy* ]]
}

@test "every format has a row for every rule, and the exit status tells findings" {
	stall_trace direct_reclaim 15000
	nr=$(./pagereel doctor --list --format csv | sed '1d; s/,.*//' | sort -u | wc -l)
	for format in csv json ndjson; do
		run ./pagereel doctor "$db" --format $format
		[ "$status" = 1 ]
	done
	[ "${#lines[@]}" = "$nr" ]
	jq -se '.[] | select(.rule == "direct-reclaim") | .state == "finding" and .confidence == "high" and
		.figure_name == "share_pct" and .figure > 0 and (.advice | length) > 0 and
		(.command | startswith("pagereel "))' <<< "$output"
	./pagereel doctor "$db" --format csv | head -1 |
		grep -qx 'capture_id,rule,state,sentence,figure_name,figure,confidence,advice,command'
}

@test "lost events cost the other rules a step of confidence" {
	stall_trace direct_reclaim 15000
	change "INSERT INTO gap(capture_id, stream, cpu, from_ns, to_ns, events_lost)
		VALUES (1, 'reclaim', 1, 1, 2, 1000)"
	run ./pagereel doctor "$db" --format json
	[ "$(jq -r '.[] | select(.rule == "direct-reclaim") | .confidence' <<< "$output")" = medium ]
	[ "$(jq -r '.[] | select(.rule == "lost-events") | .confidence' <<< "$output")" = high ]
	[ "$(jq -r '.[0].rule' <<< "$output")" = lost-events ]
}

@test "wrong rules, thresholds and values are refused with the nearest name" {
	run ./pagereel doctor x.db kswap
	[ "$status" = 2 ]
	[[ $output = *"did you mean 'kswapd'?"* ]]
	run ./pagereel doctor --show-sql nothing-like-it
	[ "$status" = 2 ]
	[[ $output = *"pagereel doctor --list"* ]]
	for set in kswapd.bus=1 kswapd.busy=200 kswapd.busy=x kswapd busy=1 kswap.busy=1; do
		run ./pagereel doctor x.db --set $set
		[ "$status" = 2 ]
	done
	run ./pagereel doctor "$BATS_TEST_TMPDIR/none.db"
	[ "$status" = 4 ]
	echo 'no database' > "$BATS_TEST_TMPDIR/bad.db"
	run ./pagereel doctor "$BATS_TEST_TMPDIR/bad.db"
	[ "$status" = 3 ]
}

@test "--show-sql fills in what --set says, and every rule's query runs on an empty database's capture" {
	[[ $(./pagereel doctor --show-sql direct-reclaim --set direct-reclaim.stall=7ms) = *">= 7000000)"* ]]
	./pagereel synth -q -o "$db" 'seq:file=1M'
	for rule in $(./pagereel doctor --list --format csv | sed '1d; s/,.*//' | sort -u); do
		sql=$(./pagereel doctor --show-sql $rule)
		# no parameter is left outside comments
		! sed 's/--.*//; s/^\/\*.*//; s/^   with .*//' <<< "$sql" | grep -qE "(^|[ (,]):[a-z]"
		./pagereel sql "$db" --format json "$sql" |
			jq -e 'length == 1 and (.[0] | has("state") and has("missing") and has("confidence"))'
	done
}

@test "every rule and threshold is in the man page" {
	page=docs/man/pagereel-doctor.1.scd
	./pagereel doctor --list --format csv | sed 1d | while IFS=, read -r rule threshold rest; do
		grep -q "^\*$rule\*" $page
		[ "$threshold" = '""' ] || grep -q "_${threshold}_" $page ||
			[ "$threshold" = pages ] || [ "$threshold" = count ]
	done
}

@test "--no-replay writes nothing and says which curve is missing" {
	./pagereel synth -q -o "$db" 'loop:file=20M,accesses=30K'
	run ./pagereel doctor "$db" working-set --no-replay --set working-set.memory=18M --all
	[ "$status" = 0 ]
	[[ $output = *"not known: needs a miss ratio curve"* ]]
	[ "$(./pagereel sql "$db" --format csv 'SELECT count(*) FROM curve' | tail -1)" = 0 ]
	# A curve of the user's own serves as well.
	./pagereel replay "$db" -m lru --curve >/dev/null 2>&1
	run ./pagereel doctor "$db" working-set --no-replay --set working-set.memory=18M
	[ "$status" = 1 ]
}

@test "several captures: the first with a note, one by number, all of them" {
	stall_trace direct_reclaim 1000
	./pagereel synth -q --append -o "$db" 'seq:file=1M'
	run ./pagereel doctor "$db"
	[ "$status" = 0 ]
	[[ $output = *"pagereel doctor: capture 1 of 2"* ]]
	./pagereel doctor "$db" --capture 2 --format json | jq -e 'all(.[]; .capture_id == 2)'
	./pagereel doctor "$db" --capture all --format json |
		jq -e '[.[].capture_id] | unique == [1, 2]'
}
