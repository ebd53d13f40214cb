// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vmscan.c - reclaim of a memcg that reached its limit: the classic two lists.
 *
 * Follows Linux 6.18 mm/vmscan.c: do_try_to_free_pages(), prepare_scan_control(),
 * inactive_is_low(), get_scan_count() (no swap: file only), shrink_lruvec(), shrink_inactive_list(),
 * shrink_folio_list(), folio_check_references(), shrink_active_list(), snapshot_refaults().
 *
 * A pass at priority p wants size >> p pages of each list, in batches of 32, active and inactive in
 * turn; passes go on, each twice as deep, until 32 pages were reclaimed. With 16 384 pages that takes
 * six passes, so a call reclaims rather 62 pages than 32.
 *
 * The active list is aged only if the inactive one is low (inactive * sqrt(10 * GB) < active, factor
 * 1 below 1 GB) or if refaults were activated since the last call. Both are read from the memcg's
 * statistics: between two flushes the first is constant and the second true at most once. An active
 * page is deactivated whether it is referenced or not, and keeps the mark: one more access activates
 * it again.
 *
 * From the inactive tail: a clean unmapped page goes, referenced or not. A mapped one that was
 * touched once stays and is marked, touched twice it is activated. A dirty one is set aside to the
 * active list and flagged to be rotated to the tail when it has been written (the kernel's file
 * pages are written by flushers, never by the reclaiming task).
 */
#include "replay/kernel/kernel.h"

static unsigned int int_sqrt(uint64_t x)
{
	unsigned int r = 0;

	while ((uint64_t)(r + 1) * (r + 1) <= x)
		r++;
	return r;
}

static bool inactive_is_low(const struct kernel_model *m)
{
	uint64_t inactive = stat_pages(m, LRU_INACTIVE_FILE);
	uint64_t active = stat_pages(m, LRU_ACTIVE_FILE);
	uint64_t gb = (inactive + active) >> (30 - PAGE_BITS);
	unsigned int ratio = gb ? int_sqrt(10 * gb) : 1;

	return inactive * ratio < active;
}

static void prepare_scan_control(struct kernel_model *m, struct scan_control *sc)
{
	sc->may_deactivate = sc->force_deactivate || inactive_is_low(m) ||
			     stat_workingset_activate(m) != m->lruvec.refaults_snapshot;
}

static void evict(struct kernel_model *m, uint32_t page, uint32_t pages)
{
	workingset_eviction(m, page);
	memcg_uncharge(m, pages);
	m->n.c.resident_pages -= pages;
	m->n.c.evictions += pages;
	m->n.c.reclaimed += pages;
}

enum verdict { RECLAIM, KEEP, ACTIVATE };

/* folio_check_references() and the dirty part of shrink_folio_list(); clears what it looks at. */
static enum verdict judge(struct kernel_model *m, uint32_t page)
{
	uint16_t *flags = &m->flags[page], old = *flags;

	if (!(old & (PG_REFERENCED | PG_YOUNG | PG_DIRTY)))
		return RECLAIM;
	*flags &= (uint16_t)~(PG_REFERENCED | PG_YOUNG);
	if (old & PG_YOUNG) {
		*flags |= PG_REFERENCED;
		return old & PG_REFERENCED ? ACTIVATE : KEEP;
	}
	if (old & PG_DIRTY) {
		*flags |= PG_RECLAIM;
		return ACTIVATE;
	}
	return RECLAIM;
}

/* Looks at one folio, which is off the list. Returns the pages reclaimed. */
static uint32_t shrink_folio(struct kernel_model *m, uint32_t page, uint32_t pages)
{
	enum verdict verdict = judge(m, page);

	if (verdict == RECLAIM) {
		evict(m, page, pages);
		return pages;
	}
	if (verdict == ACTIVATE) {
		m->flags[page] |= PG_ACTIVE;
		m->n.c.activated += pages;
	} else {
		m->n.c.rotated += pages;
	}
	lru_add_page(m, page);
	return 0;
}

/*
 * Takes pages from the inactive tail until @nr are scanned (the last folio may be larger); returns
 * how many were reclaimed. What is put back at the head is not met again in the same batch.
 */
static uint64_t shrink_inactive_list(struct kernel_model *m, uint64_t nr)
{
	uint32_t head = lru_head(m, LRU_INACTIVE_FILE);
	uint64_t nr_reclaimed = 0, nr_dirty = 0, nr_scanned = 0, available;

	lru_drain(m);
	available = m->lruvec.nr_pages[LRU_INACTIVE_FILE];
	while (nr_scanned < nr && nr_scanned < available) {
		uint32_t page = m->links[head].prev, pages = folio_pages(m, page);

		nr_scanned += pages;
		nr_dirty += m->flags[page] & PG_DIRTY ? pages : 0;
		lru_del_page(m, page);
		nr_reclaimed += shrink_folio(m, page, pages);
	}
	m->n.c.scanned += nr_scanned;
	m->n.scan_calls++;
	if (nr_dirty && nr_dirty == nr_scanned)
		writeback_wakeup(m);
	return nr_reclaimed;
}

/* Deactivates pages from the active tail until @nr are scanned. */
static void shrink_active_list(struct kernel_model *m, uint64_t nr)
{
	uint32_t head = lru_head(m, LRU_ACTIVE_FILE);
	uint64_t nr_scanned = 0;

	lru_drain(m);
	while (nr_scanned < nr && m->lruvec.nr_pages[LRU_ACTIVE_FILE]) {
		uint32_t page = m->links[head].prev;

		nr_scanned += folio_pages(m, page);
		lru_del_page(m, page);
		m->flags[page] = (m->flags[page] & (uint16_t)~PG_ACTIVE) | PG_WORKINGSET;
		lru_add_page(m, page);
	}
	m->n.refills += nr_scanned;
	m->n.c.deactivated += nr_scanned;
	m->n.scan_calls++;
}

static uint64_t take(uint64_t *left, uint64_t most)
{
	uint64_t nr = *left < most ? *left : most;

	*left -= nr;
	return nr;
}

/* One pass over the file lists at sc->priority. */
static void shrink_lruvec(struct kernel_model *m, struct scan_control *sc)
{
	uint64_t inactive = m->lruvec.nr_pages[LRU_INACTIVE_FILE] >> sc->priority;
	uint64_t active = m->lruvec.nr_pages[LRU_ACTIVE_FILE] >> sc->priority;
	uint64_t nr_reclaimed = 0;

	while (inactive || active) {
		if (inactive)
			nr_reclaimed += shrink_inactive_list(m, take(&inactive,
								     m->p.cluster_pages));
		if (active) {
			uint64_t nr = take(&active, m->p.cluster_pages);

			if (sc->may_deactivate)
				shrink_active_list(m, nr);
			else
				sc->skipped_deactivate = true;
		}
		/* Enough in this pass, and no other kind of page to be in proportion with. */
		if (nr_reclaimed >= sc->nr_to_reclaim)
			break;
	}
	sc->nr_reclaimed += nr_reclaimed;
}

static uint64_t do_try_to_free_pages(struct kernel_model *m, struct scan_control *sc)
{
	for (sc->priority = DEF_PRIORITY; sc->priority >= 0; sc->priority--) {
		prepare_scan_control(m, sc);
		shrink_lruvec(m, sc);
		shrink_shadow_nodes(m);
		if (sc->nr_reclaimed >= sc->nr_to_reclaim)
			break;
	}
	m->lruvec.refaults_snapshot = stat_workingset_activate(m);
	return sc->nr_reclaimed;
}

uint64_t try_to_free_pages(struct kernel_model *m, uint64_t nr_pages)
{
	struct scan_control sc = {
		.nr_to_reclaim = nr_pages > m->p.cluster_pages ? nr_pages : m->p.cluster_pages,
	};
	uint64_t nr_reclaimed = do_try_to_free_pages(m, &sc);

	m->n.reclaim_calls++;
	if (nr_reclaimed || !sc.skipped_deactivate)
		return nr_reclaimed;
	sc.force_deactivate = true;
	return do_try_to_free_pages(m, &sc);
}
