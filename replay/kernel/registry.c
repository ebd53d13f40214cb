// SPDX-License-Identifier: GPL-2.0-or-later
/* registry.c - the kernel models, one line each. */
#include "replay/replay.h"

#define MODELS(X) \
	X(linux_6_18) \
	X(linux_6_12) \
	X(linux_6_1) \
	X(linux_mglru) \
	X(linux_mglru_6_1) \
	X(linux_3_2) \
	X(linux_2_5) \
	X(linux_2_4)

#define DECLARE(name) extern const struct kernel_ops name##_ops;
MODELS(DECLARE)

#define ENTRY(name) &name##_ops,
const struct kernel_ops *const kernel_models[] = { MODELS(ENTRY) NULL };
