/* SPDX-License-Identifier: GPL-2.0-or-later */
/* calibrate.h - what the files of `pagereel calibrate` share. */
#ifndef PAGEREEL_CMD_CALIBRATE_H
#define PAGEREEL_CMD_CALIBRATE_H

#include "base/base.h"

/* The file that is read, the memory cgroup that it is read in, and 4 KiB reads of a run. */
enum {
	CALIBRATE_FILE_PAGES = 32768,
	CALIBRATE_LIMIT_PAGES = 12288,
	CALIBRATE_READS = 32000,
};

extern const char *const calibrate_loads[];	/* NULL-terminated */

/* Runs a workload by name. -EINVAL: there is none of that name. */
int calibrate_load_run(const char *kind, const char *path, struct err *err);

struct calibrate_price {
	double ns, stderr_ns;
};

/* CPU time of a cached 4 KiB read of @fd, and what an uncached one takes beyond that. */
int calibrate_reads(int fd, struct calibrate_price *lookup, struct calibrate_price *fill,
		    struct err *err);

#endif
