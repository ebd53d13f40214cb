// SPDX-License-Identifier: GPL-2.0-or-later
/* test_fit.c - the regression behind cost profiles, against prices that are known. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "replay/fit.h"

enum { SAMPLES = 400, TERMS = 4 };

static const double truth[TERMS] = { 1000, 150, 20000, 3000 };

static double uniform(uint64_t *seed)
{
	return (double)(rand_next(seed) >> 11) * 0x1p-53;
}

static double normal(uint64_t *seed)
{
	double u = uniform(seed) + 1e-300;

	return sqrt(-2 * log(u)) * cos(2 * M_PI * uniform(seed));
}

/* Pages freed and scanned, a call, shrinkers: what an episode of reclaim might look like. */
static void make(uint64_t seed, double noise, double *y, double *x)
{
	for (int i = 0; i < SAMPLES; i++) {
		double *row = &x[i * TERMS], sum = 0;

		row[0] = 32 + floor(uniform(&seed) * 64);
		row[1] = row[0] + floor(uniform(&seed) * 100);
		row[2] = 1;
		row[3] = floor(uniform(&seed) * 6);
		for (int j = 0; j < TERMS; j++)
			sum += row[j] * truth[j];
		y[i] = sum * (1 + noise * normal(&seed));
	}
}

static void exact_durations_give_back_the_prices(void **state)
{
	static double y[SAMPLES], x[SAMPLES * TERMS];
	struct fit fit;

	make(1, 0, y, x);
	assert_int_equal(fit_prices(y, x, SAMPLES, TERMS, &fit, NULL), 0);
	for (int j = 0; j < TERMS; j++) {
		assert_int_equal(fit.term[j].state, FIT_USED);
		assert_true(fabs(fit.term[j].ns / truth[j] - 1) < 1e-6);
	}
	assert_true(fit.r2 > 0.999999);
	assert_int_equal(fit.nr_left_out, 0);
}

/* Of 100 seeds the truth lies within two standard errors in at least 90 (95 are expected). */
static void standard_errors_are_as_large_as_the_errors(void **state)
{
	static double y[SAMPLES], x[SAMPLES * TERMS];
	int within[TERMS] = { 0 };
	double sum_se = 0, sum_error = 0;
	struct fit fit;

	for (uint64_t seed = 1; seed <= 100; seed++) {
		make(seed * 7919, 0.2, y, x);
		assert_int_equal(fit_prices(y, x, SAMPLES, TERMS, &fit, NULL), 0);
		for (int j = 0; j < TERMS; j++) {
			double error = fabs(fit.term[j].ns - truth[j]);

			within[j] += fit.term[j].state == FIT_USED &&
				     error < 2 * fit.term[j].stderr_ns;
			sum_se += j ? 0 : fit.term[j].stderr_ns;
			sum_error += j ? 0 : error;
		}
	}
	for (int j = 0; j < TERMS; j++)
		if (within[j] < 90)
			fail_msg("term %d: %d of 100 within two standard errors", j, within[j]);
	/* and not larger: of a normal error the mean is 0.8 standard errors */
	assert_true(sum_error / sum_se > 0.6 && sum_error / sum_se < 1);
}

/* One sample in 30 lost its CPU for milliseconds: as if it had not been there. */
static void interrupted_samples_are_left_out_and_counted(void **state)
{
	static double y[SAMPLES], x[SAMPLES * TERMS];
	struct fit fit;

	make(5, 0.1, y, x);
	for (int i = 0; i < SAMPLES; i += 30)
		y[i] += 5e6 + 1e4 * i;
	assert_int_equal(fit_prices(y, x, SAMPLES, TERMS, &fit, NULL), 0);
	assert_int_equal(fit.nr_left_out, (SAMPLES + 29) / 30);
	assert_int_equal(fit.nr_samples + fit.nr_left_out, SAMPLES);
	for (int j = 0; j < TERMS; j++)
		assert_true(fabs(fit.term[j].ns - truth[j]) < 4 * fit.term[j].stderr_ns);
}

/* Every page scanned is freed: the two have one price, that of both together, and it is said. */
static void terms_that_move_together_share_one_price(void **state)
{
	static double y[SAMPLES], x[SAMPLES * TERMS];
	struct fit fit;

	make(9, 0.05, y, x);
	for (int i = 0; i < SAMPLES; i++) {
		y[i] -= (x[i * TERMS + 1] - x[i * TERMS]) * truth[1];
		x[i * TERMS + 1] = x[i * TERMS];
	}
	assert_int_equal(fit_prices(y, x, SAMPLES, TERMS, &fit, NULL), 0);
	assert_int_equal(fit.term[1].state, FIT_TIED);
	assert_int_equal(fit.term[1].with, 0);
	assert_true(fit.term[1].ns == 0 && isnan(fit.term[1].stderr_ns));
	assert_int_equal(fit.term[0].state, FIT_USED);
	assert_true(fabs(fit.term[0].ns - truth[0] - truth[1]) < 4 * fit.term[0].stderr_ns);
}

/* The sum of two others is as little a term of its own as a copy. */
static void a_sum_of_other_terms_is_tied_to_one_of_them(void **state)
{
	static double y[SAMPLES], x[SAMPLES * TERMS];
	struct fit fit;

	make(11, 0.05, y, x);
	for (int i = 0; i < SAMPLES; i++)
		x[i * TERMS + 3] = 3 * x[i * TERMS] + 2 * x[i * TERMS + 1];
	assert_int_equal(fit_prices(y, x, SAMPLES, TERMS, &fit, NULL), 0);
	assert_int_equal(fit.term[3].state, FIT_TIED);
	assert_true(fit.term[3].with == 0 || fit.term[3].with == 1);
}

static void a_price_below_zero_is_held_at_zero(void **state)
{
	static double y[SAMPLES], x[SAMPLES * TERMS];
	struct fit fit;

	make(13, 0, y, x);
	for (int i = 0; i < SAMPLES; i++)
		y[i] -= x[i * TERMS + 3] * (truth[3] + 500);	/* it would be -500 */
	assert_int_equal(fit_prices(y, x, SAMPLES, TERMS, &fit, NULL), 0);
	assert_int_equal(fit.term[3].state, FIT_AT_ZERO);
	assert_true(fit.term[3].ns == 0);
	for (int j = 0; j < TERMS; j++)
		assert_true(fit.term[j].ns >= 0);
	assert_int_equal(fit.term[0].state, FIT_USED);
}

static void what_was_never_counted_has_no_price(void **state)
{
	static double y[SAMPLES], x[SAMPLES * TERMS];
	struct fit fit;

	make(17, 0, y, x);
	for (int i = 0; i < SAMPLES; i++) {
		y[i] -= x[i * TERMS + 3] * truth[3];
		x[i * TERMS + 3] = 0;
	}
	assert_int_equal(fit_prices(y, x, SAMPLES, TERMS, &fit, NULL), 0);
	assert_int_equal(fit.term[3].state, FIT_ABSENT);
	assert_true(fabs(fit.term[0].ns / truth[0] - 1) < 1e-6);
}

static void too_few_samples_are_an_error_not_a_price(void **state)
{
	static double y[SAMPLES], x[SAMPLES * TERMS];
	struct err err = { "" };
	struct fit fit;

	make(19, 0.1, y, x);
	assert_int_equal(fit_prices(y, x, TERMS + 2, TERMS, &fit, &err), -ENODATA);
	assert_non_null(strstr(err.text, "too few"));
	memset(y, 0, sizeof(y));
	assert_int_equal(fit_prices(y, x, SAMPLES, TERMS, &fit, &err), -ENODATA);
}

/* The order of the samples and the unit of time change nothing but the unit. */
static void order_and_unit_do_not_matter(void **state)
{
	static double y[SAMPLES], x[SAMPLES * TERMS], y2[SAMPLES], x2[SAMPLES * TERMS];
	struct fit a, b;

	make(23, 0.2, y, x);
	for (int i = 0; i < SAMPLES; i++) {
		y2[i] = y[SAMPLES - 1 - i] * 8;
		memcpy(&x2[i * TERMS], &x[(SAMPLES - 1 - i) * TERMS], TERMS * sizeof(double));
	}
	assert_int_equal(fit_prices(y, x, SAMPLES, TERMS, &a, NULL), 0);
	assert_int_equal(fit_prices(y2, x2, SAMPLES, TERMS, &b, NULL), 0);
	for (int j = 0; j < TERMS; j++) {
		assert_true(fabs(b.term[j].ns / (8 * a.term[j].ns) - 1) < 1e-3);
		assert_true(fabs(b.term[j].stderr_ns / (8 * a.term[j].stderr_ns) - 1) < 1e-3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_durations_give_back_the_prices),
		cmocka_unit_test(standard_errors_are_as_large_as_the_errors),
		cmocka_unit_test(interrupted_samples_are_left_out_and_counted),
		cmocka_unit_test(terms_that_move_together_share_one_price),
		cmocka_unit_test(a_sum_of_other_terms_is_tied_to_one_of_them),
		cmocka_unit_test(a_price_below_zero_is_held_at_zero),
		cmocka_unit_test(what_was_never_counted_has_no_price),
		cmocka_unit_test(too_few_samples_are_an_error_not_a_price),
		cmocka_unit_test(order_and_unit_do_not_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
