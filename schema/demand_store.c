// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * demand_store.c - derives the demand stream of a capture and stores it.
 *
 * The page events are read two or three times, so that memory depends on the number of distinct
 * pages and not on the length of the capture: how far files reach and which tasks were followed
 * (unless requests are exact); which pages there are; then, with the ids allotted, the records
 * themselves.
 *
 * A thinned capture recorded only events whose first page index is a multiple of a power of two.
 * Its records are cut down to such pages, whatever their length: a sample of the pages, each with
 * all of its accesses.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/demand.h"
#include "schema/page_merge.h"

enum {
	DEFAULT_AROUND_PAGES = 32,
	MAX_AROUND_PAGES = 2048,
	MAPPED_SHARE = 4,	/* 'mapped': every fourth record came through a mapping */
};

struct builder {
	struct store *store;
	struct demand_info *info;
	struct demand_pages *pages;
	struct file_map *tasks;		/* (0, pid) -> number from 1 */
	uint32_t *task_pids;
	uint32_t nr_tasks, task_slots;
	uint32_t ops_seen;		/* page ops in the capture */
	uint64_t nr_events;
	uint64_t nr_mapped;		/* records of faults and fault-around */
	int64_t idx;
	struct demand_columns columns;
	struct demand_rules rules;
	struct err *err;
};

/* ---- from the database ----------------------------------------------------------------------- */

static int info_from_row(struct query *query, struct demand_info *info, struct err *err)
{
	const char *text;
	int code = query_step(query, err);

	if (code != 1)
		return code;
	*info = (struct demand_info){
		.stream_id = query_int(query, 0),
		.capture_id = query_int(query, 1),
		.nr_records = query_int(query, 2),
		.nr_accesses = query_int(query, 3),
		.nr_distinct_pages = query_int(query, 4),
		.nr_ids = query_int(query, 5),
		.first_ts_ns = query_int(query, 6),
		.last_ts_ns = query_int(query, 7),
		.ops_mask = query_int(query, 8),
		.sample_mask = query_int(query, 9),
		.has_hits = query_int(query, 10),
		.coverage_pct = query_real(query, 11),
	};
	text = query_text(query, 12);
	snprintf(info->completeness, sizeof(info->completeness), "%s", text ? text : "");
	return 1;
}

static int stream_find(struct store *store, int64_t capture_id, struct demand_info *info,
		       struct err *err)
{
	struct query *query;
	int code = query_open(store, &query, "SELECT id, capture_id, nr_records, nr_accesses,"
			      " nr_distinct_pages, nr_ids, first_ts_ns, last_ts_ns, ops_mask,"
			      " sample_mask, has_hits, coverage_pct, completeness"
			      " FROM demand_stream WHERE capture_id = ?1 AND selector = ''", err);

	if (code)
		return code;
	query_bind(query, 1, VALUE_OF_INT(capture_id));
	code = info_from_row(query, info, err);
	query_close(query);
	return code;
}

/* The capture itself: its id, whether it has hits, whether its requests are exact. */
static int capture_find(struct builder *b, int64_t capture_id)
{
	struct query *query;
	const char *source;
	int code = query_open(b->store, &query, "SELECT id, has_hits, source FROM capture"
			      " WHERE ?1 IN (0, id) ORDER BY id LIMIT 1", b->err);

	if (code)
		return code;
	query_bind(query, 1, VALUE_OF_INT(capture_id));
	code = query_step(query, b->err);
	if (code == 0)
		code = capture_id ? err_set(b->err, -ENODATA, "no capture %lld in '%s'",
					    (long long)capture_id, store_path(b->store)) :
		       err_set(b->err, -ENODATA, "no capture in '%s'", store_path(b->store));
	if (code == 1) {
		source = query_text(query, 2);
		b->info->capture_id = query_int(query, 0);
		b->info->has_hits = query_int(query, 1);
		b->rules.exact = source && (!strcmp(source, "synth") || !strcmp(source, "ids") ||
					    !strcmp(source, "oracleGeneral"));
		code = 0;
	}
	query_close(query);
	return code;
}

/* What the chunks hold, from their index alone. */
static int chunks_survey(struct builder *b)
{
	struct query *query;
	int code = query_open(b->store, &query, "SELECT nr_events, ops_mask, sample_mask"
			      " FROM page_chunk WHERE capture_id = ?1", b->err);

	if (code)
		return code;
	query_bind(query, 1, VALUE_OF_INT(b->info->capture_id));
	while ((code = query_step(query, b->err)) == 1) {
		b->nr_events += query_int(query, 0);
		b->ops_seen |= query_int(query, 1);
		b->info->sample_mask |= query_int(query, 2);
	}
	query_close(query);
	return code;
}

/* Files with their sizes, in the order of their ids. */
static int spaces_load(struct builder *b)
{
	struct query *query;
	int code = query_open(b->store, &query, "SELECT id, size_bytes FROM file"
			      " WHERE capture_id = ?1 AND size_bytes >= 0 ORDER BY id", b->err);

	if (code)
		return code;
	query_bind(query, 1, VALUE_OF_INT(b->info->capture_id));
	while ((code = query_step(query, b->err)) == 1) {
		uint32_t space = demand_pages_space(b->pages, query_int(query, 0), 0);

		if (space == UINT32_MAX) {
			code = -ENOMEM;
			break;
		}
		demand_pages_space_at(b->pages, space)->size_pages =
			((uint64_t)query_int(query, 1) + PAGE_BYTES - 1) >> PAGE_BITS;
	}
	query_close(query);
	return code;
}

static int around_pages(struct builder *b, uint32_t *pages)
{
	const struct value values[] = { VALUE_OF_INT(b->info->capture_id) };
	int64_t kb = 0;
	bool found;
	int code = store_get_int(b->store, "SELECT max(CAST(value AS INTEGER)) FROM context"
				 " WHERE capture_id = ?1 AND subject LIKE 'bdi:%'"
				 " AND key = 'read_ahead_kb'", values, 1, &kb, &found, b->err);

	*pages = DEFAULT_AROUND_PAGES;
	if (!code && found && kb > 0)
		*pages = kb / 4 < MAX_AROUND_PAGES ? kb / 4 : MAX_AROUND_PAGES;
	return code;
}

/* Lost events of this capture; *unknown: a gap does not say how many. */
static int gaps_sum(struct builder *b, uint64_t *lost, bool *any)
{
	struct query *query;
	int code = query_open(b->store, &query, "SELECT count(*), coalesce(sum(events_lost), 0)"
			      " FROM gap WHERE capture_id = ?1", b->err);

	if (code)
		return code;
	query_bind(query, 1, VALUE_OF_INT(b->info->capture_id));
	code = query_step(query, b->err);
	if (code == 1) {
		*any = query_int(query, 0) > 0;
		*lost = query_int(query, 1);
		code = 0;
	}
	query_close(query);
	return code;
}

static void append_word(char *text, size_t bytes, const char *word)
{
	size_t used = strlen(text);

	snprintf(text + used, bytes - used, "%s%s", used ? "+" : "", word);
}

static int completeness_set(struct builder *b)
{
	struct demand_info *info = b->info;
	uint64_t lost = 0;
	bool gaps = false;
	int code = gaps_sum(b, &lost, &gaps);

	if (code)
		return code;
	info->coverage_pct = lost ? 100.0 * b->nr_events / (b->nr_events + (double)lost) : 100;
	if (!info->has_hits)
		append_word(info->completeness, sizeof(info->completeness), "fills-only");
	if (gaps)
		append_word(info->completeness, sizeof(info->completeness), "lossy");
	if (info->sample_mask)
		append_word(info->completeness, sizeof(info->completeness), "thinned");
	if (MAPPED_SHARE * b->nr_mapped > info->nr_records)
		append_word(info->completeness, sizeof(info->completeness), "mapped");
	if (!info->completeness[0])
		append_word(info->completeness, sizeof(info->completeness), "complete");
	return 0;
}

/* ---- passes over the page events ------------------------------------------------------------- */

static uint32_t useful_ops(const struct builder *b)
{
	uint32_t mask = UINT32_MAX & ~(1U << PAGE_OP_ACTIVATE | 1U << PAGE_OP_INSERT |
				       1U << PAGE_OP_WRITE_OUT | 1U << PAGE_OP_EVICT);

	if (b->rules.sees_writes)
		mask &= ~(1U << PAGE_OP_DIRTY);
	return mask;
}

static int merge_open(struct builder *b, struct page_merge **merge)
{
	struct page_filter filter = PAGE_FILTER_ALL;

	filter.capture_id = b->info->capture_id;
	filter.ops_mask = useful_ops(b);
	return page_merge_open(b->store->db, &filter, merge, b->err);
}

static int pass_survey(struct builder *b)
{
	struct page_merge *merge;
	struct page_row row;
	int code = merge_open(b, &merge);

	if (code)
		return code;
	while ((code = page_merge_next(merge, &row, b->err)) == 1) {
		code = demand_derive_survey(b->pages, &b->rules, row.event);
		if (code)
			break;
	}
	page_merge_close(merge);
	return code;
}

static int pass_derive(struct builder *b, demand_sink sink)
{
	struct demand_derive *derive = demand_derive_new(&b->rules, b->pages, sink, b);
	struct page_merge *merge = NULL;
	struct page_row row;
	int code = derive ? merge_open(b, &merge) : -ENOMEM;

	while (!code && (code = page_merge_next(merge, &row, b->err)) == 1)
		code = demand_derive_event(derive, row.event);
	if (!code)
		code = demand_derive_end(derive);
	page_merge_close(merge);
	demand_derive_free(derive);
	return code;
}

/* Calls @sink for each page of a thinned record that the capture would have seen. */
static int each_sampled(struct builder *b, const struct demand_record *r, demand_sink sink)
{
	uint64_t mask = b->info->sample_mask, end = r->index + r->pages;
	struct demand_record one = *r;
	int code = 0;

	one.pages = 1;
	for (one.index = (r->index + mask) & ~mask; !code && one.index < end; one.index += mask + 1)
		code = sink(b, &one);
	return code;
}

static int mark_record(void *ctx, const struct demand_record *r)
{
	struct builder *b = ctx;

	/* what was only truncated needs no id */
	return r->op == DEMAND_TRUNCATE ? 0 : demand_pages_mark(b->pages, r);
}

static int mark_sink(void *ctx, const struct demand_record *r)
{
	struct builder *b = ctx;

	return b->info->sample_mask ? each_sampled(b, r, mark_record) : mark_record(b, r);
}

static int chunk_write(struct builder *b)
{
	struct demand_columns *c = &b->columns;
	struct demand_blobs blobs;
	sqlite3_stmt *stmt;
	int code, rc;

	if (!c->nr)
		return 0;
	stmt = store_stmt(b->store, "INSERT INTO demand_chunk(stream_id, idx, nr_records,"
			  " first_ts_ns, last_ts_ns, pages, task, ts)"
			  " VALUES(?, ?, ?, ?, ?, ?, ?, ?)", b->err);
	if (!stmt)
		return store_errno(b->store, sqlite3_extended_errcode(b->store->db));
	code = demand_chunk_encode(c, &blobs);
	if (code)
		return code;
	sqlite3_bind_int64(stmt, 1, b->info->stream_id);
	sqlite3_bind_int64(stmt, 2, b->idx++);
	sqlite3_bind_int64(stmt, 3, c->nr);
	sqlite3_bind_int64(stmt, 4, (int64_t)c->ts_ns[0]);
	sqlite3_bind_int64(stmt, 5, (int64_t)c->ts_ns[c->nr - 1]);
	rc = sqlite3_bind_blob64(stmt, 6, blobs.pages, blobs.pages_bytes, SQLITE_STATIC);
	if (!rc && blobs.task)
		rc = sqlite3_bind_blob64(stmt, 7, blobs.task, blobs.task_bytes, SQLITE_STATIC);
	if (!rc)
		rc = sqlite3_bind_blob64(stmt, 8, blobs.ts, blobs.ts_bytes, SQLITE_STATIC);
	code = rc ? store_fail(b->store, rc, b->err, "cannot write to") :
	       store_step_done(b->store, stmt, b->err, "cannot write to");
	sqlite3_clear_bindings(stmt);
	free(blobs.pages);
	c->nr = 0;
	return code;
}

/* The number of a task, from 1 in the order of appearance; 0 for pid 0. UINT32_MAX: no memory. */
static uint32_t task_number(struct builder *b, uint32_t pid)
{
	uint32_t number, *pids;
	bool fresh;

	if (!pid)
		return 0;
	number = file_map_id(b->tasks, 0, pid, &fresh);
	if (!number)
		return UINT32_MAX;
	if (fresh) {
		if (b->nr_tasks == b->task_slots) {
			b->task_slots = b->task_slots ? 2 * b->task_slots : 64;
			pids = realloc(b->task_pids, sizeof(*pids) * b->task_slots);
			if (!pids)
				return UINT32_MAX;
			b->task_pids = pids;
		}
		b->task_pids[b->nr_tasks++] = pid;
	}
	return number;
}

static int columns_add(struct builder *b, const struct demand_record *r, uint32_t page,
		       uint32_t run, uint32_t task)
{
	struct demand_info *info = b->info;
	struct demand_columns *c = &b->columns;
	uint32_t at = c->nr++;

	c->page[at] = page;
	c->run[at] = run;
	c->op[at] = r->op;
	c->task[at] = task;
	c->ts_ns[at] = r->ts_ns;
	if (!info->nr_records++)
		info->first_ts_ns = r->ts_ns;
	info->last_ts_ns = r->ts_ns;
	info->ops_mask |= 1U << r->op;
	b->nr_mapped += r->op == DEMAND_FAULT || r->op == DEMAND_MAP;
	if (demand_op_is_access(r->op))
		info->nr_accesses += run;
	return c->nr == DEMAND_CHUNK_RECORDS ? chunk_write(b) : 0;
}

static int write_record(void *ctx, const struct demand_record *r)
{
	struct builder *b = ctx;
	uint64_t index = r->index;
	uint32_t left = r->pages, task = task_number(b, r->pid), page, skipped, nr;
	int code = 0;

	if (task == UINT32_MAX)
		return -ENOMEM;
	while (!code && left) {
		nr = demand_pages_ids(b->pages, r->space, index, left, &page, &skipped);
		if (!nr)
			break;
		code = columns_add(b, r, page, nr, task);
		index += skipped + nr;
		left -= skipped + nr;
	}
	return code;
}

static int write_sink(void *ctx, const struct demand_record *r)
{
	struct builder *b = ctx;

	return b->info->sample_mask ? each_sampled(b, r, write_record) : write_record(b, r);
}

/* ---- what belongs to a stream ---------------------------------------------------------------- */

static int stream_insert(struct builder *b)
{
	const struct value values[] = { VALUE_OF_INT(b->info->capture_id) };

	return store_run(b->store, "INSERT INTO demand_stream(capture_id, nr_records, nr_accesses,"
			 " nr_distinct_pages, nr_ids, first_ts_ns, last_ts_ns, ops_mask,"
			 " sample_mask, has_hits, coverage_pct, completeness)"
			 " VALUES(?1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, '')", values, 1,
			 &b->info->stream_id, b->err);
}

static int stream_update(struct builder *b)
{
	const struct demand_info *i = b->info;
	const struct value values[] = {
		VALUE_OF_INT(i->stream_id), VALUE_OF_INT((int64_t)i->nr_records),
		VALUE_OF_INT((int64_t)i->nr_accesses), VALUE_OF_INT((int64_t)i->nr_distinct_pages),
		VALUE_OF_INT(i->nr_ids), VALUE_OF_INT((int64_t)i->first_ts_ns),
		VALUE_OF_INT((int64_t)i->last_ts_ns), VALUE_OF_INT(i->ops_mask),
		VALUE_OF_INT(i->sample_mask), VALUE_OF_INT(i->has_hits),
		VALUE_OF_REAL(i->coverage_pct), VALUE_OF_TEXT(i->completeness),
	};

	return store_run(b->store, "UPDATE demand_stream SET nr_records = ?2, nr_accesses = ?3,"
			 " nr_distinct_pages = ?4, nr_ids = ?5, first_ts_ns = ?6, last_ts_ns = ?7,"
			 " ops_mask = ?8, sample_mask = ?9, has_hits = ?10, coverage_pct = ?11,"
			 " completeness = ?12 WHERE id = ?1", values, ARRAY_SIZE(values), NULL,
			 b->err);
}

static int extents_write(struct builder *b)
{
	struct demand_extent *extents = NULL;
	size_t nr = 0;
	int code = demand_pages_extents(b->pages, &extents, &nr);

	for (size_t i = 0; !code && i < nr; i++) {
		const struct demand_extent *e = &extents[i];
		const struct value values[] = {
			VALUE_OF_INT(b->info->stream_id), VALUE_OF_INT(e->first_id),
			VALUE_OF_INT(e->pages),
			e->file_id ? VALUE_OF_INT(e->file_id) : VALUE_NONE,
			e->file_id ? VALUE_NONE : VALUE_OF_INT(e->pid),
			VALUE_OF_INT((int64_t)e->first_index),
			e->file_pages == UINT64_MAX ? VALUE_NONE :
				VALUE_OF_INT((int64_t)e->file_pages),
		};

		code = store_run_kept(b->store, "INSERT INTO demand_extent(stream_id, first_id,"
				      " pages, file_id, pid, first_index, file_pages)"
				      " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)", values,
				      ARRAY_SIZE(values), b->err);
	}
	free(extents);
	return code;
}

static int tasks_write(struct builder *b)
{
	int code = 0;

	for (uint32_t i = 0; !code && i < b->nr_tasks; i++) {
		const struct value values[] = {
			VALUE_OF_INT(b->info->stream_id), VALUE_OF_INT(i + 1),
			VALUE_OF_INT(b->task_pids[i]), VALUE_OF_INT(b->info->capture_id),
		};

		code = store_run_kept(b->store, "INSERT INTO demand_task(stream_id, task, pid,"
				      " comm, cgroup) SELECT ?1, ?2, ?3,"
				      " (SELECT comm FROM task WHERE capture_id = ?4 AND pid = ?3"
				      "  ORDER BY comm IS NULL, first_ts_ns LIMIT 1),"
				      " (SELECT cgroup FROM task WHERE capture_id = ?4 AND pid = ?3"
				      "  ORDER BY cgroup IS NULL, first_ts_ns LIMIT 1)", values,
				      ARRAY_SIZE(values), b->err);
	}
	return code;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void rules_set(struct builder *b)
{
	uint32_t shows_hits = 1U << PAGE_OP_READ | 1U << PAGE_OP_FAULT | 1U << PAGE_OP_MAP;

	b->info->has_hits |= (b->ops_seen & shows_hits) != 0;
	b->rules.fills_only = !b->info->has_hits;
	b->rules.sees_writes = b->ops_seen >> PAGE_OP_WRITE & 1;
}

static int build_pages(struct builder *b)
{
	uint32_t around = 0;
	int code = spaces_load(b);

	if (!code && !b->rules.exact)
		code = pass_survey(b);
	if (!code)
		code = pass_derive(b, mark_sink);
	if (!code && !b->info->sample_mask)
		code = around_pages(b, &around);
	if (!code)
		code = demand_pages_allot(b->pages, around);
	if (code == -EFBIG)
		err_set(b->err, code, "more than %u distinct pages", UINT32_MAX);
	b->info->nr_ids = demand_pages_nr_ids(b->pages);
	b->info->nr_distinct_pages = demand_pages_distinct(b->pages);
	return code;
}

static int build(struct builder *b)
{
	int code = build_pages(b);

	if (!code)
		code = stream_insert(b);
	if (!code)
		code = pass_derive(b, write_sink);
	if (!code)
		code = chunk_write(b);
	if (!code)
		code = extents_write(b);
	if (!code)
		code = tasks_write(b);
	if (!code)
		code = completeness_set(b);
	return code ? code : stream_update(b);
}

static int build_in_transaction(struct builder *b)
{
	bool own = !store_in_transaction(b->store);
	int code = own ? store_begin(b->store, b->err) : 0;

	if (code)
		return code;
	code = build(b);
	if (!own)
		return code;
	if (!code)
		return store_commit(b->store, b->err);
	store_rollback(b->store, NULL);
	return code;
}

static int builder_run(struct builder *b)
{
	int code = chunks_survey(b);

	if (code)
		return code;
	if (!b->nr_events)
		return err_set(b->err, -ENODATA, "capture %lld in '%s' has no page events (capture"
			       " the pagecache group)", (long long)b->info->capture_id,
			       store_path(b->store));
	if (b->store->readonly)
		return err_set(b->err, -EROFS, "cannot derive the demand stream of '%s': it is"
			       " open for reading only", store_path(b->store));
	rules_set(b);
	b->pages = demand_pages_new();
	b->tasks = file_map_new(1);
	b->rules.followed = file_map_new(1);
	code = b->pages && b->tasks && b->rules.followed ? demand_columns_new(&b->columns)
							 : -ENOMEM;
	if (!code)
		code = build_in_transaction(b);
	demand_columns_free(&b->columns);
	demand_pages_free(b->pages);
	file_map_free(b->tasks);
	file_map_free(b->rules.followed);
	free(b->task_pids);
	if (code == -ENOMEM)
		err_set(b->err, code, "no memory for the demand stream of '%s'",
			store_path(b->store));
	return code;
}

int demand_stream_get(struct store *store, int64_t capture_id, struct demand_info *info,
		      struct err *err)
{
	struct builder b = { .store = store, .info = info, .err = err };
	int code;

	*info = (struct demand_info){ 0 };
	code = capture_find(&b, capture_id);
	if (code)
		return code;
	capture_id = info->capture_id;
	bool has_hits = info->has_hits;

	code = stream_find(store, capture_id, info, err);
	if (code)
		return code < 0 ? code : 0;
	*info = (struct demand_info){ .capture_id = capture_id, .has_hits = has_hits };
	return builder_run(&b);
}
