// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * profile_fit.c - prices of reclaim's operations out of a recording: what was done in each episode,
 * by the events inside it, and how long that took.
 *
 * Recording takes time itself: each event inside an episode made it longer. So the price of an
 * event (trace.vmscan, trace.page of the profile, measured by `pagereel calibrate`) times the
 * events is taken off first. What is left is fitted (replay/fit.c), then all prices are scaled by
 * one factor so that their sum over the episodes is what was measured: the weights of the fit
 * favour the many ordinary episodes, and a what-if is about the sum.
 *
 * Which pages left is seen by the deletes inside: their number is that of folios; node switches are
 * deletes in another 64 pages of a file than the delete before: what is near is found in the cache.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"
#include "cmd/profile.h"
#include "cmd/replay.h"

const char *const reclaim_terms[NR_TERMS] = {
	[TERM_PAGE] = "reclaim.page", [TERM_CALL] = "reclaim.call",
	[TERM_BATCH] = "scan.batch", [TERM_FOLIO] = "reclaim.folio",
	[TERM_NODE] = "reclaim.node", [TERM_SCAN] = "scan.page", [TERM_REFILL] = "refill.page",
	[TERM_ROTATE] = "rotate.page", [TERM_ACTIVATE] = "activate.page",
	[TERM_SHRINK] = "shrink.call", [TERM_OBJECT] = "shrink.object",
	[TERM_WRITE_OUT] = "write_out.page",
};

enum { NODE_PAGE_BITS = 6 };

/* ---- episodes -------------------------------------------------------------------------------- */

static struct episode *episode_add(struct episodes *e)
{
	if (e->nr == e->room) {
		size_t room = e->room ? 2 * e->room : 1024;
		struct episode *more = realloc(e->episode, room * sizeof(*more));

		if (!more)
			return NULL;
		e->episode = more;
		e->room = room;
	}
	memset(&e->episode[e->nr], 0, sizeof(*e->episode));
	return &e->episode[e->nr++];
}

void episodes_release(struct episodes *e)
{
	free(e->episode);
	memset(e, 0, sizeof(*e));
}

static int has_event(struct store *store, int64_t capture_id, const char *event, bool *has,
		     struct err *err)
{
	const struct value values[] = { VALUE_OF_INT(capture_id), VALUE_OF_TEXT(event) };
	int64_t nr = 0;
	bool found;
	int code = store_get_int(store, "SELECT count(*) FROM event_type WHERE capture_id = ?1 AND"
				 " name = ?2 AND stored_as <> 'missing'", values, 2, &nr, &found,
				 err);

	*has = nr > 0;
	return code;
}

/* Columns as analyze/calibrate.sql gives them. */
static int take_row(struct episodes *e, struct query *query)
{
	static const struct { enum reclaim_term term; int column; } from[] = {
		{ TERM_PAGE, 5 }, { TERM_SCAN, 6 }, { TERM_REFILL, 7 }, { TERM_ROTATE, 8 },
		{ TERM_ACTIVATE, 9 }, { TERM_SHRINK, 10 }, { TERM_OBJECT, 11 }, { TERM_BATCH, 14 },
	};
	struct episode *ep = episode_add(e);

	if (!ep)
		return -ENOMEM;
	ep->pid = (uint32_t)query_int(query, 0);
	ep->start_ns = (uint64_t)query_int(query, 1);
	ep->end_ns = (uint64_t)query_int(query, 2);
	e->nr_wall += query_is_null(query, 4);
	ep->spent_ns = query_real(query, query_is_null(query, 4) ? 3 : 4);
	for (size_t i = 0; i < ARRAY_SIZE(from); i++)
		ep->count[from[i].term] = query_real(query, from[i].column);
	ep->count[TERM_CALL] = 1;
	ep->nr_vmscan = query_real(query, 12) + query_real(query, 13);
	return 0;
}

static int read_rows(struct episodes *e, struct store *store, int64_t capture_id,
		     const char *pids, struct err *err)
{
	struct query *query;
	int code = query_open(store, &query, sql_analyze_calibrate, err);

	if (code)
		return code;
	query_bind_name(query, ":capture_id", VALUE_OF_INT(capture_id));
	query_bind_name(query, ":pids", VALUE_OF_TEXT(pids));
	while ((code = query_step(query, err)) == 1) {
		code = take_row(e, query);
		if (code)
			break;
	}
	query_close(query);
	return code;
}

/* A task's episodes, by time, and where page events have come to among them. */
struct lane {
	uint32_t pid;
	size_t at, end;
	uint32_t file_id;
	uint64_t node;
};

static struct lane *lane_of(struct lane *lanes, size_t nr, uint32_t pid)
{
	size_t low = 0, high = nr;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (lanes[mid].pid < pid)
			low = mid + 1;
		else
			high = mid;
	}
	return low < nr && lanes[low].pid == pid ? &lanes[low] : NULL;
}

static void count_event(struct episodes *e, struct lane *lane, const struct page_event *ev)
{
	struct episode *ep;
	uint64_t node = ev->page_index >> NODE_PAGE_BITS;

	while (lane->at < lane->end && e->episode[lane->at].end_ns < ev->ts_ns)
		lane->at++;
	if (lane->at == lane->end || e->episode[lane->at].start_ns > ev->ts_ns)
		return;
	ep = &e->episode[lane->at];
	ep->nr_page++;
	if (ev->op == PAGE_OP_WRITE_OUT)
		ep->count[TERM_WRITE_OUT] += ev->pages;
	if (ev->op != PAGE_OP_DELETE && ev->op != PAGE_OP_EVICT)
		return;
	ep->count[TERM_FOLIO]++;
	ep->count[TERM_NODE] += ev->file_id != lane->file_id || node != lane->node;
	lane->file_id = ev->file_id;
	lane->node = node;
}

/* Counts page events from episode @first on, which are those of one capture. */
static int count_page_events(struct episodes *e, size_t first, struct store *store,
			     int64_t capture_id, struct err *err)
{
	struct page_reader *reader = NULL;
	const struct page_event *event;
	struct lane *lanes = calloc(e->nr - first + 1, sizeof(*lanes));
	size_t nr = 0;
	int code, cpu;

	if (!lanes)
		return err_set(err, -ENOMEM, "no memory for %zu episodes", e->nr);
	for (size_t i = first; i < e->nr; i++) {
		if (i == first || e->episode[i].pid != e->episode[i - 1].pid)
			lanes[nr++] = (struct lane){ .pid = e->episode[i].pid, .at = i };
		lanes[nr - 1].end = i + 1;
	}
	code = page_reader_open(store, capture_id, UINT32_MAX, &reader, err);
	while (!code && (code = page_reader_next(reader, &event, &cpu, err)) == 1) {
		struct lane *lane = lane_of(lanes, nr, event->pid);

		if (lane)
			count_event(e, lane, event);
		code = 0;
	}
	if (reader)
		page_reader_close(reader);
	free(lanes);
	return code;
}

/* The tasks of the limited memcg @path as JSON, "[1,2]"; NULL: there are none. The caller's. */
static char *memcg_pids(struct store *store, int64_t capture_id, const char *path)
{
	struct query *query;
	char *pids = NULL;

	if (query_open(store, &query, "SELECT json_group_array(DISTINCT pid) FROM task"
		       " WHERE capture_id = ? AND cgroup = ?", NULL))
		return NULL;
	query_bind(query, 1, VALUE_OF_INT(capture_id));
	query_bind(query, 2, VALUE_OF_TEXT(path));
	if (query_step(query, NULL) == 1 && strcmp(query_text(query, 0), "[]"))
		pids = strdup(query_text(query, 0));
	query_close(query);
	return pids;
}

int episodes_load(struct episodes *e, struct store *store, int64_t capture_id, struct err *err)
{
	char path[1024] = "", *pids = NULL;
	size_t first = e->nr;
	int code = replay_memcg_path(store, capture_id, path, sizeof(path), err);

	if (code)
		return code;
	if (*path)
		pids = memcg_pids(store, capture_id, path);
	code = has_event(store, capture_id, "mm_vmscan_lru_shrink_inactive", &e->has_scans, err) ?:
	       has_event(store, capture_id, "mm_filemap_delete_from_page_cache", &e->has_deletes,
			 err) ?:
	       read_rows(e, store, capture_id, pids, err) ?:
	       count_page_events(e, first, store, capture_id, err);
	free(pids);
	return code;
}

/* ---- the fit --------------------------------------------------------------------------------- */

static double price_or_zero(const struct cost_profile *profile, const char *operation)
{
	double ns = cost_ns(profile, operation);

	return isnan(ns) ? 0 : ns;
}

/* Is it known how often @term was done? */
static bool term_is_recorded(const struct episodes *e, int term)
{
	switch (term) {
	case TERM_PAGE:
	case TERM_CALL:
		return true;
	case TERM_FOLIO:
	case TERM_NODE:
		return e->has_deletes;
	default:
		return e->has_scans;
	}
}

/* What is seldom done comes out as anything: such a price is not taken, but said. */
static bool is_noise(const struct fit_term *fit, int term)
{
	return fit->state == FIT_USED && term >= TERM_SCAN && fit->ns < 2 * fit->stderr_ns;
}

bool profile_is_fitted(const struct profile *profile, int term)
{
	const struct fit_term *fit = &profile->fit.term[term];

	return fit->state == FIT_USED && !is_noise(fit, term);
}

static int set_price(struct profile *profile, const struct episodes *e, int term, double scale,
		     double r2)
{
	const struct fit_term *fit = &profile->fit.term[term];
	const struct cost_entry *old = cost_find(&profile->cost, reclaim_terms[term]);
	const char *name = reclaim_terms[term];

	if (!term_is_recorded(e, term))
		return profile_set(profile, name, 0, NAN, "part of %s: how often was not recorded",
				   reclaim_terms[TERM_PAGE]);
	if (is_noise(fit, term) && old)
		return profile_set(profile, name, old->ns, old->stderr_ns, "as in %s: its own, "
				   "%.0f +- %.0f ns, is not above its error", profile->name,
				   fit->ns * scale, fit->stderr_ns * scale);
	switch (fit->state) {
	case FIT_USED:
		return profile_set(profile, name, fit->ns * scale, fit->stderr_ns * scale,
				   "fitted to %zu episodes, R2 %.3f", profile->fit.nr_samples, r2);
	case FIT_TIED:
		return profile_set(profile, name, 0, NAN, term == TERM_SHRINK ?
				   "part of %s, which makes them" :
				   "part of %s: the two moved together",
				   reclaim_terms[fit->with < 0 ? TERM_PAGE : fit->with]);
	case FIT_AT_ZERO:
		return profile_set(profile, name, 0, NAN, "held at zero: it came out negative");
	case FIT_ABSENT:
		break;
	}
	if (!old)
		return 0;
	return profile_set(profile, name, old->ns, old->stderr_ns,
			   "never done in the recording, as in %s", profile->name);
}

static int fit_episodes(struct profile *profile, const struct episodes *e, struct err *err)
{
	double vmscan_ns = price_or_zero(&profile->cost, "trace.vmscan");
	double page_ns = price_or_zero(&profile->cost, "trace.page");
	double *duration = calloc(e->nr + 1, sizeof(*duration));
	double *count = calloc(e->nr * NR_TERMS + 1, sizeof(*count));
	int code = 0;

	if (!duration || !count)
		code = err_set(err, -ENOMEM, "no memory to fit %zu episodes", e->nr);
	for (size_t i = 0; i < e->nr && !code; i++) {
		const struct episode *ep = &e->episode[i];
		double ns = ep->spent_ns - ep->nr_vmscan * vmscan_ns - ep->nr_page * page_ns;

		duration[i] = fmax(ns, 0.2 * ep->spent_ns);
		for (int t = 0; t < NR_TERMS; t++)
			count[i * NR_TERMS + (size_t)t] =
				term_is_recorded(e, t) ? ep->count[t] : 0;
	}
	if (!code)
		code = fit_prices(duration, count, e->nr, NR_TERMS, &profile->fit, err);
	free(duration);
	free(count);
	return code;
}

/*
 * No model counts calls of shrinkers: what they took goes to the call of reclaim that made them, as
 * many as it made in the recording. Their own term keeps it out of the price of pages.
 */
static void fold_shrinkers(struct fit *fit, const struct episodes *e)
{
	struct fit_term *call = &fit->term[TERM_CALL], *shrink = &fit->term[TERM_SHRINK];
	double calls = 0;

	for (size_t i = 0; i < e->nr; i++)
		calls += e->episode[i].count[TERM_SHRINK];
	if (shrink->state != FIT_USED)
		return;
	calls /= (double)e->nr;
	call->stderr_ns = call->state == FIT_USED ?
			  hypot(call->stderr_ns, calls * shrink->stderr_ns) :
			  calls * shrink->stderr_ns;
	call->ns += calls * shrink->ns;
	call->state = FIT_USED;
	*shrink = (struct fit_term){ .state = FIT_TIED, .with = TERM_CALL, .stderr_ns = NAN };
}

int profile_fit(struct profile *profile, const struct episodes *e, struct err *err)
{
	struct fit *fit = &profile->fit;
	double scale, r2;
	int code;

	if (!e->nr)
		return err_set(err, -ENODATA, "no reclaim was recorded from begin to end: there is "
			       "nothing to calibrate with (capture -e reclaim or -e reclaim-cpu)");
	code = fit_episodes(profile, e, err);
	if (code)
		return code;
	fold_shrinkers(fit, e);
	scale = fit->fitted_ns > 0 ? fit->measured_ns / fit->fitted_ns : 1;
	r2 = fit->r2;
	for (int t = 0; t < NR_TERMS && !code; t++) {
		code = set_price(profile, e, t, scale, r2);
		fit->term[t].ns *= scale;
		fit->term[t].stderr_ns *= scale;
	}
	fit->fitted_ns *= scale;
	snprintf(profile->method, sizeof(profile->method), "%s of reclaim episodes on what was done"
		 " in them, less %.0f ns an event", e->nr_wall ? "wall time" : "CPU time",
		 price_or_zero(&profile->cost, "trace.vmscan"));
	return code ? err_set(err, code, "no memory for a cost profile") : 0;
}

/* ---- printing -------------------------------------------------------------------------------- */

int profile_print(const struct profile *profile, enum out_format format)
{
	static const struct out_column columns[] = {
		{ "profile", NULL, OUT_PLAIN },
		{ "operation", NULL, OUT_PLAIN },
		{ "ns", "price", OUT_NS },
		{ "stderr_ns", "std. error", OUT_NS },
		{ "source", NULL, OUT_PLAIN },
	};
	struct out *out = out_begin(stdout, format, columns, ARRAY_SIZE(columns));
	int code = 0;

	for (size_t i = 0; i < profile->cost.nr_entries && !code; i++) {
		const struct cost_entry *entry = &profile->entries[i];
		const struct value row[] = {
			VALUE_OF_TEXT((const char *)profile->name), VALUE_OF_TEXT(entry->operation),
			VALUE_OF_REAL(entry->ns), isnan(entry->stderr_ns) ? VALUE_NONE :
			VALUE_OF_REAL(entry->stderr_ns), VALUE_OF_TEXT(entry->source),
		};

		code = out_row(out, row);
	}
	return out_end(out) ?: code;
}

void profile_tell(FILE *out, const struct profile *profile, const struct episodes *e)
{
	const struct fit *fit = &profile->fit;
	char price[32], error[32];

	fprintf(out, "calibrated '%s': %zu episodes of reclaim, %zu left out (interrupted), "
		"R2 %.2f\n", profile->name, fit->nr_samples, fit->nr_left_out, fit->r2);
	for (int t = 0; t < NR_TERMS; t++)
		if (fit->term[t].state == FIT_USED && term_is_recorded(e, t))
			fprintf(out, "  %-15s %9s +- %s%s\n", reclaim_terms[t],
				format_ns(price, sizeof(price), fit->term[t].ns),
				format_ns(error, sizeof(error), fit->term[t].stderr_ns),
				is_noise(&fit->term[t], t) ? " (not taken)" : "");
	for (int t = 0; t < NR_TERMS; t++)
		if (fit->term[t].state == FIT_TIED && t != TERM_SHRINK)
			fprintf(out, "  %s moves with %s: the price of that is of both\n",
				reclaim_terms[t], reclaim_terms[fit->term[t].with < 0 ?
				TERM_PAGE : fit->term[t].with]);
		else if (fit->term[t].state == FIT_AT_ZERO)
			fprintf(out, "  %s would have a price below zero: held at zero\n",
				reclaim_terms[t]);
	if (e->has_scans)
		fprintf(out, "  corrected for the recording: %.0f ns an event of a scan, %.0f ns "
			"an event of a page\n", price_or_zero(&profile->cost, "trace.vmscan"),
			price_or_zero(&profile->cost, "trace.page"));
	if (e->nr_wall)
		fprintf(out, "  of %zu episodes the time off the CPU is unknown (capture -e "
			"reclaim-cpu): a busy machine makes prices higher\n", e->nr_wall);
}
