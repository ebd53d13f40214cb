// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * store_merge.c - the captures of one database into another.
 *
 * Ids of captures, files, demand streams and tables are local to a file, so all that refer to them
 * are rewritten; ids of results are hashes of what they are of and stay (store_result.c). Rows are
 * copied by column name: what both files have is copied, and a column is remapped for what it is
 * called. Only two kinds need more: page chunks, whose packed events name files, are repacked if
 * those got new ids, and events go through the event tables, which may be named, wide or packed
 * differently here.
 *
 * A capture is known again by its uuid. A copy of a database that was sent elsewhere to replay a
 * shard then adds its results and nothing else, and as everything that a result consists of is a
 * function of its key, the tables end up as if one run had written them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "schema/store_event.h"

extern const char sql_schema_cases[];

struct merge_table {
	const char *name;
	const char *key;	/* the column that says whose a row is */
	bool own_id;		/* id is local to the file: a new one */
};

static const struct merge_table capture_tables[] = {
	{ "context", "capture_id" },
	{ "gap", "capture_id", true },
	{ "task", "capture_id" },
	{ 0 },
};

static const struct merge_table demand_tables[] = {
	{ "demand_chunk", "stream_id", true },
	{ "demand_extent", "stream_id" },
	{ "demand_task", "stream_id" },
	{ 0 },
};

static const struct merge_table finding_tables[] = {
	{ "replay_run", "stream_id" },
	{ "curve", "stream_id" },
	{ "knee", "stream_id" },
	{ "validation", "stream_id" },
	{ 0 },
};

static const struct merge_table result_tables[] = {
	{ "result", "id" },
	{ "result_cost", "result_id" },
	{ "result_interval", "result_id" },
	{ 0 },
};

struct merge {
	struct store *into, *from;
	int64_t from_capture, to_capture;
	int64_t from_stream, to_stream;
	bool is_known;		/* the capture was there before */
	uint32_t *to_file;	/* by id in from; 0: no such file */
	uint32_t nr_files;	/* slots of to_file */
	bool same_files;	/* every id stays */
};

/* ---- rows by column name --------------------------------------------------------------------- */

/* A copy in progress: the columns that both sides have. */
struct copy {
	struct query *read, *write;
	int nr_columns;
};

static void copy_close(struct copy *copy)
{
	query_close(copy->read);
	query_close(copy->write);
	*copy = (struct copy){ 0 };
}

static int common_columns(const struct merge *m, const char *table, sqlite3_str *columns,
			  sqlite3_str *marks, struct err *err)
{
	const struct value name = VALUE_OF_TEXT(table);
	struct query *query;
	int code;

	code = query_open(m->from, &query, "SELECT name FROM pragma_table_info(?)", err);
	if (code)
		return code;
	query_bind(query, 1, name);
	while ((code = query_step(query, err)) == 1) {
		const char *column = query_text(query, 0);
		const struct value values[] = { name, VALUE_OF_TEXT(column) };
		int64_t one;
		bool found;

		code = store_get_int(m->into, "SELECT 1 FROM pragma_table_info(?) WHERE name = ?",
				     values, 2, &one, &found, err);
		if (code)
			break;
		if (!found)
			continue;
		sqlite3_str_appendf(columns, "%s\"%w\"", sqlite3_str_length(columns) ? ", " : "",
				    column);
		sqlite3_str_appendf(marks, "%s?", sqlite3_str_length(marks) ? ", " : "");
	}
	query_close(query);
	return code;
}

/* The statements that read the rows of one owner from one file and write them to the other. */
static int copy_open(struct merge *m, const struct merge_table *table, int64_t owner,
		     struct copy *copy, struct err *err)
{
	sqlite3_str *columns = sqlite3_str_new(NULL), *marks = sqlite3_str_new(NULL);
	char *list, *read = NULL, *write = NULL, *places;
	int code = common_columns(m, table->name, columns, marks, err);

	*copy = (struct copy){ 0 };
	list = sqlite3_str_finish(columns);
	places = sqlite3_str_finish(marks);
	if (list && places) {
		read = sqlite3_mprintf("SELECT %s FROM \"%w\" WHERE \"%w\" = ?1", list, table->name,
				       table->key);
		write = sqlite3_mprintf("INSERT OR IGNORE INTO \"%w\"(%s) VALUES(%s)", table->name,
					list, places);
	}
	if (!code && (!read || !write))
		code = -ENOMEM;
	if (!code)
		code = query_open(m->from, &copy->read, read, err);
	if (!code)
		code = query_open(m->into, &copy->write, write, err);
	if (!code)
		code = query_bind(copy->read, 1, VALUE_OF_INT(owner));
	if (!code)
		copy->nr_columns = query_columns(copy->read);
	sqlite3_free(list);
	sqlite3_free(places);
	sqlite3_free(read);
	sqlite3_free(write);
	return code;
}

static struct value map_file(const struct merge *m, struct value value)
{
	if (value.type != VALUE_INT || value.i <= 0 || value.i >= m->nr_files)
		return value;
	return VALUE_OF_INT(m->to_file[value.i]);
}

static struct value map_value(const struct merge *m, const struct merge_table *table,
			      const char *column, struct value value)
{
	if (!strcmp(column, "capture_id"))
		return VALUE_OF_INT(m->to_capture);
	if (!strcmp(column, "stream_id"))
		return VALUE_OF_INT(m->to_stream);
	if (!strcmp(column, "file_id"))
		return map_file(m, value);
	if (table->own_id && !strcmp(column, "id"))
		return VALUE_NONE;
	return value;
}

static int copy_row(const struct merge *m, const struct merge_table *table, struct copy *copy,
		    struct err *err)
{
	int code = 0;

	for (int i = 0; !code && i < copy->nr_columns; i++)
		code = query_bind(copy->write, i + 1,
				  map_value(m, table, query_column_name(copy->read, i),
					    query_value(copy->read, i)));
	if (!code)
		code = query_step(copy->write, err);
	query_reset(copy->write);
	return code;
}

static int copy_table(struct merge *m, const struct merge_table *table, int64_t owner,
		      struct err *err)
{
	struct copy copy;
	int code = copy_open(m, table, owner, &copy, err);

	while (!code) {
		code = query_step(copy.read, err);
		if (code != 1)
			break;
		code = copy_row(m, table, &copy, err);
	}
	copy_close(&copy);
	return code;
}

static int copy_tables(struct merge *m, const struct merge_table *tables, int64_t owner,
		       struct err *err)
{
	int code = 0;

	for (; !code && tables->name; tables++)
		code = copy_table(m, tables, owner, err);
	return code;
}

/* ---- the capture ----------------------------------------------------------------------------- */

static int find_capture(struct merge *m, const char *uuid, struct err *err)
{
	const struct value value = VALUE_OF_TEXT(uuid);

	return store_get_int(m->into, "SELECT id FROM capture WHERE uuid = ?", &value, 1,
			     &m->to_capture, &m->is_known, err);
}

static int copy_capture(struct merge *m, struct err *err)
{
	static const struct merge_table table = { "capture", "id", true };
	int code = copy_table(m, &table, m->from_capture, err);

	if (!code)
		m->to_capture = sqlite3_last_insert_rowid(m->into->db);
	return code;
}

/* ---- files ----------------------------------------------------------------------------------- */

static int files_room(struct merge *m, struct err *err)
{
	uint32_t next;
	int code = store_next_file_id(m->from, &next, err);

	if (code)
		return code;
	free(m->to_file);
	m->nr_files = next;
	m->to_file = calloc(next, sizeof(*m->to_file));
	return m->to_file ? 0 : -ENOMEM;
}

/* The id here of a file of a known capture; 0 if it is not there. */
static int known_file(struct merge *m, const struct query *row, int64_t *id, struct err *err)
{
	const struct value values[] = {
		VALUE_OF_INT(m->to_capture), query_value(row, 1), query_value(row, 2),
		query_value(row, 3),
	};
	bool found;

	return store_get_int(m->into, "SELECT id FROM file WHERE capture_id = ? AND dev_major = ?"
			     " AND dev_minor = ? AND ino = ?", values, 4, id, &found, err);
}

static int copy_file(struct merge *m, const struct query *row, uint32_t *next, struct err *err)
{
	const int64_t from = query_int(row, 0);
	int64_t id = 0;
	int code = 0;

	if (from <= 0 || from >= m->nr_files)
		return err_set(err, -EBADMSG, "'%s' holds file id %lld", m->from->path,
			       (long long)from);
	if (m->is_known)
		code = known_file(m, row, &id, err);
	if (!code && !id) {
		id = (*next)++;
		code = store_file(m->into, m->to_capture, (uint32_t)id, (uint32_t)query_int(row, 1),
				  (uint32_t)query_int(row, 2), (uint64_t)query_int(row, 3),
				  query_is_null(row, 4) ? -1 : query_int(row, 4),
				  query_text(row, 5), err);
	}
	m->to_file[from] = (uint32_t)id;
	m->same_files &= id == from;
	return code;
}

static int copy_files(struct merge *m, struct err *err)
{
	struct query *query = NULL;
	uint32_t next;
	int code;

	m->same_files = true;
	code = files_room(m, err);
	if (!code)
		code = store_next_file_id(m->into, &next, err);
	if (!code)
		code = query_open(m->from, &query,
				  "SELECT id, dev_major, dev_minor, ino, size_bytes,"
				  " path FROM file WHERE capture_id = ? ORDER BY id",
				  err);
	if (!code)
		code = query_bind(query, 1, VALUE_OF_INT(m->from_capture));
	while (!code) {
		code = query_step(query, err);
		if (code != 1)
			break;
		code = copy_file(m, query, &next, err);
	}
	query_close(query);
	return code;
}

/* ---- page chunks ----------------------------------------------------------------------------- */

/* The chunk again, with the ids that its files have here. */
static int repack(const struct merge *m, struct page_chunk *chunk, struct page_event *events,
		  struct err *err)
{
	struct page_packer *packer;
	int code;

	code = page_chunk_decode(chunk->data, chunk->data_bytes, events, chunk->nr_events, err);
	if (code)
		return code;
	packer = page_packer_new(chunk->capture_id, chunk->cpu, chunk->sample_mask);
	if (!packer)
		return -ENOMEM;
	for (uint32_t i = 0; i < chunk->nr_events; i++) {
		if (events[i].file_id < m->nr_files)
			events[i].file_id = m->to_file[events[i].file_id];
		page_packer_add(packer, &events[i]);
	}
	code = page_packer_take(packer, chunk);
	page_packer_free(packer);
	return code;
}

static int copy_chunk(struct merge *m, const struct query *row, struct page_event *events,
		      struct err *err)
{
	const struct value data = query_value(row, 8);
	struct page_chunk chunk = {
		.capture_id = m->to_capture,
		.cpu = (int32_t)query_int(row, 0),
		.nr_events = (uint32_t)query_int(row, 1),
		.first_ts_ns = (uint64_t)query_int(row, 2),
		.last_ts_ns = (uint64_t)query_int(row, 3),
		.ops_mask = (uint32_t)query_int(row, 4),
		.min_file_id = (uint32_t)query_int(row, 5),
		.max_file_id = (uint32_t)query_int(row, 6),
		.sample_mask = (uint32_t)query_int(row, 7),
		.data = (uint8_t *)data.text,
		.data_bytes = data.text_bytes,
	};
	int code;

	if (m->same_files)
		return store_page_chunk(m->into, &chunk, err);
	if (!chunk.nr_events || chunk.nr_events > PAGE_CHUNK_EVENTS)
		return err_set(err, -EBADMSG, "a page chunk of '%s' is damaged", m->from->path);
	code = repack(m, &chunk, events, err);
	if (code)
		return code;
	code = store_page_chunk(m->into, &chunk, err);
	page_chunk_release(&chunk);
	return code;
}

static int copy_page_chunks(struct merge *m, struct err *err)
{
	struct page_event *events = malloc(sizeof(*events) * PAGE_CHUNK_EVENTS);
	struct query *query = NULL;
	int code = events ? 0 : -ENOMEM;

	if (!code)
		code = query_open(m->from, &query, "SELECT cpu, nr_events, first_ts_ns, last_ts_ns,"
				  " ops_mask, min_file_id, max_file_id, sample_mask, data"
				  " FROM page_chunk WHERE capture_id = ? ORDER BY id", err);
	if (!code)
		code = query_bind(query, 1, VALUE_OF_INT(m->from_capture));
	while (!code) {
		code = query_step(query, err);
		if (code != 1)
			break;
		code = copy_chunk(m, query, events, err);
	}
	query_close(query);
	free(events);
	return code;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* SELECT of one capture's rows of an event table, ordinary or packed, in order. */
static int read_events(struct merge *m, const struct event_sink *from, struct query **query,
		       struct err *err)
{
	sqlite3_str *sql = sqlite3_str_new(NULL);
	char *text;
	int code;

	sqlite3_str_appendall(sql, "SELECT ts_ns, cpu, pid");
	for (int i = 0; i < from->nr_columns; i++)
		sqlite3_str_appendf(sql, ", \"%w\"", from->columns[i].name);
	sqlite3_str_appendf(sql, " FROM \"%w\" WHERE capture_id = ?1", from->name);
	text = sqlite3_str_finish(sql);
	code = text ? query_open(m->from, query, text, err) : -ENOMEM;
	sqlite3_free(text);
	if (!code)
		code = query_bind(*query, 1, VALUE_OF_INT(m->from_capture));
	return code;
}

static int open_event_table(struct merge *m, const struct event_sink *from,
			    struct event_table **table, struct err *err)
{
	struct event_field *fields = calloc((size_t)from->nr_columns + 1, sizeof(*fields));
	int code;

	if (!fields)
		return -ENOMEM;
	for (int i = 0; i < from->nr_columns; i++)
		fields[i] = (struct event_field){ from->columns[i].field, from->columns[i].type };
	code = store_event_table(m->into, m->to_capture, from->system, from->event, fields,
				 from->nr_columns, NULL, from->packed, table, err);
	free(fields);
	if (!code)
		(*table)->sink->stays_table = true; /* it was slow enough when it was recorded */
	return code;
}

static int copy_event_rows(struct merge *m, const struct event_sink *from, struct err *err)
{
	struct value *values = calloc((size_t)from->nr_columns + 1, sizeof(*values));
	struct event_table *table = NULL;
	struct query *query = NULL;
	int code = values ? read_events(m, from, &query, err) : -ENOMEM;

	while (!code) {
		code = query_step(query, err);
		if (code != 1)
			break;
		code = table ? 0 : open_event_table(m, from, &table, err);
		for (int i = 0; i < from->nr_columns; i++)
			values[i] = query_value(query, 3 + i);
		if (!code)
			code = event_table_add(table, (uint64_t)query_int(query, 0),
					       query_is_null(query, 1) ? -1 :
					       (int)query_int(query, 1),
					       (uint32_t)query_int(query, 2), values, err);
	}
	query_close(query);
	free(values);
	return code;
}

static int copy_events(struct merge *m, struct err *err)
{
	struct query *query;
	int code;

	code = query_open(m->from, &query, "SELECT system, event FROM event_table ORDER BY id",
			  err);
	while (!code) {
		struct event_sink *sink;

		code = query_step(query, err);
		if (code != 1)
			break;
		code = event_sink_get(m->from, query_text(query, 0), query_text(query, 1), NULL, 0,
				      &sink, err);
		if (!code)
			code = copy_event_rows(m, sink, err);
	}
	query_close(query);
	return code ? code : store_events_flush(m->into, err);
}

/* event_type names tables: their names here. */
static int copy_event_types(struct merge *m, struct err *err)
{
	static const struct merge_table table = { "event_type", "capture_id" };
	const struct value capture = VALUE_OF_INT(m->to_capture);
	int code;

	code = store_run(m->into, "DELETE FROM event_type WHERE capture_id = ?", &capture, 1, NULL,
			 err);
	if (!code)
		code = copy_table(m, &table, m->from_capture, err);
	if (!code)
		code = store_run(m->into, "UPDATE event_type SET table_name = t.name,"
				 " stored_as = iif(t.packed, 'packed', 'table') FROM event_table t"
				 " WHERE capture_id = ? AND t.system = event_type.system"
				 " AND t.event = event_type.name"
				 " AND event_type.stored_as IN ('table', 'packed')",
				 &capture, 1, NULL, err);
	return code;
}

/* ---- case studies ---------------------------------------------------------------------------- */

/* What `pagereel case -o` stored, in databases of cases only: the table is made here if need be. */
static int copy_case_values(struct merge *m, struct err *err)
{
	static const struct merge_table table = { "case_value", "capture_id" };
	int64_t one;
	bool found;
	int code;

	code = store_get_int(m->from, "SELECT 1 FROM sqlite_schema WHERE type = 'table'"
			     " AND name = 'case_value'", NULL, 0, &one, &found, err);
	if (code || !found)
		return code;
	code = store_exec(m->into, sql_schema_cases, err);
	return code ? code : copy_table(m, &table, m->from_capture, err);
}

/* ---- streams and results --------------------------------------------------------------------- */

static int find_stream(struct merge *m, const char *selector, bool *found, struct err *err)
{
	const struct value values[] = { VALUE_OF_INT(m->to_capture), VALUE_OF_TEXT(selector) };

	return store_get_int(m->into, "SELECT id FROM demand_stream WHERE capture_id = ?"
			     " AND selector = ?", values, 2, &m->to_stream, found, err);
}

static int copy_stream(struct merge *m, const char *selector, struct err *err)
{
	static const struct merge_table table = { "demand_stream", "id", true };
	bool found;
	int code = find_stream(m, selector, &found, err);

	if (code || found)
		return code;
	code = copy_table(m, &table, m->from_stream, err);
	if (code)
		return code;
	m->to_stream = sqlite3_last_insert_rowid(m->into->db);
	return copy_tables(m, demand_tables, m->from_stream, err);
}

/* An interrupted result gives way to a complete one; otherwise what is there stays. */
static int wanted_result(struct merge *m, int64_t id, const char *status, bool *wanted,
			 struct err *err)
{
	const struct value value = VALUE_OF_INT(id);
	int64_t is_complete;
	bool found;
	int code;

	code = store_get_int(m->into, "SELECT status = 'complete' FROM result WHERE id = ?", &value,
			     1, &is_complete, &found, err);
	*wanted = !found || (!is_complete && status && !strcmp(status, "complete"));
	if (code || !found || !*wanted)
		return code;
	return store_result_forget(m->into, id, err);
}

static int copy_results(struct merge *m, struct err *err)
{
	struct query *query;
	int code;

	code = query_open(m->from, &query, "SELECT id, status FROM result WHERE stream_id = ?"
			  " ORDER BY id", err);
	if (!code)
		code = query_bind(query, 1, VALUE_OF_INT(m->from_stream));
	while (!code) {
		bool wanted;

		code = query_step(query, err);
		if (code != 1)
			break;
		code = wanted_result(m, query_int(query, 0), query_text(query, 1), &wanted, err);
		if (!code && wanted)
			code = copy_tables(m, result_tables, query_int(query, 0), err);
	}
	query_close(query);
	return code;
}

static int copy_streams(struct merge *m, struct err *err)
{
	struct query *query;
	int code;

	code = query_open(m->from, &query, "SELECT id, selector FROM demand_stream"
			  " WHERE capture_id = ? ORDER BY id", err);
	if (!code)
		code = query_bind(query, 1, VALUE_OF_INT(m->from_capture));
	while (!code) {
		code = query_step(query, err);
		if (code != 1)
			break;
		m->from_stream = query_int(query, 0);
		code = copy_stream(m, query_text(query, 1), err);
		if (!code)
			code = copy_tables(m, finding_tables, m->from_stream, err);
		if (!code)
			code = copy_results(m, err);
	}
	query_close(query);
	return code;
}

/* Profiles are named after what is in them, so those of one name are the same. */
static int copy_shared(struct merge *m, const char *select, const char *insert, int nr_columns,
		       struct err *err)
{
	struct query *query;
	int code = query_open(m->from, &query, select, err);

	while (!code) {
		struct value values[8];

		code = query_step(query, err);
		if (code != 1)
			break;
		for (int i = 0; i < nr_columns; i++)
			values[i] = query_value(query, i);
		code = store_run_kept(m->into, insert, values, nr_columns, err);
	}
	query_close(query);
	return code;
}

static int copy_profiles(struct merge *m, struct err *err)
{
	int code = copy_shared(m, "SELECT name, operation, ns, stderr_ns, source FROM cost_profile",
			       "INSERT OR IGNORE INTO cost_profile(name, operation, ns, stderr_ns,"
			       " source) VALUES(?, ?, ?, ?, ?)", 5, err);

	return code ? code
		    : copy_shared(m,
				  "SELECT profile, method, nr_samples, nr_left_out, r2,"
				  " measured_ns, fitted_ns FROM cost_fit",
				  "INSERT OR IGNORE INTO cost_fit(profile, method, nr_samples,"
				  " nr_left_out, r2, measured_ns, fitted_ns)"
				  " VALUES(?, ?, ?, ?, ?, ?, ?)",
				  7, err);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int merge_capture(struct merge *m, const char *uuid, struct err *err)
{
	int code = find_capture(m, uuid, err);

	if (!code && !m->is_known)
		code = copy_capture(m, err);
	if (!code)
		code = copy_files(m, err);
	if (!code && !m->is_known) {
		code = copy_tables(m, capture_tables, m->from_capture, err);
		if (!code)
			code = copy_page_chunks(m, err);
		if (!code)
			code = copy_events(m, err);
		if (!code)
			code = copy_event_types(m, err);
		if (!code)
			code = copy_case_values(m, err);
	}
	return code ? code : copy_streams(m, err);
}

static int merge_all(struct merge *m, struct err *err)
{
	struct query *query;
	int code;

	code = query_open(m->from, &query, "SELECT id, uuid FROM capture ORDER BY id", err);
	while (!code) {
		code = query_step(query, err);
		if (code != 1)
			break;
		m->from_capture = query_int(query, 0);
		code = merge_capture(m, query_text(query, 1), err);
	}
	query_close(query);
	return code ? code : copy_profiles(m, err);
}

bool store_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int store_merge(struct store *into, const char *path, struct err *err)
{
	struct merge m = { .into = into };
	int code;

	if (store_same_file(into->path, path))
		return err_set(err, -EINVAL, "cannot merge '%s' into itself", path);
	code = store_open(&m.from, path, STORE_READONLY, err);
	if (!code)
		code = store_commit(into, err);
	if (!code)
		code = store_begin(into, err);
	if (!code)
		code = merge_all(&m, err);
	if (!code)
		code = store_commit(into, err);
	if (code)
		store_rollback(into, NULL);
	free(m.to_file);
	store_close(m.from, NULL);
	return code;
}
