/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/build.h"
#include "stats/hierarchy.h"
#include "stats/sort.h"

static const struct span none = { NAN, NAN, NAN };

/* What a restart counts with; NaN: not at all. */
static double figure_of(const struct cell_result *c, const struct restart_result *r)
{
	const struct figure *f = &r->gross.q[QUANTILE_P50];

	if (strcmp(r->state, "valid") != 0)
		return NAN;
	if (!c->is_tare && c->tare != CELL_NONE)
		return r->net_ns;
	return f->state == FIGURE_NUMBER ? f->value : NAN;
}

static struct host_result *host_find(struct cell_result *c, const char *host)
{
	for (uint32_t i = 0; i < c->host_count; i++)
		if (strcmp(c->hosts[i].host, host) == 0)
			return &c->hosts[i];
	return NULL;
}

/* Figures grouped by host, as variance components want them: a host is to its restarts what a restart is to its runs. */
static uint32_t group(struct cell_work *w, uint32_t host, double *figures)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->restart_count; i++) {
		double figure = figure_of(w->cell, w->restarts[i]);

		if (!isnan(figure) && host_find(w->cell, w->restarts[i]->host) == &w->cell->hosts[host])
			figures[n++] = figure;
	}
	return n;
}

static void components(struct cell_work *w, const double *figures, const uint32_t *counts)
{
	struct cell_result *c = w->cell;
	const struct run_figures in = { .figures = figures, .runs = counts, .restarts = c->host_count };
	struct variance_components v = variance_components(&in, 0.95);

	if (!v.valid)
		return;
	c->between_hosts_sd_ns = sqrt(v.between);
	if (!v.icc_valid)
		return;
	c->host_icc = v.icc;
	c->host_icc_interval = span_of(&v.icc_interval);
}

int cell_hosts(struct cell_work *w, struct arena *arena)
{
	struct cell_result *c = w->cell;
	double *figures = calloc((size_t)w->restart_count * 2 + 1, sizeof(*figures));
	uint32_t *counts = calloc(w->restart_count + 1u, sizeof(*counts)), n = 0;

	c->between_hosts_sd_ns = c->host_icc = NAN;
	c->host_icc_interval = none;
	c->hosts = arena_array(arena, w->restart_count + 1u, sizeof(*c->hosts));
	if (!figures || !counts || !c->hosts) {
		free(figures);
		free(counts);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < w->restart_count; i++)
		if (!isnan(figure_of(c, w->restarts[i])) && !host_find(c, w->restarts[i]->host))
			c->hosts[c->host_count++] = (struct host_result){ .host = w->restarts[i]->host };
	for (uint32_t h = 0; h < c->host_count; h++) {
		double *copy = figures + w->restart_count;

		counts[h] = group(w, h, figures + n);
		memcpy(copy, figures + n, counts[h] * sizeof(*copy));
		c->hosts[h].restarts = counts[h];
		c->hosts[h].median_ns = median_double(copy, counts[h]);
		n += counts[h];
	}
	if (c->host_count > 1)
		components(w, figures, counts);
	else
		c->host_count = 0; /* one host is no level */
	free(figures);
	free(counts);
	return 0;
}
