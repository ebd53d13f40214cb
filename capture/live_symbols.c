// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * live_symbols.c - the names behind the addresses of shrinkers, for the context of a live capture.
 *
 * mm_shrink_slab_start names a shrinker by the address of its function. Addresses are of this boot
 * only, so the names are looked up in /proc/kallsyms when the capture ends. Where addresses are
 * hidden (kptr_restrict) there are no names, and views show the address.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/live.h"

enum { MAX_SHRINKERS = 256 };

static int shrinkers(struct store *store, int64_t capture_id, uint64_t *address, int *nr,
		     struct err *err)
{
	struct query *query;
	int code = query_open(store, &query, "SELECT DISTINCT shrink FROM mm_shrink_slab_start"
			      " WHERE capture_id = ?1 AND typeof(shrink) = 'integer'", err);

	if (code)
		return code;
	query_bind(query, 1, VALUE_OF_INT(capture_id));
	while ((code = query_step(query, err)) > 0 && *nr < MAX_SHRINKERS)
		address[(*nr)++] = (uint64_t)query_int(query, 0);
	query_close(query);
	return code < 0 ? code : 0;
}

static bool is_among(uint64_t wanted, const uint64_t *address, int nr)
{
	for (int i = 0; i < nr; i++)
		if (address[i] == wanted)
			return true;
	return false;
}

int live_symbols_write(struct store *store, int64_t capture_id, int64_t ts_ns, struct err *err)
{
	uint64_t address[MAX_SHRINKERS];
	char line[512], name[256], key[24];
	const char *found = name;
	unsigned long long at;
	int nr = 0, code = shrinkers(store, capture_id, address, &nr, err);
	FILE *f;

	if (code || !nr)
		return code;
	f = fopen("/proc/kallsyms", "re");
	while (!code && f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llx %*c %255s", &at, name) != 2 || !at ||
		    !is_among(at, address, nr))
			continue;
		snprintf(key, sizeof(key), "0x%llx", at);
		code = store_context(store, capture_id, ts_ns, "end", "symbol", key,
				     VALUE_OF_TEXT(found), err);
	}
	if (f)
		fclose(f);
	return code;
}
