/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_RECEIVER_H
#define TARE_PROBE_RECEIVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "io/io.h"
#include "packet/stream.h"

/*
 * What arrives at one port of a run: which probe each frame is, and when it came.
 * Owned by the thread that receives; only `progress` is read by another while the
 * run lasts. receiver_take is all that a received probe costs.
 */

/* The first copy of a probe at this port. */
struct arrival {
	uint64_t ticks;     /* raw TSC; 0: without a usable time */
	uint32_t gap_ticks; /* poll gap, 4294967295 and more: that */
	uint8_t burst;      /* position in its burst, 255 and more: 255 */
	uint8_t seen;
	uint16_t unused;
};

/* A frame that cannot simply be matched; looked into after the run (fates.h). */
struct odd_arrival {
	uint64_t ticks;
	uint32_t gap_ticks;
	uint32_t probe; /* the first probe with its id, which several share; RECEIVER_NO_ID: none readable */
};

#define RECEIVER_NO_ID UINT32_MAX

struct receiver {
	const struct stream *stream;
	struct arrival *arrivals; /* by probe */
	struct id_reader reader;
	bool any_shared;    /* some of the stream's ids are shared */
	int64_t *stamps_ns; /* by probe, of the port's own clock; 0: none. NULL: not kept */

	uint32_t newest;     /* probes up to here, exclusive, have one that arrived */
	uint64_t classified; /* frames that found their place in this account */
	uint64_t first, duplicates, reordered, foreign, warm_up;
	struct odd_arrival *odd;
	uint32_t odd_count, odd_capacity;
	uint32_t forget_every, forget_in; /* a test's fault: 0 none */

	/* Probes that the sender may take as arrived; by the receiver only. */
	_Alignas(128) _Atomic uint32_t progress;
	_Atomic uint32_t beats; /* rounds of its loop, now and then: it is there, whether anything arrives or not */
};

static inline uint32_t receiver_beats(const struct receiver *r)
{
	return atomic_load_explicit(&r->beats, memory_order_relaxed);
}

/* Still receiving: called now and then by its loop. */
static inline void receiver_beat(struct receiver *r)
{
	atomic_store_explicit(&r->beats, atomic_load_explicit(&r->beats, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

/* Arrays are allocated and touched. The stream must outlive it. 0 or -ENOMEM. */
int receiver_init(struct receiver *r, const struct stream *stream, uint16_t tag, struct err *err);
/* Keep the stamps of the port's own clock as well. 0 or -ENOMEM. */
int receiver_keep_stamps(struct receiver *r, struct err *err);
void receiver_release(struct receiver *r);

/* All but first copies of probes with ids of their own; kept out of line. */
void receiver_take_odd(struct receiver *r, enum id_status status, uint32_t probe, const struct arrival *a);

/*
 * Account for a burst. `stamp` was taken right after the burst was received, and
 * before any of its frames was looked at; `gap_ticks` is the time since the ring was
 * last seen empty. Touches of each frame what its id needs.
 */
static inline void receiver_take(struct receiver *r, const struct io_frame *frames, unsigned count, uint64_t stamp,
				 uint64_t gap_ticks)
{
	uint32_t gap = gap_ticks < UINT32_MAX ? (uint32_t)gap_ticks : UINT32_MAX;

	for (unsigned i = 0; i < count; i++) {
		uint32_t id = 0, probe = STREAM_NONE;
		enum id_status status;

		if (__builtin_expect(r->forget_every != 0, 0) && --r->forget_in == 0) {
			r->forget_in = r->forget_every;
			continue;
		}
		r->classified++;
		status = id_read(&r->reader, frames[i].data, frames[i].length_bytes, &id);
		if (__builtin_expect(status == ID_OK, 1))
			probe = stream_lookup(r->stream, id);
		if (__builtin_expect(probe != STREAM_NONE, 1)) {
			struct arrival *a = &r->arrivals[probe];

			if (__builtin_expect(!a->seen && !r->any_shared, 1)) {
				a->ticks = stamp;
				a->gap_ticks = gap;
				a->burst = i < 255 ? (uint8_t)i : 255;
				a->seen = 1;
				if (__builtin_expect(r->stamps_ns != NULL, 0))
					r->stamps_ns[probe] = frames[i].stamp_ns;
				r->first++;
				if (__builtin_expect(probe >= r->newest, 1))
					r->newest = probe + 1;
				else
					r->reordered++;
				continue;
			}
		}
		receiver_take_odd(r, status, probe, &(struct arrival){ stamp, gap, i < 255 ? (uint8_t)i : 255, 1, 0 });
	}
	uint32_t progress = atomic_load_explicit(&r->progress, memory_order_relaxed);

	if ((int32_t)(r->newest - progress) > 0)
		atomic_store_explicit(&r->progress, r->newest, memory_order_relaxed);
}

#endif
