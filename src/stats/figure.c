/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/figure.h"

struct figure figure_number(double value)
{
	return (struct figure){ .state = FIGURE_NUMBER, .value = value };
}

struct figure figure_refused(uint64_t have, uint64_t need)
{
	return (struct figure){ .state = FIGURE_REFUSED, .have = have, .need = need };
}

struct figure figure_scale(struct figure f, double factor)
{
	f.value *= factor;
	return f;
}

struct interval interval_scale(struct interval i, double factor)
{
	i.low *= factor;
	i.high *= factor;
	return i;
}
