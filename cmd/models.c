// SPDX-License-Identifier: GPL-2.0-or-later
/* models.c - `pagereel models`: every model with its parameters, defaults and source. */
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/out.h"
#include "replay/replay.h"

static int models_run(const struct command *self, int argc, char **argv)
{
	enum out_format format = OUT_AUTO;
	const struct opt opts[] = {
		{ 0, "format", OPT_FORMAT, &format, "FORMAT", "table, csv, json or ndjson" },
		{ 0 },
	};
	int status, nr;

	nr = opts_parse(self, opts, argc, argv, false, &argv, &status);
	if (nr < 0)
		return status;
	for (const struct model_ops *const *model = textbook_models; *model; model++)
		printf("%-10s %s\n", (*model)->name, (*model)->title);
	return cmd_finish(self);
}

const struct command cmd_models = {
	.name = "models",
	.args = "[OPTION]... [MODEL]...",
	.summary = "List the reclaim models with their parameters, defaults and sources.",
	.examples = "  pagereel models\n"
		    "  pagereel models arc s3fifo\n"
		    "  pagereel models --format json\n",
	.run = models_run,
};
