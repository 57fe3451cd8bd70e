/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/align.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/err.h"

/*
 * For a drift b, the offset at time 0 lies between low(b) = max(L - b t) and
 * high(b) = min(U - b t). high is concave in b and low convex, so high - low is
 * concave: where it is greatest tells whether anything is possible, and where it
 * crosses zero bounds the drifts that are. Only the corners of the hulls of the
 * two sets count.
 */
struct bound {
	double t, value;
};

struct hull {
	struct bound *corners;
	uint32_t count;
};

enum { SEARCH_STEPS = 100 };

/* Points come in order of t. sign +1: the upper hull of lower bounds; -1: the lower hull of upper bounds. */
static void hull_add(struct hull *h, double t, double value, double sign)
{
	if (h->count && t <= h->corners[h->count - 1].t) {
		/* not later than the last: bursts and reordering; kept apart by the one that binds more */
		t = h->corners[h->count - 1].t;
		if (sign * value <= sign * h->corners[h->count - 1].value)
			return;
		h->count--;
	}
	while (h->count >= 2) {
		const struct bound *a = &h->corners[h->count - 2], *b = &h->corners[h->count - 1];
		double cross = (b->t - a->t) * (value - a->value) - (b->value - a->value) * (t - a->t);

		if (sign * cross < 0)
			break;
		h->count--;
	}
	h->corners[h->count++] = (struct bound){ t, value };
}

static double low_of(const struct hull *h, double drift)
{
	double low = -INFINITY;

	for (uint32_t i = 0; i < h->count; i++)
		low = fmax(low, h->corners[i].value - drift * h->corners[i].t);
	return low;
}

static double high_of(const struct hull *h, double drift)
{
	double high = INFINITY;

	for (uint32_t i = 0; i < h->count; i++)
		high = fmin(high, h->corners[i].value - drift * h->corners[i].t);
	return high;
}

struct work {
	const struct align_point *points;
	const struct align_options *options;
	struct hull lower, upper;
};

static double width_of(const struct work *w, double drift)
{
	return high_of(&w->upper, drift) - low_of(&w->lower, drift);
}

/* Where a concave function is greatest on [from, to]. `which`: 0 width, 1 high, -1 minus low. */
static double greatest(const struct work *w, int which, double from, double to)
{
	for (int i = 0; i < SEARCH_STEPS && to > from; i++) {
		double a = from + (to - from) / 3, b = to - (to - from) / 3, fa, fb;

		fa = which == 0 ? width_of(w, a) : which > 0 ? high_of(&w->upper, a) : -low_of(&w->lower, a);
		fb = which == 0 ? width_of(w, b) : which > 0 ? high_of(&w->upper, b) : -low_of(&w->lower, b);
		if (fa < fb)
			from = a;
		else
			to = b;
	}
	return (from + to) / 2;
}

/* Between a possible drift and an impossible one (or the limit), the last possible. */
static double edge(const struct work *w, double good, double bad)
{
	if (width_of(w, bad) >= 0)
		return bad;
	for (int i = 0; i < SEARCH_STEPS; i++) {
		double middle = (good + bad) / 2;

		if (width_of(w, middle) >= 0)
			good = middle;
		else
			bad = middle;
	}
	return good;
}

static bool bounds_something(const struct align_point *p)
{
	return p->p4_in_ns != ALIGN_NONE && p->p4_out_ns != ALIGN_NONE &&
	       (p->sw_in_ns != ALIGN_NONE || p->sw_out_ns != ALIGN_NONE);
}

/* Hulls of points [first, end), with time 0 at `at`. Returns how many bound something. */
static uint32_t hulls_build(struct work *w, uint32_t first, uint32_t end, double at)
{
	uint32_t bounding = 0;

	w->lower.count = w->upper.count = 0;
	for (uint32_t i = first; i < end; i++) {
		const struct align_point *p = &w->points[i];

		if (!bounds_something(p))
			continue;
		bounding++;
		if (p->sw_in_ns != ALIGN_NONE)
			hull_add(&w->lower, (double)p->p4_in_ns - at,
				 (double)(p->sw_in_ns - p->p4_in_ns) - w->options->resolution_ns, 1);
		if (p->sw_out_ns != ALIGN_NONE)
			hull_add(&w->upper, (double)p->p4_out_ns - at, (double)(p->sw_out_ns - p->p4_out_ns), -1);
	}
	return bounding;
}

static double middle_of(const struct work *w, uint32_t first, uint32_t end)
{
	double low = INFINITY, high = -INFINITY;

	for (uint32_t i = first; i < end; i++) {
		if (!bounds_something(&w->points[i]))
			continue;
		low = fmin(low, (double)w->points[i].p4_in_ns);
		high = fmax(high, (double)w->points[i].p4_out_ns);
	}
	return high >= low ? low + (high - low) / 2 : 0;
}

/* Is there any offset and drift for all of [first, end)? Fills *ret if so. */
static bool segment_try(struct work *w, uint32_t first, uint32_t end, struct align_segment *ret)
{
	double most = w->options->drift_ppm * 1e-6, best = 0, low, high;
	struct align_segment s = { .first = first, .count = end - first, .at_ns = middle_of(w, first, end) };

	s.bounding = hulls_build(w, first, end, s.at_ns);
	if (w->lower.count && w->upper.count && most > 0)
		best = greatest(w, 0, -most, most);
	if (width_of(w, best) < 0)
		return false;
	if (w->lower.count && w->upper.count) {
		s.drift_low = edge(w, best, -most);
		s.drift_high = edge(w, best, most);
	}
	low = low_of(&w->lower, greatest(w, -1, s.drift_low, s.drift_high));
	high = high_of(&w->upper, greatest(w, 1, s.drift_low, s.drift_high));
	s.drift = best;
	s.low_ns = low;
	s.high_ns = high;
	s.offset_ns = isfinite(low) && isfinite(high) ? low + (high - low) / 2 : NAN;
	*ret = s;
	return true;
}

/* The longest segment from `first` on: more points only narrow what is possible, so it can be searched for by halves. */
static struct align_segment longest(struct work *w, uint32_t first, uint32_t count)
{
	struct align_segment best = { 0 };
	uint32_t good = first + 1, step = 1, bad;

	/* A packet alone may contradict itself: a clock stepped while it was inside. */
	if (!segment_try(w, first, good, &best))
		return (struct align_segment){ .first = first,
					       .count = 1,
					       .bounding = 1,
					       .low_ns = -INFINITY,
					       .high_ns = INFINITY,
					       .offset_ns = NAN };
	/* mostly there is one segment */
	if (first == 0 && segment_try(w, first, count, &best))
		return best;
	bad = first == 0 ? count : count + 1;
	while (good + step < bad) {
		if (!segment_try(w, first, good + step, &best)) {
			bad = good + step;
			break;
		}
		good += step;
		step *= 2;
	}
	while (bad - good > 1) {
		uint32_t middle = good + (bad - good) / 2;

		if (segment_try(w, first, middle, &best))
			good = middle;
		else
			bad = middle;
	}
	TARE_ASSERT(segment_try(w, first, good, &best));
	return best;
}

int align_find(const struct align_point *points, uint32_t count, const struct align_options *options,
	       struct alignment *ret)
{
	struct work w = { .points = points, .options = options };
	struct alignment a = { 0 };
	uint32_t capacity = 0;
	int rc = 0;

	w.lower.corners = calloc(count ? count : 1, sizeof(struct bound));
	w.upper.corners = calloc(count ? count : 1, sizeof(struct bound));
	if (!w.lower.corners || !w.upper.corners)
		rc = -ENOMEM;
	for (uint32_t next = 0; rc == 0 && next < count;) {
		if (a.count == capacity) {
			uint32_t more = capacity ? capacity * 2 : 4;
			struct align_segment *grown = realloc(a.segments, more * sizeof(*grown));

			if (!grown) {
				rc = -ENOMEM;
				break;
			}
			a.segments = grown;
			capacity = more;
		}
		a.segments[a.count] = longest(&w, next, count);
		next += a.segments[a.count++].count;
	}
	free(w.lower.corners);
	free(w.upper.corners);
	if (rc == 0)
		*ret = a;
	else
		alignment_release(&a);
	return rc;
}

void alignment_release(struct alignment *a)
{
	free(a->segments);
	*a = (struct alignment){ 0 };
}

const struct align_segment *alignment_of(const struct alignment *a, uint32_t i)
{
	for (uint32_t s = 0; s < a->count; s++)
		if (i < a->segments[s].first + a->segments[s].count)
			return &a->segments[s];
	err_bug(__FILE__, __LINE__, "point outside the alignment");
}

double align_to_host(const struct align_segment *s, int64_t switch_ns)
{
	return (double)switch_ns + s->offset_ns + s->drift * ((double)switch_ns - s->at_ns);
}
