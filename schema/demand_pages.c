// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * demand_pages.c - the pages of a capture and their dense ids.
 *
 * A replay wants pages as small numbers without holes, and neighbours in a file as id +- 1, so that
 * readahead and large folios can reach pages nobody asked for. A capture names a page by (file,
 * index), where the index may be anything below 2^52 and files may be sparse.
 *
 * Pages are bits. A leaf is 64 neighbouring pages of one space (a file, or a process' memory); the
 * leaves that are touched are in one hash table, 32 bytes each and at least a quarter full, so that
 * memory grows with distinct pages and not with accesses: at most 2 bytes a page where files are
 * touched densely, 150 for pages that have no neighbours.
 *
 * First every record marks its pages. Then the runs of set bits are sorted by (space, index),
 * widened within their file by what readahead could touch, merged where they meet, and numbered. An
 * id is its leaf's first id plus the number of allotted pages below it in the leaf.
 *
 * Widening lonely pages could make far more ids than pages (a hundred bytes of model state each),
 * so the width is halved until no more than WIDEN_LIMIT times the marked pages are allotted; on
 * files read in order or densely that never happens.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/demand.h"

enum { LEAF_BITS = 6, LEAF_PAGES = 1 << LEAF_BITS, FIRST_LEAVES = 4096, WIDEN_LIMIT = 4,
       WIDEN_FREE_PAGES = 65536 };

struct leaf {
	uint64_t number;	/* page index >> LEAF_BITS */
	uint64_t bits;		/* marked; then: allotted */
	uint64_t accessed;	/* by an access op */
	uint32_t space;		/* + 1; 0: free slot */
	uint32_t first_id;
};

struct run {
	uint64_t first, pages;
	uint32_t space;
	uint32_t first_id;
};

struct demand_pages {
	struct leaf *leaves;
	size_t mask, nr_leaves;
	struct leaf *last;
	struct file_map *space_map;
	struct demand_space *spaces;
	uint32_t nr_spaces, space_slots;
	struct run *runs;
	size_t nr_runs;
	uint32_t nr_ids;
	uint64_t nr_distinct;
};

struct demand_pages *demand_pages_new(void)
{
	struct demand_pages *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->leaves = calloc(FIRST_LEAVES, sizeof(*p->leaves));
	p->mask = FIRST_LEAVES - 1;
	p->space_map = file_map_new(1);
	if (p->leaves && p->space_map)
		return p;
	demand_pages_free(p);
	return NULL;
}

void demand_pages_free(struct demand_pages *p)
{
	if (!p)
		return;
	free(p->leaves);
	file_map_free(p->space_map);
	free(p->spaces);
	free(p->runs);
	free(p);
}

uint32_t demand_pages_space(struct demand_pages *p, uint32_t file_id, uint32_t pid)
{
	bool fresh, anon = !file_id;
	uint32_t space = file_map_id(p->space_map, anon, anon ? pid : file_id, &fresh);

	if (!space)
		return UINT32_MAX;
	if (!fresh)
		return space - 1;
	if (p->nr_spaces == p->space_slots) {
		uint32_t slots = p->space_slots ? 2 * p->space_slots : 64;
		struct demand_space *spaces = realloc(p->spaces, sizeof(*spaces) * slots);

		if (!spaces)
			return UINT32_MAX;
		p->spaces = spaces;
		p->space_slots = slots;
	}
	p->spaces[p->nr_spaces] = (struct demand_space){
		.file_id = file_id, .pid = anon ? pid : 0, .size_pages = UINT64_MAX,
	};
	return p->nr_spaces++;
}

struct demand_space *demand_pages_space_at(struct demand_pages *p, uint32_t space)
{
	return &p->spaces[space];
}

static size_t leaf_slot(const struct leaf *leaves, size_t mask, uint32_t space, uint64_t number)
{
	uint64_t h = (number + ((uint64_t)space << 44)) * 0x9e3779b97f4a7c15ULL;
	size_t at = (h ^ h >> 32) & mask;

	while (leaves[at].space && (leaves[at].number != number || leaves[at].space != space + 1))
		at = (at + 1) & mask;
	return at;
}

static int leaves_grow(struct demand_pages *p)
{
	size_t mask = 2 * p->mask + 1;
	struct leaf *leaves = calloc(mask + 1, sizeof(*leaves));

	if (!leaves)
		return -ENOMEM;
	for (size_t i = 0; i <= p->mask; i++) {
		const struct leaf *leaf = &p->leaves[i];

		if (leaf->space)
			leaves[leaf_slot(leaves, mask, leaf->space - 1, leaf->number)] = *leaf;
	}
	free(p->leaves);
	p->leaves = leaves;
	p->mask = mask;
	p->last = NULL;
	return 0;
}

/* NULL: not there, or with @make no memory. */
static struct leaf *leaf_find(struct demand_pages *p, uint32_t space, uint64_t number, bool make)
{
	struct leaf *leaf = p->last;

	if (leaf && leaf->number == number && leaf->space == space + 1)
		return leaf;
	leaf = &p->leaves[leaf_slot(p->leaves, p->mask, space, number)];
	if (!leaf->space) {
		if (!make)
			return NULL;
		if (2 * ++p->nr_leaves > p->mask) {
			if (leaves_grow(p))
				return NULL;
			leaf = &p->leaves[leaf_slot(p->leaves, p->mask, space, number)];
		}
		leaf->number = number;
		leaf->space = space + 1;
	}
	p->last = leaf;
	return leaf;
}

/* The bits from page @from (of the leaf) on, at most @nr. */
static uint64_t leaf_bits(uint32_t from, uint64_t nr)
{
	return (nr >= LEAF_PAGES ? ~0ULL : (1ULL << nr) - 1) << from;
}

int demand_pages_mark(struct demand_pages *p, const struct demand_record *r)
{
	bool access = demand_op_is_access(r->op);
	uint64_t index = r->index, left = r->pages;

	while (left) {
		struct leaf *leaf = leaf_find(p, r->space, index >> LEAF_BITS, true);
		uint32_t from = index % LEAF_PAGES;
		uint64_t nr = LEAF_PAGES - from < left ? LEAF_PAGES - from : left;
		uint64_t bits = leaf_bits(from, nr);

		if (!leaf)
			return -ENOMEM;
		leaf->bits |= bits;
		if (access)
			leaf->accessed |= bits;
		index += nr;
		left -= nr;
	}
	return 0;
}

uint64_t demand_pages_distinct(const struct demand_pages *p)
{
	return p->nr_distinct;
}

static int run_by_place(const void *va, const void *vb, void *vp)
{
	const struct demand_pages *p = vp;
	const struct run *a = va, *b = vb;
	const struct demand_space *sa = &p->spaces[a->space], *sb = &p->spaces[b->space];

	if (a->space != b->space)
		return sa->file_id != sb->file_id ? (sa->file_id < sb->file_id ? -1 : 1) :
		       sa->pid < sb->pid ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

/* Makes a run of each row of set bits within a leaf; runs across leaves meet when they are merged.
 */
static int runs_collect(struct demand_pages *p)
{
	size_t nr = 0;

	for (size_t i = 0; i <= p->mask; i++) {
		const struct leaf *leaf = &p->leaves[i];

		if (leaf->space)
			nr += __builtin_popcountll(leaf->bits & ~(leaf->bits << 1));
		p->nr_distinct += __builtin_popcountll(leaf->accessed);
	}
	p->runs = malloc(sizeof(*p->runs) * (nr + 1));
	if (!p->runs)
		return -ENOMEM;
	for (size_t i = 0; i <= p->mask; i++) {
		uint64_t bits = p->leaves[i].space ? p->leaves[i].bits : 0;

		while (bits) {
			uint32_t from = __builtin_ctzll(bits);
			uint64_t above = ~(bits >> from);
			uint32_t pages = above ? __builtin_ctzll(above) : LEAF_PAGES;

			p->runs[p->nr_runs++] = (struct run){
				.first = (p->leaves[i].number << LEAF_BITS) + from,
				.pages = pages,
				.space = p->leaves[i].space - 1,
			};
			bits &= ~leaf_bits(from, pages);
		}
	}
	qsort_r(p->runs, p->nr_runs, sizeof(*p->runs), run_by_place, p);
	return 0;
}

static struct run run_widen(const struct demand_pages *p, struct run run, uint64_t around)
{
	const struct demand_space *space = &p->spaces[run.space];
	uint64_t end = run.first + run.pages, limit = space->size_pages;

	if (limit == UINT64_MAX && space->has_adds)
		limit = space->seen_pages;
	if (!space->file_id || limit == UINT64_MAX)
		return run;
	run.first = run.first > around ? run.first - around : 0;
	if (end < limit)
		end = limit - end > around ? end + around : limit;
	run.pages = end - run.first;
	return run;
}

/* Widens and merges the runs, into place if @keep. Returns the pages they have then. */
static uint64_t runs_merge(struct demand_pages *p, uint64_t around, bool keep)
{
	struct run open = { 0 };
	uint64_t total = 0;
	size_t nr = 0;

	for (size_t i = 0; i < p->nr_runs; i++) {
		struct run run = run_widen(p, p->runs[i], around);
		uint64_t end = run.first + run.pages;

		if (open.pages && run.space == open.space && run.first <= open.first + open.pages) {
			if (end > open.first + open.pages)
				open.pages = end - open.first;
			continue;
		}
		total += open.pages;
		if (keep && open.pages)
			p->runs[nr++] = open;
		open = run;
	}
	total += open.pages;
	if (keep && open.pages)
		p->runs[nr++] = open;
	if (keep)
		p->nr_runs = nr;
	return total;
}

static int run_allot(struct demand_pages *p, struct run *run, uint32_t first_id)
{
	uint64_t index = run->first, left = run->pages;
	uint32_t id = first_id;

	run->first_id = first_id;
	while (left) {
		struct leaf *leaf = leaf_find(p, run->space, index >> LEAF_BITS, true);
		uint32_t from = index % LEAF_PAGES;
		uint64_t nr = LEAF_PAGES - from < left ? LEAF_PAGES - from : left;

		if (!leaf)
			return -ENOMEM;
		if (from == 0 || !(leaf->bits & leaf_bits(0, from)))
			leaf->first_id = id;
		leaf->bits |= leaf_bits(from, nr);
		index += nr;
		left -= nr;
		id += nr;
	}
	return 0;
}

int demand_pages_allot(struct demand_pages *p, uint32_t around_pages)
{
	uint64_t marked, total;
	uint32_t id = 0;

	if (runs_collect(p))
		return -ENOMEM;
	marked = runs_merge(p, 0, false);
	total = runs_merge(p, around_pages, false);
	while (around_pages && total > WIDEN_LIMIT * marked + WIDEN_FREE_PAGES) {
		around_pages /= 2;
		total = runs_merge(p, around_pages, false);
	}
	if (total >= UINT32_MAX)
		return -EFBIG;
	runs_merge(p, around_pages, true);
	for (size_t i = 0; i < p->nr_runs; i++) {
		if (run_allot(p, &p->runs[i], id))
			return -ENOMEM;
		id += p->runs[i].pages;
	}
	p->nr_ids = id;
	return 0;
}

uint32_t demand_pages_nr_ids(const struct demand_pages *p)
{
	return p->nr_ids;
}

uint32_t demand_pages_ids(struct demand_pages *p, uint32_t space, uint64_t index, uint32_t nr,
			  uint32_t *first, uint32_t *skipped)
{
	uint32_t found = 0, passed = 0;

	while (passed + found < nr) {
		uint32_t from = index % LEAF_PAGES, left = nr - passed - found, run;
		const struct leaf *leaf = leaf_find(p, space, index >> LEAF_BITS, false);
		uint64_t bits = leaf ? leaf->bits >> from : 0;

		if (!(bits & 1)) {
			if (found)
				break;
			run = bits ? (uint32_t)__builtin_ctzll(bits) : LEAF_PAGES - from;
			run = run < left ? run : left;
			passed += run;
			index += run;
			continue;
		}
		if (!found)
			*first = leaf->first_id +
				 __builtin_popcountll(leaf->bits & leaf_bits(0, from));
		run = ~bits ? __builtin_ctzll(~bits) : LEAF_PAGES;
		run = run < left ? run : left;
		found += run;
		index += run;
		if (index % LEAF_PAGES)
			break;
	}
	*skipped = passed;
	return found;
}

int demand_pages_extents(const struct demand_pages *p, struct demand_extent **extents, size_t *nr)
{
	struct demand_extent *e = malloc(sizeof(*e) * (p->nr_runs + 1));

	if (!e)
		return -ENOMEM;
	for (size_t i = 0; i < p->nr_runs; i++) {
		const struct run *run = &p->runs[i];
		const struct demand_space *space = &p->spaces[run->space];

		e[i] = (struct demand_extent){
			.first_id = run->first_id,
			.pages = run->pages,
			.file_id = space->file_id,
			.pid = space->pid,
			.first_index = run->first,
			.file_pages = space->size_pages,
		};
	}
	*extents = e;
	*nr = p->nr_runs;
	return 0;
}
