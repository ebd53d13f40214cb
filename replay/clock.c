// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * clock.c - how much of the recorded time was waiting for the disk.
 *
 * Timers of a kernel model (the flush of memcg statistics every 2 s, the flusher) run on recorded
 * time. At another size the same accesses take another time: a read that hits takes a microsecond,
 * one that misses waits for the disk. The record has a time for each request, when it is done; so
 * the gap before a request that waited is longer than that before one that did not, by two orders
 * of magnitude on any real device, and a histogram of gaps has two humps.
 *
 * The threshold between the humps is where the variance between the two classes is largest (Otsu, A
 * threshold selection method from gray-level histograms, 1979), on the logarithm of the gap. A wait
 * is the difference of the classes' medians. If there is one hump, if the humps are closer than a
 * factor of four, if one class has less than one request in a hundred, or if several tasks take
 * turns (then a gap is not one request's), nothing is known and the clock stays the recorded one.
 *
 * Approximations: one wait for all requests, whatever their length and the load; a request that met
 * a page still being read is in either class.
 */
#include <math.h>
#include <string.h>

#include "replay/replay.h"

enum { STEPS = 4, NR_BUCKETS = 40 * STEPS, MIN_SHARE = 100, MIN_RATIO = 4 };

struct gaps {
	uint64_t nr[NR_BUCKETS];	/* by STEPS * log2 of the gap in ns */
	uint64_t first_ns[NR_BUCKETS];	/* the shortest gap of each bucket */
	uint64_t gap_ns;		/* the last one, and its bucket */
	int bucket;
	uint64_t total, alone;		/* requests; those of the same task as the one before */
	uint64_t last_ns;
	uint32_t last_task;
	bool any;
};

static uint64_t bucket_ns(int bucket)
{
	return (uint64_t)exp2((double)bucket / STEPS);
}

static void init_buckets(struct gaps *g)
{
	for (int i = 0; i < NR_BUCKETS; i++)
		g->first_ns[i] = (uint64_t)ceil(exp2((double)i / STEPS));
}

static int bucket_of(const struct gaps *g, uint64_t ns)
{
	int bucket;

	if (ns >= 1ULL << NR_BUCKETS / STEPS)
		return NR_BUCKETS - 1;
	bucket = ns ? STEPS * (63 - __builtin_clzll(ns)) : 0;
	for (int i = 1; i < STEPS; i++)
		bucket += ns >= g->first_ns[(bucket & -STEPS) + i];
	return bucket;
}

static void count_gap(struct gaps *g, uint64_t ns)
{
	if (ns != g->gap_ns)
		g->bucket = bucket_of(g, ns);
	g->gap_ns = ns;
	g->nr[g->bucket]++;
}

static void count_block(struct gaps *g, const struct demand_block *block)
{
	for (size_t i = 0; i < block->nr; i++) {
		enum demand_op op = block->op ? (enum demand_op)block->op[i] : DEMAND_READ;
		uint32_t task = block->task ? block->task[i] : 0;

		if (op != DEMAND_READ && op != DEMAND_FAULT)
			continue;
		g->total++;
		if (g->any && task == g->last_task && block->ts_ns[i] >= g->last_ns) {
			count_gap(g, block->ts_ns[i] - g->last_ns);
			g->alone++;
		}
		g->any = true;
		g->last_task = task;
		g->last_ns = block->ts_ns[i];
	}
}

/* The first bucket of the upper class. */
static int threshold_bucket(const struct gaps *g)
{
	double sum = 0, low_sum = 0, best = 0;
	uint64_t low = 0;
	int threshold = 0;

	for (int i = 0; i < NR_BUCKETS; i++)
		sum += i * (double)g->nr[i];
	for (int i = 1; i < NR_BUCKETS; i++) {
		double w, difference;

		low += g->nr[i - 1];
		low_sum += (i - 1) * (double)g->nr[i - 1];
		if (!low || low == g->alone)
			continue;
		w = (double)low * (double)(g->alone - low);
		difference = low_sum / (double)low - (sum - low_sum) / (double)(g->alone - low);
		if (w * difference * difference > best) {
			best = w * difference * difference;
			threshold = i;
		}
	}
	return threshold;
}

/* How many gaps buckets @from to @to (excluded) have, and the median of those. */
static uint64_t class_median(const struct gaps *g, int from, int to, uint64_t *median_ns)
{
	uint64_t nr = 0, seen = 0;

	for (int i = from; i < to; i++)
		nr += g->nr[i];
	*median_ns = 0;
	for (int i = from; i < to && !*median_ns; i++) {
		seen += g->nr[i];
		if (2 * seen >= nr)
			*median_ns = bucket_ns(i);
	}
	return nr;
}

static void judge(const struct gaps *g, struct replay_waits *waits)
{
	int threshold = threshold_bucket(g);
	uint64_t hit_ns, wait_ns, hits, waited;

	if (!threshold || g->alone < g->total - g->total / 10)
		return;
	hits = class_median(g, 0, threshold, &hit_ns);
	waited = class_median(g, threshold, NR_BUCKETS, &wait_ns);
	if (hits < g->alone / MIN_SHARE || waited < g->alone / MIN_SHARE ||
	    wait_ns < MIN_RATIO * hit_ns)
		return;
	waits->threshold_ns = bucket_ns(threshold);
	waits->wait_ns = wait_ns - hit_ns;
}

int replay_waits_find(const struct demand_source *source, struct replay_waits *waits,
		      struct err *err)
{
	struct gaps gaps = { 0 };
	struct demand_block block;
	void *cursor;
	int ret = source->open(source->ctx, DEMAND_COL_TIME | DEMAND_COL_TASK, &cursor,
			       err);

	memset(waits, 0, sizeof(*waits));
	init_buckets(&gaps);
	if (ret)
		return ret;
	while ((ret = source->next(cursor, &block, err)) == 1) {
		if (!block.ts_ns)
			continue;
		count_block(&gaps, &block);
	}
	source->close(cursor);
	if (!ret)
		judge(&gaps, waits);
	return ret;
}
