/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/build.h"
#include "stats/agreement.h"
#include "stats/anderson.h"
#include "stats/secondclock.h"
#include "stats/shift.h"
#include "stats/sort.h"

/* What a second clock says of the same probes: packet by packet, quantile by quantile, and in net. */

enum { SHIFT_POINTS = 19 };
#define LIMITS_SHARE 0.95
#define REJECTED     0.05

/* The readings of one run, the same probes in both, in order of sending. */
struct readings {
	double *first_ns, *second_ns, *sorted_first, *sorted_second;
	int64_t *first_ps, *second_ps;
	uint32_t count;
};

static int readings_init(struct readings *r, uint32_t capacity)
{
	size_t n = capacity ? capacity : 1;

	*r = (struct readings){
		.first_ns = malloc(n * sizeof(double)),
		.second_ns = malloc(n * sizeof(double)),
		.sorted_first = malloc(n * sizeof(double)),
		.sorted_second = malloc(n * sizeof(double)),
		.first_ps = malloc(n * sizeof(int64_t)),
		.second_ps = malloc(n * sizeof(int64_t)),
	};
	return r->first_ns && r->second_ns && r->sorted_first && r->sorted_second && r->first_ps && r->second_ps
		       ? 0
		       : -ENOMEM;
}

static void readings_release(struct readings *r)
{
	free(r->first_ns);
	free(r->second_ns);
	free(r->sorted_first);
	free(r->sorted_second);
	free(r->first_ps);
	free(r->second_ps);
}

/* Probes that the first clock has in its figures, and the second has both copies of. */
static void gather(struct readings *r, const struct pair *pairs, uint32_t count, const struct second_pair *rows,
		   uint64_t row_count, double ns_per_tick, double offset_ns)
{
	for (uint64_t i = 0; i < row_count; i++) {
		const struct pair *p = rows[i].seq < count ? &pairs[rows[i].seq] : NULL;
		double first;

		if (!p || p->seq != rows[i].seq || p->fate != FATE_MATCHED || p->flags & PAIR_SET_APART)
			continue;
		first = (double)(p->path_ticks - p->bypass_ticks) * ns_per_tick;
		r->first_ns[r->count] = first;
		r->second_ns[r->count] = (double)rows[i].difference_ns - offset_ns;
		r->first_ps[r->count] = llround(first * 1000);
		r->second_ps[r->count++] = rows[i].difference_ns * 1000;
	}
	memcpy(r->sorted_first, r->first_ns, r->count * sizeof(double));
	memcpy(r->sorted_second, r->second_ns, r->count * sizeof(double));
	sort_double(r->sorted_first, r->count);
	sort_double(r->sorted_second, r->count);
}

static double median_of_sorted(const double *sorted, uint32_t n)
{
	return n == 0 ? NAN : n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

static double number_of(const struct figure *f)
{
	return f->state == FIGURE_NUMBER ? f->value : NAN;
}

/* Points and findings are the cell's first valid run's; later ones only say whether they differ too. */
static int keep_shift(struct cell_work *w, const struct shift_point *points, const struct shift *shift,
		      struct arena *arena)
{
	struct second_result *s = w->second;

	s->shift_p = arena_array(arena, SHIFT_POINTS, sizeof(double));
	s->shift_first_ns = arena_array(arena, SHIFT_POINTS, sizeof(double));
	s->shift_ns = arena_array(arena, SHIFT_POINTS, sizeof(double));
	s->shift_low_ns = arena_array(arena, SHIFT_POINTS, sizeof(double));
	s->shift_high_ns = arena_array(arena, SHIFT_POINTS, sizeof(double));
	if (!s->shift_p || !s->shift_first_ns || !s->shift_ns || !s->shift_low_ns || !s->shift_high_ns)
		return -ENOMEM;
	for (uint32_t i = 0; i < SHIFT_POINTS; i++) {
		s->shift_p[i] = 100 * points[i].p;
		s->shift_first_ns[i] = points[i].x;
		s->shift_ns[i] = points[i].difference;
		/* an open end is no number */
		s->shift_low_ns[i] = isfinite(points[i].low) ? points[i].low : NAN;
		s->shift_high_ns[i] = isfinite(points[i].high) ? points[i].high : NAN;
	}
	s->shift_count = SHIFT_POINTS;
	s->distance = 100 * shift->distance;
	s->band = 100 * shift->band;
	return 0;
}

static int keep_findings(struct cell_work *w, const struct readings *r, struct arena *arena)
{
	struct second_clock found;

	if (second_clock_check(r->first_ps, r->second_ps, r->count, 1e-3, &found) < 0)
		return -ENOMEM;
	w->second->findings = arena_array(arena, found.finding_count + 1, sizeof(char *));
	if (!w->second->findings)
		return -ENOMEM;
	for (unsigned i = 0; i < found.finding_count; i++) {
		const char *text = arena_strdup(arena, found.findings[i].text);

		if (!text)
			return -ENOMEM;
		w->second->findings[w->second->finding_count++] = text;
	}
	return 0;
}

/*
 * A clock whose steps are known only from its readings: ties are spread between the middles to the readings next to
 * them, so that a step that is no whole ns, or is cut to one, does no harm.
 */
static double median_of_ties(const double *sorted, uint32_t n)
{
	uint32_t low = n / 2, high = n / 2 + 1;
	double middle, left, right;

	if (n == 0)
		return NAN;
	middle = sorted[n / 2];
	while (low > 0 && sorted[low - 1] == middle)
		low--;
	while (high < n && sorted[high] == middle)
		high++;
	left = low > 0 ? (sorted[low - 1] + middle) / 2 : middle;
	right = high < n ? (sorted[high] + middle) / 2 : middle;
	return left + (right - left) * (n / 2.0 - low) / (high - low);
}

static int compare(struct cell_work *w, struct readings *r, struct second_figures *ret, struct arena *arena)
{
	struct shift_point points[SHIFT_POINTS];
	double p[SHIFT_POINTS];
	struct agreement agreement;
	struct anderson anderson;
	struct shift shift;
	int rc = agreement_compute(r->first_ns, r->second_ns, r->count, LIMITS_SHARE, 0.95, &agreement);

	if (rc < 0)
		return rc;
	for (int i = 0; i < SHIFT_POINTS; i++)
		p[i] = (i + 1) / (SHIFT_POINTS + 1.0);
	shift = shift_compute(r->sorted_first, r->count, r->sorted_second, r->count, p, SHIFT_POINTS, 0.95, points);
	anderson = anderson_darling(r->sorted_first, r->count, r->sorted_second, r->count);
	*ret = (struct second_figures){
		.there = true,
		.bias_ns = number_of(&agreement.bias),
		.median_ns = number_of(&agreement.median),
		.sd_ns = number_of(&agreement.sd),
		.low_ns = number_of(&agreement.lower_quantile.value),
		.high_ns = number_of(&agreement.upper_quantile.value),
		.slope = number_of(&agreement.slope),
		.anderson = number_of(&anderson.standardised),
		.anderson_p = number_of(&anderson.p),
		.apart = shift.distance > shift.band,
	};
	if (w->second->shift_count)
		return 0;
	rc = keep_shift(w, points, &shift, arena);
	return rc < 0 ? rc : keep_findings(w, r, arena);
}

static int count_up(struct cell_work *w, const struct second_record *clock, struct arena *arena)
{
	struct second_result *s = w->second;

	if (!s) {
		s = w->second = arena_alloc(arena, sizeof(*s));
		if (!s)
			return -ENOMEM;
		w->cell->second = s;
		w->cell->second_count = 1;
		s->clock = arena_strdup(arena, clock->clock);
		s->source = arena_strdup(arena, clock->source);
		s->resolution_ns = clock->resolution_ns > 0 ? clock->resolution_ns : NAN;
		s->gross_ns = s->tare_ns = s->net_ns = s->first_net_ns = NAN;
		s->net_interval = (struct span){ NAN, NAN, NAN };
		if (!s->clock || !s->source)
			return -ENOMEM;
	}
	s->runs++;
	s->pairs += clock->pairs;
	s->path_missing += clock->path_missing;
	s->bypass_missing += clock->bypass_missing;
	s->neither += clock->neither;
	s->duplicates += clock->duplicates;
	s->unreadable += clock->unreadable;
	s->foreign += clock->foreign;
	return 0;
}

int run_second(struct store *store, const struct stored_run *run, const struct pair *pairs, uint32_t count,
	       struct cell_work *w, double offset_ns, struct arena *arena, struct second_figures *ret, struct err *err)
{
	struct second_record clock;
	struct second_pair *rows;
	struct readings r = { 0 };
	int rc = store_read_second_clock(store, run, &clock, err);
	int64_t got;

	if (rc <= 0)
		return rc;
	rows = malloc((clock.pairs + 1) * sizeof(*rows));
	rc = rows ? readings_init(&r, (uint32_t)clock.pairs) : -ENOMEM;
	if (rc == 0)
		rc = count_up(w, &clock, arena);
	if (rc == 0) {
		got = store_read_second(store, run, &clock, rows, (uint32_t)clock.pairs, err);
		if (got < 0) {
			readings_release(&r);
			free(rows);
			return (int)got;
		}
		gather(&r, pairs, count, rows, clock.pairs, 1e9 / run->record.tsc_hz, offset_ns);
		if (w->cell->is_tare) {
			offset_ns =
				median_of_sorted(r.sorted_second, r.count) - median_of_sorted(r.sorted_first, r.count);
			r.count = 0;
			gather(&r, pairs, count, rows, clock.pairs, 1e9 / run->record.tsc_hz, offset_ns);
		}
		w->second->compared += r.count;
		/* with nothing in common there is nothing to compare */
		rc = r.count ? compare(w, &r, ret, arena) : 0;
		if (rc == 0 && r.count) {
			ret->first_ns = median_of_ties(r.sorted_first, r.count);
			ret->second_ns = median_of_ties(r.sorted_second, r.count) + offset_ns;
		}
	}
	readings_release(&r);
	free(rows);
	return rc < 0 ? err_set(err, ERR_HOST, ENOMEM, "out of memory for the second clock") : 0;
}

/* --- cells --- */

/* Median over the runs of a restart of the number at `offset` in their second figures; NaN: none. */
static double restart_second(const struct cell_work *w, uint32_t restart, size_t offset, double *scratch)
{
	const struct restart_result *r = w->restarts[restart];
	uint32_t n = 0;

	for (uint32_t j = 0; strcmp(r->state, "valid") == 0 && j < r->run_count; j++) {
		const struct second_figures *f = &w->traces[restart][j].second;
		double value = *(const double *)((const char *)f + offset);

		if (r->runs[j].valid && f->there && !isnan(value))
			scratch[n++] = value;
	}
	sort_double(scratch, n);
	return median_of_sorted(scratch, n);
}

static uint32_t most_runs(const struct cell_work *w)
{
	uint32_t most = w->restart_count;

	for (uint32_t i = 0; i < w->restart_count; i++)
		if (w->restarts[i]->run_count > most)
			most = w->restarts[i]->run_count;
	return most + 1;
}

static double over_restarts(const struct cell_work *w, size_t offset, double *scratch, double *restarts,
			    uint32_t *ret_count)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->restart_count; i++) {
		double value = restart_second(w, i, offset, scratch);

		if (!isnan(value))
			restarts[n++] = value;
	}
	sort_double(restarts, n);
	*ret_count = n;
	return median_of_sorted(restarts, n);
}

int cell_second_offset(const struct cell_work *tare, double *ret_ns)
{
	double *scratch, *restarts, second = NAN, first = NAN;
	uint32_t n;

	*ret_ns = 0;
	if (!tare->second)
		return 0;
	scratch = malloc(most_runs(tare) * sizeof(double));
	restarts = malloc(most_runs(tare) * sizeof(double));
	if (scratch && restarts) {
		second = over_restarts(tare, offsetof(struct second_figures, second_ns), scratch, restarts, &n);
		first = over_restarts(tare, offsetof(struct second_figures, first_ns), scratch, restarts, &n);
		*ret_ns = isnan(second) || isnan(first) ? 0 : second - first;
	}
	n = scratch && restarts ? 1 : 0;
	free(scratch);
	free(restarts);
	return n ? 0 : -ENOMEM;
}

/* A restart's tare by the clock at `offset`: the mean of the null's restarts in its block. */
static double block_tare(const struct cell_work *tare, uint32_t block, size_t offset, double *scratch)
{
	double sum = 0;
	unsigned n = 0;

	for (uint32_t i = 0; i < tare->restart_count; i++) {
		double value = tare->restarts[i]->block == block ? restart_second(tare, i, offset, scratch) : NAN;

		if (!isnan(value)) {
			sum += value;
			n++;
		}
	}
	return n ? sum / n : NAN;
}

/* Net by one clock over the probes that both have: median over restarts; `restarts` keeps them, sorted. */
static double net_by(const struct cell_work *w, const struct cell_work *tare, size_t offset, double *scratch,
		     double *restarts, uint32_t *ret_count)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->restart_count; i++) {
		double net = restart_second(w, i, offset, scratch);

		net -= block_tare(tare, w->restarts[i]->block, offset, scratch);
		if (!isnan(net))
			restarts[n++] = net;
	}
	sort_double(restarts, n);
	*ret_count = n;
	return median_of_sorted(restarts, n);
}

int cell_second(struct cell_work *w, const struct cell_work *tare)
{
	static const size_t first = offsetof(struct second_figures, first_ns),
			    second = offsetof(struct second_figures, second_ns);
	struct second_result *s = w->second;
	uint32_t most = most_runs(w), n;
	double *scratch, *restarts;
	struct interval interval;

	if (!s)
		return 0;
	if (tare && most_runs(tare) > most)
		most = most_runs(tare);
	scratch = malloc(most * sizeof(double));
	restarts = malloc(most * sizeof(double));
	if (!scratch || !restarts) {
		free(scratch);
		free(restarts);
		return -ENOMEM;
	}
	s->gross_ns = over_restarts(w, second, scratch, restarts, &n);
	s->bias_ns = over_restarts(w, offsetof(struct second_figures, bias_ns), scratch, restarts, &n);
	interval = median_interval_interpolated(restarts, n, 0.95);
	s->bias_interval = span_of(&interval);
	s->median_ns = over_restarts(w, offsetof(struct second_figures, median_ns), scratch, restarts, &n);
	s->sd_ns = over_restarts(w, offsetof(struct second_figures, sd_ns), scratch, restarts, &n);
	s->low_ns = over_restarts(w, offsetof(struct second_figures, low_ns), scratch, restarts, &n);
	s->high_ns = over_restarts(w, offsetof(struct second_figures, high_ns), scratch, restarts, &n);
	s->slope = over_restarts(w, offsetof(struct second_figures, slope), scratch, restarts, &n);
	s->anderson = over_restarts(w, offsetof(struct second_figures, anderson), scratch, restarts, &n);
	s->anderson_p = over_restarts(w, offsetof(struct second_figures, anderson_p), scratch, restarts, &n);
	for (uint32_t i = 0; i < w->restart_count; i++)
		for (uint32_t j = 0; j < w->restarts[i]->run_count; j++) {
			const struct second_figures *f = &w->traces[i][j].second;

			s->runs_apart += f->there && f->apart;
			s->runs_rejected += f->there && f->anderson_p < REJECTED;
		}
	if (tare && tare != w) {
		s->first_net_ns = net_by(w, tare, first, scratch, restarts, &n);
		s->net_ns = net_by(w, tare, second, scratch, restarts, &n);
		interval = median_interval_interpolated(restarts, n, 0.95);
		s->net_interval = span_of(&interval);
		s->tare_ns = s->gross_ns - s->net_ns;
	}
	free(scratch);
	free(restarts);
	return 0;
}
