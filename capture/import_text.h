/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import_text.h - inside import_text*.c: a line of ftrace text and the fields of its event. */
#ifndef PAGEREEL_CAPTURE_IMPORT_TEXT_H
#define PAGEREEL_CAPTURE_IMPORT_TEXT_H

#include "base/base.h"
#include "schema/schema.h"

enum text_kind {
	TEXT_EVENT,
	TEXT_LOST,	/* "CPU:1 [LOST 23 EVENTS]": cpu and nr_lost are set */
	TEXT_COMMENT,	/* '#', headers, blank lines */
	TEXT_UNKNOWN,
};

struct text_line {
	enum text_kind kind;
	char comm[32];
	uint32_t pid, tgid;	/* tgid 0: no such column */
	int cpu;
	uint64_t ts_ns;		/* a clock without decimals: its ticks */
	char system[64];	/* "": not printed */
	char name[64];
	const char *payload;	/* behind "name: ", into the line */
	int64_t nr_lost;	/* -1: not said */
};

/* @line is NUL-terminated, without its newline. Any bytes are fine. */
void text_line_parse(const char *line, struct text_line *out);

/* ---- fields ---------------------------------------------------------------------------------- */

enum { TEXT_MAX_FIELDS = 48, TEXT_NAME_BYTES = 48 };

struct text_fields {
	int nr;
	bool is_whole;		/* every word of the payload is in a field */
	struct {
		char name[TEXT_NAME_BYTES]; /* the name in the event's format, not the printed one
					     */
		struct value value;
	} field[TEXT_MAX_FIELDS];
	size_t text_used;
	char text[4096];	/* what values point to */
};

/*
 * The payload of @name as fields. Known events are read by their printed form and get their field
 * names and numbers back; of others the "name=value" and "name: value" words are taken.
 */
void text_fields_parse(const char *name, const char *payload, struct text_fields *out);

/* The system of an event that is printed without it; "unknown" if it is in no catalogue. */
const char *text_system_find(const char *name);

#endif
