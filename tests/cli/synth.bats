#!/usr/bin/env bats
# synth.bats - synthetic streams into a database, as the command line makes them.

setup() {
	cd "$BATS_TEST_DIRNAME/../.."
	db=$BATS_TEST_TMPDIR/run.db
	synth() { ./pagereel synth -q -o "$db" "$@"; }
	ask() { ./pagereel sql "${2:-$db}" --format csv "$1" | tail -n +2; }
	blobs() { ask "SELECT hex(data) FROM page_chunk ORDER BY id" "$1" | sha256sum; }
}

@test "a stream arrives whole: requests, file, task, capture" {
	run ./pagereel synth -o "$db" 'zipf:file=16M,theta=0.9,accesses=100k,seed=1,name=table,task=server'
	[ "$status" = 0 ]
	[[ $output = *"100000 requests for 100000 pages"*"of 1 file"* ]]
	[ "$(ask "SELECT count(*), min(page_index) >= 0, max(page_index) < 4096, min(pages), max(pages) FROM page_event")" = "100000,1,1,1,1" ]
	[ "$(ask "SELECT size_bytes, path FROM file")" = "16777216,table" ]
	[ "$(ask "SELECT comm FROM task WHERE pid = (SELECT pid FROM page_event LIMIT 1)")" = server ]
	[ "$(ask "SELECT source, clock, has_hits, status FROM capture")" = "synth,virtual,1,complete" ]
	[ "$(ask "SELECT input FROM capture")" = '"zipf:file=16M,theta=0.9,accesses=100k,seed=1,name=table,task=server"' ]
}

@test "the same SPEC and seed give the same bytes, another seed gives others" {
	local spec='(zipf:file=8M*0.8 + loop:file=4M,io=16K*0.2):accesses=50k; uniform:write=30%,accesses=1k'
	./pagereel synth -q -o "$BATS_TEST_TMPDIR/a.db" "$spec" 'hotspot:accesses=20k,jitter=on'
	./pagereel synth -q -o "$BATS_TEST_TMPDIR/b.db" "$spec" 'hotspot:accesses=20k,jitter=on'
	./pagereel synth -q -o "$BATS_TEST_TMPDIR/c.db" --seed 2 "$spec" 'hotspot:accesses=20k,jitter=on'
	[ "$(blobs "$BATS_TEST_TMPDIR/a.db")" = "$(blobs "$BATS_TEST_TMPDIR/b.db")" ]
	[ "$(blobs "$BATS_TEST_TMPDIR/a.db")" != "$(blobs "$BATS_TEST_TMPDIR/c.db")" ]
}

@test "several SPECs are tasks side by side, their files apart unless named alike" {
	synth 'seq:file=1M,name=shared' 'loop:file=1M,name=shared,accesses=512' 'seq:file=2M'
	[ "$(ask "SELECT count(*) FROM file")" = 2 ]
	[ "$(ask "SELECT pid, count(*), count(DISTINCT file_id) FROM page_event GROUP BY pid ORDER BY pid")" = "1000,256,1
1001,512,1
1002,512,1" ]
	# one virtual clock: time never runs backwards
	[ "$(ask "SELECT count(*) FROM (SELECT ts_ns - lag(ts_ns) OVER () d FROM page_event) WHERE d < 0")" = 0 ]
}

@test "writes, mapped faults and long requests have their ops" {
	synth 'seq:file=1M,io=64K; seq:file=40K,via=mmap; seq:file=40K,write=100%'
	[ "$(ask "SELECT op, count(*), sum(pages), max(flags) FROM page_event GROUP BY op ORDER BY op")" = "fault,10,10,0
read,16,256,0
write,10,10,1" ]
}

@test "--append adds a capture, an existing file wants --force" {
	synth 'seq:file=40K'
	run ./pagereel synth -o "$db" 'seq:file=40K'
	[ "$status" = 4 ]
	[[ $output = *"--force"* ]]
	./pagereel synth -q -o "$db" --append 'seq:file=80K'
	[ "$(ask "SELECT count(DISTINCT capture_id), count(DISTINCT file_id), count(*) FROM page_event")" = "2,2,30" ]
	./pagereel synth -q -o "$db" --force 'seq:file=80K'
	[ "$(ask "SELECT count(*) FROM page_event")" = 20 ]
}

@test "a bad SPEC names the column and the nearest word, exit 2, and makes no file" {
	run ./pagereel synth -o "$db" 'zipf:file=16M,teta=0.9'
	[ "$status" = 2 ]
	[[ $output = *"at column 15"*"did you mean 'theta'"* ]]
	run ./pagereel synth -o "$db" 'unform'
	[ "$status" = 2 ]
	[[ $output = *"did you mean 'uniform'"* ]]
	run ./pagereel synth 'uniform'
	[ "$status" = 2 ]
	[[ $output = *"no output file"* ]]
	run ./pagereel synth -o "$db"
	[ "$status" = 2 ]
	[[ $output = *"no SPEC"* ]]
	[ ! -e "$db" ]
}

@test "Ctrl-C keeps what was made and says so, exit 130" {
	./pagereel synth -o "$db" 'uniform:file=1G,accesses=2G' >/dev/null 2>&1 &
	local pid=$! i
	for i in $(seq 300); do
		[ "$(sqlite3 "$db" 'SELECT count(*) > 0 FROM page_chunk' 2>/dev/null)" = 1 ] && break
		kill -0 $pid
		sleep 0.1
	done
	kill -TERM $pid
	local status=0
	wait $pid || status=$?
	[ "$status" = 130 ]
	[ "$(ask "SELECT status FROM capture")" = interrupted ]
	[ "$(ask "SELECT count(*) > 0 FROM page_chunk")" = 1 ]
}

@test "--help and the man page name every generator and parameter" {
	local words
	words=$(./pagereel synth --help | sed -n 's/^  \([a-z]*\), .*/\1/p; s/^  \([a-z]*\): .*/\1/p; s/^    \([a-z]*\)=.*/\1/p' | sort -u)
	[ "$(wc -w <<<"$words")" -ge 20 ]
	for w in $words; do
		grep -q "^\*$w\*" docs/man/pagereel-synth.1.scd || { echo "$w is not in the man page"; return 1; }
	done
}
