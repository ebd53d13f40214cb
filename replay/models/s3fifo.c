// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * s3fifo.c - three fifos: a small one that filters, a main one, and ghosts.
 *
 * Source: Yang, Zhang, Qiu, Yue, Vigfusson, FIFO queues are all you need for cache eviction, SOSP
 * 2023, algorithm 1. New pages enter S (10 %), pages that G remembers enter M. A hit counts up to
 * 3. S lets a page go to M if it was hit more than once, else to G; M gives a page another round
 * for each hit.
 *
 * Boundaries. Room comes from S if it holds at least its share, else from M. A page that moves to M
 * starts at 0 hits; if M then holds more than its share (what S leaves of the capacity), M evicts
 * and that is the room; else S goes on. G is a fifo of as many ghosts as M's share (the paper's
 * choice); a miss looks into G after room was made, so making room may just have forgotten the
 * page, and G forgets what it is asked for. (libCacheSim inserts into M without evicting from it
 * there, and evicts from M on the next round.)
 *
 * S and G are one sequence of slots with a border (slots.h), M the slots whose bit "main" is set;
 * the hit counts are two bitmaps.
 */
#include <errno.h>

#include "replay/models/slots.h"

enum { LIVE, MAIN, COUNT0, COUNT1, NR_BITMAPS };

enum { PAGE_AHEAD = 16 };

struct s3fifo_params {
	double small_pct, ghost_pct;
	uint64_t promote;
};

struct model {
	struct slots slots;
	uint32_t capacity, small_share, main_share, max_ghosts, promote;
	uint32_t border;	/* S from here on */
	uint32_t tail_ghost, tail_main;
	uint32_t nr_small, nr_ghosts, nr_main;
	uint64_t nr_accesses, nr_hits, nr_evictions, nr_activated, nr_rotated, nr_ghost_hits;
};

static void s3fifo_destroy(struct model *m)
{
	if (!m)
		return;
	slots_release(&m->slots);
	free(m);
}

static struct model *s3fifo_create(const struct model_config *config, int *code, struct err *err)
{
	const struct s3fifo_params *params = config->params;
	struct model *m = calloc(1, sizeof(*m));

	if (!m) {
		*code = err_set(err, -ENOMEM, "no memory for s3fifo");
		return NULL;
	}
	m->capacity = config->capacity_pages;
	m->small_share = share_pages(m->capacity, params->small_pct, 1);
	m->main_share = m->capacity - m->small_share;
	m->max_ghosts = share_pages(m->capacity, params->ghost_pct, 0);
	m->promote = (uint32_t)params->promote;
	m->border = m->tail_ghost = m->tail_main = 1;
	*code = slots_init(&m->slots, config->nr_ids, config->nr_ids, NR_BITMAPS, true, err);
	if (*code) {
		s3fifo_destroy(m);
		return NULL;
	}
	return m;
}

static inline uint32_t take_slot(struct model *m, uint32_t page)
{
	uint32_t *const fingers[] = { &m->border, &m->tail_ghost, &m->tail_main };

	if (__builtin_expect(slots_full(&m->slots), 0))
		slots_renumber(&m->slots, 1, fingers, ARRAY_SIZE(fingers));
	return slots_push_page(&m->slots, page);
}

static inline uint32_t count_of(const struct model *m, uint32_t slot)
{
	return bit_test(m->slots.bits[COUNT0], slot) + 2 * bit_test(m->slots.bits[COUNT1], slot);
}

static inline void count_set(struct model *m, uint32_t slot, uint32_t count)
{
	if (count & 1)
		bit_set(m->slots.bits[COUNT0], slot);
	if (count & 2)
		bit_set(m->slots.bits[COUNT1], slot);
}

static inline void count_up(struct model *m, uint32_t slot)
{
	uint64_t bit = 1ULL << (slot & 63);
	uint64_t *low = &m->slots.bits[COUNT0][slot >> 6];
	uint64_t *high = &m->slots.bits[COUNT1][slot >> 6];
	uint64_t carry = *low & bit;

	*low = (*low ^ bit) | (*high & carry);	/* 3 stays 3 */
	*high |= carry;
}

/* The page leaves its slot for a new one in M. */
static inline void move_to_main(struct model *m, uint32_t slot, uint32_t count)
{
	uint32_t page = m->slots.page_at[slot];

	bit_clear(m->slots.bits[LIVE], slot);
	slot = take_slot(m, page);
	bit_set(m->slots.bits[MAIN], slot);
	count_set(m, slot, count);
}

PREFETCHING void prefetch_page(const struct model *m, uint32_t slot)
{
	if (slot + PAGE_AHEAD < m->slots.next)
		__builtin_prefetch(&m->slots.of[m->slots.page_at[slot + PAGE_AHEAD]], 1);
}

/* Evicts from M's tail. */
static inline void evict_main(struct model *m)
{
	for (;;) {
		uint32_t slot = bit_next_both(m->slots.bits[LIVE], m->slots.bits[MAIN],
					      m->tail_main);
		uint32_t count = count_of(m, slot);

		m->tail_main = slot + 1;
		if (!count) {
			bit_clear(m->slots.bits[LIVE], slot);
			m->nr_main--;
			return;
		}
		prefetch_page(m, slot);
		m->nr_rotated++;
		move_to_main(m, slot, count - 1);
	}
}

static inline void ghost_add(struct model *m)
{
	if (++m->nr_ghosts <= m->max_ghosts)
		return;
	m->tail_ghost = bit_next_not(m->slots.bits[LIVE], m->slots.bits[MAIN], m->tail_ghost);
	bit_clear(m->slots.bits[LIVE], m->tail_ghost++);
	m->nr_ghosts--;
}

/* Goes through S until something was evicted; false if all of it moved to M. */
static inline bool evict_small(struct model *m)
{
	while (m->nr_small) {
		uint32_t slot = bit_next_not(m->slots.bits[LIVE], m->slots.bits[MAIN], m->border);

		m->border = slot + 1;
		m->nr_small--;
		if (count_of(m, slot) < m->promote) {
			ghost_add(m);
			return true;
		}
		m->nr_activated++;
		m->nr_main++;
		move_to_main(m, slot, 0);
		if (m->nr_main > m->main_share) {
			evict_main(m);
			return true;
		}
	}
	return false;
}

static inline void make_room(struct model *m)
{
	if (m->nr_small + m->nr_main < m->capacity)
		return;
	m->nr_evictions++;
	if (m->nr_small < m->small_share || !evict_small(m))
		evict_main(m);
}

static void s3fifo_miss(struct model *m, uint32_t page)
{
	uint32_t slot;

	make_room(m);
	slot = m->slots.of[page];
	if (bit_test(m->slots.bits[LIVE], slot)) {
		m->nr_ghosts--;
		m->nr_ghost_hits++;
		m->nr_main++;
		bit_clear(m->slots.bits[LIVE], slot);
		bit_set(m->slots.bits[MAIN], take_slot(m, page));
		return;
	}
	take_slot(m, page);
	m->nr_small++;
}

static void s3fifo_access(struct model *m, const struct model_batch *batch)
{
	const uint64_t *live = m->slots.bits[LIVE], *main = m->slots.bits[MAIN];
	uint64_t nr_hits = 0;

	for (size_t i = 0; i < batch->nr; i++) {
		uint32_t slot = m->slots.of[batch->pages[i]];
		bool hit = bit_test(live, slot) &&
			   (slot >= m->border || bit_test(main, slot));

		slots_prefetch(m->slots.of, batch, i);
		nr_hits += hit;
		if (batch->hit)
			batch->hit[i] = hit;
		if (hit)
			count_up(m, slot);
		else
			s3fifo_miss(m, batch->pages[i]);
	}
	m->nr_accesses += batch->nr;
	m->nr_hits += nr_hits;
}

static void s3fifo_remove(struct model *m, uint32_t page)
{
	uint32_t slot = m->slots.of[page];

	m->slots.of[page] = 0;
	if (!bit_test(m->slots.bits[LIVE], slot))
		return;
	if (bit_test(m->slots.bits[MAIN], slot))
		m->nr_main--;
	else
		*(slot >= m->border ? &m->nr_small : &m->nr_ghosts) -= 1;
	bit_clear(m->slots.bits[LIVE], slot);
}

static void s3fifo_counters(const struct model *m, struct model_counters *out)
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
		.resident_pages = m->nr_small + m->nr_main,
		.metadata_bytes = m->slots.bytes,
	};
}

static const struct param s3fifo_params[] = {
	{ "small", PARAM_PCT, offsetof(struct s3fifo_params, small_pct), "10", 0, 100, "%",
	  "the small fifo's share of the capacity", NULL },
	{ "ghost", PARAM_PCT, offsetof(struct s3fifo_params, ghost_pct), "90", 0, 1000, "%",
	  "ghosts, of the capacity", NULL },
	{ "promote", PARAM_U64, offsetof(struct s3fifo_params, promote), "2", 1, 3, "hits",
	  "hits in the small fifo that lead to the main one", NULL },
	{ 0 },
};

const struct model_ops s3fifo_ops = {
	.name = "s3fifo",
	.title = "three fifos: a small filter, a main queue, ghosts",
	.source = "Yang, Zhang, Qiu, Yue, Vigfusson 2023",
	.params = s3fifo_params,
	.params_bytes = sizeof(struct s3fifo_params),
	.create = s3fifo_create,
	.access = s3fifo_access,
	.remove = s3fifo_remove,
	.counters = s3fifo_counters,
	.destroy = s3fifo_destroy,
};
