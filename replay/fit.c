// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fit.c - prices of operations by weighted least squares.
 *
 * The problem. Some thousand pieces of reclaim were timed, and it was counted what was done in
 * each: pages scanned, pages freed, shrinkers called. What does one of each cost?
 *
 *	duration_i = sum over j of count_ij * ns_j + noise_i
 *
 *  1. The noise grows with the duration (a long episode meets more cache misses, interrupts, busy
 *     neighbours), so a sample weighs 1 / expected duration^2. What is expected is what the last
 *     fit says: the fit is repeated (iteratively reweighted least squares). Weighing by the
 *     measured duration instead would favour the samples that were fast by chance.
 *  2. A task that lost its CPU in between took many times longer. A sample of FIT_OUTLIER times
 *     what is expected or more is left out, counted, and said.
 *  3. Two counts that always move together (every page scanned was freed) have no prices of their
 *     own, only their sum has. The weighted normal matrix is factorized term by term (Cholesky);
 *     a term of whose length less than TIED_SHARE is left when the earlier ones are taken off is
 *     left out: tied. The order of the terms so says who keeps the price.
 *  4. No operation has a negative price. A term that comes out negative is held at zero, one at
 *     zero whose price would be positive again comes back (the active set method of Lawson and
 *     Hanson, Solving Least Squares Problems, 1974, chapter 23). It is said which are.
 *  5. The standard errors do not believe in the weights: inverse * (sum of w^2 r^2 x x') * inverse,
 *     times n / (n - p) (White, Econometrica 48, 1980; HC1). They are those of the fit, given the
 *     terms used: they know nothing of what was not counted.
 *
 * If the guess about the noise is wrong the prices are still unbiased, only less sharp, and 5
 * holds.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/fit.h"

/* 1 % of a term's length, squared: below that its price has an error of some hundred per cent. */
static const double TIED_SHARE = 1e-4;
enum { MAX_ROUNDS = 8, SPARE_SAMPLES = 5 };

struct problem {
	const double *y, *x;
	size_t n, k;
	double *weight;			/* 0: left out */
	double gram[FIT_MAX_TERMS][FIT_MAX_TERMS];	/* x'wx */
	double moment[FIT_MAX_TERMS];			/* x'wy */
	bool usable[FIT_MAX_TERMS], free[FIT_MAX_TERMS];
	double ns[FIT_MAX_TERMS];
	struct fit *fit;
};

static double expected_ns(const struct problem *p, size_t i)
{
	double sum = 0;

	for (size_t j = 0; j < p->k; j++)
		sum += p->x[i * p->k + j] * p->ns[j];
	return sum;
}

static void accumulate(struct problem *p)
{
	memset(p->gram, 0, sizeof(p->gram));
	memset(p->moment, 0, sizeof(p->moment));
	for (size_t i = 0; i < p->n; i++) {
		const double *x = &p->x[i * p->k];

		for (size_t a = 0; a < p->k; a++) {
			double wx = p->weight[i] * x[a];

			p->moment[a] += wx * p->y[i];
			for (size_t b = 0; b <= a; b++)
				p->gram[a][b] += wx * x[b];
		}
	}
	for (size_t a = 0; a < p->k; a++)
		for (size_t b = a + 1; b < p->k; b++)
			p->gram[a][b] = p->gram[b][a];
}

/* The usable term before @j that is most like it. */
static int most_like(const struct problem *p, size_t j)
{
	double best = -1;
	int like = -1;

	for (size_t a = 0; a < j; a++) {
		double c = p->gram[j][a] * p->gram[j][a] / (p->gram[a][a] * p->gram[j][j]);

		if (p->usable[a] && c > best) {
			best = c;
			like = (int)a;
		}
	}
	return like;
}

/* Marks the terms that can have a price of their own. */
static void select_terms(struct problem *p)
{
	double l[FIT_MAX_TERMS][FIT_MAX_TERMS] = { { 0 } };

	for (size_t j = 0; j < p->k; j++) {
		struct fit_term *term = &p->fit->term[j];
		double rest = p->gram[j][j];

		*term = (struct fit_term){ .with = -1, .stderr_ns = NAN };
		p->usable[j] = false;
		if (!(rest > 0)) {
			term->state = FIT_ABSENT;
			continue;
		}
		for (size_t a = 0; a < j; a++) {
			double sum = p->gram[j][a];

			if (!p->usable[a])
				continue;
			for (size_t b = 0; b < a; b++)
				sum -= l[j][b] * l[a][b];
			l[j][a] = sum / l[a][a];
			rest -= l[j][a] * l[j][a];
		}
		if (rest < TIED_SHARE * p->gram[j][j]) {
			term->state = FIT_TIED;
			term->with = most_like(p, j);
			memset(l[j], 0, sizeof(l[j]));
			continue;
		}
		l[j][j] = sqrt(rest);
		p->usable[j] = true;
		term->state = FIT_USED;
	}
}

/*
 * Inverts the part of the gram matrix of the free terms, by Gauss and Jordan; terms are scaled to
 * length 1 first. The terms are not tied, so it is regular.
 */
static void invert(const struct problem *p, double inverse[FIT_MAX_TERMS][FIT_MAX_TERMS])
{
	double a[FIT_MAX_TERMS][2 * FIT_MAX_TERMS] = { { 0 } }, scale[FIT_MAX_TERMS];
	size_t of[FIT_MAX_TERMS], m = 0;

	for (size_t j = 0; j < p->k; j++)
		if (p->free[j])
			of[m++] = j;
	for (size_t i = 0; i < m; i++)
		scale[i] = 1 / sqrt(p->gram[of[i]][of[i]]);
	for (size_t i = 0; i < m; i++) {
		for (size_t j = 0; j < m; j++)
			a[i][j] = p->gram[of[i]][of[j]] * scale[i] * scale[j];
		a[i][m + i] = 1;
	}
	for (size_t c = 0; c < m; c++) {
		size_t pivot = c;

		for (size_t i = c + 1; i < m; i++)
			if (fabs(a[i][c]) > fabs(a[pivot][c]))
				pivot = i;
		for (size_t j = 0; j < 2 * m; j++) {
			double swap = a[c][j];

			a[c][j] = a[pivot][j];
			a[pivot][j] = swap;
		}
		for (size_t j = 2 * m; j-- > c;)
			a[c][j] /= a[c][c];
		for (size_t i = 0; i < m; i++)
			for (size_t j = 2 * m; i != c && j-- > c;)
				a[i][j] -= a[i][c] * a[c][j];
	}
	memset(inverse, 0, sizeof(double) * FIT_MAX_TERMS * FIT_MAX_TERMS);
	for (size_t i = 0; i < m; i++)
		for (size_t j = 0; j < m; j++)
			inverse[of[i]][of[j]] = a[i][m + j] * scale[i] * scale[j];
}

static void solve_free(struct problem *p)
{
	double inverse[FIT_MAX_TERMS][FIT_MAX_TERMS];

	invert(p, inverse);
	for (size_t j = 0; j < p->k; j++) {
		p->ns[j] = 0;
		for (size_t a = 0; a < p->k && p->free[j]; a++)
			p->ns[j] += inverse[j][a] * p->moment[a];
	}
}

/* The free term with the most negative price, or the one at zero that should rise; -1: none. */
static int next_to_move(const struct problem *p)
{
	double worst = 0;
	int move = -1;

	for (size_t j = 0; j < p->k; j++)
		if (p->free[j] && p->ns[j] * sqrt(p->gram[j][j]) < worst) {
			worst = p->ns[j] * sqrt(p->gram[j][j]);
			move = (int)j;
		}
	for (size_t j = 0; j < p->k && move < 0; j++) {
		double slope = p->moment[j];

		if (!p->usable[j] || p->free[j])
			continue;
		for (size_t a = 0; a < p->k; a++)
			slope -= p->gram[j][a] * p->ns[a];
		if (slope > 1e-9 * fabs(p->moment[j]))
			return (int)j;
	}
	return move;
}

static void solve(struct problem *p)
{
	int move;

	for (size_t j = 0; j < p->k; j++)
		p->free[j] = p->usable[j];
	for (size_t i = 0; i < 4 * p->k; i++) {
		solve_free(p);
		move = next_to_move(p);
		if (move < 0)
			break;
		p->free[move] = !p->free[move];
	}
	for (size_t j = 0; j < p->k; j++)
		p->ns[j] = p->ns[j] > 0 ? p->ns[j] : 0;
}

/* Weights for the next round; the mean keeps a sample that nothing is expected of from ruling. */
static void weigh(struct problem *p)
{
	double mean = 0;
	size_t nr = 0;

	for (size_t i = 0; i < p->n; i++) {
		mean += p->weight[i] > 0 ? expected_ns(p, i) : 0;
		nr += p->weight[i] > 0;
	}
	mean /= nr ? (double)nr : 1;
	p->fit->nr_left_out = 0;
	for (size_t i = 0; i < p->n; i++) {
		double expected = fmax(expected_ns(p, i), 0.05 * mean);
		bool out = !(expected > 0) || p->y[i] >= FIT_OUTLIER * expected;

		p->fit->nr_left_out += out;
		p->weight[i] = out ? 0 : 1 / (expected * expected);
	}
}

static int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* A start that no interrupted sample spoils: without those far beyond nine in ten. */
static int weigh_first(struct problem *p)
{
	double *sorted = malloc(p->n * sizeof(*sorted)), limit;

	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, p->y, p->n * sizeof(*sorted));
	qsort(sorted, p->n, sizeof(*sorted), compare_double);
	limit = 4 * sorted[p->n - 1 - p->n / 10];	/* of nine in ten */
	for (size_t i = 0; i < p->n; i++)
		p->weight[i] = p->y[i] > limit ? 0 : 1 / fmax(p->y[i], sorted[p->n / 20] + 1);
	free(sorted);
	return 0;
}

static void standard_errors(struct problem *p)
{
	double inverse[FIT_MAX_TERMS][FIT_MAX_TERMS];
	double meat[FIT_MAX_TERMS][FIT_MAX_TERMS] = { { 0 } };
	size_t nr_free = 0, n = p->fit->nr_samples;

	invert(p, inverse);
	for (size_t j = 0; j < p->k; j++)
		nr_free += p->free[j];
	for (size_t i = 0; i < p->n; i++) {
		double r = p->weight[i] * (p->y[i] - expected_ns(p, i));

		for (size_t a = 0; a < p->k; a++)
			for (size_t b = 0; b < p->k; b++)
				meat[a][b] += r * r * p->x[i * p->k + a] * p->x[i * p->k + b];
	}
	for (size_t j = 0; j < p->k; j++) {
		double sum = 0;

		if (!p->free[j])
			continue;
		for (size_t a = 0; a < p->k; a++)
			for (size_t b = 0; b < p->k; b++)
				sum += inverse[j][a] * meat[a][b] * inverse[b][j];
		p->fit->term[j].stderr_ns = sqrt(sum * (double)n / (double)(n - nr_free));
	}
}

static void summarize(struct problem *p)
{
	struct fit *fit = p->fit;
	double mean = 0, total = 0, rest = 0;

	fit->nr_samples = fit->nr_left_out = 0;
	fit->measured_ns = fit->fitted_ns = 0;
	for (size_t i = 0; i < p->n; i++) {
		fit->nr_left_out += !(p->weight[i] > 0);
		if (!(p->weight[i] > 0))
			continue;
		fit->nr_samples++;
		fit->measured_ns += p->y[i];
		fit->fitted_ns += expected_ns(p, i);
	}
	mean = fit->measured_ns / (double)(fit->nr_samples ? fit->nr_samples : 1);
	for (size_t i = 0; i < p->n; i++) {
		double r = p->y[i] - expected_ns(p, i);

		if (!(p->weight[i] > 0))
			continue;
		rest += r * r;
		total += (p->y[i] - mean) * (p->y[i] - mean);
	}
	fit->r2 = total > 0 ? 1 - rest / total : NAN;
	for (size_t j = 0; j < p->k; j++) {
		fit->term[j].ns = p->ns[j];
		if (p->usable[j] && !p->free[j])
			fit->term[j].state = FIT_AT_ZERO;
	}
}

int fit_prices(const double *duration_ns, const double *count, size_t nr_samples, size_t nr_terms,
	       struct fit *fit, struct err *err)
{
	struct problem p = { .y = duration_ns, .x = count, .n = nr_samples, .k = nr_terms,
			     .fit = fit };
	bool any = false;
	int code = 0;

	memset(fit, 0, sizeof(*fit));
	fit->nr_terms = nr_terms;
	if (nr_terms > FIT_MAX_TERMS || nr_samples < nr_terms + SPARE_SAMPLES)
		return err_set(err, -ENODATA, "%zu samples are too few for %zu prices", nr_samples,
			       nr_terms);
	p.weight = calloc(nr_samples, sizeof(*p.weight));
	if (!p.weight || weigh_first(&p)) {
		code = err_set(err, -ENOMEM, "no memory to fit %zu samples", nr_samples);
		goto out;
	}
	for (int round = 0; round < MAX_ROUNDS; round++) {
		if (round)
			weigh(&p);
		accumulate(&p);
		select_terms(&p);
		solve(&p);
	}
	summarize(&p);
	for (size_t j = 0; j < nr_terms; j++)
		any |= fit->term[j].ns > 0;
	if (!any || fit->nr_samples < nr_terms + SPARE_SAMPLES)
		code = err_set(err, -ENODATA, "the durations of %zu samples say nothing about "
			       "prices", nr_samples);
	else
		standard_errors(&p);
out:
	free(p.weight);
	return code;
}
