// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * import_dat.c - trace.dat, as trace-cmd writes it (versions 6 and 7), read through libtracecmd.
 *
 * The formats of the events are those in the file; nothing of the running kernel is asked. Every
 * buffer (the main one and named instances) has a stream of records per CPU; all are merged by time
 * (import_merge.c), because a task may enter reclaim on one CPU and go on on another. Records are
 * decoded by offsets found once per event (decode.c).
 *
 * Records that libtracecmd says were lost before become a gap of that CPU.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <trace-cmd/trace-cmd.h>

#include "capture/import_merge.h"
#include "capture/import_read.h"
#include "capture/import_salvage.h"
#include "capture/import_sink.h"

/* In the library since 2.9, in no public header; absent: the facts stay unknown. */
const char *tracecmd_get_uname(struct tracecmd_input *handle) __attribute__((weak));
const char *tracecmd_get_trace_clock(struct tracecmd_input *handle) __attribute__((weak));

enum { MAX_SYMBOLS = 256 };

/* What is known of a format id. */
struct dat_event {
	struct event_decoder *decoder;	/* NULL and known: an id without a format */
	bool known;
	int index;		/* in the sink */
	bool is_kswapd;		/* emitted by kswapd alone */
	int shrink;		/* the field that is a shrinker's function; -1: none */
};

struct dat {
	struct import_sink *sink;
	struct tracecmd_input *handle;
	struct tep_handle *tep;
	struct dat_event *event;	/* by id */
	int nr_ids;
	struct value values[IMPORT_MAX_FIELDS];
	uint32_t last_pid;
	int64_t symbol[MAX_SYMBOLS];	/* addresses whose names are stored */
	int nr_symbols;
	bool is_cut;		/* the file was cut short: what is read is its readable part */
	uint64_t file_bytes;
};

/* ---- events ---------------------------------------------------------------------------------- */

/* The event of format @id, its table or page source ready. NULL with *ret 0: none (counted). */
static struct dat_event *event_get(struct dat *d, int id, int *ret, struct err *err)
{
	struct dat_event *e;
	const struct event_field *fields;
	struct tep_event *format;
	int nr_fields;

	*ret = 0;
	if (id < 0 || id > UINT16_MAX)
		return NULL;
	e = &d->event[id];
	if (e->known)
		return e->decoder ? e : NULL;
	e->known = true;
	e->shrink = -1;
	format = tep_find_event(d->tep, id);
	if (!format || !format->name || !format->system)
		return NULL;
	e->decoder = event_decoder_new(format);
	if (!e->decoder) {
		*ret = err_set(err, -ENOMEM, "no memory for the decoder of '%s'", format->name);
		return NULL;
	}
	e->index = import_sink_event(d->sink, format->system, format->name, err);
	*ret = e->index < 0 ? e->index : 0;
	e->is_kswapd = !strcmp(format->name, "mm_vmscan_kswapd_wake") ||
		       !strcmp(format->name, "mm_vmscan_kswapd_sleep");
	if (*ret || event_decoder_page_source(e->decoder))
		return *ret ? NULL : e;
	nr_fields = event_decoder_fields(e->decoder, &fields);
	for (int i = 0; i < nr_fields && !strncmp(format->name, "mm_shrink_slab", 14); i++)
		if (!strcmp(fields[i].name, "shrink") && fields[i].type == VALUE_INT)
			e->shrink = i;
	if (nr_fields > IMPORT_MAX_FIELDS) {
		event_decoder_free(e->decoder);
		e->decoder = NULL;
		return NULL;
	}
	*ret = import_sink_table(d->sink, e->index, fields, nr_fields, NULL, err);
	return *ret ? NULL : e;
}

static int task_note(struct dat *d, const struct dat_event *e, uint32_t pid, uint64_t ts_ns,
		     struct err *err)
{
	const char *comm = NULL;

	if (pid == d->last_pid && !e->is_kswapd)
		return 0;
	d->last_pid = pid;
	if (tep_is_pid_registered(d->tep, (int)pid))
		comm = tep_data_comm_from_pid(d->tep, (int)pid);
	if (comm && !strcmp(comm, "<...>"))
		comm = NULL;
	return import_sink_task(d->sink, pid, 0, comm ? comm : e->is_kswapd ? "kswapd" : NULL,
				ts_ns, err);
}

static int record_page(struct dat *d, const struct dat_event *e, int cpu,
		       const struct tep_record *record, struct err *err)
{
	struct page_raw raw;
	int ret = event_decoder_page(e->decoder, record->data, (size_t)record->size, &raw);

	if (ret < 0)
		return ret;
	raw.event.ts_ns = record->ts;
	raw.event.file_id = 0;
	ret = task_note(d, e, raw.event.pid, record->ts, err);
	return ret ? ret : import_sink_page(d->sink, e->index, cpu, &raw, err);
}

/* A shrinker is known by the address of its function: its name goes into the context. */
static int symbol_note(struct dat *d, int64_t address, uint64_t ts_ns, struct err *err)
{
	const char *name;
	char key[24];

	for (int i = d->nr_symbols; i-- > 0;)
		if (d->symbol[i] == address)
			return 0;
	if (d->nr_symbols == MAX_SYMBOLS)
		return 0;
	d->symbol[d->nr_symbols++] = address;
	name = import_symbol_name(d->tep, (unsigned long long)address);
	if (!name)
		return 0;
	snprintf(key, sizeof(key), "0x%llx", (unsigned long long)address);
	return store_context(d->sink->store, d->sink->capture_id, (int64_t)ts_ns, "start", "symbol",
			     key, VALUE_OF_TEXT(name), err);
}

static int record_values(struct dat *d, const struct dat_event *e, int cpu,
			 const struct tep_record *record, struct err *err)
{
	size_t bytes = (size_t)record->size;
	uint32_t pid;
	int ret = event_decoder_values(e->decoder, record->data, bytes, d->values);

	if (ret < 0)
		return ret;
	pid = event_decoder_pid(e->decoder, record->data, bytes);
	ret = task_note(d, e, pid, record->ts, err);
	if (!ret && e->shrink >= 0)
		ret = symbol_note(d, d->values[e->shrink].i, record->ts, err);
	return ret ? ret : import_sink_values(d->sink, e->index, cpu, pid, record->ts, d->values,
					      err);
}

static int record_import(struct dat *d, int cpu, const struct tep_record *record, struct err *err)
{
	struct dat_event *e;
	int ret;

	if (record->missed_events) {
		ret = import_sink_lost(d->sink, cpu, record->ts,
				       record->missed_events > 0 ? record->missed_events : -1, err);
		if (ret)
			return ret;
	}
	if (record->size < 2 || !record->data) {
		d->sink->result->nr_undecoded++;
		return 0;
	}
	e = event_get(d, tep_data_type(d->tep, (struct tep_record *)record), &ret, err);
	if (e)
		ret = event_decoder_page_source(e->decoder) ? record_page(d, e, cpu, record, err) :
							      record_values(d, e, cpu, record, err);
	/* A record that does not fit its format is a fault of that record alone. */
	if (ret == -EBADMSG && !err->text[0])
		ret = 0, e = NULL;
	if (!ret && !e)
		d->sink->result->nr_undecoded++;
	return ret;
}

static int records_import(struct dat *d, struct dat_merge *merge, struct err *err)
{
	const struct merge_batch *batch;
	int ret = 0;

	while (!ret && (batch = dat_merge_next(merge))) {
		for (int i = 0; i < batch->nr && !ret; i++)
			ret = record_import(d, batch->cpu[i], batch->record[i], err);
		if (!ret && import_stopped(d->sink))
			ret = err_set(err, -EINTR, "interrupted after %llu events of '%s'",
				      (unsigned long long)d->sink->result->nr_events,
				      d->sink->path);
	}
	return ret;
}

/*
 * ---- the file
 * ------------------------------------------------------------------------------------
 */

/* "Linux host 6.12.1 x86_64" -> host and release; NULL where it does not say. @copy is cut up. */
static void uname_split(char *copy, const char **hostname, const char **release)
{
	char *word[3] = { NULL }, *save = NULL;

	*hostname = *release = NULL;
	if (!copy)
		return;
	for (int i = 0; i < 3; i++)
		word[i] = strtok_r(i ? NULL : copy, " \n", &save);
	*hostname = word[1] && strcmp(word[1], "(none)") ? word[1] : NULL;
	*release = word[2];
}

static int capture_begin(struct dat *d, struct err *err)
{
	const char *uname = tracecmd_get_uname ? tracecmd_get_uname(d->handle) : NULL;
	char *copy = uname ? strdup(uname) : NULL;
	struct capture_info info = {
		.source = "trace.dat",
		.input = d->sink->path,
		.clock = tracecmd_get_trace_clock ? tracecmd_get_trace_clock(d->handle) : NULL,
		.base_ts_ns = (int64_t)tracecmd_get_first_ts(d->handle),
		.nr_cpus = tep_get_cpus(d->tep),
	};
	int ret;

	uname_split(copy, &info.hostname, &info.kernel_release);
	ret = import_sink_begin(d->sink, &info, err);
	free(copy);
	return ret;
}

void dat_close(struct dat *d)
{
	if (!d)
		return;
	for (int i = 0; d->event && i <= UINT16_MAX; i++)
		event_decoder_free(d->event[i].decoder);
	free(d->event);
	if (d->handle)
		tracecmd_close(d->handle);
	free(d);
}

int dat_open(struct dat **out, const char *path, struct err *err)
{
	struct dat *d = calloc(1, sizeof(*d));
	int fd = -1, ret = 0;

	*out = NULL;
	if (d)
		d->event = calloc(UINT16_MAX + 1, sizeof(*d->event));
	if (!d || !d->event) {
		dat_close(d);
		return err_set(err, -ENOMEM, "no memory to read '%s'", path);
	}
	d->last_pid = UINT32_MAX;
	tracecmd_set_loglevel(TEP_LOG_NONE);
	tep_set_loglevel(TEP_LOG_NONE);
	ret = dat_salvage(path, &fd, &d->file_bytes, err);
	if (ret) {
		dat_close(d);
		return ret;
	}
	d->is_cut = fd >= 0;
	errno = 0;
	d->handle = d->is_cut ? tracecmd_open_fd(fd, TRACECMD_FL_LOAD_NO_PLUGINS) :
				tracecmd_open(path, TRACECMD_FL_LOAD_NO_PLUGINS);
	if (!d->handle) {
		dat_close(d);
		return err_set(err, -EBADMSG, "cannot read '%s': libtracecmd refuses it%s%s "
			       "(truncated or damaged? see trace-cmd dump)", path,
			       errno ? ": " : "", errno ? strerror(errno) : "");
	}
	d->tep = tracecmd_get_tep(d->handle);
	*out = d;
	return 0;
}

int import_trace_dat(struct import_sink *sink, struct err *err)
{
	struct dat *d = sink->dat;
	struct dat_merge *merge;
	int ret;

	d->sink = sink;
	ret = capture_begin(d, err);
	if (ret)
		return ret;
	ret = dat_merge_start(&merge, d->handle, sink->path, err);
	if (!ret)
		ret = records_import(d, merge, err);
	dat_merge_stop(merge);
	if (!ret && d->is_cut)
		ret = err_set(err, -EBADMSG,
			      "'%s' was cut short at %llu bytes: the %llu events that can be "
			      "read are kept (copy it again for the rest)",
			      sink->path, (unsigned long long)d->file_bytes,
			      (unsigned long long)sink->result->nr_events);
	return import_sink_finish(sink, ret, err);
}
