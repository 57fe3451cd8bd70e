/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/build.h"
#include "stats/hierarchy.h"

/* Quantities of cells from the values of their runs. */

static bool usable(const struct restart_result *r)
{
	return strcmp(r->state, "valid") == 0;
}

static bool same(const struct quantity_result *q, const struct run_value *v)
{
	return strcmp(q->name, v->name) == 0 && strcmp(q->unit, v->unit) == 0;
}

/* All that a valid run has put, by first appearance; `largest` is how many there can be. */
static int find_names(const struct cell_work *w, uint32_t largest, struct arena *arena)
{
	struct cell_result *c = w->cell;

	c->quantities = arena_array(arena, largest ? largest : 1, sizeof(*c->quantities));
	if (!c->quantities)
		return -ENOMEM;
	for (uint32_t i = 0; i < w->restart_count; i++)
		for (uint32_t j = 0; usable(w->restarts[i]) && j < w->restarts[i]->run_count; j++) {
			const struct run_trace *t = &w->traces[i][j];

			for (uint32_t k = 0; w->restarts[i]->runs[j].valid && k < t->value_count; k++) {
				uint32_t at = 0;

				if (bound_is_setting(t->values[k].name))
					continue;
				while (at < c->quantity_count && !same(&c->quantities[at], &t->values[k]))
					at++;
				if (at < c->quantity_count)
					continue;
				TARE_ASSERT(at < largest);
				c->quantities[at].name = arena_strdup(arena, t->values[k].name);
				c->quantities[at].unit = arena_strdup(arena, t->values[k].unit);
				if (!c->quantities[at].name || !c->quantities[at].unit)
					return -ENOMEM;
				c->quantity_count++;
			}
		}
	return 0;
}

static double value_of(const struct run_trace *t, const struct quantity_result *q)
{
	for (uint32_t k = 0; k < t->value_count; k++)
		if (same(q, &t->values[k]))
			return t->values[k].value;
	return NAN;
}

/* Buffers: figures of all runs of a cell, and by restart how many runs, which restart. */
struct gathered {
	double *figures, *restart_figures;
	uint32_t *runs, *orders;
	uint32_t restarts;
};

static void gather(const struct cell_work *w, struct quantity_result *q, struct gathered *g)
{
	uint32_t n = 0;

	g->restarts = 0;
	for (uint32_t i = 0; i < w->restart_count; i++) {
		const struct restart_result *r = w->restarts[i];
		uint32_t before = n;

		for (uint32_t j = 0; usable(r) && j < r->run_count; j++) {
			double v = r->runs[j].valid ? value_of(&w->traces[i][j], q) : NAN;

			q->runs += r->runs[j].valid && !isnan(v);
			q->runs_without += r->runs[j].valid && isnan(v);
			if (!isnan(v))
				g->figures[n++] = v;
		}
		if (n == before)
			continue;
		g->orders[g->restarts] = r->order;
		g->runs[g->restarts++] = n - before;
	}
}

static int keep_restarts(struct quantity_result *q, const struct gathered *g, struct arena *arena)
{
	q->restart_orders = arena_array(arena, g->restarts + 1, sizeof(double));
	q->restart_values = arena_array(arena, g->restarts + 1, sizeof(double));
	if (!q->restart_orders || !q->restart_values)
		return -ENOMEM;
	q->restart_count = g->restarts;
	for (uint32_t i = 0; i < g->restarts; i++) {
		q->restart_orders[i] = g->orders[i];
		q->restart_values[i] = g->restart_figures[i];
	}
	return 0;
}

static int summarise(const struct cell_work *w, struct quantity_result *q, struct gathered *g, struct arena *arena,
		     uint64_t seed)
{
	struct run_figures in = { .figures = g->figures, .runs = g->runs };
	struct hierarchy h;
	int rc;

	gather(w, q, g);
	in.restarts = g->restarts;
	rc = hierarchy_compute(&in, 0.95, BOOTSTRAP_RESAMPLES, seed, g->restart_figures, &h);
	if (rc != 0)
		return rc;
	q->value = h.figure.state == FIGURE_REFUSED ? NAN : h.figure.value;
	q->interval = span_of(&h.interpolated);
	q->order = span_of(&h.order);
	q->bootstrap = span_of(&h.bootstrap);
	q->u = isfinite(h.measured.u) ? h.measured.u : NAN;
	q->dof = isfinite(h.measured.u) ? h.measured.dof : NAN;
	q->between_sd = h.restarts > 1 && isfinite(h.restart_max) ? h.between_sd : NAN;
	q->within_sd = h.runs > h.restarts ? h.within_sd : NAN;
	return keep_restarts(q, g, arena);
}

int cell_values(struct cell_work *w, struct arena *arena, uint64_t seed)
{
	struct gathered g = { 0 };
	uint32_t runs = 0, largest = 0;
	int rc;

	for (uint32_t i = 0; i < w->restart_count; i++)
		for (uint32_t j = 0; j < w->restarts[i]->run_count; j++) {
			runs++;
			largest += w->traces[i][j].value_count;
		}
	if (largest == 0)
		return 0;
	rc = find_names(w, largest, arena);
	g.figures = calloc(runs, sizeof(*g.figures));
	g.restart_figures = calloc(w->restart_count, sizeof(*g.restart_figures));
	g.runs = calloc(w->restart_count, sizeof(*g.runs));
	g.orders = calloc(w->restart_count, sizeof(*g.orders));
	if (!g.figures || !g.restart_figures || !g.runs || !g.orders)
		rc = -ENOMEM;
	for (uint32_t q = 0; rc == 0 && q < w->cell->quantity_count; q++)
		rc = summarise(w, &w->cell->quantities[q], &g, arena, seed + q);
	free(g.figures);
	free(g.restart_figures);
	free(g.runs);
	free(g.orders);
	return rc;
}

int quantities_list(struct result *r)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < r->cell_count; i++)
		most += r->cells[i].quantity_count;
	r->quantities = arena_array(&r->arena, most ? most : 1, sizeof(*r->quantities));
	if (!r->quantities)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->cell_count; i++)
		for (uint32_t k = 0; k < r->cells[i].quantity_count; k++) {
			const struct quantity_result *q = &r->cells[i].quantities[k];
			uint32_t at = 0;

			while (at < r->quantity_count && (strcmp(r->quantities[at].name, q->name) != 0 ||
							  strcmp(r->quantities[at].value, q->unit) != 0))
				at++;
			if (at == r->quantity_count)
				r->quantities[r->quantity_count++] = (struct name_value){ q->name, q->unit };
		}
	return 0;
}
