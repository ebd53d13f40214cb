// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * memcg_flush.c - who pays for summing the per-CPU statistics of memory cgroups, and when.
 *
 * The problem. A statistic of a memcg is counted per CPU, without a lock; somebody has to add the
 * parts up. The work of a flush grows with the (cgroup, CPU) pairs that changed since the last one,
 * so with the size of the machine, while whether one is due is decided by a count of updates, and
 * whoever finds it due pays, with a spinlock held. 1f828223b799 (5.15) put such a point into every
 * refault: on 96 CPUs a page fault now and then adds up 10 000 pairs, 10 ms of system time.
 *
 *	update side				flush side
 *	__mod_memcg_lruvec_state() ...		workingset_refault(), shrink_node(),
 *	  per-CPU count, each 32 (64) add	memory.stat, a worker every 2 s:
 *	  to the threshold's count		  over the threshold? take the lock, and
 *	  cgroup_rstat_updated(): the pair	  for each CPU walk the pairs linked there
 *	  is linked into its CPU's tree
 *
 * Observations.
 *  1. The interval between flushes is 32 * (cpus + 1) / update rate: it grows with the CPUs, so on
 *     a large machine nearly every pair has changed meanwhile, and a flush costs nearly all of
 *     them.
 *  2. Pairs are not linked by memory statistics alone: up to 6.15 the scheduler's CPU time
 *     accounting (cgroup_base_stat_cputime_account_end()) links a cgroup wherever it has run, and
 *     does not count towards the threshold. Few updates thus meet many pairs: P = cpus * cgroups *
 *     (1 - exp(-s t / cgroups)) for s switches a second on each CPU after t seconds.
 *  3. flush = a + k * P. One CPU flushes at a time.
 *
 * The policies, with the functions they follow:
 *   5.15   mem_cgroup_flush_stats(): threshold > online CPUs, trylock (the loser returns), flush of
 *          the root, threshold = 0. In every refault, every shrink_node, memory.stat; the worker
 *          too asks the threshold.
 *   5.18   mem_cgroup_flush_stats_delayed() in refaults: only when the last flush is more than 4 s
 *          ago, that is, when the worker (now unconditional) is late by a period.
 *   6.6    mem_cgroup_flush_stats_ratelimited(): the same test; batch 64; loser returns.
 *   6.8    memcg_vmstats_needs_flush(): updates > 64 * CPUs counted per memcg with its ancestors;
 *          flushes the memcg's subtree; concurrent flushers wait. Refaults ratelimited as in 6.6.
 *   6.18   shrink_node too is ratelimited (since 6.12), and each subsystem has its own updated tree
 *          (6.16, approx.): the scheduler's marks no longer cost a memory flush anything.
 *   async  the worker alone; none: nobody.
 *
 * Approximations. The hierarchy is flat: a nested one adds its inner cgroups to the pairs, at most
 * doubling k. Scheduler marks are a Poisson process, uniform over the cgroups, and drawn when a
 * flush asks for them; that is exact for such a process. 6.5 and later yield the lock between CPUs;
 * here waiters wait for the whole flush, which makes 6.8's waits an upper bound. Threads that spin
 * do so without slowing the holder.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/components/components.h"

#define NS_PER_S 1e9
#define FLUSH_PERIOD_NS (2 * NS_PER_S)	/* FLUSH_TIME */

const char *const memcg_flush_policy_names[] = {
	[MEMCG_FLUSH_NONE] = "none",
	[MEMCG_FLUSH_ASYNC] = "async",
	[MEMCG_FLUSH_5_15] = "5.15",
	[MEMCG_FLUSH_5_18] = "5.18",
	[MEMCG_FLUSH_6_6] = "6.6",
	[MEMCG_FLUSH_6_8] = "6.8",
	[MEMCG_FLUSH_6_18] = "6.18",
	NULL
};

#define P(field) offsetof(struct memcg_flush_params, field)
const struct param memcg_flush_params_table[] = {
	{ "policy", PARAM_ENUM, P(policy), "5.15", 0, 0, NULL, "kernel whose flushing is followed",
	  memcg_flush_policy_names },
	{ "cpus", PARAM_U64, P(nr_cpus), "96", 1, 8192, "CPUs", "online CPUs", NULL },
	{ "cgroups", PARAM_U64, P(nr_cgroups), "110", 1, 100000, "cgroups", "below the root",
	  NULL },
	{ "base_ns", PARAM_DOUBLE, P(flush_base_ns), "1600", 0, 1e9, "ns",
	  "a flush that finds nothing", NULL },
	{ "k", PARAM_DOUBLE, P(pair_ns), "1000", 0, 1e6, "ns", "one (cgroup, cpu) pair", NULL },
	{ "switches", PARAM_DOUBLE, P(switch_rate), "2000", 0, 1e6, "1/s",
	  "cgroups marked by the scheduler, per CPU", NULL },
	{ "seed", PARAM_U64, P(seed), "1", 0, 0, NULL, "of the random numbers", NULL },
	{ 0 }
};
#undef P

/* What sets one policy apart. */
struct policy {
	uint32_t batch;			/* MEMCG_CHARGE_BATCH: 32, 64 since 6.0 */
	bool points;			/* somebody but the worker flushes */
	bool refault_ratelimited;	/* only when the last flush is 4 s old */
	bool reclaim_ratelimited;
	bool worker, worker_asks;	/* the worker asks for the threshold first */
	bool per_memcg;			/* threshold and flush of the subtree */
	bool waits;			/* concurrent flushers wait; otherwise they return */
	bool own_tree;			/* the scheduler's marks are elsewhere */
};

static const struct policy policies[] = {
	[MEMCG_FLUSH_NONE] = { .batch = 32 },
	[MEMCG_FLUSH_ASYNC] = { .batch = 32, .worker = true },
	[MEMCG_FLUSH_5_15] = { .batch = 32, .points = true, .worker = true, .worker_asks = true },
	[MEMCG_FLUSH_5_18] = { .batch = 32, .points = true, .worker = true,
			       .refault_ratelimited = true },
	[MEMCG_FLUSH_6_6] = { .batch = 64, .points = true, .worker = true,
			      .refault_ratelimited = true },
	[MEMCG_FLUSH_6_8] = { .batch = 64, .points = true, .worker = true, .per_memcg = true,
			      .refault_ratelimited = true, .waits = true },
	[MEMCG_FLUSH_6_18] = { .batch = 64, .points = true, .worker = true, .per_memcg = true,
			       .refault_ratelimited = true, .reclaim_ratelimited = true,
			       .waits = true, .own_tree = true },
};
_Static_assert(ARRAY_SIZE(policies) == NR_MEMCG_FLUSH_POLICIES, "a row per policy");

struct memcg_flush {
	struct memcg_flush_params params;
	const struct policy *policy;
	uint64_t rand;
	double busy_until_ns;		/* a flush is under way */
	double last_flush_ns;		/* of the root: flush_next_time, flush_last_time */
	uint64_t threshold;		/* stats_flush_threshold (global policies) */
	uint32_t *cpu_updates;		/* [cpu]: stats_updates (global policies) */
	uint16_t *pair_updates;		/* [cgroup][cpu]: of per-memcg policies, below a batch */
	uint16_t *root_updates;		/* [cpu] */
	uint64_t *memcg_updates;	/* [cgroup]; [nr_cgroups]: the root */
	uint64_t *pending;		/* [cgroup]: updates not summed yet */
	double *fresh_ns;		/* [cgroup] */
	double *pair_ns;		/* [cgroup][cpu]: when it was last flushed */
	bool *pair_updated;		/* [cgroup][cpu]: linked by a memory statistic */
	struct memcg_flush_counters counters;
};

void memcg_flush_free(struct memcg_flush *f)
{
	if (!f)
		return;
	free(f->cpu_updates);
	free(f->pair_updates);
	free(f->root_updates);
	free(f->memcg_updates);
	free(f->pending);
	free(f->fresh_ns);
	free(f->pair_ns);
	free(f->pair_updated);
	free(f);
}

struct memcg_flush *memcg_flush_new(const struct memcg_flush_params *params, int *code,
				    struct err *err)
{
	size_t nr_pairs = params->nr_cpus * params->nr_cgroups;
	struct memcg_flush *f = calloc(1, sizeof(*f));

	if (f) {
		f->params = *params;
		f->policy = &policies[params->policy];
		f->rand = params->seed;
		f->cpu_updates = calloc(params->nr_cpus, sizeof(*f->cpu_updates));
		f->root_updates = calloc(params->nr_cpus, sizeof(*f->root_updates));
		f->pair_updates = calloc(nr_pairs, sizeof(*f->pair_updates));
		f->memcg_updates = calloc(params->nr_cgroups + 1, sizeof(*f->memcg_updates));
		f->pending = calloc(params->nr_cgroups, sizeof(*f->pending));
		f->fresh_ns = calloc(params->nr_cgroups, sizeof(*f->fresh_ns));
		f->pair_ns = calloc(nr_pairs, sizeof(*f->pair_ns));
		f->pair_updated = calloc(nr_pairs, sizeof(*f->pair_updated));
	}
	if (!f || !f->cpu_updates || !f->root_updates || !f->pair_updates || !f->memcg_updates ||
	    !f->pending || !f->fresh_ns || !f->pair_ns || !f->pair_updated) {
		memcg_flush_free(f);
		*code = err_set(err, -ENOMEM,
				"no memory for the statistics of %zu (cgroup, cpu) pairs",
				nr_pairs);
		return NULL;
	}
	return f;
}

/* memcg_vmstats_needs_flush() */
static bool memcg_needs_flush(const struct memcg_flush *f, uint32_t memcg)
{
	return f->memcg_updates[memcg] > (uint64_t)f->policy->batch * f->params.nr_cpus;
}

/* 6.8: the update counts for the memcg and for the root, each batched per CPU. */
static void count_per_memcg(struct memcg_flush *f, uint16_t *updates, uint32_t memcg, uint32_t nr)
{
	uint32_t sum = *updates + nr;

	if (sum >= f->policy->batch) {
		if (!memcg_needs_flush(f, memcg))
			f->memcg_updates[memcg] += sum;
		sum = 0;
	}
	*updates = sum;
}

/* 5.15 to 6.7: each full batch on a CPU adds one to the global threshold's count. */
static void count_globally(struct memcg_flush *f, uint32_t cpu, uint32_t nr)
{
	uint32_t sum = f->cpu_updates[cpu] + nr;

	f->threshold += sum / f->policy->batch;
	f->cpu_updates[cpu] = sum % f->policy->batch;
}

void memcg_flush_update(struct memcg_flush *f, double now_ns, uint32_t cgroup, uint32_t cpu,
			uint32_t nr)
{
	size_t pair = (size_t)cgroup * f->params.nr_cpus + cpu;

	f->counters.nr_updates += nr;
	f->pending[cgroup] += nr;
	f->pair_updated[pair] = true;
	if (f->policy->per_memcg) {
		count_per_memcg(f, &f->pair_updates[pair], cgroup, nr);
		count_per_memcg(f, &f->root_updates[cpu], f->params.nr_cgroups, nr);
	} else {
		count_globally(f, cpu, nr);
	}
}

/* Walks the pairs of one cgroup: returns how many are linked, and unlinks them. */
static uint64_t flush_cgroup(struct memcg_flush *f, double now_ns, uint32_t cgroup)
{
	double rate = f->policy->own_tree ? 0 : f->params.switch_rate / f->params.nr_cgroups;
	size_t first = (size_t)cgroup * f->params.nr_cpus;
	double since_ns = -1, marked = 0;
	uint64_t nr = 0;

	for (size_t pair = first; pair < first + f->params.nr_cpus; pair++) {
		if (f->pair_ns[pair] != since_ns) {
			since_ns = f->pair_ns[pair];
			marked = 1 - exp(-rate * (now_ns - since_ns) / NS_PER_S);
		}
		nr += f->pair_updated[pair] || (marked > 0 && rand_unit(&f->rand) < marked);
		f->pair_updated[pair] = false;
		f->pair_ns[pair] = now_ns;
		f->pair_updates[pair] = 0;
	}
	f->memcg_updates[cgroup] = 0;
	f->pending[cgroup] = 0;
	f->fresh_ns[cgroup] = now_ns;
	return nr;
}

static uint64_t flush_root(struct memcg_flush *f, double now_ns)
{
	uint64_t nr = 0;

	for (uint32_t cgroup = 0; cgroup < f->params.nr_cgroups; cgroup++)
		nr += flush_cgroup(f, now_ns, cgroup);
	memset(f->root_updates, 0, f->params.nr_cpus * sizeof(*f->root_updates));
	f->memcg_updates[f->params.nr_cgroups] = 0;
	f->last_flush_ns = now_ns;
	f->threshold = 0;
	return nr;
}

/* The flush itself, lock included. */
static double flush_now(struct memcg_flush *f, double now_ns, enum memcg_flush_caller caller,
			uint32_t memcg)
{
	double wait_ns = f->busy_until_ns > now_ns ? f->busy_until_ns - now_ns : 0, work_ns;
	uint64_t nr;

	if (wait_ns > 0 && !f->policy->waits) {
		f->counters.nr_skipped++;
		return 0;
	}
	if (memcg == f->params.nr_cgroups)
		nr = flush_root(f, now_ns);
	else
		nr = flush_cgroup(f, now_ns, memcg);
	work_ns = f->params.flush_base_ns + f->params.pair_ns * nr;
	f->busy_until_ns = now_ns + wait_ns + work_ns;
	f->counters.nr_pairs += nr;
	f->counters.nr_flushes[caller]++;
	f->counters.flush_ns[caller] += wait_ns + work_ns;
	return wait_ns + work_ns;
}

/* Whether the policy lets this caller ask for the threshold at all. */
static bool may_flush(const struct memcg_flush *f, double now_ns, enum memcg_flush_caller caller)
{
	bool late = now_ns - f->last_flush_ns > 2 * FLUSH_PERIOD_NS;

	switch (caller) {
	case FLUSH_BY_REFAULT:
		return f->policy->points && (late || !f->policy->refault_ratelimited);
	case FLUSH_BY_RECLAIM:
		return f->policy->points && (late || !f->policy->reclaim_ratelimited);
	case FLUSH_BY_READER:
		return f->policy->points;
	case FLUSH_BY_WORKER:
		return f->policy->worker;
	default:
		return false;
	}
}

double memcg_flush_point(struct memcg_flush *f, double now_ns, enum memcg_flush_caller caller,
			 uint32_t cgroup)
{
	bool whole = !f->policy->per_memcg || caller == FLUSH_BY_RECLAIM ||
		     caller == FLUSH_BY_WORKER;
	uint32_t memcg = whole ? f->params.nr_cgroups : cgroup;
	bool due;

	if (!may_flush(f, now_ns, caller))
		return 0;
	if (caller == FLUSH_BY_WORKER && !f->policy->worker_asks)
		due = true;
	else if (f->policy->per_memcg)
		due = memcg_needs_flush(f, memcg);
	else
		due = f->threshold > f->params.nr_cpus;
	return due ? flush_now(f, now_ns, caller, memcg) : 0;
}

double memcg_flush_fresh_ns(const struct memcg_flush *f, uint32_t cgroup)
{
	return f->fresh_ns[cgroup];
}

uint64_t memcg_flush_pending(const struct memcg_flush *f, uint32_t cgroup)
{
	return f->pending[cgroup];
}

const struct memcg_flush_counters *memcg_flush_counters(const struct memcg_flush *f)
{
	return &f->counters;
}

/*
 * Fill: NR_FILE_PAGES (or the swap cache), the list's size, PGPGIN. Eviction: the same three down,
 * so three. Activation: two list sizes. Refault: WORKINGSET_REFAULT. PGSCAN and PGSTEAL come per
 * batch.
 */
uint64_t memcg_flush_updates(uint64_t fills, uint64_t evictions, uint64_t activations,
			     uint64_t refaults)
{
	return 3 * fills + 3 * evictions + 2 * activations + refaults;
}
