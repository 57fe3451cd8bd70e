/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>

#include <cmocka.h>

#include "base/rng.h"
#include "stats/hierarchy.h"
#include "near.h"

/* Three groups of three: MSB = 19, MSW = 1, by hand. */
static void components_by_hand(void **state)
{
	static const double y[] = { 1, 2, 3, 4, 5, 6, 0, -1, 1 };
	static const uint32_t runs[] = { 3, 3, 3 };
	const struct run_figures in = { y, runs, 3 };
	struct variance_components v = variance_components(&in, 0.95);

	(void)state;
	/* means 2, 5, 0 around 7/3: squares 1/9 + 64/9 + 49/9 = 114/9, times 3 over 2 is 19 */
	assert_true(v.valid && v.icc_valid && !v.between_truncated);
	assert_near(v.within, 1, 1e-12);
	assert_near(v.n0, 3, 1e-12);
	assert_near(v.between, (19.0 - 1) / 3, 1e-12);
	assert_near(v.icc, 6.0 / 7, 1e-12);
	/* F = 19; F(.975; 2, 6) = 7.2599, F(.975; 6, 2) = 39.3315 */
	assert_near(v.icc_interval.low, (19 / 7.2599 - 1) / (19 / 7.2599 + 2), 1e-4);
	assert_near(v.icc_interval.high, (19 * 39.3315 - 1) / (19 * 39.3315 + 2), 1e-4);
}

static void unbalanced_components(void **state)
{
	static const double y[] = { 1, 3, 5, 5, 7, 9, 11 };
	static const uint32_t runs[] = { 2, 1, 4 };
	const struct run_figures in = { y, runs, 3 };
	struct variance_components v = variance_components(&in, 0.95);

	(void)state;
	assert_true(v.valid);
	assert_near(v.n0, (7 - (4 + 1 + 16) / 7.0) / 2, 1e-12);
	assert_near(v.within, (2 + 20) / 4.0, 1e-12);
}

static void negative_component_is_cut_and_flagged(void **state)
{
	static const double y[] = { 0, 10, 1, 9 };
	static const uint32_t runs[] = { 2, 2 };
	const struct run_figures in = { y, runs, 2 };
	struct variance_components v = variance_components(&in, 0.95);

	(void)state;
	assert_true(v.valid && v.between_truncated);
	assert_true(v.between == 0 && v.icc == 0 && v.icc_interval.low == 0);
}

static void components_say_when_they_cannot(void **state)
{
	static const double alike[] = { 2, 2, 2, 2 }, lost[] = { 1, 2, INFINITY, 3 };
	static const uint32_t two[] = { 2, 2 }, ones[] = { 1, 1, 1, 1 }, one[] = { 4 };

	(void)state;
	assert_false(variance_components(&(struct run_figures){ alike, ones, 4 }, 0.95).valid);
	assert_false(variance_components(&(struct run_figures){ alike, one, 1 }, 0.95).valid);
	assert_false(variance_components(&(struct run_figures){ lost, two, 2 }, 0.95).valid);
	assert_false(variance_components(&(struct run_figures){ NULL, NULL, 0 }, 0.95).valid);
	struct variance_components v = variance_components(&(struct run_figures){ alike, two, 2 }, 0.95);

	assert_true(v.valid && !v.icc_valid);
	static const double apart[] = { 2, 2, 3, 3 }; /* runs repeat exactly: all is between */

	v = variance_components(&(struct run_figures){ apart, two, 2 }, 0.95);
	assert_true(v.icc == 1 && v.icc_interval.low == 1);
}

static void hierarchy_takes_medians_twice(void **state)
{
	/* Medians 2, 20, 3.5, 5, 6, 7; the mean of all would be far off. */
	static const double y[] = { 1, 2, 300, 20, 3, 4, 5, 6, 7 };
	static const uint32_t runs[] = { 3, 1, 2, 0, 1, 1, 1 };
	const struct run_figures in = { y, runs, 7 };
	double restarts[7];
	struct hierarchy h;

	(void)state;
	assert_int_equal(hierarchy_compute(&in, 0.95, 400, 1, restarts, &h), 0);
	assert_int_equal(h.restarts, 6);
	assert_int_equal(h.runs, 9);
	assert_int_equal(h.empty_restarts, 1);
	assert_true(restarts[0] == 2 && restarts[1] == 20 && restarts[2] == 3.5 && restarts[6] == 7);
	assert_true(isinf(restarts[3]) && restarts[3] < 0);
	assert_near(h.figure.value, 5.5, 1e-12);
	assert_true(h.order.low == 2 && h.order.high == 20);
	assert_near(h.order.coverage, 0.96875, 1e-12);
	assert_true(h.interpolated.low > 2 && h.interpolated.high < 20);
	assert_true(h.restart_min == 2 && h.restart_max == 20);
	assert_int_equal(h.bootstrap.state, FIGURE_NUMBER);
	assert_true(h.bootstrap.low < 5.5 && h.bootstrap.high > 5.5);
}

static void five_restarts_have_a_figure_and_no_interval(void **state)
{
	static const double y[] = { 1, 2, 3, 4, 5 };
	static const uint32_t runs[] = { 1, 1, 1, 1, 1 };
	struct hierarchy h;

	(void)state;
	assert_int_equal(hierarchy_compute(&(struct run_figures){ y, runs, 5 }, 0.95, 400, 1, NULL, &h), 0);
	assert_int_equal(h.figure.state, FIGURE_NUMBER);
	assert_int_equal(h.order.state, FIGURE_REFUSED);
	assert_int_equal(h.bootstrap.state, FIGURE_REFUSED);
	assert_near(h.order.coverage, 0.9375, 1e-15);
	assert_near(h.bootstrap.coverage, 0.9375, 1e-15);
	assert_int_equal(hierarchy_compute(&(struct run_figures){ NULL, NULL, 0 }, 0.95, 400, 1, NULL, &h), 0);
	assert_int_equal(h.figure.state, FIGURE_REFUSED);
}

static void what_is_lost_everywhere_is_lost(void **state)
{
	const double y[6] = { INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY };
	const uint32_t runs[6] = { 1, 1, 1, 1, 1, 1 };
	struct hierarchy h;

	(void)state;
	assert_int_equal(hierarchy_compute(&(struct run_figures){ y, runs, 6 }, 0.95, 100, 1, NULL, &h), 0);
	assert_int_equal(h.figure.state, FIGURE_LOST);
	assert_true(isinf(h.figure.value) && isinf(h.measured.value) && isinf(h.measured.u));
}

static void lost_runs_are_at_infinity(void **state)
{
	static const double y[] = { 1, 2, 3, INFINITY, INFINITY, INFINITY, INFINITY };
	static const uint32_t runs[] = { 1, 1, 1, 1, 1, 1, 1 };
	struct hierarchy h;

	(void)state;
	assert_int_equal(hierarchy_compute(&(struct run_figures){ y, runs, 7 }, 0.95, 400, 1, NULL, &h), 0);
	assert_int_equal(h.figure.state, FIGURE_LOST);
	assert_int_equal(h.order.state, FIGURE_LOST);
	assert_int_equal(h.interpolated.state, FIGURE_LOST);
	assert_int_equal(h.bootstrap.state, FIGURE_LOST);
	assert_true(!isnan(h.bootstrap.low) && !isnan(h.interpolated.low));
	assert_true(!h.components.valid && h.between_sd == 0);
}

static void bootstrap_is_the_seeds_alone(void **state)
{
	double y[60];
	uint32_t runs[6] = { 10, 10, 10, 10, 10, 10 };
	const struct run_figures in = { y, runs, 6 };
	struct interval a, b, c;
	struct rng r;

	(void)state;
	rng_init(&r, 1);
	for (int i = 0; i < 60; i++)
		y[i] = i / 10 * 3.0 + rng_normal(&r);
	assert_int_equal(hierarchy_bootstrap(&in, 0.95, 500, 7, &a), 0);
	assert_int_equal(hierarchy_bootstrap(&in, 0.95, 500, 7, &b), 0);
	assert_int_equal(hierarchy_bootstrap(&in, 0.95, 500, 8, &c), 0);
	assert_true(a.low == b.low && a.high == b.high);
	assert_true(a.low != c.low || a.high != c.high);
	/* Restarts 3 apart: within the range, wider than what runs alone would say. */
	assert_true(a.low > -1 && a.high < 17 && a.high - a.low > 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(components_by_hand),
		cmocka_unit_test(unbalanced_components),
		cmocka_unit_test(negative_component_is_cut_and_flagged),
		cmocka_unit_test(components_say_when_they_cannot),
		cmocka_unit_test(hierarchy_takes_medians_twice),
		cmocka_unit_test(five_restarts_have_a_figure_and_no_interval),
		cmocka_unit_test(lost_runs_are_at_infinity),
		cmocka_unit_test(what_is_lost_everywhere_is_lost),
		cmocka_unit_test(bootstrap_is_the_seeds_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
