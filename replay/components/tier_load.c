// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tier_load.c - a reader and kswapd on a page cache with a compressed tier behind it, in virtual
 * time.
 *
 *	reader:  take a free page (none: reclaim some itself), get from the tier or start the disk,
 *	         insert (in the file's tree_lock); wait for the page; copy
 *	kswapd:  below low: take the page at the cache's tail, remove it (in the lock), put it into
 *	         the tier (inside the lock as in 3.0, or after it); until above high
 *
 * One file, so one tree_lock: with the put inside, inserts and compressions take turns, and a
 * stream runs at min(disk, 4096 / t_put). With the put outside, reader and kswapd compress side by
 * side, and it is CPUs * 4096 / (t_put + t_base). Both forms are oracles of the tests; here they
 * come out of who waits for whom. Waiting for the lock is spinning: busy, not idle.
 *
 * The page cache is one LRU list; a second touch while resident makes a page active for the tier's
 * policy (was_active). Pages in the order read have readahead in flight; pages with seeks are read
 * one by one. Two threads run: with one CPU they share it, more than two are idle for the valve to
 * see.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "replay/components/components.h"

enum { DIRECT_PAGES = 32, NONE = UINT32_MAX };
#define NS_PER_S 1e9

#define L(field) offsetof(struct tier_load, field)
const struct param tier_load_table[] = {
	{ "memory", PARAM_U64, L(memory_pages), "16384", 256, 4e9, "pages", "cache and pool",
	  NULL },
	{ "pages", PARAM_COUNT, L(nr_pages), "262144", 1, 4e9, "pages", "distinct", NULL },
	{ "reads", PARAM_COUNT, L(nr_reads), "262144", 1, 1e12, NULL, "of a page each", NULL },
	{ "shuffled", PARAM_BOOL, L(shuffled), "0", 0, 0, NULL, "same random order each round",
	  NULL },
	{ "disk_page", PARAM_DOUBLE, L(disk_page_ns), "13653", 0, 1e9, "ns", "transfer of a page",
	  NULL },
	{ "seek", PARAM_DOUBLE, L(seek_ns), "0", 0, 1e9, "ns", "before each page", NULL },
	{ "readahead", PARAM_U64, L(readahead_pages), "64", 1, 4096, "pages", "in flight", NULL },
	{ "insert", PARAM_DOUBLE, L(insert_ns), "500", 0, 1e6, "ns", "in the lock", NULL },
	{ "copy", PARAM_DOUBLE, L(copy_ns), "5000", 0, 1e6, "ns", "rest of a read", NULL },
	{ "evict", PARAM_DOUBLE, L(evict_ns), "500", 0, 1e6, "ns", "in the lock", NULL },
	{ "think", PARAM_DOUBLE, L(think_ns), "0", 0, 1e9, "ns", "idle between reads", NULL },
	{ "in_lock", PARAM_BOOL, L(in_lock), "1", 0, 0, NULL, "the put is inside the lock", NULL },
	{ "cpus", PARAM_U64, L(nr_cpus), "2", 1, 1024, "CPUs", "online", NULL },
	{ "warmup", PARAM_COUNT, L(warmup_reads), "0", 0, 1e12, NULL, "reads not counted", NULL },
	{ 0 }
};
#undef L

enum { READER, KSWAPD, NR_THREADS };

struct page {
	uint32_t prev, next;	/* LRU, most recent behind the head */
	bool resident, touched, was_active;
};

struct sim {
	const struct tier_load *load;
	struct tier *tier;
	struct page *page;		/* [nr_pages] is the head */
	uint32_t *order;		/* NULL: in order */
	double *ready_ns;		/* ring of pages in flight */
	double at_ns[NR_THREADS], busy_ns[NR_THREADS], spin_ns[NR_THREADS];
	double lock_free_ns, disk_free_ns;
	int64_t nr_free, low, high;
	bool reclaiming;
	uint64_t nr_misses, nr_disk, nr_direct;
};

static double idle_ns(const struct sim *s, double now_ns)
{
	return now_ns * s->load->nr_cpus - s->busy_ns[READER] - s->busy_ns[KSWAPD];
}

static void spend(struct sim *s, int thread, double ns)
{
	if (s->load->nr_cpus == 1) {	/* they share the CPU: one waits while the other runs */
		double start_ns = fmax(s->at_ns[READER], s->at_ns[KSWAPD]);

		if (thread == KSWAPD || s->reclaiming)
			s->at_ns[READER] = s->at_ns[KSWAPD] = start_ns + ns;
		else
			s->at_ns[READER] += ns;
	} else {
		s->at_ns[thread] += ns;
	}
	s->busy_ns[thread] += ns;
}

/* Spins until the lock is free, then holds it for @ns. */
static void locked(struct sim *s, int thread, double ns)
{
	double wait_ns = s->lock_free_ns - s->at_ns[thread];

	if (wait_ns > 0) {
		s->spin_ns[thread] += wait_ns;
		spend(s, thread, wait_ns);
	}
	spend(s, thread, ns);
	s->lock_free_ns = s->at_ns[thread];
}

static void lru_unlink(struct sim *s, uint32_t page)
{
	s->page[s->page[page].prev].next = s->page[page].next;
	s->page[s->page[page].next].prev = s->page[page].prev;
}

static void lru_add(struct sim *s, uint32_t page)
{
	uint32_t head = s->load->nr_pages, next = s->page[head].next;

	s->page[page].prev = head;
	s->page[page].next = next;
	s->page[next].prev = page;
	s->page[head].next = page;
}

static void reclaim_page(struct sim *s, int thread)
{
	uint32_t page = s->page[s->load->nr_pages].prev;
	double put_ns;

	lru_unlink(s, page);
	put_ns = tier_put(s->tier, page, s->page[page].was_active, s->at_ns[thread],
			  idle_ns(s, s->at_ns[thread]));
	s->page[page].resident = s->page[page].touched = s->page[page].was_active = false;
	locked(s, thread, s->load->evict_ns + (s->load->in_lock ? put_ns : 0));
	if (!s->load->in_lock)
		spend(s, thread, put_ns);
	s->nr_free++;
}

/* kswapd runs as far as its clock is behind the reader's. */
static void run_kswapd(struct sim *s)
{
	if (!s->reclaiming && s->nr_free < s->low) {
		s->reclaiming = true;
		s->at_ns[KSWAPD] = fmax(s->at_ns[KSWAPD], s->at_ns[READER]);
	}
	while (s->reclaiming && s->at_ns[KSWAPD] <= s->at_ns[READER]) {
		reclaim_page(s, KSWAPD);
		s->reclaiming = s->nr_free < s->high;
	}
}

static void take_free_page(struct sim *s)
{
	run_kswapd(s);
	if (s->nr_free <= 0) {
		for (int i = 0; i < DIRECT_PAGES; i++) {
			reclaim_page(s, READER);
			s->nr_direct++;
			run_kswapd(s);
		}
	}
	s->nr_free--;
}

/* Starts bringing a page in; returns when it is there. */
static double start_read(struct sim *s, uint32_t page)
{
	const struct tier_load *load = s->load;
	struct page *p = &s->page[page];
	double get_ns, ready_ns;

	if (p->resident) {
		lru_unlink(s, page);
		lru_add(s, page);
		p->was_active = p->was_active || p->touched;
		p->touched = true;
		return s->at_ns[READER];
	}
	s->nr_misses++;
	take_free_page(s);
	if (tier_get(s->tier, page, &get_ns)) {
		spend(s, READER, get_ns);
		ready_ns = s->at_ns[READER];
	} else {
		spend(s, READER, get_ns);
		tier_fill(s->tier, page);
		s->nr_disk++;
		s->disk_free_ns = fmax(s->disk_free_ns, s->at_ns[READER]) + load->seek_ns +
				  load->disk_page_ns;
		ready_ns = s->disk_free_ns;
	}
	locked(s, READER, load->insert_ns);
	p->resident = p->touched = true;
	lru_add(s, page);
	return ready_ns;
}

static uint32_t page_at(const struct sim *s, uint64_t read)
{
	uint64_t i = read % s->load->nr_pages;

	return s->order ? s->order[i] : i;
}

static void run_reads(struct sim *s, uint64_t first, uint64_t end)
{
	const struct tier_load *load = s->load;
	uint64_t ahead = load->seek_ns > 0 ? 1 : load->readahead_pages, started = first;

	for (uint64_t read = first; read < end; read++) {
		double ready_ns;

		while (started < end && started < read + ahead) {
			s->ready_ns[started % ahead] = start_read(s, page_at(s, started));
			started++;
		}
		ready_ns = s->ready_ns[read % ahead];
		if (ready_ns > s->at_ns[READER])
			s->at_ns[READER] = ready_ns;	/* sleeps: idle */
		spend(s, READER, load->copy_ns);
		s->at_ns[READER] += load->think_ns;
		run_kswapd(s);
	}
}

static int shuffle(struct sim *s, uint64_t seed)
{
	uint64_t nr = s->load->nr_pages;

	s->order = malloc(nr * sizeof(*s->order));
	if (!s->order)
		return -ENOMEM;
	for (uint64_t i = 0; i < nr; i++) {
		uint64_t j = rand_next(&seed) % (i + 1);

		s->order[i] = s->order[j];
		s->order[j] = i;
	}
	return 0;
}

static int sim_init(struct sim *s, const struct tier_params *params, const struct tier_load *load,
		    struct err *err)
{
	uint64_t pool = params->policy == TIER_OFF ? 0 : params->pool_bytes / PAGE_BYTES;
	uint32_t head = load->nr_pages;
	int code = 0;

	if (load->memory_pages < pool + 128)
		return err_set(err, -EINVAL, "a pool of %llu pages leaves no page cache of %llu",
			       (unsigned long long)pool, (unsigned long long)load->memory_pages);
	s->tier = tier_new(params, load->nr_pages, &code, err);
	if (!s->tier)
		return code;
	s->page = calloc(load->nr_pages + 1, sizeof(*s->page));
	s->ready_ns = calloc(load->readahead_pages, sizeof(*s->ready_ns));
	if (!s->page || !s->ready_ns || (load->shuffled && shuffle(s, params->seed)))
		return err_set(err, -ENOMEM, "no memory for %llu pages",
			       (unsigned long long)load->nr_pages);
	s->page[head].prev = s->page[head].next = head;
	s->nr_free = load->memory_pages - pool;
	s->high = s->nr_free / 32;
	s->low = s->nr_free / 48;
	return 0;
}

static void sim_release(struct sim *s)
{
	tier_free(s->tier);
	free(s->page);
	free(s->order);
	free(s->ready_ns);
}

/* What happened between two moments. */
static void sum_up(const struct sim *from, const struct tier_counters *tier, const struct sim *to,
		   struct tier_load_result *r)
{
	double run_ns = to->at_ns[READER] - from->at_ns[READER], busy_ns = 0, spin_ns = 0;
	const struct tier_counters *n = tier_counters(to->tier);

	for (int i = 0; i < NR_THREADS; i++) {
		busy_ns += to->busy_ns[i] - from->busy_ns[i];
		spin_ns += to->spin_ns[i] - from->spin_ns[i];
	}
	*r = (struct tier_load_result){
		.run_s = run_ns / NS_PER_S,
		.mb_s = (to->load->nr_reads - to->load->warmup_reads) * (double)PAGE_BYTES / 1e6 /
			(run_ns / NS_PER_S),
		.cpu_pct = fmin(100, 100 * busy_ns / run_ns / to->load->nr_cpus),
		.spin_pct = 100 * spin_ns / run_ns / to->load->nr_cpus,
		.nr_misses = to->nr_misses - from->nr_misses,
		.nr_disk_reads = to->nr_disk - from->nr_disk,
		.nr_direct = to->nr_direct - from->nr_direct,
		.tier = *n,
	};
	r->hit_ratio = (double)(n->nr_hits - tier->nr_hits) / r->nr_misses;
	r->hits_per_put = n->nr_puts > tier->nr_puts ?
		(double)(n->nr_hits - tier->nr_hits) / (n->nr_puts - tier->nr_puts) : NAN;
	r->put_share = (double)(n->nr_puts - tier->nr_puts) /
		       (n->nr_evictions - tier->nr_evictions);
}

int tier_load_run(const struct tier_params *params, const struct tier_load *load,
		  struct tier_load_result *result, struct err *err)
{
	struct tier_counters tier_warm;
	struct sim s = { .load = load }, warm;
	int ret = sim_init(&s, params, load, err);

	if (!ret && load->warmup_reads >= load->nr_reads)
		ret = err_set(err, -EINVAL, "all %llu reads are warm-up",
			      (unsigned long long)load->nr_reads);
	if (!ret) {
		run_reads(&s, 0, load->warmup_reads);
		warm = s;
		tier_warm = *tier_counters(s.tier);
		run_reads(&s, load->warmup_reads, load->nr_reads);
		sum_up(&warm, &tier_warm, &s, result);
	}
	sim_release(&s);
	return ret;
}
