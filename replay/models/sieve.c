// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sieve.c - lazy promotion, quick demotion: a fifo whose hand sweeps from the tail to the head and
 * evicts in the middle.
 *
 * Source: Zhang, Yang, Yue, Vigfusson, Rashmi, SIEVE is simpler than LRU, NSDI 2024, algorithm 1. A
 * hit sets the page's visited bit. The hand clears the bits it passes and evicts the first page
 * that has none; pages stay where they are, new ones come in at the head. Unlike clock's hand, it
 * may reach pages that are newer than those it leaves behind.
 *
 * Boundaries. The hand moves on to the next newer page; when the evicted page was the newest, it
 * starts again at the tail. The page that missed comes in after the eviction, so the hand cannot
 * meet it. Truncation of the page under the hand moves the hand on in the same way.
 *
 * The queue is slots (slots.h), live and visited bits are bitmaps, so the hand passes a word of 64
 * slots at a time and no page needs to be known by its place.
 */
#include <errno.h>

#include "replay/models/slots.h"

enum { LIVE, VISITED, NR_BITMAPS };

struct model {
	struct slots slots;
	uint32_t capacity_pages;
	uint32_t nr_resident;
	uint32_t hand;		/* the slot to look at next; 0: the tail */
	uint32_t tail;		/* no live slot before it */
	uint64_t nr_accesses, nr_hits, nr_evictions, nr_rotated;
};

static void sieve_destroy(struct model *m)
{
	if (!m)
		return;
	slots_release(&m->slots);
	free(m);
}

static struct model *sieve_create(const struct model_config *config, int *code, struct err *err)
{
	struct model *m = calloc(1, sizeof(*m));

	if (!m) {
		*code = err_set(err, -ENOMEM, "no memory for sieve");
		return NULL;
	}
	m->capacity_pages = config->capacity_pages;
	m->tail = 1;
	*code = slots_init(&m->slots, config->nr_ids, config->capacity_pages, NR_BITMAPS, false,
			   err);
	if (*code) {
		sieve_destroy(m);
		return NULL;
	}
	return m;
}

static void sieve_renumber(struct model *m)
{
	uint32_t *const fingers[] = { &m->tail, &m->hand };
	bool at_tail = !m->hand;

	slots_renumber(&m->slots, 1, fingers, ARRAY_SIZE(fingers));
	if (at_tail)
		m->hand = 0;
}

/* The first slot from @slot on that is live and not visited, the bits up to it cleared; or next. */
static inline uint32_t sweep(struct model *m, uint32_t slot)
{
	const uint64_t *live = m->slots.bits[LIVE];
	uint64_t *visited = m->slots.bits[VISITED];
	uint32_t w = slot >> 6;
	uint64_t from = ~0ULL << (slot & 63);

	for (;;) {
		uint64_t stop = live[w] & ~visited[w] & from;	/* the future is live, not visited */
		uint64_t passed = live[w] & visited[w] & from & ((stop & -stop) - 1);

		if (passed) {
			m->nr_rotated += __builtin_popcountll(passed);
			visited[w] &= ~passed;
		}
		if (stop)
			return w * 64 + __builtin_ctzll(stop);
		from = ~0ULL;
		w++;
	}
}

/* Where the hand stands after leaving @slot. */
static inline uint32_t hand_after(const struct model *m, uint32_t slot)
{
	slot = bit_next(m->slots.bits[LIVE], slot + 1);
	return slot < m->slots.next ? slot : 0;
}

static inline void sieve_evict(struct model *m)
{
	uint32_t slot;

	if (!m->hand) {
		m->tail = bit_next(m->slots.bits[LIVE], m->tail);
		m->hand = m->tail;
	}
	slot = sweep(m, m->hand);
	if (slot >= m->slots.next) {
		m->tail = bit_next(m->slots.bits[LIVE], m->tail);
		slot = sweep(m, m->tail);
	}
	bit_clear(m->slots.bits[LIVE], slot);
	m->hand = hand_after(m, slot);
	m->nr_evictions++;
}

static inline void sieve_fill(struct model *m, uint32_t page)
{
	if (m->nr_resident < m->capacity_pages)
		m->nr_resident++;
	else
		sieve_evict(m);
	if (__builtin_expect(slots_full(&m->slots), 0))
		sieve_renumber(m);
	slots_push(&m->slots, page);
}

static void sieve_access(struct model *m, const struct model_batch *batch)
{
	const uint64_t *live = m->slots.bits[LIVE];
	uint64_t nr_hits = 0;

	for (size_t i = 0; i < batch->nr; i++) {
		uint32_t page = batch->pages[i], slot = m->slots.of[page];
		bool hit = bit_test(live, slot);

		slots_prefetch(m->slots.of, batch, i);
		nr_hits += hit;
		if (batch->hit)
			batch->hit[i] = hit;
		if (hit)
			bit_set(m->slots.bits[VISITED], slot);
		else
			sieve_fill(m, page);
	}
	m->nr_accesses += batch->nr;
	m->nr_hits += nr_hits;
}

static void sieve_remove(struct model *m, uint32_t page)
{
	uint32_t slot = m->slots.of[page];

	m->slots.of[page] = 0;
	if (!bit_test(m->slots.bits[LIVE], slot))
		return;
	bit_clear(m->slots.bits[LIVE], slot);
	if (m->hand == slot)
		m->hand = hand_after(m, slot);
	m->nr_resident--;
}

static void sieve_counters(const struct model *m, struct model_counters *out)
{
	*out = (struct model_counters){
		.hits = m->nr_hits,
		.misses = m->nr_accesses - m->nr_hits,
		.evictions = m->nr_evictions,
		.scanned = m->nr_evictions + m->nr_rotated,
		.rotated = m->nr_rotated,
		.activated = MODEL_COUNTER_NONE,
		.deactivated = MODEL_COUNTER_NONE,
		.ghost_hits = MODEL_COUNTER_NONE,
		.resident_pages = m->nr_resident,
		.metadata_bytes = m->slots.bytes,
	};
}

const struct model_ops sieve_ops = {
	.name = "sieve",
	.title = "fifo with a sweeping hand that evicts in the middle",
	.source = "Zhang, Yang, Yue, Vigfusson, Rashmi 2024",
	.create = sieve_create,
	.access = sieve_access,
	.remove = sieve_remove,
	.counters = sieve_counters,
	.destroy = sieve_destroy,
};
