// SPDX-License-Identifier: GPL-2.0-or-later
/* import_read.c - lines of a text file, and the numbering of ids by first appearance. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/import_read.h"

enum { BUFFER_BYTES = 4 * LINE_MAX_BYTES, FIRST_SLOTS = 4096 };

struct line_reader {
	int fd;
	char *path;
	uint64_t number;
	size_t start, end;	/* unread bytes of the buffer */
	bool at_end;
	bool in_cut_line;	/* its rest is to be skipped */
	char buffer[BUFFER_BYTES + 1];
};

int line_reader_open(struct line_reader **out, const char *path, struct err *err)
{
	struct line_reader *r = calloc(1, sizeof(*r));

	*out = NULL;
	if (!r)
		return err_set(err, -ENOMEM, "no memory to read '%s'", path);
	r->path = strdup(path);
	r->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (r->fd < 0 || !r->path) {
		int code = r->path ? -errno : -ENOMEM;

		line_reader_close(r);
		return err_sys(err, code, "cannot open '%s'", path);
	}
	*out = r;
	return 0;
}

void line_reader_close(struct line_reader *r)
{
	if (!r)
		return;
	if (r->fd >= 0)
		close(r->fd);
	free(r->path);
	free(r);
}

uint64_t line_reader_number(const struct line_reader *r)
{
	return r->number;
}

static int fill(struct line_reader *r, struct err *err)
{
	ssize_t got;

	memmove(r->buffer, r->buffer + r->start, r->end - r->start);
	r->end -= r->start;
	r->start = 0;
	do {
		got = read(r->fd, r->buffer + r->end, BUFFER_BYTES - r->end);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return err_sys(err, -errno, "cannot read '%s' behind line %llu", r->path,
			       (unsigned long long)r->number);
	r->at_end = got == 0;
	r->end += (size_t)got;
	return 0;
}

/* Moves to the start of a line: past the rest of one that was cut. */
static int skip_cut(struct line_reader *r, struct err *err)
{
	while (r->in_cut_line) {
		char *newline = memchr(r->buffer + r->start, '\n', r->end - r->start);
		int ret;

		r->start = newline ? (size_t)(newline + 1 - r->buffer) : r->end;
		r->in_cut_line = !newline && !r->at_end;
		if (!r->in_cut_line)
			break;
		ret = fill(r, err);
		if (ret)
			return ret;
	}
	return 0;
}

int line_reader_next(struct line_reader *r, char **line, size_t *line_bytes, struct err *err)
{
	char *newline;
	size_t bytes;
	int ret = skip_cut(r, err);

	if (ret)
		return ret;
	for (;;) {
		newline = memchr(r->buffer + r->start, '\n', r->end - r->start);
		if (newline || r->at_end || r->end - r->start >= LINE_MAX_BYTES)
			break;
		ret = fill(r, err);
		if (ret)
			return ret;
	}
	if (r->start == r->end)
		return 0;
	bytes = (newline ? (size_t)(newline - r->buffer) : r->end) - r->start;
	*line = r->buffer + r->start;
	r->start += bytes + (newline != NULL);
	if (bytes > LINE_MAX_BYTES - 1) {
		r->in_cut_line = !newline;
		bytes = LINE_MAX_BYTES - 1;
	}
	if (bytes && (*line)[bytes - 1] == '\r')
		bytes--;
	/*
	 * behind the last line there is a byte to spare; a cut one loses a byte that is skipped
	 * anyhow
	 */
	(*line)[bytes] = '\0';
	*line_bytes = bytes;
	r->number++;
	return 1;
}

/*
 * ---- dense ids
 * -----------------------------------------------------------------------------------
 */

struct id_slot {
	uint64_t id;
	uint32_t number;	/* + 1; 0: free */
};

struct id_map {
	struct id_slot *slots;
	size_t mask;
	uint32_t nr;
};

struct id_map *id_map_new(void)
{
	struct id_map *map = calloc(1, sizeof(*map));

	if (!map)
		return NULL;
	map->mask = FIRST_SLOTS - 1;
	map->slots = calloc(FIRST_SLOTS, sizeof(*map->slots));
	if (!map->slots) {
		free(map);
		return NULL;
	}
	return map;
}

void id_map_free(struct id_map *map)
{
	if (!map)
		return;
	free(map->slots);
	free(map);
}

uint32_t id_map_count(const struct id_map *map)
{
	return map->nr;
}

static struct id_slot *slot_find(struct id_slot *slots, size_t mask, uint64_t id)
{
	uint64_t state = id;
	size_t at = rand_next(&state) & mask;

	while (slots[at].number && slots[at].id != id)
		at = (at + 1) & mask;
	return &slots[at];
}

static int id_map_grow(struct id_map *map)
{
	size_t mask = 2 * map->mask + 1;
	struct id_slot *slots = calloc(mask + 1, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i <= map->mask; i++)
		if (map->slots[i].number)
			*slot_find(slots, mask, map->slots[i].id) = map->slots[i];
	free(map->slots);
	map->slots = slots;
	map->mask = mask;
	return 0;
}

int id_map_get(struct id_map *map, uint64_t id, uint32_t *number)
{
	struct id_slot *slot = slot_find(map->slots, map->mask, id);

	if (!slot->number) {
		if (map->nr == UINT32_MAX - 1)
			return -EFBIG;
		*slot = (struct id_slot){ id, ++map->nr };
		*number = map->nr - 1;
		return (size_t)map->nr * 2 > map->mask ? id_map_grow(map) : 0;
	}
	*number = slot->number - 1;
	return 0;
}
