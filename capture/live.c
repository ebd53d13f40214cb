// SPDX-License-Identifier: GPL-2.0-or-later
/* live.c - a live capture from start to end. See live.h for its threads. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "capture/context.h"
#include "capture/live.h"
#include "capture/mounts.h"

enum {
	DEMAND_RING_BYTES = 8 << 20,
	RECLAIM_RING_BYTES = 4 << 20,
	SUBBUF_BYTES = 64 << 10,
	MAX_MASK = 1023,
	TICK_MS = 100,
	MIN_EVENTS_TO_THIN = 10000,	/* in half a second: below, something else costs */
};

static const uint64_t max_rings_bytes = 512ull << 20, queue_bytes = 64ull << 20;
static const uint64_t second_ns = 1000000000, term_patience_ns = 2000000000;

struct live {
	const struct live_opts *opts;
	struct trace_dir dir;
	struct trace_instance instance[NR_STREAMS];
	struct live_events events;
	struct memcg_mount memcg_mount;
	struct memcg_fresh memcg;
	struct context_scope scope;
	struct queue queue;
	bool has_queue;
	struct mailbox mailbox;
	struct drain drain;
	struct writer writer;
	struct own_files own;
	struct tasks *tasks;
	struct files *files;
	int signal_fd;
	sigset_t old_signals;
	bool signals_taken;
	bool has_begun;
	bool has_output;	/* it is ours: made or, with --force, replaced */
	struct live_command command;
	uint64_t begun_ns, next_context_ns, next_budget_ns, cpu_at_ns, term_sent_ns;
	uint64_t budget_cpu_ns, budget_events;
	int over_budget;
	bool interrupted;
	struct live_result *result;
};

static uint64_t own_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- signals -------------------------------------------------------------------------------- */

static int take_signals(struct live *l, struct err *err)
{
	static const int wanted[] = { SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGPIPE };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		sigaddset(&set, wanted[i]);
	pthread_sigmask(SIG_BLOCK, &set, &l->old_signals);
	l->signals_taken = true;
	l->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return l->signal_fd < 0 ? err_sys(err, -errno, "cannot wait for signals") : 0;
}

/* ---- set-up --------------------------------------------------------------------------------- */

static uint64_t rings_allowed(void)
{
	uint64_t memory_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

	return memory_bytes / 16 < max_rings_bytes ? memory_bytes / 16 : max_rings_bytes;
}

uint64_t live_rings_bytes(uint64_t nr_cpus)
{
	uint64_t want = nr_cpus * (DEMAND_RING_BYTES + RECLAIM_RING_BYTES);

	return want < rings_allowed() ? want : rings_allowed();
}

static int make_instances(struct live *l, struct err *err)
{
	static const uint64_t defaults[] = {
		[STREAM_DEMAND] = DEMAND_RING_BYTES, [STREAM_RECLAIM] = RECLAIM_RING_BYTES,
	};
	uint64_t nr_cpus = (uint64_t)sysconf(_SC_NPROCESSORS_CONF), allowed = rings_allowed();
	uint64_t want[NR_STREAMS], total = 0;
	int code = 0;

	for (int s = 0; s < NR_STREAMS; s++) {
		want[s] = l->opts->ring_bytes ? l->opts->ring_bytes : defaults[s];
		total += want[s] * nr_cpus;
	}
	for (int s = 0; s < NR_STREAMS && total > allowed; s++) {
		want[s] = want[s] * (allowed >> 10) / (total >> 10);
		l->result->rings_capped = true;
	}
	for (int s = 0; !code && s < NR_STREAMS; s++) {
		struct trace_instance *i = &l->instance[s];

		code = trace_instance_make(i, &l->dir, event_stream_name((enum event_stream)s),
					   err);
		if (!code)
			code = trace_instance_size(i, want[s], SUBBUF_BYTES, err);
		trace_write(i, "options/record-cmd", "0", false, NULL);
		l->result->ring_bytes += i->ring_bytes * nr_cpus;
	}
	return code;
}

static int choose_tasks(struct live *l, struct err *err)
{
	int code = 0;

	l->tasks = tasks_new(&l->instance[STREAM_DEMAND], &l->memcg_mount, &l->queue);
	l->files = files_new(&l->queue);
	if (!l->tasks || !l->files)
		return -ENOMEM;
	for (int i = 0; !code && i < l->opts->nr_pids; i++)
		code = tasks_choose_pid(l->tasks, l->opts->pids[i], err);
	if (!code && l->opts->cgroup)
		code = tasks_choose_cgroup(l->tasks, l->opts->cgroup, err);
	if (!code && l->command.pid)
		code = tasks_choose_pid(l->tasks, (uint32_t)l->command.pid, err);
	if (!code && tasks_any_chosen(l->tasks))
		code = tasks_apply(l->tasks, err);
	return code;
}

/* The cgroups whose statistics the context has. */
static void scope_cgroups(struct live *l)
{
	char path[CGROUP_PATH_BYTES];

	l->scope.mount = &l->memcg_mount;
	if (l->memcg.dir[0])
		context_add_cgroup(&l->scope, l->memcg.path);
	if (l->opts->cgroup &&
	    !memcg_resolve(&l->memcg_mount, l->opts->cgroup, path, sizeof(path), NULL))
		context_add_cgroup(&l->scope, path);
	for (int i = 0; i < l->opts->nr_pids; i++)
		if (memcg_of_pid(&l->memcg_mount, (int)l->opts->pids[i], path, sizeof(path)))
			context_add_cgroup(&l->scope, path);
	if (l->command.pid && memcg_of_pid(&l->memcg_mount, l->command.pid, path, sizeof(path)))
		context_add_cgroup(&l->scope, path);
	if (l->scope.nr_cgroups == 1)
		tasks_set_home(l->tasks, l->scope.cgroup[0]);
}

static int make_memcg(struct live *l, struct err *err)
{
	int code;

	memcg_mount_find(&l->memcg_mount);
	if (!l->opts->memory_bytes)
		return 0;
	if (!l->command.pid)
		return err_set(err, -EINVAL, "--memory needs a command to run in it");
	code = memcg_fresh_make(&l->memcg, &l->memcg_mount, l->opts->memory_bytes, err);
	return code ? code : memcg_fresh_enter(&l->memcg, l->command.pid, err);
}

/* What was captured: the command, else whom it followed. NULL without memory; the caller frees. */
static char *input_text(const struct live_opts *opts)
{
	size_t bytes = 0;
	char *text = NULL;
	FILE *f = open_memstream(&text, &bytes);

	if (!f)
		return NULL;
	for (char *const *word = opts->command; word && *word; word++)
		fprintf(f, "%s%s", word == opts->command ? "" : " ", *word);
	for (int i = 0; !opts->command && i < opts->nr_pids; i++)
		fprintf(f, "%s%u", i ? "," : "pid ", opts->pids[i]);
	if (!opts->command && opts->cgroup)
		fprintf(f, "%scgroup %s", opts->nr_pids ? " and " : "", opts->cgroup);
	if (!opts->command && !opts->nr_pids && !opts->cgroup)
		fputs("the whole system", f);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

static int begin_capture(struct live *l, struct err *err)
{
	struct utsname u = { 0 };
	struct timespec real;
	char *input = input_text(l->opts);
	int code;

	uname(&u);
	clock_gettime(CLOCK_REALTIME, &real);
	l->begun_ns = mono_ns();
	code = store_capture_begin(l->writer.store, &(struct capture_info){
		.source = "live", .input = input && input[0] ? input : NULL,
		.kernel_release = u.release, .hostname = u.nodename, .clock = "mono",
		.started_unix_ns = (int64_t)real.tv_sec * 1000000000 + real.tv_nsec,
		.base_ts_ns = (int64_t)l->begun_ns, .nr_cpus = (int)sysconf(_SC_NPROCESSORS_ONLN),
		.has_hits = live_events_show_hits(&l->events) }, &l->writer.capture_id, err);
	free(input);
	return code;
}

/* The database, its -wal and -shm as events name them. */
static void find_own_files(struct live *l)
{
	static const char *const suffix[NR_OWN_FILES] = { "", "-wal", "-shm" };
	uint32_t dev;
	uint64_t ino;
	char path[4096];
	int fd;

	/* the directory's mount tells the device; the database itself must not be opened again, for
	 * closing it would drop SQLite's locks */
	snprintf(path, sizeof(path), "%s", store_path(l->writer.store));
	if (strrchr(path, '/'))
		*(strrchr(path, '/') + 1) = '\0';
	else
		strcpy(path, ".");
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || file_event_identity(0, fd, &dev, &ino)) {
		if (fd >= 0)
			close(fd);
		return;
	}
	close(fd);
	l->own.dev = dev;
	for (int i = 0; i < NR_OWN_FILES; i++) {
		struct stat st;

		snprintf(path, sizeof(path), "%s%s", store_path(l->writer.store), suffix[i]);
		if (!stat(path, &st))
			l->own.ino[l->own.nr++] = st.st_ino;
	}
}

/* Our threads, in both instances: what they do is not to be recorded. */
static int hide_ourselves(struct live *l, struct err *err)
{
	char own[64];
	int code;

	while (!atomic_load(&l->drain.tid) || !atomic_load(&l->writer.tid))
		sched_yield();	/* they have just been started */
	snprintf(own, sizeof(own), "%d %d %d", getpid(), atomic_load(&l->drain.tid),
		 atomic_load(&l->writer.tid));
	code = trace_write(&l->instance[STREAM_RECLAIM], "set_event_notrace_pid", own, false, err);
	if (!code && !tasks_any_chosen(l->tasks))
		code = trace_write(&l->instance[STREAM_DEMAND], "set_event_notrace_pid", own, false,
				   err);
	return code;
}

static void put_context(struct live *l, const char *phase)
{
	struct facts *facts = context_collect(&l->scope, phase, mono_ns());
	struct item *item = facts ? item_new(ITEM_FACTS, (size_t)facts->nr * sizeof(struct fact)) :
				    NULL;

	if (!item) {
		facts_free(facts);
		return;
	}
	if (strcmp(phase, "sample")) {
		facts_add(facts, "capture", "cpu_ns", VALUE_OF_INT((int64_t)own_cpu_ns()));
		facts_add(facts, "capture", "ring_bytes",
			  VALUE_OF_INT((int64_t)l->result->ring_bytes));
	}
	if (!strcmp(phase, "end") && l->result->has_command)
		facts_add(facts, "capture", "command_status",
			  VALUE_OF_INT(l->result->command_status));
	item->facts = facts;
	queue_put(&l->queue, item);
}

static int start_threads(struct live *l, struct err *err)
{
	uint32_t first_file_id = 1;
	int code = store_next_file_id(l->writer.store, &first_file_id, err);

	l->drain.events = &l->events;
	l->drain.queue = &l->queue;
	l->drain.mailbox = &l->mailbox;
	l->drain.own = &l->own;
	l->drain.attach_hierarchy = l->memcg_mount.hierarchy;
	if (!code)
		code = drain_init(&l->drain, l->instance, l->writer.capture_id, first_file_id, err);
	l->writer.queue = &l->queue;
	l->writer.events = &l->events;
	l->writer.max_bytes = l->opts->max_bytes;
	if (!code)
		code = writer_start(&l->writer, err);
	if (!code)
		code = drain_start(&l->drain, err);
	return code;
}

/* --force replaces a file, but not under a program that has it open: SQLite's locks tell. */
static int check_unused(const struct live_opts *opts, struct err *err)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0x40000000,
			      .l_len = 512 };
	int fd = open(opts->output, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	bool used;

	if (fd < 0)
		return 0;
	used = !fcntl(fd, F_GETLK, &lock) && lock.l_type != F_UNLCK;
	close(fd);
	return used ? err_set(err, -EBUSY, "'%s' is in use by process %d (another capture?)",
			      opts->output, lock.l_pid) : 0;
}

static int make_output(struct live *l, struct err *err)
{
	int code = check_unused(l->opts, err);

	if (!code)
		code = writer_init(&l->writer, l->opts->output, l->opts->store_flags, err);
	l->has_output = !code;
	return code;
}

static int fork_command(struct live *l, struct err *err)
{
	if (!l->opts->command)
		return 0;
	return live_command_fork(&l->command, l->opts->command, &l->old_signals, err);
}

static int set_up(struct live *l, struct err *err)
{
	int code = trace_dir_open(&l->dir, err);

	if (!code)
		code = take_signals(l, err);
	if (!code)
		code = fork_command(l, err);
	if (code)
		return code;
	trace_clean_stale(&l->dir, NULL);
	code = live_events_choose(&l->events, &l->dir, l->opts->events, l->opts->nr_events, err);
	if (!code)
		code = live_probes_add(&l->events, &l->dir, l->opts->no_probes, err);
	if (!code)
		code = make_memcg(l, err);
	if (!code) {
		memcg_clean_stale(&l->memcg_mount);
		code = make_instances(l, err);
	}
	if (!code)
		code = choose_tasks(l, err);
	if (!code)	/* the last that can be wrong in what the user said: --force has a cost */
		code = make_output(l, err);
	if (!code)
		code = begin_capture(l, err);
	if (!code)
		code = start_threads(l, err);
	return code;
}

static int start_tracing(struct live *l, struct err *err)
{
	int code = 0;

	find_own_files(l);
	scope_cgroups(l);
	code = hide_ourselves(l, err);
	for (int s = 0; !code && s < NR_STREAMS; s++)
		code = live_events_enable(&l->events, &l->instance[s], (enum event_stream)s,
					  &l->own, err);
	if (code)
		return code;
	put_context(l, "start");
	for (int s = NR_STREAMS - 1; !code && s >= 0; s--)
		code = trace_write(&l->instance[s], "tracing_on", "1", false, err);
	l->begun_ns = mono_ns();
	return code;
}

/* ---- while it runs -------------------------------------------------------------------------- */

/* What the drain has found since: swaps the lists out, so that the lock is short. */
static void read_mail(struct live *l)
{
	struct mailbox *box = &l->mailbox, got;
	const uint32_t *pids;
	size_t nr_pids;

	pthread_mutex_lock(&box->lock);
	got = *box;
	box->file = NULL;
	box->task = NULL;
	box->attach = NULL;
	box->nr_files = box->room_files = box->nr_tasks = box->room_tasks = 0;
	box->nr_attached = box->room_attached = 0;
	pthread_mutex_unlock(&box->lock);
	tasks_update(l->tasks, got.task, got.nr_tasks, got.attach, got.nr_attached);
	pids = tasks_demanding(l->tasks, &nr_pids);
	files_update(l->files, got.file, got.nr_files, pids, nr_pids);
	free(got.file);
	free(got.task);
	free(got.attach);
}

static uint64_t thread_cpu_ns(pthread_t thread)
{
	struct timespec t = { 0 };
	clockid_t clock;

	if (!pthread_getcpuclockid(thread, &clock))
		clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Draining, packing, writing: what grows with the number of events, and thinning can lower. */
static uint64_t event_cpu_ns(const struct live *l)
{
	return thread_cpu_ns(l->drain.thread) + thread_cpu_ns(l->writer.thread);
}

static bool is_over_budget(struct live *l, uint64_t now)
{
	uint64_t cpu = event_cpu_ns(l), nr = atomic_load(&l->drain.nr_events);
	double pct = 100.0 * (double)(cpu - l->budget_cpu_ns) /
		     ((double)(now - l->cpu_at_ns) * (double)sysconf(_SC_NPROCESSORS_ONLN));
	bool many = nr - l->budget_events >= MIN_EVENTS_TO_THIN;

	l->next_budget_ns = now + second_ns / 2;
	l->cpu_at_ns = now;
	l->budget_cpu_ns = cpu;
	l->budget_events = nr;
	return l->opts->max_cpu_pct > 0 && pct > l->opts->max_cpu_pct && many;
}

/*
 * The budget is a share of all CPUs. Two half seconds above it in a row double the sampling; it
 * never goes back, so that a capture has few changes. The drain thins first and the kernel then,
 * so that what a chunk says of itself is true.
 */
static void keep_budget(struct live *l, uint64_t now)
{
	uint32_t mask = atomic_load(&l->drain.wanted_mask);

	if (now < l->next_budget_ns)
		return;
	l->over_budget = is_over_budget(l, now) ? l->over_budget + 1 : 0;
	if (l->over_budget < 2 || mask >= MAX_MASK)
		return;
	l->over_budget = 0;
	mask = mask * 2 + 1;
	atomic_store(&l->drain.wanted_mask, mask);
	for (int i = 0; i < 50 && atomic_load(&l->drain.applied_mask) != mask; i++)
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	live_events_thin(&l->events, l->instance, &l->own, mask, NULL);
}

static void fill_status(struct live *l)
{
	struct live_status *s = &l->result->status;

	s->elapsed_ns = mono_ns() - l->begun_ns;
	s->nr_events = atomic_load(&l->drain.nr_events);
	s->nr_lost = atomic_load(&l->drain.nr_lost);
	s->file_bytes = atomic_load(&l->writer.file_bytes);
	s->cpu_ns = own_cpu_ns();
	s->sample_mask = atomic_load(&l->drain.applied_mask);
	l->result->nr_gaps = atomic_load(&l->drain.nr_gaps);
}

/* What a writer that was stopped by a full disk or the size limit dropped: lost, too. */
static void count_unwritten(struct live *l)
{
	uint64_t nr = l->writer.nr_unwritten;

	if (!nr)
		return;
	l->result->status.nr_events -= nr;
	l->result->status.nr_lost += nr;
	l->result->nr_gaps++;
}

static void handle_signals(struct live *l)
{
	struct signalfd_siginfo info;

	while (read(l->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD || info.ssi_signo == SIGPIPE)
			continue;
		/* the terminal has sent the command a SIGINT, too; anyone else has not */
		if (l->command.pid && info.ssi_code <= 0)
			kill(l->command.pid, (int)info.ssi_signo);
		if (l->interrupted)
			l->term_sent_ns = 1;	/* asked twice: wait for nothing */
		else
			l->term_sent_ns = mono_ns();
		l->interrupted = true;
	}
}

static bool is_over(struct live *l, uint64_t now)
{
	if (atomic_load(&l->writer.code) || atomic_load(&l->drain.code))
		return true;
	if (l->result->has_command && !l->command.pid)
		return true;
	if (l->interrupted)
		return !l->command.pid || l->command.gate_fd >= 0 ||
		       now - l->term_sent_ns > term_patience_ns;
	return l->opts->duration_ns && now - l->begun_ns >= l->opts->duration_ns;
}

static void run(struct live *l)
{
	uint64_t now = mono_ns(), next_progress = now + second_ns / 2;

	l->next_context_ns = now + second_ns;
	l->next_budget_ns = now + second_ns / 2;
	l->cpu_at_ns = now;
	l->budget_cpu_ns = event_cpu_ns(l);
	handle_signals(l);
	if (!l->interrupted)
		live_command_go(&l->command);
	for (;;) {
		struct pollfd p = { .fd = l->signal_fd, .events = POLLIN };

		poll(&p, 1, TICK_MS);
		handle_signals(l);
		live_command_reap(&l->command, l->result);
		read_mail(l);
		now = mono_ns();
		if (is_over(l, now))
			break;
		keep_budget(l, now);
		if (l->opts->context_each_second && now >= l->next_context_ns) {
			put_context(l, "sample");
			l->next_context_ns = now + second_ns;
		}
		if (l->opts->progress && now >= next_progress) {
			fill_status(l);
			l->opts->progress(l->opts->progress_ctx, &l->result->status);
			next_progress = now + second_ns / 2;
		}
	}
}

/* ---- the end -------------------------------------------------------------------------------- */

static int finish(struct live *l, struct err *err)
{
	uint64_t end_ns = mono_ns();
	int code;

	for (int s = 0; s < NR_STREAMS; s++)
		trace_write(&l->instance[s], "tracing_on", "0", false, NULL);
	fill_status(l);
	drain_stop(&l->drain);
	put_context(l, "end");
	read_mail(l);
	files_finish(l->files);
	live_command_stop(&l->command, l->result);
	queue_close(&l->queue);
	writer_stop(&l->writer);
	code = atomic_load(&l->writer.code);
	if (code)
		err_set(err, code, "%s", l->writer.err.text);
	else if (atomic_load(&l->drain.code))
		code = err_sys(err, atomic_load(&l->drain.code), "cannot read the trace");
	l->result->stopped_by = store_capture_status(code ?: l->interrupted ? -EINTR : 0);
	l->result->nr_kinds = l->events.nr;
	l->result->nr_missing = l->events.nr_missing;
	live_probes_report(&l->events, l->result);
	return writer_finish(&l->writer, l->result->stopped_by, end_ns, code ? NULL : err) ?: code;
}

static int tear_down(struct live *l, struct err *err)
{
	int code = 0, one;

	live_command_stop(&l->command, l->result);
	if (l->has_queue)
		queue_close(&l->queue);
	drain_stop(&l->drain);
	writer_stop(&l->writer);
	drain_release(&l->drain);
	for (int s = 0; s < NR_STREAMS; s++) {
		one = trace_instance_remove(&l->instance[s], code ? NULL : err);
		code = code ? code : one;
	}
	one = memcg_fresh_remove(&l->memcg, code ? NULL : err);
	code = code ? code : one;
	if (l->writer.store)
		writer_finish(&l->writer, "failed", mono_ns(), NULL);
	if (l->has_output && (!l->has_begun || l->result->exec_error))
		unlink(l->opts->output);	/* nothing is in it */
	tasks_free(l->tasks);
	files_free(l->files);
	live_events_release(&l->events);
	queue_release(&l->queue);
	free(l->mailbox.file);
	free(l->mailbox.task);
	free(l->mailbox.attach);
	pthread_mutex_destroy(&l->mailbox.lock);
	trace_dir_close(&l->dir);
	if (l->signal_fd >= 0)
		close(l->signal_fd);
	live_command_release(&l->command);
	if (l->signals_taken)
		pthread_sigmask(SIG_SETMASK, &l->old_signals, NULL);
	return code;
}

int live_capture(const struct live_opts *opts, struct live_result *result, struct err *err)
{
	struct live *l = calloc(1, sizeof(*l));
	struct stat st;
	int code, down;

	if (!l)
		return -ENOMEM;
	*result = (struct live_result){ .has_command = opts->command, .command_status = -1 };
	l->opts = opts;
	l->result = result;
	l->dir.mount_fd = l->signal_fd = -1;
	live_command_init(&l->command);
	l->writer.reserve_fd = -1;
	pthread_mutex_init(&l->mailbox.lock, NULL);
	queue_init(&l->queue, queue_bytes);
	l->has_queue = true;
	code = set_up(l, err);
	if (!code)
		code = start_tracing(l, err);
	l->has_begun = !code;
	if (!code) {
		run(l);
		code = finish(l, err);
		fill_status(l);
		count_unwritten(l);
		if (!stat(opts->output, &st))	/* the log is gone by now */
			result->status.file_bytes = (uint64_t)st.st_size;
	}
	down = tear_down(l, code ? NULL : err);
	free(l);
	return code ? code : down;
}

int live_clean(struct err *err)
{
	struct memcg_mount mount;
	struct trace_dir dir;
	int nr, code = trace_dir_open(&dir, err);

	if (code)
		return code;
	nr = trace_clean_stale(&dir, err);
	trace_dir_close(&dir);
	memcg_mount_find(&mount);
	return nr < 0 ? nr : nr + memcg_clean_stale(&mount);
}
