/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_TAP_H
#define TARE_PROBE_TAP_H

#include <stdint.h>

#include "base/err.h"
#include "lab/link.h"

/*
 * Listens at an interface of the lab and keeps what passes, each frame with the
 * kernel's own stamp (CLOCK_REALTIME) of that moment, so that it does not matter
 * when the frames are read: they wait in the socket, and nobody is woken beside
 * the measurement. A filter in the kernel lets only what is wanted in.
 */
enum tap_side { TAP_IN, TAP_OUT }; /* what enters the interface; what leaves it */

enum tap_what {
	TAP_PROBES,  /* EtherType 0x88B5, or IPv4 with protocol 0xFD: whole */
	TAP_CARRIER, /* UDP to CARRIER_PORT: counted, never read */
};

enum { TAP_SNAP_BYTES = 2048 }; /* at most */

struct tap {
	int fd;
	char where[64]; /* "p1 of tare-1-0-s1", for messages */
};

#define TAP_NONE ((struct tap){ .fd = -1 })

/* On failure *ret is TAP_NONE. */
int tap_open(const struct link_end *at, enum tap_side side, enum tap_what what, struct tap *ret, struct err *err);
void tap_close(struct tap *tap); /* TAP_NONE is fine */

/* One frame: what there is of it, how long it was, when it passed (0: without a stamp). */
typedef void tap_take_fn(void *context, const uint8_t *bytes, uint32_t length_bytes, int64_t stamp_ns);

/* Hand over all that waits. Frames, or -errno: the interface has gone or is down, with a message. */
int tap_drain(struct tap *tap, tap_take_fn *take, void *context, struct err *err);

/* Since the last call: frames that the filter let in, and of these those that found no room. */
int tap_counts(struct tap *tap, uint64_t *ret_seen, uint64_t *ret_dropped, struct err *err);

#endif
