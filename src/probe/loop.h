/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_LOOP_H
#define TARE_PROBE_LOOP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "clock/watch.h"
#include "probe/cores.h"
#include "probe/placement.h"
#include "probe/protect.h"
#include "probe/receiver.h"
#include "probe/reflector.h"
#include "probe/sender.h"
#include "target/target.h"

/*
 * The measured loops of a run. Nothing in here makes a system call, allocates,
 * locks or logs between the start and the end of the loops.
 */
enum loop_role { ROLE_SEND = 1, ROLE_TARGET = 2, ROLE_PATH = 4, ROLE_BYPASS = 8 };
enum { PATH, BYPASS, PORTS };

struct loops {
	struct target *target;
	unsigned (*poll)(struct target *target); /* NULL: works on its own */
	struct io_port *ports[PORTS];
	struct sender sender;
	struct receiver receivers[PORTS];
	bool reflects; /* what was received goes on to where a second clock stamps it; one thread receives then */
	struct reflector reflectors[PORTS];
	struct placement placement;
	const atomic_bool *interrupted;
	uint64_t deadline_ticks, linger_ticks, block_ticks, lead_ticks, stall_ticks, us_ticks;
	bool alone;       /* there is one loop only: no placement to look at */
	unsigned without; /* roles that nobody has: another machine sends, or receives */

	/* Written by the sending thread, once, at its end. */
	_Alignas(128) atomic_bool sent_all;
	uint32_t sent;
	uint64_t last_tx;
	/* Receivers that have not ended yet. */
	_Alignas(128) atomic_uint receiving;
};

/* Run all loops on threads of their own and wait for their end. Received ports were drained before. */
int loops_run(struct loops *l, const struct cores *cores, const struct protection *protection,
	      enum protect_how *ret_got, struct stall_watch *ret_stalls, struct err *err);

#endif
