/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/rng.h"
#include "stats/ratesearch.h"

/* The search against devices whose truth is known. */

#define MBPS INT64_C(1000000)
#define MS   INT64_C(1000000)
#define SEC  INT64_C(1000000000)

struct device {
	double capacity_bps;             /* what is offered over it is lost; 0: everything is */
	double dip_from_bps, dip_to_bps; /* all that is offered between them is lost; 0: no dip */
	double buffer_bits;              /* what a trial may offer over the capacity before anything is lost */
	double noise;                    /* share of trials that lose 10 % whatever the rate */
	double sender_most_bps;          /* 0: it offers whatever it is asked for */
	bool adverse;                    /* every trial is won or lost by a coin */
	struct rng rng;
};

static struct rate_trial try(struct device *d, int64_t rate_bps, int64_t duration_ns)
{
	struct rate_trial t = { .rate_bps = rate_bps, .duration_ns = duration_ns };
	double rate = (double)rate_bps, offered = rate, bits = rate * (double)duration_ns / 1e9, loss;

	if (d->sender_most_bps && rate > d->sender_most_bps) {
		offered = d->sender_most_bps;
		t.sender_short = true;
	}
	loss = bits - d->capacity_bps * (double)duration_ns / 1e9 - d->buffer_bits;
	loss = fmax(loss, bits * (1 - offered / rate));
	t.carrier_loss = fmax(0, loss / bits);
	if (rate > d->dip_from_bps && rate < d->dip_to_bps)
		t.carrier_loss = 1;
	if (d->noise > 0 && rng_unit(&d->rng) < d->noise)
		t.carrier_loss = fmax(t.carrier_loss, 0.1);
	if (d->adverse)
		t.carrier_loss = rng_below(&d->rng, 2);
	t.probe_loss = t.carrier_loss;
	return t;
}

static struct ratesearch_config plain(void)
{
	return (struct ratesearch_config){
		.goal = { .probe_loss = 0,
			  .carrier_loss = 0,
			  .initial_ns = 500 * MS,
			  .final_ns = 10 * SEC,
			  .sum_ns = 20 * SEC,
			  .exceed = 0.5,
			  .width = 0.02 },
		.least_bps = 1 * MBPS,
		.most_bps = 1000 * MBPS,
		.checks = 2,
	};
}

/* Runs it to its end; every trial must be where it may be, and their number within the bound. */
static struct ratesearch *search(const struct ratesearch_config *config, struct device *d,
				 struct ratesearch_result *ret)
{
	struct ratesearch *s = ratesearch_create(config);
	uint32_t count = 0, most = ratesearch_trials_most(config);
	int64_t rate, ns;

	assert_non_null(s);
	while (ratesearch_next(s, &rate, &ns)) {
		const struct rate_trial t = try(d, rate, ns);

		assert_in_range(rate, config->least_bps, config->most_bps);
		assert_in_range(ns, config->goal.initial_ns, config->goal.final_ns);
		ratesearch_add(s, &t);
		assert_true(++count < most);
	}
	ratesearch_result(s, ret);
	assert_int_equal(ret->trials, count);
	return s;
}

static struct ratesearch_result searched(const struct ratesearch_config *config, struct device *d)
{
	struct ratesearch_result r;

	ratesearch_destroy(search(config, d, &r));
	return r;
}

static void a_sharp_capacity_lies_between_the_bounds(void **state)
{
	static const double capacities[] = { 1.01, 3, 17.3, 74.9, 250, 640, 980, 999.5 };
	static const double widths[] = { 0.2, 0.02, 0.005 };
	struct ratesearch_config config = plain();

	(void)state;
	for (size_t i = 0; i < sizeof(capacities) / sizeof(capacities[0]); i++) {
		for (size_t k = 0; k < sizeof(widths) / sizeof(widths[0]); k++) {
			struct device d = { .capacity_bps = capacities[i] * 1e6 };
			struct ratesearch_result r;

			config.goal.width = widths[k];
			r = searched(&config, &d);
			assert_int_equal(r.irregular, 0);
			assert_true((double)r.lower_bps <= d.capacity_bps && d.capacity_bps < (double)r.upper_bps);
			assert_true(r.width <= widths[k]);
			assert_true(r.conditional_bps == (double)r.lower_bps);
			/* a plain bisection of the same width with trials of the final length, each rate twice */
			assert_true((double)r.length_ns < 2 * 10e9 * (log2(1000 / widths[k]) + 2));
		}
	}
}

static void few_trials_are_enough(void **state)
{
	struct ratesearch_config config = plain();
	struct device d = { .capacity_bps = 75e6 };
	struct ratesearch_result r;

	(void)state;
	config.checks = 0;
	r = searched(&config, &d);
	/* of the last length only the two bounds, a rate between them at most, once for a lower and twice for an upper */
	assert_true(r.trials <= 16);
	assert_true(r.length_ns <= 60 * SEC);
}

static void a_goal_that_allows_loss(void **state)
{
	struct ratesearch_config config = plain();
	struct device d = { .capacity_bps = 75e6 };
	struct ratesearch_result r;

	(void)state;
	config.goal.carrier_loss = config.goal.probe_loss = 0.05;
	r = searched(&config, &d);
	/* at 75 / 0.95 a twentieth is lost; what comes through there is the capacity itself */
	assert_true((double)r.lower_bps <= 75e6 / 0.95 && 75e6 / 0.95 < (double)r.upper_bps);
	assert_true(r.conditional_bps <= 75e6 && r.conditional_bps > 75e6 * 0.97);
}

static void either_loss_is_too_much(void **state)
{
	const struct rate_goal goal = { .probe_loss = 0.05, .carrier_loss = 0.01 };

	(void)state;
	assert_false(rate_trial_high(&goal, &(struct rate_trial){ .probe_loss = 0.05, .carrier_loss = 0.01 }));
	assert_true(rate_trial_high(&goal, &(struct rate_trial){ .probe_loss = 0.051, .carrier_loss = 0 }));
	assert_true(rate_trial_high(&goal, &(struct rate_trial){ .probe_loss = 0, .carrier_loss = 0.011 }));
}

static void one_that_never_loses(void **state)
{
	struct ratesearch_config config = plain();
	struct device d = { .capacity_bps = 1e12 };
	struct ratesearch_result r = searched(&config, &d);

	(void)state;
	assert_int_equal(r.irregular, RATESEARCH_NO_UPPER);
	assert_int_equal(r.lower_bps, config.most_bps);
	assert_int_equal(r.upper_bps, 0);
	assert_true(isnan(r.width));
	assert_true(r.conditional_bps == (double)config.most_bps);
}

static void one_that_always_loses(void **state)
{
	struct ratesearch_config config = plain();
	struct device d = { .capacity_bps = 0 };
	struct ratesearch_result r = searched(&config, &d);

	(void)state;
	assert_int_equal(r.irregular, RATESEARCH_NO_LOWER);
	assert_int_equal(r.lower_bps, 0);
	assert_int_equal(r.upper_bps, config.least_bps);
	assert_true(isnan(r.conditional_bps));
}

static void long_trials_correct_what_short_ones_say(void **state)
{
	/* a buffer of 20 Mbit holds what half a second brings over the capacity, and not what ten do */
	struct device d = { .capacity_bps = 75e6, .buffer_bits = 20e6 };
	struct ratesearch_config config = plain();
	const struct rate_trial *trials;
	struct ratesearch_result r;
	struct ratesearch *s = search(&config, &d, &r);
	bool misled = false;
	uint32_t count;

	(void)state;
	/* over ten seconds 77 Mbit/s are carried */
	assert_true((double)r.lower_bps <= 77e6 && 77e6 < (double)r.upper_bps);
	assert_int_equal(r.irregular, 0);
	trials = ratesearch_trials(s, &count);
	for (uint32_t i = 0; i < count; i++)
		misled |= trials[i].rate_bps > 100 * MBPS && trials[i].carrier_loss == 0;
	assert_true(misled);
	ratesearch_destroy(s);
}

static void a_dip_below_the_answer_is_found_and_believed(void **state)
{
	/* the search itself comes from above and would say 80; a check falls into the dip */
	struct device d = { .capacity_bps = 80e6, .dip_from_bps = 12e6, .dip_to_bps = 30e6 };
	struct ratesearch_config config = plain();
	struct ratesearch_result r = searched(&config, &d);

	(void)state;
	assert_true(r.irregular & RATESEARCH_INVERSION);
	assert_true((double)r.lower_bps <= 12e6 && 12e6 < (double)r.upper_bps);
	assert_int_equal(r.inverted_bps, r.upper_bps);
	assert_true((double)r.inverted_by_bps <= 80e6 && (double)r.inverted_by_bps >= 30e6);
	assert_true(r.width <= config.goal.width);

	/* without checks nobody goes there */
	config.checks = 0;
	r = searched(&config, &d);
	assert_int_equal(r.irregular, 0);
	assert_true((double)r.lower_bps <= 80e6 && 80e6 < (double)r.upper_bps);
}

static void noise_is_outvoted(void **state)
{
	struct ratesearch_config config = plain();
	unsigned good = 0, strict = 0;

	(void)state;
	config.goal.sum_ns = 50 * SEC; /* five trials of the full length at a rate, two of which may fail */
	for (uint64_t seed = 0; seed < 200; seed++) {
		struct device d = { .capacity_bps = 75e6, .noise = 0.1 };
		struct ratesearch_result r;

		rng_init(&d.rng, seed);
		r = searched(&config, &d);
		assert_false(r.irregular & RATESEARCH_WIDE);
		good += (double)r.lower_bps <= 75e6 && 75e6 < (double)r.upper_bps;
		/* what is wrong about the bounds is that they are too low: noise only takes away */
		assert_true((double)r.lower_bps <= 75e6);

		config.goal.exceed = 0;
		r = searched(&config, &d);
		config.goal.exceed = 0.5;
		assert_true((double)r.lower_bps <= 75e6);
		strict += (double)r.lower_bps <= 75e6 && 75e6 < (double)r.upper_bps;
	}
	/* three of five by chance at a rate: 0.9 %, at one of some ten rates */
	assert_true(good >= 170);
	/* and this is what the votes are for */
	assert_true(strict < 60);
}

static void trials_that_disagree_are_told(void **state)
{
	const struct rate_goal goal = {
		.final_ns = SEC, .initial_ns = SEC, .sum_ns = 3 * SEC, .exceed = 0.5, .width = 0.1
	};
	const int64_t rates[] = { 10 * MBPS };
	const struct ratesearch_config config = { .goal = goal, .rates_bps = rates, .rate_count = 1 };
	struct ratesearch *s = ratesearch_create(&config);
	struct rate_trial t = { 0 };
	struct ratesearch_result r;

	(void)state;
	assert_non_null(s);
	for (unsigned i = 0; ratesearch_next(s, &t.rate_bps, &t.duration_ns); i++) {
		t.carrier_loss = i == 1;
		ratesearch_add(s, &t);
	}
	ratesearch_result(s, &r);
	assert_int_equal(r.trials, 3);
	assert_int_equal(r.lower_bps, 10 * MBPS);
	assert_int_equal(r.irregular, RATESEARCH_UNSTEADY | RATESEARCH_NO_UPPER);
	ratesearch_destroy(s);
}

static void a_sender_that_cannot_is_not_the_device(void **state)
{
	struct device d = { .capacity_bps = 1e12, .sender_most_bps = 300e6 };
	struct ratesearch_config config = plain();
	struct ratesearch_result r = searched(&config, &d);

	(void)state;
	assert_int_equal(r.irregular, RATESEARCH_SENDER);
	assert_true((double)r.lower_bps <= 300e6 && 300e6 < (double)r.upper_bps);
}

static void the_published_sweep(void **state)
{
	static const int64_t rates[] = { 75 * MBPS, 10 * MBPS, 100 * MBPS, 25 * MBPS, 50 * MBPS }; /* in any order */
	struct ratesearch_config config = plain();
	struct device d = { .capacity_bps = 80e6 };
	const struct rate_trial *trials;
	struct ratesearch_result r;
	struct ratesearch *s;
	uint32_t count;

	(void)state;
	config.goal.carrier_loss = config.goal.probe_loss = 0.05;
	config.goal.initial_ns = config.goal.final_ns = config.goal.sum_ns = 6 * SEC;
	config.rates_bps = rates;
	config.rate_count = 5;
	assert_int_equal(ratesearch_trials_most(&config), 5);
	s = ratesearch_create(&config);
	assert_non_null(s);
	for (struct rate_trial t; ratesearch_next(s, &t.rate_bps, &t.duration_ns);) {
		t = try(&d, t.rate_bps, t.duration_ns);
		ratesearch_add(s, &t);
	}
	ratesearch_result(s, &r);
	trials = ratesearch_trials(s, &count);
	assert_int_equal(count, 5);
	for (uint32_t i = 1; i < count; i++)
		assert_true(trials[i].rate_bps > trials[i - 1].rate_bps && trials[i].duration_ns == 6 * SEC);
	assert_int_equal(r.lower_bps, 75 * MBPS);
	assert_int_equal(r.upper_bps, 100 * MBPS);
	assert_int_equal(r.irregular, 0);
	ratesearch_destroy(s);
}

static void a_limit_ends_it_and_is_told(void **state)
{
	struct ratesearch_config config = plain();
	struct device d = { .capacity_bps = 75e6 };
	struct ratesearch_result r;

	(void)state;
	config.limit_ns = 12 * SEC;
	r = searched(&config, &d);
	assert_int_equal(r.irregular, RATESEARCH_WIDE);
	assert_in_range(r.length_ns, 12 * SEC, 22 * SEC);
}

/* Any device at all: it ends, within its bound, and what it says agrees with its own trials. */
static void whatever_the_device_does_it_ends(void **state)
{
	static const double exceeds[] = { 0, 0.2, 0.5, 0.9 };

	(void)state;
	for (uint64_t seed = 0; seed < 400; seed++) {
		struct ratesearch_config config = plain();
		struct device d = { .adverse = true };
		struct ratesearch_result r;
		struct ratesearch *s;

		rng_init(&d.rng, seed);
		config.goal.exceed = exceeds[seed % 4];
		config.goal.width = seed % 3 ? 0.02 : 0.3;
		config.goal.initial_ns = seed % 5 ? 100 * MS : 10 * SEC;
		config.goal.sum_ns = (seed % 7 + 1) * 7 * SEC;
		config.checks = seed % 6;
		s = search(&config, &d, &r);
		assert_false(r.irregular & RATESEARCH_WIDE);
		if (r.lower_bps)
			assert_int_equal(ratesearch_class(s, r.lower_bps), RATE_LOWER);
		if (r.upper_bps)
			assert_int_equal(ratesearch_class(s, r.upper_bps), RATE_UPPER);
		assert_true(!r.lower_bps || !r.upper_bps || r.lower_bps < r.upper_bps);
		ratesearch_destroy(s);
	}
}

static void the_rule_of_rfc_9971(void **state)
{
	const struct rate_goal goal = { .final_ns = 10 * SEC, .sum_ns = 20 * SEC, .exceed = 0.5 };
	const struct {
		struct rate_trial trials[4];
		uint32_t count;
		enum rate_class expected;
	} cases[] = {
		{ { { 0 } }, 0, RATE_UNDECIDED },
		/* one good trial of two is enough: the other may fail */
		{ { { 1, 10 * SEC, 0, 0, false } }, 1, RATE_LOWER },
		{ { { 1, 10 * SEC, 0, 1, false } }, 1, RATE_UNDECIDED },
		{ { { 1, 10 * SEC, 0, 1, false }, { 1, 10 * SEC, 0, 1, false } }, 2, RATE_UPPER },
		{ { { 1, 10 * SEC, 0, 1, false }, { 1, 10 * SEC, 0, 0, false } }, 2, RATE_LOWER },
		/* short ones never make a lower bound; losing, they count against it */
		{ { { 1, 9 * SEC, 0, 0, false }, { 1, 9 * SEC, 0, 0, false } }, 2, RATE_UNDECIDED },
		{ { { 1, 9 * SEC, 0, 1, false } }, 1, RATE_UNDECIDED },
		{ { { 1, 9 * SEC, 0, 1, false }, { 1, 9 * SEC, 0, 1, false } }, 2, RATE_UPPER },
		/* unless others outweigh them */
		{ { { 1, 5 * SEC, 0, 1, false }, { 1, 5 * SEC, 0, 0, false }, { 1, 10 * SEC, 0, 0, false } },
		  3,
		  RATE_LOWER },
		/* trials at another rate say nothing */
		{ { { 2, 10 * SEC, 0, 0, false } }, 1, RATE_UNDECIDED },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (rate_classify(&goal, cases[i].trials, cases[i].count, 1) != cases[i].expected)
			fail_msg("case %zu", i);
}

static void the_expected_length_is_that_of_a_plain_search(void **state)
{
	struct ratesearch_config config = plain();
	struct device d = { .capacity_bps = sqrt(1e6 * 1e9) };
	struct ratesearch_result r = searched(&config, &d);

	(void)state;
	assert_int_equal(ratesearch_expected_ns(&config), r.length_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sharp_capacity_lies_between_the_bounds),
		cmocka_unit_test(few_trials_are_enough),
		cmocka_unit_test(a_goal_that_allows_loss),
		cmocka_unit_test(either_loss_is_too_much),
		cmocka_unit_test(one_that_never_loses),
		cmocka_unit_test(one_that_always_loses),
		cmocka_unit_test(long_trials_correct_what_short_ones_say),
		cmocka_unit_test(a_dip_below_the_answer_is_found_and_believed),
		cmocka_unit_test(noise_is_outvoted),
		cmocka_unit_test(trials_that_disagree_are_told),
		cmocka_unit_test(a_sender_that_cannot_is_not_the_device),
		cmocka_unit_test(the_published_sweep),
		cmocka_unit_test(a_limit_ends_it_and_is_told),
		cmocka_unit_test(whatever_the_device_does_it_ends),
		cmocka_unit_test(the_rule_of_rfc_9971),
		cmocka_unit_test(the_expected_length_is_that_of_a_plain_search),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
