// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * page_codec.c - page events of one CPU to bytes and back.
 *
 * A page event is 45 bytes of plain columns, and a read loop makes 0.5-1 million of them a second.
 * Nearly all of it can be guessed: a CPU runs one task for a long time, a task reads one file, a
 * request is as long as the last one of its kind and starts where that ended. What is stored is only
 * by how much each guess was wrong, in columns, so that a guess that is always right costs a byte a
 * chunk.
 *
 *   - Time: the difference to the event before, less the smallest difference of the chunk, which in a
 *     loop is most of it.
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

/* Columns while packing: residues in the order of the chunk (time, pid) or by op (the others). */
struct columns {
	uint32_t time_low[PAGE_CHUNK_EVENTS], time_high[PAGE_CHUNK_EVENTS];
	uint32_t pid[PAGE_CHUNK_EVENTS];
	uint32_t index_low[PAGE_CHUNK_EVENTS], index_high[PAGE_CHUNK_EVENTS];
	uint32_t pfn_low[PAGE_CHUNK_EVENTS], pfn_high[PAGE_CHUNK_EVENTS];
	uint32_t pages[PAGE_CHUNK_EVENTS], file[PAGE_CHUNK_EVENTS], flags[PAGE_CHUNK_EVENTS];
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
	return (71 - __builtin_clzll(v | 1)) / 8;
}

/* First pass: events per op, what each guess would cost, the base of the times, runs of ops. */
static void packing_survey(struct packing *p, const struct page_event *events, uint32_t nr)
{
	uint64_t before_ns = events[0].ts_ns, smallest = UINT64_MAX, before_index = 0, bad = 0;
	uint32_t min_file = UINT32_MAX, max_file = 0, runs = 1;
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
		s->index_bytes[INDEX_RAW] += byte_length(e->page_index);
		s->index_bytes[INDEX_NEXT] += byte_length(zigzag64(e->page_index - s->next_index));
		s->index_bytes[INDEX_SAME] += byte_length(zigzag64(e->page_index - before_index));
		s->next_index = e->page_index + e->pages;
		if (e->pfn | s->next_pfn) {
			s->pfn_bytes[PFN_RAW] += byte_length(e->pfn);
			s->pfn_bytes[PFN_NEXT] += byte_length(zigzag64(e->pfn - s->next_pfn));
			s->next_pfn = e->pfn + e->pages;
		}
		before_ns = e->ts_ns;
		before_index = e->page_index;
		before_op = e->op;
	}
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

static inline void segment_add(struct segment *s, struct columns *c, const struct page_event *e,
			       uint64_t before_index)
{
	uint32_t at = s->from++;
	uint64_t index = index_residue(s, e->page_index, before_index);
	uint64_t pfn = s->pfn_guess == PFN_RAW ? e->pfn : zigzag64(e->pfn - s->next_pfn);

	s->any_index_low |= c->index_low[at] = (uint32_t)index;
	s->any_index_high |= c->index_high[at] = index >> 32;
	s->any_pfn_low |= c->pfn_low[at] = (uint32_t)pfn;
	s->any_pfn_high |= c->pfn_high[at] = pfn >> 32;
	s->any_pages |= c->pages[at] = zigzag32(e->pages - s->last.pages);
	s->any_file |= c->file[at] = zigzag32(e->file_id - s->last.file_id);
	s->any_flags |= c->flags[at] = zigzag32(e->flags - s->last.flags);
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
	uint32_t before_pid = events[0].pid;

	for (uint32_t i = 0; i < nr; i++) {
		const struct page_event *e = &events[i];
		uint64_t delta = e->ts_ns - before_ns;

		delta = p->time_mode == TIME_BASE ? delta - p->time_base : zigzag64(delta);
		p->any_time_low |= c->time_low[i] = (uint32_t)delta;
		p->any_time_high |= c->time_high[i] = delta >> 32;
		p->any_pid |= c->pid[i] = zigzag32(e->pid - before_pid);
		segment_add(&p->segments[e->op], c, e, before_index);
		before_ns = e->ts_ns;
		before_pid = e->pid;
		before_index = e->page_index;
	}
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
	return column_encode(out, runs, k, 1, runs + k);
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
	out = column_encode(out, c->index_low + from, nr, s->any_index_low, scratch);
	out = column_encode(out, c->index_high + from, nr, s->any_index_high, scratch);
	out = column_encode(out, c->pfn_low + from, nr, s->any_pfn_low, scratch);
	out = column_encode(out, c->pfn_high + from, nr, s->any_pfn_high, scratch);
	out = column_encode(out, c->pages + from, nr, s->any_pages, scratch);
	out = column_encode(out, c->file + from, nr, s->any_file, scratch);
	return column_encode(out, c->flags + from, nr, s->any_flags, scratch);
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
	out = column_encode(out, c->time_high, nr, p->any_time_high, c->scratch);
	out = column_encode(out, c->pid, nr, p->any_pid, c->scratch);
	for (int op = 0; op < NR_OPS; op++)
		if (p->segments[op].nr)
			out = segment_encode(&p->segments[op], op, c, &firsts[op], out);
	memset(out, 0, SVB_PAD);
	return out + SVB_PAD;
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
	memset(p, 0, offsetof(struct packing, columns));
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

/* ---- back ------------------------------------------------------------------------------------- */

struct unpacking {
	struct byte_reader in;
	struct page_event *events;
	uint32_t nr;
	uint32_t nr_of_op[NR_OPS];
	uint8_t index_guess[NR_OPS];
	uint16_t order[PAGE_CHUNK_EVENTS];	/* event numbers, grouped by op */
	uint32_t low[PAGE_CHUNK_EVENTS + SVB_PAD_VALUES];
	uint32_t high[PAGE_CHUNK_EVENTS + SVB_PAD_VALUES];
	uint32_t scratch[2 * (PAGE_CHUNK_EVENTS + SVB_PAD_VALUES)];
};

/* Reads a u64 column into low and high. *wide: high halves matter. *zero: neither does. */
static int wide_decode(struct unpacking *u, uint32_t nr, bool *wide, bool *zero)
{
	bool low_zero, high_zero;

	if (column_decode(&u->in, u->low, nr, u->scratch, &low_zero) ||
	    column_decode(&u->in, u->high, nr, u->scratch, &high_zero))
		return -EBADMSG;
	*zero = low_zero && high_zero;
	*wide = !high_zero;
	if (low_zero && *wide)
		memset(u->low, 0, sizeof(u->low[0]) * nr);
	return 0;
}

static inline uint64_t wide_value(const struct unpacking *u, uint32_t i, bool wide, bool zero)
{
	if (zero)
		return 0;
	return wide ? (uint64_t)u->high[i] << 32 | u->low[i] : u->low[i];
}

static int runs_decode(struct unpacking *u)
{
	uint32_t k, at = 0;

	if (bytes_left(&u->in) < 4)
		return -EBADMSG;
	k = load_u32(u->in.at);
	u->in.at += 4;
	if (k > u->nr || column_decode(&u->in, u->low, k, u->scratch, NULL))
		return -EBADMSG;
	for (uint32_t i = 0; i < k; i++) {
		uint32_t run = u->low[i] >> 4;

		if (run > u->nr - at)
			return -EBADMSG;
		for (uint32_t end = at + run; at < end; at++)
			u->events[at].op = u->low[i] & 15;
	}
	return at == u->nr ? 0 : -EBADMSG;
}

static int ops_decode(struct unpacking *u, enum op_mode mode)
{
	uint32_t bytes = (u->nr + 1) / 2;

	switch (mode) {
	case OPS_ONE:	/* the only segment names it */
		if (bytes_left(&u->in) < 1)
			return -EBADMSG;
		return 0;
	case OPS_HALVES:
		if (bytes_left(&u->in) < bytes)
			return -EBADMSG;
		for (uint32_t i = 0; i < u->nr; i++)
			u->events[i].op = u->in.at[i / 2] >> (i % 2 * 4) & 15;
		u->in.at += bytes;
		return 0;
	case OPS_RUNS:
		return runs_decode(u);
	}
	return -EBADMSG;
}

static void order_by_op(struct unpacking *u)
{
	uint32_t at[NR_OPS], from = 0;

	for (uint32_t i = 0; i < u->nr; i++)
		u->nr_of_op[u->events[i].op]++;
	for (int op = 0; op < NR_OPS; op++) {
		at[op] = from;
		from += u->nr_of_op[op];
	}
	for (uint32_t i = 0; i < u->nr; i++)
		u->order[at[u->events[i].op]++] = i;
}

static int times_decode(struct unpacking *u, enum time_mode mode, uint64_t ts_ns, uint64_t base)
{
	bool wide, zero;

	if (mode > TIME_ZIGZAG || wide_decode(u, u->nr, &wide, &zero))
		return -EBADMSG;
	for (uint32_t i = 0; i < u->nr; i++) {
		uint64_t v = wide_value(u, i, wide, zero);

		ts_ns += mode == TIME_BASE ? v + base : unzigzag64(v);
		u->events[i].ts_ns = ts_ns;
	}
	return 0;
}

static int pids_decode(struct unpacking *u, uint32_t pid)
{
	bool zero;

	if (column_decode(&u->in, u->low, u->nr, u->scratch, &zero))
		return -EBADMSG;
	for (uint32_t i = 0; i < u->nr; i++) {
		pid += zero ? 0 : unzigzag32(u->low[i]);
		u->events[i].pid = pid;
	}
	return 0;
}

/* A u32 column of one op: differences from @value on, into the field at @offset of its events. */
static int field_decode(struct unpacking *u, const uint16_t *order, uint32_t nr, uint32_t value,
			size_t offset)
{
	uint8_t *base = (uint8_t *)u->events + offset;
	bool zero;

	if (column_decode(&u->in, u->low, nr, u->scratch, &zero))
		return -EBADMSG;
	for (uint32_t i = 0; i < nr; i++) {
		value += zero ? 0 : unzigzag32(u->low[i]);
		*(uint32_t *)(base + order[i] * sizeof(struct page_event)) = value;
	}
	return 0;
}

/* Leaves residues in page_index and pfn: what they add to needs the pages, or other ops. */
static int residues_decode(struct unpacking *u, const uint16_t *order, uint32_t nr)
{
	bool wide, zero;

	if (wide_decode(u, nr, &wide, &zero))
		return -EBADMSG;
	for (uint32_t i = 0; i < nr; i++)
		u->events[order[i]].page_index = wide_value(u, i, wide, zero);
	if (wide_decode(u, nr, &wide, &zero))
		return -EBADMSG;
	for (uint32_t i = 0; i < nr; i++)
		u->events[order[i]].pfn = wide_value(u, i, wide, zero);
	return 0;
}

static void segment_resolve(struct unpacking *u, const uint16_t *order, uint32_t nr,
			    const uint8_t head[4], uint64_t index, uint64_t pfn)
{
	for (uint32_t i = 0; head[1] == INDEX_NEXT && i < nr; i++) {
		struct page_event *e = &u->events[order[i]];

		e->page_index = index + unzigzag64(e->page_index);
		index = e->page_index + e->pages;
	}
	for (uint32_t i = 0; head[2] == PFN_NEXT && i < nr; i++) {
		struct page_event *e = &u->events[order[i]];

		e->pfn = pfn + unzigzag64(e->pfn);
		pfn = e->pfn ? e->pfn + e->pages : 0;
	}
}

static int segment_decode(struct unpacking *u, uint32_t *from, uint32_t op_before, bool only)
{
	const uint8_t *head = u->in.at;
	const uint16_t *order = u->order + *from;
	uint32_t nr;

	if (bytes_left(&u->in) < SEGMENT_BYTES)
		return -EBADMSG;
	if (only) {
		for (uint32_t i = 0; i < u->nr; i++)
			u->events[i].op = head[0] & 15;
		order_by_op(u);
	}
	nr = load_u32(head + 4);
	if (head[0] >= NR_OPS || head[0] + 1U <= op_before || !nr || nr != u->nr_of_op[head[0]] ||
	    head[1] >= NR_INDEX_GUESSES || head[2] >= NR_PFN_GUESSES)
		return -EBADMSG;
	u->index_guess[head[0]] = head[1];
	u->in.at += SEGMENT_BYTES;
	if (residues_decode(u, order, nr) ||
	    field_decode(u, order, nr, load_u32(head + 24), offsetof(struct page_event, pages)) ||
	    field_decode(u, order, nr, load_u32(head + 28), offsetof(struct page_event, file_id)) ||
	    field_decode(u, order, nr, load_u32(head + 32), offsetof(struct page_event, flags)))
		return -EBADMSG;
	segment_resolve(u, order, nr, head, load_u64(head + 8), load_u64(head + 16));
	*from += nr;
	return 0;
}

/* Indexes guessed from the event before, whatever its op, come last and in the chunk's order. */
static void same_resolve(struct unpacking *u)
{
	uint64_t before = 0;
	bool any = false;

	for (int op = 0; op < NR_OPS; op++)
		any |= u->index_guess[op] == INDEX_SAME;
	for (uint32_t i = 0; any && i < u->nr; i++) {
		struct page_event *e = &u->events[i];

		if (u->index_guess[e->op] == INDEX_SAME)
			e->page_index = before + unzigzag64(e->page_index);
		before = e->page_index;
	}
}

static int chunk_decode(struct unpacking *u)
{
	const uint8_t *head = u->in.at;
	uint32_t from = 0, op_before = 0;

	if (bytes_left(&u->in) < HEADER_BYTES || head[0] != CHUNK_VERSION || !head[1] ||
	    head[1] > NR_OPS || load_u32(head + 4) != u->nr || (head[3] == OPS_ONE && head[1] != 1))
		return -EBADMSG;
	u->in.at += HEADER_BYTES;
	if (ops_decode(u, head[3]))
		return -EBADMSG;
	if (head[3] != OPS_ONE)
		order_by_op(u);
	if (times_decode(u, head[2], load_u64(head + 8), load_u64(head + 16)) ||
	    pids_decode(u, load_u32(head + 24)))
		return -EBADMSG;
	for (int i = 0; i < head[1]; i++) {
		const uint8_t *segment = u->in.at;

		if (segment_decode(u, &from, op_before, head[3] == OPS_ONE))
			return -EBADMSG;
		op_before = segment[0] + 1U;
	}
	if (from != u->nr || bytes_left(&u->in))
		return -EBADMSG;
	same_resolve(u);
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
	memset(u->nr_of_op, 0, sizeof(u->nr_of_op));
	memset(u->index_guess, 0, sizeof(u->index_guess));
	code = chunk_decode(u);
	free(u);
	if (code)
		return err_set(err, code, "page chunk of %u events in %zu bytes is damaged",
			       nr_events, data_bytes);
	return 0;
}
