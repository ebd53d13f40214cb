// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz_record.c - records of a trace.dat: arbitrary bytes decoded as each event of a real recording
 * (libFuzzer). The first byte chooses the event. What libtracecmd does before it hands a record
 * over is not ours to mend: it trusts the files it reads, which is why import runs in a process of
 * its own.
 */
#include <stdlib.h>
#include <string.h>

#include <trace-cmd/trace-cmd.h>

#include "capture/capture.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum { MAX_EVENTS = 64 };

static struct event_decoder *decoders[MAX_EVENTS];
static int nr_decoders;
static struct tracecmd_input *handle;	/* stays open: the decoders point into it */

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *path = getenv("FUZZ_TRACE_DAT");
	struct tep_event *event;

	handle = tracecmd_open(path ? path : "tests/data/linux-6.12-v6.dat",
			       TRACECMD_FL_LOAD_NO_PLUGINS);
	if (!handle)
		abort();
	for (int i = 0; nr_decoders < MAX_EVENTS &&
			(event = tep_get_event(tracecmd_get_tep(handle), i)); i++)
		decoders[nr_decoders++] = event_decoder_new(event);
	return nr_decoders ? 0 : -1;
}

/* Values lie in memory that may be read: their bytes are summed so that a sanitizer sees. */
static unsigned int values_touch(const struct value *values, int nr)
{
	unsigned int sum = 0;

	for (int i = 0; i < nr; i++)
		for (size_t b = 0; values[i].type >= VALUE_TEXT && b < values[i].text_bytes; b++)
			sum += (uint8_t)values[i].text[b];
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static volatile unsigned int sink;
	struct event_decoder *d;
	const struct event_field *fields;
	struct value values[256];
	struct page_raw raw;
	uint8_t *record;
	int nr_fields;

	if (!bytes)
		return 0;
	d = decoders[data[0] % nr_decoders];
	record = malloc(bytes);	/* exactly as long, so that a read beyond it is seen */
	if (!record)
		return 0;
	memcpy(record, data + 1, bytes - 1);
	event_decoder_pid(d, record, bytes - 1);
	nr_fields = event_decoder_fields(d, &fields);
	if (event_decoder_page_source(d))
		event_decoder_page(d, record, bytes - 1, &raw);
	else if (nr_fields <= 256 && !event_decoder_values(d, record, bytes - 1, values))
		sink = values_touch(values, nr_fields);
	free(record);
	return 0;
}
