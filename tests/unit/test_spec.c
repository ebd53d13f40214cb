// SPDX-License-Identifier: GPL-2.0-or-later
/* test_spec.c - models, sizes and shards as they are typed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "replay/replay.h"

static void models_take_parameters_up_to_the_next_name(void **state)
{
	struct replay_models list = { 0 };

	assert_int_equal(replay_models_add(&list, "2q:in=30,out=60,lru,slru:protected=50,2q", NULL),
			 0);
	assert_int_equal(list.nr, 4);
	assert_string_equal(list.models[0].name, "2q");
	assert_string_equal(list.models[0].params_text, "in=30,out=60");
	assert_string_equal(list.models[1].params_text, "");
	assert_string_equal(list.models[2].params_text, "protected=50");
	assert_string_equal(list.models[3].params_text, "");
	assert_int_equal(replay_models_add(&list, "lru,2q:in=25,out=50", NULL), 0);
	assert_int_equal(list.nr, 4);	/* each once, defaults written out or not */
	replay_models_release(&list);
}

static void all_means_every_model_once(void **state)
{
	struct replay_models list = { 0 };
	size_t nr = 0;

	for (; textbook_models[nr]; nr++)
		;
	for (size_t k = 0; kernel_models[k]; k++)
		nr++;
	assert_int_equal(replay_models_add(&list, "lru,all,arc", NULL), 0);
	assert_int_equal(list.nr, nr);
	replay_models_release(&list);
}

static void bad_models_are_refused_with_a_hint(void **state)
{
	static const struct { const char *text, *hint;
	} bad[] = {
		{ "lirz", "did you mean 'lirs'?" },   { "", "no model" },
		{ "lru,,arc", "no model" },	      { "lru:x=1", "no parameters" },
		{ "2q:inn=3", "did you mean 'in'?" }, { "2q:in=101", "0 to 100" },
		{ "in=3", "unknown model" },	      { "2q:in", "param=value" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct replay_models list = { 0 };
		struct err err = { "" };

		assert_int_equal(replay_models_add(&list, bad[i].text, &err), -EINVAL);
		if (!strstr(err.text, bad[i].hint))
			fail_msg("'%s': '%s' lacks '%s'", bad[i].text, err.text, bad[i].hint);
		replay_models_release(&list);
	}
}

static void sizes_are_sorted_and_each_once(void **state)
{
	static const uint32_t want[] = { 100, 256, 400, 512, 700, 1000, 16384 };
	struct replay_sizes list = { 0 };

	assert_int_equal(replay_sizes_add(&list, "64M,1M..2M/2,10%,10%..100%/4", 1000, NULL), 0);
	assert_int_equal(list.nr, ARRAY_SIZE(want));
	assert_memory_equal(list.pages, want, sizeof(want));
	replay_sizes_release(&list);
}

static void a_share_of_a_small_footprint_is_at_least_a_page(void **state)
{
	struct replay_sizes list = { 0 };

	assert_int_equal(replay_sizes_add(&list, "10%..100%/10", 3, NULL), 0);
	assert_int_equal(list.nr, 3);
	assert_int_equal(list.pages[0], 1);
	replay_sizes_release(&list);
}

static void bad_sizes_are_refused(void **state)
{
	static const char *const bad[] = {
		"",	    "1K",	"0",	    "0%",     "-5%", "1M..2M", "2M..1M/3",
		"1M..2M/1", "1M..2M/0", "1M..2M/x", "99999T", "..",  "1M..",   "1M,,2M",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct replay_sizes list = { 0 };

		if (replay_sizes_add(&list, bad[i], 1000, NULL) != -EINVAL)
			fail_msg("'%s' was taken", bad[i]);
		replay_sizes_release(&list);
	}
}

static void shards_count_from_one(void **state)
{
	static const char *const bad[] = {
		"", "1", "0/3", "4/3", "1/0", "a/3", "1/b", "1/3/4", "/"
	};
	uint64_t shard, nr;

	assert_int_equal(replay_shard_parse("2/3", &shard, &nr, NULL), 0);
	assert_int_equal(shard, 2);
	assert_int_equal(nr, 3);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(replay_shard_parse(bad[i], &shard, &nr, NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(models_take_parameters_up_to_the_next_name),
		cmocka_unit_test(all_means_every_model_once),
		cmocka_unit_test(bad_models_are_refused_with_a_hint),
		cmocka_unit_test(sizes_are_sorted_and_each_once),
		cmocka_unit_test(a_share_of_a_small_footprint_is_at_least_a_page),
		cmocka_unit_test(bad_sizes_are_refused),
		cmocka_unit_test(shards_count_from_one),
	};

	return cmocka_run_group_tests_name("spec", tests, NULL, NULL);
}
