/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * distance.h - lru stack distances: how many other pages were used since this one was.
 *
 * An access hits in an lru cache of C pages iff its distance is below C (Mattson et al. 1970), so
 * one pass gives every size. The pages in the order of their last use are slots (slots.h) whose bit
 * is set; the distance is the number of set bits after the page's slot. It is counted as the slots
 * after it less the dead ones among them, so that a new slot changes nothing and an access marks
 * one slot dead: one update, on the same path as the query.
 *
 * Dead slots are counted in a tree of fan-out 16: a node holds, for each child, the dead ones in
 * the children before it. A query reads one entry a level, an update adds a mask of ones to a node,
 * one or two vector operations. (A Fenwick tree does both in log2 steps that depend on one
 * another.)
 *
 *	slots/64  word      popcount of the bitmap
 *	slots/1K  16 words  16 x u16        256K  16 x u32
 *	slots/16K 16 of it  16 x u16        4M    16 x u32; a plain array of sums on top
 *
 * Truncation makes a hole. A cache that held the page has room for one more and fills it on its
 * next miss; so the slot goes on counting, without a page. An access of distance d to a page below
 * the topmost hole fills that hole in all caches that miss, and leaves one in those that hit: the
 * hole moves to where the page came from. The counts stay equal to those of lru with remove() at
 * each size.
 */
#ifndef PAGEREEL_REPLAY_DISTANCE_H
#define PAGEREEL_REPLAY_DISTANCE_H

#include "replay/models/bitset.h"

#define DISTANCE_NONE UINT32_MAX

typedef uint16_t counts16 __attribute__((vector_size(32)));
typedef uint32_t counts32 __attribute__((vector_size(64)));

struct distances {
	struct slots slots;
	counts16 *nodes10;	/* one per 1024 slots */
	counts16 *nodes14;
	counts32 *nodes18;
	counts32 *nodes22;
	uint32_t *before22;	/* dead before each 4M slots */
	uint32_t nr_top;
	uint32_t nr_begun;	/* entries of before22 beyond it are not kept up */
	uint32_t stop;		/* the slot at which the next entry begins, or numbers end */
	uint32_t nr_dead;	/* all */
	struct bitset holes;
	uint32_t nr_holes;
	uint64_t bytes;
	bool plain_c;		/* do not use what the processor has (for tests) */
};

int distances_init(struct distances *d, uint32_t nr_ids, struct err *err);
void distances_release(struct distances *d);

/* Distances of a batch; DISTANCE_NONE: never used before, or truncated since. No holes allowed. */
void distances_access(struct distances *d, const uint32_t *pages, size_t nr, uint32_t *out);

/* What one access or removal did to holes: sizes above from lost one, sizes above to gained one. */
struct hole_move {
	uint32_t from, to;	/* distances; DISTANCE_NONE: none */
};

/* One access while there may be holes. */
uint32_t distance_access_holes(struct distances *d, uint32_t page, struct hole_move *move);
/* Takes the page out, leaves a hole; its distance, DISTANCE_NONE if it was not there. */
uint32_t distance_remove(struct distances *d, uint32_t page);
/* Takes the page out as if it had never been there (it leaves a sample). */
void distance_forget(struct distances *d, uint32_t page);
/* Slots that count: the pages (and holes) of the largest cache. */
uint32_t distances_depth(const struct distances *d);

#endif
