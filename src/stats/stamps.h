/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STATS_STAMPS_H
#define TARE_STATS_STAMPS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Stamps as a device writes them (so many bits, of so many ns), put on one line
 * beside the host's times of the same packets: unwrapped where the counter
 * wrapped, cut where its clock stepped, and everything that was odd said, so that no
 * figure averages over it. The host's times decide how often a counter wrapped between two
 * packets: 32 bits of ns wrap every 4.3 s, and a hole of 3.5 s is more than half of that.
 *
 * Only what is far beyond any delay on the host is judged here (step_ns); smaller steps contradict
 * causality, and stats/align.h finds them. What a counter of few bits stepped by is known
 * modulo its period only: 32 bits of ns show a step of -37 s as one of +1.65 s. That it
 * stepped is seen, unless the step is within step_ns of a multiple of the period. Pure.
 */
#define STAMPS_NONE INT64_MIN

enum stamp_flags {
	STAMP_MISSING = 1 << 0, /* zero: nobody wrote it */
	STAMP_WRAPPED = 1 << 1, /* the first behind a wrap */
	STAMP_STEPPED = 1 << 2, /* the first behind a step: a new segment */
	STAMP_PAUSED = 1 << 3,  /* the first behind a hole in the host's times */
};

struct stamp_options {
	unsigned bits;    /* 8 to 64 */
	unsigned unit_ns; /* 1 or 1000 */
	double step_ns;   /* least jump of the switch's clock against the host's that is called a step */
	double pause_ns;  /* least time without packets that is called a pause */
	double rate_ppm;  /* least difference of rates that is called off */
};

extern const struct stamp_options stamp_defaults; /* 48 bits of us; 100 ms; 1 s; 1000 ppm */

struct stamp_summary {
	uint32_t good, missing, wraps, steps, pauses;
	double step_ns;  /* the largest, with its sign; 0: none */
	double rate_ppm; /* of the switch's clock over the host's, in the longest segment; NaN: too little to say */
	bool rate_off;   /* by more than rate_ppm, and by more than the scatter of the delays could make */
};

/*
 * raw[i] beside host_ns[i], in order of sending; host_ns never missing. The stamp was taken then, or later by a delay; no later
 * than late_ns[i] where that is known (NULL, or not after host_ns[i]: it is not), so that a delay is no step. ret_ns[i] is the stamp in ns, unwrapped, a step
 * left in it as it was; STAMPS_NONE where it is missing. 0, or -ENOMEM.
 */
int stamps_line(const uint64_t *raw, const int64_t *host_ns, const int64_t *late_ns, uint32_t count,
		const struct stamp_options *options, int64_t *ret_ns, uint8_t *ret_flags, struct stamp_summary *ret);

#endif
