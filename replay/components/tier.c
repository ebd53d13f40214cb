// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tier.c - a compressed second-chance tier behind a page cache, with an admission valve.
 *
 * The problem. Each evicted page is compressed into a pool and, when it is wanted again, taken out
 * of it: an exclusive victim cache. A pool that holds K pages behind a cache of C turns reuse at
 * distances between C and C + K into hits, and nothing else: a stream that is read once, or a loop
 * longer than C + K, never gets one, and pays for every put all the same. cleancache has no test in
 * front of the compressor. The policies here are such tests, on what the kernel knows at eviction:
 *
 *	all		zcache of 3.0
 *	idle		only CPU time that would have been idle is spent: idle time is earned as it
 *			passes, idle_pct of it may be used, saved up to saved_ns
 *	was_active	the page was on the active list once (WasActive patch, 2012)
 *	refaulted	it came back within ghost_pages evictions of an earlier eviction (shadow
 *                      entries)
 *	probability	every n-th
 *	budget		at most budget_pct of one CPU, saved up to saved_ns
 *	ratio		compressed first, kept when small enough: saves memory, not CPU
 *
 * zcache (drivers/staging/zcache, 3.0): zcache_put_page() -> zcache_compress() (lzo1x_1), rejected
 * when nearly a page; zbud: 64-byte chunks, at most two objects in a page, the oldest page dropped
 * when there is no room. get takes the object out. zswap (mm/zswap.c, 6.18): zswap_store(), the
 * shrinker writes the oldest back to swap when over the limit, after which stores are refused
 * until the pool is under 90 %; zswap_load() takes the object out; a page that does not compress
 * is kept as it is, so that the order of age holds. zram (drivers/block/zram, 6.18):
 * zram_write_page(): what compresses to 3624 bytes or more (zs_huge_class_size() with chains of 8)
 * is kept as a page; nothing leaves but what is freed. Neither stores a page that is one word
 * repeated: zram keeps the word, in front of zswap swap_writeout() a bit for pages of zeros.
 *
 * How far idle time is saved up matters: pages that are refused lie together, so in a loop they are
 * missed together later; with 10 ms of saving, a run of hits uses it up and refuses the next run,
 * and a loop that leaves the CPU 99 % idle keeps only two thirds. A second of saving covers such
 * runs.
 *
 * Approximations. zsmalloc (zswap, zram) packs without loss. zswap's shrinker runs at once. A
 * page's compressed size does not change when it is written again.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "replay/components/components.h"

enum {
	CHUNK_BYTES = 64,
	NR_CHUNKS = PAGE_BYTES / CHUNK_BYTES,
	HEADER_CHUNKS = 1,
	NONE = UINT32_MAX,
	ACCEPT_PCT = 90, /* zswap's accept_threshold_percent */
	ZRAM_HUGE_BYTES = 3624,
};

const char *const tier_policy_names[] = {
	[TIER_OFF] = "off", [TIER_ALL] = "all", [TIER_IDLE] = "idle",
	[TIER_WAS_ACTIVE] = "was_active", [TIER_REFAULTED] = "refaulted",
	[TIER_PROBABILITY] = "probability", [TIER_BUDGET] = "budget", [TIER_RATIO] = "ratio", NULL
};

static const char *const kind_names[] = {
	[TIER_CLEANCACHE] = "cleancache", [TIER_ZSWAP] = "zswap", [TIER_ZRAM] = "zram", NULL
};

#define P(field) offsetof(struct tier_params, field)
const struct param tier_params_table[] = {
	{ "kind", PARAM_ENUM, P(kind), "cleancache", 0, 0, NULL, "whose pool it is", kind_names },
	{ "policy", PARAM_ENUM, P(policy), "all", 0, 0, NULL, "admission", tier_policy_names },
	{ "put_ns", PARAM_DOUBLE, P(put_ns), "10928", 0, 1e9, "ns", "compress one page", NULL },
	{ "get_ns", PARAM_DOUBLE, P(get_ns), "8913", 0, 1e9, "ns", "decompress one page", NULL },
	{ "lookup_ns", PARAM_DOUBLE, P(lookup_ns), "200", 0, 1e6, "ns", "get that misses", NULL },
	{ "pool", PARAM_BYTES, P(pool_bytes), "28M", 0, 1e15, "bytes", "memory it may take", NULL },
	{ "reject", PARAM_DOUBLE, P(reject_ratio), "0.95", 0, 2, NULL,
	  "compressed size, of a page, that is not kept", NULL },
	{ "probability", PARAM_DOUBLE, P(probability), "0.1", 0, 1, NULL, "policy probability",
	  NULL },
	{ "budget", PARAM_PCT, P(budget_pct), "20", 0, 0, "%", "policy budget: of a CPU", NULL },
	{ "idle", PARAM_PCT, P(idle_pct), "50", 0, 0, "%", "policy idle: of the idle time", NULL },
	{ "saved_ns", PARAM_DOUBLE, P(saved_ns), "1e9", 0, 1e12, "ns",
	  "policies idle and budget: saved up at most", NULL },
	{ "ghost", PARAM_U64, P(ghost_pages), "32768", 0, 4e9, "pages",
	  "policy refaulted: evictions remembered", NULL },
	{ "ratio_max", PARAM_DOUBLE, P(ratio_max), "0.5", 0, 2, NULL, "policy ratio: kept up to",
	  NULL },
	{ "same", PARAM_DOUBLE, P(same_share), "0", 0, 1, NULL,
	  "zswap, zram: share of pages that are one word repeated", NULL },
	{ "same_ns", PARAM_DOUBLE, P(same_ns), "150", 0, 1e6, "ns", "to tell such a page", NULL },
	{ "seed", PARAM_U64, P(seed), "1", 0, 0, NULL, "of the random numbers", NULL },
	{ 0 }
};
#undef P

struct object {
	uint32_t prev, next;	/* by age, oldest behind the head */
	uint32_t buddy;		/* zbud: the other one in its page */
	uint32_t chunks : 31;	/* 0: not stored */
	uint32_t same : 1;	/* stored without contents */
};

struct tier {
	struct tier_params params;
	uint32_t nr_ids;
	struct object *object;		/* [page]; [nr_ids] is the head of the age list */
	uint32_t *alone_next, *alone_prev;	/* zbud pages with one object, by its chunks */
	uint32_t alone[NR_CHUNKS + 1];
	uint64_t *evicted_at;		/* [page]: number of its last eviction, 0 none */
	uint8_t *refaulted;		/* [page] */
	uint64_t rand;
	double credit_ns, credited_ns;	/* idle, budget: saved up; the clock it was counted to */
	bool refusing;			/* zswap: over the limit, until under 90 % */
	struct tier_counters n;
};

void tier_free(struct tier *t)
{
	if (!t)
		return;
	free(t->object);
	free(t->alone_next);
	free(t->alone_prev);
	free(t->evicted_at);
	free(t->refaulted);
	free(t);
}

struct tier *tier_new(const struct tier_params *params, uint32_t nr_ids, int *code,
		      struct err *err)
{
	struct tier *t = calloc(1, sizeof(*t));

	if (t) {
		t->params = *params;
		t->nr_ids = nr_ids;
		t->rand = params->seed;
		t->object = calloc((size_t)nr_ids + 1, sizeof(*t->object));
		t->alone_next = calloc((size_t)nr_ids + 1, sizeof(*t->alone_next));
		t->alone_prev = calloc((size_t)nr_ids + 1, sizeof(*t->alone_prev));
		t->evicted_at = calloc((size_t)nr_ids + 1, sizeof(*t->evicted_at));
		t->refaulted = calloc((size_t)nr_ids + 1, sizeof(*t->refaulted));
	}
	if (!t || !t->object || !t->alone_next || !t->alone_prev || !t->evicted_at ||
	    !t->refaulted) {
		tier_free(t);
		*code = err_set(err, -ENOMEM, "no memory for a tier of %u pages", nr_ids);
		return NULL;
	}
	t->object[nr_ids] = (struct object){ .prev = nr_ids, .next = nr_ids };
	for (int i = 0; i <= NR_CHUNKS; i++)
		t->alone[i] = NONE;
	return t;
}

/* ---- the pool -------------------------------------------------------------------------------- */

static bool is_zbud(const struct tier *t)
{
	return t->params.kind == TIER_CLEANCACHE;
}

static void alone_add(struct tier *t, uint32_t page)
{
	uint32_t *head = &t->alone[t->object[page].chunks];

	t->alone_next[page] = *head;
	t->alone_prev[page] = NONE;
	if (*head != NONE)
		t->alone_prev[*head] = page;
	*head = page;
}

static void alone_del(struct tier *t, uint32_t page)
{
	uint32_t next = t->alone_next[page], prev = t->alone_prev[page];

	if (prev == NONE)
		t->alone[t->object[page].chunks] = next;
	else
		t->alone_next[prev] = next;
	if (next != NONE)
		t->alone_prev[next] = prev;
}

/* zbud: the largest lone object that @chunks fit beside. */
static uint32_t buddy_find(const struct tier *t, uint32_t chunks)
{
	for (int i = NR_CHUNKS - HEADER_CHUNKS - (int)chunks; i > 0; i--)
		if (t->alone[i] != NONE)
			return t->alone[i];
	return NONE;
}

static uint64_t object_bytes(const struct tier *t, uint32_t page)
{
	return t->object[page].same ? 0 : (uint64_t)t->object[page].chunks * CHUNK_BYTES;
}

static void pool_remove(struct tier *t, uint32_t page)
{
	struct object *o = &t->object[page];

	t->object[o->prev].next = o->next;
	t->object[o->next].prev = o->prev;
	if (!is_zbud(t)) {
		t->n.pool_bytes -= object_bytes(t, page);
	} else if (o->buddy != NONE) {
		t->object[o->buddy].buddy = NONE;
		alone_add(t, o->buddy);
	} else {
		alone_del(t, page);
		t->n.pool_bytes -= PAGE_BYTES;
	}
	o->chunks = o->same = 0;
	t->n.nr_stored--;
}

static void pool_add(struct tier *t, uint32_t page, uint32_t chunks, bool same)
{
	struct object *o = &t->object[page], *head = &t->object[t->nr_ids];
	uint32_t buddy = is_zbud(t) ? buddy_find(t, chunks) : NONE;

	o->chunks = chunks;
	o->same = same;
	o->buddy = buddy;
	o->prev = head->prev;
	o->next = t->nr_ids;
	t->object[head->prev].next = page;
	head->prev = page;
	if (!is_zbud(t)) {
		t->n.pool_bytes += object_bytes(t, page);
	} else if (buddy != NONE) {
		alone_del(t, buddy);
		t->object[buddy].buddy = page;
	} else {
		alone_add(t, page);
		t->n.pool_bytes += PAGE_BYTES;
	}
	t->n.nr_stored++;
}

/* The oldest leaves; with zbud its buddy too, as the page is what is freed. */
static void drop_oldest(struct tier *t)
{
	uint32_t page = t->object[t->nr_ids].next, buddy = t->object[page].buddy;
	bool written = t->params.kind == TIER_ZSWAP;

	pool_remove(t, page);
	t->n.nr_dropped++;
	t->n.nr_written += written;
	if (is_zbud(t) && buddy != NONE) {
		pool_remove(t, buddy);
		t->n.nr_dropped++;
	}
}

/* Makes room for one more object; false: there is none. */
static bool make_room(struct tier *t, uint32_t chunks)
{
	uint64_t limit = t->params.pool_bytes;
	uint64_t need = is_zbud(t) ? PAGE_BYTES : chunks * CHUNK_BYTES;

	if (need > limit)
		return false;
	if (is_zbud(t) && buddy_find(t, chunks) != NONE)
		return true;
	if (t->params.kind == TIER_ZSWAP) {
		if (t->refusing && t->n.pool_bytes * 100 > limit * ACCEPT_PCT)
			return false;
		t->refusing = t->n.pool_bytes + need > limit;
		while (t->refusing && t->n.nr_stored &&
		       t->n.pool_bytes * 100 > limit * ACCEPT_PCT)
			drop_oldest(t);
		return !t->refusing;
	}
	if (t->params.kind == TIER_ZRAM)
		return t->n.pool_bytes + need <= limit;
	while (t->n.pool_bytes + need > limit)
		drop_oldest(t);
	return true;
}

/* ---- admission ------------------------------------------------------------------------------- */

/* Saves @earned_ns more; spends a put's worth when there is enough. */
static bool spend_credit(struct tier *t, double clock_ns, double share)
{
	t->credit_ns += (clock_ns - t->credited_ns) * share;
	t->credited_ns = clock_ns;
	if (t->credit_ns > t->params.saved_ns)
		t->credit_ns = t->params.saved_ns;
	if (t->credit_ns < t->params.put_ns)
		return false;
	t->credit_ns -= t->params.put_ns;
	return true;
}

static bool admit(struct tier *t, uint32_t page, bool was_active, double now_ns, double idle_ns)
{
	switch (t->params.policy) {
	case TIER_ALL:
	case TIER_RATIO:
		return true;
	case TIER_IDLE:
		return spend_credit(t, idle_ns, t->params.idle_pct / 100);
	case TIER_BUDGET:
		return spend_credit(t, now_ns, t->params.budget_pct / 100);
	case TIER_WAS_ACTIVE:
		return was_active;
	case TIER_REFAULTED:
		return t->refaulted[page];
	case TIER_PROBABILITY:
		return rand_unit(&t->rand) < t->params.probability;
	default:
		return false;
	}
}

void tier_fill(struct tier *t, uint32_t page)
{
	uint64_t at = t->evicted_at[page];

	t->refaulted[page] = at && t->n.nr_evictions - at < t->params.ghost_pages;
}

static bool is_same(const struct tier *t, uint32_t page)
{
	uint64_t state = t->params.seed * 0x9e3779b97f4a7c15ULL + page + 1;

	return !is_zbud(t) && t->params.same_share > 0 && rand_unit(&state) < t->params.same_share;
}

/* What the compressed page takes; 0: it is not kept. */
static uint32_t kept_bytes(struct tier *t, uint32_t page)
{
	double most = t->params.policy == TIER_RATIO ? t->params.ratio_max : t->params.reject_ratio;
	uint32_t bytes = codec_page_bytes(t->params.codec, page, t->params.seed);

	if (t->params.policy != TIER_RATIO && t->params.kind == TIER_ZSWAP)
		most = 1 - 1.0 / PAGE_BYTES;
	if (t->params.kind == TIER_ZRAM)
		most = (ZRAM_HUGE_BYTES - 1.0) / PAGE_BYTES;
	if (bytes <= most * PAGE_BYTES)
		return bytes ? bytes : 1;
	if (is_zbud(t) || (t->params.policy == TIER_RATIO && t->params.kind == TIER_ZSWAP))
		return 0;
	t->n.nr_huge++;
	return PAGE_BYTES;
}

double tier_put(struct tier *t, uint32_t page, bool was_active, double now_ns, double idle_ns)
{
	uint32_t bytes;

	t->evicted_at[page] = ++t->n.nr_evictions;
	if (!admit(t, page, was_active, now_ns, idle_ns)) {
		t->n.nr_refused++;
		return 0;
	}
	t->n.nr_puts++;
	if (is_same(t, page)) {
		pool_add(t, page, 1, true);
		t->n.nr_same++;
		t->n.put_ns += t->params.same_ns;
		return t->params.same_ns;
	}
	t->n.put_ns += t->params.put_ns;
	bytes = kept_bytes(t, page);
	if (!bytes) {
		t->n.nr_poor++;
		return t->params.put_ns;
	}
	bytes = (bytes + CHUNK_BYTES - 1) / CHUNK_BYTES;
	if (make_room(t, bytes))
		pool_add(t, page, bytes, false);
	else
		t->n.nr_full++;
	return t->params.put_ns;
}

bool tier_get(struct tier *t, uint32_t page, double *ns)
{
	bool hit = t->object[page].chunks, whole = hit && !t->object[page].same;

	*ns = t->params.policy == TIER_OFF ? 0 : whole ? t->params.get_ns : t->params.lookup_ns;
	t->n.nr_gets++;
	t->n.nr_hits += hit;
	t->n.get_ns += *ns;
	if (hit) {
		pool_remove(t, page);
		tier_fill(t, page);	/* it came back: worth keeping again */
	}
	return hit;
}

void tier_flush(struct tier *t, uint32_t page)
{
	if (!t->object[page].chunks)
		return;
	pool_remove(t, page);
	t->n.nr_flushed++;
}

const struct tier_counters *tier_counters(const struct tier *t)
{
	return &t->n;
}
