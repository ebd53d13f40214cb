// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * swap_live.c - idle memory, a burst of writing, then reads of what was written last.
 *
 *	swap_live CGROUP FILE ORDER NR_READS SYNC	ORDER: random or cyclic
 *
 * Joins the memcg (v1), touches 9 MB of memory that it never uses again, writes 24 MB to a new file
 * in 4 KiB pieces, to disk after each SYNC of them (0: never), and reads its last 16 MB, a page at
 * a time. Prints
 *
 *	misses NR swapped_burst NR swapped_end NR kernel_kb NR burst_s S reads_s S
 *
 * A read is a miss if mincore(2) does not find the page in memory before. (Not RWF_NOWAIT: it
 * starts reads under GFP_NOIO, in which reclaim cannot swap.) Nothing is read ahead. Swapped pages
 *are those of the idle memory, as /proc/self/pagemap has them, which touches nothing. The contents
 *do not compress, so that swap holds them as they are.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, IDLE_PAGES = 2304, BURST_PAGES = 6144, SET_PAGES = 4096 };

static uint64_t seed = 1;

static uint64_t rand_next(void)
{
	uint64_t z = (seed += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "swap_live: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void join(const char *cgroup)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, "0", 1) != 1)
		fail(path);
	close(fd);
}

/* Kernel memory of the memcg; a counter, which flushes no statistics when it is read. */
static long kernel_kb(const char *cgroup)
{
	char path[4096], text[32] = "";
	int fd;

	snprintf(path, sizeof(path), "%s/memory.kmem.usage_in_bytes", cgroup);
	fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		fail(path);
	close(fd);
	return atol(text) / 1024;
}

static void fill_random(uint64_t *words)
{
	for (int i = 0; i < PAGE / 8; i++)
		words[i] = rand_next();
}

static int nr_swapped(const char *memory)
{
	static uint64_t entry[IDLE_PAGES];
	int fd = open("/proc/self/pagemap", O_RDONLY), nr = 0;
	off_t pos = (off_t)((uintptr_t)memory / PAGE * 8);

	if (fd < 0 || pread(fd, entry, sizeof(entry), pos) != (ssize_t)sizeof(entry))
		fail("pagemap");
	close(fd);
	for (int i = 0; i < IDLE_PAGES; i++)
		nr += entry[i] >> 62 & 1;
	return nr;
}

static void burst(int fd, int sync_pages)
{
	static uint64_t page[PAGE / 8];

	fill_random(page);
	for (int i = 0; i < BURST_PAGES; i++) {
		if (pwrite(fd, page, PAGE, (off_t)i * PAGE) != PAGE)
			fail("write");
		if (sync_pages && (i + 1) % sync_pages == 0 && fdatasync(fd))
			fail("fdatasync");
	}
}

/* Whether it had to be read from disk. */
static int read_page(int fd, char *map, int page)
{
	static char buf[PAGE];
	off_t pos = (off_t)page * PAGE;
	unsigned char in_core;

	if (mincore(map + pos, PAGE, &in_core))
		fail("mincore");
	if (pread(fd, buf, PAGE, pos) != PAGE)
		fail("read");
	return !(in_core & 1);
}

struct run {
	const char *cgroup, *order;
	int fd, nr_reads, sync_pages;
};

/* Idle memory, burst, reads; prints what happened. */
static void run(const struct run *r, char *idle)
{
	int misses = 0, swapped;
	double at[4];
	char *map;

	for (int i = 0; i < IDLE_PAGES; i++)
		fill_random((uint64_t *)(idle + (size_t)i * PAGE));
	at[0] = now_s();
	burst(r->fd, r->sync_pages);
	at[1] = now_s();
	swapped = nr_swapped(idle);
	map = mmap(NULL, BURST_PAGES * PAGE, PROT_READ, MAP_SHARED, r->fd, 0);
	if (map == MAP_FAILED)
		fail("mmap");
	at[2] = now_s();
	for (int i = 0; i < r->nr_reads; i++) {
		int nth = *r->order == 'c' ? i % SET_PAGES : (int)(rand_next() % SET_PAGES);

		misses += read_page(r->fd, map, BURST_PAGES - SET_PAGES + nth);
	}
	at[3] = now_s();
	printf("misses %d swapped_burst %d swapped_end %d kernel_kb %ld burst_s %.3f reads_s "
	       "%.3f\n",
	       misses, swapped, nr_swapped(idle), kernel_kb(r->cgroup), at[1] - at[0],
	       at[3] - at[2]);
}

int main(int argc, char **argv)
{
	struct run r;
	char *idle;

	if (argc != 6) {
		errno = EINVAL;
		fail("usage: swap_live CGROUP FILE random|cyclic NR_READS SYNC");
	}
	r = (struct run){ .cgroup = argv[1], .order = argv[3], .nr_reads = atoi(argv[4]),
			  .sync_pages = atoi(argv[5]) };
	idle = mmap(NULL, IDLE_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	r.fd = open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (idle == MAP_FAILED || r.fd < 0)
		fail(argv[2]);
	madvise(idle, IDLE_PAGES * PAGE, MADV_NOHUGEPAGE);
	posix_fadvise(r.fd, 0, 0, POSIX_FADV_RANDOM);
	join(r.cgroup);
	run(&r, idle);
	return 0;
}
