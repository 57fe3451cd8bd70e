/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STATS_STOPPING_H
#define TARE_STATS_STOPPING_H

#include <stdint.h>

#include "stats/figure.h"

/*
 * When have there been restarts enough? The width of a cell is that of the exact 95 % order-statistic interval
 * of its median over restarts (median_interval(), the one that a report prints), from end to end, over the
 * median. A look after every restart that stopped at the first narrow interval would stop at those that are
 * narrow by luck: in simulation they hold the truth in down to 91.8 % of the campaigns. So the rule wants the
 * interval narrow STOPPING_IN_A_ROW times in a row, with one restart more each time, never counts below `least`
 * restarts, and gives up at `most`. docs/method.md has the coverage at stopping, tests/model and bench_stopping
 * how it was found.
 */
enum { STOPPING_IN_A_ROW = 2 };

struct stopping_rule {
	double width;         /* asked for: of the interval, over the median; 0.05 is 5 % */
	uint32_t least, most; /* restarts of a cell; least >= 6, where there is an interval at all */
};

enum stopping_reason {
	STOPPING_NOT, /* go on */
	STOPPING_WIDTH,
	STOPPING_MOST,
};

struct stopping {
	enum stopping_reason reason;
	uint32_t restarts; /* figures looked at: where it stopped, or all */
	double width;      /* after those; INFINITY: no interval yet, or it is lost, or the median is 0 */
	uint32_t expected; /* how many it will take in all, as far as the width tells; least where it tells nothing */
};

/* "width", "most" */
const char *stopping_reason_name(enum stopping_reason reason);

/* Of `count` figures, sorted. */
double stopping_width(const double *sorted, uint32_t count);

/*
 * Go through the restart figures in their order (INFINITY: lost) and say where they stop. A function of its
 * arguments alone: figures behind the place where it stops change nothing. `work` has room for `count`.
 */
struct stopping stopping_judge(const struct stopping_rule *rule, const double *figures, uint32_t count, double *work);

#endif
