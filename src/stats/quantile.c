/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/quantile.h"

#include <math.h>

#include "base/err.h"
#include "stats/special.h"

/* p N is whole within this: p has no exact binary form (0.99 * 400 is not 396). */
#define WHOLE 1e-9

static double value_at(const struct sample_set *s, size_t i)
{
	return s->ticks != NULL ? (double)s->ticks[i] : s->values[i];
}

/* Half a bin belongs to the upper one; rint would send neighbours of one tick to different sides. */
static double bin_of(const struct sample_set *s, size_t i)
{
	return floor(value_at(s, i) / s->quantum + 0.5);
}

/* How many values lie in bins below `bin`. */
static size_t count_below(const struct sample_set *s, double bin)
{
	size_t low = 0, high = s->finite;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (bin_of(s, middle) < bin)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint64_t quantile_need(double p, double confidence)
{
	TARE_ASSERT(p > 0 && p < 1 && confidence > 0 && confidence < 1);
	double tail = (1 - confidence) / 2, heavier = p > 0.5 ? p : 1 - p;
	double n = ceil(log(tail) / log(heavier) - WHOLE);

	return n < 1 ? 1 : (uint64_t)n;
}

/* Between values: where p N falls after `rank` values exactly, and there is another. */
static struct figure between(const struct sample_set *s, size_t rank)
{
	double lower = value_at(s, rank - 1), upper = value_at(s, rank);

	if (s->quantum > 0) {
		lower = (bin_of(s, rank - 1) + 0.5) * s->quantum;
		upper = (bin_of(s, rank) - 0.5) * s->quantum;
	}
	if (isinf(lower)) /* inf - inf is nothing */
		return figure_number(lower);
	return figure_number(lower + (upper - lower) / 2);
}

/*
 * Cumulated counts at the upper edges of bins first .. first + 6, and from them the sharpened ones at first +
 * 1 .. first + 5.
 */
struct edges {
	double first;
	double c[7], g[7];
};

static void edges_around(const struct sample_set *s, double bin, struct edges *e)
{
	e->first = bin - 4;
	for (int i = 0; i < 7; i++)
		e->c[i] = (double)count_below(s, e->first + i + 1);
	for (int i = 1; i < 6; i++) {
		double here = e->c[i] - e->c[i - 1], next = e->c[i + 1] - e->c[i];
		double g = (next - here) / 24;

		g = g > here / 2 ? here / 2 : g < -next / 2 ? -next / 2 : g;
		e->g[i] = e->c[i] - g;
	}
}

static double harmonic(double a, double b)
{
	return a > 0 && b > 0 ? 2 * a * b / (a + b) : 0;
}

/* Where in bin first + i, 0 to 1, the monotone cubic reaches the target. */
static double place_in_bin(const double *g, int i, double target)
{
	double d = g[i] - g[i - 1], low = 0, high = 1;
	double left = harmonic(g[i - 1] - g[i - 2], d), right = harmonic(d, g[i + 1] - g[i]);

	for (int round = 0; round < 48; round++) {
		double t = (low + high) / 2, u = 1 - t;
		double count = g[i - 1] + d * t * t * (3 - 2 * t) + left * t * u * u - right * t * t * u;

		if (count < target)
			low = t;
		else
			high = t;
	}
	return (low + high) / 2;
}

/* The quantile where the target count lies in `bin`, or by sharpening in a neighbour. */
static double spread_quantile(const struct sample_set *s, double bin, double target)
{
	struct edges e;

	edges_around(s, bin, &e);
	if (target < e.g[3] || target > e.g[4]) {
		bin += target < e.g[3] ? -1 : 1;
		edges_around(s, bin, &e);
	}
	return (bin - 0.5 + place_in_bin(e.g, 4, target)) * s->quantum;
}

struct figure quantile_point(const struct sample_set *s, double p)
{
	uint64_t sent = s->finite + s->lost;
	double target = p * (double)sent, whole = nearbyint(target);
	struct figure f;

	TARE_ASSERT(p > 0 && p < 1);
	if (sent == 0)
		return figure_refused(0, 1);
	bool exact = fabs(target - whole) <= WHOLE * (double)sent && whole >= 1;
	size_t rank = exact ? (size_t)whole : (size_t)floor(target) + 1;

	if (rank > s->finite || (exact && rank == s->finite))
		f = (struct figure){ .state = FIGURE_LOST, .value = INFINITY };
	else if (s->quantum > 0 && !(exact && bin_of(s, rank) > bin_of(s, rank - 1) + 1))
		f = figure_number(spread_quantile(s, bin_of(s, rank - 1), target));
	else
		f = exact ? between(s, rank) : figure_number(value_at(s, rank - 1));
	f.have = sent;
	f.need = 1;
	return f;
}

struct figure quantile_figure(const struct sample_set *s, double p, double confidence)
{
	uint64_t sent = s->finite + s->lost, need = quantile_need(p, confidence);

	if (sent < need)
		return figure_refused(sent, need);
	struct figure f = quantile_point(s, p);

	f.need = need;
	return f;
}

/* The greatest k in [-1, n] with P(B <= k) <= limit. */
static int64_t greatest_below(uint64_t n, double p, double limit)
{
	int64_t low = -1, high = (int64_t)n;

	while (low < high) {
		int64_t middle = low + (high - low + 1) / 2;

		if (binomial_cdf(middle, n, p) <= limit)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

bool quantile_ranks(uint64_t n, double p, double confidence, uint64_t *ret_low, uint64_t *ret_high,
		    double *ret_coverage)
{
	TARE_ASSERT(p > 0 && p < 1 && confidence > 0 && confidence < 1);
	/* 1e-12: a tail that is exactly the limit (0.5^n) must not fail by rounding. */
	double tail = (1 - confidence) / 2 * (1 + 1e-12);

	if (n < quantile_need(p, confidence)) {
		*ret_coverage = n == 0 ? 0 : 1 - pow(p, (double)n) - pow(1 - p, (double)n);
		return false;
	}
	/* P(B >= u) is P(n - B <= n - u) of the binomial(n, 1 - p): both tails are summed from their small end. */
	int64_t low = greatest_below(n, p, tail) + 1;
	int64_t from_top = greatest_below(n, 1 - p, tail);

	*ret_low = (uint64_t)low;
	*ret_high = n - (uint64_t)from_top;
	*ret_coverage = 1 - binomial_cdf(low - 1, n, p) - binomial_cdf(from_top, n, 1 - p);
	return true;
}

struct interval quantile_interval(const struct sample_set *s, double p, double confidence)
{
	struct interval i = { .confidence = confidence, .have = s->finite + s->lost };
	uint64_t low, high;

	i.need = quantile_need(p, confidence);
	if (!quantile_ranks(i.have, p, confidence, &low, &high, &i.coverage))
		return i;
	bool low_lost = low > s->finite, high_lost = high > s->finite;
	double half = s->quantum / 2;

	i.state = high_lost ? FIGURE_LOST : FIGURE_NUMBER;
	i.low = low_lost ? INFINITY : half > 0 ? bin_of(s, low - 1) * s->quantum - half : value_at(s, low - 1);
	i.high = high_lost ? INFINITY : half > 0 ? bin_of(s, high - 1) * s->quantum + half : value_at(s, high - 1);
	return i;
}

struct interval median_interval(const double *sorted, size_t n, double confidence)
{
	struct interval i = { .confidence = confidence, .have = n, .need = quantile_need(0.5, confidence) };
	uint64_t low, high;

	if (!quantile_ranks(n, 0.5, confidence, &low, &high, &i.coverage))
		return i;
	i.low = sorted[low - 1];
	i.high = sorted[high - 1];
	i.state = isinf(i.high) ? FIGURE_LOST : FIGURE_NUMBER;
	return i;
}

struct interval median_interval_interpolated(const double *sorted, size_t n, double confidence)
{
	struct interval i = median_interval(sorted, n, confidence);

	if (i.state == FIGURE_REFUSED)
		return i;
	size_t k = (size_t)greatest_below(n, 0.5, (1 - confidence) / 2 * (1 + 1e-12)) + 1;

	if (2 * k + 1 > n)
		return i; /* nothing further in to interpolate with */
	double outer = i.coverage, inner = 1 - 2 * binomial_cdf((int64_t)k, n, 0.5);
	double share = (outer - confidence) / (outer - inner);
	double w = (double)(n - k) * share / ((double)k + (double)(n - 2 * k) * share);

	if (share <= 0)
		return i;
	i.low = (1 - w) * sorted[k - 1] + w * sorted[k];
	i.high = (1 - w) * sorted[n - k] + w * sorted[n - k - 1];
	i.coverage = confidence;
	i.state = isinf(i.high) ? FIGURE_LOST : FIGURE_NUMBER;
	return i;
}

struct measured median_measured(const double *sorted, size_t n)
{
	struct measured m = { .u = INFINITY, .dof = n > 1 ? (double)n - 1 : 0 };
	struct interval i = median_interval_interpolated(sorted, n, 0.95);

	if (n > 0)
		m.value = quantile_point(&(struct sample_set){ .values = sorted, .finite = n }, 0.5).value;
	if (i.state == FIGURE_NUMBER)
		m.u = hypot(m.value - i.low, i.high - m.value) / sqrt(2) / student_quantile(0.975, m.dof);
	return m;
}

/* How many of the finite values lie below x (quantum: spread over their bins; none: at or below where `closed`). */
static double mass_below(const struct sample_set *s, double x, bool closed)
{
	if (s->finite == 0)
		return 0;
	if (s->quantum > 0) {
		double bin = floor(x / s->quantum + 0.5);
		size_t below = count_below(s, bin), here = count_below(s, bin + 1) - below;

		return (double)below + (double)here * (x / s->quantum + 0.5 - bin);
	}
	size_t low = 0, high = s->finite;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		double v = value_at(s, middle);

		if (v < x || (closed && v == x))
			low = middle + 1;
		else
			high = middle;
	}
	return (double)low;
}

double share_within(const struct sample_set *s, double centre, double width)
{
	uint64_t sent = s->finite + s->lost;

	return sent == 0 ? 0
			 : (mass_below(s, centre + width, true) - mass_below(s, centre - width, false)) / (double)sent;
}

/* Counts by bin, 0 at the bin of the quantile, read between the bins' middles. */
static double count_at(const double *bins, double x)
{
	int i = (int)floor(x);

	return bins[i] + (x - i) * (bins[i + 1] - bins[i]);
}

double quantile_clock_error(const struct sample_set *s, double p)
{
	struct figure f = quantile_point(s, p);

	if (f.state != FIGURE_NUMBER || s->finite == 0 || s->quantum <= 0)
		return 0;
	double bin = floor(f.value / s->quantum + 0.5), place = f.value / s->quantum - bin;
	double bins[5], most = 0, n = (double)s->finite;

	for (int i = 0; i < 5; i++) {
		bins[i] = (double)(count_below(s, bin + i - 1) - count_below(s, bin + i - 2));
		most = bins[i] > most ? bins[i] : most;
	}
	double here = count_at(bins, 2 + place), left = count_at(bins, 1 + place), right = count_at(bins, 3 + place);

	if (most > CLOCK_LOCKED * n || here <= 0)
		return 1;
	double together = (bins[2] + (bins[1] > bins[3] ? bins[1] : bins[3])) / n;
	double error = 0.12 * pow(together, 4) + fmin(0.25, 0.4 * together) * fabs(right - left) / here;

	return error < 1 ? error : 1;
}

size_t ecdf_points(const struct sample_set *s, size_t max_points, double *ret_x, double *ret_y)
{
	double sent = (double)(s->finite + s->lost);
	size_t written = 0;

	TARE_ASSERT(max_points >= 2);
	for (size_t j = 0; j < max_points && s->finite > 0; j++) {
		size_t i = (size_t)((double)j * (double)(s->finite - 1) / (double)(max_points - 1) + 0.5);
		double x = value_at(s, i);

		if (written > 0 && x == ret_x[written - 1])
			continue;
		ret_x[written] = x;
		ret_y[written++] =
			mass_below(&(struct sample_set){ s->ticks, s->values, s->finite, 0, 0 }, x, true) / sent;
	}
	return written;
}
