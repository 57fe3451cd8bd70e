/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/effort.h"

#include <math.h>

#include "stats/quantile.h"
#include "stats/special.h"
#include "stats/stopping.h"

/* --- variances --- */

static double mean_of(const double *values, uint32_t n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += values[i];
	return sum / n;
}

static double squares_around(const double *values, uint32_t n, double centre)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += (values[i] - centre) * (values[i] - centre);
	return sum;
}

/* Sums of squares and degrees of freedom of the three levels. */
struct nested {
	double batch_squares, batch_dof;
	double run_squares, run_dof;
	double restart_sum, restart_squares, restarts;
	double inverse_runs; /* sum over restarts of 1 / runs */
};

static void add_restart(struct nested *s, const struct effort_pilot *p, const double *figures, uint32_t runs)
{
	double mean = 0, squares = 0;

	for (uint32_t j = 0; j < runs; j++) {
		const double *batches = figures + (uint64_t)j * p->batches;
		double m = mean_of(batches, p->batches), before = mean;

		s->batch_squares += squares_around(batches, p->batches, m);
		s->batch_dof += p->batches - 1.0;
		/* mean and squares of the run means as they come (Welford) */
		mean += (m - mean) / (j + 1);
		squares += (m - before) * (m - mean);
	}
	s->run_squares += squares;
	s->run_dof += runs - 1.0;
	s->inverse_runs += 1.0 / runs;
	s->restarts++;
	double before = s->restart_sum;

	s->restart_sum += (mean - before) / s->restarts;
	s->restart_squares += (mean - before) * (mean - s->restart_sum);
}

static double not_negative(double x)
{
	return x > 0 ? x : 0;
}

bool effort_variances(const struct effort_pilot *p, struct effort_cell *ret)
{
	const double *figures = p->figures;
	struct nested s = { 0 };

	for (uint32_t r = 0; r < p->restarts; figures += (uint64_t)p->runs[r++] * p->batches)
		if (p->runs[r])
			add_restart(&s, p, figures, p->runs[r]);
	if (s.restarts < 2 || s.run_dof < 1)
		return false;
	double of_batches = s.batch_dof > 0 ? s.batch_squares / s.batch_dof : 0;
	double of_runs = s.run_squares / s.run_dof, of_restarts = s.restart_squares / (s.restarts - 1);

	ret->probe = p->batches > 1 ? of_batches * p->batch_probes : 0;
	ret->run = not_negative(of_runs - of_batches / p->batches);
	/* all that is inside a restart, as its mean has it */
	ret->restart = not_negative(of_restarts - of_runs * s.inverse_runs / s.restarts);
	return true;
}

/* --- what it takes --- */

/* Variance of a median of n normal values over that of their mean: 1, 1, 1.35, 1.19, ... pi / 2; within 3 %. */
static double median_cost(uint32_t n)
{
	double excess = M_PI / 2 - 1;

	return M_PI / 2 / (1 + excess * (n % 2 ? 1 : 2) / n);
}

double effort_restart_sd(const struct effort_cell *c, uint32_t runs, uint32_t probes)
{
	double of_run = c->run + (probes ? c->probe / probes : 0);

	return sqrt(c->restart + of_run * median_cost(runs) / runs);
}

double effort_width(const struct effort_cell *c, uint32_t restarts, uint32_t runs, uint32_t probes)
{
	uint64_t low, high;
	double coverage;

	if (!quantile_ranks(restarts, 0.5, 0.95, &low, &high, &coverage) || c->median == 0)
		return INFINITY;
	/* where the rank lies on the mean (Blom 1958) */
	return 2 * normal_quantile(((double)high - 0.375) / (restarts + 0.25)) * effort_restart_sd(c, runs, probes) /
	       fabs(c->median);
}

uint32_t effort_restarts(const struct effort_cell *c, double width, uint32_t runs, uint32_t probes)
{
	uint32_t in_a_row = 0;

	for (uint32_t n = (uint32_t)quantile_need(0.5, 0.95); n < EFFORT_RESTARTS_MOST; n++) {
		in_a_row = effort_width(c, n, runs, probes) <= width ? in_a_row + 1 : 0;
		if (in_a_row >= STOPPING_IN_A_ROW)
			return n;
	}
	return EFFORT_RESTARTS_MOST;
}

double effort_seconds(const struct effort_cell *c, uint32_t restarts, uint32_t runs, uint32_t probes)
{
	return restarts * (c->restart_s + runs * (c->run_s + probes * c->probe_s));
}

/* --- the proposal --- */

void effort_optimum(const struct effort_cell *c, double *ret_runs, double *ret_probes)
{
	*ret_probes = c->run > 0 && c->probe_s > 0 ? sqrt(c->run_s / c->probe_s * c->probe / c->run) : INFINITY;
	*ret_runs = c->restart > 0 && c->run_s > 0 ? sqrt(c->restart_s / c->run_s * c->run / c->restart) : INFINITY;
}

static double total_seconds(const struct effort_cell *cells, uint32_t count, double width, uint32_t runs,
			    uint32_t probes)
{
	double sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += effort_seconds(&cells[i], effort_restarts(&cells[i], width, runs, probes), runs, probes);
	return sum;
}

/* In steps of a fifth: the time is flat around its least. */
static uint32_t next_probes(uint32_t probes)
{
	uint32_t step = probes / 5;

	return probes + (step ? step : 1);
}

struct effort effort_propose(const struct effort_cell *cells, uint32_t count, double width,
			     const struct effort_limits *limits)
{
	struct effort best = { .seconds = INFINITY };

	for (uint32_t runs = 1; runs <= limits->runs_most; runs++)
		for (uint32_t probes = limits->probes_least; probes <= limits->probes_most;
		     probes = next_probes(probes)) {
			double seconds = total_seconds(cells, count, width, runs, probes);

			if (seconds < best.seconds)
				best = (struct effort){ .runs = runs, .probes = probes, .seconds = seconds };
		}
	return best;
}
