// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * event_codec.c - rows of any event, packed.
 *
 * Problem: an event of a million a second costs too much as rows (0.5 us and some 40 bytes each),
 * but its fields are known only when its format is read. Idea: keep up to 8192 rows as columns and
 * write each column in the way that suits what it happens to hold:
 *
 *   none    all NULL: nothing is written
 *   int     64-bit integers, zigzag, as two columns of u32 (low and high halves; svb.h)
 *   delta   the same of the differences from row to row: times, counters, neighbouring page numbers
 *   real    8 bytes each
 *   dict    the distinct values once, in order of appearance, and a column of their numbers:
 *           strings, blobs, pointers of a few objects, and columns that mix types
 *
 * NULLs inside int, delta, real and dict are a bit each. Chunk:
 *
 *   u32 nr_rows, u32 nr_columns, nr_columns x u32 bytes, the columns, SVB_PAD zero bytes
 *   column: u8 kind, u8 has_nulls, [column of (nr_rows + 31) / 32 words], then by kind
 *     int, delta: column low, column high     real: nr_rows x 8
 *     dict: u32 nr_entries, column types, column lengths, their bytes, column of numbers
 *
 * Columns are found through their lengths, so a reader decodes only those that a query wants.
 * The decoder (event_codec_read.c) trusts nothing: nr_rows is compared with the table's column,
 * every length is checked against what is left, every number against the dictionary.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/event_codec.h"
#include "schema/svb.h"

enum {
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
	struct cells column[EVENT_COLUMNS_MAX];
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
	if (nr_columns > EVENT_COLUMNS_MAX)
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
