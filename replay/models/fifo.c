// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fifo.c - first in, first out: the smallest model, and the template for a new one.
 *
 * Pages leave in the order in which they came in; a hit changes nothing. FIFO has no inclusion
 * property: more memory can mean more misses (Belady, Nelson, Shedler: An anomaly in space-time
 * characteristics of certain programs running in a paging machine, CACM 12(6), 1969).
 *
 * The queue is a sequence of slot numbers (slots.h): a fill takes the next one, a page is resident
 * iff its number is not below the finger, evicting moves the finger on.
 */
#include <errno.h>

#include "replay/models/slots.h"

enum { FIFO_AHEAD = 32 };	/* at 3 ns an access */

struct model {
	struct slots slots;
	uint32_t capacity_pages;
	uint32_t nr_resident;
	uint32_t finger;	/* the oldest resident slot, or an emptied one before it */
	uint64_t nr_accesses, nr_misses, nr_evictions;
};

static void fifo_destroy(struct model *m)
{
	if (!m)
		return;
	slots_release(&m->slots);
	free(m);
}

static struct model *fifo_create(const struct model_config *config, int *code, struct err *err)
{
	struct model *m = calloc(1, sizeof(*m));

	if (!m) {
		*code = err_set(err, -ENOMEM, "no memory for fifo");
		return NULL;
	}
	m->capacity_pages = config->capacity_pages;
	m->finger = 1;
	*code = slots_init(&m->slots, config->nr_ids, config->capacity_pages, 1, false, err);
	if (*code) {
		fifo_destroy(m);
		return NULL;
	}
	return m;
}

static inline void fifo_fill(struct model *m, uint32_t page)
{
	uint32_t *const fingers[] = { &m->finger };

	if (__builtin_expect(slots_full(&m->slots), 0))
		slots_renumber(&m->slots, m->finger, fingers, ARRAY_SIZE(fingers));
	m->slots.of[page] = m->slots.next++;
	if (m->nr_resident < m->capacity_pages) {
		m->nr_resident++;
		return;
	}
	m->finger = bit_next(m->slots.bits[0], m->finger) + 1;
	m->nr_evictions++;
}

/*
 * A full cache whose emptied slots have all gone by: the finger is capacity_pages behind next, and
 * nothing branches on a hit, which is a coin toss to the processor.
 */
static size_t fifo_run(struct model *m, const struct model_batch *batch, size_t i, size_t end)
{
	uint32_t *of = m->slots.of, finger = m->finger, capacity = m->capacity_pages;

	for (; i < end; i++) {
		uint32_t page = batch->pages[i], slot = of[page], miss = slot < finger;

		slots_prefetch_at(of, batch, i, FIFO_AHEAD);
		if (batch->hit)
			batch->hit[i] = !miss;
		of[page] = slot + ((finger + capacity - slot) & -miss);
		finger += miss;
	}
	m->nr_evictions += finger - m->finger;
	m->nr_misses += finger - m->finger;
	m->slots.next += finger - m->finger;
	m->finger = finger;
	return end;
}

static size_t fifo_step(struct model *m, const struct model_batch *batch, size_t i)
{
	bool hit = m->slots.of[batch->pages[i]] >= m->finger;

	slots_prefetch(m->slots.of, batch, i);
	if (batch->hit)
		batch->hit[i] = hit;
	if (!hit)
		fifo_fill(m, batch->pages[i]);
	m->nr_misses += !hit;
	return i + 1;
}

static void fifo_access(struct model *m, const struct model_batch *batch)
{
	for (size_t i = 0; i < batch->nr;) {
		size_t room = m->slots.nr_slots - m->slots.next, left = batch->nr - i;

		if (room && m->nr_resident == m->capacity_pages &&
		    m->slots.next - m->finger == m->capacity_pages)
			i = fifo_run(m, batch, i, i + (left < room ? left : room));
		else
			i = fifo_step(m, batch, i);
	}
	m->nr_accesses += batch->nr;
}

static void fifo_remove(struct model *m, uint32_t page)
{
	uint32_t slot = m->slots.of[page];

	if (slot < m->finger)
		return;
	bit_clear(m->slots.bits[0], slot);
	m->slots.of[page] = 0;
	m->nr_resident--;
}

static void fifo_counters(const struct model *m, struct model_counters *out)
{
	*out = (struct model_counters){
		.hits = m->nr_accesses - m->nr_misses,
		.misses = m->nr_misses,
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

const struct model_ops fifo_ops = {
	.name = "fifo",
	.title = "first in, first out",
	.source = "Belady, Nelson, Shedler 1969",
	.create = fifo_create,
	.access = fifo_access,
	.remove = fifo_remove,
	.counters = fifo_counters,
	.destroy = fifo_destroy,
};
