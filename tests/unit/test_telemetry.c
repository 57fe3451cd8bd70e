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
#include "probe/telemetry_figures.h"
#include "probe/telemetry_settings.h"
#include "probe/transit_settings.h"

enum { PROBES = 300, HOPS = 3, PERIOD_NS = 5000000 };

#define BASE_UTC_NS INT64_C(1796063178094202399)

/* Switches that tell their clocks, started some ms before the run; what each stamps follows from its clock. */
static const struct told_clock clocks[HOPS] = {
	{ .zero_utc_ns = BASE_UTC_NS - 220000000, .offset_us = 3000 },
	{ .zero_utc_ns = BASE_UTC_NS - 215000000, .offset_us = -9000, .drift_ppm = 20 },
	{ .zero_utc_ns = BASE_UTC_NS - 205000000 },
};

static uint64_t stamp_us(const struct told_clock *c, double host_ns)
{
	double us = (host_ns - (double)(c->zero_utc_ns - BASE_UTC_NS)) * (1 + (double)c->drift_ppm * 1e-6) / 1000;

	if (c->step_us && us >= (double)c->step_at_us)
		us += (double)c->step_us;
	return (uint64_t)floor(us + (double)c->offset_us);
}

static size_t stack(uint8_t *bytes, size_t room, const struct int_hop *hops, uint32_t count)
{
	size_t n = int_shim_encode(hops, count, bytes, room);

	assert_true(n > 0);
	return n;
}

/* Probe after probe through the line, every one decoded from bytes. */
static void make(struct telemetry *t, const struct told_clock *truth)
{
	struct rng rng;

	rng_init(&rng, 3);
	assert_int_equal(telemetry_init(t, HOPS, PROBES, false), 0);
	t->started_utc_ns = BASE_UTC_NS;
	t->drift_ppm = 50;
	for (uint32_t k = 0; k < HOPS; k++) {
		t->clocks[k].told = true;
		t->clocks[k].truth = truth[k];
		/* the process was started 10 ms, 11 ms, ... before its clock began */
		t->clocks[k].boot_ns = truth[k].zero_utc_ns - BASE_UTC_NS - 10000000 - k * 1000000;
	}
	for (uint32_t i = 0; i < PROBES; i++) {
		double at = (double)i * PERIOD_NS;
		struct int_hop hops[HOPS];
		uint8_t bytes[64];

		t->tx_ns[i] = (int64_t)at;
		for (uint32_t k = 0; k < HOPS; k++) {
			struct hop *h = &t->hops[k * PROBES + i];

			at += 300;
			h->sw_in_ns = (int64_t)at;
			at += 4000 + (double)rng_below(&rng, 30000);
			hops[k].switch_id = (uint8_t)(k + 1);
			hops[k].ingress_us = stamp_us(&truth[k], at);
			at += 10000 + (double)rng_below(&rng, 30000);
			hops[k].egress_us = stamp_us(&truth[k], at);
			at += 4000 + (double)rng_below(&rng, 30000);
			h->sw_out_ns = (int64_t)at;
		}
		telemetry_take_stack(t, i, bytes, stack(bytes, sizeof(bytes), hops, HOPS));
	}
}

static double value(const struct telemetry_value *v, int count, const char *name)
{
	for (int i = 0; i < count; i++)
		if (strcmp(v[i].name, name) == 0)
			return v[i].value;
	return NAN;
}

static struct telemetry_value values[TELEMETRY_VALUES_MOST];

static double figure(int count, const char *name)
{
	double v = value(values, count, name);

	if (isnan(v))
		fail_msg("no figure '%s'", name);
	return v;
}

static void both_alignments_stand_against_the_truth(void **state)
{
	struct telemetry t;
	int n;

	(void)state;
	make(&t, clocks);
	assert_int_equal(telemetry_align(&t), 0);
	n = telemetry_figures(&t, values);
	assert_true(n > 0);
	assert_true(figure(n, "hops") == HOPS * PROBES);
	assert_true(figure(n, "apart") == 0);
	assert_string_equal(values[0].name, "boot_off");
	assert_true(figure(n, "boot_off") >= fabs(figure(n, "boot_off_2")));
	assert_true(figure(n, "covered") == 1);
	assert_true(figure(n, "offset_width") >= figure(n, "offset_width_1"));
	assert_true(isnan(value(values, n, "steps")) && isnan(value(values, n, "int_cut_short")));
	for (uint32_t k = 1; k <= HOPS; k++) {
		char name[40];

		snprintf(name, sizeof(name), "covered_%u", k);
		assert_true(figure(n, name) == 1);
		snprintf(name, sizeof(name), "offset_width_%u", k);
		assert_in_range((long)figure(n, name), 8, 20);
		snprintf(name, sizeof(name), "causal_error_%u", k);
		assert_true(fabs(figure(n, name)) < 8);
	}
	/* boot: the process began 10 ms before the clock, and the clock is wrong by its fault beside that */
	assert_true(fabs(figure(n, "boot_error_1") - (-10000 + 3000)) < 20);
	assert_true(fabs(figure(n, "boot_error_2") - (-11000 - 9000)) < 40);
	assert_true(fabs(figure(n, "boot_error_3") - -12000) < 20);
	assert_true(fabs(figure(n, "boot_off_2") - (-20000 + 7000)) < 60);
	/* out, cable and in: 8.3 us at least, 38 on average */
	assert_true(fabs(figure(n, "link_2") - 38) < 12 && fabs(figure(n, "link_error_2")) < figure(n, "link_u_2"));
	assert_true(fabs(figure(n, "wire_2") - 0.3) < 0.01);
	assert_true(figure(n, "link_spread_2") > 5 && figure(n, "link_spread_2") < 20);
	assert_true(fabs(figure(n, "rate_2") - 20) < 15);
	telemetry_release(&t);
}

static void a_step_is_cut_out_and_not_averaged(void **state)
{
	static const int64_t steps_us[] = { 750000, -37000000 };

	(void)state;
	for (size_t s = 0; s < 2; s++) {
		struct told_clock stepping[HOPS];
		struct telemetry t;
		int n;

		memcpy(stepping, clocks, sizeof(stepping));
		stepping[1].step_us = steps_us[s];
		/* a third of the way; far from zero, where a clock that stepped back would end */
		stepping[1].zero_utc_ns -= INT64_C(100000000000);
		stepping[1].step_at_us = 100215000 + PROBES / 3 * (PERIOD_NS / 1000);
		make(&t, stepping);
		assert_int_equal(telemetry_align(&t), 0);
		n = telemetry_figures(&t, values);
		assert_true(figure(n, "steps") == 1);
		assert_int_equal(t.clocks[1].segments, 2);
		/* the shorter part is in no figure of that switch */
		assert_true(fabs(figure(n, "apart") - PROBES / 3.0) < 6);
		assert_true(figure(n, "covered_2") == 1);
		assert_true(fabs(figure(n, "causal_error_2")) < 8);
		/* what boot is wrong by holds the step as well, once, and not a part of it */
		assert_true(fabs(figure(n, "boot_error_2") - (-20000 + (double)steps_us[s] - 0)) < 3000);
		telemetry_release(&t);
	}
}

static void a_rate_seven_percent_off_is_followed_and_said(void **state)
{
	struct told_clock fast[HOPS];
	struct telemetry t;
	int n;

	(void)state;
	memcpy(fast, clocks, sizeof(fast));
	fast[2].drift_ppm = 70000;
	make(&t, fast);
	assert_int_equal(telemetry_align(&t), 0);
	n = telemetry_figures(&t, values);
	assert_true(figure(n, "rates_off") == 1);
	assert_true(fabs(figure(n, "rate_3") - 70000) < 200);
	assert_true(figure(n, "covered_3") == 1);
	assert_true(isnan(value(values, n, "steps")));
	telemetry_release(&t);
}

static void zero_stamps_and_bad_stacks_are_counted(void **state)
{
	struct int_hop hops[HOPS] = { { 1, 5, 6 }, { 2, 0, 7 }, { 9, 8, 9 } };
	struct telemetry t;
	uint8_t bytes[128] = { 0 };
	size_t length;
	int n;

	(void)state;
	make(&t, clocks);
	for (uint32_t i = 0; i < 5; i++)
		for (uint32_t k = 0; k < HOPS; k++)
			t.hops[k * PROBES + i].stamped = false;
	length = stack(bytes, sizeof(bytes), hops, HOPS);
	telemetry_take_stack(&t, 0, bytes, length);     /* a zero stamp, and a switch of another number */
	telemetry_take_stack(&t, 1, bytes, length - 1); /* cut */
	telemetry_take_stack(&t, 2, bytes, stack(bytes, sizeof(bytes), hops, 2)); /* another length; a zero stamp too */
	bytes[0] = 0;
	telemetry_take_stack(&t, 3, bytes, sizeof(bytes));
	bytes[0] = 9;
	telemetry_take_stack(&t, 4, bytes, sizeof(bytes));
	assert_int_equal(telemetry_align(&t), 0);
	n = telemetry_figures(&t, values);
	assert_true(figure(n, "int_zero_stamp") == 2);
	assert_true(figure(n, "missing") == 1);
	assert_true(figure(n, "int_cut_short") == 1);
	assert_true(figure(n, "int_other_length") == 1);
	assert_true(figure(n, "int_empty") == 1);
	assert_true(figure(n, "int_too_many_hops") == 1);
	assert_true(figure(n, "int_other_id") == 1);
	assert_true(figure(n, "hops") == HOPS * (PROBES - 4));
	assert_int_equal(t.hops[PROBES].p4_in_ns, TELEMETRY_NONE);
	assert_true(t.hops[PROBES].flags & STAMP_MISSING);
	/* the first probe's other stamps (5 us after zero) contradict what the rest says of these clocks: set apart */
	assert_true(figure(n, "apart") >= 2);
	assert_true(figure(n, "covered_2") == 1);
	telemetry_release(&t);
}

static void reports_are_taken_as_stacks_are(void **state)
{
	/* group, report of node 1 with both stamps, a packet without INT: a line of one */
	uint8_t bytes[8 + 12 + 16 + 28] = { 0x20, 0, 0, 1, 0, 0, 0, 1, 0x14, 13, 4, 0x20, 0x0c };
	struct telemetry t;

	(void)state;
	bytes[8 + 12 + 6] = 0x27; /* 10000000 ns and so on: of no importance */
	bytes[8 + 12 + 14] = 0x28;
	bytes[8 + 12 + 16] = 0x45;
	assert_int_equal(telemetry_init(&t, 1, 2, true), 0);
	telemetry_take_report(&t, 0, bytes, sizeof(bytes));
	telemetry_take_report(&t, 1, bytes, sizeof(bytes) - 1);
	assert_true(t.hops[0].stamped && !t.hops[1].stamped);
	assert_int_equal(t.hops[0].switch_id, 1);
	assert_int_equal(t.hops[0].raw_in, 0x2700);
	assert_int_equal(t.hops[0].raw_out, 0x2800);
	assert_int_equal(t.counts.md.by_fault[INT_MD_OK], 1);
	assert_int_equal(t.counts.md.by_fault[INT_MD_CUT], 1);
	telemetry_release(&t);
}

static void a_told_clock_gives_back_its_time(void **state)
{
	static const char line[] = "clock zero_utc_ns=1000 offset_us=-5 drift_ppm=100 step_us=-2000 step_at_us=10000\n";
	struct told_clock c;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(told_clock_parse(line, &c, &err), 0);
	for (double host = 0; host < 3e7; host += 999983) {
		double shown = host * 1.0001, stamp;

		stamp = shown + (shown >= 1e7 ? -2e6 : 0) - 5000;
		assert_true(fabs(told_clock_host_ns(&c, 1000, stamp, host) - host) < 0.01);
	}
	assert_true(told_clock_parse("clock zero_utc_ns=x", &c, &err) < 0);
	assert_non_null(strstr(err.message, "zero_utc_ns"));
	assert_true(told_clock_parse("clock zero_utc_ns=1 offset_us=2", &c, &err) < 0);
	assert_non_null(strstr(err.message, "lacks ' drift_ppm='"));
	assert_true(told_clock_parse("hello", &c, &err) < 0);
}

static void keep_message(void *context, const char *setting, const char *message)
{
	snprintf(context, 256, "%s: %s", setting, message);
}

static void more_probes_than_the_taps_hold_are_refused(void **state)
{
	struct settings settings;
	char said[256] = "";
	struct err err = { 0 };
	struct arena arena;

	(void)state;
	arena_init(&arena, 0);
	assert_int_equal(settings_init(&settings, transit_settings, &arena), 0);
	telemetry_settings_check(&settings, keep_message, said);
	assert_string_equal(said, "");
	assert_int_equal(settings_set(&settings, "count", "20k", &err), 0);
	telemetry_settings_check(&settings, keep_message, said);
	assert_string_equal(said,
			    "count: 20000 probes in a run; at most 16128 are kept at every switch; expected more runs");
	arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_alignments_stand_against_the_truth),
		cmocka_unit_test(a_step_is_cut_out_and_not_averaged),
		cmocka_unit_test(a_rate_seven_percent_off_is_followed_and_said),
		cmocka_unit_test(zero_stamps_and_bad_stacks_are_counted),
		cmocka_unit_test(reports_are_taken_as_stacks_are),
		cmocka_unit_test(a_told_clock_gives_back_its_time),
		cmocka_unit_test(more_probes_than_the_taps_hold_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
