/* SPDX-License-Identifier: Apache-2.0 */
#include "campaign/pilot.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "campaign/deciding.h"
#include "stats/quantile.h"
#include "stats/sort.h"

enum { BATCHES_MOST = 10, BATCH_LEAST = 5 };

/* Of one cell, tares too, while it is read. */
struct reading {
	double *figures; /* [restart][run][batch] */
	uint32_t *runs;
	double *restart_s, *run_s, *probe_s, *medians; /* one a restart or a run */
	uint32_t restarts, run_count, median_count;
	struct effort_cell effort;
	bool good;
};

struct pilot_reader {
	const struct plan *plan;
	struct deciding deciding;
	struct reading *readings; /* by cell */
	uint32_t batches, batch_probes, probes;
	struct arena *arena;
	struct err *err;
};

static int no_memory(struct err *err)
{
	return err_set(err, ERR_HOST, ENOMEM, "out of memory for the figures of a pilot");
}

/* Medians of the run's batches. False: too much of it is lost, or it is too short. */
static bool batch_medians(struct pilot_reader *r, double *ret)
{
	struct deciding *d = &r->deciding;
	uint32_t each = d->count / r->batches;

	if (each < BATCH_LEAST && r->batches > 1)
		return false;
	for (uint32_t b = 0; b < r->batches; b++) {
		struct sample_set set = { .ticks = d->values + (size_t)b * each,
					  .finite = each,
					  .quantum = d->quantum };

		sort_i64(d->values + (size_t)b * each, each, d->scratch);
		ret[b] = quantile_point(&set, 0.5).value * d->ns_per_value;
	}
	return each > 0;
}

/* 1: taken, 0: of no use. */
static int read_run(struct pilot_reader *r, struct reading *to, const struct stored_run *run)
{
	double *figures = to->figures + (size_t)to->run_count * r->batches, probe_s = 0;
	int rc;

	if (!deciding_run_valid(run))
		return 0;
	if (deciding_has_samples(r->plan)) {
		rc = deciding_read(&r->deciding, run, r->err);
		if (rc < 0)
			return rc;
		if (!batch_medians(r, figures))
			return 0;
		probe_s = run->record.offered_pps > 0 ? 1 / run->record.offered_pps : 0;
	} else {
		struct stored_run one = *run;
		const struct stored_restart restart = { .runs = &one, .run_count = 1 };

		rc = deciding_restart(&r->deciding, &restart, figures, r->err);
		if (rc < 0 || !isfinite(figures[0]))
			return rc < 0 ? rc : 0;
	}
	to->probe_s[to->run_count] = probe_s;
	to->run_s[to->run_count] = fmax(0, run->record.elapsed_ns / 1e9 - probe_s * run->pair_count);
	to->medians[to->run_count++] = figures[r->batches / 2];
	return 1;
}

static int read_restart(struct pilot_reader *r, const struct stored_restart *restart)
{
	struct reading *to = &r->readings[restart->cell];
	int64_t in_runs_ns = 0;
	uint32_t taken = 0;

	for (uint32_t i = 0; i < restart->run_count && !restart->failure; i++) {
		int rc = read_run(r, to, &restart->runs[i]);

		if (rc < 0)
			return rc;
		taken += rc > 0;
		in_runs_ns += restart->runs[i].record.elapsed_ns;
	}
	if (!taken)
		return 0;
	to->restart_s[to->restarts] = (restart->ended_utc_ns - restart->started_utc_ns - in_runs_ns) / 1e9;
	to->runs[to->restarts++] = taken;
	return 0;
}

static void summarise(const struct pilot_reader *r, struct reading *to)
{
	const struct effort_pilot in = {
		.figures = to->figures,
		.runs = to->runs,
		.restarts = to->restarts,
		.batches = r->batches,
		.batch_probes = r->batch_probes,
	};
	uint32_t all = to->run_count * r->batches;
	double *copy = arena_array(r->arena, all + 1u, sizeof(double));

	to->good = copy && effort_variances(&in, &to->effort);
	if (!to->good)
		return;
	memcpy(copy, to->figures, all * sizeof(double));
	to->effort.median = median_double(copy, all);
	to->effort.restart_s = fmax(0, median_double(to->restart_s, to->restarts));
	to->effort.run_s = median_double(to->run_s, to->run_count);
	to->effort.probe_s = median_double(to->probe_s, to->run_count);
}

/* A net takes off the mean of two restarts of its tare, which serve all of the tare's cells. */
static void charge_tare(const struct pilot_reader *r, const struct cell *cell, struct reading *to)
{
	const struct reading *tare;
	uint32_t users = 0;

	if (cell->tare == CELL_NONE)
		return;
	tare = &r->readings[cell->tare];
	for (uint32_t i = 0; i < r->plan->cell_count; i++)
		users += !r->plan->cells[i].is_tare && r->plan->cells[i].tare == cell->tare;
	to->good = to->good && tare->good;
	to->effort.median -= tare->effort.median;
	to->effort.restart += tare->effort.restart / 2;
	to->effort.run += tare->effort.run / 2;
	to->effort.probe += tare->effort.probe / 2;
	to->effort.restart_s += 2 * tare->effort.restart_s / users;
	to->effort.run_s += 2 * tare->effort.run_s / users;
	to->effort.probe_s += 2 * tare->effort.probe_s / users;
}

static int make_room(struct pilot_reader *r, const struct stored_restart *restarts, uint32_t count)
{
	uint32_t most_runs = 1, *of_cell = arena_array(r->arena, r->plan->cell_count + 1u, sizeof(*of_cell));

	r->readings = arena_array(r->arena, r->plan->cell_count + 1u, sizeof(*r->readings));
	if (!of_cell || !r->readings)
		return no_memory(r->err);
	for (uint32_t i = 0; i < count; i++) {
		of_cell[restarts[i].cell]++;
		most_runs = restarts[i].run_count > most_runs ? restarts[i].run_count : most_runs;
		for (uint32_t j = 0; j < restarts[i].run_count; j++)
			if (restarts[i].runs[j].pair_count > r->probes)
				r->probes = restarts[i].runs[j].pair_count;
	}
	r->batches = deciding_has_samples(r->plan) ? r->probes / (2 * BATCH_LEAST) : 1;
	r->batches = r->batches > BATCHES_MOST ? BATCHES_MOST : r->batches ? r->batches : 1;
	r->batch_probes = r->probes / r->batches;
	for (uint32_t i = 0; i < r->plan->cell_count; i++) {
		struct reading *to = &r->readings[i];
		size_t runs = (size_t)of_cell[i] * most_runs + 1;

		to->figures = arena_array(r->arena, runs * r->batches, sizeof(double));
		to->runs = arena_array(r->arena, of_cell[i] + 1u, sizeof(uint32_t));
		to->restart_s = arena_array(r->arena, of_cell[i] + 1u, sizeof(double));
		to->run_s = arena_array(r->arena, runs, sizeof(double));
		to->probe_s = arena_array(r->arena, runs, sizeof(double));
		to->medians = arena_array(r->arena, runs, sizeof(double));
		if (!to->figures || !to->runs || !to->restart_s || !to->run_s || !to->probe_s || !to->medians)
			return no_memory(r->err);
	}
	return 0;
}

static int collect(struct pilot_reader *r, struct pilot *ret)
{
	struct pilot_cell *cells = arena_array(r->arena, r->plan->cell_count + 1u, sizeof(*cells));

	if (!cells)
		return no_memory(r->err);
	*ret = (struct pilot){ .cells = cells, .probes = deciding_has_samples(r->plan) ? r->probes : 0 };
	for (uint32_t i = 0; i < r->plan->cell_count; i++)
		summarise(r, &r->readings[i]);
	for (uint32_t i = 0; i < r->plan->cell_count; i++) {
		struct reading *from = &r->readings[i];

		if (r->plan->cells[i].is_tare || from->restarts == 0)
			continue;
		charge_tare(r, &r->plan->cells[i], from);
		cells[ret->count++] = (struct pilot_cell){
			.cell = i, .restarts = from->restarts, .effort = from->effort, .good = from->good
		};
	}
	return 0;
}

int pilot_read(const struct plan *plan, struct store *store, struct arena *arena, struct pilot *ret, struct err *err)
{
	struct pilot_reader r = {
		.plan = plan, .deciding = { .plan = plan, .store = store }, .arena = arena, .err = err
	};
	struct stored_restart *restarts = NULL;
	uint32_t count = 0;
	int rc = store_read_restarts(store, arena, &restarts, &count, err);

	if (rc == 0)
		rc = make_room(&r, restarts, count);
	for (uint32_t i = 0; rc == 0 && i < count; i++)
		rc = read_restart(&r, &restarts[i]);
	if (rc == 0)
		rc = collect(&r, ret);
	deciding_release(&r.deciding);
	return rc;
}
