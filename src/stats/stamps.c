/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/stamps.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/err.h"
#include "stats/sort.h"

enum { RATE_LEAST = 16, SPREADS = 3 };

const struct stamp_options stamp_defaults = {
	.bits = 48, .unit_ns = 1000, .step_ns = 1e8, .pause_ns = 1e9, .rate_ppm = 1000
};

static double at_share(double *values, uint32_t count, double share)
{
	sort_double(values, count);
	return values[(uint32_t)(share * (count - 1))];
}

/* raw difference of two stamps, as much of it as the counter's width keeps, nearest to what was expected. */
static double advance(uint64_t from, uint64_t to, double expected, const struct stamp_options *o, bool *ret_wrapped)
{
	double period = ldexp(1, (int)o->bits);
	double raw = to >= from ? (double)(to - from) : -(double)(from - to);
	double turns = round((expected / o->unit_ns - raw) / period);

	*ret_wrapped = turns > 0;
	return (raw + turns * period) * o->unit_ns;
}

/* How fast the clock goes, roughly: the median over neighbours, which a few steps do not move. */
static double rough_rate(const uint64_t *raw, const int64_t *host_ns, uint32_t count, const struct stamp_options *o,
			 double *scratch)
{
	uint32_t n = 0, last = UINT32_MAX;
	bool wrapped;

	for (uint32_t i = 0; i < count; i++) {
		if (raw[i] == 0)
			continue;
		if (last != UINT32_MAX && host_ns[i] > host_ns[last]) {
			double elapsed = (double)(host_ns[i] - host_ns[last]);

			scratch[n++] = advance(raw[last], raw[i], elapsed, o, &wrapped) / elapsed;
		}
		last = i;
	}
	return n < RATE_LEAST ? 1 : at_share(scratch, n, 0.5);
}

struct line {
	const int64_t *host_ns;
	int64_t *ns;
	uint8_t *flags;
	uint32_t count;
	double *scratch; /* 2 * count */
};

/* Middle of the difference to the host's clock, less a slope, over good stamps of [first, end). Returns how many. */
static uint32_t gather(const struct line *l, uint32_t first, uint32_t end, double slope, double *to)
{
	uint32_t n = 0;

	for (uint32_t i = first; i < end; i++)
		if (l->ns[i] != STAMPS_NONE)
			to[n++] = (double)(l->ns[i] - l->ns[first]) - (double)(l->host_ns[i] - l->host_ns[first]) -
				  slope * (double)(l->host_ns[i] - l->host_ns[first]);
	return n;
}

/* Slope from the first third's median to the last third's; delays scatter, medians do not follow single ones. */
static void judge_rate(const struct line *l, uint32_t first, uint32_t end, const struct stamp_options *o,
		       struct stamp_summary *ret)
{
	uint32_t third = (end - first) / 3, n;
	double early, late, slope, spread, span;

	if (third < RATE_LEAST / 3 || l->ns[first] == STAMPS_NONE)
		return;
	n = gather(l, first, first + third, 0, l->scratch);
	early = n ? at_share(l->scratch, n, 0.5) : NAN;
	/* of the last third, against the same origin */
	n = gather(l, first, end, 0, l->scratch);
	if (n <= third)
		return;
	late = at_share(l->scratch + (n - third), third, 0.5);
	span = (double)(l->host_ns[end - third + (third - 1) / 2] - l->host_ns[first + (third - 1) / 2]);
	if (span <= 0 || isnan(early))
		return;
	slope = (late - early) / span;
	n = gather(l, first, end, slope, l->scratch);
	spread = at_share(l->scratch, n, 0.75) - at_share(l->scratch, n, 0.25);
	ret->rate_ppm = slope * 1e6;
	ret->rate_off = fabs(ret->rate_ppm) > o->rate_ppm && fabs(slope) * span > SPREADS * spread;
}

/* The longest run of stamps without a step. */
static void rate_of_longest(const struct line *l, const struct stamp_options *o, struct stamp_summary *ret)
{
	uint32_t first = 0, best_first = 0, best_end = 0;

	for (uint32_t i = 1; i <= l->count; i++) {
		if (i < l->count && !(l->flags[i] & STAMP_STEPPED))
			continue;
		if (i - first > best_end - best_first) {
			best_first = first;
			best_end = i;
		}
		first = i;
	}
	while (best_first < best_end && l->ns[best_first] == STAMPS_NONE)
		best_first++;
	judge_rate(l, best_first, best_end, o, ret);
}

/* What the clock went too far or not far enough, given when the two stamps can have been taken. */
static double jumped(double gone, double rate, const int64_t *host_ns, const int64_t *late_ns, uint32_t a, uint32_t b)
{
	int64_t late_a = late_ns && late_ns[a] > host_ns[a] ? late_ns[a] : host_ns[a];
	int64_t late_b = late_ns && late_ns[b] > host_ns[b] ? late_ns[b] : host_ns[b];
	double least = (double)(host_ns[b] - late_a) * rate, most = (double)(late_b - host_ns[a]) * rate;

	return gone < least ? gone - least : gone > most ? gone - most : 0;
}

int stamps_line(const uint64_t *raw, const int64_t *host_ns, const int64_t *late_ns, uint32_t count,
		const struct stamp_options *o, int64_t *ret_ns, uint8_t *ret_flags, struct stamp_summary *ret)
{
	struct line l = { host_ns, ret_ns, ret_flags, count, calloc((size_t)count * 2 + 1, sizeof(double)) };
	struct stamp_summary s = { .rate_ppm = NAN };
	uint32_t last = UINT32_MAX;
	double rate;

	TARE_ASSERT(o->bits >= 8 && o->bits <= 64);
	if (!l.scratch)
		return -ENOMEM;
	rate = rough_rate(raw, host_ns, count, o, l.scratch);
	for (uint32_t i = 0; i < count; i++) {
		bool wrapped = false;
		double elapsed, gone, jump;

		ret_ns[i] = STAMPS_NONE;
		ret_flags[i] = raw[i] == 0 ? STAMP_MISSING : 0;
		if (raw[i] == 0) {
			s.missing++;
			continue;
		}
		s.good++;
		if (last == UINT32_MAX) {
			ret_ns[i] = (int64_t)(raw[i] * o->unit_ns);
			last = i;
			continue;
		}
		elapsed = (double)(host_ns[i] - host_ns[last]);
		gone = advance(raw[last], raw[i], elapsed * rate, o, &wrapped);
		jump = jumped(gone, rate, host_ns, late_ns, last, i);
		ret_ns[i] = ret_ns[last] + (int64_t)gone;
		if (wrapped) {
			ret_flags[i] |= STAMP_WRAPPED;
			s.wraps++;
		}
		if (fabs(jump) > o->step_ns) {
			ret_flags[i] |= STAMP_STEPPED;
			s.steps++;
			s.step_ns = fabs(jump) > fabs(s.step_ns) ? jump : s.step_ns;
		}
		if (elapsed > o->pause_ns) {
			ret_flags[i] |= STAMP_PAUSED;
			s.pauses++;
		}
		last = i;
	}
	rate_of_longest(&l, o, &s);
	free(l.scratch);
	*ret = s;
	return 0;
}
