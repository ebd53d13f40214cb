/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd.h - the command line: the only part of pagereel that prints. One file per command,
 * cmd/<name>.c, and one line in cmd/registry.c.
 */
#ifndef PAGEREEL_CMD_H
#define PAGEREEL_CMD_H

#include <stdarg.h>

#include "base/base.h"

enum opt_kind {
	OPT_FLAG,	/* bool */
	OPT_TEXT,	/* const char * */
	OPT_TEXTS,	/* struct opt_texts: may be repeated */
	OPT_BYTES,	/* uint64_t, K/M/G */
	OPT_NS,		/* uint64_t, us/ms/s/m */
	OPT_U64,	/* uint64_t */
	OPT_PCT,	/* double */
	OPT_FORMAT,	/* enum out_format: table|csv|json|ndjson */
};

struct opt_texts {
	const char *item[64];
	int nr;
};

/* One option; a table ends with name == NULL. */
struct opt {
	char short_name;	/* 0: none */
	const char *name;
	enum opt_kind kind;
	void *value;
	const char *arg;	/* placeholder in help, "SIZE"; NULL for flags */
	const char *help;
};

struct command {
	const char *name;
	const char *args;	/* "-o RUN.db [OPTION]... [-- COMMAND [ARG...]]" */
	const char *summary;	/* one line for the list of commands */
	const char *examples;	/* three lines, each "pagereel ..." */
	void (*help_more)(FILE *out);	/* NULL, or what --help prints below the options */
	/* argv[0] is the command's name. Returns the exit status. */
	int (*run)(const struct command *self, int argc, char **argv);
};

/* cmd/registry.c; NULL-terminated. */
extern const struct command *const commands[];

/*
 * Parses options by table; what is left is argv[0] .. argv[return - 1]. With @stop_at_first the
 * first word that is no option ends parsing (so does "--" always). Returns the number of words
 * left, or -1 with *status set: 0 after --help (printed), 2 after an error (printed, with the
 * nearest option suggested).
 */
int opts_parse(const struct command *self, const struct opt *opts, int argc, char **argv,
	       bool stop_at_first, char ***rest, int *status);

/*
 * "pagereel capture: TEXT" on stderr; returns err_exit_status(code). Where stdout has failed, that
 * is the error, and the status 4.
 */
int cmd_fail(const struct command *self, int code, const struct err *err);
/* The same with exit status 2 and a pointer to --help. */
int cmd_usage(const struct command *self, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Flushes stdout; a failed write is an error: returns 0 or 4 with the message printed. */
int cmd_finish(const struct command *self);

#endif
