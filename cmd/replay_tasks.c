// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * replay_tasks.c - whose demand is replayed. A capture of a limited memcg also holds what other
 * tasks did meanwhile: their pages are charged elsewhere, so they are left out. Tasks whose cgroup
 * is not known stay in if they read or fault, since only the chosen tasks' reads are recorded at
 * all.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/replay.h"

/* schema/replay_memcg.sql, schema/replay_tasks.sql */
extern const char sql_schema_replay_memcg[], sql_schema_replay_tasks[];

enum { TASK_OUT, TASK_IN, TASK_UNKNOWN };

int replay_memcg_path(struct store *store, int64_t capture_id, char *path, size_t path_bytes,
		      struct err *err)
{
	struct query *query;
	int ret = query_open(store, &query, sql_schema_replay_memcg, err);

	*path = '\0';
	if (ret)
		return ret;
	query_bind_name(query, ":capture_id", VALUE_OF_INT(capture_id));
	ret = query_step(query, err);
	if (ret == 1 && query_text(query, 0))
		snprintf(path, path_bytes, "%s", query_text(query, 0));
	query_close(query);
	return ret < 0 ? ret : 0;
}

static int tasks_read(struct store *store, int64_t stream_id, const char *path,
		      struct replay_tasks *tasks, struct err *err)
{
	struct query *query;
	int ret = query_open(store, &query, sql_schema_replay_tasks, err);

	if (ret)
		return ret;
	query_bind_name(query, ":stream_id", VALUE_OF_INT(stream_id));
	query_bind_name(query, ":path", VALUE_OF_TEXT(path));
	while ((ret = query_step(query, err)) == 1) {
		size_t task = (size_t)query_int(query, 0);

		if (task >= tasks->nr) {
			size_t nr = 2 * task + 16;
			uint8_t *in = realloc(tasks->in, nr);

			if (!in) {
				ret = err_set(err, -ENOMEM, "no memory for %zu tasks", nr);
				break;
			}
			memset(in + tasks->nr, TASK_UNKNOWN, nr - tasks->nr);
			tasks->in = in;
			tasks->nr = nr;
		}
		tasks->in[task] = query_is_null(query, 1) ? TASK_UNKNOWN :
				  query_int(query, 1) ? TASK_IN : TASK_OUT;
	}
	query_close(query);
	return ret < 0 ? ret : 0;
}

static uint8_t *task_in(const struct replay_tasks *tasks, uint32_t task)
{
	return task < tasks->nr ? &tasks->in[task] : NULL;
}

/* Unknown tasks that read are in, the others out. */
static int tasks_settle(const struct demand_source *source, struct replay_tasks *tasks,
			struct err *err)
{
	struct demand_block block;
	void *cursor;
	int ret = source->open(source->ctx, DEMAND_COL_TASK, &cursor, err);

	if (ret)
		return ret;
	while ((ret = source->next(cursor, &block, err)) == 1)
		for (size_t i = 0; block.task && i < block.nr; i++) {
			uint8_t op = block.op ? block.op[i] : DEMAND_READ;
			uint8_t *in = task_in(tasks, block.task[i]);

			if (in && *in == TASK_UNKNOWN && (op == DEMAND_READ || op == DEMAND_FAULT))
				*in = TASK_IN;
		}
	source->close(cursor);
	for (size_t i = 0; i < tasks->nr; i++) {
		if (tasks->in[i] == TASK_UNKNOWN)
			tasks->in[i] = TASK_OUT;
		tasks->some_out |= tasks->in[i] == TASK_OUT;
	}
	return ret;
}

int replay_tasks_select(struct store *store, const struct demand_source *source,
			int64_t stream_id, const char *path, struct replay_tasks *tasks,
			struct err *err)
{
	int ret;

	memset(tasks, 0, sizeof(*tasks));
	if (!*path)
		return 0;
	ret = tasks_read(store, stream_id, path, tasks, err);
	return ret ? ret : tasks_settle(source, tasks, err);
}

void replay_tasks_release(struct replay_tasks *tasks)
{
	free(tasks->in);
	memset(tasks, 0, sizeof(*tasks));
}

/* ---- a block without the tasks that are out -------------------------------------------------- */

struct kept_records {
	size_t room;
	uint32_t *page, *run, *task;
	uint8_t *op;
	uint64_t *ts_ns;
};

void kept_records_free(struct kept_records *kept)
{
	if (!kept)
		return;
	free(kept->page);
	free(kept->run);
	free(kept->task);
	free(kept->op);
	free(kept->ts_ns);
	free(kept);
}

static int kept_grow(struct kept_records *kept, size_t nr)
{
	if (nr <= kept->room)
		return 0;
	kept->page = realloc(kept->page, nr * sizeof(*kept->page));
	kept->run = realloc(kept->run, nr * sizeof(*kept->run));
	kept->task = realloc(kept->task, nr * sizeof(*kept->task));
	kept->op = realloc(kept->op, nr);
	kept->ts_ns = realloc(kept->ts_ns, nr * sizeof(*kept->ts_ns));
	kept->room = nr;
	return kept->page && kept->run && kept->task && kept->op && kept->ts_ns ? 0 : -ENOMEM;
}

int replay_tasks_filter(const struct replay_tasks *tasks, struct kept_records **kept_ref,
			struct demand_block *block, struct err *err)
{
	struct kept_records *kept = *kept_ref;
	size_t nr = 0;

	if (!kept)
		kept = *kept_ref = calloc(1, sizeof(*kept));
	if (!kept || kept_grow(kept, block->nr))
		return err_set(err, -ENOMEM, "no memory for %zu records", block->nr);
	for (size_t i = 0; i < block->nr; i++) {
		uint32_t task = block->task ? block->task[i] : 0;

		if (task < tasks->nr && tasks->in[task] == TASK_OUT)
			continue;
		kept->page[nr] = block->page[i];
		kept->run[nr] = block->run ? block->run[i] : 1;
		kept->op[nr] = block->op ? block->op[i] : DEMAND_READ;
		kept->task[nr] = task;
		kept->ts_ns[nr] = block->ts_ns ? block->ts_ns[i] : 0;
		nr++;
	}
	*block = (struct demand_block){
		.nr = nr, .page = kept->page, .run = kept->run, .op = kept->op,
		.task = kept->task, .ts_ns = block->ts_ns ? kept->ts_ns : NULL,
	};
	return 0;
}
