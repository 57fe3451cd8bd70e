/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STATS_AGREEMENT_H
#define TARE_STATS_AGREEMENT_H

#include <stddef.h>
#include <stdint.h>

#include "stats/figure.h"

/*
 * Do two instruments agree, reading by reading? The differences d = b - a of n pairs (Bland and Altman 1986, 1999).
 *
 * Bias: their mean, its interval by Student's t. Limits of agreement: mean -+ z sd, z the normal quantile of
 * (1 + share) / 2, between which `share` of differences lie if they are normal. An interval of a limit combines
 * those of the mean and of z sd (chi-squared) as variance estimates recovered (Zou 2013), which covers from ten pairs
 * up; the 1986 approximation does not.
 *
 * Differences of clocks are seldom normal: they have steps and tails. So beside that stand limits without a law: the
 * quantiles (1 - share) / 2 and (1 + share) / 2 of d, their intervals by order statistics, refused where there are too
 * few pairs. Where the two kinds of limits are far apart, the second is the one to believe.
 *
 * Slope: of d on the mean of the pair, by least squares; other than 0 where one clock runs at another rate. Its standard
 * error holds for scatter that is alike all along.
 */
struct agreement_limit {
	struct figure value;
	struct interval interval;
};

struct agreement {
	size_t pairs;
	struct figure bias;
	struct interval bias_interval;
	struct figure sd;
	struct agreement_limit lower, upper;                   /* if normal; refused below 3 pairs */
	struct figure median;                                  /* of d */
	struct agreement_limit lower_quantile, upper_quantile; /* without a law */
	struct figure slope; /* refused below 3 pairs, or where all means are the same */
	struct interval slope_interval;
};

/* `share` 0.95: what the limits hold. Values must be finite. 0 or -ENOMEM. */
int agreement_compute(const double *a, const double *b, size_t count, double share, double confidence,
		      struct agreement *ret);

#endif
