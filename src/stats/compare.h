/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STATS_COMPARE_H
#define TARE_STATS_COMPARE_H

#include "stats/figure.h"

/*
 * Two results against each other. The interval of the ratio is Fieller's (1954): all r for which a - r b is
 * not significantly different from 0 at Student's t with Welch-Satterthwaite degrees of freedom. It needs b
 * itself to be different from 0; else it is refused (have = 0, need = 1).
 */
struct comparison {
	struct figure ratio;      /* a / b; refused for b = 0 */
	struct interval interval; /* of the ratio */
	struct figure difference; /* a - b */
	struct interval difference_interval;
};

struct comparison compare_measured(struct measured a, struct measured b, double confidence);

#endif
