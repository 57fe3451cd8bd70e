/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdbool.h>

#include <cmocka.h>

#include "base/rng.h"
#include "stats/compare.h"
#include "stats/quantile.h"
#include "stats/sort.h"
#include "near.h"

enum { CELLS = 9, RESTARTS = 6 };

static void p_is_students(void **state)
{
	const struct measured a = { 12.570581835636314, 1, 5 }, b = { 10, 0, INFINITY };
	struct comparison c = compare_measured(a, b, 0.95);

	(void)state;
	/* t of 5 degrees of freedom at its 97.5 % point */
	assert_near(c.p.value, 0.05, 1e-9);
	assert_near(c.difference_interval.low, 0, 1e-9);
	c = compare_measured(b, a, 0.95);
	assert_near(c.p.value, 0.05, 1e-9);
	c = compare_measured((struct measured){ 11, 3, 10 }, (struct measured){ 7, 4, 20 }, 0.95);
	/* t = 4 / 5, (9 + 16)^2 / (81 / 10 + 256 / 20) = 29.904 degrees of freedom */
	assert_near(c.p.value, 0.430, 0.0005);
	c = compare_measured((struct measured){ 5, 0, INFINITY }, (struct measured){ 5, 0, INFINITY }, 0.95);
	assert_near(c.p.value, 1, 0);
	c = compare_measured((struct measured){ 5, INFINITY, 3 }, (struct measured){ 5, 1, 5 }, 0.95);
	assert_int_equal(c.p.state, FIGURE_REFUSED);
}

/* Restarts that scatter by e^0.8: skewed so far that a base is often not clear of 0. */
static void ratios_of_skewed_medians_have_intervals_that_cover(void **state)
{
	unsigned inside = 0, plain = 0;
	struct rng rng;

	(void)state;
	rng_init(&rng, 31);
	for (int c = 0; c < 1000; c++) {
		double a[RESTARTS], b[RESTARTS];
		struct comparison k;

		for (int i = 0; i < RESTARTS; i++) {
			a[i] = 8 * exp(0.8 * rng_normal(&rng));
			b[i] = exp(0.8 * rng_normal(&rng));
		}
		sort_double(a, RESTARTS);
		sort_double(b, RESTARTS);
		k = compare_medians(a, RESTARTS, b, RESTARTS, 0.95);
		assert_int_equal(k.interval.state, FIGURE_NUMBER);
		assert_true(k.interval.low <= k.ratio.value && k.ratio.value <= k.interval.high);
		inside += k.interval.low <= 8 && 8 <= k.interval.high;
		plain += compare_measured(median_measured(a, RESTARTS), median_measured(b, RESTARTS), 0.95)
				 .interval.state == FIGURE_NUMBER;
	}
	assert_in_range(inside, 930, 985);
	assert_in_range(plain, 0, 800); /* Fieller's is refused in a fifth of them and more */
	/* what has a zero in it is compared as it is; too few have no interval; the ratio is that of the medians */
	double zero[] = { 0, 1, 2, 3, 4, 5 }, six[] = { 10, 11, 12, 13, 14, 15 };
	struct comparison k = compare_medians(six, 6, zero, 6, 0.95);

	assert_near(k.ratio.value, 5, 1e-12);
	k = compare_medians(six, 6, six, 5, 0.95);
	assert_near(k.ratio.value, 12.5 / 12, 1e-12);
	assert_int_equal(k.interval.state, FIGURE_REFUSED);
	assert_int_equal(k.p.state, FIGURE_REFUSED);
	k = compare_medians(NULL, 0, six, 6, 0.95);
	assert_int_equal(k.interval.state, FIGURE_REFUSED);
}

static void holm_as_he_has_it(void **state)
{
	/* R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") is 0.03 0.06 0.06 0.02 */
	const double p[] = { 0.01, 0.04, NAN, 0.03, 0.005 }, expected[] = { 0.03, 0.06, NAN, 0.06, 0.02 };
	double got[5], large[] = { 0.6, 0.5, 0.9 };

	(void)state;
	assert_int_equal(holm_adjust(p, 5, got), 0);
	for (int i = 0; i < 5; i++)
		if (i == 2)
			assert_true(isnan(got[i]));
		else
			assert_near(got[i], expected[i], 1e-12);
	assert_int_equal(holm_adjust(large, 3, large), 0);
	for (int i = 0; i < 3; i++)
		assert_near(large[i], 1, 0);
	assert_int_equal(holm_adjust(NULL, 0, NULL), 0);
}

static struct measured restarts_of(struct rng *rng, double centre)
{
	double v[RESTARTS];

	for (int i = 0; i < RESTARTS; i++)
		v[i] = centre * (1 + 0.05 * rng_normal(rng));
	sort_double(v, RESTARTS);
	return median_measured(v, RESTARTS);
}

/* Families of nine comparisons, of which the first `different` differ by a fifth; how many were found, and how often any
 * of the rest. */
static void families(unsigned count, int different, unsigned *ret_found, unsigned *ret_false)
{
	struct rng rng;

	rng_init(&rng, 11);
	*ret_found = *ret_false = 0;
	for (unsigned f = 0; f < count; f++) {
		double p[CELLS], adjusted[CELLS];
		bool any = false;

		for (int i = 0; i < CELLS; i++) {
			struct measured a = restarts_of(&rng, 100 * (i + 1)),
					b = restarts_of(&rng, (i < different ? 120 : 100) * (i + 1));

			p[i] = compare_measured(a, b, 0.95).p.value;
		}
		assert_int_equal(holm_adjust(p, CELLS, adjusted), 0);
		for (int i = 0; i < CELLS; i++) {
			assert_true(adjusted[i] >= p[i]);
			*ret_found += i < different && adjusted[i] < 0.05;
			any = any || (i >= different && adjusted[i] < 0.05);
		}
		*ret_false += any;
	}
}

static void a_family_is_rarely_wrong(void **state)
{
	unsigned found, wrong;

	(void)state;
	/* where nothing differs, at most one family in twenty says that something does */
	families(1000, 0, &found, &wrong);
	assert_in_range(wrong, 0, 65); /* 50 and two standard deviations */
	/* where a third differs by a fifth, most of it is found, and the rest is as safe */
	families(400, 3, &found, &wrong);
	assert_in_range(wrong, 0, 30);
	assert_in_range(found, 1200 * 3 / 4, 1200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(p_is_students),
		cmocka_unit_test(ratios_of_skewed_medians_have_intervals_that_cover),
		cmocka_unit_test(holm_as_he_has_it),
		cmocka_unit_test(a_family_is_rarely_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
