// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * demand_codec.c - chunks of demand records to three BLOBs and back.
 *
 * A replay reads the stream once per model and size, so that reading is what counts: at most 2 ns a
 * record. Page, run and op are one BLOB, since every replay wants them; task and time have their
 * own and are not touched unless asked for. Run, op and task that are the same for all records cost
 * nothing and are not unpacked at all. Pages are stored raw or as zigzag differences, whichever is
 * smaller.
 *
 *   pages  u8 version (1), u8 page mode (0 raw, 1 differences), u8 op mode (0 all the same, 1
 *          bytes), u8 op; u32 nr; column of page; column of run - 1; op mode 1: nr x u8; pad
 *   task   u8 version (1); column of task; pad
 *   ts     u8 version (1); u64 time before the first; u64 base; low and high columns of
 *          (difference to the one before - base); pad
 *
 * Columns and pad are those of svb.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/demand.h"
#include "schema/svb.h"

enum { DEMAND_VERSION = 1, PAGES_HEAD = 8, TASK_HEAD = 1, TS_HEAD = 17 };
enum page_mode { PAGES_RAW, PAGES_DELTA };
enum op_mode { OPS_SAME, OPS_BYTES };

int demand_columns_new(struct demand_columns *c)
{
	size_t room = DEMAND_CHUNK_RECORDS + SVB_PAD_VALUES;

	*c = (struct demand_columns){
		.page = malloc(sizeof(*c->page) * room),
		.run = malloc(sizeof(*c->run) * room),
		.task = malloc(sizeof(*c->task) * room),
		.op = malloc(room),
		.ts_ns = malloc(sizeof(*c->ts_ns) * room),
	};
	if (c->page && c->run && c->task && c->op && c->ts_ns)
		return 0;
	demand_columns_free(c);
	return -ENOMEM;
}

void demand_columns_free(struct demand_columns *c)
{
	free(c->page);
	free(c->run);
	free(c->task);
	free(c->op);
	free(c->ts_ns);
	*c = (struct demand_columns){ 0 };
}

static uint8_t *pad(uint8_t *out)
{
	memset(out, 0, SVB_PAD);
	return out + SVB_PAD;
}

static uint8_t *encode_pages(const uint32_t *page, uint32_t nr, uint32_t *work, uint8_t *out,
			     uint8_t *mode)
{
	uint32_t *scratch = work + nr, before = 0, any = 0, any_delta = 0;
	uint8_t *raw, *delta;

	for (uint32_t i = 0; i < nr; i++) {
		any |= page[i];
		any_delta |= work[i] = zigzag32(page[i] - before);
		before = page[i];
	}
	raw = column_encode(out, page, nr, any, scratch);
	delta = column_encode(raw, work, nr, any_delta, scratch);
	if (delta - raw >= raw - out) {
		*mode = PAGES_RAW;
		return raw;
	}
	*mode = PAGES_DELTA;
	memmove(out, raw, delta - raw);
	return out + (delta - raw);
}

static uint8_t *encode_block(const struct demand_columns *c, uint32_t *work, uint8_t *out)
{
	uint32_t nr = c->nr, any = 0;
	uint8_t *head = out, differs = 0;

	out = encode_pages(c->page, nr, work, out + PAGES_HEAD, &head[1]);
	for (uint32_t i = 0; i < nr; i++) {
		any |= work[i] = c->run[i] - 1;
		differs |= c->op[i] ^ c->op[0];
	}
	out = column_encode(out, work, nr, any, work + nr);
	head[0] = DEMAND_VERSION;
	head[2] = differs ? OPS_BYTES : OPS_SAME;
	head[3] = c->op[0];
	store_u32(head + 4, nr);
	if (differs) {
		memcpy(out, c->op, nr);
		out += nr;
	}
	return pad(out);
}

static uint8_t *encode_ts(const struct demand_columns *c, uint32_t *work, uint8_t *out)
{
	uint32_t nr = c->nr, *high = work + nr, any_low = 0, any_high = 0;
	uint64_t base = UINT64_MAX, before;

	for (uint32_t i = 1; i < nr; i++)
		if (c->ts_ns[i] - c->ts_ns[i - 1] < base)
			base = c->ts_ns[i] - c->ts_ns[i - 1];
	base = nr > 1 ? base : 0;
	before = c->ts_ns[0] - base;
	*out = DEMAND_VERSION;
	store_u64(store_u64(out + 1, before), base);
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t delta = c->ts_ns[i] - before - base;

		any_low |= work[i] = (uint32_t)delta;
		any_high |= high[i] = delta >> 32;
		before = c->ts_ns[i];
	}
	out = column_encode(out + TS_HEAD, work, nr, any_low, work + 2 * nr);
	return pad(column_encode(out, high, nr, any_high, work + 2 * nr));
}

int demand_chunk_encode(const struct demand_columns *c, struct demand_blobs *blobs)
{
	uint32_t nr = c->nr, any_task = 0;
	uint32_t *work = malloc(sizeof(*work) * 4 * ((size_t)nr + SVB_PAD_VALUES));
	uint8_t *out = malloc(7 * column_max_bytes(nr) + nr + 256), *at;

	*blobs = (struct demand_blobs){ .pages = out };
	if (!work || !out) {
		free(work);
		free(out);
		return -ENOMEM;
	}
	at = encode_block(c, work, out);
	blobs->pages_bytes = at - out;
	for (uint32_t i = 0; i < nr; i++)
		any_task |= c->task[i];
	if (any_task) {
		blobs->task = at;
		*at++ = DEMAND_VERSION;
		at = pad(column_encode(at, c->task, nr, any_task, work));
		blobs->task_bytes = at - blobs->task;
	}
	blobs->ts = at;
	blobs->ts_bytes = encode_ts(c, work, at) - at;
	free(work);
	return 0;
}

/* ---- back ------------------------------------------------------------------------------------ */

static int open_blob(struct byte_reader *in, const uint8_t *data, size_t data_bytes, size_t head)
{
	if (!data || data_bytes < head + SVB_PAD || data[0] != DEMAND_VERSION)
		return -EBADMSG;
	*in = (struct byte_reader){ data + head, data + data_bytes - SVB_PAD };
	return 0;
}

static void decode_delta(uint32_t *page, uint32_t nr)
{
	uint32_t before = 0;

	for (uint32_t i = 0; i < nr; i++)
		page[i] = before += unzigzag32(page[i]);
}

int demand_chunk_decode_pages(const uint8_t *data, size_t data_bytes, struct demand_columns *into,
			      uint32_t nr, uint32_t *scratch, struct demand_block *block)
{
	struct byte_reader in;
	bool one;

	if (open_blob(&in, data, data_bytes, PAGES_HEAD) || load_u32(data + 4) != nr || !nr ||
	    nr > DEMAND_CHUNK_RECORDS || data[1] > PAGES_DELTA || data[2] > OPS_BYTES ||
	    data[3] >= NR_DEMAND_OPS || column_decode(&in, into->page, nr, scratch, NULL) ||
	    column_decode(&in, into->run, nr, scratch, &one))
		return -EBADMSG;
	if (data[1] == PAGES_DELTA)
		decode_delta(into->page, nr);
	for (uint32_t i = 0; !one && i < nr; i++)
		into->run[i]++;
	*block = (struct demand_block){
		.nr = nr, .page = into->page, .run = one ? NULL : into->run,
	};
	if (data[2] == OPS_BYTES) {
		if (bytes_left(&in) < nr)
			return -EBADMSG;
		block->op = in.at;
		in.at += nr;
	} else if (data[3] != DEMAND_READ) {
		memset(into->op, data[3], nr);
		block->op = into->op;
	}
	return bytes_left(&in) ? -EBADMSG : 0;
}

int demand_chunk_decode_task(const uint8_t *data, size_t data_bytes, struct demand_columns *into,
			     uint32_t nr, uint32_t *scratch, struct demand_block *block)
{
	struct byte_reader in;
	bool none;

	if (open_blob(&in, data, data_bytes, TASK_HEAD) ||
	    column_decode(&in, into->task, nr, scratch, &none) || bytes_left(&in))
		return -EBADMSG;
	block->task = none ? NULL : into->task;
	return 0;
}

int demand_chunk_decode_ts(const uint8_t *data, size_t data_bytes, struct demand_columns *into,
			   uint32_t nr, uint32_t *scratch, struct demand_block *block)
{
	uint32_t *low = scratch, *high = scratch + nr + SVB_PAD_VALUES;
	uint32_t *rest = high + nr + SVB_PAD_VALUES;
	uint64_t ts_ns, base;
	struct byte_reader in;

	if (open_blob(&in, data, data_bytes, TS_HEAD) || column_decode(&in, low, nr, rest, NULL) ||
	    column_decode(&in, high, nr, rest, NULL) || bytes_left(&in))
		return -EBADMSG;
	ts_ns = load_u64(data + 1);
	base = load_u64(data + 9);
	for (uint32_t i = 0; i < nr; i++) {
		ts_ns += base + ((uint64_t)high[i] << 32 | low[i]);
		into->ts_ns[i] = ts_ns;
	}
	block->ts_ns = into->ts_ns;
	return 0;
}
