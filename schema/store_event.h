/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store_event.h - inside of event tables, for the files of schema/ only. */
#ifndef PAGEREEL_SCHEMA_STORE_EVENT_H
#define PAGEREEL_SCHEMA_STORE_EVENT_H

#include "schema/store.h"

/* An event whose table always exists; the list ends with system == NULL. */
struct event_known {
	const char *system, *event;
	const char *fields;	/* separated by one blank */
};
extern const struct event_known events_known[];

struct event_column {
	char *name;		/* in SQL */
	char *field;		/* in the kernel's format */
	enum value_type type;
};

enum { EVENT_COLUMNS_MAX = 256 };
enum { EVENT_BASE_COLUMNS = 4 };	/* capture_id, ts_ns, cpu, pid */

/* One SQL table of events, shared by all captures and handles of a store. */
struct event_sink {
	struct event_sink *next;
	int64_t id;
	char *name, *system, *event;
	struct event_column *columns;
	int nr_columns;
	bool packed;
};

/* A handle: the fields of one kernel's form of an event, for one capture. */
struct event_table {
	struct event_table *next;
	struct store *store;
	struct event_sink *sink;
	sqlite3_stmt *insert;
	int64_t capture_id;
	int nr_fields;
	int column[];		/* of field i, index into sink->columns */
};

/* store_event_sink.c: finds, or makes with its SQL table, the sink of @system:@event. */
int event_sink_get(struct store *store, const char *system, const char *event,
		   struct event_sink **sink, struct err *err);
/* Adds a column for @field (named so that it clashes with nothing). */
int event_sink_add_column(struct store *store, struct event_sink *sink,
			  const struct event_field *field, struct err *err);
void event_sink_free(struct event_sink *sink);
const char *event_type_name(enum value_type type);	/* "INTEGER", ... */

/* Runs "@format" with identifiers quoted by sqlite3_mprintf's %w. */
int store_exec_format(struct store *store, struct err *err, const char *format, ...);

#endif
