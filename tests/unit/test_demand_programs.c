// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_demand_programs.c - the demand stream against programs that know what they read: a small
 * page cache emits the events a kernel would, and what is derived must be what the programs did.
 */
#include "tests/unit/demand_fixture.h"

/* ---- a page cache that emits events, and programs that read through it ----------------------- */

enum { NR_TASKS = 4, NR_FILES = 3, FILE_PAGES = 700, FAR_PAGES = 1200 };

struct reader {
	uint32_t pid, file_id;
	uint64_t next, last, end;	/* of the request under way; next > end: none */
};

struct cache {
	bool resident[NR_FILES + 1][FAR_PAGES];
	uint8_t order[NR_FILES + 1][FAR_PAGES];	/* of the folio that holds the page */
	uint64_t size_pages[NR_FILES + 1];
};

static void cache_add(struct fixture *f, struct cache *c, struct reader *r, uint64_t index,
		      int order)
{
	uint64_t first = index >> order << order;

	if (first + (1ULL << order) > c->size_pages[r->file_id])
		order = 0;
	first = index >> order << order;
	for (uint64_t i = first; i < first + (1ULL << order); i++) {
		if (c->resident[r->file_id][i] && order)
			return cache_add(f, c, r, index, 0);
	}
	for (uint64_t i = first; i < first + (1ULL << order); i++) {
		c->resident[r->file_id][i] = true;
		c->order[r->file_id][i] = order;
	}
	emit_on(f, r->pid % NR_CPUS, (struct page_event){
		.op = PAGE_OP_ADD, .pid = r->pid, .file_id = r->file_id, .page_index = first,
		.pages = 1 << order, .pfn = 1 + first });
}

/* One batch: misses (and some readahead) are added, then up to 31 folios are got. */
static void reader_step(struct fixture *f, struct cache *c, struct reader *r, uint64_t *seed)
{
	uint64_t at = r->next, ahead;
	int folios = 0;

	if (!c->resident[r->file_id][at]) {
		ahead = rand_next(seed) % 40;
		cache_add(f, c, r, at, rand_next(seed) % 3 ? 0 : rand_next(seed) % 5);
		for (uint64_t i = at + 1; i < at + ahead && i < c->size_pages[r->file_id]; i++)
			if (!c->resident[r->file_id][i])
				cache_add(f, c, r, i, rand_next(seed) % 4 ? 0 : 2);
	}
	while (at <= r->end && c->resident[r->file_id][at] && folios++ < 31) {
		uint64_t pages = 1ULL << c->order[r->file_id][at];

		at = (at / pages + 1) * pages;
	}
	emit_on(f, r->pid % NR_CPUS, (struct page_event){
		.op = PAGE_OP_READ, .pid = r->pid, .file_id = r->file_id, .page_index = r->next,
		.pages = r->last - r->next + 1 });
	r->next = at <= r->end ? at : r->end + 1;
}

/*
 * Starts a request; *truth gets it. Not one that ends where the last one did: that looks like its
 * continuation, to anyone.
 */
static void reader_start(struct cache *c, struct reader *r, uint64_t *seed, struct seen *truth)
{
	static const uint32_t lengths[] = { 1, 1, 1, 2, 5, 16, 128, 300 };
	uint64_t size, length, before = r->last;

	if (rand_next(seed) % 3 == 0)
		r->file_id = 1 + rand_next(seed) % NR_FILES;
	size = c->size_pages[r->file_id];
	do {
		length = lengths[rand_next(seed) % ARRAY_SIZE(lengths)];
		r->next = rand_next(seed) % size;
		r->last = r->next + length - 1;
	} while (r->last == before);
	r->end = r->last < size ? r->last : size - 1;
	*truth = (struct seen){
		.index = r->next,
		.pages = r->end - r->next + 1,
		.file_id = r->file_id,
		.pid = r->pid,
		.op = DEMAND_READ,
	};
}

static void evict_some(struct fixture *f, struct cache *c, uint64_t *seed)
{
	uint32_t file_id = 1 + rand_next(seed) % NR_FILES;
	uint64_t from = rand_next(seed) % FILE_PAGES;

	for (uint64_t i = from; i < from + 64; i++) {
		uint64_t pages = 1ULL << c->order[file_id][i], first = i / pages * pages;

		if (!c->resident[file_id][i])
			continue;
		for (uint64_t k = first; k < first + pages; k++)
			c->resident[file_id][k] = false;
		emit_on(f, 2, (struct page_event){
			.op = PAGE_OP_DELETE, .pid = 40, .file_id = file_id, .page_index = first,
			.pages = pages, .pfn = 1 + first, .flags = PAGE_EV_IN_RECLAIM });
	}
}

/*
 * Each task's reads, joined over records, must be its requests in order; readahead is what was
 * added and is in no request of its task that was under way.
 */
static void compare_with_truth(const struct seen_list *list, const struct seen *truth, size_t nr)
{
	for (uint32_t pid = 100; pid < 100 + NR_TASKS; pid++) {
		uint64_t index = 0, left = 0;
		size_t t = 0;

		for (size_t i = 0; i < list->nr; i++) {
			const struct seen *s = &list->item[i];

			if (s->pid != pid || s->op != DEMAND_READ)
				continue;
			if (!left) {	/* the next request */
				while (t < nr && truth[t].pid != pid)
					t++;
				assert_true(t < nr);
				index = truth[t].index;
				left = truth[t].pages;
				assert_int_equal(s->file_id, truth[t].file_id);
				t++;
			}
			assert_int_equal(s->index, index);
			assert_true(s->pages <= left);
			index += s->pages;
			left -= s->pages;
		}
		assert_int_equal(left, 0);
		for (; t < nr; t++)
			assert_int_not_equal(truth[t].pid, pid);
	}
}

static void programs_round(uint64_t seed, bool sizes_known)
{
	struct seen *truth = calloc(5000, sizeof(*truth));
	struct cache *c = calloc(1, sizeof(*c));
	struct reader r[NR_TASKS];
	struct seen_list list;
	struct fixture *f;
	void *state = NULL;
	size_t nr = 0;

	assert_int_equal(setup(&state), 0);
	f = state;
	begin(f, "live", true, 0);
	for (uint32_t i = 1; i <= NR_FILES; i++) {
		c->size_pages[i] = i == 3 ? 3 : FILE_PAGES - 100 * i;
		if (sizes_known)
			file(f, i, c->size_pages[i] * PAGE_BYTES - 100);
	}
	for (uint32_t i = 0; i < NR_TASKS; i++)
		r[i] = (struct reader){ .pid = 100 + i, .file_id = 1, .next = 1 };
	if (!sizes_known)	/* the whole of each file was added once */
		for (uint32_t i = 1; i <= NR_FILES; i++)
			for (uint64_t k = 0; k < c->size_pages[i]; k++)
				cache_add(f, c, &(struct reader){ .pid = 1, .file_id = i }, k, 0);
	for (int step = 0; step < 3000; step++) {
		struct reader *one = &r[rand_next(&seed) % NR_TASKS];

		if (one->next > one->end)
			reader_start(c, one, &seed, &truth[nr++]);
		reader_step(f, c, one, &seed);
		if (rand_next(&seed) % 20 == 0)
			evict_some(f, c, &seed);
	}
	for (int i = 0; i < NR_TASKS; i++)
		while (r[i].next <= r[i].end)
			reader_step(f, c, &r[i], &seed);
	list = derive_and_read(f);
	compare_with_truth(&list, truth, nr);
	for (size_t i = 0; i < list.nr; i++)
		assert_true(list.item[i].op == DEMAND_READ || list.item[i].op == DEMAND_READAHEAD);
	free(list.item);
	free(truth);
	free(c);
	teardown(&state);
}

static void interleaved_programs_get_back_exactly_what_they_read(void **state)
{
	for (uint64_t seed = 1; seed <= 12; seed++)
		programs_round(seed, true);
}

static void files_of_unknown_size_end_at_their_highest_page_added(void **state)
{
	for (uint64_t seed = 50; seed <= 56; seed++)
		programs_round(seed, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interleaved_programs_get_back_exactly_what_they_read),
		cmocka_unit_test(files_of_unknown_size_end_at_their_highest_page_added),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
