/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stream.h - the demand stream as textbook models see it: pages one by one, in parts of equal
 * length, and marks between them for what is no plain access.
 */
#ifndef PAGEREEL_REPLAY_STREAM_H
#define PAGEREEL_REPLAY_STREAM_H

#include "replay/replay.h"

enum { PART_ACCESSES = 65536 };

enum mark_kind {
	MARK_REMOVE,	/* before access @at, pages page .. page + nr - 1 left by truncation */
	MARK_WHOLE,	/* accesses @at .. @at + nr - 1 write whole pages */
	MARK_INTERVAL,	/* a new interval begins before access @at */
};

struct mark {
	enum mark_kind kind;
	uint32_t at;	/* access within the part */
	uint32_t page;
	uint32_t nr;
};

/* Room for the pages of a part: what is written at its end may go beyond it. */
enum { PART_ROOM = PART_ACCESSES + 16 };

/* Marks are in order of @at. */
struct part {
	const uint32_t *pages;	/* in room, or lent by the source until the reader's next part */
	uint32_t *room;		/* for PART_ROOM; NULL: part_reader_next() allocates */
	bool keep;		/* room is the caller's, and the pages shall stay in it */
	uint32_t nr;
	struct mark *marks;
	uint32_t nr_marks, max_marks;
};

void part_release(struct part *part);

/* Reads a source and cuts it into parts; finds the limits of intervals. */
struct part_reader;

/*
 * @intervals: room for @nr_intervals, filled while reading (all but hits, misses, fills and
 * evictions), complete when part_reader_next() has returned 0. Free with part_reader_close().
 */
int part_reader_open(const struct demand_source *source, struct grid_interval *intervals,
		     uint32_t nr_intervals, struct part_reader **reader, struct err *err);
/* 1: a part with something in it; 0: the end; -errno. */
int part_reader_next(struct part_reader *reader, struct part *part, struct err *err);
void part_reader_close(struct part_reader *reader);

/* The first access of interval @i of @nr when there are @nr_accesses. */
static inline uint64_t interval_start(uint64_t nr_accesses, uint32_t i, uint32_t nr)
{
	return (uint64_t)((unsigned __int128)nr_accesses * i / nr);
}

#endif
