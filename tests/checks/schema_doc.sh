#!/bin/bash
# schema_doc.sh - docs/schema.md names every table and column of a new database, and no other.
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
./pagereel synth -o "$dir/run.db" 'loop:file=64K,accesses=10' >/dev/null 2>&1 || exit 1

# "table.column type" of the real schema; views have no types, and event tables none of interest here
real() {
	./pagereel sql "$dir/run.db" --format csv "
		SELECT t.name || '.' || c.name || iif(t.type = 'table' AND e.id IS NULL, ' ' || c.type, '')
		FROM sqlite_schema t JOIN pragma_table_xinfo(t.name) c
		LEFT JOIN event_table e ON e.name = t.name
		WHERE t.type IN ('table', 'view') AND t.name NOT LIKE 'sqlite\_%' ESCAPE '\'
			AND (e.id IS NULL OR c.cid > 3)
		UNION ALL SELECT 'page_event.' || name || ' ' || type
		FROM pragma_table_xinfo('page_event')
		UNION ALL SELECT 'page_life.' || name || ' ' || type
		FROM pragma_table_xinfo('page_life')" | tail -n +2 | tr -d '"' | sed 's/ $//'
}

# The same out of the document: '### name' and rows '| `column` | TYPE | ...', and the list of events
documented() {
	awk -F'|' '
		/^### Event tables/ { events = 1; next }
		/^## / { events = 0 }
		/^### / { events = 0; table = substr($0, 5); view = section == "Views"; next }
		/^\| `/ && events {
			name = $2; gsub(/[ `]/, "", name)
			n = split($3, field, /[ `]+/)
			for (i = 1; i <= n; i++) if (field[i] != "") print name "." field[i]
			next
		}
		/^\| `/ {
			column = $2; gsub(/[ `]/, "", column)
			type = $3; gsub(/ /, "", type)
			print table "." column (section == "Views" || type == "any" ? "" : " " type)
		}
		/^## / { section = substr($0, 4) }' docs/schema.md
}

real | sort >"$dir/real"
documented | sort >"$dir/documented"
[ -s "$dir/real" ] || { echo 'no schema to compare with'; exit 1; }
if ! diff "$dir/documented" "$dir/real" >"$dir/diff"; then
	echo "docs/schema.md differs from the schema ('<' only documented, '>' not documented):"
	cat "$dir/diff"
	exit 1
fi
echo "$(wc -l <"$dir/real") columns documented"
