// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * page_life.c - pages come, are used, and go: one pass that remembers.
 *
 * What a diagnosis asks of page events is mostly about a page's last event: was it evicted before
 * it came back (a refault)? was it used before it was evicted (or was reading ahead in vain)? was
 * it there before anybody looked? A window over (file, page) sorts all events for that, a minute
 * for some millions. Here a bit for each page and question is kept instead, 64 pages to a block, so
 * that the range of a large folio or a long request is a few words.
 *
 *   unused   came in, and nobody has asked for it since
 *   vain     went out unused the last time
 *   moved    came in or went out since the capture began
 *   cold     came in before it went out, so it was not there when the capture began
 *
 * Some of it is known only in hindsight, which is what the survey is for: a read logs what is left
 * of its request (see demand_derive.c), so its pages end where its next event begins; 'cold'; and
 * whether a task's reads, and reads of a file, are recorded at all, without which nothing can be
 * called unused.
 *
 * Refaults are those of folios, known by their first page: a page that comes back in a larger folio
 * counts if it is the first. The kernel counts pages by their shadow entries (workingset_refault(),
 * the statistics workingset_refault_*), which it may have dropped meanwhile, and those of a memcg.
 *
 * Memory: 72 bytes for each block of 64 pages that came or went, 40 for each folio that was
 * evicted, 4 for each read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/page_life.h"

enum {
	BLOCK_PAGES = 64,
	MAX_RUN_PAGES = 1 << 20,
	UNKNOWN_SIZE_PAGES = 512, /* of a request in a file of which nothing is known, at most */
	GOES_ON_PAGES = 32,	  /* that were there already may be left out of a run */
};
#define MAX_INDEX (1ULL << 62)

struct block {
	uint64_t unused, vain, moved, cold;
	uint64_t known;		/* the survey's 'moved' */
};

struct folio {
	uint64_t evicted_ns;	/* 0: it is back */
	uint64_t age;		/* pages evicted up to then */
};

/* One task in one file: its reads in the survey, its adds after. */
struct stream {
	uint64_t read_index, read_end;
	size_t read;		/* number + 1 */
	uint64_t add_end, run;	/* run 0: has added none */
};

/* Where a file ends, in pages: its size, or what was added to it if that is more or all that is
 * known. */
struct file_end {
	uint64_t size_pages, added_pages;
};

/* Things by (u32, u64), numbered from 1 by the map. */
struct index {
	struct file_map *map;
	void *items;
	size_t item_bytes, room;
};

struct page_life {
	struct index blocks, folios, streams, files;
	struct file_map *readers, *read_files, *kswapds;
	uint32_t *read_pages;	/* of each read, by number */
	size_t nr_reads, read_room;
	size_t read;		/* the next in page_life_step() */
	uint64_t age, nr_runs;
};

/* ---- memory ---------------------------------------------------------------------------------- */

static bool index_init(struct index *index, size_t item_bytes)
{
	*index = (struct index){ .map = file_map_new(1), .item_bytes = item_bytes };
	return index->map;
}

static void index_release(struct index *index)
{
	file_map_free(index->map);
	free(index->items);
}

static void *index_at(const struct index *index, uint32_t id)
{
	return (char *)index->items + (id - 1) * index->item_bytes;
}

static void *index_find(const struct index *index, uint32_t low, uint64_t high)
{
	uint32_t id = file_map_find(index->map, low, high);

	return id ? index_at(index, id) : NULL;
}

/* Zeroed when new. NULL: no memory. Valid until the next. */
static void *index_get(struct index *index, uint32_t low, uint64_t high)
{
	bool fresh;
	uint32_t id = file_map_id(index->map, low, high, &fresh);

	if (!id)
		return NULL;
	if (id > index->room) {
		size_t room = index->room ? 2 * index->room : 256;
		void *items = realloc(index->items, room * index->item_bytes);

		if (!items)
			return NULL;
		index->items = items;
		index->room = room;
	}
	if (fresh)
		memset(index_at(index, id), 0, index->item_bytes);
	return index_at(index, id);
}

struct page_life *page_life_new(void)
{
	struct page_life *life = calloc(1, sizeof(*life));
	bool ok;

	if (!life)
		return NULL;
	life->readers = file_map_new(1);
	life->read_files = file_map_new(1);
	life->kswapds = file_map_new(1);
	ok = index_init(&life->blocks, sizeof(struct block));
	ok &= index_init(&life->folios, sizeof(struct folio));
	ok &= index_init(&life->streams, sizeof(struct stream));
	ok &= index_init(&life->files, sizeof(struct file_end));
	if (ok && life->readers && life->read_files && life->kswapds)
		return life;
	page_life_free(life);
	return NULL;
}

void page_life_free(struct page_life *life)
{
	if (!life)
		return;
	index_release(&life->blocks);
	index_release(&life->folios);
	index_release(&life->streams);
	index_release(&life->files);
	file_map_free(life->readers);
	file_map_free(life->read_files);
	file_map_free(life->kswapds);
	free(life->read_pages);
	free(life);
}

int page_life_file(struct page_life *life, uint32_t file_id, uint64_t size_bytes)
{
	struct file_end *end = index_get(&life->files, 0, file_id);

	if (!end)
		return -ENOMEM;
	end->size_pages = size_bytes / 4096 + (size_bytes % 4096 != 0);
	return 0;
}

int page_life_kswapd(struct page_life *life, uint32_t pid)
{
	return file_map_id(life->kswapds, 0, pid, NULL) ? 0 : -ENOMEM;
}

/* ---- bits ------------------------------------------------------------------------------------ */

/* A range of pages, a block at a time: while (span_next(&span)) ... */
struct span {
	uint32_t file_id;
	uint64_t at, end;	/* pages */
	uint64_t number;	/* of the block */
	uint64_t mask;		/* its pages in the range */
};

static struct span span_of(uint32_t file_id, uint64_t index, uint64_t pages)
{
	if (index >= MAX_INDEX || !file_id)
		pages = 0;
	if (pages > MAX_RUN_PAGES)
		pages = MAX_RUN_PAGES;
	return (struct span){ .file_id = file_id, .at = index, .end = index + pages };
}

static bool span_next(struct span *span)
{
	unsigned int first = span->at % BLOCK_PAGES, nr = BLOCK_PAGES - first;

	if (span->at >= span->end)
		return false;
	if (nr > span->end - span->at)
		nr = (unsigned int)(span->end - span->at);
	span->number = span->at / BLOCK_PAGES;
	span->mask = (nr == BLOCK_PAGES ? ~0ULL : (1ULL << nr) - 1) << first;
	span->at += nr;
	return true;
}

static struct block *span_block(struct page_life *life, const struct span *span)
{
	return index_get(&life->blocks, span->file_id, span->number);
}

static uint32_t nr_bits(uint64_t word)
{
	return (uint32_t)__builtin_popcountll(word);
}

/* ---- the survey ------------------------------------------------------------------------------ */

/* The read before may end where this one begins. */
static int survey_read(struct page_life *life, const struct page_event *e)
{
	struct stream *stream = index_get(&life->streams, e->file_id, e->pid);
	uint64_t end = e->page_index + e->pages;

	if (!stream)
		return -ENOMEM;
	if (life->nr_reads == life->read_room) {
		size_t room = life->read_room ? 2 * life->read_room : 4096;
		uint32_t *pages = realloc(life->read_pages, room * sizeof(*pages));

		if (!pages)
			return -ENOMEM;
		life->read_pages = pages;
		life->read_room = room;
	}
	if (stream->read && stream->read_end == end && stream->read_index < e->page_index)
		life->read_pages[stream->read - 1] =
			(uint32_t)(e->page_index - stream->read_index);
	life->read_pages[life->nr_reads++] = e->pages;
	stream->read = life->nr_reads;
	stream->read_index = e->page_index;
	stream->read_end = end;
	return 0;
}

static int survey_move(struct page_life *life, const struct page_event *e, bool comes)
{
	struct span span = span_of(e->file_id, e->page_index, e->pages);
	struct file_end *end = comes ? index_get(&life->files, 0, e->file_id) : NULL;

	if (comes && !end)
		return -ENOMEM;
	if (comes && e->page_index < MAX_INDEX && e->page_index + e->pages > end->added_pages)
		end->added_pages = e->page_index + e->pages;

	while (span_next(&span)) {
		struct block *block = span_block(life, &span);

		if (!block)
			return -ENOMEM;
		if (comes)
			block->cold |= span.mask & ~block->known;
		block->known |= span.mask;
	}
	return 0;
}

int page_life_survey(struct page_life *life, const struct page_event *e)
{
	int ret = 0;

	if (e->op == PAGE_OP_READ || e->op == PAGE_OP_FAULT)
		if (!file_map_id(life->readers, 0, e->pid, NULL) ||
		    !file_map_id(life->read_files, 0, e->file_id, NULL))
			return -ENOMEM;
	if (e->op == PAGE_OP_READ)
		ret = survey_read(life, e);
	else if (e->op == PAGE_OP_ADD || 1U << e->op & LIFE_LEAVES)
		ret = survey_move(life, e, e->op == PAGE_OP_ADD);
	return ret;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* At most @pages from @e's first on: requests run past the end of the file. */
static uint32_t pages_to_end(const struct page_life *life, const struct page_event *e,
			     uint32_t pages)
{
	const struct file_end *file = index_find(&life->files, 0, e->file_id);
	uint64_t end = e->page_index + UNKNOWN_SIZE_PAGES;

	if (file)
		end = file->size_pages > file->added_pages ? file->size_pages :
							     file->added_pages;
	if (end <= e->page_index)
		return 0;
	return pages < end - e->page_index ? pages : (uint32_t)(end - e->page_index);
}

static void step_use(struct page_life *life, const struct page_event *e, struct life_row *row)
{
	struct span span;

	if (e->op == PAGE_OP_READ && life->read < life->nr_reads)
		row->pages = life->read_pages[life->read++];
	row->pages = pages_to_end(life, e, row->pages);
	span = span_of(e->file_id, e->page_index, row->pages);
	while (span_next(&span)) {
		struct block *block = index_find(&life->blocks, span.file_id, span.number);
		uint64_t here = block ? block->moved | block->cold : 0;

		row->warm_pages += nr_bits(span.mask & ~here);
		if (!block)
			continue;
		block->unused &= ~span.mask;
		block->vain &= ~span.mask;
	}
}

static int add_bits(struct page_life *life, const struct page_event *e, struct life_row *row)
{
	struct span span = span_of(e->file_id, e->page_index, e->pages);
	bool read = file_map_find(life->readers, 0, e->pid) &&
		    file_map_find(life->read_files, 0, e->file_id);

	while (span_next(&span)) {
		struct block *block = span_block(life, &span);

		if (!block)
			return -ENOMEM;
		block->moved |= span.mask;
		if (!read)
			continue;
		row->read_pages += nr_bits(span.mask);
		row->again_pages += nr_bits(block->vain & span.mask);
		block->vain &= ~span.mask;
		block->unused |= span.mask;
	}
	return 0;
}

static int step_add(struct page_life *life, const struct page_event *e, struct life_row *row)
{
	struct folio *folio = index_find(&life->folios, e->file_id, e->page_index);
	struct stream *stream = index_get(&life->streams, e->file_id, e->pid);

	if (!stream)
		return -ENOMEM;
	if (folio && folio->evicted_ns && e->file_id) {
		row->evicted_ns = folio->evicted_ns;
		row->distance_pages = life->age - folio->age;
		folio->evicted_ns = 0;
	}
	if (!stream->run || e->page_index < stream->add_end ||
	    e->page_index - stream->add_end > GOES_ON_PAGES)
		stream->run = ++life->nr_runs;
	stream->add_end = e->page_index + e->pages;
	row->run = stream->run;
	return add_bits(life, e, row);
}

static int step_leave(struct page_life *life, const struct page_event *e, struct life_row *row)
{
	struct span span = span_of(e->file_id, e->page_index, e->pages);
	bool evicted = page_life_is_eviction(life, e);
	struct folio *folio;

	while (span_next(&span)) {
		struct block *block = span_block(life, &span);

		if (!block)
			return -ENOMEM;
		block->moved |= span.mask;
		if (!evicted)
			continue;
		row->unused_pages += nr_bits(block->unused & span.mask);
		block->vain = (block->vain & ~span.mask) | (block->unused & span.mask);
		block->unused &= ~span.mask;
	}
	if (!evicted)
		return 0;
	life->age += e->pages;
	folio = index_get(&life->folios, e->file_id, e->page_index);
	if (!folio)
		return -ENOMEM;
	*folio = (struct folio){ .evicted_ns = e->ts_ns, .age = life->age };
	return 0;
}

bool page_life_is_eviction(struct page_life *life, const struct page_event *e)
{
	if (e->op == PAGE_OP_EVICT)
		return true;
	return e->op == PAGE_OP_DELETE && (e->flags & PAGE_EV_IN_RECLAIM ||
					   file_map_find(life->kswapds, 0, e->pid));
}

int page_life_step(struct page_life *life, const struct page_event *e, struct life_row *row)
{
	*row = (struct life_row){ .pages = e->pages };
	if (1U << e->op & LIFE_USES)
		step_use(life, e, row);
	else if (e->op == PAGE_OP_ADD)
		return step_add(life, e, row);
	else if (1U << e->op & LIFE_LEAVES)
		return step_leave(life, e, row);
	return 0;
}
