/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_TELEMETRY_FIGURES_H
#define TARE_PROBE_TELEMETRY_FIGURES_H

#include "probe/telemetry.h"

/*
 * What a run of telemetry comes to, as numbers with names. A name ends in the hop
 * it is of; what is between two switches has the later one's number. Times are
 * us. Only hops in the longest segment of their switch's clock are in a
 * figure (HOP_APART), the rest is counted.
 *
 *	offset_width      the widest of offset_width_K; boot_off the largest of boot_off_K, without its sign; causal_error
 *	                  likewise; covered: every covered_K is 1
 *	offset_width_K    width of the causal interval of host - switch
 *	causal_error_K    causal offset less the truth, where the switch tells its clock
 *	boot_error_K      offset by process start less the truth, likewise
 *	covered_K         1: the truth was inside the causal interval at every probe
 *	rate_K            of the switch's clock over the host's, ppm
 *	boot_drift_K      the published figure: ingress of hop K less egress of the one before, by process start
 *	boot_spread_K     its standard deviation within the run
 *	boot_off_K        boot_drift_K less link_K: how wrong the alignment by process start is, whatever is known
 *	link_K            the same time by causality: the latency of the link, with
 *	link_u_K          half the width of the interval that it is known to,
 *	link_spread_K     and its standard deviation within the run
 *	link_error_K      link_K less the truth, where both switches tell their clocks
 *	wire_K            sw_out to sw_in, by the kernel's stamps alone
 *
 * and of the run as a whole: hops, apart, contradicted, steps, pauses, wraps, rates_off, missing, and
 * faults of stacks by reason (int_...); what did not happen is not listed, but for hops and apart.
 */
struct telemetry_value {
	char name[40];
	const char *unit;
	double value;
};

enum { TELEMETRY_VALUES_MOST = 14 * TELEMETRY_HOPS + 32 };

/* How many there are; numbers that the data cannot say are left out. -ENOMEM. */
int telemetry_figures(const struct telemetry *t, struct telemetry_value ret[TELEMETRY_VALUES_MOST]);

#endif
