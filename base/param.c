// SPDX-License-Identifier: GPL-2.0-or-later
/* param.c - parameter tables: one table drives parsing, range errors, help and stored results. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base.h"

static unsigned int min3(unsigned int a, unsigned int b, unsigned int c)
{
	a = a < b ? a : b;
	return a < c ? a : c;
}

/* Edit distance, of words under 32 characters; longer ones are far from everything. */
static unsigned int word_distance(const char *a, const char *b)
{
	size_t na = strlen(a), nb = strlen(b);
	unsigned int row[33];

	if (na > 31 || nb > 31)
		return 99;
	for (size_t j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 1; i <= na; i++) {
		unsigned int diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			unsigned int above = row[j];

			row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[nb];
}

const char *nearest_word(const char *word, const char *const *names)
{
	unsigned int best = strlen(word) <= 3 ? 2 : 4;
	const char *found = NULL;

	for (; *names; names++) {
		unsigned int distance = word_distance(word, *names);

		if (distance < best) {
			best = distance;
			found = *names;
		}
	}
	return found;
}

static int parse_bool(const char *text, bool *value)
{
	static const char *const yes[] = { "1", "on", "yes", "true" };
	static const char *const no[] = { "0", "off", "no", "false" };

	for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
		if (!strcasecmp(text, yes[i]) || !strcasecmp(text, no[i])) {
			*value = !strcasecmp(text, yes[i]);
			return 0;
		}
	}
	return -EINVAL;
}

static int parse_choice(const char *text, const char *const *choices, int *value)
{
	for (int i = 0; choices[i]; i++) {
		if (!strcmp(text, choices[i])) {
			*value = i;
			return 0;
		}
	}
	return -EINVAL;
}

static int parse_double(const char *text, double *value)
{
	char *end;

	errno = 0;
	*value = strtod(text, &end);
	return errno || end == text || (*end && strcmp(end, "%")) || *value != *value ? -EINVAL : 0;
}

static int range_check(const struct param *p, double value, const char *what, const char *text,
		       struct err *err)
{
	if ((p->min == 0 && p->max == 0) || (value >= p->min && value <= p->max))
		return 0;
	return err_set(err, -EINVAL, "%s: %s=%s is out of range (%g to %g%s%s)", what, p->name,
		       text, p->min, p->max, p->unit ? " " : "", p->unit ? p->unit : "");
}

static int param_store(const struct param *p, void *obj, const char *what, const char *text,
		       struct err *err)
{
	void *slot = (char *)obj + p->offset;
	struct err why = { "" };
	double number = 0;
	uint64_t whole;
	int ret = 0;

	switch (p->type) {
	case PARAM_U64:
		ret = parse_u64(text, &whole, &why);
		break;
	case PARAM_BYTES:
		ret = parse_size_bytes(text, &whole, &why);
		break;
	case PARAM_NS:
		ret = parse_duration_ns(text, &whole, &why);
		break;
	case PARAM_COUNT:
		ret = parse_count(text, &whole, &why);
		break;
	case PARAM_DOUBLE:
	case PARAM_PCT:
		ret = parse_double(text, &number);
		break;
	case PARAM_BOOL:
		ret = parse_bool(text, slot);
		break;
	case PARAM_ENUM:
		ret = parse_choice(text, p->choices, slot);
		break;
	case PARAM_STRING:
		*(const char **)slot = text;
		break;
	}
	if (ret)
		return err_set(err, -EINVAL, "%s: %s=%s cannot be understood%s%s", what, p->name,
			       text, why.text[0] ? ": " : "", why.text);
	if (p->type == PARAM_U64 || p->type == PARAM_BYTES || p->type == PARAM_NS ||
	    p->type == PARAM_COUNT) {
		ret = range_check(p, (double)whole, what, text, err);
		if (!ret)
			*(uint64_t *)slot = whole;
	} else if (p->type == PARAM_DOUBLE || p->type == PARAM_PCT) {
		if (p->type == PARAM_PCT && p->min == 0 && p->max == 0 &&
		    !(number >= 0 && number <= 100))
			return err_set(err, -EINVAL, "%s: %s=%s is out of range (0 to 100 %%)",
				       what, p->name, text);
		ret = range_check(p, number, what, text, err);
		if (!ret)
			*(double *)slot = number;
	}
	return ret;
}

int params_defaults(const struct param *table, void *obj, struct err *err)
{
	for (const struct param *p = table; p && p->name; p++) {
		int ret = p->def ? param_store(p, obj, "default", p->def, err) : 0;

		if (ret)
			return ret;
	}
	return 0;
}

static const char *nearest_param(const struct param *table, const char *name)
{
	const char *names[64];
	size_t nr = 0;

	for (; table && table->name && nr < ARRAY_SIZE(names) - 1; table++)
		names[nr++] = table->name;
	names[nr] = NULL;
	return nearest_word(name, names);
}

int params_set(const struct param *table, void *obj, const char *what, const char *name,
	       const char *value, struct err *err)
{
	const char *near;

	for (const struct param *p = table; p && p->name; p++)
		if (!strcmp(p->name, name))
			return param_store(p, obj, what, value, err);
	near = nearest_param(table, name);
	return err_set(err, -EINVAL, "%s has no parameter '%s'%s%s%s", what, name,
		       near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}

/* The value as text that param_store() reads back to the same value. */
static int param_print(const struct param *p, const void *obj, char *buf, size_t buf_bytes)
{
	const void *slot = (const char *)obj + p->offset;

	switch (p->type) {
	case PARAM_U64:
	case PARAM_BYTES:
	case PARAM_COUNT:
		return snprintf(buf, buf_bytes, "%llu",
				(unsigned long long)*(const uint64_t *)slot);
	case PARAM_NS:
		return snprintf(buf, buf_bytes, "%lluns",
				(unsigned long long)*(const uint64_t *)slot);
	case PARAM_DOUBLE:
	case PARAM_PCT:
		return snprintf(buf, buf_bytes, "%.12g", *(const double *)slot);
	case PARAM_BOOL:
		return snprintf(buf, buf_bytes, "%d", *(const bool *)slot);
	case PARAM_ENUM:
		return snprintf(buf, buf_bytes, "%s", p->choices[*(const int *)slot]);
	case PARAM_STRING:
		return snprintf(buf, buf_bytes, "%s",
				*(const char *const *)slot ? *(const char *const *)slot : "");
	}
	return 0;
}

static bool is_default(const struct param *p, const void *obj)
{
	union {
		uint64_t whole;
		double number;
		bool flag;
		int choice;
		const char *string;
	} slot = { 0 };
	struct param copy = *p;
	char have[256], def[256];

	if (!p->def)
		return false;
	copy.offset = 0;
	if (param_store(&copy, &slot, "default", p->def, NULL))
		return false;
	param_print(p, obj, have, sizeof(have));
	param_print(&copy, &slot, def, sizeof(def));
	return !strcmp(have, def);
}

int params_format(const struct param *table, const void *obj, bool all, char *buf,
		  size_t buf_bytes)
{
	size_t used = 0;

	if (buf_bytes)
		buf[0] = '\0';
	for (const struct param *p = table; p && p->name; p++) {
		char value[256];

		if (!all && is_default(p, obj))
			continue;
		param_print(p, obj, value, sizeof(value));
		used += snprintf(used < buf_bytes ? buf + used : NULL,
				 used < buf_bytes ? buf_bytes - used : 0, "%s%s=%s",
				 used ? "," : "", p->name, value);
	}
	return (int)used;
}
