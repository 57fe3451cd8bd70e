/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "stats/align.h"

enum { MANY = 1000 };

/* A switch whose clock is known: host = switch * (1 + drift) + offset, cut down to us. */
struct truth {
	double offset_ns, drift;
	uint32_t step_at; /* from this packet on the switch's clock is `step_ns` behind */
	double step_ns;
};

static double switch_of(const struct truth *t, uint32_t i, double host_ns)
{
	double offset = t->offset_ns + (t->step_at && i >= t->step_at ? t->step_ns : 0);

	return (host_ns - offset) / (1 + t->drift);
}

/* Packets every ms; each waits 5 us and more to get in, and 4 us and more to get out. */
static void make(struct align_point *points, uint32_t count, const struct truth *truth)
{
	struct rng rng;

	rng_init(&rng, 7);
	for (uint32_t i = 0; i < count; i++) {
		double at = 1e9 + i * 1e6, in = 5000 + (double)rng_below(&rng, 40000),
		       inside = 30000 + (double)rng_below(&rng, 100000), out = 4000 + (double)rng_below(&rng, 40000);

		points[i].sw_in_ns = (int64_t)at;
		points[i].p4_in_ns = (int64_t)floor(switch_of(truth, i, at + in) / 1000) * 1000;
		points[i].p4_out_ns = (int64_t)floor(switch_of(truth, i, at + in + inside) / 1000) * 1000;
		points[i].sw_out_ns = (int64_t)(at + in + inside + out);
	}
}

static const struct align_options one_clock = { .resolution_ns = 1000 };
static const struct align_options two_clocks = { .resolution_ns = 1000, .drift_ppm = 200 };

static void an_offset_is_found_with_its_width(void **state)
{
	const struct truth truth = { .offset_ns = -23456789 };
	struct align_point points[MANY];
	struct alignment a;

	(void)state;
	make(points, MANY, &truth);
	assert_int_equal(align_find(points, MANY, &one_clock, &a), 0);
	assert_int_equal(a.count, 1);
	assert_int_equal(a.segments[0].bounding, MANY);
	assert_true(a.segments[0].low_ns <= truth.offset_ns && truth.offset_ns <= a.segments[0].high_ns);
	/* least wait in and least wait out, and the resolution of both stamps */
	assert_true(align_width(&a.segments[0]) > 8000 && align_width(&a.segments[0]) < 13000);
	assert_true(fabs(align_to_host(&a.segments[0], points[9].p4_in_ns) - (double)points[9].p4_in_ns -
			 truth.offset_ns) <= align_width(&a.segments[0]) / 2);
	alignment_release(&a);
}

static void drift_is_an_empty_interval_or_a_pair_of_lines(void **state)
{
	const struct truth truth = { .offset_ns = 5e6, .drift = 50e-6 };
	struct align_point points[MANY];
	struct alignment a;

	(void)state;
	make(points, MANY, &truth);
	/* 50 ppm over a second move 50 us: one offset cannot do */
	assert_int_equal(align_find(points, MANY, &one_clock, &a), 0);
	assert_true(a.count > 1);
	alignment_release(&a);
	assert_int_equal(align_find(points, MANY, &two_clocks, &a), 0);
	assert_int_equal(a.count, 1);
	assert_true(a.segments[0].drift_low <= truth.drift && truth.drift <= a.segments[0].drift_high);
	for (uint32_t i = 0; i < MANY; i += 99) {
		double host = (double)points[i].p4_in_ns * (1 + truth.drift) + truth.offset_ns;

		assert_true(fabs(align_to_host(&a.segments[0], points[i].p4_in_ns) - host) < 15000);
	}
	double at_middle = truth.offset_ns + truth.drift * a.segments[0].at_ns;

	assert_true(a.segments[0].low_ns <= at_middle && at_middle <= a.segments[0].high_ns);
	alignment_release(&a);
}

static void a_step_makes_two_segments(void **state)
{
	static const double steps[] = { 300000, -300000, 2e9 };

	(void)state;
	for (size_t s = 0; s < sizeof(steps) / sizeof(steps[0]); s++) {
		const struct truth truth = { .offset_ns = 1e6, .step_at = 612, .step_ns = steps[s] };
		struct align_point points[MANY];
		struct alignment a;

		make(points, MANY, &truth);
		assert_int_equal(align_find(points, MANY, &one_clock, &a), 0);
		assert_int_equal(a.count, 2);
		assert_int_equal(a.segments[1].first, 612);
		assert_int_equal(a.segments[1].count, MANY - 612);
		assert_ptr_equal(alignment_of(&a, 611), &a.segments[0]);
		assert_ptr_equal(alignment_of(&a, 612), &a.segments[1]);
		for (uint32_t i = 0; i < 2; i++) {
			double offset = truth.offset_ns + i * truth.step_ns;

			assert_true(a.segments[i].low_ns <= offset && offset <= a.segments[i].high_ns);
		}
		alignment_release(&a);
	}
}

static void a_packet_that_contradicts_itself_stands_alone(void **state)
{
	const struct truth truth = { .offset_ns = 1e6 };
	struct align_point points[MANY];
	struct alignment a;

	(void)state;
	make(points, MANY, &truth);
	points[500].p4_in_ns -= 1000000; /* the clock jumped by a ms while it was inside */
	assert_int_equal(align_find(points, MANY, &one_clock, &a), 0);
	assert_int_equal(a.count, 3);
	assert_int_equal(a.segments[1].first, 500);
	assert_int_equal(a.segments[1].count, 1);
	assert_true(isnan(a.segments[1].offset_ns));
	alignment_release(&a);
}

static void what_is_missing_bounds_nothing(void **state)
{
	const struct truth truth = { .offset_ns = 1e6 };
	struct align_point points[MANY];
	struct alignment a;

	(void)state;
	make(points, MANY, &truth);
	for (uint32_t i = 0; i < MANY; i++) {
		if (i % 3 == 0)
			points[i].p4_in_ns = points[i].p4_out_ns = ALIGN_NONE;
		if (i % 3 == 1)
			points[i].sw_in_ns = ALIGN_NONE;
		if (i % 3 == 2)
			points[i].sw_out_ns = ALIGN_NONE;
	}
	assert_int_equal(align_find(points, MANY, &two_clocks, &a), 0);
	assert_int_equal(a.count, 1);
	assert_int_equal(a.segments[0].bounding, MANY - (MANY + 2) / 3);
	assert_true(a.segments[0].low_ns <= truth.offset_ns + 15000);
	assert_true(isfinite(a.segments[0].offset_ns));
	alignment_release(&a);

	for (uint32_t i = 0; i < MANY; i++)
		points[i].sw_out_ns = ALIGN_NONE;
	assert_int_equal(align_find(points, MANY, &one_clock, &a), 0);
	assert_int_equal(a.count, 1);
	assert_true(isinf(align_width(&a.segments[0])));
	assert_true(isnan(a.segments[0].offset_ns));
	alignment_release(&a);
	assert_int_equal(align_find(points, 0, &one_clock, &a), 0);
	assert_int_equal(a.count, 0);
	alignment_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_offset_is_found_with_its_width),
		cmocka_unit_test(drift_is_an_empty_interval_or_a_pair_of_lines),
		cmocka_unit_test(a_step_makes_two_segments),
		cmocka_unit_test(a_packet_that_contradicts_itself_stands_alone),
		cmocka_unit_test(what_is_missing_bounds_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
