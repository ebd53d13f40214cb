# capture.bats - live captures: what they record, how they end, what they leave behind (nothing).
bats_require_minimum_version 1.5.0
load common

loop() { "$helpers/pread_loop" "$dir/file" random "$1"; }

make_file() { "$helpers/reader" make "$dir/file" "${1:-8388608}"; }

integrity() { [ "$(sqlite3 "$1" 'PRAGMA integrity_check')" = ok ]; }

status_of() { sqlite3 "$1" 'SELECT status FROM capture'; }

@test "records events, context, files with path and size, tasks with name" {
	need_hits
	make_file
	"$pagereel" capture -o "$dir/x.db" -- "$helpers/reader" read "$dir/file" 4096 100 random
	[ "$(status_of "$dir/x.db")" = complete ]
	integrity "$dir/x.db"
	[ "$(stat -c %a "$dir/x.db")" = 600 ]
	[ "$(sqlite3 "$dir/x.db" "SELECT size_bytes FROM file WHERE path = '$dir/file'")" = 8388608 ]
	[ "$(sqlite3 "$dir/x.db" "SELECT count(*) > 0 FROM task WHERE comm = 'reader' AND cgroup IS NOT NULL")" = 1 ]
	for fact in host/nr_cpus sysctl/vm.swappiness vmstat/nr_free_pages zoneinfo:0:Normal/high capture/cpu_ns; do
		[ "$(sqlite3 "$dir/x.db" "SELECT count(*) > 0 FROM context WHERE subject = '${fact%/*}' AND key = '${fact#*/}'")" = 1 ] ||
			{ echo "no $fact"; return 1; }
	done
	assert_nothing_left
}

@test "a file that was open for a moment only has its path" {
	need_hits
	mkdir "$dir/d"
	"$helpers/reader" makedir "$dir/d" 50
	"$pagereel" capture -o "$dir/x.db" -- "$helpers/reader" cat "$dir/d" 65536
	[ "$(sqlite3 "$dir/x.db" "SELECT count(*) FROM file WHERE path LIKE '$dir/d/f%'")" = 50 ]
	[ "$(sqlite3 "$dir/x.db" "SELECT count(*) FROM file WHERE path LIKE '$dir/d/f%' AND size_bytes IS NULL")" = 0 ]
}

@test "the command's exit status is reported and its output untouched" {
	run "$pagereel" capture -o "$dir/x.db" -- sh -c 'echo hello; exit 7'
	[ "$status" = 0 ]
	[ "${lines[0]}" = hello ]
	[[ "$output" == *"ended with status 7"* ]]
	[ "$(sqlite3 "$dir/x.db" "SELECT value >> 8 FROM context WHERE key = 'command_status'")" = 7 ]
}

@test "children of the command are followed" {
	need_hits
	make_file
	"$pagereel" capture -o "$dir/x.db" -- sh -c "true; ($helpers/reader read $dir/file 4096 200 seq; true) | cat" >"$dir/out"
	[ "$(demand "$dir/x.db" "$dir/file")" = "200 0 0 100.0000" ]
}

@test "-p follows a running process, others are not recorded" {
	need_hits
	make_file
	cp "$dir/file" "$dir/other"
	"$helpers/pread_loop" "$dir/file" random 2 >/dev/null &
	local pid=$!
	"$helpers/pread_loop" "$dir/other" random 2 >/dev/null &
	"$pagereel" capture -o "$dir/x.db" -p $pid -d 500ms
	wait
	[ "$(db_int "$dir/x.db" "SELECT count(*) > 1000 FROM page_event JOIN file ON file.id = file_id WHERE op = 'read' AND path = '$dir/file'")" = 1 ]
	[ "$(db_int "$dir/x.db" "SELECT count(*) FROM page_event JOIN file ON file.id = file_id WHERE op = 'read' AND path = '$dir/other'")" = 0 ]
	"$pagereel" info "$dir/x.db" | grep -q '^capture 1: live of pid [0-9]'
}

@test "--cgroup follows tasks that enter it later" {
	need_hits
	local root=/sys/fs/cgroup/memory cg
	[ -d $root ] || root=/sys/fs/cgroup
	cg=$root/pagereel-test-$$
	mkdir "$cg" 2>/dev/null || skip 'cannot make a cgroup'
	make_file
	"$pagereel" capture -o "$dir/x.db" --cgroup "$cg" -d 1500ms &
	local capture=$!
	sleep 0.7
	bash -c "echo \$\$ >$cg/cgroup.procs; sleep 0.4; exec $helpers/reader read $dir/file 4096 300 seq" >/dev/null
	wait $capture || { rmdir "$cg"; return 1; }
	rmdir "$cg"
	[ "$(demand "$dir/x.db" "$dir/file")" = "300 0 0 100.0000" ]
	[ "$(sqlite3 "$dir/x.db" "SELECT count(*) > 0 FROM task WHERE cgroup = '/pagereel-test-$$'")" = 1 ]
}

@test "--memory makes reclaim happen and leaves no cgroup" {
	make_file 67108864
	local before after
	before=$(find /sys/fs/cgroup -type d | wc -l)
	"$pagereel" capture -o "$dir/x.db" --memory 16M -- "$helpers/reader" read "$dir/file" 65536 2000 seq
	after=$(find /sys/fs/cgroup -type d -name 'pagereel.*' | wc -l)
	[ "$(sqlite3 "$dir/x.db" 'SELECT count(*) > 10 FROM mm_vmscan_memcg_reclaim_begin')" = 1 ]
	[ "$(sqlite3 "$dir/x.db" "SELECT value FROM context WHERE subject LIKE 'memcg:%pagereel.%' AND key = 'limit_bytes' AND phase = 'start'")" = 16777216 ]
	# shrinkers have names where the kernel tells addresses
	if grep -q '^ffff.* super_cache_scan$' /proc/kallsyms; then
		[ "$(sqlite3 "$dir/x.db" "SELECT count(*) FROM shrinker_call WHERE typeof(function) <> 'text'")" = 0 ]
	fi
	# what reclaim evicted is marked: all deletes of the file while the reader ran
	[ "$(db_int "$dir/x.db" "SELECT count(*) > 1000 FROM page_event JOIN file ON file.id = file_id WHERE op = 'delete' AND flags & 2 AND path = '$dir/file'")" = 1 ]
	assert_nothing_left
}

@test "nothing of our own is recorded: neither process nor database" {
	make_file
	"$pagereel" capture -o "$dir/x.db" -d 2s -- "$helpers/pread_loop" "$dir/file" random 1.5 >/dev/null &
	local capture=$!
	wait $capture
	[ "$(db_int "$dir/x.db" "SELECT count(*) FROM file JOIN page_event ON file_id = file.id WHERE path LIKE '$dir/x.db%'")" = 0 ]
	[ "$(db_int "$dir/x.db" "SELECT count(*) FROM page_event JOIN task USING (pid) WHERE pid = $capture OR tgid = $capture")" = 0 ]
}

@test "a tiny ring loses events: gaps, coverage below 100 %, exit status 5" {
	need_hits
	make_file
	run "$pagereel" capture -o "$dir/x.db" -b 8K -e filemap:mm_filemap_get_pages -- "$helpers/pread_loop" "$dir/file" random 0.5
	[ "$status" = 5 ]
	[[ "$output" == *"% of the events were lost"* ]]
	local output_of_loop=${lines[0]}
	[ "$(sqlite3 "$dir/x.db" "SELECT count(*) > 0 AND min(events_lost) > 0 AND min(to_ns >= from_ns) AND count(cpu) = count(*) FROM gap")" = 1 ]
	run "$demand_count" "$dir/x.db" "$dir/file"
	[[ "$output" == *lossy* ]]
	[[ "$output" != *" 100.0000 "* ]]
	# recorded and lost together are the reads: those of the loop, and some to warm up
	local reads all
	reads=$(echo "${output_of_loop}" | cut -d' ' -f2)
	all=$(db_int "$dir/x.db" "SELECT (SELECT count(*) FROM page_event) + (SELECT sum(events_lost) FROM gap)")
	echo "$reads reads, $all recorded or lost"
	[ "$all" -ge "$reads" ] && [ "$all" -le $((reads + 500)) ]
	assert_nothing_left
}

@test "two captures at once do not see each other's readers" {
	need_hits
	make_file
	cp "$dir/file" "$dir/other"
	"$pagereel" capture -o "$dir/a.db" -- "$helpers/reader" read "$dir/file" 4096 2000 random >/dev/null &
	local first=$!
	"$pagereel" capture -o "$dir/b.db" -- "$helpers/reader" read "$dir/other" 4096 1500 random >/dev/null
	wait $first
	[ "$(demand "$dir/a.db" "$dir/")" = "2000 0 0 100.0000" ]
	[ "$(demand "$dir/b.db" "$dir/")" = "1500 0 0 100.0000" ]
	assert_nothing_left
}

@test "SIGINT and SIGTERM end a capture cleanly" {
	for signal in INT TERM; do
		"$pagereel" capture -f -o "$dir/x.db" -d 20s &
		local pid=$!
		sleep 0.7
		kill -$signal $pid
		local code=0
		wait $pid || code=$?
		[ $code = 130 ]
		[ "$(status_of "$dir/x.db")" = interrupted ]
		integrity "$dir/x.db"
		assert_nothing_left
	done
}

@test "kill -9 at fifty random moments: the database opens, the next run cleans up" {
	make_file
	RANDOM=11
	local killed=0 i
	for i in $(seq 50); do
		rm -f "$dir"/x.db*
		"$pagereel" capture -o "$dir/x.db" -m 32M -- "$helpers/pread_loop" "$dir/file" random 0.4 >/dev/null 2>&1 &
		local pid=$!
		sleep "0.$(printf %03d $((RANDOM % 500)))"
		kill -9 $pid 2>/dev/null && killed=$((killed + 1))
		wait $pid 2>/dev/null || true
		[ -e "$dir/x.db" ] || continue
		[ -s "$dir/x.db" ] || continue
		integrity "$dir/x.db" || { echo "run $i: damaged"; return 1; }
		# killed before the tables were committed: SQLite's empty database
		[ "$(sqlite3 "$dir/x.db" 'SELECT count(*) FROM sqlite_master')" = 0 ] && continue
		"$pagereel" info "$dir/x.db" >"$dir/info" || { cat "$dir/info"; return 1; }
	done
	echo "$killed killed"
	[ $killed -gt 25 ]
	sleep 0.5
	"$pagereel" doctor --clean
	assert_nothing_left
}

@test "a killed capture is told from one that ended, and keeps all but its last second" {
	need_hits
	make_file
	"$pagereel" capture -o "$dir/x.db" -e filemap:mm_filemap_get_pages -- "$helpers/pread_loop" "$dir/file" random 2.5 >/dev/null &
	local pid=$!
	sleep 2
	kill -9 $pid
	wait $pid || true
	[ "$(status_of "$dir/x.db")" = running ]
	"$pagereel" info "$dir/x.db" | grep -q 'ended abnormally'
	[ "$(sqlite3 "$dir/x.db" "SELECT nr_events > 0 FROM event_type WHERE name = 'mm_filemap_get_pages'")" = 1 ]
	# at least 0.5 s of page events arrived in 2 s less start-up and the last second
	[ "$(sqlite3 "$dir/x.db" 'SELECT (max(last_ts_ns) - min(first_ts_ns)) > 500000000 FROM page_chunk')" = 1 ]
	"$pagereel" doctor --clean
	assert_nothing_left
}

@test "a full disk stops the capture, keeps what it has, says so: exit status 5" {
	need_hits
	make_file
	mkdir "$dir/small"
	export dir pagereel helpers
	run unshare -m --propagation private bash -c '
		mount -t tmpfs -o size=4M none "$dir/small" || exit 77
		"$pagereel" capture -o "$dir/small/x.db" -- "$helpers/pread_loop" "$dir/file" random 6
		code=$?
		mkdir "$dir/copy"
		cp "$dir"/small/x.db* "$dir/copy"
		exit $code'
	echo "$output"
	[ "$status" = 77 ] && skip 'cannot mount a tmpfs'
	[ "$status" = 5 ]
	[[ "$output" == *"full"* ]]
	integrity "$dir/copy/x.db"
	[ "$(status_of "$dir/copy/x.db")" = disk-full ]
	[ "$(sqlite3 "$dir/copy/x.db" 'SELECT sum(nr_events) > 100000 FROM page_chunk')" = 1 ]
	# what found no room is lost, and said to be
	[[ "$output" != *"lost      0 events"* ]]
	[ "$(sqlite3 "$dir/copy/x.db" "SELECT count(*), sum(events_lost) > 0 FROM gap WHERE stream = 'writer'")" = '1|1' ]
	[ "$(sqlite3 "$dir/copy/x.db" 'SELECT coverage_pct < 100 FROM capture_coverage')" = 1 ]
	assert_nothing_left
}

@test "--max-size stops before the size is passed, write-ahead log included: exit status 5" {
	need_hits
	make_file
	"$pagereel" capture -o "$dir/x.db" --max-size 2M -- "$helpers/pread_loop" "$dir/file" random 6 >/dev/null 2>"$dir/err" &
	local pid=$! max=0 now
	while kill -0 $pid 2>/dev/null; do
		now=$(cat "$dir"/x.db* 2>/dev/null | wc -c)
		((now > max)) && max=$now
		sleep 0.02
	done
	local code=0
	wait $pid || code=$?
	[ $code = 5 ]
	grep -q 'max-size' "$dir/err"
	echo "largest: $max"
	[ "$max" -le 2097152 ]
	[ "$(status_of "$dir/x.db")" = size-limit ]
	integrity "$dir/x.db"
	assert_nothing_left
	run "$pagereel" capture -o "$dir/y.db" --max-size 512K -- true
	[ "$status" = 2 ]
	[[ "$output" == *"at least 1M"* ]]
}

@test "--max-cpu thins the page stream by page index and says so" {
	need_hits
	make_file
	"$pagereel" capture -o "$dir/x.db" --max-cpu 0.05 -- "$helpers/pread_loop" "$dir/file" random 3 >/dev/null
	[ "$(sqlite3 "$dir/x.db" 'SELECT max(sample_mask) > 0 FROM page_chunk')" = 1 ]
	# no page escapes the mask of its chunk; each CPU's ring is drained at its own times
	[ "$(db_int "$dir/x.db" "SELECT count(*) FROM page_event e JOIN (SELECT cpu, min(first_ts_ns) AS from_ns,
		min(sample_mask) AS mask FROM page_chunk WHERE sample_mask GROUP BY cpu) c ON c.cpu = e.cpu
		WHERE op IN ('read', 'add', 'fault') AND ts_ns >= from_ns AND page_index & mask")" = 0 ]
	"$pagereel" info "$dir/x.db" | grep -q thinned
	run "$demand_count" "$dir/x.db" ""
	[[ "$output" == *thinned* ]]
}

@test "--context start,end takes no samples between" {
	"$pagereel" capture -o "$dir/x.db" --context start,end -- sleep 1.3
	[ "$(sqlite3 "$dir/x.db" "SELECT group_concat(phase) FROM (SELECT DISTINCT phase FROM context ORDER BY phase DESC)")" = start,end ]
	"$pagereel" capture -f -o "$dir/x.db" -- sleep 1.3
	[ "$(sqlite3 "$dir/x.db" "SELECT count(*) > 0 FROM context WHERE phase = 'sample'")" = 1 ]
}

@test "events of any kind are recorded by name, dynamic strings as text" {
	"$pagereel" capture -o "$dir/x.db" -e sched:sched_process_exec -e syscalls:sys_enter_openat -- sh -c 'true; ls / >/dev/null'
	[ "$(sqlite3 "$dir/x.db" "SELECT count(*) > 0 FROM sched_process_exec WHERE filename LIKE '%/ls'")" = 1 ]
}

@test "errors are one line with the remedy" {
	run "$pagereel" capture -o "$dir/x.db" -e vmscan:mm_no_such_event -- true
	[ "$status" = 2 ] && [ "${#lines[@]}" = 1 ] && [[ "$output" == *"--list"* ]]
	run "$pagereel" capture -o "$dir/x.db" -e recliam -- true
	[ "$status" = 2 ] && [[ "$output" == *"did you mean 'reclaim'"* ]]
	run "$pagereel" capture -o "$dir/no/x.db" -- true
	[ "$status" = 4 ] && [ "${#lines[@]}" = 1 ]
	[ ! -e "$dir/x.db" ]
	echo keep >"$dir/x.db"
	run "$pagereel" capture -o "$dir/x.db" -- true
	[ "$status" = 4 ] && [[ "$output" == *"exists already"* ]]
	run "$pagereel" capture -f -o "$dir/x.db" -- true
	[ "$status" = 4 ] && [[ "$output" == *"no pagereel database"* ]]
	[ "$(cat "$dir/x.db")" = keep ]
	run setpriv --reuid 65534 --clear-groups "$pagereel" capture -o /tmp/pagereel-nobody.db -- true
	[ "$status" = 4 ] && [ "${#lines[@]}" = 1 ] && [[ "$output" == *root* ]]
	run "$pagereel" capture -o "$dir/y.db" -p 4194000 -d 1s
	[ "$status" = 2 ] && [[ "$output" == *"no process"* ]]
	assert_nothing_left
}

@test "a command that cannot be run: 127 or 126, one line, and no database is left" {
	run -127 "$pagereel" capture -o "$dir/x.db" -- "$dir/no-such-command"
	[ "${#lines[@]}" = 1 ] && [[ "$output" == *"No such file"* ]]
	: >"$dir/not-executable"
	run "$pagereel" capture -o "$dir/x.db" -- "$dir/not-executable"
	[ "$status" = 126 ] && [ "${#lines[@]}" = 1 ] && [[ "$output" == *"Permission denied"* ]]
	[ ! -e "$dir/x.db" ]
	"$pagereel" capture -o "$dir/x.db" -- sh -c 'exit 127'	# its own status is not ours
	assert_nothing_left
}

@test "a capture that does not come about leaves no database and spares the one to be replaced" {
	run "$pagereel" capture -o "$dir/x.db" -p 4194000 -d 1s
	[ "$status" = 2 ] && [ ! -e "$dir/x.db" ]
	run "$pagereel" capture -o "$dir/x.db" --cgroup /no/such -d 1s
	[ "$status" = 2 ] && [ ! -e "$dir/x.db" ]
	echo keep >"$dir/x.db"
	run "$pagereel" capture --force -o "$dir/x.db" -p 4194000 -d 1s
	[ "$status" = 2 ] && [ "$(cat "$dir/x.db")" = keep ]
	assert_nothing_left
}

@test "sizes and times of 0 are refused, not taken for the default" {
	for option in -b --duration --memory --max-size; do
		run "$pagereel" capture -o "$dir/x.db" "$option" 0 -- true
		[ "$status" = 2 ] && [[ "$output" == *"more than 0"* ]]
	done
	[ ! -e "$dir/x.db" ]
}

@test "--force does not replace the file of a capture that runs" {
	mkfifo "$dir/fifo"
	"$pagereel" capture -o "$dir/x.db" -- sh -c "touch '$dir/begun'; read _ <'$dir/fifo'" &
	local first=$!
	until [ -e "$dir/begun" ]; do sleep 0.05; done
	run "$pagereel" capture --force -o "$dir/x.db" -- true
	echo >"$dir/fifo"
	wait "$first"
	[ "$status" = 4 ] && [[ "$output" == *"in use by process"* ]]
	[ "$(sqlite3 "$dir/x.db" 'SELECT count(*) FROM capture')" = 1 ]
	assert_nothing_left
}

@test "--memory: its cgroup goes though a grandchild of the command lives on" {
	"$pagereel" capture -o "$dir/x.db" --memory 16M -- sh -c "sleep 60 >/dev/null 2>&1 & echo \$! >'$dir/pid'"
	local pid
	pid=$(cat "$dir/pid")
	kill -0 "$pid"
	assert_nothing_left
	kill "$pid"
}

@test "doctor tells the host and cleans only what is ours and dead" {
	run "$pagereel" doctor
	[ "$status" = 0 ]
	[[ "$output" == *tracefs* && "$output" == *memcg* && "$output" == *disk* ]]
	export pagereel
	run unshare -m bash -c '
		mountpoint -q /sys/kernel/tracing || mount -t tracefs nodev /sys/kernel/tracing
		cd /sys/kernel/tracing/instances
		mkdir "pagereel.4194000.1.demand" "pagereel-not-ours.$$"
		"$pagereel" doctor --clean
		ls
		rmdir "pagereel-not-ours.$$"'
	echo "$output"
	[[ "$output" == *pagereel-not-ours* && "$output" != *pagereel.4194000* ]]
}
