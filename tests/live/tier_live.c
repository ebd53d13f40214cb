// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tier_live.c - pages of real files in a zram device of its own, against the compressed tier's
 * prediction (replay/components/tier.c).
 *
 *	tier_live DEVICE MM_STAT lzo|lz4 CONTENT FILE...
 *
 * Writes up to 4096 pages of the files to the device, one at a time with O_DIRECT, then as many
 * pages of zeros and of random bytes, and reads all back. Prints for each content
 *
 *	CONTENT pages N kept_pct P predicted_pct P huge N predicted N same N put_ns T get_ns T
 *
 * kept: bytes that zram holds, of what was written; times: CPU of a write and a read, block layer
 * included. The prediction knows the content by the table in codec_cost.c alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "replay/components/components.h"

enum { PAGE = 4096, MAX_PAGES = 4096 };

struct zram_stat {
	long orig_bytes, kept_bytes, same, huge;
};

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "tier_live: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* orig_data_size compr_data_size mem_used_total mem_limit mem_used_max same_pages ... huge_pages */
static struct zram_stat read_stat(const char *path)
{
	struct zram_stat s;
	FILE *f = fopen(path, "r");

	if (!f || fscanf(f, "%ld %ld %*d %*d %*d %ld %*d %ld", &s.orig_bytes, &s.kept_bytes,
			 &s.same, &s.huge) != 4)
		fail(path);
	fclose(f);
	return s;
}

static long whole_pages(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) ? st.st_size / PAGE : 0;
}

/* At most MAX_PAGES of all whole pages of the files, evenly spread. Returns how many. */
static int read_pages(char *const *paths, int nr_paths, char *pages)
{
	long total = 0, used, first = 0;
	int nr = 0;

	for (int i = 0; i < nr_paths; i++)
		total += whole_pages(paths[i]);
	used = total < MAX_PAGES ? total : MAX_PAGES;
	for (int i = 0; i < nr_paths && nr < used; i++) {
		long end = first + whole_pages(paths[i]), want;
		int fd = open(paths[i], O_RDONLY);

		for (; nr < used && (want = nr * total / used) < end; nr++)
			if (pread(fd, pages + (size_t)nr * PAGE, PAGE, (want - first) * PAGE) !=
			    PAGE)
				fail(paths[i]);
		if (fd >= 0)
			close(fd);
		first = end;
	}
	return nr;
}

/* What the model's zram makes of @nr pages. */
static struct tier_counters predict(const char *codec, const char *content, int nr)
{
	struct tier_params params;
	struct tier_counters n;
	struct tier *tier;
	int code = 0;

	params_defaults(tier_params_table, &params, NULL);
	params.kind = TIER_ZRAM;
	params.pool_bytes = 1ULL << 40;
	params.same_share = !strcmp(content, "zero");
	params.codec = codec_cost_find(codec, content);
	tier = params.codec ? tier_new(&params, (uint32_t)nr, &code, NULL) : NULL;
	if (!tier)
		fail(content);
	for (uint32_t page = 0; page < (uint32_t)nr; page++)
		tier_put(tier, page, false, 0, 0);
	n = *tier_counters(tier);
	tier_free(tier);
	return n;
}

struct device {
	int fd;
	const char *stat_path, *codec;
	off_t next;	/* page of it */
};

static void run(struct device *d, const char *content, const char *pages, int nr)
{
	struct tier_counters n = predict(d->codec, content, nr);
	struct zram_stat before = read_stat(d->stat_path), after;
	double at[3];
	char *back;

	if (posix_memalign((void **)&back, PAGE, PAGE))
		fail("memory");
	at[0] = cpu_ns();
	for (int i = 0; i < nr; i++)
		if (pwrite(d->fd, pages + (size_t)i * PAGE, PAGE, (d->next + i) * PAGE) != PAGE)
			fail("write");
	at[1] = cpu_ns();
	after = read_stat(d->stat_path);
	for (int i = 0; i < nr; i++)
		if (pread(d->fd, back, PAGE, (d->next + i) * PAGE) != PAGE ||
		    memcmp(back, pages + (size_t)i * PAGE, PAGE))
			fail("read");
	at[2] = cpu_ns();
	d->next += nr;
	free(back);
	printf("%s pages %d kept_pct %.2f predicted_pct %.2f huge %ld predicted %llu same %ld "
	       "put_ns %.0f get_ns %.0f\n", content, nr,
	       100.0 * (double)(after.kept_bytes - before.kept_bytes) / PAGE / nr,
	       100.0 * (double)n.pool_bytes / PAGE / nr, after.huge - before.huge,
	       (unsigned long long)n.nr_huge, after.same - before.same, (at[1] - at[0]) / nr,
	       (at[2] - at[1]) / nr);
}

int main(int argc, char **argv)
{
	struct device d = { .next = 0 };
	int nr, random;
	char *pages;

	if (argc < 6 || posix_memalign((void **)&pages, PAGE, MAX_PAGES * PAGE)) {
		errno = EINVAL;
		fail("usage: tier_live DEVICE MM_STAT lzo|lz4 CONTENT FILE...");
	}
	d.stat_path = argv[2];
	d.codec = argv[3];
	d.fd = open(argv[1], O_RDWR | O_DIRECT);
	random = open("/dev/urandom", O_RDONLY);
	if (d.fd < 0 || random < 0)
		fail(argv[1]);
	nr = read_pages(argv + 5, argc - 5, pages);
	if (!nr)
		fail(argv[5]);
	run(&d, argv[4], pages, nr);
	for (size_t done = 0; done < (size_t)MAX_PAGES * PAGE;) {
		ssize_t got = read(random, pages + done, (size_t)MAX_PAGES * PAGE - done);

		if (got <= 0)
			fail("urandom");
		done += (size_t)got;
	}
	run(&d, "random", pages, MAX_PAGES);
	memset(pages, 0, (size_t)MAX_PAGES * PAGE);
	run(&d, "zero", pages, MAX_PAGES);
	return 0;
}
