// SPDX-License-Identifier: GPL-2.0-or-later
/* models.c - `pagereel models`: every model with its parameters, defaults and source. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/out.h"
#include "replay/replay.h"

struct model_facts {
	const char *name, *kind, *title, *source;
	const struct param *params;
	bool inclusion, randomized;
};

static struct model_facts facts_of_textbook(const struct model_ops *ops)
{
	return (struct model_facts){
		.name = ops->name, .kind = "textbook", .title = ops->title, .source = ops->source,
		.params = ops->params,
		.inclusion = ops->flags & MODEL_STACK,
		.randomized = ops->flags & MODEL_RANDOMIZED,
	};
}

static struct model_facts facts_of_kernel(const struct kernel_ops *ops)
{
	return (struct model_facts){
		.name = ops->name, .kind = "kernel", .title = ops->title, .source = ops->source,
		.params = ops->params,
	};
}

/* The @i-th model of all; false behind the last. */
static bool model_at(size_t i, struct model_facts *facts)
{
	size_t nr_kernel = 0, nr_textbook = 0;

	while (kernel_models[nr_kernel])
		nr_kernel++;
	while (textbook_models[nr_textbook])
		nr_textbook++;
	if (i < nr_kernel)
		*facts = facts_of_kernel(kernel_models[i]);
	else if (i - nr_kernel < nr_textbook)
		*facts = facts_of_textbook(textbook_models[i - nr_kernel]);
	return i < nr_kernel + nr_textbook;
}

static bool is_chosen(const char *name, char *const *chosen, int nr_chosen)
{
	for (int i = 0; i < nr_chosen; i++)
		if (!strcmp(chosen[i], name))
			return true;
	return nr_chosen == 0;
}

static int check_chosen(const struct command *self, char *const *chosen, int nr_chosen)
{
	const char *names[128] = { NULL }, *near;
	struct model_facts facts;
	size_t nr = 0;

	while (nr < ARRAY_SIZE(names) - 1 && model_at(nr, &facts))
		names[nr++] = facts.name;
	for (int i = 0; i < nr_chosen; i++) {
		bool known = false;

		for (size_t k = 0; k < nr; k++)
			known = known || !strcmp(names[k], chosen[i]);
		if (known)
			continue;
		near = nearest_word(chosen[i], names);
		if (near)
			return cmd_usage(self, "unknown model '%s' (did you mean '%s'?)", chosen[i],
						 near);
		return cmd_usage(self, "unknown model '%s'", chosen[i]);
	}
	return 0;
}

/* ---- for people ------------------------------------------------------------------------------ */

static void param_print(const struct param *p)
{
	char left[64];

	snprintf(left, sizeof(left), "%s=%s", p->name, p->def ? p->def : "");
	printf("    %-24s %s", left, p->help);
	for (int i = 0; p->type == PARAM_ENUM && p->choices[i]; i++)
		printf("%s%s", i ? ", " : " (", p->choices[i]);
	if (p->type == PARAM_ENUM)
		printf(")");
	if (p->min != 0 || p->max != 0)
		printf(" (%g to %g%s%s)", p->min, p->max,
		       p->unit ? " " : "", p->unit ? p->unit : "");
	else if (p->unit)
		printf(" (%s)", p->unit);
	printf("\n");
}

static void model_print(const struct model_facts *facts)
{
	printf("%s: %s\n  %s\n", facts->name, facts->title, facts->source);
	if (facts->inclusion)
		printf("  Inclusion: more memory never means more misses.\n");
	if (facts->randomized)
		printf("  Draws lots: the result depends on --seed.\n");
	if (facts->params && facts->params->name)
		printf("  Parameters and their defaults (%s:name=value,...):\n", facts->name);
	for (const struct param *p = facts->params; p && p->name; p++)
		param_print(p);
}

static void models_print(char *const *chosen, int nr_chosen)
{
	struct model_facts facts;
	bool first = true;

	for (size_t i = 0; model_at(i, &facts); i++) {
		if (!is_chosen(facts.name, chosen, nr_chosen))
			continue;
		if (nr_chosen) {
			printf("%s", first ? "" : "\n");
			model_print(&facts);
			first = false;
			continue;
		}
		printf("%-12s %s\n%12s   %s", facts.name, facts.title, "", facts.source);
		for (const struct param *p = facts.params; p && p->name; p++)
			printf("%s%s=%s", p == facts.params ? "; " : ", ", p->name,
			       p->def ? p->def : "");
		printf("\n");
	}
}

/* ---- for programs ---------------------------------------------------------------------------- */

static void json_text(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

static void json_field(FILE *out, const char *name, const char *text)
{
	fprintf(out, ",\"%s\":", name);
	if (text)
		json_text(out, text);
	else
		fprintf(out, "null");
}

/* An array of objects, on the heap; NULL: no memory. */
static char *params_json(const struct param *params)
{
	char *text = NULL;
	size_t nr;
	FILE *out = open_memstream(&text, &nr);

	if (!out)
		return NULL;
	fputc('[', out);
	for (const struct param *p = params; p && p->name; p++) {
		fprintf(out, "%s{\"name\":", p == params ? "" : ",");
		json_text(out, p->name);
		json_field(out, "default", p->def);
		if (p->min != 0 || p->max != 0)
			fprintf(out, ",\"min\":%.17g,\"max\":%.17g", p->min, p->max);
		json_field(out, "unit", p->unit);
		json_field(out, "help", p->help);
		fputc('}', out);
	}
	fputc(']', out);
	return fclose(out) ? free(text), NULL : text;
}

static int models_out(enum out_format format, char *const *chosen, int nr_chosen)
{
	static const struct out_column columns[] = {
		{ "model" }, { "kind" }, { "title" }, { "source" },
		{ "params", NULL, OUT_PLAIN, true },
	};
	struct out *out = out_begin(stdout, format, columns, ARRAY_SIZE(columns));
	struct model_facts facts;
	int ret = 0, code;

	for (size_t i = 0; model_at(i, &facts) && !ret; i++) {
		char *params;

		if (!is_chosen(facts.name, chosen, nr_chosen))
			continue;
		params = params_json(facts.params);
		ret = params ? out_row(out, (const struct value[]){
			VALUE_OF_TEXT(facts.name), VALUE_OF_TEXT(facts.kind),
			VALUE_OF_TEXT(facts.title), VALUE_OF_TEXT(facts.source),
			VALUE_OF_TEXT(params) }) : -ENOMEM;
		free(params);
	}
	code = out_end(out);
	return ret ? ret : code;
}

static int models_run(const struct command *self, int argc, char **argv)
{
	enum out_format format = OUT_AUTO;
	const struct opt opts[] = {
		{ 0, "format", OPT_FORMAT, &format, "FORMAT", "table, csv, json or ndjson" },
		{ 0 },
	};
	struct err err = { "" };
	int status, nr, ret;

	nr = opts_parse(self, opts, argc, argv, false, &argv, &status);
	if (nr < 0)
		return status;
	status = check_chosen(self, argv, nr);
	if (status)
		return status;
	if (format == OUT_AUTO || format == OUT_TABLE) {
		models_print(argv, nr);
		return cmd_finish(self);
	}
	ret = models_out(format, argv, nr);
	return ret ? cmd_fail(self, ret, &err) : cmd_finish(self);
}

const struct command cmd_models = {
	.name = "models",
	.args = "[OPTION]... [MODEL]...",
	.summary = "List the reclaim models with their parameters, defaults and sources.",
	.examples = "  pagereel models\n"
		    "  pagereel models arc s3fifo\n"
		    "  pagereel models --format json\n",
	.run = models_run,
};
