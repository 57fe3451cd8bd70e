/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "stats/effort.h"
#include "stats/stopping.h"
#include "stats/sort.h"

enum { RESTARTS_MOST = 400, RUNS_MOST = 8, BATCHES = 10, BATCH = 20 };

static double figures[RESTARTS_MOST * RUNS_MOST * BATCHES], work[RESTARTS_MOST];
static uint32_t runs[RESTARTS_MOST];

static const struct effort_cell truth = {
	.median = 100,
	.restart = 4,
	.run = 1,
	.probe = 400,
	.restart_s = 30,
	.run_s = 1,
	.probe_s = 0.06,
};

/* Batch means, as a pilot has medians of batches: of the given variances. */
static struct effort_pilot simulate(const struct effort_cell *c, uint32_t restarts, uint32_t run_count, uint64_t seed)
{
	uint32_t n = 0;
	struct rng rng;

	rng_init(&rng, seed);
	for (uint32_t r = 0; r < restarts; r++) {
		double level = c->median + sqrt(c->restart) * rng_normal(&rng);

		runs[r] = run_count;
		for (uint32_t j = 0; j < run_count; j++) {
			double of_run = level + sqrt(c->run) * rng_normal(&rng);

			for (uint32_t b = 0; b < BATCHES; b++)
				figures[n++] = of_run + sqrt(c->probe / BATCH) * rng_normal(&rng);
		}
	}
	return (struct effort_pilot){
		.figures = figures, .runs = runs, .restarts = restarts, .batches = BATCHES, .batch_probes = BATCH
	};
}

static void variances_of_each_level_come_back(void **state)
{
	struct effort_pilot p = simulate(&truth, RESTARTS_MOST, RUNS_MOST, 4);
	struct effort_cell c = { 0 };

	(void)state;
	assert_true(effort_variances(&p, &c));
	assert_float_equal(c.restart, truth.restart, 0.2 * truth.restart);
	assert_float_equal(c.run, truth.run, 0.15 * truth.run);
	assert_float_equal(c.probe, truth.probe, 0.05 * truth.probe);
}

/* Each level alone: the others come out as nothing beside it. */
static void levels_are_told_apart(void **state)
{
	(void)state;
	for (int level = 0; level < 3; level++) {
		struct effort_cell only = { .median = 100 }, c = { 0 };
		struct effort_pilot p;

		*(level == 0 ? &only.restart : level == 1 ? &only.run : &only.probe) = level == 2 ? 400 : 4;
		p = simulate(&only, RESTARTS_MOST, RUNS_MOST, 2 + (uint64_t)level);
		assert_true(effort_variances(&p, &c));
		assert_float_equal(c.restart, only.restart, level == 0 ? 1 : 0.1);
		assert_float_equal(c.run, only.run, level == 1 ? 0.5 : 0.1);
		assert_float_equal(c.probe, only.probe, level == 2 ? 20 : 1e-9);
	}
}

static void a_pilot_too_small_says_so(void **state)
{
	struct effort_pilot p = simulate(&truth, 1, 4, 3);
	struct effort_cell c = { 0 };

	(void)state;
	assert_false(effort_variances(&p, &c));
	p = simulate(&truth, 4, 1, 3);
	assert_false(effort_variances(&p, &c));
	p = simulate(&truth, 4, 2, 3);
	runs[1] = runs[2] = 0; /* failed: their figures are not there */
	assert_true(effort_variances(&p, &c));
	runs[3] = 0;
	assert_false(effort_variances(&p, &c));
}

/* What the rule really takes, and how wide it ends, against what was expected. */
static void restarts_to_a_width_are_foretold(void **state)
{
	const struct stopping_rule rule = { .width = 0.05, .least = 6, .most = RESTARTS_MOST };
	const uint32_t run_counts[] = { 1, 3 }, probe_counts[] = { 50, 400 };
	struct rng rng;

	(void)state;
	rng_init(&rng, 5);
	for (int i = 0; i < 4; i++) {
		uint32_t m = run_counts[i % 2], k = probe_counts[i / 2];
		double expected = effort_restarts(&truth, rule.width, m, k), mean = 0;

		for (int trial = 0; trial < 400; trial++) {
			for (uint32_t r = 0; r < 60; r++) {
				double of_runs[3];

				for (uint32_t j = 0; j < m; j++)
					of_runs[j] = sqrt(truth.run + truth.probe / k) * rng_normal(&rng);
				figures[r] = 100 + sqrt(truth.restart) * rng_normal(&rng) + median_double(of_runs, m);
			}
			mean += stopping_judge(&rule, figures, 60, work).restarts / 400.0;
		}
		assert_true(fabs(mean - expected) < 0.25 * mean);
	}
}

/* The proposal is the least of the whole plane, and near what the formula has. */
static void the_proposal_is_the_cheapest(void **state)
{
	const struct effort_limits limits = { .probes_least = 20, .probes_most = 2000, .runs_most = 10 };
	struct effort best = effort_propose(&truth, 1, 0.02, &limits);
	double formula_runs, formula_probes, of_formula;

	(void)state;
	effort_optimum(&truth, &formula_runs, &formula_probes);
	assert_float_equal(formula_probes, sqrt(1 / 0.06 * 400), 1e-9); /* 82 */
	assert_float_equal(formula_runs, sqrt(30.0 / 4), 1e-9);         /* 2.7 */
	for (uint32_t m = 1; m <= 10; m++)
		for (uint32_t k = 20; k <= 2000; k += 20)
			assert_true(effort_seconds(&truth, effort_restarts(&truth, 0.02, m, k), m, k) >=
				    0.97 * best.seconds);
	of_formula = effort_seconds(&truth, effort_restarts(&truth, 0.02, 3, 82), 3, 82);
	assert_true(best.seconds <= of_formula);
	assert_true(of_formula < 1.2 * best.seconds); /* which does not know that a median of three is dear */
}

static void where_restarts_are_all_there_is_runs_are_short(void **state)
{
	const struct effort_limits limits = { .probes_least = 20, .probes_most = 2000, .runs_most = 10 };
	struct effort_cell c = truth;
	struct effort best;

	(void)state;
	c.restart = 1000;
	best = effort_propose(&c, 1, 0.1, &limits);
	assert_int_equal(best.runs, 1);
	assert_true(best.probes < 100);
	c.restart = c.run = 0; /* probes alone: long runs, few restarts */
	best = effort_propose(&c, 1, 0.02, &limits);
	assert_true(best.probes * best.runs > 400);
	assert_true(effort_restarts(&c, 0.02, best.runs, best.probes) < 12);
}

static void what_cannot_be_reached_is_bounded(void **state)
{
	struct effort_cell c = truth;

	(void)state;
	c.restart = 1e9;
	assert_int_equal(effort_restarts(&c, 1e-4, 1, 100), EFFORT_RESTARTS_MOST);
	c.median = 0;
	assert_int_equal(effort_restarts(&c, 0.05, 1, 100), EFFORT_RESTARTS_MOST);
	c = truth;
	c.restart = c.run = c.probe = 0;
	assert_int_equal(effort_restarts(&c, 0.05, 1, 100), 7); /* nothing varies: as soon as the rule may */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(variances_of_each_level_come_back),
		cmocka_unit_test(levels_are_told_apart),
		cmocka_unit_test(a_pilot_too_small_says_so),
		cmocka_unit_test(restarts_to_a_width_are_foretold),
		cmocka_unit_test(the_proposal_is_the_cheapest),
		cmocka_unit_test(where_restarts_are_all_there_is_runs_are_short),
		cmocka_unit_test(what_cannot_be_reached_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
