// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * synth_gen.c - the generators of synthetic access streams.
 *
 * A generator draws units: requests of io= bytes, numbered from 0 in its file. Which page a rank is
 * (rank 0 the hottest) would be the same everywhere if popular pages lay side by side, and
 * readahead would then profit from skew as no real file lets it. So zipf and hotspot scatter their
 * ranks over the file by a seeded permutation unless scatter=off.
 *
 * The permutation is a Feistel network of four rounds over the next power of four, walked on until
 * it lands below the number of units (Black and Rogaway, Ciphers with arbitrary finite domains,
 * CT-RSA 2002). It is a bijection by construction, takes no memory, and on average under four
 * steps.
 *
 * zipf draws rank k of 1..n with probability proportional to k^-theta, exactly, by
 * rejection-inversion (Hörmann and Derflinger, Rejection-inversion to generate variates from
 * monotone discrete distributions, ACM TOMACS 6(3), 1996): the histogram is covered by the integral
 * of x^-theta, which inverts in closed form; a draw is accepted when it lies below its bar. More
 * than nine in ten first draws are accepted, whatever n; no table of n entries, no setup of n
 * steps. The approximation of YCSB's generator (Gray 1994) is off by several per cent in the second
 * and third rank; this is not. log and exp come from libm: another libm may place a draw in 10^15
 * differently.
 */
#include <math.h>
#include <string.h>

#include "capture/synth_tree.h"

static const char *const vias[] = { "read", "mmap", NULL };

#define COMMON(field) offsetof(struct synth_leaf, field)
const struct param synth_common_params[] = {
	{ "file", PARAM_BYTES, COMMON(file_bytes), "64M", 1, 0x1p54, "bytes", "size of the file" },
	{ "name", PARAM_STRING, COMMON(file_name), NULL, 0, 0, NULL,
	  "file name; generators that give the same name share the file (default: a file of its "
	  "own)" },
	{ "task", PARAM_STRING, COMMON(task_name), NULL, 0, 0, NULL,
	  "name of the task that asks (default: one task per SPEC)" },
	{ "accesses", PARAM_COUNT, COMMON(nr_accesses), "0", 0, 0, "requests",
	  "number of requests (0: as many as cover the file once; in a group with accesses=: no "
	  "end)" },
	{ "io", PARAM_BYTES, COMMON(io_bytes), "4K", 4096, 0x1p30, "bytes",
	  "bytes a request asks for, a multiple of 4K" },
	{ "write", PARAM_PCT, COMMON(write_pct), "0", 0, 100, "%", "share of requests that write" },
	{ "whole", PARAM_BOOL, COMMON(write_whole), "on", 0, 0, NULL,
	  "writes cover their pages wholly, so that filling them costs no read" },
	{ "via", PARAM_ENUM, COMMON(via), "read", 0, 0, NULL, "read(2), or faults of a mapping",
	  vias },
	{ "think", PARAM_NS, COMMON(think_ns), "1us", 0, 3.6e12, "ns",
	  "virtual time from one request of the task to the next" },
	{ "jitter", PARAM_BOOL, COMMON(think_random), "off", 0, 0, NULL,
	  "think times are exponentially distributed with that mean, else fixed" },
	{ "seed", PARAM_U64, COMMON(seed), "0", 0, 0, NULL,
	  "of its random numbers (0: from --seed and the place in the SPEC)" },
	{ 0 },
};

#define GROUP(field) offsetof(struct synth_node, field)
const struct param synth_group_params[] = {
	{ "accesses", PARAM_COUNT, GROUP(nr_accesses), "0", 0, 0, "requests",
	  "ends the group after so many requests (0: when its parts have ended)" },
	{ "times", PARAM_COUNT, GROUP(nr_times), "1", 1, 1e12, NULL, "how often the group is run" },
	{ 0 },
};

/* ---- permutation ----------------------------------------------------------------------------- */

struct permutation {
	uint64_t key[4];
	uint64_t limit;		/* of the domain 0 .. limit - 1 */
	unsigned int half_bits;
};

static void permutation_init(struct permutation *p, uint64_t limit, uint64_t seed)
{
	unsigned int bits = limit > 1 ? 64 - __builtin_clzll(limit - 1) : 1;

	p->limit = limit;
	p->half_bits = (bits + 1) / 2;
	for (size_t i = 0; i < ARRAY_SIZE(p->key); i++)
		p->key[i] = rand_next(&seed);
}

static inline uint64_t permutation_at(const struct permutation *p, uint64_t value)
{
	uint64_t mask = (1ULL << p->half_bits) - 1;

	do {
		uint64_t left = value >> p->half_bits, right = value & mask;

		for (size_t i = 0; i < ARRAY_SIZE(p->key); i++) {
			uint64_t mixed = (right ^ p->key[i]) * 0x9e3779b97f4a7c15ULL;
			uint64_t next =
				left ^ ((mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9ULL >> 24 & mask);

			left = right;
			right = next;
		}
		value = left << p->half_bits | right;
	} while (value >= p->limit);
	return value;
}

/*
 * ---- sequential, loop, shuffle, uniform ---------------------------------------------------------
 */

struct walk {
	struct synth_leaf leaf;
	uint64_t stride;	/* units */
	uint64_t position, lane;
	struct permutation order;
	bool seeded;
};

static void walk_start(struct synth_leaf *leaf)
{
	struct walk *w = (struct walk *)leaf;

	w->position = 0;
	w->lane = 0;
	if (!w->seeded)
		permutation_init(&w->order, leaf->nr_units, rand_next(&leaf->rng));
	w->seeded = true;
}

/* 0, stride, 2 stride, ...; 1, 1 + stride, ...: every unit once a pass. */
static uint64_t seq_next(struct synth_leaf *leaf)
{
	struct walk *w = (struct walk *)leaf;
	uint64_t unit = w->position;

	if (unit >= leaf->nr_units)
		return UINT64_MAX;
	w->position += w->stride;
	if (w->position >= leaf->nr_units && w->lane + 1 < w->stride &&
	    w->lane + 1 < leaf->nr_units)
		w->position = ++w->lane;
	return unit;
}

static uint64_t loop_next(struct synth_leaf *leaf)
{
	struct walk *w = (struct walk *)leaf;
	uint64_t unit = seq_next(leaf);

	if (unit != UINT64_MAX)
		return unit;
	w->position = 0;
	w->lane = 0;
	return seq_next(leaf);
}

static uint64_t shuffle_next(struct synth_leaf *leaf)
{
	struct walk *w = (struct walk *)leaf;
	uint64_t unit = permutation_at(&w->order, w->position);

	w->position = w->position + 1 == leaf->nr_units ? 0 : w->position + 1;
	return unit;
}

static uint64_t uniform_next(struct synth_leaf *leaf)
{
	return synth_below(&leaf->rng, leaf->nr_units);
}

static const struct param walk_params[] = {
	{ "stride", PARAM_COUNT, offsetof(struct walk, stride), "1", 1, 0x1p40, "requests",
	  "units from one request to the next; the pass comes back for those left out" },
	{ 0 },
};

/*
 * ---- zipf
 * ----------------------------------------------------------------------------------------
 */

struct zipf {
	struct synth_leaf leaf;
	double theta;
	bool scatter;
	struct permutation place;
	bool seeded;
	double h_first, h_last;	/* H(1.5) - 1 and H(n + 0.5): what is inverted */
	double shift;			/* acceptance without evaluating the bar */
};

/* log(1 + x) / x and (exp(x) - 1) / x, by their series near 0. */
static inline double log1p_ratio(double x)
{
	return fabs(x) > 1e-8 ? log1p(x) / x : 1 - x * (0.5 - x * (1 / 3.0 - 0.25 * x));
}

static inline double expm1_ratio(double x)
{
	return fabs(x) > 1e-8 ? expm1(x) / x : 1 + x * 0.5 * (1 + x / 3.0 * (1 + 0.25 * x));
}

/* The integral of x^-theta from 1: (x^(1 - theta) - 1) / (1 - theta), log x at theta = 1. */
static inline double zipf_integral(double theta, double x)
{
	double log_x = log(x);

	return expm1_ratio((1 - theta) * log_x) * log_x;
}

static inline double zipf_inverse(double theta, double area)
{
	double t = area * (1 - theta);

	return exp(log1p_ratio(t < -1 ? -1 : t) * area);
}

static inline double zipf_bar(double theta, double x)
{
	return exp(-theta * log(x));
}

static void zipf_start(struct synth_leaf *leaf)
{
	struct zipf *z = (struct zipf *)leaf;
	double theta = z->theta;

	if (z->seeded)
		return;
	z->seeded = true;
	permutation_init(&z->place, leaf->nr_units, rand_next(&leaf->rng));
	z->h_first = zipf_integral(theta, 1.5) - 1;
	z->h_last = zipf_integral(theta, (double)leaf->nr_units + 0.5);
	z->shift = 2 - zipf_inverse(theta, zipf_integral(theta, 2.5) - zipf_bar(theta, 2));
}

/* Rank from 1. */
static uint64_t zipf_rank(struct zipf *z)
{
	for (;;) {
		double u = z->h_last + synth_uniform(&z->leaf.rng) * (z->h_first - z->h_last);
		double x = zipf_inverse(z->theta, u);
		double k = floor(x + 0.5);

		if (k < 1)
			k = 1;
		else if (k > (double)z->leaf.nr_units)
			k = (double)z->leaf.nr_units;
		if (k - x <= z->shift ||
		    u >= zipf_integral(z->theta, k + 0.5) - zipf_bar(z->theta, k))
			return (uint64_t)k;
	}
}

static uint64_t zipf_next(struct synth_leaf *leaf)
{
	struct zipf *z = (struct zipf *)leaf;
	uint64_t rank = zipf_rank(z) - 1;

	return z->scatter ? permutation_at(&z->place, rank) : rank;
}

static const struct param zipf_params[] = {
	{ "theta", PARAM_DOUBLE, offsetof(struct zipf, theta), "0.9", 1e-6, 20, NULL,
	  "skew: the k-th popular unit is asked for in proportion to 1/k^theta" },
	{ "scatter", PARAM_BOOL, offsetof(struct zipf, scatter), "on", 0, 0, NULL,
	  "popular units lie all over the file, else at its start in order of popularity" },
	{ 0 },
};

/* ---- hotspot --------------------------------------------------------------------------------- */

struct hotspot {
	struct synth_leaf leaf;
	double hot_pct, prob_pct;
	bool scatter;
	struct permutation place;
	bool seeded;
	uint64_t nr_hot;
};

static void hotspot_start(struct synth_leaf *leaf)
{
	struct hotspot *h = (struct hotspot *)leaf;

	if (h->seeded)
		return;
	h->seeded = true;
	permutation_init(&h->place, leaf->nr_units, rand_next(&leaf->rng));
	h->nr_hot = (uint64_t)ceil((double)leaf->nr_units * h->hot_pct / 100);
	if (h->nr_hot < 1)
		h->nr_hot = 1;
	if (h->nr_hot > leaf->nr_units)
		h->nr_hot = leaf->nr_units;
}

static uint64_t hotspot_next(struct synth_leaf *leaf)
{
	struct hotspot *h = (struct hotspot *)leaf;
	bool hot = synth_uniform(&leaf->rng) * 100 < h->prob_pct || h->nr_hot == leaf->nr_units;
	uint64_t rank = hot ? synth_below(&leaf->rng, h->nr_hot) :
			      h->nr_hot + synth_below(&leaf->rng, leaf->nr_units - h->nr_hot);

	return h->scatter ? permutation_at(&h->place, rank) : rank;
}

static const struct param hotspot_params[] = {
	{ "hot", PARAM_PCT, offsetof(struct hotspot, hot_pct), "20", 0, 100, "%",
	  "share of the file that is hot" },
	{ "prob", PARAM_PCT, offsetof(struct hotspot, prob_pct), "80", 0, 100, "%",
	  "share of the requests that go to the hot part" },
	{ "scatter", PARAM_BOOL, offsetof(struct hotspot, scatter), "on", 0, 0, NULL,
	  "hot units lie all over the file, else at its start" },
	{ 0 },
};

/*
 * ---- the rows
 * ------------------------------------------------------------------------------------
 */

static const struct synth_generator generator_seq = {
	.name = "seq",
	.alias = "sequential",
	.title = "every unit once, in order; ends after one pass",
	.params = walk_params,
	.bytes = sizeof(struct walk),
	.start = walk_start,
	.next = seq_next,
};

static const struct synth_generator generator_loop = {
	.name = "loop",
	.title = "every unit in order, again and again",
	.params = walk_params,
	.bytes = sizeof(struct walk),
	.start = walk_start,
	.next = loop_next,
};

static const struct synth_generator generator_shuffle = {
	.name = "shuffle",
	.title = "every unit once a pass, in a random order that each pass repeats",
	.bytes = sizeof(struct walk),
	.start = walk_start,
	.next = shuffle_next,
};

static const struct synth_generator generator_uniform = {
	.name = "uniform",
	.title = "each unit with the same probability",
	.bytes = sizeof(struct synth_leaf),
	.next = uniform_next,
};

static const struct synth_generator generator_zipf = {
	.name = "zipf",
	.title = "Zipf's law: few units are popular, most are rare",
	.params = zipf_params,
	.bytes = sizeof(struct zipf),
	.start = zipf_start,
	.next = zipf_next,
};

static const struct synth_generator generator_hotspot = {
	.name = "hotspot",
	.title = "a hot part and a cold part, uniform in each",
	.params = hotspot_params,
	.bytes = sizeof(struct hotspot),
	.start = hotspot_start,
	.next = hotspot_next,
};

const struct synth_generator *const synth_generators[] = {
	&generator_seq,
	&generator_loop,
	&generator_shuffle,
	&generator_uniform,
	&generator_zipf,
	&generator_hotspot,
	NULL,
};

const struct synth_generator *synth_generator(int index)
{
	return index >= 0 && index < (int)ARRAY_SIZE(synth_generators) ? synth_generators[index] :
									  NULL;
}

const char *synth_generator_name(const struct synth_generator *gen)
{
	return gen->name;
}

const char *synth_generator_title(const struct synth_generator *gen)
{
	return gen->title;
}

const char *synth_generator_alias(const struct synth_generator *gen)
{
	return gen->alias;
}

const struct param *synth_generator_params(const struct synth_generator *gen)
{
	return gen->params;
}
