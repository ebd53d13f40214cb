/* SPDX-License-Identifier: GPL-2.0-or-later */
/* adaptive.h - oracles of clock-pro, lirs and wtinylfu. */
#include "oracle.h"

/* ---- lirs ------------------------------------------------------------------------------------ */

struct lirs_lists {
	struct list s, q;	/* s: bottom first */
	bool lir[ORACLE_MAX];
	int max_lir, max_ghosts, nr_lir;
};

static void lirs_prune(struct lirs_lists *l)
{
	while (l->s.nr && !l->lir[l->s.item[0]])
		list_pop(&l->s);
}

static int lirs_ghosts(const struct lirs_lists *l, int *lowest)
{
	int nr = 0;

	for (int i = l->s.nr - 1; i >= 0; i--) {
		if (l->lir[l->s.item[i]] || list_has(&l->q, l->s.item[i]))
			continue;
		nr++;
		*lowest = i;
	}
	return nr;
}

static void lirs_promote(struct oracle *o, struct lirs_lists *l, uint32_t page)
{
	list_push(&l->s, page);
	l->lir[page] = true;
	if (++l->nr_lir > l->max_lir) {
		int i = 0;

		while (!l->lir[l->s.item[i]])
			i++;
		l->lir[l->s.item[i]] = false;
		list_push(&l->q, list_take(&l->s, i));
		l->nr_lir--;
		o->deactivated++;
	}
	lirs_prune(l);
}

static void lirs_oracle_miss(struct oracle *o, struct lirs_lists *l, uint32_t page)
{
	int lowest = 0;

	if (l->nr_lir + l->q.nr == (int)o->capacity) {
		uint32_t victim = list_pop(&l->q);

		o->evictions++;
		if (list_has(&l->s, victim) && lirs_ghosts(l, &lowest) > l->max_ghosts) {
			list_take(&l->s, lowest);
			lirs_prune(l);
		}
	}
	if (list_delete(&l->s, page)) {
		o->ghost_hits++;
		o->activated++;
		lirs_promote(o, l, page);
	} else if (l->nr_lir < l->max_lir) {
		lirs_promote(o, l, page);
	} else {
		list_push(&l->s, page);
		list_push(&l->q, page);
		lirs_prune(l);
	}
}

static void lirs_oracle_hit(struct oracle *o, struct lirs_lists *l, uint32_t page)
{
	bool in_s = list_delete(&l->s, page);

	if (l->lir[page]) {
		list_push(&l->s, page);
		lirs_prune(l);
		return;
	}
	list_delete(&l->q, page);
	if (in_s) {
		o->activated++;
		lirs_promote(o, l, page);
		return;
	}
	list_push(&l->s, page);
	list_push(&l->q, page);
	lirs_prune(l);
}

static void oracle_lirs(struct oracle *o)
{
	static struct lirs_lists l;
	const double *params = o->params;
	uint32_t max_hir = (uint32_t)(o->capacity * params[0] / 100);

	memset(&l, 0, sizeof(l));
	l.max_lir = (int)o->capacity - (int)(max_hir ? max_hir : 1);
	l.max_ghosts = (int)(o->capacity * params[1] / 100);
	for (size_t i = 0; i < o->nr_ops; i++) {
		uint32_t page = o->ops[i].page;

		if (o->ops[i].remove) {
			list_delete(&l.s, page);
			list_delete(&l.q, page);
			l.nr_lir -= l.lir[page];
			l.lir[page] = false;
			lirs_prune(&l);
			continue;
		}
		o->hit[i] = l.lir[page] || list_has(&l.q, page);
		if (o->hit[i])
			lirs_oracle_hit(o, &l, page);
		else
			lirs_oracle_miss(o, &l, page);
	}
	o->resident = l.nr_lir + l.q.nr;
}

/* ---- clock-pro ------------------------------------------------------------------------------- */

enum { COLD, COLD_TEST, HOT_PAGE, GHOST_PAGE };

/* The clock as a line that starts at its oldest page, the hot hand's; hands are pages or -1. */
struct pro {
	struct list ring;
	int state[ORACLE_MAX];
	bool used[ORACLE_MAX];
	int64_t hot, cold, test;	/* pages under the hands */
	int max_cold;
};

static int pro_count(const struct pro *c, int state)
{
	int nr = 0;

	for (int i = 0; i < c->ring.nr; i++)
		nr += c->state[c->ring.item[i]] == state;
	return nr;
}

static uint32_t pro_next(const struct pro *c, uint32_t page)
{
	return c->ring.item[(list_find(&c->ring, page) + 1) % c->ring.nr];
}

static void pro_take(struct pro *c, uint32_t page)
{
	int64_t next = c->ring.nr > 1 ? (int64_t)pro_next(c, page) : -1;

	c->hot = c->hot == page ? next : c->hot;
	c->cold = c->cold == page ? next : c->cold;
	c->test = c->test == page ? next : c->test;
	list_delete(&c->ring, page);
}

static void pro_insert(struct pro *c, uint32_t page)
{
	int at = c->hot < 0 ? 0 : list_find(&c->ring, (uint32_t)c->hot);

	memmove(&c->ring.item[at + 1], &c->ring.item[at], (c->ring.nr - at) * sizeof(uint32_t));
	c->ring.item[at] = page;
	c->ring.nr++;
	if (c->hot < 0)
		c->hot = c->cold = c->test = page;
}

static void pro_test_end(struct pro *c, uint32_t page)
{
	c->max_cold -= c->max_cold > 1;
	if (c->state[page] == GHOST_PAGE)
		pro_take(c, page);
	else
		c->state[page] = COLD;
}

static void pro_hot_hand(struct oracle *o, struct pro *c)
{
	while (pro_count(c, HOT_PAGE) > (int)o->capacity - c->max_cold) {
		uint32_t page = (uint32_t)c->hot;

		c->hot = pro_next(c, page);
		if (c->state[page] == HOT_PAGE && c->used[page]) {
			c->used[page] = false;
			o->rotated++;
		} else if (c->state[page] == HOT_PAGE) {
			c->state[page] = COLD;
			o->deactivated++;
		} else if (c->state[page] != COLD && !c->used[page]) {
			pro_test_end(c, page);
		}
	}
}

static void pro_test_hand(struct oracle *o, struct pro *c)
{
	while (pro_count(c, GHOST_PAGE) > (int)o->capacity) {
		uint32_t page = (uint32_t)c->test;

		c->test = pro_next(c, page);
		if ((c->state[page] == GHOST_PAGE || c->state[page] == COLD_TEST) && !c->used[page])
			pro_test_end(c, page);
	}
}

static void pro_cold_hand(struct oracle *o, struct pro *c)
{
	uint32_t page = (uint32_t)c->cold;

	c->cold = pro_next(c, page);
	if (c->state[page] != COLD && c->state[page] != COLD_TEST)
		return;
	if (c->used[page]) {
		c->used[page] = false;
		if (c->state[page] == COLD_TEST) {
			c->state[page] = HOT_PAGE;
			o->activated++;
		} else {
			c->state[page] = COLD_TEST;
			o->rotated++;
		}
		pro_take(c, page);
		pro_insert(c, page);
		pro_hot_hand(o, c);
		return;
	}
	o->evictions++;
	if (c->state[page] == COLD_TEST) {
		c->state[page] = GHOST_PAGE;
		pro_test_hand(o, c);
	} else {
		pro_take(c, page);
	}
}

static void oracle_clockpro(struct oracle *o)
{
	static struct pro c;

	memset(&c, 0, sizeof(c));
	c.hot = c.cold = c.test = -1;
	c.max_cold = 1;
	for (size_t i = 0; i < o->nr_ops; i++) {
		uint32_t page = o->ops[i].page;
		bool on_clock = list_has(&c.ring, page);

		if (o->ops[i].remove) {
			if (on_clock)
				pro_take(&c, page);
			continue;
		}
		o->hit[i] = on_clock && c.state[page] != GHOST_PAGE;
		if (o->hit[i]) {
			c.used[page] = true;
			continue;
		}
		while (c.ring.nr - pro_count(&c, GHOST_PAGE) == (int)o->capacity)
			pro_cold_hand(o, &c);
		if (list_has(&c.ring, page)) {
			c.max_cold += c.max_cold < (int)o->capacity;
			o->ghost_hits++;
			o->activated++;
			pro_take(&c, page);
			c.state[page] = HOT_PAGE;
		} else {
			c.state[page] = COLD_TEST;
		}
		c.used[page] = false;
		pro_insert(&c, page);
		pro_hot_hand(o, &c);
	}
	o->resident = c.ring.nr - pro_count(&c, GHOST_PAGE);
}

/* ---- wtinylfu -------------------------------------------------------------------------------- */

/* The sketch counter by counter: lines of four rows of two words of sixteen counters. */
struct tiny {
	struct list window, probation, protected;
	uint8_t counter[ORACLE_MAX][4][32];
	uint32_t nr_lines;
	uint64_t nr_counted, sample;
};

static uint8_t *tiny_counter(struct tiny *t, uint32_t page, int row)
{
	uint64_t h = (page + 1ULL) * 0x9e3779b97f4a7c15ULL;

	h = (h ^ h >> 32) * 0xd6e8feb86659fd93ULL;
	return &t->counter[(h >> 40) % t->nr_lines][row][(h >> (5 * row)) % 32];
}

static int tiny_estimate(struct tiny *t, uint32_t page)
{
	int least = 15;

	for (int row = 0; row < 4; row++)
		if (*tiny_counter(t, page, row) < least)
			least = *tiny_counter(t, page, row);
	return least;
}

static void tiny_count(struct tiny *t, uint32_t page)
{
	for (int row = 0; row < 4; row++)
		*tiny_counter(t, page, row) += *tiny_counter(t, page, row) < 15;
	if (++t->nr_counted < t->sample)
		return;
	t->nr_counted /= 2;
	for (uint32_t line = 0; line < t->nr_lines; line++)
		for (int row = 0; row < 4; row++)
			for (int i = 0; i < 32; i++)
				t->counter[line][row][i] /= 2;
}

static void tiny_leave_window(struct oracle *o, struct tiny *t, int max_main)
{
	uint32_t page = list_pop(&t->window);
	struct list *from = t->probation.nr ? &t->probation : &t->protected;

	if (t->probation.nr + t->protected.nr < max_main) {
		list_push(&t->probation, page);
		return;
	}
	o->evictions++;
	if (!max_main || tiny_estimate(t, page) <= tiny_estimate(t, from->item[0]))
		return;
	list_pop(from);
	list_push(&t->probation, page);
}

static void oracle_wtinylfu(struct oracle *o)
{
	static struct tiny t;
	const double *params = o->params;
	int c = (int)o->capacity, max_window = (int)(c * params[0] / 100), max_main, max_protected;
	uint32_t nr_ids = 0;

	memset(&t, 0, sizeof(t));
	max_window = max_window ? max_window : 1;
	max_main = c - max_window;
	max_protected = (int)(max_main * params[1] / 100);
	t.sample = ((const uint64_t *)o->params)[2] * (uint64_t)c;
	nr_ids = o->nr_ids < o->capacity ? o->nr_ids : o->capacity;
	for (t.nr_lines = 1; t.nr_lines * 16 < nr_ids;)
		t.nr_lines *= 2;
	for (size_t i = 0; i < o->nr_ops; i++) {
		uint32_t page = o->ops[i].page;
		bool in_window = list_delete(&t.window, page);
		bool in_probation = list_delete(&t.probation, page);
		bool in_protected = list_delete(&t.protected, page);

		if (o->ops[i].remove)
			continue;
		o->hit[i] = in_window || in_probation || in_protected;
		tiny_count(&t, page);
		if (in_probation || in_protected) {
			o->activated += in_probation;
			list_push(&t.protected, page);
			if (t.protected.nr > max_protected) {
				list_push(&t.probation, list_pop(&t.protected));
				o->deactivated++;
			}
			continue;
		}
		list_push(&t.window, page);
		if (t.window.nr > max_window)
			tiny_leave_window(o, &t, max_main);
	}
	o->resident = t.window.nr + t.probation.nr + t.protected.nr;
}
