/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>

#include <cmocka.h>

#include "base/rng.h"
#include "stats/exponent.h"

enum { POINTS = 4, RESTARTS_MOST = 10 };

static const double switches[POINTS] = { 1, 2, 4, 8 };

static void what_is_proportional_has_exponent_one(void **state)
{
	double y[POINTS][6];
	struct power_point points[POINTS];
	struct power_law law;

	(void)state;
	for (int i = 0; i < POINTS; i++) {
		for (int k = 0; k < 6; k++)
			y[i][k] = 42.0 * switches[i];
		points[i] = (struct power_point){ switches[i], y[i], 6 };
	}
	assert_int_equal(power_law_fit(points, POINTS, 0.95, 200, 1, &law), 0);
	assert_int_equal(law.points, 4);
	assert_true(fabs(law.exponent.value - 1) < 1e-12 && fabs(law.factor.value - 42) < 1e-9);
	assert_true(law.misfit < 1e-12);
	assert_true(fabs(law.interval.low - 1) < 1e-12 && fabs(law.interval.high - 1) < 1e-12);
	/* y = 3 x^-0.5, and a point that is off the line by 21 % upwards pulls by its leverage */
	for (int i = 0; i < POINTS; i++)
		for (int k = 0; k < 6; k++)
			y[i][k] = 3 / sqrt(switches[i]);
	assert_int_equal(power_law_fit(points, POINTS, 0.95, 200, 1, &law), 0);
	assert_true(fabs(law.exponent.value + 0.5) < 1e-12);
	for (int k = 0; k < 6; k++)
		y[3][k] *= 1.21;
	assert_int_equal(power_law_fit(points, POINTS, 0.95, 200, 1, &law), 0);
	/* (1.5 ln 2) ln 1.21 / (5 ln^2 2) */
	assert_true(fabs(law.exponent.value - (-0.5 + 0.3 * log(1.21) / log(2))) < 1e-12);
	assert_true(law.misfit > 0.03 && law.misfit < 0.21);
}

static void what_cannot_be_said_is_refused(void **state)
{
	const double few[5] = { 1, 2, 3, 4, 5 }, six[6] = { 1, 2, 3, 4, 5, 6 }, zero[6] = { 0, 1, 1, 1, 1, 1 };
	const double lost[6] = { 1, 1, 1, 1, 1, INFINITY };
	struct power_law law;

	(void)state;
	/* one x, twice */
	assert_int_equal(power_law_fit((struct power_point[]){ { 2, six, 6 }, { 2, six, 6 } }, 2, 0.95, 100, 1, &law),
			 0);
	assert_int_equal(law.exponent.state, FIGURE_REFUSED);
	assert_int_equal(power_law_fit((struct power_point[]){ { 2, six, 6 }, { 0, six, 6 } }, 2, 0.95, 100, 1, &law),
			 0);
	assert_int_equal(law.exponent.state, FIGURE_REFUSED);
	assert_int_equal(power_law_fit((struct power_point[]){ { 2, six, 6 }, { 1, zero, 6 } }, 2, 0.95, 100, 1, &law),
			 0);
	assert_int_equal(law.exponent.state, FIGURE_REFUSED);
	assert_int_equal(power_law_fit((struct power_point[]){ { 2, six, 6 }, { 1, lost, 6 } }, 2, 0.95, 100, 1, &law),
			 0);
	assert_int_equal(law.exponent.state, FIGURE_REFUSED);
	assert_int_equal(power_law_fit(NULL, 0, 0.95, 100, 1, &law), 0);
	assert_int_equal(law.exponent.state, FIGURE_REFUSED);
	/* a number, but five restarts give no interval */
	assert_int_equal(power_law_fit((struct power_point[]){ { 2, six, 6 }, { 1, few, 5 } }, 2, 0.95, 100, 1, &law),
			 0);
	assert_int_equal(law.exponent.state, FIGURE_NUMBER);
	assert_int_equal(law.interval.state, FIGURE_REFUSED);
	assert_true(law.interval.have == 5 && law.interval.need == 6 && fabs(law.interval.coverage - 0.9375) < 1e-12);
}

/* Restarts that scatter by 20 %: how often is the truth inside? */
static unsigned covered(uint32_t restarts, uint32_t points_used, unsigned campaigns, double truth, double said)
{
	double y[POINTS][RESTARTS_MOST];
	struct power_point points[POINTS];
	unsigned inside = 0;
	struct rng rng;

	rng_init(&rng, 5);
	for (unsigned c = 0; c < campaigns; c++) {
		struct power_law law;

		for (uint32_t i = 0; i < points_used; i++) {
			for (uint32_t k = 0; k < restarts; k++)
				y[i][k] = 7 * pow(switches[i], truth) * exp(0.2 * rng_normal(&rng));
			points[i] = (struct power_point){ switches[i], y[i], restarts };
		}
		assert_int_equal(power_law_fit(points, points_used, 0.95, 400, c, &law), 0);
		inside += law.interval.low <= said && said <= law.interval.high;
	}
	return inside;
}

static void the_interval_covers(void **state)
{
	(void)state;
	/* 600 campaigns: the standard deviation of a 95 % coverage is 0.9 points */
	assert_in_range(covered(6, 4, 600, 0.85, 0.85), 600 * 93 / 100, 600 * 99 / 100);
	assert_in_range(covered(6, 2, 600, 1, 1), 600 * 93 / 100, 600 * 99 / 100);
	assert_in_range(covered(10, 4, 600, 1.2, 1.2), 600 * 93 / 100, 600 * 99 / 100);
	/* and can miss */
	assert_in_range(covered(6, 4, 200, 0.85, 1.3), 0, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_proportional_has_exponent_one),
		cmocka_unit_test(what_cannot_be_said_is_refused),
		cmocka_unit_test(the_interval_covers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
