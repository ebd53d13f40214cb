/* SPDX-License-Identifier: GPL-2.0-or-later */
/* synth_tree.h - inside synth*.c: the tree a SPEC becomes. */
#ifndef PAGEREEL_CAPTURE_SYNTH_TREE_H
#define PAGEREEL_CAPTURE_SYNTH_TREE_H

#include "capture/synth.h"

enum { SYNTH_MAX_CHILDREN = 32, SYNTH_MAX_DEPTH = 16, SYNTH_MAX_NODES = 1024 };

enum synth_via { SYNTH_VIA_READ, SYNTH_VIA_MMAP };

/* What every generator has; each generator's own struct begins with one. */
struct synth_leaf {
	/* parameters */
	uint64_t file_bytes;
	const char *file_name;	/* NULL: a file of its own */
	const char *task_name;	/* NULL: the SPEC's task */
	uint64_t nr_accesses;	/* 0: length of one pass, or the group's limit */
	uint64_t io_bytes;
	double write_pct;
	bool write_whole;
	int via;		/* enum synth_via */
	uint64_t think_ns;
	bool think_random;	/* exponential with that mean, else fixed */
	uint64_t seed;		/* 0: derived from the SPEC's seed and the place in it */
	/* derived */
	uint64_t nr_units;	/* requests that cover the file once */
	uint32_t io_pages;
	uint32_t last_pages;	/* of the last unit */
	uint32_t file_index, task_index;
	uint64_t rng;
	uint64_t nr_left;	/* requests until the end; UINT64_MAX: no end of its own */
};

/*
 * A generator is one row and one function: next() gives the number of the unit (below nr_units) to
 * ask for, or UINT64_MAX when a pass ends by itself. start() readies a pass; the random state goes
 * on over passes.
 */
struct synth_generator {
	const char *name;
	const char *alias;	/* may be NULL */
	const char *title;
	const struct param *params;	/* beyond synth_common_params */
	size_t bytes;			/* of its struct, a struct synth_leaf first */
	void (*start)(struct synth_leaf *leaf);
	uint64_t (*next)(struct synth_leaf *leaf);
};

extern const struct synth_generator *const synth_generators[];	/* NULL-terminated */

enum synth_kind { SYNTH_LEAF, SYNTH_MIX, SYNTH_PHASES };

struct synth_node {
	enum synth_kind kind;
	/* leaf */
	const struct synth_generator *gen;
	struct synth_leaf *leaf;
	/* mix and phases */
	struct synth_node *child[SYNTH_MAX_CHILDREN];
	double weight[SYNTH_MAX_CHILDREN];
	bool ended[SYNTH_MAX_CHILDREN];
	int nr_children;
	int current;		/* phase being run */
	uint64_t rng;		/* of the mix's choice */
	/* group parameters */
	uint64_t nr_accesses;	/* 0: until the parts end */
	uint64_t nr_times;
	uint64_t nr_left, nr_times_left;
};

/* One top-level SPEC. */
struct synth_stream {
	struct synth_node *root;
	uint32_t task_index;
	uint64_t clock_ns;
};

struct synth {
	struct synth_stream *stream;
	int nr_streams;
	struct synth_file *file;
	uint32_t nr_files;
	char (*task)[16];
	uint32_t nr_tasks;
	int nr_nodes;
	uint64_t seed;
	/* strings that parameters point to */
	char **text;
	int nr_texts;
};

/* Parses one SPEC and appends it as a stream. The text is copied. */
int synth_parse(struct synth *synth, const char *spec, struct err *err);

void synth_node_free(struct synth_node *node);

/* Readies @node for its first access. */
void synth_node_start(struct synth_node *node);

/* The leaf whose turn it is and the unit it asks for; NULL: the stream has ended. */
struct synth_leaf *synth_node_next(struct synth_node *node, uint64_t *unit);

static inline double synth_uniform(uint64_t *rng)	/* [0, 1) */
{
	return (double)(rand_next(rng) >> 11) * 0x1p-53;
}

/* Exactly uniform below @limit: multiply-shift with rejection (Lemire 2019). */
static inline uint64_t synth_below(uint64_t *rng, uint64_t limit)
{
	unsigned __int128 product = (unsigned __int128)rand_next(rng) * limit;

	if ((uint64_t)product < limit) {
		uint64_t floor = -limit % limit;

		while ((uint64_t)product < floor)
			product = (unsigned __int128)rand_next(rng) * limit;
	}
	return product >> 64;
}

#endif
