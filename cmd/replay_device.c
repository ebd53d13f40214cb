// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * replay_device.c - the device that a capture read most, and how large its folios get: what a
 * replay takes read_ahead_kb and the like from. Page events are counted here rather than in SQL,
 * where a million of them take longer than the replay.
 */
#include <errno.h>
#include <stdlib.h>

#include "cmd/replay.h"

/* Only chosen tasks' reads are recorded, so a million tell the device; adds are of everybody. */
enum { MAX_READS = 1000000, MAX_ADDS = 2000000, MAX_FILES = 1 << 26 };

/* By file id: how often it was read; then, whether it is on the device. */
struct files {
	uint32_t *nr;
	int64_t nr_ids;
	bool one_device;
};

static int files_init(struct store *store, struct files *files, struct err *err)
{
	bool found;
	int64_t max = 0, nr_devices = 0;
	int ret = store_get_int(store, "SELECT coalesce(max(id), 0) FROM file", NULL, 0, &max,
				&found, err);

	ret = ret ?: store_get_int(store, "SELECT count(*) FROM (SELECT DISTINCT dev_major,"
				   " dev_minor FROM file)", NULL, 0, &nr_devices, &found, err);
	files->one_device = nr_devices == 1;
	files->nr = NULL;
	files->nr_ids = max < MAX_FILES ? max + 1 : 0;
	if (ret)
		return ret;
	files->nr = calloc((size_t)files->nr_ids + 1, sizeof(*files->nr));
	return files->nr ? 0 : err_set(err, -ENOMEM, "no memory to count %lld files",
				       (long long)files->nr_ids);
}

static int count_reads(struct store *store, int64_t capture_id, struct files *files,
		       struct err *err)
{
	const struct page_event *event;
	struct page_reader *reader;
	int cpu, ret = page_reader_open(store, capture_id, 1U << PAGE_OP_READ | 1U << PAGE_OP_FAULT,
					&reader, err);

	if (ret)
		return ret;
	for (uint32_t i = 0; i < MAX_READS; i++) {
		ret = page_reader_next(reader, &event, &cpu, err);
		if (ret != 1)
			break;
		if (event->file_id < files->nr_ids)
			files->nr[event->file_id]++;
		if (files->one_device && event->file_id)
			break;
	}
	page_reader_close(reader);
	return ret < 0 ? ret : 0;
}

/* The device with most reads, the first of equals; *major: -1 if there is none. */
static int choose_device(struct store *store, const struct files *files, int64_t *major,
			 int64_t *minor, struct err *err)
{
	int64_t sum = 0, best = 0, last_major = -1, last_minor = -1;
	struct query *query;
	int ret = query_open(store, &query, "SELECT id, dev_major, dev_minor FROM file"
			     " WHERE dev_major >= 0 ORDER BY dev_major, dev_minor", err);

	*major = *minor = -1;
	if (ret)
		return ret;
	while ((ret = query_step(query, err)) == 1) {
		int64_t id = query_int(query, 0);

		if (query_int(query, 1) != last_major || query_int(query, 2) != last_minor)
			sum = 0;
		last_major = query_int(query, 1);
		last_minor = query_int(query, 2);
		sum += id >= 0 && id < files->nr_ids ? files->nr[id] : 0;
		if (sum > best) {
			best = sum;
			*major = last_major;
			*minor = last_minor;
		}
	}
	query_close(query);
	return ret;
}

static int mark_files(struct store *store, struct files *files, int64_t major, int64_t minor,
		      struct err *err)
{
	struct query *query;
	int ret = query_open(store, &query, "SELECT id, dev_major = ?1 AND dev_minor = ?2"
			     " FROM file", err);

	if (ret)
		return ret;
	query_bind(query, 1, VALUE_OF_INT(major));
	query_bind(query, 2, VALUE_OF_INT(minor));
	while ((ret = query_step(query, err)) == 1)
		if (query_int(query, 0) >= 0 && query_int(query, 0) < files->nr_ids)
			files->nr[query_int(query, 0)] = (uint32_t)query_int(query, 1);
	query_close(query);
	return ret;
}

static int find_largest(struct store *store, int64_t capture_id, const struct files *files,
			uint32_t *max_pages, struct err *err)
{
	const struct page_event *event;
	struct page_reader *reader;
	int cpu, ret = page_reader_open(store, capture_id, 1U << PAGE_OP_ADD, &reader, err);

	if (ret)
		return ret;
	for (uint32_t nr = 0; nr < MAX_ADDS;) {
		ret = page_reader_next(reader, &event, &cpu, err);
		if (ret != 1)
			break;
		if (event->file_id >= files->nr_ids || !files->nr[event->file_id])
			continue;
		nr++;
		*max_pages = event->pages > *max_pages ? event->pages : *max_pages;
	}
	page_reader_close(reader);
	return ret < 0 ? ret : 0;
}

int replay_device_find(struct store *store, int64_t capture_id, struct replay_device *device,
		       struct err *err)
{
	struct files files;
	int ret = files_init(store, &files, err);

	*device = (struct replay_device){ .major = -1, .minor = -1 };
	ret = ret ?: count_reads(store, capture_id, &files, err);
	ret = ret ?: choose_device(store, &files, &device->major, &device->minor, err);
	if (!ret && device->major >= 0)
		ret = mark_files(store, &files, device->major, device->minor, err) ?:
		      find_largest(store, capture_id, &files, &device->max_folio_pages, err);
	free(files.nr);
	return ret;
}
