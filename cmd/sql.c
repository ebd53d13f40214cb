// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sql.c - `pagereel sql`: statements on a database, with page_event and the packed event tables
 * built in. Reading is the rule; --write is needed to change anything.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/interrupt.h"
#include "cmd/out.h"

struct session {
	struct store *store;
	enum out_format format;
	bool write;
	uint64_t nr_results;	/* statements that gave columns */
};

static int statement_run(struct session *session, struct query *query, struct err *err)
{
	int code;

	if (!session->write && !query_is_readonly(query))
		return err_set(err, -EINVAL, "the statement would change the database "
			       "(give --write to allow it)");
	if (!query_columns(query)) {
		while ((code = query_step(query, err)) > 0)
			;
		return code;
	}
	/* Tables of several statements are set apart; the other formats stay one stream. */
	if (session->nr_results++ && out_format_is_table(session->format))
		putchar('\n');
	return out_query(stdout, session->format, query, NULL, err);
}

enum { MAX_NAMES = 1024 };

/* "no such table: page_evnt" becomes "... (did you mean 'page_event'?)". */
static void suggest_table(struct store *store, struct err *err)
{
	static const char complaint[] = "no such table: ";
	char *names[MAX_NAMES + 1] = { NULL };
	const char *near;
	struct query *query = NULL;
	size_t used = strlen(err->text);
	int nr = 0;

	if (strncmp(err->text, complaint, sizeof(complaint) - 1))
		return;
	if (!query_open(store, &query, "SELECT name FROM pragma_table_list UNION "
			"SELECT name FROM pragma_module_list WHERE name NOT LIKE 'pragma%'", NULL))
		while (nr < MAX_NAMES && query_step(query, NULL) > 0)
			names[nr++] = strdup(query_text(query, 0));
	query_close(query);
	near = nearest_word(err->text + sizeof(complaint) - 1, (const char *const *)names);
	if (near)
		snprintf(err->text + used, sizeof(err->text) - used, " (did you mean '%s'?)", near);
	for (int i = 0; i < nr; i++)
		free(names[i]);
}

/* ---- commands of the sqlite3 shell ----------------------------------------------------------- */

/* What can be asked: tables, views, and those that the program brings along. */
static const char tables_sql[] =
	"SELECT name, type FROM pragma_table_list WHERE schema = 'main'"
	" AND type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name LIKE ?1"
	" UNION SELECT name, 'virtual' FROM pragma_module_list WHERE name LIKE ?1"
	" AND (name IN ('page_event', 'page_life') OR name IN"
	"  (SELECT name FROM event_table WHERE packed)) ORDER BY name";
static const char schema_sql[] =
	"SELECT sql || ';' AS sql FROM sqlite_schema WHERE sql IS NOT NULL"
	" AND (name LIKE ?1 OR tbl_name LIKE ?1)"
	" UNION ALL SELECT 'CREATE VIRTUAL TABLE ' || m.name || '(' ||"
	"  (SELECT group_concat(trim(x.name || ' ' || x.type), ', ')"
	"  FROM pragma_table_xinfo(m.name) x) || ');'"
	" FROM pragma_module_list m WHERE m.name LIKE ?1 AND (m.name IN ('page_event', 'page_life')"
	"  OR m.name IN (SELECT name FROM event_table WHERE packed))";

/* Statements as they were written, but nothing that drives the terminal. */
static void statement_print(const char *text)
{
	for (; *text; text++)
		putchar(iscntrl((unsigned char)*text) && !isspace((unsigned char)*text) ? '?' :
			*text);
	putchar('\n');
}

static int shell_query(struct session *session, const char *sql, const char *pattern,
		       struct err *err)
{
	struct query *query;
	int code = query_open(session->store, &query, sql, err);

	if (code)
		return code;
	query_bind(query, 1, VALUE_OF_TEXT(pattern));
	if (sql == schema_sql && out_format_is_table(session->format))
		while ((code = query_step(query, err)) == 1)
			statement_print(query_text(query, 0));
	else
		code = statement_run(session, query, err);
	query_close(query);
	return code;
}

/* ".tables [PATTERN]" and ".schema [PATTERN]"; the rest is the shell's. */
static int shell_command(struct session *session, const char *line, struct err *err)
{
	char word[16] = "", pattern[128] = "%";

	sscanf(line, ".%15[^ \t\r\n;] %127[^ \t\r\n;]", word, pattern);
	if (!strcmp(word, "tables"))
		return shell_query(session, tables_sql, pattern, err);
	if (!strcmp(word, "schema"))
		return shell_query(session, schema_sql, pattern, err);
	return err_set(err, -EINVAL,
		       "no command '.%s' here: .tables [NAME], .schema [NAME] or SQL; all others "
		       "has the sqlite3 shell (sqlite3 RUN.db -cmd '.load ./pagereel')",
		       word);
}

static int script_run(struct session *session, const char *sql, struct err *err)
{
	int code = 0;

	if (sql[strspn(sql, " \t\r\n")] == '.')
		return shell_command(session, sql + strspn(sql, " \t\r\n"), err);
	while (!code && *sql) {
		struct query *query = NULL;

		code = query_open_tail(session->store, &query, sql, &sql, err);
		if (!code && query)
			code = statement_run(session, query, err);
		query_close(query);
	}
	if (code)
		suggest_table(session->store, err);
	return code;
}

/* ---- input ----------------------------------------------------------------------------------- */

/* Skips the string, quoted name or comment that begins at @sql[at], or one character. */
static size_t token_end(const char *sql, size_t at, size_t end)
{
	char c = sql[at], close = c == '[' ? ']' : c;
	const char *stop;

	if (c == '\'' || c == '"' || c == '`' || c == '[') {
		stop = memchr(sql + at + 1, close, end - at - 1);
		return stop ? (size_t)(stop - sql) + 1 : end + 1;
	}
	if (!strncmp(sql + at, "--", 2)) {
		stop = memchr(sql + at, '\n', end - at);
		return stop ? (size_t)(stop - sql) + 1 : end;
	}
	if (!strncmp(sql + at, "/*", 2)) {
		stop = strstr(sql + at + 2, "*/");
		return stop ? (size_t)(stop - sql) + 2 : end + 1;
	}
	return at + 1;
}

/* True if @sql ends in a semicolon that ends a statement: not inside a string or comment. */
static bool statement_is_whole(const char *sql)
{
	size_t end = strlen(sql), at = 0;
	bool whole = false;

	while (at < end) {
		bool blank = isspace((unsigned char)sql[at]) || !strncmp(sql + at, "--", 2) ||
			     !strncmp(sql + at, "/*", 2);

		if (!blank)
			whole = sql[at] == ';';
		at = token_end(sql, at, end);
		if (at > end)
			return false;
	}
	return whole;
}

static bool is_blank(const char *text)
{
	return text[strspn(text, " \t\r\n;")] == '\0';
}

static char *text_append(char *text, const char *line)
{
	size_t used = text ? strlen(text) : 0;
	char *more = realloc(text, used + strlen(line) + 1);

	if (!more) {
		free(text);
		return NULL;
	}
	strcpy(more + used, line);
	return more;
}

static bool is_quit(const char *line)
{
	return !strncmp(line, ".q", 2) || !strncmp(line, ".exit", 5);
}

/* A prompt for people: an error is shown and the next statement asked for. */
static int prompt_run(const struct command *self, struct session *session)
{
	char *line = NULL, *sql = NULL;
	size_t room = 0;
	int status = 0;

	fprintf(stderr,
		"End a statement with ';'. What there is: .tables, .schema NAME, .quit\n");
	for (;;) {
		struct err err = { "" };
		int code;

		fputs(sql ? "     ...> " : "pagereel> ", stderr);
		if (getline(&line, &room, stdin) < 0 || (!sql && is_quit(line)))
			break;
		sql = text_append(sql, line);
		if (!sql || (sql[0] != '.' && !statement_is_whole(sql) && !is_blank(sql)))
			continue;
		session->nr_results = 0;
		code = script_run(session, sql, &err);
		status = code ? cmd_fail(self, code, &err) : cmd_finish(self);
		free(sql);
		sql = NULL;
	}
	fputc('\n', stderr);
	free(line);
	free(sql);
	return status;
}

static char *stream_read(FILE *stream, struct err *err)
{
	size_t room = 0;
	char *text = NULL;

	if (getdelim(&text, &room, '\0', stream) < 0) {
		free(text);
		if (ferror(stream)) {
			err_sys(err, -errno, "cannot read the statements");
			return NULL;
		}
		return calloc(1, 1);
	}
	return text;
}

static int stdin_run(const struct command *self, struct session *session)
{
	struct err err = { "" };
	char *sql;
	int code;

	if (isatty(STDIN_FILENO))
		return prompt_run(self, session);
	sql = stream_read(stdin, &err);
	if (!sql)
		return cmd_fail(self, -EIO, &err);
	code = script_run(session, sql, &err);
	free(sql);
	return code ? cmd_fail(self, code, &err) : cmd_finish(self);
}

static int args_run(const struct command *self, struct session *session, int nr, char **args)
{
	for (int i = 0; i < nr; i++) {
		struct err err = { "" };
		int code = script_run(session, args[i], &err);

		if (code)
			return cmd_fail(self, code, &err);
	}
	return cmd_finish(self);
}

static int sql_run(const struct command *self, int argc, char **argv)
{
	struct session session = { .format = OUT_AUTO };
	const struct opt opts[] = {
		{ 'f', "format", OPT_FORMAT, &session.format, "FORMAT",
		  "table, csv, json or ndjson" },
		{ 'w', "write", OPT_FLAG, &session.write, NULL,
		  "let statements change the database" },
		{ 0 },
	};
	struct interrupt interrupt;
	struct err err = { "" };
	int status, nr, code;

	nr = opts_parse(self, opts, argc, argv, false, &argv, &status);
	if (nr < 0)
		return status;
	if (!nr)
		return cmd_usage(self, "which database? (pagereel sql run.db \"SELECT ...\")");
	code = store_open(&session.store, argv[0], session.write ? 0 : STORE_READONLY, &err);
	if (code)
		return cmd_fail(self, code, &err);
	code = interrupt_begin(&interrupt, session.store);
	if (code) {
		status = cmd_fail(self, code, NULL);
		goto out;
	}
	status = nr > 1 ? args_run(self, &session, nr - 1, argv + 1) : stdin_run(self, &session);
	interrupt_end(&interrupt);
out:
	code = store_close(session.store, &err);
	return code && !status ? cmd_fail(self, code, &err) : status;
}

const struct command cmd_sql = {
	.name = "sql",
	.args = "[OPTION]... RUN.db [SQL]...",
	.summary = "Ask a database in SQL; page_event and packed events are built in.",
	.examples = "  pagereel sql run.db "
		    "\"SELECT op, count(*) AS nr FROM page_event GROUP BY op\"\n"
		    "  pagereel sql run.db --format csv < query.sql\n"
		    "  pagereel sql run.db "
		    "\"SELECT * FROM replay_result ORDER BY cpu_ns LIMIT 5\"\n",
	.run = sql_run,
};
