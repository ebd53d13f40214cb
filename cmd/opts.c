// SPDX-License-Identifier: GPL-2.0-or-later
/* opts.c - option tables on top of getopt_long, --help, and how commands fail. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/out.h"

enum { MAX_OPTS = 48, LONG_BASE = 256 };

static void help_print(const struct command *self, const struct opt *opts)
{
	printf("%s\nUsage: pagereel %s %s\n\n%s\n\nOptions:\n", self->examples, self->name,
	       self->args, self->summary);
	for (; opts->name; opts++) {
		char left[64], dash[8] = "    ";

		if (opts->short_name)
			snprintf(dash, sizeof(dash), "-%c, ", opts->short_name);
		snprintf(left, sizeof(left), "%s--%s%s%s", dash, opts->name, opts->arg ? "=" : "",
			 opts->arg ? opts->arg : "");
		printf("  %-30s %s\n", left, opts->help);
	}
	printf("  %-30s %s\n", "    --help", "this text");
	if (self->help_more)
		self->help_more(stdout);
}

static int opt_store(const struct opt *opt, const char *text, struct err *err)
{
	struct opt_texts *texts = opt->value;

	switch (opt->kind) {
	case OPT_FLAG:
		*(bool *)opt->value = true;
		return 0;
	case OPT_TEXT:
		*(const char **)opt->value = text;
		return 0;
	case OPT_TEXTS:
		if (texts->nr == (int)ARRAY_SIZE(texts->item))
			return err_set(err, -EINVAL, "--%s given too often", opt->name);
		texts->item[texts->nr++] = text;
		return 0;
	case OPT_BYTES:
		return parse_size_bytes(text, opt->value, err);
	case OPT_NS:
		return parse_duration_ns(text, opt->value, err);
	case OPT_U64:
		return parse_u64(text, opt->value, err);
	case OPT_PCT:
		return parse_pct(text, 100, opt->value, err);
	case OPT_FORMAT:
		return out_format_parse(text, opt->value, err);
	}
	return -EINVAL;
}

static void complain_unknown(const struct command *self, const struct opt *opts, const char *word)
{
	const char *names[MAX_OPTS + 1], *near;
	char name[64];
	int nr = 0;

	for (; opts->name && nr < MAX_OPTS; opts++)
		names[nr++] = opts->name;
	names[nr] = NULL;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + strspn(word, "-"), "="),
		 word + strspn(word, "-"));
	near = strncmp(word, "--", 2) ? NULL : nearest_word(name, names);
	if (near)
		cmd_usage(self, "unknown option '%s' (did you mean '--%s'?)", word, near);
	else
		cmd_usage(self, "unknown option '%s'", word);
}

int opts_parse(const struct command *self, const struct opt *opts, int argc, char **argv,
	       bool stop_at_first, char ***rest, int *status)
{
	struct option longs[MAX_OPTS + 2] = { 0 };
	char shorts[2 * MAX_OPTS + 3] = "";
	size_t used = 0;
	int nr = 0, c;

	shorts[used++] = stop_at_first ? '+' : '-';
	shorts[used++] = ':';
	if (!stop_at_first)
		shorts[0] = ':', used = 1;
	for (; opts[nr].name && nr < MAX_OPTS; nr++) {
		longs[nr] = (struct option){ opts[nr].name, opts[nr].kind != OPT_FLAG, NULL,
					     LONG_BASE + nr };
		if (!opts[nr].short_name)
			continue;
		shorts[used++] = opts[nr].short_name;
		if (opts[nr].kind != OPT_FLAG)
			shorts[used++] = ':';
	}
	longs[nr] = (struct option){ "help", 0, NULL, LONG_BASE + nr };
	shorts[used] = '\0';
	*status = 2;
	optind = 0;
	opterr = 0;
	for (;;) {
		/* getopt_long() has moved on when it reports an unknown long option. */
		int at = optind ? optind : 1;
		struct err err = { "" };
		int i;

		c = getopt_long(argc, argv, shorts, longs, NULL);
		if (c == -1)
			break;
		if (c == LONG_BASE + nr) {
			help_print(self, opts);
			*status = cmd_finish(self);
			return -1;
		}
		if (c == '?') {
			char word[3] = { '-', (char)optopt, '\0' };

			complain_unknown(self, opts,
					 optopt ? word : argv[optind - 1 < at ? at : optind - 1]);
			return -1;
		}
		if (c == ':') {
			cmd_usage(self, "option '%s' wants a value", argv[optind - 1]);
			return -1;
		}
		for (i = 0; i < nr; i++)
			if (c == LONG_BASE + i || (opts[i].short_name && c == opts[i].short_name))
				break;
		if (opt_store(&opts[i], optarg, &err)) {
			cmd_usage(self, "--%s: %s", opts[i].name, err.text);
			return -1;
		}
	}
	*rest = argv + optind;
	*status = 0;
	return argc - optind;
}

static int output_failed(const struct command *self, int code)
{
	fprintf(stderr, "pagereel %s: cannot write the output: %s\n", self->name, strerror(-code));
	return 4;
}

int cmd_fail(const struct command *self, int code, const struct err *err)
{
	if (fflush(stdout) || ferror(stdout))	/* not a full disk under the database: 4, not 5 */
		return output_failed(self, code);
	fprintf(stderr, "pagereel %s: %s\n", self->name,
		err && err->text[0] ? err->text : strerror(-code));
	return err_exit_status(code);
}

int cmd_usage(const struct command *self, const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "pagereel %s: ", self->name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\nTry 'pagereel %s --help'.\n", self->name);
	return 2;
}

int cmd_finish(const struct command *self)
{
	if (fflush(stdout) || ferror(stdout))
		return output_failed(self, errno ? -errno : -EIO);
	return 0;
}
