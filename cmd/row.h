/* SPDX-License-Identifier: GPL-2.0-or-later */
/* row.h - the columns of a query's current row by name, for sentences about it. */
#ifndef PAGEREEL_ROW_H
#define PAGEREEL_ROW_H

#include "cmd/out.h"

/* VALUE_NONE if there is no such column. Valid until the next step. */
struct value row_value(const struct query *query, const char *name);
int64_t row_int(const struct query *query, const char *name);	/* NULL reads as 0 */
bool row_is_null(const struct query *query, const char *name);

struct row_text {
	char text[128];
};

/* The column as a table shows it, its unit guessed from its name: "n/a" if NULL. */
struct row_text row_text(const struct query *query, const char *name);
/* The same with the unit given. */
struct row_text row_text_as(const struct query *query, const char *name, enum out_unit unit);

#endif
