/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_REFLECT_RUN_H
#define TARE_PROBE_REFLECT_RUN_H

#include <stdatomic.h>

#include "base/err.h"
#include "clock/tsc.h"
#include "probe/reflector.h"

/*
 * The reflector as a role of its own, where another machine sends: both copies are
 * received, stamped by the TSC before anything else is done, marked and returned.
 * A run begins with a frame and ends when none has come for a while.
 */
struct reflect_setup {
	struct io_port *path, *bypass, *out;
	enum id_format format;
	uint32_t ids;                   /* stamps are kept for ids under this */
	const uint8_t *destination_mac; /* NULL: left as it is */
	int64_t idle_ns;
	const struct tsc *tsc;
	const atomic_bool *interrupted; /* never NULL */
};

struct reflect_run {
	struct reflector of[2]; /* path, bypass */
	uint64_t *ticks[2];
	uint32_t ids;
	uint64_t bursts,
		busy_ticks; /* bursts that held frames, and the time from their stamps until all was returned */
};

int reflect_run_init(struct reflect_run *run, const struct reflect_setup *setup, struct err *err);
void reflect_run_release(struct reflect_run *run);

/* One run, in this thread; what the one before left is forgotten. -EINTR: interrupted; what came before that is there. */
int reflect_run_once(struct reflect_run *run, const struct reflect_setup *setup, struct err *err);

/* Probes of which both copies came. */
uint32_t reflect_run_pairs(const struct reflect_run *run);

/* As the FPGA study writes its runs, whole or not at all; `tare import latencylab` reads it. */
int reflect_run_write(const struct reflect_run *run, const struct tsc *tsc, const char *path, struct err *err);

#endif
