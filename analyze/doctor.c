// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * doctor.c - the rules of `pagereel doctor RUN.db`. A new one is a file doctor_NAME.sql and an
 * entry here. A rule's query decides; nothing else does: what is printed with --show-sql is the
 * whole of it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"

/* Thresholds of a rule: the nth entry of a table is the nth value of its settings. */
#define SETTING(n) (offsetof(struct doctor_settings, value) + (n) * sizeof(double))

static const struct param lost_events[] = {
	{ "coverage", PARAM_PCT, SETTING(0), "99", 0, 0, "%",
	  "recorded of what happened, at least" },
	{ 0 },
};

static const struct param empty_shrinkers[] = {
	{ "share", PARAM_PCT, SETTING(0), "25", 0, 0, "%", "of the reclaim time" },
	{ "load", PARAM_PCT, SETTING(1), "1", 0, 0, "%", "of one CPU" },
	{ "least", PARAM_NS, SETTING(2), "10ms", 0, 0, "ns", "in all, at least" },
	{ "longest", PARAM_NS, SETTING(3), "1ms", 0, 0, "ns", "that one pass over them may take" },
	{ 0 },
};

static const struct param tier_no_hits[] = {
	{ "puts", PARAM_COUNT, SETTING(0), "10k", 0, 0, "pages", "compressed" },
	{ "hits", PARAM_DOUBLE, SETTING(1), "1", 0, 100, "%", "of them found again, less than" },
	{ "put", PARAM_NS, SETTING(2), "11us", 0, 0, "ns", "to compress one (LZO on text)" },
	{ "load", PARAM_PCT, SETTING(3), "1", 0, 0, "%", "of one CPU" },
	{ 0 },
};

static const struct param flush_stalls[] = {
	{ "stall", PARAM_NS, SETTING(0), "1ms", 0, 0, "ns", "a flush that is long" },
	{ "count", PARAM_COUNT, SETTING(1), "3", 0, 0, "flushes", "that are long" },
	{ "share", PARAM_PCT, SETTING(2), "2", 0, 0, "%", "of the time of one task" },
	{ "least", PARAM_NS, SETTING(3), "10ms", 0, 0, "ns", "in all, at least" },
	{ 0 },
};

static const struct param working_set[] = {
	{ "memory", PARAM_BYTES, SETTING(0), "0", 0, 0, "bytes", "present size; 0: as recorded" },
	{ "within", PARAM_DOUBLE, SETTING(1), "25", 0, 1000, "%", "above it the knee may lie" },
	{ "gain", PARAM_PCT, SETTING(2), "20", 0, 0, "%", "of the misses saved there" },
	{ 0 },
};

static const struct param swappiness[] = {
	{ "refaults", PARAM_COUNT, SETTING(0), "1000", 0, 0, "pages", "of files read back" },
	{ "anon", PARAM_PCT, SETTING(1), "10", 0, 0, "%", "of the memory anonymous" },
	{ "swapped", PARAM_PCT, SETTING(2), "1", 0, 0, "%", "of the refaults swapped, at most" },
	{ 0 },
};

static const struct param streams[] = {
	{ "run", PARAM_BYTES, SETTING(0), "2M", 0, 0, "bytes", "in order make a stream" },
	{ "stream", PARAM_PCT, SETTING(1), "25", 0, 0, "%", "of the fills by streams" },
	{ "once", PARAM_PCT, SETTING(2), "75", 0, 0, "%", "of a stream's pages used once" },
	{ "refault", PARAM_PCT, SETTING(3), "10", 0, 0, "%", "of the other fills refaults" },
	{ "pages", PARAM_COUNT, SETTING(4), "256", 0, 0, "pages", "refaulted, at least" },
	{ 0 },
};

static const struct param direct_reclaim[] = {
	{ "stall", PARAM_NS, SETTING(0), "10ms", 0, 0, "ns", "a stall" },
	{ "count", PARAM_COUNT, SETTING(1), "3", 0, 0, "stalls", "so many of them" },
	{ "share", PARAM_PCT, SETTING(2), "10", 0, 0, "%", "of the time of one task" },
	{ "least", PARAM_NS, SETTING(3), "10ms", 0, 0, "ns", "in all, at least" },
	{ 0 },
};

static const struct param kswapd[] = {
	{ "busy", PARAM_PCT, SETTING(0), "10", 0, 0, "%", "of the time at work" },
	{ "efficiency", PARAM_PCT, SETTING(1), "5", 0, 0, "%", "reclaimed of what it scanned" },
	{ 0 },
};

static const struct param dirty_throttling[] = {
	{ "share", PARAM_PCT, SETTING(0), "10", 0, 0, "%", "of the time of one task" },
	{ "count", PARAM_COUNT, SETTING(1), "3", 0, 0, "pauses", "at least" },
	{ "least", PARAM_NS, SETTING(2), "10ms", 0, 0, "ns", "in all, at least" },
	{ 0 },
};

static const struct param readahead[] = {
	{ "unused", PARAM_PCT, SETTING(0), "20", 0, 0, "%", "of the pages brought in" },
	{ "pages", PARAM_COUNT, SETTING(1), "1000", 0, 0, "pages", "evicted unused, at least" },
	{ 0 },
};

const struct doctor_rule doctor_rules[] = {
	{ .name = "lost-events",
	  .params = lost_events,
	  .title = "lost events make the rest doubtful",
	  .sql = sql_analyze_doctor_lost_events,
	  .figure = "coverage_pct",
	  .sentence = "Events were lost in {nr_gaps} gaps, {blind_ns} long in all: "
		      "{events_lost} of them, coverage {coverage_pct}; what follows rests on "
		      "the rest.",
	  .advice = "Record again, with larger ring buffers first (-b). If that is not enough, "
		    "follow fewer tasks (-p, --cgroup) or record fewer events; -e reclaim -e slab "
		    "alone drops the page events, so that nothing can be replayed.",
	  .command = "pagereel capture -o again.db -b 32M -d 60s" },
	{ .name = "working-set",
	  .params = working_set,
	  .title = "the working set is just above the cache",
	  .sql = sql_analyze_doctor_working_set,
	  .figure = "saved_pct",
	  .sentence = "The working set is just above the cache: {more_bytes} more than the "
		      "{present_bytes} it has would save {nr_saved} misses, {saved_pct} of them "
		      "(miss ratio {present_miss_ratio} -> {knee_miss_ratio} at the knee, "
		      "{knee_bytes}).",
	  .advice = "Give it that memory (raise the memcg's limit, shrink what shares it), or "
		    "make the working set smaller.",
	  .command = "pagereel replay {db} -m linux-6.18,lru,opt" },
	{ .name = "streams",
	  .params = streams,
	  .title = "sequential streams flush the working set",
	  .sql = sql_analyze_doctor_streams,
	  .figure = "refault_pages",
	  .sentence = "{nr_streams} sequential streams made {stream_pct} of the fills and used "
		      "{once_pct} of their pages once, while {refault_pages} other pages were "
		      "evicted and read back ({refault_pct} of the other fills); most by {file}.",
	  .advice = "Let the streams drop what they have used (POSIX_FADV_DONTNEED, O_DIRECT, "
		    "RWF_DONTCACHE) or run them in a memcg of their own; a policy that resists "
		    "scans shows what there is to win.",
	  .command = "pagereel replay {db} -m linux-6.18,s3fifo,lirs,opt" },
	{ .name = "swappiness",
	  .params = swappiness,
	  .title = "idle anonymous memory stays while files refault",
	  .sql = sql_analyze_doctor_swappiness,
	  .figure = "nr_refaults",
	  .sentence = "{nr_refaults} file pages were read back while up to {anon_bytes} of "
		      "anonymous memory ({anon_pct} of {memory_bytes}) stayed and {nr_swapped} "
		      "pages of it were swapped, with {swap_free_bytes} of swap free and "
		      "swappiness {swappiness} ({scope}).",
	  .advice = "Raise swappiness (vm.swappiness, memory.swappiness). The replay compares "
		    "with all anonymous memory given to the cache: more than that is not to be "
		    "won.",
	  .command = "pagereel capture -o after.db -d 60s && pagereel doctor after.db swappiness" },
	{ .name = "readahead",
	  .params = readahead,
	  .title = "pages are read ahead and evicted unused",
	  .sql = sql_analyze_doctor_readahead,
	  .figure = "unused_pct",
	  .sentence = "{unused_pages} of {fill_pages} pages brought in ({unused_pct}, "
		      "{unused_bytes}) were evicted before anybody asked for them; "
		      "{again_pages} of those were then read a second time.",
	  .advice = "Lower read_ahead_kb of the device, or tell the kernel (POSIX_FADV_RANDOM, "
		    "MADV_RANDOM) where reads are at random.",
	  .command = "pagereel replay {db} -m "
		     "linux-6.18,linux-6.18:read_ahead=32K,linux-6.18:readahead=off" },
	{ .name = "empty-shrinkers",
	  .params = empty_shrinkers,
	  .title = "reclaim spends its time in shrinkers that free nothing",
	  .sql = sql_analyze_doctor_empty_shrinkers,
	  .figure = "share_pct",
	  .sentence = "{empty_ns} of {reclaim_ns} of reclaim ({share_pct}, {load_pct} of a CPU) "
		      "went into shrinkers that freed nothing: {traced_ns} in {nr_calls} calls, "
		      "{polled_ns} between scans, where those without objects are asked "
		      "({nr_superblocks} superblocks, and those of other mount namespaces).",
	  .advice = "Find what leaks superblocks or cgroups (findmnt, /proc/*/mountinfo, "
		    "namespaces of dead containers); each costs every pass of reclaim.",
	  .command = "pagereel case kswapd-slab" },
	{ .name = "kswapd",
	  .params = kswapd,
	  .title = "kswapd is awake without progress",
	  .sql = sql_analyze_doctor_kswapd,
	  .figure = "busy_pct",
	  .sentence = "kswapd was at work {busy_pct} of the time (awake {awake_ns} in {nr_runs} "
		      "runs, CPU {cpu_ns}) and reclaimed {reclaimed} of {scanned} pages it "
		      "scanned ({efficiency_pct}).",
	  .advice = "Look for what cannot be reclaimed: dirty pages, mlocked or pinned memory, "
		    "anonymous memory without swap, a zone too small for its watermarks "
		    "(zoneinfo in the context).",
	  .command = "pagereel capture -o after.db -e reclaim -e slab -d 60s && pagereel doctor "
		     "after.db kswapd" },
	{ .name = "direct-reclaim",
	  .params = direct_reclaim,
	  .title = "tasks stall in direct reclaim",
	  .sql = sql_analyze_doctor_direct_reclaim,
	  .figure = "share_pct",
	  .sentence = "{comm} spent {top_ns} ({share_pct} of the time) in {kind} reclaim; of "
		      "{nr_episodes} episodes {nr_stalls} were stalls, the worst {worst_ns}.",
	  .advice = "Raise vm.watermark_scale_factor so that kswapd starts earlier.",
	  .command = "pagereel capture -o after.db -e reclaim -d 60s && pagereel doctor "
		     "after.db direct-reclaim" },
	{ .name = "flush-stalls",
	  .params = flush_stalls,
	  .title = "tasks stall on flushes of memcg statistics",
	  .sql = sql_analyze_doctor_flush_stalls,
	  .figure = "worst_ns",
	  .sentence = "{nr_stalls} flushes of memcg statistics inside reclaim or refaults held "
		      "tasks for {total_ns}, {nr_long} of them long, the worst {worst_ns}; "
		      "{comm} lost {top_ns} ({share_pct} of the time).",
	  .advice = "Fewer cgroups, or a kernel that flushes less: late by 4 s from 5.18, "
		    "thresholds per memcg from 6.8; 6.18 waits for 64 updates per CPU.",
	  .command = "pagereel case refault-flush" },
	{ .name = "tier-no-hits",
	  .params = tier_no_hits,
	  .title = "a compressed tier takes pages nobody asks for again",
	  .sql = sql_analyze_doctor_tier_no_hits,
	  .figure = "load_pct",
	  .sentence = "{tier} compressed {nr_puts} pages and was asked for {nr_hits} of them "
		      "({hits_pct}); at the set cost of a page that is {put_ns} of CPU time "
		      "({load_pct} of a CPU).",
	  .advice = "Admit only what was active or refaulted before, compress on idle CPUs, or "
		    "turn the tier off.",
	  .command = "pagereel case cleancache" },
	{ .name = "dirty-throttling",
	  .params = dirty_throttling,
	  .title = "writers are throttled for dirty pages",
	  .sql = sql_analyze_doctor_dirty_throttling,
	  .figure = "share_pct",
	  .sentence = "{comm} slept {top_ns} ({share_pct} of the time) in "
		      "balance_dirty_pages(); in all {nr_pauses} pauses of {total_ns}, the "
		      "longest {worst_ns}.",
	  .advice = "The disk is slower than the writers: raise vm.dirty_background_bytes and "
		    "vm.dirty_bytes for bursts, or write less at a time (sync_file_range).",
	  .command = "pagereel capture -o after.db -e writeback -d 60s && pagereel doctor "
		     "after.db dirty-throttling" },
	{ 0 },
};

_Static_assert(ARRAY_SIZE(doctor_rules) == NR_DOCTOR_RULES + 1, "NR_DOCTOR_RULES");

static const struct doctor_rule *find(const char *name, size_t name_bytes, const char **nearest)
{
	const char *names[ARRAY_SIZE(doctor_rules)] = { NULL };
	char word[64];

	for (size_t i = 0; doctor_rules[i].name; i++) {
		names[i] = doctor_rules[i].name;
		if (strlen(names[i]) == name_bytes && !strncmp(names[i], name, name_bytes))
			return &doctor_rules[i];
	}
	snprintf(word, sizeof(word), "%.*s", (int)name_bytes, name);
	if (nearest)
		*nearest = nearest_word(word, names);
	return NULL;
}

const struct doctor_rule *doctor_rule_find(const char *name, const char **nearest)
{
	return find(name, strlen(name), nearest);
}

/* ---- thresholds ------------------------------------------------------------------------------ */

int doctor_defaults(struct doctor_settings *settings, struct err *err)
{
	int ret = 0;

	for (size_t i = 0; doctor_rules[i].name && !ret; i++)
		ret = params_defaults(doctor_rules[i].params, &settings[i], err);
	return ret;
}

int doctor_set(struct doctor_settings *settings, const char *text, struct err *err)
{
	const char *dot = strchr(text, '.'), *equals = strchr(text, '='), *nearest = NULL;
	const struct doctor_rule *rule;
	char what[80], name[64];

	if (!dot || !equals || equals < dot)
		return err_set(err, -EINVAL, "'%s' is no RULE.NAME=VALUE", text);
	rule = find(text, (size_t)(dot - text), &nearest);
	if (!rule)
		return err_set(err, -EINVAL, "no rule '%.*s'%s%s%s", (int)(dot - text), text,
			       nearest ? " (did you mean '" : " (pagereel doctor --list",
			       nearest ? nearest : "", nearest ? "'?)" : ")");
	snprintf(what, sizeof(what), "rule '%s'", rule->name);
	snprintf(name, sizeof(name), "%.*s", (int)(equals - dot - 1), dot + 1);
	return params_set(rule->params, &settings[rule - doctor_rules], what, name, equals + 1,
			  err);
}

static struct value setting_value(const struct param *param, const struct doctor_settings *settings)
{
	const void *slot = (const char *)settings + param->offset;

	if (param->type == PARAM_DOUBLE || param->type == PARAM_PCT)
		return VALUE_OF_REAL(*(const double *)slot);
	return VALUE_OF_INT((int64_t) * (const uint64_t *)slot);
}

int doctor_bind(const struct doctor_rule *rule, const struct doctor_settings *settings,
		struct query *query)
{
	int ret = 0;

	for (const struct param *p = rule->params; p->name && !ret; p++) {
		char name[64];

		snprintf(name, sizeof(name), ":%s", p->name);
		ret = query_bind_name(query, name, setting_value(p, settings));
	}
	return ret;
}

/* ---- the query as text ----------------------------------------------------------------------- */

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static void value_print(FILE *out, struct value value)
{
	if (value.type == VALUE_INT)
		fprintf(out, "%lld", (long long)value.i);
	else if (value.type == VALUE_REAL)
		fprintf(out, "%.12g", value.r);
	else
		fputs("NULL", out);
}

/* The parameter whose name stands at @at behind its colon; 0: none of that name. */
static size_t parameter_print(FILE *out, const char *at, const struct doctor_rule *rule,
			      const struct doctor_settings *settings, struct value capture)
{
	size_t bytes = 0;

	while (is_word(at[bytes]))
		bytes++;
	if (bytes == 7 && !strncmp(at, "capture", 7)) {
		value_print(out, capture);
		return bytes;
	}
	for (const struct param *p = rule->params; p->name; p++) {
		if (strlen(p->name) == bytes && !strncmp(p->name, at, bytes)) {
			value_print(out, setting_value(p, settings));
			return bytes;
		}
	}
	return 0;
}

char *doctor_sql_text(const struct doctor_rule *rule, const struct doctor_settings *settings,
		      struct value capture)
{
	const char *at = rule->sql;
	size_t text_bytes;
	char *text = NULL;
	FILE *out = open_memstream(&text, &text_bytes);

	if (!out)
		return NULL;
	while (*at) {
		size_t whole = 1; /* comments and strings hold no parameters */

		if (!strncmp(at, "--", 2)) {
			whole = strcspn(at, "\n");
		} else if (*at == '\'') {
			whole = 1 + strcspn(at + 1, "'");
			whole += at[whole] == '\'';
		} else if (*at == ':' && is_word(at[1])) {
			size_t bytes = parameter_print(out, at + 1, rule, settings, capture);

			if (bytes) {
				at += 1 + bytes;
				continue;
			}
		}
		fwrite(at, 1, whole, out);
		at += whole;
	}
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}
