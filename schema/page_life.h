/* SPDX-License-Identifier: GPL-2.0-or-later */
/* page_life.h - what became of pages in the cache, told with each page event. */
#ifndef PAGEREEL_PAGE_LIFE_H
#define PAGEREEL_PAGE_LIFE_H

#include "schema/schema.h"

/* What the past says of an event's pages. */
struct life_row {
	uint32_t pages;		/* a request's: to its next event, or the end of the file */
	uint64_t run;		/* add: number of the run of adds in file order, from 1 */
	uint64_t evicted_ns;	/* add: when the folio was evicted before; 0: it was not */
	uint64_t distance_pages;	/* add: evicted since then */
	uint32_t read_pages;	/* add: its pages, if reads of this task and file are recorded */
	uint32_t again_pages;	/* add: of those, evicted unused the last time */
	uint32_t unused_pages;	/* evict: of read_pages, not asked for since */
	uint32_t warm_pages;	/* request: in the cache since before the capture */
};

enum {
	LIFE_USES = 1 << PAGE_OP_READ | 1 << PAGE_OP_FAULT | 1 << PAGE_OP_MAP | 1 << PAGE_OP_WRITE,
	LIFE_LEAVES = 1 << PAGE_OP_DELETE | 1 << PAGE_OP_EVICT | 1 << PAGE_OP_TRUNCATE,
	LIFE_OPS = LIFE_USES | LIFE_LEAVES | 1 << PAGE_OP_ADD,
};

struct page_life;

/* For the events of one capture. NULL: no memory. */
struct page_life *page_life_new(void);
void page_life_free(struct page_life *life);

/* Facts that are known apart from the events: a file's size, and a pid of kswapd. 0 or -ENOMEM. */
int page_life_file(struct page_life *life, uint32_t file_id, uint64_t size_bytes);
int page_life_kswapd(struct page_life *life, uint32_t pid);

/* Every event once, in order, before the first page_life_step(): needed for read_pages,
 * again_pages, unused_pages, warm_pages and the pages of requests. 0 or -ENOMEM. */
int page_life_survey(struct page_life *life, const struct page_event *event);
/* Every event once more: fills *row. 0 or -ENOMEM. */
int page_life_step(struct page_life *life, const struct page_event *event, struct life_row *row);
/* Did @event evict its folio? Other deletes are truncations. */
bool page_life_is_eviction(struct page_life *life, const struct page_event *event);

#endif
