// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * import_salvage.c - the readable part of a trace.dat that was cut short by a full disk or a broken
 * copy.
 *
 * libtracecmd refuses such files (or crashes): version 6 states the place and size of each CPU's
 * pages before them, version 7 behind them. Here the file's frame is walked with every length
 * checked, and if it ends too early a copy is made that is whole again: of version 6 with sizes
 * that fit what is there; of version 7 with the number of compressed chunks that are complete and
 * with the closing section that was lost. The copy has no name and goes with its descriptor.
 *
 * The frame is described in trace-cmd.dat.v6(5) and trace-cmd.dat.v7(5). In version 7 the place of
 * the second and later CPUs' data is in the lost section, too: each begins on the page behind the
 * one before. Uncompressed version 7 has no marks between CPUs and is kept only if it has one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/import_salvage.h"

enum {
	OPTION_DONE = 0, OPTION_BUFFER = 3, OPTION_TRACECLOCK = 4, OPTION_CPUCOUNT = 8,
	SECTION_COMPRESSED = 1, SECTION_HEADER_BYTES = 16, CHUNK_MAX_BYTES = 1 << 26,
	SALVAGE_MAX_CPUS = 1024, MAX_STRINGS = 64,
};

/* The file, and where reading stands. A read beyond the end gives 0 and sets short_. */
struct frame {
	const uint8_t *data;
	uint64_t bytes, at;
	bool big_endian, short_;
	uint32_t page_bytes;
	char clock[MAX_STRINGS];
};

struct cpu_data {
	uint64_t offset, bytes;
};

static bool have(struct frame *f, uint64_t bytes)
{
	if (f->at > f->bytes || bytes > f->bytes - f->at)
		f->short_ = true;
	return !f->short_;
}

static uint64_t take_number(struct frame *f, int bytes)
{
	uint64_t value = 0;

	if (!have(f, (uint64_t)bytes))
		return 0;
	for (int i = 0; i < bytes; i++) {
		int at = f->big_endian ? i : bytes - 1 - i;

		value = value << 8 | f->data[f->at + (uint64_t)at];
	}
	f->at += (uint64_t)bytes;
	return value;
}

static void skip(struct frame *f, uint64_t bytes)
{
	if (have(f, bytes))
		f->at += bytes;
}

/* Behind the NUL of a string; the string, or "" when it does not end. */
static const char *take_string(struct frame *f)
{
	const char *text = (const char *)f->data + f->at;
	const void *end = f->at < f->bytes ? memchr(text, 0, f->bytes - f->at) : NULL;

	if (!end) {
		f->short_ = true;
		return "";
	}
	f->at = (uint64_t)((const uint8_t *)end + 1 - f->data);
	return text;
}

static void put_number(const struct frame *f, uint8_t *at, uint64_t value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		at[f->big_endian ? bytes - 1 - i : i] = (uint8_t)(value >> 8 * i);
}

/* "local global [mono]": the one in brackets. */
static void clock_take(struct frame *f, uint64_t at, uint64_t bytes)
{
	const char *text = (const char *)f->data + at;
	const char *open = memchr(text, '[', bytes);
	const char *shut = open ? memchr(open, ']', bytes - (uint64_t)(open - text)) : NULL;

	if (shut && shut - open - 1 < MAX_STRINGS) {
		memcpy(f->clock, open + 1, (size_t)(shut - open - 1));
		f->clock[shut - open - 1] = '\0';
	}
}

/* ---- the copy -------------------------------------------------------------------------------- */

static int write_all(int fd, const uint8_t *data, uint64_t bytes)
{
	while (bytes) {
		ssize_t done = write(fd, data, bytes > 1 << 30 ? 1 << 30 : bytes);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? -errno : -EIO;
		data += done;
		bytes -= (uint64_t)done;
	}
	return 0;
}

static int copy_begin(const struct frame *f, uint64_t keep_bytes, int *fd, struct err *err)
{
	const char *dir = getenv("TMPDIR");
	int ret;

	*fd = open(dir && *dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (*fd < 0)
		return err_sys(err, -errno, "cannot make a temporary file for the readable part");
	ret = write_all(*fd, f->data, keep_bytes);
	return ret ? err_sys(err, ret, "cannot copy the readable part (is TMPDIR full?)") : 0;
}

static int copy_patch(const struct frame *f, int fd, uint64_t at, uint64_t value, int bytes,
		      struct err *err)
{
	uint8_t raw[8];

	put_number(f, raw, value, bytes);
	if (pwrite(fd, raw, (size_t)bytes, (off_t)at) != bytes)
		return err_sys(err, -EIO, "cannot write the readable part");
	return 0;
}

/* ---- version 6 ------------------------------------------------------------------------------- */

static void skip_sized(struct frame *f, int size_bytes)
{
	skip(f, take_number(f, size_bytes));
}

static void v6_formats(struct frame *f)
{
	uint64_t nr;

	skip(f, 12);	/* "header_page" */
	skip_sized(f, 8);
	skip(f, 13);	/* "header_event" */
	skip_sized(f, 8);
	for (nr = take_number(f, 4); nr && !f->short_; nr--)
		skip_sized(f, 8);
	for (nr = take_number(f, 4); nr && !f->short_; nr--) {
		take_string(f);
		for (uint64_t n = take_number(f, 4); n && !f->short_; n--)
			skip_sized(f, 8);
	}
	skip_sized(f, 4);	/* kallsyms */
	skip_sized(f, 4);	/* printk */
	skip_sized(f, 8);	/* command lines */
}

static void v6_options(struct frame *f)
{
	if (!have(f, 10) || memcmp(f->data + f->at, "options  ", 10))
		return;
	f->at += 10;
	while (!f->short_ && take_number(f, 2))
		skip_sized(f, 4);
}

static int v6_salvage(struct frame *f, int *fd, struct err *err)
{
	uint64_t cpus, table;
	bool cut = false;
	int ret = 0;

	v6_formats(f);
	cpus = take_number(f, 4);
	v6_options(f);
	if (!have(f, 10) || cpus == 0 || cpus > SALVAGE_MAX_CPUS)
		return -EBADMSG;
	if (memcmp(f->data + f->at, "flyrecord", 10))
		return 0;
	f->at += 10;
	table = f->at;
	for (uint64_t i = 0; i < cpus; i++) {
		uint64_t offset = take_number(f, 8), bytes = take_number(f, 8);

		cut |= offset > f->bytes || bytes > f->bytes - offset;
	}
	if (f->short_)
		return -EBADMSG;
	if (!cut)
		return 0;
	ret = copy_begin(f, f->bytes, fd, err);
	f->at = table;
	for (uint64_t i = 0; i < cpus && !ret; i++) {
		uint64_t at = f->at, offset = take_number(f, 8), bytes = take_number(f, 8);

		if (offset > f->bytes)
			bytes = 0;
		else if (bytes > f->bytes - offset)
			bytes = (f->bytes - offset) / f->page_bytes * f->page_bytes;
		if (!bytes)
			ret = copy_patch(f, *fd, at, f->page_bytes, 8, err);
		if (!ret)
			ret = copy_patch(f, *fd, at + 8, bytes, 8, err);
	}
	return ret;
}

/* ---- version 7 ------------------------------------------------------------------------------- */

/* What the chain of option sections said before it broke off. */
struct v7 {
	uint64_t link_at;	/* of the number that leads to the lost section */
	uint64_t end;		/* behind the last section that was reached */
	uint32_t nr_cpus;
	bool has_buffer;
};

/* One section of options at @offset. 0 and *next; 1: it is not there. */
static int v7_options(struct frame *f, uint64_t offset, struct v7 *v, uint64_t *next)
{
	uint64_t bytes, end;

	f->at = offset;
	skip(f, 8);
	bytes = take_number(f, 8);
	if (!have(f, bytes)) {
		f->short_ = false;
		return 1;
	}
	*next = 0;
	v->end = end = f->at + bytes;
	while (f->at < end && !f->short_) {
		uint64_t id = take_number(f, 2), size = take_number(f, 4), at = f->at;

		if (!have(f, size))
			break;
		if (id == OPTION_DONE) {
			v->link_at = at;
			*next = size >= 8 ? take_number(f, 8) : 0;
			return 0;
		}
		if (id == OPTION_CPUCOUNT && size >= 4)
			v->nr_cpus = (uint32_t)take_number(f, 4);
		else if (id == OPTION_TRACECLOCK)
			clock_take(f, at, size);
		v->has_buffer |= id == OPTION_BUFFER;
		f->at = at + size;
	}
	return f->short_ ? -EBADMSG : 0;
}

/* The complete chunks at @f->at; *count_at is where their number stands. False: there are none. */
static bool v7_chunks(struct frame *f, struct cpu_data *cpu, uint64_t *nr)
{
	uint64_t start = f->at, want = take_number(f, 4);

	for (*nr = 0; *nr < want && !f->short_; ++*nr) {
		uint64_t at = f->at, packed = take_number(f, 4), plain = take_number(f, 4);

		if (f->short_ || !packed || !plain || packed > CHUNK_MAX_BYTES ||
		    plain > CHUNK_MAX_BYTES || !have(f, packed)) {
			f->at = at;
			break;
		}
		f->at += packed;
	}
	f->short_ = false;
	*cpu = (struct cpu_data){ start, f->at - start };
	return *nr > 0;
}

static uint64_t page_up(const struct frame *f, uint64_t at)
{
	return (at + f->page_bytes - 1) / f->page_bytes * f->page_bytes;
}

/* The closing section: where the data of each CPU is. Its length; 0: no memory. */
static uint8_t *v7_closing(const struct frame *f, const struct v7 *v, const struct cpu_data *cpu,
			   size_t *bytes)
{
	const char *clock = f->clock[0] ? f->clock : "local";
	size_t clock_bytes = strlen(clock) + 1;
	size_t option = 8 + 1 + clock_bytes + 4 + 4 + 20 * (size_t)v->nr_cpus;
	uint8_t *out = calloc(1, SECTION_HEADER_BYTES + 6 + option + 6 + 8), *at = out;

	if (!out)
		return NULL;
	put_number(f, at + 8, 6 + option + 6 + 8, 8);
	at += SECTION_HEADER_BYTES;
	put_number(f, at, OPTION_BUFFER, 2);
	put_number(f, at + 2, option, 4);
	put_number(f, at + 6, v->end, 8);	/* the section that the data is in */
	at += 6 + 8 + 1;			/* the main buffer has no name */
	memcpy(at, clock, clock_bytes);
	at += clock_bytes;
	put_number(f, at, f->page_bytes, 4);
	put_number(f, at + 4, v->nr_cpus, 4);
	at += 8;
	for (uint32_t i = 0; i < v->nr_cpus; i++, at += 20) {
		put_number(f, at, i, 4);
		put_number(f, at + 4, cpu[i].offset, 8);
		put_number(f, at + 12, cpu[i].bytes, 8);
	}
	put_number(f, at, OPTION_DONE, 2);
	put_number(f, at + 2, 8, 4);
	*bytes = (size_t)(at + 6 + 8 - out);
	return out;
}

static int v7_rebuild(struct frame *f, const struct v7 *v, bool compressed, int *fd,
		      struct err *err)
{
	struct cpu_data cpu[SALVAGE_MAX_CPUS] = { { 0 } };
	uint64_t nr[SALVAGE_MAX_CPUS] = { 0 }, end = page_up(f, v->end + SECTION_HEADER_BYTES);
	uint8_t *closing;
	size_t closing_bytes;
	int ret;

	if (end >= f->bytes)
		return -EBADMSG;
	for (uint32_t i = 0; i < v->nr_cpus; i++) {
		f->at = end;
		if (!compressed && v->nr_cpus == 1)
			cpu[i] = (struct cpu_data){ end, (f->bytes - end) / f->page_bytes *
							 f->page_bytes };
		else if (!compressed || !v7_chunks(f, &cpu[i], &nr[i]))
			break;
		end = page_up(f, cpu[i].offset + cpu[i].bytes);
	}
	if (!cpu[0].bytes)
		return -EBADMSG;
	ret = copy_begin(f, end < f->bytes ? end : f->bytes, fd, err);
	for (uint32_t i = 0; i < v->nr_cpus && !ret && compressed; i++)
		if (cpu[i].bytes)
			ret = copy_patch(f, *fd, cpu[i].offset, nr[i], 4, err);
	end = (uint64_t)lseek(*fd, 0, SEEK_END);
	if (!ret)
		ret = copy_patch(f, *fd, v->link_at, end, 8, err);
	closing = v7_closing(f, v, cpu, &closing_bytes);
	if (!ret)
		ret = closing ? write_all(*fd, closing, closing_bytes) : -ENOMEM;
	free(closing);
	return ret;
}

static int v7_salvage(struct frame *f, int *fd, struct err *err)
{
	bool compressed = strcmp(take_string(f), "none") != 0;
	struct v7 v = { 0 };
	uint64_t next;
	int ret = 0;

	take_string(f);		/* the compressor's version */
	v.link_at = f->at;
	next = take_number(f, 8);
	for (int hops = 0; next && !ret && hops < 1000; hops++)
		ret = v7_options(f, next, &v, &next);
	if (ret != 1)
		return ret;	/* whole, or damaged in another way */
	if (v.has_buffer || !v.end || !v.nr_cpus || v.nr_cpus > SALVAGE_MAX_CPUS)
		return -EBADMSG;
	return v7_rebuild(f, &v, compressed, fd, err);
}

/*
 * ---- the file
 * ------------------------------------------------------------------------------------
 */

static int frame_salvage(struct frame *f, int *fd, struct err *err)
{
	const char *version;

	skip(f, 10);	/* the magic */
	version = take_string(f);
	f->big_endian = take_number(f, 1);
	skip(f, 1);	/* bytes of a long */
	f->page_bytes = (uint32_t)take_number(f, 4);
	if (f->short_ || f->page_bytes < 256 || f->page_bytes > 1 << 24)
		return -EBADMSG;
	if (!strcmp(version, "6"))
		return v6_salvage(f, fd, err);
	return strcmp(version, "7") ? 0 : v7_salvage(f, fd, err);
}

int dat_salvage(const char *path, int *out_fd, uint64_t *file_bytes, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret;
	struct frame f = { 0 };
	struct stat st;
	void *map;

	*out_fd = -1;
	if (fd < 0)
		return err_sys(err, -errno, "cannot open '%s'", path);
	ret = fstat(fd, &st) ? -errno : 0;
	map = ret || !st.st_size ? MAP_FAILED :
				   mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return err_set(err, -EBADMSG, "cannot read '%s'", path);
	f.data = map;
	f.bytes = *file_bytes = (uint64_t)st.st_size;
	ret = frame_salvage(&f, out_fd, err);
	munmap(map, (size_t)st.st_size);
	if (!ret && *out_fd >= 0 && lseek(*out_fd, 0, SEEK_SET) < 0)
		ret = -errno;
	if (ret && *out_fd >= 0) {
		close(*out_fd);
		*out_fd = -1;
	}
	if (ret == -EBADMSG)
		err_set(err, ret,
			"cannot read '%s': it ends at %llu within its head, or that is damaged; "
			"nothing can be imported",
			path, (unsigned long long)*file_bytes);
	return ret;
}
