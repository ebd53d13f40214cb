// SPDX-License-Identifier: GPL-2.0-or-later
/* slots.c - allocation and renumbering of slots (slots.h has the idea). */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "replay/models/slots.h"

enum { HUGE_BYTES = 2 << 20 };

void *model_alloc(uint64_t bytes)
{
	void *memory;

	if (bytes > SIZE_MAX / 2)
		return NULL;
	if (bytes < HUGE_BYTES)
		return calloc(1, bytes ? bytes : 1);
	if (posix_memalign(&memory, HUGE_BYTES, bytes))
		return NULL;
	madvise(memory, bytes, MADV_HUGEPAGE);
	memset(memory, 0, bytes);
	return memory;
}

void slots_release(struct slots *s)
{
	free(s->of);
	free(s->page_at);
	free(s->rank);
	for (int i = 0; i < s->nr_bitmaps; i++)
		free(s->bits[i]);
	memset(s, 0, sizeof(*s));
}

/*
 * Slots without page_at cost a fifth of a byte each, so that there are more of them: a renumbering
 * for every 15 accesses a page instead of every 3 made lru 14 % faster. As many as there are
 * numbers.
 */
static uint64_t slots_wanted(uint32_t nr_ids, uint32_t max_live, enum slots_pages page_at)
{
	uint64_t live = max_live < nr_ids ? max_live : nr_ids, least = live + nr_ids + nr_ids / 2;
	uint64_t nr = least, most = UINT32_MAX - 256;

	if (page_at == SLOTS_NO_PAGES)
		nr = live + 15ULL * nr_ids;
	else if (page_at == SLOTS_PAGES_ROOMY)
		nr = live + 3ULL * nr_ids;

	if (nr > most)
		nr = least > most ? least : most;
	return (nr + 128 + 63) / 64 * 64;
}

uint64_t slots_bytes(uint32_t nr_ids, uint32_t max_live, int nr_bitmaps,
		     enum slots_pages page_at)
{
	uint64_t nr = slots_wanted(nr_ids, max_live, page_at);

	return 4ULL * nr_ids + nr / 16 + nr / 8 * (uint64_t)nr_bitmaps + (page_at ? 4 * nr : 0);
}

int slots_init(struct slots *s, uint32_t nr_ids, uint32_t max_live, int nr_bitmaps,
	       enum slots_pages page_at, struct err *err)
{
	uint64_t nr = slots_wanted(nr_ids, max_live, page_at), nr_words = nr / 64;
	bool ok;

	*s = (struct slots){ .nr_ids = nr_ids, .next = 1, .nr_bitmaps = nr_bitmaps };
	if (nr >= UINT32_MAX)
		return err_set(err, -EINVAL, "%u pages are too many for slot numbers", nr_ids);
	s->nr_slots = nr;
	s->of = model_alloc(4ULL * nr_ids);
	s->rank = model_alloc(4 * nr_words);
	s->bytes = slots_bytes(nr_ids, max_live, nr_bitmaps, page_at);
	ok = s->of && s->rank;
	if (page_at) {
		s->page_at = model_alloc(4 * nr);
		ok = ok && s->page_at;
	}
	for (int i = 0; i < nr_bitmaps; i++) {
		s->bits[i] = model_alloc(8 * nr_words + 8);
		ok = ok && s->bits[i];
	}
	if (!ok)
		return err_set(err, -ENOMEM, "no memory for the slots of %u pages", nr_ids);
	memset(s->bits[0], 0xff, 8 * nr_words + 8);	/* one word more: searches end there */
	bit_clear(s->bits[0], 0);			/* no slot never counts */
	return 0;
}

/* Takes away the bits of bitmap 0 outside of [@first, next). */
static void trim(struct slots *s, uint32_t first)
{
	uint64_t *keep = s->bits[0];
	uint32_t w = s->next >> 6;

	memset(keep, 0, (first >> 6) * 8ULL);
	keep[first >> 6] &= ~0ULL << (first & 63);
	if (s->next == s->nr_slots)
		return;
	keep[w] &= (1ULL << (s->next & 63)) - 1;
	memset(keep + w + 1, 0, (s->nr_slots / 64 - w - 1) * 8ULL);
}

static inline __attribute__((always_inline)) uint32_t rank_build(struct slots *s)
{
	uint32_t nr = 0;

	for (uint32_t w = 0; w < s->nr_slots / 64; w++) {
		s->rank[w] = nr;
		nr += __builtin_popcountll(s->bits[0][w]);
	}
	return nr;
}

/* Slots that count below @slot. */
static inline __attribute__((always_inline)) uint32_t rank_before(const struct slots *s,
								  uint32_t slot)
{
	uint64_t below = s->bits[0][slot >> 6] & ((1ULL << (slot & 63)) - 1);

	return s->rank[slot >> 6] + __builtin_popcountll(below);
}

/* Each page's new slot; returns how many slots count. */
static inline __attribute__((always_inline)) uint32_t renumber_loop(struct slots *s)
{
	uint32_t nr = rank_build(s), *of = s->of;

	for (uint32_t page = 0; page < s->nr_ids; page++) {
		uint32_t slot = of[page];

		of[page] = (1 + rank_before(s, slot)) & -(uint32_t)bit_test(s->bits[0], slot);
	}
	return nr;
}

#if defined(__x86_64__)
static __attribute__((target("popcnt"))) uint32_t renumber_popcnt(struct slots *s)
{
	return renumber_loop(s);
}
#endif

static uint32_t renumber_pages(struct slots *s)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("popcnt"))
		return renumber_popcnt(s);
#endif
	return renumber_loop(s);
}

/* Moves the bits of @bits at the slots that count together, from 1 on. */
static void compress_bits(const uint64_t *keep, uint64_t *bits, uint32_t nr_words)
{
	uint64_t out = 0;
	uint32_t at = 1, nr_out = 0;

	for (uint32_t w = 0; w < nr_words; w++) {
		uint64_t left = keep[w], word = bits[w];

		for (; left; left &= left - 1) {
			out |= (word >> __builtin_ctzll(left) & 1) << at;
			if (++at == 64) {
				bits[nr_out++] = out;
				out = 0;
				at = 0;
			}
		}
	}
	bits[nr_out++] = out;
	if (nr_out < nr_words)
		memset(bits + nr_out, 0, (nr_words - nr_out) * 8ULL);
}

static void compress_page_at(struct slots *s)
{
	uint32_t at = 1;

	for (uint32_t w = 0; w < s->nr_slots / 64; w++)
		for (uint64_t left = s->bits[0][w]; left; left &= left - 1)
			s->page_at[at++] = s->page_at[w * 64 + __builtin_ctzll(left)];
}

void slots_renumber(struct slots *s, uint32_t first, uint32_t *const *fingers, int nr_fingers)
{
	const uint64_t *keep = s->bits[0];
	uint32_t nr;

	trim(s, first);
	nr = renumber_pages(s);
	for (int i = 0; i < nr_fingers; i++)
		*fingers[i] = *fingers[i] >= s->nr_slots ? nr + 1 : 1 + rank_before(s, *fingers[i]);
	for (int i = 1; i < s->nr_bitmaps; i++)
		compress_bits(keep, s->bits[i], s->nr_slots / 64);
	if (s->page_at)
		compress_page_at(s);
	memset(s->bits[0], 0xff, s->nr_slots / 8);
	bit_clear(s->bits[0], 0);
	s->next = nr + 1;
}
