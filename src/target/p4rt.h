/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TARGET_P4RT_H
#define TARE_TARGET_P4RT_H

#include "target/target.h"

/*
 * P4Runtime servers that are there already, by address: the agents of hardware
 * switches, or software switches that somebody else has started. Nothing of them
 * is ours but the connection, so a restart begins with a new connection and, unless
 * `pipeline: keep` is said, with the program sent anew; and what they use of their
 * CPU is not seen. Control plans only.
 */
extern const struct target_ops target_p4rt;

#endif
