// SPDX-License-Identifier: GPL-2.0-or-later
/* instance.c - tracefs instances of our own. See instance.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <tracefs.h>
#include <unistd.h>

#include "capture/instance.h"

#define OWNED_PREFIX "pagereel."
#define PROBE_GROUP_PREFIX "pagereel_"

char *file_slurp(const char *path, size_t *bytes)
{
	size_t used = 0, room = 4096;
	char *buf = malloc(room), *grown;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = -1;

	while (fd >= 0 && buf && (got = read(fd, buf + used, room - used - 1)) > 0) {
		used += (size_t)got;
		if (room - used > 1)
			continue;
		room *= 2;
		grown = realloc(buf, room);
		if (!grown)
			got = -1, free(buf);
		buf = grown;
	}
	if (fd >= 0)
		close(fd);
	if (got < 0 || !buf) {
		free(buf);
		return NULL;
	}
	buf[used] = '\0';
	if (bytes)
		*bytes = used;
	return buf;
}

bool file_number(const char *path, uint64_t *value)
{
	char *text = file_slurp(path, NULL), *end;
	bool ok = false;

	if (text) {
		*value = strtoull(text, &end, 10);
		ok = end != text;
	}
	free(text);
	return ok;
}

/* Field 22 of /proc/PID/stat, counted behind the name's last ')'. 0: no such process. */
static uint64_t start_ticks(int pid)
{
	char path[64], *text, *at;
	uint64_t ticks = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	text = file_slurp(path, NULL);
	at = text ? strrchr(text, ')') : NULL;
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (at)
		ticks = strtoull(at + 1, NULL, 10);
	free(text);
	return ticks;
}

void owned_name(char *buf, size_t buf_bytes, const char *what)
{
	int pid = getpid();

	snprintf(buf, buf_bytes, OWNED_PREFIX "%d.%llu.%s", pid,
		 (unsigned long long)start_ticks(pid), what);
}

bool owned_name_is_stale(const char *name)
{
	unsigned long long ticks;
	int pid, used = 0;

	if (sscanf(name, OWNED_PREFIX "%d.%llu.%n", &pid, &ticks, &used) != 2 || !used || pid <= 0)
		return false;
	return start_ticks(pid) != ticks;
}

void probe_group_name(char *buf, size_t buf_bytes)
{
	int pid = getpid();

	snprintf(buf, buf_bytes, PROBE_GROUP_PREFIX "%d_%llu", pid,
		 (unsigned long long)start_ticks(pid));
}

static bool probe_group_is_stale(const char *group)
{
	unsigned long long ticks;
	int pid, used = 0;

	if (sscanf(group, PROBE_GROUP_PREFIX "%d_%llu%n", &pid, &ticks, &used) != 2 ||
	    group[used] || pid <= 0)
		return false;
	return start_ticks(pid) != ticks;
}

/* ---- where tracefs is ----------------------------------------------------------------------- */

static bool use_mounted(struct trace_dir *dir)
{
	static const char *const places[] = { "/sys/kernel/tracing",
					      "/sys/kernel/debug/tracing" };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		char probe[TRACE_PATH_BYTES];

		snprintf(probe, sizeof(probe), "%s/instances", places[i]);
		if (access(probe, F_OK))
			continue;
		snprintf(dir->path, sizeof(dir->path), "%s", places[i]);
		dir->was_mounted = true;
		return true;
	}
	return false;
}

static int mount_detached(struct trace_dir *dir)
{
	int fs = fsopen("tracefs", FSOPEN_CLOEXEC), code = 0;

	if (fs < 0)
		return -errno;
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		code = -errno;
	else
		dir->mount_fd = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	if (!code && dir->mount_fd < 0)
		code = -errno;
	close(fs);
	if (!code)
		snprintf(dir->path, sizeof(dir->path), "/proc/self/fd/%d", dir->mount_fd);
	return code;
}

static int mount_plain(struct trace_dir *dir)
{
	if (mount("nodev", "/sys/kernel/tracing", "tracefs", 0, NULL))
		return -errno;
	snprintf(dir->path, sizeof(dir->path), "/sys/kernel/tracing");
	dir->unmount = true;
	return 0;
}

int trace_dir_open(struct trace_dir *dir, struct err *err)
{
	char probe[TRACE_PATH_BYTES + 16];
	int code;

	*dir = (struct trace_dir){ .mount_fd = -1 };
	if (geteuid())
		return err_set(err, -EACCES, "cannot trace as an ordinary user (run it as root, "
			       "e.g. with sudo)");
	if (!use_mounted(dir)) {
		code = mount_detached(dir);
		if (code == -ENOSYS)
			code = mount_plain(dir);
		if (code == -EPERM || code == -EACCES)
			return err_set(err, -EACCES, "cannot mount tracefs (run it as root outside "
				       "of a container, or mount it: mount -t tracefs nodev "
				       "/sys/kernel/tracing)");
		if (code)
			return err_sys(err, -ENODEV, "cannot mount tracefs (the kernel needs "
				       "CONFIG_FTRACE)");
	}
	snprintf(probe, sizeof(probe), "%s/instances", dir->path);
	if (access(probe, W_OK)) {
		code = -errno;
		trace_dir_close(dir);
		return err_sys(err, code, "cannot write to '%s' (is tracing locked down?)", probe);
	}
	tracefs_set_tracing_dir(dir->path);
	return 0;
}

void trace_dir_close(struct trace_dir *dir)
{
	if (dir->mount_fd >= 0)
		close(dir->mount_fd);
	if (dir->unmount)
		umount(dir->path);	/* busy: another capture uses it, and it stays */
	*dir = (struct trace_dir){ .mount_fd = -1 };
}

/* ---- instances ------------------------------------------------------------------------------ */

int trace_write(const struct trace_instance *instance, const char *file, const char *text,
		bool append, struct err *err)
{
	char path[TRACE_PATH_BYTES + 256];
	size_t len = strlen(text), done = 0;
	int fd, code = 0;

	snprintf(path, sizeof(path), "%s/%s", instance->path, file);
	fd = open(path, O_WRONLY | O_CLOEXEC | (append ? O_APPEND : O_TRUNC));
	if (fd < 0)
		return err_sys(err, -errno, "cannot open tracefs file '%s'", file);
	while (!code && done < len) {
		ssize_t put = write(fd, text + done, len - done);

		if (put < 0 && errno != EINTR)
			code = -errno;
		else if (put > 0)
			done += (size_t)put;
	}
	if (close(fd) && !code)
		code = -errno;
	if (code)
		return err_sys(err, code, "cannot write '%.60s' to tracefs file '%s'", text,
			       file);
	return 0;
}

bool trace_exists(const struct trace_instance *instance, const char *file)
{
	char path[TRACE_PATH_BYTES + 256];

	snprintf(path, sizeof(path), "%s/%s", instance->path, file);
	return !access(path, F_OK);
}

int trace_instance_make(struct trace_instance *instance, const struct trace_dir *dir,
			const char *what, struct err *err)
{
	char name[OWNED_NAME_BYTES], path[TRACE_PATH_BYTES + OWNED_NAME_BYTES + 16];

	owned_name(name, sizeof(name), what);
	snprintf(path, sizeof(path), "%s/instances/%s", dir->path, name);
	if (strlen(path) >= sizeof(instance->path))
		return err_set(err, -ENAMETOOLONG, "tracefs path '%s' is too long", dir->path);
	if (mkdir(path, 0700))
		return err_sys(err, -errno, "cannot make tracefs instance '%s'", name);
	strcpy(instance->path, path);
	return trace_write(instance, "tracing_on", "0", false, err) ?:
	       trace_write(instance, "trace_clock", "mono", false, err);
}

static int remove_instance_dir(const char *path)
{
	struct timespec pause = { .tv_nsec = 20000000 };

	for (int try = 0; ; try++) {
		if (!rmdir(path))
			return 0;
		if (errno != EBUSY || try == 50)
			return -errno;
		nanosleep(&pause, NULL);	/* a reader has just closed its ring */
	}
}

int trace_instance_remove(struct trace_instance *instance, struct err *err)
{
	int code;

	if (!instance->path[0])
		return 0;
	trace_write(instance, "tracing_on", "0", false, NULL);
	code = remove_instance_dir(instance->path);
	if (code)
		return err_sys(err, code, "cannot remove tracefs instance '%s' (pagereel doctor "
			       "--clean does it later)", strrchr(instance->path, '/') + 1);
	instance->path[0] = '\0';
	return 0;
}

int trace_instance_size(struct trace_instance *instance, uint64_t ring_bytes,
			uint32_t subbuf_bytes, struct err *err)
{
	char text[32], path[TRACE_PATH_BYTES + 32];
	uint64_t kb;
	int code;

	instance->subbuf_bytes = (uint32_t)sysconf(_SC_PAGESIZE);
	if (subbuf_bytes > instance->subbuf_bytes && ring_bytes >= 8 * (uint64_t)subbuf_bytes) {
		snprintf(text, sizeof(text), "%u", subbuf_bytes / 1024);
		if (trace_exists(instance, "buffer_subbuf_size_kb") &&
		    !trace_write(instance, "buffer_subbuf_size_kb", text, false, NULL))
			instance->subbuf_bytes = subbuf_bytes;
	}
	kb = ring_bytes / 1024 ? ring_bytes / 1024 : 1;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)kb);
	code = trace_write(instance, "buffer_size_kb", text, false, err);
	if (code)
		return code;
	snprintf(path, sizeof(path), "%s/buffer_size_kb", instance->path);
	instance->ring_bytes = file_number(path, &kb) ? kb * 1024 : ring_bytes;
	return 0;
}

/* Calls back for each stale instance. */
static int each_stale(const struct trace_dir *dir, int (*fn)(const char *path))
{
	char path[TRACE_PATH_BYTES + 300];
	struct dirent *entry;
	int nr = 0, code = 0;
	DIR *d;

	snprintf(path, sizeof(path), "%s/instances", dir->path);
	d = opendir(path);
	if (!d)
		return -errno;
	while ((entry = readdir(d))) {
		if (!owned_name_is_stale(entry->d_name))
			continue;
		snprintf(path, sizeof(path), "%s/instances/%s", dir->path, entry->d_name);
		code = fn ? fn(path) : 0;
		if (!code)
			nr++;
		else if (code == -ENOENT)
			code = 0;	/* another capture was quicker */
	}
	closedir(d);
	return code ? code : nr;
}

/* ---- probes --------------------------------------------------------------------------------- */

int probe_group_remove(const char *group)
{
	struct tracefs_dynevent **all = tracefs_dynevent_get_all(TRACEFS_DYNEVENT_KPROBE, group);
	int code = 0;

	for (int i = 0; all && all[i]; i++)
		if (tracefs_dynevent_destroy(all[i], false) && !code)
			code = -errno;
	tracefs_dynevent_list_free(all);
	return code;
}

/* Dead processes' probes; each counts. @remove: and takes them away. */
static int each_stale_probe(bool remove)
{
	struct tracefs_dynevent **all = tracefs_dynevent_get_all(TRACEFS_DYNEVENT_KPROBE, NULL);
	int nr = 0;

	for (int i = 0; all && all[i]; i++) {
		char *group = NULL;

		tracefs_dynevent_info(all[i], &group, NULL, NULL, NULL, NULL);
		if (group && probe_group_is_stale(group) &&
		    (!remove || !tracefs_dynevent_destroy(all[i], false)))
			nr++;
		free(group);
	}
	tracefs_dynevent_list_free(all);
	return nr;
}

int trace_clean_stale(const struct trace_dir *dir, struct err *err)
{
	int nr = each_stale(dir, remove_instance_dir);

	if (nr < 0)
		return err_sys(err, nr, "cannot remove a stale tracefs instance");
	return nr + each_stale_probe(true);
}

int trace_count_stale(const struct trace_dir *dir)
{
	int nr = each_stale(dir, NULL);

	return (nr < 0 ? 0 : nr) + each_stale_probe(false);
}
