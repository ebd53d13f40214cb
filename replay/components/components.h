/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * components.h - stages of reclaim that can stand behind any model or run on a workload of their
 * own: the flushing of memcg statistics, kswapd with its shrinkers, the compressed second-chance
 * tier. All run in virtual time, allocate at creation only, and give the same figures for the same
 * seed.
 */
#ifndef PAGEREEL_COMPONENTS_H
#define PAGEREEL_COMPONENTS_H

#include "base/base.h"

/* A uniform number in [0, 1). */
static inline double rand_unit(uint64_t *state)
{
	return (double)(rand_next(state) >> 11) * 0x1p-53;
}

/* ---- memcg_flush.c: who pays for summing per-CPU memcg statistics, and when ------------------ */

enum memcg_flush_policy {
	MEMCG_FLUSH_NONE,	/* nobody ever flushes: the counts go stale */
	MEMCG_FLUSH_ASYNC,	/* only the 2 s worker */
	MEMCG_FLUSH_5_15,	/* every refault, global threshold */
	MEMCG_FLUSH_5_18,	/* refault only when the worker is 4 s late */
	MEMCG_FLUSH_6_6,	/* the same, under its own name: ratelimited; batch 64 */
	MEMCG_FLUSH_6_8,	/* threshold and flush per memcg subtree */
	MEMCG_FLUSH_6_18,	/* reclaim ratelimited as well; statistics in a tree of their own */
	NR_MEMCG_FLUSH_POLICIES
};

extern const char *const memcg_flush_policy_names[];	/* NULL-terminated, by enum */

/* Who asks for a flush. The time is charged to whoever it is. */
enum memcg_flush_caller {
	FLUSH_BY_REFAULT,	/* workingset_refault() */
	FLUSH_BY_RECLAIM,	/* shrink_node() */
	FLUSH_BY_READER,	/* memory.stat */
	FLUSH_BY_WORKER,	/* flush_memcg_stats_dwork() */
	NR_FLUSH_CALLERS
};

struct memcg_flush_params {
	int policy;			/* enum memcg_flush_policy */
	uint64_t nr_cpus;		/* online = possible */
	uint64_t nr_cgroups;		/* below the root, flat */
	double flush_base_ns;		/* a: one flush that finds nothing */
	double pair_ns;			/* k: one updated (cgroup, cpu) pair */
	double switch_rate; /* per CPU and second: cgroups that run there and are marked so */
	uint64_t seed;
};

extern const struct param memcg_flush_params_table[];

struct memcg_flush_counters {
	uint64_t nr_updates;
	uint64_t nr_flushes[NR_FLUSH_CALLERS];
	uint64_t nr_skipped;		/* over the threshold, but another CPU was flushing */
	uint64_t nr_pairs;		/* flushed, all callers */
	double flush_ns[NR_FLUSH_CALLERS];	/* CPU time, waiting for the lock included */
};

struct memcg_flush;

/* NULL and *code, *err set on failure. Memory: 16 bytes a (cgroup, cpu) pair. */
struct memcg_flush *memcg_flush_new(const struct memcg_flush_params *params, int *code,
				    struct err *err);
void memcg_flush_free(struct memcg_flush *flush);

/* Statistics of @cgroup changed by @nr on @cpu at @now_ns. Time must not go back. */
void memcg_flush_update(struct memcg_flush *flush, double now_ns, uint32_t cgroup, uint32_t cpu,
			uint32_t nr);
/*
 * A flush point for @cgroup (of refaults and readers; reclaim and worker mean the root). Returns
 * ns.
 */
double memcg_flush_point(struct memcg_flush *flush, double now_ns, enum memcg_flush_caller caller,
			 uint32_t cgroup);
/* Since when the counts of @cgroup are complete, and the updates they lack now. */
double memcg_flush_fresh_ns(const struct memcg_flush *flush, uint32_t cgroup);
uint64_t memcg_flush_pending(const struct memcg_flush *flush, uint32_t cgroup);
const struct memcg_flush_counters *memcg_flush_counters(const struct memcg_flush *flush);

/*
 * Statistics updates that the operations of a replay stand for: what turns its counters into the
 * update rate of this component. One cycle of a refault (it, its fill, an eviction, an activation)
 * makes nine.
 */
uint64_t memcg_flush_updates(uint64_t fills, uint64_t evictions, uint64_t activations,
			     uint64_t refaults);

/* A service that refaults on a machine of many cgroups. Rates are per second. */
struct memcg_load {
	double duration_s;
	double update_rate;		/* statistics updates, whole machine */
	double updates_per_event;	/* that one refault and what belongs to it make */
	double service_share; /* of the events that are refaults of the service (cgroup 0) */
	double reclaim_rate;		/* shrink_node() calls */
	double reader_rate;		/* memory.stat of the service */
	double service_cpus;		/* CPUs the service uses, flushing included */
	double burst_share; /* of the time the rate is burst_factor as high; the mean stays */
	double burst_factor;
	uint64_t seed;
};

extern const struct param memcg_load_table[];

enum { NR_FLUSH_BUCKETS = 12 };
extern const double memcg_flush_bucket_ns[NR_FLUSH_BUCKETS]; /* upper bounds, the last infinite */

struct memcg_load_result {
	struct memcg_flush_counters counters;
	uint64_t nr_refaults;		/* of the service */
	double flushes_per_s;		/* all callers */
	double flush_p50_ns;		/* of the flushes that refaults ran; NAN if none */
	double service_share_pct;	/* of the service's CPU time that is flushing in refaults */
	double machine_cpus;		/* CPUs' worth of flushing, all callers */
	double added_p99_ns, added_p999_ns,
		added_max_ns;			/* per refault, unaffected ones included */
	double stale_mean_s, stale_max_s;	/* age of the counts at a refault's decision */
	double pending_mean;			/* updates they lacked */
	uint64_t bucket[NR_FLUSH_BUCKETS];	/* refaults by added latency; [0]: none */
};

int memcg_load_run(const struct memcg_flush_params *params, const struct memcg_load *load,
		   struct memcg_load_result *result, struct err *err);
/* The same, and @flushed is told of each refault that had to flush. */
int memcg_load_run_told(const struct memcg_flush_params *params, const struct memcg_load *load,
			void (*flushed)(void *ctx, double start_ns, double flush_ns), void *ctx,
			struct memcg_load_result *result, struct err *err);

/* ---- osdb.c: a database whose working set is as large as the cache, on a kernel model -------- */

struct kernel_ops;

struct osdb_params {
	uint64_t data_bytes;		/* the tables: written whole once, the burst */
	uint64_t working_set_bytes;	/* of it, read and changed at random afterwards */
	bool last;			/* the part written last; otherwise spread over the data */
	uint64_t idle_anon_bytes;	/* touched at the start, never again */
	uint64_t busy_anon_bytes;	/* touched with every access */
	uint64_t nr_accesses;		/* to the working set */
	double write_share;		/* of them that change the page */
	bool cyclic;			/* in order, round and round, instead of at random */
	uint64_t sync_pages;		/* of the burst, written to disk each time; 0: never */
	/* Virtual time of a touch of memory, a write of the burst, an access that hits, misses. */
	double touch_ns, write_ns, hit_ns, miss_ns;
	uint64_t seed;
};

extern const struct param osdb_params_table[];

struct osdb_result {
	uint64_t burst_misses;		/* of the write burst that cost a read or a swap-in */
	uint64_t file_misses;		/* of the random accesses: one seek each */
	uint64_t swap_misses;		/* of the process memory touched with them */
	uint64_t nr_accesses;
	uint64_t swapped_out_pages;
};

/* Runs the workload on @ops with @model_params at @capacity_pages. */
int osdb_run(const struct kernel_ops *ops, const void *model_params, uint32_t capacity_pages,
	     const struct osdb_params *params, struct osdb_result *result, struct err *err);

/* ---- codec_cost.c: measured costs of compressing a page -------------------------------------- */

/* Means per 4 KiB page, and how small the pages get: quantiles of compressed / 4096. */
struct codec_cost {
	const char *codec;	/* "lzo", "lz4", "zstd" */
	const char *content;	/* "text", "binary", "random", "zero" */
	double put_ns, get_ns;
	double ratio[5];	/* 5 %, 25 %, 50 %, 75 %, 95 % of the pages are below */
};

extern const char codec_cost_source[];	/* where the figures come from */
extern const struct codec_cost codec_costs[];	/* ends with codec NULL */
const struct codec_cost *codec_cost_find(const char *codec, const char *content);
/* Compressed size of page @id, bytes, at most 4096 + 64: the same for the same @seed. */
uint32_t codec_page_bytes(const struct codec_cost *cost, uint32_t id, uint64_t seed);

/* ---- tier.c: a compressed second-chance tier with an admission valve ------------------------- */

enum tier_kind {
	TIER_CLEANCACHE,	/* zcache: clean file pages, zbud, drops its oldest when full */
	TIER_ZSWAP,		/* 6.18: anonymous pages, writes its oldest to swap when full */
	TIER_ZRAM,		/* 6.18: a block device: keeps all, full is full */
};

enum tier_policy {
	TIER_OFF,
	TIER_ALL,		/* zcache */
	TIER_IDLE,		/* only from CPU time that was idle: the reporter's valve */
	TIER_WAS_ACTIVE,	/* pages that were ever on the active list */
	TIER_REFAULTED,		/* pages that came back soon after an earlier eviction */
	TIER_PROBABILITY,
	TIER_BUDGET,		/* at most a share of one CPU */
	TIER_RATIO,		/* compresses, keeps what gets small enough */
	NR_TIER_POLICIES
};

extern const char *const tier_policy_names[];

struct tier_params {
	int kind, policy;
	double put_ns, get_ns;		/* compress, decompress one page */
	double lookup_ns;		/* a get that misses */
	uint64_t pool_bytes;
	double reject_ratio; /* compressed sizes above this share of a page are not kept */
	double probability;		/* TIER_PROBABILITY */
	double budget_pct;		/* TIER_BUDGET: of one CPU */
	double idle_pct;		/* TIER_IDLE: of the idle time it may use */
	double saved_ns;		/* both: time not used is saved up to this */
	uint64_t ghost_pages;		/* TIER_REFAULTED: evictions remembered */
	double ratio_max;		/* TIER_RATIO */
	double same_share;		/* pages of one word repeated; not with cleancache */
	double same_ns;			/* to find out that a page is */
	uint64_t seed;
	const struct codec_cost *codec;	/* sizes; not in the table */
};

extern const struct param tier_params_table[];

struct tier_counters {
	uint64_t nr_evictions;		/* pages offered */
	uint64_t nr_refused;		/* by the policy, before any work */
	uint64_t nr_puts;		/* compressed */
	uint64_t nr_poor;		/* of them not kept: too large */
	uint64_t nr_full;		/* not kept: no room */
	uint64_t nr_same, nr_huge;	/* kept without contents; kept as they are */
	uint64_t nr_gets, nr_hits;
	uint64_t nr_dropped;		/* stored pages that left for others */
	uint64_t nr_written;		/* of them to the swap device */
	uint64_t nr_flushed;		/* removed: page invalid */
	uint64_t nr_stored, pool_bytes;	/* now; bytes of memory taken */
	double put_ns, get_ns;		/* CPU time */
};

struct tier;

/* @nr_ids: page ids are below. 28 bytes each. */
struct tier *tier_new(const struct tier_params *params, uint32_t nr_ids, int *code,
		      struct err *err);
void tier_free(struct tier *tier);
/* The page comes in from disk: what TIER_REFAULTED learns from. */
void tier_fill(struct tier *tier, uint32_t page);
/*
 * The page is evicted. @was_active: it ever was; @now_ns, @idle_ns: the clock and the idle time of
 * all CPUs together so far. Returns the CPU time it took; 0: not admitted.
 */
double tier_put(struct tier *tier, uint32_t page, bool was_active, double now_ns, double idle_ns);
/* The page is wanted: true when it was there; it is gone from the tier then. */
bool tier_get(struct tier *tier, uint32_t page, double *ns);
void tier_flush(struct tier *tier, uint32_t page);	/* truncated or overwritten */
const struct tier_counters *tier_counters(const struct tier *tier);

/* A reader and kswapd on a page cache with the tier behind it, in virtual time. */
struct tier_load {
	uint64_t memory_pages;		/* page cache and pool together */
	uint64_t nr_pages;		/* distinct pages */
	uint64_t nr_reads;
	bool shuffled;			/* each round in the same random order; else in order */
	double disk_page_ns;		/* transfer of a page */
	double seek_ns;			/* before each; then no readahead */
	uint64_t readahead_pages;	/* in flight where there are no seeks */
	double insert_ns;		/* of a page, in the file's tree_lock */
	double copy_ns;			/* the rest of reading a page */
	double evict_ns;		/* of a page, in the lock, without the tier */
	double think_ns;		/* between two reads, idle */
	bool in_lock;			/* the put is inside the lock */
	uint64_t nr_cpus;		/* 1: reader and kswapd share it */
	uint64_t warmup_reads;		/* not counted in the result */
};

extern const struct param tier_load_table[];

struct tier_load_result {
	double mb_s;
	double cpu_pct;			/* of all CPUs: busy, spinning included */
	double spin_pct;		/* of all CPUs: waiting for the lock */
	double hit_ratio;		/* tier hits / page cache misses */
	double hits_per_put;		/* NAN without puts */
	double put_share;		/* of the evictions that were compressed */
	uint64_t nr_misses, nr_disk_reads, nr_direct;
	struct tier_counters tier;
	double run_s;
};

int tier_load_run(const struct tier_params *params, const struct tier_load *load,
		  struct tier_load_result *result, struct err *err);
/* ---- shrinkers.c: shrink_slab() over one shrinker per superblock ----------------------------- */

/* A shrinker that has something to count. Those that have nothing are a number only. */
struct shrinker {
	uint64_t freeable;		/* objects it would count */
	uint64_t deferred;		/* nr, nr_deferred: left over from earlier passes */
	uint32_t seeks;			/* DEFAULT_SEEKS 2; 0: costs nothing to recreate (6.18) */
	uint32_t batch;			/* 128; 1024 for superblocks */
};

struct shrinkers {
	struct shrinker *item;		/* the caller's */
	size_t nr_items;
	uint64_t nr_empty;		/* count nothing: polled, never called, never traced */
	double poll_ns;			/* to ask one, empty or not: locks and count */
	double object_ns;		/* to free one object */
	bool delta_by_priority;		/* 4.16 and later; otherwise scanned / lru_pages */
	bool memcg_bitmap;		/* 4.19 and later: memcg reclaim skips empty ones */
};

struct shrink_slab_control {
	uint64_t nr_scanned;		/* pages the LRU pass looked at */
	uint64_t lru_pages;		/* reclaimable pages of the zones in question */
	int priority;			/* 12..0 */
	bool memcg_reclaim;		/* reclaim of a memcg below the root */
};

struct shrink_slab_counters {
	uint64_t nr_passes, nr_polled, nr_objects;
	double poll_ns, object_ns;
};

/* One pass; adds to @counters, returns the objects freed. */
uint64_t shrink_slab(struct shrinkers *shrinkers, const struct shrink_slab_control *control,
		     struct shrink_slab_counters *counters);

/* ---- kswapd.c: zones, watermarks and balance_pgdat() under a sequential reader --------------- */

enum kswapd_version {
	KSWAPD_3_2,
	KSWAPD_3_10, /* raises the priority when too little was scanned */
	KSWAPD_4_8, /* node LRU: one page and one slab pass per node, any balanced zone is enough */
	KSWAPD_6_18,
	NR_KSWAPD_VERSIONS
};

struct kswapd_params {
	int version;			/* enum kswapd_version */
	uint64_t nr_superblocks;	/* all of them empty: under 100 objects */
	double superblock_ns;		/* c_sb: one poll of one */
	double page_ns;			/* c_page: one page reclaimed */
	double demand_mb_s;		/* MB/s (10^6) the reader takes */
	uint64_t read_bytes;		/* in all */
	uint64_t window_pages;		/* allocated in one go: a readahead window */
	double alloc_ns;		/* between two allocations within it */
	double jitter;			/* of the interval between windows: 0 even, 1 exponential */
	uint64_t seed;
	bool node_pass; /* what-ifs on top of the version: 4.8's single pass alone */
	bool delta_by_priority;		/* 4.16's alone */
	bool memcg_bitmap;		/* 4.19's alone */
	bool lower_priority;	/* 3.2: rounds that freed under 32 pages do; off: no kernel */
};

extern const struct param kswapd_params_table[];

struct kswapd_result {
	double cpu_pct;			/* kswapd's, of one CPU */
	double page_pct;		/* of its CPU time that reclaims pages; the rest polls */
	double pages_per_pass;		/* reclaimed by kswapd per slab pass */
	double run_s;			/* virtual time */
	uint64_t nr_allocated, nr_reclaimed, nr_direct;	/* pages; direct: by the reader itself */
	uint64_t nr_loops;		/* starts at priority 12 */
	uint64_t nr_wakes;
	double direct_ns;		/* time the reader lost in it */
	struct shrink_slab_counters slab;
	int64_t free_start, free_end;	/* conservation: allocated - reclaimed = start - end */
};

int kswapd_run(const struct kswapd_params *params, struct kswapd_result *result, struct err *err);

/* CPU share = rate * (page_ns + superblocks * superblock_ns / pages_per_pass), at most 1. */
double kswapd_closed_form(double pages_per_s, double page_ns, double superblocks,
			  double superblock_ns, double pages_per_pass);

#endif
