/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STATS_COMPARE_H
#define TARE_STATS_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

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
	/*
	 * Two-sided probability of a difference at least as large where both are the same: Student's t of the same
	 * model, (a - b) / hypot(ua, ub) at Welch-Satterthwaite degrees of freedom. Refused where an uncertainty is
	 * not known.
	 */
	struct figure p;
};

struct comparison compare_measured(struct measured a, struct measured b, double confidence);

/*
 * The ratio of two medians of figures that cannot be negative, from the n and m restart figures themselves: the same model
 * on logarithms, exp(ln a - ln b -+ t u), each u that of median_measured() of the logarithms. Latencies and counts are
 * skewed; here the interval follows the skew, and a base that is small beside its own spread still has one. Where a figure
 * is not above 0 and finite, it is compare_measured() of the medians. `a` and `b` are sorted. The difference has no
 * interval.
 */
struct comparison compare_medians(const double *a, size_t a_count, const double *b, size_t b_count, double confidence);

/* The logarithm of such a median, with u and dof. False: a figure is not above 0 and finite, or there is none. */
bool measured_logarithm(const double *sorted, size_t count, struct measured *ret);

/* The two compared, as above: a and b are logarithms. */
struct comparison compare_logarithms(struct measured a, struct measured b, double confidence);

/*
 * p values of a family, adjusted so that the chance of any false positive in it stays below the level that they
 * are held against, whatever depends on what (Holm 1979): in ascending order p_(i) becomes the largest of
 * (m - j + 1) p_(j), j <= i, at most 1. A NaN is not in the family and stays one. ret may be p itself. 0 or -ENOMEM.
 */
int holm_adjust(const double *p, size_t count, double *ret);

#endif
