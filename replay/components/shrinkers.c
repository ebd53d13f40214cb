// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * shrinkers.c - shrink_slab() over one shrinker per superblock.
 *
 * Each pass of page reclaim asks every shrinker how many objects it could free and lets it free a
 * share of them. Since 3.1 every superblock has a shrinker of its own, and asking takes sb_lock
 * twice and s_umount once: a superblock that has nothing is skipped only after that. Passes are
 * cheap while there are a few dozen superblocks, and are the whole of kswapd's time when leaked
 * mounts have made thousands of them.
 *
 * How much is freed:
 *	3.2    shrink_slab(): delta = (4 * scanned / seeks) * max_pass / (lru_pages + 1); scanned 32
 *	       if 0; total = deferred + delta; delta < max_pass / 4 caps total at max_pass / 2;
 *	       never above 2 * max_pass; a batch at a time while total >= batch, the rest is
 *	       deferred.
 *	4.16+  (approx.) do_shrink_slab(): delta = 4 * (freeable >> priority) / seeks, freeable / 2
 *	       where seeks is 0; total = (deferred >> priority) + delta, at most 2 * freeable; while
 *	       total >= batch or total >= freeable. As in 6.18.
 * A superblock counts (dentries + inodes + fs objects + 1) / 100 * vfs_cache_pressure: freeable
 * below 100 objects is 0, and such a one is part of nr_empty here.
 *
 * 4.19 keeps a bitmap of non-empty shrinkers per memcg; reclaim of a memcg below the root walks
 * that. Global reclaim still walks all of them once per pass: true in 6.18.
 *
 * Approximation: every poll costs the same. In truth the share of the spin lock grows with the
 * number of CPUs polling; one cost per superblock cannot say how it divides between the locks.
 */
#include "replay/components/components.h"

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t delta_by_scanned(const struct shrinker *s, const struct shrink_slab_control *c)
{
	uint64_t scanned = c->nr_scanned ? c->nr_scanned : 32;

	return 4 * scanned / (s->seeks ? s->seeks : 2) * s->freeable / (c->lru_pages + 1);
}

static uint64_t delta_by_priority(const struct shrinker *s, const struct shrink_slab_control *c)
{
	return s->seeks ? 4 * (s->freeable >> c->priority) / s->seeks : s->freeable / 2;
}

/* Everything scanned is freed: objects in use would only rotate. */
static uint64_t free_batches(struct shrinker *s, uint64_t total, bool small_too)
{
	uint64_t freeable = s->freeable, freed = 0;

	while (total >= s->batch || (small_too && total && total >= freeable)) {
		uint64_t nr = min_u64(s->batch, total), got = min_u64(nr, s->freeable);

		freed += got;
		s->freeable -= got;
		total -= nr;
		if (!got)
			break;
	}
	s->deferred = total;
	return freed;
}

static uint64_t shrink_3_2(struct shrinker *s, const struct shrink_slab_control *c)
{
	uint64_t delta = delta_by_scanned(s, c), total = s->deferred + delta;

	if (delta < s->freeable / 4)
		total = min_u64(total, s->freeable / 2);
	return free_batches(s, min_u64(total, 2 * s->freeable), false);
}

static uint64_t shrink_6_18(struct shrinker *s, const struct shrink_slab_control *c)
{
	uint64_t early = s->deferred >> c->priority, total = early + delta_by_priority(s, c);
	uint64_t kept = s->deferred - early, freed;

	freed = free_batches(s, min_u64(total, 2 * s->freeable), true);
	s->deferred = min_u64(s->deferred + kept, 2 * s->freeable);
	return freed;
}

uint64_t shrink_slab(struct shrinkers *shrinkers, const struct shrink_slab_control *control,
		     struct shrink_slab_counters *counters)
{
	bool skip_empty = shrinkers->memcg_bitmap && control->memcg_reclaim;
	uint64_t polled = shrinkers->nr_items + (skip_empty ? 0 : shrinkers->nr_empty), freed = 0;

	for (size_t i = 0; i < shrinkers->nr_items; i++) {
		struct shrinker *s = &shrinkers->item[i];

		if (s->freeable)
			freed += shrinkers->delta_by_priority ? shrink_6_18(s, control) :
								shrink_3_2(s, control);
	}
	counters->nr_passes++;
	counters->nr_polled += polled;
	counters->nr_objects += freed;
	counters->poll_ns += polled * shrinkers->poll_ns;
	counters->object_ns += freed * shrinkers->object_ns;
	return freed;
}
