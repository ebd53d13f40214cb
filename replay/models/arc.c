// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * arc.c - adaptive replacement cache.
 *
 * Source: Megiddo, Modha, ARC: a self-tuning, low overhead replacement cache, FAST 2003, figure 4.
 * Pages used once are in T1, pages used more often in T2, both lru; B1 and B2 remember what left
 * them. A miss that B1 remembers raises the target p of T1, one that B2 remembers lowers it.
 *
 * Boundaries. The step of p is max(1, |B2|/|B1|), the paper's ratio; as in the authors' own notes
 * on implementing it and in ZFS the division is of integers, rounded down. REPLACE takes from T1 if
 * |T1| > p, or |T1| = p and the page was in B2. Truncation, which the paper does not have, can
 * leave room: then nothing is replaced. Where REPLACE would take from an empty T2 it takes from T1.
 *
 * What T1 evicts enters B1 in T1's order, so T1 and B1 are one sequence of slots with a border, T2
 * and B2 another (slots.h): evicting moves a border and touches no page.
 *
 *	L1	B1 tail ... | border | ... T1 head		bit "second" clear
 *	L2	B2 tail ... | border | ... T2 head		bit "second" set
 */
#include <errno.h>

#include "replay/models/slots.h"

enum { LIVE, SECOND, NR_BITMAPS };

struct model {
	struct slots slots;
	uint32_t capacity;
	uint32_t target;		/* p: pages of T1 */
	uint32_t border1, border2;	/* resident from here on */
	uint32_t tail1, tail2;		/* the oldest ghost, or before it */
	uint32_t t1, t2, b1, b2;	/* lengths */
	uint64_t nr_accesses, nr_hits, nr_evictions, nr_activated, nr_ghost_hits;
};

static void arc_destroy(struct model *m)
{
	if (!m)
		return;
	slots_release(&m->slots);
	free(m);
}

static struct model *arc_create(const struct model_config *config, int *code, struct err *err)
{
	struct model *m = calloc(1, sizeof(*m));

	if (!m) {
		*code = err_set(err, -ENOMEM, "no memory for arc");
		return NULL;
	}
	m->capacity = config->capacity_pages;
	m->border1 = m->border2 = m->tail1 = m->tail2 = 1;
	*code = slots_init(&m->slots, config->nr_ids, config->nr_ids, NR_BITMAPS, false, err);
	if (*code) {
		arc_destroy(m);
		return NULL;
	}
	return m;
}

static void arc_renumber(struct model *m)
{
	uint32_t *const fingers[] = { &m->border1, &m->border2, &m->tail1, &m->tail2 };

	slots_renumber(&m->slots, 1, fingers, ARRAY_SIZE(fingers));
}

static inline void drop_b1(struct model *m)
{
	uint32_t slot = bit_next_not(m->slots.bits[LIVE], m->slots.bits[SECOND], m->tail1);

	bit_clear(m->slots.bits[LIVE], slot);
	m->tail1 = slot + 1;
	m->b1--;
}

static inline void drop_b2(struct model *m)
{
	uint32_t slot = bit_next_both(m->slots.bits[LIVE], m->slots.bits[SECOND], m->tail2);

	bit_clear(m->slots.bits[LIVE], slot);
	m->tail2 = slot + 1;
	m->b2--;
}

/* Makes room for a page, if there is none. */
static inline void replace(struct model *m, bool from_b2)
{
	if (m->t1 + m->t2 < m->capacity)
		return;
	m->nr_evictions++;
	if (m->t1 && (m->t1 > m->target || (from_b2 && m->t1 == m->target) || !m->t2)) {
		m->border1 = bit_next_not(m->slots.bits[LIVE], m->slots.bits[SECOND],
					  m->border1) + 1;
		m->t1--;
		m->b1++;
	} else {
		m->border2 = bit_next_both(m->slots.bits[LIVE], m->slots.bits[SECOND],
					   m->border2) + 1;
		m->t2--;
		m->b2++;
	}
}

static inline uint32_t step(uint32_t other, uint32_t own)
{
	return other > own ? other / own : 1;
}

/* A miss that B1 or B2 remembers. */
static inline void arc_ghost(struct model *m, bool second)
{
	uint32_t by = second ? step(m->b1, m->b2) : step(m->b2, m->b1);

	m->nr_ghost_hits++;
	if (second)
		m->target -= by < m->target ? by : m->target;
	else
		m->target += by < m->capacity - m->target ? by : m->capacity - m->target;
	replace(m, second);
	*(second ? &m->b2 : &m->b1) -= 1;
}

/* A miss that nothing remembers. */
static inline void arc_new(struct model *m, uint32_t page)
{
	if (m->t1 + m->b1 == m->capacity) {
		if (m->b1) {
			drop_b1(m);
			replace(m, false);
		} else {
			replace(m, false);	/* |T1| = c > p or T2 is empty: takes T1's tail */
			drop_b1(m);
		}
	} else {
		if ((uint64_t)m->t1 + m->b1 + m->t2 + m->b2 == 2ULL * m->capacity)
			drop_b2(m);
		replace(m, false);
	}
	slots_push(&m->slots, page);
	m->t1++;
}

static inline bool arc_one(struct model *m, uint32_t page)
{
	uint64_t *live = m->slots.bits[LIVE], *second = m->slots.bits[SECOND];
	uint32_t slot;
	bool in_second, hit;

	if (__builtin_expect(slots_full(&m->slots), 0))
		arc_renumber(m);
	slot = m->slots.of[page];
	if (!bit_test(live, slot)) {
		arc_new(m, page);
		return false;
	}
	in_second = bit_test(second, slot);
	hit = slot >= (in_second ? m->border2 : m->border1);
	if (hit) {
		m->t1 -= !in_second;
		m->t2 -= in_second;
	} else {
		arc_ghost(m, in_second);
	}
	m->nr_activated += !in_second;
	bit_clear(live, slot);
	bit_set(second, slots_push(&m->slots, page));
	m->t2++;
	return hit;
}

static void arc_access(struct model *m, const struct model_batch *batch)
{
	uint64_t nr_hits = 0;

	for (size_t i = 0; i < batch->nr; i++) {
		bool hit;

		slots_prefetch(m->slots.of, batch, i);
		hit = arc_one(m, batch->pages[i]);
		nr_hits += hit;
		if (batch->hit)
			batch->hit[i] = hit;
	}
	m->nr_accesses += batch->nr;
	m->nr_hits += nr_hits;
}

static void arc_remove(struct model *m, uint32_t page)
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

static void arc_counters(const struct model *m, struct model_counters *out)
{
	*out = (struct model_counters){
		.hits = m->nr_hits,
		.misses = m->nr_accesses - m->nr_hits,
		.evictions = m->nr_evictions,
		.scanned = m->nr_evictions,
		.rotated = MODEL_COUNTER_NONE,
		.activated = m->nr_activated,
		.deactivated = MODEL_COUNTER_NONE,
		.ghost_hits = m->nr_ghost_hits,
		.resident_pages = m->t1 + m->t2,
		.metadata_bytes = m->slots.bytes,
	};
}

const struct model_ops arc_ops = {
	.name = "arc",
	.title = "adaptive replacement: recency and frequency, balanced by ghosts",
	.source = "Megiddo, Modha 2003",
	.create = arc_create,
	.access = arc_access,
	.remove = arc_remove,
	.counters = arc_counters,
	.destroy = arc_destroy,
};
