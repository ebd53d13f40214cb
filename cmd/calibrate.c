// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * calibrate.c - `pagereel calibrate`: what an operation of reclaim costs on this host.
 *
 * The problem: to count what reclaim did, its events must be recorded, and recording them makes it
 * slower by a third. So each workload runs twice, with the same accesses: once with begin and end
 * of reclaim only (the truth about time), once with all events (the truth about counts).
 *
 *  1. What an event costs: the random reads also run with the events of scans but without those of
 *     pages. Over the episodes of the three, duration = pages, calls, events of scans, of pages.
 *  2. What an operation costs: the episodes with all events, less 1, fitted to what was done.
 *  3. The scale: over the runs with all events these prices give a time a page; what the runs with
 *     begin and end only took a page is the truth. All prices are scaled by the mean ratio of the
 *     two, over the workloads; what is left of the difference is printed: the profile's error.
 *
 * Times are CPU times (begin to end, less the time off the CPU), so a busy host changes them by
 * what it does to caches and clocks only; rounds alternate the workloads, so that such a change
 * meets all.
 *
 * Nothing is left behind: captures have instances and cgroups of their own and remove them, the
 * file is unlinked as soon as it is open (children reach it through /proc), the captures' database
 * goes at last.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/capture.h"
#include "cmd/calibrate.h"
#include "cmd/cmd.h"
#include "cmd/profile.h"

enum { MAX_LOADS = 8, DEFAULT_ROUNDS = 3, MAX_ROUNDS = 100 };

/* What is recorded in a run. */
enum detail { DETAIL_CPU, DETAIL_SCANS, DETAIL_PAGES, NR_DETAILS };

struct calibration {
	const char *output, *dir;
	uint64_t nr_rounds;
	char scratch[4096], db[4200], file[64];
	int fd;
	uint32_t nr_runs, nr_wanted;
	struct episodes all;			/* DETAIL_PAGES of every workload */
	size_t round_first[MAX_ROUNDS + 1];	/* of all, by round */
	size_t trace_first[NR_DETAILS][MAX_ROUNDS + 1];		/* of tracing */
	struct episodes tracing[NR_DETAILS];	/* of the random reads */
	/* sums over the runs, by workload */
	double truth_ns[MAX_LOADS], truth_pages[MAX_LOADS];
	struct episodes load[MAX_LOADS];
	struct profile profile;
};

static volatile sig_atomic_t stop_requested;

static void stop_request(int signal)
{
	stop_requested = signal;
}

/* ---- the place ------------------------------------------------------------------------------- */

static int refuse_tmpfs(const char *dir, struct err *err)
{
	struct statfs fs;

	if (statfs(dir, &fs))
		return err_set(err, -errno, "no directory '%s': %s", dir, strerror(errno));
	if (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC)
		return err_set(err, -EOPNOTSUPP, "'%s' is in memory: its pages are not reclaimed "
			       "as a disk's are (name a directory on a disk: --dir)", dir);
	return 0;
}

static int fill_file(int fd)
{
	uint64_t page[PAGE_BYTES / 8], seed = 1;

	for (int i = 0; i < CALIBRATE_FILE_PAGES; i++) {
		for (size_t j = 0; j < ARRAY_SIZE(page); j++)
			page[j] = rand_next(&seed);
		if (write(fd, page, sizeof(page)) != (ssize_t)sizeof(page))
			return errno ? -errno : -ENOSPC;
	}
	return fsync(fd) ? -errno : 0;
}

static int place_make(struct calibration *c, struct err *err)
{
	char path[4200];
	int code = refuse_tmpfs(c->dir, err);

	if (code)
		return code;
	snprintf(c->scratch, sizeof(c->scratch), "%s/pagereel-calibrate.XXXXXX", c->dir);
	if (!mkdtemp(c->scratch)) {
		code = -errno;
		c->scratch[0] = '\0';
		return err_sys(err, code, "cannot write to '%s'", c->dir);
	}
	snprintf(c->db, sizeof(c->db), "%s/run.db", c->scratch);
	snprintf(path, sizeof(path), "%s/data", c->scratch);
	c->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (c->fd < 0)
		return err_sys(err, -errno, "cannot create '%s'", path);
	unlink(path);
	snprintf(c->file, sizeof(c->file), "/proc/%d/fd/%d", (int)getpid(), c->fd);
	code = fill_file(c->fd);
	return code ? err_sys(err, code, "cannot write 128M to '%s'", c->dir) : 0;
}

static void db_remove(const struct calibration *c)
{
	static const char *const endings[] = { "", "-wal", "-shm", "-journal" };
	char path[4300];

	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		snprintf(path, sizeof(path), "%s%s", c->db, endings[i]);
		unlink(path);
	}
}

static void place_remove(struct calibration *c)
{
	if (c->fd >= 0)
		close(c->fd);
	if (!c->scratch[0])
		return;
	db_remove(c);
	rmdir(c->scratch);
}

/* ---- one run --------------------------------------------------------------------------------- */

static int record(const struct calibration *c, const char *load, enum detail detail,
		  struct err *err)
{
	static const char *const events[] = {
		"reclaim-cpu",
		"reclaim", "slab",
		"filemap:mm_filemap_add_to_page_cache",
		"filemap:mm_filemap_delete_from_page_cache", "pagemap:mm_lru_activate",
		"memcg-flush",
	};
	static const int nr_events[NR_DETAILS] = { 1, 3, (int)ARRAY_SIZE(events) };
	char *const command[] = { "/proc/self/exe", "calibrate", "--workload", (char *)load, "--",
				  (char *)c->file, NULL };
	const struct live_opts opts = {
		.output = c->db, .store_flags = STORE_FORCE, .events = events,
		.nr_events = nr_events[detail], .command = command, .max_cpu_pct = 100,
		.memory_bytes = (uint64_t)CALIBRATE_LIMIT_PAGES * PAGE_BYTES,
	};
	struct live_result result;
	int code = live_capture(&opts, &result, err);

	if (code)
		return code;
	if (result.exec_error)
		return err_sys(err, -result.exec_error, "cannot run a workload");
	if (!strcmp(result.stopped_by, "interrupted"))
		return err_set(err, -EINTR, "interrupted; nothing is stored");
	if (!result.has_command || !WIFEXITED(result.command_status) ||
	    WEXITSTATUS(result.command_status))
		return err_set(err, -EIO, "workload '%s' failed", load);
	return 0;
}

static double page_ns(const struct episode *e)
{
	return e->count[TERM_PAGE] > 0 ? e->spent_ns / e->count[TERM_PAGE] : 0;
}

static int compare_page_ns(const void *a, const void *b)
{
	double x = page_ns(a), y = page_ns(b);

	return (x > y) - (x < y);
}

/* As in the fit, interrupted episodes do not count: those of FIT_OUTLIER times the median. */
static void take_truth(struct calibration *c, int load, struct episodes *e)
{
	double median;

	if (!e->nr)
		return;
	qsort(e->episode, e->nr, sizeof(*e->episode), compare_page_ns);
	median = page_ns(&e->episode[e->nr / 2]);
	for (size_t i = 0; i < e->nr && page_ns(&e->episode[i]) < FIT_OUTLIER * median; i++) {
		c->truth_ns[load] += e->episode[i].spent_ns;
		c->truth_pages[load] += e->episode[i].count[TERM_PAGE];
	}
}

static int run(struct calibration *c, int load, enum detail detail, struct err *err)
{
	struct episodes truth = { 0 };
	struct store *store;
	int code;

	c->nr_runs++;
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[Krun %u of %u: %s reads", c->nr_runs, c->nr_wanted,
			calibrate_loads[load]);
	if (stop_requested)
		return err_set(err, -EINTR, "interrupted; nothing is stored");
	code = record(c, calibrate_loads[load], detail, err);
	if (code)
		return code;
	code = store_open(&store, c->db, 0, err);
	if (code)
		return code;
	if (!load)
		code = episodes_load(&c->tracing[detail], store, 1, err);
	if (!code && detail == DETAIL_PAGES)
		code = episodes_load(&c->all, store, 1, err) ?:
		       episodes_load(&c->load[load], store, 1, err);
	if (!code && detail == DETAIL_CPU)
		code = episodes_load(&truth, store, 1, err);
	take_truth(c, load, &truth);
	episodes_release(&truth);
	store_close(store, NULL);
	db_remove(c);
	return code;
}

static int run_all(struct calibration *c, struct err *err)
{
	int code = 0, nr = 0;

	while (calibrate_loads[nr])
		nr++;
	c->nr_wanted = (uint32_t)c->nr_rounds * (2 * (uint32_t)nr + 1);
	for (uint64_t round = 0; round < c->nr_rounds && !code; round++) {
		for (int load = 0; load < nr && !code; load++)
			for (int detail = 0; detail < NR_DETAILS && !code; detail++)
				if (!load || detail != DETAIL_SCANS)
					code = run(c, load, (enum detail)detail, err);
		c->round_first[round + 1] = c->all.nr;
		for (int detail = 0; detail < NR_DETAILS; detail++)
			c->trace_first[detail][round + 1] = c->tracing[detail].nr;
	}
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K");
	return code;
}

/* ---- prices ---------------------------------------------------------------------------------- */

/* 1 of the essay: pages, calls, events of scans, events of pages. */
enum { TRACE_PAGE, TRACE_CALL, TRACE_VMSCAN, TRACE_EVENT, NR_TRACE };

/* Fits the random reads of rounds @from to before @to. */
static int fit_tracing_of(const struct calibration *c, uint64_t from, uint64_t to, struct fit *fit,
			  struct err *err)
{
	size_t room = c->tracing[0].nr + c->tracing[1].nr + c->tracing[2].nr, nr = 0;
	double *duration = calloc(room + 1, sizeof(*duration));
	double *count = calloc(room * NR_TRACE + 1, sizeof(*count));
	int code = 0;

	if (!duration || !count)
		code = err_set(err, -ENOMEM, "no memory for %zu episodes", room);
	for (int d = 0; d < NR_DETAILS && !code; d++)
		for (size_t i = c->trace_first[d][from]; i < c->trace_first[d][to]; i++, nr++) {
			const struct episode *e = &c->tracing[d].episode[i];

			duration[nr] = e->spent_ns;
			count[nr * NR_TRACE + TRACE_PAGE] = e->count[TERM_PAGE];
			count[nr * NR_TRACE + TRACE_CALL] = 1;
			count[nr * NR_TRACE + TRACE_VMSCAN] = e->nr_vmscan;
			count[nr * NR_TRACE + TRACE_EVENT] = e->nr_page;
		}
	if (!code)
		code = fit_prices(duration, count, nr, NR_TRACE, fit, err);
	free(duration);
	free(count);
	return code;
}

/* The error of a mean of @nr values by their sum and the sum of their squares. */
static double mean_error(double sum, double squares, double nr)
{
	return nr > 1 ? sqrt(fmax(squares - sum * sum / nr, 0) / (nr - 1) / nr) : 0;
}

/*
 * A busy machine changes between the runs that are compared. A price of which that leaves an error
 * of more than half is not taken: the built-in one, of a quiet machine, is nearer.
 */
static int fit_tracing(struct calibration *c, struct err *err)
{
	static const char *const names[NR_TRACE] = {
		[TRACE_VMSCAN] = "trace.vmscan", [TRACE_EVENT] = "trace.page",
	};
	double sum[NR_TRACE] = { 0 }, squares[NR_TRACE] = { 0 }, nr = 0, error[NR_TRACE];
	bool taken = true;
	struct fit fit, round;
	int code = fit_tracing_of(c, 0, c->nr_rounds, &fit, err);

	for (uint64_t r = 0; r < c->nr_rounds && !code; r++) {
		if (fit_tracing_of(c, r, r + 1, &round, NULL))
			continue;
		for (int t = 0; t < NR_TRACE; t++) {
			sum[t] += round.term[t].ns;
			squares[t] += round.term[t].ns * round.term[t].ns;
		}
		nr++;
	}
	for (int t = TRACE_VMSCAN; t < NR_TRACE && !code; t++) {
		error[t] = fmax(fit.term[t].stderr_ns, mean_error(sum[t], squares[t], nr));
		taken = taken && fit.term[t].state == FIT_USED && error[t] < 0.5 * fit.term[t].ns;
	}
	for (int t = TRACE_VMSCAN; t < NR_TRACE && !code; t++) {
		double ns = fit.term[t].ns, builtin_ns = cost_ns(cost_profile_builtin(), names[t]);

		code = taken ? profile_set(&c->profile, names[t], ns, error[t],
					   "random reads with and without these events, %zu "
					   "episodes", fit.nr_samples) :
		       profile_set(&c->profile, names[t], builtin_ns, NAN, "built in: too much "
				   "changed between the runs (%.0f +- %.0f ns)", ns, error[t]);
	}
	return code;
}

static double predicted_ns(const struct profile *p, const struct episodes *e)
{
	double ns = 0;

	for (size_t i = 0; i < e->nr; i++)
		for (int t = 0; t < NR_TERMS; t++)
			if (e->episode[i].count[t] > 0)
				ns += e->episode[i].count[t] * cost_ns(&p->cost, reclaim_terms[t]);
	return ns;
}

struct check {
	double truth_page_ns, profile_page_ns;
};

/* False: the workload made no reclaim. */
static bool check_load(const struct calibration *c, int load, struct check *check)
{
	double pages = 0;

	for (size_t i = 0; i < c->load[load].nr; i++)
		pages += c->load[load].episode[i].count[TERM_PAGE];
	if (!(pages > 0) || !(c->truth_pages[load] > 0))
		return false;
	check->truth_page_ns = c->truth_ns[load] / c->truth_pages[load];
	check->profile_page_ns = predicted_ns(&c->profile, &c->load[load]) / pages;
	return check->profile_page_ns > 0;
}

/* 3 of the essay. */
static int scale_prices(struct calibration *c, struct err *err)
{
	double sum = 0;
	int nr = 0;

	for (int load = 0; calibrate_loads[load]; load++) {
		struct check check;

		if (!check_load(c, load, &check))
			continue;
		sum += log(check.truth_page_ns / check.profile_page_ns);
		nr++;
	}
	if (!nr)
		return err_set(err, -ENODATA, "the workloads made no reclaim that was recorded");
	for (int t = 0; t < NR_TERMS; t++) {
		const char *name = reclaim_terms[t];
		const struct cost_entry *entry = cost_find(&c->profile.cost, name);
		char source[160];

		if (!profile_is_fitted(&c->profile, t))
			continue;
		snprintf(source, sizeof(source), "%s, scaled by %.3f", entry->source,
			 exp(sum / nr));
		if (profile_set(&c->profile, name, entry->ns * exp(sum / nr),
				entry->stderr_ns * exp(sum / nr), "%s", source))
			return err_set(err, -ENOMEM, "no memory for a cost profile");
	}
	return 0;
}

/*
 * What a fit cannot know is how much the machine changes from one minute to the next: rounds can.
 * The error of a price is at least that of the mean of the rounds' own.
 */
static int widen_errors(struct calibration *c, struct err *err)
{
	double sum[NR_TERMS] = { 0 }, squares[NR_TERMS] = { 0 }, nr = (double)c->nr_rounds;
	int code = 0;

	for (uint64_t r = 0; r < c->nr_rounds && nr > 1 && !code; r++) {
		struct episodes round = c->all;
		struct profile own;

		round.episode += c->round_first[r];
		round.nr = c->round_first[r + 1] - c->round_first[r];
		code = profile_copy(&own, &c->profile.cost, err) ?:
		       profile_fit(&own, &round, NULL);
		for (int t = 0; t < NR_TERMS && !code; t++) {
			sum[t] += own.fit.term[t].ns;
			squares[t] += own.fit.term[t].ns * own.fit.term[t].ns;
		}
		profile_release(&own);
	}
	if (code == -ENODATA)
		return 0;	/* too little in a round: the errors of the fit stand */
	for (int t = 0; t < NR_TERMS && nr > 1 && !code; t++) {
		const struct cost_entry *e = cost_find(&c->profile.cost, reclaim_terms[t]);
		double error = mean_error(sum[t], squares[t], nr);
		char source[160];

		if (!profile_is_fitted(&c->profile, t) || error <= e->stderr_ns)
			continue;
		snprintf(source, sizeof(source), "%s", e->source);
		code = profile_set(&c->profile, reclaim_terms[t], e->ns, error,
				   "%s, error by rounds", source);
	}
	return code;
}

static int make_profile(struct calibration *c, struct err *err)
{
	struct calibrate_price lookup, fill;
	int code = profile_copy(&c->profile, cost_profile_builtin(), err);

	if (!code)
		code = calibrate_reads(c->fd, &lookup, &fill, err);
	if (!code)
		code = run_all(c, err);
	if (!code)
		code = fit_tracing(c, err) ?: profile_fit(&c->profile, &c->all, err) ?:
		       scale_prices(c, err) ?: widen_errors(c, err);
	if (!code)
		code = profile_set(&c->profile, "lookup.page", lookup.ns, lookup.stderr_ns,
				   "cached random preads of 4 KiB, getrusage") ?:
		       profile_set(&c->profile, "fill.page", fill.ns, fill.stderr_ns,
				   "uncached ones less the look-up, getrusage");
	if (!code)
		profile_name(&c->profile, "host");
	return code;
}

static int output_store(const struct calibration *c, struct err *err)
{
	struct store *store;
	int code = access(c->output, F_OK) ? store_create(&store, c->output, 0, err) :
					     store_open(&store, c->output, 0, err), end;

	if (code)
		return code;
	code = store_begin(store, err) ?: profile_store(store, &c->profile, err) ?:
	       store_commit(store, err);
	end = store_close(store, code ? NULL : err);
	return code ? code : end;
}

/* ---- printing -------------------------------------------------------------------------------- */

static void print_checks(const struct calibration *c)
{
	char a[32], b[32];

	printf("\nReclaim of a page, by workload: measured with begin and end only, and by these "
	       "prices:\n");
	for (int load = 0; calibrate_loads[load]; load++) {
		struct check k;

		if (check_load(c, load, &k))
			printf("  %-10s %9s %9s  %+.0f%%\n", calibrate_loads[load],
			       format_ns(a, sizeof(a), k.truth_page_ns),
			       format_ns(b, sizeof(b), k.profile_page_ns),
			       100 * (k.profile_page_ns / k.truth_page_ns - 1));
		else
			printf("  %-10s made no reclaim\n", calibrate_loads[load]);
	}
	printf("%zu episodes fitted, %zu left out (interrupted), R2 %.2f. Prices are in profile "
	       "'%s' of %s:\npagereel replay RUN.db --profile %s\n", c->profile.fit.nr_samples,
	       c->profile.fit.nr_left_out, c->profile.fit.r2, c->profile.name, c->output,
	       c->output);
}

/* ---- the command ----------------------------------------------------------------------------- */

static void calibration_release(struct calibration *c)
{
	place_remove(c);
	episodes_release(&c->all);
	for (int i = 0; i < NR_DETAILS; i++)
		episodes_release(&c->tracing[i]);
	for (int i = 0; i < MAX_LOADS; i++)
		episodes_release(&c->load[i]);
	profile_release(&c->profile);
}

static int calibrate(const struct command *self, struct calibration *c, enum out_format format)
{
	const struct sigaction action = { .sa_handler = stop_request };
	struct err err = { "" };
	int code;

	if (geteuid())
		code = err_set(&err, -EPERM, "it records the kernel's events: run it as root, or "
			       "use the built-in prices (pagereel replay --profile builtin), or "
			       "those of a recording (pagereel replay --calibrate)");
	else {
		sigaction(SIGINT, &action, NULL);
		sigaction(SIGTERM, &action, NULL);
		code = place_make(c, &err) ?: make_profile(c, &err) ?: output_store(c, &err) ?:
		       profile_print(&c->profile, format);
	}
	if (!code && out_format_is_table(format))
		print_checks(c);
	calibration_release(c);
	return code ? cmd_fail(self, code, &err) : cmd_finish(self);
}

static int calibrate_run(const struct command *self, int argc, char **argv)
{
	struct calibration c = { .nr_rounds = DEFAULT_ROUNDS, .fd = -1, .dir = "/var/tmp" };
	enum out_format format = OUT_AUTO;
	const char *workload = NULL;
	struct err err = { "" };
	const struct opt opts[] = {
		{ 'o', "output", OPT_TEXT, &c.output, "HOST.db",
		  "database to put the prices into; made if it is not there" },
		{ 0, "dir", OPT_TEXT, &c.dir, "DIR",
		  "where the file that is read goes, 128M (default /var/tmp)" },
		{ 0, "rounds", OPT_U64, &c.nr_rounds, "N", "times each workload runs (default 3)" },
		{ 0, "workload", OPT_TEXT, &workload, "NAME",
		  "only run one of its workloads, on the file given" },
		{ 0, "format", OPT_FORMAT, &format, "FORMAT", "table, csv, json or ndjson" },
		{ 0 },
	};
	int status, nr = opts_parse(self, opts, argc, argv, false, &argv, &status);

	if (nr < 0)
		return status;
	if (workload) {
		if (nr != 1)
			return cmd_usage(self, "--workload reads one file");
		status = calibrate_load_run(workload, argv[0], &err);
		return status ? cmd_fail(self, status, &err) : 0;
	}
	if (nr)
		return cmd_usage(self, "'%s': only options are taken", argv[0]);
	if (!c.output)
		return cmd_usage(self, "where to? (-o HOST.db)");
	if (!c.nr_rounds || c.nr_rounds > MAX_ROUNDS)
		return cmd_usage(self, "--rounds takes 1 to %d", MAX_ROUNDS);
	return calibrate(self, &c, format);
}

const struct command cmd_calibrate = {
	.name = "calibrate",
	.args = "-o HOST.db [OPTION]...",
	.summary = "Measure what reclaim's operations cost on this host (root, about a minute).",
	.examples = "  pagereel calibrate -o host.db\n"
		    "  pagereel calibrate -o host.db --dir /srv --rounds 5\n"
		    "  pagereel replay run.db --profile host.db -m linux-6.18 -M 64M,128M\n",
	.run = calibrate_run,
};
