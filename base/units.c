// SPDX-License-Identifier: GPL-2.0-or-later
/* units.c - sizes, durations and percentages, in and out. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base.h"

struct suffix {
	const char *name;
	double factor;
};

static const struct suffix size_suffixes[] = {
	{ "", 1 }, { "B", 1 },
	{ "K", 1024.0 }, { "KiB", 1024.0 }, { "KB", 1024.0 },
	{ "M", 1048576.0 }, { "MiB", 1048576.0 }, { "MB", 1048576.0 },
	{ "G", 1073741824.0 }, { "GiB", 1073741824.0 }, { "GB", 1073741824.0 },
	{ "T", 1099511627776.0 }, { "TiB", 1099511627776.0 }, { "TB", 1099511627776.0 },
	{ NULL, 0 },
};

static const struct suffix count_suffixes[] = {
	{ "", 1 }, { "k", 1e3 }, { "M", 1e6 }, { "G", 1e9 }, { NULL, 0 },
};

static const struct suffix time_suffixes[] = {
	{ "", 1e9 }, { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 },
	{ "m", 60e9 }, { "min", 60e9 }, { "h", 3600e9 },
	{ NULL, 0 },
};

/* strtod() alone would take "nan", "inf", "0x1p3" and leading blanks. */
static int parse_number(const char *text, double *value, const char **end)
{
	char *stop;

	if (!isdigit((unsigned char)text[0]) && text[0] != '.')
		return -EINVAL;
	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		return -EINVAL;
	errno = 0;
	*value = strtod(text, &stop);
	*end = stop;
	return errno || stop == text || !isfinite(*value) ? -EINVAL : 0;
}

static int parse_suffixed(const char *text, const struct suffix *table, uint64_t *out)
{
	const char *end;
	double value;

	if (parse_number(text, &value, &end))
		return -EINVAL;
	for (; table->name; table++) {
		if (strcasecmp(table->name, end))
			continue;
		value *= table->factor;
		if (value >= 18446744073709551616.0)
			return -EINVAL;
		*out = (uint64_t)(value + 0.5);
		return 0;
	}
	return -EINVAL;
}

int parse_size_bytes(const char *text, uint64_t *bytes, struct err *err)
{
	if (parse_suffixed(text, size_suffixes, bytes))
		return err_set(err, -EINVAL, "'%s' is not a size (like 512K, 64M, 1.5G)", text);
	return 0;
}

int parse_count(const char *text, uint64_t *count, struct err *err)
{
	if (parse_suffixed(text, count_suffixes, count))
		return err_set(err, -EINVAL, "'%s' is not a count (like 300, 50k, 20M)", text);
	return 0;
}

int parse_duration_ns(const char *text, uint64_t *ns, struct err *err)
{
	if (parse_suffixed(text, time_suffixes, ns))
		return err_set(err, -EINVAL, "'%s' is not a duration (like 250us, 1.5s, 2m)", text);
	return 0;
}

int parse_pct(const char *text, double max, double *pct, struct err *err)
{
	const char *end;

	if (parse_number(text, pct, &end) || (strcmp(end, "") && strcmp(end, "%")) || *pct > max)
		return err_set(err, -EINVAL, "'%s' is not a percentage from 0 to %g", text, max);
	return 0;
}

int parse_u64(const char *text, uint64_t *value, struct err *err)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 0);
	if (errno || end == text || *end || !isdigit((unsigned char)text[0]))
		return err_set(err, -EINVAL, "'%s' is not a whole number", text);
	return 0;
}

const char *format_bytes(char *buf, size_t buf_bytes, uint64_t bytes)
{
	static const char units[] = " KMGT";
	double value = bytes;
	int unit = 0;

	while (value >= 1024 && unit < 4) {
		value /= 1024;
		unit++;
	}
	if (!unit)
		snprintf(buf, buf_bytes, "%llu", (unsigned long long)bytes);
	else if (value == floor(value))
		snprintf(buf, buf_bytes, "%.0f%c", value, units[unit]);
	else
		snprintf(buf, buf_bytes, "%.*f%c", value < 100 ? 1 : 0, value, units[unit]);
	return buf;
}

const char *format_ns(char *buf, size_t buf_bytes, double ns)
{
	static const struct { double below, scale; const char *unit; } steps[] = {
		{ 999.5, 1, "ns" }, { 999.5e3, 1e3, "us" }, { 999.5e6, 1e6, "ms" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		/* Below what three digits would round up to 1000: "1 ms", not "1e+03 us". */
		if (ns >= steps[i].below)
			continue;
		snprintf(buf, buf_bytes, i ? "%.3g %s" : "%.0f %s", ns / steps[i].scale,
			 steps[i].unit);
		return buf;
	}
	snprintf(buf, buf_bytes, ns < 99.95e9 ? "%.3g s" : "%.0f s", ns / 1e9);
	return buf;
}
