/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_CLOCK_TSC_H
#define TARE_CLOCK_TSC_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <x86intrin.h>

#include "base/err.h"

/*
 * The processor's time stamp counter as a clock. Its unit is the tick (one
 * count); the counter may advance by many ticks at once, and that step is its
 * quantum: nothing finer can be read from a single stamp. What a tick is worth is
 * measured against CLOCK_MONOTONIC_RAW, never taken from a name plate.
 */
struct tsc {
	double hz;              /* ticks a second */
	double hz_u_ppm;        /* standard uncertainty of hz */
	double tick_ns;         /* the quantum in ns; 0: every count can occur */
	uint32_t quantum_ticks; /* the quantum in ticks, rounded; 1 where tick_ns is 0 */
	bool invariant;         /* CPUID says that the rate holds in all states, and the kernel does not distrust it */
	int64_t span_ns;        /* over which hz was measured */
	uint32_t marks, outliers; /* readings used, and dropped for a wide bracket or a deviating rate */
};

/*
 * Stamp: everything before it has been executed, nothing after it has begun
 * (rdtscp waits for earlier instructions, the fence holds back later ones).
 */
static inline uint64_t tsc_stamp(void)
{
	unsigned core;
	uint64_t now = __rdtscp(&core);

	_mm_lfence();
	return now;
}

/* Cheaper and unordered: for waiting and for bounds, not for stamps. */
static inline uint64_t tsc_now(void)
{
	return __rdtsc();
}

static inline double tsc_to_ns(const struct tsc *tsc, int64_t ticks)
{
	return (double)ticks * 1e9 / tsc->hz;
}

static inline int64_t tsc_from_ns(const struct tsc *tsc, double ns)
{
	return llrint(ns * tsc->hz / 1e9);
}

/*
 * Measure rate and quantum over `span_ns` (200 ms give about 1.5 ppm on a busy
 * virtual machine), sleeping most of it. A counter that is not invariant is an
 * ERR_HOST unless `allow_unstable`; ret->invariant then says so.
 */
int tsc_calibrate(struct tsc *ret, int64_t span_ns, bool allow_unstable, struct err *err);

/* One reading of both clocks. The raw clock was read between two counter reads `width_ticks` apart. */
struct tsc_mark {
	uint64_t ticks; /* middle of the bracket */
	int64_t raw_ns; /* CLOCK_MONOTONIC_RAW */
	uint32_t width_ticks;
};

/* The tightest of a few readings, so that an interrupt inside one does no harm. About 2 µs. */
void tsc_mark_take(struct tsc_mark *ret);

/* Rate between two marks, and its standard uncertainty in ppm from the width of both brackets. */
double tsc_rate(const struct tsc_mark *from, const struct tsc_mark *to, double *ret_u_ppm);

/*
 * The rate from marks in order of time: median of the rates between marks of the first and
 * the last half, of those whose bracket is at most twice the tightest. Returns how many marks were dropped;
 * fewer than 4 good ones: -ERANGE and nothing is written. Pure.
 */
int tsc_rate_of_marks(const struct tsc_mark *marks, unsigned count, double *ret_hz, double *ret_u_ppm);

/* The step of the counter, in ticks: from successive readings; 0: too few to tell. Pure: greatest step that explains
 * all differences to within a tick. */
double tsc_quantum_of(const uint64_t *readings, unsigned count);

/* CPUID leaf 0x80000007 and the kernel's clock source list. `ret_reason` (may be NULL) gets why not, static text. */
bool tsc_is_invariant(const char **ret_reason);

/* ERR_HOST where it is not, unless `allow_unstable`. */
int tsc_check(bool allow_unstable, struct err *err);

#endif
