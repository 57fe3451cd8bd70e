/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_LAB_PROCESS_H
#define TARE_LAB_PROCESS_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "lab/netns.h"

/*
 * A child: in a process group and a namespace of its own, its output kept in a
 * file, its death noticed at once. It is killed when the thread that started it
 * ends (so start it from a thread that lives as long as it should), and carries
 * TARE_LAB=<label> in its environment, by which `tare clean` finds it after all.
 */
struct process;

struct process_options {
	const char *name;          /* in messages: "switch 3" */
	const char *const *argv;   /* ends with NULL; argv[0] is looked for in PATH */
	const struct netns *netns; /* NULL: this thread's */
	const char *label;         /* lab_line's label, or NULL: "tare-PID" */
	const char *directory;     /* where it starts; NULL: here */
	const char *log_path;      /* its output, truncated; NULL: an unnamed file that goes with it */
	const cpu_set_t *cpus;     /* where it may run; NULL: as this thread */
};

/* Starts it; that it cannot be executed is found here: ERR_HOST, -ENOENT and the like. */
int process_start(const struct process_options *options, struct process **ret, struct err *err);

/*
 * Does it answer? 1: yes; 0: not yet; negative: it never will (with the message set). Called from process_wait_ready's
 * thread, must not block long.
 */
typedef int process_answers_fn(void *context, struct err *err);

/*
 * Ask until it answers. It dies before: -ECHILD, with how and the last lines of its output; it does not
 * within limit_ms: -ETIMEDOUT, likewise.
 */
int process_wait_ready(struct process *p, process_answers_fn *answers, void *context, int64_t limit_ms,
		       struct err *err);

/* 0: it runs. Else -ECHILD, with how it ended and the last lines of its output. Does not block. */
int process_check(struct process *p, struct err *err);

pid_t process_pid(const struct process *p);
int process_fd(const struct process *p); /* readable once it ended: for poll() */

/* The last `lines` lines of its output, as much as fits. Returns buf. */
const char *process_last_lines(struct process *p, unsigned lines, char *buf, size_t size_bytes);

/* SIGTERM to its group, no waiting: before process_stop, where several are to end at the same time. NULL is fine. */
void process_ask_to_end(struct process *p);

/*
 * SIGTERM to its group, after grace_ms SIGKILL, and all memory of it is freed.
 * False: it had to be killed, or had died before. NULL: true.
 */
bool process_stop(struct process *p, int64_t grace_ms);

#endif
