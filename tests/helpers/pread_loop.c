// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pread_loop.c - reads a cached file in pieces of 4 KiB and prints what one read took.
 *
 *	pread_loop FILE random|sequential SECONDS
 *
 * Prints "NS_PER_READ NR_READS CPU_NS_PER_READ"; CPU time does not count what other programs take.
 * The file is read once before, so that the loop finds it cached.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, BATCH = 4096 };

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

int main(int argc, char **argv)
{
	static char buf[1 << 20];
	uint64_t seed = 88172645463325252ull, at = 0, nr_pages, nr = 0;
	double start, cpu_start, limit, took;
	struct stat st;
	int fd, is_random;

	if (argc != 4) {
		fprintf(stderr, "usage: pread_loop FILE random|sequential SECONDS\n");
		return 2;
	}
	fd = open(argv[1], O_RDONLY);
	if (fd < 0 || fstat(fd, &st) || st.st_size < PAGE) {
		perror(argv[1]);
		return 1;
	}
	is_random = !strcmp(argv[2], "random");
	limit = atof(argv[3]);
	nr_pages = (uint64_t)st.st_size / PAGE;
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	while (read(fd, buf, sizeof(buf)) > 0)
		;
	start = seconds(CLOCK_MONOTONIC);
	cpu_start = seconds(CLOCK_PROCESS_CPUTIME_ID);
	do {
		for (int i = 0; i < BATCH; i++) {
			at = is_random ? next(&seed) % nr_pages : (at + 1) % nr_pages;
			if (pread(fd, buf, PAGE, (off_t)(at * PAGE)) != PAGE) {
				perror("pread");
				return 1;
			}
		}
		nr += BATCH;
		took = seconds(CLOCK_MONOTONIC) - start;
	} while (took < limit);
	printf("%.1f %llu %.1f\n", 1e9 * took / (double)nr, (unsigned long long)nr,
	       1e9 * (seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_start) / (double)nr);
	return 0;
}
