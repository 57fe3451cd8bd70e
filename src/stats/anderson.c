/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/anderson.h"

#include <complex.h>
#include <math.h>

/* --- the limit law --- */

/*
 * Imhof: P(Q > x) = 1/2 + 1/pi integral over u from 0 of sin(theta) / (u rho), where with l_j = 1 / (j (j + 1))
 *
 *     log P(u) = sum log(1 - i u l_j),  theta = -Im log P / 2 - x u / 2,  log rho = Re log P / 2.
 *
 * The product has a closed form (Anderson and Darling 1952), P(u) = cos(z) / (-i pi u), z = pi/2 sqrt(1 + 4 i u); with
 * cos z = exp(-i z) (1 + exp(2 i z)) / 2 its logarithm is continuous in u and overflows nowhere, as Im z > 0.
 */
static double imhof_integrand(double u, double x)
{
	double complex z = M_PI / 2 * csqrt(1 + 4 * I * u);
	double complex log_p = -I * z + clog(1 + cexp(2 * I * z)) - log(2 * M_PI * u) + I * M_PI / 2;

	return sin(-cimag(log_p) / 2 - x * u / 2) / (u * exp(creal(log_p) / 2));
}

double anderson_tail(double a)
{
	enum { STEPS = 2048 };
	/* rho is 1e5 at the end, and grows faster than any power */
	double end = 160, step = end / STEPS, sum, tail;

	if (!(a > 0))
		return 1;
	/* Simpson's rule; at 0 the integrand is its derivative, (sum of l_j - a) / 2 */
	sum = (1 - a) / 2 + imhof_integrand(end, a);
	for (int i = 1; i < STEPS; i++)
		sum += (i % 2 ? 4 : 2) * imhof_integrand(i * step, a);
	tail = 0.5 + sum * step / 3 / M_PI;
	return tail < 0 ? 0 : tail > 1 ? 1 : tail;
}

/* --- the statistic --- */

/* Scholz and Stephens's variance of A^2 for k = 2, equation 4. */
static double variance(double n, double m)
{
	const double k = 2, total = n + m;
	double inverse = 1 / n + 1 / m, h = 0, g = 0, tail = 0;

	/* h = sum 1 / i over i < N; g = sum over i < j < N of 1 / ((N - i) j) */
	for (double i = total - 1; i >= 1; i--) {
		h += 1 / i;
		if (i <= total - 2)
			g += tail / (total - i);
		tail += 1 / i;
	}
	double a = (4 * g - 6) * (k - 1) + (10 - 6 * g) * inverse;
	double b = (2 * g - 4) * k * k + 8 * h * k + (2 * g - 14 * h - 4) * inverse - 8 * h + 4 * g - 6;
	double c = (6 * h + 2 * g - 2) * k * k + (4 * h - 4 * g + 6) * k + (2 * h - 6) * inverse + 4 * h;
	double d = (2 * h + 6) * k * k - 4 * h * k;

	return (((a * total + b) * total + c) * total + d) / ((total - 1) * (total - 2) * (total - 3));
}

struct anderson anderson_darling(const double *x, size_t x_count, const double *y, size_t y_count)
{
	struct anderson r = { figure_refused(x_count + y_count, 5), figure_refused(x_count + y_count, 5),
			      figure_refused(x_count + y_count, 5) };
	double n = (double)x_count, m = (double)y_count, total = n + m, sum = 0;
	size_t i = 0, j = 0;

	if (x_count == 0 || y_count == 0 || x_count + y_count < 5)
		return r;
	while (i < x_count || j < y_count) {
		double at = j == y_count || (i < x_count && x[i] < y[j]) ? x[i] : y[j];
		double before_x = (double)i, before_y = (double)j;

		while (i < x_count && x[i] == at)
			i++;
		while (j < y_count && y[j] == at)
			j++;
		double fx = (double)i - before_x, fy = (double)j - before_y, ties = fx + fy;
		double mx = before_x + fx / 2, my = before_y + fy / 2, b = before_x + before_y + ties / 2;
		double below = b * (total - b) - total * ties / 4;

		if (ties == total)
			return r; /* one value only: nothing to compare */
		sum += ties * (pow(total * mx - n * b, 2) / n + pow(total * my - m * b, 2) / m) / below;
	}
	r.statistic = figure_number((total - 1) / total * sum / total);
	r.standardised = figure_number((r.statistic.value - 1) / sqrt(variance(n, m)));
	/* the variance of the limit law: 2 sum of l_j^2 = 2 (pi^2 - 9) / 3 */
	r.p = figure_number(anderson_tail(1 + r.standardised.value * sqrt(2 * (M_PI * M_PI - 9) / 3)));
	return r;
}
