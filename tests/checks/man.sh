#!/bin/bash
# man.sh - every page builds and mandoc finds nothing to warn of.
cd "$(dirname "$0")/../.." || exit 1
for tool in scdoc mandoc; do
	command -v $tool >/dev/null || { echo "no $tool here (apt install $tool)"; exit 77; }
done
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
"${MAKE:-make}" -s BUILD="$out" man || exit 1
bad=0
for page in "$out"/man/*.1; do
	mandoc -Tlint -W warning "$page" || bad=1
	# A page of ours that is referred to has to be there.
	for other in $(grep -o 'pagereel[-a-z]*\\fR(1)' "$page" | sed 's/\\fR(1)//' | sort -u); do
		[ -e "$out/man/$other.1" ] || { echo "${page##*/}: no page $other(1)"; bad=1; }
	done
done
[ $bad = 0 ] && echo "$(ls "$out"/man | wc -l) pages"
exit $bad
