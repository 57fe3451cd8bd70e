/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STATS_SORT_H
#define TARE_STATS_SORT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Sorting, ascending, in place. sort_i64 is a radix sort over the bits in which the values differ (20,000
 * latencies in 0.1 to 0.3 ms) and needs room for `count` more. Doubles must not be NaN; infinities are fine.
 */
void sort_i64(int64_t *values, size_t count, int64_t *scratch);
void sort_double(double *values, size_t count);

/* The value that would stand at index `rank` if sorted; reorders. rank < count. Average time linear. */
double select_double(double *values, size_t count, size_t rank);

/*
 * Median; of an even count the mean of the middle two. Reorders. count > 0. An infinity in the middle gives
 * INFINITY.
 */
double median_double(double *values, size_t count);

#endif
