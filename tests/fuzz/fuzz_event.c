// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz_event.c - packed event chunks (libFuzzer). First byte 0: the rest is a chunk, read whole.
 * Else the rest makes rows, which must come out of a chunk as they went in; then the chunk is
 * damaged.
 */
#include <stdlib.h>
#include <string.h>

#include "schema/event_codec.h"
#include "schema/svb.h"

enum { FIELDS = 3, ROWS_MAX = 600 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void read_all(const uint8_t *data, size_t bytes, uint32_t nr)
{
	struct event_block *block;
	struct value value;
	volatile uint8_t last = 0;
	int code;

	block = event_block_open(data, bytes, nr, &code);
	if (!block)
		return;
	for (int column = 0; column <= NR_EVENT_COLS + FIELDS; column++) {
		for (uint32_t row = 0; row < nr; row++) {
			if (event_block_value(block, column, row, &value))
				break;		/* damaged: the whole column */
			if (value.type >= VALUE_TEXT && value.text_bytes)
				last = (uint8_t)value.text[value.text_bytes - 1];
		}
	}
	(void)last;
	event_block_free(block);
}

/*
 * Cell @i of the input: a byte of type, then what it is made of. Times rise, so rows keep their
 * order.
 */
static struct value cell(const uint8_t *data, size_t bytes, uint32_t i)
{
	const size_t at = (size_t)i * 9 % (bytes > 9 ? bytes - 9 : 1);
	struct value value = { 0 };

	if (bytes < 10)
		return value;
	value.type = data[at] % 5;
	value.i = (int64_t)load_u64(data + at + 1) >> data[at] % 61;
	memcpy(&value.r, data + at + 1, sizeof(value.r));
	value.text = (const char *)data + at + 1;
	value.text_bytes = value.type >= VALUE_TEXT ? data[at] % 9 : 0;
	return value;
}

static bool same(const struct value *a, const struct value *b)
{
	if (a->type != b->type)
		return false;
	if (a->type == VALUE_INT)
		return a->i == b->i;
	if (a->type == VALUE_REAL)
		return !memcmp(&a->r, &b->r, sizeof(a->r));
	return a->type == VALUE_NULL || (a->text_bytes == b->text_bytes &&
					 !memcmp(a->text, b->text, a->text_bytes));
}

static void check_rows(const struct event_chunk *chunk, const uint8_t *data, size_t bytes)
{
	struct event_block *block;
	int code;

	block = event_block_open(chunk->data, chunk->data_bytes, chunk->nr_events, &code);
	if (!block)
		abort();
	for (uint32_t row = 0; row < chunk->nr_events; row++) {
		for (uint32_t f = 0; f < FIELDS; f++) {
			const struct value wanted = cell(data, bytes, row * FIELDS + f);
			struct value value;

			if (event_block_value(block, NR_EVENT_COLS + (int)f, row, &value) ||
			    !same(&value, &wanted))
				abort();
		}
	}
	event_block_free(block);
}

static void pack_and_damage(const uint8_t *data, size_t bytes, uint32_t nr)
{
	static const int field[FIELDS] = { 0, 1, 2 };
	struct event_packer *packer = event_packer_new();
	struct event_chunk chunk;

	for (uint32_t row = 0; row < nr; row++) {
		struct value values[FIELDS];

		for (uint32_t f = 0; f < FIELDS; f++)
			values[f] = cell(data, bytes, row * FIELDS + f);
		event_packer_add(packer, row, 0, VALUE_OF_INT(row), values, field, FIELDS);
	}
	if (event_packer_take(packer, &chunk))
		abort();
	event_packer_free(packer);
	if (!chunk.data)
		return;
	check_rows(&chunk, data, bytes);
	for (size_t i = 0; i + 4 < bytes && i < 40; i += 5)
		chunk.data[load_u32(data + i) % chunk.data_bytes] = data[i + 4];
	read_all(chunk.data, chunk.data_bytes, chunk.nr_events);
	free(chunk.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	if (!bytes)
		return 0;
	if (!data[0])
		read_all(data + 1, bytes - 1, bytes > 5 ? load_u32(data + 1) % 20000 : 1);
	else
		pack_and_damage(data + 1, bytes - 1, 1 + data[0] * 2654435761U % ROWS_MAX);
	return 0;
}
