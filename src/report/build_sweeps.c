/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "report/build.h"
#include "stats/exponent.h"
#include "stats/hierarchy.h"

/* Quantities along axes whose values are numbers. */

/* What an axis is a number of, if its values are all of one kind; in the order in which text is taken for it. */
static const struct number_kind {
	enum quantity_dim dim;
	const char *unit;
	double scale;
} kinds[] = {
	{ QUANTITY_COUNT, "", 1 },        { QUANTITY_TIME, "ns", 1 },     { QUANTITY_SIZE, "B", 1 },
	{ QUANTITY_BITRATE, "bit/s", 1 }, { QUANTITY_RATE, "pps", 1e-3 }, { QUANTITY_SHARE, "%", 1e-4 },
};

/* Values of an axis by cell; NaN where it is not set. False: they are not numbers of one kind. */
static bool axis_numbers(const struct result *r, uint32_t axis, const struct number_kind *kind, double *ret)
{
	bool any = false;

	for (uint32_t i = 0; i < r->cell_count; i++) {
		int64_t v;

		ret[i] = NAN;
		if (!r->cells[i].values[axis][0] || r->cells[i].is_tare)
			continue;
		if (quantity_parse(r->cells[i].values[axis], kind->dim, &v, NULL) < 0)
			return false;
		ret[i] = (double)v * kind->scale;
		any = true;
	}
	return any;
}

static unsigned different(const double *x, uint32_t count)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < count; i++) {
		bool again = isnan(x[i]);

		for (uint32_t k = 0; k < i; k++)
			again = again || x[k] == x[i];
		n += !again;
	}
	return n;
}

/* One sweep being made. `quantity` NULL: the gross median, in us. */
struct sweep_of {
	struct result *result;
	const struct measure_view *view;
	uint32_t axis;
	const double *x; /* by cell */
	const char *quantity, *unit;
};

static double value_at(const struct sweep_of *s, uint32_t cell, struct span *ret_interval)
{
	const struct cell_result *c = &s->result->cells[cell];
	const struct quantity_result *q;

	*ret_interval = (struct span){ NAN, NAN, NAN };
	if (!s->quantity) {
		const struct figure *f = &c->gross.q[QUANTILE_P50];

		*ret_interval = (struct span){ c->gross_interval.low / 1000, c->gross_interval.high / 1000,
					       c->gross_interval.level };
		return f->state == FIGURE_REFUSED ? NAN : f->value / 1000;
	}
	q = cell_quantity(c, s->quantity, s->unit);
	if (!q)
		return NAN;
	*ret_interval = q->interval;
	return q->value;
}

static bool same_series(const struct sweep_of *s, uint32_t a, uint32_t b)
{
	for (uint32_t i = 0; i < s->result->axis_count; i++)
		if (i != s->axis && strcmp(s->result->cells[a].values[i], s->result->cells[b].values[i]) != 0)
			return false;
	return true;
}

/* What its cells have in common, and others of the sweep have not. */
static const char *series_name(const struct sweep_of *s, uint32_t cell)
{
	struct result *r = s->result;
	const char *name = "";

	for (uint32_t i = 0; name && i < r->axis_count; i++) {
		bool program = strcmp(r->axes[i], "program") == 0, varies = false;

		for (uint32_t k = 0; k < r->cell_count; k++)
			varies = varies ||
				 (!isnan(s->x[k]) && strcmp(r->cells[k].values[i], r->cells[cell].values[i]) != 0);
		if (i == s->axis || !varies || !r->cells[cell].values[i][0])
			continue;
		name = arena_printf(&r->arena, "%s%s%s%s%s", name, *name ? " " : "", program ? "" : r->axes[i],
				    program ? "" : "=", r->cells[cell].values[i]);
	}
	return name;
}

static int by_x(const void *a, const void *b)
{
	double x = ((const struct sweep_point *)a)->x, y = ((const struct sweep_point *)b)->x;

	return (x > y) - (x < y);
}

/* --- exponents --- */

static int fit(const struct sweep_of *s, struct sweep_series *series, uint64_t seed)
{
	struct power_point *points = calloc(series->point_count + 1, sizeof(*points));
	struct power_law law;
	uint32_t n = 0;
	int rc;

	if (!points)
		return -ENOMEM;
	for (uint32_t i = 0; i < series->point_count; i++) {
		const struct sweep_point *p = &series->points[i];
		const struct quantity_result *q = cell_quantity(&s->result->cells[p->cell], s->quantity, s->unit);

		/* nothing is a power of 0 */
		if (q && p->x > 0)
			points[n++] = (struct power_point){ p->x, q->restart_values, q->restart_count };
	}
	rc = power_law_fit(points, n, 0.95, BOOTSTRAP_RESAMPLES, seed, &law);
	free(points);
	if (rc < 0)
		return rc;
	if (law.exponent.state == FIGURE_REFUSED) {
		series->why = law.points < 2 ? "fewer than two points" : "a figure is not above 0";
		return 0;
	}
	series->exponent = law.exponent.value;
	series->misfit = law.misfit;
	series->exponent_interval = span_of(&law.interval);
	if (law.interval.state == FIGURE_REFUSED)
		series->why = "fewer than 6 restarts";
	return 0;
}

/* --- */

/* The series that begins with `cell`: all cells that differ from it along the axis only. */
static int add_series(const struct sweep_of *s, uint32_t cell, struct sweep_result *sweep)
{
	struct result *r = s->result;
	struct sweep_series *series = &sweep->series[sweep->series_count];
	uint32_t most = 0;

	for (uint32_t i = cell; i < r->cell_count; i++)
		most += !isnan(s->x[i]) && same_series(s, cell, i);
	*series = (struct sweep_series){ .name = series_name(s, cell),
					 .exponent = NAN,
					 .exponent_interval = { NAN, NAN, NAN },
					 .misfit = NAN,
					 .why = "",
					 .points = arena_array(&r->arena, most, sizeof(*series->points)) };
	if (!series->name || !series->points)
		return -ENOMEM;
	for (uint32_t i = cell; i < r->cell_count; i++) {
		struct sweep_point *p = &series->points[series->point_count];
		struct span interval;
		double value;

		if (isnan(s->x[i]) || !same_series(s, cell, i))
			continue;
		value = value_at(s, i, &interval);
		if (isnan(value))
			continue;
		*p = (struct sweep_point){ s->x[i], r->cells[i].values[s->axis], i, value, interval };
		series->point_count++;
	}
	if (series->point_count < 2)
		return 0;
	qsort(series->points, series->point_count, sizeof(*series->points), by_x);
	sweep->series_count++;
	return s->view->exponents && s->quantity ? fit(s, series, r->seed + cell) : 0;
}

static int add_sweep(const struct sweep_of *s, const char *axis_unit, struct sweep_result *ret)
{
	struct result *r = s->result;

	*ret = (struct sweep_result){ .quantity = s->quantity ? s->quantity : "p50",
				      .unit = s->quantity ? s->unit : "us",
				      .axis = r->axes[s->axis],
				      .axis_unit = axis_unit,
				      .series = arena_array(&r->arena, r->cell_count, sizeof(*ret->series)) };
	if (!ret->series)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->cell_count; i++) {
		bool begun = isnan(s->x[i]);

		for (uint32_t k = 0; k < i; k++)
			begun = begun || (!isnan(s->x[k]) && same_series(s, k, i));
		if (!begun && add_series(s, i, ret) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int sweep_axis(struct result *r, const struct measure_view *view, uint32_t axis, double *x)
{
	struct sweep_of s = { .result = r, .view = view, .axis = axis, .x = x };
	uint32_t quantities = result_has_probes(r) ? 1 : r->quantity_count;
	size_t k = 0;

	while (k < sizeof(kinds) / sizeof(kinds[0]) && !axis_numbers(r, axis, &kinds[k], x))
		k++;
	if (k == sizeof(kinds) / sizeof(kinds[0]) || different(x, r->cell_count) < view->sweep_least)
		return 0;
	for (uint32_t i = 0; i < quantities; i++) {
		s.quantity = result_has_probes(r) ? NULL : r->quantities[i].name;
		s.unit = result_has_probes(r) ? NULL : r->quantities[i].value;
		if (add_sweep(&s, kinds[k].unit, &r->sweeps[r->sweep_count]) < 0)
			return -ENOMEM;
		r->sweep_count += r->sweeps[r->sweep_count].series_count > 0;
	}
	return 0;
}

int sweeps_build(struct result *r, const struct measure_view *view)
{
	uint32_t most = (r->quantity_count + 1) * VIEW_AXES;
	double *x = calloc(r->cell_count + 1, sizeof(*x));
	int rc = x ? 0 : -ENOMEM;

	r->sweeps = arena_array(&r->arena, most, sizeof(*r->sweeps));
	if (!r->sweeps)
		rc = -ENOMEM;
	for (unsigned v = 0; view->sweeps[v]; v++)
		for (uint32_t a = 0; rc == 0 && a < r->axis_count; a++)
			if (strcmp(r->axes[a], view->sweeps[v]) == 0)
				rc = sweep_axis(r, view, a, x);
	free(x);
	return rc;
}
