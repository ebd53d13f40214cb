// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * store_event_pack.c - from rows to packed chunks, for events that come too fast.
 *
 * A row costs 0.5 us and 30 to 60 bytes, a packed one a fifth of both. Yet rows are what the plain
 * sqlite3 shell can read, so events start as rows and are packed only when they come at more than
 * 5000 a second of event time: 0.25 % of a CPU. The rate is taken over windows of at least 4
 * seconds
 * or 20 000 rows, so that a burst (a full ring buffer, one heavy second of reclaim) does not count.
 *
 * The rows so far move too, in the transaction that the next row is written in, so that no reader
 * ever sees half of an event. Moving costs about 1 us a row; a table that has grown beyond a
 * million rows slowly stays a table, rather than stop a capture for seconds.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/store_event.h"

enum { FAST_ROWS_PER_S = 5000, WINDOW_S = 4, MOVE_ROWS_MAX = 1000000 };
static const uint64_t ns_per_s = 1000000000;

bool event_sink_too_fast(struct event_sink *sink, uint64_t ts_ns)
{
	if (!sink->window_rows++)
		sink->window_first_ns = sink->window_last_ns = ts_ns;
	sink->nr_rows++;
	if (ts_ns < sink->window_first_ns)
		sink->window_first_ns = ts_ns;
	if (ts_ns > sink->window_last_ns)
		sink->window_last_ns = ts_ns;
	if (sink->window_last_ns - sink->window_first_ns >= WINDOW_S * ns_per_s) {
		sink->window_rows = 0;
		return false;
	}
	return sink->window_rows > FAST_ROWS_PER_S * WINDOW_S && !sink->stays_table &&
	       sink->nr_rows <= MOVE_ROWS_MAX;
}

static int write_chunk(struct store *store, struct event_sink *sink,
		       const struct event_chunk *chunk, struct err *err)
{
	const struct value values[] = {
		VALUE_OF_INT(sink->id),
		VALUE_OF_INT(sink->packer_capture_id),
		VALUE_OF_INT(chunk->nr_events),
		VALUE_OF_INT((int64_t)chunk->first_ts_ns),
		VALUE_OF_INT((int64_t)chunk->last_ts_ns),
		{ .type = VALUE_BLOB, .text = (const char *)chunk->data,
		  .text_bytes = chunk->data_bytes },
	};

	return store_run_kept(store, "INSERT INTO event_chunk(table_id, capture_id, nr_events,"
			      " first_ts_ns, last_ts_ns, data) VALUES(?, ?, ?, ?, ?, ?)",
			      values, ARRAY_SIZE(values), err);
}

int event_sink_flush(struct store *store, struct event_sink *sink, struct err *err)
{
	struct event_chunk chunk;
	int code;

	if (!sink->packer)
		return 0;
	code = event_packer_take(sink->packer, &chunk);
	if (!code && chunk.data)
		code = write_chunk(store, sink, &chunk, err);
	free(chunk.data);
	return code;
}

int event_sink_add(struct store *store, struct event_sink *sink, int64_t capture_id, uint64_t ts_ns,
		   int cpu, struct value pid, const struct value *values, const int *column,
		   int nr_values, struct err *err)
{
	int code = 0;

	if (!sink->packer)
		sink->packer = event_packer_new();
	if (!sink->packer)
		return -ENOMEM;
	if (sink->packer_capture_id != capture_id)
		code = event_sink_flush(store, sink, err);
	if (code)
		return code;
	sink->packer_capture_id = capture_id;
	code = event_packer_add(sink->packer, ts_ns, cpu, pid, values, column, nr_values);
	if (code < 0)
		return err_set(err, code, "cannot pack event '%s'", sink->name);
	return code ? event_sink_flush(store, sink, err) : 0;
}

/* capture_id, ts_ns, cpu, pid and all fields of the old table, in order of arrival. */
static int query_rows(struct store *store, const struct event_sink *sink, struct query **query,
		      struct err *err)
{
	sqlite3_str *sql = sqlite3_str_new(NULL);
	char *text;
	int code;

	sqlite3_str_appendall(sql, "SELECT capture_id, ts_ns, cpu, pid");
	for (int i = 0; i < sink->nr_columns; i++)
		sqlite3_str_appendf(sql, ", \"%w\"", sink->columns[i].name);
	sqlite3_str_appendf(sql, " FROM \"%w\" ORDER BY rowid", sink->name);
	text = sqlite3_str_finish(sql);
	if (!text)
		return -ENOMEM;
	code = query_open(store, query, text, err);
	sqlite3_free(text);
	return code;
}

static int move_row(struct store *store, struct event_sink *sink, const struct query *query,
		    struct value *values, const int *column, struct err *err)
{
	for (int i = 0; i < sink->nr_columns; i++)
		values[i] = query_value(query, EVENT_BASE_COLUMNS + i);
	return event_sink_add(store, sink, query_int(query, 0), (uint64_t)query_int(query, 1),
			      query_is_null(query, 2) ? -1 : (int)query_int(query, 2),
			      query_value(query, 3), values, column, sink->nr_columns, err);
}

static int move_rows(struct store *store, struct event_sink *sink, struct err *err)
{
	struct value *values = calloc((size_t)sink->nr_columns + 1, sizeof(*values));
	int *column = calloc((size_t)sink->nr_columns + 1, sizeof(*column));
	struct query *query = NULL;
	int code = -ENOMEM;

	if (!values || !column)
		goto out;
	for (int i = 0; i < sink->nr_columns; i++)
		column[i] = i;
	code = query_rows(store, sink, &query, err);
	while (!code) {
		code = query_step(query, err);
		if (code != 1)
			break;
		code = move_row(store, sink, query, values, column, err);
	}
	if (!code)
		code = event_sink_flush(store, sink, err);
out:
	query_close(query);
	free(column);
	free(values);
	return code;
}

static int mark_packed(struct store *store, struct event_sink *sink, struct err *err)
{
	const struct value id = VALUE_OF_INT(sink->id);
	const struct value name = VALUE_OF_TEXT(sink->name);
	int code, rc;

	code = store_run_kept(store, "UPDATE event_table SET packed = 1 WHERE id = ?", &id, 1, err);
	if (!code)
		code = store_run_kept(store, "UPDATE event_type SET stored_as = 'packed'"
				      " WHERE table_name = ? AND stored_as = 'table'", &name, 1,
				      err);
	if (code)
		return code;
	rc = vtab_event_register_table(store->db, sink->name, sink->id);
	if (rc)
		return store_fail(store, rc, err, "cannot pack events in");
	sink->packed = true;
	return 0;
}

static int pack(struct store *store, struct event_sink *sink, struct err *err)
{
	int code = move_rows(store, sink, err);

	if (!code)
		code = store_exec_format(store, err, "DROP TABLE \"%w\"", sink->name);
	if (!code)
		code = mark_packed(store, sink, err);
	return code;
}

int event_sink_pack(struct store *store, struct event_sink *sink, struct err *err)
{
	struct err why = { 0 };
	int code;

	/* a statement of ours on that table would keep it from being dropped */
	for (struct event_table *table = store->tables; table; table = table->next) {
		if (table->sink != sink)
			continue;
		sqlite3_finalize(table->insert);
		table->insert = NULL;
	}
	code = store_exec(store, "SAVEPOINT pack", err);
	if (code)
		return code;
	code = pack(store, sink, &why);
	if (code) {
		store_exec(store, "ROLLBACK TO pack", NULL);
		if (sink->packer)
			event_packer_clear(sink->packer);
	}
	store_exec(store, "RELEASE pack", NULL);
	if (code == -EBUSY) {		/* somebody reads it through this connection */
		sink->stays_table = true;
		return 0;
	}
	return code ? err_set(err, code, "%s", why.text) : 0;
}
