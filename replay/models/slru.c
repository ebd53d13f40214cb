// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * slru.c - segmented lru: pages used once are on probation, a second use protects them.
 *
 * Source: Karedla, Love, Wherry, Caching strategies to improve disk system performance, IEEE
 * Computer 27(3), 1994. A miss enters the head of the probationary segment, a hit the head of the
 * protected one; what overflows there goes back to the head of probation; victims come from its
 * tail.
 *
 * Boundaries. The paper finds 60 to 80 % for the protected segment, most implementations take 80
 * (the default here). Probation has no size of its own: it has what the protected pages leave. If
 * probation is empty the tail of the protected segment is evicted.
 *
 * Both segments are slots (slots.h), the protected ones with a bit. A page that goes back needs a
 * new slot, hence page_at.
 */
#include <errno.h>

#include "replay/models/slots.h"

enum { LIVE, PROTECTED, NR_BITMAPS };

enum { PAGE_AHEAD = 16 };

struct slru_params {
	double protected_pct;
};

struct model {
	struct slots slots;
	uint32_t capacity, max_protected;
	uint32_t tail_probation, tail_protected;	/* no slot of theirs before these */
	uint32_t nr_probation, nr_protected;
	uint64_t nr_accesses, nr_hits, nr_evictions, nr_activated, nr_deactivated;
};

static void slru_destroy(struct model *m)
{
	if (!m)
		return;
	slots_release(&m->slots);
	free(m);
}

static struct model *slru_create(const struct model_config *config, int *code, struct err *err)
{
	const struct slru_params *params = config->params;
	struct model *m = calloc(1, sizeof(*m));

	if (!m) {
		*code = err_set(err, -ENOMEM, "no memory for slru");
		return NULL;
	}
	m->capacity = config->capacity_pages;
	m->max_protected = share_pages(m->capacity, params->protected_pct, 0);
	m->tail_probation = m->tail_protected = 1;
	*code = slots_init(&m->slots, config->nr_ids, config->capacity_pages, NR_BITMAPS,
			   SLOTS_PAGES_ROOMY, err);
	if (*code) {
		slru_destroy(m);
		return NULL;
	}
	return m;
}

static inline uint32_t take_slot(struct model *m, uint32_t page)
{
	uint32_t *const fingers[] = { &m->tail_probation, &m->tail_protected };

	if (__builtin_expect(slots_full(&m->slots), 0))
		slots_renumber(&m->slots, 1, fingers, ARRAY_SIZE(fingers));
	return slots_push_page(&m->slots, page);
}

static inline uint32_t oldest_protected(struct model *m)
{
	m->tail_protected = bit_next_both(m->slots.bits[LIVE], m->slots.bits[PROTECTED],
					  m->tail_protected);
	return m->tail_protected++;
}

static inline void slru_evict(struct model *m)
{
	uint32_t slot;

	m->nr_evictions++;
	if (m->nr_probation) {
		slot = bit_next_not(m->slots.bits[LIVE], m->slots.bits[PROTECTED],
				    m->tail_probation);
		m->tail_probation = slot + 1;
		m->nr_probation--;
	} else {
		slot = oldest_protected(m);
		m->nr_protected--;
	}
	bit_clear(m->slots.bits[LIVE], slot);
}

/* The oldest protected page goes back to the head of probation. */
static inline void unprotect(struct model *m)
{
	uint32_t slot = oldest_protected(m);

	bit_clear(m->slots.bits[LIVE], slot);
	if (slot + PAGE_AHEAD < m->slots.next)
		__builtin_prefetch(&m->slots.of[m->slots.page_at[slot + PAGE_AHEAD]], 1);
	take_slot(m, m->slots.page_at[slot]);
	m->nr_deactivated++;
}

static inline void slru_hit(struct model *m, uint32_t page, uint32_t slot)
{
	bool was_protected = bit_test(m->slots.bits[PROTECTED], slot);

	bit_clear(m->slots.bits[LIVE], slot);
	m->nr_protected -= was_protected;
	m->nr_probation -= !was_protected;
	m->nr_activated += !was_protected;
	bit_set(m->slots.bits[PROTECTED], take_slot(m, page));
	if (++m->nr_protected <= m->max_protected)
		return;
	unprotect(m);
	m->nr_protected--;
	m->nr_probation++;
}

static inline void slru_miss(struct model *m, uint32_t page)
{
	if (m->nr_probation + m->nr_protected == m->capacity)
		slru_evict(m);
	take_slot(m, page);
	m->nr_probation++;
}

/*
 * Both segments are full, so that their lengths stay: a hit in probation sends a protected page
 * back. Whether an access hits is a coin toss to the processor: nothing branches on it. The victim
 * is looked up for every access and taken on a miss.
 */
static void slru_run(struct model *m, const struct model_batch *batch, size_t i, size_t end)
{
	uint64_t *live = m->slots.bits[LIVE], *protected = m->slots.bits[PROTECTED];
	uint32_t word = m->tail_probation >> 6, *of = m->slots.of;
	const struct model_batch b = *batch;
	uint64_t nr_hits = 0, nr_deactivated = m->nr_deactivated, first = i;

	for (; i < end; i++) {
		uint32_t page = b.pages[i], slot = of[page], hit = bit_test(live, slot);
		uint32_t was_protected = bit_test(protected, slot);
		uint64_t victims = live[word] & ~protected[word];

		slots_prefetch(of, &b, i);
		while (__builtin_expect(!victims, 0)) {
			word++;
			victims = live[word] & ~protected[word];
		}
		live[word] &= ~(victims & -victims & ((uint64_t)hit - 1));
		nr_hits += hit;
		if (b.hit)
			b.hit[i] = hit;
		bit_clear(live, slot);
		bit_or(protected, slots_push_page(&m->slots, page), hit);
		if (hit & !was_protected)
			unprotect(m);
	}
	m->nr_activated += m->nr_deactivated - nr_deactivated;
	m->tail_probation = word << 6;
	m->nr_accesses += end - first;
	m->nr_hits += nr_hits;
	m->nr_evictions += end - first - nr_hits;
}

static size_t slru_step(struct model *m, const struct model_batch *batch, size_t i)
{
	uint32_t page = batch->pages[i], slot = m->slots.of[page];
	bool hit = bit_test(m->slots.bits[LIVE], slot);

	slots_prefetch(m->slots.of, batch, i);
	m->nr_accesses++;
	m->nr_hits += hit;
	if (batch->hit)
		batch->hit[i] = hit;
	if (hit)
		slru_hit(m, page, slot);
	else
		slru_miss(m, page);
	return i + 1;
}

static void slru_access(struct model *m, const struct model_batch *batch)
{
	for (size_t i = 0; i < batch->nr;) {
		size_t room = (m->slots.nr_slots - m->slots.next) / 2, left = batch->nr - i;

		if (room && m->max_protected && m->nr_protected == m->max_protected &&
		    m->nr_probation && m->nr_probation == m->capacity - m->max_protected) {
			left = left < room ? left : room;
			slru_run(m, batch, i, i + left);
			i += left;
		} else {
			i = slru_step(m, batch, i);
		}
	}
}

static void slru_remove(struct model *m, uint32_t page)
{
	uint32_t slot = m->slots.of[page];

	m->slots.of[page] = 0;
	if (!bit_test(m->slots.bits[LIVE], slot))
		return;
	*(bit_test(m->slots.bits[PROTECTED], slot) ? &m->nr_protected : &m->nr_probation) -= 1;
	bit_clear(m->slots.bits[LIVE], slot);
}

static void slru_counters(const struct model *m, struct model_counters *out)
{
	*out = (struct model_counters){
		.hits = m->nr_hits,
		.misses = m->nr_accesses - m->nr_hits,
		.evictions = m->nr_evictions,
		.scanned = m->nr_evictions,
		.rotated = MODEL_COUNTER_NONE,
		.activated = m->nr_activated,
		.deactivated = m->nr_deactivated,
		.ghost_hits = MODEL_COUNTER_NONE,
		.resident_pages = m->nr_probation + m->nr_protected,
		.metadata_bytes = m->slots.bytes,
	};
}

static const struct param slru_params[] = {
	{ "protected", PARAM_PCT, offsetof(struct slru_params, protected_pct), "80", 0, 100, "%",
	  "the protected segment's share of the capacity", NULL },
	{ 0 },
};

const struct model_ops slru_ops = {
	.name = "slru",
	.title = "segmented lru: probation and protection",
	.source = "Karedla, Love, Wherry 1994",
	.params = slru_params,
	.params_bytes = sizeof(struct slru_params),
	.create = slru_create,
	.access = slru_access,
	.remove = slru_remove,
	.counters = slru_counters,
	.destroy = slru_destroy,
};
