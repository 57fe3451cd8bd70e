/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STATS_ANDERSON_H
#define TARE_STATS_ANDERSON_H

#include <stddef.h>

#include "stats/figure.h"

/*
 * The two-sample test of Anderson and Darling: do both come from one distribution? It weighs the tails as much as the
 * middle, where Kolmogorov and Smirnov's hardly looks. The statistic is Scholz and Stephens's (1987) for samples with
 * ties, by midranks (their equation 7, k = 2): a clock's steps make many. It is standardised by its exact variance
 * without ties, T = (A^2 - 1) / sigma_N, and its p value is that of the limit law at the same T: of the sum over j of
 * chi-squared variables of one degree over j (j + 1), whose tail is found by inverting its characteristic function (Imhof
 * 1961). 5 % of samples from one distribution exceed T = 1.960.
 */
struct anderson {
	struct figure
		statistic; /* A^2; refused below 5 values in all, or in an empty sample, or where all are the same */
	struct figure standardised; /* T */
	struct figure p;
};

/* Both sorted and finite. */
struct anderson anderson_darling(const double *x, size_t x_count, const double *y, size_t y_count);

/* P(A^2 > a) of the limit law; 0.05 at 2.4924, to about 1e-6. */
double anderson_tail(double a);

#endif
