// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * workload.c - the workloads of the truth suite: deterministic reads and writes of a file.
 *
 *	workload KIND FILE [name=value]...
 *
 * The accesses are made up first, from a seed. Then the program drops the file's own cache, enters
 * the memcg (cgroup=PATH) and performs them: what it allocated before stays charged to where it
 * came from, so that the memcg holds the page cache and the kernel's own memory for it, no more.
 * list=PATH writes the accesses (u32 page, pages, op) and each one's start (u64 ns) behind them, so
 * that a model can be fed without any tracing. The last line of output is "name value ..." with
 * what the memcg's counters say at the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096 };
enum op { OP_READ, OP_WRITE };

struct access {
	uint32_t page, pages;
	uint32_t op;
};

struct options {
	uint64_t pages;		/* of the file that are used */
	uint64_t nr;		/* accesses */
	uint64_t io_pages;	/* per access */
	uint64_t streams;
	uint64_t seed;
	double theta;
	double write_pct;
	bool random;		/* POSIX_FADV_RANDOM: no readahead */
	const char *cgroup, *list;
};

struct kind {
	const char *name;
	void (*make)(const struct options *o, struct access *a);
};

static uint64_t rand_next(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static double rand_unit(uint64_t *state)
{
	return (double)(rand_next(state) >> 11) * 0x1p-53;
}

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "workload: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void *get(size_t bytes)
{
	/* MAP_POPULATE: charged now, before the memcg is entered. */
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		fail("memory");
	return p;
}

/* Page numbers of rank 0.. by popularity: a permutation, so that hot pages are not neighbours. */
static uint32_t *shuffled(uint64_t pages, uint64_t *seed)
{
	uint32_t *perm = get(sizeof(*perm) * pages);

	for (uint64_t i = 0; i < pages; i++)
		perm[i] = (uint32_t)i;
	for (uint64_t i = pages - 1; i > 0; i--) {
		uint64_t j = rand_next(seed) % (i + 1);
		uint32_t t = perm[i];

		perm[i] = perm[j];
		perm[j] = t;
	}
	return perm;
}

static void make_uniform(const struct options *o, struct access *a)
{
	uint64_t seed = o->seed, slots = o->pages / o->io_pages;

	for (uint64_t i = 0; i < o->nr; i++)
		a[i].page = (uint32_t)(rand_next(&seed) % slots * o->io_pages);
}

struct zipf {
	double *cdf;
	uint32_t *perm;
	uint64_t slots;
};

static void zipf_init(struct zipf *z, uint64_t slots, double theta, uint64_t *seed)
{
	double sum = 0;

	z->slots = slots;
	z->cdf = get(sizeof(*z->cdf) * slots);
	z->perm = shuffled(slots, seed);
	for (uint64_t i = 0; i < slots; i++)
		z->cdf[i] = sum += pow((double)(i + 1), -theta);
	for (uint64_t i = 0; i < slots; i++)
		z->cdf[i] /= sum;
}

static uint32_t zipf_next(const struct zipf *z, uint64_t *seed)
{
	double u = rand_unit(seed);
	uint64_t lo = 0, hi = z->slots - 1;

	while (lo < hi) {
		uint64_t mid = (lo + hi) / 2;

		if (z->cdf[mid] < u)
			lo = mid + 1;
		else
			hi = mid;
	}
	return z->perm[lo];
}

static void make_zipf(const struct options *o, struct access *a)
{
	uint64_t seed = o->seed;
	struct zipf z;

	zipf_init(&z, o->pages / o->io_pages, o->theta, &seed);
	for (uint64_t i = 0; i < o->nr; i++)
		a[i].page = zipf_next(&z, &seed) * (uint32_t)o->io_pages;
}

/* Zipf over the first half, interrupted eight times by a scan of the second half. */
static void make_zipfscan(const struct options *o, struct access *a)
{
	uint64_t seed = o->seed, half = o->pages / 2, at = 0, scan = o->nr / 16;
	struct zipf z;

	zipf_init(&z, half, o->theta, &seed);
	for (uint64_t i = 0; i < o->nr; i++) {
		bool scanning = i % (2 * scan) >= scan;

		a[i].page = scanning ? (uint32_t)(half + at++ % half) : zipf_next(&z, &seed);
	}
}

static void make_loop(const struct options *o, struct access *a)
{
	uint64_t slots = o->pages / o->io_pages;

	for (uint64_t i = 0; i < o->nr; i++)
		a[i].page = (uint32_t)(i % slots * o->io_pages);
}

/* The file in equal parts, one sequential reader each, turn by turn. */
static void make_interleaved(const struct options *o, struct access *a)
{
	uint64_t slots = o->pages / o->streams / o->io_pages;

	for (uint64_t i = 0; i < o->nr; i++)
		a[i].page = (uint32_t)((i % o->streams * slots + i / o->streams % slots) *
				       o->io_pages);
}

static const struct kind kinds[] = {
	{ "uniform", make_uniform },
	{ "zipf", make_zipf },
	{ "zipfscan", make_zipfscan },
	{ "loop", make_loop },
	{ "interleaved", make_interleaved },
};

static void make(const struct options *o, const char *kind, struct access *a)
{
	uint64_t seed = o->seed ^ 0x5bd1e995;

	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		if (strcmp(kinds[k].name, kind))
			continue;
		kinds[k].make(o, a);
		for (uint64_t i = 0; i < o->nr; i++) {
			a[i].pages = (uint32_t)o->io_pages;
			a[i].op = rand_unit(&seed) * 100 < o->write_pct ? OP_WRITE : OP_READ;
		}
		return;
	}
	errno = EINVAL;
	fail(kind);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* One open file per stream, so that each has its own readahead state. */
static void perform(const struct options *o, const int *fd, const struct access *a, uint64_t *ts,
		    char *buf)
{
	for (uint64_t i = 0; i < o->nr; i++) {
		size_t bytes = (size_t)a[i].pages * PAGE;
		off_t pos = (off_t)a[i].page * PAGE;
		int f = fd[i % o->streams];
		ssize_t n;

		ts[i] = now_ns();
		n = a[i].op == OP_WRITE ? pwrite(f, buf, bytes, pos) : pread(f, buf, bytes, pos);
		if (n != (ssize_t)bytes)
			fail("read or write");
	}
}

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fail(path);
	close(fd);
}

static void enter(const char *cgroup)
{
	char path[512], pid[32];

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	write_text(path, pid);
}

static void print_counters(const char *cgroup)
{
	static const char *const wanted[] = { "cache ", "file ", "pgpgin ", "pgpgout ",
		"workingset_refault_file ", "workingset_activate_file ", "inactive_file ",
		"active_file ", "rss ", "pgscan ", "pgsteal ", "pgactivate ", "pgdeactivate " };
	char path[512], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/memory.stat", cgroup);
	f = fopen(path, "r");
	if (!f)
		fail(path);
	while (fgets(line, sizeof(line), f))
		for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
			if (!strncmp(line, wanted[i], strlen(wanted[i]))) {
				line[strcspn(line, "\n")] = 0;
				printf("%s ", line);
			}
	fclose(f);
	snprintf(path, sizeof(path), "%s/memory.usage_in_bytes", cgroup);
	f = fopen(path, "r");
	if (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		printf("usage %s ", line);
	}
	if (f)
		fclose(f);
}

static void write_list(const char *path, const struct options *o, const struct access *a,
		       const uint64_t *ts)
{
	FILE *f = fopen(path, "w");

	if (!f || fwrite(a, sizeof(*a), o->nr, f) != o->nr ||
	    fwrite(ts, sizeof(*ts), o->nr, f) != o->nr || fclose(f))
		fail(path);
}

static void set(struct options *o, const char *arg)
{
	const char *value = strchr(arg, '=');
	static const struct { const char *name; size_t offset; } numbers[] = {
		{ "pages=", offsetof(struct options, pages) },
		{ "nr=", offsetof(struct options, nr) },
		{ "io=", offsetof(struct options, io_pages) },
		{ "streams=", offsetof(struct options, streams) },
		{ "seed=", offsetof(struct options, seed) },
	};

	for (size_t i = 0; value && i < sizeof(numbers) / sizeof(*numbers); i++)
		if (!strncmp(arg, numbers[i].name, strlen(numbers[i].name))) {
			*(uint64_t *)((char *)o + numbers[i].offset) = strtoull(value + 1, NULL, 0);
			return;
		}
	if (value && !strncmp(arg, "theta=", 6))
		o->theta = atof(value + 1);
	else if (value && !strncmp(arg, "write=", 6))
		o->write_pct = atof(value + 1);
	else if (value && !strncmp(arg, "random=", 7))
		o->random = atoi(value + 1);
	else if (value && !strncmp(arg, "cgroup=", 7))
		o->cgroup = value + 1;
	else if (value && !strncmp(arg, "list=", 5))
		o->list = value + 1;
	else
		errno = EINVAL, fail(arg);
}

int main(int argc, char **argv)
{
	struct options o = { .pages = 65536, .nr = 100000, .io_pages = 1, .streams = 1, .seed = 1,
			     .theta = 0.9 };
	struct access *a;
	uint64_t *ts, start;
	int fd[64];
	char *buf;

	if (argc < 3)
		errno = EINVAL, fail("usage: workload KIND FILE [name=value]...");
	for (int i = 3; i < argc; i++)
		set(&o, argv[i]);
	a = get(sizeof(*a) * o.nr);
	ts = get(sizeof(*ts) * o.nr);
	buf = get(o.io_pages * PAGE);
	make(&o, argv[1], a);
	for (uint64_t i = 0; i < o.streams; i++) {
		fd[i] = open(argv[2], o.write_pct > 0 ? O_RDWR : O_RDONLY);
		if (fd[i] < 0)
			fail(argv[2]);
		if (o.random)
			posix_fadvise(fd[i], 0, 0, POSIX_FADV_RANDOM);
	}
	fsync(fd[0]);
	posix_fadvise(fd[0], 0, 0, POSIX_FADV_DONTNEED);
	if (o.cgroup)
		enter(o.cgroup);
	start = now_ns();
	perform(&o, fd, a, ts, buf);
	printf("elapsed_ns %llu ", (unsigned long long)(now_ns() - start));
	if (o.cgroup)
		print_counters(o.cgroup);
	printf("\n");
	if (o.list)
		write_list(o.list, &o, a, ts);
	return 0;
}
