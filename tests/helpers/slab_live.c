// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * slab_live.c - what one pass over all shrinkers costs with N empty superblocks around.
 *
 *	slab_live DIR N...	(ascending) prints "N us passes calls": CPU time of one pass
 *
 * In a private mount namespace it mounts N tmpfs in DIR, keeps a file of clean page cache in DIR,
 * and asks for 128 KiB of node reclaim again and again. How many passes a call makes depends on how
 * much its scans reclaim, and reclaim that has enough after a few memcgs never comes to the root,
 * where all shrinkers are asked. Empty shrinkers are not traced, so passes are counted by a
 * shrinker that knows no memcgs and is never empty (ext4's extent status, ...):
 * mm_shrink_slab_start of this process in a tracefs instance of its own. A pass costs what such
 * calls take more than those without, over the passes; of both the lower quartile counts, as what
 * else runs only adds. All mounts end with the namespace.
 *
 * With many memcgs that have page cache few calls come to the root: calls go on until there were
 * enough that did, or MAX_CALLS. Exit 77 and the reason in a line where it cannot be measured.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	ENOUGH_CALLS = 150,
	FEWEST_CALLS = 20,
	MAX_CALLS = 2000,
	MAX_SHRINKERS = 64,
	FILE_BYTES = 48 << 20,
	PIECE = 1 << 20
};

static double cpu_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * Reads the file once: clean pages at the inactive end of the lists for the reclaim that follows.
 */
static int fill_cache(const char *dir, int make)
{
	static char piece[PIECE];
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/file", dir);
	fd = open(path, O_RDWR | (make ? O_CREAT | O_TRUNC : 0), 0600);
	if (fd < 0)
		return -1;
	for (int done = 0; done < FILE_BYTES; done += PIECE)
		if ((make ? pwrite(fd, piece, PIECE, done) : pread(fd, piece, PIECE, done)) !=
		    PIECE)
			return -1;
	if (make)
		fsync(fd);
	close(fd);
	return 0;
}

static int mount_up_to(const char *dir, int from, int to)
{
	char path[4096];

	for (int i = from; i < to; i++) {
		snprintf(path, sizeof(path), "%s/m%d", dir, i);
		if (mkdir(path, 0700) || mount("none", path, "tmpfs", 0, "size=4k"))
			return -1;
	}
	return 0;
}

/* ---- passes, by tracing ---------------------------------------------------------------------- */

static char instance[256];

static int instance_write(const char *file, const char *text)
{
	char path[512];
	int fd, ret;

	snprintf(path, sizeof(path), "%s/%s", instance, file);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return -1;
	ret = (int)write(fd, text, strlen(text));
	close(fd);
	return ret < 0 ? -1 : 0;
}

static int tracing_start(void)
{
	char pid[32];

	mount("nodev", "/sys/kernel/tracing", "tracefs", 0, NULL);
	snprintf(instance, sizeof(instance), "/sys/kernel/tracing/instances/pagereel.%d.slab",
		 (int)getpid());
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	if (mkdir(instance, 0700))
		return -1;
	return instance_write("set_event_pid", pid) ||
	       instance_write("events/vmscan/mm_shrink_slab_start/enable", "1") ? -1 : 0;
}

/* All that was traced since the last call, as text; trace_pipe consumes what it shows. */
static char *read_trace(int pipe)
{
	static char text[1 << 20];
	size_t nr = 0;

	for (;;) {
		ssize_t got = read(pipe, text + nr, sizeof(text) - 1 - nr);

		if (got <= 0)
			break;
		nr += (size_t)got;
	}
	text[nr] = '\0';
	return text;
}

/* The most often called shrinker that knows no memcgs: once per pass over all of them. */
static int count_passes(int pipe)
{
	static const char *const aware[] = { "super_cache_scan", "scan_shadow_nodes",
					     "deferred_split_scan" };
	char seen[MAX_SHRINKERS][20], *line, *rest = read_trace(pipe);
	int calls[MAX_SHRINKERS] = { 0 }, nr = 0, most = 0;

	while ((line = strsep(&rest, "\n"))) {
		char *at = strstr(line, "mm_shrink_slab_start: "), *pointer;
		int i = 0, skip = 0;

		pointer = at ? strchr(at + 22, ' ') : NULL;
		for (size_t j = 0; pointer && j < sizeof(aware) / sizeof(*aware); j++)
			skip |= strstr(at, aware[j]) != NULL;
		if (!pointer || skip)
			continue;
		while (i < nr && strncmp(seen[i], pointer + 1, 16))
			i++;
		if (i == MAX_SHRINKERS)
			break;
		if (i == nr)
			snprintf(seen[nr++], sizeof(*seen), "%.16s", pointer + 1);
		if (++calls[i] > most)
			most = calls[i];
	}
	return most;
}

static double lower_quartile(double *v, int nr)
{
	qsort(v, (size_t)nr, sizeof(*v), compare);
	return v[nr / 4];
}

/* CPU time of a pass; -1: too few calls made one. */
static double pass_us(int fd, int pipe, int *nr_passes, int *nr_calls)
{
	static double without[MAX_CALLS], with[MAX_CALLS], passes[MAX_CALLS];
	int nr_without = 0, nr_with = 0, i;
	double base;

	*nr_passes = 0;
	for (i = 0; i < MAX_CALLS && nr_with < ENOUGH_CALLS; i++) {
		double us = cpu_us();
		int nr;

		if (write(fd, "128K", 4) < 0 && errno != EAGAIN)
			return -1;
		us = cpu_us() - us;
		nr = count_passes(pipe);
		*nr_passes += nr;
		if (!nr) {
			without[nr_without++] = us;
		} else {
			passes[nr_with] = nr;
			with[nr_with++] = us;
		}
	}
	*nr_calls = i;
	if (nr_with < FEWEST_CALLS)
		return -1;
	base = nr_without >= FEWEST_CALLS ? lower_quartile(without, nr_without) : 0;
	for (i = 0; i < nr_with; i++)
		with[i] = (with[i] - base) / passes[i];
	return lower_quartile(with, nr_with);
}

/* Everything but the measuring; NULL or what is missing here. */
static const char *prepare(const char *dir, int *fd, int *pipe)
{
	char path[512];

	*fd = open("/sys/devices/system/node/node0/reclaim", O_WRONLY);
	if (*fd < 0)
		return "no writable /sys/devices/system/node/node0/reclaim";
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return "no mount namespace of its own";
	if (fill_cache(dir, 1))
		return "no room for a file of 48 MB";
	if (tracing_start())
		return "no tracefs instance, or no mm_shrink_slab_start";
	snprintf(path, sizeof(path), "%s/trace_pipe", instance);
	*pipe = open(path, O_RDONLY | O_NONBLOCK);
	return *pipe < 0 ? "no trace_pipe" : NULL;
}

static int measure(const char *dir, int fd, int pipe, int from, int to)
{
	int nr_passes = 0, nr_calls = 0;
	double us;

	if (mount_up_to(dir, from, to) || fill_cache(dir, 0)) {
		perror("slab_live");
		return 1;
	}
	us = pass_us(fd, pipe, &nr_passes, &nr_calls);
	if (us < 0) {
		printf("of %d calls for reclaim only %d passed over all shrinkers, or no shrinker "
		       "without memcgs has objects\n", nr_calls, nr_passes);
		return 77;
	}
	printf("%d %.2f %d %d\n", to, us, nr_passes, nr_calls);
	fflush(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	int fd, pipe = -1, mounted = 0, status = 0;
	const char *missing;

	if (argc < 3)
		return 2;
	missing = prepare(argv[1], &fd, &pipe);
	if (missing) {
		printf("%s (%s)\n", missing, strerror(errno));
		status = 77;
	}
	for (int i = 2; i < argc && !status; i++) {
		int n = atoi(argv[i]);

		status = measure(argv[1], fd, pipe, mounted, n);
		mounted = n;
	}
	close(pipe);
	if (*instance)
		rmdir(instance);
	return status;
}
