// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * import_sink.c - stores what a reader found: page events packed per CPU, others in their tables,
 * and who was seen, which files, what was lost.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/import_sink.h"

enum { COMMIT_EVENTS = 500000, COMMIT_CHUNKS = 128, RETIRE_MARKS = 64, FIRST_TASK_SLOTS = 256 };

struct import_cpu {
	struct page_packer *packer;	/* made with the first page event */
	uint64_t last_ts_ns;
	bool seen;
};

static int no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "no memory for the import");
}

static void sink_free(struct import_sink *sink)
{
	for (int i = 0; i < sink->nr_cpus; i++)
		page_packer_free(sink->cpu[i].packer);
	for (int i = 0; i < sink->nr_event; i++) {
		free(sink->event[i].system);
		free(sink->event[i].name);
	}
	free(sink->cpu);
	free(sink->event);
	free(sink->task_slots);
	file_map_free(sink->files);
	reclaim_marks_free(sink->marks);
}

int import_sink_begin(struct import_sink *sink, const struct capture_info *info, struct err *err)
{
	int ret = store_next_file_id(sink->store, &sink->next_file_id, err);

	if (ret)
		return ret;
	sink->files = file_map_new(sink->next_file_id);
	sink->marks = reclaim_marks_new();
	sink->task_slots = calloc(FIRST_TASK_SLOTS, sizeof(*sink->task_slots));
	sink->task_mask = FIRST_TASK_SLOTS - 1;
	ret = sink->files && sink->marks && sink->task_slots ? 0 : no_memory(err);
	if (!ret)
		ret = store_capture_begin(sink->store, info, &sink->capture_id, err);
	if (!ret)
		ret = store_begin(sink->store, err);
	if (ret) {
		sink_free(sink);
		return ret;
	}
	sink->has_hits = info->has_hits;
	sink->result->capture_id = sink->capture_id;
	return 0;
}

/* ---- commits --------------------------------------------------------------------------------- */

static int chunk_store(struct import_sink *sink, struct page_packer *packer, struct err *err)
{
	struct page_chunk chunk;
	int ret;

	if (!packer || !page_packer_events(packer))
		return 0;
	ret = page_packer_take(packer, &chunk);
	if (ret)
		return no_memory(err);
	ret = store_page_chunk(sink->store, &chunk, err);
	page_chunk_release(&chunk);
	sink->nr_uncommitted++;
	return ret;
}

static int commit(struct import_sink *sink, struct err *err)
{
	int ret = store_commit(sink->store, err);

	sink->nr_uncommitted = 0;
	sink->nr_since_commit = 0;
	return ret ? ret : store_begin(sink->store, err);
}

/* Each event comes by here once. */
static int event_count(struct import_sink *sink, struct import_cpu *cpu, uint64_t ts_ns,
		       struct err *err)
{
	struct import_result *result = sink->result;

	if (!result->nr_events++ || ts_ns < result->first_ts_ns)
		result->first_ts_ns = ts_ns;
	if (ts_ns < cpu->last_ts_ns)
		import_note_backward(result, result->nr_events);
	if (ts_ns > result->last_ts_ns)
		result->last_ts_ns = ts_ns;
	cpu->last_ts_ns = ts_ns;
	cpu->seen = true;
	if (++sink->nr_since_commit < COMMIT_EVENTS && sink->nr_uncommitted < COMMIT_CHUNKS)
		return 0;
	return commit(sink, err);
}

static int counts_store(struct import_sink *sink, struct err *err)
{
	int ret = 0;

	for (int i = 0; i < sink->nr_event && !ret; i++) {
		const struct import_event *event = &sink->event[i];

		ret = store_event_count(sink->store, sink->capture_id, event->system, event->name,
					event->nr, event->source ? "page_event" : NULL, err);
	}
	return ret;
}

/* The text of a fault stays with the capture. */
static int fault_store(struct import_sink *sink, const char *text, struct err *err)
{
	return store_context(sink->store, sink->capture_id, (int64_t)sink->result->last_ts_ns,
			     "end", "import", "fault", VALUE_OF_TEXT(text), err);
}

int import_sink_finish(struct import_sink *sink, int ret, struct err *err)
{
	struct err own = { "" };
	int end = 0;

	for (int i = 0; i < sink->nr_cpus && !end; i++)
		end = chunk_store(sink, sink->cpu[i].packer, &own);
	if (!end)
		end = counts_store(sink, &own);
	if (!end && ret && err && err->text[0])
		end = fault_store(sink, err->text, &own);
	if (!end)
		end = store_capture_set_hits(sink->store, sink->capture_id, sink->has_hits, &own);
	if (!end && sink->result->nr_events)
		end = store_capture_set_base(sink->store, sink->capture_id,
					     (int64_t)sink->result->first_ts_ns, &own);
	if (!end)
		end = store_capture_end(sink->store, sink->capture_id, store_capture_status(ret),
					(int64_t)sink->result->last_ts_ns, &own);
	if (!end)
		end = store_commit(sink->store, &own);
	sink_free(sink);
	if (ret || !end)
		return ret;
	return err_set(err, end, "%s", own.text);
}

/* ---- tracepoints ----------------------------------------------------------------------------- */

int import_sink_event(struct import_sink *sink, const char *system, const char *name,
		      struct err *err)
{
	struct import_event *event;

	for (int i = 0; i < sink->nr_event; i++)
		if (!strcmp(sink->event[i].name, name) && !strcmp(sink->event[i].system, system))
			return i;
	if (sink->nr_event == sink->room_event) {
		int room = sink->room_event ? 2 * sink->room_event : 32;

		event = realloc(sink->event, sizeof(*event) * (size_t)room);
		if (!event)
			return no_memory(err);
		sink->event = event;
		sink->room_event = room;
	}
	event = &sink->event[sink->nr_event];
	*event = (struct import_event){
		.system = strdup(system),
		.name = strdup(name),
		.source = page_source_find(system, name),
		.mark = event_reclaim_mark(system, name),
	};
	sink->nr_event++;
	return event->system && event->name ? sink->nr_event - 1 : no_memory(err);
}

int import_sink_table(struct import_sink *sink, int index, const struct event_field *fields,
		      int nr_fields, const char *format, struct err *err)
{
	struct import_event *event = &sink->event[index];
	const struct catalogue_event *known = catalogue_find(event->system, event->name);

	return store_event_table(sink->store, sink->capture_id, event->system, event->name, fields,
				 nr_fields, format, known && known->packed, &event->table, err);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* NULL: no memory, or a number no machine has. */
static struct import_cpu *cpu_get(struct import_sink *sink, int cpu, struct err *err)
{
	if (cpu < 0 || cpu >= IMPORT_MAX_CPUS) {
		err_set(err, -EBADMSG, "cannot import '%s': an event of CPU %d (limit %d)",
			sink->path, cpu, IMPORT_MAX_CPUS);
		return NULL;
	}
	if (cpu >= sink->nr_cpus) {
		struct import_cpu *grown = realloc(sink->cpu, sizeof(*grown) * ((size_t)cpu + 1));

		if (!grown) {
			no_memory(err);
			return NULL;
		}
		memset(grown + sink->nr_cpus, 0,
		       sizeof(*grown) * (size_t)(cpu + 1 - sink->nr_cpus));
		sink->cpu = grown;
		sink->nr_cpus = cpu + 1;
	}
	return &sink->cpu[cpu];
}

static int code_of(struct import_sink *sink, int cpu)
{
	return cpu < 0 || cpu >= IMPORT_MAX_CPUS ? -EBADMSG : -ENOMEM;
}

int import_sink_packed(struct import_sink *sink, int cpu, const struct page_event *event,
		       struct err *err)
{
	struct import_cpu *c = cpu_get(sink, cpu, err);
	int ret = 0;

	if (!c)
		return code_of(sink, cpu);
	if (!c->packer) {
		c->packer = page_packer_new(sink->capture_id, cpu, 0);
		if (!c->packer)
			return no_memory(err);
	}
	if (event->op == PAGE_OP_READ)
		sink->has_hits = true;
	sink->result->nr_page_events++;
	if (page_packer_add(c->packer, event))
		ret = chunk_store(sink, c->packer, err);
	return ret ? ret : event_count(sink, c, event->ts_ns, err);
}

/* Backing devices without a number get keys apart from all real ones. */
static uint32_t bdi_key(const char *bdi)
{
	uint32_t hash = 2166136261u;

	for (; *bdi; bdi++)
		hash = (hash ^ (uint8_t)*bdi) * 16777619u;
	return 0xfff00000u | (hash ^ hash >> 20);
}

static int file_find(struct import_sink *sink, struct page_raw *raw, struct err *err)
{
	bool fresh;
	uint32_t dev = raw->bdi[0] ? bdi_key(raw->bdi) : raw->dev;

	raw->event.file_id = file_map_id(sink->files, dev, raw->ino, &fresh);
	if (!raw->event.file_id)
		return no_memory(err);
	if (!fresh)
		return 0;
	return store_file(sink->store, sink->capture_id, raw->event.file_id, raw->dev >> 20,
			  raw->dev & 0xfffff, raw->ino, -1, NULL, err);
}

int import_sink_page(struct import_sink *sink, int index, int cpu, struct page_raw *raw,
		     struct err *err)
{
	struct import_event *event = &sink->event[index];
	int ret = 0;

	event->nr++;
	if (event->source->ino)
		ret = file_find(sink, raw, err);
	if (raw->event.op == PAGE_OP_DELETE &&
	    reclaim_marks_inside(sink->marks, raw->event.pid, raw->event.ts_ns))
		raw->event.flags |= PAGE_EV_IN_RECLAIM;
	return ret ? ret : import_sink_packed(sink, cpu, &raw->event, err);
}

/* Marks come in the order of time, so those behind can be dropped as soon as there are many. */
static int mark_add(struct import_sink *sink, uint32_t pid, uint64_t ts_ns, int mark,
		    struct err *err)
{
	if (++sink->nr_marks >= RETIRE_MARKS) {
		reclaim_marks_retire(sink->marks, ts_ns);
		sink->nr_marks = 0;
	}
	return reclaim_marks_add(sink->marks, pid, ts_ns, mark) ? no_memory(err) : 0;
}

int import_sink_values(struct import_sink *sink, int index, int cpu, uint32_t pid, uint64_t ts_ns,
		       const struct value *values, struct err *err)
{
	struct import_event *event = &sink->event[index];
	struct import_cpu *c = cpu_get(sink, cpu, err);
	int ret;

	if (!c)
		return code_of(sink, cpu);
	event->nr++;
	ret = event_table_add(event->table, ts_ns, cpu, pid, values, err);
	if (!ret && event->mark)
		ret = mark_add(sink, pid, ts_ns, event->mark, err);
	return ret ? ret : event_count(sink, c, ts_ns, err);
}

/*
 * ---- tasks and losses
 * ----------------------------------------------------------------------------
 */

/* True: @pid was not there and is now. *ret is -ENOMEM on failure. */
static bool task_is_new(struct import_sink *sink, uint32_t pid, int *ret)
{
	uint32_t *slots = sink->task_slots, key = pid + 1;	/* 0: free */
	size_t mask = sink->task_mask, at = key * 2654435761u & mask;

	for (; slots[at]; at = (at + 1) & mask)
		if (slots[at] == key)
			return false;
	slots[at] = key;
	if (++sink->nr_tasks * 2 <= mask)
		return true;
	slots = calloc(2 * (mask + 1), sizeof(*slots));
	if (!slots) {
		*ret = -ENOMEM;
		return true;
	}
	for (size_t i = 0; i <= mask; i++) {
		size_t to = sink->task_slots[i] * 2654435761u & (2 * mask + 1);

		while (sink->task_slots[i] && slots[to])
			to = (to + 1) & (2 * mask + 1);
		if (sink->task_slots[i])
			slots[to] = sink->task_slots[i];
	}
	free(sink->task_slots);
	sink->task_slots = slots;
	sink->task_mask = 2 * mask + 1;
	return true;
}

int import_sink_task(struct import_sink *sink, uint32_t pid, uint32_t tgid, const char *comm,
		     uint64_t ts_ns, struct err *err)
{
	int ret = 0;

	if (!task_is_new(sink, pid, &ret))
		return 0;
	if (ret)
		return no_memory(err);
	if (comm && !strncmp(comm, "kswapd", 6) && reclaim_marks_add_kswapd(sink->marks, pid))
		return no_memory(err);
	return store_task(sink->store, sink->capture_id, pid, tgid, comm, NULL, (int64_t)ts_ns,
			  err);
}

int import_sink_lost(struct import_sink *sink, int cpu, uint64_t ts_ns, int64_t nr, struct err *err)
{
	struct import_cpu *c = cpu_get(sink, cpu, err);

	if (!c)
		return code_of(sink, cpu);
	sink->result->nr_gaps++;
	sink->result->nr_lost += nr > 0 ? (uint64_t)nr : 0;
	reclaim_marks_reset(sink->marks);
	return store_gap(sink->store, sink->capture_id, "import", cpu,
			 (int64_t)(c->seen ? c->last_ts_ns : sink->result->nr_events ?
				   sink->result->first_ts_ns : ts_ns),
			 (int64_t)ts_ns, nr >= 0 ? VALUE_OF_INT(nr) : VALUE_NONE, err);
}
