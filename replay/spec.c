// SPDX-License-Identifier: GPL-2.0-or-later
/* spec.c - models with parameters and sizes, as they are typed. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/replay.h"

/* ---- models ---------------------------------------------------------------------------------- */

void replay_models_release(struct replay_models *list)
{
	for (size_t i = 0; i < list->nr; i++)
		free(list->models[i].params);
	for (size_t i = 0; i < list->nr_texts; i++)
		free(list->texts[i]);
	free(list->models);
	free(list->texts);
	memset(list, 0, sizeof(*list));
}

static int unknown_model(const char *name, struct err *err)
{
	const char *names[128], *near;
	size_t nr = 0;

	for (const struct model_ops *const *m = textbook_models; *m && nr < 100; m++)
		names[nr++] = (*m)->name;
	for (const struct kernel_ops *const *m = kernel_models; *m && nr < 127; m++)
		names[nr++] = (*m)->name;
	names[nr] = NULL;
	near = nearest_word(name, names);
	if (near)
		return err_set(err, -EINVAL, "unknown model '%s' (did you mean '%s'?)", name, near);
	return err_set(err, -EINVAL, "unknown model '%s' (see 'pagereel models')", name);
}

static int model_find(struct replay_model *found, const char *name, struct err *err)
{
	for (const struct model_ops *const *m = textbook_models; *m; m++)
		if (!strcmp((*m)->name, name))
			found->model = *m;
	for (const struct kernel_ops *const *m = kernel_models; *m; m++)
		if (!strcmp((*m)->name, name))
			found->kernel = *m;
	if (!found->model && !found->kernel)
		return unknown_model(name, err);
	found->name = found->model ? found->model->name : found->kernel->name;
	return 0;
}

static const struct param *model_table(const struct replay_model *m, size_t *params_bytes)
{
	*params_bytes = m->model ? m->model->params_bytes : m->kernel->params_bytes;
	return m->model ? m->model->params : m->kernel->params;
}

/* A new entry with the model's defaults. */
static int model_add(struct replay_models *list, const char *name, struct err *err)
{
	struct replay_model model = { 0 }, *models;
	const struct param *table;
	size_t params_bytes;
	int ret = model_find(&model, name, err);

	if (ret)
		return ret;
	models = realloc(list->models, (list->nr + 1) * sizeof(*models));
	if (!models)
		return err_set(err, -ENOMEM, "no memory for models");
	list->models = models;
	table = model_table(&model, &params_bytes);
	if (table) {
		model.params = calloc(1, params_bytes);
		if (!model.params)
			return err_set(err, -ENOMEM, "no memory for models");
		ret = params_defaults(table, model.params, err);
	}
	list->models[list->nr++] = model;
	return ret;
}

/* "name=value" for the model that came last. */
static int param_set(struct replay_models *list, char *text, struct err *err)
{
	struct replay_model *m = list->nr ? &list->models[list->nr - 1] : NULL;
	char *equals = strchr(text, '='), what[64];
	const struct param *table;
	size_t params_bytes;

	if (!m || !equals)
		return err_set(err, -EINVAL, "'%s' is not MODEL or MODEL:param=value", text);
	table = model_table(m, &params_bytes);
	if (!table)
		return err_set(err, -EINVAL, "model '%s' has no parameters", m->name);
	*equals = '\0';
	snprintf(what, sizeof(what), "model '%s'", m->name);
	return params_set(table, m->params, what, text, equals + 1, err);
}

/* Writes the canonical text of the last model; drops it if it is there already. */
static int model_close(struct replay_models *list, size_t first, struct err *err)
{
	struct replay_model *m;
	const struct param *table;
	size_t params_bytes;

	if (list->nr == first)
		return 0;
	m = &list->models[list->nr - 1];
	table = model_table(m, &params_bytes);
	if (table && params_format(table, m->params, false, m->params_text,
				   sizeof(m->params_text)) >= (int)sizeof(m->params_text))
		return err_set(err, -EINVAL, "too many parameters for model '%s'", m->name);
	for (size_t i = 0; i + 1 < list->nr; i++) {
		if (strcmp(list->models[i].name, m->name) ||
		    strcmp(list->models[i].params_text, m->params_text))
			continue;
		free(m->params);
		list->nr--;
		break;
	}
	return 0;
}

static int add_all(struct replay_models *list, struct err *err)
{
	int ret = 0;

	for (const struct kernel_ops *const *m = kernel_models; *m && !ret; m++) {
		ret = model_add(list, (*m)->name, err);
		ret = ret ? ret : model_close(list, 0, err);
	}
	for (const struct model_ops *const *m = textbook_models; *m && !ret; m++) {
		ret = model_add(list, (*m)->name, err);
		ret = ret ? ret : model_close(list, 0, err);
	}
	return ret;
}

/* A word between commas: MODEL, MODEL:param=value, or param=value of the model before. */
static int word_add(struct replay_models *list, char *word, size_t *first, struct err *err)
{
	char *colon = strchr(word, ':'), *equals = strchr(word, '=');
	int ret;

	if (equals && (!colon || colon > equals) && list->nr > *first)
		return param_set(list, word, err);
	ret = model_close(list, *first, err);
	*first = list->nr;
	if (ret)
		return ret;
	if (!strcmp(word, "all")) {
		ret = add_all(list, err);
		*first = list->nr;
		return ret;
	}
	if (colon)
		*colon = '\0';
	ret = model_add(list, word, err);
	if (!ret && colon)
		ret = param_set(list, colon + 1, err);
	return ret;
}

/* Keeps a copy of @text for good: string parameters point into it. */
static char *text_keep(struct replay_models *list, const char *text)
{
	char **texts = realloc(list->texts, (list->nr_texts + 1) * sizeof(*texts));
	char *copy = texts ? strdup(text) : NULL;

	if (texts)
		list->texts = texts;
	if (copy)
		list->texts[list->nr_texts++] = copy;
	return copy;
}

int replay_models_add(struct replay_models *list, const char *text, struct err *err)
{
	char *word, *at = text_keep(list, text);
	size_t first = list->nr;
	int ret = 0;

	if (!at)
		return err_set(err, -ENOMEM, "no memory for models");
	while (!ret && (word = strsep(&at, ",")))
		ret = *word ? word_add(list, word, &first, err) :
			      err_set(err, -EINVAL, "no model between the commas of '%s'", text);
	if (!ret)
		ret = model_close(list, first, err);
	return ret;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

void replay_sizes_release(struct replay_sizes *list)
{
	free(list->pages);
	memset(list, 0, sizeof(*list));
}

static int size_pages(const char *text, uint64_t footprint_pages, double *pages, struct err *err)
{
	size_t nr = strlen(text);
	uint64_t bytes;
	double pct;
	int ret;

	if (nr && text[nr - 1] == '%') {
		ret = parse_pct(text, 1e6, &pct, err);
		*pages = ret ? 0 : pct / 100 * (double)footprint_pages;
		if (!ret && pct > 0 && *pages < 1)
			*pages = 1;	/* a share of a small footprint is still something */
	} else {
		ret = parse_size_bytes(text, &bytes, err);
		*pages = ret ? 0 : (double)bytes / PAGE_BYTES;
	}
	return ret;
}

static int size_add(struct replay_sizes *list, double pages, const char *text, struct err *err)
{
	size_t at = 0;
	uint32_t *grown, value;

	if (pages >= UINT32_MAX)
		return err_set(err, -EINVAL, "'%s' is too large: at most %u pages", text,
			       UINT32_MAX);
	value = (uint32_t)floor(pages + 1e-6);
	if (!value)
		return err_set(err, -EINVAL, "'%s' is less than one page", text);
	while (at < list->nr && list->pages[at] < value)
		at++;
	if (at < list->nr && list->pages[at] == value)
		return 0;
	grown = realloc(list->pages, (list->nr + 1) * sizeof(*grown));
	if (!grown)
		return err_set(err, -ENOMEM, "no memory for sizes");
	memmove(&grown[at + 1], &grown[at], (list->nr - at) * sizeof(*grown));
	grown[at] = value;
	list->pages = grown;
	list->nr++;
	return 0;
}

/* "LOW..HIGH/N" */
static int range_add(struct replay_sizes *list, char *word, char *dots, uint64_t footprint_pages,
		     struct err *err)
{
	char *slash = strchr(dots, '/');
	double low, high;
	uint64_t nr;
	int ret;

	if (!slash)
		return err_set(err, -EINVAL, "'%s' lacks the number of sizes (LOW..HIGH/N)", word);
	*slash = *dots = '\0';
	ret = size_pages(word, footprint_pages, &low, err);
	if (!ret)
		ret = size_pages(dots + 2, footprint_pages, &high, err);
	if (!ret)
		ret = parse_u64(slash + 1, &nr, err);
	if (!ret && (nr < 2 || nr > 10000))
		return err_set(err, -EINVAL, "'%s' is not 2 to 10000 sizes", slash + 1);
	if (!ret && high < low)
		return err_set(err, -EINVAL, "'%s' is more than '%s'", word, dots + 2);
	for (uint64_t i = 0; i < nr && !ret; i++)
		ret = size_add(list, low + (high - low) * (double)i / (double)(nr - 1), word, err);
	return ret;
}

int replay_sizes_add(struct replay_sizes *list, const char *text, uint64_t footprint_pages,
		     struct err *err)
{
	char *copy = strdup(text), *at = copy, *word;
	int ret = copy ? 0 : err_set(err, -ENOMEM, "no memory for sizes");

	while (!ret && (word = strsep(&at, ","))) {
		char *dots = strstr(word, "..");
		double pages;

		if (dots) {
			ret = range_add(list, word, dots, footprint_pages, err);
			continue;
		}
		ret = size_pages(word, footprint_pages, &pages, err);
		if (!ret)
			ret = size_add(list, pages, word, err);
	}
	free(copy);
	return ret;
}

int replay_shard_parse(const char *text, uint64_t *shard, uint64_t *nr_shards, struct err *err)
{
	const char *slash = strchr(text, '/');
	char first[32];

	if (!slash || (size_t)(slash - text) >= sizeof(first))
		return err_set(err, -EINVAL, "'%s' is no shard (I/N)", text);
	memcpy(first, text, (size_t)(slash - text));
	first[slash - text] = '\0';
	if (parse_u64(first, shard, NULL) || parse_u64(slash + 1, nr_shards, NULL) || !*shard ||
	    *shard > *nr_shards)
		return err_set(err, -EINVAL, "'%s' is no shard (I/N, I from 1 to N)", text);
	return 0;
}
