// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * svb_codec_simd.c - StreamVByte decoded four values at a time. Distributions build libstreamvbyte
 * for the least of processors, some without optimization: 5 ns a value, and reading must take less.
 *
 * A control byte says how many bytes each of four values has. A table by control byte says where
 * each byte of the four goes, and how many there are (Lemire, Kurz, Rupp, Stream VByte: faster
 * byte-oriented integer compression, Information Processing Letters 130, 2018).
 */
#include "schema/svb.h"

#if defined(__x86_64__)
#include <immintrin.h>

/* Bytes of value @j under control byte @c, and where they begin; zero mode: 0, 1, 2 or 4 bytes. */
#define CODE(c, j) ((c) >> 2 * (j) & 3)
#define LENGTH(z, c, j) ((z) ? CODE(c, j) + (CODE(c, j) == 3) : CODE(c, j) + 1)
#define BEGIN(z, c, j) (((j) > 0 ? LENGTH(z, c, 0) : 0) + ((j) > 1 ? LENGTH(z, c, 1) : 0) + \
			((j) > 2 ? LENGTH(z, c, 2) : 0))
#define FROM(z, c, j, k) ((k) < LENGTH(z, c, j) ? BEGIN(z, c, j) + (k) : 0x80)
#define VALUE(z, c, j) FROM(z, c, j, 0), FROM(z, c, j, 1), FROM(z, c, j, 2), FROM(z, c, j, 3)
#define ENTRY(z, c) { { VALUE(z, c, 0), VALUE(z, c, 1), VALUE(z, c, 2), VALUE(z, c, 3) }, \
		      BEGIN(z, c, 3) + LENGTH(z, c, 3) }
#define ENTRIES4(z, c) ENTRY(z, c), ENTRY(z, (c) + 1), ENTRY(z, (c) + 2), ENTRY(z, (c) + 3)
#define ENTRIES16(z, c) ENTRIES4(z, c), ENTRIES4(z, (c) + 4), ENTRIES4(z, (c) + 8), \
			ENTRIES4(z, (c) + 12)
#define ENTRIES64(z, c) ENTRIES16(z, c), ENTRIES16(z, (c) + 16), ENTRIES16(z, (c) + 32), \
			ENTRIES16(z, (c) + 48)
#define ENTRIES256(z) { ENTRIES64(z, 0), ENTRIES64(z, 64), ENTRIES64(z, 128), ENTRIES64(z, 192) }

struct svb_entry {
	uint8_t from[16];
	uint8_t nr_bytes;
};

static const struct svb_entry entries[2][256] = { ENTRIES256(0), ENTRIES256(1) };

static __attribute__((target("ssse3"))) void decode_ssse3(const uint8_t *in, uint32_t *values,
							  uint32_t nr, bool zero_mode)
{
	const struct svb_entry *const table = entries[zero_mode];
	const uint8_t *data = in + ((size_t)nr + 3) / 4;

	for (uint32_t i = 0; i < nr; i += 4) {
		const struct svb_entry *entry = &table[in[i / 4]];
		__m128i from = _mm_loadu_si128((const __m128i *)entry->from);
		__m128i four = _mm_loadu_si128((const __m128i *)data);

		_mm_storeu_si128((__m128i *)(values + i), _mm_shuffle_epi8(four, from));
		data += entry->nr_bytes;
	}
}
#endif

bool svb_decode_simd(const uint8_t *in, uint32_t *values, uint32_t nr, bool zero_mode)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("ssse3")) {
		decode_ssse3(in, values, nr, zero_mode);
		return true;
	}
#endif
	return false;
}
