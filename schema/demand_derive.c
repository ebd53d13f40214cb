// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * demand_derive.c - from what the kernel's page events say to what programs asked for.
 *
 * The events of a capture, merged by (time, cpu, sequence), mix demand with what the kernel made of
 * it, and some of both is known only in hindsight:
 *
 *   1. mm_filemap_get_pages (6.12 to 6.18, filemap_get_pages()) is emitted once per batch of folios
 *      and names what is *left* of the request, not what the batch gave: one read of 512 KiB logs
 *      0-127, 31-127, 62-127, ... Event i+1 of a task continues event i if file and last index are
 *      the same and its index is larger. A request is one record: the first event's pages up to the
 *      last index or the end of the file, whichever is lower, since requests run past it (readahead
 *      depends on how much is asked for at a time).
 *   2. An add is a miss if its page was asked for, and readahead (or metadata) if not. A task adds
 *      pages on behalf of the request it is in, so an add is demanded iff it lies within the
 *      task's *next* request (reads are logged after their adds), within what is left of it
 *      altogether, or within its *last* fault or write (those are logged before).
 *   3. Some batches are not logged. A page that neither lookup nor readahead brought in is added by
 *      filemap_create_folio(), which returns without the event. And when the last folio of a batch
 *      is still being read, the batch is returned without it and without the event (6.12 under
 *      pressure: 1.7 % of the pages of 64 KiB reads; 6.18, 1 MiB reads of a cold file: 8 %). Two
 *      things give such pages away, when a request starts shortly behind the end of the task's last
 *      one in the file: the task itself added all the pages between since then; or the task reads
 *      in order, and the request would be exactly as long as the two before it if it had started
 *      there. Then it did. Unlogged batches of random multi-page reads stay unknown (6.18 at a
 *      limit of 2/3 of the file: 0.2 % of their pages).
 *   4. A user fault is anonymous unless the same task's next event is a fault in a file.
 *
 * So records wait in a queue, in order, until the next event of their task settles them; those
 * behind an unsettled one wait as well. A task may never be seen again, so the queue has a limit,
 * and the record at its head is settled by what is known then: QUEUE_RECORDS (a quarter of a second
 * at 1 M/s). Too early costs: pages of a request that is still to be continued count twice (at most
 * the rest of one request), or a demanded page counts as readahead and then as a hit.
 *
 * End of file: the recorded size; pages that were added, read or faulted beyond it show that the
 * file grew. If the size is unknown: the highest page that was ever added. If none was added
 * either, the request was served from the cache wholly, and one batch is at most BATCH_PAGES small
 * folios (large folios give more: those pages are lost then).
 *
 * Demand is recorded of the chosen tasks only, adds and dirty pages of all. A task without a single
 * demand event in the whole capture was not followed: its adds and dirty pages are left out, or
 * they would fill a replayed cgroup with the pages of others.
 *
 * A probe's read (PAGE_EV_BEGIN, before 6.12) is simpler: one event a call, with the whole request,
 * before its adds, and it does not run past the end of the file.
 *
 * delete_from_page_cache is eviction when its task was inside reclaim (PAGE_EV_IN_RECLAIM, set
 * while recording), and then no demand at all. Otherwise it is truncation or invalidation.
 *
 * A capture without hit events (before 6.12) has only fills: every add stands for a read of its
 * pages. Where no file system event shows writes, a folio that becomes dirty stands for a write of
 * its first page: later writes to it while dirty are unknown.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/demand.h"

enum {
	QUEUE_RECORDS = 1 << 18,
	BATCH_PAGES = 31,		/* PAGEVEC_SIZE since 6.10 or so; 15 before */
	MAX_RUN_PAGES = 1 << 20,	/* MAX_RW_COUNT is half of it */
	MAX_GAP_PAGES = 64,
	FIRST_TASKS = 256,
};
#define MAX_INDEX (1ULL << 63)	/* cache traces have ids of any size; SQLite's integers end here */
#define NO_SLOT UINT32_MAX

enum record_state { SETTLED, OPEN_READ, OPEN_ADD, OPEN_FAULT };

struct waiting {
	struct demand_record record;
	uint64_t hole_from;	/* ADD: the part that was demanded */
	uint32_t hole_pages;
	uint32_t next_add;	/* of the same task; NO_SLOT */
	uint8_t state;
};

struct task {
	uint32_t pid;
	uint32_t open_read, open_fault;	/* queue slots or NO_SLOT */
	uint32_t first_add, last_add;
	uint64_t read_last;		/* last index of the last read, as logged */
	uint64_t request_start;		/* of the request that the last read belongs to */
	uint64_t read_end;		/* behind the last read, open or not */
	uint32_t read_space;		/* + 1; 0: has not read */
	bool in_order;			/* the last request began where one of its length ended */
	/* the last fault or write, which adds may follow */
	uint64_t demand_index;
	uint32_t demand_space, demand_pages;
	bool used;
	bool followed;
};

struct demand_derive {
	struct demand_rules rules;
	struct demand_pages *pages;
	demand_sink sink;
	void *ctx;
	struct waiting *queue;
	uint32_t head, nr_waiting; /* slot of the oldest; slots count up modulo QUEUE_RECORDS */
	struct task *tasks;
	uint32_t task_mask, nr_tasks, last_task;
	uint32_t last_file, last_space;
};

struct demand_derive *demand_derive_new(const struct demand_rules *rules,
					struct demand_pages *pages, demand_sink sink, void *ctx)
{
	struct demand_derive *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->rules = *rules;
	d->pages = pages;
	d->sink = sink;
	d->ctx = ctx;
	d->task_mask = FIRST_TASKS - 1;
	d->queue = malloc(sizeof(*d->queue) * QUEUE_RECORDS);
	d->tasks = calloc(FIRST_TASKS, sizeof(*d->tasks));
	if (d->queue && d->tasks)
		return d;
	demand_derive_free(d);
	return NULL;
}

void demand_derive_free(struct demand_derive *d)
{
	if (!d)
		return;
	free(d->queue);
	free(d->tasks);
	free(d);
}

/* ---- tasks and files ------------------------------------------------------------------------- */

static uint32_t task_slot(const struct task *tasks, uint32_t mask, uint32_t pid)
{
	uint32_t at = pid * 0x9e3779b1U >> 8 & mask;

	while (tasks[at].used && tasks[at].pid != pid)
		at = (at + 1) & mask;
	return at;
}

static int tasks_grow(struct demand_derive *d)
{
	uint32_t mask = 2 * d->task_mask + 1;
	struct task *tasks = calloc(mask + 1ULL, sizeof(*tasks));

	if (!tasks)
		return -ENOMEM;
	for (uint32_t i = 0; i <= d->task_mask; i++)
		if (d->tasks[i].used)
			tasks[task_slot(tasks, mask, d->tasks[i].pid)] = d->tasks[i];
	free(d->tasks);
	d->tasks = tasks;
	d->task_mask = mask;
	return 0;
}

static bool task_followed(struct demand_derive *d, uint32_t pid)
{
	return !d->rules.nr_followed ||
	       file_map_id(d->rules.followed, 0, pid, NULL) - 1 < d->rules.nr_followed;
}

/* Valid until the next call; NULL: no memory. */
static struct task *task_get(struct demand_derive *d, uint32_t pid)
{
	struct task *t = &d->tasks[d->last_task];

	if (t->used && t->pid == pid)
		return t;
	d->last_task = task_slot(d->tasks, d->task_mask, pid);
	t = &d->tasks[d->last_task];
	if (t->used)
		return t;
	if (2 * ++d->nr_tasks > d->task_mask) {
		if (tasks_grow(d))
			return NULL;
		d->last_task = task_slot(d->tasks, d->task_mask, pid);
		t = &d->tasks[d->last_task];
	}
	*t = (struct task){
		.pid = pid, .used = true, .open_read = NO_SLOT, .open_fault = NO_SLOT,
		.first_add = NO_SLOT, .last_add = NO_SLOT, .followed = task_followed(d, pid),
	};
	return t;
}

static uint32_t file_space(struct demand_derive *d, uint32_t file_id)
{
	if (file_id != d->last_file) {
		d->last_space = demand_pages_space(d->pages, file_id, 0);
		d->last_file = file_id;
	}
	return d->last_space;
}

/* Notes that a task was followed: events of these ops are recorded of chosen tasks only. */
static int survey_task(struct demand_rules *rules, const struct page_event *e)
{
	const uint32_t demand = 1U << PAGE_OP_READ | 1U << PAGE_OP_FAULT | 1U << PAGE_OP_MAP |
				1U << PAGE_OP_WRITE | 1U << PAGE_OP_USER_FAULT;
	bool fresh;

	if (!(demand >> e->op & 1))
		return 0;
	if (!file_map_id(rules->followed, 0, e->pid, &fresh))
		return -ENOMEM;
	rules->nr_followed += fresh;
	return 0;
}

int demand_derive_survey(struct demand_pages *pages, struct demand_rules *rules,
			 const struct page_event *e)
{
	struct demand_space *space;
	uint64_t pages_end = e->page_index + 1;
	uint32_t number;

	if (survey_task(rules, e))
		return -ENOMEM;
	if (!(page_op_columns(e->op) & PAGE_COL_FILE) || !e->file_id || e->op == PAGE_OP_MAP ||
	    e->page_index >= MAX_INDEX)
		return 0;
	number = demand_pages_space(pages, e->file_id, 0);
	if (number == UINT32_MAX)
		return -ENOMEM;
	space = demand_pages_space_at(pages, number);
	if (e->op != PAGE_OP_READ && e->pages && e->pages <= MAX_RUN_PAGES)
		pages_end = e->page_index + e->pages;
	if (pages_end > space->seen_pages)
		space->seen_pages = pages_end;
	space->has_adds |= e->op == PAGE_OP_ADD;
	return 0;
}

/* ---- the queue ------------------------------------------------------------------------------- */

static struct waiting *slot_at(struct demand_derive *d, uint32_t slot)
{
	return &d->queue[slot % QUEUE_RECORDS];
}

/* What is left of an add around the part that was demanded. */
static int send_around(struct demand_derive *d, const struct waiting *w)
{
	struct demand_record part = w->record;
	uint64_t end = w->record.index + w->record.pages, hole_end = w->hole_from + w->hole_pages;
	int code = 0;

	if (w->hole_from > part.index) {
		part.pages = w->hole_from - part.index;
		code = d->sink(d->ctx, &part);
	}
	if (!code && hole_end < end) {
		part.index = hole_end;
		part.pages = end - hole_end;
		code = d->sink(d->ctx, &part);
	}
	return code;
}

static int send(struct demand_derive *d, const struct waiting *w)
{
	if (!w->record.pages)
		return 0;	/* cancelled */
	return w->hole_pages ? send_around(d, w) : d->sink(d->ctx, &w->record);
}

static int queue_drain(struct demand_derive *d)
{
	int code = 0;

	while (!code && d->nr_waiting && slot_at(d, d->head)->state == SETTLED) {
		code = send(d, slot_at(d, d->head));
		d->head++;
		d->nr_waiting--;
	}
	return code;
}

static void task_forget_slot(struct task *t, uint32_t slot, const struct waiting *w)
{
	if (t->open_read == slot)
		t->open_read = NO_SLOT;
	if (t->open_fault == slot)
		t->open_fault = NO_SLOT;
	if (t->first_add == slot) {
		t->first_add = w->next_add;
		if (t->first_add == NO_SLOT)
			t->last_add = NO_SLOT;
	}
}

/* The oldest has waited too long: what it says already must do. */
static int queue_force(struct demand_derive *d)
{
	struct waiting *w = slot_at(d, d->head);
	struct task *t = &d->tasks[task_slot(d->tasks, d->task_mask, w->record.pid)];

	if (t->used)
		task_forget_slot(t, d->head, w);
	w->state = SETTLED;
	return queue_drain(d);
}

/* Sends a record, or queues it if it or one before it is open. *slot (nullable): where. */
static int put(struct demand_derive *d, const struct demand_record *record, enum record_state state,
	       uint32_t *slot)
{
	uint32_t at;
	int code;

	if (!d->nr_waiting) {
		if (state == SETTLED)
			return d->sink(d->ctx, record);
		d->head = 0;	/* stay in the cache */
	}
	if (d->nr_waiting == QUEUE_RECORDS) {
		code = queue_force(d);
		if (code)
			return code;
	}
	at = d->head + d->nr_waiting++;
	if (at == NO_SLOT) {	/* keep that number free: an unused slot */
		*slot_at(d, at) = (struct waiting){ .state = SETTLED };
		return put(d, record, state, slot);
	}
	*slot_at(d, at) = (struct waiting){
		.record = *record, .state = state, .next_add = NO_SLOT,
	};
	if (slot)
		*slot = at;
	return 0;
}

/* ---- settling -------------------------------------------------------------------------------- */

/* The pages of [index, last] that can be in the file; at least one. */
static uint64_t clip_to_file(const struct demand_space *space, uint64_t index, uint64_t last)
{
	uint64_t end = last;

	if (space->size_pages != UINT64_MAX || space->has_adds) {
		uint64_t limit = space->seen_pages;

		if (space->size_pages != UINT64_MAX && space->size_pages > limit)
			limit = space->size_pages;
		end = last < limit ? last : limit - 1;
	} else if (last - index >= BATCH_PAGES) {
		end = index + BATCH_PAGES - 1;
		if (space->seen_pages > end + 1)
			end = space->seen_pages - 1 < last ? space->seen_pages - 1 : last;
	}
	return end >= index ? end - index + 1 : 1;
}

/* Takes [index, index + pages) of a space out of the adds that wait for their task's next demand.
 */
static void settle_adds(struct demand_derive *d, struct task *t, uint32_t space, uint64_t index,
			uint64_t pages)
{
	uint32_t slot = t->first_add;

	while (slot != NO_SLOT) {
		struct waiting *w = slot_at(d, slot);
		struct demand_record *r = &w->record;
		uint64_t from = r->index > index ? r->index : index;
		uint64_t end = r->index + r->pages < index + pages ? r->index + r->pages :
			       index + pages;

		if (r->space == space && from < end) {
			w->hole_from = from;
			w->hole_pages = end - from;
		}
		w->state = SETTLED;
		slot = w->next_add;
	}
	t->first_add = t->last_add = NO_SLOT;
}

/*
 * The task's open read, if it has one. True: this event continues it, so its record, which goes to
 * the end of the request, covers this one's pages and stays open.
 */
static bool settle_read(struct demand_derive *d, struct task *t, uint32_t space, uint64_t index,
			uint64_t last)
{
	struct waiting *w;

	if (t->open_read == NO_SLOT)
		return false;
	w = slot_at(d, t->open_read);
	if (w->record.space == space && t->read_last == last && index > w->record.index &&
	    index - w->record.index < w->record.pages) {
		t->read_end = index;
		return true;
	}
	w->state = SETTLED;
	t->open_read = NO_SLOT;
	return false;
}

static void settle_fault(struct demand_derive *d, struct task *t, bool in_file)
{
	if (t->open_fault == NO_SLOT)
		return;
	if (in_file)
		slot_at(d, t->open_fault)->record.pages = 0;
	slot_at(d, t->open_fault)->state = SETTLED;
	t->open_fault = NO_SLOT;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Would the request, had it started where the last one ended, be as long as that? */
static bool same_length(const struct task *t, const struct demand_record *r, uint64_t last)
{
	return t->in_order && t->read_space == r->space + 1 && r->index > t->read_end &&
	       t->read_end == t->read_last + 1 &&
	       last - t->read_end == t->read_last - t->request_start;
}

/* Notes where the task's last read and the request that it belongs to began and end. */
static void task_has_read(struct task *t, const struct demand_record *r, uint64_t last)
{
	bool same_file = t->read_space == r->space + 1, follows = r->index == t->read_end;

	if (!same_file || !follows || t->read_last != last) {
		t->in_order = same_file && follows && t->read_end == t->read_last + 1 &&
			      last - r->index == t->read_last - t->request_start;
		t->request_start = r->index;
	}
	t->read_space = r->space + 1;
	t->read_end = r->index + r->pages;
	t->read_last = last;
}

/* Did the task, since its last read, add every page between that and this request? */
static bool added_between(struct demand_derive *d, const struct task *t,
			  const struct demand_record *r)
{
	uint64_t gap = r->index - t->read_end, added = 0;

	if (t->read_space != r->space + 1 || r->index <= t->read_end || gap > MAX_GAP_PAGES)
		return false;
	for (uint32_t slot = t->first_add; slot != NO_SLOT; slot = slot_at(d, slot)->next_add) {
		const struct demand_record *add = &slot_at(d, slot)->record;
		uint64_t from = add->index > t->read_end ? add->index : t->read_end;
		uint64_t end = add->index + add->pages;

		if (add->space != r->space || end > r->index)
			continue;
		for (uint64_t i = from; i < end; i++)
			added |= 1ULL << (i - t->read_end);
	}
	return added == ~0ULL >> (64 - gap);
}

/*
 * Pages just before the request's first event that the task has added since its last demand, in
 * folios that end there: readahead starts where the request does, so they were asked for, wherever
 * the last read was. (Where a file system widens the window downwards by whole folios, as for
 * compressed extents, it is too much by that.)
 */
static uint64_t added_before(struct demand_derive *d, const struct task *t,
			     const struct demand_record *r)
{
	uint64_t from = 0, end = 0;

	for (uint32_t slot = t->first_add; slot != NO_SLOT; slot = slot_at(d, slot)->next_add) {
		const struct demand_record *add = &slot_at(d, slot)->record;

		if (add->space != r->space)
			continue;
		if (add->index != end)
			from = add->index;
		end = add->index + add->pages;
		if (end == r->index)
			return r->index - from;
	}
	return 0;
}

/* Does the event go on with the request of the task's last one? */
static bool continues(const struct task *t, const struct demand_record *r, uint64_t last)
{
	return t->read_space == r->space + 1 && t->read_last == last && r->index > t->request_start;
}

static int derive_read(struct demand_derive *d, struct demand_record *r)
{
	const struct demand_space *space = demand_pages_space_at(d->pages, r->space);
	uint64_t last = r->index + r->pages - 1;
	struct task *t;
	uint32_t slot = NO_SLOT;
	bool continued;
	int code;

	if (d->rules.exact)
		return put(d, r, SETTLED, NULL);
	t = task_get(d, r->pid);
	if (!t)
		return -ENOMEM;
	r->pages = clip_to_file(space, r->index, last);
	continued = settle_read(d, t, r->space, r->index, last);
	if (continued) {
		/* its record is there */
	} else if (same_length(t, r, last) || added_between(d, t, r)) {
		r->pages += r->index - t->read_end;
		r->index = t->read_end;
	} else if (!continues(t, r, last)) {
		uint64_t before = added_before(d, t, r);

		r->pages += before;
		r->index -= before;
	}
	task_has_read(t, r, last);
	settle_adds(d, t, r->space, r->index, r->pages);
	settle_fault(d, t, false);
	t->demand_pages = 0;
	if (continued)
		return queue_drain(d);
	code = put(d, r, r->pages > 1 ? OPEN_READ : SETTLED, &slot);
	if (r->pages > 1)
		t->open_read = slot;
	return code ? code : queue_drain(d);
}

/*
 * A read that is logged before its fills, once and whole (a probe's): of what was added before it
 * nothing belongs to it.
 */
static int derive_read_begin(struct demand_derive *d, struct demand_record *r)
{
	struct task *t = task_get(d, r->pid);
	int code;

	if (!t)
		return -ENOMEM;
	r->pages = clip_to_file(demand_pages_space_at(d->pages, r->space), r->index,
				r->index + r->pages - 1);
	settle_read(d, t, r->space, 0, 0);
	settle_adds(d, t, r->space, r->index, 0);
	settle_fault(d, t, false);
	t->demand_space = r->space;
	t->demand_index = r->index;
	t->demand_pages = r->pages;
	code = put(d, r, SETTLED, NULL);
	return code ? code : queue_drain(d);
}

/* A fault or a write: what is added for it comes after it, or (delayed allocation) just before. */
static int derive_touch(struct demand_derive *d, struct demand_record *r)
{
	struct task *t;
	int code;

	if (d->rules.exact)
		return put(d, r, SETTLED, NULL);
	t = task_get(d, r->pid);
	if (!t)
		return -ENOMEM;
	if (!t->followed)
		return 0;	/* somebody else's dirty page */
	settle_adds(d, t, r->space, r->index, r->pages);
	settle_fault(d, t, r->op == DEMAND_FAULT);
	t->demand_space = r->space;
	t->demand_index = r->index;
	t->demand_pages = r->pages;
	code = put(d, r, SETTLED, NULL);
	return code ? code : queue_drain(d);
}

static int derive_map(struct demand_derive *d, struct demand_record *r)
{
	struct task *t;
	int code;

	if (!d->rules.exact) {
		t = task_get(d, r->pid);
		if (!t)
			return -ENOMEM;
		settle_fault(d, t, true);
	}
	code = put(d, r, SETTLED, NULL);
	return code ? code : queue_drain(d);
}

static int derive_add(struct demand_derive *d, struct demand_record *r)
{
	struct waiting *w;
	struct task *t;
	uint32_t slot = NO_SLOT;
	uint64_t from, end;
	int code;

	t = task_get(d, r->pid);
	if (!t)
		return -ENOMEM;
	if (!t->followed)
		return 0;
	from = r->index > t->demand_index ? r->index : t->demand_index;
	end = r->index + r->pages < t->demand_index + t->demand_pages ? r->index + r->pages :
	      t->demand_index + t->demand_pages;
	if (t->demand_pages && t->demand_space == r->space && from == r->index &&
	    end == r->index + r->pages)
		return 0;	/* wholly demanded by the fault or write before */
	if (d->rules.fills_only) {
		r->op = DEMAND_READ;
		code = put(d, r, SETTLED, NULL);
		return code ? code : queue_drain(d);
	}
	code = put(d, r, OPEN_ADD, &slot);
	if (code)
		return code;
	w = slot_at(d, slot);
	if (t->demand_pages && t->demand_space == r->space && from < end) {
		w->hole_from = from;
		w->hole_pages = end - from;
		w->state = SETTLED;
		return queue_drain(d);
	}
	/* put() may have settled this task's oldest add */
	if (t->last_add != NO_SLOT)
		slot_at(d, t->last_add)->next_add = slot;
	else
		t->first_add = slot;
	t->last_add = slot;
	return 0;
}

static int derive_user_fault(struct demand_derive *d, struct demand_record *r)
{
	struct task *t = task_get(d, r->pid);
	uint32_t slot = NO_SLOT;
	int code;

	if (!t)
		return -ENOMEM;
	r->space = demand_pages_space(d->pages, 0, r->pid);
	if (r->space == UINT32_MAX)
		return -ENOMEM;
	settle_fault(d, t, false);
	code = put(d, r, OPEN_FAULT, &slot);
	t->open_fault = slot;
	return code ? code : queue_drain(d);
}

static const uint8_t demand_of[NR_PAGE_OPS] = {
	[PAGE_OP_READ] = DEMAND_READ,
	[PAGE_OP_FAULT] = DEMAND_FAULT,
	[PAGE_OP_MAP] = DEMAND_MAP,
	[PAGE_OP_ADD] = DEMAND_READAHEAD,
	[PAGE_OP_DELETE] = DEMAND_TRUNCATE,
	[PAGE_OP_DIRTY] = DEMAND_WRITE,
	[PAGE_OP_WRITE] = DEMAND_WRITE,
	[PAGE_OP_USER_FAULT] = DEMAND_ANON,
	[PAGE_OP_TRUNCATE] = DEMAND_TRUNCATE,
};

/* Activations, insertions, swap-outs, evictions: what the kernel did. */
static bool says_nothing(const struct demand_derive *d, const struct page_event *e)
{
	switch (e->op) {
	case PAGE_OP_ACTIVATE:
	case PAGE_OP_INSERT:
	case PAGE_OP_WRITE_OUT:
	case PAGE_OP_EVICT:
		return true;
	case PAGE_OP_DELETE:
		return e->flags & PAGE_EV_IN_RECLAIM;
	case PAGE_OP_DIRTY:
		return d->rules.sees_writes;
	default:
		return e->op >= NR_PAGE_OPS || e->page_index >= MAX_INDEX;
	}
}

int demand_derive_event(struct demand_derive *d, const struct page_event *e)
{
	struct demand_record r;
	int code;

	if (says_nothing(d, e) || (!e->file_id && e->op != PAGE_OP_USER_FAULT))
		return 0;
	r = (struct demand_record){
		.ts_ns = e->ts_ns,
		.index = e->page_index,
		.pages = e->pages < 1 ? 1 : e->pages < MAX_RUN_PAGES ? e->pages : MAX_RUN_PAGES,
		.pid = e->pid,
		.op = demand_of[e->op],
	};
	if (e->op == PAGE_OP_USER_FAULT)
		return derive_user_fault(d, &r);
	r.space = file_space(d, e->file_id);
	if (r.space == UINT32_MAX)
		return -ENOMEM;
	switch (e->op) {
	case PAGE_OP_READ:
		return e->flags & PAGE_EV_BEGIN && !d->rules.exact ? derive_read_begin(d, &r) :
		       derive_read(d, &r);
	case PAGE_OP_ADD:
		return derive_add(d, &r);
	case PAGE_OP_MAP:
		return derive_map(d, &r);
	case PAGE_OP_WRITE:
		if (e->flags & PAGE_EV_WHOLE)
			r.op = DEMAND_WRITE_WHOLE;
		return derive_touch(d, &r);
	case PAGE_OP_FAULT:
	case PAGE_OP_DIRTY:
		return derive_touch(d, &r);
	default:
		code = put(d, &r, SETTLED, NULL);
		return code ? code : queue_drain(d);
	}
}

int demand_derive_end(struct demand_derive *d)
{
	int code = 0;

	while (!code && d->nr_waiting)
		code = queue_force(d);
	return code;
}
