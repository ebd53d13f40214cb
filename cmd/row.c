// SPDX-License-Identifier: GPL-2.0-or-later
/* row.c - the columns of a query's current row by name. */
#include <string.h>

#include "cmd/row.h"

struct value row_value(const struct query *query, const char *name)
{
	for (int i = 0; i < query_columns(query); i++)
		if (!strcmp(query_column_name(query, i), name))
			return query_value(query, i);
	return VALUE_NONE;
}

int64_t row_int(const struct query *query, const char *name)
{
	struct value value = row_value(query, name);

	return value.type == VALUE_REAL ? (int64_t)value.r : value.i;
}

bool row_is_null(const struct query *query, const char *name)
{
	return row_value(query, name).type == VALUE_NULL;
}

struct row_text row_text_as(const struct query *query, const char *name, enum out_unit unit)
{
	struct row_text row;

	out_value_text(row.text, sizeof(row.text), unit, row_value(query, name));
	return row;
}

struct row_text row_text(const struct query *query, const char *name)
{
	return row_text_as(query, name, out_unit_guess(name));
}
