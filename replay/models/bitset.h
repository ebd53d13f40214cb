/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bitset.h - a set of numbers with a quick "last member at or before": a bitmap, a bit for each of
 * its words that is not empty, a bit for each word of that, and so on: three or four shifts.
 */
#ifndef PAGEREEL_REPLAY_BITSET_H
#define PAGEREEL_REPLAY_BITSET_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "replay/models/slots.h"

enum { BITSET_MAX_LEVELS = 6 };

struct bitset {
	uint64_t *bits[BITSET_MAX_LEVELS];	/* [0]: a bit per number; [n+1]: per word of [n] */
	int nr_levels;
	uint32_t nr_words;	/* of [0] */
	uint64_t bytes;		/* allocated */
};

static inline void bitset_release(struct bitset *set)
{
	for (int level = 0; level < set->nr_levels; level++)
		free(set->bits[level]);
	memset(set, 0, sizeof(*set));
}

/* Members are below @nr and above 0. False: no memory (release nevertheless). */
static inline bool bitset_init(struct bitset *set, uint32_t nr)
{
	uint64_t nr_words = (uint64_t)nr / 64 + 1;

	*set = (struct bitset){ .nr_words = nr_words };
	for (;;) {
		uint64_t *level = model_alloc(8 * nr_words);

		if (!level)
			return false;
		set->bits[set->nr_levels++] = level;
		set->bytes += 8 * nr_words;
		if (nr_words == 1)
			return true;
		nr_words = (nr_words + 63) / 64;
	}
}

static inline void bitset_clear(struct bitset *set)
{
	uint64_t nr_words = set->nr_words;

	for (int level = 0; level < set->nr_levels; level++) {
		memset(set->bits[level], 0, 8 * nr_words);
		nr_words = (nr_words + 63) / 64;
	}
}

static inline void bitset_add(struct bitset *set, uint32_t at)
{
	for (int level = 0; level < set->nr_levels; level++) {
		bit_set(set->bits[level], at);
		at >>= 6;
	}
}

static inline void bitset_remove(struct bitset *set, uint32_t at)
{
	for (int level = 0; level < set->nr_levels; level++) {
		bit_clear(set->bits[level], at);
		at >>= 6;
		if (set->bits[level][at])
			return;
	}
}

/* The last member at or before @at, 0 if there is none. */
static inline uint32_t bitset_before(const struct bitset *set, uint32_t at)
{
	uint64_t word = set->bits[0][at >> 6] << (63 - (at & 63));
	int level = 0;

	if (__builtin_expect(word != 0, 1))
		return at - __builtin_clzll(word);
	do {
		at >>= 6;
		if (++level == set->nr_levels)
			return 0;
		/* strictly before: the bit of @at itself stands for the word just seen */
		word = (at & 63) ? set->bits[level][at >> 6] << (64 - (at & 63)) : 0;
	} while (!word);
	at = at - 1 - __builtin_clzll(word);
	while (level--)
		at = at * 64 + 63 - __builtin_clzll(set->bits[level][at]);
	return at;
}

#endif
