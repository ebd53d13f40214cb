// SPDX-License-Identifier: GPL-2.0-or-later
/* names.c - the names of page and demand operations, as SQL and the command line show them. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/base.h"

static const char *const page_op_names[] = {
	[PAGE_OP_READ] = "read",
	[PAGE_OP_FAULT] = "fault",
	[PAGE_OP_MAP] = "map",
	[PAGE_OP_ADD] = "add",
	[PAGE_OP_DELETE] = "delete",
	[PAGE_OP_DIRTY] = "dirty",
	[PAGE_OP_WRITE] = "write",
	[PAGE_OP_ACTIVATE] = "activate",
	[PAGE_OP_INSERT] = "insert",
	[PAGE_OP_USER_FAULT] = "user_fault",
	[PAGE_OP_WRITE_OUT] = "write_out",
	[PAGE_OP_EVICT] = "evict",
	[PAGE_OP_TRUNCATE] = "truncate",
};
static_assert(ARRAY_SIZE(page_op_names) == NR_PAGE_OPS, "every page op has a name");

static const char *const demand_op_names[] = {
	[DEMAND_READ] = "read",
	[DEMAND_WRITE] = "write",
	[DEMAND_WRITE_WHOLE] = "write_whole",
	[DEMAND_FAULT] = "fault",
	[DEMAND_MAP] = "map",
	[DEMAND_TRUNCATE] = "truncate",
	[DEMAND_READAHEAD] = "readahead",
	[DEMAND_FSYNC] = "fsync",
	[DEMAND_CHARGE] = "charge",
	[DEMAND_UNCHARGE] = "uncharge",
	[DEMAND_LIMIT] = "limit",
	[DEMAND_EXIT] = "exit",
	[DEMAND_ANON] = "anon",
};
static_assert(ARRAY_SIZE(demand_op_names) == NR_DEMAND_OPS, "every demand op has a name");

/* A folio's lru events name its pfn alone; a fault by address has an index but no file. */
static const unsigned int page_op_known[] = {
	[PAGE_OP_READ] = PAGE_COL_FILE | PAGE_COL_INDEX | PAGE_COL_PAGES,
	[PAGE_OP_FAULT] = PAGE_COL_FILE | PAGE_COL_INDEX | PAGE_COL_PAGES,
	[PAGE_OP_MAP] = PAGE_COL_FILE | PAGE_COL_INDEX | PAGE_COL_PAGES,
	[PAGE_OP_ADD] = PAGE_COL_FILE | PAGE_COL_INDEX | PAGE_COL_PAGES | PAGE_COL_PFN,
	[PAGE_OP_DELETE] = PAGE_COL_FILE | PAGE_COL_INDEX | PAGE_COL_PAGES | PAGE_COL_PFN,
	[PAGE_OP_DIRTY] = PAGE_COL_FILE | PAGE_COL_INDEX | PAGE_COL_PAGES,
	[PAGE_OP_WRITE] = PAGE_COL_FILE | PAGE_COL_INDEX | PAGE_COL_PAGES,
	[PAGE_OP_ACTIVATE] = PAGE_COL_PFN,
	[PAGE_OP_INSERT] = PAGE_COL_PFN,
	[PAGE_OP_USER_FAULT] = PAGE_COL_INDEX | PAGE_COL_PAGES,
	[PAGE_OP_WRITE_OUT] = PAGE_COL_PFN,
	[PAGE_OP_EVICT] = PAGE_COL_FILE | PAGE_COL_INDEX | PAGE_COL_PAGES | PAGE_COL_PFN,
	[PAGE_OP_TRUNCATE] = PAGE_COL_FILE | PAGE_COL_INDEX | PAGE_COL_PAGES | PAGE_COL_PFN,
};
static_assert(ARRAY_SIZE(page_op_known) == NR_PAGE_OPS, "every page op has its columns");

unsigned int page_op_columns(enum page_op op)
{
	return (unsigned int)op < NR_PAGE_OPS ? page_op_known[op] : 0;
}

const char *page_op_name(enum page_op op)
{
	return (unsigned int)op < NR_PAGE_OPS ? page_op_names[op] : "?";
}

int page_op_from_name(const char *name)
{
	for (int op = 0; op < NR_PAGE_OPS; op++)
		if (!strcmp(page_op_names[op], name))
			return op;
	return -EINVAL;
}

const char *demand_op_name(enum demand_op op)
{
	return (unsigned int)op < NR_DEMAND_OPS ? demand_op_names[op] : "?";
}
