// SPDX-License-Identifier: GPL-2.0-or-later
/* queue.c - see queue.h. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "capture/queue.h"

struct item *item_new(enum item_kind kind, size_t bytes)
{
	struct item *item = calloc(1, sizeof(*item));

	if (item) {
		item->kind = kind;
		item->bytes = bytes + sizeof(*item);
	}
	return item;
}

void facts_free(struct facts *facts)
{
	if (!facts)
		return;
	for (int i = 0; i < facts->nr; i++) {
		free(facts->fact[i].subject);
		if (facts->fact[i].value.type == VALUE_TEXT)
			free((char *)facts->fact[i].value.text);
	}
	free(facts->fact);
	free(facts);
}

void item_free(struct item *item)
{
	if (!item)
		return;
	switch (item->kind) {
	case ITEM_CHUNK:
		page_chunk_release(&item->chunk);
		break;
	case ITEM_RECORDS:
		free(item->records.data);
		break;
	case ITEM_FILE:
		free(item->file.path);
		break;
	case ITEM_FACTS:
		facts_free(item->facts);
		break;
	case ITEM_TASK:
		free(item->task.cgroup);
		break;
	case ITEM_GAP:
		break;
	}
	free(item);
}

void queue_init(struct queue *q, size_t max_bytes)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->filled, &attr);
	pthread_cond_init(&q->drained, &attr);
	pthread_condattr_destroy(&attr);
	q->first = NULL;
	q->tail = &q->first;
	q->bytes = 0;
	q->max_bytes = max_bytes;
	q->closed = false;
}

void queue_release(struct queue *q)
{
	for (struct item *item = q->first, *next; item; item = next) {
		next = item->next;
		item_free(item);
	}
	pthread_mutex_destroy(&q->lock);
	pthread_cond_destroy(&q->filled);
	pthread_cond_destroy(&q->drained);
}

void queue_put(struct queue *q, struct item *item)
{
	pthread_mutex_lock(&q->lock);
	while (q->bytes > q->max_bytes && !q->closed)
		pthread_cond_wait(&q->drained, &q->lock);
	if (!q->first)
		pthread_cond_signal(&q->filled);
	item->next = NULL;
	*q->tail = item;
	q->tail = &item->next;
	q->bytes += item->bytes;
	pthread_mutex_unlock(&q->lock);
}

static struct timespec deadline_in(int timeout_ms)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += timeout_ms / 1000;
	t.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}

struct item *queue_take_all(struct queue *q, int timeout_ms, bool *closed)
{
	struct timespec until = deadline_in(timeout_ms);
	struct item *items;

	pthread_mutex_lock(&q->lock);
	while (!q->first && !q->closed)
		if (pthread_cond_timedwait(&q->filled, &q->lock, &until) == ETIMEDOUT)
			break;
	items = q->first;
	q->first = NULL;
	q->tail = &q->first;
	q->bytes = 0;
	*closed = q->closed;
	pthread_cond_broadcast(&q->drained);
	pthread_mutex_unlock(&q->lock);
	return items;
}

void queue_close(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->closed = true;
	pthread_cond_broadcast(&q->filled);
	pthread_cond_broadcast(&q->drained);
	pthread_mutex_unlock(&q->lock);
}
