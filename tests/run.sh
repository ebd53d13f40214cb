#!/bin/bash
# run.sh - builds and runs every test: unit tests (plain, then under ASan and UBSan), the command line
# (bats), the live kernel (bats, as root) and the checks of the tree. Ends with "N passed, N failed, N
# skipped". Usage: tests/run.sh [unit|asan|cli|live|checks|fuzz]...  (default: all)
cd "$(dirname "$0")/.." || exit 1
export LC_ALL=C
passed=0 failed=0 skipped=0
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT
parts=${*:-unit asan cli live checks fuzz}
jobs=$(nproc)

add() { passed=$((passed + $1)); failed=$((failed + $2)); skipped=$((skipped + $3)); }

unit() { # BUILDDIR
	local t name rc
	for t in "$1"/tests/unit/test_*; do
		[ -x "$t" ] && [ ! -d "$t" ] || continue
		case $t in *.d|*.o) continue ;; esac
		name=${t##*/}
		timeout 600 "$t" >"$log/$name" 2>&1
		rc=$?
		p=$(grep -c '^\[       OK ' "$log/$name")
		# cmocka lists failures and skips again in its closing summary
		f=$(grep '^\[  FAILED  \] [a-zA-Z0-9_]*$' "$log/$name" | sort -u | wc -l)
		s=$(grep '^\[  SKIPPED \] [a-zA-Z0-9_]*$' "$log/$name" | sort -u | wc -l)
		[ $rc != 0 ] && [ "$f" = 0 ] && f=1
		add "$p" "$f" "$s"
		echo "$1: $name: $p passed, $f failed, $s skipped"
		[ "$f" != 0 ] && grep -vE '^\[ RUN|^\[       OK' "$log/$name" | tail -60
	done
}

bats_dir() { # DIR
	local rc
	ls "$1"/*.bats >/dev/null 2>&1 || return 0
	bats --tap "$1" >"$log/bats" 2>&1
	rc=$?
	s=$(grep -cE '^ok .* # skip' "$log/bats")
	p=$(($(grep -c '^ok ' "$log/bats") - s))
	f=$(grep -c '^not ok ' "$log/bats")
	[ $rc != 0 ] && [ "$f" = 0 ] && f=1
	add "$p" "$f" "$s"
	echo "$1: $p passed, $f failed, $s skipped"
	grep -E '^ok .* # skip' "$log/bats"
	[ "$f" != 0 ] && grep -vE '^ok ' "$log/bats"
	return 0
}

check() { # NAME COMMAND...
	local name=$1 rc
	shift
	"$@" >"$log/check" 2>&1
	rc=$?
	if [ $rc = 0 ]; then add 1 0 0; echo "check $name: ok"
	elif [ $rc = 77 ]; then add 0 0 1; echo "check $name: skipped: $(tail -1 "$log/check")"
	else add 0 1 0; echo "check $name: FAILED"; cat "$log/check"; fi
}

build() { # TARGET...
	"${MAKE:-make}" -j"$jobs" ${CI:+WERROR=-Werror} "$@" >"$log/build" 2>&1 && return 0
	echo "build of $* failed:"; tail -60 "$log/build"; add 0 1 0
	return 1
}

if build all helpers; then
	for part in $parts; do
		case $part in
		unit) build unit && unit build ;;
		asan) build unit-asan && unit build-asan ;;
		cli) bats_dir tests/cli ;;
		live) bats_dir tests/live ;;
		checks)
			check layers tests/check-layers.sh
			for c in tests/checks/*.sh; do [ -e "$c" ] && check "$(basename "$c" .sh)" "$c"; done ;;
		fuzz) [ -x tests/fuzz/run.sh ] && check fuzz tests/fuzz/run.sh 10 ;;
		esac
	done
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
