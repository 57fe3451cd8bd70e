/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STATS_QUANTILE_H
#define TARE_STATS_QUANTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stats/figure.h"

/*
 * Quantiles over the probes *sent*: the finite values, sorted, and `lost` more at +infinity (RFC 7679, 7680).
 * N = finite + lost. Samples set apart are in neither count.
 *
 * A clock that ticks in steps of `quantum` makes ties; they are spread over the tick. A value belongs to the
 * bin k = round(value / quantum), between the edges (k - 1/2) quantum and (k + 1/2) quantum. Let C_k be the
 * count up to the upper edge of bin k. The difference of two stamps whose phase moves is itself smeared by
 * the clock, and C_k is the true count averaged over one quantum around the edge; so, as in finite-volume
 * schemes,
 *
 *     G_k = C_k - (C_(k+1) - 2 C_k + C_(k-1)) / 24
 *
 * is the count at the edge to fourth order (kept within half a bin's count of C_k, so that it rises). Between
 * edges runs the monotone cubic with harmonic slopes (Fritsch and Butland 1984), and Q(p) is where it reaches
 * p N. The plain grouped-data median (straight lines through C_k) is this for symmetric neighbours, but off
 * by 0.2 quantum and more where the density leans: one of two modes. What error is left:
 * quantile_clock_error(). Where p N falls between two bins with empty ones between, Q is the mean of the
 * edges that face each other. With quantum 0 it is the mean of the two neighbours (Hyndman and Fan 1996, type
 * 2). The quantum need not be whole: a 10 ns step of a 2.596 GHz counter is 25.96 ticks.
 */
struct sample_set {
	const int64_t *ticks; /* sorted; or */
	const double *values; /* sorted; exactly one of the two is set (either may be NULL when finite is 0) */
	size_t finite;
	uint64_t lost;
	double quantum; /* in the unit of the values; 0: none */
};

/*
 * The fewest samples for which the two-sided distribution-free interval of the p-quantile has finite ends:
 * both tails p^n and (1-p)^n at most (1 - confidence) / 2. At 0.95: median 6, p99 368, p99.9 3688, p99.99
 * 36,887.
 */
uint64_t quantile_need(double p, double confidence);

/* The p-quantile, 0 < p < 1; refused below quantile_need(p, confidence) samples sent. */
struct figure quantile_figure(const struct sample_set *s, double p, double confidence);

/* The same without the rule, for what is not printed alone (figures); refused only when nothing was sent. */
struct figure quantile_point(const struct sample_set *s, double p);

/*
 * Order-statistic interval of the p-quantile of n samples of a continuous distribution (David and Nagaraja
 * 2003, section 7.1): with B binomial(n, p), *ret_low is the largest rank l with P(B < l) <= (1 - confidence)
 * / 2, *ret_high the smallest u with P(B >= u) <= the same; ranks from 1. Its exact coverage is P(l <= B <
 * u). False: no such ranks; *ret_coverage then is that of [1, n].
 */
bool quantile_ranks(uint64_t n, double p, double confidence, uint64_t *ret_low, uint64_t *ret_high,
		    double *ret_coverage);

/* The interval by those ranks, over probes sent. With a quantum its ends are the bins' outer edges. */
struct interval quantile_interval(const struct sample_set *s, double p, double confidence);

/*
 * Interval of the median of n sorted values, for restart figures: exact by order statistics. At 0.95 n = 6
 * gives [1, 6] and 0.96875; 5 are refused with coverage 0.9375.
 */
struct interval median_interval(const double *sorted, size_t n, double confidence);

/*
 * The same, its ends interpolated between neighbouring order statistics so that the coverage is close to what
 * was asked for instead of jumping with n (Hettmansperger and Sheather 1986): with c_k the coverage of [k,
 * n+1-k], c_(k+1) < confidence <= c_k and I = (c_k - confidence) / (c_k - c_(k+1)), the lower end is (1 - w)
 * x_(k) + w x_(k+1), w = (n - k) I / (k + (n - 2 k) I). Refused as the exact one.
 */
struct interval median_interval_interpolated(const double *sorted, size_t n, double confidence);

/*
 * The median of n sorted values as a number with a standard uncertainty, for budgets and ratios: u is the
 * root mean square of the interpolated 95 % interval's two sides over Student's t(0.975) of n - 1 degrees of
 * freedom, so that t u gives that interval's width back. u is INFINITY where there is no finite interval (n <
 * 6, lost). n = 0: all zeros but u.
 */
struct measured median_measured(const double *sorted, size_t n);

/*
 * Share of the probes sent whose value lies within +-width of centre, 0 to 1; ties spread over their tick. N
 * = 0: 0.
 */
double share_within(const struct sample_set *s, double centre, double width);

/*
 * Half-width, in quanta, of the error that the clock's step leaves in Q(p). With n(x) the counts by bin,
 * interpolated between the bins' middles,
 *     t = (count of the bin of Q + the larger neighbour's) / finite,
 *     a = (n(Q + quantum) - n(Q - quantum)) / n(Q),
 * it is 0.12 t^4 + min(0.25, 0.4 t) |a|. The first is what interpolation leaves, largest (0.09) for a
 * difference without jitter and gone when jitter spans the step; the second bounds what a leaning density
 * leaves. Both were fitted to exact calculations (docs/method.md). They need a phase that moves: where more
 * than CLOCK_LOCKED of the values are in one step, nothing shows that it does, and 1 is returned: two single
 * readings.
 */
#define CLOCK_LOCKED 0.95

double quantile_clock_error(const struct sample_set *s, double p);

/*
 * Points of the empirical distribution over probes sent for a figure: at most max_points (>= 2), evenly by
 * rank, the smallest and the largest always there. y is the share of probes sent at or below x. Returns how
 * many were written.
 */
size_t ecdf_points(const struct sample_set *s, size_t max_points, double *ret_x, double *ret_y);

#endif
