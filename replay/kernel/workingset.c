// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * workingset.c - shadow entries: was a page evicted too early?
 *
 * Follows Linux 6.18 mm/workingset.c: workingset_eviction(), workingset_refault(),
 * workingset_test_recent(), workingset_activation().
 *
 * The clock is nonresident_age, which advances by one for each page that leaves the inactive list,
 * by eviction or by activation. A page's age is kept when it is evicted; when it comes back, the
 * difference is the number of inactive slots that it lacked. If the active pages of its memcg could
 * have given that many, it is put straight onto the active list, where it challenges them.
 *
 * The comparison uses the memcg's statistics, which are up to stats_period old (memcg.c): in the
 * first seconds of a new memcg nothing is ever 'recent', as the active list reads as empty.
 *
 * Approximations: 32 bits of age (the kernel has 36 or more; wraps after 4 G evictions); shadow
 * entries are never reclaimed (the kernel drops whole nodes of shadows when they exceed an eighth of
 * the memcg's pages, 64 entries a node: only files of more than about 8 x the limit reach it).
 */
#include "replay/kernel/kernel.h"

void workingset_age(struct kernel_model *m, uint64_t pages)
{
	m->lruvec.nonresident_age += pages;
}

/* @page's folio is off the lists; its pages' flags become those of a shadow. */
void workingset_eviction(struct kernel_model *m, uint32_t page)
{
	uint32_t nr = folio_pages(m, page), end = page + nr;
	uint16_t shadow = PG_SHADOW | PG_SEEN | (m->flags[page] & (PG_WORKINGSET | PG_ANON));

	for (; page < end; page++) {
		m->links[page].next = (uint32_t)m->lruvec.nonresident_age;
		m->flags[page] = shadow;
	}
	workingset_age(m, nr);
}

static bool refault_is_recent(const struct kernel_model *m, uint32_t page)
{
	uint32_t distance = (uint32_t)m->lruvec.nonresident_age - m->links[page].next;

	return distance <= stat_pages(m, LRU_ACTIVE_FILE);
}

/*
 * A folio of @pages is coming back where @page has a shadow. Returns the flags it starts with:
 * PG_ACTIVE, and PG_WORKINGSET if it had been active before, when it was evicted too early.
 */
uint16_t workingset_refault(struct kernel_model *m, uint32_t page, uint32_t pages)
{
	m->n.c.refaults += pages;
	if (!refault_is_recent(m, page))
		return 0;
	workingset_age(m, pages);
	m->lruvec.nr_workingset_activate += pages;
	return PG_ACTIVE | (m->flags[page] & PG_WORKINGSET);
}
