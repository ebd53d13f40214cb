/* SPDX-License-Identifier: GPL-2.0-or-later */
/* queues.h - oracles of random, lfu, slru, 2q, arc, car, s3fifo and sieve. */
#include "oracle.h"

static uint32_t share_of(uint32_t pages, double pct, uint32_t least)
{
	uint32_t share = (uint32_t)((double)pages * pct / 100);

	return share < least ? least : share;
}

static void oracle_random(struct oracle *o)
{
	static uint32_t cache[ORACLE_MAX];
	uint64_t state = o->seed;
	uint32_t nr = 0, at;

	for (size_t i = 0; i < o->nr_ops; i++) {
		for (at = 0; at < nr && cache[at] != o->ops[i].page; at++)
			;
		if (o->ops[i].remove) {
			if (at < nr)
				cache[at] = cache[--nr];
			continue;
		}
		o->hit[i] = at < nr;
		if (at < nr)
			continue;
		if (nr < o->capacity) {
			at = nr++;
		} else {
			at = ((rand_next(&state) >> 32) * o->capacity) >> 32;
			o->evictions++;
		}
		cache[at] = o->ops[i].page;
	}
	o->resident = nr;
}

/* Oldest use first; the victim is the first of the lowest count. */
static void oracle_lfu(struct oracle *o)
{
	static struct list by_use;
	static uint32_t count[ORACLE_MAX];

	by_use.nr = 0;
	for (size_t i = 0; i < o->nr_ops; i++) {
		uint32_t page = o->ops[i].page;
		bool hit = list_delete(&by_use, page);

		if (o->ops[i].remove)
			continue;
		o->hit[i] = hit;
		if (!hit && by_use.nr == (int)o->capacity) {
			int victim = 0;

			for (int k = 1; k < by_use.nr; k++)
				if (count[by_use.item[k]] < count[by_use.item[victim]])
					victim = k;
			list_take(&by_use, victim);
			o->evictions++;
		}
		count[page] = hit ? count[page] + 1 : 1;
		list_push(&by_use, page);
	}
	o->resident = by_use.nr;
}

static void oracle_slru(struct oracle *o)
{
	static struct list probation, protected;
	const double pct = *(const double *)o->params;
	int max_protected = share_of(o->capacity, pct, 0);

	probation.nr = protected.nr = 0;
	for (size_t i = 0; i < o->nr_ops; i++) {
		uint32_t page = o->ops[i].page;
		bool in_probation = list_delete(&probation, page);
		bool in_protected = list_delete(&protected, page);

		if (o->ops[i].remove)
			continue;
		o->hit[i] = in_probation || in_protected;
		if (!o->hit[i]) {
			if (probation.nr + protected.nr == (int)o->capacity) {
				list_pop(probation.nr ? &probation : &protected);
				o->evictions++;
			}
			list_push(&probation, page);
			continue;
		}
		o->activated += in_probation;
		list_push(&protected, page);
		if (protected.nr > max_protected) {
			list_push(&probation, list_pop(&protected));
			o->deactivated++;
		}
	}
	o->resident = probation.nr + protected.nr;
}

static void oracle_2q(struct oracle *o)
{
	static struct list in, out, am;
	const double *params = o->params;
	int max_in = share_of(o->capacity, params[0], 1),
	    max_out = share_of(o->capacity, params[1], 1);

	in.nr = out.nr = am.nr = 0;
	for (size_t i = 0; i < o->nr_ops; i++) {
		uint32_t page = o->ops[i].page;
		bool ghost;

		if (o->ops[i].remove) {
			list_delete(&in, page);
			list_delete(&out, page);
			list_delete(&am, page);
			continue;
		}
		o->hit[i] = list_has(&in, page) || list_has(&am, page);
		if (list_delete(&am, page))
			list_push(&am, page);
		if (o->hit[i])
			continue;
		ghost = list_delete(&out, page);
		if (in.nr + am.nr == (int)o->capacity) {
			o->evictions++;
			if (in.nr > max_in || !am.nr) {
				list_push(&out, list_pop(&in));
				if (out.nr > max_out)
					list_pop(&out);
			} else {
				list_pop(&am);
			}
		}
		list_push(ghost ? &am : &in, page);
		o->ghost_hits += ghost;
		o->activated += ghost;
		if (out.nr > max_out)
			abort();
	}
	o->resident = in.nr + am.nr;
}

/* ---- arc and car ----------------------------------------------------------------------------- */

struct arc_lists {
	struct list t1, t2, b1, b2;
	int p;
};

static void arc_adapt(struct oracle *o, struct arc_lists *a, bool in_b2)
{
	int b1 = a->b1.nr, b2 = a->b2.nr, c = (int)o->capacity;

	if (in_b2)
		a->p -= b1 / b2 > 1 ? b1 / b2 : 1;
	else
		a->p += b2 / b1 > 1 ? b2 / b1 : 1;
	a->p = a->p < 0 ? 0 : a->p > c ? c : a->p;
	o->ghost_hits++;
}

static void arc_oracle_replace(struct oracle *o, struct arc_lists *a, bool in_b2)
{
	if (a->t1.nr + a->t2.nr < (int)o->capacity)
		return;
	o->evictions++;
	if (a->t1.nr >= 1 && ((in_b2 && a->t1.nr == a->p) || a->t1.nr > a->p || !a->t2.nr))
		list_push(&a->b1, list_pop(&a->t1));
	else
		list_push(&a->b2, list_pop(&a->t2));
}

static void arc_oracle_new(struct oracle *o, struct arc_lists *a, uint32_t page)
{
	int c = (int)o->capacity, l1 = a->t1.nr + a->b1.nr, l2 = a->t2.nr + a->b2.nr;

	if (l1 == c && a->t1.nr < c) {
		list_pop(&a->b1);
		arc_oracle_replace(o, a, false);
	} else if (l1 == c) {
		list_pop(&a->t1);
		o->evictions++;
	} else {
		if (l1 + l2 == 2 * c)
			list_pop(&a->b2);
		arc_oracle_replace(o, a, false);
	}
	list_push(&a->t1, page);
}

static void arc_forget(struct arc_lists *a, uint32_t page)
{
	list_delete(&a->t1, page);
	list_delete(&a->t2, page);
	list_delete(&a->b1, page);
	list_delete(&a->b2, page);
}

static void arc_bounds(const struct oracle *o, const struct arc_lists *a)
{
	int c = (int)o->capacity;

	if (a->t1.nr + a->t2.nr > c || a->t1.nr + a->b1.nr > c ||
	    a->t1.nr + a->t2.nr + a->b1.nr + a->b2.nr > 2 * c)
		abort();
}

static void oracle_arc(struct oracle *o)
{
	static struct arc_lists a;

	memset(&a, 0, sizeof(a));
	for (size_t i = 0; i < o->nr_ops; i++) {
		uint32_t page = o->ops[i].page;

		if (o->ops[i].remove) {
			arc_forget(&a, page);
			continue;
		}
		o->hit[i] = list_has(&a.t1, page) || list_has(&a.t2, page);
		if (o->hit[i]) {
			o->activated += list_has(&a.t1, page);
			arc_forget(&a, page);
			list_push(&a.t2, page);
		} else if (list_has(&a.b1, page) || list_has(&a.b2, page)) {
			bool in_b2 = list_has(&a.b2, page);

			o->activated += !in_b2;
			arc_adapt(o, &a, in_b2);
			arc_oracle_replace(o, &a, in_b2);
			arc_forget(&a, page);
			list_push(&a.t2, page);
		} else {
			arc_oracle_new(o, &a, page);
		}
		arc_bounds(o, &a);
	}
	o->resident = a.t1.nr + a.t2.nr;
}

static void car_oracle_replace(struct oracle *o, struct arc_lists *a, bool *used)
{
	for (;;) {
		bool first = a->t1.nr >= (a->p > 1 ? a->p : 1) || !a->t2.nr;
		uint32_t page = list_pop(first ? &a->t1 : &a->t2);

		if (!used[page]) {
			list_push(first ? &a->b1 : &a->b2, page);
			o->evictions++;
			return;
		}
		used[page] = false;
		list_push(&a->t2, page);
		*(first ? &o->activated : &o->rotated) += 1;
	}
}

static void oracle_car(struct oracle *o)
{
	static struct arc_lists a;
	static bool used[ORACLE_MAX];
	int c = (int)o->capacity;

	memset(&a, 0, sizeof(a));
	for (size_t i = 0; i < o->nr_ops; i++) {
		uint32_t page = o->ops[i].page;
		bool in_b1 = list_has(&a.b1, page), in_b2 = list_has(&a.b2, page);

		if (o->ops[i].remove) {
			arc_forget(&a, page);
			continue;
		}
		o->hit[i] = list_has(&a.t1, page) || list_has(&a.t2, page);
		if (o->hit[i]) {
			used[page] = true;
			continue;
		}
		if (a.t1.nr + a.t2.nr == c)
			car_oracle_replace(o, &a, used);
		if (!in_b1 && !in_b2) {
			if (a.t1.nr + a.b1.nr == c && a.b1.nr)
				list_pop(&a.b1);
			else if (a.t1.nr + a.t2.nr + a.b1.nr + a.b2.nr == 2 * c && a.b2.nr)
				list_pop(&a.b2);
			list_push(&a.t1, page);
		} else {
			arc_adapt(o, &a, in_b2);
			arc_forget(&a, page);
			list_push(&a.t2, page);
		}
		used[page] = false;
		arc_bounds(o, &a);
	}
	o->resident = a.t1.nr + a.t2.nr;
}

/* ---- s3fifo and sieve ------------------------------------------------------------------------ */

struct s3_lists {
	struct list small, main, ghost;
	uint32_t freq[ORACLE_MAX];
	int small_share, main_share, max_ghosts;
	uint32_t promote;
};

static void s3_evict_main(struct oracle *o, struct s3_lists *s)
{
	for (;;) {
		uint32_t page = list_pop(&s->main);

		if (!s->freq[page])
			return;
		s->freq[page]--;
		list_push(&s->main, page);
		o->rotated++;
	}
}

static bool s3_evict_small(struct oracle *o, struct s3_lists *s)
{
	while (s->small.nr) {
		uint32_t page = list_pop(&s->small);

		if (s->freq[page] < s->promote) {
			list_push(&s->ghost, page);
			if (s->ghost.nr > s->max_ghosts)
				list_pop(&s->ghost);
			return true;
		}
		o->activated++;
		s->freq[page] = 0;
		list_push(&s->main, page);
		if (s->main.nr > s->main_share) {
			s3_evict_main(o, s);
			return true;
		}
	}
	return false;
}

static void oracle_s3fifo(struct oracle *o)
{
	static struct s3_lists s;
	const double *params = o->params;

	memset(&s, 0, sizeof(s));
	s.small_share = share_of(o->capacity, params[0], 1);
	s.main_share = (int)o->capacity - s.small_share;
	s.max_ghosts = share_of(o->capacity, params[1], 0);
	s.promote = (uint32_t)((const uint64_t *)o->params)[2];
	for (size_t i = 0; i < o->nr_ops; i++) {
		uint32_t page = o->ops[i].page;

		if (o->ops[i].remove) {
			list_delete(&s.small, page);
			list_delete(&s.main, page);
			list_delete(&s.ghost, page);
			continue;
		}
		o->hit[i] = list_has(&s.small, page) || list_has(&s.main, page);
		if (o->hit[i]) {
			s.freq[page] += s.freq[page] < 3;
			continue;
		}
		if (s.small.nr + s.main.nr == (int)o->capacity) {
			o->evictions++;
			if (s.small.nr < s.small_share || !s3_evict_small(o, &s))
				s3_evict_main(o, &s);
		}
		s.freq[page] = 0;
		if (list_delete(&s.ghost, page)) {
			o->ghost_hits++;
			list_push(&s.main, page);
		} else {
			list_push(&s.small, page);
		}
	}
	o->resident = s.small.nr + s.main.nr;
}

static void oracle_sieve(struct oracle *o)
{
	static struct list queue;
	static bool visited[ORACLE_MAX];
	int hand = 0;	/* index; behind the newest means the tail */

	queue.nr = 0;
	for (size_t i = 0; i < o->nr_ops; i++) {
		uint32_t page = o->ops[i].page;
		int at = list_find(&queue, page);

		if (o->ops[i].remove) {
			if (at < 0)
				continue;
			list_take(&queue, at);
			if (at < hand)
				hand--;
			if (hand == queue.nr)
				hand = 0;
			continue;
		}
		o->hit[i] = at >= 0;
		if (at >= 0) {
			visited[page] = true;
			continue;
		}
		if (queue.nr == (int)o->capacity) {
			while (visited[queue.item[hand]]) {
				visited[queue.item[hand]] = false;
				o->rotated++;
				hand = (hand + 1) % queue.nr;
			}
			list_take(&queue, hand);
			if (hand == queue.nr)
				hand = 0;
			o->evictions++;
		}
		visited[page] = false;
		list_push(&queue, page);
	}
	o->resident = queue.nr;
}
