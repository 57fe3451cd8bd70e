/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/stopping.h"

#include <math.h>
#include <string.h>

#include "stats/quantile.h"

const char *stopping_reason_name(enum stopping_reason reason)
{
	return reason == STOPPING_WIDTH ? "width" : reason == STOPPING_MOST ? "most" : "";
}

double stopping_width(const double *sorted, uint32_t count)
{
	struct interval i = median_interval(sorted, count, 0.95);
	double median = count == 0       ? 0
			: count % 2 == 1 ? sorted[count / 2]
					 : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;

	if (i.state != FIGURE_NUMBER || !isfinite(median) || median == 0)
		return INFINITY;
	return (i.high - i.low) / fabs(median);
}

static void insert_sorted(double *sorted, uint32_t count, double figure)
{
	uint32_t at = count;

	while (at > 0 && sorted[at - 1] > figure)
		at--;
	memmove(&sorted[at + 1], &sorted[at], (count - at) * sizeof(*sorted));
	sorted[at] = figure;
}

/* Intervals shrink with the root of the number of restarts. */
static uint32_t expect(const struct stopping_rule *rule, const struct stopping *s, uint32_t in_a_row)
{
	double ratio = s->width / rule->width, n;

	if (in_a_row)
		return s->restarts + STOPPING_IN_A_ROW - in_a_row;
	n = isfinite(ratio) ? ceil(s->restarts * ratio * ratio) : 0;
	if (n < s->restarts + 1.0)
		n = s->restarts + 1.0;
	if (n < rule->least + 1.0)
		n = rule->least + 1.0;
	return n < rule->most ? (uint32_t)n : rule->most;
}

struct stopping stopping_judge(const struct stopping_rule *rule, const double *figures, uint32_t count, double *work)
{
	struct stopping s = { .width = INFINITY };
	uint32_t in_a_row = 0;

	while (s.restarts < count && s.reason == STOPPING_NOT) {
		insert_sorted(work, s.restarts, figures[s.restarts]);
		s.restarts++;
		s.width = stopping_width(work, s.restarts);
		in_a_row = s.width <= rule->width ? in_a_row + 1 : 0;
		if (s.restarts >= rule->least && in_a_row >= STOPPING_IN_A_ROW)
			s.reason = STOPPING_WIDTH;
		else if (s.restarts >= rule->most)
			s.reason = STOPPING_MOST;
	}
	s.expected = s.reason == STOPPING_NOT ? expect(rule, &s, in_a_row) : s.restarts;
	return s;
}
