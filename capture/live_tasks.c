// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * live_tasks.c - the chosen tasks, and name and cgroup of every task that events mention.
 *
 * The kernel follows children (event-fork); tasks that move into the chosen cgroup later are added
 * when cgroup_attach_task says so. Those that move out stay: the list cannot lose one entry
 * without a moment in which it is empty, which means everyone. Their rows in the task table say
 * when they moved.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/live.h"

struct pid_list {
	uint32_t *pid;
	size_t nr, room;
};

/* What is known of a task, by its pid in a hash table. */
struct known_task {
	uint32_t pid;		/* 0: an empty slot */
	uint32_t tgid;
	const char *cgroup;	/* one of tasks.cgroups; NULL: unknown */
};

struct tasks {
	const struct trace_instance *demand;
	const struct memcg_mount *mount;
	struct queue *queue;
	char cgroup[CGROUP_PATH_BYTES];	/* "" if none was chosen */
	struct pid_list chosen, demanding;
	const char *home;	/* one of cgroups, or NULL */
	char **cgroups;		/* every path once */
	size_t nr_cgroups;
	struct known_task *known;
	size_t nr_known, slots;	/* slots: a power of two or 0 */
};

static int list_add(struct pid_list *list, uint32_t pid)
{
	if (list->nr == list->room) {
		size_t room = list->room ? 2 * list->room : 64;
		uint32_t *grown = realloc(list->pid, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		list->pid = grown;
		list->room = room;
	}
	list->pid[list->nr++] = pid;
	return 0;
}

struct tasks *tasks_new(const struct trace_instance *demand, const struct memcg_mount *mount,
			struct queue *queue)
{
	struct tasks *t = calloc(1, sizeof(*t));

	if (t) {
		t->demand = demand;
		t->mount = mount;
		t->queue = queue;
	}
	return t;
}

void tasks_free(struct tasks *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->nr_cgroups; i++)
		free(t->cgroups[i]);
	free(t->cgroups);
	free(t->known);
	free(t->chosen.pid);
	free(t->demanding.pid);
	free(t);
}

/* ---- choosing ------------------------------------------------------------------------------- */

int tasks_choose_pid(struct tasks *t, uint32_t pid, struct err *err)
{
	struct dirent *entry;
	char path[64];
	int code = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	d = opendir(path);
	if (!d)
		return err_set(err, -EINVAL, "no process %u", pid);
	while (!code && (entry = readdir(d)))
		if (entry->d_name[0] != '.')
			code = list_add(&t->chosen, (uint32_t)strtoul(entry->d_name, NULL, 10));
	closedir(d);
	return code;
}

static int choose_below(struct tasks *t, const char *dir, int depth)
{
	char path[2 * CGROUP_PATH_BYTES], *text, *pid, *save = NULL;
	struct dirent *entry;
	int code = 0;
	DIR *d;

	snprintf(path, sizeof(path), "%s/%s", dir,
		 t->mount->version == 1 ? "tasks" : "cgroup.threads");
	text = file_slurp(path, NULL);
	for (pid = text ? strtok_r(text, "\n", &save) : NULL; pid && !code;
	     pid = strtok_r(NULL, "\n", &save))
		code = list_add(&t->chosen, (uint32_t)strtoul(pid, NULL, 10));
	free(text);
	d = depth < 16 ? opendir(dir) : NULL;
	while (!code && d && (entry = readdir(d))) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
		    strlen(dir) + strlen(entry->d_name) + 32 > sizeof(path))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		code = choose_below(t, path, depth + 1);
	}
	if (d)
		closedir(d);
	return code;
}

int tasks_choose_cgroup(struct tasks *t, const char *path, struct err *err)
{
	char dir[CGROUP_PATH_BYTES + 300];
	int code = memcg_resolve(t->mount, path, t->cgroup, sizeof(t->cgroup), err);

	if (code)
		return code;
	snprintf(dir, sizeof(dir), "%s%s", t->mount->root, t->cgroup);
	return choose_below(t, dir, 0);
}

bool tasks_any_chosen(const struct tasks *t)
{
	return t->chosen.nr || t->cgroup[0];
}

static void on_news(struct tasks *t, const struct new_task *n);

static int tell_kernel(const struct tasks *t, const uint32_t *pid, size_t nr, struct err *err)
{
	char *text = malloc(nr * 12 + 1);
	size_t used = 0;
	int code;

	if (!text)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		used += (size_t)sprintf(text + used, "%u ", pid[i]);
	code = trace_write(t->demand, "set_event_pid", text, true, err);
	free(text);
	return code;
}

int tasks_apply(struct tasks *t, struct err *err)
{
	uint32_t nobody = PID_MAP_BITS - 1;	/* an empty list would mean everyone */
	int code = trace_write(t->demand, "options/event-fork", "1", false, err);

	if (code)
		return code;
	for (size_t i = 0; i < t->chosen.nr; i++)
		on_news(t, &(struct new_task){ .pid = t->chosen.pid[i], .ts_ns = mono_ns() });
	if (!t->chosen.nr)
		return tell_kernel(t, &nobody, 1, err);
	return tell_kernel(t, t->chosen.pid, t->chosen.nr, err);
}

/* ---- what events mention -------------------------------------------------------------------- */

static uint32_t read_tgid(uint32_t pid)
{
	char path[64], *text, *at;
	uint32_t tgid = 0;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	text = file_slurp(path, NULL);
	at = text ? strstr(text, "\nTgid:") : NULL;
	if (at)
		tgid = (uint32_t)strtoul(at + 6, NULL, 10);
	free(text);
	return tgid;
}

static const char *intern(struct tasks *t, const char *cgroup)
{
	char **grown;

	for (size_t i = 0; i < t->nr_cgroups; i++)
		if (!strcmp(t->cgroups[i], cgroup))
			return t->cgroups[i];
	grown = realloc(t->cgroups, (t->nr_cgroups + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	t->cgroups = grown;
	grown[t->nr_cgroups] = strdup(cgroup);
	return grown[t->nr_cgroups] ? grown[t->nr_cgroups++] : NULL;
}

void tasks_set_home(struct tasks *t, const char *cgroup)
{
	t->home = intern(t, cgroup);
}

static struct known_task *slot_of(const struct tasks *t, uint32_t pid)
{
	size_t at = pid * 2654435761u & (t->slots - 1);

	while (t->known[at].pid && t->known[at].pid != pid)
		at = (at + 1) & (t->slots - 1);
	return &t->known[at];
}

static bool grow(struct tasks *t)
{
	struct tasks old = *t;
	size_t slots = t->slots ? 2 * t->slots : 1024;
	struct known_task *known = calloc(slots, sizeof(*known));

	if (!known)
		return false;
	t->known = known;
	t->slots = slots;
	for (size_t i = 0; i < old.slots; i++)
		if (old.known[i].pid)
			*slot_of(t, old.known[i].pid) = old.known[i];
	free(old.known);
	return true;
}

/* The entry of @pid, new if need be (*fresh); NULL: no memory. */
static struct known_task *know(struct tasks *t, uint32_t pid, bool *fresh)
{
	struct known_task *k;

	if (2 * (t->nr_known + 1) > t->slots && !grow(t))
		return NULL;
	k = slot_of(t, pid);
	*fresh = !k->pid;
	if (*fresh) {
		k->pid = pid;
		t->nr_known++;
	}
	return k;
}

static void look_up(struct tasks *t, struct known_task *k, bool is_demand)
{
	char path[CGROUP_PATH_BYTES];

	k->tgid = read_tgid(k->pid);
	if (memcg_of_pid(t->mount, (int)k->pid, path, sizeof(path)))
		k->cgroup = intern(t, path);
	else if (!k->cgroup && is_demand)
		k->cgroup = t->home;
}

static void read_comm(uint32_t pid, char *comm, size_t comm_bytes)
{
	char path[64], *text;

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	text = file_slurp(path, NULL);
	if (text)
		snprintf(comm, comm_bytes, "%.*s", (int)strcspn(text, "\n"), text);
	free(text);
}

static void tell(struct tasks *t, const struct known_task *k, const char *comm, uint64_t ts_ns)
{
	struct item *item = item_new(ITEM_TASK, 0);

	if (!item)
		return;
	item->task = (struct found_task){ .pid = k->pid, .ts_ns = ts_ns, .tgid = k->tgid };
	snprintf(item->task.comm, sizeof(item->task.comm), "%s", comm);
	item->task.cgroup = k->cgroup ? strdup(k->cgroup) : NULL;
	queue_put(t->queue, item);
}

/* Seen for the first time, or fork, exec, exit of it. */
static void on_news(struct tasks *t, const struct new_task *n)
{
	struct known_task *k, *parent;
	const char *cgroup = NULL;
	char comm[32] = "";
	bool fresh;

	if (!n->pid) {
		tell(t, &(struct known_task){ .pid = 0 }, "swapper", n->ts_ns);
		return;
	}
	parent = n->parent && t->slots ? slot_of(t, n->parent) : NULL;
	if (parent && parent->pid)
		cgroup = parent->cgroup;
	k = know(t, n->pid, &fresh);
	if (!k)
		return;
	if (fresh || n->news == NEWS_FORK) {	/* a pid can be used again */
		*k = (struct known_task){ .pid = n->pid, .cgroup = cgroup };
		look_up(t, k, n->stream == STREAM_DEMAND);
	}
	if (n->news == NEWS_NONE)
		read_comm(n->pid, comm, sizeof(comm));
	tell(t, k, n->comm[0] ? n->comm : comm, n->ts_ns);
}

static bool is_in_chosen_cgroup(const struct tasks *t, const char *path)
{
	size_t len = strlen(t->cgroup);

	if (!len)
		return false;
	if (!strcmp(t->cgroup, "/"))
		return true;
	return !strncmp(path, t->cgroup, len) && (path[len] == '/' || !path[len]);
}

static void follow(struct tasks *t, const struct attach *a)
{
	size_t before = t->chosen.nr;
	struct known_task *k;
	bool fresh;

	k = know(t, a->pid, &fresh);
	if (k) {
		if (fresh)
			k->tgid = read_tgid(a->pid);
		k->cgroup = intern(t, a->path);
		tell(t, k, "", a->ts_ns);
	}
	if (!is_in_chosen_cgroup(t, a->path))
		return;
	if (!tasks_choose_pid(t, a->pid, NULL))
		tell_kernel(t, t->chosen.pid + before, t->chosen.nr - before, NULL);
}

void tasks_update(struct tasks *t, const struct new_task *fresh, size_t nr_fresh,
		  const struct attach *attached, size_t nr_attached)
{
	for (size_t i = 0; i < nr_attached; i++)
		follow(t, &attached[i]);
	for (size_t i = 0; i < nr_fresh; i++) {
		on_news(t, &fresh[i]);
		if (fresh[i].stream == STREAM_DEMAND && fresh[i].news == NEWS_NONE)
			list_add(&t->demanding, fresh[i].pid);
	}
}

const uint32_t *tasks_demanding(const struct tasks *t, size_t *nr)
{
	*nr = t->demanding.nr;
	return t->demanding.pid;
}

int each_kthread(const char *prefix, void (*fn)(void *ctx, uint32_t pid, const char *comm),
		 void *ctx)
{
	DIR *d = opendir("/proc");
	struct dirent *entry;
	int nr = 0;

	while (d && (entry = readdir(d))) {
		char path[300], comm[64], *text;

		if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		text = file_slurp(path, NULL);
		snprintf(comm, sizeof(comm), "%.*s", text ? (int)strcspn(text, "\n") : 0,
			 text ? text : "");
		free(text);
		snprintf(path, sizeof(path), "/proc/%s/exe", entry->d_name);
		if (strncmp(comm, prefix, strlen(prefix)) || readlink(path, &(char){ 0 }, 1) > 0)
			continue;	/* a program of that name is no kernel thread */
		fn(ctx, (uint32_t)strtoul(entry->d_name, NULL, 10), comm);
		nr++;
	}
	if (d)
		closedir(d);
	return nr;
}
