// SPDX-License-Identifier: GPL-2.0-or-later
/* store_query.c - statements: prepared by users of schema/, or kept by the store for its own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/store.h"

struct query {
	struct store *store;
	sqlite3_stmt *stmt;
};

int store_bind(sqlite3_stmt *stmt, int index, struct value value)
{
	switch (value.type) {
	case VALUE_INT:
		return sqlite3_bind_int64(stmt, index, value.i);
	case VALUE_REAL:
		return sqlite3_bind_double(stmt, index, value.r);
	case VALUE_TEXT:
		return sqlite3_bind_text64(stmt, index, value.text, value.text_bytes,
					   SQLITE_TRANSIENT, SQLITE_UTF8);
	case VALUE_BLOB:
		return sqlite3_bind_blob64(stmt, index, value.text ? value.text : "",
					   value.text_bytes, SQLITE_TRANSIENT);
	default:
		return sqlite3_bind_null(stmt, index);
	}
}

/* ---- statements of users --------------------------------------------------------------------- */

static int sql_error(const struct store *store, int rc, struct err *err)
{
	const int code = store_errno(store, rc);
	const int at = sqlite3_error_offset(store->db);

	if (code == -EINVAL && at >= 0)
		return err_set(err, code, "%s (at character %d)", sqlite3_errmsg(store->db),
			       at + 1);
	if (code == -EINVAL || code == -EEXIST)
		return err_set(err, code, "%s", sqlite3_errmsg(store->db));
	if (code == -EINTR)
		return err_set(err, code, "interrupted");
	return store_fail(store, rc, err, "cannot query");
}

int query_open_tail(struct store *store, struct query **out, const char *sql, const char **tail,
		    struct err *err)
{
	struct query *query;
	sqlite3_stmt *stmt;
	int rc;

	*out = NULL;
	rc = sqlite3_prepare_v2(store->db, sql, -1, &stmt, tail);
	if (rc)
		return sql_error(store, rc, err);
	if (!stmt)
		return 0;
	query = malloc(sizeof(*query));
	if (!query) {
		sqlite3_finalize(stmt);
		return -ENOMEM;
	}
	*query = (struct query){ .store = store, .stmt = stmt };
	*out = query;
	return 0;
}

int query_open(struct store *store, struct query **query, const char *sql, struct err *err)
{
	int code = query_open_tail(store, query, sql, NULL, err);

	if (!code && !*query)
		return err_set(err, -EINVAL, "empty statement");
	return code;
}

int query_open_table(struct store *store, struct query **query, const char *table,
		     struct err *err)
{
	const struct value name = VALUE_OF_TEXT(table);
	int64_t one;
	bool found;
	char *sql;
	int code;

	code = store_get_int(store, "SELECT 1 FROM sqlite_schema WHERE name = ?1 COLLATE NOCASE"
			     " AND type IN ('table', 'view')"
			     " UNION ALL SELECT 1 FROM event_table WHERE name = ?1 AND packed"
			     " UNION ALL SELECT 1 WHERE ?1 = 'page_event' COLLATE NOCASE",
			     &name, 1, &one, &found, err);
	if (code)
		return code;
	if (!found)
		return err_set(err, -ENOENT, "no table or view '%s' in '%s'", table, store->path);
	sql = sqlite3_mprintf("SELECT * FROM \"%w\"", table);
	code = sql ? query_open(store, query, sql, err) : -ENOMEM;
	sqlite3_free(sql);
	return code;
}

int query_bind(struct query *query, int index, struct value value)
{
	return store_errno(query->store, store_bind(query->stmt, index, value));
}

int query_bind_name(struct query *query, const char *name, struct value value)
{
	int index = sqlite3_bind_parameter_index(query->stmt, name);

	return index ? query_bind(query, index, value) : 0;
}

int query_step(struct query *query, struct err *err)
{
	int rc = sqlite3_step(query->stmt);

	if (rc == SQLITE_ROW)
		return 1;
	if (rc == SQLITE_DONE)
		return 0;
	return sql_error(query->store, rc, err);
}

int query_reset(struct query *query)
{
	sqlite3_reset(query->stmt);
	return 0;
}

int query_columns(const struct query *query)
{
	return sqlite3_column_count(query->stmt);
}

const char *query_column_name(const struct query *query, int column)
{
	return sqlite3_column_name(query->stmt, column);
}

struct value query_value(const struct query *query, int column)
{
	sqlite3_stmt *stmt = query->stmt;
	struct value value = { 0 };

	switch (sqlite3_column_type(stmt, column)) {
	case SQLITE_INTEGER:
		value.type = VALUE_INT;
		value.i = sqlite3_column_int64(stmt, column);
		break;
	case SQLITE_FLOAT:
		value.type = VALUE_REAL;
		value.r = sqlite3_column_double(stmt, column);
		break;
	case SQLITE_TEXT:
		value.type = VALUE_TEXT;
		value.text = (const char *)sqlite3_column_text(stmt, column);
		value.text_bytes = (size_t)sqlite3_column_bytes(stmt, column);
		break;
	case SQLITE_BLOB:
		value.type = VALUE_BLOB;
		value.text = sqlite3_column_blob(stmt, column);
		value.text_bytes = (size_t)sqlite3_column_bytes(stmt, column);
		break;
	}
	if (!value.text)
		value.text = value.text_bytes || value.type < VALUE_TEXT ? NULL : "";
	return value;
}

int64_t query_int(const struct query *query, int column)
{
	return sqlite3_column_int64(query->stmt, column);
}

double query_real(const struct query *query, int column)
{
	return sqlite3_column_double(query->stmt, column);
}

const char *query_text(const struct query *query, int column)
{
	return (const char *)sqlite3_column_text(query->stmt, column);
}

bool query_is_null(const struct query *query, int column)
{
	return sqlite3_column_type(query->stmt, column) == SQLITE_NULL;
}

bool query_is_readonly(const struct query *query)
{
	return sqlite3_stmt_readonly(query->stmt);
}

void query_close(struct query *query)
{
	if (!query)
		return;
	sqlite3_finalize(query->stmt);
	free(query);
}

/* ---- whole scripts and single statements ----------------------------------------------------- */

int store_exec(struct store *store, const char *sql, struct err *err)
{
	int rc = sqlite3_exec(store->db, sql, NULL, NULL, NULL);

	return rc ? sql_error(store, rc, err) : 0;
}

static int query_with(struct store *store, struct query **query, const char *sql,
		      const struct value *values, int nr, struct err *err)
{
	int code = query_open(store, query, sql, err);

	for (int i = 0; !code && i < nr; i++)
		code = query_bind(*query, i + 1, values[i]);
	return code;
}

int store_run(struct store *store, const char *sql, const struct value *values, int nr,
	      int64_t *rowid, struct err *err)
{
	struct query *query = NULL;
	int code;

	code = query_with(store, &query, sql, values, nr, err);
	while (!code) {
		code = query_step(query, err);
		if (code != 1)
			break;
		code = 0;
	}
	if (!code && rowid)
		*rowid = sqlite3_last_insert_rowid(store->db);
	query_close(query);
	return code;
}

int store_get_int(struct store *store, const char *sql, const struct value *values, int nr,
		  int64_t *out, bool *found, struct err *err)
{
	struct query *query = NULL;
	int code;

	*out = 0;
	*found = false;
	code = query_with(store, &query, sql, values, nr, err);
	if (!code)
		code = query_step(query, err);
	if (code == 1) {
		*found = true;
		*out = query_int(query, 0);
		code = 0;
	}
	query_close(query);
	return code;
}

/* ---- kept statements ------------------------------------------------------------------------- */

static sqlite3_stmt *ready(sqlite3_stmt *stmt)
{
	sqlite3_reset(stmt);
	sqlite3_clear_bindings(stmt);
	return stmt;
}

sqlite3_stmt *store_stmt(struct store *store, const char *sql, struct err *err)
{
	struct store_stmt *kept = store->stmts;
	sqlite3_stmt *stmt;
	int rc;

	for (int i = 0; i < store->nr_stmts; i++)
		if (kept[i].sql == sql)
			return ready(kept[i].stmt);
	rc = sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, NULL);
	if (rc) {
		sql_error(store, rc, err);
		return NULL;
	}
	if (store->nr_stmts == (int)ARRAY_SIZE(store->stmts)) {	/* full: the oldest goes */
		sqlite3_finalize(kept[0].stmt);
		memmove(kept, kept + 1, sizeof(*kept) * (ARRAY_SIZE(store->stmts) - 1));
		store->nr_stmts--;
	}
	kept[store->nr_stmts++] = (struct store_stmt){ sql, stmt };
	return stmt;
}

int store_step_done(struct store *store, sqlite3_stmt *stmt, struct err *err, const char *what)
{
	int rc = sqlite3_step(stmt), code = 0;

	if (rc != SQLITE_DONE && rc != SQLITE_ROW)
		code = store_fail(store, rc, err, what);
	sqlite3_reset(stmt);
	return code;
}

int store_run_kept(struct store *store, const char *sql, const struct value *values, int nr,
		   struct err *err)
{
	sqlite3_stmt *stmt = store_stmt(store, sql, err);
	int rc = 0;

	if (!stmt)
		return store_errno(store, sqlite3_extended_errcode(store->db));
	for (int i = 0; !rc && i < nr; i++)
		rc = store_bind(stmt, i + 1, values[i]);
	if (rc)
		return store_fail(store, rc, err, "cannot write to");
	return store_step_done(store, stmt, err, "cannot write to");
}
