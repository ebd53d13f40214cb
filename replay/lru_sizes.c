// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lru_sizes.c - lru at several sizes in one pass: from the stack distance of each access
 * (distance.h) to the hits, misses and evictions of each size. Equal in every counter to lru run at
 * each; even the bytes are those that lru would take alone, so that a result does not depend on how
 * it was got.
 */
#include <errno.h>

#include "replay/distance.h"
#include "replay/lane.h"

enum { CHUNK = 4096 };

struct lru_sizes {
	struct distances distances;
	uint64_t nr_accesses;
	size_t nr;
	/* by ascending size */
	uint32_t *capacities;
	uint64_t *nr_hits_here;	/* hits at this size, not at the next smaller one; [nr]: misses */
	uint64_t *nr_removed;
	uint32_t *nr_holes;
	size_t *place;		/* order given in -> by size */
	uint32_t chunk[CHUNK];
};

void lru_sizes_destroy(struct lru_sizes *s)
{
	if (!s)
		return;
	distances_release(&s->distances);
	free(s->capacities);
	free(s->nr_hits_here);
	free(s->nr_removed);
	free(s->nr_holes);
	free(s->place);
	free(s);
}

/* Insertion sort: a few sizes. */
static void sort_sizes(struct lru_sizes *s, const uint32_t *capacity_pages)
{
	for (size_t i = 0; i < s->nr; i++) {
		size_t at = i;

		for (; at && s->capacities[at - 1] > capacity_pages[i]; at--)
			s->capacities[at] = s->capacities[at - 1];
		s->capacities[at] = capacity_pages[i];
	}
	for (size_t i = 0; i < s->nr; i++)
		while (s->capacities[s->place[i]] != capacity_pages[i])
			s->place[i]++;
}

struct lru_sizes *lru_sizes_create(const uint32_t *capacity_pages, size_t nr, uint32_t nr_ids)
{
	struct lru_sizes *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->nr = nr;
	s->capacities = calloc(nr, sizeof(*s->capacities));
	s->nr_hits_here = calloc(nr + 1, sizeof(*s->nr_hits_here));
	s->nr_removed = calloc(nr, sizeof(*s->nr_removed));
	s->nr_holes = calloc(nr, sizeof(*s->nr_holes));
	s->place = calloc(nr, sizeof(*s->place));
	if (!s->capacities || !s->nr_hits_here || !s->nr_removed || !s->nr_holes || !s->place ||
	    distances_init(&s->distances, nr_ids, NULL)) {
		lru_sizes_destroy(s);
		return NULL;
	}
	sort_sizes(s, capacity_pages);
	return s;
}

/* The smallest size that hits at @distance, nr if none does. */
static inline size_t first_hit(const struct lru_sizes *s, uint32_t distance)
{
	size_t k = 0;

	for (size_t i = 0; i < s->nr; i++)
		k += distance >= s->capacities[i];
	return k;
}

static void access_holes(struct lru_sizes *s, uint32_t page)
{
	struct hole_move move;
	uint32_t distance = distance_access_holes(&s->distances, page, &move);

	s->nr_hits_here[first_hit(s, distance)]++;
	for (size_t k = 0; k < s->nr; k++)
		s->nr_holes[k] -= move.from < s->capacities[k] && move.to >= s->capacities[k];
}

void lru_sizes_access(struct lru_sizes *s, const struct model_batch *batch)
{
	size_t i = 0, nr;

	s->nr_accesses += batch->nr;
	while (i < batch->nr && s->distances.nr_holes)
		access_holes(s, batch->pages[i++]);
	for (; i < batch->nr; i += nr) {
		nr = batch->nr - i < CHUNK ? batch->nr - i : CHUNK;
		distances_access(&s->distances, batch->pages + i, nr, s->chunk);
		for (size_t j = 0; j < nr; j++)
			s->nr_hits_here[first_hit(s, s->chunk[j])]++;
	}
}

void lru_sizes_remove(struct lru_sizes *s, uint32_t page)
{
	uint32_t distance = distance_remove(&s->distances, page);

	for (size_t k = first_hit(s, distance); k < s->nr; k++) {
		s->nr_removed[k]++;
		s->nr_holes[k]++;
	}
}

void lru_sizes_counters(const struct lru_sizes *s, size_t i, struct model_counters *out)
{
	size_t k = s->place[i];
	uint32_t depth = distances_depth(&s->distances);
	uint64_t hits = 0, misses, resident;

	for (size_t j = 0; j <= k; j++)
		hits += s->nr_hits_here[j];
	misses = s->nr_accesses - hits;
	resident = (depth < s->capacities[k] ? depth : s->capacities[k]) - s->nr_holes[k];
	*out = (struct model_counters){
		.hits = hits,
		.misses = misses,
		.evictions = misses - s->nr_removed[k] - resident,
		.scanned = misses - s->nr_removed[k] - resident,
		.rotated = MODEL_COUNTER_NONE,
		.activated = MODEL_COUNTER_NONE,
		.deactivated = MODEL_COUNTER_NONE,
		.ghost_hits = MODEL_COUNTER_NONE,
		.resident_pages = resident,
		.metadata_bytes = slots_bytes(s->distances.slots.nr_ids, s->capacities[k], 1,
					      SLOTS_NO_PAGES),
	};
}
