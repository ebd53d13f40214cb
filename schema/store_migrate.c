// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * store_migrate.c - the chain of versions. Step i brings a file from version i to i + 1; all that are needed
 * run in one transaction, so that a file is never left between two versions. Views are made anew after
 * any step. A change of tables.sql adds a step here and a file of the old version to tests/data.
 */
#include <errno.h>

#include "schema/store.h"

extern const char sql_schema_views[];

static const char *const steps[STORE_VERSION] = {
	[0] = NULL,	/* no version 0 was ever written */
};

static int run_steps(struct store *store, int from_version, struct err *err)
{
	char sql[64];
	int code = 0;

	for (int version = from_version; !code && version < STORE_VERSION; version++)
		code = steps[version] ? store_exec(store, steps[version], err) : 0;
	if (!code)
		code = store_exec(store, sql_schema_views, err);
	if (code)
		return code;
	snprintf(sql, sizeof(sql), "PRAGMA user_version=%d", STORE_VERSION);
	return store_exec(store, sql, err);
}

int store_migrate(struct store *store, int from_version, struct err *err)
{
	int code = store_exec(store, "BEGIN EXCLUSIVE", err);

	if (code)
		return code;
	code = run_steps(store, from_version, err);
	if (code) {
		store_exec(store, "ROLLBACK", NULL);
		return err_set(err, code, "cannot upgrade '%s' from version %d", store->path,
			       from_version);
	}
	return store_exec(store, "COMMIT", err);
}
