// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vtab_page.c - the virtual table page_event: packed page events as rows.
 *
 * See vtab.h. Constraints on capture_id, ts_ns, cpu, op and file_id go down to the chunks: one that
 * cannot hold a wanted row is never read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/page_merge.h"
#include "schema/vtab.h"

enum page_column {
	COL_CAPTURE_ID, COL_TS_NS, COL_CPU, COL_PID, COL_OP, COL_FILE_ID, COL_PAGE_INDEX, COL_PAGES,
	COL_PFN, COL_FLAGS, COL_SAMPLE_MASK,
};

static const char page_event_schema[] =
	"CREATE TABLE page_event(capture_id INTEGER, ts_ns INTEGER, cpu INTEGER, pid INTEGER,"
	" op TEXT, file_id INTEGER, page_index INTEGER, pages INTEGER, pfn INTEGER,"
	" flags INTEGER, sample_mask INTEGER)";

struct page_cursor {
	sqlite3_vtab_cursor base;
	struct page_merge *merge;
	struct page_row row;
	bool at_end;
};

struct page_vtab {
	sqlite3_vtab base;
	sqlite3 *db;
};

static const struct vtab_table page_table = {
	.letters = "ctp.of",
	.rows = 1e7,
	.least_cost = 1,
	.time_share = 1e-5,
	.any_time_order = true,
};

static int page_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
			sqlite3_vtab **vtab, char **text)
{
	int rc = vtab_make(db, page_event_schema, sizeof(struct page_vtab), vtab);

	if (rc == SQLITE_OK)
		((struct page_vtab *)*vtab)->db = db;
	return rc;
}

static int page_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor)
{
	struct page_cursor *c = sqlite3_malloc(sizeof(*c));

	if (!c)
		return SQLITE_NOMEM;
	memset(c, 0, sizeof(*c));
	c->at_end = true;
	*cursor = &c->base;
	return SQLITE_OK;
}

static int page_close(sqlite3_vtab_cursor *cursor)
{
	struct page_cursor *c = (struct page_cursor *)cursor;

	page_merge_close(c->merge);
	sqlite3_free(c);
	return SQLITE_OK;
}

static int page_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	return vtab_plan(&page_table, info);
}

/* False: the constraint holds for no row. Anything but an integer is left to SQLite. */
static bool filter_apply(struct page_filter *f, char letter, sqlite3_value *arg)
{
	bool is_int = sqlite3_value_type(arg) == SQLITE_INTEGER;
	int64_t v = sqlite3_value_int64(arg);

	if (letter == 'o' && sqlite3_value_type(arg) == SQLITE_TEXT) {
		int op = page_op_from_name((const char *)sqlite3_value_text(arg));

		if (op >= 0)
			f->ops_mask &= 1U << op;
	} else if (letter == 'p' && is_int) {
		if (v < 0 || (f->cpu >= 0 && f->cpu != v))
			return false;
		f->cpu = v;
	} else if (letter == 'f' && is_int) {
		vtab_narrow(&f->min_file_id, &f->max_file_id, v, v);
	}
	return true;
}

static int page_fail(sqlite3_vtab_cursor *cursor, int code, const struct err *err)
{
	return vtab_fail(cursor->pVtab, "page_event", code, err);
}

static int page_next(sqlite3_vtab_cursor *cursor)
{
	struct page_cursor *c = (struct page_cursor *)cursor;
	struct err err = { "" };
	int code = page_merge_next(c->merge, &c->row, &err);

	c->at_end = code != 1;
	return code < 0 ? page_fail(cursor, code, &err) : SQLITE_OK;
}

static int page_filter(sqlite3_vtab_cursor *cursor, int plan, const char *letters, int argc,
		       sqlite3_value **argv)
{
	struct page_cursor *c = (struct page_cursor *)cursor;
	struct page_filter filter = PAGE_FILTER_ALL;
	struct vtab_range range = VTAB_RANGE_ALL;
	struct err err = { "" };
	int code;

	page_merge_close(c->merge);
	c->merge = NULL;
	c->at_end = true;
	for (int i = 0; i < argc && letters[i]; i++)
		if (!vtab_range_apply(&range, letters[i], argv[i]) ||
		    !filter_apply(&filter, letters[i], argv[i]))
			return SQLITE_OK;
	filter.by_time = plan & VTAB_BY_TIME;
	filter.capture_id = range.capture_id;
	filter.from_ns = range.from_ns;
	filter.to_ns = range.to_ns;
	code = page_merge_open(((struct page_vtab *)cursor->pVtab)->db, &filter, &c->merge, &err);
	return code ? page_fail(cursor, code, &err) : page_next(cursor);
}

static int page_eof(sqlite3_vtab_cursor *cursor)
{
	return ((struct page_cursor *)cursor)->at_end;
}

static int page_column(sqlite3_vtab_cursor *cursor, sqlite3_context *ctx, int column)
{
	const struct page_row *row = &((struct page_cursor *)cursor)->row;
	const struct page_event *e = row->event;
	unsigned int known = page_op_columns(e->op);

	switch (column) {
	case COL_CAPTURE_ID:
		sqlite3_result_int64(ctx, row->capture_id);
		break;
	case COL_TS_NS:
		sqlite3_result_int64(ctx, e->ts_ns);
		break;
	case COL_CPU:
		sqlite3_result_int(ctx, row->cpu);
		break;
	case COL_PID:
		sqlite3_result_int64(ctx, e->pid);
		break;
	case COL_OP:
		sqlite3_result_text(ctx, page_op_name(e->op), -1, SQLITE_STATIC);
		break;
	case COL_FILE_ID:
		if (known & PAGE_COL_FILE && e->file_id)
			sqlite3_result_int64(ctx, e->file_id);
		break;
	case COL_PAGE_INDEX:
		if (known & PAGE_COL_INDEX)
			sqlite3_result_int64(ctx, e->page_index);
		break;
	case COL_PAGES:
		if (known & PAGE_COL_PAGES)
			sqlite3_result_int64(ctx, e->pages);
		break;
	case COL_PFN:
		if (known & PAGE_COL_PFN && e->pfn)
			sqlite3_result_int64(ctx, e->pfn);
		break;
	case COL_FLAGS:
		sqlite3_result_int64(ctx, e->flags);
		break;
	case COL_SAMPLE_MASK:
		sqlite3_result_int64(ctx, row->sample_mask);
		break;
	}
	return SQLITE_OK;	/* without a result: NULL */
}

static int page_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid)
{
	const struct page_row *row = &((struct page_cursor *)cursor)->row;

	*rowid = row->chunk_id * PAGE_CHUNK_EVENTS + row->position;
	return SQLITE_OK;
}

static const sqlite3_module page_module = {
	.iVersion = 2,
	.xCreate = NULL,	/* eponymous only */
	.xConnect = page_connect,
	.xBestIndex = page_best_index,
	.xDisconnect = vtab_free,
	.xOpen = page_open,
	.xClose = page_close,
	.xFilter = page_filter,
	.xNext = page_next,
	.xEof = page_eof,
	.xColumn = page_column,
	.xRowid = page_rowid,
};

int vtab_page_register(sqlite3 *db)
{
	return sqlite3_create_module_v2(db, "page_event", &page_module, NULL, NULL);
}
