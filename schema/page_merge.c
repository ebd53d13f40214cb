// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * page_merge.c - one stream out of many chunks: page events by (capture, time, cpu, sequence).
 *
 * A chunk holds a stretch of one CPU's events. The chunks are listed by the time of their first
 * event (from an index; no BLOB is touched), and one is unpacked only when the merge has come to
 * that time, so what is in memory are the chunks that overlap in time: about one for each CPU.
 * Nothing is assumed of that: chunks of one CPU may overlap, and times within a chunk may run
 * backwards (it is sorted then, in which the sequence decides between equals).
 *
 * The open chunks form a binary heap by their next event. Events come in long runs from one CPU, so
 * the chunk at the top is left alone until its next event is past the bound: the best of its
 * children and the first time of the next chunk that is not yet open.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/page_merge.h"

#define CHUNK_MATCHES \
	" first_ts_ns <= ?2 AND last_ts_ns >= ?3 AND (ops_mask & ?4) != 0" \
	" AND max_file_id >= ?5 AND min_file_id <= ?6 AND (?7 < 0 OR cpu = ?7) "
#define CHUNK_COLUMNS \
	"SELECT id, capture_id, cpu, nr_events, first_ts_ns, sample_mask FROM page_chunk"

struct merge_key {
	int64_t capture_id;	/* 0 when captures are mixed */
	uint64_t ts_ns;
	int64_t source;		/* capture and cpu */
	int64_t chunk_id;
};

struct open_chunk {
	struct merge_key key;	/* of the next event */
	int64_t capture_id;
	int32_t cpu;
	uint32_t sample_mask;
	uint32_t nr, at;
	struct page_event *events;
	uint16_t *order;	/* event numbers by time; NULL: they are in order */
};

struct page_merge {
	struct page_filter filter;
	sqlite3 *db;
	sqlite3_stmt *list, *data;
	bool more;		/* the list stands on a chunk that is not open */
	struct merge_key next_key;	/* its first time */
	struct open_chunk **heap;
	size_t nr_open, heap_slots;
	struct open_chunk *spare;
	bool started;
};

static bool key_before(const struct merge_key *a, const struct merge_key *b)
{
	if (a->capture_id != b->capture_id)
		return a->capture_id < b->capture_id;
	if (a->ts_ns != b->ts_ns)
		return a->ts_ns < b->ts_ns;
	if (a->source != b->source)
		return a->source < b->source;
	return a->chunk_id < b->chunk_id;
}

static int merge_fail(struct page_merge *m, struct err *err, const char *what)
{
	int rc = sqlite3_errcode(m->db);

	return err_set(err, rc == SQLITE_INTERRUPT ? -EINTR : rc == SQLITE_NOMEM ? -ENOMEM :
		       -EBADMSG, "cannot %s: %s", what, sqlite3_errmsg(m->db));
}

static void chunk_free(struct open_chunk *chunk)
{
	if (!chunk)
		return;
	free(chunk->order);
	free(chunk->events);
	free(chunk);
}

static struct open_chunk *chunk_new(void)
{
	struct open_chunk *chunk = calloc(1, sizeof(*chunk));

	if (!chunk)
		return NULL;
	chunk->events = malloc(sizeof(*chunk->events) * PAGE_CHUNK_EVENTS);
	if (chunk->events)
		return chunk;
	free(chunk);
	return NULL;
}

static const struct page_event *chunk_event(const struct open_chunk *chunk)
{
	return &chunk->events[chunk->order ? chunk->order[chunk->at] : chunk->at];
}

static void chunk_key(struct open_chunk *chunk)
{
	chunk->key.ts_ns = chunk_event(chunk)->ts_ns;
}

/* Merge sort by time, from the bottom up: stable, so that the sequence stays. */
static int chunk_sort(struct open_chunk *chunk)
{
	uint16_t *a, *b, *swap;
	uint32_t nr = chunk->nr, i;

	for (i = 1; i < nr && chunk->events[i - 1].ts_ns <= chunk->events[i].ts_ns; i++)
		;
	if (i >= nr)
		return 0;
	a = malloc(sizeof(*a) * nr);
	b = malloc(sizeof(*b) * nr);
	if (!a || !b) {
		free(a);
		free(b);
		return -ENOMEM;
	}
	for (i = 0; i < nr; i++)
		a[i] = i;
	for (uint32_t width = 1; width < nr; width *= 2, swap = a, a = b, b = swap) {
		for (uint32_t from = 0; from < nr; from += 2 * width) {
			uint32_t middle = from + width < nr ? from + width : nr;
			uint32_t end = middle + width < nr ? middle + width : nr;
			uint32_t l = from, r = middle;

			for (uint32_t at = from; at < end; at++)
				b[at] = l < middle && (r == end || chunk->events[a[l]].ts_ns <=
					chunk->events[a[r]].ts_ns) ? a[l++] : a[r++];
		}
	}
	free(b);
	chunk->order = a;
	return 0;
}

static void heap_down(struct page_merge *m)
{
	struct open_chunk *moved = m->heap[0];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < m->nr_open) {
		if (child + 1 < m->nr_open && key_before(&m->heap[child + 1]->key,
							 &m->heap[child]->key))
			child++;
		if (!key_before(&m->heap[child]->key, &moved->key))
			break;
		m->heap[at] = m->heap[child];
		at = child;
	}
	m->heap[at] = moved;
}

static int heap_push(struct page_merge *m, struct open_chunk *chunk)
{
	size_t at = m->nr_open;

	if (m->nr_open == m->heap_slots) {
		size_t slots = m->heap_slots ? 2 * m->heap_slots : 16;
		struct open_chunk **heap = realloc(m->heap, sizeof(*heap) * slots);

		if (!heap)
			return -ENOMEM;
		m->heap = heap;
		m->heap_slots = slots;
	}
	m->nr_open++;
	for (; at && key_before(&chunk->key, &m->heap[(at - 1) / 2]->key); at = (at - 1) / 2)
		m->heap[at] = m->heap[(at - 1) / 2];
	m->heap[at] = chunk;
	return 0;
}

static void heap_pop(struct page_merge *m)
{
	struct open_chunk *done = m->heap[0];

	m->heap[0] = m->heap[--m->nr_open];
	if (m->nr_open)
		heap_down(m);
	free(done->order);
	done->order = NULL;
	if (m->spare)
		chunk_free(done);
	else
		m->spare = done;
}

static int list_step(struct page_merge *m, struct err *err)
{
	int rc = sqlite3_step(m->list);

	m->more = rc == SQLITE_ROW;
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return merge_fail(m, err, "list page chunks");
	if (m->more)
		m->next_key = (struct merge_key){
			.capture_id = m->filter.by_time ? 0 : sqlite3_column_int64(m->list, 1),
			.ts_ns = sqlite3_column_int64(m->list, 4),
			.source = INT64_MIN,
		};
	return 0;
}

static int chunk_read(struct page_merge *m, struct open_chunk *chunk, struct err *err)
{
	int64_t nr = sqlite3_column_int64(m->list, 3), id = sqlite3_column_int64(m->list, 0);
	int64_t capture_id = sqlite3_column_int64(m->list, 1);
	int32_t cpu = sqlite3_column_int(m->list, 2);
	const void *data = NULL;
	int code;

	*chunk = (struct open_chunk){
		.events = chunk->events,
		.capture_id = capture_id,
		.cpu = cpu,
		.sample_mask = sqlite3_column_int64(m->list, 5),
		.nr = nr,
		.key = { m->next_key.capture_id, 0, (int64_t)((uint64_t)capture_id << 16) + cpu,
			 id },
	};
	sqlite3_bind_int64(m->data, 1, id);
	if (sqlite3_step(m->data) == SQLITE_ROW)
		data = sqlite3_column_blob(m->data, 0);
	if (!data || nr < 1 || nr > PAGE_CHUNK_EVENTS) {
		sqlite3_reset(m->data);
		return err_set(err, -EBADMSG, "page_chunk %lld of %lld events is damaged",
			       (long long)id, (long long)nr);
	}
	code = page_chunk_decode(data, sqlite3_column_bytes(m->data, 0), chunk->events, nr, err);
	sqlite3_reset(m->data);
	if (!code)
		code = chunk_sort(chunk);
	if (!code)
		chunk_key(chunk);
	return code;
}

/* Opens every chunk that begins before or with the event at the top. */
static int merge_open_due(struct page_merge *m, struct err *err)
{
	while (m->more && (!m->nr_open || !key_before(&m->heap[0]->key, &m->next_key))) {
		struct open_chunk *chunk = m->spare ? m->spare : chunk_new();
		int code;

		m->spare = NULL;
		if (!chunk)
			return err_set(err, -ENOMEM, "no memory to unpack a page chunk");
		code = chunk_read(m, chunk, err);
		if (!code)
			code = heap_push(m, chunk);
		if (code) {
			chunk_free(chunk);
			return code;
		}
		code = list_step(m, err);
		if (code)
			return code;
	}
	return 0;
}

static bool event_wanted(const struct page_filter *f, const struct page_event *e)
{
	int64_t ts_ns = e->ts_ns, file_id = e->file_id;

	return f->ops_mask >> e->op & 1 && ts_ns >= f->from_ns && ts_ns <= f->to_ns &&
	       file_id >= f->min_file_id && file_id <= f->max_file_id;
}

/* Is the top still at the top, and no unopened chunk due? */
static bool top_stays(const struct page_merge *m)
{
	const struct merge_key *top = &m->heap[0]->key;

	if (m->more && !key_before(top, &m->next_key))
		return false;
	return (m->nr_open < 2 || !key_before(&m->heap[1]->key, top)) &&
	       (m->nr_open < 3 || !key_before(&m->heap[2]->key, top));
}

/* Steps over the event at the top and settles what comes next. */
static int merge_advance(struct page_merge *m, struct err *err)
{
	struct open_chunk *top;

	if (!m->started) {
		m->started = true;
		return merge_open_due(m, err);
	}
	top = m->heap[0];
	if (++top->at < top->nr) {
		chunk_key(top);
		if (top_stays(m))
			return 0;
		heap_down(m);
	} else {
		heap_pop(m);
	}
	return merge_open_due(m, err);
}

int page_merge_next(struct page_merge *m, struct page_row *row, struct err *err)
{
	const struct open_chunk *top;
	const struct page_event *event;
	int code;

	do {
		if (m->started && !m->nr_open)
			return 0;
		code = merge_advance(m, err);
		if (code)
			return code;
		if (!m->nr_open)
			return 0;
		top = m->heap[0];
		event = chunk_event(top);
	} while (!event_wanted(&m->filter, event));
	*row = (struct page_row){
		.event = event,
		.capture_id = top->capture_id,
		.chunk_id = top->key.chunk_id,
		.position = event - top->events,
		.cpu = top->cpu,
		.sample_mask = top->sample_mask,
	};
	return 1;
}

static const char *list_sql(const struct page_filter *filter)
{
	if (filter->capture_id >= 0)
		return CHUNK_COLUMNS " WHERE capture_id = ?1 AND" CHUNK_MATCHES
		       "ORDER BY first_ts_ns";
	if (filter->by_time)
		return CHUNK_COLUMNS " WHERE" CHUNK_MATCHES "ORDER BY first_ts_ns";
	return CHUNK_COLUMNS " WHERE" CHUNK_MATCHES "ORDER BY capture_id, first_ts_ns";
}

int page_merge_open(sqlite3 *db, const struct page_filter *filter, struct page_merge **merge,
		    struct err *err)
{
	struct page_merge *m = calloc(1, sizeof(*m));
	int code = 0;

	*merge = NULL;
	if (!m)
		return err_set(err, -ENOMEM, "no memory to read page events");
	m->db = db;
	m->filter = *filter;
	if (filter->capture_id >= 0)
		m->filter.by_time = false;
	if (sqlite3_prepare_v2(db, list_sql(filter), -1, &m->list, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db, "SELECT data FROM page_chunk WHERE id = ?1", -1, &m->data,
			       NULL) != SQLITE_OK) {
		code = merge_fail(m, err, "read page events");
		goto out;
	}
	if (filter->capture_id >= 0)
		sqlite3_bind_int64(m->list, 1, filter->capture_id);
	sqlite3_bind_int64(m->list, 2, filter->to_ns);
	sqlite3_bind_int64(m->list, 3, filter->from_ns);
	sqlite3_bind_int64(m->list, 4, filter->ops_mask);
	sqlite3_bind_int64(m->list, 5, filter->min_file_id);
	sqlite3_bind_int64(m->list, 6, filter->max_file_id);
	sqlite3_bind_int64(m->list, 7, filter->cpu);
	code = list_step(m, err);
out:
	if (code)
		page_merge_close(m);
	else
		*merge = m;
	return code;
}

void page_merge_close(struct page_merge *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->nr_open; i++)
		chunk_free(m->heap[i]);
	chunk_free(m->spare);
	free(m->heap);
	sqlite3_finalize(m->list);
	sqlite3_finalize(m->data);
	free(m);
}
