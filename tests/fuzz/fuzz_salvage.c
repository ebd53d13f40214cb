// SPDX-License-Identifier: GPL-2.0-or-later
/* fuzz_salvage.c - the walk over the frame of a trace.dat, from arbitrary bytes (libFuzzer). */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/import_salvage.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC), copy;
	uint64_t file_bytes;
	char path[64];

	if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (dat_salvage(path, &copy, &file_bytes, NULL) && copy >= 0)
		abort();
	if (copy >= 0)
		close(copy);
	close(fd);
	return 0;
}
