// SPDX-License-Identifier: GPL-2.0-or-later
/* vtab_event.c - packed events as virtual tables. */
#include "schema/sqlite.h"

int vtab_event_register(sqlite3 *db)
{
	return SQLITE_OK;
}
