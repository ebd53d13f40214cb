// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * reclaim_marks.c - was this task inside reclaim at that time? A page that leaves the cache was
 * evicted if its task was (or is kswapd), else truncated or invalidated.
 *
 * Begin and end marks are kept in an array sorted by (task, time); the last mark at or before the
 * time in question answers. Deletes come in runs of one task inside one bracket, so the answer's
 * interval is remembered and most questions cost two comparisons.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture.h"

struct mark {
	uint64_t ts_ns;
	uint32_t pid;
	int32_t begin;
};

struct reclaim_marks {
	struct mark *mark;
	size_t nr, room;
	bool sorted;
	uint32_t *kswapd;
	size_t nr_kswapd;
	/* the answer given last: holds for last_pid in [from, to) */
	uint32_t last_pid;
	bool last_inside;
	uint64_t last_from_ns, last_to_ns;
};

int event_reclaim_mark(const char *system, const char *name)
{
	static const char *const brackets[] = {
		"mm_vmscan_direct_reclaim_", "mm_vmscan_memcg_reclaim_",
		"mm_vmscan_memcg_softlimit_reclaim_", "mm_vmscan_node_reclaim_",
	};

	if (strcmp(system, "vmscan"))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(brackets); i++) {
		size_t len = strlen(brackets[i]);

		if (strncmp(name, brackets[i], len))
			continue;
		return !strcmp(name + len, "begin") ? 1 : !strcmp(name + len, "end") ? -1 : 0;
	}
	return 0;
}

struct reclaim_marks *reclaim_marks_new(void)
{
	return calloc(1, sizeof(struct reclaim_marks));
}

void reclaim_marks_free(struct reclaim_marks *m)
{
	if (!m)
		return;
	free(m->mark);
	free(m->kswapd);
	free(m);
}

static void forget_answer(struct reclaim_marks *m)
{
	m->last_from_ns = 1;
	m->last_to_ns = 0;
}

int reclaim_marks_add(struct reclaim_marks *m, uint32_t pid, uint64_t ts_ns, int mark)
{
	if (m->nr == m->room) {
		size_t room = m->room ? 2 * m->room : 256;
		struct mark *grown = realloc(m->mark, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		m->mark = grown;
		m->room = room;
	}
	m->mark[m->nr++] = (struct mark){ ts_ns, pid, mark > 0 };
	m->sorted = false;
	forget_answer(m);
	return 0;
}

int reclaim_marks_add_kswapd(struct reclaim_marks *m, uint32_t pid)
{
	uint32_t *grown = realloc(m->kswapd, (m->nr_kswapd + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	m->kswapd = grown;
	m->kswapd[m->nr_kswapd++] = pid;
	forget_answer(m);
	return 0;
}

static int mark_compare(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->ts_ns != y->ts_ns)
		return x->ts_ns < y->ts_ns ? -1 : 1;
	return x->begin - y->begin;	/* an end and a begin in the same ns: a new bracket */
}

static void sort(struct reclaim_marks *m)
{
	if (m->sorted)
		return;
	if (m->nr)
		qsort(m->mark, m->nr, sizeof(*m->mark), mark_compare);
	m->sorted = true;
}

static bool is_kswapd(const struct reclaim_marks *m, uint32_t pid)
{
	for (size_t i = 0; i < m->nr_kswapd; i++)
		if (m->kswapd[i] == pid)
			return true;
	return false;
}

/* Index of the first mark behind (pid, ts_ns). */
static size_t first_behind(const struct reclaim_marks *m, uint32_t pid, uint64_t ts_ns)
{
	size_t low = 0, high = m->nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct mark *k = &m->mark[mid];

		if (k->pid < pid || (k->pid == pid && k->ts_ns <= ts_ns))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool reclaim_marks_inside(struct reclaim_marks *m, uint32_t pid, uint64_t ts_ns)
{
	size_t behind;

	if (m->last_pid == pid && ts_ns >= m->last_from_ns && ts_ns < m->last_to_ns)
		return m->last_inside;
	sort(m);
	m->last_pid = pid;
	m->last_from_ns = 0;
	m->last_to_ns = UINT64_MAX;
	m->last_inside = is_kswapd(m, pid);
	if (m->last_inside)
		return true;
	behind = first_behind(m, pid, ts_ns);
	if (behind < m->nr && m->mark[behind].pid == pid)
		m->last_to_ns = m->mark[behind].ts_ns;
	if (behind && m->mark[behind - 1].pid == pid) {
		m->last_from_ns = m->mark[behind - 1].ts_ns;
		m->last_inside = m->mark[behind - 1].begin;
	}
	return m->last_inside;
}

void reclaim_marks_retire(struct reclaim_marks *m, uint64_t ts_ns)
{
	size_t kept = 0;

	sort(m);
	for (size_t i = 0; i < m->nr; i++) {
		bool is_last = i + 1 == m->nr || m->mark[i + 1].pid != m->mark[i].pid ||
			       m->mark[i + 1].ts_ns >= ts_ns;

		if (m->mark[i].ts_ns >= ts_ns || (is_last && m->mark[i].begin))
			m->mark[kept++] = m->mark[i];
	}
	m->nr = kept;
	forget_answer(m);
}

void reclaim_marks_reset(struct reclaim_marks *m)
{
	m->nr = 0;
	m->sorted = true;
	forget_answer(m);
}
