/* SPDX-License-Identifier: GPL-2.0-or-later */
/* decode.h - from the numbers of a page tracepoint to a page event: shared by both ways of
 * decoding. */
#ifndef PAGEREEL_CAPTURE_DECODE_H
#define PAGEREEL_CAPTURE_DECODE_H

#include <string.h>

#include "capture/capture.h"

enum { MAX_FOLIO_ORDER = 20 };

/* What the fields said; absent ones are 0. */
struct page_numbers {
	uint64_t ino, first, last, nr_bytes, limit_bytes, pfn, flags;
	uint32_t dev, order;
	const char *bdi;
	size_t bdi_bytes;
};

static inline uint32_t clamp_pages(uint64_t pages)
{
	return pages > UINT32_MAX ? UINT32_MAX : (uint32_t)pages;
}

static inline void page_raw_set_bdi(const struct page_numbers *n, struct page_raw *raw)
{
	size_t bytes = strnlen(n->bdi, n->bdi_bytes);

	if (bdi_parse_dev(n->bdi, n->bdi_bytes, &raw->dev))
		return;
	if (bytes >= sizeof(raw->bdi))
		bytes = sizeof(raw->bdi) - 1;
	memcpy(raw->bdi, n->bdi, bytes);
	raw->bdi[bytes] = '\0';
}

/* 1: filled (pid, ts_ns and file_id are the caller's); 0: says nothing. */
static inline int page_raw_set(const struct page_source *s, const struct page_numbers *n,
			       struct page_raw *raw)
{
	struct page_event *e = &raw->event;

	e->op = (uint8_t)s->op;
	e->flags = s->event_flags | (n->flags & s->anon_flag ? PAGE_EV_ANON : 0);
	e->pfn = n->pfn;
	e->page_index = s->first_is_bytes ? n->first >> PAGE_BITS : n->first;
	e->pages = 1;
	raw->dev = n->dev;
	raw->ino = n->ino;
	raw->bdi[0] = '\0';
	if (s->last) {
		e->pages = n->last >= n->first ? clamp_pages(n->last - n->first + 1) : 1;
	} else if (s->nr_bytes) {
		uint64_t end = n->first + n->nr_bytes;

		if (s->limit_bytes && end > n->limit_bytes)
			end = n->limit_bytes;
		if (!n->nr_bytes || end <= n->first)
			return 0;
		e->pages = clamp_pages(((end - 1) >> PAGE_BITS) - e->page_index + 1);
		if (s->op == PAGE_OP_WRITE && !((n->first | end) & (PAGE_BYTES - 1)))
			e->flags |= PAGE_EV_WHOLE;
	} else if (s->order) {
		e->pages = 1u << (n->order < MAX_FOLIO_ORDER ? n->order : MAX_FOLIO_ORDER);
	}
	if (s->bdi)
		page_raw_set_bdi(n, raw);
	return 1;
}

#endif
