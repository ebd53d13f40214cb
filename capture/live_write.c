// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * live_write.c - the thread that owns the database.
 *
 * Whatever comes is committed within 300 ms, and the drain hands on what it has within 400 ms, so
 * that a kill -9 costs less than a second. A commit may take long; only this thread waits for it,
 * the queue holds what comes meanwhile.
 *
 * A full disk leaves no room to say so. A reserve of a few blocks is allocated beside the database
 * in a file without a name and given back for the last words.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "capture/live.h"

enum {
	RESERVE_BYTES = 512 * 1024,
	LAST_WORDS_BYTES = 192 * 1024,	/* kept free below --max-size */
	MAX_FIELDS = 128,
};

static const uint64_t commit_after_ns = 300000000;

static int take_reserve(const char *output)
{
	char dir[4096], *slash;
	int fd;

	if (strlen(output) >= sizeof(dir))
		return -1;
	strcpy(dir, output);
	slash = strrchr(dir, '/');
	if (slash)
		slash[slash == dir] = '\0';
	fd = open(slash ? dir : ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 && posix_fallocate(fd, 0, RESERVE_BYTES)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void give_reserve(struct writer *w)
{
	if (w->reserve_fd >= 0)
		close(w->reserve_fd);
	w->reserve_fd = -1;
}

int writer_init(struct writer *w, const char *output, unsigned int store_flags, struct err *err)
{
	int code = store_create(&w->store, output, store_flags, err);

	w->reserve_fd = code ? -1 : take_reserve(output);
	return code;
}

/* ---- items ---------------------------------------------------------------------------------- */

static int make_table(struct writer *w, struct live_event *event)
{
	const struct event_field *fields;
	int nr = event_decoder_fields(event->decoder, &fields);

	return store_event_table(w->store, w->capture_id, event->system, event->name, fields, nr,
				 event->format, event->packed, &event->table, &w->err);
}

static int write_record(struct writer *w, const struct record_head *head, const uint8_t *data)
{
	struct live_event *event = w->events->by_id[head->event_id];
	const struct event_field *fields;
	struct value values[MAX_FIELDS];
	int code = 0;

	if (event_decoder_fields(event->decoder, &fields) > MAX_FIELDS)
		return 0;
	if (!event->table)
		code = make_table(w, event);
	if (!code && event_decoder_values(event->decoder, data, head->bytes, values))
		return 0;
	if (!code)
		code = event_table_add(event->table, head->ts_ns, head->cpu,
				       event_decoder_pid(event->decoder, data, head->bytes),
				       values, &w->err);
	return code;
}

static int write_records(struct writer *w, const uint8_t *data, size_t used)
{
	struct record_head head;
	int code = 0;

	for (size_t at = 0; !code && at + sizeof(head) <= used;
	     at += sizeof(head) + ((head.bytes + 7) & ~7u)) {
		memcpy(&head, data + at, sizeof(head));
		code = write_record(w, &head, data + at + sizeof(head));
	}
	return code;
}

static int write_facts(struct writer *w, const struct facts *facts)
{
	int code = 0;

	for (int i = 0; !code && i < facts->nr; i++)
		code = store_context(w->store, w->capture_id, (int64_t)facts->ts_ns, facts->phase,
				     facts->fact[i].subject, facts->fact[i].key,
				     facts->fact[i].value, &w->err);
	return code;
}

static int write_item(struct writer *w, const struct item *item)
{
	const struct found_file *f = &item->file;
	const struct found_task *t = &item->task;
	const struct gap *g = &item->gap;

	switch (item->kind) {
	case ITEM_CHUNK:
		return store_page_chunk(w->store, &item->chunk, &w->err);
	case ITEM_RECORDS:
		return write_records(w, item->records.data, item->records.used);
	case ITEM_GAP:
		return store_gap(w->store, w->capture_id, event_stream_name(g->stream), g->cpu,
				 (int64_t)g->from_ns, (int64_t)g->to_ns,
				 g->events_lost < 0 ? VALUE_NONE : VALUE_OF_INT(g->events_lost),
				 &w->err);
	case ITEM_FILE:
		return store_file(w->store, w->capture_id, f->file_id, f->dev >> 20,
				  f->dev & 0xfffff, f->ino, f->size_bytes, f->path, &w->err);
	case ITEM_FACTS:
		return write_facts(w, item->facts);
	case ITEM_TASK:
		return store_task(w->store, w->capture_id, t->pid, t->tgid,
				  t->comm[0] ? t->comm : NULL, t->cgroup, (int64_t)t->ts_ns,
				  &w->err);
	}
	return 0;
}

/* The events inside, and the time of the first one. */
static uint64_t item_events(const struct item *item, uint64_t *from_ns)
{
	struct record_head head;
	uint64_t nr = 0;

	if (item->kind == ITEM_CHUNK) {
		*from_ns = item->chunk.first_ts_ns;
		return item->chunk.nr_events;
	}
	if (item->kind != ITEM_RECORDS)
		return 0;
	for (size_t at = 0; at + sizeof(head) <= item->records.used;
	     at += sizeof(head) + ((head.bytes + 7) & ~7u)) {
		memcpy(&head, (const uint8_t *)item->records.data + at, sizeof(head));
		if (!nr++)
			*from_ns = head.ts_ns;
	}
	return nr;
}

static void earlier(uint64_t *from_ns, uint64_t other_ns)
{
	if (!*from_ns || other_ns < *from_ns)
		*from_ns = other_ns;
}

/* ---- the thread ----------------------------------------------------------------------------- */

/*
 * Which events are recorded, and how many the drain has seen: with each commit, so that a killed
 * capture says what it holds. Once events were dropped, what is in the file is not counted.
 */
static int write_counts(struct writer *w, struct err *err)
{
	int code = 0;

	for (int i = 0; !code && i < w->events->nr; i++) {
		const struct live_event *e = &w->events->event[i];

		if (e->is_enabled)
			code = store_event_count(w->store, w->capture_id, e->system, e->name,
						 w->nr_unwritten ? UINT64_MAX :
						 __atomic_load_n(&e->nr_events, __ATOMIC_RELAXED),
						 event_decoder_page_source(e->decoder) ?
						 "page_event" : "table", err);
	}
	for (int i = 0; !code && !w->missing_told && i < w->events->nr_missing; i++)
		code = store_event_missing(w->store, w->capture_id, w->events->missing[i].system,
					   w->events->missing[i].name,
					   w->events->missing[i].reason, err);
	return code;
}

static int commit(struct writer *w)
{
	int code;

	if (!w->in_transaction)
		return 0;
	code = write_counts(w, &w->err);
	if (!code) {
		w->in_transaction = false;
		code = store_commit(w->store, &w->err);
		w->missing_told |= !code;
	}
	atomic_store(&w->file_bytes, store_file_bytes(w->store));
	w->peak_bytes = w->max_bytes ? store_peak_bytes(w->store) : 0;
	w->pending_bytes = 0;
	if (!code)
		w->pending_events = w->pending_from_ns = 0;
	return code;
}

/*
 * What is written next stands in the log and, once that is checkpointed, in the database as well,
 * so it counts twice. A log that takes a large part of the room is emptied before giving up.
 */
static bool has_room(const struct writer *w, size_t more_bytes)
{
	return w->peak_bytes + 2 * (w->pending_bytes + more_bytes) + LAST_WORDS_BYTES <
	       w->max_bytes;
}

static int make_room(struct writer *w, size_t more_bytes)
{
	uint64_t before;
	int code;

	if (!w->max_bytes || has_room(w, more_bytes))
		return 0;
	code = commit(w);
	if (code || has_room(w, more_bytes))
		return code;
	before = w->peak_bytes;
	code = store_checkpoint(w->store, &w->err);
	if (code)
		return code;
	w->peak_bytes = store_peak_bytes(w->store);
	if (has_room(w, more_bytes) && before - w->peak_bytes > w->max_bytes / 8)
		return 0;
	return err_set(&w->err, -EFBIG, "the limit of --max-size is reached");
}

static void drop(struct writer *w, uint64_t nr, uint64_t from_ns)
{
	w->nr_unwritten += nr;
	if (nr)
		earlier(&w->unwritten_from_ns, from_ns);
}

static int write_or_drop(struct writer *w, const struct item *item)
{
	int code = make_room(w, item->bytes);
	uint64_t from_ns = 0, nr = item_events(item, &from_ns);

	if (!code && !w->in_transaction) {
		code = store_begin(w->store, &w->err);
		w->in_transaction = !code;
		w->begun_ns = mono_ns();
	}
	if (!code)
		code = write_item(w, item);
	if (code) {
		drop(w, nr, from_ns);
		return code;
	}
	w->pending_bytes += item->bytes;
	w->pending_events += nr;
	if (nr)
		earlier(&w->pending_from_ns, from_ns);
	return 0;
}

static void stop_writing(struct writer *w, int code)
{
	if (code == -EFBIG && w->max_bytes && !commit(w)) {
		atomic_store(&w->code, code);
		return;
	}
	if (w->in_transaction)
		store_rollback(w->store, NULL);
	w->in_transaction = false;
	drop(w, w->pending_events, w->pending_from_ns);
	atomic_store(&w->code, code);
}

static void *writer_thread(void *arg)
{
	struct writer *w = arg;
	bool closed = false;

	atomic_store(&w->tid, gettid());
	pthread_setname_np(pthread_self(), "pagereel-write");
	w->peak_bytes = w->max_bytes ? store_peak_bytes(w->store) : 0;
	while (!closed) {
		struct item *items = queue_take_all(w->queue, 100, &closed);
		int code = 0;

		for (struct item *item = items, *next; item; item = next) {
			next = item->next;
			if (!atomic_load(&w->code)) {
				code = write_or_drop(w, item);
			} else {
				uint64_t from_ns = 0, nr = item_events(item, &from_ns);

				drop(w, nr, from_ns);
			}
			if (!code && w->in_transaction && mono_ns() - w->begun_ns > commit_after_ns)
				code = commit(w);
			if (code && !atomic_load(&w->code))
				stop_writing(w, code);
			item_free(item);
		}
		if (!atomic_load(&w->code) && w->in_transaction &&
		    (closed || mono_ns() - w->begun_ns > commit_after_ns)) {
			code = commit(w);
			if (code)
				stop_writing(w, code);
		}
	}
	return NULL;
}

int writer_start(struct writer *w, struct err *err)
{
	int code = -pthread_create(&w->thread, NULL, writer_thread, w);

	if (code)
		return err_sys(err, code, "cannot start the writer thread");
	w->is_running = true;
	return 0;
}

void writer_stop(struct writer *w)
{
	if (!w->is_running)
		return;
	pthread_join(w->thread, NULL);
	w->is_running = false;
}

/* ---- the end -------------------------------------------------------------------------------- */

int writer_finish(struct writer *w, const char *status, uint64_t end_ts_ns, struct err *err)
{
	int code = 0, close_code;

	if (!w->store)
		return 0;
	give_reserve(w);
	if (w->capture_id) {
		code = store_begin(w->store, err);
		if (!code)
			code = write_counts(w, err);
		if (!code && w->nr_unwritten)
			code = store_gap(w->store, w->capture_id, "writer", -1,
					 (int64_t)w->unwritten_from_ns, (int64_t)end_ts_ns,
					 VALUE_OF_INT((int64_t)w->nr_unwritten), err);
		if (!code)
			code = live_symbols_write(w->store, w->capture_id, (int64_t)end_ts_ns, err);
		if (!code)
			code = store_capture_end(w->store, w->capture_id, status,
						 (int64_t)end_ts_ns, err);
		if (!code)
			code = store_commit(w->store, err);
		else
			store_rollback(w->store, NULL);
	}
	atomic_store(&w->file_bytes, store_file_bytes(w->store));
	close_code = store_close(w->store, err);
	w->store = NULL;
	return code ? code : close_code;
}
