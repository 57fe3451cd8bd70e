/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/build.h"
#include "stats/regime.h"

/* Where along probe intervals and carrier rates the latency inside the switch goes from one regime to another. */

static struct span span_or_none(double low, double high)
{
	return (struct span){ low, high, 95 };
}

static void take_step(const struct sweep_point *from, const struct sweep_point *to, const struct regime_step *step,
		      struct regime_step_result *ret)
{
	const struct interval *i = &step->next.interval;
	bool both = !isnan(from->interval.low) && !isnan(to->interval.low);

	*ret = (struct regime_step_result){
		.from = from->at,
		.to = to->at,
		.ratio = step->next.ratio.state == FIGURE_NUMBER ? step->next.ratio.value : NAN,
		.interval = i->state == FIGURE_NUMBER ? span_or_none(i->low, i->high) : (struct span){ NAN, NAN, NAN },
		.p_holm = step->p_holm,
		.apart = both && (from->interval.high < to->interval.low || to->interval.high < from->interval.low),
	};
}

static const char *statement(const struct regime_result *g, const struct regime_change *c, const struct sweep_series *s,
			     struct arena *arena)
{
	const char *sure = "";

	if (g->why[0])
		return arena_printf(arena, "it cannot be said where: %s", g->why);
	if (!c->found)
		return arena_printf(arena, "no change from one regime to another is seen (p %.2g)", c->p);
	if (c->first != c->last)
		sure = arena_printf(arena, " or elsewhere from %s to %s (95 %%)", s->points[c->first].at,
				    s->points[c->last + 1].at);
	if (!sure)
		return NULL;
	return arena_printf(arena,
			    "between %s and %s%s the median changes by a factor of %.3g (%.3g to %.3g); "
			    "%.1f us before it, %.1f us behind it%s",
			    g->before, g->beyond, sure, c->ratio, c->low, c->high, c->before / 1000, c->beyond / 1000,
			    c->spread > 2 ? "; it is no clean step: the levels on a side differ" : "");
}

/* One series of a sweep. 0 or -ENOMEM. */
static int find(const struct sweep_series *s, const struct cell_work *works, struct regime_result *ret,
		struct arena *arena)
{
	struct regime_step steps[REGIME_LEVELS_MOST];
	struct measured levels[REGIME_LEVELS_MOST];
	uint32_t count = s->point_count < REGIME_LEVELS_MOST ? s->point_count : REGIME_LEVELS_MOST;
	struct regime_change c;
	const char *why = NULL;

	for (uint32_t i = 0; i < count; i++)
		levels[i] = works[s->points[i].cell].measured;
	if (!regime_find(levels, count, 0.95, steps, &c, &why)) {
		ret->why = why;
		ret->ratio = ret->p = ret->probability = ret->spread = NAN;
		ret->interval = (struct span){ NAN, NAN, NAN };
	} else {
		ret->found = c.found;
		ret->before = s->points[c.after].at;
		ret->beyond = s->points[c.after + 1].at;
		ret->first = s->points[c.first].at;
		ret->last = s->points[c.last + 1].at;
		ret->probability = 100 * c.probability;
		ret->ratio = c.ratio;
		ret->interval = span_or_none(c.low, c.high);
		ret->p = c.p;
		ret->spread = c.spread;
		ret->steps = arena_array(arena, count, sizeof(*ret->steps));
		if (!ret->steps)
			return -ENOMEM;
		for (uint32_t i = 0; i + 1 < count; i++)
			take_step(&s->points[i], &s->points[i + 1], &steps[i], &ret->steps[ret->step_count++]);
	}
	ret->statement = statement(ret, &c, s, arena);
	return ret->statement ? 0 : -ENOMEM;
}

static bool changes_regimes(const struct sweep_result *s)
{
	return (strcmp(s->axis, "interval") == 0 || strcmp(s->axis, "carrier") == 0) && strcmp(s->quantity, "p50") == 0;
}

int regimes_build(struct result *r, const struct cell_work *works)
{
	uint32_t most = 0;
	int rc = 0;

	for (uint32_t i = 0; i < r->sweep_count; i++)
		most += changes_regimes(&r->sweeps[i]) ? r->sweeps[i].series_count : 0;
	r->regimes = arena_array(&r->arena, most + 1, sizeof(*r->regimes));
	if (!r->regimes)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->sweep_count; i++)
		for (uint32_t k = 0; rc == 0 && changes_regimes(&r->sweeps[i]) && k < r->sweeps[i].series_count; k++) {
			struct regime_result *g = &r->regimes[r->regime_count++];

			*g = (struct regime_result){ .axis = r->sweeps[i].axis,
						     .series = r->sweeps[i].series[k].name,
						     .before = "",
						     .beyond = "",
						     .first = "",
						     .last = "",
						     .why = "" };
			rc = find(&r->sweeps[i].series[k], works, g, &r->arena);
		}
	return rc;
}
