// SPDX-License-Identifier: GPL-2.0-or-later
/* synth_store.c - a synthetic stream into the database, as a capture of source 'synth'. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/synth_tree.h"

enum { COMMIT_CHUNKS = 128 };

struct sink {
	struct store *store;
	struct page_packer *packer;
	int nr_uncommitted;
};

static int files_store(const struct synth *synth, struct store *store, int64_t capture_id,
		       uint32_t first_id, struct err *err)
{
	for (uint32_t i = 0; i < synth->nr_files; i++) {
		int ret = store_file(store, capture_id, first_id + i, 0, 0, i + 1,
				     (int64_t)synth->file[i].size_bytes, synth->file[i].name, err);

		if (ret)
			return ret;
	}
	return 0;
}

static int tasks_store(const struct synth *synth, struct store *store, int64_t capture_id,
		       struct err *err)
{
	for (uint32_t i = 0; i < synth->nr_tasks; i++) {
		int ret = store_task(store, capture_id, SYNTH_FIRST_PID + i, SYNTH_FIRST_PID + i,
				     synth->task[i], NULL, 0, err);

		if (ret)
			return ret;
	}
	return 0;
}

static int chunk_store(struct sink *sink, struct err *err)
{
	struct page_chunk chunk;
	int ret = page_packer_take(sink->packer, &chunk);

	if (ret)
		return err_set(err, ret, "no memory for a chunk of page events");
	ret = store_page_chunk(sink->store, &chunk, err);
	page_chunk_release(&chunk);
	if (ret || ++sink->nr_uncommitted < COMMIT_CHUNKS)
		return ret;
	sink->nr_uncommitted = 0;
	ret = store_commit(sink->store, err);
	return ret ? ret : store_begin(sink->store, err);
}

static int events_store(struct synth *synth, struct sink *sink, uint32_t first_id,
			const volatile int *stop, struct synth_result *result, struct err *err)
{
	struct page_event event;
	int ret;

	while (synth_next(synth, &event)) {
		event.file_id += first_id - 1;
		result->nr_events++;
		result->nr_pages += event.pages;
		result->end_ts_ns = event.ts_ns;
		if (!page_packer_add(sink->packer, &event))
			continue;
		ret = chunk_store(sink, err);
		if (ret)
			return ret;
		if (stop && *stop)
			return err_set(err, -EINTR, "interrupted after %llu events",
				       (unsigned long long)result->nr_events);
	}
	return page_packer_events(sink->packer) ? chunk_store(sink, err) : 0;
}

int synth_store(struct synth *synth, struct store *store, const char *input,
		const volatile int *stop, struct synth_result *result, struct err *err)
{
	const struct capture_info info = {
		.source = "synth",
		.input = input,
		.clock = "virtual",
		.nr_cpus = 1,
		.has_hits = true,
	};
	struct sink sink = { .store = store };
	uint32_t first_id;
	int ret, end;

	*result = (struct synth_result){ .nr_files = synth->nr_files, .nr_tasks = synth->nr_tasks };
	ret = store_capture_begin(store, &info, &result->capture_id, err);
	if (ret)
		return ret;
	ret = store_begin(store, err);
	if (ret)
		return ret;
	sink.packer = page_packer_new(result->capture_id, 0, 0);
	if (!sink.packer)
		ret = err_set(err, -ENOMEM, "no memory for the page packer");
	if (!ret)
		ret = store_next_file_id(store, &first_id, err);
	if (!ret)
		ret = files_store(synth, store, result->capture_id, first_id, err);
	if (!ret)
		ret = tasks_store(synth, store, result->capture_id, err);
	if (!ret)
		ret = events_store(synth, &sink, first_id, stop, result, err);
	page_packer_free(sink.packer);
	end = store_commit(store, ret ? NULL : err);
	ret = ret ? ret : end;
	end = store_capture_end(store, result->capture_id, store_capture_status(ret),
				(int64_t)result->end_ts_ns, ret ? NULL : err);
	return ret ? ret : end;
}
