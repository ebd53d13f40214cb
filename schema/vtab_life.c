// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vtab_life.c - the virtual table page_life: the page events of requests, adds and evictions, each
 * with what page_life.c knows of its pages.
 *
 * See vtab.h. One pass over a capture, two if a column needs hindsight or requests are wanted
 * (idxNum bit 1). Constraints on capture_id and op are understood; whatever ts_ns is asked for, all
 * events before count, so those only save rows.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/page_life.h"
#include "schema/page_merge.h"
#include "schema/vtab.h"

enum life_column {
	COL_OP = NR_VTAB_COLUMNS, COL_FILE_ID, COL_PAGE_INDEX, COL_PAGES, COL_RUN, COL_EVICTED_NS,
	COL_DISTANCE_PAGES, COL_READ_PAGES, COL_AGAIN_PAGES, COL_UNUSED_PAGES, COL_WARM_PAGES,
	COL_SAMPLE_MASK,
};

enum { NEEDS_SURVEY = 1 << 1, WANTED_OPS = LIFE_USES | 1 << PAGE_OP_ADD | 1 << PAGE_OP_EVICT };

static const char page_life_schema[] =
	"CREATE TABLE page_life(capture_id INTEGER, ts_ns INTEGER, cpu INTEGER, pid INTEGER,"
	" op TEXT, file_id INTEGER, page_index INTEGER, pages INTEGER, run INTEGER,"
	" evicted_ns INTEGER, distance_pages INTEGER, read_pages INTEGER, again_pages INTEGER,"
	" unused_pages INTEGER, warm_pages INTEGER, sample_mask INTEGER)";

static const struct vtab_table life_table = {
	.letters = "ct..o",
	.rows = 1e7,
	.least_cost = 1e6,
	.time_share = 1e-2,
};

struct life_cursor {
	sqlite3_vtab_cursor base;
	sqlite3_stmt *captures;	/* those still to come */
	struct page_merge *merge;
	struct page_life *life;
	struct page_row event;
	struct life_row row;
	enum page_op op;	/* as shown: evictions are 'evict' */
	sqlite3_int64 rowid;
	struct vtab_range range;
	uint32_t wanted_ops;
	bool needs_survey;
	bool at_end;
};

struct life_vtab {
	sqlite3_vtab base;
	sqlite3 *db;
};

static int life_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
			sqlite3_vtab **vtab, char **text)
{
	int rc = vtab_make(db, page_life_schema, sizeof(struct life_vtab), vtab);

	if (rc == SQLITE_OK)
		((struct life_vtab *)*vtab)->db = db;
	return rc;
}

static int life_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	const sqlite3_uint64 hindsight = 1 << COL_PAGES | 1 << COL_READ_PAGES |
					 1 << COL_AGAIN_PAGES | 1 << COL_UNUSED_PAGES |
					 1 << COL_WARM_PAGES;
	int rc = vtab_plan(&life_table, info);

	if (info->colUsed & hindsight)
		info->idxNum |= NEEDS_SURVEY;
	return rc;
}

static int life_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor)
{
	struct life_cursor *c = sqlite3_malloc(sizeof(*c));

	if (!c)
		return SQLITE_NOMEM;
	*c = (struct life_cursor){ .at_end = true };
	*cursor = &c->base;
	return SQLITE_OK;
}

static void capture_end(struct life_cursor *c)
{
	page_merge_close(c->merge);
	page_life_free(c->life);
	c->merge = NULL;
	c->life = NULL;
}

static void cursor_clear(struct life_cursor *c)
{
	capture_end(c);
	sqlite3_finalize(c->captures);
	c->captures = NULL;
	c->at_end = true;
}

static int life_close(sqlite3_vtab_cursor *cursor)
{
	cursor_clear((struct life_cursor *)cursor);
	sqlite3_free(cursor);
	return SQLITE_OK;
}

static int life_fail(struct life_cursor *c, int code, const struct err *err)
{
	return vtab_fail(c->base.pVtab, "page_life", code, err);
}

static sqlite3 *life_db(const struct life_cursor *c)
{
	return ((struct life_vtab *)c->base.pVtab)->db;
}

/* ---- a capture ------------------------------------------------------------------------------- */

/* (what, number): a file with its size, or (NULL, pid) a kswapd. */
static const char known_sql[] =
	"SELECT id, size_bytes FROM file WHERE capture_id = ?1 AND size_bytes >= 0"
	" UNION ALL SELECT NULL, pid FROM mm_vmscan_kswapd_wake WHERE capture_id = ?1"
	" UNION ALL SELECT NULL, pid FROM task WHERE capture_id = ?1 AND comm LIKE 'kswapd%'";

static int known_read(struct life_cursor *c, int64_t capture_id)
{
	sqlite3_stmt *stmt;
	int rc = sqlite3_prepare_v2(life_db(c), known_sql, -1, &stmt, NULL);
	int code = 0;

	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, capture_id);
	while (!code && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		sqlite3_int64 number = sqlite3_column_int64(stmt, 1);

		if (sqlite3_column_type(stmt, 0) == SQLITE_NULL)
			code = page_life_kswapd(c->life, (uint32_t)number);
		else
			code = page_life_file(c->life, (uint32_t)sqlite3_column_int64(stmt, 0),
					      (uint64_t)number);
	}
	sqlite3_finalize(stmt);
	return code ? SQLITE_NOMEM : rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int survey(struct life_cursor *c, const struct page_filter *filter, struct err *err)
{
	struct page_row row;
	int code = page_merge_open(life_db(c), filter, &c->merge, err);

	while (!code && (code = page_merge_next(c->merge, &row, err)) == 1)
		code = page_life_survey(c->life, row.event);
	page_merge_close(c->merge);
	c->merge = NULL;
	return code;
}

static int capture_begin(struct life_cursor *c, int64_t capture_id)
{
	struct page_filter filter = PAGE_FILTER_ALL;
	struct err err = { "no memory" };
	int code = 0, rc;

	capture_end(c);
	c->life = page_life_new();
	if (!c->life)
		return SQLITE_NOMEM;
	rc = known_read(c, capture_id);
	if (rc)
		return rc;
	filter.capture_id = capture_id;
	filter.ops_mask = LIFE_OPS;
	if (!c->needs_survey && !(c->wanted_ops & LIFE_USES))
		filter.ops_mask &= ~(uint32_t)LIFE_USES;
	if (c->needs_survey)
		code = survey(c, &filter, &err);
	if (!code)
		code = page_merge_open(life_db(c), &filter, &c->merge, &err);
	return code ? life_fail(c, code, &err) : SQLITE_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool is_wanted(const struct life_cursor *c)
{
	int64_t ts_ns = (int64_t)c->event.event->ts_ns;

	return c->wanted_ops >> c->op & 1 && ts_ns >= c->range.from_ns && ts_ns <= c->range.to_ns;
}

/* 1: a wanted row; 0: the capture is through. */
static int capture_next(struct life_cursor *c, struct err *err)
{
	int code;

	while ((code = page_merge_next(c->merge, &c->event, err)) == 1) {
		const struct page_event *e = c->event.event;

		code = page_life_step(c->life, e, &c->row);
		if (code)
			return err_set(err, code, "no memory");
		c->op = page_life_is_eviction(c->life, e) ? PAGE_OP_EVICT : e->op;
		if (is_wanted(c))
			return 1;
	}
	return code;
}

static int life_next(sqlite3_vtab_cursor *cursor)
{
	struct life_cursor *c = (struct life_cursor *)cursor;
	struct err err = { "" };
	int code, rc;

	c->rowid++;
	for (;;) {
		code = c->merge ? capture_next(c, &err) : 0;
		if (code < 0)
			return life_fail(c, code, &err);
		if (code)
			return SQLITE_OK;
		rc = sqlite3_step(c->captures);
		if (rc != SQLITE_ROW) {
			c->at_end = true;
			return rc == SQLITE_DONE ? SQLITE_OK : rc;
		}
		rc = capture_begin(c, sqlite3_column_int64(c->captures, 0));
		if (rc)
			return rc;
	}
}

static bool ops_apply(struct life_cursor *c, sqlite3_value *arg)
{
	int op;

	if (sqlite3_value_type(arg) != SQLITE_TEXT)
		return true;
	op = page_op_from_name((const char *)sqlite3_value_text(arg));
	c->wanted_ops &= op < 0 ? 0 : 1U << op;
	return c->wanted_ops;
}

static int life_filter(sqlite3_vtab_cursor *cursor, int plan, const char *letters, int argc,
		       sqlite3_value **argv)
{
	struct life_cursor *c = (struct life_cursor *)cursor;
	int rc;

	cursor_clear(c);
	c->range = VTAB_RANGE_ALL;
	c->wanted_ops = WANTED_OPS;
	c->needs_survey = plan & NEEDS_SURVEY;
	for (int i = 0; i < argc && letters[i]; i++)
		if (!vtab_range_apply(&c->range, letters[i], argv[i]) ||
		    (letters[i] == 'o' && !ops_apply(c, argv[i])))
			return SQLITE_OK;
	rc = sqlite3_prepare_v2(life_db(c), "SELECT DISTINCT capture_id FROM page_chunk"
				" WHERE ?1 < 0 OR capture_id = ?1 ORDER BY capture_id", -1,
				&c->captures, NULL);
	if (rc)
		return rc;
	sqlite3_bind_int64(c->captures, 1, c->range.capture_id);
	c->at_end = false;
	c->rowid = 0;
	return life_next(cursor);
}

static int life_eof(sqlite3_vtab_cursor *cursor)
{
	return ((struct life_cursor *)cursor)->at_end;
}

static int life_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid)
{
	*rowid = ((struct life_cursor *)cursor)->rowid;
	return SQLITE_OK;
}

/* Columns of some ops alone: NULL for the others. */
static void result_for(sqlite3_context *ctx, const struct life_cursor *c, uint32_t ops, uint64_t v)
{
	if (ops >> c->op & 1)
		sqlite3_result_int64(ctx, (sqlite3_int64)v);
}

static int life_column(sqlite3_vtab_cursor *cursor, sqlite3_context *ctx, int column)
{
	const struct life_cursor *c = (struct life_cursor *)cursor;
	const struct page_event *e = c->event.event;
	const uint32_t add = 1 << PAGE_OP_ADD;

	switch (column) {
	case VTAB_CAPTURE_ID:
		sqlite3_result_int64(ctx, c->event.capture_id);
		break;
	case VTAB_TS_NS:
		sqlite3_result_int64(ctx, (sqlite3_int64)e->ts_ns);
		break;
	case VTAB_CPU:
		sqlite3_result_int(ctx, c->event.cpu);
		break;
	case VTAB_PID:
		sqlite3_result_int64(ctx, e->pid);
		break;
	case COL_OP:
		sqlite3_result_text(ctx, page_op_name(c->op), -1, SQLITE_STATIC);
		break;
	case COL_FILE_ID:
		if (e->file_id)
			sqlite3_result_int64(ctx, e->file_id);
		break;
	case COL_PAGE_INDEX:
		sqlite3_result_int64(ctx, (sqlite3_int64)e->page_index);
		break;
	case COL_PAGES:
		sqlite3_result_int64(ctx, c->row.pages);
		break;
	case COL_RUN:
		result_for(ctx, c, add, c->row.run);
		break;
	case COL_EVICTED_NS:
		result_for(ctx, c, c->row.evicted_ns ? add : 0, c->row.evicted_ns);
		break;
	case COL_DISTANCE_PAGES:
		result_for(ctx, c, c->row.evicted_ns ? add : 0, c->row.distance_pages);
		break;
	case COL_READ_PAGES:
		result_for(ctx, c, add, c->row.read_pages);
		break;
	case COL_AGAIN_PAGES:
		result_for(ctx, c, add, c->row.again_pages);
		break;
	case COL_UNUSED_PAGES:
		result_for(ctx, c, 1 << PAGE_OP_EVICT, c->row.unused_pages);
		break;
	case COL_WARM_PAGES:
		result_for(ctx, c, LIFE_USES, c->row.warm_pages);
		break;
	case COL_SAMPLE_MASK:
		sqlite3_result_int64(ctx, c->event.sample_mask);
		break;
	}
	return SQLITE_OK;	/* without a result: NULL */
}

static const sqlite3_module life_module = {
	.iVersion = 2,
	.xCreate = NULL,	/* eponymous only */
	.xConnect = life_connect,
	.xBestIndex = life_best_index,
	.xDisconnect = vtab_free,
	.xOpen = life_open,
	.xClose = life_close,
	.xFilter = life_filter,
	.xNext = life_next,
	.xEof = life_eof,
	.xColumn = life_column,
	.xRowid = life_rowid,
};

int vtab_life_register(sqlite3 *db)
{
	return sqlite3_create_module_v2(db, "page_life", &life_module, NULL, NULL);
}
