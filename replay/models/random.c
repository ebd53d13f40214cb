// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * random.c - evicts any page, each with the same chance: what a policy must beat.
 *
 * Source: Belady 1966 has it as RAND. Draws come from splitmix64 with the run's seed, one per
 * eviction; the victim is frame floor(draw * capacity / 2^32) of the draw's upper half, and the new
 * page takes its frame. Truncation moves the page of the last frame into the hole.
 */
#include <errno.h>

#include "replay/models/slots.h"

struct model {
	uint32_t *frame_of;	/* page -> frame + 1; 0: not resident */
	uint32_t *page_in;
	uint32_t capacity_pages, nr_resident;
	uint64_t rand_state;
	uint64_t nr_accesses, nr_hits, nr_evictions, metadata_bytes;
};

static void random_destroy(struct model *m)
{
	if (!m)
		return;
	free(m->frame_of);
	free(m->page_in);
	free(m);
}

static struct model *random_create(const struct model_config *config, int *code, struct err *err)
{
	uint64_t nr_frames = model_capacity_clamped(config);
	struct model *m = calloc(1, sizeof(*m));

	if (m) {
		m->capacity_pages = config->capacity_pages;
		m->rand_state = config->seed;
		m->frame_of = model_alloc(4ULL * config->nr_ids);
		m->page_in = model_alloc(4 * nr_frames);
		m->metadata_bytes = 4ULL * config->nr_ids + 4 * nr_frames;
	}
	if (!m || !m->frame_of || !m->page_in) {
		random_destroy(m);
		*code = err_set(err, -ENOMEM, "no memory for random of %u pages",
				config->capacity_pages);
		return NULL;
	}
	return m;
}

static inline uint32_t draw_frame(uint64_t *state, uint32_t nr)
{
	return (rand_next(state) >> 32) * nr >> 32;
}

static inline void random_fill(struct model *m, uint32_t page)
{
	uint64_t ahead = m->rand_state;
	uint32_t frame, next;

	if (m->nr_resident < m->capacity_pages) {
		frame = m->nr_resident++;
	} else {
		frame = draw_frame(&m->rand_state, m->capacity_pages);
		m->frame_of[m->page_in[frame]] = 0;
		m->nr_evictions++;
		/* the next victims are known already */
		ahead = m->rand_state + 3 * 0x9e3779b97f4a7c15ULL;
		next = m->page_in[draw_frame(&ahead, m->capacity_pages)];
		__builtin_prefetch(&m->frame_of[next], 1);
		ahead = m->rand_state + 7 * 0x9e3779b97f4a7c15ULL;
		__builtin_prefetch(&m->page_in[draw_frame(&ahead, m->capacity_pages)], 1);
	}
	m->page_in[frame] = page;
	m->frame_of[page] = frame + 1;
}

static void random_access(struct model *m, const struct model_batch *batch)
{
	uint64_t nr_hits = 0;

	for (size_t i = 0; i < batch->nr; i++) {
		uint32_t page = batch->pages[i];
		bool hit = m->frame_of[page] != 0;

		slots_prefetch(m->frame_of, batch, i);
		nr_hits += hit;
		if (batch->hit)
			batch->hit[i] = hit;
		if (!hit)
			random_fill(m, page);
	}
	m->nr_accesses += batch->nr;
	m->nr_hits += nr_hits;
}

static void random_remove(struct model *m, uint32_t page)
{
	uint32_t frame = m->frame_of[page], moved;

	if (!frame)
		return;
	moved = m->page_in[--m->nr_resident];
	m->page_in[frame - 1] = moved;
	m->frame_of[moved] = frame;
	m->frame_of[page] = 0;
}

static void random_counters(const struct model *m, struct model_counters *out)
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

const struct model_ops random_ops = {
	.name = "random",
	.title = "any page, with equal chances",
	.source = "Belady 1966",
	.flags = MODEL_RANDOMIZED,
	.create = random_create,
	.access = random_access,
	.remove = random_remove,
	.counters = random_counters,
	.destroy = random_destroy,
};
