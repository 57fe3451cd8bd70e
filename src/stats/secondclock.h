/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STATS_SECONDCLOCK_H
#define TARE_STATS_SECONDCLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stats/clockcheck.h"

/*
 * What a second clock does to its readings, so that it is not blamed on the first: the same differences, packet by
 * packet, were read by both. Each clock's readings are looked through by the checks of clockcheck.h; what is there in the
 * second's and not in the first's is the second clock's own, what is there in both is the traffic's or the target's.
 */
enum clock_artefact { ARTEFACT_QUANTUM, ARTEFACT_DEAD_ZONE, ARTEFACT_PERIOD, ARTEFACTS };

const char *clock_artefact_name(enum clock_artefact artefact); /* "quantum", "dead zone", "period" */

struct clock_character {
	struct quantum_check quantum; /* in the unit of the readings, like the rest */
	struct dead_zone_check dead_zone;
	struct period_check period;
};

enum artefact_owner { OWNER_NONE, OWNER_FIRST, OWNER_SECOND, OWNER_BOTH };

struct clock_finding {
	enum clock_artefact artefact;
	enum artefact_owner owner;
	char text[200]; /* "second clock: readings come in steps of 6.4 ns" */
};

struct second_clock {
	struct clock_character first, second;
	struct period_check
		difference; /* of second - first: a beat of the two clocks shows here, and in neither alone */
	struct clock_finding findings[ARTEFACTS + 1];
	unsigned finding_count;
};

/*
 * Readings in order of sending, the same packets in both, in units of `ns_per_unit` ns (1e-3 for ps: the checks look for
 * steps over 2 units, so that ns would hide a step of 1 ns). Under 50 pairs nothing is found. 0 or -ENOMEM.
 */
int second_clock_check(const int64_t *first, const int64_t *second, size_t count, double ns_per_unit,
		       struct second_clock *ret);

#endif
