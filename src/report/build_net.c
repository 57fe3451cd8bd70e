/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/build.h"
#include "stats/hierarchy.h"
#include "stats/net.h"
#include "stats/sort.h"

static int no_memory(struct err *err)
{
	return err_set(err, ERR_HOST, ENOMEM, "out of memory computing the net figures");
}

/* A restart's own figures by block; NaN where it is missing, invalid, or its median fell on a lost probe. */
struct bracket {
	double gross, before, after;
};

static double finite_gross(const struct restart_result *r)
{
	const struct figure *f = &r->gross.q[QUANTILE_P50];

	return strcmp(r->state, "valid") == 0 && f->state == FIGURE_NUMBER ? f->value : NAN;
}

static double finite_truth(const struct restart_result *r)
{
	return strcmp(r->state, "valid") == 0 ? r->truth_ns : NAN;
}

static double finite_excess(const struct restart_result *r)
{
	return strcmp(r->state, "valid") == 0 ? r->excess_ns : NAN;
}

typedef double restart_value_fn(const struct restart_result *r);

static uint32_t blocks_of(const struct result *result)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < result->restart_count; i++)
		if (result->restarts[i].block >= count)
			count = result->restarts[i].block + 1;
	return count;
}

static void brackets_fill(struct bracket *b, uint32_t count, const struct cell_work *w, const struct cell_work *tare,
			  restart_value_fn *value)
{
	for (uint32_t i = 0; i < count; i++)
		b[i] = (struct bracket){ NAN, NAN, NAN };
	for (uint32_t i = 0; w && i < w->restart_count; i++)
		if (!isnan(value(w->restarts[i])))
			b[w->restarts[i]->block].gross = value(w->restarts[i]);
	for (uint32_t i = 0; tare && i < tare->restart_count; i++) {
		const struct restart_result *r = tare->restarts[i];

		if (isnan(value(r)))
			continue;
		if (r->restart % 2 == 0)
			b[r->block].before = value(r);
		else
			b[r->block].after = value(r);
	}
}

/* As net_compute takes it off: the mean of both, or the one there is. */
static double bracket_tare(const struct bracket *b)
{
	if (isnan(b->before))
		return b->after;
	return isnan(b->after) ? b->before : (b->before + b->after) / 2;
}

int blocks_build(struct result *result, const struct cell_work *works, struct err *err)
{
	uint32_t blocks = blocks_of(result), tares = 0;
	struct bracket *b = calloc(blocks ? blocks : 1, sizeof(*b));

	for (uint32_t i = 0; i < result->cell_count; i++)
		tares += result->cells[i].is_tare;
	result->blocks = arena_array(&result->arena, (size_t)blocks * tares + 1, sizeof(*result->blocks));
	if (!b || !result->blocks) {
		free(b);
		return no_memory(err);
	}
	for (uint32_t i = 0; i < result->cell_count; i++) {
		if (!result->cells[i].is_tare)
			continue;
		brackets_fill(b, blocks, NULL, &works[i], finite_gross);
		for (uint32_t k = 0; k < blocks; k++)
			result->blocks[result->block_count++] = (struct block_result){
				.block = k,
				.cell = i,
				.before_ns = b[k].before,
				.after_ns = b[k].after,
				.tare_ns = bracket_tare(&b[k]),
				.drift_ns = b[k].after - b[k].before,
			};
	}
	free(b);
	return 0;
}

static int compute(const struct bracket *b, uint32_t count, const struct net_conditions *conditions, struct net *ret)
{
	struct net_block *blocks = calloc(count ? count : 1, sizeof(*blocks));
	uint32_t used = 0;
	int rc;

	if (!blocks)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		struct net_block *n = &blocks[used];

		if (isnan(b[i].gross) && isnan(b[i].before) && isnan(b[i].after))
			continue;
		n->present = (isnan(b[i].gross) ? 0 : NET_GROSS) | (isnan(b[i].before) ? 0 : NET_BEFORE) |
			     (isnan(b[i].after) ? 0 : NET_AFTER);
		n->gross_ns = isnan(b[i].gross) ? 0 : b[i].gross;
		n->before_ns = isnan(b[i].before) ? 0 : b[i].before;
		n->after_ns = isnan(b[i].after) ? 0 : b[i].after;
		used++;
	}
	rc = net_compute(blocks, used, conditions, NULL, ret);
	free(blocks);
	return rc;
}

static int take_budget(struct cell_result *c, const struct budget *b, struct arena *arena)
{
	if (b->count == 0)
		return 0;
	c->u_ns = b->u_ns;
	c->dof = isinf(b->dof) ? NAN : b->dof;
	c->factor = b->factor_k2;
	c->expanded_ns = b->expanded_k2_ns;
	c->expanded_k3_ns = b->expanded_k3_ns;
	c->budget = arena_array(arena, b->count, sizeof(*c->budget));
	if (!c->budget)
		return -ENOMEM;
	c->budget_count = b->count;
	for (uint32_t i = 0; i < b->count; i++) {
		const struct budget_term *t = &b->terms[i];

		c->budget[i] = (struct budget_line){
			.name = arena_strdup(arena, t->name),
			.type = uncertainty_type_name(t->type),
			.u_ns = t->u_ns,
			.dof = isinf(t->dof) ? NAN : t->dof,
			.share = 100 * budget_share(b, i),
			.how = arena_strdup(arena, t->source ? t->source : ""),
		};
		if (!c->budget[i].name || !c->budget[i].how)
			return -ENOMEM;
	}
	return 0;
}

/* Hierarchical bootstrap of the net: a block's runs with its tare taken off, which stays with its block. */
static int bootstrap(const struct cell_work *w, uint64_t seed, struct span *ret)
{
	uint32_t room = 1, restarts = 0, n = 0;
	struct run_figures in;
	struct interval i = { 0 };
	double *figures;
	uint32_t *runs;
	int rc = -ENOMEM;

	for (uint32_t k = 0; k < w->restart_count; k++)
		room += w->restarts[k]->run_count;
	figures = calloc(room, sizeof(*figures));
	runs = calloc(w->restart_count + 1, sizeof(*runs));
	for (uint32_t k = 0; figures && runs && k < w->restart_count; k++) {
		const struct restart_result *r = w->restarts[k];
		uint32_t before = n;

		if (isnan(r->net_ns))
			continue;
		for (uint32_t j = 0; j < r->run_count; j++) {
			const struct figure *f = &r->runs[j].gross.q[QUANTILE_P50];

			if (r->runs[j].valid && f->state != FIGURE_REFUSED)
				figures[n++] = (f->state == FIGURE_LOST ? INFINITY : f->value) - r->tare_ns;
		}
		runs[restarts++] = n - before;
	}
	in = (struct run_figures){ .figures = figures, .runs = runs, .restarts = restarts };
	if (figures && runs)
		rc = restarts ? hierarchy_bootstrap(&in, 0.95, BOOTSTRAP_RESAMPLES, seed, &i) : 0;
	free(figures);
	free(runs);
	if (rc == 0 && restarts)
		*ret = span_of(&i);
	return rc;
}

static void restarts_net(struct cell_work *w, const struct bracket *b)
{
	for (uint32_t i = 0; i < w->restart_count; i++) {
		struct restart_result *r = w->restarts[i];
		double gross = finite_gross(r);

		r->tare_ns = bracket_tare(&b[r->block]);
		r->net_ns = gross - r->tare_ns;
	}
}

int cell_net(struct cell_work *w, const struct cell_work *tare, struct result *result, struct err *err)
{
	uint32_t count = blocks_of(result);
	struct bracket *b = calloc(count ? count : 1, sizeof(*b));
	struct cell_result *c = w->cell;
	struct net_conditions conditions, none = { 0 };
	struct net net = { 0 }, truth = { 0 };
	int rc;

	if (!b)
		return no_memory(err);
	conditions = (struct net_conditions){
		.tick_ns = fmax(w->tick_ns, tare->tick_ns),
		.gross_clock = w->clock_error,
		.tare_clock = tare->clock_error,
		.tsc_u_ppm = fmax(w->tsc_u_ppm, tare->tsc_u_ppm),
		.stamp_bias_ns =
			net_stamp_bias(w->gap_path_ns, w->gap_bypass_ns, tare->gap_path_ns, tare->gap_bypass_ns),
	};
	brackets_fill(b, count, w, tare, finite_gross);
	restarts_net(w, b);
	rc = compute(b, count, &conditions, &net);
	if (rc == 0 && net.used > 0) {
		c->net_ns = net.figure.value;
		c->tare_ns = net.tare_ns;
		c->net_interval = span_of(&net.interval);
		c->net_order = span_of(&net.order);
		rc = take_budget(c, &net.budget, &result->arena);
		if (rc == 0)
			rc = bootstrap(w, result->seed, &c->net_bootstrap);
	}
	w->drift_ns = net.drift_ns;
	w->drift_max_ns = net.drift_max_ns;
	w->one_sided = net.one_sided;
	w->unusable = net.unusable;
	brackets_fill(b, count, w, tare, finite_truth);
	if (rc == 0)
		rc = compute(b, count, &none, &truth);
	if (rc == 0 && truth.used > 0) {
		c->truth_net_ns = truth.figure.value;
		c->error_ns = c->net_ns - c->truth_net_ns;
	}
	brackets_fill(b, count, w, tare, finite_excess);
	if (rc == 0)
		rc = compute(b, count, &none, &truth);
	if (rc == 0 && truth.used > 0)
		c->paired_error_ns = truth.figure.value;
	free(b);
	return rc ? no_memory(err) : 0;
}
