// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * import_text_fields.c - what ftrace printed, back to the fields it was printed from.
 *
 * Three things differ between a printed event and its fields: the shape ("dev 7:0 ino c", "objects
 * to shrink 5"), the names (classzone is highest_zoneidx, flags is reclaim_flags), and the values
 * (ofs is index << 12, ino is hexadecimal without 0x, lru is a word). Shapes stand in forms[]:
 * literal text, a blank for any blanks, {field:type} for a value. Events that print plain
 * name=value words need no form; names[] gives their printed names another meaning.
 *
 * Where versions differ there is a row for each; the first that matches the whole payload is taken,
 * and what matches none is read as name=value words. Words in neither shape stay in the text (see
 * import_text.c), so nothing is dropped. gfp flags stay words: their bits differ between versions.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture.h"
#include "capture/import_text.h"

enum text_type {
	T_AUTO = 0,	/* a number if it is one, else text */
	T_NUMBER = 'd',	/* decimal or 0x */
	T_HEX = 'x',	/* hexadecimal with or without 0x: inode numbers, pointers */
	T_DEV = 'D',	/* 7:0 or 7,0 -> major << 20 | minor */
	T_OFFSET = 'o',	/* bytes -> page index */
	T_WORD = 's',
	T_PAGEMAP = 'F',	/* "Mafsbd B": six places */
	T_LRU = 'L',
	T_RECLAIM = 'R',	/* RECLAIM_WB_FILE|RECLAIM_WB_ASYNC */
	T_THROTTLE = 'T',
};

static const struct {
	const char *event;
	const char *form;
} forms[] = {
	{ "mm_filemap_add_to_page_cache",
	  "dev {s_dev:D} ino {i_ino:x} pfn={pfn:d} ofs={index:o} order={order:d}" },
	{ "mm_filemap_add_to_page_cache",
	  "dev {s_dev:D} ino {i_ino:x} page={page:x} pfn={pfn:d} ofs={index:o}" },
	{ "mm_filemap_delete_from_page_cache",
	  "dev {s_dev:D} ino {i_ino:x} pfn={pfn:d} ofs={index:o} order={order:d}" },
	{ "mm_filemap_delete_from_page_cache",
	  "dev {s_dev:D} ino {i_ino:x} page={page:x} pfn={pfn:d} ofs={index:o}" },
	{ "mm_filemap_get_pages", "dev={s_dev:D} ino={i_ino:x} ofs={index:o}-{last_index:o}" },
	{ "mm_filemap_map_pages", "dev={s_dev:D} ino={i_ino:x} ofs={index:o}-{last_index:o}" },
	{ "mm_filemap_fault", "dev={s_dev:D} ino={i_ino:x} ofs={index:o}" },
	{ "mm_lru_insertion", "folio={folio:x} pfn={pfn:d} lru={lru:d} flags={flags:F}" },
	{ "mm_lru_insertion", "page={page:x} pfn={pfn:d} lru={lru:d} flags={flags:F}" },
	{ "mm_lru_activate", "folio={folio:x} pfn={pfn:d}" },
	{ "mm_lru_activate", "page={page:x} pfn={pfn:d}" },
	{ "mm_shrink_slab_start",
	  "{shrink:s} {shr:x}: nid: {nid:d} objects to shrink {nr_objects_to_shrink:d} "
	  "gfp_flags {gfp_flags:s} cache items {cache_items:d} delta {delta:d} "
	  "total_scan {total_scan:d} priority {priority:d}" },
	{ "mm_shrink_slab_start",
	  "{shrink:s} {shr:x}: nid: {nid:d} objects to shrink {nr_objects_to_shrink:d} "
	  "gfp_flags {gfp_flags:s} pgs_scanned {pgs_scanned:d} lru_pgs {lru_pgs:d} "
	  "cache items {cache_items:d} delta {delta:d} total_scan {total_scan:d}" },
	{ "mm_shrink_slab_start",
	  "{shrink:s} {shr:x}: objects to shrink {nr_objects_to_shrink:d} "
	  "gfp_flags {gfp_flags:s} pgs_scanned {pgs_scanned:d} lru_pgs {lru_pgs:d} "
	  "cache items {cache_items:d} delta {delta:d} total_scan {total_scan:d}" },
	{ "mm_shrink_slab_end",
	  "{shrink:s} {shr:x}: nid: {nid:d} unused scan count {unused_scan:d} "
	  "new scan count {new_scan:d} total_scan {total_scan:d} "
	  "last shrinker return val {retval:d}" },
	{ "mm_shrink_slab_end",
	  "{shrink:s} {shr:x}: unused scan count {unused_scan:d} new scan count {new_scan:d} "
	  "total_scan {total_scan:d} last shrinker return val {retval:d}" },
	{ "writeback_dirty_folio", "bdi {name:s}: ino={ino:d} index={index:d}" },
	{ "writeback_dirty_page", "bdi {name:s}: ino={ino:d} index={index:d}" },
	{ "ext4_da_write_end",
	  "dev {dev:D} ino {ino:d} pos {pos:d} len {len:d} copied {copied:d}" },
	{ "ext4_write_end", "dev {dev:D} ino {ino:d} pos {pos:d} len {len:d} copied {copied:d}" },
	{ "ext4_journalled_write_end",
	  "dev {dev:D} ino {ino:d} pos {pos:d} len {len:d} copied {copied:d}" },
	{ "f2fs_write_end", "dev = ({dev:D}), ino = {ino:d}, pos = {pos:d}, len = {len:d}, "
			    "copied = {copied:d}" },
	{ "xfs_file_buffered_write", "dev {dev:D} ino {ino:d} disize {size:d} pos {offset:d} "
				     "bytecount {count:d}" },
	{ "page_fault_user", "address={address:x} ip={ip:x} error_code={error_code:d}" },
};

/* Printed name -> field. An event that ends in '*' stands for all that begin so. */
static const struct {
	const char *event, *printed, *field;
	enum text_type type;
} names[] = {
	{ "mm_vmscan_lru_isolate", "classzone", "highest_zoneidx", T_AUTO },
	{ "mm_vmscan_lru_isolate", "lru", "lru", T_LRU },
	{ "mm_vmscan_lru_isolate", "contig_taken", "nr_lumpy_taken", T_AUTO },
	{ "mm_vmscan_lru_isolate", "contig_dirty", "nr_lumpy_dirty", T_AUTO },
	{ "mm_vmscan_lru_isolate", "contig_failed", "nr_lumpy_failed", T_AUTO },
	{ "mm_vmscan_*", "nr_activate_anon", "nr_activate0", T_AUTO },
	{ "mm_vmscan_*", "nr_activate_file", "nr_activate1", T_AUTO },
	{ "mm_vmscan_*", "flags", "reclaim_flags", T_RECLAIM },
	{ "mm_vmscan_*", "page", "page", T_HEX },
	{ "mm_vmscan_throttled", "usect_delayed", "usec_delayed", T_AUTO },
	{ "mm_vmscan_throttled", "reason", "reason", T_THROTTLE },
	{ "page_cache_*", "dev", "s_dev", T_DEV },
	{ "page_cache_*", "ino", "i_ino", T_HEX },
	{ "mod_memcg_*", "memcg_id", "id", T_AUTO },
	{ "count_memcg_events", "memcg_id", "id", T_AUTO },
	{ "memcg_flush_stats", "memcg_id", "id", T_AUTO },
	{ "writeback_single_inode*", "index", "writeback_index", T_AUTO },
	{ "writeback_single_inode*", "to_write", "nr_to_write", T_AUTO },
	{ "writeback_queue_io", "enqueue", "moved", T_AUTO },
	{ "writeback_*", "bdi", "name", T_WORD },
	{ "writeback_*", "kupdate", "for_kupdate", T_AUTO },
	{ "writeback_*", "background", "for_background", T_AUTO },
	{ "balance_dirty_pages", "bdi", "bdi", T_WORD },
	{ "bdi_dirty_ratelimit", "bdi", "bdi", T_WORD },
	{ "bdi_dirty_ratelimit", "awrite_bw", "avg_write_bw", T_AUTO },
	{ "global_dirty_state", "dirty", "nr_dirty", T_AUTO },
	{ "global_dirty_state", "writeback", "nr_writeback", T_AUTO },
	{ "global_dirty_state", "bg_thresh", "background_thresh", T_AUTO },
	{ "global_dirty_state", "thresh", "dirty_thresh", T_AUTO },
	{ "global_dirty_state", "limit", "dirty_limit", T_AUTO },
	{ "global_dirty_state", "dirtied", "nr_dirtied", T_AUTO },
	{ "global_dirty_state", "written", "nr_written", T_AUTO },
};

struct word_bit {
	const char *word;
	uint64_t value;
};

static const struct word_bit lru_words[] = {
	{ "inactive_anon", 0 }, { "active_anon", 1 }, { "inactive_file", 2 }, { "active_file", 3 },
	{ "unevictable", 4 }, { NULL, 0 },
};

static const struct word_bit reclaim_words[] = {
	{ "RECLAIM_WB_NONE", 0 }, { "RECLAIM_WB_ANON", 1 }, { "RECLAIM_WB_FILE", 2 },
	{ "RECLAIM_WB_SYNC", 4 }, { "RECLAIM_WB_ASYNC", 8 }, { "RECLAIM_WB_MIXED", 16 },
	{ NULL, 0 },
};

static const struct word_bit throttle_words[] = {
	{ "VMSCAN_THROTTLE_WRITEBACK", 1 }, { "VMSCAN_THROTTLE_ISOLATED", 2 },
	{ "VMSCAN_THROTTLE_NOPROGRESS", 4 }, { "VMSCAN_THROTTLE_CONGESTED", 8 }, { NULL, 0 },
};

/* ---- values ---------------------------------------------------------------------------------- */

/* A whole number that fills all of @text. */
static bool parse_whole(const char *text, size_t bytes, int base, uint64_t *value)
{
	bool minus = bytes && *text == '-' && base == 10;
	size_t at = minus;

	if (bytes >= at + 2 && text[at] == '0' && (text[at + 1] == 'x' || text[at + 1] == 'X')) {
		base = 16;
		at += 2;
	}
	if (at == bytes || bytes - at > (base == 16 ? 16 : 20))
		return false;
	*value = 0;
	for (; at < bytes; at++) {
		unsigned char c = (unsigned char)text[at];
		unsigned int digit = isdigit(c) ? c - (unsigned int)'0' :
				     isxdigit(c) ? (unsigned int)(tolower(c) - 'a' + 10) : 99;

		if (digit >= (unsigned int)base)
			return false;
		*value = *value * (unsigned int)base + digit;
	}
	if (minus)
		*value = -*value;
	return true;
}

static bool parse_words(const char *text, size_t bytes, const struct word_bit *words,
			uint64_t *value)
{
	*value = 0;
	while (bytes) {
		const char *bar = memchr(text, '|', bytes);
		size_t word_bytes = bar ? (size_t)(bar - text) : bytes;
		const struct word_bit *w = words;
		uint64_t number;

		while (w->word && (strlen(w->word) != word_bytes ||
				   memcmp(w->word, text, word_bytes)))
			w++;
		if (w->word)
			*value |= w->value;
		else if (parse_whole(text, word_bytes, 10, &number))
			*value |= number;
		else
			return false;
		text += word_bytes + (bar != NULL);
		bytes -= word_bytes + (bar != NULL);
	}
	return true;
}

static bool parse_dev(const char *text, size_t bytes, uint64_t *value)
{
	const char *sep = memchr(text, ':', bytes);
	uint64_t major, minor;

	if (!sep)
		sep = memchr(text, ',', bytes);
	if (!sep || !parse_whole(text, (size_t)(sep - text), 10, &major) ||
	    !parse_whole(sep + 1, bytes - (size_t)(sep - text) - 1, 10, &minor) ||
	    major > 0xfff || minor > 0xfffff)
		return false;
	*value = major << 20 | minor;
	return true;
}

/*
 * pagemap prints a letter per flag, blanks for those not set: mapped, anon or file, swap cache, ...
 */
static bool parse_pagemap(const char *text, size_t bytes, uint64_t *value)
{
	static const char set[] = "MasbdB";

	*value = 0;
	if (bytes > strlen(set) || bytes < 2)
		return false;
	for (size_t i = 0; i < bytes; i++) {
		if (text[i] == set[i])
			*value |= 1u << i;
		else if (text[i] != ' ' && !(i == 1 && text[i] == 'f'))
			return false;
	}
	return true;
}

/* False: the text is not of that type. */
static bool parse_typed(const char *text, size_t bytes, enum text_type type, uint64_t *value)
{
	switch (type) {
	case T_HEX:
		if (bytes == 6 && !memcmp(text, "(null)", 6)) {
			*value = 0;
			return true;
		}
		return parse_whole(text, bytes, 16, value);
	case T_DEV:
		return parse_dev(text, bytes, value);
	case T_OFFSET:
		if (!parse_whole(text, bytes, 10, value))
			return false;
		*value >>= PAGE_BITS;
		return true;
	case T_PAGEMAP:
		return parse_pagemap(text, bytes, value);
	case T_LRU:
		return parse_words(text, bytes, lru_words, value);
	case T_RECLAIM:
		return parse_words(text, bytes, reclaim_words, value);
	case T_THROTTLE:
		return parse_words(text, bytes, throttle_words, value);
	case T_WORD:
		return false;
	case T_AUTO:
	case T_NUMBER:
		break;
	}
	return parse_whole(text, bytes, 10, value);
}

static bool add_number(struct text_fields *out, const char *name, size_t name_bytes, uint64_t value)
{
	if (out->nr == TEXT_MAX_FIELDS || name_bytes >= TEXT_NAME_BYTES)
		return false;
	memcpy(out->field[out->nr].name, name, name_bytes);
	out->field[out->nr].name[name_bytes] = '\0';
	out->field[out->nr++].value = VALUE_OF_INT((int64_t)value);
	return true;
}

static bool add_text(struct text_fields *out, const char *name, size_t name_bytes, const char *text,
		     size_t bytes)
{
	char *copy = out->text + out->text_used;

	if (bytes + 1 > sizeof(out->text) - out->text_used || !add_number(out, name, name_bytes, 0))
		return false;
	memcpy(copy, text, bytes);
	copy[bytes] = '\0';
	out->text_used += bytes + 1;
	out->field[out->nr - 1].value = (struct value){ .type = VALUE_TEXT, .text = copy,
							.text_bytes = bytes };
	return true;
}

/* ---- forms ----------------------------------------------------------------------------------- */

/*
 * The bytes of a value: up to what stands behind it in the form, a blank at the latest; but the
 * flags of pagemap are blanks in part, and end the line.
 */
static size_t value_bytes(const char *text, enum text_type type, char until)
{
	if (type == T_PAGEMAP)
		return strlen(text);
	/* "0xff..:" and "7:0:": the last colon of the word */
	if (until == ':') {
		size_t word = strcspn(text, " \t");

		return word && text[word - 1] == ':' ? word - 1 : word;
	}
	return until && until != ' ' ? strcspn(text, (char[]){ until, ' ', '\0' }) :
				       strcspn(text, " \t");
}

static bool form_field(const char **form, const char **text, struct text_fields *out)
{
	const char *name = *form + 1, *colon = strchr(name, ':');
	enum text_type type = (enum text_type)colon[1];
	size_t bytes = value_bytes(*text, type, colon[3]);
	uint64_t number;
	bool ok;

	if (type == T_WORD)
		ok = bytes && add_text(out, name, (size_t)(colon - name), *text, bytes);
	else
		ok = parse_typed(*text, bytes, type, &number) &&
		     add_number(out, name, (size_t)(colon - name), number);
	*text += bytes;
	*form = colon + 3;
	return ok;
}

static bool form_match(const char *form, const char *text, struct text_fields *out)
{
	out->nr = 0;
	out->text_used = 0;
	while (*form) {
		if (*form == '{') {
			if (!form_field(&form, &text, out))
				return false;
		} else if (*form == ' ') {
			if (*text != ' ' && *text != '\t')
				return false;
			text += strspn(text, " \t");
			form++;
		} else if (*form++ != *text++) {
			return false;
		}
	}
	return !text[strspn(text, " \t")];
}

/*
 * ---- name=value words
 * ----------------------------------------------------------------------------
 */

static bool event_matches(const char *pattern, const char *event)
{
	size_t bytes = strlen(pattern);

	return pattern[bytes - 1] == '*' ? !strncmp(pattern, event, bytes - 1) :
					   !strcmp(pattern, event);
}

static bool pair_add(struct text_fields *out, const char *event, const char *name,
		     size_t name_bytes, const char *text, size_t bytes)
{
	enum text_type type = T_AUTO;
	uint64_t number;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strlen(names[i].printed) != name_bytes ||
		    memcmp(names[i].printed, name, name_bytes) ||
		    !event_matches(names[i].event, event))
			continue;
		name = names[i].field;
		name_bytes = strlen(name);
		type = names[i].type;
		break;
	}
	for (int i = 0; i < out->nr; i++)
		if (strlen(out->field[i].name) == name_bytes &&
		    !memcmp(out->field[i].name, name, name_bytes))
			return false;	/* said twice: a word of the text */
	if (parse_typed(text, bytes, type, &number))
		return add_number(out, name, name_bytes, number);
	return add_text(out, name, name_bytes, text, bytes);
}

static size_t name_bytes_of(const char *word, size_t bytes)
{
	size_t nr = 0;

	while (nr < bytes && (isalnum((unsigned char)word[nr]) || word[nr] == '_'))
		nr++;
	return nr;
}

static void pairs_parse(const char *event, const char *at, struct text_fields *out)
{
	out->nr = 0;
	out->text_used = 0;
	out->is_whole = true;
	/* writeback events begin with "bdi 7:0:" */
	if (!strncmp(at, "bdi ", 4)) {
		size_t bytes = strcspn(at + 4, " \t");

		if (bytes > 1 && at[4 + bytes - 1] == ':' &&
		    pair_add(out, event, "bdi", 3, at + 4, bytes - 1))
			at += 4 + bytes;
	}
	for (;;) {
		size_t bytes, name_bytes;

		at += strspn(at, " \t,;");
		bytes = strcspn(at, " \t,;");
		if (!bytes)
			return;
		name_bytes = name_bytes_of(at, bytes);
		if (!name_bytes || name_bytes >= bytes || at[name_bytes] != '=' ||
		    !pair_add(out, event, at, name_bytes, at + name_bytes + 1,
			      bytes - name_bytes - 1))
			out->is_whole = false;
		at += bytes;
	}
}

void text_fields_parse(const char *name, const char *payload, struct text_fields *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if (strcmp(forms[i].event, name) || !form_match(forms[i].form, payload, out))
			continue;
		out->is_whole = true;
		return;
	}
	pairs_parse(name, payload, out);
}

/* What the catalogue does not offer, by its prefix. */
static const struct {
	const char *prefix, *system;
} prefixes[] = {
	{ "mm_vmscan_", "vmscan" },	{ "mm_shrink_slab_", "vmscan" },
	{ "mm_filemap_", "filemap" },	{ "mm_lru_", "pagemap" },
	{ "page_fault_", "exceptions" }, { "writeback_", "writeback" },
	{ "ext4_", "ext4" },
};

const char *text_system_find(const char *name)
{
	for (int g = 0; g < nr_event_groups; g++) {
		const struct event_group *group = &event_groups[g];

		for (int i = 0; i < group->nr_events; i++) {
			const struct catalogue_event *event = &group->events[i];

			for (size_t n = 0; n < ARRAY_SIZE(event->names) && event->names[n]; n++)
				if (!strcmp(event->names[n], name))
					return event->system;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (!strncmp(name, prefixes[i].prefix, strlen(prefixes[i].prefix)))
			return prefixes[i].system;
	return "unknown";
}
