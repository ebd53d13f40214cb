// SPDX-License-Identifier: GPL-2.0-or-later
/* test_cost.c - cost profiles. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "replay/replay.h"

static void an_unknown_operation_has_no_price(void **state)
{
	assert_true(isnan(cost_ns(cost_profile_builtin(), "scan.elephant")));
	assert_null(cost_find(cost_profile_builtin(), "scan"));
}

static void builtin_prices_are_sane_and_distinct(void **state)
{
	const struct cost_profile *p = cost_profile_builtin();

	for (size_t i = 0; i < p->nr_entries; i++) {
		assert_true(p->entries[i].ns >= 0 && p->entries[i].ns < 1e6);
		assert_ptr_equal(cost_find(p, p->entries[i].operation), &p->entries[i]);
		assert_non_null(strchr(p->entries[i].operation, '.'));
		assert_true(p->entries[i].source && *p->entries[i].source);
	}
	assert_true(cost_ns(p, "scan.page") <
		    cost_ns(p, "reclaim.page") + cost_ns(p, "reclaim.folio"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_unknown_operation_has_no_price),
		cmocka_unit_test(builtin_prices_are_sane_and_distinct),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
