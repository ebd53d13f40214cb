// SPDX-License-Identifier: GPL-2.0-or-later
/* test_probes.c - what a capture says where hits cannot be had; what it asks of kprobes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <tracefs.h>

#include "capture/live.h"

/* A directory in place of tracefs, and a kernel that lacks the three events of hits. */
struct fixture {
	struct trace_dir dir;
	struct live_events *events;
};

static int setup(void **state)
{
	static const char *const names[] = { "mm_filemap_get_pages", "mm_filemap_fault",
					     "mm_filemap_map_pages" };
	struct fixture *f = calloc(1, sizeof(*f));

	f->events = calloc(1, sizeof(*f->events));
	strcpy(f->dir.path, "/tmp/pagereel-probes.XXXXXX");
	if (!mkdtemp(f->dir.path))
		return -1;
	for (int i = 0; i < 3; i++) {
		struct missing_event *m = &f->events->missing[f->events->nr_missing++];

		strcpy(m->system, "filemap");
		strcpy(m->name, names[i]);
		m->reason = "not in this kernel";
	}
	*state = f;
	return 0;
}

static const char *path_of(const struct fixture *f, const char *name)
{
	static char path[TRACE_PATH_BYTES + 64];

	snprintf(path, sizeof(path), "%s/%s", f->dir.path, name);
	return path;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	unlink(path_of(f, "kprobe_events"));
	unlink(path_of(f, "dynamic_events"));
	rmdir(f->dir.path);
	free(f->events);
	free(f);
	return 0;
}

static void touch(const struct fixture *f, const char *name)
{
	FILE *file = fopen(path_of(f, name), "w");

	assert_non_null(file);
	fclose(file);
}

static void a_kernel_without_kprobes_is_named_as_the_reason(void **state)
{
	struct fixture *f = *state;
	struct live_result result = { 0 };

	assert_int_equal(live_probes_add(f->events, &f->dir, false, NULL), 0);
	assert_string_equal(f->events->probe_group, "");
	assert_int_equal(f->events->nr, 0);
	assert_false(live_events_show_hits(f->events));
	live_probes_report(f->events, &result);
	assert_non_null(strstr(result.no_hits, "CONFIG_KPROBE_EVENTS"));
	assert_non_null(strstr(live_probes_possible(&f->dir), "CONFIG_KPROBE_EVENTS"));
}

static void a_user_who_wants_none_is_named_as_the_reason(void **state)
{
	struct fixture *f = *state;
	struct live_result result = { 0 };

	touch(f, "kprobe_events");
	assert_int_equal(live_probes_add(f->events, &f->dir, true, NULL), 0);
	live_probes_report(f->events, &result);
	assert_non_null(strstr(result.no_hits, "--no-probes"));
}

static void a_probe_reads_the_file_through_offsets_of_this_kernel(void **state)
{
	struct fixture *f = *state;
	char group[64], head[128], *text;
	size_t bytes = 0;

	if (access("/sys/kernel/btf/vmlinux", R_OK))
		skip();
	touch(f, "kprobe_events");
	touch(f, "dynamic_events");
	tracefs_set_tracing_dir(f->dir.path);
	assert_int_equal(live_probes_add(f->events, &f->dir, false, NULL), 0);
	probe_group_name(group, sizeof(group));
	assert_string_equal(f->events->probe_group, group);
	text = file_slurp(path_of(f, "dynamic_events"), &bytes);
	if (!text || !bytes) {
		free(text);
		text = file_slurp(path_of(f, "kprobe_events"), &bytes);
	}
	/* the last one written: a plain file keeps no others */
	snprintf(head, sizeof(head), "p:%s/filemap_map_pages filemap_map_pages s_dev=+", group);
	assert_non_null(text);
	assert_memory_equal(text, head, strlen(head));
	assert_null(strchr(text, '{'));
	assert_non_null(strstr(text, "index=$arg2:u64 last_index=$arg3:u64"));
	/* nothing of that kind was made: there is no format to read */
	assert_int_equal(f->events->nr, 0);
	assert_non_null(strstr(f->events->missing[0].reason, "format"));
	free(text);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_kernel_without_kprobes_is_named_as_the_reason),
		test(a_user_who_wants_none_is_named_as_the_reason),
		test(a_probe_reads_the_file_through_offsets_of_this_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
