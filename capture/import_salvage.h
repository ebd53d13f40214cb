/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import_salvage.h - inside import*.c: trace.dat files that were cut short. */
#ifndef PAGEREEL_CAPTURE_IMPORT_SALVAGE_H
#define PAGEREEL_CAPTURE_IMPORT_SALVAGE_H

#include "base/base.h"

/*
 * 0 and *fd < 0: @path is whole as far as can be seen; 0 and *fd >= 0: it was cut short, and *fd is
 * an unnamed copy of its readable part, whole again. -EBADMSG: not even its head is there.
 */
int dat_salvage(const char *path, int *fd, uint64_t *file_bytes, struct err *err);

#endif
