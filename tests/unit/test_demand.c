// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_demand.c - the demand stream against programs that know what they read: a small page cache
 * emits the events a kernel would, and what is derived must be what the programs did.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "schema/schema.h"

enum { MAX_EVENTS = 400000, NR_CPUS = 3 };

struct fixture {
	char dir[32], path[64];
	struct store *store;
	int64_t capture_id;
	struct page_packer *packer[NR_CPUS];
	uint64_t clock_ns;
	struct err err;
};

/* A record as a test wants to see it: with its place instead of ids. */
struct seen {
	uint64_t ts_ns, index;
	uint32_t pages, file_id, pid, op;
};

struct seen_list {
	struct seen *item;
	size_t nr;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	strcpy(f->dir, "/tmp/test_demand.XXXXXX");
	if (!mkdtemp(f->dir))
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/x.db", f->dir);
	if (store_create(&f->store, f->path, 0, &f->err) ||
	    store_exec(f->store, "PRAGMA synchronous = OFF", &f->err))
		return -1;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < NR_CPUS; i++)
		page_packer_free(f->packer[i]);
	store_close(f->store, NULL);
	unlink(f->path);
	rmdir(f->dir);
	free(f);
	return 0;
}

static void begin(struct fixture *f, const char *source, bool has_hits, uint32_t sample_mask)
{
	const struct capture_info info = {
		.source = source, .input = "x", .nr_cpus = NR_CPUS, .has_hits = has_hits,
	};

	assert_int_equal(store_capture_begin(f->store, &info, &f->capture_id, &f->err), 0);
	for (int i = 0; i < NR_CPUS; i++)
		f->packer[i] = page_packer_new(f->capture_id, i, sample_mask);
}

static void flush_cpu(struct fixture *f, int cpu)
{
	struct page_chunk chunk;

	assert_int_equal(page_packer_take(f->packer[cpu], &chunk), 0);
	assert_int_equal(store_page_chunk(f->store, &chunk, &f->err), 0);
	page_chunk_release(&chunk);
}

static void emit_on(struct fixture *f, int cpu, struct page_event e)
{
	if (!e.ts_ns)
		e.ts_ns = f->clock_ns += 10;
	if (!e.pages)
		e.pages = 1;
	if (page_packer_add(f->packer[cpu], &e))
		flush_cpu(f, cpu);
}

#define emit(f, ...) emit_on(f, 0, (struct page_event){ __VA_ARGS__ })

static struct demand_info derive(struct fixture *f)
{
	struct demand_info info;

	for (int i = 0; i < NR_CPUS; i++)
		flush_cpu(f, i);
	if (demand_stream_get(f->store, f->capture_id, &info, &f->err))
		fail_msg("%s", f->err.text);
	return info;
}

static size_t extent_of(const struct demand_extent *extents, size_t nr, uint32_t page)
{
	size_t low = 0, high = nr;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (extents[middle].first_id <= page)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Reads the stream back and checks all that must hold for any stream. */
static struct seen_list read_back(struct fixture *f, const struct demand_info *info)
{
	struct seen_list list = { calloc(info->nr_records + 1, sizeof(*list.item)), 0 };
	uint8_t *touched = calloc(info->nr_ids + 1, 1);
	uint64_t nr_accesses = 0, nr_distinct = 0, before_ns = 0;
	struct demand_reader *reader;
	struct demand_extent *extents;
	struct demand_task *tasks;
	struct demand_block b;
	size_t nr_extents, nr_tasks;
	uint32_t ops = 0, next_id = 0;

	assert_int_equal(demand_extents(f->store, info->stream_id, &extents, &nr_extents, NULL), 0);
	for (size_t i = 0; i < nr_extents; i++) {
		assert_int_equal(extents[i].first_id, next_id);
		next_id += extents[i].pages;
		if (i && extents[i].file_id == extents[i - 1].file_id && extents[i].file_id)
			assert_true(extents[i].first_index > extents[i - 1].first_index +
				    extents[i - 1].pages);
	}
	assert_int_equal(next_id, info->nr_ids);
	assert_int_equal(demand_tasks(f->store, info->stream_id, &tasks, &nr_tasks, NULL), 0);
	assert_int_equal(demand_reader_open(f->store, info->stream_id,
					    DEMAND_COL_TIME | DEMAND_COL_TASK, &reader, NULL), 0);
	while (demand_reader_next(reader, &b, &f->err) == 1) {
		for (size_t i = 0, x; i < b.nr; i++) {
			uint32_t run = b.run ? b.run[i] : 1, op = b.op ? b.op[i] : DEMAND_READ;
			uint32_t task = b.task ? b.task[i] : 0;

			assert_true(b.ts_ns[i] >= before_ns);
			before_ns = b.ts_ns[i];
			assert_true(run && run <= info->nr_ids && b.page[i] <= info->nr_ids - run);
			assert_true(task < nr_tasks);
			x = extent_of(extents, nr_extents, b.page[i]);
			assert_true(b.page[i] + run <= extents[x].first_id + extents[x].pages);
			list.item[list.nr++] = (struct seen){
				.ts_ns = b.ts_ns[i], .pages = run, .op = op, .pid = tasks[task].pid,
				.file_id = extents[x].file_id,
				.index = extents[x].first_index + b.page[i] - extents[x].first_id,
			};
			ops |= 1U << op;
			for (uint32_t k = 0; demand_op_is_access(op) && k < run; k++) {
				nr_accesses++;
				nr_distinct += !touched[b.page[i] + k];
				touched[b.page[i] + k] = 1;
			}
		}
	}
	demand_reader_close(reader);
	assert_int_equal(list.nr, info->nr_records);
	assert_int_equal(nr_accesses, info->nr_accesses);
	assert_int_equal(nr_distinct, info->nr_distinct_pages);
	assert_int_equal(ops, info->ops_mask);
	demand_tasks_free(tasks, nr_tasks);
	free(extents);
	free(touched);
	return list;
}

static struct seen_list derive_and_read(struct fixture *f)
{
	struct demand_info info = derive(f);

	return read_back(f, &info);
}

static void assert_seen(const struct seen_list *list, size_t i, uint32_t op, uint32_t pid,
			uint64_t index, uint32_t pages)
{
	assert_true(i < list->nr);
	assert_string_equal(demand_op_name(list->item[i].op), demand_op_name(op));
	assert_int_equal(list->item[i].pid, pid);
	assert_int_equal(list->item[i].index, index);
	assert_int_equal(list->item[i].pages, pages);
}

static void file(struct fixture *f, uint32_t file_id, int64_t size_bytes)
{
	assert_int_equal(store_file(f->store, f->capture_id, file_id, 7, 0, file_id, size_bytes,
				    NULL, &f->err),
			 0);
}

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
	void *state;
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

/* ---- one rule at a time ---------------------------------------------------------------------- */

static void one_large_read_is_counted_once(void **state)
{
	struct fixture *f = *state;
	struct seen_list list;

	begin(f, "live", true, 0);
	file(f, 1, 1 << 20);
	for (uint32_t i = 0; i < 128; i += 31)
		emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = i,
		     .pages = 128 - i);
	list = derive_and_read(f);
	assert_int_equal(list.nr, 1);
	assert_seen(&list, 0, DEMAND_READ, 5, 0, 128);
	free(list.item);
}

static void the_same_read_again_is_another_read(void **state)
{
	struct fixture *f = *state;
	struct seen_list list;

	begin(f, "live", true, 0);
	file(f, 1, 1 << 20);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 4, .pages = 8);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 4, .pages = 8);
	emit(f, .op = PAGE_OP_READ, .pid = 6, .file_id = 1, .page_index = 6, .pages = 6);
	list = derive_and_read(f);
	assert_int_equal(list.nr, 3);
	assert_seen(&list, 0, DEMAND_READ, 5, 4, 8);
	assert_seen(&list, 1, DEMAND_READ, 5, 4, 8);
	assert_seen(&list, 2, DEMAND_READ, 6, 6, 6);
	free(list.item);
}

static void a_small_file_read_with_a_large_buffer_ends_at_its_size(void **state)
{
	struct fixture *f = *state;
	struct seen_list list;

	begin(f, "live", true, 0);
	file(f, 1, 10240);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .pages = 256);
	emit(f, .op = PAGE_OP_ADD, .pid = 5, .file_id = 2, .pages = 4, .pfn = 9);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 2, .pages = 256);
	list = derive_and_read(f);
	assert_int_equal(list.nr, 2);
	assert_seen(&list, 0, DEMAND_READ, 5, 0, 3);
	assert_seen(&list, 1, DEMAND_READ, 5, 0, 4);
	free(list.item);
}

static void an_add_is_demanded_or_readahead(void **state)
{
	struct fixture *f = *state;
	struct seen_list list;

	begin(f, "live", true, 0);
	file(f, 1, 1 << 22);
	emit(f, .op = PAGE_OP_ADD, .pid = 5, .file_id = 1, .page_index = 8, .pages = 8);
	emit(f, .op = PAGE_OP_ADD, .pid = 5, .file_id = 1, .page_index = 16, .pages = 4);
	emit(f, .op = PAGE_OP_ADD, .pid = 9, .file_id = 1, .page_index = 100);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 10, .pages = 2);
	emit(f, .op = PAGE_OP_FAULT, .pid = 5, .file_id = 1, .page_index = 50);
	emit(f, .op = PAGE_OP_ADD, .pid = 5, .file_id = 1, .page_index = 48, .pages = 4);
	emit(f, .op = PAGE_OP_MAP, .pid = 5, .file_id = 1, .page_index = 48, .pages = 16);
	emit(f, .op = PAGE_OP_READ, .pid = 9, .file_id = 1, .page_index = 200);
	list = derive_and_read(f);
	assert_int_equal(list.nr, 10);
	assert_seen(&list, 0, DEMAND_READAHEAD, 5, 8, 2);
	assert_seen(&list, 1, DEMAND_READAHEAD, 5, 12, 4);
	assert_seen(&list, 2, DEMAND_READAHEAD, 5, 16, 4);
	assert_seen(&list, 3, DEMAND_READAHEAD, 9, 100, 1);
	assert_seen(&list, 4, DEMAND_READ, 5, 10, 2);
	assert_seen(&list, 5, DEMAND_FAULT, 5, 50, 1);
	assert_seen(&list, 6, DEMAND_READAHEAD, 5, 48, 2);
	assert_seen(&list, 7, DEMAND_READAHEAD, 5, 51, 1);
	assert_seen(&list, 8, DEMAND_MAP, 5, 48, 16);
	free(list.item);
}

static void tasks_that_were_not_followed_fill_nothing(void **state)
{
	struct fixture *f = *state;
	struct seen_list list;

	begin(f, "live", true, 0);
	emit(f, .op = PAGE_OP_ADD, .pid = 9, .file_id = 1, .page_index = 8, .pages = 8, .pfn = 1);
	emit(f, .op = PAGE_OP_DIRTY, .pid = 9, .file_id = 1, .page_index = 8);
	emit(f, .op = PAGE_OP_ADD, .pid = 5, .file_id = 1, .page_index = 30, .pfn = 1);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 10);
	emit(f, .op = PAGE_OP_DELETE, .pid = 9, .file_id = 1, .page_index = 10, .pfn = 1);
	list = derive_and_read(f);
	assert_int_equal(list.nr, 3);
	assert_seen(&list, 0, DEMAND_READAHEAD, 5, 30, 1);
	assert_seen(&list, 1, DEMAND_READ, 5, 10, 1);
	assert_seen(&list, 2, DEMAND_TRUNCATE, 9, 10, 1);
	free(list.item);
}

static void evictions_are_no_demand_and_truncations_are(void **state)
{
	struct fixture *f = *state;
	struct seen_list list;

	begin(f, "live", true, 0);
	file(f, 1, 1 << 22);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 0, .pages = 8);
	emit(f, .op = PAGE_OP_DELETE, .pid = 40, .file_id = 1, .page_index = 0,
	     .flags = PAGE_EV_IN_RECLAIM);
	emit(f, .op = PAGE_OP_DELETE, .pid = 5, .file_id = 1, .page_index = 1);
	emit(f, .op = PAGE_OP_EVICT, .pid = 5, .file_id = 1, .page_index = 2);
	emit(f, .op = PAGE_OP_TRUNCATE, .pid = 5, .file_id = 1, .page_index = 3, .pages = 4);
	/* pages that nobody touched have no id, and need none */
	emit(f, .op = PAGE_OP_TRUNCATE, .pid = 5, .file_id = 9, .page_index = 3, .pages = 4);
	list = derive_and_read(f);
	assert_int_equal(list.nr, 3);
	assert_seen(&list, 1, DEMAND_TRUNCATE, 5, 1, 1);
	assert_seen(&list, 2, DEMAND_TRUNCATE, 5, 3, 4);
	free(list.item);
}

static void writes_are_seen_once_by_the_file_system_or_else_by_dirtying(void **state)
{
	struct fixture *f = *state;
	struct seen_list list;

	begin(f, "live", true, 0);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1);
	emit(f, .op = PAGE_OP_WRITE, .pid = 5, .file_id = 1, .page_index = 2, .pages = 2,
	     .flags = PAGE_EV_WHOLE);
	emit(f, .op = PAGE_OP_ADD, .pid = 5, .file_id = 1, .page_index = 2, .pages = 2, .pfn = 3);
	emit(f, .op = PAGE_OP_DIRTY, .pid = 5, .file_id = 1, .page_index = 2);
	emit(f, .op = PAGE_OP_WRITE, .pid = 5, .file_id = 1, .page_index = 2);
	list = derive_and_read(f);
	assert_int_equal(list.nr, 3);
	assert_seen(&list, 1, DEMAND_WRITE_WHOLE, 5, 2, 2);
	assert_seen(&list, 2, DEMAND_WRITE, 5, 2, 1);
	free(list.item);
	for (int i = 0; i < NR_CPUS; i++)
		page_packer_free(f->packer[i]);
	begin(f, "live", true, 0);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 21);
	emit(f, .op = PAGE_OP_ADD, .pid = 5, .file_id = 21, .page_index = 7, .pfn = 3);
	emit(f, .op = PAGE_OP_DIRTY, .pid = 5, .file_id = 21, .page_index = 7);
	list = derive_and_read(f);
	assert_int_equal(list.nr, 2);
	assert_seen(&list, 1, DEMAND_WRITE, 5, 7, 1);
	free(list.item);
}

static void user_faults_are_anonymous_unless_a_file_fault_follows(void **state)
{
	struct fixture *f = *state;
	struct seen_list list;

	begin(f, "live", true, 0);
	emit(f, .op = PAGE_OP_USER_FAULT, .pid = 5, .page_index = 1000);
	emit(f, .op = PAGE_OP_USER_FAULT, .pid = 6, .page_index = 1000);
	emit(f, .op = PAGE_OP_FAULT, .pid = 5, .file_id = 1, .page_index = 3);
	emit(f, .op = PAGE_OP_USER_FAULT, .pid = 6, .page_index = 1001);
	list = derive_and_read(f);
	assert_int_equal(list.nr, 3);
	assert_seen(&list, 0, DEMAND_ANON, 6, 1000, 1);
	assert_int_equal(list.item[0].file_id, 0);
	assert_seen(&list, 1, DEMAND_FAULT, 5, 3, 1);
	assert_seen(&list, 2, DEMAND_ANON, 6, 1001, 1);
	free(list.item);
}

static void batches_that_no_event_shows_are_recovered(void **state)
{
	struct fixture *f = *state;
	struct seen_list list;

	begin(f, "live", true, 0);
	file(f, 1, 1 << 22);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 100, .pages = 16);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 116, .pages = 16);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 137, .pages = 11);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 40, .pages = 2);
	emit(f, .op = PAGE_OP_ADD, .pid = 5, .file_id = 1, .page_index = 42, .pfn = 1);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 43);
	list = derive_and_read(f);
	assert_int_equal(list.nr, 5);
	assert_seen(&list, 2, DEMAND_READ, 5, 132, 16);
	assert_seen(&list, 3, DEMAND_READ, 5, 40, 2);
	assert_seen(&list, 4, DEMAND_READ, 5, 42, 2);
	free(list.item);
}

/* What a read brings in comes after it; readahead of an earlier one is no miss of the next. */
static void a_read_noted_at_its_start_owns_the_fills_after_it(void **state)
{
	struct fixture *f = *state;
	struct demand_info info;
	struct seen_list list;

	begin(f, "live", true, 0);
	file(f, 1, 40 * 4096);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .pages = 2, .flags = PAGE_EV_BEGIN);
	for (uint64_t i = 0; i < 8; i++)
		emit(f, .op = PAGE_OP_ADD, .pid = 5, .file_id = 1, .page_index = i, .pfn = 1);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 2, .pages = 100,
	     .flags = PAGE_EV_BEGIN);
	info = derive(f);
	assert_string_equal(info.completeness, "complete");
	list = read_back(f, &info);
	assert_int_equal(list.nr, 8);
	assert_seen(&list, 0, DEMAND_READ, 5, 0, 2);
	for (size_t i = 1; i < 7; i++)
		assert_seen(&list, i, DEMAND_READAHEAD, 5, i + 1, 1);
	assert_seen(&list, 7, DEMAND_READ, 5, 2, 38);
	free(list.item);
}

static void a_capture_without_hits_is_fills_only(void **state)
{
	struct fixture *f = *state;
	struct demand_info info;
	struct seen_list list;

	begin(f, "trace.dat", false, 0);
	emit(f, .op = PAGE_OP_ADD, .pid = 5, .file_id = 1, .pages = 4, .pfn = 1);
	emit(f, .op = PAGE_OP_DELETE, .pid = 5, .file_id = 1, .flags = PAGE_EV_IN_RECLAIM);
	emit(f, .op = PAGE_OP_ADD, .pid = 5, .file_id = 1, .pfn = 1);
	info = derive(f);
	assert_string_equal(info.completeness, "fills-only");
	assert_false(info.has_hits);
	list = read_back(f, &info);
	assert_int_equal(list.nr, 2);
	assert_seen(&list, 0, DEMAND_READ, 5, 0, 4);
	assert_seen(&list, 1, DEMAND_READ, 5, 0, 1);
	free(list.item);
}

static void losses_and_thinning_are_said(void **state)
{
	struct fixture *f = *state;
	struct demand_info info;
	struct seen_list list;

	begin(f, "live", true, 3);
	file(f, 1, 1 << 22);
	assert_int_equal(store_gap(f->store, f->capture_id, "page", 0, 1, 2, VALUE_OF_INT(1), NULL),
			 0);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 4, .pages = 9);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 8);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 16);
	info = derive(f);
	assert_string_equal(info.completeness, "lossy+thinned");
	assert_true(info.coverage_pct == 75);
	assert_int_equal(info.sample_mask, 3);
	list = read_back(f, &info);
	assert_int_equal(list.nr, 5);
	assert_seen(&list, 0, DEMAND_READ, 5, 4, 1);
	assert_seen(&list, 1, DEMAND_READ, 5, 8, 1);
	assert_seen(&list, 2, DEMAND_READ, 5, 12, 1);
	assert_seen(&list, 3, DEMAND_READ, 5, 8, 1);
	free(list.item);
}

static void demand_through_mappings_is_said_to_be_incomplete(void **state)
{
	struct fixture *f = *state;
	struct demand_info info;

	begin(f, "live", true, 0);
	for (uint32_t i = 0; i < 10; i++) {
		emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = i);
		emit(f, .op = PAGE_OP_MAP, .pid = 5, .file_id = 1, .page_index = 16, .pages = 16);
	}
	info = derive(f);
	assert_string_equal(info.completeness, "mapped");
}

static void requests_of_synthetic_streams_are_taken_as_they_are(void **state)
{
	struct fixture *f = *state;
	struct seen_list list;
	uint64_t seed = 3;

	begin(f, "synth", true, 0);
	for (int i = 0; i < 150000; i++) {
		uint64_t index = rand_next(&seed) % 8 ? rand_next(&seed) % 5000 :
				 rand_next(&seed) >> 12 << 10;

		emit_on(f, i % NR_CPUS, (struct page_event){
			.op = i % 7 ? PAGE_OP_READ : PAGE_OP_WRITE, .pid = 1 + i % 3,
			.file_id = 1 + i % 2, .page_index = index, .pages = 1 + i % 3 });
	}
	list = derive_and_read(f);
	assert_int_equal(list.nr, 150000);
	seed = 3;
	for (int i = 0; i < 150000; i++) {
		uint64_t index = rand_next(&seed) % 8 ? rand_next(&seed) % 5000 :
				 rand_next(&seed) >> 12 << 10;

		assert_seen(&list, i, i % 7 ? DEMAND_READ : DEMAND_WRITE, 1 + i % 3, index,
			    1 + i % 3);
		assert_int_equal(list.item[i].file_id, 1 + i % 2);
	}
	free(list.item);
}

/* A task that vanishes in the middle of a read must not hold back the others for ever. */
static void a_read_that_nothing_settles_does_not_hold_the_queue(void **state)
{
	struct fixture *f = *state;
	struct seen_list list;

	begin(f, "live", true, 0);
	file(f, 1, 1 << 22);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 0, .pages = 64);
	for (int i = 0; i < 300000; i++)
		emit(f, .op = PAGE_OP_READ, .pid = 6, .file_id = 1, .page_index = i % 1000);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 31, .pages = 33);
	list = derive_and_read(f);
	assert_int_equal(list.nr, 300002);
	assert_seen(&list, 0, DEMAND_READ, 5, 0, 64);
	assert_seen(&list, 300001, DEMAND_READ, 5, 31, 33);
	free(list.item);
}

static void pages_are_placed_and_neighbours_are_neighbours(void **state)
{
	struct fixture *f = *state;
	struct demand_extent *extents;
	struct demand_info info;
	uint64_t index;
	uint32_t file_id;
	size_t nr;

	begin(f, "live", true, 0);
	file(f, 1, 100 * PAGE_BYTES);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 50);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 98);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 2, .page_index = 7);
	info = derive(f);
	assert_int_equal(demand_extents(f->store, info.stream_id, &extents, &nr, NULL), 0);
	assert_int_equal(nr, 2);	/* 32 pages of readahead make one of the first file's two */
	assert_int_equal(extents[0].file_id, 1);
	assert_int_equal(extents[0].first_index, 18);
	assert_int_equal(extents[0].pages, 82);
	assert_int_equal(extents[0].file_pages, 100);
	assert_int_equal(extents[1].pages, 1);
	assert_true(extents[1].file_pages == UINT64_MAX);
	free(extents);
	assert_int_equal(demand_page_place(f->store, info.stream_id, 80, &file_id, &index, NULL),
			 0);
	assert_int_equal(file_id, 1);
	assert_int_equal(index, 98);
	assert_int_equal(demand_page_place(f->store, info.stream_id, 82, &file_id, &index, NULL),
			 0);
	assert_int_equal(file_id, 2);
	assert_int_equal(index, 7);
	assert_int_equal(demand_page_place(f->store, info.stream_id, 83, &file_id, &index, NULL),
			 -ENOENT);
}

static void it_is_derived_once_and_then_read_by_anyone(void **state)
{
	struct fixture *f = *state;
	struct demand_info first, again;
	struct store *reader;

	begin(f, "live", true, 0);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 50);
	for (int i = 0; i < NR_CPUS; i++)
		flush_cpu(f, i);
	assert_int_equal(store_open(&reader, f->path, STORE_READONLY, &f->err), 0);
	assert_int_equal(demand_stream_get(reader, 0, &again, &f->err), -EROFS);
	store_close(reader, NULL);
	first = derive(f);
	assert_int_equal(store_open(&reader, f->path, STORE_READONLY, NULL), 0);
	assert_int_equal(demand_stream_get(reader, 0, &again, NULL), 0);
	assert_int_equal(again.stream_id, first.stream_id);
	assert_int_equal(again.nr_records, 1);
	assert_int_equal(again.nr_ids, first.nr_ids);
	assert_string_equal(again.completeness, first.completeness);
	store_close(reader, NULL);
}

static void captures_without_page_events_and_missing_ones_are_refused(void **state)
{
	struct fixture *f = *state;
	struct demand_info info;
	struct err err = { "" };

	assert_int_equal(demand_stream_get(f->store, 0, &info, NULL), -ENODATA);
	begin(f, "live", true, 0);
	assert_int_equal(demand_stream_get(f->store, f->capture_id, &info, &err), -ENODATA);
	assert_non_null(strstr(err.text, "no page events"));
	assert_int_equal(demand_stream_get(f->store, 99, &info, NULL), -ENODATA);
}

static void a_damaged_chunk_is_an_error_with_its_number(void **state)
{
	struct fixture *f = *state;
	struct demand_reader *reader;
	struct demand_info info;
	struct demand_block b;
	struct err err = { "" };

	begin(f, "live", true, 0);
	emit(f, .op = PAGE_OP_READ, .pid = 5, .file_id = 1, .page_index = 50);
	info = derive(f);
	assert_int_equal(store_exec(f->store, "UPDATE demand_chunk SET pages = zeroblob(40)", NULL),
			 0);
	assert_int_equal(demand_reader_open(f->store, info.stream_id, 0, &reader, NULL), 0);
	assert_int_equal(demand_reader_next(reader, &b, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "demand_chunk 0"));
	demand_reader_close(reader);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interleaved_programs_get_back_exactly_what_they_read),
		cmocka_unit_test(files_of_unknown_size_end_at_their_highest_page_added),
		test(one_large_read_is_counted_once),
		test(the_same_read_again_is_another_read),
		test(a_small_file_read_with_a_large_buffer_ends_at_its_size),
		test(an_add_is_demanded_or_readahead),
		test(tasks_that_were_not_followed_fill_nothing),
		test(evictions_are_no_demand_and_truncations_are),
		test(writes_are_seen_once_by_the_file_system_or_else_by_dirtying),
		test(user_faults_are_anonymous_unless_a_file_fault_follows),
		test(batches_that_no_event_shows_are_recovered),
		test(a_read_noted_at_its_start_owns_the_fills_after_it),
		test(a_capture_without_hits_is_fills_only),
		test(losses_and_thinning_are_said),
		test(demand_through_mappings_is_said_to_be_incomplete),
		test(requests_of_synthetic_streams_are_taken_as_they_are),
		test(a_read_that_nothing_settles_does_not_hold_the_queue),
		test(pages_are_placed_and_neighbours_are_neighbours),
		test(it_is_derived_once_and_then_read_by_anyone),
		test(captures_without_page_events_and_missing_ones_are_refused),
		test(a_damaged_chunk_is_an_error_with_its_number),
	};

	return cmocka_run_group_tests_name("demand", tests, NULL, NULL);
}
