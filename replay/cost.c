// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cost.c - what an operation of reclaim costs in CPU time.
 *
 * A model counts operations (pages looked up, scanned, reclaimed, ...), a cost profile has the ns
 * of each; CPU = sum of count x ns. Counts are exact, prices are not: a price belongs to a
 * processor, a file system and a kernel configuration, so each comes with its standard error where
 * one is known and with the way it was got. An operation that the profile does not know has no
 * price: NaN, which SQL stores as NULL, never 0.
 *
 * The built-in profile is of Linux 6.18 on one 2-CPU virtual machine, ext4 on a loop device, from
 * captures of begin/end events only (page-granular events would add 29-45 % to what they measure).
 */
#include <math.h>
#include <string.h>

#include "replay/replay.h"

static const struct cost_entry builtin[] = {
	{ "lookup.page", 1230, 45, "cached random preads of 4 KiB, getrusage" },
	{ "fill.page", 16000, 2200, "uncached random preads of 4 KiB, less the lookup, getrusage" },
	/*
	 * Per page reclaimed, medians over calls with begin and end only: 838 ns where pages leave
	 * in the order they came in (looping reads), 1543 ns where they are random and a third was
	 * active before; 100 ns where they leave in large folios, 32 a call, in one batch. What
	 * makes the difference was fitted by `pagereel calibrate` (four times, on a busy machine:
	 * the errors are those of the four): the folio, whether it is near the one before, and
	 * calls, of which the random one takes six or seven batches.
	 */
	{ "reclaim.page", 0, 0, "part of reclaim.folio" },
	{ "reclaim.folio", 490, 120, "memcg reclaim, begin to end, less scan.page" },
	{ "reclaim.node", 560, 40, "memcg reclaim of random and of neighbouring pages" },
	{ "reclaim.call", 2000, NAN, "memcg reclaim of large folios, less one batch" },
	{ "scan.batch", 950, 350, "memcg reclaim of single pages, less the call" },
	{ "scan.page", 150, NAN, "assumed: a page that is looked at and put back" },
	{ "refill.page", 250, 120, "memcg reclaim of skewed reads, fitted" },
	{ "activate.page", 150, NAN, "assumed, as scan.page" },
	{ "rotate.page", 150, NAN, "assumed, as scan.page" },
	{ "deactivate.page", 150, NAN, "assumed, as scan.page" },
	{ "promote.page", 150, NAN, "assumed: activated by a second read" },
	{ "refault.page", 150, NAN, "assumed" },
	{ "shrink.call", 0, 0, "part of reclaim.call" },
	{ "shrink.object", 0, 0, "part of reclaim.folio" },
	{ "write_out.page", 0, 0, "part of reclaim.folio" },
	/*
	 * Per page reclaimed 1909 ns with the events of scans, 2155 with those of pages, too. In
	 * short calls of a few large folios an event took 70 to 350 ns, by the state of the host.
	 */
	{ "trace.vmscan", 300, 150, "memcg reclaim with and without these events" },
	{ "trace.page", 246, 100, "memcg reclaim with and without these events" },
	{ "evict.page", 0, 0, "part of reclaim.folio" },
	{ "write.page", 1700, 70, "fsync of 4096 scattered dirty pages on ext4 (in order: 800)" },
	{ "shrink.superblock", 47, NAN, "node reclaim with 0 to 4000 empty tmpfs mounts" },
	{ "stats_flush.call", 0, 0, "part of stats_flush.pair" },
	{ "stats_flush.pair", 450, NAN, "memory.stat of 1 to 400 cgroups, in cache" },
};

static const struct cost_profile builtin_profile = {
	.name = "builtin-6.18",
	.entries = builtin,
	.nr_entries = ARRAY_SIZE(builtin),
};

const struct cost_profile *cost_profile_builtin(void)
{
	return &builtin_profile;
}

const struct cost_entry *cost_find(const struct cost_profile *profile, const char *operation)
{
	for (size_t i = 0; i < profile->nr_entries; i++)
		if (!strcmp(profile->entries[i].operation, operation))
			return &profile->entries[i];
	return NULL;
}

double cost_ns(const struct cost_profile *profile, const char *operation)
{
	const struct cost_entry *entry = cost_find(profile, operation);

	return entry ? entry->ns : NAN;
}
