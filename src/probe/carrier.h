/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_CARRIER_H
#define TARE_PROBE_CARRIER_H

#include <stdint.h>

#include "base/err.h"
#include "target/target.h"

/*
 * Continuous background traffic through a line: UDP frames of one size from host
 * a to host b, at a rate, on an absolute schedule, sent by a thread of its own from
 * carrier_start to carrier_stop, before other work on its CPU where the host allows it. Never measured as probes; what arrives at
 * host b is counted there by the kernel. A rate is of whole Ethernet frames, with their FCS, without preamble and gap.
 */
enum { CARRIER_PORT = 9 };

struct carrier;

struct carrier_config {
	const struct target_line *line;
	int64_t rate_bps;
	uint32_t frame_bytes; /* without FCS */
	uint64_t frames;      /* after which it sends no more; 0: until it is stopped */
	int32_t cpu;          /* where its thread runs; -1: anywhere */
};

int carrier_start(const struct carrier_config *config, struct carrier **ret, struct err *err);
void carrier_stop(struct carrier *c); /* NULL is fine */

/* Send no more; what is under way still arrives and is counted. Once, and carrier_stop afterwards. */
void carrier_halt(struct carrier *c);

/* Sent and arrived since the start; may be asked at any time by the thread that started it. */
struct carrier_counts {
	int64_t at_ns;          /* CLOCK_MONOTONIC */
	uint64_t due;           /* frames that the schedule asked for up to now, or to carrier_halt */
	uint64_t sent, refused; /* frames; refused: the interface would not take them */
	uint64_t received;
	int64_t hole_ns; /* longest time by which a frame went out too late, the next in a burst behind it */
};
int carrier_counts(struct carrier *c, struct carrier_counts *ret, struct err *err);

/* Bit/s of so many frames in a time, as the rate is meant. */
double carrier_bps(uint64_t frames, uint32_t frame_bytes, int64_t elapsed_ns);

#endif
