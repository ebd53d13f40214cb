// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * import_merge.c - the records of a trace.dat, merged by time and read ahead.
 *
 * Each CPU of each buffer is a stream that libtracecmd reads in order; a heap of their next records
 * gives the one that is due. Reading takes as long as all that is done with the records afterwards,
 * so it goes on in a thread of its own, a few batches ahead. Records are freed where they were
 * read: libtracecmd counts the records of a page, and knows no locks.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <trace-cmd/trace-cmd.h>

#include "capture/import_merge.h"

enum { NR_BATCHES = 4, MAX_CPUS = 8192, MAX_STREAMS = 4 * MAX_CPUS };

/* One CPU's records of one buffer. */
struct stream {
	struct tracecmd_input *handle;
	struct tep_record *record;	/* the next one */
	int cpu;
};

struct dat_merge {
	struct stream *heap;	/* by time: the first is due */
	int nr_streams;
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* batches are filled and emptied in turn; the numbers only count up, under the lock */
	struct merge_batch batch[NR_BATCHES];
	uint64_t nr_filled;	/* by the thread */
	uint64_t nr_done;	/* with, by the caller */
	bool has_current;	/* batch nr_done is the caller's */
	bool at_end, stop;
};

/* ---- the heap -------------------------------------------------------------------------------- */

static bool due_before(const struct stream *a, const struct stream *b)
{
	return a->record->ts != b->record->ts ? a->record->ts < b->record->ts : a->cpu < b->cpu;
}

static void sift_down(struct dat_merge *m, int at)
{
	for (;;) {
		int least = at;
		struct stream swap;

		for (int child = 2 * at + 1; child <= 2 * at + 2 && child < m->nr_streams; child++)
			if (due_before(&m->heap[child], &m->heap[least]))
				least = child;
		if (least == at)
			return;
		swap = m->heap[at];
		m->heap[at] = m->heap[least];
		m->heap[least] = swap;
		at = least;
	}
}

static int streams_add(struct dat_merge *m, struct tracecmd_input *handle, const char *path,
		       struct err *err)
{
	int nr_cpus = tep_get_cpus(tracecmd_get_tep(handle));
	struct stream *grown;

	if (nr_cpus <= 0)
		return 0;
	if (nr_cpus > MAX_CPUS || m->nr_streams + nr_cpus > MAX_STREAMS)
		return err_set(err, -EBADMSG, "cannot import '%s': it claims %d CPUs (damaged?)",
			       path, nr_cpus);
	grown = realloc(m->heap, sizeof(*grown) * (size_t)(m->nr_streams + nr_cpus));
	if (!grown)
		return err_set(err, -ENOMEM, "no memory for %d streams", nr_cpus);
	m->heap = grown;
	for (int cpu = 0; cpu < nr_cpus; cpu++) {
		struct tep_record *record = tracecmd_read_cpu_first(handle, cpu);

		if (record)
			m->heap[m->nr_streams++] = (struct stream){ handle, record, cpu };
	}
	return 0;
}

static int streams_open(struct dat_merge *m, struct tracecmd_input *handle, const char *path,
			struct err *err)
{
	int ret = streams_add(m, handle, path, err);

	for (int i = 0; !ret && i < tracecmd_buffer_instances(handle); i++) {
		struct tracecmd_input *buffer = tracecmd_buffer_instance_handle(handle, i);

		if (buffer)
			ret = streams_add(m, buffer, path, err);
	}
	for (int at = m->nr_streams / 2; !ret && at >= 0; at--)
		sift_down(m, at);
	return ret;
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void batch_clear(struct merge_batch *b)
{
	for (int i = 0; i < b->nr; i++)
		tracecmd_free_record(b->record[i]);
	b->nr = 0;
}

static void batch_fill(struct dat_merge *m, struct merge_batch *b)
{
	while (b->nr < MERGE_BATCH && m->nr_streams) {
		struct stream *first = &m->heap[0];

		b->record[b->nr] = first->record;
		b->cpu[b->nr++] = first->cpu;
		first->record = tracecmd_read_data(first->handle, first->cpu);
		if (!first->record)
			*first = m->heap[--m->nr_streams];
		sift_down(m, 0);
	}
}

static void *read_ahead(void *arg)
{
	struct dat_merge *m = arg;

	pthread_mutex_lock(&m->lock);
	while (!m->stop && !m->at_end) {
		struct merge_batch *b = &m->batch[m->nr_filled % NR_BATCHES];

		if (m->nr_filled - m->nr_done == NR_BATCHES) {
			pthread_cond_wait(&m->changed, &m->lock);
			continue;
		}
		pthread_mutex_unlock(&m->lock);
		batch_clear(b);
		batch_fill(m, b);
		pthread_mutex_lock(&m->lock);
		if (b->nr)
			m->nr_filled++;
		else
			m->at_end = true;
		pthread_cond_signal(&m->changed);
	}
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

const struct merge_batch *dat_merge_next(struct dat_merge *m)
{
	const struct merge_batch *b = NULL;

	pthread_mutex_lock(&m->lock);
	if (m->has_current) {
		m->nr_done++;
		m->has_current = false;
		pthread_cond_signal(&m->changed);
	}
	while (m->nr_filled == m->nr_done && !m->at_end)
		pthread_cond_wait(&m->changed, &m->lock);
	if (m->nr_filled != m->nr_done) {
		b = &m->batch[m->nr_done % NR_BATCHES];
		m->has_current = true;
	}
	pthread_mutex_unlock(&m->lock);
	return b;
}

int dat_merge_start(struct dat_merge **out, struct tracecmd_input *handle, const char *path,
		    struct err *err)
{
	struct dat_merge *m = calloc(1, sizeof(*m));
	int ret;

	*out = NULL;
	if (!m)
		return err_set(err, -ENOMEM, "no memory to read '%s'", path);
	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->changed, NULL);
	ret = streams_open(m, handle, path, err);
	if (!ret) {
		ret = -pthread_create(&m->thread, NULL, read_ahead, m);
		m->has_thread = !ret;
		if (ret)
			err_sys(err, ret, "cannot start a thread to read '%s'", path);
	}
	if (ret)
		dat_merge_stop(m);
	else
		*out = m;
	return ret;
}

void dat_merge_stop(struct dat_merge *m)
{
	if (!m)
		return;
	if (m->has_thread) {
		pthread_mutex_lock(&m->lock);
		m->stop = true;
		pthread_cond_signal(&m->changed);
		pthread_mutex_unlock(&m->lock);
		pthread_join(m->thread, NULL);
	}
	for (int i = 0; i < NR_BATCHES; i++)
		batch_clear(&m->batch[i]);
	for (int i = 0; i < m->nr_streams; i++)
		tracecmd_free_record(m->heap[i].record);
	pthread_cond_destroy(&m->changed);
	pthread_mutex_destroy(&m->lock);
	free(m->heap);
	free(m);
}
