/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * subbuf.h - walks the events of a sub-buffer as read(2) gives it from trace_pipe_raw on this host.
 *
 * libtraceevent's kbuffer does the same for any byte order and word size behind five calls an
 * event, which is a third of what draining costs; imports use that. Here everything is inline. The
 * layout is told by events/header_page and events/header_event:
 *
 *	u64 time; long commit; data
 *	commit: bits 0-26 bytes of data, bit 30 a count of lost events follows the data, bit 31
 *	events were lost before this sub-buffer
 *	event: u32 (5 bits type_len, 27 bits time delta), then by type_len:
 *	   1..28  that many words of data
 *	   0      u32 bytes of data + 4, data padded to words
 *	   29     padding: u32 bytes to skip; time delta 0: the rest is unused
 *	   30     u32 more of the time delta (<< 27), no data
 *	   31     the same, as an absolute time of 59 bits
 */
#ifndef PAGEREEL_CAPTURE_SUBBUF_H
#define PAGEREEL_CAPTURE_SUBBUF_H

#include <string.h>

#include "base/base.h"

struct subbuf {
	const uint8_t *at, *end;	/* the next event, behind the last */
	uint64_t ts_ns;
	int64_t missed;		/* events lost before it; -1: some; 0: none */
};

static inline uint32_t subbuf_word(const uint8_t *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static inline void subbuf_open(struct subbuf *s, const void *page, size_t page_bytes)
{
	size_t head = sizeof(uint64_t) + sizeof(long), bytes;
	unsigned long commit, missed;

	memcpy(&s->ts_ns, page, sizeof(s->ts_ns));
	memcpy(&commit, (const uint8_t *)page + sizeof(s->ts_ns), sizeof(commit));
	bytes = commit & ((1ul << 27) - 1);
	if (bytes > page_bytes - head)
		bytes = page_bytes - head;
	s->at = (const uint8_t *)page + head;
	s->end = s->at + bytes;
	s->missed = commit & 1ul << 31 ? -1 : 0;
	if (s->missed && commit & 1ul << 30 && bytes + sizeof(missed) <= page_bytes - head) {
		memcpy(&missed, s->end, sizeof(missed));
		s->missed = (int64_t)missed;
	}
}

/* The next event's data, *bytes and its time in s->ts_ns; NULL: none is left (or it is damaged). */
static inline const uint8_t *subbuf_next(struct subbuf *s, uint32_t *bytes)
{
	while (s->end - s->at >= 8) {
		uint32_t head = subbuf_word(s->at), type = head & 31, more = subbuf_word(s->at + 4);
		uint64_t delta = head >> 5;
		const uint8_t *data = s->at + 4;

		if (type >= 1 && type <= 28) {
			s->ts_ns += delta;
			*bytes = type * 4;
		} else if (!type) {
			s->ts_ns += delta;
			data += 4;
			if (more < 4)
				break;
			*bytes = (more - 4 + 3) & ~3u;
		} else if (type == 29) {
			if (!delta || more > (size_t)(s->end - data))
				break;
			s->ts_ns += delta;
			s->at = data + more;
			continue;
		} else {
			delta += (uint64_t)more << 27;
			s->ts_ns = type == 30 ? s->ts_ns + delta :
				   delta | (s->ts_ns & 0xf8ull << 56);
			s->at = data + 4;
			continue;
		}
		if (*bytes > (size_t)(s->end - data))
			break;
		s->at = data + *bytes;
		return data;
	}
	s->at = s->end;
	return NULL;
}

#endif
