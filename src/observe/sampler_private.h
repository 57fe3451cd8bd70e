/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_OBSERVE_SAMPLER_PRIVATE_H
#define TARE_OBSERVE_SAMPLER_PRIVATE_H

#include <dirent.h>
#include <time.h>

#include "observe/sampler.h"

/*
 * The parts of the sampler that read: each has its files open, and puts the columns
 * of one sample into a row. Columns that cannot be read stay SAMPLER_NONE.
 */
struct reading_thread {
	uint32_t subject;
	pid_t tid;
	int schedstat_fd; /* -1: it ended; `last` are then its last values */
	int64_t last[THREAD_COLUMNS];
};

struct reading_process {
	uint32_t subject;
	pid_t pid;
	int folder_fd, stat_fd;
	DIR *tasks;
	clockid_t clock;
	bool has_clock;
	bool gone;
	int64_t known_threads; /* as of the last look into `tasks` */
	struct reading_thread *threads;
	size_t thread_count, thread_capacity;
};

/* -ESRCH and others where it is not there. */
int reading_process_open(struct reading_process *p, const char *root, pid_t pid);
void reading_process_close(struct reading_process *p);

/* False: it is gone, and nothing was read. `ends`: the columns that are read at the ends too. */
bool reading_process_row(struct reading_process *p, bool ends, int64_t v[]);

/* Threads that appeared since the last look: calls fn for each with its name; fn gives it a subject. 0 or -ENOMEM. */
typedef int reading_new_thread_fn(void *context, struct reading_process *p, struct reading_thread *thread,
				  const char *name);
int reading_process_threads(struct reading_process *p, reading_new_thread_fn *fn, void *context);

/* False: it ended before this. */
bool reading_thread_row(struct reading_thread *t, int64_t v[]);

/* --- text of the kernel, pure --- */

/* One line of /proc/net/dev. Returns what follows the line, or NULL at the end of the text. */
const char *net_dev_line(const char *text, char name[static 64], int64_t v[static INTERFACE_COLUMNS]);

/* The first line of /proc/stat: busy, idle and steal, ticks of ticks_hz. False: it is none. */
bool stat_cpu_line(const char *text, long ticks_hz, int64_t v[static MACHINE_COLUMNS]);

/* "some ... total=US": in ns, or SAMPLER_NONE. */
int64_t pressure_total_ns(const char *text);

/* Of /proc/PID/stat. False: it is not one, or the process is a zombie. */
bool process_stat(const char *text, long page_bytes, int64_t v[static PROCESS_COLUMNS]);

/* "RUN WAIT SLICES". */
bool schedstat_line(const char *text, int64_t v[static THREAD_COLUMNS]);

/* The number behind "key:" at the beginning of a line, or SAMPLER_NONE. */
int64_t keyed_number(const char *text, const char *key);

/* pread from the beginning into buf, ended by a NUL. Its length, or -errno. */
long read_again(int fd, char *buf, size_t size_bytes);

#endif
