#!/bin/bash
# update.sh [--check] [DIR] - runs every command of the pages here ("$ pagereel ..." in a console block) and
# puts its output behind it. --check changes nothing and exits 1 if a page is not current. Databases that
# the commands write go to DIR (default: a temporary one).
set -u
cd "$(dirname "$0")/../.." || exit 1
check=
[ "${1:-}" = --check ] && { check=1; shift; }
pagereel=$PWD/pagereel
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
dir=${1:-$work}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
bad=0

# Runs one command line of a page: 'pagereel case NAME -o NAME.db' and the like, in $dir.
run() { (cd "$dir" && PATH=${pagereel%/*}:$PATH && eval "$1" 2>&1); }

page() { # FILE: the page with fresh output
	local line inside= first=
	while IFS= read -r line; do
		case $line in
		'```console') inside=1; first=1; echo "$line"; continue ;;
		'```') inside=; echo "$line"; continue ;;
		esac
		if [ -z "$inside" ]; then
			printf '%s\n' "$line"
		elif [ "${line#\$ }" != "$line" ]; then
			[ -z "$first" ] && echo
			first=
			printf '%s\n' "$line"
			run "${line#\$ }"
		fi
	done <"$1"
}

for file in docs/cases/*.md; do
	page "$file" >"$work/page"
	if [ -z "$check" ]; then
		cmp -s "$work/page" "$file" || { cp "$work/page" "$file"; echo "updated $file"; }
	elif ! diff -u "$file" "$work/page"; then
		echo "$file is not current (run make cases)"
		bad=1
	fi
done
exit $bad
