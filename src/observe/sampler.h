/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_OBSERVE_SAMPLER_H
#define TARE_OBSERVE_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "lab/netns.h"

/*
 * What processes, interfaces and the machine use, sampled by a thread of its own on
 * an absolute schedule (start + n * interval: no drift). Everything is a
 * counter or a level as the kernel keeps it; what is made of them is usage.h's.
 * Files stay open and are read in place; nothing is allocated between two samples
 * but room for rows. What the thread itself takes is in the log.
 *
 * CPU time comes from the scheduler's nanosecond counters: of a process from its
 * CPU clock, which is exact at the moment of reading and keeps what ended threads
 * used; of a thread from schedstat, which may lag by one tick of the kernel.
 */
#define SAMPLER_NONE INT64_MIN /* the host does not tell */

enum sampler_kind { SAMPLER_PROCESS, SAMPLER_THREAD, SAMPLER_INTERFACE, SAMPLER_MACHINE, SAMPLER_KINDS };

/* Columns by kind; ns, bytes or events. "ends" are read in the first and the last sample only, for what they cost. */
enum {
	PROCESS_CPU,
	PROCESS_WAIT,   /* runnable, but not on a CPU; all threads, those that ended too */
	PROCESS_SLICES, /* times that a thread was given a CPU; likewise */
	PROCESS_RSS,
	PROCESS_MINOR, /* page faults */
	PROCESS_MAJOR,
	PROCESS_THREADS,
	PROCESS_PSS,         /* ends; shared pages divided by who shares them */
	PROCESS_VOLUNTARY,   /* ends; switches away because it blocked, of the threads that live */
	PROCESS_INVOLUNTARY, /* ends */
	PROCESS_COLUMNS
};
enum { THREAD_CPU, THREAD_WAIT, THREAD_SLICES, THREAD_COLUMNS };
enum {
	INTERFACE_RX_PACKETS,
	INTERFACE_RX_BYTES,
	INTERFACE_RX_DROPPED,
	INTERFACE_TX_PACKETS,
	INTERFACE_TX_BYTES,
	INTERFACE_TX_DROPPED,
	INTERFACE_COLUMNS
};
enum {
	MACHINE_BUSY, /* all CPUs together; in steps of the kernel's ticks */
	MACHINE_IDLE,
	MACHINE_STEAL,
	MACHINE_PRESSURE_CPU, /* some task waited for it */
	MACHINE_PRESSURE_MEMORY,
	MACHINE_PRESSURE_IO,
	MACHINE_COLUMNS
};
enum { SAMPLER_COLUMNS_MOST = PROCESS_COLUMNS };

/* The names of a kind's columns, as tables call them; column_count of them. */
struct sampler_kind_names {
	const char *name; /* "process" */
	const char *const *columns;
	uint32_t column_count;
};
extern const struct sampler_kind_names sampler_kinds[SAMPLER_KINDS];

struct sampler_subject {
	enum sampler_kind kind;
	uint32_t owner; /* index of the process or network in the configuration; 0 for the machine */
	pid_t tid;      /* of processes and threads; else 0 */
	bool gone;      /* it ended or vanished while it was sampled */
	char name[64];  /* "switch 1", "switch 1: data-plane-0", "switch 1: p1", "machine" */
};

struct sampler_row {
	uint32_t sample; /* number in the schedule: missed ones leave a hole */
	uint32_t subject;
	int64_t at_ns; /* when it was read, since the start */
	int64_t v[SAMPLER_COLUMNS_MOST];
};

struct sampler_log {
	int64_t interval_ns;
	int64_t elapsed_ns; /* from the first sample to the last */
	uint32_t samples, missed;
	int64_t late_max_ns; /* latest beginning of a sample behind its schedule */
	int64_t own_cpu_ns;  /* of the sampler's thread, from the first sample to the last */
	struct sampler_subject *subjects;
	uint32_t subject_count;
	struct sampler_row *rows; /* in order of sample, then subject */
	size_t row_count;
};

struct sampler_process {
	pid_t pid;
	const char *name;
};

struct sampler_network {
	const struct netns *netns; /* NULL: the caller's; every interface in it but lo */
	const char *name;
};

struct sampler_config {
	int64_t interval_ns;
	int32_t cpu; /* where its thread runs; -1: anywhere */
	const struct sampler_process *processes;
	uint32_t process_count;
	const struct sampler_network *networks;
	uint32_t network_count;
	const char *root; /* before /proc, for tests; NULL: this host */
};

#define SAMPLER_INTERVAL_LEAST_NS INT64_C(1000000)

struct sampler;

/*
 * Takes the first sample before it returns. A process that is not there: ERR_HOST, -ESRCH, named. What a host does not
 * have (pressure, proportional memory) is SAMPLER_NONE in the rows. What config points to is borrowed until sampler_stop,
 * but for root.
 */
int sampler_start(const struct sampler_config *config, struct sampler **ret, struct err *err);

/*
 * Takes the last sample and ends. *ret is the caller's (sampler_log_release). -ENOMEM when rows
 * did not fit: the message says so, and the sampler is gone all the same. NULL: 0, and an empty log.
 */
int sampler_stop(struct sampler *s, struct sampler_log *ret, struct err *err);

void sampler_log_release(struct sampler_log *log);

#endif
