// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * flush_live.c - what flushing the statistics of N memcgs costs here, and what memcg_flush.c says.
 *
 *	flush_live CGROUP	prints "N measured_ns" for N = 100, 400, 200, then "predicted_ns"
 *
 * CGROUP is a memcg (v1 or v2) that this program may make children in. 400 children each hold a
 * process that touches memory on CPU 0 and CPU 1 when told to; then memory.stat of CGROUP is read
 * twice: the second read finds nothing to flush, the difference is the flush. Base and k come from
 * 100 and 400 children; the component then predicts 200. The sizes take turns, so that what else
 * runs meets all of them alike, and the lower quartile of each counts.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "replay/components/components.h"

enum { CHILDREN = 400, ROUNDS = 25, TOUCH_PAGES = 64, NR_SIZES = 3 };

struct child {
	pid_t pid;
	int tell, done;
};

static int move_to(const char *cgroup, pid_t pid)
{
	char path[4096];
	int fd, ret;

	if (snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup) >= (int)sizeof(path))
		return -1;
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return -1;
	ret = dprintf(fd, "%d", (int)pid);
	close(fd);
	return ret < 0 ? -1 : 0;
}

static void touch_on(int cpu)
{
	cpu_set_t set;
	char *page;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	page = mmap(NULL, TOUCH_PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		_exit(1);
	for (int i = 0; i < TOUCH_PAGES; i++)
		page[i * PAGE_BYTES] = 1;
	munmap(page, TOUCH_PAGES * PAGE_BYTES);
}

static void child_run(int tell, int done)
{
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(tell, &byte, 1) == 1) {
		touch_on(0);
		touch_on(1);
		if (write(done, &byte, 1) != 1)
			_exit(1);
	}
	_exit(0);
}

static int child_start(struct child *child, const char *cgroup, int nr)
{
	int tell[2], done[2];
	char path[4096];

	snprintf(path, sizeof(path), "%s/c%d", cgroup, nr);
	if (mkdir(path, 0755) || pipe2(tell, O_CLOEXEC) || pipe2(done, O_CLOEXEC))
		return -1;
	child->pid = fork();
	if (child->pid < 0)
		return -1;
	if (!child->pid) {
		close(tell[1]);
		child_run(tell[0], done[1]);
	}
	close(tell[0]);
	close(done[1]);
	child->tell = tell[1];
	child->done = done[0];
	return move_to(path, child->pid);
}

static double cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static double read_ns(int fd)
{
	static char text[1 << 16];
	double start = cpu_ns();

	return pread(fd, text, sizeof(text), 0) > 0 ? cpu_ns() - start : -1;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* A flush with @nr children changed on both CPUs; negative: a child is gone. */
static double flush_ns(struct child *children, int nr, int stat)
{
	char byte = 0;
	double ns;

	for (int i = 0; i < nr; i++)
		if (write(children[i].tell, &byte, 1) != 1 || read(children[i].done, &byte, 1) != 1)
			return -1;
	ns = read_ns(stat);
	return ns - read_ns(stat);
}

/* The lower quartile over the rounds for each of @sizes. */
static int flush_sizes(struct child *children, const int *sizes, int stat, double *ns)
{
	static double all[NR_SIZES][ROUNDS];

	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < NR_SIZES; i++)
			all[i][round] = flush_ns(children, sizes[i], stat);
	for (int i = 0; i < NR_SIZES; i++) {
		qsort(all[i], ROUNDS, sizeof(*all[i]), compare);
		ns[i] = all[i][ROUNDS / 4];
		if (ns[i] <= 0)
			return -1;
		printf("%d %.0f\n", sizes[i], ns[i]);
	}
	return 0;
}

static double predict(double base_ns, double pair_ns, uint32_t nr)
{
	struct memcg_flush_params params;
	struct memcg_flush *flush;
	int code = 0;
	double ns;

	params_defaults(memcg_flush_params_table, &params, NULL);
	params.policy = MEMCG_FLUSH_6_18;
	params.nr_cpus = 2;
	params.nr_cgroups = CHILDREN;
	params.flush_base_ns = base_ns;
	params.pair_ns = pair_ns;
	flush = memcg_flush_new(&params, &code, NULL);
	if (!flush)
		return -1;
	for (uint32_t i = 0; i < nr; i++)
		for (uint32_t cpu = 0; cpu < 2; cpu++)
			memcg_flush_update(flush, 1, i, cpu, 4 * TOUCH_PAGES);
	ns = memcg_flush_point(flush, 2, FLUSH_BY_WORKER, 0);
	memcg_flush_free(flush);
	return ns;
}

int main(int argc, char **argv)
{
	static struct child children[CHILDREN];
	static const int sizes[NR_SIZES] = { 100, 400, 200 };
	double ns[NR_SIZES], pair_ns;
	char path[4096];
	int nr = 0, status = 1, stat;

	if (argc != 2)
		return 2;
	snprintf(path, sizeof(path), "%s/memory.stat", argv[1]);
	stat = open(path, O_RDONLY | O_CLOEXEC);
	for (; nr < CHILDREN && stat >= 0; nr++)
		if (child_start(&children[nr], argv[1], nr))
			break;
	if (nr == CHILDREN && !flush_sizes(children, sizes, stat, ns)) {
		pair_ns = (ns[1] - ns[0]) / (2 * (sizes[1] - sizes[0]));
		printf("predicted %.0f\n", predict(ns[0] - 2 * sizes[0] * pair_ns, pair_ns, 200));
		status = 0;
	} else {
		perror("flush_live");
	}
	for (int i = 0; i < nr; i++) {
		kill(children[i].pid, SIGKILL);
		waitpid(children[i].pid, NULL, 0);
	}
	for (int i = 0; i < CHILDREN; i++) {
		snprintf(path, sizeof(path), "%s/c%d", argv[1], i);
		rmdir(path);
	}
	return status;
}
