// SPDX-License-Identifier: GPL-2.0-or-later
/* merge.c - `pagereel merge`: many databases into one. */
#include <errno.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "schema/schema.h"

struct merge_opts {
	const char *out;
	bool force, append;
};

/* Before ALL.db is made, or replaced: every input opens, and none of them is ALL.db. */
static int inputs_check(const char *out, char **paths, int nr, struct err *err)
{
	int code = 0;

	for (int i = 0; !code && i < nr; i++) {
		struct store *store;

		if (store_same_file(out, paths[i]))
			return err_set(err, -EINVAL, "cannot merge '%s' into itself", paths[i]);
		code = store_open(&store, paths[i], STORE_READONLY, err);
		if (!code)
			store_close(store, NULL);
	}
	return code;
}

static int merge_inputs(struct store *store, char **paths, int nr, struct err *err)
{
	int code = 0;

	for (int i = 0; !code && i < nr; i++)
		code = store_merge(store, paths[i], err);
	return code;
}

/* Prints one line of what the target holds now. */
static void say_result(struct store *store, int nr)
{
	int64_t captures, results;
	bool found;

	if (store_get_int(store, "SELECT count(*) FROM capture", NULL, 0, &captures, &found,
			  NULL) ||
	    store_get_int(store, "SELECT count(*) FROM result", NULL, 0, &results, &found, NULL))
		return;
	printf("%s: %d database%s merged, %lld capture%s, %lld replay result%s\n",
	       store_path(store), nr, nr == 1 ? "" : "s", (long long)captures,
	       captures == 1 ? "" : "s", (long long)results, results == 1 ? "" : "s");
}

static int merge_run(const struct command *self, int argc, char **argv)
{
	struct merge_opts o = { 0 };
	const struct opt opts[] = {
		{ 'o', "output", OPT_TEXT, &o.out, "ALL.db", "the database to make" },
		{ 0, "append", OPT_FLAG, &o.append, NULL, "add to ALL.db if it exists" },
		{ 0, "force", OPT_FLAG, &o.force, NULL, "replace ALL.db if it exists" },
		{ 0 },
	};
	struct store *store;
	struct err err = { "" };
	int status, nr, code, end;
	bool is_new;

	nr = opts_parse(self, opts, argc, argv, false, &argv, &status);
	if (nr < 0)
		return status;
	if (!o.out)
		return cmd_usage(self, "where to? (-o ALL.db)");
	if (!nr)
		return cmd_usage(self, "which databases?");
	if (o.append && o.force)
		return cmd_usage(self, "--append and --force exclude each other");
	is_new = !o.append || access(o.out, F_OK);
	code = inputs_check(o.out, argv, nr, &err);
	if (code)
		return cmd_fail(self, code, &err);
	code = store_create(&store, o.out, (o.force ? STORE_FORCE : 0) |
			    (o.append ? STORE_APPEND : 0), &err);
	if (code)
		return cmd_fail(self, code, &err);
	code = merge_inputs(store, argv, nr, &err);
	if (!code)
		say_result(store, nr);
	end = store_close(store, &err);
	if (!code)
		code = end;
	if (code && is_new)		/* half of a merge looks like a whole one */
		unlink(o.out);
	return code ? cmd_fail(self, code, &err) : cmd_finish(self);
}

const struct command cmd_merge = {
	.name = "merge",
	.args = "-o ALL.db [OPTION]... RUN.db...",
	.summary = "Merge databases: captures of a fleet, or the shards of a replay.",
	.examples = "  pagereel merge -o all.db monday.db tuesday.db\n"
		    "  pagereel merge -o run.db --append shard1.db shard2.db shard3.db\n"
		    "  pagereel merge -o fleet.db --force */run.db\n",
	.run = merge_run,
};
