// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * demand_count.c - pages asked for in the demand stream of a database.
 *
 *	demand_count RUN.db PATH-PREFIX
 *
 * Prints "READS WRITES FAULTS COVERAGE_PCT COMPLETENESS".
 *
 * Counts accesses to files whose path begins with the prefix ("" all, unknown ones, too).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/schema.h"

enum { MAX_FILES = 1 << 16 };

static bool file_matches(struct store *store, uint32_t file_id, const char *prefix)
{
	static uint8_t known[MAX_FILES];	/* 0: not yet; 1: no; 2: yes */
	const struct value id = VALUE_OF_INT(file_id);
	struct query *q;

	if (!prefix[0])
		return true;
	if (file_id >= MAX_FILES)
		return false;
	if (!known[file_id]) {
		known[file_id] = 1;
		if (query_open(store, &q, "SELECT path FROM file WHERE id = ?1", NULL))
			return false;
		query_bind(q, 1, id);
		if (query_step(q, NULL) == 1 && query_text(q, 0) &&
		    !strncmp(query_text(q, 0), prefix, strlen(prefix)))
			known[file_id] = 2;
		query_close(q);
	}
	return known[file_id] == 2;
}

int main(int argc, char **argv)
{
	uint64_t reads = 0, writes = 0, faults = 0, index;
	struct demand_reader *reader;
	struct demand_block block;
	struct demand_info info;
	struct err err = { "" };
	struct store *store;
	uint32_t file_id;
	int code;

	if (argc != 3) {
		fprintf(stderr, "usage: demand_count RUN.db PATH-PREFIX\n");
		return 2;
	}
	if (store_open(&store, argv[1], 0, &err) || demand_stream_get(store, 0, &info, &err) ||
	    demand_reader_open(store, info.stream_id, 0, &reader, &err)) {
		fprintf(stderr, "demand_count: %s\n", err.text);
		return 1;
	}
	while ((code = demand_reader_next(reader, &block, &err)) == 1)
		for (size_t i = 0; i < block.nr; i++) {
			uint32_t run = block.run ? block.run[i] : 1;
			int op = block.op ? block.op[i] : DEMAND_READ;

			if (!demand_op_is_access((enum demand_op)op) ||
			    demand_page_place(store, info.stream_id, block.page[i], &file_id,
					      &index, &err) ||
			    !file_matches(store, file_id, argv[2]))
				continue;
			reads += op == DEMAND_READ ? run : 0;
			writes += op == DEMAND_WRITE || op == DEMAND_WRITE_WHOLE ? run : 0;
			faults += op == DEMAND_FAULT ? run : 0;
		}
	demand_reader_close(reader);
	store_close(store, NULL);
	printf("%llu %llu %llu %.4f %s\n", (unsigned long long)reads, (unsigned long long)writes,
	       (unsigned long long)faults, info.coverage_pct, info.completeness);
	return code ? 1 : 0;
}
