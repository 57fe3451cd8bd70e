/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_SECOND_CLOCK_H
#define TARE_PROBE_SECOND_CLOCK_H

#include <stdint.h>

/*
 * What a clock that had no part in the measurement says of the same probes: both
 * copies, reflected and captured where that clock is. Kept beside the pairs of the
 * run, by the same seq; stored as it is.
 */
#define SECOND_NONE INT64_MIN /* this time does not exist */

struct second_pair {
	uint32_t seq;          /* of the probe in its run, as in struct pair; ascending */
	int64_t difference_ns; /* path less bypass by the second clock */
	int64_t at_ns;         /* of the bypass copy since the run's first copy; SECOND_NONE: not recorded */
};

struct second_record {
	char clock[48];       /* what stamped: "adapter", "adapter_unsynced", "kernel, software", "published" */
	char source[112];     /* where from: an interface, a file */
	double resolution_ns; /* of one stamp, as the source promises it; 0: it promises none */
	uint64_t frames;      /* captured, of the run */
	uint64_t pairs;       /* probes with both copies, each by an id of its own: rows */
	uint64_t path_missing, bypass_missing; /* probes of which one copy came only */
	uint64_t neither;                      /* probes sent of which no copy came */
	uint64_t duplicates;                   /* frames: further copies of a probe */
	uint64_t unreadable;                   /* frames: no id, or one that several probes share */
	uint64_t foreign;                      /* frames: an id that no probe has */
};

#endif
