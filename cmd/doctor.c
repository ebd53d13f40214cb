// SPDX-License-Identifier: GPL-2.0-or-later
/* doctor.c - `pagereel doctor`: can this host capture? And clean up after killed captures. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "capture/capture.h"
#include "cmd/cmd.h"
#include "cmd/out.h"

enum { EXIT_WOULD_FAIL = 4 };

static int clean(const struct command *self)
{
	struct err err = { "" };
	int nr = live_clean(&err);

	if (nr < 0)
		return cmd_fail(self, nr, &err);
	printf("%d left-over instances and cgroups removed\n", nr);
	return cmd_finish(self);
}

static int check_host(const struct command *self, enum out_format format)
{
	static const struct out_column columns[] = {
		{ .name = "requirement" }, { .name = "state" }, { .name = "detail" },
		{ .name = "remedy" },
	};
	static const char *const states[] = {
		[CHECK_OK] = "ok", [CHECK_WARN] = "warn", [CHECK_FAIL] = "fail",
	};
	struct host_check checks[MAX_HOST_CHECKS];
	int nr = host_check(checks, "."), status = 0, code;
	struct out *out = out_begin(stdout, format, columns, (int)ARRAY_SIZE(columns));
	struct err err = { "" };

	for (int i = 0; i < nr; i++) {
		const char *name = checks[i].name, *detail = checks[i].detail;
		const char *state = states[checks[i].level];

		if (checks[i].level == CHECK_FAIL)
			status = EXIT_WOULD_FAIL;
		out_row(out, (const struct value[]){
			VALUE_OF_TEXT(name), VALUE_OF_TEXT(state), VALUE_OF_TEXT(detail),
			VALUE_OF_TEXT(checks[i].remedy ? checks[i].remedy : ""),
		});
	}
	code = out_end(out);
	if (code)
		return cmd_fail(self, code, &err);
	return cmd_finish(self) ?: status;
}

static int doctor_run(const struct command *self, int argc, char **argv)
{
	enum out_format format = OUT_AUTO;
	bool wants_clean = false;
	int status, nr;
	const struct opt opts[] = {
		{ 0, "clean", OPT_FLAG, &wants_clean, NULL,
		  "remove what killed captures left behind, and end" },
		{ 'f', "format", OPT_FORMAT, &format, "FORMAT", "table, csv, json or ndjson" },
		{ 0 },
	};

	nr = opts_parse(self, opts, argc, argv, false, &argv, &status);
	if (nr < 0)
		return status;
	if (nr)
		return cmd_usage(self, "it checks this host and takes no database (what a capture "
				 "says: 'pagereel info %s', 'pagereel analyze %s')", argv[0],
				 argv[0]);
	return wants_clean ? clean(self) : check_host(self, format);
}

const struct command cmd_doctor = {
	.name = "doctor",
	.args = "[OPTION]...",
	.summary = "Check that this host can capture; clean up after killed captures.",
	.examples = "  pagereel doctor\n"
		    "  pagereel doctor --clean\n"
		    "  pagereel doctor --format json\n",
	.run = doctor_run,
};
