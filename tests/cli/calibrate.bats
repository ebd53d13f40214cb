#!/usr/bin/env bats
# calibrate.bats - prices: fitted to a recording, named, stored, loaded, refused.

setup() {
	cd "$BATS_TEST_DIRNAME/../.."
	t=$BATS_TEST_TMPDIR
	db=$t/run.db
	./pagereel import -o "$db" tests/data/linux-6.18-zipfscan.dat >/dev/null 2>&1
	ask() { ./pagereel sql "${2:-$db}" --format csv "$1" | tail -n +2; }
}

# The recording's episodes by a formula: 5 us a call, 2 us a page freed, and nothing else.
priced_recording() {
	./pagereel sql --write "$db" "UPDATE mm_vmscan_memcg_reclaim_end SET ts_ns = (SELECT max(b.ts_ns)
		FROM mm_vmscan_memcg_reclaim_begin b WHERE b.pid = mm_vmscan_memcg_reclaim_end.pid
		AND b.ts_ns < mm_vmscan_memcg_reclaim_end.ts_ns) + 5000 + 2000 * nr_reclaimed" >/dev/null
}

@test "prices that made the durations are found again" {
	# of begin and end only: so each episode's end can be moved
	./pagereel sql --write "$db" "UPDATE event_type SET stored_as = 'missing', table_name = NULL
		WHERE name IN ('mm_vmscan_lru_shrink_inactive', 'mm_filemap_delete_from_page_cache');
		" >/dev/null
	for table in mm_vmscan_lru_shrink_inactive mm_vmscan_lru_shrink_active mm_vmscan_lru_isolate \
			mm_shrink_slab_start mm_shrink_slab_end; do
		./pagereel sql --write "$db" "DELETE FROM $table" >/dev/null
	done
	priced_recording
	cp "$db" "$t/cpu.db"
	./pagereel replay "$t/cpu.db" -q -m lru -M 1M --calibrate --profile builtin 2>"$t/said" >/dev/null || cat "$t/said"
	grep "calibrated 'calibrated-" "$t/said"
	profile=$(ask 'SELECT profile FROM cost_fit' "$t/cpu.db")
	page=$(ask "SELECT ns FROM cost_profile WHERE name = '$profile' AND operation = 'reclaim.page'" "$t/cpu.db")
	echo "a page: $page"
	awk "BEGIN { exit !($page > 1600 && $page < 2100) }"
	# what it was not told it has no second price for
	[ "$(ask "SELECT ns = 0 AND stderr_ns IS NULL FROM cost_profile WHERE name = '$profile'
		AND operation = 'scan.page'" "$t/cpu.db")" = 1 ]
	# and results say by which prices they are
	[ "$(ask "SELECT count(*) FROM result WHERE profile = '$profile' AND cpu_ns > 0" "$t/cpu.db")" = 1 ]
}

@test "a recording is calibrated, twice the same, and the fit is stored" {
	run ./pagereel replay "$db" -q -m linux-6.18 -M 8M,16M --calibrate
	[ "$status" = 0 ]
	[[ $output = *"episodes of reclaim"*"R2"*"corrected for the recording"* ]]
	./pagereel replay "$db" -q -m linux-6.18 -M 8M,16M --calibrate >/dev/null 2>&1
	[ "$(ask 'SELECT count(*), count(DISTINCT profile) FROM cost_fit')" = 1,1 ]
	[ "$(ask "SELECT count(*) FROM result WHERE profile LIKE 'calibrated-%' AND cpu_ns IS NOT NULL")" = 2 ]
	[ "$(ask "SELECT nr_samples > 20 AND measured_ns > 0 AND abs(fitted_ns / measured_ns - 1) < 0.001
		FROM cost_fit")" = 1 ]
	[ "$(ask "SELECT count(*) FROM cost_profile WHERE ns < 0")" = 0 ]
	# the sum of a result's costs is its CPU time, at these prices
	[ "$(ask "SELECT count(*) FROM result r WHERE abs(cpu_ns - (SELECT sum(c.count * p.ns) FROM result_cost c
		JOIN cost_profile p ON p.operation = c.operation AND p.name = r.profile
		WHERE c.result_id = r.id)) > 1")" = 0 ]
}

@test "prices of another database are taken and come along" {
	./pagereel synth -o "$t/s.db" 'zipf:file=16M,accesses=20K,seed=1' >/dev/null 2>&1
	./pagereel replay "$db" -q -m lru -M 8M --calibrate >/dev/null 2>&1
	profile=$(ask 'SELECT profile FROM cost_fit')
	./pagereel replay "$t/s.db" -q -m lru -M 2M --profile "$db" >/dev/null
	[ "$(ask 'SELECT profile FROM result' "$t/s.db")" = "$profile" ]
	[ "$(ask "SELECT group_concat(operation || ns) FROM (SELECT * FROM cost_profile WHERE name = '$profile'
		ORDER BY operation)" "$t/s.db")" = "$(ask "SELECT group_concat(operation || ns) FROM (SELECT * FROM
		cost_profile WHERE name = '$profile' ORDER BY operation)")" ]
	# by name, now that it is there
	./pagereel replay "$t/s.db" -q -m fifo -M 2M --profile "$profile" >/dev/null
	[ "$(ask 'SELECT count(*) FROM result' "$t/s.db")" = 2 ]
	./pagereel merge -o "$t/all.db" "$t/s.db" >/dev/null
	[ "$(ask 'SELECT count(*) FROM cost_fit' "$t/all.db")" = 1 ]
}

@test "what is no profile, and what cannot be calibrated, is refused with the way out" {
	run ./pagereel replay "$db" -m lru -M 8M --profile nothing
	[ "$status" = 2 ]
	[[ $output = *"no cost profile 'nothing'"*builtin* ]]
	run ./pagereel replay "$db" -m lru -M 8M --profile "$db"
	[ "$status" = 3 ]
	[[ $output = *"has no cost profile"*"pagereel calibrate"* ]]
	./pagereel synth -o "$t/s.db" 'loop:file=1M,accesses=1K' >/dev/null 2>&1
	run ./pagereel replay "$t/s.db" -m lru -M 512K --calibrate
	[ "$status" = 3 ]
	[[ $output = *"no reclaim was recorded"*reclaim-cpu* ]]
}

@test "calibrate says what it wants" {
	run ./pagereel calibrate
	[ "$status" = 2 ]
	[[ $output = *"-o HOST.db"* ]]
	run ./pagereel calibrate -o "$t/h.db" --rounds 0
	[ "$status" = 2 ]
	run ./pagereel calibrate --workload nothing "$db"
	[ "$status" = 2 ]
	[[ $output = *"random, skewed"* ]]
}

@test "calibrate without root ends with 4 and the remedy" {
	if [ "$(id -u)" = 0 ]; then
		chmod 755 "$t"
		run setpriv --reuid=65534 --clear-groups ./pagereel calibrate -o /tmp/pagereel-nobody.db
	else
		run ./pagereel calibrate -o "$t/h.db"
	fi
	[ "$status" = 4 ]
	[[ $output = *root*"--profile builtin"* ]]
}
