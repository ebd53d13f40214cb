// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze.c - `pagereel analyze`: finds the analysis, the capture and the way to print it. */
#include <errno.h>
#include <string.h>

#include "cmd/analyze.h"
#include "cmd/interrupt.h"
#include "cmd/row.h"

/* Analyses that draw their table themselves, or (always) are no query at all. */
static const struct drawing {
	const char *name;
	analyze_fn print;
	bool every_format;
} drawings[] = {
	{ "summary", analyze_summary_print, false },
	{ "compare", analyze_compare_print, false },
	{ "mrc", analyze_mrc_print, false },
	{ "validate", analyze_validate_print, true },
};

/* The first: one capture needs no column to say which. */
static const struct out_column known[] = {
	{ .name = "capture_id", .not_in_table = true },
	{ .name = "from_ns", .title = "from", .unit = OUT_NS },
	{ .name = "page_ns", .title = "per page", .unit = OUT_NS },
	{ .name = "call_ns", .title = "per call", .unit = OUT_NS },
	{ .name = "hold_p50_ns", .title = "p50", .unit = OUT_NS },
	{ .name = "hold_p99_ns", .title = "p99", .unit = OUT_NS },
	{ .name = "hold_max_ns", .title = "max", .unit = OUT_NS },
	{ .name = "off_cpu_ns", .title = "off CPU", .unit = OUT_NS },
	{ .name = "schedstat_ns", .title = "schedstat", .unit = OUT_NS },
	{ .name = "differ_ns", .title = "differ", .unit = OUT_NS },
	{ .name = "coverage_pct", .title = "coverage", .unit = OUT_PCT },
	{ .name = "duration_p50_ns", .title = "p50", .unit = OUT_NS },
	{ .name = "duration_p99_ns", .title = "p99", .unit = OUT_NS },
	{ .name = "duration_max_ns", .title = "max", .unit = OUT_NS },
	{ .name = "share_of_most", .title = "", .unit = OUT_BAR },
};

int analyze_query(const struct analyze_args *args, const char *sql, struct query **query,
		  struct err *err)
{
	int code = query_open(args->store, query, sql, err);

	return code ? code : query_bind_name(*query, ":capture", args->capture);
}

static const struct drawing *drawing_of(const struct analyze_args *args)
{
	for (size_t i = 0; i < ARRAY_SIZE(drawings); i++)
		if (!strcmp(drawings[i].name, args->analysis->name) &&
		    (drawings[i].every_format || out_format_is_table(args->format)))
			return &drawings[i];
	return NULL;
}

static int rows_print(const struct analyze_args *args, uint64_t *nr_rows, struct err *err)
{
	struct query *query;
	int code = analyze_query(args, args->analysis->sql, &query, err);
	int all = args->capture.type == VALUE_NULL;

	if (code)
		return code;
	/* A table without rows would be a lonely line of titles: the caller has a sentence. */
	if (out_format_is_table(args->format)) {
		code = query_step(query, err);
		query_reset(query);
	} else {
		code = 1;
	}
	if (code > 0)
		code = out_query_as(stdout, args->format, query, known + all,
				    ARRAY_SIZE(known) - all, nr_rows, err);
	query_close(query);
	return code;
}

/* Sentences on the figures above: rows of (capture_id, sentence). */
static int notes_print(const struct analyze_args *args, const char *sql, struct err *err)
{
	struct query *query;
	int code = analyze_query(args, sql, &query, err);

	if (code)
		return code;
	while ((code = query_step(query, err)) > 0)
		printf("capture %s: %s\n", row_text(query, "capture_id").text,
		       query_text(query, 1));
	query_close(query);
	return code;
}

static int analysis_print(const struct analyze_args *args, struct err *err)
{
	const struct drawing *drawing = drawing_of(args);
	bool table = out_format_is_table(args->format);
	uint64_t nr_rows = 0;
	int code, verdict;

	if (drawing)
		verdict = drawing->print(args, &nr_rows, err);
	else if (args->analysis->sql)
		verdict = rows_print(args, &nr_rows, err);
	else
		verdict = err_set(err, -EINVAL, "'%s' is not built in", args->analysis->name);
	if (verdict < 0)
		return verdict;
	if (!nr_rows && args->analysis->needs_results)
		return err_set(err, -ENODATA, "%s", args->analysis->empty);
	if (!nr_rows && args->analysis->empty) {
		fflush(stdout);
		fprintf(stderr, "pagereel analyze: %s\n", args->analysis->empty);
		return verdict;
	}
	code = table && args->analysis->note_sql ?
	       notes_print(args, args->analysis->note_sql, err) : 0;
	/* What limits them: losses, thinning, missing hits. */
	if (!code && table && args->analysis->sql)
		code = notes_print(args, sql_analyze_coverage, err);
	return code ? code : verdict;
}

/* ---- which capture --------------------------------------------------------------------------- */

static int capture_given(struct store *store, const char *text, struct value *capture,
			 struct err *err)
{
	bool found;
	uint64_t id;
	int64_t one;
	int code;

	if (!strcmp(text, "all"))
		return 0;
	code = parse_u64(text, &id, NULL);
	if (code)
		return err_set(err, code, "'%s' is no capture (a number, or all)", text);
	*capture = VALUE_OF_INT((int64_t)id);
	code = store_get_int(store, "SELECT 1 FROM capture WHERE id = ?1", capture, 1, &one, &found,
			     err);
	if (!code && !found)
		code = err_set(err, -EINVAL, "no capture %s in '%s' (pagereel info lists them)",
			       text, store_path(store));
	return code;
}

/* The only one, or the first with a note that there are others. */
static int capture_default(const struct command *self, struct store *store, struct value *capture,
			   struct err *err)
{
	int64_t first, nr;
	bool found;
	int code;

	code = store_get_int(store, "SELECT count(*) FROM capture", NULL, 0, &nr, &found, err);
	if (code || !nr)
		return code;
	code = store_get_int(store, "SELECT min(id) FROM capture", NULL, 0, &first, &found, err);
	if (code)
		return code;
	if (nr > 1)
		fprintf(stderr, "pagereel %s: capture %lld of %lld (--capture ID or all)\n",
			self->name, (long long)first, (long long)nr);
	*capture = VALUE_OF_INT(first);
	return 0;
}

int capture_choose(const struct command *self, struct store *store, const char *text,
		   struct value *capture, struct err *err)
{
	*capture = VALUE_NONE;
	return text ? capture_given(store, text, capture, err) :
		      capture_default(self, store, capture, err);
}

/* ---- command line ---------------------------------------------------------------------------- */

static int list_print(const struct command *self, enum out_format format)
{
	static const struct out_column columns[] = { { .name = "name" }, { .name = "purpose" } };
	struct out *out = out_begin(stdout, format, columns, ARRAY_SIZE(columns));
	int code;

	for (const struct analysis *a = analyses; out && a->name; a++)
		out_row(out, (struct value[]){ VALUE_OF_TEXT(a->name), VALUE_OF_TEXT(a->purpose) });
	code = out ? out_end(out) : -ENOMEM;
	return code ? cmd_fail(self, code, NULL) : cmd_finish(self);
}

static int complain_unknown(const struct command *self, const char *word)
{
	const char *nearest = NULL;

	analysis_find(word, &nearest);
	if (nearest)
		return cmd_usage(self, "no analysis '%s' (did you mean '%s'?)", word, nearest);
	return cmd_usage(self, "no analysis '%s' (pagereel analyze --list)", word);
}

static int analyze_store(struct analyze_args *args, const char *path, const char *capture,
			 struct err *err)
{
	struct interrupt interrupt;
	int code, closed;

	code = store_open(&args->store, path, args->analysis->needs_write ? 0 : STORE_READONLY,
			  err);
	if (code)
		return code;
	code = capture_choose(args->command, args->store, capture, &args->capture, err);
	if (!code)
		code = interrupt_begin(&interrupt, args->store);
	if (!code) {
		code = analysis_print(args, err);
		interrupt_end(&interrupt);
	}
	closed = store_close(args->store, err);
	return code ? code : closed;
}

static int analyze_run(const struct command *self, int argc, char **argv)
{
	struct analyze_args args = { .command = self, .format = OUT_AUTO };
	const char *capture = NULL;
	bool list = false;
	const struct opt opts[] = {
		{ 'c', "capture", OPT_TEXT, &capture, "ID", "a capture, or all (the first)" },
		{ 'f', "format", OPT_FORMAT, &args.format, "FORMAT", "table, csv, json or ndjson" },
		{ 's', "size", OPT_BYTES, &args.size_bytes, "SIZE",
		  "validate: the memory of the recorded tasks" },
		{ 'l', "list", OPT_FLAG, &list, NULL, "list the analyses" },
		{ 0 },
	};
	struct err err = { "" };
	int status, nr, code;

	nr = opts_parse(self, opts, argc, argv, false, &argv, &status);
	if (nr < 0)
		return status;
	if (list)
		return list_print(self, args.format);
	if (nr < 1 || nr > 2)
		return cmd_usage(self, "%s", nr ? "one analysis at a time" : "which database?");
	args.analysis = analysis_find(nr > 1 ? argv[1] : "summary", NULL);
	if (!args.analysis)
		return complain_unknown(self, argv[1]);
	if (args.size_bytes && strcmp(args.analysis->name, "validate"))
		return cmd_usage(self, "--size belongs to validate");
	code = analyze_store(&args, argv[0], capture, &err);
	if (code < 0)
		return cmd_fail(self, code, &err);
	status = cmd_finish(self);
	return status ? status : code;
}

const struct command cmd_analyze = {
	.name = "analyze",
	.args = "[OPTION]... RUN.db [ANALYSIS]",
	.summary = "Say what happened: summary, compare, mrc, reclaim, who, latency, slab, flush, "
		   "validate.",
	.examples = "  pagereel analyze run.db\n"
		    "  pagereel analyze run.db compare\n"
		    "  pagereel analyze run.db reclaim --format json\n",
	.run = analyze_run,
};
