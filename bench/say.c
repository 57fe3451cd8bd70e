/* SPDX-License-Identifier: Apache-2.0 */
#include "say.h"

#include <stdio.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double median(double *values, size_t count)
{
	if (count == 0) {
		fprintf(stderr, "bench: the median of no values\n");
		exit(1);
	}
	qsort(values, count, sizeof(*values), by_value);
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

void say_beside(const char *name, double value, const char *unit, double baseline, unsigned repeats, const char *how)
{
	printf("{\"name\": \"%s\", \"value\": %.6g, \"unit\": \"%s\", ", name, value, unit);
	if (baseline > 0)
		printf("\"baseline\": %.6g, \"ratio\": %.4g, ", baseline, value / baseline);
	else
		printf("\"baseline\": null, \"ratio\": null, ");
	printf("\"repeats\": %u, \"how\": \"%s\"}\n", repeats, how);
	fflush(stdout);
}

void say(const char *name, double value, const char *unit, unsigned repeats, const char *how)
{
	say_beside(name, value, unit, 0, repeats, how);
}
