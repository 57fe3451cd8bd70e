/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STATS_NET_H
#define TARE_STATS_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "stats/budget.h"
#include "stats/figure.h"

/*
 * The differential net. Each randomised complete block runs tare, the cells in
 * shuffled order, tare; each of these is a restart, and its figure the median
 * of its runs' medians (path minus bypass). In block b
 *
 *     net_b = gross_b - (before_b + after_b) / 2
 *
 * which cancels a drift of the tare that is linear over the block for a cell in the
 * middle, and leaves at most half of it for a cell at an end; the shuffle makes that a random error.
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
	double tick_ns;         /* the counter's real step */
	double gross_bin_share; /* quantile_bin_share of gross and tare samples at the median; over NET_DITHER_SHARE */
	double tare_bin_share;  /* a clock step is not dithered and its whole width is charged */
	double tsc_u_ppm;       /* standard uncertainty of the frequency */
	double stamp_bias_ns;   /* half-width: net_stamp_bias() */
};

#define NET_DITHER_SHARE 0.75

struct net {
	uint32_t blocks, used;    /* given, used */
	uint32_t one_sided;       /* used with one tare only */
	uint32_t unusable;        /* no gross, or no tare at all */
	struct figure figure;     /* refused without a used block */
	struct interval order;    /* exact order statistics over block nets */
	struct interval interval; /* 95 % by the budget: figure +- t u; refused below NET_BLOCKS_MIN */
	struct budget budget;     /* empty below NET_BLOCKS_MIN */
	double gross_ns, tare_ns; /* medians over used blocks, for the table */
	double drift_ns;          /* mean over two-sided blocks of after - before */
	double drift_max_ns;      /* largest |after - before| */
	double block_sd_ns;
};

#define NET_BLOCKS_MIN 6

/* ret_block_nets (may be NULL): the nets of the used blocks, in order. 0 or -ENOMEM. */
int net_compute(const struct net_block *blocks, uint32_t count, const struct net_conditions *conditions,
		double *ret_block_nets, struct net *ret);

/*
 * Bound on what late stamps can do to the net. A stamp is late by something between 0 and its poll gap, so
 * a difference of two stamps is off by (gap_path - gap_bypass) / 2 +- (gap_path + gap_bypass) / 2; the tare carries the same, and what
 * is left is the change of the mean asymmetry from tare to program. Arguments: mean poll gaps of the samples used.
 */
double net_stamp_bias(double gross_gap_path_ns, double gross_gap_bypass_ns, double tare_gap_path_ns,
		      double tare_gap_bypass_ns);

/* Half-width of the clock-resolution term of one interpolated median of differences of two stamps. See the source. */
double net_resolution_bound(double tick_ns, double bin_share, enum uncertainty_shape *ret_shape);

#endif
