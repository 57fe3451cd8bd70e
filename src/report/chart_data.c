/* SPDX-License-Identifier: Apache-2.0 */
#include "report/chart_data.h"

#include <stdlib.h>
#include <string.h>

unsigned chart_color(const struct result *r, uint32_t cell)
{
	unsigned n = 0;

	if (r->cells[cell].is_tare)
		return CHART_COLORS;
	for (uint32_t i = 0; i < cell; i++)
		n += !r->cells[i].is_tare;
	return n % CHART_COLORS;
}

unsigned chart_color_by_contrast(const struct result *r, uint32_t cell)
{
	unsigned n = 0;
	uint32_t axis = 0;

	while (axis < r->axis_count && (r->family_count == 0 || strcmp(r->axes[axis], r->families[0].axis) != 0))
		axis++;
	if (axis == r->axis_count || axis >= r->cells[cell].value_count)
		return 0;
	/* how many different values there are before this one */
	for (uint32_t i = 0; i < r->cell_count; i++) {
		bool again = axis >= r->cells[i].value_count;

		if (!again && strcmp(r->cells[i].values[axis], r->cells[cell].values[axis]) == 0)
			break;
		for (uint32_t k = 0; k < i; k++)
			again = again || (axis < r->cells[k].value_count &&
					  strcmp(r->cells[k].values[axis], r->cells[i].values[axis]) == 0);
		n += !again;
	}
	return n % CHART_COLORS;
}

struct chart_scale chart_scale(const struct result *r)
{
	if (strcmp(r->measure, "transit") == 0)
		return (struct chart_scale){ .name = "in-switch latency, p4_out - p4_in",
					     .of = "in-switch median",
					     .cell = "cell",
					     .unit = "us",
					     .per_ns = 1e-3 };
	return (struct chart_scale){ .name = "gross latency, rx_path - rx_bypass",
				     .of = "gross median",
				     .cell = "program",
				     .unit = "ns",
				     .per_ns = 1 };
}

double chart_restart_residual_ns(const struct result *r, const struct restart_result *s)
{
	const struct figure *cell = &r->cells[s->cell].gross.q[QUANTILE_P50], *own = &s->gross.q[QUANTILE_P50];

	if (strcmp(s->state, "valid") != 0 || own->state != FIGURE_NUMBER || cell->state != FIGURE_NUMBER)
		return NAN;
	return own->value - cell->value;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double chart_packet_reach_ns(const struct result *r)
{
	double reach = 0;

	for (uint32_t i = 0; i < r->cell_count; i++) {
		const struct cell_result *c = &r->cells[i];
		double *away = c->packet_count ? malloc(c->packet_count * sizeof(*away)) : NULL;

		/* without memory: so far that all are inside */
		for (uint32_t k = 0; k < c->packet_count; k++) {
			double ns = isfinite(c->packet_ns[k]) ? fabs(c->packet_ns[k]) : 0;

			if (away)
				away[k] = ns;
			else
				reach = fmax(reach, fmax(1, ns));
		}
		if (away) {
			qsort(away, c->packet_count, sizeof(*away), ascending);
			reach = fmax(reach, fmax(1, away[(size_t)(0.99 * (c->packet_count - 1))]));
		}
		free(away);
	}
	return reach;
}

bool chart_ecdf_range_ns(const struct result *r, double *ret_low, double *ret_high)
{
	double low = INFINITY, high = -INFINITY;

	for (uint32_t i = 0; i < r->cell_count; i++) {
		const struct cell_result *c = &r->cells[i];

		for (uint32_t k = 0; k < c->ecdf_count; k++) {
			if (!isfinite(c->ecdf_ns[k]) || c->ecdf_p[k] < 0.9 || c->ecdf_p[k] > 99.1)
				continue;
			low = fmin(low, c->ecdf_ns[k]);
			high = fmax(high, c->ecdf_ns[k]);
		}
	}
	*ret_low = low;
	*ret_high = high;
	return low <= high;
}

bool chart_wants_log(double least, double most)
{
	return least > 0 && most / least >= 20;
}
