/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STATS_SCHEDPATH_H
#define TARE_STATS_SCHEDPATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Where a time between two moments went, from what the scheduler did with a
 * program's threads. The path is walked backwards from the end: a thread runs
 * since it was put on a CPU; before that it waited since it was woken; before
 * that, whoever woke it ran. So every moment has one reason, and the parts add up
 * to the whole:
 *
 *	wake-up   a thread was woken, and the CPU that it came to was idle: the way
 *	          out of the idle state and through the scheduler
 *	cpu wait  a thread was woken or taken off, and its CPU was busy with another
 *	running   a thread of the program ran
 *	rest      none of them was on a CPU or on its way to one, or the trace does not say
 *
 * Pure. Threads are numbers; 0 is nobody: the idle task, an interrupt, or a thread that is not the program's.
 */
enum sched_kind { SCHED_SWITCH, SCHED_WAKE };
enum sched_flags {
	SCHED_FROM_OURS = 1 << 0,     /* the thread that is taken off, or that wakes */
	SCHED_TO_OURS = 1 << 1,       /* the thread that is put on, or that is woken */
	SCHED_FROM_RUNNABLE = 1 << 2, /* taken off though it could go on */
	SCHED_FROM_IDLE = 1 << 3,     /* the CPU was idle */
};

struct sched_event {
	int64_t at_ns;
	uint32_t from, to; /* SCHED_SWITCH: taken off, put on; SCHED_WAKE: waker, woken */
	uint16_t cpu;
	uint8_t kind, flags;
};

enum path_part { PATH_WAKE_UP, PATH_CPU_WAIT, PATH_RUNNING, PATH_REST, PATH_PARTS };
extern const char *const path_part_names[PATH_PARTS]; /* "wake_up", ... */

struct sched_path; /* the events as each thread's times on a CPU */

/* Events in any order (they are sorted in place). NULL: out of memory. */
struct sched_path *sched_path_create(struct sched_event *events, size_t count);
void sched_path_destroy(struct sched_path *p); /* NULL is fine */

/* Did one of the threads run at some moment from..to? */
bool sched_path_runs(const struct sched_path *p, int64_t from_ns, int64_t to_ns);

/* ret_ns[part], together to_ns - from_ns. to_ns >= from_ns. */
void sched_path_divide(const struct sched_path *p, int64_t from_ns, int64_t to_ns, int64_t ret_ns[PATH_PARTS]);

/*
 * Narrow down how far the clock of stamps is from that of the events: whoever took a
 * stamp ran at that moment. Of the offsets in [low, high] those are left at which the
 * most stamps (less half a percent, for what was not recorded) were taken by a running
 * thread; `resolution_ns`: stamps are cut down to it. The answer is within what
 * came in; no stamps: the same.
 */
void sched_path_narrow(const struct sched_path *p, const int64_t *stamps_ns, size_t count, int64_t resolution_ns,
		       double *low_ns, double *high_ns);

#endif
