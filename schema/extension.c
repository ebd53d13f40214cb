// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * extension.c - pagereel.so, for the sqlite3 shell: `.load ./pagereel` gives it page_event,
 * page_life and the packed event tables. Only the shared object contains it; the program registers
 * the same tables whenever it opens a database. A read-only database is enough.
 */
#ifdef PAGEREEL_EXTENSION
#define PAGEREEL_EXTENSION_MAIN
#include "schema/sqlite.h"

SQLITE_EXTENSION_INIT1

int sqlite3_pagereel_init(sqlite3 *db, char **text, const sqlite3_api_routines *api);

int sqlite3_pagereel_init(sqlite3 *db, char **text, const sqlite3_api_routines *api)
{
	int rc;

	SQLITE_EXTENSION_INIT2(api);
	rc = vtab_page_register(db);
	if (rc == SQLITE_OK)
		rc = vtab_life_register(db);
	if (rc == SQLITE_OK)
		rc = vtab_event_register(db);
	return rc;
}
#else
typedef int extension_is_not_here;	/* ISO C wants a declaration */
#endif
