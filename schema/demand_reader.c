// SPDX-License-Identifier: GPL-2.0-or-later
/* demand_reader.c - the stored demand stream back as arrays; page places, extents, tasks;
 * page_reader. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/demand.h"
#include "schema/page_merge.h"
#include "schema/svb.h"

struct demand_reader {
	struct store *store;
	sqlite3_stmt *stmt, *times;
	int64_t stream_id;
	int64_t nr_ids, nr_tasks;	/* what chunks may name */
	unsigned int columns;
	struct demand_columns into;
	uint32_t scratch[4 * (DEMAND_CHUNK_RECORDS + SVB_PAD_VALUES)];
};

/* Columns that are not asked for are not read: SQLite leaves their pages alone. */
static const char *const reader_sql[] = {
	[0] = "SELECT nr_records, pages, NULL, NULL, idx FROM demand_chunk WHERE stream_id = ?1"
	      " ORDER BY idx",
	[DEMAND_COL_TIME] = "SELECT nr_records, pages, NULL, ts, idx FROM demand_chunk"
			    " WHERE stream_id = ?1 ORDER BY idx",
	[DEMAND_COL_TASK] = "SELECT nr_records, pages, task, NULL, idx FROM demand_chunk"
			    " WHERE stream_id = ?1 ORDER BY idx",
	[DEMAND_COL_TIME | DEMAND_COL_TASK] = "SELECT nr_records, pages, task, ts, idx"
			    " FROM demand_chunk WHERE stream_id = ?1 ORDER BY idx",
};

static int limits_read(struct demand_reader *r, struct err *err)
{
	const struct value values[] = { VALUE_OF_INT(r->stream_id) };
	bool found;
	int code = store_get_int(r->store, "SELECT nr_ids FROM demand_stream WHERE id = ?1", values,
				 1, &r->nr_ids, &found, err);

	if (!code && !found)
		code = err_set(err, -ENODATA, "no demand stream %lld in '%s'",
			       (long long)r->stream_id, store_path(r->store));
	if (!code)
		code = store_get_int(r->store, "SELECT 1 + coalesce(max(task), 0) FROM demand_task"
				     " WHERE stream_id = ?1", values, 1, &r->nr_tasks, &found, err);
	return code;
}

int demand_reader_open(struct store *store, int64_t stream_id, unsigned int columns,
		       struct demand_reader **reader, struct err *err)
{
	struct demand_reader *r = malloc(sizeof(*r));
	int code, rc;

	*reader = NULL;
	if (!r || demand_columns_new(&r->into)) {
		free(r);
		return err_set(err, -ENOMEM, "no memory to read the demand stream");
	}
	r->store = store;
	r->stmt = r->times = NULL;
	r->stream_id = stream_id;
	r->columns = columns & (DEMAND_COL_TIME | DEMAND_COL_TASK);
	code = limits_read(r, err);
	if (code) {
		demand_reader_close(r);
		return code;
	}
	/* mapped, not copied: 1.2 ns an access against 2.2; if it cannot be, it is copied */
	sqlite3_exec(store->db, "PRAGMA mmap_size = 2147418112", NULL, NULL, NULL);
	rc = sqlite3_prepare_v2(store->db, reader_sql[r->columns], -1, &r->stmt, NULL);
	if (rc) {
		demand_reader_close(r);
		return store_fail(store, rc, err, "cannot read");
	}
	sqlite3_bind_int64(r->stmt, 1, stream_id);
	*reader = r;
	return 0;
}

static int blob_column(sqlite3_stmt *stmt, int column, const uint8_t **data, size_t *data_bytes)
{
	*data = sqlite3_column_blob(stmt, column);
	*data_bytes = sqlite3_column_bytes(stmt, column);
	return *data != NULL;
}

/* In blocks of a fixed length, which compilers vectorize. */
static inline __attribute__((always_inline)) uint32_t largest_of(const uint32_t *values, size_t nr)
{
	uint32_t largest = 0;
	size_t i = 0;

	for (; i + 64 <= nr; i += 64)
		for (size_t k = 0; k < 64; k++)
			largest = values[i + k] > largest ? values[i + k] : largest;
	for (; i < nr; i++)
		largest = values[i] > largest ? values[i] : largest;
	return largest;
}

#if defined(__x86_64__)
static __attribute__((target("avx2"))) uint32_t largest_avx2(const uint32_t *values, size_t nr)
{
	return largest_of(values, nr);
}
#endif

static bool all_below(const uint32_t *values, size_t nr, int64_t limit)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2"))
		return !nr || largest_avx2(values, nr) < limit;
#endif
	return !nr || largest_of(values, nr) < limit;
}

/* No page of a run is @limit or more; in 32 bits, a sum that overflows is less than the page. */
static bool runs_below(const uint32_t *page, const uint32_t *run, size_t nr, int64_t limit)
{
	uint32_t most = limit < UINT32_MAX ? (uint32_t)limit : UINT32_MAX, beyond = 0;
	size_t i = 0;

	for (; i + 64 <= nr; i += 64)
		for (size_t k = 0; k < 64; k++)
			beyond |= (page[i + k] + run[i + k] > most) |
				  (page[i + k] + run[i + k] < page[i + k]);
	for (; i < nr; i++)
		beyond |= (page[i] + run[i] > most) | (page[i] + run[i] < page[i]);
	return !beyond;
}

/* Records that count pages and name none. */
static bool counts_pages(uint8_t op)
{
	return op == DEMAND_CHARGE || op == DEMAND_UNCHARGE || op == DEMAND_LIMIT;
}

/* Models use pages and tasks as array indexes without a look: they must be what the stream says. */
static bool block_is_sound(const struct demand_reader *r, const struct demand_block *block)
{
	bool sound = true;

	if (block->task && !all_below(block->task, block->nr, r->nr_tasks))
		return false;
	for (size_t i = 0; block->op && i < block->nr; i++)
		sound &= block->op[i] < NR_DEMAND_OPS;
	if (!block->run)
		return sound && all_below(block->page, block->nr, r->nr_ids);
	if (!block->op)
		return sound && runs_below(block->page, block->run, block->nr, r->nr_ids);
	for (size_t i = 0; i < block->nr; i++)
		sound &= (uint64_t)block->page[i] + block->run[i] <= (uint64_t)r->nr_ids ||
			 counts_pages(block->op[i]);
	return sound;
}

static int chunk_unpack(struct demand_reader *r, struct demand_block *block)
{
	const uint8_t *data;
	size_t bytes;
	int64_t nr = sqlite3_column_int64(r->stmt, 0);

	if (nr < 1 || nr > DEMAND_CHUNK_RECORDS || !blob_column(r->stmt, 1, &data, &bytes) ||
	    demand_chunk_decode_pages(data, bytes, &r->into, nr, r->scratch, block))
		return -EBADMSG;
	if (blob_column(r->stmt, 2, &data, &bytes) &&
	    demand_chunk_decode_task(data, bytes, &r->into, nr, r->scratch, block))
		return -EBADMSG;
	if (!block_is_sound(r, block))
		return -EBADMSG;
	if (!(r->columns & DEMAND_COL_TIME))
		return 0;
	if (!blob_column(r->stmt, 3, &data, &bytes))
		return -EBADMSG;
	return demand_chunk_decode_ts(data, bytes, &r->into, nr, r->scratch, block);
}

static int chunk_damaged(struct demand_reader *r, struct err *err)
{
	return err_set(err, -EBADMSG, "demand_chunk %lld of stream %lld in '%s' is damaged",
		       (long long)sqlite3_column_int64(r->stmt, 4), (long long)r->stream_id,
		       store_path(r->store));
}

int demand_reader_next(struct demand_reader *r, struct demand_block *block, struct err *err)
{
	int rc = sqlite3_step(r->stmt);

	if (rc == SQLITE_DONE) {
		*block = (struct demand_block){ 0 };
		return 0;
	}
	if (rc != SQLITE_ROW)
		return store_fail(r->store, rc, err, "cannot read");
	if (chunk_unpack(r, block))
		return chunk_damaged(r, err);
	return 1;
}

/* A statement of its own: SQLite would copy a column that is named, be it looked at or not. */
int demand_reader_times(struct demand_reader *r, struct demand_block *block, struct err *err)
{
	const uint8_t *data;
	size_t bytes;
	int rc = SQLITE_OK, code = -EBADMSG;

	if (block->ts_ns)
		return 0;
	if (!r->times)
		rc = sqlite3_prepare_v2(r->store->db, "SELECT ts FROM demand_chunk"
					" WHERE stream_id = ?1 AND idx = ?2", -1, &r->times, NULL);
	if (rc)
		return store_fail(r->store, rc, err, "cannot read");
	sqlite3_bind_int64(r->times, 1, r->stream_id);
	sqlite3_bind_int64(r->times, 2, sqlite3_column_int64(r->stmt, 4));
	rc = sqlite3_step(r->times);
	if (rc == SQLITE_ROW && blob_column(r->times, 0, &data, &bytes))
		code = demand_chunk_decode_ts(data, bytes, &r->into, block->nr, r->scratch, block);
	sqlite3_reset(r->times);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return store_fail(r->store, rc, err, "cannot read");
	return code ? chunk_damaged(r, err) : 0;
}

int demand_reader_rewind(struct demand_reader *r, struct err *err)
{
	sqlite3_reset(r->stmt);
	return 0;
}

void demand_reader_close(struct demand_reader *r)
{
	if (!r)
		return;
	sqlite3_finalize(r->stmt);
	sqlite3_finalize(r->times);
	demand_columns_free(&r->into);
	free(r);
}

/* ---- places, extents, tasks ------------------------------------------------------------------ */

int demand_page_place(struct store *store, int64_t stream_id, uint32_t page, uint32_t *file_id,
		      uint64_t *page_index, struct err *err)
{
	sqlite3_stmt *stmt = store_stmt(store, "SELECT file_id, first_index + ?2 - first_id"
					" FROM demand_extent WHERE stream_id = ?1 AND first_id ="
					" (SELECT max(first_id) FROM demand_extent"
					"  WHERE stream_id = ?1 AND first_id <= ?2)"
					" AND ?2 < first_id + pages", err);
	int rc;

	if (!stmt)
		return store_errno(store, sqlite3_extended_errcode(store->db));
	sqlite3_bind_int64(stmt, 1, stream_id);
	sqlite3_bind_int64(stmt, 2, page);
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW) {
		*file_id = sqlite3_column_int64(stmt, 0);
		*page_index = sqlite3_column_int64(stmt, 1);
	}
	sqlite3_reset(stmt);
	if (rc == SQLITE_DONE)
		return err_set(err, -ENOENT, "no page %u in stream %lld", page,
			       (long long)stream_id);
	return rc == SQLITE_ROW ? 0 : store_fail(store, rc, err, "cannot read");
}

/* Room for one more in an array of @nr; doubles. */
static int array_reserve(void **array, size_t *slots, size_t nr, size_t item_bytes)
{
	size_t wanted = *slots ? 2 * *slots : 64;
	void *grown;

	if (nr < *slots)
		return 0;
	grown = realloc(*array, wanted * item_bytes);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*slots = wanted;
	return 0;
}

int demand_extents(struct store *store, int64_t stream_id, struct demand_extent **extents,
		   size_t *nr_extents, struct err *err)
{
	struct demand_extent *e = NULL;
	size_t nr = 0, slots = 0;
	struct query *query;
	int code = query_open(store, &query, "SELECT first_id, pages, file_id, pid, first_index,"
			      " file_pages FROM demand_extent WHERE stream_id = ?1"
			      " ORDER BY first_id", err);

	if (code)
		return code;
	query_bind(query, 1, VALUE_OF_INT(stream_id));
	code = array_reserve((void **)&e, &slots, nr, sizeof(*e));
	while (!code && (code = query_step(query, err)) == 1) {
		e[nr++] = (struct demand_extent){
			.first_id = query_int(query, 0),
			.pages = query_int(query, 1),
			.file_id = query_int(query, 2),
			.pid = query_int(query, 3),
			.first_index = query_int(query, 4),
			.file_pages = query_is_null(query, 5) ? UINT64_MAX :
				      (uint64_t)query_int(query, 5),
		};
		code = array_reserve((void **)&e, &slots, nr, sizeof(*e));
	}
	query_close(query);
	if (code) {
		free(e);
		return err_set(err, code, "cannot read the extents of stream %lld",
			       (long long)stream_id);
	}
	*extents = e;
	*nr_extents = nr;
	return 0;
}

static int task_from_row(struct query *query, struct demand_task *task)
{
	const char *comm = query_text(query, 2), *cgroup = query_text(query, 3);

	task->pid = query_int(query, 1);
	snprintf(task->comm, sizeof(task->comm), "%s", comm ? comm : "");
	task->cgroup = cgroup ? strdup(cgroup) : NULL;
	return cgroup && !task->cgroup ? -ENOMEM : 0;
}

int demand_tasks(struct store *store, int64_t stream_id, struct demand_task **tasks,
		 size_t *nr_tasks, struct err *err)
{
	struct demand_task *t = NULL;
	size_t nr = 1, slots = 0;
	struct query *query;
	int code = query_open(store, &query, "SELECT task, pid, comm, cgroup FROM demand_task"
			      " WHERE stream_id = ?1 ORDER BY task", err);

	if (code)
		return code;
	query_bind(query, 1, VALUE_OF_INT(stream_id));
	code = array_reserve((void **)&t, &slots, nr, sizeof(*t));
	if (!code)
		t[0] = (struct demand_task){ 0 };
	while (!code && (code = query_step(query, err)) == 1) {
		code = query_int(query, 0) != (int64_t)nr ? -EBADMSG :
		       array_reserve((void **)&t, &slots, nr, sizeof(*t));
		if (!code) {
			t[nr] = (struct demand_task){ 0 };
			code = task_from_row(query, &t[nr++]);
		}
	}
	query_close(query);
	if (code) {
		if (t)
			demand_tasks_free(t, nr);
		return err_set(err, code, "cannot read the tasks of stream %lld",
			       (long long)stream_id);
	}
	*tasks = t;
	*nr_tasks = nr;
	return 0;
}

void demand_tasks_free(struct demand_task *tasks, size_t nr_tasks)
{
	for (size_t i = 0; tasks && i < nr_tasks; i++)
		free(tasks[i].cgroup);
	free(tasks);
}

/* ---- page events ----------------------------------------------------------------------------- */

struct page_reader {
	struct page_merge *merge;
	struct page_row row;
};

int page_reader_open(struct store *store, int64_t capture_id, uint32_t ops_mask,
		     struct page_reader **reader, struct err *err)
{
	struct page_filter filter = PAGE_FILTER_ALL;
	struct page_reader *r = calloc(1, sizeof(*r));
	int code;

	*reader = NULL;
	if (!r)
		return err_set(err, -ENOMEM, "no memory to read page events");
	filter.capture_id = capture_id;
	filter.ops_mask = ops_mask;
	code = page_merge_open(store->db, &filter, &r->merge, err);
	if (code)
		free(r);
	else
		*reader = r;
	return code;
}

int page_reader_next(struct page_reader *r, const struct page_event **event, int *cpu,
		     struct err *err)
{
	int code = page_merge_next(r->merge, &r->row, err);

	if (code == 1) {
		*event = r->row.event;
		*cpu = r->row.cpu;
	}
	return code;
}

void page_reader_close(struct page_reader *r)
{
	if (!r)
		return;
	page_merge_close(r->merge);
	free(r);
}
