// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * clock-pro.c - lirs as a clock: hot and cold pages, and a test period for the cold ones.
 *
 * Source: Jiang, Chen, Zhang, CLOCK-Pro: an effective improvement of the CLOCK replacement, USENIX
 * 2005. All pages are on one clock, by the time they came in. Cold pages are the candidates of
 * eviction; a cold page is in its test period from when it comes in (or gets another round), also
 * after it was evicted. Used again within it, it turns hot. Three hands go round in one direction:
 *
 *	cold	evicts the next cold page that was not used; one that was used turns hot if in its test
 *		period, else gets another round and a test period, both at the head of the clock
 *	hot	turns a hot page that was not used cold, when there are more hot pages than there may be;
 *		ends the test period of the cold pages it meets on the way
 *	test	ends the test period of the oldest one when there are more non-resident pages than frames
 *
 * The share of cold pages grows by one when a page is used again in its test period after eviction,
 * and shrinks by one when a test period ends without a use.
 *
 * Boundaries. The head of the clock is just behind the hot hand. The paper leaves the start of the
 * cold share open: it begins with one frame and stays within 1 and the capacity. A step of a hand
 * looks at one page and moves on, whatever it is. A test period that the hot or test hand meets ends
 * only if the page was not used meanwhile (its turn with the cold hand is due). A hot page that turns
 * cold has no test period and stays where it is. Room is made before the page comes in, which may
 * end its own test period; it then comes in as a new one. (The well-known short implementations keep
 * every cold page in test and turn pages hot in place.)
 */
#include <errno.h>

#include "replay/models/slots.h"

enum { ON_CLOCK = 1, RESIDENT = 2, HOT = 4, TEST = 8, USED = 16 };

enum { NONE = UINT32_MAX };

struct link {
	uint32_t next, previous;
};

struct model {
	struct link *links;
	uint8_t *flags;
	uint32_t capacity, max_cold;
	uint32_t hot_hand, cold_hand, test_hand;	/* pages; NONE: the clock is empty */
	uint32_t nr_hot, nr_cold, nr_ghosts;		/* cold: resident */
	uint64_t nr_accesses, nr_hits, nr_evictions, nr_scanned, nr_rotated;
	uint64_t nr_activated, nr_deactivated, nr_ghost_hits, metadata_bytes;
};

static void clockpro_destroy(struct model *m)
{
	if (!m)
		return;
	free(m->links);
	free(m->flags);
	free(m);
}

static struct model *clockpro_create(const struct model_config *config, int *code, struct err *err)
{
	struct model *m = calloc(1, sizeof(*m));

	if (m) {
		m->links = model_alloc(sizeof(*m->links) * config->nr_ids);
		m->flags = model_alloc(config->nr_ids);
	}
	if (!m || !m->links || !m->flags) {
		clockpro_destroy(m);
		*code = err_set(err, -ENOMEM, "no memory for clock-pro of %u pages", config->nr_ids);
		return NULL;
	}
	m->capacity = config->capacity_pages;
	m->max_cold = 1;
	m->hot_hand = m->cold_hand = m->test_hand = NONE;
	m->metadata_bytes = (sizeof(*m->links) + 1ULL) * config->nr_ids;
	return m;
}

/* ---- the clock --------------------------------------------------------------------------------- */

/* Puts @page at the head: before the hot hand. */
static inline void clock_insert(struct model *m, uint32_t page)
{
	uint32_t next = m->hot_hand, previous;

	if (next == NONE) {
		m->links[page] = (struct link){ page, page };
		m->hot_hand = m->cold_hand = m->test_hand = page;
		return;
	}
	previous = m->links[next].previous;
	m->links[page] = (struct link){ next, previous };
	m->links[previous].next = page;
	m->links[next].previous = page;
}

static inline void clock_remove_page(struct model *m, uint32_t page)
{
	struct link link = m->links[page];
	uint32_t next = link.next == page ? NONE : link.next;

	m->links[link.previous].next = link.next;
	m->links[link.next].previous = link.previous;
	m->hot_hand = m->hot_hand == page ? next : m->hot_hand;
	m->cold_hand = m->cold_hand == page ? next : m->cold_hand;
	m->test_hand = m->test_hand == page ? next : m->test_hand;
}

/* The test period of a cold page ends without a use. */
static inline void test_end(struct model *m, uint32_t page)
{
	m->max_cold -= m->max_cold > 1;
	m->flags[page] &= ~TEST;
	if (m->flags[page] & RESIDENT)
		return;
	m->flags[page] = 0;
	m->nr_ghosts--;
	clock_remove_page(m, page);
}

static inline void hot_step(struct model *m)
{
	uint32_t page = m->hot_hand;
	uint8_t *flags = &m->flags[page];

	m->hot_hand = m->links[page].next;
	m->nr_scanned++;
	if (!(*flags & HOT)) {
		if ((*flags & TEST) && !(*flags & USED))
			test_end(m, page);
	} else if (*flags & USED) {
		*flags &= ~USED;
		m->nr_rotated++;
	} else {
		*flags &= ~HOT;
		m->nr_hot--;
		m->nr_cold++;
		m->nr_deactivated++;
	}
}

static inline void limit_hot(struct model *m)
{
	while (m->nr_hot > m->capacity - m->max_cold)
		hot_step(m);
}

static inline void test_step(struct model *m)
{
	uint32_t page = m->test_hand;

	m->test_hand = m->links[page].next;
	m->nr_scanned++;
	if ((m->flags[page] & (TEST | USED)) == TEST)
		test_end(m, page);
}

/* A cold page that was used: hot if in its test period, else another round. */
static inline void cold_used(struct model *m, uint32_t page)
{
	m->flags[page] &= ~USED;
	if (m->flags[page] & TEST) {
		m->flags[page] = (m->flags[page] | HOT) & ~TEST;
		m->nr_cold--;
		m->nr_hot++;
		m->nr_activated++;
	} else {
		m->flags[page] |= TEST;
		m->nr_rotated++;
	}
	clock_remove_page(m, page);
	clock_insert(m, page);
	limit_hot(m);
}

static inline void cold_evict(struct model *m, uint32_t page)
{
	m->nr_cold--;
	m->nr_evictions++;
	if (!(m->flags[page] & TEST)) {
		m->flags[page] = 0;
		clock_remove_page(m, page);
		return;
	}
	m->flags[page] &= ~RESIDENT;
	m->nr_ghosts++;
	while (m->nr_ghosts > m->capacity)
		test_step(m);
}

static inline void cold_step(struct model *m)
{
	uint32_t page = m->cold_hand;
	uint8_t flags = m->flags[page];

	m->cold_hand = m->links[page].next;
	m->nr_scanned++;
	if ((flags & (RESIDENT | HOT)) != RESIDENT)
		return;
	__builtin_prefetch(&m->links[m->links[m->cold_hand].next]);
	if (flags & USED)
		cold_used(m, page);
	else
		cold_evict(m, page);
}

/* ---- accesses ---------------------------------------------------------------------------------- */

static void clockpro_miss(struct model *m, uint32_t page)
{
	while (m->nr_hot + m->nr_cold >= m->capacity)
		cold_step(m);
	if (m->flags[page] & ON_CLOCK) {
		m->max_cold += m->max_cold < m->capacity;
		m->nr_ghosts--;
		m->nr_ghost_hits++;
		m->nr_activated++;
		clock_remove_page(m, page);
		m->flags[page] = ON_CLOCK | RESIDENT | HOT;
		m->nr_hot++;
	} else {
		m->flags[page] = ON_CLOCK | RESIDENT | TEST;
		m->nr_cold++;
	}
	clock_insert(m, page);
	limit_hot(m);
}

static void clockpro_access(struct model *m, const struct model_batch *batch)
{
	uint64_t nr_hits = 0;

	for (size_t i = 0; i < batch->nr; i++) {
		uint32_t page = batch->pages[i];
		bool hit = m->flags[page] & RESIDENT;

		if (i + PREFETCH_AHEAD < batch->nr) {
			__builtin_prefetch(&m->flags[batch->pages[i + PREFETCH_AHEAD]], 1);
			__builtin_prefetch(&m->links[batch->pages[i + PREFETCH_AHEAD]], 1);
		}
		nr_hits += hit;
		if (batch->hit)
			batch->hit[i] = hit;
		if (hit)
			m->flags[page] |= USED;
		else
			clockpro_miss(m, page);
	}
	m->nr_accesses += batch->nr;
	m->nr_hits += nr_hits;
}

static void clockpro_remove(struct model *m, uint32_t page)
{
	uint8_t flags = m->flags[page];

	if (!(flags & ON_CLOCK))
		return;
	if (!(flags & RESIDENT))
		m->nr_ghosts--;
	else if (flags & HOT)
		m->nr_hot--;
	else
		m->nr_cold--;
	m->flags[page] = 0;
	clock_remove_page(m, page);
}

static void clockpro_counters(const struct model *m, struct model_counters *out)
{
	*out = (struct model_counters){
		.hits = m->nr_hits,
		.misses = m->nr_accesses - m->nr_hits,
		.evictions = m->nr_evictions,
		.scanned = m->nr_scanned,
		.rotated = m->nr_rotated,
		.activated = m->nr_activated,
		.deactivated = m->nr_deactivated,
		.ghost_hits = m->nr_ghost_hits,
		.resident_pages = m->nr_hot + m->nr_cold,
		.metadata_bytes = m->metadata_bytes,
	};
}

const struct model_ops clockpro_ops = {
	.name = "clock-pro",
	.title = "hot and cold pages on a clock of three hands",
	.source = "Jiang, Chen, Zhang 2005",
	.create = clockpro_create,
	.access = clockpro_access,
	.remove = clockpro_remove,
	.counters = clockpro_counters,
	.destroy = clockpro_destroy,
};
