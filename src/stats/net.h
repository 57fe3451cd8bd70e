/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STATS_NET_H
#define TARE_STATS_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "stats/budget.h"
#include "stats/figure.h"

/*
 * The differential net. Each randomised complete block runs tare, the cells in shuffled order, tare; each of
 * these is a restart, and its figure the median of its runs' medians (path minus bypass). In block b
 *
 *     net_b = gross_b - (before_b + after_b) / 2
 *
 * A drift of the tare that is linear over the block cancels for a cell in the middle and leaves at most half
 * of it for a cell at an end; the shuffle makes that a random error, which the spread between blocks
 * contains.
 *
 * The cell's net is the median over blocks: like every figure here, and because one block with a stalled host
 * must not move it. (The mean with Student's t covers as well where block nets are symmetric, 94 to 96 %, but
 * 91 % at 6 blocks and 38 % at 20 where they have two modes of unequal weight.)
 */
#define NET_GROSS  1u
#define NET_BEFORE 2u
#define NET_AFTER  4u

struct net_block {
	uint32_t present; /* which of the three exist: NET_GROSS | ... ; a restart invalid or missing is absent */
	double gross_ns, before_ns, after_ns;
};

/* What the budget must know of the clock and the receiver; all that is not known is 0. */
struct net_conditions {
	double tick_ns;       /* the counter's real step */
	double gross_clock;   /* quantile_clock_error() at the median, in ticks, the median over runs; 0: not known, */
	double tare_clock;    /* 0.12 is taken: the worst of a symmetric density */
	double tsc_u_ppm;     /* standard uncertainty of the counter's frequency */
	double stamp_bias_ns; /* half-width: net_stamp_bias() */
};

#define NET_BLOCKS_MIN 6 /* fewest used blocks with an interval: quantile_need(0.5, 0.95) */

struct net {
	uint32_t blocks, used;    /* given, used */
	uint32_t one_sided;       /* used with the one tare that there is */
	uint32_t unusable;        /* no gross, or no tare at all */
	struct figure figure;     /* refused without a used block */
	struct interval order;    /* exact order statistics over block nets; Type A only */
	struct interval interval; /* the 95 % interval to print: interpolated order statistics over blocks, each
				     side widened in quadrature by 1.65 times the Type B terms (95 % of a
				     rectangular law); refused below 6 blocks */
	struct budget budget;     /* for "+- U (k=2)"; empty below 6 blocks */
	double gross_ns, tare_ns; /* medians over used blocks, for the table; their difference is not exactly the net */
	double block_sd_ns;       /* standard deviation of block nets; 0 for one block */
	uint32_t two_sided;       /* used with both tares */
	double drift_ns;          /* mean over two-sided blocks of after - before */
	double drift_u_ns;        /* its standard uncertainty; 0 for one block */
	double drift_max_ns;      /* largest |after - before| */
};

/*
 * The net of one cell. `blocks` in order of running. ret_block_nets (may be NULL) has room for `count` and
 * takes the nets of the used blocks in order. Values must be finite: a figure that is lost is an absent one
 * here, counted as unusable. 0 or -ENOMEM.
 *
 * Terms of the budget, in this order, each only where its input is there:
 *   between blocks    A  Student, dof used - 1: median_measured() of block nets
 *   tare drift        B  rectangular, half-width sqrt(drift_ns^2 - drift_u_ns^2) / 2 (0 if negative): what a
 *                        drift that goes the same way in every block can leave, were every cell at the same end. Drift
 *                        that goes either way is in the term above; charging its range again would count it twice.
 *   gross resolution  B  rectangular, half-width gross_clock ticks; triangular, one tick, where the clock's phase is
 *                        not seen to move
 *   tare resolution   B  the same of the tare
 *   TSC frequency     B  normal, |net| tsc_u_ppm 1e-6
 *   stamp bias        B  rectangular, half-width stamp_bias_ns
 */
int net_compute(const struct net_block *blocks, uint32_t count, const struct net_conditions *conditions,
		double *ret_block_nets, struct net *ret);

/*
 * Bound on what late stamps can do to the net. A stamp is late by something between 0 and its poll gap, on
 * average half of it; the difference path minus bypass is then off by half the difference of the mean gaps,
 * in program and tare alike, and the net by half the change of that. Arguments: mean poll gaps of the samples
 * used.
 */
double net_stamp_bias(double gross_gap_path_ns, double gross_gap_bypass_ns, double tare_gap_path_ns,
		      double tare_gap_bypass_ns);

#endif
