// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * linux-2.5.c - page reclaim of Linux 2.5.52: mapped memory is touched only when swap_tendency says
 * so.
 *
 * File pages come in inactive, anonymous pages active, and reverse mappings let reclaim ask of each
 * page whether it was referenced. Mapped pages stay on the active list until
 *
 *	distress = 100 >> priority
 *	mapped_ratio = 100 * nr_mapped / total
 *	swap_tendency = mapped_ratio / 2 + distress + swappiness  >=  100
 *
 * At priority 12, where clean page cache keeps reclaim, distress is 0: mapped memory must be 80 %
 * of all at swappiness 60, 40 % at 80, nothing at 100. It is a threshold, not a balance: below it
 * idle process memory is never taken, however often the page cache refaults; above it, it goes
 * first.
 *
 *	balance_pgdat()		priority 12 to 1; to_reclaim = pages_high - free;
 *				max_scan = max(nr_inactive >> priority, 2 * to_reclaim, 32)
 *	shrink_zone()		ratio = nr * nr_active / ((nr_inactive | 1) * 2); refill_counter +=
 *				ratio + 1; above 32: refill_inactive_zone(), at most 128
 *	refill_inactive_zone()	mapped and referenced, or mapped and not reclaim_mapped: active
 *				again; all others inactive, Referenced or not
 *	shrink_list()		mapped and referenced: active; unmapped and referenced once:
 *                              reclaimed
 *
 * mm/vmscan.c, mm/swap.c of 2.5.52. Approximations: those of vm2002.c; slab is part of
 * kernel_bytes.
 */
#include "replay/kernel/vm2002.h"

enum { DEF_PRIORITY = 12 };

/* page_referenced(): tests and clears PG_referenced and the accessed bit. */
static bool page_referenced(struct vm *vm, uint32_t page)
{
	bool referenced = vm->flags[page] & (VM_REFERENCED | VM_YOUNG);

	vm->flags[page] &= ~(VM_REFERENCED | VM_YOUNG);
	return referenced;
}

static bool reclaim_mapped(const struct vm *vm, int priority)
{
	int64_t distress = 100 >> priority;
	int64_t mapped_ratio = vm->nr_mapped * 100 / vm->total_pages;

	return vm->params.swap &&
	       mapped_ratio / 2 + distress + (int64_t)vm->params.swappiness >= 100;
}

static void refill_inactive_zone(struct vm *vm, int64_t nr_pages, int priority)
{
	bool take_mapped = reclaim_mapped(vm, priority);

	if (nr_pages > vm->nr_list[1])
		nr_pages = vm->nr_list[1];
	while (nr_pages-- > 0) {
		uint32_t page = vm_tail(vm, true);

		vm->nr_refilled++;
		if ((vm->flags[page] & VM_MAPPED) && (page_referenced(vm, page) || !take_mapped)) {
			vm_rotate(vm, page);
			vm->n.rotated++;
			continue;
		}
		vm_list_del(vm, page);
		vm_list_add(vm, page, false);
		vm->n.deactivated++;
	}
}

/* shrink_list() for one page. */
static void shrink_page(struct vm *vm, uint32_t page)
{
	vm->n.scanned++;
	if ((vm->flags[page] & VM_MAPPED) && page_referenced(vm, page)) {
		vm_list_del(vm, page);
		vm_list_add(vm, page, true);
		vm->n.activated++;
		return;
	}
	if ((vm->flags[page] & VM_ANON) && !vm->params.swap) {
		vm_rotate(vm, page);
		return;
	}
	vm_set_mapped(vm, page, false);		/* add_to_swap(), try_to_unmap() */
	if (vm->flags[page] & VM_DIRTY) {	/* pageout(): under writeback, kept */
		vm_clean(vm, page);
		vm_rotate(vm, page);
		return;
	}
	vm_free_page(vm, page);
}

static void shrink_zone(struct vm *vm, int64_t nr_pages, int64_t max_scan, int priority)
{
	int64_t high = vm->pages_high;

	vm->refill_counter += nr_pages * vm->nr_list[1] / ((vm->nr_list[0] | 1) * 2) + 1;
	if (vm->refill_counter > VM_SWAP_CLUSTER_MAX) {
		int64_t nr = vm->refill_counter;

		vm->refill_counter = 0;
		refill_inactive_zone(vm, nr > 128 ? 128 : nr, priority);
	}
	while (max_scan-- > 0 && vm->nr_list[0] && vm->free_pages < high)
		shrink_page(vm, vm_tail(vm, false));
}

static void balance(struct vm *vm)
{
	for (int priority = DEF_PRIORITY; priority > 0; priority--) {
		int64_t to_reclaim = vm->pages_high - vm->free_pages;
		int64_t max_scan = vm->nr_list[0] >> priority;

		if (to_reclaim <= 0)
			return;
		if (max_scan < 2 * to_reclaim)
			max_scan = 2 * to_reclaim;
		if (max_scan < VM_SWAP_CLUSTER_MAX)
			max_scan = VM_SWAP_CLUSTER_MAX;
		shrink_zone(vm, to_reclaim, max_scan, priority);
	}
}

static const struct vm_policy policy = {
	.name = "linux-2.5",
	.balance = balance,
	.anon_active = true,
};

static struct kernel_model *create(const struct kernel_config *config, int *code, struct err *err)
{
	return vm_create(config, &policy, code, err);
}

const struct kernel_ops linux_2_5_ops = {
	.name = "linux-2.5",
	.title = "2.5.52: mapped memory is taken only when swap_tendency reaches 100",
	.source = "Linux 2.5.52: balance_pgdat(), refill_inactive_zone(), shrink_list()",
	.params = vm_params_2_5,
	.params_bytes = sizeof(struct vm_params),
	.create = create,
	.feed = vm_feed,
	.counters = vm_counters,
	.costs = vm_costs,
	.destroy = vm_destroy,
};
