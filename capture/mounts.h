/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mounts.h - /proc/PID/mountinfo, and what it takes to name a file by what events say of it.
 *
 * Events carry the device of the file's superblock and its inode number. fstat(2) says the same on
 * most file systems; on btrfs it gives a device per subvolume, on overlayfs the overlay's own:
 * there the mount says more.
 */
#ifndef PAGEREEL_CAPTURE_MOUNTS_H
#define PAGEREEL_CAPTURE_MOUNTS_H

#include "base/base.h"

struct mount_entry {
	int id;
	uint32_t dev;		/* of the superblock: major << 20 | minor */
	char *root, *point, *type, *source, *options;	/* options: the superblock's */
	int fd;			/* of the mount point; -1: not opened yet, -2: cannot be */
};

struct mounts {
	struct mount_entry *entry;
	int nr;
};

/* @pid 0: self. 0 or -errno. */
int mounts_load(struct mounts *mounts, int pid);
void mounts_release(struct mounts *mounts);
const struct mount_entry *mounts_find_id(const struct mounts *mounts, int id);
/* Different devices mounted: a lower bound of the number of superblocks. */
int mounts_count_devices(const struct mounts *mounts);
/* The value of "key=value" in an entry's options, malloc; NULL: none. */
char *mount_option(const struct mount_entry *entry, const char *key);

/*
 * Path (malloc) and size of the file with @ino on the superblock @dev, by its handle: needs root
 * and a mount of it. -ESTALE: no such file (any more); -EOPNOTSUPP: this file system's handles are
 * unknown.
 */
int mounts_file_by_ino(struct mounts *mounts, uint32_t dev, uint64_t ino, char **path,
		       int64_t *size_bytes);
/* Where @path shows in the one overlay that has its directory as a layer: malloc, or NULL. */
char *mounts_overlay_path(const struct mounts *mounts, const char *path);
/* What events say of the file that @pid (0: self) has open as @fd. */
int mounts_identity(const struct mounts *mounts, int pid, int fd, uint32_t *dev, uint64_t *ino);

#endif
