/* SPDX-License-Identifier: GPL-2.0-or-later */
/* demand_fixture.h - a store for page events, and the demand derived from them. */
#ifndef PAGEREEL_TEST_DEMAND_FIXTURE_H
#define PAGEREEL_TEST_DEMAND_FIXTURE_H

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

static inline int setup(void **state)
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

static inline int teardown(void **state)
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

static inline void begin(struct fixture *f, const char *source, bool has_hits, uint32_t sample_mask)
{
	const struct capture_info info = {
		.source = source, .input = "x", .nr_cpus = NR_CPUS, .has_hits = has_hits,
	};

	assert_int_equal(store_capture_begin(f->store, &info, &f->capture_id, &f->err), 0);
	for (int i = 0; i < NR_CPUS; i++)
		f->packer[i] = page_packer_new(f->capture_id, i, sample_mask);
}

static inline void flush_cpu(struct fixture *f, int cpu)
{
	struct page_chunk chunk;

	assert_int_equal(page_packer_take(f->packer[cpu], &chunk), 0);
	assert_int_equal(store_page_chunk(f->store, &chunk, &f->err), 0);
	page_chunk_release(&chunk);
}

static inline void emit_on(struct fixture *f, int cpu, struct page_event e)
{
	if (!e.ts_ns)
		e.ts_ns = f->clock_ns += 10;
	if (!e.pages)
		e.pages = 1;
	if (page_packer_add(f->packer[cpu], &e))
		flush_cpu(f, cpu);
}

#define emit(f, ...) emit_on(f, 0, (struct page_event){ __VA_ARGS__ })

static inline struct demand_info derive(struct fixture *f)
{
	struct demand_info info;

	for (int i = 0; i < NR_CPUS; i++)
		flush_cpu(f, i);
	if (demand_stream_get(f->store, f->capture_id, &info, &f->err))
		fail_msg("%s", f->err.text);
	return info;
}

static inline size_t extent_of(const struct demand_extent *extents, size_t nr, uint32_t page)
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
static inline struct seen_list read_back(struct fixture *f, const struct demand_info *info)
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

static inline struct seen_list derive_and_read(struct fixture *f)
{
	struct demand_info info = derive(f);

	return read_back(f, &info);
}

static inline void assert_seen(const struct seen_list *list, size_t i, uint32_t op, uint32_t pid,
			uint64_t index, uint32_t pages)
{
	assert_true(i < list->nr);
	assert_string_equal(demand_op_name(list->item[i].op), demand_op_name(op));
	assert_int_equal(list->item[i].pid, pid);
	assert_int_equal(list->item[i].index, index);
	assert_int_equal(list->item[i].pages, pages);
}

static inline void file(struct fixture *f, uint32_t file_id, int64_t size_bytes)
{
	assert_int_equal(store_file(f->store, f->capture_id, file_id, 7, 0, file_id, size_bytes,
				    NULL, &f->err),
			 0);
}

#endif
