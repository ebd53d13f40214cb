// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * clock-pro.c - lirs as a clock: hot and cold pages, and a test period for the cold ones.
 *
 * Source: Jiang, Chen, Zhang, CLOCK-Pro: an effective improvement of the CLOCK replacement, USENIX
 * 2005. All pages are on one clock, by the time they came in. Cold pages are the candidates of
 * eviction; a cold page is in its test period from when it comes in (or gets another round), also
 * after it was evicted. Used again within it, it turns hot. Three hands go round in one direction:
 *
 *	cold	evicts the next cold page that was not used; one that was used turns hot if in its
 *		test period, else gets another round and a test period, both at the head
 *	hot	turns a hot page that was not used cold, when there are more hot pages than there
 *		may be; ends the test period of the cold pages it meets on the way
 *	test	ends the test period of the oldest one when there are more non-resident pages than
 *		frames
 *
 * The share of cold pages grows by one when a page is used again in its test period after eviction,
 * and shrinks by one when a test period ends without a use.
 *
 * Boundaries. The head of the clock is just behind the hot hand. The paper leaves the start of the
 * cold share open: it begins with one frame and stays within 1 and the capacity. A step of a hand
 * looks at one page and moves on, whatever it is (scanned counts those that it may do something
 * to). A test period that the hot or test hand meets ends only if the page was not used meanwhile
 * (its turn with the cold hand is due). A hot page that turns cold has no test period and stays
 * where it is. Room is made before the page comes in, which may end its own test period; it then
 * comes in as a new one. (The well-known short implementations keep every cold page in test and
 * turn pages hot in place.)
 *
 * A page that the hot hand leaves lies just behind it, which is the head of the clock. So the clock
 * is a queue of slots (slots.h): the hot hand is its tail, and what it passes enters again at the
 * head. The other two hands are slots in it; they find what they look for in bitmaps, 64 pages a
 * step. Where nearly all pages are hot (a loop that fits), the few others may lie a whole round
 * away. So each of these hands has a summary of the words that may hold what it looks for: a page
 * turns cold and resident, or in its test period, only when it enters a slot, which sets the
 * word's bit; a hand that finds nothing in the word clears it.
 */
#include <errno.h>
#include <string.h>

#include "replay/models/slots.h"

enum { LIVE, HOT, TEST, USED, GHOST, NR_BITMAPS };	/* neither HOT nor GHOST: cold, resident */

enum { PAGE_AHEAD = 16 };

/* A bit per word of slots, and one per word of that: all that can be ahead of a hand. */
struct summary {
	uint64_t *words, *tops;
	uint32_t nr_tops;	/* words of it */
};

struct model {
	struct slots slots;
	struct summary cold, test;
	uint32_t capacity, max_cold;
	uint32_t tail;			/* no live slot before it */
	uint32_t cold_hand, test_hand;	/* slots of pages, if there are any */
	uint32_t nr_hot, nr_cold, nr_ghosts;	/* cold: resident */
	uint64_t nr_accesses, nr_hits, nr_evictions, nr_scanned, nr_rotated;
	uint64_t nr_activated, nr_deactivated, nr_ghost_hits;
};

static uint64_t summary_bytes(const struct summary *s)
{
	return 8ULL * s->nr_tops * (64 + 1);
}

static bool summary_init(struct summary *s, uint32_t nr_slots)
{
	s->nr_tops = (nr_slots >> 18) + 1;
	s->words = model_alloc(8ULL * 64 * s->nr_tops);
	s->tops = model_alloc(8ULL * s->nr_tops);
	return s->words && s->tops;
}

static void summary_release(struct summary *s)
{
	free(s->words);
	free(s->tops);
}

static inline void summary_add(struct summary *s, uint32_t slot)
{
	bit_set(s->words, slot >> 6);
	bit_set(s->tops, slot >> 12);
}

static inline void summary_clear(struct summary *s, uint32_t word)
{
	bit_clear(s->words, word);
	if (!s->words[word >> 6])
		bit_clear(s->tops, word >> 6);
}

/* The first word of slots from @word on that may hold something, UINT32_MAX: none. */
static inline uint32_t summary_next(const struct summary *s, uint32_t word)
{
	uint32_t at = word >> 6;
	uint64_t bits = at < s->nr_tops * 64 ? s->words[at] >> (word & 63) : 0;

	if (bits)
		return word + (uint32_t)__builtin_ctzll(bits);
	at++;
	for (uint32_t top = at >> 6; top < s->nr_tops; at = ++top << 6) {
		bits = s->tops[top] >> (at & 63);
		if (bits) {
			at += (uint32_t)__builtin_ctzll(bits);
			return at * 64 + (uint32_t)__builtin_ctzll(s->words[at]);
		}
	}
	return UINT32_MAX;
}

/* Slots up to @last may hold anything. */
static void summary_reset(struct summary *s, uint32_t last)
{
	memset(s->words, 0, 8ULL * 64 * s->nr_tops);
	memset(s->tops, 0, 8ULL * s->nr_tops);
	for (uint32_t word = 0; word <= last >> 6; word++)
		summary_add(s, word << 6);
}

static void clockpro_destroy(struct model *m)
{
	if (!m)
		return;
	summary_release(&m->cold);
	summary_release(&m->test);
	slots_release(&m->slots);
	free(m);
}

static struct model *clockpro_create(const struct model_config *config, int *code, struct err *err)
{
	struct model *m = calloc(1, sizeof(*m));

	if (!m) {
		*code = err_set(err, -ENOMEM, "no memory for clock-pro");
		return NULL;
	}
	m->capacity = config->capacity_pages;
	m->max_cold = m->tail = 1;
	*code = slots_init(&m->slots, config->nr_ids, config->nr_ids, NR_BITMAPS,
			   SLOTS_PAGES_ROOMY, err);
	if (!*code && (!summary_init(&m->cold, m->slots.nr_slots) ||
		       !summary_init(&m->test, m->slots.nr_slots)))
		*code = err_set(err, -ENOMEM, "no memory for clock-pro");
	if (*code) {
		clockpro_destroy(m);
		return NULL;
	}
	return m;
}

/* ---- the clock ------------------------------------------------------------------------------- */

static inline bool flag(const struct model *m, int bitmap, uint32_t slot)
{
	return bit_test(m->slots.bits[bitmap], slot);
}

static inline uint32_t clock_tail(struct model *m)
{
	return m->tail = bit_next(m->slots.bits[LIVE], m->tail);
}

/* The slot behind @slot on the clock. */
static inline uint32_t clock_next(struct model *m, uint32_t slot)
{
	slot = bit_next(m->slots.bits[LIVE], slot + 1);
	return slot < m->slots.next ? slot : clock_tail(m);
}

/* Puts @page at the head; the bits of its new slot are clear. */
static inline uint32_t clock_insert(struct model *m, uint32_t page)
{
	uint32_t *const fingers[] = { &m->tail, &m->cold_hand, &m->test_hand };
	bool empty = !(m->nr_hot + m->nr_cold + m->nr_ghosts);
	uint32_t slot;

	if (__builtin_expect(slots_full(&m->slots), 0)) {
		slots_renumber(&m->slots, 1, fingers, ARRAY_SIZE(fingers));
		summary_reset(&m->cold, m->slots.next);
		summary_reset(&m->test, m->slots.next);
	}
	slot = slots_push_page(&m->slots, page);
	summary_add(&m->cold, slot);
	summary_add(&m->test, slot);
	if (empty)
		m->cold_hand = m->test_hand = slot;
	return slot;
}

/* Takes the page in @slot off; hands that stand there move on. */
static inline void clock_take(struct model *m, uint32_t slot)
{
	if (m->cold_hand == slot)
		m->cold_hand = clock_next(m, slot);
	if (m->test_hand == slot)
		m->test_hand = clock_next(m, slot);
	bit_clear(m->slots.bits[LIVE], slot);
}

/* The test period of a cold page ends without a use. */
static inline void test_end(struct model *m, uint32_t slot)
{
	m->max_cold -= m->max_cold > 1;
	bit_clear(m->slots.bits[TEST], slot);
	if (!flag(m, GHOST, slot))
		return;
	clock_take(m, slot);
	m->nr_ghosts--;
}

/* The page at the tail, which the hot hand passes, becomes the one at the head, hands with it. */
static inline void pass(struct model *m, uint32_t slot, bool hot, bool test, bool used)
{
	bool cold_here = m->cold_hand == slot, test_here = m->test_hand == slot;
	uint32_t page = m->slots.page_at[slot];

	if (slot + PAGE_AHEAD < m->slots.next)
		__builtin_prefetch(&m->slots.of[m->slots.page_at[slot + PAGE_AHEAD]], 1);
	bit_clear(m->slots.bits[LIVE], slot);
	slot = clock_insert(m, page);
	if (hot)
		bit_set(m->slots.bits[HOT], slot);
	if (test)
		bit_set(m->slots.bits[TEST], slot);
	if (used)
		bit_set(m->slots.bits[USED], slot);
	m->cold_hand = cold_here ? slot : m->cold_hand;
	m->test_hand = test_here ? slot : m->test_hand;
}

static inline void hot_step(struct model *m)
{
	uint32_t slot = clock_tail(m);
	bool hot = flag(m, HOT, slot), test = flag(m, TEST, slot), used = flag(m, USED, slot);
	bool ghost = flag(m, GHOST, slot);

	m->nr_scanned++;
	if (!hot && test && !used) {
		test_end(m, slot);
		test = false;
	} else if (hot && used) {
		used = false;
		m->nr_rotated++;
	} else if (hot) {
		hot = false;
		m->nr_hot--;
		m->nr_cold++;
		m->nr_deactivated++;
	}
	if (!ghost)
		pass(m, slot, hot, test, used);
}

static inline void limit_hot(struct model *m)
{
	while (m->nr_hot > m->capacity - m->max_cold)
		hot_step(m);
}

/* The first page from @slot on in its test period and not used; there must be one. */
static inline uint32_t find_test(struct model *m, uint32_t slot)
{
	const uint64_t *live = m->slots.bits[LIVE], *test = m->slots.bits[TEST];
	const uint64_t *used = m->slots.bits[USED];
	uint64_t from = ~0ULL << (slot & 63), found;
	uint32_t word = slot >> 6;

	while (word != UINT32_MAX) {
		found = live[word] & test[word] & ~used[word];
		if (!found)
			summary_clear(&m->test, word);
		if (found & from)
			return word * 64 + (uint32_t)__builtin_ctzll(found & from);
		word = summary_next(&m->test, word + 1);
		from = ~0ULL;
	}
	return find_test(m, clock_tail(m));
}

static inline void test_step(struct model *m)
{
	uint32_t slot = find_test(m, m->test_hand);

	m->test_hand = clock_next(m, slot);
	m->nr_scanned++;
	test_end(m, slot);
}

/* A cold page that was used: hot if in its test period, else another round. */
static inline void cold_used(struct model *m, uint32_t slot)
{
	bool test = flag(m, TEST, slot);
	uint32_t page = m->slots.page_at[slot];

	clock_take(m, slot);
	m->nr_cold--;
	slot = clock_insert(m, page);
	bit_set(m->slots.bits[test ? HOT : TEST], slot);
	if (test) {
		m->nr_hot++;
		m->nr_activated++;
	} else {
		m->nr_cold++;
		m->nr_rotated++;
	}
	limit_hot(m);
}

static inline void cold_evict(struct model *m, uint32_t slot)
{
	m->nr_cold--;
	m->nr_evictions++;
	if (!flag(m, TEST, slot)) {
		clock_take(m, slot);
		return;
	}
	bit_set(m->slots.bits[GHOST], slot);
	m->nr_ghosts++;
	while (m->nr_ghosts > m->capacity)
		test_step(m);
}

/* The first cold resident page from @slot on; there must be one. */
static inline uint32_t find_cold(struct model *m, uint32_t slot)
{
	const uint64_t *live = m->slots.bits[LIVE], *hot = m->slots.bits[HOT];
	const uint64_t *ghost = m->slots.bits[GHOST];
	uint64_t from = ~0ULL << (slot & 63), found;
	uint32_t word = slot >> 6;

	while (word != UINT32_MAX) {
		found = live[word] & ~hot[word] & ~ghost[word];	/* the future is cold, too */
		if (!found)
			summary_clear(&m->cold, word);
		if (found & from) {
			slot = word * 64 + (uint32_t)__builtin_ctzll(found & from);
			if (slot < m->slots.next)
				return slot;
		}
		word = summary_next(&m->cold, word + 1);
		from = ~0ULL;
	}
	return find_cold(m, clock_tail(m));
}

static inline void cold_step(struct model *m)
{
	uint32_t slot = find_cold(m, m->cold_hand);

	m->cold_hand = clock_next(m, slot);
	m->nr_scanned++;
	if (flag(m, USED, slot))
		cold_used(m, slot);
	else
		cold_evict(m, slot);
}

/* ---- accesses -------------------------------------------------------------------------------- */

static void clockpro_miss(struct model *m, uint32_t page)
{
	uint32_t slot;

	while (m->nr_hot + m->nr_cold >= m->capacity)
		cold_step(m);
	slot = m->slots.of[page];
	if (flag(m, LIVE, slot)) {
		m->max_cold += m->max_cold < m->capacity;
		m->nr_ghost_hits++;
		m->nr_activated++;
		clock_take(m, slot);
		m->nr_ghosts--;
		slot = clock_insert(m, page);
		bit_set(m->slots.bits[HOT], slot);
		m->nr_hot++;
	} else {
		slot = clock_insert(m, page);
		bit_set(m->slots.bits[TEST], slot);
		m->nr_cold++;
	}
	limit_hot(m);
}

static void clockpro_access(struct model *m, const struct model_batch *batch)
{
	const uint64_t *live = m->slots.bits[LIVE], *ghost = m->slots.bits[GHOST];
	uint64_t nr_hits = 0;

	for (size_t i = 0; i < batch->nr; i++) {
		uint32_t slot = m->slots.of[batch->pages[i]];
		bool hit = (live[slot >> 6] & ~ghost[slot >> 6]) >> (slot & 63) & 1;

		slots_prefetch(m->slots.of, batch, i);
		nr_hits += hit;
		if (batch->hit)
			batch->hit[i] = hit;
		if (hit)
			bit_set(m->slots.bits[USED], slot);
		else
			clockpro_miss(m, batch->pages[i]);
	}
	m->nr_accesses += batch->nr;
	m->nr_hits += nr_hits;
}

static void clockpro_remove(struct model *m, uint32_t page)
{
	uint32_t slot = m->slots.of[page];

	m->slots.of[page] = 0;
	if (!flag(m, LIVE, slot))
		return;
	clock_take(m, slot);
	if (flag(m, GHOST, slot))
		m->nr_ghosts--;
	else if (flag(m, HOT, slot))
		m->nr_hot--;
	else
		m->nr_cold--;
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
		.metadata_bytes = m->slots.bytes + 2 * summary_bytes(&m->cold),
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
