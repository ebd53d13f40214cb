/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * streams.h - the streams that bench_replay measures with, made record by record: single reads of a
 * zipf law, and a mix of what real programs do.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/base.h"

/* Calls with every request, in order. */
typedef void (*stream_sink)(void *ctx, uint32_t page, uint32_t run);

static uint32_t *permutation(uint32_t nr, uint64_t *state)
{
	uint32_t *p = malloc(4ULL * nr);

	for (uint32_t i = 0; i < nr; i++)
		p[i] = i;
	for (uint32_t i = nr - 1; i; i--) {
		uint32_t j = rand_next(state) % (i + 1), t = p[i];

		p[i] = p[j];
		p[j] = t;
	}
	return p;
}

struct zipf {
	double *cdf;
	uint32_t *guide, *place;
	uint32_t nr;
};

static void zipf_init(struct zipf *z, uint32_t nr, double theta, uint64_t *state)
{
	double sum = 0;

	z->nr = nr;
	z->cdf = malloc(8ULL * nr);
	z->guide = malloc(4ULL * (nr + 1));
	z->place = permutation(nr, state);
	for (uint32_t i = 0; i < nr; i++)
		z->cdf[i] = sum += pow(i + 1, -theta);
	for (uint32_t i = 0, g = 0; g < nr; g++) {
		while (z->cdf[i] / sum < (double)g / nr)
			i++;
		z->guide[g] = i;
	}
	for (uint32_t i = 0; i < nr; i++)
		z->cdf[i] /= sum;
}

static void zipf_release(struct zipf *z)
{
	free(z->cdf);
	free(z->guide);
	free(z->place);
}

static uint32_t zipf_draw(const struct zipf *z, uint64_t *state)
{
	double u = (double)(rand_next(state) >> 11) * 0x1p-53;
	uint32_t i = z->guide[(uint32_t)(u * z->nr)];

	while (i + 1 < z->nr && z->cdf[i] < u)
		i++;
	return z->place[i];
}

static void stream_zipf(uint64_t nr, uint32_t nr_ids, stream_sink sink, void *ctx)
{
	uint64_t state = 1;
	struct zipf z;

	zipf_init(&z, nr_ids, 0.9, &state);
	for (uint64_t i = 0; i < nr; i++)
		sink(ctx, zipf_draw(&z, &state), 1);
	zipf_release(&z);
}

/*
 * 70 of 100 requests read a page of a hot set that moves three times, 15 go on with a scan of the
 * upper half of the pages, 15 with a loop over a fifth of them; those two in runs of 1 to 16 pages.
 */
static void stream_mixed(uint64_t nr, uint32_t nr_ids, stream_sink sink, void *ctx)
{
	uint32_t hot = nr_ids / 4, loop = nr_ids / 5, scan = nr_ids / 2, scan_at = 0, loop_at = 0;
	uint64_t state = 2, i = 0;
	struct zipf z;

	zipf_init(&z, hot, 0.8, &state);
	while (i < nr) {
		uint32_t kind = rand_next(&state) % 100, run = kind < 70 ? 1 : 1 + kind % 16;

		run = run < nr - i ? run : (uint32_t)(nr - i);
		if (kind < 70) {
			sink(ctx, (uint32_t)(i * 4 / nr) * (hot / 8) + zipf_draw(&z, &state), 1);
		} else if (kind < 85) {
			run = run < scan - scan_at ? run : scan - scan_at;
			sink(ctx, nr_ids / 2 + scan_at, run);
			scan_at = (scan_at + run) % scan;
		} else {
			run = run < loop - loop_at ? run : loop - loop_at;
			sink(ctx, hot * 3 / 2 + loop_at, run);
			loop_at = (loop_at + run) % loop;
		}
		i += run;
	}
	zipf_release(&z);
}
