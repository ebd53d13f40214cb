// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * 2q.c - two queues: pages wait in a fifo and only those that are missed again soon after leaving
 * it enter the main lru.
 *
 * Source: Johnson, Shasha, 2Q: a low overhead high performance buffer management replacement
 * algorithm, VLDB 1994, the full version. A1in (fifo, Kin pages), A1out (its ghosts, Kout), Am
 * (lru). A hit in A1in does nothing: correlated uses count once. A miss that A1out remembers enters
 * Am.
 *
 * Boundaries. The paper recommends Kin = 25 % and Kout = 50 % of the buffers. Room comes from A1in
 * if it holds *more than* Kin pages, as the paper writes it (libCacheSim lets it keep one less),
 * else from Am, whose pages leave no ghost; if Am is empty, from A1in. A page that A1out remembers
 * is taken out of it before room is made.
 *
 * A1in and A1out are one sequence of slots with a border (slots.h), since ghosts enter in the order
 * in which A1in lets them go; Am is the slots whose bit "main" is set.
 */
#include <errno.h>

#include "replay/models/slots.h"

enum { LIVE, MAIN, NR_BITMAPS };

struct twoq_params {
	double in_pct, out_pct;
};

struct model {
	struct slots slots;
	uint32_t capacity, max_in, max_out;
	uint32_t border;	/* A1in from here on */
	uint32_t tail_out, tail_main;
	uint32_t nr_in, nr_out, nr_main;
	uint64_t nr_accesses, nr_hits, nr_evictions, nr_ghost_hits;
};

static void twoq_destroy(struct model *m)
{
	if (!m)
		return;
	slots_release(&m->slots);
	free(m);
}

static struct model *twoq_create(const struct model_config *config, int *code, struct err *err)
{
	const struct twoq_params *params = config->params;
	struct model *m = calloc(1, sizeof(*m));

	if (!m) {
		*code = err_set(err, -ENOMEM, "no memory for 2q");
		return NULL;
	}
	m->capacity = config->capacity_pages;
	m->max_in = share_pages(m->capacity, params->in_pct, 1);
	m->max_out = share_pages(m->capacity, params->out_pct, 1);
	m->border = m->tail_out = m->tail_main = 1;
	*code = slots_init(&m->slots, config->nr_ids, config->nr_ids, NR_BITMAPS, false, err);
	if (*code) {
		twoq_destroy(m);
		return NULL;
	}
	return m;
}

static void twoq_renumber(struct model *m)
{
	uint32_t *const fingers[] = { &m->border, &m->tail_out, &m->tail_main };

	slots_renumber(&m->slots, 1, fingers, ARRAY_SIZE(fingers));
}

static inline void evict_in(struct model *m)
{
	uint64_t *live = m->slots.bits[LIVE];

	m->border = bit_next_not(live, m->slots.bits[MAIN], m->border) + 1;
	m->nr_in--;
	if (++m->nr_out <= m->max_out)
		return;
	m->tail_out = bit_next_not(live, m->slots.bits[MAIN], m->tail_out);
	bit_clear(live, m->tail_out++);
	m->nr_out--;
}

static inline void evict_main(struct model *m)
{
	m->tail_main = bit_next_both(m->slots.bits[LIVE], m->slots.bits[MAIN], m->tail_main);
	bit_clear(m->slots.bits[LIVE], m->tail_main++);
	m->nr_main--;
}

static inline void make_room(struct model *m)
{
	if (m->nr_in + m->nr_main < m->capacity)
		return;
	m->nr_evictions++;
	if (m->nr_in > m->max_in || !m->nr_main)
		evict_in(m);
	else
		evict_main(m);
}

static inline bool twoq_one(struct model *m, uint32_t page)
{
	uint64_t *live = m->slots.bits[LIVE], *main = m->slots.bits[MAIN];
	uint32_t slot;

	if (__builtin_expect(slots_full(&m->slots), 0))
		twoq_renumber(m);
	slot = m->slots.of[page];
	if (!bit_test(live, slot)) {
		make_room(m);
		slots_push(&m->slots, page);
		m->nr_in++;
		return false;
	}
	if (bit_test(main, slot)) {
		bit_clear(live, slot);
		bit_set(main, slots_push(&m->slots, page));
		return true;
	}
	if (slot >= m->border)
		return true;
	bit_clear(live, slot);
	m->nr_out--;
	m->nr_ghost_hits++;
	make_room(m);
	bit_set(main, slots_push(&m->slots, page));
	m->nr_main++;
	return false;
}

static void twoq_access(struct model *m, const struct model_batch *batch)
{
	uint64_t nr_hits = 0;

	for (size_t i = 0; i < batch->nr; i++) {
		bool hit;

		slots_prefetch(m->slots.of, batch, i);
		hit = twoq_one(m, batch->pages[i]);
		nr_hits += hit;
		if (batch->hit)
			batch->hit[i] = hit;
	}
	m->nr_accesses += batch->nr;
	m->nr_hits += nr_hits;
}

static void twoq_remove(struct model *m, uint32_t page)
{
	uint32_t slot = m->slots.of[page];

	m->slots.of[page] = 0;
	if (!bit_test(m->slots.bits[LIVE], slot))
		return;
	if (bit_test(m->slots.bits[MAIN], slot))
		m->nr_main--;
	else
		*(slot >= m->border ? &m->nr_in : &m->nr_out) -= 1;
	bit_clear(m->slots.bits[LIVE], slot);
}

static void twoq_counters(const struct model *m, struct model_counters *out)
{
	*out = (struct model_counters){
		.hits = m->nr_hits,
		.misses = m->nr_accesses - m->nr_hits,
		.evictions = m->nr_evictions,
		.scanned = m->nr_evictions,
		.rotated = MODEL_COUNTER_NONE,
		.activated = m->nr_ghost_hits,
		.deactivated = MODEL_COUNTER_NONE,
		.ghost_hits = m->nr_ghost_hits,
		.resident_pages = m->nr_in + m->nr_main,
		.metadata_bytes = m->slots.bytes,
	};
}

static const struct param twoq_params[] = {
	{ "in", PARAM_PCT, offsetof(struct twoq_params, in_pct), "25", 0, 100, "%",
	  "Kin: the fifo's share of the capacity", NULL },
	{ "out", PARAM_PCT, offsetof(struct twoq_params, out_pct), "50", 0, 1000, "%",
	  "Kout: ghosts of the fifo, of the capacity", NULL },
	{ 0 },
};

const struct model_ops twoq_ops = {
	.name = "2q",
	.title = "two queues: what a fifo's ghosts remember enters an lru",
	.source = "Johnson, Shasha 1994",
	.params = twoq_params,
	.params_bytes = sizeof(struct twoq_params),
	.create = twoq_create,
	.access = twoq_access,
	.remove = twoq_remove,
	.counters = twoq_counters,
	.destroy = twoq_destroy,
};
