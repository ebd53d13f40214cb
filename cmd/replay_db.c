// SPDX-License-Identifier: GPL-2.0-or-later
/* replay_db.c - between the database and the replay engine, which knows none. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/replay.h"

/* ---- the demand stream as a source ----------------------------------------------------------- */

struct db_cursor {
	struct store *store;
	struct demand_reader *reader;
	const struct replay_tasks *tasks;
	struct kept_records *kept;
};

static void db_close(void *cursor)
{
	struct db_cursor *c = cursor;

	demand_reader_close(c->reader);
	store_close(c->store, NULL);
	kept_records_free(c->kept);
	free(c);
}

static int db_open(void *ctx, unsigned int columns, void **cursor, struct err *err)
{
	const struct db_source *db = ctx;
	struct db_cursor *c = calloc(1, sizeof(*c));
	int ret;

	if (!c)
		return err_set(err, -ENOMEM, "no memory to read '%s'", db->path);
	ret = store_open(&c->store, db->path, STORE_READONLY, err);
	if (ret) {
		free(c);
		return ret;
	}
	c->tasks = &db->tasks;
	if (c->tasks->some_out)
		columns |= DEMAND_COL_TASK;
	ret = demand_reader_open(c->store, db->stream_id, columns, &c->reader, err);
	if (ret) {
		c->reader = NULL;
		db_close(c);
		return ret;
	}
	*cursor = c;
	return 0;
}

static int db_next(void *cursor, struct demand_block *block, struct err *err)
{
	struct db_cursor *c = cursor;
	int ret = demand_reader_next(c->reader, block, err), code;

	if (ret != 1 || !c->tasks->some_out)
		return ret;
	code = replay_tasks_filter(c->tasks, &c->kept, block, err);
	return code ? code : 1;
}

static int db_times(void *cursor, struct demand_block *block, struct err *err)
{
	struct db_cursor *c = cursor;

	return demand_reader_times(c->reader, block, err);
}

void db_source_init(struct db_source *db, const char *path, const struct demand_info *info,
		    struct demand_source *source)
{
	*db = (struct db_source){ .path = path, .stream_id = info->stream_id };
	*source = (struct demand_source){
		.ctx = db,
		.open = db_open,
		.next = db_next,
		.times = db_times,
		.close = db_close,
		.nr_accesses = info->nr_accesses,
		.nr_distinct_pages = info->nr_distinct_pages,
		.nr_ids = info->nr_ids,
		.ops_mask = info->ops_mask,
		.first_ts_ns = info->first_ts_ns,
		.last_ts_ns = info->last_ts_ns,
		.checked = true,
	};
}

/* What is left after the tasks that are out. */
static int db_count(struct demand_source *source, struct err *err)
{
	uint8_t *touched = calloc((size_t)source->nr_ids + 1, 1);
	struct demand_block block;
	void *cursor = NULL;
	int ret;

	if (!touched)
		return err_set(err, -ENOMEM, "no memory to count %u pages", source->nr_ids);
	source->nr_accesses = source->nr_distinct_pages = 0;
	ret = source->open(source->ctx, 0, &cursor, err);
	while (!ret && (ret = source->next(cursor, &block, err)) == 1) {
		ret = 0;
		for (size_t i = 0; i < block.nr; i++) {
			if (!demand_op_is_access(block.op[i]))
				continue;
			source->nr_accesses += block.run[i];
			for (uint32_t j = 0; j < block.run[i]; j++) {
				source->nr_distinct_pages += !touched[block.page[i] + j];
				touched[block.page[i] + j] = 1;
			}
		}
	}
	if (cursor)
		source->close(cursor);
	free(touched);
	return ret;
}

int db_source_limit(struct db_source *db, struct store *store, const struct demand_info *info,
		    struct demand_source *source, struct err *err)
{
	char path[1024];
	int ret = replay_memcg_path(store, info->capture_id, path, sizeof(path), err);

	if (!ret)
		ret = replay_tasks_select(store, source, info->stream_id, path, &db->tasks, err);
	if (ret || !db->tasks.some_out)
		return ret;
	source->times = NULL;	/* blocks are what the filter has left of the reader's */
	return db_count(source, err);
}

void db_source_release(struct db_source *db)
{
	replay_tasks_release(&db->tasks);
}

/* ---- surroundings ---------------------------------------------------------------------------- */

static int extents_read(struct store *store, const struct demand_info *info,
			struct replay_surroundings *around, struct err *err)
{
	struct demand_extent *extents = NULL;
	size_t nr = 0;
	int ret = demand_extents(store, info->stream_id, &extents, &nr, err);

	if (ret < 0)
		return ret;
	around->extents = calloc(nr + 1, sizeof(*around->extents));
	if (!around->extents)
		ret = err_set(err, -ENOMEM, "no memory for %zu extents", nr);
	for (size_t i = 0; !ret && i < nr; i++)
		around->extents[i] = (struct replay_extent){
			.first_id = extents[i].first_id,
			.pages = extents[i].pages,
			.file_id = extents[i].file_id,
			.first_index = extents[i].first_index,
			.file_pages = extents[i].file_pages,
		};
	around->nr_extents = ret ? 0 : nr;
	free(extents);
	return ret;
}

/* One fact of the context as a number; leaves *value alone if it was not recorded. */
static int fact_u64(struct query *query, const char *key, uint64_t *value)
{
	const char *name = query_text(query, 0);

	if (!name || strcmp(name, key) || query_is_null(query, 1))
		return 0;
	*value = (uint64_t)query_int(query, 1);
	return 1;
}

static void fact_take(struct query *query, struct replay_context *context)
{
	uint64_t v;

	if (fact_u64(query, "nr_cpus", &v))
		context->nr_cpus = (uint32_t)v;
	else if (fact_u64(query, "nr_nodes", &v))
		context->nr_nodes = (uint32_t)v;
	else if (fact_u64(query, "read_ahead_kb", &v))
		context->read_ahead_pages = (uint32_t)(v * 1024 / PAGE_BYTES);
	else if (fact_u64(query, "max_io_kb", &v))
		context->max_io_pages = (uint32_t)(v * 1024 / PAGE_BYTES);
	else if (fact_u64(query, "swappiness", &v))
		context->swappiness = (uint32_t)v;
	else if (fact_u64(query, "swap_bytes", &v))
		context->has_swap = v > 0;
	else if (fact_u64(query, "memcg_v2", &v))
		context->memcg_v2 = v > 0;
	else if (fact_u64(query, "total_bytes", &v))
		context->total_pages = v / PAGE_BYTES;
	else if (fact_u64(query, "limit_bytes", &v))
		context->limit_pages = v / PAGE_BYTES;
	else if (fact_u64(query, "other_charge_bytes", &v))
		context->other_charge_pages = v / PAGE_BYTES;
	else if (query_text(query, 0) && !strcmp(query_text(query, 0), "kernel_release") &&
		 query_text(query, 1))
		snprintf(context->kernel_release, sizeof(context->kernel_release), "%s",
			 query_text(query, 1));
}

/* schema/replay_context.sql: rows of (fact, value), the facts by the names above. */
extern const char sql_schema_replay_context[], sql_schema_replay_flushes[];

static int context_read(struct store *store, const struct demand_info *info, const char *path,
			struct replay_context *context, struct err *err)
{
	const char *limited = *path ? path : NULL;	/* NULL: no limit was recorded */
	struct replay_device device;
	struct query *query;
	int ret = replay_device_find(store, info->capture_id, &device, err);

	if (ret)
		return ret;
	*context = (struct replay_context){
		.nr_cpus = 1, .nr_nodes = 1, .total_pages = UINT64_MAX,
		.limit_pages = UINT64_MAX, .other_charge_pages = UINT64_MAX,
		.swappiness = 60, .max_folio_pages = device.max_folio_pages,
	};
	ret = query_open(store, &query, sql_schema_replay_context, err);
	if (ret)
		return ret;
	query_bind_name(query, ":capture_id", VALUE_OF_INT(info->capture_id));
	query_bind_name(query, ":stream_id", VALUE_OF_INT(info->stream_id));
	query_bind_name(query, ":dev_major", VALUE_OF_INT(device.major));
	query_bind_name(query, ":dev_minor", VALUE_OF_INT(device.minor));
	query_bind_name(query, ":path", VALUE_OF_TEXT(limited));
	while ((ret = query_step(query, err)) == 1)
		fact_take(query, context);
	query_close(query);
	return ret;
}

/* Was @event recorded, in a table of its name? */
static int has_event(struct store *store, int64_t capture_id, const char *event, bool *has,
		     struct err *err)
{
	const struct value values[] = { VALUE_OF_INT(capture_id), VALUE_OF_TEXT(event) };
	int64_t there = 0;
	bool found;
	int ret = store_get_int(store, "SELECT count(*) FROM event_type WHERE capture_id = ?1"
				" AND name = ?2 AND table_name = ?2 AND nr_events > 0",
				values, 2, &there, &found, err);

	*has = there > 0;
	return ret;
}

/* When the memcg statistics were flushed: by the worker, and when sampled (replay_flushes.sql). */
static int flushes_read(struct store *store, const struct demand_info *info, const char *path,
			struct replay_surroundings *around, struct err *err)
{
	size_t nr = 0, room = 0;
	struct query *query;
	bool has;
	int ret = has_event(store, info->capture_id, "memcg_flush_stats", &has, err);

	if (ret || !has)
		return ret;
	ret = query_open(store, &query, sql_schema_replay_flushes, err);
	if (ret)
		return ret;
	query_bind_name(query, ":capture_id", VALUE_OF_INT(info->capture_id));
	query_bind_name(query, ":from_ns", VALUE_OF_INT((int64_t)info->first_ts_ns));
	query_bind_name(query, ":path", VALUE_OF_TEXT(path));
	while ((ret = query_step(query, err)) == 1) {
		uint64_t *grown = around->stats_flush_ns;

		if (nr == room) {
			room = room ? 2 * room : 64;
			grown = realloc(grown, room * sizeof(*grown));
			if (!grown) {
				ret = err_set(err, -ENOMEM, "no memory for %zu flushes", room);
				break;
			}
			around->stats_flush_ns = grown;
		}
		grown[nr++] = (uint64_t)query_value(query, 0).i;
	}
	query_close(query);
	around->context.stats_flush_ns = around->stats_flush_ns;
	around->context.nr_stats_flushes = nr;
	return ret;
}

/*
 * The window that misses of the replayed tasks had, where readahead's own events tell: a file
 * system may have more than its device (btrfs has 4 MiB, under a name that no file leads to).
 */
static int window_read(struct store *store, const struct demand_info *info, const char *path,
		       struct replay_context *context, struct err *err)
{
	const struct value values[] = { VALUE_OF_INT(info->capture_id),
					VALUE_OF_INT(info->stream_id), VALUE_OF_TEXT(path) };
	int64_t pages = 0;
	bool has, found;
	int ret = has_event(store, info->capture_id, "page_cache_sync_ra", &has, err);

	if (ret || !has)
		return ret;
	ret = store_get_int(store, "SELECT ra_pages FROM page_cache_sync_ra WHERE capture_id = ?1"
			    " AND pid IN (SELECT pid FROM demand_task WHERE stream_id = ?2"
			    " AND (?3 = '' OR cgroup = ?3))"
			    " GROUP BY ra_pages ORDER BY count(*) DESC LIMIT 1",
			    values, 3, &pages, &found, err);
	if (!ret && found && pages > 0 && pages < UINT32_MAX)
		context->read_ahead_pages = (uint32_t)pages;
	return ret;
}

/* schema/replay_usage.sql */
extern const char sql_schema_replay_usage[];

enum { USAGE_TOTAL, USAGE_FREE, USAGE_ACTIVE, USAGE_INACTIVE, NR_USAGE };

/* One more sample, over the last one if it is of the same time. 0 or -ENOMEM. */
static int usage_add(struct replay_surroundings *around, size_t *room, uint64_t ts_ns,
		     const uint64_t kb[NR_USAGE])
{
	uint64_t cache_kb = kb[USAGE_FREE] + kb[USAGE_ACTIVE] + kb[USAGE_INACTIVE];
	size_t nr = around->context.nr_other_used;
	struct replay_usage *grown = around->other_used;

	if (nr && grown[nr - 1].ts_ns == ts_ns)
		nr--;
	if (nr == *room) {
		*room = *room ? 2 * *room : 64;
		grown = realloc(grown, *room * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		around->other_used = grown;
	}
	grown[nr].ts_ns = ts_ns;
	grown[nr].pages = kb[USAGE_TOTAL] > cache_kb ?
			  (kb[USAGE_TOTAL] - cache_kb) * 1024 / PAGE_BYTES : 0;
	around->context.nr_other_used = nr + 1;
	return 0;
}

/* What the machine used for other things than page cache, at each sample of the context. */
static int usage_read(struct store *store, const struct demand_info *info,
		      struct replay_surroundings *around, struct err *err)
{
	uint64_t kb[NR_USAGE] = { 0 };
	unsigned int known = 0;
	struct query *query;
	size_t room = 0;
	int ret = query_open(store, &query, sql_schema_replay_usage, err);

	if (ret)
		return ret;
	query_bind_name(query, ":capture_id", VALUE_OF_INT(info->capture_id));
	while ((ret = query_step(query, err)) == 1) {
		int which = (int)query_int(query, 1);

		kb[which] = (uint64_t)query_int(query, 2);
		known |= 1U << which;
		if (known == (1U << NR_USAGE) - 1 &&
		    usage_add(around, &room, (uint64_t)query_int(query, 0), kb)) {
			ret = err_set(err, -ENOMEM, "no memory for %zu samples", room);
			break;
		}
	}
	query_close(query);
	around->context.other_used = around->other_used;
	return ret;
}

int replay_surroundings_read(struct store *store, const struct demand_info *info,
			     const struct demand_source *source,
			     struct replay_surroundings *around, struct err *err)
{
	char path[1024];
	int ret;

	memset(around, 0, sizeof(*around));
	ret = replay_memcg_path(store, info->capture_id, path, sizeof(path), err);
	if (!ret)
		ret = context_read(store, info, path, &around->context, err);
	if (!ret)
		ret = flushes_read(store, info, path, around, err);
	if (!ret)
		ret = usage_read(store, info, around, err);
	if (!ret)
		ret = window_read(store, info, path, &around->context, err);
	if (!ret)
		ret = extents_read(store, info, around, err);
	if (!ret)
		ret = replay_waits_find(source, &around->context.waits, err);
	return ret ? ret : replay_hints(source, around->extents, around->nr_extents, err);
}

void replay_surroundings_release(struct replay_surroundings *around)
{
	free(around->extents);
	free(around->stats_flush_ns);
	free(around->other_used);
	around->other_used = NULL;
	around->extents = NULL;
	around->stats_flush_ns = NULL;
}

/* ---- results --------------------------------------------------------------------------------- */

double replay_cpu_ns(const struct grid_result *result, const struct cost_profile *profile)
{
	double ns = 0;

	for (int i = 0; i < result->nr_costs; i++)
		if (result->costs[i].count)
			ns += (double)result->costs[i].count *
			      cost_ns(profile, result->costs[i].operation);
	return ns;
}

static struct value real_or_null(double value)
{
	return isnan(value) ? VALUE_NONE : VALUE_OF_REAL(value);
}

static int costs_store(struct store *store, int64_t id, const struct grid_result *result,
		       const struct cost_profile *profile, struct err *err)
{
	int ret = 0;

	for (int i = 0; i < result->nr_costs && !ret; i++) {
		const struct replay_cost *cost = &result->costs[i];
		double ns = cost_ns(profile, cost->operation) * (double)cost->count;

		ret = store_result_cost(store, id, cost->component, cost->operation, cost->count,
					real_or_null(ns), err);
	}
	return ret;
}

static int intervals_store(struct store *store, int64_t id, const struct grid_result *result,
			   struct err *err)
{
	int ret = 0;

	for (uint32_t i = 0; i < result->nr_intervals && !ret; i++) {
		const struct grid_interval *from = &result->intervals[i];
		const bool timed = from->to_ts_ns != 0;
		const struct result_interval interval = {
			.idx = i,
			.first_ts_ns = timed ? VALUE_OF_INT((int64_t)from->from_ts_ns) : VALUE_NONE,
			.last_ts_ns = timed ? VALUE_OF_INT((int64_t)from->to_ts_ns) : VALUE_NONE,
			.accesses = VALUE_OF_COUNTER(from->accesses),
			.hits = VALUE_OF_COUNTER(from->hits),
			.fills = VALUE_OF_COUNTER(from->fills),
			.evictions = VALUE_OF_COUNTER(from->evictions),
		};

		ret = store_result_interval(store, id, &interval, err);
	}
	return ret;
}

int replay_result_store(struct store *store, const struct result_key *key,
			const struct grid_result *result, const struct cost_profile *profile,
			struct err *err)
{
	const struct replay_counters *c = &result->counters;
#define COUNTER(column) { #column, VALUE_OF_COUNTER(c->column) }
	const struct result_counter counters[] = {
		COUNTER(accesses), COUNTER(hits), COUNTER(misses), COUNTER(fills),
		COUNTER(fills_compulsory), COUNTER(fills_whole_write), COUNTER(fills_undemanded),
		COUNTER(evictions), COUNTER(scanned), COUNTER(reclaimed), COUNTER(activated),
		COUNTER(deactivated), COUNTER(rotated), COUNTER(refaults), COUNTER(written),
		COUNTER(swapped_out), COUNTER(swapped_in), COUNTER(resident_pages),
		COUNTER(metadata_bytes),
		{ "cpu_ns", real_or_null(replay_cpu_ns(result, profile)) },
	};
#undef COUNTER
	int64_t id;
	int ret;

	ret = store_result(store, key, "complete", counters, ARRAY_SIZE(counters), &id, err);
	if (!ret)
		ret = costs_store(store, id, result, profile, err);
	return ret ? ret : intervals_store(store, id, result, err);
}
