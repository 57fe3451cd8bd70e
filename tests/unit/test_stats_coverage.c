/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model.h"

#define CAMPAIGNS 400

/*
 * A short run of what bench_coverage does at length: 400 campaigns, fixed seed. The standard deviation of a
 * 95 % coverage is 1.1 points then; 91.5 to 98.5 are three of them.
 */
static void covers(enum model_shape shape)
{
	const struct model m = {
		.shape = shape,
		.blocks = 6,
		.runs = 3,
		.samples = 100,
		.net_ns = 149,
		.tick_ns = 10,
		.stamp_bias_ns = 0.2,
		.tsc_u_ppm = 1.5,
	};
	const uint32_t low = CAMPAIGNS * 915 / 1000, high = CAMPAIGNS * 985 / 1000;
	struct coverage c;

	assert_int_equal(model_coverage(&m, CAMPAIGNS, 300, 20 + (uint64_t)shape, &c), 0);
	assert_int_equal(c.campaigns, CAMPAIGNS);
	assert_in_range(c.interpolated, low, high);
	assert_in_range(c.bootstrap, low, high);
	assert_in_range(c.net, low, high);
	assert_in_range(c.k2, low, high);
	assert_in_range(c.order, CAMPAIGNS * 94 / 100, CAMPAIGNS); /* 96.875 %, exactly */
	assert_in_range(c.k3, CAMPAIGNS * 985 / 1000, CAMPAIGNS);
}

static void intervals_cover_heavy_tails(void **state)
{
	(void)state;
	covers(MODEL_HEAVY_TAILED);
}

static void intervals_cover_two_modes(void **state)
{
	(void)state;
	covers(MODEL_TWO_MODE);
}

static void intervals_cover_shifted_restarts(void **state)
{
	(void)state;
	covers(MODEL_RESTART_SHIFTED);
}

/* The check itself can fail: a truth that is 3 ns elsewhere is not held. */
static void a_wrong_truth_is_missed(void **state)
{
	const struct model m = {
		.shape = MODEL_TWO_MODE,
		.blocks = 12,
		.runs = 3,
		.samples = 100,
		.net_ns = 149,
		.tick_ns = 1,
	};
	struct model_run *r = model_create(&m);
	struct rng rng;
	int held = 0;

	(void)state;
	assert_non_null(r);
	rng_init(&rng, 1);
	for (int i = 0; i < 50; i++) {
		struct model_truth truth;
		struct hierarchy gross;
		struct net net;

		assert_int_equal(model_campaign(r, &rng, 100, &truth, &gross, &net), 0);
		held += net.interval.low <= truth.net_ns + 3 && truth.net_ns + 3 <= net.interval.high;
	}
	model_destroy(r);
	assert_true(held < 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_cover_heavy_tails),
		cmocka_unit_test(intervals_cover_two_modes),
		cmocka_unit_test(intervals_cover_shifted_restarts),
		cmocka_unit_test(a_wrong_truth_is_missed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
