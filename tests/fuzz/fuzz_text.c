// SPDX-License-Identifier: GPL-2.0-or-later
/* fuzz_text.c - lines of ftrace text and their fields, from arbitrary bytes (libFuzzer). */
#include <stdlib.h>
#include <string.h>

#include "capture/import_read.h"
#include "capture/import_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* What comes out is within its bounds and terminated. */
static void check(const struct text_line *line, const char *text, size_t bytes)
{
	if (line->kind == TEXT_EVENT && (!line->name[0] || line->payload < text ||
					 line->payload > text + bytes || line->cpu < 0))
		abort();
	if (line->kind == TEXT_LOST && line->cpu < 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *text = malloc(bytes + 1);
	struct text_fields *fields = malloc(sizeof(*fields));
	struct text_line line;

	if (!text || !fields)
		goto out;
	memcpy(text, data, bytes);
	text[bytes] = '\0';
	import_text_known(text, bytes);
	import_id_known(text, bytes);
	import_oracle_known(data, bytes);
	text_line_parse(text, &line);
	check(&line, text, strlen(text));
	if (line.kind == TEXT_EVENT) {
		text_fields_parse(line.name, line.payload, fields);
		for (int i = 0; i < fields->nr; i++)
			if (fields->field[i].value.type == VALUE_TEXT &&
			    strlen(fields->field[i].value.text) !=
				    fields->field[i].value.text_bytes)
				abort();
	}
out:
	free(fields);
	free(text);
	return 0;
}
