// SPDX-License-Identifier: GPL-2.0-or-later
/* capture.c - `pagereel capture`: record from the running kernel. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/capture.h"
#include "cmd/cmd.h"
#include "cmd/out.h"

/* Share of all CPUs that the capturer may use before it thins the page stream. See docs/man. */
static const double default_max_cpu_pct = 15;
/* Lost events beyond this share of all make the exit status 5. */
static const double max_lost_pct = 1;

/* ---- --list --------------------------------------------------------------------------------- */

static int list_events(const struct command *self, enum out_format format)
{
	static const struct out_column columns[] = {
		{ .name = "group" }, { .name = "event" }, { .name = "stream" },
		{ .name = "default" }, { .name = "kernel" }, { .name = "cost" }, { .name = "help" },
	};
	bool is_table = format == OUT_AUTO || format == OUT_TABLE;
	struct event_presence presence;
	struct err err = { "" };
	struct out *out;
	int code = event_presence_open(&presence, &err);

	out = out_begin(stdout, format, columns, (int)ARRAY_SIZE(columns));
	for (int g = 0; g < nr_event_groups; g++) {
		const struct event_group *group = &event_groups[g];

		for (int i = 0; i < group->nr_events; i++) {
			const struct catalogue_event *e = &group->events[i];
			const char *name = e->names[0], *shown;
			char full[192];
			int has = code ? -1 : event_presence_name(&presence, e, &name);

			snprintf(full, sizeof(full), "%s:%s", e->system, name);
			shown = full;
			out_row(out, (const struct value[]){
				VALUE_OF_TEXT(group->name), VALUE_OF_TEXT(shown),
				VALUE_OF_TEXT(event_stream_name(e->stream)),
				VALUE_OF_TEXT(group->by_default ? "yes" : "no"),
				has < 0 ? VALUE_NONE : VALUE_OF_TEXT(has ? "yes" : "no"),
				VALUE_OF_TEXT(is_table && i ? "" : group->cost),
				VALUE_OF_TEXT(is_table && i ? "" : group->help),
			});
		}
	}
	if (!code)
		event_presence_close(&presence);
	code = out_end(out);
	return code ? cmd_fail(self, code, &err) : cmd_finish(self);
}

/* ---- while it runs and afterwards ----------------------------------------------------------- */

struct progress {
	bool on_terminal;
	uint64_t last_events, last_ns;
};

static void show_progress(void *ctx, const struct live_status *s)
{
	struct progress *p = ctx;
	char bytes[32], elapsed[32];
	double rate = s->elapsed_ns > p->last_ns ? 1e9 * (double)(s->nr_events - p->last_events) /
		      (double)(s->elapsed_ns - p->last_ns) : 0;

	p->last_events = s->nr_events;
	p->last_ns = s->elapsed_ns;
	fprintf(stderr, "\r%s  %.0f events/s  %s  %llu lost%s\033[K",
		format_ns(elapsed, sizeof(elapsed), (double)s->elapsed_ns), rate,
		format_bytes(bytes, sizeof(bytes), s->file_bytes), (unsigned long long)s->nr_lost,
		s->sample_mask ? "  thinned" : "");
}

static double lost_pct(const struct live_status *s)
{
	uint64_t all = s->nr_events + s->nr_lost;

	return all ? 100.0 * (double)s->nr_lost / (double)all : 0;
}

static void summarize_command(const struct live_result *r, const char *name)
{
	if (!r->has_command)
		fprintf(stderr, "command   none: %s\n", r->stopped_by);
	else if (r->command_status == -1)
		fprintf(stderr, "command   '%s' still runs\n", name);
	else if (WIFSIGNALED(r->command_status))
		fprintf(stderr, "command   '%s' was killed by signal %d\n", name,
			WTERMSIG(r->command_status));
	else
		fprintf(stderr, "command   '%s' ended with status %d\n", name,
		       WEXITSTATUS(r->command_status));
}

/* Five lines on stderr, for stdout is the command's: what was recorded, what it cost, what was
 * lost, the command, where it is; and one more where the kernel has no events of hits. */
static void summarize(const struct live_opts *opts, const struct live_result *r)
{
	const struct live_status *s = &r->status;
	char elapsed[32], cpu[32], bytes[32], rings[32];

	fprintf(stderr, "recorded  %llu events of %d kinds in %s (%d kind%s not in this "
		"kernel)\n",
	       (unsigned long long)s->nr_events, r->nr_kinds,
	       format_ns(elapsed, sizeof(elapsed), (double)s->elapsed_ns), r->nr_missing,
	       r->nr_missing == 1 ? " is" : "s are");
	if (r->nr_probes)
		fprintf(stderr, "hits      by %d probe%s, as this kernel has no events of them\n",
			r->nr_probes, r->nr_probes == 1 ? "" : "s");
	if (r->no_hits[0])
		fprintf(stderr, "hits      none (fills-only): mm_filemap_get_pages is %s\n",
			r->no_hits);
	fprintf(stderr, "cost      %s of CPU, %s of ring buffers%s%s\n",
	       format_ns(cpu, sizeof(cpu), (double)s->cpu_ns),
	       format_bytes(rings, sizeof(rings), r->ring_bytes),
	       r->rings_capped ? " (capped)" : "",
	       s->sample_mask ? "; page stream thinned to stay within --max-cpu" : "");
	fprintf(stderr, "lost      %llu events in %llu gaps (%.3g %%)\n",
		(unsigned long long)s->nr_lost, (unsigned long long)r->nr_gaps, lost_pct(s));
	summarize_command(r, opts->command ? opts->command[0] : "");
	fprintf(stderr, "written   %s to %s\n", format_bytes(bytes, sizeof(bytes), s->file_bytes),
	       opts->output);
}

static int finish(const struct command *self, const struct live_opts *opts,
		  const struct live_result *r, int code, const struct err *err)
{
	bool has_stopped = code == -EFBIG || code == -ENOSPC;

	if (!code && r->exec_error) {
		fprintf(stderr, "pagereel capture: cannot run '%s': %s\n", opts->command[0],
			strerror(r->exec_error));
		return r->exec_error == ENOENT ? 127 : 126;	/* as env, nice and the shell do */
	}
	if (!code || has_stopped)
		summarize(opts, r);
	if (code)
		return cmd_fail(self, code, err);
	if (lost_pct(&r->status) > max_lost_pct) {
		fflush(stdout);
		fprintf(stderr, "pagereel capture: %.1f %% of the events were lost (larger rings: "
			"-b 32M; fewer events: -e)\n", lost_pct(&r->status));
		return 5;
	}
	return !strcmp(r->stopped_by, "interrupted") ? 130 : cmd_finish(self);
}

/* ---- options -------------------------------------------------------------------------------- */

static int parse_pids(struct live_opts *opts, const struct opt_texts *pids, struct err *err)
{
	for (int i = 0; i < pids->nr; i++) {
		uint64_t pid;

		if (parse_u64(pids->item[i], &pid, err) || !pid || pid > UINT32_MAX)
			return err_set(err, -EINVAL, "'%s' is no process id", pids->item[i]);
		opts->pids[opts->nr_pids++] = (uint32_t)pid;
	}
	return 0;
}

static int parse_context(struct live_opts *opts, const char *text, struct err *err)
{
	if (!text || !strcmp(text, "all")) {
		opts->context_each_second = true;
		return 0;
	}
	if (!strcmp(text, "start,end"))
		return 0;
	return err_set(err, -EINVAL, "--context is 'all' or 'start,end', not '%s'", text);
}

/* An option that was not given is @unset; a limit of nothing is none at all. */
static const uint64_t unset = UINT64_MAX;

static int take(uint64_t *value, const char *name, struct err *err)
{
	if (!*value)
		return err_set(err, -EINVAL, "--%s is more than 0", name);
	if (*value == unset)
		*value = 0;
	return 0;
}

static int take_limits(struct live_opts *opts, struct err *err)
{
	return take(&opts->ring_bytes, "buffer", err) ?:
	       take(&opts->duration_ns, "duration", err) ?:
	       take(&opts->memory_bytes, "memory", err) ?: take(&opts->max_bytes, "max-size", err);
}

static int check(const struct live_opts *opts, struct err *err)
{
	if (!opts->output)
		return err_set(err, -EINVAL, "where to? (-o RUN.db)");
	if (opts->memory_bytes && !opts->command)
		return err_set(err, -EINVAL, "--memory needs a command to run in it (-- COMMAND)");
	if (opts->ring_bytes && opts->ring_bytes < 4096)
		return err_set(err, -EINVAL, "a ring buffer has at least 4K");
	if (opts->max_bytes && opts->max_bytes < 1 << 20)
		return err_set(err, -EINVAL, "--max-size is at least 1M: an empty database and its "
			       "log take half of that");
	if (!opts->command && !opts->nr_events && !opts->nr_pids && !opts->cgroup &&
	    !opts->duration_ns)
		return err_set(err, -EINVAL, "what to record? (-- COMMAND, -p PID, --cgroup PATH, "
			       "or the whole system for a while: -d 60s)");
	return 0;
}

static int capture_run(const struct command *self, int argc, char **argv)
{
	struct live_opts live = {
		.max_cpu_pct = default_max_cpu_pct, .ring_bytes = unset, .duration_ns = unset,
		.memory_bytes = unset, .max_bytes = unset,
	};
	struct opt_texts events = { .nr = 0 }, pids = { .nr = 0 };
	struct progress progress = { .on_terminal = isatty(STDERR_FILENO) };
	enum out_format format = OUT_AUTO;
	bool list = false, force = false;
	const char *context = NULL;
	struct live_result result;
	struct err err = { "" };
	int status, nr, code;
	const struct opt opts[] = {
		{ 'o', "output", OPT_TEXT, &live.output, "RUN.db", "database to write" },
		{ 'e', "event", OPT_TEXTS, &events, "EVENT",
		  "a group or SYSTEM:EVENT; may be repeated" },
		{ 'p', "pid", OPT_TEXTS, &pids, "PID", "follow a process and its children" },
		{ 0, "cgroup", OPT_TEXT, &live.cgroup, "PATH", "follow the tasks of a cgroup" },
		{ 'm', "memory", OPT_BYTES, &live.memory_bytes, "SIZE",
		  "run COMMAND in a fresh memory cgroup of this limit" },
		{ 'b', "buffer", OPT_BYTES, &live.ring_bytes, "SIZE", "ring buffer per CPU" },
		{ 'd', "duration", OPT_NS, &live.duration_ns, "TIME", "stop after this time" },
		{ 0, "max-size", OPT_BYTES, &live.max_bytes, "SIZE",
		  "stop at this size of the output" },
		{ 0, "max-cpu", OPT_PCT, &live.max_cpu_pct, "PCT",
		  "thin the page stream beyond this share of all CPUs (15)" },
		{ 0, "no-probes", OPT_FLAG, &live.no_probes, NULL,
		  "no kprobes for hits where the kernel has no events of them" },
		{ 0, "context", OPT_TEXT, &context, "WHEN", "all (each second, too) or start,end" },
		{ 'f', "force", OPT_FLAG, &force, NULL, "replace an existing output" },
		{ 0, "list", OPT_FLAG, &list, NULL, "list groups and events, and end" },
		{ 0, "format", OPT_FORMAT, &format, "FORMAT", "of --list" },
		{ 0 },
	};

	nr = opts_parse(self, opts, argc, argv, true, &argv, &status);
	if (nr < 0)
		return status;
	if (list)
		return list_events(self, format);
	live.command = nr ? argv : NULL;
	live.events = events.item;
	live.nr_events = events.nr;
	live.store_flags = force ? STORE_FORCE : 0;
	live.progress = progress.on_terminal ? show_progress : NULL;
	live.progress_ctx = &progress;
	code = parse_pids(&live, &pids, &err) ?: parse_context(&live, context, &err) ?:
	       take_limits(&live, &err) ?: check(&live, &err);
	if (code)
		return cmd_usage(self, "%s", err.text);
	code = live_capture(&live, &result, &err);
	if (progress.on_terminal && progress.last_ns)
		fprintf(stderr, "\r\033[K");
	return finish(self, &live, &result, code, &err);
}

const struct command cmd_capture = {
	.name = "capture",
	.args = "-o RUN.db [OPTION]... [-- COMMAND [ARG...]]",
	.summary = "Record page cache and reclaim events of the running kernel (root).",
	.examples = "  pagereel capture -o run.db -- COMMAND\n"
		    "  pagereel capture -o run.db --memory 64M -- COMMAND\n"
		    "  pagereel capture -o run.db -e reclaim -e slab -d 60s\n",
	.run = capture_run,
};
