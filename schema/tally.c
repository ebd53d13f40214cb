// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tally.c - the SQL aggregate tally(key, value): sums by key, as a JSON object.
 *
 * SQLite groups by sorting, and to sort the events of a capture by task takes several times as long
 * as to read them. Events come in order of capture and time, so GROUP BY capture_id sorts nothing,
 * and tally() keeps a sum for each of the few keys in a hash:
 *
 *	SELECT capture_id, CAST(key AS INTEGER) AS pid, value AS pages
 *	FROM (SELECT capture_id, tally(pid, pages) AS sums FROM page_event GROUP BY capture_id),
 *		json_each(sums)
 *
 * Keys and values are integers; a row in which either is NULL is passed over. NULL without any row.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "schema/sqlite.h"

enum { FIRST_SLOTS = 256, MAX_SLOTS = 1 << 26 };

struct slot {
	int64_t key, sum;
	bool used;
};

struct tally {
	struct slot *slots;
	uint32_t nr_slots;	/* a power of two */
	uint32_t nr_used;
	const char *error;	/* the first, or NULL */
};

static struct slot *slot_find(struct slot *slots, uint32_t nr_slots, int64_t key)
{
	uint32_t at = (uint32_t)(((uint64_t)key * 0x9e3779b97f4a7c15ULL) >> 32) & (nr_slots - 1);

	while (slots[at].used && slots[at].key != key)
		at = (at + 1) & (nr_slots - 1);
	return &slots[at];
}

static bool grow(struct tally *t)
{
	uint32_t nr_slots = t->nr_slots ? 2 * t->nr_slots : FIRST_SLOTS;
	struct slot *slots = nr_slots <= MAX_SLOTS ? calloc(nr_slots, sizeof(*slots)) : NULL;

	if (!slots)
		return false;
	for (uint32_t i = 0; i < t->nr_slots; i++)
		if (t->slots[i].used)
			*slot_find(slots, nr_slots, t->slots[i].key) = t->slots[i];
	free(t->slots);
	t->slots = slots;
	t->nr_slots = nr_slots;
	return true;
}

static void tally_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct tally *t = sqlite3_aggregate_context(ctx, sizeof(*t));
	struct slot *slot;

	if (!t || t->error || sqlite3_value_type(argv[0]) == SQLITE_NULL ||
	    sqlite3_value_type(argv[1]) == SQLITE_NULL)
		return;
	if (2 * t->nr_used >= t->nr_slots && !grow(t)) {
		t->error = "tally: no memory for so many keys";
		return;
	}
	slot = slot_find(t->slots, t->nr_slots, sqlite3_value_int64(argv[0]));
	if (!slot->used) {
		*slot = (struct slot){ .key = sqlite3_value_int64(argv[0]), .used = true };
		t->nr_used++;
	}
	if (__builtin_add_overflow(slot->sum, sqlite3_value_int64(argv[1]), &slot->sum))
		t->error = "integer overflow";
}

static void result_json(sqlite3_context *ctx, const struct tally *t)
{
	sqlite3_str *json = sqlite3_str_new(sqlite3_context_db_handle(ctx));
	const char *between = "{";
	char *text;

	for (uint32_t i = 0; i < t->nr_slots; i++) {
		if (!t->slots[i].used)
			continue;
		sqlite3_str_appendf(json, "%s\"%lld\":%lld", between, (long long)t->slots[i].key,
				    (long long)t->slots[i].sum);
		between = ",";
	}
	sqlite3_str_appendchar(json, 1, '}');
	text = sqlite3_str_finish(json);
	if (text)
		sqlite3_result_text(ctx, text, -1, sqlite3_free);
	else
		sqlite3_result_error_nomem(ctx);
}

/* Called after an error or an interrupt, too. */
static void tally_final(sqlite3_context *ctx)
{
	struct tally *t = sqlite3_aggregate_context(ctx, 0);

	if (!t)
		return;
	if (t->error)
		sqlite3_result_error(ctx, t->error, -1);
	else if (t->nr_used)
		result_json(ctx, t);
	free(t->slots);
}

int tally_register(sqlite3 *db)
{
	return sqlite3_create_function_v2(db, "tally", 2,
					  SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
					  NULL, NULL, tally_step, tally_final, NULL);
}
