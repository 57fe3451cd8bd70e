/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/agreement.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/err.h"
#include "stats/quantile.h"
#include "stats/sort.h"
#include "stats/special.h"

struct moments {
	double mean, sd;
};

static struct moments moments_of(const double *d, size_t n)
{
	struct moments m = { 0 };

	for (size_t i = 0; i < n; i++)
		m.mean += d[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		m.sd += (d[i] - m.mean) * (d[i] - m.mean);
	m.sd = n > 1 ? sqrt(m.sd / (double)(n - 1)) : 0;
	return m;
}

static struct interval around(double low, double high, double confidence, size_t n)
{
	return (struct interval){ .state = FIGURE_NUMBER,
				  .low = low,
				  .high = high,
				  .confidence = confidence,
				  .coverage = confidence,
				  .have = n };
}

/* mean + sign z sd; Zou's interval from those of its two parts. */
static struct agreement_limit normal_limit(const struct moments *m, size_t n, double z, int sign, double confidence)
{
	double dof = (double)n - 1, tail = (1 - confidence) / 2, value = m->mean + sign * z * m->sd;
	double of_mean = normal_quantile(1 - tail) * m->sd / sqrt((double)n);
	double most = z * m->sd * (sqrt(dof / chi2_quantile(tail, dof)) - 1);
	double least = z * m->sd * (1 - sqrt(dof / chi2_quantile(1 - tail, dof)));
	struct agreement_limit l = { .value = figure_number(value) };

	/* further out is where the sd may be larger, further in where it may be smaller */
	l.interval = sign > 0 ? around(value - hypot(of_mean, least), value + hypot(of_mean, most), confidence, n)
			      : around(value - hypot(of_mean, most), value + hypot(of_mean, least), confidence, n);
	return l;
}

static struct agreement_limit quantile_limit(const struct sample_set *set, double p, double confidence)
{
	return (struct agreement_limit){ .value = quantile_figure(set, p, confidence),
					 .interval = quantile_interval(set, p, confidence) };
}

/* Least squares of d on (a + b) / 2. */
static void slope(const double *a, const double *b, size_t n, double confidence, struct agreement *ret)
{
	double x = 0, y = 0, xx = 0, xy = 0, residual = 0, half;

	ret->slope = figure_refused(n, 3);
	ret->slope_interval = (struct interval){ .confidence = confidence, .have = n, .need = 3 };
	if (n < 3)
		return;
	for (size_t i = 0; i < n; i++) {
		x += (a[i] + b[i]) / 2 / (double)n;
		y += (b[i] - a[i]) / (double)n;
	}
	for (size_t i = 0; i < n; i++) {
		double dx = (a[i] + b[i]) / 2 - x;

		xx += dx * dx;
		xy += dx * (b[i] - a[i] - y);
	}
	if (!(xx > 0))
		return;
	for (size_t i = 0; i < n; i++) {
		double off = b[i] - a[i] - y - xy / xx * ((a[i] + b[i]) / 2 - x);

		residual += off * off;
	}
	half = student_quantile(1 - (1 - confidence) / 2, (double)n - 2) * sqrt(residual / ((double)n - 2) / xx);
	ret->slope = figure_number(xy / xx);
	ret->slope_interval = around(xy / xx - half, xy / xx + half, confidence, n);
}

int agreement_compute(const double *a, const double *b, size_t count, double share, double confidence,
		      struct agreement *ret)
{
	TARE_ASSERT(share > 0 && share < 1);
	const struct agreement_limit refused = { .value = figure_refused(count, 3),
						 .interval = { .confidence = confidence, .have = count, .need = 3 } };
	struct agreement g = { .pairs = count, .bias = figure_refused(count, 1), .sd = figure_refused(count, 2) };
	double *d = calloc(count ? count : 1, sizeof(*d));
	struct sample_set set = { .values = d, .finite = count };
	struct moments m;

	if (!d)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		d[i] = b[i] - a[i];
	m = moments_of(d, count);
	g.bias_interval = (struct interval){ .confidence = confidence, .have = count, .need = 2 };
	g.lower = g.upper = refused;
	if (count > 0)
		g.bias = figure_number(m.mean);
	if (count > 1) {
		double half =
			student_quantile(1 - (1 - confidence) / 2, (double)count - 1) * m.sd / sqrt((double)count);

		g.sd = figure_number(m.sd);
		g.bias_interval = around(m.mean - half, m.mean + half, confidence, count);
	}
	if (count > 2) {
		double z = normal_quantile((1 + share) / 2);

		g.lower = normal_limit(&m, count, z, -1, confidence);
		g.upper = normal_limit(&m, count, z, 1, confidence);
	}
	sort_double(d, count);
	g.median = quantile_point(&set, 0.5);
	g.lower_quantile = quantile_limit(&set, (1 - share) / 2, confidence);
	g.upper_quantile = quantile_limit(&set, (1 + share) / 2, confidence);
	free(d);
	slope(a, b, count, confidence, &g);
	*ret = g;
	return 0;
}
