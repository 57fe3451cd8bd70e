/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_RUN_H
#define TARE_PROBE_RUN_H

#include <stdint.h>

#include "probe/ledger.h"

/*
 * What a run leaves behind beside its samples: the account, the clock it was
 * measured with, and the conditions. Stored as it is.
 */
struct run_record {
	uint32_t run;           /* in its restart, from 0 */
	int64_t started_utc_ns; /* wall clock, for people */
	uint64_t tsc_start;     /* raw TSC that is tick 0 of the samples */
	double tsc_hz;          /* against CLOCK_MONOTONIC_RAW */
	double tsc_hz_u_ppm;    /* standard uncertainty of tsc_hz */
	double tsc_tick_ns;     /* the counter's real step; 0: finer than can be seen */
	struct ledger ledger;

	double offered_pps, intended_pps;                          /* measured over the run; as planned */
	int64_t lateness_p50_ns, lateness_p99_ns, lateness_max_ns; /* send time minus intended */
	int64_t gap_limit_ns;                                      /* poll gap over which a sample was set apart */
	int64_t elapsed_ns;

	int32_t core_send, core_receive; /* CPU numbers; equal in one-core mode */
	double pingpong_p50_ns; /* cache line there and back between the two cores, median over blocks; 0: one core */
	uint32_t blocks_near, blocks_far; /* blocks by placement of the two cores */
	uint32_t stalls;                  /* holes of the host seen during the run */
	int64_t stalled_ns;
	uint32_t clock_steps; /* of CLOCK_REALTIME */

	char protection[160]; /* "fifo 50, affinity, mlock" */
	char invalid[160];    /* empty: valid; else why no figure may use it */
};

#endif
