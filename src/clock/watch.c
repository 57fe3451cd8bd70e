/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/watch.h"

#include <stdlib.h>
#include <time.h>

/* Rounding of the kernel's two time scales, and the quantum of coarse counters. */
#define STEP_FLOOR_NS 500

static int64_t read_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* The tightest of a few brackets. */
static void reading(int64_t *before_ns, int64_t *real_ns, int64_t *after_ns)
{
	int64_t best = INT64_MAX;

	for (int i = 0; i < 9; i++) {
		int64_t a = read_ns(CLOCK_MONOTONIC);
		int64_t r = read_ns(CLOCK_REALTIME);
		int64_t b = read_ns(CLOCK_MONOTONIC);

		if (b - a < best) {
			best = b - a;
			*before_ns = a;
			*real_ns = r;
			*after_ns = b;
		}
	}
}

void step_watch_start(struct step_watch *w)
{
	int64_t a = 0, r = 0, b = 0;

	reading(&a, &r, &b);
	*w = (struct step_watch){ .offset_ns = r - (a + (b - a) / 2), .width_ns = b - a };
}

int64_t step_watch_feed(struct step_watch *w, int64_t before_ns, int64_t real_ns, int64_t after_ns)
{
	int64_t offset = real_ns - (before_ns + (after_ns - before_ns) / 2);
	int64_t width = after_ns - before_ns;
	int64_t step = offset - w->offset_ns;

	if (llabs(step) <= (width + w->width_ns) / 2 + STEP_FLOOR_NS)
		return 0;
	w->steps++;
	w->moved_ns += step;
	w->offset_ns = offset;
	w->width_ns = width;
	return step;
}

int64_t step_watch_check(struct step_watch *w)
{
	int64_t a = 0, r = 0, b = 0;

	reading(&a, &r, &b);
	return step_watch_feed(w, a, r, b);
}
