// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fifo.c - first in, first out: the smallest model, and the template for a new one.
 *
 * Pages leave in the order in which they came in; a hit changes nothing. FIFO has no inclusion
 * property: more memory can mean more misses (Belady, Nelson, Shedler: An anomaly in space-time
 * characteristics of certain programs running in a paging machine, CACM 12(6), 1969).
 *
 * The queue is a ring of capacity_pages page ids, the state one byte per page: resident or not. A
 * page that remove() took out leaves a hole in the ring (its slot number no longer matches), so each
 * page also remembers its slot.
 */
#include <errno.h>
#include <stdlib.h>

#include "replay/replay.h"

enum { NO_SLOT = UINT32_MAX };

struct model {
	uint32_t capacity_pages;
	uint32_t nr_resident;
	uint32_t hand;		/* next ring slot to fill */
	uint32_t nr_ids;
	uint32_t *slot_of;	/* page -> ring slot or NO_SLOT */
	uint32_t *ring;		/* slot -> page */
	uint64_t nr_hits, nr_misses, nr_evictions;
};

static void fifo_destroy(struct model *m)
{
	if (!m)
		return;
	free(m->slot_of);
	free(m->ring);
	free(m);
}

static struct model *fifo_create(const struct model_config *config, int *code, struct err *err)
{
	struct model *m = calloc(1, sizeof(*m));

	if (m) {
		m->capacity_pages = config->capacity_pages;
		m->nr_ids = config->nr_ids;
		m->slot_of = malloc(sizeof(*m->slot_of) * ((size_t)config->nr_ids + 1));
		m->ring = malloc(sizeof(*m->ring) * (size_t)config->capacity_pages);
	}
	if (!m || !m->slot_of || !m->ring) {
		fifo_destroy(m);
		*code = err_set(err, -ENOMEM, "no memory for fifo of %u pages",
				config->capacity_pages);
		return NULL;
	}
	for (uint32_t i = 0; i < config->nr_ids; i++)
		m->slot_of[i] = NO_SLOT;
	for (uint32_t i = 0; i < config->capacity_pages; i++)
		m->ring[i] = UINT32_MAX;
	return m;
}

static void fifo_access(struct model *m, const struct model_batch *batch)
{
	for (size_t i = 0; i < batch->nr; i++) {
		uint32_t page = batch->pages[i], victim;
		bool hit = m->slot_of[page] != NO_SLOT;

		if (batch->hit)
			batch->hit[i] = hit;
		if (hit) {
			m->nr_hits++;
			continue;
		}
		m->nr_misses++;
		victim = m->ring[m->hand];
		if (victim != UINT32_MAX) {
			m->slot_of[victim] = NO_SLOT;
			m->nr_evictions++;
		} else {
			m->nr_resident++;
		}
		m->ring[m->hand] = page;
		m->slot_of[page] = m->hand;
		m->hand = m->hand + 1 == m->capacity_pages ? 0 : m->hand + 1;
	}
}

static void fifo_remove(struct model *m, uint32_t page)
{
	if (m->slot_of[page] == NO_SLOT)
		return;
	m->ring[m->slot_of[page]] = UINT32_MAX;
	m->slot_of[page] = NO_SLOT;
	m->nr_resident--;
}

static void fifo_counters(const struct model *m, struct model_counters *out)
{
	*out = (struct model_counters){
		.hits = m->nr_hits,
		.misses = m->nr_misses,
		.evictions = m->nr_evictions,
		.scanned = m->nr_evictions,
		.rotated = MODEL_COUNTER_NONE,
		.activated = MODEL_COUNTER_NONE,
		.deactivated = MODEL_COUNTER_NONE,
		.ghost_hits = MODEL_COUNTER_NONE,
		.resident_pages = m->nr_resident,
		.metadata_bytes = 4ULL * m->nr_ids + 4ULL * m->capacity_pages,
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
