// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * distribution.c - SQL functions about distributions, without a sort by SQLite:
 *
 *	nearest_rank(value, pct)	aggregate: the least value that is not below pct % of all
 *	power_of_two(value)		the largest power of two that is not above; 0 below 1
 *
 * Values are integers; NULL is passed over, and is the answer where there is nothing.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "schema/sqlite.h"

struct values {
	int64_t *values;
	size_t nr, room;
	double pct;
	bool failed;
};

static void rank_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct values *v = sqlite3_aggregate_context(ctx, sizeof(*v));

	if (!v || v->failed || sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	if (v->nr == v->room) {
		size_t room = v->room ? 2 * v->room : 256;
		int64_t *values = realloc(v->values, room * sizeof(*values));

		v->failed = !values;
		if (!values)
			return;
		v->values = values;
		v->room = room;
	}
	v->values[v->nr++] = sqlite3_value_int64(argv[0]);
	v->pct = sqlite3_value_double(argv[1]);
}

static int value_compare(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Called after an error or an interrupt, too. */
static void rank_final(sqlite3_context *ctx)
{
	struct values *v = sqlite3_aggregate_context(ctx, 0);
	size_t place = 0;

	if (!v)
		return;
	if (v->failed) {
		sqlite3_result_error_nomem(ctx);
	} else if (v->nr) {
		qsort(v->values, v->nr, sizeof(*v->values), value_compare);
		while (place + 1 < v->nr && 100.0 * (double)(place + 1) < v->pct * (double)v->nr)
			place++;
		sqlite3_result_int64(ctx, v->values[place]);
	}
	free(v->values);
}

static void power_of_two(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	int64_t value = sqlite3_value_int64(argv[0]);

	if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	sqlite3_result_int64(ctx, value < 1 ? 0 : 1LL << (63 - __builtin_clzll((uint64_t)value)));
}

int distribution_register(sqlite3 *db)
{
	const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
	int rc = sqlite3_create_function_v2(db, "nearest_rank", 2, flags, NULL, NULL, rank_step,
					    rank_final, NULL);

	return rc ? rc : sqlite3_create_function_v2(db, "power_of_two", 1, flags, NULL,
						    power_of_two, NULL, NULL, NULL);
}
