// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bench_stream.c - what a page event costs to pack and to unpack, and its bytes; what an access of
 * the demand stream costs to derive, to store and to read back from a database. Prints lines of
 * "NAME VALUE UNIT". The best chunk or pass counts: the machine may be busy. Usage: bench_stream
 * [DIR] (for a database of some 150 MB; default /tmp)
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "schema/schema.h"

enum { NR_CHUNKS = 100, NR_ACCESSES = 20000000, NR_PAGES = 1 << 21, NR_PASSES = 5 };

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static struct page_event random_read(uint64_t i, uint64_t *seed)
{
	return (struct page_event){
		.ts_ns = i * 1300 + rand_next(seed) % 400, .page_index = rand_next(seed) % 65536,
		.pages = 1, .file_id = 1, .pid = 4711, .op = PAGE_OP_READ,
	};
}

static struct page_event sequential_read(uint64_t i, uint64_t *seed)
{
	struct page_event e = random_read(i, seed);

	e.page_index = i % 65536;
	return e;
}

/* Random reads that miss: add, get_pages, and an eviction by kswapd or the task. */
static struct page_event missing_read(uint64_t i, uint64_t *seed)
{
	static const uint8_t ops[] = { PAGE_OP_DELETE, PAGE_OP_ADD, PAGE_OP_READ };
	struct page_event e = random_read(i, seed);

	e.op = ops[i % 3];
	e.page_index = i / 3 * 40503 % 65536;
	if (e.op != PAGE_OP_READ)
		e.pfn = 1 + rand_next(seed) % 6000000;
	if (e.op == PAGE_OP_DELETE)
		e.flags = PAGE_EV_IN_RECLAIM;
	return e;
}

static void bench(const char *name, struct page_event (*make)(uint64_t i, uint64_t *seed))
{
	struct page_event *events = malloc(sizeof(*events) * PAGE_CHUNK_EVENTS);
	struct page_packer *packer = page_packer_new(1, 0, 0);
	double pack_ns = 1e18, unpack_ns = 1e18, from, took, nr = PAGE_CHUNK_EVENTS;
	uint64_t seed = 1, bytes = 0;
	struct page_chunk chunk;

	for (uint64_t c = 0; c < NR_CHUNKS; c++) {
		for (uint64_t i = 0; i < PAGE_CHUNK_EVENTS; i++)
			events[i] = make(c * PAGE_CHUNK_EVENTS + i, &seed);
		from = now_ns();
		for (uint64_t i = 0; i < PAGE_CHUNK_EVENTS; i++)
			page_packer_add(packer, &events[i]);
		page_packer_take(packer, &chunk);
		took = now_ns() - from;
		pack_ns = took < pack_ns ? took : pack_ns;
		bytes += chunk.data_bytes;
		from = now_ns();
		page_chunk_decode(chunk.data, chunk.data_bytes, events, chunk.nr_events, NULL);
		took = now_ns() - from;
		unpack_ns = took < unpack_ns ? took : unpack_ns;
		page_chunk_release(&chunk);
	}
	printf("%s_pack %.1f ns/event\n%s_unpack %.1f ns/event\n%s_bytes %.2f bytes/event\n",
	       name, pack_ns / nr, name, unpack_ns / nr, name,
	       bytes / nr / NR_CHUNKS);
	page_packer_free(packer);
	free(events);
}

static int fill(struct store *store, struct err *err)
{
	const struct capture_info info = { .source = "synth", .input = "bench", .has_hits = true };
	struct page_packer *packer;
	struct page_chunk chunk;
	int64_t capture_id;
	uint64_t seed = 1;
	int code = store_capture_begin(store, &info, &capture_id, err);

	packer = page_packer_new(capture_id, 0, 0);
	for (uint64_t i = 0; !code && i < NR_ACCESSES; i++) {
		struct page_event e = random_read(i, &seed);

		e.page_index = rand_next(&seed) % NR_PAGES;
		if (!page_packer_add(packer, &e) && i + 1 < NR_ACCESSES)
			continue;
		page_packer_take(packer, &chunk);
		code = store_page_chunk(store, &chunk, err);
		page_chunk_release(&chunk);
	}
	page_packer_free(packer);
	return code;
}

/* ns an access of one pass over the whole stream. */
static double read_pass(struct store *store, const struct demand_info *info, unsigned int columns,
			struct err *err)
{
	struct demand_reader *reader;
	struct demand_block block;
	volatile uint64_t sum = 0;
	double from = now_ns();

	if (demand_reader_open(store, info->stream_id, columns, &reader, err))
		return -1;
	while (demand_reader_next(reader, &block, err) == 1)
		sum += block.page[block.nr - 1];
	demand_reader_close(reader);
	return (now_ns() - from) / info->nr_accesses;
}

static int bench_demand(struct store *store, struct err *err)
{
	double from, best[2] = { 1e18, 1e18 }, took;
	struct demand_info info;
	uint64_t bytes;
	int code = store_begin(store, err);

	if (!code)
		code = fill(store, err);
	if (!code)
		code = store_commit(store, err);
	bytes = store_file_bytes(store);
	from = now_ns();
	if (!code)
		code = demand_stream_get(store, 0, &info, err);
	if (code)
		return code;
	printf("demand_derive %.1f ns/access\ndemand_bytes %.2f bytes/access\n",
	       (now_ns() - from) / NR_ACCESSES,
	       (store_file_bytes(store) - bytes) / (double)NR_ACCESSES);
	for (int i = 0; i < NR_PASSES; i++) {
		took = read_pass(store, &info, 0, err);
		best[0] = took < best[0] ? took : best[0];
		took = read_pass(store, &info, DEMAND_COL_TIME | DEMAND_COL_TASK, err);
		best[1] = took < best[1] ? took : best[1];
	}
	printf("demand_read %.2f ns/access\ndemand_read_with_time %.2f ns/access\n", best[0],
	       best[1]);
	return 0;
}

int main(int argc, char **argv)
{
	struct err err = { "" };
	struct store *store;
	char path[512];
	int code;

	bench("random", random_read);
	bench("sequential", sequential_read);
	bench("missing", missing_read);
	snprintf(path, sizeof(path), "%s/bench_stream.%d.db", argc > 1 ? argv[1] : "/tmp",
		 getpid());
	code = store_create(&store, path, 0, &err);
	if (!code) {
		code = bench_demand(store, &err);
		store_close(store, NULL);
		unlink(path);
	}
	if (code)
		fprintf(stderr, "bench_stream: %s\n", err.text);
	return code ? 1 : 0;
}
