// SPDX-License-Identifier: GPL-2.0-or-later
/* host.c - can this host capture, and how well? One function per requirement. */
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "capture/instance.h"
#include "capture/live.h"
#include "capture/memcg.h"

struct checks {
	struct host_check *check;
	int nr;
};

static void __attribute__((format(printf, 5, 6)))
add(struct checks *c, const char *name, enum check_level level, const char *remedy,
    const char *fmt, ...)
{
	struct host_check *check;
	va_list ap;

	if (c->nr == MAX_HOST_CHECKS)
		return;
	check = &c->check[c->nr++];
	check->name = name;
	check->level = level;
	check->remedy = level == CHECK_OK ? NULL : remedy;
	va_start(ap, fmt);
	vsnprintf(check->detail, sizeof(check->detail), fmt, ap);
	va_end(ap);
}

static bool check_tracefs(struct checks *c, struct trace_dir *dir)
{
	struct err err = { "" };
	int code;

	if (geteuid()) {
		add(c, "root", CHECK_FAIL, "run it as root, e.g. with sudo", "an ordinary user");
		return false;
	}
	add(c, "root", CHECK_OK, NULL, "yes");
	code = trace_dir_open(dir, &err);
	if (code) {
		add(c, "tracefs", CHECK_FAIL, "boot a kernel with CONFIG_FTRACE; in a container, "
		    "run on the host", "%s", err.text);
		return false;
	}
	add(c, "tracefs", CHECK_OK, NULL, dir->was_mounted ? "mounted at %s" :
	    "not mounted: a capture mounts its own", dir->path);
	return true;
}

static void check_clock(struct checks *c, const struct trace_dir *dir)
{
	char path[TRACE_PATH_BYTES + 32], *text;
	bool has;

	snprintf(path, sizeof(path), "%s/trace_clock", dir->path);
	text = file_slurp(path, NULL);
	has = text && (strstr(text, " mono ") || strstr(text, "[mono]"));
	add(c, "clock", has ? CHECK_OK : CHECK_FAIL, "a kernel from 4.2 on has it",
	    has ? "mono" : "no trace clock 'mono'");
	free(text);
}

static void check_events(struct checks *c)
{
	struct event_presence presence;

	if (event_presence_open(&presence, NULL))
		return;
	for (int g = 0; g < nr_event_groups; g++) {
		const struct event_group *group = &event_groups[g];
		const char *name;
		int nr = 0;

		for (int i = 0; i < group->nr_events; i++)
			nr += event_presence_name(&presence, &group->events[i], &name);
		add(c, group->name, nr ? CHECK_OK : group->by_default ? CHECK_WARN : CHECK_OK,
		    "a newer kernel has them", "events of group: %d of %d in this kernel", nr,
		    group->nr_events);
	}
	event_presence_close(&presence);
}

static void check_hits(struct checks *c, const struct trace_dir *dir)
{
	char path[TRACE_PATH_BYTES + 64];
	const char *reason;

	snprintf(path, sizeof(path), "%s/events/filemap/mm_filemap_get_pages", dir->path);
	if (!access(path, F_OK)) {
		add(c, "hits", CHECK_OK, NULL, "mm_filemap_get_pages");
		return;
	}
	reason = live_probes_possible(dir);
	add(c, "hits", reason ? CHECK_WARN : CHECK_OK, "kernels from 6.12 on show hits; without "
	    "them captures are 'fills-only': a replay claims nothing below the recorded size",
	    "mm_filemap_get_pages is %s", reason ?: "not in this kernel; a probe takes its place");
}

static void check_rings(struct checks *c)
{
	uint64_t nr_cpus = (uint64_t)sysconf(_SC_NPROCESSORS_CONF);
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t free_bytes = (uint64_t)sysconf(_SC_AVPHYS_PAGES) * page_bytes;
	uint64_t want = live_rings_bytes(nr_cpus);
	char text[2][32];

	add(c, "buffers", want < free_bytes ? CHECK_OK : CHECK_WARN, "smaller ring buffers: -b 1M",
	    "%s for %llu CPUs, %s of memory free", format_bytes(text[0], sizeof(text[0]), want),
	    (unsigned long long)nr_cpus, format_bytes(text[1], sizeof(text[1]), free_bytes));
}

static void check_memcg(struct checks *c)
{
	struct memcg_mount mount;

	memcg_mount_find(&mount);
	if (mount.version)
		add(c, "memcg", CHECK_OK, NULL, "version %d at %s", mount.version, mount.root);
	else
		add(c, "memcg", CHECK_WARN, "mount -t cgroup2 none /sys/fs/cgroup",
		    "no memory controller: no --memory, no --cgroup");
}

static void check_mglru(struct checks *c)
{
	char *text = file_slurp("/sys/kernel/mm/lru_gen/enabled", NULL);

	if (!text)
		add(c, "mglru", CHECK_OK, NULL, "not in this kernel: classic lists");
	else
		add(c, "mglru", CHECK_OK, NULL, "%s (%.*s)", strtol(text, NULL, 0) & 1 ?
		    "on: scans of the lists are not traced as under the classic lists" : "off",
		    (int)strcspn(text, "\n"), text);
	free(text);
}

static void check_psi(struct checks *c)
{
	bool has = !access("/proc/pressure/memory", R_OK);

	add(c, "psi", has ? CHECK_OK : CHECK_WARN, "boot with psi=1 for stall times",
	    has ? "yes" : "no /proc/pressure");
}

static void check_nodes(struct checks *c)
{
	DIR *d = opendir("/sys/devices/system/node");
	struct dirent *entry;
	int nr = 0, node;

	while (d && (entry = readdir(d)))
		nr += sscanf(entry->d_name, "node%d", &node) == 1;
	if (d)
		closedir(d);
	add(c, "numa", nr > 1 ? CHECK_WARN : CHECK_OK,
	    "LRU lists are per node: a replay of the whole is an approximation",
	    "%d node%s", nr ? nr : 1, nr > 1 ? "s" : "");
}

static void check_disk(struct checks *c, const char *dir)
{
	static const uint64_t little_bytes = 16 << 20, some_bytes = 1ull << 30;
	struct statvfs fs;
	uint64_t free_bytes;
	char text[32];

	if (statvfs(dir, &fs)) {
		add(c, "disk", CHECK_FAIL, "name an existing directory", "no directory '%s'", dir);
		return;
	}
	free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	add(c, "disk", free_bytes < little_bytes ? CHECK_FAIL : free_bytes < some_bytes ?
	    CHECK_WARN : CHECK_OK, "write elsewhere (-o), or limit it: --max-size",
	    "%s free in '%s' (a busy reader writes some 5M/s)",
	    format_bytes(text, sizeof(text), free_bytes), dir);
}

static void check_stale(struct checks *c, const struct trace_dir *dir)
{
	struct memcg_mount mount;
	int nr;

	memcg_mount_find(&mount);
	nr = trace_count_stale(dir) + memcg_count_stale(&mount);
	add(c, "left over", nr ? CHECK_WARN : CHECK_OK,
	    "the next capture or 'pagereel doctor --clean' removes it",
	    nr ? "%d instances, probes or cgroups of killed captures" : "nothing", nr);
}

int host_check(struct host_check *checks, const char *dir)
{
	struct checks c = { .check = checks };
	struct trace_dir trace;

	if (check_tracefs(&c, &trace)) {
		check_clock(&c, &trace);
		check_events(&c);
		check_hits(&c, &trace);
		check_stale(&c, &trace);
		trace_dir_close(&trace);
	}
	check_rings(&c);
	check_memcg(&c);
	check_mglru(&c);
	check_psi(&c);
	check_nodes(&c);
	check_disk(&c, dir);
	return c.nr;
}
