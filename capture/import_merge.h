/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * import_merge.h - inside import*.c: the records of all CPUs and buffers of a trace.dat, by time.
 */
#ifndef PAGEREEL_CAPTURE_IMPORT_MERGE_H
#define PAGEREEL_CAPTURE_IMPORT_MERGE_H

#include "base/base.h"

struct tracecmd_input;
struct tep_record;
struct dat_merge;

enum { MERGE_BATCH = 4096 };

struct merge_batch {
	int nr;
	struct tep_record *record[MERGE_BATCH];
	int cpu[MERGE_BATCH];
};

/*
 * Begins to read @handle and its instances in a thread of its own, which from here on is the only
 * one to touch them until dat_merge_stop(). Their tep_handle stays the caller's. -EBADMSG, -ENOMEM.
 */
int dat_merge_start(struct dat_merge **merge, struct tracecmd_input *handle, const char *path,
		    struct err *err);
/* The next records, valid until the next call; NULL at the end. */
const struct merge_batch *dat_merge_next(struct dat_merge *merge);
void dat_merge_stop(struct dat_merge *merge);	/* NULL is fine */

#endif
