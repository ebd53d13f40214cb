/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store_event.h - inside of event tables, for the files of schema/ only. */
#ifndef PAGEREEL_SCHEMA_STORE_EVENT_H
#define PAGEREEL_SCHEMA_STORE_EVENT_H

#include "schema/event_codec.h"
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

enum { EVENT_BASE_COLUMNS = 4 };	/* capture_id, ts_ns, cpu, pid */

/* One SQL table of events, shared by all captures and handles of a store. */
struct event_sink {
	struct event_sink *next;
	int64_t id;
	char *name, *system, *event;
	struct event_column *columns;
	int nr_columns;
	bool packed;
	bool stale;		/* a rollback may have undone it */
	/* packed: rows not yet written, all of one capture */
	struct event_packer *packer;
	int64_t packer_capture_id;
	/* not packed: how fast do rows come? */
	uint64_t window_rows, window_first_ns, window_last_ns, nr_rows;
	bool stays_table;
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

/*
 * store_event_sink.c: finds the sink of @system:@event, or makes it with an SQL table of @fields.
 */
int event_sink_get(struct store *store, const char *system, const char *event,
		   const struct event_field *fields, int nr_fields, struct event_sink **sink,
		   struct err *err);
/* Adds a column for @field (named so that it clashes with nothing). */
int event_sink_add_column(struct store *store, struct event_sink *sink,
			  const struct event_field *field, struct err *err);
void event_sink_free(struct event_sink *sink);
/* Makes it what the database says it is, after a rollback. */
int event_sink_reload(struct store *store, struct event_sink *sink, struct err *err);

/* store_event_pack.c: counts a row that came at @ts_ns; true: too fast for rows, pack them. */
bool event_sink_too_fast(struct event_sink *sink, uint64_t ts_ns);
/* Moves the rows of an ordinary table to packed chunks and drops it, in the current transaction. */
int event_sink_pack(struct store *store, struct event_sink *sink, struct err *err);
int event_sink_add(struct store *store, struct event_sink *sink, int64_t capture_id, uint64_t ts_ns,
		   int cpu, struct value pid, const struct value *values, const int *column,
		   int nr_values, struct err *err);
int event_sink_flush(struct store *store, struct event_sink *sink, struct err *err);
const char *event_type_name(enum value_type type);	/* "INTEGER", ... */

/* Runs "@format" with identifiers quoted by sqlite3_mprintf's %w. */
int store_exec_format(struct store *store, struct err *err, const char *format, ...);

#endif
