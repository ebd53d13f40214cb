// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_mglru.c - linux-mglru against a slow reference on many small random streams, golden counts,
 * and what is said of multi-gen LRU. The reference has no lists: a page knows its generation and a
 * stamp, and who is next is found by looking at all pages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "replay/replay.h"

enum { MAX_PAGES = 512, NR_READS = 4000, NOWHERE = -1, WAITING = -2 };

static const struct kernel_ops *find(const char *name)
{
	for (int i = 0; kernel_models[i]; i++)
		if (!strcmp(kernel_models[i]->name, name))
			return kernel_models[i];
	fail_msg("no model %s", name);
	return NULL;
}

/* ---- the slow reference ---------------------------------------------------------------------- */

struct page {
	long generation;	/* or NOWHERE, WAITING */
	long stamp;		/* the lowest of a generation is the next to be looked at */
	int reads;		/* 0 .. 5 */
	bool seen, has_shadow;
	long shadow_generation;
	int shadow_reads;
};

struct slow {
	unsigned int nr_pages, limit, charged, stock, batch, look;
	bool age_only;
	struct page page[MAX_PAGES];
	unsigned int waiting[31], nr_waiting;
	long youngest, oldest, top, bottom;
	unsigned long came_back[4], went[4], came_back_before[4], went_before[4];
	long fills, evictions, scanned, kept, refaults, hits, compulsory;
};

static int tier_of(int reads)
{
	static const int tiers[] = { 0, 0, 1, 2, 2, 3 };

	return tiers[reads];
}

static void slow_place(struct slow *s, unsigned int p, long generation, bool first)
{
	s->page[p].generation = generation;
	s->page[p].stamp = first ? --s->bottom : ++s->top;
}

static void slow_add_waiting(struct slow *s)
{
	for (unsigned int i = 0; i < s->nr_waiting; i++)
		slow_place(s, s->waiting[i],
			   s->youngest - s->oldest == 3 ? s->oldest + 1 : s->oldest, false);
	s->nr_waiting = 0;
}

static unsigned long slow_count(const struct slow *s, long generation)
{
	unsigned long nr = 0;

	for (unsigned int i = 0; i < s->nr_pages; i++)
		nr += s->page[i].generation == generation;
	return nr;
}

static int slow_next(const struct slow *s)
{
	int best = -1;

	for (unsigned int i = 0; i < s->nr_pages; i++)
		if (s->page[i].generation == s->oldest &&
		    (best < 0 || s->page[i].stamp < s->page[best].stamp))
			best = (int)i;
	return best;
}

static void slow_fade(struct slow *s)
{
	for (int t = 0; t < 4; t++) {
		s->came_back_before[t] = (s->came_back_before[t] + s->came_back[t]) / 2;
		s->went_before[t] = (s->went_before[t] + s->went[t]) / 2;
		s->came_back[t] = s->went[t] = 0;
	}
}

/* Tiers from 1 up are evicted like tier 0 while their share that came back is at most twice as
 * high. */
static int slow_highest_evictable(const struct slow *s)
{
	unsigned long back0 = s->came_back_before[0] + s->came_back[0];
	unsigned long all0 = s->went_before[0] + s->went[0];

	for (int t = 1; t < 4; t++) {
		unsigned long back = s->came_back_before[t] + s->came_back[t];
		unsigned long all = s->went_before[t] + s->went[t];

		if (back >= s->batch && back * (all0 + s->batch) > 2 * all * (back0 + 1))
			return t - 1;
	}
	return 3;
}

static void slow_keep(struct slow *s, unsigned int p)
{
	s->page[p].reads = 0;
	slow_place(s, p, s->oldest + 1, true);
}

static void slow_age(struct slow *s)
{
	int p;

	if (s->youngest - s->oldest == 3) {
		while ((p = slow_next(s)) >= 0)
			slow_keep(s, (unsigned int)p);
		slow_fade(s);
		s->oldest++;
	}
	s->youngest++;
}

/* One batch; how many were looked at, 0 to give up. */
static unsigned long slow_evict(struct slow *s, unsigned int *freed)
{
	unsigned int victims[MAX_PAGES], nr = 0, looked = 0;
	int highest = slow_highest_evictable(s), p;
	long was = s->oldest;
	unsigned long progress;

	while (s->youngest - s->oldest > 1 && looked < s->look && nr < s->batch &&
	       (p = slow_next(s)) >= 0) {
		struct page *page = &s->page[p];

		looked++;
		if (tier_of(page->reads) > highest || page->reads == 5) {
			s->went[tier_of(page->reads)]++;
			slow_keep(s, (unsigned int)p);
			s->kept++;
		} else {
			page->generation = NOWHERE;
			victims[nr++] = (unsigned int)p;
		}
	}
	s->scanned += looked;
	progress = nr || looked == s->look ? looked : 0;
	while (s->youngest - s->oldest > 1 && !slow_count(s, s->oldest))
		s->oldest++;
	if (s->oldest != was) {
		slow_fade(s);
		progress++;
	}
	for (unsigned int i = 0; i < nr; i++) {
		struct page *page = &s->page[victims[i]];

		page->has_shadow = true;
		page->shadow_generation = s->oldest;
		page->shadow_reads = page->reads;
		s->went[tier_of(page->reads)]++;
		s->evictions++;
		s->charged--;
		(*freed)++;
	}
	return s->youngest - s->oldest == 1 ? 0 : progress;
}

static bool slow_aging_due(const struct slow *s, unsigned long *all)
{
	*all = 0;
	if (s->youngest - s->oldest < 2)
		return true;
	for (long g = s->oldest; g <= s->youngest; g++)
		*all += slow_count(s, g);
	return s->youngest - s->oldest == 2 && (slow_count(s, s->youngest) * 2 > *all ||
						slow_count(s, s->oldest) * 4 < *all);
}

static void slow_reclaim(struct slow *s)
{
	unsigned int freed = 0;

	for (int priority = 12; priority >= 0 && freed < 32; priority--) {
		unsigned long looked = 0, all, now;

		slow_add_waiting(s);
		do {
			if (slow_aging_due(s, &all) && priority != 12) {
				slow_age(s);
				if (s->age_only)
					break;
				slow_aging_due(s, &all);
			}
			if (!(all >> priority))
				break;
			now = slow_evict(s, &freed);
			looked += now;
		} while (now && looked < all >> priority);
	}
}

static void slow_charge(struct slow *s)
{
	if (s->stock) {
		s->stock--;
	} else if (s->charged + 64 <= s->limit) {
		s->charged += 64;
		s->stock = 63;
	} else {
		while (s->charged >= s->limit)
			slow_reclaim(s);
		s->charged++;
	}
}

static void slow_fill(struct slow *s, unsigned int p)
{
	struct page *page = &s->page[p];

	slow_charge(s);
	s->fills++;
	s->compulsory += !page->seen;
	page->seen = true;
	page->reads = 0;
	if (page->has_shadow) {
		s->refaults++;
		if (page->shadow_generation == s->oldest) {
			s->came_back[tier_of(page->shadow_reads)]++;
			/* four or five reads: it should have been kept */
			page->reads = page->shadow_reads >= 4 ? -1 : 0;
		}
		page->has_shadow = false;
	}
	page->generation = WAITING;
	s->waiting[s->nr_waiting++] = p;
	if (s->nr_waiting == 31)
		slow_add_waiting(s);
}

static void slow_read(struct slow *s, const uint32_t *pages, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		struct page *page = &s->page[pages[i]];

		if (page->generation == NOWHERE)
			slow_fill(s, pages[i]);
		else
			s->hits++;
		if (i && pages[i] == pages[i - 1])
			continue;
		/* -1: has the full count, though not read yet: the first read makes it one that
		 * counts */
		if (page->reads < 0)
			page->reads = 5;
		else if (page->reads < 5)
			page->reads++;
	}
}

static void slow_init(struct slow *s, unsigned int nr_pages, unsigned int limit)
{
	memset(s, 0, sizeof(*s));
	s->nr_pages = nr_pages;
	s->limit = limit;
	s->youngest = 3;
	for (unsigned int i = 0; i < nr_pages; i++)
		s->page[i].generation = NOWHERE;
}

/* ---- replays --------------------------------------------------------------------------------- */

static void replay(const char *name, const uint32_t *pages, size_t nr, uint32_t nr_ids,
		   uint32_t limit, const char *const *params, struct replay_counters *out)
{
	const struct kernel_ops *ops = find(name);
	char options[1024] __attribute__((aligned(16)));
	struct kernel_config config = { .capacity_pages = limit,
					.nr_ids = nr_ids,
					.params = options };
	const struct demand_block block = { .nr = nr, .page = pages };
	struct kernel_model *m;
	struct err err = { 0 };
	int code = 0;

	assert_int_equal(params_defaults(ops->params, options, &err), 0);
	for (; params && *params; params += 2)
		assert_int_equal(params_set(ops->params, options, name, params[0], params[1], &err),
				 0);
	m = ops->create(&config, &code, &err);
	assert_non_null(m);
	assert_int_equal(ops->feed(m, &block, NULL, &err), 0);
	ops->counters(m, out);
	ops->destroy(m);
}

/* Hot spots, a loop over the rest, repeats; in random proportion. */
static void random_reads(uint32_t *pages, uint32_t nr_ids, uint64_t *seed)
{
	uint32_t hot = 1 + (uint32_t)(rand_next(seed) % nr_ids), at = 0;
	unsigned int hot_pct = (unsigned int)(rand_next(seed) % 100);

	for (size_t i = 0; i < NR_READS; i++) {
		uint64_t dice = rand_next(seed) % 100;

		if (dice < 5 && i)
			pages[i] = pages[i - 1];
		else if (rand_next(seed) % 100 < hot_pct)
			pages[i] = (uint32_t)(rand_next(seed) % hot);
		else
			pages[i] = at = (at + 1) % nr_ids;
	}
}

static void generations_agree_with_the_slow_reference(void **state)
{
	static const struct {
		const char *model, *batch, *look;
		unsigned int nr_batch, nr_look;
		bool age_only;
	} variants[] = {
		{ "linux-mglru", "64", "4096", 64, 4096, true },
		{ "linux-mglru", "8", "16", 8, 16, true },
		{ "linux-mglru", "3", "512", 3, 512, true },
		{ "linux-mglru-6.1", "8", "64", 8, 64, false },
	};
	uint32_t pages[NR_READS];
	struct slow *s = malloc(sizeof(*s));
	uint64_t seed = 42, kept = 0;

	for (int i = 0; i < 400; i++) {
		uint32_t nr_ids = 100 + (uint32_t)(rand_next(&seed) % (MAX_PAGES - 100));
		uint32_t limit = 80 + (uint32_t)(rand_next(&seed) % 200);
		const unsigned int v = (unsigned int)i % ARRAY_SIZE(variants);
		const char *const params[] = { "min_batch", variants[v].batch, "max_batch",
					       variants[v].look, "stale_stats", "0", "batch", "31",
					       NULL };
		struct replay_counters c;

		random_reads(pages, nr_ids, &seed);
		slow_init(s, nr_ids, limit);
		s->batch = variants[v].nr_batch;
		s->look = variants[v].nr_look;
		s->age_only = variants[v].age_only;
		slow_read(s, pages, NR_READS);
		replay(variants[v].model, pages, NR_READS, nr_ids, limit, params, &c);
		assert_int_equal(c.hits, s->hits);
		assert_int_equal(c.fills, s->fills);
		assert_int_equal(c.fills_compulsory, s->compulsory);
		assert_int_equal(c.evictions, s->evictions);
		assert_int_equal(c.scanned, s->scanned);
		assert_int_equal(c.rotated, s->kept);
		assert_int_equal(c.refaults, s->refaults);
		kept += (uint64_t)s->kept;
	}
	assert_true(kept > 10000);	/* else the tiers were never tested */
	free(s);
}

/* ---- what is said of it ---------------------------------------------------------------------- */

/* Once-read pages are one queue: of a loop that does not fit, nothing ever hits. */
static void a_loop_that_does_not_fit_never_hits(void **state)
{
	enum { LOOP = 8000, ROUNDS = 4 };
	uint32_t *pages = malloc(sizeof(*pages) * LOOP * ROUNDS);
	struct replay_counters c;

	for (uint32_t i = 0; i < LOOP * ROUNDS; i++)
		pages[i] = i % LOOP;
	replay("linux-mglru", pages, (size_t)LOOP * ROUNDS, LOOP, 6000, NULL, &c);
	assert_int_equal(c.hits, 0);
	assert_int_equal(c.scanned, c.reclaimed);
	free(pages);
}

/* Where memory is a machine's, kswapd keeps it between the watermarks and never takes more. */
static void kswapd_keeps_free_memory_between_the_watermarks(void **state)
{
	enum { IDS = 60000, MEMORY = 49152 };
	static const char *const params[] = { "kswapd", "on", NULL };
	/* 192 MB: min = 4 * sqrt(196608) kB / 4 = 443 pages, and 110 to low, 110 to high */
	const uint64_t low = 443 + 110, high = 443 + 220;
	uint32_t *pages = malloc(sizeof(*pages) * IDS);
	struct replay_counters c;

	for (uint32_t i = 0; i < IDS; i++)
		pages[i] = i;
	for (uint32_t nr = MEMORY - 2000; nr <= IDS; nr += 731) {
		replay("linux-mglru", pages, nr, IDS, MEMORY, params, &c);
		assert_true(c.resident_pages <= MEMORY - low);
		if (c.evictions)
			assert_true(c.resident_pages >= MEMORY - high - MEMORY / 64 - 64);
		else
			assert_int_equal(c.resident_pages, nr);
	}
	free(pages);
}

/* ---- golden counts --------------------------------------------------------------------------- */

static void counts_are_what_they_were(void **state)
{
	enum { NR = 200000, IDS = 20000 };
	static const uint32_t sizes[] = { 2000, 5000, 10000 };
	static const uint64_t fills[] = { 171823, 129491, 67745 };
	static const uint64_t scanned[] = { 170012, 126268, 64407 };
	uint32_t *pages = malloc(sizeof(*pages) * NR);
	uint64_t seed = 1;
	bool bad = false;

	/* The smallest of three: low ids are hot; every fourth read is a step of a scan. */
	for (uint32_t i = 0; i < NR; i++) {
		uint64_t least = rand_next(&seed) % IDS;

		for (int j = 0; j < 2; j++) {
			uint64_t other = rand_next(&seed) % IDS;

			least = other < least ? other : least;
		}
		pages[i] = i % 4 ? (uint32_t)least : i / 4 % IDS;
	}
	for (int i = 0; i < 3; i++) {
		struct replay_counters c;

		replay("linux-mglru", pages, NR, IDS, sizes[i], NULL, &c);
		if (c.fills == fills[i] && c.scanned == scanned[i])
			continue;
		bad = true;
		print_message("%u pages: fills %lu scanned %lu\n", sizes[i], c.fills, c.scanned);
	}
	assert_false(bad);
	free(pages);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(generations_agree_with_the_slow_reference),
		cmocka_unit_test(a_loop_that_does_not_fit_never_hits),
		cmocka_unit_test(kswapd_keeps_free_memory_between_the_watermarks),
		cmocka_unit_test(counts_are_what_they_were),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
