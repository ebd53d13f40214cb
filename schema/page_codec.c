// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * page_codec.c - page events of one CPU to bytes and back.
 *
 * A page event is 45 bytes of plain columns, and a read loop makes 0.5-1 million of them a second.
 * Nearly all of it can be guessed: a CPU runs one task for a long time, a task reads one file, a
 * request is as long as the last one of its kind and starts where that ended. What is stored is
 * only by how much each guess was wrong, in columns, so that a guess that is always right costs a
 * byte a chunk.
 *
 *   - Time: the difference to the event before, less the smallest difference of the chunk, which in
 *     a loop is most of it.
 *   - pid: the difference to the event before.
 *   - Everything else is kept *per op*, since neighbours of different ops (an add, then the
 *     get_pages that waited for it) have little in common: pages, file and flags as difference to
 *     the last event of the op; pfn from there or raw; and the index by whichever of three guesses
 *     costs least for that op in that chunk:
 *         raw     random reads: an index is smaller than a difference of two;
 *         next    where the last event of this op ended: sequential requests, readahead;
 *         same    the index of the last event of any op: a get_pages after its add.
 *     An op that has no such column (pfn of a read) stores zeroes: one byte.
 *
 * Numbers are little-endian. A column is what svb.h says; a u64 column is two of them, low halves
 * first, and the high halves are nearly always a single byte that says "all zero".
 *
 *   u8  version (1)
 *   u8  number of op segments
 *   u8  time mode: 0 difference - base; 1 zigzag of the difference (time ran backwards)
 *   u8  op mode: 0 one op; 1 two ops a byte, low half first; 2 runs of (length << 4 | op)
 *   u32 number of events n
 *   u64 time before the first event; u64 base; u32 pid before the first event
 *   op column: mode 1 (n + 1) / 2 bytes; mode 2 u32 number of runs, column
 *   u64 column time[n]; column pid[n]
 *   per segment, by op:
 *     u8 op; u8 index guess; u8 pfn guess (0 raw, 1 next); u8 0; u32 number of events m
 *     u64 index, u64 pfn, u32 pages, u32 file, u32 flags: of its first event
 *     u64 column index[m]; u64 column pfn[m]; columns pages[m], file[m], flags[m]
 *   16 zero bytes (SVB_PAD)
 *
 * There is no checksum: SQLite's pages have theirs where wanted, and a decoder that checks every
 * length makes at worst wrong events out of damage, never a wrong access.
 *
 * Differences wrap around, so every value of every field survives; op must be below 16.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/schema.h"
#include "schema/svb.h"

enum { CHUNK_VERSION = 1, NR_OPS = 16, HEADER_BYTES = 28, SEGMENT_BYTES = 36 };
enum time_mode { TIME_BASE, TIME_ZIGZAG };
enum op_mode { OPS_ONE, OPS_HALVES, OPS_RUNS };
enum index_guess { INDEX_RAW, INDEX_NEXT, INDEX_SAME, NR_INDEX_GUESSES };
enum pfn_guess { PFN_RAW, PFN_NEXT, NR_PFN_GUESSES };

static_assert((int)NR_PAGE_OPS <= (int)NR_OPS, "an op fits into half a byte");

struct page_packer {
	int64_t capture_id;
	int cpu;
	uint32_t sample_mask;
	uint32_t nr;
	struct page_event events[PAGE_CHUNK_EVENTS];
};

/* One op's events within the chunk being packed or unpacked. */
struct segment {
	uint32_t nr;
	uint32_t from;		/* of its values in the columns; moves on while they are written */
	uint8_t index_guess, pfn_guess;
	struct page_event last;	/* of this op; at the start: its first one */
	uint64_t next_index, next_pfn;
	uint32_t any_pages, any_file, any_flags;
	uint32_t any_index_low, any_index_high, any_pfn_low, any_pfn_high;
	uint64_t index_bytes[NR_INDEX_GUESSES], pfn_bytes[NR_PFN_GUESSES];
};

/*
 * Residues while packing. Most are 0, so a column is cleared when its first value comes and only
 * values that are not 0 are stored.
 */
struct residues {
	bool used;
	uint32_t value[PAGE_CHUNK_EVENTS];
};

/* In the order of the chunk (time, pid) or by op (the others). */
struct columns {
	uint32_t time_low[PAGE_CHUNK_EVENTS];
	struct residues time_high, pid;
	struct residues index_low, index_high, pfn_low, pfn_high, pages, file, flags;
	uint32_t scratch[2 * PAGE_CHUNK_EVENTS];
};

struct packing {
	struct segment segments[NR_OPS];
	uint32_t any_time_low, any_time_high, any_pid;
	enum time_mode time_mode;
	uint64_t time_base;
	uint32_t min_file_id, max_file_id;
	uint32_t nr_op_runs;
	struct columns columns;
	uint8_t out[HEADER_BYTES + NR_OPS * SEGMENT_BYTES + 13 * 5 * PAGE_CHUNK_EVENTS];
};

struct page_packer *page_packer_new(int64_t capture_id, int cpu, uint32_t sample_mask)
{
	struct page_packer *packer = malloc(sizeof(*packer));

	if (packer) {
		packer->capture_id = capture_id;
		packer->cpu = cpu;
		packer->sample_mask = sample_mask;
		packer->nr = 0;
	}
	return packer;
}

void page_packer_free(struct page_packer *packer)
{
	free(packer);
}

bool page_packer_add(struct page_packer *packer, const struct page_event *event)
{
	struct page_event *slot;

	if (packer->nr == PAGE_CHUNK_EVENTS)
		return true;
	slot = &packer->events[packer->nr++];
	*slot = *event;
	slot->op %= NR_OPS;
	return packer->nr == PAGE_CHUNK_EVENTS;
}

uint32_t page_packer_events(const struct page_packer *packer)
{
	return packer->nr;
}

uint64_t page_packer_first_ts(const struct page_packer *packer)
{
	return packer->nr ? packer->events[0].ts_ns : 0;
}

static inline uint32_t byte_length(uint64_t v)
{
	return v ? (71 - __builtin_clzll(v)) / 8 : 0;
}

/* What each guess would cost for these events. */
static void packing_guess(struct packing *p, const struct page_event *events, uint32_t nr)
{
	uint64_t before_index = events[0].page_index;

	for (uint32_t i = 0; i < nr; i++) {
		const struct page_event *e = &events[i];
		struct segment *s = &p->segments[e->op];

		s->index_bytes[INDEX_RAW] += byte_length(e->page_index);
		s->index_bytes[INDEX_NEXT] += byte_length(zigzag64(e->page_index - s->next_index));
		s->index_bytes[INDEX_SAME] += byte_length(zigzag64(e->page_index - before_index));
		s->next_index = e->page_index + e->pages;
		if (e->pfn | s->next_pfn) {
			s->pfn_bytes[PFN_RAW] += byte_length(e->pfn);
			s->pfn_bytes[PFN_NEXT] += byte_length(zigzag64(e->pfn - s->next_pfn));
			s->next_pfn = e->pfn + e->pages;
		}
		before_index = e->page_index;
	}
}

/* First pass: events per op, the base of the times, runs of ops, what guesses cost (of an eighth).
 */
static void packing_survey(struct packing *p, const struct page_event *events, uint32_t nr)
{
	uint64_t before_ns = events[0].ts_ns, smallest = UINT64_MAX, bad = 0;
	uint32_t min_file = UINT32_MAX, max_file = 0, runs = 1, step = nr > 1024 ? 512 : 64;
	uint8_t before_op = events[0].op;

	for (uint32_t i = 0; i < nr; i++) {
		const struct page_event *e = &events[i];
		struct segment *s = &p->segments[e->op];
		uint64_t delta = e->ts_ns - before_ns;

		if (!s->nr++) {
			s->last = *e;
			s->next_index = e->page_index;
			s->next_pfn = e->pfn;
		}
		bad |= delta;
		if (i && delta < smallest)
			smallest = delta;
		min_file = e->file_id < min_file ? e->file_id : min_file;
		max_file = e->file_id > max_file ? e->file_id : max_file;
		runs += e->op != before_op;
		before_ns = e->ts_ns;
		before_op = e->op;
	}
	for (uint32_t i = 0; i < nr; i += step)
		packing_guess(p, events + i, nr - i < 64 ? nr - i : 64);
	p->time_mode = bad >> 63 ? TIME_ZIGZAG : TIME_BASE;
	p->time_base = p->time_mode == TIME_BASE && nr > 1 ? smallest : 0;
	p->min_file_id = min_file;
	p->max_file_id = max_file;
	p->nr_op_runs = runs;
}

/* Chooses the guesses, lays the segments out one after the other, and rewinds them. */
static void packing_plan(struct packing *p)
{
	uint32_t from = 0;

	for (int op = 0; op < NR_OPS; op++) {
		struct segment *s = &p->segments[op];

		s->index_guess = INDEX_NEXT;
		for (int g = 0; g < NR_INDEX_GUESSES; g++)
			if (s->index_bytes[g] < s->index_bytes[s->index_guess])
				s->index_guess = g;
		s->pfn_guess = s->pfn_bytes[PFN_RAW] < s->pfn_bytes[PFN_NEXT] ? PFN_RAW : PFN_NEXT;
		s->from = from;
		s->next_index = s->last.page_index;
		s->next_pfn = s->last.pfn;
		from += s->nr;
	}
}

static inline uint64_t index_residue(const struct segment *s, uint64_t index, uint64_t before_index)
{
	if (s->index_guess == INDEX_RAW)
		return index;
	return zigzag64(index - (s->index_guess == INDEX_NEXT ? s->next_index : before_index));
}

static inline void put(struct residues *r, uint32_t at, uint32_t value, uint32_t *any)
{
	if (!value)
		return;
	if (!r->used) {
		memset(r->value, 0, sizeof(r->value));
		r->used = true;
	}
	r->value[at] = value;
	*any |= value;
}

static inline void segment_add(struct segment *s, struct columns *c, const struct page_event *e,
			       uint64_t before_index)
{
	uint32_t at = s->from++;
	uint64_t index = index_residue(s, e->page_index, before_index);
	uint64_t pfn = s->pfn_guess == PFN_RAW ? e->pfn : zigzag64(e->pfn - s->next_pfn);

	put(&c->index_low, at, (uint32_t)index, &s->any_index_low);
	put(&c->index_high, at, index >> 32, &s->any_index_high);
	put(&c->pfn_low, at, (uint32_t)pfn, &s->any_pfn_low);
	put(&c->pfn_high, at, pfn >> 32, &s->any_pfn_high);
	put(&c->pages, at, zigzag32(e->pages - s->last.pages), &s->any_pages);
	put(&c->file, at, zigzag32(e->file_id - s->last.file_id), &s->any_file);
	put(&c->flags, at, zigzag32(e->flags - s->last.flags), &s->any_flags);
	s->last.pages = e->pages;
	s->last.file_id = e->file_id;
	s->last.flags = e->flags;
	s->next_index = e->page_index + e->pages;
	s->next_pfn = e->pfn ? e->pfn + e->pages : 0;
}

/* Second pass: the residues. */
static void packing_residues(struct packing *p, const struct page_event *events, uint32_t nr)
{
	struct columns *c = &p->columns;
	uint64_t before_ns = events[0].ts_ns - p->time_base, before_index = 0;
	uint32_t before_pid = events[0].pid, any_time = 0;

	for (uint32_t i = 0; i < nr; i++) {
		const struct page_event *e = &events[i];
		uint64_t delta = e->ts_ns - before_ns;

		delta = p->time_mode == TIME_BASE ? delta - p->time_base : zigzag64(delta);
		any_time |= c->time_low[i] = (uint32_t)delta;
		put(&c->time_high, i, delta >> 32, &p->any_time_high);
		put(&c->pid, i, zigzag32(e->pid - before_pid), &p->any_pid);
		segment_add(&p->segments[e->op], c, e, before_index);
		before_ns = e->ts_ns;
		before_pid = e->pid;
		before_index = e->page_index;
	}
	p->any_time_low = any_time;
}

static uint8_t *ops_encode(struct packing *p, uint8_t *out, const struct page_event *events,
			   uint32_t nr, enum op_mode mode)
{
	uint32_t *runs = p->columns.scratch, k = 0;

	if (mode == OPS_ONE)
		return out;
	if (mode == OPS_HALVES) {
		for (uint32_t i = 0; i + 1 < nr; i += 2)
			*out++ = events[i].op | events[i + 1].op << 4;
		if (nr % 2)
			*out++ = events[nr - 1].op;
		return out;
	}
	for (uint32_t i = 0, from = 0; i < nr; from = i) {
		while (i < nr && events[i].op == events[from].op)
			i++;
		runs[k++] = (i - from) << 4 | events[from].op;
	}
	out = store_u32(out, k);
	return column_encode(out, runs, k, UINT32_MAX, runs + k);
}

static uint8_t *segment_encode(struct segment *s, int op, struct columns *c,
			       const struct page_event *first, uint8_t *out)
{
	uint32_t nr = s->nr, from = s->from - nr, *scratch = c->scratch;
	const uint8_t head[4] = { op, s->index_guess, s->pfn_guess, 0 };

	memcpy(out, head, sizeof(head));
	out = store_u32(out + sizeof(head), nr);
	out = store_u64(out, first->page_index);
	out = store_u64(out, first->pfn);
	out = store_u32(out, first->pages);
	out = store_u32(out, first->file_id);
	out = store_u32(out, first->flags);
	out = column_encode(out, c->index_low.value + from, nr, s->any_index_low, scratch);
	out = column_encode(out, c->index_high.value + from, nr, s->any_index_high, scratch);
	out = column_encode(out, c->pfn_low.value + from, nr, s->any_pfn_low, scratch);
	out = column_encode(out, c->pfn_high.value + from, nr, s->any_pfn_high, scratch);
	out = column_encode(out, c->pages.value + from, nr, s->any_pages, scratch);
	out = column_encode(out, c->file.value + from, nr, s->any_file, scratch);
	return column_encode(out, c->flags.value + from, nr, s->any_flags, scratch);
}

static uint8_t *packing_encode(struct packing *p, const struct page_event *events, uint32_t nr,
			       const struct page_event *firsts, uint32_t *ops_mask)
{
	struct columns *c = &p->columns;
	uint8_t *out = p->out;
	enum op_mode op_mode;
	int nr_segments = 0;

	for (int op = 0; op < NR_OPS; op++) {
		nr_segments += p->segments[op].nr != 0;
		*ops_mask |= (uint32_t)(p->segments[op].nr != 0) << op;
	}
	/* a run takes 1.25 to 3.25 bytes */
	op_mode = nr_segments == 1 ? OPS_ONE : p->nr_op_runs < nr / 5 ? OPS_RUNS : OPS_HALVES;
	*out++ = CHUNK_VERSION;
	*out++ = nr_segments;
	*out++ = p->time_mode;
	*out++ = op_mode;
	out = store_u32(out, nr);
	out = store_u64(out, events[0].ts_ns - p->time_base);
	out = store_u64(out, p->time_base);
	out = store_u32(out, events[0].pid);
	out = ops_encode(p, out, events, nr, op_mode);
	out = column_encode(out, c->time_low, nr, p->any_time_low, c->scratch);
	out = column_encode(out, c->time_high.value, nr, p->any_time_high, c->scratch);
	out = column_encode(out, c->pid.value, nr, p->any_pid, c->scratch);
	for (int op = 0; op < NR_OPS; op++)
		if (p->segments[op].nr)
			out = segment_encode(&p->segments[op], op, c, &firsts[op], out);
	memset(out, 0, SVB_PAD);
	return out + SVB_PAD;
}

/* All but the columns: those are cleared when they are used. */
static void packing_clear(struct packing *p)
{
	struct columns *c = &p->columns;
	struct residues *const all[] = {
		&c->time_high, &c->pid, &c->index_low, &c->index_high, &c->pfn_low, &c->pfn_high,
		&c->pages, &c->file, &c->flags,
	};

	memset(p, 0, offsetof(struct packing, columns));
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		all[i]->used = false;
}

int page_packer_take(struct page_packer *packer, struct page_chunk *chunk)
{
	struct page_event firsts[NR_OPS];
	const struct page_event *events = packer->events;
	uint32_t nr = packer->nr;
	struct packing *p;

	*chunk = (struct page_chunk){
		.capture_id = packer->capture_id,
		.cpu = packer->cpu,
		.sample_mask = packer->sample_mask,
	};
	if (!nr)
		return 0;
	p = malloc(sizeof(*p));
	if (!p)
		return -ENOMEM;
	packing_clear(p);
	packing_survey(p, events, nr);
	for (int op = 0; op < NR_OPS; op++)
		firsts[op] = p->segments[op].last;
	packing_plan(p);
	packing_residues(p, events, nr);
	chunk->data_bytes = packing_encode(p, events, nr, firsts, &chunk->ops_mask) - p->out;
	chunk->data = malloc(chunk->data_bytes);
	if (chunk->data) {
		memcpy(chunk->data, p->out, chunk->data_bytes);
		chunk->nr_events = nr;
		chunk->min_file_id = p->min_file_id;
		chunk->max_file_id = p->max_file_id;
		chunk->first_ts_ns = UINT64_MAX;
		for (uint32_t i = 0; p->time_mode == TIME_ZIGZAG && i < nr; i++) {
			if (events[i].ts_ns < chunk->first_ts_ns)
				chunk->first_ts_ns = events[i].ts_ns;
			if (events[i].ts_ns > chunk->last_ts_ns)
				chunk->last_ts_ns = events[i].ts_ns;
		}
		if (p->time_mode == TIME_BASE) {
			chunk->first_ts_ns = events[0].ts_ns;
			chunk->last_ts_ns = events[nr - 1].ts_ns;
		}
		packer->nr = 0;
	}
	free(p);
	return chunk->data ? 0 : -ENOMEM;
}

void page_chunk_release(struct page_chunk *chunk)
{
	free(chunk->data);
	chunk->data = NULL;
	chunk->data_bytes = 0;
}

/* ---- back ------------------------------------------------------------------------------------ */

/* A column of the chunk being unpacked, or of one op of it. NULL: all 0. */
struct source {
	const uint32_t *low, *high;
};

/* One op: where its residues are and what they add to. */
struct flow {
	struct source index, pfn;
	const uint32_t *pages, *file, *flags;
	uint32_t at, nr;
	enum index_guess index_guess;
	enum pfn_guess pfn_guess;
	uint64_t next_index, next_pfn;
	uint32_t last_pages, last_file, last_flags;
};

enum { NR_UNPACKED = 10 };

struct unpacking {
	struct byte_reader in;
	struct page_event *events;
	uint32_t nr;
	struct source time;
	const uint32_t *pid;
	struct flow flow[NR_OPS];
	uint8_t ops[PAGE_CHUNK_EVENTS];
	uint32_t nr_of_op[NR_OPS];
	uint32_t used;		/* values of room */
	uint32_t scratch[2 * (PAGE_CHUNK_EVENTS + SVB_PAD_VALUES)];
	/* columns one behind the other, each with its pad */
	uint32_t room[NR_UNPACKED * PAGE_CHUNK_EVENTS + 7 * (NR_OPS + 1) * SVB_PAD_VALUES];
};

static int unpack_column(struct unpacking *u, uint32_t nr, const uint32_t **column)
{
	uint32_t *values = u->room + u->used;
	bool zero;

	if (column_decode(&u->in, values, nr, u->scratch, &zero))
		return -EBADMSG;
	*column = zero ? NULL : values;
	if (!zero)
		u->used += nr + SVB_PAD_VALUES;
	return 0;
}

static int unpack_source(struct unpacking *u, uint32_t nr, struct source *source)
{
	return unpack_column(u, nr, &source->low) || unpack_column(u, nr, &source->high) ?
	       -EBADMSG : 0;
}

static inline uint64_t source_value(const struct source *source, uint32_t i)
{
	uint64_t v = source->low ? source->low[i] : 0;

	return source->high ? v | (uint64_t)source->high[i] << 32 : v;
}

static int runs_decode(struct unpacking *u)
{
	uint32_t k, at = 0;
	uint32_t *runs = u->room;	/* nothing else is there yet */

	if (bytes_left(&u->in) < 4)
		return -EBADMSG;
	k = load_u32(u->in.at);
	u->in.at += 4;
	if (k > u->nr || column_decode(&u->in, runs, k, u->scratch, NULL))
		return -EBADMSG;
	for (uint32_t i = 0; i < k; i++) {
		uint32_t run = runs[i] >> 4;

		if (run > u->nr - at)
			return -EBADMSG;
		memset(u->ops + at, runs[i] & 15, run);
		u->nr_of_op[runs[i] & 15] += run;
		at += run;
	}
	return at == u->nr ? 0 : -EBADMSG;
}

static int halves_decode(struct unpacking *u)
{
	uint32_t bytes = (u->nr + 1) / 2;

	if (bytes_left(&u->in) < bytes)
		return -EBADMSG;
	for (uint32_t i = 0; i < u->nr; i++) {
		u->ops[i] = u->in.at[i / 2] >> (i % 2 * 4) & 15;
		u->nr_of_op[u->ops[i]]++;
	}
	u->in.at += bytes;
	return 0;
}

static int ops_decode(struct unpacking *u, enum op_mode mode)
{
	switch (mode) {
	case OPS_ONE:	/* the only segment names it */
		return 0;
	case OPS_HALVES:
		return halves_decode(u);
	case OPS_RUNS:
		return runs_decode(u);
	}
	return -EBADMSG;
}

static int flow_decode(struct unpacking *u, int *op_before, bool only)
{
	const uint8_t *head = u->in.at;
	struct flow *f;
	uint32_t nr;

	if (bytes_left(&u->in) < SEGMENT_BYTES)
		return -EBADMSG;
	nr = load_u32(head + 4);
	if (head[0] >= NR_OPS || head[0] <= *op_before || !nr || nr > u->nr ||
	    nr != (only ? u->nr : u->nr_of_op[head[0]]) || head[1] >= NR_INDEX_GUESSES ||
	    head[2] >= NR_PFN_GUESSES)
		return -EBADMSG;
	*op_before = head[0];
	f = &u->flow[head[0]];
	*f = (struct flow){
		.nr = nr,
		.index_guess = head[1],
		.pfn_guess = head[2],
		.next_index = load_u64(head + 8),
		.next_pfn = load_u64(head + 16),
		.last_pages = load_u32(head + 24),
		.last_file = load_u32(head + 28),
		.last_flags = load_u32(head + 32),
	};
	if (only)
		memset(u->ops, head[0], nr);
	u->in.at += SEGMENT_BYTES;
	return unpack_source(u, nr, &f->index) || unpack_source(u, nr, &f->pfn) ||
	       unpack_column(u, nr, &f->pages) || unpack_column(u, nr, &f->file) ||
	       unpack_column(u, nr, &f->flags) ? -EBADMSG : 0;
}

static inline void flow_next(struct flow *f, struct page_event *e, uint64_t before_index)
{
	uint32_t i = f->at++;
	uint64_t index = source_value(&f->index, i), pfn = source_value(&f->pfn, i);

	if (f->pages)
		f->last_pages += unzigzag32(f->pages[i]);
	if (f->file)
		f->last_file += unzigzag32(f->file[i]);
	if (f->flags)
		f->last_flags += unzigzag32(f->flags[i]);
	if (f->index_guess != INDEX_RAW)
		index = unzigzag64(index) +
			(f->index_guess == INDEX_NEXT ? f->next_index : before_index);
	if (f->pfn_guess == PFN_NEXT)
		pfn = f->next_pfn + unzigzag64(pfn);
	e->page_index = index;
	e->pfn = pfn;
	e->pages = f->last_pages;
	e->file_id = f->last_file;
	e->flags = f->last_flags;
	f->next_index = index + f->last_pages;
	f->next_pfn = pfn ? pfn + f->last_pages : 0;
}

/* Every op has had its flow with as many residues as it has events: see flow_decode(). */
static void events_build(struct unpacking *u, enum time_mode mode, const uint8_t *head)
{
	uint64_t ts_ns = load_u64(head + 8), base = load_u64(head + 16), before_index = 0;
	uint32_t pid = load_u32(head + 24);

	for (uint32_t i = 0; i < u->nr; i++) {
		struct page_event *e = &u->events[i];
		uint64_t v = source_value(&u->time, i);

		ts_ns += mode == TIME_BASE ? v + base : unzigzag64(v);
		if (u->pid)
			pid += unzigzag32(u->pid[i]);
		e->ts_ns = ts_ns;
		e->pid = pid;
		e->op = u->ops[i];
		flow_next(&u->flow[e->op], e, before_index);
		before_index = e->page_index;
	}
}

static int chunk_decode(struct unpacking *u)
{
	const uint8_t *head = u->in.at;
	uint32_t nr = 0;
	int op_before = -1;

	if (bytes_left(&u->in) < HEADER_BYTES || head[0] != CHUNK_VERSION || !head[1] ||
	    head[1] > NR_OPS || head[2] > TIME_ZIGZAG || load_u32(head + 4) != u->nr ||
	    (head[3] == OPS_ONE && head[1] != 1))
		return -EBADMSG;
	u->in.at += HEADER_BYTES;
	if (ops_decode(u, head[3]) || unpack_source(u, u->nr, &u->time) ||
	    unpack_column(u, u->nr, &u->pid))
		return -EBADMSG;
	for (int i = 0; i < head[1]; i++) {
		if (flow_decode(u, &op_before, head[3] == OPS_ONE))
			return -EBADMSG;
		nr += u->flow[op_before].nr;
	}
	if (nr != u->nr || bytes_left(&u->in))
		return -EBADMSG;
	events_build(u, head[2], head);
	return 0;
}

int page_chunk_decode(const uint8_t *data, size_t data_bytes, struct page_event *events,
		      uint32_t nr_events, struct err *err)
{
	struct unpacking *u;
	int code = -EBADMSG;

	if (!nr_events || nr_events > PAGE_CHUNK_EVENTS || data_bytes < SVB_PAD)
		return err_set(err, -EBADMSG, "page chunk of %u events in %zu bytes is damaged",
			       nr_events, data_bytes);
	if (data[0] != CHUNK_VERSION)
		return err_set(err, -EBADMSG, "page chunk has format %u, this program reads %u",
			       data[0], CHUNK_VERSION);
	u = malloc(sizeof(*u));
	if (!u)
		return err_set(err, -ENOMEM, "no memory to unpack a page chunk");
	u->in = (struct byte_reader){ data, data + data_bytes - SVB_PAD };
	u->events = events;
	u->nr = nr_events;
	u->used = 0;
	memset(u->nr_of_op, 0, sizeof(u->nr_of_op));
	code = chunk_decode(u);
	free(u);
	if (code)
		return err_set(err, code, "page chunk of %u events in %zu bytes is damaged",
			       nr_events, data_bytes);
	return 0;
}
