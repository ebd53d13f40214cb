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

static void evict(struct kernel_model *m, uint32_t page)
{
	workingset_eviction(m, page);
	memcg_uncharge(m, 1);
	m->n.c.resident_pages--;
	m->n.c.evictions++;
	m->n.c.reclaimed++;
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

/* Takes up to @nr pages from the inactive tail; returns how many were reclaimed. */
static uint64_t shrink_inactive_list(struct kernel_model *m, uint64_t nr)
{
	uint32_t head = lru_head(m, LRU_INACTIVE_FILE);
	uint64_t nr_reclaimed = 0, nr_dirty = 0, i;
	/* Pages put back at the head must not be met again in the same batch. */
	uint64_t available;

	lru_drain(m);
	available = m->lruvec.nr_pages[LRU_INACTIVE_FILE];
	if (nr > available)
		nr = available;
	for (i = 0; i < nr; i++) {
		uint32_t page = m->links[head].prev;
		enum verdict verdict;

		nr_dirty += !!(m->flags[page] & PG_DIRTY);
		verdict = judge(m, page);
		lru_del_page(m, page);
		if (verdict == RECLAIM) {
			evict(m, page);
			nr_reclaimed++;
			continue;
		}
		if (verdict == ACTIVATE) {
			m->flags[page] |= PG_ACTIVE;
			m->n.c.activated++;
		} else {
			m->n.c.rotated++;
		}
		lru_add_page(m, page);
	}
	m->n.c.scanned += i;
	m->n.scan_calls++;
	if (i && nr_dirty == i)
		writeback_wakeup(m);
	return nr_reclaimed;
}

/* Deactivates up to @nr pages from the active tail. */
static void shrink_active_list(struct kernel_model *m, uint64_t nr)
{
	uint32_t head = lru_head(m, LRU_ACTIVE_FILE);
	uint64_t i;

	lru_drain(m);
	for (i = 0; i < nr && m->lruvec.nr_pages[LRU_ACTIVE_FILE]; i++) {
		uint32_t page = m->links[head].prev;

		lru_del_page(m, page);
		m->flags[page] = (m->flags[page] & (uint16_t)~PG_ACTIVE) | PG_WORKINGSET;
		lru_add_page(m, page);
	}
	m->n.refills += i;
	m->n.c.deactivated += i;
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
