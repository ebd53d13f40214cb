// SPDX-License-Identifier: GPL-2.0-or-later
/* sample.c - thinning a demand stream by page (sample.h has the idea). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "replay/sample.h"

static size_t sample_plain(const struct sample_filter *filter, const uint32_t *pages, size_t nr,
			   uint32_t *out)
{
	size_t nr_out = 0;

	for (size_t i = 0; i < nr; i++) {
		uint32_t page = pages[i];

		out[nr_out] = page;
		nr_out += sample_has(filter, page);
	}
	return nr_out;
}

#if defined(__x86_64__)
/* Which of eight pages are in the sample, a bit each; @last: the largest hash that is. */
static inline __attribute__((always_inline, target("avx2"))) uint32_t
sample_eight(const uint32_t *pages, __m256i salt, __m256i last)
{
	__m256i h = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)pages), salt);

	h = _mm256_xor_si256(h, _mm256_srli_epi32(h, 16));
	h = _mm256_mullo_epi32(h, _mm256_set1_epi32((int)SAMPLE_HASH_FIRST));
	h = _mm256_xor_si256(h, _mm256_srli_epi32(h, 13));
	h = _mm256_mullo_epi32(h, _mm256_set1_epi32((int)SAMPLE_HASH_SECOND));
	h = _mm256_xor_si256(h, _mm256_srli_epi32(h, 16));
	h = _mm256_cmpeq_epi32(_mm256_min_epu32(h, last), h);
	return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(h));
}

/* Few are: 32 pages at a time, of which most have none. */
static __attribute__((target("avx2"))) size_t
sample_avx2(const struct sample_filter *filter, const uint32_t *pages, size_t nr, uint32_t *out)
{
	const __m256i salt = _mm256_set1_epi32((int)filter->salt);
	const __m256i last = _mm256_set1_epi32((int)(filter->threshold - 1));
	size_t nr_out = 0, i = 0;

	for (; i + 32 <= nr; i += 32) {
		uint32_t in = sample_eight(pages + i, salt, last) |
			      sample_eight(pages + i + 8, salt, last) << 8 |
			      sample_eight(pages + i + 16, salt, last) << 16 |
			      sample_eight(pages + i + 24, salt, last) << 24;

		for (; in; in &= in - 1)
			out[nr_out++] = pages[i + (uint32_t)__builtin_ctz(in)];
	}
	return nr_out + sample_plain(filter, pages + i, nr - i, out + nr_out);
}
#endif

size_t sample_pages(const struct sample_filter *filter, const uint32_t *pages, size_t nr,
		    uint32_t *out)
{
#if defined(__x86_64__)
	if (!filter->plain_c && filter->threshold && __builtin_cpu_supports("avx2"))
		return sample_avx2(filter, pages, nr, out);
#endif
	return sample_plain(filter, pages, nr, out);
}

void sampled_stream_release(struct sampled_stream *s)
{
	free(s->pages);
	free(s->removals);
	free(s->group_of);
	memset(s, 0, sizeof(*s));
}

/* Room for @more entries of @entry_bytes; the array doubles. */
static int grow(void *array, size_t *max, size_t nr, size_t more, size_t entry_bytes)
{
	size_t want = *max ? *max : 4096;
	void *grown;

	while (want < nr + more)
		want *= 2;
	if (want == *max)
		return 0;
	grown = realloc(*(void **)array, want * entry_bytes);
	if (!grown)
		return -ENOMEM;
	*(void **)array = grown;
	*max = want;
	return 0;
}

static int add_accesses(struct sampled_stream *s, const struct sample_filter *filter,
			const uint32_t *pages, size_t nr)
{
	if (grow(&s->pages, &s->max, s->nr, nr + 8, sizeof(*s->pages)))
		return -ENOMEM;
	s->nr += sample_pages(filter, pages, nr, s->pages + s->nr);
	s->nr_accesses += nr;
	return 0;
}

static int add_removals(struct sampled_stream *s, const struct sample_filter *filter,
			const struct mark *mark)
{
	for (uint32_t page = mark->page; page < mark->page + mark->nr; page++) {
		if (!sample_has(filter, page))
			continue;
		if (grow(&s->removals, &s->max_removals, s->nr_removals, 1, sizeof(*s->removals)))
			return -ENOMEM;
		s->removals[s->nr_removals++] = (struct sampled_op){ s->nr, page };
	}
	return 0;
}

static int add_part(struct sampled_stream *s, const struct sample_filter *filter,
		    const struct part *part)
{
	uint32_t at = 0;
	int ret = 0;

	for (uint32_t i = 0; i < part->nr_marks && !ret; i++) {
		const struct mark *mark = &part->marks[i];

		if (mark->kind != MARK_REMOVE)
			continue;
		ret = add_accesses(s, filter, part->pages + at, mark->at - at);
		at = mark->at;
		if (!ret)
			ret = add_removals(s, filter, mark);
	}
	return ret ? ret : add_accesses(s, filter, part->pages + at, part->nr - at);
}

/* Dense numbers; a removal of a page never accessed is dropped. */
static int renumber_pages(struct sampled_stream *s, const struct sample_filter *filter,
			  uint32_t nr_ids)
{
	uint32_t *number = malloc(4 * ((size_t)nr_ids + 1));
	size_t kept = 0, max_groups = 0;
	int ret = number ? 0 : -ENOMEM;

	if (number)
		memset(number, 0xff, 4 * (size_t)nr_ids);
	for (size_t i = 0; i < s->nr && !ret; i++) {
		uint32_t page = s->pages[i];

		if (number[page] == UINT32_MAX) {
			ret = grow(&s->group_of, &max_groups, s->nr_pages, 1, 1);
			if (ret)
				break;
			s->group_of[s->nr_pages] = sample_group(page, filter->salt);
			number[page] = s->nr_pages++;
		}
		s->pages[i] = number[page];
	}
	for (size_t i = 0; i < s->nr_removals && !ret; i++)
		if (number[s->removals[i].page] != UINT32_MAX)
			s->removals[kept++] = (struct sampled_op){
				s->removals[i].at, number[s->removals[i].page] };
	s->nr_removals = kept;
	free(number);
	return ret;
}

int sample_stream(const struct demand_source *source, const struct sample_filter *filter,
		  const struct curve_opts *opts, struct sampled_stream *s, struct err *err)
{
	struct part_reader *reader = NULL;
	struct part part = { 0 };
	int ret;

	memset(s, 0, sizeof(*s));
	ret = part_reader_open(source, NULL, 0, &reader, err);
	while (!ret) {
		ret = part_reader_next(reader, &part, err);
		if (ret <= 0)
			break;
		ret = add_part(s, filter, &part);
		if (!ret && opts->go_on && !opts->go_on(opts->ctx))
			ret = -ECANCELED;
	}
	part_reader_close(reader);
	part_release(&part);
	if (!ret)
		ret = renumber_pages(s, filter, source->nr_ids);
	if (ret)
		sampled_stream_release(s);
	return ret == -ENOMEM ? err_set(err, ret, "no memory for the sample") : ret;
}
