/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "stats/bound.h"
#include "stats/secondclock.h"

/* --- the second clock --- */

enum { PAIRS = 4000 };

/* What both clocks are shown: differences around 0 ns; in ps. */
struct readings {
	int64_t first[PAIRS], second[PAIRS];
};

static struct readings *readings_of(double sd_ps, double quantum_ps, double dead_ps, double beat_ps, double common_ps)
{
	struct readings *r = calloc(1, sizeof(*r));
	struct rng rng;

	assert_non_null(r);
	rng_init(&rng, 21);
	for (int i = 0; i < PAIRS; i++) {
		double truth = sd_ps * rng_normal(&rng) + common_ps * sin(2 * M_PI * i / 37.0), second;

		second = truth + 300 * rng_normal(&rng) + beat_ps * sin(2 * M_PI * i / 100.0);
		/* a receiver that cannot tell two arrivals closer than that puts them so far apart */
		if (fabs(second) < dead_ps)
			second = second < 0 ? -dead_ps - fabs(second) : dead_ps + fabs(second);
		if (quantum_ps > 0)
			second = round(second / quantum_ps) * quantum_ps;
		r->first[i] = (int64_t)llround(truth + 300 * rng_normal(&rng));
		r->second[i] = (int64_t)llround(second);
	}
	return r;
}

static const struct clock_finding *finding(const struct second_clock *c, enum clock_artefact artefact)
{
	for (unsigned i = 0; i < c->finding_count; i++)
		if (c->findings[i].artefact == artefact)
			return &c->findings[i];
	return NULL;
}

static void good_clocks_have_no_findings(void **state)
{
	struct readings *r = readings_of(20000, 0, 0, 0, 0);
	struct second_clock c;

	(void)state;
	assert_int_equal(second_clock_check(r->first, r->second, PAIRS, 1e-3, &c), 0);
	if (c.finding_count)
		fail_msg("%s", c.findings[0].text);
	assert_int_equal(second_clock_check(r->first, r->second, 0, 1e-3, &c), 0);
	assert_int_equal(c.finding_count, 0);
	free(r);
}

static void steps_and_a_dead_zone_are_the_second_clocks(void **state)
{
	struct readings *r = readings_of(60000, 6400, 12000, 0, 0);
	const struct clock_finding *f;
	struct second_clock c;

	(void)state;
	assert_int_equal(second_clock_check(r->first, r->second, PAIRS, 1e-3, &c), 0);
	f = finding(&c, ARTEFACT_QUANTUM);
	assert_non_null(f);
	assert_int_equal(f->owner, OWNER_SECOND);
	assert_string_equal(f->text, "second clock: readings come in steps of 6.4 ns");
	free(r);
	r = readings_of(60000, 0, 12000, 0, 0);
	assert_int_equal(second_clock_check(r->first, r->second, PAIRS, 1e-3, &c), 0);
	f = finding(&c, ARTEFACT_DEAD_ZONE);
	assert_non_null(f);
	assert_int_equal(f->owner, OWNER_SECOND);
	assert_non_null(strstr(f->text, "no reading between -12"));
	assert_null(finding(&c, ARTEFACT_QUANTUM));
	free(r);
}

static void a_period_is_told_by_whose_it_is(void **state)
{
	/* 3 ns in 20 ns of scatter: lost in either clock's own readings, plain in their difference */
	struct readings *r = readings_of(20000, 0, 0, 600, 0);
	const struct clock_finding *f;
	struct second_clock c;
	double period;

	(void)state;
	assert_int_equal(second_clock_check(r->first, r->second, PAIRS, 1e-3, &c), 0);
	f = finding(&c, ARTEFACT_PERIOD);
	assert_non_null(f);
	assert_int_equal(f->owner, OWNER_SECOND);
	assert_int_equal(sscanf(f->text, "second clock: against the first, a part repeats every %lf probes", &period),
			 1);
	assert_true(fabs(period - 100) < 1);
	free(r);
	/* the traffic's own period is in both */
	r = readings_of(20000, 0, 0, 0, 15000);
	assert_int_equal(second_clock_check(r->first, r->second, PAIRS, 1e-3, &c), 0);
	f = finding(&c, ARTEFACT_PERIOD);
	assert_non_null(f);
	assert_int_equal(f->owner, OWNER_BOTH);
	assert_int_equal(sscanf(f->text, "both clocks: a part repeats every %lf probes", &period), 1);
	assert_true(fabs(period - 37) < 0.5);
	free(r);
	/* and the second's own, when it is large enough to show by itself */
	r = readings_of(20000, 0, 0, 15000, 0);
	assert_int_equal(second_clock_check(r->first, r->second, PAIRS, 1e-3, &c), 0);
	f = finding(&c, ARTEFACT_PERIOD);
	assert_non_null(f);
	assert_int_equal(f->owner, OWNER_SECOND);
	assert_null(strstr(f->text, "against"));
	free(r);
}

/* --- the bound --- */

static const struct vendor_bound vitis = { .cycles = 60, .clock_hz = 250e6, .bus_bytes = 64 };

static void the_bound_grows_by_a_cycle_a_bus_width(void **state)
{
	(void)state;
	assert_true(fabs(bound_ns(&vitis, 0) - 240) < 1e-9);
	assert_true(fabs(bound_ns(&vitis, 1) - 244) < 1e-9);
	assert_true(fabs(bound_ns(&vitis, 64) - 244) < 1e-9);
	assert_true(fabs(bound_ns(&vitis, 65) - 248) < 1e-9);
}

static void packets_are_held_against_it_one_by_one(void **state)
{
	const struct bounded_packet packets[] = {
		{ .packet = 7, .latency_ns = 160, .inserted_bytes = 0 },  /* 20 cycles under */
		{ .packet = 8, .latency_ns = 240, .inserted_bytes = 13 }, /* 1 under: the header counts */
		{ .packet = 9, .latency_ns = 241, .inserted_bytes = 0 },  /* 0.25 over, less than can be told */
		{ .packet = 10, .latency_ns = 252, .inserted_bytes = 0 }, /* 3 over */
		{ .packet = 11, .latency_ns = 168, .inserted_bytes = 0 }, /* 18 under */
	};
	struct bound_margin margins[5];
	struct bound_summary s;

	(void)state;
	bound_check(&vitis, packets, 5, 2, margins, &s);
	assert_true(s.packets == 5 && s.over == 1 && s.unsure == 1 && s.under == 3);
	assert_int_equal(margins[0].packet, 10);
	assert_int_equal(margins[0].verdict, BOUND_OVER);
	assert_true(fabs(margins[0].margin_cycles + 3) < 1e-9);
	assert_int_equal(margins[1].packet, 9);
	assert_int_equal(margins[1].verdict, BOUND_UNSURE);
	assert_int_equal(margins[4].packet, 7);
	assert_true(fabs(s.least_cycles + 3) < 1e-9 && fabs(s.median_cycles - 1) < 1e-9 &&
		    fabs(s.most_cycles - 20) < 1e-9);
	/* with a latency known exactly, a quarter of a cycle is over */
	bound_check(&vitis, packets, 5, 0, margins, &s);
	assert_true(s.over == 2 && s.unsure == 0);
	bound_check(&vitis, packets, 0, 0, margins, &s);
	assert_true(s.packets == 0 && isnan(s.least_cycles));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_clocks_have_no_findings),
		cmocka_unit_test(steps_and_a_dead_zone_are_the_second_clocks),
		cmocka_unit_test(a_period_is_told_by_whose_it_is),
		cmocka_unit_test(the_bound_grows_by_a_cycle_a_bus_width),
		cmocka_unit_test(packets_are_held_against_it_one_by_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
