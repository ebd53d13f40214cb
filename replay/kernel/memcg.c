// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * memcg.c - charging pages against the limit, and statistics that are old when they are read.
 *
 * Follows Linux 6.18 mm/memcontrol.c: try_charge_memcg(), refill_stock(), consume_stock(),
 * flush_memcg_stats_dwork().
 *
 * A charge takes 64 pages at a time and keeps the rest as a stock. Where 64 do not fit it tries
 * again with what it needs, and where not even that fits it reclaims at least 32 pages and tries
 * again, up to 16 times. So a memcg at its limit runs in cycles: reclaim a few dozen pages, then
 * charge them one by one. Readahead does not insist: it gives up after one attempt.
 *
 * The sizes of the lists and the count of refault activations, as reclaim and the refault decision
 * read them, are from the last flush of the statistics: a worker does that every 2 s. The exact
 * ones would be a different kernel: activations differ by half in short runs. When the first flush
 * falls is not in a record without memcg:memcg_flush_stats; stats_phase is a parameter, and the
 * difference between phases is the spread that the real kernel has too.
 *
 * Approximation: one stock, where the kernel has one per CPU. What is charged besides page cache
 * (kernel memory, anonymous pages) is taken as the context gives it and constant unless the stream
 * has records of it.
 */
#include "replay/kernel/kernel.h"

enum {
	MAX_RECLAIM_RETRIES = 16,
	COSTLY_PAGES = 8,	/* up to this many, reclaim that freed anything is tried again */
};

void memcg_flush_stats(struct kernel_model *m)
{
	struct lruvec *lruvec = &m->lruvec;

	for (int i = 0; i < NR_LISTS; i++)
		lruvec->stat_pages[i] = lruvec->nr_pages[i];
	for (int file = 0; file < 2; file++)
		lruvec->stat_workingset_activate[file] = lruvec->nr_workingset_activate[file];
	m->n.stat_flushes++;
}

static bool try_charge(struct memcg *memcg, uint64_t pages)
{
	if (memcg->usage_pages + pages > memcg->limit_pages)
		return false;
	memcg->usage_pages += pages;
	return true;
}

static void drain_stock(struct memcg *memcg)
{
	memcg->usage_pages -= memcg->stock_pages;
	memcg->stock_pages = 0;
}

static bool charge_slow(struct kernel_model *m, uint64_t pages, enum charge_mode mode)
{
	struct memcg *memcg = &m->memcg;
	int retries = MAX_RECLAIM_RETRIES;
	bool drained = false;

	while (!try_charge(memcg, pages)) {
		uint64_t freed = try_to_free_pages(m, pages);

		if (memcg->usage_pages + pages <= memcg->limit_pages)
			continue;
		if (!drained) {
			drain_stock(memcg);
			drained = true;
			continue;
		}
		if (mode == CHARGE_NORETRY)
			return false;
		if (freed && pages <= COSTLY_PAGES)
			continue;
		m->nr_windows = 0;	/* by now they have been read */
		if (--retries)
			continue;
		/* The kernel would kill a task here; a replay goes on above the limit. */
		memcg->usage_pages += pages;
		m->n.over_limit++;
		break;
	}
	return true;
}

/* False only with CHARGE_NORETRY: the limit does not give so much. */
bool memcg_charge(struct kernel_model *m, uint64_t pages, enum charge_mode mode)
{
	struct memcg *memcg = &m->memcg;
	uint64_t batch = pages > m->p.charge_batch_pages ? pages : m->p.charge_batch_pages;

	if (m->zones) {
		zones_alloc(m);
		return true;
	}
	if (m->p.kswapd) {
		machine_alloc(m, pages);
		return true;
	}
	if (memcg->stock_pages >= pages) {
		memcg->stock_pages -= pages;
		return true;
	}
	if (!try_charge(memcg, batch))
		return charge_slow(m, pages, mode);
	memcg->stock_pages += batch - pages;
	if (memcg->stock_pages > m->p.charge_batch_pages)
		drain_stock(memcg);
	return true;
}

void memcg_uncharge(struct kernel_model *m, uint64_t pages)
{
	m->memcg.usage_pages -= pages;
}

/* Kernel and anonymous memory comes (@pages > 0) or goes. */
void memcg_charge_other(struct kernel_model *m, int64_t pages)
{
	uint64_t gone = pages < 0 ? (uint64_t)-pages : 0;

	if (m->zones) {
		zones_charge_other(m, pages);
		return;
	}
	if (pages > 0) {
		memcg_charge(m, (uint64_t)pages, CHARGE);
		m->memcg.other_pages += (uint64_t)pages;
		return;
	}
	if (gone > m->memcg.other_pages)
		gone = m->memcg.other_pages;
	m->memcg.other_pages -= gone;
	memcg_uncharge(m, gone);
}

void memcg_set_limit(struct kernel_model *m, uint64_t pages)
{
	m->memcg.limit_pages = pages;
	for (int i = 0; i < MAX_RECLAIM_RETRIES && m->memcg.usage_pages > pages; i++) {
		drain_stock(&m->memcg);
		if (m->memcg.usage_pages > pages)
			try_to_free_pages(m, m->memcg.usage_pages - pages);
	}
}
