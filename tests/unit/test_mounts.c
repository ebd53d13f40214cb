// SPDX-License-Identifier: GPL-2.0-or-later
/* test_mounts.c - mountinfo, names of what is ours, the queue. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture/instance.h"
#include "capture/mounts.h"
#include "capture/queue.h"

static void own_mounts_contain_the_root(void **state)
{
	struct mounts mounts;
	bool found = false;

	assert_int_equal(mounts_load(&mounts, 0), 0);
	for (int i = 0; i < mounts.nr; i++)
		found |= !strcmp(mounts.entry[i].point, "/");
	assert_true(found);
	assert_in_range(mounts_count_devices(&mounts), 1, mounts.nr);
	assert_null(mounts_find_id(&mounts, -5));
	mounts_release(&mounts);
	assert_int_equal(mounts_load(&mounts, 1 << 30), -ENOENT);
}

static void an_open_file_is_known_by_descriptor_and_by_number(void **state)
{
	char path[] = "/tmp/pagereel-mounts-XXXXXX", *found;
	int fd = mkstemp(path), code;
	struct mounts mounts;
	int64_t size_bytes;
	struct stat st;
	uint32_t dev;
	uint64_t ino;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 12345), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(mounts_load(&mounts, 0), 0);
	code = mounts_identity(&mounts, 0, fd, &dev, &ino);
	if (!code && dev == (major(st.st_dev) << 20 | minor(st.st_dev)))
		assert_int_equal(ino, st.st_ino);
	code = code ? code : mounts_file_by_ino(&mounts, dev, ino, &found, &size_bytes);
	if (!code) {	/* root, and a file system whose handles are known */
		assert_int_equal(size_bytes, 12345);
		assert_string_equal(found, path);
		free(found);
	}
	mounts_release(&mounts);
	close(fd);
	unlink(path);
	if (code)
		skip();
}

static void a_layer_belongs_to_the_one_overlay_that_has_it(void **state)
{
	static char upper[] = "rw,lowerdir=/base/lower:/base/more,upperdir=/base/upper";
	static char root[] = "/";
	static char point[] = "/merged", other_point[] = "/other", type[] = "overlay", none[] = "";
	struct mount_entry entry[] = {
		{ .root = root, .point = point, .type = type, .source = none, .options = upper },
		{ .root = root, .point = other_point, .type = type, .source = none,
		  .options = none },
	};
	struct mounts mounts = { .entry = entry, .nr = 2 };
	char *path = mounts_overlay_path(&mounts, "/base/more/dir/file");

	assert_string_equal(path, "/merged/dir/file");
	free(path);
	assert_null(mounts_overlay_path(&mounts, "/base/moreover/file"));
	assert_null(mounts_overlay_path(&mounts, "/elsewhere/file"));
	entry[1].options = upper;	/* two overlays share the layer: unknown which */
	assert_null(mounts_overlay_path(&mounts, "/base/lower/file"));
}

static void only_names_of_dead_captures_are_stale(void **state)
{
	char own[OWNED_NAME_BYTES], other[OWNED_NAME_BYTES];

	owned_name(own, sizeof(own), "demand");
	assert_false(owned_name_is_stale(own));
	/* our pid, but another start time: a pid that was used again */
	snprintf(other, sizeof(other), "pagereel.%d.1.demand", getpid());
	assert_true(owned_name_is_stale(other));
	assert_true(owned_name_is_stale("pagereel.4194000.77.memory"));
	assert_false(owned_name_is_stale("pagereel.test.6938"));
	assert_false(owned_name_is_stale("pagereel-4194000.77.memory"));
	assert_false(owned_name_is_stale("pagereel.4194000"));
	assert_false(owned_name_is_stale("system.slice"));
}

static void *put_many(void *arg)
{
	for (int i = 0; i < 1000; i++) {
		struct item *item = item_new(ITEM_GAP, 1000);

		item->gap.cpu = i;
		queue_put(arg, item);
	}
	queue_close(arg);
	return NULL;
}

/* The bound makes the producer wait; nothing is lost, order is kept. */
static void a_bounded_queue_loses_nothing(void **state)
{
	struct queue queue;
	bool closed = false;
	pthread_t producer;
	int want = 0;

	queue_init(&queue, 5000);
	assert_int_equal(pthread_create(&producer, NULL, put_many, &queue), 0);
	while (!closed) {
		struct item *item = queue_take_all(&queue, 1000, &closed), *next;
		size_t bytes = 0;

		for (; item; item = next) {
			next = item->next;
			assert_int_equal(item->gap.cpu, want++);
			bytes += item->bytes;
			item_free(item);
		}
		if (!closed)
			assert_true(bytes < 5000 + 2 * 1200);
	}
	pthread_join(producer, NULL);
	assert_int_equal(want, 1000);
	queue_release(&queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_mounts_contain_the_root),
		cmocka_unit_test(an_open_file_is_known_by_descriptor_and_by_number),
		cmocka_unit_test(a_layer_belongs_to_the_one_overlay_that_has_it),
		cmocka_unit_test(only_names_of_dead_captures_are_stale),
		cmocka_unit_test(a_bounded_queue_loses_nothing),
	};

	return cmocka_run_group_tests_name("mounts", tests, NULL, NULL);
}
