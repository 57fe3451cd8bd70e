/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STATS_SPECIAL_H
#define TARE_STATS_SPECIAL_H

#include <stdint.h>

/*
 * The distributions that the estimators need, to about 1e-12 relative in the range used here. All rest on
 * erfc() and on the regularised incomplete beta function by its continued fraction (Abramowitz and Stegun
 * 26.5.8); quantiles of Student's and F's invert the distribution by bisection, which cannot diverge.
 * Arguments out of domain (p outside (0, 1), no degrees of freedom) are bugs.
 */
double normal_cdf(double z);
double normal_quantile(double p);

/* Regularised incomplete beta I_x(a, b); a, b > 0, x in [0, 1]. */
double beta_inc(double a, double b, double x);

/* dof > 0, not necessarily whole; INFINITY is the normal. */
double student_cdf(double t, double dof);
double student_quantile(double p, double dof);

double f_cdf(double f, double dof1, double dof2);
double f_quantile(double p, double dof1, double dof2);

/* Chi-squared; dof > 0. By the incomplete gamma function: series below its mean, continued fraction above (A&S 6.5). */
double chi2_cdf(double x, double dof);
double chi2_quantile(double p, double dof);

/* Kolmogorov's limit law of sqrt(n) sup |F_n - F|: 1 - 2 sum (-1)^(k-1) exp(-2 k^2 x^2); 95 % at 1.3581. */
double kolmogorov_cdf(double x);
double kolmogorov_quantile(double p);

/* P(B <= k) of the binomial(n, p); k < 0 gives 0. */
double binomial_cdf(int64_t k, uint64_t n, double p);

#endif
