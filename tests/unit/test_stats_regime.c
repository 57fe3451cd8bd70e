/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "stats/regime.h"

/* Where a regime changes, from levels whose truth is known. */

enum { LEVELS = 8 };

static struct measured level(double value, double relative_u)
{
	return (struct measured){ .value = value, .u = value * relative_u, .dof = 5 };
}

/* Levels of two heights with noise of the uncertainty that they say they have. */
static void draw(struct rng *rng, uint32_t after, double before, double beyond, double u, struct measured *ret)
{
	for (uint32_t i = 0; i < LEVELS; i++)
		ret[i] = level((i <= after ? before : beyond) * exp(u * rng_normal(rng)), u);
}

static void a_clear_change_is_found_where_it_is(void **state)
{
	(void)state;
	for (uint32_t after = 0; after + 1 < LEVELS; after++) {
		struct regime_step steps[LEVELS - 1];
		struct measured levels[LEVELS];
		struct regime_change c;
		struct rng rng;
		const char *why;

		rng_init(&rng, after);
		draw(&rng, after, 140, 60, 0.02, levels);
		assert_true(regime_find(levels, LEVELS, 0.95, steps, &c, &why));
		assert_true(c.found);
		assert_int_equal(c.after, after);
		assert_int_equal(c.first, after);
		assert_int_equal(c.last, after);
		assert_true(c.probability > 0.99);
		assert_true(fabs(c.ratio - 60.0 / 140) < 0.03 && c.low < 60.0 / 140 && 60.0 / 140 < c.high);
		assert_true(steps[after].p_holm < 0.05);
		assert_true(steps[after].next.ratio.value < 0.5);
	}
}

/* No change: at most one in twenty is called one. A small one: the places it may be at hold the truth nineteen times of twenty. */
static void the_confidence_is_what_it_says(void **state)
{
	unsigned false_changes = 0, held = 0, found = 0;
	enum { DRAWS = 2000 };
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (unsigned i = 0; i < DRAWS; i++) {
		uint32_t after = (uint32_t)rng_below(&rng, LEVELS - 1);
		struct measured levels[LEVELS];
		struct regime_change c;
		const char *why;

		draw(&rng, after, 100, 100, 0.02, levels);
		assert_true(regime_find(levels, LEVELS, 0.95, NULL, &c, &why));
		false_changes += c.found;

		draw(&rng, after, 100, 107, 0.02, levels);
		assert_true(regime_find(levels, LEVELS, 0.95, NULL, &c, &why));
		held += c.first <= after && after <= c.last;
		found += c.found;
	}
	assert_true(false_changes < DRAWS * 0.055);
	assert_true(held > DRAWS * 0.93);
	assert_true(found > DRAWS * 0.5);
}

/* A slope has no one place: the levels disagree on both sides, and what is said is less sure. */
static void a_slope_is_not_a_step(void **state)
{
	struct measured levels[LEVELS];
	struct regime_change c;
	const char *why;

	(void)state;
	for (uint32_t i = 0; i < LEVELS; i++)
		levels[i] = level(200 * pow(0.85, i), 0.01);
	assert_true(regime_find(levels, LEVELS, 0.95, NULL, &c, &why));
	assert_true(c.spread > 5);
	assert_true(c.last > c.first);
	assert_true(c.probability < 0.6);
}

static void what_cannot_be_said_is_refused(void **state)
{
	struct measured levels[LEVELS];
	struct regime_change c;
	const char *why;
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	draw(&rng, 3, 140, 60, 0.02, levels);
	assert_false(regime_find(levels, 2, 0.95, NULL, &c, &why));
	assert_non_null(strstr(why, "three levels"));
	assert_false(c.found);
	levels[2].u = NAN;
	assert_false(regime_find(levels, LEVELS, 0.95, NULL, &c, &why));
	assert_non_null(strstr(why, "restarts"));
	levels[2] = (struct measured){ INFINITY, 1, 5 };
	assert_false(regime_find(levels, LEVELS, 0.95, NULL, &c, &why));
	assert_non_null(strstr(why, "lost"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_clear_change_is_found_where_it_is),
		cmocka_unit_test(the_confidence_is_what_it_says),
		cmocka_unit_test(a_slope_is_not_a_step),
		cmocka_unit_test(what_cannot_be_said_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
