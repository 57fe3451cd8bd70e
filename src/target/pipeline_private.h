/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TARGET_PIPELINE_PRIVATE_H
#define TARE_TARGET_PIPELINE_PRIVATE_H

#include "target/target.h"

/* What pipeline.c and its stand-in without DPDK share. */

#define PIPELINE_SUMMARY "DPDK's software P4 pipeline running a .spec of p4c"

extern const struct setting pipeline_settings[];

/* Program and entries are there and parse. Needs no DPDK. */
int pipeline_check(const struct target_setup *setup, struct err *err);

#endif
