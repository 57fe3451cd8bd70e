/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/exponent.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/rng.h"
#include "stats/quantile.h"
#include "stats/sort.h"

/* Logarithms of everything, and room for a resample. */
struct logs {
	const struct power_point *points;
	uint32_t count;
	uint32_t *first;        /* of each point in y */
	double *x, *y;          /* by point; of all figures */
	double *medians;        /* by point */
	double *drawn;          /* as many as the largest point has */
	double centre, squares; /* of x: mean, sum of squares around it */
};

static void logs_release(struct logs *l)
{
	free(l->first);
	free(l->x);
	free(l->y);
	free(l->medians);
	free(l->drawn);
}

static int logs_init(struct logs *l, const struct power_point *points, uint32_t count)
{
	size_t total = 1, largest = 1;

	*l = (struct logs){ .points = points, .count = count };
	for (uint32_t i = 0; i < count; i++) {
		total += points[i].count;
		largest = points[i].count > largest ? points[i].count : largest;
	}
	l->first = calloc((size_t)count + 1, sizeof(*l->first));
	l->x = calloc((size_t)count + 1, sizeof(*l->x));
	l->y = calloc(total, sizeof(*l->y));
	l->medians = calloc((size_t)count + 1, sizeof(*l->medians));
	l->drawn = calloc(largest, sizeof(*l->drawn));
	if (!l->first || !l->x || !l->y || !l->medians || !l->drawn) {
		logs_release(l);
		return -ENOMEM;
	}
	for (uint32_t i = 0, at = 0; i < count; at += points[i++].count) {
		l->first[i] = at;
		l->x[i] = log(points[i].x);
		l->centre += l->x[i] / count;
		for (uint32_t k = 0; k < points[i].count; k++)
			l->y[at + k] = log(points[i].figures[k]);
	}
	for (uint32_t i = 0; i < count; i++)
		l->squares += (l->x[i] - l->centre) * (l->x[i] - l->centre);
	return 0;
}

static double slope(const struct logs *l)
{
	double sum = 0;

	for (uint32_t i = 0; i < l->count; i++)
		sum += (l->x[i] - l->centre) * l->medians[i];
	return sum / l->squares;
}

/* Medians of the figures as they are (rng NULL), or of as many drawn from them. */
static void take_medians(struct logs *l, struct rng *rng)
{
	for (uint32_t i = 0; i < l->count; i++) {
		const double *from = l->y + l->first[i];
		uint32_t n = l->points[i].count;

		for (uint32_t k = 0; k < n; k++)
			l->drawn[k] = from[rng ? rng_below(rng, n) : k];
		l->medians[i] = median_double(l->drawn, n);
	}
}

static bool can_be_fitted(const struct power_point *points, uint32_t count, uint32_t *ret_different)
{
	uint32_t different = 0;

	for (uint32_t i = 0; i < count; i++) {
		bool again = false;

		if (!(points[i].x > 0) || !isfinite(points[i].x) || points[i].count == 0)
			return false;
		for (uint32_t k = 0; k < points[i].count; k++)
			if (!(points[i].figures[k] > 0) || !isfinite(points[i].figures[k]))
				return false;
		for (uint32_t k = 0; k < i; k++)
			again = again || points[k].x == points[i].x;
		different += !again;
	}
	*ret_different = different;
	return different >= 2;
}

static int resample(struct logs *l, uint32_t resamples, uint64_t seed, struct interval *ret)
{
	double *slopes = calloc(resamples, sizeof(*slopes)), tail = (1 - ret->confidence) / 2;
	const struct sample_set set = { .values = slopes, .finite = resamples };
	struct rng rng;

	if (!slopes)
		return -ENOMEM;
	rng_init(&rng, seed);
	for (uint32_t b = 0; b < resamples; b++) {
		take_medians(l, &rng);
		slopes[b] = slope(l);
	}
	sort_double(slopes, resamples);
	ret->state = FIGURE_NUMBER;
	ret->coverage = ret->confidence;
	ret->low = quantile_point(&set, tail).value;
	ret->high = quantile_point(&set, 1 - tail).value;
	free(slopes);
	return 0;
}

static void fit(struct logs *l, struct power_law *ret)
{
	double b, intercept = 0;

	take_medians(l, NULL);
	b = slope(l);
	for (uint32_t i = 0; i < l->count; i++)
		intercept += (l->medians[i] - b * l->x[i]) / l->count;
	for (uint32_t i = 0; i < l->count; i++)
		ret->misfit = fmax(ret->misfit, expm1(fabs(l->medians[i] - b * l->x[i] - intercept)));
	ret->exponent = figure_number(b);
	ret->factor = figure_number(exp(intercept));
}

int power_law_fit(const struct power_point *points, uint32_t count, double confidence, uint32_t resamples,
		  uint64_t seed, struct power_law *ret)
{
	TARE_ASSERT(resamples >= 100);
	struct power_law p = { .exponent = figure_refused(0, 2), .factor = figure_refused(0, 2) };
	uint32_t fewest = UINT32_MAX;
	struct logs l;
	int rc;

	p.interval = (struct interval){ .confidence = confidence, .need = quantile_need(0.5, confidence) };
	if (!can_be_fitted(points, count, &p.points)) {
		*ret = p;
		return 0;
	}
	for (uint32_t i = 0; i < count; i++)
		fewest = points[i].count < fewest ? points[i].count : fewest;
	p.interval.have = fewest;
	rc = logs_init(&l, points, count);
	if (rc != 0)
		return rc;
	fit(&l, &p);
	if (fewest >= p.interval.need)
		rc = resample(&l, resamples, seed, &p.interval);
	else
		p.interval.coverage = 1 - 2 * pow(0.5, fewest);
	logs_release(&l);
	if (rc == 0)
		*ret = p;
	return rc;
}
