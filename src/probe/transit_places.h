/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_TRANSIT_PLACES_H
#define TARE_PROBE_TRANSIT_PLACES_H

#include <sched.h>
#include <stdint.h>

#include "base/err.h"

/*
 * Which CPU does what while the transit method measures. Who sends has one, from 4 CPUs on the carrier has another, and
 * the switch has the rest:
 *   1 CPU:   all on it
 *   2 CPUs:  sender and carrier | switch
 *   3 CPUs:  sender and carrier | switch, two of them
 *   4 CPUs:  sender | carrier | switch, two of them; and so on
 */
struct transit_places {
	int32_t send, carrier; /* -1: wherever the kernel puts it */
	cpu_set_t target;      /* what is left for the switch */
};

/* Among those that this process may use; sender and carrier get the best by the rules of cores_choose. */
int transit_places_choose(struct transit_places *ret, struct err *err);

/* Pure part: the allowed ones, and the two best of them (the best last); -1: there is no second one. */
void transit_places_assign(const cpu_set_t *allowed, const int32_t best[2], struct transit_places *ret);

#endif
