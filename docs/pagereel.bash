# bash completion for pagereel. Commands and options come from the program's own --help, so that
# they are those of the version at hand. SPDX-License-Identifier: GPL-2.0-or-later

_pagereel_commands() { # PROGRAM
	"$1" --help 2>/dev/null | sed -n '/^Commands:/,$ s/^  \([a-z][a-z0-9-]*\) .*/\1/p'
}

_pagereel_options() { # PROGRAM COMMAND
	"$1" "$2" --help 2>/dev/null | sed -n '/^Options:/,$ {
		s/^ *\(-[A-Za-z0-9]\), .*/\1/p
	}'
	"$1" "$2" --help 2>/dev/null | sed -n '/^Options:/,$ s/^ *\(-[A-Za-z0-9], \)\{0,1\} *\(--[a-z][a-z0-9-]*\).*/\2/p'
}

# The values that --help lists: "--format=FORMAT  auto (by content), trace.dat, text or ids".
_pagereel_formats() { # PROGRAM COMMAND
	"$1" "$2" --help 2>/dev/null | sed -n '/^Options:/,$ {
		s/.*--format=[A-Z]* *//; t list
		d
		:list
		s/ ([^)]*)//g; s/,//g; s/ or / /g; p
	}'
}

# The first field of a CSV without its title: model names, view names.
_pagereel_names() { # PROGRAM ARG...
	"$@" --format csv 2>/dev/null | sed -n '2,$ s/^"\{0,1\}\([^",]*\).*/\1/p'
}

_pagereel_reply() { # WORD CANDIDATES
	mapfile -t COMPREPLY < <(compgen -W "$2" -- "$1")
}

_pagereel() {
	local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} before command last
	before=${COMP_WORDS[COMP_CWORD-1]}
	command=${COMP_WORDS[1]}
	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ]; then
		_pagereel_reply "$word" "$(_pagereel_commands "$program") --help --version"
		return
	fi
	# '=' is a word of its own: --format=c is '--format' '=' 'c'.
	if [ "$word" = = ]; then word=; before=${COMP_WORDS[COMP_CWORD-1]}
	elif [ "$before" = = ]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi
	case $command:$before in
	import:-f|import:--format|export:-f|export:--format)
		_pagereel_reply "$word" "$(_pagereel_formats "$program" "$command")"
		return ;;
	*:-f|*:--format)
		_pagereel_reply "$word" 'table csv json ndjson'
		return ;;
	replay:-m|replay:--models|replay:--model)
		# -m takes a list: complete what stands behind the last comma.
		last=${word##*,}
		_pagereel_reply "$last" "$(_pagereel_names "$program" models)"
		COMPREPLY=("${COMPREPLY[@]/#/${word%"$last"}}")
		return ;;
	esac
	case $command:$word in
	*:-*) _pagereel_reply "$word" "$(_pagereel_options "$program" "$command")" ;;
	models:*) _pagereel_reply "$word" "$(_pagereel_names "$program" models)" ;;
	analyze:*) [ "$COMP_CWORD" -gt 2 ] &&
		_pagereel_reply "$word" "$(_pagereel_names "$program" analyze --list)" ;;
	doctor:*) [ "$COMP_CWORD" -gt 2 ] &&
		_pagereel_reply "$word" "$(_pagereel_names "$program" doctor --list | sort -u)" ;;
	esac
}

complete -o bashdefault -o default -F _pagereel pagereel
