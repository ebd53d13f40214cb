#!/bin/bash
# check-layers.sh - arrows go one way: cmd -> everything; capture, analyze -> schema; replay -> base only.
# Only capture/ includes trace headers, only schema/ SQLite's. Prints each breach; exit 1 if any.
cd "$(dirname "$0")/.." || exit 1
bad=0
breach() { # DIR REGEX WHY
	local hits
	hits=$(grep -rnE --include='*.[ch]' "#include *[<\"]($2)" $1 2>/dev/null) || return 0
	printf '%s\n%s\n' "$3:" "$hits"
	bad=1
}
breach 'base' '(cmd|capture|schema|replay|analyze)/' 'base includes nothing of ours'
breach 'replay' '(cmd|capture|schema|analyze)/' 'replay knows plain arrays only'
breach 'schema' '(cmd|capture|replay|analyze)/' 'schema depends on base only'
breach 'capture' '(cmd|replay|analyze)/' 'capture depends on schema and base only'
breach 'analyze' '(cmd|capture|replay)/' 'analyze depends on schema and base only'
breach 'base schema replay analyze cmd pagereel.c' '(tracefs|event-parse|traceevent|trace-cmd|kbuffer|tracefs/)' \
	'only capture reads trace libraries'
breach 'base capture replay analyze cmd pagereel.c' 'sqlite3' 'only schema knows SQLite'
for d in capture schema replay analyze base; do
	for f in "$d"/*.sql; do [ -e "$f" ] || continue; case $d in schema|analyze) ;; *) echo "SQL outside schema and analyze: $f"; bad=1 ;; esac; done
done
[ $bad = 0 ] && echo 'layers: ok'
exit $bad
