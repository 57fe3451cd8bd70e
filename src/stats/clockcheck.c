/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/clockcheck.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats/sort.h"
#include "stats/special.h"

#define GAPS_TRIED     12
#define FRACTIONS      8
#define GRID_REACH_MAX 200 /* steps to either side of the middle that are looked at: farther ones add no certainty */

/* Distinct values with how often they came. */
struct place {
	double value, weight;
};

static size_t places_of(const int64_t *sorted, size_t from, size_t to, struct place *ret)
{
	size_t count = 0;

	for (size_t i = from; i < to; i++) {
		if (count > 0 && ret[count - 1].value == (double)sorted[i])
			ret[count - 1].weight++;
		else
			ret[count++] = (struct place){ (double)sorted[i], 1 };
	}
	return count;
}

/* |sum w exp(2 pi i v / q)| / sum w around `centre`. */
static double resultant(const struct place *p, size_t count, double centre, double q)
{
	double re = 0, im = 0, total = 0;

	for (size_t i = 0; i < count; i++) {
		double x = p[i].value - centre;

		if (fabs(x) > GRID_REACH_MAX * q)
			continue;
		double turns = x / q, phase = 2 * M_PI * (turns - floor(turns));

		re += p[i].weight * cos(phase);
		im += p[i].weight * sin(phase);
		total += p[i].weight;
	}
	return total > 0 ? hypot(re, im) / total : 0;
}

/* The best step near q: a scan fine enough not to slip a turn at the ends of the range, then halving. */
static double refine(const struct place *p, size_t count, double centre, double q, double *ret_resultant)
{
	double range = p[count - 1].value - p[0].value;

	if (range > 2 * GRID_REACH_MAX * q)
		range = 2 * GRID_REACH_MAX * q;
	double step = 0.2 * q * q / (range + q), best = q, most = resultant(p, count, centre, q);

	for (double d = 0.04 * q; d > 0; d -= step)
		for (int side = -1; side <= 1; side += 2) {
			double r = resultant(p, count, centre, q + side * d);

			if (r > most) {
				most = r;
				best = q + side * d;
			}
		}
	for (; step > 1e-6 * q; step /= 2)
		for (int side = -1; side <= 1; side += 2) {
			double r = resultant(p, count, centre, best + side * step);

			if (r > most) {
				most = r;
				best += side * step;
			}
		}
	*ret_resultant = most;
	return best;
}

/* At how many places of the grid there is at least one value in a hundred; up to three. */
static unsigned populated(const struct place *p, size_t count, double q)
{
	double total = 0, here = 0, last = -INFINITY;
	unsigned found = 0;

	for (size_t i = 0; i < count; i++)
		total += p[i].weight;
	for (size_t i = 0; i < count && found < 3; i++) {
		if (p[i].value - last > q / 2)
			here = 0;
		double before = here;

		here += p[i].weight;
		found += before < total / 100 && here >= total / 100;
		last = p[i].value;
	}
	return found;
}

/*
 * Some of the gaps over 2 units between neighbouring places of at least this weight, from the smallest to the
 * median.
 */
static size_t gaps_of(const struct place *p, size_t count, double weight, double *work, double *ret)
{
	double last = NAN;
	size_t gaps = 0, taken = 0;

	for (size_t i = 0; i < count; i++) {
		if (p[i].weight < weight)
			continue;
		if (p[i].value - last > 2)
			work[gaps++] = p[i].value - last;
		last = p[i].value;
	}
	sort_double(work, gaps);
	for (size_t k = 0; k < GAPS_TRIED && gaps > 0; k++) {
		double gap = work[k * (gaps - 1) / (2 * (GAPS_TRIED - 1))];

		if (taken == 0 || gap != ret[taken - 1])
			ret[taken++] = gap;
	}
	return taken;
}

static void try_gaps(const struct place *p, size_t count, double centre, const double *gaps, size_t gap_count,
		     struct quantum_check *c)
{
	for (size_t g = 0; g < gap_count; g++)
		for (int fraction = 1; fraction <= FRACTIONS && gaps[g] / fraction > 2; fraction++) {
			double r, q = refine(p, count, centre, gaps[g] / fraction, &r);
			bool stands = r >= QUANTUM_RESULTANT && q > 2 && populated(p, count, q) >= 3;

			if (stands && q > c->quantum * 1.01)
				*c = (struct quantum_check){ true, q, r };
			else if (!c->found && r > c->resultant)
				c->resultant = r;
		}
}

/*
 * Gaps between all places, and between those of more than half the mean weight: strays do not cut the grid's
 * own.
 */
static void find_quantum(const struct place *p, size_t count, double centre, double *work, struct quantum_check *c)
{
	double gaps[GAPS_TRIED], total = 0;

	for (size_t i = 0; i < count; i++)
		total += p[i].weight;
	try_gaps(p, count, centre, gaps, gaps_of(p, count, 0, work, gaps), c);
	try_gaps(p, count, centre, gaps, gaps_of(p, count, total / (double)count / 2, work, gaps), c);
}

int check_quantum(const int64_t *sorted, size_t count, struct quantum_check *ret)
{
	struct quantum_check c = { 0 };
	size_t cut = count / 20;

	if (count < 50) {
		*ret = c;
		return 0;
	}
	struct place *places = calloc(count, sizeof(*places));
	double *work = calloc(count, sizeof(*work));

	if (places == NULL || work == NULL) {
		free(places);
		free(work);
		return -ENOMEM;
	}
	size_t n = places_of(sorted, cut, count - cut, places);

	/* Thousands of places in a row are no grid worth a search; a clock of that step shows with fewer. */
	if (n > 4096)
		n = 4096;
	find_quantum(places, n, places[n / 2].value, work, &c);
	free(places);
	free(work);
	*ret = c;
	return 0;
}

static size_t first_at_least(const int64_t *sorted, size_t count, double x)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if ((double)sorted[middle] < x)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static double interquartile(const int64_t *sorted, size_t count)
{
	return count < 4 ? 0 : (double)sorted[3 * count / 4] - (double)sorted[count / 4];
}

struct dead_zone_check check_dead_zone(const int64_t *sorted, size_t count, double quantum)
{
	struct dead_zone_check c = { 0 };
	size_t below = first_at_least(sorted, count, 0), above = count - below;

	if (below == 0 || above == 0 || sorted[below] == 0)
		return c;
	c.low = (double)sorted[below - 1];
	c.high = (double)sorted[below];
	double gap = c.high - c.low;
	double left = (double)(below - first_at_least(sorted, count, c.low - gap));
	double right = (double)(first_at_least(sorted, count, c.high + gap) - below);

	c.expected = left < right ? left : right;
	c.found = c.expected >= DEAD_ZONE_EXPECTED && gap > 3 * quantum && gap > 1 &&
		  gap <= interquartile(sorted, below) && gap <= interquartile(sorted + below, above);
	return c;
}

/* In-place radix-2 transform (Cooley and Tukey 1965); count a power of two. */
static void fourier(double *re, double *im, size_t count)
{
	for (size_t i = 1, j = 0; i < count; i++) {
		size_t bit = count >> 1;

		for (; j & bit; bit >>= 1)
			j ^= bit;
		j |= bit;
		if (i < j) {
			double a = re[i], b = im[i];

			re[i] = re[j];
			im[i] = im[j];
			re[j] = a;
			im[j] = b;
		}
	}
	for (size_t length = 2; length <= count; length <<= 1)
		for (size_t k = 0; k < length / 2; k++) {
			double wr = cos(2 * M_PI * (double)k / (double)length);
			double wi = -sin(2 * M_PI * (double)k / (double)length);

			for (size_t i = k; i < count; i += length) {
				size_t j = i + length / 2;
				double tr = wr * re[j] - wi * im[j], ti = wr * im[j] + wi * re[j];

				re[j] = re[i] - tr;
				im[j] = im[i] - ti;
				re[i] += tr;
				im[i] += ti;
			}
		}
}

/* Normal scores of the values, ties at their mean rank. `sorted` is a sorted copy of them. */
static void normal_scores(const double *values, const double *sorted, size_t count, double *ret)
{
	for (size_t i = 0; i < count; i++) {
		size_t low = 0, high = count, end = count;

		while (low < high) {
			size_t middle = low + (high - low) / 2;

			if (sorted[middle] < values[i])
				low = middle + 1;
			else
				high = middle;
		}
		for (size_t from = low; from < end;) {
			size_t middle = from + (end - from) / 2;

			if (sorted[middle] <= values[i])
				from = middle + 1;
			else
				end = middle;
		}
		ret[i] = normal_quantile(((double)(low + end) / 2) / (double)count);
	}
}

/* Amplitude of the line by least squares at a frequency, on values cut at five interquartile ranges. */
static double amplitude_at(const double *values, const double *sorted, size_t count, double period)
{
	double middle = sorted[count / 2], reach = 5 * (sorted[3 * count / 4] - sorted[count / 4]);
	double re = 0, im = 0;

	for (size_t i = 0; i < count; i++) {
		double x = values[i] - middle;

		x = x > reach ? reach : x < -reach ? -reach : x;
		re += x * cos(2 * M_PI * (double)i / period);
		im += x * sin(2 * M_PI * (double)i / period);
	}
	return 2 * hypot(re, im) / (double)count;
}

#define NEIGHBOURS 48 /* to either side */

/* Mean power of the noise around bin j: half of an exponential law lies below ln 2 of its mean. */
static double floor_near(const double *power, size_t j, size_t first, size_t half)
{
	double near[2 * NEIGHBOURS + 1];
	size_t from = j > first + NEIGHBOURS ? j - NEIGHBOURS : first;
	size_t to = j + NEIGHBOURS < half ? j + NEIGHBOURS : half;

	memcpy(near, power + from, (to - from + 1) * sizeof(*near));
	return median_double(near, to - from + 1) / M_LN2;
}

/* The strongest line over its neighbourhood, as a bin of [first, half]. */
static size_t strongest(const double *power, size_t first, size_t half, double *ret_ratio)
{
	size_t best = first;
	double noise = 0;

	*ret_ratio = 0;
	for (size_t j = first; j <= half; j++) {
		/* One floor does for a few bins: the median is the costly part. */
		if ((j - first) % (NEIGHBOURS / 4) == 0)
			noise = floor_near(power, j, first, half);
		if (noise > 0 && power[j] / noise > *ret_ratio) {
			*ret_ratio = power[j] / noise;
			best = j;
		}
	}
	return best;
}

int check_period(const double *values, size_t count, struct period_check *ret)
{
	struct period_check c = { .false_alarm = 1 };
	size_t padded = 1;

	if (count < 256) {
		*ret = c;
		return 0;
	}
	while (padded < count)
		padded <<= 1;
	double *re = calloc(2 * padded + count, sizeof(*re));

	if (re == NULL)
		return -ENOMEM;
	double *im = re + padded, *sorted = im + padded;

	memcpy(sorted, values, count * sizeof(*sorted));
	sort_double(sorted, count);
	if (sorted[0] < sorted[count - 1]) {
		normal_scores(values, sorted, count, re);
		fourier(re, im, padded);
		for (size_t j = 0; j <= padded / 2; j++)
			re[j] = re[j] * re[j] + im[j] * im[j];
		size_t first = 32 * padded / count;
		double ratio, looked_at = (double)(padded / 2 - first + 1);
		size_t line = strongest(re, first, padded / 2, &ratio);

		c.period_samples = (double)padded / (double)line;
		c.false_alarm = -expm1(looked_at * log1p(-exp(-ratio)));
		c.amplitude = amplitude_at(values, sorted, count, c.period_samples);
		c.found = c.false_alarm < PERIOD_FALSE_ALARM;
	}
	free(re);
	*ret = c;
	return 0;
}
