// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz_import.c - whole imports of text, oracleGeneral and id lists into a database (libFuzzer).
 * The first byte chooses the format, the rest is the file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static struct store *store;
static char path[64];

static struct store *store_fresh(void)
{
	struct err err = { "" };

	store_close(store, NULL);
	store = NULL;
	snprintf(path, sizeof(path), "%s/pagereel-fuzz.%d.db",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm", (int)getpid());
	if (store_create(&store, path, STORE_FORCE, &err)) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	unlink(path);
	return store;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static unsigned int nr_runs;
	struct import_opts opts = { 0 };
	struct import_result result;
	struct import *import;
	char file[64];
	int fd;

	if (!bytes)
		return 0;
	opts.format = (enum import_format)(IMPORT_TEXT + data[0] % 3);
	opts.keep_ids = data[0] & 0x80;
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data + 1, bytes - 1) != (ssize_t)bytes - 1)
		abort();
	if (nr_runs++ % 500 == 0)
		store_fresh();
	snprintf(file, sizeof(file), "/proc/self/fd/%d", fd);
	if (!import_open(&import, file, &opts, NULL)) {
		import_run(import, store, &result, NULL);
		import_close(import);
		if (result.nr_page_events > result.nr_events)
			abort();
	}
	close(fd);
	return 0;
}
