// SPDX-License-Identifier: GPL-2.0-or-later
/* profile.c - cost profiles that are not built in: kept, named, stored, loaded. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/profile.h"

static struct cost_entry *find(struct profile *profile, const char *operation)
{
	for (size_t i = 0; i < profile->cost.nr_entries; i++)
		if (!strcmp(profile->entries[i].operation, operation))
			return &profile->entries[i];
	return NULL;
}

static struct cost_entry *add(struct profile *profile, const char *operation)
{
	struct cost_entry *entry;
	size_t nr = profile->cost.nr_entries;
	char *name;

	if (nr == profile->room) {
		size_t room = profile->room ? 2 * profile->room : 32;
		struct cost_entry *entries = realloc(profile->entries, room * sizeof(*entries));

		if (!entries)
			return NULL;
		profile->entries = entries;
		profile->room = room;
	}
	name = strdup(operation);
	if (!name)
		return NULL;
	entry = &profile->entries[nr];
	*entry = (struct cost_entry){ .operation = name };
	profile->cost.entries = profile->entries;
	profile->cost.name = profile->name;
	profile->cost.nr_entries++;
	return entry;
}

int profile_set(struct profile *profile, const char *operation, double ns, double stderr_ns,
		const char *fmt, ...)
{
	struct cost_entry *entry = find(profile, operation);
	char *source = NULL;
	va_list ap;
	int length;

	va_start(ap, fmt);
	length = vasprintf(&source, fmt, ap);
	va_end(ap);
	if (length < 0)
		return -ENOMEM;
	if (!entry)
		entry = add(profile, operation);
	if (!entry) {
		free(source);
		return -ENOMEM;
	}
	free((char *)entry->source);
	entry->ns = ns;
	entry->stderr_ns = stderr_ns;
	entry->source = source;
	return 0;
}

int profile_copy(struct profile *profile, const struct cost_profile *from, struct err *err)
{
	int code = 0;

	memset(profile, 0, sizeof(*profile));
	for (size_t i = 0; i < from->nr_entries && !code; i++)
		code = profile_set(profile, from->entries[i].operation, from->entries[i].ns,
				   from->entries[i].stderr_ns, "%s", from->entries[i].source);
	snprintf(profile->name, sizeof(profile->name), "%s", from->name);
	return code ? err_set(err, code, "no memory for a cost profile") : 0;
}

/* FNV-1a over names and prices; the sources are commentary. */
void profile_name(struct profile *profile, const char *prefix)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (size_t i = 0; i < profile->cost.nr_entries; i++) {
		char text[160];

		snprintf(text, sizeof(text), "%s=%.3f;", profile->entries[i].operation,
			 profile->entries[i].ns);
		for (const char *c = text; *c; c++)
			hash = (hash ^ (unsigned char)*c) * 0x100000001b3;
	}
	snprintf(profile->name, sizeof(profile->name), "%s-%08x", prefix,
		 (unsigned int)(hash ^ hash >> 32));
}

void profile_release(struct profile *profile)
{
	for (size_t i = 0; i < profile->cost.nr_entries; i++) {
		free((char *)profile->entries[i].operation);
		free((char *)profile->entries[i].source);
	}
	free(profile->entries);
	memset(profile, 0, sizeof(*profile));
}

/* ---- the database ---------------------------------------------------------------------------- */

static struct value real_or_null(double value)
{
	return isnan(value) ? VALUE_NONE : VALUE_OF_REAL(value);
}

int profile_store(struct store *store, const struct profile *profile, struct err *err)
{
	const struct fit *fit = &profile->fit;
	int code = 0;

	for (size_t i = 0; i < profile->cost.nr_entries && !code; i++) {
		const struct cost_entry *entry = &profile->entries[i];

		code = store_cost_entry(store, profile->name, entry->operation, entry->ns,
					real_or_null(entry->stderr_ns), entry->source, err);
	}
	if (code || !fit->nr_samples)
		return code;
	return store_cost_fit(store, profile->name, profile->method, fit->nr_samples,
			      fit->nr_left_out, real_or_null(fit->r2), fit->measured_ns,
			      fit->fitted_ns, err);
}

static int read_fit(struct profile *profile, struct store *store, struct err *err)
{
	struct query *query;
	int code = query_open(store, &query, "SELECT method, nr_samples, nr_left_out, r2,"
			      " measured_ns, fitted_ns FROM cost_fit WHERE profile = ?", err);

	if (code)
		return code;
	query_bind(query, 1, VALUE_OF_TEXT((const char *)profile->name));
	code = query_step(query, err);
	if (code == 1) {
		snprintf(profile->method, sizeof(profile->method), "%s", query_text(query, 0));
		profile->fit.nr_samples = (size_t)query_int(query, 1);
		profile->fit.nr_left_out = (size_t)query_int(query, 2);
		profile->fit.r2 = query_is_null(query, 3) ? NAN : query_real(query, 3);
		profile->fit.measured_ns = query_real(query, 4);
		profile->fit.fitted_ns = query_real(query, 5);
	}
	query_close(query);
	return code < 0 ? code : 0;
}

/* 1: there is one of that name. */
static int read_profile(struct profile *profile, struct store *store, const char *name,
			struct err *err)
{
	struct query *query;
	int code = query_open(store, &query, "SELECT operation, ns, stderr_ns, source FROM"
			      " cost_profile WHERE name = ? ORDER BY operation", err);

	if (code)
		return code;
	query_bind(query, 1, VALUE_OF_TEXT(name));
	snprintf(profile->name, sizeof(profile->name), "%s", name);
	while ((code = query_step(query, err)) == 1) {
		const char *source = query_text(query, 3);

		code = profile_set(profile, query_text(query, 0), query_real(query, 1),
				   query_is_null(query, 2) ? NAN : query_real(query, 2), "%s",
				   source ? source : "");
		if (code)
			break;
	}
	query_close(query);
	if (!code)
		code = read_fit(profile, store, err);
	return code < 0 ? code : profile->cost.nr_entries > 0;
}

/* The names of profiles that are not built in, "a, b"; the number of them or -errno. */
static int list_profiles(struct store *store, char *names, size_t names_bytes, char *first,
			 size_t first_bytes, struct err *err)
{
	const char *builtin = cost_profile_builtin()->name;
	struct query *query;
	int nr = 0, code = query_open(store, &query, "SELECT DISTINCT name FROM cost_profile"
				      " WHERE name <> ? ORDER BY name", err);
	size_t used = 0;

	names[0] = '\0';
	if (code)
		return code;
	query_bind(query, 1, VALUE_OF_TEXT(builtin));
	while ((code = query_step(query, err)) == 1) {
		const char *name = query_text(query, 0);

		if (!nr++)
			snprintf(first, first_bytes, "%s", name);
		if (used < names_bytes)
			used += (size_t)snprintf(names + used, names_bytes - used, "%s%s",
						 nr > 1 ? ", " : "", name);
	}
	query_close(query);
	return code < 0 ? code : nr;
}

static int load_file(struct profile *profile, const char *path, const char *name, struct err *err)
{
	struct store *store;
	char names[300], only[64] = "";
	int code = store_open(&store, path, STORE_READONLY, err), nr;

	if (code)
		return code;
	nr = list_profiles(store, names, sizeof(names), only, sizeof(only), err);
	if (nr < 0)
		code = nr;
	else if (!nr)
		code = err_set(err, -ENODATA, "'%s' has no cost profile (make one: pagereel "
			       "calibrate -o FILE)", path);
	else if (nr > 1 && !name)
		code = err_set(err, -EINVAL, "'%s' has %d cost profiles: name one, %s:NAME, of %s",
			       path, nr, path, names);
	if (!code)
		code = read_profile(profile, store, name ? name : only, err);
	if (!code)
		code = err_set(err, -EINVAL, "'%s' has no cost profile '%s', but %s", path, name,
			       names);
	store_close(store, NULL);
	return code < 0 ? code : 0;
}

int profile_load(struct profile *profile, struct store *store, const char *text, struct err *err)
{
	const char *colon = strrchr(text, ':');
	char names[300], first[64], path[4096];
	int code;

	memset(profile, 0, sizeof(*profile));
	if (!strcmp(text, "builtin") || !strcmp(text, cost_profile_builtin()->name))
		return profile_copy(profile, cost_profile_builtin(), err);
	code = read_profile(profile, store, text, err);
	if (code)
		return code < 0 ? code : 0;
	if (!access(text, F_OK))
		return load_file(profile, text, NULL, err);
	if (colon) {
		snprintf(path, sizeof(path), "%.*s", (int)(colon - text), text);
		if (!access(path, F_OK))
			return load_file(profile, path, colon + 1, err);
	}
	code = list_profiles(store, names, sizeof(names), first, sizeof(first), err);
	if (code < 0)
		return code;
	return err_set(err, -EINVAL, "no cost profile '%s': neither a name (builtin%s%s) nor a "
		       "database", text, *names ? ", " : "", names);
}
