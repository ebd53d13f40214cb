/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * oracle.h - brute-force reference models: plain arrays, everything searched from the start,
 * nothing clever, written from the papers and the boundary choices in each model's essay. An oracle
 * runs a whole stream and says of each access whether it hit.
 */
#ifndef PAGEREEL_TESTS_ORACLE_H
#define PAGEREEL_TESTS_ORACLE_H

#include <string.h>

#include "replay/replay.h"

enum { ORACLE_MAX = 4096 };

struct trace_op {
	uint32_t page;
	bool remove;	/* truncation */
};

struct oracle {
	const struct trace_op *ops;
	size_t nr_ops;
	uint32_t capacity, nr_ids;
	uint64_t seed;
	const void *params;
	/* results */
	uint8_t *hit;		/* per op */
	uint64_t evictions, rotated, activated, deactivated, ghost_hits;
	uint32_t resident;
};

/* A list in order: item[0] is the oldest (the tail, next to leave), item[nr - 1] the newest. */
struct list {
	uint32_t item[ORACLE_MAX];
	int nr;
};

static inline int list_find(const struct list *list, uint32_t page)
{
	for (int i = 0; i < list->nr; i++)
		if (list->item[i] == page)
			return i;
	return -1;
}

static inline bool list_has(const struct list *list, uint32_t page)
{
	return list_find(list, page) >= 0;
}

static inline void list_push(struct list *list, uint32_t page)
{
	list->item[list->nr++] = page;
}

static inline uint32_t list_take(struct list *list, int at)
{
	uint32_t page = list->item[at];

	memmove(&list->item[at], &list->item[at + 1], (list->nr - at - 1) * sizeof(list->item[0]));
	list->nr--;
	return page;
}

static inline uint32_t list_pop(struct list *list)
{
	return list_take(list, 0);
}

static inline bool list_delete(struct list *list, uint32_t page)
{
	int at = list_find(list, page);

	if (at >= 0)
		list_take(list, at);
	return at >= 0;
}

#endif
