// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * synth.c - draws from the tree of a SPEC, merges the streams of several by virtual time and stores
 * them as a capture.
 *
 * Each SPEC is a stream with a clock of its own: a request is due at the clock, which then advances
 * by the think time of the generator that asked. The stream that is due first goes first, the
 * earlier SPEC at equal times. So one seed gives one order, and a file made today equals one made
 * tomorrow.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "capture/synth_tree.h"

/* ---- the tree -------------------------------------------------------------------------------- */

static void node_restart(struct synth_node *node)
{
	node->nr_left = node->nr_accesses ? node->nr_accesses : UINT64_MAX;
	node->current = 0;
	memset(node->ended, 0, sizeof(node->ended));
	if (node->leaf) {
		node->leaf->nr_left = node->leaf->nr_accesses;
		if (node->gen->start)
			node->gen->start(node->leaf);
	}
	for (int i = 0; i < node->nr_children; i++)
		synth_node_start(node->child[i]);
}

void synth_node_start(struct synth_node *node)
{
	node->nr_times_left = node->nr_times;
	node_restart(node);
}

static struct synth_leaf *leaf_next(struct synth_node *node, uint64_t *unit)
{
	struct synth_leaf *leaf = node->leaf;

	if (!leaf->nr_left)
		return NULL;
	*unit = node->gen->next(leaf);
	if (*unit == UINT64_MAX)
		return NULL;
	if (leaf->nr_left != UINT64_MAX)
		leaf->nr_left--;
	return leaf;
}

static struct synth_leaf *phases_next(struct synth_node *node, uint64_t *unit)
{
	for (; node->current < node->nr_children; node->current++) {
		struct synth_leaf *leaf = synth_node_next(node->child[node->current], unit);

		if (leaf)
			return leaf;
	}
	return NULL;
}

/* A part by weight among those that have not ended; -1: all have. */
static int mix_choose(struct synth_node *node)
{
	double total = 0, at;
	int last = -1;

	for (int i = 0; i < node->nr_children; i++)
		total += node->ended[i] ? 0 : node->weight[i];
	at = synth_uniform(&node->rng) * total;
	for (int i = 0; i < node->nr_children; i++) {
		if (node->ended[i])
			continue;
		last = i;
		if (at < node->weight[i])
			break;
		at -= node->weight[i];
	}
	return last;
}

static struct synth_leaf *mix_next(struct synth_node *node, uint64_t *unit)
{
	for (;;) {
		int i = mix_choose(node);
		struct synth_leaf *leaf;

		if (i < 0)
			return NULL;
		leaf = synth_node_next(node->child[i], unit);
		if (leaf)
			return leaf;
		node->ended[i] = true;
	}
}

static struct synth_leaf *node_draw(struct synth_node *node, uint64_t *unit)
{
	if (!node->nr_left)
		return NULL;
	if (node->nr_left != UINT64_MAX)
		node->nr_left--;
	return node->kind == SYNTH_MIX ? mix_next(node, unit) : phases_next(node, unit);
}

struct synth_leaf *synth_node_next(struct synth_node *node, uint64_t *unit)
{
	struct synth_leaf *leaf;

	if (node->kind == SYNTH_LEAF)
		return leaf_next(node, unit);
	leaf = node_draw(node, unit);
	while (!leaf && --node->nr_times_left > 0) {
		node_restart(node);
		leaf = node_draw(node, unit);
	}
	if (!leaf)
		node->nr_times_left = 1;	/* asked again: still ended */
	return leaf;
}

/* ---- streams --------------------------------------------------------------------------------- */

int synth_open(struct synth **out, const char *const *specs, int nr_specs, uint64_t seed,
	       struct err *err)
{
	struct synth *synth = calloc(1, sizeof(*synth));
	int ret = 0;

	*out = NULL;
	if (!synth)
		return err_set(err, -ENOMEM, "no memory for the streams");
	synth->seed = seed;
	for (int i = 0; i < nr_specs && !ret; i++)
		ret = synth_parse(synth, specs[i], err);
	if (!ret && !synth->nr_streams)
		ret = err_set(err, -EINVAL, "no SPEC given");
	if (ret) {
		synth_close(synth);
		return ret;
	}
	for (int i = 0; i < synth->nr_streams; i++)
		synth_node_start(synth->stream[i].root);
	*out = synth;
	return 0;
}

void synth_close(struct synth *synth)
{
	if (!synth)
		return;
	for (int i = 0; i < synth->nr_streams; i++)
		synth_node_free(synth->stream[i].root);
	for (int i = 0; i < synth->nr_texts; i++)
		free(synth->text[i]);
	free(synth->text);
	free(synth->stream);
	free(synth->file);
	free(synth->task);
	free(synth);
}

static struct synth_stream *stream_due(struct synth *synth)
{
	struct synth_stream *first = NULL;

	for (int i = 0; i < synth->nr_streams; i++) {
		struct synth_stream *s = &synth->stream[i];

		if (s->root && (!first || s->clock_ns < first->clock_ns))
			first = s;
	}
	return first;
}

static void event_fill(struct synth_leaf *leaf, uint64_t unit, struct page_event *event)
{
	bool write = leaf->write_pct > 0 && synth_uniform(&leaf->rng) * 100 < leaf->write_pct;

	*event = (struct page_event){
		.page_index = unit * leaf->io_pages,
		.pages = unit + 1 == leaf->nr_units ? leaf->last_pages : leaf->io_pages,
		.file_id = leaf->file_index + 1,
		.pid = SYNTH_FIRST_PID + leaf->task_index,
		.op = write ? PAGE_OP_WRITE :
		      leaf->via == SYNTH_VIA_MMAP ? PAGE_OP_FAULT : PAGE_OP_READ,
		.flags = write && leaf->write_whole ? PAGE_EV_WHOLE : 0,
	};
}

static uint64_t think_draw(struct synth_leaf *leaf)
{
	if (!leaf->think_random)
		return leaf->think_ns;
	return (uint64_t)(-log(1 - synth_uniform(&leaf->rng)) * (double)leaf->think_ns + 0.5);
}

int synth_next(struct synth *synth, struct page_event *event)
{
	struct synth_stream *s;

	while ((s = stream_due(synth))) {
		uint64_t unit;
		struct synth_leaf *leaf = synth_node_next(s->root, &unit);

		if (!leaf) {
			synth_node_free(s->root);
			s->root = NULL;
			continue;
		}
		event_fill(leaf, unit, event);
		event->ts_ns = s->clock_ns;
		s->clock_ns += think_draw(leaf);
		return 1;
	}
	return 0;
}

const struct synth_file *synth_file(const struct synth *synth, uint32_t index)
{
	return index < synth->nr_files ? &synth->file[index] : NULL;
}

const char *synth_task(const struct synth *synth, uint32_t index)
{
	return index < synth->nr_tasks ? synth->task[index] : NULL;
}
