// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_store.c - database files: created safely, opened only if they are ours, closed to one file.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <sqlite3.h>

#include "schema/schema.h"

static char dir[64];
static char path[128];

static int setup(void **state)
{
	strcpy(dir, "/tmp/pagereel-test-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/run.db", dir);
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}

static struct store *create(void)
{
	struct err err = { 0 };
	struct store *store;
	int code = store_create(&store, path, 0, &err);

	if (code)
		fail_msg("store_create: %d %s", code, err.text);
	return store;
}

static int64_t get(struct store *store, const char *sql)
{
	struct err err = { 0 };
	int64_t value;
	bool found;

	if (store_get_int(store, sql, NULL, 0, &value, &found, &err))
		fail_msg("%s: %s", sql, err.text);
	return value;
}

static int64_t begin_capture(struct store *store)
{
	const struct capture_info info = { .source = "synth", .input = "loop", .nr_cpus = 2 };
	int64_t id;

	assert_int_equal(store_capture_begin(store, &info, &id, NULL), 0);
	return id;
}

static void write_file(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static bool exists(const char *suffix)
{
	char name[160];

	snprintf(name, sizeof(name), "%s%s", path, suffix);
	return access(name, F_OK) == 0;
}

static void closed_database_is_one_private_file(void **state)
{
	struct store *store = create();
	struct stat st;

	assert_true(exists("-wal"));
	assert_int_equal(store_close(store, NULL), 0);
	assert_false(exists("-wal"));
	assert_false(exists("-shm"));
	assert_false(exists("-journal"));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

static void header_names_the_program_and_version(void **state)
{
	struct store *store = create();

	assert_int_equal(get(store, "PRAGMA application_id"), 0x50675265);
	assert_int_equal(get(store, "PRAGMA user_version"), 4);
	assert_int_equal(get(store, "PRAGMA page_size"), 4096);
	assert_int_equal(get(store, "SELECT count(*) FROM pragma_journal_mode WHERE "
			     "journal_mode = 'wal'"), 1);
	assert_int_equal(get(store, "PRAGMA synchronous"), 1);
	store_close(store, NULL);
}

static void existing_file_is_refused_without_force(void **state)
{
	struct err err = { 0 };
	struct store *store = create();

	store_close(store, NULL);
	assert_int_equal(store_create(&store, path, 0, &err), -EEXIST);
	assert_non_null(strstr(err.text, "--force"));
	assert_int_equal(store_create(&store, path, STORE_FORCE, NULL), 0);
	store_close(store, NULL);
	write_file(path, "");
	assert_int_equal(store_create(&store, path, STORE_FORCE, NULL), 0);
	store_close(store, NULL);
}

static void what_is_no_database_of_ours_is_not_replaced_even_with_force(void **state)
{
	struct err err = { 0 };
	struct store *store;
	char line[16] = "";
	sqlite3 *db;
	FILE *file;

	write_file(path, "precious");
	assert_int_equal(store_create(&store, path, 0, &err), -EEXIST);
	assert_null(strstr(err.text, "--force"));
	err.text[0] = '\0';
	assert_int_equal(store_create(&store, path, STORE_FORCE, &err), -EEXIST);
	assert_non_null(strstr(err.text, "no pagereel database"));
	file = fopen(path, "r");
	assert_non_null(fgets(line, sizeof(line), file));
	fclose(file);
	assert_string_equal(line, "precious");
	unlink(path);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "CREATE TABLE theirs(x)", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(store_create(&store, path, STORE_FORCE, &err), -EEXIST);
}

static void symlink_is_refused_even_with_force(void **state)
{
	char target[160];
	struct store *store;
	struct err err = { 0 };

	snprintf(target, sizeof(target), "%s/target", dir);
	assert_int_equal(symlink(target, path), 0);
	assert_int_equal(store_create(&store, path, 0, &err), -ELOOP);
	assert_non_null(strstr(err.text, "symbolic link"));
	assert_int_equal(store_create(&store, path, STORE_FORCE, NULL), -ELOOP);
	assert_int_equal(access(target, F_OK), -1);
	write_file(target, "precious");
	assert_int_equal(store_create(&store, path, STORE_FORCE, NULL), -ELOOP);
}

static void planted_log_beside_the_path_is_refused(void **state)
{
	char wal[160], target[160];
	struct store *store;
	struct err err = { 0 };

	snprintf(wal, sizeof(wal), "%s-wal", path);
	snprintf(target, sizeof(target), "%s/target", dir);
	assert_int_equal(symlink(target, wal), 0);
	assert_int_equal(store_create(&store, path, 0, &err), -EEXIST);
	assert_non_null(strstr(err.text, "-wal"));
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(access(target, F_OK), -1);
	assert_int_equal(store_create(&store, path, STORE_FORCE, NULL), 0);
	store_close(store, NULL);
	assert_int_equal(access(target, F_OK), -1);
}

static void foreign_files_are_named_as_such(void **state)
{
	struct err err = { 0 };
	struct store *store;

	assert_int_equal(store_open(&store, path, 0, &err), -ENOENT);
	err.text[0] = '\0';
	write_file(path, "just some text that is long enough to hold a header of 100 bytes, and is "
		   "no database at all, which SQLite says as soon as it reads it.");
	assert_int_equal(store_open(&store, path, 0, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "not a pagereel database"));
	err.text[0] = '\0';
	write_file(path, "");
	assert_int_equal(store_open(&store, path, 0, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "not a pagereel database"));
	assert_int_equal(store_open(&store, dir, 0, NULL), -EISDIR);
}

static void patch(long offset, const char *bytes, size_t nr)
{
	int fd = open(path, O_WRONLY);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, nr, offset), nr);
	close(fd);
}

static void newer_version_asks_for_a_newer_program(void **state)
{
	struct err err = { 0 };
	struct store *store = create();

	store_close(store, NULL);
	patch(60, "\0\0\0\x63", 4);
	assert_int_equal(store_open(&store, path, STORE_READONLY, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "version 99"));
	assert_non_null(strstr(err.text, "newer pagereel"));
}

static void truncated_database_is_called_damaged(void **state)
{
	struct err err = { 0 };
	struct store *store = create();

	store_close(store, NULL);
	assert_int_equal(truncate(path, 8192), 0);
	assert_int_equal(store_open(&store, path, STORE_READONLY, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "damaged"));
}

static void schema_page_of_noise_is_called_damaged(void **state)
{
	struct err err = { 0 };
	struct store *store = create();
	char noise[3000];

	store_close(store, NULL);
	memset(noise, 0xa5, sizeof(noise));
	patch(100, noise, sizeof(noise));
	assert_int_equal(store_open(&store, path, STORE_READONLY, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "damaged"));
}

static void append_continues_an_existing_database(void **state)
{
	struct store *store;

	assert_int_equal(store_create(&store, path, STORE_APPEND, NULL), 0);
	begin_capture(store);
	store_close(store, NULL);
	assert_int_equal(store_create(&store, path, STORE_APPEND, NULL), 0);
	assert_int_equal(begin_capture(store), 2);
	store_close(store, NULL);
}

static void readonly_directory_can_be_read(void **state)
{
	struct store *store = create();
	pid_t pid;
	int status;

	begin_capture(store);
	store_close(store, NULL);
	assert_int_equal(chmod(path, 0444), 0);
	assert_int_equal(chmod(dir, 0555), 0);
	pid = fork();
	if (!pid) {		/* root may write anywhere: become somebody else */
		if (geteuid() == 0 && setuid(65534))
			_exit(10);
		if (store_open(&store, path, STORE_READONLY, NULL))
			_exit(11);
		if (get(store, "SELECT count(*) FROM capture") != 1)
			_exit(12);
		store_close(store, NULL);
		if (store_open(&store, path, 0, NULL) != -EACCES)
			_exit(13);
		strcat(path, "2");
		_exit(store_create(&store, path, 0, NULL) == -EACCES ? 0 : 14);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(chmod(dir, 0755), 0);
	assert_int_equal(status, 0);
}

static void under_sudo_the_file_belongs_to_the_caller(void **state)
{
	char wal[160];
	struct store *store;
	struct stat st;

	if (geteuid() != 0)
		skip();
	setenv("SUDO_UID", "12345", 1);
	setenv("SUDO_GID", "54321", 1);
	store = create();
	begin_capture(store);
	snprintf(wal, sizeof(wal), "%s-wal", path);
	assert_int_equal(stat(wal, &st), 0);
	assert_int_equal(st.st_uid, 12345);
	store_close(store, NULL);
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, 12345);
	assert_int_equal(st.st_gid, 54321);
	assert_int_equal(st.st_mode & 07777, 0600);
}

static void reader_sees_commits_of_a_running_capture(void **state)
{
	struct store *writer = create(), *reader;

	assert_int_equal(store_open(&reader, path, STORE_READONLY, NULL), 0);
	store_begin(writer, NULL);
	begin_capture(writer);
	assert_int_equal(get(reader, "SELECT count(*) FROM capture"), 0);
	store_commit(writer, NULL);
	assert_int_equal(get(reader, "SELECT count(*) FROM capture"), 1);
	/* a reader is no reason for the writer to fail, and the last one out tidies up */
	assert_int_equal(store_close(writer, NULL), 0);
	assert_int_equal(get(reader, "SELECT count(*) FROM capture"), 1);
	store_close(reader, NULL);
	assert_int_equal(store_open(&writer, path, 0, NULL), 0);
	assert_int_equal(get(writer, "SELECT count(*) FROM capture"), 1);
	store_close(writer, NULL);
	assert_false(exists("-wal"));
}

static void second_writer_is_told_that_it_is_busy(void **state)
{
	struct store *first = create(), *second;
	struct err err = { 0 };

	assert_int_equal(store_open(&second, path, 0, NULL), 0);
	assert_int_equal(store_begin(first, NULL), 0);
	begin_capture(first);
	assert_int_equal(store_begin(second, &err), -EBUSY);
	assert_non_null(strstr(err.text, "another process"));
	store_commit(first, NULL);
	assert_int_equal(store_begin(second, NULL), 0);
	store_close(second, NULL);
	store_close(first, NULL);
}

static void interrupted_capture_is_still_running_in_the_file(void **state)
{
	struct store *store;
	pid_t pid = fork();
	int status;

	if (!pid) {
		store = create();
		begin_capture(store);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(store_open(&store, path, STORE_READONLY, NULL), 0);
	assert_int_equal(get(store, "SELECT count(*) FROM capture WHERE status = 'running'"), 1);
	store_close(store, NULL);
}

static void context_repeats_are_stored_once_per_sample(void **state)
{
	struct store *store = create();
	int64_t id = begin_capture(store);

	for (int i = 0; i < 10; i++) {
		store_context(store, id, i, "sample", "vmstat", "pgscan", VALUE_OF_INT(i / 5),
			      NULL);
		store_context(store, id, i, "sample", "vmstat", "pgsteal", VALUE_OF_INT(7), NULL);
	}
	store_context(store, id, 10, "end", "vmstat", "pgsteal", VALUE_OF_INT(7), NULL);
	store_context(store, id, 11, "end", "vmstat", "pgsteal", VALUE_OF_INT(7), NULL);
	assert_int_equal(get(store, "SELECT count(*) FROM context WHERE key = 'pgscan'"), 2);
	assert_int_equal(get(store, "SELECT count(*) FROM context WHERE key = 'pgsteal'"), 3);
	/* many keys: the table of last values grows and forgets none */
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 5000; i++) {
			char key[16];

			snprintf(key, sizeof(key), "key%d", i);
			store_context(store, id, 20, "sample", "many", key, VALUE_OF_INT(i), NULL);
		}
	}
	assert_int_equal(get(store, "SELECT count(*) FROM context WHERE subject = 'many'"), 5000);
	store_close(store, NULL);
}

static void file_keeps_what_is_known_when_updated(void **state)
{
	struct store *store = create();
	int64_t id = begin_capture(store);
	uint32_t next;

	store_file(store, id, 1, 7, 1, 42, -1, "/data/x", NULL);
	store_file(store, id, 1, 7, 1, 42, 8192, NULL, NULL);
	store_file(store, id, 2, 0, 39, UINT64_MAX, -1, NULL, NULL);
	assert_int_equal(get(store, "SELECT count(*) FROM file WHERE path = '/data/x' AND "
			     "size_bytes = 8192 AND dev = (7 << 20 | 1)"), 1);
	assert_int_equal(get(store, "SELECT count(*) FROM file WHERE size_bytes IS NULL"), 1);
	assert_int_equal(store_next_file_id(store, &next, NULL), 0);
	assert_int_equal(next, 3);
	store_close(store, NULL);
}

static void task_rows_follow_exec_and_cgroup_changes(void **state)
{
	struct store *store = create();
	int64_t id = begin_capture(store);

	store_task(store, id, 10, 0, "sh", NULL, 100, NULL);
	store_task(store, id, 10, 10, "sh", "/a", 200, NULL);
	store_task(store, id, 10, 10, "dd", "/a", 300, NULL);
	store_task(store, id, 10, 10, "dd", "/a", 400, NULL);
	assert_int_equal(get(store, "SELECT count(*) FROM task"), 2);
	assert_int_equal(get(store, "SELECT count(*) FROM task WHERE comm = 'sh' AND tgid = 10 AND "
			     "cgroup = '/a' AND first_ts_ns = 100"), 1);
	assert_int_equal(get(store, "SELECT first_ts_ns FROM task WHERE comm = 'dd'"), 300);
	store_close(store, NULL);
}

static void values_survive_binding(void **state)
{
	static const char bytes[] = { 0, 1, 2, 0, (char)0xff };
	struct store *store = create();
	struct query *query;
	struct err err = { 0 };

	assert_int_equal(query_open(store, &query, "SELECT ?1, :real, ?3, ?4, ?5", NULL), 0);
	query_bind(query, 1, VALUE_OF_INT(INT64_MIN));
	query_bind_name(query, ":real", VALUE_OF_REAL(0.5));
	query_bind_name(query, ":absent", VALUE_OF_REAL(0.5));
	query_bind(query, 3, VALUE_OF_TEXT("it's"));
	query_bind(query, 4, (struct value){ .type = VALUE_BLOB, .text = bytes, .text_bytes = 5 });
	query_bind(query, 5, VALUE_NONE);
	assert_int_equal(query_step(query, NULL), 1);
	assert_true(query_int(query, 0) == INT64_MIN);
	assert_true(query_value(query, 1).r == 0.5);
	assert_string_equal(query_text(query, 2), "it's");
	assert_int_equal(query_value(query, 3).type, VALUE_BLOB);
	assert_memory_equal(query_value(query, 3).text, bytes, 5);
	assert_true(query_is_null(query, 4));
	assert_int_equal(query_step(query, NULL), 0);
	query_close(query);
	assert_int_equal(query_open(store, &query, "SELECT nothing", &err), -EINVAL);
	assert_non_null(strstr(err.text, "nothing"));
	store_close(store, NULL);
}

/* What a limit on the size rests on: the log's pages are on disk twice while they are copied. */
static void database_and_log_never_pass_the_stated_peak(void **state)
{
	struct store *store = create();
	int64_t id = begin_capture(store);
	uint64_t peak;

	for (int i = 0; i < 4000; i++) {
		assert_int_equal(store_begin(store, NULL), 0);
		assert_int_equal(store_context(store, id, i, "sample", "host", "key",
					       VALUE_OF_INT(i), NULL), 0);
		if (i % 40 == 39)
			assert_int_equal(store_commit(store, NULL), 0);
	}
	peak = store_peak_bytes(store);
	assert_true(store_file_bytes(store) < peak);
	/* the whole log is still to be copied */
	assert_true(peak > (uint64_t)get(store, "SELECT page_count * 4096 FROM pragma_page_count") +
		    65536);
	assert_int_equal(store_checkpoint(store, NULL), 0);
	assert_true(store_file_bytes(store) <= peak);
	assert_int_equal(store_file_bytes(store),
			 get(store, "SELECT page_count * 4096 FROM pragma_page_count"));
	assert_true(store_peak_bytes(store) < peak);
	assert_int_equal(store_close(store, NULL), 0);
}

static void rollback_leaves_nothing(void **state)
{
	struct store *store = create();

	assert_int_equal(store_begin(store, NULL), 0);
	begin_capture(store);
	assert_int_equal(store_rollback(store, NULL), 0);
	assert_int_equal(get(store, "SELECT count(*) FROM capture"), 0);
	store_close(store, NULL);
}

static void file_size_limit_is_reported_and_leaves_a_sound_file(void **state)
{
	struct store *store;
	int status;
	pid_t pid = fork();

	if (!pid) {
		const struct rlimit limit = { 1 << 20, 1 << 20 };
		struct page_chunk chunk = { .nr_events = 1, .data_bytes = 100000 };
		struct err err = { 0 };
		int code = 0;

		signal(SIGXFSZ, SIG_IGN);
		store = create();
		begin_capture(store);
		setrlimit(RLIMIT_FSIZE, &limit);
		chunk.data = calloc(1, chunk.data_bytes);
		for (int i = 0; i < 100 && !code; i++) {
			chunk.capture_id = i;
			code = store_page_chunk(store, &chunk, &err);
		}
		store_close(store, NULL);
		_exit(code == -EFBIG && strstr(err.text, "ulimit") ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(store_open(&store, path, 0, NULL), 0);
	assert_int_equal(get(store, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"),
			 1);
	assert_true(get(store, "SELECT count(*) FROM page_chunk") > 1);
	store_close(store, NULL);
}

/* ---- older versions -------------------------------------------------------------------------- */

static void make_old(const char *script)
{
	char text[65536];
	FILE *file = fopen(script, "r");
	char *message = NULL;
	sqlite3 *db;

	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	assert_true(feof(file));
	fclose(file);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, text, NULL, NULL, &message))
		fail_msg("%s: %s", script, message);
	sqlite3_close(db);
}

/* Names of all tables, columns, types, indexes and views that @a has and @b has not. */
static void assert_has_all(struct store *a, const char *b)
{
	static const char lacking[] =
		"WITH mine(what) AS (SELECT t.type || ' ' || t.name || ' ' || coalesce(c.name || ' "
		"' || "
		" c.type || ' ' || c.hidden, '') FROM main.sqlite_schema t LEFT JOIN "
		" pragma_table_xinfo(t.name, 'main') c), other(what) AS (SELECT t.type || ' ' || "
		"t.name || "
		" ' ' || coalesce(c.name || ' ' || c.type || ' ' || c.hidden, '') FROM "
		"other.sqlite_schema t "
		" LEFT JOIN pragma_table_xinfo(t.name, 'other') c) "
		"SELECT group_concat(what, char(10)) FROM (SELECT what FROM %s EXCEPT SELECT what "
		"FROM %s)";
	struct err err = { 0 };
	char sql[1024];
	struct query *query;

	snprintf(sql, sizeof(sql), "ATTACH '%s' AS other", b);
	assert_int_equal(store_exec(a, sql, NULL), 0);
	for (int i = 0; i < 2; i++) {
		snprintf(sql, sizeof(sql), lacking, i ? "other" : "mine", i ? "mine" : "other");
		if (query_open(a, &query, sql, &err) || query_step(query, &err) != 1)
			fail_msg("%s", err.text);
		if (!query_is_null(query, 0))
			fail_msg("only in the %s:\n%s", i ? "new file" : "upgraded file",
				 query_text(query, 0));
		query_close(query);
	}
	assert_int_equal(store_exec(a, "DETACH other", NULL), 0);
}

static void version_1_is_upgraded_to_what_is_made_new(void **state)
{
	struct err err = { 0 };
	char fresh[160];
	struct store *store;

	snprintf(fresh, sizeof(fresh), "%s/new.db", dir);
	assert_int_equal(store_create(&store, fresh, 0, NULL), 0);
	store_close(store, NULL);
	make_old("tests/data/version-1.sql");
	assert_int_equal(store_open(&store, path, STORE_READONLY, &err), -EROFS);
	assert_non_null(strstr(err.text, "upgrade"));
	err.text[0] = '\0';
	if (store_open(&store, path, 0, &err))
		fail_msg("%s", err.text);
	assert_int_equal(get(store, "PRAGMA user_version"), 4);
	assert_has_all(store, fresh);
	assert_int_equal(get(store, "SELECT hit_ratio = 0.4 FROM replay_result"), 1);
	assert_int_equal(get(store, "SELECT nr_reclaimed FROM reclaim_episode"), 32);
	assert_int_equal(get(store, "SELECT pid IS NULL FROM demand_extent"), 1);
	store_close(store, NULL);
	assert_int_equal(store_open(&store, path, STORE_READONLY, NULL), 0);
	store_close(store, NULL);
}

static void failed_upgrade_leaves_the_old_file(void **state)
{
	struct err err = { 0 };
	struct store *store;
	sqlite3 *db;

	make_old("tests/data/version-1.sql");
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	/* what the step is to add is there already */
	sqlite3_exec(db, "CREATE INDEX gap_by_end ON gap(cpu)", NULL, NULL, NULL);
	sqlite3_close(db);
	assert_int_not_equal(store_open(&store, path, 0, &err), 0);
	assert_non_null(strstr(err.text, "cannot upgrade"));
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "SELECT pid FROM demand_extent", NULL, NULL, NULL),
			 SQLITE_ERROR);
	sqlite3_close(db);
}

#define NUMBERS(last) "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < " \
	last "), event AS (SELECT (i * 7919 % 1000 - 500) << 40 AS pid, i % 13 AS pages FROM n) "

static void tally_gives_the_sums_of_group_by(void **state)
{
	struct err err = { 0 };
	struct store *store = create();
	int64_t value;
	bool found;

	assert_int_equal(get(store, NUMBERS("9999") "SELECT count(*) FROM ("
			     "SELECT pid, sum(pages) FROM event GROUP BY pid EXCEPT "
			     "SELECT CAST(key AS INTEGER), value FROM json_each("
			     "(SELECT tally(pid, pages) FROM event)))"), 0);
	assert_int_equal(get(store, NUMBERS("9999") "SELECT count(*) FROM json_each("
			     "(SELECT tally(pid, pages) FROM event))"), 1000);
	assert_int_equal(get(store, "SELECT tally(1, 2) IS NULL FROM gap"), 1);
	assert_int_equal(get(store, "SELECT tally(NULL, 2) IS NULL AND tally(1, NULL) IS NULL "
			     "FROM (SELECT 1)"), 1);
	assert_int_equal(store_get_int(store, "SELECT tally(1, 1 << 62) FROM (VALUES(0), (0), (0))",
				       NULL, 0, &value, &found, &err), -EINVAL);
	assert_non_null(strstr(err.text, "overflow"));
	store_close(store, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(closed_database_is_one_private_file),
		TEST(header_names_the_program_and_version),
		TEST(existing_file_is_refused_without_force),
		TEST(what_is_no_database_of_ours_is_not_replaced_even_with_force),
		TEST(symlink_is_refused_even_with_force),
		TEST(planted_log_beside_the_path_is_refused),
		TEST(foreign_files_are_named_as_such),
		TEST(newer_version_asks_for_a_newer_program),
		TEST(truncated_database_is_called_damaged),
		TEST(schema_page_of_noise_is_called_damaged),
		TEST(append_continues_an_existing_database),
		TEST(readonly_directory_can_be_read),
		TEST(under_sudo_the_file_belongs_to_the_caller),
		TEST(reader_sees_commits_of_a_running_capture),
		TEST(second_writer_is_told_that_it_is_busy),
		TEST(interrupted_capture_is_still_running_in_the_file),
		TEST(context_repeats_are_stored_once_per_sample),
		TEST(file_keeps_what_is_known_when_updated),
		TEST(task_rows_follow_exec_and_cgroup_changes),
		TEST(values_survive_binding),
		TEST(database_and_log_never_pass_the_stated_peak),
		TEST(rollback_leaves_nothing),
		TEST(version_1_is_upgraded_to_what_is_made_new),
		TEST(failed_upgrade_leaves_the_old_file),
		TEST(tally_gives_the_sums_of_group_by),
		TEST(file_size_limit_is_reported_and_leaves_a_sound_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
