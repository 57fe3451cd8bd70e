/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_SWITCH_TRUTH_H
#define TARE_SWITCH_TRUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"

/*
 * Faults on purpose, of known size, for tests of what measures a switch; all
 * zero: none. And the switch's clock: µs since it was made.
 */
struct truth {
	uint64_t hold_us;        /* every packet stays this long between ingress and egress */
	uint32_t loss_ppm;       /* of received frames that vanish before the parser */
	uint32_t duplicate_ppm;  /* that are taken twice */
	int64_t rate_bps;        /* what comes in over it vanishes, whole frames with their FCS counted; 0: nothing */
	int64_t rate_over_ns;    /* it is a mean over so long: a burst as long as that passes */
	int64_t clock_offset_us; /* always added */
	int64_t clock_step_us;   /* added from clock_step_at_us on */
	uint64_t clock_step_at_us;
	int32_t clock_drift_ppm;  /* how much too fast */
	uint64_t answer_early_us; /* a Write is answered so long before it is carried out */
	uint64_t cold_after_us;   /* a packet after so long without any ... */
	uint64_t cold_sleep_us;   /* ... waits so long between its ingress stamp and the parser; 0: never */
};

struct switch_clock {
	bool wall; /* as BMv2's: the wall clock, whose steps go straight in */
	int64_t start_ns;
	int64_t start_utc_ns; /* the same moment by the wall clock */
	struct truth truth;
};

void switch_clock_start(struct switch_clock *clock, bool wall, const struct truth *truth);
uint64_t switch_clock_us(const struct switch_clock *clock);

/* What the clock is known to be, as a line of a file: src/clock/told.h reads it. 0 or -errno. */
int switch_clock_tell(const struct switch_clock *clock, const char *path);

bool truth_any(const struct truth *truth);
/* What is set, in words, for the log: "loss 1 %, ...". */
void truth_describe(const struct truth *truth, char *ret, unsigned size_bytes);

/* How much may still pass: a bucket that fills at the rate. All zeros: full. */
struct truth_bucket {
	double spent_bits;
	int64_t last_ns;
};

/* Is this frame, which arrived then, over the rate? Arrivals count, so that a switch that was away loses nothing by it. */
bool truth_over_rate(const struct truth *truth, struct truth_bucket *bucket, int64_t stamp_ns, uint32_t length_bytes);

static inline bool truth_happens(struct rng *rng, uint32_t ppm)
{
	return ppm && rng_below(rng, 1000000) < ppm;
}

#endif
