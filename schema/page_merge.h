/* SPDX-License-Identifier: GPL-2.0-or-later */
/* page_merge.h - page events merged over CPUs: what the page reader and page_event share. */
#ifndef PAGEREEL_PAGE_MERGE_H
#define PAGEREEL_PAGE_MERGE_H

#include "schema/schema.h"
#include "schema/sqlite.h"

/* Which events; chunks that cannot hold one are not even read. */
struct page_filter {
	int64_t capture_id;	/* < 0: all captures, one after the other */
	bool by_time;		/* all captures: mixed, by time */
	int64_t from_ns, to_ns;	/* inclusive */
	int64_t min_file_id, max_file_id;	/* inclusive */
	int64_t cpu;		/* < 0: all */
	uint32_t ops_mask;
};

#define PAGE_FILTER_ALL ((struct page_filter){ .capture_id = -1, .from_ns = INT64_MIN, \
	.to_ns = INT64_MAX, .min_file_id = INT64_MIN, .max_file_id = INT64_MAX, .cpu = -1, \
	.ops_mask = UINT32_MAX })

/* An event with what is stored once for its chunk. */
struct page_row {
	const struct page_event *event;	/* valid until the next call */
	int64_t capture_id;
	int64_t chunk_id;
	uint32_t position;	/* in the chunk */
	int32_t cpu;
	uint32_t sample_mask;
};

struct page_merge;

/* SQLite's result code is negative in no case, so: 0, or -errno with the text in @err. */
int page_merge_open(sqlite3 *db, const struct page_filter *filter, struct page_merge **merge,
		    struct err *err);
/* 1 and *row filled; 0 at the end; -errno. By (capture, time, cpu, sequence). */
int page_merge_next(struct page_merge *merge, struct page_row *row, struct err *err);
void page_merge_close(struct page_merge *merge);

#endif
