#!/bin/bash
# clang.sh - clang builds everything without a warning, and what it built passes the unit tests.
cd "$(dirname "$0")/../.." || exit 1
command -v clang >/dev/null || { echo 'clang is missing'; exit 77; }
"${MAKE:-make}" -s -j"$(nproc)" BUILD=build-clang CC=clang OPT=-O1 WERROR=-Werror all unit || exit 1
for source in tests/unit/test_*.c; do
	program=build-clang/${source%.c}
	"$program" >build-clang/log 2>&1 || { cat build-clang/log; echo "$program failed"; exit 1; }
done
