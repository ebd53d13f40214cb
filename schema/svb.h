/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * svb.h - checked StreamVByte, and columns of u32 built on it: what page chunks and demand chunks
 * share. Internal to schema/.
 *
 * libstreamvbyte trusts its input and, at the end, loads and stores whole vectors. So:
 *   - the bytes that a column needs are summed from its control bytes before it is decoded;
 *   - every chunk ends with SVB_PAD zero bytes, so that a load past a column's end stays inside;
 *   - every output array has SVB_PAD_VALUES values of room behind its end.
 */
#ifndef PAGEREEL_SVB_H
#define PAGEREEL_SVB_H

#include <string.h>

#include "base/base.h"

enum { SVB_PAD = 16, SVB_PAD_VALUES = 32 };

/* How a column of u32 is written. On-disk format: append only. */
enum column_mode {
	COLUMN_ZERO = 0,	/* nothing follows: all values are 0 */
	COLUMN_CONST,		/* u32: all values */
	COLUMN_BYTES,		/* nr x u8 */
	COLUMN_WORDS,		/* nr x u16 */
	COLUMN_SVB,		/* StreamVByte, 1 to 4 bytes a value */
	COLUMN_SVB0,		/* StreamVByte, 0, 1, 2 or 4 bytes a value */
	COLUMN_SPARSE,		/* u32 k, then k gaps and k values as COLUMN_SVB: the rest is 0 */
	COLUMN_TRIPLES,		/* nr x 3 bytes */
	COLUMN_QUADS,		/* nr x u32 */
	NR_COLUMN_MODES
};

/* A bounded input: what is left to read, without the trailing SVB_PAD. */
struct byte_reader {
	const uint8_t *at, *end;
};

static inline uint32_t load_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t load_u64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint8_t *store_u32(uint8_t *p, uint32_t v)
{
	memcpy(p, &v, sizeof(v));
	return p + sizeof(v);
}

static inline uint8_t *store_u64(uint8_t *p, uint64_t v)
{
	memcpy(p, &v, sizeof(v));
	return p + sizeof(v);
}

static inline size_t bytes_left(const struct byte_reader *in)
{
	return in->end - in->at;
}

static inline uint32_t zigzag32(uint32_t delta)
{
	return delta << 1 ^ (uint32_t)((int32_t)delta >> 31);
}

static inline uint32_t unzigzag32(uint32_t v)
{
	return v >> 1 ^ -(v & 1);
}

static inline uint64_t zigzag64(uint64_t delta)
{
	return delta << 1 ^ (uint64_t)((int64_t)delta >> 63);
}

static inline uint64_t unzigzag64(uint64_t v)
{
	return v >> 1 ^ -(v & 1);
}

/* The most that column_encode() writes for @nr values, overrun included. */
static inline size_t column_max_bytes(size_t nr)
{
	return 1 + (nr + 3) / 4 + 4 * nr + 2 * SVB_PAD + 8;
}

/*
 * Writes @nr values in the mode that takes the fewest bytes and returns the end. @any: 0 if
 * the caller knows that all are 0 (spares a pass). @scratch: room for 2 * nr values; its content is
 * lost.
 */
uint8_t *column_encode(uint8_t *out, const uint32_t *values, uint32_t nr, uint32_t any,
		       uint32_t *scratch);

/*
 * Reads @nr values into @values (room for nr + SVB_PAD_VALUES). @scratch as above, with
 * SVB_PAD_VALUES more for each half. *zero (nullable): all are 0 and @values was left alone. 0 or
 * -EBADMSG.
 */
int column_decode(struct byte_reader *in, uint32_t *values, uint32_t nr, uint32_t *scratch,
		  bool *zero);

/*
 * What streamvbyte_decode() does, or with @zero_mode streamvbyte_decode_0124(), if the processor
 * can; false: it cannot. The input was measured with svb_bytes() before.
 */
bool svb_decode_simd(const uint8_t *in, uint32_t *values, uint32_t nr, bool zero_mode);

/* Bytes that @nr values of StreamVByte take at @in, or 0 if they do not fit (@nr > 0). */
size_t svb_bytes(const uint8_t *in, size_t left_bytes, uint32_t nr, bool zero_mode);

#endif
