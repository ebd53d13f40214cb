// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lirs.c - low inter-reference recency set: keeps the pages whose last two uses lay closest.
 *
 * Source: Jiang, Zhang, LIRS: an efficient low inter-reference recency set replacement policy,
 * SIGMETRICS 2002. The stack S holds, by last use, all LIR pages (most of the cache) and those HIR
 * pages that were used since the oldest LIR page was, resident or not; the queue Q holds the
 * resident HIR pages, whose front is the next victim. A HIR page used again while in S has shown a
 * short inter-reference recency: it becomes LIR, the LIR page at the bottom of S becomes HIR and
 * goes to the end of Q. S is pruned so that its bottom is always LIR.
 *
 * Boundaries. Resident HIR pages get 1 % of the cache, at least one (the paper's choice). Until the
 * LIR set is full, pages that miss enter it. A resident HIR page that is not in S goes to the top
 * of S and to the end of Q when used. The paper does not bound S; here at most "ghosts" per cent of
 * the capacity are non-resident in S, the one lowest in S leaves first (libCacheSim bounds S as a
 * whole, others drop them from the bottom as well). A capacity of one page has no LIR set: it is
 * lru. Truncation of a LIR page leaves room in the LIR set for the next page that misses.
 *
 * S is a sequence of slots (slots.h) with a bit for LIR and one for non-resident; its bottom and
 * the lowest non-resident page are found in the bitmaps. Q is a list through two more numbers a
 * page.
 */
#include <errno.h>

#include "replay/models/slots.h"

enum { IN_S, LIR, GHOST, NR_BITMAPS };

enum { NONE = UINT32_MAX };

struct lirs_params {
	double hir_pct, ghost_pct;
};

struct link {
	uint32_t next, previous;	/* pages; next NONE: not in Q */
};

struct model {
	struct slots slots;
	struct link *queue;	/* by page; [nr_ids]: the ends of Q */
	uint32_t q_head;	/* nr_ids */
	uint32_t capacity, max_lir, max_ghosts;
	uint32_t nr_lir, nr_hir, nr_ghosts;	/* hir: resident */
	uint32_t bottom;	/* no slot of S before it */
	uint32_t ghost_from;	/* no ghost before it */
	uint64_t nr_accesses, nr_hits, nr_evictions, nr_activated, nr_deactivated, nr_ghost_hits;
};

static void lirs_destroy(struct model *m)
{
	if (!m)
		return;
	slots_release(&m->slots);
	free(m->queue);
	free(m);
}

static struct model *lirs_create(const struct model_config *config, int *code, struct err *err)
{
	const struct lirs_params *params = config->params;
	struct model *m = calloc(1, sizeof(*m));
	uint32_t max_hir;

	if (m)
		m->queue = model_alloc(sizeof(*m->queue) * ((uint64_t)config->nr_ids + 1));
	if (!m || !m->queue) {
		lirs_destroy(m);
		*code = err_set(err, -ENOMEM, "no memory for lirs of %u pages", config->nr_ids);
		return NULL;
	}
	*code = slots_init(&m->slots, config->nr_ids, config->nr_ids, NR_BITMAPS, true, err);
	if (*code) {
		lirs_destroy(m);
		return NULL;
	}
	m->capacity = config->capacity_pages;
	max_hir = share_pages(m->capacity, params->hir_pct, 1);
	m->max_lir = m->capacity - max_hir;
	m->max_ghosts = share_pages(m->capacity, params->ghost_pct, 0);
	m->bottom = m->ghost_from = 1;
	for (uint32_t i = 0; i < config->nr_ids; i++)
		m->queue[i].next = NONE;
	m->q_head = config->nr_ids;
	m->queue[m->q_head] = (struct link){ m->q_head, m->q_head };
	return m;
}

/* ---- Q --------------------------------------------------------------------------------------- */

static inline bool in_queue(const struct model *m, uint32_t page)
{
	return m->queue[page].next != NONE;
}

static inline void queue_append(struct model *m, uint32_t page)
{
	uint32_t last = m->queue[m->q_head].previous;

	m->queue[page] = (struct link){ m->q_head, last };
	m->queue[last].next = page;
	m->queue[m->q_head].previous = page;
}

static inline void queue_take(struct model *m, uint32_t page)
{
	struct link link = m->queue[page];

	m->queue[link.previous].next = link.next;
	m->queue[link.next].previous = link.previous;
	m->queue[page].next = NONE;
}

/* ---- S --------------------------------------------------------------------------------------- */

static inline uint32_t stack_push(struct model *m, uint32_t page)
{
	uint32_t *const fingers[] = { &m->bottom, &m->ghost_from };

	if (__builtin_expect(slots_full(&m->slots), 0))
		slots_renumber(&m->slots, 1, fingers, ARRAY_SIZE(fingers));
	return slots_push_page(&m->slots, page);
}

static inline bool in_stack(const struct model *m, uint32_t slot)
{
	return bit_test(m->slots.bits[IN_S], slot);
}

static inline void stack_take(struct model *m, uint32_t page, uint32_t slot)
{
	bit_clear(m->slots.bits[IN_S], slot);
	m->slots.of[page] = 0;
}

/* Takes the HIR pages off the bottom of S. */
static inline void prune(struct model *m)
{
	const uint64_t *in_s = m->slots.bits[IN_S];

	for (;;) {
		uint32_t slot = m->bottom = bit_next(in_s, m->bottom);

		if (slot >= m->slots.next || bit_test(m->slots.bits[LIR], slot))
			return;
		m->nr_ghosts -= bit_test(m->slots.bits[GHOST], slot);
		stack_take(m, m->slots.page_at[slot], slot);
	}
}

/* The LIR page at the bottom of S goes to the end of Q. */
static inline void demote_bottom(struct model *m)
{
	uint32_t slot = bit_next_both(m->slots.bits[IN_S], m->slots.bits[LIR], m->bottom);
	uint32_t page = m->slots.page_at[slot];

	m->bottom = slot;
	stack_take(m, page, slot);
	queue_append(m, page);
	m->nr_lir--;
	m->nr_hir++;
	m->nr_deactivated++;
}

/* @page, out of S and Q by now, becomes LIR. */
static inline void become_lir(struct model *m, uint32_t page)
{
	bit_set(m->slots.bits[LIR], stack_push(m, page));
	if (++m->nr_lir > m->max_lir)
		demote_bottom(m);
	prune(m);
}

static inline void ghost_add(struct model *m, uint32_t slot)
{
	bit_set(m->slots.bits[GHOST], slot);
	if (slot < m->ghost_from)
		m->ghost_from = slot;
	if (++m->nr_ghosts <= m->max_ghosts)
		return;
	slot = bit_next_both(m->slots.bits[IN_S], m->slots.bits[GHOST], m->ghost_from);
	m->ghost_from = slot + 1;
	stack_take(m, m->slots.page_at[slot], slot);
	m->nr_ghosts--;
	prune(m);
}

static inline void lirs_evict(struct model *m)
{
	uint32_t page = m->queue[m->q_head].next, slot = m->slots.of[page];

	queue_take(m, page);
	m->nr_hir--;
	m->nr_evictions++;
	if (in_stack(m, slot))
		ghost_add(m, slot);
}

/* ---- accesses -------------------------------------------------------------------------------- */

static inline void hit_lir(struct model *m, uint32_t page, uint32_t slot)
{
	bool was_bottom = slot == m->bottom;	/* the push may renumber */

	bit_clear(m->slots.bits[IN_S], slot);
	bit_set(m->slots.bits[LIR], stack_push(m, page));
	if (was_bottom)
		prune(m);
}

static inline void hit_hir(struct model *m, uint32_t page, uint32_t slot)
{
	queue_take(m, page);
	if (in_stack(m, slot)) {
		bit_clear(m->slots.bits[IN_S], slot);
		m->nr_hir--;
		m->nr_activated++;
		if (m->max_lir) {
			become_lir(m, page);
			return;
		}
		m->nr_hir++;
	}
	stack_push(m, page);
	queue_append(m, page);
	prune(m);
}

static inline void lirs_miss(struct model *m, uint32_t page)
{
	uint32_t slot;

	if (m->nr_lir + m->nr_hir == m->capacity)
		lirs_evict(m);
	slot = m->slots.of[page];	/* making room may have forgotten it */
	if (in_stack(m, slot)) {
		bit_clear(m->slots.bits[IN_S], slot);
		m->nr_ghosts--;
		m->nr_ghost_hits++;
		m->nr_activated++;
		become_lir(m, page);
		return;
	}
	if (m->nr_lir < m->max_lir) {
		become_lir(m, page);
		return;
	}
	stack_push(m, page);
	queue_append(m, page);
	m->nr_hir++;
	prune(m);
}

static inline bool lirs_one(struct model *m, uint32_t page)
{
	uint32_t slot = m->slots.of[page];

	if (in_stack(m, slot) && bit_test(m->slots.bits[LIR], slot))
		hit_lir(m, page, slot);
	else if (in_queue(m, page))
		hit_hir(m, page, slot);
	else
		return lirs_miss(m, page), false;
	return true;
}

static void lirs_access(struct model *m, const struct model_batch *batch)
{
	uint64_t nr_hits = 0;

	for (size_t i = 0; i < batch->nr; i++) {
		bool hit;

		slots_prefetch(m->slots.of, batch, i);
		if (i + PREFETCH_AHEAD < batch->nr)
			__builtin_prefetch(&m->queue[batch->pages[i + PREFETCH_AHEAD]], 1);
		hit = lirs_one(m, batch->pages[i]);
		nr_hits += hit;
		if (batch->hit)
			batch->hit[i] = hit;
	}
	m->nr_accesses += batch->nr;
	m->nr_hits += nr_hits;
}

static void lirs_remove(struct model *m, uint32_t page)
{
	uint32_t slot = m->slots.of[page];

	if (in_queue(m, page)) {
		queue_take(m, page);
		m->nr_hir--;
	}
	if (!in_stack(m, slot))
		return;
	m->nr_lir -= bit_test(m->slots.bits[LIR], slot);
	m->nr_ghosts -= bit_test(m->slots.bits[GHOST], slot);
	stack_take(m, page, slot);
	prune(m);
}

static void lirs_counters(const struct model *m, struct model_counters *out)
{
	*out = (struct model_counters){
		.hits = m->nr_hits,
		.misses = m->nr_accesses - m->nr_hits,
		.evictions = m->nr_evictions,
		.scanned = m->nr_evictions,
		.rotated = MODEL_COUNTER_NONE,
		.activated = m->nr_activated,
		.deactivated = m->nr_deactivated,
		.ghost_hits = m->nr_ghost_hits,
		.resident_pages = m->nr_lir + m->nr_hir,
		.metadata_bytes = m->slots.bytes +
				  sizeof(*m->queue) * ((uint64_t)m->slots.nr_ids + 1),
	};
}

static const struct param lirs_params[] = {
	{ "hir", PARAM_PCT, offsetof(struct lirs_params, hir_pct), "1", 0, 100, "%",
	  "resident HIR pages, of the capacity", NULL },
	{ "ghosts", PARAM_PCT, offsetof(struct lirs_params, ghost_pct), "200", 0, 10000, "%",
	  "non-resident pages remembered, of the capacity", NULL },
	{ 0 },
};

const struct model_ops lirs_ops = {
	.name = "lirs",
	.title = "low inter-reference recency set",
	.source = "Jiang, Zhang 2002",
	.params = lirs_params,
	.params_bytes = sizeof(struct lirs_params),
	.create = lirs_create,
	.access = lirs_access,
	.remove = lirs_remove,
	.counters = lirs_counters,
	.destroy = lirs_destroy,
};
