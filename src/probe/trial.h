/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_TRIAL_H
#define TARE_PROBE_TRIAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "stats/ratesearch.h"
#include "target/target.h"

/*
 * One trial of a search for the rate that a line carries: so many frames of
 * carrier at a rate, with probes among them; then quiet, until what was under way
 * has arrived; then what is missing is lost, exactly. The carrier begins when a probe has
 * come through the idle line, and settles before the first probe that counts.
 */
struct trial_config {
	struct target_line line;
	int64_t interval_ns, deadline_ns; /* of probes; one that is late is lost */
	int64_t settle_ns;
	uint32_t frame_bytes, carrier_frame_bytes;
	double goal_loss;         /* share of the carrier that may be lost: what is no longer a hole that matters */
	int32_t cpu, carrier_cpu; /* of what sends; -1: any */
	bool unprotected;         /* leave scheduling and memory as they are (tests) */
	const atomic_bool *interrupted; /* NULL: cannot be interrupted */
};

/* Stored as it is. */
struct trial {
	int64_t started_utc_ns;
	int64_t rate_bps, duration_ns; /* as asked for */
	uint32_t probes_sent, probes_arrived;
	/* Frames: that the schedule asked for; that went out; that the interface refused; that arrived. */
	uint64_t carrier_due, carrier_sent, carrier_refused, carrier_received;
	double offered_bps, received_bps;
	int64_t hole_ns;       /* longest time by which the carrier was late, a burst behind it */
	double p50_us, p99_us; /* p4_out - p4_in over probes sent; infinite: lost; NaN: too few to say */
	uint32_t
		sender_short; /* 1: a hundredth of the carrier did not go out for want of time, or all of it unevenly */
	uint32_t tries;       /* how often it was run: one with a hole is run again, four times at most */
	uint32_t high;        /* 1: it lost more than the goal allows */
};

/* A search and its answer. Stored as it is, with its trials. */
struct search_record {
	struct rate_goal goal;
	uint32_t sweep; /* 1: of given rates */
	int64_t least_bps, most_bps;
	struct ratesearch_result result;
};

/*
 * A carrier that was kept from its CPU for longer than this, and for longer than the share of the trial that may be
 * lost anyway, was no constant rate: what was lost may be the host's doing.
 */
#define TRIAL_HOLE_NS INT64_C(20000000)

/* How many probes a trial of a length has; at least one. */
uint32_t trial_probes(const struct trial_config *config, int64_t duration_ns);

/*
 * Run. 0; -EINTR: interrupted; else the line or the host failed, with a message. That nothing comes through under
 * load is no failure: everything was lost.
 */
int trial_run(const struct trial_config *config, int64_t rate_bps, int64_t duration_ns, struct trial *ret,
	      struct err *err);

/* Of the carrier that was asked for: what the sender could not send in time is lost with the rest. */
double trial_carrier_loss(const struct trial *trial);
double trial_probe_loss(const struct trial *trial);

/* As the search takes it. */
struct rate_trial trial_outcome(const struct trial *trial);

#endif
