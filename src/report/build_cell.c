/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "report/build.h"
#include "stats/hierarchy.h"
#include "stats/modes.h"
#include "stats/sort.h"

static int no_memory(struct err *err)
{
	return err_set(err, ERR_HOST, ENOMEM, "out of memory computing the result");
}

struct span span_of(const struct interval *i)
{
	if (i->state == FIGURE_REFUSED)
		return (struct span){ NAN, NAN, i->coverage * 100 };
	return (struct span){ i->low, i->high, i->coverage * 100 };
}

/* --- medians of members, over runs or restarts --- */

struct column {
	double *values;
	uint32_t count;
	uint64_t need; /* the least that a refused figure asked for; 0: none was refused */
};

static void column_add(struct column *c, double value)
{
	if (!isnan(value))
		c->values[c->count++] = value;
}

static void column_add_figure(struct column *c, const struct figure *f)
{
	if (f->state != FIGURE_REFUSED)
		column_add(c, f->state == FIGURE_LOST ? INFINITY : f->value);
	else if (f->need && (c->need == 0 || f->need < c->need))
		c->need = f->need;
}

static double column_median(struct column *c)
{
	double m = c->count ? median_double(c->values, c->count) : NAN;

	c->count = 0;
	return m;
}

/* A run too short to say it is left out; where all are, the refusal stands. */
static struct figure column_figure(struct column *c)
{
	double m = column_median(c);

	if (isnan(m))
		return figure_refused(0, c->need);
	if (isinf(m))
		return (struct figure){ .state = FIGURE_LOST, .value = INFINITY };
	return figure_number(m);
}

/* Median over the valid runs of a restart of the quantiles at `member`. */
static void runs_quantiles(const struct restart_result *r, size_t member, struct column *c, struct quantiles *ret)
{
	for (unsigned q = 0; q < QUANTILES; q++) {
		c->need = 0;
		for (uint32_t i = 0; i < r->run_count; i++) {
			const struct quantiles *from = (const void *)((const char *)&r->runs[i] + member);

			if (r->runs[i].valid)
				column_add_figure(c, &from->q[q]);
		}
		ret->q[q] = column_figure(c);
	}
}

static double runs_median(const struct restart_result *r, size_t member, struct column *c)
{
	for (uint32_t i = 0; i < r->run_count; i++)
		if (r->runs[i].valid)
			column_add(c, *(const double *)((const char *)&r->runs[i] + member));
	return column_median(c);
}

void restart_summarise(struct restart_result *r)
{
	double few[64];
	struct column c = { .values = few };
	bool failed = strcmp(r->state, "failed") == 0;

	r->tare_ns = r->net_ns = r->truth_ns = r->excess_ns = r->within_20ns = NAN;
	for (uint32_t i = 0; i < r->run_count; i++) {
		r->runs_valid += r->runs[i].valid;
		r->runs_invalid += !r->runs[i].valid;
		if (r->runs[i].valid)
			ledger_add(&r->ledger, &r->runs[i].ledger);
	}
	if (failed)
		return;
	if (r->runs_valid == 0) {
		r->state = "invalid";
		r->reason = r->run_count ? r->runs[0].reason : "it has no runs";
		return;
	}
	if (r->run_count > 64)
		c.values = calloc(r->run_count, sizeof(double));
	if (!c.values)
		return; /* figures stay absent; the caller's own allocations fail with a message */
	runs_quantiles(r, offsetof(struct run_result, gross), &c, &r->gross);
	r->truth_ns = runs_median(r, offsetof(struct run_result, truth_ns), &c);
	r->excess_ns = runs_median(r, offsetof(struct run_result, excess_ns), &c);
	r->within_20ns = runs_median(r, offsetof(struct run_result, within_20ns), &c);
	if (c.values != few)
		free(c.values);
}

static bool usable(const struct restart_result *r)
{
	return strcmp(r->state, "valid") == 0;
}

/* --- a cell from its restarts --- */

static void count_up(struct cell_work *w)
{
	struct cell_result *c = w->cell;

	for (uint32_t i = 0; i < w->restart_count; i++) {
		const struct restart_result *r = w->restarts[i];
		bool good = usable(r);

		c->restarts_valid += good;
		c->restarts_failed += strcmp(r->state, "failed") == 0;
		c->restarts_invalid += strcmp(r->state, "invalid") == 0;
		for (uint32_t j = 0; j < r->run_count; j++) {
			const struct run_result *run = &r->runs[j];

			if (!good || !run->valid) {
				c->runs_invalid++;
				ledger_add(&c->ledger_excluded, &run->ledger);
				continue;
			}
			c->runs_valid++;
			ledger_add(&c->ledger, &run->ledger);
			c->blocks_near += run->blocks_near;
			c->blocks_far += run->blocks_far;
			c->stalls += run->stalls;
			c->clock_steps += run->clock_steps;
			c->stalled_ns += run->stalled_ns;
			if (run->lateness_max_ns > c->lateness_max_ns)
				c->lateness_max_ns = run->lateness_max_ns;
			w->tick_ns = fmax(w->tick_ns, run->tsc_tick_ns);
			w->grid_ns = fmax(w->grid_ns, fmax(run->tsc_tick_ns, 1e9 / run->tsc_hz));
			w->tsc_u_ppm = fmax(w->tsc_u_ppm, run->tsc_hz_u_ppm);
		}
	}
}

typedef double run_value_fn(const struct run_result *run, const struct run_trace *trace);

static double run_iqr(const struct run_result *r, const struct run_trace *t)
{
	(void)t;
	return r->iqr_ns;
}

static double run_offered(const struct run_result *r, const struct run_trace *t)
{
	(void)t;
	return r->offered_pps;
}

static double run_intended(const struct run_result *r, const struct run_trace *t)
{
	(void)t;
	return r->intended_pps;
}

static double run_late_p50(const struct run_result *r, const struct run_trace *t)
{
	(void)t;
	return (double)r->lateness_p50_ns;
}

static double run_late_p99(const struct run_result *r, const struct run_trace *t)
{
	(void)t;
	return (double)r->lateness_p99_ns;
}

static double run_clock_error(const struct run_result *r, const struct run_trace *t)
{
	(void)r;
	return t->clock_error;
}

static double run_gap_path(const struct run_result *r, const struct run_trace *t)
{
	(void)r;
	return t->gap_path_ns;
}

static double run_gap_bypass(const struct run_result *r, const struct run_trace *t)
{
	(void)r;
	return t->gap_bypass_ns;
}

/* Median over all valid runs of the cell; 0 where there is none. For conditions, which are no figures. */
static double over_runs(const struct cell_work *w, run_value_fn *value, struct column *c)
{
	for (uint32_t i = 0; i < w->restart_count; i++)
		for (uint32_t j = 0; usable(w->restarts[i]) && j < w->restarts[i]->run_count; j++)
			if (w->restarts[i]->runs[j].valid)
				column_add(c, value(&w->restarts[i]->runs[j], &w->traces[i][j]));
	return c->count ? column_median(c) : 0;
}

static void conditions(struct cell_work *w, struct column *c)
{
	struct cell_result *cell = w->cell;

	cell->iqr_ns = cell->runs_valid ? over_runs(w, run_iqr, c) : NAN;
	cell->offered_pps = over_runs(w, run_offered, c);
	cell->intended_pps = over_runs(w, run_intended, c);
	cell->lateness_p50_ns = llround(over_runs(w, run_late_p50, c));
	cell->lateness_p99_ns = llround(over_runs(w, run_late_p99, c));
	w->clock_error = over_runs(w, run_clock_error, c);
	w->gap_path_ns = over_runs(w, run_gap_path, c);
	w->gap_bypass_ns = over_runs(w, run_gap_bypass, c);
}

/* Medians over restarts of the restarts' figures; of one_way and intended those are made on the way. */
static void cell_quantiles(struct cell_work *w, struct column *runs, struct column *restarts)
{
	static const struct {
		size_t run, cell;
	} sets[] = {
		{ offsetof(struct run_result, gross), offsetof(struct cell_result, gross) },
		{ offsetof(struct run_result, one_way), offsetof(struct cell_result, one_way) },
		{ offsetof(struct run_result, intended), offsetof(struct cell_result, intended) },
	};

	for (size_t s = 0; s < sizeof(sets) / sizeof(sets[0]); s++) {
		struct quantiles *ret = (struct quantiles *)((char *)w->cell + sets[s].cell);

		for (unsigned q = 0; q < QUANTILES; q++) {
			restarts->need = 0;
			for (uint32_t i = 0; i < w->restart_count; i++) {
				struct quantiles of_restart;

				if (!usable(w->restarts[i]))
					continue;
				runs_quantiles(w->restarts[i], sets[s].run, runs, &of_restart);
				column_add_figure(restarts, &of_restart.q[q]);
			}
			ret->q[q] = column_figure(restarts);
		}
	}
	for (uint32_t i = 0; i < w->restart_count; i++)
		if (usable(w->restarts[i]))
			column_add(restarts, w->restarts[i]->within_20ns);
	w->cell->within_20ns = column_median(restarts);
}

static int distribution(struct cell_work *w, struct arena *arena, struct column *runs, struct column *restarts)
{
	struct cell_result *c = w->cell;

	c->ecdf_p = arena_array(arena, ECDF_POINTS, sizeof(double));
	c->ecdf_ns = arena_array(arena, ECDF_POINTS, sizeof(double));
	c->ecdf_low_ns = arena_array(arena, ECDF_POINTS, sizeof(double));
	c->ecdf_high_ns = arena_array(arena, ECDF_POINTS, sizeof(double));
	if (!c->ecdf_p || !c->ecdf_ns || !c->ecdf_low_ns || !c->ecdf_high_ns)
		return -ENOMEM;
	for (unsigned p = 0; p < ECDF_POINTS; p++) {
		double low = INFINITY, high = -INFINITY;

		for (uint32_t i = 0; i < w->restart_count; i++) {
			const struct restart_result *r = w->restarts[i];
			double m;

			for (uint32_t j = 0; usable(r) && j < r->run_count; j++)
				if (r->runs[j].valid)
					column_add(runs, w->traces[i][j].ecdf_ns[p]);
			m = column_median(runs);
			if (isnan(m))
				continue;
			low = fmin(low, m);
			high = fmax(high, m);
			column_add(restarts, m);
		}
		if (restarts->count == 0)
			return 0;
		c->ecdf_p[p] = 100 * ecdf_probability(p);
		c->ecdf_ns[p] = column_median(restarts);
		c->ecdf_low_ns[p] = low;
		c->ecdf_high_ns[p] = high;
		c->ecdf_count = p + 1;
	}
	return 0;
}

/* Run medians by restart, as stats wants them. */
static uint32_t run_figures(const struct cell_work *w, double *figures, uint32_t *runs)
{
	uint32_t restarts = 0, n = 0;

	for (uint32_t i = 0; i < w->restart_count; i++) {
		const struct restart_result *r = w->restarts[i];
		uint32_t before = n;

		if (!usable(r))
			continue;
		for (uint32_t j = 0; j < r->run_count; j++) {
			const struct figure *f = &r->runs[j].gross.q[QUANTILE_P50];

			if (!r->runs[j].valid || f->state == FIGURE_REFUSED)
				continue;
			figures[n++] = (f->state == FIGURE_LOST ? INFINITY : f->value);
		}
		runs[restarts++] = n - before;
	}
	return restarts;
}

static int spread(struct cell_work *w, double *figures, uint32_t *runs, uint64_t seed)
{
	struct run_figures in = { .figures = figures, .runs = runs };
	struct cell_result *c = w->cell;
	struct hierarchy h;
	int rc;

	in.restarts = run_figures(w, figures, runs);
	if (in.restarts == 0)
		return 0;
	rc = hierarchy_compute(&in, 0.95, BOOTSTRAP_RESAMPLES, seed, NULL, &h);
	if (rc != 0)
		return rc;
	c->gross_interval = span_of(&h.interpolated);
	c->gross_order = span_of(&h.order);
	c->gross_bootstrap = span_of(&h.bootstrap);
	w->measured = h.measured;
	c->between_sd_ns = h.restarts > 1 ? h.between_sd : NAN;
	c->within_run_sd_ns = h.runs > h.restarts ? h.within_sd : NAN;
	if (h.components.valid && h.components.icc_valid) {
		c->icc = h.components.icc;
		c->icc_interval = span_of(&h.components.icc_interval);
	}
	return 0;
}

static uint32_t all_runs(const struct cell_work *w)
{
	uint32_t n = 1;

	for (uint32_t i = 0; i < w->restart_count; i++)
		n += w->restarts[i]->run_count;
	return n;
}

int cell_summarise(struct cell_work *w, struct arena *arena, uint64_t seed, struct err *err)
{
	static const struct span none = { NAN, NAN, NAN };
	uint32_t room = all_runs(w);
	double *values = calloc((size_t)room * 2 + w->restart_count + 1, sizeof(*values));
	uint32_t *runs = calloc(w->restart_count + 1, sizeof(*runs));
	struct column of_runs = { .values = values }, of_restarts;
	struct cell_result *c = w->cell;
	int rc = values && runs ? 0 : -ENOMEM;

	c->iqr_ns = c->within_run_sd_ns = c->between_sd_ns = c->icc = c->within_20ns = NAN;
	c->tare_ns = c->net_ns = c->u_ns = c->dof = c->factor = c->expanded_ns = c->expanded_k3_ns = NAN;
	c->truth_net_ns = c->error_ns = c->paired_error_ns = NAN;
	c->carrier_asked_bps = c->carrier_offered_bps = c->carrier_received_bps = c->align_width_ns = NAN;
	c->regime = "";
	w->measured = (struct measured){ NAN, NAN, NAN };
	c->gross_interval = c->gross_order = c->gross_bootstrap = c->icc_interval = c->net_interval = c->net_order =
		c->net_bootstrap = none;
	count_up(w);
	if (rc == 0) {
		of_restarts = (struct column){ .values = values + room };
		conditions(w, &of_runs);
		cell_quantiles(w, &of_runs, &of_restarts);
		rc = distribution(w, arena, &of_runs, &of_restarts);
	}
	if (rc == 0)
		rc = spread(w, values, runs, seed);
	free(values);
	free(runs);
	return rc ? no_memory(err) : 0;
}

/* --- packets --- */

enum { PACKETS_KEPT = 5000 };

static int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Residuals to the arena, one of every `stride` neighbours; which one is drawn, so that no pattern of the stream hides. */
static int keep_packets(struct cell_result *c, const struct packet_net *nets, uint32_t count, struct arena *arena,
			uint64_t seed)
{
	uint32_t stride = (count + PACKETS_KEPT - 1) / PACKETS_KEPT;
	struct rng rng;

	rng_init_stream(&rng, seed, c->index);
	c->packet_stride = stride ? stride : 1;
	c->packet_id = arena_array(arena, PACKETS_KEPT, sizeof(double));
	c->packet_ns = arena_array(arena, PACKETS_KEPT, sizeof(double));
	if (!c->packet_id || !c->packet_ns)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i += stride) {
		uint32_t left = count - i < stride ? count - i : stride;
		uint32_t pick = i + (uint32_t)rng_below(&rng, left);

		c->packet_id[c->packet_count] = nets[pick].packet;
		c->packet_ns[c->packet_count++] = nets[pick].residual_ns;
	}
	return 0;
}

static int find_modes(struct cell_work *w, const struct packet_net *nets, uint32_t count, struct arena *arena)
{
	double *sorted = calloc(count ? count : 1, sizeof(*sorted));
	struct sample_set set = { .values = sorted, .finite = count, .quantum = w->grid_ns };
	struct cell_result *c = w->cell;
	struct modes modes = { 0 };
	int rc = -ENOMEM;

	for (uint32_t i = 0; sorted && i < count; i++)
		sorted[i] = nets[i].net_ns;
	if (sorted) {
		qsort(sorted, count, sizeof(*sorted), compare_double);
		rc = modes_find(&set, &modes);
	}
	free(sorted);
	if (rc != 0 || modes.count == 0)
		return rc;
	c->modes = arena_array(arena, modes.count, sizeof(*c->modes));
	if (!c->modes)
		return -ENOMEM;
	c->mode_count = modes.count;
	for (uint32_t i = 0; i < modes.count; i++)
		c->modes[i] = (struct mode_result){ .net_ns = modes.mode[i].location,
						    .share = 100 * modes.mode[i].share,
						    .packets = (uint64_t)llround(modes.mode[i].share * count) };
	return 0;
}

int cell_packets(struct cell_work *w, const struct cell_work *tare, struct arena *arena, uint64_t seed, struct err *err)
{
	const struct cell_result *c = w->cell;
	bool net = !c->is_tare && tare && tare->packets && !isnan(c->net_ns);
	double centre = net ? c->net_ns : c->gross.q[0].state == FIGURE_NUMBER ? c->gross.q[0].value : NAN;
	struct packet_net *nets;
	uint32_t count = 0;
	int rc;

	if (!w->packets || isnan(centre))
		return 0;
	nets = calloc(w->packet_count ? w->packet_count : 1, sizeof(*nets));
	if (!nets)
		return no_memory(err);
	if (net) {
		count = packet_nets(w->packets, w->packet_count, tare->packets, tare->packet_count, centre, nets);
	} else {
		for (uint32_t i = 0; i < w->packet_count; i++) {
			double m = w->packets[i].median_ns;

			if (isfinite(m))
				nets[count++] = (struct packet_net){ w->packets[i].packet, m, m - centre };
		}
	}
	rc = keep_packets(w->cell, nets, count, arena, seed);
	if (rc == 0)
		rc = find_modes(w, nets, count, arena);
	free(nets);
	return rc ? no_memory(err) : 0;
}
