// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hints.c - how each file was read, from the record as a whole.
 *
 * POSIX_FADV_RANDOM is in no event, but it shows: a file of which many pages were asked for while
 * next to none (one in 1000) came in that nobody had asked for was read without readahead. A file
 * without any read(2) is metadata or was mapped; models do not know when its pages are wanted, so
 * they take its fills as they were recorded.
 *
 * In a file that is written, a dirty page which reclaim has met looks like the marker of a window
 * when it is read (PG_reclaim is PG_readahead), so a few windows (one page in 20) prove nothing.
 *
 * Likewise a mapping whose faults bring in nothing else has MADV_RANDOM.
 *
 * With fewer than FEW_PAGES distinct pages that may be chance: such a file is taken to be read as
 * files are by default. The other way round, a large file that was cached throughout shows no fills
 * either, and is taken for one read without readahead, wrongly where its pages would leave at a
 * smaller size.
 */
#include <errno.h>
#include <stdlib.h>

#include "replay/replay.h"

enum { FEW_PAGES = 64, STRAY_SHARE = 1000, WRITTEN_STRAY_SHARE = 20, HINT_BITS = 3 };

/* Of one file. */
struct seen {
	uint32_t file_id;
	uint64_t read_pages;		/* distinct */
	uint64_t ahead_pages;
	uint64_t fault_pages;
	bool written;
};

struct counting {
	const struct replay_extent *extents;
	size_t nr_extents, extent;
	uint32_t *hint;			/* page >> HINT_BITS -> the first extent to look at */
	struct seen *seen;		/* per extent, then per file */
	uint8_t *read;			/* bitmap of pages */
	uint32_t nr_ids;
};

static int init_hint(struct counting *c)
{
	size_t nr = ((size_t)c->nr_ids >> HINT_BITS) + 1, extent = 0;

	c->hint = calloc(nr, sizeof(*c->hint));
	if (!c->hint)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		while (extent + 1 < c->nr_extents &&
		       c->extents[extent + 1].first_id <= i << HINT_BITS)
			extent++;
		c->hint[i] = (uint32_t)extent;
	}
	return 0;
}

/* The last extent that begins at @page or before it. */
static struct seen *seen_at(struct counting *c, uint32_t page)
{
	size_t i = c->extent;

	if (page - c->extents[i].first_id < c->extents[i].pages)
		return &c->seen[i];
	i = c->hint[page >> HINT_BITS];
	while (i + 1 < c->nr_extents && c->extents[i + 1].first_id <= page)
		i++;
	c->extent = i;
	return &c->seen[i];
}

static void count_read(struct counting *c, uint32_t page, uint32_t run)
{
	struct seen *seen = seen_at(c, page);

	for (uint32_t end = page + run; page < end; page++) {
		uint8_t bit = (uint8_t)(1 << (page & 7));

		seen->read_pages += !(c->read[page >> 3] & bit);
		c->read[page >> 3] |= bit;
	}
}

static int count_block(struct counting *c, const struct demand_block *block, struct err *err)
{
	for (size_t i = 0; i < block->nr; i++) {
		uint32_t page = block->page[i], run = block->run ? block->run[i] : 1;
		enum demand_op op = block->op ? (enum demand_op)block->op[i] : DEMAND_READ;

		bool write = op == DEMAND_WRITE || op == DEMAND_WRITE_WHOLE;

		if (op != DEMAND_READ && op != DEMAND_READAHEAD && op != DEMAND_FAULT && !write)
			continue;
		if ((uint64_t)page + run > c->nr_ids)
			return err_set(err, -EBADMSG, "demand record wants page %llu of %u",
				       (unsigned long long)page + run - 1, c->nr_ids);
		if (op == DEMAND_READ)
			count_read(c, page, run);
		else if (write)
			seen_at(c, page)->written = true;
		else if (op == DEMAND_FAULT)
			seen_at(c, page)->fault_pages += run;
		else
			seen_at(c, page)->ahead_pages += run;
	}
	return 0;
}

static int count_source(struct counting *c, const struct demand_source *source, struct err *err)
{
	struct demand_block block;
	void *cursor;
	int ret = source->open(source->ctx, 0, &cursor, err);

	if (ret)
		return ret;
	while ((ret = source->next(cursor, &block, err)) == 1) {
		ret = count_block(c, &block, err);
		if (ret)
			break;
	}
	source->close(cursor);
	return ret;
}

static int compare_seen(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	return x->file_id < y->file_id ? -1 : x->file_id > y->file_id;
}

/* Per extent to per file; returns how many files there are. */
static size_t merge_files(struct seen *seen, size_t nr)
{
	size_t nr_files = 0;

	qsort(seen, nr, sizeof(*seen), compare_seen);
	for (size_t i = 0; i < nr; i++) {
		if (nr_files && seen[nr_files - 1].file_id == seen[i].file_id) {
			seen[nr_files - 1].read_pages += seen[i].read_pages;
			seen[nr_files - 1].ahead_pages += seen[i].ahead_pages;
			seen[nr_files - 1].fault_pages += seen[i].fault_pages;
			seen[nr_files - 1].written |= seen[i].written;
		} else {
			seen[nr_files++] = seen[i];
		}
	}
	return nr_files;
}

static enum file_reading judge(const struct seen *seen)
{
	if (!seen->read_pages)
		return seen->fault_pages >= FEW_PAGES &&
		       seen->ahead_pages <= seen->fault_pages / STRAY_SHARE ?
		       READING_MAPPED_RANDOM : READING_NEVER;
	if (seen->ahead_pages > seen->read_pages /
				(seen->written ? WRITTEN_STRAY_SHARE : STRAY_SHARE))
		return READING_AHEAD;
	return seen->read_pages >= FEW_PAGES ? READING_EXACT : READING_AHEAD;
}

int replay_hints(const struct demand_source *source, struct replay_extent *extents,
		 size_t nr_extents, struct err *err)
{
	struct counting c = {
		.extents = extents, .nr_extents = nr_extents, .nr_ids = source->nr_ids,
	};
	size_t nr_files;
	int ret = 0;

	if (!nr_extents)
		return 0;
	c.seen = calloc(nr_extents, sizeof(*c.seen));
	c.read = calloc((source->nr_ids >> 3) + 1, 1);
	if (!c.seen || !c.read || init_hint(&c)) {
		ret = err_set(err, -ENOMEM, "no memory to look at %zu extents", nr_extents);
		goto out;
	}
	for (size_t i = 0; i < nr_extents; i++)
		c.seen[i].file_id = extents[i].file_id;
	ret = count_source(&c, source, err);
	if (ret)
		goto out;
	nr_files = merge_files(c.seen, nr_extents);
	for (size_t i = 0; i < nr_extents; i++) {
		const struct seen key = { .file_id = extents[i].file_id };

		extents[i].reading = judge(bsearch(&key, c.seen, nr_files, sizeof(key),
						   compare_seen));
	}
out:
	free(c.seen);
	free(c.read);
	free(c.hint);
	return ret;
}
