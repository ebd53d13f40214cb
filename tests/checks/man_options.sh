#!/bin/bash
# man_options.sh - each command has its page, each option of its --help is in that page and the other
# way round, so that neither can be forgotten.
cd "$(dirname "$0")/../.." || exit 1
bad=0
complain() { echo "$*"; bad=1; }
long_options() {
	sed -n '/^Options:/,$ s/^ *\(-[A-Za-z0-9], \)\{0,1\} *\(--[a-z][a-z0-9-]*\).*/\2/p'
}

commands=$(./pagereel --help | sed -n '/^Commands:/,$ s/^  \([a-z][a-z0-9-]*\) .*/\1/p')
[ -n "$commands" ] || complain 'no commands in pagereel --help'
for command in $commands; do
	page=docs/man/pagereel-$command.1.scd
	grep -q "^\*$command\*" docs/man/pagereel.1.scd || complain "pagereel.1: no command '$command'"
	[ -e "$page" ] || { complain "no page for '$command' ($page)"; continue; }
	options=$(./pagereel "$command" --help | long_options)
	# --help is said to be in every command by pagereel(1).
	for option in ${options//--help/}; do
		grep -qE -- "(^|[^-a-z])\*$option\*" "$page" || complain "$page: no option $option"
	done
	documented=$(sed -n '/^# OPTIONS/,/^# [A-NP-Z]/p' "$page" |
		grep -o '^\(\*-[A-Za-z0-9]\*, \)\{0,1\}\*--[a-z][a-z0-9-]*' | grep -o -- '--.*')
	for option in $documented; do
		case " ${options//$'\n'/ } " in
		*" $option "*) ;;
		*) complain "$page: $option is no option" ;;
		esac
	done
done
exit $bad
