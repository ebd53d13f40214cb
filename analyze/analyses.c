// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyses.c - the table of analyses. A new one is a file NAME.sql and an entry here. One that is
 * no query has no .sql here and a function in the table `drawings` of cmd/analyze.c, for every
 * format.
 */
#include <string.h>

#include "analyze/analyze.h"

#define NO_RECLAIM "no reclaim was recorded: there was none, or its events were not enabled " \
	"(pagereel info shows which were; the group is 'reclaim')"

const struct analysis analyses[] = {
	{ .name = "summary",
	  .purpose = "what happened: how much reclaim, by whom, at what cost, how well covered",
	  .sql = sql_analyze_summary, .empty = "no captures in this database" },
	{ .name = "compare",
	  .purpose = "models and sizes side by side: hit ratio, fills, CPU",
	  .sql = sql_analyze_compare, .needs_results = true,
	  .empty = "nothing has been replayed "
		   "(pagereel replay RUN.db -m linux-6.18,lru,arc,opt -M 32M..256M/8)" },
	{ .name = "mrc",
	  .purpose = "miss ratio curves of all models, the recorded size marked, and their knees",
	  .sql = sql_analyze_mrc, .needs_results = true,
	  .empty = "no curves in this database (pagereel replay RUN.db -m lru,arc,opt --curve)" },
	{ .name = "reclaim",
	  .purpose = "kswapd, direct, memcg and node reclaim: episodes, pages, time, percentiles",
	  .sql = sql_analyze_reclaim, .note_sql = sql_analyze_recording, .empty = NO_RECLAIM },
	{ .name = "who",
	  .purpose = "which tasks reclaim, fill the page cache, get throttled",
	  .sql = sql_analyze_who,
	  .empty = "no task did anything that was recorded" },
	{ .name = "latency",
	  .purpose = "how long reclaim episodes took: a histogram for each kind",
	  .sql = sql_analyze_latency, .empty = NO_RECLAIM },
	{ .name = "slab",
	  .purpose = "shrinkers: calls, objects, time",
	  .sql = sql_analyze_slab,
	  .empty = "no shrinker ran, or its events were not enabled (group 'slab'); "
		   "empty shrinkers are never traced" },
	{ .name = "flush",
	  .purpose = "flushes of memcg statistics: calls, time, waiting",
	  .sql = sql_analyze_flush,
	  .empty = "no flush of memcg statistics was recorded: there was none, or the kernel "
		   "cannot show them (older than 6.11)" },
	{ .name = "validate",
	  .purpose = "the recorded kernel's own model at the recorded size against the recording",
	  .needs_write = true },
	{ 0 },
};

const struct analysis *analysis_find(const char *name, const char **nearest)
{
	const char *names[ARRAY_SIZE(analyses)] = { NULL };

	for (size_t i = 0; analyses[i].name; i++) {
		if (!strcmp(analyses[i].name, name))
			return &analyses[i];
		names[i] = analyses[i].name;
	}
	if (nearest)
		*nearest = nearest_word(name, names);
	return NULL;
}
