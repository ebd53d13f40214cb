// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * import.c - which format is it, and which reader reads it.
 *
 * Content decides, not the name. trace.dat has a magic; ftrace text is known by one line in the
 * first 64 KiB that parses as an event or by its "# tracer:" head; other text whose lines are
 * single words is a list of ids. oracleGeneral has no magic: whole records of 24 bytes whose times
 * do not decrease and whose next accesses lie ahead are taken for it, and nothing else is.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/import_read.h"
#include "capture/import_sink.h"

enum { SNIFF_BYTES = 65536 };

static const struct {
	const char *name;
	int (*read)(struct import_sink *sink, struct err *err);
} formats[] = {
	[IMPORT_AUTO] = { "auto", NULL },
	[IMPORT_TRACE_DAT] = { "trace.dat", import_trace_dat },
	[IMPORT_TEXT] = { "text", import_text },
	[IMPORT_ORACLE] = { "oracleGeneral", import_oracle },
	[IMPORT_IDS] = { "ids", import_ids },
};
_Static_assert(ARRAY_SIZE(formats) == NR_IMPORT_FORMATS, "every format has a row");

/* What others' files begin with, and what to do about it. */
static const struct {
	const char *magic;
	size_t magic_bytes;
	const char *what, *remedy;
} foreign[] = {
	{ "SQLite format 3", 16, "an SQLite database",
	  "a capture needs no import; see pagereel merge" },
	{ "PERFILE2", 8, "perf.data",
	  "perf.data is not read; record with trace-cmd or pagereel capture" },
	{ "\x28\xb5\x2f\xfd", 4, "compressed by zstd", "zstd -d first" },
	{ "\x1f\x8b", 2, "compressed by gzip", "gunzip first" },
	{ "\xfd"
	  "7zXZ",
	  5, "compressed by xz", "unxz first" },
	{ "BZh", 3, "compressed by bzip2", "bunzip2 first" },
};

const char *import_format_name(enum import_format format)
{
	return (unsigned int)format < NR_IMPORT_FORMATS ? formats[format].name : "?";
}

int import_format_parse(const char *text, enum import_format *format, struct err *err)
{
	for (int i = 0; i < NR_IMPORT_FORMATS; i++) {
		if (!strcmp(text, formats[i].name)) {
			*format = (enum import_format)i;
			return 0;
		}
	}
	return err_set(err, -EINVAL,
		       "'%s' is no input format (auto, trace.dat, text, oracleGeneral "
		       "or ids)",
		       text);
}

static bool is_trace_dat(const uint8_t *head, size_t bytes)
{
	return bytes >= 10 && !memcmp(head, "\x17\x08\x44tracing", 10);
}

static bool is_text(const uint8_t *head, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (head[i] < 0x20 && !strchr("\t\n\r\f\b\x1b", head[i]))
			return false;
	return bytes > 0;
}

/* Of the lines that end within @head: is one an ftrace line, are all single words? */
static enum import_format text_kind(const char *head, size_t bytes, bool is_whole)
{
	bool single = true;
	size_t nr_lines = 0;

	while (bytes) {
		const char *end = memchr(head, '\n', bytes);
		size_t line_bytes = end ? (size_t)(end - head) : bytes;

		if (!end && !is_whole)
			break;
		if (import_text_known(head, line_bytes))
			return IMPORT_TEXT;
		if (line_bytes && head[0] != '#') {
			single &= import_id_known(head, line_bytes);
			nr_lines++;
		}
		head += line_bytes + (end != NULL);
		bytes -= line_bytes + (end != NULL);
	}
	return single && nr_lines ? IMPORT_IDS : IMPORT_AUTO;
}

static int foreign_refuse(const char *path, const uint8_t *head, size_t bytes, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++)
		if (bytes >= foreign[i].magic_bytes &&
		    !memcmp(head, foreign[i].magic, foreign[i].magic_bytes))
			return err_set(err, -EBADMSG, "cannot import '%s': it is %s (%s)", path,
				       foreign[i].what, foreign[i].remedy);
	return 0;
}

static ssize_t head_read(const char *path, uint8_t *head, off_t *file_bytes, struct err *err)
{
	/* of a FIFO: no wait for a writer */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	ssize_t got, used = 0;

	if (fd < 0)
		return err_sys(err, -errno, "cannot open '%s'", path);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return err_set(err, -EBADMSG, "cannot import '%s': not a regular file (save the "
			       "stream to a file first)", path);
	}
	*file_bytes = st.st_size;
	while (used < SNIFF_BYTES) {
		got = read(fd, head + used, SNIFF_BYTES - (size_t)used);
		if (got <= 0)
			break;
		used += got;
	}
	if (got < 0)
		used = err_sys(err, -errno, "cannot read '%s' at %zd", path, used);
	close(fd);
	return used;
}

int import_sniff(const char *path, enum import_format *format, struct err *err)
{
	uint8_t head[SNIFF_BYTES];
	off_t file_bytes = 0;
	ssize_t bytes = head_read(path, head, &file_bytes, err);
	int ret;

	*format = IMPORT_AUTO;
	if (bytes < 0)
		return (int)bytes;
	if (!bytes)
		return err_set(err, -EBADMSG, "cannot import '%s': it is empty", path);
	ret = foreign_refuse(path, head, (size_t)bytes, err);
	if (ret)
		return ret;
	if (is_trace_dat(head, (size_t)bytes))
		*format = IMPORT_TRACE_DAT;
	else if (is_text(head, (size_t)bytes))
		*format = text_kind((const char *)head, (size_t)bytes, bytes == file_bytes);
	else if (import_oracle_known(head, (size_t)bytes))
		*format = IMPORT_ORACLE;
	if (*format != IMPORT_AUTO)
		return 0;
	return err_set(err, -EBADMSG,
		       "cannot import '%s': no format is recognised in its first %zd "
		       "bytes (--format=trace.dat, text, oracleGeneral or ids)",
		       path, bytes);
}

struct import {
	struct import_opts opts;
	char *path;
	enum import_format format;
	struct dat *dat;
};

int import_open(struct import **out, const char *path, const struct import_opts *opts,
		struct err *err)
{
	struct import *import = calloc(1, sizeof(*import));
	int ret = 0;

	*out = NULL;
	if (import)
		import->path = strdup(path);
	if (!import || !import->path) {
		import_close(import);
		return err_set(err, -ENOMEM, "no memory to read '%s'", path);
	}
	import->opts = *opts;
	import->format = opts->format;
	if (import->format == IMPORT_AUTO)
		ret = import_sniff(path, &import->format, err);
	if (!ret && import->format == IMPORT_TRACE_DAT)
		ret = dat_open(&import->dat, path, err);
	if (!ret)
		*out = import;
	else
		import_close(import);
	return ret;
}

void import_close(struct import *import)
{
	if (!import)
		return;
	dat_close(import->dat);
	free(import->path);
	free(import);
}

int import_run(struct import *import, struct store *store, struct import_result *result,
	       struct err *err)
{
	struct import_sink sink = { .store = store, .path = import->path, .opts = &import->opts,
				    .result = result, .dat = import->dat };
	struct err own = { "" };

	memset(result, 0, sizeof(*result));
	result->format = import->format;
	return formats[import->format].read(&sink, err ? err : &own); /* readers tell by it */
}
