/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * linux_params.h - tables of parameters that linux.c puts together, those of the stages besides the
 * lists: kswapd.c, mglru.c, dirty_limit.c.
 */
#ifndef PAGEREEL_REPLAY_LINUX_PARAMS_H
#define PAGEREEL_REPLAY_LINUX_PARAMS_H

#include <stddef.h>

#include "replay/kernel/kernel.h"

#define P(field) offsetof(struct linux_params, field)

/* Of a machine instead of a memcg. TIME: what kswapd takes for a page. */
#define KSWAPD_PARAMS(TIME)									\
	{ "kswapd", PARAM_BOOL, P(kswapd), "off", 0, 0, NULL,					\
	  "the size is the machine's memory: kswapd and watermarks instead of a limit", NULL },	\
	{ "watermark_scale", PARAM_U64, P(watermark_scale), "10", 1, 3000, "1/10000",		\
	  "vm.watermark_scale_factor", NULL },							\
	{ "kswapd_page", PARAM_NS, P(kswapd_page_ns), TIME, 0, 1e9, "ns",			\
	  "time that kswapd takes to look at a page; 0: none", NULL }

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

#endif
