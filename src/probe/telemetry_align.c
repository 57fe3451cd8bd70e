/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "probe/telemetry.h"

/* A rate that is off is followed with so much room around what was measured. */
#define RATE_ROOM 1.5

int telemetry_init(struct telemetry *t, uint32_t switches, uint32_t count, bool int_md)
{
	*t = (struct telemetry){ .switches = switches,
				 .count = count,
				 .int_md = int_md,
				 .unit_ns = int_md ? 1 : 1000,
				 .bits = int_md ? 64 : 48 };
	t->hops = calloc((size_t)switches * count + 1, sizeof(*t->hops));
	t->tx_ns = calloc((size_t)count + 1, sizeof(*t->tx_ns));
	if (!t->hops || !t->tx_ns) {
		telemetry_release(t);
		return -ENOMEM;
	}
	for (uint32_t k = 0; k < switches; k++)
		for (uint32_t i = 0; i < count; i++)
			t->hops[(size_t)k * count + i] = (struct hop){ .seq = i,
								       .hop = (uint8_t)(k + 1),
								       .sw_in_ns = TELEMETRY_NONE,
								       .sw_out_ns = TELEMETRY_NONE,
								       .p4_in_ns = TELEMETRY_NONE,
								       .p4_out_ns = TELEMETRY_NONE };
	return 0;
}

void telemetry_release(struct telemetry *t)
{
	free(t->hops);
	free(t->tx_ns);
	t->hops = NULL;
	t->tx_ns = NULL;
}

void telemetry_take_stack(struct telemetry *t, uint32_t probe, const uint8_t *at, size_t length_bytes)
{
	struct int_hop hops[INT_HOPS_MAX];
	uint32_t count;
	enum int_fault fault = int_shim_decode(at, length_bytes, hops, &count, &t->counts.shim);

	if (fault != INT_OK && fault != INT_NO_STAMP)
		return;
	if (count != t->switches) {
		t->counts.other_length++;
		return;
	}
	for (uint32_t k = 0; k < count; k++) {
		struct hop *h = &t->hops[(size_t)k * t->count + probe];

		h->stamped = true;
		h->switch_id = hops[k].switch_id;
		h->raw_in = hops[k].ingress_us;
		h->raw_out = hops[k].egress_us;
		t->counts.other_id += h->switch_id != k + 1;
	}
}

void telemetry_take_report(struct telemetry *t, uint32_t probe, const uint8_t *at, size_t length_bytes)
{
	const uint16_t stamps = INT_I_IN | INT_I_OUT;
	struct int_report r;
	enum int_md_fault fault = int_report_decode(at, length_bytes, &r, &t->counts.md);

	if (fault != INT_MD_OK && fault != INT_MD_NO_STAMP)
		return;
	if (r.md.hop_count != t->switches) {
		t->counts.other_length++;
		return;
	}
	for (uint32_t k = 0; k < r.md.hop_count; k++) {
		const struct int_md_hop *m = &r.md.hops[k];
		struct hop *h = &t->hops[(size_t)k * t->count + probe];

		h->stamped = true;
		h->switch_id = m->node_id;
		h->raw_in = (m->has & stamps) == stamps ? m->in_ns : 0;
		h->raw_out = (m->has & stamps) == stamps ? m->out_ns : 0;
		t->counts.other_id += (m->has & INT_I_NODE) && m->node_id != k + 1;
	}
}

/* --- one switch's stamps --- */

/* Egress beside ingress: nearest, as nothing stays inside for half a period. */
static int64_t beside(const struct telemetry *t, const struct hop *h)
{
	int64_t away = (int64_t)(h->raw_out - h->raw_in) * t->unit_ns;

	if (t->bits < 64) {
		int64_t period = (INT64_C(1) << t->bits),
			raw = (int64_t)((h->raw_out - h->raw_in) & (uint64_t)(period - 1));

		away = (raw >= period / 2 ? raw - period : raw) * (int64_t)t->unit_ns;
	}
	return h->p4_in_ns + away;
}

struct scratch {
	uint64_t *raw;
	int64_t *host_ns, *late_ns, *ns;
	uint8_t *flags;
};

static int scratch_init(struct scratch *s, uint32_t count)
{
	s->raw = calloc(count + 1, sizeof(*s->raw));
	s->host_ns = calloc(count + 1, sizeof(*s->host_ns));
	s->late_ns = calloc(count + 1, sizeof(*s->late_ns));
	s->ns = calloc(count + 1, sizeof(*s->ns));
	s->flags = calloc(count + 1, sizeof(*s->flags));
	return s->raw && s->host_ns && s->late_ns && s->ns && s->flags ? 0 : -ENOMEM;
}

static void scratch_release(struct scratch *s)
{
	free(s->raw);
	free(s->host_ns);
	free(s->late_ns);
	free(s->ns);
	free(s->flags);
}

/* Probes that did not come back are no missing stamps: they are not looked at. */
static int unwrap_switch(struct telemetry *t, uint32_t k, struct scratch *s)
{
	const struct stamp_options options = { .bits = t->bits,
					       .unit_ns = t->unit_ns,
					       .step_ns = stamp_defaults.step_ns,
					       .pause_ns = stamp_defaults.pause_ns,
					       .rate_ppm = stamp_defaults.rate_ppm };
	struct hop *hops = t->hops + (size_t)k * t->count;
	uint32_t n = 0;
	int rc;

	for (uint32_t i = 0; i < t->count; i++) {
		if (!hops[i].stamped)
			continue;
		s->raw[n] = hops[i].raw_out ? hops[i].raw_in : 0;
		s->late_ns[n] = hops[i].sw_out_ns;
		s->host_ns[n++] = hops[i].sw_in_ns != TELEMETRY_NONE ? hops[i].sw_in_ns : t->tx_ns[i];
	}
	rc = stamps_line(s->raw, s->host_ns, s->late_ns, n, &options, s->ns, s->flags, &t->clocks[k].stamps);
	n = 0;
	for (uint32_t i = 0; rc == 0 && i < t->count; i++) {
		if (!hops[i].stamped)
			continue;
		hops[i].flags = s->flags[n];
		hops[i].p4_in_ns = s->ns[n] == STAMPS_NONE ? TELEMETRY_NONE : s->ns[n];
		hops[i].p4_out_ns = s->ns[n] == STAMPS_NONE ? TELEMETRY_NONE : beside(t, &hops[i]);
		n++;
	}
	return rc;
}

/* --- all switches together --- */

static int64_t or_none(int64_t ns)
{
	return ns == TELEMETRY_NONE ? ALIGN_NONE : ns;
}

static struct align_point *points_of(const struct telemetry *t)
{
	size_t places = (size_t)t->switches * t->count;
	struct align_point *points = calloc(places + 1, sizeof(*points));

	for (size_t at = 0; points && at < places; at++)
		points[at] = (struct align_point){ .sw_in_ns = or_none(t->hops[at].sw_in_ns),
						   .sw_out_ns = or_none(t->hops[at].sw_out_ns),
						   .p4_in_ns = or_none(t->hops[at].p4_in_ns),
						   .p4_out_ns = or_none(t->hops[at].p4_out_ns) };
	return points;
}

/* A stamp is cut down to its clock's step, which may be more than the unit that it is written in: us written as ns. */
static double resolution_ns(const struct telemetry *t)
{
	size_t places = (size_t)t->switches * t->count;

	if (t->unit_ns != 1)
		return t->unit_ns;
	for (size_t at = 0; at < places; at++)
		if (t->hops[at].raw_in % 1000 || t->hops[at].raw_out % 1000)
			return 1;
	return 1000;
}

static double drift_allowed(const struct telemetry *t)
{
	double most = t->drift_ppm;

	for (uint32_t k = 0; k < t->switches; k++)
		if (t->clocks[k].stamps.rate_off)
			most = fmax(most, RATE_ROOM * fabs(t->clocks[k].stamps.rate_ppm));
	return most;
}

/* Delays that grow look like a rate that is off. It is off if no rate near the host's allows what happened. */
static int confirm_rate(struct telemetry *t, uint32_t k, const struct align_point *points, double resolution)
{
	const struct align_options near = { .resolution_ns = resolution, .drift_ppm = stamp_defaults.rate_ppm };
	struct stamp_summary *s = &t->clocks[k].stamps;
	struct alignment a;
	int rc;

	if (!s->rate_off)
		return 0;
	rc = align_find(points + (size_t)k * t->count, t->count, &near, &a);
	if (rc < 0)
		return rc;
	s->rate_off = a.count > s->steps + 1;
	alignment_release(&a);
	return 0;
}

static const struct align_segment *longest(const struct alignment *a)
{
	const struct align_segment *best = NULL;

	for (uint32_t s = 0; s < a->count; s++)
		if (!best || a->segments[s].bounding > best->bounding)
			best = &a->segments[s];
	return best;
}

static void conclude_switch(struct telemetry *t, uint32_t k, const struct line_alignment *a)
{
	struct telemetry_clock *c = &t->clocks[k];
	const struct align_segment *best = longest(&a->clocks[k]);

	c->segments = a->clocks[k].count;
	c->drift_ppm = best ? best->drift * 1e6 : NAN;
	for (uint32_t i = 0; i < t->count; i++) {
		struct hop *h = &t->hops[(size_t)k * t->count + i];

		h->boot_ns = (double)c->boot_ns;
		h->causal_ns = h->width_ns = h->truth_ns = NAN;
		if (h->p4_in_ns == TELEMETRY_NONE)
			continue;
		h->causal_ns = line_offset_ns(a, k, i);
		h->width_ns = isnan(h->causal_ns) ? NAN : line_width_ns(a, k, i);
		if (c->told) {
			double in = (double)h->p4_in_ns, near = (double)t->tx_ns[i];

			h->truth_ns = told_clock_host_ns(&c->truth, t->started_utc_ns, in, near) - in;
		}
		if (isnan(h->causal_ns) || i < best->first || i >= best->first + best->count)
			h->flags |= HOP_APART;
	}
}

int telemetry_align(struct telemetry *t)
{
	struct align_options allowed = { .resolution_ns = resolution_ns(t) };
	struct align_point *points = NULL;
	struct line_alignment a = { 0 };
	struct scratch s = { 0 };
	int rc = scratch_init(&s, t->count);

	for (uint32_t k = 0; rc == 0 && k < t->switches; k++)
		rc = unwrap_switch(t, k, &s);
	scratch_release(&s);
	points = rc == 0 ? points_of(t) : NULL;
	if (rc == 0 && !points)
		rc = -ENOMEM;
	for (uint32_t k = 0; rc == 0 && k < t->switches; k++)
		rc = confirm_rate(t, k, points, allowed.resolution_ns);
	allowed.drift_ppm = drift_allowed(t);
	if (rc == 0)
		rc = align_line_find(points, t->switches, t->count, &allowed, &a);
	free(points);
	if (rc < 0)
		return rc;
	t->contradicted = a.contradicted;
	for (uint32_t k = 0; k < t->switches; k++)
		conclude_switch(t, k, &a);
	line_alignment_release(&a);
	return 0;
}
