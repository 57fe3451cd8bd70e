/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STATS_FIGURE_H
#define TARE_STATS_FIGURE_H

#include <stdint.h>

/*
 * What statistics answer with. A figure is a number, or it fell on lost probes, or it is refused because the
 * data cannot say; none of the three is ever a NaN. All zeros is a refusal. Times are in the unit of what
 * went in.
 */
enum figure_state {
	FIGURE_REFUSED = 0, /* too little data: have < need */
	FIGURE_NUMBER = 1,
	FIGURE_LOST = 2, /* at +infinity: more probes are lost than the quantile leaves room for */
};

struct figure {
	enum figure_state state;
	double value; /* FIGURE_NUMBER; FIGURE_LOST: INFINITY; FIGURE_REFUSED: 0 */
	uint64_t have;
	uint64_t need; /* the fewest that would do; print a refusal as n<need */
};

/* An interval for a figure. */
struct interval {
	enum figure_state state; /* FIGURE_LOST: open above, high is INFINITY (low too if it lies on lost probes) */
	double low, high;        /* FIGURE_REFUSED: 0 */
	double confidence;       /* asked for, 0.95 */
	double coverage; /* what it really gives; refused: the best that `have` could give (5 restarts: 0.9375) */
	uint64_t have, need;
};

/* A number with its standard uncertainty and the degrees of freedom of that; INFINITY: known. */
struct measured {
	double value, u, dof;
};

struct figure figure_number(double value);
struct figure figure_refused(uint64_t have, uint64_t need);
/* Multiply by a positive factor: ticks to ns. */
struct figure figure_scale(struct figure f, double factor);
struct interval interval_scale(struct interval i, double factor);

#endif
