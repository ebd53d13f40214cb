// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sieve.c - lazy promotion, quick demotion: a fifo whose hand sweeps from the tail to the head and
 * evicts in the middle.
 *
 * Source: Zhang, Yang, Yue, Vigfusson, Rashmi, SIEVE is simpler than LRU, NSDI 2024, algorithm 1. A
 * hit sets the page's visited bit. The hand clears the bits it passes and evicts the first page
 * that has none; pages stay where they are, new ones come in at the head. Unlike clock's hand, it
 * may reach pages that are newer than those it leaves behind.
 *
 * Boundaries. The hand moves on to the next newer page; when the evicted page was the newest, it
 * starts again at the tail. The page that missed comes in after the eviction, so the hand cannot
 * meet it. Truncation of the page under the hand moves the hand on in the same way.
 *
 * The queue is slots (slots.h), live and visited bits are bitmaps, so the hand passes a word of 64
 * slots at a time and no page needs to be known by its place.
 */
#include <errno.h>

#include "replay/models/slots.h"

enum { LIVE, VISITED, NR_BITMAPS };

enum { SIEVE_AHEAD = 24 };

struct model {
	struct slots slots;
	uint32_t capacity_pages;
	uint32_t nr_resident;
	uint32_t hand;		/* the slot to look at next; 0: the tail */
	uint32_t tail;		/* no live slot before it */
	uint64_t nr_accesses, nr_misses, nr_evictions, nr_rotated;
};

static void sieve_destroy(struct model *m)
{
	if (!m)
		return;
	slots_release(&m->slots);
	free(m);
}

static struct model *sieve_create(const struct model_config *config, int *code, struct err *err)
{
	struct model *m = calloc(1, sizeof(*m));

	if (!m) {
		*code = err_set(err, -ENOMEM, "no memory for sieve");
		return NULL;
	}
	m->capacity_pages = config->capacity_pages;
	m->tail = 1;
	*code = slots_init(&m->slots, config->nr_ids, config->capacity_pages, NR_BITMAPS, false,
			   err);
	if (*code) {
		sieve_destroy(m);
		return NULL;
	}
	return m;
}

static void sieve_renumber(struct model *m)
{
	uint32_t *const fingers[] = { &m->tail, &m->hand };
	bool at_tail = !m->hand;

	slots_renumber(&m->slots, 1, fingers, ARRAY_SIZE(fingers));
	if (at_tail)
		m->hand = 0;
}

/* The first slot from @slot on that is live and not visited, the bits up to it cleared; or next. */
static inline uint32_t sweep(struct model *m, uint32_t slot)
{
	const uint64_t *live = m->slots.bits[LIVE];
	uint64_t *visited = m->slots.bits[VISITED];
	uint32_t w = slot >> 6;
	uint64_t from = ~0ULL << (slot & 63);

	for (;;) {
		/* the future is live, not visited */
		uint64_t stop = live[w] & ~visited[w] & from;
		uint64_t passed = live[w] & visited[w] & from & ((stop & -stop) - 1);

		if (passed) {
			m->nr_rotated += __builtin_popcountll(passed);
			visited[w] &= ~passed;
		}
		if (stop)
			return w * 64 + __builtin_ctzll(stop);
		from = ~0ULL;
		w++;
	}
}

/* Where the hand stands after leaving @slot. */
static inline uint32_t hand_after(const struct model *m, uint32_t slot)
{
	slot = bit_next(m->slots.bits[LIVE], slot + 1);
	return slot < m->slots.next ? slot : 0;
}

static inline void sieve_evict(struct model *m)
{
	uint32_t slot;

	if (!m->hand) {
		m->tail = bit_next(m->slots.bits[LIVE], m->tail);
		m->hand = m->tail;
	}
	slot = sweep(m, m->hand);
	if (slot >= m->slots.next) {
		m->tail = bit_next(m->slots.bits[LIVE], m->tail);
		slot = sweep(m, m->tail);
	}
	bit_clear(m->slots.bits[LIVE], slot);
	m->hand = hand_after(m, slot);
	m->nr_evictions++;
}

static inline void sieve_fill(struct model *m, uint32_t page)
{
	if (m->nr_resident < m->capacity_pages)
		m->nr_resident++;
	else
		sieve_evict(m);
	if (__builtin_expect(slots_full(&m->slots), 0))
		sieve_renumber(m);
	slots_push(&m->slots, page);
}

/*
 * A full cache: nothing branches on a hit, which is a coin toss to the processor. The victim is
 * worked out for every access and taken on a miss. The words of live and visited bits that the hand
 * is in stay in registers, @ahead has the slots of them that it has not passed. Ends early at the
 * first miss that leaves the hand no live slot in its word to go on to.
 */
static size_t sieve_run(struct model *m, const struct model_batch *batch, size_t i, size_t end)
{
	const uint32_t first = m->hand & ~63U, begin = m->slots.next;
	uint64_t *live = m->slots.bits[LIVE], *visited = m->slots.bits[VISITED], rotated = 0;
	uint64_t live_word = live[first >> 6], visited_word = visited[first >> 6];
	uint64_t ahead = ~0ULL << (m->hand & 63);
	uint32_t *of = m->slots.of, next = begin;
	const struct model_batch b = *batch;

	if (next - first < 64)
		ahead &= (1ULL << (next - first)) - 1;
	for (; i < end; i++) {
		uint32_t page = b.pages[i], slot = of[page], hit = bit_test(live, slot);
		uint64_t stops = live_word & ~visited_word & ahead, upto = stops ^ (stops - 1);
		uint64_t miss = (uint64_t)hit - 1, passed;

		slots_prefetch_at(of, &b, i, SIEVE_AHEAD);
		if (__builtin_expect(!((live_word & ahead & ~upto) | ~miss), 0))
			break;
		if (b.hit)
			b.hit[i] = hit;
		upto &= miss;
		passed = visited_word & live_word & ahead & upto;
		rotated |= passed;
		visited_word &= ~passed;
		live_word &= ~(stops & -stops & miss);
		live[first >> 6] = live_word;
		ahead &= ~upto;
		of[page] = mask_select((uint32_t)miss, next, slot);
		next -= (uint32_t)miss;
		bit_or(visited, slot, hit);
		visited_word |= (uint64_t)(hit & ((slot ^ first) < 64)) << (slot & 63);
	}
	visited[first >> 6] = visited_word;
	m->hand = first + (uint32_t)__builtin_ctzll(live_word & ahead);
	m->nr_rotated += (uint64_t)__builtin_popcountll(rotated);
	m->nr_evictions += next - begin;
	m->nr_misses += next - begin;
	m->slots.next = next;
	return i;
}

static size_t sieve_step(struct model *m, const struct model_batch *batch, size_t i)
{
	uint32_t page = batch->pages[i], slot = m->slots.of[page];
	bool hit = bit_test(m->slots.bits[LIVE], slot);

	slots_prefetch_at(m->slots.of, batch, i, SIEVE_AHEAD);
	if (batch->hit)
		batch->hit[i] = hit;
	if (hit)
		bit_set(m->slots.bits[VISITED], slot);
	else
		sieve_fill(m, page);
	m->nr_misses += !hit;
	return i + 1;
}

static void sieve_access(struct model *m, const struct model_batch *batch)
{
	for (size_t i = 0; i < batch->nr;) {
		size_t room = m->slots.nr_slots - m->slots.next, left = batch->nr - i;

		if (m->hand && m->nr_resident == m->capacity_pages)
			i = sieve_run(m, batch, i, i + (left < room ? left : room));
		if (i < batch->nr)
			i = sieve_step(m, batch, i);
	}
	m->nr_accesses += batch->nr;
}

static void sieve_remove(struct model *m, uint32_t page)
{
	uint32_t slot = m->slots.of[page];

	m->slots.of[page] = 0;
	if (!bit_test(m->slots.bits[LIVE], slot))
		return;
	bit_clear(m->slots.bits[LIVE], slot);
	if (m->hand == slot)
		m->hand = hand_after(m, slot);
	m->nr_resident--;
}

static void sieve_counters(const struct model *m, struct model_counters *out)
{
	*out = (struct model_counters){
		.hits = m->nr_accesses - m->nr_misses,
		.misses = m->nr_misses,
		.evictions = m->nr_evictions,
		.scanned = m->nr_evictions + m->nr_rotated,
		.rotated = m->nr_rotated,
		.activated = MODEL_COUNTER_NONE,
		.deactivated = MODEL_COUNTER_NONE,
		.ghost_hits = MODEL_COUNTER_NONE,
		.resident_pages = m->nr_resident,
		.metadata_bytes = m->slots.bytes,
	};
}

const struct model_ops sieve_ops = {
	.name = "sieve",
	.title = "fifo with a sweeping hand that evicts in the middle",
	.source = "Zhang, Yang, Yue, Vigfusson, Rashmi 2024",
	.create = sieve_create,
	.access = sieve_access,
	.remove = sieve_remove,
	.counters = sieve_counters,
	.destroy = sieve_destroy,
};
