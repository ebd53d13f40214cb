/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live.h - inside of a live capture. Threads and who owns what:
 *
 *   main      starts and stops everything, waits for the command and for signals, looks up tasks
 *   and
 *             files (live_tasks.c, live_files.c), samples the context, tells the progress;
 *   drain     reads the rings, decodes, packs (live_drain.c); owns the packers and the file map;
 *   write     owns the database (live_write.c).
 *
 * They meet in the queue (to the writer), in the lists of new tasks and files (from the drain to
 * main) and in a few atomics.
 */
#ifndef PAGEREEL_CAPTURE_LIVE_H
#define PAGEREEL_CAPTURE_LIVE_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "capture/capture.h"
#include "capture/instance.h"
#include "capture/memcg.h"
#include "capture/queue.h"

enum {
	MAX_LIVE_EVENTS = 512,
	MAX_EVENT_ID = 65536,
	PID_MAP_BITS = 1 << 22,		/* the largest pid_max there is */
	NR_OWN_FILES = 3,		/* the database, its -wal and its -shm */
};

/* ---- the command (live_command.c) ----------------------------------------------------------- */

struct live_command {
	pid_t pid;		/* 0: none or reaped */
	int gate_fd;		/* it waits for its other end; -1: it has gone, or there is none */
	int exec_fd;		/* says why it could not be run */
};

void live_command_init(struct live_command *command);
/* Forks it, with @signals as its mask; it waits for live_command_go(). Before threads are there. */
int live_command_fork(struct live_command *command, char *const *argv, const sigset_t *signals,
		      struct err *err);
void live_command_go(struct live_command *command);	/* harmless without, or again */
/* Notes in @result how it ended, if it has. */
void live_command_reap(struct live_command *command, struct live_result *result);
/* Sends it home: SIGTERM, and a second to obey. */
void live_command_stop(struct live_command *command, struct live_result *result);
void live_command_release(struct live_command *command);

/* ---- the events of this capture ------------------------------------------------------------- */

/* What an event says of tasks, besides being recorded. */
enum task_news { NEWS_NONE, NEWS_ATTACH, NEWS_FORK, NEWS_EXEC, NEWS_EXIT };

struct live_event {
	char system[64], name[96];
	char trace_system[64];	/* where tracefs has it, if that is not its system: a probe */
	enum event_stream stream;
	bool by_name;		/* asked for by name: must be there */
	bool packed;
	bool is_enabled;
	struct event_decoder *decoder;
	char *format;		/* text of its format file */
	int id;
	const struct page_source *source;	/* NULL: not about pages */
	int mark;		/* event_reclaim_mark() */
	enum task_news news;
	struct event_table *table;	/* the writer's */
	uint64_t nr_events;	/* the drain's */
};

struct missing_event {
	char system[64], name[96];
	const char *reason;
};

struct live_events {
	struct tep_handle *tep;
	struct live_event event[MAX_LIVE_EVENTS];
	int nr;
	struct missing_event missing[MAX_LIVE_EVENTS];
	int nr_missing;
	struct live_event **by_id;	/* MAX_EVENT_ID entries */
	char probe_group[64];	/* of our probes; "": none */
};

/* Resolves groups and names against the kernel. -EINVAL with the remedy for what it does not have.
 * */
int live_events_choose(struct live_events *events, const struct trace_dir *dir,
		       const char *const *names, int nr_names, struct err *err);
/* 1: added (or there already); 0: the kernel does not have it; -errno. @like: how to record it. */
int live_event_add(struct live_events *events, const struct trace_dir *dir, const char *system,
		   const char *name, struct live_event like, struct err *err);
void live_events_release(struct live_events *events);

/*
 * live_probes.c: probes in place of the events of page cache hits that were chosen and that the
 * kernel does not have; why not, where that cannot be, stands with the missing events. @refuse: the
 * user wants none.
 */
int live_probes_add(struct live_events *events, const struct trace_dir *dir, bool refuse,
		    struct err *err);
/* No instance may use them any more. */
void live_probes_remove(struct live_events *events);
bool live_events_show_hits(const struct live_events *events);
/* NULL: a capture could make probes here; else why not. */
const char *live_probes_possible(const struct trace_dir *dir);
/* Fills in nr_probes and no_hits. */
void live_probes_report(const struct live_events *events, struct live_result *result);

/* Files that are ours, by the device and number that events carry. */
struct own_files {
	uint32_t dev;
	uint64_t ino[NR_OWN_FILES];
	int nr;
};

/* Filters for our own files and thinning by page index, then enables. */
int live_events_enable(struct live_events *events, const struct trace_instance *instance,
		       enum event_stream stream, const struct own_files *own, struct err *err);
/* Changes the filters of running events to thin by @mask. */
int live_events_thin(struct live_events *events, const struct trace_instance *instances,
		     const struct own_files *own, uint32_t mask, struct err *err);

/* ---- from the drain to the main thread ------------------------------------------------------ */

struct new_file {
	uint32_t file_id, dev;
	uint64_t ino;
};

/* A task seen for the first time (NEWS_NONE), or news of one. */
struct new_task {
	uint32_t pid, parent;	/* parent: of a fork; else 0 */
	enum event_stream stream;
	enum task_news news;
	uint64_t ts_ns;
	char comm[16];		/* of fork, exec and exit */
};

/* A task moved between cgroups. */
struct attach {
	uint32_t pid;
	uint64_t ts_ns;
	char path[512];
};

struct mailbox {
	pthread_mutex_t lock;
	struct new_file *file;
	size_t nr_files, room_files;
	struct new_task *task;
	size_t nr_tasks, room_tasks;
	struct attach *attach;
	size_t nr_attached, room_attached;
};

/* ---- the drain ------------------------------------------------------------------------------ */

struct ring;	/* one buffer of one CPU of one instance */

struct drain {
	struct ring *ring;
	int nr_rings;
	struct live_events *events;
	struct queue *queue;
	struct mailbox *mailbox;
	struct reclaim_marks *marks;
	struct file_map *files;
	const struct own_files *own;
	int64_t capture_id;
	int attach_hierarchy;	/* of the memory controller */
	uint8_t *task_seen;	/* bitmap of pids told to the main thread */
	uint32_t subbuf_bytes;	/* the largest */
	uint8_t *pool;		/* sub-buffers of reclaim rings, before they are decoded */
	struct item *records;	/* being filled */
	uint64_t records_ts_ns;
	/* the file of the last page event */
	uint32_t last_dev, last_file_id;
	uint64_t last_ino;
	bool last_is_own;
	/* "btrfs-1" -> device of its files */
	struct { char name[32]; uint32_t dev; } bdi[64];
	int nr_bdis;
	uint64_t sleep_max_ns;
	uint32_t sample_mask;	/* applied */
	/* shared */
	_Atomic uint32_t wanted_mask, applied_mask;
	_Atomic bool stop;
	_Atomic uint64_t nr_events, nr_page_events, nr_lost, nr_gaps, nr_undecoded;
	_Atomic int code;
	pthread_t thread;
	_Atomic int tid;	/* 0: not yet known */
	bool is_running;
};

int drain_init(struct drain *drain, const struct trace_instance *instances, int64_t capture_id,
	       uint32_t first_file_id, struct err *err);
int drain_start(struct drain *drain, struct err *err);
/* Reads what is left (tracing must be off), hands everything on, ends the thread. */
void drain_stop(struct drain *drain);
void drain_release(struct drain *drain);

/* ---- the writer ----------------------------------------------------------------------------- */

struct writer {
	struct store *store;
	struct queue *queue;
	struct live_events *events;
	int64_t capture_id;
	uint64_t max_bytes;	/* 0: no limit */
	int reserve_fd;		/* room for the last words on a full disk; -1: none */
	struct err err;		/* of code */
	bool in_transaction;
	bool missing_told;	/* which events are missing was committed */
	uint64_t begun_ns, pending_bytes;
	uint64_t peak_bytes;	/* store_peak_bytes() at the last commit */
	uint64_t pending_events, pending_from_ns;	/* of the open transaction */
	uint64_t nr_unwritten, unwritten_from_ns;	/* events that a stopped writer dropped */
	_Atomic int code;	/* what stopped it */
	_Atomic uint64_t file_bytes;
	pthread_t thread;
	_Atomic int tid;	/* 0: not yet known */
	bool is_running;
};

int writer_init(struct writer *writer, const char *output, unsigned int store_flags,
		struct err *err);
int writer_start(struct writer *writer, struct err *err);
/* Writes what the closed queue still holds, ends the thread. */
void writer_stop(struct writer *writer);
/* Event counts, end of the capture with @status; closes the database. 0 or the first error. */
int writer_finish(struct writer *writer, const char *status, uint64_t end_ts_ns, struct err *err);

/* live_symbols.c: names of the shrinkers recorded, as context rows. 0 or -errno. */
int live_symbols_write(struct store *store, int64_t capture_id, int64_t ts_ns, struct err *err);

/* ---- tasks and files ------------------------------------------------------------------------ */

struct tasks;
struct files;

struct tasks *tasks_new(const struct trace_instance *demand, const struct memcg_mount *mount,
			struct queue *queue);
void tasks_free(struct tasks *tasks);
/* Chooses @pid with all its threads, or all tasks of the cgroup at @path, for the demand instance.
 * */
int tasks_choose_pid(struct tasks *tasks, uint32_t pid, struct err *err);
int tasks_choose_cgroup(struct tasks *tasks, const char *path, struct err *err);
bool tasks_any_chosen(const struct tasks *tasks);
/* Tells the instance; children are followed by the kernel. */
int tasks_apply(struct tasks *tasks, struct err *err);
/* The cgroup of chosen tasks that are gone before they could be looked up. */
void tasks_set_home(struct tasks *tasks, const char *cgroup);
/* Names and cgroups of new tasks to the queue; moves into and out of the chosen cgroup. */
void tasks_update(struct tasks *tasks, const struct new_task *fresh, size_t nr_fresh,
		  const struct attach *attached, size_t nr_attached);
/* Threads seen in the demand stream, for looking up their descriptors. */
const uint32_t *tasks_demanding(const struct tasks *tasks, size_t *nr);
/* kswapd threads and their like by name, /proc scan: calls back for each. */
int each_kthread(const char *prefix, void (*fn)(void *ctx, uint32_t pid, const char *comm),
		 void *ctx);

struct files *files_new(struct queue *queue);
void files_free(struct files *files);
/* Finds path and size of @fresh; those that could not be found are tried again by descriptors of
 * @pids. */
void files_update(struct files *files, const struct new_file *fresh, size_t nr_fresh,
		  const uint32_t *pids, size_t nr_pids);
/* Sizes as they are at the end. */
void files_finish(struct files *files);
/* The device and inode number that events carry for the open file (overlayfs and btrfs differ from
 * what fstat says). @pid 0: self. */
int file_event_identity(int pid, int fd, uint32_t *dev, uint64_t *ino);
/* Device of the files on a backing device that is named otherwise ("btrfs-1"); false: unknown. */
bool bdi_name_dev(const char *name, uint32_t *dev);

uint64_t mono_ns(void);
/* Of all rings together, as a capture would make them by default. */
uint64_t live_rings_bytes(uint64_t nr_cpus);

#endif
