// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * kernel_counters.c - all counters of the kernel models on random streams of every kind of record,
 * a line each: what a change that is to change no result is compared by (same_counters.sh).
 *
 *	kernel_counters [STREAMS]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/replay.h"

enum { NR_RECORDS = 12000, NR_EXTENTS = 7 };

static const char *const variants[] = {
	"linux-6.18", "linux-6.18:stale_stats=0,readahead=model,max_order=4,read_ahead=256K",
	"linux-6.18:readahead=model,max_order=9,read_ahead=4M", "linux-6.18:swap=on",
	"linux-6.18:readahead=random,stale_stats=3ms", "linux-6.18:readahead=off,batch=5",
	"linux-6.12", "linux-6.12:readahead=model,max_order=7,dirty_expire=20ms,dirty_wakeup=2ms",
	"linux-6.1", "linux-6.1:readahead=model,max_order=2,stale_stats=10ms",
	"linux-6.1:swap=on,swappiness=150,max_order=0",
	"linux-mglru", "linux-mglru:readahead=model,max_order=5,stale_stats=5ms",
	"linux-mglru:kswapd=on", "linux-6.12:kswapd=on,readahead=model", "linux-mglru-6.1",
	"linux-mglru-6.1:readahead=model,max_order=9,read_ahead=2M,dirty_expire=10ms",
};

struct stream {
	uint32_t page[NR_RECORDS], run[NR_RECORDS], task[NR_RECORDS];
	uint8_t op[NR_RECORDS];
	uint64_t ts_ns[NR_RECORDS];
	struct replay_extent extents[NR_EXTENTS];
	uint32_t nr_ids;
};

static uint32_t below(uint64_t *state, uint32_t n)
{
	return (uint32_t)(rand_next(state) >> 33) % n;
}

static void make_extents(struct stream *s, uint64_t *state)
{
	s->nr_ids = 0;
	for (int i = 0; i < NR_EXTENTS; i++) {
		struct replay_extent *e = &s->extents[i];

		*e = (struct replay_extent){
			.first_id = s->nr_ids,
			.pages = 1 + below(state, 1000) * (1 + below(state, 8)),
			.file_id = 1 + (uint32_t)i % 5,
			.first_index = below(state, 2) ? 0 : below(state, 3000),
			.reading = (enum file_reading)(below(state, 2) ? READING_AHEAD :
							below(state, 5)),
		};
		if (i >= 5)	/* a second extent of a file reads as the first */
			e->reading = s->extents[i - 5].reading;
		if (i >= 5)
			e->first_index = 100000;
		e->file_pages = below(state, 4) ? e->first_index + e->pages : UINT64_MAX;
		s->nr_ids += e->pages;
	}
}

/* One of a few places that move on, or anywhere; mostly reads. */
static void make_records(struct stream *s, uint64_t *state)
{
	static const uint8_t ops[] = {
		DEMAND_WRITE, DEMAND_WRITE_WHOLE, DEMAND_FAULT, DEMAND_MAP, DEMAND_TRUNCATE,
		DEMAND_READAHEAD, DEMAND_FSYNC, DEMAND_CHARGE, DEMAND_UNCHARGE, DEMAND_LIMIT,
		DEMAND_EXIT, DEMAND_ANON,
	};
	uint32_t place[4] = { 0 }, reads_pct = 50 + below(state, 50);
	uint32_t longest = 1 + below(state, 70);
	uint64_t now_ns = 1000;

	for (size_t i = 0; i < NR_RECORDS; i++) {
		uint32_t k = below(state, 4), left;

		if (below(state, k + 2) == 0 || place[k] >= s->nr_ids)
			place[k] = below(state, 3) ? below(state, s->nr_ids) :
				   below(state, s->nr_ids / 8 + 1);
		left = s->nr_ids - place[k];
		s->page[i] = place[k];
		s->run[i] = 1 + (below(state, 3) ? 0 : below(state, longest));
		s->run[i] = s->run[i] < left ? s->run[i] : left;
		s->op[i] = below(state, 100) < reads_pct ? DEMAND_READ :
			   ops[below(state, ARRAY_SIZE(ops))];
		if (s->op[i] >= DEMAND_CHARGE && s->op[i] <= DEMAND_LIMIT)
			s->run[i] = s->op[i] == DEMAND_CHARGE ? 1 : 1 + below(state, 5);
		s->task[i] = k % 3;
		s->ts_ns[i] = now_ns += below(state, 3000);
		place[k] += s->run[i] + (below(state, 20) == 0);
	}
}

static void print_counters(const struct kernel_ops *ops, struct kernel_model *model)
{
	struct replay_cost costs[64];
	struct replay_counters c;
	int nr;

	ops->counters(model, &c);
	c.metadata_bytes = 0;
	for (size_t i = 0; i < sizeof(c) / sizeof(uint64_t); i++)
		printf(" %" PRId64, ((const int64_t *)&c)[i]);
	nr = ops->costs(model, costs, ARRAY_SIZE(costs));
	for (int i = 0; i < nr && i < (int)ARRAY_SIZE(costs); i++)
		printf(" %" PRIu64, costs[i].count);
	printf("\n");
}

static int replay(const struct stream *s, const struct replay_model *m, uint32_t capacity_pages)
{
	const struct replay_context context = {
		.max_folio_pages = capacity_pages % 2 ? 16 : 1, .other_charge_pages = 40,
		.limit_pages = UINT64_MAX, .read_ahead_pages = 32, .nr_cpus = 2, .nr_nodes = 1,
	};
	const struct kernel_config config = {
		.capacity_pages = capacity_pages, .nr_ids = s->nr_ids, .params = m->params,
		.context = &context, .extents = s->extents, .nr_extents = NR_EXTENTS,
	};
	uint64_t sum = 0;
	struct err err = { "" };
	int code = 0;
	struct kernel_model *model = m->kernel->create(&config, &code, &err);

	printf("%s:%s %u", m->name, m->params_text, capacity_pages);
	if (!model)
		return printf(" %s\n", err.text);
	for (size_t i = 0; i < NR_RECORDS && !code; i += 1000) {
		const struct demand_block block = {
			.nr = 1000, .page = s->page + i, .run = s->run + i, .op = s->op + i,
			.task = s->task + i, .ts_ns = s->ts_ns + i,
		};
		static uint8_t hit[1000 * 128];

		memset(hit, 0, sizeof(hit));
		code = m->kernel->feed(model, &block, hit, &err);
		for (size_t k = 0; k < sizeof(hit); k++)
			sum = sum * 31 + hit[k];
	}
	printf(" %d %" PRIx64, code, sum);
	print_counters(m->kernel, model);
	m->kernel->destroy(model);
	return 0;
}

int main(int argc, char **argv)
{
	static struct stream s;
	struct replay_models models = { 0 };
	struct err err = { "" };
	uint32_t nr_streams = argc > 1 ? (uint32_t)atoi(argv[1]) : 10;

	for (size_t i = 0; i < ARRAY_SIZE(variants); i++)
		if (replay_models_add(&models, variants[i], &err))
			return fprintf(stderr, "%s\n", err.text), 1;
	for (uint32_t k = 1; k <= nr_streams; k++) {
		uint64_t state = k;

		make_extents(&s, &state);
		make_records(&s, &state);
		for (size_t i = 0; i < models.nr; i++)
			for (uint32_t pct = 5; pct < 100; pct = pct * 3 + 1)
				replay(&s, &models.models[i], s.nr_ids * pct / 100 + 100);
	}
	replay_models_release(&models);
	return 0;
}
