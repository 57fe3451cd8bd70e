/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "stats/stamps.h"

enum { MANY = 600, PERIOD_NS = 60000000 };

/* What happens to a switch's clock, and to the probes. */
struct story {
	unsigned bits, unit_ns;
	double rate;    /* of the clock */
	double from_ns; /* what it shows at the first probe */
	double step_ns; /* added from probe step_at on */
	uint32_t step_at;
	double hole_ns; /* no probes for so long, before probe hole_at */
	uint32_t hole_at;
	double stopped_ns; /* in the hole the switch's clock stood for so long */
	uint32_t zero_every;
};

static uint64_t raw[MANY];
static int64_t host_ns[MANY], ns[MANY];
static double truth_ns[MANY];
static uint8_t flags[MANY];

static struct stamp_summary tell(const struct story *s)
{
	struct stamp_options o = stamp_defaults;
	struct stamp_summary summary;
	struct rng rng;

	o.bits = s->bits;
	o.unit_ns = s->unit_ns;
	rng_init(&rng, 5);
	for (uint32_t i = 0; i < MANY; i++) {
		double at = (double)i * PERIOD_NS + (s->hole_at && i >= s->hole_at ? s->hole_ns : 0);
		double stood = s->hole_at && i >= s->hole_at ? s->stopped_ns : 0;
		/* the stamp comes up to 2 ms after the host's */
		double delay = (double)rng_below(&rng, 2000000);

		host_ns[i] = (int64_t)at;
		truth_ns[i] =
			s->from_ns + (at + delay - stood) * s->rate + (s->step_at && i >= s->step_at ? s->step_ns : 0);
		raw[i] = (uint64_t)(int64_t)floor(truth_ns[i] / s->unit_ns);
		if (s->bits < 64)
			raw[i] &= (UINT64_C(1) << s->bits) - 1;
		if (s->zero_every && i % s->zero_every == 0)
			raw[i] = 0;
	}
	assert_int_equal(stamps_line(raw, host_ns, NULL, MANY, &o, ns, flags, &summary), 0);
	return summary;
}

/* Every stamp where it belongs, up to one constant. */
static void on_a_line(uint32_t first, uint32_t end, double unit_ns)
{
	for (uint32_t i = first; i < end; i++) {
		double off;

		if (ns[i] == STAMPS_NONE || ns[first] == STAMPS_NONE)
			continue;
		off = (double)(ns[i] - ns[first]) - (truth_ns[i] - truth_ns[first]);
		if (fabs(off) > 2 * unit_ns + 1)
			fail_msg("stamp %u is %g ns off", i, off);
	}
}

static uint32_t flagged(uint8_t flag)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < MANY; i++)
		n += (flags[i] & flag) != 0;
	return n;
}

static const struct {
	unsigned bits, unit_ns;
} shapes[] = { { 48, 1000 }, { 32, 1000 }, { 48, 1 }, { 32, 1 } };

static void every_width_is_unwrapped(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof(shapes) / sizeof(shapes[0]); k++) {
		double period_ns = ldexp(shapes[k].unit_ns, (int)shapes[k].bits), length_ns = (double)MANY * PERIOD_NS;
		struct story s = {
			.bits = shapes[k].bits, .unit_ns = shapes[k].unit_ns, .rate = 1, .from_ns = period_ns - 1e9
		};
		struct stamp_summary got = tell(&s);
		double wraps = floor((s.from_ns + length_ns - PERIOD_NS + 2e6) / period_ns);

		assert_int_equal(got.good, MANY);
		assert_int_equal(got.steps, 0);
		assert_int_equal(got.pauses, 0);
		assert_int_equal(got.wraps, (uint32_t)wraps);
		assert_int_equal(flagged(STAMP_WRAPPED), got.wraps);
		assert_false(got.rate_off);
		on_a_line(0, MANY, shapes[k].unit_ns);
	}
}

static void zeros_are_missing_and_bridged(void **state)
{
	struct story s = { .bits = 32, .unit_ns = 1, .rate = 1, .from_ns = 4e9, .zero_every = 7 };
	struct stamp_summary got = tell(&s);

	(void)state;
	assert_int_equal(got.missing, (MANY + 6) / 7);
	assert_int_equal(got.good + got.missing, MANY);
	assert_int_equal(flagged(STAMP_MISSING), got.missing);
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(ns[i] == STAMPS_NONE, i % 7 == 0);
	assert_int_equal(got.steps, 0);
	on_a_line(1, MANY, 1);
}

static void nothing_at_all_is_no_line(void **state)
{
	struct stamp_summary got;

	(void)state;
	memset(raw, 0, sizeof(raw));
	assert_int_equal(stamps_line(raw, host_ns, NULL, MANY, &stamp_defaults, ns, flags, &got), 0);
	assert_int_equal(got.good, 0);
	assert_true(isnan(got.rate_ppm));
	assert_int_equal(stamps_line(raw, host_ns, NULL, 0, &stamp_defaults, ns, flags, &got), 0);
	assert_int_equal(got.missing, 0);
}

static void steps_cut_and_are_measured(void **state)
{
	static const double steps_ns[] = { 0.75e9, -37e9 };

	(void)state;
	for (size_t k = 0; k < sizeof(shapes) / sizeof(shapes[0]); k++)
		for (size_t i = 0; i < 2; i++) {
			struct story s = { .bits = shapes[k].bits,
					   .unit_ns = shapes[k].unit_ns,
					   .rate = 1,
					   .from_ns = 100e9,
					   .step_ns = steps_ns[i],
					   .step_at = 250 };
			struct stamp_summary got = tell(&s);
			double period_ns = ldexp(s.unit_ns, (int)s.bits), seen = remainder(s.step_ns, period_ns);

			assert_int_equal(got.steps, 1);
			assert_true(flags[250] & STAMP_STEPPED);
			assert_int_equal(flagged(STAMP_STEPPED), 1);
			/* its size modulo the counter's period, to within the delays */
			assert_true(fabs(got.step_ns - seen) < 5e6);
			on_a_line(0, 250, s.unit_ns);
			on_a_line(250, MANY, s.unit_ns);
			assert_false(got.rate_off);
		}
}

static void a_pause_of_probes_is_no_step(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof(shapes) / sizeof(shapes[0]); k++) {
		struct story s = { .bits = shapes[k].bits,
				   .unit_ns = shapes[k].unit_ns,
				   .rate = 1,
				   .from_ns = 1e9,
				   .hole_ns = 3.5e9,
				   .hole_at = 300 };
		struct stamp_summary got = tell(&s);

		/* 3.5 s is more than half of what 32 bits of ns hold: the host's time decides */
		assert_int_equal(got.pauses, 1);
		assert_true(flags[300] & STAMP_PAUSED);
		assert_int_equal(got.steps, 0);
		on_a_line(0, MANY, s.unit_ns);
	}
}

static void a_clock_that_stood_still_has_stepped(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof(shapes) / sizeof(shapes[0]); k++) {
		struct story s = { .bits = shapes[k].bits,
				   .unit_ns = shapes[k].unit_ns,
				   .rate = 1,
				   .from_ns = 1e9,
				   .hole_ns = 3.5e9,
				   .hole_at = 300,
				   .stopped_ns = 3.5e9 };
		struct stamp_summary got = tell(&s);

		assert_int_equal(got.pauses, 1);
		assert_int_equal(got.steps, 1);
		assert_true(flags[300] & STAMP_STEPPED);
		on_a_line(0, 300, s.unit_ns);
		on_a_line(300, MANY, s.unit_ns);
	}
}

static void a_rate_seven_percent_off_is_told_and_unwrapped(void **state)
{
	static const double rates[] = { 1.07, 0.93 };

	(void)state;
	for (size_t k = 0; k < sizeof(shapes) / sizeof(shapes[0]); k++)
		for (size_t i = 0; i < 2; i++) {
			struct story s = { .bits = shapes[k].bits,
					   .unit_ns = shapes[k].unit_ns,
					   .rate = rates[i],
					   .from_ns = 1e9,
					   .hole_ns = 3.5e9,
					   .hole_at = 300 };
			struct stamp_summary got = tell(&s);

			assert_true(got.rate_off);
			assert_true(fabs(got.rate_ppm - (s.rate - 1) * 1e6) < 500);
			/* over the hole the clock is 0.25 s ahead, as it should be: no step */
			assert_int_equal(got.steps, 0);
			on_a_line(0, MANY, s.unit_ns);
		}
}

static void a_small_drift_is_measured_but_not_off(void **state)
{
	struct story s = { .bits = 48, .unit_ns = 1000, .rate = 1.0003, .from_ns = 1e9 };
	struct stamp_summary got = tell(&s);

	(void)state;
	assert_false(got.rate_off);
	assert_true(fabs(got.rate_ppm - 300) < 60);
}

static void a_packet_that_was_held_is_no_step(void **state)
{
	struct story s = { .bits = 48, .unit_ns = 1000, .rate = 1, .from_ns = 1e9 };
	static int64_t late_ns[MANY];
	struct stamp_summary got;

	(void)state;
	tell(&s);
	/* from the 200th on, 20 packets stand in a queue for 2 s, and all leave at its end */
	for (uint32_t i = 0; i < MANY; i++) {
		bool held = i >= 200 && i < 220;

		late_ns[i] = held ? host_ns[219] + 2000000000 : host_ns[i] + 3000000;
		if (held)
			raw[i] = (uint64_t)(1e9 + (double)host_ns[219] + 1.9e9) / 1000;
	}
	assert_int_equal(stamps_line(raw, host_ns, late_ns, MANY, &stamp_defaults, ns, flags, &got), 0);
	assert_int_equal(got.steps, 0);
	assert_int_equal(got.wraps, 0);
	/* without that knowledge it looks like one, there and back */
	assert_int_equal(stamps_line(raw, host_ns, NULL, MANY, &stamp_defaults, ns, flags, &got), 0);
	assert_true(got.steps >= 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_width_is_unwrapped),
		cmocka_unit_test(zeros_are_missing_and_bridged),
		cmocka_unit_test(nothing_at_all_is_no_line),
		cmocka_unit_test(steps_cut_and_are_measured),
		cmocka_unit_test(a_pause_of_probes_is_no_step),
		cmocka_unit_test(a_clock_that_stood_still_has_stepped),
		cmocka_unit_test(a_rate_seven_percent_off_is_told_and_unwrapped),
		cmocka_unit_test(a_packet_that_was_held_is_no_step),
		cmocka_unit_test(a_small_drift_is_measured_but_not_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
