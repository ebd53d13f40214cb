#!/usr/bin/env bats
# sql.bats - statements on a database: formats, safety, errors, interruption.

setup_file() {
	cd "$BATS_TEST_DIRNAME/../.."
	export db=$BATS_FILE_TMPDIR/run.db
	./pagereel synth -o "$db" 'zipf:file=16M,theta=0.9,accesses=50K,seed=1' >/dev/null 2>&1
}

setup() {
	cd "$BATS_TEST_DIRNAME/../.."
	sql=(./pagereel sql)
}

@test "page_event is there without loading anything" {
	run "${sql[@]}" "$db" --format csv "SELECT op, count(*) AS nr, sum(pages) FROM page_event GROUP BY op"
	[ "$status" = 0 ]
	[ "${lines[0]}" = 'op,nr,sum(pages)' ]
	[ "${lines[1]}" = 'read,50000,50000' ]
}

@test "the sqlite3 shell with the extension gives the same rows" {
	command -v sqlite3 >/dev/null || skip 'no sqlite3 shell'
	q="SELECT ts_ns, op, file_id, page_index, pages FROM page_event"
	"${sql[@]}" "$db" --format csv "$q" | tail -n +2 > "$BATS_TEST_TMPDIR/ours"
	sqlite3 -separator , -cmd '.load ./pagereel' "$db" "$q" > "$BATS_TEST_TMPDIR/theirs"
	[ "$(wc -l < "$BATS_TEST_TMPDIR/ours")" = 50000 ]
	cmp "$BATS_TEST_TMPDIR/ours" "$BATS_TEST_TMPDIR/theirs"
}

@test "several statements, from arguments and from standard input" {
	run "${sql[@]}" "$db" --format ndjson "SELECT 1 AS a; SELECT 'x;y' AS b -- c;" "SELECT 3 AS c"
	[ "$status" = 0 ]
	[ "${lines[*]}" = '{"a":1} {"b":"x;y"} {"c":3}' ]
	run "${sql[@]}" "$db" --format csv <<< "SELECT 1 AS a; SELECT 2 AS b"
	[ "${lines[*]}" = 'a 1 b 2' ]
	run "${sql[@]}" "$db" < /dev/null
	[ "$status" = 0 ]
	[ -z "$output" ]
}

@test "an empty result is titles in a table, [] in JSON" {
	run "${sql[@]}" "$db" "SELECT 1 AS a WHERE 0"
	[ "$output" = a ]
	run "${sql[@]}" "$db" --format json "SELECT 1 AS a WHERE 0"
	[ "$output" = '[]' ]
}

@test "a column that comes twice has two keys in JSON" {
	run "${sql[@]}" "$db" --format ndjson "SELECT 1 AS a, 2 AS a, 3 AS a"
	[ "$output" = '{"a":1,"a_2":2,"a_3":3}' ]
}

@test "units follow from names, in tables only" {
	run "${sql[@]}" "$db" "SELECT 1240000000 AS cpu_ns, 65536 AS wal_bytes, 1234567 AS nr_events, 16384 AS memory_pages, 5 AS ts_ns"
	[[ ${lines[0]} =~ ^\ *cpu_ns\ +wal_bytes\ +nr_events\ +memory_pages\ +ts_ns$ ]]
	[[ ${lines[1]} =~ 1\.24\ s\ +64K\ +1,234,567\ +64M\ +5$ ]]
	run "${sql[@]}" "$db" --format csv "SELECT 1240000000 AS cpu_ns, 16384 AS memory_pages"
	[ "${lines[1]}" = 1240000000,16384 ]
}

@test "a statement that would change the database is refused, and --write allows it" {
	cp "$db" "$BATS_TEST_TMPDIR/copy.db"
	before=$(sha256sum < "$BATS_TEST_TMPDIR/copy.db")
	for statement in "DELETE FROM capture" "DROP TABLE capture" "PRAGMA journal_mode=DELETE" \
		"CREATE TABLE t(a)" "VACUUM INTO '$BATS_TEST_TMPDIR/other.db'"; do
		run "${sql[@]}" "$BATS_TEST_TMPDIR/copy.db" "$statement"
		[ "$status" = 2 ]
		[[ $output = *--write* ]]
	done
	[ "$before" = "$(sha256sum < "$BATS_TEST_TMPDIR/copy.db")" ]
	[ ! -e "$BATS_TEST_TMPDIR/other.db" ]
	run "${sql[@]}" --write "$BATS_TEST_TMPDIR/copy.db" "CREATE TABLE t(a); INSERT INTO t VALUES(7)"
	[ "$status" = 0 ]
	run "${sql[@]}" "$BATS_TEST_TMPDIR/copy.db" --format csv "SELECT a FROM t"
	[ "${lines[1]}" = 7 ]
}

@test "reading cannot create files: neither ATTACH nor extensions" {
	run "${sql[@]}" "$db" "ATTACH '$BATS_TEST_TMPDIR/new.db' AS n; CREATE TABLE n.t(a)"
	[ "$status" != 0 ]
	[ ! -e "$BATS_TEST_TMPDIR/new.db" ]
	run "${sql[@]}" "$db" "SELECT load_extension('x')"
	[ "$status" = 2 ]
	[[ $output = *"not authorized"* ]]
}

@test "SQLite's message for bad SQL, exit 2, no output before it" {
	run "${sql[@]}" "$db" --format json "SELEC 1"
	[ "$status" = 2 ]
	[ "${#lines[@]}" = 1 ]
	[[ $output = *'near "SELEC": syntax error'* ]]
}

@test "a misspelt table suggests the nearest" {
	run "${sql[@]}" "$db" "SELECT * FROM page_evnt"
	[ "$status" = 2 ]
	[[ $output = *"did you mean 'page_event'?"* ]]
	run "${sql[@]}" "$db" "SELECT * FROM captrue"
	[[ $output = *"did you mean 'capture'?"* ]]
}

@test "no database, not a database, no name: each its own exit status" {
	run "${sql[@]}" "$BATS_TEST_TMPDIR/none.db" "SELECT 1"
	[ "$status" = 4 ]
	[ ! -e "$BATS_TEST_TMPDIR/none.db" ]
	run "${sql[@]}" LICENSE "SELECT 1"
	[ "$status" = 3 ]
	run "${sql[@]}"
	[ "$status" = 2 ]
}

@test "Ctrl-C ends an endless query with 130" {
	run timeout --preserve-status -s INT 1 "${sql[@]}" "$db" \
		"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
	[ "$status" = 130 ]
	[[ $output = *interrupted* ]]
}

@test "a full disk under the output is an error" {
	run bash -c './pagereel sql "$1" "SELECT 1" > /dev/full' _ "$db"
	[ "$status" = 4 ]
	[[ $output = *"cannot write"* ]]
}

@test "a full disk under the output is the same error of every command" {
	for command in --help --version models 'info --help' 'analyze --list' "info $db" "analyze $db" \
		"export $db page_event" "sql $db --format json 'SELECT * FROM page_event'" \
		"replay $db -m lru -M 1M" "synth --force -o $BATS_TEST_TMPDIR/x.db seq"; do
		run bash -c "./pagereel $command > /dev/full"
		echo "$command: $status $output"
		[ "$status" = 4 ]
		[[ $output = *"cannot write the output: No space left on device"* ]]
	done
}

@test "a damaged chunk is bad input, not a wrong question" {
	cp "$db" "$BATS_TEST_TMPDIR/bad.db"
	"${sql[@]}" -w "$BATS_TEST_TMPDIR/bad.db" "UPDATE page_chunk SET data = zeroblob(length(data))"
	run "${sql[@]}" "$BATS_TEST_TMPDIR/bad.db" "SELECT sum(page_index) FROM page_event"
	[ "$status" = 3 ]
	[[ $output = *"page chunk has format 0"* ]]
}

@test "text from the database cannot drive the terminal" {
	run "${sql[@]}" "$db" "SELECT char(27) || '[2J' || char(7) AS path"
	[ "${lines[1]}" = '\x1b[2J\x07' ]
}

@test "at a terminal a statement may span lines and an error does not end the session" {
	command -v script >/dev/null || skip 'no script(1)'
	printf 'SELECT\n41 + 1;\nSELEC;\nSELECT 43;\n.quit\n' |
		script -qec "./pagereel sql --format csv $db" /dev/null > "$BATS_TEST_TMPDIR/out"
	grep -q '^42' "$BATS_TEST_TMPDIR/out"
	grep -q 'syntax error' "$BATS_TEST_TMPDIR/out"
	grep -q '^43' "$BATS_TEST_TMPDIR/out"
}


@test "the sqlite3 shell's .tables and .schema are answered, with the virtual tables; others are named" {
	run ./pagereel sql --format csv "$db" .tables
	[ "$status" = 0 ]
	for name in capture,table reclaim_episode,view page_event,virtual page_life,virtual; do
		grep -qx "$name" <<< "$output"
	done
	run ./pagereel sql "$db" '.schema gap'
	[ "$status" = 0 ]
	[[ $output = *"CREATE TABLE gap("*"CREATE INDEX gap_by_end"* ]]
	[[ $(./pagereel sql "$db" '.schema page_event') = *"page_event(capture_id INTEGER"* ]]
	run ./pagereel sql "$db" .mode
	[ "$status" = 2 ]
	[[ $output = *".tables"*"sqlite3 shell"* ]]
	printf '.tables gap\n.quit\n' | ./pagereel sql "$db" | grep -q '^gap '
}
