// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vtab_event.c - packed events as virtual tables, each named as its ordinary table would be.
 *
 * See vtab.h. Constraints on capture_id and ts_ns choose the chunks.
 *
 * A chunk is in that order inside, but chunks may overlap (CPUs are drained one after the other):
 * all that may hold the next row are open at once, and the smallest first row wins. Few overlap, so
 * they are searched one by one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/event_codec.h"
#include "schema/vtab.h"

/* What the module knows of its table. */
struct event_module {
	sqlite3 *db;
	int64_t table_id;
	char *schema;		/* "main", or as attached */
};

struct event_vtab {
	sqlite3_vtab base;
	const struct event_module *module;
};

struct open_block {
	struct event_block *block;
	int64_t capture_id, chunk_id, ts_ns, cpu;	/* of the next row: the order */
	uint32_t row;
};

struct event_cursor {
	sqlite3_vtab_cursor base;
	sqlite3_stmt *list;
	bool more;			/* list stands on a chunk not yet open */
	struct open_block *open;
	int nr_open, room;
	int current;			/* index into open, -1: at the end */
	struct vtab_range range;
};

/* A chunk is decoded for a single time too. */
static const struct vtab_table event_table_plan = {
	.letters = "ct",
	.rows = 1e6,
	.least_cost = 8192,
	.time_share = 1e-2,
};

/* ---- the table ------------------------------------------------------------------------------- */

static char *vtab_declaration(const struct event_module *module)
{
	sqlite3_str *sql = sqlite3_str_new(NULL);
	sqlite3_stmt *stmt = NULL;
	char *list;

	sqlite3_str_appendall(sql, "CREATE TABLE x(capture_id INTEGER, ts_ns INTEGER, cpu INTEGER,"
			      " pid INTEGER");
	list = sqlite3_mprintf("SELECT name, type FROM \"%w\".event_column WHERE table_id = %lld"
			       " ORDER BY position", module->schema, module->table_id);
	if (list && !sqlite3_prepare_v2(module->db, list, -1, &stmt, NULL))
		while (sqlite3_step(stmt) == SQLITE_ROW)
			sqlite3_str_appendf(sql, ", \"%w\" \"%w\"", sqlite3_column_text(stmt, 0),
					    sqlite3_column_text(stmt, 1));
	sqlite3_finalize(stmt);
	sqlite3_free(list);
	sqlite3_str_appendchar(sql, 1, ')');
	return sqlite3_str_finish(sql);
}

static int event_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
			 sqlite3_vtab **vtab, char **text)
{
	const struct event_module *module = aux;
	char *sql = vtab_declaration(module);
	int rc = vtab_make(db, sql, sizeof(struct event_vtab), vtab);

	sqlite3_free(sql);
	if (!rc)
		((struct event_vtab *)*vtab)->module = module;
	return rc;
}

static int event_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	return vtab_plan(&event_table_plan, info);
}

/* ---- cursors --------------------------------------------------------------------------------- */

static int event_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor)
{
	struct event_cursor *c = sqlite3_malloc(sizeof(*c));

	if (!c)
		return SQLITE_NOMEM;
	*c = (struct event_cursor){ .current = -1 };
	*cursor = &c->base;
	return SQLITE_OK;
}

static void cursor_clear(struct event_cursor *c)
{
	for (int i = 0; i < c->nr_open; i++)
		event_block_free(c->open[i].block);
	free(c->open);
	sqlite3_finalize(c->list);
	c->open = NULL;
	c->list = NULL;
	c->nr_open = c->room = 0;
	c->current = -1;
	c->more = false;
}

static int event_close(sqlite3_vtab_cursor *cursor)
{
	cursor_clear((struct event_cursor *)cursor);
	sqlite3_free(cursor);
	return SQLITE_OK;
}

static int damaged(struct event_cursor *c, int64_t chunk_id, int code)
{
	struct err err;

	err_set(&err, code, "chunk %lld is damaged", (long long)chunk_id);
	return vtab_fail(c->base.pVtab, "event_chunk", code, &err);
}

static int list_step(struct event_cursor *c)
{
	int rc = sqlite3_step(c->list);

	c->more = rc == SQLITE_ROW;
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Time and CPU of the block's row; false when damaged. */
static bool read_key(struct open_block *open)
{
	struct value ts, cpu;

	if (event_block_value(open->block, EVENT_COL_TS, open->row, &ts) ||
	    event_block_value(open->block, EVENT_COL_CPU, open->row, &cpu) ||
	    ts.type != VALUE_INT)
		return false;
	open->ts_ns = ts.i;
	open->cpu = cpu.type == VALUE_INT ? cpu.i : -1;
	return true;
}

static int open_listed(struct event_cursor *c)
{
	struct open_block *open;
	int code;

	if (c->nr_open == c->room) {
		open = realloc(c->open, sizeof(*open) * (size_t)(2 * c->room + 4));
		if (!open)
			return SQLITE_NOMEM;
		c->open = open;
		c->room = 2 * c->room + 4;
	}
	open = &c->open[c->nr_open];
	*open = (struct open_block){
		.chunk_id = sqlite3_column_int64(c->list, 0),
		.capture_id = sqlite3_column_int64(c->list, 1),
	};
	open->block = event_block_open(sqlite3_column_blob(c->list, 4),
				       (size_t)sqlite3_column_bytes(c->list, 4),
				       (uint64_t)sqlite3_column_int64(c->list, 2), &code);
	if (!open->block)
		return damaged(c, open->chunk_id, code);
	c->nr_open++;
	return read_key(open) ? list_step(c) : damaged(c, open->chunk_id, -EBADMSG);
}

static bool comes_before(const struct open_block *a, const struct open_block *b)
{
	if (a->capture_id != b->capture_id)
		return a->capture_id < b->capture_id;
	if (a->ts_ns != b->ts_ns)
		return a->ts_ns < b->ts_ns;
	if (a->cpu != b->cpu)
		return a->cpu < b->cpu;
	return a->chunk_id < b->chunk_id;
}

/* Does the listed chunk begin before, or with, the row that would be next? */
static bool listed_is_due(const struct event_cursor *c)
{
	const struct open_block *next = &c->open[c->current];
	int64_t capture_id = sqlite3_column_int64(c->list, 1);

	if (capture_id != next->capture_id)
		return capture_id < next->capture_id;
	return sqlite3_column_int64(c->list, 3) <= next->ts_ns;
}

static void find_current(struct event_cursor *c)
{
	c->current = c->nr_open ? 0 : -1;
	for (int i = 1; i < c->nr_open; i++)
		if (comes_before(&c->open[i], &c->open[c->current]))
			c->current = i;
}

static int settle(struct event_cursor *c)
{
	int rc;

	find_current(c);
	while (c->more && (c->current < 0 || listed_is_due(c))) {
		rc = open_listed(c);
		if (rc)
			return rc;
		find_current(c);
	}
	return SQLITE_OK;
}

static int advance(struct event_cursor *c)
{
	struct open_block *open = &c->open[c->current];

	if (++open->row < event_block_rows(open->block)) {
		if (!read_key(open))
			return damaged(c, open->chunk_id, -EBADMSG);
	} else {
		event_block_free(open->block);
		*open = c->open[--c->nr_open];
	}
	return settle(c);
}

/* Skips what lies outside the wanted times. */
static int skip_unwanted(struct event_cursor *c)
{
	int rc = SQLITE_OK;

	while (!rc && c->current >= 0 && (c->open[c->current].ts_ns < c->range.from_ns ||
					  c->open[c->current].ts_ns > c->range.to_ns))
		rc = advance(c);
	return rc;
}

static int event_next(sqlite3_vtab_cursor *cursor)
{
	struct event_cursor *c = (struct event_cursor *)cursor;
	int rc = advance(c);

	return rc ? rc : skip_unwanted(c);
}

static int list_chunks(struct event_cursor *c)
{
	const struct event_module *module = ((struct event_vtab *)c->base.pVtab)->module;
	char *sql;
	int rc;

	sql = sqlite3_mprintf("SELECT id, capture_id, nr_events, first_ts_ns, data FROM"
			      " \"%w\".event_chunk WHERE table_id = %lld%s AND first_ts_ns <= ?2"
			      " AND last_ts_ns >= ?3 ORDER BY capture_id, first_ts_ns, id",
			      module->schema, module->table_id,
			      c->range.capture_id < 0 ? "" : " AND capture_id = ?1");
	if (!sql)
		return SQLITE_NOMEM;
	rc = sqlite3_prepare_v2(module->db, sql, -1, &c->list, NULL);
	sqlite3_free(sql);
	if (rc)
		return rc;
	if (c->range.capture_id >= 0)
		sqlite3_bind_int64(c->list, 1, c->range.capture_id);
	sqlite3_bind_int64(c->list, 2, c->range.to_ns);
	sqlite3_bind_int64(c->list, 3, c->range.from_ns);
	return list_step(c);
}

static int event_filter(sqlite3_vtab_cursor *cursor, int plan, const char *letters, int argc,
			sqlite3_value **argv)
{
	struct event_cursor *c = (struct event_cursor *)cursor;
	int rc;

	cursor_clear(c);
	c->range = VTAB_RANGE_ALL;
	for (int i = 0; i < argc && letters[i]; i++)
		if (!vtab_range_apply(&c->range, letters[i], argv[i]))
			return SQLITE_OK;
	rc = list_chunks(c);
	if (!rc)
		rc = settle(c);
	return rc ? rc : skip_unwanted(c);
}

static int event_eof(sqlite3_vtab_cursor *cursor)
{
	return ((struct event_cursor *)cursor)->current < 0;
}

static int result_value(sqlite3_context *ctx, const struct value *value)
{
	switch (value->type) {
	case VALUE_INT:
		sqlite3_result_int64(ctx, value->i);
		break;
	case VALUE_REAL:
		sqlite3_result_double(ctx, value->r);
		break;
	case VALUE_TEXT:
		sqlite3_result_text64(ctx, value->text, value->text_bytes, SQLITE_TRANSIENT,
				      SQLITE_UTF8);
		break;
	case VALUE_BLOB:
		sqlite3_result_blob64(ctx, value->text, value->text_bytes, SQLITE_TRANSIENT);
		break;
	default:
		break;		/* without a result: NULL */
	}
	return SQLITE_OK;
}

static int event_column(sqlite3_vtab_cursor *cursor, sqlite3_context *ctx, int column)
{
	struct event_cursor *c = (struct event_cursor *)cursor;
	struct open_block *open = &c->open[c->current];
	struct value value;
	int code;

	if (column == VTAB_CAPTURE_ID) {
		sqlite3_result_int64(ctx, open->capture_id);
		return SQLITE_OK;
	}
	/* ts_ns, cpu, pid and the fields follow in the chunk's order */
	code = event_block_value(open->block, column - VTAB_TS_NS, open->row, &value);
	return code ? damaged(c, open->chunk_id, code) : result_value(ctx, &value);
}

static int event_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid)
{
	const struct event_cursor *c = (struct event_cursor *)cursor;

	*rowid = c->open[c->current].chunk_id * EVENT_CHUNK_ROWS + c->open[c->current].row;
	return SQLITE_OK;
}

static const sqlite3_module module_event = {
	.iVersion = 2,
	.xCreate = NULL,	/* eponymous only */
	.xConnect = event_connect,
	.xBestIndex = event_best_index,
	.xDisconnect = vtab_free,
	.xOpen = event_open,
	.xClose = event_close,
	.xFilter = event_filter,
	.xNext = event_next,
	.xEof = event_eof,
	.xColumn = event_column,
	.xRowid = event_rowid,
};

/* ---- registering ----------------------------------------------------------------------------- */

static void module_free(void *aux)
{
	struct event_module *module = aux;

	sqlite3_free(module->schema);
	sqlite3_free(module);
}

static int register_one(sqlite3 *db, const char *schema, const char *name, int64_t table_id)
{
	struct event_module *module = sqlite3_malloc(sizeof(*module));

	if (!module)
		return SQLITE_NOMEM;
	*module = (struct event_module){ db, table_id, sqlite3_mprintf("%s", schema) };
	if (!module->schema) {
		sqlite3_free(module);
		return SQLITE_NOMEM;
	}
	return sqlite3_create_module_v2(db, name, &module_event, module, module_free);
}

int vtab_event_register_table(sqlite3 *db, const char *name, sqlite3_int64 table_id)
{
	return register_one(db, "main", name, table_id);
}

/*
 * A database that is none of ours has no event_table, and gets nothing. What a file calls its
 * events must not replace page_event or a module of SQLite's.
 */
static int register_schema(sqlite3 *db, const char *schema)
{
	sqlite3_stmt *stmt = NULL;
	char *sql =
		sqlite3_mprintf("SELECT name, id FROM \"%w\".event_table WHERE packed AND"
				" name COLLATE NOCASE NOT IN (SELECT name FROM pragma_module_list)",
				schema);
	int rc = SQLITE_OK;

	if (!sql)
		return SQLITE_NOMEM;
	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK)
		while (!rc && sqlite3_step(stmt) == SQLITE_ROW)
			rc = register_one(db, schema, (const char *)sqlite3_column_text(stmt, 0),
					  sqlite3_column_int64(stmt, 1));
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
	return rc;
}

int vtab_event_register(sqlite3 *db)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, "PRAGMA database_list", -1, &stmt, NULL);

	while (!rc && sqlite3_step(stmt) == SQLITE_ROW) {
		const char *schema = (const char *)sqlite3_column_text(stmt, 1);

		if (schema && strcmp(schema, "temp"))
			rc = register_schema(db, schema);
	}
	sqlite3_finalize(stmt);
	return rc;
}
