/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_SENDER_H
#define TARE_PROBE_SENDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "clock/tsc.h"
#include "io/io.h"
#include "packet/stream.h"
#include "probe/receiver.h"

/*
 * Sends the stream's probes on an absolute schedule: probe i is due at start +
 * sched[i], whenever the one before it left, so lateness never adds up. What is late
 * is sent as soon as it can be, but not closer than `spacing` to the frame before.
 * Owned by the thread that sends.
 */
struct sender {
	struct io_port *port;
	const struct stream *stream;
	const struct receiver *receivers[2]; /* whose progress bounds what is in flight */
	uint16_t tag;
	uint32_t train; /* unmeasured frames before each probe */
	uint64_t train_gap_ticks, spacing_ticks, write_off_ticks, stuck_ticks;
	uint32_t in_flight; /* most probes under way */

	uint64_t start; /* raw TSC */
	int64_t *sched; /* by probe, ticks since start */
	uint64_t *tx;   /* by probe, raw TSC of its send */

	uint32_t count; /* probes to send; an interrupt makes it fewer */
	uint32_t seq;   /* the next probe */
	uint32_t left;  /* train frames to go before it */
	uint64_t due;   /* of the next frame; raw TSC */
	uint64_t last_tx;
	struct io_frame slot; /* the next frame, ready to go */
	bool ready;
	uint32_t passed;        /* probes no longer in flight, as last seen */
	uint64_t blocked_since; /* 0: not blocked */
	uint32_t blocked_at;    /* what had passed then */
	uint32_t beats_at[2];   /* and how far each receiver's loop had come */
	uint64_t frames;        /* sent */
	uint64_t blocked, written_off;
	bool stuck; /* the port took nothing for stuck_ticks: given up */
};

struct sender_setup {
	struct io_port *port;
	const struct stream *stream;
	const struct receiver *receivers[2];
	const struct tsc *tsc;
	uint16_t tag;
	uint32_t train;
	int64_t train_gap_ns, deadline_ns;
	uint32_t in_flight; /* frames, trains counted */
};

int sender_init(struct sender *s, const struct sender_setup *setup, struct err *err);
void sender_release(struct sender *s);

/* The first frame becomes due at `start`. */
void sender_start(struct sender *s, uint64_t start);

static inline bool sender_finished(const struct sender *s)
{
	return s->seq >= s->count;
}

/* Is there anything to do at this time? */
static inline bool sender_due(const struct sender *s, uint64_t now)
{
	return (int64_t)(now - s->due) >= 0;
}

/* Make the next frame ready ahead of its time. */
void sender_prepare(struct sender *s);

/* Send the frame that is due, if the port and the limit allow. Returns whether it left. */
bool sender_send(struct sender *s, uint64_t now);

/* Send no more probes than are out already. */
void sender_stop(struct sender *s);

#endif
