/* SPDX-License-Identifier: GPL-2.0-or-later */
/* btf.h - offsets of structure members from the kernel's own description of its types (BTF). */
#ifndef PAGEREEL_CAPTURE_BTF_H
#define PAGEREEL_CAPTURE_BTF_H

#include "base/base.h"

struct btf;

/* Copies nothing: @data must live as long. -EBADMSG: not BTF, or cut off. */
int btf_parse(const void *data, size_t data_bytes, struct btf **btf, struct err *err);
/* Of the running kernel; -ENOENT: it was built without (CONFIG_DEBUG_INFO_BTF). */
int btf_load(struct btf **btf, struct err *err);
void btf_free(struct btf *btf);

/*
 * Where @member stands in structure @type, in bytes; members of unnamed structures and unions in it
 * are its own. -ENOENT: there is no such type or member; -EBADMSG: it is a bit field, or the types
 * are nested without end.
 */
int btf_member_offset(const struct btf *btf, const char *type, const char *member,
		      uint32_t *offset_bytes);

#endif
