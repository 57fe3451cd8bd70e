/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TARGET_WIRE_PORT_H
#define TARE_TARGET_WIRE_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "io/io.h"

/* A port as plans write it: an interface of the kernel, or "dpdk:" and a device. */
bool wire_port_by_dpdk(const char *name);

/* Whose stamps its frames carry, in words; NULL: they carry none. Static. */
const char *wire_port_clock(const char *name, const struct io_port *port);

/* `slots`: of an interface's receive ring; 0: it only sends. Names what is wrong with it. */
int wire_port_open(const char *name, unsigned slots, uint32_t frame_bytes, struct io_port **ret, struct err *err);

#endif
