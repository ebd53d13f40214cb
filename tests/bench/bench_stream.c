// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bench_stream.c - what a page event costs to pack and to unpack, and its bytes. Prints lines of
 * "NAME VALUE UNIT".
 */
#include <stdlib.h>
#include <time.h>

#include "schema/schema.h"

enum { NR_CHUNKS = 100 };

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
	double pack_ns = 0, unpack_ns = 0, from, nr = (double)NR_CHUNKS * PAGE_CHUNK_EVENTS;
	uint64_t seed = 1, bytes = 0;
	struct page_chunk chunk;

	for (uint64_t c = 0; c < NR_CHUNKS; c++) {
		for (uint64_t i = 0; i < PAGE_CHUNK_EVENTS; i++)
			events[i] = make(c * PAGE_CHUNK_EVENTS + i, &seed);
		from = now_ns();
		for (uint64_t i = 0; i < PAGE_CHUNK_EVENTS; i++)
			page_packer_add(packer, &events[i]);
		page_packer_take(packer, &chunk);
		pack_ns += now_ns() - from;
		bytes += chunk.data_bytes;
		from = now_ns();
		page_chunk_decode(chunk.data, chunk.data_bytes, events, chunk.nr_events, NULL);
		unpack_ns += now_ns() - from;
		page_chunk_release(&chunk);
	}
	printf("%s_pack %.1f ns/event\n%s_unpack %.1f ns/event\n%s_bytes %.2f bytes/event\n",
	       name, pack_ns / nr, name, unpack_ns / nr, name, bytes / nr);
	page_packer_free(packer);
	free(events);
}

int main(void)
{
	bench("random", random_read);
	bench("sequential", sequential_read);
	bench("missing", missing_read);
	return 0;
}
