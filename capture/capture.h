/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * capture.h - sources of events: the catalogue of tracepoints, their decoders, live capture.
 *
 * The catalogue and the decoders serve live capture and imports of trace.dat and text alike: which
 * tracepoint says what about pages stands in one table (page_source.c), field names are looked up
 * in the event's own format, and no offset is written down anywhere.
 */
#ifndef PAGEREEL_CAPTURE_H
#define PAGEREEL_CAPTURE_H

#include "base/base.h"
#include "schema/schema.h"

/* ---- catalogue ------------------------------------------------------------------------------- */

enum event_stream {
	STREAM_DEMAND,	/* what programs ask for: limited to the chosen tasks */
	STREAM_RECLAIM,	/* what the kernel does: everyone but the capturer */
	NR_STREAMS
};

const char *event_stream_name(enum event_stream stream);	/* "demand", "reclaim" */

/* An event under all the names it has had, the present one first. */
struct catalogue_event {
	const char *system;
	const char *names[3];	/* ends with NULL if shorter */
	enum event_stream stream;
	bool packed;		/* too fast for a table from the start */
};

struct event_group {
	const char *name;
	const char *help;
	const char *cost;	/* what recording it costs, as text */
	bool by_default;	/* recorded when a command is given and no -e */
	const struct catalogue_event *events;
	int nr_events;
};

extern const struct event_group event_groups[];
extern const int nr_event_groups;

const struct event_group *event_group_find(const char *name);	/* NULL: none */
/* The entry of @system:@name under any of its names, or NULL: unknown events are fine too. */
const struct catalogue_event *catalogue_find(const char *system, const char *name);

/* What the running kernel has, for lists. */
struct event_presence {
	char events_dir[600];
	void *dir;
};

int event_presence_open(struct event_presence *presence, struct err *err);
/* 1: it has @event, under *name; 0: it has not. */
int event_presence_name(const struct event_presence *presence,
			const struct catalogue_event *event, const char **name);
void event_presence_close(struct event_presence *presence);

/* ---- page events: which tracepoint says what about pages ------------------------------------ */

/*
 * Names are those of the event's fields. @first is the first page, or with @first_is_bytes a byte
 * position or address; @last the last page (inclusive), or @nr_bytes a length in bytes; neither:
 * one page, times the folio's 1 << @order. What is beyond @limit_bytes, if given, says nothing. A
 * missing @pfn or @order reads as 0.
 */
struct page_source {
	const char *system, *name;
	enum page_op op;
	const char *dev;	/* major << 20 | minor */
	const char *bdi;	/* in place of dev: a text "7:0", "btrfs-1" */
	const char *ino;
	const char *first, *last, *nr_bytes, *limit_bytes;
	bool first_is_bytes;
	const char *pfn, *order, *flags;
	uint64_t anon_flag;	/* bit of @flags */
	uint32_t event_flags;	/* PAGE_EV_* of each such event */
};

/* The system of events that are probes of ours, whatever group the kernel has them in. */
#define PROBE_SYSTEM "pagereel"

/* NULL: not an event about pages. */
const struct page_source *page_source_find(const char *system, const char *name);

/* True: thinned by the first page's index. Writes and addresses, which come in bytes, are not. */
static inline bool page_source_thins(const struct page_source *source)
{
	return source->first && (!source->first_is_bytes || source->op == PAGE_OP_READ);
}

/* A page event before its file has an id. event.ts_ns and event.file_id are the caller's to set. */
struct page_raw {
	struct page_event event;
	uint32_t dev;		/* 0: unknown */
	uint64_t ino;
	char bdi[32];		/* name of a backing device that is not "major:minor", or "" */
};

/*
 * The slow way, for text: @get gives the value of a field by name (false: it has none), @text the
 * text of the bdi. 1: filled; 0: an event that says nothing (a write of 0 bytes); -EBADMSG: a field
 * that every such event has is missing.
 */
typedef bool (*page_field_get)(void *ctx, const char *field, uint64_t *value, const char **text);
int page_source_fill(const struct page_source *source, page_field_get get, void *ctx,
		     struct page_raw *raw);

/* "7:0" -> 7 << 20; false if @text is no such pair (then raw.bdi keeps it). */
bool bdi_parse_dev(const char *text, size_t text_bytes, uint32_t *dev);

/* ---- decoders: offsets found once per event, from its format -------------------------------- */

struct tep_event;
struct event_decoder;

/* @event stays the caller's and must live as long. NULL: no memory. */
struct event_decoder *event_decoder_new(struct tep_event *event);
void event_decoder_free(struct event_decoder *decoder);

const char *event_decoder_system(const struct event_decoder *decoder);
const char *event_decoder_name(const struct event_decoder *decoder);

/* NULL: not about pages (or its format lacks what that needs); then it is decoded to values. */
const struct page_source *event_decoder_page_source(const struct event_decoder *decoder);
/* Results as page_source_fill(); -EBADMSG also for a record that is too short. @data is the whole
 * record with its common fields. pid is filled. */
int event_decoder_page(const struct event_decoder *decoder, const void *data, size_t data_bytes,
		       struct page_raw *raw);

/* The event's own fields (not the common ones), and their values: numbers as INT, strings as TEXT,
 * arrays of numbers as TEXT "[1,2,3]", byte arrays and structures as BLOB. */
int event_decoder_fields(const struct event_decoder *decoder, const struct event_field **fields);
/* Valid until the next call on this decoder or until @data goes. -EBADMSG: record too short. */
int event_decoder_values(struct event_decoder *decoder, const void *data, size_t data_bytes,
			 struct value *values);
uint32_t event_decoder_pid(const struct event_decoder *decoder, const void *data,
			   size_t data_bytes);

/* ---- who is inside reclaim ------------------------------------------------------------------ */

/* +1: the event opens a reclaim bracket of its task (direct, memcg, soft limit, node reclaim); -1:
 * it closes one; 0: neither. */
int event_reclaim_mark(const char *system, const char *name);

/*
 * Marks of begin and end per task, added in any order and asked by time: a task may begin on one
 * CPU and go on on another, and buffers are read one CPU after the other.
 */
struct reclaim_marks;

struct reclaim_marks *reclaim_marks_new(void);
void reclaim_marks_free(struct reclaim_marks *marks);
/* @mark: +1 or -1 as from event_reclaim_mark(). 0 or -ENOMEM. */
int reclaim_marks_add(struct reclaim_marks *marks, uint32_t pid, uint64_t ts_ns, int mark);
/* kswapd is always inside. */
int reclaim_marks_add_kswapd(struct reclaim_marks *marks, uint32_t pid);
/* True: @pid was inside reclaim at @ts_ns as far as the marks added so far tell. */
bool reclaim_marks_inside(struct reclaim_marks *marks, uint32_t pid, uint64_t ts_ns);
/* Forgets marks before @ts_ns but for the last one of each task that is still inside. */
void reclaim_marks_retire(struct reclaim_marks *marks, uint64_t ts_ns);
/* After lost events: nobody is known to be inside. */
void reclaim_marks_reset(struct reclaim_marks *marks);

/* ---- live capture --------------------------------------------------------------------------- */

enum { MAX_LIVE_PIDS = 64 };

struct live_status {
	uint64_t elapsed_ns, nr_events, nr_lost, file_bytes;
	uint64_t cpu_ns;	/* of the capturer */
	uint32_t sample_mask;
};

struct live_opts {
	const char *output;
	unsigned int store_flags;	/* STORE_FORCE */
	const char *const *events;	/* groups and SYSTEM:EVENTs; none: the default groups */
	int nr_events;
	uint32_t pids[MAX_LIVE_PIDS];
	int nr_pids;
	const char *cgroup;	/* NULL: none */
	uint64_t memory_bytes;	/* the command's own memcg; 0: none */
	uint64_t ring_bytes;	/* per CPU and instance; 0: default */
	uint64_t duration_ns;	/* 0: until the command or the user ends it */
	uint64_t max_bytes;	/* database and write-ahead log; 0: no limit */
	double max_cpu_pct;	/* of all CPUs together; 0: no limit */
	bool no_probes;		/* where the kernel shows no hits, go without */
	bool context_each_second;
	char *const *command;	/* NULL-terminated; NULL: none */
	/* Told twice a second; may be NULL. */
	void (*progress)(void *ctx, const struct live_status *status);
	void *progress_ctx;
};

struct live_result {
	struct live_status status;
	uint64_t nr_gaps;
	uint64_t ring_bytes;	/* of all rings together */
	bool rings_capped;
	int nr_kinds, nr_missing;	/* events recorded, and not in this kernel */
	int nr_probes;		/* recorded in place of missing ones */
	char no_hits[128];	/* why no hits were recorded; "": they were, or nobody asked */
	bool has_command;
	int command_status;	/* as from wait(2); -1: it still runs */
	int exec_error;		/* errno: the command could not be run, nothing was kept; 0 */
	/* "complete", "interrupted", "size-limit", "disk-full", "failed" */
	const char *stopped_by;
};

/*
 * Records until the command ends, the time is over, a signal comes or the output is full. 0:
 * complete or interrupted; -EFBIG, -ENOSPC: stopped, what was recorded is kept (*result is filled
 * then, too); other errors: nothing usable was recorded. Takes SIGINT, SIGTERM, SIGHUP and SIGCHLD
 * of the process.
 */
int live_capture(const struct live_opts *opts, struct live_result *result, struct err *err);

/* ---- the host ------------------------------------------------------------------------------- */

enum check_level { CHECK_OK, CHECK_WARN, CHECK_FAIL };

struct host_check {
	const char *name;
	enum check_level level;	/* FAIL: a capture would fail */
	char detail[160];
	const char *remedy;	/* NULL: none is needed */
};

enum { MAX_HOST_CHECKS = 40 };

/* Fills @checks with a line per requirement; the number of lines. @dir: where output would go. */
int host_check(struct host_check *checks, const char *dir);

/* Removes what dead captures left: instances and cgroups of ours. The number, or -errno. */
int live_clean(struct err *err);

#endif
