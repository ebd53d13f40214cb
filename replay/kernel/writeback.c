// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * writeback.c - dirty pages: how long they stay dirty, and what reclaim does about it.
 *
 * Follows Linux 6.18 fs/fs-writeback.c (wb_workfn, wb_check_old_data_flush), mm/page-writeback.c
 * (folio_end_writeback) and mm/swap.c (folio_rotate_reclaimable).
 *
 * Every dirty_writeback_centisecs (5 s) the flusher writes what has been dirty for longer than
 * dirty_expire_centisecs (30 s). When a batch of reclaim finds nothing but dirty pages it wakes the
 * flusher to write everything, and waits until a batch of 32 has been written (in a v1 memcg, where
 * the writer is not throttled by dirty_ratio). Reclaim goes on while the flusher is at work: what
 * it has not come to yet is met dirty. A page that reclaim has met while it was dirty goes to the
 * inactive tail once it is clean, and is the next to be reclaimed - unless it was read in between:
 * the mark, PG_reclaim, is the bit of PG_readahead, which a read clears, opening a window.
 *
 * The flusher goes through the pages in the order of their ids, which is that of files and their
 * indexes, once; what is dirtied behind it waits for the next time. A page next to the last one
 * written takes write_page, any other write_io.
 *
 * Approximations: pages under writeback are dirty until they are clean, and nobody waits for one of
 * them; the device writes at one speed, whatever else it does; dirty_ratio does not throttle the
 * writer.
 */
#include <errno.h>
#include <stdlib.h>

#include "replay/kernel/kernel.h"

enum { WORD_BITS = 64, THROTTLE_PAGES = 33 };

/* The first write of a stream: room for the dirty list. 0 or -ENOMEM. */
static int writeback_init(struct kernel_model *m)
{
	size_t nr = (size_t)m->nr_ids + 1, nr_words = nr / WORD_BITS + 1;

	m->dirty = malloc(sizeof(*m->dirty) * nr);
	m->dirtied_ms = malloc(sizeof(*m->dirtied_ms) * nr);
	m->dirty_bits = calloc(nr_words, sizeof(*m->dirty_bits));
	if (!m->dirty || !m->dirtied_ms || !m->dirty_bits)
		return -ENOMEM;
	m->dirty[m->nr_ids] = (struct links){ .next = m->nr_ids, .prev = m->nr_ids };
	m->metadata_bytes += (sizeof(*m->dirty) + sizeof(*m->dirtied_ms)) * nr +
			     nr_words * sizeof(*m->dirty_bits);
	return 0;
}

static void list_insert(struct links *links, uint32_t at, uint32_t page)
{
	uint32_t next = links[at].next;

	links[page] = (struct links){ .next = next, .prev = at };
	links[next].prev = page;
	links[at].next = page;
}

static void list_remove(struct links *links, uint32_t page)
{
	uint32_t next = links[page].next, prev = links[page].prev;

	links[next].prev = prev;
	links[prev].next = next;
}

void writeback_release(struct kernel_model *m)
{
	free(m->dirty);
	free(m->dirtied_ms);
	free(m->dirty_bits);
}

int writeback_page_dirtied(struct kernel_model *m, uint32_t page)
{
	if (m->pages[page].flags & PG_DIRTY)
		return 0;
	if (!m->dirty && writeback_init(m))
		return -ENOMEM;
	m->pages[page].flags |= PG_DIRTY;
	m->dirtied_ms[page] = (uint32_t)(m->now_ns / 1000000);
	list_insert(m->dirty, m->dirty[m->nr_ids].prev, page);
	m->dirty_bits[page / WORD_BITS] |= 1ULL << page % WORD_BITS;
	m->nr_dirty++;
	if (m->limits_dirty)
		dirty_limit_check(m);
	return 0;
}

static void clear_dirty(struct kernel_model *m, uint32_t page)
{
	list_remove(m->dirty, page);
	m->dirty_bits[page / WORD_BITS] &= ~(1ULL << page % WORD_BITS);
	m->nr_dirty--;
}

/* Truncated: what was dirty is never written. */
void writeback_page_gone(struct kernel_model *m, uint32_t page)
{
	if (!(m->pages[page].flags & PG_DIRTY))
		return;
	clear_dirty(m, page);
}

static void page_written(struct kernel_model *m, uint32_t page)
{
	uint16_t flags = m->pages[page].flags;

	clear_dirty(m, page);
	m->n.c.written += folio_pages(m, page);
	m->pages[page].flags = flags & (uint16_t)~(PG_DIRTY | PG_RECLAIM);
	if (!(flags & PG_RECLAIM) || !(flags & PG_LRU))
		return;
	lru_del_page(m, page);
	m->pages[page].flags &= (uint16_t)~PG_ACTIVE;
	lru_add_page_tail(m, page);
	m->n.c.rotated += folio_pages(m, page);
}

/* The first dirty page from @page on; nr_ids: none. */
static uint32_t next_dirty(const struct kernel_model *m, uint32_t page)
{
	uint32_t word = page / WORD_BITS, last = m->nr_ids / WORD_BITS;
	uint64_t bits = m->dirty_bits[word] & ~0ULL << page % WORD_BITS;

	while (!bits && word < last)
		bits = m->dirty_bits[++word];
	return bits ? word * WORD_BITS + (uint32_t)__builtin_ctzll(bits) : m->nr_ids;
}

static void set_timer(struct kernel_model *m)
{
	m->next_wakeup_ns = m->next_periodic_ns;
	if (m->flushing && m->flush_at_ns < m->next_wakeup_ns)
		m->next_wakeup_ns = m->flush_at_ns;
}

/* The flusher starts on the page at its cursor, or has nothing left to do. */
static void flush_next(struct kernel_model *m)
{
	uint32_t page = next_dirty(m, m->flush_cursor);

	m->flushing = page < m->nr_ids;
	if (!m->flushing)
		return;
	m->flush_at_ns += m->p.write_page_ns * folio_pages(m, page) +
			  (page == m->flush_cursor ? 0 : m->p.write_io_ns);
	m->flush_cursor = page;
}

/* The page at the flusher's cursor is clean, if it is still there. */
static void flush_one(struct kernel_model *m)
{
	uint32_t page = m->flush_cursor;

	m->flush_cursor += folio_pages(m, page);
	if (m->pages[page].flags & PG_DIRTY)
		page_written(m, page);
	flush_next(m);
}

static void flush_until_now(struct kernel_model *m)
{
	while (m->flushing && m->flush_at_ns <= m->now_ns)
		flush_one(m);
}

void writeback_wakeup(struct kernel_model *m)
{
	flush_until_now(m);
	if (!m->flushing) {
		m->flush_cursor = 0;
		m->flush_at_ns = m->now_ns;
		flush_next(m);
	}
	for (int i = 0; i < THROTTLE_PAGES && m->flushing; i++) {
		if (m->flush_at_ns > m->now_ns)
			m->now_ns = m->flush_at_ns;
		flush_one(m);
	}
	set_timer(m);
}

static void write_expired(struct kernel_model *m)
{
	uint32_t now_ms = (uint32_t)(m->now_ns / 1000000);
	uint32_t expire_ms = (uint32_t)(m->p.dirty_expire_ns / 1000000);

	while (m->nr_dirty) {
		uint32_t page = m->dirty[m->nr_ids].next;

		if (now_ms - m->dirtied_ms[page] < expire_ms)
			break;
		page_written(m, page);
	}
}

void writeback_timer(struct kernel_model *m)
{
	flush_until_now(m);
	if (m->now_ns >= m->next_periodic_ns) {
		write_expired(m);
		while (m->next_periodic_ns <= m->now_ns)
			m->next_periodic_ns += m->p.dirty_wakeup_ns;
	}
	set_timer(m);
}

/* fsync */
void writeback_sync(struct kernel_model *m, uint32_t page)
{
	if (m->pages[page].flags & PG_DIRTY)
		page_written(m, page);
}
