// SPDX-License-Identifier: GPL-2.0-or-later
/* test_btf.c - member offsets from hand-made type descriptions, whole, cut off and broken. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture/btf.h"

enum { KIND_INT = 1, KIND_STRUCT = 4, KIND_UNION = 5, KIND_CONST = 10 };

/*
 * 1 int; 2 const 3; 3 struct { int deep; int deeper } (unnamed); 4 union { int one; const 3 }
 * (unnamed); 5 struct outer { int first; union 4; int bits:3 }; 6 struct loop { struct 6 } (unnamed
 * member)
 */
static const char names[] = "\0int\0deep\0deeper\0one\0outer\0first\0bits\0loop";
enum { N_INT = 1, N_DEEP = 5, N_DEEPER = 10, N_ONE = 17, N_OUTER = 21, N_FIRST = 27, N_BITS = 33,
       N_LOOP = 38 };

static const uint32_t types[] = {
	N_INT, KIND_INT << 24, 4, 32,
	0, KIND_CONST << 24, 3,
	0, KIND_STRUCT << 24 | 2, 8, N_DEEP, 1, 0, N_DEEPER, 1, 32,
	0, KIND_UNION << 24 | 2, 8, N_ONE, 1, 0, 0, 2, 0,
	N_OUTER, 1U << 31 | KIND_STRUCT << 24 | 3, 16,
		N_FIRST, 1, 0, 0, 4, 64, N_BITS, 1, 3U << 24 | 128,
	N_LOOP, KIND_STRUCT << 24 | 1, 4, 0, 6, 0,
};

struct blob {
	uint16_t magic;
	uint8_t version, flags;
	uint32_t header_bytes, type_offset, type_bytes, name_offset, name_bytes;
	uint32_t types[sizeof(types) / 4];
	char names[sizeof(names)];
};

/* Without what the compiler puts behind the names. */
#define BLOB_BYTES (offsetof(struct blob, names) + sizeof(names))

static struct blob blob_new(void)
{
	struct blob b = { 0xeb9f, 1, 0, 24, 0, sizeof(types), sizeof(types), sizeof(names),
			  { 0 }, { 0 } };

	memcpy(b.types, types, sizeof(types));
	memcpy(b.names, names, sizeof(names));
	return b;
}

static void members_are_found_through_unnamed_unions_and_const(void **state)
{
	struct blob blob = blob_new();
	struct btf *btf = NULL;
	uint32_t at = 99;

	assert_int_equal(btf_parse(&blob, sizeof(blob), &btf, NULL), 0);
	assert_int_equal(btf_member_offset(btf, "outer", "first", &at), 0);
	assert_int_equal(at, 0);
	assert_int_equal(btf_member_offset(btf, "outer", "one", &at), 0);
	assert_int_equal(at, 8);
	assert_int_equal(btf_member_offset(btf, "outer", "deeper", &at), 0);
	assert_int_equal(at, 12);
	assert_int_equal(btf_member_offset(btf, "outer", "nowhere", &at), -ENOENT);
	assert_int_equal(btf_member_offset(btf, "nothing", "first", &at), -ENOENT);
	assert_int_equal(btf_member_offset(btf, "int", "first", &at), -ENOENT);
	assert_int_equal(btf_member_offset(btf, "outer", "bits", &at), -EBADMSG);
	assert_int_equal(btf_member_offset(btf, "loop", "x", &at), -EBADMSG);
	btf_free(btf);
}

/* Whatever is cut off or changed is refused or answered, never read beyond (ASan watches). */
static void cut_off_and_changed_types_are_harmless(void **state)
{
	const struct blob whole = blob_new();

	for (size_t bytes = 0; bytes < BLOB_BYTES; bytes++) {
		void *cut = malloc(bytes ? bytes : 1);
		struct btf *btf = NULL;

		memcpy(cut, &whole, bytes);
		assert_int_equal(btf_parse(cut, bytes, &btf, NULL), -EBADMSG);
		free(cut);
	}
	for (size_t i = 0; i < sizeof(whole); i++) {
		for (int bit = 0; bit < 8; bit++) {
			struct blob *changed = malloc(sizeof(*changed));
			struct btf *btf = NULL;
			uint32_t at;

			*changed = whole;
			((uint8_t *)changed)[i] ^= (uint8_t)(1 << bit);
			if (!btf_parse(changed, sizeof(*changed), &btf, NULL)) {
				btf_member_offset(btf, "outer", "deeper", &at);
				btf_member_offset(btf, "loop", "x", &at);
			}
			btf_free(btf);
			free(changed);
		}
	}
}

static void this_kernels_types_are_read(void **state)
{
	struct btf *btf = NULL;
	uint32_t host = 0, size = 0;

	if (access("/sys/kernel/btf/vmlinux", R_OK))
		skip();
	assert_int_equal(btf_load(&btf, NULL), 0);
	assert_int_equal(btf_member_offset(btf, "address_space", "host", &host), 0);
	assert_int_equal(host, 0);
	assert_int_equal(btf_member_offset(btf, "inode", "i_size", &size), 0);
	assert_true(size > 0 && size < 4096);
	btf_free(btf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_are_found_through_unnamed_unions_and_const),
		cmocka_unit_test(cut_off_and_changed_types_are_harmless),
		cmocka_unit_test(this_kernels_types_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
