// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * live_probes.c - probes of our own where the kernel has no events of page cache hits: before 6.12.
 *
 * The functions behind the three events of 6.12 are much older than they. A kprobe at each of them
 * tells the same:
 *
 *	filemap_read(iocb, iter)		every read(2) that goes through the page cache, once
 *						a call: file and its size, position, bytes wanted
 *	filemap_fault(vmf)			as mm_filemap_fault
 *	filemap_map_pages(vmf, start, end)	as mm_filemap_map_pages
 *
 * filemap_get_pages(), which the event is named after, is inlined. A probe fires when the function
 * is entered: the pages that a read brings in come after it (PAGE_EV_BEGIN), not before.
 *
 * The arguments are pointers; what is wanted is behind several members, whose places differ from
 * build to build: the kernel's BTF tells. "{file.f_mapping}" below is replaced by such a place.
 *
 * Probes are global, not of an instance. They are in a group of their own, named after this process
 * (instance.h), and go with it; a killed capture's are removed by the next one or by
 * `pagereel doctor --clean`.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs.h>
#include <unistd.h>

#include "capture/btf.h"
#include "capture/live.h"

enum { FETCH_BYTES = 768 };

struct probe {
	const char *replaces;		/* the event, of group filemap */
	const char *name;		/* ours, of system PROBE_SYSTEM */
	const char *functions[3];	/* under all its names, the present one first */
	const char *fetch;
};

#define HOST(FILE) "+{address_space.host}(+{file.f_mapping}(" FILE "))"
#define OF_INODE(FILE) "s_dev=+{super_block.s_dev}(+{inode.i_sb}(" HOST(FILE) ")):u32 " \
		       "i_ino=+{inode.i_ino}(" HOST(FILE) "):u64"
#define IOCB_FILE "+{kiocb.ki_filp}($arg1)"
#define VMF_FILE "+{vm_area_struct.vm_file}(+{vm_fault.vma}($arg1))"

static const struct probe probes[] = {
	{ "mm_filemap_get_pages", "filemap_read",
	  { "filemap_read", "generic_file_buffered_read" },
	  OF_INODE(IOCB_FILE) " size=+{inode.i_size}(" HOST(IOCB_FILE) "):u64"
	  " pos=+{kiocb.ki_pos}($arg1):u64 count=+{iov_iter.count}($arg2):u64" },
	{ "mm_filemap_fault", "filemap_fault", { "filemap_fault" },
	  OF_INODE(VMF_FILE) " index=+{vm_fault.pgoff}($arg1):u64" },
	{ "mm_filemap_map_pages", "filemap_map_pages", { "filemap_map_pages" },
	  OF_INODE(VMF_FILE) " index=$arg2:u64 last_index=$arg3:u64" },
};

/* "{type.member}" -> its offset. False: the kernel has no such member, or no room. */
static bool expand(const struct btf *btf, const char *from, char *out, size_t out_bytes)
{
	size_t used = 0;

	while (*from) {
		char type[64], member[64];
		uint32_t offset;
		int eaten = 0;

		if (used + 16 > out_bytes)
			return false;
		if (*from != '{') {
			out[used++] = *from++;
			continue;
		}
		if (sscanf(from, "{%63[^.].%63[^}]}%n", type, member, &eaten) != 2 || !eaten ||
		    btf_member_offset(btf, type, member, &offset))
			return false;
		used += (size_t)snprintf(out + used, out_bytes - used, "%u", offset);
		from += eaten;
	}
	out[used] = '\0';
	return true;
}

/* NULL: they are, and *btf is the caller's to free. Else why not. */
static const char *refused_by(const struct trace_dir *dir, struct btf **btf)
{
	char path[TRACE_PATH_BYTES + 32];

	snprintf(path, sizeof(path), "%s/kprobe_events", dir->path);
	if (access(path, W_OK))
		return "not in this kernel, nor are probes (CONFIG_KPROBE_EVENTS)";
	switch (btf_load(btf, NULL)) {
	case 0:
		return NULL;
	case -ENOENT:
		return "not in this kernel, and no types for a probe (CONFIG_DEBUG_INFO_BTF)";
	default:
		return "not in this kernel, and its types for a probe cannot be read";
	}
}

/* NULL: made. Else why not. */
static const char *make_probe(const struct live_events *events, const struct btf *btf,
			      const struct probe *probe)
{
	char fetch[FETCH_BYTES];

	if (!expand(btf, probe->fetch, fetch, sizeof(fetch)))
		return "not in this kernel, and the structures that a probe reads are others";
	for (size_t i = 0; i < ARRAY_SIZE(probe->functions) && probe->functions[i]; i++)
		if (!tracefs_kprobe_raw(events->probe_group, probe->name, probe->functions[i],
					fetch))
			return NULL;
	return errno == EPERM ? "not in this kernel, and it refuses probes (lockdown?)" :
	       "not in this kernel, and it has no function for a probe in its place";
}

static struct missing_event *find_missing(struct live_events *events, const char *name)
{
	for (int i = 0; i < events->nr_missing; i++)
		if (!strcmp(events->missing[i].name, name) &&
		    !strcmp(events->missing[i].system, "filemap"))
			return &events->missing[i];
	return NULL;
}

static int add_probe(struct live_events *events, const struct trace_dir *dir,
		     const struct btf *btf, const struct probe *probe,
		     struct missing_event *missing, struct err *err)
{
	struct live_event like = { .stream = STREAM_DEMAND };
	int got;

	missing->reason = make_probe(events, btf, probe);
	if (missing->reason)
		return 0;
	missing->reason = "not in this kernel; a probe takes its place";
	snprintf(like.trace_system, sizeof(like.trace_system), "%s", events->probe_group);
	got = live_event_add(events, dir, PROBE_SYSTEM, probe->name, like, err);
	if (!got)
		missing->reason = "not in this kernel, and the format of a probe cannot be read";
	return got < 0 ? got : 0;
}

int live_probes_add(struct live_events *events, const struct trace_dir *dir, bool refuse,
		    struct err *err)
{
	struct btf *btf = NULL;
	const char *reason = NULL;
	bool tried = false;
	int code = 0;

	for (size_t i = 0; !code && i < ARRAY_SIZE(probes); i++) {
		struct missing_event *missing = find_missing(events, probes[i].replaces);

		if (!missing)
			continue;
		if (!tried)
			reason = refuse ? "not in this kernel, and --no-probes was given" :
				 refused_by(dir, &btf);
		tried = true;
		probe_group_name(events->probe_group, sizeof(events->probe_group));
		if (reason)
			missing->reason = reason;
		else
			code = add_probe(events, dir, btf, &probes[i], missing, err);
	}
	if (reason)
		events->probe_group[0] = '\0';
	btf_free(btf);
	return code;
}

void live_probes_remove(struct live_events *events)
{
	if (events->probe_group[0])
		probe_group_remove(events->probe_group);
	events->probe_group[0] = '\0';
}

bool live_events_show_hits(const struct live_events *events)
{
	for (int i = 0; i < events->nr; i++)
		if (events->event[i].source && events->event[i].source->op == PAGE_OP_READ)
			return true;
	return false;
}

void live_probes_report(const struct live_events *events, struct live_result *result)
{
	bool shown = live_events_show_hits(events);

	for (int i = 0; i < events->nr; i++)
		result->nr_probes += events->event[i].trace_system[0] != '\0';
	for (int i = 0; !shown && i < events->nr_missing; i++)
		if (!strcmp(events->missing[i].name, "mm_filemap_get_pages"))
			snprintf(result->no_hits, sizeof(result->no_hits), "%s",
				 events->missing[i].reason);
}

const char *live_probes_possible(const struct trace_dir *dir)
{
	struct btf *btf = NULL;
	const char *reason = refused_by(dir, &btf);

	btf_free(btf);
	return reason;
}
