/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel.h - the state that the stages of a kernel model share. Internal to replay/kernel/.
 *
 *	linux.c		demand records in, counters out; the tables of versions and parameters
 *	memcg.c		charge and limit; the memcg's statistics and their flush
 *	list.c		lists of folios, as rings
 *	lru.c		the lists in use, per-CPU folio batches, accessed marks
 *	workingset.c	shadow entries and the refault decision
 *	vmscan.c	reclaim: priorities, list balance, scan
 *	anon.c		anonymous pages, and how much to scan of them and of files
 *	kswapd.c	reclaim of a whole machine: watermarks, kswapd, direct reclaim
 *	zones.c		the same zone by zone, as in 3.2, instead of memcg.c, vmscan.c, workingset.c
 *	mglru.c		the other policy: generations and tiers instead of two lists
 *	writeback.c	dirty pages and who cleans them
 *	dirty_limit.c	how many pages may be dirty
 *	readahead.c	windows, and the folios they are read into
 *
 * A page is a dense id. Its state is one record of eight bytes: flags, and the slot that it has on
 * its list (list.c) - or, while it is not resident, the age at which it was evicted (its shadow
 * entry). A folio is named by its first page, which alone is on lists and has the flags of the
 * whole; the others are PG_TAIL and know its order.
 */
#ifndef PAGEREEL_REPLAY_KERNEL_H
#define PAGEREEL_REPLAY_KERNEL_H

#include "replay/models/slots.h"

enum lru_list {
	LRU_INACTIVE_ANON,
	LRU_ACTIVE_ANON,
	LRU_INACTIVE_FILE,
	LRU_ACTIVE_FILE,
	NR_LRU_LISTS
};

/*
 * zones.c: lists of each zone, one zone's behind the other's. mglru.c: generations of file
 * pages take the places of the first four, those of anonymous pages of the next.
 */
enum { NR_ZONES = 3, NR_LISTS = NR_ZONES * NR_LRU_LISTS };
enum { MIN_NR_GENS = 2, MAX_NR_GENS = 4, MAX_NR_TIERS = 4, MAX_ISOLATED = 256 };

enum page_flag {
	PG_RESIDENT = 1 << 0,
	PG_REFERENCED = 1 << 1,
	PG_ACTIVE = 1 << 2,
	PG_LRU = 1 << 3,		/* on a list, not only in a batch */
	PG_WORKINGSET = 1 << 4,		/* was active before; kept in the shadow */
	PG_DIRTY = 1 << 5,
	PG_RECLAIM = 1 << 12,		/* to the tail when it is clean; the bit of PG_READAHEAD */
	PG_SEEN = 1 << 9,		/* was filled once: the next fill is not compulsory */
	PG_MAPPED = 1 << 10,
	PG_YOUNG = 1 << 11,		/* touched through a page table since last looked at */
	PG_READAHEAD = 1 << 12,		/* the marker: touching it starts the next window */
	PG_ANON = 1 << 13,
	PG_DEMANDED = 1 << 14,		/* somebody asked for it since it came in */
	PG_TAIL = 1 << 15,		/* in a folio, not its first page */
	PG_OF_PAGE = PG_RESIDENT | PG_SEEN | PG_DEMANDED | PG_TAIL,	/* all that a tail has */
};

enum { FOLIO_BATCH_MAX = 31, DEF_PRIORITY = 12, NO_PAGE = UINT32_MAX };

struct page {
	union {
		uint32_t slot;	/* on its list */
		uint32_t age;	/* when it was evicted, if its xa_node says that it has a shadow */
	};
	uint16_t flags;		/* PG_* */
	uint8_t order;		/* of its folio; while resident */
	uint8_t gen;		/* generation and counted references (mglru.c); first list of its
				 * zone (zones.c) */
};

/* Folios in the order in which they came, oldest at the tail (list.c). */
struct page_list {
	uint32_t *at;		/* slot & mask -> page; NO_PAGE: none */
	uint32_t mask;
	uint32_t tail, head;	/* slots tail .. head - 1; the numbers wrap */
	uint32_t nr_max;	/* slots that there is memory for */
};

/* Of the dirty list. */
struct links {
	uint32_t next, prev;
};

struct folio_batch {
	uint32_t nr;
	uint32_t page[FOLIO_BATCH_MAX];
};

/* One memcg's lists on one node. Sizes in pages. */
struct lruvec {
	uint64_t nr_pages[NR_LISTS];
	uint64_t nonresident_age;
	/* Of anonymous pages [0] and file pages [1]. */
	uint64_t nr_workingset_activate[2];
	uint64_t refaults_snapshot[2];	/* the same as flushed, at the last reclaim */
	uint64_t cost[2];		/* anon_cost, file_cost: what reclaiming them cost lately */
	/* What memory.stat would say: true at the last flush of the statistics. */
	uint64_t stat_pages[NR_LISTS];
	uint64_t stat_workingset_activate[2];
};

struct memcg {
	uint64_t limit_pages;
	uint64_t usage_pages;		/* charged: resident, other and what the stock holds */
	uint64_t stock_pages;		/* charged in advance, per CPU in the kernel */
	uint64_t other_pages;
};

/*
 * What an open file knows of its reading (struct file_ra_state). The record does not know open
 * files: readahead.c infers them. Page ids instead of indexes, as neighbours have neighbouring ids.
 */
struct open_file {
	uint32_t prev_page;	/* read last by the read before this one (prev_pos) */
	uint32_t task;
	uint32_t start, size, async_size;	/* the window read last, pages */
	uint32_t order;		/* of its folios */
	bool stream;		/* one of several that read the file in order */
	bool random;		/* POSIX_FADV_RANDOM */
	uint64_t used;		/* when, counted in reads of the file */
};

enum { OPEN_FILES_MAX = 16, RECENT_READS = 16, NEAR_BITS = 10 };

/* All that read one file. */
struct readers {
	uint32_t nr_open;
	uint32_t random;	/* an open file that jumps about, used last */
	uint64_t nr_reads;
	/* By open file: the page read last; NO_PAGE: none. */
	uint32_t last_page[OPEN_FILES_MAX];
	/* The latest reads, in a ring. */
	uint32_t recent_page[RECENT_READS];	/* the last of each; NO_PAGE: none */
	/* By hash of a page: how many of those two it is for (near_hash()). */
	uint8_t nr_near[1 << NEAR_BITS];
	bool recent_second[RECENT_READS];	/* it continued another recent one */
	struct open_file open[OPEN_FILES_MAX];
};

/* Pages that are being read, and locked so long: reclaim lets them be. */
struct in_flight {
	uint32_t page, end;
	uint64_t until_ns;
};

enum { IN_FLIGHT_MAX = 8 };	/* the latest windows */

/* 64 neighbouring slots of a file's xarray, as many as one of its nodes holds. */
struct xa_node {
	uint64_t shadows;	/* bit per slot */
	uint32_t next, prev;	/* nodes of shadows only, oldest first; NO_PAGE: not among them */
	uint8_t nr_pages;
	bool large;		/* its pages are one folio's, or that folio's shadow */
};

enum { XA_CHUNK_BITS = 6, XA_CHUNK_PAGES = 1 << XA_CHUNK_BITS };

enum readahead_mode {
	READAHEAD_AUTO,
	READAHEAD_RECORDED,
	READAHEAD_MODEL,
	READAHEAD_RANDOM,
	READAHEAD_OFF
};

struct file_state {
	uint32_t file_id;
	uint32_t last_page, last_task;	/* of a replay that does not model readahead */
	struct readers *readers;	/* of one that does; made at the first read */
	enum readahead_mode readahead;	/* not AUTO */
	bool no_recency;		/* its mappings' accessed bits do not count */
};

enum ra_rules {
	RA_RULES_3_2,	/* up to 3.10: any cached page in front makes a window */
	RA_RULES_6_1,	/* up to 6.10: one function for miss and marker */
	RA_RULES_6_12,	/* 6.11: two functions */
	RA_RULES_6_18,	/* 6.16: the order belongs to the open file, windows end aligned */
};

enum dirty_limit_mode { DIRTY_LIMIT_AUTO, DIRTY_LIMIT_ON, DIRTY_LIMIT_OFF };

/* How a kernel version differs: every difference is a parameter. */
struct linux_params {
	uint64_t batch_pages;		/* folio batch, 31 (15 before 6.5) */
	uint64_t charge_batch_pages;	/* MEMCG_CHARGE_BATCH, 64 */
	uint64_t cluster_pages;		/* SWAP_CLUSTER_MAX, 32 */
	uint64_t stats_period_ns;	/* age of the memcg statistics; 0: always exact */
	uint64_t stats_phase_ns;	/* first flush after the start */
	uint64_t reserve_bytes;		/* of the limit, not available to page cache */
	bool reserve_recorded;		/* add what the context says is charged otherwise */
	bool waits;			/* the clock has this size's waits for the disk */
	uint64_t access_ns;		/* clock of a stream without times */
	int readahead;			/* enum readahead_mode */
	uint64_t ra_bytes;		/* read_ahead_kb; 0: as recorded */
	uint64_t io_bytes;		/* max_sectors_kb: a larger request reads ahead this much */
	int ra_rules;			/* enum ra_rules */
	int max_order;			/* of a folio; 0: single pages only; MAX_ORDER_RECORDED */
	uint64_t dirty_expire_ns;
	uint64_t dirty_wakeup_ns;
	uint64_t write_io_ns, write_page_ns;
	bool swap;			/* anonymous pages are replayed, with swap for them */
	uint64_t swappiness;
	bool random_recency;		/* of mappings with MADV_RANDOM */
	int dirty_limit;		/* enum dirty_limit_mode */
	uint64_t dirty_ratio, dirty_background;	/* per cent */
	bool kswapd;			/* capacity is the machine's memory */
	uint64_t watermark_scale;	/* 1/10 000 of memory between watermarks */
	uint64_t kswapd_page_ns;	/* that kswapd takes to look at a page */
	/* mglru.c only */
	uint64_t min_lru_batch_pages, max_lru_batch_pages;
	uint64_t tier_gain;		/* of a higher tier against the first */
	bool insert_second;		/* new folios: second oldest of four generations */
	bool protect_full;		/* a folio with all its counts is always protected */
	bool age_only;			/* a pass that aged does not evict */
	uint64_t nr_superblocks;	/* empty ones, polled in each slab pass of a machine */
	uint64_t superblock_ns;		/* one poll of one */
	/* zones.c only */
	bool zoned;
	uint64_t dma32_bytes;		/* most that lies between 16 MB and 4 GB */
	uint64_t min_free_bytes;	/* vm.min_free_kbytes; 0: as the kernel sets it */
};

struct scan_control {
	uint64_t nr_to_reclaim;
	uint64_t nr_reclaimed;
	int priority;
	bool may_deactivate[2];	/* are the active lists to be aged? anon, file */
	bool force_deactivate;
	bool skipped_deactivate;
	uint64_t nr_taken, nr_dirty;	/* mglru.c: looked at, and of those dirty */
	bool kswapd;
};

struct kernel_counts {
	struct replay_counters c;
	uint64_t refills;		/* active pages looked at */
	uint64_t shadows_dropped;
	uint64_t promoted;		/* activated by who reads, not by reclaim */
	uint64_t folios_reclaimed;
	uint64_t node_switches;		/* of them, in another xarray node than the one before */
	uint32_t last_node;
	uint64_t scan_calls, reclaim_calls, drains, stat_flushes, over_limit;
	uint64_t superblocks_polled;	/* in reclaim of a machine */
};

/* mglru.c. The controller's figures by tier; the current ones since min_seq. */
struct gen_ctrl {
	uint64_t avg_refaulted[MAX_NR_TIERS], avg_total[MAX_NR_TIERS];
	uint64_t refaulted[MAX_NR_TIERS], evicted[MAX_NR_TIERS], protected[MAX_NR_TIERS];
};

enum gen_type { GEN_ANON, GEN_FILE, NR_GEN_TYPES };

/* Of one lruvec. */
struct lru_gen {
	uint64_t max_seq, min_seq[NR_GEN_TYPES];
	struct gen_ctrl ctrl[NR_GEN_TYPES];
	bool mapped;		/* there have been mapped pages */
};

/* kswapd.c, and who uses memory besides those that are replayed. */
struct kswapd {
	const struct replay_usage *usage;	/* the sample that holds, and those to come */
	size_t nr_usage;
	bool awake;
	int priority;			/* of its next pass */
	int failures;			/* whole searches in a row without a page */
	uint64_t nr_reclaimed;		/* in this run */
	uint64_t next_ns;		/* when its last pass is over */
};

/* zones.c */
struct zones_counts {
	uint64_t slab_passes;
	uint64_t wakes, loops;		/* of kswapd; loops: starts at priority 12 */
	uint64_t kswapd_reclaimed, kswapd_ns;
	uint64_t direct_reclaims;
};

struct zones;

struct kernel_model {
	struct linux_params p;
	struct memcg memcg;
	struct lruvec lruvec;
	struct folio_batch lru_add, lru_activate;
	struct kernel_counts n;
	uint64_t now_ns, next_stats_ns, next_wakeup_ns;
	uint64_t next_periodic_ns, flush_at_ns;	/* writeback.c: what the next wakeup is for */
	const uint64_t *stats_flush_ns;	/* recorded flushes to come */
	size_t nr_stats_flushes;
	struct replay_waits waits;
	uint64_t recorded_ns;	/* of the last record, where waits are known */
	bool started;

	struct kswapd kswapd;
	bool limits_dirty;

	struct lru_gen lru_gen;
	bool gen;		/* lists are generations, not the classic ones */
	struct zones *zones;	/* NULL: one node */

	uint32_t nr_ids;
	struct page *pages;
	struct page_list lists[NR_LISTS];
	struct links *dirty;	/* page -> dirty list, oldest first; NULL until the first write */
	uint32_t *dirtied_ms;
	uint64_t *dirty_bits;	/* page -> is it dirty? */
	uint64_t nr_dirty;
	uint32_t flush_cursor;	/* the page that the flusher is writing */
	bool flushing;

	struct replay_extent *extents;
	uint32_t *extent_file;	/* extent -> index into files */
	uint32_t *extent_hint;	/* page >> EXTENT_HINT_BITS -> first extent to look at */
	uint32_t *extent_node;	/* extent -> its first node */
	uint32_t *node_hint;	/* page >> XA_CHUNK_BITS -> node, or the one before */
	struct xa_node *nodes;	/* the list's head is behind the last */
	uint32_t nr_nodes, nr_shadow_nodes;
	size_t nr_extents;
	size_t extent;		/* the one looked up last */
	struct file_state *files;
	size_t nr_files;
	bool large;		/* folios of more than one page exist */
	uint32_t max_order;
	uint32_t ra_pages, io_pages;
	struct in_flight in_flight[IN_FLIGHT_MAX];
	uint32_t nr_windows;	/* so far; the latest are in in_flight[] */
	uint64_t flight_until_ns;	/* of all of them */
	uint64_t metadata_bytes;
};

/* ---- folios ---------------------------------------------------------------------------------- */

static inline uint32_t folio_order(const struct kernel_model *m, uint32_t page)
{
	return m->pages[page].order;
}

static inline uint32_t folio_pages(const struct kernel_model *m, uint32_t page)
{
	return 1U << folio_order(m, page);
}

/* linux.c */
struct replay_extent *find_extent(struct kernel_model *m, uint32_t page);

static inline struct replay_extent *page_extent(struct kernel_model *m, uint32_t page)
{
	struct replay_extent *e = &m->extents[m->extent];

	return page - e->first_id < e->pages ? e : find_extent(m, page);
}

static inline struct file_state *page_file(struct kernel_model *m, uint32_t page)
{
	return &m->files[m->extent_file[page_extent(m, page) - m->extents]];
}

static inline uint64_t page_index(struct kernel_model *m, uint32_t page)
{
	const struct replay_extent *e = page_extent(m, page);

	return e->first_index + (page - e->first_id);
}

/* The first page of the folio that @page, a resident one, is in. Folios are aligned in the file. */
static inline uint32_t folio_head(struct kernel_model *m, uint32_t page)
{
	if (!(m->pages[page].flags & PG_TAIL))
		return page;
	return page - (uint32_t)(page_index(m, page) & (folio_pages(m, page) - 1));
}

/* ---- lists ----------------------------------------------------------------------------------- */

static inline enum lru_list page_lru(uint16_t flags)
{
	return (flags & PG_ANON ? LRU_INACTIVE_ANON : LRU_INACTIVE_FILE) +
	       (flags & PG_ACTIVE ? 1 : 0);
}

/*
 * The list that a page is on: generations take the places of the four lists; without them gen is 0,
 * or where the lists of the page's zone begin.
 */
static inline enum lru_list page_list(const struct kernel_model *m, uint32_t page)
{
	const struct page *p = &m->pages[page];

	if (!m->gen)
		return (enum lru_list)(page_lru(p->flags) + p->gen);
	return (enum lru_list)(p->gen % MAX_NR_GENS + (p->flags & PG_ANON ? MAX_NR_GENS : 0));
}

/* list.c. make_room: for @nr slots more. */
int lists_init(struct kernel_model *m);
void lists_release(struct kernel_model *m);
uint64_t lists_bytes(const struct kernel_model *m);
void list_make_room(struct kernel_model *m, enum lru_list lru, uint32_t nr);

static inline bool list_has_room(const struct page_list *list, uint32_t nr)
{
	return (uint64_t)(list->head - list->tail) + nr <= (uint64_t)list->mask + 1;
}

/* Puts @page at @slot, the youngest of the @nr that its folio takes. */
static inline void list_set(struct kernel_model *m, struct page_list *list, uint32_t page,
			    uint32_t slot, uint32_t nr)
{
	list->at[slot & list->mask] = page;
	for (uint32_t i = 1; i < nr; i++)
		list->at[(slot - i) & list->mask] = NO_PAGE;
	m->pages[page].slot = slot;
}

static inline void list_add(struct kernel_model *m, enum lru_list lru, uint32_t page, uint32_t nr)
{
	struct page_list *list = &m->lists[lru];

	if (!list_has_room(list, nr))
		list_make_room(m, lru, nr);
	list->head += nr;
	list_set(m, list, page, list->head - 1, nr);
}

static inline void list_add_tail(struct kernel_model *m, enum lru_list lru, uint32_t page,
				 uint32_t nr)
{
	struct page_list *list = &m->lists[lru];

	if (!list_has_room(list, nr))
		list_make_room(m, lru, nr);
	list_set(m, list, page, list->tail - 1, nr);
	list->tail -= nr;
}

static inline void list_del(struct kernel_model *m, enum lru_list lru, uint32_t page)
{
	struct page_list *list = &m->lists[lru];

	list->at[m->pages[page].slot & list->mask] = NO_PAGE;
}

/* The page at the tail; NO_PAGE: the list is empty. */
static inline uint32_t list_last(struct kernel_model *m, enum lru_list lru)
{
	struct page_list *list = &m->lists[lru];

	for (; list->tail != list->head; list->tail++) {
		uint32_t page = list->at[list->tail & list->mask];

		if (page != NO_PAGE)
			return page;
	}
	return NO_PAGE;
}

enum { LIST_AHEAD = 12 };

/* Asks for a page that reclaim will come to soon. */
PREFETCHING void list_prefetch(const struct kernel_model *m, enum lru_list lru)
{
	const struct page_list *list = &m->lists[lru];
	uint32_t page = list->head - list->tail > LIST_AHEAD ?
			list->at[(list->tail + LIST_AHEAD) & list->mask] : NO_PAGE;

	page = page != NO_PAGE ? page : 0;
	__builtin_prefetch(&m->pages[page], 1);
	__builtin_prefetch(&m->nodes[m->node_hint[page >> XA_CHUNK_BITS]], 1);
}

/* lru.c. A page that is added is at the head of the list that its flags name. */
void lru_add_page(struct kernel_model *m, uint32_t page);
void lru_add_page_tail(struct kernel_model *m, uint32_t page);
void lru_del_page(struct kernel_model *m, uint32_t page);
void lru_cache_add(struct kernel_model *m, uint32_t page);
void lru_drain(struct kernel_model *m);
void lru_forget(struct kernel_model *m, uint32_t page);
void mark_accessed_again(struct kernel_model *m, uint32_t page);
void folio_split(struct kernel_model *m, uint32_t page);

/* The first access only sets a bit; this is the path of nearly every hit. */
static inline void mark_accessed(struct kernel_model *m, uint32_t page)
{
	uint16_t flags = m->pages[page].flags;

	if (!(flags & PG_REFERENCED))
		m->pages[page].flags = flags | PG_REFERENCED;
	else if (!(flags & PG_ACTIVE))
		mark_accessed_again(m, page);
}

/* workingset.c */
int workingset_init(struct kernel_model *m);
void workingset_release(struct kernel_model *m);
uint32_t workingset_page_in(struct kernel_model *m, uint32_t page, uint32_t pages);
void workingset_page_out(struct kernel_model *m, uint32_t page, uint32_t pages, bool shadow);
void workingset_forget(struct kernel_model *m, uint32_t page);
void shrink_shadow_nodes(struct kernel_model *m);
void workingset_eviction(struct kernel_model *m, uint32_t page);
uint16_t workingset_refault(struct kernel_model *m, uint32_t page, uint32_t pages);
void workingset_age(struct kernel_model *m, uint64_t pages);

/* anon.c. scan: pages to scan of each list. */
void anon_touch(struct kernel_model *m, uint32_t page, uint32_t run);
void get_scan_count(const struct kernel_model *m, const struct scan_control *sc,
		    uint64_t scan[NR_LRU_LISTS]);
void lru_note_cost(struct kernel_model *m, bool file, uint64_t nr_io, uint64_t nr_rotated);

/* memcg.c. Statistics are as old as the last flush, unless stats_period_ns is 0. */
enum charge_mode { CHARGE, CHARGE_NORETRY };
bool memcg_charge(struct kernel_model *m, uint64_t pages, enum charge_mode mode);
void memcg_uncharge(struct kernel_model *m, uint64_t pages);
void memcg_charge_other(struct kernel_model *m, int64_t pages);
void memcg_set_limit(struct kernel_model *m, uint64_t pages);
void memcg_flush_stats(struct kernel_model *m);

static inline uint64_t stat_pages(const struct kernel_model *m, enum lru_list lru)
{
	return m->p.stats_period_ns ? m->lruvec.stat_pages[lru] : m->lruvec.nr_pages[lru];
}

static inline uint64_t stat_workingset_activate(const struct kernel_model *m, bool file)
{
	return m->p.stats_period_ns ? m->lruvec.stat_workingset_activate[file] :
				      m->lruvec.nr_workingset_activate[file];
}

/* vmscan.c. Returns the pages reclaimed, which may be fewer or more than asked for. */
uint64_t try_to_free_pages(struct kernel_model *m, uint64_t nr_pages);
void reclaim_folio(struct kernel_model *m, uint32_t page, uint32_t pages);
void shrink_node(struct kernel_model *m, struct scan_control *sc);	/* a pass at sc->priority */
void snapshot_refaults(struct kernel_model *m);

/* kswapd.c. Pages in use otherwise at the start; UINT64_MAX: not known. */
uint64_t machine_usage(struct kernel_model *m, const struct replay_context *context);
/* Takes @pages from what is free; in the last resort from what is not there. */
void machine_alloc(struct kernel_model *m, uint64_t pages);

/* zones.c. alloc: one page, of the zone that place then notes for @page. */
int zones_init(struct kernel_model *m, int64_t memory);
void zones_release(struct kernel_model *m);
void zones_alloc(struct kernel_model *m);
void zones_place(struct kernel_model *m, uint32_t page);
void zones_free(struct kernel_model *m, uint32_t page);
void zones_charge_other(struct kernel_model *m, int64_t pages);
const struct zones_counts *zones_counts(const struct kernel_model *m);

/* What a zone keeps free: min, low, high, and from each who could have had a higher one. */
struct zone_marks {
	int64_t present, free, min, low, high;
	int64_t reserve[NR_ZONES];
};

struct zone_marks zones_marks(const struct kernel_model *m, int zone);

/* mglru.c */
void lru_gen_init(struct kernel_model *m);
void lru_gen_place(struct kernel_model *m, uint32_t page, bool reclaiming);
void lru_gen_new_folio(struct kernel_model *m, uint32_t page, uint32_t pages);
void lru_gen_inc_refs(struct kernel_model *m, uint32_t page);
uint32_t lru_gen_eviction(struct kernel_model *m, uint32_t page, uint32_t pages);
uint16_t lru_gen_refault(struct kernel_model *m, uint32_t page, uint32_t pages);
void lru_gen_shrink_lruvec(struct kernel_model *m, struct scan_control *sc);
int lru_gen_initial_priority(const struct kernel_model *m, const struct scan_control *sc);

/* linux.c */
enum { FILL_DEMANDED = 1, FILL_WRITE = 2, FILL_NORETRY = 4, FILL_ANON = 8, FILL_FAULT = 16 };

/* Brings a folio in; false (only with FILL_NORETRY): no room could be made for it. */
bool fill_folio(struct kernel_model *m, uint32_t page, uint32_t order, unsigned int how);

/* A resident page is asked for: it was not brought in for nothing. */
static inline void demand_page(struct kernel_model *m, uint32_t page)
{
	if (m->pages[page].flags & PG_DEMANDED)
		return;
	m->pages[page].flags |= PG_DEMANDED;
	m->n.c.fills_undemanded--;
}

/* readahead.c */
int readahead_read(struct kernel_model *m, struct file_state *file, uint32_t page, uint32_t run,
		   uint32_t task);
void readahead_release(struct kernel_model *m);

/* Is @page still being read? */
static inline bool page_in_flight(const struct kernel_model *m, uint32_t page)
{
	uint32_t nr = m->nr_windows < IN_FLIGHT_MAX ? m->nr_windows : IN_FLIGHT_MAX;

	if (m->now_ns >= m->flight_until_ns)
		return false;
	for (uint32_t i = 0; i < nr; i++) {
		const struct in_flight *f = &m->in_flight[i];

		if (page - f->page < f->end - f->page && m->now_ns < f->until_ns)
			return true;
	}
	return false;
}

/* dirty_limit.c. After a page was dirtied: wakes the flusher if that is too many. */
extern const char *const dirty_limits[];	/* names of enum dirty_limit_mode */
void dirty_limit_init(struct kernel_model *m, const struct replay_context *context);
void dirty_limit_check(struct kernel_model *m);

/* writeback.c */
int writeback_page_dirtied(struct kernel_model *m, uint32_t page);	/* 0 or -ENOMEM */
void writeback_sync(struct kernel_model *m, uint32_t page);
void writeback_page_gone(struct kernel_model *m, uint32_t page);
void writeback_wakeup(struct kernel_model *m);	/* reclaim met nothing but dirty pages */
void writeback_timer(struct kernel_model *m);
void writeback_release(struct kernel_model *m);

#endif
