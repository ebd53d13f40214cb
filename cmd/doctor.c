// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * doctor.c - `pagereel doctor`: can this host capture? And clean up after killed captures. With a
 * database: what is wrong in it (doctor_db.c).
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "capture/capture.h"
#include "cmd/doctor.h"

enum { EXIT_WOULD_FAIL = 4 };

static int clean(const struct command *self)
{
	struct err err = { "" };
	int nr = live_clean(&err);

	if (nr < 0)
		return cmd_fail(self, nr, &err);
	printf("%d left-over instances, probes and cgroups removed\n", nr);
	return cmd_finish(self);
}

static int check_host(const struct command *self, enum out_format format)
{
	static const struct out_column columns[] = {
		{ .name = "requirement" },
		{ .name = "state" },
		{ .name = "detail" },
		{ .name = "remedy" },
	};
	static const char *const states[] = {
		[CHECK_OK] = "ok",
		[CHECK_WARN] = "warn",
		[CHECK_FAIL] = "fail",
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
				     VALUE_OF_TEXT(name),
				     VALUE_OF_TEXT(state),
				     VALUE_OF_TEXT(detail),
				     VALUE_OF_TEXT(checks[i].remedy ? checks[i].remedy : ""),
			     });
	}
	code = out_end(out);
	if (code)
		return cmd_fail(self, code, &err);
	return cmd_finish(self) ?: status;
}

static int settings_take(const struct command *self, const struct opt_texts *texts,
			 struct doctor_settings *settings)
{
	struct err err = { "" };
	int code = doctor_defaults(settings, &err);

	for (int i = 0; i < texts->nr && !code; i++)
		code = doctor_set(settings, texts->item[i], &err);
	return code ? cmd_usage(self, "%s", err.text) : 0;
}

static int rules_take(const struct command *self, char **names, int nr, struct diagnosis_options *o)
{
	for (int i = 0; i < nr; i++) {
		const char *nearest = NULL;
		const struct doctor_rule *rule = doctor_rule_find(names[i], &nearest);

		if (!rule && nearest)
			return cmd_usage(self, "no rule '%s' (did you mean '%s'?)", names[i],
					 nearest);
		if (!rule)
			return cmd_usage(self, "no rule '%s' (pagereel doctor --list)", names[i]);
		o->wanted[rule - doctor_rules] = true;
	}
	for (int i = 0; i < NR_DOCTOR_RULES && !nr; i++)
		o->wanted[i] = true;
	return 0;
}

static int doctor_run(const struct command *self, int argc, char **argv)
{
	struct diagnosis_options o = { .format = OUT_AUTO };
	struct opt_texts settings = { .nr = 0 };
	bool wants_clean = false, list = false, show_sql = false;
	int status, nr, first;
	const struct opt opts[] = {
		{ 0, "all", OPT_FLAG, &o.all, NULL,
		  "show rules that found nothing or cannot know, too" },
		{ 'c', "capture", OPT_TEXT, &o.capture, "ID", "a capture, or all (the first)" },
		{ 0, "set", OPT_TEXTS, &settings, "RULE.NAME=VALUE",
		  "change a threshold (see --list)" },
		{ 0, "show-sql", OPT_FLAG, &show_sql, NULL,
		  "print the queries of the rules, and end" },
		{ 0, "no-replay", OPT_FLAG, &o.no_replay, NULL,
		  "use stored curves only, write nothing" },
		{ 'l', "list", OPT_FLAG, &list, NULL, "list the rules and their thresholds" },
		{ 0, "clean", OPT_FLAG, &wants_clean, NULL,
		  "remove what killed captures left behind, and end" },
		{ 'f', "format", OPT_FORMAT, &o.format, "FORMAT", "table, csv, json or ndjson" },
		{ 0 },
	};

	nr = opts_parse(self, opts, argc, argv, false, &argv, &status);
	if (nr < 0)
		return status;
	if (wants_clean)
		return nr ? cmd_usage(self, "--clean takes no database") : clean(self);
	if (!nr && !list && !show_sql)
		return check_host(self, o.format);
	first = !list && !show_sql; /* the database */
	status = settings_take(self, &settings, o.settings);
	if (!status)
		status = rules_take(self, argv + first, nr - first, &o);
	if (status)
		return status;
	if (list)
		return doctor_list(self, &o);
	return show_sql ? doctor_show_sql(self, &o) : doctor_diagnose(self, argv[0], &o);
}

const struct command cmd_doctor = {
	.name = "doctor",
	.args = "[OPTION]... [RUN.db [RULE]...]",
	.summary = "Diagnose a capture; without one, check that this host can capture.",
	.examples = "  pagereel doctor run.db\n"
		    "  pagereel doctor --show-sql direct-reclaim\n"
		    "  pagereel doctor\n",
	.run = doctor_run,
};
