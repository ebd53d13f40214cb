// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lru.c - the lists, the per-CPU folio batches in front of them, and accessed marks.
 *
 * Follows Linux 6.18 mm/swap.c: folio_add_lru(), folio_mark_accessed(), folio_activate(),
 * __lru_cache_activate_folio(), lru_add_drain_cpu().
 *
 * A new folio waits in a batch of 31 until the batch is full or reclaim drains it, so the youngest
 * folios are not on any list yet. The second mark of an inactive folio activates it: through
 * another batch if it is on a list, at once if it still waits to be added. What is in the activate
 * batch is inactive until then, so a third and fourth mark may count as a second activation; the
 * drain then finds the folio active and leaves it.
 *
 * A large folio never waits: it drains the batch that it is put into.
 *
 * Approximation: one set of batches, whatever the number of CPUs. A task that migrates leaves up to
 * 31 folios in the old CPU's batches, out of reclaim's reach: at most 31 x CPUs pages of the limit.
 */
#include "replay/kernel/kernel.h"

void lru_add_page(struct kernel_model *m, uint32_t page)
{
	enum lru_list lru;

	if (m->gen)
		lru_gen_place(m, page, false);
	lru = page_list(m, page);
	list_add(m, lru, page, folio_pages(m, page));
	m->pages[page].flags |= PG_LRU;
	m->lruvec.nr_pages[lru] += folio_pages(m, page);
}

void lru_add_page_tail(struct kernel_model *m, uint32_t page)
{
	enum lru_list lru;

	if (m->gen)
		lru_gen_place(m, page, true);
	lru = page_list(m, page);
	list_add_tail(m, lru, page, folio_pages(m, page));
	m->pages[page].flags |= PG_LRU;
	m->lruvec.nr_pages[lru] += folio_pages(m, page);
}

void lru_del_page(struct kernel_model *m, uint32_t page)
{
	enum lru_list lru = page_list(m, page);

	list_del(m, lru, page);
	m->pages[page].flags &= (uint16_t)~PG_LRU;
	m->lruvec.nr_pages[lru] -= folio_pages(m, page);
}

static void drain_add(struct kernel_model *m)
{
	for (uint32_t i = 0; i < m->lru_add.nr; i++)
		lru_add_page(m, m->lru_add.page[i]);
	m->n.drains += m->lru_add.nr != 0;
	m->lru_add.nr = 0;
}

static void drain_activate(struct kernel_model *m)
{
	for (uint32_t i = 0; i < m->lru_activate.nr; i++) {
		uint32_t page = m->lru_activate.page[i];

		if (m->pages[page].flags & PG_ACTIVE)
			continue;
		lru_del_page(m, page);
		m->pages[page].flags |= PG_ACTIVE;
		lru_add_page(m, page);
		m->n.c.activated += folio_pages(m, page);
		m->n.promoted += folio_pages(m, page);
	}
	m->n.drains += m->lru_activate.nr != 0;
	m->lru_activate.nr = 0;
}

void lru_drain(struct kernel_model *m)
{
	drain_add(m);
	drain_activate(m);
}

void lru_cache_add(struct kernel_model *m, uint32_t page)
{
	m->lru_add.page[m->lru_add.nr++] = page;
	if (m->lru_add.nr >= m->p.batch_pages || folio_order(m, page))
		drain_add(m);
}

/* Its last reference was a batch's: nobody will add or activate it any more. */
static void batch_remove(struct folio_batch *batch, uint32_t page)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < batch->nr; i++)
		if (batch->page[i] != page)
			batch->page[kept++] = batch->page[i];
	batch->nr = kept;
}

/* Takes a resident page off whatever list or batch it is on. */
void lru_forget(struct kernel_model *m, uint32_t page)
{
	batch_remove(&m->lru_activate, page);
	if (m->pages[page].flags & PG_LRU)
		lru_del_page(m, page);
	else
		batch_remove(&m->lru_add, page);
}

/* The second mark of an inactive page. */
void mark_accessed_again(struct kernel_model *m, uint32_t page)
{
	if (m->gen) {
		lru_gen_inc_refs(m, page);
		return;
	}
	if (m->zones && !(m->pages[page].flags & PG_LRU))
		return;
	if (m->pages[page].flags & PG_LRU) {
		m->lru_activate.page[m->lru_activate.nr++] = page;
		if (m->lru_activate.nr >= m->p.batch_pages || folio_order(m, page))
			drain_activate(m);
	} else {
		m->pages[page].flags |= PG_ACTIVE;
	}
	m->pages[page].flags &= (uint16_t)~PG_REFERENCED;
	workingset_age(m, folio_pages(m, page));
}

/* Single pages again, at the same place of the same list. */
void folio_split(struct kernel_model *m, uint32_t page)
{
	uint32_t nr = folio_pages(m, page);
	struct page_list *list = &m->lists[page_list(m, page)];
	uint16_t flags = m->pages[page].flags;

	m->pages[page].order = 0;
	for (uint32_t i = 1; i < nr; i++) {
		uint16_t own = m->pages[page + i].flags & PG_OF_PAGE & (uint16_t)~PG_TAIL;

		m->pages[page + i].order = 0;
		m->pages[page + i].flags = own | (flags & (uint16_t)~(PG_OF_PAGE | PG_DIRTY));
		m->pages[page + i].gen = m->pages[page].gen;
		if (flags & PG_LRU)
			list_set(m, list, page + i, m->pages[page].slot - i, 1);
		if (flags & PG_DIRTY)
			writeback_page_dirtied(m, page + i);
	}
}
