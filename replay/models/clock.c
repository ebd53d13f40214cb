// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * clock.c - second chance: fifo on a ring whose hand spares, once, the pages used since it last
 * came by.
 *
 * Source: Corbato, A paging experiment with the MULTICS system, 1968. Boundaries left open there:
 * a page comes in with its use bit clear (as in most simulators; the paper's hardware would have
 * set it on the first use: fill_used=1), and the hand points at the frame after the one filled
 * last. A frame that truncation emptied is filled before any page is evicted, the latest one first.
 *
 * The use bits are a bitmap over frames, so the hand passes up to 64 spared frames a step. Victims
 * need their page's frame number cleared; the hand prefetches those it will reach next.
 */
#include <errno.h>
#include <string.h>

#include "replay/models/slots.h"

enum {
	HAND_AHEAD = 8,
	HAND_ROOM = 64 + HAND_AHEAD + 1,	/* past the end, to look at and to drop in */
	CLOCK_AHEAD = 24,
};

struct clock_params {
	bool fill_used;
};

struct model {
	uint32_t *frame_of;	/* page -> frame + 1; 0: not resident */
	uint32_t *page_in;	/* frame -> page; while empty: next empty frame + 1 */
	uint64_t *used;		/* bit per frame */
	uint32_t nr_frames;	/* the capacity */
	uint32_t nr_allocated;	/* frames with memory behind them */
	uint32_t nr_filled;	/* frames ever filled */
	uint32_t hand;
	uint32_t empty;		/* frame + 1 emptied by remove(); 0: none */
	bool fill_used;
	uint32_t nr_resident;
	uint64_t nr_accesses, nr_misses, nr_evictions, nr_rotated, metadata_bytes;
};

static void clock_destroy(struct model *m)
{
	if (!m)
		return;
	free(m->frame_of);
	free(m->page_in);
	free(m->used);
	free(m);
}

static struct model *clock_create(const struct model_config *config, int *code, struct err *err)
{
	const struct clock_params *params = config->params;
	uint32_t nr = model_capacity_clamped(config);
	struct model *m = calloc(1, sizeof(*m));

	if (m) {
		m->nr_frames = nr;
		m->fill_used = params->fill_used;
		m->frame_of = model_alloc(4ULL * config->nr_ids);
		m->page_in = model_alloc(4ULL * (nr + HAND_ROOM));
		m->used = model_alloc(nr / 8 + 16);
		m->metadata_bytes = sizeof(*m) + 4ULL * config->nr_ids + 4ULL * nr + nr / 8;
	}
	if (!m || !m->frame_of || !m->page_in || !m->used) {
		clock_destroy(m);
		*code = err_set(err, -ENOMEM, "no memory for clock of %u pages", nr);
		return NULL;
	}
	return m;
}

/* The first unused frame from the hand on, clearing the use bits of those passed. */
static inline uint32_t hand_stop(struct model *m)
{
	uint32_t at = m->hand;

	for (;;) {
		uint32_t shift = at & 63, left = 64 - shift, spared;
		uint64_t word = m->used[at >> 6], unused = ~word >> shift;

		if (left > m->nr_frames - at)
			left = m->nr_frames - at;
		spared = unused ? (uint32_t)__builtin_ctzll(unused) : 64;
		if (spared > left)
			spared = left;
		if (spared)
			m->used[at >> 6] = word & ~((~0ULL >> (64 - spared)) << shift);
		m->nr_rotated += spared;
		at += spared;
		if (at == m->nr_frames)
			at = 0;
		if (spared < left)
			return at;
	}
}

static inline uint32_t frame_take(struct model *m)
{
	uint32_t frame;

	if (m->empty) {
		frame = m->empty - 1;
		m->empty = m->page_in[frame];
		m->nr_resident++;
	} else if (m->nr_filled < m->nr_frames) {
		frame = m->nr_filled++;
		m->nr_resident++;
	} else {
		frame = hand_stop(m);
		m->frame_of[m->page_in[frame]] = 0;
		__builtin_prefetch(&m->frame_of[m->page_in[frame + HAND_AHEAD]], 1);
		m->hand = frame + 1 == m->nr_frames ? 0 : frame + 1;
		m->nr_evictions++;
	}
	return frame;
}

/*
 * A full ring: nothing branches on a hit, which is a coin toss to the processor. Where the hand
 * would stop is worked out for every access and taken on a miss; a hit goes through the same
 * stores without effect. The word of use bits that the hand is in stays in a register, @ahead has
 * the frames of it that are before the hand. Ends early at the first miss that finds none of them
 * unused.
 */
static size_t clock_run(struct model *m, const struct model_batch *batch, size_t i)
{
	const uint32_t nowhere = m->nr_frames + HAND_ROOM - 1, first = m->hand & ~63U;
	const uint32_t nr_left = m->nr_frames - first;
	const struct model_batch b = *batch;
	uint32_t *frame_of = m->frame_of, *page_in = m->page_in, nr_misses = 0, hand;
	const bool fill_used = m->fill_used;
	uint64_t *used = m->used, word = m->used[first >> 6], ahead = ~0ULL << (m->hand & 63);

	if (nr_left < 64)
		ahead &= (1ULL << nr_left) - 1;
	for (; i < b.nr; i++) {
		uint32_t page = b.pages[i], frame = frame_of[page], miss = !frame, set = !miss;
		uint64_t unused = ~word & ahead, passed;
		uint32_t stop = first + (uint32_t)__builtin_ctzll(unused | 1ULL << 63), at;

		slots_prefetch_at(frame_of, &b, i, CLOCK_AHEAD);
		if (__builtin_expect(miss & !unused, 0))
			break;
		if (b.hit)
			b.hit[i] = set;
		passed = (unused ^ (unused - 1)) & -(uint64_t)miss;
		word &= ~(passed & ahead);
		ahead &= ~passed;
		nr_misses += miss;
		at = mask_select(-miss, stop, frame - 1);
		set |= fill_used;
		bit_or(used, at, set);
		word |= (uint64_t)(set & ((at ^ first) < 64)) << (at & 63);
		__builtin_prefetch(&frame_of[page_in[stop + HAND_AHEAD]], 1);
		frame_of[mask_select(-miss, page_in[stop], page)] = 0;
		page_in[mask_select(-miss, stop, nowhere)] = page;
		frame_of[page] = at + 1;
	}
	m->used[first >> 6] = word;
	hand = first + (ahead ? (uint32_t)__builtin_ctzll(ahead) : nr_left < 64 ? nr_left : 64);
	m->nr_misses += nr_misses;
	m->nr_evictions += nr_misses;
	m->nr_rotated += hand - m->hand - nr_misses;
	m->hand = hand == m->nr_frames ? 0 : hand;
	return i;
}

static size_t clock_step(struct model *m, const struct model_batch *batch, size_t i)
{
	uint32_t page = batch->pages[i], frame = m->frame_of[page];

	slots_prefetch(m->frame_of, batch, i);
	if (batch->hit)
		batch->hit[i] = frame != 0;
	if (frame) {
		bit_set(m->used, frame - 1);
		return i + 1;
	}
	frame = frame_take(m);
	m->page_in[frame] = page;
	m->frame_of[page] = frame + 1;
	if (m->fill_used)
		bit_set(m->used, frame);
	m->nr_misses++;
	return i + 1;
}

static void clock_access(struct model *m, const struct model_batch *batch)
{
	for (size_t i = 0; i < batch->nr;) {
		if (m->nr_resident == m->nr_frames)
			i = clock_run(m, batch, i);
		if (i < batch->nr)
			i = clock_step(m, batch, i);
	}
	m->nr_accesses += batch->nr;
}

static void clock_remove(struct model *m, uint32_t page)
{
	uint32_t frame = m->frame_of[page];

	if (!frame)
		return;
	m->frame_of[page] = 0;
	bit_clear(m->used, frame - 1);
	m->page_in[frame - 1] = m->empty;
	m->empty = frame;
	m->nr_resident--;
}

static void clock_counters(const struct model *m, struct model_counters *out)
{
	*out = (struct model_counters){
		.hits = m->nr_accesses - m->nr_misses,
		.misses = m->nr_misses,
		.evictions = m->nr_evictions,
		.scanned = m->nr_evictions + m->nr_rotated,
		.rotated = m->nr_rotated,
		.activated = MODEL_COUNTER_NONE,
		.deactivated = MODEL_COUNTER_NONE,
		.ghost_hits = MODEL_COUNTER_NONE,
		.resident_pages = m->nr_resident,
		.metadata_bytes = m->metadata_bytes,
	};
}

static const struct param clock_params[] = {
	{ "fill_used", PARAM_BOOL, offsetof(struct clock_params, fill_used), "0", 0, 0, NULL,
	  "a page comes in with its use bit set", NULL },
	{ 0 },
};

const struct model_ops clock_ops = {
	.name = "clock",
	.title = "second chance: fifo that spares used pages once",
	.source = "Corbato 1968",
	.params = clock_params,
	.params_bytes = sizeof(struct clock_params),
	.create = clock_create,
	.access = clock_access,
	.remove = clock_remove,
	.counters = clock_counters,
	.destroy = clock_destroy,
};
