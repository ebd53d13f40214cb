/* SPDX-License-Identifier: GPL-2.0-or-later */
/* demand.h - inside of the demand stream, for the files of schema/ only. */
#ifndef PAGEREEL_DEMAND_H
#define PAGEREEL_DEMAND_H

#include "schema/store.h"

enum { DEMAND_CHUNK_RECORDS = 65536 };

/* A record before its pages have ids. */
struct demand_record {
	uint64_t ts_ns;
	uint64_t index;		/* page index in the space */
	uint32_t pages;
	uint32_t space;		/* demand_pages.c: a file or an address space */
	uint32_t pid;
	uint8_t op;		/* enum demand_op */
};

/* ---- demand_pages.c: which pages there are, and their ids ------------------------------------ */

/* What page indexes count in: a file, or the memory of a process. */
struct demand_space {
	uint32_t file_id;	/* 0: anonymous */
	uint32_t pid;		/* of an anonymous space */
	uint64_t size_pages;	/* of the file as recorded; UINT64_MAX: unknown */
	uint64_t seen_pages;	/* one behind the highest page that is known to have existed */
	bool has_adds;
};

struct demand_pages;

struct demand_pages *demand_pages_new(void);
void demand_pages_free(struct demand_pages *pages);

/* The number of a space, made if it is new; UINT32_MAX: no memory. */
uint32_t demand_pages_space(struct demand_pages *pages, uint32_t file_id, uint32_t pid);
struct demand_space *demand_pages_space_at(struct demand_pages *pages, uint32_t space);

/* Notes that a record touches pages. 0, -ENOMEM or -EFBIG (more pages than ids). */
int demand_pages_mark(struct demand_pages *pages, const struct demand_record *record);
/* Pages that an access op touches. */
uint64_t demand_pages_distinct(const struct demand_pages *pages);

/*
 * Ends marking: widens each run of neighbours by @around_pages on both sides within the file,
 * merges what meets, and allots ids by (file, index). 0, -ENOMEM or -EFBIG.
 */
int demand_pages_allot(struct demand_pages *pages, uint32_t around_pages);
uint32_t demand_pages_nr_ids(const struct demand_pages *pages);

/*
 * The ids of @nr pages from @index on: *first is that of the first that has one at or behind
 * @index; returns how many follow each other there, 0 if none is left; *skipped (pages without id
 * before it).
 */
uint32_t demand_pages_ids(struct demand_pages *pages, uint32_t space, uint64_t index, uint32_t nr,
			  uint32_t *first, uint32_t *skipped);

/* Extents by first id, malloc'ed in the caller's name. */
int demand_pages_extents(const struct demand_pages *pages, struct demand_extent **extents,
			 size_t *nr);

/* ---- demand_derive.c: page events to demand records ------------------------------------------ */

struct demand_rules {
	bool exact;		/* requests are what they say: synthetic streams and cache traces */
	bool fills_only;	/* no event shows a hit: every add is a demand */
	bool sees_writes; /* file system events show every write: dirty pages say nothing new */
	struct file_map *followed;	/* (0, pid) of tasks with demand; NULL: all are followed */
	uint32_t nr_followed;		/* ids up to this are in it */
};

typedef int (*demand_sink)(void *ctx, const struct demand_record *record);

struct demand_derive;

struct demand_derive *demand_derive_new(const struct demand_rules *rules,
					struct demand_pages *pages, demand_sink sink, void *ctx);
void demand_derive_free(struct demand_derive *derive);
/* Before everything else, each event once: how far files reach, and which tasks were followed. */
int demand_derive_survey(struct demand_pages *pages, struct demand_rules *rules,
			 const struct page_event *event);
/* 0, -ENOMEM or what the sink returned. */
int demand_derive_event(struct demand_derive *derive, const struct page_event *event);
/* No event follows: sends what waits. */
int demand_derive_end(struct demand_derive *derive);

/* ---- demand_codec.c: chunks of records ------------------------------------------------------- */

/* Columns of at most DEMAND_CHUNK_RECORDS records. */
struct demand_columns {
	uint32_t nr;
	uint32_t *page, *run, *task;
	uint8_t *op;
	uint64_t *ts_ns;
};

struct demand_blobs {
	uint8_t *pages, *task, *ts;	/* task NULL: all 0. Into one buffer; free(pages). */
	size_t pages_bytes, task_bytes, ts_bytes;
};

int demand_columns_new(struct demand_columns *columns);
void demand_columns_free(struct demand_columns *columns);
int demand_chunk_encode(const struct demand_columns *columns, struct demand_blobs *blobs);

/*
 * Unpacks @nr records into arrays of @into (made by demand_columns_new()) and describes them in
 * @block; columns that are the same for all are NULL there. 0 or -EBADMSG.
 */
int demand_chunk_decode_pages(const uint8_t *data, size_t data_bytes, struct demand_columns *into,
			      uint32_t nr, uint32_t *scratch, struct demand_block *block);
int demand_chunk_decode_task(const uint8_t *data, size_t data_bytes, struct demand_columns *into,
			     uint32_t nr, uint32_t *scratch, struct demand_block *block);
int demand_chunk_decode_ts(const uint8_t *data, size_t data_bytes, struct demand_columns *into,
			   uint32_t nr, uint32_t *scratch, struct demand_block *block);

#endif
