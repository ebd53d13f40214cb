/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * event_codec.h - rows of any event as packed columns: what the store writes and vtab_event.c
 * reads.
 */
#ifndef PAGEREEL_SCHEMA_EVENT_CODEC_H
#define PAGEREEL_SCHEMA_EVENT_CODEC_H

#include "schema/schema.h"

enum {
	EVENT_CHUNK_ROWS = 8192,
	EVENT_CHUNK_TEXT_BYTES = 1 << 20,	/* of strings and blobs: a chunk ends early */
	EVENT_FIELDS_MAX = 256,
};

/* Stored columns before the event's fields. */
enum { EVENT_COL_TS, EVENT_COL_CPU, EVENT_COL_PID, NR_EVENT_COLS };

/* How a column is written (event_codec.c). On-disk format: append only. */
enum column_kind { KIND_NONE, KIND_INT, KIND_DELTA, KIND_REAL, KIND_DICT, NR_KINDS };
enum { EVENT_COLUMNS_MAX = NR_EVENT_COLS + EVENT_FIELDS_MAX };

/* ---- writing --------------------------------------------------------------------------------- */

/* Collects rows as columns. Not thread-safe. */
struct event_packer;

struct event_packer *event_packer_new(void);
void event_packer_free(struct event_packer *packer);

/*
 * Adds a row; value i is of field @field[i], fields that are not named are NULL. Strings are
 * copied. @cpu < 0: NULL. 1: full, take it before the next row; 0; -ENOMEM; -E2BIG: too many
 * fields.
 */
int event_packer_add(struct event_packer *packer, uint64_t ts_ns, int cpu, struct value pid,
		     const struct value *values, const int *field, int nr_values);
uint32_t event_packer_rows(const struct event_packer *packer);
void event_packer_clear(struct event_packer *packer);

struct event_chunk {
	uint8_t *data;		/* malloc; NULL: there were no rows */
	size_t data_bytes;
	uint32_t nr_events;
	uint64_t first_ts_ns, last_ts_ns;
};

/* Encodes the rows, by (ts, cpu, order of arrival), and empties the packer. 0 or -ENOMEM. */
int event_packer_take(struct event_packer *packer, struct event_chunk *chunk);

/* ---- reading --------------------------------------------------------------------------------- */

/* A chunk's columns, each decoded when first asked for. */
struct event_block;

/*
 * Copies @data. The number of rows must be @nr_rows. NULL and *code -EBADMSG when damaged (every
 * length is checked before it is used) or -ENOMEM.
 */
struct event_block *event_block_open(const void *data, size_t data_bytes, uint64_t nr_rows,
				     int *code);
void event_block_free(struct event_block *block);
uint32_t event_block_rows(const struct event_block *block);

/* The value at @row (below the number of rows) of @column (NR_EVENT_COLS + field); a column that
 * the chunk does not have is NULL. Text is valid as long as the block, without a NUL behind. 0 or
 * -errno. */
int event_block_value(struct event_block *block, int column, uint32_t row, struct value *value);

#endif
