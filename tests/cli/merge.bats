#!/usr/bin/env bats
# merge.bats - databases into one, and out of one: merge and export.

setup() {
	cd "$BATS_TEST_DIRNAME/../.."
	t=$BATS_TEST_TMPDIR
	rows() { ./pagereel sql "$1" --format csv "$2" | tail -n +2; }
	synth() { ./pagereel synth -o "$1" "$2" >/dev/null 2>&1; }
}

@test "two captures in one file keep their events and get their own ids" {
	synth "$t/a.db" 'zipf:file=4M,accesses=5K,seed=1'
	synth "$t/b.db" 'loop:file=2M,accesses=3K,seed=2'
	run ./pagereel merge -o "$t/all.db" "$t/a.db" "$t/b.db"
	[ "$status" = 0 ]
	[[ $output = *"2 databases merged, 2 captures"* ]]
	q='SELECT ts_ns, op, page_index, pages, f.ino FROM page_event e JOIN file f ON f.id = e.file_id
		WHERE e.capture_id ='
	[ "$(rows "$t/all.db" "$q 1")" = "$(rows "$t/a.db" "$q 1")" ]
	[ "$(rows "$t/all.db" "$q 2")" = "$(rows "$t/b.db" "$q 1")" ]
	[ "$(rows "$t/all.db" "SELECT count(*) FROM page_event")" -gt 0 ]
	[ "$(rows "$t/all.db" "PRAGMA integrity_check")" = ok ]
}

@test "the figures of case studies come along, each with its own capture" {
	./pagereel case kswapd-slab --set superblocks=5 -o "$t/a.db" >/dev/null
	./pagereel case kswapd-slab --set superblocks=7 -o "$t/b.db" >/dev/null
	synth "$t/c.db" 'loop:file=1M,accesses=1K'
	./pagereel merge -o "$t/all.db" "$t/c.db" "$t/a.db" "$t/b.db"
	q='SELECT section, item, measure, value FROM case_value WHERE measure IS NOT NULL'
	[ -n "$(rows "$t/a.db" "$q")" ]
	[ "$(rows "$t/all.db" "$q AND capture_id = 2 ORDER BY item")" = "$(rows "$t/a.db" "$q ORDER BY item")" ]
	[ "$(rows "$t/all.db" "$q AND capture_id = 3 ORDER BY item")" = "$(rows "$t/b.db" "$q ORDER BY item")" ]
	./pagereel merge -o "$t/all.db" --append "$t/a.db"
	[ "$(rows "$t/all.db" "SELECT count(DISTINCT capture_id) FROM case_value")" = 2 ]
}

@test "an input that is the output, or that does not open, costs no file" {
	synth "$t/a.db" 'seq:file=1M'
	synth "$t/old.db" 'seq:file=2M'
	for inputs in "$t/a.db $t/old.db" "$t/a.db $t/none.db" "$t/a.db $BATS_TEST_FILENAME"; do
		cp "$t/old.db" "$t/kept"
		run ./pagereel merge -o "$t/old.db" --force $inputs
		[ "$status" != 0 ]
		cmp "$t/old.db" "$t/kept"
	done
	run ./pagereel merge -o "$t/a.db" --force "$t/a.db"
	[ "$status" = 2 ]
	[[ $output = *"into itself"* ]]
	[ "$(rows "$t/a.db" "SELECT count(*) FROM capture")" = 1 ]
}

@test "shards of a replay merge to the results of one run" {
	synth "$t/run.db" 'zipf:file=8M,theta=0.8,accesses=20K,seed=3'
	grid=(-m lru,fifo,clock -M 1M,2M,4M)
	for i in 1 2 3; do
		./pagereel replay "$t/run.db" "${grid[@]}" --shard $i/3 >/dev/null
	done
	./pagereel merge -o "$t/all.db" "$t/run.3-of-3.db" "$t/run.1-of-3.db" "$t/run.2-of-3.db"
	./pagereel replay "$t/run.db" "${grid[@]}" -j 2 >/dev/null
	for table in result result_cost result_interval replay_run demand_stream demand_extent; do
		./pagereel export "$t/all.db" $table >"$t/merged"
		./pagereel export "$t/run.db" $table >"$t/whole"
		cmp "$t/merged" "$t/whole"
	done
	[ "$(rows "$t/all.db" "SELECT count(*) FROM result WHERE status = 'complete'")" = 9 ]
}

@test "merge never replaces a file without --force, and leaves none after bad input" {
	synth "$t/a.db" 'loop:file=1M,accesses=1K'
	echo precious >"$t/out.db"
	run ./pagereel merge -o "$t/out.db" "$t/a.db"
	[ "$status" = 4 ]
	[[ $output = *"exists already"* ]]
	run ./pagereel merge --force -o "$t/out.db" "$t/a.db"
	[ "$status" = 4 ]
	[[ $output = *"no pagereel database"* ]]
	[ "$(cat "$t/out.db")" = precious ]
	echo text >"$t/bad.db"
	run ./pagereel merge -o "$t/new.db" "$t/a.db" "$t/bad.db"
	[ "$status" = 3 ]
	[[ $output = *"bad.db"* ]]
	[ ! -e "$t/new.db" ]
	run ./pagereel merge "$t/a.db"
	[ "$status" = 2 ]
}

@test "merge --append adds to what is there, and twice is once" {
	synth "$t/a.db" 'loop:file=1M,accesses=1K,seed=1'
	synth "$t/b.db" 'loop:file=1M,accesses=1K,seed=2'
	./pagereel merge -o "$t/a.db" --append "$t/b.db"
	./pagereel merge -o "$t/a.db" --append "$t/b.db"
	[ "$(rows "$t/a.db" "SELECT count(*) FROM capture")" = 2 ]
	run ./pagereel merge -o "$t/a.db" --append "$t/a.db"
	[ "$status" = 2 ]
	[ "$(rows "$t/a.db" "SELECT count(*) FROM capture")" = 2 ]
}

@test "export writes a file for each table that has rows, none over another" {
	./pagereel import -o "$t/run.db" tests/data/linux-6.12-classic.dat >/dev/null 2>&1
	run ./pagereel export "$t/run.db" -o "$t/csv"
	[ "$status" = 0 ]
	for table in capture page_event eviction reclaim_episode mm_vmscan_lru_isolate; do
		[ "$(tail -n +2 "$t/csv/$table.csv" | wc -l)" = \
			"$(rows "$t/run.db" "SELECT count(*) FROM $table")" ]
	done
	[ ! -e "$t/csv/page_chunk.csv" ]
	[ ! -e "$t/csv/result.csv" ]
	run ./pagereel export "$t/run.db" -o "$t/csv"
	[ "$status" = 4 ]
	[[ $output = *"--force"* ]]
	./pagereel export "$t/run.db" -o "$t/csv" --force
}

@test "export of one table goes to standard output, unknown ones are named" {
	synth "$t/a.db" 'loop:file=1M,accesses=100'
	run ./pagereel export "$t/a.db" capture -f ndjson
	[ "$status" = 0 ]
	[ "$(sqlite3 :memory: "SELECT json_extract('$output', '\$.status')")" = complete ]
	run ./pagereel export "$t/a.db" captures
	[ "$status" = 2 ]
	[[ $output = *"no table or view 'captures'"* ]]
	run ./pagereel export "$t/a.db"
	[ "$status" = 2 ]
	[[ $output = *"-o DIR"* ]]
}

@test "an export to a full disk names the file" {
	synth "$t/a.db" 'seq:file=1M'
	mkdir "$t/out"
	run bash -c 'ulimit -f 1; trap "" XFSZ; ./pagereel export "$1/a.db" page_event -o "$1/out"' _ "$t"
	[ "$status" = 5 ]
	[[ $output = *"cannot write '$t/out/page_event.csv': File too large"* ]]
}
