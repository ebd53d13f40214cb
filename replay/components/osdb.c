// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * osdb.c - a database whose working set is about as large as the cache, run on a kernel model.
 *
 * The shape of osdb's single user test on PostgreSQL: processes start and touch their memory, of
 * which most stays idle; the tables are loaded (a burst of whole-page writes in order); then index
 * builds and updates touch pages of a working set at random, each touch with one of the backend's
 * own busy pages. Every page of the working set is equally likely, each access independent: the
 * miss ratio of a cache of C pages for W is then 1 - C / W whatever the replacement, so what
 * decides is only how many pages the kernel leaves to the cache. Real index pages are not equally
 * hot: inner nodes are hit in any case; they are part of the time that does not depend on memory.
 *
 * The working set is spread over the data (every n-th page), as an index's pages are, unless asked
 * for otherwise. Each kind of touch takes a time of its own: where a kernel's statistics are old,
 * how fast it all goes decides what reclaim sees.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "replay/components/components.h"
#include "replay/replay.h"

#define P(field) offsetof(struct osdb_params, field)
const struct param osdb_params_table[] = {
	{ "data", PARAM_BYTES, P(data_bytes), "40M", 4096, 1e12, "bytes", "tables", NULL },
	{ "working_set", PARAM_BYTES, P(working_set_bytes), "16M", 4096, 1e12, "bytes",
	  "of it, accessed at random", NULL },
	{ "last", PARAM_BOOL, P(last), "0", 0, 0, NULL,
	  "the working set is what was written last, not spread", NULL },
	{ "idle", PARAM_BYTES, P(idle_anon_bytes), "8704K", 0, 1e12, "bytes",
	  "process memory touched once", NULL },
	{ "busy", PARAM_BYTES, P(busy_anon_bytes), "4M", 4096, 1e12, "bytes",
	  "process memory touched all the time", NULL },
	{ "accesses", PARAM_COUNT, P(nr_accesses), "1000000", 0, 4e9, NULL,
	  "random accesses to the working set", NULL },
	{ "write_share", PARAM_DOUBLE, P(write_share), "0.5", 0, 1, NULL,
	  "of them that change the page", NULL },
	{ "cyclic", PARAM_BOOL, P(cyclic), "0", 0, 0, NULL,
	  "accesses in order, round and round, instead of at random", NULL },
	{ "sync", PARAM_U64, P(sync_pages), "0", 0, 4e9, "pages",
	  "the burst is written to disk each time so many are dirty; 0: it is not", NULL },
	{ "touch_ns", PARAM_DOUBLE, P(touch_ns), "1000", 0, 1e12, "ns", "touch of memory", NULL },
	{ "write_ns", PARAM_DOUBLE, P(write_ns), "1000", 0, 1e12, "ns", "write of the burst",
	  NULL },
	{ "hit_ns", PARAM_DOUBLE, P(hit_ns), "1000", 0, 1e12, "ns", "access that hits", NULL },
	{ "miss_ns", PARAM_DOUBLE, P(miss_ns), "1000", 0, 1e12, "ns", "access that misses", NULL },
	{ "seed", PARAM_U64, P(seed), "1", 0, 0, NULL, "of the random numbers", NULL },
	{ 0 }
};
#undef P

enum { BLOCK = 4096 };

struct osdb {
	const struct kernel_ops *ops;
	struct kernel_model *model;
	uint32_t page[BLOCK], run[BLOCK], task[BLOCK];
	uint8_t op[BLOCK], hit[BLOCK];
	uint64_t ts_ns[BLOCK];
	size_t nr;
	double now_ns;
	double touch_ns, step_ns;	/* of a touch of memory; of an access to a file that hits */
	double miss_more_ns;		/* how much longer one that misses takes */
	uint64_t misses_file, misses_anon;	/* since they were last taken */
	struct err *err;
};

/* The outcomes of accesses alone are told, one after the other. */
static int flush_block(struct osdb *o)
{
	struct demand_block block = { .nr = o->nr, .page = o->page, .run = o->run, .op = o->op,
				      .task = o->task, .ts_ns = o->ts_ns };
	int ret = o->ops->feed(o->model, &block, o->hit, o->err);
	const uint8_t *hit = o->hit;

	for (size_t i = 0; !ret && i < o->nr; i++) {
		if (!demand_op_is_access(o->op[i]) || *hit++ || o->op[i] == DEMAND_WRITE_WHOLE)
			continue;
		o->now_ns += o->miss_more_ns;
		if (o->op[i] == DEMAND_ANON)
			o->misses_anon++;
		else
			o->misses_file++;
	}
	o->nr = 0;
	return ret;
}

static int add_record(struct osdb *o, uint32_t page, uint32_t run, enum demand_op op)
{
	o->page[o->nr] = page;
	o->run[o->nr] = run;
	o->task[o->nr] = 1;
	o->op[o->nr] = op;
	if (op != DEMAND_FSYNC)
		o->now_ns += op == DEMAND_ANON ? o->touch_ns : o->step_ns;
	o->ts_ns[o->nr] = (uint64_t)o->now_ns;
	return ++o->nr == BLOCK || o->miss_more_ns != 0 ? flush_block(o) : 0;
}

static int touch(struct osdb *o, uint32_t page, enum demand_op op)
{
	return add_record(o, page, 1, op);
}

static int touch_range(struct osdb *o, uint32_t first, uint32_t pages, enum demand_op op)
{
	int ret = 0;

	for (uint32_t i = 0; i < pages && !ret; i++)
		ret = touch(o, first + i, op);
	return ret;
}

static int random_accesses(struct osdb *o, const struct osdb_params *p, uint32_t data_pages,
			   uint32_t busy_first, uint32_t busy_pages)
{
	uint32_t set_pages = p->working_set_bytes / PAGE_BYTES;
	uint64_t rand = p->seed;
	int ret = 0;

	o->step_ns = p->hit_ns;
	o->miss_more_ns = p->miss_ns - p->hit_ns;
	for (uint64_t i = 0; i < p->nr_accesses && !ret; i++) {
		uint64_t nth = (p->cyclic ? i : rand_next(&rand)) % set_pages;
		uint32_t page =
			p->last ? data_pages - set_pages + nth : nth * data_pages / set_pages;
		bool change = rand_unit(&rand) < p->write_share;

		ret = touch(o, busy_first + rand_next(&rand) % busy_pages, DEMAND_ANON);
		if (!ret)
			ret = touch(o, page, DEMAND_READ);
		if (!ret && change)
			ret = touch(o, page, DEMAND_WRITE);
	}
	return ret ? ret : flush_block(o);
}

static int burst(struct osdb *o, const struct osdb_params *p, uint32_t data, uint32_t busy_first,
		 uint32_t busy_pages)
{
	uint32_t sync = p->sync_pages < data ? p->sync_pages : data;
	int ret = 0;

	o->step_ns = p->write_ns;
	for (uint32_t i = 0; i < data && !ret; i++) {
		ret = touch(o, i, DEMAND_WRITE_WHOLE);
		if (!ret)
			ret = touch(o, busy_first + i % busy_pages, DEMAND_ANON);
		if (!ret && sync && (i + 1) % sync == 0)
			ret = add_record(o, i + 1 - sync, sync, DEMAND_FSYNC);
	}
	return ret ? ret : flush_block(o);
}

static int run_phases(struct osdb *o, const struct osdb_params *p, struct osdb_result *r)
{
	uint32_t data = p->data_bytes / PAGE_BYTES, idle = p->idle_anon_bytes / PAGE_BYTES;
	uint32_t busy = p->busy_anon_bytes / PAGE_BYTES;
	int ret;

	o->touch_ns = p->touch_ns;
	ret = touch_range(o, data, idle + busy, DEMAND_ANON);
	if (!ret)
		ret = flush_block(o);
	o->misses_file = o->misses_anon = 0;	/* first touches of process memory cost no seek */
	if (!ret)
		ret = burst(o, p, data, data + idle, busy);
	r->burst_misses = o->misses_file + o->misses_anon;
	o->misses_file = o->misses_anon = 0;
	if (!ret)
		ret = random_accesses(o, p, data, data + idle, busy);
	r->file_misses = o->misses_file;
	r->swap_misses = o->misses_anon;
	r->nr_accesses = p->nr_accesses;
	return ret;
}

int osdb_run(const struct kernel_ops *ops, const void *model_params, uint32_t capacity_pages,
	     const struct osdb_params *params, struct osdb_result *result, struct err *err)
{
	uint32_t data = params->data_bytes / PAGE_BYTES;
	uint32_t anon = params->idle_anon_bytes / PAGE_BYTES + params->busy_anon_bytes / PAGE_BYTES;
	const struct replay_extent extents[] = {
		{ .first_id = 0, .pages = data, .file_id = 1, .file_pages = data },
		{ .first_id = data, .pages = anon, .file_pages = UINT64_MAX },
	};
	const struct replay_context context = {
		.nr_cpus = 1, .nr_nodes = 1, .total_pages = capacity_pages,
		.limit_pages = capacity_pages, .has_swap = true,
	};
	const struct kernel_config config = {
		.capacity_pages = capacity_pages, .nr_ids = data + anon, .seed = params->seed,
		.params = model_params, .context = &context, .extents = extents,
		.nr_extents = ARRAY_SIZE(extents),
	};
	struct replay_counters counters;
	struct osdb *o;
	int ret = 0;

	*result = (struct osdb_result){ 0 };
	if (params->working_set_bytes > params->data_bytes)
		return err_set(err, -EINVAL, "the working set is larger than the data");
	o = calloc(1, sizeof(*o));
	if (!o)
		return err_set(err, -ENOMEM, "no memory for the workload");
	o->ops = ops;
	o->err = err;
	o->model = ops->create(&config, &ret, err);
	if (o->model)
		ret = run_phases(o, params, result);
	if (!ret) {
		ops->counters(o->model, &counters);
		result->swapped_out_pages = counters.swapped_out;
	}
	if (o->model)
		ops->destroy(o->model);
	free(o);
	return ret;
}
