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
	uint64_t nr_resident;
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
 * Whether an access hits is a coin toss to the processor, so nothing branches on it. The word of
 * live slots that the finger is in stays in a register, without those before the finger: a miss in
 * a full cache takes its lowest bit away, and a slot in any other word hits iff it is above.
 */
static inline __attribute__((always_inline)) void
lru_run(struct model *m, const uint32_t *pages, size_t nr, uint8_t *hits, bool full, bool ahead)
{
	uint32_t *of = m->slots.of, next = m->slots.next, word = m->finger >> 6;
	uint64_t *live = m->slots.bits[0], left = live[word] & ~0ULL << (m->finger & 63);
	uint64_t nr_misses = 0;

	while (!left)
		left = live[++word];
	for (size_t i = 0; i < nr; i++) {
		uint32_t page = pages[i], slot = of[page], miss = slot < word * 64;
		uint64_t bit = 1ULL << (slot & 63);

		if (ahead)
			__builtin_prefetch(&of[pages[i + LRU_AHEAD]], 1);
		of[page] = next++;
		if (__builtin_expect(slot >> 6 == word, 0)) {
			miss = !(left & bit);
			left &= ~bit;
		}
		live[slot >> 6] &= ~bit;
		nr_misses += miss;
		if (hits)
			hits[i] = !miss;
		if (full)
			left &= left - miss;
		while (__builtin_expect(!left, 0))
			left = live[++word];
	}
	m->finger = word * 64 + (uint32_t)__builtin_ctzll(left);
	m->slots.next = next;
	m->nr_hits += nr - nr_misses;
	*(full ? &m->nr_evictions : &m->nr_resident) += nr_misses;
}

/* The last accesses of a batch have nothing to look ahead to. */
static inline __attribute__((always_inline)) void
lru_ahead(struct model *m, const struct model_batch *batch, size_t i, size_t nr, bool full)
{
	size_t left = batch->nr - i, far = left > LRU_AHEAD ? left - LRU_AHEAD : 0;
	const uint32_t *pages = batch->pages + i;
	uint8_t *hits = batch->hit ? batch->hit + i : NULL;

	far = far < nr ? far : nr;
	if (hits) {
		lru_run(m, pages, far, hits, full, true);
		lru_run(m, pages + far, nr - far, hits + far, full, false);
	} else {
		lru_run(m, pages, far, NULL, full, true);
		lru_run(m, pages + far, nr - far, NULL, full, false);
	}
}

/* So many accesses at a time that the slots last and that a cache with room does not fill up. */
static void lru_access(struct model *m, const struct model_batch *batch)
{
	size_t i = 0, nr;

	for (; i < batch->nr; i += nr) {
		uint32_t room = m->capacity_pages - (uint32_t)m->nr_resident, slots;

		if (slots_full(&m->slots))
			lru_renumber(m);
		slots = m->slots.nr_slots - m->slots.next;
		nr = batch->nr - i;
		nr = nr < slots ? nr : slots;
		nr = !room || nr < room ? nr : room;
		if (room)
			lru_ahead(m, batch, i, nr, false);
		else
			lru_ahead(m, batch, i, nr, true);
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
