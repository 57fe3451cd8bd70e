/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/telemetry_figures.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stats/sort.h"

struct list {
	struct telemetry_value *items;
	uint32_t count;
	double *scratch; /* t->count */
	uint32_t n;      /* in scratch */
};

__attribute__((format(printf, 4, 5))) static void say(struct list *l, double value, const char *unit, const char *fmt,
						      ...)
{
	struct telemetry_value *v = &l->items[l->count];
	va_list ap;

	if (!isfinite(value))
		return;
	TARE_ASSERT(l->count < TELEMETRY_VALUES_MOST);
	va_start(ap, fmt);
	vsnprintf(v->name, sizeof(v->name), fmt, ap);
	va_end(ap);
	v->unit = unit;
	v->value = value;
	l->count++;
}

static void add(struct list *l, double value)
{
	if (isfinite(value))
		l->scratch[l->n++] = value;
}

/* Median of what was added, in us; NaN of nothing. Forgets it. */
static double median_us(struct list *l)
{
	uint32_t n = l->n;
	double m;

	l->n = 0;
	if (n == 0)
		return NAN;
	sort_double(l->scratch, n);
	m = n % 2 ? l->scratch[n / 2] : (l->scratch[n / 2 - 1] + l->scratch[n / 2]) / 2;
	return m / 1000;
}

/* Standard deviation of what was added, in us; keeps it. */
static double spread_us(const struct list *l)
{
	double mean = 0, sum = 0;

	if (l->n < 2)
		return NAN;
	for (uint32_t i = 0; i < l->n; i++)
		mean += l->scratch[i] / l->n;
	for (uint32_t i = 0; i < l->n; i++)
		sum += (l->scratch[i] - mean) * (l->scratch[i] - mean);
	return sqrt(sum / (l->n - 1)) / 1000;
}

static bool counts(const struct hop *h)
{
	return h->p4_in_ns != TELEMETRY_NONE && !(h->flags & HOP_APART);
}

/* --- a switch --- */

static double covered(const struct hop *hops, uint32_t count)
{
	bool any = false;

	for (uint32_t i = 0; i < count; i++) {
		if (isnan(hops[i].truth_ns) || isnan(hops[i].causal_ns))
			continue;
		any = true;
		/* the stamp was cut down by up to its resolution, and the interval says so */
		if (fabs(hops[i].truth_ns - hops[i].causal_ns) > hops[i].width_ns / 2)
			return 0;
	}
	return any ? 1 : NAN;
}

static void of_switch(struct list *l, const struct telemetry *t, uint32_t k)
{
	const struct hop *hops = t->hops + (size_t)k * t->count;

	for (uint32_t i = 0; i < t->count; i++)
		if (counts(&hops[i]))
			add(l, hops[i].width_ns);
	say(l, median_us(l), "us", "offset_width_%" PRIu32, k + 1);
	for (uint32_t i = 0; i < t->count; i++)
		if (counts(&hops[i]))
			add(l, hops[i].causal_ns - hops[i].truth_ns);
	say(l, median_us(l), "us", "causal_error_%" PRIu32, k + 1);
	for (uint32_t i = 0; i < t->count; i++)
		if (counts(&hops[i]))
			add(l, hops[i].boot_ns - hops[i].truth_ns);
	say(l, median_us(l), "us", "boot_error_%" PRIu32, k + 1);
	say(l, covered(hops, t->count), "", "covered_%" PRIu32, k + 1);
	say(l, t->clocks[k].stamps.rate_ppm, "ppm", "rate_%" PRIu32, k + 1);
}

/* --- a link --- */

enum by { BY_BOOT, BY_CAUSE, BY_TRUTH };

static double offset(const struct hop *h, enum by by)
{
	return by == BY_BOOT ? h->boot_ns : by == BY_CAUSE ? h->causal_ns : h->truth_ns;
}

/* Stamps are cut down alike on both sides, so the cut cancels on average. */
static double link_ns(const struct hop *from, const struct hop *to, enum by by)
{
	return (double)(to->p4_in_ns - from->p4_out_ns) + offset(to, by) - offset(from, by);
}

static double gather_link(struct list *l, const struct telemetry *t, uint32_t k, enum by by, double *ret_spread_us)
{
	const struct hop *from = t->hops + (size_t)k * t->count, *to = from + t->count;

	for (uint32_t i = 0; i < t->count; i++)
		if (counts(&from[i]) && counts(&to[i]))
			add(l, link_ns(&from[i], &to[i], by));
	*ret_spread_us = spread_us(l);
	return median_us(l);
}

/* The offsets' intervals add up; both stamps' resolution comes to it, and a link takes no negative time. */
static double link_u_us(struct list *l, const struct telemetry *t, uint32_t k)
{
	const struct hop *from = t->hops + (size_t)k * t->count, *to = from + t->count;

	for (uint32_t i = 0; i < t->count; i++)
		if (counts(&from[i]) && counts(&to[i]))
			add(l, (from[i].width_ns + to[i].width_ns) / 2 + t->unit_ns);
	return median_us(l);
}

static void of_link(struct list *l, const struct telemetry *t, uint32_t k)
{
	const struct hop *from = t->hops + (size_t)k * t->count, *to = from + t->count;
	double boot_spread, link_spread, truth_spread;
	double boot = gather_link(l, t, k, BY_BOOT, &boot_spread);
	double link = gather_link(l, t, k, BY_CAUSE, &link_spread);
	double truth = gather_link(l, t, k, BY_TRUTH, &truth_spread);
	uint32_t hop = k + 2;

	say(l, boot, "us", "boot_drift_%" PRIu32, hop);
	say(l, boot_spread, "us", "boot_spread_%" PRIu32, hop);
	say(l, boot - link, "us", "boot_off_%" PRIu32, hop);
	say(l, link, "us", "link_%" PRIu32, hop);
	say(l, link_u_us(l, t, k), "us", "link_u_%" PRIu32, hop);
	say(l, link_spread, "us", "link_spread_%" PRIu32, hop);
	say(l, link - truth, "us", "link_error_%" PRIu32, hop);
	for (uint32_t i = 0; i < t->count; i++)
		if (from[i].sw_out_ns != TELEMETRY_NONE && to[i].sw_in_ns != TELEMETRY_NONE)
			add(l, (double)(to[i].sw_in_ns - from[i].sw_out_ns));
	say(l, median_us(l), "us", "wire_%" PRIu32, hop);
}

/* --- the run --- */

static void say_count(struct list *l, uint64_t count, const char *name)
{
	if (count)
		say(l, (double)count, "", "%s", name);
}

static void of_run(struct list *l, const struct telemetry *t)
{
	static const char *const faults[INT_FAULTS] = { [INT_CUT] = "int_cut_short",
							[INT_EMPTY] = "int_empty",
							[INT_TOO_MANY] = "int_too_many_hops",
							[INT_NO_STAMP] = "int_zero_stamp" };
	static const char *const md_faults[INT_MD_FAULTS] = { [INT_MD_CUT] = "int_cut_short",
							      [INT_MD_NO_INT] = "int_not_int",
							      [INT_MD_VERSION_BAD] = "int_other_version",
							      [INT_MD_LENGTH] = "int_wrong_length",
							      [INT_MD_HOP_LENGTH] = "int_wrong_hop_length",
							      [INT_MD_INSTRUCTIONS] = "int_unknown_instructions",
							      [INT_MD_TOO_MANY] = "int_too_many_hops",
							      [INT_MD_EMPTY] = "int_empty",
							      [INT_MD_NO_STAMP] = "int_zero_stamp",
							      [INT_MD_REPORT] = "int_not_a_report" };
	uint64_t hops = 0, apart = 0, steps = 0, pauses = 0, wraps = 0, off = 0, missing = 0;

	for (size_t at = 0; at < (size_t)t->switches * t->count; at++) {
		hops += t->hops[at].stamped;
		apart += t->hops[at].stamped && !counts(&t->hops[at]);
	}
	for (uint32_t k = 0; k < t->switches; k++) {
		const struct telemetry_clock *c = &t->clocks[k];

		/* those too small for the stamps alone are seen as segments */
		steps += c->segments > c->stamps.steps + 1 ? c->segments - 1 : c->stamps.steps;
		pauses = c->stamps.pauses > pauses ? c->stamps.pauses : pauses;
		wraps += c->stamps.wraps;
		off += c->stamps.rate_off;
		missing += c->stamps.missing;
	}
	say(l, (double)hops, "", "hops");
	say(l, (double)apart, "", "apart");
	say_count(l, t->contradicted, "contradicted");
	say_count(l, steps, "steps");
	say_count(l, pauses, "pauses");
	say_count(l, wraps, "wraps");
	say_count(l, off, "rates_off");
	say_count(l, missing, "missing");
	for (int f = 0; !t->int_md && f < INT_FAULTS; f++)
		if (faults[f])
			say_count(l, t->counts.shim.by_fault[f], faults[f]);
	for (int f = 0; t->int_md && f < INT_MD_FAULTS; f++)
		if (md_faults[f])
			say_count(l, t->counts.md.by_fault[f], md_faults[f]);
	say_count(l, t->counts.other_length, "int_other_length");
	say_count(l, t->counts.other_id, "int_other_id");
}

/* The largest, signs aside, of what has a name that begins so; NaN of nothing. */
static double worst(const struct list *l, const char *prefix)
{
	double most = NAN;

	for (uint32_t i = 0; i < l->count; i++)
		if (strncmp(l->items[i].name, prefix, strlen(prefix)) == 0)
			most = fmax(most, fabs(l->items[i].value));
	return most;
}

/* What a line comes to as a whole, before what its hops come to. */
static void sum_up(struct list *l)
{
	struct telemetry_value head[4] = { 0 };
	struct list sum = { .items = head };
	double least = NAN;

	for (uint32_t i = 0; i < l->count; i++)
		if (strncmp(l->items[i].name, "covered_", strlen("covered_")) == 0)
			least = fmin(least, l->items[i].value);
	say(&sum, worst(l, "boot_off_"), "us", "boot_off");
	say(&sum, worst(l, "offset_width_"), "us", "offset_width");
	say(&sum, worst(l, "causal_error_"), "us", "causal_error");
	say(&sum, least, "", "covered");
	TARE_ASSERT(l->count + sum.count <= TELEMETRY_VALUES_MOST);
	memmove(l->items + sum.count, l->items, l->count * sizeof(*l->items));
	memcpy(l->items, head, sum.count * sizeof(*head));
	l->count += sum.count;
}

int telemetry_figures(const struct telemetry *t, struct telemetry_value ret[TELEMETRY_VALUES_MOST])
{
	struct list l = { .items = ret, .scratch = calloc((size_t)t->count + 1, sizeof(double)) };

	if (!l.scratch)
		return -ENOMEM;
	for (uint32_t k = 0; k < t->switches; k++)
		of_switch(&l, t, k);
	for (uint32_t k = 0; k + 1 < t->switches; k++)
		of_link(&l, t, k);
	sum_up(&l);
	of_run(&l, t);
	free(l.scratch);
	return (int)l.count;
}
