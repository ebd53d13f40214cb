// SPDX-License-Identifier: GPL-2.0-or-later
/* pagereel.c - finds the command and runs it. */
#include <errno.h>
#include <string.h>

#include "cmd/cmd.h"

#ifndef PAGEREEL_VERSION
#define PAGEREEL_VERSION "0.1"
#endif

static int finish(FILE *out)
{
	if (!fflush(out) && !ferror(out))
		return 0;
	fprintf(stderr, "pagereel: cannot write the output: %s\n", strerror(errno));
	return 4;
}

static int help_print(FILE *out)
{
	fprintf(out, "  pagereel capture -o run.db --memory 64M -- COMMAND   record what reclaim does\n"
		     "  pagereel replay run.db -m linux-6.18,lru,arc,opt -M 32M..256M/8\n"
		     "  pagereel analyze run.db compare                      hit ratios and CPU, side by side\n\n"
		     "Usage: pagereel COMMAND [OPTION]... (each has --help)\n\nCommands:\n");
	for (const struct command *const *c = commands; *c; c++)
		fprintf(out, "  %-10s %s\n", (*c)->name, (*c)->summary);
	return finish(out);
}

static int complain_unknown(const char *word)
{
	const char *names[64], *near;
	int nr = 0;

	for (; commands[nr] && nr < 63; nr++)
		names[nr] = commands[nr]->name;
	names[nr] = NULL;
	near = nearest_word(word, names);
	fprintf(stderr, "pagereel: no command '%s'", word);
	if (near)
		fprintf(stderr, " (did you mean '%s'?)", near);
	fprintf(stderr, "\nTry 'pagereel --help'.\n");
	return 2;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		help_print(stderr);
		return 2;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return help_print(stdout);
	if (!strcmp(argv[1], "--version")) {
		printf("pagereel %s\n", PAGEREEL_VERSION);
		return finish(stdout);
	}
	for (const struct command *const *c = commands; *c; c++)
		if (!strcmp((*c)->name, argv[1]))
			return (*c)->run(*c, argc - 1, argv + 1);
	return complain_unknown(argv[1]);
}
