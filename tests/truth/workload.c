// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * workload.c - the workloads of the truth suite: deterministic reads and writes of files.
 *
 *	workload KIND FILE [name=value]...
 *
 * FILE of KIND build is a directory of small files, which KIND tree makes. KIND anon touches
 * anonymous memory between the reads of FILE.
 *
 * The next access is made up when the last one is done, and a request of any length goes into one
 * page of buffer (an iovec that names it many times), so that the program's own memory, which is
 * charged to the same memcg, stays a few pages. It drops the file's cache first. Same arguments,
 * same accesses.
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
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, MAX_IO_PAGES = 1024, MAX_STREAMS = 64 };

struct options {
	uint64_t pages;		/* of the file that are used */
	uint64_t nr;		/* accesses */
	uint64_t io_pages;	/* per access */
	uint64_t streams;	/* open files */
	uint64_t seed;
	double theta;
	double write_pct;
	uint64_t random;	/* POSIX_FADV_RANDOM: no readahead */
	uint64_t mapped;	/* touch pages through a mapping instead */
	uint64_t fsync_every;	/* accesses; 0: never */
	uint64_t think_us;	/* after each access */
	uint64_t files;		/* of build and tree */
	uint64_t anon_pages;
	double anon_pct;	/* of accesses that touch one of them, too */
	uint64_t swappiness;	/* + 1, of the memcg that it finds itself in; 0: as it is */
};

struct access {
	uint64_t slot;		/* in units of io_pages */
	bool write;
	uint32_t stream;	/* which open file */
};

struct state {
	const struct options *o;
	uint64_t seed, slots, i, at;
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

/*
 * Zipf ranks by rejection-inversion (Hoermann and Derflinger, Rejection-inversion to generate
 * variates from monotone discrete distributions, 1996): no tables.
 */
static double zipf_h(double x, double theta)
{
	return theta == 1 ? log(x) : (pow(x, 1 - theta) - 1) / (1 - theta);
}

static double zipf_h_inverse(double y, double theta)
{
	return theta == 1 ? exp(y) : pow(1 + y * (1 - theta), 1 / (1 - theta));
}

static uint64_t zipf_rank(struct state *s, uint64_t slots)
{
	double theta = s->o->theta, first = zipf_h(1.5, theta) - 1;
	double last = zipf_h((double)slots + 0.5, theta);

	for (;;) {
		double u = last + rand_unit(&s->seed) * (first - last);
		double x = zipf_h_inverse(u, theta);
		uint64_t k = (uint64_t)(x + 0.5);

		k = k < 1 ? 1 : k > slots ? slots : k;
		if (u >= zipf_h((double)k + 0.5, theta) - pow((double)k, -theta))
			return k - 1;
	}
}

/* Where rank @rank lies: a permutation of 0..@slots-1 (walks a cycle of the next power of two). */
static uint64_t scatter(uint64_t rank, uint64_t slots)
{
	uint64_t mask = 1;

	while (mask < slots)
		mask <<= 1;
	mask--;
	do {
		rank = (rank * 0x9e3779b1ULL + 0x7f4a7c15ULL) & mask;
		rank ^= rank >> 7 & mask >> 7;
		rank = (rank * 0x85ebca6bULL + 1) & mask;
	} while (rank >= slots);
	return rank;
}

static void next_uniform(struct state *s, struct access *a)
{
	a->slot = rand_next(&s->seed) % s->slots;
}

static void next_zipf(struct state *s, struct access *a)
{
	a->slot = scatter(zipf_rank(s, s->slots), s->slots);
}

/* Zipf over the first half, interrupted eight times by a scan of the second half. */
static void next_zipfscan(struct state *s, struct access *a)
{
	uint64_t half = s->slots / 2, part = s->o->nr / 16;

	if (s->i % (2 * part) < part)
		a->slot = scatter(zipf_rank(s, half), half);
	else
		a->slot = half + s->at++ % half;
}

static void next_loop(struct state *s, struct access *a)
{
	a->slot = s->i % s->slots;
}

/* The file in equal parts, one sequential reader each, turn by turn. */
static void next_interleaved(struct state *s, struct access *a)
{
	uint64_t streams = s->o->streams, slots = s->slots / streams;

	a->stream = (uint32_t)(s->i % streams);
	a->slot = a->stream * slots + s->i / streams % slots;
}

/* Appends, each followed by a zipf read of what is there, newest first. */
static void next_log(struct state *s, struct access *a)
{
	a->write = s->i % 4 == 0;
	if (a->write) {
		a->slot = s->at++ % s->slots;
		return;
	}
	a->slot = zipf_rank(s, s->slots);
	a->slot =
		(s->at + s->slots - 1 - a->slot % (s->at < s->slots ? s->at : s->slots)) % s->slots;
	a->stream = s->o->streams > 1 ? 1 : 0;
}

/* Anonymous memory: every page differs a little, so that a swap device has to keep each. */
static char *anon_map(const struct options *o)
{
	char *map;

	if (!o->anon_pages)
		return NULL;
	map = mmap(NULL, o->anon_pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		   -1, 0);
	if (map == MAP_FAILED)
		fail("mmap");
	madvise(map, o->anon_pages * PAGE, MADV_NOHUGEPAGE);
	for (uint64_t i = 0; i < o->anon_pages; i++)
		for (uint64_t at = 0; at < 64; at++)
			((uint64_t *)(map + i * PAGE))[at] = i * 64 + at;
	return map;
}

/* ---- many small files ------------------------------------------------------------------------ */

static uint64_t small_pages(uint64_t number)
{
	uint64_t seed = number;
	uint64_t large = rand_next(&seed) % 8;

	return 1 + rand_next(&seed) % (large ? 4 : 32);
}

static void small_name(char *name, size_t size, const char *dir, char kind, uint64_t number)
{
	snprintf(name, size, "%s/%02u", dir, (unsigned int)(number % 64));
	mkdir(name, 0755);
	snprintf(name, size, "%s/%02u/%c%llu", dir, (unsigned int)(number % 64), kind,
		 (unsigned long long)number);
}

static void small_write(const char *dir, char kind, uint64_t number, uint64_t pages)
{
	static char page[PAGE];
	char name[4096];
	int fd;

	small_name(name, sizeof(name), dir, kind, number);
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0)
		fail(name);
	for (uint64_t i = 0; i < pages; i++)
		if (write(fd, page, PAGE) != PAGE)
			fail(name);
	close(fd);
}

static void small_read(const char *dir, char kind, uint64_t number)
{
	static char buffer[4 * PAGE];
	char name[4096];
	int fd;

	small_name(name, sizeof(name), dir, kind, number);
	fd = open(name, O_RDONLY);
	if (fd < 0)
		fail(name);
	while (read(fd, buffer, sizeof(buffer)) > 0)
		;
	close(fd);
}

static int make_tree(const struct options *o, const char *dir)
{
	mkdir(dir, 0755);
	for (uint64_t i = 0; i < o->files; i++)
		small_write(dir, 's', i, small_pages(i));
	return 0;
}

/*
 * A compiler at work: each unit reads its source and 24 headers, popular ones more often, and
 * writes an object; every 64 units are linked.
 */
static int build(const struct options *o, const char *dir)
{
	struct state s = { .o = o, .seed = o->seed };

	for (uint64_t unit = 0; unit < o->nr; unit++) {
		small_read(dir, 's', unit % o->files);
		for (int i = 0; i < 24; i++)
			small_read(dir, 's', scatter(zipf_rank(&s, o->files), o->files));
		small_write(dir, 'o', unit, 1 + small_pages(unit) / 2);
		if (unit % 64 != 63)
			continue;
		for (uint64_t i = unit - 63; i <= unit; i++)
			small_read(dir, 'o', i);
	}
	return 0;
}

/* In a v1 hierarchy a memcg has its own. */
static void set_swappiness(uint64_t swappiness)
{
	char line[4096], path[4200] = "";
	FILE *f = fopen("/proc/self/cgroup", "r");

	while (f && fgets(line, sizeof(line), f)) {
		char *at = strstr(line, ":memory:");

		if (at)
			snprintf(path, sizeof(path), "/sys/fs/cgroup/memory%.*s/memory.swappiness",
				 (int)strcspn(at + 8, "\n"), at + 8);
	}
	if (f)
		fclose(f);
	f = fopen(path, "w");
	if (!f || fprintf(f, "%llu", (unsigned long long)swappiness) < 0 || fclose(f))
		fail("memory.swappiness");
}

static const struct kind {
	const char *name;
	void (*next)(struct state *s, struct access *a);
} kinds[] = {
	{ "uniform", next_uniform },
	{ "zipf", next_zipf },
	{ "zipfscan", next_zipfscan },
	{ "loop", next_loop },
	{ "interleaved", next_interleaved },
	{ "log", next_log },
};

static const struct kind *find_kind(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	errno = EINVAL;
	fail(name);
}

struct files {
	int fd[MAX_STREAMS];
	volatile char *map;
	struct iovec iov[MAX_IO_PAGES];
};

static void perform(const struct options *o, const struct files *f, const struct access *a)
{
	off_t pos = (off_t)(a->slot * o->io_pages * PAGE);
	int fd = f->fd[a->stream];
	ssize_t n;

	if (o->mapped) {
		for (uint64_t i = 0; i < o->io_pages; i++) {
			if (a->write)
				f->map[pos + (off_t)i * PAGE]++;
			else
				(void)f->map[pos + (off_t)i * PAGE];
		}
		return;
	}
	n = a->write ? pwritev(fd, f->iov, (int)o->io_pages, pos) :
		       preadv(fd, f->iov, (int)o->io_pages, pos);
	if (n != (ssize_t)(o->io_pages * PAGE))
		fail("read or write");
}

static void run(const struct options *o, const struct kind *kind, const struct files *f)
{
	struct state s = { .o = o, .seed = o->seed, .slots = o->pages / o->io_pages };
	uint64_t write_seed = o->seed ^ 0x5bd1e995, anon_seed = o->seed ^ 0x27d4eb2f;
	struct state anon = { .o = o, .seed = anon_seed };
	volatile char *memory = anon_map(o);

	for (s.i = 0; s.i < o->nr; s.i++) {
		struct access a = { .write = rand_unit(&write_seed) * 100 < o->write_pct };

		kind->next(&s, &a);
		perform(o, f, &a);
		if (memory && rand_unit(&anon_seed) * 100 < o->anon_pct)
			memory[scatter(zipf_rank(&anon, o->anon_pages), o->anon_pages) * PAGE]++;
		if (o->fsync_every && s.i % o->fsync_every == o->fsync_every - 1)
			fsync(f->fd[0]);
		if (o->think_us)
			usleep((useconds_t)o->think_us);
	}
}

static void set(struct options *o, const char *arg)
{
	static const struct { const char *name; size_t offset; bool real; } names[] = {
		{ "pages=", offsetof(struct options, pages), false },
		{ "nr=", offsetof(struct options, nr), false },
		{ "io=", offsetof(struct options, io_pages), false },
		{ "streams=", offsetof(struct options, streams), false },
		{ "seed=", offsetof(struct options, seed), false },
		{ "random=", offsetof(struct options, random), false },
		{ "mapped=", offsetof(struct options, mapped), false },
		{ "fsync=", offsetof(struct options, fsync_every), false },
		{ "think=", offsetof(struct options, think_us), false },
		{ "files=", offsetof(struct options, files), false },
		{ "anon=", offsetof(struct options, anon_pages), false },
		{ "swappiness=", offsetof(struct options, swappiness), false },
		{ "anon_pct=", offsetof(struct options, anon_pct), true },
		{ "theta=", offsetof(struct options, theta), true },
		{ "write=", offsetof(struct options, write_pct), true },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t length = strlen(names[i].name);
		char *field = (char *)o + names[i].offset;

		if (strncmp(arg, names[i].name, length))
			continue;
		if (names[i].real)
			*(double *)field = atof(arg + length);
		else
			*(uint64_t *)field = strtoull(arg + length, NULL, 0);
		if (field == (char *)&o->swappiness)
			o->swappiness++;
		return;
	}
	errno = EINVAL;
	fail(arg);
}

static void open_files(const struct options *o, const char *path, bool writes, struct files *f)
{
	static char page[PAGE];

	for (uint64_t i = 0; i < o->streams; i++) {
		f->fd[i] = open(path, writes ? O_RDWR : O_RDONLY);
		if (f->fd[i] < 0)
			fail(path);
		if (o->random)
			posix_fadvise(f->fd[i], 0, 0, POSIX_FADV_RANDOM);
	}
	for (size_t i = 0; i < MAX_IO_PAGES; i++)
		f->iov[i] = (struct iovec){ .iov_base = page, .iov_len = PAGE };
	fsync(f->fd[0]);
	posix_fadvise(f->fd[0], 0, 0, POSIX_FADV_DONTNEED);
	if (!o->mapped)
		return;
	f->map = mmap(NULL, o->pages * PAGE, writes ? PROT_READ | PROT_WRITE : PROT_READ,
		      MAP_SHARED, f->fd[0], 0);
	if (f->map == MAP_FAILED)
		fail("mmap");
	if (o->random)
		madvise((void *)f->map, o->pages * PAGE, MADV_RANDOM);
}

int main(int argc, char **argv)
{
	struct options o = { .pages = 65536, .nr = 100000, .io_pages = 1, .streams = 1, .seed = 1,
			     .theta = 0.9, .files = 8192 };
	static struct files files;
	const struct kind *kind;

	if (argc < 3) {
		errno = EINVAL;
		fail("usage: workload KIND FILE [name=value]...");
	}
	for (int i = 3; i < argc; i++)
		set(&o, argv[i]);
	if (!o.io_pages || o.io_pages > MAX_IO_PAGES || !o.streams || o.streams > MAX_STREAMS) {
		errno = ERANGE;
		fail("io and streams");
	}
	if (o.swappiness)
		set_swappiness(o.swappiness - 1);
	if (!strcmp(argv[1], "tree"))
		return make_tree(&o, argv[2]);
	if (!strcmp(argv[1], "build"))
		return build(&o, argv[2]);
	kind = find_kind(argv[1]);
	open_files(&o, argv[2], o.write_pct > 0 || kind->next == next_log, &files);
	run(&o, kind, &files);
	return 0;
}
