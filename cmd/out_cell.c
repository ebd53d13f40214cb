// SPDX-License-Identifier: GPL-2.0-or-later
/* out_cell.c - one value as a table shows it, and text made safe for a terminal. */
#include <math.h>
#include <string.h>

#include "cmd/out.h"
#include "cmd/utf8.h"

struct sink {
	char *buf;
	size_t room, used;
};

static void sink_put(struct sink *sink, char c)
{
	if (sink->used + 1 < sink->room)
		sink->buf[sink->used] = c;
	sink->used++;
}

static void sink_puts(struct sink *sink, const char *text)
{
	while (*text)
		sink_put(sink, *text++);
}

static size_t sink_end(struct sink *sink)
{
	if (sink->room)
		sink->buf[sink->used < sink->room ? sink->used : sink->room - 1] = '\0';
	return sink->used;
}

static void sink_escape(struct sink *sink, unsigned char byte)
{
	char text[8];

	if (byte == '\n' || byte == '\t')
		snprintf(text, sizeof(text), byte == '\n' ? "\\n" : "\\t");
	else
		snprintf(text, sizeof(text), "\\x%02x", byte);
	sink_puts(sink, text);
}

size_t out_text_escape(char *buf, size_t buf_bytes, const char *text, size_t text_bytes,
		       size_t *width)
{
	struct sink sink = { buf, buf_bytes, 0 };
	size_t at = 0, chars = 0;

	while (at < text_bytes) {
		uint32_t code;
		size_t step = utf8_decode(text + at, text_bytes - at, &code), before = sink.used;

		if (!step || code < 0x20 || (code >= 0x7f && code < 0xa0)) {
			step += !step;
			for (size_t i = 0; i < step; i++)
				sink_escape(&sink, text[at + i]);
			chars += sink.used - before;
		} else {
			for (size_t i = 0; i < step; i++)
				sink_put(&sink, text[at + i]);
			chars++;
		}
		at += step;
	}
	if (width)
		*width = chars;
	return sink_end(&sink);
}

static size_t blob_text(char *buf, size_t buf_bytes, const char *bytes, size_t nr)
{
	enum { SHOWN = 16 };
	struct sink sink = { buf, buf_bytes, 0 };
	char hex[40];

	sink_puts(&sink, "x'");
	for (size_t i = 0; i < nr && i < SHOWN; i++) {
		snprintf(hex, sizeof(hex), "%02x", (unsigned char)bytes[i]);
		sink_puts(&sink, hex);
	}
	sink_put(&sink, '\'');
	if (nr > SHOWN) {
		snprintf(hex, sizeof(hex), "... (%zu bytes)", nr);
		sink_puts(&sink, hex);
	}
	return sink_end(&sink);
}

/* 1234567 -> 1,234,567 */
static size_t count_text(char *buf, size_t buf_bytes, int64_t count)
{
	struct sink sink = { buf, buf_bytes, 0 };
	char digits[24];
	int nr = snprintf(digits, sizeof(digits), "%lld", (long long)count);
	int sign = digits[0] == '-';

	for (int i = 0; i < nr; i++) {
		if (i > sign && (nr - i) % 3 == 0)
			sink_put(&sink, ',');
		sink_put(&sink, digits[i]);
	}
	return sink_end(&sink);
}

static size_t scaled_text(char *buf, size_t buf_bytes, enum out_unit unit, double number)
{
	const char *sign = number < 0 ? "-" : "";
	double size = fabs(number);
	char text[48];

	if (unit == OUT_PAGES)
		size *= PAGE_BYTES;
	if (unit == OUT_NS)
		format_ns(text, sizeof(text), size);
	else
		format_bytes(text, sizeof(text),
			     size < 1.8e19 ? (uint64_t)(size + 0.5) : UINT64_MAX);
	return snprintf(buf, buf_bytes, "%s%s", sign, text);
}

/* Anything at all shows: "#" is more than nothing. */
static size_t bar_text(char *buf, size_t buf_bytes, double share)
{
	static const char full[] = "########################################";
	int most = sizeof(full) - 1, nr = share <= 0 ? 0 : share >= 1 ? most : ceil(share * most);

	return snprintf(buf, buf_bytes, "%.*s", nr, full);
}

static size_t number_text(char *buf, size_t buf_bytes, enum out_unit unit, struct value value)
{
	bool whole = value.type == VALUE_INT;
	double number = whole ? (double)value.i : value.r;

	switch (unit) {
	case OUT_BYTES:
	case OUT_NS:
	case OUT_PAGES:
		return scaled_text(buf, buf_bytes, unit, number);
	case OUT_PCT:
		return snprintf(buf, buf_bytes, "%.2f%%", number);
	case OUT_BAR:
		return bar_text(buf, buf_bytes, number);
	case OUT_RATIO:
		return snprintf(buf, buf_bytes, "%.4f", number);
	case OUT_COUNT:
		if (whole || (fabs(number) < 9e15 && number == floor(number)))
			return count_text(buf, buf_bytes, whole ? value.i : (int64_t)number);
		return snprintf(buf, buf_bytes, fabs(number) < 100 ? "%.3g" : "%.1f", number);
	case OUT_PLAIN:
		break;
	}
	if (whole)
		return snprintf(buf, buf_bytes, "%lld", (long long)value.i);
	return snprintf(buf, buf_bytes, "%.6g", number);
}

size_t out_value_text(char *buf, size_t buf_bytes, enum out_unit unit, struct value value)
{
	switch (value.type) {
	case VALUE_INT:
		return number_text(buf, buf_bytes, unit, value);
	case VALUE_REAL:
		if (isfinite(value.r))
			return number_text(buf, buf_bytes, unit, value);
		break;
	case VALUE_TEXT:
		return out_text_escape(buf, buf_bytes, value.text, value.text_bytes, NULL);
	case VALUE_BLOB:
		return blob_text(buf, buf_bytes, value.text, value.text_bytes);
	case VALUE_NULL:
		break;
	}
	return snprintf(buf, buf_bytes, "n/a");
}

static bool ends_with(const char *name, const char *suffix)
{
	size_t name_bytes = strlen(name), suffix_bytes = strlen(suffix);

	return name_bytes >= suffix_bytes && !strcmp(name + name_bytes - suffix_bytes, suffix);
}

enum out_unit out_unit_guess(const char *name)
{
	/* Points in time and places, not amounts: a rounded one is of no use. First match wins. */
	static const struct { const char *suffix; enum out_unit unit; } units[] = {
		{ "ts_ns", OUT_PLAIN }, { "unix_ns", OUT_PLAIN }, { "from_ns", OUT_PLAIN },
		{ "to_ns", OUT_PLAIN }, { "start_ns", OUT_PLAIN }, { "end_ns", OUT_PLAIN },
		{ "evicted_ns", OUT_PLAIN },
		{ "_ns", OUT_NS }, { "_bytes", OUT_BYTES }, { "_pct", OUT_PCT },
		{ "_ratio", OUT_RATIO }, { "memory_pages", OUT_PAGES },
		{ "limit_pages", OUT_PAGES }, { "capacity_pages", OUT_PAGES },
		{ "_pages", OUT_COUNT },
	};

	static const char *const counts[] = {
		"accesses", "hits", "misses", "fills", "fills_compulsory", "fills_whole_write",
		"fills_undemanded", "evictions", "scanned", "reclaimed", "activated", "deactivated",
		"rotated", "refaults", "written", "swapped_out", "swapped_in", "episodes", "count",
	};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (ends_with(name, units[i].suffix))
			return units[i].unit;
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		if (!strcmp(name, counts[i]))
			return OUT_COUNT;
	return strncmp(name, "nr_", 3) ? OUT_PLAIN : OUT_COUNT;
}
