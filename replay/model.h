/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * model.h - the interface of a textbook replacement model. The double licence permits models of any
 * licence outside this tree.
 *
 * A textbook model sees page ids only: dense uint32_t, all below nr_ids, never a pointer or a hash.
 * It gets them in batches, so that the loop is inside the model and nothing is called per access.
 * The engine owns decoding, compulsory misses, intervals and threads; a model owns its cache state.
 * The same accesses, configuration and seed give the same counters on every machine.
 */
#ifndef PAGEREEL_MODEL_H
#define PAGEREEL_MODEL_H

#include <stdint.h>
#include <stddef.h>

#include "base/base.h"

struct model;		/* each model's own; begins with nothing in common */

struct model_config {
	uint32_t capacity_pages;	/* at least 1 */
	uint32_t nr_ids;		/* every id is below this */
	uint64_t nr_accesses;		/* of the whole stream, 0 if unknown: sketches, ageing */
	uint64_t seed;
	const void *params;		/* the model's options struct, parsed by its params table */
};

/*
 * What a model counts; the engine adds what it knows itself. A counter that a model has no notion
 * of stays UINT64_MAX ("not applicable": NULL in SQL).
 */
struct model_counters {
	uint64_t hits;
	uint64_t misses;
	uint64_t evictions;	/* pages that left the cache for want of room, not by remove() */
	uint64_t scanned;	/* victims looked at: hand steps, tails examined */
	uint64_t rotated;	/* looked at and given another round */
	uint64_t activated;	/* promoted: to a main, protected or frequent queue */
	uint64_t deactivated;	/* demoted from one */
	uint64_t ghost_hits;	/* misses found in a ghost list (refaults within reach) */
	uint64_t resident_pages;	/* now; never above capacity_pages */
	uint64_t metadata_bytes;	/* memory allocated by the model */
};

#define MODEL_COUNTER_NONE UINT64_MAX

enum model_flags {
	MODEL_STACK = 1 << 0,		/* inclusion property: more memory, never more misses */
	MODEL_RANDOMIZED = 1 << 1,	/* result depends on the seed */
};

/* A batch of accesses. hit, unless NULL, receives 1 or 0 per access. */
struct model_batch {
	const uint32_t *pages;
	uint8_t *hit;
	size_t nr;
};

struct model_ops {
	const char *name;	/* as typed after -m */
	const char *title;	/* a few words for `pagereel models` */
	const char *source;	/* the paper, with year */
	unsigned int flags;
	const struct param *params;	/* NULL: none */
	size_t params_bytes;		/* of the options struct */

	/* NULL and *err set on failure (-ENOMEM, -EINVAL in *code). Allocates all it will need. */
	struct model *(*create)(const struct model_config *config, int *code, struct err *err);
	void (*access)(struct model *model, const struct model_batch *batch);
	/* Truncation, not eviction: @page leaves cache and ghosts. Unknown pages are fine. */
	void (*remove)(struct model *model, uint32_t page);
	/* Writes the counters so far, all fields. */
	void (*counters)(const struct model *model, struct model_counters *out);
	void (*destroy)(struct model *model);
};

#endif
