/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TARGET_WIRE_H
#define TARE_TARGET_WIRE_H

#include "target/target.h"

/*
 * Two or three real ports with anything between: an FPGA, a SmartNIC, a switch.
 * A port is an interface of the kernel (by afpacket) or a device of DPDK; `in` may
 * be the same port as `path` or `bypass`, those two may not be one. Commands of
 * the user's, its hooks, put the device into the state that a restart begins
 * with: prepare, flash, then load or load_null, each with its time limit and
 * its tries. What they said is kept with the restart.
 */
extern const struct target_ops target_wire;

#endif
