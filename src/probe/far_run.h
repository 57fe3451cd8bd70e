/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_FAR_RUN_H
#define TARE_PROBE_FAR_RUN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/err.h"
#include "probe/loop.h"
#include "target/far_link.h"

/*
 * A run whose probes another machine sends: this one tells it to begin, receives,
 * and is told when all are out. The far end's times come over relative to its own
 * schedule, and the whole schedule is brought to this clock by asking for the time before
 * and after the run: good to within half of the fastest answer's delay, which is
 * enough to tell a late probe and no latency's stamp.
 */

/* One question for the time: the far counter was read between two readings of ours. All in each machine's own ticks. */
struct far_tick {
	uint64_t near, far;   /* near: the middle */
	uint64_t width_ticks; /* of ours, from question to answer; 0: none yet */
};

/* Where a far tick falls on this clock, by the line through both questions. Pure. */
uint64_t far_tick_to_near(const struct far_tick *before, const struct far_tick *after, uint64_t far);

struct far_run {
	struct far_link *link;
	struct loops *loops;
	const struct stream *stream;
	const struct tsc *tsc;
	uint16_t tag;
	uint32_t train;
	int64_t train_gap_ns, deadline_ns;
	const atomic_bool *interrupted;

	pthread_t thread;
	struct far_tick before, after;
	struct far_message done, times;
	struct err err;
	int rc;
	uint64_t port_sent; /* frames that the far port took */
	int32_t core;
	double tx_u_ns; /* standard uncertainty of sched and tx on this clock */
	char protection[96];
};

/* Send the stream if the far end has another, ask for the time, let it begin, and wait for its end on a thread. */
int far_run_begin(struct far_run *f, struct err *err);

/*
 * After the loops: its account into loops->sender (seq, sched, tx, start, frames, stuck). An error: it never
 * came to its end, and what was received means nothing.
 */
int far_run_end(struct far_run *f, struct err *err);

#endif
