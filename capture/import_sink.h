/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import_sink.h - inside import*.c: where the readers' events go. */
#ifndef PAGEREEL_CAPTURE_IMPORT_SINK_H
#define PAGEREEL_CAPTURE_IMPORT_SINK_H

#include "capture/capture.h"
#include "capture/import.h"

enum { IMPORT_MAX_CPUS = 8192, IMPORT_MAX_FIELDS = 64 };

struct import_sink {
	struct store *store;
	const char *path;
	const struct import_opts *opts;
	struct dat *dat;	/* trace.dat: open already */
	struct import_result *result;
	int64_t capture_id;
	uint32_t next_file_id;	/* for readers that number files themselves */
	struct file_map *files;
	struct reclaim_marks *marks;
	unsigned int nr_marks;	/* since they were last retired */
	struct import_cpu *cpu;
	int nr_cpus;
	struct import_event *event;	/* one per tracepoint seen */
	int nr_event, room_event;
	uint32_t *task_slots;	/* pids whose task is stored: open addressing */
	size_t task_mask, nr_tasks;
	int nr_uncommitted;
	uint64_t nr_since_commit;
	bool has_hits;
};

/* One tracepoint as the sink knows it. */
struct import_event {
	char *system, *name;
	const struct page_source *source;	/* NULL: goes to a table */
	struct event_table *table;
	uint64_t nr;
	int mark;		/* event_reclaim_mark() */
};

/* Begins the capture and a transaction. On failure nothing is left to finish. */
int import_sink_begin(struct import_sink *sink, const struct capture_info *info, struct err *err);
/*
 * Stores what is held back, the counts and the status that @ret means, and commits. Returns @ret,
 * or the first fault of its own. Frees everything.
 */
int import_sink_finish(struct import_sink *sink, int ret, struct err *err);

/* The index of @system:@name, made if new. -ENOMEM. */
int import_sink_event(struct import_sink *sink, const char *system, const char *name,
		      struct err *err);

/*
 * A page event of @sink->event[@index]: event.ts_ns is set, file_id and IN_RECLAIM are found here.
 */
int import_sink_page(struct import_sink *sink, int index, int cpu, struct page_raw *raw,
		     struct err *err);
/* A page event that is complete, file_id included. */
int import_sink_packed(struct import_sink *sink, int cpu, const struct page_event *event,
		       struct err *err);
/* Any other: @values in the order of the fields given to import_sink_table(). */
int import_sink_values(struct import_sink *sink, int index, int cpu, uint32_t pid, uint64_t ts_ns,
		       const struct value *values, struct err *err);
int import_sink_table(struct import_sink *sink, int index, const struct event_field *fields,
		      int nr_fields, const char *format, struct err *err);

/* The task's name; a kswapd is known by it. Only the first name of a pid is taken. */
int import_sink_task(struct import_sink *sink, uint32_t pid, uint32_t tgid, const char *comm,
		     uint64_t ts_ns, struct err *err);

/*
 * Events were lost on @cpu before @ts_ns: since the last one of that CPU. @nr < 0: unknown how
 * many.
 */
int import_sink_lost(struct import_sink *sink, int cpu, uint64_t ts_ns, int64_t nr,
		     struct err *err);

static inline bool import_stopped(const struct import_sink *sink)
{
	return sink->opts->stop && *sink->opts->stop;
}

/* Counts a line that says nothing known and keeps the first few. */
void import_note_unparsed(struct import_result *result, uint64_t line_number, const char *line);
/* Counts an event that is earlier than the one before it: the @number-th, from 1. */
void import_note_backward(struct import_result *result, uint64_t number);

/* trace.dat: opens and reads the formats. */
struct dat;
int dat_open(struct dat **dat, const char *path, struct err *err);
void dat_close(struct dat *dat);	/* NULL is fine */

/* Readers: the whole of one input. */
int import_trace_dat(struct import_sink *sink, struct err *err);
int import_text(struct import_sink *sink, struct err *err);
int import_oracle(struct import_sink *sink, struct err *err);
int import_ids(struct import_sink *sink, struct err *err);

#endif
