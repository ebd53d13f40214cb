/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sample.h - a demand stream thinned by page: SHARDS (Waldspurger, Park, Garthwaite, Ahmad,
 * Efficient MRC construction with SHARDS, FAST 2015). A page is in the sample iff its salted hash
 * is below a threshold, so either all of its accesses are or none. Cache sizes shrink by the same
 * rate.
 */
#ifndef PAGEREEL_REPLAY_SAMPLE_H
#define PAGEREEL_REPLAY_SAMPLE_H

#include "replay/stream.h"

/* Pages of the sample are also split into groups by hash, whose spread gives the error. */
enum { SAMPLE_GROUPS = 32 };

struct sample_filter {
	uint32_t salt;
	uint32_t threshold;	/* hash < threshold: in the sample */
	bool plain_c;		/* do not use what the processor has (for tests) */
};

#define SAMPLE_HASH_FIRST 0x85ebca6bu
#define SAMPLE_HASH_SECOND 0xc2b2ae35u

/* Murmur3's finalizer: neighbouring ids must not be sampled together or in step. */
static inline uint32_t sample_hash(uint32_t page, uint32_t salt)
{
	uint32_t h = page ^ salt;

	h = (h ^ h >> 16) * SAMPLE_HASH_FIRST;
	h = (h ^ h >> 13) * SAMPLE_HASH_SECOND;
	return h ^ h >> 16;
}

/* A hash that does not depend on the one above. */
static inline uint32_t sample_group(uint32_t page, uint32_t salt)
{
	return sample_hash(page, ~salt * 0x9e3779b1u) % SAMPLE_GROUPS;
}

/* Copies those of @pages that are in the sample to @out (room for nr), returns how many. */
size_t sample_pages(const struct sample_filter *filter, const uint32_t *pages, size_t nr,
		    uint32_t *out);

static inline bool sample_has(const struct sample_filter *filter, uint32_t page)
{
	return sample_hash(page, filter->salt) < filter->threshold;
}

/* A thinned stream in memory; pages are renumbered from 0 in the order of their first access. */
struct sampled_op {
	size_t at;		/* before this access */
	uint32_t page;		/* was removed */
};

struct sampled_stream {
	uint32_t *pages;
	size_t nr, max;
	struct sampled_op *removals;
	size_t nr_removals, max_removals;
	uint8_t *group_of;	/* by renumbered page */
	uint32_t nr_pages;
	uint64_t nr_accesses;	/* of the whole stream */
};

/* 0, -ECANCELED if opts->go_on() says so, or another -errno. */
int sample_stream(const struct demand_source *source, const struct sample_filter *filter,
		  const struct curve_opts *opts, struct sampled_stream *stream, struct err *err);
void sampled_stream_release(struct sampled_stream *stream);

#endif
