/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/special.h"

#include <float.h>
#include <math.h>

#include "base/err.h"

double normal_cdf(double z)
{
	return 0.5 * erfc(-z / sqrt(2));
}

/*
 * The root of an increasing distribution function, by bisection between ends that the caller knows to enclose
 * it.
 */
struct inverse {
	double (*cdf)(double x, double a, double b);
	double a, b;
};

static double invert(const struct inverse *f, double p, double low, double high)
{
	for (int i = 0; i < 200; i++) {
		double middle = 0.5 * (low + high);

		if (middle <= low || middle >= high)
			break;
		if (f->cdf(middle, f->a, f->b) < p)
			low = middle;
		else
			high = middle;
	}
	return 0.5 * (low + high);
}

/* Abramowitz and Stegun 26.2.23, good to 4.5e-4, then two steps of Halley's method: each cubes the error. */
static double lower_normal_quantile(double p)
{
	double t = sqrt(-2 * log(p));
	double z =
		(2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t;

	for (int i = 0; i < 2; i++) {
		double step = (normal_cdf(z) - p) * sqrt(2 * M_PI) * exp(z * z / 2);

		z -= step / (1 + z * step / 2);
	}
	return z;
}

double normal_quantile(double p)
{
	TARE_ASSERT(p > 0 && p < 1);
	/* The upper half by symmetry: 1 - p has lost no digits, the distribution near 1 has. */
	return p > 0.5 ? -lower_normal_quantile(1 - p) : lower_normal_quantile(p);
}

/*
 * Continued fraction of the incomplete beta function, evaluated by Lentz's method as modified by Thompson and
 * Barnett.
 */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), h;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	h = d;
	for (int m = 1; m < 20000; m++) {
		for (int odd = 0; odd < 2; odd++) {
			double term = odd ? -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
					  : m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));

			d = 1 + term * d;
			d = 1 / (fabs(d) < tiny ? tiny : d);
			c = 1 + term / c;
			c = fabs(c) < tiny ? tiny : c;
			h *= d * c;
		}
		if (fabs(d * c - 1) < 4 * DBL_EPSILON)
			break;
	}
	return h;
}

double beta_inc(double a, double b, double x)
{
	TARE_ASSERT(a > 0 && b > 0 && x >= 0 && x <= 1);
	if (x == 0 || x == 1)
		return x;
	double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));

	/* The fraction converges fast below the mean; above it, the complement does. */
	return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
					 : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double student_cdf(double t, double dof)
{
	TARE_ASSERT(dof > 0);
	if (isinf(dof))
		return normal_cdf(t);
	double tail = 0.5 * beta_inc(dof / 2, 0.5, dof / (dof + t * t));

	return t > 0 ? 1 - tail : tail;
}

static double student_cdf_inverse(double t, double dof, double unused)
{
	(void)unused;
	return student_cdf(t, dof);
}

double student_quantile(double p, double dof)
{
	const struct inverse f = { student_cdf_inverse, dof, 0 };
	double lower = p > 0.5 ? 1 - p : p, low = -1;

	TARE_ASSERT(p > 0 && p < 1);
	while (student_cdf(low, dof) > lower)
		low *= 4;
	double t = invert(&f, lower, low, 0);

	return p > 0.5 ? -t : t;
}

double f_cdf(double f, double dof1, double dof2)
{
	TARE_ASSERT(dof1 > 0 && dof2 > 0);
	return f <= 0 ? 0 : beta_inc(dof1 / 2, dof2 / 2, dof1 * f / (dof1 * f + dof2));
}

double f_quantile(double p, double dof1, double dof2)
{
	const struct inverse f = { f_cdf, dof1, dof2 };
	double high = 1;

	TARE_ASSERT(p > 0 && p < 1);
	while (f_cdf(high, dof1, dof2) < p)
		high *= 4;
	return invert(&f, p, 0, high);
}

double binomial_cdf(int64_t k, uint64_t n, double p)
{
	TARE_ASSERT(p >= 0 && p <= 1);
	if (k < 0)
		return 0;
	if ((uint64_t)k >= n)
		return 1;
	return beta_inc((double)(n - (uint64_t)k), (double)k + 1, 1 - p);
}

static double gamma_series(double a, double x)
{
	double term = 1 / a, sum = term;

	for (int n = 1; n < 100000 && term > sum * DBL_EPSILON; n++) {
		term *= x / (a + n);
		sum += term;
	}
	return sum * exp(a * log(x) - x - lgamma(a));
}

/* The upper part, by Lentz's method. */
static double gamma_fraction(double a, double x)
{
	const double tiny = 1e-300;
	double b = x + 1 - a, c = 1 / tiny, d = 1 / b, h = d;

	for (int n = 1; n < 100000; n++) {
		double term = -n * (n - a), step;

		b += 2;
		d = term * d + b;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = b + term / c;
		c = fabs(c) < tiny ? tiny : c;
		step = c * d;
		h *= step;
		if (fabs(step - 1) < DBL_EPSILON)
			break;
	}
	return h * exp(a * log(x) - x - lgamma(a));
}

static double chi2_of(double x, double dof, double unused)
{
	(void)unused;
	if (!(x > 0))
		return 0;
	return x / 2 < dof / 2 + 1 ? gamma_series(dof / 2, x / 2) : 1 - gamma_fraction(dof / 2, x / 2);
}

double chi2_cdf(double x, double dof)
{
	TARE_ASSERT(dof > 0);
	return chi2_of(x, dof, 0);
}

double chi2_quantile(double p, double dof)
{
	const struct inverse f = { chi2_of, dof, 0 };

	TARE_ASSERT(p > 0 && p < 1 && dof > 0);
	return invert(&f, p, 0, dof + 40 * sqrt(2 * dof) + 200);
}

static double kolmogorov_of(double x, double unused, double unused_too)
{
	double sum = 0;

	(void)unused;
	(void)unused_too;
	if (x < 0.2) /* under 1e-12 there, where the series would need many terms */
		return 0;
	for (int k = 1; k < 40; k++)
		sum += (k % 2 ? 1 : -1) * exp(-2 * k * k * x * x);
	return 1 - 2 * sum;
}

double kolmogorov_cdf(double x)
{
	return kolmogorov_of(x, 0, 0);
}

double kolmogorov_quantile(double p)
{
	const struct inverse f = { kolmogorov_of, 0, 0 };

	TARE_ASSERT(p > 0 && p < 1);
	return invert(&f, p, 0.2, 10);
}
