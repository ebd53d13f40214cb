// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * import_text.c - ftrace as text: tracefs `trace` and `trace_pipe`, `trace-cmd report`, and
 * `perf script`.
 *
 *	     <...>-1234  (   1230) [001] d..2.  1234.567890: mm_filemap_fault: dev=7:0 ino=c ofs=0
 *
 * The column of thread group ids and that of flags are there or not, as options and versions have
 * it; names of tasks may hold blanks, dashes and brackets. So a line is found from its middle:
 * "[CPU]", at most one word of flags, a time with a colon, the event's name with a colon. What is
 * left of the CPU ends in -PID or -PID (TGID). A time with a fraction is seconds, one without is
 * ticks of a counter.
 *
 * Each event is read to the fields it was printed from (import_text_fields.c) and is then the same
 * as one from a binary recording, but for times, of which text has microseconds (trace-cmd report
 * -t has all). Events without a known form keep whatever is not name=value in a column `text`.
 *
 * Lines that are none of this are counted and the first shown; a text with no event at all is an
 * error.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "capture/import_read.h"
#include "capture/import_sink.h"
#include "capture/import_text.h"

/* ---- lines ----------------------------------------------------------------------------------- */

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, " \t");
}

static const char *skip_digits(const char *at)
{
	return at + strspn(at, "0123456789");
}

/* "1234.567890:" or "1234:" -> ns or ticks; NULL: no time. Returns what is behind the colon. */
static const char *time_parse(const char *at, uint64_t *ts_ns)
{
	const char *end = skip_digits(at), *fraction = end + 1;
	uint64_t whole, ns = 0, scale = 1000000000;

	if (end == at || end - at > 18)
		return NULL;
	whole = strtoull(at, NULL, 10);
	if (*end != '.') {
		*ts_ns = whole;
		return *end == ':' ? end + 1 : NULL;
	}
	end = skip_digits(fraction);
	if (*end != ':' || end == fraction || end - fraction > 9 || whole > UINT64_MAX / 4000000000)
		return NULL;
	for (; fraction < end; fraction++) {
		scale /= 10;
		ns += (uint64_t)(*fraction - '0') * scale;
	}
	*ts_ns = whole * 1000000000 + ns;
	return end + 1;
}

/* Letters, digits and '_'; 0: no name. */
static size_t name_bytes(const char *at)
{
	size_t bytes = 0;

	while (isalnum((unsigned char)at[bytes]) || at[bytes] == '_')
		bytes++;
	return bytes < 64 && !isdigit((unsigned char)*at) ? bytes : 0;
}

/* "name: payload" or "system:name: payload". */
static bool event_parse(const char *at, struct text_line *out)
{
	size_t bytes = name_bytes(at), more;

	if (!bytes || at[bytes] != ':')
		return false;
	out->system[0] = '\0';
	more = name_bytes(at + bytes + 1);
	if (more && at[bytes + 1 + more] == ':') {
		memcpy(out->system, at, bytes);
		out->system[bytes] = '\0';
		at += bytes + 1;
		bytes = more;
	}
	memcpy(out->name, at, bytes);
	out->name[bytes] = '\0';
	out->payload = skip_blanks(at + bytes + 1);
	return true;
}

/* perf: "  comm 123" or "  comm 120/123". *at goes from the number to the blank behind comm. */
static bool perf_task_end(const char *line, const char **at, struct text_line *out)
{
	const char *end = *at;

	if (end[-1] == '/') {
		*at = --end;
		while (*at > line && isdigit((unsigned char)(*at)[-1]))
			--*at;
		if (*at == end || end - *at > 10)
			return false;
		out->tgid = (uint32_t)strtoul(*at, NULL, 10);
	}
	if (*at == line || !isspace((unsigned char)(*at)[-1]))
		return false;
	while (*at > line + 1 && isspace((unsigned char)(*at)[-2]))
		--*at;
	return true;
}

/* "   comm-123" or "   comm-123  (  120)", which ends before @end. */
static bool task_parse(const char *line, const char *end, struct text_line *out)
{
	const char *at = end;
	size_t comm_bytes;

	while (at > line && isspace((unsigned char)at[-1]))
		at--;
	out->tgid = 0;
	if (at > line && at[-1] == ')') {
		while (at > line && at[-1] != '(')
			at--;
		if (at == line)
			return false;
		out->tgid = (uint32_t)strtoul(skip_blanks(at), NULL, 10);	/* "-----": 0 */
		at--;
		while (at > line && isspace((unsigned char)at[-1]))
			at--;
	}
	end = at;
	while (at > line && isdigit((unsigned char)at[-1]))
		at--;
	if (at == end || end - at > 10 || at == line)
		return false;
	out->pid = (uint32_t)strtoul(at, NULL, 10);
	if (at[-1] != '-' && !perf_task_end(line, &at, out))
		return false;
	at--;
	line = skip_blanks(line);
	comm_bytes = at > line ? (size_t)(at - line) : 0;
	if (comm_bytes >= sizeof(out->comm))
		comm_bytes = sizeof(out->comm) - 1;
	memcpy(out->comm, line, comm_bytes);
	out->comm[comm_bytes] = '\0';
	return comm_bytes > 0;
}

/* Behind "[CPU]": flags or not, then the time. NULL: neither. */
static const char *flags_and_time(const char *at, uint64_t *ts_ns)
{
	const char *behind;
	size_t flags;

	if (!isspace((unsigned char)*at))
		return NULL;
	at = skip_blanks(at);
	behind = time_parse(at, ts_ns);
	if (behind)
		return behind;
	flags = strcspn(at, " \t");
	if (!flags || flags > 12 || memchr(at, ':', flags))
		return NULL;
	return time_parse(skip_blanks(at + flags), ts_ns);
}

static bool line_event(const char *line, struct text_line *out)
{
	for (const char *at = strchr(line, '['); at; at = strchr(at + 1, '[')) {
		const char *end = skip_digits(at + 1), *behind;

		if (end == at + 1 || end - at > 8 || *end != ']')
			continue;
		behind = flags_and_time(end + 1, &out->ts_ns);
		if (!behind || !event_parse(skip_blanks(behind), out) ||
		    !task_parse(line, at, out))
			continue;
		out->cpu = atoi(at + 1);
		return true;
	}
	return false;
}

/*
 * "CPU:3 [LOST 12 EVENTS]", "CPU:3 [LOST EVENTS]", "CPU:3 [12 EVENTS DROPPED]", "... [EVENTS
 * DROPPED]"
 */
static bool line_lost(const char *at, struct text_line *out)
{
	const char *end;

	at = skip_blanks(at);
	if (strncmp(at, "CPU:", 4))
		return false;
	at = skip_blanks(at + 4);
	end = skip_digits(at);
	if (end == at || end - at > 7)
		return false;
	out->cpu = atoi(at);
	at = skip_blanks(end);
	if (*at++ != '[' || (!strstr(at, "LOST") && !strstr(at, "DROPPED")) ||
	    !strstr(at, "EVENTS"))
		return false;
	if (!strncmp(at, "LOST", 4))
		at = skip_blanks(at + 4);
	end = skip_digits(at);
	out->nr_lost = end == at || end - at > 18 ? -1 : (int64_t)strtoll(at, NULL, 10);
	return true;
}

static bool line_comment(const char *line)
{
	const char *at = skip_blanks(line);

	return !*at || *at == '#' || !strncmp(at, "cpus=", 5) || !strncmp(at, "version = ", 10);
}

void text_line_parse(const char *line, struct text_line *out)
{
	if (line_event(line, out))
		out->kind = TEXT_EVENT;
	else if (line_lost(line, out))
		out->kind = TEXT_LOST;
	else
		out->kind = line_comment(line) ? TEXT_COMMENT : TEXT_UNKNOWN;
}

bool import_text_known(const char *line, size_t line_bytes)
{
	struct text_line parsed;
	char copy[4096];

	snprintf(copy, sizeof(copy), "%.*s", (int)(line_bytes < 4095 ? line_bytes : 4095), line);
	if (!strncmp(copy, "# tracer:", 9) || !strncmp(copy, "cpus=", 5))
		return true;
	text_line_parse(copy, &parsed);
	return parsed.kind == TEXT_EVENT || parsed.kind == TEXT_LOST;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* An event as it was first printed; later lines of other shape widen it. */
struct text_event {
	char system[64], name[64];
	int index;		/* in the sink */
	bool is_kswapd;
	int nr_columns;
	char column[IMPORT_MAX_FIELDS][TEXT_NAME_BYTES];
	enum value_type type[IMPORT_MAX_FIELDS];
};

struct text {
	struct import_sink *sink;
	struct text_event **event;
	int nr_events;
	int last;		/* found last */
	struct text_fields fields;
	struct text_line line;
	/* losses told before the next event of the CPU comes */
	int64_t lost[IMPORT_MAX_CPUS];
	bool has_lost[IMPORT_MAX_CPUS];
};

static int event_find(struct text *t, struct err *err)
{
	const struct text_line *line = &t->line;
	struct text_event **grown, *e;
	int ret;

	for (int n = 0; n < t->nr_events; n++) {
		int i = (t->last + n) % t->nr_events;

		if (strcmp(t->event[i]->name, line->name) ||
		    (line->system[0] && strcmp(t->event[i]->system, line->system)))
			continue;
		t->last = i;
		return i;
	}
	grown = realloc(t->event, sizeof(*grown) * (size_t)(t->nr_events + 1));
	if (!grown)
		return err_set(err, -ENOMEM, "no memory for the events");
	t->event = grown;
	e = calloc(1, sizeof(*e));
	if (!e)
		return err_set(err, -ENOMEM, "no memory for the events");
	snprintf(e->name, sizeof(e->name), "%s", line->name);
	snprintf(e->system, sizeof(e->system), "%s",
		 line->system[0] ? line->system : text_system_find(line->name));
	e->is_kswapd = !strcmp(e->name, "mm_vmscan_kswapd_wake") ||
		       !strcmp(e->name, "mm_vmscan_kswapd_sleep");
	ret = import_sink_event(t->sink, e->system, e->name, err);
	e->index = ret;
	grown[t->nr_events++] = e;
	t->last = t->nr_events - 1;
	return ret < 0 ? ret : t->last;
}

static bool field_get(void *ctx, const char *field, uint64_t *value, const char **text)
{
	const struct text_fields *fields = ctx;

	for (int i = 0; i < fields->nr; i++) {
		if (strcmp(fields->field[i].name, field))
			continue;
		*value = (uint64_t)fields->field[i].value.i;
		*text = fields->field[i].value.text;
		return true;
	}
	return false;
}

/* 1: stored; 0: not a page event's shape. */
static int event_page(struct text *t, const struct text_event *e, const struct page_source *source,
		      struct err *err)
{
	struct page_raw raw = { 0 };
	int ret = page_source_fill(source, field_get, &t->fields, &raw);

	if (ret <= 0)
		return 0;
	raw.event.pid = t->line.pid;
	raw.event.ts_ns = t->line.ts_ns;
	ret = import_sink_page(t->sink, e->index, t->line.cpu, &raw, err);
	return ret ? ret : 1;
}

static int column_find(const struct text_event *e, const char *name)
{
	for (int i = 0; i < e->nr_columns; i++)
		if (!strcasecmp(e->column[i], name))
			return i;
	return -1;
}

/* The whole payload is kept when its fields are not all of it. */
static void text_keep(struct text *t)
{
	struct text_fields *f = &t->fields;
	size_t bytes = strlen(t->line.payload);

	if ((f->is_whole && f->nr) || f->nr == TEXT_MAX_FIELDS)
		return;
	strcpy(f->field[f->nr].name, "text");
	f->field[f->nr++].value = (struct value){ .type = VALUE_TEXT, .text = t->line.payload,
						  .text_bytes = bytes };
}

static int columns_widen(struct text *t, struct text_event *e, struct err *err)
{
	struct event_field fields[IMPORT_MAX_FIELDS];
	bool grew = e->nr_columns == 0;

	for (int i = 0; i < t->fields.nr; i++) {
		if (column_find(e, t->fields.field[i].name) >= 0 ||
		    e->nr_columns == IMPORT_MAX_FIELDS)
			continue;
		memcpy(e->column[e->nr_columns], t->fields.field[i].name, TEXT_NAME_BYTES);
		e->type[e->nr_columns++] = t->fields.field[i].value.type;
		grew = true;
	}
	if (!grew)
		return 0;
	for (int i = 0; i < e->nr_columns; i++)
		fields[i] = (struct event_field){ e->column[i], e->type[i] };
	return import_sink_table(t->sink, e->index, fields, e->nr_columns, NULL, err);
}

static int event_values(struct text *t, struct text_event *e, struct err *err)
{
	struct value values[IMPORT_MAX_FIELDS];
	int ret;

	text_keep(t);
	ret = columns_widen(t, e, err);
	if (ret)
		return ret;
	for (int i = 0; i < e->nr_columns; i++)
		values[i] = VALUE_NONE;
	for (int i = 0; i < t->fields.nr; i++) {
		int column = column_find(e, t->fields.field[i].name);

		if (column >= 0)
			values[column] = t->fields.field[i].value;
	}
	return import_sink_values(t->sink, e->index, t->line.cpu, t->line.pid, t->line.ts_ns,
				  values, err);
}

/* Losses told for this CPU, now that it is known when they ended. */
static int losses_store(struct text *t, struct err *err)
{
	int cpu = t->line.cpu;

	if (cpu >= IMPORT_MAX_CPUS || !t->has_lost[cpu])
		return 0;
	t->has_lost[cpu] = false;
	return import_sink_lost(t->sink, cpu, t->line.ts_ns, t->lost[cpu], err);
}

/* 1: not in the shape that its page event has in any version. */
static int line_is_event(struct text *t, struct err *err)
{
	const struct text_line *line = &t->line;
	const struct page_source *source;
	const char *comm = strcmp(line->comm, "<...>") ? line->comm : NULL;
	struct text_event *e;
	int ret = event_find(t, err);

	if (ret < 0)
		return ret;
	e = t->event[ret];
	ret = losses_store(t, err);
	if (!ret)
		ret = import_sink_task(t->sink, line->pid, line->tgid,
				       comm ? comm : e->is_kswapd ? "kswapd" : NULL, line->ts_ns,
				       err);
	if (ret)
		return ret;
	text_fields_parse(line->name, line->payload, &t->fields);
	source = t->sink->event[e->index].source;
	if (!source)
		return event_values(t, e, err);
	ret = event_page(t, e, source, err);
	return ret > 0 ? 0 : ret < 0 ? ret : 1;
}

static void lost_add(struct text *t)
{
	int cpu = t->line.cpu;
	bool known = t->line.nr_lost >= 0 && (!t->has_lost[cpu] || t->lost[cpu] >= 0);

	t->lost[cpu] = known ? t->line.nr_lost + (t->has_lost[cpu] ? t->lost[cpu] : 0) : -1;
	t->has_lost[cpu] = true;
}

/*
 * "# entries-in-buffer/entries-written: 7/9   #P:4": two were overwritten before the first one
 * left.
 */
static int head_note(struct text *t, const char *line, struct err *err)
{
	static const char prefix[] = "# entries-in-buffer/entries-written: ";
	const char *slash;
	uint64_t kept, written;

	if (strncmp(line, prefix, sizeof(prefix) - 1))
		return 0;
	kept = strtoull(line + sizeof(prefix) - 1, NULL, 10);
	slash = strchr(line + sizeof(prefix) - 1, '/');
	written = slash ? strtoull(slash + 1, NULL, 10) : kept;
	if (written <= kept || written > INT64_MAX)
		return 0;
	return store_context(t->sink->store, t->sink->capture_id, 0, "start", "import",
			     "events_overwritten", VALUE_OF_INT((int64_t)(written - kept)), err);
}

static int line_import(struct text *t, const char *line, uint64_t number, struct err *err)
{
	int ret = 0;

	text_line_parse(line, &t->line);
	if (t->line.kind == TEXT_COMMENT)
		return head_note(t, line, err);
	if (t->line.kind == TEXT_LOST && t->line.cpu < IMPORT_MAX_CPUS) {
		lost_add(t);
		return 0;
	}
	if (t->line.kind == TEXT_EVENT && t->line.cpu < IMPORT_MAX_CPUS) {
		ret = line_is_event(t, err);
		if (ret <= 0)
			return ret;
	}
	import_note_unparsed(t->sink->result, number, line);
	return 0;
}

/*
 * ---- the file
 * ------------------------------------------------------------------------------------
 */

/* Losses told behind the last event of their CPU end with the recording. */
static int losses_finish(struct text *t, struct err *err)
{
	int ret = 0;

	for (int cpu = 0; cpu < IMPORT_MAX_CPUS && !ret; cpu++) {
		t->line.cpu = cpu;
		t->line.ts_ns = t->sink->result->last_ts_ns;
		ret = losses_store(t, err);
	}
	return ret;
}

static int lines_import(struct text *t, struct line_reader *reader, struct err *err)
{
	struct import_result *result = t->sink->result;
	size_t bytes;
	char *line;
	int ret;

	while ((ret = line_reader_next(reader, &line, &bytes, err)) > 0) {
		result->nr_lines++;
		ret = line_import(t, line, line_reader_number(reader), err);
		if (ret)
			return ret;
		if (!(result->nr_lines & 0xfff) && import_stopped(t->sink))
			return err_set(err, -EINTR, "interrupted at line %" PRIu64 " of '%s'",
				       result->nr_lines, t->sink->path);
	}
	if (ret)
		return ret;
	if (!result->nr_events)
		return err_set(err, -EBADMSG,
			       "cannot import '%s': none of its %" PRIu64 " lines is an "
			       "event (ftrace text as in tracefs' trace file, or trace-cmd report)",
			       t->sink->path, result->nr_lines);
	return losses_finish(t, err);
}

int import_text(struct import_sink *sink, struct err *err)
{
	const struct capture_info info = { .source = "ftrace-text", .input = sink->path };
	struct text *t = calloc(1, sizeof(*t));
	struct line_reader *reader = NULL;
	int ret;

	if (!t)
		return err_set(err, -ENOMEM, "no memory to read '%s'", sink->path);
	t->sink = sink;
	ret = line_reader_open(&reader, sink->path, err);
	if (!ret)
		ret = import_sink_begin(sink, &info, err);
	if (!ret) {
		ret = lines_import(t, reader, err);
		ret = import_sink_finish(sink, ret, err);
	}
	line_reader_close(reader);
	for (int i = 0; i < t->nr_events; i++)
		free(t->event[i]);
	free(t->event);
	free(t);
	return ret;
}
