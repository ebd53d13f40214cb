// SPDX-License-Identifier: GPL-2.0-or-later
/* memcg.c - fresh memory cgroups. See memcg.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "capture/instance.h"
#include "capture/memcg.h"

enum { MAX_CGROUP_DEPTH = 12 };

static int text_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), code = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		code = -errno;
	close(fd);
	return code;
}

static int dir_write(const char *dir, const char *file, const char *text)
{
	char path[CGROUP_PATH_BYTES + 64];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	return text_write(path, text);
}

static bool root_has_memory(const char *root)
{
	char path[320], *text;
	bool has;

	snprintf(path, sizeof(path), "%s/cgroup.controllers", root);
	text = file_slurp(path, NULL);
	has = text && strstr(text, "memory");
	free(text);
	return has;
}

static int memory_hierarchy(void)
{
	char *text = file_slurp("/proc/cgroups", NULL), *at;
	int number = 0;

	at = text ? strstr(text, "\nmemory\t") : NULL;
	if (at)
		number = atoi(at + 8);
	free(text);
	return number;
}

void memcg_mount_find(struct memcg_mount *mount)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent *m;

	*mount = (struct memcg_mount){ 0 };
	while (f && (m = getmntent(f))) {
		int version = 0;

		if (!strcmp(m->mnt_type, "cgroup") && hasmntopt(m, "memory"))
			version = 1;
		else if (!strcmp(m->mnt_type, "cgroup2") && root_has_memory(m->mnt_dir))
			version = 2;
		if (!version || strlen(m->mnt_dir) >= sizeof(mount->root))
			continue;
		mount->version = version;
		strcpy(mount->root, m->mnt_dir);
		break;
	}
	if (f)
		endmntent(f);
	if (mount->version == 1)
		mount->hierarchy = memory_hierarchy();
}

/* A line of /proc/PID/cgroup: "9:memory:/a" or "0::/a". */
static const char *cgroup_line_path(const struct memcg_mount *mount, const char *line)
{
	const char *controllers = strchr(line, ':'), *path;

	path = controllers ? strchr(controllers + 1, ':') : NULL;
	if (!path)
		return NULL;
	if (mount->version == 2)
		return !strncmp(line, "0::", 3) ? path + 1 : NULL;
	for (const char *at = controllers + 1; at < path; at += strcspn(at, ",:") + 1)
		if (!strncmp(at, "memory", 6) && strchr(",:", at[6]))
			return path + 1;
	return NULL;
}

bool memcg_of_pid(const struct memcg_mount *mount, int pid, char *path, size_t path_bytes)
{
	char file[64], *text, *line, *save = NULL;
	bool found = false;

	snprintf(file, sizeof(file), pid ? "/proc/%d/cgroup" : "/proc/self/cgroup", pid);
	text = mount->version ? file_slurp(file, NULL) : NULL;
	for (line = text ? strtok_r(text, "\n", &save) : NULL; line && !found;
	     line = strtok_r(NULL, "\n", &save)) {
		const char *at = cgroup_line_path(mount, line);

		if (!at)
			continue;
		snprintf(path, path_bytes, "%s", at);
		found = true;
	}
	free(text);
	return found;
}

int memcg_resolve(const struct memcg_mount *mount, const char *name, char *path,
		  size_t path_bytes, struct err *err)
{
	char probe[2 * CGROUP_PATH_BYTES];
	size_t root_len = strlen(mount->root), len;

	if (!mount->version)
		return err_set(err, -ENODEV, "no memory cgroup controller is mounted");
	if (!strncmp(name, mount->root, root_len) && (name[root_len] == '/' || !name[root_len]))
		name += root_len;
	snprintf(path, path_bytes, "%s%s", name[0] == '/' ? "" : "/", name);
	for (len = strlen(path); len > 1 && path[len - 1] == '/'; len--)
		path[len - 1] = '\0';
	snprintf(probe, sizeof(probe), "%s%s/cgroup.procs", mount->root, path);
	if (access(probe, R_OK))
		return err_set(err, -EINVAL, "no cgroup '%s' below '%s' (list them: find %s -type "
			       "d)", path, mount->root, mount->root);
	return 0;
}

/* ---- a fresh one ---------------------------------------------------------------------------- */

/* v1: below our own cgroup. v2: beside it, since a cgroup with processes cannot hand the
 * controller on. */
static void choose_parent(const struct memcg_mount *mount, char *parent, size_t parent_bytes)
{
	char own[CGROUP_PATH_BYTES / 2] = "/", *slash;

	memcg_of_pid(mount, 0, own, sizeof(own));
	slash = strrchr(own, '/');
	if (mount->version == 2 && slash)
		*slash = '\0';
	if (!strcmp(own, "/"))
		own[0] = '\0';
	snprintf(parent, parent_bytes, "%s", own);
}

static int set_limit(const struct memcg_fresh *fresh, uint64_t limit_bytes)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)limit_bytes);
	return dir_write(fresh->dir, fresh->version == 2 ? "memory.max" : "memory.limit_in_bytes",
			 text);
}

int memcg_fresh_make(struct memcg_fresh *fresh, const struct memcg_mount *mount,
		     uint64_t limit_bytes, struct err *err)
{
	char parent[CGROUP_PATH_BYTES / 2], name[OWNED_NAME_BYTES], up[CGROUP_PATH_BYTES - 128];
	int code;

	if (!mount->version)
		return err_set(err, -ENODEV, "--memory needs the memory cgroup controller, and "
			       "none is mounted (mount -t cgroup2 none /sys/fs/cgroup)");
	choose_parent(mount, parent, sizeof(parent));
	owned_name(name, sizeof(name), "memory");
	snprintf(up, sizeof(up), "%s%s", mount->root, parent);
	snprintf(fresh->path, sizeof(fresh->path), "%s/%s", parent, name);
	if (mount->version == 2)
		dir_write(up, "cgroup.subtree_control", "+memory");
	snprintf(fresh->parent_procs, sizeof(fresh->parent_procs), "%s/cgroup.procs", up);
	fresh->version = mount->version;
	snprintf(fresh->dir, sizeof(fresh->dir), "%s/%s", up, name);
	if (mkdir(fresh->dir, 0755)) {
		code = err_sys(err, -errno, "cannot make cgroup '%s'", fresh->dir);
		fresh->dir[0] = '\0';
		return code;
	}
	code = set_limit(fresh, limit_bytes);
	if (code)
		return err_sys(err, code, "cannot limit cgroup '%s' to %llu bytes", fresh->dir,
			       (unsigned long long)limit_bytes);
	return 0;
}

int memcg_fresh_enter(const struct memcg_fresh *fresh, int pid, struct err *err)
{
	char text[16];
	int code;

	snprintf(text, sizeof(text), "%d", pid);
	code = dir_write(fresh->dir, "cgroup.procs", text);
	return code ? err_sys(err, code, "cannot move the command into '%s'", fresh->dir) : 0;
}

/* Our own names only, so that it also serves to remove what a dead process left. */
static int remove_dir(const char *dir, const char *parent_procs)
{
	struct timespec pause = { .tv_nsec = 20000000 };
	char path[CGROUP_PATH_BYTES + 64];

	for (int try = 0; ; try++) {
		char *pids, *pid, *save = NULL;

		snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
		pids = file_slurp(path, NULL);
		for (pid = pids ? strtok_r(pids, "\n", &save) : NULL; pid;
		     pid = strtok_r(NULL, "\n", &save))
			text_write(parent_procs, pid);
		free(pids);
		dir_write(dir, "memory.force_empty", "0");	/* v1 only */
		if (!rmdir(dir) || errno == ENOENT)
			return 0;
		if (errno != EBUSY || try == 100)
			return -errno;
		nanosleep(&pause, NULL);
	}
}

int memcg_fresh_remove(struct memcg_fresh *fresh, struct err *err)
{
	int code;

	if (!fresh->dir[0])
		return 0;
	code = remove_dir(fresh->dir, fresh->parent_procs);
	if (code)
		return err_sys(err, code, "cannot remove cgroup '%s'", fresh->dir);
	fresh->dir[0] = '\0';
	return 0;
}

/* ---- left over ------------------------------------------------------------------------------ */

static int walk_stale(const char *dir, int depth, bool remove)
{
	struct dirent *entry;
	DIR *d = opendir(dir);
	int nr = 0;

	while (d && (entry = readdir(d))) {
		char path[CGROUP_PATH_BYTES], procs[CGROUP_PATH_BYTES];

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
		    strlen(dir) + strlen(entry->d_name) + 16 > sizeof(path))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		snprintf(procs, sizeof(procs), "%s/cgroup.procs", dir);
		if (owned_name_is_stale(entry->d_name))
			nr += !remove || !remove_dir(path, procs);
		else if (depth < MAX_CGROUP_DEPTH)
			nr += walk_stale(path, depth + 1, remove);
	}
	if (d)
		closedir(d);
	return nr;
}

int memcg_clean_stale(const struct memcg_mount *mount)
{
	return mount->version ? walk_stale(mount->root, 0, true) : 0;
}

int memcg_count_stale(const struct memcg_mount *mount)
{
	return mount->version ? walk_stale(mount->root, 0, false) : 0;
}
