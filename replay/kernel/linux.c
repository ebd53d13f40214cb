// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * linux.c - Linux's page cache under a memcg limit, with the classic active and inactive lists.
 *
 * The pipeline: demand record -> readahead -> charge and limit (memcg.c) -> policy (lru.c,
 * workingset.c, vmscan.c) -> eviction sink (writeback.c, shadow). This file is its front: it turns
 * demand records into lookups, fills and marks as mm/filemap.c does (filemap_read(),
 * filemap_add_folio(), __filemap_get_folio() for writes), and holds the table of parameters by
 * which versions differ.
 *
 * A read marks each folio accessed once, and not at all when the previous read of the same open
 * file ended in the same folio. A write never marks; its new folios are not activated by their
 * shadows (filemap_add_folio() skips the refault for __GFP_WRITE).
 *
 * Time comes from the record: statistics flushes and writeback are timers on it. At another size
 * the real run would be slower or faster, so the timers would fire more or less often per access.
 *
 * Approximations: one node; one stock and one set of batches (lru.c); without a readahead of its
 * own the open file is taken to be (file, task).
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/kernel/kernel.h"
#include "replay/kernel/linux_params.h"

enum { EXTENT_HINT_BITS = 3, MAX_ORDER_RECORDED = 10 };

/* ---- parameters ------------------------------------------------------------------------------ */

static const char *const readahead_modes[] = {
	[READAHEAD_AUTO] = "auto", [READAHEAD_RECORDED] = "recorded", [READAHEAD_MODEL] = "model",
	[READAHEAD_RANDOM] = "random", [READAHEAD_OFF] = "off", NULL
};

static const char *const ra_rules[] = {
	[RA_RULES_3_2] = "3.2", [RA_RULES_6_1] = "6.1", [RA_RULES_6_12] = "6.12",
	[RA_RULES_6_18] = "6.18", NULL
};

static const char *const orders[] = {
	"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", [MAX_ORDER_RECORDED] = "recorded", NULL
};

static const struct param params_3_2[] = {
	BATCH_PARAM("14"), CLUSTER_PARAM, RESERVE_PARAM, CACHE_PARAMS("3.2"), FLUSHER_PARAMS,
	SWAP_PARAMS, DIRTY_LIMIT_PARAMS, MAPPED_PARAMS("on"), ZONES_PARAMS, { 0 } };
static const struct param params_6_18[] = {
	LINUX_PARAMS("31", "2s", "6.18"), SWAP_PARAMS, KSWAPD_PARAMS("1us"),
	DIRTY_LIMIT_PARAMS, MAPPED_PARAMS("off"), { 0 } };
static const struct param params_6_12[] = {
	LINUX_PARAMS("31", "2s", "6.12"), SWAP_PARAMS, KSWAPD_PARAMS("1us"),
	DIRTY_LIMIT_PARAMS, MAPPED_PARAMS("off"), { 0 } };
static const struct param params_6_1[] = {
	LINUX_PARAMS("15", "0", "6.1"), SWAP_PARAMS, KSWAPD_PARAMS("1us"),
	DIRTY_LIMIT_PARAMS, MAPPED_PARAMS("on"), { 0 } };
static const struct param params_mglru[] = {
	LINUX_PARAMS("31", "2s", "6.12"), SWAP_PARAMS, MGLRU_PARAMS("on", "on", "on"),
	KSWAPD_PARAMS("0"), DIRTY_LIMIT_PARAMS, MAPPED_PARAMS("off"), { 0 } };
static const struct param params_mglru_6_1[] = {
	LINUX_PARAMS("15", "2s", "6.1"), SWAP_PARAMS, MGLRU_PARAMS("on", "on", "off"),
	KSWAPD_PARAMS("0"), DIRTY_LIMIT_PARAMS, MAPPED_PARAMS("on"), { 0 } };

/* ---- create and destroy ---------------------------------------------------------------------- */

static void linux_destroy(struct kernel_model *m)
{
	if (!m)
		return;
	writeback_release(m);
	workingset_release(m);
	readahead_release(m);
	zones_release(m);
	lists_release(m);
	free(m->pages);
	free(m->extents);
	free(m->extent_file);
	free(m->extent_hint);
	free(m->files);
	free(m);
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* The distinct file ids of @extents, ascending, as file states. */
static int init_files(struct kernel_model *m, const struct kernel_config *config)
{
	size_t nr = config->nr_extents ? config->nr_extents : 1;
	uint32_t *ids = calloc(nr, sizeof(*ids));

	m->files = calloc(nr, sizeof(*m->files));
	if (!ids || !m->files) {
		free(ids);
		return -ENOMEM;
	}
	for (size_t i = 0; i < config->nr_extents; i++)
		ids[i] = config->extents[i].file_id;
	qsort(ids, nr, sizeof(*ids), compare_u32);
	for (size_t i = 0; i < nr; i++)
		if (!i || ids[i] != ids[i - 1])
			m->files[m->nr_files++] = (struct file_state){
				.file_id = ids[i], .last_page = NO_PAGE };
	free(ids);
	return 0;
}

static int compare_file(const void *key, const void *file)
{
	return compare_u32(key, &((const struct file_state *)file)->file_id);
}

/* What a file's reads do, by the parameter and by how the record shows it was read. */
static enum readahead_mode file_readahead(const struct kernel_model *m, enum file_reading reading)
{
	if (m->p.readahead != READAHEAD_AUTO)
		return (enum readahead_mode)m->p.readahead;
	switch (reading) {
	case READING_AHEAD:
		return READAHEAD_MODEL;
	case READING_EXACT:
		return READAHEAD_RANDOM;
	case READING_UNKNOWN:
	case READING_NEVER:
	case READING_MAPPED_RANDOM:
		break;
	}
	return READAHEAD_RECORDED;
}

/* Ids between two extents go to the first: every id then is in exactly one. */
static int close_gaps(struct replay_extent *extents, size_t nr, uint32_t nr_ids)
{
	if (extents[0].first_id)
		return -EBADMSG;
	for (size_t i = 0; i < nr; i++) {
		uint32_t next = i + 1 < nr ? extents[i + 1].first_id : nr_ids;

		if (next < extents[i].first_id || next > nr_ids ||
		    extents[i].first_index > UINT64_MAX - UINT32_MAX)
			return -EBADMSG;
		extents[i].pages = next - extents[i].first_id;
	}
	return 0;
}

static int init_extents(struct kernel_model *m, const struct kernel_config *config)
{
	static const struct replay_extent whole = { .pages = UINT32_MAX,
						    .file_pages = UINT64_MAX };
	const struct replay_extent *from = config->nr_extents ? config->extents : &whole;
	size_t nr_hints = ((size_t)m->nr_ids >> EXTENT_HINT_BITS) + 1, hint = 0;

	m->nr_extents = config->nr_extents ? config->nr_extents : 1;
	m->extents = calloc(m->nr_extents, sizeof(*m->extents));
	m->extent_file = calloc(m->nr_extents, sizeof(*m->extent_file));
	m->extent_hint = calloc(nr_hints, sizeof(*m->extent_hint));
	if (!m->extents || !m->extent_file || !m->extent_hint || init_files(m, config))
		return -ENOMEM;
	memcpy(m->extents, from, sizeof(*from) * m->nr_extents);
	if (close_gaps(m->extents, m->nr_extents, m->nr_ids))
		return -EBADMSG;
	for (size_t i = 0; i < m->nr_extents; i++) {
		const struct file_state *file = bsearch(&from[i].file_id, m->files, m->nr_files,
							sizeof(*m->files), compare_file);

		m->extent_file[i] = (uint32_t)(file - m->files);
		m->files[m->extent_file[i]].readahead = file_readahead(m, from[i].reading);
		m->files[m->extent_file[i]].no_recency = !m->p.random_recency &&
			from[i].reading == READING_MAPPED_RANDOM;
		for (; hint < nr_hints && hint << EXTENT_HINT_BITS < from[i].first_id; hint++)
			m->extent_hint[hint] = i ? (uint32_t)i - 1 : 0;
	}
	for (; hint < nr_hints; hint++)
		m->extent_hint[hint] = (uint32_t)m->nr_extents - 1;
	m->metadata_bytes += m->nr_extents * (sizeof(*m->extents) + sizeof(*m->extent_file) +
					      sizeof(*m->files)) + nr_hints * 4;
	return 0;
}

static int init_pages(struct kernel_model *m)
{
	m->pages = model_alloc(((uint64_t)m->nr_ids + 1) * sizeof(*m->pages));
	m->metadata_bytes += sizeof(*m) + (uint64_t)m->nr_ids * sizeof(*m->pages);
	return m->pages ? lists_init(m) : -ENOMEM;
}

static void init_memcg(struct kernel_model *m, const struct kernel_config *config)
{
	const struct replay_context *c = config->context;
	uint64_t other = m->p.reserve_bytes / PAGE_BYTES, recorded = UINT64_MAX;

	if (c)
		recorded = m->p.kswapd ? machine_usage(m, c) : c->other_charge_pages;
	if (m->p.reserve_recorded && recorded != UINT64_MAX)
		other += recorded;
	dirty_limit_init(m, c);
	m->memcg.limit_pages = config->capacity_pages;
	m->memcg.other_pages = other;
	m->memcg.usage_pages = other;
}

static uint32_t first_known(uint64_t given_bytes, uint32_t recorded_pages, uint32_t else_bytes)
{
	if (given_bytes)
		return (uint32_t)(given_bytes / PAGE_BYTES);
	return recorded_pages ? recorded_pages : else_bytes / PAGE_BYTES;
}

static void init_readahead(struct kernel_model *m, const struct kernel_config *config)
{
	const struct replay_context *c = config->context;
	uint32_t max_folio = c && c->max_folio_pages ? c->max_folio_pages : 1;

	m->ra_pages = first_known(m->p.ra_bytes, c ? c->read_ahead_pages : 0, 128 * 1024);
	m->io_pages = first_known(m->p.io_bytes, c ? c->max_io_pages : 0, 1280 * 1024);
	m->max_order = (uint32_t)m->p.max_order;
	if (m->p.max_order == MAX_ORDER_RECORDED)
		for (m->max_order = 0; 2U << m->max_order <= max_folio;)
			m->max_order++;
	m->large = m->max_order != 0;
	if (c && !m->p.stats_phase_ns) {
		m->stats_flush_ns = c->stats_flush_ns;
		m->nr_stats_flushes = c->nr_stats_flushes;
	}
	if (c && m->p.waits)
		m->waits = c->waits;
	if (!m->p.stats_phase_ns)
		m->p.stats_phase_ns = m->p.stats_period_ns / 2;
}

enum policy { POLICY_CLASSIC, POLICY_MGLRU, POLICY_ZONES };

/* The parameters that were given; those that are not in the table of the policy are not set. */
static void init_params(struct kernel_model *m, const struct linux_params *params,
			enum policy policy)
{
	m->p = *params;
	m->p.zoned = policy == POLICY_ZONES;
	if (policy != POLICY_ZONES)
		return;
	m->p.stats_period_ns = m->p.stats_phase_ns = 0;
	m->p.max_order = 0;
	m->p.kswapd = true;
	m->p.reserve_recorded = false;
}

static struct kernel_model *create_model(const struct kernel_config *config, enum policy policy,
					 int *code, struct err *err)
{
	struct kernel_model *m = calloc(1, sizeof(*m));
	int ret = -ENOMEM;

	if (m) {
		init_params(m, config->params, policy);
		m->nr_ids = config->nr_ids;
		if (policy == POLICY_MGLRU)
			lru_gen_init(m);
		init_readahead(m, config);
		ret = init_pages(m) ?: init_extents(m, config) ?: workingset_init(m);
		if (!ret && m->p.zoned)
			ret = zones_init(m, config->capacity_pages);
	}
	if (ret) {
		linux_destroy(m);
		*code = err_set(err, ret, ret == -ENOMEM ? "no memory to replay %u pages" :
				"the extents of %u pages overlap or are out of order",
				config->nr_ids);
		return NULL;
	}
	init_memcg(m, config);
	if (m->memcg.other_pages + m->p.cluster_pages >= m->memcg.limit_pages) {
		*code = err_set(err, -EINVAL, "%u pages are too few: %llu are charged to other "
				"things (give a larger size, or reserve_recorded=off)",
				config->capacity_pages,
				(unsigned long long)m->memcg.other_pages);
		linux_destroy(m);
		return NULL;
	}
	return m;
}

static struct kernel_model *linux_create(const struct kernel_config *config, int *code,
					 struct err *err)
{
	return create_model(config, POLICY_CLASSIC, code, err);
}

static struct kernel_model *zones_create(const struct kernel_config *config, int *code,
					 struct err *err)
{
	return create_model(config, POLICY_ZONES, code, err);
}

static struct kernel_model *mglru_create(const struct kernel_config *config, int *code,
					 struct err *err)
{
	return create_model(config, POLICY_MGLRU, code, err);
}

/* ---- fills and lookups ----------------------------------------------------------------------- */

struct replay_extent *find_extent(struct kernel_model *m, uint32_t page)
{
	size_t i = m->extent_hint[page >> EXTENT_HINT_BITS];

	while (i + 1 < m->nr_extents && m->extents[i + 1].first_id <= page)
		i++;
	m->extent = i;
	return &m->extents[i];
}

bool fill_folio(struct kernel_model *m, uint32_t page, uint32_t order, unsigned int how)
{
	uint32_t nr = 1U << order, shadow;
	uint16_t flags = 0, own = PG_RESIDENT | PG_SEEN | (how & FILL_DEMANDED ? PG_DEMANDED : 0) |
			      (how & FILL_ANON ? PG_ANON | PG_MAPPED | PG_YOUNG : 0);

	if (!memcg_charge(m, nr, how & FILL_NORETRY ? CHARGE_NORETRY : CHARGE))
		return false;
	/* The shadow of a large folio is that of its last page. */
	shadow = workingset_page_in(m, page, nr);
	if (shadow != NO_PAGE && !(how & FILL_WRITE))
		flags = workingset_refault(m, shadow, nr);
	for (uint32_t i = 0; i < nr; i++) {
		m->n.c.fills_compulsory += !(m->pages[page + i].flags & PG_SEEN);
		m->pages[page + i].flags = own | (i ? PG_TAIL : flags);
		m->pages[page + i].order = (uint8_t)order;
	}
	if (m->gen)
		lru_gen_new_folio(m, page, nr);
	if (m->gen && how & (FILL_FAULT | FILL_ANON))
		m->pages[page].flags |= PG_ACTIVE;
	if (m->zones)
		zones_place(m, page);
	m->n.c.fills += nr;
	m->n.c.fills_undemanded += how & FILL_DEMANDED ? 0 : nr;
	m->n.c.resident_pages += nr;
	lru_cache_add(m, page);
	return true;
}

/* Counts hits and misses of a request as it arrives. */
static void lookup_pages(struct kernel_model *m, uint32_t page, uint32_t run, uint8_t *hit)
{
	uint32_t hits = 0;

	for (uint32_t i = 0; i < run; i++) {
		bool resident = m->pages[page + i].flags & PG_RESIDENT;

		if (hit)
			hit[i] = resident;
		hits += resident;
	}
	m->n.c.hits += hits;
	m->n.c.misses += run - hits;
}

/* One page at a time, without readahead of the model's own. */
static void read_pages(struct kernel_model *m, struct file_state *file, uint32_t page, uint32_t run,
		       uint32_t task)
{
	bool again = file->last_page == page && file->last_task == task;

	for (uint32_t i = 0; i < run; i++, page++) {
		if (!(m->pages[page].flags & PG_RESIDENT))
			fill_folio(m, page, 0, FILL_DEMANDED);
		else
			demand_page(m, page);
		if (i || !again)
			mark_accessed(m, page);
	}
	file->last_page = page - 1;
	file->last_task = task;
}

/* The folio for a write of @left pages at @page: as large as fits, aligned, and not there yet. */
static uint32_t write_order(struct kernel_model *m, uint32_t page, uint32_t left)
{
	const struct replay_extent *e = page_extent(m, page);
	uint64_t index = e->first_index + (page - e->first_id);
	uint32_t order = 0;

	if (!m->large)
		return 0;
	while (order < m->max_order && 2U << order <= left && !(index & ((2ULL << order) - 1)))
		order++;
	for (uint32_t i = 1; i < 1U << order; i++)
		while (i < 1U << order && m->pages[page + i].flags & PG_RESIDENT)
			order--;
	return order;
}

static int write_pages(struct kernel_model *m, uint32_t page, uint32_t run, bool whole)
{
	uint32_t end = page + run;

	while (page < end) {
		uint32_t head, next;

		if (!(m->pages[page].flags & PG_RESIDENT)) {
			uint32_t order = write_order(m, page, end - page);

			fill_folio(m, page, order, FILL_WRITE);
			m->n.c.fills_whole_write += whole ? 1U << order : 0;
		}
		head = folio_head(m, page);
		next = head + folio_pages(m, head);
		for (; page < next && page < end; page++)
			demand_page(m, page);
		if (m->zones)
			mark_accessed(m, head);
		if (writeback_page_dirtied(m, head))
			return -ENOMEM;
	}
	return 0;
}

/*
 * A touch through a page table: the accessed bit is found by reclaim, nothing is marked now - and
 * not even found where the mapping has MADV_RANDOM or MADV_SEQUENTIAL (vma_has_recency()).
 */
static void fault_pages(struct kernel_model *m, uint32_t page, uint32_t run)
{
	uint16_t mapped = PG_MAPPED | (page_file(m, page)->no_recency ? 0 : PG_YOUNG);

	m->lru_gen.mapped = true;
	for (uint32_t end = page + run; page < end; page++) {
		if (!(m->pages[page].flags & PG_RESIDENT))
			fill_folio(m, page, 0, mapped & PG_YOUNG ? FILL_FAULT : 0);
		demand_page(m, page);
		m->pages[folio_head(m, page)].flags |= mapped;
	}
}

/*
 * Fault-around maps what is there and not mapped yet; on x86 its page table entries start out
 * accessed.
 */
static void map_pages(struct kernel_model *m, uint32_t page, uint32_t run)
{
	uint16_t mapped = PG_MAPPED | (page_file(m, page)->no_recency ? 0 : PG_YOUNG);

	m->lru_gen.mapped = true;
	for (uint32_t i = 0; i < run; i++, page++) {
		uint32_t head;

		if (!(m->pages[page].flags & PG_RESIDENT))
			continue;
		head = folio_head(m, page);
		if (!(m->pages[head].flags & PG_MAPPED))
			m->pages[head].flags |= mapped;
	}
}

static void readahead_pages(struct kernel_model *m, uint32_t page, uint32_t run)
{
	if (page_file(m, page)->readahead != READAHEAD_RECORDED)
		return;
	for (uint32_t i = 0; i < run; i++, page++)
		if (!(m->pages[page].flags & PG_RESIDENT))
			fill_folio(m, page, 0, 0);
}

/* The folio at @page leaves by truncation. */
static void remove_folio(struct kernel_model *m, uint32_t page)
{
	uint32_t nr = folio_pages(m, page);

	lru_forget(m, page);
	writeback_page_gone(m, page);
	workingset_page_out(m, page, nr, false);
	m->n.c.resident_pages -= nr;
	if (m->zones)
		zones_free(m, page);
	else
		memcg_uncharge(m, nr);
	for (uint32_t i = 0; i < nr; i++)
		m->pages[page + i].flags = PG_SEEN;
}

static void truncate_pages(struct kernel_model *m, uint32_t page, uint32_t run)
{
	for (uint32_t end = page + run; page < end; page++) {
		uint32_t head, nr;

		if (!(m->pages[page].flags & PG_RESIDENT)) {
			workingset_forget(m, page);
			m->pages[page].flags &= PG_SEEN;
			continue;
		}
		head = folio_head(m, page);
		nr = folio_pages(m, head);
		if (nr > 1 && (head < page || head + nr > end))
			folio_split(m, head);
		nr = folio_pages(m, page);
		remove_folio(m, page);
		page += nr - 1;
	}
}

/* ---- the loop over records ------------------------------------------------------------------- */

/* The next flush of the statistics: as recorded, then every period. */
static void next_flush(struct kernel_model *m, uint64_t else_ns)
{
	m->next_stats_ns = else_ns;
	for (; m->nr_stats_flushes; m->nr_stats_flushes--, m->stats_flush_ns++) {
		if (*m->stats_flush_ns <= m->now_ns)
			continue;
		m->next_stats_ns = *m->stats_flush_ns;
		break;
	}
}

static void start_clock(struct kernel_model *m, uint64_t now_ns)
{
	m->started = true;
	m->now_ns = m->recorded_ns = now_ns;
	next_flush(m, now_ns + m->p.stats_phase_ns);
	if (!m->p.stats_period_ns)
		m->next_stats_ns = UINT64_MAX;
	m->next_wakeup_ns = m->next_periodic_ns = now_ns + m->p.dirty_wakeup_ns;
}

static void run_timers(struct kernel_model *m)
{
	if (m->now_ns >= m->next_stats_ns) {
		uint64_t next_ns = m->next_stats_ns;

		memcg_flush_stats(m);
		while (next_ns <= m->now_ns)
			next_ns += m->p.stats_period_ns;
		next_flush(m, next_ns);
	}
	if (m->now_ns >= m->next_wakeup_ns)
		writeback_timer(m);
}

/*
 * The time that a record took, which the record has at its end: with the wait for the disk that the
 * recorded one had or not, and this one (@missed) has or not.
 */
static void advance_clock(struct kernel_model *m, uint64_t ts_ns, bool missed)
{
	uint64_t gap_ns = ts_ns > m->recorded_ns ? ts_ns - m->recorded_ns : 0;
	bool waited = gap_ns >= m->waits.threshold_ns;

	m->recorded_ns = ts_ns;
	m->now_ns += gap_ns;
	if (waited && !missed)
		m->now_ns -= gap_ns < m->waits.wait_ns ? gap_ns : m->waits.wait_ns;
	else if (missed && !waited)
		m->now_ns += m->waits.wait_ns;
}

enum { RECORDS_AHEAD = 8 };

struct record {
	uint32_t page, run, task;
	enum demand_op op;
};

static int read_any(struct kernel_model *m, const struct record *r)
{
	struct file_state *file = page_file(m, r->page);

	if (file->readahead == READAHEAD_MODEL || file->readahead == READAHEAD_RANDOM)
		return readahead_read(m, file, r->page, r->run, r->task);
	read_pages(m, file, r->page, r->run, r->task);
	return 0;
}

static int do_record(struct kernel_model *m, const struct record *r, uint8_t *hit)
{
	switch (r->op) {
	case DEMAND_READ:
		lookup_pages(m, r->page, r->run, hit);
		return read_any(m, r);
	case DEMAND_WRITE:
	case DEMAND_WRITE_WHOLE:
		lookup_pages(m, r->page, r->run, hit);
		return write_pages(m, r->page, r->run, r->op == DEMAND_WRITE_WHOLE);
	case DEMAND_FAULT:
		lookup_pages(m, r->page, r->run, hit);
		fault_pages(m, r->page, r->run);
		return 0;
	case DEMAND_MAP:
		map_pages(m, r->page, r->run);
		return 0;
	case DEMAND_TRUNCATE:
		truncate_pages(m, r->page, r->run);
		return 0;
	case DEMAND_READAHEAD:
		readahead_pages(m, r->page, r->run);
		return 0;
	case DEMAND_FSYNC:
		for (uint32_t i = 0; i < r->run; i++)
			if (m->pages[r->page + i].flags & PG_RESIDENT)
				writeback_sync(m, folio_head(m, r->page + i));
		return 0;
	case DEMAND_CHARGE:
		memcg_charge_other(m, r->run);
		return 0;
	case DEMAND_UNCHARGE:
		memcg_charge_other(m, -(int64_t)r->run);
		return 0;
	case DEMAND_ANON:
		if (!m->p.swap)
			return 0;
		lookup_pages(m, r->page, r->run, hit);
		anon_touch(m, r->page, r->run);
		return 0;
	case DEMAND_LIMIT:
	case DEMAND_EXIT:
	case NR_DEMAND_OPS:
		break;
	}
	return 0;
}

/* Pages of @r are ids; CHARGE, UNCHARGE and LIMIT count pages and have none. */
static bool record_has_pages(enum demand_op op)
{
	return op <= DEMAND_FSYNC || op == DEMAND_ANON;
}

/*
 * Asks for the state of the pages of the records ahead: most have not been touched for long. Their
 * nodes are asked for later, when it is known which.
 */
PREFETCHING void prefetch_record(const struct kernel_model *m, const struct demand_block *block,
				size_t i)
{
	size_t last = block->nr - 1;
	size_t ahead = i + RECORDS_AHEAD < last ? i + RECORDS_AHEAD : last;
	uint32_t page = block->page[ahead];

	page = page < m->nr_ids ? page : 0;
	__builtin_prefetch(&m->nodes[m->node_hint[page >> XA_CHUNK_BITS]], 1);
	ahead = i + 2 * RECORDS_AHEAD < last ? i + 2 * RECORDS_AHEAD : last;
	page = block->page[ahead];
	page = page < m->nr_ids ? page : 0;
	__builtin_prefetch(&m->pages[page], 1);
	__builtin_prefetch(&m->node_hint[page >> XA_CHUNK_BITS]);
}

static int linux_feed(struct kernel_model *m, const struct demand_block *block, uint8_t *hit,
		      struct err *err)
{
	for (size_t i = 0; i < block->nr; i++) {
		struct record r = {
			.page = block->page[i],
			.run = block->run ? block->run[i] : 1,
			.op = block->op ? (enum demand_op)block->op[i] : DEMAND_READ,
			.task = block->task ? block->task[i] : 0,
		};
		bool access = demand_op_is_access(r.op);
		uint64_t misses = m->n.c.misses;

		prefetch_record(m, block, i);
		if (record_has_pages(r.op) && (uint64_t)r.page + r.run > m->nr_ids)
			return err_set(err, -EBADMSG, "demand record wants page %u of %u",
				       r.page + r.run - 1, m->nr_ids);
		if (!m->started)
			start_clock(m, block->ts_ns ? block->ts_ns[i] : 0);
		if (!block->ts_ns)
			m->now_ns += m->p.access_ns * r.run;
		else if (!m->waits.threshold_ns)
			m->now_ns = block->ts_ns[i];
		if (m->now_ns >= m->next_stats_ns || m->now_ns >= m->next_wakeup_ns)
			run_timers(m);
		if (do_record(m, &r, hit))
			return err_set(err, -ENOMEM, "no memory for the list of dirty pages");
		if (m->waits.threshold_ns && block->ts_ns)
			advance_clock(m, block->ts_ns[i], m->n.c.misses != misses);
		m->n.c.accesses += access ? r.run : 0;
		if (hit && access)
			hit += r.run;
	}
	return 0;
}

/* ---- results --------------------------------------------------------------------------------- */

static void linux_counters(const struct kernel_model *m, struct replay_counters *out)
{
	*out = m->n.c;
	if (!m->p.swap)
		out->swapped_out = out->swapped_in = MODEL_COUNTER_NONE;
	if (m->zones)
		out->refaults = MODEL_COUNTER_NONE;	/* nothing remembers an eviction */
	out->metadata_bytes = m->metadata_bytes + lists_bytes(m);
}

static int linux_costs(const struct kernel_model *m, struct replay_cost *out, int max)
{
	const struct replay_counters *c = &m->n.c;
	const struct replay_cost all[] = {
		{ "lookup", "lookup.page", c->accesses },
		{ "fill", "fill.page", c->fills },
		{ "fill", "refault.page", c->refaults },
		{ "lookup", "promote.page", m->n.promoted },
		{ "scan", "scan.page", c->scanned },
		{ "scan", "scan.batch", m->n.scan_calls },
		{ "scan", "refill.page", m->n.refills },
		{ "scan", "activate.page", c->activated - m->n.promoted },
		{ "scan", "rotate.page", c->rotated },
		{ "reclaim", "reclaim.page", c->reclaimed },
		{ "reclaim", "reclaim.folio", m->n.folios_reclaimed },
		{ "reclaim", "reclaim.node", m->n.node_switches },
		{ "reclaim", "reclaim.call", m->n.reclaim_calls },
		{ "slab", "shrink.object", m->n.shadows_dropped },
		{ "writeback", "write.page", c->written },
		{ "stats_flush", "stats_flush.call", m->n.stat_flushes },
	};

	int nr = (int)ARRAY_SIZE(all);

	for (int i = 0; i < nr && i < max; i++)
		out[i] = all[i];
	if (!m->p.kswapd || !m->p.nr_superblocks)
		return nr;
	if (nr < max)
		out[nr] = (struct replay_cost){ "slab", "shrink.superblock",
						m->n.superblocks_polled };
	return nr + 1;
}

#define LINUX(NAME, SYMBOL, CREATE, TITLE, VERSION)						\
const struct kernel_ops linux_##SYMBOL##_ops = {						\
	.name = "linux-" NAME,									\
	.title = TITLE,										\
	.source = "Linux " VERSION " mm/vmscan.c, workingset.c, swap.c, memcontrol.c, "		\
		  "filemap.c, readahead.c",							\
	.params = params_##SYMBOL,								\
	.params_bytes = sizeof(struct linux_params),						\
	.create = CREATE,									\
	.feed = linux_feed,									\
	.counters = linux_counters,								\
	.costs = linux_costs,									\
	.destroy = linux_destroy,								\
}

const struct kernel_ops linux_3_2_ops = {
	.name = "linux-3.2",
	.title = "lists, watermarks and slab passes by zone: the size is the machine's memory",
	.source = "Linux 3.2 mm/vmscan.c, page_alloc.c, swap.c, filemap.c, readahead.c",
	.params = params_3_2,
	.params_bytes = sizeof(struct linux_params),
	.create = zones_create,
	.feed = linux_feed,
	.counters = linux_counters,
	.costs = linux_costs,
	.destroy = linux_destroy,
};

#define CLASSIC "active and inactive lists with refault distance, memcg limit"

LINUX("6.18", 6_18, linux_create, CLASSIC, "6.18");
LINUX("6.12", 6_12, linux_create, CLASSIC, "6.12");
LINUX("6.1", 6_1, linux_create, CLASSIC, "6.1");
LINUX("mglru", mglru, mglru_create,
      "multi-gen LRU as in 6.12: generations, tiers, memcg limit or kswapd (6.14 and later differ)",
      "6.12");
LINUX("mglru-6.1", mglru_6_1, mglru_create,
      "multi-gen LRU as in 6.1 with its stable updates", "6.1");
