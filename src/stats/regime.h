/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STATS_REGIME_H
#define TARE_STATS_REGIME_H

#include <stdbool.h>
#include <stdint.h>

#include "stats/compare.h"

/*
 * Where along ordered levels (probe intervals, carrier rates) a latency goes from one regime to another. What is
 * given of each level is its figure over restarts with its standard uncertainty. All is done in logarithms: a
 * regime is a factor. Pure.
 */
struct regime_step {
	struct comparison next; /* of the next level over this one */
	double p_holm;          /* that both are the same, adjusted over all steps; NaN: not known */
};

/*
 * The one change that explains the levels best: the same before it, the same after it. With weights 1 / u^2, each
 * place leaves a weighted sum of squares S; where the best is over its degrees of freedom (levels - 2) the levels are
 * not constant on either side, and every u is taken larger by the root of their quotient (Birge 1932). With the
 * likelihood exp(-S / 2) and nothing known beforehand of the two heights, each place has a probability:
 *	P(place) ~ exp(-S / 2) / sqrt(W_before W_after), W the sums of the weights
 */
struct regime_change {
	bool found;            /* p under 1 - confidence */
	uint32_t after;        /* between this level and the next */
	uint32_t first, last;  /* places first to last, both included, together hold `confidence` */
	double probability;    /* of the one place */
	double before, beyond; /* the heights: weighted geometric means */
	double ratio;          /* beyond / before */
	double low, high;      /* of the ratio, at `confidence` */
	double p;              /* that there is no change, Bonferroni over the places */
	double spread;         /* by which every u was made larger; 1: not at all */
};

enum { REGIME_LEVELS_LEAST = 3, REGIME_LEVELS_MOST = 256 };

/*
 * `levels`: at least REGIME_LEVELS_LEAST, at most REGIME_LEVELS_MOST, in order. ret_steps has count - 1 places (may be
 * NULL). False: it cannot be said, for a level without an uncertainty, or not above 0, or too few; *ret_why says which.
 */
bool regime_find(const struct measured *levels, uint32_t count, double confidence, struct regime_step *ret_steps,
		 struct regime_change *ret, const char **ret_why);

#endif
