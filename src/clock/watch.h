/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_CLOCK_WATCH_H
#define TARE_CLOCK_WATCH_H

#include <stdint.h>

/*
 * Clocks and hosts are suspects. Two watches:
 *
 * A stall watch is fed the counter by a loop that never waits; a jump between two
 * readings is a hole: the host or the kernel took the core away. Owned by one
 * thread; read by others after it ended.
 */
struct stall_watch {
	uint64_t last_ticks;
	uint64_t limit_ticks; /* a longer jump is a stall */
	uint64_t stalled_ticks, longest_ticks;
	uint32_t stalls;
};

static inline void stall_watch_start(struct stall_watch *w, uint64_t now_ticks, uint64_t limit_ticks)
{
	*w = (struct stall_watch){ .last_ticks = now_ticks, .limit_ticks = limit_ticks };
}

static inline void stall_watch_feed(struct stall_watch *w, uint64_t now_ticks)
{
	uint64_t jump = now_ticks - w->last_ticks;

	w->last_ticks = now_ticks;
	if (__builtin_expect(jump > w->limit_ticks, 0)) {
		w->stalls++;
		w->stalled_ticks += jump;
		if (jump > w->longest_ticks)
			w->longest_ticks = jump;
	}
}

/*
 * A step watch finds steps of CLOCK_REALTIME. Slewing moves CLOCK_MONOTONIC and
 * CLOCK_REALTIME alike; their difference changes only when somebody sets the
 * clock. It is looked at around a run, outside measured loops.
 */
struct step_watch {
	int64_t offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
	int64_t width_ns;  /* of the bracket that offset_ns was read in */
	int64_t moved_ns;  /* sum of the steps seen */
	uint32_t steps;
};

void step_watch_start(struct step_watch *w);
/* Looks again; returns the step in ns, 0 for none. Steps smaller than the reading can tell (about 1 µs) go unseen. */
int64_t step_watch_check(struct step_watch *w);
/* The same with a reading given: CLOCK_REALTIME was `real_ns` between the two of CLOCK_MONOTONIC. Pure. */
int64_t step_watch_feed(struct step_watch *w, int64_t before_ns, int64_t real_ns, int64_t after_ns);

#endif
