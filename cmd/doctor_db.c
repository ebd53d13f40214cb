// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * doctor_db.c - `pagereel doctor RUN.db`: asks each rule of analyze/doctor.c and says what it
 * found, how sure that is, what to try and which command shows the gain. A rule decides in its SQL
 * alone; here is only the miss ratio curve that one of them wants, computed if the database has
 * none yet.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/analyze.h"
#include "cmd/doctor.h"
#include "cmd/interrupt.h"
#include "cmd/replay.h"
#include "cmd/row.h"

enum { EXACT_ACCESSES = 20000000, SAMPLE_PAGES = 8192, TEXT_BYTES = 1024, WIDTH = 96 };

/* What one rule says of one capture. */
struct verdict {
	const struct doctor_rule *rule;
	int64_t capture_id;
	const char *state; /* "finding", "ok", "unknown" */
	char confidence[16];
	struct value figure;
	char sentence[TEXT_BYTES]; /* "" if ok */
	char advice[TEXT_BYTES];
	char command[TEXT_BYTES];
};

struct diagnosis {
	const struct command *self;
	const struct diagnosis_options *o;
	struct store *store;
	const char *path;
	struct value capture;
	struct verdict *verdicts;
	size_t nr, room;
	size_t nr_findings, nr_unknown;
};

/* ---- texts ----------------------------------------------------------------------------------- */

/* 'it'\''s', unless it needs no quotes. */
static void shell_quote(FILE *out, const char *path)
{
	if (*path && !path[strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					"0123456789_./-+,:@%")]) {
		fputs(path, out);
		return;
	}
	fputc('\'', out);
	for (; *path; path++)
		if (*path == '\'')
			fputs("'\\''", out);
		else
			fputc(*path, out);
	fputc('\'', out);
}

/* @template with {db} and the figures of the row in place of {COLUMN}. */
static void template_fill(char *buf, size_t buf_bytes, const char *template, const char *path,
			  const struct query *query)
{
	FILE *out = fmemopen(buf, buf_bytes, "w");

	buf[0] = '\0';
	while (out && *template) {
		size_t plain = strcspn(template, "{"), bytes;
		char column[64];

		fwrite(template, 1, plain, out);
		template += plain;
		if (!*template)
			break;
		bytes = strcspn(template, "}");
		snprintf(column, sizeof(column), "%.*s", (int)bytes - 1, template + 1);
		if (!strcmp(column, "db"))
			shell_quote(out, path);
		else
			fputs(row_text(query, column).text, out);
		template += bytes + (template[bytes] == '}');
	}
	if (out)
		fclose(out);
	buf[buf_bytes - 1] = '\0';
}

/* Words up to WIDTH a line, the first after @label. */
static void wrap_print(const char *label, const char *text)
{
	char safe[4 * TEXT_BYTES];
	size_t column = strlen(label), indent = column;
	char *save = NULL;

	out_text_escape(safe, sizeof(safe), text, strlen(text), NULL);
	fputs(label, stdout);
	for (char *word = strtok_r(safe, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		if (column > indent && column + 1 + strlen(word) > WIDTH) {
			printf("\n%*s", (int)indent, "");
			column = indent;
		} else if (column > indent) {
			putchar(' ');
			column++;
		}
		fputs(word, stdout);
		column += strlen(word);
	}
	putchar('\n');
}

static void line_print(const char *label, const char *text)
{
	char safe[4 * TEXT_BYTES];

	out_text_escape(safe, sizeof(safe), text, strlen(text), NULL);
	printf("%s%s\n", label, safe);
}

/* ---- the curve ------------------------------------------------------------------------------- */

static int curve_compute(struct diagnosis *d, const struct demand_info *info, struct err *err)
{
	struct replay_models models = { 0 };
	const struct replay_sizes sizes = { 0 };
	const struct grid_opts grid_opts = { .nr_threads = 1, .seed = 1 };
	struct demand_source source;
	struct db_source db;
	const struct replay_curves curves = {
		.store = d->store,
		.stream_id = info->stream_id,
		.source = &source,
		.grid_opts = &grid_opts,
		.silent = true,
		.opts = { .seed = 1,
			  .max_pages = info->nr_accesses > EXACT_ACCESSES ? SAMPLE_PAGES : 0 },
	};
	int ret;

	db_source_init(&db, d->path, info, &source);
	ret = db_source_limit(&db, d->store, info, &source, err);
	if (!ret && source.nr_accesses)
		ret = replay_models_add(&models, "lru", err);
	if (!ret && source.nr_accesses)
		ret = replay_curves_run(&curves, &models, &sizes, OUT_AUTO, err);
	replay_models_release(&models);
	db_source_release(&db);
	return ret;
}

/* LRU's curve of a capture, if it is not there and there is a demand to compute it from. */
static int curve_ensure(struct diagnosis *d, int64_t capture_id, struct err *err)
{
	const struct value id = VALUE_OF_INT(capture_id);
	struct demand_info info;
	int64_t there;
	bool found;
	int ret;

	ret = store_get_int(d->store,
			    "SELECT 1 FROM curve c JOIN demand_stream s ON s.id = c.stream_id"
			    " WHERE s.capture_id = ?1 AND c.model = 'lru' AND c.params = ''",
			    &id, 1, &there, &found, err);
	if (ret || found)
		return ret;
	ret = demand_stream_get(d->store, capture_id, &info, NULL);
	if (ret == -ENODATA)
		return 0;
	if (ret)
		return err_set(err, ret, "no demand can be derived from capture %lld of '%s'",
			       (long long)capture_id, d->path);
	return info.nr_accesses ? curve_compute(d, &info, err) : 0;
}

static int curves_ensure(struct diagnosis *d, struct err *err)
{
	int64_t ids[256];
	struct query *query;
	int ret, nr = 0;

	if (d->capture.type == VALUE_INT)
		return curve_ensure(d, d->capture.i, err);
	ret = query_open(d->store, &query, "SELECT id FROM capture ORDER BY id", err);
	if (ret)
		return ret;
	while (nr < (int)ARRAY_SIZE(ids) && (ret = query_step(query, err)) == 1)
		ids[nr++] = query_int(query, 0);
	query_close(query);
	for (int i = 0; i < nr && ret >= 0; i++)
		ret = curve_ensure(d, ids[i], err);
	return ret < 0 ? ret : 0;
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* Lost events cost every other rule a step of its confidence. */
static const char *confidence_of(const struct query *query, bool lossy)
{
	const char *said = row_value(query, "confidence").text;

	if (!said || !lossy)
		return said ? said : "low";
	return !strcmp(said, "high") ? "medium" : "low";
}

static int coverage_read(struct diagnosis *d, int64_t capture_id, bool *lossy, struct err *err)
{
	const struct value id = VALUE_OF_INT(capture_id);
	int64_t there;

	return store_get_int(d->store,
			     "SELECT 1 FROM capture_coverage WHERE capture_id = ?1"
			     " AND coalesce(coverage_pct < 99, 1)",
			     &id, 1, &there, lossy, err);
}

static int verdict_take(struct diagnosis *d, const struct doctor_rule *rule,
			const struct query *query, struct err *err)
{
	const char *state = row_value(query, "state").text;
	const char *command = row_value(query, "command").text;
	struct verdict *v;
	bool lossy = false;
	int ret;

	if (d->nr == d->room) {
		size_t room = d->room ? 2 * d->room : 64;

		v = realloc(d->verdicts, room * sizeof(*v));
		if (!v)
			return err_set(err, -ENOMEM, "no memory for the diagnosis");
		d->verdicts = v;
		d->room = room;
	}
	v = &d->verdicts[d->nr];
	*v = (struct verdict){ .rule = rule, .capture_id = row_int(query, "capture_id") };
	v->state = state && !strcmp(state, "finding") ? "finding" : state ? "ok" : "unknown";
	ret = coverage_read(d, v->capture_id, &lossy, err);
	if (ret)
		return ret;
	v->figure = row_value(query, rule->figure);
	snprintf(v->confidence, sizeof(v->confidence), "%s",
		 confidence_of(query, lossy && rule != doctor_rules));
	if (!state)
		snprintf(v->sentence, sizeof(v->sentence), "not known: needs %s",
			 row_value(query, "missing").text ?: "more than was recorded");
	else if (!strcmp(v->state, "finding"))
		template_fill(v->sentence, sizeof(v->sentence), rule->sentence, d->path, query);
	snprintf(v->advice, sizeof(v->advice), "%s",
		 row_value(query, "advice").text ?: rule->advice);
	template_fill(v->command, sizeof(v->command), command ? command : rule->command, d->path,
		      query);
	d->nr_findings += !strcmp(v->state, "finding");
	d->nr_unknown += !state;
	d->nr++;
	return 0;
}

static int rule_ask(struct diagnosis *d, const struct doctor_rule *rule, struct err *err)
{
	struct query *query;
	int ret = query_open(d->store, &query, rule->sql, err);

	if (ret)
		return ret;
	ret = query_bind_name(query, ":capture", d->capture);
	if (!ret)
		ret = doctor_bind(rule, &d->o->settings[rule - doctor_rules], query);
	while (!ret && (ret = query_step(query, err)) == 1)
		ret = verdict_take(d, rule, query, err);
	query_close(query);
	return ret;
}

static bool is_wanted(const struct diagnosis *d, const char *name)
{
	return d->o->wanted[doctor_rule_find(name, NULL) - doctor_rules];
}

static int diagnose(struct diagnosis *d, bool writable, struct err *err)
{
	int ret = 0;

	if (writable && is_wanted(d, "working-set"))
		ret = curves_ensure(d, err);
	for (int i = 0; i < NR_DOCTOR_RULES && !ret; i++)
		if (d->o->wanted[i])
			ret = rule_ask(d, &doctor_rules[i], err);
	return ret;
}

/* ---- answering ------------------------------------------------------------------------------- */

static int rows_print(const struct diagnosis *d)
{
	static const struct out_column columns[] = {
		{ .name = "capture_id" }, { .name = "rule" },	     { .name = "state" },
		{ .name = "sentence" },	  { .name = "figure_name" }, { .name = "figure" },
		{ .name = "confidence" }, { .name = "advice" },	     { .name = "command" },
	};
	struct out *out = out_begin(stdout, d->o->format, columns, ARRAY_SIZE(columns));
	int ret = out ? 0 : -ENOMEM;

	for (size_t i = 0; i < d->nr && !ret; i++) {
		const struct verdict *v = &d->verdicts[i];
		bool found = !strcmp(v->state, "finding"), known = strcmp(v->state, "unknown");
		const char *sentence = v->sentence[0] ? v->sentence : NULL;
		const char *sure = known ? v->confidence : NULL;
		const char *advice = found ? v->advice : NULL;
		const char *command = found ? v->command : NULL;

		ret = out_row(out, (const struct value[]){
					   VALUE_OF_INT(v->capture_id),
					   VALUE_OF_TEXT(v->rule->name),
					   VALUE_OF_TEXT(v->state),
					   VALUE_OF_TEXT(sentence),
					   VALUE_OF_TEXT(v->rule->figure),
					   known ? v->figure : VALUE_NONE,
					   VALUE_OF_TEXT(sure),
					   VALUE_OF_TEXT(advice),
					   VALUE_OF_TEXT(command),
				   });
	}
	return out ? out_end(out) ?: ret : ret;
}

static void finding_print(const struct diagnosis *d, const struct verdict *v, size_t number)
{
	char label[32];

	snprintf(label, sizeof(label), "%zu. ", number);
	wrap_print(label, v->sentence);
	printf("   rule        %s", v->rule->name);
	if (d->capture.type != VALUE_INT)
		printf(" (capture %lld)", (long long)v->capture_id);
	printf(", confidence %s\n", v->confidence);
	wrap_print("   try         ", v->advice);
	line_print("   see         ", v->command);
	putchar('\n');
}

static void others_print(const struct diagnosis *d)
{
	for (size_t i = 0; i < d->nr; i++) {
		const struct verdict *v = &d->verdicts[i];
		char label[64];

		if (!strcmp(v->state, "finding"))
			continue;
		snprintf(label, sizeof(label), "   %-18s", v->rule->name);
		wrap_print(label, v->sentence[0] ? v->sentence : "ok");
	}
}

/* The closing sentence: what silence is worth. */
static void summary_print(const struct diagnosis *d)
{
	size_t nr_ok = d->nr - d->nr_findings - d->nr_unknown;

	if (!d->nr)
		printf("No captures in this database.\n");
	else if (!d->nr_findings && (nr_ok > 1 || !d->nr_unknown))
		printf("Healthy: no finding by the %zu rule%s that had something to look at.\n",
		       nr_ok, nr_ok == 1 ? "" : "s");
	else if (!d->nr_findings)
		printf("No finding, but only %zu of %zu rules had something to look at.\n", nr_ok,
		       d->nr);
	else
		printf("%zu finding%s; %zu rule%s found nothing.\n", d->nr_findings,
		       d->nr_findings > 1 ? "s" : "", nr_ok, nr_ok == 1 ? "" : "s");
	if (d->nr_unknown && !d->o->all)
		printf("Not known: %zu rule%s whose evidence was not recorded (--all says what "
		       "they "
		       "need).\n",
		       d->nr_unknown, d->nr_unknown > 1 ? "s" : "");
}

/* Captures whose streams lack the hits: what no rule finds and limits what replays are worth. */
static int fills_only_print(const struct diagnosis *d, struct err *err)
{
	struct query *query;
	int ret = query_open(d->store, &query,
			     "SELECT id FROM capture WHERE NOT has_hits AND (:capture IS NULL OR id"
			     " = :capture) AND EXISTS (SELECT 1 FROM page_chunk WHERE capture_id ="
			     " capture.id) ORDER BY id", err);

	if (ret)
		return ret;
	ret = query_bind_name(query, ":capture", d->capture);
	while (!ret && (ret = query_step(query, err)) == 1) {
		printf("Capture %lld is fills-only: no hits were recorded (see pagereel info), so "
		       "replays claim nothing below the recorded size.\n",
		       (long long)query_int(query, 0));
		ret = 0;
	}
	query_close(query);
	return ret;
}

/* No rule looks at what was cached before; who reads "ok" should know. */
static int warm_note(const struct diagnosis *d, struct err *err)
{
	double pct;
	int ret;

	if (d->capture.type != VALUE_INT)
		return 0;
	ret = warm_pct_read(d->store, d->capture.i, &pct, err);
	if (!ret)
		warm_print(pct);
	return ret;
}

static int table_print(const struct diagnosis *d, struct err *err)
{
	size_t number = 0;

	for (size_t i = 0; i < d->nr; i++)
		if (!strcmp(d->verdicts[i].state, "finding"))
			finding_print(d, &d->verdicts[i], ++number);
	if (d->o->all)
		others_print(d);
	summary_print(d);
	return fills_only_print(d, err) ?: warm_note(d, err);
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Writable if it can be: a curve that is computed is kept. */
static int store_open_best(struct diagnosis *d, bool *writable, struct err *err)
{
	*writable = !d->o->no_replay;
	if (*writable && !store_open(&d->store, d->path, 0, NULL))
		return 0;
	*writable = false;
	return store_open(&d->store, d->path, STORE_READONLY, err);
}

int doctor_diagnose(const struct command *self, const char *path, const struct diagnosis_options *o)
{
	struct diagnosis d = { .self = self, .o = o, .path = path };
	struct interrupt interrupt;
	struct err err = { "" };
	bool writable;
	int code, closed, status;

	code = store_open_best(&d, &writable, &err);
	if (code)
		return cmd_fail(self, code, &err);
	code = capture_choose(self, d.store, o->capture, &d.capture, &err);
	if (!code)
		code = interrupt_begin(&interrupt, d.store);
	if (!code) {
		code = diagnose(&d, writable, &err);
		interrupt_end(&interrupt);
	}
	if (!code)
		code = out_format_is_table(o->format) ? table_print(&d, &err) : rows_print(&d);
	closed = store_close(d.store, code ? NULL : &err);
	free(d.verdicts);
	if (code || closed)
		return cmd_fail(self, code ? code : closed, &err);
	status = cmd_finish(self);
	return status ? status : d.nr_findings > 0;
}

static void settings_text(const struct doctor_rule *rule, const struct doctor_settings *settings,
			  char *buf, size_t buf_bytes)
{
	params_format(rule->params, settings, true, buf, buf_bytes);
}

int doctor_list(const struct command *self, const struct diagnosis_options *o)
{
	static const struct out_column columns[] = {
		{ .name = "rule" }, { .name = "threshold" }, { .name = "default" },
		{ .name = "unit" }, { .name = "purpose" },
	};
	struct out *out = out_begin(stdout, o->format, columns, ARRAY_SIZE(columns));
	int code = out ? 0 : -ENOMEM;

	for (int i = 0; i < NR_DOCTOR_RULES && !code; i++) {
		const struct doctor_rule *rule = &doctor_rules[i];

		if (!o->wanted[i])
			continue;
		code = out_row(out,
			       (const struct value[]){ VALUE_OF_TEXT(rule->name), VALUE_OF_TEXT(""),
						       VALUE_OF_TEXT(""), VALUE_OF_TEXT(""),
						       VALUE_OF_TEXT(rule->title) });
		for (const struct param *p = rule->params; p->name && !code; p++)
			code = out_row(out, (const struct value[]){ VALUE_OF_TEXT(rule->name),
								    VALUE_OF_TEXT(p->name),
								    VALUE_OF_TEXT(p->def),
								    VALUE_OF_TEXT(p->unit),
								    VALUE_OF_TEXT(p->help) });
	}
	code = out ? out_end(out) ?: code : code;
	return code ? cmd_fail(self, code, NULL) : cmd_finish(self);
}

int doctor_show_sql(const struct command *self, const struct diagnosis_options *o)
{
	for (int i = 0; i < NR_DOCTOR_RULES; i++) {
		const struct doctor_rule *rule = &doctor_rules[i];
		char settings[512], *text;

		if (!o->wanted[i])
			continue;
		text = doctor_sql_text(rule, &o->settings[i], VALUE_NONE);
		if (!text)
			return cmd_fail(self, -ENOMEM, NULL);
		settings_text(rule, &o->settings[i], settings, sizeof(settings));
		printf("/* %s: %s\n   with %s */\n%s\n", rule->name, rule->title, settings, text);
		free(text);
	}
	return cmd_finish(self);
}
