// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * btf.c - a reader of BTF (Documentation/bpf/btf.rst), as far as offsets of members need it: the
 * header, the type records one after the other, the names. Every length is checked before it is
 * used: the file is the kernel's, but a test's or a broken one need not be.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/btf.h"
#include "capture/instance.h"

enum { BTF_MAGIC = 0xeb9f, BTF_MAX_BYTES = 256 << 20, MAX_NESTING = 16 };

enum btf_kind {
	KIND_INT = 1, KIND_PTR, KIND_ARRAY, KIND_STRUCT, KIND_UNION, KIND_ENUM, KIND_FWD,
	KIND_TYPEDEF, KIND_VOLATILE, KIND_CONST, KIND_RESTRICT, KIND_FUNC, KIND_FUNC_PROTO,
	KIND_VAR, KIND_DATASEC, KIND_FLOAT, KIND_DECL_TAG, KIND_TYPE_TAG, KIND_ENUM64,
	NR_KINDS
};

struct btf_header {
	uint16_t magic;
	uint8_t version, flags;
	uint32_t header_bytes, type_offset, type_bytes, name_offset, name_bytes;
};

struct btf_type {
	uint32_t name, info, size_or_type;
};

struct btf_member {
	uint32_t name, type, offset;
};

/* What follows a type record: so many bytes, and so many for each of its members. */
static const struct { uint8_t fixed_bytes, each_bytes; } kind_bytes[NR_KINDS] = {
	[KIND_INT] = { 4, 0 }, [KIND_ARRAY] = { 12, 0 }, [KIND_STRUCT] = { 0, 12 },
	[KIND_UNION] = { 0, 12 }, [KIND_ENUM] = { 0, 8 }, [KIND_FUNC_PROTO] = { 0, 8 },
	[KIND_VAR] = { 4, 0 }, [KIND_DATASEC] = { 0, 12 }, [KIND_DECL_TAG] = { 4, 0 },
	[KIND_ENUM64] = { 0, 12 },
};

struct btf {
	char *owned;		/* the file, if btf_load() read it */
	const uint8_t *types;
	const char *names;	/* ends with a NUL */
	uint32_t name_bytes;
	const uint8_t **type;	/* by id, from 1 */
	uint32_t nr_types;
};

static enum btf_kind type_kind(const struct btf_type *t)
{
	return (enum btf_kind)(t->info >> 24 & 0x1f);
}

static uint32_t type_members(const struct btf_type *t)
{
	return t->info & 0xffff;
}

static struct btf_type load_type(const uint8_t *at)
{
	struct btf_type t;

	memcpy(&t, at, sizeof(t));
	return t;
}

static const char *btf_name(const struct btf *b, uint32_t at)
{
	return at < b->name_bytes ? b->names + at : "";
}

/* Counts the records and, with room for them, notes where each one is. -EBADMSG: cut off. */
static int index_types(struct btf *b, uint32_t type_bytes)
{
	uint32_t id = 0;

	for (uint64_t at = 0; at < type_bytes;) {
		struct btf_type t;
		enum btf_kind kind;

		if (type_bytes - at < sizeof(t))
			return -EBADMSG;
		t = load_type(b->types + at);
		kind = type_kind(&t);
		if (!kind || kind >= NR_KINDS)
			return -EBADMSG;
		id++;
		if (b->type)
			b->type[id] = b->types + at;
		at += sizeof(t) + kind_bytes[kind].fixed_bytes +
		      (uint64_t)kind_bytes[kind].each_bytes * type_members(&t);
		if (at > type_bytes)
			return -EBADMSG;
	}
	b->nr_types = id;
	return 0;
}

static int parse(struct btf *b, const uint8_t *data, size_t data_bytes)
{
	struct btf_header h;
	int code;

	if (data_bytes < sizeof(h))
		return -EBADMSG;
	memcpy(&h, data, sizeof(h));
	if (h.magic != BTF_MAGIC || h.version != 1 || h.header_bytes > data_bytes)
		return -EBADMSG;
	data += h.header_bytes;
	data_bytes -= h.header_bytes;
	if (h.type_offset > data_bytes || h.type_bytes > data_bytes - h.type_offset ||
	    h.name_offset > data_bytes || h.name_bytes > data_bytes - h.name_offset ||
	    !h.name_bytes || data[h.name_offset + h.name_bytes - 1])
		return -EBADMSG;
	b->types = data + h.type_offset;
	b->names = (const char *)data + h.name_offset;
	b->name_bytes = h.name_bytes;
	code = index_types(b, h.type_bytes);
	if (code)
		return code;
	b->type = calloc((size_t)b->nr_types + 1, sizeof(*b->type));
	return b->type ? index_types(b, h.type_bytes) : -ENOMEM;
}

int btf_parse(const void *data, size_t data_bytes, struct btf **btf, struct err *err)
{
	struct btf *b = calloc(1, sizeof(*b));
	int code = b && data_bytes <= BTF_MAX_BYTES ? parse(b, data, data_bytes) :
		   b ? -EBADMSG : -ENOMEM;

	if (code) {
		btf_free(b);
		return err_set(err, code, code == -ENOMEM ? "no memory for the kernel's types" :
			       "cannot read the kernel's types (BTF): broken or cut off");
	}
	*btf = b;
	return 0;
}

int btf_load(struct btf **btf, struct err *err)
{
	size_t bytes = 0;
	char *data = file_slurp("/sys/kernel/btf/vmlinux", &bytes);
	int code;

	if (!data)
		return err_set(err, -ENOENT, "this kernel does not describe its types "
			       "(CONFIG_DEBUG_INFO_BTF)");
	code = btf_parse(data, bytes, btf, err);
	if (code)
		free(data);
	else
		(*btf)->owned = data;
	return code;
}

void btf_free(struct btf *b)
{
	if (!b)
		return;
	free(b->type);
	free(b->owned);
	free(b);
}

/* A structure or union behind const, volatile and typedef; 0: something else. */
static uint32_t skip_modifiers(const struct btf *b, uint32_t id)
{
	for (int i = 0; i < MAX_NESTING && id && id <= b->nr_types; i++) {
		struct btf_type t = load_type(b->type[id]);

		switch (type_kind(&t)) {
		case KIND_STRUCT:
		case KIND_UNION:
			return id;
		case KIND_CONST:
		case KIND_VOLATILE:
		case KIND_TYPEDEF:
		case KIND_TYPE_TAG:
			id = t.size_or_type;
			break;
		default:
			return 0;
		}
	}
	return 0;
}

/* Adds the member's offset in bits to *bits. */
static int find_member(const struct btf *b, uint32_t id, const char *name, uint64_t *bits,
		       int depth)
{
	struct btf_type t = load_type(b->type[id]);
	const uint8_t *at = b->type[id] + sizeof(t);

	if (depth == MAX_NESTING)
		return -EBADMSG;
	for (uint32_t i = 0; i < type_members(&t); i++, at += sizeof(struct btf_member)) {
		struct btf_member m;
		uint64_t here;
		uint32_t inner;
		int code;

		memcpy(&m, at, sizeof(m));
		here = *bits + (t.info >> 31 ? m.offset & 0xffffff : m.offset);
		if (!strcmp(btf_name(b, m.name), name)) {
			*bits = here;
			return t.info >> 31 && m.offset >> 24 ? -EBADMSG : 0;
		}
		inner = *btf_name(b, m.name) ? 0 : skip_modifiers(b, m.type);
		if (!inner)
			continue;
		code = find_member(b, inner, name, &here, depth + 1);
		if (code == -ENOENT)
			continue;
		*bits = here;
		return code;
	}
	return -ENOENT;
}

int btf_member_offset(const struct btf *b, const char *type, const char *member,
		      uint32_t *offset_bytes)
{
	for (uint32_t id = 1; id <= b->nr_types; id++) {
		struct btf_type t = load_type(b->type[id]);
		uint64_t bits = 0;
		int code;

		if (type_kind(&t) != KIND_STRUCT || strcmp(btf_name(b, t.name), type))
			continue;
		code = find_member(b, id, member, &bits, 0);
		if (code)
			return code;
		if (bits % 8 || bits / 8 > UINT32_MAX)
			return -EBADMSG;
		*offset_bytes = (uint32_t)(bits / 8);
		return 0;
	}
	return -ENOENT;
}
