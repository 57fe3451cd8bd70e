/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STATS_MODES_H
#define TARE_STATS_MODES_H

#include <stdint.h>

#include "stats/quantile.h"

/*
 * Does a distribution have several modes, where, and how much is in each? Values
 * are binned, smoothed by a normal kernel, and two neighbouring peaks count as
 * two modes when the valley between them is deep (under MODES_VALLEY of the lower
 * peak), the dip is beyond chance (difference of the square roots of kernel-weighted counts, which is
 * normal with variance 1/4 each, over MODES_SIGMA of its standard deviations), and each mode holds at least MODES_SHARE_MIN of the values.
 * Bandwidth: 0.9 min(sd, IQR / 1.349) n^(-1/5) (Silverman 1986, 3.31) with the spread taken of the
 * shortest half, so that two far modes do not blur themselves; at least 0.7 quantum.
 */
#define MODES_MAX       8
#define MODES_VALLEY    0.7
#define MODES_SIGMA     4.0
#define MODES_SHARE_MIN 0.02

struct mode {
	double location;  /* median of the values between the valleys */
	double share;     /* of the finite values, 0 to 1 */
	double low, high; /* the valleys, or the extremes */
};

struct modes {
	uint32_t count; /* 0: fewer than 50 values, no statement; 1: one mode */
	struct mode mode[MODES_MAX];
	double bandwidth;
};

/* 0 or -ENOMEM. */
int modes_find(const struct sample_set *s, struct modes *ret);

#endif
