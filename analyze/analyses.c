// SPDX-License-Identifier: GPL-2.0-or-later
/* analyses.c - the table of analyses. A new one is a file NAME.sql and an entry here. */
#include <string.h>

#include "analyze/analyze.h"

const struct analysis analyses[] = {
	{ .name = "compare",
	  .purpose = "models and sizes side by side: hit ratio, fills, CPU",
	  .sql = sql_analyze_compare, .needs_results = true,
	  .empty = "nothing has been replayed (pagereel replay RUN.db -m lru,arc,opt -M 32M..256M/8)" },
	{ .name = "mrc",
	  .purpose = "miss ratio curves of all models, the recorded size marked, and their knees",
	  .sql = sql_analyze_mrc, .needs_results = true,
	  .empty = "no curves in this database (pagereel replay RUN.db -m lru,opt -M 10%..200%/20)" },
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
