/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import_read.h - inside import*.c: reading of lines and what the sniffer asks of the readers. */
#ifndef PAGEREEL_CAPTURE_IMPORT_READ_H
#define PAGEREEL_CAPTURE_IMPORT_READ_H

#include "base/base.h"

/* True: @line (no newline) is an event or a head line of ftrace text. */
bool import_text_known(const char *line, size_t line_bytes);
/* True: a single word. */
bool import_id_known(const char *line, size_t line_bytes);
/* True: @head reads as records of oracleGeneral. */
bool import_oracle_known(const uint8_t *head, size_t head_bytes);

/* ---- lines ----------------------------------------------------------------------------------- */

enum { LINE_MAX_BYTES = 65536 };

struct line_reader;

/* -errno of open(2), -ENOMEM. */
int line_reader_open(struct line_reader **reader, const char *path, struct err *err);
/*
 * 1 and *line (NUL-terminated, without its newline, may be changed in place) and *line_bytes; 0 at
 * the end; -errno of read(2). A line longer than LINE_MAX_BYTES - 1 is cut there.
 */
int line_reader_next(struct line_reader *reader, char **line, size_t *line_bytes, struct err *err);
uint64_t line_reader_number(const struct line_reader *reader);	/* of the last line, from 1 */
void line_reader_close(struct line_reader *reader);	/* NULL is fine */

/*
 * ---- dense ids
 * -----------------------------------------------------------------------------------
 */

/* Numbers 64-bit ids by first appearance. */
struct id_map;

struct id_map *id_map_new(void);
void id_map_free(struct id_map *map);
/* *number = that of @id. -ENOMEM; -EFBIG: more than 2^32 - 1 distinct ids. */
int id_map_get(struct id_map *map, uint64_t id, uint32_t *number);
uint32_t id_map_count(const struct id_map *map);

/* ---- symbols --------------------------------------------------------------------------------- */

struct tep_handle;

/* The function that begins at @address, of those a shrinker may be; NULL: none known. */
const char *import_symbol_name(struct tep_handle *tep, unsigned long long address);

#endif
