#!/usr/bin/env bats
# readme.bats - the README's commands that need no root print exactly what the README says.

setup() {
	cd "$BATS_TEST_DIRNAME/../.."
	export PATH=$PWD:$PATH
	command -v sqlite3 >/dev/null || skip 'the sqlite3 shell is missing'
	ln -s "$PWD/tests" "$PWD/pagereel.so" "$BATS_TEST_TMPDIR"
	readme=$PWD/README.md
	cd "$BATS_TEST_TMPDIR"
}

# Runs each "$ command" of the block that holds @1, comparing what follows it.
block() {
	awk -v want="$1" '/^```/ { if (inside && index(text, want)) printf "%s", text; inside = !inside; text = ""; next }
		inside { text = text $0 "\n" }' "$readme" >block
	[ -s block ]
	: >got
	while IFS= read -r line; do
		case $line in
		'$ '*) echo "$line" >>got; eval "${line#\$ }" >>got 2>>got ;;
		esac
	done <block
	diff block got
}

@test "the README's import, synth and replay print what it shows" {
	block 'pagereel synth -o loop.db'
}

@test "the README's SQL gives what it shows" {
	pagereel import -o t.db tests/data/linux-6.18-zipfscan.dat
	block 'pagereel sql t.db'
}

@test "every command and path that the README names is there" {
	for word in $(grep -oE '\]\([a-z/.]+\)' "$readme" | tr -d '](' | tr -d ')'); do
		[ -e "${readme%/*}/$word" ] || { echo "$word"; return 1; }
	done
	for command in $(grep -oE '^[#$] pagereel [a-z]+' "$readme" | cut -d' ' -f3 | sort -u); do
		pagereel "$command" --help >/dev/null
	done
}
