/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_IO_MEMORY_H
#define TARE_IO_MEMORY_H

#include <stdint.h>

#include "base/err.h"
#include "io/io.h"

/*
 * A cable of shared memory between two threads, one direction: what is sent into
 * its sending end is received from its receiving end. The fastest and most even
 * way to pass a frame between two cores: the frame stands in the slot, and a
 * slot's first cache line carries length, turn and the first 60 bytes, so one line
 * moves per short frame and no other line changes hands on arrival.
 */

/*
 * `slots`: a power of two from 8 to 65536. `frame_bytes`: longest frame, 14 to 16384.
 * All memory is touched here; the end that is closed last frees it.
 */
int memory_cable_open(uint32_t slots, uint32_t frame_bytes, struct io_cable *ret_cable, struct err *err);

#endif
