// SPDX-License-Identifier: GPL-2.0-or-later
/* synth.c - `pagereel synth`: a synthetic access stream as a capture. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "capture/synth.h"
#include "cmd/cmd.h"

static const char grammar[] =
	"\nA SPEC is one task's stream; several SPECs run side by side on one virtual clock.\n"
	"  GENERATOR[:name=value,...]       requests drawn by a generator\n"
	"  SPEC ; SPEC                      phases: one after the other\n"
	"  SPEC*WEIGHT + SPEC*WEIGHT        mix: each request from one of them, at random by "
	"weight,\n"
	"                                   until all have ended\n"
	"  (SPEC)[:accesses=N,times=N]      group: ends after N requests, or is run N times\n"
	"Sizes take K/M/G (1024), counts k/M/G (1000), times us/ms/s. A request asks for io= "
	"bytes.\n";

static void param_print(FILE *out, const struct param *p)
{
	char left[48];

	snprintf(left, sizeof(left), "%s=%s", p->name, p->def ? p->def : "");
	fprintf(out, "    %-18s %s", left, p->help);
	if (p->type == PARAM_ENUM) {
		fprintf(out, " (");
		for (int i = 0; p->choices[i]; i++)
			fprintf(out, "%s%s", i ? ", " : "", p->choices[i]);
		fprintf(out, ")");
	}
	if (p->max != 0 && p->max < 1e6)
		fprintf(out, " [%g..%g]", p->min, p->max);
	fprintf(out, "\n");
}

static void params_print(FILE *out, const struct param *p)
{
	for (; p && p->name; p++)
		param_print(out, p);
}

static void generators_print(FILE *out)
{
	const struct synth_generator *gen;

	fputs(grammar, out);
	for (int i = 0; (gen = synth_generator(i)); i++) {
		const char *alias = synth_generator_alias(gen);

		fprintf(out, "\n  %s%s%s: %s\n", synth_generator_name(gen), alias ? ", " : "",
			alias ? alias : "", synth_generator_title(gen));
		params_print(out, synth_generator_params(gen));
	}
	fprintf(out, "\n  Every generator also has:\n");
	params_print(out, synth_common_params);
}

static volatile int stop_requested;

static void stop_request(int signal)
{
	stop_requested = signal;
}

static void signals_catch(void)
{
	const struct sigaction action = { .sa_handler = stop_request, .sa_flags = SA_RESETHAND };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

/* The SPECs as they were typed, for the capture's description. NULL: no memory. */
static char *specs_join(char *const *specs, int nr_specs)
{
	size_t bytes = 1;
	char *text;

	for (int i = 0; i < nr_specs; i++)
		bytes += strlen(specs[i]) + 1;
	text = calloc(1, bytes);
	for (int i = 0; text && i < nr_specs; i++) {
		if (i)
			strcat(text, "\n");
		strcat(text, specs[i]);
	}
	return text;
}

static int synth_into(struct synth *synth, struct store *store, const char *input, bool quiet,
		      struct err *err)
{
	struct synth_result result;
	char bytes[32], time[32];
	int ret = synth_store(synth, store, input, &stop_requested, &result, err);

	if (quiet || (ret && ret != -EINTR))
		return ret;
	printf("%llu requests for %llu pages (%s) of %u file%s by %u task%s over %s of virtual "
	       "time\n",
	       (unsigned long long)result.nr_events, (unsigned long long)result.nr_pages,
	       format_bytes(bytes, sizeof(bytes), result.nr_pages * PAGE_BYTES), result.nr_files,
	       result.nr_files == 1 ? "" : "s", result.nr_tasks, result.nr_tasks == 1 ? "" : "s",
	       format_ns(time, sizeof(time), (double)result.end_ts_ns));
	return ret;
}

static int synth_run(const struct command *self, int argc, char **argv)
{
	const char *path = NULL;
	bool force = false, append = false, quiet = false;
	uint64_t seed = 1;
	const struct opt opts[] = {
		{ 'o', "output", OPT_TEXT, &path, "RUN.db", "the database to make" },
		{ 0, "seed", OPT_U64, &seed, "N", "seed of generators that set none (default 1)" },
		{ 0, "force", OPT_FLAG, &force, NULL, "replace an existing output file" },
		{ 0, "append", OPT_FLAG, &append, NULL, "add a capture to an existing database" },
		{ 'q', "quiet", OPT_FLAG, &quiet, NULL, "no summary" },
		{ 0 },
	};
	struct synth *synth = NULL;
	struct store *store = NULL;
	struct err err = { "" };
	char *input = NULL;
	int status, nr, ret, end;

	nr = opts_parse(self, opts, argc, argv, false, &argv, &status);
	if (nr < 0)
		return status;
	if (!path)
		return cmd_usage(self, "no output file (-o RUN.db)");
	if (nr == 0)
		return cmd_usage(self, "no SPEC (like 'zipf:file=256M,theta=0.9,accesses=1M')");
	ret = synth_open(&synth, (const char *const *)argv, nr, seed, &err);
	if (ret)
		return cmd_fail(self, ret, &err);
	ret = store_create(&store, path, (force ? STORE_FORCE : 0) | (append ? STORE_APPEND : 0),
			   &err);
	if (ret)
		goto out;
	signals_catch();
	input = specs_join(argv, nr);
	ret = input ? synth_into(synth, store, input, quiet, &err) :
		      err_set(&err, -ENOMEM, "no memory for the description");
	end = store_close(store, ret ? NULL : &err);
	ret = ret ? ret : end;
out:
	free(input);
	synth_close(synth);
	return ret ? cmd_fail(self, ret, &err) : cmd_finish(self);
}

const struct command cmd_synth = {
	.name = "synth",
	.args = "-o RUN.db [OPTION]... SPEC...",
	.summary =
		"Make a synthetic access stream: zipf, loops, scans, mixes, phases; deterministic.",
	.examples = "  pagereel synth -o run.db 'zipf:file=256M,theta=0.9,accesses=1M,seed=1'\n"
		    "  pagereel synth -o run.db '(zipf:file=256M*0.8 + "
		    "loop:file=1G*0.2):accesses=10M'\n"
		    "  pagereel synth -o run.db 'uniform:file=64M,write=30%; seq:file=1G' "
		    "'loop:file=32M'\n",
	.help_more = generators_print,
	.run = synth_run,
};
