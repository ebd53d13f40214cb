// SPDX-License-Identifier: GPL-2.0-or-later
/* fuzz_chunk.c - page chunk decoding on arbitrary bytes (libFuzzer). */
#include <stdlib.h>

#include "schema/schema.h"
#include "schema/svb.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	uint32_t nr = bytes >= 8 ? load_u32(data + 4) % (PAGE_CHUNK_EVENTS + 2) : 1;
	struct page_event *events = malloc(sizeof(*events) * (nr + 1));

	if (events)
		page_chunk_decode(data, bytes, events, nr, NULL);
	free(events);
	return 0;
}
