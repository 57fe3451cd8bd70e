/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_TELEMETRY_H
#define TARE_PROBE_TELEMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "clock/told.h"
#include "lab/topology.h"
#include "packet/int_md.h"
#include "packet/int_shim.h"
#include "probe/tap.h"
#include "probe/transit.h"
#include "stats/align_line.h"
#include "stats/stamps.h"

/*
 * One run of telemetry: a transit run (probe/transit.h) through a line of switches
 * whose program stacks a hop of in-band telemetry on each probe, seen
 * by taps at every interface of every switch. What host b receives is decoded;
 * each hop's stamps are put on the host's clock in two ways, side by side on the same
 * packets: by when the switch's process began (boot, the published way), and by
 * causality (stats/align_line.h). Where a switch tells its clock the error of
 * both is known.
 */
enum { TELEMETRY_HOPS = LAB_SWITCHES_MOST, TELEMETRY_PROBES_MOST = TAP_SLOTS_MOST - 256 };

_Static_assert((int)LAB_SWITCHES_MOST == (int)ALIGN_LINE_MOST && (int)LAB_SWITCHES_MOST == (int)INT_HOPS_MAX,
	       "lines of one length");

#define TELEMETRY_NONE INT64_MIN

enum hop_flags {
	/* the low bits are enum stamp_flags, of the ingress stamp */
	HOP_APART = 1 << 6, /* another segment than the longest of its switch, or contradicted: in no figure */
};

/* One hop of one probe. Host times: CLOCK_REALTIME ns since the run's start. */
struct hop {
	uint32_t seq;
	uint8_t hop; /* from 1, in the order of the line */
	uint8_t flags;
	bool stamped; /* the probe came back with this hop in its stack */
	uint32_t switch_id;
	uint64_t raw_in, raw_out;    /* as they stood in the packet */
	int64_t sw_in_ns, sw_out_ns; /* kernel, at the switch's interfaces; TELEMETRY_NONE */
	int64_t p4_in_ns, p4_out_ns; /* the switch's clock, unwrapped; TELEMETRY_NONE */
	double boot_ns;              /* host - switch: by process start, */
	double causal_ns, width_ns;  /* by causality (middle and width of its interval; NaN), */
	double truth_ns;             /* and in truth; NaN: not known */
};

/* Stacks that host b received, by what was wrong with them. */
struct telemetry_counts {
	struct int_counts shim;  /* the stack behind the instrument header, */
	struct int_md_counts md; /* or reports of INT-MD */
	uint64_t other_length;   /* whole, but not as many hops as the line has switches */
	uint64_t other_id;       /* hops whose switch id is not the place in the line */
};

/* A switch of the line in one run. */
struct telemetry_clock {
	int64_t boot_ns; /* when its process was started, since the run's start */
	bool told;       /* its clock is known: */
	struct told_clock truth;
	struct stamp_summary stamps;
	uint32_t segments; /* of its alignment; more than 1: it stepped */
	double drift_ppm;  /* host's clock over the switch's, middle of what is possible, longest segment */
};

struct telemetry {
	uint32_t switches, count; /* count: probes sent */
	bool int_md;              /* hops come in reports of INT-MD, else as a stack in the probe */
	unsigned unit_ns, bits;   /* of raw stamps */
	int64_t started_utc_ns;
	struct hop *hops; /* [k * count + i]: probe i at the switch k */
	int64_t *tx_ns;   /* of each probe */
	struct telemetry_counts counts;
	struct telemetry_clock clocks[TELEMETRY_HOPS];
	double drift_ppm; /* allowed in the alignment */
	uint32_t contradicted;
};

/* What a run of `count` probes through so many switches needs, stamps as the form has them (INT-MD: ns). -ENOMEM. */
int telemetry_init(struct telemetry *t, uint32_t switches, uint32_t count, bool int_md);
void telemetry_release(struct telemetry *t);

/*
 * transit_run with taps and stacks; `rows` as there, config->count at most TELEMETRY_PROBES_MOST. Fills *ret, which
 * telemetry_init made for config->count probes. Errors and invalid runs as of transit_run.
 */
int telemetry_run(const struct transit_config *config, struct transit *rows, struct telemetry *ret,
		  struct run_record *ret_record, struct transit_conditions *ret_conditions, struct err *err);

/* --- pure parts --- */

/* A frame of a probe at host b: decode its stack into the hops of that probe. `at`: behind the instrument header. */
void telemetry_take_stack(struct telemetry *t, uint32_t probe, const uint8_t *at, size_t length_bytes);

/* A report of INT-MD about that probe, from its group header on. */
void telemetry_take_report(struct telemetry *t, uint32_t probe, const uint8_t *at, size_t length_bytes);

/*
 * Unwrap, align, and set against the truth: from raw stamps, kernel's stamps and clocks to everything else of *t. A rate that
 * is off by more than the plan allows is followed all the same, and flagged in its stamp_summary. 0 or -ENOMEM.
 */
int telemetry_align(struct telemetry *t);

#endif
