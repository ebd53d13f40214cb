#!/usr/bin/env bats
# calibrate.bats - prices of this host. No time is judged: what is, is that there are prices, that they
# hang together and that nothing stays behind.

load common

setup() {
	need_tracing
	dir=$(mktemp -d "$BATS_TEST_DIRNAME/../../build/pagereel-live.XXXXXX")
}

@test "calibrate makes a profile of this host that a replay takes, and leaves nothing behind" {
	"$pagereel" calibrate -o "$dir/host.db" --dir "$dir" --rounds 1 >"$dir/said"
	cat "$dir/said"
	[ "$(ls "$dir" | sort | tr '\n' ' ')" = 'host.db said ' ]
	assert_nothing_left
	[ "$(db_int "$dir/host.db" "SELECT count(*) FROM cost_fit WHERE nr_samples > 100 AND measured_ns > 0")" = 1 ]
	# something of a page that goes has a price, nothing is below zero, all is there that is built in
	[ "$(db_int "$dir/host.db" "SELECT total(ns) > 0 FROM cost_profile WHERE operation IN ('reclaim.page',
		'reclaim.folio', 'reclaim.node', 'scan.page')")" = 1 ]
	[ "$(db_int "$dir/host.db" "SELECT count(*) FROM cost_profile WHERE ns < 0 OR ns IS NULL")" = 0 ]
	"$pagereel" synth -o "$dir/s.db" 'zipf:file=16M,accesses=20K,seed=1' >/dev/null 2>&1
	"$pagereel" replay "$dir/s.db" -q -m linux-6.18,lru -M 4M --profile "$dir/host.db" >/dev/null
	[ "$(db_int "$dir/s.db" "SELECT count(*) FROM result WHERE profile LIKE 'host-%' AND cpu_ns > 0")" = 2 ]
}

@test "reclaim-cpu records begin, end and switches: CPU time is never more than wall time" {
	head -c 32M /dev/urandom >"$dir/data"
	sync "$dir/data"
	cc -O2 -o "$dir/workload" "$BATS_TEST_DIRNAME/../truth/workload.c" -lm
	"$pagereel" capture --memory 16M --context start,end -e reclaim-cpu -o "$dir/run.db" -- \
		"$dir/workload" uniform "$dir/data" pages=8192 nr=12000 random=1
	q="FROM reclaim_cpu WHERE kind = 'memcg' AND pid IN (SELECT pid FROM task WHERE cgroup LIKE '%/pagereel.%')"
	[ "$(db_int "$dir/run.db" "SELECT count(*) > 50 $q AND duration_ns > 0")" = 1 ]
	[ "$(db_int "$dir/run.db" "SELECT count(*) $q AND (cpu_ns > duration_ns OR cpu_ns < 0)")" = 0 ]
	# no event of a scan stands between begin and end
	[ "$(db_int "$dir/run.db" 'SELECT count(*) FROM mm_vmscan_lru_isolate')" = 0 ]
	assert_nothing_left
	# some kernels do not trace the switch from an idle CPU to a task: then a CPU time is not given
	pids="IN (SELECT pid FROM task WHERE comm = 'workload')"
	out=$(db_int "$dir/run.db" "SELECT count(*) FROM sched_switch WHERE prev_pid $pids")
	in=$(db_int "$dir/run.db" "SELECT count(*) FROM sched_switch WHERE next_pid $pids")
	if [ $((100 * in)) -lt $((98 * out)) ]; then
		[ $((100 * in)) -gt $((80 * out)) ] ||
			[ "$(db_int "$dir/run.db" "SELECT count(cpu_ns) $q")" = 0 ]
		skip "this kernel traced $in switches to a task and $out away from it"
	fi
	[ "$(db_int "$dir/run.db" "SELECT 2 * count(cpu_ns) > count(*) $q")" = 1 ]
}
