// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * store_event_sink.c - the SQL tables of events: their names, their columns, and how they grow.
 *
 * A table is named after its event and a column after its field, so that what the kernel's
 * documentation says applies. Two things bend that rule: a name that is taken (by another system's
 * event, a table or view of ours, a virtual table) becomes system_name, and a field called like one
 * of the columns that every event table begins with gets the suffix _field. event_table and
 * event_column keep the original names. When another kernel's form of an event has more fields,
 * columns are added.
 */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "schema/store_event.h"

static const char *const base_columns[] = { "capture_id", "ts_ns", "cpu", "pid" };
static_assert(ARRAY_SIZE(base_columns) == EVENT_BASE_COLUMNS, "every base column has a name");

static const char *const type_names[] = {
	[VALUE_NULL] = "INTEGER",
	[VALUE_INT] = "INTEGER",
	[VALUE_REAL] = "REAL",
	[VALUE_TEXT] = "TEXT",
	[VALUE_BLOB] = "BLOB",
};

const char *event_type_name(enum value_type type)
{
	return (unsigned int)type < ARRAY_SIZE(type_names) ? type_names[type] : "INTEGER";
}

static enum value_type type_of_name(const char *name)
{
	for (int type = VALUE_INT; type <= VALUE_BLOB; type++)
		if (name && !strcmp(type_names[type], name))
			return type;
	return VALUE_INT;
}

int store_exec_format(struct store *store, struct err *err, const char *format, ...)
{
	va_list ap;
	char *sql;
	int code;

	va_start(ap, format);
	sql = sqlite3_vmprintf(format, ap);
	va_end(ap);
	if (!sql)
		return -ENOMEM;
	code = store_exec(store, sql, err);
	sqlite3_free(sql);
	return code;
}

void event_sink_free(struct event_sink *sink)
{
	if (!sink)
		return;
	for (int i = 0; i < sink->nr_columns; i++) {
		free(sink->columns[i].name);
		free(sink->columns[i].field);
	}
	free(sink->columns);
	event_packer_free(sink->packer);
	free(sink->name);
	free(sink->system);
	free(sink->event);
	free(sink);
}

/* ---- columns --------------------------------------------------------------------------------- */

static bool column_taken(const struct event_sink *sink, const char *name)
{
	for (int i = 0; i < EVENT_BASE_COLUMNS; i++)
		if (!strcasecmp(base_columns[i], name))
			return true;
	for (int i = 0; i < sink->nr_columns; i++)
		if (!strcasecmp(sink->columns[i].name, name))
			return true;
	return false;
}

/* @field, @field_field, @field_field2, ...: the first that is free. malloc, NULL without memory. */
static char *column_name(const struct event_sink *sink, const char *field)
{
	char *name = NULL;

	if (asprintf(&name, "%s", *field ? field : "field") < 0)
		return NULL;
	for (int i = 1; column_taken(sink, name); i++) {
		free(name);
		if ((i == 1 ? asprintf(&name, "%s_field", field) :
			      asprintf(&name, "%s_field%d", field, i)) < 0)
			return NULL;
	}
	return name;
}

/* Takes @name; copies @field. */
static int append_column(struct event_sink *sink, char *name, const char *field,
			 enum value_type type)
{
	struct event_column *columns;
	char *copy = strdup(field);

	columns = realloc(sink->columns, sizeof(*columns) * (size_t)(sink->nr_columns + 1));
	if (columns)
		sink->columns = columns;
	if (!columns || !copy || !name) {
		free(copy);
		free(name);
		return -ENOMEM;
	}
	columns[sink->nr_columns++] = (struct event_column){ name, copy, type };
	return 0;
}

static int record_column(struct store *store, struct event_sink *sink, int position,
			 struct err *err)
{
	const struct event_column *column = &sink->columns[position];
	const struct value values[] = {
		VALUE_OF_INT(sink->id),
		VALUE_OF_INT(position),
		VALUE_OF_TEXT(column->name),
		VALUE_OF_TEXT(column->field),
		VALUE_OF_TEXT(event_type_name(column->type)),
	};

	return store_run_kept(store,
			      "INSERT INTO event_column(table_id, position, name, field, type)"
			      " VALUES(?, ?, ?, ?, ?)",
			      values, ARRAY_SIZE(values), err);
}

int event_sink_add_column(struct store *store, struct event_sink *sink,
			  const struct event_field *field, struct err *err)
{
	const int position = sink->nr_columns;
	int code;

	if (position >= EVENT_FIELDS_MAX)
		return err_set(err, -E2BIG, "event '%s' has more than %d fields", sink->name,
			       EVENT_FIELDS_MAX);
	code = append_column(sink, column_name(sink, field->name), field->name, field->type);
	if (code)
		return code;
	code = record_column(store, sink, position, err);
	if (code)
		return code;
	if (sink->packed)
		return store_errno(store, vtab_event_register_table(store->db, sink->name,
								    sink->id));
	return store_exec_format(store, err, "ALTER TABLE \"%w\" ADD COLUMN \"%w\" %s",
				 sink->name, sink->columns[position].name,
				 event_type_name(field->type));
}

/* ---- tables ---------------------------------------------------------------------------------- */

static int name_taken(struct store *store, const char *name, bool *taken, struct err *err)
{
	const struct value values[] = { VALUE_OF_TEXT(name) };
	int64_t one;

	*taken = true;
	if (!strncasecmp(name, "sqlite_", 7))
		return 0;
	return store_get_int(store, "SELECT 1 FROM sqlite_schema WHERE name = ?1 COLLATE NOCASE"
			     " UNION ALL SELECT 1 FROM event_table WHERE name = ?1"
			     " UNION ALL SELECT 1 FROM pragma_module_list"
			     "  WHERE name = ?1 COLLATE NOCASE",
			     values, 1, &one, taken, err);
}

/* event, system_event, system_event_2, ...: the first that is free. */
static int free_name(struct store *store, const char *system, const char *event, char **out,
		     struct err *err)
{
	bool taken = true;
	int code = 0;

	*out = NULL;
	for (int i = 0; !code && taken; i++) {
		free(*out);
		*out = NULL;
		if ((i == 0 ? asprintf(out, "%s", *event ? event : "event") :
		     i == 1 ? asprintf(out, "%s_%s", system, event) :
			      asprintf(out, "%s_%s_%d", system, event, i)) < 0) {
			*out = NULL;
			return -ENOMEM;
		}
		code = name_taken(store, *out, &taken, err);
	}
	return code;
}

/* Each column that came later would be an ALTER TABLE, which reads the whole schema again. */
static char *create_sql(const struct event_sink *sink)
{
	sqlite3_str *sql = sqlite3_str_new(NULL);

	sqlite3_str_appendf(sql, "CREATE TABLE \"%w\"(capture_id INTEGER NOT NULL,"
			    " ts_ns INTEGER NOT NULL, cpu INTEGER, pid INTEGER", sink->name);
	for (int i = 0; i < sink->nr_columns; i++)
		sqlite3_str_appendf(sql, ", \"%w\" %s", sink->columns[i].name,
				    event_type_name(sink->columns[i].type));
	sqlite3_str_appendchar(sql, 1, ')');
	return sqlite3_str_finish(sql);
}

/* With the columns that @sink has now. */
static int make_table(struct store *store, struct event_sink *sink, struct err *err)
{
	const struct value values[] = {
		VALUE_OF_TEXT(sink->name),
		VALUE_OF_TEXT(sink->system),
		VALUE_OF_TEXT(sink->event),
	};
	char *sql;
	int code;

	code = store_run_kept(store, "INSERT INTO event_table(name, system, event) VALUES(?, ?, ?)",
			      values, ARRAY_SIZE(values), err);
	if (code)
		return code;
	sink->packed = false;
	sink->id = sqlite3_last_insert_rowid(store->db);
	for (int i = 0; !code && i < sink->nr_columns; i++)
		code = record_column(store, sink, i, err);
	sql = create_sql(sink);
	if (!code)
		code = sql ? store_exec(store, sql, err) : -ENOMEM;
	sqlite3_free(sql);
	return code;
}

static int columns_take(struct event_sink *sink, const struct event_field *fields, int nr_fields,
			struct err *err)
{
	int code = 0;

	if (nr_fields > EVENT_FIELDS_MAX)
		return err_set(err, -E2BIG, "event '%s' has more than %d fields", sink->event,
			       EVENT_FIELDS_MAX);
	for (int i = 0; !code && i < nr_fields; i++)
		code = append_column(sink, column_name(sink, fields[i].name), fields[i].name,
				     fields[i].type);
	return code;
}

static int load_columns(struct store *store, struct event_sink *sink, struct err *err)
{
	struct query *query;
	int code;

	code = query_open(store, &query, "SELECT name, field, type FROM event_column"
			  " WHERE table_id = ? ORDER BY position", err);
	if (code)
		return code;
	query_bind(query, 1, VALUE_OF_INT(sink->id));
	while ((code = query_step(query, err)) == 1) {
		const char *name = query_text(query, 0), *field = query_text(query, 1);

		code = append_column(sink, strdup(name ? name : ""), field ? field : "",
				     type_of_name(query_text(query, 2)));
		if (code)
			break;
	}
	query_close(query);
	return code;
}

/* 1: it is in the database and loaded; 0: it is not. */
static int load_table(struct store *store, struct event_sink *sink, struct err *err)
{
	struct query *query;
	int code;

	code = query_open(store, &query, "SELECT id, name, packed FROM event_table"
			  " WHERE system = ? AND event = ?", err);
	if (code)
		return code;
	query_bind(query, 1, VALUE_OF_TEXT(sink->system));
	query_bind(query, 2, VALUE_OF_TEXT(sink->event));
	code = query_step(query, err);
	if (code == 1) {
		sink->id = query_int(query, 0);
		free(sink->name);
		sink->name = strdup(query_text(query, 1));
		sink->packed = query_int(query, 2);
		if (!sink->name)
			code = -ENOMEM;
	}
	query_close(query);
	if (code != 1)
		return code;
	code = load_columns(store, sink, err);
	return code ? code : 1;
}

static struct event_sink *sink_new(const char *system, const char *event)
{
	struct event_sink *sink = calloc(1, sizeof(*sink));

	if (!sink)
		return NULL;
	sink->system = strdup(system);
	sink->event = strdup(event);
	if (sink->system && sink->event)
		return sink;
	event_sink_free(sink);
	return NULL;
}

int event_sink_reload(struct store *store, struct event_sink *sink, struct err *err)
{
	struct event_column *columns = sink->columns;
	const int nr_columns = sink->nr_columns;
	int code;

	if (sink->packer)
		event_packer_clear(sink->packer);
	sink->window_rows = 0;
	sink->columns = NULL;
	sink->nr_columns = 0;
	code = load_table(store, sink, err);
	if (!code)
		code = make_table(store, sink, err);
	/* columns that were rolled back are made again: handles refer to them by position */
	for (int i = 0; i < nr_columns; i++) {
		if (code >= 0 && i >= sink->nr_columns) {
			const struct event_field field = { columns[i].field, columns[i].type };

			code = event_sink_add_column(store, sink, &field, err);
		}
		free(columns[i].name);
		free(columns[i].field);
	}
	free(columns);
	sink->stale = false;
	return code < 0 ? code : 0;
}

int event_sink_get(struct store *store, const char *system, const char *event,
		   const struct event_field *fields, int nr_fields, struct event_sink **out,
		   struct err *err)
{
	struct event_sink *sink;
	int code;

	for (sink = store->sinks; sink; sink = sink->next) {
		if (!strcmp(sink->event, event) && !strcmp(sink->system, system)) {
			*out = sink;
			return sink->stale ? event_sink_reload(store, sink, err) : 0;
		}
	}
	sink = sink_new(system, event);
	if (!sink)
		return -ENOMEM;
	code = load_table(store, sink, err);
	if (!code) {
		code = free_name(store, system, event, &sink->name, err);
		if (!code)
			code = columns_take(sink, fields, nr_fields, err);
		if (!code)
			code = make_table(store, sink, err);
	}
	if (code < 0) {
		event_sink_free(sink);
		return code;
	}
	sink->next = store->sinks;
	store->sinks = sink;
	*out = sink;
	return 0;
}
