/* SPDX-License-Identifier: Apache-2.0 */
#include "campaign/attribution.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/tracer.h"

enum { STAMP_NS = 1000 }; /* a switch's stamps are cut down to us */

int attribution_begin(struct attribution *a, const struct lab_line *line, int32_t cpu, struct err *err)
{
	pid_t pids[TRACER_PROCESSES_MOST];
	struct tracer_config config = { .processes = pids, .cpu = cpu };
	struct err why = { 0 };

	attribution_release(a);
	if (line->switch_count != 1)
		return err_set(err, ERR_USAGE, EINVAL, "tracer: on, with %u switches in the line; expected hops: 1",
			       line->switch_count);
	pids[config.process_count++] = process_pid(line->switches[0].process);
	if (tracer_start(&config, &a->tracer, &why) < 0)
		snprintf(a->why_not, sizeof(a->why_not), "%s", why.message);
	idle_read("", &a->idle_before);
	return 0;
}

void attribution_release(struct attribution *a)
{
	struct trace trace;

	if (a->tracer && tracer_stop(a->tracer, &trace, NULL) == 0)
		trace_release(&trace);
	free(a->parts);
	*a = (struct attribution){ 0 };
}

/* --- dividing --- */

/* A probe whose time can be divided: both stamps, and an alignment that holds for it. */
struct divided {
	uint32_t seq;
	int64_t in_ns, out_ns; /* the switch's clock, in the middle of what the stamp may be */
	double low_ns, high_ns;
};

static uint32_t choose_probes(const struct transit *rows, uint32_t count, const struct alignment *alignment,
			      struct divided *ret)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct align_segment *s = alignment_of(alignment, i);

		if (rows[i].fate != FATE_MATCHED || (rows[i].flags & TRANSIT_SET_APART) ||
		    rows[i].p4_out_us < rows[i].p4_in_us || !isfinite(s->low_ns) || !isfinite(s->high_ns))
			continue;
		ret[n++] = (struct divided){ .seq = rows[i].seq,
					     .in_ns = rows[i].p4_in_us * 1000,
					     .out_ns = rows[i].p4_out_us * 1000,
					     .low_ns = s->low_ns,
					     .high_ns = s->high_ns };
	}
	return n;
}

/* One offset for the whole run: what every segment's interval allows, or the first one's where clocks stepped. */
static void offset_of(const struct divided *probes, uint32_t count, double *low, double *high)
{
	*low = probes[0].low_ns;
	*high = probes[0].high_ns;
	for (uint32_t i = 1; i < count; i++) {
		*low = fmax(*low, probes[i].low_ns);
		*high = fmin(*high, probes[i].high_ns);
	}
	if (*low > *high) {
		*low = probes[0].low_ns;
		*high = probes[0].high_ns;
	}
}

static void divide_all(const struct sched_path *path, const struct divided *probes, uint32_t count, double offset_ns,
		       int64_t start_real_ns, struct probe_parts *ret)
{
	const int64_t shift = llround(offset_ns) + start_real_ns + STAMP_NS / 2;

	for (uint32_t i = 0; i < count; i++) {
		ret[i].seq = probes[i].seq;
		sched_path_divide(path, probes[i].in_ns + shift, probes[i].out_ns + shift, ret[i].ns);
	}
}

static int64_t whole(const struct probe_parts *p)
{
	int64_t sum = 0;

	for (int k = 0; k < PATH_PARTS; k++)
		sum += p->ns[k];
	return sum;
}

static int by_whole(const void *a, const void *b)
{
	int64_t x = whole(*(const struct probe_parts *const *)a), y = whole(*(const struct probe_parts *const *)b);

	return (x > y) - (x < y);
}

/* Mean parts of the probes that rank from..to by their whole time: these add up, which medians of parts do not. */
static void mean_parts(const struct probe_parts *const *ranked, uint32_t from, uint32_t to, double ret[PATH_PARTS])
{
	for (int k = 0; k < PATH_PARTS; k++) {
		ret[k] = 0;
		for (uint32_t i = from; i < to; i++)
			ret[k] += (double)ranked[i]->ns[k] / (to - from);
	}
}

static int summarise(const struct probe_parts *parts, uint32_t count, double median[PATH_PARTS],
		     double slow[PATH_PARTS])
{
	const struct probe_parts **ranked = malloc((count + 1) * sizeof(const struct probe_parts *));
	uint32_t from = (uint32_t)(count * UINT64_C(4) / 10), to = (uint32_t)(count * UINT64_C(6) / 10);

	if (!ranked)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		ranked[i] = &parts[i];
	qsort(ranked, count, sizeof(const struct probe_parts *), by_whole);
	mean_parts(ranked, from, to > from ? to : from + 1, median);
	mean_parts(ranked, count - 1 - count / 10, count, slow);
	free(ranked);
	return 0;
}

/* How much the answer hangs on where in its interval the offset is. */
static int try_ends(struct attribution *a, const struct sched_path *path, const struct divided *probes, uint32_t count,
		    const double ends[2], int64_t start_real_ns)
{
	struct probe_parts *parts = malloc((count + 1) * sizeof(*parts));
	double median[PATH_PARTS], slow[PATH_PARTS];
	int rc = parts ? 0 : -ENOMEM;

	for (int e = 0; rc == 0 && e < 2; e++) {
		divide_all(path, probes, count, ends[e], start_real_ns, parts);
		rc = summarise(parts, count, median, slow);
		for (int k = 0; rc == 0 && k < PATH_PARTS; k++)
			a->ends_ns[k] = fmax(a->ends_ns[k], fabs(median[k] - a->median_ns[k]));
	}
	free(parts);
	return rc;
}

static int narrow(const struct sched_path *path, const struct divided *probes, uint32_t count, int64_t start_real_ns,
		  double *low, double *high)
{
	int64_t *stamps = malloc((2 * (size_t)count + 1) * sizeof(*stamps));

	if (!stamps)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		stamps[2 * i] = probes[i].in_ns + start_real_ns;
		stamps[2 * i + 1] = probes[i].out_ns + start_real_ns;
	}
	sched_path_narrow(path, stamps, 2 * (size_t)count, STAMP_NS, low, high);
	free(stamps);
	return 0;
}

static int divide(struct attribution *a, struct trace *trace, const struct transit *rows, uint32_t row_count,
		  const struct alignment *alignment, int64_t start_real_ns)
{
	struct divided *probes = malloc((row_count + 1) * sizeof(*probes));
	struct sched_path *path = sched_path_create(trace->events, trace->count);
	uint32_t count = probes && path ? choose_probes(rows, row_count, alignment, probes) : 0;
	double ends[2];
	int rc = probes && path ? 0 : -ENOMEM;

	if (rc == 0 && count) {
		offset_of(probes, count, &ends[0], &ends[1]);
		a->align_ns = ends[1] - ends[0];
		rc = narrow(path, probes, count, start_real_ns, &ends[0], &ends[1]);
		a->narrowed_ns = ends[1] - ends[0];
		a->parts = malloc(count * sizeof(*a->parts));
		rc = rc < 0 || !a->parts ? -ENOMEM : 0;
	}
	if (rc == 0 && count) {
		a->count = count;
		divide_all(path, probes, count, (ends[0] + ends[1]) / 2, start_real_ns, a->parts);
		rc = summarise(a->parts, count, a->median_ns, a->slow_ns);
	}
	if (rc == 0 && count)
		rc = try_ends(a, path, probes, count, ends, start_real_ns);
	sched_path_destroy(path);
	free(probes);
	return rc;
}

static void no_answer(struct attribution *a)
{
	a->align_ns = a->narrowed_ns = NAN;
	for (int k = 0; k < PATH_PARTS; k++) {
		a->median_ns[k] = a->slow_ns[k] = NAN;
		a->ends_ns[k] = a->count ? 0 : NAN;
	}
}

int attribution_end(struct attribution *a, struct transit *rows, uint32_t count, int64_t start_real_ns,
		    double drift_ppm, struct err *err)
{
	struct transit_conditions unused = { 0 };
	struct alignment alignment = { 0 };
	struct ledger ledger = { 0 };
	struct trace trace = { 0 };
	int rc = tracer_stop(a->tracer, &trace, err);

	a->tracer = NULL;
	idle_read("", &a->idle_after);
	no_answer(a);
	a->events = trace.count;
	a->dropped = trace.dropped;
	if (rc == 0 && rows && !a->why_not[0]) {
		for (int k = 0; k < PATH_PARTS; k++)
			a->ends_ns[k] = 0;
		rc = transit_align(rows, count, drift_ppm, &ledger, &unused, &alignment);
		if (rc == 0)
			rc = divide(a, &trace, rows, count, &alignment, start_real_ns);
		if (rc < 0)
			rc = err_set(err, ERR_HOST, ENOMEM, "out of memory for the scheduler's events");
		if (a->count == 0)
			no_answer(a);
		alignment_release(&alignment);
	}
	trace_release(&trace);
	return rc;
}

/* --- storing --- */

static uint32_t part_values(const struct attribution *a, struct run_value *ret)
{
	static const char *const names[3][PATH_PARTS] = {
		{ "part_wake_up", "part_cpu_wait", "part_running", "part_rest" },
		{ "slow_wake_up", "slow_cpu_wait", "slow_running", "slow_rest" },
		{ "error_wake_up", "error_cpu_wait", "error_running", "error_rest" },
	};
	const double *of[3] = { a->median_ns, a->slow_ns, a->ends_ns };
	uint32_t n = 0;

	for (int set = 0; set < 3; set++)
		for (int k = 0; k < PATH_PARTS; k++)
			ret[n++] = (struct run_value){ names[set][k], "us", of[set][k] / 1000 };
	return n;
}

/* What a host does not show is not asked of each run. */
static uint32_t shown(const char *name, const char *unit, double value, struct run_value *ret)
{
	if (isnan(value))
		return 0;
	*ret = (struct run_value){ name, unit, value };
	return 1;
}

int attribution_put(const struct attribution *a, struct store *store, struct err *err)
{
	struct run_value values[32];
	struct idle_use idle;
	uint32_t n = part_values(a, values);
	int r;

	idle_between(&a->idle_before, &a->idle_after, &idle);
	values[n++] = (struct run_value){ "trace_align", "us", a->align_ns / 1000 };
	values[n++] = (struct run_value){ "trace_narrowed", "us", a->narrowed_ns / 1000 };
	values[n++] = (struct run_value){ "trace_events", "", a->why_not[0] ? NAN : (double)a->events };
	values[n++] = (struct run_value){ "trace_dropped", "", a->why_not[0] ? NAN : (double)a->dropped };
	n += shown("idle_entries", "/s", idle.entries_per_s, values + n);
	n += shown("idle_deepest", "%", idle.deepest_share * 100, values + n);
	n += shown("idle_shallower", "%", idle.shallower_share * 100, values + n);
	n += shown("cpu_frequency", "MHz", idle.frequency_mhz, values + n);
	n += shown("cpu_frequency_switches", "/s", idle.frequency_switches_per_s, values + n);
	r = store_put_values(store, values, n, err);
	if (r == 0 && a->why_not[0])
		r = store_put_event(store, "not traced", a->why_not, err);
	return r == 0 && a->count ? store_put_parts(store, a->parts, a->count, err) : r;
}
