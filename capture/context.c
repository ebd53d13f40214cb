// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * context.c - facts about the host, as (subject, key, value).
 *
 *	host		kernel, CPUs, memory, NUMA nodes, superblocks, memcg version
 *	sysctl		/proc/sys/vm, as vm.NAME
 *	zoneinfo:N, zoneinfo:N:ZONE	per node and per zone: sizes and watermarks in pages
 *	vmstat, meminfo	all counters
 *	psi:memory, psi:io, psi:cpu	total stall times in us
 *	lru_gen		enabled (mask), min_ttl_ms
 *	swap:DEVICE	size_kb, used_kb, priority
 *	cleancache	puts, succ_gets, failed_gets (kernels up to 5.16)
 *	bdi:NAME	read_ahead_kb; also of mounted partitions, whose disk has the bdi
 *	memcg:PATH	limit_bytes, high_bytes, swap limit, usage_bytes, swappiness, stat.*
 *	schedstat:NAME	run_ns and wait_ns of kswapd and kcompactd
 *
 * Reading memory.stat makes the kernel flush the statistics of the cgroup: who measures just that
 * takes the context at the start and at the end only.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "capture/context.h"
#include "capture/instance.h"
#include "capture/live.h"
#include "capture/mounts.h"

void facts_add(struct facts *facts, const char *subject, const char *key, struct value value)
{
	struct fact *f;

	if (facts->nr == facts->room) {
		int room = facts->room ? 2 * facts->room : 512;

		f = realloc(facts->fact, sizeof(*f) * (size_t)room);
		if (!f)
			return;
		facts->fact = f;
		facts->room = room;
	}
	f = &facts->fact[facts->nr];
	*f = (struct fact){ .subject = strdup(subject), .value = value };
	snprintf(f->key, sizeof(f->key), "%s", key);
	if (value.type == VALUE_TEXT)
		f->value.text = strndup(value.text, value.text_bytes);
	if (f->subject && (value.type != VALUE_TEXT || f->value.text))
		facts->nr++;
	else
		free(f->subject);
}

static void add_int(struct facts *facts, const char *subject, const char *key, uint64_t v)
{
	facts_add(facts, subject, key, VALUE_OF_INT((int64_t)v));
}

static void add_text(struct facts *facts, const char *subject, const char *key, const char *text)
{
	facts_add(facts, subject, key, VALUE_OF_TEXT(text));
}

/* The content of a small file: a number if it is one (0x, too), else its first line; "max" is
 * NULL's opposite, no limit: text. */
static void add_file(struct facts *facts, const char *subject, const char *key, const char *path)
{
	char *text = file_slurp(path, NULL), *end;
	int64_t number;

	if (!text)
		return;
	text[strcspn(text, "\n")] = '\0';
	number = strtoll(text, &end, 0);
	if (end != text && !*end)
		facts_add(facts, subject, key, VALUE_OF_INT(number));
	else if (text[0])
		add_text(facts, subject, key, text);
	free(text);
}

/* "key value" or "key: value kB" a line; @prefix before each key. */
static void add_lines(struct facts *facts, const char *subject, const char *prefix,
		      const char *path)
{
	char *text = file_slurp(path, NULL), *save = NULL;

	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		char key[64];
		unsigned long long v;
		size_t len = strcspn(line, " :");

		if (sscanf(line + len, "%*[ :]%llu", &v) != 1)
			continue;
		snprintf(key, sizeof(key), "%s%.*s%s", prefix, (int)len, line,
			 strstr(line, " kB") ? "_kb" : "");
		add_int(facts, subject, key, v);
	}
	free(text);
}

/* ---- parts ---------------------------------------------------------------------------------- */

static int count_nodes(void)
{
	DIR *d = opendir("/sys/devices/system/node");
	struct dirent *entry;
	int nr = 0, node;

	while (d && (entry = readdir(d)))
		nr += sscanf(entry->d_name, "node%d", &node) == 1;
	if (d)
		closedir(d);
	return nr;
}

static void host(struct facts *facts, const struct context_scope *scope)
{
	struct utsname u;
	struct mounts mounts;

	if (!uname(&u)) {
		add_text(facts, "host", "kernel_release", u.release);
		add_text(facts, "host", "machine", u.machine);
	}
	add_int(facts, "host", "nr_cpus", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
	add_int(facts, "host", "nr_possible_cpus", (uint64_t)sysconf(_SC_NPROCESSORS_CONF));
	add_int(facts, "host", "memory_bytes",
		(uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
	add_int(facts, "host", "page_bytes", (uint64_t)sysconf(_SC_PAGESIZE));
	if (count_nodes())
		add_int(facts, "host", "nr_numa_nodes", (uint64_t)count_nodes());
	add_int(facts, "host", "memcg_version", (uint64_t)scope->mount->version);
	if (!mounts_load(&mounts, 0)) {
		add_int(facts, "host", "nr_mounts", (uint64_t)mounts.nr);
		add_int(facts, "host", "nr_superblocks",
			(uint64_t)mounts_count_devices(&mounts));
		mounts_release(&mounts);
	}
}

static void sysctls(struct facts *facts)
{
	/* reading the first two does something or nothing useful, the third folds counters */
	static const char *const skip[] = { "compact_memory", "drop_caches", "stat_refresh" };
	DIR *d = opendir("/proc/sys/vm");
	struct dirent *entry;

	while (d && (entry = readdir(d))) {
		char path[300], key[64];
		bool skipped = entry->d_name[0] == '.';

		for (size_t i = 0; i < ARRAY_SIZE(skip); i++)
			skipped |= !strcmp(entry->d_name, skip[i]);
		snprintf(path, sizeof(path), "/proc/sys/vm/%s", entry->d_name);
		snprintf(key, sizeof(key), "vm.%.60s", entry->d_name);
		if (!skipped)
			add_file(facts, "sysctl", key, path);
	}
	if (d)
		closedir(d);
}

/* Lines of /proc/zoneinfo: "Node 0, zone Normal" opens a zone, "per-node stats" goes on for the
 * node. */
static void zoneinfo(struct facts *facts)
{
	char *text = file_slurp("/proc/zoneinfo", NULL), *save = NULL;
	char node[32] = "", zone[64] = "", *subject = zone;
	bool in_pagesets = false;

	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		char key[48], name[24];
		unsigned long long v;
		int nid;

		if (sscanf(line, "Node %d, zone %20s", &nid, name) == 2) {
			snprintf(node, sizeof(node), "zoneinfo:%d", nid);
			snprintf(zone, sizeof(zone), "zoneinfo:%d:%s", nid, name);
			subject = zone;
			in_pagesets = false;
		} else if (strstr(line, "per-node stats")) {
			subject = node;
		} else if (strstr(line, "pagesets")) {
			in_pagesets = true;
		} else if (sscanf(line, " pages %40s %llu", key, &v) == 2) {
			subject = zone;
			add_int(facts, subject, key, v);
		} else if (strstr(line, "protection:")) {
			add_text(facts, zone, "protection",
				 strchr(line, '(') ? strchr(line, '(') : "");
		} else if (!in_pagesets && sscanf(line, " %40[a-z_0-9] %llu", key, &v) == 2) {
			add_int(facts, subject, key, v);
		}
	}
	free(text);
}

static void psi(struct facts *facts)
{
	static const char *const what[] = { "memory", "io", "cpu" };

	for (size_t i = 0; i < ARRAY_SIZE(what); i++) {
		char path[64], subject[32], *text, *save = NULL;

		snprintf(path, sizeof(path), "/proc/pressure/%s", what[i]);
		snprintf(subject, sizeof(subject), "psi:%s", what[i]);
		text = file_slurp(path, NULL);
		for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line;
		     line = strtok_r(NULL, "\n", &save)) {
			const char *total = strstr(line, "total=");
			char key[32];

			snprintf(key, sizeof(key), "%.*s_total_us", (int)strcspn(line, " "), line);
			if (total)
				add_int(facts, subject, key, strtoull(total + 6, NULL, 10));
		}
		free(text);
	}
}

/* Lines of /proc/swaps: "/dev/zram0  partition  1048572  0  100". */
static void swaps(struct facts *facts)
{
	char *text = file_slurp("/proc/swaps", NULL), *save = NULL;

	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		char device[64], subject[80];
		unsigned long long size_kb, used_kb;
		int priority;

		if (sscanf(line, "%63s %*s %llu %llu %d", device, &size_kb, &used_kb,
			   &priority) != 4)
			continue;
		snprintf(subject, sizeof(subject), "swap:%s", device);
		add_int(facts, subject, "size_kb", size_kb);
		add_int(facts, subject, "used_kb", used_kb);
		facts_add(facts, subject, "priority", VALUE_OF_INT(priority));
	}
	free(text);
}

static void cleancache(struct facts *facts)
{
	static const char *const keys[] = { "puts", "succ_gets", "failed_gets" };

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		char path[64];

		snprintf(path, sizeof(path), "/sys/kernel/debug/cleancache/%s", keys[i]);
		add_file(facts, "cleancache", keys[i], path);
	}
}

static void bdis(struct facts *facts)
{
	DIR *d = opendir("/sys/class/bdi");
	struct dirent *entry;

	while (d && (entry = readdir(d))) {
		char path[300], subject[80];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/sys/class/bdi/%.200s/read_ahead_kb", entry->d_name);
		snprintf(subject, sizeof(subject), "bdi:%.60s", entry->d_name);
		add_file(facts, subject, "read_ahead_kb", path);
		snprintf(path, sizeof(path), "/sys/dev/block/%.200s/queue/max_sectors_kb",
			 entry->d_name);
		add_file(facts, subject, "max_io_kb", path);
	}
	if (d)
		closedir(d);
}

/* A partition has no bdi of its own, a btrfs one of another name: events know both by device. */
static void mounted_bdis(struct facts *facts)
{
	struct mounts mounts;

	if (mounts_load(&mounts, 0))
		return;
	for (int i = 0; i < mounts.nr; i++) {
		const struct mount_entry *m = &mounts.entry[i];
		unsigned int major_nr = m->dev >> 20, minor_nr = m->dev & 0xfffff;
		char path[200], subject[80];
		const char *base = strrchr(m->source, '/');

		snprintf(subject, sizeof(subject), "bdi:%u:%u", major_nr, minor_nr);
		snprintf(path, sizeof(path), "/sys/class/bdi/%u:%u", major_nr, minor_nr);
		if (!access(path, F_OK))
			continue;
		if (!strcmp(m->type, "btrfs"))
			snprintf(path, sizeof(path), "/sys/class/block/%.64s/queue/read_ahead_kb",
				 base ? base + 1 : m->source);
		else
			snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/../queue/read_ahead_kb",
				 major_nr, minor_nr);
		if (major_nr || !strcmp(m->type, "btrfs"))
			add_file(facts, subject, "read_ahead_kb", path);
	}
	mounts_release(&mounts);
}

static void memcg(struct facts *facts, const struct memcg_mount *mount, const char *cgroup)
{
	static const struct { const char *key, *file[2]; } files[] = {
		{ "limit_bytes", { "memory.limit_in_bytes", "memory.max" } },
		{ "high_bytes", { NULL, "memory.high" } },
		{ "min_bytes", { NULL, "memory.min" } },
		{ "low_bytes", { NULL, "memory.low" } },
		{ "soft_limit_bytes", { "memory.soft_limit_in_bytes", NULL } },
		{ "swap_limit_bytes", { NULL, "memory.swap.max" } },
		{ "memsw_limit_bytes", { "memory.memsw.limit_in_bytes", NULL } },
		{ "usage_bytes", { "memory.usage_in_bytes", "memory.current" } },
		{ "kernel_bytes", { "memory.kmem.usage_in_bytes", NULL } },
		{ "kernel_bytes", { "memory.kmem.usage_in_bytes", NULL } },
		{ "swappiness", { "memory.swappiness", NULL } },
	};
	char subject[CGROUP_PATH_BYTES + 8], path[CGROUP_PATH_BYTES + 320];

	snprintf(subject, sizeof(subject), "memcg:%s", cgroup);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		const char *file = files[i].file[mount->version - 1];

		snprintf(path, sizeof(path), "%s%s/%s", mount->root, cgroup, file ? file : "");
		if (file)
			add_file(facts, subject, files[i].key, path);
	}
	snprintf(path, sizeof(path), "%s%s/memory.stat", mount->root, cgroup);
	add_lines(facts, subject, "stat.", path);
}

static void note_kthread(void *ctx, uint32_t pid, const char *comm)
{
	struct context_scope *scope = ctx;

	if (scope->nr_kthreads == MAX_CONTEXT_KTHREADS)
		return;
	scope->kthread[scope->nr_kthreads].pid = pid;
	snprintf(scope->kthread[scope->nr_kthreads++].comm, sizeof(scope->kthread[0].comm), "%s",
		 comm);
}

static void schedstat(struct facts *facts, uint32_t pid, const char *comm)
{
	char path[64], subject[80], *text;
	unsigned long long run_ns, wait_ns;

	snprintf(path, sizeof(path), "/proc/%u/schedstat", pid);
	text = file_slurp(path, NULL);
	if (text && sscanf(text, "%llu %llu", &run_ns, &wait_ns) == 2) {
		snprintf(subject, sizeof(subject), "schedstat:%s", comm);
		add_int(facts, subject, "run_ns", run_ns);
		add_int(facts, subject, "wait_ns", wait_ns);
	}
	free(text);
}

/* ---- all ------------------------------------------------------------------------------------ */

void context_add_cgroup(struct context_scope *scope, const char *path)
{
	for (int i = 0; i < scope->nr_cgroups; i++)
		if (!strcmp(scope->cgroup[i], path))
			return;
	if (scope->nr_cgroups == MAX_CONTEXT_CGROUPS || strlen(path) >= CGROUP_PATH_BYTES)
		return;
	strcpy(scope->cgroup[scope->nr_cgroups++], path);
}

struct facts *context_collect(struct context_scope *scope, const char *phase,
			      uint64_t ts_ns)
{
	struct facts *facts = calloc(1, sizeof(*facts));
	bool is_sample = !strcmp(phase, "sample");

	if (!facts)
		return NULL;
	facts->ts_ns = ts_ns;
	snprintf(facts->phase, sizeof(facts->phase), "%s", phase);
	if (!is_sample)
		host(facts, scope);
	if (!is_sample) {
		bdis(facts);
		mounted_bdis(facts);
	}
	sysctls(facts);
	zoneinfo(facts);
	add_lines(facts, "vmstat", "", "/proc/vmstat");
	add_lines(facts, "meminfo", "", "/proc/meminfo");
	psi(facts);
	swaps(facts);
	cleancache(facts);
	add_file(facts, "lru_gen", "enabled", "/sys/kernel/mm/lru_gen/enabled");
	add_file(facts, "lru_gen", "min_ttl_ms", "/sys/kernel/mm/lru_gen/min_ttl_ms");
	for (int i = 0; i < scope->nr_cgroups && scope->mount->version; i++)
		memcg(facts, scope->mount, scope->cgroup[i]);
	if (!scope->nr_kthreads) {
		each_kthread("kswapd", note_kthread, scope);
		each_kthread("kcompactd", note_kthread, scope);
	}
	for (int i = 0; i < scope->nr_kthreads; i++)
		schedstat(facts, scope->kthread[i].pid, scope->kthread[i].comm);
	return facts;
}
