/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_CLOCK_TOLD_H
#define TARE_CLOCK_TOLD_H

#include <stdint.h>

#include "base/err.h"

/*
 * A switch's clock whose truth is told: when it was zero by the host's wall
 * clock, and what it is made wrong by. It is read from the line that
 * tare-switch --clock-record writes,
 *
 *	clock zero_utc_ns=N offset_us=N drift_ppm=N step_us=N step_at_us=N
 *
 * and gives the true host time of any of its stamps:
 * stamp = elapsed (1 + drift) + offset, and + step once elapsed (1 + drift) is step_at or more.
 */
struct told_clock {
	int64_t zero_utc_ns;
	int64_t offset_us, drift_ppm, step_us, step_at_us;
};

/* -EINVAL names what is missing. */
int told_clock_parse(const char *line, struct told_clock *ret, struct err *err);

/* The same from a file. */
int told_clock_read(const char *path, struct told_clock *ret, struct err *err);

/*
 * When the clock showed this stamp (ns), in ns since `base_utc_ns`. One that steps back shows some stamps twice: the
 * time nearer to `near_ns` is meant. Less the stamp it is host - switch, what an alignment should find.
 */
double told_clock_host_ns(const struct told_clock *c, int64_t base_utc_ns, double stamp_ns, double near_ns);

#endif
