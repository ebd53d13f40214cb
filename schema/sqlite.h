/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sqlite.h - SQLite's header, or the loadable extension's form of it (-DPAGEREEL_EXTENSION), in
 * which every sqlite3_ function goes through a table. schema/extension.c defines that table.
 */
#ifndef PAGEREEL_SCHEMA_SQLITE_H
#define PAGEREEL_SCHEMA_SQLITE_H

#ifdef PAGEREEL_EXTENSION
#include <sqlite3ext.h>
#ifndef PAGEREEL_EXTENSION_MAIN
SQLITE_EXTENSION_INIT3
#endif
#else
#include <sqlite3.h>
#endif

/* Registers the virtual table of each packed event of every database of @db, unless there is one of
 * that name already. */
int vtab_event_register(sqlite3 *db);
/* Registers one of the main database; replaces (its columns may have grown). */
int vtab_event_register_table(sqlite3 *db, const char *name, sqlite3_int64 table_id);
/* Registers page_event. */
int vtab_page_register(sqlite3 *db);
/* Registers page_life. */
int vtab_life_register(sqlite3 *db);
/* Registers reclaim_pair, and makes a temporary view reclaim_episode of it. */
int episode_register(sqlite3 *db);
/* Registers the aggregate tally(key, value). */
int tally_register(sqlite3 *db);
/* Registers nearest_rank(value, pct) and power_of_two(value). */
int distribution_register(sqlite3 *db);

#endif
