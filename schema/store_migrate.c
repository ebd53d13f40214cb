// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * store_migrate.c - the chain of versions. Step i brings a file from version i to i + 1; all that
 * are needed run in one transaction, so that a file is never left between two versions. Views are
 * made anew after any step. A change of tables.sql adds a step here and a file of the old version
 * to tests/data.
 */
#include <errno.h>

#include "schema/store.h"
#include "schema/store_event.h"

extern const char sql_schema_views[];
extern const char sql_schema_migrate_1[];
extern const char sql_schema_migrate_3[];

static const char *const steps[STORE_VERSION] = {
	[0] = NULL,	/* no version 0 was ever written */
	[1] = sql_schema_migrate_1,
	[2] = NULL,	/* views alone */
	[3] = sql_schema_migrate_3,
};

static int run_steps(struct store *store, int from_version, struct err *err)
{
	char sql[64];
	int code = 0;

	for (int version = from_version; !code && version < STORE_VERSION; version++)
		code = steps[version] ? store_exec(store, steps[version], err) : 0;
	if (!code)
		code = store_events_create(store, err);	/* those that views have come to read */
	if (!code)
		code = store_exec(store, sql_schema_views, err);
	if (code)
		return code;
	snprintf(sql, sizeof(sql), "PRAGMA user_version=%d", STORE_VERSION);
	return store_exec(store, sql, err);
}

/*
 * Another process may have been faster: what counts is the version now that nobody else can write.
 */
static int upgrade(struct store *store, struct err *err)
{
	int64_t version;
	bool found;
	int code;

	code = store_get_int(store, "PRAGMA user_version", NULL, 0, &version, &found, err);
	if (code || version >= STORE_VERSION)
		return code;
	return run_steps(store, (int)version, err);
}

int store_migrate(struct store *store, int from_version, struct err *err)
{
	struct err why = { 0 };
	int code = store_exec(store, "BEGIN EXCLUSIVE", &why);

	if (!code)
		code = upgrade(store, &why);
	if (!code)
		code = store_exec(store, "COMMIT", &why);
	if (!code)
		return 0;
	if (store_in_transaction(store))
		store_exec(store, "ROLLBACK", NULL);
	return err_set(err, code, "cannot upgrade '%s' from version %d: %s", store->path,
		       from_version, why.text);
}
