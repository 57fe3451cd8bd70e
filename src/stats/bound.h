/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STATS_BOUND_H
#define TARE_STATS_BOUND_H

#include <stddef.h>
#include <stdint.h>

#include "stats/figure.h"

/*
 * A vendor's worst case against what was measured, packet by packet. The vendor states a pipeline's latency in cycles of
 * its clock; a program that inserts header bytes pushes the packet back by one cycle for each bus width begun, so the
 * bound of a packet is
 *
 *     (cycles + ceil(inserted bytes / bus bytes)) / clock
 *
 * Removed bytes give nothing back. The margin is how far below it a packet stays, in cycles; a measured latency has an
 * uncertainty, and a packet nearer to its bound than that is neither under nor over it.
 */
struct vendor_bound {
	double cycles;      /* stated for the program, without inserted headers */
	double clock_hz;    /* 250e6 */
	uint32_t bus_bytes; /* 64: 512 bits a cycle */
};

struct bounded_packet {
	uint32_t packet;
	double latency_ns;       /* net */
	uint32_t inserted_bytes; /* by the program, into this packet */
};

enum bound_verdict { BOUND_UNDER, BOUND_UNSURE, BOUND_OVER };

struct bound_margin {
	uint32_t packet;
	double bound_ns;
	double margin_cycles; /* negative: over the bound */
	enum bound_verdict verdict;
};

struct bound_summary {
	size_t packets, under, unsure, over;
	double least_cycles, median_cycles, most_cycles; /* margins; NaN without packets */
};

double bound_ns(const struct vendor_bound *vendor, uint32_t inserted_bytes);

/*
 * ret_margins has room for `count`: the packets that are not under their bound first, the furthest over it first, then
 * the rest in ascending margin. `expanded_ns`: uncertainty of the latencies, k = 2. Latencies must be finite; a lost
 * packet has none to hold against a bound.
 */
void bound_check(const struct vendor_bound *vendor, const struct bounded_packet *packets, size_t count,
		 double expanded_ns, struct bound_margin *ret_margins, struct bound_summary *ret);

#endif
