/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * linux_params.h - parameters, by stage, that linux.c puts together into a table for each version.
 * It has the names of the choices, too.
 */
#ifndef PAGEREEL_REPLAY_LINUX_PARAMS_H
#define PAGEREEL_REPLAY_LINUX_PARAMS_H

#include <stddef.h>

#include "replay/kernel/kernel.h"

#define P(field) offsetof(struct linux_params, field)

/*
 * What all versions have in common, and BATCH, the pages of a folio batch; STALE, how old
 * statistics get (6.1 flushes them in every reclaim, prepare_scan_control()); RULES of readahead.
 */
#define LINUX_PARAMS(BATCH, STALE, RULES)							\
	BATCH_PARAM(BATCH),									\
	{ "charge_batch", PARAM_U64, P(charge_batch_pages), "64", 1, 4096, "pages",		\
	  "pages charged at a time (MEMCG_CHARGE_BATCH)", NULL },				\
	CLUSTER_PARAM,										\
	{ "stale_stats", PARAM_NS, P(stats_period_ns), STALE, 0, 1e12, "ns",			\
	  "period of the memcg statistics flush; 0: always exact", NULL },			\
	{ "stats_phase", PARAM_NS, P(stats_phase_ns), "0", 0, 1e12, "ns",			\
	  "first flush after the start of the stream; 0: as recorded, else half a period",	\
	  NULL },										\
	RESERVE_PARAM,										\
	{ "reserve_recorded", PARAM_BOOL, P(reserve_recorded), "on", 0, 0, NULL,		\
	  "take off the limit what the capture had charged for other things", NULL },		\
	CACHE_PARAMS(RULES),									\
	ORDER_PARAM,										\
	FLUSHER_PARAMS

#define BATCH_PARAM(BATCH)									\
	{ "batch", PARAM_U64, P(batch_pages), BATCH, 1, FOLIO_BATCH_MAX, "pages",		\
	  "folio batch in front of the lists", NULL }
#define CLUSTER_PARAM										\
	{ "cluster", PARAM_U64, P(cluster_pages), "32", 1, 4096, "pages",			\
	  "pages scanned at a time and least to reclaim (SWAP_CLUSTER_MAX)", NULL }
#define RESERVE_PARAM										\
	{ "reserve", PARAM_BYTES, P(reserve_bytes), "0", 0, 0, "bytes",				\
	  "of the limit, not available to page cache", NULL }

/* Clock, readahead, folios, writeback. */
#define CACHE_PARAMS(RULES)									\
	{ "waits", PARAM_BOOL, P(waits), "on", 0, 0, NULL,					\
	  "time runs as it would at this size: a request waits for the disk or not", NULL },	\
	{ "access_time", PARAM_NS, P(access_ns), "2us", 0, 1e9, "ns",				\
	  "time of one access where the stream has no times", NULL },				\
	{ "readahead", PARAM_ENUM, P(readahead), "auto", 0, 0, NULL,				\
	  "recorded: fills nobody asked for come as they were recorded; model: windows as the "	\
	  "kernel opens them; random: as after POSIX_FADV_RANDOM; off: none; auto: model or "	\
	  "random by what the record shows of a file, recorded where it shows no reads",	\
	  readahead_modes },									\
	{ "read_ahead", PARAM_BYTES, P(ra_bytes), "0", 0, 1e9, "bytes",				\
	  "largest window (read_ahead_kb); 0: as recorded, else 128K", NULL },			\
	{ "max_io", PARAM_BYTES, P(io_bytes), "0", 0, 1e9, "bytes",				\
	  "largest request of the device (max_sectors_kb); 0: as recorded, else 1280K", NULL },	\
	{ "ra_rules", PARAM_ENUM, P(ra_rules), RULES, 0, 0, NULL,				\
	  "whose windows: those up to 3.10 (3.2), 6.10 (6.1), 6.15 (6.12) or later (6.18)",	\
	  ra_rules }
#define ORDER_PARAM										\
	{ "max_order", PARAM_ENUM, P(max_order), "recorded", 0, 0, NULL,			\
	  "largest folio, as a power of two of pages; recorded: as large as were seen",		\
	  orders }
#define FLUSHER_PARAMS										\
	{ "dirty_expire", PARAM_NS, P(dirty_expire_ns), "30s", 0, 1e13, "ns",			\
	  "age at which a dirty page is written (vm.dirty_expire_centisecs)", NULL },		\
	{ "dirty_wakeup", PARAM_NS, P(dirty_wakeup_ns), "5s", 1, 1e13, "ns",			\
	  "period of the flusher (vm.dirty_writeback_centisecs)", NULL },			\
	{ "write_io", PARAM_NS, P(write_io_ns), "45us", 0, 1e9, "ns",				\
	  "time that the flusher takes for a page that does not continue the last one", NULL },	\
	{ "write_page", PARAM_NS, P(write_page_ns), "2500ns", 0, 1e9, "ns",			\
	  "time that the flusher takes for each page", NULL }

#define SWAP_PARAMS										\
	{ "swap", PARAM_BOOL, P(swap), "off", 0, 0, NULL,					\
	  "replay touches of anonymous pages, with swap for them", NULL },			\
	{ "swappiness", PARAM_U64, P(swappiness), "60", 0, 200, NULL,				\
	  "memory.swappiness, where there is swap", NULL }

/* Of a machine instead of a memcg. TIME: what kswapd takes for a page. */
#define KSWAPD_PARAMS(TIME)									\
	{ "kswapd", PARAM_BOOL, P(kswapd), "off", 0, 0, NULL,					\
	  "the size is the machine's memory: kswapd and watermarks instead of a limit", NULL },	\
	{ "watermark_scale", PARAM_U64, P(watermark_scale), "10", 1, 3000, "1/10000",		\
	  "vm.watermark_scale_factor", NULL },							\
	{ "kswapd_page", PARAM_NS, P(kswapd_page_ns), TIME, 0, 1e9, "ns",			\
	  "time that kswapd takes to look at a page; 0: none", NULL },				\
	{ "superblocks", PARAM_U64, P(nr_superblocks), "0", 0, 1e6, NULL,			\
	  "empty ones, asked in each pass of a machine's reclaim", NULL },			\
	{ "superblock", PARAM_NS, P(superblock_ns), "47ns", 0, 1e9, "ns",			\
	  "time to ask one", NULL }

/* Multi-gen LRU's own. INSERT, PROTECT: since 6.7 and backports. AGE: stop after aging, 6.8. */
#define MGLRU_PARAMS(INSERT, PROTECT, AGE)							\
	{ "min_batch", PARAM_U64, P(min_lru_batch_pages), "64", 1, MAX_ISOLATED, "pages",	\
	  "pages isolated at a time (MIN_LRU_BATCH)", NULL },					\
	{ "max_batch", PARAM_U64, P(max_lru_batch_pages), "4096", 1, 1 << 20, "folios",		\
	  "folios looked at at a time (MAX_LRU_BATCH)", NULL },					\
	{ "tier_gain", PARAM_U64, P(tier_gain), "2", 1, 100, NULL,				\
	  "how many times the first tier's refaults a higher tier may have", NULL },		\
	{ "insert_second", PARAM_BOOL, P(insert_second), INSERT, 0, 0, NULL,			\
	  "of four generations new folios go to the second oldest", NULL },			\
	{ "protect_full", PARAM_BOOL, P(protect_full), PROTECT, 0, 0, NULL,			\
	  "a folio that was read five times is never evicted from the oldest generation", NULL },\
	{ "age_only", PARAM_BOOL, P(age_only), AGE, 0, 0, NULL,					\
	  "a pass that made a generation does not evict", NULL }

/* RANDOM: before 6.3 (vma_has_recency) only MADV_SEQUENTIAL made a mapping's touches not count. */
#define MAPPED_PARAMS(RANDOM)									\
	{ "random_recency", PARAM_BOOL, P(random_recency), RANDOM, 0, 0, NULL,			\
	  "touches through a mapping with MADV_RANDOM count", NULL }

#define DIRTY_LIMIT_PARAMS									\
	{ "dirty_limit", PARAM_ENUM, P(dirty_limit), "auto", 0, 0, NULL,			\
	  "is the flusher woken by the share of dirty pages? auto: in a memcg of v2 and for a "	\
	  "machine", dirty_limits },								\
	{ "dirty_ratio", PARAM_U64, P(dirty_ratio), "20", 1, 100, "%",				\
	  "vm.dirty_ratio", NULL },								\
	{ "dirty_background", PARAM_U64, P(dirty_background), "10", 0, 100, "%",		\
	  "vm.dirty_background_ratio", NULL }

/* Of reclaim zone by zone. */
#define ZONES_PARAMS										\
	{ "dma32", PARAM_BYTES, P(dma32_bytes), "3503M", 0, 0, "bytes",				\
	  "most memory between 16 MB and 4 GB; what is more is NORMAL", NULL },			\
	{ "min_free", PARAM_BYTES, P(min_free_bytes), "0", 0, 0, "bytes",			\
	  "vm.min_free_kbytes; 0: as the kernel sets it, with transparent huge pages", NULL },	\
	{ "superblocks", PARAM_U64, P(nr_superblocks), "20", 0, 1e6, NULL,			\
	  "asked in each slab pass, all empty", NULL },						\
	{ "superblock", PARAM_NS, P(superblock_ns), "78ns", 0, 1e9, "ns",			\
	  "time to ask one", NULL },								\
	{ "kswapd_page", PARAM_NS, P(kswapd_page_ns), "450ns", 0, 1e9, "ns",			\
	  "time that kswapd takes to look at a page", NULL }

#endif
