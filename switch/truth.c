/* SPDX-License-Identifier: Apache-2.0 */
#include "truth.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int64_t clock_ns(bool wall)
{
	struct timespec t;

	clock_gettime(wall ? CLOCK_REALTIME : CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void switch_clock_start(struct switch_clock *clock, bool wall, const struct truth *truth)
{
	clock->wall = wall;
	clock->truth = *truth;
	clock->start_ns = clock_ns(wall);
}

uint64_t switch_clock_us(const struct switch_clock *clock)
{
	int64_t us = (clock_ns(clock->wall) - clock->start_ns) / 1000;

	if (clock->truth.clock_step_us && us >= (int64_t)clock->truth.clock_step_at_us)
		us += clock->truth.clock_step_us;
	us += clock->truth.clock_offset_us;
	return us < 0 ? 0 : (uint64_t)us;
}

bool truth_any(const struct truth *t)
{
	return t->hold_us || t->loss_ppm || t->duplicate_ppm || t->clock_offset_us || t->clock_step_us ||
	       t->cold_sleep_us;
}

void truth_describe(const struct truth *t, char *ret, unsigned size_bytes)
{
	unsigned n = 0;

	ret[0] = '\0';
#define SAY(condition, ...)                                                                                            \
	if ((condition) && n < size_bytes)                                                                             \
	n += (unsigned)snprintf(ret + n, size_bytes - n, __VA_ARGS__)
	SAY(t->hold_us, ", delay %" PRIu64 " us", t->hold_us);
	SAY(t->loss_ppm, ", loss %" PRIu32 " ppm", t->loss_ppm);
	SAY(t->duplicate_ppm, ", duplication %" PRIu32 " ppm", t->duplicate_ppm);
	SAY(t->clock_offset_us, ", clock off by %" PRId64 " us", t->clock_offset_us);
	SAY(t->clock_step_us, ", clock steps by %" PRId64 " us at %" PRIu64 " us", t->clock_step_us,
	    t->clock_step_at_us);
	SAY(t->cold_sleep_us, ", sleeps %" PRIu64 " us after %" PRIu64 " us idle", t->cold_sleep_us, t->cold_after_us);
#undef SAY
	if (n >= 2)
		memmove(ret, ret + 2, strlen(ret + 2) + 1);
}
