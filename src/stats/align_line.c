/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/align_line.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

enum { ROUNDS_MOST = 200 };
#define SETTLED_NS 1e-3

/* What one switch's clock may do in a segment. */
struct pace {
	double low, high; /* drift, ns per ns */
};

struct work {
	const struct align_options *options;
	uint32_t switches, count;
	struct align_point *points; /* with the host's times made up */
	struct line_alignment *a;
	uint32_t *segment_of; /* [k * count + i] */
	uint32_t *order;      /* [k * count + n]: packets by p4_in; those without stamps left out */
	uint32_t in_order[ALIGN_LINE_MOST];
	bool moved;
};

static bool stamped(const struct align_point *p)
{
	return p->p4_in_ns != ALIGN_NONE && p->p4_out_ns != ALIGN_NONE;
}

static const struct align_segment *segment(const struct work *w, uint32_t k, uint32_t i)
{
	return &w->a->clocks[k].segments[w->segment_of[k * w->count + i]];
}

static struct pace pace(const struct work *w, const struct align_segment *s)
{
	double most = w->options->drift_ppm * 1e-6;

	if (isfinite(s->low_ns) && isfinite(s->high_ns))
		return (struct pace){ s->drift_low, s->drift_high };
	return (struct pace){ -most, most };
}

/* A time known earlier on the way bounds all behind it, one known later all before. */
static void make_up_times(struct work *w, const struct align_point *seen)
{
	for (uint32_t i = 0; i < w->count; i++) {
		int64_t earlier = ALIGN_NONE, later = ALIGN_NONE;

		for (uint32_t k = 0; k < w->switches; k++) {
			size_t at = (size_t)k * w->count + i;

			/* ALIGN_NONE is less than any time */
			earlier = seen[at].sw_in_ns > earlier ? seen[at].sw_in_ns : earlier;
			w->points[at].sw_in_ns = earlier;
			earlier = seen[at].sw_out_ns > earlier ? seen[at].sw_out_ns : earlier;
		}
		for (uint32_t k = w->switches; k-- > 0;) {
			size_t at = (size_t)k * w->count + i;
			int64_t in = seen[at].sw_in_ns, out = seen[at].sw_out_ns;

			if (out != ALIGN_NONE && (later == ALIGN_NONE || out < later))
				later = out;
			w->points[at].sw_out_ns = later;
			if (in != ALIGN_NONE && (later == ALIGN_NONE || in < later))
				later = in;
		}
	}
}

static int by_p4_in(const void *a, const void *b, void *context)
{
	const struct align_point *points = context;
	int64_t x = points[*(const uint32_t *)a].p4_in_ns, y = points[*(const uint32_t *)b].p4_in_ns;

	return (x > y) - (x < y);
}

/* Own alignment, segments, order, and what is known of each offset before anything is combined. */
static int begin_switch(struct work *w, uint32_t k)
{
	struct align_point *points = w->points + (size_t)k * w->count;
	uint32_t *order = w->order + (size_t)k * w->count;
	int rc = align_find(points, w->count, w->options, &w->a->clocks[k]);

	for (uint32_t i = 0, s = 0; rc == 0 && i < w->count; i++) {
		const struct align_segment *now;
		double *low = &w->a->low_ns[k * w->count + i], *high = &w->a->high_ns[k * w->count + i], away;
		struct pace p;

		while (i >= w->a->clocks[k].segments[s].first + w->a->clocks[k].segments[s].count)
			s++;
		w->segment_of[k * w->count + i] = s;
		*low = -INFINITY;
		*high = INFINITY;
		if (!stamped(&points[i]))
			continue;
		order[w->in_order[k]++] = i;
		now = &w->a->clocks[k].segments[s];
		p = pace(w, now);
		away = (double)points[i].p4_in_ns - now->at_ns;
		*low = now->low_ns + fmin(p.low * away, p.high * away);
		*high = now->high_ns + fmax(p.low * away, p.high * away);
		if (isnan(now->offset_ns))
			continue; /* contradicts itself, or is bound on one side only */
		if (points[i].sw_in_ns != ALIGN_NONE)
			*low = fmax(*low,
				    (double)(points[i].sw_in_ns - points[i].p4_in_ns) - w->options->resolution_ns);
		if (points[i].sw_out_ns != ALIGN_NONE)
			*high = fmin(*high, (double)(points[i].sw_out_ns - points[i].p4_out_ns) -
						    p.low * (double)(points[i].p4_out_ns - points[i].p4_in_ns));
	}
	if (rc == 0)
		qsort_r(order, w->in_order[k], sizeof(*order), by_p4_in, points);
	return rc;
}

static void raise(struct work *w, double *low, double to)
{
	if (to <= *low + SETTLED_NS)
		return;
	*low = to;
	w->moved = true;
}

static void lower(struct work *w, double *high, double to)
{
	if (to >= *high - SETTLED_NS)
		return;
	*high = to;
	w->moved = true;
}

/* Along the packets of one switch, there and back. */
static void relax_time(struct work *w, uint32_t k)
{
	const uint32_t *order = w->order + (size_t)k * w->count;
	double *low = w->a->low_ns + (size_t)k * w->count, *high = w->a->high_ns + (size_t)k * w->count;
	const struct align_point *points = w->points + (size_t)k * w->count;

	for (uint32_t n = 1; n < w->in_order[k]; n++) {
		uint32_t a = order[n - 1], b = order[n];
		const struct align_segment *s = segment(w, k, a);
		double t = (double)(points[b].p4_in_ns - points[a].p4_in_ns);

		if (s != segment(w, k, b))
			continue;
		raise(w, &low[b], low[a] + pace(w, s).low * t);
		lower(w, &high[b], high[a] + pace(w, s).high * t);
	}
	for (uint32_t n = w->in_order[k]; n-- > 1;) {
		uint32_t a = order[n - 1], b = order[n];
		const struct align_segment *s = segment(w, k, a);
		double t = (double)(points[b].p4_in_ns - points[a].p4_in_ns);

		if (s != segment(w, k, b))
			continue;
		raise(w, &low[a], low[b] - pace(w, s).high * t);
		lower(w, &high[a], high[b] - pace(w, s).low * t);
	}
}

/* From each switch to the next, packet by packet. */
static void relax_hops(struct work *w)
{
	for (uint32_t k = 0; k + 1 < w->switches; k++)
		for (uint32_t i = 0; i < w->count; i++) {
			size_t at = (size_t)k * w->count + i, next = at + w->count;
			const struct align_point *p = &w->points[at], *q = &w->points[next];
			double away;

			if (!stamped(p) || !stamped(q))
				continue;
			away = (double)(q->p4_in_ns - p->p4_out_ns) + w->options->resolution_ns -
			       pace(w, segment(w, k, i)).low * (double)(p->p4_out_ns - p->p4_in_ns);
			lower(w, &w->a->high_ns[at], w->a->high_ns[next] + away);
			raise(w, &w->a->low_ns[next], w->a->low_ns[at] - away);
		}
}

static void conclude(struct work *w)
{
	for (size_t at = 0; at < (size_t)w->switches * w->count; at++) {
		bool empty = w->a->low_ns[at] > w->a->high_ns[at] + 2 * SETTLED_NS;

		if (!stamped(&w->points[at]) || empty)
			w->a->low_ns[at] = w->a->high_ns[at] = NAN;
		else if (w->a->low_ns[at] > w->a->high_ns[at])
			w->a->low_ns[at] = w->a->high_ns[at];
		w->a->contradicted += empty && stamped(&w->points[at]);
	}
}

int align_line_find(const struct align_point *points, uint32_t switches, uint32_t count,
		    const struct align_options *options, struct line_alignment *ret)
{
	size_t places = (size_t)switches * count, room = places ? places : 1;
	struct line_alignment a = { .switches = switches, .count = count };
	struct work w = { .options = options, .switches = switches, .count = count, .a = &a };
	int rc = 0;

	TARE_ASSERT(switches >= 1 && switches <= ALIGN_LINE_MOST);
	a.low_ns = malloc(room * sizeof(double));
	a.high_ns = malloc(room * sizeof(double));
	w.points = calloc(room, sizeof(*w.points));
	w.segment_of = calloc(room, sizeof(*w.segment_of));
	w.order = calloc(room, sizeof(*w.order));
	if (!a.low_ns || !a.high_ns || !w.points || !w.segment_of || !w.order)
		rc = -ENOMEM;
	if (rc == 0) {
		memcpy(w.points, points, places * sizeof(*points));
		make_up_times(&w, points);
	}
	for (uint32_t k = 0; rc == 0 && k < switches; k++)
		rc = begin_switch(&w, k);
	w.moved = rc == 0;
	for (int round = 0; w.moved && round < ROUNDS_MOST; round++) {
		w.moved = false;
		for (uint32_t k = 0; k < switches; k++)
			relax_time(&w, k);
		relax_hops(&w);
	}
	if (rc == 0)
		conclude(&w);
	free(w.points);
	free(w.segment_of);
	free(w.order);
	if (rc == 0)
		*ret = a;
	else
		line_alignment_release(&a);
	return rc;
}

void line_alignment_release(struct line_alignment *a)
{
	free(a->low_ns);
	free(a->high_ns);
	for (uint32_t k = 0; k < ALIGN_LINE_MOST; k++)
		alignment_release(&a->clocks[k]);
	*a = (struct line_alignment){ 0 };
}

double line_offset_ns(const struct line_alignment *a, uint32_t k, uint32_t i)
{
	double low = a->low_ns[(size_t)k * a->count + i], high = a->high_ns[(size_t)k * a->count + i];

	return isfinite(low) && isfinite(high) ? low + (high - low) / 2 : NAN;
}

double line_width_ns(const struct line_alignment *a, uint32_t k, uint32_t i)
{
	return a->high_ns[(size_t)k * a->count + i] - a->low_ns[(size_t)k * a->count + i];
}
