/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vm2002.h - what the page reclaim of 2.4 and 2.5 have in common: one active and one inactive list
 * of anonymous and file pages together, watermarks, dirty pages, swap. Internal to replay/kernel/.
 */
#ifndef PAGEREEL_REPLAY_VM2002_H
#define PAGEREEL_REPLAY_VM2002_H

#include "replay/replay.h"

enum vm_flag {
	VM_RESIDENT = 1 << 0,
	VM_ACTIVE = 1 << 1,
	VM_REFERENCED = 1 << 2,	/* PG_referenced */
	VM_YOUNG = 1 << 3,	/* accessed bit of the page table entry */
	VM_MAPPED = 1 << 4,	/* by a page table; 2.4's swap_out() takes it away */
	VM_ANON = 1 << 5,
	VM_DIRTY = 1 << 6,
	VM_SWAPPED = 1 << 7,	/* a copy is in swap */
	VM_SEEN = 1 << 8,
};

enum { VM_SWAP_CLUSTER_MAX = 32 };

struct vm_params {
	uint64_t kernel_bytes;	/* of memory: image, mem_map, slab, page tables: never on a list */
	uint64_t swappiness;	/* 2.5 */
	double dirty_pct;	/* of memory: beyond it all dirty pages are written */
	bool swap;
};

struct vm_links {
	uint32_t next, prev;
};

struct vm;

/* What the two kernels do differently. */
struct vm_policy {
	const char *name;
	void (*balance)(struct vm *vm);	/* reclaims towards pages_high */
	bool anon_active;		/* new anonymous pages start on the active list (2.5) */
};

struct vm {
	const struct vm_policy *policy;
	struct vm_params params;
	uint32_t nr_ids;
	int64_t total_pages, free_pages;
	int64_t pages_min, pages_low, pages_high;
	uint16_t *flags;
	struct vm_links *links;		/* heads behind the pages: inactive, active */
	int64_t nr_list[2];		/* inactive, active */
	int64_t nr_mapped, nr_anon;
	int64_t nr_dirty;		/* file pages */
	uint32_t clock_hand;		/* 2.4: where swap_out() goes on */
	int64_t refill_counter;		/* 2.5 */
	bool oom;
	struct replay_counters n;
	uint64_t nr_refilled, nr_ptes, nr_reclaims;
};

struct kernel_model {
	struct vm vm;
};

static inline uint32_t vm_head(const struct vm *vm, bool active)
{
	return vm->nr_ids + active;
}

/* The page at the tail of a list; only where the list is not empty. */
static inline uint32_t vm_tail(const struct vm *vm, bool active)
{
	return vm->links[vm_head(vm, active)].prev;
}

void vm_list_add(struct vm *vm, uint32_t page, bool active);	/* at the head */
void vm_list_del(struct vm *vm, uint32_t page);
void vm_rotate(struct vm *vm, uint32_t page);		/* to the head of the list it is on */
void vm_set_mapped(struct vm *vm, uint32_t page, bool mapped);
void vm_clean(struct vm *vm, uint32_t page);		/* writes it; counts */
void vm_free_page(struct vm *vm, uint32_t page);	/* evicts it */

void vm_mark_accessed(struct vm *vm, uint32_t page);	/* mark_page_accessed() */

/* struct kernel_ops of both; create() of each names its policy. */
struct kernel_model *vm_create(const struct kernel_config *config, const struct vm_policy *policy,
			       int *code, struct err *err);
int vm_feed(struct kernel_model *m, const struct demand_block *block, uint8_t *hit,
	    struct err *err);
void vm_counters(const struct kernel_model *m, struct replay_counters *out);
int vm_costs(const struct kernel_model *m, struct replay_cost *out, int max);
void vm_destroy(struct kernel_model *m);

extern const struct param vm_params_2_4[], vm_params_2_5[];

#endif
