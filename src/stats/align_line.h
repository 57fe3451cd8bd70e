/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STATS_ALIGN_LINE_H
#define TARE_STATS_ALIGN_LINE_H

#include <stdint.h>

#include "stats/align.h"

/*
 * Alignment of all switches of a line at once, by causality. Beside what stats/align.h
 * says of one switch, a packet cannot enter the next switch before it left the
 * last:
 *
 *	p4_out(k) + offset(k) <= p4_in(k+1) + offset(k+1) + resolution
 *
 * and any time of the host that is known earlier on the way (later) holds for
 * all that comes behind it (before it), so that a missing stamp of the kernel is made up for. An offset
 * at one packet and at the next differ by no more than the drift allows. All of these
 * are bounds of differences: the tightest ones that follow from all together are
 * shortest paths, found by relaxing every bound until none moves. Each clock's
 * own alignment comes first: its segments end where the clock stepped (no bound
 * crosses from one to the next), and its lines narrow the drift.
 *
 * The truth is inside, whatever the delays were. Where the bounds contradict one
 * another after all, the packet's interval is NaN and counted. Pure.
 */
enum { ALIGN_LINE_MOST = 8 };

struct line_alignment {
	uint32_t switches, count; /* count: packets */
	/* [k * count + i]: host - switch k when packet i entered it; infinite: not bound; NaN: contradicted, or no stamp */
	double *low_ns, *high_ns;
	struct alignment clocks[ALIGN_LINE_MOST]; /* each by its own kernel stamps */
	uint32_t contradicted;                    /* places of packets */
};

/*
 * points[k * count + i]: packet i at switch k, in order of sending. 0 or -ENOMEM. *ret is the caller's
 * (line_alignment_release).
 */
int align_line_find(const struct align_point *points, uint32_t switches, uint32_t count,
		    const struct align_options *options, struct line_alignment *ret);
void line_alignment_release(struct line_alignment *a);

/* The estimate for packet i at switch k: the middle of the interval. NaN: not bound on both sides. */
double line_offset_ns(const struct line_alignment *a, uint32_t k, uint32_t i);
double line_width_ns(const struct line_alignment *a, uint32_t k, uint32_t i);

#endif
