/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TARGET_BMV2_H
#define TARE_TARGET_BMV2_H

#include "target/target.h"

/*
 * A v1model switch as a process of its own, in the lab's line of one: BMv2's
 * simple_switch_grpc, or tare-switch, which takes the same flags. It starts without a
 * program; the program and its entries come by P4Runtime.
 */
extern const struct target_ops target_bmv2;

#endif
