/* SPDX-License-Identifier: Apache-2.0 */
#include "campaign/stopper.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "campaign/deciding.h"
#include "stats/stopping.h"

struct stopper {
	const struct plan *plan;
	struct store *store;
	struct deciding deciding;
	struct stopping_rule rule;
	int64_t last_id;         /* of the restarts that have been read */
	double *figures;         /* [cell][restart], twice as many as a tare has; NaN: none */
	double *line, *work;     /* one cell's figures, in order of the blocks; room for its sorting */
	uint32_t *line_blocks;   /* parallel to line */
	uint32_t *last, *expect; /* by cell: the last block in which it runs; and is expected to */
	struct stored_stop *stops;
	uint32_t stop_count;
	struct arena arena;
};

static double *figure_at(const struct stopper *s, uint32_t cell, uint32_t restart)
{
	return &s->figures[(size_t)cell * 2 * s->plan->restarts + restart];
}

static int no_memory(struct err *err)
{
	return err_set(err, ERR_HOST, ENOMEM, "out of memory for the figures that decide when cells stop");
}

static int prepare(struct stopper *s, struct err *err)
{
	const struct plan *plan = s->plan;
	size_t restarts = (size_t)plan->restarts * 2, cells = plan->cell_count;

	s->rule = (struct stopping_rule){ .width = plan->stop.width_ppm / 1e6,
					  .least = plan->stop.least,
					  .most = plan->stop.most };
	s->figures = arena_array(&s->arena, cells * restarts + 1, sizeof(double));
	s->line = arena_array(&s->arena, restarts + 1, sizeof(double));
	s->work = arena_array(&s->arena, restarts + 1, sizeof(double));
	s->line_blocks = arena_array(&s->arena, restarts + 1, sizeof(uint32_t));
	s->last = arena_array(&s->arena, cells + 1, sizeof(uint32_t));
	s->expect = arena_array(&s->arena, cells + 1, sizeof(uint32_t));
	if (!s->figures || !s->line || !s->work || !s->line_blocks || !s->last || !s->expect)
		return no_memory(err);
	for (size_t i = 0; i < cells * restarts; i++)
		s->figures[i] = NAN;
	return store_read_stops(s->store, &s->arena, plan->cell_count, &s->stops, &s->stop_count, err);
}

int stopper_create(const struct plan *plan, struct store *store, struct stopper **ret, struct err *err)
{
	struct stopper *s = calloc(1, sizeof(*s));
	int r = 0;

	if (!s)
		return no_memory(err);
	s->plan = plan;
	s->store = store;
	s->deciding = (struct deciding){ .plan = plan, .store = store };
	arena_init(&s->arena, 0);
	if (plan->stop.on)
		r = prepare(s, err);
	if (r == 0 && plan->stop.on)
		r = stopper_look(s, 0, err);
	if (r == 0)
		*ret = s;
	else
		stopper_destroy(s);
	return r;
}

void stopper_destroy(struct stopper *s)
{
	if (!s)
		return;
	deciding_release(&s->deciding);
	arena_release(&s->arena);
	free(s);
}

/* Figures of the restarts that came since the last look. */
static int read_new(struct stopper *s, struct err *err)
{
	struct stored_restart *restarts;
	struct arena arena;
	uint32_t count;
	int r;

	arena_init(&arena, 0);
	r = store_read_restarts_since(s->store, s->last_id, &arena, &restarts, &count, err);
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		const struct stored_restart *t = &restarts[i];

		s->last_id = t->id;
		if (t->failure || t->restart >= 2 * s->plan->restarts)
			continue;
		r = deciding_restart(&s->deciding, t, figure_at(s, t->cell, t->restart), err);
	}
	arena_release(&arena);
	return r;
}

/* The cell's figure in a block: net where there is a tare, as the report has it (the mean of both, or the one there is). */
static double block_figure(const struct stopper *s, const struct cell *cell, uint32_t block)
{
	double gross = *figure_at(s, cell->index, block), before, after;

	if (cell->tare == CELL_NONE)
		return gross;
	before = *figure_at(s, cell->tare, 2 * block);
	after = *figure_at(s, cell->tare, 2 * block + 1);
	if (!isfinite(gross))
		return NAN; /* what fell on lost probes has no net */
	if (!isfinite(before))
		return isfinite(after) ? gross - after : NAN;
	return isfinite(after) ? gross - (before + after) / 2 : gross - before;
}

/* Figures of the blocks before `block`. */
static uint32_t gather(struct stopper *s, const struct cell *cell, uint32_t block)
{
	uint32_t count = 0;

	for (uint32_t b = 0; b < block && b < s->plan->restarts; b++) {
		double figure = block_figure(s, cell, b);

		if (isnan(figure))
			continue;
		s->line[count] = figure;
		s->line_blocks[count++] = b;
	}
	return count;
}

static int write_down(struct stopper *s, const struct cell *cell, const struct stopping *verdict, uint32_t block,
		      struct err *err)
{
	struct stored_stop stop = {
		.cell = cell->index,
		.block = block,
		.restarts = verdict->restarts,
		.width = verdict->width,
		.reason = stopping_reason_name(verdict->reason),
	};
	int r = store_put_stop(s->store, &stop, err);

	if (r == 0)
		s->stops[s->stop_count++] = stop; /* has room for every cell */
	return r;
}

static bool has_stopped(const struct stopper *s, uint32_t cell)
{
	for (uint32_t i = 0; i < s->stop_count; i++)
		if (s->stops[i].cell == cell)
			return true;
	return false;
}

/* `last`: there will be no further block. */
static int judge(struct stopper *s, const struct cell *cell, uint32_t block, bool last, struct err *err)
{
	uint32_t count = gather(s, cell, block);
	struct stopping verdict = stopping_judge(&s->rule, s->line, count, s->work);

	if (verdict.reason != STOPPING_NOT)
		return write_down(s, cell, &verdict, s->line_blocks[verdict.restarts - 1], err);
	if (last) {
		verdict.reason = STOPPING_MOST;
		return write_down(s, cell, &verdict, s->plan->restarts - 1, err);
	}
	/* blocks without a figure do not count */
	s->expect[cell->index] = block + verdict.expected - count - 1;
	return 0;
}

static int look(struct stopper *s, uint32_t block, bool last, struct err *err)
{
	int r = read_new(s, err);

	for (uint32_t i = 0; r == 0 && i < s->plan->cell_count; i++) {
		const struct cell *cell = &s->plan->cells[i];

		s->expect[i] = 0;
		if (!cell->is_tare && !has_stopped(s, i))
			r = judge(s, cell, block, last, err);
	}
	if (r < 0)
		return r;
	stored_stops_last_blocks(s->stops, s->stop_count, s->plan->cells, s->plan->cell_count, s->last);
	for (uint32_t i = 0; i < s->plan->cell_count; i++) {
		const struct cell *cell = &s->plan->cells[i];

		if (!cell->is_tare && cell->tare != CELL_NONE && s->expect[i] > s->expect[cell->tare])
			s->expect[cell->tare] = s->expect[i];
	}
	return 0;
}

int stopper_look(struct stopper *s, uint32_t block, struct err *err)
{
	return s->plan->stop.on ? look(s, block, false, err) : 0;
}

int stopper_finish(struct stopper *s, struct err *err)
{
	return s->plan->stop.on ? look(s, s->plan->restarts, true, err) : 0;
}

bool stopper_passes(const struct stopper *s, const struct turn *turn)
{
	return s->plan->stop.on && turn->block > s->last[turn->cell];
}

bool stopper_expects(const struct stopper *s, const struct turn *turn)
{
	return !s->plan->stop.on || (!stopper_passes(s, turn) && turn->block <= s->expect[turn->cell]);
}

void stopper_counts(const struct stopper *s, uint32_t *ret_stopped, uint32_t *ret_cells)
{
	*ret_stopped = s->stop_count;
	*ret_cells = 0;
	for (uint32_t i = 0; s->plan->stop.on && i < s->plan->cell_count; i++)
		*ret_cells += !s->plan->cells[i].is_tare;
}
