// SPDX-License-Identifier: GPL-2.0-or-later
/* fuzz_demand.c - decoding of demand chunks on arbitrary bytes (libFuzzer). */
#include <stdlib.h>

#include "schema/demand.h"
#include "schema/svb.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct demand_columns into;	/* made once: three allocations of a MiB are slow */
	static uint32_t scratch[4 * (DEMAND_CHUNK_RECORDS + SVB_PAD_VALUES)];
	struct demand_block block = { 0 };
	volatile uint64_t sum = 0;	/* so that every array is read */
	uint32_t nr;

	if (bytes < 8 || (!into.page && demand_columns_new(&into)))
		return 0;
	nr = load_u32(data + 4) % (DEMAND_CHUNK_RECORDS + 2);
	if (!demand_chunk_decode_pages(data, bytes, &into, nr, scratch, &block))
		for (size_t i = 0; i < block.nr; i++)
			sum += block.page[i] + (block.op ? block.op[i] : 0);
	if (nr && nr <= DEMAND_CHUNK_RECORDS) {
		demand_chunk_decode_task(data, bytes, &into, nr, scratch, &block);
		demand_chunk_decode_ts(data, bytes, &into, nr, scratch, &block);
	}
	(void)sum;
	return 0;
}
