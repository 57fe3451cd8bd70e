/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/shift.h"

#include <math.h>

#include "base/err.h"
#include "stats/quantile.h"
#include "stats/special.h"

/* How many of the sorted values are at or below `limit`. */
static size_t at_or_below(const double *sorted, size_t n, double limit)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (sorted[middle] <= limit)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The largest distance between the two distribution functions: it is reached at a value of either. */
static double distance(const double *x, size_t n, const double *y, size_t m)
{
	double most = 0;
	size_t i = 0, j = 0;

	while (i < n && j < m) {
		double at = x[i] < y[j] ? x[i] : y[j];

		while (i < n && x[i] <= at)
			i++;
		while (j < m && y[j] <= at)
			j++;
		most = fmax(most, fabs((double)i / (double)n - (double)j / (double)m));
	}
	return most;
}

static struct shift_point point(const double *x, size_t n, const double *y, size_t m, double p, double band)
{
	const struct sample_set of_x = { .values = x, .finite = n }, of_y = { .values = y, .finite = m };
	struct shift_point s = { .p = p, .x = quantile_point(&of_x, p).value, .y = quantile_point(&of_y, p).value };
	/* the observed value that the quantile is, or that it lies next below */
	size_t rank = (size_t)ceil(p * (double)n - 1e-9);
	double at = x[rank ? rank - 1 : 0], share = (double)at_or_below(x, n, at) / (double)n;
	double below = ceil((double)m * (share - band) - 1e-9), above = floor((double)m * (share + band) + 1e-9) + 1;

	s.difference = s.y - s.x;
	s.low = below < 1 ? -INFINITY : y[(size_t)below - 1] - at;
	s.high = above > (double)m ? INFINITY : y[(size_t)above - 1] - at;
	return s;
}

struct shift shift_compute(const double *x, size_t x_count, const double *y, size_t y_count, const double *p,
			   size_t count, double confidence, struct shift_point *ret_points)
{
	TARE_ASSERT(x_count > 0 && y_count > 0);
	double n = (double)x_count, m = (double)y_count, root = sqrt((n + m) / (n * m));
	struct shift s = { .x_count = x_count, .y_count = y_count, .band = kolmogorov_quantile(confidence) * root };

	s.distance = distance(x, x_count, y, y_count);
	s.p_value = 1 - kolmogorov_cdf(s.distance / root);
	for (size_t i = 0; i < count; i++)
		ret_points[i] = point(x, x_count, y, y_count, p[i], s.band);
	return s;
}
