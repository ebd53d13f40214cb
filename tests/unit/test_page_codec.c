// SPDX-License-Identifier: GPL-2.0-or-later
/* test_page_codec.c - page events survive packing; damage is refused or harmless; file ids. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <streamvbyte.h>

#include "schema/schema.h"
#include "schema/svb.h"

struct shape {
	const char *name;
	void (*make)(struct page_event *event, uint32_t i, uint64_t *seed);
};

static uint64_t any_u64(uint64_t *seed)
{
	static const uint64_t edges[] = { 0, 1, 255, 256, 65535, 65536, UINT32_MAX,
					  UINT32_MAX + 1ULL, INT64_MAX, 1ULL << 63, UINT64_MAX };
	uint64_t r = rand_next(seed);

	if (r % 4 == 0)
		return edges[r / 4 % ARRAY_SIZE(edges)];
	return rand_next(seed) >> r / 4 % 64;
}

static void make_anything(struct page_event *e, uint32_t i, uint64_t *seed)
{
	*e = (struct page_event){
		.ts_ns = any_u64(seed), .page_index = any_u64(seed), .pfn = any_u64(seed),
		.pages = any_u64(seed), .file_id = any_u64(seed), .pid = any_u64(seed),
		.flags = any_u64(seed), .op = rand_next(seed) % NR_PAGE_OPS,
	};
}

static void make_random_reads(struct page_event *e, uint32_t i, uint64_t *seed)
{
	*e = (struct page_event){
		.ts_ns = 1000000000ULL * 86400 + i * 1250ULL + rand_next(seed) % 200,
		.page_index = rand_next(seed) % 65536, .pages = 1, .file_id = 7, .pid = 4711,
		.op = PAGE_OP_READ,
	};
}

static void make_sequential_reads(struct page_event *e, uint32_t i, uint64_t *seed)
{
	make_random_reads(e, i, seed);
	e->page_index = i;
}

static void make_misses_under_kswapd(struct page_event *e, uint32_t i, uint64_t *seed)
{
	static const uint8_t ops[] = { PAGE_OP_ADD, PAGE_OP_READ, PAGE_OP_DELETE,
				       PAGE_OP_ACTIVATE };
	uint64_t loop = i / 4;

	*e = (struct page_event){
		.ts_ns = i * 1000ULL + rand_next(seed) % 999,
		.page_index = loop * 40503 % 65536, .pages = 1 << i / 32 % 4,
		.file_id = 3 + i / 1000 % 3, .pid = i % 4 == 2 ? 40 : 4711,
		.op = ops[i % 4], .flags = i % 4 == 2 ? PAGE_EV_IN_RECLAIM : 0,
	};
	if (e->op != PAGE_OP_READ)
		e->pfn = 100000 + rand_next(seed) % 6000000;
}

/* Most values repeat, now and then one does not: what sparse columns are for. */
static void make_rare_changes(struct page_event *e, uint32_t i, uint64_t *seed)
{
	make_sequential_reads(e, i, seed);
	e->ts_ns = i * 500ULL;
	if (rand_next(seed) % 300 == 0)
		e->ts_ns += 100;
	if (rand_next(seed) % 100 == 0)
		e->page_index = any_u64(seed);
	if (rand_next(seed) % 1000 == 0)
		e->file_id = any_u64(seed);
	e->op = i / 100 % 3;
}

static const struct shape shapes[] = {
	{ "anything", make_anything },
	{ "random reads", make_random_reads },
	{ "sequential reads", make_sequential_reads },
	{ "misses under kswapd", make_misses_under_kswapd },
	{ "rare changes", make_rare_changes },
};

struct fixture {
	struct page_event in[PAGE_CHUNK_EVENTS], out[PAGE_CHUNK_EVENTS];
	struct page_packer *packer;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->packer = page_packer_new(1, 0, 0);
	*state = f;
	return f->packer ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	page_packer_free(f->packer);
	free(f);
	return 0;
}

static void pack(struct fixture *f, const struct shape *shape, uint32_t nr, uint64_t seed,
		 struct page_chunk *chunk)
{
	memset(f->in, 0, sizeof(f->in));
	for (uint32_t i = 0; i < nr; i++) {
		shape->make(&f->in[i], i, &seed);
		assert_int_equal(page_packer_add(f->packer, &f->in[i]),
				 i + 1 == PAGE_CHUNK_EVENTS);
	}
	assert_int_equal(page_packer_take(f->packer, chunk), 0);
	assert_int_equal(page_packer_events(f->packer), 0);
}

static void assert_events_equal(const struct page_event *a, const struct page_event *b, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		assert_true(a[i].ts_ns == b[i].ts_ns);
		assert_true(a[i].page_index == b[i].page_index);
		assert_true(a[i].pfn == b[i].pfn);
		assert_int_equal(a[i].pages, b[i].pages);
		assert_int_equal(a[i].file_id, b[i].file_id);
		assert_int_equal(a[i].pid, b[i].pid);
		assert_int_equal(a[i].flags, b[i].flags);
		assert_int_equal(a[i].op, b[i].op);
	}
}

static void events_of_every_shape_and_number_come_back(void **state)
{
	static const uint32_t sizes[] = { 1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 100, 1000, 4097,
					  PAGE_CHUNK_EVENTS - 1, PAGE_CHUNK_EVENTS };
	struct fixture *f = *state;
	struct page_chunk chunk;

	for (size_t s = 0; s < ARRAY_SIZE(shapes); s++) {
		for (size_t n = 0; n < ARRAY_SIZE(sizes); n++) {
			pack(f, &shapes[s], sizes[n], n + 1, &chunk);
			assert_int_equal(chunk.nr_events, sizes[n]);
			memset(f->out, 0xa5, sizeof(f->out));
			assert_int_equal(page_chunk_decode(chunk.data, chunk.data_bytes, f->out,
							   sizes[n], NULL), 0);
			assert_events_equal(f->in, f->out, sizes[n]);
			page_chunk_release(&chunk);
		}
	}
}

static void small_chunks_of_anything_come_back(void **state)
{
	struct fixture *f = *state;
	struct page_chunk chunk;

	for (uint64_t seed = 1; seed < 3000; seed++) {
		uint32_t nr = 1 + seed % 60;

		pack(f, &shapes[seed % ARRAY_SIZE(shapes)], nr, seed, &chunk);
		assert_int_equal(page_chunk_decode(chunk.data, chunk.data_bytes, f->out, nr, NULL),
				 0);
		assert_events_equal(f->in, f->out, nr);
		page_chunk_release(&chunk);
	}
}

static void bounds_of_a_chunk_hold_for_its_events(void **state)
{
	struct fixture *f = *state;
	struct page_chunk chunk;

	for (size_t s = 0; s < ARRAY_SIZE(shapes); s++) {
		uint32_t ops = 0, min_file = UINT32_MAX, max_file = 0;
		uint64_t first = UINT64_MAX, last = 0;

		pack(f, &shapes[s], 500, 9, &chunk);
		for (uint32_t i = 0; i < 500; i++) {
			ops |= 1U << f->in[i].op;
			min_file = f->in[i].file_id < min_file ? f->in[i].file_id : min_file;
			max_file = f->in[i].file_id > max_file ? f->in[i].file_id : max_file;
			first = f->in[i].ts_ns < first ? f->in[i].ts_ns : first;
			last = f->in[i].ts_ns > last ? f->in[i].ts_ns : last;
		}
		assert_int_equal(chunk.ops_mask, ops);
		assert_int_equal(chunk.min_file_id, min_file);
		assert_int_equal(chunk.max_file_id, max_file);
		assert_true(chunk.first_ts_ns == first);
		assert_true(chunk.last_ts_ns == last);
		page_chunk_release(&chunk);
	}
}

static void reads_stay_within_their_bytes(void **state)
{
	struct fixture *f = *state;
	struct page_chunk chunk;

	pack(f, &shapes[1], PAGE_CHUNK_EVENTS, 1, &chunk);
	assert_in_range(chunk.data_bytes, 1, 10 * PAGE_CHUNK_EVENTS);
	page_chunk_release(&chunk);
	pack(f, &shapes[2], PAGE_CHUNK_EVENTS, 1, &chunk);
	assert_in_range(chunk.data_bytes, 1, 3 * PAGE_CHUNK_EVENTS);
	page_chunk_release(&chunk);
}

/* The copy ends where malloc ends, so that the sanitizer sees a read past the end. */
static int decode_copy(struct fixture *f, const uint8_t *data, size_t bytes, uint32_t nr)
{
	uint8_t *copy = malloc(bytes ? bytes : 1);
	int code;

	memcpy(copy, data, bytes);
	code = page_chunk_decode(copy, bytes, f->out, nr, NULL);
	free(copy);
	return code;
}

static void every_truncation_is_refused(void **state)
{
	struct fixture *f = *state;
	struct page_chunk chunk;

	for (size_t s = 0; s < ARRAY_SIZE(shapes); s++) {
		pack(f, &shapes[s], 100, 3, &chunk);
		for (size_t bytes = 0; bytes < chunk.data_bytes; bytes++)
			assert_int_equal(decode_copy(f, chunk.data, bytes, 100), -EBADMSG);
		page_chunk_release(&chunk);
	}
}

static void damage_gives_an_error_or_events_and_never_a_wild_access(void **state)
{
	struct fixture *f = *state;
	struct page_chunk chunk;
	uint64_t seed = 5;
	int refused = 0;

	for (size_t s = 0; s < ARRAY_SIZE(shapes); s++) {
		pack(f, &shapes[s], 300, 3, &chunk);
		for (size_t bit = 0; bit < 8 * chunk.data_bytes && bit < 8000; bit++) {
			chunk.data[bit / 8] ^= 1 << bit % 8;
			refused += decode_copy(f, chunk.data, chunk.data_bytes, 300) == -EBADMSG;
			chunk.data[bit / 8] ^= 1 << bit % 8;
		}
		for (int i = 0; i < 2000; i++) {
			size_t at = rand_next(&seed) % chunk.data_bytes;
			uint8_t old = chunk.data[at];

			chunk.data[at] = rand_next(&seed);
			decode_copy(f, chunk.data, chunk.data_bytes, 300);
			if (i % 4)
				chunk.data[at] = old;
		}
		page_chunk_release(&chunk);
	}
	assert_true(refused > 0);
}

static void a_wrong_number_of_events_or_format_is_refused(void **state)
{
	struct fixture *f = *state;
	struct page_chunk chunk;
	struct err err = { "" };

	pack(f, &shapes[0], 100, 3, &chunk);
	assert_int_equal(decode_copy(f, chunk.data, chunk.data_bytes, 99), -EBADMSG);
	assert_int_equal(decode_copy(f, chunk.data, chunk.data_bytes, 101), -EBADMSG);
	assert_int_equal(decode_copy(f, chunk.data, chunk.data_bytes, 0), -EBADMSG);
	assert_int_equal(decode_copy(f, chunk.data, chunk.data_bytes, UINT32_MAX), -EBADMSG);
	chunk.data[0] = 2;
	assert_int_equal(page_chunk_decode(chunk.data, chunk.data_bytes, f->out, 100, &err),
			 -EBADMSG);
	assert_non_null(strstr(err.text, "format 2"));
	page_chunk_release(&chunk);
}

static void an_empty_packer_gives_an_empty_chunk(void **state)
{
	struct fixture *f = *state;
	struct page_chunk chunk;

	assert_int_equal(page_packer_take(f->packer, &chunk), 0);
	assert_null(chunk.data);
	assert_int_equal(chunk.nr_events, 0);
}

static void columns_of_every_mode_come_back(void **state)
{
	enum { NR = 1000 };
	uint32_t values[NR + SVB_PAD_VALUES], back[NR + SVB_PAD_VALUES];
	uint32_t scratch[2 * (NR + SVB_PAD_VALUES)], seen = 0;
	static const uint32_t limits[] = { 1, 2, 256, 300, 65536, 70000, 1 << 24, UINT32_MAX };
	uint8_t bytes[5 * NR + 100];
	uint64_t seed = 1;

	for (int round = 0; round < 4000; round++) {
		uint32_t nr = rand_next(&seed) % (NR + 1), any = 0, same = rand_next(&seed);
		uint32_t limit = limits[rand_next(&seed) % ARRAY_SIZE(limits)];
		uint32_t keep = 1 + rand_next(&seed) % 40 * (rand_next(&seed) % 2);
		struct byte_reader in = { bytes, NULL };

		for (uint32_t i = 0; i < nr; i++) {
			values[i] = rand_next(&seed) % keep ? 0 : rand_next(&seed) % limit;
			if (round % 50 == 0)
				values[i] = same;
			any |= values[i];
		}
		in.end = column_encode(bytes, values, nr, any, scratch);
		assert_in_range(bytes_left(&in), 1, column_max_bytes(nr));
		seen |= 1 << bytes[0];
		memset((void *)in.end, 0, SVB_PAD);
		assert_int_equal(column_decode(&in, back, nr, scratch, NULL), 0);
		assert_int_equal(bytes_left(&in), 0);
		assert_memory_equal(values, back, sizeof(values[0]) * nr);
	}
	assert_int_equal(seen, (1 << NR_COLUMN_MODES) - 1);
}

static void vectors_decode_what_the_library_does(void **state)
{
	enum { NR = 999 };
	uint32_t values[NR], fast[NR + SVB_PAD_VALUES], plain[NR + SVB_PAD_VALUES];
	uint8_t bytes[5 * NR + 100];
	uint64_t seed = 3;

	for (int round = 0; round < 2000; round++) {
		uint32_t nr = 1 + rand_next(&seed) % NR;
		bool zero_mode = round % 2;

		for (uint32_t i = 0; i < nr; i++)
			values[i] = (uint32_t)(rand_next(&seed) >> 32) >>
				    8 * (rand_next(&seed) % 5) % 32;
		memset(bytes, 0, sizeof(bytes));
		if (zero_mode)
			streamvbyte_encode_0124(values, nr, bytes);
		else
			streamvbyte_encode(values, nr, bytes);
		if (!svb_decode_simd(bytes, fast, nr, zero_mode))
			skip();
		if (zero_mode)
			streamvbyte_decode_0124(bytes, plain, nr);
		else
			streamvbyte_decode(bytes, plain, nr);
		assert_memory_equal(fast, plain, sizeof(*values) * nr);
		assert_memory_equal(fast, values, sizeof(*values) * nr);
	}
}

static void files_get_ids_in_order_of_appearance(void **state)
{
	enum { NR = 20000 };
	struct file_map *map = file_map_new(5);
	bool fresh;

	for (uint32_t i = 0; i < NR; i++) {
		assert_int_equal(file_map_id(map, i % 3, i / 3 * 4096ULL, &fresh), 5 + i);
		assert_true(fresh);
		assert_int_equal(file_map_id(map, i % 3, i / 3 * 4096ULL, &fresh), 5 + i);
		assert_false(fresh);
	}
	for (uint32_t i = NR; i-- > 0; )
		assert_int_equal(file_map_id(map, i % 3, i / 3 * 4096ULL, NULL), 5 + i);
	file_map_free(map);
	file_map_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_of_every_shape_and_number_come_back),
		cmocka_unit_test(small_chunks_of_anything_come_back),
		cmocka_unit_test(bounds_of_a_chunk_hold_for_its_events),
		cmocka_unit_test(reads_stay_within_their_bytes),
		cmocka_unit_test(every_truncation_is_refused),
		cmocka_unit_test(damage_gives_an_error_or_events_and_never_a_wild_access),
		cmocka_unit_test(a_wrong_number_of_events_or_format_is_refused),
		cmocka_unit_test(an_empty_packer_gives_an_empty_chunk),
		cmocka_unit_test(columns_of_every_mode_come_back),
		cmocka_unit_test(vectors_decode_what_the_library_does),
		cmocka_unit_test(files_get_ids_in_order_of_appearance),
	};

	return cmocka_run_group_tests_name("page_codec", tests, setup, teardown);
}
