// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * store_capture.c - rows that describe a capture: itself, its files, tasks, gaps and page chunks.
 */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "schema/store.h"

static struct value known_int(int64_t value, bool known)
{
	return known ? VALUE_OF_INT(value) : VALUE_NONE;
}

/* 32 hex digits that no other capture has, so that merge knows a capture again. */
static int new_uuid(char *text, size_t text_bytes, struct err *err)
{
	uint64_t word[2];

	if (getrandom(word, sizeof(word), 0) != sizeof(word))
		return err_sys(err, -EIO, "cannot get random bytes");
	snprintf(text, text_bytes, "%016llx%016llx", (unsigned long long)word[0],
		 (unsigned long long)word[1]);
	return 0;
}

int store_capture_begin(struct store *store, const struct capture_info *info, int64_t *capture_id,
			struct err *err)
{
	char uuid_text[40];
	const char *uuid = uuid_text;
	int code = new_uuid(uuid_text, sizeof(uuid_text), err);

	if (code)
		return code;
	const struct value values[] = {
		VALUE_OF_TEXT(uuid),
		VALUE_OF_TEXT(info->source),
		VALUE_OF_TEXT(info->input),
		VALUE_OF_TEXT(info->kernel_release),
		VALUE_OF_TEXT(info->hostname),
		VALUE_OF_TEXT(info->clock),
		known_int(info->started_unix_ns, info->started_unix_ns),
		known_int(info->base_ts_ns, info->base_ts_ns),
		known_int(info->nr_cpus, info->nr_cpus),
		VALUE_OF_INT(info->has_hits),
	};

	code = store_run_kept(
		store,
		"INSERT INTO capture(uuid, source, input, kernel_release,"
		" hostname, clock, started_unix_ns, base_ts_ns, nr_cpus, has_hits, status)"
		" VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'running')",
		values, ARRAY_SIZE(values), err);
	if (!code)
		*capture_id = sqlite3_last_insert_rowid(store->db);
	return code;
}

const char *store_capture_status(int code)
{
	switch (code) {
	case 0:
		return "complete";
	case -EINTR:
		return "interrupted";
	case -EFBIG:
		return "size-limit";
	case -ENOSPC:
		return "disk-full";
	default:
		return "failed";
	}
}

int store_capture_end(struct store *store, int64_t capture_id, const char *status,
		      int64_t end_ts_ns, struct err *err)
{
	const struct value values[] = {
		VALUE_OF_TEXT(status),
		VALUE_OF_INT(end_ts_ns),
		VALUE_OF_INT(capture_id),
	};

	return store_run_kept(store, "UPDATE capture SET status = ?, end_ts_ns = ? WHERE id = ?",
			      values, ARRAY_SIZE(values), err);
}

int store_capture_set_hits(struct store *store, int64_t capture_id, bool has_hits, struct err *err)
{
	const struct value values[] = { VALUE_OF_INT(has_hits), VALUE_OF_INT(capture_id) };

	return store_run_kept(store, "UPDATE capture SET has_hits = ? WHERE id = ?", values,
			      ARRAY_SIZE(values), err);
}

int store_capture_set_base(struct store *store, int64_t capture_id, int64_t base_ts_ns,
			   struct err *err)
{
	const struct value values[] = { VALUE_OF_INT(base_ts_ns), VALUE_OF_INT(capture_id) };

	return store_run_kept(store, "UPDATE capture SET base_ts_ns = coalesce(base_ts_ns, ?)"
			      " WHERE id = ?", values, ARRAY_SIZE(values), err);
}

int store_gap(struct store *store, int64_t capture_id, const char *stream, int cpu,
	      int64_t from_ns, int64_t to_ns, struct value events_lost, struct err *err)
{
	const struct value values[] = {
		VALUE_OF_INT(capture_id),
		VALUE_OF_TEXT(stream),
		known_int(cpu, cpu >= 0),
		VALUE_OF_INT(from_ns),
		VALUE_OF_INT(to_ns),
		events_lost,
	};

	return store_run_kept(store, "INSERT INTO gap(capture_id, stream, cpu, from_ns, to_ns,"
			      " events_lost) VALUES(?, ?, ?, ?, ?, ?)",
			      values, ARRAY_SIZE(values), err);
}

int store_file(struct store *store, int64_t capture_id, uint32_t file_id, uint32_t dev_major,
	       uint32_t dev_minor, uint64_t ino, int64_t size_bytes, const char *path,
	       struct err *err)
{
	const struct value values[] = {
		VALUE_OF_INT(file_id),
		VALUE_OF_INT(capture_id),
		VALUE_OF_INT(dev_major),
		VALUE_OF_INT(dev_minor),
		VALUE_OF_INT((int64_t)ino),
		known_int(size_bytes, size_bytes >= 0),
		VALUE_OF_TEXT(path),
	};

	return store_run_kept(store, "INSERT INTO file(id, capture_id, dev_major, dev_minor, ino,"
			      " size_bytes, path) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)"
			      " ON CONFLICT(id) DO UPDATE SET"
			      " size_bytes = coalesce(excluded.size_bytes, size_bytes),"
			      " path = coalesce(excluded.path, path)",
			      values, ARRAY_SIZE(values), err);
}

int store_next_file_id(struct store *store, uint32_t *file_id, struct err *err)
{
	int64_t id;
	bool found;
	int code;

	code = store_get_int(store, "SELECT coalesce(max(id), 0) + 1 FROM file", NULL, 0, &id,
			     &found, err);
	if (!code && (id < 1 || id > UINT32_MAX))
		code = err_set(err, -EBADMSG, "'%s' holds file id %lld", store->path,
			       (long long)(id - 1));
	if (!code)
		*file_id = (uint32_t)id;
	return code;
}

/*
 * A row is valid from its first_ts_ns on. One that says what the task's latest row says already
 * adds nothing; one that knows more than it fills it in.
 */
int store_task(struct store *store, int64_t capture_id, uint32_t pid, uint32_t tgid,
	       const char *comm, const char *cgroup, int64_t first_ts_ns, struct err *err)
{
	const struct value values[] = {
		VALUE_OF_INT(capture_id),
		VALUE_OF_INT(pid),
		VALUE_OF_INT(first_ts_ns),
		known_int(tgid, tgid),
		VALUE_OF_TEXT(comm),
		VALUE_OF_TEXT(cgroup),
	};
	int code;

	code = store_run_kept(store, "UPDATE task SET tgid = coalesce(tgid, ?4),"
			      " comm = coalesce(comm, ?5), cgroup = coalesce(cgroup, ?6)"
			      " WHERE capture_id = ?1 AND pid = ?2 AND first_ts_ns ="
			      "  (SELECT max(first_ts_ns) FROM task WHERE capture_id = ?1"
			      "   AND pid = ?2 AND first_ts_ns <= ?3)"
			      " AND (comm IS NULL OR ?5 IS NULL OR comm = ?5)"
			      " AND (cgroup IS NULL OR ?6 IS NULL OR cgroup = ?6)"
			      " AND (tgid IS NULL OR ?4 IS NULL OR tgid = ?4)",
			      values, ARRAY_SIZE(values), err);
	if (code || sqlite3_changes(store->db))
		return code;
	return store_run_kept(store, "INSERT INTO task(capture_id, pid, first_ts_ns, tgid, comm,"
			      " cgroup) VALUES(?1, ?2, ?3, ?4, ?5, ?6)"
			      " ON CONFLICT DO UPDATE SET tgid = coalesce(excluded.tgid, tgid),"
			      " comm = coalesce(excluded.comm, comm),"
			      " cgroup = coalesce(excluded.cgroup, cgroup)",
			      values, ARRAY_SIZE(values), err);
}

int store_page_chunk(struct store *store, const struct page_chunk *chunk, struct err *err)
{
	sqlite3_stmt *stmt;
	int rc;

	if (!chunk->nr_events)
		return 0;
	stmt = store_stmt(store, "INSERT INTO page_chunk(capture_id, cpu, nr_events, first_ts_ns,"
			  " last_ts_ns, ops_mask, min_file_id, max_file_id, sample_mask, data)"
			  " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", err);
	if (!stmt)
		return store_errno(store, sqlite3_extended_errcode(store->db));
	const int64_t columns[] = {
		chunk->capture_id, chunk->cpu, chunk->nr_events, (int64_t)chunk->first_ts_ns,
		(int64_t)chunk->last_ts_ns, chunk->ops_mask, chunk->min_file_id,
		chunk->max_file_id, chunk->sample_mask,
	};

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		sqlite3_bind_int64(stmt, (int)i + 1, columns[i]);
	/* not copied: the statement is stepped and reset before the caller may free it */
	rc = sqlite3_bind_blob64(stmt, ARRAY_SIZE(columns) + 1, chunk->data, chunk->data_bytes,
				 SQLITE_STATIC);
	if (rc)
		return store_fail(store, rc, err, "cannot write to");
	rc = store_step_done(store, stmt, err, "cannot write to");
	sqlite3_clear_bindings(stmt);
	return rc;
}
