// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * writeback.c - dirty pages: how long they stay dirty, and what reclaim does about it.
 *
 * Follows Linux 6.18 fs/fs-writeback.c (wb_workfn, wb_check_old_data_flush), mm/page-writeback.c
 * (folio_end_writeback) and mm/swap.c (folio_rotate_reclaimable).
 *
 * Every dirty_writeback_centisecs (5 s) the flusher writes what has been dirty for longer than
 * dirty_expire_centisecs (30 s), oldest first. When a batch of reclaim finds nothing but dirty
 * pages it wakes the flusher to write everything. A page that reclaim has met while it was dirty
 * goes to the inactive tail once it is clean, and is the next to be reclaimed.
 *
 * Approximations: writing takes no time; the kernel orders by inode and writes an inode's pages by
 * index, here by the time of dirtying; dirty_ratio does not throttle the writer (in a v1 memcg it
 * does not know of the memcg's limit anyway).
 */
#include <errno.h>
#include <stdlib.h>

#include "replay/kernel/kernel.h"

/* The first write of a stream: room for the dirty list. 0 or -ENOMEM. */
static int writeback_init(struct kernel_model *m)
{
	m->dirty = malloc(sizeof(*m->dirty) * ((size_t)m->nr_ids + 1));
	m->dirtied_ms = malloc(sizeof(*m->dirtied_ms) * ((size_t)m->nr_ids + 1));
	if (!m->dirty || !m->dirtied_ms)
		return -ENOMEM;
	m->dirty[m->nr_ids] = (struct links){ .next = m->nr_ids, .prev = m->nr_ids };
	m->metadata_bytes += (sizeof(*m->dirty) + sizeof(*m->dirtied_ms)) *
			     ((uint64_t)m->nr_ids + 1);
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
	m->nr_dirty++;
	if (m->limits_dirty)
		dirty_limit_check(m);
	return 0;
}

/* Truncated: what was dirty is never written. */
void writeback_page_gone(struct kernel_model *m, uint32_t page)
{
	if (!(m->pages[page].flags & PG_DIRTY))
		return;
	list_remove(m->dirty, page);
	m->nr_dirty--;
}

static void page_written(struct kernel_model *m, uint32_t page)
{
	uint16_t flags = m->pages[page].flags;

	list_remove(m->dirty, page);
	m->nr_dirty--;
	m->n.c.written += folio_pages(m, page);
	m->pages[page].flags = flags & (uint16_t)~(PG_DIRTY | PG_RECLAIM);
	if (!(flags & PG_RECLAIM) || !(flags & PG_LRU))
		return;
	lru_del_page(m, page);
	m->pages[page].flags &= (uint16_t)~PG_ACTIVE;
	lru_add_page_tail(m, page);
	m->n.c.rotated += folio_pages(m, page);
}

void writeback_wakeup(struct kernel_model *m)
{
	while (m->nr_dirty)
		page_written(m, m->dirty[m->nr_ids].next);
}

void writeback_timer(struct kernel_model *m)
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

/* fsync */
void writeback_sync(struct kernel_model *m, uint32_t page)
{
	if (m->pages[page].flags & PG_DIRTY)
		page_written(m, page);
}
