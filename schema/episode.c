// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * episode.c - reclaim_episode in one pass.
 *
 * The view of that name (views.sql) pairs begin with end by two sorts of all that happened: 11 s
 * for half a million episodes. It has to be SQL, for the plain sqlite3 shell reads it. Here the
 * same rows come out of one pass over the events in order of time: an open begin and a running sum
 * of scanned pages are kept for each task. A store hides the view behind a temporary one that reads
 * this table (page_event and the packed events are such tables too: see vtab.h), and test_views.c
 * holds the two against each other.
 *
 * Two events belong together when they follow each other in one task and one kind and no gap lies
 * between them. Gaps are kept by their begin, each with the latest end of all up to it: whether any
 * lies across a pair is one search.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/schema.h"
#include "schema/vtab.h"

extern const char sql_schema_reclaim_stream[];
extern const char sql_schema_views[];

enum { COL_KIND = 1, COL_PID, COL_CPU, COL_START_NS, COL_END_NS, COL_DURATION_NS, COL_NR_RECLAIMED,
       COL_NR_SCANNED, COL_PAGE_ORDER, COL_GFP_FLAGS, COL_NID };

static const char episode_schema[] =
	"CREATE TABLE x(capture_id, kind, pid, cpu, start_ns, end_ns, duration_ns, nr_reclaimed,"
	" nr_scanned, page_order, gfp_flags, nid)";

/* Columns of reclaim_stream.sql. */
enum { IN_CAPTURE, IN_TS, IN_STEP, IN_KIND, IN_PID, IN_CPU, IN_NUMBER, IN_ORDER, IN_GFP, IN_NID };
enum { STEP_SCAN, STEP_END, STEP_BEGIN };

static const char *const kinds[] = { NULL, "direct", "memcg", "softlimit", "node" };

/* A value that outlives its row. */
struct cell {
	int type;	/* as sqlite3_value_type(); 0: NULL too */
	int64_t i;
	sqlite3_value *other;	/* neither an integer nor NULL */
};

/* What reclaim_episode shows of a begin, or of an end alone. */
struct episode {
	int kind;
	int64_t pid;
	struct cell cpu, page_order, gfp_flags, nid, nr_reclaimed;
	int64_t start_ns, end_ns;
	bool has_start, has_end;
	int64_t sum_scanned;	/* of its task: up to the begin; in a row: between both */
};

/* Scanned by one task. */
struct scanned {
	int64_t sum, before;	/* before: without what has the latest time */
	int64_t ts_ns;
};

struct gap {
	int64_t from_ns, latest_end_ns;
};

struct episode_cursor {
	sqlite3_vtab_cursor base;
	sqlite3_stmt *events;
	bool more;		/* events stands on a row that was not looked at */
	int64_t capture_id;
	bool knows_scanned;
	struct file_map *map;	/* (kind, pid): open begins; (0, pid): scanned */
	struct episode *begins;
	struct scanned *scanned;
	uint32_t nr, room;	/* of both */
	uint32_t flushed;	/* begins up to here are through: the capture has ended */
	struct gap *gaps;
	size_t nr_gaps;
	struct episode out[2];
	int nr_out;		/* the last of them is the row; -1: at the end */
	int64_t out_capture_id, rowid;
};

struct episode_vtab {
	sqlite3_vtab base;
	sqlite3 *db;
};

static int episode_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
			   sqlite3_vtab **vtab, char **text)
{
	int rc = vtab_make(db, episode_schema, sizeof(struct episode_vtab), vtab);

	if (rc == SQLITE_OK)
		((struct episode_vtab *)*vtab)->db = db;
	return rc;
}

static int episode_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	static const struct vtab_table table = {
		.letters = "c", .rows = 1e6, .least_cost = 1e6, .time_share = 1,
	};
	int rc;

	/* start_ns stands where others have their time: no constraint on it helps */
	rc = vtab_plan(&table, info);
	info->orderByConsumed = 0;
	return rc;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void cell_release(struct cell *cell)
{
	sqlite3_value_free(cell->other);
	*cell = (struct cell){ 0 };
}

static void cell_read(struct cell *cell, sqlite3_stmt *stmt, int column)
{
	*cell = (struct cell){ .type = sqlite3_column_type(stmt, column) };
	if (cell->type == SQLITE_INTEGER)
		cell->i = sqlite3_column_int64(stmt, column);
	else if (cell->type != SQLITE_NULL)
		cell->other = sqlite3_value_dup(sqlite3_column_value(stmt, column));
}

static void cell_result(sqlite3_context *ctx, const struct cell *cell)
{
	if (cell->other)
		sqlite3_result_value(ctx, cell->other);
	else if (cell->type == SQLITE_INTEGER)
		sqlite3_result_int64(ctx, cell->i);
}

static void episode_release(struct episode *e)
{
	cell_release(&e->cpu);
	cell_release(&e->page_order);
	cell_release(&e->gfp_flags);
	cell_release(&e->nid);
	cell_release(&e->nr_reclaimed);
	*e = (struct episode){ 0 };
}

static void capture_clear(struct episode_cursor *c)
{
	for (uint32_t i = 0; i < c->nr; i++)
		episode_release(&c->begins[i]);
	file_map_free(c->map);
	free(c->gaps);
	c->map = NULL;
	c->gaps = NULL;
	c->nr_gaps = 0;
	c->nr = c->flushed = 0;
}

static void cursor_clear(struct episode_cursor *c)
{
	capture_clear(c);
	for (int i = 0; i < 2; i++)
		episode_release(&c->out[i]);
	sqlite3_finalize(c->events);
	free(c->begins);
	free(c->scanned);
	c->events = NULL;
	c->begins = NULL;
	c->scanned = NULL;
	c->room = 0;
	c->nr_out = -1;
	c->more = false;
}

static int episode_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor)
{
	struct episode_cursor *c = sqlite3_malloc(sizeof(*c));

	if (!c)
		return SQLITE_NOMEM;
	*c = (struct episode_cursor){ .nr_out = -1 };
	*cursor = &c->base;
	return SQLITE_OK;
}

static int episode_close(sqlite3_vtab_cursor *cursor)
{
	cursor_clear((struct episode_cursor *)cursor);
	sqlite3_free(cursor);
	return SQLITE_OK;
}

static bool rooms_grow(struct episode_cursor *c)
{
	uint32_t room = c->room ? 2 * c->room : 64;
	struct episode *begins = realloc(c->begins, room * sizeof(*begins));
	struct scanned *scanned;

	if (!begins)
		return false;
	c->begins = begins;
	scanned = realloc(c->scanned, room * sizeof(*scanned));
	if (!scanned)
		return false;
	c->scanned = scanned;
	c->room = room;
	return true;
}

/* The place of a kind and a task, from 0. UINT32_MAX: no memory. */
static uint32_t place_of(struct episode_cursor *c, int kind, int64_t pid)
{
	bool fresh;
	uint32_t id = file_map_id(c->map, (uint32_t)kind, (uint64_t)pid, &fresh);

	if (!id || (id > c->room && !rooms_grow(c)))
		return UINT32_MAX;
	if (fresh) {
		c->begins[id - 1] = (struct episode){ 0 };
		c->scanned[id - 1] = (struct scanned){ .ts_ns = INT64_MIN };
		c->nr = id;
	}
	return id - 1;
}

/* ---- a capture ------------------------------------------------------------------------------- */

static sqlite3 *cursor_db(const struct episode_cursor *c)
{
	return ((struct episode_vtab *)c->base.pVtab)->db;
}

static int prepare(struct episode_cursor *c, const char *sql, sqlite3_stmt **stmt)
{
	int rc = sqlite3_prepare_v2(cursor_db(c), sql, -1, stmt, NULL);

	if (rc == SQLITE_OK)
		sqlite3_bind_int64(*stmt, 1, c->capture_id);
	return rc;
}

static int gaps_read(struct episode_cursor *c)
{
	int64_t latest = INT64_MIN;
	sqlite3_stmt *stmt;
	size_t room = 0;
	int rc = prepare(c, "SELECT from_ns, to_ns FROM gap WHERE capture_id = ?1"
			 " AND stream <> 'demand' ORDER BY from_ns", &stmt);

	if (rc)
		return rc;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		if (c->nr_gaps == room) {
			struct gap *gaps = realloc(c->gaps, (room = 2 * room + 16) * sizeof(*gaps));

			if (!gaps) {
				rc = SQLITE_NOMEM;
				break;
			}
			c->gaps = gaps;
		}
		if (sqlite3_column_int64(stmt, 1) > latest)
			latest = sqlite3_column_int64(stmt, 1);
		c->gaps[c->nr_gaps++] = (struct gap){ sqlite3_column_int64(stmt, 0), latest };
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Does a gap lie across [from, to]? */
static bool is_cut(const struct episode_cursor *c, int64_t from_ns, int64_t to_ns)
{
	size_t low = 0, high = c->nr_gaps;

	while (low < high) {	/* the first that begins at @to_ns or later */
		size_t middle = low + (high - low) / 2;

		if (c->gaps[middle].from_ns < to_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low && c->gaps[low - 1].latest_end_ns > from_ns;
}

static int capture_begin(struct episode_cursor *c, int64_t capture_id)
{
	sqlite3_stmt *stmt;
	int rc;

	capture_clear(c);
	c->capture_id = capture_id;
	c->map = file_map_new(1);
	if (!c->map)
		return SQLITE_NOMEM;
	rc = prepare(c, "SELECT EXISTS (SELECT 1 FROM mm_vmscan_lru_shrink_inactive"
		     " WHERE capture_id = ?1)", &stmt);
	if (rc)
		return rc;
	rc = sqlite3_step(stmt);
	c->knows_scanned = rc == SQLITE_ROW && sqlite3_column_int(stmt, 0);
	sqlite3_finalize(stmt);
	return rc == SQLITE_ROW ? gaps_read(c) : rc;
}

/* ---- events ---------------------------------------------------------------------------------- */

static int take_scan(struct episode_cursor *c, int64_t ts_ns, int64_t pid)
{
	uint32_t place = place_of(c, 0, pid);
	struct scanned *s;

	if (place == UINT32_MAX)
		return SQLITE_NOMEM;
	s = &c->scanned[place];
	if (s->ts_ns != ts_ns)
		s->before = s->sum;
	s->ts_ns = ts_ns;
	s->sum += sqlite3_column_int64(c->events, IN_NUMBER);
	return SQLITE_OK;
}

/* Up to @ts_ns: what was scanned at that very time lies behind a begin, and before an end. */
static int64_t scanned_until(struct episode_cursor *c, int64_t ts_ns, int64_t pid, bool inclusive)
{
	uint32_t id = file_map_find(c->map, 0, (uint64_t)pid);
	const struct scanned *s = id ? &c->scanned[id - 1] : NULL;

	if (!s)
		return 0;
	return !inclusive && s->ts_ns == ts_ns ? s->before : s->sum;
}

static void event_read(struct episode_cursor *c, struct episode *e, bool is_begin)
{
	*e = (struct episode){
		.kind = sqlite3_column_int(c->events, IN_KIND),
		.pid = sqlite3_column_int64(c->events, IN_PID),
	};
	cell_read(&e->cpu, c->events, IN_CPU);
	if (is_begin) {
		cell_read(&e->page_order, c->events, IN_ORDER);
		cell_read(&e->gfp_flags, c->events, IN_GFP);
		cell_read(&e->nid, c->events, IN_NID);
		e->has_start = true;
		e->start_ns = sqlite3_column_int64(c->events, IN_TS);
	} else {
		cell_read(&e->nr_reclaimed, c->events, IN_NUMBER);
		e->has_end = true;
		e->end_ns = sqlite3_column_int64(c->events, IN_TS);
	}
}

/* Rows come out of out[] from the last to the first. */
static void emit(struct episode_cursor *c, struct episode *e)
{
	c->out[c->nr_out++] = *e;
	*e = (struct episode){ 0 };
}

static void take_end(struct episode_cursor *c, struct episode *begin)
{
	struct episode end;

	event_read(c, &end, false);
	if (begin->kind && !is_cut(c, begin->start_ns, end.end_ns)) {
		begin->has_end = true;
		begin->end_ns = end.end_ns;
		begin->nr_reclaimed = end.nr_reclaimed;
		begin->sum_scanned = scanned_until(c, end.end_ns, end.pid, true) -
				     begin->sum_scanned;
		end.nr_reclaimed = (struct cell){ 0 };
		episode_release(&end);
	} else {
		emit(c, &end);
	}
	if (begin->kind)
		emit(c, begin);
}

static int take_event(struct episode_cursor *c)
{
	int step = sqlite3_column_int(c->events, IN_STEP);
	int64_t ts_ns = sqlite3_column_int64(c->events, IN_TS);
	int64_t pid = sqlite3_column_int64(c->events, IN_PID);
	uint32_t place;

	if (step == STEP_SCAN)
		return take_scan(c, ts_ns, pid);
	place = place_of(c, sqlite3_column_int(c->events, IN_KIND), pid);
	if (place == UINT32_MAX)
		return SQLITE_NOMEM;
	if (step == STEP_END) {
		take_end(c, &c->begins[place]);
		return SQLITE_OK;
	}
	if (c->begins[place].kind)
		emit(c, &c->begins[place]);
	event_read(c, &c->begins[place], true);
	c->begins[place].sum_scanned = scanned_until(c, ts_ns, pid, false);
	return SQLITE_OK;
}

/* The next begin that never ended, at the end of a capture. */
static bool flush_one(struct episode_cursor *c)
{
	while (c->flushed < c->nr && !c->begins[c->flushed].kind)
		c->flushed++;
	if (c->flushed == c->nr)
		return false;
	emit(c, &c->begins[c->flushed++]);
	return true;
}

static int events_step(struct episode_cursor *c)
{
	int rc = sqlite3_step(c->events);

	c->more = rc == SQLITE_ROW;
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Until there is a row, or nothing more. */
static int advance(struct episode_cursor *c)
{
	int rc = SQLITE_OK;

	while (!rc && !c->nr_out) {
		bool same = c->more && c->map &&
			    sqlite3_column_int64(c->events, IN_CAPTURE) == c->capture_id;

		c->out_capture_id = c->capture_id;
		if (!same && flush_one(c))
			break;
		if (!c->more) {
			c->nr_out = -1;
			break;
		}
		if (!same)
			rc = capture_begin(c, sqlite3_column_int64(c->events, IN_CAPTURE));
		c->out_capture_id = c->capture_id;
		if (!rc)
			rc = take_event(c);
		if (!rc)
			rc = events_step(c);
	}
	return rc;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int episode_next(sqlite3_vtab_cursor *cursor)
{
	struct episode_cursor *c = (struct episode_cursor *)cursor;

	episode_release(&c->out[--c->nr_out]);
	c->rowid++;
	return c->nr_out ? SQLITE_OK : advance(c);
}

static int episode_filter(sqlite3_vtab_cursor *cursor, int plan, const char *letters, int argc,
			  sqlite3_value **argv)
{
	struct episode_cursor *c = (struct episode_cursor *)cursor;
	struct vtab_range range = VTAB_RANGE_ALL;
	int rc;

	cursor_clear(c);
	for (int i = 0; i < argc && letters[i]; i++)
		if (!vtab_range_apply(&range, letters[i], argv[i]))
			return SQLITE_OK;
	rc = sqlite3_prepare_v2(cursor_db(c), sql_schema_reclaim_stream, -1, &c->events, NULL);
	if (rc)
		return rc;
	sqlite3_bind_int64(c->events, 1, range.capture_id < 0 ? 0 : range.capture_id);
	sqlite3_bind_int64(c->events, 2, range.capture_id < 0 ? INT64_MAX : range.capture_id);
	c->nr_out = 0;
	c->rowid = 0;
	rc = events_step(c);
	return rc ? rc : advance(c);
}

static int episode_eof(sqlite3_vtab_cursor *cursor)
{
	return ((struct episode_cursor *)cursor)->nr_out < 0;
}

static int episode_column(sqlite3_vtab_cursor *cursor, sqlite3_context *ctx, int column)
{
	const struct episode_cursor *c = (struct episode_cursor *)cursor;
	const struct episode *e = &c->out[c->nr_out - 1];
	bool whole = e->has_start && e->has_end;

	switch (column) {
	case VTAB_CAPTURE_ID:
		sqlite3_result_int64(ctx, c->out_capture_id);
		break;
	case COL_KIND:
		sqlite3_result_text(ctx, kinds[e->kind], -1, SQLITE_STATIC);
		break;
	case COL_PID:
		sqlite3_result_int64(ctx, e->pid);
		break;
	case COL_CPU:
		cell_result(ctx, &e->cpu);
		break;
	case COL_START_NS:
		if (e->has_start)
			sqlite3_result_int64(ctx, e->start_ns);
		break;
	case COL_END_NS:
		if (e->has_end)
			sqlite3_result_int64(ctx, e->end_ns);
		break;
	case COL_DURATION_NS:
		if (whole)
			sqlite3_result_int64(ctx, e->end_ns - e->start_ns);
		break;
	case COL_NR_RECLAIMED:
		cell_result(ctx, &e->nr_reclaimed);
		break;
	case COL_NR_SCANNED:
		if (whole && c->knows_scanned)
			sqlite3_result_int64(ctx, e->sum_scanned);
		break;
	case COL_PAGE_ORDER:
		cell_result(ctx, &e->page_order);
		break;
	case COL_GFP_FLAGS:
		cell_result(ctx, &e->gfp_flags);
		break;
	case COL_NID:
		cell_result(ctx, &e->nid);
		break;
	}
	return SQLITE_OK;	/* without a result: NULL */
}

static int episode_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid)
{
	*rowid = ((struct episode_cursor *)cursor)->rowid;
	return SQLITE_OK;
}

static const sqlite3_module episode_module = {
	.iVersion = 2,
	.xCreate = NULL,	/* eponymous only */
	.xConnect = episode_connect,
	.xBestIndex = episode_best_index,
	.xDisconnect = vtab_free,
	.xOpen = episode_open,
	.xClose = episode_close,
	.xFilter = episode_filter,
	.xNext = episode_next,
	.xEof = episode_eof,
	.xColumn = episode_column,
	.xRowid = episode_rowid,
};

/* A view of views.sql once more, as a temporary one: so it reads what else is temporary. */
static int view_again(sqlite3 *db, const char *name)
{
	char *head = sqlite3_mprintf("CREATE VIEW %s AS", name), *sql = NULL;
	const char *from = head ? strstr(sql_schema_views, head) : NULL;
	const char *end = from ? strstr(from, ";\n") : NULL;
	int rc = head ? SQLITE_ERROR : SQLITE_NOMEM;

	if (end) {
		from += strlen("CREATE VIEW ");
		sql = sqlite3_mprintf("CREATE TEMP VIEW %.*s", (int)(end - from), from);
		rc = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
	}
	sqlite3_free(sql);
	sqlite3_free(head);
	return rc;
}

int episode_register(sqlite3 *db)
{
	int rc = sqlite3_create_module_v2(db, "reclaim_pair", &episode_module, NULL, NULL);

	if (!rc)
		rc = sqlite3_exec(db, "CREATE TEMP VIEW reclaim_episode AS"
				  " SELECT * FROM reclaim_pair", NULL, NULL, NULL);
	return rc ? rc : view_again(db, "reclaim_cpu");
}
