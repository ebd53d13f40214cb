// SPDX-License-Identifier: GPL-2.0-or-later
/* test_subbuf.c - the inline walk over a sub-buffer against libtraceevent's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <traceevent/kbuffer.h>

#include "capture/subbuf.h"

enum { PAGE = 4096, HEAD = 16 };

/* Fills @page with random events of all types; returns the bytes of data. */
static size_t make_page(uint8_t *page, uint64_t *seed, bool with_lost)
{
	size_t at = HEAD, want = rand_next(seed) % (PAGE - HEAD - 200);
	uint64_t ts = 1000000 + rand_next(seed) % 1000000, commit;

	memset(page, 0, PAGE);
	memcpy(page, &ts, 8);
	while (at < want) {
		uint32_t type = (uint32_t)(rand_next(seed) % 31), words = 0, more;
		uint32_t head = type | (uint32_t)(1 + rand_next(seed) % 5000) << 5;

		memcpy(page + at, &head, 4);
		if (type >= 1 && type <= 28) {
			words = type;
		} else if (type == 30) {
			more = (uint32_t)(rand_next(seed) % 3);
			memcpy(page + at + 4, &more, 4);
			words = 1;
		} else {	/* 0: long data; 29: padding */
			words = 1 + (uint32_t)(rand_next(seed) % 20);
			more = 4 * words;
			if (!type && words > 1)
				more -= (uint32_t)(rand_next(seed) % 4);
			memcpy(page + at + 4, &more, 4);
		}
		for (uint32_t i = 4; type < 29 && i < words * 4; i++)
			page[at + 4 + i] = (uint8_t)rand_next(seed);
		at += 4 + words * 4;
	}
	commit = at - HEAD;
	if (with_lost) {
		memcpy(page + at, &(uint64_t){ 1 + rand_next(seed) % 1000 }, 8);
		commit |= 1ul << 31 | 1ul << 30;
	}
	memcpy(page + 8, &commit, 8);
	return at - HEAD;
}

static void walks_as_libtraceevent_does(void **state)
{
	struct kbuffer *kbuf = kbuffer_alloc(KBUFFER_LSIZE_SAME_AS_HOST,
					     KBUFFER_ENDIAN_SAME_AS_HOST);
	static uint8_t page[PAGE];
	uint64_t seed = 5;

	for (int round = 0; round < 3000; round++) {
		unsigned long long ts;
		const uint8_t *data;
		struct subbuf s;
		uint32_t bytes;
		void *want;

		make_page(page, &seed, round % 3 == 0);
		kbuffer_load_subbuffer(kbuf, page);
		subbuf_open(&s, page, PAGE);
		if (!kbuffer_curr_index(kbuf))	/* it forgets them behind a time extend */
			assert_int_equal(s.missed, kbuffer_missed_events(kbuf));
		want = kbuffer_read_event(kbuf, &ts);
		while ((data = subbuf_next(&s, &bytes))) {
			assert_ptr_equal(data, want);
			assert_int_equal(bytes, kbuffer_event_size(kbuf));
			assert_true(s.ts_ns == ts);
			want = kbuffer_next_event(kbuf, &ts);
		}
		assert_null(want);
	}
	kbuffer_free(kbuf);
}

/* Whatever the bytes: it ends, and no event leaves the page. */
static void damage_never_leads_out_of_the_page(void **state)
{
	uint64_t seed = 9;
	uint8_t *page = malloc(PAGE);

	for (int round = 0; round < 20000; round++) {
		const uint8_t *data;
		struct subbuf s;
		uint32_t bytes;

		make_page(page, &seed, round % 2);
		for (int hit = 0; hit < 8; hit++)
			page[rand_next(&seed) % PAGE] = (uint8_t)rand_next(&seed);
		subbuf_open(&s, page, PAGE);
		while ((data = subbuf_next(&s, &bytes)))
			assert_true(data >= page + HEAD && data + bytes <= page + PAGE);
	}
	free(page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walks_as_libtraceevent_does),
		cmocka_unit_test(damage_never_leads_out_of_the_page),
	};

	return cmocka_run_group_tests_name("subbuf", tests, NULL, NULL);
}
