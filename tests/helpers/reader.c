// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * reader.c - makes files and reads them, and knows how many pages it asked for.
 *
 *	make FILE BYTES			a file with content, on disk
 *	makedir DIR NR			NR files of 1 to 24000 bytes
 *	read FILE BYTES NR seq|random	NR reads of BYTES each, not past the end; file cold
 *	cat DIR BYTES			each file to its end, BYTES at a time; files cold
 *	write FILE BYTES NR		NR whole buffered writes of BYTES at random places
 *	hold FILE SECONDS		keeps the file open
 *	touch FILE NR			NR pages at random through a mapping each, so that each
 *					reads around; file cold
 *	idle BYTES COMMAND [ARG...]	the command beside so much touched memory that idles
 *
 * read, cat and write print the pages asked for: each read or write counts the pages it touches,
 * cut at the end of the file.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096 };

static uint64_t state = 88172645463325252ull;

static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void make(const char *path, uint64_t bytes, int sync)
{
	static char buf[1 << 16];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0)
		die(path);
	while (bytes) {
		size_t want = bytes < sizeof(buf) ? bytes : sizeof(buf);
		ssize_t put;

		for (size_t i = 0; i < sizeof(buf); i += 8)
			memcpy(buf + i, &(uint64_t){ next() }, 8);
		put = write(fd, buf, want);
		if (put <= 0)
			die(path);
		bytes -= (uint64_t)put;
	}
	if ((sync && fsync(fd)) || close(fd))
		die(path);
}

static void cool(int fd)
{
	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

static uint64_t pages_of(uint64_t at, uint64_t bytes)
{
	return bytes ? (at + bytes - 1) / PAGE - at / PAGE + 1 : 0;
}

static uint64_t read_file(const char *path, size_t bytes, uint64_t nr, int is_random)
{
	int fd = open(path, O_RDONLY);
	uint64_t pages = 0, places, at = 0;
	char *buf = malloc(bytes);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !buf)
		die(path);
	cool(fd);
	places = (uint64_t)st.st_size / bytes;
	for (uint64_t i = 0; i < nr; i++) {
		at = is_random ? next() % places : i % places;
		if (pread(fd, buf, bytes, (off_t)(at * bytes)) != (ssize_t)bytes)
			die("pread");
		pages += pages_of(at * bytes, bytes);
	}
	close(fd);
	free(buf);
	return pages;
}

static uint64_t cat_file(const char *path, char *buf, size_t bytes)
{
	int fd = open(path, O_RDONLY);
	uint64_t pages = 0, at = 0;
	ssize_t got;

	if (fd < 0)
		die(path);
	cool(fd);
	while ((got = read(fd, buf, bytes)) > 0) {
		pages += pages_of(at, (uint64_t)got);
		at += (uint64_t)got;
	}
	if (got < 0)
		die(path);
	close(fd);
	return pages;
}

static uint64_t cat_dir(const char *dir, size_t bytes)
{
	DIR *d = opendir(dir);
	char *buf = malloc(bytes), path[4096];
	struct dirent *entry;
	uint64_t pages = 0;

	if (!d || !buf)
		die(dir);
	while ((entry = readdir(d))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		pages += cat_file(path, buf, bytes);
	}
	closedir(d);
	free(buf);
	return pages;
}

static uint64_t write_file(const char *path, size_t bytes, uint64_t nr)
{
	int fd = open(path, O_WRONLY);
	uint64_t pages = 0;
	char *buf = calloc(1, bytes);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !buf)
		die(path);
	for (uint64_t i = 0; i < nr; i++) {
		uint64_t at = next() % ((uint64_t)st.st_size / bytes);

		if (pwrite(fd, buf, bytes, (off_t)(at * bytes)) != (ssize_t)bytes)
			die("pwrite");
		pages += pages_of(at * bytes, bytes);
	}
	close(fd);
	free(buf);
	return pages;
}

static uint64_t touch_file(const char *path, uint64_t nr)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < nr; i++) {
		int fd = open(path, O_RDONLY);
		struct stat st;
		char *map;

		if (fd < 0 || fstat(fd, &st))
			die(path);
		if (!i)
			cool(fd);
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
		if (map == MAP_FAILED)
			die("mmap");
		sum += *(volatile char *)&map[next() % (uint64_t)st.st_size];
		munmap(map, (size_t)st.st_size);
		close(fd);
	}
	return nr + 0 * sum;
}

/* The status of @command. */
static int idle(size_t bytes, char **command)
{
	char *memory = malloc(bytes);
	int status = 0;
	pid_t pid;

	if (!memory)
		die("malloc");
	for (size_t i = 0; i < bytes; i += 8)
		memcpy(memory + i, &(uint64_t){ next() }, 8);
	pid = fork();
	if (!pid) {
		execvp(command[0], command);
		die(command[0]);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		die("fork");
	free(memory);
	return status != 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	char path[4096];

	if (!strcmp(what, "make") && argc == 4) {
		make(argv[2], strtoull(argv[3], NULL, 10), 1);
	} else if (!strcmp(what, "makedir") && argc == 4) {
		for (int i = 0; i < atoi(argv[3]); i++) {
			snprintf(path, sizeof(path), "%s/f%d", argv[2], i);
			make(path, 1 + next() % 24000, 0);
		}
		if (syncfs(open(argv[2], O_RDONLY | O_DIRECTORY)))
			die(argv[2]);
	} else if (!strcmp(what, "read") && argc == 6) {
		printf("%llu\n", (unsigned long long)read_file(argv[2], (size_t)atol(argv[3]),
			strtoull(argv[4], NULL, 10), !strcmp(argv[5], "random")));
	} else if (!strcmp(what, "cat") && argc == 4) {
		printf("%llu\n", (unsigned long long)cat_dir(argv[2], (size_t)atol(argv[3])));
	} else if (!strcmp(what, "write") && argc == 5) {
		printf("%llu\n", (unsigned long long)write_file(argv[2], (size_t)atol(argv[3]),
			strtoull(argv[4], NULL, 10)));
	} else if (!strcmp(what, "hold") && argc == 4) {
		if (open(argv[2], O_RDONLY) < 0)
			die(argv[2]);
		usleep((useconds_t)(1e6 * atof(argv[3])));
	} else if (!strcmp(what, "touch") && argc == 4) {
		printf("%llu\n", (unsigned long long)touch_file(argv[2],
			strtoull(argv[3], NULL, 10)));
	} else if (!strcmp(what, "idle") && argc >= 4) {
		return idle((size_t)strtoull(argv[2], NULL, 10), argv + 3);
	} else {
		fprintf(stderr, "usage: reader make|makedir|read|cat|write|hold|touch|idle ...\n");
		return 2;
	}
	return 0;
}
