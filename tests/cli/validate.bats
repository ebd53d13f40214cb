#!/usr/bin/env bats
# validate.bats - what the recorded kernel did, as `analyze validate` counts it: of the replayed memcg's file
# pages, in pages. tests/live/validate.bats compares it with the model.

setup() {
	cd "$BATS_TEST_DIRNAME/../.."
	command -v sqlite3 >/dev/null || skip "no sqlite3 shell (apt-get install sqlite3)"
	db=$BATS_TEST_TMPDIR/run.db
}

# Of the task 100.
recorded() { # COUNTER
	[ -e "$db" ] || ./pagereel import -o "$db" "$trace" >/dev/null 2>&1
	sqlite3 -batch "$db" -cmd '.load ./pagereel' -cmd '.param set :capture_id 1' \
		-cmd ".param set :pids '[100]'" -cmd '.param set :path /none' \
		".read analyze/validate_recorded.sql" | awk -F'|' -v c="$1" '$1 == c { print $2 }'
}

write_trace() {
	trace=$BATS_TEST_TMPDIR/trace.txt
	{ echo '# tracer: nop'; sed 's/^/            /'; } >"$trace"
}

scan() { # flags scanned activated
	echo "nid=0 nr_scanned=$2 nr_reclaimed=0 nr_dirty=0 nr_writeback=0 nr_congested=0 nr_immediate=0" \
		"nr_activate_anon=0 nr_activate_file=$3 nr_ref_keep=0 nr_unmap_fail=0 priority=10 flags=$1"
}

age() { # flags deactivated
	echo "nid=0 nr_taken=$2 nr_active=0 nr_deactivated=$2 nr_referenced=0 priority=10 flags=$1"
}

@test "the activation of a large folio counts its pages, whoever drained the batch" {
	write_trace <<-E
		task-100 [000] ..... 15.000001: mm_filemap_add_to_page_cache: dev 254:0 ino c pfn=0x90 ofs=0 order=4
		task-100 [000] ..... 15.000002: mm_filemap_add_to_page_cache: dev 254:0 ino c pfn=0xb0 ofs=65536 order=0
		else-200 [000] ..... 15.000003: mm_filemap_add_to_page_cache: dev 254:0 ino d pfn=0xc0 ofs=0 order=2
		else-200 [000] ..... 15.000004: mm_lru_activate: folio=0x1 pfn=0x90
		else-200 [000] ..... 15.000005: mm_lru_activate: folio=0x2 pfn=0xb0
		task-100 [000] ..... 15.000006: mm_lru_activate: folio=0x3 pfn=0xc0
		task-100 [000] ..... 15.000007: mm_filemap_delete_from_page_cache: dev 254:0 ino c pfn=0x90 ofs=0 order=4
		task-100 [000] ..... 15.000008: mm_lru_activate: folio=0x1 pfn=0x90
		task-100 [000] ..... 15.000010: mm_vmscan_memcg_reclaim_begin: order=0 gfp_flags=GFP_KERNEL
		task-100 [000] ..... 15.000011: mm_vmscan_lru_shrink_inactive: $(scan 'RECLAIM_WB_FILE|RECLAIM_WB_ASYNC' 32 3)
		task-100 [000] ..... 15.000012: mm_vmscan_memcg_reclaim_end: nr_reclaimed=29
	E
	[ "$(recorded activated)" = 20 ]	# 16 + 1 from batches, 3 by reclaim
}

@test "only reclaim of the memcg counts, not that for the machine nor that of other tasks" {
	write_trace <<-E
		task-100 [000] ..... 15.000010: mm_vmscan_memcg_reclaim_begin: order=0 gfp_flags=GFP_KERNEL
		task-100 [000] ..... 15.000011: mm_vmscan_lru_shrink_inactive: $(scan 'RECLAIM_WB_FILE|RECLAIM_WB_ASYNC' 32 0)
		else-200 [001] ..... 15.000012: mm_vmscan_lru_shrink_inactive: $(scan 'RECLAIM_WB_FILE|RECLAIM_WB_ASYNC' 500 0)
		task-100 [000] ..... 15.000013: mm_vmscan_lru_shrink_active: $(age 'RECLAIM_WB_FILE|RECLAIM_WB_ASYNC' 7)
		task-100 [000] ..... 15.000014: mm_vmscan_memcg_reclaim_end: nr_reclaimed=32
		task-100 [000] ..... 15.000020: mm_vmscan_direct_reclaim_begin: order=0 gfp_flags=GFP_KERNEL
		task-100 [000] ..... 15.000021: mm_vmscan_lru_shrink_inactive: $(scan 'RECLAIM_WB_FILE|RECLAIM_WB_ASYNC' 1000 0)
		task-100 [000] ..... 15.000022: mm_vmscan_lru_shrink_active: $(age 'RECLAIM_WB_FILE|RECLAIM_WB_ASYNC' 1000)
		task-100 [000] ..... 15.000023: mm_vmscan_direct_reclaim_end: nr_reclaimed=1000
	E
	[ "$(recorded scanned)" = 32 ]
	[ "$(recorded deactivated)" = 7 ]
}

@test "scans of anonymous pages do not count: the model is run without them" {
	write_trace <<-E
		task-100 [000] ..... 15.000010: mm_vmscan_memcg_reclaim_begin: order=0 gfp_flags=GFP_KERNEL
		task-100 [000] ..... 15.000011: mm_vmscan_lru_shrink_inactive: $(scan 'RECLAIM_WB_FILE|RECLAIM_WB_ASYNC' 32 0)
		task-100 [000] ..... 15.000012: mm_vmscan_lru_shrink_inactive: $(scan 'RECLAIM_WB_ANON|RECLAIM_WB_ASYNC' 64 9)
		task-100 [000] ..... 15.000013: mm_vmscan_lru_shrink_active: $(age 'RECLAIM_WB_ANON|RECLAIM_WB_ASYNC' 50)
		task-100 [000] ..... 15.000014: mm_vmscan_memcg_reclaim_end: nr_reclaimed=32
	E
	[ "$(recorded scanned)" = 32 ]
	[ "$(recorded deactivated)" = 0 ]
}

@test "without the begin and end of reclaim, neither scans nor evictions are known" {
	write_trace <<-E
		task-100 [000] ..... 15.000011: mm_vmscan_lru_shrink_inactive: $(scan 'RECLAIM_WB_FILE|RECLAIM_WB_ASYNC' 32 0)
	E
	[ "$(recorded scanned)" = "" ]
	[ "$(recorded evictions)" = "" ]
}

@test "an imported recording is validated at the size that --size gives" {
	./pagereel import -q -o "$db" tests/data/linux-6.12-classic.dat
	run ./pagereel analyze "$db" validate
	[ "$status" = 3 ]
	[[ $output = *"--size SIZE"* ]]
	run ./pagereel analyze "$db" validate --size 64M --format json
	[ "$status" = 0 ]
	jq -e 'map(select(.counter == "fills")) | .[0].memory_pages == 16384 and .[0].replayed > 0' <<< "$output"
	run ./pagereel analyze "$db" who --size 64M
	[ "$status" = 2 ]
}
