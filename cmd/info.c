// SPDX-License-Identifier: GPL-2.0-or-later
/* info.c - `pagereel info`: what a database holds, and how far it can be trusted. */
#include <errno.h>
#include <string.h>

#include "analyze/analyze.h"
#include "cmd/cmd.h"
#include "cmd/out.h"
#include "cmd/row.h"

#define TEXT(name) (row_text(query, name).text)
#define COUNT(name) (row_text_as(query, name, OUT_COUNT).text)

static void fact(const char *name)
{
	printf("  %-12s", name);
}

static void status_print(const struct query *query)
{
	fact("status");
	if (row_int(query, "ended_abnormally"))
		printf("ended abnormally (killed, or still running): "
		       "at most its last second is missing\n");
	else
		printf("%s\n", TEXT("status"));
}

static void events_print(const struct query *query)
{
	int64_t nr_gaps = row_int(query, "nr_gaps");
	const char *plural = nr_gaps == 1 ? "" : "s";

	fact("events");
	printf("%s", COUNT("nr_events"));
	if (!row_is_null(query, "nr_types"))
		printf(" of %s types (%s more enabled, none of them seen)", TEXT("nr_types"),
		       TEXT("nr_silent_types"));
	if (!nr_gaps)
		printf(", none lost\n");
	else if (row_is_null(query, "events_lost"))
		printf(", unknown losses in %s gap%s: coverage n/a (a gap does not say how many)\n",
		       COUNT("nr_gaps"), plural);
	else
		printf(", %s lost in %s gap%s: coverage %s\n", COUNT("events_lost"),
		       COUNT("nr_gaps"), plural, TEXT("coverage_pct"));
}

static void pages_print(const struct query *query)
{
	int64_t mask = row_int(query, "sample_mask");

	if (row_is_null(query, "nr_chunks"))
		return;
	fact("page events");
	printf("%s in %s chunks, %.2f bytes each", COUNT("nr_page_events"), COUNT("nr_chunks"),
	       row_value(query, "bytes_per_page_event").r);
	if (mask)
		printf("; thinned: 1 page in %lld (index & %lld)", (long long)mask + 1,
		       (long long)mask);
	printf("\n");
	fact("hits");
	printf("%s", row_int(query, "has_hits") ? "recorded" :
	       "not recorded ('fills-only'): a replay claims nothing below the recorded size");
	if (row_is_null(query, "hits_reason"))
		printf("\n");
	else
		printf(" (mm_filemap_get_pages is %s)\n", TEXT("hits_reason"));
}

static void capture_print(const struct query *query)
{
	printf("capture %s: %s%s%s\n", TEXT("capture_id"), TEXT("source"),
	       row_is_null(query, "input") ? "" : " of ",
	       row_is_null(query, "input") ? "" : TEXT("input"));
	status_print(query);
	fact("kernel");
	printf("%s, %s CPU%s, host %s\n", TEXT("kernel_release"), TEXT("nr_cpus"),
	       row_int(query, "nr_cpus") == 1 ? "" : "s", TEXT("hostname"));
	fact("time");
	printf("%s from %s UTC, clock %s\n", TEXT("duration_ns"), TEXT("started_utc"),
	       TEXT("clock"));
	events_print(query);
	pages_print(query);
	fact("names");
	printf("%s files, %s tasks, %s facts of context\n", COUNT("nr_files"), COUNT("nr_tasks"),
	       COUNT("nr_context"));
}

/* Rows of one of the queries below a heading that is printed only if there are any. */
static int section_print(struct store *store, const char *heading, const char *sql,
			 struct value capture, int nr_captures, struct err *err)
{
	static const struct out_column which = { .name = "capture_id", .not_in_table = true };
	struct query *query;
	int code = query_open(store, &query, sql, err);

	if (code)
		return code;
	query_bind_name(query, ":capture", capture);
	query_bind_name(query, ":some", VALUE_OF_INT(1));
	code = query_step(query, err);
	if (code > 0) {
		query_reset(query);
		printf("\n%s\n", heading);
		code = out_query_as(stdout, OUT_TABLE, query, &which, nr_captures == 1, NULL, err);
	}
	query_close(query);
	return code;
}

static int sections_print(struct store *store, struct value capture, int nr_captures,
			  struct err *err)
{
	static const struct { const char *heading, *sql; } sections[] = {
		{ "Events", sql_analyze_info_events },
		{ "Gaps (the largest 10)", sql_analyze_info_gaps },
		{ "Demand streams", sql_analyze_info_streams },
		{ "Replay results", sql_analyze_info_results },
	};
	int code = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sections) && !code; i++)
		code = section_print(store, sections[i].heading, sections[i].sql, capture,
				     nr_captures, err);
	return code;
}

static int captures_print(struct store *store, struct query *query, struct value capture,
			  struct err *err)
{
	char size[32];
	int nr = 0, code;

	printf("%s: %s\n", store_path(store),
	       format_bytes(size, sizeof(size), store_file_bytes(store)));
	while ((code = query_step(query, err)) > 0) {
		printf("\n");
		capture_print(query);
		nr++;
	}
	if (code)
		return code;
	if (!nr)
		return capture.type == VALUE_NULL ? (printf("no captures\n"), 0) :
			err_set(err, -EINVAL, "no capture %lld in '%s'", (long long)capture.i,
				store_path(store));
	return sections_print(store, capture, nr, err);
}

static const struct out_column nested[] = {
	{ .name = "events", .json_raw = true },
	{ .name = "demand_streams", .json_raw = true },
	{ .name = "results", .json_raw = true },
};

static int info_print(struct store *store, enum out_format format, bool events,
		      struct value capture, struct err *err)
{
	struct query *query;
	int code;

	code = query_open(store, &query, events ? sql_analyze_info_events : sql_analyze_info, err);
	if (code)
		return code;
	query_bind_name(query, ":capture", capture);
	if (events || !out_format_is_table(format))
		code = out_query_as(stdout, format, query, nested, ARRAY_SIZE(nested), NULL, err);
	else
		code = captures_print(store, query, capture, err);
	query_close(query);
	return code;
}

static int info_run(const struct command *self, int argc, char **argv)
{
	enum out_format format = OUT_AUTO;
	uint64_t capture = 0;
	bool events = false;
	const struct opt opts[] = {
		{ 'f', "format", OPT_FORMAT, &format, "FORMAT", "table, csv, json or ndjson" },
		{ 'c', "capture", OPT_U64, &capture, "ID", "this capture only (all)" },
		{ 'e', "events", OPT_FLAG, &events, NULL, "only the table of events" },
		{ 0 },
	};
	struct store *store;
	struct err err = { "" };
	int status, nr, code;

	nr = opts_parse(self, opts, argc, argv, false, &argv, &status);
	if (nr < 0)
		return status;
	if (nr != 1)
		return cmd_usage(self, "%s", nr ? "one database at a time" : "which database?");
	code = store_open(&store, argv[0], STORE_READONLY, &err);
	if (code)
		return cmd_fail(self, code, &err);
	code = info_print(store, format, events,
			  capture ? VALUE_OF_INT((int64_t)capture) : VALUE_NONE, &err);
	store_close(store, NULL);
	return code ? cmd_fail(self, code, &err) : cmd_finish(self);
}

const struct command cmd_info = {
	.name = "info",
	.args = "[OPTION]... RUN.db",
	.summary = "Show what a database holds: captures, events, losses, results.",
	.examples = "  pagereel info run.db\n"
		    "  pagereel info run.db --format json\n"
		    "  pagereel info run.db --events --format csv\n",
	.run = info_run,
};
