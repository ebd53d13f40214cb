// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * curve.c - miss ratio by memory.
 *
 * Exact, lru: the stack distance of every access (distance.h), counted by the smallest size that
 * hits; a table by the leading bits of the distance says where among the sizes to start looking.
 *
 * Sampled: of the pages a share R (sample.h), sizes shrunk by R. For lru the distances of the
 * sample are scaled up by 1/R; any other model runs at R times each size (Waldspurger, Saemundsson,
 * Ahmad, Park, Cache modeling and optimization using miniature simulations, USENIX ATC 2017).
 *
 * The estimate is misses of the sample / (R x accesses of the stream). Dividing by the expected,
 * not the actual number of sampled accesses is the correction of SHARDS-adj: whether a hot page is
 * in the sample changes the accesses much, the misses little.
 *
 * The error has three parts, added as variances. Which pages are in the sample: the pages are split
 * by another hash into 32 groups, each a sample by itself, and the spread of their misses gives the
 * variance of the sum (times 1 - R, for a sample without replacement). How many of the pages
 * between two uses are in it: a distance of C pages is known to sqrt(C (1 - R) / R) pages, which
 * moves the curve sideways by as much; how far it rises or falls within that is an error of the
 * miss ratio. And rounding: sizes of the sample are whole pages. The band that is promised is three
 * standard errors wide on each side: it must hold at all sizes together.
 *
 * Fixed size (SHARDS-max): the threshold falls whenever the sample would outgrow max_pages: the
 * page with the largest hash leaves, and what was counted so far is scaled to the new rate: each
 * access counts for as many as it stood for when it was counted.
 */
#include <errno.h>
#include <math.h>

#include "replay/distance.h"
#include "replay/sample.h"

enum { CHUNK = 4096 };

/* Misses by size and group, as estimated for the sample. */
struct tally {
	const uint32_t *sizes;
	size_t nr_sizes;
	double (*hits)[SAMPLE_GROUPS];	/* [k]: hits at size k and not at k - 1; [nr_sizes]: none */
	double accesses[SAMPLE_GROUPS];
	uint32_t first[33 * 16];	/* by class_of() a distance: the first size to look at */
};

/* Distances with the same length in bits and the same four bits after the first. */
static inline uint32_t class_of(uint32_t distance)
{
	uint32_t bits;

	if (distance < 16)
		return distance;
	bits = 32 - (uint32_t)__builtin_clz(distance);
	return bits * 16 + (distance >> (bits - 5) & 15);
}

static int tally_init(struct tally *t, const uint32_t *sizes, size_t nr_sizes)
{
	uint32_t k = 0;

	memset(t, 0, sizeof(*t));
	t->sizes = sizes;
	t->nr_sizes = nr_sizes;
	t->hits = calloc(nr_sizes + 1, sizeof(*t->hits));
	for (uint32_t bits = 0; bits <= 32; bits++) {
		for (uint32_t i = 0; i < 16; i++) {
			uint64_t least = bits < 5 ? i : (16ULL + i) << (bits - 5);

			if (bits && bits < 5)
				continue;	/* below 16 a class is a distance */
			while (k < nr_sizes && sizes[k] <= least)
				k++;
			t->first[bits * 16 + i] = k;
		}
	}
	return t->hits ? 0 : -ENOMEM;
}

/* The smallest size above @distance, nr_sizes if none is. */
static inline size_t size_above(const struct tally *t, uint32_t distance)
{
	size_t k = t->first[class_of(distance)];

	while (k < t->nr_sizes && t->sizes[k] <= distance)
		k++;
	return k;
}

static inline void tally_add(struct tally *t, uint32_t distance, uint32_t group)
{
	t->hits[distance == DISTANCE_NONE ? t->nr_sizes : size_above(t, distance)][group]++;
	t->accesses[group]++;
}

/* A distance in a sample, counted for as many, @weight, as it stands for. */
static inline void tally_add_sampled(struct tally *t, uint32_t distance, double weight,
				     uint32_t group)
{
	double scaled = distance * weight;
	uint32_t whole = distance == DISTANCE_NONE || scaled >= DISTANCE_NONE ? DISTANCE_NONE :
			 (uint32_t)scaled;

	t->hits[whole == DISTANCE_NONE ? t->nr_sizes : size_above(t, whole)][group] += weight;
	t->accesses[group] += weight;
}

static void tally_scale(struct tally *t, double by)
{
	for (uint32_t g = 0; g < SAMPLE_GROUPS; g++) {
		t->accesses[g] *= by;
		for (size_t k = 0; k <= t->nr_sizes; k++)
			t->hits[k][g] *= by;
	}
}

/* ---- from misses to points ------------------------------------------------------------------- */

/* Misses of the sample and the variance of their sum over groups. */
static double misses_sum(const double *misses, double *variance)
{
	double sum = 0, squares = 0, mean;

	for (uint32_t g = 0; g < SAMPLE_GROUPS; g++)
		sum += misses[g];
	mean = sum / SAMPLE_GROUPS;
	for (uint32_t g = 0; g < SAMPLE_GROUPS; g++)
		squares += (misses[g] - mean) * (misses[g] - mean);
	*variance = squares * SAMPLE_GROUPS / (SAMPLE_GROUPS - 1);
	return sum;
}

/* The curve between its points; 1 at no memory, its last point's beyond that. */
static double curve_at(const struct curve_point *p, size_t nr, double pages)
{
	double x0 = 0, y0 = 1;

	for (size_t k = 0; k < nr; k++) {
		double x1 = p[k].memory_pages, y1 = p[k].miss_ratio;

		if (pages <= x1)
			return y0 + (y1 - y0) * (pages - x0) / (x1 - x0);
		x0 = x1;
		y0 = y1;
	}
	return y0;
}

/* How far the curve goes up or down within @sideways pages of point @k. */
static double reach_at(const struct curve_point *p, size_t nr, size_t k, double sideways)
{
	double left = p[k].memory_pages - sideways, reach, most = 0;

	reach = fabs(curve_at(p, nr, left < 0 ? 0 : left) - p[k].miss_ratio);
	most = reach > most ? reach : most;
	reach = fabs(curve_at(p, nr, p[k].memory_pages + sideways) - p[k].miss_ratio);
	return reach > most ? reach : most;
}

/* Adds what is unknown about sizes: distances of the sample, and whole pages. */
static void add_size_error(struct curve_point *points, size_t nr, double rate, bool whole_pages)
{
	for (size_t k = 0; k < nr; k++) {
		double squared = points[k].memory_pages * (1 - rate) / rate, sideways, moved, far;

		squared += whole_pages ? 1 / (rate * rate) / 4 : 1 / (rate * rate) / 12;
		sideways = sqrt(squared);
		moved = reach_at(points, nr, k, sideways);
		far = reach_at(points, nr, k, CURVE_BAND * sideways) / CURVE_BAND;
		moved = far > moved ? far : moved;
		points[k].stderr_ratio = sqrt(points[k].stderr_ratio * points[k].stderr_ratio +
					      moved * moved);
	}
}

static void point_set(struct curve_point *point, uint32_t size, const double *misses, double rate,
		      uint64_t nr_accesses)
{
	double variance, sum = misses_sum(misses, &variance), whole = rate * (double)nr_accesses;
	double ratio = sum / whole;

	*point = (struct curve_point){
		.memory_pages = size,
		.miss_ratio = ratio > 1 ? 1 : ratio,
		.stderr_ratio = sqrt(variance * (1 - rate)) / whole,
	};
}

static void tally_points(const struct tally *t, double rate, uint64_t nr_accesses,
			 struct curve_point *points)
{
	double misses[SAMPLE_GROUPS];

	memcpy(misses, t->accesses, sizeof(misses));
	for (size_t k = 0; k < t->nr_sizes; k++) {
		for (uint32_t g = 0; g < SAMPLE_GROUPS; g++)
			misses[g] -= t->hits[k][g];
		point_set(&points[k], t->sizes[k], misses, rate, nr_accesses);
	}
}

static int ask(const struct curve_opts *opts)
{
	return opts->go_on && !opts->go_on(opts->ctx) ? -ECANCELED : 0;
}

/* ---- lru over all pages ---------------------------------------------------------------------- */

/* Distances of accesses, with the removals between them. */
static int lru_exact(const struct demand_source *source, const struct curve_opts *opts,
		     struct tally *t, struct err *err)
{
	struct part_reader *reader = NULL;
	struct distances d;
	struct part part = { 0 };
	uint32_t chunk[CHUNK];
	struct hole_move move;
	int ret;

	ret = distances_init(&d, source->nr_ids, err);
	if (!ret)
		ret = part_reader_open(source, NULL, 0, &reader, err);
	while (!ret && (ret = part_reader_next(reader, &part, err)) > 0) {
		uint32_t at = 0, mark = 0;

		ret = ask(opts);
		while (at < part.nr || mark < part.nr_marks) {
			uint32_t end = mark < part.nr_marks ? part.marks[mark].at : part.nr, nr;

			for (; at < end && d.nr_holes; at++)
				tally_add(t, distance_access_holes(&d, part.pages[at], &move), 0);
			for (; at < end; at += nr) {
				nr = end - at < CHUNK ? end - at : CHUNK;
				distances_access(&d, part.pages + at, nr, chunk);
				for (uint32_t i = 0; i < nr; i++)
					tally_add(t, chunk[i], 0);
			}
			if (mark == part.nr_marks)
				break;
			for (uint32_t i = 0; part.marks[mark].kind == MARK_REMOVE &&
			     i < part.marks[mark].nr; i++)
				distance_remove(&d, part.marks[mark].page + i);
			mark++;
		}
	}
	part_reader_close(reader);
	part_release(&part);
	distances_release(&d);
	return ret;
}

/* ---- lru over a sample of fixed rate --------------------------------------------------------- */

static int lru_sampled(const struct sampled_stream *s, double rate, struct tally *t,
		       struct err *err)
{
	const double weight = 1 / rate;
	uint32_t chunk[CHUNK];
	struct hole_move move;
	struct distances d;
	size_t removal = 0, nr;
	int ret = distances_init(&d, s->nr_pages + 1, err);

	for (size_t i = 0; !ret && i < s->nr; i += nr) {
		for (; removal < s->nr_removals && s->removals[removal].at <= i; removal++)
			distance_remove(&d, s->removals[removal].page);
		nr = s->nr - i < CHUNK ? s->nr - i : CHUNK;
		if (removal < s->nr_removals && s->removals[removal].at - i < nr)
			nr = s->removals[removal].at - i;
		if (d.nr_holes) {
			nr = 1;
			chunk[0] = distance_access_holes(&d, s->pages[i], &move);
		} else {
			distances_access(&d, s->pages + i, nr, chunk);
		}
		for (size_t k = 0; k < nr; k++)
			tally_add_sampled(t, chunk[k], weight, s->group_of[s->pages[i + k]]);
	}
	tally_scale(t, rate);
	distances_release(&d);
	return ret;
}

/* ---- lru over a sample of fixed size --------------------------------------------------------- */

struct sampled_page {
	uint32_t hash, page;
};

/* The sampled pages, as a heap with the largest hash on top. */
struct max_sample {
	struct sample_filter filter;
	struct sampled_page *heap;
	uint32_t nr, max;
	struct distances distances;
	struct tally *tally;
	uint64_t *known;	/* bit per page: in the heap */
};

static void heap_up(struct sampled_page *heap, uint32_t i)
{
	for (; i && heap[i].hash > heap[(i - 1) / 2].hash; i = (i - 1) / 2) {
		struct sampled_page t = heap[i];

		heap[i] = heap[(i - 1) / 2];
		heap[(i - 1) / 2] = t;
	}
}

static void heap_down(struct sampled_page *heap, uint32_t nr)
{
	for (uint32_t i = 0, child; (child = 2 * i + 1) < nr; i = child) {
		struct sampled_page t = heap[i];

		if (child + 1 < nr && heap[child + 1].hash > heap[child].hash)
			child++;
		if (heap[child].hash <= t.hash)
			return;
		heap[i] = heap[child];
		heap[child] = t;
	}
}

static double filter_rate(const struct sample_filter *filter)
{
	return filter->threshold * 0x1p-32;
}

/* The page with the largest hash leaves the sample (and any others with the same). */
static void lower_threshold(struct max_sample *s)
{
	uint32_t hash = s->heap[0].hash;

	while (s->nr && s->heap[0].hash >= hash) {
		bit_clear(s->known, s->heap[0].page);
		distance_forget(&s->distances, s->heap[0].page);
		s->heap[0] = s->heap[--s->nr];
		heap_down(s->heap, s->nr);
	}
	s->filter.threshold = hash;
}

static void max_sample_access(struct max_sample *s, uint32_t page)
{
	struct hole_move move;
	uint32_t hash = sample_hash(page, s->filter.salt), distance;

	if (hash >= s->filter.threshold)
		return;	/* since the filter looked */
	if (!bit_test(s->known, page)) {
		bit_set(s->known, page);
		s->heap[s->nr] = (struct sampled_page){ hash, page };
		heap_up(s->heap, s->nr++);
		if (s->nr > s->max)
			lower_threshold(s);
		if (hash >= s->filter.threshold)
			return;
	}
	distance = distance_access_holes(&s->distances, page, &move);
	tally_add_sampled(s->tally, distance, 1 / filter_rate(&s->filter),
			  sample_group(page, s->filter.salt));
}

static void max_sample_part(struct max_sample *s, const struct part *part, uint32_t *sampled)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i <= part->nr_marks; i++) {
		uint32_t end = i < part->nr_marks ? part->marks[i].at : part->nr;
		size_t nr = sample_pages(&s->filter, part->pages + at, end - at, sampled);

		for (size_t k = 0; k < nr; k++)
			max_sample_access(s, sampled[k]);
		at = end;
		if (i == part->nr_marks || part->marks[i].kind != MARK_REMOVE)
			continue;
		for (uint32_t k = 0; k < part->marks[i].nr; k++)
			if (bit_test(s->known, part->marks[i].page + k))
				distance_remove(&s->distances, part->marks[i].page + k);
	}
}

static int lru_max_sampled(const struct demand_source *source, const struct curve_opts *opts,
			   struct tally *t, double *rate, struct err *err)
{
	struct max_sample s = {
		.filter = { .salt = (uint32_t)opts->seed, .threshold = opts->rate ?
			    (uint32_t)(opts->rate * 0x1p32) : UINT32_MAX },
		.max = opts->max_pages, .tally = t,
	};
	uint32_t *sampled = malloc(PART_ACCESSES * sizeof(*sampled));
	struct part_reader *reader = NULL;
	struct part part = { 0 };
	int ret = distances_init(&s.distances, source->nr_ids, err);

	s.heap = calloc((size_t)opts->max_pages + 1, sizeof(*s.heap));
	s.known = calloc(source->nr_ids / 64 + 1, sizeof(*s.known));
	if (!ret && (!s.heap || !s.known || !sampled))
		ret = err_set(err, -ENOMEM, "no memory for the sample");
	if (!ret)
		ret = part_reader_open(source, NULL, 0, &reader, err);
	while (!ret && (ret = part_reader_next(reader, &part, err)) > 0) {
		max_sample_part(&s, &part, sampled);
		ret = ask(opts);
	}
	*rate = filter_rate(&s.filter);
	tally_scale(t, *rate);
	part_reader_close(reader);
	part_release(&part);
	distances_release(&s.distances);
	free(s.heap);
	free(s.known);
	free(sampled);
	return ret;
}

/* ---- any model over a sample ----------------------------------------------------------------- */

/* Misses by group of the model at @capacity pages of the sample. */
static int model_sampled(const struct sampled_stream *s, const struct grid_cell *cell,
			 uint32_t capacity, uint64_t seed, double *misses, struct err *err)
{
	const struct model_config config = {
		.capacity_pages = capacity, .nr_ids = s->nr_pages + 1, .nr_accesses = s->nr,
		.seed = seed, .params = cell->params,
	};
	struct model *model;
	size_t removal = 0, nr;
	uint8_t hit[CHUNK];
	int code = 0;

	memset(misses, 0, SAMPLE_GROUPS * sizeof(*misses));
	model = cell->model->create(&config, &code, err);
	if (!model)
		return code;
	for (size_t i = 0; i < s->nr; i += nr) {
		for (; removal < s->nr_removals && s->removals[removal].at <= i; removal++)
			cell->model->remove(model, s->removals[removal].page);
		nr = s->nr - i < CHUNK ? s->nr - i : CHUNK;
		if (removal < s->nr_removals && s->removals[removal].at - i < nr)
			nr = s->removals[removal].at - i;
		cell->model->access(model, &(struct model_batch){ s->pages + i, hit, nr });
		for (size_t k = 0; k < nr; k++)
			misses[s->group_of[s->pages[i + k]]] += !hit[k];
	}
	cell->model->destroy(model);
	return 0;
}

static int scaled(const struct sampled_stream *s, const struct grid_cell *cell,
		  const uint32_t *sizes, size_t nr_sizes, const struct curve_opts *opts,
		  struct curve_point *points, struct err *err)
{
	double misses[SAMPLE_GROUPS];
	int ret = 0;

	for (size_t k = 0; k < nr_sizes && !(ret = ask(opts)); k++) {
		uint32_t capacity = (uint32_t)lround(sizes[k] * opts->rate);

		ret = model_sampled(s, cell, capacity ? capacity : 1, opts->seed, misses, err);
		if (ret)
			break;
		point_set(&points[k], sizes[k], misses, opts->rate, s->nr_accesses);
	}
	return ret;
}

/* ---- the public functions -------------------------------------------------------------------- */

static bool is_lru(const struct grid_cell *cell)
{
	return cell->model && !strcmp(cell->model->name, "lru");
}

const char *curve_method(const struct grid_cell *cell, const struct curve_opts *opts)
{
	if (opts->max_pages && is_lru(cell))
		return "shards-max";
	if (opts->rate != 0)
		return is_lru(cell) ? "shards" : "scaled";
	return "exact";
}

static int run_sampled(const struct demand_source *source, const struct grid_cell *cell,
		       const struct curve_opts *opts, struct tally *t, struct curve_point *points,
		       struct err *err)
{
	const struct sample_filter filter = {
		.salt = (uint32_t)opts->seed, .threshold = (uint32_t)(opts->rate * 0x1p32),
	};
	struct sampled_stream s;
	int ret = sample_stream(source, &filter, opts, &s, err);

	if (ret)
		return ret;
	if (is_lru(cell)) {
		ret = lru_sampled(&s, opts->rate, t, err);
		tally_points(t, opts->rate, source->nr_accesses, points);
	} else {
		ret = scaled(&s, cell, t->sizes, t->nr_sizes, opts, points, err);
	}
	sampled_stream_release(&s);
	if (!ret)
		add_size_error(points, t->nr_sizes, opts->rate, !is_lru(cell));
	return ret;
}

/* One pass for all of t->sizes. */
static int run_any(const struct demand_source *source, const struct grid_cell *cell,
		   const struct curve_opts *opts, struct tally *t, struct curve_point *points,
		   struct err *err)
{
	double rate = 1;
	int ret;

	if (opts->rate != 0 && !(opts->max_pages && is_lru(cell)))
		return run_sampled(source, cell, opts, t, points, err);
	if (opts->max_pages)
		ret = lru_max_sampled(source, opts, t, &rate, err);
	else
		ret = lru_exact(source, opts, t, err);
	tally_points(t, rate, source->nr_accesses, points);
	if (!ret && rate < 1)
		add_size_error(points, t->nr_sizes, rate, false);
	return ret;
}

static int compare_sizes(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * @sizes and, for each, those as far away as the sample may be wrong: a cliff between two sizes
 * must be seen to be counted into the error of either. Ascending, each once; the caller frees.
 */
static uint32_t *sizes_around(const uint32_t *sizes, size_t nr, double rate, size_t *nr_out)
{
	static const double steps[] = { -3, -2, -1, 0, 1, 2, 3 };
	uint32_t *around = calloc(nr * ARRAY_SIZE(steps) + 1, sizeof(*around));
	size_t nr_all = 0, kept = 0;

	for (size_t k = 0; around && k < nr; k++) {
		double sideways = sqrt(sizes[k] * (1 - rate) / rate);

		for (size_t i = 0; i < ARRAY_SIZE(steps) && (rate < 1 || i == 0); i++) {
			double size = round(sizes[k] + (rate < 1 ? steps[i] : 0) * sideways);

			if (size >= 1 && size < UINT32_MAX)
				around[nr_all++] = (uint32_t)size;
		}
	}
	if (around)
		qsort(around, nr_all, sizeof(*around), compare_sizes);
	for (size_t i = 0; i < nr_all; i++)
		if (!kept || around[i] != around[kept - 1])
			around[kept++] = around[i];
	*nr_out = kept;
	return around;
}

/* The share of pages that will be sampled. */
static double expected_rate(const struct demand_source *source, const struct grid_cell *cell,
			    const struct curve_opts *opts)
{
	double rate = opts->rate != 0 ? opts->rate : 1, by_size;

	if (!opts->max_pages || !is_lru(cell) || !source->nr_distinct_pages)
		return rate;
	by_size = (double)opts->max_pages / (double)source->nr_distinct_pages;
	return by_size < rate ? by_size : rate;
}

uint64_t curve_bytes_bound(const struct demand_source *source, const struct grid_cell *cell,
			   const struct curve_opts *opts)
{
	double ids = source->nr_ids, accesses = (double)source->nr_accesses, fixed = 1 << 20;

	if (opts->rate == 0 || (opts->max_pages && is_lru(cell)))
		return (uint64_t)(24 * ids + fixed);
	return (uint64_t)(4 * ids + opts->rate * (8 * accesses + 32 * ids) + fixed);
}

int curve_run(const struct demand_source *source, const struct grid_cell *cell,
	      const uint32_t *sizes, size_t nr_sizes, const struct curve_opts *opts,
	      struct curve_point *points, struct err *err)
{
	struct curve_point *all = NULL;
	uint32_t *around;
	size_t nr_all;
	struct tally t = { 0 };
	int ret = -ENOMEM;

	if (!cell->model || (!is_lru(cell) && opts->rate == 0))
		return err_set(err, -EINVAL,
			       "only lru has a curve in one pass (sample the stream for "
			       "'%s')", cell->model ? cell->model->name : cell->kernel->name);
	around = sizes_around(sizes, nr_sizes, expected_rate(source, cell, opts), &nr_all);
	if (around)
		all = calloc(nr_all + 1, sizeof(*all));
	if (all)
		ret = tally_init(&t, around, nr_all);
	if (ret)
		err_set(err, ret, "no memory for a curve");
	else
		ret = run_any(source, cell, opts, &t, all, err);
	for (size_t k = 0, i = 0; k < nr_sizes && !ret; k++) {
		while (all[i].memory_pages != sizes[k])
			i++;
		points[k] = all[i];
	}
	free(t.hits);
	free(all);
	free(around);
	return ret;
}

/*
 * Knees are corners of the lower convex hull: between corners memory buys misses at one price, at a
 * corner the price rises. Those count at which it rises at least threefold after saving 2 %.
 */
size_t curve_knees(const struct curve_point *p, size_t nr, struct curve_knee *knees, size_t max)
{
	const double factor = 3, least_drop = 0.02;
	size_t *hull = calloc(nr + 1, sizeof(*hull)), nr_hull = 0, nr_knees = 0;
	double last = nr ? p[0].miss_ratio : 0;

	if (!hull)
		return 0;
	for (size_t i = 0; i < nr; i++) {
		while (nr_hull > 1) {
			const struct curve_point *a = &p[hull[nr_hull - 2]];
			const struct curve_point *b = &p[hull[nr_hull - 1]];

			if ((b->miss_ratio - a->miss_ratio) *
			    (p[i].memory_pages - b->memory_pages) <
			    (p[i].miss_ratio - b->miss_ratio) * (b->memory_pages - a->memory_pages))
				break;
			nr_hull--;
		}
		hull[nr_hull++] = i;
	}
	for (size_t i = 1; i + 1 < nr_hull; i++) {
		const struct curve_point *a = &p[hull[i - 1]], *b = &p[hull[i]];
		const struct curve_point *c = &p[hull[i + 1]];
		double before = (a->miss_ratio - b->miss_ratio) /
				(b->memory_pages - a->memory_pages);
		double after = (b->miss_ratio - c->miss_ratio) /
			       (c->memory_pages - b->memory_pages);

		if (before < factor * after || last - b->miss_ratio < least_drop)
			continue;
		if (nr_knees < max)
			knees[nr_knees] = (struct curve_knee){
				b->memory_pages, b->miss_ratio, last - b->miss_ratio };
		nr_knees++;
		last = b->miss_ratio;
	}
	free(hull);
	return nr_knees;
}

size_t curve_sizes(uint32_t least, uint32_t most, uint32_t *sizes, size_t nr)
{
	size_t nr_out = 0;

	for (size_t i = 0; i < nr; i++) {
		double share = nr > 1 ? (double)i / (double)(nr - 1) : 1;
		uint32_t size = (uint32_t)lround(least * pow((double)most / least, share));

		if (!nr_out || size > sizes[nr_out - 1])
			sizes[nr_out++] = size;
	}
	return nr_out;
}
