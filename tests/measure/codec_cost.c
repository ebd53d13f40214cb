// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * codec_cost.c - what compressing and decompressing one page costs with the real libraries on real
 * contents: lines for the table in replay/components/codec_cost.c.
 *
 *	codec_cost text FILE... -- binary FILE... -- ...
 *
 * Each group's files are cut into whole pages (at most 4096 of a group, evenly spread); 'random'
 * and 'zero' are made here. Each page is compressed and decompressed with each codec; the pages go
 * round seven times, and the median over the rounds of the mean per page is printed, so that a
 * disturbed round does not count. The result of every decompression is compared with the page.
 */
#include <fcntl.h>
#include <lz4.h>
#include <lzo/lzo1x.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

enum { PAGE = 4096, MAX_PAGES = 4096, ROUNDS = 7, NR_CODECS = 3, ROOM = 2 * PAGE };

static unsigned char work[LZO1X_1_MEM_COMPRESS] __attribute__((aligned(16)));
static ZSTD_CCtx *zstd_c;
static ZSTD_DCtx *zstd_d;

static int compress_page(int codec, const unsigned char *page, unsigned char *out)
{
	lzo_uint nr = ROOM;

	switch (codec) {
	case 0:
		lzo1x_1_compress(page, PAGE, out, &nr, work);
		return (int)nr;
	case 1:
		return LZ4_compress_default((const char *)page, (char *)out, PAGE, ROOM);
	default:
		return (int)ZSTD_compressCCtx(zstd_c, out, ROOM, page, PAGE, 3);
	}
}

static int expand_page(int codec, const unsigned char *in, int bytes, unsigned char *page)
{
	lzo_uint nr = PAGE;

	switch (codec) {
	case 0:
		return lzo1x_decompress_safe(in, (lzo_uint)bytes, page, &nr, NULL) ? -1 : (int)nr;
	case 1:
		return LZ4_decompress_safe((const char *)in, (char *)page, bytes, PAGE);
	default:
		return (int)ZSTD_decompressDCtx(zstd_d, page, PAGE, in, (size_t)bytes);
	}
}

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void measure(const char *content, const unsigned char *pages, int nr)
{
	static const char *const names[NR_CODECS] = { "lzo", "lz4", "zstd" };
	static unsigned char out[MAX_PAGES][ROOM], page[PAGE];
	static int bytes[MAX_PAGES];
	static double size[MAX_PAGES];

	for (int codec = 0; codec < NR_CODECS; codec++) {
		double put[ROUNDS], get[ROUNDS];

		for (int round = 0; round < ROUNDS; round++) {
			double start = now_ns(), middle;

			for (int i = 0; i < nr; i++)
				bytes[i] = compress_page(codec, pages + (size_t)i * PAGE, out[i]);
			middle = now_ns();
			for (int i = 0; i < nr; i++)
				if (expand_page(codec, out[i], bytes[i], page) != PAGE)
					abort();
			get[round] = (now_ns() - middle) / nr;
			put[round] = (middle - start) / nr;
		}
		for (int i = 0; i < nr; i++) {
			expand_page(codec, out[i], bytes[i], page);
			if (memcmp(page, pages + (size_t)i * PAGE, PAGE))
				abort();
			size[i] = (double)bytes[i] / PAGE;
		}
		qsort(put, ROUNDS, sizeof(*put), compare);
		qsort(get, ROUNDS, sizeof(*get), compare);
		qsort(size, (size_t)nr, sizeof(*size), compare);
		printf("\t{ \"%s\", \"%s\", %.0f, %.0f, { %.3f, %.3f, %.3f, %.3f, %.3f } },\n",
		       names[codec], content, put[ROUNDS / 2], get[ROUNDS / 2], size[nr / 20],
		       size[nr / 4], size[nr / 2], size[nr - 1 - nr / 4], size[nr - 1 - nr / 20]);
	}
}

/* Appends every page of a file; the caller thins them. */
static long add_file(const char *path, unsigned char **pages, long nr)
{
	int fd = open(path, O_RDONLY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || nr > 200000) {
		if (fd >= 0)
			close(fd);
		return nr;
	}
	for (long i = 0; i < st.st_size / PAGE; i++) {
		if (nr % 1024 == 0)
			*pages = realloc(*pages, (size_t)(nr + 1024) * PAGE);
		if (!*pages || pread(fd, *pages + nr * PAGE, PAGE, i * PAGE) != PAGE)
			break;
		nr++;
	}
	close(fd);
	return nr;
}

int main(int argc, char **argv)
{
	static unsigned char made[MAX_PAGES * PAGE];
	int fd = open("/dev/urandom", O_RDONLY), i = 1;

	if (lzo_init() != LZO_E_OK)
		return 1;
	zstd_c = ZSTD_createCCtx();
	zstd_d = ZSTD_createDCtx();
	while (i < argc) {
		const char *content = argv[i++];
		unsigned char *pages = NULL;
		long nr = 0, used;

		for (; i < argc && strcmp(argv[i], "--"); i++)
			nr = add_file(argv[i], &pages, nr);
		i++;
		used = nr < MAX_PAGES ? nr : MAX_PAGES;
		for (long j = 0; j < used; j++)
			memcpy(made + j * PAGE, pages + j * nr / used * PAGE, PAGE);
		free(pages);
		if (used)
			measure(content, made, (int)used);
	}
	for (size_t done = 0; done < sizeof(made); )
		done += (size_t)read(fd, made + done, sizeof(made) - done);
	measure("random", made, MAX_PAGES);
	memset(made, 0, sizeof(made));
	measure("zero", made, MAX_PAGES);
	return 0;
}
