/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * base.h - what every directory may use: error texts, units, parameter tables and the plain
 * structures that travel between directories (page events, demand blocks). Includes nothing of
 * ours.
 */
#ifndef PAGEREEL_BASE_H
#define PAGEREEL_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

enum { PAGE_BYTES = 4096, PAGE_BITS = 12 };

/* ---- errors ---------------------------------------------------------------------------------- */

/*
 * Functions return 0 (or a count) or -errno; the text for a human goes into a nullable struct err,
 * filled where file, offset, event and remedy are known. Style: lower case, what failed first, the
 * subject in single quotes, the remedy last in parentheses.
 */
struct err {
	char text[512];
};

/* Sets the text (the first one set stays) and returns @code, so that it can stand behind return. */
int err_set(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Like err_set(), with ": strerror(-code)" behind the text. */
int err_sys(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/*
 * The program's exit status for a -errno: 0 ok; 2 usage (EINVAL); 3 bad input (EBADMSG, ENODATA);
 * 5 stopped by a full disk or the size limit (ENOSPC, EFBIG); 130 interrupted (EINTR); 4 all else.
 */
int err_exit_status(int code);

/* ---- units ----------------------------------------------------------------------------------- */

/* "64M", "1.5G", "4096", "16KiB" -> bytes (IEC). -EINVAL with text on anything else or overflow. */
int parse_size_bytes(const char *text, uint64_t *bytes, struct err *err);

/* "20M", "1.5k", "300": a number of things, decimal k/M/G (a size in bytes is IEC). */
int parse_count(const char *text, uint64_t *count, struct err *err);

/* "250us", "1.5s", "2m", "60s", "1h", a plain number means seconds -> ns. */
int parse_duration_ns(const char *text, uint64_t *ns, struct err *err);

/* "30%" or "30" -> 30.0, 0 <= value <= @max. */
int parse_pct(const char *text, double max, double *pct, struct err *err);

/* A decimal or 0x number that fills the whole of @text. */
int parse_u64(const char *text, uint64_t *value, struct err *err);

/* Writes "64M", "1.5G", "812K" / "1.24 s", "380 us" into @buf and returns it. */
const char *format_bytes(char *buf, size_t buf_bytes, uint64_t bytes);
const char *format_ns(char *buf, size_t buf_bytes, double ns);

/* ---- parameter tables ------------------------------------------------------------------------ */

enum param_type {
	PARAM_U64,	/* uint64_t */
	PARAM_DOUBLE,	/* double */
	PARAM_BOOL,	/* bool: 0/1, off/on, no/yes */
	PARAM_BYTES,	/* uint64_t, parsed with K/M/G */
	PARAM_NS,	/* uint64_t, parsed with us/ms/s */
	PARAM_PCT,	/* double, 0..100 unless min/max say otherwise */
	PARAM_ENUM,	/* int, index into choices */
	PARAM_STRING,	/* const char *; points into memory kept by params_parse's caller */
	PARAM_COUNT,	/* uint64_t, parsed with decimal k/M/G */
};

/*
 * One parameter of a model, workload or component. The table drives parsing, range errors, --help,
 * the man page and what is stored with each result. A table ends with name == NULL.
 */
struct param {
	const char *name;
	enum param_type type;
	size_t offset;		/* into the options struct */
	const char *def;	/* default, as text; NULL: must be given */
	double min, max;	/* inclusive; both 0: no limit */
	const char *unit;	/* "pages", "%", "ns", ...; may be NULL */
	const char *help;
	const char *const *choices;	/* PARAM_ENUM: NULL-terminated */
};

/* Fills @obj with every default of @table. -EINVAL only if the table itself is wrong. */
int params_defaults(const struct param *table, void *obj, struct err *err);

/*
 * Sets one parameter. Unknown name: -EINVAL, the text names @what ("model 'arc'") and suggests the
 * nearest. Out of range: -EINVAL, the text gives the range and unit.
 */
int params_set(const struct param *table, void *obj, const char *what, const char *name,
	       const char *value, struct err *err);

/*
 * Writes "name=value,..." of those that differ from their default, in table order (all of them if
 * @all): the canonical text stored with results. Returns the length as snprintf does.
 */
int params_format(const struct param *table, const void *obj, bool all, char *buf,
		  size_t buf_bytes);

/* The entry of @names (NULL-terminated) nearest to @word, or NULL if none is near (typo help). */
const char *nearest_word(const char *word, const char *const *names);

/* ---- random numbers -------------------------------------------------------------------------- */

/* splitmix64: the same seed gives the same numbers everywhere. */
static inline uint64_t rand_next(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* ---- page events: what the kernel's page-granular tracepoints say ---------------------------- */

/* Order is on-disk format (chunk op column): append only. Names: page_op_name(). */
enum page_op {
	PAGE_OP_READ = 0,	/* mm_filemap_get_pages: what a read(2) asked for, unclipped */
	PAGE_OP_FAULT,		/* mm_filemap_fault */
	PAGE_OP_MAP,		/* mm_filemap_map_pages: the fault-around window */
	PAGE_OP_ADD,		/* mm_filemap_add_to_page_cache */
	PAGE_OP_DELETE,		/* mm_filemap_delete_from_page_cache: eviction or truncation */
	PAGE_OP_DIRTY,		/* writeback_dirty_folio: clean -> dirty */
	PAGE_OP_WRITE,		/* write(2) as seen by the file system's own event */
	PAGE_OP_ACTIVATE,	/* mm_lru_activate (late: drained per 31) */
	PAGE_OP_INSERT,		/* mm_lru_insertion (late) */
	PAGE_OP_USER_FAULT,	/* exceptions:page_fault_user, page_index = address >> 12 */
	PAGE_OP_WRITE_OUT,	/* mm_vmscan_write_folio: reclaim writes or swaps a folio */
	PAGE_OP_EVICT,		/* DELETE known to be eviction (importers that know) */
	PAGE_OP_TRUNCATE,	/* DELETE known to be truncation or invalidation */
	NR_PAGE_OPS
};

/*
 * One page event. Columns that an op does not have are 0 and read as NULL in SQL (see
 * page_op_columns()). file_id 0: none or unknown.
 */
struct page_event {
	uint64_t ts_ns;		/* capture clock */
	uint64_t page_index;	/* first page: index in the file, or address >> 12 */
	uint64_t pfn;		/* ADD, DELETE, ACTIVATE, INSERT, WRITE_OUT */
	uint32_t pages;		/* folio order applied; a request's length in pages */
	uint32_t file_id;
	uint32_t pid;
	uint32_t flags;		/* op-specific, 0 if none: PAGE_EV_* */
	uint8_t op;
};

enum {
	PAGE_EV_WHOLE = 1 << 0,	/* WRITE: covers its pages wholly (fills cost no read) */
	PAGE_EV_IN_RECLAIM = 1 << 1,	/* DELETE: its task was inside reclaim or is kswapd */
	PAGE_EV_ANON = 1 << 2,		/* WRITE_OUT, INSERT, ACTIVATE: anonymous */
	PAGE_EV_BEGIN = 1 << 3,		/* READ: the whole request, noted before its fills */
};

/* What an event of an op tells beside time, cpu and pid. */
enum {
	PAGE_COL_FILE = 1 << 0,
	PAGE_COL_INDEX = 1 << 1,
	PAGE_COL_PAGES = 1 << 2,
	PAGE_COL_PFN = 1 << 3,
};

unsigned int page_op_columns(enum page_op op);	/* PAGE_COL_*; 0 if the op is unknown */
const char *page_op_name(enum page_op op);	/* "read", "fault", "map", "add", ... */
int page_op_from_name(const char *name);	/* or -EINVAL */

/* ---- demand: what programs asked for, derived once from page events -------------------------- */

/* Order is on-disk format: append only. */
enum demand_op {
	DEMAND_READ = 0,	/* read(2) */
	DEMAND_WRITE,		/* buffered write that may need a read to fill */
	DEMAND_WRITE_WHOLE,	/* whole-page write: a fill costs no read */
	DEMAND_FAULT,		/* first touch through a mapping */
	DEMAND_MAP,		/* fault-around: mapped if resident, not asked for */
	DEMAND_TRUNCATE,	/* pages left the cache by truncation or invalidation */
	DEMAND_READAHEAD,	/* recorded fill nobody demanded (yet): readahead, metadata */
	DEMAND_FSYNC,
	DEMAND_CHARGE,		/* pages charged to the memcg other than page cache (kmem, anon) */
	DEMAND_UNCHARGE,
	DEMAND_LIMIT,		/* the memcg's limit became run pages */
	DEMAND_EXIT,		/* the task ended */
	DEMAND_ANON,		/* touch of an anonymous page */
	NR_DEMAND_OPS
};

const char *demand_op_name(enum demand_op op);

/* READ, WRITE, WRITE_WHOLE, FAULT and ANON are accesses; the others are side information. */
static inline bool demand_op_is_access(enum demand_op op)
{
	return op <= DEMAND_FAULT || op == DEMAND_ANON;
}

/* Columns of a block that cost extra; page, run and op always come. */
enum { DEMAND_COL_TIME = 1, DEMAND_COL_TASK = 2 };

/*
 * One block of the demand stream: plain arrays of equal length @nr, valid until the next call on
 * the reader that gave it. A NULL column means "the same for all": run 1, op READ, task 0; ts_ns is
 * NULL unless it was asked for. Record i asks for pages page[i] .. page[i] + run[i] - 1.
 */
struct demand_block {
	size_t nr;
	const uint32_t *page;	/* first dense page id */
	const uint32_t *run;	/* pages */
	const uint8_t *op;	/* enum demand_op */
	const uint32_t *task;	/* row of demand_task; 0 unknown */
	const uint64_t *ts_ns;
};

#endif
