// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * event_codec.c - rows of any event, packed.
 *
 * Problem: an event of a million a second costs too much as rows (0.5 us and some 40 bytes each), but
 * its fields are known only when its format is read. Idea: keep up to 8192 rows as columns and write
 * each column in the way that suits what it happens to hold:
 *
 *   none    all NULL: nothing is written
 *   int     64-bit integers, zigzag, as two columns of u32 (low and high halves; svb.h)
 *   delta   the same of the differences from row to row: times, counters, neighbouring page numbers
 *   real    8 bytes each
 *   dict    the distinct values once, in order of appearance, and a column of their numbers: strings,
 *           blobs, pointers of a few objects, and columns that mix types
 *
 * NULLs inside int, delta, real and dict are a bit each. Chunk:
 *
 *   u32 nr_rows, u32 nr_columns, nr_columns x u32 bytes, the columns, SVB_PAD zero bytes
 *   column: u8 kind, u8 has_nulls, [column of (nr_rows + 31) / 32 words], then by kind
 *     int, delta: column low, column high     real: nr_rows x 8
 *     dict: u32 nr_entries, column types, column lengths, their bytes, column of numbers
 *
 * Columns are found through their lengths, so a reader decodes only those that a query wants.
 * The decoder trusts nothing: nr_rows is compared with the table's column, every length is checked
 * against what is left, every number against the dictionary.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/event_codec.h"
#include "schema/svb.h"

enum column_kind { KIND_NONE, KIND_INT, KIND_DELTA, KIND_REAL, KIND_DICT, NR_KINDS };

enum {
	COLUMNS_MAX = NR_EVENT_COLS + EVENT_FIELDS_MAX,
	DICT_SLOTS = 4 * EVENT_CHUNK_ROWS,	/* a power of two, at most half full */
	BITMAP_WORDS = (EVENT_CHUNK_ROWS + 31) / 32,
};

/* One value: a number's bits, or where its bytes are: offset << 32 | length. */
struct cells {
	uint8_t *type;		/* enum value_type */
	uint64_t *bits;
};

struct out {
	uint8_t *data;
	size_t bytes, room;
};

/* Memory of one encoding, kept from chunk to chunk. */
struct scratch {
	uint32_t order[EVENT_CHUNK_ROWS];
	uint32_t merge[EVENT_CHUNK_ROWS];
	uint8_t type[EVENT_CHUNK_ROWS];
	uint64_t bits[EVENT_CHUNK_ROWS];
	uint64_t raw[EVENT_CHUNK_ROWS], delta[EVENT_CHUNK_ROWS];
	uint32_t low[EVENT_CHUNK_ROWS], high[EVENT_CHUNK_ROWS];
	uint32_t number[EVENT_CHUNK_ROWS];	/* dictionary entry of row i */
	uint32_t first[EVENT_CHUNK_ROWS];	/* first row of entry k */
	uint32_t slot[DICT_SLOTS];		/* entry + 1 */
	uint32_t svb[2 * EVENT_CHUNK_ROWS];
};

struct event_packer {
	uint32_t nr_rows;
	int nr_columns;
	bool in_order;
	uint64_t last_ts_ns;
	int last_cpu;
	struct cells column[COLUMNS_MAX];
	uint8_t *text;
	size_t text_bytes, text_room;
	struct scratch *scratch;
};

/* ---- collecting rows ------------------------------------------------------------------------- */

struct event_packer *event_packer_new(void)
{
	struct event_packer *packer = calloc(1, sizeof(*packer));

	if (!packer)
		return NULL;
	packer->in_order = true;
	packer->scratch = malloc(sizeof(*packer->scratch));
	if (packer->scratch)
		return packer;
	free(packer);
	return NULL;
}

void event_packer_free(struct event_packer *packer)
{
	if (!packer)
		return;
	for (int i = 0; i < packer->nr_columns; i++) {
		free(packer->column[i].type);
		free(packer->column[i].bits);
	}
	free(packer->text);
	free(packer->scratch);
	free(packer);
}

uint32_t event_packer_rows(const struct event_packer *packer)
{
	return packer->nr_rows;
}

void event_packer_clear(struct event_packer *packer)
{
	packer->nr_rows = 0;
	packer->text_bytes = 0;
	packer->in_order = true;
	for (int i = 0; i < packer->nr_columns; i++)
		memset(packer->column[i].type, VALUE_NULL, EVENT_CHUNK_ROWS);
}

static int add_columns(struct event_packer *packer, int nr)
{
	while (packer->nr_columns < nr) {
		struct cells *cells = &packer->column[packer->nr_columns];

		cells->type = calloc(EVENT_CHUNK_ROWS, sizeof(*cells->type));
		cells->bits = malloc(EVENT_CHUNK_ROWS * sizeof(*cells->bits));
		if (!cells->type || !cells->bits) {
			free(cells->type);
			free(cells->bits);
			return -ENOMEM;
		}
		packer->nr_columns++;
	}
	return 0;
}

static int text_add(struct event_packer *packer, const struct value *value, uint64_t *bits)
{
	size_t need = packer->text_bytes + value->text_bytes;

	if (value->text_bytes > UINT32_MAX / 2 || need > UINT32_MAX / 2)
		return -E2BIG;
	if (need > packer->text_room) {
		size_t room = need + need / 2 + 4096;
		uint8_t *text = realloc(packer->text, room);

		if (!text)
			return -ENOMEM;
		packer->text = text;
		packer->text_room = room;
	}
	if (value->text_bytes)
		memcpy(packer->text + packer->text_bytes, value->text, value->text_bytes);
	*bits = (uint64_t)packer->text_bytes << 32 | value->text_bytes;
	packer->text_bytes = need;
	return 0;
}

static int cell_set(struct event_packer *packer, int column, const struct value *value)
{
	struct cells *cells = &packer->column[column];
	const uint32_t row = packer->nr_rows;

	cells->type[row] = value->type;
	switch (value->type) {
	case VALUE_INT:
		cells->bits[row] = (uint64_t)value->i;
		return 0;
	case VALUE_REAL:
		memcpy(&cells->bits[row], &value->r, sizeof(value->r));
		return 0;
	case VALUE_TEXT:
	case VALUE_BLOB:
		return text_add(packer, value, &cells->bits[row]);
	default:
		return 0;
	}
}

static void note_order(struct event_packer *packer, uint64_t ts_ns, int cpu)
{
	if (packer->nr_rows && (ts_ns < packer->last_ts_ns ||
				(ts_ns == packer->last_ts_ns && cpu < packer->last_cpu)))
		packer->in_order = false;
	packer->last_ts_ns = ts_ns;
	packer->last_cpu = cpu;
}

int event_packer_add(struct event_packer *packer, uint64_t ts_ns, int cpu, struct value pid,
		     const struct value *values, const int *field, int nr_values)
{
	const struct value ts = VALUE_OF_INT((int64_t)ts_ns);
	const struct value on = cpu < 0 ? VALUE_NONE : VALUE_OF_INT(cpu);
	int nr_columns = NR_EVENT_COLS, code;

	for (int i = 0; i < nr_values; i++)
		if (NR_EVENT_COLS + field[i] >= nr_columns)
			nr_columns = NR_EVENT_COLS + field[i] + 1;
	if (nr_columns > COLUMNS_MAX)
		return -E2BIG;
	code = add_columns(packer, nr_columns);
	if (code)
		return code;
	cell_set(packer, EVENT_COL_TS, &ts);
	cell_set(packer, EVENT_COL_CPU, &on);
	cell_set(packer, EVENT_COL_PID, &pid);
	for (int i = 0; i < nr_values; i++) {
		code = cell_set(packer, NR_EVENT_COLS + field[i], &values[i]);
		if (code)
			return code;
	}
	note_order(packer, ts_ns, cpu);
	packer->nr_rows++;
	return packer->nr_rows == EVENT_CHUNK_ROWS || packer->text_bytes >= EVENT_CHUNK_TEXT_BYTES;
}

/* ---- order ----------------------------------------------------------------------------------- */

static bool row_after(const struct event_packer *packer, uint32_t a, uint32_t b)
{
	const uint64_t *ts = packer->column[EVENT_COL_TS].bits;
	const struct cells *cpu = &packer->column[EVENT_COL_CPU];
	int64_t cpu_a, cpu_b;

	if (ts[a] != ts[b])
		return ts[a] > ts[b];
	cpu_a = cpu->type[a] == VALUE_INT ? (int64_t)cpu->bits[a] : -1;
	cpu_b = cpu->type[b] == VALUE_INT ? (int64_t)cpu->bits[b] : -1;
	return cpu_a > cpu_b;
}

/* Merge sort from the bottom up; stable. */
static void sort_rows(struct event_packer *packer)
{
	uint32_t *from = packer->scratch->order, *to = packer->scratch->merge, *swap;
	const uint32_t nr = packer->nr_rows;

	for (uint32_t i = 0; i < nr; i++)
		from[i] = i;
	if (packer->in_order)
		return;
	for (uint32_t width = 1; width < nr; width *= 2) {
		for (uint32_t start = 0; start < nr; start += 2 * width) {
			uint32_t mid = start + width < nr ? start + width : nr;
			uint32_t end = mid + width < nr ? mid + width : nr;
			uint32_t left = start, right = mid;

			for (uint32_t i = start; i < end; i++)
				to[i] = left < mid && (right == end ||
					!row_after(packer, from[left], from[right])) ?
					from[left++] : from[right++];
		}
		swap = from;
		from = to;
		to = swap;
	}
	if (from != packer->scratch->order)
		memcpy(packer->scratch->order, from, nr * sizeof(*from));
}

/* ---- writing columns ------------------------------------------------------------------------- */

static int out_reserve(struct out *out, size_t more)
{
	uint8_t *data;

	if (out->room - out->bytes >= more)
		return 0;
	data = realloc(out->data, (out->bytes + more) * 2);
	if (!data)
		return -ENOMEM;
	out->data = data;
	out->room = (out->bytes + more) * 2;
	return 0;
}

static int put_byte(struct out *out, uint8_t byte)
{
	if (out_reserve(out, 1))
		return -ENOMEM;
	out->data[out->bytes++] = byte;
	return 0;
}

static int put_u32(struct out *out, uint32_t value)
{
	if (out_reserve(out, 4))
		return -ENOMEM;
	store_u32(out->data + out->bytes, value);
	out->bytes += 4;
	return 0;
}

static int put_column(struct out *out, struct scratch *s, const uint32_t *values, uint32_t nr)
{
	if (out_reserve(out, column_max_bytes(nr)))
		return -ENOMEM;
	out->bytes = (size_t)(column_encode(out->data + out->bytes, values, nr, 1, s->svb) -
			      out->data);
	return 0;
}

/* One bit per NULL, if there are any. */
static int put_nulls(struct out *out, struct scratch *s, uint32_t nr, bool has_nulls)
{
	uint32_t words[BITMAP_WORDS] = { 0 };

	if (put_byte(out, has_nulls))
		return -ENOMEM;
	if (!has_nulls)
		return 0;
	for (uint32_t i = 0; i < nr; i++)
		words[i / 32] |= (uint32_t)(s->type[i] == VALUE_NULL) << (i % 32);
	return put_column(out, s, words, (nr + 31) / 32);
}

static int put_halves(struct out *out, struct scratch *s, const uint64_t *values, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		s->low[i] = (uint32_t)values[i];
		s->high[i] = (uint32_t)(values[i] >> 32);
	}
	if (put_column(out, s, s->low, nr))
		return -ENOMEM;
	return put_column(out, s, s->high, nr);
}

static uint64_t hash_bytes(uint64_t hash, const uint8_t *bytes, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3ULL;
	return rand_next(&hash);
}

/* The bytes of a value as they stand in a dictionary: *@nr of them. */
static const uint8_t *cell_bytes(const struct event_packer *packer, uint32_t row, size_t *nr)
{
	const struct scratch *s = packer->scratch;

	if (s->type[row] == VALUE_NULL) {
		*nr = 0;
		return (const uint8_t *)"";
	}
	if (s->type[row] < VALUE_TEXT) {
		*nr = sizeof(s->bits[row]);
		return (const uint8_t *)&s->bits[row];
	}
	*nr = (uint32_t)s->bits[row];
	return *nr ? packer->text + (s->bits[row] >> 32) : (const uint8_t *)"";
}

static bool same_cell(const struct event_packer *packer, uint32_t a, uint32_t b)
{
	size_t nr_a, nr_b;
	const uint8_t *bytes_a, *bytes_b;

	if (packer->scratch->type[a] != packer->scratch->type[b])
		return false;
	bytes_a = cell_bytes(packer, a, &nr_a);
	bytes_b = cell_bytes(packer, b, &nr_b);
	return nr_a == nr_b && !memcmp(bytes_a, bytes_b, nr_a);
}

/* Numbers the distinct values; more than @max of them: returns max + 1, numbers incomplete. */
static uint32_t make_dict(struct event_packer *packer, uint32_t nr, uint32_t max)
{
	struct scratch *s = packer->scratch;
	uint32_t nr_entries = 0;

	memset(s->slot, 0, sizeof(s->slot));
	for (uint32_t i = 0; i < nr; i++) {
		size_t bytes;
		const uint8_t *cell = cell_bytes(packer, i, &bytes);
		uint32_t at = hash_bytes(s->type[i], cell, bytes) & (DICT_SLOTS - 1);

		while (s->slot[at] && !same_cell(packer, s->first[s->slot[at] - 1], i))
			at = (at + 1) & (DICT_SLOTS - 1);
		if (!s->slot[at]) {
			if (nr_entries == max)
				return max + 1;
			s->first[nr_entries++] = i;
			s->slot[at] = nr_entries;
		}
		s->number[i] = s->slot[at] - 1;
	}
	return nr_entries;
}

static int put_dict(struct event_packer *packer, struct out *out, uint32_t nr, uint32_t nr_entries)
{
	struct scratch *s = packer->scratch;

	for (uint32_t k = 0; k < nr_entries; k++) {
		size_t bytes;

		cell_bytes(packer, s->first[k], &bytes);
		s->low[k] = s->type[s->first[k]];
		s->high[k] = (uint32_t)bytes;
	}
	if (put_u32(out, nr_entries) || put_column(out, s, s->low, nr_entries) ||
	    put_column(out, s, s->high, nr_entries))
		return -ENOMEM;
	for (uint32_t k = 0; k < nr_entries; k++) {
		size_t bytes;
		const uint8_t *cell = cell_bytes(packer, s->first[k], &bytes);

		if (out_reserve(out, bytes))
			return -ENOMEM;
		memcpy(out->data + out->bytes, cell, bytes);
		out->bytes += bytes;
	}
	return put_column(out, s, s->number, nr);
}

static uint32_t bytes_of(uint64_t value)
{
	return value ? (71 - (uint32_t)__builtin_clzll(value)) / 8 : 0;
}

/* Fills raw and delta (a NULL repeats the value before it), and chooses what is smallest. */
static enum column_kind choose_int(struct event_packer *packer, uint32_t nr, uint32_t *nr_entries)
{
	struct scratch *s = packer->scratch;
	uint64_t last = 0, raw_bytes = 0, delta_bytes = 0, best;

	for (uint32_t i = 0; i < nr; i++) {
		uint64_t value = s->type[i] == VALUE_NULL ? last : s->bits[i];

		s->raw[i] = zigzag64(value);
		s->delta[i] = zigzag64(value - last);
		raw_bytes += bytes_of(s->raw[i]);
		delta_bytes += bytes_of(s->delta[i]);
		last = value;
	}
	best = raw_bytes <= delta_bytes ? raw_bytes : delta_bytes;
	if (best > 3ULL * nr) {		/* pointers? */
		*nr_entries = make_dict(packer, nr, nr / 8);
		if (*nr_entries <= nr / 8)
			return KIND_DICT;
	}
	return raw_bytes <= delta_bytes ? KIND_INT : KIND_DELTA;
}

static enum column_kind choose_kind(struct event_packer *packer, uint32_t nr, bool *has_nulls,
				    uint32_t *nr_entries)
{
	struct scratch *s = packer->scratch;
	uint32_t types = 0;

	for (uint32_t i = 0; i < nr; i++)
		types |= 1U << s->type[i];
	*has_nulls = types & 1U << VALUE_NULL;
	types &= ~(1U << VALUE_NULL);
	if (!types)
		return KIND_NONE;
	if (types == 1U << VALUE_INT)
		return choose_int(packer, nr, nr_entries);
	if (types == 1U << VALUE_REAL)
		return KIND_REAL;
	*nr_entries = make_dict(packer, nr, nr);
	return KIND_DICT;
}

static int put_reals(struct out *out, const uint64_t *bits, uint32_t nr)
{
	if (out_reserve(out, 8ULL * nr))
		return -ENOMEM;
	memcpy(out->data + out->bytes, bits, 8ULL * nr);
	out->bytes += 8ULL * nr;
	return 0;
}

static int put_field(struct event_packer *packer, struct out *out, int column)
{
	struct scratch *s = packer->scratch;
	const struct cells *cells = &packer->column[column];
	const uint32_t nr = packer->nr_rows;
	uint32_t nr_entries = 0;
	enum column_kind kind;
	bool has_nulls;

	for (uint32_t i = 0; i < nr; i++) {
		s->type[i] = cells->type[s->order[i]];
		s->bits[i] = s->type[i] == VALUE_NULL ? 0 : cells->bits[s->order[i]];
	}
	kind = choose_kind(packer, nr, &has_nulls, &nr_entries);
	if (put_byte(out, kind))
		return -ENOMEM;
	if (kind == KIND_NONE)
		return 0;
	if (put_nulls(out, s, nr, has_nulls))
		return -ENOMEM;
	switch (kind) {
	case KIND_INT:
		return put_halves(out, s, s->raw, nr);
	case KIND_DELTA:
		return put_halves(out, s, s->delta, nr);
	case KIND_REAL:
		return put_reals(out, s->bits, nr);
	default:
		return put_dict(packer, out, nr, nr_entries);
	}
}

static int put_fields(struct event_packer *packer, struct out *out)
{
	size_t lengths = 8;

	if (put_u32(out, packer->nr_rows) || put_u32(out, (uint32_t)packer->nr_columns))
		return -ENOMEM;
	for (int i = 0; i < packer->nr_columns; i++)
		if (put_u32(out, 0))
			return -ENOMEM;
	for (int i = 0; i < packer->nr_columns; i++) {
		const size_t start = out->bytes;

		if (put_field(packer, out, i))
			return -ENOMEM;
		store_u32(out->data + lengths + 4 * (size_t)i, (uint32_t)(out->bytes - start));
	}
	for (int i = 0; i < SVB_PAD; i++)
		if (put_byte(out, 0))
			return -ENOMEM;
	return 0;
}

int event_packer_take(struct event_packer *packer, struct event_chunk *chunk)
{
	const uint64_t *ts = packer->nr_columns ? packer->column[EVENT_COL_TS].bits : NULL;
	struct out out = { 0 };

	*chunk = (struct event_chunk){ 0 };
	if (!packer->nr_rows)
		return 0;
	sort_rows(packer);
	if (put_fields(packer, &out)) {
		free(out.data);
		return -ENOMEM;
	}
	*chunk = (struct event_chunk){
		.data = out.data,
		.data_bytes = out.bytes,
		.nr_events = packer->nr_rows,
		.first_ts_ns = ts[packer->scratch->order[0]],
		.last_ts_ns = ts[packer->scratch->order[packer->nr_rows - 1]],
	};
	event_packer_clear(packer);
	return 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

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
	    nr_columns < NR_EVENT_COLS || nr_columns > COLUMNS_MAX ||
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
