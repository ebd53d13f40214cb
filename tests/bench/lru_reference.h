/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lru_reference.h - lru as one writes it at first: a chained hash table of allocated nodes in a
 * doubly linked list. What replay's lru is measured against.
 */
#include <stdint.h>
#include <stdlib.h>

struct ref_node {
	uint64_t page;
	struct ref_node *chain, *older, *newer;
};

struct ref_lru {
	struct ref_node **table, *oldest, *newest;
	uint64_t mask, capacity, nr;
};

static void ref_unlink(struct ref_lru *l, struct ref_node *n)
{
	*(n->older ? &n->older->newer : &l->oldest) = n->newer;
	*(n->newer ? &n->newer->older : &l->newest) = n->older;
}

static void ref_push(struct ref_lru *l, struct ref_node *n)
{
	n->newer = NULL;
	n->older = l->newest;
	*(l->newest ? &l->newest->newer : &l->oldest) = n;
	l->newest = n;
}

static struct ref_node **ref_slot(struct ref_lru *l, uint64_t page)
{
	uint64_t hash = page * 0x9e3779b97f4a7c15ULL;

	return &l->table[hash >> 20 & l->mask];
}

static void ref_evict(struct ref_lru *l)
{
	struct ref_node *victim = l->oldest, **link = ref_slot(l, victim->page);

	while (*link != victim)
		link = &(*link)->chain;
	*link = victim->chain;
	ref_unlink(l, victim);
	free(victim);
	l->nr--;
}

/* Hits of @nr accesses in a cache of @capacity pages. */
static uint64_t ref_lru_run(const uint32_t *pages, uint64_t nr, uint64_t capacity)
{
	struct ref_lru l = { .capacity = capacity, .mask = 1 };
	uint64_t nr_hits = 0;

	while (l.mask < capacity)
		l.mask *= 2;
	l.table = calloc(l.mask, sizeof(*l.table));
	l.mask--;
	for (uint64_t i = 0; i < nr; i++) {
		struct ref_node *n = *ref_slot(&l, pages[i]);

		while (n && n->page != pages[i])
			n = n->chain;
		if (n) {
			nr_hits++;
			ref_unlink(&l, n);
			ref_push(&l, n);
			continue;
		}
		if (l.nr == l.capacity)
			ref_evict(&l);
		n = malloc(sizeof(*n));
		n->page = pages[i];
		n->chain = *ref_slot(&l, pages[i]);
		*ref_slot(&l, pages[i]) = n;
		ref_push(&l, n);
		l.nr++;
	}
	while (l.nr)
		ref_evict(&l);
	free(l.table);
	return nr_hits;
}
