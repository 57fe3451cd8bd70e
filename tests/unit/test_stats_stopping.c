/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "stats/quantile.h"
#include "stopping_model.h"

enum { MOST = 40 };

static const struct stopping_rule rule = { .width = 0.05, .least = 6, .most = MOST };
static double figures[MOST], work[MOST];

static struct stopping judge(uint32_t count)
{
	return stopping_judge(&rule, figures, count, work);
}

/* Ends of the interval at 100 and 100 + spread, whatever the number. */
static void fill(double spread)
{
	for (int i = 0; i < MOST; i++)
		figures[i] = i % 2 ? 100 + spread : 100;
}

static void width_is_end_to_end_over_the_median(void **state)
{
	const double sorted[] = { 90, 96, 99, 101, 104, 112 };

	(void)state;
	/* six restarts: from the first to the last, around 100 */
	assert_float_equal(stopping_width(sorted, 6), 0.22, 1e-12);
	assert_true(isinf(stopping_width(sorted, 5))); /* no interval */
	assert_true(isinf(stopping_width(sorted, 0)));
}

static void it_stops_at_the_second_narrow_look(void **state)
{
	(void)state;
	fill(4);
	assert_int_equal(judge(5).reason, STOPPING_NOT);
	assert_int_equal(judge(6).reason, STOPPING_NOT);
	assert_int_equal(judge(6).expected, 7);
	assert_int_equal(judge(7).reason, STOPPING_WIDTH);
	assert_int_equal(judge(7).restarts, 7);
	/* what comes after it changes nothing */
	for (int i = 7; i < MOST; i++)
		figures[i] = 1e9;
	assert_int_equal(judge(MOST).restarts, 7);
	assert_float_equal(judge(MOST).width, judge(7).width, 0);
}

static void wide_ones_go_on_to_the_most(void **state)
{
	(void)state;
	fill(20);
	assert_int_equal(judge(MOST - 1).reason, STOPPING_NOT);
	assert_int_equal(judge(MOST).reason, STOPPING_MOST);
	assert_true(judge(MOST).width > rule.width);
	/* four times too wide after ten: far more than there may be */
	assert_int_equal(judge(10).expected, MOST);
}

static void one_narrow_look_between_wide_ones_is_not_enough(void **state)
{
	const double line[] = { 100, 101, 99, 100, 102, 100, 130, 70, 131, 69, 132, 68 };

	(void)state;
	/* narrow after 6; the 7th interval still is from end to end, so the 7th restart makes it wide again */
	memcpy(figures, line, sizeof(line));
	assert_true(stopping_width((const double[]){ 99, 100, 100, 100, 101, 102 }, 6) < 0.05);
	assert_int_equal(judge(6).reason, STOPPING_NOT);
	assert_int_equal(judge(7).reason, STOPPING_NOT);
	assert_int_equal(judge(12).reason, STOPPING_NOT);
}

static void lost_figures_are_wide(void **state)
{
	(void)state;
	fill(0);
	for (int i = 0; i < MOST; i += 2)
		figures[i] = INFINITY;
	assert_true(isinf(judge(MOST).width));
	assert_int_equal(judge(MOST).reason, STOPPING_MOST);
	for (int i = 0; i < MOST; i++)
		figures[i] = 0; /* nothing to be relative to */
	assert_int_equal(judge(MOST).reason, STOPPING_MOST);
}

/* The least counts from what a narrow interval may stop at. */
static void it_does_not_stop_below_the_least(void **state)
{
	const struct stopping_rule twelve = { .width = 0.05, .least = 12, .most = MOST };

	(void)state;
	fill(1);
	assert_int_equal(stopping_judge(&twelve, figures, 11, work).reason, STOPPING_NOT);
	assert_int_equal(stopping_judge(&twelve, figures, MOST, work).restarts, 12);
}

/* 1500 campaigns: the standard deviation of a coverage is 0.6. bench_stopping does this at length. */
static void the_interval_holds_the_truth_at_stopping(void **state)
{
	(void)state;
	for (int law = 0; law < STOPPING_LAWS; law++)
		for (int s = 0; s < 3; s++) {
			static const double spreads[] = { 0.01, 0.03, 0.05 };
			struct stopping_trial t = stopping_simulate((enum stopping_law)law, spreads[s], &rule,
								    STOPPING_IN_A_ROW, 1500, (uint64_t)law);

			assert_true(t.covered >= 1500 * 0.935);
			assert_true(t.restarts >= 7 && t.restarts <= MOST);
		}
}

/* The check can fail: of the rule that stops at once, some law has too few. */
static void the_first_narrow_interval_does_not(void **state)
{
	uint32_t least = 1500;

	(void)state;
	for (int law = 0; law < STOPPING_LAWS; law++) {
		struct stopping_trial t =
			stopping_simulate((enum stopping_law)law, 0.05, &rule, 1, 1500, (uint64_t)law);

		least = t.covered < least ? t.covered : least;
	}
	assert_true(least < 1500 * 0.935);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(width_is_end_to_end_over_the_median),
		cmocka_unit_test(it_stops_at_the_second_narrow_look),
		cmocka_unit_test(wide_ones_go_on_to_the_most),
		cmocka_unit_test(one_narrow_look_between_wide_ones_is_not_enough),
		cmocka_unit_test(lost_figures_are_wide),
		cmocka_unit_test(it_does_not_stop_below_the_least),
		cmocka_unit_test(the_interval_holds_the_truth_at_stopping),
		cmocka_unit_test(the_first_narrow_interval_does_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
