/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TARGET_PIPELINE_H
#define TARE_TARGET_PIPELINE_H

#include "target/target.h"

/*
 * The kind `pipeline`: DPDK's software P4 pipeline (rte_swx_pipeline) in this
 * process. Every frame that comes in is sent out of `bypass` at once, held for a
 * fixed time, and then run through the program; what the program sends to its
 * output port leaves by `path`. See pipeline.c for the order of things in time.
 *
 * In a build without DPDK this exists too, and its probe() says so.
 */
extern const struct target_ops target_pipeline;

#endif
