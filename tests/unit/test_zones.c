// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_zones.c - linux-3.2: watermarks of a known host, a slow reference on small machines, the
 * loop of kswapd against the component that has it on counts, golden counts. The reference has one
 * zone and no lists: a page knows where it is and since when, and who is next is found by looking
 * at all pages.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "replay/components/components.h"
#include "replay/kernel/kernel.h"

extern const struct kernel_ops linux_3_2_ops;
static const struct kernel_ops *const ops = &linux_3_2_ops;

enum { MAX_PAGES = 900, STEP_NS = 2000 };

static struct kernel_model *create(uint32_t memory, uint32_t nr_ids, const char *const *settings)
{
	struct linux_params params;
	struct kernel_config config = { .capacity_pages = memory, .nr_ids = nr_ids,
					.params = &params };
	struct kernel_model *m;
	struct err err = { "" };
	int code = 0;

	assert_int_equal(params_defaults(ops->params, &params, &err), 0);
	for (; settings && *settings; settings += 2)
		assert_int_equal(params_set(ops->params, &params, ops->name, settings[0],
					    settings[1], &err), 0);
	m = ops->create(&config, &code, &err);
	if (!m)
		fail_msg("%s", err.text);
	return m;
}

static void feed(struct kernel_model *m, const uint32_t *pages, size_t nr)
{
	const struct demand_block block = { .nr = nr, .page = pages };

	assert_int_equal(ops->feed(m, &block, NULL, NULL), 0);
}

/* ---- the slow reference: one zone, reads only ------------------------------------------------ */

enum place { GONE, WAITING, INACTIVE, ACTIVE };

struct slow {
	struct { enum place place; long stamp; bool referenced, seen; } page[MAX_PAGES];
	int nr_pages, last_read;
	int wait[14], nr_wait, raise[14], nr_raise;
	long stamp, free, min, low, high;
	long now, page_ns, slab_ns, one_pct;
	/* kswapd */
	enum { ASLEEP, RESTING, WORKING } state;
	bool dead;			/* nothing of the zone can be reclaimed */
	long clock, since_freed;
	int priority;
	long freed, looked;
	long fills, evictions, scanned, activated, deactivated, direct, passes;
};

static int count(const struct slow *s, enum place place)
{
	int nr = 0;

	for (int i = 0; i < s->nr_pages; i++)
		nr += s->page[i].place == place;
	return nr;
}

static int oldest(const struct slow *s, enum place place)
{
	int found = -1;

	for (int i = 0; i < s->nr_pages; i++)
		if (s->page[i].place == place &&
		    (found < 0 || s->page[i].stamp < s->page[found].stamp))
			found = i;
	return found;
}

static void put(struct slow *s, int page, enum place place)
{
	s->page[page].place = place;
	s->page[page].stamp = ++s->stamp;
}

static void empty_waiting(struct slow *s)
{
	for (int i = 0; i < s->nr_wait; i++)
		put(s, s->wait[i], INACTIVE);
	s->nr_wait = 0;
}

static void empty_raising(struct slow *s)
{
	for (int i = 0; i < s->nr_raise; i++) {
		if (s->page[s->raise[i]].place == ACTIVE)
			continue;
		put(s, s->raise[i], ACTIVE);
		s->activated++;
	}
	s->nr_raise = 0;
}

static long slow_shrink(struct slow *s, int priority, bool kswapd)
{
	long inactive = count(s, INACTIVE) >> priority, active = count(s, ACTIVE) >> priority;
	long freed = 0;

	if (kswapd && !inactive)
		inactive = 32;
	if (kswapd && !active)
		active = 32;
	while (inactive || active) {
		long nr = inactive < 32 ? inactive : 32;

		inactive -= nr;
		if (nr) {
			long before = freed;

			empty_waiting(s);
			empty_raising(s);
			for (; nr && oldest(s, INACTIVE) >= 0; nr--, freed++, s->scanned++) {
				int page = oldest(s, INACTIVE);

				s->page[page].place = GONE;
				s->page[page].referenced = false;
				s->free++;
				s->dead = false;
				s->evictions++;
				s->looked++;
			}
			s->since_freed = freed > before ? 0 : s->since_freed;
		}
		nr = active < 32 ? active : 32;
		active -= nr;
		if (nr && count(s, ACTIVE) > count(s, INACTIVE)) {
			empty_waiting(s);
			empty_raising(s);
			for (; nr && oldest(s, ACTIVE) >= 0; nr--, s->deactivated++)
				put(s, oldest(s, ACTIVE), INACTIVE);
		}
		if (!kswapd && freed >= 32 && priority < 12)
			break;
	}
	return freed;
}

static void begin(struct slow *s)
{
	s->priority = 12;
	s->freed = s->looked = 0;
}

/* One round of the one zone. */
static void slow_round(struct slow *s)
{
	long gap = s->low < s->one_pct ? s->low : s->one_pct, before;
	bool short_now, ok = true;

	short_now = s->free <= s->high && !(s->dead && s->priority != 12);
	if (short_now) {
		if (s->free <= s->high + gap) {
			long ns;

			before = s->looked;
			s->freed += slow_shrink(s, s->priority, true);
			s->passes++;
			if (!count(s, INACTIVE) && !count(s, ACTIVE))
				s->dead = true;
			ns = (s->looked - before) * s->page_ns + s->slab_ns;
			s->clock += ns > 100 ? ns : 100;
		}
		ok = s->dead || s->free > s->high;
	}
	if (ok) {
		if (s->dead || s->free > s->high) {
			s->state = RESTING;
			s->clock += 100000000;
		} else {
			s->clock += 100;
			begin(s);
		}
		return;
	}
	if (s->looked && s->priority < 10 && s->free > s->min)
		s->clock += 100000000;
	if (s->freed >= 32 || !s->priority)
		begin(s);
	else
		s->priority--;
}

static void slow_kswapd(struct slow *s)
{
	while (s->state != ASLEEP && s->clock <= s->now) {
		if (s->state == WORKING) {
			slow_round(s);
			continue;
		}
		s->state = s->dead || s->free > s->high ? ASLEEP : WORKING;
		begin(s);
	}
}

static void slow_direct(struct slow *s)
{
	long freed = 0;

	s->direct++;
	for (int priority = 12; priority >= 0 && freed < 32; priority--) {
		if (!s->dead || priority == 12)
			freed += slow_shrink(s, priority, false);
		s->passes++;
	}
}

static void slow_alloc(struct slow *s)
{
	slow_kswapd(s);
	if (s->free <= s->low) {
		if (s->state != WORKING) {
			s->state = WORKING;
			s->clock = s->now;
			begin(s);
			slow_kswapd(s);
		}
		for (int i = 0; i < 16 && s->free <= s->min; i++)
			slow_direct(s);
	}
	s->free--;
}

static void slow_read(struct slow *s, int page)
{
	s->now += STEP_NS;
	if (s->page[page].place == GONE) {
		slow_alloc(s);
		s->page[page].place = WAITING;
		s->page[page].seen = true;
		s->wait[s->nr_wait++] = page;
		s->fills++;
		if (s->nr_wait == 14)
			empty_waiting(s);
	}
	if (page == s->last_read)
		return;
	s->last_read = page;
	if (!s->page[page].referenced) {
		s->page[page].referenced = true;
	} else if (s->page[page].place == INACTIVE) {
		s->raise[s->nr_raise++] = page;
		s->page[page].referenced = false;
		if (s->nr_raise == 14)
			empty_raising(s);
	}
}

static void lists_agree_with_the_slow_reference(void **state)
{
	static const char *const settings[] = { "readahead", "off", "superblocks", "30", NULL };
	uint32_t *pages = malloc(sizeof(*pages) * 6000);
	struct slow *s = malloc(sizeof(*s));
	uint64_t seed = 5;

	for (int round = 0; round < 60; round++) {
		uint32_t memory = 150 + (uint32_t)(rand_next(&seed) % 500);
		uint32_t ids = 60 + (uint32_t)(rand_next(&seed) % 800), hot = 1 + ids / 4;
		struct kernel_model *m = create(memory, ids, settings);
		struct zone_marks marks = zones_marks(m, 0);
		struct replay_counters c;

		assert_int_equal(marks.present, memory);
		*s = (struct slow){ .nr_pages = (int)ids, .last_read = -1, .free = memory,
				    .min = marks.min, .low = marks.low, .high = marks.high,
				    .page_ns = 450, .slab_ns = 30 * 78,
				    .one_pct = (memory + 99) / 100 };
		for (int i = 0; i < 6000; i++) {
			bool scan = rand_next(&seed) % 3 == 0;

			pages[i] = scan ? (uint32_t)i % ids : (uint32_t)(rand_next(&seed) % hot);
			slow_read(s, (int)pages[i]);
		}
		feed(m, pages, 6000);
		ops->counters(m, &c);
		assert_int_equal(c.fills, s->fills);
		assert_int_equal(c.evictions, s->evictions);
		assert_int_equal(c.scanned, s->scanned);
		assert_int_equal(c.activated, s->activated);
		assert_int_equal(c.deactivated, s->deactivated);
		assert_int_equal(zones_counts(m)->direct_reclaims, s->direct);
		assert_int_equal(zones_counts(m)->slab_passes, s->passes);
		ops->destroy(m);
	}
	free(pages);
	free(s);
}

/* ---- a known host ---------------------------------------------------------------------------- */

/* /proc/zoneinfo of the report of December 2011, within what rounding by zone leaves open. */
static void watermarks_are_those_of_a_known_host(void **state)
{
	static const struct zone_marks reported[] = {
		{ .min = 64, .low = 80, .high = 96, .reserve = { 0, 3503, 4007 } },
		{ .min = 14715, .low = 18393, .high = 22072, .reserve = { 0, 0, 504 } },
		{ .min = 2116, .low = 2645, .high = 3174 },
	};
	struct kernel_model *m = create(3980 + 896768 + 129024, 100, NULL);

	for (int i = 0; i < NR_ZONES; i++) {
		struct zone_marks got = zones_marks(m, i), want = reported[i];

		assert_true(llabs(got.min - want.min) <= 3);
		assert_true(llabs(got.low - want.low) <= 4);
		assert_true(llabs(got.high - want.high) <= 5);
		for (int j = 0; j < NR_ZONES; j++)
			assert_int_equal(got.reserve[j], want.reserve[j]);
	}
	ops->destroy(m);
}

/* Sequential reads of @nr pages in windows of 64 from @first on, at @rate pages a second. */
static void read_stream(struct kernel_model *m, uint32_t first, uint32_t nr, double rate,
			double *now_ns)
{
	for (uint32_t page = first; page < first + nr; page += 64) {
		uint64_t ts = (uint64_t)*now_ns;
		uint32_t run = 64;
		struct demand_block block = { .nr = 1, .page = &page, .run = &run, .ts_ns = &ts };

		assert_int_equal(ops->feed(m, &block, NULL, NULL), 0);
		*now_ns += 64 / rate * 1e9;
	}
}

enum { HOST = 3980 + 896768 + 129024, STREAM = 1 << 19 };

/* A host whose page cache has a quarter of memory reads a stream; the result of its second half. */
static void run_host(const char *superblocks, double mb_s, double *cpu, double *per_pass)
{
	const char *const settings[] = { "readahead", "off", "superblocks", superblocks,
					 "reserve", "2461M", NULL };
	struct kernel_model *m = create(HOST, 2 * STREAM, settings);
	double rate = mb_s * 1e6 / PAGE_BYTES, now_ns = 0, start_ns;
	struct zones_counts before, after;

	read_stream(m, 0, STREAM, rate, &now_ns);
	before = *zones_counts(m);
	start_ns = now_ns;
	read_stream(m, STREAM, STREAM, rate, &now_ns);
	after = *zones_counts(m);
	*cpu = (double)(after.kswapd_ns - before.kswapd_ns) / (now_ns - start_ns);
	*per_pass = (double)(after.kswapd_reclaimed - before.kswapd_reclaimed) /
		    (double)(after.slab_passes - before.slab_passes);
	ops->destroy(m);
}

/*
 * With few superblocks a round takes lists >> 12 from DMA32 and NORMAL for three slab passes; with
 * many NORMAL alone is short, and gives 11 + 22 pages for three passes.
 */
static void kswapd_agrees_with_the_component_on_counts(void **state)
{
	static const struct { uint64_t n; double mb_s; } at[] = {
		{ 20, 528 }, { 300, 528 }, { 2000, 528 }, { 3500, 294 } };

	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		double cpu, per_pass, closed, rate = at[i].mb_s * 1e6 / PAGE_BYTES;
		struct kswapd_params params;
		struct kswapd_result r;
		char n[16];

		snprintf(n, sizeof(n), "%d", (int)at[i].n);
		run_host(n, at[i].mb_s, &cpu, &per_pass);
		closed = kswapd_closed_form(rate, 450, (double)at[i].n, 78, per_pass);
		assert_true(fabs(cpu - closed) < 0.03 + 0.05 * closed);
		params_defaults(kswapd_params_table, &params, NULL);
		params.nr_superblocks = at[i].n;
		params.demand_mb_s = at[i].mb_s;
		params.jitter = 0;
		params.alloc_ns = 1;
		assert_int_equal(kswapd_run(&params, &r, NULL), 0);
		/* This host's DMA32 list is shorter by a fifth: it counts while kswapd keeps up. */
		if (fabs(per_pass / r.pages_per_pass - (i < 2 ? 0.82 : 1)) > 0.05 ||
		    fabs(100 * cpu - r.cpu_pct) > 3)
			fail_msg("%s superblocks at %g MB/s: %.1f %% and %.1f pages a pass, the "
				 "component %.1f %% and %.1f", n, at[i].mb_s, 100 * cpu, per_pass,
				 r.cpu_pct, r.pages_per_pass);
	}
}

/* ---- golden counts --------------------------------------------------------------------------- */

/* Skewed reads with a scan in between, windows as of 3.2; three zones from 64 MB on. */
static void counts_are_what_they_were(void **state)
{
	enum { NR = 200000, IDS = 30000 };
	static const uint32_t sizes[] = { 3000, 8000, 16384 };
	static const uint64_t fills[] = { 321153, 373348, 269888 };
	static const uint64_t scanned[] = { 318369, 365876, 254832 };
	static const char *const settings[] = { "readahead", "model", "dma32", "32M", NULL };
	uint32_t *pages = malloc(sizeof(*pages) * NR);
	uint64_t seed = 1;
	bool bad = false;

	for (uint32_t i = 0; i < NR; i++) {
		uint64_t a = rand_next(&seed) % IDS, b = rand_next(&seed) % IDS;

		pages[i] = i % 4 ? (uint32_t)(a < b ? a : b) : i / 4 % IDS;
	}
	for (int i = 0; i < 3; i++) {
		struct kernel_model *m = create(sizes[i], IDS, settings);
		struct replay_counters c;

		feed(m, pages, NR);
		ops->counters(m, &c);
		ops->destroy(m);
		if (c.fills == fills[i] && c.scanned == scanned[i])
			continue;
		bad = true;
		print_message("%u pages: fills %lu scanned %lu\n", sizes[i], c.fills, c.scanned);
	}
	free(pages);
	assert_false(bad);
}

/* A page that a write touched twice is active: 3.2 marks written pages as read ones. */
static void writes_mark_pages_accessed(void **state)
{
	struct kernel_model *m = create(2000, 100, NULL);
	struct replay_counters c;

	for (uint32_t i = 0; i < 200; i++) {
		uint32_t page = i % 100;
		uint8_t op = DEMAND_WRITE;
		struct demand_block block = { .nr = 1, .page = &page, .op = &op };

		assert_int_equal(ops->feed(m, &block, NULL, NULL), 0);
	}
	ops->counters(m, &c);
	assert_in_range(c.activated, 84, 100);	/* up to a pagevec's 14 wait */
	ops->destroy(m);
}

/* Without any zone above min the program reclaims itself: no time passes for kswapd. */
static void who_allocates_faster_than_kswapd_works_reclaims_directly(void **state)
{
	static const char *const slow[] = { "readahead", "off", "kswapd_page", "1ms", NULL };
	static const char *const fast[] = { "readahead", "off", "kswapd_page", "0",
					    "superblocks", "0", NULL };
	uint32_t *pages = malloc(sizeof(*pages) * 20000);

	for (uint32_t i = 0; i < 20000; i++)
		pages[i] = i;
	for (int i = 0; i < 2; i++) {
		struct kernel_model *m = create(3000, 20000, i ? fast : slow);

		feed(m, pages, 20000);
		if (i)
			assert_int_equal(zones_counts(m)->direct_reclaims, 0);
		else
			assert_true(zones_counts(m)->direct_reclaims > 100);
		ops->destroy(m);
	}
	free(pages);
}

/* One page of cache in front of a miss is trace enough for a window in 3.2, not later. */
static void one_cached_page_makes_a_window(void **state)
{
	for (int i = 0; i < 2; i++) {
		const char *const settings[] = { "readahead", "model", "ra_rules",
						 i ? "6.1" : "3.2", NULL };
		struct kernel_model *m = create(2000, 1000, settings);
		/* 500 is read by somebody who goes on elsewhere, 501 by somebody who was elsewhere
		 */
		uint32_t pages[] = { 500, 600, 900, 501 }, tasks[] = { 1, 1, 2, 2 };
		struct demand_block block = { .nr = 4, .page = pages, .task = tasks };
		struct replay_counters c;

		assert_int_equal(ops->feed(m, &block, NULL, NULL), 0);
		ops->counters(m, &c);
		assert_int_equal(c.misses, 4);
		assert_int_equal(c.fills, i ? 4 : 3 + 4 + 8);
		ops->destroy(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_agree_with_the_slow_reference),
		cmocka_unit_test(watermarks_are_those_of_a_known_host),
		cmocka_unit_test(kswapd_agrees_with_the_component_on_counts),
		cmocka_unit_test(counts_are_what_they_were),
		cmocka_unit_test(writes_mark_pages_accessed),
		cmocka_unit_test(who_allocates_faster_than_kswapd_works_reclaims_directly),
		cmocka_unit_test(one_cached_page_makes_a_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
