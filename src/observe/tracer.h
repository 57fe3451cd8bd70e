/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_OBSERVE_TRACER_H
#define TARE_OBSERVE_TRACER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "stats/schedpath.h"

/*
 * Follows the threads of some processes through the kernel's scheduler: when each
 * is woken and by whom, put on a CPU, taken off. Two small BPF programs write an
 * event into a ring that is emptied every now and then by a thread of this process;
 * the kernel never wakes it, since that would be in the trace itself. What
 * the programs are is in tracer_program.c, instruction by instruction: nothing is compiled,
 * nothing but libbpf is needed. Needs CAP_BPF and CAP_PERFMON, or root, and a kernel
 * with BTF from 5.18 on.
 */
enum { TRACER_PROCESSES_MOST = 8, TRACER_EVENTS_MOST = 8000000 };

struct tracer;

struct tracer_config {
	const pid_t *processes; /* with all their threads, later ones too */
	uint32_t process_count;
	int32_t cpu; /* where the ring is emptied; -1: anywhere */
};

struct trace {
	struct sched_event *events; /* CLOCK_REALTIME; nearly in order */
	size_t count;
	uint64_t dropped;      /* events that were not recorded, for want of room */
	int64_t clock_step_ns; /* by how much CLOCK_REALTIME moved against CLOCK_MONOTONIC meanwhile */
};

/* Is it allowed here? 0, or ERR_HOST with why not and what to do. Loads and attaches, changes nothing. */
int tracer_try(struct err *err);

int tracer_start(const struct tracer_config *config, struct tracer **ret, struct err *err);
/* Ends it. *ret is the caller's (trace_release). NULL: an empty trace. -ENOMEM: events are missing. */
int tracer_stop(struct tracer *t, struct trace *ret, struct err *err);
void trace_release(struct trace *trace);

/* What to do where it is not allowed; the end of such messages. */
#define TRACER_ADVICE                                                                                                  \
	"run as root (or give the program CAP_BPF and CAP_PERFMON), on a kernel from 5.18 on with BTF "                \
	"(/sys/kernel/btf/vmlinux), outside a container's PID namespace; without it, the scheduler's counters give a " \
	"coarser answer"

#endif
