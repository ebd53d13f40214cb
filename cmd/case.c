// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * case.c - `pagereel case`: the four field reports, replayed from specifications alone. Prints for
 * each the reported figures beside the replayed ones with bound and verdict, then what-ifs; writes
 * all of it to a database with -o. Exit status 1 if a bound fails.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/case.h"
#include "cmd/cmd.h"

extern const char sql_schema_cases[];

static const struct case_study *const studies[] = {
	&case_kswapd_slab, &case_cleancache, &case_refault_flush, &case_swappiness, NULL
};

enum { MAX_COLUMNS = 12, SERVICE_PID = 1000 };

struct case_report {
	const struct case_study *study;
	enum out_format format;
	struct store *store;		/* NULL: none wanted */
	int64_t capture_id;
	int64_t run_ns;			/* of the run that facts are about; 0: none */
	struct out *out;		/* the table being printed */
	const char *section;
	struct out_column columns[MAX_COLUMNS];
	int nr_columns;
	int nr_checks, nr_failed;
	bool tells_flushes;		/* case_flush_begin() */
	uint64_t nr_flushes;		/* case_flush_event() */
	struct page_packer *packer;
	int code;			/* what it failed with */
	bool checks;			/* the table is that of the bounds */
	bool one;			/* --set: figures alone */
	struct err err;
};

/* ---- the database ---------------------------------------------------------------------------- */

static int db_open(struct case_report *r, const char *path, bool force)
{
	struct capture_info info = { .source = "synth", .input = r->study->name };
	int code;

	code = store_create(&r->store, path, force ? STORE_FORCE : 0, &r->err);
	if (!code)
		code = store_exec(r->store, sql_schema_cases, &r->err);
	if (!code)
		code = store_capture_begin(r->store, &info, &r->capture_id, &r->err);
	return code;
}

static int db_close(struct case_report *r, int code)
{
	int closed;

	if (!r->store)
		return code;
	if (!code)
		code = store_capture_set_base(r->store, r->capture_id, 0, &r->err);
	if (!code)
		code = store_capture_end(r->store, r->capture_id, "complete", r->run_ns, &r->err);
	closed = store_close(r->store, &r->err);
	return code ? code : closed;
}

static struct value value_of(double v)
{
	return isfinite(v) ? VALUE_OF_REAL(v) : VALUE_NONE;
}

static int db_add(struct case_report *r, const char *item, const char *measure, double v,
		  const char *reported, double low, double high, const char *verdict)
{
	const struct value values[] = {
		VALUE_OF_INT(r->capture_id), VALUE_OF_TEXT(r->section), VALUE_OF_TEXT(item),
		VALUE_OF_TEXT(measure), value_of(v), VALUE_OF_TEXT(reported), value_of(low),
		value_of(high), VALUE_OF_TEXT(verdict),
	};

	if (!r->store)
		return 0;
	return store_run(r->store, "INSERT OR REPLACE INTO case_value VALUES(?,?,?,?,?,?,?,?,?)",
			 values, ARRAY_SIZE(values), NULL, &r->err);
}

int case_fact(struct case_report *r, const char *subject, const char *key, double value,
	      double run_s)
{
	int code;

	if (!r->store)
		return 0;
	r->run_ns = (int64_t)(run_s * 1e9);
	code = store_context(r->store, r->capture_id, 0, "start", subject, key, VALUE_OF_INT(0),
			     &r->err);
	return code ? code : store_context(r->store, r->capture_id, r->run_ns, "end", subject, key,
					   VALUE_OF_INT((int64_t)value), &r->err);
}

/* An event of one of the tables that every database has. */
static void event_add(struct case_report *r, const char *insert, int64_t ts_ns)
{
	const struct value values[] = { VALUE_OF_INT(r->capture_id), VALUE_OF_INT(ts_ns),
					VALUE_OF_INT(SERVICE_PID) };

	if (!r->code)
		r->code = store_run(r->store, insert, values, ARRAY_SIZE(values), NULL, &r->err);
}

static void page_add(struct case_report *r, int64_t ts_ns)
{
	const struct page_event event = {
		.op = PAGE_OP_ADD, .ts_ns = (uint64_t)ts_ns, .pid = SERVICE_PID,
		.page_index = r->nr_flushes, .pages = 1,
	};

	if (!r->packer)
		r->packer = page_packer_new(r->capture_id, 0, 0);
	if (!r->packer)
		r->code = -ENOMEM;
	else if (page_packer_events(r->packer) < PAGE_CHUNK_EVENTS - 1)
		page_packer_add(r->packer, &event);
}

void case_flush_begin(struct case_report *r, double run_s)
{
	r->tells_flushes = r->store;
	r->run_ns = (int64_t)(run_s * 1e9);
}

void case_flush_event(struct case_report *r, double start_ns, double hold_ns)
{
	int64_t at_ns = (int64_t)start_ns;

	if (!r->store)
		return;
	page_add(r, at_ns - 1000);
	event_add(r, "INSERT INTO memcg_flush_stats(capture_id, ts_ns, cpu, pid, id, force,"
		  " needs_flush) VALUES(?1, ?2, 0, ?3, 1, 0, 1)", at_ns);
	event_add(r, "INSERT INTO cgroup_rstat_locked(capture_id, ts_ns, cpu, pid, contended)"
		  " VALUES(?1, ?2, 0, ?3, 0)", at_ns + 1);
	event_add(r, "INSERT INTO cgroup_rstat_unlock(capture_id, ts_ns, cpu, pid, contended)"
		  " VALUES(?1, ?2, 0, ?3, 0)", at_ns + 1 + (int64_t)hold_ns);
	r->nr_flushes++;
}

static void count_add(struct case_report *r, const char *system, const char *name,
		      const char *stored_as)
{
	if (!r->code)
		r->code = store_event_count(r->store, r->capture_id, system, name, r->nr_flushes,
					    stored_as, &r->err);
}

/* What case_flush_event() collected. */
static int flushes_end(struct case_report *r)
{
	struct page_chunk chunk;

	if (!r->tells_flushes)
		return r->code;
	count_add(r, "memcg", "memcg_flush_stats", "table");
	count_add(r, "cgroup", "cgroup_rstat_locked", "table");
	count_add(r, "cgroup", "cgroup_rstat_unlock", "table");
	count_add(r, "filemap", "mm_filemap_add_to_page_cache", "page_event");
	if (!r->code)
		r->code = store_task(r->store, r->capture_id, SERVICE_PID, SERVICE_PID, "service",
				     NULL, 0, &r->err);
	if (!r->code && r->packer)
		r->code = page_packer_take(r->packer, &chunk);
	if (!r->code && r->packer) {
		r->code = store_page_chunk(r->store, &chunk, &r->err);
		page_chunk_release(&chunk);
	}
	return r->code;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static int table_end(struct case_report *r)
{
	int code = r->out ? out_end(r->out) : 0;

	r->out = NULL;
	r->checks = false;
	return code;
}

int case_table(struct case_report *r, const char *section, const struct out_column *columns,
	       int nr_columns)
{
	int code = table_end(r);

	r->section = section;
	r->nr_columns = nr_columns;
	memcpy(r->columns, columns, (size_t)nr_columns * sizeof(*columns));
	if (code || !out_format_is_table(r->format))
		return code;
	printf("\n%s\n", section);
	r->out = out_begin(stdout, r->format, r->columns, nr_columns);
	return r->out ? 0 : -ENOMEM;
}

int case_row(struct case_report *r, const char *item, const double *values)
{
	struct value row[MAX_COLUMNS] = { VALUE_OF_TEXT(item) };
	int code = 0;

	for (int i = 1; i < r->nr_columns && !code; i++) {
		bool whole = r->columns[i].unit == OUT_COUNT || r->columns[i].unit == OUT_PAGES;

		row[i] = whole && isfinite(values[i - 1]) ?
			VALUE_OF_INT((int64_t)values[i - 1]) : value_of(values[i - 1]);
		code = db_add(r, item, r->columns[i].name, values[i - 1], NULL, NAN, NAN, NULL);
	}
	return code || !r->out ? code : out_row(r->out, row);
}

static const struct out_column check_columns[] = {
	{ "case", NULL, OUT_PLAIN, false }, { "what", "figure", OUT_PLAIN, false },
	{ "reported", NULL, OUT_PLAIN, false }, { "replayed", NULL, OUT_PLAIN, false },
	{ "bound", NULL, OUT_PLAIN, false }, { "verdict", NULL, OUT_PLAIN, false },
};

static const struct out_column one_columns[] = {
	{ "what", "figure", OUT_PLAIN, false }, { "replayed", NULL, OUT_PLAIN, false },
};

static int checks_begin(struct case_report *r)
{
	bool table = out_format_is_table(r->format);

	if (r->checks)
		return 0;
	if (table && r->one) {
		case_table(r, "With these settings", one_columns, ARRAY_SIZE(one_columns));
	} else if (table) {
		case_table(r, "Reported and replayed", check_columns + 1,
			   ARRAY_SIZE(check_columns) - 1);
	} else {
		table_end(r);
		r->section = "Reported and replayed";
		r->out = out_begin(stdout, r->format, check_columns, ARRAY_SIZE(check_columns));
	}
	r->checks = true;
	return r->out ? 0 : -ENOMEM;
}

static void bound_text(char *buf, size_t bytes, double low, double high, int digits)
{
	if (isnan(low) && isnan(high))
		snprintf(buf, bytes, "none");
	else if (isinf(high))
		snprintf(buf, bytes, ">= %.*f", digits, low);
	else if (isinf(low))
		snprintf(buf, bytes, "<= %.*f", digits, high);
	else
		snprintf(buf, bytes, "%.*f to %.*f", digits, low, digits, high);
}

int case_check(struct case_report *r, const char *what, const char *reported, double value,
	       int digits, const char *unit, double low, double high)
{
	bool judged = !isnan(low) || !isnan(high), good = value >= low && value <= high;
	const char *verdict = !judged ? "" : good ? "ok" : "FAILED";
	char replayed[48], bound[48];
	const char *replayed_text = isnan(value) ? NULL : replayed, *bound_was = bound;
	struct value row[] = {
		VALUE_OF_TEXT(r->study->name), VALUE_OF_TEXT(what), VALUE_OF_TEXT(reported),
		VALUE_NONE, VALUE_NONE, VALUE_OF_TEXT(verdict),
	};
	int code = checks_begin(r);

	r->nr_checks += judged;
	r->nr_failed += judged && !good;
	snprintf(replayed, sizeof(replayed), "%.*f%s%s", digits, value, *unit ? " " : "", unit);
	bound_text(bound, sizeof(bound), low, high, digits);
	row[3] = VALUE_OF_TEXT(replayed_text);
	row[4] = VALUE_OF_TEXT(bound_was);
	if (!code)
		code = db_add(r, what, "replayed", value, reported, low, high, verdict);
	if (code)
		return code;
	if (!out_format_is_table(r->format))
		return out_row(r->out, row);
	if (r->one)
		row[2] = row[3];
	return out_row(r->out, row + 1);
}

void case_note(struct case_report *r, const char *fmt, ...)
{
	va_list ap;

	table_end(r);
	if (!out_format_is_table(r->format))
		return;
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

/* ---- --set ----------------------------------------------------------------------------------- */

static const struct param *param_in(const struct param *table, const char *name)
{
	for (; table->name; table++)
		if (!strcmp(table->name, name))
			return table;
	return NULL;
}

static int set_one(const struct param *const *tables, void *const *objects, const char *what,
		   char *setting, struct err *err)
{
	char *value = strchr(setting, '=');
	int i = 0;

	if (!value)
		return err_set(err, -EINVAL, "'%s' is no NAME=VALUE", setting);
	*value++ = '\0';
	while (tables[i] && !param_in(tables[i], setting))
		i++;
	if (!tables[i])
		i = 0;	/* for its error text, with the nearest name */
	return params_set(tables[i], objects[i], what, setting, value, err);
}

int case_set(const struct param *const *tables, void *const *objects, const char *what,
	     char *const *settings, struct err *err)
{
	int ret = 0;

	for (; *settings && !ret; settings++) {
		char *rest = *settings, *part;

		while (!ret && (part = strsep(&rest, ",")))
			ret = set_one(tables, objects, what, part, err);
	}
	return ret;
}

static void list_params(const struct case_study *study)
{
	printf("%s: %s\n", study->name, study->title);
	for (const struct param *const *table = study->tables; *table; table++)
		for (const struct param *p = *table; p->name; p++)
			printf("    %-18s %s%s%s%s (default %s)\n", p->name, p->help,
			       p->unit ? " [" : "", p->unit ? p->unit : "", p->unit ? "]" : "",
			       p->def ? p->def : "none");
}

/* ---- the command ----------------------------------------------------------------------------- */

static int run_study(struct case_report *r, const struct opt_texts *settings)
{
	char *list[ARRAY_SIZE(settings->item) + 1] = { NULL };
	int code = 0, ended;

	if (out_format_is_table(r->format))
		printf("%s: %s\n", r->study->name, r->study->title);
	for (int i = 0; i < settings->nr && !code; i++) {
		list[i] = strdup(settings->item[i]);
		code = list[i] ? 0 : -ENOMEM;
	}
	if (!code)
		code = settings->nr ? r->study->run_one(r, list, &r->err) :
				      r->study->run(r, &r->err);
	for (int i = 0; i < settings->nr; i++)
		free(list[i]);
	ended = table_end(r);
	if (!code && !ended && r->nr_checks && out_format_is_table(r->format))
		printf("\n%s: %d of %d bounds kept\n\n", r->study->name,
		       r->nr_checks - r->nr_failed, r->nr_checks);
	return code ? code : ended;
}

static int study_and_store(const struct command *self, const struct case_study *study,
			   enum out_format format, const char *path, bool force,
			   const struct opt_texts *settings, bool *failed)
{
	struct case_report r = { .study = study, .format = format, .one = settings->nr > 0 };
	int code = path ? db_open(&r, path, force) : 0;

	if (!code && r.store)
		code = store_begin(r.store, &r.err);
	if (!code)
		code = run_study(&r, settings);
	if (!code)
		code = flushes_end(&r);
	page_packer_free(r.packer);
	if (!code && r.store)
		code = store_commit(r.store, &r.err);
	code = db_close(&r, code);
	*failed |= r.nr_failed > 0;
	return code ? cmd_fail(self, code, &r.err) : 0;
}

static const struct case_study *find_study(const struct command *self, const char *name)
{
	const char *names[ARRAY_SIZE(studies)] = { NULL }, *near;

	for (int i = 0; studies[i]; i++) {
		names[i] = studies[i]->name;
		if (!strcmp(studies[i]->name, name))
			return studies[i];
	}
	near = nearest_word(name, names);
	cmd_usage(self, "no case '%s'%s%s%s", name, near ? " (did you mean '" : "",
		  near ? near : "", near ? "'?)" : "");
	return NULL;
}

static int case_run(const struct command *self, int argc, char **argv)
{
	enum out_format format = OUT_AUTO;
	struct opt_texts settings = { .nr = 0 };
	const char *output = NULL;
	bool force = false, list = false, failed = false;
	const struct opt opts[] = {
		{ 'o', "output", OPT_TEXT, &output, "FILE", "database; a directory with 'all'" },
		{ 0, "force", OPT_FLAG, &force, NULL, "replace existing files" },
		{ 0, "set", OPT_TEXTS, &settings, "NAME=VALUE",
		  "run once with this parameter changed" },
		{ 0, "params", OPT_FLAG, &list, NULL, "list the parameters of the case" },
		{ 0, "format", OPT_FORMAT, &format, "FORMAT", "table, csv, json or ndjson" },
		{ 0 },
	};
	int status, nr, all;

	nr = opts_parse(self, opts, argc, argv, false, &argv, &status);
	if (nr < 0)
		return status;
	if (nr != 1)
		return cmd_usage(self, "which case? (kswapd-slab, cleancache, refault-flush, "
				 "swappiness or all)");
	all = !strcmp(argv[0], "all");
	if (all && (settings.nr || (format != OUT_AUTO && format != OUT_TABLE)))
		return cmd_usage(self, "--set and --format want one case, not 'all'");
	for (int i = 0; studies[i] && !status; i++) {
		const struct case_study *study = all ? studies[i] : find_study(self, argv[0]);
		char path[4096];

		if (!study)
			return 2;
		snprintf(path, sizeof(path), "%s/%s.db", output ? output : "", study->name);
		if (list)
			list_params(study);
		else
			status = study_and_store(self, study, format, !output ? NULL :
						 all ? path : output, force, &settings, &failed);
		if (!all)
			break;
	}
	if (!status)
		status = cmd_finish(self);
	return status ? status : failed ? 1 : 0;
}

const struct command cmd_case = {
	.name = "case",
	.args = "[OPTION]... CASE",
	.summary =
		"Replay a known field report: reported figures beside replayed ones, and what-ifs.",
	.examples = "  pagereel case kswapd-slab\n"
		    "  pagereel case swappiness --set memory=40M,swappiness=70\n"
		    "  pagereel case all -o DIRECTORY\n",
	.run = case_run,
};
