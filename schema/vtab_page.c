// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vtab_page.c - the virtual table page_event: packed page events as rows.
 *
 * Eponymous (needs no CREATE), read-only, INNOCUOUS (views may use it). Rows come by (capture_id,
 * ts_ns, cpu, sequence). Constraints on capture_id, ts_ns, cpu, op and file_id go down to the
 * chunks: one that cannot hold a wanted row is never read. SQLite still checks each constraint
 * itself, so a constraint that is not understood here (an op that is no name, a time that is no
 * integer) costs time and nothing else.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "schema/page_merge.h"

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

static int page_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
			sqlite3_vtab **vtab, char **text)
{
	struct page_vtab *page;
	int rc = sqlite3_declare_vtab(db, page_event_schema);

	if (rc != SQLITE_OK)
		return rc;
	page = sqlite3_malloc(sizeof(*page));
	if (!page)
		return SQLITE_NOMEM;
	memset(page, 0, sizeof(*page));
	page->db = db;
	sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
	*vtab = &page->base;
	return SQLITE_OK;
}

static int page_disconnect(sqlite3_vtab *vtab)
{
	sqlite3_free(vtab);
	return SQLITE_OK;
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

/* One letter per argument of xFilter: which column, which comparison. 0: not for us. */
static char constraint_letter(int column, int op)
{
	if (op == SQLITE_INDEX_CONSTRAINT_EQ)
		switch (column) {
		case COL_CAPTURE_ID:
			return 'c';
		case COL_TS_NS:
			return 't';
		case COL_CPU:
			return 'p';
		case COL_OP:
			return 'o';
		case COL_FILE_ID:
			return 'f';
		}
	if (column == COL_TS_NS && (op == SQLITE_INDEX_CONSTRAINT_GE ||
				    op == SQLITE_INDEX_CONSTRAINT_GT))
		return '>';
	if (column == COL_TS_NS && (op == SQLITE_INDEX_CONSTRAINT_LE ||
				    op == SQLITE_INDEX_CONSTRAINT_LT))
		return '<';
	return 0;
}

/* ts_ns; capture_id, ts_ns: those are the orders in which rows come, or can. */
static bool order_is_ours(const sqlite3_index_info *info, bool one_capture, bool *by_time)
{
	int i = 0;

	if (!info->nOrderBy)
		return false;
	for (int k = 0; k < info->nOrderBy; k++)
		if (info->aOrderBy[k].desc)
			return false;
	if (info->aOrderBy[0].iColumn == COL_CAPTURE_ID)
		i++;
	if (info->nOrderBy - i > 1 ||
	    (i < info->nOrderBy && info->aOrderBy[i].iColumn != COL_TS_NS))
		return false;
	*by_time = !i && !one_capture;
	return true;
}

static int page_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	char letters[64];
	bool one_capture = false, by_time = false;
	double rows = 1e7;
	int nr = 0;

	for (int i = 0; i < info->nConstraint && nr < (int)sizeof(letters) - 1; i++) {
		char letter = constraint_letter(info->aConstraint[i].iColumn,
						info->aConstraint[i].op);

		if (!letter || !info->aConstraint[i].usable)
			continue;
		info->aConstraintUsage[i].argvIndex = nr + 1;
		letters[nr++] = letter;
		one_capture |= letter == 'c';
		rows /= letter == 't' ? 1e5 : letter == '<' || letter == '>' ? 3 : 4;
	}
	letters[nr] = '\0';
	info->orderByConsumed = order_is_ours(info, one_capture, &by_time);
	info->idxNum = by_time;
	info->idxStr = sqlite3_mprintf("%s", letters);
	info->needToFreeIdxStr = 1;
	info->estimatedRows = rows < 1 ? 1 : (sqlite3_int64)rows;
	info->estimatedCost = rows < 1 ? 1 : rows;
	return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

static void narrow(int64_t *low, int64_t *high, int64_t from, int64_t to)
{
	if (from > *low)
		*low = from;
	if (to < *high)
		*high = to;
}

/* False: the constraint holds for no row. Anything but an integer is left to SQLite. */
static bool filter_apply(struct page_filter *f, char letter, sqlite3_value *arg)
{
	int64_t v;

	if (sqlite3_value_type(arg) == SQLITE_NULL)
		return false;
	if (letter == 'o') {
		const char *name = (const char *)sqlite3_value_text(arg);
		int op = sqlite3_value_type(arg) == SQLITE_TEXT && name ?
			 page_op_from_name(name) : -EINVAL;

		if (op >= 0)
			f->ops_mask &= 1U << op;
		return true;
	}
	if (sqlite3_value_type(arg) != SQLITE_INTEGER)
		return true;
	v = sqlite3_value_int64(arg);
	switch (letter) {
	case 'c':
		if (v < 0 || (f->capture_id >= 0 && f->capture_id != v))
			return false;
		f->capture_id = v;
		break;
	case 'p':
		if (v < 0 || (f->cpu >= 0 && f->cpu != v))
			return false;
		f->cpu = v;
		break;
	case 't':
		narrow(&f->from_ns, &f->to_ns, v, v);
		break;
	case '>':
		narrow(&f->from_ns, &f->to_ns, v, INT64_MAX);
		break;
	case '<':
		narrow(&f->from_ns, &f->to_ns, INT64_MIN, v);
		break;
	case 'f':
		narrow(&f->min_file_id, &f->max_file_id, v, v);
		break;
	}
	return true;
}

static int page_fail(sqlite3_vtab_cursor *cursor, int code, const struct err *err)
{
	sqlite3_vtab *vtab = cursor->pVtab;

	sqlite3_free(vtab->zErrMsg);
	vtab->zErrMsg = sqlite3_mprintf("page_event: %s", err->text);
	switch (code) {
	case -EINTR:
		return SQLITE_INTERRUPT;
	case -ENOMEM:
		return SQLITE_NOMEM;
	case -EBADMSG:
		return SQLITE_CORRUPT_VTAB;
	default:
		return SQLITE_ERROR;
	}
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
	struct err err = { "" };
	int code;

	page_merge_close(c->merge);
	c->merge = NULL;
	c->at_end = true;
	filter.by_time = plan;
	for (int i = 0; i < argc && letters[i]; i++)
		if (!filter_apply(&filter, letters[i], argv[i]))
			return SQLITE_OK;
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
	.xDisconnect = page_disconnect,
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
