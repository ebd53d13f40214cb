// SPDX-License-Identifier: GPL-2.0-or-later
/* store_event.c - events into their tables. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/store_event.h"

/* ---- handles --------------------------------------------------------------------------------- */

/* The column of @field that no other field of this handle has, or -1. */
static int find_column(const struct event_table *table, const char *field)
{
	for (int column = 0; column < table->sink->nr_columns; column++) {
		bool used = false;

		if (strcmp(table->sink->columns[column].field, field))
			continue;
		for (int i = 0; i < table->nr_fields; i++)
			used |= table->column[i] == column;
		if (!used)
			return column;
	}
	return -1;
}

static int map_fields(struct event_table *table, const struct event_field *fields, int nr_fields,
		      struct err *err)
{
	int code = 0;

	for (int i = 0; !code && i < nr_fields; i++) {
		int column = find_column(table, fields[i].name);

		if (column < 0) {
			column = table->sink->nr_columns;
			code = event_sink_add_column(table->store, table->sink, &fields[i], err);
		}
		table->column[table->nr_fields++] = column;
	}
	return code;
}

/* INSERT INTO "name"(capture_id, ts_ns, cpu, pid, "a", ...) VALUES(?, ...) */
static char *insert_sql(const struct event_table *table)
{
	sqlite3_str *sql = sqlite3_str_new(NULL);

	sqlite3_str_appendf(sql, "INSERT INTO \"%w\"(capture_id, ts_ns, cpu, pid",
			    table->sink->name);
	for (int i = 0; i < table->nr_fields; i++)
		sqlite3_str_appendf(sql, ", \"%w\"",
				    table->sink->columns[table->column[i]].name);
	sqlite3_str_appendall(sql, ") VALUES(?, ?, ?, ?");
	for (int i = 0; i < table->nr_fields; i++)
		sqlite3_str_appendall(sql, ", ?");
	sqlite3_str_appendchar(sql, 1, ')');
	return sqlite3_str_finish(sql);
}

static int prepare_insert(struct event_table *table, struct err *err)
{
	char *sql = insert_sql(table);
	int rc;

	if (!sql)
		return -ENOMEM;
	rc = sqlite3_prepare_v3(table->store->db, sql, -1, SQLITE_PREPARE_PERSISTENT,
				&table->insert, NULL);
	sqlite3_free(sql);
	return rc ? store_fail(table->store, rc, err, "cannot write to") : 0;
}

static int record_type(struct store *store, int64_t capture_id, const struct event_sink *sink,
		       const char *format, struct err *err)
{
	const struct value values[] = {
		VALUE_OF_INT(capture_id),
		VALUE_OF_TEXT(sink->system),
		VALUE_OF_TEXT(sink->event),
		VALUE_OF_TEXT(sink->name),
		VALUE_OF_TEXT(sink->packed ? "packed" : "table"),
		VALUE_OF_TEXT(format),
	};

	return store_run_kept(store, "INSERT INTO event_type(capture_id, system, name, table_name,"
			      " stored_as, format) VALUES(?, ?, ?, ?, ?, ?)"
			      " ON CONFLICT DO UPDATE SET table_name = excluded.table_name,"
			      " stored_as = excluded.stored_as, reason = NULL,"
			      " format = coalesce(excluded.format, format)",
			      values, ARRAY_SIZE(values), err);
}

static void table_free(struct event_table *table)
{
	sqlite3_finalize(table->insert);
	free(table);
}

static int table_open(struct event_table *table, const char *system, const char *name,
		      const struct event_field *fields, int nr_fields, const char *format,
		      bool packed, struct err *err)
{
	int code;

	code = event_sink_get(table->store, system, name, fields, nr_fields, &table->sink, err);
	if (!code)
		code = map_fields(table, fields, nr_fields, err);
	if (!code && packed && !table->sink->packed)
		code = event_sink_pack(table->store, table->sink, err);
	if (!code)
		code = record_type(table->store, table->capture_id, table->sink, format, err);
	return code;
}

int store_event_table(struct store *store, int64_t capture_id, const char *system, const char *name,
		      const struct event_field *fields, int nr_fields, const char *format,
		      bool packed, struct event_table **out, struct err *err)
{
	const bool own_transaction = !store_in_transaction(store);
	struct event_table *table;
	int code;

	table = calloc(1, sizeof(*table) + sizeof(table->column[0]) * (size_t)nr_fields);
	if (!table)
		return -ENOMEM;
	table->store = store;
	table->capture_id = capture_id;
	code = store_begin(store, err);
	if (!code)
		code = table_open(table, system, name, fields, nr_fields, format, packed, err);
	if (!code && own_transaction)
		code = store_commit(store, err);
	if (code) {
		if (own_transaction)
			store_rollback(store, NULL);
		table_free(table);
		return code;
	}
	table->next = store->tables;
	store->tables = table;
	*out = table;
	return 0;
}

static int bind_event(sqlite3_stmt *stmt, int index, const struct value *value)
{
	switch (value->type) {
	case VALUE_INT:
		return sqlite3_bind_int64(stmt, index, value->i);
	case VALUE_TEXT:	/* not copied: the row is written before the caller goes on */
		return sqlite3_bind_text64(stmt, index, value->text, value->text_bytes,
					   SQLITE_STATIC, SQLITE_UTF8);
	default:
		return store_bind(stmt, index, *value);
	}
}

static int add_row(struct event_table *table, uint64_t ts_ns, int cpu, uint32_t pid,
		   const struct value *values, struct err *err)
{
	sqlite3_stmt *stmt = table->insert;
	int rc;

	sqlite3_bind_int64(stmt, 1, table->capture_id);
	sqlite3_bind_int64(stmt, 2, (int64_t)ts_ns);
	if (cpu >= 0)
		sqlite3_bind_int(stmt, 3, cpu);
	else
		sqlite3_bind_null(stmt, 3);
	sqlite3_bind_int64(stmt, 4, pid);
	for (int i = 0; i < table->nr_fields; i++) {
		rc = bind_event(stmt, EVENT_BASE_COLUMNS + 1 + i, &values[i]);
		if (rc)
			return store_fail(table->store, rc, err, "cannot write to");
	}
	return store_step_done(table->store, stmt, err, "cannot write to");
}

/* After a rollback: what this handle writes to is made again. */
static int revive(struct event_table *table, struct err *err)
{
	int code = event_sink_reload(table->store, table->sink, err);

	return code ? code : record_type(table->store, table->capture_id, table->sink, NULL, err);
}

int event_table_add(struct event_table *table, uint64_t ts_ns, int cpu, uint32_t pid,
		    const struct value *values, struct err *err)
{
	struct event_sink *sink = table->sink;
	int code = 0;

	if (!store_in_transaction(table->store))
		code = store_begin(table->store, err);
	if (!code && sink->stale)
		code = revive(table, err);
	if (!code && !sink->packed && event_sink_too_fast(sink, ts_ns))
		code = event_sink_pack(table->store, sink, err);
	if (!code && sink->packed)
		return event_sink_add(table->store, sink, table->capture_id, ts_ns, cpu,
				      VALUE_OF_INT(pid), values, table->column, table->nr_fields,
				      err);
	if (!code && !table->insert)
		code = prepare_insert(table, err);
	return code ? code : add_row(table, ts_ns, cpu, pid, values, err);
}

int store_events_flush(struct store *store, struct err *err)
{
	int code = 0;

	for (struct event_sink *sink = store->sinks; !code && sink; sink = sink->next) {
		if (!sink->packer || !event_packer_rows(sink->packer))
			continue;
		if (!store_in_transaction(store))
			code = store_begin(store, err);
		if (!code)
			code = event_sink_flush(store, sink, err);
	}
	return code;
}

void store_events_forget(struct store *store)
{
	for (struct event_sink *sink = store->sinks; sink; sink = sink->next) {
		if (sink->packer)
			event_packer_clear(sink->packer);
		sink->stale = true;
	}
}

void store_events_free(struct store *store)
{
	for (struct event_table *table = store->tables, *next; table; table = next) {
		next = table->next;
		table_free(table);
	}
	for (struct event_sink *sink = store->sinks, *next; sink; sink = next) {
		next = sink->next;
		event_sink_free(sink);
	}
	store->tables = NULL;
	store->sinks = NULL;
}

/* ---- tables that views rely on --------------------------------------------------------------- */

static int create_known(struct store *store, const struct event_known *known, struct err *err)
{
	struct event_field fields[EVENT_FIELDS_MAX];
	char *names = strdup(known->fields), *save = NULL;
	struct event_sink *sink;
	int nr = 0, code;

	if (!names)
		return -ENOMEM;
	for (char *name = strtok_r(names, " ", &save); name && nr < EVENT_FIELDS_MAX;
	     name = strtok_r(NULL, " ", &save))
		fields[nr++] = (struct event_field){ .name = name, .type = VALUE_INT };
	code = event_sink_get(store, known->system, known->event, fields, nr, &sink, err);
	free(names);
	return code;
}

int store_events_create(struct store *store, struct err *err)
{
	int code = 0;

	for (const struct event_known *known = events_known; !code && known->system; known++)
		code = create_known(store, known, err);
	return code;
}

/* ---- notes ----------------------------------------------------------------------------------- */

int store_event_missing(struct store *store, int64_t capture_id, const char *system,
			const char *name, const char *reason, struct err *err)
{
	const struct value values[] = {
		VALUE_OF_INT(capture_id),
		VALUE_OF_TEXT(system),
		VALUE_OF_TEXT(name),
		VALUE_OF_TEXT(reason),
	};

	return store_run_kept(store, "INSERT INTO event_type(capture_id, system, name, stored_as,"
			      " reason) VALUES(?, ?, ?, 'missing', ?)"
			      " ON CONFLICT DO UPDATE SET reason = excluded.reason",
			      values, ARRAY_SIZE(values), err);
}

int store_event_count(struct store *store, int64_t capture_id, const char *system,
		      const char *name, uint64_t nr_events, const char *stored_as, struct err *err)
{
	const struct value values[] = {
		VALUE_OF_INT(capture_id),
		VALUE_OF_TEXT(system),
		VALUE_OF_TEXT(name),
		nr_events == UINT64_MAX ? VALUE_NONE : VALUE_OF_INT((int64_t)nr_events),
		VALUE_OF_TEXT(stored_as),
	};

	return store_run_kept(store, "INSERT INTO event_type(capture_id, system, name, nr_events,"
			      " stored_as) VALUES(?1, ?2, ?3, ?4, coalesce(?5, 'table'))"
			      " ON CONFLICT DO UPDATE SET nr_events = excluded.nr_events,"
			      " stored_as = iif(table_name IS NULL, excluded.stored_as, stored_as)",
			      values, ARRAY_SIZE(values), err);
}
