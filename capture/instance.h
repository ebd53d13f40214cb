/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * instance.h - our own tracefs instances: made, found again after a crash, removed.
 *
 * Everything of ours that outlives a process carries a name that says whose it is,
 * "pagereel.PID.START.WHAT", START being the process's start time in clock ticks (field 22 of
 * /proc/PID/stat): a name whose process is gone, or has another start time, is left over and nobody
 * else's.
 */
#ifndef PAGEREEL_CAPTURE_INSTANCE_H
#define PAGEREEL_CAPTURE_INSTANCE_H

#include "base/base.h"

enum { OWNED_NAME_BYTES = 96, TRACE_PATH_BYTES = 512 };

/* "pagereel.PID.START.@what" of this process. */
void owned_name(char *buf, size_t buf_bytes, const char *what);
/* True: @name is one of ours and its process is dead. */
bool owned_name_is_stale(const char *name);

/* Where tracefs is. If it is not mounted a mount of our own that nobody else sees, gone with the
 * last descriptor; on kernels without fsopen(2) a plain mount, undone by trace_dir_close(). */
struct trace_dir {
	char path[TRACE_PATH_BYTES];
	int mount_fd;		/* -1: none */
	bool was_mounted;	/* by somebody else */
	bool unmount;		/* we mounted it for all to see */
};

/* -EACCES: not root; -ENODEV: the kernel has no tracefs. */
int trace_dir_open(struct trace_dir *dir, struct err *err);
void trace_dir_close(struct trace_dir *dir);

struct trace_instance {
	char path[TRACE_PATH_BYTES];	/* "" if there is none */
	uint64_t ring_bytes;	/* per CPU, as the kernel made it */
	uint32_t subbuf_bytes;
};

int trace_instance_make(struct trace_instance *instance, const struct trace_dir *dir,
			const char *what, struct err *err);
/* Stops, disables all, removes. Retries while the kernel says busy. Fine if there is none. */
int trace_instance_remove(struct trace_instance *instance, struct err *err);

/* Writes @text to a file below the instance; append: adds to what is there. */
int trace_write(const struct trace_instance *instance, const char *file, const char *text,
		bool append, struct err *err);
bool trace_exists(const struct trace_instance *instance, const char *file);

/* Rings of @ring_bytes per CPU and, where the kernel can, sub-buffers of @subbuf_bytes. */
int trace_instance_size(struct trace_instance *instance, uint64_t ring_bytes,
			uint32_t subbuf_bytes, struct err *err);

/* Removes instances and probes of dead processes; the number removed, or -errno. */
int trace_clean_stale(const struct trace_dir *dir, struct err *err);
/* The number of stale ones. */
int trace_count_stale(const struct trace_dir *dir);

/*
 * Probes of ours (live_probes.c) are in a group "pagereel_PID_START": other characters are not
 * allowed there.
 */
void probe_group_name(char *buf, size_t buf_bytes);
/* Removes all probes of a group; no instance may use them any more. 0 or the first -errno. */
int probe_group_remove(const char *group);

/* The whole of a small file, NUL-terminated, malloc; NULL if it cannot be read. */
char *file_slurp(const char *path, size_t *bytes);
/* First number of a file; false if it cannot be read. */
bool file_number(const char *path, uint64_t *value);

#endif
