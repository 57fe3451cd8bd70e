/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STATS_HIERARCHY_H
#define TARE_STATS_HIERARCHY_H

#include <stdbool.h>
#include <stdint.h>

#include "stats/figure.h"

/*
 * Samples make a run figure, run figures a restart figure (their median), restart figures the cell figure
 * (their median). Restarts are the independent unit: every interval here is over restarts.
 */

/*
 * Run figures grouped by restart: the figures of restart 0 first, then of restart 1, ... Invalid runs are
 * left out by the caller; a restart without runs is skipped and counted. A run whose figure is lost is
 * INFINITY.
 */
struct run_figures {
	const double *figures;
	const uint32_t *runs; /* by restart */
	uint32_t restarts;
};

/*
 * One-way random effects, y_ij = m + a_i + e_ij, by analysis of variance, unbalanced allowed (Searle, Casella
 * and McCulloch 1992, chapter 3):
 *   n0 = (N - sum n_i^2 / N) / (k - 1), var_within = MSW, var_between = (MSB - MSW) / n0
 * A negative var_between is set to 0 and flagged. Intra-class correlation var_between / (var_between +
 * var_within), its interval from F = MSB / MSW (exact when balanced; with n0 for n else): with F_l = F /
 * F_(1-a/2)(k-1, N-k), F_u = F * F_(1-a/2)(N-k, k-1), ends (F_x - 1) / (F_x + n0 - 1), cut to [0, 1].
 */
struct variance_components {
	bool valid;             /* needs 2 restarts, one of them with 2 runs, all figures finite */
	double between, within; /* variances, in the square of the unit */
	bool between_truncated; /* the estimate was negative */
	double n0;
	bool icc_valid; /* false where nothing varies at all */
	double icc;
	struct interval icc_interval;
};

struct variance_components variance_components(const struct run_figures *in, double confidence);

struct hierarchy {
	uint32_t restarts, runs, empty_restarts; /* used, used, skipped */
	struct figure figure;                    /* the cell figure */
	struct interval order;        /* exact order statistics over restart figures, with its exact coverage */
	struct interval interpolated; /* the same at the asked confidence: the one to print as 95 % */
	struct interval bootstrap;    /* hierarchical bootstrap */
	struct measured measured;     /* the cell figure with its standard uncertainty: median_measured() */
	double between_sd;            /* standard deviation of the restart figures; 0 for one restart */
	double within_sd;             /* pooled standard deviation of run figures inside their restarts */
	double restart_min, restart_max;
	struct variance_components components;
};

#define BOOTSTRAP_RESAMPLES 2000

/*
 * The whole account of a cell. ret_restart_figures (may be NULL) takes in->restarts numbers, empty restarts
 * as a negative infinity. Deterministic in `seed`. 0 or -ENOMEM.
 */
int hierarchy_compute(const struct run_figures *in, double confidence, uint32_t resamples, uint64_t seed,
		      double *ret_restart_figures, struct hierarchy *ret);

/*
 * Hierarchical bootstrap of the cell figure (Davison and Hinkley 1997, section 3.8): resample restarts, then
 * runs in each. Ends are the percentiles P and 1 - P with
 *     P = Phi(n / (n - 1) z), z the normal quantile of (1 - confidence) / 2, n restarts,
 * which makes up for the narrowness of percentiles from few restarts (after Hesterberg 2015), and deviations
 * are shrunk so that the noise of runs is not counted twice; the source says why so. Refused below 6
 * restarts, where no interval of the median reaches 95 %.
 */
int hierarchy_bootstrap(const struct run_figures *in, double confidence, uint32_t resamples, uint64_t seed,
			struct interval *ret);

#endif
