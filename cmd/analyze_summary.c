// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze_summary.c - the answer in a sentence, then the figures behind it. */
#include <string.h>

#include "cmd/analyze.h"
#include "cmd/row.h"

#define TEXT(name) (row_text(query, name).text)
#define COUNT(name) (row_text_as(query, name, OUT_COUNT).text)
#define MEMORY(name) (row_text_as(query, name, OUT_PAGES).text)

/* ---- the sentence ---------------------------------------------------------------------------- */

static const struct kind {
	const char *name, *episodes, *time;
} kinds[] = {
	{ "kswapd", "kswapd_episodes", "kswapd_ns" },
	{ "direct", "direct_episodes", "direct_ns" },
	{ "memcg limit", "memcg_episodes", "memcg_ns" },
	{ "node", "node_episodes", "node_ns" },
};

static void coverage_print(const struct query *query)
{
	if (row_is_null(query, "coverage_pct"))
		printf("; coverage n/a: it is not known how many events were lost.\n");
	else
		printf("; coverage %s.\n", TEXT("coverage_pct"));
}

/* "kswapd 9.71 s in 13 runs, direct 134 ms in 204", most time first. */
static void kinds_print(const struct query *query)
{
	bool said[ARRAY_SIZE(kinds)] = { false };
	const char *between = ": ";

	for (size_t round = 0; round < ARRAY_SIZE(kinds); round++) {
		const struct kind *most = NULL;

		for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
			if (said[i] || !row_int(query, kinds[i].episodes))
				continue;
			if (!most || row_int(query, kinds[i].time) > row_int(query, most->time))
				most = &kinds[i];
		}
		if (!most)
			return;
		said[most - kinds] = true;
		printf("%s%s %s in %s", between, most->name, TEXT(most->time),
		       COUNT(most->episodes));
		between = ", ";
	}
}

/* Under MGLRU before 6.12 only the page cache shows what was freed. */
static const char *freed_column(const struct query *query)
{
	return row_is_null(query, "nr_reclaimed") ? "evicted_pages" : "nr_reclaimed";
}

static void reclaim_sentence(const struct query *query)
{
	int64_t duration_ns = row_int(query, "duration_ns");

	printf("Reclaim took %s of task time", TEXT("reclaim_ns"));
	if (duration_ns > 0)
		printf(" in %s (%.1f%%)", TEXT("duration_ns"),
		       100.0 * row_int(query, "reclaim_ns") / duration_ns);
	printf(" and freed %s pages (%s)", COUNT(freed_column(query)), MEMORY(freed_column(query)));
	kinds_print(query);
	if (!row_is_null(query, "top_pid"))
		printf("; outside kswapd most by %s (%s), %s", TEXT("top_comm"), TEXT("top_pid"),
		       TEXT("top_ns"));
	coverage_print(query);
}

/* Made-up streams and cache traces; the others are recordings of a kernel. */
static bool is_without_kernel(const char *source)
{
	static const char *const sources[] = { "synth", "oracleGeneral", "ids" };

	for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
		if (source && !strcmp(source, sources[i]))
			return true;
	return false;
}

static void sentence_print(const struct query *query)
{
	const char *source = row_value(query, "source").text;

	if (row_int(query, "episodes")) {
		reclaim_sentence(query);
	} else if (row_int(query, "reclaim_recorded")) {
		printf("No reclaim in %s", TEXT("duration_ns"));
		coverage_print(query);
	} else if (is_without_kernel(source)) {
		printf("No kernel was involved (%s): an access stream to replay; "
		       "there is no reclaim to speak of.\n", source);
	} else if (source && !strcmp(source, "live")) {
		printf("Reclaim: n/a, its events were not recorded (pagereel capture -e reclaim)");
		coverage_print(query);
	} else {
		printf("No reclaim was recorded (%s): there was none, or its events (vmscan:*) "
		       "were off", TEXT("source"));
		coverage_print(query);
	}
}

/* ---- the figures ----------------------------------------------------------------------------- */

static void fact(const char *name)
{
	printf("  %-14s", name);
}

static void cost_print(const struct query *query)
{
	int64_t nr_freed = row_int(query, freed_column(query));
	char text[32];

	if (nr_freed && !row_is_null(query, "reclaim_ns")) {
		fact("cost");
		printf("%s a page freed, %s pages scanned%s\n",
		       format_ns(text, sizeof(text),
				 (double)row_int(query, "reclaim_ns") / nr_freed),
		       COUNT("nr_scanned"), row_is_null(query, "nr_scanned") ?
		       " (no mm_vmscan_lru_* event says)" : "");
	}
	if (row_int(query, "kswapd_episodes")) {
		fact("kswapd CPU");
		if (row_is_null(query, "kswapd_cpu_ns"))
			printf("n/a (needs the context of a live capture); awake %s\n",
			       TEXT("kswapd_ns"));
		else
			printf("%s of %s awake\n", TEXT("kswapd_cpu_ns"), TEXT("kswapd_ns"));
	}
}

static void pages_print(const struct query *query)
{
	int64_t left_pages = row_int(query, "left_pages");
	int64_t asked_pages = row_int(query, "asked_pages");
	int64_t warm_pages = row_int(query, "warm_pages");
	char text[32];

	if (!row_is_null(query, "accesses")) {
		fact("demand");
		printf("%s accesses to %s pages (%s)\n", COUNT("accesses"),
		       COUNT("footprint_pages"), MEMORY("footprint_pages"));
	}
	if (row_is_null(query, "filled_pages") && row_is_null(query, "left_pages"))
		return;
	fact("page cache");
	printf("%s pages filled", COUNT("filled_pages"));
	if (row_is_null(query, "left_pages")) {
		printf(", evictions n/a (mm_filemap_delete_from_page_cache)");
	} else {
		left_pages -= row_int(query, "evicted_pages");
		out_value_text(text, sizeof(text), OUT_COUNT, VALUE_OF_INT(left_pages));
		printf(", %s evicted, %s truncated", COUNT("evicted_pages"), text);
	}
	printf("\n");
	if (warm_pages * 100 < asked_pages * WARM_PCT || !warm_pages)
		return;
	fact("warm cache");
	printf("%.1f%% of the pages asked for were in the cache before the capture began\n"
	       "  %-14s(they show no fill, and no memcg of the capture is charged for them)\n",
	       100.0 * (double)warm_pages / (double)asked_pages, "");
}

static void others_print(const struct query *query)
{
	if (!row_is_null(query, "nr_shrinker_calls")) {
		fact("shrinkers");
		printf("%s calls, %s, %s objects freed\n", COUNT("nr_shrinker_calls"),
		       TEXT("shrinker_ns"), COUNT("nr_objects_freed"));
	}
	if (!row_is_null(query, "nr_flushes")) {
		fact("stats flushes");
		printf("%s, lock held %s\n", COUNT("nr_flushes"), TEXT("flush_ns"));
	}
	if (!row_is_null(query, "throttled_ns")) {
		fact("throttled");
		printf("%s in all\n", TEXT("throttled_ns"));
	}
}

static void replays_print(const struct query *query)
{
	fact("replays");
	if (row_is_null(query, "nr_results"))
		printf("none yet (pagereel replay RUN.db -m linux-6.18,lru,arc,opt)\n");
	else
		printf("%s result%s of %s model%s (pagereel analyze RUN.db compare)\n",
		       COUNT("nr_results"), row_int(query, "nr_results") == 1 ? "" : "s",
		       COUNT("nr_models"), row_int(query, "nr_models") == 1 ? "" : "s");
}

int analyze_summary_print(const struct analyze_args *args, uint64_t *nr_rows, struct err *err)
{
	struct query *query;
	int code = analyze_query(args, sql_analyze_summary, &query, err);

	if (code)
		return code;
	while ((code = query_step(query, err)) > 0) {
		if ((*nr_rows)++)
			printf("\n");
		if (args->capture.type == VALUE_NULL)
			printf("Capture %s. ", TEXT("capture_id"));
		sentence_print(query);
		printf("\n");
		cost_print(query);
		pages_print(query);
		others_print(query);
		replays_print(query);
	}
	query_close(query);
	return code;
}
