/* SPDX-License-Identifier: Apache-2.0 */
#include "campaign/deciding.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats/quantile.h"
#include "stats/sort.h"

#define SWITCH_STEP_NS 1000.0 /* stamps of a v1model switch are whole microseconds */

void deciding_release(struct deciding *d)
{
	free(d->rows);
	free(d->values);
	free(d->scratch);
	d->rows = NULL;
	d->values = d->scratch = NULL;
	d->capacity = 0;
}

static int reserve(struct deciding *d, uint32_t count, struct err *err)
{
	size_t row = d->plan->measure == MEASURE_TRANSIT ? sizeof(struct transit) : sizeof(struct pair);

	if (count <= d->capacity && d->rows)
		return 0;
	deciding_release(d);
	d->capacity = count ? count : 1;
	d->rows = calloc(d->capacity, row);
	d->values = calloc(d->capacity, sizeof(*d->values));
	d->scratch = calloc(d->capacity, sizeof(*d->scratch));
	if (d->rows && d->values && d->scratch)
		return 0;
	deciding_release(d);
	return err_set(err, ERR_HOST, ENOMEM, "out of memory for a run of %" PRIu32 " probes", count);
}

bool deciding_has_samples(const struct plan *plan)
{
	return plan->measure == MEASURE_TRANSIT || plan->measure == MEASURE_DIFFERENTIAL;
}

bool deciding_run_valid(const struct stored_run *run)
{
	return !run->record.invalid[0] && ledger_balances(&run->record.ledger);
}

/* A sample of a run: matched and ranked, matched but set apart, or at infinity. */
static void take(struct deciding *d, bool matched, bool set_apart, int64_t value)
{
	if (!matched)
		d->lost++;
	else if (!set_apart)
		d->values[d->count++] = value;
}

int deciding_read(struct deciding *d, const struct stored_run *run, struct err *err)
{
	bool transit = d->plan->measure == MEASURE_TRANSIT;
	int64_t count = reserve(d, run->pair_count, err);

	if (count < 0)
		return (int)count;
	count = transit ? store_read_transits(d->store, run, d->rows, d->capacity, err)
			: store_read_pairs(d->store, run, d->rows, d->capacity, err);
	if (count < 0)
		return (int)count;
	TARE_ASSERT(d->rows && d->values);
	d->count = d->lost = 0;
	d->ns_per_value = transit ? 1 : 1e9 / run->record.tsc_hz;
	d->quantum = transit ? SWITCH_STEP_NS : run->record.tsc_tick_ns / d->ns_per_value;
	for (int64_t i = 0; i < count; i++) {
		if (transit) {
			const struct transit *t = &((const struct transit *)d->rows)[i];

			take(d, t->fate == FATE_MATCHED, t->flags & TRANSIT_SET_APART,
			     (t->p4_out_us - t->p4_in_us) * 1000);
		} else {
			const struct pair *p = &((const struct pair *)d->rows)[i];

			take(d, p->fate == FATE_MATCHED, p->flags & PAIR_SET_APART, p->path_ticks - p->bypass_ticks);
		}
	}
	return 0;
}

static int median_of_samples(struct deciding *d, const struct stored_run *run, double *ret, struct err *err)
{
	struct sample_set set = { 0 };
	struct figure f;
	int r = deciding_read(d, run, err);

	if (r < 0)
		return r;
	sort_i64(d->values, d->count, d->scratch);
	set = (struct sample_set){ .ticks = d->values, .finite = d->count, .lost = d->lost, .quantum = d->quantum };
	f = quantile_figure(&set, 0.5, 0.95);
	*ret = f.state == FIGURE_REFUSED ? NAN : f.state == FIGURE_LOST ? INFINITY : f.value * d->ns_per_value;
	return 0;
}

static int named_value(struct deciding *d, const struct stored_run *run, double *ret, struct err *err)
{
	struct run_value *values;
	struct arena arena;
	uint32_t count;
	int r;

	*ret = NAN;
	arena_init(&arena, 0);
	r = store_read_values(d->store, run, &arena, &values, &count, err);
	for (uint32_t i = 0; r == 0 && i < count; i++)
		if (strcmp(values[i].name, d->plan->stop.of) == 0)
			*ret = values[i].value;
	arena_release(&arena);
	return r;
}

int deciding_restart(struct deciding *d, const struct stored_restart *restart, double *ret, struct err *err)
{
	double *medians = calloc(restart->run_count + 1u, sizeof(*medians));
	uint32_t count = 0;
	int r = 0;

	if (!medians)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory for the figures of a restart");
	for (uint32_t i = 0; r == 0 && i < restart->run_count && !restart->failure; i++) {
		const struct stored_run *run = &restart->runs[i];

		if (!deciding_run_valid(run))
			continue;
		r = deciding_has_samples(d->plan) ? median_of_samples(d, run, &medians[count], err)
						  : named_value(d, run, &medians[count], err);
		count += r == 0 && !isnan(medians[count]);
	}
	*ret = count ? median_double(medians, count) : NAN;
	free(medians);
	return r;
}
