/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STATS_ALIGN_H
#define TARE_STATS_ALIGN_H

#include <stdint.h>

/*
 * Alignment of a switch's own clock with the host's, by causality. A packet cannot
 * enter the program before it enters the switch's interface, nor leave the
 * interface before it begins to leave the program. So each packet bounds the offset
 * host = switch + offset from both sides:
 *
 *	offset > sw_in - p4_in - resolution      (a stamp of the switch is cut down to its resolution)
 *	offset <= sw_out - p4_out
 *
 * All packets of a run together leave an interval. Its middle is the estimate and its width
 * the uncertainty: the truth is inside, with no assumption about the delays.
 * With drift allowed, the bounds are a pair of lines: offset + drift * (t - at).
 * An interval that is empty says that a clock stepped; the packets are then cut
 * into segments, each as long as it can be, aligned apart. Pure.
 */
#define ALIGN_NONE INT64_MIN /* this stamp does not exist */

/* In order of sending. Without p4 stamps a packet bounds nothing; with one of sw_in and sw_out, from one side. */
struct align_point {
	int64_t sw_in_ns, sw_out_ns; /* host clock */
	int64_t p4_in_ns, p4_out_ns; /* switch's clock */
};

struct align_options {
	double resolution_ns; /* of the switch's stamps, which are cut down, not rounded */
	double drift_ppm;     /* most the clocks drift against each other; 0: they are one clock */
};

struct align_segment {
	uint32_t first, count;  /* points; what bounds nothing belongs to the segment it stands in */
	uint32_t bounding;      /* points that bound something */
	double at_ns;           /* switch's clock, middle of the segment: where the figures below hold */
	double low_ns, high_ns; /* the offset is in there; infinite: nothing bounds that side */
	double offset_ns;       /* their middle; NaN without both bounds */
	double drift;           /* ns per ns, of the line through the middle of what is possible */
	double drift_low, drift_high;
};

struct alignment {
	struct align_segment *segments;
	uint32_t count;
};

/* 0 or -ENOMEM. *ret is the caller's (alignment_release). No points: no segments. */
int align_find(const struct align_point *points, uint32_t count, const struct align_options *options,
	       struct alignment *ret);
void alignment_release(struct alignment *a);

/* The segment that point `i` is in; i must be one of the points. */
const struct align_segment *alignment_of(const struct alignment *a, uint32_t i);

/* A stamp of the switch on the host's clock, with the best estimate; NaN where there is none. */
double align_to_host(const struct align_segment *s, int64_t switch_ns);

/* Width of the interval in the middle of the segment: the uncertainty. Infinite: not bound on a side. */
static inline double align_width(const struct align_segment *s)
{
	return s->high_ns - s->low_ns;
}

#endif
