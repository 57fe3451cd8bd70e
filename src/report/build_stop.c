/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/quantity.h"
#include "report/build.h"

/* The width that the plan asks for, from its settings as they were stored. */
static double asked(const struct result *r)
{
	int64_t ppm;

	for (uint32_t i = 0; i < r->fact_count; i++)
		if (strcmp(r->facts[i].name, "plan.stop.width") == 0 &&
		    quantity_parse(r->facts[i].value, QUANTITY_SHARE, &ppm, NULL) == 0)
			return (double)ppm / 1e4;
	return NAN;
}

/* The wider of two on each side. */
static void widen(struct span *s, const struct span *by)
{
	if (!span_is(s) || !span_is(by))
		return;
	s->low = fmin(s->low, by->low);
	s->high = fmax(s->high, by->high);
}

void stops_print_exact(struct result *r)
{
	for (uint32_t i = 0; i < r->cell_count; i++) {
		struct cell_result *c = &r->cells[i];

		if (isnan(r->stop_asked) && !c->stop[0])
			continue;
		c->gross_interval = c->gross_order;
		widen(&c->net_interval, &c->net_order);
		for (uint32_t k = 0; k < c->quantity_count; k++)
			c->quantities[k].interval = c->quantities[k].order;
	}
}

int stops_copy(struct result *r, const struct stored_campaign *campaign)
{
	r->turns_passed = campaign->turns_passed;
	r->stop_asked = asked(r);
	for (uint32_t i = 0; i < r->cell_count; i++) {
		r->cells[i].stop = "";
		r->cells[i].stop_width = NAN;
	}
	for (uint32_t i = 0; i < campaign->stop_count; i++) {
		const struct stored_stop *from = &campaign->stops[i];
		struct cell_result *c = &r->cells[from->cell];

		c->stop = arena_strdup(&r->arena, from->reason);
		c->stop_restarts = from->restarts;
		c->stop_width = 100 * from->width;
		if (!c->stop)
			return -ENOMEM;
	}
	return 0;
}
