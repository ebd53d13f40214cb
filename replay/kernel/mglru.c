// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mglru.c - multi-gen LRU: reclaim that sorts pages by generations and tiers instead of two lists.
 *
 * Follows Linux 6.12 (CONFIG_LRU_GEN) mm/vmscan.c: lru_gen_shrink_lruvec(),
 * try_to_shrink_lruvec(), get_nr_to_scan(), should_run_aging(), evict_folios(), scan_folios(),
 * sort_folio(), isolate_folio(), get_tier_idx(), get_type_to_scan(), read_ctrl_pos(),
 * positive_ctrl_err(), reset_ctrl_pos(), try_to_inc_min_seq(), inc_max_seq(), folio_inc_gen(),
 * set_initial_priority(), balance_pgdat(); include/linux/mm_inline.h: lru_gen_add_folio(),
 * folio_lru_refs(), lru_tier_from_refs(); mm/swap.c: folio_inc_refs(); mm/workingset.c:
 * lru_gen_eviction(), lru_gen_refault().
 *
 *	   max_seq                          min_seq
 *	  youngest                          oldest      --> evicted, from the tail
 *	  touched through     (3 of 4)      new file folios, at the head
 *	  page tables             ^                     |
 *	                          +--- protected, at the tail: tier above the cut-off
 *
 * The problem: two lists need a scan to learn which of their pages are used, and a rule how long
 * each should be. The idea: number the generations. A page that is touched through a page table
 * belongs to the youngest; one that is read with read(2) stays where it is and only counts: the
 * first read is not counted, then up to four are. Its tier is the logarithm of the count: 0 up to
 * one read, 1 for two, 2 for three or four, 3 for five and more.
 *
 * Eviction takes the oldest generation from its tail. A folio there whose tier is above a cut-off
 * moves on to the next generation, its count cleared, and to the *tail* of it: it will be the first
 * to be looked at when its time comes. One with the full count always does. When the oldest
 * generation is empty the next one is the oldest; when only two are left there is nothing to evict,
 * and aging must make a new youngest one. A pass at the default priority (12) never ages. New file
 * folios go to the oldest generation (of four, the second oldest): the cache of once-read pages is
 * one FIFO.
 *
 * The cut-off is a controller's: the shadow of an evicted folio holds min_seq and the tier it had.
 * If it comes back while min_seq is the same it is a refault of that tier. A tier is evicted along
 * with tier 0 as long as it has fewer than 64 refaults, or refaults / (evicted + protected) no more
 * than tier_gain times as high as tier 0's. Averages, halved at each step of min_seq, remember the
 * past. A folio that refaults after three counted reads starts with the full count.
 *
 * All is done in batches: up to 64 folios are isolated at a time, up to 4096 looked at. A reclaim
 * call takes as many batches as it needs to look at size >> priority folios: of a memcg under 16 MB
 * nothing at the default priority, up to 1 GB one batch of 64.
 *
 * Anonymous pages have generations and a controller of their own, with the same numbers: their
 * oldest is never younger than that of file pages. A page that a fault brings in is in the youngest
 * generation, and aging keeps it there as long as it is touched. Which type to evict from: the one
 * with the older oldest generation; where that is the same, anon only if the first tier of file
 * pages refaults more than that of anon, each weighed by swappiness (of 200). At swappiness 1 file
 * comes first, at 200 anon, at 0 anon never. If the one gives nothing, the other is tried.
 *
 * With kswapd on, the size is the machine's memory (kswapd.c). The kernel ends one of its passes
 * early when all zones are above their watermarks; a machine has two at least, which seldom are at
 * once: in a recorded 192 MB guest kswapd took 6 batches, the whole pass at priority 6, whenever it
 * took few.
 *
 * Approximations. One memcg, one zone, one node: with several zones each has its own lists and is
 * scanned in turn; a guest's first 16 MB are a zone of their own. Swap takes no time and is never
 * full. Page tables are walked completely at each aging, and a touched page moves to the youngest
 * generation then, not when it is met: mapped workloads are not validated, nor is anything
 * anonymous. Tiers of dirty folios that wait for writeback are forgotten, as in the kernel.
 *
 * Versions are parameters. 6.1 (as of its stable updates, which took over where new folios go and
 * the protection of full counts; insert_second and protect_full undo that): a pass that aged goes
 * on to evict (age_only off). 6.14 counts refaults of the last generations, not only of the oldest,
 * ages at three generations, has a gain of 2:3 and counts in PG_workingset differently: it is not
 * this model.
 */
#include <errno.h>
#include <stdlib.h>

#include "replay/kernel/kernel.h"

/* A page's byte: its generation below, references counted beyond PG_WORKINGSET above. */
enum {
	GEN_MASK = MAX_NR_GENS - 1,
	REFS_SHIFT = 2,
	REFS_WIDTH = 2,
	REFS_MAX = (1 << REFS_WIDTH) - 1
};

void lru_gen_init(struct kernel_model *m)
{
	m->gen = true;
	m->lru_gen.max_seq = MIN_NR_GENS + 1;
}

/* The list of a generation. */
static enum lru_list seq_list(enum gen_type type, uint64_t seq)
{
	return (enum lru_list)(seq % MAX_NR_GENS + (type == GEN_ANON ? MAX_NR_GENS : 0));
}

static uint64_t nr_gens(const struct kernel_model *m, enum gen_type type)
{
	return m->lru_gen.max_seq - m->lru_gen.min_seq[type] + 1;
}

static enum gen_type page_type(const struct kernel_model *m, uint32_t page)
{
	return m->pages[page].flags & PG_ANON ? GEN_ANON : GEN_FILE;
}

static bool can_swap(const struct kernel_model *m)
{
	return m->p.swap && m->p.swappiness;
}

/* The first type that is reclaimed: anonymous pages only where they can be swapped. */
static enum gen_type first_type(const struct kernel_model *m)
{
	return can_swap(m) ? GEN_ANON : GEN_FILE;
}

/* ---- references and tiers -------------------------------------------------------------------- */

/* Reads beyond the first, 0 .. 4. */
static unsigned int folio_refs(const struct kernel_model *m, uint32_t page)
{
	const struct page *p = &m->pages[page];

	return (unsigned int)(p->gen >> REFS_SHIFT) + !!(p->flags & PG_WORKINGSET);
}

/* The logarithm to base 2 of refs + 1, rounded up. */
static unsigned int refs_tier(unsigned int refs)
{
	return refs ? 32 - (unsigned int)__builtin_clz(refs) : 0;
}

/* A folio that has PG_REFERENCED is read again. */
void lru_gen_inc_refs(struct kernel_model *m, uint32_t page)
{
	if (!(m->pages[page].flags & PG_WORKINGSET))
		m->pages[page].flags |= PG_WORKINGSET;
	else if (m->pages[page].gen >> REFS_SHIFT < REFS_MAX)
		m->pages[page].gen += 1 << REFS_SHIFT;
}

static void clear_refs(struct kernel_model *m, uint32_t page)
{
	m->pages[page].flags &= (uint16_t)~(PG_REFERENCED | PG_WORKINGSET);
	m->pages[page].gen &= GEN_MASK;
}

/* Of a new folio, PG_WORKINGSET is set if lru_gen_refault() said so. */
void lru_gen_new_folio(struct kernel_model *m, uint32_t page, uint32_t pages)
{
	for (uint32_t i = 0; i < pages; i++)
		m->pages[page + i].gen = 0;
	if (m->pages[page].flags & PG_WORKINGSET)
		m->pages[page].gen = REFS_MAX << REFS_SHIFT;
}

/* ---- shadow entries -------------------------------------------------------------------------- */

/* The token to keep; that it had any references is PG_WORKINGSET of the shadow. */
uint32_t lru_gen_eviction(struct kernel_model *m, uint32_t page, uint32_t pages)
{
	enum gen_type type = page_type(m, page);
	unsigned int refs = folio_refs(m, page);

	m->lru_gen.ctrl[type].evicted[refs_tier(refs)] += pages;
	return (uint32_t)m->lru_gen.min_seq[type] << REFS_WIDTH | (refs ? refs - 1 : 0);
}

/* @page has a shadow. Returns PG_WORKINGSET if its folio is to start with the full count. */
uint16_t lru_gen_refault(struct kernel_model *m, uint32_t page, uint32_t pages)
{
	enum gen_type type = page_type(m, page);
	uint32_t token = m->pages[page].age;
	unsigned int refs;

	if (token >> REFS_WIDTH != (uint32_t)m->lru_gen.min_seq[type] << REFS_WIDTH >> REFS_WIDTH)
		return 0;
	refs = (token & REFS_MAX) + !!(m->pages[page].flags & PG_WORKINGSET);
	m->lru_gen.ctrl[type].refaulted[refs_tier(refs)] += pages;
	return refs >= REFS_MAX || type == GEN_ANON ? PG_WORKINGSET : 0;
}

/* ---- the controller -------------------------------------------------------------------------- */

struct ctrl_pos {
	uint64_t refaulted, total, gain;
};

static struct ctrl_pos read_ctrl_pos(const struct gen_ctrl *g, unsigned int tier, uint64_t gain)
{
	return (struct ctrl_pos){
		.refaulted = g->avg_refaulted[tier] + g->refaulted[tier],
		.total = g->avg_total[tier] + g->evicted[tier] + g->protected[tier],
		.gain = gain,
	};
}

/* May pages of @pv be evicted as those of @sp are? */
static bool may_evict(const struct kernel_model *m, const struct ctrl_pos *sp,
		      const struct ctrl_pos *pv)
{
	uint64_t margin = m->p.min_lru_batch_pages;

	return pv->refaulted < margin ||
	       pv->refaulted * (sp->total + margin) * sp->gain <=
	       (sp->refaulted + 1) * pv->total * pv->gain;
}

/* The highest tier of @type that is not protected, as compared with @sp. */
static unsigned int tier_up_to(const struct kernel_model *m, enum gen_type type,
			       const struct ctrl_pos *sp, uint64_t gain)
{
	unsigned int tier;

	for (tier = 1; tier < MAX_NR_TIERS; tier++) {
		struct ctrl_pos pv = read_ctrl_pos(&m->lru_gen.ctrl[type], tier, gain);

		if (!may_evict(m, sp, &pv))
			break;
	}
	return tier - 1;
}

/* As compared with the first tier of its own type. */
static unsigned int get_tier_idx(const struct kernel_model *m, enum gen_type type)
{
	struct ctrl_pos sp = read_ctrl_pos(&m->lru_gen.ctrl[type], 0, 1);

	return tier_up_to(m, type, &sp, m->p.tier_gain);
}

/* The type whose first tier refaults less, weighed by swappiness; its tiers up to @tier_idx. */
static enum gen_type get_type_to_scan(const struct kernel_model *m, unsigned int *tier_idx)
{
	const uint64_t gain[NR_GEN_TYPES] = { m->p.swappiness, 200 - m->p.swappiness };
	struct ctrl_pos sp = read_ctrl_pos(&m->lru_gen.ctrl[GEN_ANON], 0, gain[GEN_ANON]);
	struct ctrl_pos pv = read_ctrl_pos(&m->lru_gen.ctrl[GEN_FILE], 0, gain[GEN_FILE]);
	enum gen_type type = may_evict(m, &sp, &pv) ? GEN_FILE : GEN_ANON;

	sp = read_ctrl_pos(&m->lru_gen.ctrl[!type], 0, gain[!type]);
	*tier_idx = tier_up_to(m, type, &sp, gain[type]);
	return type;
}

static void reset_ctrl_pos(struct gen_ctrl *g)
{
	for (int tier = 0; tier < MAX_NR_TIERS; tier++) {
		g->avg_refaulted[tier] = (g->avg_refaulted[tier] + g->refaulted[tier]) / 2;
		g->avg_total[tier] = (g->avg_total[tier] + g->evicted[tier] +
				      g->protected[tier]) / 2;
		g->refaulted[tier] = g->evicted[tier] = g->protected[tier] = 0;
	}
}

/* ---- generations ----------------------------------------------------------------------------- */

/* Which generation a folio is added to; @reclaiming: it was rotated and is to be the next to go. */
void lru_gen_place(struct kernel_model *m, uint32_t page, bool reclaiming)
{
	const struct lru_gen *g = &m->lru_gen;
	uint16_t flags = m->pages[page].flags;
	uint64_t seq = g->min_seq[page_type(m, page)];

	if (flags & PG_ACTIVE)
		seq = g->max_seq;
	else if (flags & PG_ANON || (flags & PG_RECLAIM && flags & PG_DIRTY))
		seq = g->max_seq - 1;
	else if (m->p.insert_second && !reclaiming && seq + MIN_NR_GENS < g->max_seq)
		seq++;
	m->pages[page].flags &= (uint16_t)~PG_ACTIVE;
	m->pages[page].gen = (uint8_t)((m->pages[page].gen & ~GEN_MASK) | seq % MAX_NR_GENS);
}

enum place { AT_HEAD, AT_TAIL };

static void move_folio(struct kernel_model *m, uint32_t page, uint64_t seq, enum place place)
{
	enum lru_list from = page_list(m, page), to = seq_list(page_type(m, page), seq);
	uint32_t pages = folio_pages(m, page);

	list_del(m, from, page);
	m->lruvec.nr_pages[from] -= pages;
	m->pages[page].gen = (uint8_t)((m->pages[page].gen & ~GEN_MASK) | seq % MAX_NR_GENS);
	if (place == AT_HEAD)
		list_add(m, to, page, pages);
	else
		list_add_tail(m, to, page, pages);
	m->lruvec.nr_pages[to] += pages;
}

/* To the generation behind the oldest; its references are forgotten. */
static void inc_gen(struct kernel_model *m, uint32_t page, enum place place)
{
	clear_refs(m, page);
	move_folio(m, page, m->lru_gen.min_seq[page_type(m, page)] + 1, place);
}

static bool gen_empty(struct kernel_model *m, enum gen_type type, uint64_t seq)
{
	return list_last(m, seq_list(type, seq)) == NO_PAGE;
}

static void set_min_seq(struct kernel_model *m, enum gen_type type, uint64_t seq)
{
	reset_ctrl_pos(&m->lru_gen.ctrl[type]);
	m->lru_gen.min_seq[type] = seq;
}

/* Passes over empty generations, anon never ahead of file; false if the oldest are as they were. */
static bool try_to_inc_min_seq(struct kernel_model *m)
{
	const struct lru_gen *g = &m->lru_gen;
	uint64_t seq[NR_GEN_TYPES] = { g->min_seq[GEN_ANON], g->min_seq[GEN_FILE] };
	bool changed = false;

	for (enum gen_type type = first_type(m); type < NR_GEN_TYPES; type++)
		while (seq[type] + MIN_NR_GENS <= g->max_seq && gen_empty(m, type, seq[type]))
			seq[type]++;
	if (can_swap(m)) {
		if (seq[GEN_ANON] > seq[GEN_FILE])
			seq[GEN_ANON] = seq[GEN_FILE];
		seq[GEN_FILE] = seq[GEN_ANON] > g->min_seq[GEN_FILE] ? seq[GEN_ANON] :
								       g->min_seq[GEN_FILE];
	}
	for (enum gen_type type = first_type(m); type < NR_GEN_TYPES; type++) {
		if (seq[type] == g->min_seq[type])
			continue;
		set_min_seq(m, type, seq[type]);
		changed = true;
	}
	return changed;
}

/* What was touched through page tables since the last time belongs to the youngest generation. */
static void walk_generation(struct kernel_model *m, enum gen_type type, uint64_t seq)
{
	enum lru_list youngest = seq_list(type, m->lru_gen.max_seq);
	const struct page_list *list = &m->lists[seq_list(type, seq)];

	/* So that no page of the youngest changes its slot on the way. */
	list_make_room(m, youngest, (uint32_t)m->lruvec.nr_pages[youngest]);
	for (uint32_t slot = list->head; slot != list->tail; slot--) {
		uint32_t page = list->at[(slot - 1) & list->mask];

		if (page == NO_PAGE || !(m->pages[page].flags & PG_YOUNG))
			continue;
		m->pages[page].flags &= (uint16_t)~PG_YOUNG;
		clear_refs(m, page);
		move_folio(m, page, m->lru_gen.max_seq, AT_HEAD);
	}
}

static void walk_page_tables(struct kernel_model *m)
{
	for (enum gen_type type = first_type(m); type < NR_GEN_TYPES; type++)
		for (uint64_t seq = m->lru_gen.min_seq[type]; seq <= m->lru_gen.max_seq; seq++)
			walk_generation(m, type, seq);
}

/* The oldest of four generations becomes part of the next. */
static void inc_min_seq(struct kernel_model *m, enum gen_type type)
{
	uint64_t seq = m->lru_gen.min_seq[type];
	enum lru_list oldest = seq_list(type, seq);

	while (!gen_empty(m, type, seq)) {
		list_prefetch(m, oldest);
		inc_gen(m, list_last(m, oldest), AT_TAIL);
	}
	set_min_seq(m, type, seq + 1);
}

static void inc_max_seq(struct kernel_model *m)
{
	if (m->lru_gen.mapped)
		walk_page_tables(m);
	for (enum gen_type type = first_type(m); type < NR_GEN_TYPES; type++)
		if (nr_gens(m, type) == MAX_NR_GENS)
			inc_min_seq(m, type);
	m->lru_gen.max_seq++;
}

/* Is a new generation due? @total receives the pages of all. */
static bool should_run_aging(const struct kernel_model *m, uint64_t *total)
{
	const struct lru_gen *g = &m->lru_gen;
	uint64_t young = 0, old = 0, min_seq = g->min_seq[first_type(m)];

	*total = 0;
	if (min_seq + MIN_NR_GENS > g->max_seq)
		return true;
	for (enum gen_type type = first_type(m); type < NR_GEN_TYPES; type++) {
		young += m->lruvec.nr_pages[seq_list(type, g->max_seq)];
		if (g->min_seq[type] + MIN_NR_GENS <= g->max_seq)
			old += m->lruvec.nr_pages[seq_list(type, g->max_seq - MIN_NR_GENS)];
		for (uint64_t seq = g->min_seq[type]; seq <= g->max_seq; seq++)
			*total += m->lruvec.nr_pages[seq_list(type, seq)];
	}
	if (min_seq + MIN_NR_GENS < g->max_seq)
		return false;
	return young * MIN_NR_GENS > *total || old * (MIN_NR_GENS + 2) < *total;
}

/* ---- eviction -------------------------------------------------------------------------------- */

/* True if the folio at the tail of the oldest generation is to stay: it is then in another one. */
static bool sort_folio(struct kernel_model *m, struct scan_control *sc, uint32_t page,
		       uint32_t pages, unsigned int tier_idx)
{
	unsigned int refs = folio_refs(m, page), tier = refs_tier(refs);
	struct gen_ctrl *ctrl = &m->lru_gen.ctrl[page_type(m, page)];

	if (tier > tier_idx || (m->p.protect_full && refs == REFS_MAX + 1)) {
		ctrl->protected[tier] += pages;
		inc_gen(m, page, AT_TAIL);
		return true;
	}
	if (!(m->pages[page].flags & PG_DIRTY))
		return false;
	sc->nr_dirty += pages;
	sc->nr_taken += pages;
	inc_gen(m, page, AT_HEAD);
	m->pages[page].flags |= PG_RECLAIM;
	return true;
}

struct isolated {
	uint32_t nr, nr_pages;
	uint32_t page[MAX_ISOLATED];
};

static void isolate_folio(struct kernel_model *m, uint32_t page, struct isolated *out)
{
	if (!(m->pages[page].flags & PG_REFERENCED))
		clear_refs(m, page);
	m->pages[page].flags &= (uint16_t)~(PG_REFERENCED | PG_RECLAIM);
	lru_del_page(m, page);
	out->page[out->nr++] = page;
	out->nr_pages += folio_pages(m, page);
}

/* Returns the pages looked at, 0 if that led to nothing. */
static uint64_t scan_folios(struct kernel_model *m, struct scan_control *sc, enum gen_type type,
			    unsigned int tier_idx, struct isolated *out)
{
	enum lru_list oldest = seq_list(type, m->lru_gen.min_seq[type]);
	uint64_t remaining = m->p.max_lru_batch_pages, nr_scanned = 0;

	if (nr_gens(m, type) == MIN_NR_GENS)
		return 0;
	while (list_last(m, oldest) != NO_PAGE && remaining &&
	       out->nr_pages < m->p.min_lru_batch_pages) {
		uint32_t page = list_last(m, oldest), pages = folio_pages(m, page);

		list_prefetch(m, oldest);
		nr_scanned += pages;
		remaining--;
		if (sort_folio(m, sc, page, pages, tier_idx))
			m->n.c.rotated += pages;
		else
			isolate_folio(m, page, out);
	}
	m->n.c.scanned += nr_scanned;
	m->n.scan_calls++;
	return out->nr || !remaining ? nr_scanned : 0;
}

/* A mapped page that was touched becomes one of the youngest, another goes. */
static void shrink_folio(struct kernel_model *m, struct scan_control *sc, uint32_t page)
{
	uint32_t pages = folio_pages(m, page);

	if (!(m->pages[page].flags & PG_YOUNG)) {
		reclaim_folio(m, page, pages);
		sc->nr_reclaimed += pages;
		return;
	}
	clear_refs(m, page);
	m->pages[page].flags = (m->pages[page].flags & (uint16_t)~PG_YOUNG) | PG_ACTIVE;
	m->n.c.activated += pages;
	lru_add_page(m, page);
}

/* From the type that is to give way; if it gives nothing, from the other. */
static uint64_t isolate_folios(struct kernel_model *m, struct scan_control *sc,
			       struct isolated *out)
{
	const uint64_t *min_seq = m->lru_gen.min_seq;
	enum gen_type type = GEN_FILE;
	unsigned int tier_idx;
	uint64_t nr_scanned;

	if (!can_swap(m))
		return scan_folios(m, sc, GEN_FILE, get_tier_idx(m, GEN_FILE), out);
	if (min_seq[GEN_ANON] < min_seq[GEN_FILE] || m->p.swappiness == 200)
		type = GEN_ANON;
	if (min_seq[GEN_ANON] < min_seq[GEN_FILE] || m->p.swappiness == 200 ||
	    m->p.swappiness == 1)
		tier_idx = get_tier_idx(m, type);
	else
		type = get_type_to_scan(m, &tier_idx);
	nr_scanned = scan_folios(m, sc, type, tier_idx, out);
	if (nr_scanned)
		return nr_scanned;
	type = type == GEN_ANON ? GEN_FILE : GEN_ANON;
	return scan_folios(m, sc, type, get_tier_idx(m, type), out);
}

/* One batch. Returns the pages looked at, 0 if there is no more to be had without aging. */
static uint64_t evict_folios(struct kernel_model *m, struct scan_control *sc)
{
	struct isolated isolated = { .nr = 0 };
	uint64_t nr_scanned = isolate_folios(m, sc, &isolated);

	nr_scanned += try_to_inc_min_seq(m);
	if (nr_gens(m, first_type(m)) == MIN_NR_GENS)
		nr_scanned = 0;
	for (uint32_t i = 0; i < isolated.nr; i++)
		shrink_folio(m, sc, isolated.page[i]);
	return nr_scanned;
}

/* How many pages to look at in this pass; 0: none. May age instead. */
static uint64_t get_nr_to_scan(struct kernel_model *m, const struct scan_control *sc)
{
	uint64_t total;

	if (!should_run_aging(m, &total) || sc->priority == DEF_PRIORITY)
		return total >> sc->priority;
	inc_max_seq(m);
	if (m->p.age_only)
		return 0;
	should_run_aging(m, &total);
	return total >> sc->priority;
}

/* Never for a memcg; for kswapd, not when a watermark is reached (see the top). */
static bool should_abort_scan(const struct scan_control *sc)
{
	return sc->kswapd && sc->nr_reclaimed >= sc->nr_to_reclaim;
}

/* One pass at sc->priority. */
void lru_gen_shrink_lruvec(struct kernel_model *m, struct scan_control *sc)
{
	uint64_t nr_scanned = 0;

	lru_drain(m);
	for (;;) {
		uint64_t nr_to_scan = get_nr_to_scan(m, sc), delta;

		if (!nr_to_scan)
			break;
		delta = evict_folios(m, sc);
		nr_scanned += delta;
		if (!delta || nr_scanned >= nr_to_scan || should_abort_scan(sc))
			break;
	}
	/* The oldest generation is all dirty. */
	if (sc->nr_dirty && sc->nr_dirty == sc->nr_taken)
		writeback_wakeup(m);
}

/* ---- kswapd ---------------------------------------------------------------------------------- */

static int log2_floor(uint64_t x)
{
	return x ? 63 - __builtin_clzll(x) : -1;
}

/* Deep enough to reclaim what is wanted, if all inactive pages can be. */
int lru_gen_initial_priority(const struct kernel_model *m, const struct scan_control *sc)
{
	uint64_t inactive = 0;
	int priority;

	if (sc->nr_to_reclaim < m->p.min_lru_batch_pages)
		return DEF_PRIORITY;
	for (enum gen_type type = first_type(m); type < NR_GEN_TYPES; type++) {
		uint64_t seq = m->lru_gen.min_seq[type];

		inactive += m->lruvec.nr_pages[seq_list(type, seq)];
		if (nr_gens(m, type) > MIN_NR_GENS + 1)
			inactive += m->lruvec.nr_pages[seq_list(type, seq + 1)];
	}
	priority = log2_floor(inactive) - (log2_floor(sc->nr_to_reclaim - 1) + 1);
	if (priority < DEF_PRIORITY / 2)
		return DEF_PRIORITY / 2;
	return priority > DEF_PRIORITY ? DEF_PRIORITY : priority;
}
