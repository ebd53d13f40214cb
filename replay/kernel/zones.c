// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * zones.c - reclaim by zones, as in Linux 3.2: lists, watermarks and a slab pass for each zone.
 *
 * The problem. Before 4.8 memory was reclaimed zone by zone. On a 64-bit machine of a few GB that
 * is DMA (the first 16 MB), DMA32 (up to 4 GB, less the hole for devices) and NORMAL, what lies
 * above: often the smallest of the two that matter. Allocations try NORMAL first, and kswapd goes
 * round until *every* zone is above its high watermark. So pages that happen to be in a small
 * NORMAL leave much earlier than those in DMA32, and all that kswapd does once per zone and round
 * it does often: above all shrink_slab(), which asks the shrinker of every superblock.
 *
 *	         DMA           DMA32               NORMAL      <- allocations come from the right
 *	 high   ------        ------               ------	kswapd until all are here
 *	 low    ------        ------               ------	none above: kswapd is woken
 *	 min    ------        ------               ------	none above: direct reclaim
 *	        + what each keeps from those who could have had a higher zone (lowmem_reserve)
 *
 * mm/vmscan.c of 3.2: balance_pgdat(), sleeping_prematurely(), kswapd_try_to_sleep(),
 * do_try_to_free_pages(), shrink_zones(), shrink_zone(), get_scan_count(), shrink_inactive_list(),
 * page_check_references(), shrink_active_list(), inactive_file_is_low(), shrink_slab();
 * mm/page_alloc.c: get_page_from_freelist(), __alloc_pages_slowpath(), setup_per_zone_wmarks(),
 * setup_per_zone_lowmem_reserve(); mm/huge_memory.c: set_recommended_min_free_kbytes();
 * mm/swap.c: mark_page_accessed().
 *
 * What differs from later kernels, beside the zones:
 *  - No shadow entries: a page that comes back starts on the inactive list. The active file list is
 *    aged only while it is longer than the inactive one, so what was read twice stays as long as a
 *    stream does not push it out.
 *  - A write marks the page accessed like a read; a page that still waits in a pagevec (14) is not
 *    activated by its second mark.
 *  - kswapd starts over at priority 12 as soon as a round freed 32 pages; from priority 9 on it
 *    writes dirty pages itself and waits up to HZ/10 after a round.
 *  - A dirty file page met earlier stays inactive and goes to the tail once it is written.
 *
 * The size that is replayed is the machine's memory; DMA32 takes its part first, then NORMAL. The
 * slab passes poll `superblocks` empty ones at `superblock` ns each; kswapd takes `kswapd_page` for
 * each page it looks at, beside the program, so that a program that allocates faster gets into
 * direct reclaim. replay/components/kswapd.c has the same loop on counts instead of pages; a test
 * holds the two against each other.
 *
 * Approximations. One node, order 0. Per-CPU free lists are left out (up to 186 pages a zone and
 * CPU count as free too late). Executable mappings are not told apart on the active list. The dirty
 * pages that kswapd writes are clean at once. mmap readahead is as recorded. Slab caches have no
 * objects to free, as on a file server whose superblocks are empty: a pass costs and frees nothing.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "replay/kernel/kernel.h"

enum { ZONE_DMA, ZONE_DMA32, ZONE_NORMAL };
enum {
	DMA_PAGES = 3980,		/* of the first 16 MB */
	RESERVE_RATIO = 256,		/* sysctl_lowmem_reserve_ratio of DMA and DMA32 */
	GAP_RATIO = 100,		/* KSWAPD_ZONE_BALANCE_GAP_RATIO */
	PAGEBLOCK_PAGES = 512,
	MAX_DIRECT_TRIES = 16,
	LEAST_STEP_NS = 100,
};
#define DOZE_NS 100000000ULL		/* HZ/10 */

struct zone {
	int64_t present, free, other;	/* other: charged, on no list */
	int64_t min, low, high;
	int64_t reserve[NR_ZONES];	/* lowmem_reserve, by the zone that was asked for */
	uint64_t pages_scanned;		/* since a page of the zone was freed */
	uint64_t recent_scanned[2], recent_rotated[2];	/* anonymous, file */
	bool all_unreclaimable;
};

enum kswapd_state { KSWAPD_SLEEPS, KSWAPD_DOZES, KSWAPD_RUNS };

struct zones {
	struct zone zone[NR_ZONES];
	int top;			/* the highest zone that has memory */
	int alloc_zone;			/* of the latest allocation */
	/* balance_pgdat(), one zone at a time */
	enum kswapd_state state;
	uint64_t next_ns;		/* its step is over, or it stops dozing */
	int priority, end_zone, i;	/* i < 0: a round is to begin */
	bool all_ok, under_min;
	uint64_t nr_reclaimed, total_scanned;
	struct zones_counts n;
};

const struct zones_counts *zones_counts(const struct kernel_model *m)
{
	return &m->zones->n;
}

struct zone_marks zones_marks(const struct kernel_model *m, int i)
{
	const struct zone *zone = &m->zones->zone[i];

	return (struct zone_marks){
		.present = zone->present, .free = zone->free, .min = zone->min, .low = zone->low,
		.high = zone->high,
		.reserve = { zone->reserve[0], zone->reserve[1], zone->reserve[2] },
	};
}

/* ---- sizes and watermarks -------------------------------------------------------------------- */

static int64_t min_i64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* min_free_kbytes in pages: by the size of memory, or what transparent huge pages recommend. */
static int64_t min_free_pages(const struct kernel_model *m, int64_t memory)
{
	double kb = floor(sqrt(16.0 * (double)memory * (PAGE_BYTES / 1024)));
	int64_t by_size = (int64_t)(kb < 128 ? 128 : kb > 65536 ? 65536 : kb) / (PAGE_BYTES / 1024);
	int64_t nr_zones = m->zones->top + 1, huge;

	if (m->p.min_free_bytes)
		return (int64_t)(m->p.min_free_bytes / PAGE_BYTES);
	huge = min_i64(PAGEBLOCK_PAGES * nr_zones * (2 + 3 * 3), memory / 20);
	return huge > by_size ? huge : by_size;
}

static void set_watermarks(struct kernel_model *m, int64_t memory)
{
	int64_t min_free = min_free_pages(m, memory);

	for (int i = 0; i < NR_ZONES; i++) {
		struct zone *zone = &m->zones->zone[i];
		int64_t above = 0;

		zone->min = min_free * zone->present / memory;
		zone->low = zone->min + zone->min / 4;
		zone->high = zone->min + zone->min / 2;
		for (int j = i + 1; j < NR_ZONES; j++) {
			above += m->zones->zone[j].present;
			zone->reserve[j] = above / RESERVE_RATIO;
		}
	}
}

int zones_init(struct kernel_model *m, int64_t memory)
{
	int64_t left = memory, other = (int64_t)(m->p.reserve_bytes / PAGE_BYTES);
	const int64_t most[NR_ZONES] = {
		[ZONE_DMA] = DMA_PAGES, [ZONE_DMA32] = (int64_t)(m->p.dma32_bytes / PAGE_BYTES),
		[ZONE_NORMAL] = INT64_MAX,
	};

	m->zones = calloc(1, sizeof(*m->zones));
	if (!m->zones)
		return -ENOMEM;
	for (int i = 0; i < NR_ZONES; i++) {
		struct zone *zone = &m->zones->zone[i];

		zone->present = min_i64(left, most[i]);
		left -= zone->present;
		/* Of what is on no list each zone has its share. */
		zone->other = memory ? other * zone->present / memory : 0;
		zone->free = zone->present - zone->other;
		if (zone->present)
			m->zones->top = i;
	}
	if (memory)
		set_watermarks(m, memory);
	return 0;
}

static bool watermark_ok(const struct zone *zone, int64_t mark, int classzone)
{
	return zone->free > mark + zone->reserve[classzone];
}

/* ---- reclaim of a zone ----------------------------------------------------------------------- */

static enum lru_list zone_lru(int i, enum lru_list lru)
{
	return (enum lru_list)(i * NR_LRU_LISTS + (int)lru);
}

static uint64_t zone_size(const struct kernel_model *m, int i, enum lru_list lru)
{
	return m->lruvec.nr_pages[zone_lru(i, lru)];
}

/* On the file lists, and with swap on the others: what reclaim could come to. */
static uint64_t zone_reclaimable(const struct kernel_model *m, int i)
{
	return zone_size(m, i, LRU_INACTIVE_FILE) + zone_size(m, i, LRU_ACTIVE_FILE) +
	       (m->p.swap ? zone_size(m, i, LRU_INACTIVE_ANON) + zone_size(m, i, LRU_ACTIVE_ANON) :
			    0);
}

enum verdict { RECLAIM, KEEP, ACTIVATE };

/* page_check_references() and what shrink_page_list() does with dirty pages. */
static enum verdict judge(struct kernel_model *m, uint32_t page, const struct scan_control *sc)
{
	uint16_t *flags = &m->pages[page].flags, old = *flags;

	*flags &= (uint16_t)~(PG_REFERENCED | PG_YOUNG);
	if (old & PG_YOUNG) {
		if (old & PG_ANON)
			return ACTIVATE;
		*flags |= PG_REFERENCED;
		return old & PG_REFERENCED ? ACTIVATE : KEEP;
	}
	if (!(old & PG_DIRTY) || old & PG_ANON)
		return RECLAIM;
	if (!(old & PG_REFERENCED) && sc->kswapd && sc->priority < DEF_PRIORITY - 2)
		writeback_sync(m, page);	/* pageout(): freed when it is met again */
	else
		*flags |= PG_RECLAIM;
	return KEEP;
}

static uint64_t shrink_inactive_list(struct kernel_model *m, struct scan_control *sc, int i,
				     uint64_t nr, bool file)
{
	enum lru_list lru = zone_lru(i, file ? LRU_INACTIVE_FILE : LRU_INACTIVE_ANON);
	struct zone *zone = &m->zones->zone[i];
	uint64_t reclaimed = 0, scanned;

	lru_drain(m);
	if (nr > m->lruvec.nr_pages[lru])
		nr = m->lruvec.nr_pages[lru];
	for (scanned = 0; scanned < nr; scanned++) {
		uint32_t page = list_last(m, lru);
		enum verdict verdict;

		list_prefetch(m, lru);
		lru_del_page(m, page);
		verdict = judge(m, page, sc);
		if (verdict == RECLAIM) {
			reclaim_folio(m, page, 1);
			reclaimed++;
			continue;
		}
		m->n.c.activated += verdict == ACTIVATE;
		m->n.c.rotated += verdict == KEEP;
		zone->recent_rotated[file] += verdict == ACTIVATE;
		m->pages[page].flags |= verdict == ACTIVATE ? PG_ACTIVE : 0;
		lru_add_page(m, page);
	}
	zone->recent_scanned[file] += scanned;
	zone->pages_scanned = reclaimed ? 0 : zone->pages_scanned + scanned;
	m->n.c.scanned += scanned;
	m->n.scan_calls++;
	sc->nr_taken += scanned;
	return reclaimed;
}

static void shrink_active_list(struct kernel_model *m, int i, uint64_t nr, bool file)
{
	enum lru_list lru = zone_lru(i, file ? LRU_ACTIVE_FILE : LRU_ACTIVE_ANON);
	struct zone *zone = &m->zones->zone[i];
	uint64_t scanned;

	lru_drain(m);
	for (scanned = 0; scanned < nr && m->lruvec.nr_pages[lru]; scanned++) {
		uint32_t page = list_last(m, lru);

		list_prefetch(m, lru);
		lru_del_page(m, page);
		zone->recent_rotated[file] += !!(m->pages[page].flags & PG_YOUNG);
		m->pages[page].flags &= (uint16_t)~(PG_ACTIVE | PG_YOUNG);
		lru_add_page(m, page);
	}
	zone->recent_scanned[file] += scanned;
	m->n.refills += scanned;
	m->n.c.deactivated += scanned;
}

/* inactive_file_is_low(); inactive_anon_is_low(): inactive_ratio is sqrt(10 * GB of the zone). */
static bool inactive_is_low(const struct kernel_model *m, int i, bool file)
{
	uint64_t gb = (uint64_t)m->zones->zone[i].present >> (30 - PAGE_BITS);
	uint64_t ratio = gb ? (uint64_t)sqrt(10.0 * (double)gb) : 1;

	if (file)
		return zone_size(m, i, LRU_ACTIVE_FILE) > zone_size(m, i, LRU_INACTIVE_FILE);
	return zone_size(m, i, LRU_INACTIVE_ANON) * ratio < zone_size(m, i, LRU_ACTIVE_ANON);
}

/* The shares of anonymous pages [0] and file pages [1] in what is scanned, of their sum + 1. */
static void scan_shares(struct kernel_model *m, int i, uint64_t share[2])
{
	struct zone *zone = &m->zones->zone[i];
	const uint64_t prio[2] = { m->p.swappiness, 200 - m->p.swappiness };

	for (int file = 0; file < 2; file++) {
		uint64_t size = zone_size(m, i, file ? LRU_ACTIVE_FILE : LRU_ACTIVE_ANON) +
				zone_size(m, i, file ? LRU_INACTIVE_FILE : LRU_INACTIVE_ANON);

		if (zone->recent_scanned[file] > size / 4) {
			zone->recent_scanned[file] /= 2;
			zone->recent_rotated[file] /= 2;
		}
		share[file] = (prio[file] + 1) * (zone->recent_scanned[file] + 1) /
			      (zone->recent_rotated[file] + 1);
	}
}

/* get_scan_count(): where a list gives nothing kswapd still looks at its share of 32 pages. */
static void get_scan_counts(struct kernel_model *m, const struct scan_control *sc, int i,
			    uint64_t nr[NR_LRU_LISTS])
{
	uint64_t share[2] = { 0, 1 }, sum = 1;

	if (m->p.swap) {
		scan_shares(m, i, share);
		sum = share[0] + share[1] + 1;
	}
	for (int lru = 0; lru < NR_LRU_LISTS; lru++) {
		int file = lru >= LRU_INACTIVE_FILE;

		nr[lru] = zone_size(m, i, (enum lru_list)lru);
		if (sc->priority || !m->p.swap)
			nr[lru] = (nr[lru] >> sc->priority) * share[file] / sum;
		if (!nr[lru] && sc->kswapd)
			nr[lru] = m->p.cluster_pages * share[file] / sum;
	}
}

static uint64_t shrink_list(struct kernel_model *m, struct scan_control *sc, int i, int lru,
			    uint64_t *left)
{
	uint64_t nr = *left < m->p.cluster_pages ? *left : m->p.cluster_pages;
	bool file = lru >= LRU_INACTIVE_FILE;

	*left -= nr;
	if (!nr)
		return 0;
	if (lru == LRU_INACTIVE_FILE || lru == LRU_INACTIVE_ANON)
		return shrink_inactive_list(m, sc, i, nr, file);
	if (inactive_is_low(m, i, file))
		shrink_active_list(m, i, nr, file);
	return 0;
}

static void shrink_zone(struct kernel_model *m, struct scan_control *sc, int i)
{
	uint64_t nr[NR_LRU_LISTS], reclaimed = 0;

	get_scan_counts(m, sc, i, nr);
	while (nr[LRU_INACTIVE_ANON] || nr[LRU_ACTIVE_FILE] || nr[LRU_INACTIVE_FILE]) {
		for (int lru = 0; lru < NR_LRU_LISTS; lru++)
			reclaimed += shrink_list(m, sc, i, lru, &nr[lru]);
		if (!sc->kswapd && reclaimed >= sc->nr_to_reclaim && sc->priority < DEF_PRIORITY)
			break;
	}
	sc->nr_reclaimed += reclaimed;
	if (m->p.swap && inactive_is_low(m, i, false))
		shrink_active_list(m, i, m->p.cluster_pages, false);
}

/* shrink_slab(): every superblock is asked, none has anything. */
static void slab_pass(struct kernel_model *m)
{
	m->zones->n.slab_passes++;
	m->n.superblocks_polled += m->p.nr_superblocks;
}

/* ---- kswapd ---------------------------------------------------------------------------------- */

static int highest_zone_short(const struct kernel_model *m)
{
	const struct zones *z = m->zones;

	for (int i = z->top; i >= 0; i--) {
		const struct zone *zone = &z->zone[i];

		if (zone->all_unreclaimable && z->priority != DEF_PRIORITY)
			continue;
		if (!watermark_ok(zone, zone->high, 0))
			return i;
	}
	return -1;
}

/* sleeping_prematurely(): every zone that can still give something has to be at high. */
static bool balanced(const struct kernel_model *m)
{
	for (int i = 0; i <= m->zones->top; i++) {
		const struct zone *zone = &m->zones->zone[i];

		if (!zone->all_unreclaimable && !watermark_ok(zone, zone->high, i))
			return false;
	}
	return true;
}

static void start_over(struct zones *z)
{
	z->priority = DEF_PRIORITY;
	z->nr_reclaimed = z->total_scanned = 0;
	z->i = -1;
	z->n.loops++;
}

static void try_to_sleep(struct kernel_model *m)
{
	struct zones *z = m->zones;

	if (!balanced(m)) {
		z->next_ns += LEAST_STEP_NS;
		start_over(z);
		return;
	}
	z->state = KSWAPD_DOZES;
	z->next_ns += DOZE_NS;
}

static void end_round(struct kernel_model *m)
{
	struct zones *z = m->zones;

	z->i = -1;
	if (z->all_ok) {
		try_to_sleep(m);
		return;
	}
	if (z->total_scanned && z->priority < DEF_PRIORITY - 2 && !z->under_min)
		z->next_ns += DOZE_NS;	/* congestion_wait() */
	if (z->nr_reclaimed >= m->p.cluster_pages || !z->priority)
		start_over(z);
	else
		z->priority--;
}

/* A zone that has less than high + gap free is shrunk, and behind it come the slabs. */
static void balance_zone(struct kernel_model *m, int i)
{
	struct zones *z = m->zones;
	struct zone *zone = &z->zone[i];
	struct scan_control sc = { .nr_to_reclaim = UINT64_MAX, .priority = z->priority,
				   .kswapd = true };
	int64_t gap = min_i64(zone->low, (zone->present + GAP_RATIO - 1) / GAP_RATIO);
	uint64_t ns;

	if (!watermark_ok(zone, zone->high + gap, z->end_zone)) {
		shrink_zone(m, &sc, i);
		slab_pass(m);
		z->nr_reclaimed += sc.nr_reclaimed;
		z->total_scanned += sc.nr_taken;
		if (zone->pages_scanned >= 6 * zone_reclaimable(m, i))
			zone->all_unreclaimable = true;
		ns = sc.nr_taken * m->p.kswapd_page_ns + m->p.nr_superblocks * m->p.superblock_ns;
		z->next_ns += ns > LEAST_STEP_NS ? ns : LEAST_STEP_NS;
		z->n.kswapd_ns += ns;
		z->n.kswapd_reclaimed += sc.nr_reclaimed;
	}
	if (zone->all_unreclaimable)
		return;
	if (!watermark_ok(zone, zone->high, z->end_zone)) {
		z->all_ok = false;
		z->under_min |= !watermark_ok(zone, zone->min, z->end_zone);
	}
}

/* One zone of one round. */
static void kswapd_step(struct kernel_model *m)
{
	struct zones *z = m->zones;
	const struct zone *zone;

	if (z->i < 0) {
		z->end_zone = highest_zone_short(m);
		z->all_ok = true;
		z->under_min = false;
		if (z->end_zone < 0) {
			end_round(m);
			return;
		}
		z->i = 0;
	}
	zone = &z->zone[z->i];
	if (zone->present && !(zone->all_unreclaimable && z->priority != DEF_PRIORITY))
		balance_zone(m, z->i);
	if (z->i++ == z->end_zone)
		end_round(m);
}

/* What kswapd gets done until now. After HZ/10 of rest it looks whether it may sleep on. */
static void kswapd_run(struct kernel_model *m)
{
	struct zones *z = m->zones;

	while (z->state != KSWAPD_SLEEPS && z->next_ns <= m->now_ns) {
		if (z->state == KSWAPD_RUNS) {
			kswapd_step(m);
			continue;
		}
		z->state = balanced(m) ? KSWAPD_SLEEPS : KSWAPD_RUNS;
		start_over(z);
	}
}

static void wake_kswapd(struct kernel_model *m)
{
	struct zones *z = m->zones;

	if (z->state == KSWAPD_RUNS)
		return;
	z->state = KSWAPD_RUNS;
	z->next_ns = m->now_ns;
	z->n.wakes++;
	m->n.reclaim_calls++;
	start_over(z);
	kswapd_run(m);
}

/* ---- allocations ----------------------------------------------------------------------------- */

/* do_try_to_free_pages(): all zones at each priority, one slab pass behind them. */
static uint64_t direct_reclaim(struct kernel_model *m)
{
	struct scan_control sc = { .nr_to_reclaim = m->p.cluster_pages, .priority = DEF_PRIORITY };

	m->zones->n.direct_reclaims++;
	for (; sc.priority >= 0 && sc.nr_reclaimed < sc.nr_to_reclaim; sc.priority--) {
		for (int i = m->zones->top; i >= 0; i--)
			if (!m->zones->zone[i].all_unreclaimable || sc.priority == DEF_PRIORITY)
				shrink_zone(m, &sc, i);
		slab_pass(m);
		if (m->nr_dirty && sc.nr_taken > sc.nr_to_reclaim + sc.nr_to_reclaim / 2)
			writeback_wakeup(m);	/* wakeup_flusher_threads() */
	}
	return sc.nr_reclaimed;
}

/* The first zone from the top that has enough; -1: none. */
static int find_zone(const struct kernel_model *m, bool low)
{
	const struct zones *z = m->zones;

	for (int i = z->top; i >= 0; i--)
		if (watermark_ok(&z->zone[i], low ? z->zone[i].low : z->zone[i].min, z->top))
			return i;
	return -1;
}

static int alloc_slow(struct kernel_model *m)
{
	const struct zones *z = m->zones;
	int i;

	wake_kswapd(m);
	i = find_zone(m, false);
	for (int tries = 0; i < 0 && tries < MAX_DIRECT_TRIES; tries++) {
		uint64_t reclaimed = direct_reclaim(m);

		i = find_zone(m, false);
		if (!reclaimed)
			break;
	}
	if (i >= 0)
		return i;
	/* The kernel would go below the watermarks for some, and kill a task for others. */
	for (i = z->top; i > 0 && z->zone[i].free <= 0;)
		i--;
	m->n.over_limit += z->zone[i].free <= 0;
	return i;
}

void zones_alloc(struct kernel_model *m)
{
	int i;

	kswapd_run(m);
	i = find_zone(m, true);
	if (i < 0)
		i = alloc_slow(m);
	m->zones->zone[i].free--;
	m->zones->alloc_zone = i;
}

void zones_place(struct kernel_model *m, uint32_t page)
{
	m->pages[page].gen = (uint8_t)(m->zones->alloc_zone * NR_LRU_LISTS);
}

static void free_page(struct zone *zone)
{
	zone->free++;
	zone->all_unreclaimable = false;
	zone->pages_scanned = 0;
}

void zones_free(struct kernel_model *m, uint32_t page)
{
	free_page(&m->zones->zone[m->pages[page].gen / NR_LRU_LISTS]);
}

/* Kernel and anonymous memory comes (@pages > 0) or goes. */
void zones_charge_other(struct kernel_model *m, int64_t pages)
{
	struct zones *z = m->zones;

	for (; pages > 0; pages--) {
		zones_alloc(m);
		z->zone[z->alloc_zone].other++;
	}
	for (int i = z->top; i >= 0; i--)
		for (; pages < 0 && z->zone[i].other > 0; pages++) {
			z->zone[i].other--;
			free_page(&z->zone[i]);
		}
}

void zones_release(struct kernel_model *m)
{
	free(m->zones);
}
