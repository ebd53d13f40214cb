// SPDX-License-Identifier: GPL-2.0-or-later
/* out_query.c - all rows of a query, with columns as the query names them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/out.h"

enum { NAME_BYTES = 96 };

struct named {
	char name[NAME_BYTES];
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

static struct out_column *columns_make(const struct query *query, int nr, struct named *names)
{
	struct out_column *columns = calloc(nr, sizeof(*columns));

	for (int i = 0; i < nr && columns; i++) {
		const char *name = query_column_name(query, i);

		name_set(names, i, name ? name : "");
		columns[i] = (struct out_column){ .name = names[i].name,
						  .unit = out_unit_guess(names[i].name) };
	}
	return columns;
}

static int rows_out(struct out *out, struct query *query, int nr, struct value *values,
		    uint64_t *nr_rows, struct err *err)
{
	int code;

	while ((code = query_step(query, err)) > 0) {
		for (int i = 0; i < nr; i++)
			values[i] = query_value(query, i);
		code = out_row(out, values);
		if (code)
			return err_sys(err, code, "cannot write the output");
		++*nr_rows;
	}
	return code;
}

int out_query(FILE *stream, enum out_format format, struct query *query, uint64_t *nr_rows,
	      struct err *err)
{
	int nr = query_columns(query), code = -ENOMEM, end;
	struct named *names = calloc(nr + 1, sizeof(*names));
	struct value *values = calloc(nr + 1, sizeof(*values));
	struct out_column *columns = NULL;
	struct out *out = NULL;
	uint64_t rows = 0;

	if (names && values)
		columns = columns_make(query, nr, names);
	if (columns)
		out = out_begin(stream, format, columns, nr);
	if (!out)
		goto out;
	code = rows_out(out, query, nr, values, &rows, err);
	end = out_end(out);
	if (!code && end)
		code = err_sys(err, end, "cannot write the output");
out:
	if (nr_rows)
		*nr_rows = rows;
	free(columns);
	free(values);
	free(names);
	return code;
}
