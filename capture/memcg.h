/* SPDX-License-Identifier: GPL-2.0-or-later */
/* memcg.h - a fresh memory cgroup for a command, v1 or v2, and where cgroups are. */
#ifndef PAGEREEL_CAPTURE_MEMCG_H
#define PAGEREEL_CAPTURE_MEMCG_H

#include "base/base.h"

enum { CGROUP_PATH_BYTES = 1024 };

/* Where the memory controller is mounted. */
struct memcg_mount {
	int version;		/* 0: no memory controller; 1; 2 */
	char root[256];		/* "/sys/fs/cgroup/memory" */
	int hierarchy;		/* v1: its number in /proc/cgroups; v2: 0 */
};

void memcg_mount_find(struct memcg_mount *mount);
/* The path below the root of the memory hierarchy that @pid (0: self) is in: "/a/b". false:
 * unknown. */
bool memcg_of_pid(const struct memcg_mount *mount, int pid, char *path, size_t path_bytes);
/* @name is a path in the file system or in the hierarchy; gives the latter. -ENOENT with remedy. */
int memcg_resolve(const struct memcg_mount *mount, const char *name, char *path,
		  size_t path_bytes, struct err *err);

struct memcg_fresh {
	char dir[CGROUP_PATH_BYTES];	/* "" if there is none */
	char path[CGROUP_PATH_BYTES];	/* the same, below the hierarchy's root */
	char parent_procs[CGROUP_PATH_BYTES];
	int version;
};

/* Made beside or below our own cgroup (what limits us limits it). -ENODEV: no memory controller. */
int memcg_fresh_make(struct memcg_fresh *fresh, const struct memcg_mount *mount,
		     uint64_t limit_bytes, struct err *err);
int memcg_fresh_enter(const struct memcg_fresh *fresh, int pid, struct err *err);
/* Moves what still runs there to the parent, empties, removes. Fine if there is none. */
int memcg_fresh_remove(struct memcg_fresh *fresh, struct err *err);
/* Removes fresh cgroups of dead processes; the number removed, or -errno. */
int memcg_clean_stale(const struct memcg_mount *mount);
int memcg_count_stale(const struct memcg_mount *mount);

#endif
