// SPDX-License-Identifier: GPL-2.0-or-later
/* out_query.c - all rows of a query, with columns as the query names them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/out.h"

enum { NAME_BYTES = 96 };

/* How columns are called in a table. */
struct titles {
	const struct out_column *known;
	int nr_known;
	bool brief;		/* without the suffix that the unit makes superfluous */
};

struct named {
	char name[NAME_BYTES], title[NAME_BYTES];
};

static bool name_taken(const struct named *names, int nr, const char *name)
{
	for (int i = 0; i < nr; i++)
		if (!strcmp(names[i].name, name))
			return true;
	return false;
}

/* A JSON object has each key once: the second "pid" becomes "pid_2". */
static void name_set(struct named *names, int at, const char *name)
{
	snprintf(names[at].name, NAME_BYTES, "%s", name);
	for (int nr = 2; name_taken(names, at, names[at].name); nr++)
		snprintf(names[at].name, NAME_BYTES, "%.80s_%d", name, nr);
}

/* "cpu_ns" over "1.24 s" would be a wrong unit: a title leaves out what the cells show. */
static void title_set(struct named *named, enum out_unit unit)
{
	static const char *const endings[] = {
		[OUT_BYTES] = "_bytes", [OUT_NS] = "_ns", [OUT_PCT] = "_pct",
		[OUT_PAGES] = "_pages",
	};
	const char *ending = (size_t)unit < ARRAY_SIZE(endings) ? endings[unit] : NULL;
	const char *name = named->name;
	size_t bytes;

	if (unit == OUT_COUNT && !strncmp(name, "nr_", 3) && name[3])
		name += 3;
	bytes = strlen(name);
	if (ending && bytes > strlen(ending))
		bytes -= strlen(ending);
	snprintf(named->title, NAME_BYTES, "%.*s", (int)bytes, name);
}

static struct out_column column_make(struct named *named, const struct titles *titles)
{
	const struct out_column *known = titles->known;
	struct out_column column = { .name = named->name };

	for (int i = 0; i < titles->nr_known; i++) {
		if (strcmp(known[i].name, named->name))
			continue;
		column.title = known[i].title;
		column.unit = known[i].unit;
		column.json_raw = known[i].json_raw;
		column.not_in_table = known[i].not_in_table;
		return column;
	}
	column.unit = out_unit_guess(named->name);
	if (titles->brief) {
		title_set(named, column.unit);
		column.title = named->title;
	}
	return column;
}

static struct out_column *columns_make(const struct query *query, int nr, struct named *names,
				       const struct titles *titles)
{
	struct out_column *columns = calloc(nr + 1, sizeof(*columns));

	for (int i = 0; i < nr && columns; i++) {
		const char *name = query_column_name(query, i);

		name_set(names, i, name ? name : "");
		columns[i] = column_make(&names[i], titles);
	}
	return columns;
}

/* What is shown of a query: column i of the output is column from[i] of the query. */
struct shown {
	struct out_column *columns;
	struct value *values;
	int *from;
	int nr;
};

static int rows_out(struct out *out, struct query *query, const struct shown *shown,
		    uint64_t *nr_rows, struct err *err)
{
	int code;

	while ((code = query_step(query, err)) > 0) {
		for (int i = 0; i < shown->nr; i++)
			shown->values[i] = query_value(query, shown->from[i]);
		code = out_row(out, shown->values);
		if (code)
			return err_sys(err, code, "cannot write the output");
		++*nr_rows;
	}
	return code;
}

static int shown_init(struct shown *shown, enum out_format format, const struct query *query,
		      struct named *names, const struct titles *titles)
{
	int nr = query_columns(query);

	shown->columns = columns_make(query, nr, names, titles);
	shown->values = calloc(nr + 1, sizeof(*shown->values));
	shown->from = calloc(nr + 1, sizeof(*shown->from));
	if (!shown->columns || !shown->values || !shown->from)
		return -ENOMEM;
	for (int i = 0; i < nr; i++) {
		if (shown->columns[i].not_in_table && out_format_is_table(format))
			continue;
		shown->columns[shown->nr] = shown->columns[i];
		shown->from[shown->nr++] = i;
	}
	return 0;
}

static int query_out(FILE *stream, enum out_format format, struct query *query,
		     const struct titles *titles, uint64_t *nr_rows, struct err *err)
{
	struct named *names = calloc(query_columns(query) + 1, sizeof(*names));
	struct shown shown = { NULL };
	struct out *out = NULL;
	uint64_t rows = 0;
	int code = -ENOMEM, end;

	if (names)
		code = shown_init(&shown, format, query, names, titles);
	if (!code)
		out = out_begin(stream, format, shown.columns, shown.nr);
	if (!out) {
		code = -ENOMEM;
		goto out;
	}
	code = rows_out(out, query, &shown, &rows, err);
	if (code) {
		out_cancel(out);
		goto out;
	}
	end = out_end(out);
	if (end)
		code = err_sys(err, end, "cannot write the output");
out:
	if (nr_rows)
		*nr_rows = rows;
	free(shown.columns);
	free(shown.values);
	free(shown.from);
	free(names);
	return code;
}

int out_query(FILE *stream, enum out_format format, struct query *query, uint64_t *nr_rows,
	      struct err *err)
{
	return query_out(stream, format, query, &(struct titles){ .brief = false }, nr_rows, err);
}

int out_query_as(FILE *stream, enum out_format format, struct query *query,
		 const struct out_column *known, int nr_known, uint64_t *nr_rows, struct err *err)
{
	const struct titles titles = { .known = known, .nr_known = nr_known, .brief = true };

	return query_out(stream, format, query, &titles, nr_rows, err);
}
