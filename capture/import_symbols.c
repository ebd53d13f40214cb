// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * import_symbols.c - of the kernel symbols in a trace.dat, only those that a shrinker may be.
 *
 * libtracecmd hands the file's whole kallsyms (100 000 lines) to tep_parse_kallsyms() as it opens
 * it. libtraceevent's own takes each line apart by sscanf() and registers it, which is a third of
 * the time of an import; of all symbols we want a dozen, the functions that mm_shrink_slab_start
 * names. So the program has a function of that name, which the linker lets the library find first;
 * where it does not, the library's own does the same more slowly.
 */
#include <stdlib.h>
#include <string.h>

#include <event-parse.h>

#include "capture/import_read.h"

/* "ffffffff81234560 t super_cache_scan\t[module]" which begins at @line; false: no such line. */
static void line_register(struct tep_handle *tep, const char *line, const char *end)
{
	unsigned long long address;
	char name[128], *stop;
	size_t bytes;

	address = strtoull(line, &stop, 16);
	if (stop == line || end - stop < 4 || stop[0] != ' ' || stop[2] != ' ')
		return;
	line = stop + 3;
	for (bytes = 0; line + bytes < end && line[bytes] != '\t' && line[bytes] != ' '; bytes++)
		;
	if (!bytes || bytes >= sizeof(name))
		return;
	memcpy(name, line, bytes);
	name[bytes] = '\0';
	tep_register_function(tep, name, address, NULL);
}

int tep_parse_kallsyms(struct tep_handle *tep, const char *kallsyms)
{
	const char *at = kallsyms;

	while ((at = strstr(at, "scan"))) {
		const char *line = at, *end = at + strcspn(at, "\n");

		while (line > kallsyms && line[-1] != '\n')
			line--;
		line_register(tep, line, end);
		at = end;
	}
	return 0;
}

const char *import_symbol_name(struct tep_handle *tep, unsigned long long address)
{
	const char *name = tep_find_function(tep, address);

	return name && tep_find_function_address(tep, address) == address ? name : NULL;
}
