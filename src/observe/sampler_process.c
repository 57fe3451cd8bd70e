/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "observe/sampler_private.h"

enum { TEXT_BYTES = 4096 };

static int64_t clock_read_ns(clockid_t clock)
{
	struct timespec now;

	return clock_gettime(clock, &now) == 0 ? now.tv_sec * INT64_C(1000000000) + now.tv_nsec : SAMPLER_NONE;
}

int reading_process_open(struct reading_process *p, const char *root, pid_t pid)
{
	char path[512];
	int tasks_fd;

	*p = (struct reading_process){ .pid = pid, .folder_fd = -1, .stat_fd = -1 };
	if ((size_t)snprintf(path, sizeof(path), "%s/proc/%d", root, (int)pid) >= sizeof(path))
		return -ENAMETOOLONG;
	p->folder_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->folder_fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	p->stat_fd = openat(p->folder_fd, "stat", O_RDONLY | O_CLOEXEC);
	tasks_fd = openat(p->folder_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	p->tasks = tasks_fd >= 0 ? fdopendir(tasks_fd) : NULL;
	if (p->stat_fd < 0 || !p->tasks) {
		int error = errno;

		if (tasks_fd >= 0 && !p->tasks)
			close(tasks_fd);
		reading_process_close(p);
		return error == ENOENT ? -ESRCH : -error;
	}
	/* a made-up host has no clocks */
	p->has_clock = !*root && clock_getcpuclockid(pid, &p->clock) == 0;
	return 0;
}

void reading_process_close(struct reading_process *p)
{
	for (size_t i = 0; i < p->thread_count; i++)
		if (p->threads[i].schedstat_fd >= 0)
			close(p->threads[i].schedstat_fd);
	free(p->threads);
	p->threads = NULL;
	p->thread_count = p->thread_capacity = 0;
	if (p->tasks)
		closedir(p->tasks);
	p->tasks = NULL;
	if (p->stat_fd >= 0)
		close(p->stat_fd);
	if (p->folder_fd >= 0)
		close(p->folder_fd);
	p->stat_fd = p->folder_fd = -1;
}

bool reading_thread_row(struct reading_thread *t, int64_t v[])
{
	char text[128];

	if (t->schedstat_fd < 0)
		return false;
	if (read_again(t->schedstat_fd, text, sizeof(text)) <= 0 || !schedstat_line(text, t->last)) {
		close(t->schedstat_fd);
		t->schedstat_fd = -1;
		return false;
	}
	memcpy(v, t->last, sizeof(t->last));
	return true;
}

/* --- threads --- */

static struct reading_thread *thread_find(struct reading_process *p, pid_t tid)
{
	for (size_t i = 0; i < p->thread_count; i++)
		if (p->threads[i].tid == tid && p->threads[i].schedstat_fd >= 0)
			return &p->threads[i];
	return NULL;
}

/* What it calls itself; "" when it ended meanwhile. */
static void thread_name(struct reading_process *p, pid_t tid, char *name, size_t size_bytes)
{
	char path[64];
	int fd;
	long n;

	snprintf(path, sizeof(path), "task/%d/comm", (int)tid);
	fd = openat(p->folder_fd, path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read_again(fd, name, size_bytes) : 0;
	name[n > 0 ? strcspn(name, "\n") : 0] = '\0';
	if (fd >= 0)
		close(fd);
}

static int thread_add(struct reading_process *p, pid_t tid, reading_new_thread_fn *fn, void *context)
{
	struct reading_thread thread = { .tid = tid };
	char path[64], name[32];

	snprintf(path, sizeof(path), "task/%d/schedstat", (int)tid);
	thread.schedstat_fd = openat(p->folder_fd, path, O_RDONLY | O_CLOEXEC);
	if (thread.schedstat_fd < 0)
		return 0; /* it ended meanwhile, or this kernel keeps no such counters */
	if (vec_grow((void **)&p->threads, &p->thread_capacity, p->thread_count + 1, sizeof(*p->threads)) < 0) {
		close(thread.schedstat_fd);
		return -ENOMEM;
	}
	thread_name(p, tid, name, sizeof(name));
	p->threads[p->thread_count++] = thread;
	return fn(context, p, &p->threads[p->thread_count - 1], name);
}

int reading_process_threads(struct reading_process *p, reading_new_thread_fn *fn, void *context)
{
	struct dirent *entry;
	int64_t seen = 0;
	int rc = 0;

	rewinddir(p->tasks);
	while (rc == 0 && (entry = readdir(p->tasks)) != NULL) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid <= 0)
			continue;
		seen++;
		if (!thread_find(p, tid))
			rc = thread_add(p, tid, fn, context);
	}
	p->known_threads = seen;
	return rc;
}

/* --- the process --- */

/* Of every thread there ever was. Without the clock the sum stands for the process's CPU time too. */
static void sum_threads(const struct reading_process *p, int64_t v[])
{
	v[PROCESS_WAIT] = v[PROCESS_SLICES] = p->thread_count ? 0 : SAMPLER_NONE;
	if (v[PROCESS_CPU] == SAMPLER_NONE && p->thread_count) {
		v[PROCESS_CPU] = 0;
		for (size_t i = 0; i < p->thread_count; i++)
			v[PROCESS_CPU] += p->threads[i].last[THREAD_CPU];
	}
	for (size_t i = 0; i < p->thread_count; i++) {
		v[PROCESS_WAIT] += p->threads[i].last[THREAD_WAIT];
		v[PROCESS_SLICES] += p->threads[i].last[THREAD_SLICES];
	}
}

static int64_t keyed_file(const struct reading_process *p, const char *path, const char *key, char *text)
{
	int fd = openat(p->folder_fd, path, O_RDONLY | O_CLOEXEC);
	long n = fd >= 0 ? read_again(fd, text, TEXT_BYTES) : -1;

	if (fd >= 0)
		close(fd);
	return n > 0 ? keyed_number(text, key) : SAMPLER_NONE;
}

static void read_ends(const struct reading_process *p, int64_t v[])
{
	char text[TEXT_BYTES], path[64];
	int64_t kib = keyed_file(p, "smaps_rollup", "Pss", text);

	v[PROCESS_PSS] = kib == SAMPLER_NONE ? SAMPLER_NONE : kib * 1024;
	for (size_t i = 0; i < p->thread_count; i++) {
		int64_t voluntary, involuntary;

		snprintf(path, sizeof(path), "task/%d/status", (int)p->threads[i].tid);
		voluntary = keyed_file(p, path, "voluntary_ctxt_switches", text);
		if (voluntary == SAMPLER_NONE)
			continue; /* it has ended */
		involuntary = keyed_number(text, "nonvoluntary_ctxt_switches");
		v[PROCESS_VOLUNTARY] = voluntary + (v[PROCESS_VOLUNTARY] == SAMPLER_NONE ? 0 : v[PROCESS_VOLUNTARY]);
		v[PROCESS_INVOLUNTARY] =
			involuntary + (v[PROCESS_INVOLUNTARY] == SAMPLER_NONE ? 0 : v[PROCESS_INVOLUNTARY]);
	}
}

bool reading_process_row(struct reading_process *p, bool ends, int64_t v[])
{
	char text[TEXT_BYTES];

	if (p->gone)
		return false;
	v[PROCESS_CPU] = p->has_clock ? clock_read_ns(p->clock) : SAMPLER_NONE;
	if (read_again(p->stat_fd, text, sizeof(text)) <= 0 || !process_stat(text, sysconf(_SC_PAGESIZE), v)) {
		p->gone = true;
		return false;
	}
	sum_threads(p, v);
	if (ends)
		read_ends(p, v);
	return true;
}
