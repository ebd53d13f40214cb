// SPDX-License-Identifier: GPL-2.0-or-later
/* svb_codec.c - columns of u32, each in the mode that takes the fewest bytes; every length checked.
 */
#include <errno.h>
#include <streamvbyte.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "schema/svb.h"

enum { SAMPLE_FROM = 2048, SAMPLE_STEP = 256 };

/* What decides the mode. */
struct column_stats {
	uint32_t differs;	/* 0: all are equal to the first */
	uint32_t any;		/* the or of all */
	uint32_t nr_above_0, nr_above_8, nr_above_16, nr_above_24;	/* bits */
};

static void column_count(struct column_stats *s, const uint32_t *values, uint32_t nr)
{
	uint32_t above_0 = 0, above_8 = 0, above_16 = 0, above_24 = 0;

	for (uint32_t i = 0; i < nr; i++) {
		uint32_t v = values[i];

		above_0 += v != 0;
		above_8 += v > 0xff;
		above_16 += v > 0xffff;
		above_24 += v > 0xffffff;
	}
	s->nr_above_0 += above_0;
	s->nr_above_8 += above_8;
	s->nr_above_16 += above_16;
	s->nr_above_24 += above_24;
}

/* Looks at all for what must be certain; counts a quarter of a long column and takes it for all. */
static struct column_stats column_look(const uint32_t *values, uint32_t nr)
{
	uint32_t differs = 0, any = 0;
	struct column_stats s = { 0 };

	for (uint32_t i = 0; i < nr; i++) {
		differs |= values[i] ^ values[0];
		any |= values[i];
	}
	s.differs = differs;
	s.any = any;
	if (!differs)
		return s;
	if (nr < SAMPLE_FROM) {
		column_count(&s, values, nr);
		return s;
	}
	for (uint32_t i = 0; i + SAMPLE_STEP <= nr; i += SAMPLE_STEP)
		column_count(&s, values + i, SAMPLE_STEP / 4);
	s.nr_above_0 *= 4;
	s.nr_above_8 *= 4;
	s.nr_above_16 *= 4;
	s.nr_above_24 *= 4;
	return s;
}

static const enum column_mode fixed_modes[] = {
	[1] = COLUMN_BYTES, [2] = COLUMN_WORDS, [3] = COLUMN_TRIPLES, [4] = COLUMN_QUADS,
};

static enum column_mode column_choose(const struct column_stats *s, uint32_t nr)
{
	uint32_t control = (nr + 3) / 4, above = s->nr_above_8 + s->nr_above_16;
	uint32_t svb = control + nr + above + s->nr_above_24;
	uint32_t svb0 = control + s->nr_above_0 + above + s->nr_above_16;
	/* a gap takes 1.25 bytes, 2.25 if the column has very few values */
	uint64_t sparse = 8 + 2 * (uint64_t)s->nr_above_0 + s->nr_above_0 / 2 + above +
			  s->nr_above_24 + (s->nr_above_0 < nr / 256 ? s->nr_above_0 : 0);
	enum column_mode mode = svb0 < svb ? COLUMN_SVB0 : COLUMN_SVB;
	uint64_t best = svb0 < svb ? svb0 : svb;
	uint64_t width = s->any > 0xffffff ? 4 : s->any > 0xffff ? 3 : s->any > 0xff ? 2 : 1;

	if (!s->differs)
		return COLUMN_CONST;
	if (width * nr <= best + best / 32) {	/* fixed widths are the fastest to read */
		mode = fixed_modes[width];
		best = width * nr;
	}
	return sparse < best ? COLUMN_SPARSE : mode;
}

/* NULL: there are more values than were thought, too many to be sparse. */
static uint8_t *sparse_encode(uint8_t *out, const uint32_t *values, uint32_t nr, uint32_t *scratch)
{
	uint32_t *gaps = scratch, *kept = scratch + nr, k = 0, from = 0;

	for (uint32_t i = 0; i < nr; i++) {
		if (!values[i])
			continue;
		gaps[k] = i - from;
		kept[k++] = values[i];
		from = i + 1;
	}
	if (k > nr / 3)
		return NULL;
	out = store_u32(out, k);
	out += streamvbyte_encode(gaps, k, out);
	return out + streamvbyte_encode(kept, k, out);
}

/* Each value is stored whole and the next one over its upper bytes. */
static inline uint8_t *fixed_encode(uint8_t *out, const uint32_t *values, uint32_t nr, size_t width)
{
	for (uint32_t i = 0; i < nr; i++)
		store_u32(out + width * i, values[i]);
	return out + width * nr;
}

uint8_t *column_encode(uint8_t *out, const uint32_t *values, uint32_t nr, uint32_t any,
		       uint32_t *scratch)
{
	struct column_stats stats;
	enum column_mode mode = COLUMN_ZERO;
	uint8_t *end;

	if (any) {
		stats = column_look(values, nr);
		if (stats.any)
			mode = column_choose(&stats, nr);
	}
	if (mode == COLUMN_SPARSE) {
		end = sparse_encode(out + 1, values, nr, scratch);
		if (end) {
			*out = mode;
			return end;
		}
		mode = COLUMN_SVB0;
	}
	*out++ = mode;
	switch (mode) {
	case COLUMN_CONST:
		return store_u32(out, values[0]);
	case COLUMN_BYTES:
		return fixed_encode(out, values, nr, 1);
	case COLUMN_WORDS:
		return fixed_encode(out, values, nr, 2);
	case COLUMN_TRIPLES:
		return fixed_encode(out, values, nr, 3);
	case COLUMN_QUADS:
		return fixed_encode(out, values, nr, 4);
	case COLUMN_SVB:
		return out + streamvbyte_encode(values, nr, out);
	case COLUMN_SVB0:
		return out + streamvbyte_encode_0124(values, nr, out);
	default:
		return out;
	}
}

/* The bytes of the four values of a control byte; with zero_mode code 0 takes none, 3 takes 4. */
static uint32_t control_bytes(uint8_t control, uint32_t nr, bool zero_mode)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < nr; i++, control >>= 2) {
		uint32_t code = control & 3;

		sum += zero_mode ? code + (code == 3) : code + 1;
	}
	return sum;
}

/*
 * Eight control bytes at a time: the codes are summed as 2-bit, then 4-bit, then 8-bit fields of
 * one word. In zero mode a code of 3 (both bits set) counts one more.
 */
static uint64_t control_word_sum(uint64_t word, bool zero_mode)
{
	const uint64_t ones = 0x5555555555555555ULL;
	uint64_t low = word & ones, high = word >> 1 & ones;
	uint64_t sum = __builtin_popcountll(low) + 2ULL * __builtin_popcountll(high);

	return zero_mode ? sum + __builtin_popcountll(low & high) : sum + 32;
}

size_t svb_bytes(const uint8_t *in, size_t left_bytes, uint32_t nr, bool zero_mode)
{
	size_t nr_control = ((size_t)nr + 3) / 4, full = nr / 4, i = 0;
	uint64_t sum = 0;

	if (nr_control > left_bytes)
		return 0;
	for (; i + 8 <= full; i += 8)
		sum += control_word_sum(load_u64(in + i), zero_mode);
	for (; i < full; i++)
		sum += control_bytes(in[i], 4, zero_mode);
	if (nr % 4)
		sum += control_bytes(in[full], nr % 4, zero_mode);
	return nr_control + sum <= left_bytes ? nr_control + sum : 0;
}

static int svb_decode(struct byte_reader *in, uint32_t *values, uint32_t nr, bool zero_mode)
{
	size_t used_bytes = svb_bytes(in->at, bytes_left(in), nr, zero_mode);

	if (!used_bytes)
		return nr ? -EBADMSG : 0;
	if (svb_decode_simd(in->at, values, nr, zero_mode))
		;
	else if (zero_mode)
		streamvbyte_decode_0124(in->at, values, nr);
	else
		streamvbyte_decode(in->at, values, nr);
	in->at += used_bytes;
	return 0;
}

static int sparse_decode(struct byte_reader *in, uint32_t *values, uint32_t nr, uint32_t *scratch)
{
	uint32_t *gaps = scratch, *kept = scratch + nr + SVB_PAD_VALUES, k;
	uint64_t at = 0;

	if (bytes_left(in) < 4)
		return -EBADMSG;
	k = load_u32(in->at);
	in->at += 4;
	if (k > nr || svb_decode(in, gaps, k, false) || svb_decode(in, kept, k, false))
		return -EBADMSG;
	memset(values, 0, sizeof(*values) * nr);
	for (uint32_t i = 0; i < k; i++) {
		at += gaps[i];
		if (at >= nr)
			return -EBADMSG;
		values[at++] = kept[i];
	}
	return 0;
}

static inline void fixed_load(const uint8_t *p, uint32_t *values, uint32_t nr, size_t width)
{
	uint32_t mask = UINT32_MAX >> (32 - 8 * width);

	for (uint32_t i = 0; i < nr; i++)
		values[i] = load_u32(p + width * i) & mask;	/* past the end: into the pad */
}

#if defined(__x86_64__)
/* Eight values at a time. The loads end 4 bytes behind them: into the pad. */
static __attribute__((target("avx2"))) void triples_load_avx2(const uint8_t *p, uint32_t *values,
							      uint32_t nr)
{
	const __m256i spread = _mm256_setr_epi8(
		0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1,
		0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1);
	uint32_t i = 0;

	for (; i + 8 <= nr; i += 8, p += 24) {
		__m128i low = _mm_loadu_si128((const __m128i *)p);
		__m128i high = _mm_loadu_si128((const __m128i *)(p + 12));
		__m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);

		_mm256_storeu_si256((__m256i *)(values + i), _mm256_shuffle_epi8(both, spread));
	}
	fixed_load(p, values + i, nr - i, 3);
}
#endif

static void triples_load(const uint8_t *p, uint32_t *values, uint32_t nr)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2")) {
		triples_load_avx2(p, values, nr);
		return;
	}
#endif
	fixed_load(p, values, nr, 3);
}

static int fixed_decode(struct byte_reader *in, uint32_t *values, uint32_t nr, size_t width)
{
	if (bytes_left(in) / width < nr)
		return -EBADMSG;
	switch (width) {
	case 1:
		fixed_load(in->at, values, nr, 1);
		break;
	case 2:
		fixed_load(in->at, values, nr, 2);
		break;
	case 3:
		triples_load(in->at, values, nr);
		break;
	default:
		fixed_load(in->at, values, nr, 4);
	}
	in->at += width * nr;
	return 0;
}

static int const_decode(struct byte_reader *in, uint32_t *values, uint32_t nr)
{
	uint32_t value;

	if (bytes_left(in) < 4)
		return -EBADMSG;
	value = load_u32(in->at);
	in->at += 4;
	for (uint32_t i = 0; i < nr; i++)
		values[i] = value;
	return 0;
}

int column_decode(struct byte_reader *in, uint32_t *values, uint32_t nr, uint32_t *scratch,
		  bool *zero)
{
	enum column_mode mode;

	if (!bytes_left(in))
		return -EBADMSG;
	mode = *in->at++;
	if (zero)
		*zero = mode == COLUMN_ZERO;
	switch (mode) {
	case COLUMN_ZERO:
		if (!zero)
			memset(values, 0, sizeof(*values) * nr);
		return 0;
	case COLUMN_CONST:
		return const_decode(in, values, nr);
	case COLUMN_BYTES:
		return fixed_decode(in, values, nr, 1);
	case COLUMN_WORDS:
		return fixed_decode(in, values, nr, 2);
	case COLUMN_TRIPLES:
		return fixed_decode(in, values, nr, 3);
	case COLUMN_QUADS:
		return fixed_decode(in, values, nr, 4);
	case COLUMN_SVB:
		return svb_decode(in, values, nr, false);
	case COLUMN_SVB0:
		return svb_decode(in, values, nr, true);
	case COLUMN_SPARSE:
		return sparse_decode(in, values, nr, scratch);
	default:
		return -EBADMSG;
	}
}
