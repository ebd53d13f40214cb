/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fit.h - prices out of measured durations and counts: see fit.c. */
#ifndef PAGEREEL_REPLAY_FIT_H
#define PAGEREEL_REPLAY_FIT_H

#include "base/base.h"

enum { FIT_MAX_TERMS = 16 };

enum fit_state {
	FIT_USED,
	FIT_ABSENT,	/* counted in no sample */
	FIT_TIED,	/* moves with the terms before it: its price cannot be told from theirs */
	FIT_AT_ZERO,	/* would be negative; held at zero */
};

struct fit_term {
	enum fit_state state;
	int with;		/* FIT_TIED: the term it is most like */
	double ns, stderr_ns;	/* 0 and NaN unless used */
};

struct fit {
	size_t nr_terms;
	struct fit_term term[FIT_MAX_TERMS];
	size_t nr_samples;	/* fitted */
	size_t nr_left_out;	/* took FIT_OUTLIER times what the fit explains, or longer */
	double r2;		/* share of their variance explained; NaN: nothing varied */
	double measured_ns, fitted_ns;	/* sums over the samples fitted */
};

/* A sample that took so many times what is explained was interrupted by something else. */
enum { FIT_OUTLIER = 5 };

/*
 * Fits @duration_ns[i] = sum over terms of @count[i * nr_terms + term] * ns, no ns below 0. Where
 * two terms cannot be told apart, the first in order is kept. -ENODATA: fewer than @nr_terms + 5
 * samples that took any time, or no term is counted in them. -ENOMEM.
 */
int fit_prices(const double *duration_ns, const double *count, size_t nr_samples, size_t nr_terms,
	       struct fit *fit, struct err *err);

#endif
