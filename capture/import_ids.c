// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * import_ids.c - cache traces of others: libCacheSim's oracleGeneral and one id a line. Each id is
 * one page of one file, each record a read of it; object sizes are ignored. So the textbook models
 * can be checked against published hit ratios.
 *
 * Ids are numbered by first appearance, because most are hashes: neighbouring numbers say nothing,
 * and 2^64 of them fit no dense range. With keep_ids the id is the page index, for traces whose ids
 * are block numbers and whose neighbourhood matters to readahead.
 *
 * Lines hold no time: requests are one microsecond apart on a virtual clock. oracleGeneral's times
 * are seconds; a time before its predecessor's counts as that.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/import_read.h"
#include "capture/import_sink.h"

enum { RECORD_BYTES = 24, BLOCK_RECORDS = 4096, SNIFF_RECORDS = 1000 };

struct oracle_record {
	uint32_t time_s;
	uint64_t id;
	uint32_t size_bytes;
	int64_t next;
};

struct ids {
	struct import_sink *sink;
	struct id_map *map;
	uint64_t max_index;
	struct page_event event;
};

static uint64_t load_le(const uint8_t *at, int bytes)
{
	uint64_t value = 0;

	for (int i = bytes - 1; i >= 0; i--)
		value = value << 8 | at[i];
	return value;
}

static struct oracle_record oracle_load(const uint8_t *at)
{
	return (struct oracle_record){
		.time_s = (uint32_t)load_le(at, 4),
		.id = load_le(at + 4, 8),
		.size_bytes = (uint32_t)load_le(at + 12, 4),
		.next = (int64_t)load_le(at + 16, 8),
	};
}

bool import_oracle_known(const uint8_t *head, size_t bytes)
{
	size_t nr = bytes / RECORD_BYTES;
	uint32_t last_s = 0;

	nr = nr < SNIFF_RECORDS ? nr : SNIFF_RECORDS;
	for (size_t i = 0; i < nr; i++) {
		struct oracle_record r = oracle_load(head + i * RECORD_BYTES);
		/* the number of a later access, or none: -1, or INT64_MAX in some converters */
		bool ahead = r.next < 0 || r.next > (int64_t)i;

		if (r.time_s < last_s || !ahead || r.next < -2 ||
		    (r.next >= 1LL << 40 && r.next != INT64_MAX))
			return false;
		last_s = r.time_s;
	}
	return nr > 0;
}

bool import_id_known(const char *line, size_t bytes)
{
	while (bytes && isspace((unsigned char)line[bytes - 1]))
		bytes--;
	while (bytes && isspace((unsigned char)*line)) {
		line++;
		bytes--;
	}
	if (!bytes || bytes > 256)
		return false;
	for (size_t i = 0; i < bytes; i++)
		if (!isgraph((unsigned char)line[i]) || strchr(",;\t", line[i]))
			return false;
	return true;
}

static int ids_begin(struct ids *ids, const char *source, const char *clock, struct err *err)
{
	const struct capture_info info = {
		.source = source, .input = ids->sink->path, .clock = clock, .nr_cpus = 1,
		.has_hits = true,
	};
	int ret;

	ids->map = id_map_new();
	if (!ids->map)
		return err_set(err, -ENOMEM, "no memory for the ids");
	ret = import_sink_begin(ids->sink, &info, err);
	if (!ret)
		ids->event = (struct page_event){ .op = PAGE_OP_READ, .pages = 1,
						  .file_id = ids->sink->next_file_id };
	else
		id_map_free(ids->map);
	return ret;
}

static int ids_add(struct ids *ids, uint64_t id, uint64_t ts_ns, struct err *err)
{
	uint32_t number;
	int ret = id_map_get(ids->map, id, &number);

	if (ret)
		return err_set(err, ret, "cannot import '%s': %s", ids->sink->path,
			       ret == -EFBIG ? "more than 2^32 distinct ids" : "no memory for ids");
	ids->event.page_index = ids->sink->opts->keep_ids ? id : number;
	ids->event.ts_ns = ts_ns;
	if (ids->event.page_index > ids->max_index)
		ids->max_index = ids->event.page_index;
	return import_sink_packed(ids->sink, 0, &ids->event, err);
}

static int ids_finish(struct ids *ids, int ret, struct err *err)
{
	struct import_sink *sink = ids->sink;
	const char *slash = strrchr(sink->path, '/');
	int64_t size_bytes = -1;

	if (sink->result->nr_events && ids->max_index < 1ULL << 50)
		size_bytes = (int64_t)(ids->max_index + 1) * PAGE_BYTES;
	sink->result->nr_distinct_ids = id_map_count(ids->map);
	if (sink->result->nr_events && (!ret || ret == -EBADMSG || ret == -EINTR)) {
		int end = store_file(sink->store, sink->capture_id, ids->event.file_id, 0, 0, 0,
				     size_bytes, slash ? slash + 1 : sink->path, ret ? NULL : err);

		ret = ret ? ret : end;
	}
	id_map_free(ids->map);
	return import_sink_finish(sink, ret, err);
}

/* ---- oracleGeneral --------------------------------------------------------------------------- */

/* Fills @block; fewer bytes only at the end of the file. */
static ssize_t block_read(struct ids *ids, int fd, uint8_t *block, size_t bytes, struct err *err)
{
	size_t used = 0;

	while (used < bytes) {
		ssize_t got = read(fd, block + used, bytes - used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_sys(err, -errno, "cannot read '%s' at record %" PRIu64,
				       ids->sink->path, ids->sink->result->nr_events);
		if (!got)
			break;
		used += (size_t)got;
	}
	return (ssize_t)used;
}

static int oracle_block(struct ids *ids, const uint8_t *block, size_t bytes, struct err *err)
{
	uint64_t nr = ids->sink->result->nr_events;
	size_t at = 0;

	for (; at + RECORD_BYTES <= bytes; at += RECORD_BYTES) {
		struct oracle_record r = oracle_load(block + at);
		uint64_t ts_ns = r.time_s * 1000000000ULL;
		int ret;

		if (ts_ns < ids->event.ts_ns) {
			import_note_backward(ids->sink->result,
					     ids->sink->result->nr_events + 1);
			ts_ns = ids->event.ts_ns;
		}
		ret = ids_add(ids, r.id, ts_ns, err);
		if (ret)
			return ret;
	}
	nr += at / RECORD_BYTES;
	if (at != bytes)
		return err_set(err, -EBADMSG, "cannot read '%s' at %" PRIu64 ": record %" PRIu64
			       " wants %d bytes, %zu left (truncated?); the %" PRIu64
			       " before it are kept", ids->sink->path, nr * RECORD_BYTES, nr + 1,
			       RECORD_BYTES, bytes - at, nr);
	if (import_stopped(ids->sink))
		return err_set(err, -EINTR, "interrupted after %" PRIu64 " records of '%s'", nr,
			       ids->sink->path);
	return 0;
}

int import_oracle(struct import_sink *sink, struct err *err)
{
	uint8_t block[BLOCK_RECORDS * RECORD_BYTES];
	struct ids ids = { .sink = sink };
	int fd = open(sink->path, O_RDONLY | O_CLOEXEC);
	ssize_t got;
	int ret;

	if (fd < 0)
		return err_sys(err, -errno, "cannot open '%s'", sink->path);
	ret = ids_begin(&ids, "oracleGeneral", "realtime-seconds", err);
	if (ret)
		goto out;
	do {
		got = block_read(&ids, fd, block, sizeof(block), err);
		ret = got < 0 ? (int)got : oracle_block(&ids, block, (size_t)got, err);
	} while (!ret && got == (ssize_t)sizeof(block));
	ret = ids_finish(&ids, ret, err);
out:
	close(fd);
	return ret;
}

/*
 * ---- one id a line
 * -------------------------------------------------------------------------------
 */

/* Text that is no number stands for its hash (FNV-1a, then mixed). */
static uint64_t word_hash(const char *word, size_t bytes)
{
	uint64_t hash = 14695981039346656037ULL;

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ (uint8_t)word[i]) * 1099511628211ULL;
	return rand_next(&hash);
}

static uint64_t word_id(const char *word, size_t bytes, bool *is_number)
{
	uint64_t number = 0;

	*is_number = true;
	for (size_t i = 0; i < bytes; i++) {
		unsigned int digit = (unsigned int)(word[i] - '0');

		if (digit > 9 || number > (UINT64_MAX - digit) / 10) {
			*is_number = false;
			return word_hash(word, bytes);
		}
		number = number * 10 + digit;
	}
	return number;
}

void import_note_backward(struct import_result *result, uint64_t number)
{
	if (!result->nr_backward++)
		result->first_backward = number;
}

static void note_word(struct import_result *result, uint64_t line_number, const char *word,
		      size_t bytes)
{
	if (result->nr_words++)
		return;
	result->word_line = line_number;
	snprintf(result->word, sizeof(result->word), "%.*s", (int)bytes, word);
}

void import_note_unparsed(struct import_result *result, uint64_t line_number, const char *line)
{
	uint64_t nr = result->nr_unparsed++;

	if (nr >= IMPORT_EXAMPLES)
		return;
	result->example_line[nr] = line_number;
	snprintf(result->example[nr], sizeof(result->example[nr]), "%s", line);
}

static int ids_line(struct ids *ids, char *line, size_t bytes, uint64_t number, struct err *err)
{
	struct import_result *result = ids->sink->result;
	bool is_number;
	uint64_t id;

	while (bytes && isspace((unsigned char)line[bytes - 1]))
		bytes--;
	while (bytes && isspace((unsigned char)*line)) {
		line++;
		bytes--;
	}
	if (!bytes || *line == '#')
		return 0;
	if (!import_id_known(line, bytes)) {
		import_note_unparsed(result, number, line);
		return 0;
	}
	id = word_id(line, bytes, &is_number);
	if (!is_number)
		note_word(result, number, line, bytes);
	return ids_add(ids, id, result->nr_events * 1000, err);
}

int import_ids(struct import_sink *sink, struct err *err)
{
	struct ids ids = { .sink = sink };
	struct line_reader *reader;
	size_t bytes;
	char *line;
	int ret = line_reader_open(&reader, sink->path, err);

	if (ret)
		return ret;
	ret = ids_begin(&ids, "ids", "virtual", err);
	if (ret)
		goto out;
	while ((ret = line_reader_next(reader, &line, &bytes, err)) > 0) {
		sink->result->nr_lines++;
		ret = ids_line(&ids, line, bytes, line_reader_number(reader), err);
		if (!ret && !(sink->result->nr_lines & 0xffff) && import_stopped(sink))
			ret = err_set(err, -EINTR, "interrupted at line %" PRIu64 " of '%s'",
				      sink->result->nr_lines, sink->path);
		if (ret)
			break;
	}
	if (!ret && !sink->result->nr_events)
		ret = err_set(err, -EBADMSG, "cannot import '%s': no id in %" PRIu64 " lines",
			      sink->path, sink->result->nr_lines);
	ret = ids_finish(&ids, ret, err);
out:
	line_reader_close(reader);
	return ret;
}
