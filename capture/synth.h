/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * synth.h - synthetic access streams: a SPEC is parsed into a tree of generators, the streams of
 * several SPECs are merged by virtual time. The same SPECs and seed give the same events.
 */
#ifndef PAGEREEL_CAPTURE_SYNTH_H
#define PAGEREEL_CAPTURE_SYNTH_H

#include "base/base.h"
#include "schema/schema.h"

struct synth;

/*
 * Parses @specs, one stream (task) each. @seed: what generators without a seed of their own derive
 * theirs from. -EINVAL: the text names the SPEC and the column of the fault; -ENOMEM.
 */
int synth_open(struct synth **synth, const char *const *specs, int nr_specs, uint64_t seed,
	       struct err *err);
void synth_close(struct synth *synth);	/* NULL is fine */

/* 1 and *event filled (file_id counts from 1, pid from SYNTH_FIRST_PID); 0 at the end. */
int synth_next(struct synth *synth, struct page_event *event);

enum { SYNTH_FIRST_PID = 1000 };

/* Files and tasks that the specs name, index from 0. NULL beyond the last. */
struct synth_file {
	char name[64];
	uint64_t size_bytes;
};

const struct synth_file *synth_file(const struct synth *synth, uint32_t index);
const char *synth_task(const struct synth *synth, uint32_t index);

struct synth_result {
	int64_t capture_id;
	uint64_t nr_events;
	uint64_t nr_pages;	/* sum of the lengths */
	uint64_t end_ts_ns;	/* virtual */
	uint32_t nr_files, nr_tasks;
};

/*
 * Draws the whole stream into a new capture of @store. @input is kept as its description. A raised
 * *@stop ends it early with -EINTR; what was made is committed as 'interrupted'.
 */
int synth_store(struct synth *synth, struct store *store, const char *input,
		const volatile int *stop, struct synth_result *result, struct err *err);

/* The generators, for --help and the man page. */
struct synth_generator;
const struct synth_generator *synth_generator(int index);	/* NULL beyond the last */
const char *synth_generator_name(const struct synth_generator *gen);
const char *synth_generator_alias(const struct synth_generator *gen);	/* may be NULL */
const char *synth_generator_title(const struct synth_generator *gen);
const struct param *synth_generator_params(const struct synth_generator *gen);
extern const struct param synth_common_params[];	/* of every generator */
extern const struct param synth_group_params[];		/* of '(...)' */

#endif
