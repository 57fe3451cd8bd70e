/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_TRANSIT_PRIVATE_H
#define TARE_PROBE_TRANSIT_PRIVATE_H

#include <time.h>

#include "packet/probe_id.h"
#include "probe/protect.h"
#include "probe/tap.h"
#include "probe/transit.h"

/* A run while it lasts. The files of transit only. */
enum { AT_TX, AT_SW_IN, AT_SW_OUT, AT_RX, PLACES };

struct collector {
	struct tap tap;
	struct transit_events events;
	struct id_reader reader;
	uint32_t newest; /* highest probe seen, + 1 */
	uint32_t forget_every, forget_in;
	uint64_t taken;              /* frames, priming's too */
	uint64_t warm_up, unstamped; /* of priming: seen, and those of them without a stamp */
};

struct transit_state {
	const struct transit_config *config;
	struct collector at[PLACES]; /* read by one thread at a time: the loop's while that runs */
	uint8_t frame[FRAME_MAX_BYTES];
	uint32_t sequence_at, id_at; /* in it, behind the headers and two stamps */
	uint16_t tag;
	int fd; /* sends at host a */
	int done_fd, stop_fd, timer_fd;

	atomic_bool stop; /* with stop_fd, by transit_loop_stop */
	struct transit *rows;
	int64_t start_ns;      /* CLOCK_MONOTONIC of probe 0 */
	int64_t start_real_ns; /* CLOCK_REALTIME of the same moment */
	struct protection protection;
	bool spins; /* waits for probes awake */
	/* The loop's, to be read when it has ended: */
	uint32_t sent;
	bool silent;       /* nothing came through any more, so it ended before its time; */
	int64_t silent_ns; /* for so long, as last looked at */
	int64_t looked_ns;
	enum protect_how got;
	int error; /* errno of a send that failed; 0 */
	int64_t last_tx_ns;
};

static inline int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* --- transit_loop.c: what runs during the measurement --- */

/* Write the probe's number into the frame and send it. 0 or -errno. */
int transit_send(struct transit_state *s, uint32_t sequence, uint16_t tag);

/* Take what waits at every place. */
void transit_collect(struct transit_state *s);

/* Are probes so close that they are waited for awake? */
bool transit_spins(int64_t interval_ns);

/* Sends every probe when it is due, and takes in what was seen of them: a thread's function. Writes done_fd at its end. */
void *transit_loop(void *state);

/* From another thread: it is to end now, also while it sleeps. */
void transit_loop_stop(struct transit_state *s);

#endif
