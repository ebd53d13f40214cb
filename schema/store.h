/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store.h - inside of struct store, for the files of schema/ only. */
#ifndef PAGEREEL_SCHEMA_STORE_H
#define PAGEREEL_SCHEMA_STORE_H

#include "schema/schema.h"
#include "schema/sqlite.h"

enum { STORE_APPLICATION_ID = 0x50675265 };	/* "PgRe" */
enum { STORE_VERSION = 4 };			/* PRAGMA user_version: see store_migrate.c */

struct context_seen;
struct event_sink;

/* Statements prepared once and kept, by the address of their (literal) text. */
struct store_stmt {
	const char *sql;
	sqlite3_stmt *stmt;
};

struct store {
	sqlite3 *db;
	char *path;
	bool readonly;
	struct store_stmt stmts[48];
	int nr_stmts;
	struct context_seen *seen;	/* store_context.c */
	struct event_sink *sinks;	/* store_event.c */
	struct event_table *tables;
};

/* -errno for SQLite's result @rc of the last call on @store. */
int store_errno(const struct store *store, int rc);
/* The same with the text "WHAT 'path': why (remedy)". */
int store_fail(const struct store *store, int rc, struct err *err, const char *what);

/* A kept statement, reset and unbound; @sql must be a literal. NULL with *err set on failure. */
sqlite3_stmt *store_stmt(struct store *store, const char *sql, struct err *err);
int store_bind(sqlite3_stmt *stmt, int index, struct value value);
/* Steps a statement that gives no rows, and resets it. */
int store_step_done(struct store *store, sqlite3_stmt *stmt, struct err *err, const char *what);
/* Binds @values to the kept statement of literal @sql and runs it. */
int store_run_kept(struct store *store, const char *sql, const struct value *values, int nr,
		   struct err *err);

bool store_in_transaction(const struct store *store);

/* store_migrate.c: brings @store from its user_version to STORE_VERSION, in one transaction. */
int store_migrate(struct store *store, int from_version, struct err *err);

/* store_event.c */
int store_events_create(struct store *store, struct err *err);	/* the tables views rely on */
int store_events_flush(struct store *store, struct err *err);	/* before a commit */
void store_events_forget(struct store *store);			/* after a rollback */
void store_events_free(struct store *store);

/* store_result.c: removes a result with its costs and intervals. */
int store_result_forget(struct store *store, int64_t id, struct err *err);

/* store_context.c */
void store_context_free(struct store *store);

#endif
