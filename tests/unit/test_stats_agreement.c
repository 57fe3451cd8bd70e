/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "stats/agreement.h"
#include "stats/anderson.h"
#include "stats/shift.h"
#include "stats/sort.h"
#include "stats/special.h"
#include "near.h"

static void the_laws_are_those_of_the_tables(void **state)
{
	(void)state;
	assert_near(chi2_quantile(0.975, 10), 20.4831773, 1e-6);
	assert_near(chi2_quantile(0.025, 10), 3.2469728, 1e-6);
	assert_near(chi2_quantile(0.95, 1), 3.8414588, 1e-6);
	assert_near(chi2_cdf(1000, 1000), 0.5059472, 1e-6);
	assert_near(kolmogorov_quantile(0.95), 1.3580986, 1e-6);
	assert_near(kolmogorov_quantile(0.99), 1.6276236, 1e-6);
	/* points of the limit law (Marsaglia and Marsaglia 2004) */
	assert_near(anderson_tail(1.2478), 0.25, 1e-4);
	assert_near(anderson_tail(1.93296), 0.10, 1e-5);
	assert_near(anderson_tail(2.49237), 0.05, 1e-5);
	assert_near(anderson_tail(3.87813), 0.01, 1e-5);
	assert_near(anderson_tail(0.1), 1, 1e-4);
	assert_near(anderson_tail(30), 0, 1e-5);
}

/* Peak flow by two meters, the first readings of Bland and Altman's 17 subjects (Lancet 1986). */
static void agreement_as_bland_and_altman_had_it(void **state)
{
	static const double mini[17] = { 512, 430, 520, 428, 500, 600, 364, 380, 658,
					 445, 432, 626, 260, 477, 259, 350, 451 };
	static const double large[17] = { 494, 395, 516, 434, 476, 557, 413, 442, 650,
					  433, 417, 656, 267, 478, 178, 423, 427 };
	struct agreement g;

	(void)state;
	assert_int_equal(agreement_compute(mini, large, 17, 0.95, 0.95, &g), 0);
	assert_near(g.bias.value, -2.1, 0.05);
	assert_near(g.sd.value, 38.8, 0.05);
	assert_near(g.bias_interval.low, -22.0, 0.1);
	assert_near(g.bias_interval.high, 17.8, 0.1);
	assert_near(g.lower.value.value, -2.1 - 1.96 * 38.8, 0.1);
	assert_near(g.upper.value.value, -2.1 + 1.96 * 38.8, 0.1);
	/* theirs, -114.3 to -45.1, is symmetric; an exact one reaches further out than in */
	assert_true(g.lower.interval.low < -114 && g.lower.interval.high > -60 && g.lower.interval.high < -45);
	/* seventeen pairs have no 2.5 % quantile */
	assert_int_equal(g.lower_quantile.value.state, FIGURE_REFUSED);
	assert_true(g.lower_quantile.value.need > 100);
	assert_true(g.slope_interval.low < 0 && g.slope_interval.high > 0);
}

static void a_rate_that_differs_is_a_slope(void **state)
{
	double a[200], b[200];
	struct agreement g;
	struct rng rng;

	(void)state;
	rng_init(&rng, 3);
	for (int i = 0; i < 200; i++) {
		a[i] = 100 + i;
		b[i] = a[i] * 1.05 + 0.1 * rng_normal(&rng);
	}
	assert_int_equal(agreement_compute(a, b, 200, 0.95, 0.95, &g), 0);
	assert_near(g.slope.value, 0.05 / 1.025, 1e-3);
	assert_true(g.slope_interval.low > 0.045);
	assert_int_equal(agreement_compute(a, a, 1, 0.95, 0.95, &g), 0);
	assert_int_equal(g.bias.state, FIGURE_NUMBER);
	assert_int_equal(g.sd.state, FIGURE_REFUSED);
	assert_int_equal(g.lower.value.state, FIGURE_REFUSED);
	assert_int_equal(agreement_compute(NULL, NULL, 0, 0.95, 0.95, &g), 0);
	assert_int_equal(g.bias.state, FIGURE_REFUSED);
}

/* How often the interval of the upper limit holds it; `normal` false: log-normal differences, by quantiles. */
static unsigned limits_covered(size_t pairs, bool normal, unsigned campaigns)
{
	double *a = calloc(pairs, sizeof(*a)), *b = calloc(pairs, sizeof(*b));
	double truth = normal ? 5 + 2 * normal_quantile(0.975) : exp(normal_quantile(0.975));
	unsigned inside = 0;
	struct rng rng;

	assert_true(a && b);
	rng_init(&rng, pairs);
	for (unsigned c = 0; c < campaigns; c++) {
		const struct interval *i;
		struct agreement g;

		for (size_t k = 0; k < pairs; k++) {
			a[k] = 1000 * rng_unit(&rng);
			b[k] = a[k] + (normal ? 5 + 2 * rng_normal(&rng) : exp(rng_normal(&rng)));
		}
		assert_int_equal(agreement_compute(a, b, pairs, 0.95, 0.95, &g), 0);
		i = normal ? &g.upper.interval : &g.upper_quantile.interval;
		assert_int_equal(i->state, FIGURE_NUMBER);
		inside += i->low <= truth && truth <= i->high;
	}
	free(a);
	free(b);
	return inside;
}

static void intervals_of_limits_cover(void **state)
{
	(void)state;
	/* 1000 campaigns: a standard deviation is 0.7 points */
	assert_in_range(limits_covered(10, true, 1000), 930, 970);
	assert_in_range(limits_covered(50, true, 1000), 930, 970);
	/* order statistics cannot do less than they say */
	assert_in_range(limits_covered(400, false, 1000), 940, 995);
}

/* --- shift --- */

static void the_shift_of_shifted_samples_is_the_shift(void **state)
{
	const double p[] = { 0.1, 0.5, 0.9 };
	double x[1000], y[1000];
	struct shift_point points[3];
	struct shift s;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		x[i] = i;
		y[i] = i * 1.5 + 40;
	}
	s = shift_compute(x, 1000, y, 1000, p, 3, 0.95, points);
	for (int i = 0; i < 3; i++) {
		assert_near(points[i].difference, 40 + 0.5 * points[i].x, 1e-6);
		assert_true(points[i].low < points[i].difference && points[i].high > points[i].difference);
	}
	assert_near(s.band, 1.3581 * sqrt(2.0 / 1000), 1e-5);
	assert_true(s.distance > s.band && s.p_value < 1e-6);
	/* at an end there are no further values: the band is open, not narrow */
	s = shift_compute(x, 1000, y, 1000, (const double[]){ 0.999 }, 1, 0.95, points);
	assert_true(isinf(points[0].high) && isfinite(points[0].low));
	s = shift_compute(x, 1000, x, 1000, p, 3, 0.95, points);
	assert_true(s.distance == 0 && s.p_value == 1);
	for (int i = 0; i < 3; i++)
		assert_true(points[i].difference == 0 && points[i].low < 0 && points[i].high > 0);
}

/* Campaigns in which the band holds the truth at every observed x; y is 3 + 1.5 x, both cut to a grid. */
static unsigned bands_hold(size_t n, size_t m, double grid, unsigned campaigns, double said)
{
	double *x = calloc(n, sizeof(*x)), *y = calloc(m, sizeof(*y)), *p = calloc(n, sizeof(*p));
	struct shift_point *points = calloc(n, sizeof(*points));
	unsigned held = 0;
	struct rng rng;

	assert_true(x && y && p && points);
	rng_init(&rng, n + m);
	for (size_t i = 0; i < n; i++)
		p[i] = ((double)i + 0.5) / (double)n;
	for (unsigned c = 0; c < campaigns; c++) {
		bool all = true;

		for (size_t i = 0; i < n; i++)
			x[i] = rng_normal(&rng);
		for (size_t i = 0; i < m; i++)
			y[i] = 3 + 1.5 * rng_normal(&rng);
		for (size_t i = 0; grid > 0 && i < n; i++)
			x[i] = floor(x[i] / grid) * grid;
		for (size_t i = 0; grid > 0 && i < m; i++)
			y[i] = floor(y[i] / (1.5 * grid)) * 1.5 * grid;
		sort_double(x, n);
		sort_double(y, m);
		shift_compute(x, n, y, m, p, n, 0.95, points);
		for (size_t i = 0; i < n; i++) {
			/* on its grid, of which 3 is a multiple, y stays the image of x on its own */
			double truth = said + 0.5 * x[i];

			all = all && points[i].low <= truth + 1e-9 && truth - 1e-9 <= points[i].high;
		}
		held += all;
	}
	free(x);
	free(y);
	free(p);
	free(points);
	return held;
}

static void the_band_is_simultaneous(void **state)
{
	(void)state;
	assert_in_range(bands_hold(40, 60, 0, 600, 3), 600 * 94 / 100, 600 * 995 / 1000);
	assert_in_range(bands_hold(300, 200, 0, 600, 3), 600 * 93 / 100, 600 * 99 / 100);
	/* ties make it wider, not wrong */
	assert_in_range(bands_hold(200, 200, 0.5, 300, 3), 300 * 95 / 100, 300);
	/* and a shift that is not there is not held */
	assert_in_range(bands_hold(300, 200, 0, 200, 4), 0, 10);
}

/* --- Anderson and Darling --- */

static struct anderson test_of(double *x, size_t n, double *y, size_t m)
{
	sort_double(x, n);
	sort_double(y, m);
	return anderson_darling(x, n, y, m);
}

/* As scipy.stats.anderson_ksamp has it for the same samples (midranks). */
static void the_statistic_is_scholz_and_stephens(void **state)
{
	double before[] = { 2.1, 3.4, 1.9, 4.2, 3.3, 2.8, 3.9, 2.2, 3.1, 2.7 };
	double after[] = { 2.5, 3.1, 2.8, 4.6, 3.9, 3.0, 4.4, 2.9, 3.5, 3.6 };
	struct anderson r = test_of(before, 10, after, 10);

	(void)state;
	assert_near(r.standardised.value, 0.385197, 1e-6);
	double same[] = { 5, 5, 5 };

	r = test_of(same, 3, same, 3);
	assert_int_equal(r.p.state, FIGURE_REFUSED);
	r = anderson_darling(same, 3, same, 0);
	assert_int_equal(r.p.state, FIGURE_REFUSED);
}

/* p by drawing labels again: what the limit law stands for. */
static double permuted_p(const double *x, size_t n, const double *y, size_t m, unsigned rounds)
{
	double pool[64], a[64], b[64], observed;
	uint32_t order[64];
	unsigned more = 0;
	struct rng rng;

	rng_init(&rng, 9);
	memcpy(pool, x, n * sizeof(*x));
	memcpy(pool + n, y, m * sizeof(*y));
	memcpy(a, x, n * sizeof(*x));
	memcpy(b, y, m * sizeof(*y));
	observed = test_of(a, n, b, m).statistic.value;
	for (unsigned r = 0; r < rounds; r++) {
		for (uint32_t i = 0; i < n + m; i++)
			order[i] = i;
		rng_shuffle(&rng, order, (uint32_t)(n + m));
		for (size_t i = 0; i < n + m; i++)
			*(i < n ? &a[i] : &b[i - n]) = pool[order[i]];
		more += test_of(a, n, b, m).statistic.value >= observed - 1e-12;
	}
	return (double)more / rounds;
}

static void p_is_that_of_permutations(void **state)
{
	double x[20], y[30];
	struct rng rng;

	(void)state;
	for (int round = 0; round < 6; round++) {
		double a[20], b[30], p;

		rng_init(&rng, 100 + (uint64_t)round);
		for (int i = 0; i < 20; i++)
			x[i] = round % 2 ? floor(4 * rng_normal(&rng)) : rng_normal(&rng);
		for (int i = 0; i < 30; i++)
			y[i] = round % 2 ? floor(4 * rng_normal(&rng) + round) : rng_normal(&rng) * (1 + 0.2 * round);
		memcpy(a, x, sizeof(x));
		memcpy(b, y, sizeof(y));
		p = test_of(a, 20, b, 30).p.value;
		assert_near(p, permuted_p(x, 20, y, 30, 2000), 0.04);
	}
}

static void one_distribution_is_seldom_called_two(void **state)
{
	unsigned wrong = 0, found = 0;
	struct rng rng;

	(void)state;
	rng_init(&rng, 77);
	for (int c = 0; c < 1000; c++) {
		double x[50], y[80], z[80];

		for (int i = 0; i < 50; i++)
			x[i] = rng_normal(&rng);
		for (int i = 0; i < 80; i++) {
			y[i] = rng_normal(&rng);
			z[i] = 2.2 * rng_normal(&rng); /* the same median, wider: what a comparison of medians misses */
		}
		wrong += test_of(x, 50, y, 80).p.value < 0.05;
		found += test_of(x, 50, z, 80).p.value < 0.05;
	}
	assert_in_range(wrong, 30, 70);
	assert_in_range(found, 900, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_laws_are_those_of_the_tables),
		cmocka_unit_test(agreement_as_bland_and_altman_had_it),
		cmocka_unit_test(a_rate_that_differs_is_a_slope),
		cmocka_unit_test(intervals_of_limits_cover),
		cmocka_unit_test(the_shift_of_shifted_samples_is_the_shift),
		cmocka_unit_test(the_band_is_simultaneous),
		cmocka_unit_test(the_statistic_is_scholz_and_stephens),
		cmocka_unit_test(p_is_that_of_permutations),
		cmocka_unit_test(one_distribution_is_seldom_called_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
