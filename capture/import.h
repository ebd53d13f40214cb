/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * import.h - recordings made by others, into the database: trace.dat, ftrace text and cache traces.
 * One reader per format (import_*.c) turns its input into events; import_sink.c stores them.
 */
#ifndef PAGEREEL_CAPTURE_IMPORT_H
#define PAGEREEL_CAPTURE_IMPORT_H

#include "base/base.h"
#include "schema/schema.h"

enum import_format {
	IMPORT_AUTO,	  /* by content */
	IMPORT_TRACE_DAT, /* trace-cmd's trace.dat, versions 6 and 7 */
	IMPORT_TEXT,	  /* tracefs trace and trace_pipe, trace-cmd report */
	IMPORT_ORACLE,	  /* libCacheSim: u32 time, u64 id, u32 size, i64 next */
	IMPORT_IDS,	  /* one id a line */
	NR_IMPORT_FORMATS
};

const char *import_format_name(enum import_format format);	/* "auto", "trace.dat", ... */
int import_format_parse(const char *text, enum import_format *format, struct err *err);

/*
 * Reads the beginning of @path and names its format. -EBADMSG: none of them; the text names what it
 * seems to be and the remedy. -errno of open(2) and read(2).
 */
int import_sniff(const char *path, enum import_format *format, struct err *err);

struct import_opts {
	enum import_format format;	/* IMPORT_AUTO is sniffed */
	bool keep_ids;	/* cache traces: the id is the page index; else numbered by appearance */
	const volatile int *stop;	/* raised: ends early with -EINTR */
};

enum { IMPORT_EXAMPLES = 3, IMPORT_EXAMPLE_BYTES = 120 };

/* Plain data: may live in memory shared with another process. */
struct import_result {
	enum import_format format;
	int64_t capture_id;	/* 0: none was begun */
	uint64_t nr_events;
	uint64_t nr_page_events;
	uint64_t first_ts_ns, last_ts_ns;
	uint64_t nr_gaps;
	uint64_t nr_lost;	/* events known to be lost; gaps of unknown size count 0 */
	uint64_t nr_undecoded;	/* records too short for their format: counted, not stored */
	/* text */
	uint64_t nr_lines;
	uint64_t nr_unparsed;
	uint64_t example_line[IMPORT_EXAMPLES];
	char example[IMPORT_EXAMPLES][IMPORT_EXAMPLE_BYTES];
	uint64_t nr_backward;	/* events before the one before them, of the same CPU */
	uint64_t first_backward;	/* the first: its number, from 1 */
	/* cache traces */
	uint64_t nr_distinct_ids;
	uint64_t nr_words;	/* ids that are no numbers */
	uint64_t word_line;	/* of the first */
	char word[IMPORT_EXAMPLE_BYTES];
};

/*
 * An input that is open, its format known. Opening needs no database, and of a trace.dat takes a
 * fifth of the whole: it may go on while the database is made. Errors as import_sniff().
 */
struct import;

int import_open(struct import **import, const char *path, const struct import_opts *opts,
		struct err *err);
void import_close(struct import *import);	/* NULL is fine */

/*
 * Imports the whole of it as a new capture of @store, once. On a fault in the input (-EBADMSG)
 * everything before it is committed, the capture is marked 'failed' and the text says where the
 * fault is.
 */
int import_run(struct import *import, struct store *store, struct import_result *result,
	       struct err *err);

#endif
