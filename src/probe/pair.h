/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_PAIR_H
#define TARE_PROBE_PAIR_H

#include <stdint.h>

/*
 * One probe of a differential run: a copy through the pipeline (path) and a copy
 * around it (bypass). All times are TSC ticks since the run's first tick
 * (struct run_record.tsc_start); the run's tsc_hz turns them into seconds.
 * One row for every probe sent, whatever its fate: a lost probe is not an absent one.
 */
#define PAIR_NONE INT64_MIN /* this time does not exist: the copy did not arrive, the truth is unknown */

enum pair_flags {
	PAIR_SET_APART = 1 << 0, /* poll gap over the limit at either receiver */
	PAIR_TX_FAR =
		1 << 1, /* sched and tx are another machine's, brought to this clock to within its answers' delay */
	/* Imported runs only (docs/adr): what became of it was settled before it was sent, as its id is unreadable or
	 * another's too. It has a fate and no latency, and ranks in no quantile. */
	PAIR_NOT_RANKED = 1 << 2,
	PAIR_NO_TX = 1 << 3, /* its send time was not recorded: sched and tx hold a stamp of its arrival */
};

struct pair {
	uint32_t seq;    /* order of sending in this run, from 0 */
	uint32_t packet; /* which packet of the stream: its index in the trace, the same in every run */
	uint8_t fate;    /* enum fate */
	uint8_t flags;
	uint8_t burst_path, burst_bypass; /* position in the receive burst, 255 and more: 255 */
	int64_t sched_ticks;              /* intended send time */
	int64_t tx_ticks;                 /* actual send time (tx) */
	int64_t path_ticks;               /* rx_path, or PAIR_NONE */
	int64_t bypass_ticks;             /* rx_bypass, or PAIR_NONE */
	int64_t gap_path_ticks;           /* poll gap: time since the ring was last seen empty */
	int64_t gap_bypass_ticks;
	int64_t truth_ticks; /* path minus bypass as the target really emitted them, or PAIR_NONE */
};

#endif
