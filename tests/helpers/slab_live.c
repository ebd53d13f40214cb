// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * slab_live.c - what one small dose of global reclaim costs with N empty superblocks around.
 *
 *	slab_live DIR N...	(ascending) prints "N us": CPU time of one write to node0/reclaim
 *
 * In a private mount namespace it mounts N tmpfs in DIR, keeps a file of clean page cache in DIR, and
 * asks for 128 KiB of reclaim again and again; the lower quartile of the calls counts, as anything else
 * that runs only adds. All mounts end with the namespace. Exit 77 where the kernel has no such file.
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

enum { CALLS = 120, FILE_BYTES = 48 << 20, PIECE = 1 << 20 };

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

/* Reads the file once: clean pages at the inactive end of the lists for the reclaim that follows. */
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
		if ((make ? pwrite(fd, piece, PIECE, done) : pread(fd, piece, PIECE, done)) != PIECE)
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

static double reclaim_us(int fd)
{
	double us[CALLS];

	for (int i = 0; i < CALLS; i++) {
		double start = cpu_us();

		if (write(fd, "128K", 4) < 0 && errno != EAGAIN)
			return -1;
		us[i] = cpu_us() - start;
	}
	qsort(us, CALLS, sizeof(*us), compare);
	return us[CALLS / 4];
}

int main(int argc, char **argv)
{
	int fd = open("/sys/devices/system/node/node0/reclaim", O_WRONLY), mounted = 0;

	if (fd < 0) {
		puts("no writable node0/reclaim");
		return 77;
	}
	if (argc < 3 || unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    fill_cache(argv[1], 1)) {
		perror("slab_live");
		return 77;
	}
	for (int i = 2; i < argc; i++) {
		int n = atoi(argv[i]);
		double us;

		if (mount_up_to(argv[1], mounted, n) || fill_cache(argv[1], 0)) {
			perror("slab_live");
			return 1;
		}
		mounted = n;
		us = reclaim_us(fd);
		if (us < 0) {
			perror("slab_live: reclaim");
			return 1;
		}
		printf("%d %.2f\n", n, us);
		fflush(stdout);
	}
	return 0;
}
