/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STATS_CLOCKCHECK_H
#define TARE_STATS_CLOCKCHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Tests for what breaks a reading of a clock, made on the readings themselves. Each says `found`, with the
 * numbers that made it say so. (Several modes: modes.h.)
 */

/*
 * Quantum: the largest step q of which nearly all values are multiples; q need not be whole. Candidates are
 * gaps between neighbouring values and their fractions to 1/8; one stands when the resultant |sum exp(2 pi i
 * v / q)| / n of the middle 90 % is at least QUANTUM_RESULTANT (Rayleigh's statistic: the values sit within
 * about q / 14 of the grid), at three or more places of the grid. Only steps over 2 units are looked for: one
 * unit is what integers do.
 */
#define QUANTUM_RESULTANT 0.9

struct quantum_check {
	bool found;
	double quantum;   /* in the unit of the values; 0 when not found */
	double resultant; /* of that step; when not found, the best there was */
};

/* 0 or -ENOMEM. Under 50 values nothing is found. */
int check_quantum(const int64_t *sorted, size_t count, struct quantum_check *ret);

/*
 * Dead zone: no value around zero in differences of two stamps, though there are values on both sides (a
 * clock or receiver that cannot tell two arrivals closer than that). If the density just outside, in zones as
 * wide as the gap, held inside too, `expected` values would lie there (the rarer side counts). Found when
 * expected is at least DEAD_ZONE_EXPECTED (chance of none: exp(-20)), the gap is over three quanta, and it is
 * no wider than the interquartile range of either side: else the values are two modes, not one with a hole.
 */
#define DEAD_ZONE_EXPECTED 20.0

struct dead_zone_check {
	bool found;
	double low, high; /* the largest negative and the smallest positive value; 0 when there is none */
	double expected;
};

struct dead_zone_check check_dead_zone(const int64_t *sorted, size_t count, double quantum);

/*
 * Period: a periodic part in the order of sending. Values are replaced by their normal scores (an outlier is
 * only a rank), the power at each frequency is divided by the mean of its neighbourhood (by the median, over
 * ln 2: drift and slow flips raise a whole neighbourhood, a period one line), and the largest, P, is compared
 * with the exponential law that noise follows over the m frequencies looked at: false alarm 1 - (1 -
 * exp(-P))^m. Found under PERIOD_FALSE_ALARM. Periods from 2 samples to count / 32; under 256 values nothing
 * is found.
 */
#define PERIOD_FALSE_ALARM 1e-6

struct period_check {
	bool found;
	double period_samples; /* of the strongest line, found or not; 0: not looked for */
	double false_alarm;    /* probability, 0 to 1 */
	double amplitude;      /* of that line in the unit of the values, outliers cut at five interquartile ranges */
};

/* `values` in order of sending, finite. 0 or -ENOMEM. */
int check_period(const double *values, size_t count, struct period_check *ret);

#endif
