/* SPDX-License-Identifier: GPL-2.0-or-later */
/* context.h - the state of the host that a replay needs: what stands in /proc, /sys and cgroups. */
#ifndef PAGEREEL_CAPTURE_CONTEXT_H
#define PAGEREEL_CAPTURE_CONTEXT_H

#include "capture/memcg.h"
#include "capture/queue.h"

enum { MAX_CONTEXT_CGROUPS = 16, MAX_CONTEXT_KTHREADS = 64 };

struct context_scope {
	const struct memcg_mount *mount;
	char cgroup[MAX_CONTEXT_CGROUPS][CGROUP_PATH_BYTES];	/* "/a/b" */
	int nr_cgroups;
	/* kswapd and kcompactd, found once: scanning /proc each second would cost too much */
	struct { uint32_t pid; char comm[20]; } kthread[MAX_CONTEXT_KTHREADS];
	int nr_kthreads;
};

/* No-op if it is there already or there is no room. */
void context_add_cgroup(struct context_scope *scope, const char *path);

/*
 * All facts of now. @phase "sample" leaves out what does not change while the kernel runs. NULL: no
 * memory. The caller's to free (or the queue's).
 */
struct facts *context_collect(struct context_scope *scope, const char *phase,
			      uint64_t ts_ns);
/* Adds one fact; a text is copied. */
void facts_add(struct facts *facts, const char *subject, const char *key, struct value value);

#endif
