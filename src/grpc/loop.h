/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_GRPC_LOOP_H
#define TARE_GRPC_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/*
 * One event loop, one thread: descriptors (epoll), timers, and work deferred to
 * the end of the turn, which is where connections flush what a turn's callbacks
 * have queued. Watches, timers and deferred work are structs in their owner;
 * the loop links to them and never frees them.
 */
struct loop;

enum loop_events {
	LOOP_READ = 1 << 0,
	LOOP_WRITE = 1 << 1,
	LOOP_GONE = 1 << 2, /* error or hang-up; always reported */
};

struct loop_watch {
	int fd;
	unsigned events;
	void (*ready)(struct loop_watch *watch, unsigned events);
	bool active; /* the loop's */
};

struct loop_timer {
	int64_t due_ns; /* CLOCK_MONOTONIC */
	void (*fire)(struct loop_timer *timer);
	uint32_t place; /* the loop's: 1 + index in its heap; 0: not set */
};

struct loop_deferred {
	void (*run)(struct loop_deferred *deferred);
	struct loop_deferred *next;
	bool queued;
};

/* -errno on failure. */
int loop_create(struct loop **ret_loop, struct err *err);
void loop_destroy(struct loop *loop); /* NULL is fine; what is still watched is forgotten */

int loop_watch(struct loop *loop, struct loop_watch *watch, unsigned events); /* add, or change the events */
void loop_unwatch(struct loop *loop, struct loop_watch *watch);               /* safe inside any callback */

int loop_timer_set(struct loop *loop, struct loop_timer *timer, int64_t due_ns); /* add, or move */
void loop_timer_clear(struct loop *loop, struct loop_timer *timer);

void loop_defer(struct loop *loop, struct loop_deferred *deferred); /* once, before the next wait */
void loop_undefer(struct loop *loop, struct loop_deferred *deferred);

/*
 * One turn: wait at most `wait_ns` (negative: for ever), then call what is ready. A turn that finds deferred work runs
 * it and does not wait. 0, or -errno of epoll.
 */
int loop_turn(struct loop *loop, int64_t wait_ns);

/*
 * After a turn with events, stay awake for `spin_ns` looking for the next ones before sleeping; 0 (the default): sleep
 * at once. Waking a core that sleeps costs tens of µs where a hypervisor is asked to; two ends that answer each other
 * within that time need not. Where it does not pay (nothing came in time, or the CPU was another's meanwhile) it is tried less and
 * less often, down to one turn in 1024: eight servers on two CPUs would keep each other from work.
 */
void loop_set_spin(struct loop *loop, int64_t spin_ns);

/* Turns until loop_stop is called from a callback, or from another thread or a signal handler. */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop); /* async-signal-safe */

/* The descriptor to poll when this loop lives inside another one. */
int loop_fd(const struct loop *loop);

int64_t loop_now_ns(void); /* CLOCK_MONOTONIC */

#endif
