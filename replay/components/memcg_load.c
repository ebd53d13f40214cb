// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * memcg_load.c - a service that refaults on a machine of many cgroups, run against memcg_flush.c in
 * virtual time: what a flamegraph, a histogram of fault latencies and the age of the counts would
 * show.
 *
 * Events are Poisson: refaults (each with the statistics updates that belong to it, all on the CPU
 * it happens on), shrink_node() calls, readers of memory.stat, and the worker every 2 s after its
 * last run. Load is not even: for burst_share of the time (in spells of a second on average) the
 * rate is burst_factor as high, and lower otherwise, so that the mean stays what it is. Spells
 * shorten the interval between flushes and with it the pairs of each: they make the flushes of 4 to
 * 10 ms below the full ones.
 *
 * The service's share of time is what refaults flushed, over the CPU time it uses in all. A service
 * that is slowed down would refault less; the rates here are given, so that is left out.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "replay/components/components.h"

#define NS_PER_S 1e9

#define L(field) offsetof(struct memcg_load, field)
const struct param memcg_load_table[] = {
	{ "duration", PARAM_DOUBLE, L(duration_s), "300", 1, 1e6, "s", "virtual time", NULL },
	{ "updates", PARAM_DOUBLE, L(update_rate), "12400", 1, 1e9, "1/s",
	  "statistics updates of the machine", NULL },
	{ "per_event", PARAM_DOUBLE, L(updates_per_event), "9", 1, 1000, NULL,
	  "updates of one refault", NULL },
	{ "service_share", PARAM_DOUBLE, L(service_share), "1", 0, 1, NULL,
	  "events that are the service's", NULL },
	{ "reclaim", PARAM_DOUBLE, L(reclaim_rate), "0", 0, 1e6, "1/s", "shrink_node() calls",
	  NULL },
	{ "readers", PARAM_DOUBLE, L(reader_rate), "0", 0, 1e6, "1/s", "reads of memory.stat",
	  NULL },
	{ "service_cpus", PARAM_DOUBLE, L(service_cpus), "0.333", 0.001, 8192, "CPUs",
	  "the service uses", NULL },
	{ "burst_share", PARAM_DOUBLE, L(burst_share), "0.05", 0, 0.5, NULL,
	  "of the time that is a spell of load", NULL },
	{ "burst_factor", PARAM_DOUBLE, L(burst_factor), "3", 1, 20, NULL,
	  "rate in a spell over the mean", NULL },
	{ "seed", PARAM_U64, L(seed), "1", 0, 0, NULL, "of the random numbers", NULL },
	{ 0 }
};
#undef L

const double memcg_flush_bucket_ns[NR_FLUSH_BUCKETS] = {
	0, 10e3, 100e3, 1e6, 2e6, 4e6, 6e6, 8e6, 10e6, 12e6, 16e6, INFINITY
};

struct samples {
	double *value;
	size_t nr, room;
};

static int samples_add(struct samples *s, double value)
{
	if (s->nr == s->room) {
		size_t room = s->room ? 2 * s->room : 1024;
		double *grown = realloc(s->value, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		s->value = grown;
		s->room = room;
	}
	s->value[s->nr++] = value;
	return 0;
}

static int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Value at @share of @total samples of which those not held are 0 and lowest. @s is sorted. */
static double samples_quantile(const struct samples *s, uint64_t total, double share)
{
	uint64_t rank = (uint64_t)ceil(share * total);

	if (!total || rank <= total - s->nr)
		return 0;
	return s->value[rank - (total - s->nr) - 1];
}

static double exponential(uint64_t *rand, double rate)
{
	return rate > 0 ? -log(1 - rand_unit(rand)) / rate * NS_PER_S : INFINITY;
}

/* The run's state: when each kind of event comes next, and the sums. */
struct run {
	const struct memcg_load *load;
	struct memcg_flush *flush;
	uint32_t nr_cpus, nr_cgroups;
	uint64_t rand;
	double next_event_ns, next_reclaim_ns, next_reader_ns, next_worker_ns, next_spell_ns;
	bool burst;
	struct samples added;
	double stale_sum_s, pending_sum;
	struct memcg_load_result *result;
	void (*flushed)(void *ctx, double start_ns, double flush_ns);	/* NULL: nobody is told */
	void *flushed_ctx;
};

static double event_rate(const struct run *run)
{
	const struct memcg_load *load = run->load;
	double mean = load->update_rate / load->updates_per_event, b = load->burst_share;

	if (run->burst)
		return mean * load->burst_factor;
	return mean * (1 - b * load->burst_factor) / (1 - b);
}

static void spell_change(struct run *run, double now_ns)
{
	double b = run->load->burst_share;

	run->burst = !run->burst;
	run->next_spell_ns = now_ns + exponential(&run->rand, run->burst ? 1 : b / (1 - b));
	run->next_event_ns = now_ns + exponential(&run->rand, event_rate(run));
}

static int refault(struct run *run, double now_ns, uint32_t cgroup)
{
	struct memcg_load_result *r = run->result;
	double added_ns = memcg_flush_point(run->flush, now_ns, FLUSH_BY_REFAULT, cgroup);
	double age_s = (now_ns - memcg_flush_fresh_ns(run->flush, cgroup)) / NS_PER_S;
	int bucket = 0;

	if (added_ns > 0 && run->flushed)
		run->flushed(run->flushed_ctx, now_ns, added_ns);
	r->nr_refaults++;
	while (bucket < NR_FLUSH_BUCKETS - 1 && added_ns > memcg_flush_bucket_ns[bucket])
		bucket++;
	r->bucket[bucket]++;
	run->stale_sum_s += age_s;
	if (age_s > r->stale_max_s)
		r->stale_max_s = age_s;
	run->pending_sum += memcg_flush_pending(run->flush, cgroup);
	return added_ns > 0 ? samples_add(&run->added, added_ns) : 0;
}

static int page_event(struct run *run, double now_ns)
{
	bool service = rand_unit(&run->rand) < run->load->service_share || run->nr_cgroups == 1;
	uint32_t cpu = rand_next(&run->rand) % run->nr_cpus, cgroup = 0;
	double whole = floor(run->load->updates_per_event);
	uint32_t nr = whole + (rand_unit(&run->rand) < run->load->updates_per_event - whole);

	if (!service)
		cgroup = 1 + rand_next(&run->rand) % (run->nr_cgroups - 1);
	memcg_flush_update(run->flush, now_ns, cgroup, cpu, nr);
	run->next_event_ns = now_ns + exponential(&run->rand, event_rate(run));
	return service ? refault(run, now_ns, cgroup) : 0;
}

static double earliest(const struct run *run)
{
	double t = fmin(run->next_event_ns, run->next_worker_ns);

	t = fmin(t, fmin(run->next_reclaim_ns, run->next_reader_ns));
	return fmin(t, run->next_spell_ns);
}

static int run_until(struct run *run, double end_ns)
{
	for (;;) {
		double now_ns = earliest(run);
		int ret = 0;

		if (now_ns >= end_ns)
			return 0;
		if (now_ns == run->next_spell_ns) {
			spell_change(run, now_ns);
		} else if (now_ns == run->next_worker_ns) {
			now_ns += memcg_flush_point(run->flush, now_ns, FLUSH_BY_WORKER, 0);
			run->next_worker_ns = now_ns + 2 * NS_PER_S;
		} else if (now_ns == run->next_reclaim_ns) {
			memcg_flush_point(run->flush, now_ns, FLUSH_BY_RECLAIM, 0);
			run->next_reclaim_ns += exponential(&run->rand, run->load->reclaim_rate);
		} else if (now_ns == run->next_reader_ns) {
			memcg_flush_point(run->flush, now_ns, FLUSH_BY_READER, 0);
			run->next_reader_ns += exponential(&run->rand, run->load->reader_rate);
		} else {
			ret = page_event(run, now_ns);
		}
		if (ret)
			return ret;
	}
}

static void sum_up(struct run *run)
{
	struct memcg_load_result *r = run->result;
	double seconds = run->load->duration_s, flush_ns = 0;
	uint64_t nr_flushes = 0;

	r->counters = *memcg_flush_counters(run->flush);
	for (int caller = 0; caller < NR_FLUSH_CALLERS; caller++) {
		nr_flushes += r->counters.nr_flushes[caller];
		flush_ns += r->counters.flush_ns[caller];
	}
	r->flushes_per_s = nr_flushes / seconds;
	r->machine_cpus = flush_ns / NS_PER_S / seconds;
	r->service_share_pct = 100 * r->counters.flush_ns[FLUSH_BY_REFAULT] / NS_PER_S / seconds /
			       run->load->service_cpus;
	if (run->added.nr)
		qsort(run->added.value, run->added.nr, sizeof(double), compare_double);
	r->flush_p50_ns = run->added.nr ? samples_quantile(&run->added, run->added.nr, 0.5) : NAN;
	r->added_p99_ns = samples_quantile(&run->added, r->nr_refaults, 0.99);
	r->added_p999_ns = samples_quantile(&run->added, r->nr_refaults, 0.999);
	r->added_max_ns = run->added.nr ? run->added.value[run->added.nr - 1] : 0;
	if (r->nr_refaults) {
		r->stale_mean_s = run->stale_sum_s / r->nr_refaults;
		r->pending_mean = run->pending_sum / r->nr_refaults;
	}
}

int memcg_load_run(const struct memcg_flush_params *params, const struct memcg_load *load,
		   struct memcg_load_result *result, struct err *err)
{
	return memcg_load_run_told(params, load, NULL, NULL, result, err);
}

int memcg_load_run_told(const struct memcg_flush_params *params, const struct memcg_load *load,
			void (*flushed)(void *ctx, double start_ns, double flush_ns), void *ctx,
			struct memcg_load_result *result, struct err *err)
{
	struct run run = {
		.load = load, .rand = load->seed, .result = result, .flushed = flushed,
		.flushed_ctx = ctx,
	};
	int ret = 0;

	*result = (struct memcg_load_result){ 0 };
	if (load->burst_share * load->burst_factor >= 1)
		return err_set(err, -EINVAL,
			       "bursts of %g x for %g of the time exceed the mean rate",
			       load->burst_factor, load->burst_share);
	run.flush = memcg_flush_new(params, &ret, err);
	if (!run.flush)
		return ret;
	run.nr_cpus = params->nr_cpus;
	run.nr_cgroups = params->nr_cgroups;
	run.burst = true;
	run.next_spell_ns = INFINITY;
	if (load->burst_share > 0 && load->burst_factor > 1)
		spell_change(&run, 0);
	else
		run.burst = false;
	run.next_event_ns = exponential(&run.rand, event_rate(&run));
	run.next_reclaim_ns = exponential(&run.rand, load->reclaim_rate);
	run.next_reader_ns = exponential(&run.rand, load->reader_rate);
	run.next_worker_ns = 2 * NS_PER_S;
	ret = run_until(&run, load->duration_s * NS_PER_S);
	if (ret)
		err_set(err, ret, "no memory for the latencies of %llu refaults",
			(unsigned long long)result->nr_refaults);
	else
		sum_up(&run);
	free(run.added.value);
	memcg_flush_free(run.flush);
	return ret;
}
