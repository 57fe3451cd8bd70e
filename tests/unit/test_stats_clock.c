/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>

#include <cmocka.h>

#include "base/rng.h"
#include "stats/clockcheck.h"
#include "stats/modes.h"
#include "stats/sort.h"
#include "near.h"

#define N 4000

static int64_t ticks[N], scratch[N];
static double values[N];

static struct modes modes_of(size_t n, double quantum)
{
	const struct sample_set set = { .values = values, .finite = n, .quantum = quantum };
	struct modes m;

	sort_double(values, n);
	assert_int_equal(modes_find(&set, &m), 0);
	return m;
}

static void two_modes_are_found(void **state)
{
	struct rng r;

	(void)state;
	rng_init(&r, 1);
	for (int i = 0; i < N; i++)
		values[i] = (i % 10 < 6 ? 107 : 137) + 5 * rng_normal(&r);
	struct modes m = modes_of(N, 0);

	assert_int_equal(m.count, 2);
	assert_near(m.mode[0].location, 107, 1);
	assert_near(m.mode[1].location, 137, 1);
	assert_near(m.mode[0].share, 0.6, 0.02);
	assert_near(m.mode[0].share + m.mode[1].share, 1, 1e-12);
	assert_true(m.mode[0].high > 112 && m.mode[0].high < 132);
	/* The same read in 10 ns ticks. */
	for (int i = 0; i < N; i++)
		values[i] = 10 * floor((rng_unit(&r) * 10 + (i % 10 < 6 ? 107 : 137) + 5 * rng_normal(&r)) / 10);
	m = modes_of(N, 10);
	assert_int_equal(m.count, 2);
	assert_near(m.mode[0].location, 107, 2);
	assert_near(m.mode[1].location, 137, 2);
}

static void one_mode_stays_one(void **state)
{
	struct rng r;

	(void)state;
	for (uint64_t seed = 0; seed < 30; seed++) {
		size_t n = 50 + 131 * seed;

		rng_init(&r, seed);
		for (size_t i = 0; i < n; i++) {
			double tail = seed % 3 == 0 && rng_unit(&r) < 0.1 ? 20 * pow(1 - rng_unit(&r), -1 / 1.2) : 0;

			values[i] = seed % 3 == 1 ? 100 * rng_unit(&r) : 149 + 12 * rng_normal(&r) + tail;
		}
		assert_int_equal(modes_of(n, 0).count, 1);
	}
	/* The comb of a clock's step is no mode, nor are 20 stray values far away. */
	rng_init(&r, 77);
	for (int i = 0; i < N; i++)
		values[i] = i < 20 ? 5000 + i : 10 * floor((149 + 25 * rng_normal(&r)) / 10);
	struct modes m = modes_of(N, 10);

	assert_int_equal(m.count, 1);
	assert_near(m.mode[0].share, 1, 0);
}

static void modes_of_nothing_much(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++)
		values[i] = 7;
	assert_int_equal(modes_of(49, 0).count, 0);
	struct modes m = modes_of(100, 0);

	assert_int_equal(m.count, 1);
	assert_near(m.mode[0].location, 7, 0);
	assert_int_equal(modes_of(100, 10).count, 1);
	for (int i = 0; i < 100; i++) /* exactly two values */
		values[i] = i % 4 ? 107 : 137;
	m = modes_of(100, 4);
	assert_int_equal(m.count, 2);
	assert_near(m.mode[1].share, 0.25, 1e-12);
}

static struct quantum_check quantum_of(size_t n)
{
	struct quantum_check c;

	sort_i64(ticks, n, scratch);
	assert_int_equal(check_quantum(ticks, n, &c), 0);
	return c;
}

static void a_stepped_clock_is_found(void **state)
{
	struct rng r;

	(void)state;
	rng_init(&r, 2);
	/* 10 ns of a 2.596 GHz counter, cut to whole counts; outliers far up. */
	for (int i = 0; i < N; i++) {
		double steps = floor(15 + 4 * rng_normal(&r)) + (i % 100 == 0 ? (double)rng_below(&r, 100000) : 0);

		ticks[i] = (int64_t)floor(steps * 25.96);
	}
	struct quantum_check c = quantum_of(N);

	assert_true(c.found);
	assert_near(c.quantum, 25.96, 0.05);
	assert_true(c.resultant > 0.95);
	/* 6.4 ns in picoseconds. */
	for (int i = 0; i < N; i++)
		ticks[i] = 6400 * (int64_t)floor(20 * rng_normal(&r));
	c = quantum_of(N);
	assert_true(c.found);
	assert_near(c.quantum, 6400, 1);
	/* A few values off the grid do not hide it. */
	for (int i = 0; i < N; i++)
		ticks[i] = i % 50 == 0 ? 26 * (int64_t)rng_below(&r, 20) + 5 : 26 * (int64_t)rng_below(&r, 20);
	c = quantum_of(N);
	assert_true(c.found);
	assert_near(c.quantum, 26, 0.1);
}

static void a_fine_clock_has_no_step(void **state)
{
	struct rng r;

	(void)state;
	for (uint64_t seed = 0; seed < 10; seed++) {
		size_t n = 60 + 390 * seed;

		rng_init(&r, seed);
		for (size_t i = 0; i < n; i++)
			ticks[i] = (int64_t)(400 + (30 + 200 * (double)seed) * rng_normal(&r));
		struct quantum_check c = quantum_of(n);

		assert_false(c.found);
		assert_true(c.quantum == 0);
	}
	for (int i = 0; i < N; i++)
		ticks[i] = 42;
	assert_false(quantum_of(N).found);
	assert_false(quantum_of(10).found);
}

static void a_dead_zone_is_found(void **state)
{
	struct rng r;

	(void)state;
	rng_init(&r, 4);
	/* Nothing closer than 12 ns is ever told apart. */
	for (int i = 0; i < N; i++) {
		do
			ticks[i] = (int64_t)(60 * rng_normal(&r));
		while (ticks[i] > -12 && ticks[i] < 12);
	}
	sort_i64(ticks, N, scratch);
	struct dead_zone_check c = check_dead_zone(ticks, N, 0);

	assert_true(c.found);
	assert_true(c.low == -12 && c.high == 12);
	assert_true(c.expected > 200);
	/* A gap of three quanta is what a coarse clock does. */
	assert_false(check_dead_zone(ticks, N, 10).found);
}

static void no_dead_zone_where_there_is_none(void **state)
{
	struct rng r;

	(void)state;
	rng_init(&r, 5);
	for (int i = 0; i < N; i++)
		ticks[i] = (int64_t)(60 * rng_normal(&r));
	sort_i64(ticks, N, scratch);
	assert_false(check_dead_zone(ticks, N, 0).found);
	/* All on one side; and a latency of 150 with a few reordered far below. */
	for (int i = 0; i < N; i++)
		ticks[i] = i < 30 ? -500 + i : (int64_t)(150 + 10 * rng_normal(&r));
	sort_i64(ticks, N, scratch);
	assert_false(check_dead_zone(ticks + 30, N - 30, 0).found);
	assert_false(check_dead_zone(ticks, N, 0).found);
	/* Two narrow modes on either side of zero are modes. */
	for (int i = 0; i < N; i++)
		ticks[i] = (int64_t)((i % 2 ? 100 : -100) + 8 * rng_normal(&r));
	sort_i64(ticks, N, scratch);
	assert_false(check_dead_zone(ticks, N, 0).found);
	assert_false(check_dead_zone(ticks, 0, 0).found);
}

static struct period_check period_of(size_t n)
{
	struct period_check c;

	assert_int_equal(check_period(values, n, &c), 0);
	return c;
}

static void a_period_is_found(void **state)
{
	struct rng r;

	(void)state;
	rng_init(&r, 6);
	/* Every 8th probe later, under noise, outliers and a drift. */
	for (int i = 0; i < N; i++)
		values[i] = 149 + 12 * rng_normal(&r) + (i % 8 == 0 ? 15 : 0) + i / 400.0 + (i % 211 == 0 ? 1e6 : 0);
	struct period_check c = period_of(N);

	assert_true(c.found);
	assert_true(c.false_alarm < 1e-9);
	/* The fundamental or a harmonic: a spike has them all. */
	assert_near(fmod(8 / c.period_samples + 0.5, 1), 0.5, 0.02);
	for (int i = 0; i < N; i++)
		values[i] = 12 * rng_normal(&r) + 5 * sin(2 * M_PI * i / 37.3);
	c = period_of(N);
	assert_true(c.found);
	assert_near(c.period_samples, 37.3, 0.2);
	assert_near(c.amplitude, 5, 1);
}

static void noise_and_drift_are_no_period(void **state)
{
	struct rng r;

	(void)state;
	for (uint64_t seed = 0; seed < 30; seed++) {
		size_t n = 256 + 120 * seed;
		double walk = 0;

		rng_init(&r, seed);
		for (size_t i = 0; i < n; i++) {
			walk += rng_normal(&r);
			values[i] = seed % 3 == 0 ? rng_normal(&r)
				    : seed % 3 == 1
					    ? 10 * floor(2 * rng_normal(&r)) + 0.01 * (double)i /* ticks, drift */
					    : walk + 5 * rng_normal(&r);
		}
		assert_false(period_of(n).found);
	}
	for (int i = 0; i < N; i++)
		values[i] = 5;
	assert_false(period_of(N).found);
	assert_false(period_of(255).found);
	assert_true(period_of(255).false_alarm == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_modes_are_found),
		cmocka_unit_test(one_mode_stays_one),
		cmocka_unit_test(modes_of_nothing_much),
		cmocka_unit_test(a_stepped_clock_is_found),
		cmocka_unit_test(a_fine_clock_has_no_step),
		cmocka_unit_test(a_dead_zone_is_found),
		cmocka_unit_test(no_dead_zone_where_there_is_none),
		cmocka_unit_test(a_period_is_found),
		cmocka_unit_test(noise_and_drift_are_no_period),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
