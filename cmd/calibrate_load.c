// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * calibrate_load.c - what `pagereel calibrate` runs: reads that make reclaim of different kinds,
 * and two measurements that need no reclaim.
 *
 *	random		4 KiB reads anywhere: each page that goes is far from the one before
 *	skewed		the same, a few pages far more often: activated, refilled, refaulted
 *	in-order	4 KiB reads from start to end again: neighbours go together, a folio each
 *	readahead	64 KiB reads from start to end: large folios go
 *
 * The same accesses every time.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cmd/calibrate.h"

const char *const calibrate_loads[] = { "random", "skewed", "in-order", "readahead", NULL };

static uint64_t next_page(const char *kind, uint64_t i, uint64_t *seed)
{
	double u;

	if (!strcmp(kind, "random"))
		return rand_next(seed) % CALIBRATE_FILE_PAGES;
	if (strcmp(kind, "skewed"))
		return i % CALIBRATE_FILE_PAGES;
	u = (double)(rand_next(seed) >> 11) * 0x1p-53;
	/* an odd factor permutes the pages */
	return (uint64_t)(u * u * CALIBRATE_FILE_PAGES) * 0x9e3779b1 % CALIBRATE_FILE_PAGES;
}

static int read_at(int fd, uint64_t page, size_t bytes)
{
	char buf[16 * PAGE_BYTES];

	return pread(fd, buf, bytes, (off_t)(page * PAGE_BYTES)) == (ssize_t)bytes ? 0 :
	       errno ? -errno : -EIO;
}

static int run(int fd, const char *kind)
{
	const bool large = !strcmp(kind, "readahead");
	uint64_t seed = 1, step = large ? 16 : 1, nr = large ? 2 * CALIBRATE_FILE_PAGES :
			CALIBRATE_READS;
	int code = 0;

	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	if (!large)
		posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	for (uint64_t i = 0; i < nr && !code; i += step)
		code = read_at(fd, next_page(kind, i, &seed), step * PAGE_BYTES);
	return code;
}

int calibrate_load_run(const char *kind, const char *path, struct err *err)
{
	int fd, code;

	for (int i = 0; calibrate_loads[i]; i++)
		if (!strcmp(calibrate_loads[i], kind))
			goto found;
	return err_set(err, -EINVAL, "no workload '%s' (random, skewed, in-order, readahead)",
		       kind);
found:
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, -errno, "cannot open '%s': %s", path, strerror(errno));
	code = run(fd, kind);
	close(fd);
	return code ? err_set(err, code, "cannot read '%s': %s", path, strerror(-code)) : 0;
}

/* ---- without reclaim ------------------------------------------------------------------------- */

static double cpu_now_ns(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return 1e9 * (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
	       1e3 * (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

/* The mean over batches of CPU time a read took, and its standard error. */
static int measure(int fd, bool cached, struct calibrate_price *price)
{
	enum { BATCHES = 12, READS = 1000 };
	double sum = 0, squares = 0;
	uint64_t seed = 7;
	int code = 0;

	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	for (int b = 0; b < BATCHES && !code; b++) {
		uint64_t first = seed;
		double ns;

		for (int i = 0; i < READS && cached && !code; i++)
			code = read_at(fd, rand_next(&first) % CALIBRATE_FILE_PAGES, PAGE_BYTES);
		ns = cpu_now_ns();
		for (int i = 0; i < READS && !code; i++)
			code = read_at(fd, rand_next(&seed) % CALIBRATE_FILE_PAGES, PAGE_BYTES);
		ns = (cpu_now_ns() - ns) / READS;
		sum += ns;
		squares += ns * ns;
		if (!cached)
			posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	}
	price->ns = sum / BATCHES;
	price->stderr_ns = sqrt(fmax(squares / BATCHES - price->ns * price->ns, 0) / (BATCHES - 1));
	return code;
}

int calibrate_reads(int fd, struct calibrate_price *lookup, struct calibrate_price *fill,
		    struct err *err)
{
	int code = measure(fd, true, lookup);

	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	code = code ?: measure(fd, false, fill);
	if (code)
		return err_set(err, code, "cannot read the file of the workloads: %s",
			       strerror(-code));
	fill->ns = fmax(fill->ns - lookup->ns, 0);
	fill->stderr_ns = hypot(fill->stderr_ns, lookup->stderr_ns);
	return 0;
}
