/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "stats/align_line.h"

enum { MANY = 400, HOPS = ALIGN_LINE_MOST };

/* Switches whose clocks are known: host = switch (1 + drift) + offset, cut down to us. */
struct truth {
	double offset_ns[HOPS], drift[HOPS];
	uint32_t step_at[HOPS]; /* from this packet on the switch's clock is step_ns behind */
	double step_ns[HOPS];
};

static struct align_point points[HOPS * MANY];

static double offset_of(const struct truth *t, uint32_t k, uint32_t i)
{
	return t->offset_ns[k] + (t->step_at[k] && i >= t->step_at[k] ? t->step_ns[k] : 0);
}

static int64_t stamp(const struct truth *t, uint32_t k, uint32_t i, double host_ns)
{
	return (int64_t)floor((host_ns - offset_of(t, k, i)) / (1 + t->drift[k]) / 1000) * 1000;
}

/* A packet every 5 ms; waits in, inside, out, and between switches are random, with a least. */
static void make(const struct truth *t, uint32_t hops, uint64_t seed)
{
	struct rng rng;

	rng_init(&rng, seed);
	for (uint32_t i = 0; i < MANY; i++) {
		double at = 1e9 + i * 5e6;

		for (uint32_t k = 0; k < hops; k++) {
			struct align_point *p = &points[k * MANY + i];

			at += 200 + (double)rng_below(&rng, 500);
			p->sw_in_ns = (int64_t)at;
			at += 4000 + (double)rng_below(&rng, 50000);
			p->p4_in_ns = stamp(t, k, i, at);
			at += 20000 + (double)rng_below(&rng, 80000);
			p->p4_out_ns = stamp(t, k, i, at);
			at += 3000 + (double)rng_below(&rng, 50000);
			p->sw_out_ns = (int64_t)at;
		}
	}
}

static double truth_at(const struct truth *t, uint32_t k, uint32_t i)
{
	return (double)points[k * MANY + i].p4_in_ns * t->drift[k] + offset_of(t, k, i);
}

/* Truth within every interval; returns the widest that is bound on both sides. */
static double covered(const struct truth *t, uint32_t hops, const struct line_alignment *a)
{
	double widest = 0;

	for (uint32_t k = 0; k < hops; k++)
		for (uint32_t i = 0; i < MANY; i++) {
			double low = a->low_ns[k * MANY + i], high = a->high_ns[k * MANY + i];
			/* the stamp's own cut and the point in time within it */
			double x = truth_at(t, k, i), slack = 1 + 1000 * fabs(t->drift[k]);

			if (points[k * MANY + i].p4_in_ns == ALIGN_NONE) {
				assert_true(isnan(low));
				continue;
			}
			if (!(low <= x + slack && x - slack <= high))
				fail_msg("switch %u, packet %u: %g not in [%g, %g]", k, i, x, low, high);
			if (isfinite(low) && isfinite(high))
				widest = fmax(widest, high - low);
		}
	return widest;
}

static const struct truth plain = { .offset_ns = { 3e6, -7e6, 25e6, 1e9, -2e9, 0, 123456, -1 } };
static const struct align_options one_clock = { .resolution_ns = 1000 };
static const struct align_options drifting = { .resolution_ns = 1000, .drift_ppm = 100 };

static void offsets_of_every_line_are_inside(void **state)
{
	(void)state;
	for (uint32_t hops = 1; hops <= HOPS; hops++)
		for (uint64_t seed = 1; seed <= 5; seed++) {
			struct line_alignment a;

			make(&plain, hops, seed);
			assert_int_equal(align_line_find(points, hops, MANY, &one_clock, &a), 0);
			assert_int_equal(a.contradicted, 0);
			assert_true(covered(&plain, hops, &a) < 15000);
			assert_true(fabs(line_offset_ns(&a, hops - 1, 7) - truth_at(&plain, hops - 1, 7)) <=
				    line_width_ns(&a, hops - 1, 7) / 2);
			line_alignment_release(&a);
		}
}

static void what_the_kernel_did_not_stamp_follows_from_the_neighbours(void **state)
{
	struct line_alignment a;
	double with, without;

	(void)state;
	make(&plain, 3, 1);
	assert_int_equal(align_line_find(points, 3, MANY, &one_clock, &a), 0);
	with = line_width_ns(&a, 1, 0);
	line_alignment_release(&a);
	for (uint32_t i = 0; i < MANY; i++)
		points[MANY + i].sw_in_ns = points[MANY + i].sw_out_ns = ALIGN_NONE;
	assert_int_equal(align_line_find(points, 3, MANY, &one_clock, &a), 0);
	covered(&plain, 3, &a);
	without = line_width_ns(&a, 1, 0);
	/* the cables are 200 ns and more: the bounds are that much wider, not lost */
	assert_true(without >= with && without < with + 3000);
	line_alignment_release(&a);

	/* nothing of the kernel's in the middle but a few packets' worth */
	make(&plain, 3, 2);
	for (uint32_t i = 0; i < MANY; i++)
		for (uint32_t k = 0; k < 3; k++)
			if (k != 0 || i >= 20)
				points[k * MANY + i].sw_in_ns = points[k * MANY + i].sw_out_ns = ALIGN_NONE;
	assert_int_equal(align_line_find(points, 3, MANY, &one_clock, &a), 0);
	covered(&plain, 3, &a);
	/* each clock after the first is bound from below, by the one before it alone */
	assert_true(isfinite(a.low_ns[2 * MANY]) && isinf(a.high_ns[2 * MANY]));
	line_alignment_release(&a);
}

static void hops_alone_bind_the_order_of_the_clocks(void **state)
{
	struct line_alignment a;

	(void)state;
	/* a kernel stamp before the first switch and behind the last one, none between */
	make(&plain, 4, 3);
	for (uint32_t i = 0; i < MANY; i++)
		for (uint32_t k = 0; k < 4; k++) {
			if (k != 0)
				points[k * MANY + i].sw_in_ns = ALIGN_NONE;
			if (k != 3)
				points[k * MANY + i].sw_out_ns = ALIGN_NONE;
		}
	assert_int_equal(align_line_find(points, 4, MANY, &one_clock, &a), 0);
	covered(&plain, 4, &a);
	for (uint32_t k = 0; k < 4; k++)
		assert_true(isfinite(line_offset_ns(&a, k, 0)));
	/* tighter than what host stamps at the ends say of a middle switch by themselves */
	assert_true(line_width_ns(&a, 1, 0) < align_width(&a.clocks[1].segments[0]) + 1);
	line_alignment_release(&a);
}

static void drift_is_followed(void **state)
{
	const struct truth t = { .offset_ns = { 3e6, -7e6, 25e6 }, .drift = { 40e-6, -60e-6, 5e-6 } };
	struct line_alignment a;

	(void)state;
	make(&t, 3, 4);
	assert_int_equal(align_line_find(points, 3, MANY, &drifting, &a), 0);
	assert_int_equal(a.contradicted, 0);
	assert_int_equal(a.clocks[0].count, 1);
	assert_true(covered(&t, 3, &a) < 60000);
	line_alignment_release(&a);
}

static void a_rate_seven_percent_off_can_be_allowed(void **state)
{
	const struct truth t = { .offset_ns = { 3e6, -7e6 }, .drift = { 0.07, -0.07 } };
	const struct align_options wide = { .resolution_ns = 1000, .drift_ppm = 120000 };
	struct line_alignment a;

	(void)state;
	make(&t, 2, 4);
	assert_int_equal(align_line_find(points, 2, MANY, &wide, &a), 0);
	assert_int_equal(a.contradicted, 0);
	assert_true(covered(&t, 2, &a) < 100000);
	line_alignment_release(&a);
	/* not allowed, it is a new segment every few packets, and no average */
	assert_int_equal(align_line_find(points, 2, MANY, &one_clock, &a), 0);
	assert_true(a.clocks[0].count > 50);
	line_alignment_release(&a);
}

static void a_step_of_one_switch_cuts_that_one(void **state)
{
	static const double steps[] = { -0.75e9, 37e9, 300000, -300000 };

	(void)state;
	for (size_t s = 0; s < sizeof(steps) / sizeof(steps[0]); s++) {
		struct truth t = plain;
		struct line_alignment a;

		t.step_at[1] = 150;
		t.step_ns[1] = steps[s];
		make(&t, 3, 6);
		assert_int_equal(align_line_find(points, 3, MANY, &one_clock, &a), 0);
		assert_int_equal(a.clocks[0].count, 1);
		assert_int_equal(a.clocks[1].count, 2);
		assert_int_equal(a.clocks[1].segments[1].first, 150);
		assert_int_equal(a.clocks[2].count, 1);
		assert_int_equal(a.contradicted, 0);
		assert_true(covered(&t, 3, &a) < 20000);
		line_alignment_release(&a);
	}
}

static void what_cannot_be_is_said_and_not_averaged(void **state)
{
	struct truth t = plain;
	struct line_alignment a;

	(void)state;
	/* no kernel stamp in the middle, and its clock steps ahead by more than the switches' delays */
	t.step_at[1] = 200;
	t.step_ns[1] = 5e6;
	make(&t, 3, 8);
	for (uint32_t i = 0; i < MANY; i++)
		points[MANY + i].sw_in_ns = points[MANY + i].sw_out_ns = ALIGN_NONE;
	assert_int_equal(align_line_find(points, 3, MANY, &one_clock, &a), 0);
	/* the neighbours' times bound it: found as a step all the same */
	assert_int_equal(a.clocks[1].count, 2);
	covered(&t, 3, &a);
	line_alignment_release(&a);

	/* stamps of which one order of events cannot be */
	make(&plain, 2, 9);
	points[5].p4_out_ns += 100000000;
	assert_int_equal(align_line_find(points, 2, MANY, &one_clock, &a), 0);
	assert_true(a.clocks[0].count > 1);
	assert_true(isnan(line_offset_ns(&a, 0, 5)) || a.contradicted > 0);
	line_alignment_release(&a);
}

static void missing_stamps_and_no_packets(void **state)
{
	struct line_alignment a;

	(void)state;
	make(&plain, 3, 10);
	for (uint32_t i = 0; i < MANY; i += 3)
		points[MANY + i].p4_in_ns = points[MANY + i].p4_out_ns = ALIGN_NONE;
	assert_int_equal(align_line_find(points, 3, MANY, &one_clock, &a), 0);
	covered(&plain, 3, &a);
	line_alignment_release(&a);
	assert_int_equal(align_line_find(points, 3, 0, &one_clock, &a), 0);
	assert_int_equal(a.contradicted, 0);
	line_alignment_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offsets_of_every_line_are_inside),
		cmocka_unit_test(what_the_kernel_did_not_stamp_follows_from_the_neighbours),
		cmocka_unit_test(hops_alone_bind_the_order_of_the_clocks),
		cmocka_unit_test(drift_is_followed),
		cmocka_unit_test(a_rate_seven_percent_off_can_be_allowed),
		cmocka_unit_test(a_step_of_one_switch_cuts_that_one),
		cmocka_unit_test(what_cannot_be_is_said_and_not_averaged),
		cmocka_unit_test(missing_stamps_and_no_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
