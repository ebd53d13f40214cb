// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * page_source.c - which tracepoint says what about pages. A new page event is one row here.
 *
 * Writes are taken from the file systems' events at the end of each copy, where pos and copied are
 * exact; the events at its start (ext4_da_write_begin) give what was asked for, which since large
 * folios can be more than one copy moves. xfs has one event per call, at its start. File systems
 * without such an event (btrfs) show writes only as dirtied and added folios.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/decode.h"

enum { RECLAIM_WB_ANON = 1, PAGEMAP_ANONYMOUS = 2 };

#define FILEMAP(event, o, ...) \
	{ .system = "filemap", .name = event, .op = o, .dev = "s_dev", .ino = "i_ino", \
	  .first = "index", __VA_ARGS__ }
#define PROBE(event, o, ...) \
	{ .system = PROBE_SYSTEM, .name = event, .op = o, .dev = "s_dev", .ino = "i_ino", \
	  __VA_ARGS__ }
#define WRITE_EVENT(sys, event, pos, bytes) \
	{ .system = sys, .name = event, .op = PAGE_OP_WRITE, .dev = "dev", .ino = "ino", \
	  .first = pos, .first_is_bytes = true, .nr_bytes = bytes }
#define DIRTY_EVENT(event) \
	{ .system = "writeback", .name = event, .op = PAGE_OP_DIRTY, .bdi = "name", .ino = "ino", \
	  .first = "index" }
#define WRITE_OUT_EVENT(event) \
	{ .system = "vmscan", .name = event, .op = PAGE_OP_WRITE_OUT, .pfn = "pfn", \
	  .flags = "reclaim_flags", .anon_flag = RECLAIM_WB_ANON }

static const struct page_source page_sources[] = {
	FILEMAP("mm_filemap_get_pages", PAGE_OP_READ, .last = "last_index"),
	FILEMAP("mm_filemap_fault", PAGE_OP_FAULT),
	FILEMAP("mm_filemap_map_pages", PAGE_OP_MAP, .last = "last_index"),
	PROBE("filemap_read", PAGE_OP_READ, .first = "pos", .first_is_bytes = true,
	      .nr_bytes = "count", .limit_bytes = "size", .event_flags = PAGE_EV_BEGIN),
	PROBE("filemap_fault", PAGE_OP_FAULT, .first = "index"),
	PROBE("filemap_map_pages", PAGE_OP_MAP, .first = "index", .last = "last_index"),
	FILEMAP("mm_filemap_add_to_page_cache", PAGE_OP_ADD, .pfn = "pfn", .order = "order"),
	FILEMAP("mm_filemap_delete_from_page_cache", PAGE_OP_DELETE, .pfn = "pfn",
		.order = "order"),
	DIRTY_EVENT("writeback_dirty_folio"),
	DIRTY_EVENT("writeback_dirty_page"),
	WRITE_EVENT("ext4", "ext4_da_write_end", "pos", "copied"),
	WRITE_EVENT("ext4", "ext4_write_end", "pos", "copied"),
	WRITE_EVENT("ext4", "ext4_journalled_write_end", "pos", "copied"),
	WRITE_EVENT("f2fs", "f2fs_write_end", "pos", "copied"),
	WRITE_EVENT("xfs", "xfs_file_buffered_write", "offset", "count"),
	{ .system = "pagemap", .name = "mm_lru_activate", .op = PAGE_OP_ACTIVATE, .pfn = "pfn" },
	{ .system = "pagemap", .name = "mm_lru_insertion", .op = PAGE_OP_INSERT, .pfn = "pfn",
	  .flags = "flags", .anon_flag = PAGEMAP_ANONYMOUS },
	{ .system = "exceptions", .name = "page_fault_user", .op = PAGE_OP_USER_FAULT,
	  .first = "address", .first_is_bytes = true },
	WRITE_OUT_EVENT("mm_vmscan_write_folio"),
	WRITE_OUT_EVENT("mm_vmscan_writepage"),
};

const struct page_source *page_source_find(const char *system, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(page_sources); i++)
		if (!strcmp(page_sources[i].name, name) && !strcmp(page_sources[i].system, system))
			return &page_sources[i];
	return NULL;
}

bool bdi_parse_dev(const char *text, size_t text_bytes, uint32_t *dev)
{
	uint32_t part[2] = { 0, 0 };
	size_t i = 0;

	for (int p = 0; p < 2; p++) {
		size_t start = i;

		for (; i < text_bytes && text[i] >= '0' && text[i] <= '9' && i < start + 7; i++)
			part[p] = part[p] * 10 + (uint32_t)(text[i] - '0');
		if (i == start || (p == 0 && (i == text_bytes || text[i++] != ':')))
			return false;
	}
	if (i < text_bytes && text[i])
		return false;
	*dev = part[0] << 20 | part[1];
	return true;
}

static bool get_number(page_field_get get, void *ctx, const char *field, uint64_t *value)
{
	const char *text = NULL;

	*value = 0;
	return !field || get(ctx, field, value, &text);
}

int page_source_fill(const struct page_source *s, page_field_get get, void *ctx,
		     struct page_raw *raw)
{
	uint64_t dev, ino, first, last, nr_bytes, limit_bytes, pfn, order, flags, unused;
	const char *bdi = NULL;

	if (!get_number(get, ctx, s->dev, &dev) || !get_number(get, ctx, s->ino, &ino) ||
	    !get_number(get, ctx, s->first, &first) || !get_number(get, ctx, s->last, &last) ||
	    !get_number(get, ctx, s->nr_bytes, &nr_bytes) ||
	    !get_number(get, ctx, s->limit_bytes, &limit_bytes))
		return -EBADMSG;
	if (s->bdi && (!get(ctx, s->bdi, &unused, &bdi) || !bdi))
		return -EBADMSG;
	get_number(get, ctx, s->pfn, &pfn);
	get_number(get, ctx, s->order, &order);
	get_number(get, ctx, s->flags, &flags);
	return page_raw_set(s, &(struct page_numbers){
		.dev = (uint32_t)dev, .ino = ino, .first = first, .last = last,
		.nr_bytes = nr_bytes, .limit_bytes = limit_bytes, .pfn = pfn,
		.order = (uint32_t)order, .flags = flags, .bdi = bdi,
		.bdi_bytes = bdi ? strlen(bdi) : 0 }, raw);
}
