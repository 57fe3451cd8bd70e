/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STATS_SHIFT_H
#define TARE_STATS_SHIFT_H

#include <stddef.h>
#include <stdint.h>

#include "stats/figure.h"

/*
 * Two distributions, quantile by quantile: how far the p-quantile of y lies above that of x, for all p at once.
 *
 * The band is simultaneous and free of any law (Doksum and Sievers 1976, from the two-sample Kolmogorov-Smirnov test):
 * with F_n the share of x at or below x, m values of y, K the quantile of Kolmogorov's law and e = K sqrt((n + m) / (n m)),
 *
 *     y at rank ceil(m (F_n(x) - e))  to  y at rank floor(m (F_n(x) + e)) + 1
 *
 * holds at *every* x the value that y has where x is as rare, with the stated confidence; less x, that is the shift.
 * Towards the ends, where a rank falls outside 1 to m, the band is open. Ties (a clock's steps) make it wider than it
 * need be, never too narrow; so does a small sample.
 */
struct shift_point {
	double p;          /* asked for */
	double x, y;       /* quantiles */
	double difference; /* y - x */
	double low, high;  /* the band around it; infinite where it is open */
};

struct shift {
	size_t x_count, y_count;
	double band;     /* e: how far apart the two may be in share without saying anything */
	double distance; /* the largest difference in share, of any value; over `band`, the two differ somewhere */
	double p_value;  /* of that distance, if both come from one distribution; by the limit law: rather too large */
};

/*
 * `x` and `y` sorted, finite, neither empty. ret_points has room for `count`, one for each of `p` (0 < p < 1).
 * The quantiles are those of quantile_point(); the band is that at the observed x next to it.
 */
struct shift shift_compute(const double *x, size_t x_count, const double *y, size_t y_count, const double *p,
			   size_t count, double confidence, struct shift_point *ret_points);

#endif
