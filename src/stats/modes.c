/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/modes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/err.h"

#define STEPS_PER_BANDWIDTH 4
#define REACH               (4 * STEPS_PER_BANDWIDTH) /* the kernel is cut at four bandwidths */
#define GRID_MAX            16384
#define TAIL                200 /* one in this many values at either end is outside the grid: no mode is that small */

static double value_at(const struct sample_set *s, size_t i)
{
	return s->ticks != NULL ? (double)s->ticks[i] : s->values[i];
}

/* Smoothed counts on a grid: kernel-effective values m at each point. */
struct density {
	double *m;
	uint32_t count;
	double start, step;
};

/* A peak and the valley to its right, as grid points. */
struct peak {
	uint32_t at, valley;
};

static double bandwidth_of(const struct sample_set *s)
{
	size_t n = s->finite, quarter = n / 4;
	double shortest = INFINITY;

	for (size_t i = 0; i + quarter < n; i++) {
		double width = value_at(s, i + quarter) - value_at(s, i);

		shortest = width < shortest ? width : shortest;
	}
	double h = 0.9 * shortest / 0.6373 * pow((double)n, -0.2);

	return h > 0.7 * s->quantum ? h : 0.7 * s->quantum;
}

static int density_of(const struct sample_set *s, double *h, struct density *d)
{
	size_t n = s->finite, cut = n / TAIL;
	double low = value_at(s, cut), high = value_at(s, n - 1 - cut);
	double finest = (high - low) / (GRID_MAX - 2 * REACH - 2.0) * STEPS_PER_BANDWIDTH;

	*h = *h > finest ? *h : finest;
	if (*h <= 0) { /* all values alike */
		*d = (struct density){ 0 };
		return 0;
	}
	d->step = *h / STEPS_PER_BANDWIDTH;
	d->start = low - REACH * d->step;
	d->count = (uint32_t)((high - low) / d->step) + 2 * REACH + 2;

	double *bins = calloc(2 * (size_t)d->count, sizeof(*bins)), kernel[REACH + 1];

	if (bins == NULL)
		return -ENOMEM;
	for (size_t i = cut; i < n - cut; i++)
		bins[(uint32_t)((value_at(s, i) - d->start) / d->step + 0.5)]++;
	/* m = n h 2 sqrt(pi) times the density; the kernel's own factor is 1 / (h sqrt(2 pi)). */
	for (int k = 0; k <= REACH; k++)
		kernel[k] = sqrt(2) * exp(-0.5 * k * k / ((double)STEPS_PER_BANDWIDTH * STEPS_PER_BANDWIDTH));
	d->m = bins + d->count;
	for (uint32_t i = 0; i < d->count; i++) {
		if (bins[i] == 0)
			continue;
		for (int k = -REACH; k <= REACH; k++)
			if ((int64_t)i + k >= 0 && i + k < d->count)
				d->m[i + k] += bins[i] * kernel[k < 0 ? -k : k];
	}
	return 0;
}

static void density_release(struct density *d)
{
	if (d->m != NULL)
		free(d->m - d->count);
}

/* All local maxima, with the lowest point to the next. `peaks` has room for half the grid. */
static uint32_t find_peaks(const struct density *d, struct peak *peaks)
{
	uint32_t count = 0;

	for (uint32_t i = 1; i + 1 < d->count; i++) {
		if (d->m[i] > d->m[i - 1] && d->m[i] >= d->m[i + 1])
			peaks[count++] = (struct peak){ i, i };
	}
	for (uint32_t p = 0; p + 1 < count; p++)
		for (uint32_t i = peaks[p].at; i < peaks[p + 1].at; i++)
			if (d->m[i] < d->m[peaks[p].valley])
				peaks[p].valley = i;
	return count;
}

/* Peaks p and p + 1 become one: the higher peak, and what lies right of the second. */
static uint32_t merge(const struct density *d, struct peak *peaks, uint32_t count, uint32_t p)
{
	if (d->m[peaks[p + 1].at] > d->m[peaks[p].at])
		peaks[p].at = peaks[p + 1].at;
	peaks[p].valley = peaks[p + 1].valley;
	for (uint32_t i = p + 1; i + 1 < count; i++)
		peaks[i] = peaks[i + 1];
	return count - 1;
}

/* How shallow the valley right of p is: over 1 it does not part two modes. */
static double shallowness(const struct density *d, const struct peak *peaks, uint32_t p)
{
	double left = d->m[peaks[p].at], right = d->m[peaks[p + 1].at], valley = d->m[peaks[p].valley];
	double lower = left < right ? left : right;
	double depth = valley / lower / MODES_VALLEY;
	double sigma = sqrt(2) * (sqrt(lower) - sqrt(valley));

	return sigma < MODES_SIGMA ? 2 + depth : depth;
}

static uint32_t merge_shallow(const struct density *d, struct peak *peaks, uint32_t count)
{
	while (count > 1) {
		uint32_t worst = 0;
		double most = -1;

		for (uint32_t p = 0; p + 1 < count; p++) {
			double shallow = shallowness(d, peaks, p);

			if (shallow > most) {
				most = shallow;
				worst = p;
			}
		}
		if (most <= 1 && count <= MODES_MAX)
			break;
		count = merge(d, peaks, count, worst);
	}
	return count;
}

/* First value above x. */
static size_t first_above(const struct sample_set *s, double x)
{
	size_t low = 0, high = s->finite;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (value_at(s, middle) <= x)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void describe(const struct sample_set *s, const struct density *d, const struct peak *peaks, uint32_t count,
		     struct modes *m)
{
	size_t from = 0;

	m->count = count;
	for (uint32_t p = 0; p < count; p++) {
		double valley = d->start + d->step * peaks[p].valley;
		size_t to = p + 1 < count ? first_above(s, valley) : s->finite;
		const struct sample_set part = {
			.ticks = s->ticks != NULL ? s->ticks + from : NULL,
			.values = s->values != NULL ? s->values + from : NULL,
			.finite = to - from,
			.quantum = s->quantum,
		};

		m->mode[p] = (struct mode){
			.location = quantile_point(&part, 0.5).value,
			.share = (double)(to - from) / (double)s->finite,
			.low = p == 0 ? value_at(s, 0) : m->mode[p - 1].high,
			.high = p + 1 < count ? valley : value_at(s, s->finite - 1),
		};
		from = to;
	}
}

/*
 * The smallest mode under the limit joins the neighbour with the higher valley between; false when there is
 * none.
 */
static bool merge_small(const struct density *d, struct peak *peaks, uint32_t *count, const struct modes *m)
{
	uint32_t least = 0;

	for (uint32_t p = 1; p < *count; p++)
		if (m->mode[p].share < m->mode[least].share)
			least = p;
	if (*count < 2 || m->mode[least].share >= MODES_SHARE_MIN)
		return false;
	bool left = least > 0 && (least + 1 == *count || d->m[peaks[least - 1].valley] > d->m[peaks[least].valley]);

	*count = merge(d, peaks, *count, left ? least - 1 : least);
	return true;
}

int modes_find(const struct sample_set *s, struct modes *ret)
{
	struct density d;
	struct modes m = { 0 };

	if (s->finite < MODES_VALUES_MIN) {
		*ret = m;
		return 0;
	}
	TARE_ASSERT(s->ticks != NULL || s->values != NULL);
	m.bandwidth = bandwidth_of(s);
	if (density_of(s, &m.bandwidth, &d) != 0)
		return -ENOMEM;

	struct peak *peaks = calloc(d.count / 2 + 2, sizeof(*peaks));

	if (peaks == NULL) {
		density_release(&d);
		return -ENOMEM;
	}
	uint32_t count = merge_shallow(&d, peaks, find_peaks(&d, peaks));

	if (count == 0)
		count = 1; /* all values alike */
	do
		describe(s, &d, peaks, count, &m);
	while (merge_small(&d, peaks, &count, &m));
	free(peaks);
	density_release(&d);
	*ret = m;
	return 0;
}
