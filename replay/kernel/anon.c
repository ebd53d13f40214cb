// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * anon.c - anonymous pages in the classic lists, and how much of them to scan beside file pages.
 *
 * Follows Linux 6.18: do_anonymous_page() and do_swap_page() of mm/memory.c, get_scan_count() of
 * mm/vmscan.c, lru_note_cost() of mm/swap.c.
 *
 * A first touch brings a page to the inactive list (since 5.9), mapped and young. Later touches
 * only set the accessed bit; reclaim finds it: young once, the page stays and is marked, young
 * again, it is activated; not young, it is written to swap. One that comes back from swap is judged
 * by its shadow.
 *
 * What to scan, in this order: no swap, or swappiness 0: files only. Priority 0: both alike. Enough
 * inactive file pages that nobody challenges (cache_trim_mode): files only. Else in proportion:
 *
 *	cost	per type, raised by 32 for each page written or refaulted and by 1 for each one
 *		scanned in vain, both halved when their sum exceeds a quarter of the lists
 *	A	= anon_cost + sum, F = file_cost + sum, T = A + F
 *	ap	= swappiness * (T + 1) / (A + 1),  fp = (200 - swappiness) * (T + 1) / (F + 1)
 *	scan	= (size >> priority) * ap or fp / (ap + fp)
 *
 * Approximations. Swap takes no time and is never full (zram): a page written is free at once, and
 * is written again each time, where the kernel may find it unchanged in the swap cache. No
 * readahead from swap, as with zram.
 */
#include "replay/kernel/kernel.h"

void anon_touch(struct kernel_model *m, uint32_t page, uint32_t run)
{
	m->lru_gen.mapped = true;
	for (uint32_t end = page + run; page < end; page++) {
		if (m->pages[page].flags & PG_RESIDENT) {
			m->pages[page].flags |= PG_YOUNG;
			continue;
		}
		m->n.c.swapped_in += (m->pages[page].flags & PG_SEEN) != 0;
		fill_folio(m, page, 0, FILL_DEMANDED | FILL_ANON);
	}
}

void lru_note_cost(struct kernel_model *m, bool file, uint64_t nr_io, uint64_t nr_rotated)
{
	uint64_t *cost = m->lruvec.cost, lru_size = 0;

	cost[file] += nr_io * m->p.cluster_pages + nr_rotated;
	for (int lru = 0; lru < NR_LRU_LISTS; lru++)
		lru_size += stat_pages(m, (enum lru_list)lru);
	if (cost[0] + cost[1] > lru_size / 4) {
		cost[0] /= 2;
		cost[1] /= 2;
	}
}

enum balance { SCAN_FILE, SCAN_EQUAL, SCAN_FRACT };

static enum balance scan_balance(const struct kernel_model *m, const struct scan_control *sc)
{
	if (!m->p.swap || !m->p.swappiness)
		return SCAN_FILE;
	if (!sc->priority)
		return SCAN_EQUAL;
	if (stat_pages(m, LRU_INACTIVE_FILE) >> sc->priority && !sc->may_deactivate[1])
		return SCAN_FILE;	/* cache_trim_mode */
	return SCAN_FRACT;
}

void get_scan_count(const struct kernel_model *m, const struct scan_control *sc,
		    uint64_t scan[NR_LRU_LISTS])
{
	enum balance balance = scan_balance(m, sc);
	uint64_t sum = m->lruvec.cost[0] + m->lruvec.cost[1];
	uint64_t anon = sum + m->lruvec.cost[0], file = sum + m->lruvec.cost[1];
	uint64_t ap = m->p.swappiness * (anon + file + 1) / (anon + 1);
	uint64_t fp = (200 - m->p.swappiness) * (anon + file + 1) / (file + 1);

	for (int lru = 0; lru < NR_LRU_LISTS; lru++) {
		bool is_file = lru >= LRU_INACTIVE_FILE;

		scan[lru] = m->lruvec.nr_pages[lru] >> sc->priority;
		if (balance == SCAN_FILE && !is_file)
			scan[lru] = 0;
		else if (balance == SCAN_FRACT)
			scan[lru] = scan[lru] * (is_file ? fp : ap) / (ap + fp);
	}
}
