// SPDX-License-Identifier: GPL-2.0-or-later
/* out.c - rows as a table, CSV, JSON or NDJSON. */
#include <errno.h>
#include <string.h>

#include "cmd/out.h"

int out_format_parse(const char *text, enum out_format *format, struct err *err)
{
	static const char *const names[] = { "table", "csv", "json", "ndjson" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(names[i], text)) {
			*format = (enum out_format)(OUT_TABLE + i);
			return 0;
		}
	}
	return err_set(err, -EINVAL, "'%s' is no format (table, csv, json or ndjson)", text);
}
