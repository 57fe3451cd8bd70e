/* SPDX-License-Identifier: Apache-2.0 */
#include "campaign/control_values.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "stats/quantile.h"
#include "stats/sort.h"

static const double confidence = 0.95;

struct values {
	struct run_value *items;
	int count;
};

static void put(struct values *v, const char *name, const char *unit, double value)
{
	TARE_ASSERT(v->count < CONTROL_VALUES_MOST);
	v->items[v->count++] = (struct run_value){ name, unit, value };
}

/* --- latencies --- */

/* A quantile in us; infinity where it falls on an operation that failed, NaN where there are too few for it. */
static double quantile_us(const struct sample_set *set, double p)
{
	struct figure f = quantile_figure(set, p, confidence);

	return f.state == FIGURE_NUMBER ? f.value / 1000 : f.state == FIGURE_LOST ? INFINITY : NAN;
}

static const struct {
	const char *name;
	double p;
} quantiles[] = { { "latency_p50", 0.5 }, { "latency_p90", 0.9 }, { "latency_p99", 0.99 }, { "latency_p999", 0.999 } };

static void put_latencies(struct values *v, const struct operation *rows, uint32_t count, int64_t *scratch)
{
	struct sample_set set = { .ticks = scratch };

	for (uint32_t i = 0; i < count; i++) {
		if (rows[i].sent_ns == OPERATION_NONE)
			continue;
		if (rows[i].status == GRPC_OK)
			scratch[set.finite++] = rows[i].answered_ns - rows[i].sent_ns;
		else
			set.lost++;
	}
	sort_i64(scratch, set.finite, scratch + count);
	for (size_t q = 0; q < sizeof(quantiles) / sizeof(quantiles[0]); q++)
		if (count >= quantile_need(quantiles[q].p, confidence))
			put(v, quantiles[q].name, "us", quantile_us(&set, quantiles[q].p));
	put(v, "latency_max", "us", set.lost ? INFINITY : set.finite ? (double)scratch[set.finite - 1] / 1000 : NAN);
}

/* --- fairness --- */

/*
 * Each switch's time from when it was begun with (sync: one after another) to its last answer. Jain's index over their rates: 1 when all took the same time, 1/N when
 * one took them all. Operations that failed are answers too.
 */
static void put_fairness(struct values *v, const struct control_account *account, const struct operation *rows,
			 uint32_t count)
{
	double times[CONTROL_SWITCHES_MOST] = { 0 }, sum = 0, squares = 0, slowest = 0, fastest = INFINITY;

	if (account->switches < 2)
		return;
	for (uint32_t i = 0; i < count; i++) {
		const struct operation *o = &rows[i];

		if (o->at < CONTROL_SWITCHES_MOST && o->answered_ns != OPERATION_NONE)
			times[o->at] = fmax(times[o->at], (double)(o->answered_ns - o->queued_ns));
	}
	for (uint32_t s = 0; s < account->switches && s < CONTROL_SWITCHES_MOST; s++) {
		double rate = times[s] > 0 ? 1 / times[s] : 0;

		sum += rate;
		squares += rate * rate;
		slowest = times[s] > slowest ? times[s] : slowest;
		fastest = times[s] < fastest ? times[s] : fastest;
	}
	put(v, "fairness", "", squares > 0 ? sum * sum / (account->switches * squares) : NAN);
	put(v, "slowest_fastest", "", fastest > 0 ? slowest / fastest : INFINITY);
}

/* --- acting --- */

/* From the answer to the first packet that came out; how far apart the two bounds are, where there are two. */
static void put_acting(struct values *v, const struct control_account *account, const struct operation *rows,
		       uint32_t count, int64_t *scratch)
{
	struct sample_set set = { .ticks = scratch }, widths = { .ticks = scratch + count };
	int64_t *width = scratch + count;

	if (account->watched == 0)
		return;
	for (uint32_t i = 0; i < count; i++) {
		const struct operation *o = &rows[i];

		if (!(o->flags & OPERATION_WATCHED))
			continue;
		if (o->acting_high_ns == OPERATION_NONE || o->answered_ns == OPERATION_NONE) {
			set.lost++;
			continue;
		}
		scratch[set.finite++] = o->acting_high_ns - o->answered_ns;
		if (o->acting_low_ns != OPERATION_NONE)
			width[widths.finite++] = o->acting_high_ns - o->acting_low_ns;
	}
	sort_i64(scratch, set.finite, scratch + 2 * (size_t)count);
	sort_i64(width, widths.finite, scratch + 2 * (size_t)count);
	if (set.finite + set.lost >= quantile_need(0.5, confidence))
		put(v, "answered_to_acting", "us", quantile_us(&set, 0.5));
	put(v, "answered_to_acting_max", "us",
	    set.lost     ? INFINITY
	    : set.finite ? (double)scratch[set.finite - 1] / 1000
			 : NAN);
	put(v, "acting_resolution", "us",
	    widths.finite ? quantile_point(&widths, 0.5).value / 1000 + account->clock_u_ns / 1000 : NAN);
	put(v, "acting_bracketed", "%",
	    100.0 * (double)(account->acting_seen - account->acting_unbound) / (double)account->watched);
	put(v, "answered_early", "%", 100.0 * (double)account->acting_early / (double)account->watched);
}

int control_values(const struct control_account *account, const struct operation *rows, uint32_t count,
		   struct run_value ret[CONTROL_VALUES_MOST])
{
	/* what a read or a write does to each entry: a wildcard read is one operation on `count` entries */
	double entries = (double)account->answered_ok *
			 (account->operations < (uint64_t)account->switches * account->count ? account->count : 1);
	int64_t *scratch = malloc(((size_t)count * 3 + 1) * sizeof(*scratch));
	struct values v = { .items = ret };

	if (!scratch)
		return -ENOMEM;
	put(&v, "batch_wall", "ms", (double)account->wall_ns / 1e6);
	put(&v, "entries_per_second", "1/s", account->wall_ns > 0 ? entries * 1e9 / (double)account->wall_ns : NAN);
	put_latencies(&v, rows, count, scratch);
	put_fairness(&v, account, rows, count);
	put(&v, "client_cpu_per_entry", "us", entries > 0 ? (double)account->client_cpu_ns / entries / 1000 : NAN);
	if (account->server_cpu_ns >= 0)
		put(&v, "server_cpu_per_entry", "us",
		    entries > 0 ? (double)account->server_cpu_ns / entries / 1000 : NAN);
	put(&v, "failed", "", (double)account->failed);
	put_acting(&v, account, rows, count, scratch);
	free(scratch);
	return v.count;
}
