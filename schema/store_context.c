// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * store_context.c - facts about the machine over time. A sample every second of some hundred
 * values, most of which never change: one equal to the last row of the same (capture, subject, key)
 * is not stored. The last values are remembered as 64-bit hashes only; two values that collide (one
 * in 2^64) would lose one sample.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/store.h"

struct context_seen {
	size_t nr, nr_slots;	/* a power of two */
	struct {
		uint64_t key, value;	/* key 0: free */
	} slot[];
};

static uint64_t mix(uint64_t hash, const void *bytes, size_t nr)
{
	const uint8_t *byte = bytes;

	for (size_t i = 0; i < nr; i++)
		hash = (hash ^ byte[i]) * 0x100000001b3ULL;
	return rand_next(&hash);
}

static uint64_t key_hash(int64_t capture_id, const char *subject, const char *key)
{
	uint64_t hash = mix(0xcbf29ce484222325ULL, &capture_id, sizeof(capture_id));

	hash = mix(hash, subject, strlen(subject) + 1);
	hash = mix(hash, key, strlen(key));
	return hash ? hash : 1;
}

static uint64_t value_hash(const struct value *value)
{
	uint64_t hash = mix(0xcbf29ce484222325ULL, &value->type, sizeof(value->type));

	switch (value->type) {
	case VALUE_INT:
		return mix(hash, &value->i, sizeof(value->i));
	case VALUE_REAL:
		return mix(hash, &value->r, sizeof(value->r));
	case VALUE_TEXT:
	case VALUE_BLOB:
		return mix(hash, value->text, value->text_bytes);
	default:
		return hash;
	}
}

static uint64_t *slot_of(struct context_seen *seen, uint64_t key)
{
	size_t at = key & (seen->nr_slots - 1);

	while (seen->slot[at].key && seen->slot[at].key != key)
		at = (at + 1) & (seen->nr_slots - 1);
	if (!seen->slot[at].key)
		seen->nr++;
	seen->slot[at].key = key;
	return &seen->slot[at].value;
}

static struct context_seen *seen_new(size_t nr_slots)
{
	struct context_seen *seen = calloc(1, sizeof(*seen) + nr_slots * sizeof(seen->slot[0]));

	if (seen)
		seen->nr_slots = nr_slots;
	return seen;
}

static int make_room(struct store *store)
{
	struct context_seen *old = store->seen, *seen;

	if (old && 2 * old->nr < old->nr_slots)
		return 0;
	seen = seen_new(old ? 2 * old->nr_slots : 1024);
	if (!seen)
		return -ENOMEM;
	for (size_t i = 0; old && i < old->nr_slots; i++)
		if (old->slot[i].key)
			*slot_of(seen, old->slot[i].key) = old->slot[i].value;
	free(old);
	store->seen = seen;
	return 0;
}

void store_context_free(struct store *store)
{
	free(store->seen);
	store->seen = NULL;
}

int store_context(struct store *store, int64_t capture_id, int64_t ts_ns, const char *phase,
		  const char *subject, const char *key, struct value value, struct err *err)
{
	const struct value values[] = {
		VALUE_OF_INT(capture_id),
		VALUE_OF_INT(ts_ns),
		VALUE_OF_TEXT(phase),
		VALUE_OF_TEXT(subject),
		VALUE_OF_TEXT(key),
		value,
	};
	const uint64_t hash = value_hash(&value);
	uint64_t *last;
	int code;

	if (make_room(store))
		return -ENOMEM;
	last = slot_of(store->seen, key_hash(capture_id, subject, key));
	if (*last == hash && !strcmp(phase, "sample"))
		return 0;
	code = store_run_kept(store, "INSERT INTO context(capture_id, ts_ns, phase, subject, key,"
			      " value) VALUES(?, ?, ?, ?, ?, ?)", values, ARRAY_SIZE(values), err);
	if (!code)
		*last = hash;
	return code;
}
