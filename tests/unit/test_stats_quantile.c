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
#include "stats/quantile.h"
#include "stats/sort.h"
#include "stats/special.h"
#include "near.h"

static struct sample_set set_of(const double *values, size_t finite, uint64_t lost, double quantum)
{
	return (struct sample_set){ .values = values, .finite = finite, .lost = lost, .quantum = quantum };
}

/* From published tables: normal and Student to 7 digits and more, F to 5. */
static void special_has_the_tables_values(void **state)
{
	(void)state;
	assert_near(normal_quantile(0.975), 1.959963984540054, 1e-12);
	assert_near(normal_quantile(1e-10), -6.361340902404056, 1e-9);
	assert_near(normal_quantile(0.5), 0, 1e-15);
	assert_near(student_quantile(0.975, 1), 12.706204736432095, 1e-9);
	assert_near(student_quantile(0.975, 5), 2.570581835636314, 1e-10);
	assert_near(student_quantile(0.025, 5), -2.570581835636314, 1e-10);
	assert_near(student_quantile(0.975, INFINITY), 1.959963984540054, 1e-10);
	assert_near(student_cdf(student_quantile(0.9, 3.5), 3.5), 0.9, 1e-12);
	assert_near(f_quantile(0.95, 5, 10), 3.32583, 1e-5);
	assert_near(f_quantile(0.95, 1, 1), 161.4476, 1e-3);
	assert_near(beta_inc(2, 3, 0.5), 0.6875, 1e-14);
	assert_near(binomial_cdf(3, 10, 0.5), 0.171875, 1e-14);
	assert_near(binomial_cdf(0, 6, 0.5), 1.0 / 64, 1e-15);
	assert_true(binomial_cdf(-1, 6, 0.5) == 0 && binomial_cdf(6, 6, 0.5) == 1);
	/* A large binomial against its own sum: P(B <= 36886) of (36887, 0.9999) is 1 - p^n. */
	assert_near(binomial_cdf(36886, 36887, 0.9999), 1 - pow(0.9999, 36887), 1e-10);
}

static int compare_i64(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void sorts_what_clocks_make(void **state)
{
	enum { N = 5000 };
	static int64_t values[N], expected[N], scratch[N];
	static double doubles[N], copy[N];
	struct rng r;

	(void)state;
	rng_init(&r, 3);
	for (int kind = 0; kind < 5; kind++) {
		for (int i = 0; i < N; i++) {
			int64_t v = kind == 0   ? (int64_t)rng_u64(&r) /* the whole range, both signs */
				    : kind == 1 ? 26 * (int64_t)rng_below(&r, 20)
				    : kind == 2 ? i
				    : kind == 3 ? N - i
						: 7;

			values[i] = expected[i] = v;
			doubles[i] = copy[i] = (double)v;
		}
		if (kind == 0) {
			values[0] = expected[0] = INT64_MIN;
			values[1] = expected[1] = INT64_MAX;
			doubles[0] = copy[0] = INFINITY;
		}
		qsort(expected, N, sizeof(*expected), compare_i64);
		sort_i64(values, N, scratch);
		assert_memory_equal(values, expected, sizeof(values));
		sort_double(doubles, N);
		for (int i = 1; i < N; i++)
			assert_true(doubles[i - 1] <= doubles[i]);
		for (size_t rank = 0; rank < N; rank += 617) {
			double again[N];

			memcpy(again, copy, sizeof(copy));
			assert_true(select_double(again, N, rank) == doubles[rank]);
		}
	}
	sort_i64(values, 0, scratch);
	sort_i64(values, 1, scratch);
}

static void median_of_few(void **state)
{
	(void)state;
	assert_near(median_double((double[]){ 3 }, 1), 3, 0);
	assert_near(median_double((double[]){ 4, 1 }, 2), 2.5, 0);
	assert_near(median_double((double[]){ 9, 1, 5 }, 3), 5, 0);
	assert_true(isinf(median_double((double[]){ INFINITY, 1 }, 2)));
	assert_near(median_double((double[]){ INFINITY, 1, 2 }, 3), 2, 0);
}

/* The numbers of the law: both tails at most 2.5 %. */
static void needs_follow_from_the_rule(void **state)
{
	(void)state;
	assert_int_equal(quantile_need(0.5, 0.95), 6);
	assert_int_equal(quantile_need(0.99, 0.95), 368);
	assert_int_equal(quantile_need(0.999, 0.95), 3688);
	assert_int_equal(quantile_need(0.9999, 0.95), 36887);
	assert_int_equal(quantile_need(0.01, 0.95), 368);
	for (double p = 0.5; p < 0.9999; p += 0.0371) {
		double n = (double)quantile_need(p, 0.95);

		assert_true(pow(p, n) <= 0.025 && pow(p, n - 1) > 0.025);
	}
}

static void refusal_is_a_value(void **state)
{
	static double values[400];
	struct sample_set set = set_of(values, 367, 0, 0);
	struct figure f;

	(void)state;
	for (int i = 0; i < 400; i++)
		values[i] = i;
	f = quantile_figure(&set, 0.99, 0.95);
	assert_int_equal(f.state, FIGURE_REFUSED);
	assert_int_equal(f.have, 367);
	assert_int_equal(f.need, 368);
	assert_true(f.value == 0);
	set.lost = 1; /* one more was sent: now it can be said */
	f = quantile_figure(&set, 0.99, 0.95);
	assert_int_equal(f.state, FIGURE_NUMBER);
	assert_near(f.value, 364, 0);
	set = set_of(NULL, 0, 0, 0);
	assert_int_equal(quantile_point(&set, 0.5).state, FIGURE_REFUSED);
	assert_int_equal(quantile_interval(&set, 0.5, 0.95).state, FIGURE_REFUSED);
}

static void loss_is_latency(void **state)
{
	static double values[1000];
	struct sample_set set = set_of(values, 985, 15, 0);
	struct interval i;

	(void)state;
	for (int k = 0; k < 1000; k++)
		values[k] = k + 1;
	assert_int_equal(quantile_figure(&set, 0.99, 0.95).state, FIGURE_LOST);
	assert_true(isinf(quantile_figure(&set, 0.99, 0.95).value));
	assert_near(quantile_point(&set, 0.5).value, 500.5, 0);
	/* Without the lost ones the median would be 493. */
	assert_near(quantile_point(&(struct sample_set){ .values = values, .finite = 985 }, 0.5).value, 493, 0);
	i = quantile_interval(&set, 0.98, 0.95);
	assert_int_equal(i.state, FIGURE_LOST);
	assert_true(isfinite(i.low) && isinf(i.high));
	set = set_of(NULL, 0, 10, 0);
	assert_int_equal(quantile_point(&set, 0.5).state, FIGURE_LOST);
	/* Half of them: the median is between the last number and infinity. */
	set = set_of(values, 5, 5, 0);
	assert_int_equal(quantile_point(&set, 0.5).state, FIGURE_LOST);
	set = set_of(values, 6, 5, 10);
	assert_int_equal(quantile_point(&set, 0.5).state, FIGURE_NUMBER);
}

static void ranks_are_exact(void **state)
{
	uint64_t low, high;
	double coverage;

	(void)state;
	assert_false(quantile_ranks(5, 0.5, 0.95, &low, &high, &coverage));
	assert_near(coverage, 0.9375, 1e-15);
	assert_true(quantile_ranks(6, 0.5, 0.95, &low, &high, &coverage));
	assert_int_equal(low, 1);
	assert_int_equal(high, 6);
	assert_near(coverage, 0.96875, 1e-14);
	assert_true(quantile_ranks(12, 0.5, 0.95, &low, &high, &coverage));
	assert_int_equal(low, 3);
	assert_int_equal(high, 10);
	assert_near(coverage, 1 - 2 * 79.0 / 4096, 1e-14);
	/* Against the definition, for quantiles and sizes of all kinds. */
	for (uint64_t n = 1; n < 800; n = n * 3 / 2 + 1)
		for (double p = 0.03; p < 1; p += 0.0831) {
			if (!quantile_ranks(n, p, 0.95, &low, &high, &coverage))
				continue;
			assert_true(low >= 1 && high <= n && low < high);
			assert_true(binomial_cdf((int64_t)low - 1, n, p) <= 0.025 + 1e-12);
			assert_true(binomial_cdf((int64_t)low, n, p) > 0.025);
			assert_true(1 - binomial_cdf((int64_t)high - 1, n, p) <= 0.025 + 1e-12);
			assert_true(1 - binomial_cdf((int64_t)high - 2, n, p) > 0.025 - 1e-12);
			assert_near(coverage,
				    binomial_cdf((int64_t)high - 1, n, p) - binomial_cdf((int64_t)low - 1, n, p), 1e-9);
		}
}

static void five_restarts_are_refused_and_say_why(void **state)
{
	static const double figures[] = { 1, 2, 3, 4, 5, 6 };
	struct interval i = median_interval(figures, 5, 0.95);

	(void)state;
	assert_int_equal(i.state, FIGURE_REFUSED);
	assert_int_equal(i.need, 6);
	assert_near(i.coverage, 0.9375, 1e-15);
	assert_int_equal(median_interval_interpolated(figures, 5, 0.95).state, FIGURE_REFUSED);
	assert_true(isinf(median_measured(figures, 5).u));
	i = median_interval(figures, 6, 0.95);
	assert_int_equal(i.state, FIGURE_NUMBER);
	assert_true(i.low == 1 && i.high == 6);
	/* I = (0.96875 - 0.95) / (0.96875 - 0.78125) = 0.1, w = 5 * 0.1 / (1 + 4 * 0.1). */
	i = median_interval_interpolated(figures, 6, 0.95);
	assert_near(i.low, 1 + 0.5 / 1.4, 1e-12);
	assert_near(i.high, 6 - 0.5 / 1.4, 1e-12);
	assert_near(median_measured(figures, 6).u, (2.5 - 0.5 / 1.4) / 2.570581835636314, 1e-9);
	assert_near(median_measured(figures, 6).value, 3.5, 0);
}

static void ties_spread_over_the_tick(void **state)
{
	static const double one[] = { 20, 20, 20, 20 }, two[] = { 10, 10, 20, 20 }, apart[] = { 10, 10, 50, 50 };
	static const double lean[] = { 10, 20, 20, 20, 30 };
	struct sample_set set = set_of(one, 4, 0, 10);

	(void)state;
	assert_near(quantile_point(&set, 0.5).value, 20, 1e-9);
	assert_true(quantile_point(&set, 0.01).value >= 15 && quantile_point(&set, 0.99).value <= 25);
	set = set_of(two, 4, 0, 10);
	assert_near(quantile_point(&set, 0.5).value, 15, 1e-9);
	set = set_of(apart, 4, 0, 10); /* halfway between the edges 15 and 45 */
	assert_near(quantile_point(&set, 0.5).value, 30, 1e-9);
	set = set_of(lean, 5, 0, 10);
	assert_near(quantile_point(&set, 0.5).value, 20, 1e-9);
	/* 26 and 25 counts of one 25.96-tick step are one tick. */
	static const int64_t ticks[] = { 25, 26, 26, 51, 52, 52, 52, 77, 78, 78 };
	const struct sample_set counts = { .ticks = ticks, .finite = 10, .quantum = 25.96 };

	assert_near(quantile_point(&counts, 0.5).value, 51.92, 0.5);
}

/* Whatever the phase, the interpolated median of a jittered difference comes back far inside a tick. */
static void tick_does_not_hide_the_median(void **state)
{
	enum { N = 20000 };
	static int64_t ticks[N], scratch[N];
	struct rng r;

	(void)state;
	rng_init(&r, 11);
	for (double level = 149; level < 159; level += 1.7) {
		for (int i = 0; i < N; i++)
			ticks[i] = (int64_t)floor((10 * rng_unit(&r) + level + 12 * rng_normal(&r)) / 10);
		sort_i64(ticks, N, scratch);
		const struct sample_set set = { .ticks = ticks, .finite = N, .quantum = 1 };

		/* sd of the median 0.11, interpolation 0.1 */
		assert_near(10 * quantile_point(&set, 0.5).value, level, 0.55);
		assert_true(quantile_clock_error(&set, 0.5) < 0.05);
	}
	for (int i = 0; i < N; i++)
		ticks[i] = 15 + (i > N - 10);
	const struct sample_set locked = { .ticks = ticks, .finite = N, .quantum = 1 };

	assert_true(quantile_clock_error(&locked, 0.5) == 1);
}

/*
 * Two modes by packet, 60 : 40, the median on the flank of one: plain grouped-data interpolation is 2 ns off
 * here.
 */
static void a_leaning_density_is_sharpened(void **state)
{
	enum { N = 20000 };
	static int64_t ticks[N], scratch[N];
	struct rng r;
	double error = 0, bound = 0;

	(void)state;
	rng_init(&r, 12);
	for (double level = 150; level < 160; level += 1) {
		for (int i = 0; i < N; i++)
			ticks[i] = (int64_t)floor(
				(10 * rng_unit(&r) + level + (i % 5 < 3 ? 0 : 30) + 5 * rng_normal(&r)) / 10);
		sort_i64(ticks, N, scratch);
		const struct sample_set set = { .ticks = ticks, .finite = N, .quantum = 1 };

		/* 0.6 Phi(z) = 0.5: z = 0.9674 */
		error += (10 * quantile_point(&set, 0.5).value - (level + 5 * normal_quantile(0.5 / 0.6))) / 10;
		bound += 10 * quantile_clock_error(&set, 0.5) / 10;
	}
	assert_true(fabs(error) < 1.2);
	assert_true(fabs(error) < bound);
}

static void quantiles_rise_and_scale(void **state)
{
	static double values[500], scaled[500];
	struct rng r;

	(void)state;
	rng_init(&r, 5);
	for (int round = 0; round < 40; round++) {
		double quantum = round % 2 ? 10 : 0, last = -INFINITY;
		size_t n = 1 + rng_below(&r, 500);

		for (size_t i = 0; i < n; i++)
			values[i] = 10 * (double)rng_below(&r, 1 + rng_below(&r, 30));
		sort_double(values, n);
		for (size_t i = 0; i < n; i++)
			scaled[i] = 3 * values[i];
		struct sample_set set = set_of(values, n, rng_below(&r, 20), quantum);
		struct sample_set three = set_of(scaled, n, set.lost, 3 * quantum);

		for (double p = 0.005; p < 1; p += 0.005) {
			struct figure f = quantile_point(&set, p);

			assert_true(f.state == FIGURE_LOST || f.value >= last - 1e-9);
			assert_true(!isnan(f.value));
			if (f.state == FIGURE_NUMBER)
				assert_near(quantile_point(&three, p).value, 3 * f.value, 1e-6);
			last = f.value;
		}
	}
}

static void share_counts_probes_sent(void **state)
{
	static const double values[] = { 90, 100, 100, 110, 200 };
	struct sample_set set = set_of(values, 5, 0, 0);

	(void)state;
	assert_near(share_within(&set, 100, 10), 0.8, 1e-12);
	set.lost = 5;
	assert_near(share_within(&set, 100, 10), 0.4, 1e-12);
	set = set_of(values, 5, 0, 10); /* half of the ticks at 90 and 110 lies within */
	assert_near(share_within(&set, 100, 10), 0.6, 1e-12);
	set = set_of(NULL, 0, 0, 0);
	assert_near(share_within(&set, 100, 10), 0, 0);
}

static void ecdf_keeps_the_extremes(void **state)
{
	static double values[5000], x[400], y[400];
	struct sample_set set = set_of(values, 5000, 1250, 0);

	(void)state;
	for (int i = 0; i < 5000; i++)
		values[i] = i / 3; /* NOLINT: whole on purpose, ties of three */
	size_t n = ecdf_points(&set, 400, x, y);

	assert_in_range(n, 300, 400);
	assert_true(x[0] == values[0] && x[n - 1] == values[4999]);
	assert_near(y[n - 1], 0.8, 1e-12);
	for (size_t i = 1; i < n; i++)
		assert_true(x[i] > x[i - 1] && y[i] > y[i - 1]);
	assert_near(y[0], 3 / 6250.0, 1e-12); /* all ties of the smallest */
	set = set_of(NULL, 0, 3, 0);
	assert_int_equal(ecdf_points(&set, 400, x, y), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(special_has_the_tables_values),
		cmocka_unit_test(sorts_what_clocks_make),
		cmocka_unit_test(median_of_few),
		cmocka_unit_test(needs_follow_from_the_rule),
		cmocka_unit_test(refusal_is_a_value),
		cmocka_unit_test(loss_is_latency),
		cmocka_unit_test(ranks_are_exact),
		cmocka_unit_test(five_restarts_are_refused_and_say_why),
		cmocka_unit_test(ties_spread_over_the_tick),
		cmocka_unit_test(tick_does_not_hide_the_median),
		cmocka_unit_test(a_leaning_density_is_sharpened),
		cmocka_unit_test(quantiles_rise_and_scale),
		cmocka_unit_test(share_counts_probes_sent),
		cmocka_unit_test(ecdf_keeps_the_extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
