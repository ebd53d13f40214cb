// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * list.c - the lists of folios as rings of page ids: room for more, and getting rid of holes.
 *
 * A doubly linked list costs three cache misses to take a page out of its middle, and reclaim,
 * which walks it from the tail, cannot ask for the next page before it has this one. So a list is
 * an array instead: slots are numbered in the order in which pages came, the ring holds the page of
 * each slot, and the page knows its slot.
 *
 *	slot    tail                        head
 *	         7   8   9  10  11  12  13
 *	page     a   .   b   .   .   c        <- new pages; reclaim comes from the left
 *
 *	add at the head		at[head++] = page
 *	add at the tail		at[--tail] = page
 *	take out		at[slot] = NO_PAGE, a hole; the tail passes over holes
 *
 * Reclaim reads ids in a row and can ask for their state well ahead. A folio takes as many slots as
 * it has pages, itself in the youngest of them: when it is split, its pages find their places.
 *
 * Slots are 32-bit numbers that wrap, at[] is a power of two. When it is full it doubles if more
 * than half is in use, up to twice nr_ids; else the pages move together, which costs less than one
 * step for each page that was added since. at[] is allocated in full at the start, but
 * memory that was never written is not used.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "replay/kernel/kernel.h"

enum { LEAST_SLOTS = 4096, HUGE_BYTES = 2 << 20 };

static uint32_t slots_limit(uint32_t nr_ids)
{
	uint64_t nr = 64;

	while (nr < 2ULL * nr_ids)
		nr *= 2;
	return nr > 1U << 31 ? 1U << 31 : (uint32_t)nr;
}

/* Like model_alloc(), but what is not written costs nothing. */
static uint32_t *reserve(uint64_t bytes)
{
	void *memory;

	if (bytes < HUGE_BYTES)
		return malloc(bytes);
	if (posix_memalign(&memory, HUGE_BYTES, bytes))
		return NULL;
	madvise(memory, bytes, MADV_HUGEPAGE);
	return memory;
}

static int nr_lists(const struct kernel_model *m)
{
	if (m->gen && m->p.swap)
		return 2 * MAX_NR_GENS;
	return m->p.zoned ? NR_LISTS : NR_LRU_LISTS;
}

int lists_init(struct kernel_model *m)
{
	uint32_t limit = slots_limit(m->nr_ids);

	for (int i = 0; i < nr_lists(m); i++) {
		struct page_list *list = &m->lists[i];

		list->nr_max = limit;
		list->mask = (limit < LEAST_SLOTS ? limit : LEAST_SLOTS) - 1;
		list->at = reserve(4ULL * limit);
		if (!list->at)
			return -ENOMEM;
	}
	return 0;
}

void lists_release(struct kernel_model *m)
{
	for (int i = 0; i < NR_LISTS; i++)
		free(m->lists[i].at);
}

uint64_t lists_bytes(const struct kernel_model *m)
{
	uint64_t nr = 0;

	for (int i = 0; i < nr_lists(m); i++)
		nr += m->lists[i].mask + 1ULL;
	return nr * sizeof(*m->lists[0].at);
}

/* Slots keep their numbers; half of them are now elsewhere. */
static void list_grow(struct page_list *list)
{
	uint32_t size = list->mask + 1;

	for (uint32_t slot = list->tail; slot != list->head; slot++)
		if (slot & size)
			list->at[(slot & list->mask) + size] = list->at[slot & list->mask];
	list->mask += size;
}

/* Moves the pages together, towards the tail. */
static void list_compact(struct kernel_model *m, struct page_list *list)
{
	uint32_t to = list->tail;

	for (uint32_t slot = list->tail; slot != list->head; slot++) {
		uint32_t page = list->at[slot & list->mask];

		if (page == NO_PAGE)
			continue;
		for (uint32_t nr = folio_pages(m, page); nr > 1; nr--)
			list->at[to++ & list->mask] = NO_PAGE;
		list->at[to & list->mask] = page;
		m->pages[page].slot = to++;
	}
	list->head = to;
}

void list_make_room(struct kernel_model *m, enum lru_list lru, uint32_t nr)
{
	struct page_list *list = &m->lists[lru];
	uint64_t size = list->mask + 1ULL;

	while (m->lruvec.nr_pages[lru] + nr > size / 2 && size < list->nr_max) {
		list_grow(list);
		size *= 2;
	}
	if (list->head - list->tail + nr > size)
		list_compact(m, list);
}
