#!/usr/bin/env bats
# replay.bats - `pagereel replay` on a synthetic stream: grids, what is stored, what is refused.

setup() {
	cd "$BATS_TEST_DIRNAME/../.."
	db=$BATS_TEST_TMPDIR/run.db
	./pagereel synth -o "$db" 'zipf:file=16M,theta=0.9,accesses=50K,seed=1' >/dev/null 2>&1
	ask() { ./pagereel sql "${2:-$db}" --format csv "$1" | tail -n +2; }
	tables() { for t in result result_cost result_interval replay_run; do
		ask "SELECT * FROM $t ORDER BY 1, 2, 3" "$1"; done; }
}

@test "a grid gives a row per model and size, smallest size first" {
	run ./pagereel replay "$db" -m fifo,lru -M 1M,2M..6M/3 --format csv
	[ "$status" = 0 ]
	[ "${#lines[@]}" = 9 ]
	[[ ${lines[0]} = model,params,memory_pages,accesses,hits,misses,hit_ratio,fills,* ]]
	[[ ${lines[1]} = fifo,\"\",256,50000,* ]]
	[[ ${lines[8]} = lru,\"\",1536,50000,* ]]
}

@test "JSON has the keys that were promised" {
	./pagereel replay "$db" -m lru,opt -M 10% --format json >"$BATS_TEST_TMPDIR/out.json"
	run sqlite3 :memory: "SELECT group_concat(key) FROM json_each(
		(SELECT value FROM json_each(CAST(readfile('$BATS_TEST_TMPDIR/out.json') AS TEXT)) LIMIT 1))"
	for key in model memory_pages accesses hits misses hit_ratio fills evictions scanned reclaimed \
		refaults cpu_ns; do
		[[ ,$output, = *,$key,* ]]
	done
}

@test "results are the same for any -j and for one pass or a run a size" {
	for how in '-j 1' '-j 2' '-j 7' '-j 2 --by-size' '-j 2 --memory 3M'; do
		cp "$db" "$BATS_TEST_TMPDIR/other.db"
		./pagereel replay "$BATS_TEST_TMPDIR/other.db" -m all -M 10%..90%/4 $how >/dev/null
		tables "$BATS_TEST_TMPDIR/other.db" | md5sum
	done | uniq | wc -l | grep -x 1
}

@test "a second run only does what is missing" {
	./pagereel replay "$db" -m lru -M 1M >/dev/null
	./pagereel sql --write "$db" "UPDATE result SET hits = 7 WHERE model = 'lru'"
	run ./pagereel replay "$db" -m lru,fifo -M 1M --format csv
	[ "$status" = 0 ]
	[[ ${lines[1]} = lru,\"\",256,50000,7,* ]]
	[[ ${lines[2]} = fifo,\"\",256,50000,* ]]
	run ./pagereel replay "$db" -m lru -M 1M --again --format csv
	[[ ${lines[1]} != lru,\"\",256,50000,7,* ]]
}

@test "intervals and costs add up to the result" {
	./pagereel replay "$db" -m clock,opt -M 25% >/dev/null
	[ "$(ask "SELECT count(*) FROM result r WHERE accesses <> (SELECT sum(accesses) FROM result_interval
		WHERE result_id = r.id) OR hits <> (SELECT sum(hits) FROM result_interval WHERE result_id = r.id)
		OR abs(cpu_ns - (SELECT sum(ns) FROM result_cost WHERE result_id = r.id)) > 1")" = 0 ]
	[ "$(ask 'SELECT count(*) FROM result_interval')" = 200 ]
}

@test "opt misses least" {
	./pagereel replay "$db" -m all -M 5%,20%,60% >/dev/null
	[ "$(ask "SELECT count(*) FROM result r JOIN result o USING(memory_pages)
		WHERE o.model = 'opt' AND r.misses < o.misses AND r.model NOT LIKE 'linux%'")" = 0 ]
}

@test "typos, bad sizes and bad parameters are usage errors that name the remedy" {
	run ./pagereel replay "$db" -m clokc
	[ "$status" = 2 ]
	[[ $output = *"did you mean 'clock'?"* ]]
	run ./pagereel replay "$db" -m clock:fil_used=1
	[ "$status" = 2 ]
	[[ $output = *"did you mean 'fill_used'?"* ]]
	run ./pagereel replay "$db" -m lru -M 1K
	[ "$status" = 2 ]
	run ./pagereel replay "$db" -m lru -M 1M..2M
	[ "$status" = 2 ]
	[[ $output = *LOW..HIGH/N* ]]
	run ./pagereel replay
	[ "$status" = 2 ]
	run ./pagereel replay "$BATS_TEST_TMPDIR/nothing.db"
	[ "$status" != 0 ]
}

@test "a memory limit too small for any model is an error that says how much is needed" {
	run ./pagereel replay "$db" -m lru -M 1M --memory 64K
	[ "$status" = 4 ]
	[[ $output = *--memory* ]]
}

@test "Ctrl-C keeps finished replays, exit 130, and the next run does the rest" {
	./pagereel synth -o "$BATS_TEST_TMPDIR/big.db" 'uniform:file=512M,accesses=3M,seed=1' >/dev/null 2>&1
	./pagereel replay "$BATS_TEST_TMPDIR/big.db" -m fifo -M 10% >/dev/null
	setsid timeout -s INT --foreground 0.4 ./pagereel replay "$BATS_TEST_TMPDIR/big.db" -j 1 --by-size \
		-m lru,clock,fifo,opt -M 2%..90%/40 >/dev/null 2>"$BATS_TEST_TMPDIR/err" && skip "too fast"
	grep -q 'done and kept' "$BATS_TEST_TMPDIR/err"
	done=$(ask 'SELECT count(*) FROM result' "$BATS_TEST_TMPDIR/big.db")
	[ "$done" -ge 1 ]
	[ "$done" -lt 160 ]
	./pagereel replay "$BATS_TEST_TMPDIR/big.db" -m lru -M 2%..90%/40 >/dev/null
	[ "$(ask "SELECT count(*) FROM result WHERE model = 'lru'" "$BATS_TEST_TMPDIR/big.db")" = 40 ]
}

@test "models shows parameters and sources, as text and as JSON" {
	run ./pagereel models clock
	[ "$status" = 0 ]
	[[ $output = *fill_used* ]]
	[[ $output = *Corbato* ]]
	./pagereel models --format json >"$BATS_TEST_TMPDIR/models.json"
	[ "$(sqlite3 :memory: "SELECT count(*) > 3 FROM json_each(
		CAST(readfile('$BATS_TEST_TMPDIR/models.json') AS TEXT))")" = 1 ]
	run ./pagereel models clok
	[ "$status" = 2 ]
}

@test "shards merge to the tables of one run" {
	cp "$db" "$BATS_TEST_TMPDIR/whole.db"
	./pagereel replay "$BATS_TEST_TMPDIR/whole.db" -m all -M 10%..90%/4 >/dev/null
	for i in 1 2 3; do
		./pagereel replay "$db" -m all -M 10%..90%/4 --shard $i/3 >/dev/null
	done
	[ "$(ask 'SELECT count(*) FROM result')" = 0 ]
	./pagereel merge -o "$BATS_TEST_TMPDIR/all.db" "$BATS_TEST_TMPDIR"/run.?-of-3.db
	[ "$(ask 'SELECT count(*) FROM result' "$BATS_TEST_TMPDIR/run.1-of-3.db")" -gt 10 ]
	tables "$BATS_TEST_TMPDIR/whole.db" >"$BATS_TEST_TMPDIR/a"
	tables "$BATS_TEST_TMPDIR/all.db" >"$BATS_TEST_TMPDIR/b"
	cmp "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/b"
	run ./pagereel replay "$db" -m lru --shard 4/3
	[ "$status" = 2 ]
}

@test "the curve of lru equals its replays, and is stored" {
	./pagereel replay "$db" -m lru -M 10%..90%/4 --by-size >/dev/null
	./pagereel replay "$db" -m lru -M 10%..90%/4 --curve >/dev/null
	[ "$(ask 'SELECT count(*) FROM curve JOIN result USING(model, memory_pages)
		WHERE abs(miss_ratio - 1.0 * misses / accesses) < 1e-12')" = 4 ]
	./pagereel replay "$db" -m lru,arc --curve --sample 20% >/dev/null
	[ "$(ask "SELECT count(*) > 100 AND min(stderr) > 0 FROM curve WHERE method IN ('shards', 'scaled')")" = 1 ]
	./pagereel replay "$db" -m lru --curve --sample 500 >/dev/null
	[ "$(ask "SELECT count(*) > 50 FROM curve WHERE method = 'shards-max'")" = 1 ]
}

@test "curves of several models are the same for any number of threads" {
	for j in 1 3; do
		./pagereel replay "$db" -m opt,lru,arc,2q --curve --sample 20% -j $j --format csv \
			>"$BATS_TEST_TMPDIR/sampled.$j"
		./pagereel replay "$db" -m opt,lru,arc,2q --curve -j $j --format csv \
			>"$BATS_TEST_TMPDIR/exact.$j"
	done
	cmp "$BATS_TEST_TMPDIR/sampled.1" "$BATS_TEST_TMPDIR/sampled.3"
	cmp "$BATS_TEST_TMPDIR/exact.1" "$BATS_TEST_TMPDIR/exact.3"
	[ "$(cut -d, -f1 "$BATS_TEST_TMPDIR/exact.1" | uniq | tr '\n' ' ')" = 'model opt lru arc 2q ' ]
}

@test "Ctrl-C ends --curve, exit 130, and keeps the curves that are finished" {
	big=$BATS_TEST_TMPDIR/big.db
	./pagereel synth -o "$big" 'uniform:file=256M,accesses=2M,seed=1' >/dev/null 2>&1
	./pagereel replay "$big" -m fifo -M 10% >/dev/null
	set -m	# so that the shell lets it have SIGINT
	./pagereel replay "$big" -m lru,wtinylfu,lirs,arc,car,opt,s3fifo --curve -M 2%..90%/40 -j 1 \
		>"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
	for _ in $(seq 300); do
		[ "$(ask "SELECT count(*) FROM curve" "$big")" -gt 0 ] && break
		sleep 0.1
	done
	kill -INT $! || skip "too fast"
	status=0
	wait $! || status=$?
	[ "$status" = 130 ]
	grep -q interrupted "$BATS_TEST_TMPDIR/err"
	grep -q '^lru' "$BATS_TEST_TMPDIR/out"
	[ "$(ask "SELECT count(*) FROM curve WHERE model = 'lru'" "$big")" = 40 ]
	[ "$(ask 'SELECT count(DISTINCT model) < 7 FROM curve' "$big")" = 1 ]
}

@test "--memory that is too little for one model or curve is an error that says how much is" {
	for how in '-M 10%' --curve '--curve --sample 500'; do
		run ./pagereel replay "$db" -m lru $how --memory 1K --again
		[ "$status" = 4 ]
		[[ $output = *'takes up to'*'--memory'* ]]
	done
}

@test "a loop has its knee at its length" {
	./pagereel synth -o "$BATS_TEST_TMPDIR/loop.db" 'loop:file=16M,accesses=40K,seed=1' >/dev/null 2>&1
	./pagereel replay "$BATS_TEST_TMPDIR/loop.db" -m lru --curve >/dev/null
	[ "$(ask 'SELECT memory_pages FROM knee' "$BATS_TEST_TMPDIR/loop.db")" = 4096 ]
}

@test "a sample that is none is a usage error" {
	for sample in 0% 100% 5 x; do
		run ./pagereel replay "$db" -m lru --curve --sample $sample
		[ "$status" = 2 ]
	done
	run ./pagereel replay "$db" -m lru --sample 1%
	[ "$status" = 2 ]
}

@test "what a memcg holds besides page cache is the mean over the run, not what its tasks left behind" {
	sqlite3 "$db" "INSERT INTO context(capture_id, ts_ns, phase, subject, key, value)
		SELECT 1, t, p, 'memcg:/a', k, iif(k = 'limit_bytes', 16777216, bytes)
		FROM (SELECT 1 AS t, 'start' AS p, 0 AS bytes UNION ALL SELECT 2, 'sample', 40960
			UNION ALL SELECT 3, 'sample', 81920 UNION ALL SELECT 4, 'end', 4096),
		(SELECT 'limit_bytes' AS k UNION ALL SELECT 'stat.kernel' UNION ALL SELECT 'stat.anon')"
	run ./pagereel replay "$db" -m linux-6.18 -M 160K
	[[ $output = *'30 are charged to other things'* ]]
	sqlite3 "$db" "DELETE FROM context WHERE phase = 'sample'"
	run ./pagereel replay "$db" -m linux-6.18 -M 100K --again
	[[ $output = *' 2 are charged to other things'* ]]
}

@test "a stream of no limited memcg cannot be validated, and it says why" {
	run ./pagereel analyze "$db" validate
	[ "$status" = 3 ]
	[[ $output = *'does not name a memcg limit'*'--size SIZE'* ]]
}
