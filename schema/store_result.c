// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * store_result.c - what replays found. A result's id is a hash of what it is of, not a counter:
 * threads, shards and re-runs finish in any order, and still the merged tables must equal those of
 * one run. 52 bits, so that a reader of JSON that knows doubles only keeps it exact; two of 10^5
 * results collide with a chance of 10^-6, and then the second fails to be stored (UNIQUE), it never
 * mixes with the first.
 */
#include <errno.h>
#include <string.h>

#include "schema/store.h"

static const char *const counter_columns[] = {
	"accesses", "hits", "misses", "fills", "fills_compulsory", "fills_whole_write",
	"fills_undemanded", "evictions", "scanned", "reclaimed", "activated", "deactivated",
	"rotated", "refaults", "written", "swapped_out", "swapped_in", "resident_pages",
	"metadata_bytes", "cpu_ns", "io_ns",
};
enum { NR_COUNTER_COLUMNS = ARRAY_SIZE(counter_columns) };

/* ---- identity -------------------------------------------------------------------------------- */

static uint64_t mix_bytes(uint64_t hash, const void *bytes, size_t nr)
{
	const uint8_t *byte = bytes;

	for (size_t i = 0; i < nr; i++)
		hash = (hash ^ byte[i]) * 0x100000001b3ULL;
	return rand_next(&hash);
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
	return mix_bytes(hash, text, strlen(text) + 1);
}

static int64_t key_id(const struct result_key *key, const char *uuid, const char *selector)
{
	uint64_t hash = 0xcbf29ce484222325ULL;

	hash = mix_text(hash, uuid);
	hash = mix_text(hash, selector);
	hash = mix_text(hash, key->model);
	hash = mix_text(hash, key->params);
	hash = mix_bytes(hash, &key->memory_pages, sizeof(key->memory_pages));
	hash = mix_text(hash, key->profile);
	hash = mix_bytes(hash, &key->seed, sizeof(key->seed));
	return (int64_t)(hash & ((1ULL << 52) - 1));
}

static int result_id(struct store *store, const struct result_key *key, int64_t *id,
		     int64_t *capture_id, struct err *err)
{
	sqlite3_stmt *stmt;
	int rc;

	stmt = store_stmt(store, "SELECT c.uuid, s.selector, c.id FROM demand_stream s"
			  " JOIN capture c ON c.id = s.capture_id WHERE s.id = ?", err);
	if (!stmt)
		return store_errno(store, sqlite3_extended_errcode(store->db));
	sqlite3_bind_int64(stmt, 1, key->stream_id);
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW) {
		*id = key_id(key, (const char *)sqlite3_column_text(stmt, 0),
			     (const char *)sqlite3_column_text(stmt, 1));
		*capture_id = sqlite3_column_int64(stmt, 2);
	}
	sqlite3_reset(stmt);
	if (rc == SQLITE_ROW)
		return 0;
	if (rc == SQLITE_DONE)
		return err_set(err, -EINVAL, "no demand stream %lld", (long long)key->stream_id);
	return store_fail(store, rc, err, "cannot read");
}

int store_result_find(struct store *store, const struct result_key *key, int64_t *id, bool *found,
		      struct err *err)
{
	struct value value;
	int64_t capture_id, one;
	int code = result_id(store, key, id, &capture_id, err);

	if (code)
		return code;
	value = VALUE_OF_INT(*id);
	return store_get_int(store, "SELECT 1 FROM result WHERE id = ? AND status = 'complete'",
			     &value, 1, &one, found, err);
}

/* ---- rows ------------------------------------------------------------------------------------ */

int store_result_forget(struct store *store, int64_t id, struct err *err)
{
	const struct value value = VALUE_OF_INT(id);
	int code;

	code = store_run_kept(store, "DELETE FROM result_cost WHERE result_id = ?", &value, 1, err);
	if (!code)
		code = store_run_kept(store, "DELETE FROM result_interval WHERE result_id = ?",
				      &value, 1, err);
	if (!code)
		code = store_run_kept(store, "DELETE FROM result WHERE id = ?", &value, 1, err);
	return code;
}

static int place_counters(struct value *values, const struct result_counter *counters, int nr,
			  struct err *err)
{
	for (int i = 0; i < nr; i++) {
		int column = 0;

		while (column < NR_COUNTER_COLUMNS &&
		       strcmp(counter_columns[column], counters[i].name))
			column++;
		if (column == NR_COUNTER_COLUMNS)
			return err_set(err, -EINVAL, "table result has no counter '%s'",
				       counters[i].name);
		values[column] = counters[i].value;
	}
	return 0;
}

int store_result(struct store *store, const struct result_key *key, const char *status,
		 const struct result_counter *counters, int nr_counters, int64_t *id,
		 struct err *err)
{
	struct value values[9 + NR_COUNTER_COLUMNS] = { 0 };
	int64_t capture_id;
	int code;

	code = result_id(store, key, id, &capture_id, err);
	if (!code)
		code = place_counters(values + 9, counters, nr_counters, err);
	if (!code)
		code = store_result_forget(store, *id, err);
	if (code)
		return code;
	values[0] = VALUE_OF_INT(*id);
	values[1] = VALUE_OF_INT(capture_id);
	values[2] = VALUE_OF_INT(key->stream_id);
	values[3] = VALUE_OF_TEXT(key->model);
	values[4] = VALUE_OF_TEXT(key->params);
	values[5] = VALUE_OF_INT((int64_t)key->memory_pages);
	values[6] = VALUE_OF_TEXT(key->profile);
	values[7] = VALUE_OF_INT((int64_t)key->seed);
	values[8] = VALUE_OF_TEXT(status);
	return store_run_kept(store, "INSERT INTO result(id, capture_id, stream_id, model, params,"
			      " memory_pages, profile, seed, status, accesses, hits, misses, fills,"
			      " fills_compulsory, fills_whole_write, fills_undemanded, evictions,"
			      " scanned, reclaimed, activated, deactivated, rotated, refaults,"
			      " written, swapped_out, swapped_in, resident_pages, metadata_bytes,"
			      " cpu_ns, io_ns) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
			      " ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			      values, ARRAY_SIZE(values), err);
}

int store_result_cost(struct store *store, int64_t id, const char *component,
		      const char *operation, uint64_t count, struct value ns, struct err *err)
{
	const struct value values[] = {
		VALUE_OF_INT(id),
		VALUE_OF_TEXT(component),
		VALUE_OF_TEXT(operation),
		VALUE_OF_INT((int64_t)count),
		ns,
	};

	return store_run_kept(store, "INSERT OR REPLACE INTO result_cost(result_id, component,"
			      " operation, count, ns) VALUES(?, ?, ?, ?, ?)",
			      values, ARRAY_SIZE(values), err);
}

int store_result_interval(struct store *store, int64_t id, const struct result_interval *interval,
			  struct err *err)
{
	const struct value values[] = {
		VALUE_OF_INT(id),
		VALUE_OF_INT(interval->idx),
		interval->first_ts_ns,
		interval->last_ts_ns,
		interval->accesses,
		interval->hits,
		interval->fills,
		interval->evictions,
	};

	return store_run_kept(store, "INSERT OR REPLACE INTO result_interval(result_id, idx,"
			      " first_ts_ns, last_ts_ns, accesses, hits, fills, evictions)"
			      " VALUES(?, ?, ?, ?, ?, ?, ?, ?)", values, ARRAY_SIZE(values), err);
}

int store_replay_run(struct store *store, int64_t stream_id, const char *spec, uint64_t nr_results,
		     struct err *err)
{
	const struct value values[] = {
		VALUE_OF_INT(stream_id),
		VALUE_OF_TEXT(spec),
		VALUE_OF_INT((int64_t)nr_results),
	};

	return store_run_kept(store,
			      "INSERT OR REPLACE INTO replay_run(stream_id, spec, nr_results)"
			      " VALUES(?, ?, ?)",
			      values, ARRAY_SIZE(values), err);
}

int store_cost_entry(struct store *store, const char *profile, const char *operation, double ns,
		     struct value stderr_ns, const char *source, struct err *err)
{
	const struct value values[] = {
		VALUE_OF_TEXT(profile),
		VALUE_OF_TEXT(operation),
		VALUE_OF_REAL(ns),
		stderr_ns,
		VALUE_OF_TEXT(source),
	};

	return store_run_kept(store, "INSERT OR REPLACE INTO cost_profile(name, operation, ns,"
			      " stderr_ns, source) VALUES(?, ?, ?, ?, ?)",
			      values, ARRAY_SIZE(values), err);
}

int store_cost_fit(struct store *store, const char *profile, const char *method,
		   uint64_t nr_samples, uint64_t nr_left_out, struct value r2, double measured_ns,
		   double fitted_ns, struct err *err)
{
	const struct value values[] = {
		VALUE_OF_TEXT(profile),
		VALUE_OF_TEXT(method),
		VALUE_OF_INT((int64_t)nr_samples),
		VALUE_OF_INT((int64_t)nr_left_out),
		r2,
		VALUE_OF_REAL(measured_ns),
		VALUE_OF_REAL(fitted_ns),
	};

	return store_run_kept(store, "INSERT OR REPLACE INTO cost_fit(profile, method, nr_samples,"
			      " nr_left_out, r2, measured_ns, fitted_ns) VALUES(?, ?, ?, ?, ?, ?,"
			      " ?)", values, ARRAY_SIZE(values), err);
}

/* Values 0 to 5 of curve and knee. */
static void curve_key(struct value *values, const struct result_key *key, const char *method)
{
	values[0] = VALUE_OF_INT(key->stream_id);
	values[1] = VALUE_OF_TEXT(key->model);
	values[2] = VALUE_OF_TEXT(key->params);
	values[3] = VALUE_OF_TEXT(method);
	values[4] = VALUE_OF_INT((int64_t)key->seed);
	values[5] = VALUE_OF_INT((int64_t)key->memory_pages);
}

int store_curve_point(struct store *store, const struct result_key *key, const char *method,
		      double miss_ratio, struct value miss_stderr, struct err *err)
{
	struct value values[8];

	curve_key(values, key, method);
	values[6] = VALUE_OF_REAL(miss_ratio);
	values[7] = miss_stderr;
	return store_run_kept(
		store,
		"INSERT OR REPLACE INTO curve(stream_id, model, params, method,"
		" seed, memory_pages, miss_ratio, stderr) VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
		values, ARRAY_SIZE(values), err);
}

int store_knee(struct store *store, const struct result_key *key, const char *method,
	       double miss_ratio, double drop_ratio, struct err *err)
{
	struct value values[8];

	curve_key(values, key, method);
	values[6] = VALUE_OF_REAL(miss_ratio);
	values[7] = VALUE_OF_REAL(drop_ratio);
	return store_run_kept(store, "INSERT OR REPLACE INTO knee(stream_id, model, params, method,"
			      " seed, memory_pages, miss_ratio, drop_ratio)"
			      " VALUES(?, ?, ?, ?, ?, ?, ?, ?)", values, ARRAY_SIZE(values), err);
}

int store_validation(struct store *store, const struct result_key *key, const char *counter,
		     struct value recorded, struct value replayed, struct err *err)
{
	const struct value values[] = {
		VALUE_OF_INT(key->stream_id),
		VALUE_OF_TEXT(key->model),
		VALUE_OF_TEXT(key->params),
		VALUE_OF_INT((int64_t)key->memory_pages),
		VALUE_OF_TEXT(counter),
		recorded,
		replayed,
	};

	return store_run_kept(
		store,
		"INSERT OR REPLACE INTO validation(stream_id, model, params,"
		" memory_pages, counter, recorded, replayed) VALUES(?, ?, ?, ?, ?, ?, ?)",
		values, ARRAY_SIZE(values), err);
}
