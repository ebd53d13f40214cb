// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * workingset.c - shadow entries: was a page evicted too early?
 *
 * Follows Linux 6.18 mm/workingset.c: workingset_eviction(), workingset_refault(),
 * workingset_test_recent(), workingset_activation().
 *
 * The clock is nonresident_age, which advances by one for each page that leaves the inactive list,
 * by eviction or by activation. A page's age is kept when it is evicted; when it comes back, the
 * difference is the number of inactive slots that it lacked. If the active pages of its memcg could
 * have given that many, it is put straight onto the active list, where it challenges them. With
 * swap, anonymous pages could have given way too.
 *
 * The comparison uses the memcg's statistics, which are up to stats_period old (memcg.c): in the
 * first seconds of a new memcg nothing is ever 'recent', as the active list reads as empty.
 *
 * Shadows live in the nodes of the file's xarray, 64 slots each. Nodes that hold nothing but
 * shadows are kept up to an eighth of the memcg's pages - again as the statistics have them, so in
 * the first seconds none is kept, and a stream of 1 s has no refaults at all. Each pass of reclaim
 * frees half of the excess, oldest first, in steps of 128, so that an excess below 256 stays
 * (count_shadow_nodes, shadow_lru_isolate, and do_shrink_slab of a shrinker with seeks 0).
 *
 * Approximations: 32 bits of age (the kernel has 36 or more; wraps after 4 G evictions). Shadows of
 * folios of order 6 and more live one level up, in nodes that are 64 times fewer: they are never
 * dropped. What the nodes themselves occupy (1/7 page each) is not charged here: it is part of what
 * the context says is charged for other things.
 */
#include <errno.h>
#include <stdlib.h>

#include "replay/kernel/kernel.h"

enum { SHRINK_BATCH = 128 };

static uint32_t nr_nodes_of(const struct replay_extent *e)
{
	uint64_t last = e->first_index + (e->pages ? e->pages - 1 : 0);

	return (uint32_t)((last >> XA_CHUNK_BITS) - (e->first_index >> XA_CHUNK_BITS) + 1);
}

/* The node of @page; *slot: which of its slots. */
static uint32_t page_node(struct kernel_model *m, uint32_t page, uint32_t *slot)
{
	const struct replay_extent *e = page_extent(m, page);
	uint64_t index = e->first_index + (page - e->first_id);

	*slot = index & (XA_CHUNK_PAGES - 1);
	return m->extent_node[e - m->extents] +
	       (uint32_t)((index >> XA_CHUNK_BITS) - (e->first_index >> XA_CHUNK_BITS));
}

int workingset_init(struct kernel_model *m)
{
	size_t nr_hints = (m->nr_ids >> XA_CHUNK_BITS) + 1;
	uint64_t nr = 0;

	m->extent_node = calloc(m->nr_extents, sizeof(*m->extent_node));
	if (!m->extent_node)
		return -ENOMEM;
	for (size_t i = 0; i < m->nr_extents; i++) {
		const struct replay_extent *e = &m->extents[i];

		m->extent_node[i] = (uint32_t)nr;
		nr += nr_nodes_of(e);
	}
	m->nodes = calloc(nr + 1, sizeof(*m->nodes));
	m->node_hint = calloc(nr_hints, sizeof(*m->node_hint));
	if (!m->nodes || !m->node_hint)
		return -ENOMEM;
	m->nr_nodes = (uint32_t)nr;
	for (size_t i = 0; i < nr; i++)
		m->nodes[i].next = NO_PAGE;
	m->nodes[nr].next = m->nodes[nr].prev = m->nr_nodes;
	for (size_t i = 0; i < nr_hints; i++) {
		uint32_t slot, page = (uint32_t)i << XA_CHUNK_BITS;

		m->node_hint[i] = page_node(m, page < m->nr_ids ? page : m->nr_ids - 1, &slot);
	}
	m->metadata_bytes += (nr + 1) * sizeof(*m->nodes) + (m->nr_extents + nr_hints) * 4;
	return 0;
}

void workingset_release(struct kernel_model *m)
{
	free(m->extent_node);
	free(m->node_hint);
	free(m->nodes);
}

/* Bits of a node for @pages, a power of two, from @slot on; of a folio that spans nodes, all. */
static uint64_t slot_bits(uint32_t slot, uint32_t pages)
{
	return pages >= XA_CHUNK_PAGES ? UINT64_MAX : ((1ULL << pages) - 1) << slot;
}

static uint32_t nodes_of_folio(uint32_t pages)
{
	return pages > XA_CHUNK_PAGES ? pages >> XA_CHUNK_BITS : 1;
}

/* workingset_update_node(): on the list while it holds shadows and nothing else. */
static void update_node(struct kernel_model *m, uint32_t node)
{
	struct xa_node *n = &m->nodes[node], *head = &m->nodes[m->nr_nodes];
	bool shadows_only = n->shadows && !n->nr_pages && !n->large;

	if (shadows_only == (n->next != NO_PAGE))
		return;
	if (shadows_only) {
		n->next = m->nr_nodes;
		n->prev = head->prev;
		m->nodes[head->prev].next = node;
		head->prev = node;
		m->nr_shadow_nodes++;
	} else {
		m->nodes[n->next].prev = n->prev;
		m->nodes[n->prev].next = n->next;
		n->next = NO_PAGE;
		m->nr_shadow_nodes--;
	}
}

/*
 * A folio comes in; shadows in its place are gone. Returns the last of its pages that had one;
 * NO_PAGE: none.
 */
uint32_t workingset_page_in(struct kernel_model *m, uint32_t page, uint32_t pages)
{
	uint32_t slot, first = page_node(m, page, &slot), shadow = NO_PAGE;
	uint64_t bits = slot_bits(slot, pages);

	for (uint32_t i = 0; i < nodes_of_folio(pages); i++) {
		struct xa_node *n = &m->nodes[first + i];
		uint64_t shadows = n->shadows & bits;

		if (shadows)
			shadow = page + i * XA_CHUNK_PAGES - slot + 63 -
				 (uint32_t)__builtin_clzll(shadows);
		n->shadows &= ~bits;
		n->nr_pages += pages < XA_CHUNK_PAGES ? pages : XA_CHUNK_PAGES;
		n->large = pages >= XA_CHUNK_PAGES;
		update_node(m, first + i);
	}
	return shadow;
}

/*
 * A folio leaves: by eviction (@shadow) or truncation. Of order 6 or more, it is all that its nodes
 * hold, and its entry is a level up.
 */
void workingset_page_out(struct kernel_model *m, uint32_t page, uint32_t pages, bool shadow)
{
	uint32_t slot, node = page_node(m, page, &slot), end = node + nodes_of_folio(pages);

	for (; node < end; node++) {
		struct xa_node *n = &m->nodes[node];

		n->shadows |= shadow ? slot_bits(slot, pages) : 0;
		n->nr_pages -= pages < XA_CHUNK_PAGES ? pages : XA_CHUNK_PAGES;
		n->large = pages >= XA_CHUNK_PAGES;
		update_node(m, node);
	}
}

/* Truncated; a shadow, if it has one, is gone. */
void workingset_forget(struct kernel_model *m, uint32_t page)
{
	uint32_t slot, node = page_node(m, page, &slot);
	struct xa_node *n = &m->nodes[node];

	if (!(n->shadows >> slot & 1))
		return;
	n->shadows &= ~(1ULL << slot);
	n->large = false;
	update_node(m, node);
}

/* The oldest node of shadows is freed with all of them. */
static void drop_node(struct kernel_model *m, uint32_t node)
{
	m->n.shadows_dropped += (uint64_t)__builtin_popcountll(m->nodes[node].shadows);
	m->nodes[node].shadows = 0;
	update_node(m, node);
}

/* Called with each pass of reclaim. */
void shrink_shadow_nodes(struct kernel_model *m)
{
	uint64_t pages = 0, excess, total;

	for (int i = 0; i < NR_LISTS; i++)
		pages += stat_pages(m, (enum lru_list)i);
	if (m->nr_shadow_nodes <= pages >> (XA_CHUNK_BITS - 3))
		return;
	excess = m->nr_shadow_nodes - (pages >> (XA_CHUNK_BITS - 3));
	for (total = excess / 2; total >= SHRINK_BATCH || total >= excess;) {
		uint64_t nr = total < SHRINK_BATCH ? total : SHRINK_BATCH;

		for (uint64_t i = 0; i < nr && m->nr_shadow_nodes; i++)
			drop_node(m, m->nodes[m->nr_nodes].next);
		total -= nr;
	}
}

void workingset_age(struct kernel_model *m, uint64_t pages)
{
	m->lruvec.nonresident_age += pages;
}

/* @page's folio is off the lists; its pages' flags become those of a shadow. */
void workingset_eviction(struct kernel_model *m, uint32_t page)
{
	uint32_t nr = folio_pages(m, page), end = page + nr;
	uint32_t age = m->gen ? lru_gen_eviction(m, page, nr) : (uint32_t)m->lruvec.nonresident_age;
	uint16_t shadow = PG_SEEN | (m->pages[page].flags & (PG_WORKINGSET | PG_ANON));

	for (; page < end; page++) {
		m->pages[page].age = age;
		m->pages[page].flags = shadow;
	}
	workingset_page_out(m, end - nr, nr, true);
	workingset_age(m, nr);
}

static bool refault_is_recent(const struct kernel_model *m, uint32_t page)
{
	uint32_t distance = (uint32_t)m->lruvec.nonresident_age - m->pages[page].age;
	bool file = !(m->pages[page].flags & PG_ANON);
	uint64_t workingset_size = stat_pages(m, LRU_ACTIVE_FILE);

	if (!file)
		workingset_size += stat_pages(m, LRU_INACTIVE_FILE);
	if (m->p.swap)
		workingset_size += stat_pages(m, LRU_ACTIVE_ANON) +
				   (file ? stat_pages(m, LRU_INACTIVE_ANON) : 0);

	return distance <= workingset_size;
}

/*
 * A folio of @pages is coming back where @page has a shadow. Returns the flags it starts with:
 * PG_ACTIVE, and PG_WORKINGSET if it had been active before, when it was evicted too early.
 */
uint16_t workingset_refault(struct kernel_model *m, uint32_t page, uint32_t pages)
{
	m->n.c.refaults += pages;
	if (m->gen)
		return lru_gen_refault(m, page, pages);
	if (!refault_is_recent(m, page))
		return 0;
	workingset_age(m, pages);
	m->lruvec.nr_workingset_activate[!(m->pages[page].flags & PG_ANON)] += pages;
	if (m->pages[page].flags & PG_WORKINGSET)
		lru_note_cost(m, !(m->pages[page].flags & PG_ANON), pages, 0);
	return PG_ACTIVE | (m->pages[page].flags & PG_WORKINGSET);
}
