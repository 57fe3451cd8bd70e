/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STATS_MODES_H
#define TARE_STATS_MODES_H

#include <stdint.h>

#include "stats/quantile.h"

/*
 * Does a distribution have several modes, where, and how much is in each? The finite values are binned,
 * smoothed by a normal kernel, and two neighbouring peaks are two modes when
 *   - the valley between them is under MODES_VALLEY of the lower peak,
 *   - it is so beyond chance: with m = density n h 2 sqrt(pi) the number of values that a kernel of bandwidth h
 *     effectively counts, sqrt(m) has variance 1/4, and sqrt 2 (sqrt m_peak - sqrt m_valley) exceeds MODES_SIGMA,
 *   - each holds at least MODES_SHARE_MIN of the values.
 * Where one fails, the two are one. Bandwidth: 0.9 s n^(-1/5) (Silverman 1986, 3.31) with s the width of the
 * shortest quarter of the values over 0.6373, as it is for a normal: a scale of one mode, not of their
 * distance; at least 0.7 quantum, which hides the clock's own comb.
 */
#define MODES_MAX        8
#define MODES_VALUES_MIN 50
#define MODES_VALLEY     0.7
#define MODES_SIGMA      4.0
#define MODES_SHARE_MIN  0.02

struct mode {
	double location;  /* median of the values between the valleys */
	double share;     /* of the finite values, 0 to 1 */
	double low, high; /* the valleys, or the extremes */
};

struct modes {
	uint32_t count;              /* 0: under MODES_VALUES_MIN values, no statement; 1: one mode */
	struct mode mode[MODES_MAX]; /* by location */
	double bandwidth;
};

/* 0 or -ENOMEM. */
int modes_find(const struct sample_set *s, struct modes *ret);

#endif
