// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * car.c - clock with adaptive replacement: arc whose lru lists are clocks.
 *
 * Source: Bansal, Modha, CAR: clock with adaptive replacement, FAST 2004, figure 2. A hit only sets
 * the page's reference bit. The hand of T1 moves referenced pages to T2 and demotes others to the
 * ghosts B1; the hand of T2 gives referenced pages another round and demotes others to B2. B1 and
 * B2 move the target p of T1 as in arc.
 *
 * Boundaries. T1 gives room if |T1| >= max(1, p). The step of p is an integer, as in arc.c; p is
 * moved after room was made, with the lengths then. Truncation, which the paper does not have, can
 * leave room: then nothing is replaced, but the limits of the ghosts (|T1| + |B1| <= c, all of it
 * <= 2c) hold all the same. Where T1 would give room but T2 is all there is, and the other way
 * round, the other one does.
 *
 * T1's pages enter B1 in the order in which its hand leaves them, so both are one sequence of slots
 * with a border (slots.h); likewise T2 and B2.
 */
#include <errno.h>

#include "replay/models/slots.h"

enum { LIVE, SECOND, REFERENCED, NR_BITMAPS };

enum { PAGE_AHEAD = 16 };

struct model {
	struct slots slots;
	uint32_t capacity, target;
	uint32_t border1, border2, tail1, tail2;	/* as in arc.c */
	uint32_t t1, t2, b1, b2;
	uint64_t nr_accesses, nr_hits, nr_evictions, nr_activated, nr_rotated, nr_ghost_hits;
};

static void car_destroy(struct model *m)
{
	if (!m)
		return;
	slots_release(&m->slots);
	free(m);
}

static struct model *car_create(const struct model_config *config, int *code, struct err *err)
{
	struct model *m = calloc(1, sizeof(*m));

	if (!m) {
		*code = err_set(err, -ENOMEM, "no memory for car");
		return NULL;
	}
	m->capacity = config->capacity_pages;
	m->border1 = m->border2 = m->tail1 = m->tail2 = 1;
	*code = slots_init(&m->slots, config->nr_ids, config->nr_ids, NR_BITMAPS, true, err);
	if (*code) {
		car_destroy(m);
		return NULL;
	}
	return m;
}

static inline uint32_t take_slot(struct model *m, uint32_t page)
{
	uint32_t *const fingers[] = { &m->border1, &m->border2, &m->tail1, &m->tail2 };

	if (__builtin_expect(slots_full(&m->slots), 0))
		slots_renumber(&m->slots, 1, fingers, ARRAY_SIZE(fingers));
	return slots_push_page(&m->slots, page);
}

/* The page at the hand moves to the tail of T2. */
static inline void to_second(struct model *m, uint32_t slot)
{
	uint32_t page = m->slots.page_at[slot];

	if (slot + PAGE_AHEAD < m->slots.next)
		__builtin_prefetch(&m->slots.of[m->slots.page_at[slot + PAGE_AHEAD]], 1);
	bit_clear(m->slots.bits[LIVE], slot);
	bit_set(m->slots.bits[SECOND], take_slot(m, page));
}

/* A step of T1's hand; true: it demoted a page. */
static inline bool hand1(struct model *m)
{
	uint32_t slot = bit_next_not(m->slots.bits[LIVE], m->slots.bits[SECOND], m->border1);

	m->border1 = slot + 1;
	m->t1--;
	if (!bit_test(m->slots.bits[REFERENCED], slot)) {
		m->b1++;
		return true;
	}
	m->t2++;
	m->nr_activated++;
	to_second(m, slot);
	return false;
}

static inline bool hand2(struct model *m)
{
	uint32_t slot = bit_next_both(m->slots.bits[LIVE], m->slots.bits[SECOND], m->border2);

	m->border2 = slot + 1;
	if (!bit_test(m->slots.bits[REFERENCED], slot)) {
		m->t2--;
		m->b2++;
		return true;
	}
	m->nr_rotated++;
	to_second(m, slot);
	return false;
}

static inline void replace(struct model *m)
{
	uint32_t least = m->target > 1 ? m->target : 1;
	bool done;

	do
		done = m->t1 >= least || !m->t2 ? hand1(m) : hand2(m);
	while (!done);
	m->nr_evictions++;
}

/* Forgets a ghost if the directory is full. */
static inline void forget(struct model *m)
{
	uint64_t *live = m->slots.bits[LIVE], *second = m->slots.bits[SECOND];

	if (m->t1 + m->b1 == m->capacity && m->b1) {
		m->tail1 = bit_next_not(live, second, m->tail1);
		bit_clear(live, m->tail1++);
		m->b1--;
	} else if ((uint64_t)m->t1 + m->t2 + m->b1 + m->b2 == 2ULL * m->capacity && m->b2) {
		m->tail2 = bit_next_both(live, second, m->tail2);
		bit_clear(live, m->tail2++);
		m->b2--;
	}
}

static inline uint32_t step(uint32_t other, uint32_t own)
{
	return other > own ? other / own : 1;
}

static inline void adapt(struct model *m, bool second)
{
	uint32_t by = second ? step(m->b1, m->b2) : step(m->b2, m->b1);

	if (second)
		m->target -= by < m->target ? by : m->target;
	else
		m->target += by < m->capacity - m->target ? by : m->capacity - m->target;
}

static void car_miss(struct model *m, uint32_t page)
{
	uint32_t slot = m->slots.of[page];
	bool ghost = bit_test(m->slots.bits[LIVE], slot), second;

	if (m->t1 + m->t2 == m->capacity)
		replace(m);
	if (!ghost) {
		forget(m);
		take_slot(m, page);
		m->t1++;
		return;
	}
	slot = m->slots.of[page];	/* may have been renumbered */
	second = bit_test(m->slots.bits[SECOND], slot);
	adapt(m, second);
	*(second ? &m->b2 : &m->b1) -= 1;
	m->nr_ghost_hits++;
	bit_clear(m->slots.bits[LIVE], slot);
	bit_set(m->slots.bits[SECOND], take_slot(m, page));
	m->t2++;
}

static void car_access(struct model *m, const struct model_batch *batch)
{
	const uint64_t *live = m->slots.bits[LIVE], *second = m->slots.bits[SECOND];
	uint64_t nr_hits = 0;

	for (size_t i = 0; i < batch->nr; i++) {
		uint32_t slot = m->slots.of[batch->pages[i]];
		bool hit = bit_test(live, slot) &&
			   slot >= (bit_test(second, slot) ? m->border2 : m->border1);

		slots_prefetch(m->slots.of, batch, i);
		nr_hits += hit;
		if (batch->hit)
			batch->hit[i] = hit;
		if (hit)
			bit_set(m->slots.bits[REFERENCED], slot);
		else
			car_miss(m, batch->pages[i]);
	}
	m->nr_accesses += batch->nr;
	m->nr_hits += nr_hits;
}

static void car_remove(struct model *m, uint32_t page)
{
	uint32_t slot = m->slots.of[page];

	m->slots.of[page] = 0;
	if (!bit_test(m->slots.bits[LIVE], slot))
		return;
	if (bit_test(m->slots.bits[SECOND], slot))
		*(slot >= m->border2 ? &m->t2 : &m->b2) -= 1;
	else
		*(slot >= m->border1 ? &m->t1 : &m->b1) -= 1;
	bit_clear(m->slots.bits[LIVE], slot);
}

static void car_counters(const struct model *m, struct model_counters *out)
{
	*out = (struct model_counters){
		.hits = m->nr_hits,
		.misses = m->nr_accesses - m->nr_hits,
		.evictions = m->nr_evictions,
		.scanned = m->nr_evictions + m->nr_activated + m->nr_rotated,
		.rotated = m->nr_rotated,
		.activated = m->nr_activated,
		.deactivated = MODEL_COUNTER_NONE,
		.ghost_hits = m->nr_ghost_hits,
		.resident_pages = m->t1 + m->t2,
		.metadata_bytes = m->slots.bytes,
	};
}

const struct model_ops car_ops = {
	.name = "car",
	.title = "arc on two clocks",
	.source = "Bansal, Modha 2004",
	.create = car_create,
	.access = car_access,
	.remove = car_remove,
	.counters = car_counters,
	.destroy = car_destroy,
};
