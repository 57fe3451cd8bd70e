/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_BENCH_BMV2_H
#define TARE_BENCH_BMV2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * BMv2's simple_switch as a baseline: it reads packets from one file and writes
 * them to another, as fast as it can. From the folder $BMV2, else from the PATH.
 */
struct bmv2_run {
	const char *json;
	const char *commands;  /* for simple_switch_CLI, a line each */
	const uint8_t *frames; /* frame_count of them, stride_bytes apart, sent round and round */
	size_t stride_bytes;
	uint32_t frame_count, frame_bytes, packets;
	uint32_t in_port, out_port;
};

bool bmv2_here(void);

/* Packets a second between the first and the last that it wrote. Losses are an error. Takes seconds. */
int bmv2_measure(const struct bmv2_run *run, double *ret_pps, struct err *err);

#endif
