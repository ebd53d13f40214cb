// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vm2002.c - lists, watermarks, dirty pages and swap that the models of 2.4 and 2.5 share.
 *
 * Both kernels keep anonymous and file pages on the same two lists, LRU with a second chance:
 * mark_page_accessed() sets Referenced, and a second access moves an inactive page to the active
 * list. They differ in how a page leaves: linux-2.4.c, linux-2.5.c.
 *
 * Watermarks (mm/page_alloc.c of both): min = clamp(zone / 128, 20, 255), low twice and high three
 * times that. Memory is capacity_pages less kernel_bytes.
 *
 * Approximations. One zone (with 24 to 96 MB there are two, and 2.5 has lists for each: a page's
 * fate then depends a little on where it was allocated). kswapd runs to its end at the allocation
 * that crosses low: the task never gets into direct reclaim before it. Writing takes no time: a
 * dirty page at the tail is written and kept for another round, and when dirty pages exceed a share
 * of memory all of them are written at once, as bdflush (30 %) and pdflush (10 %) do in the
 * background. A page of swap keeps its copy after it was read in, until it is written again.
 */
#include <errno.h>
#include <stdlib.h>

#include "replay/kernel/vm2002.h"

#define P(field) offsetof(struct vm_params, field)
#define COMMON_PARAMS(dirty) \
	{ "dirty_pct", PARAM_PCT, P(dirty_pct), dirty, 0, 0, "%", \
	  "of memory dirty before writing starts", NULL }, \
	{ "swap", PARAM_BOOL, P(swap), "1", 0, 0, NULL, "there is swap", NULL }, \
	{ 0 }

const struct param vm_params_2_4[] = {
	{ "kernel", PARAM_BYTES, P(kernel_bytes), "0", 0, 0, "bytes", "memory on no list", NULL },
	COMMON_PARAMS("30")
};

const struct param vm_params_2_5[] = {
	{ "kernel", PARAM_BYTES, P(kernel_bytes), "0", 0, 0, "bytes", "memory on no list", NULL },
	{ "swappiness", PARAM_U64, P(swappiness), "60", 0, 100, NULL, "vm.swappiness", NULL },
	COMMON_PARAMS("10")
};
#undef P

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
	return value < low ? low : value > high ? high : value;
}

static int init(struct vm *vm, const struct kernel_config *config,
		const struct vm_policy *policy, struct err *err)
{
	const struct vm_params *params = config->params;
	int64_t kernel = params->kernel_bytes / PAGE_BYTES;

	*vm = (struct vm){ .policy = policy, .params = *params, .nr_ids = config->nr_ids };
	vm->total_pages = config->capacity_pages;
	vm->free_pages = vm->total_pages - kernel;
	vm->pages_min = clamp(vm->total_pages / 128, 20, 255);
	vm->pages_low = 2 * vm->pages_min;
	vm->pages_high = 3 * vm->pages_min;
	if (vm->free_pages <= vm->pages_high + VM_SWAP_CLUSTER_MAX)
		return err_set(err, -EINVAL, "memory of %u pages leaves nothing beside a kernel of "
			       "%lld pages and watermarks", config->capacity_pages,
			       (long long)kernel);
	vm->flags = calloc((size_t)vm->nr_ids + 1, sizeof(*vm->flags));
	vm->links = calloc((size_t)vm->nr_ids + 2, sizeof(*vm->links));
	if (!vm->flags || !vm->links)
		return err_set(err, -ENOMEM, "no memory for %u pages", vm->nr_ids);
	for (int active = 0; active < 2; active++)
		vm->links[vm_head(vm, active)] =
			(struct vm_links){ vm_head(vm, active), vm_head(vm, active) };
	vm->n.metadata_bytes = (uint64_t)vm->nr_ids * (sizeof(*vm->flags) + sizeof(*vm->links));
	return 0;
}

void vm_destroy(struct kernel_model *m)
{
	if (!m)
		return;
	free(m->vm.flags);
	free(m->vm.links);
	free(m);
}

struct kernel_model *vm_create(const struct kernel_config *config, const struct vm_policy *policy,
			       int *code, struct err *err)
{
	struct kernel_model *m = calloc(1, sizeof(*m));

	*code = m ? init(&m->vm, config, policy, err) :
		    err_set(err, -ENOMEM, "no memory for %s", policy->name);
	if (!*code)
		return m;
	vm_destroy(m);
	return NULL;
}

static void link_after(struct vm *vm, uint32_t at, uint32_t page)
{
	uint32_t next = vm->links[at].next;

	vm->links[page] = (struct vm_links){ .next = next, .prev = at };
	vm->links[next].prev = page;
	vm->links[at].next = page;
}

static void unlink_page(struct vm *vm, uint32_t page)
{
	struct vm_links l = vm->links[page];

	vm->links[l.prev].next = l.next;
	vm->links[l.next].prev = l.prev;
}

void vm_list_add(struct vm *vm, uint32_t page, bool active)
{
	link_after(vm, vm_head(vm, active), page);
	vm->flags[page] = (vm->flags[page] & ~VM_ACTIVE) | (active ? VM_ACTIVE : 0);
	vm->nr_list[active]++;
}

void vm_list_del(struct vm *vm, uint32_t page)
{
	unlink_page(vm, page);
	vm->nr_list[!!(vm->flags[page] & VM_ACTIVE)]--;
}

void vm_rotate(struct vm *vm, uint32_t page)
{
	unlink_page(vm, page);
	link_after(vm, vm_head(vm, vm->flags[page] & VM_ACTIVE), page);
}

void vm_set_mapped(struct vm *vm, uint32_t page, bool mapped)
{
	if (!!(vm->flags[page] & VM_MAPPED) == mapped)
		return;
	vm->flags[page] ^= VM_MAPPED;
	vm->nr_mapped += mapped ? 1 : -1;
}

void vm_clean(struct vm *vm, uint32_t page)
{
	if (!(vm->flags[page] & VM_DIRTY))
		return;
	vm->flags[page] &= ~VM_DIRTY;
	vm->n.written++;
	if (vm->flags[page] & VM_ANON) {
		vm->flags[page] |= VM_SWAPPED;
		vm->n.swapped_out++;
	} else {
		vm->nr_dirty--;
	}
}

/* The page leaves memory; what swap remembers of it stays. */
static void drop_page(struct vm *vm, uint32_t page)
{
	vm_set_mapped(vm, page, false);
	vm_list_del(vm, page);
	if (vm->flags[page] & VM_ANON)
		vm->nr_anon--;
	else if (vm->flags[page] & VM_DIRTY)
		vm->nr_dirty--;
	vm->flags[page] &= VM_ANON | VM_SWAPPED | VM_SEEN;
	vm->free_pages++;
	vm->n.resident_pages--;
}

void vm_free_page(struct vm *vm, uint32_t page)
{
	drop_page(vm, page);
	vm->n.evictions++;
	vm->n.reclaimed++;
}

void vm_mark_accessed(struct vm *vm, uint32_t page)
{
	uint16_t flags = vm->flags[page];

	if (!(flags & VM_REFERENCED)) {
		vm->flags[page] = flags | VM_REFERENCED;
	} else if (!(flags & VM_ACTIVE)) {
		vm_list_del(vm, page);
		vm_list_add(vm, page, true);
		vm->flags[page] &= ~VM_REFERENCED;
		vm->n.activated++;
	}
}

/* pdflush, bdflush: everything dirty in the files is written, oldest or not. */
static void write_back_all(struct vm *vm)
{
	for (uint32_t page = 0; page < vm->nr_ids && vm->nr_dirty; page++)
		if ((vm->flags[page] & (VM_DIRTY | VM_ANON)) == VM_DIRTY)
			vm_clean(vm, page);
}

static void set_dirty(struct vm *vm, uint32_t page)
{
	if (vm->flags[page] & VM_DIRTY)
		return;
	vm->flags[page] |= VM_DIRTY;
	if (vm->flags[page] & VM_ANON)
		return;
	vm->nr_dirty++;
	if (vm->nr_dirty > vm->total_pages * vm->params.dirty_pct / 100)
		write_back_all(vm);
}

static int alloc_page(struct vm *vm, struct err *err)
{
	if (vm->free_pages <= vm->pages_low) {
		vm->nr_reclaims++;
		vm->policy->balance(vm);
	}
	if (vm->free_pages <= 0)
		return err_set(err, -ENODATA, "out of memory: %lld pages, %lld of them anonymous, "
			       "and none can be reclaimed (more memory, or swap)",
			       (long long)vm->total_pages, (long long)vm->nr_anon);
	vm->free_pages--;
	return 0;
}

/* A page comes in: read, written whole, zero-filled or from swap. */
static int fill_page(struct vm *vm, uint32_t page, enum demand_op op, struct err *err)
{
	bool anon = op == DEMAND_ANON;
	int ret = alloc_page(vm, err);

	if (ret)
		return ret;
	vm->n.fills++;
	vm->n.fills_compulsory += !(vm->flags[page] & VM_SEEN);
	vm->n.fills_whole_write += op == DEMAND_WRITE_WHOLE;
	vm->n.refaults += !!(vm->flags[page] & VM_SEEN);
	vm->n.swapped_in += anon && (vm->flags[page] & VM_SWAPPED);
	vm->n.resident_pages++;
	vm->flags[page] |= VM_RESIDENT | VM_SEEN | (anon ? VM_ANON : 0);
	vm->nr_anon += anon;
	vm_list_add(vm, page, anon && vm->policy->anon_active);
	if (anon && !(vm->flags[page] & VM_SWAPPED))
		set_dirty(vm, page);
	return 0;
}

static void touch_page(struct vm *vm, uint32_t page, enum demand_op op, bool filled)
{
	switch (op) {
	case DEMAND_ANON:
		vm_set_mapped(vm, page, true);
		vm->flags[page] |= VM_YOUNG;
		if (filled)		/* do_anonymous_page(), do_swap_page() */
			vm_mark_accessed(vm, page);
		break;
	case DEMAND_FAULT:
		vm_set_mapped(vm, page, true);
		vm->flags[page] |= VM_YOUNG;
		break;
	case DEMAND_WRITE:
	case DEMAND_WRITE_WHOLE:
		vm->flags[page] |= VM_REFERENCED;	/* generic_file_write() never activates */
		set_dirty(vm, page);
		break;
	default:
		vm_mark_accessed(vm, page);
	}
}

static int access_page(struct vm *vm, uint32_t page, enum demand_op op, uint8_t *hit,
		       struct err *err)
{
	bool resident = vm->flags[page] & VM_RESIDENT;
	int ret = 0;

	vm->n.accesses++;
	vm->n.hits += resident;
	vm->n.misses += !resident;
	if (hit)
		*hit = resident;
	if (!resident)
		ret = fill_page(vm, page, op, err);
	if (!ret)
		touch_page(vm, page, op, !resident);
	return ret;
}

static void truncate_page(struct vm *vm, uint32_t page)
{
	if (vm->flags[page] & VM_RESIDENT)
		drop_page(vm, page);
	vm->flags[page] &= VM_SEEN;
}

static int side_record(struct vm *vm, uint32_t page, enum demand_op op, struct err *err)
{
	bool resident = vm->flags[page] & VM_RESIDENT;
	int ret = 0;

	if (op == DEMAND_TRUNCATE) {
		truncate_page(vm, page);
	} else if (op == DEMAND_READAHEAD && !resident) {
		ret = fill_page(vm, page, op, err);
		vm->n.fills_undemanded++;
	} else if (op == DEMAND_FSYNC && resident) {
		vm_clean(vm, page);
	} else if (op == DEMAND_MAP && resident) {
		vm_set_mapped(vm, page, true);
	}
	return ret;
}

int vm_feed(struct kernel_model *m, const struct demand_block *block, uint8_t *hit,
	    struct err *err)
{
	struct vm *vm = &m->vm;

	for (size_t i = 0; i < block->nr; i++) {
		enum demand_op op = block->op ? block->op[i] : DEMAND_READ;
		uint32_t run = block->run ? block->run[i] : 1, first = block->page[i];

		if (op == DEMAND_CHARGE || op == DEMAND_UNCHARGE || op == DEMAND_LIMIT ||
		    op == DEMAND_EXIT)
			continue;	/* neither kernel has memory cgroups */
		if (first >= vm->nr_ids || run > vm->nr_ids - first)
			return err_set(err, -EBADMSG, "demand record wants page %llu of %u",
				       (unsigned long long)first + run - 1, vm->nr_ids);
		for (uint32_t page = first; page < first + run; page++) {
			int ret;

			if (demand_op_is_access(op))
				ret = access_page(vm, page, op, hit ? hit++ : NULL, err);
			else
				ret = side_record(vm, page, op, err);
			if (ret)
				return ret;
		}
	}
	return 0;
}

void vm_counters(const struct kernel_model *m, struct replay_counters *out)
{
	*out = m->vm.n;
}

int vm_costs(const struct kernel_model *m, struct replay_cost *out, int max)
{
	const struct vm *vm = &m->vm;
	const struct replay_cost costs[] = {
		{ "lookup", "lookup.page", vm->n.accesses },
		{ "fill", "fill.page", vm->n.fills },
		{ "scan", "scan.page", vm->n.scanned },
		{ "scan", "deactivate.page", vm->n.deactivated },
		{ "reclaim", "reclaim.page", vm->n.reclaimed },
		{ "reclaim", "reclaim.folio", vm->n.reclaimed },
		{ "reclaim", "reclaim.node", vm->n.reclaimed },	/* as if all were far apart */
	};
	int nr = ARRAY_SIZE(costs);

	for (int i = 0; i < nr && i < max; i++)
		out[i] = costs[i];
	return nr;
}
