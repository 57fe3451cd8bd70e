/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "clock/tsc.h"
#include "clock/watch.h"

#define HZ 2596098000.0

/* A reading at `ns` of a counter of HZ, as if both clocks were read at the middle of the bracket. */
static struct tsc_mark mark_at(int64_t ns, uint32_t width_ticks)
{
	return (struct tsc_mark){ .ticks = (uint64_t)llround((double)ns * HZ / 1e9),
				  .raw_ns = ns,
				  .width_ticks = width_ticks };
}

static void rate_of_two_marks(void **state)
{
	struct tsc_mark from = mark_at(1000000000, 120), to = mark_at(1200000000, 120);
	double u_ppm, hz = tsc_rate(&from, &to, &u_ppm);

	(void)state;
	assert_true(fabs(hz / HZ - 1) < 1e-8);
	/* 120 ticks rectangular at both ends of 200 ms: sqrt(2) * 120 / sqrt(12) / 519,219,600 */
	assert_true(fabs(u_ppm - 0.0943) < 0.001);
}

static void rate_drops_wide_brackets(void **state)
{
	struct tsc_mark marks[16];
	double hz = 0, u_ppm;

	(void)state;
	for (int i = 0; i < 16; i++) {
		marks[i] = mark_at(1000000000 + (int64_t)i * 10000000, 100 + (uint32_t)i);
		/* An interrupt inside: the bracket is wide and its middle is off by half of it. */
		if (i == 3 || i == 12) {
			marks[i].width_ticks = 100000;
			marks[i].ticks += 50000;
		}
	}
	assert_int_equal(tsc_rate_of_marks(marks, 16, &hz, &u_ppm), 2);
	assert_true(fabs(hz / HZ - 1) < 1e-7);
}

static void rate_survives_an_outlier_with_a_tight_bracket(void **state)
{
	struct tsc_mark marks[16];
	double hz = 0, u_ppm;

	(void)state;
	for (int i = 0; i < 16; i++)
		marks[i] = mark_at(1000000000 + (int64_t)i * 10000000, 100);
	marks[5].ticks += 300000;
	assert_int_equal(tsc_rate_of_marks(marks, 16, &hz, &u_ppm), 0);
	assert_true(fabs(hz / HZ - 1) < 1e-7);
}

static void rate_refuses_too_few(void **state)
{
	struct tsc_mark marks[8];
	double hz = 7, u_ppm = 8;

	(void)state;
	for (int i = 0; i < 8; i++)
		marks[i] = mark_at(1000000000 + (int64_t)i * 10000000, i < 3 ? 100 : 1000);
	assert_int_equal(tsc_rate_of_marks(marks, 8, &hz, &u_ppm), -ERANGE);
	assert_true(hz == 7 && u_ppm == 8);
}

/* Readings of a counter that steps by `step`, at times that do not. */
static unsigned step_readings(double step, uint64_t *ret, unsigned count)
{
	double now = 1e12;

	for (unsigned i = 0; i < count; i++) {
		now += 55 + (i * 13) % 29;
		ret[i] = (uint64_t)(floor(now / step) * step);
	}
	return count;
}

static void quantum_is_found(void **state)
{
	uint64_t readings[512];

	(void)state;
	assert_true(fabs(tsc_quantum_of(readings, step_readings(26, readings, 512)) - 26) < 0.05);
	assert_true(fabs(tsc_quantum_of(readings, step_readings(25.96, readings, 512)) - 25.96) < 0.05);
	assert_true(fabs(tsc_quantum_of(readings, step_readings(36, readings, 512)) - 36) < 0.1);
	/* Every count occurs. */
	assert_true(tsc_quantum_of(readings, step_readings(1, readings, 512)) == 1);
	/* A few readings across an interrupt do not hide it. */
	step_readings(26, readings, 512);
	for (unsigned i = 100; i < 512; i++)
		readings[i] += 13;
	assert_true(fabs(tsc_quantum_of(readings, 512) - 26) < 0.05);
	assert_true(tsc_quantum_of(readings, 10) == 0);
}

static void this_host_can_be_calibrated(void **state)
{
	struct tsc tsc = { 0 };
	struct err err = { 0 };
	struct tsc_mark from, to;

	(void)state;
	assert_int_equal(tsc_calibrate(&tsc, 20000000, true, &err), 0);
	assert_true(tsc.hz > 1e8 && tsc.hz < 1e10);
	assert_true(tsc.hz_u_ppm > 0 && tsc.hz_u_ppm < 1000);
	assert_true(tsc.quantum_ticks >= 1);
	assert_true(tsc.marks + tsc.outliers == 64);
	assert_true(fabs(tsc_to_ns(&tsc, tsc_from_ns(&tsc, 1e9)) - 1e9) < 1);
	tsc_mark_take(&from);
	tsc_mark_take(&to);
	assert_true((int64_t)(to.ticks - from.ticks) > 0);
	assert_true(to.raw_ns > from.raw_ns);
}

static void steps_of_the_wall_clock_are_seen(void **state)
{
	struct step_watch w = { .offset_ns = 1000000, .width_ns = 60 };

	(void)state;
	assert_int_equal(step_watch_feed(&w, 5000, 5030 + 1000000, 5060), 0);
	/* Within what the brackets can tell. */
	assert_int_equal(step_watch_feed(&w, 5000, 5030 + 1000400, 5060), 0);
	assert_int_equal(w.steps, 0);
	/* Back by a millisecond, then forth again. */
	assert_int_equal(step_watch_feed(&w, 9000, 9030 + 0, 9060), -1000000);
	assert_int_equal(step_watch_feed(&w, 10000, 10030 + 0, 10060), 0);
	assert_int_equal(step_watch_feed(&w, 11000, 11030 + 3000000, 11060), 3000000);
	assert_int_equal(w.steps, 2);
	assert_int_equal(w.moved_ns, 2000000);
	/* A reading with a hole in it says little: no step is claimed. */
	assert_int_equal(step_watch_feed(&w, 0, 3000000 + 90000, 100000), 0);
	step_watch_start(&w);
	assert_int_equal(step_watch_check(&w), 0);
}

static void holes_are_counted(void **state)
{
	struct stall_watch w;

	(void)state;
	stall_watch_start(&w, UINT64_MAX - 50, 1000); /* the counter may wrap */
	stall_watch_feed(&w, UINT64_MAX);
	stall_watch_feed(&w, 900);
	assert_int_equal(w.stalls, 0);
	stall_watch_feed(&w, 6000);
	stall_watch_feed(&w, 7000);
	stall_watch_feed(&w, 9000);
	assert_int_equal(w.stalls, 2);
	assert_int_equal(w.stalled_ticks, 7100);
	assert_int_equal(w.longest_ticks, 5100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rate_of_two_marks),
		cmocka_unit_test(rate_drops_wide_brackets),
		cmocka_unit_test(rate_survives_an_outlier_with_a_tight_bracket),
		cmocka_unit_test(rate_refuses_too_few),
		cmocka_unit_test(quantum_is_found),
		cmocka_unit_test(this_host_can_be_calibrated),
		cmocka_unit_test(steps_of_the_wall_clock_are_seen),
		cmocka_unit_test(holes_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
