// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vmscan.c - reclaim of a memcg that reached its limit: the classic two lists.
 *
 * Follows Linux 6.18 mm/vmscan.c: do_try_to_free_pages(), prepare_scan_control(),
 * inactive_is_low(), get_scan_count() (anon.c), shrink_lruvec(), shrink_inactive_list(),
 * shrink_folio_list(), folio_check_references(), shrink_active_list(), snapshot_refaults().
 *
 * A pass at priority p wants size >> p pages of each list, in batches of 32, active and inactive in
 * turn; passes go on, each twice as deep, until 32 pages were reclaimed. With 16 384 pages that
 * takes six passes, so a call reclaims rather 62 pages than 32.
 *
 * The active list is aged only if the inactive one is low (inactive * sqrt(10 * GB) < active,
 * factor 1 below 1 GB) or if refaults were activated since the last call. Both are read from the
 * memcg's statistics: between two flushes the first is constant and the second true at most once.
 * An active page is deactivated whether it is referenced or not, and keeps the mark: one more
 * access activates it again.
 *
 * From the inactive tail: a page that is still being read is locked, and stays. A clean unmapped
 * one goes, referenced or not. A mapped one that was touched once stays and is marked, touched
 * twice it is activated. A dirty one is set aside to the active list and flagged to be rotated to
 * the tail when it has been written (the kernel's file pages are written by flushers, never by the
 * reclaiming task).
 */
#include "replay/kernel/kernel.h"

static unsigned int int_sqrt(uint64_t x)
{
	unsigned int r = 0;

	while ((uint64_t)(r + 1) * (r + 1) <= x)
		r++;
	return r;
}

static bool inactive_is_low(const struct kernel_model *m, bool file)
{
	uint64_t inactive = stat_pages(m, file ? LRU_INACTIVE_FILE : LRU_INACTIVE_ANON);
	uint64_t active = stat_pages(m, file ? LRU_ACTIVE_FILE : LRU_ACTIVE_ANON);
	uint64_t gb = (inactive + active) >> (30 - PAGE_BITS);
	unsigned int ratio = gb ? int_sqrt(10 * gb) : 1;

	return inactive * ratio < active;
}

static void prepare_scan_control(struct kernel_model *m, struct scan_control *sc)
{
	for (int file = 0; file < 2; file++)
		sc->may_deactivate[file] = sc->force_deactivate || inactive_is_low(m, file) ||
			stat_workingset_activate(m, file) != m->lruvec.refaults_snapshot[file];
}

/* @page's folio, off the lists, leaves memory. */
void reclaim_folio(struct kernel_model *m, uint32_t page, uint32_t pages)
{
	if (m->pages[page].flags & PG_ANON)
		m->n.c.swapped_out += pages;
	if (m->zones) {
		zones_free(m, page);
		workingset_page_out(m, page, pages, false);
		m->pages[page].flags = PG_SEEN | (m->pages[page].flags & PG_ANON);
	} else {
		workingset_eviction(m, page);
		memcg_uncharge(m, pages);
	}
	m->n.c.resident_pages -= pages;
	m->n.c.evictions += pages;
	m->n.c.reclaimed += pages;
	m->n.folios_reclaimed++;
	m->n.node_switches += page >> XA_CHUNK_BITS != m->n.last_node;
	m->n.last_node = page >> XA_CHUNK_BITS;
}

enum verdict { RECLAIM, KEEP, ACTIVATE };

/* folio_check_references() and the dirty part of shrink_folio_list(); clears what it looks at. */
static enum verdict judge(struct kernel_model *m, uint32_t page)
{
	uint16_t *flags = &m->pages[page].flags, old = *flags;

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
	enum verdict verdict = page_in_flight(m, page) ? KEEP : judge(m, page);

	if (verdict == RECLAIM) {
		reclaim_folio(m, page, pages);
		return pages;
	}
	if (verdict == ACTIVATE) {
		m->pages[page].flags |= PG_ACTIVE;
		m->n.c.activated += pages;
		workingset_age(m, pages);
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
static uint64_t shrink_inactive_list(struct kernel_model *m, uint64_t nr, enum lru_list lru)
{
	uint64_t nr_reclaimed = 0, nr_dirty = 0, nr_scanned = 0, available;
	bool file = lru == LRU_INACTIVE_FILE;

	lru_drain(m);
	available = m->lruvec.nr_pages[lru];
	while (nr_scanned < nr && nr_scanned < available) {
		uint32_t page = list_last(m, lru), pages = folio_pages(m, page);

		list_prefetch(m, lru);
		nr_scanned += pages;
		nr_dirty += m->pages[page].flags & PG_DIRTY ? pages : 0;
		lru_del_page(m, page);
		nr_reclaimed += shrink_folio(m, page, pages);
	}
	m->n.c.scanned += nr_scanned;
	m->n.scan_calls++;
	lru_note_cost(m, file, file ? 0 : nr_reclaimed, nr_scanned - nr_reclaimed);
	if (nr_dirty && nr_dirty == nr_scanned)
		writeback_wakeup(m);
	return nr_reclaimed;
}

/* Deactivates pages from the active tail until @nr are scanned. */
static void shrink_active_list(struct kernel_model *m, uint64_t nr, enum lru_list lru)
{
	uint64_t nr_scanned = 0;

	lru_drain(m);
	while (nr_scanned < nr && m->lruvec.nr_pages[lru]) {
		uint32_t page = list_last(m, lru);

		list_prefetch(m, lru);
		nr_scanned += folio_pages(m, page);
		lru_del_page(m, page);
		m->pages[page].flags = (m->pages[page].flags & (uint16_t)~(PG_ACTIVE | PG_YOUNG)) |
				 PG_WORKINGSET;
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

static uint64_t shrink_list(struct kernel_model *m, struct scan_control *sc, enum lru_list lru,
			    uint64_t nr)
{
	bool active = lru == LRU_ACTIVE_ANON || lru == LRU_ACTIVE_FILE;

	if (!active)
		return shrink_inactive_list(m, nr, lru);
	if (sc->may_deactivate[lru == LRU_ACTIVE_FILE])
		shrink_active_list(m, nr, lru);
	else
		sc->skipped_deactivate = true;
	return 0;
}

/*
 * Enough was reclaimed: the kind of page with less left to scan stops here, the other goes on until
 * it was scanned in the same proportion of what was asked for.
 */
static void scan_in_proportion(uint64_t nr[NR_LRU_LISTS], const uint64_t target[NR_LRU_LISTS])
{
	uint64_t nr_anon = nr[LRU_INACTIVE_ANON] + nr[LRU_ACTIVE_ANON];
	uint64_t nr_file = nr[LRU_INACTIVE_FILE] + nr[LRU_ACTIVE_FILE], pct;
	enum lru_list stop = nr_file > nr_anon ? LRU_INACTIVE_ANON : LRU_INACTIVE_FILE;
	enum lru_list go = stop == LRU_INACTIVE_ANON ? LRU_INACTIVE_FILE : LRU_INACTIVE_ANON;

	pct = (nr[stop] + nr[stop + 1]) * 100 / (target[stop] + target[stop + 1] + 1);
	nr[stop] = nr[stop + 1] = 0;
	for (int i = 0; i < 2; i++) {
		uint64_t scanned = target[go + i] - nr[go + i];
		uint64_t want = target[go + i] * (100 - pct) / 100;

		nr[go + i] = want > scanned ? want - scanned : 0;
	}
}

/* One pass over the lists at sc->priority. */
static void shrink_lruvec(struct kernel_model *m, struct scan_control *sc)
{
	uint64_t nr[NR_LRU_LISTS], target[NR_LRU_LISTS], nr_reclaimed = 0;
	bool proportional = false;

	get_scan_count(m, sc, nr);
	for (int lru = 0; lru < NR_LRU_LISTS; lru++)
		target[lru] = nr[lru];
	while (nr[LRU_INACTIVE_ANON] || nr[LRU_ACTIVE_FILE] || nr[LRU_INACTIVE_FILE]) {
		for (int lru = 0; lru < NR_LRU_LISTS; lru++)
			if (nr[lru])
				nr_reclaimed += shrink_list(m, sc, (enum lru_list)lru,
							    take(&nr[lru], m->p.cluster_pages));
		if (nr_reclaimed < sc->nr_to_reclaim || proportional)
			continue;
		/* No other kind of page to be in proportion with: done. */
		if (!(nr[LRU_INACTIVE_ANON] + nr[LRU_ACTIVE_ANON]) ||
		    !(nr[LRU_INACTIVE_FILE] + nr[LRU_ACTIVE_FILE]))
			break;
		scan_in_proportion(nr, target);
		proportional = true;
	}
	sc->nr_reclaimed += nr_reclaimed;
	if (m->p.swap && inactive_is_low(m, false))
		shrink_active_list(m, m->p.cluster_pages, LRU_ACTIVE_ANON);
}

void shrink_node(struct kernel_model *m, struct scan_control *sc)
{
	if (m->gen) {
		lru_gen_shrink_lruvec(m, sc);
	} else {
		prepare_scan_control(m, sc);
		shrink_lruvec(m, sc);
	}
	shrink_shadow_nodes(m);
	if (m->p.kswapd)	/* a memcg has a bitmap of its shrinkers that are not empty */
		m->n.superblocks_polled += m->p.nr_superblocks;
}

void snapshot_refaults(struct kernel_model *m)
{
	for (int file = 0; file < 2; file++)
		m->lruvec.refaults_snapshot[file] = stat_workingset_activate(m, file);
}

static uint64_t do_try_to_free_pages(struct kernel_model *m, struct scan_control *sc)
{
	for (sc->priority = DEF_PRIORITY; sc->priority >= 0; sc->priority--) {
		shrink_node(m, sc);
		if (sc->nr_reclaimed >= sc->nr_to_reclaim)
			break;
	}
	snapshot_refaults(m);
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
