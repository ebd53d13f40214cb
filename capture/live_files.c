// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * live_files.c - size and path of the files that events name by device and inode number.
 *
 * First by a handle (mounts.c), which also finds what was open for a moment only. Where that cannot
 * work, by the descriptors and mappings of the traced tasks, as long as they last.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "capture/live.h"
#include "capture/mounts.h"

/* Rounds through the descriptors before a file counts as unknown. */
enum { MAX_SEARCHES = 20 };

struct known_file {
	struct new_file id;
	bool has_path;
	int nr_searches;
};

struct files {
	struct queue *queue;
	struct mounts mounts;
	struct known_file *file;
	size_t nr, room;
	size_t nr_open;		/* without a path, still searched for */
};

struct files *files_new(struct queue *queue)
{
	struct files *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->queue = queue;
	mounts_load(&f->mounts, 0);
	return f;
}

void files_free(struct files *f)
{
	if (!f)
		return;
	mounts_release(&f->mounts);
	free(f->file);
	free(f);
}

static void tell(struct files *f, const struct new_file *id, int64_t size_bytes, char *path)
{
	struct item *item = item_new(ITEM_FILE, path ? strlen(path) : 0);

	if (!item) {
		free(path);
		return;
	}
	item->file = (struct found_file){ id->file_id, id->dev, id->ino, size_bytes, path };
	queue_put(f->queue, item);
}

/* The pages of a block device belong to an inode whose number is the device's. */
static char *block_device_path(uint64_t ino)
{
	char file[64], *text, *at, *path = NULL;

	snprintf(file, sizeof(file), "/sys/dev/block/%u:%u/uevent", (unsigned int)(ino >> 20),
		 (unsigned int)(ino & 0xfffff));
	text = ino >> 20 && !(ino >> 32) ? file_slurp(file, NULL) : NULL;
	at = text ? strstr(text, "DEVNAME=") : NULL;
	if (at && asprintf(&path, "/dev/%.*s", (int)strcspn(at + 8, "\n"), at + 8) < 0)
		path = NULL;
	free(text);
	return path;
}

static bool is_mounted(const struct files *f, uint32_t dev)
{
	for (int i = 0; i < f->mounts.nr; i++)
		if (f->mounts.entry[i].dev == dev)
			return true;
	return false;
}

static void by_handle(struct files *f, struct known_file *k)
{
	char *path = NULL, *merged;
	int64_t size_bytes = -1;

	if (!is_mounted(f, k->id.dev)) {	/* or mounted since */
		mounts_release(&f->mounts);
		mounts_load(&f->mounts, 0);
	}
	if (is_mounted(f, k->id.dev))
		mounts_file_by_ino(&f->mounts, k->id.dev, k->id.ino, &path, &size_bytes);
	else if (!(k->id.dev >> 20))
		path = block_device_path(k->id.ino);
	merged = path ? mounts_overlay_path(&f->mounts, path) : NULL;
	if (merged) {
		free(path);
		path = merged;
	}
	k->has_path = path;
	tell(f, &k->id, size_bytes, path);
}

static struct known_file *find_open(struct files *f, uint32_t dev, uint64_t ino)
{
	for (size_t i = 0; i < f->nr; i++)
		if (!f->file[i].has_path && f->file[i].id.dev == dev && f->file[i].id.ino == ino)
			return &f->file[i];
	return NULL;
}

static void search_fd(struct files *f, uint32_t pid, int fd)
{
	struct known_file *k;
	char link[64], path[4096];
	struct stat st;
	uint32_t dev;
	uint64_t ino;
	ssize_t len;

	if (mounts_identity(&f->mounts, (int)pid, fd, &dev, &ino))
		return;
	k = find_open(f, dev, ino);
	if (!k)
		return;
	snprintf(link, sizeof(link), "/proc/%u/fd/%d", pid, fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (len <= 0 || stat(link, &st) || path[0] != '/')
		return;
	path[len] = '\0';
	k->has_path = true;
	tell(f, &k->id, S_ISREG(st.st_mode) ? st.st_size : -1, strdup(path));
}

static void search_fds(struct files *f, uint32_t pid)
{
	struct dirent *entry;
	char path[64];
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%u/fd", pid);
	d = opendir(path);
	while (d && (entry = readdir(d)))
		if (entry->d_name[0] != '.')
			search_fd(f, pid, atoi(entry->d_name));
	if (d)
		closedir(d);
}

/* "7f..-7f.. r-xp 00000000 fd:00 1234   /path": device and number as in events, but on overlayfs.
 * */
static void search_maps(struct files *f, uint32_t pid)
{
	char file[64], *text, *save = NULL;

	snprintf(file, sizeof(file), "/proc/%u/maps", pid);
	text = file_slurp(file, NULL);
	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		unsigned int major_nr, minor_nr;
		unsigned long long ino;
		struct known_file *k;
		struct stat st;
		int at = 0;

		if (sscanf(line, "%*s %*s %*s %x:%x %llu %n", &major_nr, &minor_nr, &ino,
			   &at) != 3 || !at || line[at] != '/')
			continue;
		k = find_open(f, major_nr << 20 | minor_nr, ino);
		if (!k)
			continue;
		k->has_path = true;
		tell(f, &k->id, stat(line + at, &st) ? -1 : st.st_size, strdup(line + at));
	}
	free(text);
}

static bool still_searching(struct files *f)
{
	bool any = false;

	for (size_t i = 0; i < f->nr; i++)
		if (!f->file[i].has_path && f->file[i].nr_searches < MAX_SEARCHES) {
			f->file[i].nr_searches++;
			any = true;
		}
	return any;
}

void files_update(struct files *f, const struct new_file *fresh, size_t nr_fresh,
		  const uint32_t *pids, size_t nr_pids)
{
	for (size_t i = 0; i < nr_fresh; i++) {
		if (f->nr == f->room) {
			size_t room = f->room ? 2 * f->room : 256;
			struct known_file *grown = realloc(f->file, room * sizeof(*grown));

			if (!grown)
				return;
			f->file = grown;
			f->room = room;
		}
		f->file[f->nr] = (struct known_file){ .id = fresh[i] };
		by_handle(f, &f->file[f->nr++]);
	}
	if (!nr_pids || !still_searching(f))
		return;
	for (size_t i = 0; i < nr_pids; i++) {
		search_fds(f, pids[i]);
		search_maps(f, pids[i]);
	}
}

void files_finish(struct files *f)
{
	for (size_t i = 0; i < f->nr; i++) {
		int64_t size_bytes;
		char *path;

		mounts_file_by_ino(&f->mounts, f->file[i].id.dev, f->file[i].id.ino, &path,
				   &size_bytes);
		free(path);
		if (size_bytes >= 0)
			tell(f, &f->file[i].id, size_bytes, NULL);
	}
}

int file_event_identity(int pid, int fd, uint32_t *dev, uint64_t *ino)
{
	struct mounts mounts;
	int code;

	mounts_load(&mounts, pid);
	code = mounts_identity(&mounts, pid, fd, dev, ino);
	mounts_release(&mounts);
	return code;
}

/* "btrfs-1": the file system in /sys/fs/btrfs whose bdi links there has a member device, which the
 * mount table knows as the source. */
bool bdi_name_dev(const char *name, uint32_t *dev)
{
	struct mounts mounts;
	struct dirent *entry;
	bool found = false;
	DIR *d = strncmp(name, "btrfs", 5) ? NULL : opendir("/sys/fs/btrfs");

	mounts_load(&mounts, 0);
	while (d && !found && (entry = readdir(d))) {
		char path[512], target[512], *base;
		ssize_t len;

		snprintf(path, sizeof(path), "/sys/fs/btrfs/%.64s/bdi", entry->d_name);
		len = readlink(path, target, sizeof(target) - 1);
		if (len <= 0)
			continue;
		target[len] = '\0';
		base = strrchr(target, '/');
		if (!base || strcmp(base + 1, name))
			continue;
		for (int i = 0; i < mounts.nr && !found; i++) {
			const struct mount_entry *m = &mounts.entry[i];

			base = strrchr(m->source, '/');
			snprintf(path, sizeof(path), "/sys/fs/btrfs/%.64s/devices/%.64s",
				 entry->d_name, base ? base + 1 : m->source);
			if (strcmp(m->type, "btrfs") || access(path, F_OK))
				continue;
			*dev = m->dev;
			found = true;
		}
	}
	if (d)
		closedir(d);
	mounts_release(&mounts);
	return found;
}
