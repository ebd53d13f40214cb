#!/bin/bash
# same_counters.sh [REVISION] - do the kernel models count the same as at REVISION (default: HEAD)?
# For changes that are to change no result: compares kernel_counters.c built with either. Exit 1 if
# a line differs.
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/old"
git archive "${1:-HEAD}" | tar x -C "$dir/old" || exit 1

build() { # TREE OUT
	gcc -std=gnu11 -D_GNU_SOURCE -O2 -fno-strict-aliasing -I"$1" tests/measure/kernel_counters.c \
		"$1"/replay/*.c "$1"/replay/models/*.c "$1"/replay/kernel/*.c "$1"/base/*.c \
		-o "$2" -lm -pthread
}

build "$dir/old" "$dir/a" && build . "$dir/b" || exit 1
"$dir/a" 3 >"$dir/a.txt"
"$dir/b" 3 >"$dir/b.txt"
if diff "$dir/a.txt" "$dir/b.txt" >"$dir/diff"; then
	echo "$(wc -l <"$dir/a.txt") replays, all the same"
else
	head -20 "$dir/diff"
	exit 1
fi
