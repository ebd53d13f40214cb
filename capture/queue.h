/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * queue.h - from the threads that find things out to the one that writes them: a bounded queue of
 * owned items. Items are large (chunks of 16384 events, batches of raw records) or rare, so that
 * one lock serves all.
 */
#ifndef PAGEREEL_CAPTURE_QUEUE_H
#define PAGEREEL_CAPTURE_QUEUE_H

#include <pthread.h>

#include "capture/capture.h"

enum item_kind { ITEM_CHUNK, ITEM_RECORDS, ITEM_GAP, ITEM_FILE, ITEM_FACTS, ITEM_TASK };

/* A record of an event that goes to a table: header, then the event's bytes, padded to 8. */
struct record_head {
	uint64_t ts_ns;
	uint32_t bytes;
	uint16_t event_id;
	uint16_t cpu;
};

struct fact {
	char *subject;		/* malloc: cgroup paths are long */
	char key[64];
	struct value value;	/* TEXT: malloc */
};

struct facts {
	uint64_t ts_ns;
	char phase[8];		/* "start", "sample", "end" */
	struct fact *fact;
	int nr, room;
};

struct gap {
	enum event_stream stream;
	int cpu;
	uint64_t from_ns, to_ns;
	int64_t events_lost;	/* < 0: unknown */
};

struct found_file {
	uint32_t file_id, dev;
	uint64_t ino;
	int64_t size_bytes;	/* < 0: unknown */
	char *path;		/* malloc; NULL: unknown */
};

struct found_task {
	uint32_t pid, tgid;	/* tgid 0: unknown */
	char comm[32];		/* "": unknown */
	char *cgroup;		/* malloc; NULL: unknown */
	uint64_t ts_ns;
};

struct item {
	struct item *next;
	enum item_kind kind;
	size_t bytes;		/* what it holds, for the bound */
	union {
		struct page_chunk chunk;
		struct { uint8_t *data; size_t used; } records;
		struct gap gap;
		struct found_file file;
		struct facts *facts;
		struct found_task task;
	};
};

struct item *item_new(enum item_kind kind, size_t bytes);	/* NULL: no memory */
void item_free(struct item *item);	/* with what it owns; NULL is fine */
void facts_free(struct facts *facts);

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t filled, drained;
	struct item *first, **tail;
	size_t bytes, max_bytes;
	bool closed;
};

void queue_init(struct queue *queue, size_t max_bytes);
void queue_release(struct queue *queue);
/* Takes @item over; waits while the queue is full. */
void queue_put(struct queue *queue, struct item *item);
/* All that is there, waiting up to @timeout_ms for something; NULL: nothing came. *closed: no more
 * will come. */
struct item *queue_take_all(struct queue *queue, int timeout_ms, bool *closed);
void queue_close(struct queue *queue);

#endif
