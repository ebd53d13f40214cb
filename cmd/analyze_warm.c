// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze_warm.c - a capture of files that were cached before shows hits and nothing else: no fill,
 * no eviction, and a replay that starts empty misses what the kernel had. Whoever reads its figures
 * is told.
 */
#include <math.h>

#include "cmd/analyze.h"

int warm_pct_read(struct store *store, int64_t capture_id, double *pct, struct err *err)
{
	struct query *query;
	int ret = query_open(store, &query, sql_analyze_warm, err);

	*pct = NAN;
	if (ret)
		return ret;
	query_bind_name(query, ":capture", VALUE_OF_INT(capture_id));
	ret = query_step(query, err);
	if (ret == 1 && !query_is_null(query, 0))
		*pct = query_real(query, 0);
	query_close(query);
	return ret < 0 ? ret : 0;
}

bool warm_print(double pct)
{
	if (!(pct >= WARM_PCT))
		return false;
	printf("%.1f%% of the pages asked for were in the cache before the capture began: the "
	       "kernel\nfilled none of them, and a replay, which starts empty, fills each once "
	       "(record with cold\nfiles: see pagereel-capture(1)).\n", pct);
	return true;
}
