#!/usr/bin/env bats
# analyze.bats - the analyses against the raw tables, and what they say when there is nothing to say.

setup() {
	cd "$BATS_TEST_DIRNAME/../.."
	db=$BATS_TEST_TMPDIR/run.db
	./pagereel synth -o "$db" 'zipf:file=16M,theta=0.9,accesses=20K,seed=1' >/dev/null 2>&1
	analyze=(./pagereel analyze "$db")
	change() { ./pagereel sql --write "$db" "$1"; }
	ask() { ./pagereel sql "$db" --format csv "$1" | tail -n +2; }
}

# Two models at three sizes, with figures that can be told apart.
results() {
	change "INSERT INTO demand_stream(id, capture_id, nr_records, nr_accesses, nr_distinct_pages,
			nr_ids, first_ts_ns, last_ts_ns, ops_mask, sample_mask, has_hits, coverage_pct,
			completeness)
		VALUES (1, 1, 20000, 20000, 3000, 4096, 0, 100, 1, 0, ${1:-1}, 100, 'complete');
		WITH m(model, k) AS (VALUES ('lru', 1), ('opt', 2)),
			s(pages) AS (VALUES (1024), (2048), (4096))
		INSERT INTO result(id, capture_id, stream_id, model, params, memory_pages, profile, seed,
			status, accesses, hits, misses, fills, cpu_ns)
		SELECT k * 10000 + pages, 1, 1, model, '', pages, 'builtin', 0, 'complete', 20000,
			pages * k, 20000 - pages * k, 20000 - pages * k, 1e6 * k FROM m, s"
}

@test "an analysis that does not exist suggests the nearest, and --list has them all" {
	run "${analyze[@]}" comprae
	[ "$status" = 2 ]
	[[ $output = *"did you mean 'compare'?"* ]]
	run ./pagereel analyze --list --format csv
	[ "$status" = 0 ]
	for name in $(./pagereel analyze --list --format csv | sed '1d; s/,.*//'); do
		[[ $(./pagereel analyze --help) = *"$name"* ]]
	done
}

@test "compare without results says how to get them, exit 3" {
	run "${analyze[@]}" compare
	[ "$status" = 3 ]
	[[ $output = *"pagereel replay"* ]]
	run "${analyze[@]}" mrc
	[ "$status" = 3 ]
	[[ $output = *"pagereel replay"* ]]
}

@test "compare: models down, sizes across, the figures of the results" {
	results
	run "${analyze[@]}" compare
	[ "$status" = 0 ]
	[[ ${lines[1]} =~ ^model\ +4M\ +8M\ +16M$ ]]
	[[ ${lines[2]} =~ ^lru\ +0\.0512\ +0\.1024\ +0\.2048$ ]]
	[[ ${lines[3]} =~ ^opt\ +0\.1024\ +0\.2048\ +0\.4096$ ]]
	[[ $output = *18,976* ]]
	[[ $output = *"2 ms"* ]]
}

@test "compare in JSON: every result once, with the keys that scripts rely on" {
	results
	run "${analyze[@]}" compare --format json
	jq -e 'length == 6 and all(.[]; .hits + .misses == .accesses and
		(.hit_ratio - .hits / .accesses | fabs) < 1e-12 and .claim == "full" and
		has("model") and has("memory_pages") and has("fills") and has("evictions") and
		has("scanned") and has("reclaimed") and has("refaults") and has("cpu_ns"))' <<< "$output"
}

@test "compare: the CPU time of reclaim is without look-ups, fills and writing back" {
	./pagereel replay "$db" -m lru,linux-6.18 -M 1M,4M -q >/dev/null
	[ "$("${analyze[@]}" compare --format json | jq '[.[] | .reclaim_ns > 0 and .reclaim_ns < .cpu_ns] | length == 4 and all')" = true ]
	want=$(./pagereel sql "$db" --format csv "SELECT CAST(round(sum(ns)) AS INTEGER) FROM result_cost
		WHERE component IN ('reclaim', 'scan', 'refault')" | tail -1)
	[ "$("${analyze[@]}" compare --format json | jq '[.[].reclaim_ns] | add | round')" = "$want" ]
}

@test "compare over more sizes than fit goes on below" {
	results
	change "WITH RECURSIVE s(value) AS (SELECT 8192 UNION ALL SELECT value + 1024 FROM s LIMIT 10)
		INSERT INTO result(id, capture_id, stream_id, model, params, memory_pages, profile, seed,
			status, accesses, hits, misses)
		SELECT 9000000 + value, 1, 1, 'lru', '', value, 'builtin', 0, 'complete', 20000, 0, 20000
		FROM s"
	run "${analyze[@]}" compare
	[ "$(grep -c '^model ' <<< "$output")" = 8 ]
	[[ $output = *68M* ]]
	[[ $output = *n/a* ]]
}

@test "fills-only: no claim below the recorded size, an estimate above it" {
	results 0
	change "UPDATE capture SET has_hits = 0;
		INSERT INTO context(capture_id, ts_ns, phase, subject, key, value)
		VALUES (1, 0, 'start', 'memcg:/run', 'limit_bytes', 2048 * 4096)"
	run "${analyze[@]}" compare --format json
	jq -e 'all(.[]; .claim == if .memory_pages < 2048 then "none" else "estimate" end)' <<< "$output"
	run "${analyze[@]}" compare
	[[ ${lines[2]} =~ ^lru\ +n/a\ +0\.1024\ +0\.2048$ ]]
	[[ $output = *"fills-only"* ]]
}

@test "mrc: a letter and a line for each model, the recorded size marked" {
	results
	change "INSERT INTO context(capture_id, ts_ns, phase, subject, key, value)
		VALUES (1, 0, 'start', 'memcg:/run', 'limit_bytes', 2048 * 4096)"
	run "${analyze[@]}" mrc
	[ "$status" = 0 ]
	[[ $output = *"a  lru (replay)"* ]]
	[[ $output = *"b  opt (replay)"* ]]
	[[ $output = *"recorded size: 8M, marked |"* ]]
	# More misses are further up: the first line with an a is above the last with a b.
	a=$(grep -n '|.*a' <<< "$output" | head -1 | cut -d: -f1)
	b=$(grep -n '|.*b' <<< "$output" | tail -1 | cut -d: -f1)
	[ "$a" -lt "$b" ]
	run "${analyze[@]}" mrc --format csv
	[ "${#lines[@]}" = 7 ]
}

@test "mrc: a stored curve stands in for the replays of its model" {
	results
	change "INSERT INTO curve VALUES (1, 'lru', '', 'exact', 0, 1024, 0.95, NULL),
		(1, 'lru', '', 'exact', 0, 4096, 0.80, NULL);
		INSERT INTO knee VALUES (1, 'lru', '', 'exact', 0, 2048, 0.9, 0.1)"
	run "${analyze[@]}" mrc --format csv
	[ "$(grep -c '"lru (exact)"\|lru (exact)' <<< "$output")" = 2 ]
	[ "$(grep -c 'lru (replay)' <<< "$output")" = 0 ]
	run "${analyze[@]}" mrc
	[[ $output = *Knees* ]]
	[[ ${lines[-2]}${lines[-1]} =~ lru\ +exact\ +8M\ +0\.9000\ +0\.1000 ]]
}

@test "the first of several captures, with a note; a capture by number; all of them" {
	results
	change "INSERT INTO capture(id, uuid, source, has_hits, status) VALUES (2, 'x', 'synth', 1, 'complete')"
	run "${analyze[@]}" compare
	[ "$status" = 0 ]
	[[ $output = *"capture 1 of 2"* ]]
	run "${analyze[@]}" compare --capture 2
	[ "$status" = 3 ]
	run "${analyze[@]}" compare --capture all
	[[ $output = *"capture 1 lru"* ]]
	run "${analyze[@]}" compare --capture 9
	[ "$status" = 2 ]
	[[ $output = *"no capture 9"* ]]
	run "${analyze[@]}" compare --capture x
	[ "$status" = 2 ]
}

# ---- a recording of 6.12: the figures against the raw tables -------------------------------------

recording() {
	db=$BATS_FILE_TMPDIR/rec.db
	[ -e "$db" ] || ./pagereel import -o "$db" tests/data/linux-6.12-classic.dat >/dev/null 2>&1
	analyze=(./pagereel analyze "$db")
}

@test "summary: the first sentence answers, with the sums of the raw tables" {
	recording
	run "${analyze[@]}"
	[ "$status" = 0 ]
	[[ ${lines[0]} = "Reclaim took "*" of task time in "*" and freed "*" pages"*"coverage 100.00%." ]]
	row=$("${analyze[@]}" summary --format json)
	[ "$(jq '.[0].direct_episodes' <<< "$row")" = \
	  "$(ask 'SELECT count(*) FROM mm_vmscan_direct_reclaim_begin')" ]
	[ "$(jq '.[0].filled_pages' <<< "$row")" = \
	  "$(ask "SELECT sum(pages) FROM page_event WHERE op = 'add'")" ]
	[ "$(jq '.[0].nr_shrinker_calls' <<< "$row")" = \
	  "$(ask 'SELECT count(*) FROM mm_shrink_slab_start')" ]
	jq -e '.[0] | .reclaim_ns == ([.kswapd_ns, .direct_ns, .memcg_ns, .node_ns] | map(. // 0) | add)' \
		<<< "$row"
}

@test "reclaim: time and pages of direct reclaim are those of its begin and end events" {
	recording
	row=$("${analyze[@]}" reclaim --format json | jq '.[] | select(.kind == "direct")')
	# An end belongs to the last begin of its task, if no other end came between.
	[ "$(jq .total_ns <<< "$row")" = "$(ask "SELECT sum(e.ts_ns - (SELECT max(ts_ns)
			FROM mm_vmscan_direct_reclaim_begin b WHERE b.pid = e.pid AND b.ts_ns <= e.ts_ns)) AS total
		FROM mm_vmscan_direct_reclaim_end e
		WHERE (SELECT max(ts_ns) FROM mm_vmscan_direct_reclaim_begin b
				WHERE b.pid = e.pid AND b.ts_ns <= e.ts_ns)
			>= coalesce((SELECT max(ts_ns) FROM mm_vmscan_direct_reclaim_end x
				WHERE x.pid = e.pid AND x.ts_ns < e.ts_ns), 0)")" ]
	[ "$(jq .nr_reclaimed <<< "$row")" = \
	  "$(ask "SELECT sum(nr_reclaimed) FROM mm_vmscan_direct_reclaim_end")" ]
}

@test "reclaim: all that was reclaimed is in one of the kinds" {
	recording
	sum=$("${analyze[@]}" reclaim --format json | jq '[.[].nr_reclaimed] | add')
	[ "$sum" = "$(ask "SELECT sum(nr_reclaimed) FROM mm_vmscan_lru_shrink_inactive")" ]
}

@test "percentiles against counting: the least value that half, 99 in 100 do not exceed" {
	recording
	for p in 50 99; do
		want=$(ask "WITH d AS (SELECT duration_ns AS v FROM reclaim_episode
				WHERE kind = 'direct' AND duration_ns IS NOT NULL)
			SELECT min(v) FROM d WHERE (SELECT count(*) FROM d AS o WHERE o.v <= d.v) * 100
				>= $p * (SELECT count(*) FROM d)")
		got=$("${analyze[@]}" reclaim --format json |
			jq ".[] | select(.kind == \"direct\") | .duration_p${p}_ns")
		[ "$got" = "$want" ]
	done
}

@test "latency: every episode is in exactly one bucket, and in the right one" {
	recording
	rows=$("${analyze[@]}" latency --format json)
	for kind in direct; do
		[ "$(jq "[.[] | select(.kind == \"$kind\") | .episodes] | add" <<< "$rows")" = \
		  "$(ask "SELECT count(duration_ns) FROM reclaim_episode WHERE kind = '$kind'")" ]
		[ "$(jq "[.[] | select(.kind == \"$kind\") | .total_ns] | add" <<< "$rows")" = \
		  "$(ask "SELECT sum(duration_ns) FROM reclaim_episode WHERE kind = '$kind'")" ]
	done
	jq -e 'all(.[]; .episodes == 0 or
		(.total_ns >= .episodes * .from_ns and .total_ns < .episodes * .below_ns))' <<< "$rows"
}

@test "who: the tasks' reclaim and fills add up to all of it" {
	recording
	rows=$("${analyze[@]}" who --format json)
	[ "$(jq '[.[].filled_pages // 0] | add' <<< "$rows")" = \
	  "$(ask "SELECT sum(pages) FROM page_event WHERE op = 'add'")" ]
	[ "$(jq '[.[].reclaim_ns // 0] | add' <<< "$rows")" = \
	  "$("${analyze[@]}" summary --format json | jq '.[0].reclaim_ns')" ]
}

@test "reclaim says how much of its time is the recording's" {
	recording
	run "${analyze[@]}" reclaim
	[[ $output =~ about\ [0-9]+%\ of\ these\ times\ is\ their\ recording ]]
	[[ $output = *"300 ns"*"246 ns"*"-e reclaim-cpu"* ]]
	# in the other formats there is nothing but rows
	"${analyze[@]}" reclaim --format json | jq -e 'all(.[]; has("cpu_ns"))'
}

@test "slab: every call is counted once" {
	recording
	[ "$("${analyze[@]}" slab --format json | jq '[.[].nr_calls] | add')" = \
	  "$(ask 'SELECT count(*) FROM mm_shrink_slab_start')" ]
}

@test "an unknown figure is null and n/a, never 0" {
	recording
	cp "$db" "$BATS_TEST_TMPDIR/unknown.db"
	db=$BATS_TEST_TMPDIR/unknown.db
	analyze=(./pagereel analyze "$db")
	change "DELETE FROM mm_vmscan_lru_shrink_inactive"
	row=$("${analyze[@]}" reclaim --format json | jq '.[] | select(.kind == "kswapd")')
	[ "$(jq -c '[.nr_scanned, .nr_reclaimed, .efficiency_pct, .cpu_ns]' <<< "$row")" = \
	  '[null,null,null,null]' ]
	run "${analyze[@]}" summary
	[[ $output = *"n/a pages scanned"* ]]
}

@test "a loss is in every figure's coverage, in every format" {
	recording
	cp "$db" "$BATS_TEST_TMPDIR/lossy.db"
	db=$BATS_TEST_TMPDIR/lossy.db
	analyze=(./pagereel analyze "$db")
	seen=$(ask "SELECT sum(nr_events) FROM event_type")
	change "INSERT INTO gap(capture_id, stream, cpu, from_ns, to_ns, events_lost)
		VALUES (1, 'reclaim', 0, 1, 2, $seen)"
	for name in summary reclaim who latency slab; do
		"${analyze[@]}" $name --format json | jq -e 'length > 0 and all(.[]; .coverage_pct == 50)'
	done
	run "${analyze[@]}" reclaim
	[[ $output = *"coverage 50.00%"* ]]
	change "INSERT INTO gap(capture_id, stream, from_ns, to_ns) VALUES (1, 'reclaim', 3, 4)"
	"${analyze[@]}" reclaim --format json | jq -e 'all(.[]; .coverage_pct == null)'
	run "${analyze[@]}"
	[[ $output = *"coverage n/a"* ]]
}

@test "kswapd's CPU is measured twice where its switches were recorded" {
	recording
	cp "$db" "$BATS_TEST_TMPDIR/twice.db"
	db=$BATS_TEST_TMPDIR/twice.db
	analyze=(./pagereel analyze "$db")
	# off its CPU for 1 us in each run
	change "INSERT INTO sched_switch(capture_id, ts_ns, cpu, prev_pid, next_pid)
		SELECT 1, start_ns + 1000, 0, pid, 0 FROM kswapd_run WHERE duration_ns > 3000
		UNION ALL SELECT 1, start_ns + 2000, 0, 0, pid FROM kswapd_run WHERE duration_ns > 3000
		ORDER BY 2"
	change "INSERT INTO context(capture_id, ts_ns, phase, subject, key, value) VALUES
		(1, 1, 'start', 'schedstat:kswapd0', 'run_ns', 1000),
		(1, 2, 'end', 'schedstat:kswapd0', 'run_ns', 5000)"
	runs=$(ask "SELECT count(*) FROM kswapd_run WHERE duration_ns > 3000")
	row=$("${analyze[@]}" reclaim --format json | jq '.[] | select(.kind == "kswapd")')
	[ "$(jq .off_cpu_ns <<< "$row")" = $((runs * 1000)) ]
	jq -e '.cpu_ns == .total_ns - .off_cpu_ns and .differ_ns == .cpu_ns - 4000' <<< "$row"
}

@test "kswapd's CPU is the difference of its schedstat, and n/a without" {
	recording
	cp "$db" "$BATS_TEST_TMPDIR/cpu.db"
	db=$BATS_TEST_TMPDIR/cpu.db
	analyze=(./pagereel analyze "$db")
	change "INSERT INTO context(capture_id, ts_ns, phase, subject, key, value) VALUES
		(1, 1, 'start', 'schedstat:kswapd0', 'run_ns', 1000),
		(1, 2, 'end', 'schedstat:kswapd0', 'run_ns', 5000),
		(1, 1, 'start', 'schedstat:kswapd1', 'run_ns', 10),
		(1, 2, 'end', 'schedstat:kswapd1', 'run_ns', 20)"
	row=$("${analyze[@]}" reclaim --format json | jq '.[] | select(.kind == "kswapd")')
	[ "$(jq .schedstat_ns <<< "$row")" = 4010 ]
	jq -e '.cpu_ns == null and .differ_ns == .total_ns - .schedstat_ns' <<< "$row"
}

@test "no reclaim in a synthetic stream is said, and is no error" {
	run "${analyze[@]}"
	[ "$status" = 0 ]
	[[ ${lines[0]} = *"No kernel was involved"* ]]
	run "${analyze[@]}" reclaim
	[ "$status" = 0 ]
	[[ $output = *"no reclaim was recorded"* ]]
	[ "$("${analyze[@]}" reclaim --format json 2>/dev/null)" = '[]' ]
}

@test "a recording without reclaim says so, not that no kernel was involved" {
	echo ' app-10 [000] ..... 1.000001: mm_filemap_add_to_page_cache: dev 8:1 ino a pfn=0x1 ofs=0 order=0' \
		>"$BATS_TEST_TMPDIR/trace.txt"
	./pagereel import --force -q -o "$db" "$BATS_TEST_TMPDIR/trace.txt"
	run "${analyze[@]}"
	[ "$status" = 0 ]
	[[ ${lines[0]} = "No reclaim was recorded (ftrace-text)"* ]]
	[[ $output != *"No kernel"* ]]
}

@test "a single result of a single model is no plural" {
	./pagereel replay "$db" -m lru -M 1M -q >/dev/null
	[[ $("${analyze[@]}") = *"1 result of 1 model ("* ]]
}

@test "compare: models that read ahead beside others get a note, in the table alone" {
	./pagereel replay "$db" -m lru,opt,linux-2.4,linux-6.18:readahead=off -M 1M -q >/dev/null
	[[ $("${analyze[@]}" compare) != *"note: the linux"* ]]
	./pagereel replay "$db" -m linux-6.18 -M 1M -q >/dev/null
	[[ $("${analyze[@]}" compare) = *"note: the linux models with readahead"* ]]
	[[ $("${analyze[@]}" compare --format csv 2>&1) != *"note: the linux"* ]]
}

@test "compare and mrc after a real replay" {
	./pagereel replay "$db" -m lru,opt -M 1M,4M >/dev/null 2>&1
	rows=$("${analyze[@]}" compare --format json)
	jq -e 'length == 4 and all(.[]; .hits + .misses == .accesses)' <<< "$rows"
	jq -e '([.[] | select(.model == "opt") | .misses] | add) <=
		([.[] | select(.model == "lru") | .misses] | add)' <<< "$rows"
	run "${analyze[@]}" mrc
	[ "$status" = 0 ]
	[[ $output = *"miss ratio by memory"* ]]
}

# Reads of one page each of WARM pages that nobody added, and one of 256 pages in a file of four.
warm_trace() { # WARM
	awk -v warm="$1" 'BEGIN {
		for (i = 0; i < 4; i++)
			printf "app-10 [000] ..... 1.%06d: mm_filemap_add_to_page_cache: dev 8:1 ino b pfn=0x%x ofs=%d order=0\n", n++, i, i * 4096
		printf "app-10 [000] ..... 1.%06d: mm_filemap_get_pages: dev=8:1 ino=b ofs=0-1048575\n", n++
		for (i = 0; i < warm; i++)
			printf "app-10 [000] ..... 1.%06d: mm_filemap_get_pages: dev=8:1 ino=a ofs=%d-%d\n", n++, i * 4096, i * 4096 + 4095
	}' >"$BATS_TEST_TMPDIR/warm.txt"
	./pagereel import -q --force -o "$db" "$BATS_TEST_TMPDIR/warm.txt"
}

@test "a cache that was warm before the capture is said to be, by the summary and by doctor" {
	db=$BATS_TEST_TMPDIR/warm.db
	warm_trace 12
	[ "$(./pagereel analyze "$db" --format json | jq -c '.[0] | [.asked_pages, .warm_pages]')" = '[16,12]' ]
	[[ $(./pagereel analyze "$db") = *"75.0% of the pages asked for were in the cache before"* ]]
	[[ $(./pagereel doctor "$db") = *"75.0% of the pages asked for were in the cache before"* ]]
	warm_trace 0
	[[ $(./pagereel analyze "$db") != *"in the cache before"* ]]
	[[ $(./pagereel doctor "$db") != *"in the cache before"* ]]
}

@test "who: a request that runs past the end of its file counts to the end" {
	db=$BATS_TEST_TMPDIR/warm.db
	warm_trace 3
	[ "$(./pagereel analyze "$db" who --format json | jq '.[0].requested_pages')" = 7 ]
}

@test "summary: no eviction is 0 where it would have been seen, else n/a" {
	db=$BATS_TEST_TMPDIR/warm.db
	warm_trace 0
	[ "$(./pagereel analyze "$db" --format json | jq '.[0].evicted_pages')" = null ]
	[[ $(./pagereel analyze "$db") = *"4 pages filled, evictions n/a"* ]]
	./pagereel sql --write "$db" "INSERT INTO event_type(capture_id, system, name, stored_as, nr_events)
		VALUES (1, 'filemap', 'mm_filemap_delete_from_page_cache', 'page_chunk', 0)" >/dev/null
	[ "$(./pagereel analyze "$db" --format json | jq '.[0].evicted_pages')" = 0 ]
	[[ $(./pagereel analyze "$db") = *"4 pages filled, 0 evicted, 0 truncated"* ]]
}
