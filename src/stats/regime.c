/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/regime.h"

#include <math.h>

#include "stats/special.h"

/* A level in logarithms. */
struct point {
	double y, w; /* weight: 1 / variance */
};

struct side {
	double mean, weight, squares;
};

static struct side side_of(const struct point *points, uint32_t from, uint32_t to)
{
	struct side s = { 0 };

	for (uint32_t i = from; i < to; i++) {
		s.weight += points[i].w;
		s.mean += points[i].w * points[i].y;
	}
	s.mean /= s.weight;
	for (uint32_t i = from; i < to; i++)
		s.squares += points[i].w * (points[i].y - s.mean) * (points[i].y - s.mean);
	return s;
}

static bool usable(const struct measured *levels, uint32_t count, const char **ret_why)
{
	*ret_why = count < REGIME_LEVELS_LEAST  ? "fewer than three levels"
		   : count > REGIME_LEVELS_MOST ? "too many levels"
						: NULL;
	for (uint32_t i = 0; !*ret_why && i < count; i++) {
		if (!(levels[i].value > 0) || !isfinite(levels[i].value))
			*ret_why = "a level is lost, or not above 0";
		else if (!(levels[i].u > 0) || !isfinite(levels[i].u))
			*ret_why = "a level has no uncertainty: fewer than 6 restarts";
	}
	return !*ret_why;
}

static void steps(const struct measured *levels, uint32_t count, double confidence, struct regime_step *ret)
{
	double p[REGIME_LEVELS_MOST] = { 0 };

	for (uint32_t i = 0; i + 1 < count; i++) {
		ret[i].next = compare_measured(levels[i + 1], levels[i], confidence);
		p[i] = ret[i].next.p.state == FIGURE_NUMBER ? ret[i].next.p.value : NAN;
	}
	if (holm_adjust(p, count - 1, p) < 0)
		for (uint32_t i = 0; i + 1 < count; i++)
			p[i] = NAN;
	for (uint32_t i = 0; i + 1 < count; i++)
		ret[i].p_holm = p[i];
}

/* What there is of restarts in all levels, as far as it is known; else the normal distribution. */
static double restart_dof(const struct measured *levels, uint32_t count)
{
	double dof = 0;

	for (uint32_t i = 0; i < count; i++)
		dof += levels[i].dof;
	return isfinite(dof) && dof > 0 ? dof : INFINITY;
}

/* Probability by place, from what each leaves; *ret_best: the most probable. */
static void places(const struct point *points, uint32_t count, double spread, double *ret, uint32_t *ret_best)
{
	double most = -INFINITY, sum = 0;

	*ret_best = 0;
	for (uint32_t i = 0; i + 1 < count; i++) {
		struct side a = side_of(points, 0, i + 1), b = side_of(points, i + 1, count);

		ret[i] = -(a.squares + b.squares) / (2 * spread * spread) - (log(a.weight) + log(b.weight)) / 2;
		if (ret[i] > most) {
			most = ret[i];
			*ret_best = i;
		}
	}
	for (uint32_t i = 0; i + 1 < count; i++)
		sum += ret[i] = exp(ret[i] - most);
	for (uint32_t i = 0; i + 1 < count; i++)
		ret[i] /= sum;
}

static double least_squares(const struct point *points, uint32_t count)
{
	double least = INFINITY;

	for (uint32_t i = 0; i + 1 < count; i++)
		least = fmin(least, side_of(points, 0, i + 1).squares + side_of(points, i + 1, count).squares);
	return least;
}

/* Outwards from the best place, the more probable side first, until enough is inside. */
static void credible(const double *probability, uint32_t count, double confidence, struct regime_change *ret)
{
	double inside = probability[ret->after];

	ret->first = ret->last = ret->after;
	while (inside < confidence && (ret->first > 0 || ret->last + 1 < count)) {
		double left = ret->first > 0 ? probability[ret->first - 1] : -1;
		double right = ret->last + 1 < count ? probability[ret->last + 1] : -1;

		if (left >= right)
			ret->first--;
		else
			ret->last++;
		inside += fmax(left, right);
	}
}

static void heights(const struct point *points, uint32_t count, double confidence, double dof,
		    struct regime_change *ret)
{
	struct side a = side_of(points, 0, ret->after + 1), b = side_of(points, ret->after + 1, count);
	double u = ret->spread * sqrt(1 / a.weight + 1 / b.weight), difference = b.mean - a.mean;
	double half = student_quantile(1 - (1 - confidence) / 2, dof) * u;

	ret->before = exp(a.mean);
	ret->beyond = exp(b.mean);
	ret->ratio = exp(difference);
	ret->low = exp(difference - half);
	ret->high = exp(difference + half);
	ret->p = fmin(1, (count - 1) * 2 * student_cdf(-fabs(difference) / u, dof));
	ret->found = ret->p < 1 - confidence;
}

bool regime_find(const struct measured *levels, uint32_t count, double confidence, struct regime_step *ret_steps,
		 struct regime_change *ret, const char **ret_why)
{
	double probability[REGIME_LEVELS_MOST] = { 0 }, dof;
	struct point points[REGIME_LEVELS_MOST] = { 0 };

	*ret = (struct regime_change){ .spread = 1 };
	if (!usable(levels, count, ret_why))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		double u = levels[i].u / levels[i].value;

		points[i] = (struct point){ log(levels[i].value), 1 / (u * u) };
	}
	if (ret_steps)
		steps(levels, count, confidence, ret_steps);
	/* what restarts say of u, or what the levels say of it where that is more */
	dof = restart_dof(levels, count);
	ret->spread = sqrt(fmax(1, least_squares(points, count) / (count - 2)));
	if (ret->spread > 1)
		dof = count - 2;
	places(points, count, ret->spread, probability, &ret->after);
	ret->probability = probability[ret->after];
	credible(probability, count - 1, confidence, ret);
	heights(points, count, confidence, dof, ret);
	return true;
}
