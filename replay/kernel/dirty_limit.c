// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * dirty_limit.c - how many pages may be dirty before the flusher has to write.
 *
 * Follows Linux 6.12 mm/page-writeback.c: balance_dirty_pages(), domain_dirty_limits(),
 * mdtc_calc_avail(), wb_over_bg_thresh().
 *
 * What could be dirty is the page cache and what is free for it. vm.dirty_background_ratio and
 * vm.dirty_ratio are shares of that:
 *
 *	0 ---------- background ---- half way ---- limit
 *	                  |              |           +- a writer waits until some were written
 *	                  |              +- from here on it is slowed down
 *	                  +- the flusher stops; for a machine, starts
 *
 * In a memcg of v2 the same holds of its own pages and its own memory (where the memory and io
 * controllers are together, cgroup writeback), but for one thing: the number of its dirty pages
 * is only looked at half way, and so its flusher is woken there. A memcg of v1 has no such limit;
 * the machine's is far away from it, and is left out.
 *
 * The flusher writes at least 1024 pages before it looks again: in a memcg of up to 40 MB, all.
 *
 * Approximations. What the writer's waiting costs is time only. The machine's limits are not
 * applied to a memcg beside its own. Free memory of the machine that a memcg could still get is
 * taken to be there.
 */
#include "replay/kernel/kernel.h"

const char *const dirty_limits[] = {
	[DIRTY_LIMIT_AUTO] = "auto", [DIRTY_LIMIT_ON] = "on", [DIRTY_LIMIT_OFF] = "off", NULL
};

void dirty_limit_init(struct kernel_model *m, const struct replay_context *context)
{
	bool v2 = context && context->memcg_v2 && context->limit_pages != UINT64_MAX;

	m->limits_dirty = m->p.dirty_limit == DIRTY_LIMIT_ON ||
			  (m->p.dirty_limit == DIRTY_LIMIT_AUTO && (v2 || m->p.kswapd));
}

void dirty_limit_check(struct kernel_model *m)
{
	uint64_t limit = m->memcg.limit_pages, other = m->memcg.other_pages;
	uint64_t available = limit > other ? limit - other : 0, pct;

	pct = m->p.dirty_background < m->p.dirty_ratio ? m->p.dirty_background :
	      m->p.dirty_ratio / 2;
	if (!m->p.kswapd)
		pct = (pct + m->p.dirty_ratio) / 2;
	if (m->nr_dirty > available * pct / 100)
		writeback_wakeup(m);
}
