#!/bin/bash
# run.sh [NAME]... - the benchmarks, one after the other, each beside its reference in the same run.
# Figures on a shared machine are noisy: read the ratios.
cd "$(dirname "$0")/../.." || exit 1
names=${*:-$(cd tests/bench && ls bench_*.c bench_*.sh | sed 's/\.[a-z]*$//' | sort -u)}
status=0
for name in $names; do
	printf '\n== %s\n' "$name"
	if [ -e "tests/bench/$name.c" ]; then
		make -s "build/tests/bench/$name" && "build/tests/bench/$name" || status=1
	else
		bash "tests/bench/$name.sh" || { [ $? = 77 ] || status=1; }
	fi
done
exit $status
