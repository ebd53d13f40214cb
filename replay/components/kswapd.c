// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * kswapd.c - zones, watermarks and balance_pgdat() against a reader that never stops.
 *
 * The problem. kswapd goes round until every zone has free pages above its high watermark, and each
 * round asks every shrinker once per zone. How much page work a round does is decided by the size
 * of the lists (size >> priority); how many rounds are needed by whom the reader's allocations hit:
 * they go to the highest zone first, whenever it is above its *low* watermark. So while DMA32 is
 * long full, a small NORMAL zone gets 11 pages a round and loses them again at once.
 *
 *	         alloc order                 one round of 3.2 at priority 12
 *	  NORMAL  504 MB  first        shrink_zone ~11 pages    shrink_slab: all superblocks
 *	  DMA32   3.5 GB  then         shrink_zone ~100 pages   shrink_slab: all superblocks
 *	  DMA     16 MB   never        shrink_zone  0 pages     shrink_slab: all superblocks
 *
 * Observations.
 *  1. CPU = r * (c_page + N * c_sb / p), p pages freed per slab pass, r pages a second. N alone
 *     does not say how bad it is: p falls from 35 to 11 once DMA32 is satisfied and only NORMAL is
 *     short.
 *  2. p does not depend on N directly, but on how much the reader takes back during a round, and
 *     that grows with the length of a round, thus with N: beyond some N kswapd never gets NORMAL
 *     up. A round is N * c_sb long but for the page work, so N and the reader's rate count as their
 *     product: 2155 superblocks at 294 MB/s are like 1200 at 528.
 *  3. With NORMAL alone short, a round at priority 12 frees 11 pages, fewer than 32, so the next is
 *     at priority 11 and frees 22: 33 pages for three slab passes (DMA once: it is skipped as
 *     unreclaimable above 12). The trace of the report shows both priorities and both batches.
 *  4. A reader takes a readahead window at a time, and disks deliver unevenly. In a lull kswapd
 *     gets NORMAL up and sleeps, in a spell it cannot. With an even stream p jumps from 30 to 12 at
 *     one N; with lulls the share of time spent either way shifts smoothly. How long the windows
 *     are and how uneven the stream is (parameters window and jitter) is not in the report.
 *
 * 3.2, mm/vmscan.c: balance_pgdat(), shrink_zone(), get_scan_count(), kswapd_try_to_sleep() when
 * all zones are at high; mm/page_alloc.c: get_page_from_freelist() with ALLOC_WMARK_LOW then MIN,
 * wakeup_kswapd() for a zone below low, zone_watermark_ok(): free > mark +
 * lowmem_reserve[classzone].
 *	3.10   kswapd_shrink_zone(): scanned less than the high watermark? next priority, twice the
 *             scan.
 *	4.8    shrink_node(): one LRU and one slab pass for the node; pgdat_balanced(): one zone is
 *	       enough; wakeup only when none is balanced.
 *	6.18   the same here (delta by priority and memcg bitmaps are in shrinkers.c).
 *
 * Approximations. Lists are counts: every page scanned is a clean, unreferenced page of the stream
 * and is reclaimed (true of dd; a mixed load would reclaim fewer per pass and do worse). No
 * anonymous pages are scanned: a file server's share is under 1 % by recent_scanned /
 * recent_rotated. The host's zones are those of the report. The reader does not slow down when
 * kswapd fights it for a lock. kswapd runs on a CPU of its own, without delay from a wake-up.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "replay/components/components.h"

enum { DEF_PRIORITY = 12, SWAP_CLUSTER_MAX = 32, GAP_RATIO = 100 };
enum { ZONE_DMA, ZONE_DMA32, ZONE_NORMAL, NR_ZONES };
#define NS_PER_S 1e9

static const char *const version_names[] = {
	[KSWAPD_3_2] = "3.2", [KSWAPD_3_10] = "3.10", [KSWAPD_4_8] = "4.8", [KSWAPD_6_18] = "6.18",
	NULL
};

#define P(field) offsetof(struct kswapd_params, field)
const struct param kswapd_params_table[] = {
	{ "version", PARAM_ENUM, P(version), "3.2", 0, 0, NULL, "kernel that is followed",
	  version_names },
	{ "superblocks", PARAM_U64, P(nr_superblocks), "20", 0, 1e6, NULL, "mounted, all empty",
	  NULL },
	{ "superblock_ns", PARAM_DOUBLE, P(superblock_ns), "78", 0, 1e6, "ns",
	  "one poll of one superblock", NULL },
	{ "page_ns", PARAM_DOUBLE, P(page_ns), "450", 1, 1e6, "ns", "one page reclaimed", NULL },
	{ "demand", PARAM_DOUBLE, P(demand_mb_s), "528", 1, 1e5, "MB/s", "of the reader", NULL },
	{ "bytes", PARAM_U64, P(read_bytes), "8550000000", 1e8, 1e13, "bytes", "read in all",
	  NULL },
	{ "window", PARAM_U64, P(window_pages), "64", 1, 65536, "pages", "readahead window", NULL },
	{ "alloc_ns", PARAM_DOUBLE, P(alloc_ns), "1000", 1, 1e6, "ns",
	  "between two allocations in a window", NULL },
	{ "jitter", PARAM_DOUBLE, P(jitter), "1", 0, 1, NULL,
	  "share of the interval between windows that is exponential", NULL },
	{ "seed", PARAM_U64, P(seed), "1", 0, 0, NULL, "of the random numbers", NULL },
	{ "node_pass", PARAM_BOOL, P(node_pass), "0", 0, 0, NULL, "one pass per node", NULL },
	{ "delta_by_priority", PARAM_BOOL, P(delta_by_priority), "0", 0, 0, NULL,
	  "slab share from the priority", NULL },
	{ "memcg_bitmap", PARAM_BOOL, P(memcg_bitmap), "0", 0, 0, NULL,
	  "memcg reclaim skips empty shrinkers", NULL },
	{ "lower_priority", PARAM_BOOL, P(lower_priority), "1", 0, 0, NULL,
	  "3.2 scans twice as much after a round that freed under 32 pages", NULL },
	{ 0 }
};
#undef P

struct zone {
	int64_t free, present, min, low, high;
	int64_t reserve[NR_ZONES];	/* lowmem_reserve, by the zone that was asked for */
	int64_t file;			/* inactive file pages */
	bool all_unreclaimable;
};

/* /proc/zoneinfo of the report; DMA's min and low from its high, present from the protections. */
static const struct zone reported_zones[NR_ZONES] = {
	[ZONE_DMA] = { .free = 3980,
		       .present = 3980,
		       .min = 64,
		       .low = 80,
		       .high = 96,
		       .reserve = { 0, 3503, 4007 } },
	[ZONE_DMA32] = { .free = 22073,
			 .present = 896768,
			 .min = 14715,
			 .low = 18393,
			 .high = 22072,
			 .reserve = { 0, 0, 504 },
			 .file = 412249 },
	[ZONE_NORMAL] = { .free = 3175,
			  .present = 129024,
			  .min = 2116,
			  .low = 2645,
			  .high = 3174,
			  .file = 47083 },
};

struct kswapd {
	const struct kswapd_params *params;
	struct zone zone[NR_ZONES];
	struct shrinkers shrinkers;
	struct kswapd_result *result;
	double now_ns, cpu_ns, page_ns, lag_ns;
	double period_ns;		/* from one window to the next, on average */
	double window_ns, next_window_ns; /* when the present window began, and the next does */
	uint64_t window_first;		/* the present window's first page */
	uint64_t rand;
	uint64_t nr_total;		/* pages the reader wants in all */
	uint64_t nr_reclaimed;		/* since the last start at priority 12 */
	bool raise_priority, node_lru, any_zone;
};

double kswapd_closed_form(double pages_per_s, double page_ns, double superblocks,
			  double superblock_ns, double pages_per_pass)
{
	return fmin(1, pages_per_s / NS_PER_S *
		       (page_ns + superblocks * superblock_ns / pages_per_pass));
}

static bool watermark_ok(const struct zone *zone, int64_t mark, int classzone)
{
	return zone->free > mark + zone->reserve[classzone];
}

/*
 * Interval between windows: mean with a share of it exponential, never shorter than the allocating.
 */
static void next_window(struct kswapd *k)
{
	double mean_ns = k->period_ns, shortest_ns = k->params->window_pages * k->params->alloc_ns;
	double jitter = k->params->jitter;
	double ns = mean_ns * (1 - jitter - jitter * log(1 - rand_unit(&k->rand)));

	k->window_ns = k->next_window_ns;
	k->next_window_ns += ns > shortest_ns ? ns : shortest_ns;
	k->window_first += k->params->window_pages;
}

/* Pages the reader has asked for at time @ns: whole windows, and the begun one. Never goes back. */
static uint64_t demanded(struct kswapd *k, double ns)
{
	double t = ns - k->lag_ns, begun;
	uint64_t nr;

	while (t >= k->next_window_ns && k->window_first < k->nr_total)
		next_window(k);
	begun = t < k->window_ns ? 0 : floor((t - k->window_ns) / k->params->alloc_ns) + 1;
	nr = k->window_first + fmin(begun, k->params->window_pages);
	return nr < k->nr_total ? nr : k->nr_total;
}

/* When it asks for page number @nr, which is the next it has not got. */
static double demand_ns(struct kswapd *k, uint64_t nr)
{
	while (nr >= k->window_first + k->params->window_pages)
		next_window(k);
	return k->lag_ns + k->window_ns + (nr - k->window_first) * k->params->alloc_ns;
}

static struct zone *zone_for(struct kswapd *k, bool low)
{
	for (int i = ZONE_NORMAL; i >= ZONE_DMA; i--) {
		struct zone *zone = &k->zone[i];

		if (watermark_ok(zone, low ? zone->low : zone->min, ZONE_NORMAL))
			return zone;
	}
	return NULL;
}

static uint64_t slab_pass(struct kswapd *k, uint64_t nr_scanned, int priority, double *ns)
{
	struct shrink_slab_counters *slab = &k->result->slab;
	double before_ns = slab->poll_ns + slab->object_ns;
	struct shrink_slab_control control = { .nr_scanned = nr_scanned, .priority = priority };
	uint64_t freed;

	for (int i = 0; i < NR_ZONES; i++)
		control.lru_pages += k->zone[i].file;
	freed = shrink_slab(&k->shrinkers, &control, slab);
	*ns = slab->poll_ns + slab->object_ns - before_ns;
	return freed;
}

/* __alloc_pages_direct_reclaim(): the reader frees a cluster itself, and is late by that. */
static void direct_reclaim(struct kswapd *k)
{
	double slab_ns;

	slab_pass(k, SWAP_CLUSTER_MAX, DEF_PRIORITY, &slab_ns);
	k->zone[ZONE_DMA32].free += SWAP_CLUSTER_MAX;
	k->zone[ZONE_DMA32].file -= SWAP_CLUSTER_MAX;
	k->result->nr_direct += SWAP_CLUSTER_MAX;
	slab_ns += SWAP_CLUSTER_MAX * k->params->page_ns;
	k->result->direct_ns += slab_ns;
	k->lag_ns += slab_ns;
}

static void allocate(struct kswapd *k, uint64_t until)
{
	while (k->result->nr_allocated < until) {
		struct zone *zone = zone_for(k, true);

		if (!zone)
			zone = zone_for(k, false);
		if (!zone) {
			direct_reclaim(k);
			zone = &k->zone[ZONE_DMA32];
		}
		zone->free--;
		zone->file++;
		k->result->nr_allocated++;
	}
}

/* kswapd is busy for @ns; the reader goes on meanwhile. */
static void spend(struct kswapd *k, double ns)
{
	k->now_ns += ns;
	k->cpu_ns += ns;
	allocate(k, demanded(k, k->now_ns));
}

static uint64_t shrink_lru(struct kswapd *k, struct zone *zone, int64_t nr)
{
	if (nr > zone->file)
		nr = zone->file;
	zone->file -= nr;
	zone->free += nr;
	k->result->nr_reclaimed += nr;
	k->nr_reclaimed += nr;
	k->page_ns += nr * k->params->page_ns;
	spend(k, nr * k->params->page_ns);
	return nr;
}

/* size >> priority; kswapd scans a cluster where that is nothing (force_scan). */
static int64_t scan_target(int64_t size, int priority)
{
	return size >> priority ? size >> priority : size ? SWAP_CLUSTER_MAX : 0;
}

/* shrink_zone() and the shrink_slab() behind it. Returns the pages scanned. */
static uint64_t shrink_zone(struct kswapd *k, struct zone *zone, int priority)
{
	uint64_t nr = shrink_lru(k, zone, scan_target(zone->file, priority)), freed;
	double slab_ns;

	freed = slab_pass(k, nr, priority, &slab_ns);
	if (!freed && !zone->file)	/* zone_reclaimable(): 6 * 0 pages */
		zone->all_unreclaimable = true;
	spend(k, slab_ns);
	return nr;
}

/* One list for the node: what it gives up lies in the zones in proportion. One slab pass. */
static uint64_t shrink_node(struct kswapd *k, int priority)
{
	int64_t size = k->zone[ZONE_DMA32].file + k->zone[ZONE_NORMAL].file;
	int64_t nr = scan_target(size, priority);
	int64_t normal = size ? nr * k->zone[ZONE_NORMAL].file / size : 0;
	double slab_ns;

	nr = shrink_lru(k, &k->zone[ZONE_NORMAL], normal) +
	     shrink_lru(k, &k->zone[ZONE_DMA32], nr - normal);
	slab_pass(k, nr, priority, &slab_ns);
	spend(k, slab_ns);
	return nr;
}

static int highest_zone_short(const struct kswapd *k, int priority)
{
	for (int i = NR_ZONES - 1; i >= 0; i--) {
		const struct zone *zone = &k->zone[i];

		if (zone->all_unreclaimable && priority != DEF_PRIORITY)
			continue;
		if (!watermark_ok(zone, zone->high, 0))
			return i;
	}
	return -1;
}

/* One priority of 3.2's loop: true when all zones are at high. */
static bool balance_zones(struct kswapd *k, int priority, bool *enough_scanned)
{
	int end_zone = highest_zone_short(k, priority);
	bool all_ok = true;

	for (int i = 0; i <= end_zone; i++) {
		struct zone *zone = &k->zone[i];
		int64_t gap = (zone->present + GAP_RATIO - 1) / GAP_RATIO;

		if (zone->all_unreclaimable && priority != DEF_PRIORITY)
			continue;
		if (gap > zone->low)
			gap = zone->low;
		if (!watermark_ok(zone, zone->high + gap, end_zone) &&
		    (int64_t)shrink_zone(k, zone, priority) >= zone->high)
			*enough_scanned = true;
		if (!zone->all_unreclaimable && !watermark_ok(zone, zone->high, end_zone))
			all_ok = false;
	}
	return all_ok;
}

/* 4.8's node: pgdat_balanced() when any zone is; what-if node_pass keeps 3.2's "all". */
static bool node_balanced(const struct kswapd *k)
{
	bool dma32 = watermark_ok(&k->zone[ZONE_DMA32], k->zone[ZONE_DMA32].high, ZONE_NORMAL);
	bool normal = watermark_ok(&k->zone[ZONE_NORMAL], k->zone[ZONE_NORMAL].high, ZONE_NORMAL);

	return k->any_zone ? dma32 || normal : dma32 && normal;
}

static bool balance_node(struct kswapd *k, int priority, bool *enough_scanned)
{
	int64_t want = 0;

	if (node_balanced(k))
		return true;
	for (int i = 0; i < NR_ZONES; i++)
		want += k->zone[i].high > SWAP_CLUSTER_MAX ? k->zone[i].high : SWAP_CLUSTER_MAX;
	*enough_scanned = (int64_t)shrink_node(k, priority) >= want;
	return node_balanced(k);
}

static void balance_pgdat(struct kswapd *k)
{
	bool balanced = false;

	while (!balanced && k->result->nr_allocated < k->nr_total) {
		int priority = DEF_PRIORITY;

		k->nr_reclaimed = 0;
		k->result->nr_loops++;
		while (priority >= 0 && !balanced) {
			bool enough_scanned = false;

			balanced = k->node_lru ? balance_node(k, priority, &enough_scanned) :
						 balance_zones(k, priority, &enough_scanned);
			if (k->raise_priority)	/* 3.10: goes on with larger scans */
				priority -= !enough_scanned;
			else if (k->nr_reclaimed >= SWAP_CLUSTER_MAX ||
				 (k->nr_reclaimed && !k->params->lower_priority))
				break;		/* 3.2: starts over */
			else
				priority--;
			if (k->result->nr_allocated >= k->nr_total)
				break;
		}
	}
	for (int i = 0; i < NR_ZONES; i++)
		k->zone[i].all_unreclaimable = false;	/* freed pages clear it */
}

/* sleeping_prematurely(): 3.2 wants every zone at high; 4.8 is content with one. */
static bool may_sleep_on(const struct kswapd *k)
{
	if (k->any_zone)
		return node_balanced(k);
	return watermark_ok(&k->zone[ZONE_DMA32], k->zone[ZONE_DMA32].high, ZONE_DMA32) &&
	       watermark_ok(&k->zone[ZONE_NORMAL], k->zone[ZONE_NORMAL].high, ZONE_NORMAL);
}

/*
 * kswapd_try_to_sleep(): dozes for HZ/10, goes on at once if that was premature, else sleeps until
 * an allocation finds every zone below low.
 */
static void sleep_until_woken(struct kswapd *k)
{
	double doze_ns = k->now_ns + NS_PER_S / 10;

	while (k->result->nr_allocated < k->nr_total) {
		double at_ns = demand_ns(k, k->result->nr_allocated);

		if (k->now_ns <= doze_ns && at_ns > doze_ns) {
			k->now_ns = doze_ns;
			if (!may_sleep_on(k))
				break;
		}
		if (at_ns > k->now_ns)
			k->now_ns = at_ns;
		if (!zone_for(k, true) && !(k->any_zone && node_balanced(k)))
			break;
		allocate(k, k->result->nr_allocated + 1);
	}
	k->result->nr_wakes++;
}

static int64_t free_pages(const struct kswapd *k)
{
	return k->zone[ZONE_DMA].free + k->zone[ZONE_DMA32].free + k->zone[ZONE_NORMAL].free;
}

int kswapd_run(const struct kswapd_params *params, struct kswapd_result *r, struct err *err)
{
	struct kswapd k = {
		.params = params,
		.result = r,
		.shrinkers = {
			.nr_empty = params->nr_superblocks,
			.poll_ns = params->superblock_ns,
			.delta_by_priority = params->delta_by_priority ||
					     params->version >= KSWAPD_6_18,
			.memcg_bitmap = params->memcg_bitmap || params->version >= KSWAPD_6_18,
		},
		.rand = params->seed,
		.period_ns = params->window_pages * PAGE_BYTES / (params->demand_mb_s * 1e6) *
			     NS_PER_S,
		.nr_total = params->read_bytes / PAGE_BYTES,
		.raise_priority = params->version >= KSWAPD_3_10,
		.node_lru = params->version >= KSWAPD_4_8 || params->node_pass,
		.any_zone = params->version >= KSWAPD_4_8,
	};

	if (k.period_ns < params->window_pages * params->alloc_ns)
		return err_set(err, -EINVAL,
			       "a window of %llu pages takes longer to allocate than to "
			       "read at %g MB/s",
			       (unsigned long long)params->window_pages, params->demand_mb_s);
	*r = (struct kswapd_result){ 0 };
	memcpy(k.zone, reported_zones, sizeof(k.zone));
	r->free_start = free_pages(&k);
	k.next_window_ns = k.period_ns;
	while (r->nr_allocated < k.nr_total) {
		sleep_until_woken(&k);
		balance_pgdat(&k);
	}
	r->free_end = free_pages(&k);
	r->run_s = k.now_ns / NS_PER_S;
	r->cpu_pct = 100 * k.cpu_ns / k.now_ns;
	r->page_pct = k.cpu_ns > 0 ? 100 * k.page_ns / k.cpu_ns : NAN;
	r->pages_per_pass = (double)r->nr_reclaimed / r->slab.nr_passes;
	return 0;
}
