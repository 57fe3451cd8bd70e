/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_BENCH_SAY_H
#define TARE_BENCH_SAY_H

#include <stddef.h>

/* What every bench does with its figures: take their median, and print one JSON line for devtools/bench. */

/* Of 1 value or more, which are sorted by it. */
double median(double *values, size_t count);

/* `how`: what was done, no quotes in it. */
void say(const char *name, double value, const char *unit, unsigned repeats, const char *how);

/* The same beside a baseline; 0: there is none. */
void say_beside(const char *name, double value, const char *unit, double baseline, unsigned repeats, const char *how);

#endif
