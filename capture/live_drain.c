// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * live_drain.c - reads the rings, decodes, packs.
 *
 * The problem: one loop of 4 KiB preads makes 0.5-1 million events a second, 44 bytes each, and 8
 * MiB of ring are full in 0.24 s. What costs is not decoding but waking up and system calls, and
 * the wake-ups are paid by the traced program when a reader waits for its ring: the kernel then
 * looks at every event whether the watermark is reached, and sends an interrupt when it is. So
 * nobody waits here:
 *
 *   - The drain sleeps by the clock, so long that a ring at full rate is at most a fifth full when
 *     it wakes (50 ms for 8 MiB, less for less). A ring that was found more than half full is read
 *     again at once.
 *   - Sub-buffers are 64 KiB where the kernel can (6.8): one read(2) moves 1400 events. A full
 *     sub-buffer is not copied by the kernel but exchanged; only the one being written to is
 *     copied.
 *
 * A delete is an eviction when its task is inside reclaim. The mark that says so may stand in
 * another CPU's ring, so the reclaim rings of all CPUs are read first, then their begin and end
 * marks are taken, then their page events. Marks stay known for two seconds, far longer than a
 * round.
 *
 * Lost events: the kernel says with a sub-buffer that events before it were overwritten, and
 * mostly how many; else the ring's own count of overwritten events says. The gap goes from the
 * last event before to the first one after.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <traceevent/event-parse.h>
#include <unistd.h>

#include "capture/live.h"
#include "capture/subbuf.h"

enum {
	RECORDS_BYTES = 256 * 1024,
	POOL_BYTES = 8 * 1024 * 1024,
	FULL_RATE_BYTES_PER_S = 40 * 1024 * 1024,	/* 0.9 million events of 44 bytes */
};

static const uint64_t flush_after_ns = 400000000, marks_kept_ns = 2000000000;

struct ring {
	int fd;
	int cpu;
	enum event_stream stream;
	uint64_t ring_bytes;
	uint32_t subbuf_bytes;
	uint64_t last_ts_ns;	/* of the last event read; 0: none yet */
	uint64_t nr_lost;	/* told so far */
	struct page_packer *packer;
	char stats[TRACE_PATH_BYTES + 64];	/* path of the ring's statistics */
};

uint64_t mono_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- handing on ----------------------------------------------------------------------------- */

static void fail(struct drain *d, int code)
{
	int none = 0;

	atomic_compare_exchange_strong(&d->code, &none, code);
}

static void flush_packer(struct drain *d, struct ring *r)
{
	struct item *item;

	if (!r->packer || !page_packer_events(r->packer))
		return;
	item = item_new(ITEM_CHUNK, 0);
	if (!item || page_packer_take(r->packer, &item->chunk)) {
		free(item);
		fail(d, -ENOMEM);
		return;
	}
	item->bytes += item->chunk.data_bytes;
	queue_put(d->queue, item);
}

static void flush_records(struct drain *d)
{
	if (d->records)
		queue_put(d->queue, d->records);
	d->records = NULL;
}

/* Adds a raw record for the writer, which knows how to make a row of it. */
static void add_record(struct drain *d, const struct ring *r, uint64_t ts_ns, uint16_t id,
		       const void *data, uint32_t bytes)
{
	struct record_head head = { ts_ns, bytes, id, (uint16_t)r->cpu };
	size_t want = sizeof(head) + ((bytes + 7) & ~7u);

	if (want > RECORDS_BYTES)
		return;
	if (d->records && d->records->records.used + want > RECORDS_BYTES)
		flush_records(d);
	if (!d->records) {
		d->records = item_new(ITEM_RECORDS, RECORDS_BYTES);
		if (d->records)
			d->records->records.data = malloc(RECORDS_BYTES);
		if (!d->records || !d->records->records.data) {
			item_free(d->records);
			d->records = NULL;
			fail(d, -ENOMEM);
			return;
		}
		d->records_ts_ns = ts_ns;
	}
	memcpy(d->records->records.data + d->records->records.used, &head, sizeof(head));
	memcpy(d->records->records.data + d->records->records.used + sizeof(head), data, bytes);
	d->records->records.used += want;
}

static void flush_old(struct drain *d, bool all)
{
	uint64_t now = mono_ns(), before = now > flush_after_ns ? now - flush_after_ns : 0;

	for (int i = 0; i < d->nr_rings; i++) {
		struct ring *r = &d->ring[i];

		if (r->packer && page_packer_events(r->packer) &&
		    (all || page_packer_first_ts(r->packer) < before))
			flush_packer(d, r);
	}
	if (d->records && (all || d->records_ts_ns < before))
		flush_records(d);
}

/* ---- the mailbox ---------------------------------------------------------------------------- */

/* Room for one more in a growing array; NULL: no memory, and the main thread learns a little less.
 * */
static void *mail_grow(void *array, size_t *nr, size_t *room, size_t entry_bytes)
{
	void *grown;

	if (*nr < *room)
		return array;
	grown = realloc(array, (*room ? 2 * *room : 64) * entry_bytes);
	if (grown)
		*room = *room ? 2 * *room : 64;
	return grown;
}

#define MAIL_ADD(box, what, nr, room, ...) do { \
	void *grown_; \
	pthread_mutex_lock(&(box)->lock); \
	grown_ = mail_grow((box)->what, &(box)->nr, &(box)->room, sizeof(*(box)->what)); \
	if (grown_) { \
		(box)->what = grown_; \
		(box)->what[(box)->nr++] = __VA_ARGS__; \
	} \
	pthread_mutex_unlock(&(box)->lock); \
} while (0)

static void note_task(struct drain *d, const struct ring *r, uint32_t pid, uint64_t ts_ns)
{
	uint32_t bit = pid & (PID_MAP_BITS - 1);
	uint8_t *seen = d->task_seen + r->stream * (PID_MAP_BITS / 8) + bit / 8;

	if (*seen & 1 << bit % 8)
		return;
	*seen |= (uint8_t)(1 << bit % 8);
	MAIL_ADD(d->mailbox, task, nr_tasks, room_tasks,
		 (struct new_task){ .pid = pid, .stream = r->stream, .ts_ns = ts_ns });
}

static bool is_own(const struct drain *d, uint32_t dev, uint64_t ino)
{
	for (int i = 0; i < d->own->nr; i++)
		if (d->own->ino[i] == ino && d->own->dev == dev)
			return true;
	return false;
}

static void look_up_file(struct drain *d, uint32_t dev, uint64_t ino)
{
	bool fresh = false;

	d->last_dev = dev;
	d->last_ino = ino;
	d->last_is_own = is_own(d, dev, ino);
	d->last_file_id = 0;
	if (d->last_is_own)
		return;
	d->last_file_id = file_map_id(d->files, dev, ino, &fresh);
	if (fresh)
		MAIL_ADD(d->mailbox, file, nr_files, room_files,
			 (struct new_file){ d->last_file_id, dev, ino });
}

static uint32_t bdi_dev(struct drain *d, const char *name)
{
	uint32_t dev = 0;

	for (int i = 0; i < d->nr_bdis; i++)
		if (!strcmp(d->bdi[i].name, name))
			return d->bdi[i].dev;
	if (d->nr_bdis == (int)ARRAY_SIZE(d->bdi))
		return 0;
	bdi_name_dev(name, &dev);
	snprintf(d->bdi[d->nr_bdis].name, sizeof(d->bdi[0].name), "%s", name);
	d->bdi[d->nr_bdis++].dev = dev;
	return dev;
}

/* ---- events --------------------------------------------------------------------------------- */

static inline bool is_thinned_out(const struct drain *d, const struct page_source *source,
				  const struct page_event *e)
{
	return (e->page_index & d->sample_mask) && page_source_thins(source);
}

static void page_event(struct drain *d, struct ring *r, const struct live_event *event,
		       uint64_t ts_ns, const void *data, uint32_t bytes)
{
	struct page_raw raw;
	int code = event_decoder_page(event->decoder, data, bytes, &raw);

	if (code <= 0) {
		if (code)
			atomic_fetch_add_explicit(&d->nr_undecoded, 1, memory_order_relaxed);
		return;
	}
	note_task(d, r, raw.event.pid, ts_ns);
	if (raw.bdi[0])
		raw.dev = bdi_dev(d, raw.bdi);
	raw.event.file_id = 0;
	if (raw.dev) {
		if (raw.dev != d->last_dev || raw.ino != d->last_ino)
			look_up_file(d, raw.dev, raw.ino);
		if (d->last_is_own)
			return;
		raw.event.file_id = d->last_file_id;
	}
	if (d->sample_mask && is_thinned_out(d, event->source, &raw.event))
		return;
	raw.event.ts_ns = ts_ns;
	if (raw.event.op == PAGE_OP_DELETE &&
	    reclaim_marks_inside(d->marks, raw.event.pid, ts_ns))
		raw.event.flags |= PAGE_EV_IN_RECLAIM;
	if (!r->packer) {
		r->packer = page_packer_new(d->capture_id, r->cpu, d->sample_mask);
		if (!r->packer) {
			fail(d, -ENOMEM);
			return;
		}
	}
	if (page_packer_add(r->packer, &raw.event))
		flush_packer(d, r);
}

/* ---- news of tasks: rare, so fields are looked up by name ----------------------------------- */

struct news {
	struct drain *d;
	struct tep_event *event;
	struct tep_record record;
};

static bool news_number(const struct news *n, const char *field, uint32_t *value)
{
	unsigned long long v;

	if (tep_get_field_val(NULL, n->event, field, (struct tep_record *)&n->record, &v, 0))
		return false;
	*value = (uint32_t)v;
	return true;
}

static bool news_text(const struct news *n, const char *field, char *text, size_t text_bytes)
{
	int len;
	char *at = tep_get_field_raw(NULL, n->event, field, (struct tep_record *)&n->record, &len,
				     0);

	if (at)
		snprintf(text, text_bytes, "%.*s", len, at);
	return at;
}

/* cgroup_attach_task: only in the hierarchy of the memory controller. */
static void news_attach(const struct news *n, uint64_t ts_ns)
{
	struct attach a = { .ts_ns = ts_ns };
	uint32_t root;

	if (news_number(n, "dst_root", &root) && news_number(n, "pid", &a.pid) &&
	    (int)root == n->d->attach_hierarchy &&
	    news_text(n, "dst_path", a.path, sizeof(a.path)))
		MAIL_ADD(n->d->mailbox, attach, nr_attached, room_attached, a);
}

/* A task's name as the event says it, which is good even if the task is gone by now. */
static void news_name(const struct news *n, struct new_task task, const char *field)
{
	char name[512];
	const char *base;

	if (!news_text(n, field, name, sizeof(name)))
		return;
	base = strrchr(name, '/');
	snprintf(task.comm, sizeof(task.comm), "%.15s", base ? base + 1 : name);
	MAIL_ADD(n->d->mailbox, task, nr_tasks, room_tasks, task);
}

static void task_news(struct drain *d, const struct ring *r, const struct live_event *event,
		      uint64_t ts_ns, uint32_t pid, const void *data, uint32_t bytes)
{
	struct news n = { .d = d, .event = tep_find_event(d->events->tep, event->id),
			  .record = { .data = (void *)data, .size = (int)bytes } };
	struct new_task task = { .pid = pid, .stream = r->stream, .news = event->news,
				 .ts_ns = ts_ns };

	switch (event->news) {
	case NEWS_ATTACH:
		news_attach(&n, ts_ns);
		break;
	case NEWS_FORK:
		task.parent = pid;
		if (news_number(&n, "child_pid", &task.pid))
			news_name(&n, task, "child_comm");
		break;
	case NEWS_EXEC:
		news_name(&n, task, "filename");
		break;
	case NEWS_EXIT:
		news_name(&n, task, "comm");
		break;
	case NEWS_NONE:
		break;
	}
}

static void on_event(struct drain *d, struct ring *r, uint64_t ts_ns, const void *data,
		     uint32_t bytes)
{
	struct live_event *event;
	uint32_t pid;
	uint16_t id;

	memcpy(&id, data, sizeof(id));
	event = d->events->by_id[id];
	if (!event)
		return;
	/* the writer reads it */
	__atomic_store_n(&event->nr_events, event->nr_events + 1, __ATOMIC_RELAXED);
	if (event->source) {
		page_event(d, r, event, ts_ns, data, bytes);
		return;
	}
	pid = event_decoder_pid(event->decoder, data, bytes);
	note_task(d, r, pid, ts_ns);
	if (event->news)
		task_news(d, r, event, ts_ns, pid, data, bytes);
	add_record(d, r, ts_ns, id, data, bytes);
}

/* ---- sub-buffers ---------------------------------------------------------------------------- */

static uint64_t ring_overrun(const struct ring *r)
{
	char *text = file_slurp(r->stats, NULL), *at;
	uint64_t nr = 0;

	at = text ? strstr(text, "overrun:") : NULL;
	if (at)
		nr = strtoull(at + 8, NULL, 10);
	free(text);
	return nr;
}

static void put_gap(struct drain *d, struct ring *r, uint64_t to_ns, int64_t events_lost)
{
	struct item *item = item_new(ITEM_GAP, 0);

	if (!item) {
		fail(d, -ENOMEM);
		return;
	}
	item->gap = (struct gap){ r->stream, r->cpu, r->last_ts_ns ? r->last_ts_ns : to_ns, to_ns,
				  events_lost };
	r->nr_lost += events_lost > 0 ? (uint64_t)events_lost : 0;
	atomic_fetch_add(&d->nr_lost, events_lost > 0 ? (uint64_t)events_lost : 0);
	atomic_fetch_add(&d->nr_gaps, 1);
	queue_put(d->queue, item);
}

static void lost_before(struct drain *d, struct ring *r, int64_t missed, uint64_t ts_ns)
{
	int64_t nr = missed;

	if (nr < 0) {
		uint64_t overrun = ring_overrun(r);

		nr = overrun > r->nr_lost ? (int64_t)(overrun - r->nr_lost) : -1;
	}
	put_gap(d, r, ts_ns, nr);
	if (r->stream == STREAM_RECLAIM)
		reclaim_marks_reset(d->marks);
}

static void take_marks(struct drain *d, const struct ring *r, const void *page)
{
	struct subbuf s;
	const uint8_t *data;
	uint32_t bytes;

	subbuf_open(&s, page, r->subbuf_bytes);
	while ((data = subbuf_next(&s, &bytes))) {
		const struct live_event *event;
		uint16_t id;

		memcpy(&id, data, sizeof(id));
		event = d->events->by_id[id];
		if (event && event->mark &&
		    reclaim_marks_add(d->marks, event_decoder_pid(event->decoder, data, bytes),
				      s.ts_ns, event->mark))
			fail(d, -ENOMEM);
	}
}

static void take_events(struct drain *d, struct ring *r, const void *page)
{
	struct subbuf s;
	const uint8_t *data;
	uint64_t nr = 0;
	uint32_t bytes;

	subbuf_open(&s, page, r->subbuf_bytes);
	while ((data = subbuf_next(&s, &bytes))) {
		if (s.missed) {
			lost_before(d, r, s.missed, s.ts_ns);
			s.missed = 0;
		}
		on_event(d, r, s.ts_ns, data, bytes);
		r->last_ts_ns = s.ts_ns;
		nr++;
	}
	atomic_fetch_add_explicit(&d->nr_events, nr, memory_order_relaxed);
}

/* True: @buf holds the next sub-buffer. */
static bool ring_read(struct drain *d, struct ring *r, void *buf)
{
	ssize_t got;

	do
		got = read(r->fd, buf, r->subbuf_bytes);
	while (got < 0 && errno == EINTR);
	if (got < 0 && errno != EAGAIN)
		fail(d, -errno);
	return got > 0;
}

/* The bytes read; at most a ring full, since others fill meanwhile. */
static uint64_t drain_demand(struct drain *d, struct ring *r)
{
	uint64_t bytes = 0;

	while (bytes < r->ring_bytes && ring_read(d, r, d->pool)) {
		take_events(d, r, d->pool);
		bytes += r->subbuf_bytes;
	}
	return bytes;
}

/* All reclaim rings: read up to a pool full, then marks, then events; again until all are empty. */
static bool drain_reclaim_round(struct drain *d)
{
	struct ring **from = (struct ring **)(d->pool + POOL_BYTES);
	size_t used = 0;
	bool more = false;

	for (int i = 0; i < d->nr_rings; i++) {
		struct ring *r = &d->ring[i];
		size_t share = POOL_BYTES / (size_t)d->nr_rings / d->subbuf_bytes;

		if (r->stream != STREAM_RECLAIM)
			continue;
		for (size_t n = 0; n < (share ? share : 1); n++) {
			if ((used + 1) * d->subbuf_bytes > POOL_BYTES ||
			    !ring_read(d, r, d->pool + used * d->subbuf_bytes))
				break;
			from[used++] = r;
			more |= n + 1 == (share ? share : 1);
		}
	}
	for (size_t i = 0; i < used; i++)
		take_marks(d, from[i], d->pool + i * d->subbuf_bytes);
	for (size_t i = 0; i < used; i++)
		take_events(d, from[i], d->pool + i * d->subbuf_bytes);
	return more;
}

/* True: there is so much that sleeping is not wise. */
static bool drain_all(struct drain *d)
{
	uint64_t now = mono_ns();
	bool hurry = drain_reclaim_round(d);

	for (int i = 0; i < d->nr_rings; i++) {
		struct ring *r = &d->ring[i];

		if (r->stream == STREAM_DEMAND && drain_demand(d, r) > r->ring_bytes / 2)
			hurry = true;
	}
	if (now > marks_kept_ns)
		reclaim_marks_retire(d->marks, now - marks_kept_ns);
	flush_old(d, false);
	return hurry;
}

/* A higher mask holds for everything read from now on; chunks say which held for them. */
static void apply_mask(struct drain *d, uint32_t mask)
{
	for (int i = 0; i < d->nr_rings; i++) {
		flush_packer(d, &d->ring[i]);
		page_packer_free(d->ring[i].packer);
		d->ring[i].packer = NULL;
	}
	d->sample_mask = mask;
}

/* What was overwritten and never told, because no sub-buffer came after it. */
static void late_gaps(struct drain *d)
{
	for (int i = 0; i < d->nr_rings; i++) {
		struct ring *r = &d->ring[i];
		uint64_t overrun = ring_overrun(r);

		if (overrun > r->nr_lost)
			put_gap(d, r, mono_ns(), (int64_t)(overrun - r->nr_lost));
	}
}

static void *drain_thread(void *arg)
{
	struct drain *d = arg;
	bool stop;

	atomic_store(&d->tid, gettid());
	pthread_setname_np(pthread_self(), "pagereel-drain");
	setpriority(PRIO_PROCESS, (id_t)gettid(), -5);
	do {
		uint32_t mask = atomic_load(&d->wanted_mask);
		bool hurry;

		stop = atomic_load(&d->stop);	/* before the read, so that nothing is left */
		hurry = drain_all(d);
		if (mask != d->sample_mask)
			apply_mask(d, mask);
		atomic_store(&d->applied_mask, mask);
		if (!hurry && !stop)
			nanosleep(&(struct timespec){ .tv_nsec = (long)d->sleep_max_ns }, NULL);
		if (stop)
			while (drain_all(d))
				;
	} while (!stop);
	late_gaps(d);
	flush_old(d, true);
	return NULL;
}

/* ---- set-up --------------------------------------------------------------------------------- */

static int open_ring(struct drain *d, const struct trace_instance *instance,
		     enum event_stream stream, int cpu, struct err *err)
{
	struct ring *grown = realloc(d->ring, sizeof(*grown) * (size_t)(d->nr_rings + 1)), *r;
	char path[TRACE_PATH_BYTES + 64];

	if (!grown)
		return -ENOMEM;
	d->ring = grown;
	r = &d->ring[d->nr_rings];
	*r = (struct ring){ .cpu = cpu, .stream = stream, .ring_bytes = instance->ring_bytes,
			    .subbuf_bytes = instance->subbuf_bytes };
	snprintf(r->stats, sizeof(r->stats), "%s/per_cpu/cpu%d/stats", instance->path, cpu);
	snprintf(path, sizeof(path), "%s/per_cpu/cpu%d/trace_pipe_raw", instance->path, cpu);
	r->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (r->fd < 0)
		return err_sys(err, -errno, "cannot open '%s'", path);
	d->nr_rings++;
	if (d->subbuf_bytes < r->subbuf_bytes)
		d->subbuf_bytes = r->subbuf_bytes;
	return 0;
}

static int open_rings(struct drain *d, const struct trace_instance *instance,
		      enum event_stream stream, struct err *err)
{
	char path[TRACE_PATH_BYTES + 16];
	struct dirent *entry;
	int code = 0, cpu;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/per_cpu", instance->path);
	dir = opendir(path);
	if (!dir)
		return err_sys(err, -errno, "cannot list '%s'", path);
	while (!code && (entry = readdir(dir)))
		if (sscanf(entry->d_name, "cpu%d", &cpu) == 1)
			code = open_ring(d, instance, stream, cpu, err);
	closedir(dir);
	return code;
}

static void add_kswapd(void *ctx, uint32_t pid, const char *comm)
{
	reclaim_marks_add_kswapd(ctx, pid);
}

/* So long that a ring at full rate is a fifth full. */
static uint64_t sleep_for(uint64_t ring_bytes)
{
	uint64_t ns = ring_bytes * 1000 / FULL_RATE_BYTES_PER_S * 1000000 / 5;

	return ns < 1000000 ? 1000000 : ns > 50000000 ? 50000000 : ns;
}

int drain_init(struct drain *d, const struct trace_instance *instances, int64_t capture_id,
	       uint32_t first_file_id, struct err *err)
{
	size_t max_subbufs;
	int code = 0;

	d->capture_id = capture_id;
	d->sleep_max_ns = UINT64_MAX;
	for (int s = 0; !code && s < NR_STREAMS; s++) {
		uint64_t ns = sleep_for(instances[s].ring_bytes);

		code = open_rings(d, &instances[s], (enum event_stream)s, err);
		d->sleep_max_ns = ns < d->sleep_max_ns ? ns : d->sleep_max_ns;
	}
	if (code)
		return code;
	max_subbufs = POOL_BYTES / d->subbuf_bytes;
	d->pool = malloc(POOL_BYTES + max_subbufs * sizeof(struct ring *));
	d->task_seen = calloc(NR_STREAMS, PID_MAP_BITS / 8);
	d->marks = reclaim_marks_new();
	d->files = file_map_new(first_file_id);
	if (!d->pool || !d->task_seen || !d->marks || !d->files)
		return err_set(err, -ENOMEM, "no memory to read the rings");
	each_kthread("kswapd", add_kswapd, d->marks);
	return 0;
}

int drain_start(struct drain *d, struct err *err)
{
	int code = -pthread_create(&d->thread, NULL, drain_thread, d);

	if (code)
		return err_sys(err, code, "cannot start the drain thread");
	d->is_running = true;
	return 0;
}

void drain_stop(struct drain *d)
{
	if (!d->is_running)
		return;
	atomic_store(&d->stop, true);
	pthread_join(d->thread, NULL);
	d->is_running = false;
}

void drain_release(struct drain *d)
{
	for (int i = 0; i < d->nr_rings; i++) {
		close(d->ring[i].fd);
		page_packer_free(d->ring[i].packer);
	}
	free(d->ring);
	free(d->pool);
	free(d->task_seen);
	reclaim_marks_free(d->marks);
	file_map_free(d->files);
	item_free(d->records);
	*d = (struct drain){ 0 };
}
