/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STATS_CLOCKCHECK_H
#define TARE_STATS_CLOCKCHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Tests for what breaks a reading of a clock, on the readings themselves. Each
 * says `found`, with the numbers that made it say so.
 */

/*
 * Quantum: the largest step q of which (nearly) all values are multiples,
 * though q need not be whole. Every candidate q is a fraction 1/1 to 1/8 of the
 * smallest gap between clusters of values; it stands when the resultant
 * |sum exp(2 pi i v / q)| / n >= 0.9 (Rayleigh's statistic for phase), i.e. the values sit within about q/14 of the grid.
 * Found only above 2 units: one unit is what integers do.
 */
struct quantum_check {
	bool found;
	double quantum;   /* in the unit of the values; 0 when not found */
	double resultant; /* 0 to 1; 1: exactly on the grid */
	size_t used;
};

struct quantum_check check_quantum(const int64_t *sorted, size_t count);

/*
 * Dead zone: an empty interval around zero in differences of two stamps, though there
 * are values on both sides (a clock or receiver that cannot tell two arrivals closer than that). With d
 * values per unit just outside (in zones as wide as the gap), the chance to see none
 * inside is exp(-d * width); found when the expected number is >= 20, and the gap is wider than three quanta.
 */
struct dead_zone_check {
	bool found;
	double low, high; /* the largest negative and the smallest positive value */
	double expected;  /* values that should lie between them */
};

struct dead_zone_check check_dead_zone(const int64_t *sorted, size_t count, double quantum);

/*
 * Period: a periodic part in the order of sending. Values are replaced by their
 * normal scores (an outlier is only a rank), the power at each Fourier frequency is divided by the median power
 * of its neighbours over ln 2 (which removes drift and slow flips), and the largest is compared with the
 * exponential law that noise follows: false alarm probability 1 - (1 - exp(-P))^m. Found under 1e-6.
 * Needs 256 values; periods from 2 samples to count / 32.
 */
struct period_check {
	bool found;
	double period_samples;
	double false_alarm; /* probability */
	double amplitude;   /* of the fundamental in the unit of the values, by least squares */
};

/* 0 or -ENOMEM. `values` in order of sending. */
int check_period(const double *values, size_t count, struct period_check *ret);

#endif
