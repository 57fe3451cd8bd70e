/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STATS_EFFORT_H
#define TARE_STATS_EFFORT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How many restarts, runs and probes to spend, after Kalibera and Jones, "Rigorous benchmarking in reasonable time"
 * (ISMM 2013): a pilot gives variance and cost of each level; repeating a level cheaply is of use only as long as its
 * own variance is what is left. With n restarts of m runs of k probes a cell's figure varies by
 *
 *     V / n,   V = restart + (run + probe / k) c(m) / m
 *
 * where c(m) is what a median of m costs against a mean, and takes n (restart_s + m (run_s + k probe_s)) seconds. V times
 * the time of a restart is least (c left aside) at k = sqrt(run_s / probe_s * probe / run), m = sqrt(restart_s / run_s *
 * run / restart).
 */
struct effort_cell {
	double median;              /* the figure; widths are relative to it */
	double restart, run, probe; /* variances, in its unit squared; probe: of one probe, so that a run of k has
					     probe / k. Estimates below 0 are 0 */
	double restart_s, run_s,
		probe_s; /* cost of one more: starting and warming up; a run without its probes; a probe */
};

/*
 * Figures of a pilot of one cell. Each run is cut into `batches` of `batch_probes` probes in order of sending, and
 * figures are the batches' medians: they vary by probe / batch_probes inside a run, with whatever probes near each
 * other have in common. batches 1: runs that have no probes; then probe is 0.
 */
struct effort_pilot {
	const double *figures; /* [restart][run][batch], all finite */
	const uint32_t *runs;  /* by restart; 0: skipped */
	uint32_t restarts, batches, batch_probes;
};

/* Variances from nested means; costs stay. False: needs 2 restarts with runs, one of them with 2. */
bool effort_variances(const struct effort_pilot *pilot, struct effort_cell *ret);

/* Expected standard deviation of a restart's figure. */
double effort_restart_sd(const struct effort_cell *c, uint32_t runs, uint32_t probes);

/* Expected width, end to end over the median, of the exact 95 % order-statistic interval of n normal restart figures. */
double effort_width(const struct effort_cell *c, uint32_t restarts, uint32_t runs, uint32_t probes);

enum { EFFORT_RESTARTS_MOST = 10000 };

/* Restarts until the rule of stats/stopping.h is expected to stop; EFFORT_RESTARTS_MOST: that many or more. */
uint32_t effort_restarts(const struct effort_cell *c, double width, uint32_t runs, uint32_t probes);

/* Seconds of that many restarts. */
double effort_seconds(const struct effort_cell *c, uint32_t restarts, uint32_t runs, uint32_t probes);

struct effort_limits {
	uint32_t probes_least, probes_most; /* alike: probes are not to choose */
	uint32_t runs_most;
};

struct effort {
	uint32_t runs, probes;
	double seconds; /* of all cells, to the width */
};

/* Runs and probes, the same for all cells, of the least time to the width. The cells' restarts follow: effort_restarts. */
struct effort effort_propose(const struct effort_cell *cells, uint32_t count, double width,
			     const struct effort_limits *limits);

/* The optimum of one cell as the formula has it, unrounded; INFINITY where a variance above is 0. */
void effort_optimum(const struct effort_cell *c, double *ret_runs, double *ret_probes);

#endif
