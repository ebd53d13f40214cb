// SPDX-License-Identifier: GPL-2.0-or-later
/* distance.c - stack distances by counting dead slots (distance.h has the idea). */
#include <errno.h>

#include "replay/distance.h"

#define ONES_AFTER(i) { (i) < 0, (i) < 1, (i) < 2, (i) < 3, (i) < 4, (i) < 5, (i) < 6, \
	(i) < 7, (i) < 8, (i) < 9, (i) < 10, (i) < 11, (i) < 12, (i) < 13, (i) < 14, (i) < 15 }
#define MASKS { ONES_AFTER(0), ONES_AFTER(1), ONES_AFTER(2), \
	ONES_AFTER(3), ONES_AFTER(4), ONES_AFTER(5), ONES_AFTER(6), \
	ONES_AFTER(7), ONES_AFTER(8), ONES_AFTER(9), ONES_AFTER(10), \
	ONES_AFTER(11), ONES_AFTER(12), ONES_AFTER(13), ONES_AFTER(14), \
	ONES_AFTER(15) }

/* masks[i]: one for each child after i. */
static const counts16 masks16[16] = MASKS;
static const counts32 masks32[16] = MASKS;

static void *nodes_alloc(struct distances *d, uint64_t nr, size_t node_bytes)
{
	void *nodes;

	d->bytes += nr * node_bytes;
	if (posix_memalign(&nodes, 64, nr * node_bytes))
		return NULL;
	memset(nodes, 0, nr * node_bytes);
	return nodes;
}

/* Slots of the next 4M are given out from now on: all dead ones are before them. */
static void block_begin(struct distances *d)
{
	uint64_t end;

	d->nr_begun = d->slots.next >> 22;
	d->before22[d->nr_begun] = d->nr_dead;
	end = (d->nr_begun + 1ULL) << 22;
	d->stop = end < d->slots.nr_slots ? (uint32_t)end : d->slots.nr_slots;
}

int distances_init(struct distances *d, uint32_t nr_ids, struct err *err)
{
	uint64_t nr;
	int ret;

	memset(d, 0, sizeof(*d));
	ret = slots_init(&d->slots, nr_ids, nr_ids, 2, false, err);
	if (ret)
		return ret;
	bit_set(d->slots.bits[0], 0);	/* never given out, so never dead */
	nr = d->slots.nr_slots;
	d->nr_top = (nr >> 22) + 1;
	d->nodes10 = nodes_alloc(d, (nr >> 10) + 1, sizeof(*d->nodes10));
	d->nodes14 = nodes_alloc(d, (nr >> 14) + 1, sizeof(*d->nodes14));
	d->nodes18 = nodes_alloc(d, (nr >> 18) + 1, sizeof(*d->nodes18));
	d->nodes22 = nodes_alloc(d, (nr >> 22) + 1, sizeof(*d->nodes22));
	d->before22 = nodes_alloc(d, d->nr_top, sizeof(*d->before22));
	if (!d->nodes10 || !d->nodes14 || !d->nodes18 || !d->nodes22 || !d->before22 ||
	    !bitset_init(&d->holes, nr))
		return err_set(err, -ENOMEM, "no memory for the distances of %u pages", nr_ids);
	d->bytes += d->slots.bytes + d->holes.bytes;
	block_begin(d);
	return 0;
}

void distances_release(struct distances *d)
{
	slots_release(&d->slots);
	bitset_release(&d->holes);
	free(d->nodes10);
	free(d->nodes14);
	free(d->nodes18);
	free(d->nodes22);
	free(d->before22);
	memset(d, 0, sizeof(*d));
}

/* Holes keep their slots and get their new numbers from a spare bitmap beside the live one. */
static void renumber(struct distances *d)
{
	uint64_t nr = d->slots.nr_slots;

	if (d->nr_holes)
		memcpy(d->slots.bits[1], d->holes.bits[0], nr / 8);
	slots_renumber(&d->slots, 1, NULL, 0);
	bit_set(d->slots.bits[0], 0);
	if (d->nr_holes) {
		bitset_clear(&d->holes);
		for (uint32_t slot = 1; slot < d->slots.next; slot++)
			if (bit_test(d->slots.bits[1], slot))
				bitset_add(&d->holes, slot);
	}
	memset(d->nodes10, 0, ((nr >> 10) + 1) * sizeof(*d->nodes10));
	memset(d->nodes14, 0, ((nr >> 14) + 1) * sizeof(*d->nodes14));
	memset(d->nodes18, 0, ((nr >> 18) + 1) * sizeof(*d->nodes18));
	memset(d->nodes22, 0, ((nr >> 22) + 1) * sizeof(*d->nodes22));
	memset(d->before22, 0, d->nr_top * sizeof(*d->before22));
	d->nr_dead = 0;
	block_begin(d);
}

/* Nothing to do for most slots. */
static inline void slot_ready(struct distances *d)
{
	if (__builtin_expect(d->slots.next == d->stop, 0)) {
		if (slots_full(&d->slots))
			renumber(d);
		else
			block_begin(d);
	}
}

/* Slots after @slot that count, of those given out. */
static inline uint32_t rank_after(const struct distances *d, uint32_t slot)
{
	uint64_t dead_bits = ~d->slots.bits[0][slot >> 6] & (~0ULL >> (63 - (slot & 63)));
	uint32_t dead = d->before22[slot >> 22] + d->nodes22[slot >> 22][slot >> 18 & 15] +
			d->nodes18[slot >> 18][slot >> 14 & 15] +
			d->nodes14[slot >> 14][slot >> 10 & 15] +
			d->nodes10[slot >> 10][slot >> 6 & 15] +
			(uint32_t)__builtin_popcountll(dead_bits);

	return d->slots.next - 1 - slot - (d->nr_dead - dead);
}

static inline void mark_dead(struct distances *d, uint32_t slot)
{
	bit_clear(d->slots.bits[0], slot);
	d->nodes10[slot >> 10] += masks16[slot >> 6 & 15];
	d->nodes14[slot >> 14] += masks16[slot >> 10 & 15];
	d->nodes18[slot >> 18] += masks32[slot >> 14 & 15];
	d->nodes22[slot >> 22] += masks32[slot >> 18 & 15];
	for (uint32_t i = (slot >> 22) + 1; i <= d->nr_begun; i++)
		d->before22[i]++;
	d->nr_dead++;
}

/* The page's distance; its slot no longer counts. */
static inline uint32_t take_out(struct distances *d, uint32_t slot)
{
	uint32_t distance;

	if (!slot)
		return DISTANCE_NONE;
	distance = rank_after(d, slot);
	mark_dead(d, slot);
	return distance;
}

static inline __attribute__((always_inline)) void
access_loop(struct distances *d, const uint32_t *pages, size_t nr, uint32_t *out)
{
	const struct model_batch batch = { .pages = pages, .nr = nr };
	uint32_t *of = d->slots.of;

	for (size_t i = 0; i < nr; i++) {
		slot_ready(d);
		slots_prefetch(of, &batch, i);
		out[i] = take_out(d, of[pages[i]]);
		of[pages[i]] = d->slots.next++;
	}
}

#if defined(__x86_64__)
/* Twice as wide vectors, and the population count as an instruction. */
static __attribute__((target("avx2,popcnt"))) void
access_avx2(struct distances *d, const uint32_t *pages, size_t nr, uint32_t *out)
{
	access_loop(d, pages, nr, out);
}
#endif

void distances_access(struct distances *d, const uint32_t *pages, size_t nr, uint32_t *out)
{
#if defined(__x86_64__)
	if (!d->plain_c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt")) {
		access_avx2(d, pages, nr, out);
		return;
	}
#endif
	access_loop(d, pages, nr, out);
}

uint32_t distances_depth(const struct distances *d)
{
	return d->slots.next - 1 - d->nr_dead;
}

uint32_t distance_access_holes(struct distances *d, uint32_t page, struct hole_move *move)
{
	uint32_t slot, hole;
	uint32_t distance;

	slot_ready(d);
	slot = d->slots.of[page];
	d->slots.of[page] = d->slots.next;
	hole = d->nr_holes ? bitset_before(&d->holes, d->slots.next - 1) : 0;
	*move = (struct hole_move){ .from = DISTANCE_NONE, .to = DISTANCE_NONE };
	distance = slot ? rank_after(d, slot) : DISTANCE_NONE;
	if (hole > slot) {
		move->from = rank_after(d, hole);
		move->to = distance;
		bitset_remove(&d->holes, hole);
		if (slot)
			bitset_add(&d->holes, slot);
		else
			d->nr_holes--;
		mark_dead(d, hole);
	} else if (slot) {
		mark_dead(d, slot);
	}
	d->slots.next++;
	return distance;
}

uint32_t distance_remove(struct distances *d, uint32_t page)
{
	uint32_t slot = d->slots.of[page];

	if (!slot)
		return DISTANCE_NONE;
	d->slots.of[page] = 0;
	bitset_add(&d->holes, slot);
	d->nr_holes++;
	return rank_after(d, slot);
}

void distance_forget(struct distances *d, uint32_t page)
{
	uint32_t slot = d->slots.of[page];

	d->slots.of[page] = 0;
	if (slot)
		mark_dead(d, slot);
}
