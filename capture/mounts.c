// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mounts.c - mountinfo, and files by the device and inode number of events. See mounts.h.
 *
 * A file that was open for a few microseconds has left no descriptor to look at. It can still be
 * opened by a file handle (open_by_handle_at(2)), which for a known file system can be made from
 * the inode number alone: generation 0 is taken for "any" by ext4 and btrfs; xfs wants the real
 * one and tells it (bulkstat). What is opened so has a path if its name is still cached, which it
 * is for recently used files.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "capture/instance.h"
#include "capture/mounts.h"

enum { FID_EXT = 1, FID_XFS_64 = 0x81, FID_BTRFS = 0x4d, MAX_HANDLE = 32 };

/* ---- the table ------------------------------------------------------------------------------ */

/* Octal escapes (\040 for a blank) in place. */
static char *unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] && from[3]) {
			*to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + from[3] - '0');
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
	return text;
}

/* "36 35 98:0 /root /point opts [tags...] - type source superopts" */
static bool parse_line(char *line, struct mount_entry *m)
{
	char *tail = strstr(line, " - "), *word[6], *save = NULL;
	unsigned int major, minor;

	if (!tail)
		return false;
	*tail = '\0';
	for (int i = 0; i < 6; i++) {
		word[i] = strtok_r(i ? NULL : line, " ", &save);
		if (!word[i])
			return false;
	}
	m->id = atoi(word[0]);
	if (sscanf(word[2], "%u:%u", &major, &minor) != 2)
		return false;
	m->dev = major << 20 | minor;
	m->root = strdup(unescape(word[3]));
	m->point = strdup(unescape(word[4]));
	tail += 3;
	word[0] = strtok_r(tail, " ", &save);
	word[1] = strtok_r(NULL, " ", &save);
	word[2] = strtok_r(NULL, " ", &save);
	m->type = strdup(word[0] ? word[0] : "");
	m->source = strdup(word[1] ? unescape(word[1]) : "");
	m->options = strdup(word[2] ? unescape(word[2]) : "");
	m->fd = -1;
	return m->root && m->point && m->type && m->source && m->options;
}

static void entry_release(struct mount_entry *m)
{
	free(m->root);
	free(m->point);
	free(m->type);
	free(m->source);
	free(m->options);
	if (m->fd >= 0)
		close(m->fd);
}

int mounts_load(struct mounts *mounts, int pid)
{
	char path[64], *text, *line, *save = NULL;

	*mounts = (struct mounts){ 0 };
	snprintf(path, sizeof(path), pid ? "/proc/%d/mountinfo" : "/proc/self/mountinfo", pid);
	text = file_slurp(path, NULL);
	if (!text)
		return -ENOENT;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct mount_entry m = { .fd = -1 }, *grown;

		grown = realloc(mounts->entry, sizeof(m) * (size_t)(mounts->nr + 1));
		if (grown)
			mounts->entry = grown;
		if (grown && parse_line(line, &m))
			mounts->entry[mounts->nr++] = m;
		else
			entry_release(&m);
	}
	free(text);
	return 0;
}

void mounts_release(struct mounts *mounts)
{
	for (int i = 0; i < mounts->nr; i++)
		entry_release(&mounts->entry[i]);
	free(mounts->entry);
	*mounts = (struct mounts){ 0 };
}

const struct mount_entry *mounts_find_id(const struct mounts *mounts, int id)
{
	for (int i = 0; i < mounts->nr; i++)
		if (mounts->entry[i].id == id)
			return &mounts->entry[i];
	return NULL;
}

int mounts_count_devices(const struct mounts *mounts)
{
	int nr = 0;

	for (int i = 0; i < mounts->nr; i++) {
		int first = 0;

		while (mounts->entry[first].dev != mounts->entry[i].dev)
			first++;
		nr += first == i;
	}
	return nr;
}

char *mount_option(const struct mount_entry *entry, const char *key)
{
	size_t len = strlen(key);

	for (const char *at = entry->options; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (!strncmp(at, key, len) && at[len] == '=')
			return strndup(at + len + 1, strcspn(at + len + 1, ","));
	}
	return NULL;
}

/* ---- by inode number ------------------------------------------------------------------------ */

static int mount_fd(struct mount_entry *m)
{
	struct stat st;

	if (m->fd == -1) {
		m->fd = open(m->point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		/* something else may be mounted over it */
		if (m->fd >= 0 && strcmp(m->type, "btrfs") &&
		    (fstat(m->fd, &st) ||
		     (major(st.st_dev) << 20 | minor(st.st_dev)) != m->dev)) {
			close(m->fd);
			m->fd = -1;
		}
		if (m->fd < 0)
			m->fd = -2;
	}
	return m->fd;
}

/* XFS_IOC_BULKSTAT (5.3): a header that names the first inode wanted, then its answer. */
struct xfs_bulk {
	uint64_t ino;
	uint32_t flags, icount, ocount, agno;
	uint64_t reserved[5];
};
struct xfs_bulk_one {
	struct xfs_bulk head;
	struct {
		uint64_t ino, size, blocks, xflags;
		int64_t times[4];
		uint32_t gen;
		uint32_t rest[64];
	} answer;
};

static int xfs_generation(int fd, uint64_t ino, uint32_t *gen)
{
	struct xfs_bulk_one bulk = { .head = { .ino = ino, .icount = 1 } };

	if (ioctl(fd, _IOR('X', 127, struct xfs_bulk), &bulk))
		return -errno;
	if (bulk.head.ocount != 1 || bulk.answer.ino != ino)
		return -ESTALE;
	*gen = bulk.answer.gen;
	return 0;
}

static uint64_t btrfs_root(const struct mount_entry *m)
{
	char *id = mount_option(m, "subvolid");
	uint64_t root = id ? strtoull(id, NULL, 10) : 5;

	free(id);
	return root;
}

/* A descriptor (O_PATH) of the file with @ino, or -errno. */
static int open_by_ino(struct mount_entry *m, uint64_t ino)
{
	union {
		struct file_handle h;
		uint8_t room[sizeof(struct file_handle) + MAX_HANDLE];
	} u = { 0 };
	uint32_t gen = 0, ino32 = (uint32_t)ino;
	int fd = mount_fd(m), code = 0;

	if (fd < 0)
		return -EBADF;
	if (!strncmp(m->type, "ext", 3)) {
		u.h.handle_type = FID_EXT;
		u.h.handle_bytes = 8;
		memcpy(u.h.f_handle, &ino32, 4);
	} else if (!strcmp(m->type, "xfs")) {
		code = xfs_generation(fd, ino, &gen);
		u.h.handle_type = FID_XFS_64;
		u.h.handle_bytes = 12;
		memcpy(u.h.f_handle, &ino, 8);
		memcpy(u.h.f_handle + 8, &gen, 4);
	} else if (!strcmp(m->type, "btrfs")) {
		uint64_t root = btrfs_root(m);

		u.h.handle_type = FID_BTRFS;
		u.h.handle_bytes = 20;
		memcpy(u.h.f_handle, &ino, 8);
		memcpy(u.h.f_handle + 8, &root, 8);
	} else {
		code = -EOPNOTSUPP;
	}
	if (code)
		return code;
	fd = open_by_handle_at(fd, &u.h, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The path of an O_PATH descriptor if it leads back to the same file. */
static char *path_of(int fd, const struct stat *st)
{
	char link[64], path[4096];
	struct stat again;
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (len <= 0)
		return NULL;
	path[len] = '\0';
	if (lstat(path, &again) || again.st_ino != st->st_ino || again.st_dev != st->st_dev)
		return NULL;
	return strdup(path);
}

int mounts_file_by_ino(struct mounts *mounts, uint32_t dev, uint64_t ino, char **path,
		       int64_t *size_bytes)
{
	int code = -EOPNOTSUPP;

	*path = NULL;
	*size_bytes = -1;
	for (int i = 0; i < mounts->nr && !*path; i++) {
		struct mount_entry *m = &mounts->entry[i];
		struct stat st;
		int fd;

		if (m->dev != dev)
			continue;
		fd = open_by_ino(m, ino);
		if (fd < 0) {
			code = code == 0 ? 0 : fd;
			continue;
		}
		if (!fstat(fd, &st)) {
			code = 0;
			*size_bytes = S_ISREG(st.st_mode) ? st.st_size : -1;
			*path = path_of(fd, &st);
		}
		close(fd);
	}
	return code;
}

/* ---- overlayfs ------------------------------------------------------------------------------ */

/* The part of @path below @layer ("/x" or ""), or NULL. */
static const char *below(const char *path, const char *layer)
{
	size_t len = strlen(layer);

	while (len > 1 && layer[len - 1] == '/')
		len--;
	return !strncmp(path, layer, len) && (path[len] == '/' || !path[len]) ? path + len : NULL;
}

static char *path_in_overlay(const struct mount_entry *m, const char *path)
{
	static const char *const keys[] = { "upperdir", "lowerdir" };
	char *found = NULL;

	for (size_t k = 0; k < ARRAY_SIZE(keys) && !found; k++) {
		char *layers = mount_option(m, keys[k]), *save = NULL;

		for (char *layer = layers ? strtok_r(layers, ":", &save) : NULL; layer && !found;
		     layer = strtok_r(NULL, ":", &save)) {
			const char *rest = below(path, layer);

			if (rest && asprintf(&found, "%s%s", m->point, rest) < 0)
				found = NULL;
		}
		free(layers);
	}
	return found;
}

char *mounts_overlay_path(const struct mounts *mounts, const char *path)
{
	char *found = NULL;

	for (int i = 0; i < mounts->nr; i++) {
		char *one;

		if (strcmp(mounts->entry[i].type, "overlay"))
			continue;
		one = path_in_overlay(&mounts->entry[i], path);
		if (one && found) {	/* a layer of several: which one was meant is unknown */
			free(one);
			free(found);
			return NULL;
		}
		found = one ? one : found;
	}
	return found;
}

/* ---- from a descriptor ---------------------------------------------------------------------- */

static int fd_mount_id(int pid, int fd)
{
	char path[64], *text, *at;
	int id = -1;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", pid, fd);
	else
		snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	text = file_slurp(path, NULL);
	at = text ? strstr(text, "mnt_id:") : NULL;
	if (at)
		id = atoi(at + 7);
	free(text);
	return id;
}

/* The file of the layer that an overlay's @path comes from: upper first. */
static int overlay_identity(const struct mount_entry *m, const char *path, uint32_t *dev,
			    uint64_t *ino)
{
	static const char *const keys[] = { "upperdir", "lowerdir" };
	const char *rest = below(path, m->point);
	int code = -ENOENT;

	for (size_t k = 0; rest && k < ARRAY_SIZE(keys) && code; k++) {
		char *layers = mount_option(m, keys[k]), *save = NULL;

		for (char *layer = layers ? strtok_r(layers, ":", &save) : NULL; layer && code;
		     layer = strtok_r(NULL, ":", &save)) {
			char file[4096];
			struct stat st;

			snprintf(file, sizeof(file), "%s%s", layer, rest);
			if (lstat(file, &st) || !S_ISREG(st.st_mode))
				continue;
			*dev = major(st.st_dev) << 20 | minor(st.st_dev);
			*ino = st.st_ino;
			code = 0;
		}
		free(layers);
	}
	return code;
}

int mounts_identity(const struct mounts *mounts, int pid, int fd, uint32_t *dev, uint64_t *ino)
{
	const struct mount_entry *m;
	char link[64], path[4096];
	struct stat st;
	ssize_t len;

	if (pid)
		snprintf(link, sizeof(link), "/proc/%d/fd/%d", pid, fd);
	else
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (stat(link, &st))
		return -errno;
	*dev = major(st.st_dev) << 20 | minor(st.st_dev);
	*ino = st.st_ino;
	m = mounts_find_id(mounts, fd_mount_id(pid, fd));
	if (!m)
		return 0;
	if (!strcmp(m->type, "btrfs"))
		*dev = m->dev;
	if (strcmp(m->type, "overlay"))
		return 0;
	len = readlink(link, path, sizeof(path) - 1);
	if (len <= 0)
		return -errno;
	path[len] = '\0';
	return overlay_identity(m, path, dev, ino);
}
