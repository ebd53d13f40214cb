// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * kswapd.c - reclaim of a whole machine: watermarks, kswapd, and who must help it.
 *
 * Follows Linux 6.12 mm/page_alloc.c: get_page_from_freelist(), __alloc_pages_slowpath(),
 * __setup_per_zone_wmarks(), setup_per_zone_lowmem_reserve(); mm/vmscan.c: balance_pgdat(),
 * kswapd_shrink_node(), pgdat_balanced(), wakeup_kswapd(). 6.1 and 6.18 do the same here.
 *
 *	free pages
 *	  high	----  kswapd sleeps again
 *	  low	----  an allocation wakes it and goes on
 *	  min	----  an allocation has to reclaim 32 pages itself first (direct reclaim)
 *
 * min_free_kbytes is 4 * sqrt(memory in kB), at least 128, at most 262144; low and high are each
 * a quarter of that higher, or watermark_scale_factor / 10000 of the memory if that is more. A
 * zone below the one that was asked for also keeps a 256th of those above it: of the first 16 MB,
 * next to nothing is ever used.
 *
 * kswapd makes passes as reclaim of a memcg does (vmscan.c, mglru.c), from priority 12, each
 * twice as deep as the last unless that looked at as many pages as the high watermark has, until
 * free memory is above the high watermark. It looks at the same lists; what differs is when, and
 * how much at a time: the distance from low to high, not 32 pages. It does so beside the program,
 * taking kswapd_page for each page it looks at: a program that allocates faster gets below min,
 * and reclaims itself.
 *
 * Behind each pass comes one over all shrinkers (shrink_slab() of the root memcg), one of which
 * every superblock has: that they are empty is found only by asking. superblocks says how many
 * there are, superblock what it takes to ask one; 4.8 and later do it once for the node, 3.2 for
 * each zone (zones.c).
 *
 * What is neither free nor page cache of the replayed tasks (the kernel, slab, anonymous pages)
 * is taken from the samples of the capture's context, by the time they were taken.
 *
 * Approximations. One node. The zones' watermarks are summed up: the kernel wakes kswapd when all
 * zones are below low and lets it sleep when any is above high, which with zones of their own
 * share of each list comes to the same within a few pages of the distance between the two. Per-
 * CPU free lists, watermark boosting after fragmentation, and compaction are left out. Slab does
 * not shrink, but for shadow nodes. With multi-gen LRU kswapd takes no time unless told
 * otherwise, and ends a pass when it has reclaimed enough.
 */
#include <math.h>

#include "replay/kernel/kernel.h"

enum {
	MAX_FAILURES = 16,		/* MAX_RECLAIM_RETRIES */
	DMA_PAGES = 3840,		/* of the first 16 MB, what the kernel has to give */
	DMA32_PAGES = 3 << (30 - PAGE_BITS),
	LOWMEM_RATIO = 256,
};

struct watermarks {
	uint64_t min_pages, low_pages, high_pages;
};

/* Kept in lower zones from those who ask for higher ones. */
static uint64_t lowmem_reserve(uint64_t managed)
{
	uint64_t reserve = 0;

	if (managed > 2 * DMA_PAGES)
		reserve += (managed - DMA_PAGES) / LOWMEM_RATIO;
	if (managed > DMA32_PAGES)
		reserve += (managed - DMA32_PAGES) / LOWMEM_RATIO;
	return reserve;
}

static struct watermarks get_watermarks(const struct kernel_model *m)
{
	uint64_t managed = m->memcg.limit_pages, reserve = m->gen ? 0 : lowmem_reserve(managed);
	double min_kb = sqrt(16.0 * (double)managed * (PAGE_BYTES / 1024));
	uint64_t min = (uint64_t)(min_kb < 128 ? 128 : min_kb > 262144 ? 262144 : min_kb) /
		       (PAGE_BYTES / 1024);
	uint64_t scaled = managed * m->p.watermark_scale / 10000;
	uint64_t gap = min / 4 > scaled ? min / 4 : scaled;

	return (struct watermarks){
		.min_pages = min + reserve,
		.low_pages = min + gap + reserve,
		.high_pages = min + 2 * gap + reserve,
	};
}

static uint64_t free_pages(const struct kernel_model *m)
{
	return m->memcg.limit_pages > m->memcg.usage_pages ?
	       m->memcg.limit_pages - m->memcg.usage_pages : 0;
}

/* A run is over: the pages above the high watermark are there, or the lists were searched whole. */
static void end_run(struct kernel_model *m)
{
	struct kswapd *k = &m->kswapd;

	k->failures = k->nr_reclaimed ? 0 : k->failures + 1;
	k->nr_reclaimed = 0;
	k->priority = DEF_PRIORITY;
	snapshot_refaults(m);
}

/* One pass at the run's priority. */
static void run_pass(struct kernel_model *m, const struct watermarks *marks)
{
	struct kswapd *k = &m->kswapd;
	struct scan_control sc = {
		.nr_to_reclaim = marks->high_pages > m->p.cluster_pages ? marks->high_pages :
				 m->p.cluster_pages,
		.priority = k->priority,
		.kswapd = true,
	};
	uint64_t scanned = m->n.c.scanned;

	if (m->gen && sc.priority == DEF_PRIORITY)
		sc.priority = lru_gen_initial_priority(m, &sc);
	shrink_node(m, &sc);
	scanned = m->n.c.scanned - scanned;
	k->nr_reclaimed += sc.nr_reclaimed;
	k->next_ns += scanned * m->p.kswapd_page_ns + m->p.nr_superblocks * m->p.superblock_ns;
	k->priority = sc.priority;
	if ((m->gen ? sc.nr_reclaimed : scanned) < sc.nr_to_reclaim || !sc.nr_reclaimed)
		k->priority--;
}

/* What kswapd gets done until now. */
static void kswapd_run(struct kernel_model *m, const struct watermarks *marks)
{
	struct kswapd *k = &m->kswapd;

	while (k->awake && k->next_ns <= m->now_ns) {
		if (free_pages(m) >= marks->high_pages || k->failures == MAX_FAILURES) {
			k->awake = false;
			end_run(m);
			return;
		}
		run_pass(m, marks);
		if (k->priority < 1)
			end_run(m);
	}
}

static void wake_kswapd(struct kernel_model *m)
{
	struct kswapd *k = &m->kswapd;

	if (k->awake)
		return;
	k->awake = true;
	k->priority = DEF_PRIORITY;
	k->failures = 0;
	k->nr_reclaimed = 0;
	k->next_ns = m->now_ns;
	m->n.reclaim_calls++;
}

uint64_t machine_usage(struct kernel_model *m, const struct replay_context *context)
{
	m->kswapd.usage = context->other_used;
	m->kswapd.nr_usage = m->p.reserve_recorded ? context->nr_other_used : 0;
	return m->kswapd.nr_usage ? context->other_used[0].pages : UINT64_MAX;
}

/* What others use by now. */
static void follow_usage(struct kernel_model *m)
{
	uint64_t now_ns = m->waits.threshold_ns ? m->recorded_ns : m->now_ns;
	struct kswapd *k = &m->kswapd;

	while (k->nr_usage > 1 && k->usage[1].ts_ns <= now_ns) {
		m->memcg.usage_pages += k->usage[1].pages - k->usage[0].pages;
		m->memcg.other_pages += k->usage[1].pages - k->usage[0].pages;
		k->usage++;
		k->nr_usage--;
	}
}

void machine_alloc(struct kernel_model *m, uint64_t pages)
{
	struct watermarks marks = get_watermarks(m);

	follow_usage(m);
	m->memcg.usage_pages += pages;
	if (free_pages(m) < marks.low_pages)
		wake_kswapd(m);
	if (m->kswapd.awake)
		kswapd_run(m, &marks);
	for (int i = 0; i < MAX_FAILURES && free_pages(m) < marks.min_pages; i++)
		if (!try_to_free_pages(m, m->p.cluster_pages))
			break;
	if (!free_pages(m))
		m->n.over_limit++;	/* the kernel would kill a task here */
}
