// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * stream.c - cuts a demand stream into parts for textbook models, and plain arrays as a source.
 *
 * An interval begins with the first record that begins at or after the interval's share of the
 * accesses, so that kernel models, which take whole records, have the same limits.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/stream.h"

struct part_reader {
	const struct demand_source *source;
	void *cursor;
	struct demand_block block;
	size_t record;		/* of the block */
	uint32_t run_done;	/* pages of it that are in an earlier part */
	bool done;
	uint64_t nr_accesses;
	struct grid_interval *intervals;
	uint32_t nr_intervals, interval;	/* interval: begun so far */
	uint64_t next_interval;		/* access at which the next one begins */
	uint64_t last_ts_ns;
	struct err *err;
};

void part_release(struct part *part)
{
	if (!part->keep)
		free(part->room);
	free(part->marks);
	memset(part, 0, sizeof(*part));
}

static struct mark *mark_add(struct part *part, enum mark_kind kind)
{
	struct mark *mark;

	if (part->nr_marks == part->max_marks) {
		uint32_t max = part->max_marks ? part->max_marks * 2 : 16;
		struct mark *marks = realloc(part->marks, max * sizeof(*marks));

		if (!marks)
			return NULL;
		part->marks = marks;
		part->max_marks = max;
	}
	mark = &part->marks[part->nr_marks++];
	*mark = (struct mark){ .kind = kind, .at = part->nr };
	return mark;
}

void part_reader_close(struct part_reader *r)
{
	if (!r)
		return;
	if (r->cursor)
		r->source->close(r->cursor);
	free(r);
}

int part_reader_open(const struct demand_source *source, struct grid_interval *intervals,
		     uint32_t nr_intervals, struct part_reader **reader, struct err *err)
{
	struct part_reader *r = calloc(1, sizeof(*r));
	int ret;

	*reader = NULL;
	if (!r)
		return err_set(err, -ENOMEM, "no memory to read the demand stream");
	r->source = source;
	r->intervals = intervals;
	r->nr_intervals = nr_intervals;
	r->next_interval = nr_intervals ? 0 : UINT64_MAX;
	ret = source->open(source->ctx, nr_intervals && !source->times ? DEMAND_COL_TIME : 0,
			   &r->cursor, err);
	if (ret < 0) {
		r->cursor = NULL;
		part_reader_close(r);
		return ret;
	}
	*reader = r;
	return 0;
}

static void interval_end(struct part_reader *r, uint64_t ts_ns)
{
	struct grid_interval *interval = &r->intervals[r->interval - 1];

	interval->to_ts_ns = ts_ns;
	interval->accesses = r->nr_accesses - interval->first_access;
}

/* The coming record begins with access nr_accesses: begins the intervals that are due. */
static int intervals_begin(struct part_reader *r, struct part *part)
{
	uint64_t ts_ns;
	int ret = 0;

	if (r->nr_accesses < r->next_interval)
		return 0;
	if (r->source->times)
		ret = r->source->times(r->cursor, &r->block, r->err);
	if (ret)
		return ret;
	if (r->block.ts_ns)
		r->last_ts_ns = r->block.ts_ns[r->record];
	ts_ns = r->last_ts_ns;
	while (r->nr_accesses >= r->next_interval) {
		if (r->interval)
			interval_end(r, ts_ns);
		r->intervals[r->interval++] = (struct grid_interval){
			.first_access = r->nr_accesses, .from_ts_ns = ts_ns, .to_ts_ns = ts_ns,
		};
		r->next_interval = r->interval == r->nr_intervals ? UINT64_MAX :
			interval_start(r->source->nr_accesses, r->interval, r->nr_intervals);
		if (r->interval > 1 && !mark_add(part, MARK_INTERVAL))
			return -ENOMEM;
	}
	return 0;
}

static int run_add(struct part_reader *r, struct part *part, uint32_t page, uint32_t nr)
{
	if (page >= r->source->nr_ids || nr > r->source->nr_ids - page)
		return -ERANGE;
	for (uint32_t i = 0; i < nr; i++)
		part->room[part->nr + i] = page + i;
	part->nr += nr;
	r->nr_accesses += nr;
	return 0;
}

static int whole_add(struct part *part, uint32_t nr)
{
	struct mark *mark = part->nr_marks ? &part->marks[part->nr_marks - 1] : NULL;

	if (!mark || mark->kind != MARK_WHOLE || mark->at + mark->nr != part->nr)
		mark = mark_add(part, MARK_WHOLE);
	if (!mark)
		return -ENOMEM;
	mark->nr += nr;
	return 0;
}

/* One record, or as much of it as there is room for. */
static int record_add(struct part_reader *r, struct part *part)
{
	const struct demand_block *b = &r->block;
	size_t i = r->record;
	enum demand_op op = b->op ? b->op[i] : DEMAND_READ;
	uint32_t run = b->run ? b->run[i] : 1, nr = run - r->run_done;
	struct mark *mark;
	int ret = 0;

	if (b->ts_ns)
		r->last_ts_ns = b->ts_ns[i];
	if (op == DEMAND_TRUNCATE) {
		mark = mark_add(part, MARK_REMOVE);
		if (!mark)
			return -ENOMEM;
		mark->page = b->page[i];
		mark->nr = run;
		if (mark->page >= r->source->nr_ids || run > r->source->nr_ids - mark->page)
			return -ERANGE;
	}
	if (!demand_op_is_access(op)) {
		r->record++;
		return 0;
	}
	if (!r->run_done)
		ret = intervals_begin(r, part);
	if (nr > PART_ACCESSES - part->nr)
		nr = PART_ACCESSES - part->nr;
	if (op == DEMAND_WRITE_WHOLE && !ret)
		ret = whole_add(part, nr);
	if (!ret)
		ret = run_add(r, part, b->page[i] + r->run_done, nr);
	r->run_done += nr;
	if (r->run_done == run) {
		r->run_done = 0;
		r->record++;
	}
	return ret;
}

typedef uint32_t pages16 __attribute__((vector_size(64)));

static const pages16 first16 = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

/* Most runs are short: 16 pages at once, be they wanted or not. */
static inline void run_write(uint32_t *room, uint32_t page, uint32_t run)
{
	pages16 pages = first16 + page;

	memcpy(room, &pages, sizeof(pages));
	for (uint32_t k = 16; k < run; k++)
		room[k] = page + k;
}

/* Records that are nothing but accesses, short of the next interval, while there is room. */
static void records_add(struct part_reader *r, struct part *part)
{
	const struct demand_block *b = &r->block;
	uint32_t nr = part->nr, nr_ids = r->source->nr_ids, *pages = part->room;
	uint64_t room = PART_ACCESSES, until = r->next_interval - r->nr_accesses + nr;
	size_t i = r->record;

	room = room < until ? room : until;
	for (; i < b->nr; i++) {
		uint32_t page = b->page[i], run = b->run ? b->run[i] : 1;
		uint8_t op = b->op ? b->op[i] : DEMAND_READ;

		if (run > room - nr || page >= nr_ids || run > nr_ids - page ||
		    op == DEMAND_WRITE_WHOLE || !demand_op_is_access(op))
			break;
		run_write(pages + nr, page, run);
		nr += run;
	}
	if (b->ts_ns && i > r->record)
		r->last_ts_ns = b->ts_ns[i - 1];
	r->record = i;
	r->nr_accesses += nr - part->nr;
	part->nr = nr;
}

/* In blocks of a fixed length, which compilers vectorize. */
static bool any_beyond(const uint32_t *pages, size_t nr, uint32_t nr_ids)
{
	uint32_t beyond = 0;
	size_t i = 0;

	for (; i + 64 <= nr; i += 64)
		for (size_t k = 0; k < 64; k++)
			beyond |= pages[i + k] >= nr_ids;
	for (; i < nr; i++)
		beyond |= pages[i] >= nr_ids;
	return beyond;
}

/*
 * Single reads, the common case, up to the next interval. An empty part takes them as they are in
 * the block; it is full then.
 */
static int plain_add(struct part_reader *r, struct part *part, bool *full)
{
	size_t nr = r->block.nr - r->record;
	const uint32_t *pages = r->block.page + r->record;

	if (nr > PART_ACCESSES - part->nr)
		nr = PART_ACCESSES - part->nr;
	if (nr > r->next_interval - r->nr_accesses)
		nr = r->next_interval - r->nr_accesses;
	if (!r->source->checked && any_beyond(pages, nr, r->source->nr_ids))
		return -ERANGE;
	*full = !part->nr && !part->keep;
	if (*full)
		part->pages = pages;
	else
		memcpy(part->room + part->nr, pages, nr * sizeof(*pages));
	part->nr += nr;
	r->nr_accesses += nr;
	r->record += nr;
	if (r->block.ts_ns && nr)
		r->last_ts_ns = r->block.ts_ns[r->record - 1];
	return 0;
}

/* What comes next in the block. */
static int block_add(struct part_reader *r, struct part *part, bool *full)
{
	int ret = 0;

	if (r->block.run || r->block.op) {
		if (!r->run_done && r->nr_accesses < r->next_interval)
			records_add(r, part);
		if (r->record < r->block.nr && part->nr < PART_ACCESSES)
			ret = record_add(r, part);
		return ret;
	}
	ret = intervals_begin(r, part);
	return ret ? ret : plain_add(r, part, full);
}

static int block_next(struct part_reader *r, struct err *err)
{
	int ret = r->source->next(r->cursor, &r->block, err);

	r->record = 0;
	r->done = ret == 0;
	if (r->done)
		r->block.nr = 0;
	return ret < 0 ? ret : 0;
}

static void intervals_finish(struct part_reader *r)
{
	if (!r->nr_intervals || !r->interval)
		return;
	if (r->source->times)
		r->last_ts_ns = r->source->last_ts_ns;
	interval_end(r, r->last_ts_ns);
	while (r->interval < r->nr_intervals) {
		r->intervals[r->interval++] = (struct grid_interval){
			.first_access = r->nr_accesses,
			.from_ts_ns = r->last_ts_ns, .to_ts_ns = r->last_ts_ns,
		};
	}
	r->nr_intervals = 0;
}

int part_reader_next(struct part_reader *r, struct part *part, struct err *err)
{
	bool full = false;
	int ret = 0;

	part->nr = part->nr_marks = 0;
	r->err = err;
	if (!part->room)
		part->room = malloc(PART_ROOM * sizeof(*part->room));
	if (!part->room)
		ret = -ENOMEM;
	part->pages = part->room;
	while (!ret && !r->done && !full && part->nr < PART_ACCESSES &&
	       part->nr_marks < PART_ACCESSES) {
		if (r->record == r->block.nr)
			ret = block_next(r, err);
		else
			ret = block_add(r, part, &full);
	}
	if (ret == -ENOMEM)
		return err_set(err, ret, "no memory for the demand stream");
	if (ret == -ERANGE)
		return err_set(err, -EBADMSG, "the demand stream names a page beyond its %u pages",
			       r->source->nr_ids);
	if (ret)
		return ret;
	if (r->done)
		intervals_finish(r);
	return part->nr || part->nr_marks;
}

/* ---- arrays as a source ---------------------------------------------------------------------- */

enum { ARRAY_BLOCK = 65536 };

struct array_cursor {
	const struct array_source *array;
	size_t at;
};

static int array_open(void *ctx, unsigned int columns, void **cursor, struct err *err)
{
	struct array_cursor *c = calloc(1, sizeof(*c));

	if (!c)
		return err_set(err, -ENOMEM, "no memory for a cursor");
	c->array = ctx;
	*cursor = c;
	return 0;
}

static int array_next(void *cursor, struct demand_block *block, struct err *err)
{
	struct array_cursor *c = cursor;
	const struct demand_block *all = &c->array->block;
	size_t at = c->at, nr = all->nr - at;

	if (!nr)
		return 0;
	nr = nr < ARRAY_BLOCK ? nr : ARRAY_BLOCK;
	*block = (struct demand_block){
		.nr = nr,
		.page = all->page + at,
		.run = all->run ? all->run + at : NULL,
		.op = all->op ? all->op + at : NULL,
		.task = all->task ? all->task + at : NULL,
		.ts_ns = all->ts_ns ? all->ts_ns + at : NULL,
	};
	c->at += nr;
	return 1;
}

static void array_close(void *cursor)
{
	free(cursor);
}

static uint64_t array_see(const struct array_source *array, uint64_t *seen, uint64_t *nr_accesses)
{
	const struct demand_block *b = &array->block;
	uint64_t nr_distinct = 0;

	for (size_t i = 0; i < b->nr; i++) {
		uint32_t run = b->run ? b->run[i] : 1;

		if (b->op && !demand_op_is_access(b->op[i]))
			continue;
		*nr_accesses += run;
		for (uint32_t page = b->page[i]; run && page < array->nr_ids; run--, page++) {
			nr_distinct += !(seen[page >> 6] >> (page & 63) & 1);
			seen[page >> 6] |= 1ULL << (page & 63);
		}
	}
	return nr_distinct;
}

int array_source_init(const struct array_source *array, struct demand_source *source)
{
	uint64_t *seen = calloc(array->nr_ids / 64 + 1, sizeof(*seen));

	if (!seen)
		return -ENOMEM;
	*source = (struct demand_source){
		.ctx = (void *)array,
		.open = array_open, .next = array_next, .close = array_close,
		.nr_ids = array->nr_ids,
	};
	source->nr_distinct_pages = array_see(array, seen, &source->nr_accesses);
	for (size_t i = 0; i < array->block.nr; i++)
		source->ops_mask |= 1u << (array->block.op ? array->block.op[i] : DEMAND_READ);
	free(seen);
	return 0;
}
