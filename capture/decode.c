// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * decode.c - decoders of tracepoints: the event's format is read once, a record then costs a few
 * loads at offsets known from it. Page events become struct page_raw; any event becomes values.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "capture/decode.h"

/* Where a number stands; bytes 0: the event does not have it. */
struct number_at {
	uint32_t offset;
	uint32_t bytes;
};

enum field_kind { FIELD_NUMBER, FIELD_TEXT, FIELD_NUMBERS, FIELD_BLOB };

struct field_at {
	const struct tep_format_field *field;
	enum field_kind kind;
	bool is_dynamic;
	uint32_t element_bytes;
};

struct event_decoder {
	struct tep_event *event;
	const struct page_source *source;
	bool swap;		/* the record's byte order is not ours */
	uint32_t min_bytes;	/* no record is shorter */
	struct number_at pid;
	struct number_at dev, ino, first, last, nr_bytes, limit_bytes, pfn, order, flags, bdi;
	struct event_field *fields;
	struct field_at *at;
	int nr_fields;
	char *scratch;		/* texts of the record decoded last */
	size_t scratch_bytes, scratch_used;
};

static inline uint64_t load(const struct event_decoder *d, const uint8_t *data,
			    struct number_at at)
{
	uint64_t v64;
	uint32_t v32;
	uint16_t v16;

	switch (at.bytes) {
	case 8:
		memcpy(&v64, data + at.offset, 8);
		return d->swap ? __builtin_bswap64(v64) : v64;
	case 4:
		memcpy(&v32, data + at.offset, 4);
		return d->swap ? __builtin_bswap32(v32) : v32;
	case 2:
		memcpy(&v16, data + at.offset, 2);
		return d->swap ? __builtin_bswap16(v16) : v16;
	case 1:
		return data[at.offset];
	default:
		return 0;
	}
}

static int64_t sign_extend(uint64_t value, uint32_t bytes)
{
	unsigned int shift = 64 - 8 * bytes;

	return bytes >= 8 ? (int64_t)value : (int64_t)(value << shift) >> shift;
}

/* A number of 1, 2, 4 or 8 bytes named @name; false if the event has none. */
static bool number_find(struct tep_event *event, const char *name, struct number_at *at)
{
	struct tep_format_field *f = name ? tep_find_any_field(event, name) : NULL;

	*at = (struct number_at){ 0 };
	if (!f || f->offset < 0 || (f->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC)))
		return false;
	if (f->size != 1 && f->size != 2 && f->size != 4 && f->size != 8)
		return false;
	*at = (struct number_at){ (uint32_t)f->offset, (uint32_t)f->size };
	return true;
}

static bool text_find(struct tep_event *event, const char *name, struct number_at *at)
{
	struct tep_format_field *f = name ? tep_find_field(event, name) : NULL;

	if (!f || f->offset < 0 || f->size <= 0 || (f->flags & TEP_FIELD_IS_DYNAMIC))
		return false;
	*at = (struct number_at){ (uint32_t)f->offset, (uint32_t)f->size };
	return true;
}

static void need(struct event_decoder *d, struct number_at at)
{
	if (d->min_bytes < at.offset + at.bytes)
		d->min_bytes = at.offset + at.bytes;
}

static void page_init(struct event_decoder *d)
{
	const struct page_source *s = page_source_find(d->event->system, d->event->name);
	struct tep_event *e = d->event;

	if (!s)
		return;
	if ((s->dev && !number_find(e, s->dev, &d->dev)) ||
	    (s->ino && !number_find(e, s->ino, &d->ino)) ||
	    (s->first && !number_find(e, s->first, &d->first)) ||
	    (s->last && !number_find(e, s->last, &d->last)) ||
	    (s->nr_bytes && !number_find(e, s->nr_bytes, &d->nr_bytes)) ||
	    (s->limit_bytes && !number_find(e, s->limit_bytes, &d->limit_bytes)) ||
	    (s->bdi && !text_find(e, s->bdi, &d->bdi)))
		return;
	number_find(e, s->pfn, &d->pfn);
	number_find(e, s->order, &d->order);
	number_find(e, s->flags, &d->flags);
	if (!s->first && !d->pfn.bytes)
		return;	/* before 4.4: a pointer to the page, which names nothing */
	need(d, d->dev), need(d, d->ino), need(d, d->first), need(d, d->last);
	need(d, d->nr_bytes), need(d, d->limit_bytes), need(d, d->bdi), need(d, d->pfn);
	need(d, d->order), need(d, d->flags);
	d->source = s;
}

static bool is_number_size(int bytes)
{
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

static struct field_at field_classify(const struct tep_format_field *f)
{
	struct field_at at = { .field = f, .kind = FIELD_BLOB };
	uint32_t element = f->elementsize;

	at.is_dynamic = f->flags & TEP_FIELD_IS_DYNAMIC;
	if (f->flags & TEP_FIELD_IS_STRING) {
		/* libtraceevent takes arrays of u8 for strings, too */
		at.kind = strstr(f->type, "u8") || strstr(f->type, "s8") ||
			  strstr(f->type, "unsigned char") ? FIELD_BLOB : FIELD_TEXT;
	} else if (f->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC)) {
		at.element_bytes = element;
		if (element == 2 || element == 4 || element == 8)
			at.kind = FIELD_NUMBERS;
	} else if (is_number_size(f->size)) {
		at.kind = FIELD_NUMBER;
	}
	return at;
}

static int fields_init(struct event_decoder *d)
{
	static const enum value_type types[] = {
		[FIELD_NUMBER] = VALUE_INT, [FIELD_TEXT] = VALUE_TEXT,
		[FIELD_NUMBERS] = VALUE_TEXT, [FIELD_BLOB] = VALUE_BLOB,
	};
	int nr = 0;

	for (const struct tep_format_field *f = d->event->format.fields; f; f = f->next)
		nr++;
	d->fields = calloc((size_t)nr + 1, sizeof(*d->fields));
	d->at = calloc((size_t)nr + 1, sizeof(*d->at));
	if (!d->fields || !d->at)
		return -ENOMEM;
	for (const struct tep_format_field *f = d->event->format.fields; f; f = f->next) {
		struct field_at at = field_classify(f);

		if (f->offset < 0 || f->size <= 0)
			continue;
		need(d, (struct number_at){ (uint32_t)f->offset, (uint32_t)f->size });
		d->at[d->nr_fields] = at;
		d->fields[d->nr_fields++] = (struct event_field){ f->name, types[at.kind] };
	}
	return 0;
}

struct event_decoder *event_decoder_new(struct tep_event *event)
{
	struct event_decoder *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->event = event;
	d->swap = tep_is_file_bigendian(event->tep) != tep_is_local_bigendian(event->tep);
	number_find(event, "common_pid", &d->pid);
	need(d, d->pid);
	page_init(d);
	if (!fields_init(d))
		return d;
	event_decoder_free(d);
	return NULL;
}

void event_decoder_free(struct event_decoder *d)
{
	if (!d)
		return;
	free(d->fields);
	free(d->at);
	free(d->scratch);
	free(d);
}

const char *event_decoder_system(const struct event_decoder *d)
{
	return d->event->system;
}

const char *event_decoder_name(const struct event_decoder *d)
{
	return d->event->name;
}

const struct page_source *event_decoder_page_source(const struct event_decoder *d)
{
	return d->source;
}

uint32_t event_decoder_pid(const struct event_decoder *d, const void *data, size_t data_bytes)
{
	return data_bytes < d->min_bytes ? 0 : (uint32_t)load(d, data, d->pid);
}

int event_decoder_page(const struct event_decoder *d, const void *data, size_t data_bytes,
		       struct page_raw *raw)
{
	if (data_bytes < d->min_bytes)
		return -EBADMSG;
	raw->event.pid = (uint32_t)load(d, data, d->pid);
	return page_raw_set(d->source, &(struct page_numbers){
		.dev = (uint32_t)load(d, data, d->dev), .ino = load(d, data, d->ino),
		.first = load(d, data, d->first), .last = load(d, data, d->last),
		.nr_bytes = load(d, data, d->nr_bytes),
		.limit_bytes = load(d, data, d->limit_bytes), .pfn = load(d, data, d->pfn),
		.order = (uint32_t)load(d, data, d->order), .flags = load(d, data, d->flags),
		.bdi = (const char *)data + d->bdi.offset, .bdi_bytes = d->bdi.bytes }, raw);
}

int event_decoder_fields(const struct event_decoder *d, const struct event_field **fields)
{
	*fields = d->fields;
	return d->nr_fields;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Room that stays valid until the next record: sized before decoding, so it never moves. */
static char *scratch_take(struct event_decoder *d, size_t bytes)
{
	char *at = d->scratch + d->scratch_used;

	if (bytes > d->scratch_bytes - d->scratch_used)
		return NULL;
	d->scratch_used += bytes;
	return at;
}

/*
 * Numbers become at most 7 characters per 2 bytes ("-32768,"), strings want a NUL; dynamic fields
 * can overlap, so each may be as long as the record.
 */
static int scratch_reserve(struct event_decoder *d, size_t data_bytes)
{
	size_t want = (size_t)(d->nr_fields + 1) * (4 * data_bytes + 16);
	char *grown;

	d->scratch_used = 0;
	if (want <= d->scratch_bytes)
		return 0;
	grown = realloc(d->scratch, want);
	if (!grown)
		return -ENOMEM;
	d->scratch = grown;
	d->scratch_bytes = want;
	return 0;
}

/* The bytes of a field: its own place, or for __data_loc and __rel_loc where that points. */
static int field_place(const struct event_decoder *d, const struct field_at *at,
		       const uint8_t *data, size_t data_bytes, size_t *offset, size_t *bytes)
{
	uint64_t word;

	*offset = (size_t)at->field->offset;
	*bytes = (size_t)at->field->size;
	if (!at->is_dynamic)
		return 0;
	if (!is_number_size(at->field->size))
		return -EBADMSG;
	word = load(d, data, (struct number_at){ (uint32_t)*offset, (uint32_t)*bytes });
	if (at->field->flags & TEP_FIELD_IS_RELATIVE)
		*offset += *bytes + (word & 0xffff);
	else
		*offset = word & 0xffff;
	*bytes = (word >> 16) & 0xffff;
	return *offset > data_bytes || *bytes > data_bytes - *offset ? -EBADMSG : 0;
}

static int text_value(struct event_decoder *d, const uint8_t *data, size_t bytes,
		      struct value *value)
{
	size_t used = strnlen((const char *)data, bytes);
	char *copy;

	if (used < bytes) {	/* its NUL is in the record */
		*value = (struct value){ .type = VALUE_TEXT, .text = (const char *)data,
					 .text_bytes = used };
		return 0;
	}
	copy = scratch_take(d, used + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, data, used);
	copy[used] = '\0';
	*value = (struct value){ .type = VALUE_TEXT, .text = copy, .text_bytes = used };
	return 0;
}

static int numbers_value(struct event_decoder *d, const struct field_at *at, const uint8_t *data,
			 size_t bytes, struct value *value)
{
	size_t nr = bytes / at->element_bytes, used = 0;
	bool is_signed = at->field->flags & TEP_FIELD_IS_SIGNED;
	char *text = scratch_take(d, 4 * bytes + 4);

	if (!text)
		return -ENOMEM;
	text[used++] = '[';
	for (size_t i = 0; i < nr; i++) {
		uint64_t v = load(d, data, (struct number_at){
			(uint32_t)(i * at->element_bytes), at->element_bytes });

		if (i)
			text[used++] = ',';
		used += (size_t)(is_signed ?
			sprintf(text + used, "%lld", (long long)sign_extend(v, at->element_bytes)) :
			sprintf(text + used, "%llu", (unsigned long long)v));
	}
	text[used++] = ']';
	text[used] = '\0';
	*value = (struct value){ .type = VALUE_TEXT, .text = text, .text_bytes = used };
	return 0;
}

static int field_value(struct event_decoder *d, const struct field_at *at, const uint8_t *data,
		       size_t data_bytes, struct value *value)
{
	size_t offset, bytes;
	uint64_t number;

	if (field_place(d, at, data, data_bytes, &offset, &bytes))
		return -EBADMSG;
	switch (at->kind) {
	case FIELD_NUMBER:
		number = load(d, data, (struct number_at){ (uint32_t)offset, (uint32_t)bytes });
		*value = VALUE_OF_INT(at->field->flags & TEP_FIELD_IS_SIGNED ?
				      sign_extend(number, (uint32_t)bytes) : (int64_t)number);
		return 0;
	case FIELD_TEXT:
		return text_value(d, data + offset, bytes, value);
	case FIELD_NUMBERS:
		return numbers_value(d, at, data + offset, bytes, value);
	case FIELD_BLOB:
		*value = (struct value){ .type = VALUE_BLOB, .text = (const char *)data + offset,
					 .text_bytes = bytes };
		return 0;
	}
	return -EBADMSG;
}

int event_decoder_values(struct event_decoder *d, const void *data, size_t data_bytes,
			 struct value *values)
{
	int code;

	if (data_bytes < d->min_bytes)
		return -EBADMSG;
	code = scratch_reserve(d, data_bytes);
	for (int i = 0; !code && i < d->nr_fields; i++)
		code = field_value(d, &d->at[i], data, data_bytes, &values[i]);
	return code;
}
