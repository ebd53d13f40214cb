// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * import.c - `pagereel import`: recordings of others as captures.
 *
 * Each file is imported by a process of its own, because libtracecmd trusts the files it reads: one
 * that makes it crash ends that process, not the import. What the process had committed by then is
 * kept and its capture marked failed. The result travels in shared memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/import.h"
#include "cmd/cmd.h"
#include "cmd/out.h"

struct shared {
	struct import_result result;
	struct err err;
	int code;
	volatile int stop;
};

static struct shared *shared;	/* for the signal handler, which sees nothing else */

static void stop_request(int signal)
{
	shared->stop = signal;
}

static void signals_catch(void)
{
	const struct sigaction action = { .sa_handler = stop_request };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);	/* the other process may be gone: its status tells */
}

/*
 * In the process of its own. @ready: a byte comes when the database is made; the input is opened
 * meanwhile.
 */
static int import_here(const char *db, const char *path, const struct import_opts *opts, int ready)
{
	struct import *import = NULL;
	struct store *store = NULL;
	int ret = import_open(&import, path, opts, &shared->err), end;
	char byte;

	if (!ret && read(ready, &byte, 1) != 1)
		ret = -ECANCELED;	/* the database could not be made: told already */
	if (!ret)
		ret = store_open(&store, db, 0, &shared->err);
	if (!ret)
		ret = import_run(import, store, &shared->result, &shared->err);
	end = store_close(store, ret ? NULL : &shared->err);
	import_close(import);
	return ret ? ret : end;
}

/* After a crash: the capture did not end by itself. */
static int import_crashed(const char *db, const char *path, int signal, struct err *err)
{
	struct store *store = NULL;
	const struct import_result *result = &shared->result;
	struct err fault = { "" };

	err_set(&fault, 0, "cannot read '%s' behind event %" PRIu64 ": the reader crashed (%s; "
		 "the file is damaged); %s", path, result->nr_events, strsignal(signal),
		 result->capture_id ? "what was committed before is kept" : "nothing was imported");
	if (result->capture_id && !store_open(&store, db, 0, NULL)) {
		store_context(store, result->capture_id, (int64_t)result->last_ts_ns, "end",
			      "import", "fault", VALUE_OF_TEXT((const char *)fault.text), NULL);
		store_capture_end(store, result->capture_id, "failed", (int64_t)result->last_ts_ns,
				  NULL);
		store_close(store, NULL);
	}
	*err = fault;
	return -EBADMSG;
}

/* Starts the process for @path; *ready is to be written to when the database is there. */
static int import_start(const char *db, const char *path, const struct import_opts *opts,
			pid_t *pid, int *ready, struct err *err)
{
	int ends[2];

	memset(&shared->result, 0, sizeof(shared->result));
	memset(&shared->err, 0, sizeof(shared->err));
	if (pipe2(ends, O_CLOEXEC))
		return err_sys(err, -errno, "cannot make a pipe");
	fflush(NULL);
	*pid = fork();
	if (*pid < 0) {
		close(ends[0]);
		close(ends[1]);
		return err_sys(err, -errno, "cannot start a process for '%s'", path);
	}
	if (!*pid) {
		close(ends[1]);
		shared->code = import_here(db, path, opts, ends[0]);
		_exit(0);
	}
	close(ends[0]);
	*ready = ends[1];
	return 0;
}

static int import_wait(const char *db, const char *path, pid_t pid, struct err *err)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_sys(err, -errno, "cannot wait for the import of '%s'", path);
	if (WIFSIGNALED(status) || WEXITSTATUS(status))
		return import_crashed(db, path, WIFSIGNALED(status) ? WTERMSIG(status) : SIGABRT,
				      err);
	*err = shared->err;
	return shared->code;
}

/* @create: make the database first, with these flags. */
static int import_one(const char *db, const char *path, const struct import_opts *opts, bool create,
		      unsigned int flags, struct err *err)
{
	struct store *store = NULL;
	int ready = -1, ret, end;
	pid_t pid = -1;

	ret = import_start(db, path, opts, &pid, &ready, err);
	if (ret)
		return ret;
	if (create)
		ret = store_create(&store, db, flags, err);
	if (!ret)
		ret = store_close(store, err);
	if (!ret && write(ready, "", 1) != 1 && errno != EPIPE)
		ret = err_sys(err, -errno, "cannot write to a pipe");
	close(ready);
	end = import_wait(db, path, pid, ret ? &(struct err){ "" } : err);
	if (!ret && end && create && !(flags & STORE_APPEND) && !shared->result.capture_id)
		unlink(db);	/* made for nothing */
	return ret ? ret : end;
}

static const char *plural(uint64_t nr)
{
	return nr == 1 ? "" : "s";
}

static void result_print(const char *path, const struct import_result *r)
{
	char time[32];

	printf("%s: %s, %" PRIu64 " event%s (%" PRIu64 " of pages) over %s", path,
	       import_format_name(r->format), r->nr_events, plural(r->nr_events), r->nr_page_events,
	       format_ns(time, sizeof(time), (double)(r->last_ts_ns - r->first_ts_ns)));
	if (r->nr_distinct_ids)
		printf(", %" PRIu64 " distinct ids", r->nr_distinct_ids);
	printf("\n");
	if (r->nr_gaps)
		printf("  %" PRIu64 " gap%s: %" PRIu64 " events known to be lost\n", r->nr_gaps,
		       plural(r->nr_gaps), r->nr_lost);
	if (r->nr_undecoded)
		printf("  %" PRIu64 " record%s not stored: without a format, or shorter than it\n",
		       r->nr_undecoded, plural(r->nr_undecoded));
}

/* Faults of lines belong on stderr, also when the summary is not wanted. */
static void unparsed_print(const struct command *self, const char *path,
			   const struct import_result *r)
{
	if (!r->nr_unparsed)
		return;
	fflush(stdout);
	fprintf(stderr, "pagereel %s: '%s': %" PRIu64 " of %" PRIu64 " lines not understood%s\n",
		self->name, path, r->nr_unparsed, r->nr_lines,
		r->nr_unparsed > 1 ? ", such as" : "");
	for (uint64_t i = 0; i < IMPORT_EXAMPLES && i < r->nr_unparsed; i++) {
		char text[4 * sizeof(r->example[i])];

		out_text_escape(text, sizeof(text), r->example[i], strlen(r->example[i]), NULL);
		fprintf(stderr, "  line %" PRIu64 ": %s\n", r->example_line[i], text);
	}
}

/* What was taken, but may not be what was meant. */
static void doubts_print(const struct command *self, const char *path,
			 const struct import_result *r)
{
	char text[4 * sizeof(r->word)];

	fflush(stdout);
	out_text_escape(text, sizeof(text), r->word, strlen(r->word), NULL);
	if (r->nr_words)
		fprintf(stderr,
			"pagereel %s: '%s': %" PRIu64 " of %" PRIu64 " ids are no numbers, the "
			"first '%s' in line %" PRIu64 "; each was taken as a name (is it a list of "
			"ids?)\n",
			self->name, path, r->nr_words, r->nr_events, text, r->word_line);
	if (r->nr_backward)
		fprintf(stderr,
			"pagereel %s: '%s': %" PRIu64 " event%s earlier than the one before, the "
			"first is event %" PRIu64 " (sort the input by time)\n",
			self->name, path, r->nr_backward, r->nr_backward > 1 ? "s are" : " is",
			r->first_backward);
}

static int input_check(const char *db, const char *path, enum import_format format, struct err *err)
{
	enum import_format found;

	if (access(path, R_OK))
		return err_sys(err, -errno, "cannot open '%s'", path);
	if (store_same_file(db, path))
		return err_set(err, -EINVAL, "cannot import '%s' into itself", path);
	return format == IMPORT_AUTO ? import_sniff(path, &found, err) : 0;
}

/* Nothing is created before every input is known to exist and its format is known. */
static int inputs_check(const char *db, char *const *paths, int nr, enum import_format format,
			struct err *err)
{
	int ret = 0;

	for (int i = 0; !ret && i < nr; i++)
		ret = input_check(db, paths[i], format, err);
	return ret;
}

static int import_all(const struct command *self, const char *db, char *const *paths, int nr,
		      struct import_opts *opts, unsigned int flags, bool quiet)
{
	for (int i = 0; i < nr; i++) {
		struct err err = { "" };
		int ret = import_one(db, paths[i], opts, i == 0, flags, &err);

		if (!quiet && shared->result.capture_id)
			result_print(paths[i], &shared->result);
		unparsed_print(self, paths[i], &shared->result);
		doubts_print(self, paths[i], &shared->result);
		if (ret)
			return cmd_fail(self, ret, &err);
	}
	return cmd_finish(self);
}

static int import_command(const struct command *self, int argc, char **argv)
{
	const char *db = NULL, *format = "auto";
	bool force = false, append = false, quiet = false;
	struct import_opts import = { 0 };
	const struct opt opts[] = {
		{ 'o', "output", OPT_TEXT, &db, "RUN.db", "the database to make" },
		{ 'f', "format", OPT_TEXT, &format, "FORMAT",
		  "auto (by content), trace.dat, text, oracleGeneral or ids" },
		{ 0, "keep-ids", OPT_FLAG, &import.keep_ids, NULL,
		  "cache traces: an id is a page index, not a name" },
		{ 0, "force", OPT_FLAG, &force, NULL, "replace an existing output file" },
		{ 0, "append", OPT_FLAG, &append, NULL, "add captures to an existing database" },
		{ 'q', "quiet", OPT_FLAG, &quiet, NULL, "no summary" },
		{ 0 },
	};
	struct err err = { "" };
	int status, nr, ret;

	nr = opts_parse(self, opts, argc, argv, false, &argv, &status);
	if (nr < 0)
		return status;
	if (!db)
		return cmd_usage(self, "no output file (-o RUN.db)");
	if (nr == 0)
		return cmd_usage(self, "no FILE to import");
	if (append && force)
		return cmd_usage(self, "--append and --force exclude each other");
	if (import_format_parse(format, &import.format, &err))
		return cmd_usage(self, "%s", err.text);
	ret = inputs_check(db, argv, nr, import.format, &err);
	if (ret)
		return cmd_fail(self, ret, &err);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return cmd_fail(self, err_sys(&err, -errno, "no memory for the result"), &err);
	signals_catch();
	import.stop = &shared->stop;
	return import_all(self, db, argv, nr, &import,
			  (force ? STORE_FORCE : 0) | (append ? STORE_APPEND : 0), quiet);
}

const struct command cmd_import = {
	.name = "import",
	.args = "-o RUN.db [OPTION]... FILE...",
	.summary = "Import recordings: trace.dat, ftrace or perf script text, cache traces.",
	.examples =
		"  pagereel import -o run.db trace.dat\n"
		"  trace-cmd report > trace.txt; pagereel import -o run.db trace.txt\n"
		"  pagereel import -o run.db --format oracleGeneral cluster52.oracleGeneral.bin\n",
	.run = import_command,
};
