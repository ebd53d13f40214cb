// SPDX-License-Identifier: GPL-2.0-or-later
/* live_events.c - which events a capture records: groups and names against what the kernel has. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>
#include <unistd.h>

#include "capture/live.h"

/* ---- choosing ------------------------------------------------------------------------------- */

static char *read_format(const struct trace_dir *dir, const char *system, const char *name,
			 size_t *bytes)
{
	char path[TRACE_PATH_BYTES + 256];

	snprintf(path, sizeof(path), "%s/events/%s/%s/format", dir->path, system, name);
	return file_slurp(path, bytes);
}

static bool is_chosen(const struct live_events *events, const char *system, const char *name)
{
	for (int i = 0; i < events->nr; i++)
		if (!strcmp(events->event[i].name, name) &&
		    !strcmp(events->event[i].system, system))
			return true;
	return false;
}

static enum task_news task_news_of(const char *name)
{
	static const struct { const char *name; enum task_news news; } all[] = {
		{ "cgroup_attach_task", NEWS_ATTACH },
		{ "sched_process_fork", NEWS_FORK },
		{ "sched_process_exec", NEWS_EXEC },
		{ "sched_process_exit", NEWS_EXIT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (!strcmp(all[i].name, name))
			return all[i].news;
	return NEWS_NONE;
}

int live_event_add(struct live_events *events, const struct trace_dir *dir, const char *system,
		   const char *name, struct live_event like, struct err *err)
{
	struct tep_event *tep = NULL;
	struct live_event *event;
	size_t bytes;
	char *format;

	if (is_chosen(events, system, name))
		return 1;
	format = read_format(dir, like.trace_system[0] ? like.trace_system : system, name, &bytes);
	if (!format)
		return 0;
	if (events->nr == MAX_LIVE_EVENTS) {
		free(format);
		return err_set(err, -EINVAL, "more than %d events at once (choose fewer)",
			       MAX_LIVE_EVENTS);
	}
	event = &events->event[events->nr];
	*event = like;
	snprintf(event->system, sizeof(event->system), "%s", system);
	snprintf(event->name, sizeof(event->name), "%s", name);
	event->format = format;
	if (!tep_parse_event(events->tep, format, bytes, system))
		tep = tep_find_event_by_name(events->tep, system, name);
	if (!tep) {
		free(format);
		if (!like.by_name)
			return 0;
		return err_set(err, -EINVAL, "cannot read the format of event '%s:%s'", system,
			       name);
	}
	events->nr++;
	event->decoder = event_decoder_new(tep);
	if (!event->decoder)
		return -ENOMEM;
	event->source = event_decoder_page_source(event->decoder);
	event->id = tep->id;
	event->mark = event_reclaim_mark(system, name);
	event->news = task_news_of(name);
	if (tep->id >= 0 && tep->id < MAX_EVENT_ID)
		events->by_id[tep->id] = event;
	return 1;
}

static void note_missing(struct live_events *events, const char *system, const char *name,
			 const char *reason)
{
	struct missing_event *m;

	if (events->nr_missing == MAX_LIVE_EVENTS)
		return;
	m = &events->missing[events->nr_missing++];
	snprintf(m->system, sizeof(m->system), "%s", system);
	snprintf(m->name, sizeof(m->name), "%s", name);
	m->reason = reason;
}

static int add_group(struct live_events *events, const struct trace_dir *dir,
		     const struct event_group *group, struct err *err)
{
	for (int i = 0; i < group->nr_events; i++) {
		const struct catalogue_event *e = &group->events[i];
		struct live_event like = { .stream = e->stream, .packed = e->packed };
		int got = 0;

		for (size_t n = 0; !got && n < ARRAY_SIZE(e->names) && e->names[n]; n++)
			got = live_event_add(events, dir, e->system, e->names[n], like, err);
		if (got < 0)
			return got;
		if (!got)
			note_missing(events, e->system, e->names[0], "not in this kernel");
	}
	return 0;
}

/* An event that no group lists: is it about what tasks do? */
static enum event_stream guess_stream(const char *system)
{
	static const char *const of_tasks[] = { "syscalls", "raw_syscalls", "exceptions", "sched" };

	for (size_t i = 0; i < ARRAY_SIZE(of_tasks); i++)
		if (!strcmp(system, of_tasks[i]))
			return STREAM_DEMAND;
	return STREAM_RECLAIM;
}

static int add_named(struct live_events *events, const struct trace_dir *dir, const char *spec,
		     struct err *err)
{
	const char *colon = strchr(spec, ':');
	const struct catalogue_event *known;
	struct live_event like = { .by_name = true };
	char system[64];
	int got;

	snprintf(system, sizeof(system), "%.*s", (int)(colon - spec), spec);
	known = catalogue_find(system, colon + 1);
	like.stream = known ? known->stream : guess_stream(system);
	like.packed = known && known->packed;
	if (strchr(spec, '/') || strchr(spec, '.'))
		got = 0;
	else
		got = live_event_add(events, dir, system, colon + 1, like, err);
	if (!got)
		return err_set(err, -EINVAL, "this kernel has no event '%s' (see 'pagereel capture "
			       "--list' and /sys/kernel/tracing/available_events)", spec);
	return got < 0 ? got : 0;
}

static int unknown_group(const char *name, struct err *err)
{
	const char *names[32];
	const char *near;
	int nr = 0;

	for (int i = 0; i < nr_event_groups && i < 31; i++)
		names[nr++] = event_groups[i].name;
	names[nr] = NULL;
	near = nearest_word(name, names);
	if (near)
		return err_set(err, -EINVAL, "no group of events '%s' (did you mean '%s'?)", name,
			       near);
	return err_set(err, -EINVAL, "no group of events '%s' (see 'pagereel capture --list'; a "
		       "single event is SYSTEM:EVENT)", name);
}

int live_events_choose(struct live_events *events, const struct trace_dir *dir,
		       const char *const *names, int nr_names, struct err *err)
{
	int code = 0;

	events->tep = tep_alloc();
	events->by_id = calloc(MAX_EVENT_ID, sizeof(*events->by_id));
	if (!events->tep || !events->by_id)
		return -ENOMEM;
	tep_set_long_size(events->tep, (int)sizeof(long));
	tep_set_file_bigendian(events->tep,
			       tep_is_bigendian() ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
	tep_set_local_bigendian(events->tep,
				tep_is_bigendian() ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
	for (int i = 0; !code && i < nr_names; i++) {
		const struct event_group *group = event_group_find(names[i]);

		if (strchr(names[i], ':'))
			code = add_named(events, dir, names[i], err);
		else
			code = group ? add_group(events, dir, group, err) :
				       unknown_group(names[i], err);
	}
	for (int g = 0; !code && !nr_names && g < nr_event_groups; g++)
		if (event_groups[g].by_default)
			code = add_group(events, dir, &event_groups[g], err);
	return code;
}

void live_events_release(struct live_events *events)
{
	for (int i = 0; i < events->nr; i++) {
		event_decoder_free(events->event[i].decoder);
		free(events->event[i].format);
	}
	live_probes_remove(events);
	free(events->by_id);
	tep_free(events->tep);
	events->nr = 0;
	events->tep = NULL;
	events->by_id = NULL;
}

/* ---- enabling ------------------------------------------------------------------------------- */

/*
 * "!(own file) && !(index & mask)" as far as the event has the fields. Our own file is filtered
 * where others touch it on our behalf: kswapd evicts its pages. What we do ourselves
 * set_event_notrace_pid keeps out.
 */
static void make_filter(const struct live_event *event, const struct own_files *own, uint32_t mask,
			char *filter, size_t filter_bytes)
{
	const struct page_source *s = event_decoder_page_source(event->decoder);
	size_t used = 0;

	filter[0] = '\0';
	if (!s)
		return;
	if (event->stream == STREAM_RECLAIM && s->dev && s->ino && own->nr) {
		used += (size_t)snprintf(filter, filter_bytes, "!(%s == %u && (", s->dev, own->dev);
		for (int i = 0; i < own->nr; i++)
			used += (size_t)snprintf(filter + used, filter_bytes - used, "%s%s == %llu",
						 i ? " || " : "", s->ino,
						 (unsigned long long)own->ino[i]);
		used += (size_t)snprintf(filter + used, filter_bytes - used, "))");
	}
	if (mask && page_source_thins(s))
		snprintf(filter + used, filter_bytes - used, "%s!(%s & %u)", used ? " && " : "",
			 s->first, s->first_is_bytes ? mask << PAGE_BITS : mask);
}

/* Path of a control file of @event below its instance. */
static void event_path(const struct live_event *event, const char *file, char *path,
		       size_t path_bytes)
{
	snprintf(path, path_bytes, "events/%s/%s/%s",
		 event->trace_system[0] ? event->trace_system : event->system, event->name, file);
}

static int set_filter(const struct live_event *event, const struct trace_instance *instance,
		      const struct own_files *own, uint32_t mask, struct err *err)
{
	char filter[512], file[256];

	make_filter(event, own, mask, filter, sizeof(filter));
	if (!filter[0])
		return 0;
	event_path(event, "filter", file, sizeof(file));
	return trace_write(instance, file, filter, false, err);
}

int live_events_enable(struct live_events *events, const struct trace_instance *instance,
		       enum event_stream stream, const struct own_files *own, struct err *err)
{
	int code = 0;

	for (int i = 0; !code && i < events->nr; i++) {
		struct live_event *event = &events->event[i];
		char file[256];

		if (event->stream != stream)
			continue;
		code = set_filter(event, instance, own, 0, err);
		event_path(event, "enable", file, sizeof(file));
		if (!code)
			code = trace_write(instance, file, "1", false,
					   event->by_name ? err : NULL);
		if (code && !event->by_name) {
			note_missing(events, event->system, event->name, "cannot be enabled");
			code = 0;
			continue;
		}
		event->is_enabled = !code;
	}
	return code;
}

int live_events_thin(struct live_events *events, const struct trace_instance *instances,
		     const struct own_files *own, uint32_t mask, struct err *err)
{
	int code = 0;

	for (int i = 0; !code && i < events->nr; i++) {
		struct live_event *event = &events->event[i];

		if (event->is_enabled)
			code = set_filter(event, &instances[event->stream], own, mask, err);
	}
	return code;
}

/* ---- presence ------------------------------------------------------------------------------- */

int event_presence_open(struct event_presence *presence, struct err *err)
{
	struct trace_dir *dir = malloc(sizeof(*dir));
	int code;

	if (!dir)
		return -ENOMEM;
	code = trace_dir_open(dir, err);
	if (code) {
		free(dir);
		return code;
	}
	snprintf(presence->events_dir, sizeof(presence->events_dir), "%s/events", dir->path);
	presence->dir = dir;
	return 0;
}

int event_presence_name(const struct event_presence *presence,
			const struct catalogue_event *event, const char **name)
{
	for (size_t n = 0; n < ARRAY_SIZE(event->names) && event->names[n]; n++) {
		char path[900];

		snprintf(path, sizeof(path), "%s/%s/%s/enable", presence->events_dir,
			 event->system, event->names[n]);
		if (access(path, F_OK))
			continue;
		*name = event->names[n];
		return 1;
	}
	return 0;
}

void event_presence_close(struct event_presence *presence)
{
	trace_dir_close(presence->dir);
	free(presence->dir);
}
