// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * export.c - `pagereel export`: tables and views as CSV or NDJSON files, one each, for databases
 * that hold many captures. page_event and packed events are tables like any other here.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/interrupt.h"
#include "cmd/out.h"

extern const char sql_schema_export_tables[];

struct export {
	struct store *store;
	enum out_format format;
	const char *dir;	/* NULL: stdout */
	bool force;
	bool skip_empty;	/* tables that nobody asked for by name */
	uint64_t nr_files, nr_rows;
};

static const char *suffix(enum out_format format)
{
	return format == OUT_CSV ? "csv" : format == OUT_JSON ? "json" : "ndjson";
}

/* A table's name may hold anything; a file's may not leave the directory. */
static char *file_path(const struct export *e, const char *table)
{
	char *path;

	if (asprintf(&path, "%s/%s.%s", e->dir, table, suffix(e->format)) < 0)
		return NULL;
	for (char *at = path + strlen(e->dir) + 1; *at; at++)
		if (*at == '/')
			*at = '_';
	return path;
}

static FILE *file_create(const struct export *e, const char *path, int *code, struct err *err)
{
	const int how = O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | (e->force ? O_TRUNC : O_EXCL);
	int fd = open(path, how, 0600);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	if (file)
		return file;
	*code = err_sys(err, -errno, "cannot create '%s'%s", path,
			errno == EEXIST ? " (use --force to replace it)" : "");
	if (fd >= 0)
		close(fd);
	return NULL;
}

static int write_file(struct export *e, struct query *query, const char *table, struct err *err)
{
	char *path = file_path(e, table);
	uint64_t nr_rows = 0;
	FILE *file;
	int code = path ? 0 : -ENOMEM;

	file = code ? NULL : file_create(e, path, &code, err);
	if (file) {
		code = out_query(file, e->format, query, &nr_rows, err);
		if (code && ferror(file)) {
			err->text[0] = '\0';	/* it names no file */
			err_sys(err, code, "cannot write '%s'", path);
		}
		if (fclose(file) && !code)
			code = err_sys(err, -errno, "cannot write '%s'", path);
	}
	if (!code) {
		e->nr_files++;
		e->nr_rows += nr_rows;
	}
	free(path);
	return code;
}

static int export_table(struct export *e, const char *table, struct err *err)
{
	struct query *query = NULL;
	int code = query_open_table(e->store, &query, table, err);

	if (code == -ENOENT)
		code = -EINVAL;		/* a wrong word, not a missing file */
	if (!code && e->skip_empty) {
		code = query_step(query, err);
		if (code <= 0) {
			query_close(query);
			return code;
		}
		query_reset(query);
		code = 0;
	}
	if (!code && e->dir)
		code = write_file(e, query, table, err);
	else if (!code)
		code = out_query(stdout, e->format, query, &e->nr_rows, err);
	query_close(query);
	return code;
}

static int export_all(struct export *e, struct err *err)
{
	struct query *query;
	int code = query_open(e->store, &query, sql_schema_export_tables, err);

	e->skip_empty = true;
	while (!code) {
		code = query_step(query, err);
		if (code != 1)
			break;
		code = export_table(e, query_text(query, 0), err);
	}
	query_close(query);
	return code;
}

static int export_named(struct export *e, char **tables, int nr, struct err *err)
{
	int code = 0;

	for (int i = 0; !code && i < nr; i++)
		code = export_table(e, tables[i], err);
	return code;
}

static int make_dir(const char *dir, struct err *err)
{
	if (!mkdir(dir, 0700) || errno == EEXIST)
		return 0;
	return err_sys(err, -errno, "cannot make directory '%s'", dir);
}

static int export_from(const struct command *self, struct export *e, char **words, int nr)
{
	struct interrupt interrupt;
	struct err err = { "" };
	int code;

	code = store_open(&e->store, words[0], STORE_READONLY, &err);
	if (code)
		return cmd_fail(self, code, &err);
	code = e->dir ? make_dir(e->dir, &err) : 0;
	if (!code)
		code = interrupt_begin(&interrupt, e->store);
	if (!code) {
		code = nr > 1 ? export_named(e, words + 1, nr - 1, &err) : export_all(e, &err);
		interrupt_end(&interrupt);
	}
	store_close(e->store, NULL);
	if (code)
		return cmd_fail(self, code, &err);
	if (e->dir)
		printf("%s: %llu files, %llu rows\n", e->dir, (unsigned long long)e->nr_files,
		       (unsigned long long)e->nr_rows);
	return cmd_finish(self);
}

static int export_run(const struct command *self, int argc, char **argv)
{
	struct export e = { .format = OUT_CSV };
	const struct opt opts[] = {
		{ 'f', "format", OPT_FORMAT, &e.format, "FORMAT", "csv, ndjson or json" },
		{ 'o', "output", OPT_TEXT, &e.dir, "DIR",
		  "a file for each table in this directory" },
		{ 0, "force", OPT_FLAG, &e.force, NULL, "replace files that exist" },
		{ 0 },
	};
	int status, nr;

	nr = opts_parse(self, opts, argc, argv, false, &argv, &status);
	if (nr < 0)
		return status;
	if (!nr)
		return cmd_usage(self, "which database?");
	if (e.format == OUT_TABLE || e.format == OUT_AUTO)
		return cmd_usage(self, "a table is for people: use --format csv, ndjson or json");
	if (!e.dir && nr != 2)
		return cmd_usage(self, "more than one table needs a directory (-o DIR)");
	return export_from(self, &e, argv, nr);
}

const struct command cmd_export = {
	.name = "export",
	.args = "[OPTION]... RUN.db [TABLE|VIEW]...",
	.summary = "Write tables and views as CSV or NDJSON, page events included.",
	.examples = "  pagereel export run.db -o tables\n"
		    "  pagereel export run.db page_event reclaim_episode -f ndjson -o out\n"
		    "  pagereel export run.db replay_result | head\n",
	.run = export_run,
};
