/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slots.h - queues as numbers: what fifo, lru, sieve, 2q, arc and others are made of.
 *
 * A queue that pages enter at one end only needs no links. Give out slot numbers 1, 2, 3, ... as
 * pages enter, and remember for each page the slot it holds. The queue's order is the order of the
 * numbers. A bit per slot says whether the slot still counts. The other end is a finger: everything
 * below it has left. So
 *
 *	is the page in?		slot >= finger		one load
 *	move it to the head	slot = next++		one store, one bit cleared
 *	evict the tail		finger = the next set bit, plus one
 *
 *	slot    1 2 3 4 5 6 7 8 9 ...
 *	bit     0 1 0 0 1 1 0 1 .		the future is all ones: entering sets no bit
 *	              ^finger     ^next
 *
 * An eviction never needs to know which page it evicts: nobody's slot is above the finger any more.
 * A queue with ghosts behind it is one sequence with two fingers, because what leaves the resident
 * part enters the ghosts in the same order. Two queues are two bitmaps over the same numbers.
 *
 * The only random access is the page's slot, four bytes, and it can be prefetched; the bitmaps are
 * an eighth of a byte a slot and stay in the second-level cache. When the numbers run out
 * (slots_full()), what still counts is renumbered from 1 in the same order: one sweep over the
 * pages for every few accesses per page, a nanosecond an access.
 */
#ifndef PAGEREEL_REPLAY_SLOTS_H
#define PAGEREEL_REPLAY_SLOTS_H

#include <stdlib.h>

#include "replay/replay.h"

/* Accesses looked ahead: covers a memory latency of 100 ns at 6 ns an access. */
enum { PREFETCH_AHEAD = 16 };

enum { SLOTS_MAX_BITMAPS = 8 };

struct slots {
	uint32_t *of;		/* page -> slot; 0: none */
	uint32_t nr_ids;
	uint32_t next;		/* the next number to give out */
	uint32_t nr_slots;	/* numbers are 1 .. nr_slots - 1 */
	uint32_t *page_at;	/* slot -> page, if asked for; else NULL */
	uint32_t *rank;		/* of renumbering: set bits before each word */
	uint64_t *bits[SLOTS_MAX_BITMAPS];	/* [0]: the slot counts */
	int nr_bitmaps;
	uint64_t bytes;		/* allocated */
};

/* Whether slots know their pages; false and true are the first two. */
enum slots_pages {
	SLOTS_NO_PAGES,
	SLOTS_PAGES,		/* numbers for 1.5 accesses a page */
	SLOTS_PAGES_ROOMY,	/* for 3, in twice the memory */
};

/*
 * @max_live: the most slots that ever count at once. Bitmap 0 is born all ones but for slot 0,
 * which never counts, the others all zeroes. 0 or -ENOMEM, -EINVAL (more ids than there are
 * numbers); release in any case.
 */
int slots_init(struct slots *s, uint32_t nr_ids, uint32_t max_live, int nr_bitmaps,
	       enum slots_pages page_at, struct err *err);
void slots_release(struct slots *s);
/* What slots_init() would allocate. */
uint64_t slots_bytes(uint32_t nr_ids, uint32_t max_live, int nr_bitmaps,
		     enum slots_pages page_at);

/*
 * Renumbers the slots from @first on whose bit is set in bitmap 0, in order, from 1; pages with
 * others have none (0) afterwards. Bits of all bitmaps and page_at move along. Each finger moves to
 * where the first slot counted at or above it has gone.
 */
void slots_renumber(struct slots *s, uint32_t first, uint32_t *const *fingers, int nr_fingers);

/* Zeroed memory for arrays of pages, in huge pages if large; freed with free(). NULL: no memory. */
void *model_alloc(uint64_t bytes);

/* The capacity as far as arrays are concerned: no more pages than there are. */
static inline uint32_t model_capacity_clamped(const struct model_config *config)
{
	return config->capacity_pages < config->nr_ids ? config->capacity_pages :
							 config->nr_ids + 1;
}

static inline bool slots_full(const struct slots *s)
{
	return s->next == s->nr_slots;
}

static inline bool bit_test(const uint64_t *bits, uint32_t i)
{
	return bits[i >> 6] >> (i & 63) & 1;
}

static inline void bit_set(uint64_t *bits, uint32_t i)
{
	bits[i >> 6] |= 1ULL << (i & 63);
}

static inline void bit_clear(uint64_t *bits, uint32_t i)
{
	bits[i >> 6] &= ~(1ULL << (i & 63));
}

/* @a if @mask is all ones, @b if it is 0; never a branch. */
static inline uint32_t mask_select(uint32_t mask, uint32_t a, uint32_t b)
{
	return b ^ ((a ^ b) & mask);
}

/* Sets bit @i if @bit is 1, leaves it if 0. */
static inline void bit_or(uint64_t *bits, uint32_t i, uint32_t bit)
{
	bits[i >> 6] |= (uint64_t)bit << (i & 63);
}

/* The first set bit at or after @i; there must be one. */
static inline uint32_t bit_next(const uint64_t *bits, uint32_t i)
{
	uint32_t w = i >> 6;
	uint64_t word = bits[w] >> (i & 63);

	if (__builtin_expect(word != 0, 1))
		return i + __builtin_ctzll(word);
	do
		word = bits[++w];
	while (!word);
	return w * 64 + __builtin_ctzll(word);
}

/* The same in @bits without @but. */
static inline uint32_t bit_next_not(const uint64_t *bits, const uint64_t *but, uint32_t i)
{
	uint32_t w = i >> 6;
	uint64_t word = (bits[w] & ~but[w]) >> (i & 63) << (i & 63);

	while (__builtin_expect(!word, 0)) {
		w++;
		word = bits[w] & ~but[w];
	}
	return w * 64 + __builtin_ctzll(word);
}

/* The same in both @bits and @and. */
static inline uint32_t bit_next_both(const uint64_t *bits, const uint64_t *and, uint32_t i)
{
	uint32_t w = i >> 6;
	uint64_t word = (bits[w] & and[w]) >> (i & 63) << (i & 63);

	while (__builtin_expect(!word, 0)) {
		w++;
		word = bits[w] & and[w];
	}
	return w * 64 + __builtin_ctzll(word);
}

/* Gives @page the next slot; not if slots_full(). */
static inline uint32_t slots_push(struct slots *s, uint32_t page)
{
	s->of[page] = s->next;
	return s->next++;
}

/* The same with page_at. */
static inline uint32_t slots_push_page(struct slots *s, uint32_t page)
{
	s->page_at[s->next] = page;
	return slots_push(s, page);
}

/* @pct of @pages, rounded down, but at least @least. */
static inline uint32_t share_pages(uint32_t pages, double pct, uint32_t least)
{
	uint32_t share = (uint32_t)((double)pages * pct / 100);

	return share < least ? least : share;
}

/*
 * Functions that do nothing but prefetch must be inlined always: gcc (12 at least) takes them for
 * pure ones, whose calls may go, before it inlines them.
 */
#define PREFETCHING static inline __attribute__((always_inline))

/* Asks for the slot of the access @distance ahead of @i. */
PREFETCHING void slots_prefetch_at(const uint32_t *of, const struct model_batch *batch, size_t i,
				   size_t distance)
{
	size_t ahead = i + distance < batch->nr ? i + distance : batch->nr - 1;

	__builtin_prefetch(&of[batch->pages[ahead]], 1);
}

PREFETCHING void slots_prefetch(const uint32_t *of, const struct model_batch *batch, size_t i)
{
	slots_prefetch_at(of, batch, i, PREFETCH_AHEAD);
}

#endif
