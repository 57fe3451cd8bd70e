/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/compare.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "stats/quantile.h"
#include "stats/special.h"

/* Welch and Satterthwaite, of a - r b. */
static double combined_dof(struct measured a, struct measured b, double r)
{
	double va = a.u * a.u, vb = r * r * b.u * b.u;
	double fourths =
		(isinf(a.dof) || va == 0 ? 0 : va * va / a.dof) + (isinf(b.dof) || vb == 0 ? 0 : vb * vb / b.dof);

	return fourths > 0 ? (va + vb) * (va + vb) / fourths : INFINITY;
}

static bool fieller(struct measured a, struct measured b, double t, struct interval *i)
{
	/* (a - r b)^2 <= t^2 (ua^2 + r^2 ub^2), a quadratic in r; an interval only if b is clear of 0. */
	double g = b.value * b.value - t * t * b.u * b.u;
	double under = t * t * (a.u * a.u * g + a.value * a.value * b.u * b.u);

	if (!(g > 0))
		return false;
	i->low = (a.value * b.value - sqrt(under)) / g;
	i->high = (a.value * b.value + sqrt(under)) / g;
	return true;
}

static double same_probability(struct measured a, struct measured b)
{
	double u = hypot(a.u, b.u);

	if (u == 0)
		return a.value == b.value ? 1 : 0;
	return 2 * (1 - student_cdf(fabs(a.value - b.value) / u, combined_dof(a, b, 1)));
}

struct comparison compare_measured(struct measured a, struct measured b, double confidence)
{
	struct comparison c = {
		.interval = { .confidence = confidence, .need = 1 },
		.difference = figure_number(a.value - b.value),
		.difference_interval = { .confidence = confidence, .need = 1 },
		.ratio = figure_refused(0, 1),
		.p = figure_refused(0, 1),
	};
	double upper = 1 - (1 - confidence) / 2;

	if (!isfinite(a.value) || !isfinite(b.value)) {
		c.difference = figure_refused(0, 1);
		return c;
	}
	if (b.value != 0)
		c.ratio = figure_number(a.value / b.value);
	if (!isfinite(a.u) || !isfinite(b.u))
		return c;
	double half = 0, t;

	if (a.u > 0 || b.u > 0)
		half = student_quantile(upper, combined_dof(a, b, 1)) * hypot(a.u, b.u);
	c.p = figure_number(same_probability(a, b));
	c.difference_interval.state = FIGURE_NUMBER;
	c.difference_interval.coverage = confidence;
	c.difference_interval.low = c.difference.value - half;
	c.difference_interval.high = c.difference.value + half;
	if (c.ratio.state != FIGURE_NUMBER)
		return c;
	t = student_quantile(upper, combined_dof(a, b, c.ratio.value));
	if (fieller(a, b, t, &c.interval)) {
		c.interval.state = FIGURE_NUMBER;
		c.interval.coverage = confidence;
	}
	return c;
}

bool measured_logarithm(const double *sorted, size_t n, struct measured *ret)
{
	double few[64], *logs = n <= 64 ? few : calloc(n, sizeof(*logs));
	bool good = logs != NULL && n > 0 && sorted[0] > 0 && isfinite(sorted[n - 1]);

	for (size_t i = 0; good && i < n; i++)
		logs[i] = log(sorted[i]);
	if (good) {
		*ret = median_measured(logs, n);
		ret->value = log(median_measured(sorted, n).value); /* not the median of the logarithms */
	}
	if (logs != few)
		free(logs);
	return good;
}

struct comparison compare_logarithms(struct measured a, struct measured b, double confidence)
{
	struct comparison c = compare_measured(a, b, confidence);

	c.ratio = figure_number(exp(a.value - b.value));
	c.interval = c.difference_interval;
	if (c.interval.state == FIGURE_NUMBER) {
		c.interval.low = exp(c.difference_interval.low);
		c.interval.high = exp(c.difference_interval.high);
	}
	c.difference = figure_number(exp(a.value) - exp(b.value));
	c.difference_interval = (struct interval){ .confidence = confidence, .need = 1 };
	return c;
}

struct comparison compare_medians(const double *a, size_t a_count, const double *b, size_t b_count, double confidence)
{
	struct measured la, lb;

	if (measured_logarithm(a, a_count, &la) && measured_logarithm(b, b_count, &lb))
		return compare_logarithms(la, lb, confidence);
	return compare_measured(median_measured(a, a_count), median_measured(b, b_count), confidence);
}

struct ranked {
	double p;
	size_t at;
};

static int by_p(const void *a, const void *b)
{
	double x = ((const struct ranked *)a)->p, y = ((const struct ranked *)b)->p;

	return (x > y) - (x < y);
}

int holm_adjust(const double *p, size_t count, double *ret)
{
	struct ranked *ranked = calloc(count ? count : 1, sizeof(*ranked));
	double largest = 0;
	size_t m = 0;

	if (ranked == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		ret[i] = p[i];
		if (!isnan(p[i]))
			ranked[m++] = (struct ranked){ .p = p[i], .at = i };
	}
	qsort(ranked, m, sizeof(*ranked), by_p);
	for (size_t i = 0; i < m; i++) {
		largest = fmax(largest, fmin(1, (double)(m - i) * ranked[i].p));
		ret[ranked[i].at] = largest;
	}
	free(ranked);
	return 0;
}
