// SPDX-License-Identifier: GPL-2.0-or-later
/* test_clock.c - which requests waited for the disk, from the gaps between them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "replay/replay.h"

enum { NR = 10000 };

static uint32_t page[NR], task[NR];
static uint64_t ts_ns[NR];

/* One request in @every waits @wait_ns longer than the 2 to 3 us of the others. */
static struct replay_waits find(uint32_t every, uint64_t wait_ns, uint32_t nr_tasks)
{
	struct array_source array = {
		.block = { .nr = NR, .page = page, .ts_ns = ts_ns, .task = task }, .nr_ids = NR,
	};
	struct demand_source source;
	struct replay_waits waits;
	uint64_t now_ns = 1000000;

	for (uint32_t i = 0; i < NR; i++) {
		now_ns +=
			2000 + i * 7919 % 1000 + (i % every ? 0 : wait_ns + i % 50 * wait_ns / 100);
		ts_ns[i] = now_ns;
		page[i] = i;
		task[i] = i % nr_tasks;
	}
	assert_int_equal(array_source_init(&array, &source), 0);
	assert_int_equal(replay_waits_find(&source, &waits, NULL), 0);
	return waits;
}

static void two_humps_of_gaps_give_the_threshold_and_the_wait(void **state)
{
	for (uint32_t every = 2; every < 64; every *= 2) {
		struct replay_waits waits = find(every, 100000, 1);

		assert_in_range(waits.threshold_ns, 3000, 100000);
		assert_in_range(waits.wait_ns, 90000, 160000);
	}
}

static void one_hump_a_rare_wait_or_turns_of_tasks_tell_nothing(void **state)
{
	assert_int_equal(find(1, 100000, 1).threshold_ns, 0);
	assert_int_equal(find(2, 3000, 1).threshold_ns, 0);
	assert_int_equal(find(1000, 100000, 1).threshold_ns, 0);
	assert_int_equal(find(4, 100000, 3).threshold_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_humps_of_gaps_give_the_threshold_and_the_wait),
		cmocka_unit_test(one_hump_a_rare_wait_or_turns_of_tasks_tell_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
