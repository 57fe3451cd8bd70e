/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_TAP_H
#define TARE_PROBE_TAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "lab/link.h"

/*
 * Listens at an interface of the lab and keeps what passes, each frame with the
 * kernel's own stamp (CLOCK_REALTIME) of that moment, so that it does not matter
 * when the frames are read: they wait in a ring shared with the kernel, nobody is
 * woken beside the measurement, and reading them is no system call. A filter in
 * the kernel lets only what is wanted in, and only the beginning of it.
 */
enum tap_side { TAP_IN, TAP_OUT }; /* what enters the interface; what leaves it */

enum tap_what {
	TAP_PROBES,  /* EtherType 0x88B5, or IPv4 with protocol 0xFD */
	TAP_CARRIER, /* UDP to CARRIER_PORT: counted, never kept */
	TAP_WATCHED, /* UDP to the port whose packets get INT-MD, and what they are on their way (packet/int_md.h) */
	TAP_REPORTS, /* UDP to the port of INT reports */
};

enum {
	TAP_SNAP_BYTES = 384,   /* kept of a frame: the headers, a stack of shims, an id */
	TAP_SLOTS_MOST = 16384, /* 8 MiB; more are read while they come */
};

struct tap {
	int fd;
	uint8_t *ring; /* NULL: only counts */
	size_t ring_bytes;
	uint32_t slot_mask;
	uint64_t next;  /* slots read */
	char where[64]; /* "p1 of tare-1-0-s1", for messages */
};

#define TAP_NONE ((struct tap){ .fd = -1 })

/* `slots`: frames that can wait, rounded up to a power of two, at most TAP_SLOTS_MOST. On failure *ret is TAP_NONE. */
int tap_open(const struct link_end *at, enum tap_side side, enum tap_what what, uint32_t slots, struct tap *ret,
	     struct err *err);
void tap_close(struct tap *tap); /* TAP_NONE is fine */

struct tap_frame {
	const uint8_t *bytes;
	uint32_t length_bytes, kept_bytes; /* of the frame; of it there, from its beginning */
	int64_t stamp_ns;                  /* when it passed; 0: without a stamp */
};

/* One frame; only until it returns. */
typedef void tap_take_fn(void *context, const struct tap_frame *frame);

/* Hand over what waits, at most so many frames; how many it were. */
unsigned tap_take(struct tap *tap, unsigned most, tap_take_fn *take, void *context);

/* After poll said POLLERR of tap->fd: has the interface gone, or is it down? 0, or -ENETDOWN with a message. */
int tap_check(struct tap *tap, struct err *err);

/* Since the last call: frames that the filter let in, and of these those that found no room. */
int tap_counts(struct tap *tap, uint64_t *ret_seen, uint64_t *ret_dropped, struct err *err);

#endif
