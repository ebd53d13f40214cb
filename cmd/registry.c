// SPDX-License-Identifier: GPL-2.0-or-later
/* registry.c - the commands, one line each, in the order of the list that `pagereel` prints. */
#include "cmd/cmd.h"

#define COMMANDS(X) \
	X(capture) \
	X(doctor) \
	X(import) \
	X(synth) \
	X(analyze) \
	X(info) \
	X(sql) \
	X(replay) \
	X(calibrate) \
	X(merge) \
	X(export) \
	X(case) \
	X(models)

#define DECLARE(name) extern const struct command cmd_##name;
COMMANDS(DECLARE)

#define ENTRY(name) &cmd_##name,
const struct command *const commands[] = { COMMANDS(ENTRY) NULL };
