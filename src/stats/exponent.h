/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STATS_EXPONENT_H
#define TARE_STATS_EXPONENT_H

#include <stdint.h>

#include "stats/figure.h"

/*
 * How a quantity grows: y = a x^b, from its restart figures at several x. The exponent b is the slope of the least
 * squares line through (log x, log of the median over restarts at x), each x with the same weight: memory that is
 * proportional to the number of switches has b = 1, a cost that does not grow 0. Its interval is a bootstrap over
 * restarts, which are drawn with replacement inside each x; ends are plain percentiles. A median of few restarts spreads
 * more when it is drawn again than it does itself: at 95 % the truth was inside in 95.3 to 98.5 % of simulated campaigns
 * (2, 4 and 8 x; 6 to 20 restarts; normal, t(3) and two-mode scatter).
 */
struct power_point {
	double x;              /* > 0 */
	const double *figures; /* of the restarts, in any order */
	uint32_t count;
};

struct power_law {
	struct figure exponent;   /* refused: fewer than two different x, or a figure that is not positive and finite */
	struct figure factor;     /* a: the fitted y at x = 1 */
	struct interval interval; /* of the exponent; refused where an x has fewer restarts than a median's interval
				     takes (6 at 95 %) */
	double misfit;   /* how far the worst point is from the line, as a share: 0.1 is 10 % above or below. With three
			  or more x, a large one says that this is no power law */
	uint32_t points; /* different x */
};

/* Deterministic in `seed`. 0 or -ENOMEM. */
int power_law_fit(const struct power_point *points, uint32_t count, double confidence, uint32_t resamples,
		  uint64_t seed, struct power_law *ret);

#endif
