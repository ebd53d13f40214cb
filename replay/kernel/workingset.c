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

/* @page is off the lists; its flags become those of a shadow. */
void workingset_eviction(struct kernel_model *m, uint32_t page)
{
	m->links[page].next = (uint32_t)m->lruvec.nonresident_age;
	m->flags[page] = PG_SHADOW | PG_SEEN | (m->flags[page] & (PG_WORKINGSET | PG_ANON));
	workingset_age(m, 1);
}

static bool refault_is_recent(const struct kernel_model *m, uint32_t page)
{
	uint32_t distance = (uint32_t)m->lruvec.nonresident_age - m->links[page].next;

	return distance <= stat_pages(m, LRU_ACTIVE_FILE);
}

/* @page has a shadow and is coming back: decides whether it starts out active. */
void workingset_refault(struct kernel_model *m, uint32_t page)
{
	uint16_t flags = m->flags[page];

	m->n.c.refaults++;
	m->flags[page] = flags & (uint16_t)~PG_WORKINGSET;
	if (!refault_is_recent(m, page))
		return;
	m->flags[page] = flags | PG_ACTIVE;
	workingset_age(m, 1);
	m->lruvec.nr_workingset_activate++;
}
