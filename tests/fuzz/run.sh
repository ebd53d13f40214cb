#!/bin/bash
# run.sh - builds every fuzz target with libFuzzer, ASan and UBSan and runs all for SECONDS together,
# with seeds from tests/data. A crash fails, and its input is kept. Usage: tests/fuzz/run.sh [SECONDS]
cd "$(dirname "$0")/../.." || exit 1
seconds=${1:-60}
cc=${FUZZ_CC:-clang}
build=build-fuzz
san='-fsanitize=address,undefined -fno-sanitize-recover=undefined'

command -v "$cc" >/dev/null || { echo "no $cc: fuzzing needs clang with libFuzzer"; exit 77; }
probe=$(mktemp -d)
trap 'rm -rf "$probe"' EXIT
echo 'int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n) { return d && n ? 0 : 0; }' >"$probe/t.c"
"$cc" -fsanitize=fuzzer "$probe/t.c" -o "$probe/t" 2>/dev/null ||
	{ echo "$cc has no libFuzzer runtime (package libclang-rt-dev or llvm's compiler-rt)"; exit 77; }

"${MAKE:-make}" -s -j"$(nproc)" CC="$cc" BUILD=$build OPT='-O1 -g' SAN="-fsanitize=fuzzer-no-link $san" \
	$build/libpagereel.a || exit 1
pkgs='libtracefs libtraceevent libtracecmd sqlite3 libzstd'
targets=()
for source in tests/fuzz/fuzz_*.c; do
	name=$(basename "$source" .c)
	mkdir -p $build/fuzz
	# shellcheck disable=SC2046
	"$cc" -std=gnu11 -I. -D_GNU_SOURCE -O1 -g -fsanitize=fuzzer $san $(pkg-config --cflags $pkgs) \
		"$source" $build/libpagereel.a $(pkg-config --libs $pkgs) -lstreamvbyte -lm -pthread \
		-o "$build/fuzz/$name" || exit 1
	targets+=("$name")
done

# One file per seed, in the form each target wants.
seeds() { # TARGET DIR
	local n=0 f line
	case $1 in
	fuzz_text)
		for f in tests/data/*.txt; do
			while IFS= read -r line; do
				printf '%s' "$line" >"$2/$((n++))"
			done < <(awk '!seen[$4 $5]++' "$f" | head -30)
		done ;;
	fuzz_import)
		for f in tests/data/ftrace-*.txt; do { printf '\0'; cat "$f"; } >"$2/$((n++))"; done
		{ printf '\1'; head -c 240 /dev/zero; } >"$2/$((n++))"
		printf '\2%s\n' 10 20 word 10 >"$2/$((n++))"
		printf '\202%s\n' 10 20 18446744073709551615 >"$2/$((n++))" ;;
	fuzz_salvage)
		for f in tests/data/linux-*.dat; do
			head -c 9000 "$f" >"$2/$((n++))"
			head -c 5600 "$f" >"$2/$((n++))"
			head -c 18000 "$f" >"$2/$((n++))"
		done ;;
	fuzz_record)
		for n in $(seq 0 30); do
			{ printf "\\x$(printf %02x "$n")"; head -c 96 /dev/zero; } >"$2/$n"
		done ;;
	esac
}

share=$((seconds / ${#targets[@]}))
[ $share -gt 0 ] || share=1
failed=0
for name in "${targets[@]}"; do
	corpus=$build/fuzz/corpus-$name
	mkdir -p "$corpus" "$probe/$name"
	seeds "$name" "$probe/$name"
	if "$build/fuzz/$name" -max_total_time=$share -timeout=20 -rss_limit_mb=1024 -close_fd_mask=1 \
		-artifact_prefix="$build/fuzz/" "$corpus" "$probe/$name" >"$probe/log" 2>&1; then
		echo "$name: $(grep -Eo '^Done [0-9]+ runs in [0-9]+ second' "$probe/log")s, no crash"
	else
		tail -60 "$probe/log"
		echo "$name: FAILED (inputs in $build/fuzz/)"
		failed=1
	fi
done
exit $failed
