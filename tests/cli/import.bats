#!/usr/bin/env bats
# import.bats - recordings of others: exact counts, text against binary, bad input.

setup() {
	cd "$BATS_TEST_DIRNAME/../.."
	db=$BATS_TEST_TMPDIR/run.db
	data=tests/data
	# the full recordings are not part of the tree
	traces=${PAGEREEL_TRACES:-../shared/traces}
	import() { ./pagereel import -q -o "$db" "$@"; }
	ask() { ./pagereel sql "${2:-$db}" --format csv "$1" | tail -n +2; }
	count() { ask "SELECT nr_events FROM event_type WHERE name = '$1' AND nr_events IS NOT NULL"; }
}

# FILE RELEASE EVENTS ADDS DELETES BY_KSWAPD GET_PAGES ISOLATE SHRINK_INACTIVE ACTIVATE SLAB
recording() {
	[ -r "$traces/$1" ] || skip "no recordings in $traces (set PAGEREEL_TRACES)"
	import "$traces/$1"
	[ "$(ask "SELECT kernel_release FROM capture")" = "$2" ]
	[ "$(ask "SELECT sum(nr_events) FROM event_type")" = "$3" ]
	[ "$(count mm_filemap_add_to_page_cache)" = "$4" ]
	[ "$(count mm_filemap_delete_from_page_cache)" = "$5" ]
	[ "$(ask "SELECT count(*) FROM page_event JOIN task USING(pid) WHERE op = 'delete' AND comm = 'kswapd0'")" = "$6" ]
	[ "$(count mm_filemap_get_pages)" = "$7" ]
	[ "$(count mm_vmscan_lru_isolate)" = "$8" ]
	[ "$(count mm_vmscan_lru_shrink_inactive)" = "$9" ]
	[ "$(count mm_lru_activate)" = "${10}" ]
	[ "$(count mm_shrink_slab_start)" = "${11}" ]
	[ "$(count mm_shrink_slab_end)" = "${11}" ]
	# what was counted is what is stored
	[ "$(ask "SELECT count(*) FROM page_event")" = "$(ask "SELECT sum(nr_events) FROM event_type WHERE stored_as = 'page_event'")" ]
	[ "$(ask "SELECT count(*) FROM mm_shrink_slab_start")" = "${11}" ]
	[ "$(ask "SELECT status, clock, has_hits FROM capture")" = "complete,mono,$((${7:-0} > 0))" ]
	[ "$(ask "SELECT count(*) FROM gap")" = 0 ]
}

@test "the 6.12 recording with classic lists imports completely" {
	recording debian-6.12.117-classic.dat 6.12.117+deb12-amd64 552361 134573 113572 105524 86587 7477 7302 6871 29353
	# every page that left was reclaimed as the kernel counted
	[ "$(ask "SELECT sum(nr_reclaimed) FROM mm_vmscan_lru_shrink_inactive")" = 113572 ]
	[ "$(ask "SELECT count(*) FROM page_event WHERE op = 'delete' AND flags & 2")" = 113572 ]
}

@test "the 6.12 recording with MGLRU imports completely" {
	recording debian-6.12.117-mglru.dat 6.12.117+deb12-amd64 486454 136793 115066 103615 86339 1799 1799 "" 1805
	[ "$(ask "SELECT sum(nr_reclaimed) FROM mm_vmscan_lru_shrink_inactive")" = 115066 ]
}

@test "the 6.1 recording with classic lists imports completely" {
	recording debian-6.1.0-classic.dat 6.1.0-57-amd64 468976 138664 119818 114804 "" 8649 7266 6242 21242
}

@test "the 6.1 recording with MGLRU imports completely" {
	recording debian-6.1.0-mglru.dat 6.1.0-57-amd64 401404 135823 115961 114425 "" "" "" "" 5879
}

@test "the bundled recording imports with exact counts and a failed check would show" {
	run ./pagereel import -o "$db" $data/linux-6.12-classic.dat
	[ "$status" = 0 ]
	[[ $output = *"trace.dat, 34102 events (32075 of pages)"* ]]
	[ "$(count mm_filemap_get_pages)" = 9582 ]
	[ "$(count mm_filemap_add_to_page_cache)" = 6510 ]
	[ "$(count mm_filemap_delete_from_page_cache)" = 6623 ]
	[ "$(ask "SELECT count(*), sum(page_index) FROM page_event WHERE op = 'delete' AND flags & 2")" = "6623,307698358" ]
	[ "$(ask "SELECT source, kernel_release, hostname, clock, nr_cpus, has_hits, status FROM capture")" = "trace.dat,6.12.117+deb12-amd64,,mono,1,1,complete" ]
	[ "$(ask "SELECT value FROM context WHERE subject = 'symbol' AND value LIKE 'super%'")" = super_cache_scan ]
	[ "$(ask "SELECT count(*) FROM file WHERE size_bytes IS NOT NULL OR path IS NOT NULL")" = 0 ]
}

@test "the bundled recording of a memcg: every page that left is a page the kernel says it reclaimed" {
	import $data/linux-6.18-zipfscan.dat
	[ "$(ask "SELECT sum(nr_events) FROM event_type")" = 29898 ]
	[ "$(count mm_filemap_get_pages)" = 12009 ]
	[ "$(count mm_filemap_add_to_page_cache)" = 7837 ]
	[ "$(ask "SELECT count(*) FROM page_event WHERE op = 'delete' AND flags & 2")" = 5873 ]
	[ "$(ask "SELECT count(*) FROM page_event WHERE op = 'delete'")" = 5873 ]
	[ "$(ask "SELECT sum(nr_reclaimed) FROM mm_vmscan_lru_shrink_inactive")" = 5873 ]
	[ "$(ask "SELECT sum(nr_reclaimed) FROM mm_vmscan_memcg_reclaim_end")" = 5873 ]
}

@test "a printed recording equals the binary one, event for event and field for field" {
	local a=$BATS_TEST_TMPDIR/a.db b=$BATS_TEST_TMPDIR/b.db t
	./pagereel import -q -o "$a" $data/linux-6.12-v6.dat
	./pagereel import -q -o "$b" $data/linux-6.12-v6.txt
	# trace-cmd report -t rounds to ns as the recording has them
	t="SELECT ts_ns, cpu, pid, op, dev, ino, page_index, pages, pfn, flags FROM page_event LEFT JOIN file ON file.id = file_id"
	[ "$(ask "SELECT count(*) FROM page_event" "$a")" = 585 ]
	diff <(ask "$t" "$a") <(ask "$t" "$b")
	for t in mm_vmscan_lru_isolate mm_vmscan_lru_shrink_inactive mm_vmscan_direct_reclaim_end; do
		[ "$(ask "SELECT count(*) FROM $t" "$a")" -gt 0 ]
		diff <(ask "SELECT * FROM $t" "$a") <(ask "SELECT * FROM $t" "$b")
	done
	# zid is not printed; shrink is printed as a symbol, gfp_flags as words: the rest is the same
	t="SELECT ts_ns, cpu, pid, shr, nid, nr_objects_to_shrink, cache_items, delta, total_scan, priority FROM mm_shrink_slab_start"
	diff <(ask "$t" "$a") <(ask "$t" "$b")
	t="SELECT ts_ns, cpu, pid, shr, nid, unused_scan, new_scan, retval, total_scan FROM mm_shrink_slab_end"
	diff <(ask "$t" "$a") <(ask "$t" "$b")
	t='SELECT ts_ns, cpu, pid, nid, "order" FROM mm_vmscan_kswapd_wake'
	diff <(ask "$t" "$a") <(ask "$t" "$b")
	diff <(ask "SELECT pid, comm FROM task" "$a") <(ask "SELECT pid, comm FROM task" "$b")
}

@test "trace.dat versions 6 and 7, compressed or not, say the same" {
	command -v trace-cmd >/dev/null || skip "no trace-cmd to convert with"
	local v7=$BATS_TEST_TMPDIR/v7.dat
	trace-cmd convert -i $data/linux-6.12-v6.dat -o "$v7" --file-version 7 --compression zstd >/dev/null 2>&1 ||
		skip "this trace-cmd cannot convert"
	import $data/linux-6.12-v6.dat "$v7"
	[ "$(ask "SELECT count(*) FROM capture")" = 2 ]
	[ "$(ask "SELECT count(DISTINCT n) FROM (SELECT count(*) || ' ' || sum(ts_ns * 3 + coalesce(page_index, 0)) n FROM page_event GROUP BY capture_id)")" = 1 ]
}

@test "ftrace text: flags, odd task names, large folios, losses; the rest is counted and shown" {
	run ./pagereel import -o "$db" $data/ftrace-trace.txt
	[ "$status" = 0 ]
	[[ $output = *"7 events (5 of pages)"* ]]
	[[ $output = *"2 gaps: 23 events known to be lost"* ]]
	[[ $output = *"3 of 25 lines not understood"* ]]
	[[ $output = *"line 23: this line is no event at all"* ]]
	[[ $output = *"line 24:"*"ino=zz"* ]]
	[ "$(ask "SELECT cpu, from_ns, to_ns, events_lost FROM gap ORDER BY cpu")" = "1,2433239293000,2433239435000,23
3,2433239039000,2433240569000," ]
	[ "$(ask "SELECT value FROM context WHERE key = 'events_overwritten'")" = 2 ]
	[ "$(ask "SELECT comm FROM task WHERE pid = 77")" = "my [odd]-na" ]
	[ "$(ask "SELECT pages, flags, page_index, pfn FROM page_event WHERE op = 'delete'")" = "4,2,102,107187" ]
	[ "$(ask "SELECT ino FROM file")" = $((0x6384f)) ]
	[ "$(ask "SELECT comm, prio FROM sched_process_exit")" = "sh,120" ]
	[ "$(ask "SELECT text FROM tracing_mark_write")" = '"hello, trace"' ]
}

@test "ftrace text with and without the columns of flags and thread groups" {
	import $data/ftrace-tgid.txt
	[ "$(ask "SELECT pid, tgid, comm FROM task ORDER BY pid")" = "1204,,sh
1209,1204,worker
1310,1300," ]
	ask "SELECT ts_ns, cpu, pid, op, page_index FROM page_event" >"$BATS_TEST_TMPDIR/with"
	import --force $data/ftrace-plain.txt
	ask "SELECT ts_ns, cpu, pid, op, page_index FROM page_event" | diff "$BATS_TEST_TMPDIR/with" -
	[ "$(wc -l <"$BATS_TEST_TMPDIR/with")" = 3 ]
}

@test "perf script: the task by a number or two, the events as everywhere" {
	run ./pagereel import -o "$db" $data/perf-script.txt
	[ "$status" = 0 ]
	[ "${#lines[@]}" = 1 ]
	[[ $output = *"text, 67 events"* ]]
	for op in read:get_pages add:add_to delete:delete_from; do
		[ "$(./pagereel sql --format csv "$db" "SELECT count(*) FROM page_event WHERE op = '${op%:*}'" | tail -1)" = \
			"$(grep -c "${op#*:}" $data/perf-script.txt)" ]
	done
	[ "$(ask 'SELECT sum(nr_reclaimed) FROM mm_vmscan_lru_shrink_inactive')" = \
		"$(sed -n 's/.*shrink_inactive.*nr_reclaimed=\([0-9]*\).*/\1/p' $data/perf-script.txt |
			paste -sd+ | bc)" ]
	[ "$(ask "SELECT DISTINCT comm FROM task ORDER BY comm LIMIT 1 OFFSET 1")" = reader ]
	# perf script -F pid,tid: "4711/PID"
	sed 's| \([0-9]*\) \[| 4711/\1 [|' $data/perf-script.txt >"$BATS_TEST_TMPDIR/pid-tid.txt"
	./pagereel import -q --force -o "$db" "$BATS_TEST_TMPDIR/pid-tid.txt"
	[ "$(ask 'SELECT DISTINCT tgid FROM task')" = 4711 ]
	[ "$(ask 'SELECT count(*) > 1 FROM task')" = 1 ]
}

@test "events as older kernels printed them get the fields of the newer ones" {
	import $data/ftrace-old.txt
	[ "$(ask "SELECT highest_zoneidx, isolate_mode, lru FROM mm_vmscan_lru_isolate")" = "1,0,2" ]
	[ "$(ask "SELECT nr_activate0, nr_activate1, reclaim_flags FROM mm_vmscan_lru_shrink_inactive")" = "2,3,10" ]
	[ "$(ask "SELECT pgs_scanned, lru_pgs, cache_items, delta, nid FROM mm_shrink_slab_start")" = "32,4711,229,12," ]
	[ "$(ask "SELECT name, nr_pages, for_kupdate FROM writeback_queue")" = "8:0,1024,1" ]
	# a delete is an eviction inside the task's bracket alone
	[ "$(ask "SELECT page_index, flags FROM page_event WHERE op = 'delete' ORDER BY ts_ns")" = "2,2
3,0" ]
	[ "$(ask "SELECT page_index, pages FROM page_event WHERE op = 'write'")" = "1,2" ]
}

@test "oracleGeneral: packed records, ids numbered by first appearance" {
	local f=$BATS_TEST_TMPDIR/t.oracleGeneral
	# time 5 id 900 size 10 next 3; time 5 id 7 ...; time 6 id 900; little-endian, no padding
	printf '\5\0\0\0\204\3\0\0\0\0\0\0\12\0\0\0\3\0\0\0\0\0\0\0' >"$f"
	printf '\5\0\0\0\7\0\0\0\0\0\0\377\12\0\0\0\377\377\377\377\377\377\377\377' >>"$f"
	printf '\6\0\0\0\204\3\0\0\0\0\0\0\12\0\0\0\377\377\377\377\377\377\377\377' >>"$f"
	run ./pagereel import -o "$db" "$f"
	[ "$status" = 0 ]
	[[ $output = *"oracleGeneral, 3 events"*"2 distinct ids"* ]]
	[ "$(ask "SELECT ts_ns / 1000000000, page_index, op FROM page_event")" = "5,0,read
5,1,read
6,0,read" ]
	[ "$(ask "SELECT size_bytes, path FROM file")" = "8192,t.oracleGeneral" ]

	# a cut record: what is before it stays
	head -c 60 "$f" >"$f.cut"
	run ./pagereel import --force -o "$db" --format oracleGeneral "$f.cut"
	[ "$status" = 3 ]
	[[ $output = *"at 48: record 3 wants 24 bytes, 12 left"* ]]
	[ "$(ask "SELECT status FROM capture")" = failed ]
	[ "$(ask "SELECT count(*) FROM page_event")" = 2 ]
	[[ $(ask "SELECT value FROM context WHERE subject = 'import'") = *"12 left"* ]]
}

@test "ids, one a line: numbers, words, comments; more columns are shown, not guessed at" {
	local f=$BATS_TEST_TMPDIR/ids.txt
	printf '# a trace\n10\n20\nobj/a\n10\n\n18446744073709551615\n 20 \nobj/a\r\n' >"$f"
	import "$f"
	[ "$(ask "SELECT group_concat(page_index) FROM page_event")" = '"0,1,2,0,3,1,2"' ]
	import --force --keep-ids "$f"
	[ "$(ask "SELECT count(*) FROM page_event WHERE page_index = 20")" = 2 ]
	printf '1\n2 3\n4,5\n' >"$f"
	run ./pagereel import --force -o "$db" --format ids "$f"
	[ "$status" = 0 ]
	[[ $output = *"2 of 3 lines not understood"*"line 2: 2 3"*"line 3: 4,5"* ]]
}

@test "ids that are words, and events out of order, are taken with a warning that counts them" {
	printf '1\nfoo\n2\nbar\n' >"$BATS_TEST_TMPDIR/ids"
	run ./pagereel import -q -o "$db" "$BATS_TEST_TMPDIR/ids"
	[ "$status" = 0 ]
	[[ $output = *"2 of 4 ids are no numbers, the first 'foo' in line 2"* ]]
	printf 'a-1 [000] ..... 5.000000: x_y: n=1\na-1 [000] ..... 4.000000: x_y: n=2\n' >"$BATS_TEST_TMPDIR/text"
	run ./pagereel import -q --force -o "$db" -f text "$BATS_TEST_TMPDIR/text"
	[ "$status" = 0 ]
	[[ $output = *"1 event is earlier than the one before, the first is event 2"* ]]
	run ./pagereel import -q --force -o "$db" $data/linux-6.12-classic.dat
	[ -z "$output" ]
}

@test "a trace of known hit ratio: a loop over n pages hits all at n and, under LRU, none below" {
	for i in 1 2 3; do seq 1000; done >"$BATS_TEST_TMPDIR/loop.txt"
	import "$BATS_TEST_TMPDIR/loop.txt"
	[ "$(ask "SELECT count(*), count(DISTINCT page_index), max(page_index) FROM page_event")" = "3000,1000,999" ]
	[ "$(ask "SELECT size_bytes FROM file")" = 4096000 ]
}

@test "several files become captures of one database, file ids do not meet" {
	import $data/ftrace-plain.txt $data/ftrace-tgid.txt
	./pagereel import -q -o "$db" --append $data/ftrace-old.txt
	[ "$(ask "SELECT count(*), max(id) FROM capture")" = "3,3" ]
	[ "$(ask "SELECT count(DISTINCT id), count(DISTINCT capture_id) FROM file")" = "4,3" ]
	[ "$(ask "SELECT count(*) FROM page_event e JOIN file f ON f.id = e.file_id WHERE f.capture_id != e.capture_id")" = 0 ]
}

@test "an existing output is not overwritten without --force" {
	import $data/ftrace-plain.txt
	run ./pagereel import -o "$db" $data/ftrace-old.txt
	[ "$status" = 4 ]
	[[ $output = *"exists already"*"--force"* ]]
	[ "$(ask "SELECT count(*) FROM page_event")" = 3 ]
	import --force $data/ftrace-old.txt
	[ "$(ask "SELECT count(*) FROM page_event")" = 5 ]
}

@test "usage: no output, no input, a format or option that does not exist: exit 2" {
	run ./pagereel import $data/ftrace-old.txt
	[ "$status" = 2 ]
	[[ $output = *"no output file"* ]]
	run ./pagereel import -o "$db"
	[ "$status" = 2 ]
	[[ $output = *"no FILE"* ]]
	run ./pagereel import -o "$db" --format perf $data/ftrace-old.txt
	[ "$status" = 2 ]
	[[ $output = *"'perf' is no input format"* ]]
	run ./pagereel import -o "$db" --fromat text $data/ftrace-old.txt
	[ "$status" = 2 ]
	[[ $output = *"did you mean '--format'"* ]]
	[ ! -e "$db" ]
}

@test "input that is missing or of no known format leaves no database behind" {
	run ./pagereel import -o "$db" "$BATS_TEST_TMPDIR/none"
	[ "$status" = 4 ]
	[[ $output = *"cannot open"*"No such file"* ]]
	[ ! -e "$db" ]
	for what in "empty:it is empty:" 'zstd:compressed by zstd:\x28\xb5\x2f\xfdxxxxxxxxxxxxxxxxxxxxxxxxxx' \
		'gz:gunzip first:\x1f\x8bxxxxxxxxxxxxxxxxxxxxxxxxxx' 'perf:perf.data is not read:PERFILE2xxxxxxxxxxxx' \
		'bin:no format is recognised:\xff\x00\x01\x02\xff\x00\x01\x02' 'prose:no format is recognised:to be or\nnot to be'; do
		printf "${what#*:*:}" >"$BATS_TEST_TMPDIR/${what%%:*}"
		run ./pagereel import -o "$db" "$BATS_TEST_TMPDIR/${what%%:*}"
		[ "$status" = 3 ]
		[[ $output = *"$(cut -d: -f2 <<<"$what")"* ]]
		[ ! -e "$db" ]
	done
	run ./pagereel import -o "$db" tests
	[ "$status" = 3 ]
	[[ $output = *"not a regular file"* ]]
	# a second input that is bad is found before the first is imported
	run ./pagereel import -o "$db" $data/ftrace-old.txt "$BATS_TEST_TMPDIR/bin"
	[ "$status" = 3 ]
	[ ! -e "$db" ]
}

@test "a text without any event is an error, and says how many lines it had" {
	printf 'one two\nthree four\n' >"$BATS_TEST_TMPDIR/prose"
	run ./pagereel import -o "$db" --format text "$BATS_TEST_TMPDIR/prose"
	[ "$status" = 3 ]
	[[ $output = *"none of its 2 lines is an event"* ]]
}

@test "an unwritable output: exit 4, and nothing is read in vain" {
	run ./pagereel import -o /proc/none/run.db $data/ftrace-old.txt
	[ "$status" = 4 ]
	[[ $output = *"cannot create '/proc/none/run.db'"* ]]
}

@test "CPUs are merged by time: marks and deletes of both are in one order" {
	import $data/linux-6.12-2cpus.dat
	[ "$(ask "SELECT group_concat(n, ' ') FROM (SELECT count(*) n FROM page_event GROUP BY cpu ORDER BY cpu)")" = "585 322" ]
	[ "$(ask "SELECT nr_cpus FROM capture")" = 2 ]
	# the second CPU has a part of what the first one has: the same records, so the same verdicts
	[ "$(ask "SELECT count(*) FROM page_event b LEFT JOIN page_event a ON a.cpu = 0 AND a.ts_ns = b.ts_ns AND a.op = b.op AND a.pfn IS b.pfn AND a.flags = b.flags WHERE b.cpu = 1 AND a.ts_ns IS NULL")" = 0 ]
}

@test "a trace.dat that was cut short gives what is left of it, exit 3" {
	local f=$BATS_TEST_TMPDIR/cut.dat kept=0 n
	for n in 8300 60000 120000 276200; do
		head -c $n $data/linux-6.12-classic.dat >"$f"
		run ./pagereel import --force -o "$db" "$f"
		[ "$status" = 3 ]
		[[ $output = *"was cut short at $n bytes: the "*" events that can be read are kept"* ]]
		[ "$(ask "SELECT status FROM capture")" = failed ]
		[ "$(ask "SELECT count(*) FROM page_event")" -ge $kept ]
		kept=$(ask "SELECT count(*) FROM page_event")
	done
	[ "$kept" -gt 30000 ]
	head -c 80000 $data/linux-6.12-v6.dat >"$f"
	run ./pagereel import --force -o "$db" "$f"
	[ "$status" = 3 ]
	[[ $output = *"the 418 events that can be read are kept"* ]]
	head -c 18000 $data/linux-6.12-2cpus.dat >"$f"
	run ./pagereel import --force -o "$db" "$f"
	[ "$status" = 3 ]
	[[ $output = *"the 779 events"* ]]
	rm "$db"
	for n in 20 300 3000; do
		head -c $n $data/linux-6.12-v6.dat >"$f"
		run ./pagereel import -o "$db" "$f"
		[ "$status" = 3 ]
		[[ $output = *"ends at $n within its head"* ]]
		[ ! -e "$db" ]
	done
}

@test "the output is never one of the inputs, and --force does not remove it" {
	cp $data/linux-6.12-v6.dat "$BATS_TEST_TMPDIR/in.dat"
	run ./pagereel import --force -o "$BATS_TEST_TMPDIR/in.dat" "$BATS_TEST_TMPDIR/in.dat"
	[ "$status" = 2 ]
	[[ $output = *"into itself"* ]]
	cmp $data/linux-6.12-v6.dat "$BATS_TEST_TMPDIR/in.dat"
	run ./pagereel import --force --append -o "$db" $data/linux-6.12-v6.dat
	[ "$status" = 2 ]
}

@test "a FIFO that nobody writes to is refused, not waited for" {
	mkfifo "$BATS_TEST_TMPDIR/fifo"
	run timeout 10 ./pagereel import -o "$db" "$BATS_TEST_TMPDIR/fifo"
	[ "$status" = 3 ]
	[[ $output = *"not a regular file"* ]]
}

@test "lines that are not understood cannot drive the terminal" {
	printf 'a \033[2J line\n12\n13\n' >"$BATS_TEST_TMPDIR/ids"
	run ./pagereel import -o "$db" -f ids "$BATS_TEST_TMPDIR/ids"
	[[ $output = *'line 1: a \x1b[2J line'* ]]
}

@test "a damaged trace.dat never crashes the import, and never the database" {
	local f=$BATS_TEST_TMPDIR/bad.dat n=0 base at
	for base in linux-6.12-v6.dat linux-6.12-2cpus.dat; do
		for at in 11 13 18 22 30 37 45 250 320 600 2100 3000 5200 5490 5500 5520 5650 5700 8192 8196 9000 12000 \
			16384 16390 18000 19700 19740; do
			cp $data/$base "$f"
			printf '\377\377\377\177' | dd of="$f" bs=1 seek=$at conv=notrunc status=none
			run ./pagereel import --force -o "$db" "$f"
			[ "$status" = 0 ] || [ "$status" = 3 ] || { echo "$base at $at: $status: $output"; return 1; }
			[ ! -e "$db" ] || [ "$(sqlite3 "$db" 'PRAGMA integrity_check')" = ok ]
			[ ! -e "$db" ] || [ "$(ask "SELECT count(*) FROM capture WHERE status = 'running'")" = 0 ]
			n=$((n + 1))
		done
	done
	[ $n = 54 ]
}
