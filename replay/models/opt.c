// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * opt.c - Belady's optimum: on a miss in a full cache the page wanted again latest leaves. The
 * missed page always comes in (no bypass), as the page cache has it.
 *
 * Source: Belady, A study of replacement algorithms for a virtual-storage computer, IBM Systems
 * Journal 5(2), 1966. The usual way needs the next use of every access, hence a backward pass over
 * the stream, four bytes an access, and a heap. None of that is needed to *count*.
 *
 * Look back instead of ahead. An access at time t to a page last used at time i is a hit iff the
 * page could stay through the moments i+1 .. t-1. OPT serves such intervals in the order of their
 * ends: an interval is kept iff at none of its moments C-1 kept intervals with earlier ends lie
 * already across (one more place holds the page of the moment). [Kept by OPT => kept by this rule:
 * OPT never has more than C pages. Not kept by OPT: at the eviction C-1 others with earlier ends
 * were there; if one of those was evicted later, at that moment again C-1 with still earlier ends
 * were there; the last such moment shows C-1 kept ones.] Jain and Lin (Back to the future, ISCA
 * 2016) reconstruct OPT with an occupancy vector in this way, at the cost of a walk along it.
 *
 * The walk goes away. Every interval examined ends now, so only S(x) = the highest occupancy from x
 * to now matters, a falling staircase of at most C-1 steps. Keeping the interval (i, t) raises S by
 * one from i+1 on. That takes one step down from the stairs, the last one at or before i (or, if
 * there is none, the whole staircase gets one higher, which C-1 limits), and puts one at t-1. The
 * interval is refused iff the stairs are C-1 high and no step lies at or before i. So the state is
 * a set of at most C-1 moments, a bit each; an access asks for the last set bit at or before i,
 * clears it and sets another at the end. A 64-way summary of the bitmap makes that a few shifts.
 *
 * When the moments run out they are renumbered from 1; pages between the same steps become equal.
 *
 * All sizes in one pass? OPT is a stack policy, and the stack of Mattson et al. with the next use
 * as priority gives every size at once. But an access moves each page on its way that is wanted
 * later than all above it, and under OPT the stack is nearly sorted that way: 11 pages an access
 * over 2,000 pages of zipf(0.9), 30 over 8,000, 104 over 20,000, and so on. Over a million pages
 * that is more than the 13 to 20 ns that an access costs here, for as many sizes as anyone asks
 * for. So opt's curve is a run for each size over one decode of the stream; a sample is quicker.
 *
 * Truncation: an access after one never hits. Whether a page that was truncated was still resident
 * is a matter of taste for OPT (pages without a future are all alike); it counts as resident if
 * there was room for it all along.
 */
#include <errno.h>

#include "replay/models/bitset.h"

enum { NO_PAGE = UINT32_MAX };

struct model {
	uint32_t *last;		/* page -> moment of the last access; 0: none, or truncated since */
	uint32_t nr_ids;
	uint32_t nr_moments;	/* moments are 1 .. nr_moments - 1 */
	uint32_t now;		/* moment of the next access */
	uint32_t previous;	/* page of the previous access */
	struct bitset steps;	/* of moments */
	uint32_t nr_steps, max_steps;
	uint32_t *rank;
	uint32_t capacity_pages, nr_resident;
	uint64_t nr_accesses, nr_hits, nr_evictions, metadata_bytes;
};

static void opt_destroy(struct model *m)
{
	if (!m)
		return;
	free(m->last);
	free(m->rank);
	bitset_release(&m->steps);
	free(m);
}

static bool opt_alloc(struct model *m)
{
	uint64_t nr_words = m->nr_moments / 64;

	m->last = model_alloc(4ULL * m->nr_ids);
	m->rank = model_alloc(4 * nr_words);
	if (!m->last || !m->rank || !bitset_init(&m->steps, m->nr_moments))
		return false;
	m->metadata_bytes = sizeof(*m) + 4ULL * m->nr_ids + 4 * nr_words + m->steps.bytes;
	return true;
}

static struct model *opt_create(const struct model_config *config, int *code, struct err *err)
{
	uint64_t nr_moments = (4ULL * config->nr_ids + 128 + 63) / 64 * 64;
	struct model *m = calloc(1, sizeof(*m));

	if (nr_moments >= UINT32_MAX) {
		*code = err_set(err, -EINVAL, "%u pages are too many for opt", config->nr_ids);
		free(m);
		return NULL;
	}
	if (m) {
		m->capacity_pages = config->capacity_pages;
		m->max_steps = config->capacity_pages - 1;
		m->nr_ids = config->nr_ids;
		m->nr_moments = nr_moments;
		m->now = 1;
		m->previous = NO_PAGE;
	}
	if (!m || !opt_alloc(m)) {
		opt_destroy(m);
		*code = err_set(err, -ENOMEM, "no memory for opt of %u pages", config->nr_ids);
		return NULL;
	}
	return m;
}

/* The page was last used at @since; may it have stayed until now? If so, takes its place. */
static inline bool opt_keep(struct model *m, uint32_t since)
{
	uint32_t step = bitset_before(&m->steps, since);

	if (step)
		bitset_remove(&m->steps, step);
	else if (m->nr_steps < m->max_steps)
		m->nr_steps++;
	else
		return false;
	bitset_add(&m->steps, m->now - 1);
	return true;
}

/*
 * Steps become 2, 3, ...; a page with r steps at or before its last access gets r + 1; the page of
 * the previous access a moment of its own, since the next step may come to lie there.
 */
static void opt_renumber(struct model *m)
{
	uint32_t nr = 0, nr_words = m->nr_moments / 64;
	const uint64_t *steps = m->steps.bits[0];

	for (uint32_t w = 0; w < nr_words; w++) {
		m->rank[w] = nr;
		nr += __builtin_popcountll(steps[w]);
	}
	for (uint32_t page = 0; page < m->nr_ids; page++) {
		uint32_t at = m->last[page];

		if (at)
			m->last[page] = 1 + m->rank[at >> 6] +
				__builtin_popcountll(steps[at >> 6] << (63 - (at & 63)));
	}
	bitset_clear(&m->steps);
	for (uint32_t step = 2; step < nr + 2; step++)
		bitset_add(&m->steps, step);
	if (m->previous != NO_PAGE && m->last[m->previous])
		m->last[m->previous] = nr + 2;
	m->now = nr + 3;
}

static inline void opt_miss(struct model *m)
{
	if (m->nr_resident < m->capacity_pages)
		m->nr_resident++;
	else
		m->nr_evictions++;
}

static void opt_access(struct model *m, const struct model_batch *batch)
{
	for (size_t i = 0; i < batch->nr; i++) {
		uint32_t page = batch->pages[i], since = m->last[page];
		bool hit = true;

		slots_prefetch(m->last, batch, i);
		if (page != m->previous || !since) {
			if (__builtin_expect(m->now == m->nr_moments, 0)) {
				opt_renumber(m);
				since = m->last[page];
			}
			hit = since && opt_keep(m, since);
			if (!hit)
				opt_miss(m);
			m->last[page] = m->now++;
			m->previous = page;
		}
		m->nr_hits += hit;
		if (batch->hit)
			batch->hit[i] = hit;
	}
	m->nr_accesses += batch->nr;
}

static void opt_remove(struct model *m, uint32_t page)
{
	uint32_t since = m->last[page];

	if (since && m->nr_resident &&
	    (page == m->previous || m->nr_steps < m->max_steps || bitset_before(&m->steps, since)))
		m->nr_resident--;
	m->last[page] = 0;
}

static void opt_counters(const struct model *m, struct model_counters *out)
{
	*out = (struct model_counters){
		.hits = m->nr_hits,
		.misses = m->nr_accesses - m->nr_hits,
		.evictions = m->nr_evictions,
		.scanned = MODEL_COUNTER_NONE,
		.rotated = MODEL_COUNTER_NONE,
		.activated = MODEL_COUNTER_NONE,
		.deactivated = MODEL_COUNTER_NONE,
		.ghost_hits = MODEL_COUNTER_NONE,
		.resident_pages = m->nr_resident,
		.metadata_bytes = m->metadata_bytes,
	};
}

const struct model_ops opt_ops = {
	.name = "opt",
	.title = "Belady's optimum, the least misses possible",
	.source = "Belady 1966",
	.flags = MODEL_STACK,
	.create = opt_create,
	.access = opt_access,
	.remove = opt_remove,
	.counters = opt_counters,
	.destroy = opt_destroy,
};
