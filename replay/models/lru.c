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

enum { LRU_AHEAD = 32 };

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

/*
 * The accesses while there is room. Few as a rule, so nothing special.
 */
static size_t lru_fill(struct model *m, const struct model_batch *batch)
{
	size_t i = 0;

	for (; i < batch->nr && m->nr_resident < m->capacity_pages; i++) {
		uint32_t page = batch->pages[i], slot;
		bool hit;

		if (slots_full(&m->slots))
			lru_renumber(m);
		slots_prefetch(m->slots.of, batch, i);
		slot = m->slots.of[page];
		hit = slot >= m->finger;
		bit_clear(m->slots.bits[0], slot);
		slots_push(&m->slots, page);
		m->nr_hits += hit;
		m->nr_resident += !hit;
		if (batch->hit)
			batch->hit[i] = hit;
	}
	return i;
}

/*
 * A full cache: whether an access hits is a coin toss to the processor, so nothing branches on it.
 * The finger's next stop is looked up for every access and taken on a miss. The rare word without a
 * live slot is left to bit_next().
 */
static size_t lru_run(struct model *m, const struct model_batch *batch, size_t i, size_t end,
		      uint8_t *hits)
{
	uint32_t *of = m->slots.of, finger = m->finger, next = m->slots.next;
	uint64_t *live = m->slots.bits[0], nr_hits = 0;
	const struct model_batch b = *batch;
	size_t first = i;

	for (; i < end; i++) {
		uint32_t page = b.pages[i], slot = of[page];
		uint64_t word;
		bool hit;

		slots_prefetch_at(of, &b, i, LRU_AHEAD);
		of[page] = next++;
		bit_clear(live, slot);
		hit = slot >= finger;
		nr_hits += hit;
		hits[i - first] = hit;
		word = live[finger >> 6] >> (finger & 63);
		if (__builtin_expect(!word, 0))
			finger = hit ? finger : bit_next(live, finger) + 1;
		else
			finger += (__builtin_ctzll(word) + 1) & ((uint32_t)hit - 1);
	}
	m->finger = finger;
	m->slots.next = next;
	m->nr_hits += nr_hits;
	m->nr_evictions += end - first - nr_hits;
	return end;
}

static void lru_access(struct model *m, const struct model_batch *batch)
{
	uint8_t unwanted[4096];
	size_t i = lru_fill(m, batch);

	while (i < batch->nr) {
		size_t nr = batch->nr - i, room;

		if (slots_full(&m->slots))
			lru_renumber(m);
		room = m->slots.nr_slots - m->slots.next;
		nr = nr < room ? nr : room;
		nr = nr < sizeof(unwanted) ? nr : sizeof(unwanted);
		i = lru_run(m, batch, i, i + nr, batch->hit ? batch->hit + i : unwanted);
	}
	m->nr_accesses += batch->nr;
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
