// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * file_map.c - (dev, ino) to file id: open addressing, linear probing, at most half full. Page
 * events come in long runs of one file, so the last hit is tried first.
 */
#include <stdlib.h>

#include "schema/schema.h"

enum { FIRST_SLOTS = 1024 };

struct file_slot {
	uint64_t ino;
	uint32_t dev;
	uint32_t file_id;	/* 0: free */
};

struct file_map {
	struct file_slot last;
	struct file_slot *slots;
	size_t mask;
	size_t nr;
	uint32_t next_id;
};

struct file_map *file_map_new(uint32_t first_id)
{
	struct file_map *map = calloc(1, sizeof(*map));

	if (!map)
		return NULL;
	map->slots = calloc(FIRST_SLOTS, sizeof(*map->slots));
	if (!map->slots) {
		free(map);
		return NULL;
	}
	map->mask = FIRST_SLOTS - 1;
	map->next_id = first_id ? first_id : 1;
	return map;
}

void file_map_free(struct file_map *map)
{
	if (!map)
		return;
	free(map->slots);
	free(map);
}

static struct file_slot *slot_find(struct file_slot *slots, size_t mask, uint32_t dev, uint64_t ino)
{
	uint64_t state = ino ^ (uint64_t)dev << 40;
	size_t at = rand_next(&state) & mask;

	while (slots[at].file_id && (slots[at].ino != ino || slots[at].dev != dev))
		at = (at + 1) & mask;
	return &slots[at];
}

static bool file_map_grow(struct file_map *map)
{
	size_t mask = 2 * map->mask + 1;
	struct file_slot *slots = calloc(mask + 1, sizeof(*slots));

	if (!slots)
		return false;
	for (size_t i = 0; i <= map->mask; i++)
		if (map->slots[i].file_id)
			*slot_find(slots, mask, map->slots[i].dev, map->slots[i].ino) =
				map->slots[i];
	free(map->slots);
	map->slots = slots;
	map->mask = mask;
	return true;
}

uint32_t file_map_id(struct file_map *map, uint32_t dev, uint64_t ino, bool *fresh)
{
	struct file_slot *slot;

	if (fresh)
		*fresh = false;
	if (map->last.file_id && map->last.ino == ino && map->last.dev == dev)
		return map->last.file_id;
	slot = slot_find(map->slots, map->mask, dev, ino);
	if (!slot->file_id) {
		if (2 * (map->nr + 1) > map->mask) {
			if (!file_map_grow(map))
				return 0;
			slot = slot_find(map->slots, map->mask, dev, ino);
		}
		*slot = (struct file_slot){ .ino = ino, .dev = dev, .file_id = map->next_id++ };
		map->nr++;
		if (fresh)
			*fresh = true;
	}
	map->last = *slot;
	return slot->file_id;
}

uint32_t file_map_find(struct file_map *map, uint32_t dev, uint64_t ino)
{
	const struct file_slot *slot;

	if (map->last.file_id && map->last.ino == ino && map->last.dev == dev)
		return map->last.file_id;
	slot = slot_find(map->slots, map->mask, dev, ino);
	if (slot->file_id)
		map->last = *slot;
	return slot->file_id;
}
