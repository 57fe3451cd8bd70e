/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/sort.h"

#include <math.h>
#include <string.h>

#include "base/err.h"

#define RADIX_BITS 11
#define RADIX_SIZE (1u << RADIX_BITS)
#define SMALL      48 /* below this, insertion is faster than anything clever */

static void insertion_sort_i64(int64_t *values, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		int64_t v = values[i];
		size_t j = i;

		for (; j > 0 && values[j - 1] > v; j--)
			values[j] = values[j - 1];
		values[j] = v;
	}
}

/* One pass: by the digit at `shift` of value - min. Stable. */
static void radix_pass(const int64_t *from, int64_t *to, size_t count, uint64_t min, unsigned shift)
{
	size_t place[RADIX_SIZE] = { 0 }, sum = 0;

	for (size_t i = 0; i < count; i++)
		place[(((uint64_t)from[i] - min) >> shift) & (RADIX_SIZE - 1)]++;
	for (size_t d = 0; d < RADIX_SIZE; d++) {
		size_t here = place[d];

		place[d] = sum;
		sum += here;
	}
	for (size_t i = 0; i < count; i++)
		to[place[(((uint64_t)from[i] - min) >> shift) & (RADIX_SIZE - 1)]++] = from[i];
}

void sort_i64(int64_t *values, size_t count, int64_t *scratch)
{
	if (count < SMALL) {
		insertion_sort_i64(values, count);
		return;
	}
	int64_t min = values[0], max = values[0];
	int64_t *from = values, *to = scratch;

	for (size_t i = 1; i < count; i++) {
		min = values[i] < min ? values[i] : min;
		max = values[i] > max ? values[i] : max;
	}
	/* The range fits unsigned even from INT64_MIN to INT64_MAX. */
	uint64_t range = (uint64_t)max - (uint64_t)min;

	for (unsigned shift = 0; shift < 64 && range >> shift != 0; shift += RADIX_BITS) {
		radix_pass(from, to, count, (uint64_t)min, shift);
		int64_t *swap = from;

		from = to;
		to = swap;
	}
	if (from != values)
		memcpy(values, from, count * sizeof(*values));
}

static void insertion_sort_double(double *values, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		double v = values[i];
		size_t j = i;

		for (; j > 0 && values[j - 1] > v; j--)
			values[j] = values[j - 1];
		values[j] = v;
	}
}

static double middle_of(double a, double b, double c)
{
	if (a > b) {
		double swap = a;

		a = b;
		b = swap;
	}
	return c < a ? a : c > b ? b : c;
}

/*
 * Three-way partition around a pivot: [0, *ret_low) below, [*ret_high, count) above, equal between; ties, of
 * which clocks make many, are done with at once.
 */
static void partition(double *values, size_t count, size_t *ret_low, size_t *ret_high)
{
	/* The ninther: medians of three of three; keeps sorted and organ-pipe inputs from going quadratic. */
	size_t step = count / 9;
	double pivot = middle_of(middle_of(values[0], values[step], values[2 * step]),
				 middle_of(values[3 * step], values[4 * step], values[5 * step]),
				 middle_of(values[6 * step], values[7 * step], values[count - 1]));
	size_t low = 0, i = 0, high = count;

	while (i < high) {
		double v = values[i];

		if (v < pivot) {
			values[i++] = values[low];
			values[low++] = v;
		} else if (v > pivot) {
			values[i] = values[--high];
			values[high] = v;
		} else {
			i++;
		}
	}
	*ret_low = low;
	*ret_high = high;
}

static void sift_down(double *values, size_t root, size_t count)
{
	for (size_t child; (child = 2 * root + 1) < count; root = child) {
		if (child + 1 < count && values[child + 1] > values[child])
			child++;
		if (values[root] >= values[child])
			return;
		double swap = values[root];

		values[root] = values[child];
		values[child] = swap;
	}
}

static void heap_sort(double *values, size_t count)
{
	for (size_t i = count / 2; i-- > 0;)
		sift_down(values, i, count);
	for (size_t end = count; end > 1;) {
		double swap = values[--end];

		values[end] = values[0];
		values[0] = swap;
		sift_down(values, 0, end);
	}
}

static void quick_sort(double *values, size_t count, unsigned depth)
{
	while (count >= SMALL) {
		size_t low, high;

		if (depth-- == 0) {
			heap_sort(values, count);
			return;
		}
		partition(values, count, &low, &high);
		if (low < count - high) {
			quick_sort(values, low, depth);
			values += high;
			count -= high;
		} else {
			quick_sort(values + high, count - high, depth);
			count = low;
		}
	}
	insertion_sort_double(values, count);
}

void sort_double(double *values, size_t count)
{
	unsigned depth = 4;

	for (size_t n = count; n > 1; n >>= 1)
		depth += 2;
	quick_sort(values, count, depth);
}

double select_double(double *values, size_t count, size_t rank)
{
	TARE_ASSERT(rank < count);
	for (unsigned rounds = 0; count >= SMALL; rounds++) {
		size_t low, high;

		if (rounds == 64) {
			heap_sort(values, count);
			return values[rank];
		}
		partition(values, count, &low, &high);
		if (rank < low) {
			count = low;
		} else if (rank >= high) {
			values += high;
			count -= high;
			rank -= high;
		} else {
			return values[rank];
		}
	}
	insertion_sort_double(values, count);
	return values[rank];
}

double median_double(double *values, size_t count)
{
	TARE_ASSERT(count > 0);
	double upper = select_double(values, count, count / 2);

	if (count % 2 == 1)
		return upper;
	/* select_double has left nothing greater below the rank: the other middle is the greatest there. */
	double lower = values[0];

	for (size_t i = 1; i < count / 2; i++)
		lower = values[i] > lower ? values[i] : lower;
	return isinf(upper) ? upper : lower + (upper - lower) / 2;
}
