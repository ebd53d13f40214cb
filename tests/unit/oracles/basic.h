/* SPDX-License-Identifier: GPL-2.0-or-later */
/* basic.h - oracles of fifo, lru, clock and opt. */
#include "oracle.h"

static void oracle_fifo_or_lru(struct oracle *o, bool lru)
{
	static struct list queue;

	queue.nr = 0;
	for (size_t i = 0; i < o->nr_ops; i++) {
		uint32_t page = o->ops[i].page;
		bool hit = list_has(&queue, page);

		if (o->ops[i].remove) {
			list_delete(&queue, page);
			continue;
		}
		o->hit[i] = hit;
		if (hit && !lru)
			continue;
		if (hit) {
			list_delete(&queue, page);
		} else if (queue.nr == (int)o->capacity) {
			list_pop(&queue);
			o->evictions++;
		}
		list_push(&queue, page);
	}
	o->resident = queue.nr;
}

static void oracle_fifo(struct oracle *o)
{
	oracle_fifo_or_lru(o, false);
}

static void oracle_lru(struct oracle *o)
{
	oracle_fifo_or_lru(o, true);
}

/* Frames in a ring; an emptied frame is filled first, the last one emptied first of all. */
static void oracle_clock(struct oracle *o)
{
	static uint32_t frame[ORACLE_MAX];
	static bool used[ORACLE_MAX], full[ORACLE_MAX];
	static struct list empty;
	const bool fill_used = *(const bool *)o->params;
	uint32_t hand = 0, nr_filled = 0;

	memset(full, 0, sizeof(full));
	empty.nr = 0;
	for (size_t i = 0; i < o->nr_ops; i++) {
		uint32_t page = o->ops[i].page, at = UINT32_MAX;

		for (uint32_t f = 0; f < o->capacity; f++)
			if (full[f] && frame[f] == page)
				at = f;
		if (o->ops[i].remove) {
			if (at != UINT32_MAX) {
				full[at] = false;
				list_push(&empty, at);
			}
			continue;
		}
		o->hit[i] = at != UINT32_MAX;
		if (at != UINT32_MAX) {
			used[at] = true;
			continue;
		}
		if (empty.nr) {
			at = list_take(&empty, empty.nr - 1);
		} else if (nr_filled < o->capacity) {
			at = nr_filled++;
		} else {
			while (used[hand]) {
				used[hand] = false;
				o->rotated++;
				hand = (hand + 1) % o->capacity;
			}
			at = hand;
			hand = (hand + 1) % o->capacity;
			o->evictions++;
		}
		frame[at] = page;
		full[at] = true;
		used[at] = fill_used;
	}
	for (uint32_t f = 0; f < o->capacity; f++)
		o->resident += full[f];
}

/* When @page is wanted again after op @i; never if it is truncated first. */
static size_t next_use(const struct oracle *o, size_t i, uint32_t page)
{
	while (++i < o->nr_ops)
		if (o->ops[i].page == page)
			return o->ops[i].remove ? SIZE_MAX : i;
	return SIZE_MAX;
}

/* Belady: the page wanted again latest leaves; the page that missed always comes in. */
static void oracle_opt(struct oracle *o)
{
	static struct list cache;

	cache.nr = 0;
	for (size_t i = 0; i < o->nr_ops; i++) {
		uint32_t page = o->ops[i].page;

		if (o->ops[i].remove) {
			list_delete(&cache, page);
			continue;
		}
		o->hit[i] = list_has(&cache, page);
		if (o->hit[i])
			continue;
		if (cache.nr == (int)o->capacity) {
			int victim = 0;

			for (int f = 1; f < cache.nr; f++)
				if (next_use(o, i, cache.item[f]) >
				    next_use(o, i, cache.item[victim]))
					victim = f;
			list_take(&cache, victim);
			o->evictions++;
		}
		list_push(&cache, page);
	}
	o->resident = cache.nr;
}
