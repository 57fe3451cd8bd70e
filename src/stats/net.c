/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/net.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "stats/quantile.h"
#include "stats/sort.h"

#define CONFIDENCE 0.95
#define RECTANGULAR_95                                                                                                 \
	(0.95 * 1.7320508075688772) /* 95 % of a rectangular law lie within this many standard deviations */

double net_stamp_bias(double gross_gap_path_ns, double gross_gap_bypass_ns, double tare_gap_path_ns,
		      double tare_gap_bypass_ns)
{
	return fabs((gross_gap_path_ns - gross_gap_bypass_ns) - (tare_gap_path_ns - tare_gap_bypass_ns)) / 2;
}

/* A block's tare: the mean of both, or the one there is; false without any. */
static bool block_tare(const struct net_block *b, double *ret_tare)
{
	switch (b->present & (NET_BEFORE | NET_AFTER)) {
	case NET_BEFORE | NET_AFTER:
		*ret_tare = b->before_ns + (b->after_ns - b->before_ns) / 2;
		return true;
	case NET_BEFORE:
		*ret_tare = b->before_ns;
		return true;
	case NET_AFTER:
		*ret_tare = b->after_ns;
		return true;
	default:
		return false;
	}
}

/* Sort the blocks into used and unusable; nets, gross and tare of the used ones, in order. */
static void take_blocks(const struct net_block *blocks, uint32_t count, double *nets, double *gross, double *tares,
			struct net *n)
{
	double drift_squares = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct net_block *b = &blocks[i];
		double tare;

		if (!(b->present & NET_GROSS) || !block_tare(b, &tare)) {
			n->unusable++;
			continue;
		}
		TARE_ASSERT(isfinite(b->gross_ns) && isfinite(tare));
		if ((b->present & NET_BEFORE) && (b->present & NET_AFTER)) {
			double drift = b->after_ns - b->before_ns;

			double step = drift - n->drift_ns;

			/* Mean and squares around it, running (Welford 1962). */
			n->drift_ns += step / ++n->two_sided;
			drift_squares += step * (drift - n->drift_ns);
			n->drift_max_ns = fabs(drift) > n->drift_max_ns ? fabs(drift) : n->drift_max_ns;
		} else {
			n->one_sided++;
		}
		gross[n->used] = b->gross_ns;
		tares[n->used] = tare;
		nets[n->used++] = b->gross_ns - tare;
	}
	if (n->two_sided > 1)
		n->drift_u_ns = sqrt(drift_squares / (n->two_sided - 1.0) / n->two_sided);
}

static double deviation(const double *values, uint32_t n)
{
	double sum = 0, squares = 0;

	if (n < 2)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		sum += values[i];
	for (uint32_t i = 0; i < n; i++)
		squares += (values[i] - sum / n) * (values[i] - sum / n);
	return sqrt(squares / (n - 1));
}

/* Without a figure of the samples: an interpolated median at its worst, symmetric and without jitter. */
#define CLOCK_ERROR_WORST 0.12

static void add_resolution(struct budget *b, const char *name, double tick_ns, double clock)
{
	if (tick_ns <= 0)
		return;
	if (clock >= 1)
		budget_add_bound(b, name, SHAPE_TRIANGULAR, tick_ns,
				 "clock step, its phase not seen to move: a step either way");
	else
		budget_add_bound(b, name, SHAPE_RECTANGULAR, (clock > 0 ? clock : CLOCK_ERROR_WORST) * tick_ns,
				 "clock step, ties spread over it: what interpolation leaves");
}

/* What of the mean drift is more than the scatter of the tares makes of itself. */
static double common_drift(const struct net *n)
{
	double excess = n->drift_ns * n->drift_ns - n->drift_u_ns * n->drift_u_ns;

	return excess > 0 ? sqrt(excess) : 0;
}

static void fill_budget(const struct net_conditions *c, struct measured between, struct net *n)
{
	struct budget *b = &n->budget;

	budget_add(b, "between blocks", UNCERTAINTY_A, SHAPE_STUDENT, between.u, between.dof,
		   "order-statistic interval of the median of block nets");
	if (n->two_sided > 1)
		budget_add_bound(b, "tare drift", SHAPE_RECTANGULAR, common_drift(n) / 2,
				 "half the mean change from the tare before to the tare after, less its own noise");
	add_resolution(b, "gross resolution", c->tick_ns, c->gross_clock);
	add_resolution(b, "tare resolution", c->tick_ns, c->tare_clock);
	if (c->tsc_u_ppm > 0)
		budget_add(b, "TSC frequency", UNCERTAINTY_B, SHAPE_NORMAL, fabs(n->figure.value) * c->tsc_u_ppm * 1e-6,
			   INFINITY, "calibration against CLOCK_MONOTONIC_RAW");
	if (c->stamp_bias_ns > 0)
		budget_add_bound(b, "stamp bias", SHAPE_RECTANGULAR, c->stamp_bias_ns,
				 "half the change of the poll gaps' asymmetry from tare to program");
	budget_combine(b);
}

/* The interval over blocks, its sides widened by what does not vary between blocks. */
static void widen(struct net *n, double u_between)
{
	double net = n->figure.value;
	double type_b = n->budget.u_ns * n->budget.u_ns - u_between * u_between;
	double extra = RECTANGULAR_95 * sqrt(type_b > 0 ? type_b : 0);

	n->interval.low = net - hypot(net - n->interval.low, extra);
	n->interval.high = net + hypot(n->interval.high - net, extra);
}

int net_compute(const struct net_block *blocks, uint32_t count, const struct net_conditions *conditions,
		double *ret_block_nets, struct net *ret)
{
	struct net n = { .blocks = count };
	double *nets = calloc((size_t)count + 1, 3 * sizeof(*nets));

	if (nets == NULL)
		return -ENOMEM;
	double *gross = nets + count, *tares = gross + count;

	take_blocks(blocks, count, nets, gross, tares, &n);
	if (ret_block_nets != NULL)
		memcpy(ret_block_nets, nets, n.used * sizeof(*nets));
	n.block_sd_ns = deviation(nets, n.used);
	sort_double(nets, n.used);
	n.order = median_interval(nets, n.used, CONFIDENCE);
	n.interval = median_interval_interpolated(nets, n.used, CONFIDENCE);
	n.figure = figure_refused(0, 1);
	if (n.used > 0) {
		struct measured between = median_measured(nets, n.used);

		n.figure = figure_number(between.value);
		n.figure.have = n.used;
		n.figure.need = 1;
		n.gross_ns = median_double(gross, n.used);
		n.tare_ns = median_double(tares, n.used);
		if (n.interval.state == FIGURE_NUMBER) {
			fill_budget(conditions, between, &n);
			widen(&n, between.u);
		}
	}
	free(nets);
	*ret = n;
	return 0;
}
