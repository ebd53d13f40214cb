// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * linux-2.4.c - page reclaim of Linux 2.4.19: no preference between anonymous and file pages.
 *
 * Pages come in at the head of the inactive list, anonymous ones too. Reclaim walks it from its
 * tail, moving each page it looks at to the head. A page that a page table still maps cannot be
 * freed: it costs one of max_mapped, and when those are used up, swap_out() goes round the address
 * spaces and unmaps up to 32 pages that were not touched since the clock came by last; the next
 * walk then finds them unmapped, writes them to swap and frees them. So idle process memory is at
 * risk as soon as it lies thick enough at the inactive tail, at far smaller shares of memory than
 * 2.5 asks for.
 *
 *	try_to_free_pages()	priority 6 to 1, wants 32 pages
 *	refill_inactive(n)	n = 32 * nr_active / ((nr_inactive + 1) * 2): Referenced pages
 *				rotate, others become inactive, with Referenced set
 *	shrink_cache()		max_scan = nr_inactive / priority;
 *				max_mapped = min(32 << (10 - priority), max_scan / 10)
 *	swap_out()		round robin, clock over page table entries: young ->
 *				mark_page_accessed(); active pages are left alone
 *
 * mm/vmscan.c, mm/filemap.c, mm/page_alloc.c of 2.4.19. Approximations beside those of vm2002.c:
 * the address spaces are one, in order of page ids, and one call goes round at most once; pages
 * with buffers are not told apart; slab is not reclaimed (it belongs to kernel_bytes).
 */
#include "replay/kernel/vm2002.h"

enum { DEF_PRIORITY = 6 };

static void refill_inactive(struct vm *vm, int64_t nr_pages)
{
	int64_t nr_left = vm->nr_list[1];

	while (nr_pages > 0 && nr_left-- > 0) {
		uint32_t page = vm_tail(vm, true);

		vm->nr_refilled++;
		if (vm->flags[page] & VM_REFERENCED) {
			vm->flags[page] &= ~VM_REFERENCED;
			vm_rotate(vm, page);
			vm->n.rotated++;
			continue;
		}
		vm_list_del(vm, page);
		vm_list_add(vm, page, false);
		vm->flags[page] |= VM_REFERENCED;
		vm->n.deactivated++;
		nr_pages--;
	}
}

/* try_to_swap_out(): true when the page lost its mapping. */
static bool try_to_swap_out(struct vm *vm, uint32_t page)
{
	uint16_t flags = vm->flags[page];

	vm->nr_ptes++;
	if (flags & VM_YOUNG) {
		vm->flags[page] &= ~VM_YOUNG;
		vm_mark_accessed(vm, page);
		return false;
	}
	if ((flags & VM_ACTIVE) || ((flags & VM_ANON) && !vm->params.swap))
		return false;
	vm_set_mapped(vm, page, false);
	return true;
}

static void swap_out(struct vm *vm)
{
	int nr_pages = VM_SWAP_CLUSTER_MAX;

	for (uint32_t i = 0; i < vm->nr_ids && nr_pages > 0; i++) {
		uint32_t page = vm->clock_hand;

		vm->clock_hand = page + 1 == vm->nr_ids ? 0 : page + 1;
		if (vm->flags[page] & VM_MAPPED)
			nr_pages -= try_to_swap_out(vm, page);
	}
}

/* Returns how many of @nr_pages are still wanted. */
static int64_t shrink_cache(struct vm *vm, int64_t nr_pages, int priority)
{
	int64_t max_scan = vm->nr_list[0] / priority;
	int64_t max_mapped = nr_pages << (10 - priority);

	if (max_mapped > max_scan / 10)
		max_mapped = max_scan / 10;
	while (--max_scan >= 0 && vm->nr_list[0] && nr_pages > 0) {
		uint32_t page = vm_tail(vm, false);

		vm_rotate(vm, page);
		vm->n.scanned++;
		if (vm->flags[page] & VM_MAPPED) {
			if (--max_mapped >= 0)
				continue;
			swap_out(vm);
			return nr_pages;
		}
		if (vm->flags[page] & VM_DIRTY) { /* writepage(): freed when it comes round again */
			vm_clean(vm, page);
			continue;
		}
		vm_free_page(vm, page);
		nr_pages--;
	}
	return nr_pages;
}

static int64_t try_to_free_pages(struct vm *vm)
{
	int64_t nr_pages = VM_SWAP_CLUSTER_MAX;

	for (int priority = DEF_PRIORITY; priority > 0 && nr_pages > 0; priority--) {
		refill_inactive(vm, nr_pages * vm->nr_list[1] / ((vm->nr_list[0] + 1) * 2));
		nr_pages = shrink_cache(vm, nr_pages, priority);
	}
	return VM_SWAP_CLUSTER_MAX - nr_pages;
}

/* kswapd_balance(); gives up after some rounds without a page. */
static void balance(struct vm *vm)
{
	int idle = 0;

	while (vm->free_pages < vm->pages_high && idle < 64)
		idle = try_to_free_pages(vm) > 0 ? 0 : idle + 1;
}

static const struct vm_policy policy = {
	.name = "linux-2.4",
	.balance = balance,
};

static struct kernel_model *create(const struct kernel_config *config, int *code, struct err *err)
{
	return vm_create(config, &policy, code, err);
}

const struct kernel_ops linux_2_4_ops = {
	.name = "linux-2.4",
	.title = "2.4.19: one clock for all, swap_out() when mapped pages are in the way",
	.source = "Linux 2.4.19: try_to_free_pages(), shrink_cache(), swap_out()",
	.params = vm_params_2_4,
	.params_bytes = sizeof(struct vm_params),
	.create = create,
	.feed = vm_feed,
	.counters = vm_counters,
	.costs = vm_costs,
	.destroy = vm_destroy,
};
