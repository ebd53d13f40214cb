#!/usr/bin/env bats
# completion.bats - docs/pagereel.bash in a real bash, against the program's own --help.

setup() {
	cd "$BATS_TEST_DIRNAME/../.."
	PATH=$PWD:$PATH
	source docs/pagereel.bash
}

complete_words() { # WORD...: the last one is being completed
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	_pagereel
	printf '%s\n' "${COMPREPLY[@]}"
}

@test "the first word completes to every command of --help" {
	run complete_words pagereel ''
	for command in $(pagereel --help | sed -n '/^Commands:/,$ s/^  \([a-z]*\) .*/\1/p'); do
		[[ " ${lines[*]} " = *" $command "* ]]
	done
	run complete_words pagereel mod
	[ "$output" = models ]
}

@test "an option completes to every option of the command" {
	run complete_words pagereel models --
	[[ " ${lines[*]} " = *" --format "* ]]
	[[ " ${lines[*]} " = *" --help "* ]]
	run complete_words pagereel models --fo
	[ "$output" = --format ]
}

@test "a format completes behind --format, --format= and -f" {
	run complete_words pagereel models --format nd
	[ "$output" = ndjson ]
	run complete_words pagereel models --format = c
	[ "$output" = csv ]
	run complete_words pagereel models --format =
	[ "${#lines[@]}" = 4 ]
	run complete_words pagereel sql -f t
	[ "$output" = table ]
}

@test "import and export complete to the formats that their --help has" {
	run complete_words pagereel import --format ''
	[ "$output" = $'auto\ntrace.dat\ntext\noracleGeneral\nids' ]
	run complete_words pagereel export --format =
	[ "$output" = $'csv\nndjson\njson' ]
}

@test "a word that matches nothing leaves the file names to bash" {
	run complete_words pagereel info ru
	[ "$output" = "" ]
	run complete_words pagereel models --zzz
	[ "$output" = "" ]
}

@test "it is installed for the name pagereel" {
	run complete -p pagereel
	[[ $output = *_pagereel* ]]
	[[ $output = *default* ]]
}

@test "models complete behind -m and behind a comma of its list" {
	run complete_words pagereel replay run.db -m ar
	[[ " ${lines[*]} " = *" arc "* ]]
	run complete_words pagereel replay run.db -m lru,op
	[ "$output" = lru,opt ]
}

@test "analyses complete behind the database" {
	run complete_words pagereel analyze run.db comp
	[ "$output" = compare ]
	run complete_words pagereel analyze run.db ''
	[[ " ${lines[*]} " = *" summary "* ]]
	[[ " ${lines[*]} " = *" mrc "* ]]
}

@test "every command's options complete" {
	for command in $(pagereel --help | sed -n '/^Commands:/,$ s/^  \([a-z]*\) .*/\1/p'); do
		run complete_words pagereel "$command" --he
		[ "$output" = --help ]
	done
}
