// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * codec_cost.c - measured costs of compressing and decompressing one page.
 *
 * The lines are output of tests/measure/codec_cost.c (`make codec-costs`), which runs the real
 * libraries over whole pages of real files. Text: headers and documentation under /usr; binary:
 * programs and shared libraries; random and zero are the extremes. A kernel's own codecs are the
 * same algorithms without SIMD in places: LZO and LZ4 are within some 10 %, zstd level 3 as in
 * zram's default.
 *
 * Sizes of pages between the measured quantiles are interpolated; below the 5 % and above the 95 %
 * quantile they are taken as those. Which page has which size is drawn once per page and seed.
 */
#include <math.h>
#include <string.h>

#include "replay/components/components.h"

const char codec_cost_source[] =
	"liblzo2 2.10 (lzo1x_1), liblz4 1.9.4, libzstd 1.5.4 level 3; one thread of a busy 2-CPU "
	"x86-64 server, median of 7 rounds over up to 4096 pages";

const struct codec_cost codec_costs[] = {
	{ "lzo", "text", 10928, 8913, { 0.182, 0.295, 0.389, 0.482, 0.574 } },
	{ "lz4", "text", 10615, 2452, { 0.199, 0.312, 0.407, 0.504, 0.596 } },
	{ "zstd", "text", 29469, 9734, { 0.120, 0.215, 0.285, 0.354, 0.419 } },
	{ "lzo", "binary", 12117, 9915, { 0.227, 0.448, 0.618, 0.730, 0.875 } },
	{ "lz4", "binary", 12012, 2638, { 0.245, 0.492, 0.648, 0.748, 0.858 } },
	{ "zstd", "binary", 39698, 11597, { 0.140, 0.335, 0.478, 0.596, 0.703 } },
	{ "lzo", "random", 2089, 874, { 1.005, 1.005, 1.005, 1.005, 1.005 } },
	{ "lz4", "random", 2677, 620, { 1.004, 1.004, 1.004, 1.004, 1.004 } },
	{ "zstd", "random", 8267, 675, { 1.002, 1.002, 1.002, 1.002, 1.002 } },
	{ "lzo", "zero", 974, 2212, { 0.011, 0.011, 0.011, 0.011, 0.011 } },
	{ "lz4", "zero", 872, 1159, { 0.006, 0.006, 0.006, 0.006, 0.006 } },
	{ "zstd", "zero", 2506, 1291, { 0.005, 0.005, 0.005, 0.005, 0.005 } },
	{ 0 }
};

const struct codec_cost *codec_cost_find(const char *codec, const char *content)
{
	for (const struct codec_cost *c = codec_costs; c->codec; c++)
		if (!strcmp(c->codec, codec) && !strcmp(c->content, content))
			return c;
	return NULL;
}

uint32_t codec_page_bytes(const struct codec_cost *cost, uint32_t id, uint64_t seed)
{
	static const double at[] = { 0.05, 0.25, 0.5, 0.75, 0.95 };
	uint64_t state = seed * 0x9e3779b97f4a7c15ULL + id;
	double u = rand_unit(&state), ratio;
	int i = 1;

	u = fmin(fmax(u, at[0]), at[4]);
	while (u > at[i])
		i++;
	ratio = cost->ratio[i - 1] +
		(cost->ratio[i] - cost->ratio[i - 1]) * (u - at[i - 1]) / (at[i] - at[i - 1]);
	return ratio * PAGE_BYTES;
}
