// SPDX-License-Identifier: GPL-2.0-or-later
/* test_models.c - every textbook model against its brute-force oracle and the conservation laws. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "oracles/adaptive.h"
#include "oracles/basic.h"
#include "oracles/queues.h"

enum { MAX_OPS = 3000, MAX_IDS = 400 };

/* What an oracle need not say: the model is free there, or has no such counter. */
enum { NO_EVICTIONS_AFTER_REMOVE = 1 };

struct subject {
	const char *model;
	void (*run)(struct oracle *oracle);
	unsigned int flags;
};

static const struct subject subjects[] = {
	{ "fifo", oracle_fifo },
	{ "lru", oracle_lru },
	{ "clock", oracle_clock },
	{ "random", oracle_random },
	{ "lfu", oracle_lfu },
	{ "slru", oracle_slru },
	{ "2q", oracle_2q },
	{ "arc", oracle_arc },
	{ "car", oracle_car },
	{ "clock-pro", oracle_clockpro },
	{ "lirs", oracle_lirs },
	{ "s3fifo", oracle_s3fifo },
	{ "sieve", oracle_sieve },
	{ "wtinylfu", oracle_wtinylfu },
	{ "opt", oracle_opt, NO_EVICTIONS_AFTER_REMOVE },
};

static const struct model_ops *find_model(const char *name)
{
	for (const struct model_ops *const *ops = textbook_models; *ops; ops++)
		if (!strcmp((*ops)->name, name))
			return *ops;
	fail_msg("no model '%s'", name);
	return NULL;
}

static uint32_t below(uint64_t *state, uint32_t limit)
{
	return rand_next(state) % limit;
}

/* Skewed, looping, shifting and repeating accesses with a truncation now and then. */
static size_t make_trace(uint64_t *state, struct trace_op *ops, uint32_t nr_ids, bool removes)
{
	size_t nr = 1 + below(state, below(state, 8) ? 400 : MAX_OPS);
	uint32_t kind = below(state, 4), loop = 1 + below(state, nr_ids);

	for (size_t i = 0; i < nr; i++) {
		uint32_t a = below(state, nr_ids), b = below(state, nr_ids);

		if (!below(state, 50))
			kind = below(state, 4);
		ops[i].page = kind == 0 ? a : kind == 1 ? (a < b ? a : b) : kind == 2 ? i % loop :
			(i / 40 * 3 + a % 7) % nr_ids;
		if (i && !below(state, 10))
			ops[i].page = ops[i - 1 - below(state, i < 5 ? i : 5)].page;
		ops[i].remove = removes && !below(state, 30);
	}
	return nr;
}

struct run {
	uint8_t hit[MAX_OPS];
	struct model_counters counters;
	uint64_t nr_removed;	/* resident pages that remove() took */
};

static void model_run(const struct model_ops *ops, const void *params, const struct trace_op *trace,
		      size_t nr, uint32_t capacity, uint32_t nr_ids, uint64_t seed,
		      uint64_t *state, struct run *run)
{
	const struct model_config config = {
		.capacity_pages = capacity, .nr_ids = nr_ids, .nr_accesses = nr, .seed = seed,
		.params = params,
	};
	struct model_counters counters;
	uint32_t pages[MAX_OPS];
	struct err err = { "" };
	struct model *model;
	int code = 0;

	model = ops->create(&config, &code, &err);
	if (!model)
		fail_msg("%s: %s", ops->name, err.text);
	run->nr_removed = 0;
	for (size_t i = 0; i < nr;) {
		size_t batch = 0, limit = 1 + below(state, 70);

		if (trace[i].remove) {
			ops->counters(model, &counters);
			run->nr_removed += counters.resident_pages;
			ops->remove(model, trace[i++].page);
			ops->counters(model, &counters);
			run->nr_removed -= counters.resident_pages;
			continue;
		}
		while (batch < limit && i + batch < nr && !trace[i + batch].remove) {
			pages[batch] = trace[i + batch].page;
			batch++;
		}
		ops->access(model, &(struct model_batch){ pages, run->hit + i, batch });
		i += batch;
		ops->counters(model, &counters);
		assert_true(counters.resident_pages <= capacity);
	}
	ops->counters(model, &run->counters);
	ops->destroy(model);
}

static void check_counter(const struct model_ops *ops, const char *what, uint64_t got,
			  uint64_t want)
{
	if (got != MODEL_COUNTER_NONE && got != want)
		fail_msg("%s: %s is %lu, the oracle says %lu", ops->name, what, got, want);
}

static void check_against_oracle(const struct subject *subject, const struct model_ops *ops,
				 const struct trace_op *trace, size_t nr, struct oracle *oracle,
				 const struct run *run, bool removes)
{
	for (size_t i = 0; i < nr; i++)
		if (!trace[i].remove && run->hit[i] != oracle->hit[i])
			fail_msg("%s of %u pages, op %zu of %zu (page %u): hit %u, oracle %u",
				 ops->name, oracle->capacity, i, nr, trace[i].page, run->hit[i],
				 oracle->hit[i]);
	if (removes && (subject->flags & NO_EVICTIONS_AFTER_REMOVE))
		return;
	check_counter(ops, "evictions", run->counters.evictions, oracle->evictions);
	check_counter(ops, "resident", run->counters.resident_pages, oracle->resident);
	check_counter(ops, "rotated", run->counters.rotated, oracle->rotated);
	check_counter(ops, "activated", run->counters.activated, oracle->activated);
	check_counter(ops, "deactivated", run->counters.deactivated, oracle->deactivated);
	check_counter(ops, "ghost hits", run->counters.ghost_hits, oracle->ghost_hits);
}

/* accesses = hits + misses; what came in is there, was evicted or was taken away. */
static void check_conservation(const struct model_ops *ops, const struct trace_op *trace, size_t nr,
			       const struct run *run)
{
	const struct model_counters *c = &run->counters;
	uint64_t nr_accesses = 0, nr_hits = 0;

	for (size_t i = 0; i < nr; i++) {
		nr_accesses += !trace[i].remove;
		nr_hits += !trace[i].remove && run->hit[i];
	}
	check_counter(ops, "hits", c->hits, nr_hits);
	check_counter(ops, "misses", c->misses, nr_accesses - nr_hits);
	check_counter(ops, "fills", c->misses, c->evictions + run->nr_removed + c->resident_pages);
}

static void random_params(const struct model_ops *ops, uint64_t *state, void *params)
{
	if (!ops->params)
		return;
	assert_int_equal(params_defaults(ops->params, params, NULL), 0);
	for (const struct param *p = ops->params; p->name && below(state, 2); p++) {
		double share = below(state, 1001) / 1000.0;

		if (p->type == PARAM_BOOL)
			*(bool *)((char *)params + p->offset) = below(state, 2);
		else if (p->type == PARAM_PCT)
			*(double *)((char *)params + p->offset) = p->max || p->min ?
				p->min + share * (p->max - p->min) : 100 * share;
		else if (p->type == PARAM_U64 && p->max < 64)
			*(uint64_t *)((char *)params + p->offset) =
				p->min + below(state, p->max - p->min + 1);
	}
}

static void check_subject(const struct subject *subject, int nr_streams, bool removes)
{
	static struct trace_op trace[MAX_OPS];
	static uint8_t oracle_hit[MAX_OPS];
	static struct run run;
	const struct model_ops *ops = find_model(subject->model);
	uint64_t params[32], state = 42;

	for (int i = 0; i < nr_streams; i++) {
		uint32_t nr_ids = 1 + below(&state, below(&state, 6) ? 40 : MAX_IDS);
		uint32_t capacity = 1 + below(&state, nr_ids + 3);
		size_t nr = make_trace(&state, trace, nr_ids, removes);
		uint64_t seed = rand_next(&state);
		struct oracle oracle = {
			.ops = trace, .nr_ops = nr, .capacity = capacity, .nr_ids = nr_ids,
			.seed = seed, .params = params, .hit = oracle_hit,
		};

		random_params(ops, &state, params);
		subject->run(&oracle);
		model_run(ops, params, trace, nr, capacity, nr_ids, seed, &state, &run);
		check_against_oracle(subject, ops, trace, nr, &oracle, &run, removes);
		check_conservation(ops, trace, nr, &run);
	}
}

static void models_equal_their_oracles(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(subjects); i++)
		check_subject(&subjects[i], 1500, false);
}

static void models_equal_their_oracles_with_truncation(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(subjects); i++)
		check_subject(&subjects[i], 1500, true);
}

static void every_model_has_an_oracle(void **state)
{
	for (const struct model_ops *const *ops = textbook_models; *ops; ops++) {
		bool found = false;

		for (size_t i = 0; i < ARRAY_SIZE(subjects); i++)
			found = found || !strcmp(subjects[i].model, (*ops)->name);
		if (!found)
			fail_msg("'%s' has no oracle", (*ops)->name);
	}
}

static void opt_is_never_worse_and_stacks_never_get_worse_with_size(void **state)
{
	static struct trace_op trace[MAX_OPS];
	static struct run run;
	uint64_t params[32], rand = 7;

	for (int i = 0; i < 60; i++) {
		uint32_t nr_ids = 2 + below(&rand, 200);
		size_t nr = make_trace(&rand, trace, nr_ids, false);
		uint64_t before[64] = { 0 }, least = 0;

		for (uint32_t capacity = 1; capacity <= nr_ids; capacity += 1 + nr_ids / 10) {
			model_run(find_model("opt"), NULL, trace, nr, capacity, nr_ids, 1, &rand,
				  &run);
			least = run.counters.misses;
			for (int m = 0; textbook_models[m]; m++) {
				const struct model_ops *ops = textbook_models[m];

				if (ops->params)
					params_defaults(ops->params, params, NULL);
				model_run(ops, params, trace, nr, capacity, nr_ids, 1, &rand, &run);
				assert_true(run.counters.misses >= least);
				if ((ops->flags & MODEL_STACK) && before[m])
					assert_true(run.counters.misses <= before[m]);
				before[m] = run.counters.misses;
			}
		}
	}
}

static void no_model_takes_more_than_24_bytes_a_page(void **state)
{
	enum { IDS = 100000 };
	static const uint32_t capacities[] = { 1, IDS / 100, IDS / 2, IDS, 10 * IDS };
	uint64_t params[32];

	for (const struct model_ops *const *ops = textbook_models; *ops; ops++) {
		if ((*ops)->params)
			params_defaults((*ops)->params, params, NULL);
		for (size_t i = 0; i < ARRAY_SIZE(capacities); i++) {
			const struct model_config config = {
				.capacity_pages = capacities[i], .nr_ids = IDS,
				.nr_accesses = 10 * IDS, .params = params,
			};
			struct model_counters counters;
			struct model *model;
			int code;

			model = (*ops)->create(&config, &code, NULL);
			assert_non_null(model);
			(*ops)->counters(model, &counters);
			if (counters.metadata_bytes > 24ULL * IDS + 65536)
				fail_msg("%s at %u pages: %.1f bytes a page", (*ops)->name,
					 capacities[i], (double)counters.metadata_bytes / IDS);
			(*ops)->destroy(model);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(models_equal_their_oracles),
		cmocka_unit_test(models_equal_their_oracles_with_truncation),
		cmocka_unit_test(every_model_has_an_oracle),
		cmocka_unit_test(no_model_takes_more_than_24_bytes_a_page),
		cmocka_unit_test(opt_is_never_worse_and_stacks_never_get_worse_with_size),
	};

	return cmocka_run_group_tests_name("models", tests, NULL, NULL);
}
