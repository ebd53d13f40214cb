// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * store.c - a database file: creating, opening, closing, transactions and what errors mean.
 *
 * A file is created by us before SQLite sees it, so that it is 0600, never follows a symlink and
 * never replaces what is there. SQLite gives the -wal and -shm files beside it the mode and owner
 * of the database; those that a stranger may have put there in advance are refused. While a
 * database is written it has a write-ahead log, so that readers never wait and a kill -9 loses no
 * commit; closing turns it back into a single file that can be read from a read-only directory too.
 *
 * An existing file is only ever opened by SQLite: closing a second descriptor of the same file
 * would drop the locks that this process's other connections hold (POSIX record locks belong to the
 * process).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/store.h"

extern const char sql_schema_tables[];
extern const char sql_schema_views[];

static const char *const side_files[] = { "-wal", "-shm", "-journal" };

/* ---- errors ---------------------------------------------------------------------------------- */

/* SQLite forgets why a write failed while it cleans up: was it the limit of ulimit -f? */
static bool at_file_size_limit(const struct store *store)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY &&
	       store_file_bytes(store) + 65536 > limit.rlim_cur;
}

static int io_errno(const struct store *store)
{
	if (at_file_size_limit(store))
		return -EFBIG;
	switch (sqlite3_system_errno(store->db)) {
	case ENOSPC:
	case EDQUOT:
		return -ENOSPC;
	case EFBIG:
		return -EFBIG;
	case EROFS:
		return -EROFS;
	default:
		return -EIO;
	}
}

static int cantopen_errno(const struct store *store)
{
	int code = sqlite3_system_errno(store->db);

	return code ? -code : -ENOENT;
}

int store_errno(const struct store *store, int rc)
{
	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_IOERR:
		return io_errno(store);
	case SQLITE_CANTOPEN:
		return cantopen_errno(store);
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_INTERRUPT:
		return -EINTR;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_FORMAT:
		return -EBADMSG;
	case SQLITE_CONSTRAINT:
		return -EEXIST;
	default:
		return -EINVAL;
	}
}

static const char *remedy(int code)
{
	switch (-code) {
	case ENOSPC:
		return " (free some space, or write to another disk)";
	case EFBIG:
		return " (raise the file size limit: ulimit -f)";
	case EBUSY:
		return " (another process is writing to it)";
	case EBADMSG:
		return " (damaged? salvage it with: sqlite3 FILE .recover)";
	default:
		return "";
	}
}

int store_fail(const struct store *store, int rc, struct err *err, const char *what)
{
	int code = store_errno(store, rc);

	if ((rc & 0xff) == SQLITE_IOERR && sqlite3_system_errno(store->db))
		return err_set(err, code, "%s '%s': %s%s", what, store->path,
			       strerror(sqlite3_system_errno(store->db)), remedy(code));
	return err_set(err, code, "%s '%s': %s%s", what, store->path, sqlite3_errmsg(store->db),
		       remedy(code));
}

/* ---- the file itself ------------------------------------------------------------------------- */

static char *side_path(const char *path, const char *suffix)
{
	char *full;

	return asprintf(&full, "%s%s", path, suffix) < 0 ? NULL : full;
}

/* Removes, or without @force refuses, a left-over -wal, -shm or -journal at @path. */
static int clear_side_files(const char *path, bool force, struct err *err)
{
	struct stat st;
	int code = 0;

	for (size_t i = 0; !code && i < ARRAY_SIZE(side_files); i++) {
		char *side = side_path(path, side_files[i]);

		if (!side)
			return -ENOMEM;
		if (lstat(side, &st))
			code = 0;
		else if (!force)
			code = err_set(err, -EEXIST,
				       "cannot create '%s': '%s' is left over from an "
				       "earlier database (remove it, or use --force)",
				       path, side);
		else if (unlink(side))
			code = err_sys(err, -errno, "cannot remove '%s'", side);
		free(side);
	}
	return code;
}

/* A database of ours, or an empty file: what may be replaced without regret. */
static bool is_ours(const char *path)
{
	static const char magic[16] = "SQLite format 3";	/* with its NUL */
	enum { APPLICATION_AT = 68, HEAD_BYTES = APPLICATION_AT + 4 };
	uint8_t head[HEAD_BYTES];
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t bytes = fd < 0 ? -1 : read(fd, head, sizeof(head));
	uint32_t application;

	if (fd >= 0)
		close(fd);
	if (bytes < (ssize_t)sizeof(head) || memcmp(head, magic, sizeof(magic)))
		return bytes == 0;
	memcpy(&application, head + APPLICATION_AT, sizeof(application));
	return ntohl(application) == STORE_APPLICATION_ID;
}

static int replace_existing(const char *path, struct err *err)
{
	struct stat st;

	if (lstat(path, &st))
		return errno == ENOENT ? 0 : err_sys(err, -errno, "cannot create '%s'", path);
	if (S_ISLNK(st.st_mode))
		return err_set(err, -ELOOP, "cannot replace '%s': it is a symbolic link (name its "
			       "target, or remove the link)", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EEXIST, "cannot replace '%s': not a regular file", path);
	if (!is_ours(path))
		return err_set(err, -EEXIST, "cannot replace '%s': it is no pagereel database (use "
			       "another name, or remove it yourself)", path);
	if (unlink(path))
		return err_sys(err, -errno, "cannot replace '%s'", path);
	return 0;
}

static int create_failed(const char *path, int error, struct err *err)
{
	struct stat st;

	if (error != EEXIST)
		return err_sys(err, -error, "cannot create '%s'", path);
	if (!lstat(path, &st) && S_ISLNK(st.st_mode))
		return err_set(err, -ELOOP, "cannot create '%s': it is a symbolic link (name its "
			       "target, or remove the link)", path);
	return err_set(err, -EEXIST, "cannot create '%s': it exists already (use %sanother name)",
		       path, is_ours(path) ? "--force to replace it, or " : "");
}

static long env_id(const char *name)
{
	const char *text = getenv(name);
	char *end;
	long id;

	if (!text || !*text)
		return -1;
	errno = 0;
	id = strtol(text, &end, 10);
	return errno || *end || id < 0 ? -1 : id;
}

/* Under sudo the file belongs to whoever called it. */
static int give_to_invoker(int fd, const char *path, struct err *err)
{
	long uid = env_id("SUDO_UID"), gid = env_id("SUDO_GID");

	if (geteuid() != 0 || uid <= 0)
		return 0;
	if (fchown(fd, (uid_t)uid, gid < 0 ? (gid_t)-1 : (gid_t)gid))
		return err_sys(err, -errno, "cannot give '%s' to user %ld", path, uid);
	return 0;
}

/* An empty file of ours at @path, with its identity in *st. */
static int create_file(const char *path, bool force, struct stat *st, struct err *err)
{
	int fd, code = 0;

	if (force)
		code = replace_existing(path, err);
	if (!code)
		code = clear_side_files(path, force, err);
	if (code)
		return code;
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return create_failed(path, errno, err);
	code = give_to_invoker(fd, path, err);
	if (!code && fstat(fd, st))
		code = err_sys(err, -errno, "cannot create '%s'", path);
	close(fd);
	if (code)
		unlink(path);
	return code;
}

/* What SQLite opened by name is still the file that we made, and so is what lies beside it. */
static int check_identity(const char *path, const struct stat *made, struct err *err)
{
	struct stat st;
	int code = 0;

	if (lstat(path, &st) || st.st_dev != made->st_dev || st.st_ino != made->st_ino)
		return err_set(err, -EEXIST, "cannot create '%s': another process replaced it",
			       path);
	for (size_t i = 0; !code && i < ARRAY_SIZE(side_files); i++) {
		char *side = side_path(path, side_files[i]);

		if (!side)
			return -ENOMEM;
		if (!lstat(side, &st) && (!S_ISREG(st.st_mode) || st.st_uid != made->st_uid))
			code = err_set(err, -EEXIST, "cannot create '%s': '%s' is not ours", path,
				       side);
		free(side);
	}
	return code;
}

/* ---- connections ----------------------------------------------------------------------------- */

/*
 * Of the process, before its first use: SQLite need not count the bytes of each malloc under a lock
 * that all connections share; nobody asks for the sums.
 */
static void configure_process(void)
{
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

static struct store *store_new(const char *path, bool readonly)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct store *store = calloc(1, sizeof(*store));

	if (!store)
		return NULL;
	pthread_once(&once, configure_process);
	store->readonly = readonly;
	store->path = strdup(path);
	if (store->path)
		return store;
	free(store);
	return NULL;
}

static void store_free(struct store *store)
{
	for (int i = 0; i < store->nr_stmts; i++)
		sqlite3_finalize(store->stmts[i].stmt);
	store_events_free(store);
	store_context_free(store);
	sqlite3_close_v2(store->db);
	free(store->path);
	free(store);
}

static int pragma(struct store *store, const char *sql, struct err *err)
{
	int rc = sqlite3_exec(store->db, sql, NULL, NULL, NULL);

	return rc ? store_fail(store, rc, err, "cannot open") : 0;
}

static int register_tables(struct store *store, struct err *err)
{
	int rc = vtab_page_register(store->db);

	if (!rc)
		rc = vtab_life_register(store->db);
	if (!rc)
		rc = vtab_event_register(store->db);
	if (!rc)
		rc = tally_register(store->db);
	if (!rc)
		rc = distribution_register(store->db);
	return rc ? store_fail(store, rc, err, "cannot open") : 0;
}

/* Last of all, because it stands before a view of the same name in the file. */
static int hide_slow_views(struct store *store, struct err *err)
{
	int rc = episode_register(store->db);

	return rc ? store_fail(store, rc, err, "cannot open") : 0;
}

/* Settings of a connection that are not kept in the file, nor need it read. */
static void configure(struct store *store)
{
	sqlite3_extended_result_codes(store->db, 1);
	sqlite3_busy_timeout(store->db, 2000);
	/* a file from elsewhere must not run functions with side effects out of its views */
	sqlite3_db_config(store->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
}

static int configure_cache(struct store *store, struct err *err)
{
	return pragma(store, "PRAGMA cache_size=-16384; PRAGMA temp_store=MEMORY", err);
}

static int enable_wal(struct store *store, struct err *err)
{
	return pragma(store, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
		      "PRAGMA journal_size_limit=67108864", err);
}

static int get_pragma(struct store *store, const char *sql, int64_t *out, struct err *err)
{
	bool found;

	return store_get_int(store, sql, NULL, 0, out, &found, err);
}

static int fill_new_file(struct store *store, struct err *err)
{
	char sql[128];
	int code;

	snprintf(sql, sizeof(sql), "PRAGMA page_size=4096; PRAGMA application_id=%d;"
		 "PRAGMA user_version=%d", STORE_APPLICATION_ID, STORE_VERSION);
	code = pragma(store, sql, err);
	if (!code)
		code = enable_wal(store, err);
	if (!code)
		code = store_begin(store, err);
	if (!code)
		code = store_exec(store, sql_schema_tables, err);
	if (!code)
		code = register_tables(store, err);
	if (!code)
		code = store_events_create(store, err);
	if (!code)
		code = store_exec(store, sql_schema_views, err);
	if (!code)
		code = store_commit(store, err);
	return code;
}

int store_create(struct store **out, const char *path, unsigned int flags, struct err *err)
{
	struct store *store;
	struct stat made;
	int code, rc;

	*out = NULL;
	if ((flags & STORE_APPEND) && !access(path, F_OK))
		return store_open(out, path, 0, err);
	code = create_file(path, flags & STORE_FORCE, &made, err);
	if (code)
		return code;
	store = store_new(path, false);
	if (!store) {
		unlink(path);
		return -ENOMEM;
	}
	rc = sqlite3_open_v2(path, &store->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	code = rc ? store_fail(store, rc, err, "cannot create") : 0;
	configure(store);
	if (!code)
		code = fill_new_file(store, err);
	if (!code)
		code = check_identity(path, &made, err);
	if (!code)
		code = configure_cache(store, err);
	if (!code)
		code = hide_slow_views(store, err);
	if (code) {
		store_free(store);
		if (!lstat(path, &made))
			unlink(path);
		clear_side_files(path, true, NULL);
		return code;
	}
	*out = store;
	return 0;
}

/* Text and code for what stands at @path before SQLite is asked. */
static int check_openable(const char *path, bool readonly, struct err *err)
{
	struct stat st;

	if (stat(path, &st))
		return err_sys(err, -errno, "cannot open '%s'", path);
	if (S_ISDIR(st.st_mode))
		return err_set(err, -EISDIR, "cannot open '%s': it is a directory", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EBADMSG, "cannot open '%s': not a regular file", path);
	if (access(path, readonly ? R_OK : R_OK | W_OK))
		return err_sys(err, -errno, "cannot open '%s'%s", path,
			       readonly ? "" : " for writing");
	return 0;
}

/* "file:PATH?..." with what has a meaning in a URI escaped. */
static char *uri_of(const char *path, const char *query)
{
	char *uri = malloc(3 * strlen(path) + strlen(query) + 8), *to = uri;

	if (!uri)
		return NULL;
	to = stpcpy(to, "file:");
	for (; *path; path++) {
		if (strchr("%?#", *path))
			to += sprintf(to, "%%%02X", (unsigned char)*path);
		else
			*to++ = *path;
	}
	strcpy(to, query);
	return uri;
}

/*
 * A database in WAL mode (its writer was killed, or it was copied) in a directory that we may not
 * write to cannot have its -shm file made; without a log there is nothing to share, so read it as
 * is.
 */
static bool only_readable_as_is(const char *path)
{
	char *wal = side_path(path, "-wal"), *dir = strdup(path), *slash;
	bool as_is = false;
	struct stat st;

	if (wal && dir && (stat(wal, &st) || !st.st_size)) {
		slash = strrchr(dir, '/');
		if (slash)
			slash[slash == dir] = '\0';
		as_is = access(slash ? dir : ".", W_OK) != 0;
	}
	free(wal);
	free(dir);
	return as_is;
}

static int open_connection(struct store *store, struct err *err)
{
	const bool as_is = store->readonly && only_readable_as_is(store->path);
	char *uri = uri_of(store->path, as_is ? "?immutable=1" : "");
	int rc;

	if (!uri)
		return -ENOMEM;
	rc = sqlite3_open_v2(
		uri, &store->db,
		SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX |
			(store->readonly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE),
		NULL);
	free(uri);
	configure(store);
	return rc ? store_fail(store, rc, err, "cannot open") : 0;
}

static int not_ours(const char *path, struct err *err)
{
	return err_set(err, -EBADMSG, "cannot open '%s': not a pagereel database (make one with "
		       "'pagereel capture' or 'pagereel import')", path);
}

/* A file that SQLite cannot read at all is no database; one that breaks further in is damaged. */
static int check_kind(struct store *store, int64_t *version, struct err *err)
{
	struct err why = { 0 };
	int64_t application;
	int code;

	code = get_pragma(store, "PRAGMA application_id", &application, &why);
	if (code && sqlite3_errcode(store->db) == SQLITE_NOTADB)
		return not_ours(store->path, err);
	if (code)
		return err_set(err, code, "%s", why.text);
	if (application != STORE_APPLICATION_ID)
		return not_ours(store->path, err);
	code = get_pragma(store, "PRAGMA user_version", version, err);
	if (code)
		return code;
	if (*version > STORE_VERSION)
		return err_set(err, -EBADMSG, "cannot open '%s': its format is version %lld, this "
			       "pagereel knows up to %d (use a newer pagereel)", store->path,
			       (long long)*version, STORE_VERSION);
	if (*version < 1)
		return err_set(err, -EBADMSG,
			       "cannot open '%s': format version %lld does not exist "
			       "(damaged file?)",
			       store->path, (long long)*version);
	return 0;
}

static int check_content(struct store *store, struct err *err)
{
	int64_t nr_tables = 0;
	int code;

	code = get_pragma(store, "SELECT count(*) FROM sqlite_schema WHERE name IN "
			  "('capture', 'page_chunk', 'event_table', 'result')", &nr_tables, err);
	if (!code && nr_tables != 4)
		code = err_set(err, -EBADMSG, "cannot open '%s': tables are missing (damaged? the "
			       "command that wrote it may have failed)", store->path);
	return code;
}

int store_open(struct store **out, const char *path, unsigned int flags, struct err *err)
{
	const bool readonly = flags & STORE_READONLY;
	struct store *store;
	int64_t version = 0;
	int code;

	*out = NULL;
	code = check_openable(path, readonly, err);
	if (code)
		return code;
	store = store_new(path, readonly);
	if (!store)
		return -ENOMEM;
	code = open_connection(store, err);
	if (!code)
		code = check_kind(store, &version, err);
	if (!code)
		code = check_content(store, err);
	if (!code && version < STORE_VERSION && readonly)
		code = err_set(err, -EROFS,
			       "cannot open '%s': format version %lld needs an upgrade "
			       "(pagereel sql --write FILE ';')",
			       path, (long long)version);
	if (!code && version < STORE_VERSION)
		code = store_migrate(store, (int)version, err);
	if (!code && !readonly)
		code = enable_wal(store, err);
	if (!code)
		code = configure_cache(store, err);
	if (!code)
		code = register_tables(store, err);
	if (!code)
		code = hide_slow_views(store, err);
	if (code)
		store_free(store);
	else
		*out = store;
	return code;
}

int store_close(struct store *store, struct err *err)
{
	int code = 0;

	if (!store)
		return 0;
	if (!store->readonly) {
		code = store_commit(store, err);
		if (code)
			store_rollback(store, NULL);
		for (int i = 0; i < store->nr_stmts; i++)
			sqlite3_reset(store->stmts[i].stmt);
		/* fails, and may, while others have it open: the last of them checkpoints */
		sqlite3_busy_timeout(store->db, 0);
		sqlite3_exec(store->db, "PRAGMA wal_checkpoint(PASSIVE)", NULL, NULL, NULL);
		sqlite3_exec(store->db, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL);
	}
	store_free(store);
	return code;
}

/* ---- transactions ---------------------------------------------------------------------------- */

bool store_in_transaction(const struct store *store)
{
	return !sqlite3_get_autocommit(store->db);
}

int store_begin(struct store *store, struct err *err)
{
	if (store_in_transaction(store))
		return 0;
	return store_run_kept(store, "BEGIN IMMEDIATE", NULL, 0, err);
}

int store_commit(struct store *store, struct err *err)
{
	int code = store_events_flush(store, err);

	if (code || !store_in_transaction(store))
		return code;
	return store_run_kept(store, "COMMIT", NULL, 0, err);
}

int store_rollback(struct store *store, struct err *err)
{
	int code = 0;

	if (store_in_transaction(store))
		code = store_run_kept(store, "ROLLBACK", NULL, 0, err);
	store_events_forget(store);
	store_context_free(store);	/* what it remembers may be gone */
	return code;
}

uint64_t store_file_bytes(const struct store *store)
{
	char *wal = side_path(store->path, "-wal");
	uint64_t bytes = 0;
	struct stat st;

	if (!stat(store->path, &st))
		bytes += (uint64_t)st.st_size;
	if (wal && !stat(wal, &st))
		bytes += (uint64_t)st.st_size;
	free(wal);
	return bytes;
}

static uint64_t size_of(const struct store *store, const char *suffix)
{
	char *path = side_path(store->path, suffix);
	uint64_t bytes = 0;
	struct stat st;

	if (path && !stat(path, &st))
		bytes = (uint64_t)st.st_size;
	free(path);
	return bytes;
}

uint64_t store_peak_bytes(struct store *store)
{
	int64_t nr_pages = 0, page_bytes = 0;
	bool found;

	if (store_get_int(store, "PRAGMA page_count", NULL, 0, &nr_pages, &found, NULL) ||
	    store_get_int(store, "PRAGMA page_size", NULL, 0, &page_bytes, &found, NULL))
		return store_file_bytes(store);
	return (uint64_t)(nr_pages * page_bytes) + size_of(store, "-wal") +
	       size_of(store, "-shm");
}

int store_checkpoint(struct store *store, struct err *err)
{
	int rc = sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);

	return rc == SQLITE_OK || rc == SQLITE_BUSY ? 0 :
	       store_fail(store, rc, err, "cannot write");
}

const char *store_path(const struct store *store)
{
	return store->path;
}

void store_interrupt(struct store *store)
{
	sqlite3_interrupt(store->db);
}
