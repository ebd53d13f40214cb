# guest.bats - one boot of Debian's 6.1 under emulation (tests/guest/hits.sh): a kernel without events of page
# cache hits, with kprobes, and with the classic lists. Skipped with the reason where no guest can be run.

root=$BATS_TEST_DIRNAME/../..
pagereel=$root/pagereel

setup_file() {
	local rc=0
	export GUEST_DIR=${GUEST_DIR:-$root/build/guest-hits}
	"$root/tests/guest/hits.sh" "$GUEST_DIR" >"$BATS_FILE_TMPDIR/said" 2>&1 || rc=$?
	export GUEST_RC=$rc GUEST_SAID
	GUEST_SAID=$(tail -5 "$BATS_FILE_TMPDIR/said")
}

setup() {
	[ "$GUEST_RC" != 77 ] || skip "$(tail -1 <<<"$GUEST_SAID")"
	[ "$GUEST_RC" = 0 ] || { echo "$GUEST_SAID"; return 1; }
	share=$GUEST_DIR/share
}

ask() { "$pagereel" sql "$share/$1" --format csv "$2" | tail -n +2; }

# "EVENTS PAGES" of an op for one of the guest's files.
pages_of() { # DB OP FILE
	ask "$1" "SELECT count(*) || ' ' || coalesce(sum(pages), 0) FROM page_event e JOIN file f
		ON f.id = e.file_id WHERE op = '$2' AND path = '/img/$3'"
}

@test "6.1 guest: every read shows with all its pages, cached or not, and only the first brings in" {
	# 3 x 100 reads of 64 KiB, 500 of 6000 bytes from 42000 on, each with the pages it touches
	straddling=$(awk 'BEGIN { for (i = 7; i < 507; i++)
		n += int((i * 6000 + 5999) / 4096) - int(i * 6000 / 4096) + 1; print n }')
	[ "$(pages_of hits.db read data)" = "800 $((3 * 100 * 16 + straddling))" ]
	# cat asks for more than there is of a file of 13000 bytes, and again at its end
	run pages_of hits.db read tail
	[ "${output#* }" = 4 ]
	# 1600 pages and readahead: nothing came in twice
	run pages_of hits.db add data
	[ "${output#* }" -ge 1600 ] && [ "${output#* }" -le 1664 ]
	grep -q 'hits      by 3 probes' "$share/hits.txt"
	"$pagereel" info "$share/hits.db" | grep -q 'hits .*recorded (.*a probe takes its place)'
	grep -q 'hits .*a probe takes its place' "$share/doctor.txt"
}

@test "6.1 guest: a replay of what probes recorded hits where the kernel did" {
	cp "$share/hits.db" "$BATS_TEST_TMPDIR/run.db"
	"$pagereel" replay "$BATS_TEST_TMPDIR/run.db" -q -m linux-6.1 -M 64M >/dev/null
	accesses=$(ask hits.db "SELECT sum(pages) FROM page_event WHERE op = 'read'")
	adds=$(ask hits.db "SELECT sum(pages) FROM page_event WHERE op = 'add'")
	run "$pagereel" sql "$BATS_TEST_TMPDIR/run.db" --format csv \
		'SELECT accesses, fills FROM result'
	[ "${lines[1]}" = "$accesses,$adds" ]
}

@test "6.1 guest: each first touch of a mapping is a fault" {
	distinct=$(ask mapped.db "SELECT count(DISTINCT page_index) FROM page_event WHERE op = 'add'")
	[ "$distinct" -gt 1000 ]
	[ "$(pages_of mapped.db fault data)" = "$distinct $distinct" ]
}

@test "6.1 guest: probes are gone after each capture, and cleaned up after a killed one" {
	[ "$(tr '\n' ' ' <"$share/left.txt")" = "0 0 " ]
	mapfile -t said <"$share/killed.txt"
	[ "${said[0]}" = 3 ]
	[[ ${said[1]} = *warn*"of killed captures"* ]]
	[[ ${said[2]} = "5 left-over instances, probes and cgroups removed" ]]
	[ "${said[3]} ${said[4]}" = "0 0" ]
}

@test "6.1 guest: without probes a capture is fills-only, and info, replay and compare say so" {
	cp "$share/fills.db" "$BATS_TEST_TMPDIR/run.db"
	grep -q 'hits      none (fills-only): .*--no-probes' "$share/fills.txt"
	"$pagereel" info "$BATS_TEST_TMPDIR/run.db" | grep -q "hits .*fills-only.*--no-probes was given"
	run "$pagereel" replay "$BATS_TEST_TMPDIR/run.db" -q -m lru,linux-6.1 -M 16M,64M
	[ "$status" = 0 ]
	[[ $output = *"fills-only"* ]]
	run "$pagereel" analyze "$BATS_TEST_TMPDIR/run.db" compare
	[[ $output = *"fills-only"* ]]
	run "$pagereel" analyze "$BATS_TEST_TMPDIR/run.db" summary
	[[ $output = *"fills-only"* ]]
	run "$pagereel" doctor "$BATS_TEST_TMPDIR/run.db"
	[[ $output = *"fills-only"* ]]
	[ "$("$pagereel" sql "$BATS_TEST_TMPDIR/run.db" --format csv \
		'SELECT completeness FROM demand_stream' | tail -1)" = fills-only ]
}

@test "6.1 guest: linux-6.1 foretells the fills at 14 and 20 MB from a record at 10 MB, and back" {
	for from in 10 20; do
		cp "$share/$from.db" "$BATS_TEST_TMPDIR/run.db"
		"$pagereel" replay "$BATS_TEST_TMPDIR/run.db" -q -m linux-6.1 -M 10M,14M,20M >/dev/null
		for mb in 10 14 20; do
			real=$(ask $mb.db "SELECT sum(pages) FROM page_event WHERE op = 'add' AND pid IN
				(SELECT pid FROM page_event WHERE op = 'read' GROUP BY pid ORDER BY count(*) DESC LIMIT 1)")
			foretold=$("$pagereel" sql "$BATS_TEST_TMPDIR/run.db" --format csv \
				"SELECT fills FROM result WHERE memory_pages = $mb * 256" | tail -1)
			echo "from $from MB at $mb MB: $foretold, really $real"
			awk -v a="$foretold" -v b="$real" 'BEGIN { d = a - b; exit !((d < 0 ? -d : d) <= 0.02 * b) }'
		done
	done
}
