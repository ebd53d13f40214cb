// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lru.c - least recently used.
 *
 * The page that was not used for the longest time leaves. LRU has the inclusion property (Mattson,
 * Gecsei, Slutz, Traiger: Evaluation techniques for storage hierarchies, IBM Systems Journal 9(2),
 * 1970): a larger cache holds all that a smaller one holds, so one pass gives every size (curve.c).
 *
 * The usual hash table and doubly linked list are not needed: the order is the order of the last
 * accesses, so each access takes the next slot number, and a page is resident iff its number is not
 * below the finger (slots.h). What a slot number cannot say is which page a victim is; nobody asks.
 */
#include <errno.h>

#include "replay/models/slots.h"

struct model {
	struct slots slots;
	uint32_t capacity_pages;
	uint32_t nr_resident;
	uint32_t finger;	/* the oldest resident slot, or a dead one just before it */
	uint64_t nr_accesses, nr_hits, nr_evictions;
};

static void lru_destroy(struct model *m)
{
	if (!m)
		return;
	slots_release(&m->slots);
	free(m);
}

static struct model *lru_create(const struct model_config *config, int *code, struct err *err)
{
	struct model *m = calloc(1, sizeof(*m));

	if (!m) {
		*code = err_set(err, -ENOMEM, "no memory for lru");
		return NULL;
	}
	m->capacity_pages = config->capacity_pages;
	m->finger = 1;
	*code = slots_init(&m->slots, config->nr_ids, config->capacity_pages, 1, false, err);
	if (*code) {
		lru_destroy(m);
		return NULL;
	}
	return m;
}

static void lru_renumber(struct model *m)
{
	uint32_t *const fingers[] = { &m->finger };

	slots_renumber(&m->slots, m->finger, fingers, 1);
}

static void lru_access(struct model *m, const struct model_batch *batch)
{
	uint32_t *of = m->slots.of, finger = m->finger, nr_resident = m->nr_resident;
	uint64_t *live = m->slots.bits[0], nr_hits = 0, nr_evictions = 0;

	for (size_t i = 0; i < batch->nr; i++) {
		uint32_t page = batch->pages[i], slot;
		bool hit;

		if (__builtin_expect(slots_full(&m->slots), 0)) {
			m->finger = finger;
			lru_renumber(m);
			finger = m->finger;
		}
		slots_prefetch(of, batch, i);
		slot = of[page];
		of[page] = m->slots.next++;
		bit_clear(live, slot);
		hit = slot >= finger;
		nr_hits += hit;
		if (batch->hit)
			batch->hit[i] = hit;
		if (hit)
			continue;
		if (nr_resident < m->capacity_pages) {
			nr_resident++;
			continue;
		}
		finger = bit_next(live, finger) + 1;
		nr_evictions++;
	}
	m->finger = finger;
	m->nr_resident = nr_resident;
	m->nr_accesses += batch->nr;
	m->nr_hits += nr_hits;
	m->nr_evictions += nr_evictions;
}

static void lru_remove(struct model *m, uint32_t page)
{
	uint32_t slot = m->slots.of[page];

	if (slot >= m->finger) {
		bit_clear(m->slots.bits[0], slot);
		m->nr_resident--;
	}
	m->slots.of[page] = 0;
}

static void lru_counters(const struct model *m, struct model_counters *out)
{
	*out = (struct model_counters){
		.hits = m->nr_hits,
		.misses = m->nr_accesses - m->nr_hits,
		.evictions = m->nr_evictions,
		.scanned = m->nr_evictions,
		.rotated = MODEL_COUNTER_NONE,
		.activated = MODEL_COUNTER_NONE,
		.deactivated = MODEL_COUNTER_NONE,
		.ghost_hits = MODEL_COUNTER_NONE,
		.resident_pages = m->nr_resident,
		.metadata_bytes = m->slots.bytes,
	};
}

const struct model_ops lru_ops = {
	.name = "lru",
	.title = "least recently used",
	.source = "Mattson, Gecsei, Slutz, Traiger 1970",
	.flags = MODEL_STACK,
	.create = lru_create,
	.access = lru_access,
	.remove = lru_remove,
	.counters = lru_counters,
	.destroy = lru_destroy,
};
