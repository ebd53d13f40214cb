// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * wtinylfu.c - a small lru window in front of a segmented lru that admits a page only if it was
 * used more often than the page it would displace, as far as a sketch can tell.
 *
 * Source: Einziger, Friedman, Manes, TinyLFU: a highly efficient cache admission policy, ACM
 * Transactions on Storage 13(4), 2017 (W-TinyLFU, section 4). The window has 1 % of the cache, the
 * protected segment 80 % of the rest. The sketch is a count-min sketch of 4-bit counters in four
 * rows; when it has counted ten accesses per page of the cache all counters are halved.
 *
 * Boundaries. Every access is counted first. A page that leaves the window enters probation if
 * there is room in the main part; else it is compared with the victim there, the tail of probation
 * (of the protected segment if that is empty), and admitted if its estimate is larger: the victim
 * wins a tie. The paper's doorkeeper (a Bloom filter for pages seen once) is left out, as in
 * Caffeine, and so is Caffeine's random admission against collision attacks. With a capacity of one
 * page the window is all there is. Eight counters a page (of the capacity rounded up to a power of
 * two) keep estimates of a page within one cache line: a line is picked by the hash, in it one of
 * two words for each row.
 *
 * The three queues are slots (slots.h): main pages have a bit, and one more for their segment.
 */
#include <errno.h>

#include "replay/models/slots.h"

enum { LIVE, MAIN, PROBATION, PROTECTED, NR_BITMAPS };

enum { ROWS = 4, COUNTER_MAX = 15, LINE_WORDS = 8, PAGE_AHEAD = 16 };

struct wtinylfu_params {
	double window_pct, protected_pct;
	uint64_t sample;
};

struct model {
	struct slots slots;
	uint64_t *sketch;	/* lines of LINE_WORDS words of 16 counters */
	uint32_t line_mask;
	uint64_t nr_counted, sample;
	uint32_t max_window, max_main, max_protected;
	uint32_t tail_window, tail_probation, tail_protected;
	uint32_t nr_window, nr_probation, nr_protected;
	uint64_t nr_accesses, nr_hits, nr_evictions, nr_activated, nr_deactivated;
	uint64_t sketch_bytes;
};

static void wtinylfu_destroy(struct model *m)
{
	if (!m)
		return;
	slots_release(&m->slots);
	free(m->sketch);
	free(m);
}

static int sketch_init(struct model *m, uint32_t capacity, uint32_t nr_ids, struct err *err)
{
	uint64_t pages = capacity < nr_ids ? capacity : nr_ids, nr_lines = 1;
	void *sketch;

	while (nr_lines * LINE_WORDS * 2 < pages)	/* a word has 16 counters, 8 a page */
		nr_lines *= 2;
	m->line_mask = (uint32_t)(nr_lines - 1);
	m->sketch_bytes = nr_lines * LINE_WORDS * sizeof(*m->sketch);
	if (posix_memalign(&sketch, 64, m->sketch_bytes))
		return err_set(err, -ENOMEM, "no memory for the sketch of %u pages", capacity);
	m->sketch = sketch;
	for (uint64_t i = 0; i < nr_lines * LINE_WORDS; i++)
		m->sketch[i] = 0;
	return 0;
}

static struct model *wtinylfu_create(const struct model_config *config, int *code, struct err *err)
{
	const struct wtinylfu_params *params = config->params;
	struct model *m = calloc(1, sizeof(*m));

	if (!m) {
		*code = err_set(err, -ENOMEM, "no memory for wtinylfu");
		return NULL;
	}
	m->max_window = share_pages(config->capacity_pages, params->window_pct, 1);
	m->max_main = config->capacity_pages - m->max_window;
	m->max_protected = share_pages(m->max_main, params->protected_pct, 0);
	m->sample = params->sample * config->capacity_pages;
	m->tail_window = m->tail_probation = m->tail_protected = 1;
	*code = slots_init(&m->slots, config->nr_ids, config->capacity_pages, NR_BITMAPS,
			   SLOTS_PAGES, err);
	if (!*code)
		*code = sketch_init(m, config->capacity_pages, config->nr_ids, err);
	if (*code) {
		wtinylfu_destroy(m);
		return NULL;
	}
	return m;
}

/* ---- the sketch ------------------------------------------------------------------------------ */

static inline uint64_t sketch_hash(uint32_t page)
{
	uint64_t h = (page + 1ULL) * 0x9e3779b97f4a7c15ULL;

	h ^= h >> 32;
	return h * 0xd6e8feb86659fd93ULL;
}

static inline uint64_t *sketch_line(const struct model *m, uint64_t hash)
{
	return &m->sketch[(hash >> 40 & m->line_mask) * LINE_WORDS];
}

PREFETCHING void sketch_prefetch(const struct model *m, uint32_t page)
{
	__builtin_prefetch(sketch_line(m, sketch_hash(page)));
}

/* Row @row's word in the line, and the shift of the counter in it: five bits of the hash a row. */
static inline uint64_t *sketch_word(uint64_t *line, uint64_t hash, int row, unsigned int *shift)
{
	unsigned int bits = hash >> (row * 5) & 31;

	*shift = (bits & 15) * 4;
	return &line[row * 2 + (bits >> 4)];
}

static inline unsigned int sketch_estimate(const struct model *m, uint32_t page)
{
	uint64_t hash = sketch_hash(page), *line = sketch_line(m, hash);
	unsigned int least = COUNTER_MAX, shift;

	for (int row = 0; row < ROWS; row++) {
		uint64_t *word = sketch_word(line, hash, row, &shift);
		unsigned int count = *word >> shift & COUNTER_MAX;

		least = count < least ? count : least;
	}
	return least;
}

static void sketch_halve(struct model *m)
{
	for (uint64_t i = 0; i < m->sketch_bytes / sizeof(*m->sketch); i++)
		m->sketch[i] = m->sketch[i] >> 1 & 0x7777777777777777ULL;
	m->nr_counted /= 2;
}

static inline void sketch_count(struct model *m, uint32_t page)
{
	uint64_t hash = sketch_hash(page), *line = sketch_line(m, hash);
	unsigned int shift;

	for (int row = 0; row < ROWS; row++) {
		uint64_t *word = sketch_word(line, hash, row, &shift);

		*word += (uint64_t)((*word >> shift & COUNTER_MAX) < COUNTER_MAX) << shift;
	}
	if (++m->nr_counted >= m->sample)
		sketch_halve(m);
}

/* ---- the queues ------------------------------------------------------------------------------ */

static inline uint32_t take_slot(struct model *m, uint32_t page)
{
	uint32_t *const fingers[] = { &m->tail_window, &m->tail_probation, &m->tail_protected };

	if (__builtin_expect(slots_full(&m->slots), 0))
		slots_renumber(&m->slots, 1, fingers, ARRAY_SIZE(fingers));
	return slots_push_page(&m->slots, page);
}

static inline uint32_t oldest_protected(struct model *m)
{
	return m->tail_protected = bit_next_both(m->slots.bits[LIVE], m->slots.bits[PROTECTED],
						 m->tail_protected);
}

static inline uint32_t oldest_probation(struct model *m)
{
	return m->tail_probation = bit_next_both(m->slots.bits[LIVE], m->slots.bits[PROBATION],
						 m->tail_probation);
}

static inline void to_probation(struct model *m, uint32_t page)
{
	uint32_t slot = take_slot(m, page);

	bit_set(m->slots.bits[MAIN], slot);
	bit_set(m->slots.bits[PROBATION], slot);
	m->nr_probation++;
}

static inline void main_evict(struct model *m, uint32_t slot)
{
	bit_clear(m->slots.bits[LIVE], slot);
	if (bit_test(m->slots.bits[PROTECTED], slot))
		m->nr_protected--;
	else
		m->nr_probation--;
	m->nr_evictions++;
}

/* The tail of the window asks for a place in the main part. */
static void window_overflow(struct model *m)
{
	uint32_t slot = bit_next_not(m->slots.bits[LIVE], m->slots.bits[MAIN], m->tail_window);
	uint32_t page = m->slots.page_at[slot], victim;

	m->tail_window = slot + 1;
	bit_clear(m->slots.bits[LIVE], slot);
	m->nr_window--;
	if (slot + PAGE_AHEAD < m->slots.next)
		sketch_prefetch(m, m->slots.page_at[slot + PAGE_AHEAD]);
	if (m->nr_probation + m->nr_protected < m->max_main) {
		to_probation(m, page);
		return;
	}
	if (!m->max_main) {
		m->nr_evictions++;
		return;
	}
	victim = m->nr_probation ? oldest_probation(m) : oldest_protected(m);
	if (victim + PAGE_AHEAD < m->slots.next)
		sketch_prefetch(m, m->slots.page_at[victim + PAGE_AHEAD]);
	if (sketch_estimate(m, page) > sketch_estimate(m, m->slots.page_at[victim])) {
		main_evict(m, victim);
		to_probation(m, page);
	} else {
		m->nr_evictions++;
	}
}

static inline void protect(struct model *m, uint32_t page)
{
	uint32_t slot = take_slot(m, page);

	bit_set(m->slots.bits[MAIN], slot);
	bit_set(m->slots.bits[PROTECTED], slot);
	if (++m->nr_protected <= m->max_protected)
		return;
	slot = oldest_protected(m);
	bit_clear(m->slots.bits[LIVE], slot);
	m->nr_protected--;
	m->nr_deactivated++;
	to_probation(m, m->slots.page_at[slot]);
}

static inline void wtinylfu_hit(struct model *m, uint32_t page, uint32_t slot)
{
	bit_clear(m->slots.bits[LIVE], slot);
	if (!bit_test(m->slots.bits[MAIN], slot)) {
		take_slot(m, page);
		return;
	}
	if (bit_test(m->slots.bits[PROTECTED], slot)) {
		m->nr_protected--;
	} else {
		m->nr_probation--;
		m->nr_activated++;
	}
	protect(m, page);
}

static inline void wtinylfu_miss(struct model *m, uint32_t page)
{
	take_slot(m, page);
	if (++m->nr_window > m->max_window)
		window_overflow(m);
}

PREFETCHING void wtinylfu_prefetch(const struct model *m, const struct model_batch *batch,
				   size_t i)
{
	if (i + PREFETCH_AHEAD >= batch->nr)
		return;
	__builtin_prefetch(&m->slots.of[batch->pages[i + PREFETCH_AHEAD]], 1);
	__builtin_prefetch(sketch_line(m, sketch_hash(batch->pages[i + PREFETCH_AHEAD])), 1);
}

static void wtinylfu_access(struct model *m, const struct model_batch *batch)
{
	const uint64_t *live = m->slots.bits[LIVE];
	uint64_t nr_hits = 0;

	for (size_t i = 0; i < batch->nr; i++) {
		uint32_t page = batch->pages[i], slot = m->slots.of[page];
		bool hit = bit_test(live, slot);

		wtinylfu_prefetch(m, batch, i);
		sketch_count(m, page);
		nr_hits += hit;
		if (batch->hit)
			batch->hit[i] = hit;
		if (hit)
			wtinylfu_hit(m, page, slot);
		else
			wtinylfu_miss(m, page);
	}
	m->nr_accesses += batch->nr;
	m->nr_hits += nr_hits;
}

static void wtinylfu_remove(struct model *m, uint32_t page)
{
	uint32_t slot = m->slots.of[page];

	m->slots.of[page] = 0;
	if (!bit_test(m->slots.bits[LIVE], slot))
		return;
	if (!bit_test(m->slots.bits[MAIN], slot))
		m->nr_window--;
	else if (bit_test(m->slots.bits[PROTECTED], slot))
		m->nr_protected--;
	else
		m->nr_probation--;
	bit_clear(m->slots.bits[LIVE], slot);
}

static void wtinylfu_counters(const struct model *m, struct model_counters *out)
{
	*out = (struct model_counters){
		.hits = m->nr_hits,
		.misses = m->nr_accesses - m->nr_hits,
		.evictions = m->nr_evictions,
		.scanned = m->nr_evictions,
		.rotated = MODEL_COUNTER_NONE,
		.activated = m->nr_activated,
		.deactivated = m->nr_deactivated,
		.ghost_hits = MODEL_COUNTER_NONE,
		.resident_pages = m->nr_window + m->nr_probation + m->nr_protected,
		.metadata_bytes = m->slots.bytes + m->sketch_bytes,
	};
}

static const struct param wtinylfu_params[] = {
	{ "window", PARAM_PCT, offsetof(struct wtinylfu_params, window_pct), "1", 0, 100, "%",
	  "the window's share of the capacity", NULL },
	{ "protected", PARAM_PCT, offsetof(struct wtinylfu_params, protected_pct), "80", 0, 100,
	  "%",
	  "the protected segment's share of the rest", NULL },
	{ "sample", PARAM_U64, offsetof(struct wtinylfu_params, sample), "10", 1, 1000, "accesses",
	  "accesses per page of the capacity after which counters are halved", NULL },
	{ 0 },
};

const struct model_ops wtinylfu_ops = {
	.name = "wtinylfu",
	.title = "window and segmented lru with admission by frequency",
	.source = "Einziger, Friedman, Manes 2017",
	.params = wtinylfu_params,
	.params_bytes = sizeof(struct wtinylfu_params),
	.create = wtinylfu_create,
	.access = wtinylfu_access,
	.remove = wtinylfu_remove,
	.counters = wtinylfu_counters,
	.destroy = wtinylfu_destroy,
};
