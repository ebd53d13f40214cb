// SPDX-License-Identifier: GPL-2.0-or-later
/* registry.c - the textbook models, one line each. */
#include "replay/replay.h"

#define MODELS(X) \
	X(fifo) \
	X(lru) \
	X(clock) \
	X(random) \
	X(lfu) \
	X(slru) \
	X(twoq) \
	X(arc) \
	X(car) \
	X(clockpro) \
	X(lirs) \
	X(s3fifo) \
	X(sieve) \
	X(wtinylfu) \
	X(opt)

#define DECLARE(name) extern const struct model_ops name##_ops;
MODELS(DECLARE)

#define ENTRY(name) &name##_ops,
const struct model_ops *const textbook_models[] = { MODELS(ENTRY) NULL };
