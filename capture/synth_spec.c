// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * synth_spec.c - parses a SPEC:
 *
 *	phases = mix { ";" mix }		one after the other
 *	mix    = term { "+" term }		interleaved at random, by weight
 *	term   = item [ "*" WEIGHT ]
 *	item   = GENERATOR [ ":" params ] | "(" phases ")" [ ":" params ]
 *	params = NAME "=" VALUE { "," NAME "=" VALUE }
 *
 * Blanks are free between tokens. Depth, children and nodes are limited, so that a hostile SPEC
 * ends in an error and not in a deep stack.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "capture/synth_tree.h"

struct parser {
	struct synth *synth;
	const char *spec;
	const char *at;
	uint32_t task_index;	/* of the SPEC */
	int depth;
	struct err *err;
};

static int complain(struct parser *p, const char *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int complain(struct parser *p, const char *at, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return err_set(p->err, -EINVAL, "SPEC '%.100s' at column %zu: %s", p->spec,
		       (size_t)(at - p->spec) + 1, text);
}

static void skip_blanks(struct parser *p)
{
	while (isspace((unsigned char)*p->at))
		p->at++;
}

static bool accept(struct parser *p, char c)
{
	skip_blanks(p);
	if (*p->at != c)
		return false;
	p->at++;
	skip_blanks(p);
	return true;
}

/* Copies @bytes of text into memory that lives as long as the tree. NULL: no memory. */
static const char *keep_text(struct synth *synth, const char *text, size_t bytes)
{
	char **more = realloc(synth->text, sizeof(*more) * (synth->nr_texts + 1));

	if (!more)
		return NULL;
	synth->text = more;
	more[synth->nr_texts] = strndup(text, bytes);
	if (!more[synth->nr_texts])
		return NULL;
	return more[synth->nr_texts++];
}

static struct synth_node *node_new(struct parser *p, enum synth_kind kind)
{
	struct synth_node *node;

	if (p->synth->nr_nodes >= SYNTH_MAX_NODES) {
		complain(p, p->at, "more than %d generators and groups", SYNTH_MAX_NODES);
		return NULL;
	}
	node = calloc(1, sizeof(*node));
	if (!node) {
		err_set(p->err, -ENOMEM, "no memory for the generators");
		return NULL;
	}
	p->synth->nr_nodes++;
	node->kind = kind;
	node->nr_times = 1;
	/* 16777619: places far apart in the sequence of splitmix64 */
	node->rng = p->synth->seed + 0xd1342543de82ef95ULL * (uint64_t)p->synth->nr_nodes;
	rand_next(&node->rng);
	return node;
}

void synth_node_free(struct synth_node *node)
{
	if (!node)
		return;
	for (int i = 0; i < node->nr_children; i++)
		synth_node_free(node->child[i]);
	free(node->leaf);
	free(node);
}

static uint32_t task_find(struct synth *synth, const char *name, struct err *err)
{
	char (*more)[16];

	for (uint32_t i = 0; i < synth->nr_tasks; i++)
		if (!strncmp(synth->task[i], name, sizeof(*synth->task) - 1))
			return i;
	more = realloc(synth->task, sizeof(*more) * (synth->nr_tasks + 1));
	if (!more) {
		err_set(err, -ENOMEM, "no memory for the tasks");
		return UINT32_MAX;
	}
	synth->task = more;
	snprintf(more[synth->nr_tasks], sizeof(*more), "%.15s", name);
	return synth->nr_tasks++;
}

static int file_find(struct parser *p, const char *at, struct synth_leaf *leaf)
{
	struct synth *synth = p->synth;
	struct synth_file *more;
	char name[sizeof(more->name)];

	if (leaf->file_name)
		snprintf(name, sizeof(name), "%s", leaf->file_name);
	else
		snprintf(name, sizeof(name), "file-%u", synth->nr_files + 1);
	for (uint32_t i = 0; i < synth->nr_files; i++) {
		if (strcmp(synth->file[i].name, name))
			continue;
		if (synth->file[i].size_bytes != leaf->file_bytes)
			return complain(p, at, "file '%s' has %llu bytes here and %llu before",
					name, (unsigned long long)leaf->file_bytes,
					(unsigned long long)synth->file[i].size_bytes);
		leaf->file_index = i;
		return 0;
	}
	more = realloc(synth->file, sizeof(*more) * (synth->nr_files + 1));
	if (!more)
		return err_set(p->err, -ENOMEM, "no memory for the files");
	synth->file = more;
	leaf->file_index = synth->nr_files;
	memcpy(more[synth->nr_files].name, name, sizeof(name));
	more[synth->nr_files++].size_bytes = leaf->file_bytes;
	return 0;
}

/* What the parameters lead to. */
static int leaf_derive(struct parser *p, const char *at, struct synth_node *node)
{
	struct synth_leaf *leaf = node->leaf;
	uint64_t file_pages = (leaf->file_bytes + PAGE_BYTES - 1) / PAGE_BYTES;
	uint64_t rest;

	if (leaf->io_bytes % PAGE_BYTES)
		return complain(p, at, "io=%llu is no multiple of %d",
				(unsigned long long)leaf->io_bytes, PAGE_BYTES);
	leaf->io_pages = (uint32_t)(leaf->io_bytes / PAGE_BYTES);
	leaf->nr_units = (file_pages + leaf->io_pages - 1) / leaf->io_pages;
	rest = file_pages % leaf->io_pages;
	leaf->last_pages = rest ? (uint32_t)rest : leaf->io_pages;
	leaf->rng = leaf->seed ? leaf->seed : node->rng;
	leaf->task_index = leaf->task_name ? task_find(p->synth, leaf->task_name, p->err) :
					     p->task_index;
	if (leaf->task_index == UINT32_MAX)
		return -ENOMEM;
	return file_find(p, at, leaf);
}

enum { MAX_PARAMS = 48 };

/* All parameters of one item in one table, so that a typo is compared with all of them. */
static void params_join(const struct param *a, const struct param *b, struct param *out)
{
	size_t nr = 0;

	for (; a && a->name && nr < MAX_PARAMS; a++)
		out[nr++] = *a;
	for (; b && b->name && nr < MAX_PARAMS; b++)
		out[nr++] = *b;
	out[nr] = (struct param){ 0 };
}

static int parse_param(struct parser *p, const struct param *table, void *obj, const char *what)
{
	const char *at = p->at, *name, *value;
	struct err why = { "" };
	size_t bytes = strcspn(at, "=,;+*():");

	if (at[bytes] != '=' || !bytes)
		return complain(p, at, "%s: wants name=value", what);
	name = keep_text(p->synth, at, bytes);
	at += bytes + 1;
	bytes = strcspn(at, ",;+*()");
	p->at = at + bytes;
	while (bytes && isspace((unsigned char)at[bytes - 1]))
		bytes--;
	value = keep_text(p->synth, at, bytes);
	if (!name || !value)
		return err_set(p->err, -ENOMEM, "no memory for the parameters");
	if (params_set(table, obj, what, name, value, &why))
		return complain(p, at - strlen(name) - 1, "%s", why.text);
	return 0;
}

static int parse_params(struct parser *p, const struct param *table, void *obj, const char *what)
{
	int ret;

	if (!accept(p, ':'))
		return 0;
	do {
		ret = parse_param(p, table, obj, what);
		if (ret)
			return ret;
	} while (accept(p, ','));
	return 0;
}

static const struct synth_generator *generator_find(struct parser *p, const char *at, size_t bytes)
{
	const char *names[16], *near;
	char word[32];
	int nr = 0;

	snprintf(word, sizeof(word), "%.*s", (int)(bytes < 31 ? bytes : 31), at);
	for (int i = 0; synth_generators[i]; i++) {
		const struct synth_generator *gen = synth_generators[i];

		if (!strcmp(gen->name, word) || (gen->alias && !strcmp(gen->alias, word)))
			return gen;
		if (nr < (int)ARRAY_SIZE(names) - 1)
			names[nr++] = gen->name;
	}
	names[nr] = NULL;
	near = nearest_word(word, names);
	if (near)
		complain(p, at, "no generator '%s' (did you mean '%s'?)", word, near);
	else
		complain(p, at, bytes ? "no generator '%s' (--help lists them)" :
					"a generator is missing%s", word);
	return NULL;
}

static struct synth_node *parse_phases(struct parser *p);

static struct synth_node *parse_leaf(struct parser *p)
{
	const char *at = p->at;
	size_t bytes = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789_-");
	const struct synth_generator *gen = generator_find(p, at, bytes);
	struct param table[MAX_PARAMS + 1];
	struct synth_node *node;
	char what[48];

	if (!gen)
		return NULL;
	p->at += bytes;
	node = node_new(p, SYNTH_LEAF);
	if (!node)
		return NULL;
	node->gen = gen;
	node->leaf = calloc(1, gen->bytes);
	if (!node->leaf) {
		err_set(p->err, -ENOMEM, "no memory for a generator");
		goto fail;
	}
	params_join(gen->params, synth_common_params, table);
	snprintf(what, sizeof(what), "generator '%s'", gen->name);
	if (params_defaults(table, node->leaf, p->err) ||
	    parse_params(p, table, node->leaf, what) || leaf_derive(p, at, node))
		goto fail;
	return node;
fail:
	synth_node_free(node);
	return NULL;
}

static struct synth_node *parse_group(struct parser *p)
{
	struct synth_node *inner, *node;

	if (++p->depth > SYNTH_MAX_DEPTH) {
		complain(p, p->at, "groups nested deeper than %d", SYNTH_MAX_DEPTH);
		return NULL;
	}
	inner = parse_phases(p);
	if (!inner)
		return NULL;
	p->depth--;
	if (!accept(p, ')')) {
		complain(p, p->at, "')' is missing");
		goto fail;
	}
	node = node_new(p, SYNTH_PHASES);
	if (!node)
		goto fail;
	node->child[node->nr_children++] = inner;
	if (parse_params(p, synth_group_params, node, "group")) {
		synth_node_free(node);
		return NULL;
	}
	return node;
fail:
	synth_node_free(inner);
	return NULL;
}

static struct synth_node *parse_item(struct parser *p)
{
	skip_blanks(p);
	return accept(p, '(') ? parse_group(p) : parse_leaf(p);
}

static int parse_weight(struct parser *p, double *weight)
{
	char *end;

	*weight = 1;
	if (!accept(p, '*'))
		return 0;
	errno = 0;
	*weight = strtod(p->at, &end);
	if (end == p->at || errno || !(*weight > 0 && *weight <= 1e9))
		return complain(p, p->at, "'*' wants a weight above 0");
	p->at = end;
	return 0;
}

/* @parse one after the other with @separator between; a single one stands for itself. */
static struct synth_node *parse_list(struct parser *p, enum synth_kind kind, char separator,
				     struct synth_node *(*parse)(struct parser *p))
{
	struct synth_node *node = node_new(p, kind), *only;

	if (!node)
		return NULL;
	do {
		struct synth_node *child;

		if (node->nr_children == SYNTH_MAX_CHILDREN) {
			complain(p, p->at, "more than %d parts in a row", SYNTH_MAX_CHILDREN);
			goto fail;
		}
		child = parse(p);
		if (!child)
			goto fail;
		node->child[node->nr_children++] = child;
		if (kind == SYNTH_MIX && parse_weight(p, &node->weight[node->nr_children - 1]))
			goto fail;
	} while (accept(p, separator));
	if (node->nr_children > 1)
		return node;
	only = node->child[0];
	free(node);
	return only;
fail:
	synth_node_free(node);
	return NULL;
}

static struct synth_node *parse_mix(struct parser *p)
{
	return parse_list(p, SYNTH_MIX, '+', parse_item);
}

static struct synth_node *parse_phases(struct parser *p)
{
	return parse_list(p, SYNTH_PHASES, ';', parse_mix);
}

/* A leaf without accesses= makes one pass, unless a group above it ends it. */
static void limits_set(struct synth_node *node, bool bounded)
{
	bounded |= node->nr_accesses != 0;
	if (node->leaf) {
		struct synth_leaf *leaf = node->leaf;

		if (leaf->nr_accesses == 0)
			leaf->nr_accesses = bounded ? UINT64_MAX : leaf->nr_units;
	}
	for (int i = 0; i < node->nr_children; i++)
		limits_set(node->child[i], bounded);
}

int synth_parse(struct synth *synth, const char *spec, struct err *err)
{
	struct parser p = { .synth = synth, .spec = spec, .at = spec, .err = err };
	struct synth_stream *more;
	struct synth_node *root;
	char task[16];

	snprintf(task, sizeof(task), "synth-%u", (unsigned int)(synth->nr_streams + 1) % 100000);
	p.task_index = task_find(synth, task, err);
	if (p.task_index == UINT32_MAX)
		return -ENOMEM;
	root = parse_phases(&p);
	if (!root)
		return err && strncmp(err->text, "no memory", 9) == 0 ? -ENOMEM : -EINVAL;
	skip_blanks(&p);
	if (*p.at) {
		synth_node_free(root);
		return complain(&p, p.at, "'%.20s' is not expected here", p.at);
	}
	more = realloc(synth->stream, sizeof(*more) * (synth->nr_streams + 1));
	if (!more) {
		synth_node_free(root);
		return err_set(err, -ENOMEM, "no memory for the streams");
	}
	limits_set(root, false);
	synth->stream = more;
	more[synth->nr_streams++] = (struct synth_stream){ .root = root,
							   .task_index = p.task_index };
	return 0;
}
