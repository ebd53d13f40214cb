// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_kernel.c - the kernel models against a slow reference on many small random streams, and
 * conservation laws. The reference keeps lists as plain arrays, oldest first, searches them from
 * end to end and recomputes everything: it shares no code and no data structure with the model.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "replay/replay.h"

enum { MAX_PAGES = 512, MAX_RECORDS = 3000 };

static const struct kernel_ops *find(const char *name)
{
	for (int i = 0; kernel_models[i]; i++)
		if (!strcmp(kernel_models[i]->name, name))
			return kernel_models[i];
	fail_msg("no model %s", name);
	return NULL;
}

/* ---- the slow reference: reads only ---------------------------------------------------------- */

struct array {
	unsigned int nr;
	unsigned int page[MAX_PAGES + 64];	/* oldest first */
};

struct slow {
	unsigned int limit, charged, stock;
	struct array inactive, active, adding, activating;
	bool referenced[MAX_PAGES], is_active[MAX_PAGES], evicted[MAX_PAGES], seen[MAX_PAGES];
	long evicted_at[MAX_PAGES];
	long age;
	long flush_every, time;		/* in records; 0: statistics are exact */
	long seen_inactive, seen_active, seen_refaulted;	/* statistics as flushed */
	long refaulted, refaulted_before;
	long fills, compulsory, evictions, scanned, activated, deactivated, refaults, hits;
};

static int where(const struct array *a, unsigned int page)
{
	for (unsigned int i = 0; i < a->nr; i++)
		if (a->page[i] == page)
			return (int)i;
	return -1;
}

static void push(struct array *a, unsigned int page)
{
	a->page[a->nr++] = page;
}

static void take_out(struct array *a, unsigned int i)
{
	memmove(a->page + i, a->page + i + 1, sizeof(a->page[0]) * (a->nr - i - 1));
	a->nr--;
}

static void slow_add_all(struct slow *s)
{
	for (unsigned int i = 0; i < s->adding.nr; i++) {
		unsigned int page = s->adding.page[i];

		push(s->is_active[page] ? &s->active : &s->inactive, page);
	}
	s->adding.nr = 0;
}

static void slow_activate_all(struct slow *s)
{
	for (unsigned int i = 0; i < s->activating.nr; i++) {
		unsigned int page = s->activating.page[i];

		if (s->is_active[page])
			continue;
		take_out(&s->inactive, (unsigned int)where(&s->inactive, page));
		s->is_active[page] = true;
		push(&s->active, page);
		s->activated++;
	}
	s->activating.nr = 0;
}

static void slow_flush(struct slow *s)
{
	s->seen_inactive = s->inactive.nr;
	s->seen_active = s->active.nr;
	s->seen_refaulted = s->refaulted;
}

static void slow_scan_inactive(struct slow *s, unsigned int nr, unsigned int *freed)
{
	slow_add_all(s);
	slow_activate_all(s);
	for (; nr && s->inactive.nr; nr--) {
		unsigned int page = s->inactive.page[0];

		take_out(&s->inactive, 0);
		s->scanned++;
		s->evictions++;
		s->referenced[page] = false;
		s->evicted[page] = true;
		s->evicted_at[page] = s->age++;
		s->charged--;
		(*freed)++;
	}
}

static void slow_scan_active(struct slow *s, unsigned int nr)
{
	slow_add_all(s);
	slow_activate_all(s);
	for (; nr && s->active.nr; nr--) {
		unsigned int page = s->active.page[0];

		take_out(&s->active, 0);
		s->is_active[page] = false;
		push(&s->inactive, page);
		s->deactivated++;
	}
}

static unsigned int at_most(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

static unsigned int slow_passes(struct slow *s, bool force, bool *skipped)
{
	unsigned int freed = 0;

	for (int priority = 12; priority >= 0 && freed < 32; priority--) {
		unsigned int inactive = s->inactive.nr >> priority, pass = 0;
		unsigned int active = s->active.nr >> priority;
		bool age_active;

		if (!s->flush_every)
			slow_flush(s);
		age_active = force || s->seen_inactive < s->seen_active ||
			     s->seen_refaulted != s->refaulted_before;
		while ((inactive || active) && pass < 32) {
			unsigned int nr = at_most(inactive, 32);

			if (nr)
				slow_scan_inactive(s, nr, &pass);
			inactive -= nr;
			nr = at_most(active, 32);
			active -= nr;
			if (nr && age_active)
				slow_scan_active(s, nr);
			else if (nr)
				*skipped = true;
		}
		freed += pass;
	}
	if (!s->flush_every)
		slow_flush(s);
	s->refaulted_before = s->seen_refaulted;
	return freed;
}

static void slow_charge(struct slow *s)
{
	if (s->stock) {
		s->stock--;
		return;
	}
	if (s->charged + 64 <= s->limit) {
		s->charged += 64;
		s->stock = 63;
		return;
	}
	while (s->charged + 1 > s->limit) {
		bool skipped = false;

		if (!slow_passes(s, false, &skipped) && skipped)
			slow_passes(s, true, &skipped);
	}
	s->charged++;
}

static bool slow_resident(const struct slow *s, unsigned int page)
{
	return where(&s->inactive, page) >= 0 || where(&s->active, page) >= 0 ||
	       where(&s->adding, page) >= 0;
}

static void slow_fill(struct slow *s, unsigned int page)
{
	slow_charge(s);
	s->fills++;
	s->compulsory += !s->seen[page];
	s->seen[page] = true;
	s->is_active[page] = false;
	if (s->evicted[page]) {
		s->refaults++;
		if (!s->flush_every)
			slow_flush(s);
		if (s->age - s->evicted_at[page] <= s->seen_active) {
			s->is_active[page] = true;
			s->age++;
			s->refaulted++;
		}
		s->evicted[page] = false;
	}
	s->referenced[page] = false;
	push(&s->adding, page);
	if (s->adding.nr == 31)
		slow_add_all(s);
}

static void slow_mark(struct slow *s, unsigned int page)
{
	if (!s->referenced[page]) {
		s->referenced[page] = true;
		return;
	}
	if (s->is_active[page])
		return;
	s->referenced[page] = false;
	s->age++;
	if (where(&s->adding, page) >= 0) {
		s->is_active[page] = true;
		return;
	}
	push(&s->activating, page);
	if (s->activating.nr == 31)
		slow_activate_all(s);
}

static void slow_read(struct slow *s, const uint32_t *page, const uint32_t *run, size_t nr)
{
	unsigned int last = UINT32_MAX;

	for (size_t i = 0; i < nr; i++) {
		if (s->flush_every && ++s->time % s->flush_every == 0)
			slow_flush(s);
		for (uint32_t j = 0; j < run[i]; j++)
			s->hits += slow_resident(s, page[i] + j);
		for (uint32_t j = 0; j < run[i]; j++) {
			unsigned int p = page[i] + j;

			if (!slow_resident(s, p))
				slow_fill(s, p);
			if (j || p != last)
				slow_mark(s, p);
		}
		last = page[i] + run[i] - 1;
	}
}

/* ---- streams --------------------------------------------------------------------------------- */

struct stream {
	bool one_file;		/* else ids below 40 are file 7 from index 100, the rest file 3 */
	uint32_t nr_ids;
	size_t nr;
	uint32_t page[MAX_RECORDS], run[MAX_RECORDS];
	uint8_t op[MAX_RECORDS];
	uint64_t ts_ns[MAX_RECORDS];
};

/* Hot spots, loops, scans and repeats in random proportion; a record every microsecond. */
static void random_reads(struct stream *s, uint64_t *seed)
{
	s->one_file = true;
	uint32_t hot, at = 0;
	unsigned int hot_pct = (unsigned int)(rand_next(seed) % 100);

	s->nr_ids = 100 + (uint32_t)(rand_next(seed) % (MAX_PAGES - 100));
	s->nr = MAX_RECORDS;
	hot = 1 + (uint32_t)(rand_next(seed) % s->nr_ids);
	for (size_t i = 0; i < s->nr; i++) {
		uint64_t dice = rand_next(seed) % 100;

		s->run[i] = rand_next(seed) % 8 ? 1 : 1 + (uint32_t)(rand_next(seed) % 6);
		if (dice < 5 && i)
			s->page[i] = s->page[i - 1];
		else if (rand_next(seed) % 100 < hot_pct)
			s->page[i] = (uint32_t)(rand_next(seed) % hot);
		else
			s->page[i] = at = (at + 1) % s->nr_ids;
		if (s->page[i] + s->run[i] > s->nr_ids)
			s->page[i] = s->nr_ids - s->run[i];
		s->op[i] = DEMAND_READ;
		s->ts_ns[i] = (i + 1) * 1000;
	}
}

static bool has_param(const struct kernel_ops *ops, const char *name)
{
	const struct param *p = ops->params;

	while (p && p->name && strcmp(p->name, name))
		p++;
	return p && p->name;
}

static struct kernel_model *replay(const struct kernel_ops *ops, const struct stream *s,
				   uint32_t limit, const char *const *params, uint8_t *hit)
{
	char options[1024] __attribute__((aligned(16)));
	struct replay_extent extents[2] = {
		{ .pages = 40, .file_id = 7, .first_index = 100, .file_pages = UINT64_MAX },
		{ .first_id = 40, .pages = s->nr_ids - 40, .file_id = 3,
		  .file_pages = s->nr_ids - 40 },
	};
	struct kernel_config config = {
		.capacity_pages = limit, .nr_ids = s->nr_ids, .params = options,
		.extents = extents, .nr_extents = s->one_file ? 0 : 2,
	};
	const struct demand_block block = {
		.nr = s->nr, .page = s->page, .run = s->run, .op = s->op, .ts_ns = s->ts_ns,
	};
	struct kernel_model *m;
	struct err err = { 0 };
	int code = 0;

	assert_true(ops->params_bytes <= sizeof(options));
	assert_int_equal(params_defaults(ops->params, options, &err), 0);
	for (; params && *params; params += 2)
		if (has_param(ops, params[0]))
			assert_int_equal(params_set(ops->params, options, ops->name, params[0],
						    params[1], &err), 0);
	m = ops->create(&config, &code, &err);
	assert_non_null(m);
	assert_int_equal(ops->feed(m, &block, hit, &err), 0);
	return m;
}

static void classic_lists_agree_with_the_slow_reference(void **state)
{
	static const char *const exact[] = { "stale_stats", "0", NULL };
	static const char *const stale[] = { "stale_stats", "100us", "stats_phase", "98500ns",
					     NULL };
	const struct kernel_ops *ops = find("linux-6.18");
	struct stream *s = malloc(sizeof(*s));
	struct slow *slow = malloc(sizeof(*slow));
	uint64_t seed = 42;

	for (int i = 0; i < 600; i++) {
		uint32_t limit = 66 + (uint32_t)(rand_next(&seed) % 200);
		struct replay_counters c;
		struct kernel_model *m;

		random_reads(s, &seed);
		memset(slow, 0, sizeof(*slow));
		slow->limit = limit;
		slow->flush_every = i % 2 ? 100 : 0;
		slow_read(slow, s->page, s->run, s->nr);
		m = replay(ops, s, limit, i % 2 ? stale : exact, NULL);
		ops->counters(m, &c);
		assert_int_equal(c.hits, slow->hits);
		assert_int_equal(c.fills, slow->fills);
		assert_int_equal(c.misses, c.accesses - slow->hits);
		assert_int_equal(c.fills_compulsory, slow->compulsory);
		assert_int_equal(c.evictions, slow->evictions);
		assert_int_equal(c.scanned, slow->scanned);
		assert_int_equal(c.activated, slow->activated);
		assert_int_equal(c.deactivated, slow->deactivated);
		assert_int_equal(c.refaults, slow->refaults);
		ops->destroy(m);
	}
	free(slow);
	free(s);
}

/* ---- dirty memcgs ---------------------------------------------------------------------------- */

/* Mostly writes; of what is not, some are touches through a mapping. */
static void random_writes(struct stream *s, uint64_t *seed, unsigned int write_pct)
{
	random_reads(s, seed);
	for (size_t i = 0; i < s->nr; i++) {
		if (rand_next(seed) % 100 < write_pct)
			s->op[i] = rand_next(seed) % 2 ? DEMAND_WRITE : DEMAND_WRITE_WHOLE;
		else if (rand_next(seed) % 4 == 0)
			s->op[i] = DEMAND_FAULT;
	}
}

/*
 * A charge that finds nothing but dirty pages tries again. Reclaim itself must get them written:
 * the limit holds, and it costs a few scans a page (2.7 at most was seen; without writing it is
 * thousands). A model that goes round without end is killed by the alarm.
 */
static void a_memcg_full_of_dirty_pages_that_no_timer_writes_ends(void **state)
{
	static const char *const never[] = { "dirty_expire", "10000s", "dirty_wakeup", "10000s",
					     NULL };
	static const char *const kept[] = { "dirty_expire", "10000s", "dirty_wakeup", "10000s",
					    "stale_stats", "0", "readahead", "model", NULL };
	static const char *const large[] = { "dirty_expire", "10000s", "dirty_wakeup", "10000s",
					     "readahead", "model", "max_order", "9", NULL };
	static const char *const *const params[] = { never, kept, large };
	static const unsigned int write_pct[] = { 100, 97, 50 };
	struct stream *s = malloc(sizeof(*s));
	uint64_t seed = 11;

	alarm(300);
	for (int model = 0; kernel_models[model]; model++)
		for (unsigned int i = 0; i < 90; i++) {
			const struct kernel_ops *ops = kernel_models[model];
			uint32_t limit = 100 + (uint32_t)(rand_next(&seed) % 60);
			struct replay_counters c;
			struct kernel_model *m;

			random_writes(s, &seed, write_pct[i / 3 % 3]);
			m = replay(ops, s, limit, params[i % 3], NULL);
			ops->counters(m, &c);
			assert_int_equal(c.fills, c.evictions + c.resident_pages);
			assert_true(c.resident_pages <= limit);
			assert_true(c.scanned <= 8 * c.fills);
			ops->destroy(m);
		}
	alarm(0);
	free(s);
}

/* ---- conservation ---------------------------------------------------------------------------- */

/* Every kind of record. Returns the pages that truncation can have removed at most. */
static void random_mix(struct stream *s, uint64_t *seed)
{
	static const uint8_t ops[] = { DEMAND_READ, DEMAND_READ, DEMAND_READ, DEMAND_WRITE,
		DEMAND_WRITE_WHOLE, DEMAND_FAULT, DEMAND_MAP, DEMAND_TRUNCATE, DEMAND_READAHEAD,
		DEMAND_FSYNC };

	random_reads(s, seed);
	s->one_file = rand_next(seed) % 2;
	for (size_t i = 0; i < s->nr; i++)
		if (rand_next(seed) % 3 == 0)
			s->op[i] = ops[rand_next(seed) % ARRAY_SIZE(ops)];
}

/* Parameters to test with; each model has them all. */
static const char *const variants[][9] = {
	{ NULL },
	{ "readahead", "model", NULL },
	{ "readahead", "model", "max_order", "9", NULL },
	{ "readahead", "model", "max_order", "9", "stale_stats", "0", "read_ahead", "1M", NULL },
	{ "readahead", "random", "max_order", "4", NULL },
	{ "readahead", "off", NULL },
};

static void no_page_is_lost_or_doubled(void **state)
{
	struct stream *s = malloc(sizeof(*s));
	uint64_t seed = 7;

	for (int model = 0; kernel_models[model]; model++)
		for (int i = 0; i < 300; i++) {
			const char *const *variant = variants[i % ARRAY_SIZE(variants)];
			const struct kernel_ops *ops = kernel_models[model];
			uint32_t limit = 100 + (uint32_t)(rand_next(&seed) % 200);
			struct replay_counters c;
			struct kernel_model *m;
			uint64_t accesses = 0;

			random_mix(s, &seed);
			for (size_t r = 0; r < s->nr; r++)
				if (demand_op_is_access(s->op[r]))
					accesses += s->run[r];
			m = replay(ops, s, limit, variant, NULL);
			ops->counters(m, &c);
			assert_int_equal(c.accesses, accesses);
			assert_int_equal(c.accesses, c.hits + c.misses);
			assert_true(c.fills >= c.fills_compulsory + c.refaults);
			assert_true(c.fills >= c.evictions + c.resident_pages);
			assert_true(c.resident_pages <= limit);
			assert_true(c.fills >= c.misses);
			assert_true(c.fills - c.misses >= c.fills_undemanded);
			assert_true(c.scanned <= c.reclaimed + c.activated + c.rotated);
			assert_int_equal(c.evictions, c.reclaimed);
			ops->destroy(m);
		}
	free(s);
}

/* Without truncation nothing else may leave: fills = evictions + resident, exactly. */
static void fills_are_evicted_or_resident(void **state)
{
	struct stream *s = malloc(sizeof(*s));
	uint64_t seed = 11;

	for (int model = 0; kernel_models[model]; model++)
		for (int i = 0; i < 100; i++) {
			const struct kernel_ops *ops = kernel_models[model];
			struct replay_counters c;
			struct kernel_model *m;

			random_mix(s, &seed);
			for (size_t r = 0; r < s->nr; r++)
				if (s->op[r] == DEMAND_TRUNCATE)
					s->op[r] = DEMAND_READ;
			m = replay(ops, s, 150, variants[i % ARRAY_SIZE(variants)], NULL);
			ops->counters(m, &c);
			assert_int_equal(c.fills, c.evictions + c.resident_pages);
			ops->destroy(m);
		}
	free(s);
}

/* What fits is never reclaimed, whatever the order. */
static void a_stream_that_fits_misses_once_per_page(void **state)
{
	struct stream *s = malloc(sizeof(*s));
	uint64_t seed = 3;

	for (int model = 0; kernel_models[model]; model++) {
		const struct kernel_ops *ops = kernel_models[model];
		struct replay_counters c;
		struct kernel_model *m;

		random_reads(s, &seed);
		m = replay(ops, s, s->nr_ids + 64, NULL, NULL);
		ops->counters(m, &c);
		assert_int_equal(c.fills, c.fills_compulsory);
		assert_int_equal(c.evictions, 0);
		ops->destroy(m);
	}
	free(s);
}

/* ---- single behaviours ----------------------------------------------------------------------- */

static void counters_of(const struct stream *s, uint32_t limit, struct replay_counters *c)
{
	const struct kernel_ops *ops = find("linux-6.18");
	struct kernel_model *m = replay(ops, s, limit, NULL, NULL);

	ops->counters(m, c);
	ops->destroy(m);
}

static void rewriting_a_page_never_activates_it(void **state)
{
	struct stream *s = calloc(1, sizeof(*s));
	struct replay_counters c;

	s->nr_ids = 100;
	for (s->nr = 0; s->nr < 400; s->nr++) {
		s->page[s->nr] = (uint32_t)(s->nr % 100);
		s->run[s->nr] = 1;
		s->op[s->nr] = DEMAND_WRITE_WHOLE;
	}
	counters_of(s, 1000, &c);
	assert_int_equal(c.activated, 0);
	for (int round = 0; round < 2; round++)
		for (uint32_t page = 0; page < 100; page++, s->nr++) {
			s->page[s->nr] = page;
			s->run[s->nr] = 1;
			s->op[s->nr] = DEMAND_READ;
		}
	counters_of(s, 1000, &c);
	assert_int_equal(c.activated, 93);	/* 3 full batches of 31; 7 wait in the last */
	free(s);
}

static void reading_the_same_page_in_a_row_marks_it_once(void **state)
{
	struct stream *s = calloc(1, sizeof(*s));
	struct replay_counters c;

	s->nr_ids = 100;
	for (s->nr = 0; s->nr < 2000; s->nr++) {
		s->page[s->nr] = (uint32_t)(s->nr / 20);
		s->run[s->nr] = 1;
		s->op[s->nr] = DEMAND_READ;
	}
	counters_of(s, 1000, &c);
	assert_int_equal(c.activated, 0);
	assert_int_equal(c.hits, 1900);
	free(s);
}

/* ---- readahead ------------------------------------------------------------------------------- */

static void add_read(struct stream *s, uint32_t page, uint32_t run)
{
	s->page[s->nr] = page;
	s->run[s->nr] = run;
	s->op[s->nr] = DEMAND_READ;
	s->ts_ns[s->nr] = 1 + s->nr;
	s->nr++;
}

/* Fills after each of @expect's reads, one page at a time from page 0. */
static void expect_fills(struct stream *s, const char *const *params, const uint64_t *expect,
			 size_t nr)
{
	const struct kernel_ops *ops = find("linux-6.18");

	for (size_t i = 0; i < nr; i++) {
		struct replay_counters c;
		struct kernel_model *m;

		s->nr = i + 1;
		m = replay(ops, s, 10000, params, NULL);
		ops->counters(m, &c);
		assert_int_equal(c.fills, expect[i]);
		ops->destroy(m);
	}
}

/*
 * read_ahead_kb 128: the first window is 4 pages with the marker on page 1; page 1 starts the next,
 * of 8, all of it asynchronous: its marker is page 4; then 16 from page 4, 32 from page 12.
 */
static void windows_double_at_each_marker(void **state)
{
	static const char *const params[] = { "readahead", "model", "read_ahead", "128K", NULL };
	static const uint64_t fills[] = { 4, 12, 12, 12, 28, 28, 28, 28, 28, 28, 28, 28, 60 };
	struct stream *s = calloc(1, sizeof(*s));

	s->one_file = true;
	s->nr_ids = 5000;
	for (uint32_t page = 0; page < ARRAY_SIZE(fills); page++)
		add_read(s, page, 1);
	expect_fills(s, params, fills, ARRAY_SIZE(fills));
	free(s);
}

/* One page in front is not more than was asked for; two are, and make a window of three. */
static void a_miss_behind_cached_pages_is_taken_for_a_stream(void **state)
{
	static const char *const params[] = { "readahead", "model", "read_ahead", "128K", NULL };
	static const uint64_t fills[] = { 1, 2, 3, 4, 5, 8 };
	struct stream *s = calloc(1, sizeof(*s));

	s->one_file = true;
	s->nr_ids = 5000;
	add_read(s, 1000, 1);
	add_read(s, 2000, 1);
	add_read(s, 2500, 1);
	add_read(s, 1001, 1);	/* does not continue the read before it */
	add_read(s, 3000, 1);
	add_read(s, 1002, 1);
	expect_fills(s, params, fills, ARRAY_SIZE(fills));
	free(s);
}

static void random_reads_of_one_page_read_one_page(void **state)
{
	static const char *const params[] = { "readahead", "random", NULL };
	static const uint64_t fills[] = { 1, 2, 3, 4 };
	struct stream *s = calloc(1, sizeof(*s));

	s->one_file = true;
	s->nr_ids = 5000;
	for (uint32_t page = 0; page < ARRAY_SIZE(fills); page++)
		add_read(s, page, 1);
	expect_fills(s, params, fills, ARRAY_SIZE(fills));
	free(s);
}

static void a_window_ends_with_the_file(void **state)
{
	static const char *const params[] = { "readahead", "model", "read_ahead", "1M",
					      "max_order", "9", NULL };
	static const uint64_t fills[] = { 40 };
	struct stream *s = calloc(1, sizeof(*s));

	s->nr_ids = 80;		/* file 3 has the 40 pages from id 40 */
	add_read(s, 40, 30);
	expect_fills(s, params, fills, 1);
	free(s);
}

/* A stream of whole windows in a memcg half as large: shadows are dropped before the first flush.
 */
static void shadows_are_dropped_while_statistics_read_zero(void **state)
{
	static const char *const stale[] = { "readahead", "off", "stats_phase", "100s", NULL };
	static const char *const exact[] = { "readahead", "off", "stale_stats", "0", NULL };
	const struct kernel_ops *ops = find("linux-6.18");
	struct stream *s = calloc(1, sizeof(*s));
	struct replay_counters c;
	struct kernel_model *m;

	s->one_file = true;
	s->nr_ids = 64 * 1024;
	for (uint32_t i = 0; i < 2048; i++)
		add_read(s, i % 1024 * 64, 64);
	m = replay(ops, s, 16384, exact, NULL);
	ops->counters(m, &c);
	assert_int_equal(c.refaults, 65536);
	ops->destroy(m);
	m = replay(ops, s, 16384, stale, NULL);
	ops->counters(m, &c);
	assert_int_equal(c.refaults, 0);
	ops->destroy(m);
	free(s);
}

static void extents_out_of_order_are_refused(void **state)
{
	const struct kernel_ops *ops = find("linux-6.18");
	char options[1024] __attribute__((aligned(16)));
	struct replay_extent extents[] = {
		{ .pages = 60, .file_id = 1 }, { .first_id = 200, .pages = 10, .file_id = 2 },
	};
	struct kernel_config config = { .capacity_pages = 200, .nr_ids = 100, .params = options,
					.extents = extents, .nr_extents = 2 };
	struct err err = { 0 };
	int code = 0;

	assert_int_equal(params_defaults(ops->params, options, &err), 0);
	assert_null(ops->create(&config, &code, &err));
	assert_int_equal(code, -EBADMSG);
}

static void a_page_id_out_of_range_is_refused(void **state)
{
	static const uint32_t page[] = { 99 }, run[] = { 2 };
	const struct demand_block block = { .nr = 1, .page = page, .run = run };

	for (int model = 0; kernel_models[model]; model++) {
		const struct kernel_ops *ops = kernel_models[model];
		char options[1024] __attribute__((aligned(16)));
		struct kernel_config config = { .capacity_pages = 200, .nr_ids = 100,
						.params = options };
		struct kernel_model *m;
		struct err err = { 0 };
		int code = 0;

		assert_int_equal(params_defaults(ops->params, options, &err), 0);
		m = ops->create(&config, &code, &err);
		assert_non_null(m);
		assert_true(ops->feed(m, &block, NULL, &err) < 0);
		assert_non_null(strstr(err.text, "page 100 of 100"));
		ops->destroy(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classic_lists_agree_with_the_slow_reference),
		cmocka_unit_test(a_memcg_full_of_dirty_pages_that_no_timer_writes_ends),
		cmocka_unit_test(no_page_is_lost_or_doubled),
		cmocka_unit_test(fills_are_evicted_or_resident),
		cmocka_unit_test(a_stream_that_fits_misses_once_per_page),
		cmocka_unit_test(rewriting_a_page_never_activates_it),
		cmocka_unit_test(reading_the_same_page_in_a_row_marks_it_once),
		cmocka_unit_test(windows_double_at_each_marker),
		cmocka_unit_test(a_miss_behind_cached_pages_is_taken_for_a_stream),
		cmocka_unit_test(random_reads_of_one_page_read_one_page),
		cmocka_unit_test(a_window_ends_with_the_file),
		cmocka_unit_test(shadows_are_dropped_while_statistics_read_zero),
		cmocka_unit_test(extents_out_of_order_are_refused),
		cmocka_unit_test(a_page_id_out_of_range_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
