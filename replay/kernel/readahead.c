// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * readahead.c - which pages a read brings in besides those it asked for, and in what folios.
 *
 * Follows Linux 6.18 mm/readahead.c: page_cache_sync_ra(), page_cache_async_ra(),
 * page_cache_ra_order(), page_cache_ra_unbounded(), force_page_cache_ra(), get_init_ra_size(),
 * get_next_ra_size(); and mm/filemap.c: filemap_get_pages(), filemap_get_read_batch().
 *
 * A miss at the start of a file, next to the page read last, or larger than the largest window
 * opens a window: the request rounded up to a power of two, x 4 or x 2. A miss elsewhere looks
 * back: if more pages than it asks for are cached in front of it, it takes that for the trace of a
 * stream and opens a window as long; if not, it reads what was asked. One page of each window is
 * marked; to read it starts the next window, twice as long (four times while it is small), up to
 * read_ahead_kb.
 *
 * Where the file system has large folios each marker met raises the order by two, up to the window,
 * and windows are cut so that the next one starts aligned.
 *
 * The open file, to which the window belongs, is not in the record. It is inferred: a read goes
 * through the open file (of the same task first) that read just before it in the file; failing
 * that, if it is the third of three in a row among the last reads, through an open file of its own,
 * as there are several streams; failing that, through the one with which its task jumps about.
 * Several streams over one descriptor, which in the kernel disturb each other, are thus taken for
 * several descriptors.
 *
 * Up to 3.10 one cached page in front of a miss was trace enough for a window, and large requests
 * were cut to read_ahead_kb (up to 4.9).
 *
 * Up to 6.10 ondemand_readahead() did both: a miss right behind the last window continues it, and a
 * first window that is all ahead is merged with the second. Up to 6.15 a window's order came from
 * the marked folio and ends were not aligned. ra_rules says which.
 *
 * Approximations: reads start and end on page boundaries; a window does not reach beyond the ids
 * that the stream has for its file; a request that runs past the end of the file is clipped before,
 * not after, it is compared with the window; device congestion is not known.
 */
#include <errno.h>
#include <stdlib.h>

#include "replay/kernel/kernel.h"

enum { FLIGHT_NS = 200000 };

static bool resident(const struct kernel_model *m, uint32_t page)
{
	return m->pages[page].flags & PG_RESIDENT;
}

static uint32_t round_up_pow2(uint32_t n)
{
	return n <= 1 ? 1 : 1U << (32 - __builtin_clz(n - 1));
}

static uint32_t init_ra_size(uint32_t want, uint32_t max)
{
	uint32_t size = round_up_pow2(want);

	if (size <= max / 32)
		return size * 4;
	return size <= max / 4 ? size * 2 : max;
}

static uint32_t next_ra_size(uint32_t size, uint32_t max)
{
	if (size < max / 16)
		return size * 4;
	return size <= max / 2 ? size * 2 : max;
}

/* The largest window for a request of @want pages. */
static uint32_t max_ra_pages(const struct kernel_model *m, uint32_t want)
{
	if (m->p.ra_rules > RA_RULES_3_2 && want > m->ra_pages && m->io_pages > m->ra_pages)
		return want < m->io_pages ? want : m->io_pages;
	return m->ra_pages;
}

/* One past the last id that readahead may touch: end of the file or of the extent. */
static uint32_t ra_end(struct kernel_model *m, uint32_t page)
{
	const struct replay_extent *e = page_extent(m, page);
	uint64_t in_file = e->file_pages > e->first_index ? e->file_pages - e->first_index : 0;

	if (in_file > e->pages)
		in_file = e->pages;
	/* The file grew after its size was noted. */
	if (e->first_id + in_file <= page)
		return page + 1;
	return in_file > m->nr_ids - e->first_id ? m->nr_ids : e->first_id + (uint32_t)in_file;
}

/*
 * A folio is added to a window that is being read: it is locked until the device is done, or until
 * the reader has waited for it. Where the record does not tell how long a wait is: FLIGHT_NS.
 */
static void take_off(struct kernel_model *m, uint32_t page, uint32_t nr)
{
	struct in_flight *f = &m->in_flight[(m->nr_windows - 1) % IN_FLIGHT_MAX];
	uint64_t until_ns = m->now_ns + (m->waits.wait_ns ? m->waits.wait_ns : FLIGHT_NS);

	if (m->nr_windows && f->end == page && f->until_ns == until_ns) {
		f->end += nr;
		return;
	}
	m->flight_until_ns = until_ns;
	m->in_flight[m->nr_windows++ % IN_FLIGHT_MAX] = (struct in_flight){
		.page = page, .end = page + nr, .until_ns = until_ns };
}

/* Single pages; those that are there are left out. The one @lookahead before the end is marked. */
static void ra_unbounded(struct kernel_model *m, uint32_t page, uint32_t nr, uint32_t lookahead)
{
	uint32_t end = ra_end(m, page), mark = lookahead <= nr ? page + nr - lookahead : NO_PAGE;

	if (nr < end - page)
		end = page + nr;
	for (; page < end; page++) {
		if (resident(m, page))
			continue;
		if (!fill_folio(m, page, 0, FILL_NORETRY))
			return;
		take_off(m, page, 1);
		if (page == mark)
			m->pages[page].flags |= PG_READAHEAD;
	}
}

static bool any_resident(const struct kernel_model *m, uint32_t page, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		if (resident(m, page + i))
			return true;
	return false;
}

/* The order of the folio at file index @index: at most @order, aligned, not beyond @left pages. */
static uint32_t aligned_order(uint64_t index, uint32_t order, uint32_t left)
{
	if (index & ((1ULL << order) - 1))
		order = (uint32_t)__builtin_ctzll(index);
	while (order && 1U << order > left)
		order--;
	return order;
}

/* Reads the window of @f, in folios as large as its order says. */
static void ra_order(struct kernel_model *m, struct open_file *f)
{
	uint32_t page = f->start, end = ra_end(m, page), mark = page + f->size - f->async_size;
	uint64_t index = page_index(m, page), mark_index = index + (mark - page);

	if (!m->large) {
		f->order = 0;
		ra_unbounded(m, page, f->size, f->async_size);
		return;
	}
	if (f->size < end - page)
		end = page + f->size;
	while (f->order && (f->order > m->max_order || 1U << f->order > f->size))
		f->order--;
	while (page < end) {
		uint32_t order = aligned_order(index, f->order, end - page), nr = 1U << order;

		if (any_resident(m, page, nr) || !fill_folio(m, page, order, FILL_NORETRY))
			break;
		take_off(m, page, nr);
		if (index == (mark_index & ~(uint64_t)(nr - 1)))
			m->pages[page].flags |= PG_READAHEAD;
		page += nr;
		index += nr;
	}
	if (page < end)
		ra_unbounded(m, page, f->size - (page - f->start), f->async_size);
}

/* Pages cached in a row in front of @page, at most @max; *to_start: back to the file's first. */
static uint32_t count_history(struct kernel_model *m, uint32_t page, uint32_t max, bool *to_start)
{
	const struct replay_extent *e = page_extent(m, page);
	uint32_t nr = 0;

	while (nr < max && page - nr > e->first_id && resident(m, page - nr - 1))
		nr++;
	*to_start = page - nr == e->first_id && !e->first_index;
	return nr;
}

/* Is @page next to @last, or one further? */
static bool follows(uint32_t last, uint32_t page)
{
	return last != NO_PAGE && page > last && page - last <= 2;
}

static void force_ra(struct kernel_model *m, uint32_t page, uint32_t want)
{
	uint32_t max = m->io_pages > m->ra_pages ? m->io_pages : m->ra_pages;

	want = m->ra_pages ? want : 1;
	ra_unbounded(m, page, want < max ? want : max, 0);
}

/* A window of its own for a miss. */
static void first_window(const struct kernel_model *m, struct open_file *f, uint32_t page,
			 uint32_t want, uint32_t max)
{
	f->start = page;
	f->size = init_ra_size(want, max);
	if (f->size > want)
		f->async_size = f->size - want;
	else
		f->async_size = m->p.ra_rules <= RA_RULES_6_1 ? f->size : f->size >> 1;
}

/* The window behind the last one. */
static void next_window(struct open_file *f, uint32_t max)
{
	uint32_t size = next_ra_size(f->size, max);

	f->start += f->size;
	f->size = size > f->size ? size : f->size;
	f->async_size = f->size;
}

/*
 * Pages in front of the miss that look like a stream's trace make a window as long; false: too few.
 */
static bool history_window(struct kernel_model *m, struct open_file *f, uint32_t page,
			   uint32_t want, uint32_t max)
{
	bool to_start;
	uint32_t history = count_history(m, page, max, &to_start);

	if (history <= (m->p.ra_rules == RA_RULES_3_2 ? 0 : want))
		return false;
	history *= to_start ? 2 : 1;
	if (m->p.ra_rules == RA_RULES_3_2) {
		f->start = page;
		f->size = f->async_size = init_ra_size(history + want, max);
		return true;
	}
	f->start = page;
	f->size = history + want < max ? history + want : max;
	f->async_size = 1;
	return true;
}

/* Up to 6.10 a window that is all ahead is one with the next. */
static void merge_next(const struct kernel_model *m, struct open_file *f, uint32_t page,
		       uint32_t max)
{
	uint32_t more;

	if (page != f->start || f->size != f->async_size)
		return;
	more = next_ra_size(f->size, max);
	if (m->p.ra_rules == RA_RULES_3_2) {
		f->async_size = more;
		f->size += more;
		return;
	}
	f->async_size = f->size + more <= max ? more : max >> 1;
	f->size = f->size + more <= max ? f->size + more : max;
}

/* A miss at @page of a request that wants @want pages from there. */
static void sync_ra(struct kernel_model *m, struct open_file *f, uint32_t page, uint32_t want)
{
	uint32_t max = max_ra_pages(m, want);
	bool old = m->p.ra_rules <= RA_RULES_6_1, at_start;

	if (!m->ra_pages || f->random) {
		force_ra(m, page, want);
		return;
	}
	at_start = !page_index(m, page);
	if (old && !at_start && f->size &&
	    (page == f->start + f->size - f->async_size || page == f->start + f->size)) {
		next_window(f, max);
	} else if (want > max || follows(f->prev_page, page) || at_start) {
		first_window(m, f, page, want, max);
	} else if (!history_window(m, f, page, want, max)) {
		ra_unbounded(m, page, want, 0);
		return;
	}
	if (f->start >= ra_end(m, page))
		return;		/* the next window of a file that ends here */
	if (old)
		merge_next(m, f, page, max);
	f->order = 0;
	ra_order(m, f);
}

/* Pages from @page that are there in a row, at most @max. */
static uint32_t count_cached(struct kernel_model *m, uint32_t page, uint32_t max)
{
	uint32_t end = ra_end(m, page), nr = 0;

	while (nr < max && page + nr < end && resident(m, page + nr))
		nr++;
	return nr;
}

/* Cuts the window so that the next one starts at a multiple of its folios. */
static void align_end(struct kernel_model *m, struct open_file *f, uint32_t max)
{
	uint32_t max_align = (uint32_t)__builtin_ctz(max), order = f->order;
	uint64_t start = page_index(m, f->start), end = start + f->size, aligned;

	aligned = end & ~((1ULL << (order < max_align ? order : max_align)) - 1);
	if (aligned > start)
		f->size -= (uint32_t)(end - aligned);
}

/* The marked folio at @page is read by a request that wants @want pages from there. */
static void async_ra(struct kernel_model *m, struct open_file *f, uint32_t page, uint32_t want)
{
	uint32_t max = max_ra_pages(m, want), expected, cached;

	m->pages[page].flags &= (uint16_t)~PG_READAHEAD;
	if (!m->ra_pages)
		return;
	expected = f->start + f->size - f->async_size;
	if (f->size && page <= expected && expected - page < folio_pages(m, page)) {
		next_window(f, max);
	} else {
		cached = 1 + count_cached(m, page + 1, max);
		if (cached > max)
			return;
		f->start = page + cached;
		f->size = next_ra_size(cached + want, max);
	}
	if (f->start >= ra_end(m, page))
		return;
	f->order = m->p.ra_rules == RA_RULES_6_18 ? f->order + 2 : folio_order(m, page) + 2;
	if (m->p.ra_rules == RA_RULES_6_18)
		align_end(m, f, max);
	f->async_size = f->size;
	if (m->p.ra_rules <= RA_RULES_6_1)
		merge_next(m, f, page, max);
	ra_order(m, f);
}

/* ---- open files ------------------------------------------------------------------------------ */

static bool continues(uint32_t last, uint32_t page)
{
	return page == last || follows(last, page);
}

/* The same for four neighbours. */
static uint32_t near_hash(uint32_t page)
{
	return page >> 2 & ((1 << NEAR_BITS) - 1);
}

/* May @page continue one that was read last? Of reads that jump about nearly none does. */
static bool is_near(const struct readers *r, uint32_t page)
{
	return r->nr_near[near_hash(page)] | r->nr_near[near_hash(page - 2)];
}

/* *@last is one of r->last_page or r->recent_page. */
static void set_last(struct readers *r, uint32_t *last, uint32_t page)
{
	r->nr_near[near_hash(*last)]--;
	r->nr_near[near_hash(page)]++;
	*last = page;
}

static struct open_file *find_stream(struct readers *r, uint32_t page, uint32_t task)
{
	struct open_file *other = NULL;

	for (uint32_t i = 0; i < r->nr_open; i++) {
		if (!continues(r->last_page[i], page))
			continue;
		if (r->open[i].task == task)
			return &r->open[i];
		other = &r->open[i];
	}
	return other;
}

/* One of the latest reads that @page continues; RECENT_READS: none. */
static uint32_t find_recent(const struct readers *r, uint32_t page)
{
	uint32_t i = 0;

	while (i < RECENT_READS && !continues(r->recent_page[i], page))
		i++;
	return i;
}

/* The descriptor that @task is known to jump about with; there is one at most. */
static struct open_file *find_random(struct readers *r, uint32_t task)
{
	struct open_file *f = &r->open[r->random];

	if (f->task == task && !f->stream && r->nr_open)
		return f;
	for (uint32_t i = 0; i < r->nr_open; i++) {
		if (r->open[i].task != task || r->open[i].stream)
			continue;
		r->random = i;
		return &r->open[i];
	}
	return NULL;
}

static struct open_file *new_open_file(struct readers *r)
{
	struct open_file *oldest = &r->open[0];

	if (r->nr_open < OPEN_FILES_MAX)
		return &r->open[r->nr_open++];
	for (uint32_t i = 1; i < OPEN_FILES_MAX; i++)
		if (r->open[i].used < oldest->used)
			oldest = &r->open[i];
	return oldest;
}

static struct open_file *open_file_of(struct readers *r, uint32_t page, uint32_t task, bool random)
{
	bool near = is_near(r, page), third;
	struct open_file *f = near ? find_stream(r, page, task) : NULL;
	uint32_t recent = near && !f ? find_recent(r, page) : RECENT_READS;

	third = recent < RECENT_READS && r->recent_second[recent];
	if (!f && !third)
		f = find_random(r, task);
	if (!f) {
		f = new_open_file(r);
		*f = (struct open_file){ .random = random, .stream = third, .task = task };
		set_last(r, &r->last_page[f - r->open], third ? r->recent_page[recent] : NO_PAGE);
	}
	f->used = ++r->nr_reads;
	r->recent_second[r->nr_reads % RECENT_READS] = recent < RECENT_READS;
	return f;
}

static struct readers *file_readers(struct kernel_model *m, struct file_state *file)
{
	if (file->readers)
		return file->readers;
	file->readers = calloc(1, sizeof(*file->readers));
	if (!file->readers)
		return NULL;
	m->metadata_bytes += sizeof(*file->readers);
	for (uint32_t i = 0; i < RECENT_READS; i++)
		file->readers->recent_page[i] = NO_PAGE;
	for (uint32_t i = 0; i < OPEN_FILES_MAX; i++)
		file->readers->last_page[i] = NO_PAGE;
	file->readers->nr_near[near_hash(NO_PAGE)] = OPEN_FILES_MAX + RECENT_READS;
	return file->readers;
}

/* ---- reading --------------------------------------------------------------------------------- */

/*
 * Up to a batch of folios from @page: marks them accessed, and starts the next window at the
 * marker. @fresh: they are just being read, so only the first is waited for. Returns the page to go
 * on with.
 */
static uint32_t read_batch(struct kernel_model *m, struct readers *r, struct open_file *f,
			   uint32_t page, uint32_t end, bool fresh)
{
	uint32_t *last_page = &r->last_page[f - r->open];

	for (uint32_t n = 0; n < m->p.batch_pages && page < end && resident(m, page); n++) {
		uint32_t head = folio_head(m, page), next = head + folio_pages(m, head);

		if (next > end)
			next = end;
		if (*last_page == NO_PAGE || *last_page < head || *last_page >= next)
			mark_accessed(m, head);
		for (; page < next; page++)
			demand_page(m, page);
		set_last(r, last_page, page - 1);
		if (m->pages[head].flags & PG_READAHEAD) {
			async_ra(m, f, head, end - head);
			break;
		}
		if (fresh)
			break;
	}
	return page;
}

/* The slots of m->in_flight[] that were filled since there had been @before windows. */
static uint32_t windows_since(const struct kernel_model *m, uint32_t before)
{
	uint32_t slots = 0;

	for (; before != m->nr_windows; before++)
		slots |= 1U << before % IN_FLIGHT_MAX;
	return slots;
}

/* The reader has waited for the windows in @slots. */
static void land(struct kernel_model *m, uint32_t slots)
{
	for (; slots; slots &= slots - 1)
		m->in_flight[__builtin_ctz(slots)].until_ns = 0;
}

/* One page that is there and no part of a larger folio, nor the marker: most reads. */
static inline bool is_plain_hit(const struct page *p, uint32_t run)
{
	return run == 1 && !p->order &&
	       (p->flags & (PG_RESIDENT | PG_READAHEAD | PG_TAIL)) == PG_RESIDENT;
}

/* read(2) of @run pages with the readahead that it causes. 0 or -ENOMEM. */
int readahead_read(struct kernel_model *m, struct file_state *file, uint32_t page, uint32_t run,
		   uint32_t task)
{
	struct readers *r = file_readers(m, file);
	uint32_t end = page + run, *last_page, sync_windows = 0;
	struct open_file *f;

	if (!r)
		return -ENOMEM;
	f = open_file_of(r, page, task, file->readahead == READAHEAD_RANDOM);
	last_page = &r->last_page[f - r->open];
	f->prev_page = *last_page;
	if (is_plain_hit(&m->pages[page], run)) {
		if (page != *last_page)
			mark_accessed(m, page);
		demand_page(m, page);
		set_last(r, last_page, page);
		set_last(r, &r->recent_page[r->nr_reads % RECENT_READS], page);
		return 0;
	}
	while (page < end) {
		bool fresh = !resident(m, page);

		if (fresh) {
			uint32_t before = m->nr_windows;

			sync_ra(m, f, page, end - page);
			sync_windows |= windows_since(m, before);
		}
		if (!resident(m, page))
			fill_folio(m, page, 0, 0);
		page = read_batch(m, r, f, page, end, fresh);
	}
	land(m, sync_windows);
	set_last(r, &r->recent_page[r->nr_reads % RECENT_READS], end - 1);
	return 0;
}

void readahead_release(struct kernel_model *m)
{
	for (size_t i = 0; i < m->nr_files; i++)
		free(m->files[i].readers);
}
