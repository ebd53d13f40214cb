// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lfu.c - least frequently used: the page with the fewest uses since it came in leaves; among
 * equals the one not used for the longest time.
 *
 * Source: in use since the 1970s (Coffman, Denning, Operating systems theory, 1973); in constant
 * time per access by a list of lists (Shah, Mitra, Matani, An O(1) algorithm for implementing the
 * LFU cache eviction scheme, 2010). Counts are forgotten on eviction ("in-cache" lfu, as
 * libCacheSim and most others have it); "perfect" lfu would remember them for ever.
 *
 * A class holds the pages of one count in the order of their last use; the classes in use form a
 * list by count. There are never more of them than pages, nor more than sqrt(2 n) after n accesses,
 * so they are allocated once. A page's neighbours in its class are prefetched, like the page.
 */
#include <errno.h>
#include <math.h>

#include "replay/models/slots.h"

enum { NONE = UINT32_MAX, LINKS_AHEAD = 8 };

struct node {
	uint32_t class;		/* NONE: not resident */
	uint32_t older, newer;	/* in the class; NONE at its ends */
	uint32_t unused;	/* four nodes a cache line */
};

struct class {
	uint64_t count;
	uint32_t oldest, newest;	/* pages */
	uint32_t lower, higher;		/* classes; higher: the next free one while unused */
};

struct model {
	struct node *nodes;
	struct class *classes;
	uint32_t lowest, free;
	uint32_t nr_classes;
	uint32_t capacity_pages, nr_resident;
	uint64_t nr_accesses, nr_hits, nr_evictions, metadata_bytes;
};

static void lfu_destroy(struct model *m)
{
	if (!m)
		return;
	free(m->nodes);
	free(m->classes);
	free(m);
}

/* One more than are ever in use: a page enters its new class before the old one is freed. */
static uint32_t classes_needed(const struct model_config *config)
{
	uint64_t nr = model_capacity_clamped(config);
	uint64_t by_accesses = (uint64_t)sqrt(2.0 * (double)config->nr_accesses) + 2;

	return (uint32_t)(config->nr_accesses && by_accesses < nr ? by_accesses : nr) + 2;
}

static struct model *lfu_create(const struct model_config *config, int *code, struct err *err)
{
	uint32_t nr_classes = classes_needed(config);
	struct model *m = calloc(1, sizeof(*m));

	if (m) {
		m->capacity_pages = config->capacity_pages;
		m->nr_classes = nr_classes;
		m->nodes = model_alloc(sizeof(*m->nodes) * config->nr_ids);
		m->classes = model_alloc(sizeof(*m->classes) * nr_classes);
		m->metadata_bytes = sizeof(*m->nodes) * config->nr_ids +
				    sizeof(*m->classes) * (uint64_t)nr_classes;
	}
	if (!m || !m->nodes || !m->classes) {
		lfu_destroy(m);
		*code = err_set(err, -ENOMEM, "no memory for lfu of %u pages",
				config->capacity_pages);
		return NULL;
	}
	for (uint32_t i = 0; i < config->nr_ids; i++)
		m->nodes[i].class = NONE;
	for (uint32_t i = 0; i < nr_classes; i++)
		m->classes[i].higher = i + 1 < nr_classes ? i + 1 : NONE;
	m->lowest = NONE;
	return m;
}

static inline uint32_t class_new(struct model *m, uint64_t count, uint32_t lower, uint32_t higher)
{
	uint32_t c = m->free;

	m->free = m->classes[c].higher;
	m->classes[c] = (struct class){ count, NONE, NONE, lower, higher };
	*(lower == NONE ? &m->lowest : &m->classes[lower].higher) = c;
	if (higher != NONE)
		m->classes[higher].lower = c;
	return c;
}

static inline void class_free(struct model *m, uint32_t c)
{
	struct class *class = &m->classes[c];

	*(class->lower == NONE ? &m->lowest : &m->classes[class->lower].higher) = class->higher;
	if (class->higher != NONE)
		m->classes[class->higher].lower = class->lower;
	class->higher = m->free;
	m->free = c;
}

static inline void page_link(struct model *m, uint32_t page, uint32_t c)
{
	struct class *class = &m->classes[c];

	m->nodes[page].class = c;
	m->nodes[page].older = class->newest;
	m->nodes[page].newer = NONE;
	*(class->newest == NONE ? &class->oldest : &m->nodes[class->newest].newer) = page;
	class->newest = page;
}

/* The class stays, even if that leaves it empty. */
static inline void page_unlink(struct model *m, uint32_t page)
{
	struct node *node = &m->nodes[page];
	struct class *class = &m->classes[node->class];

	*(node->older == NONE ? &class->oldest : &m->nodes[node->older].newer) = node->newer;
	*(node->newer == NONE ? &class->newest : &m->nodes[node->newer].older) = node->older;
}

static inline void page_drop(struct model *m, uint32_t page)
{
	uint32_t c = m->nodes[page].class;

	page_unlink(m, page);
	if (m->classes[c].oldest == NONE)
		class_free(m, c);
	m->nodes[page].class = NONE;
}

static inline void lfu_hit(struct model *m, uint32_t page)
{
	uint32_t c = m->nodes[page].class, higher = m->classes[c].higher;
	uint64_t count = m->classes[c].count + 1;

	page_unlink(m, page);
	if (higher == NONE || m->classes[higher].count != count) {
		if (m->classes[c].oldest == NONE) {
			m->classes[c].count = count;	/* it was alone: its class moves with it */
			page_link(m, page, c);
			return;
		}
		higher = class_new(m, count, c, higher);
	}
	page_link(m, page, higher);
	if (m->classes[c].oldest == NONE)
		class_free(m, c);
}

static inline void lfu_miss(struct model *m, uint32_t page)
{
	if (m->nr_resident < m->capacity_pages) {
		m->nr_resident++;
	} else {
		page_drop(m, m->classes[m->lowest].oldest);
		m->nr_evictions++;
	}
	if (m->lowest == NONE || m->classes[m->lowest].count != 1)
		class_new(m, 1, NONE, m->lowest);
	page_link(m, page, m->lowest);
}

PREFETCHING void lfu_prefetch(const struct model *m, const struct model_batch *batch, size_t i)
{
	if (i + PREFETCH_AHEAD < batch->nr)
		__builtin_prefetch(&m->nodes[batch->pages[i + PREFETCH_AHEAD]], 1);
	if (i + LINKS_AHEAD < batch->nr) {
		const struct node *node = &m->nodes[batch->pages[i + LINKS_AHEAD]];

		if (node->class == NONE)
			return;
		__builtin_prefetch(&m->nodes[node->older], 1);	/* NONE: prefetches never fault */
		__builtin_prefetch(&m->nodes[node->newer], 1);
	}
}

static void lfu_access(struct model *m, const struct model_batch *batch)
{
	uint64_t nr_hits = 0;

	for (size_t i = 0; i < batch->nr; i++) {
		uint32_t page = batch->pages[i];
		bool hit = m->nodes[page].class != NONE;

		lfu_prefetch(m, batch, i);
		nr_hits += hit;
		if (batch->hit)
			batch->hit[i] = hit;
		if (hit)
			lfu_hit(m, page);
		else
			lfu_miss(m, page);
	}
	m->nr_accesses += batch->nr;
	m->nr_hits += nr_hits;
}

static void lfu_remove(struct model *m, uint32_t page)
{
	if (m->nodes[page].class == NONE)
		return;
	page_drop(m, page);
	m->nr_resident--;
}

static void lfu_counters(const struct model *m, struct model_counters *out)
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
		.metadata_bytes = m->metadata_bytes,
	};
}

const struct model_ops lfu_ops = {
	.name = "lfu",
	.title = "least frequently used since it came in",
	.source = "Coffman, Denning 1973; Shah, Mitra, Matani 2010",
	.create = lfu_create,
	.access = lfu_access,
	.remove = lfu_remove,
	.counters = lfu_counters,
	.destroy = lfu_destroy,
};
