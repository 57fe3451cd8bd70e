/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "base/vec.h"
#include "observe/sampler_private.h"

enum { TEXT_BYTES = 16384, FIRST_ROWS = 4096 };

/* Files of the machine, in the order of their columns. */
enum { FILE_STAT, FILE_CPU, FILE_MEMORY, FILE_IO, FILES };
static const char *const machine_paths[FILES] = { "/proc/stat", "/proc/pressure/cpu", "/proc/pressure/memory",
						  "/proc/pressure/io" };

static const char *const process_columns[] = { "cpu",          "wait",    "slices", "rss",       "minor_faults",
					       "major_faults", "threads", "pss",    "voluntary", "involuntary" };
static const char *const thread_columns[] = { "cpu", "wait", "slices" };
static const char *const interface_columns[] = { "rx_packets", "rx_bytes", "rx_dropped",
						 "tx_packets", "tx_bytes", "tx_dropped" };
static const char *const machine_columns[] = {
	"busy", "idle", "steal", "pressure_cpu", "pressure_memory", "pressure_io"
};

const struct sampler_kind_names sampler_kinds[SAMPLER_KINDS] = {
	[SAMPLER_PROCESS] = { "process", process_columns, PROCESS_COLUMNS },
	[SAMPLER_THREAD] = { "thread", thread_columns, THREAD_COLUMNS },
	[SAMPLER_INTERFACE] = { "interface", interface_columns, INTERFACE_COLUMNS },
	[SAMPLER_MACHINE] = { "machine", machine_columns, MACHINE_COLUMNS },
};

struct network {
	int dev_fd;
	char name[32];
};

struct sampler {
	struct sampler_config config;
	char root[256];
	struct reading_process *processes;
	struct network *networks;
	int machine_fd[FILES];
	uint32_t machine_subject;
	long ticks_hz;

	pthread_t thread;
	bool started;
	sem_t stop;
	int64_t start_ns; /* CLOCK_MONOTONIC of sample 0 */

	/* The thread's, to be read once it has ended: */
	int error; /* -ENOMEM: rows are missing; 0 */
	int64_t cpu_first_ns, cpu_last_ns;
	int64_t first_ns, last_ns;
	uint32_t samples, missed;
	int64_t late_max_ns;
	VEC(struct sampler_subject) subjects;
	VEC(struct sampler_row) rows;
	char text[TEXT_BYTES];
};

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* --- subjects and rows --- */

static int subject_add(struct sampler *s, enum sampler_kind kind, uint32_t owner, pid_t tid, uint32_t *ret)
{
	const struct sampler_subject subject = { .kind = kind, .owner = owner, .tid = tid };

	if (vec_push(&s->subjects, subject) < 0)
		return -ENOMEM;
	*ret = (uint32_t)s->subjects.count - 1;
	return 0;
}

static void subject_name(struct sampler *s, uint32_t subject, const char *owner, const char *name)
{
	struct sampler_subject *to = &s->subjects.items[subject];

	snprintf(to->name, sizeof(to->name), "%.28s%s%.32s", owner, *owner && *name ? ": " : "", name);
	utf8_repair(to->name);
}

/* A row of this subject, all of it SAMPLER_NONE yet; NULL when there is no room. */
static struct sampler_row *row_begin(struct sampler *s, uint32_t sample, uint32_t subject)
{
	struct sampler_row *row;

	if (vec_reserve_one(&s->rows) < 0) {
		s->error = -ENOMEM;
		return NULL;
	}
	row = &s->rows.items[s->rows.count];
	row->sample = sample;
	row->subject = subject;
	for (int i = 0; i < SAMPLER_COLUMNS_MOST; i++)
		row->v[i] = SAMPLER_NONE;
	row->at_ns = clock_ns(CLOCK_MONOTONIC) - s->start_ns;
	return row;
}

/* Is kept where it could be read; else its subject is gone. */
static void row_end(struct sampler *s, const struct sampler_row *row, bool good)
{
	if (good)
		s->rows.count++;
	else
		s->subjects.items[row->subject].gone = true;
}

/* --- a sample --- */

struct new_thread {
	struct sampler *sampler;
	uint32_t owner;
};

static int name_thread(void *context, struct reading_process *p, struct reading_thread *thread, const char *name)
{
	const struct new_thread *to = context;
	struct sampler *s = to->sampler;
	char words[48];
	int rc = subject_add(s, SAMPLER_THREAD, to->owner, thread->tid, &thread->subject);

	(void)p;
	snprintf(words, sizeof(words), "%.24s %d", name, (int)thread->tid);
	if (rc == 0)
		subject_name(s, thread->subject, s->config.processes[to->owner].name, words);
	return rc;
}

/* Threads first: what the process waited is their sum. They have rows of their own at the ends only. */
static void sample_process(struct sampler *s, uint32_t sample, uint32_t i, bool ends)
{
	struct new_thread context = { s, i };
	struct reading_process *p = &s->processes[i];
	struct sampler_row *row;
	int64_t threads;

	if (p->gone)
		return;
	for (size_t t = 0; t < p->thread_count; t++) {
		int64_t unused[THREAD_COLUMNS];

		row = ends ? row_begin(s, sample, p->threads[t].subject) : NULL;
		if (row)
			row_end(s, row, reading_thread_row(&p->threads[t], row->v));
		else
			reading_thread_row(&p->threads[t], unused);
	}
	row = row_begin(s, sample, p->subject);
	if (!row)
		return;
	row_end(s, row, reading_process_row(p, ends, row->v));
	threads = row->v[PROCESS_THREADS];
	if (!p->gone && threads != p->known_threads && reading_process_threads(p, name_thread, &context) < 0)
		s->error = -ENOMEM;
}

static bool is_interface(const struct sampler *s, uint32_t subject, uint32_t network, const char *name)
{
	const struct sampler_subject *is = &s->subjects.items[subject];
	size_t prefix = strlen(s->networks[network].name);

	return is->kind == SAMPLER_INTERFACE && is->owner == network && !is->gone &&
	       strcmp(is->name + prefix + (prefix ? 2 : 0), name) == 0;
}

/* They keep their order in the file, so the one behind the last is tried first. */
static int interface_subject(struct sampler *s, uint32_t network, const char *name, uint32_t *at)
{
	for (uint32_t i = 0; i < s->subjects.count; i++) {
		uint32_t subject = (*at + 1 + i) % (uint32_t)s->subjects.count;

		if (is_interface(s, subject, network, name)) {
			*at = subject;
			return 0;
		}
	}
	if (subject_add(s, SAMPLER_INTERFACE, network, 0, at) < 0)
		return -ENOMEM;
	subject_name(s, *at, s->networks[network].name, name);
	return 0;
}

/* One that has a row of an earlier sample but none of this is gone; a name that comes again later is another subject. */
static void mark_gone(struct sampler *s, uint32_t network, size_t first_row)
{
	for (uint32_t i = 0; i < s->subjects.count; i++) {
		struct sampler_subject *is = &s->subjects.items[i];
		bool seen = false;

		if (is->kind != SAMPLER_INTERFACE || is->owner != network)
			continue;
		for (size_t r = first_row; r < s->rows.count && !seen; r++)
			seen = s->rows.items[r].subject == i;
		is->gone |= !seen;
	}
}

static void sample_network(struct sampler *s, uint32_t sample, uint32_t network)
{
	size_t first_row = s->rows.count;
	uint32_t at = s->machine_subject;
	char name[64];
	int64_t v[INTERFACE_COLUMNS];
	const char *text = s->text;

	if (read_again(s->networks[network].dev_fd, s->text, sizeof(s->text)) < 0)
		s->text[0] = '\0';
	while ((text = net_dev_line(text, name, v)) != NULL) {
		struct sampler_row *row;

		if (strcmp(name, "lo") == 0)
			continue;
		if (interface_subject(s, network, name, &at) < 0) {
			s->error = -ENOMEM;
			return;
		}
		row = row_begin(s, sample, at);
		if (!row)
			return;
		memcpy(row->v, v, sizeof(v));
		row_end(s, row, true);
	}
	mark_gone(s, network, first_row);
}

static void sample_machine(struct sampler *s, uint32_t sample)
{
	struct sampler_row *row = row_begin(s, sample, s->machine_subject);

	if (!row)
		return;
	if (s->machine_fd[FILE_STAT] >= 0 && read_again(s->machine_fd[FILE_STAT], s->text, 256) > 0)
		stat_cpu_line(s->text, s->ticks_hz, row->v);
	for (int f = FILE_CPU; f < FILES; f++)
		if (s->machine_fd[f] >= 0 && read_again(s->machine_fd[f], s->text, 256) > 0)
			row->v[MACHINE_PRESSURE_CPU + f - FILE_CPU] = pressure_total_ns(s->text);
	row_end(s, row, true);
}

static void take_sample(struct sampler *s, uint32_t sample, bool ends)
{
	if (s->samples++ == 0) {
		s->cpu_first_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		s->first_ns = clock_ns(CLOCK_MONOTONIC);
	}
	for (uint32_t i = 0; i < s->config.process_count; i++)
		sample_process(s, sample, i, ends);
	for (uint32_t i = 0; i < s->config.network_count; i++)
		sample_network(s, sample, i);
	sample_machine(s, sample);
	s->cpu_last_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	s->last_ns = clock_ns(CLOCK_MONOTONIC);
}

/* --- the thread --- */

/* Until sample `n` is due. True: it is to stop. */
static bool wait_for(struct sampler *s, uint32_t n)
{
	const int64_t at_ns = s->start_ns + n * s->config.interval_ns;
	const struct timespec at = { .tv_sec = at_ns / 1000000000, .tv_nsec = at_ns % 1000000000 };
	int rc;

	do
		rc = sem_clockwait(&s->stop, CLOCK_MONOTONIC, &at);
	while (rc < 0 && errno == EINTR);
	return rc == 0;
}

static void *sample_all(void *context)
{
	struct sampler *s = context;
	uint32_t n = 1;

	s->cpu_first_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	while (!wait_for(s, n)) {
		int64_t now_ns = clock_ns(CLOCK_MONOTONIC), late_ns;
		uint32_t due = (uint32_t)((now_ns - s->start_ns) / s->config.interval_ns);

		s->missed += due - n;
		n = due;
		late_ns = now_ns - s->start_ns - n * s->config.interval_ns;
		if (late_ns > s->late_max_ns)
			s->late_max_ns = late_ns;
		take_sample(s, n++, false);
	}
	take_sample(s, n, true);
	return NULL;
}

static int start_thread(struct sampler *s, struct err *err)
{
	pthread_attr_t attributes;
	cpu_set_t cpus;
	int rc;

	pthread_attr_init(&attributes);
	if (s->config.cpu >= 0) {
		CPU_ZERO(&cpus);
		CPU_SET(s->config.cpu, &cpus);
		pthread_attr_setaffinity_np(&attributes, sizeof(cpus), &cpus);
	}
	rc = pthread_create(&s->thread, &attributes, sample_all, s);
	pthread_attr_destroy(&attributes);
	s->started = rc == 0;
	return rc ? err_set(err, ERR_HOST, rc, "cannot start the sampler: %s", strerror(rc)) : 0;
}

/* --- opening and closing --- */

static int open_below(const struct sampler *s, const char *path)
{
	char whole[512];

	snprintf(whole, sizeof(whole), "%s%s", s->root, path);
	return open(whole, O_RDONLY | O_CLOEXEC);
}

static int open_processes(struct sampler *s, const struct sampler_config *config, struct err *err)
{
	for (uint32_t i = 0; i < config->process_count; i++) {
		const struct sampler_process *from = &config->processes[i];
		struct new_thread context = { s, i };
		int rc = reading_process_open(&s->processes[i], s->root, from->pid);

		if (rc < 0)
			return err_set(err, ERR_HOST, -rc, "cannot sample %s (process %d): %s", from->name,
				       (int)from->pid, strerror(-rc));
		if (subject_add(s, SAMPLER_PROCESS, i, from->pid, &s->processes[i].subject) < 0)
			return err_set(err, ERR_HOST, ENOMEM, "out of memory");
		subject_name(s, s->processes[i].subject, from->name, "");
		if (reading_process_threads(&s->processes[i], name_thread, &context) < 0)
			return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	}
	return 0;
}

static int open_networks(struct sampler *s, const struct sampler_config *config, struct err *err)
{
	for (uint32_t i = 0; i < config->network_count; i++) {
		const struct sampler_network *from = &config->networks[i];
		int back = -1, rc = from->netns ? netns_enter(from->netns, &back, err) : 0;

		if (rc < 0)
			return rc;
		snprintf(s->networks[i].name, sizeof(s->networks[i].name), "%s", from->name);
		/* the open file keeps the network it was opened in */
		s->networks[i].dev_fd = open_below(s, "/proc/thread-self/net/dev");
		rc = s->networks[i].dev_fd < 0 ? -errno : 0;
		if (from->netns)
			netns_leave(back);
		if (rc < 0)
			return err_set(err, ERR_HOST, -rc, "cannot read the interfaces of %s: %s", from->name,
				       strerror(-rc));
	}
	return 0;
}

static int open_machine(struct sampler *s, struct err *err)
{
	for (int f = 0; f < FILES; f++)
		s->machine_fd[f] = open_below(s, machine_paths[f]); /* one that is not there has no columns */
	if (subject_add(s, SAMPLER_MACHINE, 0, 0, &s->machine_subject) < 0)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	subject_name(s, s->machine_subject, "", "machine");
	return 0;
}

static int open_all(struct sampler *s, const struct sampler_config *config, struct err *err)
{
	int rc;

	s->processes = calloc(config->process_count + 1, sizeof(*s->processes));
	s->networks = calloc(config->network_count + 1, sizeof(*s->networks));
	if (!s->processes || !s->networks ||
	    vec_grow((void **)&s->rows.items, &s->rows.capacity, FIRST_ROWS, sizeof(*s->rows.items)) < 0)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	for (uint32_t i = 0; i < config->process_count; i++)
		s->processes[i].folder_fd = s->processes[i].stat_fd = -1;
	for (uint32_t i = 0; i < config->network_count; i++)
		s->networks[i].dev_fd = -1;
	rc = open_machine(s, err);
	if (rc == 0)
		rc = open_processes(s, config, err);
	return rc < 0 ? rc : open_networks(s, config, err);
}

static void release(struct sampler *s)
{
	for (uint32_t i = 0; s->processes && i < s->config.process_count; i++)
		reading_process_close(&s->processes[i]);
	for (uint32_t i = 0; s->networks && i < s->config.network_count; i++)
		if (s->networks[i].dev_fd >= 0)
			close(s->networks[i].dev_fd);
	for (int f = 0; f < FILES; f++)
		if (s->machine_fd[f] >= 0)
			close(s->machine_fd[f]);
	sem_destroy(&s->stop);
	free(s->processes);
	free(s->networks);
	free(s->subjects.items);
	free(s->rows.items);
	free(s);
}

int sampler_start(const struct sampler_config *config, struct sampler **ret, struct err *err)
{
	struct sampler *s = calloc(1, sizeof(*s));
	int rc;

	TARE_ASSERT(config->interval_ns >= SAMPLER_INTERVAL_LEAST_NS);
	if (!s)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	sem_init(&s->stop, 0, 0);
	s->config = *config;
	s->ticks_hz = sysconf(_SC_CLK_TCK);
	for (int f = 0; f < FILES; f++)
		s->machine_fd[f] = -1;
	snprintf(s->root, sizeof(s->root), "%s", config->root ? config->root : "");
	rc = open_all(s, config, err);
	if (rc == 0) {
		s->start_ns = clock_ns(CLOCK_MONOTONIC);
		take_sample(s, 0, true);
		rc = start_thread(s, err);
	}
	if (rc < 0) {
		release(s);
		return rc;
	}
	*ret = s;
	return 0;
}

int sampler_stop(struct sampler *s, struct sampler_log *ret, struct err *err)
{
	int rc = 0;

	*ret = (struct sampler_log){ 0 };
	if (!s)
		return 0;
	sem_post(&s->stop);
	pthread_join(s->thread, NULL);
	if (s->error < 0) {
		rc = err_set(err, ERR_HOST, -s->error, "out of memory for samples of resources: %zu rows fit",
			     s->rows.count);
	} else {
		*ret = (struct sampler_log){
			.interval_ns = s->config.interval_ns,
			.elapsed_ns = s->last_ns - s->first_ns,
			.samples = s->samples,
			.missed = s->missed,
			.late_max_ns = s->late_max_ns,
			.own_cpu_ns = s->cpu_last_ns - s->cpu_first_ns,
			.subjects = s->subjects.items,
			.subject_count = (uint32_t)s->subjects.count,
			.rows = s->rows.items,
			.row_count = s->rows.count,
		};
		s->subjects.items = NULL;
		s->rows.items = NULL;
	}
	release(s);
	return rc;
}

void sampler_log_release(struct sampler_log *log)
{
	free(log->subjects);
	free(log->rows);
	*log = (struct sampler_log){ 0 };
}
