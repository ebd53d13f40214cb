// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * event_codec_read.c - packed event chunks back to values. The format is described in
 * event_codec.c; nothing in a chunk is trusted, and a column is decoded when its first value is
 * asked for.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/event_codec.h"
#include "schema/svb.h"

struct entry {
	uint32_t type;
	uint32_t offset, bytes;		/* into the block's data */
};

struct decoded {
	bool ready;
	enum column_kind kind;
	uint32_t *nulls;		/* NULL: none */
	uint64_t *bits;			/* int, delta, real */
	uint32_t *number;		/* dict */
	struct entry *entries;
};

struct event_block {
	uint32_t nr_rows, nr_columns;
	uint8_t *data;
	struct byte_reader *column;	/* nr_columns, the bytes of each */
	struct decoded *decoded;
};

enum { BLOCK_VALUES = EVENT_CHUNK_ROWS + SVB_PAD_VALUES };

static void decoded_release(struct decoded *d)
{
	free(d->nulls);
	free(d->bits);
	free(d->number);
	free(d->entries);
	*d = (struct decoded){ 0 };
}

void event_block_free(struct event_block *block)
{
	if (!block)
		return;
	for (uint32_t i = 0; block->decoded && i < block->nr_columns; i++)
		decoded_release(&block->decoded[i]);
	free(block->decoded);
	free(block->column);
	free(block->data);
	free(block);
}

uint32_t event_block_rows(const struct event_block *block)
{
	return block->nr_rows;
}

/* Finds the columns; nothing in them is looked at yet. */
static int find_columns(struct event_block *block, size_t data_bytes)
{
	const uint8_t *at, *end = block->data + data_bytes - SVB_PAD;

	at = block->data + 8 + 4 * (size_t)block->nr_columns;
	for (uint32_t i = 0; i < block->nr_columns; i++) {
		const uint32_t bytes = load_u32(block->data + 8 + 4 * (size_t)i);

		if (bytes > (size_t)(end - at))
			return -EBADMSG;
		block->column[i] = (struct byte_reader){ at, at + bytes };
		at += bytes;
	}
	return at == end ? 0 : -EBADMSG;
}

struct event_block *event_block_open(const void *data, size_t data_bytes, uint64_t nr_rows,
				     int *code)
{
	struct event_block *block;
	uint32_t nr_columns;

	*code = -EBADMSG;
	if (data_bytes < 8 + SVB_PAD || data_bytes > UINT32_MAX)
		return NULL;
	nr_columns = load_u32((const uint8_t *)data + 4);
	if (load_u32(data) != nr_rows || !nr_rows || nr_rows > EVENT_CHUNK_ROWS ||
	    nr_columns < NR_EVENT_COLS || nr_columns > EVENT_COLUMNS_MAX ||
	    4 * (size_t)nr_columns > data_bytes - 8 - SVB_PAD)
		return NULL;
	*code = -ENOMEM;
	block = calloc(1, sizeof(*block));
	if (!block)
		return NULL;
	block->nr_rows = (uint32_t)nr_rows;
	block->nr_columns = nr_columns;
	block->data = malloc(data_bytes);
	block->column = calloc(nr_columns, sizeof(*block->column));
	block->decoded = calloc(nr_columns, sizeof(*block->decoded));
	if (block->data && block->column && block->decoded) {
		memcpy(block->data, data, data_bytes);
		*code = find_columns(block, data_bytes);
		if (!*code)
			return block;
	}
	event_block_free(block);
	return NULL;
}

/* malloc of a decoded u32 column, or NULL with *code. */
static uint32_t *get_column(struct byte_reader *in, uint32_t nr, int *code)
{
	uint32_t *values = malloc(BLOCK_VALUES * sizeof(*values));
	uint32_t *scratch = malloc(2 * BLOCK_VALUES * sizeof(*scratch));

	*code = values && scratch ? column_decode(in, values, nr, scratch, NULL) : -ENOMEM;
	free(scratch);
	if (!*code)
		return values;
	free(values);
	return NULL;
}

static int get_ints(struct byte_reader *in, struct decoded *d, uint32_t nr)
{
	uint32_t *low, *high = NULL;
	uint64_t last = 0;
	int code;

	low = get_column(in, nr, &code);
	if (low)
		high = get_column(in, nr, &code);
	if (high) {
		d->bits = malloc(nr * sizeof(*d->bits));
		code = d->bits ? 0 : -ENOMEM;
	}
	for (uint32_t i = 0; !code && i < nr; i++) {
		uint64_t value = unzigzag64((uint64_t)high[i] << 32 | low[i]);

		if (d->kind == KIND_DELTA)
			value += last;
		d->bits[i] = last = value;
	}
	free(low);
	free(high);
	return code;
}

static int get_reals(struct byte_reader *in, struct decoded *d, uint32_t nr)
{
	if (bytes_left(in) < 8ULL * nr)
		return -EBADMSG;
	d->bits = malloc(8ULL * nr);
	if (!d->bits)
		return -ENOMEM;
	memcpy(d->bits, in->at, 8ULL * nr);
	in->at += 8ULL * nr;
	return 0;
}

static int place_entries(const struct event_block *block, struct byte_reader *in,
			 struct decoded *d, const uint32_t *types, const uint32_t *lengths,
			 uint32_t nr_entries)
{
	for (uint32_t k = 0; k < nr_entries; k++) {
		const bool number = types[k] == VALUE_INT || types[k] == VALUE_REAL;

		if (types[k] > VALUE_BLOB || lengths[k] > bytes_left(in) ||
		    (number && lengths[k] != 8))
			return -EBADMSG;
		d->entries[k] = (struct entry){ types[k], (uint32_t)(in->at - block->data),
						lengths[k] };
		in->at += lengths[k];
	}
	return 0;
}

static int get_entries(const struct event_block *block, struct byte_reader *in, struct decoded *d,
		       uint32_t nr_entries)
{
	uint32_t *types, *lengths = NULL;
	int code;

	types = get_column(in, nr_entries, &code);
	if (types)
		lengths = get_column(in, nr_entries, &code);
	if (lengths) {
		d->entries = calloc(nr_entries, sizeof(*d->entries));
		code = d->entries ? place_entries(block, in, d, types, lengths, nr_entries) :
				    -ENOMEM;
	}
	free(types);
	free(lengths);
	return code;
}

static int get_dict(const struct event_block *block, struct byte_reader *in, struct decoded *d)
{
	uint32_t nr_entries;
	int code;

	if (bytes_left(in) < 4)
		return -EBADMSG;
	nr_entries = load_u32(in->at);
	in->at += 4;
	if (!nr_entries || nr_entries > block->nr_rows)
		return -EBADMSG;
	code = get_entries(block, in, d, nr_entries);
	if (code)
		return code;
	d->number = get_column(in, block->nr_rows, &code);
	for (uint32_t i = 0; !code && i < block->nr_rows; i++)
		if (d->number[i] >= nr_entries)
			code = -EBADMSG;
	return code;
}

static int decode_kind(const struct event_block *block, struct byte_reader *in, struct decoded *d)
{
	int code = 0;

	if (!bytes_left(in))
		return -EBADMSG;
	d->kind = *in->at++;
	if (d->kind == KIND_NONE)
		return 0;
	if (d->kind >= NR_KINDS || !bytes_left(in))
		return -EBADMSG;
	if (*in->at++)
		d->nulls = get_column(in, (block->nr_rows + 31) / 32, &code);
	if (code)
		return code;
	if (d->kind == KIND_DICT)
		return get_dict(block, in, d);
	if (d->kind == KIND_REAL)
		return get_reals(in, d, block->nr_rows);
	return get_ints(in, d, block->nr_rows);
}

static int decode_column(struct event_block *block, uint32_t column)
{
	struct decoded *d = &block->decoded[column];
	struct byte_reader in = block->column[column];
	int code = decode_kind(block, &in, d);

	if (!code && bytes_left(&in))
		code = -EBADMSG;
	if (code)
		decoded_release(d);
	d->ready = !code;
	return code;
}

static void dict_value(const struct event_block *block, const struct entry *entry,
		       struct value *value)
{
	const uint8_t *bytes = block->data + entry->offset;

	value->type = entry->type;
	if (entry->type == VALUE_INT) {
		value->i = (int64_t)load_u64(bytes);
	} else if (entry->type == VALUE_REAL) {
		memcpy(&value->r, bytes, sizeof(value->r));
	} else if (entry->type != VALUE_NULL) {
		value->text = (const char *)bytes;
		value->text_bytes = entry->bytes;
	}
}

int event_block_value(struct event_block *block, int column, uint32_t row, struct value *value)
{
	struct decoded *d;
	int code;

	*value = VALUE_NONE;
	if (column < 0 || (uint32_t)column >= block->nr_columns)
		return 0;
	d = &block->decoded[column];
	if (!d->ready) {
		code = decode_column(block, (uint32_t)column);
		if (code)
			return code;
	}
	if (d->kind == KIND_NONE || (d->nulls && d->nulls[row / 32] >> (row % 32) & 1))
		return 0;
	if (d->kind == KIND_DICT) {
		dict_value(block, &d->entries[d->number[row]], value);
	} else if (d->kind == KIND_REAL) {
		value->type = VALUE_REAL;
		memcpy(&value->r, &d->bits[row], sizeof(value->r));
	} else {
		value->type = VALUE_INT;
		value->i = (int64_t)d->bits[row];
	}
	return 0;
}
