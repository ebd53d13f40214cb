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

/* The nodes of one extent: the first may begin inside a node. */
static void init_nodes(struct kernel_model *m, const struct replay_extent *e, uint32_t node)
{
	uint32_t skew = (uint32_t)(e->first_index & (XA_CHUNK_PAGES - 1));

	for (uint32_t i = 0; i < nr_nodes_of(e); i++)
		m->nodes[node + i] = (struct xa_node){
			.next = NO_PAGE,
			.first_page = e->first_id + (i ? i * XA_CHUNK_PAGES - skew : 0),
		};
}

int workingset_init(struct kernel_model *m)
{
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
	if (!m->nodes)
		return -ENOMEM;
	m->nr_nodes = (uint32_t)nr;
	for (size_t i = 0; i < m->nr_extents; i++)
		init_nodes(m, &m->extents[i], m->extent_node[i]);
	m->nodes[nr].next = m->nodes[nr].prev = m->nr_nodes;
	m->metadata_bytes += (nr + 1) * sizeof(*m->nodes) + m->nr_extents * 4;
	return 0;
}

void workingset_release(struct kernel_model *m)
{
	free(m->extent_node);
	free(m->nodes);
}

static uint32_t page_node(struct kernel_model *m, uint32_t page)
{
	const struct replay_extent *e = page_extent(m, page);
	uint64_t index = e->first_index + (page - e->first_id);

	return m->extent_node[e - m->extents] +
	       (uint32_t)((index >> XA_CHUNK_BITS) - (e->first_index >> XA_CHUNK_BITS));
}

/* workingset_update_node(): on the list while it holds shadows and nothing else. */
static void update_node(struct kernel_model *m, uint32_t node)
{
	struct xa_node *n = &m->nodes[node], *head = &m->nodes[m->nr_nodes];
	bool shadows_only = n->nr_shadows && !n->nr_pages && !n->large;

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

/* @large: the node is a part of one folio of order 6 or more, whose entry is a level up. */
static void change_node(struct kernel_model *m, uint32_t node, int pages, int shadows, bool large)
{
	struct xa_node *n = &m->nodes[node];

	n->nr_pages = (uint8_t)(n->nr_pages + pages);
	n->nr_shadows = (uint8_t)(n->nr_shadows + shadows);
	n->large = large;
	update_node(m, node);
}

/* A folio comes in; shadows in its place are gone. Its pages' flags are still the old ones. */
void workingset_page_in(struct kernel_model *m, uint32_t page, uint32_t pages)
{
	uint32_t node = page_node(m, page), step = pages < XA_CHUNK_PAGES ? pages : XA_CHUNK_PAGES;

	for (uint32_t i = 0; i < pages; i += step, node++) {
		int shadows = 0;

		for (uint32_t j = i; j < i + step; j++)
			shadows += (m->flags[page + j] & PG_SHADOW) != 0;
		change_node(m, node, (int)step, -shadows, pages >= XA_CHUNK_PAGES);
	}
}

/* A folio leaves: by eviction (@shadow) or truncation. */
void workingset_page_out(struct kernel_model *m, uint32_t page, uint32_t pages, bool shadow)
{
	uint32_t node = page_node(m, page), step = pages < XA_CHUNK_PAGES ? pages : XA_CHUNK_PAGES;

	for (uint32_t i = 0; i < pages; i += step, node++)
		change_node(m, node, -(int)step, shadow ? (int)step : 0, pages >= XA_CHUNK_PAGES);
}

/* A shadow is truncated. */
void workingset_forget(struct kernel_model *m, uint32_t page)
{
	change_node(m, page_node(m, page), 0, -1, false);
}

/* The oldest node of shadows is freed with all of them. */
static void drop_node(struct kernel_model *m, uint32_t node)
{
	uint32_t page = m->nodes[node].first_page, left = m->nodes[node].nr_shadows;

	for (; left; page++) {
		if (!(m->flags[page] & PG_SHADOW))
			continue;
		m->flags[page] = PG_SEEN;
		left--;
		m->n.shadows_dropped++;
	}
	change_node(m, node, 0, -(int)m->nodes[node].nr_shadows, false);
}

/* Called with each pass of reclaim. */
void shrink_shadow_nodes(struct kernel_model *m)
{
	uint64_t pages = 0, excess, total;

	for (int i = 0; i < NR_LRU_LISTS; i++)
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
	uint16_t shadow = PG_SHADOW | PG_SEEN | (m->flags[page] & (PG_WORKINGSET | PG_ANON));

	for (; page < end; page++) {
		m->links[page].next = age;
		m->flags[page] = shadow;
	}
	workingset_page_out(m, end - nr, nr, true);
	workingset_age(m, nr);
}

static bool refault_is_recent(const struct kernel_model *m, uint32_t page)
{
	uint32_t distance = (uint32_t)m->lruvec.nonresident_age - m->links[page].next;
	bool file = !(m->flags[page] & PG_ANON);
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
	m->lruvec.nr_workingset_activate[!(m->flags[page] & PG_ANON)] += pages;
	if (m->flags[page] & PG_WORKINGSET)
		lru_note_cost(m, !(m->flags[page] & PG_ANON), pages, 0);
	return PG_ACTIVE | (m->flags[page] & PG_WORKINGSET);
}
