/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_CAPTURE_H
#define TARE_PROBE_CAPTURE_H

#include <stdint.h>

#include "base/err.h"
#include "packet/reflected.h"

/*
 * Reflected copies captured at an interface, stamped there: by the adapter's own
 * clock where it has one (in ns, not disciplined by the system's), else by the
 * kernel's software stamp; capture_clock says which it is. A thread of its own takes
 * them into memory; nothing is looked at but ids.
 */
struct capture;

struct capture_event {
	int64_t stamp_ns;
	uint32_t id;
	uint16_t tag;   /* native */
	char copy;      /* REFLECTED_PATH or REFLECTED_BYPASS; 0: no reflected copy */
	uint8_t status; /* enum id_status */
};

/*
 * `clock`: which clock must stamp: "adapter_unsynced", "adapter" or "kernel"; NULL: the best there is, in this order.
 * An interface that is not there, or has not that clock, is an ERR_HOST that says what it has. `events_most`: frames for
 * which there is room.
 */
int capture_open(const char *interface, enum id_format format, const char *clock, uint32_t events_most,
		 struct capture **ret, struct err *err);
void capture_close(struct capture *c); /* NULL is fine */

/* "adapter_unsynced", "adapter" or "kernel, software". */
const char *capture_clock(const struct capture *c);

/* Forget what has come, and take what comes from now on. */
int capture_start(struct capture *c, struct err *err);

/*
 * End taking: once `expected` frames have come, or none for `patience_ns`. The events are the capture's, until the next
 * start. An interface that vanished, or went down, is an ERR_HOST.
 */
int capture_stop(struct capture *c, uint64_t expected, int64_t patience_ns, const struct capture_event **ret_events,
		 uint32_t *ret_count, uint64_t *ret_dropped, struct err *err);

#endif
